"""Time, memory and size of the HTML report of 100 000 samples. Run as a script.

    python -m tests.bench.report

Each report is written by a process of its own from a scored run. Scoring, which reads every reply by every
parser first and writes the same report, is shown beside it.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from omnieval.runlog import RunWriter
from omnieval.types import Failure, Response, Timing
from tests.bench.compare import COUNT, measured, planned
from tests.runs import information, speech_run


def write_run(folder: Path) -> None:
    """Every question with a reply and its times; one in a hundred failed."""
    random = np.random.default_rng(0)
    samples = list(planned())
    info = information(COUNT, "f") | {"group_keys": ["type", "category", "duration"]}
    letters = random.choice(list("AAAABCD"), COUNT)
    times = random.gamma(4, 0.1, COUNT)
    with RunWriter.begin(folder, info, samples) as writer:
        for i, item in enumerate(samples):
            if i % 100 == 7:
                answer = Response(item.sample.id, error=Failure("timeout", f"no token within {i} s"))
            else:
                text = f"The bell is heard first. Answer: {letters[i]}" if i % 3 else str(letters[i])
                timing = Timing(ttft_s=float(times[i]), e2e_s=float(2 * times[i]), itl_s=(0.01, 0.02, 0.03))
                answer = Response(item.sample.id, text=text, timing=timing)
            writer.add_response(answer)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_run(folder / "choice")
        measured("100 000 questions scored, with all reports", "score", str(folder / "choice"))
        show_report("100 000 questions", folder / "choice")
        random = np.random.default_rng(0)
        found = [{"wer": float(w), "sim[wavlm-sv]": 0.7} for w in random.gamma(1, 0.02, COUNT)]
        began = time.perf_counter()
        speech_run(folder / "speech", found, per_speaker=2)
        print(f"100 000 utterances counted, with all reports: {time.perf_counter() - began:.1f} s")
        show_report("100 000 utterances", folder / "speech")


def show_report(name: str, run: Path) -> None:
    target = run.parent / "report.html"
    measured(f"HTML report of {name}", "report", str(run), "--html", str(target))
    print(f"  {target.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
