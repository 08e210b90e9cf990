"""Prediction with expert advice in the mistake-bound model: Weighted Majority, its randomized form, and Halving.

Each expert's weight is β to the power of its mistakes, so the mistakes themselves are all the state there is: nothing
underflows, however long the stream. ``Halving`` is β = 0, taken as the limit: the experts with the fewest mistakes
share all the weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound.errors import StreamError
from mistakebound.ledger import ExpertLedger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.arrays import FloatArray, IntArray
    from mistakebound.certificate import Certificate


class WeightedMajority:
    """Predict the heavier side; multiply the weight of each wrong expert by β, in every round.

    At most ``2.41(m + lg n)`` mistakes for β = 1/2, m those of the best of n experts: no premise at all (Littlestone
    and Warmuth 1994). With several outcomes it predicts the heaviest one. A tie goes to the greatest outcome.

    Parameters
    ----------
    beta : float
        0 ≤ β < 1.

    Examples
    --------
    >>> import mistakebound as mb
    >>> ledger = mb.experts.WeightedMajority().run([[1, 0, 0], [1, 0, 0], [1, 0, 0]], [1, 1, 1])
    >>> ledger.mistakes, ledger.expert_mistakes.tolist()
    (1, [0, 3, 3])
    """

    id: ClassVar[str] = "weighted-majority"

    def __init__(self, beta: float = 0.5) -> None:
        if not 0 <= beta < 1:
            message = f"beta must be at least 0 and below 1, got {beta!r}"
            raise ValueError(message)
        self.beta = beta
        self._losses: IntArray | None = None
        self._predictions: list[Any] = []
        self._mistake_rounds: list[int] = []
        self._expected = 0.0

    def predict_one(self, advice: Sequence[Any]) -> Any:
        """Return the outcome with the most weight behind it."""
        shares = self._shares(advice)
        top = max(shares.values())
        return max(outcome for outcome, share in shares.items() if share == top)

    def learn_one(self, advice: Sequence[Any], outcome: Any) -> None:
        """Predict, be told the outcome, and charge every wrong expert."""
        self._play(advice, outcome)

    def run(self, A: Sequence[Sequence[Any]], y: Sequence[Any]) -> ExpertLedger:
        """Predict, then learn, over a whole stream: a row of A holds each expert's advice for a round."""
        rows, outcomes = list(A), list(y)
        if len(rows) != len(outcomes):
            message = f"there are {len(rows)} rounds of advice but {len(outcomes)} outcomes"
            raise ValueError(message)
        for advice, outcome in zip(rows, outcomes, strict=True):
            self._play(advice, outcome)
        return self.ledger_

    @property
    def weights_(self) -> FloatArray:
        """Weights of the experts, normalised to sum to 1."""
        losses = self._losses if self._losses is not None else np.zeros(0, np.int64)
        w = self._unnormalised(losses)
        return w / w.sum() if len(w) else w

    @property
    def ledger_(self) -> ExpertLedger:
        """What happened so far."""
        return ExpertLedger(
            rule=self.id,
            beta=float(self.beta),
            rounds=len(self._predictions),
            predictions=np.array(self._predictions),
            mistake_rounds=np.array(self._mistake_rounds, np.int64),
            expert_mistakes=np.zeros(0, np.int64) if self._losses is None else self._losses.copy(),
            expected_mistakes=self._expected,
        )

    def certify(self) -> Certificate:
        """Mistakes beside what the rule's theorem allows."""
        from mistakebound.certificate import certify  # noqa: PLC0415 - it needs scipy, which import must not

        return certify(self.ledger_)

    def _play(self, advice: Sequence[Any], outcome: Any) -> None:
        number = len(self._predictions)
        try:
            prediction = self.predict_one(advice)
            if outcome is None or outcome != outcome:  # noqa: PLR0124 - NaN
                message = f"the outcome is {outcome!r}"
                raise StreamError(message)
        except (ValueError, TypeError) as error:
            raise StreamError(str(error), round=number) from None
        said = _as_column(advice)
        wrong = np.array([a != outcome for a in said], bool)
        losses = np.zeros(len(said), np.int64) if self._losses is None else self._losses
        w = self._unnormalised(losses)
        self._expected += float(w[wrong].sum() / w.sum())
        self._losses = losses + wrong
        self._predictions.append(prediction)
        if prediction != outcome:
            self._mistake_rounds.append(number)

    def _shares(self, advice: Sequence[Any]) -> dict[Any, float]:
        """Return the weight behind each outcome that some expert names."""
        said = _as_column(advice)
        losses = self._losses if self._losses is not None else np.zeros(len(said), np.int64)
        if len(said) != len(losses):
            message = f"there are {len(losses)} experts, but {len(said)} gave advice"
            raise ValueError(message)
        shares: dict[Any, float] = {}
        for outcome, weight in zip(said, self._unnormalised(losses).tolist(), strict=True):
            shares[outcome] = shares.get(outcome, 0.0) + weight
        return shares

    def _unnormalised(self, losses: IntArray) -> FloatArray:
        """β^(mistakes more than the best expert's): the best weighs 1, whatever happened."""
        behind = losses - losses.min(initial=2**62)
        return np.asarray(np.power(float(self.beta), behind.astype(np.float64)))


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
    beta : float
        0 ≤ β < 1.
    seed : int, optional
        Of the draws.

    Examples
    --------
    >>> import mistakebound as mb
    >>> mb.experts.RandomizedWeightedMajority(seed=0).run([["sun", "rain"]] * 3, ["sun"] * 3).expected_mistakes
    1.0333333333333332
    """

    id: ClassVar[str] = "randomized-weighted-majority"

    def __init__(self, beta: float = 0.5, seed: int | None = None) -> None:
        super().__init__(beta)
        self.seed = seed
        self._draws = np.random.default_rng(seed)

    def predict_one(self, advice: Sequence[Any]) -> Any:
        """Return the advice of an expert drawn by weight."""
        shares = self._shares(advice)
        at = self._draws.random() * sum(shares.values())
        for outcome, share in shares.items():
            at -= share
            if at < 0:
                return outcome
        return next(reversed(shares))


def _as_column(advice: Any) -> list[Any]:
    said = advice.tolist() if isinstance(advice, np.ndarray) else list(advice)
    if not said:
        message = "no expert gave advice"
        raise ValueError(message)
    if any(a is None or a != a for a in said):  # noqa: PLR0124 - NaN
        message = f"expert {next(i for i, a in enumerate(said) if a is None or a != a)} gave no advice"  # noqa: PLR0124
        raise ValueError(message)
    return said
