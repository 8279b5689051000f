"""Where a reply takes back or mends what it said before: `scratch that`, `actually no`, `wait`."""

from __future__ import annotations

import re

_I = re.IGNORECASE
_INTERJECTION = (
    r"(?:(?:wait|hmm+|hm|hold\s+on|oh|no|nope|actually|sorry|oops|well|but|however"
    r"|on\s+second\s+thoughts?|等等|等一下|哦|いや|아니)[\s,.!…，。！、—–-]{0,6}+)"
)
_WITHDRAWAL = re.compile(
    rf"(?:^|[.!?。！？…\n—–,])[\s*_]{{0,6}}+(?:(?>{_INTERJECTION}{{1,4}})(?:that(?:['’]s|\s+is|\s+was)?"
    rf"|this(?:\s+is)?|it(?:['’]s|\s+is)|i\s+was)?\s{{0,4}}"
    r"(?:wrong|incorrect|not\s+(?:right|correct|true|it)|mistaken|isn['’]t\s+(?:right|correct)"
    r"|can['’]t\s+be\s+(?:right|correct))(?![a-z])"
    r"|(?:that(?:['’]s|\s+is|\s+was)|i\s+was)\s+(?:wrong|incorrect|not\s+(?:right|correct)|mistaken"
    r"|a\s+mistake)(?![a-z])"
    r"|actually,?\s+no(?![a-z])|(?:wait|hmm+|hold\s+on),?\s+(?:actually,?\s+)?no(?=\s{0,4}(?:[.!…,:—–]|$))"
    r"|(?:scratch|strike|scrap|disregard|forget)\s+that|never\s?mind|i\s+take\s+(?:that|it)\s+back"
    r"|(?:等等|等一下|哦)?[，。]?\s{0,4}(?:不对|不是的|错了|我错了|说错了)(?=[，。！\s]|$)|いや、?違"
    r"|間違えました)",
    _I,
)
_REVISES = re.compile(
    r"(?:^|[\W_])(?:wait|hold\s+on|no(?=\s{0,4}(?:[,.!…:;—–]|$))|nope|sorry|on\s+second\s+thoughts?|actually"
    r"|oops|correction|i\s+meant?|my\s+mistake"
    r"|scratch\s+that|strike\s+that|make\s+(?:it|that)|instead"
    r"|change\s+my\s+answer|reconsider\w*|pardon|perdón|espera|non|nein|nicht|scusa|desculpe|нет"
    r"|точнее)(?![a-z])|不对|等等|等一下|いや|すみません|아니",
    _I,
)
_CONTRASTS = re.compile(r"\b(?:but|however|hmm+|well|oh)\b", _I)


def withdrawals(text: str) -> list[int]:
    """Places where the text takes back what it said just before."""
    return [match.start() for match in _WITHDRAWAL.finditer(text)]


def is_revised(between: str) -> bool:
    """Whether words between two mentions announce that the second one mends the first."""
    return _REVISES.search(between[-200:]) is not None


def is_contradicted(before: str) -> bool:
    """Whether words before a rejected letter turn against what was said: `but`, `wait`."""
    return is_revised(before) or _CONTRASTS.search(before) is not None
