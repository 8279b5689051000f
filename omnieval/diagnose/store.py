"""The directory of a diagnosis: diagnose.json, .md and .html, beside a plain run directory for each rung.

diagnose.json names the recipe from the beginning, and holds the whole diagnosis at the end.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from omnieval.diagnose.findings import Diagnosis
from omnieval.diagnose.pages import diagnosis_html, diagnosis_page
from omnieval.diagnose.run import DIAGNOSIS
from omnieval.errors import ScoringError
from omnieval.report.markdown import to_markdown
from omnieval.runlog.files import replace_file, replace_json
from omnieval.types import JsonDict


def write_diagnosis(diagnosis: Diagnosis, directory: Path) -> None:
    """Keep it as diagnose.json, diagnose.md and diagnose.html. Raises StorageError."""
    replace_json(directory / DIAGNOSIS, diagnosis_json(diagnosis))
    replace_file(directory / "diagnose.md", [to_markdown(diagnosis_page(diagnosis)).encode()])
    replace_file(directory / "diagnose.html", [diagnosis_html(diagnosis).encode()])


def diagnosis_json(diagnosis: Diagnosis) -> JsonDict:
    """Everything in it, JSON-ready."""
    content: JsonDict = TypeAdapter(Diagnosis).dump_python(diagnosis, mode="json")
    return content


def holds_diagnosis(directory: Path) -> bool:
    """Whether a directory is that of a diagnosis."""
    return (directory / DIAGNOSIS).is_file()


def read_diagnosis(directory: Path) -> Diagnosis:
    """The diagnosis as last written. Raises ScoringError where it has not come to an end yet."""
    path = directory / DIAGNOSIS
    try:
        return TypeAdapter(Diagnosis).validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ScoringError(
            f"{path}: holds no whole diagnosis; give the same `omnieval diagnose` command with --out "
            f"{directory}, which asks only what is missing, or look at one rung: omnieval report "
            f"{directory}/RUNG"
        ) from error
