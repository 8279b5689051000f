"""The file that says what a directory holds, and in which version of its format."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel
from pydantic_core import from_json

from omnieval.errors import ScoringError


class Versioned(BaseModel):
    """The content of such a file. format: rises with every change that older versions cannot read."""

    format: int


Kind = TypeVar("Kind", bound=Versioned)


def read_versioned(kind: type[Kind], path: Path, version: int, *, absent: str) -> Kind:
    """The content of `path`, which this program writes as `version`.

    absent: what its directory is not, without the file, and the next step. Raises ScoringError where there is
    no such file, or none that can be read.
    """
    try:
        content = from_json(path.read_bytes())
        found = Versioned.model_validate(content).format
        if found != version:
            raise ScoringError(f"{path}: written in format {found}, and this version reads {version}")
        return kind.model_validate(content)
    except (FileNotFoundError, NotADirectoryError):
        raise ScoringError(f"{path.parent}: not the directory of {absent}") from None
    except (OSError, ValueError) as error:
        raise ScoringError(f"{path}: cannot be read: {error}; restore the file") from error
