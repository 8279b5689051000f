"""Data sets from a hub on loopback, through the hubs' own libraries and their own settings."""

from __future__ import annotations

import json
import random
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import command, environment, omnieval
from tests.daily_omni_parquet import media_of, row, write_shards
from tests.faults.hub import FakeHub

HUBS = ("modelscope", "huggingface")
REPO = "MTEB/Daily-Omni"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    """The parquet release of Daily-Omni, small."""
    media = media_of(tmp_path, "v1")
    release = write_shards(tmp_path / "release", [[row("v1", media, f"q{i}")] for i in range(3)])
    files = {path.relative_to(release).as_posix(): path.read_bytes() for path in release.rglob("*.parquet")}
    with FakeHub(REPO, files | {"README.md": b"x"}) as running:
        yield running


def settings(hub: FakeHub | str, home: Path) -> dict[str, str]:
    """Both libraries pointed at the hub, with a home of their own."""
    url = hub if isinstance(hub, str) else hub.url
    return {
        "HF_ENDPOINT": url, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1",
        "MODELSCOPE_ENDPOINT": url, "MODELSCOPE_CACHE": str(home), "MODELSCOPE_HOME": str(home), "HOME": str(home),
        "no_proxy": "127.0.0.1",
    }  # fmt: skip


def pull(
    hub: FakeHub | str, name: str, dst: Path, *more: str, **extra: str
) -> subprocess.CompletedProcess[str]:
    arguments = ["data", "pull", "daily-omni", "--hub", name, "--repo", REPO, "--files", "data/*.parquet"]
    return omnieval(*arguments, "--dst", dst, *more, **settings(hub, dst.parent / "home"), **extra)


@pytest.mark.parametrize("name", HUBS)
def test_a_data_set_is_fetched_whole_and_only_once(name: str, hub: FakeHub, tmp_path: Path) -> None:
    dst = tmp_path / "dst"
    done = pull(hub, name, dst, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["files"], result["fetched"], result["repo"]) == (3, 3, REPO)
    assert result["next"] == f"omnieval data convert daily-omni --src {dst} --dst DIR"
    assert "3 of 3 files to fetch" in done.stderr
    wanted = {name: content for name, content in hub.files.items() if name != "README.md"}
    assert {name: (dst / name).read_bytes() for name in wanted} == wanted
    assert not (dst / "README.md").exists()
    hub.sent.clear()
    (dst / "data/test-00001-of-00003.parquet").unlink()
    again = pull(hub, name, dst, "--json")
    assert json.loads(again.stdout)["fetched"] == 1, again.stderr
    assert {path for path, _, _ in hub.sent} == {"data/test-00001-of-00003.parquet"}
    assert json.loads(pull(hub, name, dst, "--json").stdout)["fetched"] == 0
    converted = omnieval("data", "convert", "daily-omni", "--src", dst, "--dst", tmp_path / "out", "--strict")
    assert converted.returncode == 0 and "3 rows, 1 video" in converted.stdout


@pytest.mark.parametrize("name", HUBS)
@pytest.mark.parametrize(
    ("status", "told"), [(404, "it is not found, or private"), (403, "it is gated"), (401, "set ")]
)
def test_what_the_hub_refuses_is_told_with_what_to_do(
    status: int, told: str, name: str, hub: FakeHub, tmp_path: Path
) -> None:
    hub.denied = status
    done = pull(hub, name, tmp_path / "dst")
    assert done.returncode == 3, done.stdout + done.stderr
    assert told in done.stderr and "Traceback" not in done.stderr
    assert f"by hand and put them into {tmp_path / 'dst'}" in done.stderr
    assert ("HF_TOKEN" if name == "huggingface" else "MODELSCOPE_API_TOKEN") in done.stderr


# The library of ModelScope waits for 7 s in all between its tries.
@pytest.mark.parametrize("name", [pytest.param("modelscope", marks=pytest.mark.slow), "huggingface"])
def test_no_network_is_told(name: str, tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound and not listening: refused
        done = pull(f"http://127.0.0.1:{nobody.getsockname()[1]}", name, tmp_path / "dst")
    assert done.returncode == 3
    setting = "HF_ENDPOINT" if name == "huggingface" else "MODELSCOPE_ENDPOINT"
    assert "cannot be fetched: " in done.stderr and f"({setting} names a mirror)" in done.stderr
    assert "Traceback" not in done.stderr


def test_offline_mode_is_told_even_where_half_is_there(hub: FakeHub, tmp_path: Path) -> None:
    (tmp_path / "dst" / "data").mkdir(parents=True)
    (tmp_path / "dst" / "data" / "test-00000-of-00003.parquet").write_bytes(b"half")
    done = pull(hub, "huggingface", tmp_path / "dst", HF_HUB_OFFLINE="1")
    assert done.returncode == 3
    assert "offline mode is on: unset HF_HUB_OFFLINE" in done.stderr


@pytest.mark.parametrize("name", HUBS)
def test_a_repository_without_the_files_and_an_unknown_revision(
    name: str, hub: FakeHub, tmp_path: Path
) -> None:
    del hub.files["data/test-00000-of-00003.parquet"]
    other = pull(hub, name, tmp_path / "dst", "--files", "qa.json")
    assert other.returncode == 3
    assert "expected qa.json, found README.md, data/test-00001" in other.stderr
    if name == "huggingface":
        done = pull(hub, name, tmp_path / "dst", "--revision", "v9")
        assert done.returncode == 3 and "it has no such revision" in done.stderr


@pytest.mark.parametrize("name", HUBS)
def test_a_connection_that_breaks_costs_one_piece_at_most(name: str, hub: FakeHub, tmp_path: Path) -> None:
    large = random.Random(0).randbytes(30_000_000)
    hub.files = {"data/test-00000-of-00001.parquet": large}
    hub.cut_after = 20_000_000
    done = pull(hub, name, tmp_path / "dst", "--json")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "dst/data/test-00000-of-00001.parquet").read_bytes() == large
    assert len(hub.sent) >= 2 and hub.sent[-1][1] > 0
    # huggingface_hub keeps what it has in pieces of 10 MiB.
    assert sum(count for _, _, count in hub.sent) <= len(large) + 10 * 2**20


@pytest.mark.parametrize("name", HUBS)
def test_a_killed_pull_goes_on(name: str, hub: FakeHub, tmp_path: Path) -> None:
    large = random.Random(0).randbytes(40_000_000)
    hub.files = {f"data/test-0000{i}-of-00003.parquet": large for i in range(3)}
    dst = tmp_path / "dst"
    arguments = ["data", "pull", "daily-omni", "--hub", name, "--repo", REPO, "--files", "data/*.parquet"]
    process = subprocess.Popen(
        command(*arguments, "--dst", dst),
        env=environment(**settings(hub, tmp_path / "home")),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not hub.sent:
        assert process.poll() is None
    process.kill()
    process.wait()
    done = pull(hub, name, dst, "--json")
    assert done.returncode == 0, done.stderr
    assert all((dst / path).read_bytes() == large for path in hub.files)


def disk(folder: Path, size: str, how: str = "rw") -> None:
    folder.mkdir()
    options = f"size={size},{how}"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("this machine permits no tmpfs of our own")


@pytest.mark.parametrize("name", HUBS)
@pytest.mark.parametrize(
    ("size", "how", "told"),
    [("1m", "rw", "4 MB are to be fetched, and 1.05 MB are free"), ("9m", "ro", "Read-only file system")],
)
def test_a_disk_that_does_not_take_the_files_is_told_before_they_come(
    size: str, how: str, told: str, name: str, hub: FakeHub, tmp_path: Path
) -> None:
    hub.files = {"data/test-00000-of-00001.parquet": bytes(4_000_000)}
    disk(tmp_path / "disk", size, how)
    try:
        done = pull(hub, name, tmp_path / "disk")
    finally:
        subprocess.run(["umount", tmp_path / "disk"], check=True)
    assert done.returncode == 1
    assert f"{tmp_path / 'disk'}: " in done.stderr and told in done.stderr
    assert "name another folder" in done.stderr and "network" not in done.stderr
    assert not hub.sent


def test_the_hub_that_has_the_data_set_is_the_default(hub: FakeHub, tmp_path: Path) -> None:
    settings_of = settings(hub, tmp_path / "home")
    for name, repo in (
        ("video-mme", "lmms-lab/Video-MME (huggingface)"),
        ("seed-tts", "CowboyZ/seed-tts-eval (modelscope)"),
    ):
        done = omnieval("data", "pull", name, "--dst", tmp_path / "dst", **settings_of)
        assert done.returncode == 3 and f"{repo}: cannot be fetched: it is not found" in done.stderr


def test_names_that_are_unknown_are_told(tmp_path: Path) -> None:
    for arguments, told in (
        (("daily-omin",), "did you mean 'daily-omni'"),
        (("daily-omni", "--hub", "modelscop"), "did you mean 'modelscope'"),
        (("daily-omni", "--repo", "x"), "expected ORGANISATION/NAME"),
        (("video-mme", "--hub", "modelscope"), "take --hub huggingface, or give --repo and --files"),
    ):
        done = omnieval("data", "pull", *arguments, "--dst", tmp_path)
        assert done.returncode == 2 and told in done.stderr, done.stderr
