"""Single samples to unfold: what was asked, what is right, what came."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from omnieval.parsing import lettered
from omnieval.report.accounting import sentence
from omnieval.report.html.evidence import Evidence, Shown
from omnieval.report.html.markup import Markup, element, joined
from omnieval.report.html.parts import Fold, Folds
from omnieval.scoring.speech import aligned_words
from omnieval.scoring.spoken import word_errors_of
from omnieval.types import Response, Sample, Score

_LONGEST_REPLY, _LONGEST_QUESTION, _LONGEST_OPTION = 2_400, 1_200, 300
_TITLES = {
    "wrong": "Wrong answers",
    "unparsed": "Replies without a letter",
    "failed": "Failed samples",
    "scored": "Utterances with word errors",
}


def sample_lists(evidence: Evidence) -> list[Folds]:
    """One list an outcome that has any."""
    lists = []
    for outcome, samples in evidence.samples.items():
        if samples:
            count, shown = evidence.counts[outcome], len(samples)
            intro = f"All {count}." if count == shown else (
                f"{'The worst' if outcome == 'scored' else 'The first'} {shown} of {count}; "
                "the others are in scores.jsonl and responses.jsonl of the run."
            )  # fmt: skip
            lists.append(Folds(_TITLES[outcome], intro, tuple(_fold(item) for item in samples)))
    return lists


def anchor(sample_id: str) -> str:
    """The name by which a sample on the page can be linked to."""
    return f"sample-{quote(sample_id, safe='')}"


def question(sample: Sample, picked: Mapping[str, str] = {}) -> Markup:
    """A question with its options. picked: letter -> who picked it."""
    options = [
        element(
            "li",
            element("b", f"{letter}."),
            element("bdi", bounded(text, _LONGEST_OPTION)),
            element("span", "right", class_="badge right") if letter == sample.gold else None,
            _picked(picked[letter], letter == sample.gold) if letter in picked else None,
        )
        for letter, text in lettered(sample.options).items()
    ]
    return joined(
        element("p", bounded(sample.question, _LONGEST_QUESTION), class_="question"),
        element("ol", *options, class_="options") if options else None,
    )


def reply(title: str, response: Response | None) -> Markup:
    """What came: the reply, the reasoning, or why there is none."""
    if response is None:
        return element("div", element("h4", title), element("p", "No answer."))
    told = None
    if response.error is not None:
        told = element(
            "p", f"{response.error.kind}: {bounded(sentence(response.error.message, response.error.hint))}"
        )
    reasoning = response.reasoning and joined(
        element("h4", "Reasoning"), element("pre", bounded(response.reasoning))
    )
    text = element("pre", bounded(response.text)) if response.text or told is None else None
    return element("div", element("h4", title), told, text, reasoning or None)


def bounded(text: str, longest: int = _LONGEST_REPLY) -> str:
    """A text of any length, its middle left out."""
    if len(text) <= longest:
        return text
    head, tail = 2 * longest // 3, longest // 3
    return f"{text[:head]}\n[… {len(text) - head - tail} characters left out …]\n{text[-tail:]}"


def _picked(who: str, right: bool) -> Markup:
    return element("span", who, class_="badge" if right else "badge wrong")


def _fold(shown: Shown) -> Fold:
    planned, score, response = shown
    sample = planned.sample
    groups = ", ".join(sample.groups.values())
    if score.outcome == "scored":
        told, content = _heard(score)
    elif score.outcome == "failed":
        told = score.failure_kind or "failed"
        failure = sample.problem
        why = score.details.get("message") or (failure and sentence(failure.message, failure.hint))
        content = joined(
            question(sample), element("p", bounded(str(why))) if why else reply("What happened", response)
        )
    else:
        told = f"picked {score.answer}, right {sample.gold}" if score.answer else f"right {sample.gold}"
        picked = {score.answer: "picked"} if score.answer else {}
        read = f"Reply, read by {score.rule}" + (
            f": {score.details['reason']}" if score.details.get("reason") else ""
        )
        content = joined(question(sample, picked), reply(read, response))
    if score.flags:
        told += " · " + ", ".join(flag.replace("_", " ") for flag in score.flags)
    return Fold(sample.id, f"{told} · {groups}" if groups else told, content, anchor(sample.id))


def _heard(score: Score) -> tuple[str, Markup]:
    words: list[Markup | str] = []
    for word in aligned_words(word_errors_of(score)):
        said = element("del", word.reference) if word.kind in ("substitute", "delete") else None
        heard = element("ins", word.hypothesis) if word.kind in ("substitute", "insert") else None
        words += [joined(word.reference if word.kind == "equal" else None, said, heard), " "]
    told = f"WER {100 * score.metrics['wer']:.1f} %"
    return told, joined(
        element("p", *words, class_="question"),
        element("p", f"Struck through: said and not heard. Underlined: heard instead. By {score.rule}."),
    )
