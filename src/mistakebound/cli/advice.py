"""A file as advice and outcomes, a round a row. What is wrong with a row is said of its line, with a way out."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import mistakebound as mb
from mistakebound.cli.advisers import by_classes, by_labels, by_numbers, labelled, places, some, texts_of
from mistakebound.losses.base import by_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import BoolArray, FloatArray
    from mistakebound.data.columns import Frame
    from mistakebound.losses import Loss

NUMBERS, LABELS, CLASSES = "numbers", "labels", "classes"
TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}


@dataclass(frozen=True)
class Wanted:
    """What was asked for: the experts' columns (none: those that fit), and how outcomes are read."""

    experts: Sequence[str] = ()
    ignore: Sequence[str] = ()
    classes: Sequence[str] = ()
    positive: str | None = None
    ahead: bool = False
    skip_bad: int = 0


@dataclass(frozen=True)
class Advice:
    """What the experts said and what happened.

    Attributes
    ----------
    kind : str
        ``numbers`` to be mixed, ``labels`` to be followed, or ``classes``: a probability for each.
    names : list of str
        Of the experts.
    said : array
        Rounds × experts (× classes); NaN is asleep. Labels are places in ``labels``.
    outcomes : array
        Rounds (× classes); there are fewer than of what was said if the last ones are to come.
    labels : list of str
        The words that were said, sorted; or the classes.
    notes : list of str
        What was not used, and why.
    """

    frame: Frame
    outcome: str
    kind: str
    names: list[str]
    said: FloatArray
    outcomes: FloatArray
    labels: list[str]
    notes: list[str]

    @property
    def rounds(self) -> int:
        """Those that have an outcome."""
        return len(self.outcomes)

    @property
    def known(self) -> FloatArray:
        """What was said in them."""
        return self.said[: self.rounds]

    @property
    def awake(self) -> BoolArray:
        """Who gave a forecast in them."""
        return np.asarray(~np.isnan(self.known if self.known.ndim == 2 else self.known[:, :, 0]))

    @property
    def only_zeros_and_ones(self) -> bool:
        """Whether numbers may be labels as well."""
        both = np.concatenate([self.said.ravel(), self.outcomes.ravel()])
        return self.kind == NUMBERS and bool(np.all((both == 0) | (both == 1) | np.isnan(both)))

    def as_labels(self, rule: str) -> Advice:
        """Whole numbers as labels, for a rule that follows experts."""
        if self.kind == LABELS:
            return self
        if self.kind == CLASSES:
            message = f"{rule} follows labels, and these are probabilities: --rule ml-poly mixes them"
            raise ValueError(message)
        broken = ~np.isnan(self.said) & (self.said % 1 != 0)
        if broken.any():
            row, expert = (int(place[0]) for place in np.nonzero(broken))
            told = f"{rule} follows labels, and {self.names[expert]!r} said {self.said[row, expert]:g}"
            message = f"{self.frame.where(row)}: {told}: --rule ml-poly mixes numbers"
            raise mb.StreamError(message)
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

    def placed(self, error: ValueError) -> ValueError:
        """What is wrong with a round, said of its line and of the expert's name."""
        number = getattr(error, "round", None)
        if number is None:
            return error
        words = str(error).removeprefix(f"round {number}: ")
        if not re.search(r"\bexpert ['\"]", words):  # a learner has not named it yet
            words = by_name(words, self.names)
        words = re.sub(r"\bfor class (\d+)\b", lambda found: f"for class {self.labels[int(found[1])]!r}", words)
        return mb.StreamError(f"{self.frame.where(number)}: {words}")

    def check(self, loss: Loss) -> None:
        """Refuse what the loss is not defined for."""
        try:
            loss.check(self.known, self.outcomes)
        except mb.StreamError as error:
            hint = {"log": "--loss square takes any number", "percentage": "try --loss absolute"}.get(loss.id)
            words = str(self.placed(error))
            raise mb.StreamError(f"{words}: {hint}" if hint else words) from None


class Named:
    """As much of a DataFrame as a learner asks for: names, also for rounds × experts × classes."""

    def __init__(self, columns: list[str], values: FloatArray) -> None:
        self.columns, self.values = columns, values

    def to_numpy(self) -> FloatArray:
        """The values."""
        return self.values

    def to_dict(self, _: str) -> list[dict[str, Any]]:
        """A dict a round."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.values.tolist()]


def advice_of(frame: Frame, outcome: str, wanted: Wanted) -> Advice:
    """The columns that are meant, as advice."""
    outcome = frame.name(outcome)
    ignored = {frame.name(each) for given in wanted.ignore for each in columns_in(given, frame)}
    others = [name for name in frame.names if name != outcome and name not in ignored]
    experts = list(wanted.experts) if wanted.classes else chosen(frame, outcome, wanted.experts)
    used = others if wanted.classes or not experts else experts
    frame.refuse_decimal_commas([outcome], "choose another --outcome")
    frame.refuse_decimal_commas(used, "leave the column out: --ignore")
    texts = texts_of(frame, outcome)
    rounds, bad = rounds_with_outcomes(frame, outcome, texts, wanted)
    if bad:
        why = f"column {outcome!r}: there is no outcome"
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
    if kind == NUMBERS and not experts and not ignored:
        chooses = "--experts A,B chooses, --ignore A,B leaves out"
        said.notes.append(f"every column of numbers is taken for an expert: {chooses}")
    if ignored:
        said.notes.append(f"ignored: {', '.join(name for name in frame.names if name in ignored)}")
    asleep = np.isnan(said.table[:rounds]).reshape(rounds, -1).all(axis=1)
    if asleep.any():
        why = "every expert is asleep (an expert who always speaks would help)"
        return advice_of(frame.without(np.flatnonzero(asleep).tolist(), why, wanted.skip_bad), outcome, wanted)
    return Advice(frame, outcome, kind, said.names, said.table, outcomes, said.labels, said.notes)


def columns_in(given: str, frame: Frame) -> list[str]:
    """Names between commas, unless it is one that has a comma itself."""
    return [given] if frame.has(given) else [each.strip() for each in given.split(",")]


def chosen(frame: Frame, outcome: str, experts: Sequence[str]) -> list[str]:
    """The columns that were named as experts."""
    names = [frame.name(each) for each in experts]
    if outcome in names:
        message = f"column {outcome!r} is the outcome, and no expert"
        raise ValueError(message)
    return distinct(names)


def distinct(names: Sequence[str]) -> list[str]:
    """The names, none of which comes twice."""
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        message = f"{twice!r} is named twice"
        raise ValueError(message)
    return list(names)


def rounds_with_outcomes(frame: Frame, name: str, texts: list[str], wanted: Wanted) -> tuple[int, list[int]]:
    """How many rows have an outcome, and those that lack it but for the last ones, if they are to be forecast."""
    missing = [row for row, text in enumerate(texts) if not text]
    if len(missing) == len(texts):
        message = f"column {name!r} has no outcome at all"
        raise ValueError(message)
    last = max(row for row, text in enumerate(texts) if text)
    before = [row for row in missing if row < last]
    if before or wanted.ahead or wanted.skip_bad or not missing:
        return last + 1, before if wanted.ahead else missing
    hint = "--ahead forecasts the last rows, whose outcome is to come"
    message = f"{frame.where(missing[0])}: column {name!r}: there is no outcome; {hint}"
    raise mb.StreamError(message)


def truth_of(
    frame: Frame, name: str, texts: list[str], positive: str | None, experts: Sequence[str]
) -> FloatArray | None:
    """Outcomes as numbers; None if they are words, and true or false are words if the experts say so."""
    if positive is not None:
        if positive not in texts:
            message = f"{positive!r} is never the outcome: column {name!r} has {', '.join(some(texts))}"
            raise ValueError(message)
        return np.array([float(text == positive) for text in texts])
    if name in frame.numbers:
        return frame.numbers[name]
    if all(not text or text.lower() in TRUTH for text in texts) and not labelled(frame, texts, experts):
        return np.array([TRUTH.get(text.lower(), np.nan) for text in texts])
    return None


def one_hot(frame: Frame, name: str, texts: list[str], classes: Sequence[str]) -> FloatArray:
    """1 for the class that came true, 0 for the others."""
    for row, text in enumerate(texts):
        if text not in classes:
            lacking = dict.fromkeys(each for each in texts if each not in classes)
            all_of_them = ",".join([*classes, *some(list(lacking))])
            told = f"the outcome {text!r} is none of {', '.join(classes)}"
            message = f"{frame.where(row)}: column {name!r}: {told}; say --classes {all_of_them}, if it is no slip"
            raise mb.StreamError(message)
    return np.array([[float(text == each) for each in classes] for text in texts])
