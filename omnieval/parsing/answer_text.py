"""The part of a reply that is its answer: without reasoning, other turns, tokens and mark-up.

What is left out becomes spaces, so that every place in the text is a place in the reply.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

# A longer reply has collapsed or argues at length; its answer is at one of its ends, or else declared.
_HEAD, _TAIL = 1_500, 4_500
# What declares an answer amid a long reply, and how much of the text around it is read.
_DECLARES = (
    *("final answer", "answer is", "answer:", "correct answer", "correct option", "boxed{"),
    *("答案", "正确选项", "答え", "正解", "정답"),
    *("respuesta", "réponse", "antwort", "risposta", "resposta", "ответ"),
)
_BEFORE, _AFTER, _WINDOWS = 200, 200, 3

_THINK = r"think|thinking|thought|thoughts|reasoning|reason|analysis|scratchpad|reflection"
# One of these is in every mark of reasoning, so that most replies need not be searched for the marks.
_REASONING_WORDS = ("think", "thought", "reason", "analysis", "scratchpad", "reflection", "channel")
_REASONING_ENDS = re.compile(
    rf"<(?:/(?:{_THINK})>|\|(?:(?:/think|end_of_thought|end_think)\|>|channel\|>\s*final\s*<\|message\|>))"
    rf"|\[/(?:{_THINK})\]|◁/think▷",
    re.IGNORECASE,
)
_REASONING_BEGINS = re.compile(
    rf"<(?:(?:{_THINK})>|\|(?:(?:think|begin_of_thought|begin_think)\|>"
    rf"|channel\|>\s*analysis\s*<\|message\|>))"
    rf"|\[(?:{_THINK})\]|◁think▷",
    re.IGNORECASE,
)
_ANSWER_TAG = re.compile(
    r"<(?P<tag>answer|final_answer|final|choice|option|result|response|output|ans|letter"
    r"|selection)>(?P<text>[^<]{0,2000})(?:</(?P=tag)>|$)",
    re.IGNORECASE,
)
# A role that begins a turn: with a chat token, with a colon, or on a line of its own.
_TURN = re.compile(
    r"(?:<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|<\|)[ \t]*"
    r"(?P<token>assistant|model|user|human|system)\b(?:\|>|<\|end_header_id\|>)?"
    r"|(?:^|\n)[ \t*#]*(?P<line>assistant|model|user|human|system)[ \t*]*(?::|：|\n)",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"\x1b\[[0-9;?]{0,20}[A-Za-z]|<\|[^<>|\n]{1,40}\|>|<[|｜][^<>\n]{1,40}[|｜]>|</?s>|\[/?INST\]|<<?/?SYS>>?"
    r"|<(?:eos|bos|pad|unk|end_of_turn|start_of_turn|br ?/?)>"
    r"|</?(?:(?-i:b|i|u|p)|em|strong|div|span|code|pre|sub|sup|mark|h[1-6]|li|ul|ol)\b[^<>\n]{0,60}>"
    r"|</?(?!del>|strike>)[a-z][a-z_-]{2,20}>",
    re.IGNORECASE,
)
_LATEX = re.compile(
    r"\\(?:text|textbf|textit|textrm|textsf|texttt|mathbf|mathrm|mathit|mathsf|mathbb|mathcal|bf|rm|bold"
    r"|boldsymbol|bm|operatorname|displaystyle|large|Large|huge|quad|qquad|left|right"
    r"|[,;:!()\[\]])(?![a-zA-Z])"
)
_SINGLE_FORMS = {
    character: unicodedata.normalize("NFKC", chr(character))
    for block in (
        range(0xFF01, 0xFF5F),  # full width
        range(0x24B6, 0x24EA),  # circled letters
        range(0x1D400, 0x1D6A4),  # mathematical letters
        range(0x2100, 0x2140),  # letter-like symbols
    )
    for character in block
    if len(unicodedata.normalize("NFKC", chr(character))) == 1
}
_SQUARED = {start + i: chr(65 + i) for start in (0x1F110, 0x1F130, 0x1F150, 0x1F170) for i in range(26)}
_BRACKETED_SMALL = {0x249C + i: chr(97 + i) for i in range(26)}
# Cyrillic and Greek capitals that are drawn like the letters of a choice.
_LOOKALIKES = {ord(a): b for a, b in zip("АВСЕНКΑΒΕΗΚ", "ABCEHKABEHK", strict=True)}
_PLAIN = _SINGLE_FORMS | _SQUARED | _BRACKETED_SMALL
# Before a small word they are prepositions, conjunctions and articles: `В видео`, `А потом`, `Η γυναίκα`.
_LONE_LOOKALIKE = re.compile(
    r"(?<![^\W_])[АВСЕНКΑΒΕΗΚ](?![^\W_])"
    r"(?![^\S\n]+(?!(?:и|или|не|потому|так|поскольку|является|это|вер|прав|подход|και|ή|είναι"
    r"|γιατί)[^\W\d_]*)[а-яёα-ωά-ώ])"
)


@dataclass(frozen=True, slots=True)
class AnswerText:
    """text: the answer; of a very long one only its ends and where it declares an answer. pieces: (place in
    the text, place in the reply) of what was put together. open_reasoning: the reply ends within its
    reasoning."""

    text: str
    pieces: tuple[tuple[int, int], ...]
    open_reasoning: bool = False

    def place(self, position: int) -> int:
        """Where a position of the text is in the reply."""
        at, place = max(piece for piece in self.pieces if piece[0] <= max(position, 0))
        return place + position - at


def answer_text(reply: str) -> AnswerText:
    """Find the answer's own text in a reply; bounded, so that the longest reply is read as fast."""
    low = reply.lower()
    start, begin = _reasoning(reply, low)
    open_reasoning = begin is not None
    end_of_answer = begin.start() if begin is not None else len(reply)
    text, pieces = _shortened(reply, low, start, end_of_answer)
    tag = None
    for found in _ANSWER_TAG.finditer(text):
        tag = found
    if tag is not None and tag.group("text").strip():
        text = " " * tag.start("text") + tag.group("text")
    text = _own_turn(text)
    return AnswerText(_plain(text), pieces, open_reasoning)


def is_open_reasoning(reply: str) -> bool:
    """Whether a reply ends within its reasoning."""
    return _reasoning(reply, reply.lower())[1] is not None


def _reasoning(reply: str, low: str) -> tuple[int, re.Match[str] | None]:
    """Where reasoning that is over ends, and the mark of reasoning that is not."""
    if not any(word in low for word in _REASONING_WORDS):
        return 0, None
    start = 0
    for end in _REASONING_ENDS.finditer(reply):
        start = end.end()
    begin = _REASONING_BEGINS.search(reply, start)
    if start and not reply[start:].strip():
        first = _REASONING_BEGINS.search(reply)
        if first is not None and reply[: first.start()].strip():
            return 0, first
    return start, begin


def _shortened(reply: str, low: str, start: int, end: int) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The answer or, if it is long, its ends and what declares an answer between them, each on lines of its
    own; and where they come from."""
    if end - start <= _HEAD + _TAIL:
        return reply[start:end], ((0, start),)
    spans = [(start, start + _HEAD)]
    for found in _declarations(low, start + _HEAD, end - _TAIL) if len(low) == len(reply) else ():
        spans.append((max(found - _BEFORE, spans[-1][1]), min(found + _AFTER, end - _TAIL)))
    spans.append((end - _TAIL, end))
    pieces: list[tuple[int, int]] = []
    text = ""
    for first, last in spans:
        pieces.append((len(text), first))
        text += reply[first:last] + "\n"
    return text, tuple(pieces)


def _declarations(low: str, start: int, end: int) -> list[int]:
    """The last places where the middle of a long reply declares an answer, in order."""
    places = sorted({place for word in _DECLARES if (place := low.rfind(word, start, end)) >= 0})
    return places[-_WINDOWS:]


def _own_turn(text: str) -> str:
    """The first turn of the model itself that says something; what precedes any role is its own."""
    instruction = text.rfind("[/INST]") + len("[/INST]")
    if instruction >= len("[/INST]") and text[instruction:].strip():
        text = " " * instruction + text[instruction:]
    turns = list(_TURN.finditer(text))
    if not turns:
        return text
    pieces = [("assistant", 0, turns[0].start())]
    for turn, after in zip(turns, [*turns[1:], None], strict=True):
        role = (turn.group("token") or turn.group("line")).lower()
        pieces.append((role, turn.end(), after.start() if after else len(text)))
    for role, first, last in pieces:
        said = _TOKEN.sub("", text[first:last]).strip()
        if role in ("assistant", "model") and said:
            return " " * first + text[first:last]
    return ""


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _plain(text: str) -> str:
    if not text.isascii():
        text = text.translate(_PLAIN)
        text = _LONE_LOOKALIKE.sub(lambda match: _LOOKALIKES[ord(match.group())], text)
    return _LATEX.sub(_blank, _TOKEN.sub(_blank, text))
