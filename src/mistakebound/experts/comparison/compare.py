"""Compare the experts of a table and the rules that mix them, in one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support.json_numbers import json_of
from mistakebound.aggregation.registry import FOLLOWING
from mistakebound.data.columns import Frame, columns_with
from mistakebound.errors import StreamError, setting
from mistakebound.experts.comparison.advice import CLASSES, LABELS, ColumnChoice, advice_of
from mistakebound.experts.comparison.records import as_object, write_predictions
from mistakebound.experts.comparison.results import (
    RefusedRule,
    best_in_hindsight,
    check_parameters,
    check_rule,
    learner_for,
    plain_losses,
    regrets_to_each,
    rules_for,
    run_rule,
)
from mistakebound.hindsight.oracles import checked_forecasts
from mistakebound.losses import Square, ZeroOne, loss_named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from mistakebound._support.arrays import FloatArray
    from mistakebound.errors import Option
    from mistakebound.experts.comparison.advice import Advice
    from mistakebound.experts.comparison.results import Hindsight, RuleResult
    from mistakebound.losses import Loss, LossLike

REMEDIES: dict[str, tuple[str | Option, ...]] = {
    "log": (": ", setting("loss", "square"), " takes any number"),
    "percentage": (": try ", setting("loss", "absolute")),
}
"""Added to the error about a number for which the loss is not defined."""


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`.

    Attributes
    ----------
    advice : Advice
        The forecasts of the experts, and the outcomes.
    loss : Loss
        The loss that is summed; for labels, the zero-one loss, which counts mistakes.
    expert_losses : array
        Rounds × experts; NaN while an expert was asleep.
    expert_rounds, expert_means : array
        Number of rounds in which each expert was awake, and its mean loss in them; infinite if it was never awake.
    mixes : list of RuleResult
        The result of each rule, smallest loss first.
    refused : list of RefusedRule
        The rules that could not be run, and why.
    hindsight : list of Hindsight
        The best choices in hindsight: expert (first), combinations, sequence.
    plain : array
        Losses of the unweighted average; for labels, of the unweighted majority.
    plain_regret : float or None
        Regret of ``plain`` to the best expert.
    some_slept : bool
        Whether experts were awake in different rounds; then their mean losses cannot be compared.
    of_labels : bool
        Whether the advice is labels; then mistakes are counted.
    measure : str
        The name of the loss, for tables.
    rooted : bool
        Whether the root of the mean loss is shown: for the square loss of numbers, because it has their unit.
    parameters : dict
        Parameters of the rules that were passed.
    """

    advice: Advice
    loss: Loss
    expert_losses: FloatArray
    expert_rounds: FloatArray
    expert_means: FloatArray
    mixes: list[RuleResult]
    refused: list[RefusedRule]
    hindsight: list[Hindsight]
    plain: FloatArray
    plain_regret: float | None
    some_slept: bool
    of_labels: bool
    measure: str
    rooted: bool
    parameters: dict[str, Any]

    def __repr__(self) -> str:
        best, advice = self.mixes[0], self.advice
        return (
            f"<Comparison: {advice.rounds} rounds, {len(advice.names)} experts; {self.measure}; "
            f"best rule {best.rule!r} with {best.mean:.6g} a round; {self.hindsight[0].name}>"
        )

    @property
    def best(self) -> RuleResult:
        """The result of the rule with the smallest loss."""
        return self.mixes[0]

    def to_json(self, written: Callable[[Option], str] = str) -> str:
        """Return the JSON text that the command prints; ``written`` formats the options that notes name."""
        return json_of(as_object(self, written))

    def write_predictions(self, file: TextIO) -> None:
        """Write a table: the outcome, and a column for each rule (and class)."""
        write_predictions(self, file)

    def plot(self) -> Any:
        """Return a matplotlib figure: weights of the best rule, and the regret of each rule to the best expert."""
        from mistakebound.experts.comparison.pictures import figure  # noqa: PLC0415 - rarely needed

        return figure(self)


def compare(
    table: Any,
    outcome: str,
    *,
    experts: Sequence[str] = (),
    ignore: Sequence[str] = (),
    classes: Sequence[str] = (),
    positive: str | None = None,
    ahead: bool = False,
    advice: str | None = None,
    rules: str | Sequence[str] = (),
    loss: LossLike | None = None,
    switches: int = 5,
    certify: bool = False,
    separator: str | None = None,
    header: bool | None = None,
    skip_bad: int = 0,
    progress: Callable[[str, int, int, int], None] | None = None,
    **parameters: Any,
) -> Comparison:
    """Run rules on the experts of a table, and compare their losses with those of the experts and with bounds.

    Each forecast is made before its outcome is read. An empty field means that the expert is asleep in that round.

    Parameters
    ----------
    table : path, sequence of paths, DataFrame or dict of columns
        A column for each expert, a row for each round. Files are tables, JSON lines, Parquet or Arrow.
    outcome : str
        The column of the outcomes: numbers or words.
    experts, ignore : sequence of str
        Columns that are experts, and columns to leave out. By default every column that fits is an expert.
    classes : sequence of str
        The possible outcomes, if experts give a probability for each of them, in columns such as ``Alice_H``.
    positive : str, optional
        The outcome whose probability the experts give.
    ahead : bool
        Forecast the last rows, whose outcomes are still empty.
    advice : str, optional
        The column of labels that ``"guarded-weighted-majority"`` may follow instead of the experts.
    rules : str or sequence of str
        Ids of rules, or ``"all"``. The default is ``"ml-poly"``; for labels ``"weighted-majority"``; with ``advice``
        ``"guarded-weighted-majority"``.
    loss : str or Loss, optional
        ``square`` (default), ``absolute``, ``percentage``, ``pinball:TAU`` or ``log``.
    switches : int
        Number of switches of the best sequence of experts; 0 computes no sequence.
    certify : bool
        Derive certificates even for more than 20,000 rounds.
    separator, header, skip_bad
        Options of `Source` for reading files.
    progress : callable, optional
        Called before each step with its name, its number from 0, the number of steps, and the number of forecasts.
    **parameters
        Parameters of the rules: ``gradient``, ``eta``, ``alpha``, ``beta``, ``rates``, ``penalty``, ``seed``, ... A
        rule ignores parameters that it does not have; a parameter that no rule has raises OptionError.

    Raises
    ------
    StreamError
        If the table cannot be read as experts and outcomes; with ``kind``, the ``file`` and ``line`` of the row, the
        column as ``feature``, and its ``value``.
    OptionError
        If a rule, a loss or a parameter does not fit.

    Examples
    --------
    >>> import mistakebound as mb
    >>> table = {"Ann": [20.0, 21.0, 19.0], "Bob": [25.0, 26.0, 24.0], "load": [21.0, 22.0, 20.0]}
    >>> found = mb.experts.compare(table, "load", rules=["ml-poly", "adahedge"])
    >>> found.best.rule, found.best.against, found.best.status, found.hindsight[0].name
    ('adahedge', 'Ann', 'vacuous', 'best expert: Ann')
    >>> {name: round(float(mean), 3) for name, mean in zip(found.advice.names, found.expert_means)}
    {'Ann': 1.0, 'Bob': 16.0}
    """
    frame = table
    if not isinstance(table, Frame):
        frame = columns_with(table, outcome, separator=separator, header=header, skip_bad=skip_bad)
    choice = ColumnChoice(_listed(experts), _listed(ignore), _listed(classes), positive, ahead, skip_bad, advice)
    stream = advice_of(frame, outcome, choice)
    passed_loss = None if loss is None else loss_named(loss)
    ids = rules_for(stream, _listed(rules), passed_loss)
    if ids[0] in FOLLOWING:
        stream = stream.as_labels(ids[0])
    of_labels = stream.kind == LABELS
    used = ZeroOne() if of_labels else passed_loss or Square()
    try:
        checked = checked_forecasts(stream.past_forecasts, stream.outcomes, used)
    except StreamError as error:
        raise stream.with_file_and_line(error, *REMEDIES.get(used.id, ())) from None
    check_parameters(ids, parameters)
    mixes: list[RuleResult] = []
    refused: list[RefusedRule] = []
    for number, rule in enumerate(ids):
        if progress:
            progress(rule, number, len(ids) + 1, stream.forecasts.size)
        try:
            check_rule(rule, stream, used, parameters)
            mixes.append(run_rule(rule, learner_for(rule, stream, used, parameters), stream, certify=certify))
        except ValueError as error:
            refused.append(RefusedRule(rule, error))
    if not mixes:
        raise refused[0].error
    if progress:
        progress("the best in hindsight", len(ids), len(ids) + 1, stream.forecasts.size)
    mixes.sort(key=lambda each: each.mean)
    plain, squares = plain_losses(stream, used), used.id == "square"
    hindsight = best_in_hindsight(stream, checked, switches, mixes[0].losses)
    rounds = stream.awake.sum(axis=0)
    totals = np.where(stream.awake, checked.losses, 0.0).sum(axis=0)
    means = np.asarray(np.where(rounds > 0, totals / np.maximum(rounds, 1), np.inf))
    for mix in mixes:
        mix.expert_regrets = regrets_to_each(stream.awake, checked.losses, mix.losses)
        mix.against = stream.names[int(np.argmax(mix.expert_regrets))]
        mix.regrets = {each.kind: regret_to(each, mix.losses, checked.losses, stream) for each in hindsight}
    return Comparison(
        stream,
        used,
        checked.losses,
        expert_rounds=rounds,
        expert_means=means,
        mixes=mixes,
        refused=refused,
        hindsight=hindsight,
        plain=plain,
        plain_regret=regret_to(hindsight[0], plain, checked.losses, stream),
        some_slept=not stream.awake.all(),
        of_labels=of_labels,
        measure="mistakes" if of_labels else "Brier loss" if squares and stream.kind == CLASSES else used.name,
        rooted=squares and stream.kind != CLASSES,
        parameters=parameters,
    )


def regret_to(best: Hindsight, losses: FloatArray, expert_losses: FloatArray, advice: Advice) -> float | None:
    """Return the regret to a best choice in hindsight; to the best expert, if some slept, the largest regret to any."""
    if best.kind == "expert" and not advice.awake.all():
        return float(regrets_to_each(advice.awake, expert_losses, losses).max())
    return None if best.oracle is None else float(losses[best.counted].sum()) - best.oracle.total


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
