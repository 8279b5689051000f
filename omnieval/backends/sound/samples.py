"""The samples of a sound as a model in Python gives them, wherever they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

NO_NUMBERS = "the sound holds samples that are no numbers"


def samples_of(audio: Any) -> npt.NDArray[np.floating]:
    """[n] in -1..1, in the order in which they came. audio: a tensor or array of any shape, of floats or of
    whole numbers of full scale, or a list of such."""
    import numpy as np

    pieces = audio if isinstance(audio, list | tuple) else [audio]
    arrays = [np.asarray(_on_host(piece)).reshape(-1) for piece in pieces]
    samples = np.concatenate(arrays) if arrays else np.zeros(0, np.float32)
    return samples / float(np.iinfo(samples.dtype).max) if samples.dtype.kind == "i" else samples


def _on_host(piece: Any) -> Any:
    """A tensor's numbers; numpy knows neither bfloat16 nor devices."""
    if not hasattr(piece, "detach"):
        return piece
    tensor = piece.detach().cpu()
    return (tensor.float() if tensor.is_floating_point() else tensor).numpy()
