"""What a recogniser heard of an utterance, word by word, and the figures made of it."""

from __future__ import annotations

from omnieval.report.html.markup import Markup, element
from omnieval.scoring.speech import aligned_words
from omnieval.types import Score
from omnieval.view.details import word_errors
from omnieval.view.pages import section

_LOOKS = {"substitute": "sub", "delete": "gone", "insert": "added"}


def heard_section(score: Score | None) -> Markup | None:
    """None for what was not heard."""
    if score is None or "wer" not in score.metrics:
        return None
    title = f"Heard by {score.rule}" if score.rule else "Heard"
    told = element("p", ", ".join(_figure(name, value) for name, value in score.metrics.items()))
    errors = word_errors(score)
    if errors is None:
        damaged = element("p", "The score's word counts are damaged.", class_="warning")
        return section(title, element("p", score.answer, class_="said"), damaged, told)
    words: list[Markup | str] = []
    for word in aligned_words(errors):
        said, heard = word.reference, word.hypothesis
        if word.kind == "equal":
            words += [said or "", " "]
            continue
        look = _LOOKS[word.kind]
        words += [element("del", said, class_=look) if said else "",
                  element("ins", heard, class_=look) if heard else "", " "]  # fmt: skip
    counts = (
        (errors.substitutions, "substituted", "sub"), (errors.deletions, "left out", "gone"),
        (errors.insertions, "added", "added"),
    )  # fmt: skip
    key = [element("li", f"{count} {what}", class_=look if count else None) for count, what, look in counts]
    return section(title, element("p", *words, class_="said"), element("ul", *key, class_="key"), told)


def _figure(name: str, value: float) -> str:
    if name in ("wer", "lenient_wer"):
        return f"{name.replace('wer', 'WER').replace('_', ' ')} {100 * value:.1f}\u00a0%"
    if name.startswith("sim["):
        return f"SIM\u00a0{value:.3f} ({name[4:-1]})"
    return f"{value:.2f} s of sound" if name == "duration_s" else f"{name} {value:.4g}"
