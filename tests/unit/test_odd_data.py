"""Files and rows that no one should have made: one clear error, or a fault of the row, and never a traceback."""

from __future__ import annotations

import json
import os
import shutil
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
from omnieval.errors import ConfigError, DataError, MediaError, StorageError
from omnieval.types import MediaPart, PreparedMedia, Sample
from tests.command import omnieval
from tests.media_files import make_wav

ROW = {"question": "Which?", "options": ["red", "green"], "answer": "A"}


def written(folder: Path, *rows: Any, name: str = "q.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def table(folder: Path, name: str, *rows: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), folder / name)
    return folder / name


def loaded(data: Path, **settings: Any) -> tuple[Benchmark, Dataset, list[Sample]]:
    return load_selected(api.configure("mcq", [("data", str(data)), *settings.items()]), lambda _: None)


def carried(data: Path, **settings: Any) -> list[MediaPart]:
    """The media of the first row's request, as far as they need no preparation."""
    benchmark, _, chosen = loaded(data, **settings)
    assert benchmark.plan(chosen[0]) is None
    parts = benchmark.pack(chosen[0], PreparedMedia()).messages[-1].parts
    return [part for part in parts if isinstance(part, MediaPart)]


@pytest.mark.parametrize("name", ["x" * 300 + ".png", "a/" * 3000 + "i.png", "x" * 300 + ".zip/i.png"])
def test_a_name_longer_than_any_file_system_takes_is_a_missing_file(name: str, tmp_path: Path) -> None:
    benchmark, dataset, (sample,) = loaded(written(tmp_path, ROW | {"image": name}))
    assert "1 media file is not there" in dataset.notes[0]
    with pytest.raises(MediaError, match="no such file") as caught:
        benchmark.plan(sample)
    assert caught.value.kind == "media_missing"


def test_links_in_a_circle_are_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "i.png").symlink_to("j.png")
    (tmp_path / "j.png").symlink_to("i.png")
    benchmark, _, (sample,) = loaded(written(tmp_path, ROW | {"image": "i.png"}))
    with pytest.raises(MediaError, match="no such file"):
        benchmark.plan(sample)


@pytest.mark.parametrize("content", ["abc", 10**12, [1, 2], {"a": 1}])
def test_bytes_that_are_none_are_a_fault_of_the_row(content: Any, tmp_path: Path) -> None:
    (sample,) = loaded(written(tmp_path, ROW | {"image": {"bytes": content}}))[2]
    assert sample.problem is not None
    assert f"row 1: image-1 has bytes of the type {type(content).__name__}" in sample.problem.message


NESTED = "[" * 100_000 + "]" * 100_000
DIGITS = '{"question": ' + "1" * 5000 + "}"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.json", NESTED, r"q\.json: JSON that is nested too deep; mend it"),
        ("q.jsonl", "{}\n" + NESTED, r"q\.jsonl: line 2 is JSON that is nested too deep; mend the line"),
        ("q.json", f"[{DIGITS}]", r"q\.json: JSON with a number of too many digits; mend it"),
        ("q.jsonl", DIGITS, r"line 1 is JSON with a number of too many digits"),
        ("q.jsonl", "\n\n", r"the file is empty"),
        ("q.json", "[]", r"the file holds no rows; fetch the data set again, or name another with --data"),
        ("q.json", '{"a": [], "b": []}', r"found several lists \(a, b\); put the rows into a list, or one a line"),
        ("q.json", '"x"', r"expected a list of rows, found str; put the rows into a list"),
        ("q.jsonl.gz", "x", r"found \.gz; unpack, convert or rename it"),
    ],
)  # fmt: skip
def test_hostile_json_is_one_error_with_a_next_step(
    name: str, content: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        loaded(tmp_path / name)


def test_text_in_another_encoding_says_how_to_mend_it(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_bytes('question,options,answer\n问题,"a\nb",A\n'.encode("gb18030"))
    with pytest.raises(DataError, match=r"not UTF-8 text .*; save it as UTF-8, for example with `iconv"):
        loaded(tmp_path / "q.csv")


def test_a_cache_that_is_no_folder_is_a_storage_error(tmp_path: Path) -> None:
    path = table(tmp_path, "q.parquet", ROW | {"image": {"bytes": b"\x89PNG", "path": None}})
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(StorageError, match=r"cache: the media cache cannot be written: .*--cache-dir"):
        loaded(path, cache_dir=str(tmp_path / "cache"))
    with pytest.raises(StorageError, match="cannot be written"):
        loaded(path, cache_dir="/proc/nowhere")


def snapshot(folder: Path, files: dict[str, bytes]) -> Path:
    """A data set as the hub's cache holds it: links in a snapshot to nameless files."""
    repository = folder / "datasets--org--set"
    (repository / "blobs").mkdir(parents=True)
    for i, (name, content) in enumerate(files.items()):
        (repository / "blobs" / f"{i:064x}").write_bytes(content)
        link = repository / "snapshots" / "abc" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(repository / "blobs" / f"{i:064x}", link.parent))
    return repository / "snapshots" / "abc"


def test_a_snapshot_of_the_hubs_cache_is_a_folder_like_any_other(tmp_path: Path) -> None:
    make_wav(tmp_path / "a.wav", seconds=1)
    Image.new("RGB", (8, 8)).save(tmp_path / "i.png")
    row = json.dumps(ROW | {"audio": "clips/a.wav", "image": "i.png"})
    sounds, picture = (tmp_path / "a.wav").read_bytes(), (tmp_path / "i.png").read_bytes()
    place = snapshot(tmp_path, {"q.jsonl": row.encode(), "clips/a.wav": sounds, "i.png": picture})
    for data in (place, place / "q.jsonl", place.parent.parent):
        image, audio = carried(data, sound="original")
        assert (image.mime, audio.mime) == ("image/png", "audio/wav")
        assert (image.path.read_bytes(), audio.path.read_bytes()) == (picture, sounds)
    benchmark, dataset, _ = loaded(place)
    assert place.parent.parent / "blobs" in benchmark.media_folders(dataset, tmp_path)


def test_a_link_out_of_a_snapshot_is_still_refused(tmp_path: Path) -> None:
    place = snapshot(tmp_path, {"q.jsonl": json.dumps(ROW | {"image": "i.png"}).encode()})
    (tmp_path / "secret.png").write_bytes(b"x")
    (place / "i.png").symlink_to(tmp_path / "secret.png")
    (sample,) = loaded(place)[2]
    assert sample.problem is not None
    assert "lies outside" in sample.problem.message


@pytest.mark.parametrize("archive", ["media.zip", "media.ZIP"])
def test_pictures_and_sounds_in_an_archive_go_out_as_they_are(archive: str, tmp_path: Path) -> None:
    make_wav(tmp_path / "a.wav", seconds=1)
    Image.new("RGB", (8, 8)).save(tmp_path / "i.png")
    data = tmp_path / "data"
    data.mkdir()
    with zipfile.ZipFile(data / archive, "w") as opened:
        opened.write(tmp_path / "a.wav", "s/a.wav")
        opened.write(tmp_path / "i.png", "i.PNG")
        opened.writestr("text.png", "no picture")
        opened.writestr("text.wav", "no sound")
    row = ROW | {"image": f"{archive}/i.PNG", "audio": [f"{archive}/s/a.wav", f"{archive}/s/a.wav"]}
    cache = str(tmp_path / "cache")
    image, *sounds = carried(written(data, row), sound="original", cache_dir=cache)
    assert image.path.read_bytes() == (tmp_path / "i.png").read_bytes()
    assert image.mime == "image/png"
    assert [sound.path.read_bytes() for sound in sounds] == [(tmp_path / "a.wav").read_bytes()] * 2
    assert all(part.path.is_relative_to(cache) for part in (image, *sounds))
    made = sorted(Path(cache).rglob("*"))
    carried(data / "q.jsonl", sound="original", cache_dir=cache)
    assert sorted(Path(cache).rglob("*")) == made
    for column, name in (("image", "text.png"), ("audio", "text.wav")):
        with pytest.raises(MediaError, match=rf"{archive}/{name}: "):
            carried(written(data, ROW | {column: f"{archive}/{name}"}), sound="original", cache_dir=cache)
    _, dataset, _ = loaded(written(data, ROW | {"image": f"{archive}/none.png"}), cache_dir=cache)
    assert "1 media file is not there, for example none.png" in dataset.notes[0]


def test_the_usual_layout_of_a_hub_is_read_from_its_tables(tmp_path: Path) -> None:
    (tmp_path / "dataset_infos.json").write_text(json.dumps({"default": {"splits": [1, 2]}}))
    table(tmp_path / "data", "test-00000-of-00002.parquet", ROW | {"id": "a"})
    table(tmp_path / "data", "test-00001-of-00002-0a1b2c.parquet", ROW | {"id": "b"})
    assert [sample.id for sample in loaded(tmp_path)[2]] == ["a", "b"]
    table(tmp_path / "data", "train-00000-of-00001.parquet", ROW | {"id": "c"})
    assert [sample.id for sample in loaded(tmp_path)[2]] == ["a", "b"]
    assert [sample.id for sample in loaded(tmp_path, split="train")[2]] == ["c"]
    with pytest.raises(ConfigError, match="no split 'dev'; set split to one of test, train"):
        loaded(tmp_path, split="dev")
    for path in (tmp_path / "data").glob("test*"):
        path.rename(path.with_name(path.name.replace("test", "dev")))
    with pytest.raises(ConfigError, match="several splits; set split to one of dev, train"):
        loaded(tmp_path)


def test_a_folder_of_nothing_but_metadata_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "dataset_infos.json").write_text("{}")
    with pytest.raises(
        DataError, match=r"no file with rows in it or in its folder data; .*name it with --data"
    ):
        loaded(tmp_path)


def test_options_of_the_same_text_are_noted(tmp_path: Path) -> None:
    same = ROW | {"id": "q", "options": ["A. red", "B. red"]}
    (note,) = loaded(written(tmp_path, same, ROW))[1].notes
    assert note.startswith("1 row has options of the same text")
    assert note.endswith(": q")


def test_rows_are_counted_from_one(tmp_path: Path) -> None:
    samples = loaded(written(tmp_path, ROW, ROW | {"question": ""}))[2]
    assert samples[1].problem is not None
    assert samples[1].problem.message == "row 2 has no question"
    assert samples[1].id.startswith("row2-")


def replaced_archive(folder: Path) -> Path:
    """A set with a picture in an archive; what comes back is another archive to put in its place."""
    for name, colour in (("media.zip", "red"), ("other.zip", "blue")):
        Image.new("RGB", (8, 8), colour).save(folder / "i.png")
        with zipfile.ZipFile(folder / name, "w") as opened:
            opened.write(folder / "i.png", "i.png")
            opened.writestr("more", colour * 10)
    written(folder, ROW | {"image": "media.zip/i.png"})
    return folder / "other.zip"


def test_an_archive_that_is_replaced_during_a_run_is_not_used(tmp_path: Path) -> None:
    other = replaced_archive(tmp_path)
    settings = [("data", str(tmp_path / "q.jsonl")), ("cache_dir", str(tmp_path / "cache"))]
    benchmark, _, (sample,) = load_selected(api.configure("mcq", settings), lambda _: None)
    benchmark.pack(sample, PreparedMedia())
    shutil.move(other, tmp_path / "media.zip")
    for use in (lambda: benchmark.plan(sample), lambda: benchmark.pack(sample, PreparedMedia())):
        with pytest.raises(
            MediaError, match=r"media\.zip: the archive changed since the run began; .*new run"
        ):
            use()
    (image,) = carried(tmp_path / "q.jsonl", cache_dir=str(tmp_path / "cache"))
    assert Image.open(image.path).getpixel((0, 0)) == (0, 0, 255)


def test_a_set_of_broken_rows_says_what_is_wrong_with_them(tmp_path: Path) -> None:
    path = written(tmp_path, ROW | {"image": {"bytes": "x"}}, ROW | {"question": ""})
    with pytest.raises(
        DataError, match=r"row 1: image-1 has bytes of the type str, .*; row 2 has no question"
    ):
        api.run("mcq", data=path, backend="chance", out=tmp_path / "run", cache_dir=tmp_path / "cache")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "question,options,answer,answer\n?,x,A,B\n",
            "several columns are called answer; rename all but one",
        ),
        (
            'question,option_a,option_b,answer\n"?\n",x,y,A\n?,x, or z,y,A\n',
            "line 4 has more fields than the first line names; put fields that hold a comma between quotation marks",
        ),
    ],
)
def test_a_csv_of_which_columns_are_unsure_is_an_error(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(content)
    with pytest.raises(DataError, match=rf"q\.csv: {message}"):
        loaded(tmp_path / "q.csv")


def test_columns_of_one_name_in_a_parquet_file_are_an_error(tmp_path: Path) -> None:
    columns = [pa.array([text]) for text in ("?", "x", "y", "A", "B")]
    twice = pa.Table.from_arrays(columns, names=["question", "option_a", "option_b", "answer", "answer"])
    pq.write_table(twice, tmp_path / "q.parquet")
    with pytest.raises(DataError, match="several columns are called answer"):
        loaded(tmp_path / "q.parquet")


def test_empty_fields_at_the_end_of_a_csv_line_are_no_columns(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,option_a,option_b,answer\n?,x,y,A,, \n")
    assert loaded(tmp_path / "q.csv")[2][0].gold == "A"


def test_a_table_in_utf16_is_read(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_bytes("question\toption_a\toption_b\tanswer\n哪个\tx\ty\tA\n".encode("utf-16"))
    assert loaded(tmp_path / "q.tsv")[2][0].question == "哪个"


@pytest.mark.parametrize("question", [["x"], {"text": "x"}])
def test_a_question_that_is_no_text_is_a_fault_of_the_row(question: Any, tmp_path: Path) -> None:
    (sample,) = loaded(written(tmp_path, ROW | {"question": question}))[2]
    assert sample.problem is not None
    assert (
        f"row 1 has a question of the type {type(question).__name__}, expected text" in sample.problem.message
    )


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"A": "x", "B": ["y"]}, ()),
        ("['red', 'green']", ("red", "green")),
        ("['it\\'s', \"o\"]", ("it's", "o")),
        ("['red' 'green']", ("redgreen",)),
        ("[__import__('os').getcwd(), 'x']", ()),
        ("[" * 100_000, ()),
    ],
)
def test_lists_written_out_are_options_and_nested_ones_are_not(
    options: Any, shown: tuple[str, ...], tmp_path: Path
) -> None:
    (sample,) = loaded(written(tmp_path, ROW | {"options": options}))[2]
    assert sample.options == shown
    assert (sample.problem is None) == (len(shown) > 1)


@pytest.mark.parametrize(("answer", "kind", "gold"), [(1.0, "auto", "B"), ("1.0", "auto", "B"), (1.0, "index1", "A"), (1.5, "auto", None)])  # fmt: skip
def test_an_index_may_come_as_a_number_with_a_point(
    answer: Any, kind: str, gold: str | None, tmp_path: Path
) -> None:
    assert loaded(written(tmp_path, ROW | {"answer": answer}), answer_is=kind)[2][0].gold == gold


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "gif", "bmp"])
def test_a_picture_that_lost_its_end_is_refused(suffix: str, tmp_path: Path) -> None:
    Image.effect_noise((64, 64), 50).convert("RGB").save(tmp_path / f"i.{suffix}")
    path = written(tmp_path, ROW | {"image": f"i.{suffix}"})
    assert len(carried(path)) == 1
    whole = (tmp_path / f"i.{suffix}").read_bytes()
    (tmp_path / f"i.{suffix}").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(MediaError, match=rf"i\.{suffix}: cannot be read as a picture"):
        carried(path)


def test_rows_without_media_among_rows_with_them_are_noted(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "i.png")
    rows = [ROW | {"id": f"q{i}", "image": "i.png" if i else "", "question": f"{i}?"} for i in range(3)]
    (note,) = loaded(written(tmp_path, *rows))[1].notes
    assert note == "1 of 3 rows is asked without media, having none: q0"


def test_the_one_id_that_comes_twice_in_a_large_table_is_named(tmp_path: Path) -> None:
    rows = [ROW | {"id": f"q{i}", "question": f"{i}?"} for i in range(15_000)] + [ROW | {"id": "q7"}]
    (note,) = loaded(written(tmp_path, *rows))[1].notes
    assert note == "ids that come more than once, each asked and counted: q7"


def test_what_a_desktop_leaves_beside_the_rows_is_passed_over(tmp_path: Path) -> None:
    written(tmp_path, ROW)
    written(tmp_path, ROW, name="._q.jsonl")
    assert len(loaded(tmp_path)[2]) == 1


def test_a_split_of_rows_that_have_none_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, ROW)
    for data in (path, tmp_path):
        with pytest.raises(ConfigError, match=r"split='dev' was asked for, but .*q\.jsonl has no splits"):
            loaded(data, split="dev")


def test_a_path_that_no_file_system_takes_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        loaded(tmp_path / ("x" * 300))
    done = omnieval("run", "mcq", "--data", tmp_path, "--out", tmp_path / ("y" * 300), "--backend", "chance")
    assert done.returncode == 3
    written(tmp_path, ROW)
    done = omnieval("score", tmp_path / ("y" * 300))
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ")
    done = omnieval("run", tmp_path / ("z" * 300 + ".yaml"))
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("File name too long; check the path")


def test_pictures_as_bare_bytes_and_options_as_a_map_of_a_parquet_file_are_read(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "i.png")
    content = (tmp_path / "i.png").read_bytes()
    options = pa.array([[("A", "red"), ("B", "green")]] * 2, pa.map_(pa.string(), pa.string()))
    columns = {"question": ["?", "??"], "options": options, "answer": ["B", "A"], "image": [content, b""]}
    pq.write_table(pa.table(columns), tmp_path / "q.parquet")
    (image,) = carried(tmp_path / "q.parquet", cache_dir=str(tmp_path / "cache"))
    assert image.path.read_bytes() == content
    first, second = loaded(tmp_path / "q.parquet", cache_dir=str(tmp_path / "cache"))[2]
    assert first.options == ("A. red", "B. green")
    assert second.media == {}


@pytest.mark.parametrize("options", [[{"key": "A"}, {"key": "B"}], {"1": "x", "2": "y"}, 5, "[x"])
def test_options_in_no_known_form_are_called_so(options: Any, tmp_path: Path) -> None:
    (sample,) = loaded(written(tmp_path, ROW | {"options": options}))[2]
    assert sample.problem is not None
    assert f"has options in no known form ({type(options).__name__})" in sample.problem.message


def test_blanks_around_the_names_in_a_header_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question , option_a, option_b, answer\n?,x,y,B\n")
    assert loaded(tmp_path / "q.csv")[2][0].gold == "B"
