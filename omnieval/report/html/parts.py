"""What an HTML page has beside the lines and tables of a `Page`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from omnieval.report.html.markup import Markup, element

Tone = Literal["", "main", "good", "bad", "doubt"]


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure at the top. told: what it is over, and its interval."""

    label: str
    value: str
    told: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing of figures. beside: the title of the table that it belongs to, without what stands in
    brackets behind it; charts whose table is missing stand under that title alone."""

    beside: str
    caption: str
    svg: Markup


@dataclass(frozen=True, slots=True)
class Fold:
    """Something to unfold. told: stands beside its title. anchor: a name to link to."""

    title: str
    told: str
    content: Markup
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class Folds:
    """A list of them under a title; intro says what is in it and what is not. after: as `Chart.beside`, the
    table that it follows; None: at the end."""

    title: str
    intro: str
    folds: tuple[Fold, ...]


def place_from(folder: Path, place: Path) -> str:
    """Where a file or folder lies from `folder`, as a page in it writes that, links on the way followed."""
    return Path(os.path.relpath(place.resolve(), folder.resolve())).as_posix()


def link_to(place: str) -> str:
    """A place as `place_from` gives it, for a link to it; names may be of any bytes."""
    return quote(os.fsencode(f"./{place}"))


def report_links(reports: Iterable[tuple[str, str | None]]) -> Markup | None:
    """A line of links to the reports of a page's parts; None without any.

    reports: name of each part, and where its report lies from the page; None where it has none.
    """
    links: list[Markup | str] = []
    for name, place in reports:
        if place is not None:
            links += [", " if links else "Reports: ", element("a", name, href=link_to(place))]
    return element("p", *links, class_="about") if links else None
