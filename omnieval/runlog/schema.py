"""What one line of a run directory's files means, both ways.

samples.jsonl: `PlannedSample`. media.jsonl: `AskedMedia`. responses.jsonl: `omnieval.types.Response`.
scores.jsonl: `omnieval.types.Score`. Fields are those of the dataclasses; a field added later has a default,
so old runs stay readable.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic_core import PydanticSerializationError

from omnieval.types import Sample

T = TypeVar("T")

# Below this a reader of the line may give up.
_DEEPEST = 100


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
    try:
        return _adapter(kind).dump_json(record) + b"\n"
    except PydanticSerializationError:  # halves of characters, or nested too deeply: a server's own words
        return json.dumps(_writable(record)).encode() + b"\n"


def _writable(value: Any, depth: int = 0) -> Any:
    """The value in plain types that JSON can hold and that can be read again."""
    if depth > _DEEPEST:
        return "(nested too deeply)"
    if is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, Mapping):
        return {_text(str(key)): _writable(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_writable(inner, depth + 1) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, int | float):
        return value
    return _text(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))


def _text(value: str) -> str:
    return value.encode("utf-8", "replace").decode()


def from_line(kind: type[T], line: bytes) -> T:
    """The record of one line. Raises ValueError (pydantic's ValidationError) when it is not one."""
    target: Any = kind
    record: T = _adapter(target).validate_json(line)
    return record
