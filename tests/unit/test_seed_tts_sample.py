"""The bundled Seed-TTS sample is what its README says."""

from __future__ import annotations

import importlib.util
import wave
from pathlib import Path

import pytest

from omnieval.benchmarks.seed_tts_list import read_list
from omnieval.samples import sample_dir
from omnieval.samples.build_seed_tts import LINES, PROMPTS

FOLDER = sample_dir("seed-tts")
ENGLISH = FOLDER / "en"
OTHER = FOLDER / "other-voice" / "other.wav"
WAVS = sorted(FOLDER.rglob("*.wav"))
LISTED = read_list(ENGLISH / "meta.lst")


def recording(utterance: str) -> Path:
    return ENGLISH / "wavs" / f"{utterance}.wav"


def seconds(path: Path) -> float:
    with wave.open(str(path)) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (16_000, 1, 2)
        return sound.getnframes() / 16_000


def test_the_list_is_that_of_the_builder_and_has_lines_of_four_and_of_five_fields() -> None:
    assert LISTED.notes == ()
    written = (ENGLISH / "meta.lst").read_text(encoding="utf-8")
    assert written.splitlines() == [line.written() for line in LINES]
    assert [(line.utterance, line.text, line.prompt_text) for line in LISTED.lines] == [
        (line.utterance, line.text, PROMPTS[line.prompt]) for line in LINES
    ]
    assert {line.five_fields for line in LINES} == {True, False}


def test_every_line_has_its_prompt_and_its_recording_and_nothing_is_left_over() -> None:
    prompts = {ENGLISH / str(line.prompt_wav) for line in LISTED.lines}
    truths = {recording(line.utterance) for line in LISTED.lines}
    assert {*prompts, *truths, OTHER} == set(WAVS)
    assert len(prompts) == 2


def test_sentences_are_plain() -> None:
    for line in LISTED.lines:
        assert 5 <= len(line.text.split()) <= 14
        assert not any(character.isdigit() for character in line.text)
    assert any("fifty" in line.text for line in LISTED.lines)


def test_sounds_are_small_and_prompts_are_long_enough() -> None:
    assert all(1 < seconds(path) < 5 for path in WAVS)
    assert all(3 <= seconds(path) <= 5 for path in (*(ENGLISH / "prompt-wavs").iterdir(), OTHER))
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 1_200_000


def test_there_is_a_licence_note() -> None:
    assert "CC0" in (FOLDER / "README.md").read_text()


@pytest.mark.skipif(importlib.util.find_spec("piper") is None, reason="needs the extra samples")
def test_it_is_made_anew(tmp_path: Path) -> None:
    from omnieval.samples.build_seed_tts import build

    build(tmp_path)
    assert (tmp_path / "en" / "meta.lst").read_bytes() == (ENGLISH / "meta.lst").read_bytes()
    made = sorted(tmp_path.rglob("*.wav"))
    assert [path.relative_to(tmp_path) for path in made] == [path.relative_to(FOLDER) for path in WAVS]
    for there, anew in zip(WAVS, made, strict=True):  # samples may differ by the machine
        assert seconds(anew) == pytest.approx(seconds(there), rel=0.05)


@pytest.mark.embedded
def test_the_carried_recogniser_hears_the_lines() -> None:
    from omnieval.scoring.asr import load_recogniser, transcribe
    from omnieval.scoring.speech import lenient_wer, official_wer

    paths = [recording(line.utterance) for line in LISTED.lines]
    heard = {t.path: t.text or "" for t in transcribe(load_recogniser("faster-whisper"), paths, "en")}
    pairs = [(line.text, heard[recording(line.utterance)]) for line in LISTED.lines]
    official = [official_wer(text, hypothesis, language="en").wer for text, hypothesis in pairs]
    lenient = [lenient_wer(text, hypothesis, language="en").wer for text, hypothesis in pairs]
    assert 0 < sum(official) / len(official) < 0.1
    assert sum(lenient) < sum(official)


@pytest.mark.torch
def test_the_carried_encoder_tells_the_voice_from_another() -> None:
    from omnieval.scoring.speaker import VoiceMatcher, load_encoder

    matcher = VoiceMatcher(load_encoder("ge2e"))
    for line in LISTED.lines:
        same = matcher.similarity(recording(line.utterance), ENGLISH / str(line.prompt_wav))
        assert same > 0.8
        assert matcher.similarity(recording(line.utterance), OTHER) < 0.7
