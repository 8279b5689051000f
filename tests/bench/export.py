"""Time, memory and size of every export of 100 000 questions. Run as a script.

    python -m tests.bench.export

Each is written by a process of its own from one scored run.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.bench.compare import measured
from tests.bench.report import write_run


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        run, out = Path(name, "run"), Path(name, "out")
        write_run(run)
        measured("scored", "score", str(run))
        for kind in ("csv", "parquet", "vllm-bench", "lm-eval"):
            out.mkdir()
            target = out if kind == "lm-eval" else out / "file"
            detailed = ["--detailed"] if kind == "vllm-bench" else []
            measured(kind, "export", str(run), "--format", kind, "--out", str(target), *detailed)
            print(f"  {sum(path.stat().st_size for path in out.rglob('*') if path.is_file()) / 1e6:.1f} MB")
            sys.stdout.flush()
            out.rename(out.with_name(kind))


if __name__ == "__main__":
    main()
