"""Whether a letter is the choice of another than the writer: `the host says that the answer is B`."""

from __future__ import annotations

import re

from omnieval.parsing.context import ANY_BREAK, Context, after_last
from omnieval.parsing.doubt_words import OTHERS, REPORTS, SAYS, WRITER
from omnieval.parsing.words import MARKS, OPTION, words

_OTHERS_SAY = re.compile(rf"{OTHERS}[^,;，]{{0,60}}?{SAYS}")
_THEIR_ANSWER = re.compile(
    rf"(?:{OTHERS}(?:['’]s|['’])|(?<![a-z])(?:his|her|their|whose)|(?<![a-z])(?!(?:model|assistant|question"
    rf"|today|let|here|it|that|what|there)['’])[a-z]+['’]s)\s+(?:\w+\s+)?(?:answer|choice|guess"
    rf"|pick|response)"
)
# `B, she says`, in languages whose verb comes last.
_SAID_AFTER = re.compile(
    r"[,.!]?\s*[\"”'’]\s*,?\s*(?:says|said|shouts|shouted|replies|replied|asks|asked|yells|exclaims|he\s"
    r"|she\s)|と(?:言(?!え)|述べ|話し|叫|答え|主張)|[라다]고\s*(?:말|했|주장|외|대답)"
)
_THOUGHT_AFTER = re.compile(r"と(?:思|考え)|[라다]고\s*(?:생각|믿)")
_OTHERS = re.compile(OTHERS)
_REPORTED_THAT = re.compile(
    words(
        {
            "es": r"dice|dijo|afirma",
            "fr": r"dit|affirme",
            "de": r"sagt|behauptet",
            "ru": r"говорит|сказала?|утверждает",
            "pt": r"diz|disse",
        }
    )
    + r"\s*[:,]?\s*(?:que|что|dass)?[^,;.]{0,40}\Z"
)
_REPORTED = re.compile(
    rf"{REPORTS}(?:\s+(?:that|us|him|her|them|me|que|dass))*\s*[:,]?\s*[\"“'«]?\s*(?:(?:the|la|el|die"
    rf"|my)\s+)?(?:(?:correct|right|final|best)\s+)*"
    rf"(?:(?:it\s+is|it['’]s|that['’]s|答案|正确|是|选|为|应该)\s*)*(?:(?:answer|option|choice|respuesta"
    rf"|réponse"
    rf"|antwort)\s*(?::|is|must\s+be|es|est|ist)\s*)?(?:{MARKS}|{OPTION})*\Z"
)
# The comma that some languages set before what is said.
_COMMA_THAT = re.compile(r"\A\s*,\s*(?:что|dass|że)?")
_TOLD_ME = re.compile(
    r"\b(?:told|tells|asked|asks|showed|shows)\s+(?:me|us)\b|\b(?:my|our)\s+(?:friend|colleague|wife|husband"
    r"|mother|father|mom|dad|brother|sister|boss|teacher|son|daughter|classmate)s?\b"
)
_WRITER = re.compile(WRITER)
_PERSONAL = re.compile(
    r"(?:choos|chose|pick|select|go(?:ing|ne)?\s|went|opt|say|guess|bet|answer|vote|settle|stick|lean|prefer"
    r"|submit|mark|think|believe|mean)"
)
# Before a verb without a subject of its own: an order, an infinitive, a noun; or nothing.
_NO_SUBJECT = re.compile(
    r"(?:\A|(?<![a-z])(?:to|should|would|must|will|please|then|just|only|let['’]s|by|now|best|final|first|my"
    r"|the|correct|right|likely|\w+ly))\W*\Z"
)
OTHERS_BEFORE = re.compile(rf"{OTHERS}\s+(?:\w+ly\s+)?\Z")


def of_others(context: Context) -> bool:
    """Whether another than the writer chooses: `the host says that the answer is`, `many would pick`."""
    main = context.main
    if _SAID_AFTER.search(context.rest):
        return True
    if _OTHERS.search(main) and _THOUGHT_AFTER.search(context.rest):
        return True
    if _THEIR_ANSWER.search(main) or _REPORTED.search(main) or _REPORTED_THAT.search(main):
        return True
    said = None
    for match in _OTHERS_SAY.finditer(main):
        said = match
    if said is None or _WRITER.search(_TOLD_ME.sub(" ", main[said.start() :])):
        return False
    between = _COMMA_THAT.sub("", main[said.end() :])
    if re.search(r"[,，;]", between) and not re.search(r"[,，]?\s*[\"“「']", between):
        return False
    return len(between) < 60


def has_another_subject(context: Context, verb: re.Match[str]) -> bool:
    """Whether another than the writer does the choosing: `the robot selected C`."""
    if not _PERSONAL.match(verb.group()) or _WRITER.search(_TOLD_ME.sub(" ", context.main)):
        return False
    before = after_last(ANY_BREAK, context.before[: verb.start()])
    before = before[max(before.rfind(":"), before.rfind("：")) + 1 :]
    return not _NO_SUBJECT.search(before)
