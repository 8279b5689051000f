"""A real headless Chromium for tests marked `browser`, with what it was shown kept as pictures.

The browser is Debian's package `chromium` (or what OMNIEVAL_CHROMIUM names), driven by Playwright, whose own
downloads are never used. Pictures go to `artefacts/`, which git ignores.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ARTEFACTS = Path(__file__).parents[2] / "artefacts"
PHONE, DESKTOP = 360, 1280
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

    def opened(
        url: str, *, width: int = DESKTOP, height: int = 900, scheme: Literal["light", "dark"] = "light"
    ) -> Page:
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


def scrolls_sideways(page: Page) -> bool:
    """Whether the page is wider than its window."""
    wider: bool = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return wider
