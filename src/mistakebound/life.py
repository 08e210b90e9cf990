"""One learner's life in the compiled core: its rule at work, whether features have names, and what happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mistakebound import _core
from mistakebound.errors import StreamError, words_of
from mistakebound.example import Csr, Dense, complemented
from mistakebound.ledger import Counts, Kept, Ledger

if TYPE_CHECKING:
    from mistakebound.arrays import AnyArray, BoolArray, FloatArray, IntArray, SignArray
    from mistakebound.example import Positional
    from mistakebound.rules import Rule

NO_ROUNDS = Counts(0, 0, 0, 0, 0)


@dataclass(frozen=True)
class Reduction:
    """How a target is turned into a disjunction of the variables that the rule sees.

    A conjunction is the negation of a disjunction of negated variables (De Morgan): complement the inputs and the label.
    ``complements`` gives the rule every variable and its negation.
    """

    conjunction: bool = False
    complements: bool = False

    def slots(self, width: int) -> int:
        """Number of variables that the rule sees."""
        return 2 * width if self.complements else width

    def rows(self, rows: Positional) -> Positional:
        """Return the examples as the rule sees them."""
        if not (self.conjunction or self.complements):
            return rows
        return complemented(rows, both=self.complements)


class Life:
    """What begins with a learner's first input and ends when it is fitted anew.

    Parameters
    ----------
    rule : Rule
        With the parameters in force.
    width : int or None
        Number of features by position; None for features with names.
    """

    def __init__(self, rule: Rule, width: int | None, keep_bytes: int, reduction: Reduction) -> None:
        self.rule = rule
        self.width = width
        self.reduction = reduction
        self.engine = _core.Engine(
            rule.id,
            rule.parameter,
            rule.threshold,
            bool(getattr(rule, "strict", False)),
            rule.update_margin,
            rule.bias,
            width is None,
            0 if width is None else reduction.slots(width),
            keep_bytes,
        )

    @property
    def named(self) -> bool:
        """Whether features have names."""
        return self.width is None

    @property
    def counts(self) -> Counts:
        """Totals so far, in the terms of the rule's own (perhaps negated) labels."""
        return Counts(*self.engine.counts())

    def require(self, width: int | None, learner: str) -> None:
        """Refuse input of the other kind or of another width."""
        if (width is None) != self.named:
            has, got = ("names", "positions") if self.named else ("positions", "names")
            message = f"this {learner} knows its features by {has}; examples with {got} cannot be mixed in"
            raise StreamError(message)
        if width != self.width:
            message = f"X has {width} features, but {learner} is expecting {self.width} features as input"
            raise StreamError(message)

    def play(self, rows: Positional, codes: SignArray) -> tuple[BoolArray, int, str]:
        """Predict, then learn, row by row. Returns the predictions, and if a row was bad its number and what was wrong."""
        seen = self.reduction.rows(rows)
        flip = self.reduction.conjunction
        told = -codes if flip else codes
        out = np.empty(len(rows), np.uint8)
        if isinstance(seen, Dense):
            row, fault, position = self.engine.play_dense(seen.x, told, out)
        else:
            row, fault, position = self.engine.play_csr(seen.indptr, seen.index, seen.value, told, out)
        positive = out[:row].view(np.bool_)
        return positive ^ flip, row, self._words(rows, fault, position) if fault else ""

    def scores(self, rows: Positional) -> tuple[FloatArray, BoolArray]:
        """Score and prediction of each row, without learning."""
        seen = self.reduction.rows(rows)
        out, positive = np.empty(len(rows)), np.empty(len(rows), np.uint8)
        if isinstance(seen, Dense):
            row, fault, position = self.engine.score_dense(seen.x, out, positive)
        else:
            row, fault, position = self.engine.score_csr(seen.indptr, seen.index, seen.value, out, positive)
        if fault:
            raise StreamError(self._words(rows, fault, position), round=row)
        return out, positive.view(np.bool_) ^ self.reduction.conjunction

    def learn_named(self, x: Any, sign: int) -> bool:
        """One round with a named example."""
        code = self.engine.learn_named(x, sign)
        if code < 0:
            self._blame_name(-code)
        return bool(code)

    def score_named(self, x: Any) -> tuple[float, bool]:
        """Score and prediction of a named example, without learning."""
        score, positive = self.engine.score_named(x)
        if positive is None:
            self._blame_name(int(score))
        return score, bool(positive)

    def weights(self) -> FloatArray:
        """Normalised weights of every slot, and last that of the constant feature if there is one."""
        z = self.engine.z().astype(np.float64)
        return self.rule.weights(np.append(z, self.engine.bias_z()) if self.rule.bias else z)

    def ledger(self, classes: tuple[Any, Any], before: Counts = NO_ROUNDS, own: BoolArray | None = None) -> Ledger:
        """Ledger of the rounds since ``before``; ``own`` are their predictions, if the caller has them."""
        now = self.counts
        return Ledger(
            flipped(now - before) if self.reduction.conjunction else now - before,
            rule=self.rule,
            n=self.engine.slots(),
            classes=classes,
            from_start=before.rounds == 0,
            named=self.named,
            source=EngineSource(self, before, now, own),
        )

    def _blame_name(self, fault: int) -> NoReturn:
        raise StreamError(words_of(fault, f"feature {self.engine.fault_feature()!r}"))

    def _words(self, rows: Positional, fault: int, position: int) -> str:
        if isinstance(self.reduction.rows(rows), Dense) and isinstance(rows, Csr):
            return words_of(fault, "a feature")
        width = self.width or 1
        if isinstance(rows, Dense) and self.reduction.complements and position >= 0:
            row, column = divmod(position, 2 * width)
            position = row * width + column % width
        column, value = rows.feature_at(position)
        return words_of(fault, f"feature {column}", value if fault not in (1, 2) else None)


def flipped(counts: Counts) -> Counts:
    """Counts with the two labels exchanged."""
    return Counts(counts.rounds, counts.false_negatives, counts.false_positives, counts.updates, counts.to_keep)


class EngineSource:
    """The larger parts of a ledger, read from the engine when they are asked for. The engine only ever appends."""

    def __init__(self, life: Life, before: Counts, now: Counts, own: BoolArray | None) -> None:
        self._life, self._before, self._now, self._own = life, before, now, own

    def predictions(self) -> BoolArray | None:
        """Whether each prediction was positive, or None when not all were kept."""
        if self._own is not None:
            return self._own
        wanted = self._now.rounds - self._before.rounds
        found: AnyArray = self._life.engine.predictions(self._before.rounds, self._now.rounds)
        return found.view(np.bool_) ^ self._life.reduction.conjunction if len(found) == wanted else None

    def mistake_rounds(self) -> IntArray | None:
        """0-based rounds of the mistakes, or None when not all were kept."""
        before, now = self._before, self._now
        first = before.false_positives + before.false_negatives
        last = now.false_positives + now.false_negatives
        found: IntArray = self._life.engine.mistake_rounds(first, last)
        return found - before.rounds if len(found) == last - first else None

    def kept(self) -> Kept:
        """As many of the updated or mistaken rounds as were kept."""
        rounds, labels, mistaken, indptr, index, value = self._life.engine.kept(self._before.to_keep, self._now.to_keep)
        return Kept(
            rounds - self._before.rounds, labels, mistaken.view(np.bool_), indptr, index.astype(np.int64), value
        )

    def names(self) -> list[str]:
        """Names of the features by index; empty for a positional learner."""
        return list(self._life.engine.names())
