"""What is unhealthy about replies, apart from being wrong: a number from sick replies says little.

empty            no visible character
repetition       a character 20 times in a row, a phrase 8 times at the end, or 60 words of which fewer
                 than a tenth differ
cut              ended by the token limit (finish reason `length`)
open_reasoning   a reasoning block that never ends
refusal          says that it cannot answer, and commits to no letter
wrong_language   at least 20 letters, four fifths of them in a script that neither question nor options use
unconstrained    the letters were constrained, and the reply is none of them: the server ignored it
identical        the same reply to 5 and at least 5 % of the samples, longer than 12 characters and without a
                 letter that it commits to, or longer than 80
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from omnieval.parsing import is_open_reasoning, lettered, parse_letter
from omnieval.types import Response, Sample, Score

FLAGS = (
    "empty", "repetition", "cut", "open_reasoning", "refusal", "wrong_language", "unconstrained", "identical",
)  # fmt: skip
# A run with more unhealthy replies than this says so in its headline.
MOST_UNHEALTHY = 0.05

_LOOKED_AT = 4_000
_SAME_CHARACTER = re.compile(r"([^\s\d])\1{19}")
_LONGEST_PHRASE, _PHRASE_TIMES, _SHORTEST_RUN = 60, 8, 40
_FEW_WORDS, _FEW_SHARE = 60, 0.1
_REFUSAL = re.compile(
    r"\b(?:i\s*(?:['’]m|am)\s+(?:sorry|unable|not\s+able)|i\s+(?:cannot|can['’]?t|can\s+not|do\s+not|don['’]t)\s+"
    r"(?:answer|determine|see|hear|watch|view|access|process|help|assist|provide|tell|know|identify)"
    r"|as\s+an?\s+(?:ai|language\s+model)|unable\s+to\s+(?:answer|determine|process|view)"
    r"|no\s+(?:video|image|audio)\s+(?:was|is|has\s+been)\s+(?:provided|attached)|cannot\s+be\s+determined)"
    r"|无法(?:回答|确定|判断|看到|观看|处理)|不能(?:回答|确定|判断)|抱歉|对不起|申し訳|죄송",
    re.IGNORECASE,
)
_SHORTEST_FOREIGN, _FOREIGN_SHARE = 20, 0.8
_SHORTEST_IDENTICAL, _LONG, _FEWEST_IDENTICAL, _IDENTICAL_SHARE = 12, 80, 5, 0.05


def reply_flags(sample: Sample, response: Response, *, constrained: bool = False) -> tuple[str, ...]:
    """The flags of one answered sample, in the order of `FLAGS`, without `identical`.

    constrained: the model was bound to answer with one of the letters.
    """
    text = response.text
    if not _is_visible(text):
        return ("empty", *(("cut",) if response.finish_reason == "length" else ()))
    found = {
        "repetition": is_repetition(text),
        "cut": response.finish_reason == "length",
        "open_reasoning": is_open_reasoning(text),
        "refusal": _is_refusal(text, sample),
        "wrong_language": _is_foreign(text, sample),
        "unconstrained": constrained and text.strip() not in lettered(sample.options),
    }
    return tuple(flag for flag in FLAGS if found.get(flag))


def flag_identical(
    scores: Sequence[Score], texts: Mapping[str, str], questions: Mapping[str, str] | None = None
) -> list[Score]:
    """The scores, with `identical` added where one long reply was given to many questions.

    texts: the reply of each answered sample, by sample id. questions: of samples that ask one question in
    several orders, that question's id.
    """
    asked = {sample_id: (questions or {}).get(sample_id, sample_id) for sample_id in texts}
    answers = {s.sample_id for s in scores if s.readings.get("careful") is not None}
    told = Counter(
        text
        for text, _ in {
            (text.strip(), asked[sample_id])
            for sample_id, text in texts.items()
            if len(text.strip()) > (_LONG if sample_id in answers else _SHORTEST_IDENTICAL)
        }
    )
    fewest = max(_FEWEST_IDENTICAL, _IDENTICAL_SHARE * len(set(asked.values())))
    worn = {text for text, count in told.items() if count >= fewest}
    return [
        replace(score, flags=(*score.flags, "identical"))
        if texts.get(score.sample_id, "").strip() in worn
        else score
        for score in scores
    ]


def is_repetition(text: str) -> bool:
    """Whether a text has collapsed into one character, phrase or handful of words."""
    if len(text) < 20:
        return False
    end = text[-_LOOKED_AT:]
    if _SAME_CHARACTER.search(end) or _repeats_phrase(end):
        return True
    words = end.split()
    return len(words) >= _FEW_WORDS and len(set(words)) < _FEW_SHARE * len(words)


def _repeats_phrase(text: str) -> bool:
    """Whether the text ends with one phrase again and again, over at least 40 characters: `B B B B B B B B`
    is an answer."""
    text = text.rstrip()
    for period in range(-(-_SHORTEST_RUN // _PHRASE_TIMES), _LONGEST_PHRASE + 1):
        length = _PHRASE_TIMES * period - 1  # the last phrase may lack the space after it
        run = text[-length:]
        if len(run) == length and run[period:] == run[:-period]:
            return True
    return False


def _is_visible(text: str) -> bool:
    return any(not c.isspace() and unicodedata.category(c)[0] != "C" for c in text[:1000])


def _is_refusal(text: str, sample: Sample) -> bool:
    if not _REFUSAL.search(text[:_LOOKED_AT]):
        return False
    return parse_letter(text, rule="careful", options=lettered(sample.options)).letter is None


def _is_foreign(text: str, sample: Sample) -> bool:
    scripts = _scripts(text[:_LOOKED_AT])
    letters = sum(scripts.values())
    if letters < _SHORTEST_FOREIGN:
        return False
    script, count = scripts.most_common(1)[0]
    if count < _FOREIGN_SHARE * letters:
        return False
    known = {_script(c) for c in set(sample.question).union(*sample.options) if c.isalpha()}
    return bool(known) and script not in known


def _scripts(text: str) -> Counter[str]:
    """How many letters of each script a text has."""
    scripts: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if character.isalpha():
            scripts[_script(character)] += count
    return scripts


@lru_cache(maxsize=10_000)
def _script(letter: str) -> str:
    """The script of a letter by the first word of its Unicode name; Chinese and Japanese share theirs."""
    name = unicodedata.name(letter, "UNKNOWN").split()[0]
    return (
        "CJK" if name in ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC", "FULLWIDTH") else name
    )
