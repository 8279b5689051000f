"""Tar archives are hostile too: nothing leads outside, nothing inflates without end, nothing is half read."""

from __future__ import annotations

import gzip
import io
import os
import random
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from omnieval.errors import DataError, MediaError, StorageError
from omnieval.media import tars
from omnieval.media.archives import extract, read_member
from omnieval.media.source import archived, is_there, listed, plain_file, read_small_file
from omnieval.media.tars import is_tar, tar_members

CONTENT = bytes(range(256)) * 40


def entry(name: str, content: bytes = CONTENT, **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def tar(path: Path, *entries: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> Path:
    packed = path.suffix in (".gz", ".tgz")
    with tarfile.open(path, "w:gz" if packed else "w", format=form) as made:
        for info, content in entries:
            made.addfile(info, io.BytesIO(content))
    return path


@pytest.fixture(params=["a.tar", "a.tar.gz", "a.tgz"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


@pytest.fixture(autouse=True)
def nothing_unpacked_before() -> Iterator[None]:
    tars._unpacked.cache_clear()
    yield
    tars._unpacked.cache_clear()


@pytest.mark.parametrize("name", ["a.tar", "A.TAR", "a.b.tar.gz", "a.TGZ"])
def test_a_tar_is_known_by_its_name(name: str) -> None:
    assert is_tar(Path("x") / name)


@pytest.mark.parametrize("name", ["a.zip", "a.gz", "tar", "a.tar.xz", "a.tar.part"])
def test_what_is_not_read_is_no_tar(name: str) -> None:
    assert not is_tar(Path("x.tar") / name)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_regular_files_are_listed_and_read(form: int, path: Path) -> None:
    long = "/".join(["folder" * 5] * 4) + "/v.WAV"  # of 130 characters
    folder, _ = entry("set", b"", type=tarfile.DIRTYPE)
    tar(
        path, (folder, b""), entry("./set/ü/字.wav"), entry(long, b"1"), entry("empty.wav", b""),
        entry("./.DS_Store"), entry("__MACOSX/x"), form=form,
    )  # fmt: skip
    found = {member.name: member for member in tar_members(path)}
    assert set(found) == {"./set/ü/字.wav", long, "empty.wav"}
    assert read_member(found["./set/ü/字.wav"]) == CONTENT
    assert read_member(found[long]) == b"1"
    assert read_member(found["empty.wav"]) == b""
    assert found[long].suffix == ".wav"
    assert tar_members(tar(path.with_name(f"none{''.join(path.suffixes)}"))) == []


@pytest.mark.parametrize("size", [1, 511, 512, 513, 2**20, 3 * 2**20 + 1])
def test_every_size_comes_out_whole(size: int, path: Path, tmp_path: Path) -> None:
    contents = [random.Random(size + i).randbytes(size) for i in range(2)]
    found = tar_members(tar(path, entry("1.bin", contents[0]), entry("2.bin", contents[1])))
    assert [read_member(member) for member in reversed(found)] == contents[::-1]
    assert [extract(member, tmp_path / "out").read_bytes() for member in found] == contents


def test_a_plain_archive_is_read_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tar(tmp_path / "a.tar", *(entry(f"{i}.wav", bytes([i]) * 2**20) for i in range(20)))
    read = []
    plain = tars._Headers.read
    monkeypatch.setattr(tars._Headers, "read", lambda self, size=-1: read.append(size) or plain(self, size))
    found = tar_members(path)
    assert sum(read) < 50_000
    assert read_member(found[13]) == bytes([13]) * 2**20


def test_a_packed_archive_is_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    found = tar_members(tar(tmp_path / "a.tgz", *(entry(f"{i}.wav", bytes([i])) for i in range(9))))
    monkeypatch.setattr(gzip, "open", lambda *_: pytest.fail("unpacked again"))
    assert [read_member(member) for member in found] == [bytes([i]) for i in range(9)]
    assert list((tmp_path / "temporary").iterdir()) == []  # it has no name there


def test_threads_do_not_disturb_each_other(path: Path) -> None:
    contents = [random.Random(i).randbytes(3 * 2**20) for i in range(4)]
    found = tar_members(tar(path, *(entry(f"{i}.bin", content) for i, content in enumerate(contents))))
    results: dict[int, bytes] = {}

    def take(i: int) -> None:
        results[i] = read_member(found[i])

    threads = [threading.Thread(target=take, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [results[i] for i in range(4)] == contents


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("../v.wav", "leads outside"),
        ("a/../../v.wav", "leads outside"),
        ("/etc/v.wav", "absolute"),
        ("C:/v.wav", "absolute"),
        ("a\\..\\v.wav", "backslash"),
        ("a\nb.wav", "control character"),
        ("..", "leads outside"),
        ("", "empty name"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(name: str, problem: str, path: Path) -> None:
    with pytest.raises(DataError, match=rf"{path.name}: the member .* {problem}.*; fetch it again"):
        tar_members(tar(path, entry("fine.wav"), entry(name)))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"Z"]
)
def test_links_and_devices_are_refused(kind: bytes, path: Path) -> None:
    tar(path, entry("v.wav", b"", type=kind, linkname="/etc/passwd"))
    with pytest.raises(DataError, match="is a link, a device or a sparse file"):
        tar_members(path)


def test_sparse_files_are_refused(tmp_path: Path) -> None:
    """A few bytes that claim to be many."""
    info, _ = entry("v.wav", b"")
    info.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.map": "0,0",
                        "GNU.sparse.size": str(2**40)}  # fmt: skip
    with pytest.raises(DataError, match=r"sparse file|ends before it does"):
        tar_members(tar(tmp_path / "a.tar", (info, b"")))


@pytest.mark.parametrize(
    "names", [("a/V.wav", "a/v.wav"), ("e\u0301.wav", "é.wav"), ("v.wav", "v.wav"), ("./v.wav", "v.wav")]
)
def test_names_that_are_one_file_on_some_disk_are_refused(names: tuple[str, str], path: Path) -> None:
    with pytest.raises(DataError, match="collides with"):
        tar_members(tar(path, *(entry(name) for name in names)))


def test_a_member_above_the_limit_is_refused(path: Path) -> None:
    tar(path, entry("v.wav"))
    assert len(tar_members(path, most_bytes=len(CONTENT))) == 1
    with pytest.raises(DataError, match="declares 10240 bytes, more than 10239"):
        tar_members(path, most_bytes=len(CONTENT) - 1)


def test_a_bomb_is_stopped(tmp_path: Path) -> None:
    path = tar(tmp_path / "a.tgz", entry("v.wav", bytes(50 * 2**20)))
    assert path.stat().st_size < 100_000
    with pytest.raises(DataError, match=r"a\.tgz: inflates more than 200 times, like a bomb"):
        tar_members(path)


def test_a_long_header_is_not_read(path: Path) -> None:
    info, _ = entry("v.wav", b"", pax_headers={"comment": random.Random(0).randbytes(2**18).hex()})
    with pytest.raises(DataError, match=r"not a whole tar archive \(a header of \d+ bytes\)"):
        tar_members(tar(path, (info, b"")))


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A header as no writer would make it."""
    info, _ = entry(name, b"", type=kind)
    made = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    made[124:136] = (size & (2**95 - 1) | 2**95).to_bytes(12, "big") if size >= 0 else (
        (256**12 + size).to_bytes(12, "big")
    )  # fmt: skip
    made[148:156] = b" " * 8
    made[148:156] = b"%06o\0 " % sum(made)
    return bytes(made)


@pytest.mark.parametrize("size", [-512, -1, 2**40, 2**90])
@pytest.mark.parametrize(
    "kind", [tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.GNUTYPE_SPARSE, b"Z"]
)
def test_sizes_that_cannot_be_are_refused(kind: bytes, size: int, tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(tar(tmp_path / "b.tar", entry("v.wav")).read_bytes()[:10_752] + header("x", size, kind))
    with pytest.raises(DataError, match=r"a\.tar: "):
        tar_members(path)


def test_a_chain_of_headers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(header("x", 0, tarfile.GNUTYPE_LONGNAME) * 5000 + bytes(10_240))
    with pytest.raises(DataError, match="not a whole tar archive"):
        tar_members(path)


@pytest.mark.parametrize("left", [0, 100, 512, 1000, 512 + 10_240, 512 + 10_240 + 100])
def test_what_is_cut_short_is_refused(left: int, tmp_path: Path) -> None:
    whole = tar(tmp_path / "whole.tar", entry("v.wav"), entry("w.wav")).read_bytes()
    (tmp_path / "a.tar").write_bytes(whole[:left])
    with pytest.raises(
        DataError, match=r"a\.tar: (not a whole tar archive|the member 'v\.wav' is not whole)"
    ):
        tar_members(tmp_path / "a.tar")
    (tmp_path / "b.tgz").write_bytes(gzip.compress(whole)[:-20])
    with pytest.raises(DataError, match=r"b\.tgz: not a whole tar archive"):
        tar_members(tmp_path / "b.tgz")


def test_what_is_no_archive_is_an_error(tmp_path: Path) -> None:
    for name in ("text.tar", "text.tgz"):
        (tmp_path / name).write_text("no tar, but long enough to be taken for a header " * 40)
        with pytest.raises(DataError, match=f"{name}: not a whole tar archive"):
            tar_members(tmp_path / name)
    with pytest.raises(DataError, match="no such archive"):
        tar_members(tmp_path / "missing.tar")
    os.mkfifo(tmp_path / "pipe.tar")
    (tmp_path / "folder.tar").mkdir()
    for name in ("pipe.tar", "folder.tar"):
        with pytest.raises(DataError, match=f"{name}: not a file"):
            tar_members(tmp_path / name)


def test_a_plain_archive_with_the_name_of_a_packed_one_is_read(tmp_path: Path) -> None:
    path = tar(tmp_path / "a.tar", entry("v.wav")).rename(tmp_path / "a.tar.gz")
    assert read_member(tar_members(path)[0]) == CONTENT


def test_an_archive_that_changed_since_it_was_listed_is_not_read(path: Path, tmp_path: Path) -> None:
    (member,) = tar_members(tar(path, entry("v.wav")))
    tar(path, entry("v.wav", CONTENT[:-1]))
    for take in (read_member, lambda member: extract(member, tmp_path / "out")):
        with pytest.raises(DataError, match=r"'v\.wav' is not what it was"):
            take(member)
    assert not (tmp_path / "out").exists()


def test_an_archive_that_is_cut_while_it_is_read_is_damaged(tmp_path: Path) -> None:
    path = tar(tmp_path / "a.tar", entry("v.wav", bytes(3 * 2**20)))
    (member,) = tar_members(path)
    with member.content() as content, pytest.raises(DataError, match=r"'v\.wav' is damaged \(shorter"):
        next(content)
        os.truncate(path, 2**20)
        list(content)


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tar(tmp_path / "a.tgz", entry("v.wav", random.Random(0).randbytes(2**20)))

    def full() -> Any:
        return Path("/dev/full").open("w+b", buffering=0)

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(StorageError, match=r"a\.tgz: cannot be unpacked into .*No space left.*TMPDIR"):
        tar_members(path)


def test_no_damage_is_anything_but_an_error_of_ours(tmp_path: Path) -> None:
    """Archives with random bytes replaced or cut off, mostly in headers."""
    name = "ü" * 120 + ".wav"
    info, content = entry("b/c.wav", CONTENT[:700], mtime=1.5)
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        whole = tar(
            tmp_path / "w.tar", entry(name, b"x" * 600), (info, content), entry("e", b""), form=form
        ).read_bytes()
        chance = random.Random(0)
        path = tmp_path / "a.tar"
        for _ in range(1000):
            damaged = bytearray(whole)
            for _ in range(chance.randint(1, 3)):
                start = chance.randrange(512) + 512 * chance.randrange(len(whole) // 512)
                width = chance.choice((1, 2, 4, 8, 12))
                value = chance.choice(
                    (b"\xff" * width, bytes(width), chance.randbytes(width), b"\x80" * width)
                )
                damaged[start : start + width] = value
            if chance.random() < 0.1:
                del damaged[chance.randrange(len(damaged)) :]
            path.write_bytes(damaged)
            with suppress(DataError):
                for member in tar_members(path):
                    with suppress(DataError):
                        assert len(read_member(member)) == member.size


def test_a_member_is_named_as_if_the_archive_were_a_folder(path: Path, tmp_path: Path) -> None:
    tar(path, entry("./set/en/meta.lst", b"a|b"), entry("set/en/v.wav"))
    wav = path / "set" / "en" / "v.wav"
    member = archived(wav)
    assert member is not None
    assert member.name == "set/en/v.wav"
    assert read_small_file(path / "set/en/meta.lst") == b"a|b"
    assert {member.name for member in listed(path)} == {"./set/en/meta.lst", "set/en/v.wav"}
    with plain_file(wav, tmp_path / "scratch") as taken_out:
        assert taken_out.read_bytes() == CONTENT
        assert taken_out.suffix == ".wav"
    assert not taken_out.exists()
    assert is_there(wav)
    assert not is_there(path / "set/en/w.wav")
    with pytest.raises(MediaError, match=r"w\.wav: the archive has no such member"):
        archived(path / "set/en/w.wav")


def test_a_folder_with_the_name_of_an_archive_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.tar").mkdir()
    assert archived(tmp_path / "a.tar" / "v.wav") is None


def test_a_damaged_archive_is_an_error_of_its_media(path: Path) -> None:
    path.write_bytes(b"\x1f\x8b but no more")
    with pytest.raises(MediaError, match="not a whole tar archive"):
        read_small_file(path / "v.wav")
