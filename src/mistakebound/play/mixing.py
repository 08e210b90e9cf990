"""`Mixing`: which rounds of a learner were learned in shards and then mixed, and with which shares.

In an epoch, each shard continued from a copy of the same learner, and the states of the shards were mixed. The record
of such a learner has the rounds of the shards one after another, in their order. Rounds outside of all epochs were
learned by the learner itself.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from mistakebound._support import schema
from mistakebound._support.lazy import np
from mistakebound._support.schema import need

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound._support.arrays import IntArray

MOST_SHARDS = 2**20
"""Limit of the number of shards of all epochs in a file, because a certificate replays each of them."""
ROUNDING = 1e-9
"""What the sum of the shares may differ from 1."""
EPOCH, SHARD = ("first", "shards"), ("rounds", "mistakes", "updates", "share")


class Shard(NamedTuple):
    """What one shard learned in an epoch, and its share of the mixed state."""

    rounds: int
    mistakes: int
    updates: int
    """Rounds that changed the weights."""
    share: float


class Epoch(NamedTuple):
    """One epoch: its first round, and its shards in the order of their rounds."""

    first: int
    shards: tuple[Shard, ...]

    @property
    def end(self) -> int:
        """The round after the last one."""
        return self.first + sum(shard.rounds for shard in self.shards)


class Span(NamedTuple):
    """Consecutive rounds that one copy of the learner learned."""

    first: int
    end: int
    share: float


class Mixing(NamedTuple):
    """The epochs of a learner that was mixed."""

    epochs: tuple[Epoch, ...]

    @property
    def shards(self) -> int:
        """The largest number of shards of an epoch."""
        return max(len(epoch.shards) for epoch in self.epochs)

    def spans(self, rounds: int) -> Iterator[list[Span]]:
        """Yield the spans of each epoch. Rounds between and after the epochs are an epoch of one shard, of share 1."""
        done = 0
        for epoch in self.epochs:
            if done < epoch.first:
                yield [Span(done, epoch.first, 1.0)]
            done, spans = epoch.first, []
            for shard in epoch.shards:
                spans.append(Span(done, done + shard.rounds, shard.share))
                done += shard.rounds
            yield spans
        if done < rounds:
            yield [Span(done, rounds, 1.0)]


def write_mixing(mixing: Mixing) -> dict[str, Any]:
    """Return a JSON object, which ``read_mixing`` reads."""
    return {
        "epochs": [
            {"first": epoch.first, "shards": [shard._asdict() for shard in epoch.shards]} for epoch in mixing.epochs
        ]
    }


def read_mixing(value: Any, rounds: int, mistakes: int, updates: int, path: str = "mixing") -> Mixing | None:
    """Return what ``write_mixing`` wrote, None for null; raise ModelError if it does not fit the counts."""
    if value is None:
        return None
    (epochs,) = schema.fields(value, "epochs", path=path)
    listed = schema.items(epochs, f"{path}.epochs")
    need(listed, f"{path}.epochs must not be empty", f"{path}.epochs")
    found: list[Epoch] = []
    left, done = MOST_SHARDS, 0
    for place, each in enumerate(listed):
        at = f"{path}.epochs[{place}]"
        first, shards = schema.fields(each, *EPOCH, path=at)
        first = schema.whole(first, f"{at}.first", done, rounds)
        shards = schema.items(shards, f"{at}.shards")
        left -= len(shards)
        need(len(shards) >= 2 and left >= 0, f"{at}.shards must have at least 2 shards, and not too many", at)
        epoch = Epoch(first, tuple(_read_shard(shard, rounds, f"{at}.shards[{k}]") for k, shard in enumerate(shards)))
        total = math.fsum(shard.share for shard in epoch.shards)
        need(abs(total - 1) <= ROUNDING, f"{at}.shards must have shares that sum to 1, got {total:.6g}", at)
        need(first < epoch.end <= rounds, f"{at}.shards must have at least one round, and no more than counts has", at)
        found.append(epoch)
        done = epoch.end
    for name, most in (("mistakes", mistakes), ("updates", updates)):
        counted = sum(getattr(shard, name) for epoch in found for shard in epoch.shards)
        need(counted <= most, f"{path} has more {name} than counts", path)
    return Mixing(tuple(found))


def check_mistakes(mixing: Mixing, mistake_rounds: IntArray, mistakes: int, path: str = "mixing") -> None:
    """Raise ModelError if the mistakes of a shard are not those of its rounds, as far as these are known.

    ``mistake_rounds`` has the rounds of all mistakes, or of the first ones.
    """
    if len(mistake_rounds) < mistakes:
        return
    for epoch in mixing.epochs:
        ends = np.cumsum([epoch.first, *(shard.rounds for shard in epoch.shards)])
        found = np.diff(np.searchsorted(mistake_rounds, ends)).tolist()
        same = found == [shard.mistakes for shard in epoch.shards]
        need(same, f"{path} contradicts the rounds of the mistakes", path)


def _read_shard(value: Any, rounds: int, path: str) -> Shard:
    own, mistakes, updates, share = schema.fields(value, *SHARD, path=path)
    own = schema.whole(own, f"{path}.rounds", 0, rounds)
    return Shard(
        own,
        schema.whole(mistakes, f"{path}.mistakes", 0, own),
        schema.whole(updates, f"{path}.updates", 0, own),
        schema.number(share, f"{path}.share", 0.0, 1.0),
    )
