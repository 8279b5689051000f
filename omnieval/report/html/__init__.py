"""Reports as single HTML files that need no network, no script and no other file."""

from omnieval.report.html.compare_page import comparisons_html
from omnieval.report.html.document import Article, document, to_html
from omnieval.report.html.evidence import Evidence, gather
from omnieval.report.html.gate_page import VERDICT_TONES, counted_lines, gate_html
from omnieval.report.html.parts import Chart, Fold, Folds, Tile, Tone
from omnieval.report.html.run_page import report_html

__all__ = [
    "VERDICT_TONES",
    "Article",
    "Chart",
    "Evidence",
    "Fold",
    "Folds",
    "Tile",
    "Tone",
    "comparisons_html",
    "counted_lines",
    "document",
    "gate_html",
    "gather",
    "report_html",
    "to_html",
]
