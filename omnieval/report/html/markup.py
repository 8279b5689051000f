"""HTML and SVG built of elements, so that a text can only be text.

Whatever is not `Markup` is escaped where it becomes part of an element. Control characters and those that
turn the direction of writing are replaced, and lone halves of characters too.
"""

from __future__ import annotations

import html

from omnieval.parsing import visible, well_formed


class Markup(str):
    """HTML that was built by `element` and is not escaped again."""

    __slots__ = ()


Child = str | None
Attribute = str | float | bool | None

_EMPTY = frozenset({"meta", "br", "img", "input", "link", "circle", "line", "path", "rect", "polyline"})


def escaped(text: str) -> Markup:
    """A text as HTML. Markup stays as it is."""
    if isinstance(text, Markup):
        return text
    plain = well_formed(text).replace("\r\n", "\n").replace("\t", "    ")
    return Markup(html.escape(visible(plain)))


def element(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """One element. Children that are None are left out, attributes that are None or False too.

    Attribute names are written as in Python: `class_`, `aria_label`, `stroke_width`, `viewBox`.
    """
    written = "".join(
        f" {_name(key)}" if value is True else f' {_name(key)}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _EMPTY and not children:
        return Markup(f"<{name}{written}>" if name in ("meta", "br") else f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: Child) -> Markup:
    """Several after each other."""
    return Markup("".join(escaped(child) for child in children if child is not None))


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return escaped(value)
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
