"""Ranges of the sizes of an experiment: which values it can measure, and why no others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias

from mistakebound.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Sizes: TypeAlias = Mapping[str, Any]

TOO_FEW = "the claim is about larger numbers, and chance would decide the checks"
TOO_LARGE = "the experiment would not fit into memory, or take minutes"
CELLS = 20_000_000
"""The most entries of the largest matrix of an experiment, unless it declares another number."""


@dataclass(frozen=True)
class Size:
    """The range of a size. ``small`` and ``large`` are the reasons why it ends where it does."""

    least: float
    most: float
    small: str = TOO_FEW
    large: str = TOO_LARGE
    odd: bool = False

    def __str__(self) -> str:
        """Return the range as text."""
        return f"{'odd, ' if self.odd else ''}from {self.least:,} to {self.most:,}"

    def refuse(self, name: str, value: float) -> None:
        """Raise InputError for a value outside the range."""
        if value < self.least:
            message = f"{name} must be at least {self.least:,}, got {value!r}: {self.small} (its range is {self})"
        elif value > self.most:
            message = f"{name} must be at most {self.most:,}, got {value!r}: {self.large} (its range is {self})"
        elif self.odd and value % 2 == 0:
            message = f"{name} must be odd, because an even number of experts may tie, got {value!r}; use {value - 1:g}"
        else:
            return
        raise InputError(message)


SEED = Size(0, 2**53, "a seed is a whole number that is not negative", "a seed has at most 53 bits")
ANY = Size(0, 10_000_000, "a size is not negative")
"""The range of a size for which an experiment declares none."""


@dataclass(frozen=True)
class Together:
    """A condition on several sizes, such as ``k ≤ n/16``; ``holds`` takes all sizes by name."""

    statement: str
    holds: Callable[[Mapping[str, Any]], bool]
    why: str

    def refuse(self, sizes: Mapping[str, Any]) -> None:
        """Raise InputError for sizes that do not satisfy the condition."""
        if not self.holds(sizes):
            used = ", ".join(f"{name} = {value}" for name, value in sizes.items() if name != "seed")
            message = f"the sizes must satisfy {self.statement}, got {used}: {self.why}"
            raise InputError(message)


def fits(product: str, cells: Callable[[Mapping[str, Any]], float], most: float = CELLS) -> Together:
    """Return the condition that the work of an experiment is limited; ``product`` is the text of ``cells``.

    >>> fits("n·rounds", lambda at: at["n"] * at["rounds"], 100).statement
    'n·rounds ≤ 100'
    """
    return Together(f"{product} ≤ {most:,.0f}", lambda at: cells(at) <= most, TOO_LARGE)


def limited(*names: str, most: float = CELLS) -> Together:
    """Return the condition that the product of some sizes is limited.

    >>> limited("n", "rounds", most=1000).statement
    'n·rounds ≤ 1,000'
    """
    return fits("·".join(names), lambda at: math.prod(at[name] for name in names), most)


def share(part: str, whole: str, divisor: int, why: str) -> Together:
    """Return the condition that a size is at most a share of another one.

    >>> share("k", "n", 16, "").statement
    'k ≤ n/16'
    """
    statement = f"{part} ≤ {whole}/{divisor}" if divisor > 1 else f"{part} ≤ {whole}"
    return Together(statement, lambda at: at[part] * divisor <= at[whole], why)


def checked(
    defaults: Mapping[str, Any], passed: Mapping[str, Any], ranges: Mapping[str, Size], together: Sequence[Together]
) -> dict[str, Any]:
    """Return the sizes of a run, in the types of the defaults; raise InputError for those that are not allowed."""
    for name, value in passed.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            message = f"{name} must be a number, got {value!r}"
            raise InputError(message)
        whole = isinstance(defaults[name], int)
        if whole and not float(value).is_integer():
            message = f"{name} must be a whole number, got {value!r}"
            raise InputError(message)
        range_of(name, ranges).refuse(name, exact(value) if whole else float(value))
    used = {name: type(default)(passed.get(name, default)) for name, default in defaults.items()}
    for condition in together:
        condition.refuse(used)
    return used


def exact(value: Real) -> int:
    """Return a whole number as an integer, also one that is too large to be exact as a float."""
    return int(value) if isinstance(value, Integral) else int(float(value))


def range_of(name: str, ranges: Mapping[str, Size]) -> Size:
    """Return the range of a size."""
    return ranges.get(name, SEED if name == "seed" else ANY)
