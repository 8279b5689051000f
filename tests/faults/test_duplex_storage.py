"""A conversation whose folder takes no more: nothing that was heard is lost, and the result says so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from omnieval import api
from omnieval.duplex import Conversation
from omnieval.errors import StorageError
from omnieval.media.wav import parse_wav
from tests.faults.duplex_server import DuplexServer, Turn
from tests.faults.speech_server import tone
from tests.faults.test_duplex_command import recording

SOUND = tone(4.0)  # of 192 kB


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The machine's folder for temporary files."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def talk(folder: Path, out: Path, lost: Path | None = None) -> Conversation:
    """lost: a folder that vanishes when the model begins to speak."""

    def sound(_: str) -> bytes:
        if lost is not None:
            shutil.rmtree(lost)
        return SOUND

    server = DuplexServer(lambda _text, _number: Turn(pause_s=0), sound)
    with server.running():
        return api.duplex(
            recording(folder), out=out, base_url=server.base_url, model="fake", duplex={"speed": 10}
        )


def heard(found: Conversation) -> bytes:
    return parse_wav((found.directory / "output.wav").read_bytes()).data


def test_a_conversation_from_python(tmp_path: Path) -> None:
    found = talk(tmp_path, tmp_path / "talk")
    assert (found.ok, found.model_decision, found.transcript, found.errors) == (True, "speak", "heard", ())
    assert (found.directory, found.output_duration_s) == (tmp_path / "talk", 4.0)
    assert found.latency.ttfp_ms is not None
    assert heard(found) == SOUND
    content = json.loads((tmp_path / "talk" / "result.json").read_text())
    assert content["latency"]["ttfp_ms"] == found.latency.ttfp_ms
    assert content["asked"] == found.asked
    assert "directory" not in content


def test_pieces_that_cannot_be_written_are_in_the_whole_sound(tmp_path: Path, elsewhere: Path) -> None:
    out = tmp_path / "talk"
    found = talk(tmp_path, out, out / "audio_chunks")
    assert heard(found) == SOUND
    assert (found.ok, found.model_decision, found.directory) == (False, "speak", out)
    (trouble,) = found.errors
    assert trouble.kind == "storage"
    assert "0001.wav" in trouble.message
    assert str(out / "output.wav") in str(trouble.hint)
    assert json.loads((out / "result.json").read_text())["errors"][0]["message"] == trouble.message
    assert not any(elsewhere.iterdir())


def test_a_folder_that_is_gone_costs_nothing_that_was_heard(tmp_path: Path, elsewhere: Path) -> None:
    found = talk(tmp_path, tmp_path / "talk", tmp_path / "talk")
    assert (found.ok, found.directory.parent) == (False, elsewhere)
    assert heard(found) == SOUND
    assert str(found.directory / "output.wav") in str(found.errors[0].hint)
    assert (found.directory / "result.json").is_file()


def test_where_nothing_can_be_written_the_error_says_what_is_lost(tmp_path: Path, elsewhere: Path) -> None:
    elsewhere.rmdir()
    with pytest.raises(StorageError, match=r"elsewhere be written; of 4\.0 s of sound, 0 pieces"):
        talk(tmp_path, tmp_path / "talk", tmp_path / "talk")


def test_a_disk_that_hangs_holds_no_session_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = DuplexServer(lambda _text, _number: Turn(pause_s=0), lambda _: SOUND)
    flush, over = os.fsync, []

    def hanging(file: int) -> None:
        """Until the session is over, or the test has failed."""
        ends = time.monotonic() + (0 if False in over else 30)
        while not server.events("session.close") and time.monotonic() < ends:
            time.sleep(0.02)
        over.append(bool(server.events("session.close")))
        flush(file)

    monkeypatch.setattr(os, "fsync", hanging)
    with server.running():
        found = api.duplex(
            recording(tmp_path),
            out=tmp_path / "talk",
            base_url=server.base_url,
            model="fake",
            duplex={"speed": 10},
        )
    assert over and all(over)
    assert (found.ok, found.audio_chunk_count) == (True, 4)
    pieces = sorted((tmp_path / "talk" / "audio_chunks").iterdir())
    assert b"".join(parse_wav(piece.read_bytes()).data for piece in pieces) == heard(found)


def test_a_full_disk_costs_nothing_that_was_heard(tmp_path: Path, elsewhere: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", disk], capture_output=True
    ).returncode:
        pytest.skip("this machine permits no tmpfs of our own")
    try:
        found = talk(tmp_path, disk / "talk")
        assert (found.ok, found.directory.parent) == (False, elsewhere)
        assert heard(found) == SOUND
        assert "free some space" in found.errors[0].message
    finally:
        subprocess.run(["umount", disk], check=True)
