"""`careful`: the letter that a careful reader would say a reply commits to.

Reasoning, other turns and echoed option lists do not count; of several commitments the last one does;
a letter that is negated, an article, a name or merely considered is none. Where a reply commits to several
letters at once, or to none, there is no letter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from omnieval.parsing.answer_text import AnswerText, answer_text
from omnieval.parsing.mentions import NO_SUCH_OPTION, Mention, ends_clause, mentions
from omnieval.parsing.option_text import named_option
from omnieval.parsing.parsed import ParsedLetter

_WORDS = re.compile(r"[^\W_]+")
# A line that begins with a letter and a mark: an option as a list shows it, or an answer.
_LABEL_LINE = re.compile(
    r"^[^\S\n]*(?P<marks>(?:[-*>#•·+]|\d+[.)]|\[.?\])*[\s*_`(（【\[]*)(?P<letter>[A-Z])(?P<close>[)）】\]*_`]*"
    r"(?:[.:：、,)）]|[^\S\n]+[-–—][^\S\n]|(?=[^\S\n]*$)))(?P<rest>[^\n]*)$",
    re.MULTILINE,
)
_VERDICT_MARK = re.compile(r"[✓✔✅☑✗✘❌×]")
_RIGHT_AT_END = re.compile(
    r"(?:(?<![a-z])(?:correct|right|yes|true)|[✓✔✅☑]|正确|对)[\s).*!。]*$", re.IGNORECASE
)
_WRONG_AT_END = re.compile(
    r"(?:(?<![a-z])(?:incorrect|wrong|no|false|not (?:correct|right|true))|[✗✘❌×]|错误|错|不对|不正确)"
    r"[\s).*!。]*$",
    re.IGNORECASE,
)
# A last sentence that is one letter; the text is looked at from its end only.
_LAST_SENTENCE = re.compile(r"[.!?。！？:：\n][\s*_`\"'“‘(（【\[]*(?P<letter>[A-Z])[^\w]*\Z")
_LEADING = re.compile(r"[\W_]*(?:(?:option|choice|letter|选项)\s+)?[\W_]*$", re.IGNORECASE)


def careful(reply: str, options: Mapping[str, str]) -> ParsedLetter:
    """The letter that the reply commits to; see the module. options: letter -> text, may be empty."""
    answer = answer_text(reply)
    text = answer.text
    if not text.strip():
        why = "reasoning that never reaches an answer" if answer.open_reasoning else "no answer text"
        return ParsedLetter.none(why)
    whole = _whole(answer, options)
    if whole is not None:
        return whole
    echo = _echoed_list(text)
    kept = _without(text, [line.span() for line in echo])
    found = mentions(kept, options)
    inline = _echoed_inline(kept, found, options)
    if inline:
        kept = _without(kept, inline)
        found = mentions(kept, options)
    commitments = [m for m in found if m.stance == "chosen"]
    commitments += _verdicts(echo) + _standing_alone(kept, found)
    if commitments:
        last = max(commitments, key=lambda mention: mention.span)
        return _parsed(answer, last)
    named = _only_named(found)
    if named is not None:
        return _parsed(answer, named)
    by_text = named_option(kept, options)
    if by_text is not None:
        letter, span = by_text
        return ParsedLetter(letter, _placed(answer, span), "the text of an option")
    if len({m.letters for m in found if m.stance in ("named", "supposed")}) > 1:
        return ParsedLetter.none("several letters, none of them chosen")
    return ParsedLetter.none("lists the options only" if echo else "commits to no letter")


def _parsed(answer: AnswerText, mention: Mention) -> ParsedLetter:
    if len(mention.letters) > 1:
        return ParsedLetter.none("several letters at once")
    return ParsedLetter(mention.letters[0], _placed(answer, mention.span), mention.reason)


def _placed(answer: AnswerText, span: tuple[int, int] | None) -> tuple[int, int] | None:
    return None if span is None else (answer.place(span[0]), answer.place(span[1] - 1) + 1)


def _whole(answer: AnswerText, options: Mapping[str, str]) -> ParsedLetter | None:
    """A reply that is nothing but one letter, once or again and again, or the text of one option."""
    words = [match for _, match in zip(range(200), _WORDS.finditer(answer.text), strict=False)]
    if not words:
        return ParsedLetter.none("no word in it")
    first = words[0].group().upper()
    if all(len(word.group()) == 1 and word.group().upper() == first for word in words):
        known = first in options if options else first in "ABCDEFGHJ"
        if known or first in "ABCDEFGH":
            return ParsedLetter(first, _placed(answer, words[0].span()), "nothing but the letter")
    if len(words) == 1 and len(set(first)) == 1 and len(first) > 2:
        return ParsedLetter.none("one character again and again")
    by_text = named_option(answer.text, options, whole=True)
    if by_text is not None:
        return ParsedLetter(by_text[0], _placed(answer, by_text[1]), "the text of an option")
    lone = len(words) > 1 and all(len(word.group()) == 1 and word.group().isupper() for word in words)
    if lone and "?" not in answer.text and not _VERDICT_MARK.search(answer.text):
        return ParsedLetter.none("several letters at once")
    return None


def _echoed_list(text: str) -> list[re.Match[str]]:
    """Lines that repeat the list of options: at least two labels that follow each other in the alphabet."""
    lines = list(_LABEL_LINE.finditer(text))
    echo: list[re.Match[str]] = []
    for line, after in zip(lines, [*lines[1:], None], strict=False):
        joined = bool(echo) and echo[-1] is not None and _follows(echo[-1], line)
        if joined or (after is not None and _follows(line, after)):
            echo.append(line)
    return echo


def _echoed_inline(text: str, found: list[Mention], options: Mapping[str, str]) -> list[tuple[int, int]]:
    """Where the text repeats all options, or all but one, each with its own letter, within a paragraph."""
    places: dict[str, tuple[int, int]] = {}
    for mention in found:
        option = options.get(mention.letters[0], "").strip(" .。")
        follows = re.match(r"[\W_]*", text[mention.end :])
        start = mention.end + (follows.end() if follows else 0)
        if (
            option
            and mention.stance == "named"
            and text[start : start + len(option)].lower() == option.lower()
        ):
            places.setdefault(mention.letters[0], (mention.span[0], start + len(option)))
    return list(places.values()) if len(places) >= max(2, len(options) - 1) else []


def _follows(line: re.Match[str], after: re.Match[str]) -> bool:
    near = after.start() - line.end() <= 3
    return near and ord(after.group("letter")) == ord(line.group("letter")) + 1


def _verdicts(echo: list[re.Match[str]]) -> list[Mention]:
    """What a list says of its options: one called right, or one that alone is highlighted."""
    right = [line for line in echo if _RIGHT_AT_END.search(line.group("rest")) and not _is_wrong(line)]
    if len(right) == 1 and any(_is_wrong(line) for line in echo):
        return [_listed(right[0], "called right in the list")]
    marked = [line for line in echo if set("*_`#>✓✔✅☑") & set(line.group("marks")) - set(" ")]
    marked = [line for line in marked if line.group("marks").strip() not in ("-", "*", "•", "+")]
    if len(marked) == 1 and len(echo) > 1:
        return [_listed(marked[0], "highlighted in the list")]
    return []


def _is_wrong(line: re.Match[str]) -> bool:
    return _WRONG_AT_END.search(line.group("rest")) is not None


def _listed(line: re.Match[str], reason: str) -> Mention:
    return Mention((line.group("letter"),), line.span("letter"), line.end("letter"), "chosen", reason, True)


def _standing_alone(text: str, found: list[Mention]) -> list[Mention]:
    """The letter that the text begins with, and the one that is its last line."""
    alone: list[Mention] = []
    usable = [m for m in found if m.stance in ("named", "chosen") or m.reason == NO_SUCH_OPTION]
    if usable and _LEADING.match(text[: usable[0].span[0]]) and _opens(text, usable[0]):
        alone.append(_chosen(usable[0], "leading letter"))
    ending = max(0, len(text.rstrip()) - 30)
    last_word = _LAST_SENTENCE.search(text[ending:].rstrip())
    if last_word is not None:
        start = ending + last_word.start("letter")
        at = [m for m in usable if m.span[0] == start]
        alone += [_chosen(m, "last word") for m in at]
    last_line = text.rstrip().rpartition("\n")[0]
    begin = len(last_line) + 1 if last_line else 0
    label = _LABEL_LINE.match(text.rstrip()[begin:]) if begin else None
    if label is not None:
        start = begin + label.start("letter")
        at = [m for m in usable if m.span[0] == start and m.stance == "named"]
        alone += [_chosen(m, "last line") for m in at]
    return alone


def _opens(text: str, mention: Mention) -> bool:
    """Whether a letter at the beginning is an answer rather than the subject of a sentence."""
    if mention.stance == "chosen" or len(mention.letters) > 1:
        return mention.ends_clause
    after = text[mention.end :]
    if re.match(r"[^\S\n]+(?:is|was|seems|in|and|or|vs)\b", after):
        return False
    return ends_clause(text, mention.end) or not re.match(r"[^\S\n]+[a-z]", after)


def _chosen(mention: Mention, reason: str) -> Mention:
    return Mention(mention.letters, mention.span, mention.end, "chosen", reason, True)


def _only_named(found: list[Mention]) -> Mention | None:
    """The one letter that is named and not rejected, where the words around it let it be an answer."""
    rejected = {letter for m in found if m.stance == "rejected" for letter in m.letters}
    open_ = [m for m in found if m.stance in ("named", "supposed") and not set(m.letters) <= rejected]
    if len({m.letters for m in open_}) != 1:
        return None
    placed = [m for m in open_ if m.stance == "named" and m.ends_clause]
    return placed[-1] if placed else None


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in sorted(spans):
        pieces += [text[done:start], " " * (end - max(start, done))]
        done = max(done, end)
    return "".join([*pieces, text[done:]])
