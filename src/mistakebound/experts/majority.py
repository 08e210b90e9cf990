"""Prediction with expert advice in the mistake-bound model: Weighted Majority, its randomized form, and Halving.

Each expert's weight is β to the power of its losses, so the losses are all the state there is: nothing underflows,
however long the stream. ``Halving`` is β = 0, taken as the limit: the experts with the fewest mistakes share all the
weight.

A sleeper loses what the learner loses, F, the share of the awake weight that is wrong. Then ``W⁺ ≤ W(1 − (1−β)F)``
stays true, for β^F ≤ 1 − (1−β)F, and so do the theorems, with each expert's losses counted in this way.
"""

from __future__ import annotations

from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound._core import Majority
from mistakebound._support.locks import Lock, guarded, snapshot
from mistakebound._support.text import html_table
from mistakebound.aggregation.registry import SHARE
from mistakebound.experts.vote_play import Totals, VotePlay
from mistakebound.experts.votes import Draws, Heaviest, is_bit
from mistakebound.learners import parameters
from mistakebound.play.expert_ledger import count
from mistakebound.play.tickets import Asked, Tickets

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from typing_extensions import Self

    from mistakebound._support.arrays import FloatArray
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.experts.votes import Chooser
    from mistakebound.play.expert_ledger import ExpertLedger

HALF = 0.5
"""β, unless it is given."""


class WeightedMajority:
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
    engine: ClassVar[Any] = Majority
    """What plays: the core, or its specification in ``mistakebound.aggregation.majority``."""
    _play: VotePlay | None = None

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
        SHARE.checked("beta", self.beta)
        if prior is not None and self.beta == 0:
            message = "halving counts mistakes alone: it has no prior"
            raise ValueError(message)
        self._lock = Lock()
        self._tickets = Tickets()
        self._chooser = self._new_chooser()
        VotePlay(self, self._chooser)  # it refuses a prior that is none

    def _new_chooser(self) -> Chooser:
        """How a prediction follows from the weights."""
        return Heaviest()

    # ------------------------------------------------------------------ parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002 - scikit-learn's signature
        """Return the constructor's parameters; beta is None if eta sets it."""
        found = parameters.get_params(self)
        if "beta" in found and self.eta is not None and self.beta == 1 - self.eta:
            found["beta"] = None
        return found

    def set_params(self, **params: Any) -> Self:
        """Change parameters. After the first round this has no effect on the play."""
        parameters.set_params(self, params)
        if self.eta is not None and params.get("eta") is not None and "beta" not in params:
            self.beta = 1 - self.eta
        return self

    def __repr__(self) -> str:
        play = self._play
        params = parameters.changed_params(self if play is None else play.built_with)
        if params.get("beta") == HALF:
            del params["beta"]
        rounds, experts = (0, 0) if play is None else (play.rounds, play.roster.n)
        said = parameters.in_a_line(params)
        return f"<{type(self).__name__}({said}): {count(rounds, 'round')}, {count(experts, 'expert')}>"

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        play = self._begun()
        shown = self.ledger_
        rows = {**parameters.changed_params(play.built_with), "mistakes": shown.mistakes}
        return html_table(type(self).__name__, rows | {"rounds": play.rounds, "experts": play.roster.n})

    # ------------------------------------------------------------------ one round

    @guarded
    def predict_one(self, advice: Any) -> Any:
        """Return the outcome with the most weight behind it; who is new joins when the outcome is told."""
        with self._at_work() as play:
            return play.predict(advice)

    @guarded
    def weights_for(self, advice: Any) -> FloatArray:
        """Weights that these votes would have, which sum to 1: 0 for who sleeps, and who is new comes last."""
        with self._at_work() as play:
            return play.weights_for(advice)

    @guarded
    def learn_one(self, advice: Any, outcome: Any) -> None:
        """Predict, be told the outcome, and charge every wrong expert.

        A number such as 0.9 is no vote while all outcomes are 0 and 1: it is refused, for it is a probability.
        """
        with self._at_work() as play:
            play.one(advice, outcome, bits=play.bits and is_bit(outcome))

    @guarded
    def ask(self, advice: Any) -> Asked:
        """Predict, for an outcome that comes later: pass both to `tell`, once.

        Examples
        --------
        >>> import mistakebound as mb
        >>> voter = mb.experts.WeightedMajority()
        >>> monday, tuesday = voter.ask(["sun", "rain", "rain"]), voter.ask(["sun", "sun", "rain"])
        >>> voter.tell(tuesday, "rain"), voter.tell(monday, "sun")
        (None, None)
        >>> voter.ledger_.mistakes, voter.ledger_.late
        (2, 1)
        """
        with self._at_work() as play:
            served = play.serve(advice)
        return self._tickets.add(Asked(served.prediction, served.number, served))

    @guarded
    def tell(self, asked: Asked, outcome: Any) -> None:
        """Charge the experts of a round that was asked, and count a mistake if what was predicted then was wrong.

        Examples
        --------
        >>> import mistakebound as mb
        >>> voter = mb.experts.WeightedMajority()
        >>> voter.tell(voter.ask({"Ann": "sun", "Bob": "rain"}), "rain")
        >>> voter.predict_one({"Ann": "sun", "Bob": "rain"})
        'rain'
        """
        with self._at_work() as play:
            self._tickets.check(asked, type(self).__name__, play.rounds)
            play.learn(asked.held, outcome)
            self._tickets.close(asked)

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
        with self._at_work() as play:
            return play.run(A, y, keep_weights=keep_weights)

    # ------------------------------------------------------------------ what is known

    @property
    def weights_(self) -> FloatArray:
        """Weights of the experts, normalised to sum to 1."""
        with self._lock:
            if self._play is None:
                return np.zeros(0)
            w = self._play.core.weights()
            return np.asarray(w / w.sum())

    @property
    def names_(self) -> list[str]:
        """What the experts are called; their numbers, if they have no names."""
        with self._lock:
            return self._begun().roster.all_names()

    @property
    def ledger_(self) -> ExpertLedger:
        """What happened so far."""
        with self._lock:
            return self._begun().ledger(Totals())

    def certify(self) -> Certificate:
        """Mistakes beside what the rule's theorem allows."""
        from mistakebound.certificates.certify import certify  # noqa: PLC0415 - it needs scipy, which import must not

        return certify(self.ledger_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to a file (by custom ``.mb``), from which ``mistakebound.load`` takes it up again.

        The file holds all that the learner knows, so that learning goes on as if it had never stopped. It replaces an
        older one at once or not at all. Outcomes other than bool, int, float and str raise ModelError.

        Examples
        --------
        >>> import tempfile, pathlib, mistakebound as mb
        >>> voter = mb.experts.WeightedMajority()
        >>> voter.learn_one({"Ann": "sun", "Bob": "rain"}, "sun")
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "m.mb"
        >>> voter.save(path)
        >>> mb.load(path).predict_one({"Ann": "rain", "Bob": "sun"})
        'rain'
        """
        from mistakebound.experts.model import save  # noqa: PLC0415 - it knows all rules

        save(self, path)

    # ------------------------------------------------------------------ inside

    def _begun(self) -> VotePlay:
        """The play, or one of no rounds that is not kept."""
        return self._play or VotePlay(self, self._chooser)

    @contextmanager
    def _at_work(self) -> Iterator[VotePlay]:
        """The play, or a new one with the parameters as they are now, which is kept if experts join it."""
        play = self._play or VotePlay(parameters.rebuilt(self), self._chooser)
        try:
            yield play
        finally:
            if play.roster.n:
                self._play = play

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: the play at one moment."""
        with self._lock:
            return snapshot(self) | {"_play": copy(self._play)}


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
        self.seed = seed
        super().__init__(beta, eta, prior)

    def _new_chooser(self) -> Chooser:
        return Draws(self.seed)

    @guarded
    def predict_one(self, advice: Any) -> Any:
        """Return an outcome drawn by weight; the same again, until a round is learned."""
        with self._chooser.again(self._chooser.next_draw()):
            return super().predict_one(advice)
