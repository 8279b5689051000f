"""What a sample's page shows of its media: frames, segments of sound, whole files, and how sounds look."""

from __future__ import annotations

import numpy as np

from omnieval.config import RunConfig
from omnieval.errors import MediaError, StorageError
from omnieval.report.html.markup import Markup, element, joined
from omnieval.scoring.sound_health import read_own_rate
from omnieval.view.material import MediaFile, plain
from omnieval.view.pages import section

_STRETCHES = 400
_LARGEST = 16 * 2**20  # bytes of a sound that is drawn: minutes of it
# Short sounds: what was said, and the voice to say it in.
_DRAWN = ("answer", "try", "reference", "recording")
_PICTURES = {"frame": "frame at", "stacked": "frames joined, after"}
_CALLED = {"reference": "voice to speak in", "recording": "the set's own recording", "try": "earlier try"}


def media_section(files: tuple[MediaFile, ...], url: str, config: RunConfig | None) -> Markup | None:
    """url: of the sample, without a query. config: of the run, where it is known."""
    numbered = [(file, f"{url}/media/{k}") for k, file in enumerate(files)]
    pictures = [(file, place) for file, place in numbered if file.role in _PICTURES]
    strip = [
        element("figure",
                element("img", src=place, alt=f"{_PICTURES[file.role]} {_at(file)}", loading="lazy"),
                element("figcaption", _at(file)))
        for file, place in sorted(pictures, key=lambda one: one[0].timestamp or 0.0)
    ]  # fmt: skip
    sounds = [
        element("li", element("span", _at(file)), _player(place, f"sound at {_at(file)}", preload="none"))
        for file, place in numbered
        if file.role == "segment"
    ]
    whole = [
        _whole(file, place, config) for file, place in numbered if file.role not in (*_PICTURES, "segment")
    ]
    if not strip and not sounds and not whole:
        return None
    return section(
        "Media",
        element("div", *strip, class_="strip", tabindex="0", role="region", aria_label="Frames")
        if strip
        else None,
        element("details", element("summary", f"{len(sounds)} segments of sound"),
                element("ol", *sounds, class_="segments")) if sounds else None,
        element("div", *whole, class_="whole") if whole else None,
    )  # fmt: skip


def _whole(file: MediaFile, url: str, config: RunConfig | None) -> Markup:
    called = _CALLED.get(file.role, file.role)
    if file.kind == "image":
        shown = element("img", src=url, alt=called, loading="lazy")
    elif file.kind == "video":
        shown = element("video", src=url, controls=True, preload="metadata", aria_label=called)
    else:
        shown = joined(_wave(file, called, config) if file.role in _DRAWN else None, _player(url, called))
    told = joined(element("b", called), " ", element("bdi", file.path.name))
    return element("figure", element("figcaption", told), shown)


def _player(url: str, label: str, preload: str = "metadata") -> Markup:
    return element("audio", src=url, controls=True, preload=preload, aria_label=label)


def _wave(file: MediaFile, called: str, config: RunConfig | None) -> Markup | None:
    """The sound's outline, of full scale; a press on it goes to that place of the sound (`view.js`).
    None of a long one, which would be read whole."""
    try:
        path = plain(file, config)
        if path.stat().st_size > (_LARGEST if file.mime == "audio/wav" else _LARGEST // 10):
            return None
        sound, _ = read_own_rate(path)
    except (MediaError, StorageError, OSError) as error:
        return element("p", str(error))
    if not len(sound):
        return None
    stretches = np.array_split(np.nan_to_num(sound[:, 0]), min(_STRETCHES, len(sound)))
    above = [f"{i} {40 - 38 * min(1.0, float(s.max())):.1f}" for i, s in enumerate(stretches)]
    below = [f"{i} {40.5 - 38 * max(-1.0, float(s.min())):.1f}" for i, s in enumerate(stretches)]
    outline = element("path", d=f"M{'L'.join(above + below[::-1])}Z")
    drawing = element(
        "svg", outline, viewBox=f"0 0 {len(stretches)} 80", preserveAspectRatio="none",
        role="img", aria_label=f"Waveform: {called}",
    )  # fmt: skip
    return element("div", drawing, class_="wave")


def _at(file: MediaFile) -> str:
    return "" if file.timestamp is None else f"{file.timestamp:.2f} s"
