"""Mistake and regret bounds: one function per theorem, which returns the value of its formula.

The formulas use the letters of the textbooks:

- M is the number of mistakes, n the number of features or experts.
- u is a comparator, and gamma is its margin.
- R is the largest norm of an example: X for p-norms, L for the largest absolute value of a feature.
- b is the update margin. With b > 0 the rule also updates when ``y * score <= b``. The bound then holds for the number
  of updates, which is at least M.

Losses and norms may be computed over only the rounds that updated.

A bound holds if its premises hold on the stream. These functions do not check premises; certificates do.
An argument out of range raises ``ValueError``, which names the argument. Counts must be whole numbers. If a value is
too large for a float, the function returns infinity, which is a true but vacuous bound.

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
from mistakebound.bounds.majority import (
    guarded_plurality,
    guarded_weighted_majority,
    halving,
    randomized_weighted_majority,
    weighted_majority,
)
from mistakebound.bounds.mixing import (
    mixing,
    mixing_balanced_winnow,
    mixing_littlestone,
    mixing_pnorm,
    mixing_winnow,
)
from mistakebound.bounds.mixture import bayes_mixture, logit_mixing
from mistakebound.bounds.passive_aggressive import passive_aggressive_i, passive_aggressive_ii
from mistakebound.bounds.perceptron import (
    multiclass_perceptron,
    novikoff,
    perceptron_agnostic,
    perceptron_panel,
    pnorm,
)
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
    multiclass_perceptron,
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
    passive_aggressive_i,
    passive_aggressive_ii,
    delayed,
    delayed_pnorm,
    delayed_winnow,
    delayed_balanced_winnow,
    mixing,
    mixing_pnorm,
    mixing_winnow,
    mixing_balanced_winnow,
    mixing_littlestone,
    halving,
    weighted_majority,
    guarded_weighted_majority,
    guarded_plurality,
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
    bayes_mixture,
    logit_mixing,
)
"""The formula of each theorem, by the name that certificates and the command line use."""
PARTS = _by_name(littlestone_positives, littlestone_negatives, winnow_gain, winnow_rate)
"""Parts of the formulas that are useful alone, by the name that the command line uses."""

__all__ = [
    "BOUNDS",
    "PARTS",
    "adahedge",
    "balanced_winnow",
    "bayes_mixture",
    "boa",
    "boa_adaptive",
    "delayed",
    "delayed_balanced_winnow",
    "delayed_pnorm",
    "delayed_winnow",
    "elimination",
    "exponentially_weighted_average",
    "fixed_share",
    "guarded_plurality",
    "guarded_weighted_majority",
    "halving",
    "hedge",
    "infinite_winnow",
    "littlestone",
    "littlestone_negatives",
    "littlestone_positives",
    "littlestone_separable",
    "logit_mixing",
    "mixing",
    "mixing_balanced_winnow",
    "mixing_littlestone",
    "mixing_pnorm",
    "mixing_winnow",
    "ml_poly",
    "ml_prod",
    "multiclass_perceptron",
    "novikoff",
    "ogd",
    "passive_aggressive_i",
    "passive_aggressive_ii",
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
