"""Mistake bounds of normalised and balanced Winnow: exponential weights on features."""

from __future__ import annotations

import math

from mistakebound._support.arguments import Interval, checked, require
from mistakebound.bounds.perceptron import odd_panel

RATE = Interval(above=0, infinite=True)
"""A rate, of which infinity is taken as the limit."""


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

    ``M <= RE / C``, ``C = eta gamma - ln(cosh(eta L) + (b/L) sinh(eta L))``; infinite unless ``C > 0``.

    Parameters
    ----------
    n : int
        Number of features.
    margin, radius : float
        gamma, above 0 and at most L, and L, the largest absolute value of a feature.
    eta : float
        The rate that the learner used; infinity is taken as the limit.
    relative_entropy : float, optional
        RE of u from the uniform distribution, by default its greatest value ``ln n``.
    update_margin : float
        b >= 0, on the score of the normalised weights.

    Premises
    --------
    ``u >= 0``, ``|u|_1 = 1``, ``y (u @ x) >= gamma`` in every round that updates.

    Examples
    --------
    >>> winnow_fixed_rate(1024, margin=0.5, eta=0.5)
    53.3...

    References
    ----------
    COS 511; CMSC 35900.

    """
    re = math.log(n) if relative_entropy is None else relative_entropy
    return winnow_agnostic(re, 0.0, _up_to(margin, radius), eta, radius, update_margin)


@checked(eta=RATE)
def winnow_gain(margin: float, eta: float, radius: float = 1.0, update_margin: float = 0.0) -> float:
    """Return C of `winnow_fixed_rate`: each update brings the weights at least C nearer to u (in RE).

    Examples
    --------
    >>> winnow_gain(0.5, 0.5)
    0.129...

    """
    return gain_of(margin, eta, radius, update_margin)


def gain_of(margin: float, eta: float, radius: float, update_margin: float) -> float:
    """Return `winnow_gain` of numbers that were measured and lie in range, such as those of a certificate."""
    a, tilt = eta * radius, update_margin / radius
    if a < 1:
        # (b/L) sinh(a) as b eta sinh(a)/a, since b/L may be infinite. Beside an infinite eta gamma, logarithms vanish.
        zone = update_margin * eta * (math.sinh(a) / a if a > 0 else 1.0)
        gained = eta * margin
        return gained if math.isinf(gained) else gained - math.log1p(2 * math.sinh(a / 2) ** 2 + zone)
    # cosh would overflow: keep only what its logarithm falls short of a, at most ln 2.
    if math.isinf(tilt):
        short = math.log(2) - math.log(update_margin) + math.log(radius) - math.log(-math.expm1(-2 * a))
    else:
        short = -math.log1p((1 - tilt) / 2 * math.expm1(-2 * a))
    return short if margin == radius else eta * (margin - radius) + short


@checked()
def winnow_rate(margin: float, radius: float = 1.0) -> float:
    """Return the rate that is best for a margin: ``ln((L + gamma) / (L - gamma)) / 2L``.

    Examples
    --------
    >>> winnow_rate(0.5)
    0.549...
    >>> winnow_rate(1.0)
    inf

    """
    margin = _up_to(margin, radius)
    return math.inf if margin == radius else math.atanh(margin / radius) / radius


@checked()
def winnow_best_rate(n: int, margin: float, radius: float = 1.0) -> float:
    """Bound the mistakes of NormalizedWinnow run with the rate that is best for this margin.

    ``ln n / g(gamma / L) <= 2 L^2 ln n / gamma^2``, ``g(e) = ((1+e) ln(1+e) + (1-e) ln(1-e)) / 2``.
    At ``gamma = L`` it is ``lg n``: halving, but only when the master errs.

    Premises
    --------
    As for `winnow_fixed_rate`, and the learner ran with ``winnow_rate(margin, radius)``.

    Examples
    --------
    >>> winnow_best_rate(1024, 1)
    10.0

    """
    log_n, e = math.log(n), _up_to(margin, radius) / radius
    if log_n == 0 or e == 0:
        return math.inf if log_n else 0.0
    if e < 1e-4:  # the square of e may be no float
        return 2 * log_n / e / e / (1 + e * e / 6)
    if e < 0.5:  # here the textbook form would subtract nearly equal numbers
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
    """Bound the mistakes of NormalizedWinnow on any stream, by any comparator.

    ``M <= (RE + eta H) / C``, C as for `winnow_fixed_rate`; infinite unless ``C > 0``.

    Parameters
    ----------
    relative_entropy : float
        RE of u from the uniform distribution.
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
    The proof in COS 511, with ``y u @ x >= gamma - max(0, gamma - y u @ x)`` for the margin.

    """
    return bound_of(relative_entropy, hinge, margin, eta, radius, update_margin)


def bound_of(
    relative_entropy: float, hinge: float, margin: float, eta: float, radius: float, update_margin: float
) -> float:
    """Return `winnow_agnostic` of numbers that were measured and lie in range, such as those of a certificate."""
    gain = gain_of(margin, eta, radius, update_margin)
    if gain <= 0 or math.isinf(relative_entropy + hinge) or (eta == math.inf and hinge > 0):
        return math.inf
    if math.isinf(gain):  # then the logarithm in it is nothing beside eta gamma
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

    ``M <= (RE + eta H) / C`` as for `winnow_agnostic`.

    Parameters
    ----------
    n : int
        Number of features, before doubling.
    margin, radius, hinge, update_margin : float
        As for `winnow_agnostic`.
    eta : float, optional
        The rate that the learner used, by default ``winnow_rate(margin, radius)``.
    relative_entropy : float, optional
        RE of the doubled u from the uniform distribution on 2n, by default its greatest value ``ln 2n``.

    Premises
    --------
    ``|u|_1 = 1``, of either sign.

    Examples
    --------
    >>> balanced_winnow(512, 1)
    10.0

    References
    ----------
    COS 511, section 5.

    """
    re = math.log(2 * n) if relative_entropy is None else relative_entropy
    eta = winnow_rate(margin, radius) if eta is None else eta
    margin = margin if hinge else _up_to(margin, radius)
    return winnow_agnostic(re, hinge, margin, eta, radius, update_margin)


@checked()
def winnow_panel(n: int, k: int) -> float:
    """Bound NormalizedWinnow's mistakes when the majority of k of n experts is right: ``2 k^2 ln n``.

    The learner ran with ``winnow_rate(1 / k)``.

    Premises
    --------
    Advice in {-1, +1}, k odd, the majority of the k is right in every round that updates.

    Examples
    --------
    >>> winnow_panel(1000, 3)
    124.3...

    """
    odd_panel(n, k)
    return 2 * k**2 * math.log(n)


def _up_to(margin: float, radius: float) -> float:
    # No u with |u|_1 = 1 has a margin above L; forgive what rounding adds to one that equals L.
    require(margin <= radius * (1 + 1e-9), f"margin must be at most radius, which is {radius!r}, got {margin!r}")
    return min(margin, radius)
