"""What lies in the archives of a release, as plain files in the layout that a recipe reads.

Archives are listed and read as `omnieval.media.archives` and `omnieval.media.tars` do, as if they were
hostile: no links, no devices, no names that lead outside or collide, no bombs. Here, too, no member is
written under a name that is not UTF-8, and no archive is taken whose members together are far larger than it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from omnieval.benchmarks import rows
from omnieval.benchmarks.daily_omni_data import archive_in, table_of
from omnieval.benchmarks.hub import snapshot_of
from omnieval.benchmarks.seed_tts_list import no_list, read_list
from omnieval.benchmarks.video_mme_data import VideoMMEFiles, locate, read_table, sample_of
from omnieval.datasets.merge import name_of
from omnieval.datasets.target import Target
from omnieval.errors import DataError, MediaError
from omnieval.media.archives import Member
from omnieval.media.source import archived, is_archive, listed
from omnieval.types import Sample
from omnieval.wording import counted

# A zip may hold one content under many names; media do not get smaller by this.
_MOST_RATIO, _RATIO_FROM = 200, 2**24
_LANGUAGES = ("en", "zh")
_LISTS = (".lst", ".txt")

Notify = Callable[[str], None]


@dataclass(frozen=True)
class Unpacked:
    """What unpacking came to. missing_videos are ids, missing_questions the questions about them; damaged
    says of each file that could not be read whole why; skipped names what was left where it is."""

    folder: Path
    rows: int
    files_written: int
    files_kept: int
    bytes_written: int
    missing_videos: Sequence[str] = ()
    missing_questions: Sequence[str] = ()
    missing_subtitles: Sequence[str] = ()
    damaged: Sequence[str] = ()
    skipped: Sequence[str] = ()
    notes: Sequence[str] = ()

    def summary(self) -> str:
        """Counts, in a sentence."""
        size = f"{self.bytes_written / 1e6:.1f} MB"
        return (
            f"{self.folder}: {counted(self.rows, 'row', 'rows')}; {self.files_written} files written "
            f"({size}), {self.files_kept} there before"
        )

    def problems(self) -> list[str]:
        """What makes the result less than the whole data set, one sentence each."""
        said = (
            (self.missing_videos, "video is missing", "videos are missing"),
            (self.missing_questions, "question is about one of them", "questions are about them"),
            (self.missing_subtitles, "video has no subtitles", "videos have no subtitles"),
            (self.skipped, "name is not taken", "names are not taken"),
        )
        found = [f"{counted(len(names), one, many)}: {rows.few(names)}" for names, one, many in said if names]
        return [*found, *self.damaged, *self.notes]


def convert_video_mme(src: Path, dst: Path, *, notify: Notify = lambda _: None) -> Unpacked:
    """Write the question table, `video/{videoID}.mp4` and `subtitle/{videoID}.srt` of the videos it names.

    src: as `omnieval run video-mme --data` takes it: parquet of either hub, videos and subtitles at any depth
    or in zip archives. Plain files are linked where the disk allows it. A second call writes only what is
    missing. Raises DataError, StorageError.
    """
    root, tables = locate(src)
    files = VideoMMEFiles(root, with_subtitles=True)
    taken: set[str] = set()
    samples = [sample_of(row, number, files, taken) for number, row in enumerate(read_table(tables))]
    good = [sample for sample in samples if sample.problem is None]
    videos = {sample.cluster: sample for sample in good}
    has_subtitles = any("subtitles" in sample.media for sample in good)
    with Target(dst) as target:
        work = _Work(target)
        for number, (name, sample) in enumerate(videos.items(), 1):
            for role, folder in (("video", "video"), ("subtitles", "subtitle")):
                if role in sample.media:
                    path = sample.media[role]
                    work.take(path, f"{folder}/{name}{path.suffix.lower()}")
            if number % 50 == 0:
                notify(f"{number}/{len(videos)} videos")
        for table in tables:
            work.take(table, f"videomme/{table.name}")
    missing = [name for name, sample in videos.items() if "video" not in sample.media]
    return work.result(
        rows=len(samples),
        missing_videos=missing,
        missing_questions=_about(good, missing),
        missing_subtitles=[n for n, s in videos.items() if has_subtitles and "subtitles" not in s.media],
        notes=[
            *files.videos.notes,
            *(files.subtitles.notes if files.subtitles else []),
            *(sample.problem.message for sample in samples if sample.problem is not None),
        ],
    )


def videos_archive(src: Path) -> Path | None:
    """Daily-Omni's Videos.tar (or .zip) in a folder, or None."""
    return archive_in(snapshot_of(src))


def unpack_daily_omni(src: Path, dst: Path, *, notify: Notify = lambda _: None) -> Unpacked:
    """Write qa.json and Videos from the official release, where they lie as qa.json and Videos.tar.

    A second call writes only what is missing; qa.json comes last. Raises DataError, StorageError.
    """
    archive = videos_archive(src)
    if archive is None:
        raise DataError(f"{src}: expected Videos.tar beside qa.json; fetch it")
    root = archive.parent
    table, _ = table_of(rows.read_json(root / "qa.json"), root / "qa.json", None)
    files = {}
    for member in listed(archive):
        inside = [part for part in PurePosixPath(member.name).parts if part not in ("Videos", "videos")]
        files["/".join(("Videos", *inside))] = archive / member.name
    with Target(dst) as target:
        work = _Work(target)
        for number, (name, path) in enumerate(files.items(), 1):
            work.take(path, name)
            if number % 200 == 0:
                notify(f"{number}/{len(files)} files")
        work.take(root / "qa.json", "qa.json")
        there = {PurePosixPath(name).stem.removesuffix("_video") for name in (*target.written, *target.kept)}
    ids = [rows.text(row, "video_id") for row in table if isinstance(row, Mapping)]
    missing = [name for name in dict.fromkeys(ids) if name not in there]
    about = [name_of(row) for row, name in zip(table, ids, strict=False) if name in set(missing)]
    return work.result(rows=len(table), missing_videos=missing, missing_questions=about)


def convert_seed_tts(src: Path, dst: Path, *, notify: Notify = lambda _: None) -> Unpacked:
    """Write `{en,zh}/meta.lst`, `zh/hardcase.lst` and the folders of recordings.

    src: `seedtts_testset.tar`, a folder with it, or a folder that has the layout itself, as the copy on the
    other hub does (its files are linked). A second call writes only what is missing. Raises DataError,
    StorageError.
    """
    found = _seed_tts_files(src)
    with Target(dst) as target:
        work = _Work(target)
        # The lists last: a folder with them is whole.
        for number, (name, path) in enumerate(sorted(found.items(), key=_lists_last), 1):
            work.take(path, name)
            if number % 1000 == 0:
                notify(f"{number}/{len(found)} files")
    lines, notes = 0, []
    for name in (name for name in found if name.endswith(".lst")):
        try:
            utterances = read_list(dst / name)
        except DataError as error:
            notes.append(str(error))
            continue
        lines += len(utterances.lines)
        notes += [f"{name}: {note}" for note in utterances.notes]
    return work.result(rows=lines, notes=notes)


class _Work:
    """Puts files from a release into a target, and remembers what could not be put."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._damaged: list[str] = []
        self._skipped: list[str] = []
        self._weighed: set[Path] = set()

    def take(self, path: Path, name: str) -> None:
        """Put a file, plain or in an archive, under a name. Raises StorageError."""
        try:
            name.encode()
        except UnicodeEncodeError:
            self._skipped.append(name.encode(errors="backslashreplace").decode())
            return
        try:
            member = archived(path)
            if member is None:
                self._take_plain(path, name)
            else:
                self._take_member(member, name)
        except (DataError, MediaError) as error:
            self._damaged.append(str(error))

    def result(
        self,
        *,
        rows: int,
        missing_videos: Sequence[str] = (),
        missing_questions: Sequence[str] = (),
        missing_subtitles: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> Unpacked:
        target = self._target
        return Unpacked(
            target.folder,
            rows,
            len(target.written),
            len(target.kept),
            target.bytes_written,
            missing_videos,
            missing_questions,
            missing_subtitles,
            self._damaged,
            self._skipped,
            notes,
        )

    def _take_plain(self, path: Path, name: str) -> None:
        source = f"{path.name} {path.stat().st_size}"
        if not self._target.has(name, source):
            self._target.link(name, path, source)

    def _take_member(self, member: Member, name: str) -> None:
        archive = member.archive
        if archive not in self._weighed:
            _weigh(archive)
            self._weighed.add(archive)
        source = f"{archive.name} {archive.stat().st_size} {member.name} {member.size}"
        if not self._target.has(name, source):
            with member.content() as pieces:
                self._target.put(name, pieces, source)


def _weigh(archive: Path) -> None:
    """Raises DataError for an archive whose members together are far larger than it is."""
    total = sum(member.size for member in listed(archive))
    if total > max(_RATIO_FROM, _MOST_RATIO * archive.stat().st_size):
        raise DataError(
            f"{archive}: its members are {total} bytes together, {total // archive.stat().st_size} times its "
            "size, like a bomb; the archive is not used; fetch it again"
        )


def _seed_tts_files(src: Path) -> dict[str, Path]:
    """Where each file of the layout lies, by its name in the layout."""
    archive = src if is_archive(src) and src.is_file() else None
    if archive is None and not src.is_dir():
        raise DataError(f"{src}: no such file or folder; --src names seedtts_testset.tar or its folder")
    root = src if archive else snapshot_of(src)
    if archive is None and not any((root / language).is_dir() for language in _LANGUAGES):
        inner = root / "seedtts_testset"
        archives = sorted(path for path in root.iterdir() if is_archive(path))
        root = inner if inner.is_dir() else root
        archive = archives[0] if archives and not inner.is_dir() else None
    if archive is not None:
        places = {PurePosixPath(member.name): archive / member.name for member in listed(archive)}
    else:
        places = {PurePosixPath(p.relative_to(root).as_posix()): p for p in _plain_files(root)}
    found = {}
    for name, path in places.items():
        start = next((i for i, part in enumerate(name.parts) if part in _LANGUAGES), None)
        if start is not None:
            found["/".join(name.parts[start:])] = path
    if not any(name.endswith(".lst") for name in found):
        if archive is None:
            raise no_list(src, "en/meta.lst or zh/meta.lst")
        raise DataError(
            f"{archive}: no en/meta.lst and no zh/meta.lst in it; fetch seedtts_testset.tar: omnieval data "
            "pull seed-tts --dst DIR"
        )
    return found


def _plain_files(root: Path) -> list[Path]:
    return [
        Path(folder) / name
        for language in _LANGUAGES
        for folder, _, names in os.walk(root / language)
        for name in sorted(names)
    ]


def _lists_last(item: tuple[str, Path]) -> tuple[bool, str]:
    return item[0].endswith(_LISTS), item[0]


def _about(samples: Sequence[Sample], videos: Sequence[str]) -> list[str]:
    """The ids of the questions about some videos."""
    wanted = set(videos)
    return [sample.id for sample in samples if sample.cluster in wanted]
