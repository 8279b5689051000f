"""The media of a parquet release, which stand on every row of their video, as files: each is written once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from omnieval.benchmarks import rows
from omnieval.datasets.shards import Shard
from omnieval.datasets.target import Target, WriteBehind

# Column -> how the name of a video's file ends.
MEDIA = {"video": "video.mp4", "audio": "audio.wav"}
# Bytes; with what follows it in a file's name as many as file systems take.
_LONGEST_ID = 240
_PIECE = 2**20


def names_files(video: str) -> bool:
    """Whether an id may become part of the names of a video's files."""
    return rows.unsafe_name(video) is None and len(os.fsencode(video)) <= _LONGEST_ID


def file_of(video: str, role: str) -> str:
    """The name of a video's file of that role, below the data set's folder."""
    return f"Videos/{video}/{video}_{MEDIA[role]}"


class RowMedia:
    """The media of the videos seen so far.

    answers: name of the file that is withdrawn before media change, since it stands for all of them. present:
    role -> ids of the videos that have a file. other: ids of those of which a later row carries other bytes.
    """

    def __init__(self, target: Target, answers: str) -> None:
        self._target = target
        self._answers = answers
        self.present: dict[str, dict[str, None]] = {role: {} for role in MEDIA}
        self.ids: dict[str, None] = {}
        self.other: dict[str, None] = {}

    def take(self, shard: Shard, group: int, ids: Sequence[str], writer: WriteBehind) -> None:
        """Write the media of a row group's videos that are not there yet, and compare those that are; ids:
        the video of each row."""
        self.ids.update(dict.fromkeys(ids))
        for role, present in self.present.items():
            names = {i: file_of(i, role) for i in ids if names_files(i)}
            here = [i for i in names if i not in present and self._target.has(names[i], shard.source)]
            present.update(dict.fromkeys(here))
            step = f"{shard.source} {role} {group}"
            other = self._target.step_found(step)
            if other is None or not all(i in present for i in names):
                other = self._read(shard, group, role, ids, names, writer)
                self._target.finish_step(step, other)
            self.other.update(dict.fromkeys(other))

    def _read(
        self,
        shard: Shard,
        group: int,
        role: str,
        ids: Sequence[str],
        names: Mapping[str, str],
        writer: WriteBehind,
    ) -> list[str]:
        """Write what is missing; the ids of the videos whose rows carry other bytes."""
        present = self.present[role]
        other: dict[str, None] = {}
        before: str | None = None
        for i, blob in zip(ids, shard.blobs(group, role), strict=False):
            if blob is None:
                continue
            if i not in names:
                pass
            elif i not in present:
                self._target.withdraw(self._answers)
                writer.put(names[i], blob.content, shard.source)
                present[i] = None
            elif not (blob.repeats if i == before else self._is_in(names[i], blob.content, writer)):
                other[i] = None
            before = i
        return list(other)

    def _is_in(self, name: str, content: memoryview, writer: WriteBehind) -> bool:
        """Whether a file holds exactly that content."""
        writer.wait()
        path = self._target.folder / name
        with path.open("rb") as file:
            return os.fstat(file.fileno()).st_size == len(content) and all(
                file.read(_PIECE) == bytes(content[at : at + _PIECE]) for at in range(0, len(content), _PIECE)
            )
