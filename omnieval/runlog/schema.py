"""What one line of a run directory's files means, both ways.

samples.jsonl: `PlannedSample`. media.jsonl: `AskedMedia`. responses.jsonl: `omnieval.types.Response`.
scores.jsonl: `omnieval.types.Score`. Fields are those of the dataclasses; a field added later has a default,
so old runs stay readable.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter

from omnieval.types import Sample

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlannedSample:
    """A row of the data set and whether this run asks it."""

    sample: Sample
    selected: bool


@dataclass(frozen=True, slots=True)
class AskedMedia:
    """The media that a sample was asked about: key of the content by role (`omnieval.media.content_key`)."""

    sample_id: str
    keys: dict[str, str]


class _Part(BaseModel):
    """What is read of a part of run.json; everything else in it is kept as it is."""

    model_config = ConfigDict(extra="allow")


class _Config(_Part):
    recipe: str = ""
    benchmark: str = ""
    backend: str = ""
    model: str | None = None
    parser: str = "official"
    decode: dict[str, Any] = {}
    options: dict[str, Any] = {}


class _Dataset(_Part):
    root: str = ""
    rows: int | None = None
    fingerprint: str = ""
    notes: list[str] = []


class _Server(_Part):
    model: str | None = None
    version: str | None = None


class _Versions(_Part):
    omnieval: str = ""


class RunInfo(_Part):
    """run.json."""

    config: _Config
    recipe_hash: str
    headline: dict[str, str]
    group_keys: list[str]
    dataset: _Dataset
    server: _Server
    versions: _Versions
    started: str


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
