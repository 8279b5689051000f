"""Archives are hostile: nothing leads outside, nothing inflates without end, nothing half-written stays."""

from __future__ import annotations

import errno
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.errors import DataError, StorageError
from omnieval.media import archives
from omnieval.media.archives import Member, extract, members, read_member

CONTENT = bytes(range(256)) * 40


def archive(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return path


def test_regular_files_are_listed_and_read(tmp_path: Path) -> None:
    path = archive(
        tmp_path / "a.zip",
        {
            "data/v1.MP4": CONTENT,
            "data/": b"",
            "__MACOSX/data/._v1.MP4": b"x",
            ".DS_Store": b"y",
            "ü/字.srt": b"1",
        },
        zipfile.ZIP_DEFLATED,
    )
    found = {member.name: member for member in members(path)}
    assert set(found) == {"data/v1.MP4", "ü/字.srt"}
    assert read_member(found["data/v1.MP4"]) == CONTENT
    assert found["data/v1.MP4"].suffix == ".mp4"
    assert members(archive(tmp_path / "empty.zip", {})) == []


def test_a_member_is_extracted_once_under_a_name_of_our_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (member,) = members(archive(tmp_path / "a.zip", {"x/v1.mp4": CONTENT}))
    out = extract(member, tmp_path / "out")
    assert out.read_bytes() == CONTENT
    assert out == tmp_path / "out" / f"{member.stamp}.mp4"
    monkeypatch.setattr(archives, "_content", lambda _: pytest.fail("read again"))
    assert extract(member, tmp_path / "out") == out
    assert len(list((tmp_path / "out").iterdir())) == 1


def test_another_content_has_another_stamp(tmp_path: Path) -> None:
    (first,) = members(archive(tmp_path / "a.zip", {"v.mp4": CONTENT}))
    (second,) = members(archive(tmp_path / "a.zip", {"v.mp4": CONTENT[::-1]}))
    assert first.stamp != second.stamp


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("../v.mp4", "leads outside"),
        ("a/../../v.mp4", "leads outside"),
        ("/etc/v.mp4", "absolute"),
        ("C:/v.mp4", "absolute"),
        ("a\\..\\v.mp4", "backslash"),
        ("a\nb.mp4", "control character"),
        ("a\0b.mp4", "control character"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(name: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        info = zipfile.ZipInfo("placeholder")
        info.filename = name
        made.writestr(info, CONTENT)
    with pytest.raises(DataError, match=f"a.zip: the member .* {problem}"):
        members(path)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_are_refused(kind: int, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        info = zipfile.ZipInfo("v.mp4")
        info.external_attr = (kind | 0o644) << 16
        made.writestr(info, "/etc/passwd")
    with pytest.raises(DataError, match="link or a device"):
        members(path)


@pytest.mark.parametrize("names", [("a/V.mp4", "a/v.mp4"), ("e\u0301.mp4", "é.mp4"), ("v.mp4", "v.mp4")])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_names_that_are_one_file_on_some_disk_are_refused(names: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        for name in names:
            made.writestr(name, b"x")
    with pytest.raises(DataError, match="collides with"):
        members(path)


def patched(path: Path, offset: int, value: bytes) -> Path:
    """The archive with bytes of its first central directory entry replaced."""
    content = bytearray(path.read_bytes())
    entry = content.index(b"PK\x01\x02") + offset
    content[entry : entry + len(value)] = value
    path.write_bytes(content)
    return path


def test_encrypted_members_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="encrypted"):
        members(patched(archive(tmp_path / "a.zip", {"v.mp4": CONTENT}), 8, b"\x01\x00"))


def test_a_bomb_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"v.mp4": bytes(50 * 2**20)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(DataError, match="like a bomb"):
        members(path)


def test_a_member_that_inflates_beyond_its_word_is_stopped(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"v.mp4": bytes(3 * 2**20)}, zipfile.ZIP_DEFLATED)
    (member,) = members(patched(path, 24, (1000).to_bytes(4, "little")))
    assert member.size == 1000
    with pytest.raises(DataError, match=r"v\.mp4"):
        extract(member, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_damage_is_an_error_that_names_the_member(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"v.mp4": CONTENT})
    content = bytearray(path.read_bytes())
    content[2000] ^= 0xFF
    path.write_bytes(content)
    (member,) = members(path)
    with pytest.raises(DataError, match=r"a\.zip: 'v\.mp4' is damaged"):
        read_member(member)


def test_what_is_no_archive_is_an_error(tmp_path: Path) -> None:
    whole = archive(tmp_path / "a.zip", {"v.mp4": CONTENT})
    cut = tmp_path / "cut.zip"
    cut.write_bytes(whole.read_bytes()[:-40])
    (tmp_path / "text.zip").write_text("no zip")
    for name in ("cut.zip", "text.zip"):
        with pytest.raises(DataError, match=f"{name}: not a whole zip archive"):
            members(tmp_path / name)
    with pytest.raises(DataError, match="no such archive"):
        members(tmp_path / "missing.zip")


def test_compressions_that_python_cannot_read_say_what_to_do(tmp_path: Path) -> None:
    path = patched(archive(tmp_path / "a.zip", {"v.mp4": CONTENT}), 10, (9).to_bytes(2, "little"))
    (member,) = members(path)
    with pytest.raises(DataError, match="unpack it with 7z"):
        extract(member, tmp_path / "out")


def test_a_large_member_is_not_read_into_memory(tmp_path: Path) -> None:
    (member,) = members(archive(tmp_path / "a.zip", {"v.srt": CONTENT}))
    with pytest.raises(DataError, match="larger than 100 bytes"):
        read_member(member, most_bytes=100)


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (member,) = members(archive(tmp_path / "a.zip", {"v.mp4": CONTENT}))
    plain = Path.replace

    def full(self: Path, target: Any) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(StorageError, match="No space left on device; free some space"):
        extract(member, tmp_path / "out")
    monkeypatch.setattr(Path, "replace", plain)
    assert list((tmp_path / "out").iterdir()) == []
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be written"):
        extract(member, tmp_path / "file")


def test_two_processes_may_extract_the_same_member(tmp_path: Path) -> None:
    archive(tmp_path / "a.zip", {"v.mp4": CONTENT * 400})
    code = (
        "import sys; from pathlib import Path; from omnieval.media.archives import extract, members\n"
        "root = Path(sys.argv[1]); print(extract(members(root / 'a.zip')[0], root / 'out'))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    paths = {process.communicate()[0].strip() for process in both}
    assert [process.returncode for process in both] == [0, 0, 0]
    (path,) = paths
    assert Path(path).read_bytes() == CONTENT * 400
    assert len(list((tmp_path / "out").iterdir())) == 1


@given(st.text(min_size=1))
def test_no_name_ever_decides_where_a_file_lies(name: str) -> None:
    member = Member(Path("a.zip"), name, 1, "0123456789abcdef")
    target = Path("/out") / f"{member.stamp}{member.suffix}"
    assert target.parent == Path("/out")
    assert target.name.startswith("0123456789abcdef")
