"""A report is one HTML file that is well formed, needs nothing else, and says what report.json says."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval import api
from omnieval.report.html import Chart, comparisons_html, report_html, to_html
from omnieval.report.html.axes import Line
from omnieval.report.html.markup import element
from omnieval.report.html.svg import Estimate, Part, Series, estimates, histogram, over_time, stacked
from omnieval.report.html.telemetry import read_telemetry
from omnieval.report.page import Page, Table
from omnieval.runlog import Run
from omnieval.types import Timing
from tests.runs import choice_run, speech_run

GOLDEN = Path(__file__).parent / "golden"
ATTACK = (
    "<script>alert(1)</script><img src=x onerror=alert(2)></style></title></pre></svg>\"' onclick=alert(3) "
    "\u202eevil\u2066 \u200f\x1b[31m\x00 &lt; {{7*7}} ${1} javascript:alert(4)"
)
OUTCOMES = ["correct", "wrong", "unparsed", "timeout", "read otherwise", "not selected"] * 4
SPOKEN = [
    {"wer": 0.5, "lenient_wer": 0.25, "sim[wavlm-sv]": 0.5 + i / 100, "duration_s": 2.0} for i in range(9)
]
HTML = "{http://www.w3.org/1999/xhtml}"


def parsed(page: str) -> ElementTree.Element:
    """The page as a browser reads it; any error of HTML is an error of the test."""
    root: ElementTree.Element = html5lib.HTMLParser(strict=True).parse(page)
    return root


def body_of(page: str) -> str:
    return page.partition("<body>")[2]


def texts_of(root: ElementTree.Element, *, ticks: bool = False) -> Iterator[str]:
    """What is written on the page; without the names of axes, which are round numbers."""
    for found in root.iter():
        if not ticks and found.get("class") == "tick":
            continue
        yield from filter(None, (found.text, found.tail))


def scored(folder: Path) -> Run:
    return choice_run(folder / "run", OUTCOMES, timing=Timing(ttft_s=0.25, e2e_s=0.5))


def test_golden(tmp_path: Path) -> None:
    run = scored(tmp_path)
    (run.directory / "telemetry.jsonl").write_text(
        "".join(f'{{"t": {i}, "device": "npu:0", "power_w": {200 + i}}}\n' for i in range(5))
    )
    page = report_html(run, api.load_report(run))
    assert body_of(page) == (GOLDEN / "report_body.html").read_text()


def test_golden_of_a_comparison(tmp_path: Path) -> None:
    first = choice_run(tmp_path / "a", ["correct"] * 8 + ["wrong"] * 4)
    second = choice_run(tmp_path / "b", ["correct"] * 5 + ["wrong"] * 5 + ["correct"] * 2)
    places = (first.directory, second.directory)
    page = comparisons_html(api.compare(*places), [places], folder=tmp_path)
    assert body_of(page) == (GOLDEN / "compare_body.html").read_text()
    assert 'href="./a/report.html"' in page
    (first.directory / "report.html").unlink()
    assert 'href="./a/report.html"' not in comparisons_html(api.compare(*places), [places], folder=tmp_path)


def test_a_sample_that_flips_in_two_comparisons_has_two_anchors(tmp_path: Path) -> None:
    runs = [
        choice_run(tmp_path / name, outcomes)
        for name, outcomes in (("a", ["correct"] * 4), ("b", ["wrong"] * 4), ("c", ["wrong"] * 4))
    ]
    places = [run.directory for run in runs]
    pairs = [(places[0], place) for place in places[1:]]
    page = comparisons_html(api.compare(*places), pairs, folder=tmp_path)
    ids = [found.get("id") for found in parsed(page).iter() if found.get("id")]
    assert len(ids) == len(set(ids))
    assert {"sample-s0", "p1-sample-s0"} <= set(ids)


@pytest.mark.parametrize("kind", ["choice", "speech", "unheard", "nothing answered"])
def test_every_kind_of_run_has_a_well_formed_report_beside_the_others(tmp_path: Path, kind: str) -> None:
    if kind == "choice":
        run = scored(tmp_path)
    elif kind == "nothing answered":
        run = choice_run(tmp_path / "run", ["timeout"] * 3)
    else:
        heard = {} if kind == "speech" else {"recogniser": None, "encoder": None}
        found = SPOKEN if kind == "speech" else [{} for _ in SPOKEN]
        run = speech_run(tmp_path / "run", [*found, "timeout"], **heard)
    page = (run.directory / "report.html").read_text()
    root = parsed(page)
    assert root.get("lang") == "en"
    for table in root.iter(f"{HTML}table"):
        assert table.find(f"{HTML}caption") is not None
    for svg in root.iter("{http://www.w3.org/2000/svg}svg"):
        assert [child.tag.rpartition("}")[2] for child in svg][:2] == ["title", "desc"]
    ids = [found.get("id") for found in root.iter() if found.get("id")]
    assert len(ids) == len(set(ids))
    links = [found.get("href") for found in root.iter(f"{HTML}a")]
    assert all(link and link.startswith("#") and link[1:] in ids for link in links)


def test_the_policy_allows_its_own_style_and_nothing_else(tmp_path: Path) -> None:
    page = (scored(tmp_path).directory / "report.html").read_text()
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = next(
        meta.get("content") or ""
        for meta in parsed(page).iter(f"{HTML}meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.split("; ") == [
        "default-src 'none'", f"style-src 'sha256-{digest}'", "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(r'\s(style|src|srcset|on\w+)="', body_of(page))
    assert "<script" not in page


def test_texts_of_model_and_data_set_are_never_markup(tmp_path: Path) -> None:
    plain = choice_run(tmp_path / "plain", ["wrong"] * 4, replies=dict.fromkeys(range(4), "x"))
    hostile = choice_run(
        tmp_path / "hostile", ["wrong"] * 4, question=ATTACK, options=[ATTACK, "b", "c", "d"],
        replies={0: ATTACK, 1: "B" + "x" * 1_000_000, 2: f"The answer is B {ATTACK}", 3: ATTACK},
        model=ATTACK,
    )  # fmt: skip
    pages = [report_html(run, api.load_report(run)) for run in (plain, hostile)]
    allowed = {found.tag for found in parsed(pages[0]).iter()}
    attributes = {name for found in parsed(pages[0]).iter() for name in found.attrib}
    root = parsed(pages[1])
    assert {found.tag for found in root.iter()} <= allowed | {f"{HTML}ul", f"{HTML}tr", f"{HTML}td"}
    assert {name for found in root.iter() for name in found.attrib} <= attributes
    assert "<script>alert(1)</script>" in "".join(texts_of(root))
    assert len(pages[1]) < 200_000
    assert all(c.isprintable() or c == "\n" for c in pages[1])


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_comes_back_as_text(text: str) -> None:
    built = element("p", text, title=text)
    built.encode()
    found = html5lib.parseFragment(built, treebuilder="etree")[0]
    assert len(found) == 0
    assert set(found.attrib) == {"title"}
    assert found.text == found.get("title") or not text


def numbers_in(value: Any) -> Iterator[float]:
    if isinstance(value, Mapping):
        yield float(len(value))
        for inner in value.values():
            yield from numbers_in(inner)
    elif isinstance(value, (list, tuple)):
        yield float(len(value))
        for inner in value:
            yield from numbers_in(inner)
    elif isinstance(value, str):
        yield from map(float, re.findall(r"\d+(?:\.\d+)?", value))
    elif isinstance(value, (int, float)):
        yield float(value)


def written_forms(number: float) -> Iterator[str]:
    for factor in (1, 100):
        for digits in range(4):
            yield f"{abs(factor * number):.{digits}f}"


@pytest.mark.parametrize("kind", ["choice", "speech"])
def test_every_number_is_one_of_report_json(tmp_path: Path, kind: str) -> None:
    run = scored(tmp_path) if kind == "choice" else speech_run(tmp_path / "run", [*SPOKEN, "timeout"])
    report = json.loads((run.directory / "report.json").read_text())
    allowed = {form for number in numbers_in(report) for form in written_forms(number)}
    allowed |= {form for row in report["accounting"] for form in written_forms(row["count"] / report["rows"])}
    failed = sum(row["count"] for row in report["failures"])
    allowed |= {str(failed), "95", "50", "90", "99"}  # of failures in all; names of intervals and percentiles
    root = parsed((run.directory / "report.html").read_text())
    main = next(root.iter(f"{HTML}article"))
    for found in list(main.iter(f"{HTML}section")):
        title = found.find(f"{HTML}h2")
        if title is not None and title.text in (
            "How it was made",
            "Wrong answers",
            "Failed samples",
            "Utterances with word errors",
        ):
            found.clear()
    for bar in main.iter():
        if bar.get("class") == "k0 bar":
            bar.clear()  # how often a value occurs: of the files beside it
    shown = " ".join(text for text in texts_of(main))
    shown = re.sub(r"\b(s|u|t|p|v)\d+\b|\d+ values from [^ ]+ to [^ ]+", "", shown)
    found_numbers = re.findall(r"\d+(?:\.\d+)?", shown)
    assert len(found_numbers) > 40
    assert [number for number in found_numbers if number not in allowed] == []


def test_a_gate_stands_on_the_report_until_the_figures_change(tmp_path: Path) -> None:
    run = choice_run(tmp_path / "run", ["correct", "wrong", "read otherwise"] * 5)
    gate = tmp_path / "gate.yaml"
    gate.write_text("- accuracy >= 0.9\n- coverage == 1.0\n")
    api.gate(run.directory, gate)
    page = (run.directory / "report.html").read_text()
    assert "1 pass, 1 fail" in page
    assert "run `omnieval gate` again" not in page
    assert "0.9" in "".join(texts_of(parsed(page)))
    api.score(run, parser="careful")
    assert "run `omnieval gate` again" in (run.directory / "report.html").read_text()
    (run.directory / "gate.json").write_text("{}")
    assert "gate.yaml" not in report_html(run, api.load_report(run))


def test_charts_without_a_table_and_pages_of_others_are_shown() -> None:
    page = Page(
        "suite · m", "x", "d", ("careful",), (Table("One", ("a",), (("1",),)),), ("a note",), "so it is"
    )
    chart = Chart("Elsewhere", "drawn", stacked("Parts", [Part("a", 1, "1", 0)]))
    shown = "".join(texts_of(parsed(to_html(page, [chart]))))
    assert all(
        told in shown for told in ("suite · m", "careful", "One", "a note", "so it is", "Elsewhere", "drawn")
    )


def rendered(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def test_an_estimate_is_drawn_to_scale() -> None:
    rows = [Estimate("all", 50.0, 40.0, 60.0, "50 %"), Estimate("none", None, told="-")]
    svg = rendered(estimates("Accuracy", rows, line=Line(60.0, "line"), bounds=(0.0, 100.0)))
    dot = svg.find("circle")
    whisker = next(found for found in svg.iter("line") if "whisker" in (found.get("class") or ""))
    mark = next(found for found in svg.iter("line") if found.get("class") == "mark")
    assert dot is not None
    ends = [float(whisker.get(end, "")) for end in ("x1", "x2")]
    assert float(dot.get("cx", "")) == pytest.approx(sum(ends) / 2)
    assert float(mark.get("x1", "")) == pytest.approx(ends[1])
    assert len(svg.findall("circle")) == 1


def test_parts_of_a_bar_fill_it() -> None:
    svg = rendered(stacked("Rows", [Part("a", 3, "3", 0), Part("b", 1, "1", 1), Part("c", 0, "0", 2)]))
    bars = [found for found in svg.iter("rect") if found.get("height") == "26"]
    assert [float(bar.get("x", "")) for bar in bars] == [0, 270]
    assert sum(float(bar.get("width", "")) for bar in bars) == pytest.approx(360 - 2 * 1.5)


@pytest.mark.parametrize("values", [[0.5], [0.0, 0.0], [1.0, 2.0, 3.0], [0.1] * 200 + [900.0]])
def test_a_histogram_counts_every_value(values: list[float]) -> None:
    svg = rendered(histogram("Times", values))
    counts = [int((bar.findtext("title") or "").rpartition(": ")[2]) for bar in svg.iter("rect")]
    beyond = [
        int(found[1]) for text in svg.iter("text") if (found := re.match(r"(\d+) beyond", text.text or ""))
    ]
    assert sum(counts) + sum(beyond) == len(values)


def test_lines_over_time_stay_in_their_chart() -> None:
    series = [Series("npu:0", [(0.0, -5.0), (30.0, 5.0)], 0), Series("npu:1", [(10.0, 2.0)], 1)]
    svg = rendered(over_time("power_w", series, seconds=30.0))
    points = [
        tuple(map(float, point.split(",")))
        for line in svg.iter("polyline")
        for point in line.get("points", "").split()
    ]
    assert [x for x, _ in points] == pytest.approx([46, 360, 46 + 314 / 3], abs=0.1)
    assert all(8 <= y <= 118 for _, y in points)


def drawn_counts(page: str) -> dict[str, dict[str, int]]:
    """Title of each histogram on a page -> how often a value lies in each stretch that is drawn."""
    svg = "{http://www.w3.org/2000/svg}"
    found: dict[str, dict[str, int]] = {}
    for drawing in parsed(page).iter(f"{svg}svg"):
        bars = [
            bar.findtext(f"{svg}title") or ""
            for bar in drawing.iter(f"{svg}rect")
            if bar.get("class") == "k0 bar"
        ]
        told = [bar.rpartition(": ") for bar in bars]
        found[drawing.findtext(f"{svg}title") or ""] = {stretch: int(count) for stretch, _, count in told}
    return found


def test_a_spoken_run_has_the_distributions_of_wer_sim_and_times(tmp_path: Path) -> None:
    told = [{"wer": wer, "sim[wavlm-sv]": 0.5 + wer} for wer in (0.0, 0.0, 0.0, 0.1, 0.4)]
    run = speech_run(tmp_path / "run", [*told, "timeout"])
    found = drawn_counts((run.directory / "report.html").read_text())
    assert {"WER by utterance", "Similarity by utterance", "TTFP (s)", "RTF"} <= set(found)
    for title in ("WER by utterance", "Similarity by utterance"):
        assert sorted(count for count in found[title].values() if count) == [1, 1, 3], title
    assert next(iter(found["WER by utterance"].items()))[1] == 3
    for title in ("TTFP (s)", "RTF"):
        assert sum(found[title].values()) == 5, title


def test_telemetry_keeps_peaks_and_tells_of_damage(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    assert read_telemetry(path) is None
    lines = [
        json.dumps({"t": 100 + i, "device": "npu:0", "power_w": 999 if i == 4_321 else 200})
        for i in range(10_000)
    ]
    path.write_text("\n".join([*lines, "[]", '{"t": "x"}', '{"t": NaN, "a": 1}', '{"t": 10']))
    found = read_telemetry(path)
    assert found is not None
    points = found.metrics["power_w"]["npu:0"]
    assert len(points) <= 240
    assert max(value for _, value in points) == 999
    assert found.seconds == 9_999
    assert found.notes == ("telemetry.jsonl: 4 lines are no measurement; left out",)
