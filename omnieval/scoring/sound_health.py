"""What is unhealthy about a spoken answer, apart from being misheard.

silent         no speech: less than 0.1 s louder than -60 dB of full scale, or a second or more whose level
               stays within 4 dB, as noise and hum do
clipped        more than 0.02 % of a channel lies in flat tops: 3 samples or more on end at its highest level
truncated      ends in the midst of loud speech: the last 20 ms come within 12 dB of it and are 6 dB above
               the noise, and the level did not fall by 8 dB within the last 60 ms
too_short      the speech is faster than 40 letters (Mandarin: 16 characters) a second
too_long       the sound is slower than 4 letters (Mandarin: 1 character) a second, 3 s aside
long_pause     3 s or more without speech, inside
repetition     the same phrase heard 4 times on end, over 6 words (Mandarin: characters) or more, which the
               text does not have
hallucination  more is heard than the speech can hold (by the rate of `too_short`, half a second aside; in a
               silent sound, anything), or more than twice the text and half a second's letters

Levels are over all channels and 10 ms. The level of speech is that of the louder tenth of what is audible,
the level of noise that of the quietest twentieth; speech is what lies within 35 dB of the first and 6 dB
above the second. Digits, signs and capitals count as the longest and the shortest way to say them.

The bounds are wide. No flag was raised by 400 sounds of the synthesiser piper (voice joe, 20 texts, half to
twice its speed), nor by some 550 telephone announcements that a person recorded; those of Mandarin are set by
what is commonly said of speaking rates, untested. What a sound cannot tell for sure: a cut in a pause or in a
soft consonant, clipping before a resampler or a lossy codec, a noise that comes and goes, or whether what was
heard too much was said by the model or made up by the recogniser.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from omnieval.errors import MediaError
from omnieval.media.open import open_media

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from av.audio.frame import AudioFrame

    Sound = npt.NDArray[np.float32]

SOUND_FLAGS = (
    "silent", "clipped", "truncated", "too_short", "too_long", "long_pause", "repetition", "hallucination",
)  # fmt: skip

Language = Literal["en", "zh"]

_FRAME_S = 0.01
_AUDIBLE_DB, _FAINTEST_SPEECH_S = -60.0, 0.1
_STEADY_S, _STEADY_DB = 1.0, 4.0
_SPEECH_RANGE_DB, _ABOVE_FLOOR_DB = 35.0, 6.0
_STEP = 1 / 32_768  # of 16-bit samples
_FLAT_RUN, _LOWEST_FLAT, _FLAT_SHARE = 3, 0.05, 0.0002
_END_FRAMES, _BEFORE_FRAMES, _END_RANGE_DB, _DECAY_DB = 2, 4, 12.0, 8.0
_LONG_PAUSE_S = 3.0
# Letters a second in English, characters a second in Mandarin: (fastest, slowest).
_RATES: dict[Language, tuple[float, float]] = {"en": (40.0, 4.0), "zh": (16.0, 1.0)}
_SLACK_S = 3.0
# A sign may be read as a word ("7", "%"), a capital letter by its name ("W"); or both not at all.
_LETTERS_A_SIGN, _LETTERS_A_CAPITAL = 8, 3
_LATIN_A_CHARACTER = 4  # letters to a character, within Mandarin
_REPEATS, _SHORTEST_REPEAT, _LONGEST_PHRASE = 4, 6, 20
_TOO_MUCH, _TOO_MUCH_SLACK_S = 2.0, 0.5
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def check_samples(samples: Sound) -> str | None:
    """Why samples are no sound at all, in words; None where they are one."""
    import numpy as np

    if samples.size == 0:
        return "the sound has no samples"
    wrong = np.flatnonzero(~np.isfinite(samples).reshape(len(samples), -1).all(axis=1))
    if len(wrong):
        return f"{len(wrong)} of {len(samples)} samples are not numbers, the first is number {wrong[0]}"
    return None


def sound_flags(
    samples: Sound, rate_hz: int, *, text: str, language: Language, hypothesis: str | None = None
) -> tuple[str, ...]:
    """The flags of a spoken answer, in the order of `SOUND_FLAGS`.

    samples: [samples] or [samples, channels], float32, -1..1. text: what was to be said. hypothesis: what a
    recogniser heard; without one, what needs it is not looked at. Raises ValueError where `check_samples`
    finds fault, and for a rate that is not positive.
    """
    import numpy as np

    problem = check_samples(samples)
    if problem is not None or rate_hz <= 0:
        raise ValueError(problem or f"a rate of {rate_hz} Hz; expected more than 0")
    sound = samples.reshape(len(samples), -1)
    level = _levels(sound, rate_hz)
    speech_db, floor_db = _speech_and_floor(level)
    silent = _is_silent(level, speech_db, floor_db)
    faintest_db = max(speech_db - _SPEECH_RANGE_DB, floor_db + _ABOVE_FLOOR_DB)
    spoken = level > min(faintest_db, speech_db - _END_RANGE_DB)
    speech = np.flatnonzero(spoken & (not silent))
    speech_s = float(speech[-1] - speech[0] + 1) * _FRAME_S if len(speech) else 0.0
    found = {
        "silent": silent,
        "clipped": _is_clipped(sound),
        "truncated": not silent and _is_cut(level, speech_db, floor_db),
        "too_short": not silent and speech_s < _shortest_s(text, language),
        "too_long": not silent and len(sound) / rate_hz > _longest_s(text, language),
        "long_pause": bool((np.diff(speech) * _FRAME_S > _LONG_PAUSE_S).any()),
    }
    if hypothesis is not None:
        found["repetition"] = _repeats(hypothesis, language) and not _repeats(text, language)
        found["hallucination"] = _is_too_much(hypothesis, text, language, speech_s)
    return tuple(flag for flag in SOUND_FLAGS if found.get(flag))


def read_own_rate(path: Path) -> tuple[Sound, int]:
    """The first audio track as it is: ([samples, channels], float32; rate in Hz). Integer samples come to
    -1..1; what a float file holds is kept, numbers or not. A track without samples gives none.

    Raises MediaError when the file is missing or no media, has no audio track, or changes its rate or
    channels on the way.
    """
    import numpy as np

    with open_media(path) as container:
        if not container.streams.audio:
            raise MediaError(f"{path}: no audio track; expected a sound file")
        stream = container.streams.audio[0]
        rate_hz, channels = stream.rate, stream.channels
        if not rate_hz:
            raise MediaError(f"{path}: its header names no sample rate; write the file anew")
        pieces: list[Sound] = [np.zeros((0, channels), dtype=np.float32)]
        for frame in container.decode(stream):
            if (frame.sample_rate, frame.layout.nb_channels) != (rate_hz, channels):
                raise MediaError(
                    f"{path}: begins with {rate_hz} Hz and {channels} channels, goes on with "
                    f"{frame.sample_rate} Hz and {frame.layout.nb_channels}; write it with one rate"
                )
            pieces.append(_floats(frame, channels))
    return np.concatenate(pieces), rate_hz


def _floats(frame: AudioFrame, channels: int) -> Sound:
    """[samples, channels]."""
    import numpy as np

    stored = frame.to_ndarray()
    stored = stored.T if frame.format.is_planar else stored.reshape(-1, channels)
    if stored.dtype.kind == "f":
        return stored.astype(np.float32)
    if stored.dtype.kind == "u":
        return ((stored.astype(np.float32) - 128) / 128).astype(np.float32)
    full_scale = 2.0 ** (8 * stored.dtype.itemsize - 1)
    return (stored / full_scale).astype(np.float32)


def _levels(sound: Sound, rate_hz: int) -> Sound:
    """dB of full scale, over all channels, of pieces of 10 ms; they end where the sound ends."""
    import numpy as np

    length = max(1, round(rate_hz * _FRAME_S))
    mean = sound.mean(axis=0, dtype=np.float64)
    power = np.mean((sound - mean) ** 2, axis=1)
    count = len(power) // length
    whole = power[len(power) - count * length :] if count else power
    levels: Sound = 10 * np.log10(whole.reshape(max(1, count), -1).mean(axis=1) + 1e-12)
    return levels


def _is_clipped(sound: Sound) -> bool:
    """Per channel; beyond full scale a player cuts off."""
    import numpy as np

    for channel in np.clip(sound, -1.0, 1.0).T:
        top = float(np.abs(channel).max())
        if top < _LOWEST_FLAT:
            continue
        for side in (channel, -channel):
            at_top = np.concatenate([[False], side >= top - 2 * _STEP, [False]])
            edges = np.flatnonzero(np.diff(at_top))
            runs = edges[1::2] - edges[::2]
            if runs[runs >= _FLAT_RUN].sum() > _FLAT_SHARE * len(channel):
                return True
    return False


def _speech_and_floor(level: Sound) -> tuple[float, float]:
    """dB of the louder tenth of what is audible, and of the quietest twentieth of all."""
    import numpy as np

    audible = level[level > _AUDIBLE_DB]
    speech_db = float(np.percentile(audible, 90)) if len(audible) else _AUDIBLE_DB
    return speech_db, float(np.percentile(level, 5))


def _is_silent(level: Sound, speech_db: float, floor_db: float) -> bool:
    audible_s = float((level > _AUDIBLE_DB).sum()) * _FRAME_S
    steady = len(level) * _FRAME_S >= _STEADY_S and speech_db - floor_db < _STEADY_DB
    return audible_s < _FAINTEST_SPEECH_S or steady


def _is_cut(level: Sound, speech_db: float, floor_db: float) -> bool:
    end = float(level[-_END_FRAMES:].max())
    before = float(level[-_END_FRAMES - _BEFORE_FRAMES : -_END_FRAMES].max(initial=-200.0))
    loud = end > max(speech_db - _END_RANGE_DB, floor_db + _ABOVE_FLOOR_DB)
    return loud and before - end < _DECAY_DB


def _is_too_much(hypothesis: str, text: str, language: Language, speech_s: float) -> bool:
    slack_s = _TOO_MUCH_SLACK_S if speech_s else 0.0
    if _shortest_s(hypothesis, language) > speech_s + slack_s:
        return True
    most = _TOO_MUCH * _length(text, language, most=True) + _RATES[language][0] / 2
    return _length(hypothesis, language) > most


def _shortest_s(text: str, language: Language) -> float:
    """How long a text takes at the least."""
    return _length(text, language) / _RATES[language][0]


def _longest_s(text: str, language: Language) -> float:
    """How long a text takes at the most."""
    return _SLACK_S + _length(text, language, most=True) / _RATES[language][1]


def _length(text: str, language: Language, *, most: bool = False) -> float:
    """Letters, or in Mandarin characters; most: of the longest way to say the signs among them."""
    letters = 0.0
    for character in text:
        if unicodedata.east_asian_width(character) in "WF" and character.isalpha():
            letters += 1 if language == "zh" else _LATIN_A_CHARACTER
        elif character.isalpha():
            a_letter = _LETTERS_A_CAPITAL if most and character.isupper() else 1
            letters += a_letter if language == "en" else a_letter / _LATIN_A_CHARACTER
        elif character.isdigit() or unicodedata.category(character)[0] == "S" or character in "%&#@":
            a_sign = _LETTERS_A_SIGN if most else 1
            letters += a_sign if language == "en" else a_sign / _LATIN_A_CHARACTER
    return letters


def _repeats(text: str, language: Language) -> bool:
    """Whether a phrase of 1 to 20 words, or characters, follows itself often enough."""
    words = _WORD.findall(text.lower())
    units = list("".join(words)) if language == "zh" else words
    for length in range(1, _LONGEST_PHRASE + 1):
        enough = max(_REPEATS * length, _SHORTEST_REPEAT) - length
        run = 0
        for earlier, later in zip(units, units[length:], strict=False):
            run = run + 1 if earlier == later else 0
            if run >= enough:
                return True
    return False
