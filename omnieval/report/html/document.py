"""Any page as one HTML file that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from omnieval.report.html.markup import Markup, element, escaped, joined
from omnieval.report.html.parts import Chart, Fold, Folds, Tile
from omnieval.report.page import Page, Table

# Cells that say whether a line is met, and how they look.
_VERDICTS = {"pass": "good", "fail": "bad", "undecided": "doubt"}
# The prefix of the names of the first page's parts.
_FIRST = "p0-"
# So many characters stand beside each other on a phone; columns of words may break into lines of so many.
_PHONE, _LINE = 42, 12


@dataclass(frozen=True, slots=True)
class Article:
    """A page with what is drawn and unfolded beside its tables. kind: what sort of report it is. settings:
    shown one by one under the headline. before: links or lines there."""

    page: Page
    kind: str = "Report"
    tiles: tuple[Tile, ...] = ()
    charts: tuple[Chart, ...] = ()
    lists: tuple[Folds, ...] = ()
    settings: tuple[str, ...] = ()
    before: Markup | None = None


def to_html(
    page: Page,
    charts: Sequence[Chart] = (),
    *,
    kind: str = "Report",
    tiles: Sequence[Tile] = (),
    lists: Sequence[Folds] = (),
) -> str:
    """A whole file for any page. charts stand beside the tables that they name, tiles at the top, lists of
    things to unfold at the end."""
    return document([Article(page, kind, tuple(tiles), tuple(charts), tuple(lists))])


def document(articles: Sequence[Article]) -> str:
    """Several pages in one file."""
    style = _style()
    policy = f"default-src 'none'; style-src 'sha256-{_digest(style)}'; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="generator", content="omnieval"),
        element("title", " · ".join(article.page.headline for article in articles)),
        element("style", Markup(style)),
    )
    written = [_article(article, f"p{number}-") for number, article in enumerate(articles)]
    body = element("body", element("main", Markup("\n".join(written))))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


@cache
def _style() -> str:
    return "\n" + files("omnieval.report.html").joinpath("style.css").read_text(encoding="utf-8")


def _digest(style: str) -> str:
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


def _article(article: Article, prefix: str) -> Markup:
    page = article.page
    sections = _sections(article, prefix)
    header = element(
        "header",
        element("p", article.kind, class_="kind"),
        element("h1", page.headline),
        element(
            "p", element("bdi", f"Measured by {page.measured_by}, run {page.directory}."), class_="about"
        ),
        _settings(article.settings),
        article.before,
    )
    links = [
        element("li", element("a", _stem(title).partition(": [")[0], href=f"#{prefix}{number}"))
        for number, (title, _) in enumerate(sections)
    ]
    return element(
        "article",
        header,
        _tiles(article.tiles),
        *(element("p", warning, class_="warning") for warning in page.warnings),
        element("nav", element("ul", *links), aria_label="Sections") if len(links) > 1 else None,
        *(
            element(
                "section",
                element("h2", title, id=f"{prefix}{number}-title"),
                content,
                id=f"{prefix}{number}",
                aria_labelledby=f"{prefix}{number}-title",
            )
            for number, (title, content) in enumerate(sections)
        ),
        element("footer", element("p", page.footer)),
    )


def _sections(article: Article, prefix: str) -> list[tuple[str, Markup]]:
    """(title, content) in reading order."""
    sections = []
    waiting = list(article.charts)
    for table in article.page.tables:
        own = [chart for chart in waiting if _stem(table.title) == chart.beside]
        waiting = [chart for chart in waiting if chart not in own]
        sections.append((table.title, _table_with_charts(table, own)))
    for title in dict.fromkeys(chart.beside for chart in waiting):
        drawn = [_figure(chart) for chart in waiting if chart.beside == title]
        sections.append((title, element("div", *drawn, class_="charts")))
    if article.page.notes:
        notes = [element("li", note) for note in article.page.notes]
        sections.append(("Notes", element("ul", *notes, class_="notes")))
    sections += [(found.title, _folds(found, prefix)) for found in article.lists]
    return sections


def _stem(title: str) -> str:
    return title.partition(" (")[0]


def _settings(told: Sequence[str]) -> Markup | None:
    if not told:
        return None
    return element("ul", *(element("li", part) for part in told), class_="settings")


def _tiles(tiles: Sequence[Tile]) -> Markup | None:
    if not tiles:
        return None
    return element(
        "div",
        *(
            element(
                "dl",
                element("dt", tile.label),
                element("dd", tile.value, class_="value"),
                element("dd", tile.told, class_="told") if tile.told else None,
                class_=f"tile {tile.tone}".strip(),
            )
            for tile in tiles
        ),
        class_="tiles",
    )


def _table_with_charts(table: Table, charts: Sequence[Chart]) -> Markup:
    if not charts:
        return table_markup(table)
    beside = len(charts) == 1
    drawn = element("div", *map(_figure, charts), class_=None if beside else "charts")
    return element("div", drawn, table_markup(table), class_="pair beside" if beside else "pair")


def _figure(chart: Chart) -> Markup:
    return element("figure", element("figcaption", chart.caption) if chart.caption else None, chart.svg)


def table_markup(table: Table) -> Markup:
    """A table of text; on a phone each row of a wide one becomes a card."""
    wide = _is_wide(table)
    head = [
        element("th", column, scope="col", role="columnheader", class_="n" if i in table.numeric else None)
        for i, column in enumerate(table.columns)
    ]
    rows = [
        element("tr", *(_cell(table, i, cell, wide) for i, cell in enumerate(row)), role="row")
        for row in table.rows
    ]
    built = element(
        "table",
        element("caption", table.title),
        element("thead", element("tr", *head, role="row"), role="rowgroup"),
        element("tbody", Markup("\n".join(rows)), role="rowgroup"),
        role="table",
    )
    classes = ["scroll", *(["wide"] if wide else []), *([] if table.numeric else ["words"])]
    return element(
        "div", built, class_=" ".join(classes), tabindex=0, role="group",
        aria_label=table.title,
    )  # fmt: skip


def _is_wide(table: Table) -> bool:
    """Whether its columns would not fit on a phone."""
    needed = 0
    for position in range(len(table.columns)):
        longest = max((len(row[position]) for row in table.rows), default=0)
        needed += 2 + (longest if position in table.numeric else min(longest, _LINE))
    return needed > _PHONE or (
        len(table.columns) > 2
        and any(
            len(row[position]) > 3 * _LINE
            for row in table.rows
            for position in range(len(table.columns))
            if position not in table.numeric
        )
    )


def _cell(table: Table, position: int, text: str, wide: bool) -> Markup:
    classes = [
        *(["n"] if position in table.numeric else []),
        *([_VERDICTS[text]] if text in _VERDICTS else []),
    ]
    if position == 0 and 0 not in table.numeric:
        return element("th", text, scope="row", role="rowheader")
    return element(
        "td", text, role="cell", class_=" ".join(classes) or None,
        data_column=table.columns[position] if wide else None,
    )  # fmt: skip


def _folds(found: Folds, prefix: str) -> Markup:
    return joined(
        element("p", found.intro) if found.intro else None, *(_fold(fold, prefix) for fold in found.folds)
    )


def _fold(fold: Fold, prefix: str) -> Markup:
    """Only the first page of a file has anchors as they are named; in others a sample may come again."""
    anchor = fold.anchor if fold.anchor is None or prefix == _FIRST else f"{prefix}{fold.anchor}"
    told = element("span", element("bdi", fold.told), class_="soft") if fold.told else None
    summary = element("summary", element("bdi", fold.title), escaped(" "), told)
    return joined("\n", element("details", summary, fold.content, id=anchor))
