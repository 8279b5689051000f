"""Which option a transcript speaks for: word overlap near the question's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

_STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "being",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "please",
        "right",
        "she",
        "so",
        "some",
        "somebody",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)
_NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS.split(" "))}
_SUFFIXES = ("ing", "ed", "es", "s")
_FAR = 0.02


def content_tokens(text: str) -> list[str]:
    """Lower-case words without function words; number words as digits, common endings removed."""
    words = re.findall(r"[^\W_]+", text.lower())
    return [_stem(_NUMBERS.get(word, word)) for word in words if word not in _STOP_WORDS]


def text_evidence(question: str, options: Mapping[str, str], transcript: str) -> dict[str, float]:
    """Letter -> evidence in 0..1 that the transcript speaks for the option.

    An option's evidence is the mean over the words that not all options share: 0 for a word that the
    transcript lacks, else how near it stands to a word of the question. A question about the first or
    last thing prefers the option whose words come first or last.
    """
    heard = content_tokens(transcript)
    tokens = {letter: content_tokens(text) for letter, text in options.items()}
    shared = set.intersection(*map(set, tokens.values())) if tokens else set()
    asked = set(content_tokens(question)) - {token for words in tokens.values() for token in words}
    evidence = {}
    for letter, words in tokens.items():
        own = [word for word in words if word not in shared]
        evidence[letter] = _mean(_nearness(word, asked, heard) for word in own)
    wants = _order_asked(question)
    if wants is not None:
        return _by_order(evidence, tokens, heard, wants)
    return evidence


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word.removesuffix(suffix)
    return word


def _nearness(word: str, asked: Iterable[str], heard: Sequence[str]) -> float:
    places = [i for i, token in enumerate(heard) if token == word]
    anchors = [i for i, token in enumerate(heard) if token in asked]
    if not places:
        return 0.0
    distance = min((abs(place - anchor) for place in places for anchor in anchors), default=None)
    return 0.5 if distance is None else max(_FAR, 1 / (1 + distance))


def _order_asked(question: str) -> str | None:
    words = re.findall(r"[a-z]+", question.lower())
    return "first" if "first" in words else "last" if {"last", "finally"} & set(words) else None


def _by_order(
    evidence: Mapping[str, float], tokens: Mapping[str, Sequence[str]], heard: Sequence[str], wants: str
) -> dict[str, float]:
    """Of the options that the transcript mentions in full, the first or last mentioned keeps its evidence."""
    places = {
        letter: min(heard.index(word) for word in words)
        for letter, words in tokens.items()
        if words and all(word in heard for word in words)
    }
    if not places:
        return dict(evidence)
    best = (min if wants == "first" else max)(places, key=lambda letter: places[letter])
    return {letter: 1.0 if letter == best else 0.0 for letter in evidence}


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else 0.0
