"""Daily-Omni from parquet: every video once, every row accounted for, letters never guessed."""

from __future__ import annotations

import contextlib
import io
import json
import random
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval import api
from omnieval.benchmarks.row_files import read_rows
from omnieval.datasets import check_data, convert_daily_omni
from omnieval.datasets.merge import merge, qa_row, repeats
from omnieval.datasets.pages import memory_for, pages
from omnieval.errors import ConfigError, DataError, StorageError
from tests.daily_omni_parquet import OPTIONS, SCHEMA, media_of, official, row, write_shards, written_qa

Media = dict[str, tuple[bytes, bytes]]


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> Media:
    folder = tmp_path_factory.mktemp("media")
    return {video: media_of(folder, video, seconds=i + 1) for i, video in enumerate(("v1", "v2", "v3"))}


@pytest.fixture
def release(media: Media, tmp_path: Path) -> Path:
    """Three videos, five rows in two shards; the second video's rows lie in both."""
    first = [
        row("v1", media["v1"], "q1"),
        row("v1", media["v1"], "q2", OPTIONS[3]),
        row("v2", media["v2"], "q3"),
    ]
    second = [row("v2", media["v2"], "q4", "B"), row("v3", media["v3"], "q5", "The rain")]
    return write_shards(tmp_path / "release", [first, second])


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def qa_file(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(rows))
    return path


def test_every_video_is_written_once_and_every_row_has_its_letter(
    release: Path, media: Media, tmp_path: Path
) -> None:
    done = convert_daily_omni(release, tmp_path / "out")
    assert (done.rows, done.videos, done.files_written, done.files_kept) == (5, 3, 6, 0)
    assert done.problems() == []
    written = files(tmp_path / "out")
    assert set(written) == {
        "qa.json", *(f"Videos/{v}/{v}_{end}" for v in media for end in ("video.mp4", "audio.wav"))
    }  # fmt: skip
    assert all(
        (written[f"Videos/{v}/{v}_video.mp4"], written[f"Videos/{v}/{v}_audio.wav"]) == m
        for v, m in media.items()
    )
    assert [(r["video_id"], r["Question"], r["Answer"]) for r in written_qa(tmp_path / "out")] == [
        ("v1", "q1", "A"), ("v1", "q2", "D"), ("v2", "q3", "A"), ("v2", "q4", "B"), ("v3", "q5", "C"),
    ]  # fmt: skip


def test_a_second_run_does_only_what_is_missing(release: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    convert_daily_omni(release, out)
    before = files(out)
    whole = {path: path.stat().st_ino for path in out.rglob("*.mp4")}
    (out / "Videos/v1/v1_audio.wav").unlink()
    (out / "Videos/v3/v3_video.mp4").write_bytes(b"cut")
    done = convert_daily_omni(release, out)
    assert (done.files_written, done.files_kept) == (2, 4)
    assert files(out) == before
    assert sum(path.stat().st_ino == whole[path] for path in whole) == 2


def test_a_question_file_stands_for_a_whole_conversion_only(
    release: Path, media: Media, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    convert_daily_omni(release, out)
    shutil.rmtree(release)
    write_shards(release, [[row("v1", media["v2"], "q1")], [row("v2", media["v3"], "q2")]])
    shard, before = release / "data" / "test-00001-of-00002.parquet", files(out)
    shard.write_bytes(b"cut")
    with pytest.raises(DataError):
        convert_daily_omni(release, out)
    assert files(out) == before
    damage_page(shard, "video.bytes", pa.Table.from_pylist([row("v2", media["v3"], "q2")], SCHEMA))
    with pytest.raises(DataError):
        convert_daily_omni(release, out)
    assert not (out / "qa.json").exists()


def damage_page(shard: Path, column: str, table: pa.Table) -> None:
    """Write the table with checksums, and change some bytes in the page of a column."""
    pq.write_table(table, shard, write_page_checksum=True)
    group = pq.ParquetFile(shard).metadata.row_group(0)
    chunk = next(c for c in map(group.column, range(group.num_columns)) if c.path_in_schema == column)
    at = chunk.dictionary_page_offset + 500
    damaged = bytearray(shard.read_bytes())
    damaged[at : at + 64] = bytes(255 - byte for byte in damaged[at : at + 64])
    shard.write_bytes(damaged)


def test_rows_of_one_video_with_other_bytes_are_named_on_every_run(media: Media, tmp_path: Path) -> None:
    swapped = (media["v1"][0], media["v2"][1])
    first = [row("v1", media["v1"], "q1"), row("v1", swapped, "q2"), row("v2", media["v2"], "q3")]
    release = write_shards(
        tmp_path / "r", [first, [row("v2", media["v3"], "q4"), row("v2", (b"", None), "q5")]]
    )
    said = "2 videos with other bytes on a later row, of which the first are kept: v1, v2"
    assert said in convert_daily_omni(release, tmp_path / "out").problems()
    assert (tmp_path / "out/Videos/v1/v1_audio.wav").read_bytes() == media["v1"][1]
    again = convert_daily_omni(release, tmp_path / "out")
    assert (again.files_written, said in again.problems()) == (0, True)
    journal = tmp_path / "out" / ".conversion.jsonl"  # as a killed process leaves it: files, and no step done
    journal.write_text("".join(line for line in journal.open() if '"step"' not in line))
    assert said in convert_daily_omni(release, tmp_path / "out").problems()


@pytest.mark.parametrize("group", [1, 2, 8])
def test_bytes_that_differ_only_in_between_are_named_wherever_their_rows_lie(
    group: int, tmp_path: Path
) -> None:
    one = random.Random(0).randbytes(3_000_000)
    other = one[:800_000] + bytes(10) + one[800_010:]
    contents = {"v1": [one, one, None, one], "v2": [one, other], "v3": [other, b"", other]}
    table = [row(v, (c, b"wav"), f"q{i}") for v, blobs in contents.items() for i, c in enumerate(blobs)]
    apart = [*table, row("v1", (one, b"wav"), "last"), row("v3", (one, b"wav"), "last")]
    release = write_shards(tmp_path / "r", [table], group=group)
    assert list(convert_daily_omni(release, tmp_path / "out").other_media) == ["v2"]
    shutil.rmtree(release)
    write_shards(release, [apart], group=group)
    done = convert_daily_omni(release, tmp_path / "out")
    assert (list(done.other_media), len(done.problems())) == (["v2", "v3"], 1)
    kept = {"v1": one, "v2": one, "v3": other}
    assert all((tmp_path / f"out/Videos/{v}/{v}_video.mp4").read_bytes() == c for v, c in kept.items())


@pytest.mark.parametrize("dictionary", [True, False])
def test_media_in_any_binary_type_and_page_are_the_bytes_that_were_given(
    dictionary: bool, media: Media, tmp_path: Path
) -> None:
    large = pa.struct([("bytes", pa.large_binary()), ("path", pa.string())])
    schema = SCHEMA.set(1, pa.field("video", large))
    table = [row(v, (None, media[v][1]) if n == 1 else media[v], f"q{n}") for v in media for n in range(3)]
    (tmp_path / "r").mkdir()
    how = {"use_dictionary": dictionary, "data_page_size": 1000, "row_group_size": 4}
    pq.write_table(pa.Table.from_pylist(table, schema), tmp_path / "r" / "a.parquet", **how)
    assert convert_daily_omni(tmp_path / "r", tmp_path / "out").problems() == []
    written = files(tmp_path / "out" / "Videos")
    assert all((written[f"{v}/{v}_video.mp4"], written[f"{v}/{v}_audio.wav"]) == m for v, m in media.items())


def test_rows_of_a_video_that_lie_apart_are_compared_with_its_file(media: Media, tmp_path: Path) -> None:
    pairs = [("v1", "v1"), ("v2", "v2"), ("v1", "v1"), ("v2", "v3"), ("v1", "v1")]
    table = [row(v, media[m], f"q{i}") for i, (v, m) in enumerate(pairs)]
    done = convert_daily_omni(write_shards(tmp_path / "r", [table], group=5), tmp_path / "out")
    assert (done.files_written, list(done.other_media)) == (4, ["v2"])
    assert (tmp_path / "out/Videos/v2/v2_video.mp4").read_bytes() == media["v2"][0]


def test_the_official_file_is_not_overwritten(release: Path, tmp_path: Path) -> None:
    theirs = qa_file(tmp_path / "qa.json", [official("v1", "q1")])
    with pytest.raises(ConfigError, match="would be overwritten"):
        convert_daily_omni(release, tmp_path, official_qa=theirs)
    assert json.loads(theirs.read_text()) == [official("v1", "q1")]


def test_files_of_another_release_are_written_again(release: Path, media: Media, tmp_path: Path) -> None:
    convert_daily_omni(release, tmp_path / "out")
    shutil.rmtree(release)
    write_shards(release, [[row("v1", media["v3"], "q1")]])
    done = convert_daily_omni(release, tmp_path / "out")
    assert done.files_written == 2
    assert files(tmp_path / "out")["Videos/v1/v1_video.mp4"] == media["v3"][0]


def test_the_official_rows_are_merged_and_the_one_that_only_it_has_is_restored(
    release: Path, tmp_path: Path
) -> None:
    theirs = [
        official("v1", "q1"), official("v1", "q2 ", "D"), official("v2", "q3", "B"),
        official("v2", "only here"), official("v2", "q4", "B"), official("v9", "no video"),
    ]  # fmt: skip
    given = qa_file(tmp_path / "official.json", theirs)
    done = convert_daily_omni(release, tmp_path / "out", official_qa=given)
    assert written_qa(tmp_path / "out")[:5] == theirs[:5]
    assert (done.rows, done.restored, done.lost) == (6, ["v2: only here"], ["v9: no video"])
    assert (done.without_match, done.differing) == (["v3: q5"], ["v2: q3"])
    assert len(done.problems()) == 3


def test_official_rows_in_splits_serve_and_others_are_refused(release: Path, tmp_path: Path) -> None:
    split = tmp_path / "split.json"
    split.write_text(json.dumps({"test": [official("v1", "q1")]}))
    assert convert_daily_omni(release, tmp_path / "out", official_qa=split).rows == 5
    with pytest.raises(DataError, match=r"expected the columns video_id, Question.*found a"):
        convert_daily_omni(release, tmp_path / "out2", official_qa=qa_file(tmp_path / "x.json", [{"a": 1}]))


def test_official_rows_by_name_serve(release: Path, tmp_path: Path) -> None:
    table = [official("v1", "q1"), official("v2", "q3", "C")]
    entries = {f"Entry_{i}": one for i, one in enumerate(table, 1)}
    path = tmp_path / "official.json"
    for number, content in enumerate((table, entries, {"test": entries})):
        path.write_text(json.dumps(content))
        done = convert_daily_omni(release, tmp_path / f"out{number}", official_qa=path)
        assert [len(done.without_match), len(done.differing)] == [3, 1]
        assert written_qa(tmp_path / f"out{number}")[:2] == table
    path.write_text(json.dumps(entries))
    assert read_rows(path) == table
    path.write_text(json.dumps({"settings": {"a": [1]}}))
    with pytest.raises(DataError, match="expected a list of rows, or splits"):
        convert_daily_omni(release, tmp_path / "none", official_qa=path)


def test_durations_are_measured_where_no_file_tells(media: Media, tmp_path: Path) -> None:
    from tests.media_files import make_video, make_wav

    minute = make_video(tmp_path / "m.mp4", seconds=58, fps=1, size=(96, 64)).read_bytes()
    wav = make_wav(tmp_path / "m.wav", seconds=1).read_bytes()
    release = write_shards(
        tmp_path / "r",
        [[row("m", (minute, wav), "a"), row("v1", media["v1"], "b"), row("x", (b"broken", wav), "c")]],
    )
    done = convert_daily_omni(release, tmp_path / "out", probe_duration=True)
    assert [r.get("video_duration") for r in written_qa(tmp_path / "out")] == ["60s", "30s", None]
    assert done.without_duration == ["x"]


def test_what_is_wrong_with_rows_is_counted_and_named(media: Media, tmp_path: Path) -> None:
    rows = [
        row("v1", media["v1"], "q", "Dogs bark"), row("v2", media["v2"], "same", "A"),
        row("v2", media["v2"], "same", "B"), row("v2", media["v2"], "twice"), row("v2", media["v2"], "twice"),
        row("../evil", media["v1"], "q"), row("a/b", media["v1"], "q"), row("silent", (media["v1"][0], None), "q"),
        row("none", (None, None), "q"), row("late", (None, b""), "q"), row("late", media["v3"], "q2"),
    ]  # fmt: skip
    done = convert_daily_omni(write_shards(tmp_path / "r", [rows]), tmp_path / "out")
    assert (done.rows, len(done.problems())) == (11, 6)
    assert done.without_letter == ["v1: q"]
    assert (done.repeated, done.conflicting) == (["v2: same", "v2: twice"], ["v2: same"])
    assert done.unsafe_ids == ["../evil", "a/b"]
    assert (done.without_video, done.without_audio) == (["none"], ["silent", "none"])
    assert not (tmp_path / "evil").exists()
    written = files(tmp_path / "out")
    assert written["Videos/late/late_audio.wav"] == media["v3"][1]
    assert len(written_qa(tmp_path / "out")) == 11
    assert written_qa(tmp_path / "out")[0]["Answer"] == "Dogs bark"


def test_nulls_anywhere_cost_what_they_stand_for(media: Media, tmp_path: Path) -> None:
    good = row("v1", media["v1"], "q1")
    nulls: dict[str, dict[str, Any]] = {
        "no struct": {"video": None, "audio": None}, "no id": {"video_id": None},
        "no question": {"question": None}, "no options": {"candidates": None}, "no answer": {"answer": None},
    }  # fmt: skip
    said = {
        "no struct": ["1 video without bytes: v2", "1 video without a sound of its own: v2"],
        "no id": ["1 video_id that cannot name a file: "],
        "no question": ["1 row without a question: v2: "],
        "no options": ["1 row without usable options: v2: q2 (row 2 of test-00000-of-00001.parquet)"],
        "no answer": ["1 row without an answer letter: v2: q2"],
    }
    for name, fields in nulls.items():
        release = write_shards(tmp_path / name, [[good, row("v2", media["v2"], "q2") | fields]])
        done = convert_daily_omni(release, tmp_path / f"{name} out", probe_duration=name == "no question")
        assert (done.rows, done.problems()) == (2, said[name])
        assert files(tmp_path / f"{name} out")["Videos/v1/v1_video.mp4"] == media["v1"][0]


@pytest.mark.parametrize("empty", [None, "", "  "])
def test_an_empty_option_shifts_no_letter_and_its_row_is_named(
    empty: str | None, media: Media, tmp_path: Path
) -> None:
    holed = row("v2", media["v2"], "holed", "C. z") | {"candidates": ["A. x", empty, "C. z", "D. y"]}
    alone = row("v2", media["v2"], "alone") | {"candidates": ["A. x"]}
    release = write_shards(tmp_path / "r", [[row("v1", media["v1"], "q")], [holed, alone]])
    named = [f"v2: {q} (row {n} of test-00001-of-00002.parquet)" for n, q in ((1, "holed"), (2, "alone"))]
    done = convert_daily_omni(release, tmp_path / "out")
    assert (list(done.without_options), list(done.without_letter)) == (named, [])
    assert [line.partition(":")[0] for line in done.problems()] == ["2 rows without usable options"]
    assert written_qa(tmp_path / "out")[1]["Choice"] == ["A. x", empty or "", "C. z", "D. y"]
    assert written_qa(tmp_path / "out")[1]["Answer"] == "C"
    found = check_data("daily-omni", tmp_path / "out", part=True)
    rows_of_it = (
        "row 2 of the question file (video v2) has an empty option, row 3 of the question file (video"
    )
    assert f"2 rows that cannot be asked: {rows_of_it} v2) has 1 option, expected 2 to 26" in found.problems()
    theirs = [official("v2", "holed", "C"), official("v1", "q") | {"Choice": [empty, "B. x"], "Answer": "B"}]
    given = qa_file(tmp_path / "qa.json", theirs)
    mended = convert_daily_omni(release, tmp_path / "out", official_qa=given)
    assert mended.without_options == ["v1: q (row 2 of qa.json)", named[1]]


@pytest.mark.parametrize("video", ["..", ".", "", "a/b", "/etc/x", "a\\b", "a\0b", "v" * 300, "視" * 100])
def test_an_id_that_cannot_name_a_file_costs_its_own_rows(video: str, media: Media, tmp_path: Path) -> None:
    rows = [row(video, media["v2"], "q"), row("v1", media["v1"], "q")]
    out = tmp_path / "a" / "out"
    done = convert_daily_omni(write_shards(tmp_path / "a" / "r", [rows]), out, probe_duration=True)
    assert (done.rows, list(done.unsafe_ids), list(done.without_duration)) == (2, [video], [video])
    assert set(files(out)) == {"qa.json", "Videos/v1/v1_video.mp4", "Videos/v1/v1_audio.wav"}
    assert {path.name for path in (tmp_path / "a").iterdir()} == {"r", "out"}


def test_a_converted_release_runs_and_is_the_same_data_set_as_the_official(
    release: Path, tmp_path: Path
) -> None:
    theirs = [
        official("v1", "q1"),
        official("v1", "q2", "D"),
        official("v2", "q3"),
        official("v2", "q4", "B"),
    ]
    theirs.append(official("v3", "q5", "C"))
    convert_daily_omni(release, tmp_path / "out", official_qa=qa_file(tmp_path / "qa.json", theirs))
    run = api.run(
        "daily-omni", data=str(tmp_path / "out"), backend="chance", out=tmp_path / "run",
        cache_dir=str(tmp_path / "cache"),
    )  # fmt: skip
    report: Any = api.load_report(run)
    assert report.official.total == 5
    (tmp_path / "Videos").symlink_to(tmp_path / "out" / "Videos")
    other = api.run(
        "daily-omni", data=str(tmp_path / "qa.json"), backend="chance", out=tmp_path / "run2",
        cache_dir=str(tmp_path / "cache"),
    )  # fmt: skip
    assert run.info["dataset"]["fingerprint"] == other.info["dataset"]["fingerprint"]


def test_missing_shards_are_named(release: Path, tmp_path: Path) -> None:
    names = [f"test-{i:05}-of-00004.parquet" for i in (0, 3)]
    for path, name in zip(sorted(release.glob("data/*")), names, strict=True):
        path.rename(path.with_name(name))
    with pytest.raises(
        DataError, match=r"2 of 4 files are missing: test-00001-of-00004.parquet, test-00002-of"
    ):
        convert_daily_omni(release, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_shards_of_two_versions_and_of_several_splits_are_refused(release: Path, tmp_path: Path) -> None:
    data = release / "data"
    shutil.copy(data / "test-00000-of-00002.parquet", data / "test-00000-of-00001.parquet")
    with pytest.raises(DataError, match="several versions"):
        convert_daily_omni(release, tmp_path / "out")
    (data / "test-00000-of-00001.parquet").rename(data / "dev-00000-of-00001.parquet")
    assert convert_daily_omni(release, tmp_path / "out").rows == 5
    with pytest.raises(ConfigError, match=r"several splits; set --split to one of dev, test"):
        convert_daily_omni(release, tmp_path / "out", split="train")


def test_wrong_columns_are_told_with_the_expected_ones(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "test-00000-of-00001.parquet"
    pq.write_table(pa.table({"video_id": ["a"], "video": [b"x"], "text": ["q"]}), path)
    with pytest.raises(
        DataError, match=r"expected the columns video_id \(text\), video \(media\).*found video_id"
    ):
        convert_daily_omni(tmp_path, tmp_path / "out")


@pytest.mark.parametrize("column", ["video.bytes", "audio.bytes"])
def test_a_corrupt_page_names_the_file_and_what_was_written_stays(
    column: str, media: Media, tmp_path: Path
) -> None:
    release = write_shards(tmp_path / "r", [[row(v, media[v], "q")] for v in media], group=1)
    shard = release / "data" / "test-00001-of-00003.parquet"
    table = pa.Table.from_pylist([row("v2", media["v2"], "q")], SCHEMA)
    damage_page(shard, column, table)
    with pytest.raises(DataError, match=r"test-00001-of-00003.parquet: .*fetch the file again"):
        convert_daily_omni(release, tmp_path / "out")
    assert not (tmp_path / "out" / "qa.json").exists()
    assert (tmp_path / "out/Videos/v1/v1_video.mp4").read_bytes() == media["v1"][0]
    pq.write_table(table, shard)
    done = convert_daily_omni(release, tmp_path / "out")
    assert (done.rows, done.files_kept, done.problems()) == (3, 2, [])


def test_any_damage_is_a_named_error_or_none(tmp_path: Path) -> None:
    release = write_shards(tmp_path / "r", [[row(v, (b"mp4" * 50, b"wav" * 50), "q") for v in ("v1", "v2")]])
    shard = release / "data" / "test-00000-of-00001.parquet"
    whole, dice, refused = shard.read_bytes(), random.Random(0), 0
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(dice.choice([1, 2, 8])):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        shard.write_bytes(damaged[: dice.choice([len(damaged), dice.randrange(len(damaged))])])
        try:
            convert_daily_omni(release, tmp_path / "out")
        except DataError as error:
            assert shard.name in str(error) or "no rows" in str(error)
            refused += 1
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
    assert refused > 50


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_memory_is_known_from_the_headers_of_pages(
    version: str, dictionary: bool, compression: str, tmp_path: Path
) -> None:
    blobs = [random.Random(i // 2).randbytes(200_000) for i in range(10)]
    table = pa.Table.from_pylist([row(f"v{i}", (blob, b"wav"), "q") for i, blob in enumerate(blobs)], SCHEMA)
    one_page, small_pages = tmp_path / "one.parquet", tmp_path / "small.parquet"
    how = {"use_dictionary": dictionary, "compression": compression, "data_page_version": version}
    pq.write_table(table, one_page, **how)
    pq.write_table(table, small_pages, row_group_size=1, write_page_checksum=True, **how)
    # As it lies in the file, unpacked, and two values.
    chunk = pq.ParquetFile(one_page).metadata.row_group(0).column(1)
    sizes = chunk.total_compressed_size + chunk.total_uncompressed_size
    assert needed(one_page) == [pytest.approx(sizes + 400_000, rel=0.01)]
    assert needed(small_pages) == 10 * [pytest.approx(800_000, rel=0.01)]


def needed(path: Path) -> list[int]:
    """Memory for the video column, by row group."""
    found = []
    for group in range(pq.ParquetFile(path).metadata.num_row_groups):
        chunk = pq.ParquetFile(path).metadata.row_group(group).column(1)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        with path.open("rb") as file:
            found.append(memory_for(pages(file, start, chunk.total_compressed_size)))
    return found


def test_pages_beyond_the_memory_are_refused_before_anything_is_written(
    release: Path, media: Media, tmp_path: Path
) -> None:
    large = [row("v9", (bytes(200_000), media["v1"][1]), f"q{i}") for i in range(10)]
    shard = release / "data" / "test-00001-of-00002.parquet"
    pq.write_table(pa.Table.from_pylist(large, SCHEMA), shard, use_dictionary=False)
    with pytest.raises(
        DataError, match=r"test-00001-of-00002.parquet: row group 1 of 1 holds .* of video.by"
    ) as told:
        convert_daily_omni(release, tmp_path / "out", max_memory=101_000_000)
    assert not (tmp_path / "out").exists()
    assert "more than 101 MB. Allow more with --max-memory 0.2GB, or cut the file into row groups" in str(
        told.value
    )
    assert convert_daily_omni(release, tmp_path / "out", max_memory=200_000_000).rows == 13


def test_the_command_that_the_refusal_names_cuts_the_file(tmp_path: Path) -> None:
    blobs = [random.Random(i).randbytes(2_000_000) for i in range(100)]
    shard = tmp_path / "it's one.parquet"
    rows_of_it = [row(f"v{i}", (blob, b"wav"), "q") for i, blob in enumerate(blobs)]
    pq.write_table(pa.Table.from_pylist(rows_of_it, SCHEMA), shard)
    with pytest.raises(DataError, match="row groups of 49 rows") as told:
        convert_daily_omni(shard, tmp_path / "out", max_memory=400_000_000)
    command = (
        str(told.value).partition("for all of it: python")[2].replace("NEW.parquet", str(tmp_path / "new"))
    )
    subprocess.run(f"{shlex.quote(sys.executable)}{command}", shell=True, check=True)  # as a user types it
    assert pq.ParquetFile(tmp_path / "new").metadata.num_row_groups == 3


@given(st.binary(max_size=200))
def test_no_header_of_a_page_is_read_without_end(content: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert all(page.packed >= 0 for page in pages(io.BytesIO(content), 0, len(content)))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"version https://git-lfs.github.com/spec/v1\n" * 9])
def test_what_is_no_parquet_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "test-00000-of-00001.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"test-00000-of-00001.parquet: it cannot be opened: .*fetch"):
        convert_daily_omni(tmp_path, tmp_path / "out")


def test_no_release_at_all(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder; --src names"):
        convert_daily_omni(tmp_path / "none", tmp_path / "out")
    (tmp_path / "Videos.tar").touch()
    with pytest.raises(
        DataError, match=r"expected data/test-00000-of-00010.parquet and so on, found Videos.tar; fetch"
    ):
        convert_daily_omni(tmp_path, tmp_path / "out")
    (tmp_path / "qa.json").touch()
    with pytest.raises(DataError, match="it is converted already: give it to a run with --data"):
        convert_daily_omni(tmp_path, tmp_path / "out")


def test_a_folder_that_cannot_be_written_is_named(release: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"file/out: cannot be written: .*Not a directory"):
        convert_daily_omni(release, tmp_path / "file" / "out")


LETTER_ANSWERS = ["{letter}", "{letter}. {text}", "({letter}) {text}", "{letter}、{text}", "{letter}：{text}",
                  "{letter}) {text}", "{text}"]  # fmt: skip


@given(
    st.lists(st.text(st.characters(categories=["L", "N"]), min_size=2, max_size=9), min_size=4, max_size=4,
             unique=True),
    st.integers(0, 3), st.sampled_from(LETTER_ANSWERS),
)  # fmt: skip
def test_an_answer_in_any_of_the_forms_becomes_its_letter(texts: list[str], right: int, form: str) -> None:
    letter = "ABCD"[right]
    options = [f"{x}. {text}" for x, text in zip("ABCD", texts, strict=True)]
    given = {"video_id": "v", "question": "q", "candidates": options}
    answer = form.format(letter=letter, text=texts[right])
    assert qa_row(given | {"answer": answer})["Answer"] == letter


@given(st.text(st.sampled_from("abcDEF ghI"), min_size=2, max_size=30))
def test_a_capital_inside_a_word_is_never_a_letter(answer: str) -> None:
    converted = qa_row(
        {"video_id": "v", "question": "q", "candidates": list(OPTIONS), "answer": "x" + answer}
    )
    assert converted["Answer"] == ("x" + answer).strip()


ROWS = st.lists(
    st.builds(official, st.sampled_from("uvw"), st.sampled_from(["a", "b", " a"]), st.sampled_from("ABCD")),
    max_size=9,
)


@given(ROWS, ROWS, st.sets(st.sampled_from("uvw")))
def test_merging_loses_no_row(release: Any, theirs: Any, videos: set[str]) -> None:
    merged = merge(release, theirs, videos)
    matched = len(release) - len(merged.unmatched)
    assert len(theirs) == matched + len(merged.restored) + len(merged.lost)
    assert len(merged.rows) == len(release) + len(merged.restored)
    repeated, conflicting = repeats(merged.rows)
    assert len(repeated) <= max(0, len(merged.rows) - 1) and len(conflicting) <= len(repeated)
