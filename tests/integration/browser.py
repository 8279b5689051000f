"""A real headless Chromium for tests marked `browser`, with what it was shown kept as pictures.

The browser is Debian's package `chromium` (or what OMNIEVAL_CHROMIUM names), driven by Playwright, whose own
downloads are never used. Pictures go to `artefacts/`, which git ignores.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.looks import DESKTOP, PHONE, SCHEMES, Scheme, pale_texts, scrolls_sideways

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ARTEFACTS = Path(__file__).parents[2] / "artefacts"
_NAMES = ("chromium", "chromium-browser", "google-chrome")

OpenPage = Callable[..., "Page"]


def chromium_path() -> str:
    """Where the browser is; fails the test with the next step where there is none."""
    named = os.environ.get("OMNIEVAL_CHROMIUM")
    found = next(filter(None, map(shutil.which, [named] if named else _NAMES)), None)
    if found is None:
        pytest.fail(
            f"no {named or 'chromium'} on this machine; `apt-get install chromium` as root (`make test-all` does it "
            'then), name one with OMNIEVAL_CHROMIUM, or leave these tests out with -m "not browser"',
            pytrace=False,
        )
    return found


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of a process."""
    from playwright.sync_api import sync_playwright

    path = chromium_path()
    with sync_playwright() as playwright:
        # Containers have neither user namespaces for the sandbox nor a large /dev/shm.
        running = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield running
        running.close()


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[OpenPage]:
    """Opens a URL in a profile of its own: `open_page(url, width=PHONE, scheme="dark")`.

    A page may raise no script error and open no dialog, so that an attack that runs is a failure of the test.
    """
    contexts, told = [], []

    def opened(url: str, *, width: int = DESKTOP, height: int = 900, scheme: Scheme = "light") -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=False
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: told.append(f"script error: {error}"))

        def dialog_opened(dialog: object) -> None:
            told.append(f"dialog: {dialog}")
            dialog.dismiss()  # type: ignore[attr-defined]

        page.on("dialog", dialog_opened)
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert told == []


def keep_picture(page: Page, name: str, *, whole: bool = True) -> Path:
    """A picture of the page as `artefacts/{name}.png`."""
    ARTEFACTS.mkdir(exist_ok=True)
    path = ARTEFACTS / f"{name}.png"
    page.screenshot(path=path, full_page=whole)
    return path


def looked_at(page: Page, name: str) -> None:
    """A page narrow and wide, light and dark, in pictures: nothing hangs out of the window, every text is
    legible."""
    for width in (PHONE, DESKTOP):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            keep_picture(page, f"{name}-{width}-{scheme}")
            assert not scrolls_sideways(page), (width, scheme)
            assert pale_texts(page) == [], (width, scheme)


def until(page: Page, expression: str) -> None:
    """Wait for an expression to be true (a strict policy forbids the evaluation that Playwright's own wait uses)."""
    for _ in range(100):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    pytest.fail(f"never true: {expression}", pytrace=False)


@dataclass
class Heard:
    """asked: URLs that a page asked for. console: what was written there, of whatever kind."""

    asked: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)


def watched(page: Page) -> Heard:
    """What a page asks for and says from now on; of a blank one, from its first load."""
    heard = Heard()
    page.on("request", lambda request: heard.asked.append(request.url))
    page.on("console", lambda line: heard.console.append(f"{line.type}: {line.text}"))
    return heard
