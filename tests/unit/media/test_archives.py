"""Archives are hostile: nothing leads outside, nothing inflates without end, nothing half-written stays."""

from __future__ import annotations

import errno
import io
import os
import random
import signal
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
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


def named(path: Path, *names: str, content: bytes = CONTENT) -> Path:
    """An archive whose members have names that zipfile itself would not write."""
    with zipfile.ZipFile(path, "w") as made:
        for name in names:
            info = zipfile.ZipInfo("placeholder")
            info.filename = name
            made.writestr(info, content)
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


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("size", [0, 1, 2**20 - 1, 2**20, 2**20 + 1, 3 * 2**20])
def test_every_size_comes_out_whole(size: int, method: int, tmp_path: Path) -> None:
    content = random.Random(size).randbytes(size)
    (member,) = members(archive(tmp_path / "a.zip", {"v.bin": content}, method))
    assert read_member(member) == content
    assert extract(member, tmp_path / "out").read_bytes() == content


def test_an_archive_with_64_bit_fields_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)  # more members need the 64-bit end record
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        for name in ("v1.mp4", "v2.mp4"):
            with made.open(name, "w", force_zip64=True) as file:
                file.write(CONTENT)
    assert b"PK\x06\x06" in path.read_bytes()
    assert [read_member(member) for member in members(path)] == [CONTENT, CONTENT]


def test_folders_are_passed_over_however_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        for name, mode in (("a/", stat.S_IFDIR), ("b", stat.S_IFDIR), ("b/v.mp4", stat.S_IFREG)):
            info = zipfile.ZipInfo(name)
            info.external_attr = (mode | 0o755) << 16
            made.writestr(info, b"")
    assert [member.name for member in members(path)] == ["b/v.mp4"]


@pytest.mark.parametrize(
    "raw", [b"\x81.mp4", b"\xff\xfe.mp4", "字.mp4".encode(), "視".encode("gbk") + b".mp4"]
)
def test_names_in_an_unknown_encoding_are_read_as_code_page_437(raw: bytes, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"x" * len(raw): CONTENT})
    path.write_bytes(path.read_bytes().replace(b"x" * len(raw), raw))
    (member,) = members(path)
    assert member.name == raw.decode("cp437")
    assert extract(member, tmp_path / "out").read_bytes() == CONTENT


def test_a_name_that_is_not_the_utf_8_it_claims_is_an_error(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", {"é.mp4": CONTENT})
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xfe"))
    with pytest.raises(DataError, match=r"a\.zip: not a whole zip archive"):
        members(path)


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("v.MP4", ".mp4"),
        ("a.b/v", ""),
        ("v", ""),
        (".mp4", ""),
        ("v.tar.gz", ".gz"),
        ("v.mp4 ", ""),
        ("v.m/p", ""),
        ("v.字", ""),
        ("v.abcdefghi", ""),
        ("v.$(x)", ""),
    ],
)
def test_only_a_plain_suffix_is_kept(name: str, suffix: str) -> None:
    assert Member(Path("a.zip"), name, 1, "0").suffix == suffix


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


def test_a_file_of_another_size_is_written_again(tmp_path: Path) -> None:
    (member,) = members(archive(tmp_path / "a.zip", {"x/v1.mp4": CONTENT}))
    out = extract(member, tmp_path)
    out.write_bytes(CONTENT[:-1])
    assert extract(member, tmp_path).read_bytes() == CONTENT


def test_an_archive_that_changed_since_it_was_listed_is_not_read(tmp_path: Path) -> None:
    (member,) = members(archive(tmp_path / "a.zip", {"v.mp4": CONTENT}))
    archive(tmp_path / "a.zip", {"v.mp4": CONTENT[::-1]})
    for take in (read_member, lambda member: extract(member, tmp_path / "out")):
        with pytest.raises(DataError, match=r"a\.zip: 'v\.mp4' is not what it was"):
            take(member)
    with pytest.raises(DataError, match="is not what it was"):
        read_member(replace(member, name="other.mp4"))
    assert not (tmp_path / "out").exists()


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
        ("\0a.mp4", "control character"),
        ("v.mp4\0/../x", "leads outside"),
        ("..", "leads outside"),
        ("", "empty name"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(name: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"a\.zip: the member .* {problem}.*; fetch it again"):
        members(named(tmp_path / "a.zip", name))


def test_dots_that_lead_nowhere_are_allowed(tmp_path: Path) -> None:
    names = ["..v.mp4", "a..b/v...mp4", ".hidden/v.mp4", "a/..."]
    assert [member.name for member in members(named(tmp_path / "a.zip", *names))] == names


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


@pytest.mark.parametrize("flags", [b"\x01\x00", b"\x40\x00", b"\x00\x20"])
def test_encrypted_members_are_refused(flags: bytes, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'v\.mp4' is encrypted"):
        members(patched(archive(tmp_path / "a.zip", {"v.mp4": CONTENT}), 8, flags))


def test_sizes_that_no_data_set_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "a.zip", {"v1.mp4": CONTENT, "v2.mp4": CONTENT})
    with pytest.raises(DataError, match=f"'v1.mp4' declares {len(CONTENT)} bytes, more than 100"):
        members(path, most_bytes=100)
    assert len(members(path, most_bytes=len(CONTENT))) == 2
    monkeypatch.setattr(archives, "_LARGEST_TOTAL", 2 * len(CONTENT) - 1)
    with pytest.raises(DataError, match=r"a\.zip: declares .* TiB"):
        members(path)


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


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize(("size", "checked"), [(1000, 1000), (1000, 1001), (len(CONTENT) + 1, len(CONTENT))])
def test_a_lying_size_with_a_checksum_to_match_is_refused(
    size: int, checked: int, method: int, tmp_path: Path
) -> None:
    path = archive(tmp_path / "a.zip", {"v.mp4": CONTENT}, method)
    patched(path, 16, zlib.crc32(CONTENT[:checked]).to_bytes(4, "little"))
    (member,) = members(patched(path, 24, size.to_bytes(4, "little")))
    for take in (read_member, lambda member: extract(member, tmp_path / "out")):
        with pytest.raises(DataError, match=r"a\.zip: 'v\.mp4' is damaged"):
            take(member)
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
    os.mkfifo(tmp_path / "pipe.zip")
    (tmp_path / "folder.zip").mkdir()
    for name in ("pipe.zip", "folder.zip"):
        with pytest.raises(DataError, match=f"{name}: not a file"):
            members(tmp_path / name)


@pytest.mark.parametrize("method", [9, zipfile.ZIP_BZIP2, 93])
def test_compressions_that_are_not_read_say_what_to_do(method: int, tmp_path: Path) -> None:
    path = patched(archive(tmp_path / "a.zip", {"v.mp4": CONTENT}), 10, method.to_bytes(2, "little"))
    (member,) = members(path)
    with pytest.raises(DataError, match=rf"a\.zip: 'v\.mp4' is packed by method {method}.* by hand with 7z"):
        extract(member, tmp_path / "out")


def test_no_damage_is_anything_but_an_error_of_ours(tmp_path: Path) -> None:
    """Archives with random bytes replaced or cut off, mostly in the directory."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as writer:
        for name in ("a.srt", "ü.srt", "d/b.mp4"):
            with writer.open(name, "w", force_zip64=name == "a.srt") as file:
                file.write(CONTENT)
    whole = made.getvalue()
    directory = whole.index(b"PK\x01\x02")
    chance = random.Random(0)
    path = tmp_path / "a.zip"
    for _ in range(1500):
        content = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            start = chance.randrange(directory if chance.random() < 0.8 else 0, len(content))
            width = chance.choice((1, 2, 4, 8))
            value = chance.choice((b"\xff" * width, bytes(width), chance.randbytes(width)))
            content[start : start + width] = value
        if chance.random() < 0.1:
            del content[chance.randrange(len(content)) :]
        path.write_bytes(content)
        with suppress(DataError):
            for member in members(path):
                with suppress(DataError):
                    assert len(read_member(member)) == member.size


def test_a_large_member_is_not_read_into_memory(tmp_path: Path) -> None:
    (member,) = members(archive(tmp_path / "a.zip", {"v.srt": CONTENT}))
    with pytest.raises(DataError, match="larger than 100 bytes"):
        read_member(member, most_bytes=100)


class FullDisk(io.BytesIO):
    def write(self, piece: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (member,) = members(archive(tmp_path / "a.zip", {"v.mp4": CONTENT}))
    plain = Path.open

    def full(self: Path, mode: str = "r", *rest: Any) -> Any:
        if "w" not in mode:
            return plain(self, mode, *rest)
        self.touch()
        return FullDisk()

    def refuse(self: Path, target: Any) -> Path:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    for name, stand_in in (("open", full), ("replace", refuse)):
        with monkeypatch.context() as patch:
            patch.setattr(Path, name, stand_in)
            with pytest.raises(StorageError, match=rf"{member.stamp}\.mp4: cannot be written: .*; free some"):
                extract(member, tmp_path / "out")
        assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (member,) = members(archive(tmp_path / "a.zip", {"v.mp4": CONTENT}))
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match=r"file/.*cannot be written.*--cache-dir"):
        extract(member, tmp_path / "file")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    if os.geteuid() != 0:  # root may write anywhere
        with pytest.raises(StorageError, match=r"closed/.*Permission denied"):
            extract(member, closed)


def test_an_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (member,) = members(archive(tmp_path / "a.zip", {"v.mp4": CONTENT}))

    def interrupted(*_: Any) -> Iterator[bytes]:
        yield CONTENT[:10]
        assert len(list((tmp_path / "out").iterdir())) == 1
        raise KeyboardInterrupt

    monkeypatch.setattr(archives, "_pieces", interrupted)
    with pytest.raises(KeyboardInterrupt):
        extract(member, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_ctrl_c_in_the_midst_of_a_large_member_leaves_nothing(tmp_path: Path) -> None:
    archive(tmp_path / "a.zip", {"v.mp4": bytes(2**20) * 8})
    code = (
        "import sys, time; from pathlib import Path; from omnieval.media import archives\n"
        "root, read = Path(sys.argv[1]), archives._read\n"
        "archives._read = lambda *all: (time.sleep(0.2), read(*all))[1]\n"
        "archives.extract(archives.members(root / 'a.zip')[0], root / 'out')"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while not list(tmp_path.glob("out/.*.tmp")) and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == -signal.SIGINT
    assert list((tmp_path / "out").iterdir()) == []


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


PARTS = st.one_of(
    st.sampled_from(["..", ".", "", "/", "\\", "C:", "a", "A", "~", "\0", ".mp4", "v.mp4", "é", "e\u0301"]),
    st.text(max_size=4),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(PARTS, min_size=1, max_size=5).map("/".join), min_size=1, max_size=3))
@example(["../v.mp4"])
@example(["v.mp4/.."])
@example(["a/v.\u212a"])  # its small letter is a plain k
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_no_accepted_name_leads_outside_the_folder(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "in" / "out"
        folder.parent.mkdir()
        with suppress(UnicodeEncodeError):  # lone surrogates are in no archive
            named(Path(place) / "a.zip", *names, content=b"content")
            try:
                found = members(Path(place) / "a.zip")
            except DataError:
                found = []
            for member in found:
                assert not Path(member.name).is_absolute()
                assert ".." not in Path(member.name).parts
                assert os.path.normpath(folder / member.name).startswith(f"{folder}")
                path = extract(member, folder)
                assert path.parent == folder
                assert path.name == f"{member.stamp}{member.suffix}"
            written = {path for path in Path(place).rglob("*") if path.is_file()}
            assert {path.parent for path in written} <= {Path(place), folder}
