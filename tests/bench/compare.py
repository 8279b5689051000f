"""Time and memory of comparing two runs of 100 000 questions, and of a gate over them. Run as a script.

    python -m tests.bench.compare

Each comparison runs in a process of its own; the runs are written before, and are no part of the time.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from omnieval.parsing import RULES
from omnieval.report.latency import answered_latency
from omnieval.report.stored import read_report
from omnieval.runlog import PlannedSample, Run, RunWriter
from omnieval.runlog.files import replace_file, replace_json
from omnieval.runlog.schema import to_line
from omnieval.runlog.store import SCORES
from omnieval.types import Response, Sample, Score, Timing
from tests.runs import choice_run, information, speech_run

COUNT = 100_000
OPTIONS = tuple(
    f"{letter}. a sentence of some words that says what may be seen or heard" for letter in "ABCD"
)


def planned() -> Iterator[PlannedSample]:
    for i in range(COUNT):
        groups = {
            "type": f"type {i % 6}",
            "category": f"category {i % 30}",
            "duration": f"{30 + i % 2 * 30}s",
        }
        question = "What is heard at the moment when somebody opens the door to the garden, and who sees it?"
        yield PlannedSample(
            Sample(f"video{i // 3:06}-{i:08x}", "daily-omni", question, OPTIONS, "A", groups, f"video{i // 3:06}",
                   {"video": Path(f"/data/Videos/video{i // 3:06}/video{i // 3:06}_video.mp4")}, i), True
        )  # fmt: skip


def write_choice_run(folder: Path, seed: int) -> None:
    """Scores as scoring writes them; the report is that of a small run, with this one's counts left out."""
    random = np.random.default_rng(seed)
    small = choice_run(folder.with_name(f"{folder.name}-small"), ["correct", "wrong"] * 10)
    samples = list(planned())
    info = information(COUNT, "f") | {"group_keys": ["type", "category", "duration"]}
    with RunWriter.begin(folder, info, samples) as writer:
        for item in samples[:10]:
            writer.add_response(Response(item.sample.id, text="A", timing=Timing(ttft_s=0.3, e2e_s=1.0)))
    letters = random.choice(list("AABCD"), COUNT)

    def lines() -> Iterator[bytes]:
        for item, letter in zip(samples, letters, strict=True):
            right = bool(letter == "A")
            yield to_line(
                Score(item.sample.id, "correct" if right else "wrong", answer=str(letter), rule="daily-omni-official",
                      metrics={"accuracy": float(right)}, readings=dict.fromkeys(RULES, str(letter)),
                      details={"span": [0, 1], "reason": "the reply is a letter"})
            )  # fmt: skip

    replace_file(folder / SCORES, lines())
    report = small.report() | {"latency": {}}
    replace_json(folder / "report.json", report)
    assert read_report(Run.load(folder))
    assert answered_latency([]) == {}


def measured(name: str, *arguments: str) -> float:
    """Run the command in a process of its own and print what it took; the seconds of CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", PEAK, *arguments], check=True, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    print(f"{name}: {time.perf_counter() - began:.1f} s, {cpu_s:.1f} s of CPU", flush=True)
    return cpu_s


PEAK = """
import atexit, sys
from pathlib import Path
def show():
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    sys.stderr.write(f"peak memory {int(status['VmHWM'].split()[0]) // 1024} MB\\n")
atexit.register(show)
from omnieval.cli import main
main()
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed, run in enumerate(("a", "b")):
            write_choice_run(folder / run, seed)
            random = np.random.default_rng(seed)
            found = [{"wer": float(w), "sim[wavlm-sv]": 0.7} for w in random.gamma(1, 0.02, COUNT)]
            speech_run(folder / f"speech-{run}", found, per_speaker=2)
        pair = (str(folder / "a"), str(folder / "b"))
        measured("100 000 questions, 3 groups", "compare", *pair)
        measured("the same with --out", "compare", *pair, "--out", str(folder / "out"))
        measured("the same, read by another parser", "compare", *pair, "--parser", "careful")
        gate = folder / "gate.yaml"
        gate.write_text("- accuracy >= 0.1\n- coverage == 1.0\n- drop_vs(b) <= 90 points\n")
        measured("a gate of three lines, drop_vs among them", "gate", pair[0], "--gate", str(gate))
        measured("100 000 utterances", "compare", str(folder / "speech-a"), str(folder / "speech-b"))


if __name__ == "__main__":
    main()
