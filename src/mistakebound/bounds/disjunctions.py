"""Mistake bounds of Littlestone's Winnow and of Elimination, for disjunctions and for separable binary data."""

from __future__ import annotations

import math

from mistakebound._support.arguments import Interval, checked, require
from mistakebound.bounds.exact import evaluated, steps


@checked()
def littlestone(
    n: int,
    r: int,
    alpha: float = 2.0,
    threshold: float | None = None,
    strict: bool = False,  # noqa: FBT001, FBT002
) -> float:
    """Bound Winnow's mistakes when the label is a disjunction of features. M is strictly below the value.

    ``M < alpha n / ((alpha-1) theta) + (1 + alpha) r s``, where s is the smallest integer with ``alpha^s >= theta``.

    Parameters
    ----------
    n, r : int
        Number of features, and number of relevant features.
    alpha : float
        Factor of a promotion, above 1.
    threshold : float, optional
        theta > 0, by default n.
    strict : bool
        True if the rule predicts 1 only when the score is above theta. Then s must satisfy ``alpha^s > theta``.

    Premises
    --------
    x in {0, 1}^n and the label is an OR of r of the features.

    Examples
    --------
    >>> littlestone(100, 2)
    44.0

    References
    ----------
    docs/theory.md, "Winnow on disjunctions".
    Littlestone 1988; Blum 1998.

    """
    positives = littlestone_positives(n, r, alpha, threshold, strict)
    return positives + littlestone_negatives(n, positives, alpha, threshold)


@checked()
def littlestone_positives(
    n: int,
    r: int,
    alpha: float = 2.0,
    threshold: float | None = None,
    strict: bool = False,  # noqa: FBT001, FBT002
) -> float:
    """Bound Winnow's mistakes on positive examples: ``r s``, with s as in `littlestone`.

    Each such mistake promotes a relevant weight, and relevant weights are never demoted.

    Examples
    --------
    >>> littlestone_positives(100, 2)
    14.0

    References
    ----------
    docs/theory.md, "Winnow on disjunctions".

    """
    theta = _theta(n, threshold)
    require(r <= n, f"r must be at most n ({n}), got {r}")
    return float(r * steps(alpha, theta, strict=strict))


@checked()
def littlestone_negatives(n: int, positives: float, alpha: float = 2.0, threshold: float | None = None) -> float:
    """Bound Winnow's mistakes on negative examples, given the mistakes on positive examples.

    The number is strictly below ``alpha n / ((alpha - 1) theta) + alpha positives``, because demotions cannot remove
    more weight than there was at the start and promotions added.

    Examples
    --------
    >>> littlestone_negatives(100, 14)
    30.0

    References
    ----------
    docs/theory.md, "Winnow".

    """
    start = evaluated(lambda n, a, theta: a * n / ((a - 1) * theta), n, alpha, _theta(n, threshold))
    return start + alpha * positives


@checked(threshold=Interval(least=1))
def littlestone_separable(n: int, mass: float, delta: float, alpha: float, threshold: float) -> float:
    """Bound Winnow's mistakes when non-negative weights mu separate the labels.

    There are two forms. The value is the smaller of the forms that apply, or infinity if none applies.

    - If ``alpha < 1 / (1 - delta)``: ``A + (2 - delta) v`` with ``A = mass (1 + log_alpha theta)`` and
      ``v = (A + n / ((alpha - 1) theta)) / (1/alpha - 1 + delta)``.
    - If ``alpha = 1 + delta/2``: ``8n / (delta^2 theta) + (5/delta + 14 ln theta / delta^2) mass``.

    Parameters
    ----------
    n : int
        Number of features.
    mass : float
        Sum of the weights mu.
    delta : float
        Separation of the labels by mu, above 0 and at most 1.
    alpha, threshold : float
        Factor of a promotion, above 1, and theta, at least 1.

    Premises
    --------
    x in {0, 1}^n, ``mu @ x >= 1`` on positive examples and ``<= 1 - delta`` on negative ones.

    Examples
    --------
    >>> littlestone_separable(100, 2, 1, 1.5, 100)
    64.7...

    References
    ----------
    docs/theory.md, "Winnow on separable data".
    Littlestone 1988, Theorem 9.

    """
    theta = threshold
    forms = [math.inf]
    room = 1 / alpha - 1 + delta
    if room > 1e-12:  # a smaller value may be a 0 with a rounding error
        a = mass * (1 + math.log(theta) / math.log(alpha))
        forms.append(a + (2 - delta) * (a + n / ((alpha - 1) * theta)) / room)
    if math.isclose(alpha - 1, delta / 2):
        forms.append(8 * n / (delta**2 * theta) + (5 / delta + 14 * math.log(theta) / delta**2) * mass)
    return min(forms)


@checked()
def infinite_winnow(r: int, active: int, c: float, strict: bool = False) -> float:  # noqa: FBT001, FBT002
    """Bound Winnow's mistakes on a disjunction when the number of features is not known in advance.

    ``M <= (1 + (c + 1) / (c/2 - 1)) r ceil(log2(c sigma))``. If strict, ``floor(log2(c sigma)) + 1`` replaces the ceil.

    Parameters
    ----------
    r, active : int
        Number of relevant features, and sigma >= 1, the largest number of active features in an example.
    c : float
        Above 2. The threshold is ``c sigma``, and alpha is 2.
    strict : bool
        True if the rule predicts 1 only when the score is above the threshold.

    Premises
    --------
    x is binary, the label is an OR of r features, and a feature that was never seen has weight 1.

    Examples
    --------
    >>> infinite_winnow(2, 8, 4)
    60.0

    References
    ----------
    docs/theory.md, "Winnow with an unknown number of features".
    Blum 1992.

    """
    theta = c * active
    # Callers compute c as theta / sigma. Undo its rounding error, which could move theta across a power of two.
    if math.isclose(theta, round(theta), rel_tol=1e-12):
        theta = round(theta)
    return (1 + (c + 1) / (c / 2 - 1)) * r * steps(2.0, theta, strict=strict)


@checked()
def elimination(n: int, r: int = 0) -> float:
    """Bound the mistakes of Elimination when the label is an OR of r of the n variables: ``n - r``.

    Premises
    --------
    x in {0, 1}^n and the label is an OR of r of the variables.

    Examples
    --------
    >>> elimination(100, 2)
    98.0

    References
    ----------
    docs/theory.md, "Elimination".

    """
    require(r <= n, f"r must be at most n ({n}), got {r}")
    return float(n - r)


def _theta(n: int, threshold: float | None) -> float:
    return float(n) if threshold is None else threshold
