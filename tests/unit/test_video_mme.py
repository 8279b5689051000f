"""Video-MME: every layout of the files, every packing, subtitles, and what is wrong with a data set."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnieval import api
from omnieval.benchmarks.base import Benchmark, Dataset
from omnieval.engine.execute import load_selected
from omnieval.engine.progress import Progress
from omnieval.errors import ConfigError, DataError, MediaError
from omnieval.media.cache import MediaCache
from omnieval.media.prepare import find_prepared, prepare_media
from omnieval.types import MediaPart, PreparedMedia, Request, Sample, TextPart
from tests.media_files import make_video

SRT = (
    "1\n00:00:00,000 --> 00:00:01,500\n<b>Hello</b>\nthere\n\n"
    "2\n00:00:01,500 --> 00:00:01,900\nbetween two frames\n\n"
    "3\n00:00:01,950 --> 00:00:09,000\ngood bye\n"
)


def row(video: str, turn: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "video_id": "001", "duration": "short", "domain": "Knowledge", "sub_category": "Biology", "url": "u",
        "videoID": video, "question_id": f"{video}-{turn}", "task_type": "Counting", "question": f"How many? {turn}",
        "options": ["A. One", "B. Two", "C. Three", "D. Four"], "answer": "B", **changes,
    }  # fmt: skip


def write_table(folder: Path, rows: list[dict[str, Any]], place: str = "videomme") -> Path:
    (folder / place).mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / place / "test-00000-of-00001.parquet")
    return folder


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("clip") / "v.mp4"
    return make_video(path, seconds=4, audio_seconds=4.0).read_bytes()


def loaded(data: Path, **settings: Any) -> tuple[Benchmark, Dataset, list[Sample]]:
    overrides = [("data", str(data)), *settings.items()]
    return load_selected(api.configure("video-mme", overrides), lambda _: None)


def packed(data: Path, cache: Path, **settings: Any) -> Request:
    benchmark, _, chosen = loaded(data, **settings)
    plan = benchmark.plan(chosen[0])
    assert plan is not None
    return benchmark.pack(chosen[0], prepare_media(plan, MediaCache(cache)))


def kinds(request: Request) -> list[str]:
    return [part.kind if isinstance(part, MediaPart) else "text" for part in request.messages[-1].parts]


def text_of(request: Request) -> str:
    return "".join(
        part.text for message in request.messages for part in message.parts if isinstance(part, TextPart)
    )


def zipped(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("table", ["videomme", ""])
@pytest.mark.parametrize(
    "place",
    [
        "video/v.mp4",
        "videos/v.MP4",
        "data/v.mp4",
        "videos/videos_chunked_01/data/v.mp4",
        "v.mkv",
        "deep/er/v.webm",
    ],
)
def test_videos_are_found_in_every_layout(place: str, table: str, clip: bytes, tmp_path: Path) -> None:
    write_table(tmp_path, [row("v")], table)
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_bytes(clip)
    _, dataset, (sample,) = loaded(tmp_path)
    assert sample.media["video"] == tmp_path / place
    assert dataset.notes == ()
    assert sample.groups == {
        "duration": "short",
        "domain": "Knowledge",
        "sub category": "Biology",
        "task type": "Counting",
    }
    assert (sample.id, sample.gold, sample.cluster) == ("v-1", "B", "v")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_video_in_an_archive_is_read_without_unpacking_the_data_set(
    method: int, clip: bytes, tmp_path: Path
) -> None:
    data = write_table(tmp_path / "data", [row("v")])
    zipped(data / "videos_chunked_01.zip", {"data/v.mp4": clip, "data/other.mp4": b"x"}, method)
    before = sorted(data.rglob("*"))
    request = packed(data, tmp_path / "cache")
    assert kinds(request) == ["image"] * 4 + ["text"]
    assert sorted(data.rglob("*")) == before
    assert not list((tmp_path / "cache").rglob("*.mp4"))
    benchmark, _, (sample,) = loaded(data)
    plan = benchmark.plan(sample)
    assert plan is not None
    assert find_prepared(plan, MediaCache(tmp_path / "cache")) is not None


@pytest.mark.parametrize("name", ["./v.mp4", "data//v.mp4", "data/./v.mp4"])
def test_a_roundabout_name_in_an_archive_is_found(name: str, clip: bytes, tmp_path: Path) -> None:
    data = write_table(tmp_path / "data", [row("v")])
    zipped(data / "a.zip", {name: clip})
    assert kinds(packed(data, tmp_path / "cache")) == ["image"] * 4 + ["text"]


def test_a_plain_file_comes_before_the_one_in_the_archive(clip: bytes, tmp_path: Path) -> None:
    write_table(tmp_path, [row("v")])
    zipped(tmp_path / "videos_chunked_01.zip", {"data/v.mp4": clip})
    (tmp_path / "v.mp4").write_bytes(clip)
    assert loaded(tmp_path)[2][0].media["video"] == tmp_path / "v.mp4"


def test_a_changed_archive_never_meets_a_stale_frame(clip: bytes, tmp_path: Path) -> None:
    data = write_table(tmp_path / "data", [row("v")])
    zipped(data / "a.zip", {"v.mp4": clip})
    first = packed(data, tmp_path / "cache")
    longer = make_video(tmp_path / "longer.mp4", seconds=6).read_bytes()
    zipped(data / "a.zip", {"v.mp4": longer})
    assert len(kinds(packed(data, tmp_path / "cache"))) == len(kinds(first)) + 2


def test_the_packings_put_the_parts_in_their_order(clip: bytes, tmp_path: Path) -> None:
    data = write_table(tmp_path / "data", [row("v")])
    (data / "v.mp4").write_bytes(clip)
    cache = tmp_path / "cache"
    frames = packed(data, cache)
    assert kinds(frames) == ["image"] * 4 + ["text"]
    assert frames.extra_body["mm_processor_kwargs"] == {"max_slice_nums": 1, "use_image_id": False}
    interleave = packed(data, cache, packing="interleave")
    assert kinds(interleave) == ["image", "audio"] * 4 + ["text"]
    video = packed(data, cache, packing="video-url")
    assert kinds(video) == ["video", "text"]
    assert video.messages[-1].parts[0] == MediaPart("video", data / "v.mp4", "video/mp4")
    assert kinds(packed(data, cache, max_frames=2)) == ["image"] * 2 + ["text"]


def test_a_zipped_video_that_the_server_decodes_is_taken_out_once(clip: bytes, tmp_path: Path) -> None:
    data = write_table(tmp_path / "data", [row("v")])
    zipped(data / "a.zip", {"v.mp4": clip})
    (part, _) = packed(data, tmp_path / "cache", packing="video-url").messages[-1].parts
    assert isinstance(part, MediaPart)
    assert part.path.read_bytes() == clip
    benchmark, dataset, _ = loaded(data, packing="video-url")
    assert benchmark.media_folders(dataset, tmp_path / "cache") == [data, tmp_path / "cache"]


@pytest.mark.parametrize("in_archive", [True, False])
def test_subtitles_come_before_the_question(in_archive: bool, clip: bytes, tmp_path: Path) -> None:
    data = write_table(tmp_path / "data", [row("v"), row("w", options=["A. x", "B. y"])])
    for name in ("v", "w"):
        (data / f"{name}.mp4").write_bytes(clip)
    if in_archive:
        zipped(data / "subtitle.zip", {"subtitle/v.srt": SRT.encode("utf-8-sig")})
    else:
        (data / "subtitle").mkdir()
        (data / "subtitle" / "v.srt").write_text(SRT)
    plain = text_of(packed(data, tmp_path / "cache"))
    assert "Hello" not in plain
    with_all = text_of(packed(data, tmp_path / "cache", subtitles=True))
    assert with_all == (
        "This video's subtitles are listed below:\nHello there\nbetween two frames\ngood bye\n" + plain
    )
    at_frames = text_of(packed(data, tmp_path / "cache", subtitles=True, subtitle_lines="frames"))
    assert at_frames == "This video's subtitles are listed below:\nHello there\ngood bye\n" + plain
    benchmark, dataset, (_, without) = loaded(data, subtitles=True)
    assert dataset.notes == ("1 of 2 videos has no subtitles, for example w",)
    assert text_of(benchmark.pack(without, prepare_media(benchmark.plan(without), MediaCache(tmp_path / "cache")))).startswith("Carefully")  # type: ignore[arg-type]  # fmt: skip


def test_without_media_there_are_no_subtitles_either(clip: bytes, tmp_path: Path) -> None:
    data = write_table(tmp_path, [row("v")])
    (data / "v.srt").write_text(SRT)
    benchmark, _, (sample,) = loaded(data, subtitles=True, media="none")
    assert benchmark.plan(sample) is None
    assert "Hello" not in text_of(benchmark.pack(sample, PreparedMedia()))


@pytest.mark.parametrize(
    "options",
    [
        ["A. One", "B. Two", "C. Three", "D. Four"],
        np.array(["A. One", "B. Two", "C. Three", "D. Four"]),
        "A. One\nB. Two\nC. Three\nD. Four",
        '["A. One", "B. Two", "C. Three", "D. Four"]',
        {"A": "One", "B": "Two", "C": "Three", "D": "Four"},
    ],
    ids=["list", "array", "lines", "json", "mapping"],
)
def test_options_in_any_form(options: Any) -> None:
    from omnieval.benchmarks.rows import options as read

    assert read(options) == ("A. One", "B. Two", "C. Three", "D. Four")


def test_the_duration_setting_counts_the_rest_as_not_selected(clip: bytes, tmp_path: Path) -> None:
    rows = [row("v", 1), row("v", 2, duration="medium"), row("v", 3, duration="long")]
    data = write_table(tmp_path / "data", rows)
    (data / "v.mp4").write_bytes(clip)
    run = api.run("video-mme", data=data, backend="chance", durations="long", out=tmp_path / "run", cache_dir=tmp_path / "c")  # fmt: skip
    report = api.load_report(run)
    assert report.strict.total == 1
    assert {line.label: line.count for line in report.accounting}["not asked: not selected"] == 2
    assert report.headline["durations"] == "long"


def test_what_is_wrong_with_a_data_set_is_counted_and_named(clip: bytes, tmp_path: Path) -> None:
    rows = [
        row("v", 1), row("v", 1), row("missing", 1), row("v", 2, answer="F"), row("v", 3, options=["A. One"]),
        row("../v", 1), row("v", 4, question=""), row("v", 5, options=None),
    ]  # fmt: skip
    data = write_table(tmp_path / "data", rows)
    (data / "v.mp4").write_bytes(clip)
    (data / "broken.zip").write_bytes(b"no archive")
    run = api.run(
        "video-mme", data=data, backend="chance", out=tmp_path / "run", cache_dir=tmp_path / "cache"
    )
    report = api.load_report(run)
    counts = {line.label: line.count for line in report.accounting}
    assert sum(counts.values()) == report.rows == 8
    assert counts["failed: data"] == 4
    assert counts["failed: media_missing"] == 1
    assert counts["no usable answer in the data set"] == 1
    notes = "\n".join(report.notes)
    assert "1 of 2 videos has no file (1 question fails), for example missing" in notes
    assert "broken.zip: not a whole zip archive" in notes
    assert "question ids that come more than once, each asked and counted: v-1" in notes
    assert "1 row has an answer that names none of its options; not asked: v-2" in notes
    (missing,) = (failure for failure in report.failures if failure.kind == "media_missing")
    assert "expected missing.mp4" in missing.message


def test_a_hostile_archive_is_not_used_and_named(clip: bytes, tmp_path: Path) -> None:
    data = write_table(tmp_path / "data", [row("v")])
    zipped(data / "videos_chunked_01.zip", {"../v.mp4": clip})
    benchmark, dataset, (sample,) = loaded(data)
    assert "has a name that leads outside" in dataset.notes[0]
    with pytest.raises(MediaError, match="no file for video v"):
        benchmark.plan(sample)


def test_a_damaged_video_in_an_archive_is_named_by_its_place_there(tmp_path: Path) -> None:
    data = write_table(tmp_path / "data", [row("v")])
    zipped(data / "a.zip", {"v.mp4": b"no video at all" * 100})
    with pytest.raises(MediaError, match=r"a\.zip/v\.mp4: cannot be decoded"):
        packed(data, tmp_path / "cache")


def test_folders_without_a_table_say_what_was_found(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(DataError, match=r"expected videomme/test-00000-of-00001\.parquet, found notes\.txt"):
        loaded(tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        loaded(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="give --data DIR"):
        load_selected(api.configure("video-mme"), lambda _: None)


def test_a_table_with_other_columns_says_which(tmp_path: Path) -> None:
    write_table(tmp_path, [{"query": "?", "choices": ["a", "b"]}])
    with pytest.raises(
        DataError, match=r"parquet: expected columns such as .*question, options.*, found query, choices"
    ):
        loaded(tmp_path)
    write_table(tmp_path, [{"question": "?", "answer": "A"}])
    with pytest.raises(
        DataError, match="expected the columns question, options, answer, found answer, question"
    ):
        loaded(tmp_path)


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    path = write_table(tmp_path, [row("v")]) / "videomme" / "test-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"parquet: cannot be read as parquet"):
        loaded(tmp_path)


def test_a_folder_of_the_hubs_cache_is_its_newest_snapshot(clip: bytes, tmp_path: Path) -> None:
    snapshot = tmp_path / "datasets--org--Video-MME" / "snapshots" / "abc"
    write_table(snapshot, [row("v")])
    (snapshot / "v.mp4").write_bytes(clip)
    _, dataset, (sample,) = loaded(tmp_path / "datasets--org--Video-MME")
    assert dataset.root == snapshot
    assert sample.media["video"] == snapshot / "v.mp4"


def test_a_name_on_a_hub_is_not_taken_for_a_folder() -> None:
    config = api.configure("video-mme", [("data", "hf:lmms-lab/Video-MME")])
    assert str(config.data) == "hf:lmms-lab/Video-MME"
    with pytest.raises(ConfigError, match="expected hf:ORGANISATION/NAME"):
        load_selected(api.configure("video-mme", [("data", "hf:oops")]), lambda _: None)


def test_archives_of_any_case_are_read_and_two_videos_of_one_name_are_noted(
    clip: bytes, tmp_path: Path
) -> None:
    write_table(tmp_path, [row("v"), row("w")])
    zipped(tmp_path / "VIDEOS.ZIP", {"a/v.mp4": clip, "b/v.mkv": clip, "w.mp4": clip})
    (tmp_path / "w.mp4").write_bytes(clip)
    zipped(tmp_path / "Subtitle.Zip", {"v.srt": SRT.encode(), "x/v.srt": SRT.encode(), "w.srt": b""})
    _, dataset, (v, _) = loaded(tmp_path, subtitles=True)
    assert v.media["video"] == tmp_path / "VIDEOS.ZIP" / "a" / "v.mp4"
    assert v.media["subtitles"] == tmp_path / "Subtitle.Zip" / "v.srt"
    assert dataset.notes == (
        "videos with several files, of which the first by path is used: v",
        "subtitles with several files, of which the first by path is used: v",
    )


CHINESE = "1\n00:00:00,000 --> 00:00:09,000\n你好，世界\n"


@pytest.mark.parametrize(
    ("content", "text", "notes"),
    [
        (CHINESE.encode(), "你好，世界", ()),
        (CHINESE.encode("utf-8-sig"), "你好，世界", ()),
        (CHINESE.encode("utf-16"), "你好，世界", ()),
        (b"\xfe\xff" + CHINESE.encode("utf-16-be"), "你好，世界", ()),
        (CHINESE.encode("gbk"), "你好，世界", ("subtitles that are not UTF-8 were read as GB18030",)),
        (b"", "", ("the subtitle file holds no subtitles",)),
        (b"1\n00:00:00,000 --> 00:00:09,000\n\n", "", ("the subtitle file holds no subtitles",)),
    ],
)
def test_subtitles_in_any_encoding_are_read_or_noted(
    content: bytes, text: str, notes: tuple[str, ...], clip: bytes, tmp_path: Path
) -> None:
    data = write_table(tmp_path / "data", [row("v")])
    (data / "v.mp4").write_bytes(clip)
    (data / "v.srt").write_bytes(content)
    benchmark, _, (sample,) = loaded(data, subtitles=True)
    request = benchmark.pack(sample, PreparedMedia())
    assert text in text_of(request)
    assert request.notes == notes
    run = api.run("video-mme", data=data, subtitles=True, backend="chance", out=tmp_path / "run", cache_dir=tmp_path / "cache")  # fmt: skip
    assert api.load_report(run).notes == tuple(f"{note} (1 sample, for example v-1)" for note in notes)


@pytest.mark.parametrize("content", [b"1\n00:00 caf\xe9\n", b"\xff\xfe\x00\xd8\x00\xd8"])
def test_subtitles_in_an_unknown_encoding_are_an_error(content: bytes, clip: bytes, tmp_path: Path) -> None:
    data = write_table(tmp_path / "data", [row("v")])
    (data / "v.srt").write_bytes(content)
    benchmark, _, (sample,) = loaded(data, subtitles=True)
    with pytest.raises(MediaError, match=r"v\.srt: its encoding is not known .*; save it as UTF-8"):
        benchmark.pack(sample, PreparedMedia())


def test_an_archive_that_is_replaced_during_a_run_fails_its_samples(clip: bytes, tmp_path: Path) -> None:
    names = [f"v{number}" for number in range(8)]  # more than are prepared ahead
    data = write_table(tmp_path / "data", [row(name) for name in names])
    archive = data / "a.zip"
    zipped(archive, {f"{name}.mp4": clip for name in names})
    replaced = False

    def replace_after_the_first(progress: Progress) -> None:
        nonlocal replaced
        if progress.done and not replaced:
            replaced = True
            zipped(data / "other", {f"{name}.mp4": b"x" for name in names})
            (data / "other").rename(archive)

    run = api.run(
        "video-mme", data=data, backend="chance", out=tmp_path / "run", cache_dir=tmp_path / "cache",
        concurrency=1, prepare={"workers": 1}, listener=replace_after_the_first,
    )  # fmt: skip
    (failure,) = api.load_report(run).failures
    assert 1 <= failure.count < 8
    assert "a.zip: the archive changed since the run began" in failure.message


def test_links_that_lead_in_a_circle_are_followed_once(clip: bytes, tmp_path: Path) -> None:
    write_table(tmp_path, [row("v")])
    (tmp_path / "v.mp4").write_bytes(clip)
    (tmp_path / "broken.zip").write_bytes(b"no archive")
    (tmp_path / "videomme" / "loop").symlink_to(tmp_path)
    (note,) = loaded(tmp_path)[1].notes
    assert "broken.zip" in note


def test_a_selection_that_leaves_nothing_names_the_settings(clip: bytes, tmp_path: Path) -> None:
    write_table(tmp_path, [row("v")])
    with pytest.raises(ConfigError, match="settings such as durations"):
        loaded(tmp_path, durations="long")
