"""CPU of scoring a run: every reply by every parser, health flags, and all reports. Run as a script.

    python -m tests.bench.score

By kind of reply, then 100 000 questions of all kinds; each question has options of its own. Every run is scored
by a process of its own, whose start is no part of what is said for one reply.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from omnieval.runlog import PlannedSample, RunWriter
from omnieval.types import Response
from tests.bench.compare import COUNT, measured, planned
from tests.runs import information

FEW = 10_000
WORDS = ("bell", "man", "coat", "door", "dog", "garden", "rain", "song", "car", "window")

KINDS: dict[str, Callable[[int], str]] = {
    "a letter": lambda i: "ABCD"[i % 4],
    "a sentence": lambda i: f"The {WORDS[i % len(WORDS)]} is heard first. Answer: {'ABCD'[i % 4]}",
    "reasons of 100 words": lambda i: (
        f"{' '.join(WORDS[(i + j * j) % len(WORDS)] for j in range(90))}. So option {'ABCD'[i % 4]} fits best."
    ),
    "Chinese": lambda i: f"首先听到的是钟声，因此正确答案是{'ABCD'[i % 4]}。",
}


def write_run(folder: Path, count: int, replies: list[Callable[[int], str]]) -> None:
    rows = [_own_options(row) for row, _ in zip(planned(), range(count), strict=False)]
    info = information(count, "f") | {"group_keys": ["type", "category", "duration"]}
    with RunWriter.begin(folder, info, rows) as writer:
        for i, row in enumerate(rows):
            writer.add_response(Response(row.sample.id, text=replies[i % len(replies)](i)))


def _own_options(row: PlannedSample) -> PlannedSample:
    i = row.sample.row
    options = tuple(
        f"{letter}. {WORDS[(i + j) % len(WORDS)]} number {i + j}" for j, letter in enumerate("ABCD")
    )
    return replace(row, sample=replace(row.sample, options=options))


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_run(folder / "start", 1, [KINDS["a letter"]])
        start_s = measured("1 question, which is the start", "score", str(folder / "start"))
        for number, (kind, reply) in enumerate(KINDS.items()):
            run = folder / str(number)
            write_run(run, FEW, [reply])
            cpu_s = measured(f"{FEW} replies of {kind}", "score", str(run))
            print(f"  {1e6 * (cpu_s - start_s) / FEW:.0f} microseconds a reply")
        write_run(folder / "all", COUNT, list(KINDS.values()))
        measured(f"{COUNT} replies of all kinds", "score", str(folder / "all"))


if __name__ == "__main__":
    main()
