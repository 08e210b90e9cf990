"""Choose and read the columns of experts that give labels, or a probability for each class."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mistakebound.errors import StreamError, setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.data.columns import Frame
    from mistakebound.errors import Option

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
    notes: list[tuple[str | Option, ...]]
    """Which columns are not used, and why."""
    columns: list[str]
    """The columns of the table that these are read from."""


def label_columns(
    frame: Frame, outcome: str, others: list[str], experts: Sequence[str], advised: Sequence[str] = ()
) -> ExpertColumns:
    """Return the experts whose columns hold labels: those in ``experts``, or all of the others that do.

    The columns ``advised`` are not experts, but their words are labels, too.
    """
    outcomes = frame.texts(outcome)
    names = list(experts) or likely_experts(frame, outcomes, others)
    if not names:
        few, first = few_of(outcomes), next(text for text in outcomes if text)
        words = (
            *(f"column {outcome!r} holds words ({', '.join(few)}), but no other column holds such words; ",),
            *(f"if experts give a probability for each word (columns such as Alice_{first}), set ",),
            *(setting("classes", few), "; if they give the probability of one word, set ", setting("positive", first)),
        )
        raise StreamError(*words, kind="no expert", feature=outcome)
    chosen = {*names}
    left = [] if experts else [name for name in others if name not in chosen]
    why = f"not experts, because they do not hold values of {outcome!r}: {', '.join(left)}"
    notes: list[tuple[str | Option, ...]] = [(why,)] if left else []
    columns = [frame.texts(name) for name in names]
    more = [frame.texts(name) for name in advised]
    labels = sorted({*outcomes, *(word for words in [*columns, *more] for word in words)} - {""})
    codes = np.column_stack([label_codes(words, labels) for words in columns])
    return ExpertColumns(names, codes, labels, notes, names)


def class_columns(frame: Frame, others: list[str], experts: Sequence[str], classes: Sequence[str]) -> ExpertColumns:
    """Return the experts that have a column of probabilities for each class, such as Alice_H, Alice_D, Alice_A."""
    groups, incomplete = grouped(others, classes)
    for name in experts:
        if name not in groups:
            lacking = next((f"{name}_{each}" for each in classes if f"{name}_{each}" not in others), name)
            hint = f"; experts with a column for each class: {', '.join(groups)}" if groups else ""
            message = f"expert {name!r} has no column {lacking!r}{hint}"
            raise StreamError(message, kind="unknown column", feature=lacking, value=name)
    names = list(experts) or list(groups)
    if not names:
        wanted = ", ".join(f"Alice_{each}" for each in classes)
        message = f"no expert has a column for each class, such as {wanted}; the columns are: {', '.join(others)}"
        raise StreamError(message, kind="no expert")
    require_numbers(frame, [each for name in names for each in groups[name]])
    table = np.stack([np.column_stack([frame.numbers[each] for each in groups[name]]) for name in names], axis=1)
    check_distributions(frame, table, [groups[name] for name in names])
    used = {*incomplete, *(each for group in groups.values() for each in group)}
    left = [name for name in others if name not in used]
    notes: list[tuple[str | Option, ...]] = []
    if incomplete and not experts:
        notes.append((f"not experts, because columns for some classes are missing: {', '.join(incomplete)}",))
    if left and not experts:
        notes.append((f"not experts: {', '.join(left)}",))
    return ExpertColumns(names, table, list(classes), notes, [each for name in names for each in groups[name]])


# ---------------------------------------------------------------------- parts of these


def distinct(names: Sequence[str]) -> list[str]:
    """Return the names; raise StreamError if one occurs twice."""
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        message = f"{twice!r} is named twice"
        raise StreamError(message, kind="named twice", value=twice)
    return list(names)


def likely_experts(frame: Frame, outcomes: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return the columns of text in which at least half of the words are outcomes."""
    labels = {*outcomes} - {""}
    if {*map(str.lower, labels)} <= {"true", "false"}:
        labels = {"true", "false", "True", "False", "TRUE", "FALSE"}
    found = []
    for name in columns:
        words = [word for word in frame.words.get(name, ()) if word]
        if words and 2 * sum(word in labels for word in words) >= len(words):
            found.append(name)
    return found


def label_codes(words: Sequence[str], labels: Sequence[str]) -> FloatArray:
    """Return the index of each word in ``labels``, NaN for an empty word."""
    codes = {label: float(code) for code, label in enumerate(labels)} | {"": np.nan}
    return np.array([codes[word] for word in words])


def few_of(texts: Sequence[str]) -> list[str]:
    """Return the distinct words, at most 10 of them."""
    words = sorted({*texts} - {""})
    return words if len(words) <= 10 else [*words[:10], "…"]


def grouped(columns: list[str], classes: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Return each expert with its columns, one per class, and the columns of experts that lack some classes.

    >>> grouped(["day", "Alice_H", "Alice_A", "Bob_H"], ["H", "A"])
    ({'Alice': ['Alice_H', 'Alice_A']}, ['Bob_H'])
    """
    known = {*columns}
    for between in BETWEEN:
        ends = [f"{between}{each}" for each in classes]
        stems = dict.fromkeys(c.removesuffix(end) for c in columns for end in ends if c.endswith(end) and c != end)
        groups = {stem: [f"{stem}{end}" for end in ends] for stem in stems}
        complete = {stem: group for stem, group in groups.items() if {*group} <= known}
        if complete:
            rest = [c for stem, group in groups.items() if stem not in complete for c in group if c in known]
            return complete, rest if between else []
    return {}, []


def check_distributions(frame: Frame, table: FloatArray, columns: list[list[str]]) -> None:
    """Raise StreamError unless an expert's probabilities are all given, in [0, 1], and sum to 1 up to rounding to 1 %.

    An expert that gives none of them is asleep.
    """
    fault = distribution_fault(table)
    if fault is not None:
        row, expert, why = fault
        values = ", ".join("–" if np.isnan(value) else f"{value:g}" for value in table[row, expert])
        message = f"columns {', '.join(columns[expert])} hold {values}: {why}"
        raise frame.error_at(row, message, kind="no distribution", feature=columns[expert][0])


def distribution_fault(table: FloatArray) -> tuple[int, int, str] | None:
    """Return row and expert of the first probabilities (rounds × experts × classes) that are not valid, and why."""
    missing = np.isnan(table)
    faults: tuple[tuple[Any, str], ...] = (
        (
            missing.any(axis=2) & ~missing.all(axis=2),
            "one is missing; fill in all of them, or none if it sleeps",
        ),
        (np.any((table < 0) | (table > 1), axis=2), "probabilities must be between 0 and 1"),
        (np.abs(table.sum(axis=2) - 1) > 0.005 * table.shape[2] + 1e-9, "they must sum to 1; divide them by their sum"),
    )
    for bad, why in faults:
        if bad.any():
            row, expert = np.unravel_index(int(np.argmax(bad)), bad.shape)
            return int(row), int(expert), why
    return None


def require_numbers(frame: Frame, names: Sequence[str]) -> None:
    """Raise StreamError for the first of these columns that holds a word."""
    for name in names:
        remedy = "; leave the field empty if the expert sleeps, or leave the column out: "
        frame.column(name, remedy, setting("ignore", name))
