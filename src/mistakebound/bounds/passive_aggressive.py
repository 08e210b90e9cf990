"""Mistake bounds of the passive-aggressive rules."""

from __future__ import annotations

from mistakebound._support.arguments import AT_LEAST_0, POSITIVE, SUM, checked
from mistakebound.bounds.exact import evaluated


@checked(radius=AT_LEAST_0, c=POSITIVE)
def passive_aggressive_i(radius: float, norm: float, hinge: float = 0.0, c: float = 1.0) -> float:
    """Bound the mistakes of PA-I on any stream, from the hinge loss of any comparator.

    ``M <= max(R^2, 1/c) (|u|_2^2 + 2 c L)``

    Parameters
    ----------
    radius, norm : float
        R, the largest Euclidean norm of an example, and the Euclidean norm of u.
    hinge : float
        ``L = sum max(0, 1 - y u @ x)`` over the rounds that update.
    c : float
        Aggressiveness of the learner, above 0.

    Premises
    --------
    None: any stream and any u.

    Examples
    --------
    >>> passive_aggressive_i(radius=2, norm=1, hinge=0.5)
    8.0

    References
    ----------
    docs/theory.md, "Passive-aggressive I".
    Crammer, Dekel, Keshet, Shalev-Shwartz & Singer 2006, Theorem 4.

    """
    return evaluated(lambda R, u, L, c: max(R**2, 1 / c) * (u**2 + 2 * c * L), radius, norm, hinge, c)


@checked(radius=AT_LEAST_0, c=POSITIVE, squares=SUM)
def passive_aggressive_ii(radius: float, norm: float, squares: float = 0.0, c: float = 1.0) -> float:
    """Bound the mistakes of PA-II on any stream, from the squared hinge loss of any comparator.

    ``M <= (R^2 + 1/(2c)) (|u|_2^2 + 2 c S)``. The sum of the squared losses of the learner has the same bound.

    Parameters
    ----------
    radius, norm, c : float
        As for `passive_aggressive_i`.
    squares : float
        ``S = sum max(0, 1 - y u @ x)^2`` over the rounds that update.

    Premises
    --------
    None: any stream and any u.

    Examples
    --------
    >>> passive_aggressive_ii(radius=1, norm=2, squares=0.5)
    7.5

    References
    ----------
    docs/theory.md, "Passive-aggressive II".
    Crammer, Dekel, Keshet, Shalev-Shwartz & Singer 2006, Theorem 5.

    """
    return evaluated(lambda R, u, S, c: (R**2 + 1 / (2 * c)) * (u**2 + 2 * c * S), radius, norm, squares, c)
