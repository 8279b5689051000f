"""The ways in which a rung is worse than the one that it is held against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from omnieval.backends.base import OF_THIS_MACHINE
from omnieval.diagnose.asked import Asked
from omnieval.diagnose.causes import Cause, cause_of, cause_of_failures
from omnieval.diagnose.run import LadderExecution

BreakKind = Literal["server", "refused", "media", "failures", "health", "unread", "ignored", "accuracy"]

# A share of the samples by which a rung must be worse than the one it is held against, and at least two.
WORSE = 0.25
SIGNIFICANT = 0.05
# Rungs that add media to the one before, and the tokens that wording alone may differ by.
_ADDS_MEDIA = frozenset({"one-frame", "sound", "frames-and-sound", "stacked"})
_WORDING_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Break:
    """One way in which a rung is worse. found: in words."""

    kind: BreakKind
    found: str
    cause: str
    fix: str


def not_asked(name: str, execution: LadderExecution) -> tuple[Break, ...]:
    """What kept a rung from being asked."""
    if execution.stopped_at == name and execution.failure is not None:
        return (_break(name, "server", f"the server is gone: {execution.failure}"),)
    refused = dict(execution.refused).get(name)
    return () if refused is None else (_break(name, "refused", f"cannot be asked: {refused}"),)


def breaks(name: str, own: Asked, other: Asked | None) -> Iterator[Break]:
    """Every way in which a rung is clearly worse than the other, or by itself where there is no other."""
    yield from _failures(name, own, other)
    count = len(own.pairs)
    if _is_worse(own.unhealthy, 0 if other is None else other.unhealthy, count):
        flags = ", ".join(f"{row.count} {row.flag.replace('_', ' ')}" for row in own.report.health)
        yield _break(name, "health", f"{own.unhealthy} of {count} replies are unhealthy: {flags}")
    elif _is_worse(own.unread, 0 if other is None else other.unread, count):
        yield _break(name, "unread", f"{own.unread} of {count} replies hold no letter")
    if other is None:
        return
    more = own.more_tokens_than(other)
    if name in _ADDS_MEDIA and more is not None and more <= _WORDING_TOKENS:
        told = f"its prompts count {own.prompt_tokens:g} tokens, those without it {other.prompt_tokens:g}"
        yield _break(name, "ignored", told)
    change = own.against(other)
    if change is not None and change.difference < 0 and change.p_value <= SIGNIFICANT:
        told = (
            f"accuracy falls by {-100 * change.difference:.0f} points over {change.count} samples "
            f"(p = {change.p_value:.3g})"
        )
        yield _break(name, "accuracy", told)


def _failures(name: str, own: Asked, other: Asked | None) -> Iterator[Break]:
    count = len(own.pairs)
    here_before, before = (0, 0) if other is None else (other.failed_here, other.failed - other.failed_here)
    if _is_worse(own.failed_here, here_before, count):
        told = next(row.message for row in own.report.failures if row.kind in OF_THIS_MACHINE)
        yield _break(name, "media", f"{own.failed_here} of {count} samples lack their media: {told}")
    at_server = own.failed - own.failed_here
    if _is_worse(at_server, before, count):
        rows = [row for row in own.report.failures if row.kind not in OF_THIS_MACHINE]
        row = max(rows, key=lambda one: one.count)
        told = f"{at_server} of {count} requests fail: {row.kind}: {row.message}"
        yield _break(name, "failures", told, cause_of_failures(name, row.kind, row.hint))


def _break(rung: str, kind: BreakKind, found: str, cause: Cause | None = None) -> Break:
    return Break(kind, found, *(cause or cause_of(rung, kind)))


def _is_worse(own: int, other: int, count: int) -> bool:
    return own - other >= max(WORSE * count, min(2, count))
