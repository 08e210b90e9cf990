"""Prediction with expert advice in the mistake-bound model: Weighted Majority, its randomized form, and Halving.

Each expert's weight is β to the power of its losses, so the losses are all the state there is: nothing underflows,
however long the stream. ``Halving`` is β = 0, taken as the limit: the experts with the fewest mistakes share all the
weight.

A sleeper loses what the learner loses, F, the share of the awake weight that is wrong. Then ``W⁺ ≤ W(1 − (1−β)F)``
stays true, for β^F ≤ 1 − (1−β)F, and so do the theorems, with each expert's losses counted in this way.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound._support.locks import guarded
from mistakebound.errors import StreamError
from mistakebound.experts.counting import Counting, Totals
from mistakebound.experts.reading import words_of
from mistakebound.experts.roster import names_of
from mistakebound.experts.showing import rebuilt, shown, told
from mistakebound.experts.votes import is_bit, rows_of, two_sided
from mistakebound.losses.base import is_missing
from mistakebound.play.expert_ledger import stacked_weights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Self

    from mistakebound._support.arrays import FloatArray
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.play.expert_ledger import ExpertLedger

HALF = 0.5
"""β, unless it is told."""


class WeightedMajority(Counting):
    """Predict the heavier side; multiply the weight of each wrong expert by β, in every round.

    At most ``2.41(m + lg n)`` mistakes for β = 1/2, m those of the best of n experts: no premise at all (Littlestone
    and Warmuth 1994). With several outcomes the heaviest is predicted; ties go to the greatest outcome. Two weights are
    tied if they differ by at most 2⁻⁴⁰ of the total weight; the order of the experts does not matter. Advice is a
    sequence, or a dict by name; None, NaN and absent names are asleep, and new names may join. Changing a parameter
    after the first round has no effect on the play, the ledger or the certificate.

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
        super().__init__(float(self.beta), prior)

    def __repr__(self) -> str:
        played: Any = self._as_played
        parameters = told(played)
        if played.eta is not None or played.beta == HALF:
            parameters.pop("beta", None)
        return shown(self, parameters, self._rounds, self._roster.n)

    def _rebuilt(self) -> Self:
        takes_beta = "beta" in inspect.signature(type(self)).parameters
        said_by_eta = takes_beta and self.eta is not None and self.beta == 1 - self.eta
        return rebuilt(self, **({"beta": None} if said_by_eta else {}))

    @guarded
    def predict_one(self, advice: Any) -> Any:
        """Return the outcome with the most weight behind it; who is new joins when the outcome is told."""
        said, names = self._read(advice)
        with self._visitors(len(said), names):
            return self._predict(said)

    @guarded
    def weights_for(self, advice: Any) -> FloatArray:
        """Weights that these votes would have, which sum to 1: 0 for who sleeps, and who is new comes last."""
        said, names = self._read(advice)
        with self._visitors(len(said), names):
            return self._weights_among(np.array([not is_missing(each) for each in said]))

    @guarded
    def learn_one(self, advice: Any, outcome: Any) -> None:
        """Predict, be told the outcome, and charge every wrong expert.

        A number such as 0.9 is no vote while all outcomes are 0 and 1: it is refused, for it is a probability.
        """
        self._one(advice, outcome, bits=self._bits and is_bit(outcome))

    @guarded
    def run(self, A: Any, y: Any, *, keep_weights: bool = False) -> ExpertLedger:
        """Predict, then learn, over a whole stream.

        Parameters
        ----------
        A : array, DataFrame, dict of columns, or sequence of rounds
            A row holds each expert's advice for a round.
        y : sequence
            An outcome for each round.
        keep_weights : bool
            Keep the weights of each of these rounds, rounds × experts. They are then played one by one: slower.

        Returns
        -------
        ExpertLedger
            Of these rounds (all are in `ledger_`): ``rounds``, ``predictions``, ``mistakes``, ``mistake_rounds`` and
            ``expected_mistakes``; of each expert its name in ``names``, ``expert_mistakes`` in the ``expert_rounds`` in
            which it was awake, and the ``best_expert``, by number; ``weights``, if asked for.

        Examples
        --------
        >>> import mistakebound as mb
        >>> ledger = mb.experts.WeightedMajority().run([[1, 0], [1, 0]], [1, 1], keep_weights=True)
        >>> ledger.weights.round(3).tolist()
        [[0.5, 0.5], [0.667, 0.333]]
        """
        before, names = self._now(), names_of(A)
        ledger: Any
        table = None if keep_weights else two_sided(A, y)
        if table is not None:
            said, outcome, sides = table
            if names is None:
                self._roster.positional(said.shape[1])
            if names is None or self._roster.columns(names) == list(range(max(self._roster.n, said.shape[1]))):
                self._join(said.shape[1], names)
                self._bits = self._bits and all(map(is_bit, sides))
                self._all_awake(said, outcome, sides)
                ledger = self._since(before)
                if ledger.rounds < len(outcome):
                    message = "advice is neither of two values"
                    raise StreamError(message, round=ledger.rounds, ledger=ledger)
                return ledger  # type: ignore[no-any-return]
        rows, outcomes = rows_of(A), list(y)
        if len(rows) != len(outcomes):
            message = f"there are {len(rows)} rounds of advice but {len(outcomes)} outcomes"
            raise ValueError(message)
        bits = self._bits and all(map(is_bit, outcomes))
        weights: list[FloatArray] | None = [] if keep_weights else None
        for number, (advice, outcome) in enumerate(zip(rows, outcomes, strict=True)):
            try:
                self._one(advice, outcome, bits=bits, weights=weights)
            except StreamError as error:  # noqa: PERF203 - the round is that of the batch
                ledger = self._since(before)
                raise StreamError(words_of(error), round=number, ledger=ledger) from None
        whole = self._since(before)
        return whole if weights is None else replace(whole, weights=stacked_weights(weights, self._roster.n))

    @property
    def weights_(self) -> FloatArray:
        """Weights of the experts, normalised to sum to 1."""
        w = self._core.weights()
        return np.asarray(w / w.sum()) if len(w) else w

    @property
    def names_(self) -> list[str]:
        """What the experts are called; their numbers, if they have no names."""
        return self._roster.all_names()

    @property
    def ledger_(self) -> ExpertLedger:
        """What happened so far."""
        with self._lock:
            return self._since(Totals())

    def certify(self) -> Certificate:
        """Mistakes beside what the rule's theorem allows."""
        from mistakebound.certificates.certify import certify  # noqa: PLC0415 - it needs scipy, which import must not

        return certify(self.ledger_)


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
        self._drawn: float | None = None  # for the next round: what is predicted is what is counted

    def _draw(self, rounds: int) -> FloatArray:
        """The draws of rounds that are learned."""
        begun = [] if self._drawn is None else [self._drawn]
        self._drawn = None
        return np.concatenate([begun, self._draws.random(rounds - len(begun))])

    @guarded
    def predict_one(self, advice: Any) -> Any:
        """Return an outcome drawn by weight; the same again, until a round is learned."""
        if self._drawn is None:
            self._drawn = float(self._draws.random())
        kept = self._drawn
        try:
            return super().predict_one(advice)
        finally:
            self._drawn = kept

    def _choose(self, outcomes: list[Any], shares: FloatArray) -> Any:
        """Draw one by weight."""
        at = float(self._draw(1)[0]) * float(shares.sum())
        for outcome, share in zip(reversed(outcomes), shares[::-1], strict=True):
            at -= share
            if at < 0:
                return outcome
        return outcomes[0]

    def _choose_sides(self, lean: FloatArray, total: FloatArray) -> Any:
        return self._draw(len(lean)) * total < (total + lean) / 2
