"""The page of a bench says what its report says: speed run by run, what came out, and the verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from omnieval.bench import Bench, BenchReport, bench_html, write_report
from omnieval.runlog.files import replace_json
from omnieval.types import Timing
from tests.runs import choice_run, speech_run
from tests.unit.test_html import ATTACK, HTML, parsed, texts_of

SVG = "{http://www.w3.org/2000/svg}"


def choice_bench(
    folder: Path, times: tuple[float, ...], *, outcomes: tuple[str, ...] = ("correct", "wrong"), **config: Any
) -> Bench:
    """times: E2EL of every answer of the cold run and of each repeat, in seconds."""
    for number, seconds in enumerate(times):
        timing = Timing(ttft_s=seconds / 2, e2e_s=seconds)
        choice_run(folder / place(number), outcomes * 6, timing=timing, **config)
    return begun(folder, len(times) - 1)


def speech_bench(folder: Path, rtfs: tuple[float, ...]) -> Bench:
    for number, rtf in enumerate(rtfs):
        speech_run(folder / place(number), [{"wer": 0.1, "sim[wavlm-sv]": 0.7}] * 6, rtf=rtf)
    return begun(folder, len(rtfs) - 1)


def place(number: int) -> str:
    return f"repeats/run-{number}" if number else "cold"


def begun(folder: Path, repeats: int) -> Bench:
    config = {"concurrency": 2, "request_rate": None}
    replace_json(folder / "bench.json", {"format": 1, "repeats": repeats, "config": config})
    return Bench.load(folder)


def page_of(bench: Bench, against: Bench | None = None) -> tuple[BenchReport, Any]:
    report = write_report(bench, against)
    return report, parsed((bench.directory / "report.html").read_text())


def tiles(root: Any) -> dict[str, tuple[str, str]]:
    """label -> (value, tone)"""
    found = {}
    for tile in root.iter(f"{HTML}dl"):
        label, value = (child.text for child in list(tile)[:2])
        found[label] = (value, tile.get("class").removeprefix("tile").strip())
    return found


def chart(root: Any, title: str) -> Any:
    return next(svg for svg in root.iter(f"{SVG}svg") if svg.find(f"{SVG}title").text == title)


def test_each_repeat_is_drawn_and_the_cold_run_stands_apart(tmp_path: Path) -> None:
    report, root = page_of(choice_bench(tmp_path / "monday", (2.0, 0.4, 0.6, 0.5)))
    drawn = chart(root, "E2EL (s) p50")
    assert drawn.find(f"{SVG}desc").text == "repeats: 0.500 (0.400 to 0.600); cold run: 2.000"
    dots = [dot.find(f"{SVG}title").text for dot in drawn.iter(f"{SVG}circle") if dot.get("r") == "3"]
    assert dots == ["0.4", "0.6", "0.5"]
    assert tiles(root)["E2EL (s) p50"] == ("0.500", "main")
    assert tiles(root)["Output"] == ("sound", "good")
    assert "Accuracy of each run, with 95 % interval" in [
        caption.text for caption in root.iter(f"{HTML}figcaption")
    ]
    assert report.counts
    links = [link.get("href") for link in root.iter(f"{HTML}a") if link.get("href").startswith("./")]
    assert links == [f"./{place(number)}/report.html" for number in range(4)]


def test_links_lead_to_the_runs_from_wherever_the_page_lies(tmp_path: Path) -> None:
    bench = choice_bench(tmp_path / "monday", (2.0, 0.4, 0.6, 0.5))
    (bench.directory / "cold" / "report.html").unlink()
    page = bench_html(write_report(bench), bench.directory, folder=tmp_path / "elsewhere")
    assert 'href="./../monday/repeats/run-1/report.html"' in page
    assert "cold/report.html" not in page


@pytest.mark.parametrize(
    ("there", "word", "tone"),
    [
        ((9.0, 1.0, 1.1, 1.2), "faster", "good"),
        ((9.0, 0.1, 0.2, 0.3), "slower", "bad"),
        ((9.0, 0.3, 0.5, 0.9), "no difference", ""),
    ],
)
def test_the_verdict_against_another_bench(
    tmp_path: Path, there: tuple[float, ...], word: str, tone: str
) -> None:
    other = choice_bench(tmp_path / "monday", there)
    report, root = page_of(choice_bench(tmp_path / "tuesday", (2.0, 0.4, 0.6, 0.5)), other)
    assert tiles(root)["Against monday"] == (word, tone)
    told = chart(root, "E2EL (s) p50").find(f"{SVG}desc").text
    assert told.startswith(f"repeats, {'noise' if not tone else word}: 0.500")
    assert "; monday: " in told
    e2e = next(row for row in report.speed if row.figure == "e2e_s.p50")
    assert e2e.there == there[1:]


def test_a_bench_of_another_machine_is_said_to_be_one(tmp_path: Path) -> None:
    benches = [
        choice_bench(tmp_path / name, (2.0, 0.4, 0.6, 0.5)) for name in ("monday", "tuesday", "wednesday")
    ]
    for bench, cores in zip(benches, (8, 8, 64), strict=True):
        path = bench.directory / place(1) / "run.json"
        hardware = {"machine": "aarch64", "cpus": cores, "memory_gib": 32.0}
        path.write_text(json.dumps(json.loads(path.read_text()) | {"hardware": hardware}))
    monday, tuesday, wednesday = benches
    told = "ANOTHER MACHINE: aarch64, 8 cores, 32.0 GiB in monday, aarch64, 64 cores, 32.0 GiB here"
    assert write_report(wednesday, monday).warnings == (told,)
    assert write_report(tuesday, monday).warnings == ()


def test_broken_output_stands_above_its_speed(tmp_path: Path) -> None:
    other = choice_bench(tmp_path / "monday", (9.0, 1.0, 1.1, 1.2))
    broken = choice_bench(tmp_path / "tuesday", (2.0, 0.4, 0.6, 0.5), outcomes=("correct", "timeout"))
    report, root = page_of(broken, other)
    assert not report.counts
    found = tiles(root)
    assert found["Output"] == ("broken", "bad")
    assert found["E2EL (s) p50"][1] == "bad"
    assert found["Against monday"] == ("does not count", "bad")
    assert chart(root, "E2EL (s) p50").find(f"{SVG}desc").text.startswith("repeats: 0.500")


def test_the_slowest_stage_is_named_over_all_repeats(tmp_path: Path) -> None:
    bench = choice_bench(tmp_path / "b", (2.0, 0.4, 0.6, 0.5))
    for number in range(4):
        path = bench.directory / place(number) / "responses.jsonl"
        ms = 9_000 if number == 0 else 100 * number
        stages = {"0": {"stage_gen_time_ms": 50.0}, "1": {"stage_gen_time_ms": ms}}
        answers = [json.loads(line) | {"server_metrics": stages} for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    report, root = page_of(bench)
    assert [(row.stage, row.answers, row.median_s) for row in report.stages] == [
        ("thinker", 36, 0.05), ("talker", 36, 0.2),
    ]  # fmt: skip
    assert "the bottleneck is the talker: 80 %" in " ".join(texts_of(root))


def test_speech_shows_rtf_first_with_wer_and_sim_beside(tmp_path: Path) -> None:
    _, root = page_of(speech_bench(tmp_path / "b", (1.4, 1.0, 1.1, 1.05)))
    assert next(iter(tiles(root).items())) == ("RTF p50", ("1.050", "main"))
    assert list(tiles(root))[1] == "TTFP (s) p50"
    written = " ".join(texts_of(root))
    assert "WER (%)" in written
    assert "10.00" in written
    assert "0.700" in written


def test_a_bench_that_has_only_its_cold_run_yet_is_a_page(tmp_path: Path) -> None:
    choice_run(tmp_path / "b" / "cold", ["correct"] * 4)
    report, root = page_of(begun(tmp_path / "b", 3))
    assert not report.complete
    assert "INCOMPLETE: 0 of 3 repeats done" in " ".join(texts_of(root))


def test_names_and_replies_are_never_markup(tmp_path: Path) -> None:
    bench = choice_bench(tmp_path / "<b>bench", (2.0, 0.4, 0.6, 0.5), model=ATTACK)
    _, root = page_of(bench, choice_bench(tmp_path / "<i>other", (9.0, 1.0, 1.1, 1.2)))
    assert not {found.tag for found in root.iter()} & {f"{HTML}{tag}" for tag in ("script", "img", "b", "i")}
