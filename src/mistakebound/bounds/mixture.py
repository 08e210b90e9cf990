"""Bounds on the log loss of mixtures of probabilities and of log odds."""

from __future__ import annotations

import math

from mistakebound._support.arguments import checked


@checked()
def bayes_mixture(loss: float, prior: float) -> float:
    """Bound the log loss of a Bayes mixture of experts: ``L + ln(1/pi)`` for every expert.

    Predicting the more likely label makes at most ``(L + ln(1/pi)) / ln 2`` mistakes, because each costs at least
    ``ln 2``.

    Parameters
    ----------
    loss : float
        L, the log loss of one expert over all rounds, in nats. The best comparator has the smallest bound.
    prior : float
        pi, that expert's share of the initial weight.

    Premises
    --------
    None: the bound holds for any probabilities and any outcomes.

    Examples
    --------
    >>> round(bayes_mixture(100, 0.47), 3)
    100.755

    References
    ----------
    docs/theory.md, "The Bayes mixture".
    DeSantis, Markowsky & Wegman 1988; Vovk 1990.

    """
    return loss - math.log(prior)


@checked()
def logit_mixing(loss: float, distance: float, eta: float, gradients: float) -> float:
    """Bound the log loss of a mix of log odds that gradient descent learns: ``L_u + d^2/(2 eta) + (eta/2) G``.

    Parameters
    ----------
    loss : float
        L_u, the log loss of a fixed mix u over all rounds, in nats.
    distance : float
        d, the Euclidean distance of u from the first weights.
    eta : float
        The rate of the gradient steps.
    gradients : float
        G, the sum over the rounds of ``(p - y)^2 |a|^2``: p the probability, y the outcome, a the mixed log odds.

    Premises
    --------
    None: the bound holds for any log odds and any outcomes.

    Examples
    --------
    >>> logit_mixing(100, 1, 0.002, 1000)
    351.0

    References
    ----------
    docs/theory.md, "Mixing log odds".
    Zinkevich 2003.

    """
    return loss + distance * distance / (2 * eta) + eta / 2 * gradients
