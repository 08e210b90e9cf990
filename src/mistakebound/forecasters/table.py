"""Read forecasts and outcomes from a table: a column of probabilities per forecaster, and a column of outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.data.columns import columns_with
from mistakebound.data.tables import is_number
from mistakebound.errors import OptionError, StreamError, message_text, setting
from mistakebound.experts.comparison.advice import NO_OUTCOME, TRUTH, is_positive, one_hot
from mistakebound.experts.comparison.class_columns import class_columns, distinct, grouped
from mistakebound.experts.comparison.roles import role_name, why_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.data.columns import Frame
    from mistakebound.errors import Option

MOST_SUGGESTED = 10
"""Classes that an error suggests at most."""


@dataclass(frozen=True)
class ForecastTable:
    """Forecasts by name, outcomes 0 or 1 or classes, and why other columns are not forecasters."""

    frame: Frame
    forecasts: dict[str, FloatArray]
    outcomes: Any
    left: tuple[str, ...]
    classes: tuple[str, ...] = ()

    def placed(self, error: StreamError) -> StreamError:
        """Return an error of a round with the place of its row in the table."""
        if error.round is None:
            return error
        hint = "" if self.classes else percent_hint(list(self.forecasts.values()))
        words = error.text(with_round=False) + hint
        return self.frame.error_at(error.round, words, kind="bad round", feature=error.feature, value=error.value)


def forecast_table(
    table: Any,
    outcome: str,
    forecasters: Sequence[str] = (),
    positive: str | None = None,
    *,
    separator: str | None = None,
    header: bool | None = None,
    skip_bad: int = 0,
    classes: Sequence[str] = (),
) -> ForecastTable:
    """Read forecasts and outcomes from a table. Without names, all columns of probabilities are forecasters."""
    if classes and positive is not None:
        raise OptionError(setting("positive"), " is for two outcomes; it cannot be set with ", setting("classes"))
    frame = columns_with(table, outcome, separator=separator, header=header, skip_bad=skip_bad)
    name = frame.name(outcome)
    frame.refuse_decimal_commas([name], "choose another ", setting("outcome"))
    used = [] if classes else [frame.name(each) for each in forecasters or frame.names]
    frame.refuse_decimal_commas(used, "choose others: ", setting("forecasters"))
    bad = [row for row, text in enumerate(frame.texts(name)) if not text]
    if bad:
        frame = frame.without(bad, f"column {name!r}: {NO_OUTCOME}", skip_bad)
    if classes:
        return class_table(frame, name, forecasters, classes)
    outcomes = outcomes_of(frame, name, positive)
    if forecasters:
        return ForecastTable(frame, {each: frame.column(each) for each in used}, outcomes, ())
    chosen, left = forecasts_of(frame, name)
    return ForecastTable(frame, chosen, outcomes, left)


def class_table(frame: Frame, outcome: str, forecasters: Sequence[str], classes: Sequence[str]) -> ForecastTable:
    """Read the forecasters that have a column of probabilities for each class, such as b_H, b_D and b_A."""
    known = distinct(classes)
    one_hot(frame, outcome, frame.texts(outcome), known)  # every outcome must be a class
    others = [name for name in frame.names if name != outcome]
    groups, _ = grouped(others, known)
    for column in (each for name in forecasters or groups for each in groups.get(name, ())):
        frame.column(column)
    found = class_columns(frame, others, forecasters, known)
    notes = map(message_text, found.notes)
    left = tuple(note.removeprefix("not experts: ").removeprefix("not experts, because ") for note in notes)
    forecasts = {name: found.table[:, place] for place, name in enumerate(found.names)}
    return ForecastTable(frame, forecasts, frame.texts(outcome), left, tuple(known))


def outcomes_of(frame: Frame, name: str, positive: str | None) -> FloatArray:
    """Return the outcomes as 0 and 1; raise StreamError for the first row with another outcome."""
    texts = frame.texts(name)
    if positive is not None:
        return is_positive(name, texts, positive)
    if name in frame.words:
        values = [TRUTH.get(text.lower()) for text in texts]
    else:
        texts = [f"{value:g}" for value in frame.numbers[name].tolist()]
        values = [value if value in (0, 1) else None for value in frame.numbers[name].tolist()]
    for row, value in enumerate(values):
        if value is None:
            remedy = remedy_for_words(frame, name) if name in frame.words else ()
            message = f"column {name!r}: the outcome must be 0 or 1, got {texts[row]!r}"
            raise frame.error_at(row, message, *remedy, kind="neither 0 nor 1", feature=name, value=texts[row])
    return np.array(values, np.float64)


def remedy_for_words(frame: Frame, outcome: str) -> tuple[str | Option, ...]:
    """Return the option for outcomes that are words: classes if columns are named after them, otherwise positive."""
    positive = ("; set ", setting("positive"), " to the word that means 1")
    words = list(dict.fromkeys(frame.texts(outcome)))
    if len(words) > MOST_SUGGESTED:
        return positive
    found, _ = grouped([each for each in frame.names if each != outcome], words)
    if not found:
        return positive
    columns = next(iter(found.values()))
    order = sorted(words, key=lambda word: frame.names.index(columns[words.index(word)]))
    return (
        "; set ",
        setting("classes", order),
        f" for columns such as {', '.join(sorted(columns, key=frame.names.index))}",
    )


def forecasts_of(frame: Frame, outcome: str) -> tuple[dict[str, FloatArray], tuple[str, ...]]:
    """Return the columns of probabilities, and why the other columns are not forecasts."""
    others = [name for name in frame.names if name != outcome]
    faults = {name: fault_of(frame, name) for name in others}
    chosen = {name: frame.numbers[name] for name, fault in faults.items() if not fault}
    left = tuple(f"{name}: {fault}" for name, fault in faults.items() if fault)
    if not chosen:
        numbers = [frame.numbers[name] for name in others if name in frame.numbers]
        there = f"; {'; '.join(left)}" if left else ""
        message = f"there is no column of probabilities besides {outcome!r}{there}{percent_hint(numbers)}"
        raise StreamError(message, kind="no forecaster", feature=outcome)
    return chosen, left


def fault_of(frame: Frame, name: str) -> str:
    """Return why a column is not a forecast, from its first bad row; "" if all its values can be probabilities."""
    if name in frame.words:
        row, word = next((row, word) for row, word in enumerate(frame.words[name]) if not is_number(word))
        return f"{frame.where(row)}: {word!r} is not a number"
    values = frame.numbers[name]
    if np.isnan(values).all():
        return "it is empty"
    outside = (values < 0) | (values > 1)
    if not outside.any():
        return why_id(role_name(name, frame), values, np.zeros(0))
    row = int(np.argmax(outside))
    return f"{frame.where(row)}: {values[row]:g} is not a probability"


def percent_hint(columns: list[FloatArray]) -> str:
    """Return a hint if all columns look like percentages, and not like probabilities with a single typing error."""
    filled = [values[~np.isnan(values)] for values in columns if not np.isnan(values).all()]
    percent = filled and all(values.min() >= 0 and values.mean() > 1 and 2 <= values.max() <= 100 for values in filled)
    return "; if these are percentages, divide them by 100" if percent else ""
