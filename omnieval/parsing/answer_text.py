"""The part of a reply that is its answer: without reasoning, other turns, tokens and mark-up.

What is left out becomes spaces, so that every place in the text is a place in the reply.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

# A longer reply has collapsed or argues at length; its answer is at one of its ends.
_HEAD, _TAIL = 1_500, 4_500

_THINK = r"think|thinking|thought|thoughts|reasoning|reason|analysis|scratchpad|reflection"
# One of these is in every mark of reasoning, so that most replies need not be searched for the marks.
_REASONING_WORDS = ("think", "thought", "reason", "analysis", "scratchpad", "reflection", "channel")
_REASONING_ENDS = re.compile(
    rf"<(?:/(?:{_THINK})>|\|(?:(?:/think|end_of_thought|end_think)\|>|channel\|>\s*final\s*<\|message\|>))"
    rf"|\[/(?:{_THINK})\]|◁/think▷",
    re.IGNORECASE,
)
_REASONING_BEGINS = re.compile(
    rf"<(?:(?:{_THINK})>|\|(?:(?:think|begin_of_thought|begin_think)\|>|channel\|>\s*analysis\s*<\|message\|>))"
    rf"|\[(?:{_THINK})\]|◁think▷",
    re.IGNORECASE,
)
_ANSWER_TAG = re.compile(
    r"<(?P<tag>answer|final_answer|final|choice|option|result)>(?P<text>[^<]{0,2000})(?:</(?P=tag)>|$)",
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
    r"<\|[^<>|\n]{1,40}\|>|<[|｜][^<>\n]{1,40}[|｜]>|</?s>|\[/?INST\]|<<?/?SYS>>?"
    r"|<(?:eos|bos|pad|unk|end_of_turn|start_of_turn|br ?/?)>"
    r"|</?(?:b|i|u|em|strong|p|div|span|code|pre|sub|sup|mark|h[1-6]|li|ul|ol)\b[^<>\n]{0,60}>",
    re.IGNORECASE,
)
_LATEX = re.compile(
    r"\\(?:text|textbf|textit|textrm|textsf|texttt|mathbf|mathrm|mathit|mathsf|mathbb|mathcal|bf|rm|bold"
    r"|boldsymbol|bm|operatorname|displaystyle|large|Large|huge|quad|qquad|left|right|[,;:!()\[\]])(?![a-zA-Z])"
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
_LONE_LOOKALIKE = re.compile(r"(?<![^\W_])[АВСЕНКΑΒΕΗΚ](?![^\W_])")


@dataclass(frozen=True, slots=True)
class AnswerText:
    """text: the answer; of a very long one only its ends, `left_out` characters after `head` of them are
    missing. start: its place in the reply. open_reasoning: the reply ends within its reasoning. tagged: the
    text was in an answer tag."""

    text: str
    start: int
    head: int
    left_out: int = 0
    open_reasoning: bool = False
    tagged: bool = False

    def place(self, position: int) -> int:
        """Where a position of the text is in the reply."""
        return self.start + position + (self.left_out if position >= self.head else 0)


def answer_text(reply: str) -> AnswerText:
    """Find the answer's own text in a reply; bounded, so that the longest reply is read as fast."""
    start, begin = 0, None
    low = reply.lower()
    if any(word in low for word in _REASONING_WORDS):
        for end in _REASONING_ENDS.finditer(reply):
            start = end.end()
        begin = _REASONING_BEGINS.search(reply, start)
    open_reasoning = begin is not None
    end_of_answer = begin.start() if begin is not None else len(reply)
    text = reply[start:end_of_answer]
    left_out = max(0, len(text) - _HEAD - _TAIL - 1)
    if left_out:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    tag = None
    for found in _ANSWER_TAG.finditer(text):
        tag = found
    if tag is not None and tag.group("text").strip():
        text = " " * tag.start("text") + tag.group("text")
    text = _own_turn(text)
    return AnswerText(_plain(text), start, _HEAD, left_out, open_reasoning, tag is not None)


def _own_turn(text: str) -> str:
    """The first turn of the model itself that says something; what precedes any role is its own."""
    instruction = text.rfind("[/INST]") + 1
    if instruction and text[instruction:].strip("/INST] \n"):
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
