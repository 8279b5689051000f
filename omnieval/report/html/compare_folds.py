"""What changed between two runs, sample by sample, to unfold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from omnieval.report.compare.choice import ChoiceComparison, Flip
from omnieval.report.compare.pages import BETTER, GAINED, LOST, WORSE
from omnieval.report.compare.speech import SpeechComparison, UtteranceChange
from omnieval.report.html.markup import element, joined
from omnieval.report.html.parts import Fold, Folds
from omnieval.report.html.sample_folds import anchor, bounded, question, reply
from omnieval.runlog import Run
from omnieval.types import Response, Sample

_SHOWN = 60


def flip_lists(choice: ChoiceComparison, first: Run, second: Run) -> list[Folds]:
    """Right to wrong, and wrong to right, each with what both runs replied."""
    shown = {flip.sample_id for flips in (choice.lost, choice.gained) for flip in flips[:_SHOWN]}
    askings = _askings(second, shown)
    ids = {sample.id for samples in askings.values() for sample in samples}
    replies = [{r.sample_id: r for r in run.responses() if r.sample_id in ids} for run in (first, second)]
    return [
        Folds(
            title,
            _intro(flips),
            tuple(_flip(flip, askings[flip.sample_id], replies) for flip in flips[:_SHOWN]),
        )
        for title, flips in ((LOST, choice.lost), (GAINED, choice.gained))
        if flips
    ]


def changed_lists(speech: SpeechComparison, second: Run) -> list[Folds]:
    """Utterances with more and with fewer word errors, and what was heard in both runs."""
    worse = [change for change in speech.changed if change.second > change.first]
    better = [change for change in reversed(speech.changed) if change.second < change.first]
    askings = _askings(second, {change.sample_id for found in (worse, better) for change in found[:_SHOWN]})
    return [
        Folds(title, _intro(found), tuple(_change(item, askings[item.sample_id]) for item in found[:_SHOWN]))
        for title, found in ((WORSE, worse), (BETTER, better))
        if found
    ]


def _askings(run: Run, questions: Collection[str]) -> Mapping[str, Sequence[Sample]]:
    """The samples of each question: one, or one an order of the options."""
    found: dict[str, list[Sample]] = defaultdict(list)
    for planned in run.samples():
        name = planned.sample.origin or planned.sample.id
        if name in questions:
            found[name].append(planned.sample)
    return found


def _intro(items: Sequence[object]) -> str:
    if len(items) <= _SHOWN:
        return f"All {len(items)}."
    return f"The first {_SHOWN} of {len(items)}; `omnieval compare --json` gives all."


def _flip(flip: Flip, askings: Sequence[Sample], replies: Sequence[Mapping[str, Response]]) -> Fold:
    groups = ", ".join(flip.groups.values())
    told = f"right {flip.gold or '-'}, A {flip.first}, B {flip.second}"
    one = len(askings) == 1
    picked: dict[str, str] = {}
    for side, letter in (("A", flip.first), ("B", flip.second)) if one else ():
        picked[letter] = f"{picked[letter]} and {side}" if letter in picked else side
    answers = [
        reply(name if one else f"{name}, asked as {sample.id}", found.get(sample.id))
        for sample in askings
        for name, found in zip(("A", "B"), replies, strict=True)
    ]
    content = joined(question(askings[0], picked), element("div", *answers, class_="replies"))
    title = f"{told} · {groups}" if groups else told
    return Fold(flip.sample_id, title, content, anchor(flip.sample_id))


def _change(change: UtteranceChange, askings: Sequence[Sample]) -> Fold:
    heard = [
        element("div", element("h4", f"Heard in {name}"), element("pre", bounded(text)))
        for name, text in (("A", change.first_heard), ("B", change.second_heard))
    ]
    text = element("p", bounded(askings[0].gold or ""), class_="question")
    told = f"WER {100 * change.first:.1f} % to {100 * change.second:.1f} %"
    content = joined(text, element("div", *heard, class_="replies"))
    return Fold(change.sample_id, told, content, anchor(change.sample_id))
