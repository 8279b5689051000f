"""The page of all runs: those of a folder or a suite under its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from omnieval.report.html.markup import Markup, element
from omnieval.view.headlines import Block, Line
from omnieval.view.pages import document, table, turning, warning
from omnieval.view.query import Query

PAGE = 200
_HEADS = ("Run", "Result", "What was run", "Remark")


def runs_page(
    root: Path, blocks: Sequence[Block], query: Query, shown: int, count: int, remarks: Sequence[str]
) -> str:
    """blocks: those of this page. shown, count: runs on it and on all pages. remarks: what cannot be read."""
    warnings = [warning(remark) for remark in remarks]
    if not blocks and not query.text:
        return document(
            "Runs", *warnings,
            element("p", f"There is no run directory in {root} yet. ", element("code", "omnieval run"),
                    " writes one; reload this page then."),
        )  # fmt: skip
    find = element(
        "form", element("label", "Name", element("input", type="search", name="text", value=query.text)),
        element("button", "Filter"), method="get", action="/", class_="filters", role="search",
        aria_label="Filter of runs",
    ) if count > 20 or query.text else None  # fmt: skip
    return document(
        "Runs",
        element("p", str(root), class_="about"),
        *warnings,
        find,
        turning(query, "/", shown, count, PAGE) if count > PAGE or not shown else None,
        table("Runs", _HEADS, *(_body(block) for block in blocks)) if blocks else None,
    )


def _body(block: Block) -> Markup:
    head = element(
        "tr",
        element("th", element("b", element("bdi", block.title)), _verdict(block.verdict),
                element("div", element("bdi", block.about), class_="soft"),
                colspan=str(len(_HEADS)), scope="rowgroup"),
        class_="group",
    ) if block.title else None  # fmt: skip
    return element("tbody", head, *map(_line, block.lines), class_="grouped" if block.title else None)


def _line(line: Line) -> Markup:
    name = element("bdi", line.name)
    told = line.headline
    return element(
        "tr",
        element("th", element("a", name, href=f"/run/{line.place.id}") if line.place else name, scope="row"),
        element("td", told.figure, class_="figure"),
        element("td", element("bdi", told.about)),
        element("td", _verdict(line.verdict), element("bdi", told.remark) if told.remark else None),
    )


def _verdict(verdict: str) -> Markup | None:
    look = {"pass": "right", "fail": "wrong"}.get(verdict, "")
    return element("span", verdict, class_=f"badge {look}") if verdict else None
