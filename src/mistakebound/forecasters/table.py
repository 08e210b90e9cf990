"""Read forecasts and outcomes from a table: a column of probabilities per forecaster, and a column of outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.data.columns import columns_with
from mistakebound.data.tables import is_number
from mistakebound.errors import StreamError, setting
from mistakebound.experts.comparison.advice import NO_OUTCOME, TRUTH, is_positive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray
    from mistakebound.data.columns import Frame


@dataclass(frozen=True)
class ForecastTable:
    """Probabilities by name, outcomes 0 or 1, and why other columns are not forecasters."""

    frame: Frame
    forecasts: dict[str, FloatArray]
    outcomes: FloatArray
    left: tuple[str, ...]

    def placed(self, error: StreamError) -> StreamError:
        """An error of a round, with the place of its row in the table."""
        if error.round is None:
            return error
        words = error.text(with_round=False) + hint_of_percent(list(self.forecasts.values()))
        return self.frame.error_at(error.round, words, kind="bad round")


def forecast_table(
    table: Any,
    outcome: str,
    forecasters: Sequence[str] = (),
    positive: str | None = None,
    *,
    separator: str | None = None,
    header: bool | None = None,
    skip_bad: int = 0,
) -> ForecastTable:
    """Read a table of forecasters. Without their names, all columns that hold probabilities are."""
    frame = columns_with(table, outcome, separator=separator, header=header, skip_bad=skip_bad)
    name = frame.name(outcome)
    frame.refuse_decimal_commas([name], "choose another ", setting("outcome"))
    used = [frame.name(each) for each in forecasters or frame.names]
    frame.refuse_decimal_commas(used, "choose others: ", setting("forecasters"))
    bad = [row for row, text in enumerate(frame.texts(name)) if not text]
    if bad:
        frame = frame.without(bad, f"column {name!r}: {NO_OUTCOME}", skip_bad)
    outcomes = outcomes_of(frame, name, positive)
    if forecasters:
        return ForecastTable(frame, {each: frame.column(each) for each in used}, outcomes, ())
    chosen, left = forecasts_of(frame, name)
    return ForecastTable(frame, chosen, outcomes, left)


def outcomes_of(frame: Frame, name: str, positive: str | None) -> FloatArray:
    """The outcomes as 0 and 1; a row with another one is refused."""
    texts = frame.texts(name)
    if positive is not None:
        return is_positive(name, texts, positive)
    if name in frame.words:
        meant = [TRUTH.get(text.lower()) for text in texts]
    else:
        texts = [f"{value:g}" for value in frame.numbers[name].tolist()]
        meant = [value if value in (0, 1) else None for value in frame.numbers[name].tolist()]
    for row, value in enumerate(meant):
        if value is None:
            remedy = ("; ", setting("positive"), " tells which word is 1") if name in frame.words else ()
            told = f"column {name!r}: {texts[row]!r} is neither 0 nor 1"
            raise frame.error_at(row, told, *remedy, kind="neither 0 nor 1", feature=name, value=texts[row])
    return np.array(meant, np.float64)


def forecasts_of(frame: Frame, outcome: str) -> tuple[dict[str, FloatArray], tuple[str, ...]]:
    """The columns that hold probabilities, and why the others do not."""
    others = [name for name in frame.names if name != outcome]
    faults = {name: fault_of(frame, name) for name in others}
    chosen = {name: frame.numbers[name] for name, fault in faults.items() if not fault}
    left = tuple(f"{name}: {fault}" for name, fault in faults.items() if fault)
    if not chosen:
        numbers = [frame.numbers[name] for name in others if name in frame.numbers]
        there = f"; {'; '.join(left)}" if left else ""
        message = f"no column but {outcome!r} holds probabilities{there}{hint_of_percent(numbers)}"
        raise StreamError(message, kind="no forecaster", feature=outcome)
    return chosen, left


def fault_of(frame: Frame, name: str) -> str:
    """Why a column holds no probabilities, by the first row that shows it; "" if it does."""
    if name in frame.words:
        row, word = next((row, word) for row, word in enumerate(frame.words[name]) if not is_number(word))
        return f"{frame.where(row)} says {word!r}, no number"
    values = frame.numbers[name]
    if np.isnan(values).all():
        return "it is empty"
    outside = (values < 0) | (values > 1)
    if not outside.any():
        return ""
    row = int(np.argmax(outside))
    return f"{frame.where(row)} says {values[row]:g}, no probability"


def hint_of_percent(columns: list[FloatArray]) -> str:
    """A hint, if all columns lie between 0 and 100 and are no probabilities with a slip."""
    told = [values[~np.isnan(values)] for values in columns if not np.isnan(values).all()]
    percent = told and all(values.min() >= 0 and values.mean() > 1 and 2 <= values.max() <= 100 for values in told)
    return "; if these are percentages, divide them by 100" if percent else ""
