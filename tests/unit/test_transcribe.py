"""Transcripts of many files: like lengths together, each file once, and a fault costs one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnieval.errors import ConfigError
from omnieval.samples import sample_dir
from omnieval.scoring.asr import TranscriptCache, load_recogniser, transcribe
from omnieval.scoring.speech import lenient_wer, official_wer
from tests.media_files import make_wav


class Scripted:
    """Says how long each sound is; fails on sounds of the lengths in `bad` (tenths of a second)."""

    weights = ""

    name = "scripted"
    batch_size = 3

    def __init__(self, *bad: int, model: str = "m") -> None:
        self.details = {"model": model}
        self.batches: list[list[int]] = []
        self._bad = bad

    def transcribe(self, sounds: Sequence[Any], language: str) -> list[str]:
        lengths = [round(len(sound) / 1_600) for sound in sounds]
        self.batches.append(lengths)
        if set(lengths) & set(self._bad):
            raise ValueError("cannot hear that")
        return [f" {length} {language} " for length in lengths]


@pytest.fixture
def clips(tmp_path: Path) -> list[Path]:
    return [
        make_wav(tmp_path / f"{i}.wav", seconds=length / 10)
        for i, length in enumerate((9, 2, 7, 4, 30, 3, 8))
    ]


def test_sounds_of_like_length_share_a_batch(clips: list[Path]) -> None:
    recogniser = Scripted()
    heard = {t.path: t.text for t in transcribe(recogniser, [*clips, clips[0]], "en")}
    assert recogniser.batches == [[2, 3, 4], [7, 8, 9], [30]]
    assert heard == dict(zip(clips, ["9 en", "2 en", "7 en", "4 en", "30 en", "3 en", "8 en"], strict=True))


def test_a_fault_costs_one_file(clips: list[Path], tmp_path: Path) -> None:
    (tmp_path / "broken.wav").write_bytes(b"no sound")
    paths = [*clips, tmp_path / "broken.wav", tmp_path / "missing.wav"]
    done = {t.path.name: t for t in transcribe(Scripted(3), paths, "zh")}
    assert len(done) == len(paths)
    assert (done["5.wav"].text, done["5.wav"].problem) == (None, "asr")
    assert "5.wav: scripted failed: ValueError: cannot hear that" in str(done["5.wav"].message)
    assert (done["broken.wav"].problem, done["missing.wav"].problem) == ("media", "media")
    assert "no such file" in str(done["missing.wav"].message)
    assert [t.text for t in done.values() if t.problem is None] == [
        "2 zh",
        "4 zh",
        "7 zh",
        "8 zh",
        "9 zh",
        "30 zh",
    ]


def test_a_transcript_is_remembered_by_content_recogniser_and_language(
    clips: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "cache"

    def run(recogniser: Scripted, language: Any = "en") -> int:
        cache = TranscriptCache(folder, recogniser, language)
        done = list(transcribe(recogniser, clips, language, cache=cache))
        assert len(done) == len(clips)
        assert all(t.text and t.duration_s for t in done)
        return sum(map(len, recogniser.batches))

    assert run(Scripted()) == len(clips)
    assert run(Scripted()) == 0
    assert run(Scripted(), "zh") == len(clips)
    assert run(Scripted(model="other")) == len(clips)
    make_wav(clips[0], seconds=1.1)
    assert run(Scripted()) == 1
    for entry in folder.rglob("*.json"):
        entry.write_text("{")
    assert run(Scripted()) == len(clips)


def test_a_failure_is_not_remembered(clips: list[Path], tmp_path: Path) -> None:
    for recogniser, texts in ((Scripted(3), 6), (Scripted(), 7)):
        cache = TranscriptCache(tmp_path / "cache", recogniser, "en")
        done = list(transcribe(recogniser, clips, "en", cache=cache))
        assert sum(t.text is not None for t in done) == texts


def test_an_unknown_recogniser_is_named() -> None:
    with pytest.raises(ConfigError, match="did you mean 'faster-whisper'"):
        load_recogniser("faster_whisper")


@pytest.mark.embedded
def test_the_carried_recogniser_hears_what_was_said_alone_and_in_a_batch() -> None:
    said = {
        "harbour_02": "The boat leaves at seven in the morning.",
        "market_03": "The tomatoes cost three dollars. The melons cost five dollars.",
        "kitchen_01": "First, wash the apples. Then, cut the bread into slices.",
        "garden_06": "It rained all night, so the flowers are wet.",
    }
    folder = sample_dir("daily-omni") / "Videos"
    paths = {folder / name / f"{name}_audio.wav": text for name, text in said.items()}
    recogniser = load_recogniser("faster-whisper", device="cpu")
    together = {t.path: str(t.text) for t in transcribe(recogniser, list(paths), "en")}
    recogniser.batch_size = 1
    alone = {t.path: str(t.text) for t in transcribe(recogniser, list(paths), "en")}
    for path, text in paths.items():
        for heard in (together[path], alone[path]):
            assert lenient_wer(text, heard, language="en").wer <= 0.1, heard
    # "at 7" and "$3.00" are errors to the official protocol.
    assert np.mean([official_wer(paths[p], t, language="en").wer for p, t in together.items()]) > 0.1
