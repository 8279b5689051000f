"""What charts have in common: their frame, axes with round numbers, names and values, and marked lines."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from omnieval.report.html.markup import Markup, element, joined

# Units of every drawing: its width, and where axes begin and end.
WIDTH = 360
LEFT, RIGHT = 6.0, 354.0
_CHARACTER = 6.4


@dataclass(frozen=True, slots=True)
class Line:
    """A value that runs through a chart, named at its top."""

    value: float
    label: str


def labelled(label: str, told: str, y: float, indent: float = 0) -> list[Markup]:
    """A name at the left and a value at the right, the name shortened so that they do not meet."""
    room = (WIDTH - indent - _CHARACTER * (_columns(told) + 2)) / _CHARACTER
    shown = _shortened(label, room)
    name = joined(element("title", label), shown) if shown != label else shown
    return [
        element("text", name, x=indent, y=y, class_="label"),
        element("text", told, x=WIDTH, y=y, class_="told", text_anchor="end"),
    ]


def marked(line: Line, low: float, high: float, foot: float) -> list[Markup]:
    """A line through a chart, named at its top."""
    x = place(line.value, low, high)
    anchor = "start" if x < WIDTH / 3 else "end" if x > 2 * WIDTH / 3 else "middle"
    return [
        element("line", x1=x, x2=x, y1=16, y2=foot, class_="mark"),
        element("text", line.label, x=x, y=11, class_="marked", text_anchor=anchor),
    ]


def grid(ticks: Sequence[float], low: float, high: float, top: float, foot: float, unit: str) -> list[Markup]:
    """Upright lines at round numbers, which stand below."""
    drawn = []
    for tick in ticks:
        x = place(tick, low, high)
        anchor = "start" if x < 20 else "end" if x > WIDTH - 20 else "middle"
        drawn.append(element("line", x1=x, x2=x, y1=top, y2=foot, class_="grid"))
        drawn.append(
            element("text", number_text(tick) + unit, x=x, y=foot + 16, class_="tick", text_anchor=anchor)
        )
    return drawn


def place(value: float, low: float, high: float) -> float:
    """Where a value lies between the ends of an axis."""
    return LEFT + (RIGHT - LEFT) * (min(max(value, low), high) - low) / (high - low)


def axis(values: Sequence[float], bounds: tuple[float, float] | None) -> tuple[float, float, list[float]]:
    """Ends of an axis over all values, and three to six round numbers on it."""
    low, high = min(values), max(values)
    if high - low < 1e-9 * max(1.0, abs(high)):
        low, high = low - (abs(low) or 1) * 0.1, high + (abs(high) or 1) * 0.1
    step = _step((high - low) / 4)
    low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    first = math.ceil(low / step - 1e-9)
    count = math.floor((high - low) / step + 1e-9)
    return low, high, [round((first + i) * step, 12) for i in range(count + 1)]


def _step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def number_text(value: float) -> str:
    """A round number."""
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.3g}"
    return f"{value:.10g}"


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _shortened(text: str, room: float) -> str:
    if _columns(text) <= room:
        return text
    kept, used = "", 1
    for c in text:
        used += _columns(c)
        if used > room:
            break
        kept += c
    return f"{kept.rstrip()}…"


def chart(title: str, told: str, height: float, drawn: Sequence[Markup]) -> Markup:
    """The whole drawing; title and told are what screen readers say."""
    return element(
        "svg", element("title", title), element("desc", told), *drawn,
        viewBox=f"0 0 {WIDTH} {height:g}", role="img",
    )  # fmt: skip
