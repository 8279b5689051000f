"""Distributions by `scipy.special`: importing `scipy.stats` takes half a second and 50 MB more."""

from __future__ import annotations

from typing import Any


def normal_quantile(probability: float) -> float:
    """Where the standard normal distribution reaches a probability."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def normal_probability(value: float) -> float:
    """The chance that the standard normal distribution stays below a value."""
    from scipy.special import ndtr

    return float(ndtr(value))


def t_quantile(probability: float, degrees: int) -> float:
    """Where Student's distribution of so many degrees of freedom reaches a probability."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Where the beta distribution reaches a probability."""
    from scipy.special import betaincinv

    return float(betaincinv(a, b, probability))


def fair_binomial(trials: int) -> Any:
    """The chances of 0, 1, ... `trials` heads of a fair coin, as an array of shape (trials + 1,)."""
    import numpy as np
    from scipy.special import gammaln

    heads = np.arange(trials + 1)
    logs = -gammaln(heads + 1) - gammaln(trials - heads + 1)
    chances = np.exp(logs - logs.max())
    return chances / chances.sum()


def fair_binomial_below(heads: int, trials: int) -> float:
    """The chance of at most so many heads of a fair coin."""
    from scipy.special import bdtr

    return float(bdtr(heads, trials, 0.5))
