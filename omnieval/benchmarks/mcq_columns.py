"""Which column of a table of multiple-choice questions holds what: by mapping, or by the names in use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from omnieval.benchmarks import rows
from omnieval.config import Strict
from omnieval.errors import DataError
from omnieval.parsing.options import LETTERS
from omnieval.types import Sample

# Column names that data sets use, in order of preference; OmniEvalKit's are among them.
KNOWN: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "question_id", "sample_id", "qid", "uid", "index"),
    "question": ("question", "Question", "query", "prompt", "problem"),
    "options": ("options", "choices", "candidates", "Choice", "Options", "Choices"),
    "answer": ("answer", "Answer", "gt_answer", "answer_letter", "correct_answer", "label", "gold", "target"),
    "answer_text": ("answer_text", "gt_answer_content", "answer_content"),
    "video": ("video", "VideoPath", "video_path", "video_paths_dict", "video_file"),
    "audio": ("audio", "WavPath", "audio_path", "audio_paths_dict", "audio_file", "wav"),
    "images": ("images", "image", "ImagePath", "image_path", "image_paths_dict", "image_file"),
}
KNOWN_GROUPS = (
    "task_type", "task", "type", "category", "sub_category", "domain", "duration", "subset", "dataset_name",
)  # fmt: skip
_MEDIA = ("video", "audio", "images")
# One option a column: option_a, choice_a, A ...
_OPTION_COLUMN = re.compile(r"(?:(?:option|choice|opt|answer|ans)[_ ]?)?([A-Za-z])", re.IGNORECASE)


class Columns(Strict):
    """Which column holds what; null tries the names in use. options may be a list of columns."""

    id: str | None = None
    question: str | None = None
    options: str | tuple[str, ...] | None = None
    answer: str | None = None
    answer_text: str | None = None
    video: str | None = None
    audio: str | None = None
    images: str | tuple[str, ...] | None = None
    cluster: str | None = None
    groups: Mapping[str, str] = Field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """The columns of one table, found: role -> column names, and group name -> column."""

    columns: Mapping[str, tuple[str, ...]]
    groups: Mapping[str, str]

    @classmethod
    def of(cls, table: Sequence[Any], wanted: Columns, path: Path) -> Layout:
        """Raises DataError that names the columns found when a wanted or needed one is missing."""
        known = list(dict.fromkeys(str(k) for row in table[:1000] if isinstance(row, Mapping) for k in row))
        found: dict[str, tuple[str, ...]] = {}
        for role in (*KNOWN, "cluster"):
            given = getattr(wanted, role)
            names = (given,) if isinstance(given, str) else tuple(given or ())
            missing = [name for name in names if name not in known]
            if missing:
                raise DataError(_no_column(path, f"columns.{role} names {missing[0]!r}", known))
            there = tuple(name for name in KNOWN.get(role, ()) if name in known)
            found[role] = names or (there if role in _MEDIA else there[:1])
        if not found["options"]:
            found["options"] = _option_columns(known)
        for role in ("question", "options", "answer"):
            if not found[role]:
                raise DataError(_no_column(path, f"no column holds the {role}; set columns.{role}", known))
        for name, column in wanted.groups.items():
            if column not in known:
                raise DataError(_no_column(path, f"columns.groups.{name} names {column!r}", known))
        groups = wanted.groups or {name.replace("_", " "): name for name in KNOWN_GROUPS if name in known}
        return cls(found, groups)

    def unused_notes(self, table: Sequence[Any], samples: Sequence[Sample]) -> list[str]:
        """That rows have no media although others have, or the table has columns that nothing uses."""
        bare = [sample.id for sample in samples if sample.problem is None and not sample.media]
        used = {name for names in self.columns.values() for name in names} | set(self.groups.values())
        known = dict.fromkeys(str(k) for row in table[:1000] if isinstance(row, Mapping) for k in row)
        unused = [name for name in known if name not in used]
        are = "is" if len(bare) == 1 else "are"
        if bare and any(sample.media for sample in samples):
            without = f"{len(bare)} of {len(samples)} rows {are} asked without media, having none"
            return [f"{without}: {rows.few(bare)}"]
        if not bare or not unused:
            return []
        return [
            f"{len(bare)} of {len(samples)} rows {are} asked without media; columns that are not used: "
            f"{rows.few(unused, 8)} (columns.images, columns.audio and columns.video name others)"
        ]

    def value(self, row: Mapping[str, Any], role: str) -> Any:
        """The row's value of a role, or None."""
        return next((row[name] for name in self.columns[role] if not is_empty(row.get(name))), None)

    def values(self, row: Mapping[str, Any], role: str) -> list[Any]:
        """All the row's values of a role: of a list, or of a mapping; of several columns those of the first
        that has any, and all of them for pictures."""
        found: list[Any] = []
        for name in self.columns[role]:
            if found and role != "images":
                break
            value: Any = row.get(name)
            value = value.tolist() if hasattr(value, "tolist") else value
            if isinstance(value, Mapping) and not {"bytes", "path"} & set(value):
                value = list(value.values())
            several = value if isinstance(value, list | tuple) else [value]
            found += [one for one in several if not is_empty(one)]
        return found


def is_empty(value: Any) -> bool:
    """Whether a cell holds nothing: null, blank text, no bytes, not a number."""
    return (
        value is None
        or (isinstance(value, str | bytes) and not value.strip())
        or (isinstance(value, float) and value != value)
    )


def _option_columns(known: Sequence[str]) -> tuple[str, ...]:
    """Columns such as option_a, option_b ..., in the order of their letters; all of one spelling."""
    by_spelling: dict[str, dict[str, str]] = {}
    for name in known:
        match = _OPTION_COLUMN.fullmatch(name)
        if match is not None:
            spelling = name[: match.start(1)].lower()
            by_spelling.setdefault(spelling, {})[match.group(1).upper()] = name
    for letters in sorted(by_spelling.values(), key=len, reverse=True):
        if len(letters) >= 2 and "".join(sorted(letters)) == LETTERS[: len(letters)]:
            return tuple(letters[letter] for letter in sorted(letters))
    return ()


def _no_column(path: Path, what: str, known: Sequence[str]) -> str:
    return f"{path}: {what}; the table has {', '.join(known) or 'no columns'}"
