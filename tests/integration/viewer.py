"""A viewer that runs as a process, for tests that look through a browser."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from omnieval.view.folders import find_runs
from omnieval.view.index import Indexer
from tests.command import start

if TYPE_CHECKING:
    from playwright.sync_api import Page


@dataclass(frozen=True)
class Viewer:
    """url: as printed, with its token. runs: the folder that is shown. indices: where its indices lie."""

    url: str
    runs: Path
    indices: Path

    @property
    def host(self) -> str:
        """Where its pages begin, without the token."""
        return self.url.partition("/?")[0]

    @property
    def token(self) -> str:
        return self.url.partition("token=")[2]

    def id(self, name: str) -> str:
        """Of a run, as its pages' addresses have it."""
        return next(place.id for place in find_runs(self.runs).values() if place.name == name)

    def run(self, name: str, rest: str = "") -> str:
        """The address of a run's page, or of one below it."""
        return f"{self.host}/run/{self.id(name)}{rest}"

    def index(self, name: str) -> Path:
        """The index of a run."""
        place = next(place for place in find_runs(self.runs).values() if place.name == name)
        return Indexer(self.indices).place(place.path)


@contextlib.contextmanager
def viewing(runs: Path, cache: Path) -> Iterator[Viewer]:
    """`omnieval view` of a folder. It must end by Ctrl-C without a complaint, and tell its token only once."""
    process = start("view", runs, "--no-browser", OMNIEVAL_CACHE_DIR=str(cache))
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://"), url + process.stdout.read()
        yield Viewer(url, runs, cache / "view")
    finally:
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=20)
    assert process.returncode == 0, rest
    assert "token=" not in rest
    assert "Traceback" not in rest


def await_index(page: Page, url: str) -> None:
    """Ask for a page of the viewer until the index behind it is there, without showing it."""
    answer = page.request.get(url)
    while answer.status == 503:
        page.wait_for_timeout(200)
        answer = page.request.get(url)
    assert answer.ok, (url, answer.status)


def open_indexed(page: Page, url: str) -> None:
    """Open a page of the viewer, once the index behind it is there."""
    await_index(page, url)
    page.goto(url)
