"""Letters that a text mentions, in order, each with what the text says of it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from omnieval.parsing.context import Context, Sentences
from omnieval.parsing.letters import ends_clause, groups, lowered
from omnieval.parsing.stance import Judgement, Stance, judge
from omnieval.parsing.words import ADVERB, GLUE, LINK, OPTION

NO_SUCH_OPTION = "no such option"
# Before a letter that is its clause's whole content: `probably option`, `the`; or nothing at all.
_BARE_BEFORE = re.compile(rf"(?>(?:{GLUE}|{ADVERB}|{OPTION}|{LINK}|[?？!！;；、]|\d+[.)%:\s])*)\Z")
# A label that grades the answer and gives none: `Confidence: A`.
_GRADE = re.compile(
    r"(?:confidence|difficulty|grade|rating|score|level|section|category|class|certainty|quality"
    r"|question\s+type|type"
    r"|runner|2nd|3rd|4th|third|second[ -](?:best|choice|guess|answer|option|most)|alternative|mark|group"
    r"|team|speaker|置信度"
    r"|难度|评级|等级|确信度)[^:：]{0,20}[:：]\W*\Z",
)
_OPENING = ("(", "（", "[", "【", "「", "『")
# What may follow a letter in a script without spaces, if the letter is to be an answer.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_UNSPACED_AFTER = re.compile(
    r"(?:选项|選項|选择肢|選択肢|项|項|番|번|是因为|因为|因為|而|不|且|所以|更|最|也可能|也许|吧|了|呢|啊|哦"
    r"|啦|嘛|哈|喔|呀|无疑"
    r"|です|だ|で|ね|よ|입|예|이에|라|로|을|를)"
)


@dataclass(frozen=True, slots=True)
class Mention:
    """letters: one, or several that are named in one breath (`A or B`). span: of the first letter.

    weight: of a choice, see `stance`. ends_clause: no further word of its phrase follows. bare: it is all
    that its clause says.
    """

    letters: tuple[str, ...]
    span: tuple[int, int]
    end: int
    stance: Stance
    reason: str
    weight: int = 0
    ends_clause: bool = False
    bare: bool = False

    def chosen(self, reason: str, weight: int) -> Mention:
        """The same, but a choice."""
        return replace(self, stance="chosen", reason=reason, weight=weight)


def mentions(text: str, options: Collection[str]) -> list[Mention]:
    """All mentions of letters in a text, in order. options: the letters that there are; may be empty."""
    low = lowered(text)
    sentences = Sentences(low)
    found: list[Mention] = []
    for group in groups(text, low, options):
        floor = found[-1].end if found and found[-1].reason in ("called right", "called wrong") else 0
        found.append(_mention(text, low, group, options, sentences, floor))
    return found


def _mention(
    text: str,
    low: str,
    group: list[re.Match[str]],
    options: Collection[str],
    sentences: Sentences,
    floor: int,
) -> Mention:
    letters = tuple(dict.fromkeys(match.group().upper() for match in group))
    start, end = group[0].start(), group[-1].end()
    clause_ends = ends_clause(text, end) and _spaced_off(text, end)
    context = Context.of(low, start, end, sentences.around(start), floor, clause_ends)
    found = judge(context)
    if found.stance == "named" and options and not set(letters) <= set(options):
        found = Judgement("supposed", NO_SUCH_OPTION)
    return Mention(
        letters, group[0].span(), end, found.stance, found.reason, found.weight, clause_ends, _bare(context)
    )


def _spaced_off(text: str, end: int) -> bool:
    """Whether a letter is not the first character of a longer word such as a name: `C罗`."""
    return not _UNSPACED.match(text, end) or _UNSPACED_AFTER.match(text, end) is not None


def _bare(context: Context) -> bool:
    if _GRADE.search(context.before):
        return False
    before = context.clause
    before = before[max(before.rfind(":"), before.rfind("：")) + 1 :]
    return before.rstrip().endswith(_OPENING) or _BARE_BEFORE.fullmatch(before) is not None
