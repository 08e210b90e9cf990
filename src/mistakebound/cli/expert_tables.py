"""The tables and sentences that ``mistakebound experts`` prints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from mistakebound._support.text import escaped, many
from mistakebound.aggregation.registry import ADVISED
from mistakebound.certificates.certificate import Certificate
from mistakebound.cli.output import as_flag
from mistakebound.errors import message_text
from mistakebound.experts.comparison.records import message_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.experts.comparison import Comparison
    from mistakebound.experts.comparison.advice import Advice
    from mistakebound.experts.comparison.follow import FollowedRound

HEAVIEST = 5
"""How many of the heaviest experts are listed in a line."""


def as_text(found: Comparison, top: int, *, certify: bool) -> str:
    """Return the comparison as text."""
    advice, best = found.advice, found.mixes[0]
    experts = many(len(advice.names), "expert")
    lines = ["", *expert_table(found, top), "", *rule_table(found), "", *hindsight_table(found)]
    if certify:
        lines += ["", *(line for each in found.mixes for line in str(each.certificate).split("\n"))]
    coming = range(advice.rounds, len(advice.forecasts))
    if coming:
        lines += ["", f"forecasts of the rows without an outcome, by {best.rule}:"]
        lines += [f"  {row_name(advice, t)}: {prediction_as_text(best.predictions[t], advice)}" for t in coming]
    lines += [f"({message_text(note, as_flag)})" for note in advice.notes]
    title = escaped(f"{many(advice.rounds, 'round')} of {advice.outcome}, {experts}, {found.measure}")
    return "\n".join([click.style(title, bold=True), *map(escaped, lines)])


def row_name(advice: Advice, row: int) -> str:
    """Return the ids of a row, such as its date; its file and line if it has none."""
    ids = [advice.frame.texts(name)[row] for name in advice.ids]
    return ", ".join(filter(None, ids)) or advice.frame.where(row)


class FollowedTable:
    """Prints a line for each row of a followed file: its ids, the forecasts, and then the outcome."""

    def __init__(self) -> None:
        self.lines = 0

    def __call__(self, row: FollowedRound) -> None:
        """Print a line, and the names of the columns before the first one."""
        names = [*(row.ids or ["round"]), *row.forecasts, "outcome"]
        place = list(row.ids.values()) or ["–" if row.round is None else str(row.round)]
        cells = [*place, *map(forecast_as_text, [*row.forecasts.values(), row.outcome])]
        widths = [max(len(name), 10) for name in names]
        if not self.lines:
            click.echo(escaped("  ".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))))
        self.lines += 1
        click.echo(escaped("  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))))


def forecast_as_text(value: Any) -> str:
    """Return a forecast or an outcome in a cell: a label, a number, or numbers for each class."""
    if value is None:
        return "–"
    if isinstance(value, list):
        return "/".join(f"{each:.3g}" for each in value)
    return value if isinstance(value, str) else f"{value:.6g}"


def expert_table(found: Comparison, top: int) -> list[str]:
    """Return the table of the best experts, and the list of the heaviest ones."""
    best, names = found.mixes[0], found.advice.names
    weights, regrets = best.weights, best.expert_regrets
    order = np.argsort(-regrets if found.some_slept else found.expert_means, kind="stable")[:top]
    awake = found.expert_rounds[order].tolist()
    columns = {"awake": [f"{each:,}" for each in awake]}
    columns |= measured(found, found.expert_means[order].tolist(), awake)
    if found.some_slept:
        columns["regret"] = aligned(regrets[order].tolist(), counted_decimals(found))
    columns |= {"weight": [f"{each:.4f}" for each in weights[order].tolist()]}
    lines = table(columns, "expert", [names[k] for k in order])
    if len(names) > len(order):
        lines.append(f"(and {len(names) - len(order):,} more: --top {len(names)})")
        heavy = [k for k in np.argsort(-np.abs(weights), kind="stable")[:HEAVIEST] if abs(weights[k]) >= 5e-4]
        lines.append(f"largest weights of {best.rule}: {', '.join(f'{names[k]} {weights[k]:.3f}' for k in heavy)}")
    if len(found.mixes) > 1:
        lines.append(f"(weight: after the last round, by {best.rule}, the rule with the smallest loss)")
    if found.some_slept:
        lines.append("(experts were awake in different rounds, so their means cannot be compared; they are")
        lines.append(f" ranked by the regret of {best.rule} to each in that expert's rounds, the largest first)")
    return lines


def rule_table(found: Comparison) -> list[str]:
    """Return the table of rules, with the plain average or majority, and the rules that could not be run."""
    rules = found.mixes
    means = [*(each.mean for each in rules), float(found.plain.mean())]
    columns = measured(found, means, [found.advice.rounds] * len(means))
    regrets = [*(each.regrets["expert"] for each in rules), found.plain_regret]
    columns["regret"] = aligned(regrets, counted_decimals(found))
    linear = [*(each.linear_regret for each in rules), None]
    if any(value is not None for value in linear):
        columns["linear regret"] = aligned(linear)
    columns["bound"] = aligned([*(each.bound for each in rules), None], 2 if found.of_labels else None)
    columns["status"] = [*(each.status for each in rules), "–"]
    columns["seconds"] = [*(f"{each.seconds:.3f}" for each in rules), "–"]
    names = [*(each.rule for each in rules), "(plain majority)" if found.of_labels else "(plain average)"]
    order = sorted(range(len(means)), key=means.__getitem__)
    rows = {head: [cells[k] for k in order] for head, cells in columns.items()}
    lines = table(rows, "rule", [names[k] for k in order])
    lines += regret_notes(found)
    for each in rules:
        if each.drawn is not None:
            seed = each.learner.seed
            lines.append(f"({each.rule}: expected mistakes; the draws with --seed {seed} made {each.drawn:,})")
        if each.rule in ADVISED and isinstance(each.certificate, Certificate):
            lines.append(f"({each.rule}: {each.certificate.note})")
    if any(each.certificate is None for each in rules):
        lines.append("(bounds are not computed for so many rounds, because that takes long: set --certify)")
    return lines + [f"not run: {each.rule}: {message_of(each.error, as_flag)}" for each in found.refused]


def regret_notes(found: Comparison) -> list[str]:
    """Return notes: to which expert each regret is, and which regret the bound limits."""
    total = "mistakes minus those" if found.of_labels else "the total loss minus that"
    rivals = {each.rule: each.against for each in found.mixes}
    if not found.some_slept or len({*rivals.values()}) == 1:
        over = ", in that expert's rounds" if found.some_slept else ""
        lines = [f"(regret: {total} of the {found.hindsight[0].name}{over})"]
    else:
        each_one = ", ".join(f"{rule} {rival}" for rule, rival in rivals.items())
        lines = [f"(regret: {total} of the expert to whom a rule has the largest regret, in its rounds:"]
        lines.append(f" {each_one})")
    if found.of_labels:
        return [*lines, "(bound: a theorem's bound on the mistakes)"]
    linear = [each.linear_regret is not None for each in found.mixes]
    if not any(linear):
        return [*lines, "(bound: a theorem's bound on the regret to any expert)"]
    whom = "any expert" if found.some_slept else "any combination of experts"
    rest = "" if all(linear) else ", or on the regret of rules that have none"
    lines.append("(linear regret: the largest regret to any expert, on linearised losses;")
    lines.append(f" the regret to {whom} is not larger)")
    return [*lines, f"(bound: a theorem's bound on the linear regret{rest})"]


def hindsight_table(found: Comparison) -> list[str]:
    """Return the table of the best choices in hindsight, with the regret of the best rule to each."""
    best = found.mixes[0]
    known = [(each, each.oracle) for each in found.hindsight if each.oracle is not None]
    rounds = [oracle.rounds for _, oracle in known]
    columns = {"rounds": [f"{count:,}" for count in rounds]}
    columns |= measured(found, [oracle.mean for _, oracle in known], rounds)
    regrets = [best.regrets[each.kind] for each, _ in known]
    columns["regret"] = aligned(regrets, counted_decimals(found))
    lines = table(columns, f"in hindsight (regret: of {best.rule})", [each.name for each, _ in known])
    return lines + [f"not computed: {each.name}: {each.reason}" for each in found.hindsight if each.oracle is None]


# ---------------------------------------------------------------------- pieces


def measured(found: Comparison, means: Sequence[float], rounds: Sequence[int]) -> dict[str, list[str]]:
    """Return the columns of losses: mistakes and their rate, or the mean loss, with RMSE for the square loss."""
    if found.of_labels:
        totals = [mean * count if count else None for mean, count in zip(means, rounds, strict=True)]
        whole = all(
            total is None or abs(total - round(total)) < 1e-6 for total in totals
        )  # expected mistakes are not whole
        return {"mistakes": aligned(totals, 0 if whole else 2), "rate": [f"{mean:.4f}" for mean in means]}
    columns = {"mean loss": aligned(means)}
    return columns | ({"RMSE": aligned([math.sqrt(mean) for mean in means])} if found.rooted else {})


def table(columns: dict[str, list[str]], last: str, names: list[str]) -> list[str]:
    """Return the lines of a table: right-aligned columns, then the names."""
    widths = {head: max(len(head), *map(len, cells)) + 2 for head, cells in columns.items()}
    lines = ["".join(f"{head:>{widths[head]}}" for head in columns) + f"  {last}"]
    for number, name in enumerate(names):
        lines.append("".join(f"{cells[number]:>{widths[head]}}" for head, cells in columns.items()) + f"  {name}")
    return lines


def aligned(values: Sequence[float | None], decimals: int | None = None) -> list[str]:
    """Return numbers with equally many decimals. By default the largest of them has six digits.

    >>> aligned([1056.87, 2.5, None]), aligned([0.20575]), aligned([7.5e9, -4.2e8])
    (['1,056.87', '2.50', '–'], ['0.205750'], ['7,500,000,000', '-420,000,000'])
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    largest = max(map(abs, known), default=0.0)
    digits = decimals if decimals is not None else 5 - math.floor(math.log10(largest)) if largest > 0 else 0
    form = f",.{max(digits, 0)}f" if -10 < digits < 12 else ".5g"
    return ["–" if value is None or not math.isfinite(value) else f"{value:{form}}" for value in values]


def counted_decimals(found: Comparison) -> int | None:
    """Return the decimals of regrets: 0 for mistakes, 2 for expected mistakes, otherwise None (as needed)."""
    if not found.of_labels:
        return None
    return 0 if all(each.drawn is None for each in found.mixes) else 2


def prediction_as_text(value: Any, advice: Advice) -> str:
    """Return a prediction as text."""
    if value is None:
        return "no forecast, because every expert is asleep"
    if isinstance(value, list):
        return ", ".join(f"{label} {each:.4g}" for label, each in zip(advice.labels, value, strict=True))
    return value if isinstance(value, str) else f"{value:.6g}"
