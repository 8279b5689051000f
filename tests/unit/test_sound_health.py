"""Sick sound is flagged, each kind by its own flag, and speech at any usual speed is not."""

from __future__ import annotations

import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from omnieval.errors import MediaError
from omnieval.samples import sample_dir
from omnieval.samples.build_seed_tts import LINES, PROMPTS
from omnieval.scoring.sound_health import SOUND_FLAGS, Language, check_samples, read_own_rate, sound_flags
from tests.media_files import make_video

Sound = npt.NDArray[np.float32]

ENGLISH = sample_dir("seed-tts") / "en"
SPOKEN = {
    **{ENGLISH / "wavs" / f"{line.utterance}.wav": line.text for line in LINES},
    **{ENGLISH / "prompt-wavs" / f"{name}.wav": text for name, text in PROMPTS.items()},
}
CASES = [pytest.param(path, text, id=path.stem) for path, text in SPOKEN.items()]
LINE = LINES[0]
RATE_HZ = 16_000


def speech(path: Path = ENGLISH / "wavs" / f"{LINE.utterance}.wav") -> Sound:
    sound, rate_hz = read_own_rate(path)
    assert rate_hz == RATE_HZ
    return sound[:, 0]


def flags(sound: Sound, text: str = LINE.text, rate_hz: int = RATE_HZ, **more: str) -> tuple[str, ...]:
    return sound_flags(sound.astype(np.float32), rate_hz, text=text, language="en", **more)


def noise(seconds: float, level: float) -> Sound:
    made = np.random.default_rng(0).standard_normal(int(seconds * RATE_HZ)) * level
    return made.astype(np.float32)


# Speech that is well


@pytest.mark.parametrize(("path", "text"), CASES)
@pytest.mark.parametrize("speed", [0.5, 0.67, 1.0, 1.5, 2.0])
def test_speech_at_half_to_twice_its_speed_has_no_flag(speed: float, path: Path, text: str) -> None:
    assert flags(speech(path), text, round(RATE_HZ * speed), hypothesis=text) == ()


@pytest.mark.parametrize("level", [1e-4, 1e-3, 1e-2, 3e-2])
def test_a_noisy_room_is_no_flag(level: float) -> None:
    sound = speech()
    assert flags(sound + noise(len(sound) / RATE_HZ, level)) == ()


@pytest.mark.parametrize("gain", [0.03, 0.1, 0.5])
def test_quiet_speech_is_no_flag(gain: float) -> None:
    assert flags(speech() * gain) == ()


def test_channels_are_heard_together() -> None:
    sound = speech()
    left, both = np.stack([sound, 0 * sound], axis=1), np.stack([sound, -sound], axis=1)
    assert flags(left) == flags(both) == ()
    assert flags(np.stack([sound, np.clip(4 * sound, -1, 1)], axis=1)) == ("clipped",)


@pytest.mark.parametrize("text", ["Yes.", "Call 555-0199 now, NASA!", "$250", "a" * 30])
def test_a_short_text_or_one_of_digits_may_take_its_time(text: str) -> None:
    assert flags(speech(), text) == ()


# Each sickness


@pytest.mark.parametrize("seconds", [0.001, 0.05, 1.0, 4.0])
@pytest.mark.parametrize("level", [0.0, 1e-5, 5e-4])
def test_silence_is_silent_however_long(level: float, seconds: float) -> None:
    assert flags(noise(seconds, level)) == ("silent",)


def test_a_constant_is_silent() -> None:
    assert flags(np.full(RATE_HZ, 0.3, dtype=np.float32))[0] == "silent"


def test_a_click_in_silence_is_silent() -> None:
    sound = np.zeros(2 * RATE_HZ, dtype=np.float32)
    sound[9_000:9_500] = 0.5
    assert "silent" in flags(sound)


@pytest.mark.parametrize("level", [0.003, 0.1])
def test_noise_and_hum_are_no_speech(level: float) -> None:
    hum = level * np.sin(np.arange(2 * RATE_HZ) * 2 * np.pi * 100 / RATE_HZ)
    assert flags(noise(2, level)) == flags(hum + noise(2, level / 30)) == ("silent",)


@pytest.mark.parametrize("gain_db", [4, 6, 12])
@pytest.mark.parametrize("ceiling", [1.0, 0.5])
def test_speech_that_was_cut_off_at_the_top_is_clipped(gain_db: int, ceiling: float) -> None:
    sound = speech()
    louder = sound / np.abs(sound).max() * ceiling * 10 ** (gain_db / 20)
    assert flags(np.clip(louder, -ceiling, ceiling)) == ("clipped",)


def test_speech_beyond_full_scale_will_be_clipped_by_a_player() -> None:
    sound = speech()
    assert flags(sound / np.abs(sound).max()) == ()
    assert flags(sound / np.abs(sound).max() * 2) == ("clipped",)


def loud_places(sound: Sound) -> list[int]:
    """Where 30 ms of loud speech end, in samples."""
    level = np.sqrt(np.convolve(sound**2, np.ones(480) / 480, "full")[: len(sound)])
    loud = np.flatnonzero(level > 0.7 * np.percentile(level, 90))
    return [int(place) for place in loud if 0.4 * len(sound) < place < 0.9 * len(sound)][:: RATE_HZ // 20]


@pytest.mark.parametrize(("path", "text"), CASES)
def test_speech_that_stops_in_a_loud_place_is_truncated(path: Path, text: str) -> None:
    sound = speech(path)
    places = loud_places(sound)
    cut = [flags(sound[:place], text) for place in places]
    assert sum("truncated" in found for found in cut) >= 0.9 * len(places) > 0


def test_speech_that_fades_at_its_end_is_not_truncated() -> None:
    sound = speech()
    cut = sound[: loud_places(sound)[-1]].copy()
    assert flags(cut) == ("truncated",)
    cut[-800:] *= np.linspace(1, 0, 800, dtype=np.float32) ** 2
    assert flags(cut) == ()


def test_a_fragment_is_too_short_for_its_text() -> None:
    sound = speech()
    assert "too_short" in flags(sound[: len(sound) // 4])
    padded = np.concatenate([sound[: len(sound) // 4], np.zeros(3 * RATE_HZ, dtype=np.float32)])
    assert flags(padded) == ("too_short",)


def test_a_sound_that_goes_on_and_on_is_too_long() -> None:
    sound = speech()
    assert flags(np.tile(sound, 6)) == ("too_long",)
    assert flags(np.concatenate([sound, np.zeros(20 * RATE_HZ, dtype=np.float32)])) == ("too_long",)


@pytest.mark.parametrize(("pause_s", "expected"), [(2.5, ()), (3.5, ("long_pause",))])
@pytest.mark.parametrize("level", [0.0, 0.003])
def test_a_pause_of_seconds_inside_is_long(pause_s: float, expected: tuple[str, ...], level: float) -> None:
    sound = speech()
    half = len(sound) // 2
    pause = np.zeros(int(pause_s * RATE_HZ), dtype=np.float32)
    paused = np.concatenate([sound[:half], pause, sound[half:]])
    assert flags(paused + noise(len(paused) / RATE_HZ, level)) == expected


@pytest.mark.parametrize(
    ("hypothesis", "expected"),
    [
        ("The bakery on the corner opens before sunrise.", ()),
        ("The bakery on a corner opens before the sun rises", ()),
        ("", ()),
        ("the the the the the", ()),
        ("the the the the the the", ("repetition",)),
        ("the bakery the bakery the bakery the bakery", ("repetition",)),
        ("so the bakery is open, the bakery is open, the bakery is open, the bakery is", ()),
        ("The bakery opens, thank you. Thank you. Thank you. Thank you.", ("repetition",)),
        ("Thanks for watching! " * 30, ("repetition", "hallucination")),
        (
            "The bakery on the corner opens before sunrise and closes when all of the bread is sold, which takes "
            "about as long as it takes to tell all of this",
            ("hallucination",),
        ),
    ],
)
def test_what_was_heard_must_fit_the_text_and_the_sound(hypothesis: str, expected: tuple[str, ...]) -> None:
    assert flags(speech(), hypothesis=hypothesis) == expected


def test_a_text_may_repeat_itself() -> None:
    text = "No, no, no, no, no, no, we never said so."
    assert flags(speech(), text, hypothesis=text) == ()


def test_words_heard_in_silence_are_made_up() -> None:
    assert flags(noise(2, 0.0), hypothesis="you") == ("silent", "hallucination")
    assert flags(noise(2, 0.0), hypothesis=" . ") == ("silent",)


def test_more_words_than_a_second_holds_are_made_up() -> None:
    assert flags(speech()[: RATE_HZ // 3], LINE.text * 4, hypothesis=LINE.text * 2)[-1] == "hallucination"


# Mandarin: its rates, on sounds of the right length


MANDARIN = "今天天气很好，我们一起去公园散步吧。"  # 16 characters


def mandarin(seconds: float, text: str = MANDARIN, hypothesis: str | None = None) -> tuple[str, ...]:
    sound = np.tile(speech(), 40)[: int(seconds * RATE_HZ)].copy()
    sound[-1600:] = 0
    return sound_flags(sound, RATE_HZ, text=text, language="zh", hypothesis=hypothesis)


@pytest.mark.parametrize("a_second", [1.2, 2, 4, 6, 8, 12])
def test_mandarin_at_any_usual_speed_has_no_flag(a_second: float) -> None:
    assert mandarin(16 / a_second, hypothesis=MANDARIN) == ()


def test_mandarin_beyond_any_speed_is_flagged() -> None:
    assert mandarin(0.6) == ("too_short",)
    assert mandarin(25) == ("too_long",)
    assert mandarin(4, hypothesis="谢谢" * 25) == ("repetition", "hallucination")
    assert mandarin(4, hypothesis="谢谢观看" * 3) == ()
    assert mandarin(4, "哈" * 16, hypothesis="哈" * 16) == ()


def test_latin_words_and_digits_count_within_mandarin() -> None:
    assert (
        mandarin(6, "我用 ChatGPT 写了 2024 年的 annual report", "我用chatgpt写了二零二四年的annual report")
        == ()
    )


# What is no sound, and reading


def test_flags_come_in_the_order_of_the_list() -> None:
    sound = np.clip(8 * speech()[: loud_places(speech())[0]], -1, 1)
    found = flags(sound, " ".join(SPOKEN.values()), hypothesis="no " * 600)
    assert found == ("clipped", "truncated", "too_short", "repetition", "hallucination")
    assert list(found) == sorted(found, key=SOUND_FLAGS.index)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda sound: sound[:0], "no samples"),
        (lambda sound: sound[:0].reshape(0, 2), "no samples"),
        (lambda sound: np.where(np.arange(len(sound)) == 7, np.nan, sound), r"1 of \d+ .* number 7"),
        (lambda sound: np.where(np.arange(len(sound)) > 9, np.inf, sound), r"\d+ of \d+ .* number 10"),
        (lambda sound: np.stack([sound, sound * np.nan], axis=1), r"(\d+) of \1 samples are not numbers"),
    ],
)
def test_samples_that_are_no_sound_are_told_in_words(damage: Callable[[Sound], Sound], reason: str) -> None:
    sound = damage(speech()).astype(np.float32)
    with pytest.raises(ValueError, match=reason):
        flags(sound)
    assert check_samples(speech()) is None


def test_a_rate_must_be_positive() -> None:
    with pytest.raises(ValueError, match="a rate of 0 Hz"):
        flags(speech(), rate_hz=0)


@given(
    arrays(
        np.float32, st.tuples(st.integers(1, 900), st.integers(1, 3)), elements=st.floats(-4, 4, width=32)
    ),
    st.integers(1, 96_000),
    st.text(max_size=30),
    st.sampled_from(["en", "zh"]),
    st.none() | st.text(max_size=30),
)
def test_any_samples_and_texts_are_judged(
    sound: Sound, rate_hz: int, text: str, language: Language, hypothesis: str | None
) -> None:
    found = sound_flags(sound, rate_hz, text=text, language=language, hypothesis=hypothesis)
    assert list(found) == sorted(set(found), key=SOUND_FLAGS.index)


def float_wav(path: Path, samples: Sound, rate_hz: int) -> Path:
    """[samples, channels] as 32-bit floats."""
    data = samples.astype("<f4").tobytes()
    channels = samples.shape[1]
    head = (
        b"WAVEfmt " + (16).to_bytes(4, "little") + (3).to_bytes(2, "little") + channels.to_bytes(2, "little")
    )
    head += rate_hz.to_bytes(4, "little") + (rate_hz * channels * 4).to_bytes(4, "little")
    head += (channels * 4).to_bytes(2, "little") + (32).to_bytes(2, "little")
    head += b"data" + len(data).to_bytes(4, "little")
    path.write_bytes(b"RIFF" + (len(head) + len(data)).to_bytes(4, "little") + head + data)
    return path


def test_a_float_wav_keeps_what_is_no_number(tmp_path: Path) -> None:
    samples = np.array([[0.5, -2.0], [np.nan, 0.25], [np.inf, 1e-9]], dtype=np.float32)
    read, rate_hz = read_own_rate(float_wav(tmp_path / "f.wav", samples, 24_000))
    assert rate_hz == 24_000
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, samples)
    assert check_samples(read) == "2 of 3 samples are not numbers, the first is number 1"


@pytest.mark.parametrize(
    ("width", "channels", "rate_hz"), [(1, 1, 8_000), (2, 2, 44_100), (3, 1, 24_000), (4, 6, 96_000)]
)
def test_integer_samples_come_at_their_own_rate_and_channels(
    width: int, channels: int, rate_hz: int, tmp_path: Path
) -> None:
    values = np.linspace(-1, 0.9, 1000 * channels).reshape(-1, channels)
    whole = np.round(values * 2 ** (8 * width - 1)).astype(np.int64)
    stored = (whole + 128 if width == 1 else whole).astype("<i8")
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setparams((channels, width, rate_hz, 0, "NONE", ""))
        file.writeframes(stored.view(np.uint8).reshape(*stored.shape, 8)[..., :width].tobytes())
    read, found_hz = read_own_rate(tmp_path / "a.wav")
    assert (found_hz, read.shape) == (rate_hz, (1000, channels))
    np.testing.assert_allclose(read, values, atol=2.0 ** -(8 * width - 1))


def test_a_wav_without_samples_is_read_as_none(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setparams((1, 2, 24_000, 0, "NONE", ""))
    read, rate_hz = read_own_rate(tmp_path / "a.wav")
    assert (read.shape, rate_hz) == ((0, 1), 24_000)
    assert check_samples(read) == "the sound has no samples"


def test_other_formats_are_read_too(tmp_path: Path) -> None:
    video = make_video(tmp_path / "v.mp4", seconds=1, audio_seconds=1.0, audio_channels=2)
    read, rate_hz = read_own_rate(video)
    assert rate_hz == 48_000
    assert read.shape[1] == 2
    assert read.shape[0] == pytest.approx(48_000, abs=2_048)
    assert 0.05 < np.abs(read).max() <= 1.1


def test_what_cannot_be_read_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "text.wav").write_text("no sound")
    make_video(tmp_path / "mute.mp4", seconds=0.2)
    for name in ("missing.wav", "text.wav", "mute.mp4"):
        with pytest.raises(MediaError, match=name):
            read_own_rate(tmp_path / name)
