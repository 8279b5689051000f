"""CPU seconds to get a few pictures of a video as JPEG, against what other tools do. Run as a script.

    python -m tests.bench.decode [--quick]

Every figure is a ratio of medians measured in turn in this run: above 1 means that omnieval needs less.
"""

from __future__ import annotations

import argparse
import io
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import av
import numpy as np

from omnieval.media.decode import decode_frames
from omnieval.media.encode import encode_image
from omnieval.media.plan import plan_frames
from omnieval.media.probe import video_facts
from omnieval.types import ImageEncoding

Work = Callable[[Path, list[int]], int]


def make_clip(path: Path, *, seconds: int, gop: int = 250, size: tuple[int, int] = (1280, 720)) -> Path:
    """Moving noise-like pictures at 30 fps, H.264 with 3 B-frames, as video hosts deliver."""
    width, height = size
    texture = np.random.default_rng(1).integers(0, 255, (height // 8, width // 4, 3), dtype=np.uint8)
    texture = np.kron(texture, np.ones((8, 8, 1), dtype=np.uint8))
    with av.open(str(path), "w") as container:
        options = {"preset": "veryfast", "x264-params": f"keyint={gop}:bframes=3:b-adapt=0:scenecut=0"}
        stream = container.add_stream("libx264", rate=30, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(seconds * 30):
            shift = number * 3 % width
            picture = np.ascontiguousarray(texture[:, shift : shift + width])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def ours(path: Path, indices: list[int]) -> int:
    encoding = ImageEncoding()
    return sum(len(encode_image(picture.rgb, encoding)) for picture in decode_frames(path, indices))


def decode_everything(path: Path, indices: list[int], *, threads: bool = True) -> int:
    """Baseline A: decode every frame up to the last wanted one, convert the wanted ones, save them with Pillow.

    threads: let the decoder use as many threads as it wants, which is PyAV's default; else one.
    """
    wanted, size = set(indices), 0
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        if not threads:
            stream.codec_context.thread_count = 1
        for number, frame in enumerate(container.decode(stream)):
            if number in wanted:
                buffer = io.BytesIO()
                frame.to_image().save(buffer, "JPEG", quality=85)
                size += len(buffer.getvalue())
            if number >= indices[-1]:
                break
    return size


def seek_beyond_three_seconds(path: Path, indices: list[int]) -> int:
    """Baseline B: seek when the next wanted frame is more than 3 s away, else decode on."""
    size = 0
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.time_base is not None
        assert stream.average_rate is not None
        frames = container.decode(stream)
        now = -10.0
        for index in indices:
            time_s = float(index / stream.average_rate)
            if time_s - now > 3:
                container.seek(round(time_s / stream.time_base), stream=stream)
                frames = container.decode(stream)
            for frame in frames:
                now = frame.time or 0.0
                if now >= time_s - 1e-3:
                    buffer = io.BytesIO()
                    frame.to_image().save(buffer, "JPEG", quality=85)
                    size += len(buffer.getvalue())
                    break
    return size


def cpu_ratio(path: Path, indices: list[int], baseline: Work, rounds: int) -> float:
    """Median over rounds of CPU(baseline) / CPU(ours), the two run in turn, each in a new process: memory
    that earlier work has left to a process changes what decoding costs."""
    ratios = [cpu_s(baseline, path, indices) / cpu_s(ours, path, indices) for _ in range(rounds)]
    return statistics.median(ratios)


def cpu_s(work: Work, path: Path, indices: list[int]) -> float:
    """CPU seconds of one piece of work in a process of its own, without starting it."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_measured, work, path, indices).result()


def _measured(work: Work, path: Path, indices: list[int]) -> float:
    began = time.process_time()
    work(path, indices)
    return time.process_time() - began


def indices_of(path: Path, plan: str, max_frames: int) -> list[int]:
    facts = video_facts(path)
    return list(plan_frames(plan, frames=facts.frames, fps=facts.fps, max_frames=max_frames).indices)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="shorter clips, for a first look")
    quick = parser.parse_args().quick
    rounds = 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seconds in (30,) if quick else (30, 60):
            clip = make_clip(folder / f"{seconds}.mp4", seconds=seconds)
            ratio = cpu_ratio(clip, indices_of(clip, "minicpm", 64), decode_everything, rounds)
            print(f"720p, {seconds} s, 1 frame a second: {ratio:.2f} times less CPU than decoding everything")
        minutes = 2 if quick else 10
        size = (640, 360)
        clip = make_clip(folder / "long.mp4", seconds=60 * minutes, size=size)
        indices = indices_of(clip, "omnievalkit", 96)
        ratio = cpu_ratio(clip, indices, seek_beyond_three_seconds, rounds)
        print(f"360p, {minutes} min, 96 frames: {ratio:.2f} times less CPU than seeking beyond 3 s")


if __name__ == "__main__":
    main()
