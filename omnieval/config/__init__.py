"""What decides a run: its sections, how a recipe becomes one, and what two configurations have different."""

from omnieval.config.changes import differences
from omnieval.config.run import OPERATIONAL, RunConfig, most_in_flight
from omnieval.config.sections import (
    OptionsConfig,
    PcmConfig,
    RecogniserConfig,
    RetryConfig,
    SelectConfig,
    SimilarityConfig,
    Strict,
    TimeoutConfig,
)
from omnieval.config.sources import (
    PATH_VARIABLES,
    environment_paths,
    load_recipe,
    parse_assignment,
    resolve,
)

__all__ = [
    "OPERATIONAL",
    "PATH_VARIABLES",
    "OptionsConfig",
    "PcmConfig",
    "RecogniserConfig",
    "RetryConfig",
    "RunConfig",
    "SelectConfig",
    "SimilarityConfig",
    "Strict",
    "TimeoutConfig",
    "differences",
    "environment_paths",
    "load_recipe",
    "most_in_flight",
    "parse_assignment",
    "resolve",
]
