"""How sure a number is, and whether two numbers differ. On scipy; nothing here knows of samples or runs."""

from omnieval.stats.bootstrap import BootstrapDifference, mean_interval, paired_bootstrap
from omnieval.stats.clustered import ClusteredFraction, ClusteredMean, clustered_fraction, clustered_mean
from omnieval.stats.intervals import exact_interval, wilson_interval
from omnieval.stats.multiple import holm
from omnieval.stats.noise import RTF_NOISE, RTF_REAL, LatencyDifference, latency_difference
from omnieval.stats.paired import PairedFraction, mcnemar_exact, paired_fraction, sign_flip_exact
from omnieval.stats.power import paired_samples_to_see, samples_to_see, visible_difference
from omnieval.stats.sequential import ERROR, sequential_interval, sequential_side

__all__ = [
    "ERROR",
    "RTF_NOISE",
    "RTF_REAL",
    "BootstrapDifference",
    "ClusteredFraction",
    "ClusteredMean",
    "LatencyDifference",
    "PairedFraction",
    "clustered_fraction",
    "clustered_mean",
    "exact_interval",
    "holm",
    "latency_difference",
    "mcnemar_exact",
    "mean_interval",
    "paired_bootstrap",
    "paired_fraction",
    "paired_samples_to_see",
    "samples_to_see",
    "sequential_interval",
    "sequential_side",
    "sign_flip_exact",
    "visible_difference",
    "wilson_interval",
]
