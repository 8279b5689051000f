"""What scorers leave in a score's details, as far as it is sound: the files may be anyone's."""

from __future__ import annotations

from typing import Any, TypeGuard

from omnieval.scoring.speech import WordErrors
from omnieval.scoring.spoken import word_errors_of
from omnieval.types import Score

_LONGEST = 20_000  # characters of a text that are aligned


def word_errors(score: Score) -> WordErrors | None:
    """What the recogniser's text was counted as; None where that is damaged or too long to lay out."""
    counts = [score.details.get(key) for key in ("substitutions", "deletions", "insertions")]
    reference, hypothesis = score.details.get("reference"), score.details.get("hypothesis")
    sound = (
        "wer" in score.metrics
        and all(map(_is_count, counts))
        and _is_text(reference)
        and _is_text(hypothesis)
        and bool(reference.strip())
    )
    return word_errors_of(score) if sound else None


def parsed_span(score: Score | None, text: str) -> tuple[int, int] | None:
    """Where in a reply the answer was read, as (start, end); None where that is not known."""
    span = score.details.get("span") if score is not None else None
    if not isinstance(span, (list, tuple)) or len(span) != 2:
        return None
    start, end = span
    if not (_is_count(start) and _is_count(end) and start < end <= len(text)):
        return None
    return start, end


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= _LONGEST
