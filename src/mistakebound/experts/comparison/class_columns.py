"""Choose and read the columns of experts whose outcome is one of several classes: labels, or probabilities."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mistakebound.errors import StreamError, setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.data.columns import Frame

BETWEEN = ("_", ".", "-", " ", ":", "")
"""Separators of expert and class in the name of a column, the most common first."""


class ExpertColumns(NamedTuple):
    """The columns of the experts of a table, as arrays."""

    names: list[str]
    """The experts."""
    table: FloatArray
    """Forecasts: rounds × experts (× classes), NaN while an expert is asleep. A label is its index in ``labels``."""
    labels: list[str]
    """The labels that occur, sorted; or the classes; empty for numbers."""
    notes: list[str]
    """Which columns are not used, and why."""


def by_labels(frame: Frame, outcome: str, others: list[str], experts: Sequence[str]) -> ExpertColumns:
    """Columns of words, for an outcome of words: each is a place in the sorted list of them."""
    told = frame.texts(outcome)
    names = list(experts) or labelled(frame, told, others)
    if not names:
        few, first = some(told), next(text for text in told if text)
        told_of = f"column {outcome!r} holds words ({', '.join(few)}), and no other column says such: for probabilities"
        of_all = (f" of all (columns such as Alice_{first}) say ", setting("classes", few))
        of_one = ("; for those of one, ", setting("positive", first))
        raise StreamError(told_of, *of_all, *of_one, kind="no expert", feature=outcome)
    chosen = {*names}
    left = [] if experts else [name for name in others if name not in chosen]
    notes = [f"not experts, since they do not say what {outcome!r} may be: {', '.join(left)}"] if left else []
    said = [frame.texts(name) for name in names]
    labels = sorted({*told, *(word for words in said for word in words)} - {""})
    return ExpertColumns(names, np.column_stack([places(words, labels) for words in said]), labels, notes)


def by_classes(frame: Frame, others: list[str], experts: Sequence[str], classes: Sequence[str]) -> ExpertColumns:
    """Columns such as Alice_H, Alice_D, Alice_A: a probability for each class."""
    groups, partly = grouped(others, classes)
    for name in experts:
        if name not in groups:
            lacking = next((f"{name}_{each}" for each in classes if f"{name}_{each}" not in others), name)
            there = f"; with all classes there are: {', '.join(groups)}" if groups else ""
            message = f"expert {name!r} has no column {lacking!r}{there}"
            raise StreamError(message, kind="unknown column", feature=lacking, value=name)
    names = list(experts) or list(groups)
    if not names:
        wanted = ", ".join(f"Alice_{each}" for each in classes)
        message = f"no expert has a column for each class, such as {wanted}; there are: {', '.join(others)}"
        raise StreamError(message, kind="no expert")
    require_numbers(frame, [each for name in names for each in groups[name]])
    table = np.stack([np.column_stack([frame.numbers[each] for each in groups[name]]) for name in names], axis=1)
    refuse_no_distributions(frame, table, [groups[name] for name in names])
    used = {*partly, *(each for group in groups.values() for each in group)}
    left = [name for name in others if name not in used]
    notes = [f"not all classes, not experts: {', '.join(partly)}"] if partly and not experts else []
    notes += [f"not experts: {', '.join(left)}"] if left and not experts else []
    return ExpertColumns(names, table, list(classes), notes)


# ---------------------------------------------------------------------- pieces


def distinct(names: Sequence[str]) -> list[str]:
    """The names, none of which comes twice."""
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        message = f"{twice!r} is named twice"
        raise StreamError(message, kind="named twice", value=twice)
    return list(names)


def labelled(frame: Frame, told: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The columns of words at least half of which say what the outcome may be."""
    outcomes = {*told} - {""}
    if {*map(str.lower, outcomes)} <= {"true", "false"}:
        outcomes = {"true", "false", "True", "False", "TRUE", "FALSE"}
    found = []
    for name in columns:
        said = [word for word in frame.words.get(name, ()) if word]
        if said and 2 * sum(word in outcomes for word in said) >= len(said):
            found.append(name)
    return found


def places(words: Sequence[str], labels: Sequence[str]) -> FloatArray:
    """Words as their places among the labels, NaN for none."""
    place = {label: float(code) for code, label in enumerate(labels)} | {"": np.nan}
    return np.array([place[word] for word in words])


def some(texts: Sequence[str]) -> list[str]:
    """A few of the words."""
    known = sorted({*texts} - {""})
    return known if len(known) <= 10 else [*known[:10], "…"]


def grouped(columns: list[str], classes: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Experts with their columns, one for each class; and the columns of those who have not all.

    >>> grouped(["day", "Alice_H", "Alice_A", "Bob_H"], ["H", "A"])
    ({'Alice': ['Alice_H', 'Alice_A']}, ['Bob_H'])
    """
    known = {*columns}
    for between in BETWEEN:
        ends = [f"{between}{each}" for each in classes]
        stems = dict.fromkeys(c.removesuffix(end) for c in columns for end in ends if c.endswith(end) and c != end)
        groups = {stem: [f"{stem}{end}" for end in ends] for stem in stems}
        whole = {stem: group for stem, group in groups.items() if {*group} <= known}
        if whole:
            parts = [c for stem, group in groups.items() if stem not in whole for c in group if c in known]
            return whole, parts if between else []
    return {}, []


def refuse_no_distributions(frame: Frame, said: FloatArray, columns: list[list[str]]) -> None:
    """Refuse probabilities of some classes only, outside [0, 1], or that do not sum to 1 but for rounding to 1 %."""
    missing = np.isnan(said)
    faults: tuple[tuple[Any, str], ...] = (
        (missing.any(axis=2) & ~missing.all(axis=2), "one is missing: fill in all of them, or none to be asleep"),
        (np.any((said < 0) | (said > 1), axis=2), "probabilities lie between 0 and 1"),
        (np.abs(said.sum(axis=2) - 1) > 0.005 * said.shape[2] + 1e-9, "they do not sum to 1: divide by their sum"),
    )
    for bad, why in faults:
        if bad.any():
            row, expert = np.unravel_index(int(np.argmax(bad)), bad.shape)
            given = ", ".join("–" if np.isnan(value) else f"{value:g}" for value in said[row, expert])
            message = f"columns {', '.join(columns[expert])} say {given}: {why}"
            raise frame.error_at(int(row), message, kind="no distribution", feature=columns[expert][0])


def require_numbers(frame: Frame, names: Sequence[str]) -> None:
    """Raise StreamError for the first of these columns that holds a word."""
    for name in names:
        remedy = "; leave the field empty for an expert who sleeps, or leave the column out: "
        frame.column(name, remedy, setting("ignore", name))
