"""Reports as single HTML files that need no network, no script and no other file."""

from omnieval.report.html.compare_page import comparisons_html
from omnieval.report.html.document import Article, document, to_html
from omnieval.report.html.evidence import Evidence, gather
from omnieval.report.html.gate_page import gate_html
from omnieval.report.html.parts import Chart, Fold, Folds, Tile
from omnieval.report.html.run_page import report_html

__all__ = [
    "Article",
    "Chart",
    "Evidence",
    "Fold",
    "Folds",
    "Tile",
    "comparisons_html",
    "document",
    "gate_html",
    "gather",
    "report_html",
    "to_html",
]
