"""Who the experts are: by position or by name, with a prior, and some who come later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.errors import StreamError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray


class Roster:
    """Experts, positional or named, as their first advice is. A new name joins; a name that is absent sleeps."""

    def __init__(self, prior: Sequence[float] | Mapping[str, float] | None) -> None:
        self.names: list[str] | None = None
        self.n = 0
        self._places: dict[str, int] = {}
        self._told = prior if prior is None else dict(prior) if isinstance(prior, Mapping) else list(prior)
        if prior is not None:
            given = list(prior.values()) if isinstance(prior, Mapping) else list(prior)
            if not given or not all(np.isfinite(p) and p > 0 for p in given):
                message = "a prior needs a positive number for each expert"
                raise ValueError(message)

    def row(self, advice: Any) -> list[Any]:
        """What each expert says, in the order of the roster, which may grow; None for those who say nothing."""
        if hasattr(advice, "to_dict") and not isinstance(advice, Mapping):  # a row of a DataFrame
            advice = advice.to_dict()
        if isinstance(advice, Mapping):
            return self._named(advice)
        try:
            said = advice.tolist() if isinstance(advice, np.ndarray) and advice.ndim == 1 else list(advice)
        except TypeError:
            message = f"advice must be a sequence, an array or a dict, got {advice!r}"
            raise StreamError(message) from None
        self.positional(len(said))
        return said

    def positional(self, width: int) -> None:
        """Check the number of experts, or learn it."""
        if self.names is not None:
            message = "these experts have names; advice without names cannot be mixed in"
            raise StreamError(message)
        if not width:
            message = "no expert gave advice"
            raise StreamError(message)
        if isinstance(self._told, Mapping):
            message = "the prior has names, but this advice has none"
            raise StreamError(message)
        if self._told is not None and width != len(self._told):
            message = f"the prior is of {len(self._told)} experts, but {width} gave advice"
            raise StreamError(message)
        if self.n and width != self.n:
            message = f"there are {self.n} experts, but {width} gave advice"
            raise StreamError(message)

    def columns(self, names: Sequence[str]) -> list[int]:
        """Places of these names."""
        if self.n and self.names is None:
            message = "these experts have no names; advice with names cannot be mixed in"
            raise StreamError(message)
        if not names:
            message = "no expert gave advice"
            raise StreamError(message)
        places = dict(self._places)
        for name in names:
            places.setdefault(str(name), len(places))
        if len({str(name) for name in names}) < len(names):
            message = "two experts have the same name"
            raise StreamError(message)
        if self._told is not None and not isinstance(self._told, Mapping) and len(places) != len(self._told):
            message = f"the prior is of {len(self._told)} experts without names, but there are {len(places)}"
            raise StreamError(message)
        return [places[str(name)] for name in names]

    def _named(self, advice: Mapping[Any, Any]) -> list[Any]:
        places = self.columns(list(advice))
        said: list[Any] = [None] * max(self.n, max(places) + 1)
        for place, what in zip(places, advice.values(), strict=True):
            said[place] = what
        return said

    def settle(self, width: int, names: Sequence[str] | None) -> bool:
        """Take in the experts of a round; say whether there are new ones."""
        if names is not None:
            self.names = self.names or []
            for name in names:
                if str(name) not in self._places:
                    self._places[str(name)] = len(self._places)
                    self.names.append(str(name))
        grown, self.n = width > self.n, max(width, self.n)
        return grown

    def prior(self) -> FloatArray:
        """A weight for each expert; they sum to 1. Whom the prior does not name has the mean of the others."""
        if self._told is None:
            return np.full(self.n, 1.0 / self.n)
        if isinstance(self._told, Mapping):
            mean = sum(self._told.values()) / len(self._told)
            given = np.array([self._told.get(name, mean) for name in self.names or []], float)
        else:
            given = np.array(self._told, float)
        return np.asarray(given / given.sum())

    def called(self, place: int, names: Sequence[str] | None = None) -> str:
        """What to call an expert of a round that brings these names, in an error: by name, else by number."""
        known = self.known(names)
        return repr(known[place]) if known else str(place)

    def known(self, names: Sequence[str] | None) -> list[str]:
        """All names in their places, if these came too; none if experts have none."""
        return [*(self.names or []), *(name for name in names or [] if name not in self._places)]

    def all_names(self) -> list[str]:
        """What they are called, in order; their numbers, if they have no names."""
        return list(map(str, range(self.n)) if self.names is None else self.names)


def names_of(advice: Any) -> list[str] | None:
    """The names in a round of advice or in a table of it; None if there are none."""
    if hasattr(advice, "columns"):
        return [str(name) for name in advice.columns]
    if hasattr(advice, "to_dict") and not isinstance(advice, Mapping):
        return [str(name) for name in advice.index]
    if isinstance(advice, Mapping):
        return [str(name) for name in advice]
    return None
