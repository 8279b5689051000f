"""One full-duplex conversation: a recording goes up in real time, and all that comes down is kept."""

from omnieval.duplex.conversation import Conversation
from omnieval.duplex.converse import converse

__all__ = ["Conversation", "converse"]
