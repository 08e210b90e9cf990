"""Mistake bounds for iterative parameter mixing: shards learn from copies of one learner, whose states are averaged.

In epoch n, shard i starts from the mixed z, makes k_in mistakes (or updates) and gets the share mu_in >= 0; the shares
of an epoch sum to 1. The sum of all ``mu_in k_in`` is at most B, the bound of one learner. If in every epoch
``sum_i mu_in k_in >= (sum_i k_in) / shards``, as with equal shares or with shares by mistakes, the total number of
mistakes is at most ``shards * B``, which these functions return. With ``shards = 1``, they return B.
"""

from __future__ import annotations

import math

from mistakebound._support.arguments import AT_LEAST_0, Interval, checked, require
from mistakebound.bounds.disjunctions import littlestone_negatives
from mistakebound.bounds.perceptron import novikoff, pnorm
from mistakebound.bounds.winnow import RATE, balanced_winnow, winnow_fixed_rate


@checked(radius=AT_LEAST_0)
def mixing(radius: float, norm: float, margin: float, shards: int = 1, update_margin: float = 0.0) -> float:
    """Bound the mistakes of all shards of a Perceptron that was mixed: ``shards (R^2 + 2b) (|u| / gamma)^2``.

    Parameters
    ----------
    radius, norm, margin, update_margin : float
        As for `novikoff`.
    shards : int
        The largest number of shards of an epoch.

    Premises
    --------
    ``y (u @ x) >= gamma`` in every round that updates, of all shards; shares as above.

    Notes
    -----
    ``|z|^2`` is convex and ``u @ z`` is linear in z, so that mixing keeps both inequalities of the proof.

    Examples
    --------
    >>> round(mixing(radius=1, norm=1, margin=0.5, shards=8), 6)
    32.0

    References
    ----------
    docs/theory.md, "Mixing: the Perceptron".
    """
    return shards * novikoff(radius, norm, margin, update_margin)


@checked(radius=AT_LEAST_0)
def mixing_pnorm(
    p: float, radius: float, norm: float, margin: float, shards: int = 1, update_margin: float = 0.0
) -> float:
    """Bound the mistakes of all shards of a p-norm Perceptron that was mixed: ``shards`` times `pnorm`.

    Parameters
    ----------
    p, radius, norm, margin, update_margin : float
        As for `pnorm`.
    shards : int
        As for `mixing`.

    Premises
    --------
    As for `mixing`.

    Examples
    --------
    >>> round(mixing_pnorm(p=4, radius=1, norm=1, margin=0.5, shards=2), 6)
    24.0

    References
    ----------
    docs/theory.md, "Mixing: the p-norm Perceptron".
    """
    return shards * pnorm(p, radius, norm, margin, update_margin)


@checked(eta=RATE)
def mixing_winnow(
    n: int,
    margin: float,
    eta: float,
    shards: int = 1,
    radius: float = 1.0,
    *,
    relative_entropy: float | None = None,
    update_margin: float = 0.0,
) -> float:
    """Bound the mistakes of all shards of a NormalizedWinnow that was mixed: ``shards`` times `winnow_fixed_rate`.

    Parameters
    ----------
    n, margin, eta, radius, relative_entropy, update_margin
        As for `winnow_fixed_rate`.
    shards : int
        As for `mixing`.

    Premises
    --------
    As for `winnow_fixed_rate`; shares as for `mixing`.

    Notes
    -----
    The mean of z gives the normalised geometric mean of the weights, and the relative entropy of u from the weights is
    convex in z.

    Examples
    --------
    >>> round(mixing_winnow(1024, margin=0.5, eta=0.5, shards=4), 3)
    213.4...

    References
    ----------
    docs/theory.md, "Mixing: normalised Winnow".
    """
    return shards * winnow_fixed_rate(
        n, margin, eta, radius, relative_entropy=relative_entropy, update_margin=update_margin
    )


@checked(eta=RATE)
def mixing_balanced_winnow(
    n: int,
    margin: float,
    eta: float,
    shards: int = 1,
    radius: float = 1.0,
    *,
    relative_entropy: float | None = None,
    update_margin: float = 0.0,
) -> float:
    """Bound the mistakes of all shards of a BalancedWinnow that was mixed: ``shards`` times `balanced_winnow`.

    Parameters
    ----------
    n, margin, eta, radius, relative_entropy, update_margin
        As for `balanced_winnow`.
    shards : int
        As for `mixing`.

    Premises
    --------
    ``|u|_1 = 1`` and ``y (u @ x) >= gamma`` in every round that updates; shares as for `mixing`.

    Examples
    --------
    >>> round(mixing_balanced_winnow(512, margin=0.5, eta=0.5, shards=4), 3)
    213.4...

    References
    ----------
    docs/theory.md, "Mixing: balanced Winnow".
    """
    return shards * balanced_winnow(
        n, margin, eta, radius, relative_entropy=relative_entropy, update_margin=update_margin
    )


@checked(threshold=Interval(least=1))
def mixing_littlestone(n: int, r: int, threshold: float, alpha: float = 2.0, shards: int = 1) -> float:
    """Bound the mistakes of all shards of a Winnow that was mixed. Their number is strictly below the value.

    ``shards (alpha n / ((alpha-1) theta) + (1 + alpha) r (1 + log_alpha theta))``. In place of the whole number of
    steps in `littlestone`, there is ``1 + log_alpha theta``, because a mixed z need not be a whole number.

    Parameters
    ----------
    n, r : int
        As for `littlestone`.
    threshold : float
        theta, at least 1.
    alpha : float
        As for `littlestone`.
    shards : int
        As for `mixing`.

    Premises
    --------
    As for `littlestone`; shares as for `mixing`.

    Examples
    --------
    >>> mixing_littlestone(64, r=2, threshold=64, shards=2)
    88.0

    References
    ----------
    docs/theory.md, "Mixing: Winnow".
    """
    require(r <= n, f"r must be at most n ({n}), got {r}")
    positives = r * (1 + math.log(threshold) / math.log(alpha))
    return shards * (positives + littlestone_negatives(n, positives, alpha, threshold))
