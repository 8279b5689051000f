"""The viewer in a real browser: a run is opened, filtered, heard and compared."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import omnieval, start
from tests.integration.browser import OpenPage, keep_picture, until
from tests.integration.looks import DESKTOP, PHONE, scrolls_sideways
from tests.integration.viewer import open_indexed, viewing

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("view")
    cache = folder / "cache"
    for name, seed in (("monday", "1"), ("tuesday", "2")):
        done = omnieval(
            "run", "daily-omni", "--sample", "--backend", "chance", "--set", f"backend_seed={seed}",
            "--cache-dir", cache, "--out", folder / "runs" / name,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    viewer = start("view", folder / "runs", "--no-browser", XDG_CACHE_HOME=str(folder / "xdg"))
    assert viewer.stdout is not None
    yield viewer.stdout.readline().strip()
    viewer.send_signal(signal.SIGINT)
    rest, _ = viewer.communicate(timeout=20)
    assert viewer.returncode == 0, rest
    assert "token=" not in rest
    assert "Traceback" not in rest


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_a_run_is_opened_filtered_heard_and_compared(url: str, open_page: OpenPage, width: int) -> None:
    page = open_page(url, width=width, scheme="dark" if width == PHONE else "light")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    assert "token" not in page.url
    keep_picture(page, f"view-runs-{width}")
    page.get_by_role("link", name="monday").click()
    page.get_by_label("Show").select_option("wrong")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**show=wrong**")
    page.locator("tbody tr").first.wait_for()
    assert page.locator("tbody .badge.wrong").count() == page.locator("tbody tr").count()
    assert not scrolls_sideways(page)
    keep_picture(page, f"view-wrong-{width}")
    page.locator("tbody th a").first.click()
    first = page.url
    until(page, "[...document.querySelectorAll('.strip img')].some(i => i.naturalWidth > 0)")
    page.get_by_text(re.compile("segments of sound")).click()
    page.locator(".segments audio").first.evaluate("a => { a.muted = true; return a.play() }")
    until(page, "document.querySelector('.segments audio').currentTime > 0.1")
    assert not scrolls_sideways(page)
    keep_picture(page, f"view-sample-{width}")
    page.keyboard.press("j")
    page.wait_for_url(lambda now: now != first)
    page.keyboard.press("k")
    page.wait_for_url(first)
    page.get_by_role("link", name="monday").click()
    page.get_by_label("Against").select_option(label="tuesday")
    page.get_by_label("Show").select_option("flipped")
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("link", name="both at a glance").click()
    page.get_by_text("right there, not here").wait_for()
    keep_picture(page, f"view-against-{width}")
    host = url.partition("?")[0]
    assert all(one.startswith(host) for one in asked)


def test_a_spoken_answer_is_seen_played_and_sought(open_page: OpenPage, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    done = omnieval(
        "run", "seed-tts", "--sample", "--backend", "ground-truth", "--set", "score=later", "--limit", "2",
        "--cache-dir", cache, "--out", tmp_path / "runs" / "voices",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with viewing(tmp_path / "runs", cache) as viewer:
        page = open_page(viewer.url)
        open_indexed(page, viewer.run("voices"))
        page.locator("tbody th a").first.click()
        answer = page.locator("figure", has=page.get_by_text("answer", exact=True))
        sound, wave = answer.locator("audio"), answer.locator(".wave")
        sound.evaluate("a => { window.answer = a; a.muted = true; return a.play() }")
        until(page, "window.answer.currentTime > 0.1")
        sound.evaluate("a => a.pause()")
        assert sound.evaluate("a => a.duration") > 1
        box = wave.bounding_box()
        assert box is not None and box["width"] > 100 and box["height"] > 20
        wave.click(position={"x": box["width"] * 0.75, "y": box["height"] / 2})
        until(
            page,
            "!window.answer.seeking && Math.abs(window.answer.currentTime / window.answer.duration - 0.75) < 0.2",
        )
        keep_picture(page, "view-spoken")
        name = answer.locator("bdi").text_content()
        content = (tmp_path / "runs" / "voices" / "audio" / str(name)).read_bytes()
        place = sound.evaluate("a => a.currentSrc")
        part = page.request.get(place, headers={"Range": "bytes=100-299"})
        assert (part.status, part.body()) == (206, content[100:300])
        assert part.headers["content-range"] == f"bytes 100-299/{len(content)}"
        assert page.request.get(place).body() == content
