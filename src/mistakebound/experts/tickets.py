"""Forecasts whose outcomes come later, and which of a learner's are still to be told."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mistakebound.errors import StreamError

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.aggregation.mixture import Served


class Asked:
    """A forecast whose outcome will be told later, once.

    Attributes
    ----------
    prediction : float or array
        What was forecast.
    number : int
        The rounds that were learned before.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mixer = mb.experts.MLPoly()
    >>> asked = mixer.ask([20.0, 25.0])
    >>> asked
    <Asked: forecast 22.5 in round 0>
    >>> mixer.tell(asked, 21.0)
    >>> mixer.tell(asked, 21.0)
    Traceback (most recent call last):
    ...
    mistakebound.errors.StreamError: round 1: the outcome of this forecast was already told (or it is a copy's)
    """

    def __init__(self, served: Served, row: FloatArray, number: int, key: tuple[str, str] | None = None) -> None:
        self.served, self.row, self.number, self.key = served, row, number, key

    @property
    def prediction(self) -> Any:
        """What was forecast."""
        return plain(self.served.forecast)

    def __repr__(self) -> str:
        return f"<Asked: forecast {self.prediction} in round {self.number}>"


class Open:
    """The forecasts that wait for their outcome.

    A forecast has a key of its own, drawn at random, so that one which is asked of a copy cannot be told to the
    original; but what was asked before a learner was copied or pickled can be told to both. What is kept grows with the
    forecasts that wait, not with the rounds.
    """

    def __init__(self) -> None:
        self._whose = ""  # told apart from other learners, and from copies made before anything was asked
        self._waiting: set[str] = set()

    def add(self, asked: Asked) -> Asked:
        """Let it wait."""
        self._whose = self._whose or os.urandom(8).hex()
        asked.key = self._whose, os.urandom(8).hex()
        self._waiting.add(asked.key[1])
        return asked

    def refuse(self, asked: Any, learner: str, number: int) -> None:
        """Raise for what does not wait here."""
        if not isinstance(asked, Asked):
            message = f"what is told must come from ask, got {asked!r}"
            raise StreamError(message, round=number)
        whose, key = asked.key or ("", "")
        if key in self._waiting:
            return
        if not self._whose or whose != self._whose:
            message = f"this forecast was not asked of this {learner}"
            raise StreamError(message, round=number)
        message = "the outcome of this forecast was already told (or it is a copy's)"
        raise StreamError(message, round=number)

    def close(self, asked: Asked) -> None:
        """It has been told."""
        if asked.key is not None:
            self._waiting.discard(asked.key[1])


def plain(forecast: FloatArray) -> Any:
    """A number, or an array of them."""
    return forecast if forecast.ndim else float(forecast)
