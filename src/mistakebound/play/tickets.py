"""`Asked`: a prediction whose outcome comes later. `Tickets`: the predictions of a learner that wait for outcomes."""

from __future__ import annotations

import os
from typing import Any

from mistakebound.errors import TicketError


class Asked:
    """A prediction whose outcome comes later: pass it to `tell` with the outcome, once.

    Attributes
    ----------
    prediction : object
        The predicted label or forecast.
    number : int
        Number of rounds learned before this prediction.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mixer = mb.experts.MLPoly()
    >>> asked = mixer.ask([20.0, 25.0])
    >>> asked
    <Asked: forecast 22.5 in round 0>
    >>> mixer.tell(asked, 21.0)
    >>> mixer.tell(asked, 21.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    mistakebound.errors.input_errors.TicketError: round 1: the outcome of this prediction was already passed...
    """

    def __init__(self, prediction: Any, number: int, held: Any, key: tuple[str, str] | None = None) -> None:
        self.prediction, self.number, self.held, self.key = prediction, number, held, key

    def __repr__(self) -> str:
        return f"<Asked: forecast {self.prediction} in round {self.number}>"


class Tickets:
    """The predictions that wait for their outcome.

    Each prediction has a random key. A prediction made by a copy of the learner is therefore rejected by the original.
    A prediction made before the learner was copied, pickled or saved is accepted by both. Memory grows with the number
    of waiting predictions, not with the number of rounds.
    """

    def __init__(self) -> None:
        self._owner = ""
        """A random key. It differs for other learners, and for copies that were made before the first ``ask``."""
        self._waiting: set[str] = set()

    def add(self, asked: Asked) -> Asked:
        """Give a prediction its key, and add it to the waiting ones."""
        self._owner = self._owner or os.urandom(8).hex()
        asked.key = self._owner, os.urandom(8).hex()
        self._waiting.add(asked.key[1])
        return asked

    def check(self, asked: Any, learner: str, number: int) -> None:
        """Raise TicketError unless this is a waiting prediction of this learner."""
        if not isinstance(asked, Asked):
            message = f"tell needs an object that ask returned, got {asked!r}"
            raise TicketError(message, reason="not a ticket", learner=learner, round=number)
        owner, key = asked.key or ("", "")
        if key in self._waiting:
            return
        if not self._owner or owner != self._owner:
            message = f"this prediction is not from this {learner}"
            raise TicketError(message, reason="unknown", learner=learner, round=number)
        message = "the outcome of this prediction was already passed, or a copy of the learner made the prediction"
        raise TicketError(message, reason="used", learner=learner, round=number)

    def close(self, asked: Asked) -> None:
        """Remove a prediction, because its outcome was passed."""
        if asked.key is not None:
            self._waiting.discard(asked.key[1])

    def reopen(self, asked: Asked) -> None:
        """Add a prediction again, because its outcome was rejected."""
        if asked.key is not None:
            self._waiting.add(asked.key[1])

    def to_json(self) -> dict[str, Any] | None:
        """Return the keys of the waiting predictions, for a model file; None before the first prediction."""
        return {"whose": self._owner, "waiting": sorted(self._waiting)} if self._owner else None

    @classmethod
    def from_json(cls, stored: Any) -> Tickets:
        """Read what ``to_json`` returned; raise ModelError for anything else."""
        from mistakebound._support import schema  # noqa: PLC0415 - learning needs no JSON

        def checked(value: Any, path: str) -> str:
            text = schema.text(value, path)
            if len(text) != 16 or not set(text) <= set("0123456789abcdef"):
                schema.refuse(path, "16 hexadecimal digits", value)
            return text

        tickets = cls()
        if stored is not None:
            owner, waiting = schema.fields(stored, "whose", "waiting", path="tickets")
            tickets._owner = checked(owner, "tickets.whose")
            keys = schema.texts(waiting, "tickets.waiting", distinct=True)
            tickets._waiting = {checked(key, "tickets.waiting") for key in keys}
        return tickets
