"""Plain SVG charts, made by pure functions.

Why not a plotting library in the page: SVG prints, scales, follows the page's colours in light and dark, is
read out by screen readers, needs no script (so that the page's policy can forbid all of them) and a few
kilobytes instead of megabytes, and a test can read its numbers. Colours are CSS classes (`k0` to `k7`).

Every chart is 360 units wide, about the width of a phone, with labels above what they name, so that texts
stay readable there and charts stand beside each other on wider pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from omnieval.report.html.axes import (
    LEFT,
    RIGHT,
    WIDTH,
    Line,
    axis,
    chart,
    grid,
    labelled,
    marked,
    number_text,
    place,
)
from omnieval.report.html.markup import Markup, element

COLOURS = 8
_ROW, _AXIS = 38, 26


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval, in the unit of the axis. told: the text at its right end. colour: 0 to 7;
    hollow: a value from elsewhere. dots: the single values behind it."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    told: str = ""
    colour: int = 0
    hollow: bool = False
    dots: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a whole. told: how much of it that is."""

    label: str
    count: int
    told: str
    colour: int


@dataclass(frozen=True, slots=True)
class Series:
    """Points (x, y) in the order of x."""

    label: str
    points: Sequence[tuple[float, float]]
    colour: int


def estimates(
    title: str,
    rows: Sequence[Estimate],
    *,
    line: Line | None = None,
    bounds: tuple[float, float] | None = None,
    unit: str = "",
) -> Markup:
    """A row an estimate: its name, its value as a dot, its interval as a bar.

    line: drawn through all rows. bounds: the axis never leaves them, whatever the intervals do.
    """
    known = [v for row in rows for v in (row.value, row.low, row.high) if v is not None]
    known += [line.value] if line is not None else []
    low, high, ticks = axis(known or [0.0, 1.0], bounds)
    top = 18 if line is not None else 2
    foot = top + _ROW * len(rows)
    drawn = [*grid(ticks, low, high, top, foot, unit)]
    if line is not None:
        drawn += marked(line, low, high, foot)
    for number, row in enumerate(rows):
        drawn += _estimate(row, top + _ROW * number, low, high)
    return chart(title, _told_estimates(rows), foot + _AXIS, drawn)


def stacked(title: str, parts: Sequence[Part]) -> Markup:
    """One bar of all parts, and below it each part by name."""
    shown = [part for part in parts if part.count]
    total = sum(part.count for part in shown)
    drawn, x = [], 0.0
    for part in shown:
        width = WIDTH * part.count / total
        # A gap tells neighbours apart where colours do not; a part is never too small to be seen.
        drawn.append(
            element(
                "rect", element("title", f"{part.label}: {part.told}"),
                x=x, y=2, width=max(width - 1.5, 0.8), height=26, class_=f"k{part.colour}",
            )
        )  # fmt: skip
        x += width
    for number, part in enumerate(shown):
        y = 54 + 22 * number
        drawn.append(element("rect", x=0, y=y - 10, width=11, height=11, class_=f"k{part.colour}"))
        drawn += labelled(part.label, part.told, y, indent=18)
    told = "; ".join(f"{part.label}: {part.told}" for part in shown)
    return chart(title, told, 46 + 22 * len(shown), drawn)


def histogram(title: str, values: Sequence[float], *, lines: Sequence[Line] = (), unit: str = "") -> Markup:
    """How often values occur. The longest tail is cut where it would hide the rest, and the cut is told."""
    import numpy as np

    data = np.asarray(values, dtype=float)
    ceiling = float(np.percentile(data, 99)) * 1.5
    kept = data[data <= ceiling] if ceiling > 0 else data
    low, high, ticks = axis([float(kept.min()), float(kept.max())], None)
    bins = int(min(30, max(8, round(2 * len(kept) ** (1 / 3)))))
    counts, edges = np.histogram(kept, bins=bins, range=(low, high))
    top, foot = 22, 132
    drawn = [*grid(ticks, low, high, top, foot, unit)]
    scale = (foot - top) / max(1, int(counts.max()))
    for count, left, right in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if count:
            x = place(left, low, high)
            told = f"{left:.3g} to {right:.3g}{unit}: {count}"
            drawn.append(
                element(
                    "rect", element("title", told), x=x, y=foot - count * scale,
                    width=max(0.8, place(right, low, high) - x - 1), height=count * scale, class_="k0 bar",
                )
            )  # fmt: skip
    for line in lines:
        if low <= line.value <= high:
            drawn += marked(line, low, high, foot)
    told = f"{len(data)} values from {data.min():.3g} to {data.max():.3g}{unit}"
    beyond = len(data) - len(kept)
    if beyond:
        label = f"{beyond} beyond, up to {data.max():.3g}"
        drawn.append(element("text", label, x=RIGHT, y=foot - 6, class_="tick", text_anchor="end"))
    return chart(title, told, foot + _AXIS, drawn)


def paired_bars(title: str, names: tuple[str, str], rows: Sequence[tuple[str, int, int]]) -> Markup:
    """Two counts beside each other for each label."""
    top, foot = 44, 160
    highest = max((max(first, second) for _, first, second in rows), default=0) or 1
    drawn = []
    for number, name in enumerate(names):
        x = 130.0 * number
        drawn.append(element("rect", x=x, y=4, width=11, height=11, class_=f"k{number}"))
        drawn.append(element("text", name, x=x + 17, y=14, class_="label"))
    step = WIDTH / max(1, len(rows))
    width = min(22.0, step * 0.36)
    for number, (label, *counts) in enumerate(rows):
        middle = step * (number + 0.5)
        for side, count in enumerate(counts):
            height = (foot - top) * count / highest
            x = middle - width - 0.75 if side == 0 else middle + 0.75
            drawn.append(
                element(
                    "rect", element("title", f"{label}, {names[side]}: {count}"),
                    x=x, y=foot - height, width=width, height=height, class_=f"k{side}",
                )
            )  # fmt: skip
            if len(rows) <= 6:
                drawn.append(
                    element(
                        "text", str(count), x=x + width / 2, y=foot - height - 4, class_="tick",
                        text_anchor="middle",
                    )
                )  # fmt: skip
        drawn.append(element("text", label, x=middle, y=foot + 16, class_="label", text_anchor="middle"))
    drawn.append(element("line", x1=0, x2=WIDTH, y1=foot, y2=foot, class_="axis"))
    told = "; ".join(f"{label}: {first} {names[0]}, {second} {names[1]}" for label, first, second in rows)
    return chart(title, told, foot + 22, drawn)


def over_time(title: str, series: Sequence[Series], *, seconds: float) -> Markup:
    """Lines over `seconds` from 0. Each series has a colour and is named below."""
    values = [y for found in series for _, y in found.points]
    low, high, ticks = axis(values or [0.0], None)
    top, foot, left = 8, 118, 46.0
    drawn = []

    def height(value: float) -> float:
        return foot - (foot - top) * (value - low) / (high - low)

    for tick in ticks:
        y = height(tick)
        drawn.append(element("line", x1=left, x2=WIDTH, y1=y, y2=y, class_="grid"))
        drawn.append(
            element("text", number_text(tick), x=left - 6, y=y + 4, class_="tick", text_anchor="end")
        )
    span, label = (seconds, "s") if seconds < 300 else (seconds / 60, "min")
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        x = left + (WIDTH - left) * share
        told = f"{number_text(float(f'{span * share:.3g}'))} {label}"
        drawn.append(element("text", told, x=x, y=foot + 16, class_="tick", text_anchor=anchor))
    for found in series:
        points = " ".join(
            f"{left + (WIDTH - left) * x / (seconds or 1):.1f},{height(y):.1f}" for x, y in found.points
        )
        drawn.append(
            element("polyline", element("title", found.label), points=points, class_=f"c{found.colour}")
        )
    foot += 24
    for number, found in enumerate(series):
        y = foot + 16 + 20 * number
        drawn.append(element("rect", x=0, y=y - 10, width=11, height=11, class_=f"k{found.colour}"))
        drawn += labelled(found.label, _range(found), y, indent=18)
    told = "; ".join(f"{found.label}: {_range(found)}" for found in series)
    return chart(title, told, foot + 8 + 20 * len(series), drawn)


def _range(series: Series) -> str:
    values = [y for _, y in series.points]
    return f"{min(values):.4g} to {max(values):.4g}"


def _estimate(row: Estimate, y: float, low: float, high: float) -> list[Markup]:
    middle = y + 25
    drawn = labelled(row.label, row.told, y + 13)
    drawn.append(element("line", x1=LEFT, x2=RIGHT, y1=middle, y2=middle, class_="track"))
    if row.low is not None and row.high is not None:
        ends = place(row.low, low, high), place(row.high, low, high)
        drawn.append(
            element("line", x1=ends[0], x2=ends[1], y1=middle, y2=middle, class_=f"c{row.colour} whisker")
        )
        drawn += [
            element("line", x1=x, x2=x, y1=middle - 4, y2=middle + 4, class_=f"c{row.colour} cap")
            for x in ends
        ]
    drawn += [
        element(
            "circle", element("title", f"{value:.4g}"), cx=place(value, low, high), cy=middle, r=3,
            class_=f"c{row.colour} hollow",
        )
        for value in row.dots
    ]  # fmt: skip
    if row.value is not None:
        colour = f"c{row.colour} hollow" if row.hollow else f"k{row.colour}"
        drawn.append(element("circle", cx=place(row.value, low, high), cy=middle, r=4.5, class_=colour))
    return drawn


def _told_estimates(rows: Sequence[Estimate]) -> str:
    return "; ".join(f"{row.label}: {row.told or '-'}" for row in rows)
