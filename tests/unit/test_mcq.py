"""Any multiple-choice set: every file type, every form of answer and media, and what is wrong with a set."""

from __future__ import annotations

import csv
import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from omnieval import api
from omnieval.benchmarks.base import Benchmark, Dataset
from omnieval.engine.execute import load_selected
from omnieval.errors import ConfigError, DataError, MediaError
from omnieval.media.cache import MediaCache
from omnieval.media.prepare import prepare_media
from omnieval.types import MediaPart, PreparedMedia, Request, Sample
from tests.media_files import make_video, make_wav

ROWS = [
    {
        "id": "q1",
        "question": "Which?",
        "options": ["red", "green", "blue"],
        "answer": "B",
        "category": "colour",
    },
    {"id": "q2", "question": "How many?", "options": ["one", "two"], "answer": "A", "category": "number"},
]


def write(folder: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / name
    suffix = path.suffix
    if suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif suffix == ".json":
        path.write_text(json.dumps({"version": 1, "data": rows}))
    elif suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        flat = [{k: json.dumps(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows]
        with path.open("w", newline="", encoding="utf-8-sig") as file:
            writer = csv.DictWriter(file, list(flat[0]), delimiter="\t" if suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(flat)
    return path


def loaded(data: Path, **settings: Any) -> tuple[Benchmark, Dataset, list[Sample]]:
    overrides = [("data", str(data)), *((key.replace("__", "."), value) for key, value in settings.items())]
    return load_selected(api.configure("mcq", overrides), lambda _: None)


def packed(data: Path, cache: Path, **settings: Any) -> Request:
    benchmark, _, chosen = loaded(data, cache_dir=str(cache), **settings)
    plan = benchmark.plan(chosen[0])
    media = PreparedMedia() if plan is None else prepare_media(plan, MediaCache(cache))
    return benchmark.pack(chosen[0], media)


def parts(request: Request) -> list[str]:
    return [part.kind if isinstance(part, MediaPart) else "text" for part in request.messages[-1].parts]


@pytest.mark.parametrize("name", ["q.jsonl", "q.json", "q.csv", "q.tsv", "q.parquet"])
def test_every_file_type_gives_the_same_samples(name: str, tmp_path: Path) -> None:
    _, dataset, samples = loaded(write(tmp_path, name, ROWS))
    assert [(s.id, s.question, s.options, s.gold) for s in samples] == [
        ("q1", "Which?", ("red", "green", "blue"), "B"),
        ("q2", "How many?", ("one", "two"), "A"),
    ]
    assert [s.groups for s in samples] == [{"category": "colour"}, {"category": "number"}]
    assert dataset.notes == ()
    assert [s.id for s in loaded(tmp_path)[2]] == ["q1", "q2"]


def test_columns_of_any_name_are_mapped(tmp_path: Path) -> None:
    rows = [{"n": 7, "ask": "Which?", "o1": "x", "o2": "y", "o3": "", "right": "y", "sort": "hard"}]
    path = write(tmp_path, "q.csv", rows)
    benchmark, _, (sample,) = loaded(
        path, columns__id="n", columns__question="ask", columns__options=["o1", "o2", "o3"],
        columns__answer="right", columns__groups={"difficulty": "sort"},
    )  # fmt: skip
    assert (sample.id, sample.options, sample.gold) == ("7", ("x", "y"), "B")
    assert sample.groups == {"difficulty": "hard"}
    assert benchmark.group_keys == ("difficulty",)


@pytest.mark.parametrize("names", ["ABCD", ["option_a", "option_b", "option_c", "option_d"], ["choice A", "choice B", "choice C", "choice D"]])  # fmt: skip
def test_one_column_an_option_is_found(names: Any, tmp_path: Path) -> None:
    row = {"question": "?", "answer": "D"} | {name: f"thing {i}" for i, name in enumerate(names)}
    (sample,) = loaded(write(tmp_path, "q.csv", [row]))[2]
    assert sample.options == ("thing 0", "thing 1", "thing 2", "thing 3")
    assert sample.gold == "D"


@pytest.mark.parametrize(
    ("answer", "kind", "gold"),
    [
        ("C", "auto", "C"), ("c", "auto", "C"), ("blue", "auto", "C"), ("C. blue", "auto", "C"), (2, "auto", "C"),
        (2, "index0", "C"), (2, "index1", "B"), ("B", "letter", "B"), ("green", "letter", None),
        ("green", "text", "B"), (9, "auto", None), ("pink", "auto", None), (None, "auto", None), (0, "index1", None),
    ],
)  # fmt: skip
def test_answers_as_letter_text_or_index(answer: Any, kind: str, gold: str | None, tmp_path: Path) -> None:
    row = {"question": "?", "options": ["red", "green", "blue"], "answer": answer}
    (sample,) = loaded(write(tmp_path, "q.jsonl", [row]), answer_is=kind)[2]
    assert sample.gold == gold


def test_numbers_as_options_are_text_before_they_are_indices(tmp_path: Path) -> None:
    row = {"question": "?", "options": ["3", "2", "1"], "answer": "1"}
    (sample,) = loaded(write(tmp_path, "q.jsonl", [row]))[2]
    assert sample.gold == "C"


def test_options_that_are_letters_are_text_before_they_are_letters(tmp_path: Path) -> None:
    row = {"question": "Which grade?", "options": ["B", "A", "C"], "answer": "A"}
    assert loaded(write(tmp_path, "q.jsonl", [row]))[2][0].gold == "B"
    assert loaded(tmp_path / "q.jsonl", answer_is="letter")[2][0].gold == "A"


@pytest.mark.parametrize("options", [["x", None, "y"], ["x", " "], ["x", ""]])
def test_an_empty_option_is_a_fault_of_the_row(options: list[Any], tmp_path: Path) -> None:
    row = {"question": "?", "options": options, "answer": "A"}
    problem = loaded(write(tmp_path, "q.jsonl", [row]))[2][0].problem
    assert problem is not None
    assert "has an empty option" in problem.message


def test_a_letter_goes_with_its_column_also_where_another_is_empty(tmp_path: Path) -> None:
    row = {
        "question": "?",
        "option_a": "red",
        "option_b": "",
        "option_c": "green",
        "option_d": "blue",
        "answer": "C",
    }
    problem = loaded(write(tmp_path, "q.csv", [row]))[2][0].problem
    assert problem is not None
    assert "has an empty option" in problem.message
    shorter = row | {"option_b": "black", "option_d": ""}
    (sample,) = loaded(write(tmp_path, "r.csv", [shorter]))[2]
    assert (sample.options, sample.gold) == (("red", "black", "green"), "C")


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"B": "green", "A": "red"}, ("A. red", "B. green")),
        ({"A": "red", "B": "green", "C": None}, ("A. red", "B. green")),
        ({"text": ["red", "green"], "label": ["A", "B"]}, ("A. red", "B. green")),
        ([{"label": "A", "text": "red"}, {"label": "B", "text": "green"}], ("A. red", "B. green")),
        ({"A": "red", "B": None, "C": "green"}, None),
        ({"1": "red", "2": "green"}, None),
        ([["red"], ["green"]], None),
        ("['red'\n 'green']", None),
    ],
)
def test_nested_options_are_unwrapped_or_refused(
    options: Any, shown: tuple[str, ...] | None, tmp_path: Path
) -> None:
    row = {"question": "?", "options": options, "answer": "B"}
    (sample,) = loaded(write(tmp_path, "q.jsonl", [row]))[2]
    if shown is None:
        assert sample.problem is not None
    else:
        assert (sample.options, sample.gold) == (shown, "B")


def test_labels_out_of_order_leave_a_bare_letter_without_meaning(tmp_path: Path) -> None:
    row = {"question": "?", "options": ["A. red", "C. green", "D. blue"], "answer": "C"}
    _, dataset, (sample,) = loaded(write(tmp_path, "q.jsonl", [row]))
    assert sample.gold is None
    assert "names none of its options" in dataset.notes[0]
    (by_text,) = loaded(write(tmp_path, "r.jsonl", [row | {"answer": "C. green"}]))[2]
    assert by_text.gold == "B"


def test_the_first_media_column_that_holds_something_counts(tmp_path: Path) -> None:
    make_wav(tmp_path / "a.wav", seconds=1)
    row = {"question": "?", "options": ["x", "y"], "answer": "A", "audio": None, "audio_path": "a.wav"}
    (sample,) = loaded(write(tmp_path, "q.jsonl", [row]))[2]
    assert sample.media == {"audio": tmp_path / "a.wav"}


@pytest.mark.parametrize(("sound", "names"), [("wav", ["a.wav", "t.txt"]), ("original", ["t.txt"])])
def test_a_sound_that_goes_out_as_it_is_must_be_one(sound: str, names: list[str], tmp_path: Path) -> None:
    make_wav(tmp_path / "a.wav", seconds=1)
    (tmp_path / "t.txt").write_text("no sound")
    row = {"question": "?", "options": ["x", "y"], "answer": "A", "audio": names}
    with pytest.raises(MediaError, match=r"t\.txt"):
        packed(write(tmp_path, "q.jsonl", [row]), tmp_path / "cache", sound=sound)


def test_26_options_and_no_more(tmp_path: Path) -> None:
    rows = [
        {"question": "?", "options": [f"o{i}" for i in range(count)], "answer": "o1"}
        for count in (26, 27, 2, 1)
    ]
    samples = loaded(write(tmp_path, "q.jsonl", rows))[2]
    assert [sample.problem is None for sample in samples] == [True, False, True, False]


def test_omnievalkits_own_lines_are_read(tmp_path: Path) -> None:
    make_video(tmp_path / "v.mp4", seconds=2)
    make_wav(tmp_path / "a.wav", seconds=2)
    Image.new("RGB", (8, 8)).save(tmp_path / "i.png")
    rows = [
        {"dataset_type": "mcq", "dataset_name": "daily_omni", "question": "?", "choices": ["A. x", "B. y"],
         "gt_answer": "B", "VideoPath": "v.mp4", "WavPath": "a.wav", "ImagePath": ""},
        {"dataset_type": "mcq", "question": "?!", "choices": ["A. x", "B. y"], "gt_answer": "A",
         "image_paths_dict": {"one": "i.png", "two": "i.png"}, "audio_paths_dict": {"one": "a.wav"}},
        {"dataset_type": "open_qa", "question": "why?", "gt_answer": "so"},
    ]  # fmt: skip
    path = write(tmp_path, "q.jsonl", rows)
    _, _, samples = loaded(path)
    assert list(samples[0].media) == ["video", "audio"]
    assert samples[2].problem is not None
    assert "type 'open_qa'" in samples[2].problem.message
    assert parts(packed(path, tmp_path / "cache")) == ["image", "audio"] * 2 + ["text"]
    second = packed(write(tmp_path, "r.jsonl", rows[1:2]), tmp_path / "cache")
    assert parts(second) == ["image", "image", "audio", "text"]


def test_the_packings(tmp_path: Path) -> None:
    make_video(tmp_path / "v.mp4", seconds=3, audio_seconds=3.0)
    make_wav(tmp_path / "a.wav", seconds=3, rate=44_100, channels=2)
    base = {"question": "?", "options": ["x", "y"], "answer": "A"}
    cache = tmp_path / "cache"
    both = write(tmp_path, "both.jsonl", [base | {"video": "v.mp4", "audio": "a.wav"}])
    alone = write(tmp_path, "alone.jsonl", [base | {"video": "v.mp4"}])
    sound = write(tmp_path, "sound.jsonl", [base | {"audio": "a.wav"}])
    assert parts(packed(both, cache)) == ["image", "audio"] * 3 + ["text"]
    assert parts(packed(both, cache, packing="frames")) == ["image"] * 3 + ["audio", "text"]
    assert parts(packed(both, cache, packing="video-url")) == ["video", "audio", "text"]
    assert parts(packed(alone, cache)) == ["image", "audio"] * 3 + ["text"]
    assert parts(packed(alone, cache, packing="frames")) == ["image"] * 3 + ["text"]
    converted = packed(sound, cache).messages[-1].parts[0]
    assert isinstance(converted, MediaPart)
    assert converted.path.read_bytes()[24:28] == (16_000).to_bytes(4, "little")
    original = packed(sound, cache, sound="original").messages[-1].parts[0]
    assert isinstance(original, MediaPart)
    assert original.path == tmp_path / "a.wav"
    assert "mm_processor_kwargs" not in packed(sound, cache).extra_body
    assert parts(packed(both, cache, media="none")) == ["text"]


def test_media_inside_the_table_are_written_once_by_their_content(tmp_path: Path) -> None:
    make_wav(tmp_path / "a.wav", seconds=1)
    Image.new("RGB", (8, 8)).save(tmp_path / "i.png")
    sound = {"bytes": (tmp_path / "a.wav").read_bytes(), "path": "x/../../evil.wav"}
    picture = {"bytes": (tmp_path / "i.png").read_bytes(), "path": None}
    rows = [
        {"question": f"{i}?", "options": ["x", "y"], "answer": "A", "audio": sound, "image": picture}
        for i in range(3)
    ]
    path = write(tmp_path, "q.parquet", rows)
    cache = tmp_path / "cache"
    _, _, samples = loaded(path, cache_dir=str(cache))
    assert len({sample.media["audio"] for sample in samples}) == 1
    assert {p.suffix for p in (cache / "embedded").iterdir()} == {".wav", ".png"}
    assert parts(packed(path, cache)) == ["image", "audio", "text"]
    assert not (tmp_path.parent / "evil.wav").exists()


@pytest.mark.parametrize("value", ["../secret.wav", "/etc/passwd", "https://example.org/a.wav", 3, "a\0b"])
def test_paths_that_leave_the_media_root_are_a_fault_of_the_row(value: Any, tmp_path: Path) -> None:
    (tmp_path / "secret.wav").write_bytes(b"x")
    (tmp_path / "set").mkdir()
    row = {"question": "?", "options": ["x", "y"], "answer": "A", "audio": value}
    _, dataset, (sample,) = loaded(write(tmp_path / "set", "q.jsonl", [row]))
    assert sample.problem is not None
    assert sample.problem.kind == "data"
    assert sample.media == {}
    assert "1 row cannot be asked" in dataset.notes[0]


def test_another_media_root_and_a_link_out_of_it(tmp_path: Path) -> None:
    make_wav(tmp_path / "media" / "a.wav" if (tmp_path / "media").mkdir() is None else tmp_path, seconds=1)
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "link.wav").symlink_to(tmp_path / "media" / "a.wav")
    row = {"question": "?", "options": ["x", "y"], "answer": "A", "audio": "a.wav"}
    path = write(tmp_path / "set", "q.jsonl", [row, row | {"question": "??", "audio": "link.wav"}])
    elsewhere = loaded(path, media_root="../media")[2]
    assert elsewhere[0].media["audio"].is_file()
    inside = loaded(path)[2]
    assert inside[1].problem is not None  # a link must not lead out of the folder either


def test_media_in_an_archive(tmp_path: Path) -> None:
    make_wav(tmp_path / "a.wav", seconds=1)
    with zipfile.ZipFile(tmp_path / "media.zip", "w") as archive:
        archive.write(tmp_path / "a.wav", "sounds/a.wav")
    row = {"question": "?", "options": ["x", "y"], "answer": "A", "audio": "media.zip/sounds/a.wav"}
    request = packed(write(tmp_path, "q.jsonl", [row]), tmp_path / "cache")
    assert parts(request) == ["audio", "text"]


def test_what_is_wrong_with_a_set_is_counted_and_named(tmp_path: Path) -> None:
    good = {"question": "Which?", "options": ["red", "green"], "answer": "A"}
    rows: list[Any] = [
        good | {"id": "ok"}, good | {"id": "twice"}, good | {"id": "twice", "question": "Other?"},
        good | {"id": "disagree", "answer_text": "green"}, good | {"id": "outside", "answer": "F"},
        good | {"id": "no-options", "options": []}, good | {"id": "no-question", "question": " "},
        good | {"id": "missing", "audio": "nowhere.wav"}, "not a row",
    ]  # fmt: skip
    path = tmp_path / "q.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = api.run("mcq", data=path, backend="chance", out=tmp_path / "run", cache_dir=tmp_path / "cache")
    report = api.load_report(run)
    counts = {line.label: line.count for line in report.accounting}
    assert sum(counts.values()) == report.rows == 9
    assert counts["failed: data"] == 3
    assert counts["failed: media_missing"] == 1
    assert counts["no usable answer in the data set"] == 2
    notes = "\n".join(report.notes)
    assert "answer letter and answer text disagree; not asked: disagree" in notes
    assert "names none of its options; not asked: outside" in notes
    assert "ids that come more than once, each asked and counted: twice" in notes
    assert "1 media file is not there, for example nowhere.wav" in notes
    assert "3 rows cannot be asked and are counted as failed" in notes


def test_media_that_no_column_is_known_to_hold_are_noticed(tmp_path: Path) -> None:
    row = {"question": "?", "options": ["x", "y"], "answer": "A", "pic": "i.png", "level": 3}
    (note,) = loaded(write(tmp_path, "q.jsonl", [row]))[1].notes
    assert "1 of 1 rows is asked without media; columns that are not used: level, pic" in note
    Image.new("RGB", (8, 8)).save(tmp_path / "i.png")
    assert loaded(tmp_path / "q.jsonl", columns__images="pic")[1].notes == ()


def test_a_set_of_which_nothing_can_be_judged_is_an_error(tmp_path: Path) -> None:
    row = {"question": "?", "options": ["x", "y"], "answer": "nothing of these"}
    with pytest.raises(
        DataError,
        match=r"none of the selected rows can be asked and judged \(1 selected\); 1 row has an answer",
    ):
        api.run("mcq", data=write(tmp_path, "q.jsonl", [row]), backend="chance", out=tmp_path / "run")


def test_answers_that_begin_at_one_are_noticed(tmp_path: Path) -> None:
    rows = [{"question": f"{i}?", "options": ["x", "y", "z"], "answer": i} for i in (1, 2, 3)]
    assert "set answer_is=index1" in loaded(write(tmp_path, "q.jsonl", rows))[1].notes[0]
    assert loaded(tmp_path / "q.jsonl", answer_is="index1")[1].notes == ()


def test_a_picture_that_is_none_costs_its_sample(tmp_path: Path) -> None:
    (tmp_path / "i.png").write_bytes(b"no picture")
    row = {"question": "?", "options": ["x", "y"], "answer": "A", "image": "i.png"}
    with pytest.raises(MediaError, match=r"i\.png: cannot be read as a picture"):
        packed(write(tmp_path, "q.jsonl", [row]), tmp_path / "cache")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.jsonl", '{"question": 1}\n{broken\n', "line 2 is not JSON"),
        ("q.csv", 'question,options,answer\n"unclosed', "not valid CSV after line 1"),
        ("q.jsonl", "", "the file is empty"),
        ("q.json", '{"a": 1}', "expected a list of rows"),
        ("q.txt", "x", r"expected one of \.parquet"),
        ("q.csv", "question,answer\n?,A\n", "no column holds the options; set columns.options; the table has question, answer"),
        ("q.parquet", "x", "cannot be read as parquet"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_used_say_why(name: str, content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        loaded(tmp_path / name)


def test_a_folder_with_several_files_asks_for_one(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", ROWS)
    write(tmp_path, "b.jsonl", ROWS)
    with pytest.raises(ConfigError, match=r"several files \(a\.jsonl, b\.jsonl\)"):
        loaded(tmp_path)
    (tmp_path / "b.jsonl").rename(tmp_path / "b.csv")
    with pytest.raises(ConfigError, match=r"several files \(a\.jsonl, b\.csv\)"):
        loaded(tmp_path)
    with pytest.raises(DataError, match="no such file or folder"):
        loaded(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"columns\.question names 'ask'"):
        loaded(tmp_path / "a.jsonl", columns__question="ask")
    with pytest.raises(ConfigError, match="give --data FILE"):
        load_selected(api.configure("mcq"), lambda _: None)


def test_a_data_set_of_the_hub_is_loaded_by_its_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library takes a folder `organisation/name` for the data set of that name."""
    pytest.importorskip("datasets")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org" / "set" / "data").mkdir(parents=True)
    write(tmp_path / "org" / "set" / "data", "test-00000.parquet", ROWS)
    write(tmp_path / "org" / "set" / "data", "train-00000.parquet", ROWS[:1])
    config = [("data", "hf:org/set"), ("cache_dir", str(tmp_path / "cache"))]
    _, _, samples = load_selected(api.configure("mcq", config), lambda _: None)
    assert [sample.id for sample in samples] == ["q1", "q2"]
    _, _, samples = load_selected(api.configure("mcq", [*config, ("split", "train")]), lambda _: None)
    assert [sample.id for sample in samples] == ["q1"]
    with pytest.raises(ConfigError, match="no split 'tset'; set split to one of"):
        load_selected(api.configure("mcq", [*config, ("split", "tset")]), lambda _: None)
    with pytest.raises(DataError, match="hf:org/other: cannot be loaded"):
        load_selected(api.configure("mcq", [("data", "hf:org/other")]), lambda _: None)
