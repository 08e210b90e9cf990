"""Regret bounds with expert advice: one plain function per row of THEORY §4, each the value of its formula.

Regret is the learner's total loss less that of the best of n experts. Losses lie in [0, 1] unless a function takes
their range. What a rule can say of a stream that it has seen (``certify``) is usually much smaller.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from mistakebound._support.arguments import Interval, checked, require

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray

Number = TypeVar("Number", "float", "FloatArray")


@checked()
def hedge(n: int, rounds: int | None = None, eta: float | None = None, best: float | None = None) -> float:
    """Bound Hedge's regret.

    ``eta T/8 + ln n/eta``; with the theorem's rate, ``sqrt(8 ln n/T)``, it is ``sqrt(T ln n/2)``. If ``best``, the best
    expert's total loss, is given instead of the rounds: ``(eta L* + ln n)/(1 - e^-eta) - L*``.

    Premises
    --------
    Losses in [0, 1]; the learner loses their weighted mean, or less; the rate that is told is the one it ran with.

    Examples
    --------
    >>> round(hedge(10, rounds=1000), 2)
    33.93
    >>> round(hedge(10, eta=0.1, best=5), 2)
    24.45

    References
    ----------
    Freund & Schapire 1997; Cesa-Bianchi & Lugosi 2006, thm 2.2.

    """
    log_n = math.log(n)
    if best is not None:
        if eta is None:
            message = "eta must be given with best"
            raise ValueError(message)
        return max(0.0, (eta * best + log_n) / -math.expm1(-eta) - best)
    if rounds is None:
        message = "rounds must be given, or best with eta"
        raise ValueError(message)
    if eta is None:
        return math.sqrt(rounds * log_n / 2)
    return eta * rounds / 8 + log_n / eta


@checked()
def exponentially_weighted_average(n: int, eta: float) -> float:
    """Bound the regret of the exponentially weighted average for an eta-exp-concave loss: ``ln n/eta``, whatever T.

    eta is 1/2 for the square loss of forecasts and outcomes in [0, 1], and 1 for the log loss.

    Premises
    --------
    The loss is exp-concave at eta where forecasts and outcomes lie; the learner mixes forecasts, without gradients.

    Examples
    --------
    >>> round(exponentially_weighted_average(10, 0.5), 3)
    4.605

    References
    ----------
    Kivinen & Warmuth 1999; Cesa-Bianchi & Lugosi 2006, thm 3.2.

    """
    return concave_regret(math.log(n), eta)


def concave_regret(start: Number, eta: float) -> Number:
    """Return ``ln(1/pi)/eta``: `exponentially_weighted_average` with ``start = ln(1/pi)`` for ``ln n``, elementwise."""
    return start / eta


@checked(alpha=Interval(above=0, below=1), prior=Interval(above=0, most=1 + 1e-9))
def fixed_share(n: int, eta: float, alpha: float, rounds: int, switches: int = 0, prior: float | None = None) -> float:
    """Bound the regret of Fixed Share to the best sequence of experts with k switches, loss exp-concave at eta.

    ``((k+1) ln n + k ln(1/alpha) + (T-1-k) ln(1/(1-alpha)))/eta``; with a prior, ``ln(1/pi)`` of the expert that the
    sequence begins with stands for one of the ``ln n``.

    Premises
    --------
    The loss is exp-concave at eta where forecasts and outcomes lie; the share alpha goes to all n experts evenly.

    Examples
    --------
    >>> round(fixed_share(10, eta=1, alpha=0.01, rounds=101, switches=2), 2)
    17.1

    References
    ----------
    Herbster & Warmuth 1998.

    """
    require(switches < rounds, f"switches must be fewer than rounds, which is {rounds}, got {switches}")
    start = math.log(n) if prior is None else -math.log(min(prior, 1.0))
    start += switches * (math.log(n) - math.log(alpha))
    return shared_regret(start, eta, alpha, rounds - 1 - switches)


def shared_regret(start: Number, eta: float, alpha: float, stays: int) -> Number:
    """Return ``(start + stays ln(1/(1-alpha)))/eta``: `fixed_share` with its other terms in ``start``, elementwise."""
    return (start + stays * -math.log1p(-alpha)) / eta


@checked()
def adahedge(n: int, variance: float, widest: float = 1.0) -> float:
    """Bound AdaHedge's regret by V, the summed variance of losses under its weights, S their largest range in a round.

    ``2 sqrt(V ln n) + S (4/3 ln n + 2)``

    Premises
    --------
    Losses of any range; V and S are those of the rounds that were played.

    Examples
    --------
    >>> round(adahedge(10, variance=50), 2)
    26.53

    References
    ----------
    de Rooij, van Erven, Grunwald & Koolen 2014, thm 6.

    """
    log_n = math.log(n)
    return 2 * math.sqrt(variance * log_n) + widest * (4 / 3 * log_n + 2)


@checked()
def ml_poly(n: int, squares: float, largest: float | None = None) -> float:
    """Bound ML-Poly's regret to expert k when ``V_k``, and each other's V, are at most ``squares``; |r| at most 1.

    ``sqrt((1 + V) n (1 + ln(1 + V)))``, with ``largest`` the greatest V of the others.

    Premises
    --------
    The losses of a round lie within 1 of each other, and the rates are ``1/(1 + V_k)``.

    Examples
    --------
    >>> round(ml_poly(10, squares=100), 1)
    75.3

    References
    ----------
    Gaillard, Stoltz & van Erven 2014, with the rates of THEORY §4.

    """
    others = squares if largest is None else largest
    return math.sqrt((1 + squares) * n * (1 + math.log1p(others)))


@checked(eta=Interval(above=0, most=0.5))
def boa(n: int, eta: float, squares: float) -> float:
    """Bound BOA's regret to expert k at a fixed rate, ``eta |r| <= 1/2``: ``ln n/eta + eta V_k``.

    Premises
    --------
    The losses of a round lie within ``1/(2 eta)`` of each other; eta is the rate it ran with.

    Examples
    --------
    >>> round(boa(10, eta=0.1, squares=50), 2)
    28.03

    References
    ----------
    Wintenberger 2017.

    """
    return second_order_regret(math.log(n), eta, squares)


def second_order_regret(start: Number, eta: float, squares: Number) -> Number:
    """Return ``ln(1/pi)/eta + eta V_k``: `boa` with ``start = ln(1/pi)`` for ``ln n``, elementwise."""
    return start / eta + eta * squares


@checked()
def boa_adaptive(n: int, squares: float, largest: float | None = None) -> float:
    """Bound BOA's regret to expert k with the rates ``min(1/2, sqrt(ln n/(1 + V_k)))``, or ``V_k`` for ``1 + V_k``.

    ``C + (ln n + ln(1 + B/e)) max(2, sqrt((1 + V)/L))``, ``L = ln n`` (ln 2 if that is more); C is ``V/2``, from
    ``V = 4L`` on ``2L + 2c sqrt(L) (sqrt(V) - 2 sqrt(L))``; ``c = sqrt(1 + 1/4L)`` and
    ``B = (c-1)/ln c * ln max(1, sqrt((1 + V')/4L))``, with V' = ``largest``, the greatest V of all experts.

    Premises
    --------
    The losses of a round lie within 1 of each other, which is known from the start; a uniform prior.

    Notes
    -----
    The theorem has the sums ``sum eta_{t-1} r_t^2`` and ``B = sum_k pi_k sum_t (eta_{t-1}/eta_t - 1)``. While
    ``V < 4L`` the rate is at most 1/2. From then on ``V_t/V_{t-1} <= c^2``, so that the rate is at most
    ``c sqrt(L/V_t)``, and ``sum r_t^2/sqrt(V_t)`` at most ``2 (sqrt(V) - sqrt(V_start))``. Each quotient x of rates is
    from 1 to c, where ``x - 1 <= (c-1)/ln c * ln x``, and the logarithms sum to that of the first rate over the last.

    Examples
    --------
    >>> round(boa_adaptive(10, squares=100), 1)
    44.6

    References
    ----------
    Wintenberger 2017, as in THEORY §4.

    """
    others = squares if largest is None else max(squares, largest)
    log_n = math.log(n)
    root = math.sqrt(max(log_n, math.log(2)))
    c = math.sqrt(1 + 1 / (4 * root**2))
    cost = squares / 2
    if squares > 4 * root**2:
        cost = 2 * root**2 + 2 * c * root * (math.sqrt(squares) - 2 * root)
    drift = (c - 1) / math.log(c) * math.log(max(1.0, math.sqrt(1 + others) / (2 * root)))
    return cost + (log_n + math.log1p(drift / math.e)) * max(2.0, math.sqrt(1 + squares) / root)


@checked()
def ml_prod(n: int, squares: float, largest: float | None = None) -> float:
    """Bound ML-Prod's regret to expert k: as `boa_adaptive`, for ``ln(1 + x) >= x - x^2`` from -1/2 on.

    Premises
    --------
    The losses of a round lie within 1 of each other, which is known from the start; a uniform prior.

    Examples
    --------
    >>> ml_prod(10, squares=100) == boa_adaptive(10, squares=100)
    True

    References
    ----------
    Gaillard, Stoltz & van Erven 2014.

    """
    return boa_adaptive(n, squares, largest)


@checked()
def ogd(n: int, rounds: int, longest: float | None = None) -> float:
    """Bound the regret of projected gradient descent on the simplex to any mix of the n experts.

    ``G (2 sqrt(T) - 1/2)``: ``1/eta_T + sum eta_t G^2/2`` with ``eta_t = 1/(G sqrt(t))``. G is ``longest``, the
    greatest Euclidean length of a round's losses (made linear, with gradients): at most ``sqrt(n)`` in [0, 1].

    Premises
    --------
    No losses of a round, as a vector, are longer than G; nobody joins.

    Examples
    --------
    >>> round(ogd(4, rounds=100), 6)
    39.0

    References
    ----------
    Zinkevich 2003.

    """
    length = math.sqrt(n) if longest is None else longest
    return length * (2 * math.sqrt(rounds) - 0.5) if rounds else 0.0


@checked()
def squint(n: int, squares: float, rounds: int) -> float:
    """Bound Squint's regret to expert k, improper prior on rates, |r| at most 1.

    ``sqrt(2 V)(1 + sqrt(2 ln(n (1/2 + ln(T+1))))) + 5 ln(1 + n (1 + 2 ln(T+1)))``

    Premises
    --------
    The losses of a round lie within 1 of each other, which is known from the start; a uniform prior on experts.

    Examples
    --------
    >>> round(squint(10, squares=100, rounds=1000), 1)
    80.7

    References
    ----------
    Koolen & van Erven 2015, thm 4.

    """
    log_t = math.log(rounds + 1)
    first = math.sqrt(2 * squares) * (1 + math.sqrt(2 * math.log(n * (0.5 + log_t)))) if rounds else 0.0
    return first + 5 * math.log1p(n * (1 + 2 * log_t))
