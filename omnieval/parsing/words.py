"""Words by which replies choose, reject and suppose, by language, as alternations for regular expressions.

`spaced` words stand between spaces or marks, `joined` ones anywhere (scripts without spaces, or with endings).
"""

from __future__ import annotations

from collections.abc import Mapping

# A character of a word, where words have spaces between them.
WORD = r"A-Za-z0-9\u00c0-\u024f\u0370-\u052f\u0590-\u06ff\u0900-\u097f\u1e00-\u1eff"
# Marks that may stand around a letter without changing what is said of it.
MARKS = r"[\s*_`~\"'\u2018\u2019\u201a\u201c\u201d\u201e«»‹›「」『』【】〔〕\[\](){}<>（）《》〈〉$\\|#•·]"
GLUE = rf"(?:{MARKS}|[:：=,，.…–—→➜➡⇒-])"


def words(spaced: Mapping[str, str], joined: Mapping[str, str] | None = None) -> str:
    """One group that matches any of the words."""
    parts = [rf"(?<![{WORD}])(?:{'|'.join(spaced.values())})(?![{WORD}])"] if spaced else []
    return f"(?:{'|'.join([*parts, *(joined or {}).values()])})"


ANSWER = words(
    {
        "en": r"answers?|ans|boxed|fbox|solution|verdict",
        "es": r"respuesta|solución",
        "fr": r"réponse|reponse",
        "de": r"antwort|lösung",
        "it": r"risposta",
        "pt": r"resposta|gabarito",
        "ru": r"ответ(?:ом)?|відповідь",
        "hi": r"उत्तर|जवाब",
        "vi": r"đáp án|câu trả lời",
        "id": r"jawaban(?:nya)?",
        "tr": r"cevap|cevab[ıi]\w*|yanıt\w*",
        "pl": r"odpowiedź|odpowiedzią",
        "cs": r"odpověď",
        "sv": r"svar(?:et)?",
        "fi": r"vastaus",
        "el": r"απάντηση",
        "he": r"תשובה|התשובה",
        "ro": r"răspuns(?:ul)?",
        "hu": r"válasz",
        "nl": r"antwoord",
        "ar": r"الإجابة|الاجابة|الجواب|إجابة|جواب",
        "fa": r"پاسخ",
    },
    {"zh": r"答案|正解|解答|答", "ja": r"答え|回答", "ko": r"정답|답변|답", "th": r"คำตอบ", "hi": r"उत्तर"},
)
OPTION = words(
    {
        "en": r"options?|choices?|letter|alternative|answer",
        "es": r"opción|opcion|alternativa|letra|respuesta",
        "pt": r"opção|alternativa|letra",
        "fr": r"lettre|réponse|proposition",
        "de": r"buchstabe|möglichkeit|antwort",
        "it": r"opzione|lettera|risposta",
        "ru": r"вариант|под\s+буквой|буква",
        "id": r"pilihan|opsi|huruf",
        "vi": r"phương án|lựa chọn",
        "tr": r"seçenek|şık",
        "pl": r"opcja|wariant",
        "nl": r"optie",
        "ar": r"الخيار|خيار|الحرف|الاختيار",
        "hi": r"विकल्प",
        "sv": r"alternativ",
    },
    {"zh": r"选项|選項|项|項", "ja": r"選択肢", "ko": r"선택지|보기", "th": r"ตัวเลือก|ข้อ", "hi": r"विकल्प"},
)
# Nouns that name an answer only if a colon or a verb links them to the letter.
WEAK_ANSWER = words(
    {
        "en": r"option|choice|letter|selection|select|pick|prediction|pred|response|result|output|conclusion"
        r"|decision|correct|final|choose|reason|cause|explanation|purpose|intention|event|location|emotion|mood|most\s+likely|best|guess",
        "es": r"opción|opcion|elección|correcta|correcto|conclusión",
        "pt": r"opção|alternativa|letra|escolha|correta",
        "fr": r"choix|lettre|option|conclusion",
        "de": r"buchstabe|wahl|option|richtig|ergebnis",
        "it": r"opzione|scelta|lettera|corretta",
        "ru": r"вариант|выбор|верно|правильно|итог",
        "id": r"pilihan",
        "hi": r"विकल्प",
        "ar": r"الخيار|الاختيار",
        "pl": r"opcja|wybór",
        "nl": r"keuze|optie",
        "tr": r"seçenek|seçim",
    },
    {"zh": r"选项|選項|选择|選擇|结论|正确", "ja": r"選択肢|結論", "ko": r"선택지|선택|결론", "th": r"ตัวเลือก|ข้อ"},
)
IS = words(
    {
        "en": r"is|are|was|be|would\s+be|should\s+be|will\s+be|must\s+be|remains?|stays|seems|appears|becomes|equals",
        "es": r"es|sería|seria|sea|debe\s+ser",
        "fr": r"est|serait|soit",
        "de": r"ist|lautet|wäre|heißt",
        "it": r"è|sarebbe|sia",
        "pt": r"é|seria|seja",
        "ru": r"это|является|будет",
        "id": r"adalah|ialah|yaitu",
        "vi": r"là",
        "pl": r"to|jest",
        "cs": r"je",
        "sv": r"är|er",
        "fi": r"on",
        "el": r"είναι",
        "he": r"היא|הוא",
        "ro": r"este",
        "ar": r"هي|هو",
        "fa": r"است",
        "apostrophe": r"'s|’s",
    },
    {
        "en": r"(?<=[a-z])(?:'s|’s)",
        "zh": r"应该是|應該是|应是|应该选|应选|应为|應為|就是|是|选择|选|選|为|為",
        "ja": r"は|が",
        "ko": r"은|는|이|가",
        "th": r"คือ",
    },
)
LINK = words(
    {
        "en": r"is|are|was|be|would|should|will|must|has|to|indeed|clearly|therefore|thus|most|likely|probably"
        r"|definitely|actually|simply|hence|obviously|certainly|still|option|choice|letter|answer|the|correct|right"
        r"|final|best|just|only|now|here|given|by|seems?|appears?",
        "es": r"es|sería|opción|opcion|letra|correct[ao]|el|la|los|final|más|probable",
        "fr": r"est|serait|donc|option|lettre|la|le|correcte?|réponse",
        "de": r"ist|lautet|wäre|der|die|das|richtige?|option|buchstabe|also|wohl",
        "it": r"è|la|il|l|opzione|lettera|corretta|risposta|quindi",
        "pt": r"é|seria|a|o|letra|opção|correta|alternativa",
        "ru": r"это|вариант|правильный|корректный|верный|будет|под\s+буквой|буква",
        "id": r"adalah|ialah|yang|benar|tepat|pilihan|opsi",
        "vi": r"là|đúng|phương án|chính xác",
        "tr": r"doğru|şıkkı|seçeneği",
        "pl": r"to|jest|opcja|poprawna|prawidłowa",
        "cs": r"je|správná",
        "sv": r"är|er|rätt|alternativ",
        "fi": r"on",
        "el": r"είναι|η|το",
        "he": r"היא|הנכונה|הוא",
        "ro": r"este|corect",
        "hu": r"a|helyes",
        "nl": r"is|het|de|optie|juiste",
        "ar": r"هي|هو|الصحيحة|الخيار|الصحيح",
        "fa": r"گزینه|صحیح",
        "hi": r"है|विकल्प|सही",
        "apostrophe": r"'s|’s",
    },
    {
        "en": r"(?<=[a-z])(?:'s|’s)",
        "zh": r"应该|應該|應当|应当|应|應|就|是|为|為|该|選擇|选择|選|选|选项|项|項|即|显然|很可能|可能|最有可能",
        "ja": r"選択肢|は|が|番",
        "ko": r"은|는|이|가|보기|선택지",
        "th": r"คือ|ข้อ|ตัวเลือก|ที่ถูกต้อง",
        "hi": r"है|विकल्प|सही",
    },
)
CORRECT = words(
    {
        "en": r"correct|right|best|final|chosen|selected|true|likely|likeliest|plausible|appropriate|accurate|suitable",
        "fr": r"bonne|correcte",
        "de": r"richtige|korrekte|beste",
        "ru": r"верный|правильный",
        "pl": r"poprawna|prawidłowa",
    },
    {"zh": r"正确|正確|最佳", "ja": r"正しい", "ko": r"올바른|맞는"},
)
# Verbs by which a writer chooses.
CHOOSES = words(
    {
        "en": r"choos(?:e|ing)|chose|chosen|pick(?:ed|ing)?|select(?:ed|ing)?|go(?:ing|ne)?\s+(?:with|for)|went\s+with"
        r"|opt(?:ed|ing)?\s+for|say|guess|bet\s+on|answer(?:ed)?(?:\s+with)?|vote(?:\s+for)?|settle\s+(?:on|for)"
        r"|stick(?:ing)?\s+with|conclude|lean(?:ing)?\s+(?:towards?|to)|prefer|submit|respond\s+with|mark"
        r"|think|believe|meant|mean|make\s+it|change\s+my\s+answer\s+to|switch\s+to|it\s+is|it['’]?s|that['’]?s|this\s+is"
        r"|(?:must|should|would|will|has\s+to|got\s+to|have\s+to|has\s+got\s+to)\s+be|it['’]ll\s+be|call\s+it|can\s+only\s+be|left\s+with|money\s+on|(?:looks?|sounds?|seems?|feels?)\s+like|(?:appears?|seems?)\s+to\s+be",
        "es": r"elijo|escojo|elegiría|diría|creo\s+que\s+es|sería|opto\s+por|me\s+quedo\s+con|me\s+inclino\s+por|es(?:\s+la)?|marco|selecciono",
        "fr": r"choisis|choisirais|dirais|c['’]est|opte\s+pour|penche(?:rais)?\s+(?:pour|vers)|serait|sélectionne",
        "de": r"wähle|würde|nehme|es\s+ist|das\s+ist|tippe\s+auf|entscheide\s+mich\s+für",
        "it": r"scelgo|direi|sceglierei|è|opto\s+per",
        "pt": r"escolho|diria|escolheria|é|opto\s+por|fico\s+com|marco",
        "ru": r"выбираю|выберу|выбрал|думаю|это|считаю|склоняюсь\s+к|выбор",
        "id": r"memilih|pilih",
        "vi": r"chọn",
        "tr": r"seçiyorum",
        "pl": r"wybieram|to",
        "sv": r"väljer|velger|vælger",
        "nl": r"kies",
        "ar": r"أختار|اختار|اخترت",
        "fa": r"گزینه",
        "he": r"בוחר|בוחרת",
    },
    {
        "zh": r"倾向于?|偏向于?|选择|選擇|应选|應選|故选|故選|选|選|是|為|为|即|填|属于|认为",
        "ja": r"選ぶ|答えは|のは",
        "ko": r"선택은|정답은|것은",
        "th": r"เลือก",
    },
)
# Verbs by which evidence chooses.
POINTS = words(
    {
        "en": r"(?:correspond|point|lead|refer|belong|equate|conform|amount)(?:s|ed|ing)?\s+(?:\w+\s+){0,2}?(?:to|towards?)"
        r"|(?:align|agree|match|fit)(?:s|es|ing)?(?:\s+(?:perfectly|best|well|closely|most\s+closely))?(?:\s+with)?"
        r"|consistent\s+with|indicates?|indicating|suggests?|suggesting|supports?|supporting|means?|meaning|implies|makes"
        r"|leaves?(?:\s+(?:us|me|only))*(?:\s+with)?|leaving(?:\s+(?:us|me|only))*(?:\s+with)?|namely|i\.e\.,?|confirms?|confirming|favou?rs?",
        "es": r"corresponde\s+a|coincide\s+con|indica",
        "fr": r"correspond\s+à|indique",
        "de": r"entspricht|passt\s+zu",
        "it": r"corrisponde\s+a",
        "pt": r"corresponde\s+à?|indica",
        "ru": r"соответствует(?:\s+варианту)?",
    },
    {"zh": r"对应|對應|对应于|只剩(?:下)?|剩下|唯有|只有|符合|支持|指向|匹配|因此是", "ja": r"に該当するのは", "ko": r"해당하는\s*것은"},
)
CONCLUDES = words(
    {
        "en": r"so|therefore|thus|hence|consequently|accordingly|actually|wait|no|rather|instead|correction|sorry|yes"
        r"|i\s+mean|i\s+meant|in\s+conclusion|finally|overall|scratch\s+that|strike\s+that|scrap\s+that|oops|ergo"
        r"|ultimately|in\s+short|in\s+summary|make\s+that|still|because\s+of\s+this|as\s+a\s+result|conclusion",
        "es": r"por\s+(?:lo\s+)?tanto|así\s+que|entonces|perdón|sino|en\s+conclusión",
        "fr": r"donc|mais|par\s+conséquent|pardon|ainsi",
        "de": r"also|daher|somit|sondern|folglich|deshalb|demnach",
        "it": r"quindi|dunque|ma|pertanto|bensì",
        "pt": r"portanto|logo|mas|mas\s+sim",
        "ru": r"поэтому|значит|следовательно|итак|а|итого",
        "vi": r"vậy|do đó|nên|mà\s+là",
        "id": r"jadi|melainkan",
        "tr": r"yani|dolayısıyla",
        "ar": r"إذن|لذلك|لذا|بل",
    },
    {
        "zh": r"所以|因此|故|综上(?:所述)?|由此|应该|而是|才是|那么|总之|可见",
        "ja": r"よって|したがって|だから|つまり|ではなく、?|じゃなく、?|いや、?|すみません、?|ので、?|から、?|より(?:も)?、?",
        "ko": r"따라서|그래서|그러므로|아니라|보다(?:는)?",
        "marks": r"[→➜➡⇒✅✔✓☑]|👉|\[[xX✓✔]\]|=>|->",
    },
)
# Words that leave a bare letter what it is: `maybe B`, `only C`.
ADVERB = words(
    {
        "en": r"maybe|perhaps|possibly|only|just|surely|still|most|more|\w+ly|final|again|yes|ok|okay|sure|well|hmm"
        r"|definitely|i|think|believe|is|the|that|a|now|one|for|in|with",
        "es": r"la|el|quizás?|probablemente|sí",
        "fr": r"la|le|peut-être|probablement|oui",
        "de": r"die|der|das|vielleicht|wahrscheinlich|ja|wohl",
        "it": r"la|il|forse|sì",
        "pt": r"a|o|talvez|sim",
        "ru": r"наверное|возможно|скорее\s+всего|вероятно|да",
    },
    {"zh": r"可能|大概|也许|应该|就|肯定|一定|还是|必定|显然|确实", "ja": r"おそらく|多分|たぶん", "ko": r"아마도?"},
)
NEGATION = words(
    {
        "en": r"not|never|no|nor|neither|nothing|none|nobody|hardly|barely|little|few|without(?=(?:\s+(?:option|choice|the))?[\s*(]*\Z)|cannot|doubt(?:s|ful)?"
        r"|unlikely|avoid|instead\s+of|rather\s+than|other\s+than|as\s+opposed\s+to|than|except(?:\s+for)?|anything\s+but"
        r"|exclud(?:e|es|ed|ing)|rul(?:e|es|ed|ing)\s+out|eliminat(?:e|es|ed|ing)|discard(?:s|ed|ing)?|refut(?:e|es|ed|ing)"
        r"|reject(?:s|ed|ing)?|unlike|wrong|incorrect|false|worst|least|improbable|implausible|invalid|unsupported"
        r"|far\s+from|contradict(?:s|ed|ing)?|hard\s+to|difficult\s+to|impossible|mistaken(?:ly)?|erroneous(?:ly)?"
        r"|cant|dont|doesnt|isnt|wont|wouldnt|didnt|dismiss(?:ed|es|ing)?|disprov(?:e|es|ed|ing)|irrelevant|unrelated|a\s+mistake|an\s+error|fail(?:s|ed)?|lack(?:s|ed)?|insufficient|surprised|foolish",
        "es": r"no|ni|nunca|tampoco|dudo|incorrect[ao]|fals[ao]|descart[aoé]\w*|excepto|salvo|peor|equivocad[ao]|errónea",
        "fr": r"pas|ni|jamais|doute|incorrecte|fausse|mauvaise?|sauf|élimin\w+|exclu\w*|plutôt\s+que",
        "de": r"nicht|kein\w*|weder|noch|nie|bezweifle|falsch\w*|außer|ausgeschlossen|anstatt|statt|inkorrekt\w*|unwahrscheinlich",
        "it": r"non|né|mai|dubito|sbagliat\w+|errat\w+|tranne|falsa|escludo",
        "pt": r"não|nem|nunca|duvido|incorret[ao]|errad[ao]|exceto|falsa",
        "ru": r"не|ни|нет|никогда|сомневаюсь|неправильн\w+|неверн\w+|кроме|исключ\w+|ошибочн\w+|маловероятно",
        "vi": r"không|chưa|sai|loại",
        "id": r"bukan|tidak|salah",
        "tr": r"değil|yanlış",
        "pl": r"nie|ani|błędn\w+|niepoprawn\w+",
        "cs": r"není|ne|špatn\w+",
        "sv": r"inte|ikke|fel|inget",
        "nl": r"niet|geen|fout",
        "fi": r"ei|väärä",
        "el": r"δεν|όχι|λάθος",
        "he": r"לא|אינה|אינו",
        "ro": r"nu|greșit\w*",
        "hu": r"nem|rossz",
        "ar": r"ليست|ليس|لا|لن|لم|غير|خاطئة|خطأ",
        "hi": r"नहीं|गलत",
    },
    {
        "en": r"n['’]t(?![a-z])",
        "zh": r"不|没|沒|未|非|别|勿|莫|无法|無法|错误|錯誤|错|排除|除了|除去|而非|否定|难以|很难|难说|怀疑",
        "ja": r"不正解|間違い|誤り|誤答|ない(?=選択肢|答)|除外",
        "ko": r"오답|틀린|아닌|제외|잘못된",
        "th": r"ไม่|ผิด",
        "hi": r"नहीं|गलत",
        "marks": r"[❌✗✘☐]|\[ \]",
    },
)
# What holds a negation and negates no letter.
NO_NEGATION = words(
    {
        "en": r"(?:there\s+is\s+)?(?:no|without(?:\s+an?y?)?|not\s+a|beyond)\s+(?:(?:a|any)\s+)?(?:doubt|question|wonder)|not\s+only"
        r"|(?:none|no|nothing)\s+other\s+than|nothing\s+but|not\s+(?:hard|difficult)\s+to\s+\w+|at\s+(?:the\s+)?least"
        r"|last\s+but\s+not\s+least|a\s+(?:few|little)|no\s+longer|can(?:no|['’])t\s+be\s+anything\s+(?:but|other\s+than)"
        r"|(?:if|unless)\s+i['’]?\s?a?m\s+not\s+mistaken|more\s+(?:likely|probable|plausible|often)\s+than\s+not|other\s+than\s+that|no\s+option\s+but|no\s+choice\s+but"
        r"|whether\s+or\s+not|not\s+sure|not\s+(?:entirely|completely|totally|100%|absolutely|quite)\s+(?:sure|certain)|not\s+just",
        "es": r"sin\s+duda|no\s+solo|no\s+hay\s+duda(?:\s+de\s+que)?",
        "fr": r"sans(?:\s+aucun)?\s+doute|pas\s+seulement|nul\s+doute",
        "de": r"zweifellos|ohne\s+zweifel|nicht\s+nur",
        "it": r"senza\s+dubbio|non\s+solo",
        "pt": r"sem\s+dúvida|não\s+só",
        "ru": r"без\s+сомнения|не\s+только|несомненно",
    },
    {
        "zh": r"不难(?:看出|发现|得出|判断)?|毫无疑问|无疑|不仅(?:仅)?|不但|不过|没错|不妨|不得不|非常|莫过于|无非|除非|并不难|分别|特别|无论|不管|不难发现|不外乎",
        "ja": r"間違いなく",
        "ko": r"틀림없이",
    },
)
# A negation that follows its letter, in languages whose verb comes last.
NEGATION_AT_END = words(
    {"tr": r"değil(?:dir)?", "hi": r"नहीं|गलत", "de": r"nicht|falsch"},
    {
        "ja": r"ではな|じゃな|ではありません|ません|なさそう|とは思わ|とは言え|間違い|誤り|違う|違い|不正解|不適切|正しくない",
        "ko": r"아니|아닙|아닌|않|틀[렸린려]|오답|잘못|없[다습]|못|어렵|힘들",
        "hi": r"नहीं|गलत",
        "zh": r"并不|不(?:正确|正確|对|對|符|成立|合适|可能|准确|恰当)|错|錯|有误|排除|没有|无关|可以排除|被排除",
        "th": r"ผิด|ไม่ถูก|ไม่ใช่",
    },
)
SUPPOSED = words(
    {
        "en": r"if|whether|unless|supposing|in\s+case|(?:was|were)\s+(?:going|about|tempted)\s+to|almost|nearly",
        "fr": r"s['’]il",
        "de": r"wenn|ob",
        "ru": r"если|бы",
        "id": r"jika|kalau",
        "vi": r"nếu",
        "tr": r"eğer",
        "pl": r"gdyby|jeśli",
        "ar": r"إذا|لو",
        "hi": r"अगर|यदि",
    },
    {"fr": r"(?<![a-z])s['’](?=il)", "zh": r"如果|假如|假设|要是|倘若|若|是否", "ja": r"もし|たら、|なら(?:ば)?、", "ko": r"만약|만일|다면"},
)
# Words that make a condition at the beginning of a clause only.
SUPPOSED_FIRST = words(
    {
        "en": r"suppose|imagine|provided|providing|had|were\s+(?:there|it|the|he|she|they)|say",
        "es": r"si|aunque",
        "fr": r"si",
        "de": r"falls",
        "it": r"se\s+(?:ci|fosse|avesse|dovessi|il|lo|la)",
        "pt": r"se\s+(?:o|a|os|as|eu|ele|ela|houvesse|fosse)|caso",
    }
)
# A condition that any answer is under: what follows the word `if`.
NO_CONDITION = words(
    {
        "en": r"(?:i|we|you|one)(?:['’](?:m|re|d|ve))?\s+(?:\w+\s+){0,4}?(?:choose|guess|pick|answer|select|bet|say|decide|commit|listen|look|watch"
        r"|consider|pay|focus|compare|examine|analy[sz]e|check|mistaken|misheard|misunderstood|missed|wrong|heard?|recall|remember|understand|understood|interpret|see)"
        r"|(?:really\s+)?(?:forced|pressed|pushed|asked|required|needed|necessary|anything|not|any|so|correct|right|possible|memory)"
        r"|this\s+is\s+the\s+case|that\s+is\s+the\s+case",
        "es": r"(?:tuviera|tengo|tuviese|debo|hay)\s+que|nos?\s+fijamos|miramos|escuchamos|tenemos\s+en\s+cuenta",
        "fr": r"(?:je|on|nous)\s+(?:\w+\s+){0,3}?(?:choisir|deviner|écoute\w*|regard\w*)",
        "de": r"(?:ich|man|wir)\s+(?:\w+\s+){0,4}?(?:wählen|raten|müsste|muss|hinhört|hinschaut|schaut|hört)",
        "ru": r"(?:бы\s+)?(?:пришлось|нужно|надо|прислушаться|присмотреться|внимательно)",
    },
    {"zh": r"(?:我|你|我们)?(?:必须|一定|非要|非得|硬要|只能|要选|让我|要我|仔细|结合|从|根据|没听错|没看错)", "ja": r"選ぶ", "ko": r"(?:꼭\s*)?(?:골라야|선택해야)"},
)
BREAK = words(
    {
        "en": r"so|(?<!anything\s)(?<!all\s)(?<!everything\s)(?<!nothing\s)but|therefore|thus|hence|however|nevertheless|nonetheless|yet|instead(?!\s+of)|consequently",
        "es": r"pero|sino|por\s+(?:lo\s+)?tanto|así\s+que",
        "fr": r"mais|donc",
        "de": r"aber|sondern|also|daher|jedoch",
        "it": r"ma|quindi|bensì",
        "pt": r"mas|portanto",
        "ru": r"но|а|поэтому|значит",
        "vi": r"nhưng|mà\s+là|vậy|nên",
        "id": r"tetapi|melainkan|jadi",
        "tr": r"ama|fakat",
        "pl": r"ale|lecz|więc",
        "ar": r"لكن|بل|لذلك|إذن",
        "hi": r"लेकिन|बल्कि|इसलिए",
        "he": r"אלא|אבל|לכן",
        "nl": r"maar|dus",
        "sv": r"utan|men",
    },
    {
        "marks": r"[;；]|[—–]|\s-\s|->|→|=>",
        "zh": r"但|而是|所以|因此|故(?=选|答|正)|却|不如|于是|从而",
        "ja": r"ではなく|じゃなく|が、|ので|から、|よって|したがって|より(?:も)?",
        "ko": r"아니라|그래서|따라서|하지만|지만|므로|보다(?:는)?",
        "th": r"แต่|ดังนั้น",
        "hi": r"लेकिन|बल्कि|इसलिए",
    },
)
SOFT_BREAK = words(
    {
        "en": r"and|while|whereas|which|because|since|then|as|although|though|leaving",
        "es": r"y|porque",
        "fr": r"et|car",
        "de": r"und|weil|denn",
    },
    {"marks": r"[,，、](?!\s*(?:что|dass|daß|że|že|hogy|that)(?![a-z]))", "zh": r"并且|因为|而(?!不|非)|则"},
)
# Those who choose and are not the writer.
OTHERS = words(
    {
        "en": r"he|she|they|some|many|most(?=\s+(?:people|viewers|listeners|of|would|might|will|pick|choose|say))|others?|someone|anyone|everyone|everybody|nobody|one|people|persons?|m[ae]n|wom[ae]n"
        r"|boys?|girls?|hosts?|speakers?|contestants?|players?|students?|teachers?|narrators?|audiences?|viewers?|readers?"
        r"|listeners?|guests?|judges?|singers?|child(?:ren)?|kids?|father|mother|guy|lady|friend|caller|reporter|interviewer"
        r"|commentator|presenter|participants?|candidates?|observers?|critics?|experts?|users?|annotators?",
        "es": r"él|ella|ellos|algunos|muchos|hombre|mujer|presentador|gente",
        "fr": r"il|elle|ils|certains|beaucoup|homme|femme|présentateur|gens",
        "de": r"er|sie|manche|viele|mann|frau|moderator|leute",
        "ru": r"он|она|они|некоторые|многие|мужчина|женщина|ведущий",
    },
    {
        "zh": r"主持人|男人|女人|男子|女子|他们?|她们?|有人|有些人|很多人|选手|嘉宾|老师|学生|说话者|旁白|观众|许多人|别人",
        "ja": r"司会者?|男性|女性|彼女?|人々|多くの人|先生",
        "ko": r"사회자|남자|여자|사람들|진행자|그는|그녀",
    },
)
WRITER = words({"en": r"i|we|me|my|us|our|you|let|i['’]d|i['’]ll|i['’]m|i['’]ve|assistant|model"}, {"zh": r"我", "ja": r"私", "ko": r"저|나"})
SAYS = words(
    {
        "en": r"pick|choose|select|think|believe|go|says?|said|saying|claim(?:s|ed|ing)?|states?|stated|stating|announce[sd]?|announcing|shout(?:s|ed|ing)?|argue[sd]?"
        r"|insist(?:s|ed)?|thinks?|thought|believe[sd]?|tells?|told|repl(?:y|ies|ied)|answers|answered|picks|picked|chooses|chose|selects|selected"
        r"|votes?|voted|guesse[sd]|reveal(?:s|ed)?|declare[sd]?|would|might|could|may|exclaim(?:s|ed)?|mention(?:s|ed)?|suggests?|suggested",
        "es": r"dice|dijo|afirma|grita|responde|elige",
        "fr": r"dit|affirme|crie|répond|choisit",
        "de": r"sagt|behauptet|ruft|antwortet|wählt",
        "ru": r"говорит|сказал[аи]?|утверждает|отвечает|выбирает",
    },
    {"zh": r"说|認為|认为|觉得|表示|喊|回答|宣布|选|猜", "ja": r"言", "ko": r"말"},
)
# Who the subject is does not matter: the writer says `say`.
REPORTS = words(
    {
        "en": r"reads|says|said|claims|claimed|announces|announced|shouts|shouted|states|declares|declared|exclaims|insists"
        r"|insisted|replies|replied|reveals|revealed|answers|thinks|believes|argues|hears|told|tells",
        "es": r"dice|dijo|afirma",
        "fr": r"dit|affirme",
        "de": r"sagt|behauptet",
        "ru": r"говорит|сказала?|утверждает",
    },
    {"zh": r"(?<![我以该就话是来])说(?!明)|宣布|喊"},
)
EXAMPLE = words(
    {
        "en": r"for\s+example|for\s+instance|e\.g\.?|example|such\s+as|formats?|in\s+the\s+form|template|according\s+to|(?:respond|reply)\s+with\s+(?:only|just|a)|quote",
        "es": r"por\s+ejemplo|según|formato",
        "fr": r"par\s+exemple|selon",
        "de": r"zum\s+beispiel|z\.b\.?|laut",
        "ru": r"например|согласно",
    },
    {"zh": r"例如|比如|格式|示例|举例", "ja": r"例えば|たとえば|形式", "ko": r"예를\s*들어|예:|형식"},
)
# What makes a named answer another one than the writer's.
OTHER_ANSWER = words(
    {
        "en": r"second(?:[ -]best|[ -]choice|[ -]guess|[ -]answer|[ -]most)?|2nd|third|runner[ -]?up|alternat(?:e|ive)s?|next[ -]best|backup"
        r"|other|another|initial|initially|original|previous|former|tempting|distractors?|wrong|incorrect|false|worst|least"
        r"|common|popular|possible|rejected|eliminated|excluded|unsupported|unlikely|ruled[ -]out|discarded|bad|poor|trap|naive|winning|announced|displayed",
        "es": r"segunda|incorrect[ao]s?",
        "fr": r"deuxième|seconde|mauvaises?|fausses?",
        "de": r"zweite|falsche[nr]?|zweitbeste",
    },
    {"zh": r"错误|其他|其它|次选|备选|干扰", "ja": r"不正解|次点", "ko": r"오답"},
)
QUESTION_START = words(
    {
        "en": r"is|are|was|were|do|does|did|should|shall|could|can|would|will|why|what|which|how|who|whose|where|when|isn['’]t|aren['’]t|wouldn['’]t|am",
        "fr": r"est-ce|pourquoi|quelle?|dois-je",
        "es": r"por\s+qué|cuál|qué|debería",
        "de": r"ist|warum|welche[rs]?|soll",
        "it": r"perché|quale",
        "ru": r"почему|какой|разве",
    },
    {"zh": r"为什么|为何|难道|是不是|哪", "ja": r"なぜ|どうして", "ko": r"왜"},
)
