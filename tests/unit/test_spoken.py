"""Spoken answers are counted once each, whatever happens to them, and a missing figure says why it is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.config import RecogniserConfig, SimilarityConfig
from omnieval.errors import ConfigError, ScoringError
from omnieval.media.wav import Pcm, PcmFormat, write_wav
from omnieval.report.markdown import to_markdown
from omnieval.report.pages import page_of
from omnieval.report.speech import SpeechReport, build_speech_report
from omnieval.report.speech_reference import SpeechReference, load_speech_references
from omnieval.runlog import PlannedSample, Run, RunWriter
from omnieval.scoring import spoken
from omnieval.scoring.continuity import Continuity, continuity
from omnieval.scoring.speaker import average_similarity
from omnieval.scoring.spoken import SpokenScores, load_judge, score_spoken, unheard
from omnieval.types import Failure, Response, Sample, Score, SpokenAudio, Timing

RATE_HZ = 24_000


class Listener:
    """A recogniser that hears what it is told by the number of samples, and fails where that is an error."""

    name = "whisper-hf"
    weights = ""
    details: ClassVar = {"model": "whisper-large-v3, a stand-in"}
    batch_size = 3

    def __init__(self, hears: dict[int, str | Exception]) -> None:
        self.hears = hears
        self.calls: list[int] = []

    def transcribe(self, sounds: Sequence[Any], language: str) -> list[str]:
        self.calls.append(len(sounds))
        texts = [self.hears[round(len(sound) / 1600)] for sound in sounds]
        for text in texts:
            if isinstance(text, Exception):
                raise text
        return [str(text) for text in texts]


class Ear:
    """An encoder whose embedding tells how loud a clip is: first coordinate 1, second its peak."""

    name = "ge2e"

    def __init__(self) -> None:
        self.clips = 0

    def embed(self, sound: Any) -> Any:
        self.clips += 1
        return np.array([1.0, np.abs(sound).max()], dtype=np.float32)


def sound(tenths: int, peak: float = 0.25) -> bytes:
    """Noise of so many tenths of a second as a WAV file."""
    samples = np.random.default_rng(tenths).uniform(-peak, peak, tenths * RATE_HZ // 10)
    return write_wav(Pcm(PcmFormat(RATE_HZ, 1, "s16"), (samples * 32767).astype("<i2").tobytes()))


def answer(name: str, tenths: int, **fields: Any) -> Response:
    audio = SpokenAudio(
        RATE_HZ, 1, tenths * RATE_HZ // 10, wav=sound(tenths), chunks=fields.pop("chunks", ())
    )
    return Response(
        name, finish_reason="stop", audio=audio, timing=Timing(0.0, ttfp_s=0.5, rtf=0.4), **fields
    )


def run_of(folder: Path, texts: dict[str, str], responses: Sequence[Response], **media: Path) -> Run:
    planned = [
        PlannedSample(
            Sample(name, "seed-tts", text, (), text, {}, name, media, row), selected=name != "unselected"
        )
        for row, (name, text) in enumerate(texts.items())
    ]
    info = {
        "config": {"recipe": "seed-tts", "benchmark": "seed-tts", "backend": "b", "model": "m", "language": "en",
                   "utterances": "meta.lst"},
        "recipe_hash": "h", "headline": {"language": "en"}, "group_keys": [], "scoring": "speech",
        "dataset": {"fingerprint": "f", "notes": [], "selected": len(texts), "rows": len(texts), "root": str(folder)},
        "server": {"model": "m"}, "started": "now", "versions": {"omnieval": "0"},
    }  # fmt: skip
    with RunWriter.begin(folder / "run", info, planned) as writer:
        for response in responses:
            writer.add_response(response)
        writer.add_event("warmup", sample_id="u1", timing={"ttfp_s": 3.0, "e2e_s": 4.0}, error=None)
    return Run.load(folder / "run")


def hear(
    run: Run, monkeypatch: pytest.MonkeyPatch, hears: dict[int, str | Exception], ear: Ear | None = None
) -> SpokenScores:
    monkeypatch.setattr(spoken, "load_recogniser", lambda *_, **__: Listener(hears))
    monkeypatch.setattr(spoken, "load_encoder", lambda *_, **__: ear)
    judge = load_judge("en", RecogniserConfig(), SimilarityConfig(encoder="ge2e" if ear else "none"))
    return score_spoken(run, run.last_responses(), judge, transcripts=run.directory.parent / "transcripts")


def report_of(run: Run, scores: SpokenScores, references: Sequence[SpeechReference] = ()) -> SpeechReport:
    return build_speech_report(run, list(run.samples()), scores, run.last_responses(), references)


def test_every_way_to_fail_is_counted_by_kind_and_the_means_say_over_how_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {
        "right": "one two three", "wrong": "one two three four", "marks": "?!", "deaf": "five",
        "silent": "six", "empty": "seven", "broken": "eight", "nan": "nine", "lost": "ten",
        "failed": "eleven", "unselected": "twelve", "waiting": "thirteen",
    }  # fmt: skip
    nan = np.full(2400, np.nan, dtype="<f4").tobytes()
    responses = [
        answer("right", 11), answer("wrong", 12), answer("marks", 13), answer("deaf", 14),
        Response("silent", text="I will not", finish_reason="stop"),
        Response("empty", finish_reason="stop", audio=SpokenAudio(RATE_HZ, 1, 0)),
        answer("broken", 15),
        Response("nan", finish_reason="stop",
                 audio=SpokenAudio(RATE_HZ, 1, 2400, wav=write_wav(Pcm(PcmFormat(RATE_HZ, 1, "f32"), nan)))),
        answer("lost", 16),
        Response("failed", error=Failure("server", "it died")),
    ]  # fmt: skip
    run = run_of(tmp_path, texts, responses)
    (run.directory / "audio" / "broken.wav").write_bytes(b"RIFF not a sound")
    (run.directory / "audio" / "lost.wav").unlink()
    heard = hear(
        run, monkeypatch, {11: "One, two, three.", 12: "one too three four", 13: "x", 14: OSError("deaf")}
    )
    outcomes = {score.sample_id: score.failure_kind or score.outcome for score in heard.scores}
    assert outcomes == {
        "right": "scored", "wrong": "scored", "marks": "reference", "deaf": "recogniser", "silent": "no_audio",
        "empty": "no_audio", "broken": "audio", "nan": "audio", "lost": "audio", "failed": "server",
        "unselected": "not_asked", "waiting": "not_asked",
    }  # fmt: skip
    report = report_of(run, heard)
    assert {line.label: line.count for line in report.accounting} == {
        "answered, heard by the recogniser": 2, "failed: server": 1, "failed: no_audio": 2, "failed: audio": 3,
        "failed: recogniser": 1, "failed: reference": 1, "not asked: not finished": 1, "not asked: not selected": 1,
    }  # fmt: skip
    assert report.wer is not None
    assert (report.wer.utterances, report.asked) == (2, 11)
    assert report.wer.official_percent == 12.5
    assert not report.complete
    markdown = to_markdown(page_of(report))
    assert "2 of 11" in markdown
    assert r"one \[two\>too\] three four" in markdown
    for name in ("broken.wav", "nan.wav", "lost.wav", "deaf", "I will not"):
        assert name in markdown


def test_a_failing_recogniser_costs_its_own_sounds_and_a_second_scoring_hears_only_those(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(
        tmp_path,
        {"a": "one", "b": "two", "c": "three"},
        [answer(n, t) for n, t in zip("abc", (3, 4, 5), strict=True)],
    )
    first = hear(run, monkeypatch, {3: "one", 4: RuntimeError("out of memory"), 5: "three"})
    assert [score.outcome for score in first.scores] == ["scored", "failed", "scored"]
    assert "out of memory" in first.scores[1].details["message"]
    listener = Listener({4: "two"})
    monkeypatch.setattr(spoken, "load_recogniser", lambda *_, **__: listener)
    judge = load_judge("en", RecogniserConfig(), SimilarityConfig(encoder="none"))
    second = score_spoken(run, run.last_responses(), judge, transcripts=tmp_path / "transcripts")
    assert [score.answer for score in second.scores] == ["one", "two", "three"]
    assert listener.calls == [1]


def test_words_left_out_or_added_in_a_row_are_one_mark_and_long_ones_are_shortened_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {"a": "one two three", "b": "six", "c": "seven", "d": "nine ten ten"}
    run = run_of(
        tmp_path,
        texts,
        [answer("a", 3), answer("b", 4), answer("d", 5), Response("c", error=Failure("server", "died"))],
    )
    repeated = " ".join(f"word{i}" for i in range(200))
    report = report_of(
        run, hear(run, monkeypatch, {3: "zero nil one tow trhee", 4: f"six {repeated}", 5: "nine"})
    )
    aligned = {row.sample_id: row.aligned for row in report.differing}
    assert aligned["a"] == "[+zero nil+] one [two>tow] [three>trhee]"
    assert aligned["d"] == "nine [-ten ten-]"
    assert aligned["b"] == f"six [+{repeated}+]"
    markdown = to_markdown(page_of(report))
    assert r"\[+zero nil+\] one" in markdown
    assert repeated not in markdown
    assert "1 utterance failed; every mean is over the others only" in markdown


def test_an_empty_hypothesis_is_all_deletions_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(tmp_path, {"a": "one two"}, [answer("a", 3)])
    (score,) = hear(run, monkeypatch, {3: ""}).scores
    assert (score.outcome, score.metrics["wer"], score.details["deletions"]) == ("scored", 1.0, 2)


def test_a_reference_is_embedded_once_and_what_has_none_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "voice.wav").write_bytes(sound(9))
    names = [f"u{i}" for i in range(5)]
    ear = Ear()
    responses = [answer(name, 3 + i) for i, name in enumerate(names)]
    run = run_of(tmp_path, dict.fromkeys(names, "one"), responses, reference=tmp_path / "voice.wav")
    heard = hear(run, monkeypatch, {3 + i: "one" for i in range(5)}, ear)
    assert ear.clips == 6
    report = report_of(run, heard)
    assert report.similarity is not None
    assert (report.similarity.encoder, report.similarity.utterances) == ("ge2e", 5)
    (tmp_path / "voice.wav").unlink()
    without = report_of(run, hear(run, monkeypatch, {3 + i: "one" for i in range(5)}, Ear()))
    assert without.similarity is None
    assert without.wer is not None and without.wer.utterances == 5
    (row,) = without.no_similarity
    assert row.count == 5
    assert "voice.wav" in row.reason
    assert any("SIM was not measured" in reason and "voice.wav" in reason for reason in without.not_measured)


def test_what_cannot_be_loaded_is_said_and_the_rest_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(tmp_path, {"a": "one"}, [answer("a", 3)])

    def missing(*_: Any, **__: Any) -> Any:
        raise ConfigError("needs a package")

    monkeypatch.setattr(spoken, "load_recogniser", lambda *_, **__: Listener({3: "one"}))
    monkeypatch.setattr(spoken, "load_encoder", missing)

    def score() -> SpokenScores:
        judge = load_judge("en", RecogniserConfig(), SimilarityConfig())
        return score_spoken(run, run.last_responses(), judge, transcripts=tmp_path / "t")

    heard = score()
    assert heard.not_measured == ("SIM was not measured: needs a package",)
    assert heard.scores[0].metrics["wer"] == 0
    monkeypatch.setattr(spoken, "load_recogniser", missing)
    deaf = score()
    assert deaf.scores[0].outcome == "unscored"
    page = page_of(report_of(run, deaf))
    assert [line for line in page.warnings if line.startswith("NOT MEASURED")] == [
        "NOT MEASURED: WER was not measured: needs a package; or --set recogniser.name=faster-whisper, which "
        "needs no torch but is not the official one",
        "NOT MEASURED: SIM was not measured: needs a package",
    ]


def test_before_anything_is_heard_the_report_says_how_to_go_on(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"a": "one"}, [answer("a", 3)])
    report = report_of(run, unheard(run, run.last_responses(), "en"))
    assert report.wer is None
    assert report.complete
    assert any("with the path of this run" in line for line in page_of(report).warnings)
    assert (report.latency["ttfp_s"].median, report.warmup["ttfp_s"].median) == (0.5, 3.0)


def test_the_health_of_sounds_is_known_before_they_are_heard(tmp_path: Path) -> None:
    text = "a text of many words that takes its time to be said"
    run = run_of(tmp_path, {"a": text, "b": "two", "lost": "three"}, [
        answer("a", 1), answer("b", 4), answer("lost", 5)
    ])  # fmt: skip
    (run.directory / "audio" / "lost.wav").unlink()
    report = report_of(run, unheard(run, run.last_responses(), "en"))
    assert [row.flag for row in report.health] == ["too_short"]
    assert (report.unhealthy.correct, report.unhealthy.total) == (1, 2)
    assert [(row.kind, row.count) for row in report.failures] == [("audio", 1)]


def test_known_results_in_another_way_of_measuring_are_named_as_not_comparable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "voice.wav").write_bytes(sound(9))
    run = run_of(tmp_path, {"a": "one"}, [answer("a", 3)], reference=tmp_path / "voice.wav")
    heard = hear(run, monkeypatch, {3: "one"}, Ear())

    def reference(name: str, **changes: Any) -> SpeechReference:
        given: dict[str, Any] = {
            "recogniser": "whisper-hf", "encoder": "ge2e", "rows": (1,),
            "setting": {"language": "en", "utterances": "meta.lst"},
        }  # fmt: skip
        return SpeechReference(name, 1.0, 0.7, **(given | changes))

    known = [
        reference("own"),
        reference("other", recogniser="paraformer", encoder="wavlm-sv", rows=(1, 7)),
        reference("longer", rows=(7,)),
        reference("foreign", setting={"language": "zh", "utterances": "meta.lst"}),
        reference("voiced", setting={"language": "en", "utterances": "meta.lst", "variant": "voice"}),
        replace(
            reference("fast"), wer=None, similarity=None, latency={"rtf": 0.44}, caveat="on other hardware"
        ),
    ]
    rows = report_of(run, heard, known).references
    assert [(row.name, row.caveat, row.wer_caveat, row.similarity_caveat) for row in rows] == [
        ("own", None, None, None),
        ("other", None, "heard by paraformer, here by whisper-hf", "compared by wavlm-sv, here by ge2e"),
        ("longer", "another list (7 lines, here 1)", None, None),
        ("voiced", "measured with variant voice", None, None),
        ("fast", "on other hardware", None, None),
    ]
    (table,) = (t for t in page_of(report_of(run, heard, known)).tables if t.title == "Reference results")
    assert table.rows[-1] == ("fast", "-", "-", "RTF 0.44", "on other hardware")
    small = replace(heard, recogniser={"name": "whisper-hf", "model": "/models/tiny"})
    (row,) = report_of(run, small, known[:1]).references
    assert row.wer_caveat == "heard by large-v3, here by /models/tiny"
    tiny = replace(heard, encoder={"name": "ge2e", "model": "m", "size": "2 layers of 16"})
    (row,) = report_of(run, tiny, known[:1]).references
    assert row.similarity_caveat == "compared by 24 layers of 1024, here by 2 layers of 16"


def test_a_later_run_keeps_what_was_heard_of_sounds_that_are_still_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(tmp_path, {"a": "one", "b": "two"}, [answer("a", 3), answer("b", 4)])
    heard = hear(run, monkeypatch, {3: "one", 4: "too"})
    earlier = {score.sample_id: score for score in heard.scores}
    again = unheard(run, run.last_responses(), "en", earlier)
    assert [score.outcome for score in again.scores] == ["scored", "scored"]
    with RunWriter(run.directory) as writer:
        writer.add_response(answer("b", 5))
    changed = unheard(run, run.last_responses(), "en", earlier)
    assert [score.outcome for score in changed.scores] == ["scored", "unscored"]


def test_a_sound_that_the_token_limit_cut_is_flagged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(tmp_path, {"a": "one"}, [replace(answer("a", 3), finish_reason="length")])
    assert "cut" in hear(run, monkeypatch, {3: "one"}).scores[0].flags


def test_times_are_those_of_answers_with_sound(tmp_path: Path) -> None:
    silent = Response("b", text="no", finish_reason="stop", timing=Timing(0.0, ttfp_s=9.0))
    stranger = replace(answer("x", 3), timing=Timing(0.0, ttfp_s=99.0))
    run = run_of(tmp_path, {"a": "one", "b": "two"}, [answer("a", 3), silent, stranger])
    report = report_of(run, unheard(run, run.last_responses(), "en"))
    assert (report.latency["ttfp_s"].count, report.latency["ttfp_s"].mean) == (1, 0.5)


def test_mandarin_is_compared_in_simplified_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(tmp_path, {"a": "我们今天去台湾看电视。"}, [answer("a", 3)])
    monkeypatch.setattr(spoken, "load_recogniser", lambda *_, **__: Listener({3: "我們今天去臺灣看電視。"}))
    judge = load_judge("zh", RecogniserConfig(), SimilarityConfig(encoder="none"))
    (score,) = score_spoken(run, run.last_responses(), judge, transcripts=tmp_path / "t").scores
    assert score.metrics["wer"] == 0


def test_similarities_of_two_encoders_are_not_subtracted() -> None:
    first, second = average_similarity("wavlm-sv", [0.5, 0.7]), average_similarity("wavlm-mean", [0.8, 0.9])
    assert first is not None and second is not None
    assert first.minus(first) == 0
    with pytest.raises(ScoringError, match="wavlm-sv and by wavlm-mean cannot be compared"):
        first.minus(second)
    assert average_similarity("ge2e", []) is None


def test_the_shipped_references_can_be_read() -> None:
    found = load_speech_references("seed-tts")
    judged = [reference for reference in found if reference.wer is not None]
    assert {(reference.recogniser, reference.setting["language"]) for reference in judged} == {
        ("whisper-hf", "en"), ("paraformer", "zh"),
    }  # fmt: skip
    assert [reference.latency["rtf"] for reference in found if reference.latency] == [0.44, 1.087]
    assert load_speech_references("no-such-benchmark") == ()


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([], None),
        ([(0.5, 1.0)], None),
        ([(0.5, 1.0), (1.0, 1.0), (2.4, 1.0)], Continuity(0, 0.0)),
        ([(0.5, 1.0), (2.0, 1.0), (2.5, 1.0)], Continuity(1, 0.5)),
        ([(0.5, 0.1), (1.6, 0.1), (2.7, 0.1)], Continuity(2, 2.0)),
    ],
)
def test_a_piece_that_comes_when_all_before_it_was_played_is_an_underrun(
    chunks: list[tuple[float, float]], expected: Continuity | None
) -> None:
    found = continuity(chunks)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert (found.underruns, found.stalled_s) == (expected.underruns, pytest.approx(expected.stalled_s))


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(0.001, 2)), min_size=2, max_size=20))
def test_playback_takes_as_long_as_its_sound_and_its_stalls(gaps: list[tuple[float, float]]) -> None:
    arrivals = np.cumsum([gap for gap, _ in gaps])
    chunks = list(zip(map(float, arrivals), (duration for _, duration in gaps), strict=True))
    found = continuity(chunks)
    assert found is not None
    ends_s = chunks[0][0] + sum(duration for _, duration in chunks) + found.stalled_s
    last_arrival_s, last_duration_s = chunks[-1]
    assert ends_s >= last_arrival_s + last_duration_s - 0.021
    assert (found.underruns == 0) == (found.stalled_s == 0)


@given(st.permutations(["scored", "unscored", "audio", "no_audio", "not selected", "not finished"]))
def test_the_accounting_adds_up_to_the_rows(order: list[str]) -> None:
    from omnieval.report.accounting import accounting

    scores = []
    for name in order:
        if name.startswith("not "):
            scores.append(Score(name, "not_asked", details={"reason": name}))
        elif name.endswith("audio"):
            scores.append(Score(name, "failed", failure_kind=name))
        else:
            scores.append(Score(name, name))  # type: ignore[arg-type]
    assert sum(line.count for line in accounting(scores)) == len(order)
