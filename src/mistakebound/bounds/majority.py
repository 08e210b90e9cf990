"""Mistake bounds of Halving, Weighted Majority, and its guarded and randomized forms."""

from __future__ import annotations

import math

from mistakebound._support.arguments import Interval, checked


@checked()
def halving(n: int) -> float:
    """Bound the mistakes of Halving when one of n experts never errs: ``floor(log2 n)``.

    Premises
    --------
    One of the experts never errs.

    Examples
    --------
    >>> halving(1000)
    9.0

    References
    ----------
    docs/theory.md, "Halving".

    """
    return float(n.bit_length() - 1)


@checked()
def weighted_majority(n: int, m: float, beta: float = 0.5, prior: float | None = None) -> float:
    """Bound the mistakes of Weighted Majority, given the mistakes m of the best of n experts.

    ``M <= (ln n + m ln(1/beta)) / ln(2 / (1 + beta))``. For ``beta = 1/2`` this is ``2.41 (m + log2 n)``.

    Parameters
    ----------
    n : int
        Number of experts.
    m : float
        Mistakes of one expert over all rounds. The best expert gives the smallest bound.
    beta : float
        Factor that multiplies the weight of a wrong expert, at least 0 and below 1.
    prior : float, optional
        pi, that expert's share of the initial weight. If set, ``ln(1/pi)`` replaces ``ln n``.

    Premises
    --------
    None: the bound holds for any advice and any outcomes.

    Examples
    --------
    >>> weighted_majority(16, 10)
    33.7...

    References
    ----------
    docs/theory.md, "Weighted Majority".
    Littlestone & Warmuth 1994; Blum 1998.

    """
    return _log_weight_lost(n, m, beta, prior) / -math.log1p((beta - 1) / 2)


@checked(beta=Interval(above=0, below=1))
def guarded_weighted_majority(n: int, m: float, beta: float = 0.5, prior: float | None = None) -> float:
    """Bound the mistakes of Guarded Weighted Majority, given the mistakes m of the best of n experts.

    It is the bound of `weighted_majority`, whatever advice is followed. The parameters are the same, but ``beta`` must
    be above 0.

    Premises
    --------
    None: the bound holds for any advice, any votes and any outcomes.

    Examples
    --------
    >>> guarded_weighted_majority(16, 10)
    33.7...

    References
    ----------
    docs/theory.md, "Guarded Weighted Majority".

    """
    return weighted_majority(n, m, beta, prior)


@checked(beta=Interval(above=0, below=1))
def guarded_plurality(n: int, m: float, d: int, beta: float = 0.5) -> float:
    """Bound the mistakes of a guarded plurality vote on d labels. The first round of each label is a mistake.

    ``M <= d + (ln n + m ln(1/beta)) / ln(2 / (1 + beta))``. For ``beta = 1/2`` this is ``d + 2.41 (m + log2 n)``.

    Parameters
    ----------
    n : int
        Number of experts.
    m : float
        Mistakes of one expert in the rounds whose label had occurred before.
    d : int
        Number of distinct labels.
    beta : float
        Factor that multiplies the weight of a wrong expert, above 0 and below 1.

    Premises
    --------
    None: the bound holds for any advice, any votes and any outcomes.

    Examples
    --------
    >>> guarded_plurality(20, 10, 5)
    39.5...

    References
    ----------
    docs/theory.md, "The guarded plurality".

    """
    return d + guarded_weighted_majority(n, m, beta)


@checked()
def randomized_weighted_majority(n: int, m: float, beta: float = 0.5, prior: float | None = None) -> float:
    """Bound the *expected* mistakes of Randomized Weighted Majority, given the mistakes m of the best of n experts.

    ``E[M] <= (m ln(1/beta) + ln n) / (1 - beta)``. The parameters are those of `weighted_majority`.

    Premises
    --------
    The advice and the outcome of a round do not depend on the random draw of that round.

    Examples
    --------
    >>> randomized_weighted_majority(16, 10)
    19.4...

    References
    ----------
    docs/theory.md, "Randomized Weighted Majority".
    Littlestone & Warmuth 1994; Blum 1998.

    """
    return _log_weight_lost(n, m, beta, prior) / (1 - beta)


def _log_weight_lost(n: int, m: float, beta: float, prior: float | None) -> float:
    """Return ``ln n + m ln(1/beta)``: the logarithm of initial total weight over the expert's final weight."""
    start = math.log(n) if prior is None else -math.log(prior)
    if beta == 0:
        return start if m == 0 else math.inf
    return start - m * math.log(beta)
