"""A bench's report as the files in its directory."""

from __future__ import annotations

from pydantic import TypeAdapter

from omnieval.bench.html_page import bench_html
from omnieval.bench.pages import bench_page
from omnieval.bench.report import BenchReport, build_bench_report
from omnieval.bench.store import Bench
from omnieval.report.markdown import to_markdown
from omnieval.runlog.files import replace_file, replace_json
from omnieval.runlog.store import REPORT_HTML, REPORT_JSON, REPORT_MD
from omnieval.types import JsonDict


def report_json(report: BenchReport) -> JsonDict:
    """Everything in it, JSON-ready."""
    found: JsonDict = TypeAdapter(BenchReport).dump_python(report, mode="json")
    return found


def write_report(bench: Bench, against: Bench | None = None) -> BenchReport:
    """Build and keep it as report.json, report.md and report.html. Raises as `build_bench_report`, and
    StorageError."""
    report = build_bench_report(bench, against)
    place = bench.directory
    replace_json(place / REPORT_JSON, report_json(report))
    replace_file(place / REPORT_MD, [to_markdown(bench_page(report)).encode()])
    replace_file(place / REPORT_HTML, [bench_html(report, place, folder=place).encode()])
    return report
