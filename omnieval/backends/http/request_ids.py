"""Names of requests, by which an answer to another one is known.

vLLM makes the `id` of an answer from the header X-Request-Id. A connection that has got out of step, or a
proxy that repeats answers, else gives well-formed answers to the wrong questions. Other servers name their
answers themselves; nothing is known of those then.
"""

from __future__ import annotations

import secrets
from typing import Any

HEADER = "X-Request-Id"
_PREFIX = "omnieval-"


def new_id() -> str:
    """A name that no other request has."""
    return _PREFIX + secrets.token_hex(12)


def is_of_another(answer_id: Any, own: str) -> bool:
    """Whether an answer's id says that it belongs to another request of ours than to `own`."""
    return isinstance(answer_id, str) and _PREFIX in answer_id and own not in answer_id
