"""Zips and tars become plain files in a recipe's layout; hostile and damaged ones cost what they hold."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnieval.benchmarks.seed_tts_list import read_list
from omnieval.datasets import (
    check_data,
    convert_daily_omni,
    convert_seed_tts,
    convert_video_mme,
    daily_omni_to_parquet,
    unpack_daily_omni,
)
from omnieval.errors import DataError
from omnieval.media.source import begin_anew
from omnieval.samples import sample_dir
from tests.command import omnieval
from tests.daily_omni_parquet import written_qa


def names(folder: Path) -> set[str]:
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix() for path in found}


def tar(path: Path, members: dict[str, bytes], **fields: object) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for field, value in fields.items():
                setattr(info, field, value)
            archive.addfile(info, io.BytesIO(content))
    return path


def video_mme(folder: Path) -> Path:
    """The bundled sample: one plain video, two in a zip, subtitles in a zip."""
    return Path(shutil.copytree(sample_dir("video-mme"), folder))


def test_video_mme_becomes_a_flat_tree_with_the_same_content(tmp_path: Path) -> None:
    src, out = video_mme(tmp_path / "src"), tmp_path / "out"
    done = convert_video_mme(src, out)
    assert done.problems() == ["1 video has no subtitles: garden_06"] and done.rows == 9
    assert {name.split("/")[0] for name in names(out)} == {"video", "subtitle", "videomme"}
    assert len(list(out.glob("video/*.mp4"))) == 3
    before, after = (check_data("video-mme", data, part=True) for data in (src, out))
    assert after.problems() == [] and after.fingerprint == before.fingerprint
    again = convert_video_mme(src, out)
    assert (again.files_written, again.files_kept) == (0, len(names(out)))
    plain = src / "video" / "garden_06.mp4"
    assert (out / "video" / "garden_06.mp4").stat().st_ino == plain.stat().st_ino


def test_questions_whose_video_is_missing_are_listed(tmp_path: Path) -> None:
    src = video_mme(tmp_path / "src")
    (src / "video" / "garden_06.mp4").unlink()
    done = omnieval(
        "data", "convert", "video-mme", "--src", src, "--dst", tmp_path / "out", "--json", "--strict"
    )
    assert done.returncode == 3, done.stderr
    result = json.loads(done.stdout)
    assert result["missing_videos"] == ["garden_06"] and len(result["missing_questions"]) == 3
    assert omnieval("data", "convert", "video-mme", "--src", src, "--dst", tmp_path / "out").returncode == 0


def test_video_mme_in_tars_is_the_same_data_set_as_in_zips(tmp_path: Path) -> None:
    zips, tars = video_mme(tmp_path / "zips"), video_mme(tmp_path / "tars")
    for archive in tars.glob("*.zip"):
        with zipfile.ZipFile(archive) as opened:
            tar(archive.with_suffix(".tar"), {name: opened.read(name) for name in opened.namelist()})
        archive.unlink()
    first, second = (check_data("video-mme-subs", folder, part=True) for folder in (zips, tars))
    assert (second.problems(), second.fingerprint) == ([], first.fingerprint)
    unpacked = convert_video_mme(tars, tmp_path / "out")
    assert unpacked.problems() == convert_video_mme(zips, tmp_path / "other").problems()
    assert names(tmp_path / "out") == names(tmp_path / "other")


def test_a_damaged_member_is_named_and_the_others_are_taken(tmp_path: Path) -> None:
    src = video_mme(tmp_path / "src")
    archive = src / "videos_chunked_01.zip"
    with zipfile.ZipFile(archive) as opened:
        info = opened.infolist()[-1]
    content = bytearray(archive.read_bytes())
    content[info.header_offset + 1000] ^= 0xFF
    archive.write_bytes(content)
    done = convert_video_mme(src, tmp_path / "out")
    assert len(done.damaged) == 1 and "is damaged" in done.damaged[0]
    assert len(list((tmp_path / "out" / "video").iterdir())) == 2
    assert not list((tmp_path / "out").rglob(".*.part"))


def test_an_archive_that_cannot_be_used_is_a_problem(tmp_path: Path) -> None:
    src = video_mme(tmp_path / "src")
    with zipfile.ZipFile(src / "videos_chunked_02.zip", "w") as archive:
        archive.writestr("../../outside.mp4", b"x")
    done = convert_video_mme(src, tmp_path / "out")
    assert any("leads outside" in line for line in done.problems())
    assert not (tmp_path / "outside.mp4").exists()


def test_the_seed_tts_tar_becomes_its_folder(tmp_path: Path) -> None:
    sample = sample_dir("seed-tts")
    members = {f"seedtts_testset/{name}": (sample / name).read_bytes() for name in names(sample)}
    members["seedtts_testset/zh/meta.lst"] = "u1|提示|prompt-wavs/p.wav|文本\n".encode()
    members["seedtts_testset/zh/prompt-wavs/p.wav"] = b"RIFF"
    lines = len(read_list(sample / "en" / "meta.lst").lines)
    (tmp_path / "src").mkdir()
    archive = tar(tmp_path / "src" / "seedtts_testset.tar", members)
    for src, out in ((archive, tmp_path / "a"), (tmp_path / "src", tmp_path / "b")):
        done = convert_seed_tts(src, out)
        assert done.problems() == [] and done.rows == lines + 1
        expected = {name.removeprefix("seedtts_testset/") for name in members}
        assert names(out) == {name for name in expected if name.startswith(("en/", "zh/"))}
        assert (out / "zh/meta.lst").read_bytes() == members["seedtts_testset/zh/meta.lst"]
    assert convert_seed_tts(archive, tmp_path / "a").files_written == 0
    plain = convert_seed_tts(tmp_path / "a", tmp_path / "c")
    assert names(tmp_path / "c") == names(tmp_path / "a") and plain.rows == lines + 1
    checked = [check_data("seed-tts-en", place, part=True) for place in (tmp_path / "c", tmp_path / "src")]
    original = check_data("seed-tts-en", sample, part=True)
    assert [one.fingerprint for one in checked] == [original.fingerprint] * 2


def test_what_is_wrong_with_a_list_is_told(tmp_path: Path) -> None:
    members = {"en/meta.lst": b"a|b\nc\na|d\n", "zh/meta.lst": b"", "zh/hardcase.lst": b"no fields\n"}
    done = convert_seed_tts(tar(tmp_path / "a.tar", members), tmp_path / "out")
    told = "\n".join(done.problems())
    assert done.rows == 3
    assert (
        "en/meta.lst: line 2 has one field" in told and "en/meta.lst: ids that come more than once: a" in told
    )
    assert "zh/meta.lst: the file is empty" in told and "zh/hardcase.lst: no line in the form" in told


def test_tables_of_another_data_set_are_no_video_mme(tmp_path: Path) -> None:
    daily_omni_to_parquet(sample_dir("daily-omni"), tmp_path / "release")
    for src in (tmp_path / "release", sample_dir("daily-omni") / "qa.json"):
        with pytest.raises(DataError, match="expected the columns question, options, answer, found"):
            convert_video_mme(src, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_no_seed_tts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no such file or folder; --src names seedtts_testset\.tar"):
        convert_seed_tts(tmp_path / "none", tmp_path / "out")
    with pytest.raises(DataError, match=r"no en/meta\.lst"):
        convert_seed_tts(tar(tmp_path / "a.tar", {"en/x.wav": b"1"}), tmp_path / "out")


def test_seed_tts_as_arrow_tables_is_refused_with_where_the_official_layout_is(tmp_path: Path) -> None:
    (tmp_path / "arrow" / "en").mkdir(parents=True)
    (tmp_path / "arrow" / "en" / "data-00000-of-00001.arrow").write_bytes(b"ARROW1")
    said = r"found a copy as Arrow tables, which is not read; fetch the official layout: omnieval data pull seed-tts"
    with pytest.raises(DataError, match=said):
        convert_seed_tts(tmp_path / "arrow", tmp_path / "out")
    with pytest.raises(DataError, match=rf"expected en/meta.lst, {said}"):
        check_data("seed-tts-en", tmp_path / "arrow")


@pytest.mark.parametrize(
    ("name", "fields", "problem"),
    [
        ("en/../../x.lst", {}, "leads outside"),
        ("/en/x.lst", {}, "absolute name"),
        ("en/x.lst", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd", "size": 0}, "is a link"),
        ("en/x.lst", {"type": tarfile.LNKTYPE, "linkname": "en/meta.lst", "size": 0}, "is a link"),
        ("en/x.lst", {"type": tarfile.CHRTYPE, "size": 0}, "a device"),
        ("en/META.lst", {}, "collides"),
    ],
)
def test_a_hostile_tar_writes_nothing(
    name: str, fields: dict[str, object], problem: str, tmp_path: Path
) -> None:
    path = tar(tmp_path / "a.tar", {"en/meta.lst": b"a|b\n"})
    info = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(info, field, value)
    with tarfile.open(path, "a") as archive:
        archive.addfile(info)
    with pytest.raises(DataError, match=problem):
        convert_seed_tts(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_name_that_is_not_utf8_is_left_out_and_named(tmp_path: Path) -> None:
    members = {"en/meta.lst": b"a|b\n", b"en/\xff\xfe.wav".decode(errors="surrogateescape"): b"RIFF"}
    done = convert_seed_tts(tar(tmp_path / "a.tar", members), tmp_path / "out")
    assert names(tmp_path / "out") == {"en/meta.lst"}
    assert done.problems() == [r"1 name is not taken: en/\udcff\udcfe.wav"]


def test_one_content_under_many_names_is_a_bomb(tmp_path: Path) -> None:
    """A zip whose directory lists one member many times under other names."""
    src = video_mme(tmp_path / "src")
    (src / "video" / "garden_06.mp4").unlink()
    path = src / "videos_chunked_09.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/garden_06.mp4", bytes(150) * 2000)
        info = archive.infolist()[0]
        for number in range(900):
            twin = zipfile.ZipInfo(f"data/x{number}.mp4")
            for field in ("CRC", "compress_size", "file_size", "compress_type", "header_offset", "flag_bits"):
                setattr(twin, field, getattr(info, field))
            archive.filelist.append(twin)
    begin_anew()
    done = convert_video_mme(src, tmp_path / "out")
    assert any("like a bomb" in line for line in done.problems())
    assert not (tmp_path / "out" / "video" / "garden_06.mp4").exists()


def test_the_official_tar_of_daily_omni_becomes_its_layout(tmp_path: Path) -> None:
    sample = sample_dir("daily-omni")
    src = tmp_path / "src"
    src.mkdir()
    shutil.copy(sample / "qa.json", src)
    tar(
        src / "Videos.tar", {name: (sample / name).read_bytes() for name in names(sample) if "Videos" in name}
    )
    done = unpack_daily_omni(src, tmp_path / "out")
    assert done.problems() == [] and done.rows == 23
    checked = check_data("daily-omni", tmp_path / "out", part=True)
    assert checked.problems() == []
    assert checked.fingerprint == check_data("daily-omni", sample, part=True).fingerprint
    packed = check_data("daily-omni", src, part=True)
    assert (packed.problems(), packed.fingerprint) == ([], checked.fingerprint)
    assert all(file.path.startswith("Videos.tar/Videos/") for file in packed.files)
    command = ["data", "convert", "daily-omni", "--src", src, "--dst", tmp_path / "out"]
    assert "0 files written (0.0 MB), 17 there before" in omnieval(*command).stdout
    tar(src / "Videos.tar", {"Videos/race_07/race_07_video.mp4": b"x"})
    begin_anew()
    assert len(unpack_daily_omni(src, tmp_path / "part").missing_videos) == 7


def test_a_published_release_comes_back_as_it_was(tmp_path: Path) -> None:
    sample = sample_dir("daily-omni")
    done = daily_omni_to_parquet(sample, tmp_path / "release", shard_bytes=1_500_000)
    shards = sorted((tmp_path / "release" / "data").iterdir())
    assert len(shards) > 1 and done.rows == 23
    assert shards[0].name == f"test-00000-of-{len(shards):05}.parquet"
    schema = pq.read_schema(shards[0])
    assert schema.field("video").type == pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    back = convert_daily_omni(tmp_path / "release", tmp_path / "back")
    assert back.problems() == []
    first, second = (json.loads((d / "qa.json").read_text()) for d in (sample, tmp_path / "back"))
    keys = ("Question", "Choice", "Answer", "video_id", "Type", "video_duration")
    assert [[row.get(k) for k in keys] for row in first] == [[row.get(k) for k in keys] for row in second]
    fingerprints = [check_data("daily-omni", d, part=True).fingerprint for d in (sample, tmp_path / "back")]
    assert fingerprints[0] == fingerprints[1]
    assert len(written_qa(tmp_path / "back")) == 23
    packed = tmp_path / "packed"
    packed.mkdir()
    shutil.copy(sample / "qa.json", packed)
    tar(packed / "Videos.tar", {n: (sample / n).read_bytes() for n in names(sample) if "Videos" in n})
    daily_omni_to_parquet(packed, tmp_path / "again", shard_bytes=1_500_000)
    assert all((tmp_path / "again" / "data" / path.name).read_bytes() == path.read_bytes() for path in shards)


def test_no_files_of_another_release_stay_beside_a_published_one(tmp_path: Path) -> None:
    sample, data = sample_dir("daily-omni"), tmp_path / "release" / "data"
    daily_omni_to_parquet(sample, tmp_path / "release", shard_bytes=1_500_000)
    assert len(list(data.iterdir())) > 1
    daily_omni_to_parquet(sample, tmp_path / "release")
    assert [path.name for path in data.iterdir()] == ["test-00000-of-00001.parquet"]
    (data / "test-00000-of-00003.parquet").touch()
    with pytest.raises(DataError, match=r"holds files of another release \(test-00000-of-00003.parquet\)"):
        daily_omni_to_parquet(sample, tmp_path / "release")
    assert (data / "test-00000-of-00003.parquet").exists()


def test_a_row_without_its_video_is_not_published(tmp_path: Path) -> None:
    data = Path(shutil.copytree(sample_dir("daily-omni"), tmp_path / "data"))
    shutil.rmtree(data / "Videos" / "race_07")
    done = omnieval(
        "data", "convert", "daily-omni", "--to", "parquet", "--src", data, "--dst", tmp_path / "out"
    )
    assert done.returncode == 3
    assert "video race_07 has no file" in done.stderr


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    for arguments, told in (
        (("video-mme", "--to", "parquet"), "daily-omni also to parquet"),
        (("seed-tts", "--probe-duration"), "are for daily-omni from parquet"),
        (("daily-omi",), "did you mean 'daily-omni'"),
    ):
        done = omnieval("data", "convert", *arguments, "--src", tmp_path, "--dst", tmp_path)
        assert done.returncode == 2 and told in done.stderr
