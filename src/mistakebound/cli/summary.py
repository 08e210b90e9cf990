"""The closing summary of ``run``: the same facts as text, as JSON and for the HTML report."""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import click

from mistakebound._support.text import escaped, many, share
from mistakebound.cli.output import as_flag, files_as_text, option, reason_of
from mistakebound.errors import InputError
from mistakebound.learners.panel import Panel
from mistakebound.runs.panel_facts import panel_facts
from mistakebound.runs.rule_words import PUBLIC, name_of, parameters_of
from mistakebound.runs.rule_words import as_text as in_digits

if TYPE_CHECKING:
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.learners.learner import Learner
    from mistakebound.play.class_ledger import ClassLedger
    from mistakebound.play.ledger import Ledger
    from mistakebound.rules import Rule
    from mistakebound.runs.runner import RunResult

INTERRUPTED = "interrupted"
NO_CONFUSION: dict[str, Any] = {"labels": [], "counts": [], "without_prediction": 0}
KINDS_SHOWN = 6
"""With several classes: the number of kinds of mistakes that get a line each."""
FEW, MANY = 20, 200_000
"""The fewest features from which advice is derived, and the most for which that is fast enough."""
SKIPPING = " (--skip-bad N skips up to N bad lines)"
STOPPED = "by Ctrl-C or SIGTERM before the end"
COUNTS = ("rounds", "mistakes", "false_positives", "false_negatives", "positives", "bound", "seconds")


def facts(result: RunResult) -> dict[str, Any]:
    """Return the facts about a run, by their keys in the output of ``--json``."""
    ledger, source = result.ledger, result.source
    return (
        {name: getattr(result, name) for name in COUNTS}
        | {
            "rate": result.mistakes / max(result.rounds, 1),
            "learner": type(result.learner).__name__,
            # JSON has no infinity, and η may be infinite.
            "rule": {"id": ledger.rule.id} | {k: "inf" if v == math.inf else v for k, v in asdict(ledger.rule).items()},
            "options": options_of(ledger.rule) + class_weight_of(result.learner),
            "weight": weight_column_of(result.learner),
            "classes": list(ledger.classes),
            "majority": result.majority,
            "majority_mistakes": result.majority_mistakes,
            "files": list(source.files),
            "bytes": result.bytes,
            "skipped": [line.text(as_flag) for line in result.skipped],
            "remarks": [remark.text(as_flag) for remark in result.remarks],
            "advice": advice(result, ledger),
            "stopped": stopped_by(result.stopped),
        }
        | probabilities_of(ledger)
        | ({"panel": panel_facts(result.learner)} if isinstance(result.learner, Panel) and result.rounds else {})
        | ({"cache": source.cache} if source.cache and os.path.isfile(source.cache) else {})
        | ({} if result.saved is None else {"saved": result.saved})
    )


def probabilities_of(ledger: Ledger) -> dict[str, Any]:
    """Return the measures of the probabilities; empty for a learner without probabilities."""
    if ledger.counts.measures is None:
        return {}
    found: dict[str, Any] = {"probabilities": ledger.measures.to_dict()} if ledger.rule.log_odds else {}
    if (answers := ledger.answers) is not None:
        found["answers"] = {**answers._asdict(), "coverage": answers.coverage}
    if ledger.several:
        several = cast("ClassLedger", ledger)
        found["confusion"] = {
            "labels": list(several.classes),
            "counts": several.confusion.tolist(),
            "without_prediction": several.without_prediction,
        }
        found["by_label"] = [each._asdict() for each in several.by_class()]
    return found


def stopped_by(reason: BaseException | None) -> str:
    """Return the reason why a run ended early, for JSON; empty if it did not."""
    if isinstance(reason, KeyboardInterrupt):
        return INTERRUPTED
    hint = SKIPPING if isinstance(reason, InputError) and reason.kind == "bad line" else ""
    return "" if reason is None else reason_of(reason) + hint


def advice(result: RunResult, ledger: Ledger) -> list[str]:
    """Return options to try for the columns of a table, derived from the features that were learned."""
    columns = result.columns
    if not columns or ledger.n > MANY:
        return []
    names = ledger.names
    numbers = set(columns).intersection(names)  # the name of a category continues after its column
    categories, sentences = dict.fromkeys(columns, 0), dict.fromkeys(columns, 0)
    for name in names:
        column, equals, value = name.partition("=")
        if equals and column in categories:
            categories[column] += 1
            sentences[column] += " " in value
    mixed = [column for column in columns if column in numbers and categories[column] >= FEW]
    found = [f"column {column} has numbers and words: try --categorical {column}" for column in mixed]
    table = result.table
    if result.mistakes > result.majority_mistakes:
        once = max(FEW, ledger.updates // 2)  # then most of them occurred only once
        read_as_words = "text" in table or table.get("auto")
        texts = [column for column in columns if sentences[column] >= once and not read_as_words]
        found += [f"column {column} looks like text: try --text {column}" for column in texts]
        if numbers.difference(mixed) and "bins" not in table:
            found.append("if the numbers have very different sizes, try --bins 4")
    return found


def options_of(rule: Rule) -> str:
    """Return a rule as options of ``run``.

    >>> from mistakebound.rules import WinnowRule
    >>> options_of(WinnowRule(alpha=1.5, theta=8.0))
    '--learner winnow --alpha 1.5 --threshold 8'
    """
    words = [f"--learner {name_of(rule)}"]
    for name, value in parameters_of(rule).items():
        words.append(f"--{PUBLIC.get(name, name).replace('_', '-')} {in_digits(value)}")
    return " ".join(words)


def class_weight_of(learner: Learner) -> str:
    """Return the weights of labels as options of ``run``; empty if there are none."""
    weights = learner.get_params().get("class_weight")
    return f" {option('class_weight', weights)}" if weights else ""


def weight_column_of(learner: Learner) -> str | None:
    """Return the column of the weights; None if the files that were learned have none."""
    known = learner.known_reading()
    return None if known is None else known.table.get("weight")


def as_text(found: dict[str, Any]) -> str:
    """Return the summary as text."""
    rounds, seconds = found["rounds"], found["seconds"]
    guess = f"{escaped(found['majority'])} ({share(found['majority_mistakes'], rounds)})"
    speed = f", {found['bytes'] / 1e6 / seconds:,.0f} MB/s" if found["bytes"] > 1e6 and seconds else ""
    headline = f"{many(found['mistakes'], 'mistake')} in {many(rounds, 'round')}"
    lines = [
        click.style(headline, bold=True) + f" ({share(found['mistakes'], rounds)}), {seconds:.2f} s{speed}",
        *mistakes_by_kind(found),
        f"{found['majority_mistakes']:>12,}  mistakes of always predicting {guess}",
        f"learner       {found['options'].removeprefix('--learner ')}",
    ]
    if found["weight"] is not None:
        lines.append(f"weights       column {escaped(found['weight'])}")
    if (answers := found.get("answers")) is not None:
        wrong = f"{many(answers['mistakes'], 'mistake')} in {many(answers['answered'], 'round')} with a prediction"
        whole = ", all rounds of the model" if answers["answered"] + answers["abstentions"] > rounds else ""
        lines.append(f"abstentions   {answers['abstentions']:,}; {wrong} (coverage {answers['coverage']:.4f}{whole})")
    lines += probabilities_as_text(found, rounds)
    lines += [f"stopped       {STOPPED}"] if found["stopped"] == INTERRUPTED else []
    lines += [f"advice        {escaped(each)}" for each in found["advice"]]
    if found["skipped"]:
        lines.append(f"skipped       {many(len(found['skipped']), 'bad line')}")
    lines += files_as_text({name: found.get(name) for name in ("saved", "report", "cache")})
    return "\n".join(lines)


def mistakes_by_kind(found: dict[str, Any]) -> list[str]:
    """Return a line for each kind of mistake; with several classes, only for the most frequent kinds."""
    if found["false_positives"] is not None:
        negative, positive = (escaped(label) for label in found["classes"])
        return [
            f"{found['false_positives']:>12,}  predicted {positive}, was {negative}",
            f"{found['false_negatives']:>12,}  predicted {negative}, was {positive}",
        ]
    labels, counts, unpredicted = found.get("confusion", NO_CONFUSION).values()
    kinds = [
        (count, labels[predicted], labels[truth])
        for truth, row in enumerate(counts)
        for predicted, count in enumerate(row)
        if count and truth != predicted
    ]
    kinds.sort(key=lambda kind: -kind[0])
    lines = [
        f"{count:>12,}  predicted {escaped(one)}, was {escaped(other)}" for count, one, other in kinds[:KINDS_SHOWN]
    ]
    if rest := kinds[KINDS_SHOWN:]:
        lines.append(f"{sum(kind[0] for kind in rest):>12,}  in {many(len(rest), 'other pair')} of labels")
    if unpredicted:
        lines.append(f"{unpredicted:>12,}  without a prediction, before the first label")
    rounds = sum(map(sum, counts)) + unpredicted
    return [f"in all {rounds:,} rounds of the model:", *lines] if rounds > found["rounds"] else lines


def probabilities_as_text(found: dict[str, Any], rounds: int) -> list[str]:
    """Return a line on the probabilities, and one on the best member of a panel, if the learner has them."""
    lines = []
    if (measured := found.get("probabilities")) is not None:
        panel = found.get("panel", {})
        same = panel.get("rounds") == measured["rounds"]
        bound = loss_bound_as_text(panel) if same else ""
        if measured["rounds"] < rounds:
            bound = " (first pass)"
        elif measured["rounds"] > rounds:
            bound = f" (all {measured['rounds']:,} rounds of the model)"
        auc = f", AUC {measured['auc']:.4f}" if not math.isnan(measured.get("auc", math.nan)) else ""
        error = f", calibration error {measured['calibration_error']:.4f}" if "calibration_error" in measured else ""
        lines.append(
            f"probability   log loss {measured['log_loss']:.4f}{bound}, Brier score {measured['brier']:.4f}{auc}{error}"
        )
        if panel and not same:
            lines.append(mixture_as_text(panel))
    if dropped := found.get("panel", {}).get("dropped_features"):
        lines.append(f"features      {many(dropped, 'rare feature')} dropped because of --max-features")
    for leader in (each for each in found.get("panel", {}).get("members", ()) if each["leads_since"] is not None):
        counted = f"{many(leader['mistakes'], 'mistake')}, log loss {leader['log_loss']:.4f}"
        if found["panel"]["rounds"] > rounds:
            counted += f" in {found['panel']['rounds']:,} rounds"
        lines.append(f"best member   {leader['name']}: {counted}; leads since round {leader['leads_since']:,}")
    return lines


def mixture_as_text(panel: dict[str, Any]) -> str:
    """Return a line on the log loss that the table shows, which is not measured in the same rounds as the others."""
    counted = f"all {panel['rounds']:,} rounds"
    if panel["first_seen"]:
        counted = f"the {panel['rounds']:,} rounds of labels that had occurred before"
    return f"mixture       log loss {panel['log_loss']:.4f}{loss_bound_as_text(panel)} in {counted}"


def loss_bound_as_text(panel: dict[str, Any]) -> str:
    """Return the bound on the log loss of the mixture, in parentheses; empty for a mixed panel, which has none."""
    return "" if panel["log_loss_bound"] is None else f" (bound {panel['log_loss_bound']:.4f})"


COLOURS = {"holds": "green", "violated": "red"}


def certificate_as_text(certificate: Certificate) -> str:
    """Return a certificate as text: its result, and its details."""
    verdict = click.style(certificate.status, bold=True, fg=COLOURS.get(certificate.status, "yellow"))
    details = (f"    {line}" for line in certificate.details())
    return "\n".join([f"certificate   {verdict} on the {certificate.scope}: {certificate.meaning()}", *details])
