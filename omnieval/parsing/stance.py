"""What a text says of a letter: chosen, rejected, only supposed, or merely named.

The clause decides. Its words before the letter may deny it (`I doubt that`), put it under a condition, ask
for it or lay it in another's mouth; those next to it choose it (`the answer is`, `is correct`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from omnieval.parsing.context import ANY_BREAK, Context, after_last
from omnieval.parsing.doubt_words import (
    EXAMPLE,
    NEGATION,
    NEGATION_AT_END,
    NO_CONDITION,
    NO_NEGATION,
    OTHER_ANSWER,
    OTHERS,
    QUESTION_START,
    REPORTS,
    SAYS,
    SUPPOSED,
    SUPPOSED_FIRST,
    WRITER,
)
from omnieval.parsing.letters import DECLARED, LETTER, REASON_AFTER
from omnieval.parsing.words import ADVERB, CHOOSES, CONCLUDES, GLUE, MARKS, OPTION, POINTS, words

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
    rf"\b(?:is|are|was)(?:{GLUE}|{ADVERB}|{OPTION})*+\Z",
)
# `The cause is C`, where it is no grade, note or other thing that letters name.
_NOUN_IS = re.compile(
    r"(?:\A|[,;:]\s)\W*(?:the|this|his|her|its)\s+(?:[\w'’-]+\s+){0,6}"
    r"(?!(?:type|grade|key|letter|note|chord|size|level|class|mark|score|name|initial|blood|rating|drive"
    r"|team|group|others?|distractor|password|code|winner|floor|gate|room|seat|platform|door|vitamin|word"
    r"|sign|label)s?\b)[\w'’-]+\s+"
    rf"(?:is|was)(?:{GLUE}|{ADVERB}|{OPTION})*+\Z"
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
_REPORTED = re.compile(
    rf"{REPORTS}(?:\s+(?:that|us|him|her|them|me|que|dass))*\s*[:,]?\s*[\"“'«]?\s*(?:(?:the|la|el|die"
    rf"|my)\s+)?(?:(?:correct|right|final|best)\s+)*"
    rf"(?:(?:it\s+is|it['’]s|that['’]s|答案|正确|是|选|为|应该)\s*)*(?:(?:answer|option|choice|respuesta"
    rf"|réponse"
    rf"|antwort)\s*(?::|is|must\s+be|es|est|ist)\s*)?(?:{MARKS}|{OPTION})*\Z"
)
# The comma that some languages set before what is said.
_COMMA_THAT = re.compile(r"\A\s*,\s*(?:что|dass|że)?")
_TOLD_ME = re.compile(r"\b(?:told|tells|asked|asks|showed|shows)\s+(?:me|us)\b")
_WRITER = re.compile(WRITER)
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
    rf"|ist)(?![a-z]))(?:{GLUE}|{OPTION}|(?:the|la|le|die|therefore|thus|clearly|definitely"
    rf"|likely)(?![a-z]))*+\Z"
    rf"|[没沒未][^不错]*的[^，。]{{0,6}}?[是为]\s*(?:选项|選項)?\s*\Z",
)
_BY_VERB = re.compile(
    rf"{CHOOSES}(?:{GLUE}|{ADVERB}|{OPTION}|(?:that|the|is|it|be|also|with|was|were|here|would|should|must"
    rf"|la|el|le|die|que|dass|que\s+sea|es)(?![a-z]))*+\Z"
)
_PERSONAL = re.compile(
    r"(?:choos|chose|pick|select|go(?:ing|ne)?\s|went|opt|say|guess|bet|answer|vote|settle|stick|lean|prefer"
    r"|submit|mark|think|believe|mean)"
)
# Before a verb without a subject of its own: an order, an infinitive, a noun; or nothing.
_NO_SUBJECT = re.compile(
    r"(?:\A|(?<![a-z])(?:to|should|would|must|will|please|then|just|only|let['’]s|by|now|best|final|first|my"
    r"|the|correct|right|likely|\w+ly))\W*\Z"
)
_OTHERS_BEFORE = re.compile(rf"{OTHERS}\s+(?:\w+ly\s+)?\Z")
_BY_EVIDENCE = re.compile(rf"{POINTS}(?:{GLUE}|{ADVERB}|{OPTION}|(?:that|the|is|it|answer)(?![a-z]))*+\Z")
_CONCLUDED = re.compile(
    rf"{CONCLUDES}(?:{GLUE}|{ADVERB}|{OPTION}|(?:it['’]?s|it\s+is|it|is|must|be|应|选|選|是|选择|c['’]est|es"
    rf"|ist"
    rf"|è|é)(?![a-z]))*+\Z"
)
_IS = (
    r"(?:is|are|was|were|seems?|appears?|looks?|sounds?|would\s+be|must\s+be|should\s+be|might\s+be|will\s+be"
    r"|could\s+be|has\s+to\s+be|remains|['’]s)"
)
_DEGREE = (
    r"(?:(?:\w+ly|almost|also|just|not\s+only|quite|very|indeed|even|still|most|more|the|a|an|my|our"
    r"|to\s+be|to|both|all|only|overall|single)\s+)*+"
)
_BE = words(
    {
        "romance": r"(?:es|est|è|é|parece|seems|semble|sarebbe|sería|seria)(?:\s+(?:la|le|el|a|o|il"
        r"|l['’]))?(?:\s+(?:opción|option|réponse|opção|risposta|respuesta|resposta|más|mais|plus|più))?",
        "de": r"(?:ist|wäre|scheint)(?:\s+(?:die|der|das))?",
        "slavic": r"(?:—|это|является|jest|je)",
        "asian": r"(?:là|adalah|merupakan)(?:\s+(?:jawaban|đáp án|câu trả lời|pilihan))?(?:\s+yang)?",
    }
)
_CALLED_RIGHT = re.compile(
    rf"(?:选项|選項|项|項|选択肢|번)?{MARKS}*[,，]?\s*(?:alone\s+)?(?:{_IS}\s+{_DEGREE}(?:correct|right|true"
    rf"|answer"
    rf"|best(?=\s+(?:answer|option|choice|fit|match))|choice|option(?!s)|pick|winner|one|guess|vote|bet"
    rf"|final|chosen"
    rf"|selected)(?![a-z])"
    rf"|\s+(?:the|my|our)\s+(?:(?:most|more)\s+\w+|best|correct|right|only|obvious|likely"
    rf"|likeliest)\s+(?:\w+\s+)?(?:answer|choice|option|one|match|fit)(?![a-z])|\s+(?:alone\s+"
    rf"|only\s+)?(?:remains|is\s+left)(?=\s*(?:[.!,;]|\Z))|\s+(?:is|does)(?=\s*(?:[.!]|\Z))"
    rf"|\s+to\s+be\s+(?:the\s+)?(?:correct|right|best|true)|\s+(?:is|has\s+to\s+be"
    rf"|must\s+be)\s+it(?=\s*(?:[.!,;]|\Z))|gets\s+my\s+(?:vote|pick)|it\s+is(?![a-z])|final\s+answer"
    rf"|is\s+(?:the|my"
    rf"|our)\s+(?:\w+\s+){{0,2}}(?:answer|choice|option|pick|guess|selection|conclusion)"
    rf"|[:：,，–—-]\s*{MARKS}*(?:yes|correct|true|right|对|正确|是)(?![a-z])|[?？]\s*(?:yes|correct"
    rf"|right)(?![a-z])"
    rf"|[:：]?{MARKS}*[✓✔✅☑√]|\s*(?:<-+|<=+|←|⬅|👈)(?!\s*(?:wrong|incorrect|distractor|no\b))"
    rf"|(?:选项|選項|项|項)?(?:才|就|显然|应该)?(?:是|为|為)?(?:(?:最佳|最好|最优|唯一|最终)的?(?:答案|选项"
    rf"|选择)|正确"
    rf"|正確|对的|對的|无疑|对|對|答案|正解)"
    rf"|\s*(?:が|は|のほうが|の方が)(?:最も|一番|唯一)?(?:正解|正しい|答え|正答|適切|妥当|適当|適して|合って"
    rf"|合致|当てはま)|\s*(?:を選|を選択|だと思|と思|と考え)"
    rf"|(?:번)?\s*(?:이|가|은|는)\s*(?:가장\s*|더\s*|제일\s*)?(?:정답|맞|옳|적절|적합|답|올바)|\s*(?:를"
    rf"|을)\s*(?:선택|고르|택)|(?:라"
    rf"|이라)고\s*(?:생각|봅)|(?:번)?\s*(?:입니다|이에요|예요|이다|인\s*것\s*같|일\s*것)|です|でしょう"
    rf"|だろう|だと思"
    rf"|\s*{_BE}\s*(?:correct[aeo]?|bonne|juste|exacte?|beste\w*|mejor|meilleure|migliore|melhor|лучш\w+"
    rf"|richtig\w*|korrekt\w*|cert[ao]|corret[ao]|giust[ao]|corrett[ao]|respuesta|réponse|antwort|resposta"
    rf"|risposta"
    rf"|верн\w+|правильн\w+|poprawn\w+|správn\w+|benar|tepat|đúng|đáp án)"
    rf"|\s+(?:верн\w+|правильн\w+|подходит|richtig|korrekt|juste|passt\s+(?:am\s+besten|besser)"
    rf"|trifft\s+(?:am\s+besten\s+)?zu|stimmt|wählen|nehmen|sagen|doğru|đúng|benar|सही"
    rf"|صحيح(?:ة)?|هي الصحيحة|ถูกต้อง|στη|είναι\s+η?\s*σωστή))",
)
_FAVOURED = re.compile(
    rf"{MARKS}*[,，]?\s*(?:alone\s+)?(?:{_IS}\s+{_DEGREE}(?:best|likely|likeliest|plausible|accurate"
    rf"|appropriate|suitable|reason|cause|explanation|valid|supported"
    rf"|better|closer|closest|stronger|safer|preferable|good|reasonable|logical|consistent|fitting|fit|match"
    rf"|safest|strongest)(?![a-z])"
    rf"|{_IS}\s+(?:what|where|how)(?![a-z])"
    rf"|fits?\s+(?:best|better|the|perfectly|well)|match(?:es)?\s+(?:best|the|what|this|perfectly|exactly)"
    rf"|(?:best|correctly|accurately|perfectly|clearly|most\s+\w+)\s+(?!not)\w+"
    rf"|(?:most|more)\s+(?:convincing|plausible|likely|fitting|accurate|appropriate|probable|suitable)"
    rf"|makes\s+(?:the\s+most\s+)?sense|works\s+best|(?:fits|matches|applies|works|holds|wins)(?=\s*(?:[.!,;]"
    rf"|\Z))|aligns?\s+(?:best\s+)?with|stands\s+out"
    rf"|corresponds\s+(?:best\s+)?to|is\s+confirmed|can\s+be\s+confirmed|seems\s+right"
    rf"|(?:选项|選項|项|項)?(?:比[a-j]|最|更|较为?)?(?:最合适|合适|最符合|符合|贴切|准确|最佳|更|合理))",
)
_CALLED_WRONG = re.compile(
    rf"(?![,，]\s*\w+n['’]t\s+it\b){MARKS}*[,，]?\s*(?:(?:{_IS}|can|could|does|do|did|would|has|have|must"
    rf"|should|will)\s+(?:\w+\s+){{0,2}}?(?:not(?!\s+only)|wrong|incorrect|false"
    rf"|unlikely|impossible|implausible|excluded|ruled\s+out|eliminated|discarded|dismissed|rejected"
    rf"|invalid|irrelevant|inaccurate|no|out|less|doubtful"
    rf"|incompatible|inconsistent|unsupported|contradicted|unrelated|a\s+distractor|never)(?![a-z])"
    rf"|(?:is|does|was|are|do|would|could|did|has|have|wo|ca|must|should)n['’]t(?![a-z])|cannot(?![a-z])"
    rf"|contradicts|fails(?![a-z])"
    rf"|[:：–—-]\s*{MARKS}*(?:no|not|wrong|incorrect|false|错|错误|不对)(?![a-z])|\s+(?:no|wrong|incorrect"
    rf"|false)(?=\s*(?:[.,;\n]|$|[b-j]\)))"
    rf"|[,，]\s*{MARKS}*(?:no|wrong|incorrect|false|hayır|non|nein|нет)(?=\s*(?:[.,;\n]|$))|[?？]\s*(?:no"
    rf"|nope|wrong"
    rf"|incorrect)(?![a-z])|[:：]?{MARKS}*[✗✘❌×]"
    rf"|(?:选项|選項|项|項)?(?:则|也|都|均|是|为|為|并|肯定|明显|显然)?(?:干扰|迷惑|不(?!选|選|是[a-z]|如选)"
    rf"|错|錯|有误|排除|没(?!错)|沒|无关|無關"
    rf"|可以排除|可排除|被排除)|は(?:誤|違|不|間違)|は正しくない|(?:が|は)?ではな|じゃな|より(?!も?良)"
    rf"|\s*(?:가|이|는|은|도)?\s*아[니닙닌]|(?:で)?もな[いく]|\s*(?:은|는)\s*틀|보다"
    rf"|\s+n['’](?:est)\s+pas|\s+no\s+(?:es|puede|parece)|\s+não\s+(?:é|pode)|\s+non\s+(?:è|può)|\s+(?:es"
    rf"|est|ist|è|é)\s+(?:incorrect\w*|fausse?|falsch|falsa|errada|sbagliat\w*|nicht|wrong|pas)"
    rf"|\s+(?:(?:[—–-]\s*)?(?:это\s+)?не(?:верн\w+|правильн\w+)?|salah|sai|yanlış|değil|bukan|tidak|गलत|नहीं"
    rf"|خاطئ\w*|ليس\w*"
    rf"|nie\s+jest|není))",
)
_BUT_IT_IS_NOT = re.compile(
    r"[^.!?\n。]{0,60}?(?:\b(?:but|however|although|though)\b[^.!?\n]{0,12}?\b(?:is\s+not|isn['’]t"
    r"|is\s+wrong|is\s+incorrect|is\s+actually\s+(?:wrong|incorrect|false)|not)\b(?!\s+(?:[a-j]\b|because"
    r"|mentioned|stated|explicit))"
    r"|[但][^，。]{0,6}?(?:不对|错|不是|不正确))",
)
_RANGE_AFTER = re.compile(
    rf"{MARKS}*(?:(?:to|through|thru|bis|à|a)\s|[-–~〜]|至|到|から){MARKS}*[b-j](?![a-z])"
)
_CUT_AFTER = re.compile(
    rf"{MARKS}*,?\s*(?:or|and|oder|ou|und|或|或者|还是|和|または|또는|o|y|et|или)[\s.…]*(?:possibly|perhaps"
    rf"|maybe)?[\s.…]*\Z"
)
_SHARE_AFTER = re.compile(rf"{MARKS}*\s*[:=]?\s*(?:\d+(?:\.\d+)?\s*[%％]|[01]?\.\d+)")
_HEDGED = re.compile(rf"(?:either|between|entre|zwischen|both)(?:{MARKS}|{OPTION})*+\Z")
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
_KEY_ALONE = re.compile(rf"{OPTION}{MARKS}*\Z")


def judge(context: Context) -> Judgement:
    """What the text says of one letter, or of letters named in one breath."""
    if _EXCEPT.search(context.before) and _ALL_WRONG.search(context.rest):
        return Judgement("chosen", "the only one not called wrong", CHOICE)
    if _CALLED_WRONG.match(context.after) or _denied_at_end(context):
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
    if _BUT_IT_IS_NOT.match(context.after):
        return "seems right and is not"
    if _SAID_AFTER.search(context.rest):
        return "said by another"
    if _EXAMPLE.search(context.before):
        return "an example"
    if _of_others(context):
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


def _of_others(context: Context) -> bool:
    """Whether another than the writer chooses: `the host says that the answer is`, `many would pick`."""
    main = context.main
    if _OTHERS.search(main) and _THOUGHT_AFTER.search(context.rest):
        return True
    if _THEIR_ANSWER.search(main) or _REPORTED.search(main):
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


def _choice(context: Context) -> Judgement | None:
    declared = DECLARED.search(context.near)
    if declared is not None and not _described(context) and not _explains(declared, context):
        if _is_another(context.near, declared):
            return Judgement("supposed", "another answer than the writer's")
        if not _NEGATION.search(_NO_NEGATION.sub(" ", declared.group())) or _RELATIVE.search(
            declared.group()
        ):
            return Judgement("chosen", "declared as the answer", DECLARATION)
    if _CALLED_RIGHT.match(context.after):
        return Judgement("chosen", "called right", CHOICE)
    if _FAVOURED.match(context.after):
        return Judgement("chosen", "called the best", HINT)
    if not context.clause_ends:
        return None
    if _HEDGE.search(context.clause) and not context.after.startswith("?"):
        return Judgement("chosen", HEDGED, HINT)
    verb = _BY_VERB.search(context.before)
    if verb is not None and not _has_another_subject(context, verb):
        weight = HINT if verb.group().startswith("would") else CHOICE
        return Judgement("chosen", "chosen by a verb", weight)
    if _IDENTIFIED.search(context.before):
        return Judgement("chosen", "said to be what is asked for", CHOICE)
    if _NOUN_IS.search(context.before):
        return Judgement("chosen", "said to be what is asked for", HINT)
    evidence = _BY_EVIDENCE.search(context.before)
    if evidence is not None and not _OTHERS_BEFORE.search(context.before[: evidence.start()]):
        return Judgement("chosen", "what the evidence points to", HINT)
    if _CONCLUDED.search(context.before):
        return Judgement("chosen", "concluded", CHOICE)
    if _WRITER_ENDS.search(context.clause) and re.match(r"\W*(?:[.!,;\n]|\Z)", context.after):
        return Judgement("chosen", "the writer's own words end with it", HINT)
    return None


def _has_another_subject(context: Context, verb: re.Match[str]) -> bool:
    """Whether another than the writer does the choosing: `the robot selected C`."""
    if not _PERSONAL.match(verb.group()) or _WRITER.search(context.main):
        return False
    before = after_last(ANY_BREAK, context.before[: verb.start()])
    before = before[max(before.rfind(":"), before.rfind("：")) + 1 :]
    return not _NO_SUBJECT.search(before)


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
