"""Daily-Omni as the parquet release has it, small: real mp4 and wav inside, on every row of a video."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.media_files import make_video, make_wav

MEDIA = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
SCHEMA = pa.schema(
    [
        ("video_id", pa.string()),
        ("video", MEDIA),
        ("audio", MEDIA),
        ("question", pa.string()),
        ("candidates", pa.list_(pa.string())),
        ("answer", pa.string()),
    ]
)
OPTIONS = ("A. Tax laws", "B. A dog", "C. The rain", "D. Nothing")


def media_of(folder: Path, video: str, seconds: float = 1) -> tuple[bytes, bytes]:
    """(mp4, wav) of a video."""
    mp4 = make_video(folder / f"{video}.mp4", seconds=seconds, fps=5, size=(96, 64))
    return mp4.read_bytes(), make_wav(folder / f"{video}.wav", seconds=seconds).read_bytes()


def row(video: str, media: tuple[bytes | None, bytes | None], question: str, answer: str = OPTIONS[0]) -> Any:
    """One row of the release."""
    return {
        "video_id": video,
        "video": {"bytes": media[0], "path": f"{video}_video.mp4"},
        "audio": {"bytes": media[1], "path": f"{video}_video.wav"},
        "question": question,
        "candidates": list(OPTIONS),
        "answer": answer,
    }


def official(video: str, question: str, answer: str = "A", duration: str = "30s") -> dict[str, Any]:
    """One row of the official question file."""
    return {
        "Question": question,
        "Choice": list(OPTIONS),
        "Answer": answer,
        "video_id": video,
        "Type": "Inference",
        "video_category": "news",
        "video_duration": duration,
        "content_parent_category": "a",
        "content_fine_category": "b",
    }


def write_shards(folder: Path, shards: Sequence[Sequence[Any]], *, group: int = 2) -> Path:
    """`data/test-0000i-of-0000n.parquet`, `group` rows a row group."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for number, table in enumerate(shards):
        path = folder / "data" / f"test-{number:05}-of-{len(shards):05}.parquet"
        pq.write_table(pa.Table.from_pylist(list(table), SCHEMA), path, row_group_size=group)
    return folder


def written_qa(folder: Path) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = json.loads((folder / "qa.json").read_text())
    return content
