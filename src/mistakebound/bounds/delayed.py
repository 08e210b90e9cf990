"""Mistake bounds for delayed outcomes: the rule may update between a prediction and its outcome.

For a mistake i, tau_i is the number of updates between its prediction and its outcome. tau is the mean of tau_i over
the mistakes (over the updates, if the update margin is above 0). It is 0 if every outcome arrives before the next
prediction. Whether a round is a mistake, or an update, depends on the prediction that was returned, not on the weights
at the time of the outcome.
"""

from __future__ import annotations

import math

from mistakebound._support.arguments import AT_LEAST_0, checked
from mistakebound.bounds.perceptron import pnorm


@checked(radius=AT_LEAST_0, delay=AT_LEAST_0)
def delayed(
    radius: float,
    norm: float,
    margin: float,
    delay: float,
    update_margin: float = 0.0,
    hinge: float | None = None,
) -> float:
    """Bound the Perceptron's mistakes with delayed outcomes.

    If u separates the stream, ``M <= k^2`` with ``k = sqrt((1 + 2 tau) R^2 + 2b) |u|_2 / gamma``. On any stream
    ``M <= ((k + sqrt(k^2 + 4 L1)) / 2)^2``.

    Parameters
    ----------
    radius, norm, margin, update_margin : float
        As for `novikoff`.
    delay : float
        tau, the mean number of updates between the prediction and the outcome of a mistake.
    hinge : float, optional
        As for `pnorm`.

    Premises
    --------
    Without ``hinge``: ``y (u @ x) >= gamma`` in every round that updates. With ``hinge``: none.

    Notes
    -----
    The z of the prediction and the z that is updated differ by tau_i examples, each of norm at most R. Hence
    ``2 y z @ x <= 2b + 2 tau_i R^2``, and a mistake adds at most ``(1 + 2 tau_i) R^2 + 2b`` to ``|z|^2``.

    Examples
    --------
    >>> round(delayed(radius=1, norm=1, margin=0.5, delay=1), 6)
    12.0

    References
    ----------
    docs/theory.md, "Late outcomes: the Perceptron".
    """
    return pnorm(2.0, radius * math.sqrt(1 + 2 * delay), norm, margin, update_margin, hinge)


@checked(delay=AT_LEAST_0)
def delayed_pnorm(
    p: float,
    radius: float,
    norm: float,
    margin: float,
    delay: float,
    update_margin: float = 0.0,
    hinge: float | None = None,
) -> float:
    """Bound the mistakes of the p-norm Perceptron with delayed outcomes: `pnorm` with ``sqrt(1 + 2 tau) X`` for X.

    Parameters
    ----------
    p, radius, norm, margin, update_margin, hinge
        As for `pnorm`.
    delay : float
        As for `delayed`.

    Premises
    --------
    As for `pnorm`.

    Notes
    -----
    The link is the gradient of half the squared p-norm, which is (p - 1)-Lipschitz.

    Examples
    --------
    >>> round(delayed_pnorm(p=4, radius=1, norm=1, margin=0.5, delay=1), 6)
    36.0

    References
    ----------
    docs/theory.md, "Late outcomes: the p-norm Perceptron".
    """
    return pnorm(p, radius * math.sqrt(1 + 2 * delay), norm, margin, update_margin, hinge)


@checked(delay=AT_LEAST_0)
def delayed_winnow(
    relative_entropy: float,
    margin: float,
    eta: float,
    delay: float,
    radius: float = 1.0,
    hinge: float = 0.0,
    update_margin: float = 0.0,
) -> float:
    """Bound the mistakes of NormalizedWinnow with delayed outcomes.

    ``M <= (RE + eta H) / C`` with ``C = eta gamma - eta^2 L^2 (1/2 + tau) - eta b``. The value is infinity unless
    ``C > 0``.

    Parameters
    ----------
    relative_entropy, margin, eta, radius, hinge, update_margin
        As for `winnow_agnostic`.
    delay : float
        As for `delayed`.

    Premises
    --------
    ``u >= 0`` and ``|u|_1 = 1``. If ``hinge`` is 0, also ``y (u @ x) >= gamma`` in every round that updates.

    Notes
    -----
    The weights are the gradient of ``ln(sum e^(eta z)) / eta``, and this gradient is eta-Lipschitz. Hence tau_i
    examples change the score by at most ``eta L^2 tau_i``, and a mistake adds at most
    ``eta^2 L^2 (1/2 + tau_i) + eta b`` to ``ln(sum e^(eta z))``.

    Examples
    --------
    >>> round(delayed_winnow(relative_entropy=4.6, margin=0.5, eta=0.1, delay=1), 3)
    131.429

    References
    ----------
    docs/theory.md, "Late outcomes: normalised Winnow".
    """
    gain = winnow_gain_delayed(margin, eta, delay, radius, update_margin)
    return (relative_entropy + eta * hinge) / gain if gain > 0 else math.inf


@checked(delay=AT_LEAST_0)
def delayed_balanced_winnow(
    relative_entropy: float,
    margin: float,
    eta: float,
    delay: float,
    radius: float = 1.0,
    hinge: float = 0.0,
    update_margin: float = 0.0,
) -> float:
    """Bound the mistakes of BalancedWinnow with delayed outcomes: `delayed_winnow` on the doubled vector (x, -x).

    Parameters
    ----------
    relative_entropy
        Relative entropy of the doubled u from the uniform distribution on the 2n features, at most ``ln 2n``.
    margin, eta, delay, radius, hinge, update_margin
        As for `delayed_winnow`.

    Premises
    --------
    As for `delayed_winnow`, but u may have either sign.

    Examples
    --------
    >>> round(delayed_balanced_winnow(relative_entropy=4.6, margin=0.5, eta=0.1, delay=1), 3)
    131.429

    References
    ----------
    docs/theory.md, "Late outcomes: balanced Winnow".
    """
    return delayed_winnow(relative_entropy, margin, eta, delay, radius, hinge, update_margin)


def winnow_gain_delayed(margin: float, eta: float, delay: float, radius: float, update_margin: float) -> float:
    """Return ``C = eta gamma - eta^2 L^2 (1/2 + tau) - eta b``, or minus infinity if the terms overflow."""
    gain = eta * margin - (eta * radius) ** 2 * (0.5 + delay) - eta * update_margin
    return -math.inf if math.isnan(gain) else gain
