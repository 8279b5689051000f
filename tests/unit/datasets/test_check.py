"""A check finds what keeps a data set from being whole, and equal bytes have equal fingerprints."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from omnieval import api
from omnieval.datasets import check_data
from omnieval.datasets.file_facts import all_facts, file_facts
from omnieval.datasets.known import known_size
from omnieval.samples import sample_dir
from tests.command import omnieval, start
from tests.media_files import make_video, make_wav


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return Path(shutil.copytree(sample_dir("daily-omni"), tmp_path / "data"))


def change(data: Path, number: int, **fields: Any) -> None:
    table = json.loads((data / "qa.json").read_text())
    table[number].update(fields)
    (data / "qa.json").write_text(json.dumps(table))


def test_a_whole_part_has_no_problems(data: Path) -> None:
    found = check_data("daily-omni", data, part=True)
    assert (found.questions, found.videos, len(found.files), found.problems()) == (23, 8, 16, [])
    assert found.durations["video"].files == 8
    assert all(file.sha256 and file.bytes and file.problem is None for file in found.files)
    assert found.files[0].path.startswith("Videos/")


def test_half_a_data_set_is_not_whole(data: Path) -> None:
    found = check_data("daily-omni", data)
    assert found.problems() == ["23 rows, expected 1197", "8 videos, expected 684"]


def test_the_fingerprint_is_of_content_and_holds_that_of_a_run(data: Path, tmp_path: Path) -> None:
    first = check_data("daily-omni", data)
    run = api.run(
        "daily-omni",
        data=str(data),
        backend="chance",
        out=tmp_path / "run",
        cache_dir=str(tmp_path / "cache"),
    )
    assert run.info["dataset"]["fingerprint"] == first.questions_fingerprint
    moved = check_data("daily-omni", data.rename(tmp_path / "elsewhere"), workers=1)
    assert moved.fingerprint == first.fingerprint
    sound = next(moved.root.glob("Videos/*/*.wav"))
    content = bytearray(sound.read_bytes())
    content[len(content) // 4] ^= 1
    sound.write_bytes(content)
    changed = check_data("daily-omni", moved.root)
    assert changed.questions_fingerprint == first.questions_fingerprint
    assert changed.media_fingerprint != first.media_fingerprint
    assert changed.fingerprint != first.fingerprint


def test_rows_that_repeat_contradict_or_cannot_be_judged_are_named(data: Path) -> None:
    table = json.loads((data / "qa.json").read_text())
    table += [table[0], table[1] | {"Answer": "A"}, table[1] | {"Answer": "B"}]
    table += [table[2] | {"Question": "new", "Answer": "perhaps"}, {"video_id": "../x", "Question": "q"}]
    (data / "qa.json").write_text(json.dumps(table))
    found = check_data("daily-omni", data, part=True)
    assert (len(found.repeated), len(found.conflicting), len(found.without_answer)) == (3, 1, 1)
    assert len(found.unusable) == 1
    assert len(found.problems()) == 3


def test_missing_and_broken_media_are_named(data: Path) -> None:
    videos = sorted((data / "Videos").iterdir())
    shutil.rmtree(videos[0])
    (videos[1] / f"{videos[1].name}_video.mp4").write_bytes(b"not a video")
    whole = (videos[2] / f"{videos[2].name}_video.mp4").read_bytes()
    (videos[2] / f"{videos[2].name}_video.mp4").write_bytes(whole[: len(whole) - 200])
    (videos[3] / f"{videos[3].name}_audio.wav").write_bytes(b"")
    found = check_data("daily-omni", data, part=True)
    rows = json.loads((data / "qa.json").read_text())
    assert len(found.missing_media) == sum(row["video_id"] == videos[0].name for row in rows)
    assert len(found.broken) == 3
    problems = "\n".join(found.problems())
    assert f"{videos[1].name}_video.mp4: cannot be decoded" in problems
    assert f"{videos[3].name}_audio.wav: the file is empty" in problems


def test_a_file_that_lost_its_end_is_cut(tmp_path: Path) -> None:
    for path, keep in (
        (make_video(tmp_path / "v.mp4", seconds=2, container_options={"movflags": "faststart"}), 0.8),
        (make_wav(tmp_path / "a.wav", seconds=1), 0.9),
    ):
        assert file_facts(path).problem is None
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * keep)])
        problem = file_facts(path).problem
        assert problem is not None and "bytes are missing at its end" in problem


def test_lengths_that_do_not_fit_are_remarks(data: Path) -> None:
    change(data, 0, video_duration="60s")
    video = json.loads((data / "qa.json").read_text())[0]["video_id"]
    make_wav(data / "Videos" / video / f"{video}_audio.wav", seconds=1)
    found = check_data("daily-omni", data, part=True)
    assert found.problems() == []
    assert video in found.other_duration and found.other_sound_length == [video]
    assert any("not as long as" in line for line in found.remarks())


def test_a_file_that_kills_or_stops_the_decoder_costs_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker is a real process; a module beside it makes two of its files fatal."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, time, pathlib\n"
        "real = pathlib.Path.stat\n"
        "def stat(self, **more):\n"
        "    if self.name == 'crash.wav': os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    if self.name == 'hang.wav': time.sleep(60)\n"
        "    return real(self, **more)\n"
        "pathlib.Path.stat = stat\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    paths = [make_wav(tmp_path / f"{name}.wav", seconds=0.1) for name in ("a", "crash", "b", "hang", "c")]
    found = all_facts(paths, workers=2, time_limit_s=5)
    problems = [facts.problem for facts in found.values()]
    assert [problem is None for problem in problems] == [True, False, True, False, True]
    assert "crashes the decoder" in str(problems[1]) and "takes more than 5 s" in str(problems[3])


def test_video_mme_in_zip_archives_and_mcq_are_checked(tmp_path: Path) -> None:
    data = shutil.copytree(sample_dir("video-mme"), tmp_path / "data")
    zipped = check_data("video-mme", data, part=True)
    assert (zipped.problems(), zipped.questions, zipped.videos) == ([], 9, 3)
    assert any(".zip/" in file.path for file in zipped.files)
    for path in list(data.rglob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(data / "plain")
        path.unlink()
    plain = check_data("video-mme", data, part=True)
    assert not any(".zip/" in file.path for file in plain.files)
    assert plain.fingerprint == zipped.fingerprint
    pictures = check_data("mcq-pictures", sample_dir("mcq-pictures"))
    assert pictures.problems() == [] and pictures.expected is None and len(pictures.files) > 0


def test_seed_tts_lists_are_checked_together_on_the_command_line(tmp_path: Path) -> None:
    done = omnieval("data", "check", "seed-tts-en", sample_dir("seed-tts"), "--part", "--json")
    assert done.returncode == 0, done.stderr + done.stdout
    result = json.loads(done.stdout)
    assert result["problems"] == [] and result["questions"] > 0
    table = omnieval("data", "check", "seed-tts-en", sample_dir("seed-tts"))
    assert table.returncode == 3
    assert "expected 1088" in table.stdout and result["fingerprint"] in table.stdout


def test_all_lists_of_seed_tts_are_checked_in_a_tar(tmp_path: Path) -> None:
    sample, data = sample_dir("seed-tts"), tmp_path / "seedtts_testset"
    shutil.copytree(sample / "en", data / "en")
    shutil.copytree(sample / "en", data / "zh")
    voice = next((data / "zh" / "prompt-wavs").iterdir()).name
    for name in ("meta.lst", "hardcase.lst"):
        (data / "zh" / name).write_text(f"{name}1|今天天气很好|prompt-wavs/{voice}|我们去公园散步\n")
    archive = shutil.make_archive(str(tmp_path / "seedtts"), "tar", tmp_path, "seedtts_testset")
    plain, packed = (
        json.loads(omnieval("data", "check", "seed-tts", place, "--part", "--json").stdout)
        for place in (data, archive)
    )
    assert [result["recipe"] for result in plain] == ["seed-tts-en", "seed-tts-zh", "seed-tts-hard"]
    assert [result["problems"] for result in packed] == [[], [], []]
    assert [result["fingerprint"] for result in packed] == [result["fingerprint"] for result in plain]


def test_a_list_of_seed_tts_that_is_not_there_does_not_hide_the_others(tmp_path: Path) -> None:
    done = omnieval("data", "check", "seed-tts", sample_dir("seed-tts"), "--part", "--json")
    assert done.returncode == 3, done.stderr
    english, *others = json.loads(done.stdout)
    assert english["questions"] > 0 and english["problems"] == []
    assert [one["recipe"] for one in others] == ["seed-tts-zh", "seed-tts-hard"]
    assert all("expected zh/" in one["problems"][0] for one in others)
    table = omnieval("data", "check", "seed-tts", sample_dir("seed-tts"), "--part")
    assert table.returncode == 3 and "problem: seed-tts-zh: " in table.stdout
    nothing = omnieval("data", "check", "seed-tts", tmp_path)
    assert nothing.returncode == 3 and "expected en/meta.lst, found nothing" in nothing.stderr


def test_an_interrupted_check_ends_at_once_and_leaves_no_worker(data: Path) -> None:
    sound = next(data.glob("Videos/*/*.wav"))
    with sound.open("r+b") as file:
        file.truncate(200 * 2**30)  # sparse: takes no room, but minutes to read
    process = start("data", "check", "daily-omni", data)
    while not (workers := _children(process.pid)) or not any(_reads(w, sound) for w in workers):
        assert process.poll() is None
        time.sleep(0.01)  # watches another process
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert time.monotonic() - began < 10
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


def test_known_sizes_add_up() -> None:
    for benchmark in ("daily-omni", "video-mme"):
        known = known_size(benchmark, {})
        assert known is not None
        assert all(sum(counts.values()) == known.questions for counts in known.groups.values())
    settings = {"language": "zh", "utterances": "hardcase.lst"}
    assert known_size("seed-tts", settings) == known_size("seed-tts", settings | {"variant": "clone"})
    assert known_size("seed-tts", {"language": "zh", "utterances": "own.lst"}) is None


def test_no_worker_stays_behind(data: Path) -> None:
    before = _children()
    check_data("daily-omni", data, part=True)
    assert _children() == before


def _reads(process: int, path: Path) -> bool:
    with contextlib.suppress(OSError):
        return any(link.resolve() == path for link in Path(f"/proc/{process}/fd").iterdir())
    return False


def _children(process: int | None = None) -> set[int]:
    """Of all threads of a process."""
    tasks = Path(f"/proc/{process or os.getpid()}/task").glob("*/children")
    return {int(child) for task in tasks for child in task.read_text().split()}
