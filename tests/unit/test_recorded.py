"""Recordings as answers: kept byte for byte where they are sound WAVs, decoded at their own rate elsewhere."""

from __future__ import annotations

import asyncio
import os
import struct
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from omnieval.backends.base import BackendContext
from omnieval.backends.recorded import Recorded, create_ground_truth, create_recorded
from omnieval.benchmarks.daily_omni import Settings
from omnieval.config import RunConfig
from omnieval.errors import BackendError, ConfigError
from omnieval.media.wav import Pcm, PcmFormat, parse_wav, write_wav
from omnieval.types import (
    Failure,
    Generation,
    Request,
    Response,
    ServerFacts,
    SpeechTask,
    SpokenAudio,
    Timing,
)

RATE_HZ = 22_050
SOUND = (12_000 * np.sin(np.arange(RATE_HZ) / 9)).astype("<i2")


def wav(rate_hz: int = RATE_HZ, channels: int = 1) -> bytes:
    return write_wav(Pcm(PcmFormat(rate_hz, channels), np.repeat(SOUND, channels).tobytes()))


def encode(
    path: Path, codec: str, *, sample_format: str, layout: str = "stereo", rate_hz: int = 44_100
) -> None:
    """The sound in a compressed file; one second."""
    channels = 1 if layout == "mono" else 2
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate_hz, layout=layout)
        stream.format = sample_format
        frames = np.repeat(np.resize(SOUND, rate_hz), channels).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(frames, format="s16", layout=layout)
        frame.sample_rate = rate_hz
        resampler = av.AudioResampler(format=sample_format, layout=layout, rate=rate_hz, frame_size=1024)
        for piece in (*resampler.resample(frame), *resampler.resample(None)):
            container.mux(stream.encode(piece))
        container.mux(stream.encode(None))


def config(**more: Any) -> RunConfig:
    return RunConfig(recipe="r", benchmark="daily-omni", task=Settings(), **more)


def recorded(folder: Path) -> Recorded:
    return create_recorded(config(recordings=folder), BackendContext())


def truth(path: Path | None) -> Response:
    task = SpeechTask("Say.", "en", recording=path)
    backend = create_ground_truth(config(), BackendContext())
    return asyncio.run(backend.generate(Request("utt-1", (), Generation(), speech=task)))


def answer(backend: Recorded, sample_id: str = "utt-1") -> Response:
    return asyncio.run(backend.generate(Request(sample_id, (), Generation())))


def sound(response: Response) -> SpokenAudio:
    assert response.error is None, response.error
    assert response.audio is not None
    return response.audio


def failure(response: Response) -> Failure:
    assert response.error is not None
    return response.error


def check(backend: Recorded) -> ServerFacts:
    return asyncio.run(backend.check())


def test_a_wav_is_given_back_byte_for_byte_and_nothing_is_measured(tmp_path: Path) -> None:
    data = wav(48_000, 2) + b"LIST\x04\0\0\0INFO"
    (tmp_path / "a.wav").write_bytes(data)
    response = truth(tmp_path / "a.wav")
    audio = sound(response)
    assert (audio.rate_hz, audio.channels, audio.frames, audio.wav) == (48_000, 2, len(SOUND), data)
    assert (response.timing, audio.chunks, response.notes) == (Timing(), (), ())


@pytest.mark.parametrize(
    ("name", "codec", "sample_format", "rate_hz", "encoding"),
    [
        ("utt-1.flac", "flac", "s16", 44_100, "s16"),
        ("utt-1.mp3", "libmp3lame", "fltp", 32_000, "f32"),
        ("utt-1.ogg", "libopus", "flt", 48_000, "f32"),
        ("utt-1.m4a", "aac", "fltp", 22_050, "f32"),
        ("utt-1.wav", "pcm_mulaw", "s16", 8_000, "s16"),
    ],
)
@pytest.mark.parametrize("layout", ["mono", "stereo"])
def test_other_files_are_decoded_at_their_own_rate(
    name: str, codec: str, sample_format: str, rate_hz: int, encoding: str, layout: str, tmp_path: Path
) -> None:
    encode(tmp_path / name, codec, sample_format=sample_format, layout=layout, rate_hz=rate_hz)
    audio = sound(answer(recorded(tmp_path)))
    pcm = parse_wav(audio.wav)
    assert pcm.format == PcmFormat(rate_hz, 1 if layout == "mono" else 2, encoding)  # type: ignore[arg-type]
    assert audio.frames == pcm.frames
    assert audio.duration_s == pytest.approx(1.0, abs=0.1)
    kind, scale = ("<i2", 32_768) if encoding == "s16" else ("<f4", 1)
    loudness = np.abs(np.frombuffer(pcm.data, kind).astype(float)).mean() / scale
    assert loudness == pytest.approx(12_000 / 32_768 * 2 / np.pi, rel=0.1)


def test_float_recordings_keep_their_numbers(tmp_path: Path) -> None:
    data = write_wav(Pcm(PcmFormat(16_000, 1, "f32"), struct.pack("<2f", float("nan"), 3.0)))
    (tmp_path / "utt-1.wav").write_bytes(data)
    assert sound(answer(recorded(tmp_path))).wav == data


def test_a_wav_comes_before_other_files_of_the_name(tmp_path: Path) -> None:
    encode(tmp_path / "utt-1.flac", "flac", sample_format="s16")
    (tmp_path / "utt-1.wav").write_bytes(wav())
    assert sound(answer(recorded(tmp_path))).rate_hz == RATE_HZ


def test_a_missing_recording_is_named_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "other.wav").write_bytes(wav())
    unnamed, gone, lacking = truth(None), truth(tmp_path / "gone.wav"), answer(recorded(tmp_path))
    for response in (unnamed, gone, lacking):
        assert failure(response).kind == "media_missing"
        assert "utt-1" in failure(response).message
    assert "gone.wav" in failure(gone).message
    assert f"{tmp_path / 'utt-1.wav'}" in failure(lacking).message
    for outside in ("../other", str(tmp_path / "other")):
        assert failure(answer(recorded(tmp_path / "sub"), outside)).kind == "media_missing"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"no sound at all, only words" * 50, "cannot be decoded"),
        (wav()[:2_000], "cut short"),
        (wav()[:44], "zero length"),
        (wav()[:20], "before its data chunk"),
    ],
)
def test_an_unreadable_recording_is_no_sound(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "utt-1.wav"
    path.write_bytes(content)
    for response in (truth(path), answer(recorded(tmp_path))):
        error = failure(response)
        assert (error.kind, error.retryable, "utt-1.wav" in error.message) == ("audio", False, True)
        assert words in error.message


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.wav")
    (tmp_path / "folder.wav").mkdir()
    assert failure(truth(tmp_path / "pipe.wav")).kind == "audio"
    assert failure(truth(tmp_path / "folder.wav")).kind == "audio"


def test_a_picture_is_no_recording(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (8, 8)).save(tmp_path / "utt-1.png")
    (tmp_path / "utt-1.png").rename(tmp_path / "utt-1.wav")
    assert failure(answer(recorded(tmp_path))).kind == "audio"


def test_check_refuses_a_missing_or_empty_folder_and_counts_the_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="recordings=FOLDER"):
        create_recorded(config(), BackendContext())
    with pytest.raises(BackendError, match="cannot be read"):
        check(recorded(tmp_path / "none"))
    (tmp_path / "README.md").write_text("nothing here")
    with pytest.raises(BackendError, match="no recording in it"):
        check(recorded(tmp_path))
    (tmp_path / "utt-1.FLAC").write_bytes(b"x")
    facts = check(recorded(tmp_path))
    assert (facts.backend, facts.model, facts.details["files"]) == ("recorded", "recorded", 1)
    named = create_ground_truth(config(model="people"), BackendContext())
    assert (check(named).backend, check(named).model) == ("ground-truth", "people")
