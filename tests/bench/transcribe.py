"""Wall time to transcribe many utterances with the carried recogniser, against one at a time.

    python -m tests.bench.transcribe [--utterances 200]

Prints the ratio of medians over rounds measured in turn, and the peak memory.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
import wave
from pathlib import Path

import numpy as np
from faster_whisper import WhisperModel

from omnieval.samples import sample_dir
from omnieval.scoring.asr import Recogniser, load_recogniser, transcribe
from omnieval.scoring.asr.faster_whisper import FasterWhisper, _carried


def utterances(folder: Path, count: int) -> list[Path]:
    """Spoken clips of the sample, each cut a little differently so that no two are the same."""
    spoken = sorted((sample_dir("daily-omni") / "Videos").glob("*/*_audio.wav"))
    paths = []
    for number in range(count):
        with wave.open(str(spoken[number % len(spoken)])) as file:
            pcm = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
        path = folder / f"{number}.wav"
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(16_000)
            file.writeframes(pcm[: len(pcm) - 160 * (number // len(spoken))].tobytes())
        paths.append(path)
    return paths


def wall_s(recogniser: Recogniser, paths: list[Path], batch_size: int) -> float:
    recogniser.batch_size = batch_size
    began = time.monotonic()
    for transcript in transcribe(recogniser, paths, "en"):
        assert transcript.text is not None, transcript.message
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--utterances", type=int, default=200)
    count = parser.parse_args().utterances
    recogniser = load_recogniser("faster-whisper", device="cpu")
    baseline = FasterWhisper(WhisperModel(str(_carried()), device="cpu", compute_type="int8"), {})
    with tempfile.TemporaryDirectory() as name:
        paths = utterances(Path(name), count)
        ratios = []
        for _ in range(3):
            ratios.append(wall_s(baseline, paths, 1) / wall_s(recogniser, paths, recogniser.batch_size))
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{count} utterances: {statistics.median(ratios):.2f} times less wall time than one at a time "
          f"(the model's own choice of threads); peak memory {peak_mb:.0f} MB")  # fmt: skip


if __name__ == "__main__":
    main()
