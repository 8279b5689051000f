"""A key tells one content from another, wherever the file lies."""

from __future__ import annotations

import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from omnieval.errors import MediaError
from omnieval.media.checksums import WHOLE_BYTES
from omnieval.media.content_key import content_key, content_keys, differ

CONTENT = bytes(range(256)) * 2000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "v.mp4"
    path.write_bytes(CONTENT)
    return path


def test_a_copy_under_another_name_and_time_has_the_same_key(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.mp4"
    copy.write_bytes(CONTENT)
    os.utime(copy, (1, 1))
    assert content_key(copy) == content_key(file)


@pytest.mark.parametrize("place", [0, 100_000, len(CONTENT) // 2 + 5, len(CONTENT) - 1])
def test_another_byte_anywhere_makes_another_key(place: int, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.mp4"
    other.write_bytes(CONTENT[:place] + b"\xaa\xab" + CONTENT[place + 2 :])
    assert content_key(other) != content_key(file)
    assert differ({"video": content_key(other)}, {"video": content_key(file)})


def test_a_file_in_a_tar_has_the_key_of_the_plain_one(file: Path, tmp_path: Path) -> None:
    archive = tmp_path / "Videos.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(__file__, "first.py")
        tar.add(file, "v.mp4")
        tar.add(__file__, "last.py")
    assert content_key(archive / "v.mp4") == content_key(file)


def test_of_a_large_file_head_middle_and_tail_are_told_apart(tmp_path: Path) -> None:
    keys = []
    for place in (None, 0, WHOLE_BYTES // 2 + 5, WHOLE_BYTES):
        path = tmp_path / f"{place}.mp4"
        with path.open("wb") as file:
            file.truncate(WHOLE_BYTES + 1)
            if place is not None:
                file.seek(place)
                file.write(b"\1")
        keys.append(content_key(path))
    assert len(set(keys)) == 4 and all(key.startswith(f"edges:{WHOLE_BYTES + 1}-") for key in keys)


def test_a_key_of_edges_alone_as_older_runs_have_it_is_held_against_the_edges(file: Path) -> None:
    edges = content_key(file).split()[1]
    assert not differ({"video": edges}, {"video": content_key(file)})
    file.write_bytes(CONTENT[::-1])
    assert differ({"video": edges}, {"video": content_key(file)})
    assert not differ({"video": edges}, {"audio": "edges:1-2"})


def test_a_file_in_a_zip_is_held_against_the_plain_one_and_that_of_another_zip(
    file: Path, tmp_path: Path
) -> None:
    keys = []
    for name, content in (("a.zip", CONTENT), ("b.zip", CONTENT), ("c.zip", CONTENT[::-1])):
        with zipfile.ZipFile(tmp_path / name, "w") as opened:
            opened.writestr("v.mp4", content)
        keys.append({"video": content_key(tmp_path / name / "v.mp4")})
    assert not differ(keys[0], keys[1])
    assert differ(keys[0], keys[2])
    assert not differ(keys[0], {"video": content_key(file)})
    assert differ(keys[2], {"video": content_key(file)})


def test_what_cannot_be_read_has_no_key(file: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp4")
    media = {"video": file, "audio": tmp_path / "gone.wav", "other": tmp_path / "pipe.mp4"}
    assert list(content_keys(media)) == ["video"]
    with pytest.raises(MediaError, match=r"gone\.wav"):
        content_key(tmp_path / "gone.wav")
