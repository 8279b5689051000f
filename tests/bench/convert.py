"""Conversion of a parquet release against the common script: `batch.to_pylist()`, row by row.

`python -m tests.bench.convert` makes a shard of 300 MB of media (`--megabytes 2000` for the real size) whose
media repeat on every row of a video, converts it both ways in processes of their own, in turn, and prints the
medians of wall time, CPU time and memory above an idle process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.daily_omni_parquet import SCHEMA, row

MB = 10**6
VIDEO, AUDIO = 2 * MB, MB // 2

# What scripts commonly do; both leave a file alone that is there.
BASELINE = """
import json
import pyarrow.parquet as pq
def convert(src, dst):
    table = []
    for path in sorted((src / "data").glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches():
            for row in batch.to_pylist():
                folder = dst / "Videos" / row["video_id"]
                folder.mkdir(parents=True, exist_ok=True)
                for role, name in (("video", "video.mp4"), ("audio", "audio.wav")):
                    file = folder / f"{row['video_id']}_{name}"
                    if not file.exists():
                        file.write_bytes(row[role]["bytes"])
                table.append({"video_id": row["video_id"], "Question": row["question"],
                              "Choice": row["candidates"], "Answer": row["answer"][0]})
    (dst / "qa.json").write_text(json.dumps(table))
"""
# Both begin with pyarrow loaded.
OURS = "import pyarrow.parquet\nfrom omnieval.datasets import convert_daily_omni as convert"
IDLE = "import pyarrow.parquet, omnieval.datasets\ndef convert(src, dst): pass"

MEASURED = """
import json, resource, sys, time
from pathlib import Path
used = resource.getrusage(resource.RUSAGE_SELF)
began, before = time.perf_counter(), used.ru_utime + used.ru_stime
convert(*map(Path, sys.argv[1:]))
took, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
# ru_maxrss would count what the parent held before it started this process.
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(json.dumps([took, used.ru_utime + used.ru_stime - before, int(peak.split()[1]) / 1024]))
"""


def make_release(folder: Path, megabytes: int, repeats: int, group_rows: int) -> None:
    """One shard; the media of a video stand on `repeats` rows."""
    (folder / "data").mkdir(parents=True)
    random = np.random.default_rng(0)
    rows = megabytes * MB // (VIDEO + AUDIO)
    with pq.ParquetWriter(folder / "data" / "test-00000-of-00001.parquet", SCHEMA) as writer:
        media: tuple[bytes, bytes] = (b"", b"")
        table = []
        for number in range(rows):
            if number % repeats == 0:
                media = random.bytes(VIDEO), random.bytes(AUDIO)
            table.append(row(f"v{number // repeats}", media, f"q{number}"))
            if len(table) == group_rows or number == rows - 1:
                writer.write_table(pa.Table.from_pylist(table, SCHEMA))
                table = []


def measure(code: str, release: Path, out: Path) -> list[float]:
    """[wall s, CPU s, peak MB] of one conversion into a new folder."""
    shutil.rmtree(out, ignore_errors=True)
    os.sync()
    done = subprocess.run(
        [sys.executable, "-c", code + MEASURED, release, out], check=True, capture_output=True, text=True
    )
    found: list[float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=300, help="media of all rows together")
    parser.add_argument("--repeats", type=int, nargs="*", default=[2, 8], help="rows that share a video")
    parser.add_argument("--group-rows", type=int, default=20, help="rows of a row group")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for repeats in options.repeats:
        with tempfile.TemporaryDirectory() as scratch:
            release = Path(scratch) / "release"
            make_release(release, options.megabytes, repeats, options.group_rows)
            runs: dict[str, list[list[float]]] = {"idle": [], "to_pylist": [], "omnieval": []}
            codes = {"idle": IDLE, "to_pylist": BASELINE, "omnieval": OURS}
            for _ in range(options.rounds):
                for name, code in codes.items():
                    runs[name].append(measure(code, release, Path(scratch) / "out"))
            idle_mb = statistics.median(run[2] for run in runs["idle"])
            print(
                f"{options.megabytes} MB of media, {repeats} rows a video, {options.group_rows} rows a group"
            )
            for name in ("to_pylist", "omnieval"):
                wall_s, cpu_s, peak_mb = (
                    statistics.median(values) for values in zip(*runs[name], strict=True)
                )
                print(
                    f"  {name:10} {wall_s:6.2f} s, {cpu_s:6.2f} s of CPU, {peak_mb - idle_mb:6.0f} MB above idle"
                )


if __name__ == "__main__":
    main()
