"""Makes the bundled Seed-TTS sample: lines to be said, clips of a voice to be copied, and the lines as said.

Run it as `python -m omnieval.samples.build_seed_tts [FOLDER]`; it needs the extra `samples`. The same
versions of the parts give the same files. What it makes is dedicated to the public domain (CC0).
"""

from __future__ import annotations

import sys
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from omnieval.samples import sample_dir
from omnieval.samples.build_daily_omni import RATE_HZ, say

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Sound = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Line:
    """A line of `meta.lst`. prompt: a key of `PROMPTS`. five_fields: it names its recording too."""

    utterance: str
    prompt: str
    text: str
    five_fields: bool

    def written(self) -> str:
        """The line as the file has it."""
        fields = [self.utterance, PROMPTS[self.prompt], f"prompt-wavs/{self.prompt}.wav", self.text]
        return "|".join([*fields, f"wavs/{self.utterance}.wav"] if self.five_fields else fields)


PROMPTS = {
    "joe-garden": "Every summer my grandfather mends the old fence around his garden.",
    "joe-window": "A cup of hot tea stood beside the open window, and nobody drank it.",
}
# Said by another voice, which is a made-up one: joe's, played faster, 25 samples for every 32.
OTHER_TEXT = PROMPTS["joe-window"]
OTHER_LENGTH = (25, 32)
LINES = (
    Line("en-bakery", "joe-garden", "The bakery on the corner opens before sunrise.", True),
    Line("en-river", "joe-garden", "We walked along the river until it was dark.", True),
    Line("en-tower", "joe-garden", "The old tower has fifty steps and a wooden door.", True),
    Line("en-piano", "joe-garden", "My sister plays the piano every morning.", True),
    Line("en-coat", "joe-window", "Rain is expected in the north, so take a warm coat.", False),
    Line("en-drawer", "joe-window", "He put the letter back into the drawer and closed it.", False),
    Line("en-bus", "joe-window", "The first bus leaves early on Monday.", False),
    Line("en-theatre", "joe-window", "Good evening, and welcome to our little theatre by the sea.", False),
)


def build(folder: Path) -> None:
    """Write `en/meta.lst`, `en/prompt-wavs`, `en/wavs` and `other-voice` into a folder."""
    english = folder / "en"
    english.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{line.written()}\n" for line in LINES)
    (english / "meta.lst").write_text(text, encoding="utf-8")
    for name, prompt in PROMPTS.items():
        _write_wav(english / "prompt-wavs" / f"{name}.wav", say(prompt)())
    for line in LINES:
        _write_wav(english / "wavs" / f"{line.utterance}.wav", say(line.text)())
    _write_wav(folder / "other-voice" / "other.wav", _raised(say(OTHER_TEXT)()))


def _raised(sound: Sound) -> Sound:
    """The sound with all its frequencies higher: played faster."""
    import numpy as np
    from scipy.signal import resample_poly

    raised: Sound = np.clip(resample_poly(sound, *OTHER_LENGTH), -1.0, 1.0).astype(np.float32)
    return raised


def _write_wav(path: Path, sound: Sound) -> None:
    """16 bit, mono."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes((sound * 32767).astype("<i2").tobytes())


def main(arguments: Sequence[str]) -> None:
    """Build into the given folder, or into the package."""
    build(Path(arguments[0]) if arguments else sample_dir("seed-tts"))


if __name__ == "__main__":
    main(sys.argv[1:])
