"""The weights of the experts after each round, as an array and as a table."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np

from mistakebound.experts.comparison.past_rows import rows_of
from mistakebound.experts.comparison.results import learn_rounds, learner_for

if TYPE_CHECKING:
    from typing import TextIO

    from mistakebound._support.arrays import FloatArray
    from mistakebound.experts.comparison.compare import Comparison


def weights_after(found: Comparison, rule: str) -> FloatArray:
    """Return the weights of a rule after each round, rounds × experts: those of a next round in which all are awake.

    A new learner runs through all rounds, one by one.
    """
    advice = found.advice
    learner = learner_for(rule, found.loss, found.parameters)
    weights = np.zeros((advice.rounds, len(advice.names)))
    for t in range(advice.rounds):
        learn_rounds(rule, learner, advice, t, t + 1)
        weights[t] = learner.weights_
    return weights


def write_weights(found: Comparison, file: TextIO) -> None:
    """Write a line for each round and rule: the ids of the row (or the round), the rule, and a weight for each expert.

    The column of the rule is left out if there is only one.
    """
    advice, several = found.advice, len(found.mixes) > 1
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*(advice.ids or ["round"]), *(["rule"] if several else []), *advice.names])
    ids = rows_of(advice.frame, advice.ids) if advice.ids else [(str(t + 1),) for t in range(advice.rounds)]
    each = {mix.rule: weights_after(found, mix.rule).tolist() for mix in found.mixes}
    for t in range(advice.rounds):
        for rule, weights in each.items():
            writer.writerow([*ids[t], *([rule] if several else []), *weights[t]])
