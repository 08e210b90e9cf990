"""`Step` and `Mix`: what moves z from round to round, for the lemmas of theorems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mistakebound.rules.base import Round, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound._support.arrays import BoolArray, FloatArray
    from mistakebound.theorems.evidence import Evidence


@dataclass(frozen=True)
class Step:
    """One update: z before and after it, the example and its label. Vectors include the constant feature."""

    rule: Rule
    z: FloatArray
    z_next: FloatArray
    x: FloatArray
    y: int
    mistaken: bool
    first_seen: int
    """How many of the non-zero features occur in no earlier update."""
    older: FloatArray | None = None
    """The z that the prediction was made with, if its outcome came late."""

    @property
    def z_seen(self) -> FloatArray:
        """The z that the prediction was made with."""
        return self.z if self.older is None else self.older


@dataclass(frozen=True)
class Mix:
    """The end of an epoch of several shards: the z of each shard, its share, and the mean z."""

    rule: Rule
    ends: tuple[FloatArray, ...]
    shares: tuple[float, ...]
    z: FloatArray


class Piece(NamedTuple):
    """Consecutive rows that one shard learned, and its share."""

    first: int
    end: int
    share: float


def moves(evidence: Evidence) -> Iterator[Step | Mix]:
    """Yield every update and every mix in turn, with z recomputed from the rounds."""
    z = np.zeros(evidence.n)
    seen = np.zeros(evidence.n, bool)
    for epoch in evidence.epochs or ((Piece(0, evidence.X.shape[0], 1.0),),):
        ends = []
        for piece in epoch:
            end = z
            for step in _steps(evidence, piece, z, seen):
                yield step
                end = step.z_next
            ends.append(end)
        z = ends[0]
        if len(epoch) > 1:
            total = np.zeros(evidence.n)
            for piece, end in zip(epoch, ends, strict=True):
                total += piece.share * end
            z = total.astype(np.float32).astype(np.float64)
            yield Mix(evidence.rule, tuple(ends), tuple(piece.share for piece in epoch), z)


def _steps(evidence: Evidence, piece: Piece, z: FloatArray, seen: BoolArray) -> Iterator[Step]:
    """Yield the updates of one shard, which starts from z; ``seen`` are the features that have occurred."""
    rule, past = evidence.rule, [z]
    for t in range(piece.first, piece.end):
        x = evidence.X[t].toarray().ravel()
        y = int(evidence.y[t])
        learns = y < 0 or rule.learns_from_positives
        z_next = moved(rule, z, x, y) if learns else z
        older = past[-1 - evidence.delays[t]] if evidence.late else None
        yield Step(rule, z, z_next, x, y, bool(evidence.mistaken[t]), int(np.sum((x != 0) & ~seen)), older)
        if evidence.late and learns:
            past.append(z_next)
        z = z_next
        seen |= x != 0


def moved(rule: Rule, z: FloatArray, x: FloatArray, y: int) -> FloatArray:
    """Return z after an update with the example x and its label, rounded to float32."""
    if type(rule).apply is Rule.apply:
        return (z + y * x).astype(np.float32).astype(np.float64)
    now = Round(y, float(sum(rule.link(each, rule.first_factor) * value for each, value in zip(z, x, strict=True))))
    used = np.flatnonzero(x)
    now = now._replace(gathered=sum(rule.gather((z[i],), x[i], now) for i in used))
    tau, after = rule.step(now), z.copy()
    after[used] = [rule.apply((z[i],), x[i], tau, now)[0] for i in used]
    return after.astype(np.float32).astype(np.float64)
