"""One full-duplex conversation: a recording goes up in real time, and all that comes down is kept."""

from omnieval.duplex.converse import converse
from omnieval.duplex.input_wav import read_input

__all__ = ["converse", "read_input"]
