"""Read a table as advice and outcomes, one round per row; choose the columns that are experts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support.text import shortest
from mistakebound.aggregation.registry import ADVISED
from mistakebound.data.tables import is_number
from mistakebound.errors import StreamError, setting
from mistakebound.experts.comparison.class_columns import (
    ExpertColumns,
    class_columns,
    distinct,
    few_of,
    label_codes,
    label_columns,
    likely_experts,
    require_numbers,
)
from mistakebound.experts.comparison.roles import (
    SEEMS_TO_NUMBER,
    date_in,
    experts_option,
    id_columns,
    ignored_columns,
    refuse_ignored_experts,
    role_name,
    seconds_of,
    why_not_forecasts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mistakebound._support.arrays import BoolArray, FloatArray
    from mistakebound.data.columns import Frame
    from mistakebound.errors import Option

NUMBERS, LABELS, CLASSES = "numbers", "labels", "classes"
TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
NO_OUTCOME = "the outcome is missing"
EVERY = "all"
"""In place of the names of the experts: every column of numbers."""
ALL_TAKEN = (
    *(
        "every column of numbers that can be a forecast is an expert; ",
        setting("experts", ["A", "B"]),
        " selects experts, ",
    ),
    *(setting("ignore", ["A", "B"]), " leaves columns out"),
)
ANOTHER_OUTCOME = ("choose another ", setting("outcome"))
LEFT_OUT = ("leave the column out: ", setting("ignore"))


@dataclass(frozen=True)
class ColumnChoice:
    """Which columns are experts (empty: all that fit), and how outcomes are read: the parameters of `compare`."""

    experts: Sequence[str] = ()
    ignore: Sequence[str] = ()
    classes: Sequence[str] = ()
    positive: str | None = None
    ahead: bool = False
    skip_bad: int = 0
    advice: str | None = None
    ids: Sequence[str] = ()


@dataclass(frozen=True)
class Advice:
    """The forecasts of the experts and the outcomes of all rounds.

    Attributes
    ----------
    frame : Frame
        The table.
    outcome : str
        The column of the outcomes.
    kind : str
        ``numbers``, which are mixed; ``labels``, which are followed; or ``classes``: a probability for each class.
    names : list of str
        Names of the experts.
    forecasts : array
        Rounds × experts (× classes); NaN while an expert is asleep. A label is its index in ``labels``.
    outcomes : array
        Rounds (× classes); fewer rounds than in ``forecasts`` if the last outcomes are not known yet.
    labels : list of str
        The labels that occur, sorted; or the classes.
    advised : array or None
        The labels that a rule may follow instead of the experts, as in ``forecasts``; NaN where there is none.
    advice_name : str
        The column of these labels.
    notes : list of tuples
        What was not used, and why: the words of a message, as in `InputError`.
    columns : list of str
        The columns of the table that the experts are read from.
    ids : list of str
        Columns that identify a row, such as a date; they are written beside predictions.
    rounds : int
        Number of rounds with an outcome.
    past_forecasts : array
        The forecasts of these rounds.
    awake : array
        Rounds × experts: whether the expert gave a forecast, in these rounds.
    """

    frame: Frame
    outcome: str
    kind: str
    names: list[str]
    forecasts: FloatArray
    outcomes: FloatArray
    labels: list[str]
    notes: list[tuple[str | Option, ...]]
    columns: list[str]
    ids: list[str]
    advised: FloatArray | None = None
    advice_name: str = ""
    rounds: int = field(init=False)
    past_forecasts: FloatArray = field(init=False)
    awake: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        rounds = len(self.outcomes)
        past = self.forecasts[:rounds]
        awake = np.asarray(~np.isnan(past if past.ndim == 2 else past[:, :, 0]))
        for name, value in (("rounds", rounds), ("past_forecasts", past), ("awake", awake)):
            object.__setattr__(self, name, value)  # the record is frozen

    def dates(self) -> tuple[str, list[float]] | None:
        """Return the first column of dates that never decrease, and the dates in seconds since 1970; or None."""
        for name in self.ids:
            if (found := seconds_of(self.frame.texts(name))) is not None:
                return name, found
        return None

    @property
    def only_zeros_and_ones(self) -> bool:
        """Whether the advice is numbers that could be labels, too."""
        both = np.concatenate([self.forecasts.ravel(), self.outcomes.ravel()])
        return self.kind == NUMBERS and bool(np.all((both == 0) | (both == 1) | np.isnan(both)))

    def as_labels(self, rule: str) -> Advice:
        """Return the advice with integers as labels, for a rule that follows labels."""
        if self.kind == LABELS:
            return self
        mixer = setting("rules", "ml-poly")
        if self.kind == CLASSES:
            message = f"{rule} follows labels, but these are probabilities: "
            raise StreamError(message, mixer, " mixes probabilities", kind="probabilities, not labels")
        advised = np.zeros(0) if self.advised is None else self.advised
        columns = np.column_stack([self.forecasts, advised]) if advised.size else self.forecasts
        broken = ~np.isnan(columns) & (columns % 1 != 0)
        if broken.any():
            row, expert = (int(place[0]) for place in np.nonzero(broken))
            name, value = [*self.names, self.advice_name][expert], float(columns[row, expert])
            message = f"{rule} follows labels, but the forecast of {name!r} is {value:g}: "
            raise self.frame.error_at(
                row, message, mixer, " mixes numbers", kind="not a label", feature=name, value=value
            )
        values = np.unique(np.concatenate([columns[~np.isnan(columns)], self.outcomes]))
        forecasts, outcomes, advised = (
            np.asarray(np.where(np.isnan(each), np.nan, np.searchsorted(values, each)), np.float64)
            for each in (self.forecasts, self.outcomes, advised)
        )
        labels, to_follow = [shortest(each) for each in values], advised if advised.size else None
        return replace(self, kind=LABELS, forecasts=forecasts, outcomes=outcomes, labels=labels, advised=to_follow)

    def table(self, begin: int, end: int) -> NamedTable:
        """Return the advice of some rounds, with the names of the experts."""
        return NamedTable(self.names, self.forecasts[begin:end])

    def row(self, number: int) -> dict[str, Any]:
        """Return the advice of one round."""
        return dict(zip(self.names, self.forecasts[number], strict=True))

    def to_follow(self, rule: str, rounds: int | slice) -> dict[str, Any]:
        """Return the advice of some rounds as the keyword argument of a learner; empty if its rule takes none."""
        return {} if self.advised is None or rule not in ADVISED else {"advice": self.advised[rounds]}

    def with_file_and_line(self, error: ValueError, *remedy: str | Option) -> ValueError:
        """Return an error of a round with the file and line of its row, and the names of experts and classes."""
        number = getattr(error, "round", None)
        if number is None or not isinstance(error, StreamError):
            return error
        words = error.with_names(self.names, self.labels).message_parts
        return self.frame.error_at(number, *words, *remedy, kind="bad round", value=error.value)


class NamedTable:
    """The part of a DataFrame's interface that learners use, also for rounds × experts × classes."""

    def __init__(self, columns: list[str], values: FloatArray) -> None:
        self.columns, self.values = columns, values

    def to_numpy(self) -> FloatArray:
        """Return the values."""
        return self.values

    def to_dict(self, _: str) -> list[dict[str, Any]]:
        """Return a dict for each round."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.values.tolist()]


def advice_of(frame: Frame, outcome: str, choice: ColumnChoice) -> Advice:
    """Read the experts and the outcomes from the columns of a table."""
    outcome = frame.name(outcome)
    ignored = ignored_columns(frame, choice)
    advised = [] if choice.advice is None else [advice_column(frame, outcome, choice.advice)]
    ids = [frame.name(each) for each in choice.ids]
    excluded = {outcome, *ignored, *advised, *ids}
    others = [name for name in frame.names if name not in excluded]
    experts = list(choice.experts)
    if experts == [EVERY] and not choice.classes and not frame.has(EVERY):
        experts = [name for name in others if name in frame.numbers]
    elif experts and not choice.classes:
        experts = expert_names(frame, outcome, experts)
    refuse_ignored_experts(experts, ignored)
    used = [*(others if choice.classes or not experts else experts), *advised]
    frame.refuse_decimal_commas([outcome], *ANOTHER_OUTCOME)
    frame.refuse_decimal_commas(used, *LEFT_OUT)
    texts = frame.texts(outcome)
    rounds, bad = rounds_with_outcomes(frame, outcome, texts, choice)
    if bad:
        why = f"column {outcome!r}: {NO_OUTCOME}"
        return advice_of(frame.without(bad, why, choice.skip_bad), outcome, choice)
    if choice.classes:
        classes = distinct(choice.classes)
        # Outcomes are checked first: if a class was forgotten, "the others do not sum to 1" would not help.
        values: FloatArray | None = one_hot(frame, outcome, texts[:rounds], classes)
        kind, columns = CLASSES, class_columns(frame, others, experts, classes)
    else:
        values = outcome_numbers(frame, outcome, texts, choice.positive, [*(experts or others), *advised])
        kind, columns = (
            (LABELS, label_columns(frame, outcome, others, experts, advised))
            if values is None
            else (NUMBERS, number_columns(frame, outcome, others, experts, values))
        )
    outcomes = label_codes(texts[:rounds], columns.labels) if values is None else values[:rounds]
    notes = [*columns.notes]
    if kind == NUMBERS and not experts and not ignored:
        notes.append(ALL_TAKEN)
    if ignored:
        notes.append((f"ignored: {', '.join(ignored)}",))
    asleep = np.isnan(columns.table[:rounds]).reshape(rounds, -1).all(axis=1)
    if asleep.any():
        why = "every expert is asleep (add an expert that always gives a forecast)"
        return advice_of(frame.without(np.flatnonzero(asleep).tolist(), why, choice.skip_bad), outcome, choice)
    taken = {*columns.columns}
    known = outcomes if kind == NUMBERS else np.zeros(0)
    ids = ids or id_columns(frame, [name for name in others if name not in taken], known)
    read = (columns.names, columns.table, outcomes, columns.labels, notes, columns.columns, ids)
    found = Advice(frame, outcome, kind, *read)
    if not advised:
        return found
    if kind != LABELS:
        require_numbers(frame, advised)
    codes = label_codes(frame.texts(*advised), columns.labels) if kind == LABELS else frame.numbers[advised[0]]
    return replace(found, advised=codes, advice_name=advised[0])


def number_columns(
    frame: Frame, outcome: str, others: list[str], experts: Sequence[str], outcomes: FloatArray
) -> ExpertColumns:
    """Return the experts whose columns hold numbers: those in ``experts``, or all others that can be forecasts."""
    notes: list[tuple[str | Option, ...]] = []
    names = list(experts)
    if not experts:
        words, of_numbers = divided(others, lambda name: name in frame.words)
        for name in words:
            refuse_mostly_numbers(frame, name)
        empty, full = divided(of_numbers, lambda name: bool(np.isnan(frame.numbers[name]).all()))
        reasons = {name: why_not_forecasts(role_name(name, frame), frame.numbers[name], outcomes) for name in full}
        unfit, names = divided(full, lambda name: bool(reasons[name]))
        dates, words = divided(words, lambda name: all(date_in(text) is not None for text in frame.words[name] if text))
        notes += [(f"not experts, because they hold dates: {', '.join(dates)}",)] if dates else []
        notes += [(f"not experts, because they hold words: {', '.join(words)}",)] if words else []
        notes += [(f"not experts, because they are empty: {', '.join(empty)}",)] if empty else []
        for name in unfit:
            guess: tuple[str | Option, ...] = ()
            if reasons[name] == SEEMS_TO_NUMBER:
                experts_then = {*names, name}
                guess = "; ", experts_option([each for each in frame.names if each in experts_then]), " makes it one"
            notes.append((f"not an expert: {name}, because {reasons[name]}", *guess))
        if not names:
            message = f"no column except {outcome!r} holds numbers; the columns are: {', '.join(frame.names)}"
            if unfit:
                why = "; ".join(f"{name}, because {reasons[name]}" for name in unfit)
                message = f"no column can be an expert: {why}; if they are experts, set "
                raise StreamError(message, setting("experts", unfit), kind="no expert", feature=outcome)
            raise StreamError(message, kind="no expert", feature=outcome)
    else:
        require_numbers(frame, names)
    return ExpertColumns(names, np.column_stack([frame.numbers[name] for name in names]), [], notes, names)


def divided(names: Sequence[str], is_first: Callable[[str], bool]) -> tuple[list[str], list[str]]:
    """Return the names for which ``is_first`` is true, and the others, both in their order."""
    first = {name: is_first(name) for name in names}
    return [name for name in names if first[name]], [name for name in names if not first[name]]


def refuse_mostly_numbers(frame: Frame, name: str) -> None:
    """Raise StreamError for a column of text that is mostly numbers: a typing error must not drop an expert."""
    words = [word for word in frame.words[name] if word]
    if 2 * sum(map(is_number, words)) > len(words):
        require_numbers(frame, [name])


def advice_column(frame: Frame, outcome: str, advice: str) -> str:
    """Return the name of the column whose labels a rule may follow; it cannot be the outcome."""
    name = frame.name(advice)
    if name == outcome:
        message = f"column {outcome!r} is the outcome, so it cannot be the advice"
        raise StreamError(message, kind="outcome as advice", feature=outcome)
    return name


def expert_names(frame: Frame, outcome: str, experts: Sequence[str]) -> list[str]:
    """Return the names of the columns that were passed as experts; the outcome cannot be one of them."""
    names = [frame.name(each) for each in experts]
    if outcome in names:
        message = f"column {outcome!r} is the outcome, so it cannot be an expert"
        raise StreamError(message, kind="outcome as expert", feature=outcome)
    return distinct(names)


def rounds_with_outcomes(frame: Frame, name: str, texts: list[str], choice: ColumnChoice) -> tuple[int, list[int]]:
    """Return the number of rounds to learn, and the bad rows before its end that lack an outcome."""
    missing = [row for row, text in enumerate(texts) if not text]
    if len(missing) == len(texts):
        message = f"column {name!r} has no outcome in any row; at least one row must have one"
        raise StreamError(message, kind="no outcome", feature=name)
    last = max(row for row, text in enumerate(texts) if text)
    before = [row for row in missing if row < last]
    if before or choice.ahead or choice.skip_bad or not missing:
        return last + 1, before if choice.ahead else missing
    message = f"column {name!r}: {NO_OUTCOME}; set "
    remedy = (setting("ahead", True), " to forecast the last rows, whose outcomes are not known yet")
    raise frame.error_at(missing[0], message, *remedy, kind="no outcome", feature=name)


def outcome_numbers(
    frame: Frame, name: str, texts: list[str], positive: str | None, experts: Sequence[str]
) -> FloatArray | None:
    """Return the outcomes as numbers, or None if they are words.

    true and false are numbers, unless columns of experts hold these words.
    """
    if positive is not None:
        return is_positive(name, texts, positive)
    if name in frame.numbers:
        return frame.numbers[name]
    if all(not text or text.lower() in TRUTH for text in texts) and not likely_experts(frame, texts, experts):
        return np.array([TRUTH.get(text.lower(), np.nan) for text in texts])
    return None


def is_positive(name: str, texts: list[str], positive: str) -> FloatArray:
    """Return 1 where the outcome is ``positive``, 0 elsewhere."""
    if positive not in texts:
        message = f"{positive!r} is not an outcome: column {name!r} has {', '.join(few_of(texts))}"
        raise StreamError(message, kind="no such outcome", feature=name, value=positive)
    return np.array([float(text == positive) for text in texts])


def one_hot(frame: Frame, name: str, texts: list[str], classes: Sequence[str]) -> FloatArray:
    """Return rounds × classes: 1 for the class that is the outcome, 0 for the others."""
    for row, text in enumerate(texts):
        if text not in classes:
            lacking = dict.fromkeys(each for each in texts if each not in classes)
            message = f"column {name!r}: the outcome {text!r} is not one of {', '.join(classes)}; set "
            remedy = (setting("classes", [*classes, *few_of(list(lacking))]), " if it is a class")
            raise frame.error_at(row, message, *remedy, kind="no such class", feature=name, value=text)
    return np.array([[float(text == each) for each in classes] for text in texts])
