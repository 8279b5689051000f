"""Words by which replies choose, reject and suppose, by language, as alternations for regular expressions.

`spaced` words stand between spaces or marks, `joined` ones anywhere: scripts without spaces, or with endings.
"""

from __future__ import annotations

from collections.abc import Mapping

# A character of a word, where words have spaces between them.
WORD = r"A-Za-z0-9\u00c0-\u024f\u0370-\u052f\u0590-\u06ff\u0900-\u0963\u0966-\u097f\u1e00-\u1eff"
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
        r"|decision|correct|final|choose|reason|cause|explanation|purpose|intention|event|location|emotion"
        r"|mood|most\s+likely|best|guess",
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
    {
        "zh": r"选项|選項|选择|選擇|结论|正确",
        "ja": r"選択肢|結論",
        "ko": r"선택지|선택|결론",
        "th": r"ตัวเลือก|ข้อ",
    },
)
IS = words(
    {
        "en": r"is|are|was|be|would\s+be|should\s+be|will\s+be|must\s+be|remains?|stays|seems|appears"
        r"|becomes|equals",
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
        "zh": r"应该是|應該是|应是|应该选|应选|应为|應為|就是|是|选择|选(?!项)|選(?!項)|为|為",
        "ja": r"は|が",
        "ko": r"은|는|이|가",
        "th": r"คือ",
    },
)
LINK = words(
    {
        "en": r"is|are|was|be|would|should|will|must|has|to|indeed|clearly|therefore|thus|most|likely"
        r"|probably"
        r"|definitely|actually|simply|hence|obviously|certainly|still|option|choice|letter|answer|the"
        r"|correct|right"
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
        "zh": r"应该|應該|應当|应当|应|應|就|是|为|為|该|選擇|选择|選|选|选项|项|項|即|显然|很可能|可能"
        r"|最有可能",
        "ja": r"選択肢|は|が|番",
        "ko": r"은|는|이|가|보기|선택지",
        "th": r"คือ|ข้อ|ตัวเลือก|ที่ถูกต้อง",
        "hi": r"है|विकल्प|सही",
    },
)
CORRECT = words(
    {
        "en": r"correct|right|best|final|chosen|selected|true|likely|likeliest|plausible|appropriate"
        r"|accurate|suitable",
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
        "en": r"choos(?:e|ing)|chose|chosen|pick(?:ed|ing)?|select(?:ed|ing)?|go(?:ing|ne)?\s+(?:with|for)"
        r"|went\s+with"
        r"|opt(?:ed|ing)?\s+for|say|guess|bet\s+on|answer(?:ed)?(?:\s+with)?|vote(?:\s+for)?"
        r"|settle\s+(?:on|for)"
        r"|stick(?:ing)?\s+with|conclude|lean(?:ing)?\s+(?:towards?|to)|prefer|submit|respond\s+with|mark"
        r"|think|believe|meant|mean|make\s+it|change\s+my\s+answer\s+to|switch\s+to|it\s+is|it['’]?s"
        r"|that['’]?s|this\s+is"
        r"|(?:must|should|would|will|has\s+to|got\s+to|have\s+to|has\s+got\s+to)\s+be|it['’]ll\s+be"
        r"|call\s+it|can\s+only\s+be|left\s+with|(?:revised|changed|corrected|switched|yes)\s+to|arriv(?:e"
        r"|ed|ing)\s+at|(?:this|that"
        r"|which)\s+gives?(?:\s+(?:us|me))?|we\s+get|end\s+up\s+with|money\s+on|(?:looks?|sounds?|seems?"
        r"|feels?)\s+like"
        r"|(?:appears?|seems?)\s+to\s+be",
        "es": r"elijo|escojo|elegiría|diría|creo\s+que\s+es|sería|opto\s+por|me\s+quedo\s+con"
        r"|me\s+inclino\s+por|es(?:\s+la)?|marco|selecciono",
        "fr": r"choisis|choisirais"
        r"|dirais|c['’]est|il\s+s['’]agit\s+de|opte\s+pour|penche(?:rais)?\s+(?:pour|vers)"
        r"|serait|sélectionne",
        "de": r"wähle|würde|nehme|es\s+ist|das\s+ist|tippe\s+auf|entscheide\s+mich\s+für",
        "it": r"scelgo|direi|sceglierei|è|opto\s+per",
        "pt": r"escolho|diria|escolheria|é|opto\s+por|fico\s+com|marco",
        "ru": r"выбираю|выберу|выбрал|думаю|это|считаю|склоняюсь\s+к|выбор",
        "id": r"memilih|pilih",
        "vi": r"chọn",
        "tr": r"seçiyorum",
        "pl": r"wybieram",
        "sv": r"väljer|velger|vælger",
        "nl": r"kies",
        "ar": r"أختار|اختار|اخترت",
        "fa": r"گزینه",
        "he": r"בוחר|בוחרת",
    },
    {
        "zh": r"倾向于?|偏向于?|选择|選擇|应选|應選|故选|故選|选(?!项)|選(?!項)|是|為|为|即|填|属于|认为|猜",
        "ja": r"選ぶ|答えは|のは",
        "ko": r"선택은|정답은|것은",
        "th": r"เลือก",
    },
)
# Verbs by which evidence chooses.
POINTS = words(
    {
        "en": r"(?:correspond|point|lead|refer|belong|equate|conform|amount)(?:s|ed"
        r"|ing)?\s+(?:\w+\s+){0,2}?(?:to|towards?)"
        r"|(?:align|agree|match|fit)(?:s|es|ing)?(?:\s+(?:perfectly|best|well|closely"
        r"|most\s+closely))?(?:\s+with)?"
        r"|consistent\s+with|indicates?|indicating|suggests?|suggesting|supports?|supporting|means?"
        r"|meaning|implies|makes"
        r"|leaves?(?:\s+(?:us|me|only))*(?:\s+with)?|leaving(?:\s+(?:us|me|only))*(?:\s+with)?|namely"
        r"|i\.e\.,?|confirms?|confirming|favou?rs?",
        "es": r"corresponde\s+a|coincide\s+con|indica",
        "fr": r"correspond\s+à|indique",
        "de": r"entspricht|passt\s+zu",
        "it": r"corrisponde\s+a",
        "pt": r"corresponde\s+à?|indica",
        "ru": r"соответствует(?:\s+варианту)?",
    },
    {
        "zh": r"对应|對應|对应于|只剩(?:下)?|剩下|唯有|只有|符合|支持|指向|匹配|因此是",
        "ja": r"に該当するのは",
        "ko": r"해당하는\s*것은",
    },
)
CONCLUDES = words(
    {
        "en": r"so|therefore|thus|hence|consequently|accordingly|actually|wait|no|rather|instead"
        r"|correction|sorry|yes"
        r"|i\s+mean|i\s+meant|in\s+conclusion|finally|overall|scratch\s+that|strike\s+that|scrap\s+that"
        r"|oops|ergo"
        r"|ultimately|in\s+short|in\s+summary|make\s+that|still|because\s+of\s+this"
        r"|on\s+(?:second\s+thoughts?|reflection)|as\s+a\s+result"
        r"|conclusion",
        "es": r"por\s+(?:lo\s+)?tanto|así\s+que|entonces|perdón|sino|en\s+conclusión|en\s+mi\s+opinión"
        r"|para\s+mí",
        "fr": r"donc|mais|par\s+conséquent|pardon|ainsi|selon\s+moi|à\s+mon\s+avis",
        "de": r"also|daher|somit|sondern|folglich|deshalb|demnach|meiner\s+meinung\s+nach",
        "it": r"quindi|dunque|ma|pertanto|bensì|secondo\s+me",
        "pt": r"portanto|logo|mas|mas\s+sim|na\s+minha\s+opinião",
        "ru": r"поэтому|значит|следовательно|итак|а|итого|по-моему|на\s+мой\s+взгляд",
        "vi": r"vậy|do đó|nên|mà\s+là",
        "id": r"jadi|melainkan",
        "tr": r"yani|dolayısıyla|bence",
        "pl": r"więc|zatem|moim\s+zdaniem",
        "ro": r"deci|cred\s+că\s+este",
        "ar": r"إذن|لذلك|لذا|بل",
    },
    {
        "zh": r"所以|因此|故|综上(?:所述)?|由此|应该|而是|才是|那么|总之|可见",
        "ja": r"よって|したがって|だから|つまり|ではなく、?|じゃなく、?|いや、?|すみません、?|ので、?"
        r"|から、?|より(?:も)?、?",
        "ko": r"따라서|그래서|그러므로|아니라|보다(?:는)?",
        "marks": r"[→➜➡⇒✅✔✓☑]|👉|\[[xX✓✔]\]|=>|->",
    },
)
# Words that leave a bare letter what it is: `maybe B`, `only C`.
ADVERB = words(
    {
        "en": r"maybe|perhaps|possibly|only|just|surely|still|most|more|very|quite|almost|nearly|\w+ly|final"
        r"|again|yes|ok|okay|sure"
        r"|well|hmm"
        r"|definitely|i|think|believe|is|the|that|a|now|one|for|in|with",
        "es": r"la|el|quizás?|probablemente|sí|sin\s+duda|seguramente|ciertamente",
        "fr": r"la|le|peut-être|probablement|oui|certainement|sûrement|évidemment",
        "de": r"die|der|das|vielleicht|wahrscheinlich|ja|wohl|zweifellos|sicher(?:lich)?|bestimmt|definitiv"
        r"|natürlich",
        "it": r"la|il|forse|sì|senza\s+dubbio|sicuramente|certamente",
        "pt": r"a|o|talvez|sim|com\s+certeza|certamente|sem\s+dúvida",
        "ru": r"наверное|возможно|скорее\s+всего|вероятно|да|конечно|точно|определ[её]нно|несомненно",
        "tr": r"kesinlikle|muhtemelen|galiba|bence",
        "pl": r"na\s+pewno|chyba|prawdopodobnie",
        "vi": r"chắc\s+chắn|có\s+lẽ|là",
        "id": r"tentu\s+saja|pasti|mungkin",
        "ar": r"بالتأكيد|ربما|أظن",
        "hi": r"निश्चित\s+रूप\s+से|शायद",
        "nl": r"zeker|waarschijnlijk",
        "sv": r"säkert|troligen",
    },
    {
        "zh": r"可能|大概|也许|应该|就|肯定|一定|还是|必定|显然|确实",
        "ja": r"おそらく|多分|たぶん",
        "ko": r"아마도?",
    },
)
