"""The viewer as a process: ended, killed and begun again, with folders that cannot be written, without its extra."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from omnieval.media.encode import encode_wav
from tests.command import command, environment, omnieval, start
from tests.runs import choice_run, many_questions

# Python whose import of one package fails as where it was never installed.
WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "{package}":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
from omnieval.__main__ import main
main()
"""


class Visitor:
    """A browser's part: it shows the token once and then the cookie."""

    def __init__(self, viewer: subprocess.Popen[str]) -> None:
        assert viewer.stdout is not None
        told = []
        while not told or not told[-1].startswith("http://"):
            line = viewer.stdout.readline()
            assert line, told
            told.append(line.strip())
        self.told = told[:-1]
        self._address = urlsplit(told[-1]).netloc
        self._cookie = ""
        _, headers, _ = self.get(f"/?{urlsplit(told[-1]).query}")
        self._cookie = headers["set-cookie"].partition(";")[0]

    def get(self, url: str) -> tuple[int, http.client.HTTPMessage, str]:
        connection = http.client.HTTPConnection(self._address, timeout=60)
        connection.request("GET", url, headers={"cookie": self._cookie})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()

    def first_run(self) -> str:
        """The URL of the first run in the list."""
        _, _, text = self.get("/")
        return "/run/" + text.partition('href="/run/')[2].partition('"')[0]


Viewing = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def viewing(tmp_path: Path) -> Iterator[Viewing]:
    """Starts viewers of tmp_path/runs that no test leaves behind."""
    viewers = []

    def started(**extra: str) -> subprocess.Popen[str]:
        extra = {"XDG_CACHE_HOME": str(tmp_path / "cache"), **extra}
        viewers.append(start("view", tmp_path / "runs", "--no-browser", **extra))
        return viewers[-1]

    yield started
    for viewer in viewers:
        viewer.kill()
        viewer.communicate()


def until_made(visitor: Visitor, url: str) -> str:
    for _ in range(100):
        status, _, text = visitor.get(url)
        if status != 503:
            assert status == 200, text
            return text
    pytest.fail("the index is never there", pytrace=False)


def test_killed_while_it_indexes_it_begins_anew(tmp_path: Path, viewing: Viewing) -> None:
    many_questions(tmp_path / "runs" / "a", 40_000)
    folder = tmp_path / "cache" / "omnieval" / "view"
    killed = viewing()
    visitor = Visitor(killed)
    assert visitor.get(visitor.first_run())[0] == 503
    killed.kill()
    killed.wait()
    assert [path.suffix for path in folder.iterdir()] == [".tmp"]
    visitor = Visitor(viewing())
    assert "of 40,000" in until_made(visitor, visitor.first_run())


def test_ended_while_it_indexes_it_leaves_nothing(tmp_path: Path, viewing: Viewing) -> None:
    many_questions(tmp_path / "runs" / "a", 40_000)
    viewer = viewing()
    visitor = Visitor(viewer)
    assert visitor.get(visitor.first_run())[0] == 503
    viewer.send_signal(signal.SIGINT)
    rest, _ = viewer.communicate(timeout=20)
    assert viewer.returncode == 0, rest
    assert "Traceback" not in rest
    left = list((tmp_path / "cache" / "omnieval" / "view").iterdir())
    # A fast machine may have finished it.
    assert all(re.fullmatch(r"[0-9a-f]+\.sqlite", path.name) for path in left), left


def test_a_named_cache_holds_the_index_and_a_read_only_run_nothing(tmp_path: Path, viewing: Viewing) -> None:
    run = choice_run(tmp_path / "runs" / "a", ["wrong"]).directory
    before = sorted(path.name for path in run.iterdir())
    run.chmod(0o555)
    visitor = Visitor(viewing(OMNIEVAL_CACHE_DIR=str(tmp_path / "named")))
    assert "of 1" in until_made(visitor, visitor.first_run())
    assert len(list((tmp_path / "named" / "view").glob("*.sqlite"))) == 1
    assert sorted(path.name for path in run.iterdir()) == before


def test_without_a_cache_folder_the_index_lives_as_long_as_the_viewer(
    tmp_path: Path, viewing: Viewing
) -> None:
    choice_run(tmp_path / "runs" / "a", ["wrong"])
    (tmp_path / "file").touch()
    viewer = viewing(XDG_CACHE_HOME=str(tmp_path / "file"), TMPDIR=str(tmp_path))
    visitor = Visitor(viewer)
    (told,) = visitor.told
    assert "cannot be written (Not a directory)" in told
    assert "of 1" in until_made(visitor, visitor.first_run())
    assert list(tmp_path.glob("omnieval-view-*/*.sqlite"))
    viewer.send_signal(signal.SIGINT)
    viewer.communicate(timeout=20)
    assert not list(tmp_path.glob("omnieval-view-*"))


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_without_the_extra_the_command_to_install_it_is_told(tmp_path: Path, package: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(package=package), "view", str(tmp_path)],
        env=environment(), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert "pip install 'omnieval[view]'" in done.stderr
    assert "Traceback" not in done.stderr


# Root may read anything, unless it gives that up.
BOUND = ("setpriv", "--inh-caps=-all", "--bounding-set=-all") if os.geteuid() == 0 else ()


@pytest.mark.skipif(
    bool(BOUND) and shutil.which("setpriv") is None, reason="permissions do not bind root here"
)
def test_what_may_not_be_read_is_told(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    (runs / "closed").mkdir(parents=True)
    locked, mute = (choice_run(runs / name, ["wrong"]).directory for name in ("locked", "mute"))
    sound = mute / "audio" / "a.wav"
    sound.parent.mkdir()
    sound.write_bytes(encode_wav(np.zeros(1600, dtype=np.float32)))
    told = {"rate_hz": 16_000, "channels": 1, "frames": 1600, "file": "audio/a.wav"}
    responses = mute / "responses.jsonl"
    responses.write_text(json.dumps(json.loads(responses.read_text()) | {"audio": told}) + "\n")
    for path in (runs / "closed", locked / "run.json", sound):
        path.chmod(0)
    viewer = subprocess.Popen(
        [*BOUND, *command("view", runs, "--no-browser")], env=environment(XDG_CACHE_HOME=str(tmp_path / "cache")),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        visitor = Visitor(viewer)
        page = visitor.get("/")[2]
        assert f"{runs}/closed: cannot be read (Permission denied)" in page
        assert f"{locked}/run.json" in page
        assert "Permission denied" in page.partition("<bdi>locked</bdi>")[2]
        url = "/run/" + page.partition("<bdi>mute</bdi>")[0].rpartition('href="/run/')[2].partition('"')[0]
        assert "of 1" in until_made(visitor, url)
        assert visitor.get(f"{url}/sample/0")[0] == 200
        status, _, text = visitor.get(f"{url}/sample/0/media/0")
        assert status == 404
        assert "Permission denied" in text
        runs.chmod(0o300)
        assert f"{runs}: cannot be read (Permission denied)" in visitor.get("/")[2]
    finally:
        runs.chmod(0o700)
        viewer.send_signal(signal.SIGINT)
        rest, _ = viewer.communicate(timeout=20)
    assert viewer.returncode == 0
    assert "Traceback" not in rest


def test_a_folder_without_runs_is_told_beside_the_url(tmp_path: Path, viewing: Viewing) -> None:
    (tmp_path / "runs").mkdir()
    viewer = viewing()
    Visitor(viewer)
    viewer.send_signal(signal.SIGINT)
    rest, _ = viewer.communicate(timeout=20)
    assert f"There is no run directory in {tmp_path}/runs yet" in rest


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    done = omnieval("view", tmp_path / "nowhere", "--no-browser")
    assert done.returncode == 2
    assert f"{tmp_path}/nowhere: no such folder; name a run directory or a folder of them" in done.stderr
