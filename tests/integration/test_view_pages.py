"""Every page of the viewer in a real browser, narrow and wide, light and dark: whole, legible, quiet, and within
reach of a keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.command import omnieval
from tests.integration.browser import OpenPage, looked_at, watched
from tests.integration.looks import focusable_by_tab, missed_by_tab
from tests.integration.view_pages import PAGES, address, write_view_runs
from tests.integration.viewer import Viewer, await_index, open_indexed, viewing
from tests.runs import many_questions

if TYPE_CHECKING:
    from playwright.sync_api import Route

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory, cache_dir: Path) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("pages")
    runs = folder / "runs"
    done = omnieval(
        "run", "daily-omni", "--sample", "--backend", "chance", "--cache-dir", cache_dir, "--out", runs / "asked"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    write_view_runs(runs)
    many_questions(runs / "large", 40_000)
    with viewing(runs, folder / "cache") as found:
        yield found


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_whole_legible_and_quiet(viewer: Viewer, open_page: OpenPage, name: str) -> None:
    page = open_page("about:blank")
    heard = watched(page)
    page.goto(viewer.url)
    url = address(viewer, name)
    await_index(page, url)
    page.goto(url, wait_until="networkidle")
    looked_at(page, f"view-{name}")
    assert page.locator("h1").count() == 1
    assert heard.console == []
    assert [url for url in heard.asked if not url.startswith(viewer.host)] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_within_reach_of_a_keyboard(viewer: Viewer, open_page: OpenPage, name: str) -> None:
    page = open_page(viewer.url)
    open_indexed(page, address(viewer, name))
    assert missed_by_tab(page) == []


def test_a_page_of_a_run_that_is_gone_says_so(viewer: Viewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url)
    answer = page.goto(f"{viewer.host}/run/0123456789ab")
    assert answer is not None
    assert answer.status == 404
    assert page.get_by_text("No such run any more").is_visible()
    looked_at(page, "view-gone")


def test_a_page_that_waits_for_its_index_tells_how_far_it_is(viewer: Viewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url)
    held: list[bool] = []

    def hold(route: Route) -> None:
        """Let the page be as it is at first, however long one looks at it."""
        answer = route.fetch()
        held.append("refresh" in answer.headers)
        route.fulfill(response=answer, headers={k: v for k, v in answer.headers.items() if k != "refresh"})

    page.route("**/run/*", hold)
    page.goto(viewer.run("large"))
    assert held == [True]
    assert page.get_by_role("progressbar").count() == 1
    looked_at(page, "view-waiting")
    page.unroute("**/run/*")
    page.reload()
    page.get_by_role("table", name="Samples").wait_for(timeout=60_000)
    assert page.get_by_text("of 40,000").count() > 0


def test_a_keyboard_reaches_filter_rows_and_players(viewer: Viewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url)
    open_indexed(page, viewer.run("asked"))
    reached = focusable_by_tab(page)
    assert {"SELECT Show", "SELECT Order", "INPUT Text", "BUTTON Filter"} <= set(reached)
    rows = page.locator("tbody th a").all_inner_texts()
    assert [name.removeprefix("A ") for name in reached if name.removeprefix("A ") in rows] == rows
    page.get_by_role("searchbox", name="Text").focus()
    page.keyboard.type("no such words")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=no+such+words**")
    assert page.locator("tbody tr").count() == 0
    open_indexed(page, viewer.run("asked", "/sample/0"))
    page.get_by_text("segments of sound").focus()
    page.keyboard.press("Enter")
    reached = focusable_by_tab(page)
    assert "DIV Frames" in reached
    assert (
        sum(name.startswith("AUDIO sound at") for name in reached)
        == page.locator(".segments audio").count()
        > 0
    )
