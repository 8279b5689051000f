"""Every reference's rule returns what the reference returns, for every reply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.parsing import RULES, ParsedLetter, parse_letter
from omnieval.parsing.daily_omni_upstream import daily_omni_upstream
from omnieval.parsing.lmms_eval import lmms_eval
from omnieval.parsing.omnievalkit import omnievalkit
from omnieval.parsing.parsed import Rule
from omnieval.parsing.video_mme import videomme_official
from omnieval.parsing.vlmevalkit import vlmevalkit

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "answer_letter.json").read_text())[
    "cases"
]
# Name of the rule -> the rule, and the column of what its reference returned.
REFERENCES: dict[str, tuple[Rule, str]] = {
    "daily-omni-upstream": (daily_omni_upstream, "daily_omni_upstream_script"),
    "videomme-official": (videomme_official, "videomme_official"),
    "lmms-eval": (lmms_eval, "lmms_eval_mcq"),
    "omnievalkit": (omnievalkit, "omnievalkit_rules"),
    "vlmevalkit": (vlmevalkit, "vlmevalkit_can_infer"),
}
RULE = pytest.mark.parametrize("rule", [rule for rule, _ in REFERENCES.values()], ids=list(REFERENCES))
OPTIONS = {"A": "A red bicycle", "B": "A window", "C": "Two dogs are barking", "D": "Nothing changes"}
TEN = {letter: f"Choice number {i}" for i, letter in enumerate("ABCDEFGHIJ")}


def check_place(parsed: ParsedLetter, reply: str, options: dict[str, str]) -> None:
    """The place holds the letter or, where the option's text decided, that text."""
    assert parsed.reason
    if parsed.span is None:
        return
    assert parsed.letter is not None
    start, end = parsed.span
    assert 0 <= start < end <= len(reply)
    said = " ".join(reply[start:end].casefold().split())
    if parsed.reason == "the text of an option":
        assert said == " ".join(options[parsed.letter].casefold().split())
    else:
        assert end - start == 1
        assert parsed.letter.casefold() in said


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_it_equals_the_reference_in_every_case(case: dict[str, Any], name: str) -> None:
    rule, column = REFERENCES[name]
    parsed = rule(case["reply"], case["options"])
    assert parsed.letter == case["refs"][column]
    assert (parsed.span is None) == (parsed.letter is None)
    check_place(parsed, case["reply"], case["options"])


def test_there_are_many_cases_and_every_rule_has_its_name() -> None:
    assert len(CASES) > 100
    assert {name: RULES[name] for name in REFERENCES} == {
        name: rule for name, (rule, _) in REFERENCES.items()
    }


PIECES = [
    *"ABCDIZad", *" \n\x1c\u3000", *".:()[]（）", "**", "the answer is ", "The answer is", "The answer", "answer is",
    "Answer:", "Best answer:Best option:", "is ", ": ", "option ", "would choose ", " is correct", "i pick ",
    "答案是", "选", "是正确", "정답은", "\\boxed{", "assistant\n", "Two dogs are barking", "two  dogs are\nBARKING",
    "Cannot determine the answer", *"İẚßſΣ", "\ud800",
]  # fmt: skip
REPLIES = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
SETS_OF_OPTIONS = st.one_of(
    st.sampled_from([OPTIONS, TEN, {}]),
    st.dictionaries(st.sampled_from("ABCDEFGHIJ"), st.one_of(st.text(), st.sampled_from(PIECES))),
)


@RULE
@given(reply=REPLIES, options=SETS_OF_OPTIONS)
def test_it_never_raises_and_says_the_same_again(rule: Rule, reply: str, options: dict[str, str]) -> None:
    before = dict(options)
    parsed = rule(reply, options)
    assert parsed == rule(reply, options)
    assert options == before
    assert parsed.letter is None or parsed.letter in (options or "ABCDEFGH") or parsed.letter in "ABCD"
    check_place(parsed, reply, options)


LONG = 100_000
HARD = {
    "spaces": " " * LONG,
    "one letter": "A" * LONG,
    "letters apart": "A " * (LONG // 2),
    "brackets": "(" * LONG,
    "stars": "answer is " + "*" * LONG,
    "gaps": "correct " + " " * LONG + "answer",
    "phrases without letters": "the answer is option z would choose z is correct: z " * (LONG // 52),
    "prefixes": "The answer " * (LONG // 11),
    "prose": "Let me look at the video; a man walks, dogs bark, then a window opens. " * (LONG // 71),
    "Chinese": "答案应该是不确定的，选项" * (LONG // 12),
    "at the end": "x " * (LONG // 2) + "\\text{d}",
}


@RULE
@pytest.mark.parametrize("reply", HARD.values(), ids=list(HARD))
@pytest.mark.timeout(20)  # a rule whose cost grows with the square of the length would need minutes
def test_a_long_reply_is_read(rule: Rule, reply: str) -> None:
    check_place(rule(reply, TEN), reply, TEN)


# Outside the vectors; each was compared with the reference's source.
@pytest.mark.parametrize(
    ("rule", "reply", "letter"),
    [
        ("daily-omni-upstream", "b", "B"),
        ("daily-omni-upstream", "the assistant says\n d", None),
        ("daily-omni-upstream", "user: which?\nassistant\n d", "D"),
        ("daily-omni-upstream", "assistantassistant c", "A"),  # what follows the first one begins with a
        ("daily-omni-upstream", "Assistant: b", "A"),  # a capital: not the marker
        ("daily-omni-upstream", "B, says the assistant", None),
        ("videomme-official", "The answer is that a dog barks", None),
        ("videomme-official", "The best answer is Dogs", "D"),
        ("videomme-official", "Answer: c, not D", "D"),
        ("videomme-official", "Best answer: C", "B"),  # two prefixes run together, since a comma is missing
        ("videomme-official", "Best answer:Best option: C", "C"),
        ("videomme-official", "AnswerThe answer: D", "D"),  # the one inside goes first and leaves the other
        ("lmms-eval", "it is (B), not (C)", "C"),
        ("lmms-eval", "I pick B but C", "C"),
        ("lmms-eval", "b", None),
        ("lmms-eval", '"B," he said, "not C"', "B"),  # the start outranks the end
        ("lmms-eval", "correct answer is A. Then the answer is B? No: C is wrong there", "C"),
        ("lmms-eval", "her answer is A, the answer is a Dog and C here", "C"),
        ("lmms-eval", "The C and the answer is D here", "D"),  # a phrase outranks a letter before a space
        ("omnievalkit", "the sound is clear", "C"),
        ("omnievalkit", "[c]", "C"),
        ("omnievalkit", "it's D", None),
        ("omnievalkit", "is C; the answer is D", "D"),  # by the order of templates, not by place
        ("omnievalkit", "the answer is D, the answer is B", "B"),  # by the order of letters
        ("omnievalkit", "The   answer\nis\tC", "C"),
        ("omnievalkit", "x c", "C"),
        ("omnievalkit", "so two dogs  are barking", "C"),
        ("omnievalkit", "two dogs are barking while a man and a woman talk", None),
        ("vlmevalkit", "B was said by one and only one person there", None),
        ("vlmevalkit", "Cannot determine the answer B", None),
        ("vlmevalkit", "Failed to obtain answer via API; Cannot determine the answer; nothing changes", "D"),
        ("vlmevalkit", "Nothing changes at all", "D"),
        ("vlmevalkit", "I would say B because it opens", "B"),
        ("vlmevalkit", "I would say B because it all opens", None),
        ("vlmevalkit", "B, since I see it all, B", None),  # the first place counts
        ("vlmevalkit", "the answer is a dog", "A"),
        ("vlmevalkit", "the answer is **b** and not c or anything", "B"),
        ("vlmevalkit", "Z, although nothing changes", None),  # Z stands for none
        ("vlmevalkit", "A or B, nothing changes", "D"),
    ],
)
def test_their_known_ways(rule: str, reply: str, letter: str | None) -> None:
    assert parse_letter(reply, rule=rule, options=OPTIONS).letter == letter


@pytest.mark.parametrize(
    ("rule", "reply", "said"),
    [
        (daily_omni_upstream, "user\nWhich?\nassistant\n d", "d"),
        (videomme_official, "Answer: The answer is D", "D"),
        (lmms_eval, "  (B), not (C) here", "C"),
        (omnievalkit, "İ A man, so  the answer\nis   A", "A"),
        (omnievalkit, "İ:  Two dogs\n are BARKING", "Two dogs\n are BARKING"),
        (vlmevalkit, "İB and (B)", "B"),
        (vlmevalkit, "İ: two dogs are BARKING", "two dogs are BARKING"),
    ],
)
def test_the_place_is_the_one_that_decided(rule: Rule, reply: str, said: str) -> None:
    span = rule(reply, OPTIONS).span
    assert span is not None
    assert span == (reply.rindex(said), reply.rindex(said) + len(said))
