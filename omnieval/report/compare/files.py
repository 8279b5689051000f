"""Comparisons as JSON and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter

from omnieval.report.compare.build import Comparison
from omnieval.report.compare.pages import comparison_page
from omnieval.report.markdown import to_markdown
from omnieval.runlog.files import replace_file, replace_json, storage_error
from omnieval.types import JsonDict

JSON, MARKDOWN, HTML = "compare.json", "compare.md", "compare.html"


def comparisons_json(comparisons: Sequence[Comparison]) -> JsonDict:
    """Everything in them, JSON-ready: `{"comparisons": [...]}`."""
    return {"comparisons": TypeAdapter(list[Comparison]).dump_python(list(comparisons), mode="json")}


def comparisons_markdown(comparisons: Sequence[Comparison]) -> str:
    """One page after the other."""
    return "\n".join(to_markdown(comparison_page(comparison)) for comparison in comparisons)


def write_comparisons(folder: Path, comparisons: Sequence[Comparison], page: str) -> tuple[Path, ...]:
    """Write compare.json, compare.md and compare.html into a folder, made where it is missing, and return
    their paths.

    page: the content of compare.html (see `omnieval.report.html.comparisons_html`). Raises StorageError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(folder, error) from error
    paths = folder / JSON, folder / MARKDOWN, folder / HTML
    replace_json(paths[0], comparisons_json(comparisons))
    replace_file(paths[1], [comparisons_markdown(comparisons).encode()])
    replace_file(paths[2], [page.encode()])
    return paths
