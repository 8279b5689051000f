"""Two runs of one data set beside each other: what changed, and with what certainty."""

from omnieval.report.compare.build import Comparison, compare_runs
from omnieval.report.compare.files import comparisons_json, comparisons_markdown, write_comparisons
from omnieval.report.compare.pages import comparison_page
from omnieval.report.compare.side import Side, load_side

__all__ = [
    "Comparison",
    "Side",
    "compare_runs",
    "comparison_page",
    "comparisons_json",
    "comparisons_markdown",
    "load_side",
    "write_comparisons",
]
