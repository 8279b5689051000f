"""CPU to read an answer letter, by parser. Run as a script.

    python -m tests.bench.parsing

For each parser: the worst of many replies of 100 000 characters, and how many short replies a second.
"""

from __future__ import annotations

import time

from omnieval.parsing import RULES, parse_letter

OPTIONS = {"A": "A red bicycle", "B": "The man opens the window", "C": "Two dogs are barking", "D": "Nothing"}
LENGTH = 100_000
PATTERNS = (
    "a", "A ", "A\n", "B. ", "A. x\nB. y\n", "answer is ", "answer is A ", "the answer is not A or B, ", " ",
    "\n", "(", "**", "<think>", "</think>", "<|", "<answer>", "assistant\n", "?", "答案", "选A不选B", "is ",
    "\\text{", '"answer": "A", ', "-", "ＡＢ ", "correct ", ":", "so ", "not ", "(b) ", "\nuser ",
    "user: a\nassistant: b\n", "A or B, and the answer would be C, because D. ", "is a ", "İ", "Answer:",
)  # fmt: skip
SHORT = ("B", "The answer is C.", "**Answer:** (D) Nothing", "A man walks in, so C", "I cannot tell.")


def cpu_s(reply: str, rule: str) -> float:
    """The least of three rounds, since only the rule's own cost is of interest."""
    rounds = []
    for _ in range(3):
        began = time.process_time()
        parse_letter(reply, rule=rule, options=OPTIONS)
        rounds.append(time.process_time() - began)
    return min(rounds)


def main() -> None:
    for rule in RULES:
        worst_s, pattern = max((cpu_s((p * LENGTH)[:LENGTH], rule), p) for p in PATTERNS)
        began = time.process_time()
        for number in range(10_000):
            parse_letter(SHORT[number % len(SHORT)], rule=rule, options=OPTIONS)
        a_second = 10_000 / (time.process_time() - began)
        print(f"{rule}: 100 000 characters in at most {1000 * worst_s:.1f} ms ({pattern!r} again and again), "
              f"{a_second:,.0f} short replies a second")  # fmt: skip


if __name__ == "__main__":
    main()
