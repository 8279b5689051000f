"""The speed of a deployment: one recipe run several times, beside the health of what came out."""

from omnieval.bench.files import report_json, write_report
from omnieval.bench.html_page import bench_html
from omnieval.bench.pages import bench_page
from omnieval.bench.report import BenchReport, build_bench_report
from omnieval.bench.run import BenchExecution, plan_bench, resumed, run_bench, score_bench
from omnieval.bench.store import LEAST_REPEATS, Bench, holds_bench, repeats_of

__all__ = [
    "LEAST_REPEATS",
    "Bench",
    "BenchExecution",
    "BenchReport",
    "bench_html",
    "bench_page",
    "build_bench_report",
    "holds_bench",
    "plan_bench",
    "repeats_of",
    "report_json",
    "resumed",
    "run_bench",
    "score_bench",
    "write_report",
]
