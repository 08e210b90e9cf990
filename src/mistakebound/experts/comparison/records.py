"""A comparison of experts as JSON, and its predictions as a table."""

from __future__ import annotations

import csv
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support.text import shortest
from mistakebound.aggregation.registry import ADVISED
from mistakebound.errors import InputError, message_text
from mistakebound.experts.comparison.past_rows import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from mistakebound.errors import Option
    from mistakebound.experts.comparison.advice import Advice
    from mistakebound.experts.comparison.compare import Comparison
    from mistakebound.experts.comparison.results import Hindsight, RuleResult


def as_object(found: Comparison, written: Callable[[Option], str]) -> dict[str, Any]:
    """Return the comparison as an object for JSON: experts in the order of the table, rules sorted by loss."""
    advice = found.advice
    each_expert = zip(advice.names, found.expert_rounds.tolist(), found.expert_means.tolist(), strict=True)
    return {
        "outcome": advice.outcome,
        "ids": advice.ids,
        "rounds": advice.rounds,
        "loss": "mistakes" if found.of_labels else found.loss.id,
        "labels": advice.labels,
        "experts": [{"name": name, "rounds": awake, "mean_loss": mean} for name, awake, mean in each_expert],
        "rules": [rule_as_object(each, found) for each in found.mixes],
        "not_played": [{"rule": each.rule, "reason": message_of(each.error, written)} for each in found.refused],
        "plain": {"mean_loss": float(found.plain.mean())},
        "hindsight": [hindsight_as_object(each, advice) for each in found.hindsight],
        "ahead": [found.best.predictions[t] for t in range(advice.rounds, len(advice.forecasts))],
        "notes": [message_text(note, written) for note in advice.notes],
        "skipped": [str(each) for each in advice.frame.skipped],
    }


def message_of(error: ValueError, written: Callable[[Option], str]) -> str:
    """Return the message of an error, with its options formatted by ``written``."""
    return error.text(written) if isinstance(error, InputError) else str(error)


def rule_as_object(result: RuleResult, found: Comparison) -> dict[str, Any]:
    """Return the result of one rule: losses, final weights, regrets and certificate."""
    names = found.advice.names
    return {
        "rule": result.rule,
        "mean_loss": result.mean,
        "drawn_mistakes": result.drawn,
        "advice": advice_as_object(result, found.advice),
        "total_loss": result.total,
        "rmse": math.sqrt(result.mean) if found.rooted else None,
        "regrets": result.regrets,
        "against": result.against,
        "expert_regrets": dict(zip(names, result.expert_regrets.tolist(), strict=True)),
        "linear_regret": result.linear_regret,
        "bound": result.bound,
        "status": result.status,
        "seconds": result.seconds,
        "learning_seconds": result.learning_seconds,
        "weights": dict(zip(names, result.weights.tolist(), strict=True)),
        "certificate": None if result.certificate is None else json.loads(result.certificate.to_json()),
    }


def advice_as_object(result: RuleResult, advice: Advice) -> dict[str, Any] | None:
    """Return how often the advice was wrong, and was not followed; None for a rule that follows none."""
    if result.rule not in ADVISED:
        return None
    ledger = result.learner.ledger_
    counts = {"rounds": ledger.advice_rounds, "mistakes": ledger.advice_mistakes, "overrides": ledger.overrides}
    return {"column": advice.advice_name, **counts}


def hindsight_as_object(best: Hindsight, advice: Advice) -> dict[str, Any]:
    """Return a best choice in hindsight; for a sequence, with the first round of each expert's turn."""
    oracle = best.oracle
    if oracle is None:
        return {"kind": best.kind, "name": best.name, "reason": best.reason}
    more: dict[str, Any] = {}
    if oracle.weights is not None:
        more["weights"] = dict(zip(advice.names, oracle.weights.tolist(), strict=True))
    if oracle.sequence is not None:
        turns = np.flatnonzero(np.diff(oracle.sequence, prepend=-1)).tolist()
        more["turns"] = [{"round": t, "expert": advice.names[oracle.sequence[t]]} for t in turns]
    losses = {"total_loss": oracle.total, "mean_loss": oracle.mean, "rounds": oracle.rounds, "gap": oracle.gap}
    return {"kind": best.kind, "name": best.name, **losses, **more}


def write_predictions(found: Comparison, file: TextIO) -> None:
    """Write a table of the ids of each row, its outcome, and a column for each rule (and class).

    `forecasters` and `experts` can read it.
    """
    advice, classes = found.advice, found.advice.labels if found.advice.forecasts.ndim == 3 else [""]
    writer = csv.writer(file, lineterminator="\n")
    rules = [each.rule + (f"_{label}" if label else "") for each in found.mixes for label in classes]
    writer.writerow([*advice.ids, advice.outcome, *rules])
    outcomes, ids = outcome_cells(advice), rows_of(advice.frame, advice.ids)
    for t in range(len(advice.forecasts)):
        predictions = (each.predictions[t] for each in found.mixes)
        cells = [cell for each in predictions for cell in (each if isinstance(each, list) else [each] * len(classes))]
        writer.writerow([*ids[t], outcomes[t] if t < len(outcomes) else "", *cells])


def outcome_cells(advice: Advice) -> list[Any]:
    """Return the outcomes as words or numbers, as in the table that was read."""
    if advice.forecasts.ndim == 3:
        return [advice.labels[int(np.argmax(row))] for row in advice.outcomes]
    if advice.labels:
        return [advice.labels[int(code)] for code in advice.outcomes]
    return [shortest(value) for value in advice.outcomes.tolist()]
