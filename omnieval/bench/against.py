"""Whether a bench that is about to be run can be set against another one."""

from __future__ import annotations

from omnieval.bench.store import Bench
from omnieval.config import RunConfig
from omnieval.engine.execute import load_askable
from omnieval.errors import ConfigError
from omnieval.wording import as_typed


def require_same_data(config: RunConfig, other: Bench) -> None:
    """Raises ConfigError where the other bench asked other data, DataError where there are none here."""
    done = next((run.run for name in other.names if (run := other.finished(name)) is not None), None)
    if done is None:
        raise ConfigError(
            f"{other.directory}: no run of this bench is finished, so that there is nothing to set against; "
            f"omnieval bench --resume {as_typed(other.directory)}"
        )
    _, dataset, _ = load_askable(config, lambda _: None)
    theirs = (done.config["benchmark"], done.info["dataset"]["fingerprint"])
    ours = (config.benchmark, dataset.fingerprint())
    if theirs != ours:
        raise ConfigError(
            f"{other.directory} asked other data ({' '.join(theirs)}) than this bench would "
            f"({' '.join(ours)}); leave out --against, or name a bench of the same data"
        )
