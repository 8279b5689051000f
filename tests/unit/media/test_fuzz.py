"""Five hundred damaged files: no crash, no hang, and each is either prepared or one clear error."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from omnieval.engine.workers import MediaWorkers
from omnieval.errors import MediaError
from omnieval.media.cache import MediaCache
from omnieval.types import MediaPlan
from tests.media_files import make_video

FILES = 500
SOURCES = {
    "h264.mp4": {"codec": "libx264", "bf": "2", "g": "10"},
    "mpeg4.mp4": {"codec": "mpeg4", "bf": "2"},
    "vp9.webm": {"codec": "libvpx-vp9", "deadline": "realtime", "cpu-used": "8"},
    "h264.mkv": {"codec": "libx264", "bf": "2", "g": "10"},
    "mpeg4.avi": {"codec": "mpeg4"},
}


def mutated(content: bytes, seeded: random.Random) -> bytes:
    """Bytes flipped in the header or anywhere, a piece cut out, doubled or zeroed, or the end cut off."""
    data = bytearray(content)
    kind = seeded.randrange(6)
    header = min(len(data), 4096) if seeded.random() < 0.5 else len(data)
    if kind <= 2:
        for _ in range(seeded.choice([1, 4, 16, 64])):
            data[seeded.randrange(header)] = seeded.randrange(256)
        return bytes(data)
    start = seeded.randrange(header)
    end = min(len(data), start + seeded.randrange(1, 2048))
    if kind == 3:
        return bytes(data[:start] + data[end:])
    if kind == 4:
        return bytes(data[:end] + data[start:end] + data[end:])
    return bytes(data[:start])


@pytest.mark.timeout(600)
def test_damaged_files_are_prepared_or_are_one_error_each(tmp_path: Path) -> None:
    originals = [
        make_video(tmp_path / name, seconds=2, audio_seconds=None if name.endswith("avi") else 2, **options)
        for name, options in SOURCES.items()
    ]
    seeded = random.Random(7)
    paths = []
    for number in range(FILES):
        source = seeded.choice(originals)
        path = tmp_path / f"damaged-{number:03d}{source.suffix}"
        path.write_bytes(mutated(source.read_bytes(), seeded))
        paths.append(path)

    async def outcomes() -> list[str | None]:
        workers = MediaWorkers(MediaCache(tmp_path / "cache"), workers=2, time_limit_s=60, memory_limit_gib=2)
        turn = asyncio.Semaphore(4)

        async def outcome(path: Path) -> str | None:
            plan = MediaPlan(path, None, "minicpm", 8, segments=path.suffix != ".avi")
            async with turn:
                try:
                    media = await workers.prepare(plan)
                except MediaError as error:
                    return str(error)
            assert media.frames
            return None

        try:
            return await asyncio.gather(*map(outcome, paths))
        finally:
            await workers.close()

    messages = asyncio.run(outcomes())
    failed = {path: message for path, message in zip(paths, messages, strict=True) if message is not None}
    assert all(path.name in message for path, message in failed.items())
    assert not [message for message in failed.values() if "not prepared within" in message]
    assert FILES // 10 < len(failed) < FILES
