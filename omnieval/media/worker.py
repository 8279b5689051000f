"""A worker process: media plans in, prepared media out, one JSON line each.

Run as `python -m omnieval.media.worker CACHE TIME_LIMIT_S MEMORY_LIMIT_BYTES`. Decoders can crash, hang or
eat memory on a broken file; here that costs one process and one file. It ends with its standard input.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from omnieval.errors import MediaError, StorageError
from omnieval.media.cache import MediaCache
from omnieval.media.prepare import prepare_media
from omnieval.types import MediaPlan, PreparedMedia

_PLAN = TypeAdapter(MediaPlan)
_MEDIA = TypeAdapter(PreparedMedia)


def request_line(plan: MediaPlan) -> bytes:
    """What to write to a worker for one plan."""
    return _PLAN.dump_json(plan) + b"\n"


def read_answer(line: bytes) -> PreparedMedia:
    """What a worker answered. Raises the MediaError or StorageError that it met."""
    answer: dict[str, Any] = json.loads(line)
    if "media" in answer:
        return _MEDIA.validate_python(answer["media"])
    if answer["error"] == "storage":
        raise StorageError(answer["message"])
    raise MediaError(answer["message"], kind=answer["error"])


def _answer(plan: MediaPlan, cache_root: Path, memory_limit: int) -> dict[str, Any]:
    try:
        media = prepare_media(plan, MediaCache(cache_root, tidy=False))
        return {"media": _MEDIA.dump_python(media, mode="json")}
    except MediaError as error:
        return {"error": error.kind, "message": str(error)}
    except StorageError as error:
        return {"error": "storage", "message": str(error)}
    except MemoryError:
        limit = f"{memory_limit / 2**30:g} GiB"
        return {"error": "media", "message": f"{names(plan)}: needs more memory than the limit of {limit}"}
    except Exception as error:  # noqa: BLE001 - a decoder may fail in any way; it costs one file
        return {"error": "media", "message": f"{names(plan)}: {type(error).__name__}: {error}"}


def names(plan: MediaPlan) -> str:
    """The files of a plan, for messages."""
    return " and ".join(str(path) for path in (plan.video, plan.audio) if path is not None)


def main(cache_root: str, time_limit_s: str, memory_limit_bytes: str) -> None:
    """Serve standard input until it ends. Past the time limit the process ends itself, so that it does
    not outlive a parent that was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what a Ctrl-C means
    memory_limit = int(memory_limit_bytes)
    resource.setrlimit(resource.RLIMIT_DATA, (memory_limit, memory_limit))
    for line in sys.stdin.buffer:
        signal.setitimer(signal.ITIMER_REAL, float(time_limit_s))
        answer = _answer(_PLAN.validate_json(line), Path(cache_root), memory_limit)
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
