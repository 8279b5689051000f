"""What one line of a run directory's files means, both ways.

samples.jsonl: `PlannedSample`. responses.jsonl: `omnieval.types.Response`. scores.jsonl:
`omnieval.types.Score`. Fields are those of the dataclasses; a field added later has a default, so old
runs stay readable.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

from omnieval.types import Sample

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlannedSample:
    """A row of the data set and whether this run asks it."""

    sample: Sample
    selected: bool


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def to_line(record: object) -> bytes:
    """One JSON line, UTF-8, with its line end."""
    kind: Any = type(record)
    return _adapter(kind).dump_json(record) + b"\n"


def from_line(kind: type[T], line: bytes) -> T:
    """The record of one line. Raises ValueError (pydantic's ValidationError) when it is not one."""
    target: Any = kind
    record: T = _adapter(target).validate_json(line)
    return record
