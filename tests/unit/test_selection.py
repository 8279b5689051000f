"""Which samples are asked, and in which order."""

from __future__ import annotations

import pytest

from omnieval.benchmarks.base import select
from omnieval.config import SelectConfig
from omnieval.errors import ConfigError
from omnieval.types import Sample


def sample(name: str, cluster: str, kind: str = "x") -> Sample:
    return Sample(name, "b", "?", ("A", "B"), "A", {"type": kind}, cluster, {}, 0)


SAMPLES = [
    sample("a1", "a"),
    sample("b1", "b"),
    sample("a2", "a", "y"),
    sample("c1", "c", "y"),
    sample("b2", "b"),
]


def ids(**choice: object) -> list[str]:
    return [s.id for s in select(SAMPLES, SelectConfig.model_validate(choice))]


def test_samples_of_one_cluster_follow_each_other() -> None:
    assert ids() == ["a1", "a2", "b1", "b2", "c1"]


def test_filter_ids_and_limit_combine() -> None:
    assert ids(filter={"type": "y"}) == ["a2", "c1"]
    assert ids(sample_id=["b2", "a1"]) == ["a1", "b2"]
    assert ids(limit=3) == ["a1", "a2", "b1"]
    assert ids(filter={"type": "x"}, limit=2) == ["a1", "b1"]


def test_shuffling_moves_whole_clusters_and_the_seed_decides() -> None:
    orders = {tuple(ids(shuffle_seed=seed)) for seed in range(30)}
    assert len(orders) == 6
    assert all(abs(order.index("a1") - order.index("a2")) == 1 for order in orders)
    assert ids(shuffle_seed=7) == ids(shuffle_seed=7)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (
            {"filter": {"typ": "x"}},
            r"unknown filter key 'typ' \(did you mean 'type'\?\); filter by one of type",
        ),
        ({"filter": {"colour": "x"}}, "unknown filter key 'colour'; filter by one of type"),
        ({"filter": {"type": "z"}}, r"no sample has type 'z' \(known: x, y\)"),
        ({"sample_id": ["a11"]}, "did you mean 'a1'"),
        ({"sample_id": ["zzzzzz"]}, "lists the ids"),
        ({"filter": {"type": "y"}, "sample_id": ["b2"]}, "leaves nothing to ask"),
    ],
)
def test_an_empty_or_misspelt_selection_is_refused(choice: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ids(**choice)
