"""The embedded backend on the bundled sample: a real recogniser, no server, no network."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from omnieval.samples import sample_dir
from tests.command import environment, omnieval, report

pytestmark = pytest.mark.embedded

# Measured 12 of 23 with picture and sound; the floor leaves room for other versions of the recogniser.
FLOOR = 9
CHANCE = 23 / 4

NO_NETWORK = """
import socket, sys

def refuse(*arguments, **options):
    raise OSError("the network was used")

socket.socket.connect = refuse
socket.getaddrinfo = refuse
from omnieval.cli import main
sys.argv = ["omnieval", *sys.argv[1:]]
main()
"""


@pytest.fixture(scope="module")
def whole(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over the sample by a process that cannot use the network."""
    out = tmp_path_factory.mktemp("embedded") / "run"
    arguments = ["run", "daily-omni", "--sample", "--backend", "embedded", "--cache-dir", str(cache_dir)]
    done = subprocess.run(
        [sys.executable, "-c", NO_NETWORK, *arguments, "--out", str(out)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return out


def test_the_sample_is_answered_better_than_chance_without_any_network(whole: Path) -> None:
    content = report(whole)
    assert content["official"]["total"] == 23
    assert content["official"]["correct"] >= FLOOR > CHANCE
    assert content["failures"] == []


def test_the_same_run_twice_gives_the_same_answers(whole: Path, cache_dir: Path, tmp_path: Path) -> None:
    done = omnieval("run", "daily-omni", "--sample", "--cache-dir", cache_dir, "--out", tmp_path / "again")
    assert done.returncode == 0, done.stderr
    assert report(tmp_path / "again") == report(whole)


def test_what_was_said_is_heard(cache_dir: Path) -> None:
    from omnieval.backends.embedded.backend import Embedded

    backend = Embedded(seed=0)
    for video_id, words in {"harbour_02": ["boat", "seven"], "station_05": ["train", "platform"]}.items():
        wav = sample_dir("daily-omni") / "Videos" / video_id / f"{video_id}_audio.wav"
        heard = backend._transcript([wav]).lower()
        for word in words:
            assert word in heard or {"seven": "7"}.get(word, word) in heard, heard


def test_sound_and_picture_each_help(whole: Path, cache_dir: Path, tmp_path: Path) -> None:
    correct = {"all": report(whole)["official"]["correct"]}
    for mode in ("visual", "audio"):
        done = omnieval(
            "run", "daily-omni", "--sample", "--set", f"input_mode={mode}", "--cache-dir", cache_dir,
            "--out", tmp_path / mode,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        correct[mode] = report(tmp_path / mode)["official"]["correct"]
    assert correct["all"] > max(correct["visual"], correct["audio"])


def test_the_gold_answer_is_never_in_a_request(cache_dir: Path) -> None:
    """The request for a question with its answer changed is the same request."""
    from omnieval import api
    from omnieval.benchmarks.daily_omni import DailyOmni
    from omnieval.media.cache import MediaCache
    from omnieval.media.prepare import prepare_media

    config = api.configure("daily-omni", sample=True)
    benchmark = DailyOmni(config)
    sample = benchmark.load().samples[0]
    plan = benchmark.plan(sample)
    assert plan is not None
    media = prepare_media(plan, MediaCache(cache_dir))
    from dataclasses import replace

    assert benchmark.pack(sample, media) == benchmark.pack(replace(sample, gold="Z"), media)


def test_without_the_recogniser_the_error_says_what_to_install(tmp_path: Path) -> None:
    hide = (
        "import sys; sys.modules['faster_whisper'] = None; import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'faster_whisper' else find(name, *a)\n"
        "from omnieval.cli import main; sys.argv = ['omnieval', *sys.argv[1:]]; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", hide, "run", "daily-omni", "--sample", "--out", str(tmp_path / "run")],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 4
    assert "pip install 'omnieval[demo]'" in done.stderr


def test_the_chance_backend_is_the_floor(cache_dir: Path, tmp_path: Path) -> None:
    arguments = ["run", "daily-omni", "--sample", "--backend", "chance", "--cache-dir", cache_dir]
    assert omnieval(*arguments, "--out", tmp_path / "a").returncode == 0
    assert omnieval(*arguments, "--out", tmp_path / "b", "--set", "backend_seed=1").returncode == 0
    texts = [
        [json.loads(line)["text"] for line in (tmp_path / name / "responses.jsonl").read_text().splitlines()]
        for name in ("a", "b")
    ]
    assert texts[0] != texts[1]
    assert set(texts[0]) <= set("ABCD")
