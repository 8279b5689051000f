"""Lists, tables and check boxes: which lines repeat the options, and which option their marks choose."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from omnieval.parsing.doubt_words import OTHER_ANSWER
from omnieval.parsing.letters import LETTER
from omnieval.parsing.mentions import Mention
from omnieval.parsing.stance import CHOICE

# A line that begins with a letter and a mark: an option as a list shows it, or an answer.
LABEL_LINE = re.compile(
    r"^[^\S\n]*+(?P<marks>(?>(?:[-*>#•·+]|\d{1,3}[.)]|\[.?\]"
    r"|[○●◯◉☐☑✓✔✅✗✘❌])*)[\s*_`(（【\[]{0,12})(?P<letter>[A-Z])(?P<close>[)）】\]*_`]*"
    r"(?:[.:：、,)）]|[^\S\n]+[-–—][^\S\n]|(?=[^\S\n]*$)))(?P<rest>[^\n]*)$",
    re.MULTILINE,
)
_I = re.IGNORECASE
_RIGHT_MARK, _WRONG_MARK = "✓✔✅☑√", "✗✘❌×✕✖≠"
_MARKS = frozenset(_RIGHT_MARK + _WRONG_MARK)
_RIGHT_WORD = (
    r"correct|right|yes|true|正确|正確|对|對|是|正解|はい|맞음|정답|верно|да|sí|oui|ja|richtig|correcta?|vrai"
)
r"|verdadero"
_WRONG_WORD = (
    r"incorrect|wrong|no|false|not (?:correct|right|true|supported|mentioned)|错误|錯誤|错|錯|不对|不正确|否"
    r"|不是|不正解|誤り"
    r"|いいえ"
    r"|틀림|오답|неверно|нет|faux|nein|falsch|falso|incorrecta?"
)
_TAIL = r"[\s).*!。|_`,;，；、~]*"
_RIGHT = re.compile(rf"(?:(?<![a-z])(?:{_RIGHT_WORD})|[{_RIGHT_MARK}]\ufe0f?){_TAIL}\Z", _I)
_WRONG = re.compile(rf"(?:(?<![a-z])(?:{_WRONG_WORD})|[{_WRONG_MARK}]\ufe0f?){_TAIL}\Z", _I)
_RIGHT_FIRST = re.compile(
    rf"[\s).:：=*|_`(?？\"'\-–—]*(?:(?:{_RIGHT_WORD})(?![a-z])|[{_RIGHT_MARK}]"
    rf"|(?<=[\"'][:\s])\s?1(?![\d.]))(?!\s+[a-z])",
    _I,
)
_WRONG_FIRST = re.compile(
    rf"[\s).:：=*|_`(?？\"'\-–—]*(?:(?:{_WRONG_WORD})(?![a-z])|[{_WRONG_MARK}]"
    rf"|(?<=[\"'][:\s])\s?0(?![\d.]))(?!\s+[a-z])",
    _I,
)
_POINTED_AT = re.compile(r"(?:<-+|<=+|←|⬅|👈)(?![^\n]*(?:wrong|incorrect|distract|\bno\b))", _I)
_BOX = re.compile(
    r"^[^\S\n]*(?:[-*+]\s+|\d+[.)]\s+)?(?:(?P<on>\[[xX✓✔*]\]|\([xX✓✔*•]\)|[☑☒✅✓✔●◉⦿🔘])|(?P<off>\[\s?\]"
    r"|\(\s?\)|[☐○◯⚪❌✗✘]))"
    r"\ufe0f?[\s*_`(]*(?P<letter>[A-Z])(?![A-Za-z])[^\n]*$",
    re.MULTILINE,
)
_STRUCK = re.compile(r"~~[^~\n]{1,300}~~|<(?P<tag>del|strike)>[^<\n]{1,300}</(?P=tag)>", _I)
# A key and its value in JSON or the like, the value being a text, a list or a word.
_PAIR = re.compile(
    r"[\"'](?P<key>[^\"'\n:{}\[\],]{1,40})[\"']\s*:\s*(?P<value>\"[^\"\n]{0,400}\"|'[^'\n]{0,400}'"
    r"|\[[^\[\]]{0,400}\]|[^\s,{}\[\]\"']{1,40})"
)
_ANSWER_KEY = re.compile(
    r"answers?|ans|choices?|options?|correct|right|final|prediction|pred|selected|selection|letter|result"
    r"|response|output|pick|verdict"
    r"|label|respuesta|réponse|antwort|ответ|答案|选项|答え|정답|解答|conclusion|solution|value",
    _I,
)
_OTHER_KEY = re.compile(
    rf"{OTHER_ANSWER}|confidence|grade|level|score|in_?correct|not_|wrong_|question|explanation|reason"
    rf"|thought",
    _I,
)


@dataclass(frozen=True, slots=True)
class Layout:
    """spans: what repeats the options or grades them, to be left out. choices: what its marks choose."""

    spans: tuple[tuple[int, int], ...] = ()
    choices: tuple[Mention, ...] = ()


def struck_out(text: str) -> list[tuple[int, int]]:
    """Where text is crossed out."""
    return [match.span() for match in _STRUCK.finditer(text)]


def other_fields(text: str) -> list[tuple[int, int]]:
    """Where a JSON object holds something else than its answer: `"second_best": "C"`."""
    pairs = list(islice(_PAIR.finditer(text), 30))
    if not any(_is_answer_key(pair.group("key")) for pair in pairs):
        return []
    return [
        pair.span() for pair in pairs if not _is_answer_key(pair.group("key")) and len(pair.group("key")) > 1
    ]


def _is_answer_key(key: str) -> bool:
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key).replace("_", " ").replace("-", " ")
    return _ANSWER_KEY.search(plain) is not None and not _OTHER_KEY.search(plain)


def boxes(text: str) -> Layout:
    """Check boxes of which one is ticked."""
    lines = list(_BOX.finditer(text))
    ticked = [line for line in lines if line.group("on")]
    if len(ticked) != 1 or len(lines) < 2:
        return Layout()
    return Layout(tuple(line.span() for line in lines), (_listed(ticked[0].span("letter"), text, "ticked"),))


def graded(text: str, options: Mapping[str, str]) -> Layout:
    """Options that are called right and wrong one by one, in a list, a table or a line."""
    letters = list(islice((m for m in LETTER.finditer(text) if m.group() in "ABCDEFGHIJ"), 40))
    grades: dict[str, tuple[bool, re.Match[str]]] = {}
    for letter, after in zip(letters, [*letters[1:], None], strict=False):
        line_end = text.find("\n", letter.end())
        line_end = len(text) if line_end < 0 else line_end
        end = min(line_end, after.start() if after is not None and not _in_words(text, after) else line_end)
        grade = _grade(text[letter.end() : end], options.get(letter.group(), ""))
        if grade is not None:
            grades[letter.group()] = (grade, letter)
    right = [letter for grade, letter in grades.values() if grade]
    if len(right) != 1 or len(grades) < 2:
        return Layout()
    spans = tuple(letter.span() for _, letter in grades.values())
    return Layout(spans, (_listed(right[0].span(), text, "called right in the list"),))


def _in_words(text: str, letter: re.Match[str]) -> bool:
    return re.match(r"\s+[a-z]{2}", text[letter.end() :]) is not None and letter.group() == "A"


def _grade(said: str, option: str) -> bool | None:
    said = said.rstrip(" |*_`\ufe0f")
    if len(said) > 300 or (option and not set(said) & _MARKS and _plain(said) == _plain(option)):
        return None
    if _WRONG_FIRST.match(said) or (len(said) < 4 and _WRONG.search(said)):
        return False
    if _RIGHT_FIRST.match(said):
        return True
    ending = re.search(r"(?:[-–—:：|(（→=]|is\s|[.。]\s)[\s*_]*[^-–—:：|(（→=]{0,24}\Z", said)
    tail = ending.group() if ending else said if said[-3:].strip(" |*.")[-1:] in _MARKS else ""
    if _WRONG.search(tail):
        return False
    return True if _RIGHT.search(tail) else None


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def echoed(text: str) -> Layout:
    """Lines that repeat the list of options: at least two labels that follow each other in the alphabet.

    One that alone is highlighted or pointed at is chosen.
    """
    lines = list(LABEL_LINE.finditer(text))
    echo: list[re.Match[str]] = []
    for line, after in zip(lines, [*lines[1:], None], strict=False):
        joined = bool(echo) and _follows(echo[-1], line)
        if joined or (after is not None and _follows(line, after)):
            echo.append(line)
    return Layout(tuple(line.span() for line in echo), tuple(_highlighted(text, echo)))


def _follows(line: re.Match[str], after: re.Match[str]) -> bool:
    near = after.start() - line.end() <= 3
    return near and ord(after.group("letter")) == ord(line.group("letter")) + 1


def _highlighted(text: str, echo: list[re.Match[str]]) -> list[Mention]:
    marked = [line for line in echo if _is_marked(line)]
    pointed = [line for line in echo if _POINTED_AT.search(line.group("rest"))]
    for lines in (marked, pointed):
        if len(lines) == 1 and len(echo) > 1:
            return [_listed(lines[0].span("letter"), text, "highlighted in the list")]
    return []


def _is_marked(line: re.Match[str]) -> bool:
    marks = line.group("marks").strip()
    return marks not in ("-", "*", "•", "+") and bool(set("*_`#>✓✔✅☑") & set(marks))


def _listed(span: tuple[int, int], text: str, reason: str) -> Mention:
    return Mention((text[slice(*span)],), span, span[1], "chosen", reason, CHOICE, True, True)
