"""Every page of the viewer in a real browser, narrow and wide, light and dark: whole, legible, quiet, and within
reach of a keyboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from omnieval.types import Timing
from tests.command import omnieval
from tests.integration.browser import (
    DESKTOP,
    PHONE,
    OpenPage,
    focusable_by_tab,
    keep_picture,
    pale_texts,
    scrolls_sideways,
    watched,
)
from tests.integration.viewer import Viewer, open_indexed, viewing
from tests.runs import choice_run, many_questions, speech_run

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LONG = "The speaker says that nothing was decided, and the picture on the wall shows a ship. " * 9
OUTCOMES = ("correct", "wrong", "correct", "unparsed", "read otherwise", "timeout", "correct") * 9
# Page -> run, and what follows its URL; `{other}` is the id of the run that it is compared with.
PAGES = {
    "runs": ("", "/"),
    "runs-found": ("", "/?text=challenge"),
    "samples": ("monday", ""),
    "samples-flipped": ("monday", "?show=flipped&other={other}"),
    "samples-none": ("monday", "?text=no+such+words"),
    "sample": ("asked", "/sample/0?all=1"),
    "sample-failed": ("monday", "/sample/5"),
    "sample-long": ("monday", "/sample/3"),
    "against": ("monday", "/against/{other}"),
    "said": ("said", "?sort=wer"),
    "said-sample": ("said", "/sample/0"),
    "said-against": ("said", "/against/{other}"),
}
OTHERS = {"monday": "tuesday", "said": "said-again"}


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory, cache_dir: Path) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("pages")
    runs = folder / "runs"
    done = omnieval(
        "run", "daily-omni", "--sample", "--backend", "chance", "--cache-dir", cache_dir, "--out", runs / "asked"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    about = {
        "question": "What does the speaker say while the ship on the wall is shown?",
        "options": ("A. Nothing was decided", "B. The ship leaves at noon", "C. All agree", "D. None of these"),
        "timing": Timing(ttft_s=0.31, e2e_s=0.92), "model": "openbmb/MiniCPM-o-4_5", "backend": "openai-chat",
    }  # fmt: skip
    replies = {3: LONG, 10: LONG}
    choice_run(runs / "monday", OUTCOMES, replies=replies, **about)
    choice_run(runs / "tuesday", ("wrong", "correct", *OUTCOMES[2:]), **about)
    for name, wers in (("said", (0.5, 0.0, 0.25)), ("said-again", (0.0, 0.5, 0.25))):
        speech_run(runs / name, [{"wer": wer, "sim[wavlm-sv]": wer / 2 + 0.5} for wer in wers])
    suite(runs / "challenge")
    many_questions(runs / "large", 40_000)
    with viewing(runs, folder / "cache") as found:
        yield found


def suite(folder: Path) -> None:
    """Two of its members were asked, one was not begun."""
    config = {"recipe": "daily-omni", "benchmark": "daily-omni", "backend": "chance"}
    choice_run(folder / "daily-omni", ["correct", "wrong", "timeout", "unparsed"])
    speech_run(folder / "seed-tts-en", [{"wer": 0.1, "sim[wavlm-sv]": 0.7}])
    members = [{"name": name, "config": config} for name in ("daily-omni", "video-mme", "seed-tts-en")]
    told = {"format": 1, "name": "mine", "gate": None, "started": "2026-12-02T10:00:00", "members": members}
    (folder / "suite.json").write_text(json.dumps(told))


def address(viewer: Viewer, name: str) -> str:
    run, rest = PAGES[name]
    rest = rest.format(other=viewer.id(OTHERS[run]) if run in OTHERS else "")
    return viewer.run(run, rest) if run else viewer.host + rest


def looked_at(page: Page, name: str) -> None:
    """A page narrow and wide, light and dark: nothing hangs out of the window, every text is legible."""
    for width in (PHONE, DESKTOP):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            keep_picture(page, f"view-{name}-{width}-{scheme}")
            assert not scrolls_sideways(page), (width, scheme)
            assert pale_texts(page) == [], (width, scheme)


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_whole_legible_and_quiet(viewer: Viewer, open_page: OpenPage, name: str) -> None:
    page = open_page(viewer.url)
    open_indexed(page, address(viewer, name))
    heard = watched(page)
    page.reload(wait_until="networkidle")
    looked_at(page, name)
    assert page.locator("h1").count() == 1
    assert heard.errors == []
    assert [url for url in heard.asked if not url.startswith(viewer.host)] == []


def test_a_page_of_a_run_that_is_gone_says_so(viewer: Viewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url)
    answer = page.goto(f"{viewer.host}/run/0123456789ab")
    assert answer is not None
    assert answer.status == 404
    assert page.get_by_text("No such run any more").is_visible()
    looked_at(page, "gone")


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
    looked_at(page, "waiting")
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


def test_focus_is_seen(viewer: Viewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url)
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
