"""The try that counts of each sample, read from responses.jsonl one at a time."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from pydantic_core import from_json

from omnieval.errors import ScoringError
from omnieval.runlog.files import DELETE_AND_RESUME
from omnieval.runlog.schema import from_line
from omnieval.types import Response


class LastTries:
    """Where the last try of each sample lies in responses.jsonl, and how many there were.

    Holds places instead of replies, so that a large run needs little memory. Raises ScoringError for a
    damaged line, as `Run.responses` does; a torn last line is left out.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[str, tuple[int, int]] = {}
        try:
            self._file = path.open("rb") if path.exists() else None
        except OSError as error:
            raise ScoringError(f"{path}: cannot be read: {error.strerror or error}") from error
        if self._file is not None:
            self._find()

    def _find(self) -> None:
        assert self._file is not None
        place = 0
        for number, line in enumerate(self._file, start=1):
            try:
                name = from_json(line)["sample_id"]
            except (ValueError, KeyError, TypeError) as error:
                if not line.endswith(b"\n"):
                    return
                raise self._damaged(f"line {number}", error) from error
            self._places[name] = (place, self.tries(name) + 1)
            place += len(line)

    def tries(self, sample_id: str) -> int:
        """How many tries at a sample ended."""
        return self._places.get(sample_id, (0, 0))[1]

    def get(self, sample_id: str) -> Response | None:
        """The last try at a sample, or None where there was none."""
        found = self._places.get(sample_id)
        if found is None or self._file is None:
            return None
        self._file.seek(found[0])
        try:
            return from_line(Response, self._file.readline())
        except ValueError as error:
            raise self._damaged(f"the last try at {sample_id}", error) from error

    def _damaged(self, where: str, error: Exception) -> ScoringError:
        reason = str(error).splitlines()[0]
        return ScoringError(f"{self._path}: {where} is damaged ({reason}); {DELETE_AND_RESUME}")

    def __enter__(self) -> LastTries:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
