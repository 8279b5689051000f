"""When to try again, and after how long."""

from __future__ import annotations

from collections.abc import Iterator

from omnieval.config import RetryConfig
from omnieval.types import Failure

# Between two looks at a server that is gone.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 15.0


def pauses() -> Iterator[float]:
    """Seconds between one look at a server that is gone and the next, doubling up to a bound."""
    pause_s = FIRST_PAUSE_S
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def wait_seconds(policy: RetryConfig, attempt: int, failure: Failure) -> float | None:
    """Seconds to wait after the given try (counted from 1), or None for no further one.

    Only failures that can heal are tried again. Waits grow as capped exponential steps with full jitter
    (a random part of the step, so that many clients do not return together); a wait that the server
    asked for is kept, up to the cap.
    """
    if not failure.retryable or attempt >= policy.attempts:
        return None
    if failure.retry_after_s is not None:
        return min(failure.retry_after_s, policy.max_wait_s)
    from tenacity import RetryCallState, Retrying, wait_random_exponential

    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = attempt
    return wait_random_exponential(multiplier=policy.first_wait_s, max=policy.max_wait_s)(state)
