"""Check the ranges of arguments of formulas: a ValueError names the argument that is out of range."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from functools import wraps
from itertools import zip_longest
from numbers import Real
from typing import TYPE_CHECKING, Any, ParamSpec

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
LARGEST_COUNT = 2**1000
"""Largest count that is accepted: larger ones would overflow a float."""


@dataclass(frozen=True)
class Interval:
    """The interval that a number must lie in.

    >>> Interval(above=0).checked("eta", 0.5), Interval(least=1, whole=True).checked("n", 3.0)
    (0.5, 3)
    >>> Interval(above=0).checked("eta", 0)
    Traceback (most recent call last):
    ...
    ValueError: eta must be a number above 0, got 0
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    whole: bool = False
    infinite: bool = False
    """Whether the number may be infinite."""

    def checked(self, name: str, value: Any) -> Any:
        """Return the value as a plain int or float; raise ValueError with the argument's name if it is out of range."""
        number = self._plain(value)
        if number is None:
            message = f"{name} must be {self}, got {_shown(value)}"
            raise ValueError(message)
        return number

    def _plain(self, value: Any) -> int | float | None:
        number_like: Any = value
        if isinstance(number_like, bool) or not isinstance(number_like, Real):
            return None
        try:
            rounded = float(value)
        except OverflowError:
            return None
        if self.whole and not (rounded.is_integer() and abs(rounded) <= LARGEST_COUNT):
            return None
        number: int | float = int(value) if self.whole else rounded
        inside = (
            (self.least is None or number >= self.least)
            and (self.above is None or number > self.above)
            and (self.most is None or number <= self.most)
            and (self.below is None or number < self.below)
            and (self.infinite or math.isfinite(number))
        )
        return number if inside and not math.isnan(number) else None

    def __str__(self) -> str:
        limits = [
            f"{word} {limit:g}"
            for word, limit in (
                ("of at least", self.least),
                ("above", self.above),
                ("at most", self.most),
                ("below", self.below),
            )
            if limit is not None
        ]
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} {' and '.join(limits)}".strip()


COUNT, POSITIVE, AT_LEAST_0 = Interval(least=1, whole=True), Interval(above=0), Interval(least=0)
SUM = Interval(least=0, infinite=True)
"""Sums of losses or mistakes. They may be infinite; the bound is then infinite, too."""
RANGES = {
    "n": COUNT,
    "k": COUNT,
    "d": Interval(least=0, whole=True),
    "active": COUNT,
    "shards": COUNT,
    "r": Interval(least=0, whole=True),
    "rounds": Interval(least=0, whole=True),
    "switches": Interval(least=0, whole=True),
    "p": Interval(least=2),
    "c": Interval(above=2),
    "alpha": Interval(above=1),
    "beta": Interval(least=0, below=1),
    "delta": Interval(above=0, most=1),
    "eta": POSITIVE,
    "margin": POSITIVE,
    "threshold": POSITIVE,
    "radius": POSITIVE,
    "prior": Interval(above=0, most=1),
    "norm": AT_LEAST_0,
    "update_margin": AT_LEAST_0,
    "mass": AT_LEAST_0,
    "m": AT_LEAST_0,
    "variance": AT_LEAST_0,
    "widest": AT_LEAST_0,
    "squares": AT_LEAST_0,
    "largest": AT_LEAST_0,
    "longest": AT_LEAST_0,
    "best": AT_LEAST_0,
    "loss": AT_LEAST_0,
    "distance": AT_LEAST_0,
    "gradients": AT_LEAST_0,
    "positives": SUM,
    "hinge": SUM,
    "squared_hinge": SUM,
    "relative_entropy": SUM,
}
"""Default range of each argument name of the formulas."""


def checked(**ranges: Interval) -> Callable[[Callable[P, float]], Callable[P, float]]:
    """Return a decorator that checks the arguments of a formula by `RANGES`, or by ``ranges`` where they differ.

    Arguments whose default is None may be None. If the result overflows, infinity is returned: it is a true bound.
    """

    def decorate(formula: Callable[P, float]) -> Callable[P, float]:
        parameters = inspect.signature(formula).parameters
        names = list(parameters)
        intervals = {name: ranges.get(name) or RANGES.get(name) for name in names}
        optional = {name for name, each in parameters.items() if each.default is None}

        def check(name: str, value: Any) -> Any:
            if value is None and name in optional:
                return None
            if name == "strict":
                return _truth(name, value)
            interval = intervals.get(name)
            return value if interval is None else interval.checked(name, value)

        @wraps(formula)
        def with_checks(*given: P.args, **named: P.kwargs) -> float:
            # Surplus arguments are passed on unchecked: the call raises TypeError for them.
            plain: Any = [check(name, value) for name, value in zip_longest(names[: len(given)], given, fillvalue="")]
            more: Any = {name: check(name, value) for name, value in named.items()}
            try:
                return float(formula(*plain, **more))
            except OverflowError:
                return math.inf

        return with_checks

    return decorate


def require(holds: bool, message: str) -> None:  # noqa: FBT001
    """Raise ValueError with this message unless the condition holds."""
    if not holds:
        raise ValueError(message)


def _truth(name: str, value: Any) -> bool:
    """Return a bool; 0 and 1 are accepted, too."""
    if isinstance(value, (bool, int)) and value in (0, 1):
        return bool(value)
    if type(value).__name__ in ("bool_", "bool"):  # a bool of numpy, which may not be imported
        return bool(value)
    message = f"{name} must be True or False, got {_shown(value)}"
    raise ValueError(message)


def _shown(value: Any) -> str:
    """Return a value for a message, cut if it is long."""
    try:
        text = repr(value)
    except ValueError:  # an int of thousands of digits
        return "a number that is too large"
    return text if len(text) <= 60 else f"{text[:50]}…"
