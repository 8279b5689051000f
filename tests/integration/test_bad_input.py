"""Whatever is wrong with data, disk or settings: one clear error for the run, or one failure a sample."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omnieval.samples import sample_dir
from tests.command import lines, omnieval, report
from tests.faults.server import FaultServer


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A copy of the bundled sample that a test may damage."""
    folder = tmp_path / "data"
    shutil.copytree(sample_dir("daily-omni"), folder)
    return folder


def run(
    data: Path, server: FaultServer, cache: Path, out: Path, *more: str
) -> subprocess.CompletedProcess[str]:
    return omnieval(
        "run", "daily-omni", "--data", data, "--base-url", server.base_url, "--cache-dir", cache,
        "--out", out, *more,
    )  # fmt: skip


def counts(directory: Path) -> dict[str, int]:
    return {line["label"]: line["count"] for line in report(directory)["accounting"]}


def media_of(data: Path, video_id: str) -> tuple[Path, Path]:
    folder = data / "Videos" / video_id
    return folder / f"{video_id}_video.mp4", folder / f"{video_id}_audio.wav"


def questions_of(data: Path, *video_ids: str) -> int:
    rows = json.loads((data / "qa.json").read_text())
    return sum(row["video_id"] in video_ids for row in rows)


def test_damaged_media_cost_their_own_questions_and_the_rows_add_up(
    data: Path, server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    empty, _ = media_of(data, "kitchen_01")
    empty.write_bytes(b"")
    truncated, _ = media_of(data, "harbour_02")
    truncated.write_bytes(truncated.read_bytes()[: truncated.stat().st_size * 6 // 10])
    text, _ = media_of(data, "market_03")
    text.write_text("this is not a video")
    missing, _ = media_of(data, "garden_06")
    missing.unlink()
    _, empty_wav = media_of(data, "race_07")
    empty_wav.write_bytes(b"")
    _, no_wav = media_of(data, "door_08")
    no_wav.unlink()

    done = run(data, server, cache_dir, tmp_path / "run")

    assert done.returncode == 0, done.stderr
    broken = questions_of(data, "kitchen_01", "harbour_02", "market_03", "race_07")
    absent = questions_of(data, "garden_06")
    outcome = counts(tmp_path / "run")
    assert outcome["failed: media"] == broken
    assert outcome["failed: media_missing"] == absent
    assert sum(outcome.values()) == len(json.loads((data / "qa.json").read_text()))
    content = report(tmp_path / "run")
    assert content["strict"]["total"] == sum(outcome.values())
    assert content["official"]["total"] == content["strict"]["total"] - broken - questions_of(
        data, "garden_06"
    )
    by_sample = {line["sample_id"]: line for line in lines(tmp_path / "run" / "responses.jsonl")}
    messages = [line["error"]["message"] for line in by_sample.values() if line["error"]]
    for path in (empty, truncated, text, empty_wav):
        assert any(str(path) in message for message in messages), path
    assert any("1 video has no WAV" in note for note in content["notes"])


def test_a_video_without_any_sound_fails_under_all_and_is_asked_under_visual(
    server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    folder = data / "Videos" / "v"
    folder.mkdir(parents=True)
    silent_video(folder / "v_video.mp4")
    row = {"video_id": "v", "Question": "?", "Choice": ["A. x", "B. y"], "Answer": "A"}
    (data / "qa.json").write_text(json.dumps([row]))

    nothing = run(data, server, cache_dir, tmp_path / "all")
    assert nothing.returncode == 1
    assert "every sample failed" in nothing.stderr
    assert counts(tmp_path / "all")["failed: media"] == 1
    assert "no audio track" in report(tmp_path / "all")["failures"][0]["message"]

    visual = run(data, server, cache_dir, tmp_path / "visual", "--set", "input_mode=visual")
    assert visual.returncode == 0
    assert report(tmp_path / "visual")["official"]["total"] == 1
    kinds = [part["type"] for part in server.requests[-1]["messages"][-1]["content"]]
    assert set(kinds) == {"image_url", "text"}


def silent_video(path: Path) -> None:
    import av
    import numpy as np

    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for shade in range(20):
            picture = np.full((48, 64, 3), shade * 10, dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))


def test_bad_rows_are_counted_and_strange_ids_are_no_paths(
    data: Path, server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    rows: list[Any] = json.loads((data / "qa.json").read_text())[:2]
    good = dict(rows[0])
    secret = tmp_path / "secret"
    secret.mkdir()
    shutil.copy(media_of(data, "kitchen_01")[0], secret / "secret_video.mp4")
    for odd in ("naïve clip 映像", "x" * 5000):
        rows.append(good | {"video_id": odd})
    spaced = data / "Videos" / "naïve clip 映像"
    spaced.mkdir()
    for source, suffix in zip(media_of(data, "kitchen_01"), ("_video.mp4", "_audio.wav"), strict=True):
        shutil.copy(source, spaced / f"naïve clip 映像{suffix}")
    rows += [good | {"video_id": "../../secret"}, good | {"video_id": ""}, "not a row", {}]
    rows += [{k: v for k, v in good.items() if k != key} for key in ("Question", "Choice", "Answer")]
    rows.append(good)
    (data / "qa.json").write_text(json.dumps(rows))

    done = run(data, server, cache_dir, tmp_path / "run")

    assert done.returncode == 0, done.stderr
    outcome = counts(tmp_path / "run")
    assert sum(outcome.values()) == len(rows)
    assert outcome["failed: data"] == 6
    assert outcome["failed: media_missing"] == 1
    assert outcome["no usable answer in the data set"] == 1
    answered = outcome["answered, correct"] + outcome["answered, wrong"]
    assert answered == 4  # two good rows, one with a strange name, one repeated
    assert any("repeat" in note for note in report(tmp_path / "run")["notes"])


@pytest.mark.parametrize(
    ("prepare", "code", "words"),
    [
        (lambda d: shutil.rmtree(d), 3, "no such folder"),
        (lambda d: (d / "qa.json").unlink(), 3, "expected qa.json"),
        (lambda d: (d / "qa.json").write_text("{'a': 1}"), 3, "not valid JSON, line 1"),
        (lambda d: (d / "qa.json").write_text(""), 3, "empty"),
        (lambda d: (d / "qa.json").write_text("[]"), 3, "no rows"),
        (lambda d: (d / "qa.json").write_text('"text"'), 3, "expected a list of rows"),
        (lambda d: shutil.rmtree(d / "Videos"), 3, "Videos is missing"),
    ],
)
def test_a_data_set_that_cannot_be_used_is_one_error(
    prepare: Any, code: int, words: str, data: Path, server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    prepare(data)
    done = run(data, server, cache_dir, tmp_path / "run")
    assert done.returncode == code
    assert words in done.stderr
    assert str(data) in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "max_frame=3"], "did you mean 'max_frames'"),
        (["--set", "decode.max_token=3"], "did you mean 'decode.max_tokens'"),
        (["--set", "plan=minicpn"], "unknown frame plan 'minicpn' (did you mean 'minicpm'?)"),
        (["--set", "max_frames=many"], "max_frames"),
        (["--set", "nonsense"], "expected key=value"),
        (["--filter", "typ=Reasoning"], "did you mean 'type'"),
        (["--filter", "type=Reasonin"], "did you mean 'Reasoning'"),
        (["--sample-id", "kitchen"], "no sample has the id"),
        (["--set", "parser=oficial"], "did you mean 'official'"),
        (["--backend", "openai-chatt"], "did you mean 'openai-chat'"),
        (["--api-key-env", "NOT_SET_ANYWHERE"], "not set"),
        (["--transport", "http", "--set", "transport.host=0.0.0.0"], "transport.public_url"),
        (["--transport", "http", "--base-url", "http://203.0.113.7/v1"], "transport.host"),
        (["--base-url", "http://user:pass@127.0.0.1/v1"], "--api-key-env"),
    ],
)
def test_a_wrong_setting_is_one_error_that_names_it(
    arguments: list[str], words: str, server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    done = run(sample_dir("daily-omni"), server, cache_dir, tmp_path / "run", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not server.requests


def test_an_unreachable_or_wrong_server_is_found_before_anything_is_asked(
    cache_dir: Path, tmp_path: Path
) -> None:
    with FaultServer() as server:
        gone_url = server.base_url
        wrong = run(sample_dir("daily-omni"), server, cache_dir, tmp_path / "run", "--model", "fak")
    assert wrong.returncode == 4
    assert "did you mean 'fake'" in wrong.stderr
    gone = omnieval("run", "daily-omni", "--sample", "--base-url", gone_url, "--out", tmp_path / "run")
    assert gone.returncode == 4
    assert "no connection" in gone.stderr
    assert not (tmp_path / "run").exists()


def test_a_cache_folder_that_cannot_be_written_is_one_error(server: FaultServer, tmp_path: Path) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("not a folder")
    done = run(sample_dir("daily-omni"), server, blocked / "cache", tmp_path / "run")
    assert done.returncode == 1
    assert "--cache-dir" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True
    )
    if not mounted or mounted.returncode:
        pytest.skip("mounting a small file system is not permitted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_cache_disk_ends_the_run_with_a_way_on(
    small_disk: Path, server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    full = run(sample_dir("daily-omni"), server, small_disk / "cache", out)
    assert full.returncode == 1
    assert "No space left" in full.stderr
    assert "--cache-dir" in full.stderr
    assert "Traceback" not in full.stderr
    resumed = omnieval("run", "--resume", out, "--cache-dir", cache_dir)
    assert resumed.returncode == 0, resumed.stderr
    assert report(out)["complete"] is True


def test_a_full_run_disk_keeps_every_whole_line(
    small_disk: Path, server: FaultServer, cache_dir: Path, tmp_path: Path
) -> None:
    out = small_disk / "run"
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (1024 * 1024 - 64 * 1024))
    server.script = lambda exchange: exchange.answer("B" + " " * 4096)
    full = run(sample_dir("daily-omni"), server, cache_dir, out, "--concurrency", "1")
    assert full.returncode == 1, full.stdout
    assert "Traceback" not in full.stderr
    assert "No space left" in full.stderr
    filler.unlink()
    again = run(sample_dir("daily-omni"), server, cache_dir, out)
    assert again.returncode == 0, again.stderr
    assert report(out)["complete"] is True
    tries = [line["sample_id"] for line in lines(out / "responses.jsonl")]
    assert len(tries) == len(set(tries))


@pytest.mark.parametrize(
    "command",
    [
        ["report", "nowhere", "--json", "--markdown"],
        ["report", "nowhere", "--markdown", "--html", "page.html"],
        ["compare", "one", "two", "--json", "--html", "-"],
        ["gate", "nowhere", "--json", "--markdown"],
        ["bench", "daily-omni", "--sample", "--json", "--markdown"],
        ["diagnose", "daily-omni", "--sample", "--json", "--markdown"],
    ],
)
def test_two_forms_of_output_at_once_are_refused_before_anything_is_done(
    command: list[str], tmp_path: Path
) -> None:
    done = omnieval(*command, cwd=tmp_path)
    first, second = (word for word in command if word in ("--json", "--markdown", "--html"))
    assert done.returncode == 2, done.stderr
    assert f"error: {first} and {second} exclude each other" in done.stderr
    assert not list(tmp_path.iterdir())
