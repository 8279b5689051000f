"""Letters that a text mentions, each with what it says of them: chosen, rejected, only named, or no letter.

Context decides: what stands before a letter (`the answer is`, `Team`, `not`) and after it (`is wrong`,
`man walks in`, `major`). Only windows of bounded length are looked at, so the time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

NO_SUCH_OPTION = "no such option"
Stance = Literal["chosen", "rejected", "named", "supposed"]

_BEFORE, _AFTER = 100, 60
# So many mentions at either end of a text are looked at.
_FIRST, _LAST = 8, 24

_WORD = r"A-Za-z0-9\u00c0-\u024f\u0370-\u04ff"
_LETTER = re.compile(rf"(?<![{_WORD}])[A-Za-z](?![{_WORD}])")

# Marks that may stand around a letter without changing what is said of it.
_MARKS = r"[\s*_`~\"'\u2018\u2019\u201a\u201c\u201d\u201e«»‹›「」『』【】〔〕\[\](){}<>（）《》〈〉$\\|#•·]"
_GLUE = rf"(?:{_MARKS}|[:：=,，.…–—→➜➡⇒-])"

_STRONG_KEY = (
    r"(?:answers?|ans|boxed|fbox|solution|verdict|respuesta|réponse|reponse|antwort|lösung|risposta|resposta"
    r"|ответ|відповідь|答案|答え|答|正解|解答|回答|정답|답변|답|الإجابة|الاجابة|الجواب|إجابة|उत्तर|जवाब"
    r"|đáp án|câu trả lời|jawaban|คำตอบ|cevap|yanıt|odpowiedź|odpověď|svaret|svar|vastaus|απάντηση|תשובה"
    r"|răspuns|răspunsul|válasz|antwoord)"
)
_WEAK_KEY = (
    r"(?:options?|choices?|letter|selection|pick|prediction|pred|response|result|conclusion|decision|correct"
    r"|final|opción|opcion|opção|вариант|lettre|buchstabe|选项|選項|選択肢|선택지|选择|選擇)"
)
_LINK_WORD = (
    r"(?:is|are|was|be|would|should|will|must|has|to|'s|’s|est|sería|es|ist|è|é|är|adalah|ialah|là|คือ|है|est-ce"
    r"|indeed|clearly|therefore|thus|most|likely|probably|definitely|actually|simply|hence|obviously|certainly"
    r"|option|choice|letter|answer|opción|opcion|opção|вариант|lettre|the|la|el|le|der|die|das|correct|right"
    r"|correcta|correct[eo]|richtig|корректный|правильный|final|best"
    r"|应该|應該|应当|应|應|就是|就|是|为|為|该|選擇|选择|選|选|项|項|は|が|은|는|이|가|هي|هو|:|：)"
)
_LINK = rf"(?:{_GLUE}|{_LINK_WORD}(?![a-z]))*"
_HARD_LINK = (
    rf"{_MARKS}*(?:[:：=→➜➡⇒–—-]"
    r"|(?:is|are|would be|should be|will be|must be|es|est|ist|è|é|是|为|為|は|는|은)(?![a-z]))"
)

_DECLARED = re.compile(
    rf"(?<![A-Za-z])(?:{_STRONG_KEY}(?![a-z]){_LINK}"
    rf"|{_WEAK_KEY}(?![a-z]){_HARD_LINK}{_LINK}"
    rf"|(?:correct|right|best|final|chosen|selected|正确|正確)(?:的)?[ ]?(?:one|{_WEAK_KEY})(?![a-z]){_LINK}"
    rf"|{_STRONG_KEY}\b[^.!?\n;:。！？]{{0,70}}?\b(?:is|are|be|was)(?![a-z]){_LINK})\Z",
    re.IGNORECASE,
)
_CHOSEN_BY_VERB = re.compile(
    rf"(?<![A-Za-z])(?:choose|chose|chosen|choosing|pick|picked|picking|select|selected|selecting"
    rf"|go(?:ing)?\s+(?:with|for)|opt(?:ed|ing)?\s+for|say|guess|answer(?:ed|s)?(?:\s+with)?|vote\s+for"
    rf"|settle\s+(?:on|for)|stick(?:ing)?\s+with|conclude|lean(?:ing)?\s+(?:towards?|to)|prefer|submit|respond\s+with|mark"
    rf"|(?:correspond|point|lead)s?\s+to|indicates?|suggests?|supports?|leaves(?:\s+only)?"
    rf"|it\s+is|it['’]?s|that['’]?s|this\s+is|must\s+be|should\s+be|would\s+be|has\s+to\s+be|got\s+to\s+be"
    rf"|choisis|elijo|escojo|wähle|scelgo|escolho|выбираю|选择|選擇|应选|應選|故选|故選|选|選|選ぶ|是|為|为)"
    rf"(?![a-z])(?:{_GLUE}|(?:that|option|choice|letter|answer|the|is|it|opción|opção|probably|definitely|more|most|likely)(?![a-z]))*\Z",
    re.IGNORECASE,
)
_CONCLUDED = re.compile(
    rf"(?:(?<![A-Za-z])(?:so|therefore|thus|hence|consequently|accordingly|actually|wait|no|rather"
    rf"|instead|correction|sorry|i\s+mean|in\s+conclusion|donc|also|daher|por\s+(?:lo\s+)?tanto|así\s+que|quindi"
    rf"|portanto|поэтому|значит)(?![a-z])|所以|因此|故|综上|由此|よって|したがって|따라서|그래서"
    rf"|[→➜➡⇒✅✔✓☑]|👉|\[[xX✓✔]\]|=>|->)"
    rf"(?:{_GLUE}|(?:it['’]?s|it\s+is|the|that|option|choice|is|must|be|应该|应|选|選|是|选择|就)(?![a-z]))*\Z",
    re.IGNORECASE,
)
_REJECTED_BEFORE = re.compile(
    rf"(?:(?<![A-Za-z])(?:not|nor|neither|never|without|instead\s+of|rather\s+than|other\s+than|as\s+opposed\s+to"
    rf"|except(?:\s+for)?|excluding|excludes?|rules?\s+out|ruled\s+out|ruling\s+out|eliminat(?:e|es|ed|ing)"
    rf"|discard(?:s|ed|ing)?|reject(?:s|ed|ing)?|unlike|than|pas|nicht|no\s+es|não\s+é|non\s+è|не)(?![a-z])"
    rf"|n['’]t(?:\s+be)?|不是|不选|不選|不为|而非|并非|並非|排除|除了|非|(?:\A|\n)\s*(?:[❌✗✘☐]|\[ \]))"
    rf"(?:{_MARKS}|(?:be|option|choice|answer|the|选项|選項|is)(?![a-z]))*\Z",
    re.IGNORECASE,
)
_ADVERBS = (
    r"(?:(?:\w+ly|also|just|not\s+only|quite|very|indeed|even|still|most|more|the|a|an|to\s+be|both|all)\s+)*"
)
_IS = (
    r"(?:is|are|was|were|seems?|appears?|looks?|sounds?|would\s+be|must\s+be|should\s+be|might\s+be"
    r"|could\s+be|['’]s)"
)
_SUPPORTED_AFTER = re.compile(
    rf"{_MARKS}*[,，]?\s*(?:alone\s+)?(?:{_IS}\s+{_ADVERBS}(?:correct|right|true|best|answer|likely|accurate|appropriate|suitable"
    rf"|choice|option|reason|cause|explanation|valid|supported|better|closest|one|winner|good|reasonable|logical|consistent|fitting)(?![a-z])"
    rf"|{_IS}\s+(?:what|where|how)(?![a-z])|fits?\s+(?:best|better|the)|match(?:es)?\s+(?:best|the|what|this)"
    rf"|(?:best|correctly|accurately)\s+\w+|gets\s+my\s+(?:vote|pick)|makes\s+(?:the\s+most\s+)?sense|works\s+best|it\s+is(?![a-z])"
    rf"|[:：,，–—-]\s*{_MARKS}*(?:yes|correct|true|right|对|正确|是)(?![a-z])|[?？]\s*(?:yes|correct|right)(?![a-z])"
    rf"|[:：]?{_MARKS}*[✓✔✅☑]"
    rf"|(?:选项|選項|项|項)?(?:是|为|為)?(?:正确|正確|对的|對的|对|對|最合适|最符合|符合|正解)|が正解|が正しい|は正しい|가\s*정답|이\s*정답|가\s*맞|이\s*맞"
    rf"|(?:es|est|ist|è|é)\s+(?:la\s+|die\s+|le\s+|a\s+)?(?:correct[aeo]?|bonne|richtig\w*|certa|giusta|respuesta|réponse|antwort))",
    re.IGNORECASE,
)
_REJECTED_AFTER = re.compile(
    rf"{_MARKS}*[,，]?\s*(?:(?:{_IS}|can|could|does|do|did|would|has|have)\s+(?:\w+\s+){{0,2}}?(?:not|n['’]t|wrong|incorrect|false"
    rf"|unlikely|impossible|implausible|excluded|ruled\s+out|eliminated|invalid|irrelevant|inaccurate|no|out|less"
    rf"|incompatible|inconsistent|unsupported|contradicted|unrelated|a\s+distractor|never)(?![a-z])"
    rf"|(?:is|does|was|are|do|would|could|did|has|have|wo|ca)n['’]t(?![a-z])|cannot(?![a-z])|contradicts|fails(?![a-z])"
    rf"|[:：–—-]\s*{_MARKS}*(?:no|not|wrong|incorrect|false|错|错误|不对)(?![a-z])"
    rf"|[,，]\s*{_MARKS}*(?:no|wrong|incorrect|false)(?=\s*(?:[.,;\n]|$))|[?？]\s*(?:no|nope|wrong|incorrect)(?![a-z])|[:：]?{_MARKS}*[✗✘❌×]"
    rf"|(?:选项|選項|项|項)?(?:是|为|為)?(?:不|错|錯|有误|排除|没|沒|无关|無關)|は(?:誤|違|不)|は正しくない|가\s*아니|이\s*아니|은\s*틀|는\s*틀"
    rf"|n['’](?:est)\s+pas|no\s+es|não\s+é|non\s+è|(?:es|est|ist|è|é)\s+(?:incorrect|fausse?|falsch|falsa|errada|sbagliat|nicht|wrong))",
    re.IGNORECASE,
)
_SUPPOSED_BEFORE = re.compile(
    rf"(?<![A-Za-z])(?:(?:if|whether|suppose|assuming|assume|unless|were)\b[^.,;\n]{{0,50}}"
    rf"|(?:consider|check|checking|look(?:ing)?\s+at|examin(?:e|ing)|evaluat(?:e|ing)|analy[sz](?:e|ing)"
    rf"|compar(?:e|ing)|regarding|about|starting\s+with|review|reviewing|for|in|as\s+for|from|to|with|of|between|versus|vs)"
    rf"(?:{_MARKS}|(?:option|choice|options|choices|the|answer|[,:])(?![a-z]))*)\Z",
    re.IGNORECASE,
)
_NAME_BEFORE = re.compile(
    r"(?<![A-Za-z])(?:an|teams?|vitamins?|groups?|players?|persons?|people|speakers?|characters?|grade|hepatitis|figure"
    r"|fig\.?|tables?|sections?|parts?|points?|plan|rooms?|gates?|cameras?|channels?|platform|appendix|series|class"
    r"|exhibit|building|size|level|zone|area|row|column|line|track|side|disc|drive|notes?|key(?:\s+of)?|string"
    r"|mr\.?|mrs\.?|ms\.?|dr\.?|man|woman|boy|girl|student|contestant|driver|car|house|video|clip|scene|image|frame"
    r"|picture|segment|phase|stage|step|round|city|country|company|product|model|version|studio|schedule|block|lane"
    r"|terminal|unit|tower|wing|hall|bus|train|minor|major|chord|(?:blood|an?|the)\s+type|position|influenza|flu"
    r"|protein|omega|factor|malaria|strep|(?:with|of|has|have|shows?|sees?|saw|holds?|reads?|says?)\s+(?:the|a)\s+letter|label(?:l?ed)?|marked|named|called|sign|symbol|word|big)"
    r"[\s'\"“‘]+\Z|(?:维生素|維生素|ビタミン|비타민|第|[0-9]\s?°|[0-9]°)\s*\Z",
    re.IGNORECASE,
)
_NAME_AFTER = re.compile(
    r"\s*(?:#|♭|♯)|[\s-]*(?:flat|sharp|major|minor|chord|maj|min|clef|note|string|section)s?(?![a-z])"
    r"|[+&@]|['’](?!d[iıuü]r)[A-Za-z]|-[A-Za-z0-9]|\.[A-Za-z](?![A-Za-z])|\.\s?[A-Z]\.(?=\s?[A-Z])|(?:队|隊|组|組|级|級|股|座|栋|班|区|轮|站|型|字|柱|片|팀|반|组)",
    re.IGNORECASE,
)
_SHARE_AFTER = re.compile(rf"{_MARKS}*\s*[:=]?\s*\d+(?:\.\d+)?\s*[%％]")
_INITIAL_BEFORE = re.compile(r"(?<![A-Za-z])[A-Z]\.\s?\Z")
_SURNAME_AFTER = re.compile(r"\.\s?[A-Z][a-z]")
# Words after a capital A that make it a letter; after any other word it is the article.
_NO_ARTICLE = re.compile(
    r"\s+(?:is|was|are|were|seems?|appears?|looks?|because|since|as|and|or|but|not|matches|match|fits?|would|could"
    r"|can|cannot|should|must|might|may|has|have|does|do|describes?|shows?|says?|states?|best|only|for|in|to|from|due"
    r"|based|given|which|that|who|if|when|while|with|until|over|instead|rather|here|then|by|at|on|it|correctly"
    r"|accurately|makes|works|isn|doesn|wasn|contradicts?|fails?|aligns?|corresponds?|mentions?|talks|refers?|option"
    r"|choice|seem|nor|vs|versus|y|o|et|ou|und|oder|e|es|est|ist|porque|weil|car|perché|perche)(?![a-zA-Z])"
)
_FOLLOWED_BY_WORD = re.compile(r"[^\S\n]+[A-Za-z\u00c0-\u024f]")
_FOLLOWED_BY_SMALL_WORD = re.compile(r"[^\S\n]+[a-z\u00df-\u024f]")
_REASON_AFTER = re.compile(
    r"\s+(?:because|since|as|for|given|based|due|and|but|which|where|with|while|from|here|instead|rather|over"
    r"|than|not|in\s+(?:my|this|the\s+end)|though|although|then|if|porque|weil|car|perché|parce|ya|option"
    r"|choice)(?![a-zA-Z])"
)
_BETWEEN = re.compile(
    rf"{_MARKS}*(?P<and>(?:,\s*)?(?:and/or|and|or|nor|&|/|\||y|o|et|ou|und|oder|и|или|和|与|與|或|及|跟|还是|と|または|か|와|과|또는|或者|以及)|[,，、])"
    rf"(?:{_MARKS}|(?:maybe|perhaps|possibly|even|both|option|choice|also|either|选项)(?![a-z]))*",
    re.IGNORECASE,
)
_VERB_AFTER = re.compile(
    rf"{_MARKS}*\s(?:{_IS}|can|could|does|do|did|would|has|have|cannot|\w+n['’]t)(?![a-z])", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?\n。！？]")
_HOLDS_NEGATION = re.compile(r"\b(?:not|never|if|whether|neither)\b|n['’]t\b", re.IGNORECASE)
_OPENING = "(（[【「『\"“'‘*`{<《〈«$_"


@dataclass(frozen=True, slots=True)
class Mention:
    """letters: one, or several that are named in one breath (`A or B`). span: of the first letter."""

    letters: tuple[str, ...]
    span: tuple[int, int]
    end: int
    stance: Stance
    reason: str
    ends_clause: bool = False


def mentions(text: str, options: Collection[str]) -> list[Mention]:
    """All mentions of letters in a text, in order. options: the letters that there are; may be empty."""
    return [_judged(text, group, options) for group in _groups(text, _letters(text, options))]


def ends_clause(text: str, end: int) -> bool:
    """Whether what follows a letter is no further word of the same phrase, or gives a reason."""
    after = text[end : end + _AFTER]
    return not _FOLLOWED_BY_WORD.match(after) or bool(_REASON_AFTER.match(after))


def _letters(text: str, options: Collection[str]) -> list[re.Match[str]]:
    found = list(_LETTER.finditer(text))
    if len(found) > _FIRST + _LAST:
        found = found[:_FIRST] + found[-_LAST:]
    return [match for match in found if _is_letter(text, match, options)]


def _is_letter(text: str, match: re.Match[str], options: Collection[str]) -> bool:
    """Whether a character that stands alone is meant as a letter: no article, pronoun, initial or name."""
    start, end = match.span()
    letter = match.group()
    before, after = text[max(0, start - _BEFORE) : start], text[end : end + _AFTER]
    if before[-1:] in ("\\", "&", "@", "#", "°", "+"):
        return False
    if len(before) > 1 and before[-1] in "'’.-" and before[-2].isalnum() and before[-2].isascii():
        keyed = before[-1] != "'" and _DECLARED.search(before)
        if not keyed:
            return False
    if _NAME_AFTER.match(after) or (_INITIAL_BEFORE.search(before) and _SURNAME_AFTER.match(after)):
        return False
    if letter.upper() == "I" and (not options or "I" not in options or _FOLLOWED_BY_SMALL_WORD.match(after)):
        return False
    if letter.islower():
        if _FOLLOWED_BY_WORD.match(after):
            return False
        wrapped = before[-1:] in tuple("(（[【{\"“'‘*`") and before[-1:] != ""
        opens_line = not before.rpartition("\n")[2].strip() and after[:1] in (")", ".", ":")
        return bool(wrapped or opens_line or _DECLARED.search(before)) and (
            not options or letter.upper() in options
        )
    if letter == "A" and _FOLLOWED_BY_SMALL_WORD.match(after) and not _NO_ARTICLE.match(after):
        return False
    if _NAME_BEFORE.search(before):
        return False
    in_question = letter in options if options else letter in "ABCDEFGHJ"
    return in_question or letter in "ABCDEFGH" or bool(_DECLARED.search(before))


def _groups(text: str, letters: list[re.Match[str]]) -> Iterator[list[re.Match[str]]]:
    """Letters that are named in one breath: joined by `and`, `or`, a slash, or commas before one of these."""
    group: list[re.Match[str]] = []
    for match in letters:
        if group and _joined(text, group[-1].end(), match):
            group.append(match)
            continue
        if group:
            yield group
        group = [match]
    if group:
        yield group


def _joined(text: str, end: int, match: re.Match[str]) -> bool:
    gap = text[end : match.start()]
    between = _BETWEEN.fullmatch(gap) if len(gap) <= 30 else None
    if between is None:
        return False
    only_comma = between.group("and").strip() in (",", "，", "、")
    return not only_comma or not _VERB_AFTER.match(text[match.end() : match.end() + _AFTER])


def _judged(text: str, group: list[re.Match[str]], options: Collection[str]) -> Mention:
    letters = tuple(dict.fromkeys(match.group().upper() for match in group))
    start, end = group[0].start(), group[-1].end()
    before, after = text[max(0, start - _BEFORE) : start], text[end : end + _AFTER]
    clause = ends_clause(text, end)
    stance, reason = _stance(text, before, after, end, clause)
    if stance == "named" and options and not set(letters) <= set(options):
        stance, reason = "supposed", NO_SUCH_OPTION
    return Mention(letters, group[0].span(), end, stance, reason, clause)


def _stance(text: str, before: str, after: str, end: int, clause: bool) -> tuple[Stance, str]:
    if _REJECTED_AFTER.match(after):
        return "rejected", "called wrong"
    if _REJECTED_BEFORE.search(before):
        return "rejected", "negated"
    if _SHARE_AFTER.match(after):
        return "supposed", "given a probability"
    if _asked(text, end):
        return "named", "in a question"
    declared = _DECLARED.search(before)
    if (
        declared
        and not _HOLDS_NEGATION.search(declared.group())
        and not _conditional(before[: declared.start()])
    ):
        return "chosen", "declared as the answer"
    if _SUPPORTED_AFTER.match(after) and not _conditional(before):
        return "chosen", "called right"
    if clause and _CHOSEN_BY_VERB.search(before) and not _conditional(before):
        return "chosen", "chosen by a verb"
    if clause and _CONCLUDED.search(before):
        return "chosen", "concluded"
    if _SUPPOSED_BEFORE.search(before):
        return "supposed", "only considered"
    return "named", "mentioned"


def _is_declared(before: str) -> bool:
    declared = _DECLARED.search(before)
    if declared is None or _HOLDS_NEGATION.search(declared.group()):
        return False
    return not _conditional(before[: declared.start()])


def _conditional(before: str) -> bool:
    clause = re.split(r"[.,;\n。，]", before)[-1]
    return re.search(r"\b(?:if|whether|suppose|unless)\b", clause, re.IGNORECASE) is not None


def _asked(text: str, end: int) -> bool:
    """Whether the sentence of a letter is a question that the text goes on from."""
    mark = _SENTENCE_END.search(text, end, end + 160)
    return mark is not None and mark.group() in "?？" and bool(text[mark.end() :].strip(" \n?？*\"'"))
