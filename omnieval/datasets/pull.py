"""Data sets from a hub, whole or not at all: what is to come is listed first, and compared afterwards."""

from __future__ import annotations

import errno
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from omnieval.benchmarks import rows
from omnieval.datasets.hubs import HUBS, HubClient, Listing
from omnieval.datasets.target import storage_errors
from omnieval.errors import ConfigError, DataError, StorageError
from omnieval.media.archives import bad_name
from omnieval.sizes import size_text
from omnieval.wording import as_typed, counted, suggest

_REPO = re.compile(r"[\w.-]+/[\w.-]+")
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a data set lies. patterns: the files that are needed; of each at least one must be there. verb:
    what `omnieval data` does next with them."""

    repo: str
    patterns: tuple[str, ...]
    verb: str


# By data set and hub. lmms-lab/Video-MME is also published as lmms-eval/Video-MME.
SOURCES: Mapping[tuple[str, str], Source] = {
    ("daily-omni", "modelscope"): Source("MTEB/Daily-Omni", ("data/test-*.parquet",), "convert"),
    ("daily-omni", "huggingface"): Source("liarliar/Daily-Omni", ("qa.json", "Videos.tar"), "convert"),
    ("video-mme", "huggingface"): Source(
        "lmms-lab/Video-MME", ("videomme/*.parquet", "videos_chunked_*.zip", "subtitle.zip"), "check"
    ),
    ("seed-tts", "modelscope"): Source("CowboyZ/seed-tts-eval", ("seedtts_testset.tar",), "check"),
    ("seed-tts", "huggingface"): Source("zhaochenyang20/seed-tts-eval", ("en/*", "zh/*"), "check"),
}


@dataclass(frozen=True)
class Pulled:
    """What lies in the folder now. revision: what was fetched, as the hub names it. next: the command that
    goes on from here."""

    folder: Path
    hub: str
    repo: str
    revision: str
    files: int
    fetched: int
    bytes: int
    next: str

    def summary(self) -> str:
        """Counts, in a sentence."""
        files = counted(self.files, "file", "files")
        return (
            f"{self.folder}: {files} of {self.repo} ({self.hub}, {self.revision}), "
            f"{self.bytes / 1e6:.1f} MB, {self.fetched} fetched now; next: {self.next}"
        )

    def problems(self) -> list[str]:
        """None: what is not whole is an error."""
        return []


def pull_data(
    name: str,
    dst: Path,
    *,
    hub: str | None = None,
    repo: str | None = None,
    revision: str | None = None,
    patterns: Sequence[str] = (),
    notify: Callable[[str], None] = lambda _: None,
) -> Pulled:
    """Fetch a data set into a folder; a second call fetches only what is missing.

    name: daily-omni, video-mme or seed-tts. hub: modelscope or huggingface; None for the first that has it.
    repo, revision, patterns: others than the known ones. Raises ConfigError for an unknown data set or hub
    and without the hub's library, StorageError where the folder cannot be written or has too little room,
    DataError (offline, gated, not found, not whole) that says what to fetch by hand and where to put it.
    """
    hub = hub or next((known for known in HUBS if (name, known) in SOURCES), next(iter(HUBS)))
    source = _source(name, hub, repo, patterns)
    client = HUBS[hub]()
    try:
        listing = client.listing(source.repo, revision)
        wanted = _wanted(source, hub, listing)
        missing = _missing(dst, wanted)
        size = sum(wanted[path] or 0 for path in missing)
        notify(f"{source.repo} ({hub}): {len(missing)} of {len(wanted)} files to fetch, {size / 1e6:.1f} MB")
        if missing:
            _require_room(dst, size)
            client.fetch(source.repo, listing, source.patterns, dst)
    except (DataError, ConfigError, StorageError):
        raise
    except Exception as error:
        for cause in _causes(error):
            if isinstance(cause, OSError) and cause.errno in _DISK_ERRORS:
                with storage_errors(dst):
                    raise cause from None
        raise _not_fetched(source, client, dst, error) from error
    short = _missing(dst, wanted)
    if short:
        raise DataError(
            f"{dst}: {len(short)} of {len(wanted)} files are not whole ({rows.few(short)}); give the same "
            "command again"
        )
    return Pulled(
        folder=dst,
        hub=hub,
        repo=source.repo,
        revision=listing.revision,
        files=len(wanted),
        fetched=len(missing),
        bytes=sum((dst / path).stat().st_size for path in wanted),
        next=_next(name, source, dst),
    )


def _source(name: str, hub: str, repo: str | None, patterns: Sequence[str]) -> Source:
    names = {known for known, _ in SOURCES}
    if name not in names:
        raise ConfigError(f"unknown data set {name!r}{suggest(name, names)}")
    if hub not in HUBS:
        raise ConfigError(f"unknown hub {hub!r}{suggest(hub, HUBS)}")
    if repo is not None and not _REPO.fullmatch(repo):
        raise ConfigError(f"--repo {repo!r}: expected ORGANISATION/NAME")
    known = SOURCES.get((name, hub))
    if known is None and (repo is None or not patterns):
        others = ", ".join(f"--hub {other}" for other in HUBS if (name, other) in SOURCES)
        raise ConfigError(f"no {name} is known on {hub}; take {others}, or give --repo and --files")
    verb = known.verb if known else "check"
    return Source(
        repo or (known.repo if known else ""), tuple(patterns) or (known.patterns if known else ()), verb
    )


def _wanted(source: Source, hub: str, listing: Listing) -> dict[str, int | None]:
    """The files to have, with their sizes. Raises DataError when the repository lacks what is needed."""
    unsafe = [path for path in listing.files if bad_name(path)]
    if unsafe:
        raise DataError(
            f"{source.repo} ({hub}): names files outside its folder: {rows.few(unsafe)}; not used"
        )
    lacking = [p for p in source.patterns if not any(fnmatchcase(path, p) for path in listing.files)]
    if lacking:
        holds = rows.few(listing.files) or "nothing"
        raise DataError(
            f"{source.repo} ({hub}): expected {', '.join(lacking)}, found {holds}; name another repository "
            "with --repo, or other files with --files"
        )
    return {
        path: size
        for path, size in listing.files.items()
        if any(fnmatchcase(path, pattern) for pattern in source.patterns)
    }


def _missing(folder: Path, wanted: Mapping[str, int | None]) -> list[str]:
    return [
        path
        for path, size in wanted.items()
        if not (folder / path).is_file() or (size is not None and (folder / path).stat().st_size != size)
    ]


def _require_room(folder: Path, size: int) -> None:
    """Raises StorageError where the folder cannot be written, or the disk has no room for what is to come."""
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            disk = shutil.disk_usage(folder)
        begun = sum(path.stat().st_size for path in folder.rglob("*.incomplete"))
    if disk.total and disk.free < size - begun:
        raise StorageError(
            f"{folder}: {size_text(size - begun)} are to be fetched, and {size_text(disk.free)} are free; "
            "free some space, or name another folder with --dst"
        )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _not_fetched(source: Source, client: HubClient, dst: Path, error: Exception) -> DataError:
    return DataError(
        f"{source.repo} ({client.name}): cannot be fetched: {client.reason(error)}; check the network "
        f"({client.settings}) and give the same command again, or fetch {', '.join(source.patterns)} by hand "
        f"and put them into {dst} under the same names"
    )


def _next(name: str, source: Source, folder: Path) -> str:
    if source.verb == "convert":
        return f"omnieval data convert {name} --src {as_typed(folder)} --dst DIR"
    return f"omnieval data check {name} {as_typed(folder)}"
