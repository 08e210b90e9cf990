"""The loop over examples in plain Python: the specification that the compiled core must equal, bit for bit.

Numbers: the state of a feature is S float32, of which the first is z; w = float32(link(z)); scores and other sums over
an example are float64 sums in one written order (``core/play/sum.hpp``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mistakebound._support.lazy import np
from mistakebound.rules.base import Round

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mistakebound.rules import Rule

    Example = Sequence[tuple[int, float]]
    """The non-zeros of x as (slot, value), in the order given; a slot that is repeated means the sum."""
    State = tuple[float, ...]
    """The S floats of a feature."""

LANES = 8
SMALLEST_TOTAL, LARGEST_TOTAL, LARGEST_FALL = 1e-30, 1e30, 1e-6


def ordered_sum(terms: Iterable[float]) -> float:
    """Term k goes to lane k mod 8; then s_j = l_j + l_{j+4} and (s_0 + s_2) + (s_1 + s_3).

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
    """One value a slot: where it first came, the sum in the order given; a sum of 0 is as if it were not there.

    >>> summed([(1, 1.0), (0, 2.0), (1, 0.5), (2, 3.0), (2, -3.0)])
    [(1, 1.5), (0, 2.0)]
    """
    values: dict[int, float] = {}
    for slot, value in x:
        values[slot] = values[slot] + value if slot in values else value
    return [(slot, value) for slot, value in values.items() if value != 0]


class RunningTotal:
    """A sum from which large terms may be taken away again (Neumaier)."""

    def __init__(self) -> None:
        self.sum = self.rest = 0.0

    def add(self, term: float) -> None:
        """Add one term and remember what rounding lost."""
        after = self.sum + term
        self.rest += (self.sum - after) + term if abs(self.sum) >= abs(term) else (term - after) + self.sum
        self.sum = after

    @property
    def value(self) -> float:
        """The sum."""
        return self.sum + self.rest


class ReferenceGame:
    """A linear learner in plain Python: slow, and written to be read.

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
        self.state: list[State] = [rule.start] * slots
        self.bias_state: State = rule.start
        self.updates = 0
        self.w: list[float] = []
        self.bias_w = self.peak = 0.0
        self.total = RunningTotal()
        self._from_scratch()

    @property
    def z(self) -> list[float]:
        """The first float of every slot, which gives its weight."""
        return [state[0] for state in self.state]

    @property
    def bias_z(self) -> float:
        """That of the constant feature."""
        return self.bias_state[0]

    def raw_score(self, x: Example) -> float:
        """w·x, the bias last, before it is divided by the normaliser (which never changes a prediction)."""
        terms = [self.w[i] * v for i, v in summed(x)]
        if self.rule.bias:
            terms.append(self.bias_w * self.rule.bias)
        return ordered_sum(terms)

    def score(self, x: Example) -> float:
        """What a learner reports: on normalised weights, where the rule has a normaliser."""
        normaliser = self.normaliser
        return self.raw_score(x) / normaliser if normaliser > 0 else 0.0

    @property
    def normaliser(self) -> float:
        """What scores are divided by."""
        return self.rule.normaliser(self.total.value, self.factor)

    def round(self, x: Example, y: int) -> bool:
        """See x, predict, see y, learn. Returns the prediction: whether it was positive."""
        raw = self.raw_score(x)
        positive = self.rule.is_positive(raw)
        now = Round(y, raw, self.normaliser)
        now = now._replace(gathered=self._gathered(x, now))
        tau = self.rule.step(now)
        if tau != 0:
            self._learn(x, tau, now)
        return positive

    def _gathered(self, x: Example, now: Round) -> float:
        terms = [self.rule.gather(self.state[i], v, now) for i, v in summed(x)]
        if self.rule.bias:
            terms.append(self.rule.gather(self.bias_state, self.rule.bias, now))
        return ordered_sum(terms)

    def _learn(self, x: Example, tau: float, now: Round) -> None:
        self.updates += 1
        added: list[float] = []  # the masses of the new weights
        taken: list[float] = []  # and of the old ones
        for i, v in summed(x):
            taken.append(self.rule.mass(self.w[i], self.state[i][0], self.factor))
            self.state[i], self.w[i] = self._moved(self.state[i], v, tau, now)
            added.append(self.rule.mass(self.w[i], self.state[i][0], self.factor))
        if self.rule.bias:
            taken.append(self.rule.mass(self.bias_w, self.bias_z, self.factor))
            self.bias_state, self.bias_w = self._moved(self.bias_state, self.rule.bias, tau, now)
            added.append(self.rule.mass(self.bias_w, self.bias_z, self.factor))
        if self.rule.normalised:
            self.total.add(ordered_sum(added))
            self.total.add(-ordered_sum(taken))
            total = self.total.value
            self.peak = max(self.peak, total)
            if not (SMALLEST_TOTAL <= total <= LARGEST_TOTAL and total >= LARGEST_FALL * self.peak):
                self._rescale()

    def _moved(self, state: State, v: float, tau: float, now: Round) -> tuple[State, float]:
        """Move the state, and take w = link(z)."""
        state = tuple(map(float32, self.rule.apply(state, v, tau, now)))
        return state, float32(self.rule.link(state[0], self.factor))

    def _rescale(self) -> None:
        """Choose the common factor anew. It cancels in every score; without it e^{ηz} would overflow."""
        in_use = [*self.z, self.bias_z] if self.rule.bias else self.z
        self.factor = self.rule.factor_for(max(map(self.rule.size, in_use)))
        self._from_scratch()

    def _from_scratch(self) -> None:
        self.w = [float32(self.rule.link(z, self.factor)) for z in self.z]
        self.bias_w = float32(self.rule.link(self.bias_z, self.factor))
        self.total = RunningTotal()
        for w, z in zip(self.w, self.z, strict=True):
            self.total.add(self.rule.mass(w, z, self.factor))
        if self.rule.bias:
            self.total.add(self.rule.mass(self.bias_w, self.bias_z, self.factor))
        self.peak = self.total.value
