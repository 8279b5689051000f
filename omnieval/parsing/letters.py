"""Which characters of a text stand for options: no article, pronoun, initial, note or part of a name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from omnieval.parsing.verdicts import CALLED_RIGHT
from omnieval.parsing.words import (
    ADVERB,
    ANSWER,
    CHOOSES,
    CONCLUDES,
    CORRECT,
    GLUE,
    IS,
    LINK,
    MARKS,
    OPTION,
    WEAK_ANSWER,
    WORD,
)

_BEFORE, _AFTER = 100, 60
# So many letters at either end of a text are looked at.
_FIRST, _LAST = 8, 12

LETTER = re.compile(rf"(?<![{WORD}])[A-Za-z](?![{WORD}])")
_MARK_LINK = rf"{MARKS}{{0,6}}(?:[:：=→➜➡⇒–—-]|{IS})"
_LINKS = rf"(?>(?:{GLUE}|{LINK})*)"
# `The answer is`: what stands between a word for the answer and its letter.
DECLARED = re.compile(
    rf"(?:{ANSWER}{_LINKS}|{WEAK_ANSWER}{_MARK_LINK}{_LINKS}"
    rf"|{CORRECT}(?:的)?[ ]?(?:one|{WEAK_ANSWER}|{OPTION})(?![,，]){_LINKS}"
    rf"|(?:{ANSWER}|{CORRECT}\s{WEAK_ANSWER})[^.!?\n;:。！？]{{0,70}}?{IS}{_LINKS})\Z",
)
_BEFORE_SMALL = re.compile(
    rf"(?:{CHOOSES}|{CONCLUDES}|{OPTION}|{ADVERB})(?>(?:{MARKS}|[:：,]|(?:its|it['’]s|is|the|that|option"
    rf"|choice|letter)(?![a-z]))*)\Z",
)
_BEFORE_SMALL_A = re.compile(rf"{OPTION}\W*+\Z")
_NAME_BEFORE = re.compile(
    r"(?<![a-z])(?:an|teams?|vitamin[ae]?s?|groups?|players?|persons?|people|speakers?|characters?|grade"
    r"|hepatitis|figure"
    r"|fig\.?|tables?|sections?|parts?|points?|plan|rooms?|gates?|cameras?|channels?|platform|appendix"
    r"|series|class"
    r"|exhibit|building|size|level|zone|area|row|column|line|track|side|disc|drive|notes?|key(?:\s+of)?"
    r"|string"
    r"|mr\.?|mrs\.?|ms\.?|dr\.?|man|woman|boy|girl|student|contestant|driver|car|house|video|clip|scene"
    r"|image|frame"
    r"|picture|segment|phase|stage|step|round|city|country|company|product|model|version|studio|schedule"
    r"|block|lane"
    r"|terminal|unit|tower|wing|hall|bus|train|minor|major|chord|(?:blood|an?|the)\s+type|position"
    r"|influenza|flu"
    r"|protein|omega|factor|malaria|strep|(?:with|of|has|have|shows?|sees?|saw|holds?|reads?"
    r"|says?)\s+(?:the|a)\s+letter|label(?:l?ed)?|marked|named|called|sign|symbol|word|big"
    r"|route|article|clause|count|case|juror|defendant|courtroom|brand|candidate|witness|angle|bottle|button"
    r"|agent|judge|patient|sample|container|suspect"
    r"|subject|actor"
    r"|door|box|item|object|bag|cup|ball|road|exit|street|floor|county|district|division|league|pool|court"
    r"|field|deck"
    r"|equipo|équipe|equipe|mannschaft|gruppe|groupe|grupo|gruppo|команда|группа|игрок|squadra|jugador"
    r"|joueur|spieler)"
    r"[\s'\"“‘]+\Z|(?:维生素|維生素|ビタミン|비타민|第|[0-9]\s?°|[0-9]°|팀|ครีม|วิตามิน)\s*\Z",
)
# A thing with a letter may still be the answer: `Image B is the correct answer`.
_CALLED_ANSWER = re.compile(
    r"\s+(?:is|was)\s+(?:the\s+)?(?:correct|right|best|most\s+\w+)?\s*(?:answer|option|choice)(?![a-z])"
    r"|\s+(?:is|was)\s+correct(?![a-z])"
)
_CALLED_CORRECT = re.compile(r"\s+is\s+(?:the\s+)?(?:correct|right|best|answer)\b")
_NAME_AFTER = re.compile(
    r"\s*(?:#|♭|♯)|[\s-]*(?:flat|sharp|major|minor|chord|maj|min|clef|note|string|section)s?(?![a-z])"
    r"|[+&@]|['’](?!d[iıuü]r)[A-Za-z]|-[A-Za-z0-9]|\.[A-Za-z](?![A-Za-z])|\.\s?[A-Z]\.(?=\s?[A-Z])"
    r"|(?:队|隊|组|組|级|級|股|座|栋|班|区|轮|站|型|字|柱|片|팀|반|组|씨|さん|くん|君|ちゃん|チーム|계획"
    r"|计划|計画|計劃|键|鍵|出口|同学|先生|小姐|罗)",
    re.IGNORECASE,
)
_INITIAL_BEFORE = re.compile(r"(?<![A-Za-z])[A-Z]\.\s?\Z")
_SURNAME_AFTER = re.compile(r"\.\s?[A-Z][a-z]")
# Words after a capital A that make it a letter; after any other word it is the article.
_NO_ARTICLE = re.compile(
    r"\s+(?:is|was|are|were|seems?|appears?|looks?|sounds?|because|since|as|and|or|but|not|matches|fits?"
    r"|would|could"
    r"|cannot|should|must|might|may|has|have|does|do|describes?|shows?|says?|states?|only|for|in|to|from|due"
    r"|based|given|which|that|who|if|when|while|with|until|over|instead|rather|here|then|by|at|on|it"
    r"|correctly"
    r"|accurately|makes|works|wins|isn|doesn|wasn|contradicts?|fails?|aligns?|corresponds?|mentions?|talks"
    r"|refers?|option"
    r"|choice|nor|vs|versus|y|o|et|ou|und|oder|e|es|est|ist|è|é|porque|weil|car(?=\s+(?:il|elle|on|la|le"
    r"|les|c|l|un|une|nous)\b)|perché|perche|noch|mais|sondern|ni|né|wählen|nehmen|sagen"
    r"|through|hay|oder|ve|atau|de\s+la)(?![a-zA-Z])"
    r"|\s+(?:right|wrong|correct|incorrect|true|false|no|yes)(?=\s*(?:[,.;:\n]|$|[B-J]\b))"
    r"|\s+can(?=\s+(?:be|not)\b|['’]t)|\s+best(?=\s+\w+s\b)"
)
_FOLLOWED_BY_WORD = re.compile(r"[^\S\n]+[A-Za-z\u00c0-\u024f]")
# Portuguese: `A B não é`.
_ARTICLE_OF_LETTER = re.compile(r" [B-J] [a-zà-ÿ]")
_ARTICLE_AFTER = re.compile(r"[^\S\n]+[a-z\u00df-\u024f]")
_FOLLOWED_BY_SMALL_WORD = re.compile(r"[^\S\n]+[a-z\u00df-\u024f\u0430-\u044f\u03b1-\u03c9]")
REASON_AFTER = re.compile(
    r"\s+(?:because|since|as|that|unless|for|given|based|due|and|but|which|where|with|while|from|here"
    r"|instead|rather|over"
    r"|than|not|in\s+(?:my|this|the\s+end)|on\s+this|to\s+me|[iI]\s+(?:guess|think|believe|suppose"
    r"|would\s+say)|[iI]['’]d\s+say|after\s+all|by\s+far|as\s+well|even\s+though|despite|in\s+spite|though"
    r"|although"
    r"|then|if|so|porque|weil|car(?=\s+(?:il|elle|on|la|le|les|l|un|une|nous|c)\b)"
    r"|perché|parce|ya\s+que|puisque|da|denn|option"
    r"|choice|pois|vì|karena|çünkü)(?![a-zA-Z])"
    r"|\s+(?:of\s+course|obviously|clearly|definitely|certainly|probably|for\s+sure)(?=\s*(?:[.!,;]|\Z))"
    r"|\s+(?:потому|так\s+как|поскольку|لأن|क्योंकि)"
)
_BETWEEN = re.compile(
    rf"{MARKS}{{0,6}}(?:,\s*(?:perhaps|maybe|possibly|probably)\s*)?(?P<and>(?:,\s*)?(?:and/or|and|or|nor|&"
    rf"|/|\||y"
    rf"|o|et|ou|und|oder|noch|ni|né|nem|e|hay|atau"
    rf"|dan|ve|veya|i|lub|ani|и|или|ни|أو|و|या|और|和|与|與|或|及|跟|to|through|thru|[-–~～]|至|到|还是(?:选"
    rf"|是)?|と"
    rf"|または|か|와|과|또는"
    rf"|도|或者|以及|でも|も)|[,，、]\s*(?:né|ni|nem|ни|ani|nor)|[,，、])"
    rf"(?:{MARKS}|(?:maybe|perhaps|possibly|even|both|option|choice|also|either|选项|la|el|le"
    rf"|die)(?![a-z]))*",
    re.IGNORECASE,
)
_VERB_AFTER = re.compile(
    rf"{MARKS}{{0,6}}\s(?:is|are|was|were|seems?|can|could|does|do|did|would|has|have|cannot|\w+n['’]t|no|yes"
    rf"|wrong|right"
    r"|correct|incorrect|true|false|matches|fits)(?![a-z])|\s*[:：]",
    re.IGNORECASE,
)
_RANGE = ("to", "-", "–", "~", "到")
_COMPARED_WITH = re.compile(r"(?:比起|相比|与其选?|compared\s+to|unlike)\W*\Z", re.IGNORECASE)
_MOVES = re.compile(r"(?:chang|switch|mov|revis|correct|prefer|改)", re.IGNORECASE)
# A lone letter in a hug of marks: `(b)`, `**c**`, `"d"`.
_HUGS = tuple("(（[【{\"“'‘*`")


def lowered(text: str) -> str:
    """The text in small letters, each at its place; patterns that know no capitals are searched faster."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def groups(text: str, low: str, options: Collection[str]) -> Iterator[list[re.Match[str]]]:
    """The letters of a text, those together that are named in one breath: `A or B`, `A, B and C`.

    low: the text, `lowered`. options: the letters that there are.
    """
    group: list[re.Match[str]] = []
    for match in _letters(text, low, options):
        if group and _joined(text, group[-1].end(), match):
            group.append(match)
            continue
        if group:
            yield group
        group = [match]
    if group:
        yield group


def ends_clause(text: str, end: int) -> bool:
    """Whether what follows a letter is no further word of the same phrase, or gives a reason."""
    after = text[end : end + _AFTER]
    return not _FOLLOWED_BY_WORD.match(after) or bool(REASON_AFTER.match(after))


def _letters(text: str, low: str, options: Collection[str]) -> list[re.Match[str]]:
    found = list(LETTER.finditer(text))
    if len(found) > _FIRST + _LAST:
        found = found[:_FIRST] + found[-_LAST:]
    return [match for match in found if _is_letter(text, low, match, options)]


def _is_letter(text: str, low: str, match: re.Match[str], options: Collection[str]) -> bool:
    start, end = match.span()
    letter = match.group()
    before, after = text[max(0, start - _BEFORE) : start], text[end : end + _AFTER]
    said = low[max(0, start - _BEFORE) : start]
    if before[-1:] in ("\\", "&", "@", "#", "°", "+"):
        return False
    if len(before) > 1 and before[-1] in "'’.-" and before[-2].isalnum() and before[-2].isascii():
        lone = len(before) == 2 or not before[-3].isalnum()
        if before[-1] in "'’" or lone or not DECLARED.search(said):
            return False
    if _NAME_AFTER.match(after) or (_INITIAL_BEFORE.search(before) and _SURNAME_AFTER.match(after)):
        return False
    if letter.upper() == "I" and (not options or "I" not in options or _FOLLOWED_BY_SMALL_WORD.match(after)):
        return False
    if letter.islower():
        return _is_small_letter(said, letter, after) and (not options or letter.upper() in options)
    if letter == "A" and _is_article(after, low[end : end + _AFTER]):
        return False
    if letter == "A" and _ARTICLE_OF_LETTER.match(after):
        return False
    if _NAME_BEFORE.search(said) and not _CALLED_ANSWER.match(after):
        return False
    in_question = letter in options if options else letter in "ABCDEFGHJ"
    return in_question or letter in "ABCDEFGH" or bool(DECLARED.search(said))


def _is_article(after: str, low_after: str) -> bool:
    if not _ARTICLE_AFTER.match(after):
        return False
    return not (_NO_ARTICLE.match(after) or REASON_AFTER.match(after) or CALLED_RIGHT.match(low_after))


def _is_small_letter(before: str, letter: str, after: str) -> bool:
    """A small letter counts in marks of its own, as a label, and where an answer is awaited."""
    followed = _FOLLOWED_BY_WORD.match(after) and not (letter != "a" and REASON_AFTER.match(after))
    if _CALLED_CORRECT.match(after) and (not before.strip() or _BEFORE_SMALL_A.search(before)):
        return True
    if followed:
        return False
    line = before.rpartition("\n")[2].strip()
    if before[-1:] and before[-1:] in _HUGS:
        return True
    if not line and after[:1] in (")", ".", ":"):
        return True
    if DECLARED.search(before):
        return True
    pattern = _BEFORE_SMALL_A if letter == "a" else _BEFORE_SMALL
    return pattern.search(before) is not None


def _joined(text: str, end: int, match: re.Match[str]) -> bool:
    gap = text[end : match.start()]
    between = _BETWEEN.fullmatch(gap) if len(gap) <= 30 else None
    if between is None:
        return False
    if between.group("and") in _RANGE and _MOVES.search(text[max(0, end - 60) : end]):
        return False
    if _COMPARED_WITH.search(text[max(0, end - 20) : end - 1]):
        return False
    only_comma = between.group("and").strip() in (",", "，", "、")
    return not only_comma or not _VERB_AFTER.match(text[match.end() : match.end() + _AFTER])
