"""What a media file of a data set is: opened, probed and hashed, one after the other in worker processes.

A worker is `python -m omnieval.datasets.file_facts TIME_LIMIT_S`: paths in, facts out, one JSON line each. A
file that crashes or hangs the decoder costs one process and is named.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from omnieval import own_process
from omnieval.errors import MediaError, StorageError
from omnieval.media.open import open_media
from omnieval.media.probe import MediaProbe, probe
from omnieval.media.source import plain_file

# Reading and hashing an hour of video takes seconds; a pipe or a dead network disk takes for ever.
TIME_LIMIT_S = 600.0
_NO_MEDIA = (".srt", ".vtt", ".txt")
# Sizes from here on come from writers that could not know the length.
_UNKNOWN_RIFF_SIZE = 0x7FFFF000


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One file. bytes, sha256: of its content. video_s, audio_s: how long its tracks say they are, None where
    there is no such track (or where a sound does not say). has_audio: whether it has a sound track. problem:
    why it cannot be used, or None."""

    path: str
    bytes: int = 0
    sha256: str = ""
    video_s: float | None = None
    audio_s: float | None = None
    has_audio: bool = False
    problem: str | None = None


def file_facts(path: Path) -> FileFacts:
    """The facts of a file, plain or in an archive; what is wrong with it is its problem, no error."""
    try:
        with tempfile.TemporaryDirectory() as scratch, plain_file(path, Path(scratch)) as plain:
            found = None if path.suffix.lower() in _NO_MEDIA else _probed(plain)
            with plain.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = file.tell()
    except (MediaError, StorageError) as error:
        return FileFacts(str(path), problem=str(error))
    except OSError as error:
        return FileFacts(
            str(path), problem=f"{path}: cannot be read: {error.strerror or error}; fetch it again"
        )
    if found is None:
        return FileFacts(str(path), size, digest)
    video_s = found.video.duration_s if found.video else None
    audio_s = found.audio.duration_s if found.audio else None
    return FileFacts(str(path), size, digest, video_s, audio_s, found.audio is not None)


def all_facts(
    paths: Sequence[Path],
    *,
    workers: int | None = None,
    time_limit_s: float = TIME_LIMIT_S,
    told: Callable[[int, int], None] = lambda _done, _total: None,
) -> dict[Path, FileFacts]:
    """The facts of every file. workers: how many processes, by default one a processor. told: hears (files
    done, all files)."""
    count = min(workers or os.cpu_count() or 1, max(1, len(paths)))
    free: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
    everyone = [_Worker(time_limit_s) for _ in range(count)]
    for worker in everyone:
        free.put(worker)

    def ask(path: Path) -> FileFacts:
        worker = free.get()
        try:
            return worker.ask(path)
        finally:
            free.put(worker)

    found: dict[Path, FileFacts] = {}
    pool = ThreadPoolExecutor(count)
    try:
        for path, facts in zip(paths, pool.map(ask, paths), strict=True):
            found[path] = facts
            told(len(found), len(paths))
    finally:
        # The workers first: a thread may wait minutes for a large file of one.
        for worker in everyone:
            worker.close()
        pool.shutdown(cancel_futures=True)
    return found


class _Worker:
    """One worker process, started when it is first needed and again after it died."""

    def __init__(self, time_limit_s: float) -> None:
        self._time_limit_s = time_limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def ask(self, path: Path) -> FileFacts:
        with self._lock:
            if self._closed:
                return FileFacts(str(path), problem=f"{path}: not read")
            process = self._process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(str(path)).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = b""
        if line.endswith(b"\n"):
            return FileFacts(**json.loads(line))
        with self._lock:
            self._end()
        slow = process.returncode == -signal.SIGALRM
        what = f"takes more than {self._time_limit_s:g} s" if slow else "crashes the decoder"
        return FileFacts(str(path), problem=f"{path}: {what}; check it with ffprobe, fetch it again")

    def close(self) -> None:
        """End the process, whatever it is at, and start none any more."""
        with self._lock:
            self._closed = True
            self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            own_process.command("omnieval.datasets.file_facts", str(self._time_limit_s)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=own_process.environment(),
            start_new_session=True,
        )


def _probed(path: Path) -> MediaProbe:
    """What the headers say, where the file holds as much as they promise. Raises MediaError."""
    found = probe(path)
    lost = max(_riff_end(path), *_packet_ends(path)) - path.stat().st_size
    if lost > 0:
        raise MediaError(f"{path}: cut: {lost} bytes are missing at its end; fetch it again")
    return found


def _riff_end(path: Path) -> int:
    """Where a WAV file ends by its header; 0 for any other file, or where its writer could not know."""
    with path.open("rb") as file:
        head = file.read(12)
    declared = int.from_bytes(head[4:8], "little")
    is_wav = head[:4] == b"RIFF" and head[8:] == b"WAVE" and declared < _UNKNOWN_RIFF_SIZE
    return declared + 8 if is_wav and declared else 0


def _packet_ends(path: Path) -> list[int]:
    """Where in the file each of its tracks ends, by the index of its packets."""
    with open_media(path) as container:
        tracks = (*container.streams.video, *container.streams.audio)
        return [max((e.pos + e.size for e in track.index_entries), default=0) for track in tracks]


def main(time_limit_s: str) -> None:
    """Serve standard input until it ends; past the time limit the process ends itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what a Ctrl-C means
    for line in sys.stdin.buffer:
        signal.setitimer(signal.ITIMER_REAL, float(time_limit_s))
        facts = file_facts(Path(json.loads(line)))
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.buffer.write(json.dumps(asdict(facts)).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
