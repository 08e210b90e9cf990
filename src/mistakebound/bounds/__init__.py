"""Every bound once: a plain function per theorem, each the value of its formula.

>>> import mistakebound as mb
>>> mb.bounds.littlestone(100, 2)
44.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mistakebound.bounds.delayed import delayed, delayed_balanced_winnow, delayed_pnorm, delayed_winnow
from mistakebound.bounds.mistakes import (
    balanced_winnow,
    elimination,
    halving,
    infinite_winnow,
    littlestone,
    littlestone_negatives,
    littlestone_positives,
    littlestone_separable,
    novikoff,
    perceptron_agnostic,
    perceptron_panel,
    pnorm,
    randomized_weighted_majority,
    weighted_majority,
    winnow_agnostic,
    winnow_best_rate,
    winnow_fixed_rate,
    winnow_gain,
    winnow_panel,
    winnow_rate,
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

if TYPE_CHECKING:
    from collections.abc import Callable

BOUNDS: dict[str, Callable[..., float]] = {
    bound.__name__.replace("_", "-"): bound
    for bound in (
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
}
"""The theorems by the names that certificates and the command line use."""

__all__ = [
    "BOUNDS",
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
