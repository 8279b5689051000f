"""Daily-Omni: every row becomes a sample, and a sample becomes the request of its packing."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval import api
from omnieval.benchmarks.base import Dataset
from omnieval.benchmarks.daily_omni import DailyOmni
from omnieval.benchmarks.daily_omni_data import locate
from omnieval.errors import ConfigError, DataError, MediaError
from omnieval.media.cache import MediaCache
from omnieval.media.prepare import prepare_media
from omnieval.media.source import begin_anew
from omnieval.runlog import PlannedSample
from omnieval.runlog.schema import to_line
from omnieval.types import MediaPart, PreparedMedia, Request, TextPart
from tests.media_files import make_video, make_wav

ROW = {
    "Question": "Who speaks?",
    "Choice": ["A. A man", "B. A woman", "C. A child", "D. Nobody"],
    "Answer": "B",
    "video_id": "v1",
    "Type": "Reasoning",
    "video_category": "Sports",
    "video_duration": "30s",
    "content_parent_category": "P",
    "content_fine_category": "F",
}


def data_set(folder: Path, content: Any, *, flat: bool = False, videos: tuple[str, ...] = ("v1",)) -> Path:
    """A data set whose media are only names, which is all that loading looks at."""
    folder.mkdir(exist_ok=True)
    (folder / "qa.json").write_text(content if isinstance(content, str) else json.dumps(content))
    (folder / "Videos").mkdir(exist_ok=True)
    for name in videos:
        place = folder / "Videos" if flat else folder / "Videos" / name
        place.mkdir(exist_ok=True)
        for path in (f"{name}.mp4", f"{name}.wav") if flat else (f"{name}_video.mp4", f"{name}_audio.wav"):
            (place / path).write_bytes(b"x")
    return folder


def packed_data(folder: Path, name: str, top: str, *, sound: bool = True, video: bytes | None = None) -> Path:
    """A data set whose one video, a real one unless given, lies in an archive with its sound."""
    folder.mkdir(exist_ok=True)
    (folder / "qa.json").write_text(json.dumps([ROW]))
    begin_anew()
    clip = make_video(folder / "clip.mp4", seconds=1, fps=5, size=(96, 64), audio_seconds=1)
    members = {"v1/v1_video.mp4": clip.read_bytes() if video is None else video}
    if sound:
        members["v1/v1_audio.wav"] = make_wav(folder / "sound.wav", seconds=1).read_bytes()
    for path in (folder / "clip.mp4", folder / "sound.wav"):
        path.unlink(missing_ok=True)
    if name.endswith(".zip"):
        with zipfile.ZipFile(folder / name, "w") as zipped:
            for member, content in members.items():
                zipped.writestr(top + member, content)
        return folder
    with tarfile.open(folder / name, "w:gz" if name.endswith("gz") else "w") as archive:
        for member, content in members.items():
            info = tarfile.TarInfo(top + member)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return folder


def benchmark(folder: Path, *overrides: tuple[str, Any]) -> DailyOmni:
    return DailyOmni(api.configure("daily-omni", [("data", str(folder)), *overrides]))


def load(folder: Path, *overrides: tuple[str, Any]) -> Dataset:
    return benchmark(folder, *overrides).load()


def test_a_row_of_the_official_layout(tmp_path: Path) -> None:
    (sample,) = load(data_set(tmp_path, [ROW])).samples
    assert (sample.question, sample.gold, sample.cluster, sample.problem) == ("Who speaks?", "B", "v1", None)
    assert sample.groups == {
        "type": "Reasoning", "category": "Sports", "duration": "30s", "parent category": "P", "fine category": "F",
    }  # fmt: skip
    assert sample.media["video"].name == "v1_video.mp4"
    assert sample.media["audio"].name == "v1_audio.wav"


def test_lower_case_keys_and_flat_files_serve_too(tmp_path: Path) -> None:
    row = {
        "question": "Who speaks?",
        "options": ROW["Choice"],
        "answer": "B",
        "video": "v1",
        "task_type": "T",
    }
    (sample,) = load(data_set(tmp_path, [row], flat=True)).samples
    assert (sample.gold, sample.groups["type"], sample.groups["category"]) == ("B", "T", "unknown")
    assert sample.media["video"].name == "v1.mp4"
    assert sample.media["audio"].name == "v1.wav"


@pytest.mark.parametrize(
    "choice", [ROW["Choice"], {"A": "A man", "B": "A woman", "C": "A child", "D": "Nobody"},
               "A. A man\nB. A woman\nC. A child\nD. Nobody"]
)  # fmt: skip
def test_options_come_as_list_mapping_or_lines(choice: Any, tmp_path: Path) -> None:
    (sample,) = load(data_set(tmp_path, [ROW | {"Choice": choice}])).samples
    assert sample.options == tuple(ROW["Choice"])


def test_splits_are_all_asked_unless_one_is_chosen(tmp_path: Path) -> None:
    folder = data_set(tmp_path, {"train": [ROW], "test": [ROW | {"Question": "b"}, ROW | {"Question": "c"}]})
    dataset = load(folder)
    assert len(dataset.samples) == 3
    assert any("train (1), test (2)" in note for note in dataset.notes)
    assert [s.question for s in load(folder, ("split", "train")).samples] == ["Who speaks?"]
    with pytest.raises(ConfigError, match="did you mean 'train'"):
        load(folder, ("split", "trian"))


def test_an_id_is_stable_when_other_rows_come_and_go(tmp_path: Path) -> None:
    other = ROW | {"Question": "Something else?"}
    alone = load(data_set(tmp_path, [ROW])).samples[0].id
    assert load(data_set(tmp_path, [other, ROW])).samples[1].id == alone
    assert load(data_set(tmp_path, [ROW | {"Answer": "C"}])).samples[0].id == alone


def test_repeated_rows_are_all_counted_and_named(tmp_path: Path) -> None:
    dataset = load(data_set(tmp_path, [ROW, ROW, ROW | {"Answer": "C"}]))
    ids = [sample.id for sample in dataset.samples]
    assert ids == [ids[0], f"{ids[0]}-2", f"{ids[0]}-3"]
    assert any(note.startswith("2 rows repeat another row") and "v1" in note for note in dataset.notes)
    assert any("at most one of them right: v1" in note for note in dataset.notes)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({k: v for k, v in ROW.items() if k != "Question"}, "no Question"),
        ({k: v for k, v in ROW.items() if k != "Choice"}, "0 options"),
        (ROW | {"Choice": ["A. one"]}, "1 option,"),
        (ROW | {"Choice": ["A. one", None, "C. three"]}, "an empty option"),
        (ROW | {"Choice": 7}, "0 options"),
        ({k: v for k, v in ROW.items() if k != "video_id"}, "no video_id"),
        (ROW | {"video_id": "../x"}, "path separator"),
        (ROW | {"video_id": "a/b"}, "path separator"),
        (ROW | {"video_id": ".."}, "is not a name"),
        (ROW | {"video_id": "a\x00b"}, "NUL"),
        ("text", "no video_id"),
        (None, "no video_id"),
        ({}, "no video_id"),
    ],
)
def test_a_row_that_cannot_be_asked_is_a_sample_with_a_problem(row: Any, words: str, tmp_path: Path) -> None:
    dataset = load(data_set(tmp_path, [row, ROW]))
    assert len(dataset.samples) == 2
    problem = dataset.samples[0].problem
    assert problem is not None
    assert problem.kind == "data"
    assert words in problem.message
    assert "row 1 " in problem.message
    assert dataset.samples[0].media == {}
    assert dataset.samples[1].problem is None


@pytest.mark.parametrize("answer", ["", "E", "Both", None])
def test_a_row_without_usable_answer_has_no_gold(answer: Any, tmp_path: Path) -> None:
    (sample,) = load(data_set(tmp_path, [ROW | {"Answer": answer}])).samples
    assert (sample.gold, sample.problem) == (None, None)


@pytest.mark.parametrize("video_id", ["with space", "映像 ñ", "x" * 5000, "tab\tand\nline", "%2e%2e", "-rf"])
def test_strange_ids_are_names_of_files_and_nothing_else(video_id: str, tmp_path: Path) -> None:
    (sample,) = load(data_set(tmp_path, [ROW | {"video_id": video_id}])).samples
    assert sample.problem is None
    assert sample.id.isprintable()
    assert len(sample.id) < 100
    with pytest.raises(MediaError) as raised:
        benchmark(tmp_path).plan(sample)
    assert raised.value.kind == "media_missing"


def test_surrogate_halves_in_the_file_can_be_written_again(tmp_path: Path) -> None:
    text = json.dumps([ROW]).replace("Who speaks?", r"Who \ud800 speaks?")
    (sample,) = load(data_set(tmp_path, text)).samples
    sample.question.encode("utf-8")


def test_missing_media_are_said_before_the_run(tmp_path: Path) -> None:
    rows = [ROW | {"video_id": name} for name in ("v1", "gone1", "gone2")]
    notes = load(data_set(tmp_path, rows)).notes
    assert any("2 of 3 videos have no file" in note and "gone1" in note for note in notes)


@pytest.mark.parametrize("top", ["Videos/", "./Videos/", ""])
@pytest.mark.parametrize("name", ["Videos.tar", "Videos.tar.gz", "Videos.zip"])
def test_videos_are_found_in_the_archive_of_the_release(name: str, top: str, tmp_path: Path) -> None:
    data = packed_data(tmp_path, name, top)
    dataset = load(data)
    assert dataset.notes == ()
    (sample,) = dataset.samples
    inside = data / name / top.removeprefix("./")
    assert sample.media == {
        "video": inside / "v1" / "v1_video.mp4",
        "audio": inside / "v1" / "v1_audio.wav",
    }
    (data / "Videos").mkdir()
    assert load(data).samples[0].media == {}  # a folder comes before the archive


def test_an_archive_that_is_not_whole_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "qa.json").write_text(json.dumps([ROW]))
    (tmp_path / "Videos.tar").write_bytes(b"x")
    with pytest.raises(DataError, match=r"Videos\.tar: not a whole tar archive.*fetch it again"):
        load(tmp_path)
    with pytest.raises(DataError, match=r"an archive; --data names the folder that holds it and qa.json"):
        load(tmp_path / "Videos.tar")


@pytest.mark.parametrize("mode", ["all", "visual", "audio"])
@pytest.mark.parametrize("packing", ["minicpm-interleave", "qwen"])
def test_media_in_the_archive_reach_the_request_as_plain_files_do(
    packing: str, mode: str, tmp_path: Path
) -> None:
    data = packed_data(tmp_path / "packed", "Videos.tar", "Videos/")
    plain = Path(shutil.copytree(data, tmp_path / "plain"))
    with tarfile.open(plain / "Videos.tar") as archive:
        archive.extractall(plain)
    settings = (("packing", packing), ("input_mode", mode), ("cache_dir", str(tmp_path / "cache")))
    contents = []
    for folder in (data, plain):
        chosen = benchmark(folder, *settings)
        dataset = chosen.load()
        plan = chosen.plan(dataset.samples[0])
        assert plan is not None
        media = prepare_media(plan, MediaCache(tmp_path / "cache"))
        parts = [
            part
            for part in chosen.pack(dataset.samples[0], media).messages[-1].parts
            if isinstance(part, MediaPart)
        ]
        contents.append([(p.kind, p.mime, p.path.suffix, p.path.read_bytes()) for p in parts])
        folders = chosen.media_folders(dataset, tmp_path / "cache")
        assert all(any(p.path.is_relative_to(f) for f in folders) for p in parts)
    assert len(contents[0]) > 0 and contents[0] == contents[1]


def test_the_sound_of_a_video_in_the_archive_serves_where_there_is_no_wav(tmp_path: Path) -> None:
    data = packed_data(tmp_path, "Videos.tar", "Videos/", sound=False)
    chosen = benchmark(data, ("packing", "qwen"), ("cache_dir", str(tmp_path / "cache")))
    (sample,) = chosen.load().samples
    plan = chosen.plan(sample)
    assert plan is not None
    parts = chosen.pack(sample, prepare_media(plan, MediaCache(tmp_path / "cache"))).messages[-1].parts
    assert [part.mime for part in parts[:2] if isinstance(part, MediaPart)] == ["video/mp4", "audio/wav"]


def test_a_broken_medium_in_the_archive_is_named_by_its_place_there(tmp_path: Path) -> None:
    data = packed_data(tmp_path, "Videos.tar", "Videos/", video=b"no video" * 99)
    chosen = benchmark(data, ("packing", "qwen"), ("cache_dir", str(tmp_path / "cache")))
    plan = chosen.plan(chosen.load().samples[0])
    assert plan is not None
    with pytest.raises(MediaError, match=r"Videos\.tar/Videos/v1/v1_video\.mp4: cannot be decoded"):
        prepare_media(plan, MediaCache(tmp_path / "cache"))


def test_a_video_that_lies_twice_with_other_bytes_is_named(tmp_path: Path) -> None:
    names = ("same", "other", "silent")
    data = data_set(tmp_path, [ROW | {"video_id": name} for name in names], videos=names)
    (data / "Videos" / "same.mp4").write_bytes(b"x")
    (data / "Videos" / "other.mp4").write_bytes(b"y")
    (data / "Videos" / "silent.wav").write_bytes(b"y")
    (note,) = load(data).notes
    assert "2 videos lie there twice with other bytes" in note and note.index("other,") < note.index(
        "silent;"
    )
    assert "same" not in note and "Videos/other/other_video.mp4 before Videos/other.mp4" in note


def test_the_question_file_itself_can_be_given(tmp_path: Path) -> None:
    data_set(tmp_path, [ROW])
    assert len(load(tmp_path / "qa.json").samples) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*ROW, "question", "answer", "x"]), inner, max_size=8)
    ),
    max_leaves=12,
)


@given(
    rows=st.lists(JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(ROW, JSON)), min_size=1, max_size=6)
)
def test_whatever_the_rows_hold_each_becomes_one_sample(
    rows: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    dataset = load(data_set(tmp_path_factory.mktemp("data"), rows))
    assert len(dataset.samples) == len(rows)
    assert len({sample.id for sample in dataset.samples}) == len(rows)
    assert dataset.fingerprint() == load(dataset.root).fingerprint()
    for sample in dataset.samples:
        assert sample.problem is not None or len(sample.options) >= 2
        to_line(PlannedSample(sample, selected=True))


def part(kind: Any, name: str, timestamp: float | None = None) -> MediaPart:
    return MediaPart(kind, Path(name), "x/y", timestamp=timestamp)


MEDIA = PreparedMedia(
    frames=(part("image", "f0"), part("image", "f1")),
    segments=(part("audio", "s0"), part("audio", "s1")),
    audio=part("audio", "whole"),
)


def packed(folder: Path, *overrides: tuple[str, Any], media: PreparedMedia = MEDIA) -> Request:
    chosen = benchmark(folder, *overrides)
    return chosen.pack(chosen.load().samples[0], media)


def names(request: Request) -> list[str]:
    return [p.path.name if isinstance(p, MediaPart) else "text" for p in request.messages[-1].parts]


def test_frames_and_sounds_alternate_then_comes_the_question(tmp_path: Path) -> None:
    request = packed(data_set(tmp_path, [ROW]))
    assert names(request) == ["f0", "s0", "f1", "s1", "text"]
    assert [message.role for message in request.messages] == ["user"]
    assert request.options == {"A": "A man", "B": "A woman", "C": "A child", "D": "Nobody"}


@pytest.mark.parametrize(("mode", "sounds"), [("all", ["s0", "s1", "s2"]), ("visual", [])])
def test_a_joined_picture_follows_its_frame_and_sound(mode: str, sounds: list[str], tmp_path: Path) -> None:
    media = PreparedMedia(
        frames=tuple(part("image", f"f{k}", float(k)) for k in range(3)),
        segments=tuple(part("audio", name) for name in sounds),
        stacked=(part("image", "j0", 0.0), part("image", "j2", 2.0)),
    )
    folder = data_set(tmp_path, [ROW])
    request = packed(folder, ("input_mode", mode), ("stack_frames", 5), media=media)
    with_sound = ["f0", "s0", "j0", "f1", "s1", "f2", "s2", "j2", "text"]
    assert names(request) == [name for name in with_sound if mode == "all" or name[0] != "s"]
    chosen = benchmark(folder, ("stack_frames", 5))
    assert chosen.headline()["plan"] == "minicpm, at most 64 frames, stacked by 5"
    sample = chosen.load().samples[0]
    plans = [
        benchmark(folder, *more, ("stack_frames", 5)).plan(sample) for more in ((), (("packing", "qwen"),))
    ]
    assert [plan.stack_frames for plan in plans if plan is not None] == [5, 1]


@pytest.mark.parametrize(
    ("packing", "mode", "expected"),
    [
        ("minicpm-interleave", "visual", ["f0", "f1", "text"]),
        ("minicpm-interleave", "audio", ["v1_audio.wav", "text"]),
        ("qwen", "all", ["v1_video.mp4", "v1_audio.wav", "text"]),
        ("qwen", "visual", ["v1_video.mp4", "text"]),
        ("qwen", "audio", ["v1_audio.wav", "text"]),
    ],
)
def test_each_packing_and_mode_sends_what_it_names(
    packing: str, mode: str, expected: list[str], tmp_path: Path
) -> None:
    folder = data_set(tmp_path, [ROW])
    media = PreparedMedia(frames=MEDIA.frames) if mode == "visual" else PreparedMedia()
    request = packed(folder, ("packing", packing), ("input_mode", mode), media=media)
    assert names(request) == expected
    assert len(request.messages) == (2 if packing == "qwen" else 1)


def test_a_video_without_wav_gives_its_own_sound(tmp_path: Path) -> None:
    folder = data_set(tmp_path, [ROW])
    (folder / "Videos" / "v1" / "v1_audio.wav").unlink()
    chosen = benchmark(folder, ("packing", "qwen"))
    (sample,) = chosen.load().samples
    plan = chosen.plan(sample)
    assert plan is not None
    assert plan.whole_audio
    assert [p.path.name for p in chosen.pack(sample, MEDIA).messages[-1].parts[:2]] == [
        "v1_video.mp4",
        "whole",
    ]
    assert benchmark(folder).media_folders(chosen.load(), Path("/cache")) == [Path("/cache")]
    assert chosen.media_folders(chosen.load(), Path("/cache")) == [folder, Path("/cache")]


def test_processor_settings_follow_the_packing_and_the_recipe_wins(tmp_path: Path) -> None:
    folder = data_set(tmp_path, [ROW])
    minicpm = {"use_audio_in_video": False, "max_slice_nums": 1, "use_image_id": False}
    assert packed(folder).extra_body["mm_processor_kwargs"] == minicpm
    qwen = packed(folder, ("packing", "qwen"), media=PreparedMedia())
    assert qwen.extra_body["mm_processor_kwargs"] == {"use_audio_in_video": False}
    own = packed(folder, ("extra_body.mm_processor_kwargs", {"max_slice_nums": 9}))
    assert own.extra_body["mm_processor_kwargs"] == {"max_slice_nums": 9}
    assert "mm_processor_kwargs" not in packed(folder, ("extra_body.mm_processor_kwargs", None)).extra_body
    assert packed(folder).extra_body["chat_template_kwargs"] == {"enable_thinking": False}


def test_prompt_and_system_prompt_can_be_chosen(tmp_path: Path) -> None:
    folder = data_set(tmp_path, [ROW])
    text = packed(folder, ("prompt", "omnievalkit")).messages[-1].parts[-1]
    assert isinstance(text, TextPart)
    assert text.text.startswith("Carefully read the following question")
    system = packed(folder, ("system_prompt", "Be brief.")).messages[0]
    assert (system.role, system.parts) == ("system", (TextPart("Be brief."),))


def test_the_fingerprint_follows_the_questions_not_the_place(tmp_path: Path) -> None:
    first = load(data_set(tmp_path / "a", [ROW])).fingerprint()
    assert load(data_set(tmp_path / "b", [ROW])).fingerprint() == first
    for change in ({"Answer": "C"}, {"Question": "?"}, {"Choice": ["A. x", "B. y"]}, {"video_id": "v2"}):
        assert load(data_set(tmp_path / "b", [ROW | change])).fingerprint() != first


def test_a_folder_of_the_hubs_cache_stands_for_its_newest_snapshot(tmp_path: Path) -> None:
    snapshot = tmp_path / "snapshots" / "0a1b"
    (snapshot / "Videos").mkdir(parents=True)
    (snapshot / "qa.json").write_text("[]")
    assert locate(tmp_path) == (snapshot / "qa.json", snapshot / "Videos")


def test_parquet_files_of_a_hub_name_the_command_that_converts_them(tmp_path: Path) -> None:
    (tmp_path / "a b" / "data").mkdir(parents=True)
    (tmp_path / "a b" / "data" / "test-00000-of-00001.parquet").touch()
    with pytest.raises(DataError, match=r"omnieval data convert daily-omni --src '.*a b' --dst DIR"):
        locate(tmp_path / "a b")
