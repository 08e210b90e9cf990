"""A comparison of experts as JSON, and its predictions as a table."""

from __future__ import annotations

import csv
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.errors import InputError, message_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from mistakebound.errors import Option
    from mistakebound.experts.comparison.advice import Advice
    from mistakebound.experts.comparison.compare import Comparison
    from mistakebound.experts.comparison.compared import Hindsight, Mix


def as_object(found: Comparison, written: Callable[[Option], str]) -> dict[str, Any]:
    """Experts in the order of the table, rules by their losses."""
    advice = found.advice
    each_expert = zip(advice.names, found.expert_rounds.tolist(), found.expert_means.tolist(), strict=True)
    return {
        "outcome": advice.outcome,
        "rounds": advice.rounds,
        "loss": "mistakes" if found.of_labels else found.loss.id,
        "labels": advice.labels,
        "experts": [{"name": name, "rounds": awake, "mean_loss": mean} for name, awake, mean in each_expert],
        "rules": [rule_as_object(each, found) for each in found.mixes],
        "not_played": [{"rule": each.rule, "reason": words_of(each.error, written)} for each in found.refused],
        "plain": {"mean_loss": float(found.plain.mean())},
        "hindsight": [hindsight_as_object(each, advice) for each in found.hindsight],
        "ahead": [found.best.predictions[t] for t in range(advice.rounds, len(advice.said))],
        "notes": [message_text(note, written) for note in advice.notes],
        "skipped": [str(each) for each in advice.frame.skipped],
    }


def words_of(error: ValueError, written: Callable[[Option], str]) -> str:
    """What an error says."""
    return error.text(written) if isinstance(error, InputError) else str(error)


def rule_as_object(mix: Mix, found: Comparison) -> dict[str, Any]:
    """One rule: its losses, its weights in the end, its regrets and its certificate."""
    names = found.advice.names
    return {
        "rule": mix.rule,
        "mean_loss": mix.mean,
        "drawn_mistakes": mix.drawn,
        "total_loss": mix.total,
        "rmse": math.sqrt(mix.mean) if found.rooted else None,
        "regrets": mix.regrets,
        "against": mix.against,
        "expert_regrets": dict(zip(names, mix.expert_regrets.tolist(), strict=True)),
        "linear_regret": mix.linear_regret,
        "bound": mix.bound,
        "status": mix.status,
        "seconds": mix.seconds,
        "weights": dict(zip(names, mix.weights.tolist(), strict=True)),
        "certificate": None if mix.certificate is None else json.loads(mix.certificate.to_json()),
    }


def hindsight_as_object(known: Hindsight, advice: Advice) -> dict[str, Any]:
    """What would have been best; of a sequence, where each expert's turn begins."""
    oracle = known.oracle
    if oracle is None:
        return {"kind": known.kind, "name": known.name, "reason": known.reason}
    more: dict[str, Any] = {}
    if oracle.weights is not None:
        more["weights"] = dict(zip(advice.names, oracle.weights.tolist(), strict=True))
    if oracle.sequence is not None:
        turns = np.flatnonzero(np.diff(oracle.sequence, prepend=-1)).tolist()
        more["turns"] = [{"round": t, "expert": advice.names[oracle.sequence[t]]} for t in turns]
    told = {"total_loss": oracle.total, "mean_loss": oracle.mean, "rounds": oracle.rounds, "gap": oracle.gap}
    return {"kind": known.kind, "name": known.name, **told, **more}


def write_predictions(found: Comparison, file: TextIO) -> None:
    """The outcome and a column for each rule (and class): what `forecasters` and `experts` read again."""
    advice, classes = found.advice, found.advice.labels if found.advice.said.ndim == 3 else [""]
    writer = csv.writer(file, lineterminator="\n")
    rules = [each.rule + (f"_{label}" if label else "") for each in found.mixes for label in classes]
    writer.writerow([advice.outcome, *rules])
    outcomes = outcomes_as_written(advice)
    for t in range(len(advice.said)):
        made = (each.predictions[t] for each in found.mixes)
        cells = [cell for each in made for cell in (each if isinstance(each, list) else [each] * len(classes))]
        writer.writerow([outcomes[t] if t < len(outcomes) else "", *cells])


def outcomes_as_written(advice: Advice) -> list[Any]:
    """Words or numbers, as in the table."""
    if advice.said.ndim == 3:
        return [advice.labels[int(np.argmax(row))] for row in advice.outcomes]
    if advice.labels:
        return [advice.labels[int(code)] for code in advice.outcomes]
    return [f"{value:.17g}" for value in advice.outcomes.tolist()]
