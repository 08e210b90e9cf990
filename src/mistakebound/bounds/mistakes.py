"""Mistake bounds: one plain function per theorem, each the value of its formula.

The letters are the textbook's: M mistakes, n features or experts, u a comparator, gamma its margin, R the
largest norm of an example (X for p-norms, L for the largest absolute value of a feature), b the update zone:
the rule also updates when ``y * score <= b``, and the bound is then on the updates, which are at least M.
Losses and norms may be taken over the rounds that updated.

A formula speaks only when its premises hold on the stream; to check them is the certificate's work.
Arguments out of their range raise ``ValueError`` naming the argument; counts must be whole. A value that is too large
for a float is infinity: still true, and vacuous.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mistakebound._support.arguments import AT_LEAST_0, Range, checked, require

if TYPE_CHECKING:
    from collections.abc import Callable

RATE = Range(above=0, infinite=True)
"""A rate, of which infinity is taken as the limit."""


# -- additive rules ------------------------------------------------------------------------------------------


@checked(radius=AT_LEAST_0)
def novikoff(radius: float, norm: float, margin: float, update_margin: float = 0.0) -> float:
    """Bound the Perceptron's mistakes when a comparator separates with a margin.

    ``M <= (R^2 + 2b) (|u|_2 / gamma)^2``

    Parameters
    ----------
    radius, norm : float
        R, the largest Euclidean norm of an example, and that of u.
    margin : float
        gamma > 0.
    update_margin : float
        b >= 0, on the score ``z @ x``.

    Premises
    --------
    ``y (u @ x) >= gamma`` in every round that updates.

    Examples
    --------
    >>> novikoff(radius=1, norm=1, margin=0.5)
    4.0

    References
    ----------
    Novikoff 1962; CMSC 35900.

    """
    return pnorm(2.0, radius, norm, margin, update_margin)


@checked()
def perceptron_panel(n: int, k: int) -> float:
    """Bound the Perceptron's mistakes when the majority of k of n experts is always right: ``M <= n k``.

    It is `novikoff` with ``R^2 = n``, ``|u|_2 = 1 / sqrt(k)``, ``gamma = 1 / k``.

    Premises
    --------
    Advice in {-1, +1}, k odd, and the majority of the k is right in every round that updates.

    Examples
    --------
    >>> perceptron_panel(100, 3)
    300.0

    """
    _panel(n, k)
    return float(n * k)


@checked(radius=AT_LEAST_0)
def perceptron_agnostic(
    radius: float,
    norm: float,
    margin: float,
    *,
    squared_hinge: float | None = None,
    hinge: float | None = None,
    update_margin: float = 0.0,
) -> float:
    """Bound the Perceptron's mistakes on any stream, by any comparator.

    ``((r + D) / gamma)^2`` or ``((k + sqrt(k^2 + 4 L1)) / 2)^2``, the smaller of those whose loss is given;
    ``r = |u|_2 sqrt(R^2 + 2b)``, ``k = r / gamma``.

    Parameters
    ----------
    radius, norm, margin, update_margin : float
        As for `novikoff`.
    squared_hinge : float, optional
        ``D = sqrt(sum max(0, gamma - y u @ x)^2)`` over the rounds that update.
    hinge : float, optional
        ``L1 = sum max(0, 1 - y u @ x / gamma)`` over them.

    Notes
    -----
    After U updates ``|z|^2 <= U (R^2 + 2b)``, since each adds ``2 y z @ x + |x|^2 <= 2b + R^2``; and
    ``u @ z >= gamma U - S``, S the sum of the hinge losses. Hence ``gamma U <= r sqrt(U) + S``:
    put ``S = gamma L1`` and solve for sqrt(U), or ``S <= D sqrt(U)`` (Cauchy-Schwarz) and divide.

    Premises
    --------
    None: any stream, any u, any gamma; the losses are over the rounds that update.

    Examples
    --------
    >>> perceptron_agnostic(1, 1, 0.5, squared_hinge=0.5)
    9.0
    >>> perceptron_agnostic(1, 1, 1, hinge=2)
    4.0

    References
    ----------
    Freund & Schapire 1999, Theorem 2 (D); Mohri & Rostamizadeh 2013 (L1).

    """
    forms = []
    if squared_hinge is not None:
        k = math.sqrt(novikoff(radius, norm, margin, update_margin))
        forms.append((k + squared_hinge / margin) ** 2)
    if hinge is not None:
        forms.append(pnorm(2.0, radius, norm, margin, update_margin, hinge))
    require(bool(forms), "squared_hinge or hinge must be given")
    return min(forms)


@checked(radius=AT_LEAST_0)
def pnorm(
    p: float,
    radius: float,
    norm: float,
    margin: float,
    update_margin: float = 0.0,
    hinge: float | None = None,
) -> float:
    """Bound the mistakes of the p-norm Perceptron.

    ``M <= k^2`` with ``k = sqrt((p-1) X^2 + 2b) |u|_q / gamma``, or on any stream
    ``M <= ((k + sqrt(k^2 + 4 L1)) / 2)^2``.

    Parameters
    ----------
    p : float
        At least 2; the comparator is measured in the dual norm, ``1/p + 1/q = 1``.
    radius, norm : float
        X, the largest p-norm of an example, and the q-norm of u.
    margin : float
        gamma > 0.
    update_margin : float
        b >= 0, on the score of the normalised link.
    hinge : float, optional
        ``L1 = sum max(0, 1 - y u @ x / gamma)`` over the rounds that update; left out, u must separate.

    Premises
    --------
    ``y (u @ x) >= gamma`` in every round that updates; with ``hinge``, none.

    Examples
    --------
    >>> pnorm(p=4, radius=1, norm=1, margin=0.5)
    12.0

    References
    ----------
    Grove, Littlestone & Schuurmans 2001; Gentile 2003.

    """
    square = _evaluated(
        lambda p, X, b, u, gamma: ((p - 1) * X**2 + 2 * b) * (u / gamma) ** 2, p, radius, update_margin, norm, margin
    )
    if hinge is None or hinge == 0:
        return square
    return ((math.sqrt(square) + math.sqrt(square + 4 * hinge)) / 2) ** 2


# -- disjunctions --------------------------------------------------------------------------------------------


@checked()
def littlestone(
    n: int,
    r: int,
    alpha: float = 2.0,
    threshold: float | None = None,
    strict: bool = False,  # noqa: FBT001, FBT002
) -> float:
    """Bound Winnow's mistakes on a disjunction; M is strictly below the value.

    ``alpha n / ((alpha-1) theta) + (1 + alpha) r s``, s the least number of steps with ``alpha^s >= theta``.

    Parameters
    ----------
    n, r : int
        Number of features, and of the relevant ones.
    alpha : float
        Factor of a promotion, above 1.
    threshold : float, optional
        theta > 0, by default n.
    strict : bool
        True if the rule predicts 1 only above theta; then ``alpha^s > theta``.

    Premises
    --------
    x in {0, 1}^n and the label is an OR of r of the features.

    Examples
    --------
    >>> littlestone(100, 2)
    44.0

    References
    ----------
    Littlestone 1988; Blum 1998; UIC 412.

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
    """Bound Winnow's mistakes on positive examples: ``r s``, each raises a relevant weight, and none falls.

    Examples
    --------
    >>> littlestone_positives(100, 2)
    14.0

    """
    theta = _theta(n, threshold)
    require(r <= n, f"r must be from 0 to n, which is {n}, got {r}")
    return float(r * _steps(alpha, theta, strict=strict))


@checked()
def littlestone_negatives(n: int, positives: float, alpha: float = 2.0, threshold: float | None = None) -> float:
    """Bound Winnow's mistakes on negative examples by those on `positives`, strictly.

    ``alpha n / ((alpha - 1) theta) + alpha positives``, since no more weight can be removed than was there.

    Examples
    --------
    >>> littlestone_negatives(100, 14)
    30.0

    """
    start = _evaluated(lambda n, a, theta: a * n / ((a - 1) * theta), n, alpha, _theta(n, threshold))
    return start + alpha * positives


@checked(threshold=Range(least=1))
def littlestone_separable(n: int, mass: float, delta: float, alpha: float, threshold: float) -> float:
    """Bound Winnow's mistakes on labels that non-negative weights separate.

    ``A + (2 - delta) v``, ``A = mass (1 + log_alpha theta)``,
    ``v = (A + n / ((alpha - 1) theta)) / (1/alpha - 1 + delta)``, if ``alpha < 1 / (1 - delta)``;
    ``8n / (delta^2 theta) + (5/delta + 14 ln theta / delta^2) mass``, if ``alpha = 1 + delta/2``;
    the smaller of those that apply, infinity if none does.

    Parameters
    ----------
    n : int
        Number of features.
    mass, delta : float
        Sum of the weights mu, and their separation, above 0 and at most 1.
    alpha, threshold : float
        Factor of a promotion, above 1, and theta >= 1.

    Premises
    --------
    x in {0, 1}^n, ``mu @ x >= 1`` on positive examples and ``<= 1 - delta`` on negative ones.

    Examples
    --------
    >>> littlestone_separable(100, 2, 1, 1.5, 100)
    64.7...

    References
    ----------
    Littlestone 1988, Theorem 9.

    """
    theta = threshold
    forms = [math.inf]
    room = 1 / alpha - 1 + delta
    if room > 1e-12:  # not a rounded 0
        a = mass * (1 + math.log(theta) / math.log(alpha))
        forms.append(a + (2 - delta) * (a + n / ((alpha - 1) * theta)) / room)
    if math.isclose(alpha - 1, delta / 2):
        forms.append(8 * n / (delta**2 * theta) + (5 / delta + 14 * math.log(theta) / delta**2) * mass)
    return min(forms)


@checked()
def infinite_winnow(r: int, active: int, c: float, strict: bool = False) -> float:  # noqa: FBT001, FBT002
    """Bound Winnow's mistakes on a disjunction over any number of features, unknown ahead.

    ``(1 + (c + 1) / (c/2 - 1)) r ceil(lg(c sigma))``; if strict, with ``floor(lg(c sigma)) + 1``.

    Parameters
    ----------
    r, active : int
        Number of relevant features, and sigma >= 1, the most features active in one example.
    c : float
        Above 2: the threshold is ``c sigma``, and alpha is 2.
    strict : bool
        True if the rule predicts 1 only above the threshold.

    Premises
    --------
    Binary x, the label an OR of r features, unseen features weigh 1.

    Examples
    --------
    >>> infinite_winnow(2, 8, 4)
    60.0

    References
    ----------
    Blum 1992.

    """
    theta = c * active
    # c is often theta / sigma, rounded: do not let that move theta across a power of two.
    if math.isclose(theta, round(theta), rel_tol=1e-12):
        theta = round(theta)
    return (1 + (c + 1) / (c / 2 - 1)) * r * _steps(2.0, theta, strict=strict)


@checked()
def elimination(n: int, r: int = 0) -> float:
    """Bound the mistakes of elimination when the label is an OR of r of the n variables: ``n - r``.

    Premises
    --------
    x in {0, 1}^n and the label is an OR of r of the variables.

    Examples
    --------
    >>> elimination(100, 2)
    98.0

    """
    require(r <= n, f"r must be from 0 to n, which is {n}, got {r}")
    return float(n - r)


# -- exponential weights on features -------------------------------------------------------------------------


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
    gain = winnow_gain(margin, eta, radius, update_margin)
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
    _panel(n, k)
    return 2 * k**2 * math.log(n)


# -- experts -------------------------------------------------------------------------------------------------


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


# -- pieces --------------------------------------------------------------------------------------------------


def _evaluated(formula: Callable[..., Any], *numbers: float) -> float:
    """The value of a rational formula: in floats, or in fractions where squares of the numbers might be no floats."""
    tame = all(number == 0 or 1e-70 < number < 1e70 for number in numbers)
    return float(formula(*(numbers if tame else map(Fraction, numbers))))


def _panel(n: int, k: int) -> None:
    require(k <= n and k % 2 == 1, f"k must be odd and from 1 to n, which is {n}, got {k}")


def _up_to(margin: float, radius: float) -> float:
    # No u with |u|_1 = 1 has a margin above L; forgive what rounding adds to one that equals L.
    require(margin <= radius * (1 + 1e-9), f"margin must be at most radius, which is {radius!r}, got {margin!r}")
    return min(margin, radius)


def _theta(n: int, threshold: float | None) -> float:
    return float(n) if threshold is None else threshold


def _steps(alpha: float, theta: float, *, strict: bool) -> int:
    """Count the promotions that lift a weight from 1 to theta (if strict, above it), without rounding."""
    if theta < 1:
        return 0
    with localcontext(Context(prec=60)):
        steps = Decimal(float(theta)).ln() / Decimal(float(alpha)).ln()
        nearest = round(steps)
        # Powers of a float soon stop being floats, except those of 2: ties only happen at few steps.
        if nearest < 1100 and Fraction(alpha) ** nearest == Fraction(theta):
            return nearest + strict
        return math.ceil(steps)


def _experts(n: int, m: float, beta: float, prior: float | None) -> float:
    start = math.log(n) if prior is None else -math.log(prior)
    if beta == 0:
        return start if m == 0 else math.inf
    return start - m * math.log(beta)
