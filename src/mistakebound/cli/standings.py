"""How experts and rules did, in tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from mistakebound._support.text import escaped, many
from mistakebound.cli.advice import CLASSES, LABELS
from mistakebound.cli.hindsight import regrets_to_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.cli.advice import Advice
    from mistakebound.cli.hindsight import Hindsight
    from mistakebound.cli.mixing import Played
    from mistakebound.losses import Loss

HEAVIEST = 5
"""Experts whose weights are told in a line."""


@dataclass
class Standings:
    """All that is known in the end; of the rules that were played the best is the first, as is the best expert."""

    advice: Advice
    loss: Loss
    expert_losses: FloatArray
    played: list[Played]
    refused: list[Played]
    hindsight: list[Hindsight]
    plain: FloatArray
    """Losses of the plain average; of labels, of the plain majority."""

    @property
    def best(self) -> Played:
        """The rule with the least losses."""
        return self.played[0]

    @property
    def of_labels(self) -> bool:
        """Whether mistakes are counted."""
        return self.advice.kind == LABELS

    @property
    def rooted(self) -> bool:
        """Whether the root of the mean loss means something: of numbers, it is in their unit."""
        return self.loss.id == "square" and self.advice.kind != CLASSES

    @property
    def measure(self) -> str:
        """What is counted."""
        brier = self.advice.kind == CLASSES and self.loss.id == "square"
        return "mistakes" if self.of_labels else "Brier loss" if brier else self.loss.name

    @property
    def means(self) -> FloatArray:
        """Of each expert, over its rounds; infinite if it was never awake."""
        awake = self.advice.awake.sum(axis=0)
        totals = np.where(self.advice.awake, self.expert_losses, 0.0).sum(axis=0)
        return np.asarray(np.where(awake > 0, totals / np.maximum(awake, 1), np.inf))

    @property
    def some_slept(self) -> bool:
        """Whether experts were awake in different rounds, so that their means cannot be compared."""
        return not self.advice.awake.all()

    def regrets(self, losses: FloatArray) -> FloatArray:
        """To each expert, over its rounds."""
        return regrets_to_each(self.advice.awake, self.expert_losses, losses)

    def against(self, losses: FloatArray) -> str:
        """The expert to whom the regret is the largest."""
        return self.advice.names[int(np.argmax(self.regrets(losses)))]

    def regret(self, known: Hindsight, losses: FloatArray) -> float | None:
        """To what would have been best; to experts, if some slept, the largest."""
        if known.kind == "expert" and self.some_slept:
            return float(self.regrets(losses).max())
        return known.regret(losses)


def in_words(found: Standings, top: int, *, certify: bool) -> str:
    """What a person sees."""
    advice, best = found.advice, found.best
    experts = many(len(advice.names), "expert")
    lines = ["", *of_experts(found, top), "", *of_rules(found), "", *of_hindsight(found)]
    if certify:
        lines += ["", *(line for each in found.played for line in str(each.certificate).split("\n"))]
    coming = range(advice.rounds, len(advice.said))
    if coming:
        lines += ["", f"yet to come, by {best.rule}:"]
        lines += [f"  {advice.frame.where(t)}: {said(best.predictions[t], advice)}" for t in coming]
    lines += [f"({note})" for note in advice.notes]
    title = escaped(f"{many(advice.rounds, 'round')} of {advice.outcome}, {experts}, {found.measure}")
    return "\n".join([click.style(title, bold=True), *map(escaped, lines)])


def of_experts(found: Standings, top: int) -> list[str]:
    """The experts that are hardest to beat, and those with the most weight."""
    names, weights = found.advice.names, found.best.learner.weights_
    regrets = found.regrets(found.best.losses)
    order = np.argsort(-regrets if found.some_slept else found.means, kind="stable")[:top]
    awake = found.advice.awake.sum(axis=0)[order].tolist()
    columns = {"awake": [f"{each:,}" for each in awake]}
    columns |= measured(found, found.means[order].tolist(), awake)
    if found.some_slept:
        columns["regret"] = aligned(regrets[order].tolist(), counted_decimals(found))
    columns |= {"weight": [f"{each:.4f}" for each in weights[order].tolist()]}
    lines = table(columns, "expert", [names[k] for k in order])
    if len(names) > len(order):
        lines.append(f"(and {len(names) - len(order):,} more: --top {len(names)})")
        heavy = [k for k in np.argsort(-np.abs(weights), kind="stable")[:HEAVIEST] if abs(weights[k]) >= 5e-4]
        lines.append(f"most weight by {found.best.rule}: {', '.join(f'{names[k]} {weights[k]:.3f}' for k in heavy)}")
    if len(found.played) > 1:
        lines.append(f"(weight: in the end, by {found.best.rule}, the rule with the least loss)")
    if found.some_slept:
        lines.append("(experts were awake in different rounds, so their means cannot be compared: they are ranked by")
        lines.append(
            f" the regret of {found.best.rule} to each over that expert's own rounds, the hardest to beat first)"
        )
    return lines


def of_rules(found: Standings) -> list[str]:
    """Rules, the best first; the plain average or majority where it belongs; and what could not be played."""
    rules, leader = found.played, found.hindsight[0]
    means = [*(each.mean for each in rules), float(found.plain.mean())]
    columns = measured(found, means, [found.advice.rounds] * len(means))
    regrets = [found.regret(leader, losses) for losses in (*(each.losses for each in rules), found.plain)]
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
    lines += what_regrets_are(found)
    for each in rules:
        if each.drawn is not None:
            seed = each.learner.seed
            lines.append(
                f"({each.rule}: mistakes to be expected; what was drawn with --seed {seed} made {each.drawn:,})"
            )
    if any(each.certificate is None for each in rules):
        lines.append("(the bound of so many rounds takes a while to derive: --certify does so)")
    return lines + [f"not played: {each.rule}: {each.reason}" for each in found.refused]


def what_regrets_are(found: Standings) -> list[str]:
    """To whom, and which of them the theorem bounds."""
    means = "" if found.of_labels else "; a total, where losses are means"
    rivals = {each.rule: found.against(each.losses) for each in found.played}
    if not found.some_slept or len({*rivals.values()}) == 1:
        over = ", over its own rounds" if found.some_slept else ""
        lines = [f"(regret: to the {found.hindsight[0].name}{over}{means})"]
    else:
        each_one = ", ".join(f"{rule} {rival}" for rule, rival in rivals.items())
        lines = [f"(regret: to the expert that a rule is furthest behind, over that expert's own rounds{means}:"]
        lines.append(f" {each_one})")
    if found.of_labels:
        return [*lines, "(bound: what a theorem allows the mistakes to be)"]
    linear = [each.linear_regret is not None for each in found.played]
    if not any(linear):
        return [*lines, "(bound: what a theorem allows the regret to be to any expert)"]
    whom = "any expert" if found.some_slept else "any mix of experts"
    rest = "" if all(linear) else ", or the regret of rules that have none"
    lines.append(
        f"(linear regret: by tangents of the losses, the largest to an expert; the regret to {whom} is no larger)"
    )
    return [*lines, f"(bound: what a theorem allows the linear regret to be{rest})"]


def of_hindsight(found: Standings) -> list[str]:
    """What would have been best, and how far the best rule is from it."""
    known = [(each, each.oracle) for each in found.hindsight if each.oracle is not None]
    rounds = [oracle.rounds for _, oracle in known]
    columns = {"rounds": [f"{count:,}" for count in rounds]}
    columns |= measured(found, [oracle.mean for _, oracle in known], rounds)
    regrets = [found.regret(each, found.best.losses) for each, _ in known]
    columns["regret"] = aligned(regrets, counted_decimals(found))
    lines = table(columns, f"in hindsight (regret: of {found.best.rule})", [each.name for each, _ in known])
    return lines + [f"not known: {each.name}: {each.reason}" for each in found.hindsight if each.oracle is None]


# ---------------------------------------------------------------------- pieces


def measured(found: Standings, means: Sequence[float], rounds: Sequence[int]) -> dict[str, list[str]]:
    """Mistakes and their rate; or the mean loss, with its root for the square loss of numbers."""
    if found.of_labels:
        totals = [mean * count if count else None for mean, count in zip(means, rounds, strict=True)]
        whole = all(total is None or abs(total - round(total)) < 1e-6 for total in totals)  # or some are expected
        return {"mistakes": aligned(totals, 0 if whole else 2), "rate": [f"{mean:.4f}" for mean in means]}
    columns = {"mean loss": aligned(means)}
    return columns | ({"RMSE": aligned([math.sqrt(mean) for mean in means])} if found.rooted else {})


def table(columns: dict[str, list[str]], last: str, names: list[str]) -> list[str]:
    """Columns to the right, and the names after them."""
    widths = {head: max(len(head), *map(len, cells)) + 2 for head, cells in columns.items()}
    lines = ["".join(f"{head:>{widths[head]}}" for head in columns) + f"  {last}"]
    for number, name in enumerate(names):
        lines.append("".join(f"{cells[number]:>{widths[head]}}" for head, cells in columns.items()) + f"  {name}")
    return lines


def aligned(values: Sequence[float | None], decimals: int | None = None) -> list[str]:
    """Numbers with the same decimals: as many as the largest of them needs for six digits, if it is not told.

    >>> aligned([1056.87, 2.5, None]), aligned([0.20575]), aligned([7.5e9, -4.2e8])
    (['1,056.87', '2.50', '–'], ['0.205750'], ['7,500,000,000', '-420,000,000'])
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    largest = max(map(abs, known), default=0.0)
    digits = decimals if decimals is not None else 5 - math.floor(math.log10(largest)) if largest > 0 else 0
    form = f",.{max(digits, 0)}f" if -10 < digits < 12 else ".5g"
    return ["–" if value is None or not math.isfinite(value) else f"{value:{form}}" for value in values]


def counted_decimals(found: Standings) -> int | None:
    """Mistakes are whole, unless expected ones are among them; other numbers have as many decimals as they need."""
    if not found.of_labels:
        return None
    return 0 if all(each.drawn is None for each in found.played) else 2


def said(value: Any, advice: Advice) -> str:
    """A prediction in words."""
    if value is None:
        return "no forecast, since every expert is asleep"
    if isinstance(value, list):
        return ", ".join(f"{label} {each:.4g}" for label, each in zip(advice.labels, value, strict=True))
    return value if isinstance(value, str) else f"{value:.6g}"
