"""The run directory: what a run is on disk, how it is begun, continued and read.

run.json       resolved configuration, versions, data set, server facts; written last when a run is
               begun, so a directory without it is no run yet
samples.jsonl  every row of the data set and whether it is asked; written before the first request
responses.jsonl one finished try a line; the last line of a sample counts
media.jsonl    the media of each sample as it was asked, by a key of their content; the last line counts
events.jsonl   started, resumed, stopped, retried, media notes
audio/{sample id}.wav  the sound of an answer; that of failed tries lies in audio/failed
scores.jsonl, report.json, report.md, report.html  made anew by scoring; they never need the model
telemetry.jsonl  measurements of the server's machine, where something wrote them
gate.json      the verdicts of the gate by which the run was last judged
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import from_json

from omnieval.errors import ConfigError, ScoringError
from omnieval.runlog.files import (
    RESUME,
    LineLog,
    begin_directory,
    read_lines,
    replace_file,
    replace_json,
    storage_error,
)
from omnieval.runlog.schema import AskedMedia, PlannedSample, RunInfo, to_line
from omnieval.types import JsonDict, Response, Score, SpokenAudio
from omnieval.wording import as_typed

if TYPE_CHECKING:
    import pandas

FORMAT = 1
RUN, SAMPLES, RESPONSES, MEDIA = "run.json", "samples.jsonl", "responses.jsonl", "media.jsonl"
EVENTS, SCORES, REPORT_JSON, REPORT_MD = "events.jsonl", "scores.jsonl", "report.json", "report.md"
REPORT_HTML, GATE_JSON, TELEMETRY = "report.html", "gate.json", "telemetry.jsonl"
AUDIO = "audio"
_LOCK = ".lock"
RESTORE = "restore the file"


def score_again(directory: Path) -> str:
    return f"`omnieval score {as_typed(directory)}` writes it anew"


@dataclass(frozen=True)
class Run:
    """A run directory, for reading. `info` is the content of run.json."""

    directory: Path
    info: Mapping[str, Any]

    @classmethod
    def load(cls, directory: Path) -> Run:
        """Raises ScoringError when the directory holds no run."""
        path = directory / RUN
        try:
            info = from_json(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise ScoringError(
                f"{directory}: not a run directory (no {RUN} in it); name {_runs_in(directory)}"
            ) from None
        except OSError as error:
            raise ScoringError(f"{path}: cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            raise ScoringError(f"{path}: cannot be read as JSON: {error}; restore the file") from error
        if not isinstance(info, dict) or info.get("format") != FORMAT:
            raise ScoringError(f"{path}: written in a format that this version does not read")
        try:
            return cls(directory, RunInfo.model_validate(info).model_dump())
        except ValidationError as error:
            wrong = sorted({".".join(map(str, item["loc"])) for item in error.errors()})
            raise ScoringError(
                f"{path}: damaged, expected the keys {', '.join(wrong)}; restore the file"
            ) from error

    @property
    def config(self) -> Mapping[str, Any]:
        """The resolved configuration, flat, as a recipe would write it."""
        config: Mapping[str, Any] = self.info["config"]
        return config

    @property
    def name(self) -> str:
        """The name of the directory; what no text can hold, of names that are not UTF-8, is replaced."""
        return os.fsencode(self.directory.absolute().name).decode("utf-8", "replace")

    def samples(self) -> Iterator[PlannedSample]:
        """Every row of the data set, in its order. Raises ScoringError when rows were lost or added."""
        count = 0
        for planned in read_lines(self.directory / SAMPLES, PlannedSample, then=RESTORE):
            count += 1
            yield planned
        expected = self.info["dataset"].get("rows")
        if count != expected:
            raise ScoringError(
                f"{self.directory / SAMPLES}: {count} rows, but {RUN} says {expected}; restore the file"
            )

    def responses(self) -> Iterator[Response]:
        """Every finished try, in the order in which they ended."""
        return read_lines(self.directory / RESPONSES, Response)

    def last_responses(self) -> dict[str, Response]:
        """The try that counts, by sample id; its text and timing are kept, earlier tries are not."""
        return {response.sample_id: response for response in self.responses()}

    def media(self) -> dict[str, dict[str, str]]:
        """Keys of the media's content by role, by sample id; none in a run that did not record them."""
        return {asked.sample_id: asked.keys for asked in read_lines(self.directory / MEDIA, AskedMedia)}

    def scores(self) -> Iterator[Score]:
        """The scores as last written, one a row of the data set."""
        return read_lines(self.directory / SCORES, Score, then=score_again(self.directory))

    def to_pandas(self) -> pandas.DataFrame:
        """The scored run as a table: one row a row of the data set, columns as in `omnieval.runlog.rows`.

        Needs pandas (the extra `pandas`). Raises ConfigError without it, ScoringError for an unscored run.
        """
        from omnieval.runlog.frame import to_frame

        return to_frame(self)

    def events(self) -> Iterator[JsonDict]:
        """What happened beside answers, in order."""
        return read_lines(self.directory / EVENTS, dict)

    def report(self) -> JsonDict:
        """The content of report.json. Raises ScoringError when the run has not been scored."""
        path = self.directory / REPORT_JSON
        try:
            report: JsonDict = from_json(path.read_bytes())
        except FileNotFoundError:
            place = as_typed(self.directory)
            raise ScoringError(
                f"{self.directory}: no report yet, as of a run that was killed: "
                f"`omnieval run --resume {place}` continues it, "
                f"`omnieval score {place}` reports what is there"
            ) from None
        except OSError as error:
            raise ScoringError(f"{path}: cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            raise ScoringError(
                f"{path}: cannot be read as JSON: {error}; run `omnieval score` again"
            ) from error
        if not isinstance(report, dict):
            raise ScoringError(f"{path}: not a report; run `omnieval score` again")
        return report


def exists(directory: Path) -> bool:
    """Whether a directory holds a begun run."""
    return (directory / RUN).is_file()


class RunWriter:
    """The one process that adds to a run directory; holds its lock until closed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._lock = _lock(directory)
        self._responses = LineLog(directory / RESPONSES, then=RESUME)
        self._events = LineLog(directory / EVENTS, then=RESUME)
        self._media: LineLog | None = None

    @classmethod
    def begin(cls, directory: Path, info: JsonDict, planned: Sequence[PlannedSample]) -> RunWriter:
        """Start a run in a new, empty, or never completed directory.

        Raises ConfigError when the directory holds anything else, StorageError when it cannot be written.
        """
        begin_directory(directory, ours=_ours)
        writer = cls(directory)
        try:
            replace_file(directory / SAMPLES, (to_line(record) for record in planned))
            replace_json(directory / RUN, {"format": FORMAT, **info})
        except BaseException:
            writer.close()
            raise
        return writer

    def add_response(self, response: Response) -> None:
        """Keep one finished try, its sound first. Raises StorageError."""
        self._responses.append(to_line(self.keep_sound(response)))

    def keep_sound(self, response: Response) -> Response:
        """The try with its sound, if it has any, in a file of the run directory and no longer in memory. Any
        thread may call it. Raises StorageError."""
        if response.audio is None or not response.audio.wav:
            return response
        return replace(response, audio=self._kept(response, response.audio))

    def add_media(self, sample_id: str, keys: Mapping[str, str]) -> None:
        """Keep the keys of the media that a sample is about to be asked about. Raises StorageError."""
        if self._media is None:
            self._media = LineLog(self.directory / MEDIA, then=RESUME)
        self._media.append(to_line(AskedMedia(sample_id, dict(keys))))

    def add_event(self, event: str, **fields: Any) -> None:
        """Keep one event with the wall clock time (seconds since the epoch). Raises StorageError."""
        record = {"time": round(time.time(), 3), "event": event, **fields}
        line = json.dumps(record, ensure_ascii=False, default=str)
        self._events.append(line.encode("utf-8", "replace") + b"\n")

    def _kept(self, response: Response, audio: SpokenAudio) -> SpokenAudio:
        """The sound as a file of the run directory."""
        name = f"{AUDIO}/{response.sample_id}.wav"
        if not response.answered:
            name = f"{AUDIO}/failed/{response.sample_id}-{response.attempt}.wav"
        path = self.directory / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise storage_error(path.parent, error, then=RESUME) from error
        replace_file(path, [audio.wav], then=RESUME)
        return replace(audio, wav=b"", file=name, sha256=hashlib.sha256(audio.wav).hexdigest())

    def close(self) -> None:
        """Flush, close and give the lock back."""
        self._responses.close()
        self._events.close()
        if self._media is not None:
            self._media.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def new_directory(parent: Path, name: str, moment: time.struct_time) -> Path:
    """`parent/20261201-142233-name`, with -2, -3 ... when it is taken."""
    stamp = f"{time.strftime('%Y%m%d-%H%M%S', moment)}-{name}"
    path, repeat = parent / stamp, 1
    while path.exists():
        repeat += 1
        path = parent / f"{stamp}-{repeat}"
    return path


def _runs_in(directory: Path) -> str:
    """What to name instead of a folder without a run: the newest of the runs in it, if any."""
    runs = [path.parent for depth in ("*", "*/*") for path in directory.glob(f"{depth}/{RUN}")]
    if not runs:
        return "one that `omnieval run` wrote"
    newest = max(runs, key=lambda run: (run / RUN).stat().st_mtime)
    named = f"one of the {len(runs)} in it, such as the newest, {newest}" if len(runs) > 1 else str(newest)
    bench = f"; to continue the bench: omnieval bench --resume {as_typed(directory)}"
    return named + (bench if (directory / "bench.json").exists() else "")


def _ours(name: str) -> bool:
    return name in (SAMPLES, RESPONSES, EVENTS, MEDIA, _LOCK) or (
        name.startswith(".") and name.endswith(".tmp")
    )


def _lock(directory: Path) -> int:
    path = directory / _LOCK
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise storage_error(path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise ConfigError(
            f"{directory}: another process is writing to this run; wait for it to end"
        ) from None
    return descriptor
