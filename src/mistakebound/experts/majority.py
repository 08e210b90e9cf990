"""Prediction with expert advice in the mistake-bound model: Weighted Majority, its randomized form, and Halving.

Each expert's weight is β to the power of its losses, so the losses are all the state there is: nothing underflows,
however long the stream. ``Halving`` is β = 0, taken as the limit: the experts with the fewest mistakes share all the
weight.

A sleeper loses what the learner loses, F, the share of the awake weight that is wrong. Then ``W⁺ ≤ W(1 − (1−β)F)``
stays true, for β^F ≤ 1 − (1−β)F, and so do the theorems, with each expert's losses counted in this way.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound._core import Majority
from mistakebound.errors import StreamError
from mistakebound.experts.roster import Roster, is_missing, names_of
from mistakebound.experts.showing import shown, told
from mistakebound.ledger import ExpertLedger

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mistakebound.arrays import AnyArray, FloatArray
    from mistakebound.certificate import Certificate

HALF = 0.5
"""β, unless it is told."""


class WeightedMajority:
    """Predict the heavier side; multiply the weight of each wrong expert by β, in every round.

    At most ``2.41(m + lg n)`` mistakes for β = 1/2, m those of the best of n experts: no premise at all (Littlestone
    and Warmuth 1994). With several outcomes it predicts the heaviest one. A tie goes to the greatest outcome. Advice is
    a sequence, or a dict by name; None, NaN and absent names are asleep, and new names may join.

    Parameters
    ----------
    beta : float, optional
        0 ≤ β < 1; ½ if neither it nor eta is given.
    eta : float, optional
        Instead of β: 1 − β.
    prior : sequence or dict, optional
        A positive weight for each expert; uniform if not given.

    Examples
    --------
    >>> import mistakebound as mb
    >>> ledger = mb.experts.WeightedMajority().run([[1, 0, 0], [1, 0, 0], [1, 0, 0]], [1, 1, 1])
    >>> ledger.mistakes, ledger.expert_mistakes.tolist()
    (1, [0, 3, 3])
    """

    id: ClassVar[str] = "weighted-majority"
    engine: ClassVar[Any] = Majority
    """What plays: the core, or its specification in ``mistakebound.aggregation.majority``."""

    def __init__(
        self,
        beta: float | None = None,
        eta: float | None = None,
        prior: Sequence[float] | Mapping[str, float] | None = None,
    ) -> None:
        if beta is not None and eta is not None:
            message = f"beta and eta say the same thing, eta = 1 - beta: give one of them, got {beta!r} and {eta!r}"
            raise ValueError(message)
        self.eta, self.prior = eta, prior
        self.beta: float = 1 - eta if eta is not None else HALF if beta is None else beta
        if not 0 <= self.beta < 1:
            message = f"beta must be at least 0 and below 1, got {self.beta!r}"
            raise ValueError(message)
        if prior is not None and self.beta == 0:
            message = "halving counts mistakes alone: it has no prior"
            raise ValueError(message)
        self._roster = Roster(prior)
        self._core = self.engine(float(self.beta))
        self._mistakes = np.zeros(0, np.int64)
        self._charged = np.zeros(0)
        self._awake = np.zeros(0, np.int64)
        self._predictions: list[AnyArray] = []
        self._wrong: list[AnyArray] = []
        self._rounds = 0
        self._expected = 0.0

    def __repr__(self) -> str:
        parameters = told(self)
        if self.eta is not None or self.beta == HALF:
            parameters.pop("beta", None)
        return shown(self, parameters, self._rounds, self._roster.n)

    def predict_one(self, advice: Any) -> Any:
        """Return the outcome with the most weight behind it."""
        said, names = self._read(advice)
        self._join(len(said), names)
        return self._choose(*self._behind(said, named_outcomes(said)))

    def learn_one(self, advice: Any, outcome: Any) -> None:
        """Predict, be told the outcome, and charge every wrong expert."""
        try:
            said, names = self._read(advice)
            if is_missing(outcome):
                message = f"the outcome is {outcome!r}"
                raise StreamError(message)
        except (ValueError, TypeError) as error:
            raise StreamError(str(error), round=self._rounds) from None
        self._join(len(said), names)
        outcomes = named_outcomes([*said, outcome])
        if len(outcomes) <= 2 and not any(is_missing(each) for each in said):
            high = outcomes[-1]
            row = np.array([[each == high for each in said]], np.uint8)
            self._all_awake(row, np.array([outcome == high], np.uint8), (outcomes[0], high))
        else:
            self._any_advice(said, outcomes, outcome)

    def run(self, A: Any, y: Any) -> ExpertLedger:
        """Predict, then learn, over a whole stream: a row of A holds each expert's advice for a round."""
        names = names_of(A)
        table = two_sided(A, y)
        if table is not None:
            said, outcome, sides = table
            if names is None:
                self._roster.positional(said.shape[1])
            if names is None or self._roster.columns(names) == list(range(max(self._roster.n, said.shape[1]))):
                self._join(said.shape[1], names)
                self._all_awake(said, outcome, sides)
                return self.ledger_
        rows = A.to_dict("records") if hasattr(A, "columns") else list(A)
        outcomes = list(y)
        if len(rows) != len(outcomes):
            message = f"there are {len(rows)} rounds of advice but {len(outcomes)} outcomes"
            raise ValueError(message)
        for advice, outcome in zip(rows, outcomes, strict=True):
            self.learn_one(advice, outcome)
        return self.ledger_

    @property
    def weights_(self) -> FloatArray:
        """Weights of the experts, normalised to sum to 1."""
        w = self._core.weights()
        return np.asarray(w / w.sum()) if len(w) else w

    @property
    def ledger_(self) -> ExpertLedger:
        """What happened so far."""
        return ExpertLedger(
            rule=self.id,
            beta=float(self.beta),
            rounds=self._rounds,
            predictions=np.concatenate(self._predictions) if self._predictions else np.zeros(0),
            mistake_rounds=np.concatenate([np.zeros(0, np.int64), *self._wrong]),
            expert_mistakes=self._mistakes.copy(),
            expected_mistakes=self._expected,
            expert_losses=self._mistakes + self._charged,
            expert_rounds=self._awake.copy(),
            prior=self._roster.prior() if self._roster.n else np.zeros(0),
            names=tuple(self._roster.name(k) for k in range(self._roster.n)),
        )

    def certify(self) -> Certificate:
        """Mistakes beside what the rule's theorem allows."""
        from mistakebound.certificate import certify  # noqa: PLC0415 - it needs scipy, which import must not

        return certify(self.ledger_)

    # -- pieces ----------------------------------------------------------------------------------------------

    def _read(self, advice: Any) -> tuple[list[Any], list[str] | None]:
        said = self._roster.row(advice)
        if all(is_missing(each) for each in said):
            message = "every expert is asleep" if said else "no expert gave advice"
            raise StreamError(message)
        return said, names_of(advice)

    def _join(self, width: int, names: list[str] | None) -> None:
        """Newcomers have lost so far what the learner expected to lose, as if they had slept."""
        before = self._roster.n
        if not self._roster.settle(width, names):
            return
        prior = self._roster.prior()[before:]
        behind = np.log(prior.max() / prior) / -math.log(self.beta) if self.beta > 0 else np.zeros(len(prior))
        for start in behind:
            self._core.join(1, self._expected + float(start))
        grown = len(prior)
        self._mistakes = np.concatenate([self._mistakes, np.zeros(grown, np.int64)])
        self._charged = np.concatenate([self._charged, np.full(grown, self._expected)])
        self._awake = np.concatenate([self._awake, np.zeros(grown, np.int64)])

    def _behind(self, said: list[Any], outcomes: list[Any]) -> tuple[list[Any], FloatArray]:
        """The outcomes that are named, and the weight behind each."""
        if len(outcomes) == 2 and not any(is_missing(each) for each in said):
            lean = self._core.lean(np.array([each == outcomes[1] for each in said], np.uint8))
            total = self._core.total()
            return outcomes, np.array([(total - lean) / 2, (total + lean) / 2])
        return outcomes, self._shares(self._codes(said, outcomes), len(outcomes))

    def _shares(self, codes: AnyArray, kinds: int) -> FloatArray:
        """Weight behind each outcome; if all of it is asleep, that of the awake beside the best of them."""
        shares: FloatArray = self._core.shares(codes, kinds)
        if shares.sum() > 0:
            return shares
        losses = np.where(codes < 0, np.inf, self._core.losses())
        weights = np.power(float(self.beta), losses - losses.min())
        return np.array([weights[codes == code].sum() for code in range(kinds)])

    @staticmethod
    def _codes(said: list[Any], outcomes: list[Any]) -> AnyArray:
        place = {outcome: code for code, outcome in enumerate(outcomes)}
        return np.array([-1 if is_missing(each) else place[each] for each in said], np.int32)

    def _choose(self, outcomes: list[Any], shares: FloatArray) -> Any:
        """The heaviest outcome; of equals, the greatest."""
        return outcomes[len(shares) - 1 - int(np.argmax(shares[::-1]))]

    def _choose_sides(self, lean: FloatArray, total: FloatArray) -> Any:  # noqa: ARG002 - a draw needs it
        """Whether the greater of two outcomes is predicted, from the weight behind it less that against it."""
        return lean >= 0

    def _all_awake(self, said: AnyArray, outcome: AnyArray, sides: tuple[Any, Any]) -> None:
        """Rounds with two outcomes and everybody awake: the core plays them at once."""
        before = self._core.losses()
        lean, total = self._core.run(said, outcome)
        self._mistakes += np.rint(self._core.losses() - before).astype(np.int64)
        self._awake += len(lean)
        self._sum((1 - lean / total) / 2)
        high = self._choose_sides(np.where(outcome == 1, lean, -lean), total)
        self._record(np.array(sides)[high.astype(np.intp)], high != (outcome == 1))

    def _any_advice(self, said: list[Any], outcomes: list[Any], outcome: Any) -> None:
        """One round with sleepers, or with more than two outcomes."""
        codes = self._codes(said, outcomes)
        shares = self._shares(codes, len(outcomes))
        right = outcomes.index(outcome)
        wrong = 1 - float(shares[right] / shares.sum())
        named = [code for code in range(len(outcomes)) if (codes == code).any()]
        prediction = self._choose([outcomes[code] for code in named], shares[named])
        self._core.learn(codes, right, wrong)
        self._mistakes += (codes >= 0) & (codes != right)
        self._awake += codes >= 0
        self._charged += np.where(codes < 0, wrong, 0.0)
        self._sum(np.array([wrong]))
        self._record(np.array([prediction]), np.array([prediction != outcome]))

    def _sum(self, wrong: FloatArray) -> None:
        self._expected = float(np.cumsum(np.concatenate([[self._expected], wrong]))[-1])  # in order, one by one

    def _record(self, predictions: AnyArray, mistaken: AnyArray) -> None:
        self._predictions.append(predictions)
        self._wrong.append(np.flatnonzero(mistaken) + self._rounds)
        self._rounds += len(predictions)


class Halving(WeightedMajority):
    """Predict with the majority of the experts without a mistake: at most ⌊lg n⌋ mistakes if one never errs.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mb.experts.Halving().run([[1, 1, 0, 0], [1, 0, 1, 0]], [0, 0]).mistakes
    2
    """

    id: ClassVar[str] = "halving"

    def __init__(self) -> None:
        super().__init__(beta=0.0)


class RandomizedWeightedMajority(WeightedMajority):
    """Follow expert i with probability w_i/W; multiply each wrong expert's weight by β, in every round.

    Expected mistakes ``Σ F_t ≤ (m ln(1/β) + ln n)/(1−β)``, computed exactly in ``ledger_.expected_mistakes``; the
    sampled count exceeds it by at most √(T ln(1/δ)/2) with probability 1−δ.

    Parameters
    ----------
    beta : float, optional
        0 ≤ β < 1; ½ if neither it nor eta is given.
    seed : int, optional
        Of the draws.
    eta, prior
        As in `WeightedMajority`.

    Examples
    --------
    >>> import mistakebound as mb
    >>> ledger = mb.experts.RandomizedWeightedMajority(seed=0).run([["sun", "rain"]] * 3, ["sun"] * 3)
    >>> round(ledger.expected_mistakes, 6)
    1.033333
    """

    id: ClassVar[str] = "randomized-weighted-majority"

    def __init__(
        self,
        beta: float | None = None,
        seed: int | None = None,
        eta: float | None = None,
        prior: Sequence[float] | Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(beta, eta, prior)
        self.seed = seed
        self._draws = np.random.default_rng(seed)

    def _choose(self, outcomes: list[Any], shares: FloatArray) -> Any:
        """Draw one by weight."""
        at = self._draws.random() * float(shares.sum())
        for outcome, share in zip(reversed(outcomes), shares[::-1], strict=True):
            at -= share
            if at < 0:
                return outcome
        return outcomes[0]

    def _choose_sides(self, lean: FloatArray, total: FloatArray) -> Any:
        return self._draws.random(len(lean)) * total < (total + lean) / 2


def named_outcomes(said: Sequence[Any]) -> list[Any]:
    """What was named, the greatest last."""
    seen = {each: None for each in said if not is_missing(each)}
    try:
        return sorted(seen)
    except TypeError:  # of several kinds
        return sorted(seen, key=lambda each: (type(each).__name__, repr(each)))


def two_sided(A: Any, y: Any) -> tuple[AnyArray, AnyArray, tuple[Any, Any]] | None:
    """Advice and outcomes as 0 and 1, and what these stand for; None if there are more than two values, or sleepers."""
    table, outcomes = A.to_numpy() if hasattr(A, "to_numpy") else A, np.asarray(y)
    if not isinstance(table, np.ndarray) or table.ndim != 2 or not table.size or outcomes.shape != table.shape[:1]:
        return None
    if table.dtype == bool and outcomes.dtype == bool:
        return np.ascontiguousarray(table).view(np.uint8), outcomes.astype(np.uint8), (False, True)
    if table.dtype.kind not in "biuf" or outcomes.dtype.kind not in "biuf":
        return None
    low, high = min(table.min(), outcomes.min()), max(table.max(), outcomes.max())
    said, told = table == high, outcomes == high
    if not (low < high and np.array_equal(said, table != low) and np.array_equal(told, outcomes != low)):
        return None
    return said.astype(np.uint8), told.astype(np.uint8), (low.item(), high.item())
