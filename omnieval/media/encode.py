"""Pictures and sounds as the bytes of a file."""

from __future__ import annotations

import io
import wave
from typing import TYPE_CHECKING

from omnieval.media.plan import AUDIO_RATE_HZ
from omnieval.types import ImageEncoding

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_FORMATS = {
    "jpeg": (".jpg", "image/jpeg"),
    "png": (".png", "image/png"),
    "webp": (".webp", "image/webp"),
}


def image_suffix_and_mime(encoding: ImageEncoding) -> tuple[str, str]:
    """(file name suffix with its dot, MIME type)."""
    return _FORMATS[encoding.format]


def encode_image(rgb: npt.NDArray[np.uint8], encoding: ImageEncoding) -> bytes:
    """rgb: [height, width, 3], uint8. JPEG by libjpeg-turbo; PNG and WebP lossless."""
    from PIL import Image

    image = Image.fromarray(rgb)
    buffer = io.BytesIO()
    if encoding.format == "jpeg":
        image.save(buffer, "JPEG", quality=encoding.quality, subsampling=encoding.subsampling)
    elif encoding.format == "webp":
        image.save(buffer, "WEBP", lossless=True, quality=0, method=0)
    else:
        image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def encode_wav(samples: npt.NDArray[np.float32], rate_hz: int = AUDIO_RATE_HZ) -> bytes:
    """samples: [n], float in -1..1 (clipped), to a 16-bit mono WAV; values are scaled by 32767 and
    truncated towards zero, as the reference client does."""
    import numpy as np

    pcm = (np.clip(samples.astype(np.float64), -1.0, 1.0) * 32767.0).astype("<i2")
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(pcm.tobytes())
    return buffer.getvalue()
