"""Time of the viewer's pages over a run of 100 000 questions. Run as a script.

python -m tests.bench.view
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from starlette.testclient import TestClient

from omnieval.view.app import make_app
from omnieval.view.folders import find_runs
from omnieval.view.index import Indexer, NotReadyError
from tests.bench.compare import write_choice_run


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        runs = Path(name) / "runs"
        runs.mkdir()
        for seed, run in enumerate(("a", "b")):
            write_choice_run(runs / run, seed)
        places = {place.name: place for place in find_runs(runs).values()}
        for run in ("a", "b"):
            began = time.perf_counter()
            await_index(places[run].path, Path(name))
            print(f"index of {run}: {time.perf_counter() - began:.1f} s")
        client = TestClient(make_app(runs, Path(name), token="t", port=80), base_url="http://127.0.0.1:80")
        client.get("/?token=t")
        base, other = f"/run/{places['a'].id}", places["b"].id
        for url in ("/", base, f"{base}?show=wrong", f"{base}?page=1900", f"{base}?text=garden", f"{base}?sort=slow",
                    f"{base}?show=flipped&other={other}", f"{base}/against/{other}", f"{base}/sample/50000"):  # fmt: skip
            began = time.perf_counter()
            assert client.get(url).status_code == 200
            print(f"{url.replace(base, '/run')}: {1000 * (time.perf_counter() - began):.0f} ms")


def await_index(run: Path, folder: Path) -> None:
    """Make the index of a run and wait for it."""
    indexer = Indexer(folder)
    while True:
        try:
            return indexer.open(run).rows.close()
        except NotReadyError:
            time.sleep(0.05)


if __name__ == "__main__":
    main()
