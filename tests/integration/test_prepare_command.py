"""`omnieval prepare` fills the cache so that a later run decodes nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from omnieval import api
from omnieval.samples import sample_dir
from tests.command import omnieval, report
from tests.faults.server import FaultServer


def test_a_prepared_run_needs_no_decoder(server: FaultServer, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    prepared = omnieval("prepare", "daily-omni", "--sample", "--cache-dir", cache)
    assert prepared.returncode == 0, prepared.stderr
    assert "23 questions, 8 sets of media: 8 ready (0 of them before), 0 failed" in prepared.stdout
    manifests = {path: path.read_bytes() for path in cache.glob("v1/*/*/manifest.json")}
    assert len(manifests) == 8
    done = omnieval(
        "run", "daily-omni", "--sample", "--base-url", server.base_url, "--cache-dir", cache, "--out",
        tmp_path / "run", "--set", "prepare.time_limit_s=0.001",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert report(tmp_path / "run")["official"]["total"] == 23
    assert {path: path.read_bytes() for path in cache.glob("v1/*/*/manifest.json")} == manifests
    again = omnieval("prepare", "daily-omni", "--sample", "--cache-dir", cache)
    assert "8 ready (8 of them before)" in again.stdout


def test_files_that_fail_are_named_and_the_rest_is_ready(tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(sample_dir("daily-omni"), data)
    (data / "Videos" / "race_07" / "race_07_video.mp4").write_bytes(b"broken")
    shutil.rmtree(data / "Videos" / "door_08")
    done = omnieval("prepare", "daily-omni", "--data", data, "--cache-dir", tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    rows = json.loads((data / "qa.json").read_text())
    lost = sum(row["video_id"] in ("race_07", "door_08") for row in rows)
    assert f"6 ready (0 of them before), 2 failed (for {lost} questions)" in done.stdout
    assert "race_07_video.mp4" in done.stdout
    assert "media_missing: no media for video door_08" in done.stdout


def test_a_limit_keeps_the_cache_small_after_a_run(tmp_path: Path) -> None:
    filled = api.prepare("daily-omni", sample=True, cache_dir=str(tmp_path), cache_limit_gb=1e-9)
    assert filled.ready == 8
    # Everything was used just now, so nothing may go yet.
    assert len(list(tmp_path.glob("v1/*/*/manifest.json"))) == 8


def test_every_order_of_the_options_needs_the_media_once(tmp_path: Path) -> None:
    filled = api.prepare("daily-omni", sample=True, cache_dir=str(tmp_path), options={"order": "circular"})
    assert (filled.samples, filled.ready) == (23, 8)
