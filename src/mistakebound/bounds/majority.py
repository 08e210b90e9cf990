"""Mistake bounds of Halving, Weighted Majority and Randomized Weighted Majority."""

from __future__ import annotations

import math

from mistakebound._support.arguments import checked


@checked()
def halving(n: int) -> float:
    """Bound the mistakes of halving when one of n experts never errs: ``floor(lg n)``.

    Premises
    --------
    One of the experts never errs.

    Examples
    --------
    >>> halving(1000)
    9.0

    """
    return float(n.bit_length() - 1)


@checked()
def weighted_majority(n: int, m: float, beta: float = 0.5, prior: float | None = None) -> float:
    """Bound the mistakes of Weighted Majority by m, those of the best of n experts.

    ``(ln n + m ln(1/beta)) / ln(2 / (1 + beta))``; at ``beta = 1/2`` it is ``2.41 (m + lg n)``.

    Parameters
    ----------
    n : int
        Number of experts.
    m : float
        Mistakes of one of them, over all rounds: of the best, for the smallest bound.
    beta : float
        The factor of a wrong expert's weight, at least 0 and below 1.
    prior : float, optional
        The share of all weight which that expert began with, pi: then ``ln(1/pi)`` stands for ``ln n``.

    Premises
    --------
    None: any advice, any outcomes.

    Examples
    --------
    >>> weighted_majority(16, 10)
    33.7...

    References
    ----------
    Littlestone & Warmuth 1994; Blum 1998.

    """
    return _experts(n, m, beta, prior) / -math.log1p((beta - 1) / 2)


@checked()
def randomized_weighted_majority(n: int, m: float, beta: float = 0.5, prior: float | None = None) -> float:
    """Bound the *expected* mistakes of Randomized Weighted Majority by m, those of the best of n experts.

    ``(m ln(1/beta) + ln n) / (1 - beta)``; arguments as for `weighted_majority`.

    Premises
    --------
    None, if who chooses advice and outcomes does not see the draw of the round.

    Examples
    --------
    >>> randomized_weighted_majority(16, 10)
    19.4...

    References
    ----------
    Littlestone & Warmuth 1994; Blum 1998.

    """
    return _experts(n, m, beta, prior) / (1 - beta)


def _experts(n: int, m: float, beta: float, prior: float | None) -> float:
    start = math.log(n) if prior is None else -math.log(prior)
    if beta == 0:
        return start if m == 0 else math.inf
    return start - m * math.log(beta)
