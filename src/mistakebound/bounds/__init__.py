"""Mistake and regret bounds: one function per theorem, which returns the value of its formula.

The letters are the textbook's: M mistakes, n features or experts, u a comparator, gamma its margin, R the
largest norm of an example (X for p-norms, L for the largest absolute value of a feature), b the update zone:
the rule also updates when ``y * score <= b``, and the bound is then on the updates, which are at least M.
Losses and norms may be taken over the rounds that updated.

A formula speaks only when its premises hold on the stream; to check them is the certificate's work.
Arguments out of their range raise ``ValueError`` naming the argument; counts must be whole. A value that is too large
for a float is infinity: still true, and vacuous.

>>> import mistakebound as mb
>>> mb.bounds.littlestone(100, 2)
44.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mistakebound.bounds.delayed import delayed, delayed_balanced_winnow, delayed_pnorm, delayed_winnow
from mistakebound.bounds.disjunctions import (
    elimination,
    infinite_winnow,
    littlestone,
    littlestone_negatives,
    littlestone_positives,
    littlestone_separable,
)
from mistakebound.bounds.majority import halving, randomized_weighted_majority, weighted_majority
from mistakebound.bounds.perceptron import novikoff, perceptron_agnostic, perceptron_panel, pnorm
from mistakebound.bounds.regret import (
    adahedge,
    boa,
    boa_adaptive,
    exponentially_weighted_average,
    fixed_share,
    hedge,
    ml_poly,
    ml_prod,
    ogd,
    squint,
)
from mistakebound.bounds.winnow import (
    balanced_winnow,
    winnow_agnostic,
    winnow_best_rate,
    winnow_fixed_rate,
    winnow_gain,
    winnow_panel,
    winnow_rate,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def _by_name(*formulas: Callable[..., float]) -> dict[str, Callable[..., float]]:
    return {formula.__name__.replace("_", "-"): formula for formula in formulas}


BOUNDS = _by_name(
    novikoff,
    perceptron_panel,
    perceptron_agnostic,
    littlestone,
    littlestone_separable,
    infinite_winnow,
    winnow_fixed_rate,
    winnow_best_rate,
    winnow_agnostic,
    balanced_winnow,
    winnow_panel,
    pnorm,
    elimination,
    delayed,
    delayed_pnorm,
    delayed_winnow,
    delayed_balanced_winnow,
    halving,
    weighted_majority,
    randomized_weighted_majority,
    hedge,
    exponentially_weighted_average,
    fixed_share,
    adahedge,
    ml_poly,
    boa,
    boa_adaptive,
    ml_prod,
    squint,
    ogd,
)
"""The theorems by the names that certificates and the command line use."""
PARTS = _by_name(littlestone_positives, littlestone_negatives, winnow_gain, winnow_rate)
"""What the formulas are made of, by the names of the command line."""

__all__ = [
    "BOUNDS",
    "PARTS",
    "adahedge",
    "balanced_winnow",
    "boa",
    "boa_adaptive",
    "delayed",
    "delayed_balanced_winnow",
    "delayed_pnorm",
    "delayed_winnow",
    "elimination",
    "exponentially_weighted_average",
    "fixed_share",
    "halving",
    "hedge",
    "infinite_winnow",
    "littlestone",
    "littlestone_negatives",
    "littlestone_positives",
    "littlestone_separable",
    "ml_poly",
    "ml_prod",
    "novikoff",
    "ogd",
    "perceptron_agnostic",
    "perceptron_panel",
    "pnorm",
    "randomized_weighted_majority",
    "squint",
    "weighted_majority",
    "winnow_agnostic",
    "winnow_best_rate",
    "winnow_fixed_rate",
    "winnow_gain",
    "winnow_panel",
    "winnow_rate",
]
