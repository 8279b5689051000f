"""WAV bytes: every layout that writers leave behind is read, and what is no sound is refused by name."""

from __future__ import annotations

import contextlib
import io
import math
import struct
import wave

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.errors import MediaError
from omnieval.media.wav import CompressedWavError, Pcm, PcmFormat, join, parse_wav, wav_head, write_wav

SAMPLES = bytes(range(48))
EVERY_ENCODING = ("u8", "s16", "s24", "s32", "f32", "f64")


def chunk(name: bytes, content: bytes, size: int | None = None, pad: bool = True) -> bytes:
    length = len(content) if size is None else size
    return name + struct.pack("<I", length) + content + (b"\0" if pad and len(content) % 2 else b"")


def fmt(
    tag: int = 1, channels: int = 1, rate: int = 16_000, bits: int = 16, block: int | None = None
) -> bytes:
    block = channels * bits // 8 if block is None else block
    return chunk(b"fmt ", struct.pack("<HHIIHH", tag, channels, rate, rate * block, block, bits))


def riff(*chunks: bytes, size: int | None = None) -> bytes:
    content = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(content) if size is None else size) + content


def by_wave_module(data: bytes, width: int, channels: int = 1, rate: int = 16_000) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setsampwidth(width)
        file.setnchannels(channels)
        file.setframerate(rate)
        file.writeframes(data)
    return buffer.getvalue()


@pytest.mark.parametrize(("width", "encoding"), [(1, "u8"), (2, "s16"), (3, "s24"), (4, "s32")])
def test_what_the_standard_library_writes_is_read(width: int, encoding: str) -> None:
    pcm = parse_wav(by_wave_module(SAMPLES, width, channels=2, rate=44_100))
    assert pcm == Pcm(PcmFormat(44_100, 2, encoding), SAMPLES)  # type: ignore[arg-type]
    assert pcm.frames == len(SAMPLES) // width // 2


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_the_standard_library_reads_what_is_written(width: int) -> None:
    encoding = {1: "u8", 2: "s16", 3: "s24", 4: "s32"}[width]
    data = write_wav(Pcm(PcmFormat(8_000, 1, encoding), SAMPLES))  # type: ignore[arg-type]
    with wave.open(io.BytesIO(data)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (8_000, 1, width)
        assert file.readframes(file.getnframes()) == SAMPLES


@given(
    encoding=st.sampled_from(EVERY_ENCODING),
    channels=st.integers(1, 8),
    rate=st.integers(4_000, 384_000),
    frames=st.integers(1, 5),
)
def test_what_is_written_is_read_again(encoding: str, channels: int, rate: int, frames: int) -> None:
    form = PcmFormat(rate, channels, encoding)  # type: ignore[arg-type]
    pcm = Pcm(form, b"\x01" * (form.frame_bytes * frames))
    assert parse_wav(write_wav(pcm)) == pcm


def test_numbers_that_are_none_are_kept_as_they_are() -> None:
    data = struct.pack("<3f", math.nan, math.inf, 0.5)
    assert parse_wav(riff(fmt(3, bits=32), chunk(b"data", data))).data == data


@pytest.mark.parametrize(("tag", "bits", "encoding"), [(1, 16, "s16"), (1, 24, "s24"), (3, 32, "f32")])
def test_an_extensible_header_says_the_format_in_its_own_place(tag: int, bits: int, encoding: str) -> None:
    block = bits // 8
    described = struct.pack("<HHIIHHHHI", 0xFFFE, 1, 16_000, 16_000 * block, block, bits, 22, bits, 4)
    guid = struct.pack("<H", tag) + bytes.fromhex("000000001000800000aa00389b71")
    pcm = parse_wav(riff(chunk(b"fmt ", described + guid), chunk(b"data", SAMPLES)))
    assert pcm == Pcm(PcmFormat(16_000, 1, encoding), SAMPLES)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF, 0x7FFFFFFF])
@pytest.mark.parametrize("whole", [0, 0xFFFFFFFF, 36])
def test_the_unknown_sizes_of_streaming_writers_mean_up_to_the_end(size: int, whole: int) -> None:
    data = riff(fmt(), chunk(b"data", SAMPLES, size=size), size=whole)
    assert parse_wav(data) == Pcm(PcmFormat(16_000, 1), SAMPLES)


def test_a_size_of_zero_is_true_where_other_chunks_follow_by_the_header_itself() -> None:
    with pytest.raises(MediaError, match="zero length"):
        parse_wav(riff(fmt(), chunk(b"data", b""), chunk(b"LIST", b"INFOabcd")))


@pytest.mark.parametrize("whole", [0, 36, 36 + len(SAMPLES), 10_000])
@pytest.mark.parametrize("length", [2, 6, 8, len(SAMPLES)])
def test_a_size_of_zero_with_sound_behind_it_means_up_to_the_end(whole: int, length: int) -> None:
    data = riff(fmt(), chunk(b"data", SAMPLES[:length], size=0), size=whole)
    assert parse_wav(data) == Pcm(PcmFormat(16_000, 1), SAMPLES[:length])


@pytest.mark.parametrize("pad", [True, False])
def test_other_chunks_are_passed_over_whether_padded_or_not(pad: bool) -> None:
    note = chunk(b"LIST", b"INFO-odd!", pad=pad)
    data = riff(note, fmt(), note, chunk(b"data", SAMPLES), chunk(b"LIST", b"INFO"))
    assert parse_wav(data) == Pcm(PcmFormat(16_000, 1), SAMPLES)


def test_a_header_that_promises_more_than_there_is_says_how_much_is_missing() -> None:
    whole = riff(fmt(), chunk(b"data", SAMPLES))
    assert parse_wav(whole[:-10]) == Pcm(PcmFormat(16_000, 1), SAMPLES[:-10], missing_bytes=10)
    odd = parse_wav(whole[:-11])
    assert (odd.data, odd.missing_bytes) == (SAMPLES[:-12], 11)
    streamed = riff(fmt(), chunk(b"data", SAMPLES[:-1], size=0xFFFFFFFF, pad=False))
    assert parse_wav(streamed).missing_bytes == 1


GOOD = chunk(b"data", SAMPLES)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "zero length|before its data chunk"),
        (b"ID3\x04 something else entirely", "not a WAV file: expected RIFF"),
        (b"RIFX" + riff(fmt(), GOOD)[4:], "not a WAV file"),
        (riff(fmt())[:8] + b"AVI " + fmt() + GOOD, "not a WAV file"),
        (riff(GOOD), "without a fmt chunk"),
        (riff(fmt()), "before its data chunk"),
        (riff(fmt())[:20], "before its data chunk"),
        (riff(chunk(b"fmt ", b"\x01\0\x01\0"), GOOD), "fmt chunk of 4 bytes"),
        (riff(fmt(tag=7, bits=8), GOOD), r"compressed WAV file \(mu-law\)"),
        (riff(fmt(tag=0x1234), GOOD), r"compressed WAV file \(format 0x1234\)"),
        (riff(fmt(bits=12, block=2), GOOD), "12-bit integer"),
        (riff(fmt(tag=3, bits=16), GOOD), "16-bit float"),
        (riff(fmt(rate=0), GOOD), "rate of 0 Hz"),
        (riff(fmt(rate=3_999), GOOD), "expected 4000 to 384000 Hz"),
        (riff(fmt(rate=400_000), GOOD), "rate of 400000 Hz"),
        (riff(fmt(channels=0), GOOD), "0 channels"),
        (riff(fmt(block=3), GOOD), "block is 3 bytes"),
        (riff(fmt(), chunk(b"data", b"")), "zero length"),
        (riff(fmt(), chunk(b"data", b"\x01")), "zero length"),
    ],
)
def test_what_is_no_sound_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    with pytest.raises(MediaError, match=reason):
        parse_wav(data)


def test_compressed_samples_are_an_error_of_their_own() -> None:
    with pytest.raises(CompressedWavError):
        parse_wav(riff(fmt(tag=0x11, bits=4, block=256), GOOD))


def test_a_header_is_known_as_soon_as_it_is_whole_and_not_before() -> None:
    data = riff(chunk(b"LIST", b"INFO"), fmt(), GOOD)
    start = data.index(SAMPLES)
    for cut in range(len(data)):
        assert (wav_head(data[:cut]) is not None) == (cut >= start)


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(tail: bytes) -> None:
    for data in (tail, riff(tail), riff(fmt(), tail), riff(fmt()) + tail):
        with contextlib.suppress(MediaError):
            assert parse_wav(data).frames > 0


def test_pieces_of_one_format_are_joined_and_others_refused() -> None:
    one, other = Pcm(PcmFormat(24_000, 1), b"\1\2"), Pcm(PcmFormat(24_000, 1), b"\3\4", missing_bytes=2)
    assert join([one, other]) == Pcm(PcmFormat(24_000, 1), b"\1\2\3\4", missing_bytes=2)
    with pytest.raises(MediaError, match=r"piece 2 .* 16000 Hz, 1 channel, 16-bit integer, but the first"):
        join([one, Pcm(PcmFormat(16_000, 1), b"\1\2")])
    with pytest.raises(MediaError, match="no piece"):
        join([])
