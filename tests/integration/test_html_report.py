"""Reports and comparisons in a real browser: phone and desktop, light and dark, print, and hostile text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from omnieval import api
from omnieval.bench import write_report
from omnieval.runlog import Run
from omnieval.types import Timing
from tests.command import omnieval
from tests.integration.browser import OpenPage, keep_picture
from tests.integration.looks import DESKTOP, PHONE, pale_texts, scrolls_sideways
from tests.runs import choice_run, speech_run
from tests.unit.test_bench_page import choice_bench
from tests.unit.test_html import ATTACK

pytestmark = pytest.mark.browser

OUTCOMES = ["correct", "wrong", "correct", "unparsed", "read otherwise", "timeout"] * 8


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """Two runs of one data set with hostile text in questions, options, replies and names."""
    folder = tmp_path_factory.mktemp("runs")
    made = []
    for name, outcomes in (
        ("monday", OUTCOMES),
        (
            "tuesday",
            [
                "wrong",
                *OUTCOMES[1:],
            ],
        ),
    ):
        hostile = {i: f"B {ATTACK}{'x' * 50_000}" for i, outcome in enumerate(outcomes) if outcome == "wrong"}
        run = choice_run(
            folder / name, outcomes, question=ATTACK, options=[ATTACK, "b", "c", "d"], replies=hostile,
            timing=Timing(ttft_s=0.3, e2e_s=0.9), model=ATTACK,
        )  # fmt: skip
        made.append(run)
    with (made[0].directory / "telemetry.jsonl").open("w") as file:
        for i in range(500):
            file.write(json.dumps({"t": i, "device": "npu:0", "power_w": 200 + i % 90}) + "\n")
    gate = folder / "gate.yaml"
    gate.write_text("- accuracy >= 0.5\n- unhealthy <= 0.1\n")
    api.gate(made[0].directory, gate)
    return made[0], made[1]


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_fits_phone_and_desktop(
    runs: tuple[Run, Run], open_page: OpenPage, width: int, scheme: str
) -> None:
    page = open_page((runs[0].directory / "report.html").as_uri(), width=width, scheme=scheme)
    for details in page.locator("details").all()[:6]:
        details.locator("summary").click()
    assert not scrolls_sideways(page)
    keep_picture(page, f"report-{width}-{scheme}")
    assert page.locator("details[open] .badge.right").first.is_visible()
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") is (scheme == "light")


def test_hostile_text_runs_nothing_and_asks_for_nothing(runs: tuple[Run, Run], open_page: OpenPage) -> None:
    page = open_page("about:blank")
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    place = (runs[0].directory / "report.html").as_uri()
    page.goto(place)
    page.evaluate("document.querySelectorAll('details').forEach(found => found.open = true)")
    assert asked == [place]
    assert complaints == []
    assert page.locator("article script, article img, article iframe, article [onclick]").count() == 0
    assert page.get_by_text("<script>alert(1)</script>").first.is_visible()
    direction = page.evaluate("getComputedStyle(document.querySelector('pre')).unicodeBidi")
    assert direction == "plaintext"


def test_print_shows_what_is_folded_on_the_screen(runs: tuple[Run, Run], open_page: OpenPage) -> None:
    page = open_page((runs[0].directory / "report.html").as_uri(), scheme="dark")
    folded = page.locator("details pre").first
    assert not folded.is_visible()
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert folded.is_visible()
    assert not page.locator("nav").is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_a_comparison_shows_both_replies_and_leads_to_both_reports(
    runs: tuple[Run, Run], open_page: OpenPage, tmp_path: Path
) -> None:
    target = tmp_path / "compare.html"
    done = omnieval("compare", runs[0].directory, runs[1].directory, "--html", target)
    assert done.returncode == 0, done.stderr
    for width in (PHONE, DESKTOP):
        page = open_page(target.as_uri(), width=width)
        page.locator("details summary").first.click()
        assert not scrolls_sideways(page)
        assert page.locator("details[open] pre").count() == 2
        keep_picture(page, f"compare-{width}")
    page.get_by_role("link", name="B: tuesday").click()
    assert page.title().startswith("daily-omni")
    assert page.url == (runs[1].directory / "report.html").as_uri()


def test_a_spoken_run_marks_words_heard_otherwise(open_page: OpenPage, tmp_path: Path) -> None:
    found = [{"wer": i / 20, "sim[wavlm-sv]": 0.6 + i / 100} for i in range(12)]
    run = speech_run(tmp_path / "run", found)
    page = open_page((run.directory / "report.html").as_uri(), width=PHONE)
    page.locator("details summary", has_text="WER").first.click()
    assert page.locator("details[open] del").first.inner_text() == "text"
    assert page.locator("details[open] ins").first.inner_text() == "test"
    assert not scrolls_sideways(page)
    keep_picture(page, "speech-360")


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "dark"), (DESKTOP, "light")])
def test_a_bench_is_drawn_and_leads_to_its_runs(
    open_page: OpenPage, tmp_path: Path, width: int, scheme: str
) -> None:
    other = choice_bench(tmp_path / "monday", (2.0, 1.2, 1.25, 1.22))
    bench = choice_bench(tmp_path / "tuesday", (1.4, 1.0, 1.1, 1.05))
    write_report(bench, other)
    page = open_page((bench.directory / "report.html").as_uri(), width=width, scheme=scheme)
    assert not scrolls_sideways(page)
    assert pale_texts(page) == []
    assert page.get_by_role("img", name="E2EL (s) p50").is_visible()
    keep_picture(page, f"bench-{width}-{scheme}")
    page.get_by_role("link", name="repeats/run-2").click()
    assert page.url == (bench.directory / "repeats" / "run-2" / "report.html").as_uri()
