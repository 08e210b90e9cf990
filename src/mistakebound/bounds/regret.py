"""Regret bounds with expert advice: one function per theorem, which returns the value of its formula.

Regret is the learner's total loss minus the total loss of the best of n experts. Losses lie in [0, 1] unless a function
takes their range as a parameter. ``certify`` computes a bound from the stream itself, which is usually much smaller.

``r_t`` is the regret of round t to expert k: the learner's loss minus the expert's loss. ``V_k`` is the sum of
``r_t^2`` over the rounds; the parameter ``squares`` is its value.
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

    - With ``rounds`` and ``eta``: ``eta T/8 + ln n/eta``.
    - With ``rounds`` alone: ``sqrt(T ln n/2)``, which is the same formula at the best rate ``eta = sqrt(8 ln n/T)``.
    - With ``best`` and ``eta``: ``(eta L* + ln n)/(1 - e^-eta) - L*``. ``best`` is L*, the best expert's total loss.

    Premises
    --------
    Losses lie in [0, 1]. In each round the learner's loss is at most the weighted mean of the experts' losses. The
    learner ran with ``eta``.

    Examples
    --------
    >>> round(hedge(10, rounds=1000), 2)
    33.93
    >>> round(hedge(10, eta=0.1, best=5), 2)
    24.45

    References
    ----------
    docs/theory.md, "Hedge".
    Freund & Schapire 1997; Cesa-Bianchi & Lugosi 2006, thm 2.2.

    """
    log_n = math.log(n)
    if best is not None:
        if eta is None:
            message = "eta must be set together with best"
            raise ValueError(message)
        return max(0.0, (eta * best + log_n) / -math.expm1(-eta) - best)
    if rounds is None:
        message = "rounds must be set, unless both best and eta are set"
        raise ValueError(message)
    if eta is None:
        return math.sqrt(rounds * log_n / 2)
    return eta * rounds / 8 + log_n / eta


@checked()
def exponentially_weighted_average(n: int, eta: float) -> float:
    """Bound the regret of the exponentially weighted average for an eta-exp-concave loss: ``ln n/eta``, for any T.

    The square loss has eta = 1/2 if forecasts and outcomes lie in [0, 1]; the log loss has eta = 1.

    Premises
    --------
    The loss is eta-exp-concave on the range of the forecasts and outcomes, and the learner mixes forecasts without
    gradients.

    Examples
    --------
    >>> round(exponentially_weighted_average(10, 0.5), 3)
    4.605

    References
    ----------
    docs/theory.md, "The exponentially weighted average".
    Kivinen & Warmuth 1999; Cesa-Bianchi & Lugosi 2006, thm 3.2.

    """
    return concave_regret(math.log(n), eta)


def concave_regret(start: Number, eta: float) -> Number:
    """Return ``ln(1/pi)/eta``: `exponentially_weighted_average` with ``start = ln(1/pi)`` instead of ``ln n``.

    The formula is applied to each element if ``start`` is an array.
    """
    return start / eta


@checked(alpha=Interval(above=0, below=1), prior=Interval(above=0, most=1 + 1e-9))
def fixed_share(n: int, eta: float, alpha: float, rounds: int, switches: int = 0, prior: float | None = None) -> float:
    """Bound the regret of Fixed Share to the best sequence of experts with k switches, for an eta-exp-concave loss.

    ``((k+1) ln n + k ln(1/alpha) + (T-1-k) ln(1/(1-alpha)))/eta``. If ``prior`` is set to pi, the prior of the first
    expert of the sequence, ``ln(1/pi)`` replaces one of the ``ln n``.

    Premises
    --------
    The loss is eta-exp-concave on the range of the forecasts and outcomes, and the share alpha is divided evenly among
    all n experts.

    Examples
    --------
    >>> round(fixed_share(10, eta=1, alpha=0.01, rounds=101, switches=2), 2)
    17.1

    References
    ----------
    docs/theory.md, "Fixed Share".
    Herbster & Warmuth 1998.

    """
    require(switches < rounds, f"switches must be below rounds ({rounds}), got {switches}")
    start = math.log(n) if prior is None else -math.log(min(prior, 1.0))
    start += switches * (math.log(n) - math.log(alpha))
    return shared_regret(start, eta, alpha, rounds - 1 - switches)


def shared_regret(start: Number, eta: float, alpha: float, stays: int) -> Number:
    """Return ``(start + stays ln(1/(1-alpha)))/eta``: `fixed_share`, with ``start`` for the other terms of the sum.

    The formula is applied to each element if ``start`` is an array.
    """
    return (start + stays * -math.log1p(-alpha)) / eta


@checked()
def adahedge(n: int, variance: float, widest: float = 1.0) -> float:
    """Bound AdaHedge's regret: ``2 sqrt(V ln n) + S (4/3 ln n + 2)``.

    ``variance`` is V, the sum over the rounds of the variance of the losses under the learner's weights. ``widest`` is
    S, the largest range (maximum minus minimum) of the losses in a round.

    Premises
    --------
    V and S are computed over all rounds that were played. Losses may have any range.

    Examples
    --------
    >>> round(adahedge(10, variance=50), 2)
    26.53

    References
    ----------
    docs/theory.md, "AdaHedge".
    de Rooij, van Erven, Grunwald & Koolen 2014, thm 6.

    """
    log_n = math.log(n)
    return 2 * math.sqrt(variance * log_n) + widest * (4 / 3 * log_n + 2)


@checked()
def ml_poly(n: int, squares: float, largest: float | None = None) -> float:
    """Bound ML-Poly's regret to expert k: ``sqrt((1 + V) n (1 + ln(1 + V')))``.

    ``squares`` is V, at least ``V_k``. ``largest`` is V', at least the V of every other expert, by default V.

    Premises
    --------
    The losses of a round differ by at most 1, and the rates are ``1/(1 + V_k)``.

    Examples
    --------
    >>> round(ml_poly(10, squares=100), 1)
    75.3

    References
    ----------
    docs/theory.md, "ML-Poly".
    Gaillard, Stoltz & van Erven 2014, with the rates above.

    """
    others = squares if largest is None else largest
    return math.sqrt((1 + squares) * n * (1 + math.log1p(others)))


@checked(eta=Interval(above=0, most=0.5))
def boa(n: int, eta: float, squares: float) -> float:
    """Bound BOA's regret to expert k at a fixed rate: ``ln n/eta + eta V_k``.

    Premises
    --------
    The losses of a round differ by at most ``1/(2 eta)``, and the learner ran with ``eta``.

    Examples
    --------
    >>> round(boa(10, eta=0.1, squares=50), 2)
    28.03

    References
    ----------
    docs/theory.md, "BOA at a fixed rate".
    Wintenberger 2017.

    """
    return second_order_regret(math.log(n), eta, squares)


def second_order_regret(start: Number, eta: float, squares: Number) -> Number:
    """Return ``ln(1/pi)/eta + eta V_k``: `boa` with ``start = ln(1/pi)`` instead of ``ln n``, for each element."""
    return start / eta + eta * squares


@checked()
def boa_adaptive(n: int, squares: float, largest: float | None = None) -> float:
    """Bound BOA's regret to expert k with adaptive rates: ``C + (ln n + ln(1 + B/e)) max(2, sqrt((1 + V)/L))``.

    The rates are ``min(1/2, sqrt(L/(1 + V_k)))`` or ``min(1/2, sqrt(L/V_k))``. The letters are:

    - ``V`` is ``squares``, the V of expert k; ``V'`` is ``largest``, the largest V of all experts, by default V.
    - ``L = max(ln n, ln 2)`` and ``c = sqrt(1 + 1/4L)``.
    - ``C = V/2`` if ``V <= 4L``, otherwise ``C = 2L + 2c sqrt(L) (sqrt(V) - 2 sqrt(L))``.
    - ``B = (c-1)/ln c * ln max(1, sqrt((1 + V')/4L))``.

    Premises
    --------
    The losses of a round differ by at most 1, the learner knows this from the start, and the prior is uniform.

    Notes
    -----
    The theorem has the sums ``sum eta_{t-1} r_t^2`` for C and ``sum_k pi_k sum_t (eta_{t-1}/eta_t - 1)`` for B.

    First sum: while ``V < 4L``, the rate is at most 1/2. After that ``V_t/V_{t-1} <= c^2``, hence the rate is at most
    ``c sqrt(L/V_t)``, and ``sum r_t^2/sqrt(V_t)`` is at most ``2 (sqrt(V) - sqrt(V_start))``.

    Second sum: each ratio x of successive rates lies in [1, c], where ``x - 1 <= (c-1)/ln c * ln x``. The logarithms
    add up to the logarithm of the first rate over the last rate.

    Examples
    --------
    >>> round(boa_adaptive(10, squares=100), 1)
    44.6

    References
    ----------
    docs/theory.md, "BOA with adaptive rates".
    Wintenberger 2017.

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
    """Bound ML-Prod's regret to expert k: the same value as `boa_adaptive`.

    The proof is the same, because ``ln(1 + x) >= x - x^2`` for ``x >= -1/2``.

    Premises
    --------
    The losses of a round differ by at most 1, the learner knows this from the start, and the prior is uniform.

    Examples
    --------
    >>> ml_prod(10, squares=100) == boa_adaptive(10, squares=100)
    True

    References
    ----------
    docs/theory.md, "ML-Prod".
    Gaillard, Stoltz & van Erven 2014.

    """
    return boa_adaptive(n, squares, largest)


@checked()
def ogd(n: int, rounds: int, longest: float | None = None) -> float:
    """Bound the regret of projected gradient descent on the simplex to any mix of the n experts.

    ``G (2 sqrt(T) - 1/2)``, which is at least ``1/eta_T + sum eta_t G^2/2`` for ``eta_t = 1/(G sqrt(t))``. ``longest``
    is G, the largest Euclidean norm of a round's loss vector (of its gradient, if the learner uses gradients). It is
    at most ``sqrt(n)``, the default, if losses lie in [0, 1].

    Premises
    --------
    The norm of every round's loss vector is at most G, and no expert joins after the first round.

    Examples
    --------
    >>> round(ogd(4, rounds=100), 6)
    39.0

    References
    ----------
    docs/theory.md, "Projected gradient descent".
    Zinkevich 2003.

    """
    length = math.sqrt(n) if longest is None else longest
    return length * (2 * math.sqrt(rounds) - 0.5) if rounds else 0.0


@checked()
def squint(n: int, squares: float, rounds: int) -> float:
    """Bound the regret to expert k of Squint with the improper prior on rates.

    ``sqrt(2 V_k)(1 + sqrt(2 ln(n (1/2 + ln(T+1))))) + 5 ln(1 + n (1 + 2 ln(T+1)))``

    Premises
    --------
    The losses of a round differ by at most 1, the learner knows this from the start, and the prior is uniform.

    Examples
    --------
    >>> round(squint(10, squares=100, rounds=1000), 1)
    80.7

    References
    ----------
    docs/theory.md, "Squint".
    Koolen & van Erven 2015, thm 4.

    """
    log_t = math.log(rounds + 1)
    first = math.sqrt(2 * squares) * (1 + math.sqrt(2 * math.log(n * (0.5 + log_t)))) if rounds else 0.0
    return first + 5 * math.log1p(n * (1 + 2 * log_t))
