"""Every kind of HTML report in a real browser: whole, legible, quiet, on paper, and within reach of a keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.browser import Heard, OpenPage, keep_picture, looked_at, watched
from tests.integration.looks import PAPER, missed_by_tab, pale_texts, scrolls_sideways
from tests.integration.report_pages import REPORT_PAGES, Words, write_report_pages
from tests.unit.test_html import ATTACK

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_report_pages(tmp_path_factory.mktemp("reports"))


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages about runs in which everything that a model, a data set, a server or a folder can say is hostile."""
    named = "<img src=x onerror=alert(5)>\u202e"
    words = Words(
        question=ATTACK, options=(ATTACK, "b", "c", "d"), replies=(f"B {ATTACK}", "B" + "x" * 100_000), model=ATTACK,
        kinds=(ATTACK, named), sample=named, folder=named, root=f"/data/{named}", failure=ATTACK,
    )  # fmt: skip
    return write_report_pages(tmp_path_factory.mktemp("attacked"), words)


def _opened(open_page: OpenPage, file: Path) -> tuple[Page, str, Heard]:
    """A page with its address, watched from its first load."""
    page = open_page("about:blank")
    heard = watched(page)
    page.goto(file.as_uri())
    return page, file.as_uri(), heard


def _unfold(page: Page) -> None:
    """The first of what can be unfolded."""
    for fold in page.locator("details").all()[:6]:
        fold.locator("summary").click()


INJECTED = (
    "article script, img, iframe, object, embed, form, base, meta[http-equiv=refresh], [onclick], [onerror], [onload], "
    "a[href^='javascript' i], a[href^='data' i]"
)


@pytest.mark.parametrize("name", REPORT_PAGES)
def test_hostile_text_is_text_on_every_report(
    attacked: dict[str, Path], open_page: OpenPage, name: str
) -> None:
    page, url, heard = _opened(open_page, attacked[name])
    _unfold(page)
    assert page.locator(INJECTED).count() == 0
    if name != "suite-gate":  # which names members and lines alone
        assert page.get_by_text("alert(").first.is_visible(), "it is shown as it is"
    assert not scrolls_sideways(page)
    assert heard.console == []
    assert heard.asked == [url]
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<b onclick=alert(6)>strange</b>')")
    page.get_by_text("strange").click()
    assert heard.console and all("Content Security Policy" in line for line in heard.console)


@pytest.mark.parametrize("name", REPORT_PAGES)
def test_every_report_is_whole_legible_and_quiet(
    places: dict[str, Path], open_page: OpenPage, name: str
) -> None:
    page, url, heard = _opened(open_page, places[name])
    looked_at(page, f"report-{name}")
    _unfold(page)
    looked_at(page, f"report-{name}-open")
    assert page.locator("h1").count() == page.locator("article").count() > 0
    assert heard.console == []
    assert heard.asked == [url]


@pytest.mark.parametrize("name", REPORT_PAGES)
def test_every_report_is_within_reach_of_a_keyboard(
    places: dict[str, Path], open_page: OpenPage, name: str
) -> None:
    page = open_page(places[name].as_uri())
    assert missed_by_tab(page) == []
    for fold in page.locator("summary").all()[:1]:
        fold.focus()
        page.keyboard.press("Enter")
        assert page.locator("details[open]").count() == 1


@pytest.mark.parametrize("name", REPORT_PAGES)
def test_every_report_is_whole_on_paper(places: dict[str, Path], open_page: OpenPage, name: str) -> None:
    page = open_page(places[name].as_uri(), width=PAPER, scheme="dark")
    folds = page.locator("details > :not(summary)").all()
    assert not any(fold.is_visible() for fold in folds)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert all(fold.is_visible() for fold in folds)
    assert page.locator("nav:visible").count() == 0
    assert not scrolls_sideways(page)
    assert pale_texts(page) == []
    keep_picture(page, f"report-{name}-paper")
    assert page.pdf(format="A4").startswith(b"%PDF")
