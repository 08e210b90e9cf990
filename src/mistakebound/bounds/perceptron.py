"""Mistake bounds of the Perceptron and the p-norm Perceptron."""

from __future__ import annotations

import math

from mistakebound._support.arguments import AT_LEAST_0, checked, require
from mistakebound.bounds.exact import evaluated


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
    odd_panel(n, k)
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
    square = evaluated(
        lambda p, X, b, u, gamma: ((p - 1) * X**2 + 2 * b) * (u / gamma) ** 2, p, radius, update_margin, norm, margin
    )
    if hinge is None or hinge == 0:
        return square
    return ((math.sqrt(square) + math.sqrt(square + 4 * hinge)) / 2) ** 2


def odd_panel(n: int, k: int) -> None:
    """Refuse a panel of k experts that cannot have a majority among n."""
    require(k <= n and k % 2 == 1, f"k must be odd and from 1 to n, which is {n}, got {k}")
