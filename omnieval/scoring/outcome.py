"""What is decided before an answer is looked at; every sample of every benchmark gets exactly one outcome."""

from __future__ import annotations

from omnieval.types import Response, Sample, Score


def settled(sample: Sample, response: Response | None, *, selected: bool) -> Score | None:
    """The score of a sample without an answer to judge, or None where there is one.

    response: the last finished try, or None when there was none. selected: whether the run asks this sample.
    """
    if not selected:
        return Score(sample.id, "not_asked", details={"reason": "not selected"})
    if sample.problem is not None:
        return Score(sample.id, "failed", failure_kind=sample.problem.kind)
    if sample.gold is None:
        return Score(sample.id, "no_gold")
    if response is None:
        return Score(sample.id, "not_asked", details={"reason": "not finished"})
    if response.error is not None:
        return Score(sample.id, "failed", failure_kind=response.error.kind)
    return None


def before_hearing(sample: Sample, response: Response | None, *, selected: bool) -> Score:
    """The score of a spoken answer before it is heard: `unscored` where there is a sound."""
    done = settled(sample, response, selected=selected)
    if done is not None:
        return done
    assert response is not None
    if response.audio is None or not response.audio.frames:
        if response.finish_reason == "listen":
            details = {"message": f"sample {sample.id}: the model chose to listen and said nothing"}
            return Score(sample.id, "failed", failure_kind="listened", details=details)
        said = f"; it wrote {response.text[:80]!r}" if response.text else ""
        details = {
            "message": f"sample {sample.id}: the answer has no sound{said}",
            "hint": "does the server load its speech stages, and does the request ask for audio?",
        }
        return Score(sample.id, "failed", failure_kind="no_audio", details=details)
    return Score(sample.id, "unscored")
