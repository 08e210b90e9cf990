"""The loop over examples in plain Python: the specification of the compiled core, which must give the same bits.

The state of a feature is S float32 numbers, the first of which is z. The weight is ``float32(link(z))``. A rule with
scalars computes its weights in float64, at each prediction. Scores and other sums over an example are float64 sums in a
fixed order (see ``ordered_sum`` and ``core/play/sum.hpp``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mistakebound._support.lazy import np
from mistakebound.rules.base import Round

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mistakebound.rules import Rule

    Example = Sequence[tuple[int, float]]
    """The non-zero features of x as pairs (slot, value). The values of a repeated slot are added."""
    State = tuple[float, ...]
    """The S floats of a feature."""

LANES = 8
SMALLEST_TOTAL, LARGEST_TOTAL, LARGEST_FALL = 1e-30, 1e30, 1e-6
"""The factor is recomputed when the total leaves the first two limits, or falls below this part of its peak."""


def ordered_sum(terms: Iterable[float]) -> float:
    """Return the sum of the terms in the order of additions that the core uses.

    Term k is added to lane k mod 8. Then s_j = lane_j + lane_{j+4}, and the sum is (s_0 + s_2) + (s_1 + s_3).

    >>> ordered_sum([1.0, 2.0, 3.0])
    6.0
    """
    lane = [0.0] * LANES
    for k, term in enumerate(terms):
        lane[k % LANES] += term
    s = [lane[j] + lane[j + 4] for j in range(4)]
    return (s[0] + s[2]) + (s[1] + s[3])


def float32(x: float) -> float:
    """Round to the nearest float32."""
    with np.errstate(over="ignore"):
        return float(np.float32(x))


def summed(x: Example) -> Example:
    """Return one value per slot: the sum of its values, at the place of the first one. Sums of 0 are left out.

    >>> summed([(1, 1.0), (0, 2.0), (1, 0.5), (2, 3.0), (2, -3.0)])
    [(1, 1.5), (0, 2.0)]
    """
    values: dict[int, float] = {}
    for slot, value in x:
        values[slot] = values[slot] + value if slot in values else value
    return [(slot, value) for slot, value in values.items() if value != 0]


class RunningTotal:
    """A compensated sum (Neumaier): large terms can be subtracted again without loss of precision."""

    def __init__(self) -> None:
        self.sum = self.rest = 0.0

    def add(self, term: float) -> None:
        """Add one term, and keep its rounding error in ``rest``."""
        after = self.sum + term
        self.rest += (self.sum - after) + term if abs(self.sum) >= abs(term) else (term - after) + self.sum
        self.sum = after

    @property
    def value(self) -> float:
        """The sum."""
        return self.sum + self.rest


class ReferenceGame:
    """A linear learner in plain Python: slow, but easy to read.

    >>> from mistakebound.rules import PerceptronRule
    >>> game = ReferenceGame(PerceptronRule(), slots=2)
    >>> [game.round([(0, 1.0)], -1), game.round([(0, 1.0)], -1)]
    [True, False]
    >>> game.z
    [-1.0, 0.0]
    """

    def __init__(self, rule: Rule, slots: int) -> None:
        self.rule = rule
        self.factor = rule.first_factor
        self.scalars = rule.scalars
        start = tuple(map(float32, rule.start))
        self.state: list[State] = [start] * slots
        self.bias_state: State = start
        self.updates = 0
        self.w: list[float] = []
        self.bias_w = self.peak = 0.0
        self.total = RunningTotal()
        self._recompute_weights()

    @property
    def z(self) -> list[float]:
        """The z of every slot: the first float of its state, from which the weight is computed."""
        return [state[0] for state in self.state]

    @property
    def bias_z(self) -> float:
        """The z of the constant feature."""
        return self.bias_state[0]

    def raw_score(self, x: Example) -> float:
        """Return w·x before division by the normaliser. The term of the bias is the last one."""
        computed = bool(self.scalars)
        weighted = [(self._computed(self.state[i]) if computed else self.w[i], v) for i, v in summed(x)]
        if self.rule.bias:
            weighted.append((self._computed(self.bias_state) if computed else self.bias_w, self.rule.bias))
        return self.rule.score(weighted, self.scalars, ordered_sum)

    def _computed(self, state: State) -> float:
        return self.rule.weight(state, self.scalars)

    def score(self, x: Example) -> float:
        """Return the score that a learner reports: w·x divided by the normaliser."""
        normaliser = self.normaliser
        return self.raw_score(x) / normaliser if normaliser > 0 else 0.0

    @property
    def normaliser(self) -> float:
        """The number by which scores are divided."""
        return self.rule.normaliser(self.total.value, self.factor)

    def round(self, x: Example, y: int, weight: float = 1.0) -> bool:
        """Predict the label of x, then learn the label y. Return whether the prediction was positive.

        The weight multiplies the step, for a rule that takes weights.
        """
        raw = self.raw_score(x)
        positive = self.rule.is_positive(raw)
        now = Round(y, raw, self.normaliser, scalars=self.scalars)
        now = now._replace(gathered=self._gathered(x, now))
        tau = self.rule.step(now) * weight
        if tau != 0:
            self._learn(x, tau, now)
        self.scalars = self.rule.count(self.scalars, y, weight)
        return positive

    def _gathered(self, x: Example, now: Round) -> float:
        terms = [self.rule.gather(self.state[i], v, now) for i, v in summed(x)]
        if self.rule.bias:
            terms.append(self.rule.gather(self.bias_state, self.rule.bias, now))
        return ordered_sum(terms)

    def _learn(self, x: Example, tau: float, now: Round) -> None:
        self.updates += 1
        old_masses: list[float] = []
        new_masses: list[float] = []
        for i, v in summed(x):
            old_masses.append(self.rule.mass(self.w[i], self.state[i][0], self.factor))
            self.state[i], self.w[i] = self._moved(self.state[i], v, tau, now)
            new_masses.append(self.rule.mass(self.w[i], self.state[i][0], self.factor))
        if self.rule.bias:
            old_masses.append(self.rule.mass(self.bias_w, self.bias_z, self.factor))
            self.bias_state, self.bias_w = self._moved(self.bias_state, self.rule.bias, tau, now)
            new_masses.append(self.rule.mass(self.bias_w, self.bias_z, self.factor))
        if self.rule.normalised:
            self.total.add(ordered_sum(new_masses))
            self.total.add(-ordered_sum(old_masses))
            total = self.total.value
            self.peak = max(self.peak, total)
            if not (SMALLEST_TOTAL <= total <= LARGEST_TOTAL and total >= LARGEST_FALL * self.peak):
                self._rescale()

    def _moved(self, state: State, v: float, tau: float, now: Round) -> tuple[State, float]:
        """Return the new state of a feature and its new weight."""
        state = tuple(map(float32, self.rule.apply(state, v, tau, now)))
        return state, self._weight(state[0])

    def _weight(self, z: float) -> float:
        """Return the weight that is kept beside z; 0 for a rule with scalars, which keeps none."""
        return 0.0 if self.scalars else float32(self.rule.link(z, self.factor))

    def _rescale(self) -> None:
        """Choose a new common factor. It cancels in every score, and prevents overflow, for example of e^{ηz}."""
        in_use = [*self.z, self.bias_z] if self.rule.bias else self.z
        self.factor = self.rule.factor_for(max(map(self.rule.size, in_use)))
        self._recompute_weights()

    def _recompute_weights(self) -> None:
        self.w = [self._weight(z) for z in self.z]
        self.bias_w = self._weight(self.bias_z)
        self.total = RunningTotal()
        for w, z in zip(self.w, self.z, strict=True):
            self.total.add(self.rule.mass(w, z, self.factor))
        if self.rule.bias:
            self.total.add(self.rule.mass(self.bias_w, self.bias_z, self.factor))
        self.peak = self.total.value
