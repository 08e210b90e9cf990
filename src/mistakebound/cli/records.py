"""What experts and rules did, as JSON and as a file of predictions."""

from __future__ import annotations

import csv
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.cli.output import json_of

if TYPE_CHECKING:
    from typing import TextIO

    from mistakebound.cli.advice import Advice
    from mistakebound.cli.hindsight import Hindsight
    from mistakebound.cli.mixing import Played
    from mistakebound.cli.standings import Standings


def as_json(found: Standings) -> str:
    """One object. JSON has no infinity: what is infinite or not a number is null."""
    return json_of(as_object(found))


def as_object(found: Standings) -> dict[str, Any]:
    """Experts in the order of the file, rules by their losses."""
    advice = found.advice
    loss = "mistakes" if found.of_labels else found.loss.id
    each_expert = zip(advice.names, advice.awake.sum(axis=0).tolist(), found.means.tolist(), strict=True)
    return {
        "outcome": advice.outcome,
        "rounds": advice.rounds,
        "loss": loss,
        "labels": advice.labels,
        "experts": [{"name": name, "rounds": awake, "mean_loss": mean} for name, awake, mean in each_expert],
        "rules": [rule_as_object(each, found) for each in found.played],
        "not_played": [{"rule": each.rule, "reason": each.reason} for each in found.refused],
        "plain": {"mean_loss": float(found.plain.mean())},
        "hindsight": [hindsight_as_object(each, advice) for each in found.hindsight],
        "ahead": [found.best.predictions[t] for t in range(advice.rounds, len(advice.said))],
        "notes": advice.notes,
        "skipped": advice.frame.skipped,
    }


def rule_as_object(played: Played, found: Standings) -> dict[str, Any]:
    """One rule: its losses, its weights in the end, its regrets and its certificate."""
    weights = zip(found.advice.names, np.asarray(played.learner.weights_).tolist(), strict=True)
    told = played.certificate
    return {
        "rule": played.rule,
        "mean_loss": played.mean,
        "drawn_mistakes": played.drawn,
        "total_loss": float(played.losses.sum()),
        "rmse": math.sqrt(played.mean) if found.rooted else None,
        "regrets": {each.kind: found.regret(each, played.losses) for each in found.hindsight},
        "against": found.against(played.losses),
        "expert_regrets": dict(zip(found.advice.names, found.regrets(played.losses).tolist(), strict=True)),
        "linear_regret": played.linear_regret,
        "bound": played.bound,
        "status": played.status,
        "seconds": played.seconds,
        "weights": dict(weights),
        "certificate": None if told is None else json.loads(told.to_json()),
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


def write_predictions(found: Standings, file: TextIO) -> None:
    """The outcome and a column for each rule (and class): what `forecasters` and `experts` read again."""
    advice, classes = found.advice, found.advice.labels if found.advice.said.ndim == 3 else [""]
    writer = csv.writer(file, lineterminator="\n")
    rules = [each.rule + (f"_{label}" if label else "") for each in found.played for label in classes]
    writer.writerow([advice.outcome, *rules])
    outcomes = outcomes_as_written(advice)
    for t in range(len(advice.said)):
        made = (each.predictions[t] for each in found.played)
        cells = [cell for each in made for cell in (each if isinstance(each, list) else [each] * len(classes))]
        writer.writerow([outcomes[t] if t < len(outcomes) else "", *cells])


def outcomes_as_written(advice: Advice) -> list[Any]:
    """Words or numbers, as in the file."""
    if advice.said.ndim == 3:
        return [advice.labels[int(np.argmax(row))] for row in advice.outcomes]
    if advice.labels:
        return [advice.labels[int(code)] for code in advice.outcomes]
    return [f"{value:.17g}" for value in advice.outcomes.tolist()]
