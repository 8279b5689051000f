"""What a text says of a letter: chosen, rejected, only supposed, or merely named.

The clause decides. Its words before the letter may deny it (`I doubt that`), put it under a condition, ask
for it or lay it in another's mouth; those next to it choose it (`the answer is`, `is correct`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from omnieval.parsing.context import ANY_BREAK, Context
from omnieval.parsing.doubt_words import (
    BREAK,
    EXAMPLE,
    NEGATION,
    NEGATION_AT_END,
    NO_CONDITION,
    NO_NEGATION,
    OTHER_ANSWER,
    QUESTION_START,
    SAYS,
    SOFT_BREAK,
    SUPPOSED,
    SUPPOSED_FIRST,
)
from omnieval.parsing.letters import DECLARED, LETTER, REASON_AFTER
from omnieval.parsing.speakers import OTHERS_BEFORE, has_another_subject, of_others
from omnieval.parsing.verdicts import BUT_IT_IS_NOT, CALLED_RIGHT, CALLED_WRONG, FAVOURED
from omnieval.parsing.words import ADVERB, CHOOSES, CONCLUDES, GLUE, LINK, MARKS, OPTION, POINTS, words

Stance = Literal["chosen", "rejected", "named", "supposed"]
# How much a choice weighs: a weaker one does not replace a stronger one.
DECLARATION, CHOICE, HINT = 3, 2, 1
HEDGED = "held possible"


@dataclass(frozen=True, slots=True)
class Judgement:
    """stance, why, and the weight of a choice (0 for none)."""

    stance: Stance
    reason: str
    weight: int = 0


_NEGATION = re.compile(NEGATION)
_NO_NEGATION = re.compile(NO_NEGATION)
_NEGATION_AT_END = re.compile(NEGATION_AT_END)
_SUPPOSED = re.compile(SUPPOSED)
_SUPPOSED_FIRST = re.compile(rf"(?:\A|[,;:¿(]\s?)[\s\"'*_]*{SUPPOSED_FIRST}")
_GIVES_REASON = re.compile(
    words({"en": r"since|because|as", "es": "porque", "fr": "car", "de": "weil|denn"}) + r"\Z"
)
# What is asked for, in words of its own: `the sound that is heard first is B`, `what the man does next is C`.
_IDENTIFIED = re.compile(
    r"(?<![a-z])(?:what|the\s+(?:\w+\b[^,;:]*?\b)?(?:that|which|who|not|never|first|last|next|most|least"
    r"|only|left|remaining|missing|\w+ed|heard|shown|seen))\b[^;:]*?"
    rf"\b(?:is|are|was)(?>(?:{GLUE}|{ADVERB}|{OPTION})*)\Z",
)
# `The cause is C`, where it is no grade, note or other thing that letters name.
_NOUN_IS = re.compile(
    r"(?:\A|[,;:]\s)\W*(?:the|this|his|her|its)\s+(?:[\w'’-]+\s+){0,6}"
    r"(?!(?:type|grade|key|letter|note|chord|size|level|class|mark|score|name|initial|blood|rating|drive"
    r"|team|group|others?|distractor|password|code|winner|floor|gate|room|seat|platform|door|vitamin|word"
    r"|sign|label)s?\b)[\w'’-]+\s+"
    rf"(?:is|was)(?>(?:{GLUE}|{ADVERB}|{OPTION})*)\Z"
)
_HEDGE = re.compile(
    words(
        {
            "en": r"maybe|perhaps|possibly|might|could|may",
            "es": r"quizás?|podría",
            "fr": r"peut-être|pourrait",
            "de": r"vielleicht|könnte",
            "ru": r"может|возможно",
        },
        {"zh": r"可能|也许|或许", "ja": r"かもしれ", "ko": r"수도"},
    )
    + r"[^,;，；]{0,25}\Z",
)
_COMPARED = re.compile(r"(?:比|比起|相比|较之)\s*(?:选项)?\s*\Z")
_NO_CONDITION = re.compile(rf"[\s,，]*(?:{NO_CONDITION})")
_EXAMPLE = re.compile(EXAMPLE)
_QUESTION = re.compile(rf"[\W_]*(?:(?:so|and|but|now|ok|okay|wait|hmm)[\s,]+)?{QUESTION_START}")
_SECOND_PERSON = re.compile(
    words(
        {
            "en": "you",
            "fr": "vous|tu",
            "pt": "você",
            "it": "pensi|credi",
            "es": "crees|piensas|usted",
            "de": "sie",
            "ru": "вы|ты",
        }
    )
)
_ASKS_AT_END = re.compile(
    r"(?:吗|嗎|呢|か)[\s?？。！!\"'”’)]*\Z|(?:습니까|니까|인가요|일까요|할까요)[\s?？。]*\Z"
)
_PART_OF_CHOICE = re.compile(
    rf"(?:{OPTION}|{ADVERB}|{LINK}|{CHOOSES}|{BREAK}|{SOFT_BREAK}|{CONCLUDES}|{POINTS}|{SAYS}"
    rf"|(?<![a-z])(?:but|find|consider|see|how|why|where)(?![a-z]))\s+\Z"
)
_ONLY_WORD = words({"en": "only", "es": "solo|sólo", "de": "nur", "ru": "только"}, {"zh": "只有|唯有"})
_ONLY = re.compile(rf"(?<!not\s)(?:{_ONLY_WORD})(?>(?:{MARKS}|{OPTION})*)\Z")
_EXCEPT = re.compile(
    rf"(?:(?<![a-z])(?:except(?:\s+for)?|but|other\s+than|apart\s+from|besides)|除了?|以外)(?:{MARKS}"
    rf"|{OPTION})*\Z"
)
_ALL_WRONG = re.compile(
    r"(?:are|is|can\s+be)\s+(?:all\s+)?(?:wrong|incorrect|false|ruled\s+out|eliminated|contradicted"
    r"|not\s+\w+)|(?:都|均|全)(?:不|错|是错)"
)
# `I stand by C`; but not `I considered C`.
_WRITER_ENDS = re.compile(
    words(
        {
            "en": r"i|my|me|i['’]d|i['’]m|i['’]ll|i['’]ve",
            "es": r"yo|me|mi",
            "fr": r"je|mon",
            "de": r"ich|mein\w*",
            "it": r"io|mi|mia",
            "pt": r"eu|minha",
            "ru": r"я|мой",
            "tr": r"ben\w*",
            "pl": r"mój|moja",
        }
    )
    + r"(?!.*\b(?:consider\w*|look\w*|s[ea]e\w*|saw|hear\w*|thought|compar\w*|examin\w*|start\w*|check\w*"
    r"|discuss\w*|analy\w*|mention\w*"
    r"|remember|got|have|had|read|watch\w*|evaluat\w*|understand|ask\w*|about|between|from|against|wonder\w*"
    r"|exclude\w*|drop\w*|know|found|at|in|of)\b)"
    r"[^,;:]{0,40}\Z"
)
# A noun that the denied thing is: `the sound that is not heard is B`, `没有提到的是B`.
_WHICH = words(
    {
        "en": r"what|that|which|who|one|ones|event|object|item|thing|sound|option|statement|not",
        "es": "que",
        "fr": "qui|que",
        "de": "die|der|das",
    }
)
_RELATIVE = re.compile(
    rf"{_WHICH}"
    rf"[^,;:]*?{NEGATION}[^,;:]*?(?:(?<=\s)(?:is|are|was|would\s+be|must\s+be|es|est"
    rf"|ist)(?![a-z]))(?>(?:{GLUE}|{OPTION}|(?:the|la|le|die|therefore|thus|clearly|definitely"
    rf"|likely)(?![a-z]))*)\Z"
    rf"|[没沒未][^不错]*的[^，。]{{0,6}}?[是为]\s*(?:选项|選項)?\s*\Z",
)
_BY_VERB = re.compile(
    rf"{CHOOSES}(?>(?:{GLUE}|{ADVERB}|{OPTION}|(?:that|the|is|it|be|also|with|was|were|here|would|should|must"
    rf"|la|el|le|die|que|dass|que\s+sea|es)(?![a-z]))*)\Z"
)
_BY_EVIDENCE = re.compile(rf"{POINTS}(?>(?:{GLUE}|{ADVERB}|{OPTION}|(?:that|the|is|it|answer)(?![a-z]))*)\Z")
_CONCLUDED = re.compile(
    rf"{CONCLUDES}(?>(?:{GLUE}|{ADVERB}|{OPTION}|(?:it['’]?s|it\s+is|it|is|must|be|应|选|選|是|选择|c['’]est|es"
    rf"|ist"
    rf"|è|é)(?![a-z]))*)\Z"
)
_RANGE_AFTER = re.compile(
    rf"{MARKS}{{0,6}}(?:(?:to|through|thru|bis|à|a)\s|[-–~〜]|至|到|から){MARKS}{{0,6}}[b-h](?![a-z])"
)
_CUT_AFTER = re.compile(
    rf"{MARKS}{{0,6}},?\s*(?:or|and|oder|ou|und|或|或者|还是|和|または|또는|o|y|et|или)[\s.…]*(?:possibly"
    rf"|perhaps"
    rf"|maybe)?[\s.…]*\Z"
)
_SHARE_AFTER = re.compile(rf"{MARKS}{{0,6}}\s*[:=]?\s*(?:\d+(?:\.\d+)?\s*[%％]|[01]?\.\d+)")
_HEDGED = re.compile(rf"(?:either|between|entre|zwischen|both)(?>(?:{MARKS}|{OPTION})*)\Z")
_LOOKED_AT = re.compile(
    rf"(?<![a-z])(?:(?:consider|check|checking|look(?:ing)?\s+at|examin(?:e|ing)|evaluat(?:e|ing)"
    rf"|analy[sz](?:e|ing)"
    rf"|compar(?:e|ing)|regarding|about|starting\s+with|review|reviewing|for|in|as\s+for|from|to|with|of"
    rf"|between|versus|vs)"
    rf"(?:{MARKS}|(?:option|choice|options|choices|the|answer|[,:])(?![a-z]))*)\Z",
)
_OTHER = re.compile(OTHER_ANSWER)
# What may stand between such a word and the word for an answer.
_UP_TO_KEY = re.compile(r"[\s_\"'*:-]*(?:[a-z]+[\s_]+)?")
_SMALL_WORD = re.compile(r"[^\S\n]+[a-zà-ÿа-яα-ω]|[描说講讲指提涉的]")
_KEY_ALONE = re.compile(rf"{OPTION}{MARKS}{{0,6}}\Z")


def judge(context: Context) -> Judgement:
    """What the text says of one letter, or of letters named in one breath."""
    if _EXCEPT.search(context.before) and _ALL_WRONG.search(context.rest):
        return Judgement("chosen", "the only one not called wrong", CHOICE)
    if CALLED_WRONG.match(context.after) or _denied_at_end(context):
        return Judgement("rejected", "called wrong")
    if _negated(context):
        return Judgement("rejected", "negated")
    supposed = _supposed(context)
    if supposed is not None:
        return Judgement("supposed", supposed)
    return _choice(context) or _mention(context)


def _denied_at_end(context: Context) -> bool:
    rest = context.rest
    following = LETTER.search(rest)
    clause = rest[: following.start()] if following else rest
    broken = ANY_BREAK.search(clause)
    return _NEGATION_AT_END.search(clause[: broken.start()] if broken else clause) is not None


def _negated(context: Context) -> bool:
    """Whether the letter's clause denies it: `not`, `I doubt that the answer is`, `no evidence supports`."""
    clause = _NO_NEGATION.sub(" ", context.clause)
    label, colon, said = clause.rpartition(":") if ":" in clause else clause.rpartition("：")
    if colon and (
        len(label) > 30
        or label.strip() in ("no", "nope", "non", "nein", "нет")
        or label.strip().startswith("no ")
    ):
        clause = said
    if _COMPARED.search(clause):
        return True
    if not _NEGATION.search(clause):
        return False
    if _GIVES_REASON.search(context.before[: len(context.before) - len(context.clause)]):
        declared = DECLARED.search(clause)
        return declared is None or _NEGATION.search(declared.group()) is not None
    return not _RELATIVE.search(clause)


def _supposed(context: Context) -> str | None:
    """Why a letter is only looked at, or None."""
    if _SHARE_AFTER.match(context.after) and not _sole_share(context):
        return "given a probability"
    if _RANGE_AFTER.match(context.after) or _CUT_AFTER.match(context.after):
        return "part of a range or an unfinished choice"
    if _HEDGED.search(context.before):
        return "one of two"
    if _asked(context):
        return "in a question"
    if _conditional(context.main) or _conditional(context.rest):
        return "under a condition"
    if BUT_IT_IS_NOT.match(context.after):
        return "seems right and is not"
    if _EXAMPLE.search(context.before):
        return "an example"
    if of_others(context):
        return "said by another"
    return None


def _sole_share(context: Context) -> bool:
    """`C (90%)`, where no other share is given: a choice and how sure it is."""
    return context.after.lstrip().startswith("(") and context.text.count("%") == 1


def _asked(context: Context) -> bool:
    if re.match(r"[\W_]*[?？]\s*(?:yes|correct|right|i\s+(?:think|believe|guess)\s+so)\b", context.after):
        return False
    sentence = context.text[context.sentence[0] : context.sentence[1]]
    if _ASKS_AT_END.search(context.rest):
        return True
    if sentence[-1:] not in "?？؟" or not sentence:
        return False
    if re.search(r",\s*(?:right|isn['’]t it|correct|no)\?\s*\Z", sentence):
        return False
    if _SECOND_PERSON.search(sentence):
        return True
    goes_on = context.text[context.sentence[1] :].strip(" \n?？*\"'")
    return bool(goes_on) or _QUESTION.match(sentence) is not None or ("¿" in sentence and len(sentence) > 8)


def _conditional(text: str) -> bool:
    for match in chain(_SUPPOSED.finditer(text), _SUPPOSED_FIRST.finditer(text)):
        if re.search(r"(?:even|as)\s+\Z", text[: match.start()]):
            continue
        if not _NO_CONDITION.match(text, match.end()):
            return True
    return False


def _choice(context: Context) -> Judgement | None:
    declared = DECLARED.search(context.near)
    if declared is not None and not _described(context) and not _explains(declared, context):
        if _is_another(context.near, declared):
            return Judgement("supposed", "another answer than the writer's")
        if not _NEGATION.search(_NO_NEGATION.sub(" ", declared.group())) or _RELATIVE.search(
            declared.group()
        ):
            return Judgement("chosen", "declared as the answer", DECLARATION)
    if _ONLY.search(context.before):
        return Judgement("chosen", "the only one", CHOICE)
    if CALLED_RIGHT.match(context.after):
        return Judgement("chosen", "called right", CHOICE)
    if FAVOURED.match(context.after) and not _named_thing(context):
        return Judgement("chosen", "called the best", HINT)
    if not context.clause_ends:
        return None
    if _HEDGE.search(context.clause) and not context.after.startswith("?"):
        return Judgement("chosen", HEDGED, HINT)
    verb = _BY_VERB.search(context.before)
    if verb is not None and not has_another_subject(context, verb):
        weight = HINT if verb.group().startswith("would") else CHOICE
        return Judgement("chosen", "chosen by a verb", weight)
    if _IDENTIFIED.search(context.before):
        return Judgement("chosen", "said to be what is asked for", CHOICE)
    if _NOUN_IS.search(context.before):
        return Judgement("chosen", "said to be what is asked for", HINT)
    evidence = _BY_EVIDENCE.search(context.before)
    if evidence is not None and not OTHERS_BEFORE.search(context.before[: evidence.start()]):
        return Judgement("chosen", "what the evidence points to", HINT)
    if _CONCLUDED.search(context.before):
        return Judgement("chosen", "concluded", CHOICE)
    if _WRITER_ENDS.search(context.clause) and re.match(r"\W*(?:[.!,;\n]|\Z)", context.after):
        return Judgement("chosen", "the writer's own words end with it", HINT)
    return None


def _named_thing(context: Context) -> bool:
    """Whether a word that is no part of a choice stands right before the letter: `Article C applies`."""
    return re.search(r"[a-z]\s+\Z", context.before) is not None and not _PART_OF_CHOICE.search(context.before)


def _is_another(near: str, declared: re.Match[str]) -> bool:
    for other in _OTHER.finditer(near):
        if other.end() >= declared.start():
            return not re.search(r"second[^.]*,", declared.group())
        if _UP_TO_KEY.fullmatch(near, other.end(), declared.start()):
            return True
    return False


def _explains(declared: re.Match[str], context: Context) -> bool:
    """`Reason: A shows a bicycle`."""
    return re.match(r"reason|cause|explanation", declared.group()) is not None and not context.clause_ends


def _described(context: Context) -> bool:
    """`Answer B describes a man`: the letter is the subject of what follows."""
    return (
        _KEY_ALONE.search(context.near) is not None
        and _SMALL_WORD.match(context.after) is not None
        and not REASON_AFTER.match(context.after)
        and not re.match(r"\s+is\b", context.after)
    )


def _mention(context: Context) -> Judgement:
    if _described(context):
        return Judgement("named", "described")
    if _LOOKED_AT.search(context.near):
        return Judgement("supposed", "only considered")
    return Judgement("named", "mentioned")
