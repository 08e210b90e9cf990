"""What a theorem is: premises, a bound, the lemma of one mistake, and how its comparator is found in hindsight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound.arrays import FloatArray
    from mistakebound.evidence import Evidence, Step


@dataclass(frozen=True)
class Premise:
    """Something that a theorem asks for, whether it was so, and what was measured."""

    statement: str
    holds: bool
    measured: str = ""


@dataclass(frozen=True)
class Witness:
    """The comparator: a vector u, or the variables of a disjunction or panel, and the margin it is used at."""

    u: FloatArray | None = None
    variables: tuple[int, ...] | None = None
    margin: float | None = None

    def vector(self) -> FloatArray:
        """Return u, which this theorem needs."""
        if self.u is None:
            message = "this theorem needs a vector as its comparator"
            raise ValueError(message)
        return self.u

    def chosen(self) -> tuple[int, ...]:
        """Return the variables, which this theorem needs."""
        if self.variables is None:
            message = "this theorem needs variables as its comparator"
            raise ValueError(message)
        return self.variables


class Theorem:
    """One row of THEORY §2. A subclass has its formula in ``mistakebound.bounds`` and says here when it applies."""

    id: ClassVar[str]
    rule: ClassVar[str]
    """Id of the rule that it speaks of."""
    strictly_below: ClassVar[bool] = False
    """Whether the number of mistakes is strictly below the bound."""
    takes_variables: ClassVar[bool] = False
    """Whether the comparator is a set of variables rather than a vector."""
    agnostic: ClassVar[bool] = False
    """Whether it needs no separation: it is asked only where nothing separates the mistaken rounds."""
    in_hindsight: ClassVar[bool] = True
    """Whether a comparator can be found without the user's help."""

    def search(self, evidence: Evidence) -> Witness | None:
        """Best comparator over the mistaken rounds, or None if there is none."""
        raise NotImplementedError

    def read(self, evidence: Evidence, comparator: Any, margin: float | None) -> Witness:
        """Read the comparator that a user gave."""
        if self.takes_variables:
            return Witness(variables=evidence.as_variables(comparator), margin=margin)
        return Witness(u=evidence.as_vector(comparator), margin=margin)

    def premises(self, evidence: Evidence, witness: Witness) -> Iterator[Premise]:
        """Check what the theorem asks for, on the mistaken rounds."""
        raise NotImplementedError

    def bound(self, evidence: Evidence, witness: Witness) -> float:
        """Return the bound; meaningful when every premise holds."""
        raise NotImplementedError

    def lemma(self, step: Step, witness: Witness) -> dict[str, float]:
        """What the proof says of one update, as {inequality: slack}; a slack below 0 breaks it."""
        raise NotImplementedError


def separates(margin: float) -> Premise:
    """y(u·x) ≥ γ > 0 on every round."""
    return Premise("y(u·x) ≥ γ > 0 in every mistaken round", bool(margin > 0), f"γ = {margin:.6g}")


def least(margins: FloatArray) -> float:
    """Smallest margin; infinite when there is no round."""
    return float(np.min(margins, initial=np.inf))


def relative_entropy(u: FloatArray, n: int) -> float:
    """RE(u‖uniform over n) of a non-negative u that sums to 1."""
    u = u[u > 0]
    return max(0.0, float(np.sum(u * np.log(u * n))))  # rounding may leave −1e-16
