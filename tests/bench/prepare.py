"""What preparation costs a run: wall time, overlap with the server, memory, a warm cache. Run as a script.

    python -m tests.bench.prepare [--quick]

Figures are ratios of what was measured in turn in this run, or memory in MB.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from omnieval import api
from omnieval.engine.execute import load_selected, open_cache
from omnieval.media.prepare import find_prepared, prepare_media
from tests.bench.decode import cpu_s, decode_everything, indices_of, make_clip, ours
from tests.faults.server import Exchange, FaultServer
from tests.media_files import make_wav


def folder_of_clips(folder: Path, count: int, questions: int, seconds: int) -> Path:
    """A Daily-Omni set of `count` different 720p clips with `questions` questions each."""
    rows = []
    folder.mkdir(parents=True)
    first = make_clip(folder / "clip.mp4", seconds=seconds)
    for number in range(count):
        name = f"v{number}"
        place = folder / "Videos" / name
        place.mkdir(parents=True)
        # The same pictures, but each with a sound of its own, so that nothing is shared.
        shutil.copy(first, place / f"{name}_video.mp4")
        make_wav(place / f"{name}_audio.wav", seconds=seconds, frequency_hz=200 + number)
        rows += [
            {"video_id": name, "Question": f"{number} {q}?", "Choice": ["A. x", "B. y"], "Answer": "A"}
            for q in range(questions)
        ]
    first.unlink()
    (folder / "qa.json").write_text(json.dumps(rows))
    return folder


def wall(work: object) -> float:
    began = time.monotonic()
    work()  # type: ignore[operator]
    return time.monotonic() - began


def prepare(data: Path, cache: Path, input_mode: str = "all") -> None:
    shutil.rmtree(cache, ignore_errors=True)
    api.prepare("daily-omni", data=str(data), cache_dir=str(cache), input_mode=input_mode)


def one_after_the_other(data: Path, *, threads: bool) -> float:
    """Wall time of decoding a folder in a process of its own, without starting it."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_plainly, data, threads).result()


def _plainly(data: Path, threads: bool) -> float:
    began = time.monotonic()
    for video in sorted(data.glob("Videos/*/*.mp4")):
        decode_everything(video, indices_of(video, "minicpm", 64), threads=threads)
    return time.monotonic() - began


def overlap(data: Path, folder: Path, questions: int) -> float:
    """Wall time of a run whose server takes as long as preparation does, over the longer of the two."""
    preparing = wall(lambda: prepare(data, folder / "cache"))
    serving = preparing / questions

    async def answer(exchange: Exchange) -> None:
        await asyncio.sleep(serving)
        await exchange.answer("A")

    with FaultServer(answer) as server:

        def run(cache: Path) -> None:
            api.run("daily-omni", data=str(data), base_url=server.base_url, model="fake", concurrency=1,
                    cache_dir=str(cache), out=folder / f"run-{cache.name}")  # fmt: skip

        serving_alone = wall(lambda: run(folder / "cache"))
        both = wall(lambda: run(folder / "cold"))
    return both / max(preparing, serving_alone)


def peak_mb(data: Path, folder: Path, *more: str) -> float:
    """Peak memory of a run's own process with media inside the requests."""

    async def answer(exchange: Exchange) -> None:
        await exchange.answer("A")

    with FaultServer(answer) as server:
        server.requests = _Forgetful()
        command = [sys.executable, "-c", _MEASURED, "run", "daily-omni", "--data", str(data), "--base-url",
                   server.base_url, "--transport", "inline", "--cache-dir", str(folder / "cache"), "--out",
                   str(Path(tempfile.mkdtemp(dir=folder)) / "run"), *more]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(re.findall(r"PEAK (\d+)", done.stdout)[-1]) / 1024


class _Forgetful(list):  # type: ignore[type-arg]
    def append(self, _: object) -> None:
        return


_MEASURED = """
import atexit, resource, sys
atexit.register(lambda: print("PEAK", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
sys.argv = ["omnieval", *sys.argv[1:]]
from omnieval.cli import main
main()
"""


def warm_cpu_s(data: Path, cache: Path, questions: int) -> float:
    """CPU seconds to look up and pack `questions` questions whose media are in the cache."""
    config = api.configure("daily-omni", [("data", str(data)), ("cache_dir", str(cache))])
    benchmark, _, samples = load_selected(config, lambda _: None)
    opened = open_cache(config)
    for sample in samples:
        plan = benchmark.plan(sample)
        assert plan is not None
        prepare_media(plan, opened)
    began = time.process_time()
    for number in range(questions):
        sample = samples[number % len(samples)]
        plan = benchmark.plan(sample)
        assert plan is not None
        media = find_prepared(plan, opened)
        assert media is not None
        benchmark.pack(sample, media)
    return time.process_time() - began


def growth(folder: Path, minutes: int) -> float:
    """CPU for 96 frames of a long video over that of a 10-minute one with the same groups of pictures."""
    spent = []
    for length in (10, minutes):
        clip = make_clip(folder / f"{length}.mp4", seconds=60 * length, size=(320, 180), gop=250)
        indices = indices_of(clip, "omnievalkit", 96)
        spent.append(statistics.median(cpu_s(ours, clip, indices) for _ in range(5)))
        clip.unlink()
    return spent[1] / spent[0]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer and shorter clips")
    quick = parser.parse_args().quick
    count = 6 if quick else 24
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder_of_clips(folder / "data", count, 3, 30)
        ratios: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(1 if quick else 3):
            plain = {threads: one_after_the_other(data, threads=threads) for threads in ratios}
            own = wall(lambda: prepare(data, folder / "pictures", "visual"))
            for threads, taken in plain.items():
                ratios[threads].append(taken / own)
        print(f"{count} clips of 720p, 30 s, {os.cpu_count()} processors: {statistics.median(ratios[False]):.2f} "
              "times less wall time than decoding everything one after the other with one thread, "
              f"{statistics.median(ratios[True]):.2f} with PyAV's own choice of threads")  # fmt: skip
        print(
            f"server as slow as preparation: {overlap(data, folder, 3 * count):.2f} of the longer of the two"
        )
        prepare(data, folder / "cache")
        base = peak_mb(data, folder, "--limit", "1", "--backend", "chance")
        few = peak_mb(data, folder, "--concurrency", "8")
        many = folder_of_clips(folder / "many", 2, 250, 30)
        most = peak_mb(many, folder, "--concurrency", "8", "--set", "retry.attempts=1")
        print(f"peak memory above {base:.0f} MB, inline: {few - base:.0f} MB for {3 * count} questions, "
              f"{most - base:.0f} MB for 500")  # fmt: skip
        print(f"2 700 questions from a warm cache: {warm_cpu_s(data, folder / 'cache', 2700):.1f} s of CPU")
        minutes = 30 if quick else 120
        print(
            f"96 frames of {minutes} minutes: {growth(folder, minutes):.2f} of the CPU for those of 10 minutes"
        )


if __name__ == "__main__":
    main()
