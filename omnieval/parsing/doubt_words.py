"""Words by which replies deny, suppose, ask and report, by language; see `words`."""

from __future__ import annotations

from omnieval.parsing.words import words

NEGATION = words(
    {
        "en": r"not|never|no|nor|neither|nothing|none|nobody|hardly|barely|little|few"
        r"|without(?=(?:\s+(?:option|choice|the))?[\s*(]*\Z)|cannot|doubt(?:s|ful)?"
        r"|unlikely|avoid|instead\s+of|rather\s+than|other\s+than|as\s+opposed\s+to|than|except(?:\s+for)?"
        r"|anything\s+but"
        r"|exclud(?:e|es|ed|ing)|rul(?:e|es|ed|ing)\s+out|eliminat(?:e|es|ed|ing)|discard(?:s|ed|ing)?"
        r"|refut(?:e|es|ed|ing)"
        r"|reject(?:s|ed|ing)?|unlike|wrong|incorrect|false|worst|least|improbable|implausible|invalid"
        r"|unsupported"
        r"|far\s+from|contradict(?:s|ed|ing)?|hard\s+to|difficult\s+to|impossible|mistaken(?:ly)?"
        r"|erroneous(?:ly)?"
        r"|cant|dont|doesnt|isnt|wont|wouldnt|didnt|dismiss(?:ed|es|ing)?|disprov(?:e|es|ed|ing)"
        r"|irrelevant|unrelated|a\s+mistake|an\s+error|fail(?:s|ed)?|lack(?:s|ed)?|insufficient|surprised"
        r"|foolish"
        r"|(?:odd|strange|silly|unwise|premature|risky|tempting|hasty|naive|absurd|ridiculous)\s+to|disagree"
        r"|distrust",
        "es": r"no|ni|nunca|tampoco|dudo|incorrect[ao]|fals[ao]|descart[aoé]\w*|excepto|salvo|peor"
        r"|equivocad[ao]|errónea",
        "fr": r"pas|ni|jamais|doute|incorrecte|fausse|mauvaise?|sauf|élimin\w+|exclu\w*|plutôt\s+que",
        "de": r"nicht|kein\w*|weder|noch|nie|bezweifle|falsch\w*|außer|ausgeschlossen|anstatt|statt"
        r"|inkorrekt\w*|unwahrscheinlich",
        "it": r"non|né|mai|dubito|sbagliat\w+|errat\w+|tranne|falsa|escludo",
        "pt": r"não|nem|nunca|duvido|incorret[ao]|errad[ao]|exceto|falsa",
        "ru": r"не|неправда|ни|нет|никогда|сомневаюсь|неправильн\w+|неверн\w+|кроме|исключ\w+|ошибочн\w+"
        r"|маловероятно",
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
        "en": r"(?:there\s+is\s+)?(?:no|without(?:\s+an?y?)?|not\s+a|beyond)\s+(?:(?:a|any)\s+)?(?:doubt"
        r"|question|wonder)|not\s+only"
        r"|(?:none|no|nothing)\s+other\s+than|nothing\s+but|not\s+(?:hard|difficult)\s+to\s+\w+"
        r"|at\s+(?:the\s+)?least"
        r"|last\s+but\s+not\s+least|a\s+(?:few|little)|no\s+longer|can(?:no"
        r"|['’])t\s+be\s+anything\s+(?:but|other\s+than)"
        r"|(?:if|unless)\s+i['’]?\s?a?m\s+not\s+mistaken|more\s+(?:likely|probable|plausible"
        r"|often)\s+than\s+not|other\s+than\s+that|no\s+option\s+but|no\s+choice\s+but"
        r"|whether\s+or\s+not|not\s+sure|not\s+(?:entirely|completely|totally|100%|absolutely"
        r"|quite)\s+(?:sure|certain)|not\s+just",
        "es": r"sin\s+duda|no\s+solo|no\s+hay\s+duda(?:\s+de\s+que)?",
        "fr": r"sans(?:\s+aucun)?\s+doute|pas\s+seulement|nul\s+doute",
        "de": r"zweifellos|ohne\s+zweifel|nicht\s+nur",
        "it": r"senza\s+dubbio|non\s+solo",
        "pt": r"sem\s+dúvida|não\s+só",
        "ru": r"без\s+сомнения|не\s+только|несомненно",
    },
    {
        "zh": r"不用说|毋庸(?:置疑)?|不言而喻|不考虑其他|不难(?:看出|发现|得出|判断)?|毫无疑问|无疑"
        r"|不仅(?:仅)?|不但|不过|没错|不妨|不得不|非常"
        r"|莫过于|无非|除非|并不难|分别|特别|无论|不管|不难发现|不外乎",
        "ja": r"間違いなく",
        "ko": r"틀림없이",
    },
)
# A negation that follows its letter, in languages whose verb comes last.
NEGATION_AT_END = words(
    {"tr": r"değil(?:dir)?", "hi": r"नहीं|गलत", "de": r"nicht|falsch"},
    {
        "ja": r"ではな|じゃな|ではありません|ません|なさそう|とは思わ|とは言え|間違い|誤り|違う|違い|不正解"
        r"|不適切|正しくない|低い|低く|限りません|とは限",
        "ko": r"아니|아닙|아닌|않|틀[렸린려]|오답|잘못|없[다습]|못|어렵|힘들|낮|희박|모르겠",
        "hi": r"नहीं|गलत",
        "zh": r"并不|不(?:正确|正確|对|對|符|成立|合适|可能|准确|恰当)|错|錯|有误|排除|没有|无关|可以排除"
        r"|被排除|可能性(?:很|较|比较|不)?(?:低|小|大)",
        "th": r"ผิด|ไม่ถูก|ไม่ใช่",
    },
)
SUPPOSED = words(
    {
        "en": r"(?<=right\s)had|(?<=correct\s)had|(?<=answer\s)had|(?<=choice\s)had|if|whether|unless"
        r"|supposing|in\s+case|you\s+mean(?:t)?|(?:was|were)\s+(?:going|about"
        r"|tempted)\s+to|almost\s+(?:chose|said|picked|went)",
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
    {
        "fr": r"(?<![a-z])s['’](?=il)",
        "zh": r"如果|假如|假设|要是|倘若|若|是否",
        "ja": r"もし|たら、|なら(?:ば)?、",
        "ko": r"만약|만일|다면",
    },
)
# Words that make a condition at the beginning of a clause only.
SUPPOSED_FIRST = words(
    {
        "en": r"suppose|imagine|provided|providing|had|were\s+(?:there|it|the|he|she|they)"
        r"|when(?:ever)?\s+in\s+doubt",
        "es": r"si|aunque",
        "fr": r"si",
        "de": r"falls",
        "it": r"se\s+(?:ci|fosse|avesse|dovessi|il|lo|la)",
        "pt": r"se\s+(?:o|a|os|as|eu|ele|ela)|se\s+(?:\w+\s+){0,2}\w+sse\w*|caso",
    }
)
# A condition that any answer is under: what follows the word `if`.
NO_CONDITION = words(
    {
        "en": r"(?:i|we|you|one)(?:['’](?:m|re|d|ve))?\s+(?:\w+\s+){0,4}?(?:choose|guess|pick|answer"
        r"|select|bet|say|decide|commit|listen|look|watch"
        r"|consider|pay|focus|compare|examine|analy[sz]e|check|mistaken|misheard|misunderstood|missed"
        r"|wrong|heard?|recall|remember|understand|understood|interpret|see)"
        r"|(?:really\s+)?(?:forced|pressed|pushed|asked|required|needed|necessary|anything|not|any|so"
        r"|correct|right|possible|memory)"
        r"|or\s+not|this\s+is\s+the\s+case|that\s+is\s+the\s+case",
        "es": r"(?:tuviera|tengo|tuviese|debo|hay)\s+que|nos?\s+fijamos|miramos|escuchamos"
        r"|tenemos\s+en\s+cuenta",
        "fr": r"(?:je|on|nous)\s+(?:\w+\s+){0,3}?(?:choisir|deviner|écoute\w*|regard\w*)",
        "de": r"(?:ich|man|wir)\s+(?:\w+\s+){0,4}?(?:wählen|raten|müsste|muss|hinhört|hinschaut|schaut|hört)",
        "ru": r"(?:бы\s+)?(?:пришлось|нужно|надо|прислушаться|присмотреться|внимательно)",
    },
    {
        "zh": r"(?:我|你|我们)?(?:必须|一定|非要|非得|硬要|只能|要选|让我|要我|仔细|结合|从|根据|没听错"
        r"|没看错)",
        "ja": r"選ぶ",
        "ko": r"(?:꼭\s*)?(?:골라야|선택해야)",
    },
)
BREAK = words(
    {
        "en": r"so|(?<!anything\s)(?<!all\s)(?<!everything\s)(?<!nothing\s)but|therefore|thus|hence"
        r"|however|nevertheless|nonetheless|yet|instead(?!\s+of)|consequently",
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
        "marks": r"[;；]|(?<!ответ\s)(?<!вариант\s)[—–]|\s-\s|->|→|=>",
        "zh": r"但|而是|所以|因此|故(?=选|答|正)|却|不如|于是|从而",
        "ja": r"ではなく|じゃなく|が、|ので|から、|よって|したがって|より(?:も)?",
        "ko": r"아니라(?!고)|그래서|따라서|하지만|지만|므로|보다(?:는)?",
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
        "en": r"colleagues?|friends?|classmates?|wife|husband|mother|mom|dad|brother|sister|boss|passerby"
        r"|passengers?|drivers?|captains?|chefs?|waiters?|waitress|coach|referee|doctors?"
        r"|nurses?|officers?|lawyers?|he|she|they|some|many|most(?=\s+(?:people|viewers|listeners|of|would"
        r"|might|will|pick"
        r"|choose|say))|others?|someone|anyone|everyone|everybody|nobody|one|people|persons?|m[ae]n|wom[ae]n"
        r"|boys?|girls?|hosts?|speakers?|contestants?|players?|students?|teachers?|narrators?|audiences?"
        r"|viewers?|readers?"
        r"|listeners?|guests?|judges?|singers?|child(?:ren)?|kids?|father|mother|guy|lady|friend|caller"
        r"|reporter|interviewer"
        r"|commentator|presenter|participants?|candidates?|observers?|critics?|experts?|users?|annotators?",
        "es": r"él|ella|ellos|algunos|muchos|hombre|mujer|presentador|gente",
        "fr": r"il|elle|ils|certains|beaucoup|homme|femme|présentateur|gens",
        "de": r"er|sie|manche|viele|mann|frau|moderator|leute",
        "pt": r"ele|ela|eles|apresentador\w*|homem|mulher",
        "it": r"lui|lei|loro|presentatore|uomo|donna",
        "ru": r"он|она|они|некоторые|многие|мужчина|женщина|ведущий",
    },
    {
        "zh": r"主持人|男人|女人|男子|女子|他们?|她们?|有人|有些人|很多人|选手|嘉宾|老师|学生|说话者|旁白"
        r"|观众|许多人|别人",
        "ja": r"司会者?|男性|女性|彼女?|人々|多くの人|先生",
        "ko": r"사회자|남자|여자|사람들|진행자|그는|그녀",
    },
)
WRITER = words(
    {
        "es": r"yo|me|mi",
        "fr": r"je|j['’]|mon|ma|nous",
        "de": r"ich|mein(?:e[rnms]?)?|wir",
        "ru": r"я|мой|мы",
        "pt": r"eu|minha|nós",
        "it": r"io|mio|mia|noi",
        "en": r"i|we|me|my|us|our|you|let|i['’]d|i['’]ll|i['’]m|i['’]ve|assistant|model",
    },
    {"zh": r"我", "ja": r"私", "ko": r"저|나"},
)
SAYS = words(
    {
        "en": r"answer(?=\s*\Z)|whispers?|yells?|mutters?|screams?|adds|responds|types|typed|writes|wrote"
        r"|admits|suspects"
        r"|assumes|hopes|swears|asserts|pick|choose|select|think|believe|go|says?|said|saying|claim(?:s|ed"
        r"|ing)?|states?|stated"
        r"|stating|announce[sd]?|announcing|shout(?:s|ed|ing)|argue[sd]?"
        r"|insist(?:s|ed)?|thinks?|thought|believe[sd]?|tells?|told|repl(?:y|ies|ied)|answers|answered"
        r"|picks|picked|chooses|chose|selects|selected"
        r"|votes?|voted|guesse[sd]|reveal(?:s|ed)?|declare[sd]?|would|might|could|may|exclaim(?:s|ed)?"
        r"|mention(?:s|ed)?|suggests?|suggested|concludes?|concluded|explains?|confirms?",
        "pt": r"diz|disse|acha|pensa",
        "it": r"dice|pensa|crede",
        "es": r"cree|piensa|opina|dice|dijo|afirma|grita|responde|elige",
        "fr": r"pense|croit|estime|dit|affirme|crie|répond|choisit",
        "de": r"meint|denkt|glaubt|sagt|behauptet|ruft|antwortet|wählt",
        "ru": r"думает|считает|полагает|говорит|сказал[аи]?|утверждает|отвечает|выбирает",
    },
    {"zh": r"说|認為|认为|觉得|表示|喊|回答|宣布|选|猜", "ja": r"言", "ko": r"말"},
)
# Who the subject is does not matter: the writer says `say`.
REPORTS = words(
    {
        "en": r"reads|says|said|claims|claimed|announces|announced|shouts|shouted|states|declares|declared"
        r"|exclaims|insists"
        r"|insisted|replies|replied|reveals|revealed|answers|thinks|believes|argues|hears|told|tells",
        "es": r"dice|dijo|afirma",
        "fr": r"dit|affirme",
        "de": r"sagt|behauptet",
        "ru": r"говорит|сказала?|утверждает",
    },
    {
        "zh": r"(?<=[^我们人此以地也会就都合析断常,，。：:\s])(?:认为|主张|坚称|声称)"
        r"|(?<![我以该就话是来用])说(?!明)|宣布|喊"
    },
)
EXAMPLE = words(
    {
        "en": r"for\s+example|for\s+instance|e\.g\.?|example|such\s+as|formats?|in\s+the\s+form|template"
        r"|according\s+to(?!\s+(?:\w+\s+){0,3}(?:video|audio|clip|footage|images?|frames?|transcript|scene"
        r"|information|context|evidence|sound|soundtrack|question|options|content|analysis|visuals?"
        r"|subtitles?|passage|above|description|data|recording|dialogue|my|what|this)\b)|(?:respond"
        r"|reply)\s+with\s+(?:only|just|a)|quote",
        "es": r"por\s+ejemplo|según(?!\s+(?:\w+\s+){0,3}(?:v[ií]deo|audio|clip|imagen|escena|información)\b)"
        r"|formato",
        "fr": r"par\s+exemple|selon(?!\s+(?:\w+\s+){0,2}(?:moi|vidéo|audio|extrait|image|scène)\b)",
        "de": r"zum\s+beispiel|z\.b\.?|laut(?!\s+(?:\w+\s+){0,2}(?:video|audio|clip|bild)\b)",
        "ru": r"например|согласно(?!\s+(?:\w+\s+){0,2}(?:видео|аудио|записи))",
    },
    {"zh": r"例如|比如|格式|示例|举例", "ja": r"例えば|たとえば|形式", "ko": r"예를\s*들어|예:|형식"},
)
# What makes a named answer another one than the writer's.
OTHER_ANSWER = words(
    {
        "en": r"second(?=[\s_-]+(?:best|choice|guess|answer|most|option|pick|place))(?:[\s_-]+(?:best"
        r"|most))?|2nd|third|runner[ -]?up"
        r"|alternat(?:e|ive)s?|next[ -]best|backup"
        r"|other|another|initial|initially|original|previous|former|tempting|distractors?|wrong|incorrect"
        r"|false|worst|least"
        r"|common|popular|possible|rejected|eliminated|excluded|unsupported|unlikely|ruled[ -]out"
        r"|discarded|bad|poor|trap|naive|winning|announced|displayed",
        "es": r"segunda|incorrect[ao]s?",
        "fr": r"deuxième|seconde|mauvaises?|fausses?",
        "de": r"zweite|falsche[nr]?|zweitbeste",
    },
    {"zh": r"错误|其他|其它|次选|备选|干扰", "ja": r"不正解|次点", "ko": r"오답"},
)
QUESTION_START = words(
    {
        "en": r"is|are|was|were|do|does|did|should|shall|could|can|would|will|why|what|which|how|who|whose"
        r"|where|when|isn['’]t|aren['’]t|wouldn['’]t|am",
        "pt": r"é",
        "fr": r"est-ce|c['’]est|pourquoi|quelle?|dois-je",
        "es": r"es|por\s+qué|cuál|qué|debería",
        "de": r"ist|warum|welche[rs]?|soll",
        "it": r"perché|quale|è",
        "ru": r"почему|какой|разве|это",
    },
    {"zh": r"到底|究竟|为什么|为何|难道|是不是|哪", "ja": r"なぜ|どうして", "ko": r"왜"},
)
