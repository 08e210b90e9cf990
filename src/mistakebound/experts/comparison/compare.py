"""Compare the experts of a table and the rules that mix them, in one call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support.json_numbers import json_of
from mistakebound.data.columns import Frame, columns_with
from mistakebound.errors import StreamError
from mistakebound.experts.comparison.advice import CLASSES, LABELS, ColumnChoice
from mistakebound.experts.comparison.follow import follow as learn_followed
from mistakebound.experts.comparison.records import as_object, write_predictions
from mistakebound.experts.comparison.results import best_in_hindsight, plain_losses, regrets_to_each, result_of
from mistakebound.experts.comparison.state import State
from mistakebound.experts.comparison.state_file import load_state, save_state
from mistakebound.experts.comparison.weights import weights_after, write_weights
from mistakebound.losses import loss_named

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from mistakebound._support.arrays import FloatArray
    from mistakebound.errors import Option
    from mistakebound.experts.comparison.advice import Advice
    from mistakebound.experts.comparison.follow import FollowedRound
    from mistakebound.experts.comparison.results import Hindsight, RefusedRule, RuleResult
    from mistakebound.hindsight.oracles import CheckedForecasts
    from mistakebound.losses import Loss, LossLike


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
    state : State
        What was learned: `save` writes it.
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
    state: State

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file (usually ``.mb``), from which `compare` continues with ``load``."""
        save_state(self.state, path)

    def to_json(self, written: Callable[[Option], str] = str) -> str:
        """Return the JSON text that the command prints; ``written`` formats the options that notes name."""
        return json_of(as_object(self, written))

    def write_predictions(self, file: TextIO) -> None:
        """Write a table: the outcome, and a column for each rule (and class)."""
        write_predictions(self, file)

    def weights(self, rule: str | None = None) -> FloatArray:
        """Return the weights of a rule (by default the best) after each round, rounds × experts."""
        return weights_after(self, self.best.rule if rule is None else rule)

    def write_weights(self, file: TextIO) -> None:
        """Write a table of the weights after each round; with several rules, a line for each round and rule."""
        write_weights(self, file)

    def report(self, written: Callable[[Option], str] = str, command: str = "") -> str:
        """Return a self-contained HTML page; ``command`` is shown as the way to make it again."""
        from mistakebound.experts.comparison.report import report  # noqa: PLC0415 - rarely needed

        return report(self, written, command)

    def plot(self, *, dark: bool = False) -> Any:
        """Return a matplotlib figure: weights of the best rule, and the regret of each rule to the best expert."""
        from mistakebound.experts.comparison.pictures import figure  # noqa: PLC0415 - rarely needed

        return figure(self, dark=dark)


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
    ids: Sequence[str] = (),
    load: str | os.PathLike[str] | None = None,
    save: str | os.PathLike[str] | None = None,
    overlap: str = "refuse",
    follow: bool = False,
    on_round: Callable[[FollowedRound], None] | None = None,
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
        Columns that are experts, and columns to leave out. By default every column that can be a forecast is an
        expert; ``experts="all"`` takes every column of numbers.
    ids : sequence of str
        Columns that identify a row, such as a date. By default columns of words, dates and row numbers.
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
    load, save : path, optional
        Files with a state: what was learned so far. With ``load``, learning continues as if the rows of both tables
        had been in one, and options about columns and rules are those of the state. ``experts`` may name more experts,
        which were asleep until then; experts that are ignored are asleep in the new rows.
    overlap : str
        What to do with rows that the loaded state has learned already: ``"refuse"`` (raise StreamError), ``"skip"`` or
        ``"learn"`` again. A row is recognised by its ids.
    follow : bool
        Wait for more rows at the end of the file, until Ctrl-C or SIGTERM. A row without an outcome is forecast, and
        not learned.
    on_round : callable, optional
        With ``follow``: called with the forecasts of each row, as a FollowedRound.
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
    choice = ColumnChoice(
        _listed(experts), _listed(ignore), _listed(classes), positive, ahead, skip_bad, advice, _listed(ids)
    )
    state = State(outcome, choice, _listed(rules), None if loss is None else loss_named(loss), parameters)
    if load is not None:
        state = load_state(load).continued(state)
    reading: dict[str, Any] = {"separator": separator, "header": header, "skip_bad": skip_bad}
    if follow:
        state.choice = replace(state.choice, ahead=True)
        try:
            stream, checked = learn_followed(table, state, on_round, overlap, reading)
        except StreamError:
            if save is not None and state.learners:  # the rows before the bad one stay learned
                save_state(state, save)
            raise
    else:
        frame = table if isinstance(table, Frame) else columns_with(table, outcome, **reading)
        stream, checked = state.stream(frame, overlap)
        steps = Steps(progress, len(state.rules) + 1, stream.forecasts.size)
        state.learn(stream, steps)
        steps("the best in hindsight", len(state.rules))
    found = comparison_of(state, stream, checked, switches=switches, certify=certify)
    if save is not None:
        found.save(save)
    return found


@dataclass(frozen=True)
class Steps:
    """Passes the name and number of each step to a callback, with the number of steps and of forecasts."""

    progress: Callable[[str, int, int, int], None] | None
    steps: int
    cells: int

    def __call__(self, name: str, number: int) -> None:
        """Pass on a step."""
        if self.progress:
            self.progress(name, number, self.steps, self.cells)


def comparison_of(
    state: State, stream: Advice, checked: CheckedForecasts, *, switches: int, certify: bool
) -> Comparison:
    """Return the comparison of all rounds that a state has learned; ``stream`` may have more rows, without outcomes."""
    mixes = [
        result_of(rule, learner, stream, state.seconds.get(rule, 0.0), certify=certify)
        for rule, learner in state.learners.items()
    ]
    mixes.sort(key=lambda each: each.mean)
    used, of_labels = state.used_loss(stream), stream.kind == LABELS
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
        refused=state.refused,
        hindsight=hindsight,
        plain=plain,
        plain_regret=regret_to(hindsight[0], plain, checked.losses, stream),
        some_slept=not stream.awake.all(),
        of_labels=of_labels,
        measure="mistakes" if of_labels else "Brier loss" if squares and stream.kind == CLASSES else used.name,
        rooted=squares and stream.kind != CLASSES,
        parameters=state.parameters,
        state=state,
    )


def regret_to(best: Hindsight, losses: FloatArray, expert_losses: FloatArray, advice: Advice) -> float | None:
    """Return the regret to a best choice in hindsight; to the best expert, if some slept, the largest regret to any."""
    if best.kind == "expert" and not advice.awake.all():
        return float(regrets_to_each(advice.awake, expert_losses, losses).max())
    return None if best.oracle is None else float(losses[best.counted].sum()) - best.oracle.total


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
