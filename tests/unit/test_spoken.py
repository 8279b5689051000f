"""The sound of an answer is put together whole, whatever the pieces; what was assumed is said."""

from __future__ import annotations

import base64
import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.backends.failed import FailedTry
from omnieval.backends.spoken import Spoken
from omnieval.backends.wav_stream import WavStream
from omnieval.config import PcmConfig
from omnieval.media.wav import Pcm, PcmFormat, parse_wav, write_wav
from omnieval.types import Failure, SpokenAudio

DATA = bytes(range(200))
STEREO = PcmFormat(48_000, 2)


def wav(data: bytes = DATA, rate_hz: int = 24_000, channels: int = 1) -> bytes:
    return write_wav(Pcm(PcmFormat(rate_hz, channels), data))


def streaming_wav(data: bytes = DATA, form: PcmFormat = STEREO) -> bytes:
    whole = write_wav(Pcm(form, data))
    start = len(whole) - len(data)
    return b"RIFF\xff\xff\xff\xff" + whole[8 : start - 4] + b"\xff\xff\xff\xff" + data


def sound(spoken: Spoken) -> SpokenAudio:
    audio = spoken.finish()
    assert audio is not None
    return audio


def samples(spoken: Spoken) -> bytes:
    return parse_wav(sound(spoken).wav).data


def failure(spoken: Spoken, *pieces: bytes) -> Failure:
    with pytest.raises(FailedTry) as caught:
        for piece in pieces:
            spoken.add_piece(piece, 0.0)
    return caught.value.failure


def test_small_wavs_are_joined_and_their_times_kept() -> None:
    spoken = Spoken(PcmConfig())
    for at_s, piece in enumerate((wav(DATA[:100]), b"", wav(b""), wav(DATA[100:]))):
        spoken.add_piece(piece, float(at_s))
    audio = sound(spoken)
    assert (audio.rate_hz, audio.channels, audio.frames) == (24_000, 1, 100)
    assert audio.chunks == ((0.0, round(50 / 24_000, 6)), (3.0, round(50 / 24_000, 6)))
    assert (spoken.first_s, spoken.last_s, spoken.notes) == (0.0, 3.0, ())
    assert parse_wav(audio.wav).data == DATA


@given(st.lists(st.integers(0, len(DATA)), max_size=6))
def test_raw_pieces_may_be_cut_anywhere(cuts: list[int]) -> None:
    spoken = Spoken(PcmConfig(rate_hz=16_000, channels=2))
    for start, end in pairwise([0, *sorted(cuts), len(DATA)]):
        spoken.add_piece(DATA[start:end], 0.0)
    assert samples(spoken) == DATA
    assert (sound(spoken).rate_hz, sound(spoken).channels, spoken.notes) == (16_000, 2, ())


def test_a_stray_last_byte_is_left_out_and_said() -> None:
    spoken = Spoken(PcmConfig(rate_hz=16_000))
    spoken.add_piece(DATA[:3], 0.0)
    spoken.add_piece(DATA[3:7], 0.0)
    assert samples(spoken) == DATA[:6]
    assert "1 stray byte" in spoken.notes[0]


def test_samples_after_a_wav_header_are_of_its_format() -> None:
    spoken = Spoken(PcmConfig(rate_hz=8_000))
    spoken.add_piece(streaming_wav(DATA[:50]), 0.0)
    spoken.add_piece(DATA[50:], 1.0)
    audio = sound(spoken)
    assert (audio.rate_hz, audio.channels, samples(spoken), spoken.notes) == (48_000, 2, DATA, ())


def test_what_the_answer_says_of_raw_samples_comes_before_the_configuration() -> None:
    spoken = Spoken(PcmConfig(rate_hz=8_000))
    spoken.say({"sample_rate_hz": "44100", "channels": 2, "format": "PCM_S16LE"})
    spoken.add_piece(DATA, 0.0)
    assert (sound(spoken).rate_hz, sound(spoken).channels, spoken.notes) == (44_100, 2, ())


def test_float_samples_are_known_by_their_name() -> None:
    spoken = Spoken(PcmConfig(rate_hz=8_000))
    spoken.say({"format": "pcm_f32le"})
    spoken.add_piece(struct.pack("<2f", 0.5, float("nan")), 0.0)
    assert parse_wav(sound(spoken).wav).format == PcmFormat(8_000, 1, "f32")
    assert samples(spoken)[4:] == struct.pack("<f", float("nan"))


def test_an_assumed_format_is_said_once() -> None:
    spoken = Spoken(PcmConfig())
    for _ in range(3):
        spoken.add_piece(DATA, 0.0)
    assert sound(spoken).rate_hz == 24_000
    assert len(spoken.notes) == 1
    assert "24000 Hz, 1 channel, 16-bit integer was assumed; set pcm.rate_hz" in spoken.notes[0]


def test_a_header_counts_more_than_what_is_said_beside_it_and_the_difference_is_noted() -> None:
    spoken = Spoken(PcmConfig())
    spoken.say({"sample_rate": 16_000})
    spoken.add_piece(wav(), 0.0)
    assert sound(spoken).rate_hz == 24_000
    assert "16000 Hz, but its WAV header 24000 Hz" in spoken.notes[0]


def test_a_wav_that_promises_more_than_comes_is_noted() -> None:
    spoken = Spoken(PcmConfig())
    spoken.add_piece(wav()[:-20], 0.0)
    spoken.add_piece(wav(), 0.0)
    assert samples(spoken) == DATA[:-20] + DATA
    assert spoken.notes == ("a WAV header promised more sound than came",)


def test_pieces_of_several_formats_are_a_fault_of_the_protocol() -> None:
    for other in (wav(rate_hz=16_000), wav(channels=2), write_wav(Pcm(PcmFormat(24_000, 1, "f32"), DATA))):
        broken = failure(Spoken(PcmConfig()), wav(), other)
        assert (broken.kind, broken.retryable) == ("protocol", False)
        assert "changes on the way from 24000 Hz, 1 channel, 16-bit integer to" in broken.message
    spoken = Spoken(PcmConfig())
    spoken.add_piece(DATA, 0.0)
    spoken.say({"sample_rate": 16_000})
    assert failure(spoken, DATA).kind == "protocol"


@pytest.mark.parametrize(
    ("piece", "words"),
    [(b"ID3\x04...", "MP3"), (b"OggS....", "Ogg"), (b"fLaC....", "FLAC"), (b"RIFF....WAVE", "ends before"),
     (b"RIFF", "ends before"), (b"RIFF....AVI ", "not a WAV")],
)  # fmt: skip
def test_what_is_no_pcm_is_no_sound(piece: bytes, words: str) -> None:
    broken = failure(Spoken(PcmConfig()), piece)
    assert (broken.kind, words in broken.message, "response_format" in (broken.hint or "")) == (
        "audio", True, True,
    )  # fmt: skip


@pytest.mark.parametrize(
    "fields", [{"sample_rate": 0}, {"channels": 0}, {"rate": 1_000_000}, {"format": "opus"}]
)
def test_impossible_claims_are_refused(fields: dict[str, object]) -> None:
    spoken = Spoken(PcmConfig())
    spoken.say(fields)
    assert failure(spoken, DATA).kind == "audio"


@pytest.mark.parametrize("fields", [{"sample_rate": None}, {"sample_rate": "x"}, {"channels": True}, {}])
def test_odd_claims_are_no_claims(fields: dict[str, object]) -> None:
    spoken = Spoken(PcmConfig(rate_hz=8_000))
    spoken.say(fields)
    spoken.add_piece(DATA, 0.0)
    assert (sound(spoken).rate_hz, sound(spoken).channels) == (8_000, 1)


def test_base64_may_be_a_data_url_or_broken_into_lines_but_not_broken() -> None:
    spoken = Spoken(PcmConfig())
    text = base64.b64encode(wav()).decode()
    spoken.add_base64(f"data:audio/wav;base64,{text}", 0.0)
    spoken.add_base64(f"{text[:40]}\n{text[40:]}", 0.0)
    spoken.add_base64("", 0.0)
    assert samples(spoken) == DATA * 2
    for broken in (text[:-1], text[:9] + "*" + text[9:], "Ü" + text):
        with pytest.raises(FailedTry) as caught:
            spoken.add_base64(broken, 0.0)
        assert (caught.value.failure.kind, caught.value.failure.retryable) == ("protocol", True)


def test_nothing_is_no_sound_and_empty_pieces_are_one_of_no_length() -> None:
    assert Spoken(PcmConfig()).finish() is None
    spoken = Spoken(PcmConfig())
    spoken.add_piece(wav(b""), 0.0)
    audio = sound(spoken)
    assert (audio.frames, audio.duration_s, audio.wav, audio.chunks, spoken.first_s) == (
        0,
        0.0,
        b"",
        (),
        None,
    )


def test_an_answer_that_does_not_end_is_cut_off() -> None:
    spoken = Spoken(PcmConfig(), most_bytes=300)
    broken = failure(spoken, DATA, DATA)
    assert (broken.kind, "larger than 300 bytes" in broken.message) == ("protocol", True)
    assert samples(spoken) == DATA


def streamed(spoken: Spoken, data: bytes, cuts: list[int]) -> None:
    stream = WavStream(spoken)
    for start, end in pairwise([0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]):
        stream.add(data[start:end], 0.0)
    stream.finish(0.0)


CUTS = st.lists(st.integers(0, 400), max_size=8)
TRAILER = b"LIST\x04\0\0\0INFO"


@given(cuts=CUTS, byte_by_byte=st.booleans())
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (DATA, DATA),
        (b"RI" + DATA, b"RI" + DATA),
        (b"RIF", b"RI"),
        (streaming_wav(form=PcmFormat(24_000, 1)), DATA),
        (wav(), DATA),
        (wav() + TRAILER, DATA),
        (wav() + wav(), DATA * 2),
        (wav() + b"\x01", DATA),
    ],
)
def test_a_body_cut_anywhere_gives_the_same_sound(
    body: bytes, expected: bytes, cuts: list[int], byte_by_byte: bool
) -> None:
    spoken = Spoken(PcmConfig(rate_hz=24_000))
    streamed(spoken, body, list(range(len(body))) if byte_by_byte else cuts)
    assert samples(spoken) == expected


def test_more_than_a_header_promised_is_left_out_and_said() -> None:
    spoken = Spoken(PcmConfig())
    streamed(spoken, wav() + b"\x01\x02\x03\x04\x05", [])
    assert samples(spoken) == DATA
    assert spoken.notes == ("more came than the WAV header promised; it was left out",)


def test_an_odd_wav_may_be_followed_by_its_padding() -> None:
    form = PcmFormat(24_000, 1, "u8")
    for end in (b"", TRAILER, write_wav(Pcm(form, b"\x07"))):
        spoken = Spoken(PcmConfig())
        streamed(spoken, write_wav(Pcm(form, b"\x05")) + end, [46, 47])
        assert samples(spoken) == (b"\x05\x07" if end.startswith(b"RIFF") else b"\x05")
        assert spoken.notes == ()


@pytest.mark.parametrize(
    "body", [wav()[:30], b"RIFF....junk", b"RIFF" + b"\0" * 4 + b"WAVE" + b"junk" * 300_000]
)
def test_a_header_that_is_none_is_no_sound(body: bytes) -> None:
    with pytest.raises(FailedTry) as caught:
        streamed(Spoken(PcmConfig()), body, [])
    assert caught.value.failure.kind == "audio"
