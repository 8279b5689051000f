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


def until(page: Page, expression: str) -> None:
    """Wait for an expression to be true (a strict policy forbids the evaluation that Playwright's own wait uses)."""
    for _ in range(100):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    pytest.fail(f"never true: {expression}", pytrace=False)


@dataclass
class Heard:
    """asked: URLs that a page asked for. errors: what it wrote to the console as such."""

    asked: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def watched(page: Page) -> Heard:
    """What a page asks for and complains of from now on."""
    heard = Heard()
    page.on("request", lambda request: heard.asked.append(request.url))
    page.on("console", lambda line: heard.errors.append(line.text) if line.type == "error" else None)
    return heard


def focusable_by_tab(page: Page) -> list[str]:
    """What the Tab key reaches in turn, from the page's title on, as "ELEMENT name"; a player's own buttons are
    the player."""
    page.locator("h1").click()
    reached: list[str] = []
    for _ in range(400):
        page.keyboard.press("Tab")
        at: str = page.evaluate(_FOCUSED)
        if at.startswith("BODY") or (at in reached and at != reached[-1]):
            break
        if at not in reached:
            reached.append(at)
    return reached


_FOCUSED = """() => {
  const e = document.activeElement, label = e.labels?.[0]?.firstChild?.textContent;
  return `${e.tagName} ${e.getAttribute("aria-label") ?? label ?? e.innerText ?? ""}`.trim();
}"""


def pale_texts(page: Page) -> list[str]:
    """Texts with less contrast than WCAG 2.2, 1.4.3 (AA) asks for: 4.5, or 3 where they are large."""
    found: list[str] = page.evaluate(_PALE)
    return found


# Colours as they are shown: those of the ancestors laid over each other, from the page's own ground.
_PALE = """() => {
  const read = (css) => { const v = css.match(/[\\d.]+/g).map(Number); return [v[0], v[1], v[2], v[3] ?? 1]; };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    const above = [];
    for (let at = e; at; at = at.parentElement) above.push(read(getComputedStyle(at).backgroundColor));
    return above.reduceRight((under, top) => over(top, under), [255, 255, 255, 1]);
  };
  const pale = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const e = node.parentElement, style = getComputedStyle(e);
    if (!node.data.trim() || !e.checkVisibility() || e.closest("caption, script, style")) continue;
    const under = ground(e), [a, b] = [light(over(read(style.color), under)), light(under)];
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < (large ? 3 : 4.5)) pale.push(`${ratio.toFixed(2)}: ${e.tagName} ${node.data.trim().slice(0, 40)}`);
  }
  return pale;
}"""
