"""A command prints its result in one form: for a reader, as Markdown, as JSON or as a page."""

from __future__ import annotations


def require_one_form(*, json_: bool = False, markdown: bool = False, html: str | None = None) -> None:
    """Raises ConfigError where several forms are asked for, of which only one could be printed."""
    from omnieval.errors import ConfigError

    asked = [
        option
        for option, given in (("--json", json_), ("--markdown", markdown), ("--html", html is not None))
        if given
    ]
    if len(asked) > 1:
        raise ConfigError(f"{' and '.join(asked)} exclude each other; give one of them")
