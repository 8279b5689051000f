"""Tries are bounded, waits grow up to the cap, and what cannot heal is not tried again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnieval.backends.retry import wait_seconds
from omnieval.config import RetryConfig
from omnieval.types import Failure

HEALS = Failure("server", "x", retryable=True)
POLICY = RetryConfig(attempts=4, first_wait_s=1.0, max_wait_s=10.0)


@given(attempt=st.integers(1, 40), attempts=st.integers(1, 40))
def test_a_wait_lies_within_the_capped_exponential_step(attempt: int, attempts: int) -> None:
    policy = RetryConfig(attempts=attempts, first_wait_s=0.5, max_wait_s=10.0)
    wait_s = wait_seconds(policy, attempt, HEALS)
    if attempt >= attempts:
        assert wait_s is None
    else:
        assert wait_s is not None
        assert 0 <= wait_s <= min(10.0, 0.5 * 2 ** (attempt + 1))


def test_waits_are_spread_so_that_clients_do_not_return_together() -> None:
    assert len({wait_seconds(POLICY, 3, HEALS) for _ in range(20)}) > 10


def test_what_cannot_heal_is_not_tried_again() -> None:
    assert wait_seconds(POLICY, 1, Failure("configuration", "x", retryable=False)) is None


@pytest.mark.parametrize(("asked_s", "wait_s"), [(3.0, 3.0), (0.0, 0.0), (3600.0, 10.0)])
def test_the_wait_that_a_server_asks_for_is_kept_up_to_the_cap(asked_s: float, wait_s: float) -> None:
    assert wait_seconds(POLICY, 1, Failure("busy", "x", retryable=True, retry_after_s=asked_s)) == wait_s
