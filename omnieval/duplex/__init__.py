"""One full-duplex conversation: a recording goes up in real time, and all that comes down is kept."""

from omnieval.duplex.conversation import Conversation
from omnieval.duplex.converse import converse

# What a conversation does not take from the recipe of Seed-TTS, which tells the model to read aloud.
OF_CONVERSATIONS = (("system_prompt", None),)

__all__ = ["OF_CONVERSATIONS", "Conversation", "converse"]
