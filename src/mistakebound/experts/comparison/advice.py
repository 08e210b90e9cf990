"""Read a table as advice and outcomes, one round per row."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.data.tables import is_number
from mistakebound.errors import StreamError, setting
from mistakebound.experts.comparison.class_columns import (
    ExpertColumns,
    by_classes,
    by_labels,
    distinct,
    labelled,
    places,
    require_numbers,
    some,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mistakebound._support.arrays import BoolArray, FloatArray
    from mistakebound.data.columns import Frame
    from mistakebound.errors import Option

NUMBERS, LABELS, CLASSES = "numbers", "labels", "classes"
TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
NO_OUTCOME = "there is no outcome"
ALL_TAKEN = (
    *("every column of numbers is taken for an expert: ", setting("experts", ["A", "B"]), " chooses, "),
    *(setting("ignore", ["A", "B"]), " leaves out"),
)
ANOTHER_OUTCOME = ("choose another ", setting("outcome"))
LEFT_OUT = ("leave the column out: ", setting("ignore"))


@dataclass(frozen=True)
class Wanted:
    """Which columns are experts (none: those that fit), and how outcomes are read."""

    experts: Sequence[str] = ()
    ignore: Sequence[str] = ()
    classes: Sequence[str] = ()
    positive: str | None = None
    ahead: bool = False
    skip_bad: int = 0


@dataclass(frozen=True)
class Advice:
    """The forecasts of the experts and the outcomes of all rounds.

    Attributes
    ----------
    kind : str
        ``numbers`` to be mixed, ``labels`` to be followed, or ``classes``: a probability for each.
    names : list of str
        Of the experts.
    said : array
        Rounds × experts (× classes); NaN is asleep. Labels are places in ``labels``.
    outcomes : array
        Rounds (× classes); fewer than the rows of ``said`` if the last outcomes are not known yet.
    labels : list of str
        The labels that occur, sorted; or the classes.
    notes : list of tuples
        What was not used, and why: parts of a sentence, as of an `InputError`.
    rounds, known, awake
        Number of rounds with an outcome, the advice in them, and which experts gave a forecast in them.
    """

    frame: Frame
    outcome: str
    kind: str
    names: list[str]
    said: FloatArray
    outcomes: FloatArray
    labels: list[str]
    notes: list[tuple[str | Option, ...]]
    rounds: int = field(init=False)
    known: FloatArray = field(init=False)
    awake: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        rounds = len(self.outcomes)
        known = self.said[:rounds]
        awake = np.asarray(~np.isnan(known if known.ndim == 2 else known[:, :, 0]))
        for name, value in (("rounds", rounds), ("known", known), ("awake", awake)):
            object.__setattr__(self, name, value)  # derived once, of a frozen record

    @property
    def only_zeros_and_ones(self) -> bool:
        """Whether numbers may be labels as well."""
        both = np.concatenate([self.said.ravel(), self.outcomes.ravel()])
        return self.kind == NUMBERS and bool(np.all((both == 0) | (both == 1) | np.isnan(both)))

    def as_labels(self, rule: str) -> Advice:
        """Whole numbers as labels, for a rule that follows experts."""
        if self.kind == LABELS:
            return self
        mixer = setting("rules", "ml-poly")
        if self.kind == CLASSES:
            told = f"{rule} follows labels, and these are probabilities: "
            raise StreamError(told, mixer, " mixes them", kind="probabilities, not labels")
        broken = ~np.isnan(self.said) & (self.said % 1 != 0)
        if broken.any():
            row, expert = (int(place[0]) for place in np.nonzero(broken))
            name, value = self.names[expert], float(self.said[row, expert])
            told = f"{rule} follows labels, and {name!r} said {value:g}: "
            raise self.frame.error_at(row, told, mixer, " mixes numbers", kind="not a label", feature=name, value=value)
        values = np.unique(np.concatenate([self.said[~np.isnan(self.said)], self.outcomes]))
        said = np.where(np.isnan(self.said), np.nan, np.searchsorted(values, self.said))
        told_at = np.searchsorted(values, self.outcomes).astype(np.float64)
        return replace(self, kind=LABELS, said=said, outcomes=told_at, labels=[f"{each:.17g}" for each in values])

    def table(self, begin: int, end: int) -> Named:
        """Some rounds of advice, with the names of the experts."""
        return Named(self.names, self.said[begin:end])

    def row(self, number: int) -> dict[str, Any]:
        """One round of advice."""
        return dict(zip(self.names, self.said[number], strict=True))

    def placed(self, error: ValueError, *remedy: str | Option) -> ValueError:
        """An error of a round with the place of its row in the table, and the names of experts and classes."""
        number = getattr(error, "round", None)
        if number is None or not isinstance(error, StreamError):
            return error
        words = error.with_names(self.names, self.labels).message_parts
        return self.frame.error_at(number, *words, *remedy, kind="bad round", value=error.value)


class Named:
    """The part of a DataFrame's interface that learners use, also for rounds × experts × classes."""

    def __init__(self, columns: list[str], values: FloatArray) -> None:
        self.columns, self.values = columns, values

    def to_numpy(self) -> FloatArray:
        """The values."""
        return self.values

    def to_dict(self, _: str) -> list[dict[str, Any]]:
        """A dict a round."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.values.tolist()]


def advice_of(frame: Frame, outcome: str, wanted: Wanted) -> Advice:
    """Read the experts and the outcomes from the columns of a table."""
    outcome = frame.name(outcome)
    ignored = {frame.name(each) for given in wanted.ignore for each in columns_in(given, frame)}
    others = [name for name in frame.names if name != outcome and name not in ignored]
    experts = list(wanted.experts)
    if experts and not wanted.classes:
        experts = chosen(frame, outcome, experts)
    used = others if wanted.classes or not experts else experts
    frame.refuse_decimal_commas([outcome], *ANOTHER_OUTCOME)
    frame.refuse_decimal_commas(used, *LEFT_OUT)
    texts = frame.texts(outcome)
    rounds, bad = rounds_with_outcomes(frame, outcome, texts, wanted)
    if bad:
        why = f"column {outcome!r}: {NO_OUTCOME}"
        return advice_of(frame.without(bad, why, wanted.skip_bad), outcome, wanted)
    if wanted.classes:
        classes = distinct(wanted.classes)
        # Outcomes come first: if a class was forgotten, it is no use to say that the others do not sum to 1.
        told: FloatArray | None = one_hot(frame, outcome, texts[:rounds], classes)
        kind, said = CLASSES, by_classes(frame, others, experts, classes)
    else:
        told = truth_of(frame, outcome, texts, wanted.positive, experts or others)
        kind, said = (
            (LABELS, by_labels(frame, outcome, others, experts))
            if told is None
            else (NUMBERS, by_numbers(frame, outcome, others, experts))
        )
    outcomes = places(texts[:rounds], said.labels) if told is None else told[:rounds]
    notes: list[tuple[str | Option, ...]] = [(note,) for note in said.notes]
    if kind == NUMBERS and not experts and not ignored:
        notes.append(ALL_TAKEN)
    if ignored:
        notes.append((f"ignored: {', '.join(name for name in frame.names if name in ignored)}",))
    asleep = np.isnan(said.table[:rounds]).reshape(rounds, -1).all(axis=1)
    if asleep.any():
        why = "every expert is asleep (an expert who always speaks would help)"
        return advice_of(frame.without(np.flatnonzero(asleep).tolist(), why, wanted.skip_bad), outcome, wanted)
    return Advice(frame, outcome, kind, said.names, said.table, outcomes, said.labels, notes)


def by_numbers(frame: Frame, outcome: str, others: list[str], experts: Sequence[str]) -> ExpertColumns:
    """Columns of numbers."""
    notes: list[str] = []
    names = list(experts)
    if not experts:
        words, of_numbers = divided(others, lambda name: name in frame.words)
        for name in words:
            refuse_a_slip(frame, name)
        empty, names = divided(of_numbers, lambda name: bool(np.isnan(frame.numbers[name]).all()))
        notes += [f"words, not experts: {', '.join(words)}"] if words else []
        notes += [f"empty, not experts: {', '.join(empty)}"] if empty else []
        if not names:
            message = f"no column but {outcome!r} holds numbers; there are: {', '.join(frame.names)}"
            raise StreamError(message, kind="no expert", feature=outcome)
    else:
        require_numbers(frame, names)
    return ExpertColumns(names, np.column_stack([frame.numbers[name] for name in names]), [], notes)


def divided(names: Sequence[str], is_first: Callable[[str], bool]) -> tuple[list[str], list[str]]:
    """The names of one kind and the others, in their order."""
    kind = {name: is_first(name) for name in names}
    return [name for name in names if kind[name]], [name for name in names if not kind[name]]


def refuse_a_slip(frame: Frame, name: str) -> None:
    """A column of numbers but for a few words is an expert with a slip, and not to be left out in silence."""
    said = [word for word in frame.words[name] if word]
    if 2 * sum(map(is_number, said)) > len(said):
        require_numbers(frame, [name])


def columns_in(given: str, frame: Frame) -> list[str]:
    """Names between commas, unless it is one that has a comma itself."""
    return [given] if frame.has(given) else [each.strip() for each in given.split(",")]


def chosen(frame: Frame, outcome: str, experts: Sequence[str]) -> list[str]:
    """The columns that were named as experts."""
    names = [frame.name(each) for each in experts]
    if outcome in names:
        message = f"column {outcome!r} is the outcome, and no expert"
        raise StreamError(message, kind="the outcome is no expert", feature=outcome)
    return distinct(names)


def rounds_with_outcomes(frame: Frame, name: str, texts: list[str], wanted: Wanted) -> tuple[int, list[int]]:
    """How many rows have an outcome, and those that lack it but for the last ones, if they are to be forecast."""
    missing = [row for row, text in enumerate(texts) if not text]
    if len(missing) == len(texts):
        message = f"column {name!r} has no outcome at all"
        raise StreamError(message, kind="no outcome", feature=name)
    last = max(row for row, text in enumerate(texts) if text)
    before = [row for row in missing if row < last]
    if before or wanted.ahead or wanted.skip_bad or not missing:
        return last + 1, before if wanted.ahead else missing
    told = f"column {name!r}: {NO_OUTCOME}; "
    remedy = (setting("ahead", True), " forecasts the last rows, whose outcome is to come")
    raise frame.error_at(missing[0], told, *remedy, kind="no outcome", feature=name)


def truth_of(
    frame: Frame, name: str, texts: list[str], positive: str | None, experts: Sequence[str]
) -> FloatArray | None:
    """Outcomes as numbers; None if they are words, and true or false are words if the experts say so."""
    if positive is not None:
        return is_positive(name, texts, positive)
    if name in frame.numbers:
        return frame.numbers[name]
    if all(not text or text.lower() in TRUTH for text in texts) and not labelled(frame, texts, experts):
        return np.array([TRUTH.get(text.lower(), np.nan) for text in texts])
    return None


def is_positive(name: str, texts: list[str], positive: str) -> FloatArray:
    """1 where the outcome is the positive one, 0 elsewhere."""
    if positive not in texts:
        message = f"{positive!r} is never the outcome: column {name!r} has {', '.join(some(texts))}"
        raise StreamError(message, kind="no such outcome", feature=name, value=positive)
    return np.array([float(text == positive) for text in texts])


def one_hot(frame: Frame, name: str, texts: list[str], classes: Sequence[str]) -> FloatArray:
    """1 for the class that came true, 0 for the others."""
    for row, text in enumerate(texts):
        if text not in classes:
            lacking = dict.fromkeys(each for each in texts if each not in classes)
            told = f"column {name!r}: the outcome {text!r} is none of {', '.join(classes)}; say "
            remedy = (setting("classes", [*classes, *some(list(lacking))]), ", if it is no slip")
            raise frame.error_at(row, told, *remedy, kind="no such class", feature=name, value=text)
    return np.array([[float(text == each) for each in classes] for text in texts])
