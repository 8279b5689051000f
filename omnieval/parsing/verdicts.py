"""What the words after a letter call it: right, better than the others, or wrong."""

from __future__ import annotations

import re

from omnieval.parsing.words import MARKS, words

_IS = (
    r"(?:is|are|was|were|seems?|appears?|looks?|sounds?|would\s+be|must\s+be|should\s+be|might\s+be|will\s+be"
    r"|could\s+be|has\s+to\s+be|remains|['’]s)"
)
_DEGREE = (
    r"(?>(?:(?:\w+ly|almost|also|just|not\s+only|quite|very|indeed|even|still|most|more|the|a|an|my|our"
    r"|to\s+be|to|both|all|only|overall|single)\s+)*)"
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
CALLED_RIGHT = re.compile(
    rf"(?:选项|選項|项|項|选択肢|번)?{MARKS}{{0,6}}[,，]?\s*(?:alone\s+)?(?:{_IS}\s+{_DEGREE}(?:correct"
    rf"|right|true"
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
    rf"|[:：,，–—-]\s*{MARKS}{{0,6}}(?:yes|correct|true|right|对|正确|是)(?![a-z])|[?？]\s*(?:yes|correct"
    rf"|right)(?![a-z])"
    rf"|[:：]?{MARKS}{{0,6}}[✓✔✅☑√]|\s*(?:<-+|<=+|←|⬅|👈)(?!\s*(?:wrong|incorrect|distractor|no\b))"
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
FAVOURED = re.compile(
    rf"{MARKS}{{0,6}}[,，]?\s*(?:alone\s+)?(?:{_IS}\s+{_DEGREE}(?:best|likely|likeliest|plausible|accurate"
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
CALLED_WRONG = re.compile(
    rf"(?![,，]\s*\w+n['’]t\s+it\b){MARKS}{{0,6}}[,，]?\s*(?:(?:{_IS}|can|could|does|do|did|would|has|have"
    rf"|must"
    rf"|should|will)\s+(?:\w+\s+){{0,2}}?(?:not(?!\s+only)|wrong|incorrect|false"
    rf"|unlikely|impossible|implausible|excluded|ruled\s+out|eliminated|discarded|dismissed|rejected"
    rf"|invalid|irrelevant|inaccurate|no|out|less|doubtful"
    rf"|incompatible|inconsistent|unsupported|contradicted|unrelated|a\s+distractor|never)(?![a-z])"
    rf"|(?:is|does|was|are|do|would|could|did|has|have|wo|ca|must|should)n['’]t(?![a-z])|cannot(?![a-z])"
    rf"|contradicts|fails(?![a-z])"
    rf"|[:：–—-]\s*{MARKS}{{0,6}}(?:no|not|wrong|incorrect|false|错|错误|不对)(?![a-z])|\s+(?:no|wrong"
    rf"|incorrect"
    rf"|false)(?=\s*(?:[.,;\n]|$|[b-j]\)))"
    rf"|[,，]\s*{MARKS}{{0,6}}(?:no|wrong|incorrect|false|hayır|non|nein|нет)(?=\s*(?:[.,;\n]|$))"
    rf"|[?？]\s*(?:no"
    rf"|nope|wrong"
    rf"|incorrect)(?![a-z])|[:：]?{MARKS}{{0,6}}[✗✘❌×]"
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
BUT_IT_IS_NOT = re.compile(
    r"[^.!?\n。]{0,60}?(?:\b(?:but|however|although|though),?\s+(?:(?:it|that|this|in\s+fact|actually"
    r"|really)\s+){0,2}"
    r"(?:is\s+not|isn['’]t|is\s+(?:actually\s+)?(?:wrong|incorrect|false)|not\s+(?:right|correct))\b"
    r"|但[^，。]{0,6}?(?:不对|错|不是|不正确))"
)
