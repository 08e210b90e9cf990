"""Mistake bounds of normalised and balanced Winnow: exponential weights on features."""

from __future__ import annotations

import math

from mistakebound._support.arguments import Interval, checked, require
from mistakebound.bounds.perceptron import odd_panel

RATE = Interval(above=0, infinite=True)
"""Range of a rate. An infinite rate stands for the limit of large rates."""


@checked(eta=RATE)
def winnow_fixed_rate(
    n: int,
    margin: float,
    eta: float,
    radius: float = 1.0,
    *,
    relative_entropy: float | None = None,
    update_margin: float = 0.0,
) -> float:
    """Bound the mistakes of NormalizedWinnow run with rate eta.

    ``M <= RE / C`` with ``C = eta gamma - ln(cosh(eta L) + (b/L) sinh(eta L))``. It is infinity unless ``C > 0``.

    Parameters
    ----------
    n : int
        Number of features.
    margin : float
        gamma, above 0 and at most L.
    eta : float
        The rate that the learner used. Infinity stands for the limit of large rates.
    radius : float
        L, the largest absolute value of a feature.
    relative_entropy : float, optional
        RE, the relative entropy of u from the uniform distribution, by default ``ln n``, its largest value.
    update_margin : float
        b >= 0, compared with ``y`` times the score of the normalised weights.

    Premises
    --------
    ``u >= 0``, ``|u|_1 = 1``, ``y (u @ x) >= gamma`` in every round that updates.

    Examples
    --------
    >>> winnow_fixed_rate(1024, margin=0.5, eta=0.5)
    53.3...

    References
    ----------
    docs/theory.md, "Normalised Winnow at a fixed rate".

    """
    re = math.log(n) if relative_entropy is None else relative_entropy
    return winnow_agnostic(re, 0.0, _margin_within(margin, radius), eta, radius, update_margin)


@checked(eta=RATE)
def winnow_gain(margin: float, eta: float, radius: float = 1.0, update_margin: float = 0.0) -> float:
    """Return C of `winnow_fixed_rate`: each update reduces the relative entropy of u from the weights by at least C.

    Examples
    --------
    >>> winnow_gain(0.5, 0.5)
    0.129...

    References
    ----------
    docs/theory.md, "Normalised Winnow".

    """
    return winnow_gain_unchecked(margin, eta, radius, update_margin)


def winnow_gain_unchecked(margin: float, eta: float, radius: float, update_margin: float) -> float:
    """Return `winnow_gain` without checking the arguments, for callers that measured them, such as certificates."""
    a, tilt = eta * radius, update_margin / radius
    if a < 1:
        # Compute (b/L) sinh(a) as b eta sinh(a)/a, because b/L may overflow. If eta gamma is infinite, so is C.
        zone = update_margin * eta * (math.sinh(a) / a if a > 0 else 1.0)
        gained = eta * margin
        return gained if math.isinf(gained) else gained - math.log1p(2 * math.sinh(a / 2) ** 2 + zone)
    # cosh(a) may overflow. Compute a minus the logarithm instead, which is at most ln 2 if b = 0.
    if math.isinf(tilt):
        short = math.log(2) - math.log(update_margin) + math.log(radius) - math.log(-math.expm1(-2 * a))
    else:
        short = -math.log1p((1 - tilt) / 2 * math.expm1(-2 * a))
    return short if margin == radius else eta * (margin - radius) + short


@checked()
def winnow_rate(margin: float, radius: float = 1.0) -> float:
    """Return the rate with the smallest bound for a margin: ``ln((L + gamma) / (L - gamma)) / 2L``.

    Examples
    --------
    >>> winnow_rate(0.5)
    0.549...
    >>> winnow_rate(1.0)
    inf

    References
    ----------
    docs/theory.md, "Normalised Winnow at the best rate".

    """
    margin = _margin_within(margin, radius)
    return math.inf if margin == radius else math.atanh(margin / radius) / radius


@checked()
def winnow_best_rate(n: int, margin: float, radius: float = 1.0) -> float:
    """Bound the mistakes of NormalizedWinnow run with the rate `winnow_rate` for this margin.

    ``M <= ln n / g(gamma / L)`` with ``g(e) = ((1+e) ln(1+e) + (1-e) ln(1-e)) / 2``. The value is at most
    ``2 L^2 ln n / gamma^2``. At ``gamma = L`` it is ``log2 n``, the bound of Halving.

    Premises
    --------
    As for `winnow_fixed_rate`, and the learner ran with ``winnow_rate(margin, radius)``.

    Examples
    --------
    >>> winnow_best_rate(1024, 1)
    10.0

    References
    ----------
    docs/theory.md, "Normalised Winnow at the best rate".

    """
    log_n, e = math.log(n), _margin_within(margin, radius) / radius
    if log_n == 0 or e == 0:
        return math.inf if log_n else 0.0
    if e < 1e-4:  # the square of e may underflow: divide by e twice
        return 2 * log_n / e / e / (1 + e * e / 6)
    if e < 0.5:  # the textbook form would subtract nearly equal numbers
        g = e * math.atanh(e) + math.log1p(-e * e) / 2
    else:
        g = ((1 + e) * math.log1p(e) + ((1 - e) * math.log(1 - e) if e < 1 else 0.0)) / 2
    return log_n / g


@checked(eta=RATE)
def winnow_agnostic(
    relative_entropy: float,
    hinge: float,
    margin: float,
    eta: float,
    radius: float = 1.0,
    update_margin: float = 0.0,
) -> float:
    """Bound the mistakes of NormalizedWinnow on any stream, from the hinge loss of any comparator.

    ``M <= (RE + eta H) / C`` with C as for `winnow_fixed_rate`. The value is infinity unless ``C > 0``.

    Parameters
    ----------
    relative_entropy : float
        RE, the relative entropy of u from the uniform distribution.
    hinge : float
        ``H = sum max(0, gamma - y u @ x)`` over the rounds that update.
    margin, eta, radius, update_margin : float
        As for `winnow_fixed_rate`, but gamma may exceed L.

    Premises
    --------
    ``u >= 0``, ``|u|_1 = 1``.

    Examples
    --------
    >>> winnow_agnostic(6.9, hinge=10, margin=0.5, eta=0.5)
    91.6...

    References
    ----------
    docs/theory.md, "Normalised Winnow on any stream".

    """
    return winnow_agnostic_unchecked(relative_entropy, hinge, margin, eta, radius, update_margin)


def winnow_agnostic_unchecked(
    relative_entropy: float, hinge: float, margin: float, eta: float, radius: float, update_margin: float
) -> float:
    """Return `winnow_agnostic` without checking the arguments, for callers that measured them, such as certificates."""
    gain = winnow_gain_unchecked(margin, eta, radius, update_margin)
    if gain <= 0 or math.isinf(relative_entropy + hinge) or (eta == math.inf and hinge > 0):
        return math.inf
    if math.isinf(gain):  # eta gamma overflowed, and the logarithm in C is negligible: divide by eta
        return (relative_entropy / eta + hinge) / margin
    return (relative_entropy + (eta * hinge if hinge else 0.0)) / gain


@checked(eta=RATE)
def balanced_winnow(
    n: int,
    margin: float,
    eta: float | None = None,
    radius: float = 1.0,
    *,
    relative_entropy: float | None = None,
    hinge: float = 0.0,
    update_margin: float = 0.0,
) -> float:
    """Bound the mistakes of BalancedWinnow: NormalizedWinnow on the doubled vector (x, -x).

    ``M <= (RE + eta H) / C``, as for `winnow_agnostic`.

    Parameters
    ----------
    n : int
        Number of features, before doubling.
    margin, radius, hinge, update_margin : float
        As for `winnow_agnostic`.
    eta : float, optional
        The rate that the learner used, by default ``winnow_rate(margin, radius)``.
    relative_entropy : float, optional
        RE, the relative entropy of the doubled u from the uniform distribution on 2n features, by default ``ln 2n``,
        its largest value.

    Premises
    --------
    ``|u|_1 = 1``. Weights of u may have either sign.

    Examples
    --------
    >>> balanced_winnow(512, 1)
    10.0

    References
    ----------
    docs/theory.md, "Balanced Winnow".

    """
    re = math.log(2 * n) if relative_entropy is None else relative_entropy
    eta = winnow_rate(margin, radius) if eta is None else eta
    margin = margin if hinge else _margin_within(margin, radius)
    return winnow_agnostic(re, hinge, margin, eta, radius, update_margin)


@checked()
def winnow_panel(n: int, k: int) -> float:
    """Bound NormalizedWinnow's mistakes when the majority of k of n experts is right: ``2 k^2 ln n``.

    The learner ran with ``winnow_rate(1 / k)``.

    Premises
    --------
    Advice is in {-1, +1}, k is odd, and the majority of the k experts is right in every round that updates.

    Examples
    --------
    >>> winnow_panel(1000, 3)
    124.3...

    References
    ----------
    docs/theory.md, "Normalised Winnow and a majority of k experts".

    """
    odd_panel(n, k)
    return 2 * k**2 * math.log(n)


def _margin_within(margin: float, radius: float) -> float:
    # No u with |u|_1 = 1 has a margin above L. Tolerate the rounding error of a margin that equals L.
    require(margin <= radius * (1 + 1e-9), f"margin must be at most radius ({radius!r}), got {margin!r}")
    return min(margin, radius)
