"""Choose the ticks of an axis: round numbers, powers of ten, or dates."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mistakebound.viz.chart import Scale

DAY = 86_400.0
CLOCK = (60.0, 300.0, 900.0, 1800.0, 3600.0, 3 * 3600.0, 6 * 3600.0, 12 * 3600.0, DAY, 2 * DAY, 7 * DAY, 14 * DAY)
"""Distances of dates, as long as all ticks lie within a few months."""
MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200)


def ticks(low: float, high: float, scale: Scale = "linear", *, whole: bool = False) -> list[tuple[float, str]]:
    """Return about five numbers between two limits, each with its text; only whole ones on an axis of counts.

    >>> ticks(0, 32_561)
    [(0.0, '0'), (10000.0, '10k'), (20000.0, '20k'), (30000.0, '30k')]
    >>> ticks(1, 2000, "log")
    [(1.0, '1'), (10.0, '10'), (100.0, '100'), (1000.0, '1k')]
    >>> [name for _, name in ticks(8, 600, "log")], [name for _, name in ticks(16, 37, "log")]
    (['10', '20', '50', '100', '200', '500'], ['20', '25', '30', '35'])
    >>> [name for _, name in ticks(0, 500, "symlog")]
    ['0', '5', '10', '20', '50', '100', '200', '500']
    >>> [name for _, name in ticks(0, 2.1, whole=True)]
    ['0', '1', '2']
    >>> [name for _, name in ticks(1.7e9, 1.7001e9, "date")]
    ['2023-11-15 00:00', '2023-11-15 06:00', '2023-11-15 12:00', '2023-11-15 18:00', '2023-11-16 00:00']
    """
    if scale == "date":
        return dates(low, high)
    least = 1.0 if whole else 0.0
    if scale == "log":
        return [(value, brief(value)) for value in log_numbers(low, high, low, least)]
    if scale == "symlog" and high > 20:
        below = [0.0, 5.0] if low <= 0 else []
        return [(value, brief(value)) for value in [*below, *log_numbers(max(low, 10.0), high, 1.0, least)]]
    return [(value, brief(value)) for value in round_numbers(low, high, least)]


def round_numbers(low: float, high: float, least: float = 0.0) -> list[float]:
    """Return about five multiples of 1, 2 or 5 times a power of ten, which is at least ``least``.

    >>> round_numbers(0.0, 0.9)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    step = max(nice_step((high - low) / 5.5), least)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(k * step, digits) + 0.0 for k in range(first, last + 1)]


def nice_step(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is at least a number.

    >>> nice_step(0.15), nice_step(20), nice_step(21)
    (0.2, 20.0, 50.0)
    """
    power = 10.0 ** math.floor(math.log10(least))
    return next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= least * (1 - 1e-12))


def log_numbers(low: float, high: float, start: float, least: float = 0.0) -> list[float]:
    """Return powers of ten between two limits; on fewer than three decades, also 2 and 5 times these.

    The axis begins at ``start``. If there are fewer than three such numbers, return multiples of one step, which is at
    least ``least``.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    short = high < 1000 * start * (1 - 1e-9)
    every = 1 if short else max(1, -(-(last - first) // 6))
    factors = (1, 2, 5) if short else (1,)
    powers = (factor * 10.0**k for k in range(first, last + 1, every) for factor in factors)
    found = [value for value in powers if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
    return found if len(found) >= 3 else round_numbers(low, high, least)


def dates(low: float, high: float) -> list[tuple[float, str]]:
    """Return about five dates: days or hours within a few months, otherwise months or years."""
    length = high - low
    if length / CLOCK[-1] <= 6:
        step = next(step for step in CLOCK if length / step <= 6)
        first = math.ceil(low / step)
        found = [k * step for k in range(first, math.floor(high / step) + 1)]
        form = "%Y-%m-%d" if step >= DAY else "%Y-%m-%d %H:%M" if length > DAY / 2 else "%H:%M"
        return [(value, f"{_date(value):{form}}") for value in found]
    step_months = next((step for step in MONTHS if length / (step * 30.4 * DAY) <= 6), MONTHS[-1])
    begin = _date(low)
    number = -(-(begin.year * 12 + begin.month - 1) // step_months) * step_months
    listed = []
    while (value := datetime(number // 12, number % 12 + 1, 1, tzinfo=timezone.utc).timestamp()) <= high:
        if value >= low:
            listed.append((value, f"{_date(value):{'%Y' if step_months >= 12 else '%Y-%m'}}"))
        number += step_months
    return listed


def _date(seconds: float) -> datetime:
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)


def brief(number: float) -> str:
    """Return a number in a short form.

    >>> [brief(number) for number in (0, 500, 20_000, 3_000_000, 0.25, 1e-05)]
    ['0', '500', '20k', '3M', '0.25', '1e-05']
    >>> brief(5e11), brief(1.5e18)
    ('500G', '1.5e18')
    """
    if abs(number) >= 1e12:
        return f"{number:.6g}".replace("e+", "e")
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= unit and number % (unit / 10) == 0:
            return f"{number / unit:g}{letter}"
    return f"{number:.6g}"
