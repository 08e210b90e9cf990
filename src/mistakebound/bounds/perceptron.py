"""Mistake bounds of the Perceptron, the p-norm Perceptron and the multiclass Perceptron."""

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
        R, the largest Euclidean norm of an example, and the Euclidean norm of u.
    margin : float
        gamma > 0.
    update_margin : float
        b >= 0, compared with ``y`` times the score ``z @ x``.

    Premises
    --------
    ``y (u @ x) >= gamma`` in every round that updates.

    Examples
    --------
    >>> novikoff(radius=1, norm=1, margin=0.5)
    4.0

    References
    ----------
    docs/theory.md, "Novikoff's theorem".
    Novikoff 1962.

    """
    return pnorm(2.0, radius, norm, margin, update_margin)


@checked()
def perceptron_panel(n: int, k: int) -> float:
    """Bound the Perceptron's mistakes when the majority of k of n experts is always right: ``M <= n k``.

    This is `novikoff` with ``R^2 = n``, ``|u|_2 = 1 / sqrt(k)`` and ``gamma = 1 / k``.

    Premises
    --------
    Advice is in {-1, +1}, k is odd, and the majority of the k experts is right in every round that updates.

    Examples
    --------
    >>> perceptron_panel(100, 3)
    300.0

    References
    ----------
    docs/theory.md, "The Perceptron and a majority of k experts".

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
    """Bound the Perceptron's mistakes on any stream, from the hinge loss of any comparator.

    With ``squared_hinge``, ``M <= ((r + D) / gamma)^2``. With ``hinge``, ``M <= ((k + sqrt(k^2 + 4 L1)) / 2)^2``.
    If both are set, the value is the smaller one. Here ``r = |u|_2 sqrt(R^2 + 2b)`` and ``k = r / gamma``.

    Parameters
    ----------
    radius, norm, margin, update_margin : float
        As for `novikoff`.
    squared_hinge : float, optional
        ``D = sqrt(sum max(0, gamma - y u @ x)^2)`` over the rounds that update.
    hinge : float, optional
        ``L1 = sum max(0, 1 - y u @ x / gamma)`` over the rounds that update.

    Notes
    -----
    After U updates ``|z|^2 <= U (R^2 + 2b)``, because each adds ``2 y z @ x + |x|^2 <= 2b + R^2``. Also
    ``u @ z >= gamma U - S``, where S is the sum of ``max(0, gamma - y u @ x)``. Hence ``gamma U <= r sqrt(U) + S``.
    For the bound with L1, set ``S = gamma L1`` and solve for sqrt(U). For the bound with D, use
    ``S <= D sqrt(U)`` (Cauchy-Schwarz) and divide by sqrt(U).

    Premises
    --------
    None: any stream, any u and any gamma. The losses are sums over the rounds that update.

    Examples
    --------
    >>> perceptron_agnostic(1, 1, 0.5, squared_hinge=0.5)
    9.0
    >>> perceptron_agnostic(1, 1, 1, hinge=2)
    4.0

    References
    ----------
    docs/theory.md, "The Perceptron on any stream".
    Freund & Schapire 1999, Theorem 2 (D); Mohri & Rostamizadeh 2013 (L1).

    """
    forms = []
    if squared_hinge is not None:
        k = math.sqrt(novikoff(radius, norm, margin, update_margin))
        forms.append((k + squared_hinge / margin) ** 2)
    if hinge is not None:
        forms.append(pnorm(2.0, radius, norm, margin, update_margin, hinge))
    require(bool(forms), "squared_hinge or hinge must be set")
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

    If u separates the stream, ``M <= k^2`` with ``k = sqrt((p-1) X^2 + 2b) |u|_q / gamma``. On any stream
    ``M <= ((k + sqrt(k^2 + 4 L1)) / 2)^2``.

    Parameters
    ----------
    p : float
        At least 2. The norm of u is the dual norm, with ``1/p + 1/q = 1``.
    radius, norm : float
        X, the largest p-norm of an example, and the q-norm of u.
    margin : float
        gamma > 0.
    update_margin : float
        b >= 0, compared with ``y`` times the score of the normalised link.
    hinge : float, optional
        ``L1 = sum max(0, 1 - y u @ x / gamma)`` over the rounds that update. If it is None, u must separate.

    Premises
    --------
    Without ``hinge``: ``y (u @ x) >= gamma`` in every round that updates. With ``hinge``: none.

    Examples
    --------
    >>> pnorm(p=4, radius=1, norm=1, margin=0.5)
    12.0

    References
    ----------
    docs/theory.md, "The p-norm Perceptron".
    Grove, Littlestone & Schuurmans 2001; Gentile 2003.

    """
    square = evaluated(
        lambda p, X, b, u, gamma: ((p - 1) * X**2 + 2 * b) * (u / gamma) ** 2, p, radius, update_margin, norm, margin
    )
    if hinge is None or hinge == 0:
        return square
    return ((math.sqrt(square) + math.sqrt(square + 4 * hinge)) / 2) ** 2


@checked(radius=AT_LEAST_0)
def multiclass_perceptron(radius: float, norm: float, margin: float) -> float:
    """Bound the mistakes of the multiclass Perceptron when a comparator separates the classes with a margin.

    ``M <= 2 (R |U|_F / gamma)^2``

    The first round of all, which has no prediction, is not counted.

    Parameters
    ----------
    radius, norm : float
        R, the largest Euclidean norm of an example, and the Frobenius norm of U, which has a row for each class.
    margin : float
        gamma > 0.

    Premises
    --------
    ``u_y @ x - max over r != y of u_r @ x >= gamma`` in every round that updates.

    Notes
    -----
    In the space of all weights, a mistake adds ``x`` at the place of y and ``-x`` at that of the prediction. This is a
    vector of norm ``sqrt(2) |x|``. So it is `novikoff` with ``sqrt(2) R``.

    Examples
    --------
    >>> multiclass_perceptron(radius=1, norm=1, margin=0.5)
    8.0

    References
    ----------
    docs/theory.md, "The multiclass Perceptron".
    Duda & Hart 1973 (Kesler's construction); Crammer & Singer 2003.

    """
    return evaluated(lambda R, U, gamma: 2 * (R * U / gamma) ** 2, radius, norm, margin)


def odd_panel(n: int, k: int) -> None:
    """Raise ValueError unless k is odd and at most n, so that k of n experts always have a majority."""
    require(k <= n and k % 2 == 1, f"k must be odd and at most n ({n}), got {k}")
