"""`careful`: the letter that a careful reader would say a reply commits to.

Reasoning, other turns and echoed option lists do not count; of several commitments the last one does;
a letter that is negated, an article, a name or merely considered is none. Where a reply commits to several
letters at once, takes its answer back, or commits to none, there is no letter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from omnieval.parsing.answer_text import AnswerText, answer_text
from omnieval.parsing.layouts import LABEL_LINE, boxes, echoed, graded, other_fields, struck_out
from omnieval.parsing.mentions import NO_SUCH_OPTION, Mention, mentions
from omnieval.parsing.option_text import named_option
from omnieval.parsing.parsed import ParsedLetter
from omnieval.parsing.stance import CHOICE, HEDGED, HINT
from omnieval.parsing.withdrawals import is_contradicted, is_revised, withdrawals

_WORDS = re.compile(r"[^\W_]+")
_VERDICT_MARK = re.compile(r"[✓✔✅☑✗✘❌×√]")
_ANSWER_AS_A = re.compile(
    r"\s*(?:A\s?[:：]|(?i:type|enter|write|tick|press)\s)\s*\(?(?P<letter>[A-J])[).\s]*\Z"
)
# A last sentence that is one letter; the text is looked at from its end only.
_LAST_SENTENCE = re.compile(r"[.!?。！？:：\n][\s*_`\"'“‘(（【\[]*(?P<letter>[A-Z])[^\w]*\Z")
_LEADING = re.compile(
    r"[\W_]*+(?:(?:option|choice|letter|选项|opción|option|вариант)\s+)?[\W_]*+\Z", re.IGNORECASE
)
# What makes a letter the subject of a sentence, in scripts without spaces.
_PARTICLE = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af](?<!选)(?<!選)(?<!项)(?<!項)(?<!で)(?<!だ)(?<!입)(?<!번)(?<!예)(?<!因)(?<!吧)"
)
# A question that a model asks itself after its answer, and then answers too.
_NEXT_QUESTION = re.compile(
    r"\n[\s#*>-]*(?:(?:next|new|another|follow-?up)\s+)?(?:question|q|problem|问题|問題|题目|質問|問|질문"
    r"|문제|pregunta"
    r"|frage|вопрос|pergunta|domanda)"
    r"\s*\d*\s*[*#]*\s*(?:[:：.]|\n)",
    re.IGNORECASE,
)


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
    question = _NEXT_QUESTION.search(text)
    if question is not None and text[: question.start()].strip():
        first = _read(answer, text[: question.start()], options)
        if first.letter is not None:
            return first
    return _read(answer, text, options)


def _read(answer: AnswerText, text: str, options: Mapping[str, str]) -> ParsedLetter:
    kept = _without(text, struck_out(text) + other_fields(text))
    layouts = []
    for layout in (boxes(kept), graded(kept, options), echoed(kept)):
        layouts.append(layout)
        kept = _without(kept, list(layout.spans))
    found = mentions(kept, options)
    inline = _echoed_inline(kept, found, options)
    if inline:
        kept = _without(kept, inline)
        found = mentions(kept, options)
    found = _standing_alone(kept, found)
    listed = [choice for layout in layouts for choice in layout.choices]
    last, taken_back = _last_commitment(kept, found, listed)
    last = last or _left_over(found, options)
    if last is not None:
        if last.reason == HEDGED and len({m.letters for m in found if m.reason == HEDGED}) > 1:
            return ParsedLetter.none("several letters, none of them chosen")
        return _parsed(answer, last)
    named = _only_named(found, taken_back)
    if named is not None:
        return _parsed(answer, named)
    if not taken_back and not any(m.reason == "described" for m in found):
        by_text = named_option(kept, options)
        if by_text is not None:
            letter, span = by_text
            return ParsedLetter(letter, _placed(answer, span), "the text of an option")
    if taken_back:
        return ParsedLetter.none("takes its answer back")
    if len({m.letters for m in found if m.stance in ("named", "supposed")}) > 1:
        return ParsedLetter.none("several letters, none of them chosen")
    return ParsedLetter.none("lists the options only" if layouts[-1].spans else "commits to no letter")


def _parsed(answer: AnswerText, mention: Mention) -> ParsedLetter:
    if len(mention.letters) > 1:
        return ParsedLetter.none("several letters at once")
    return ParsedLetter(mention.letters[0], _placed(answer, mention.span), mention.reason)


def _placed(answer: AnswerText, span: tuple[int, int] | None) -> tuple[int, int] | None:
    return None if span is None else (answer.place(span[0]), answer.place(span[1] - 1) + 1)


def _labelled(answer: AnswerText) -> ParsedLetter | None:
    """`A: B`, where A stands for the answer; or an order to answer, `Type B`."""
    found = _ANSWER_AS_A.match(answer.text)
    if found is None:
        return None
    return ParsedLetter(
        found.group("letter"), _placed(answer, found.span("letter")), "declared as the answer"
    )


def _whole(answer: AnswerText, options: Mapping[str, str]) -> ParsedLetter | None:
    """A reply that is nothing but one letter, once or again and again, or the text of one option."""
    words = [match for _, match in zip(range(200), _WORDS.finditer(answer.text), strict=False)]
    if not words:
        return ParsedLetter.none("no word in it")
    first = words[0].group().upper()
    if all(len(word.group()) == 1 and word.group().upper() == first for word in words):
        known = first in options if options else first in "ABCDEFGHJ"
        struck = bool(struck_out(answer.text)) or bool(_VERDICT_MARK.search(answer.text, 0, words[0].start()))
        if (known or first in "ABCDEFGH") and not struck:
            return ParsedLetter(first, _placed(answer, words[0].span()), "nothing but the letter")
    if len(words) == 1 and len(set(first)) == 1 and len(first) > 2:
        return ParsedLetter.none("one character again and again")
    by_text = named_option(answer.text, options, whole=True)
    if by_text is not None:
        return ParsedLetter(by_text[0], _placed(answer, by_text[1]), "the text of an option")
    labelled = _labelled(answer)
    if labelled is not None:
        return labelled
    lone = len(words) > 1 and all(len(word.group()) == 1 and word.group().isupper() for word in words)
    if lone and not re.search(r"[?~\[(○●☐☑◯◉<]", answer.text) and not _VERDICT_MARK.search(answer.text):
        return ParsedLetter.none("several letters at once")
    return None


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


def _last_commitment(
    text: str, found: list[Mention], listed: list[Mention]
) -> tuple[Mention | None, frozenset[str]]:
    """The choice that stands at the end, and the letters that were chosen and then taken back.

    A later choice replaces an earlier one, unless it is but a hint beside more than that.
    """
    current: Mention | None = None
    taken_back: set[str] = set()
    back = withdrawals(text)
    events = sorted([*found, *listed], key=lambda mention: mention.span)
    for number, mention in enumerate(events):
        before = events[number - 1].end if number else 0
        if current is not None and any(before <= place < mention.span[0] for place in back):
            taken_back |= set(current.letters)
            current = None
        if mention.stance == "chosen":
            stronger = current is not None and current.weight > HINT and mention.weight <= HINT
            if not stronger or is_revised(text[before : mention.span[0]]):
                current = mention
        elif current is not None and mention.letters == current.letters and _is_called_off(text, mention):
            taken_back |= set(current.letters)
            current = None
        elif (
            mention.stance == "named"
            and mention.bare
            and before
            and is_revised(text[before : mention.span[0]])
        ):
            current = mention.chosen("corrected", CHOICE)
    if events and any(place >= events[-1].end for place in back):
        taken_back |= {letter for m in events if m.stance in ("chosen", "named") for letter in m.letters}
        current = None
    return current, frozenset(taken_back)


def _is_called_off(text: str, mention: Mention) -> bool:
    before = text[max(0, mention.span[0] - 40) : mention.span[0]]
    return mention.reason == "called wrong" and is_contradicted(before)


def _standing_alone(text: str, found: list[Mention]) -> list[Mention]:
    """The mentions, with the letter that the text begins with and the one that it ends with as choices."""
    usable = [m for m in found if m.stance == "named" or m.reason == NO_SUCH_OPTION]
    reasons: dict[int, str] = {}
    if found and _LEADING.match(text[: found[0].span[0]]) and _opens(text, found[0]):
        reasons[found[0].span[0]] = "leading letter"
    ending = max(0, len(text.rstrip()) - 30)
    last_word = _LAST_SENTENCE.search(text[ending:].rstrip())
    if last_word is not None:
        reasons[ending + last_word.start("letter")] = "last word"
    begin = text.rstrip().rfind("\n") + 1
    label = LABEL_LINE.match(text.rstrip()[begin:]) if begin else None
    if label is not None:
        reasons[begin + label.start("letter")] = "last line"
    return [
        m.chosen(reasons[m.span[0]], CHOICE)
        if m in usable and m.span[0] in reasons and (m.bare or reasons[m.span[0]] == "leading letter")
        else m
        for m in found
    ]


def _opens(text: str, mention: Mention) -> bool:
    """Whether a letter at the beginning is an answer rather than the subject of a sentence."""
    if mention.stance == "chosen" or len(mention.letters) > 1:
        return mention.ends_clause
    after = text[mention.end :]
    if re.match(r"[^\S\n]+(?:is|was|seems|in|and|or|vs)\b", after):
        return False
    if _PARTICLE.match(after):
        return False
    return mention.ends_clause or not re.match(r"[^\S\n]+[a-zà-ÿа-яα-ω\u0590-\u06ff\u0900-\u0dff]|\w", after)


def _left_over(found: list[Mention], options: Mapping[str, str]) -> Mention | None:
    """The one letter that is not rejected, where all others are and it is named."""
    rejected = {letter for m in found if m.stance == "rejected" for letter in m.letters}
    left = set(options) - rejected
    if len(left) != 1 or len(options) < 3:
        return None
    named = [m for m in found if m.stance == "named" and set(m.letters) == left]
    return named[-1] if named else None


def _only_named(found: list[Mention], taken_back: frozenset[str]) -> Mention | None:
    """The one letter that is named and not rejected, where the words around it let it be an answer."""
    rejected = {letter for m in found if m.stance == "rejected" for letter in m.letters} | taken_back
    open_ = [m for m in found if m.stance in ("named", "supposed") and not set(m.letters) <= rejected]
    if len({m.letters for m in open_}) != 1:
        return None
    placed = [m for m in open_ if m.stance == "named" and m.ends_clause and m.bare]
    return placed[-1] if placed else None


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in sorted(spans):
        pieces += [text[done:start], " " * (end - max(start, done))]
        done = max(done, end)
    return "".join([*pieces, text[done:]])
