"""Word errors of one utterance, and how its words are aligned (jiwer)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from omnieval.errors import ScoringError
from omnieval.scoring.speech import normalise
from omnieval.scoring.speech.normalise import Language


class EmptyReferenceError(ScoringError, ValueError):
    """Nothing is left of the reference after normalising, so its word error rate is not defined."""


@dataclass(frozen=True, slots=True)
class WordErrors:
    """wer: (substitutions + deletions + insertions) / words of the reference; above 1 where more was said
    than asked. reference, hypothesis: as compared, after normalising. words: of the reference."""

    wer: float
    substitutions: int
    deletions: int
    insertions: int
    reference: str
    hypothesis: str

    @property
    def errors(self) -> int:
        return self.substitutions + self.deletions + self.insertions

    @property
    def words(self) -> int:
        """Words of the reference that the rate counts."""
        return round(self.errors / self.wer) if self.wer else len(_words(self.reference))


@dataclass(frozen=True, slots=True)
class AlignedWord:
    """One step of an alignment; reference is None for an insertion, hypothesis for a deletion."""

    kind: Literal["equal", "substitute", "delete", "insert"]
    reference: str | None
    hypothesis: str | None


def official_wer(reference: str, hypothesis: str, *, language: Language) -> WordErrors:
    """Word errors by the seed-tts-eval protocol.

    reference: the text to be said. hypothesis: what a recogniser heard (Mandarin in simplified characters,
    see `normalise.to_simplified`). An empty hypothesis has a rate of 1, all deletions.
    Raises EmptyReferenceError when the reference holds nothing but punctuation, ConfigError for another
    language.
    """
    normalise.check_language(language)
    return _errors(normalise.official(reference, language), normalise.official(hypothesis, language))


def lenient_wer(reference: str, hypothesis: str, *, language: Language) -> WordErrors:
    """Word errors after numbers, spellings and abbreviations are made alike (`fifty` is `50`): not the
    official figure, but the one that tells wrong words from other ways to write them.

    Raises EmptyReferenceError, and ConfigError without the extra `speech`.
    """
    normalise.check_language(language)
    return _errors(normalise.lenient(reference, language), normalise.lenient(hypothesis, language))


def aligned_words(errors: WordErrors) -> list[AlignedWord]:
    """The words of reference and hypothesis beside each other, in order."""
    import jiwer

    done = jiwer.process_words(errors.reference, errors.hypothesis)
    reference, hypothesis = done.references[0], done.hypotheses[0]
    steps: list[AlignedWord] = []
    for chunk in done.alignments[0]:
        kind = cast("Literal['equal', 'substitute', 'delete', 'insert']", chunk.type)
        left = reference[chunk.ref_start_idx : chunk.ref_end_idx]
        right = hypothesis[chunk.hyp_start_idx : chunk.hyp_end_idx]
        for i in range(max(len(left), len(right))):
            steps.append(
                AlignedWord(kind, left[i] if i < len(left) else None, right[i] if i < len(right) else None)
            )
    return steps


def _errors(reference: str, hypothesis: str) -> WordErrors:
    import jiwer

    if not reference.strip():
        raise EmptyReferenceError("nothing is left of the reference after normalising; leave the line out")
    done = jiwer.process_words(reference, hypothesis)
    return WordErrors(
        float(done.wer), done.substitutions, done.deletions, done.insertions, reference, hypothesis
    )


def _words(text: str) -> list[str]:
    import jiwer

    words: list[str] = jiwer.transformations.wer_default(text)[0]
    return words
