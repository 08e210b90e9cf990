"""Prediction with expert advice in the mistake-bound model: Weighted Majority, its randomized form, and Halving.

The weight of an expert is β to the power of its losses, so only the losses are stored: nothing underflows in a long
stream. ``Halving`` is the limit β = 0: the experts with the fewest mistakes share all the weight.

A sleeping expert is charged the learner's expected loss F, the share of the awake weight that is wrong. Then
``W⁺ ≤ W(1 − (1−β)F)`` remains true, because β^F ≤ 1 − (1−β)F. So do the theorems, with losses counted in this way. See
docs/theory.md, "Sleeping experts and newcomers: votes".
"""

from __future__ import annotations

from contextlib import contextmanager
from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound._core import Majority
from mistakebound._support.locks import Lock, guarded, snapshot
from mistakebound._support.text import html_table
from mistakebound.aggregation.registry import SHARE
from mistakebound.experts.vote_play import VotePlay
from mistakebound.experts.votes import Draws, Heaviest, Totals, is_bit
from mistakebound.learners import parameters
from mistakebound.play.expert_ledger import count
from mistakebound.play.tickets import Asked, Tickets

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from typing_extensions import Self

    from mistakebound._support.arrays import FloatArray
    from mistakebound.aggregation.registry import Parameter
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.experts.votes import Chooser
    from mistakebound.play.expert_ledger import ExpertLedger

HALF = 0.5
"""The default of β."""


class WeightedMajority:
    """Predict the outcome with the most weight; in every round, multiply the weight of each wrong expert by β.

    For β = 1/2 it makes at most ``2.41(m + lg n)`` mistakes on any stream, where m is the number of mistakes of the
    best of n experts. See docs/theory.md, "Weighted Majority".

    If outcomes are tied, the greatest is predicted. Two weights are tied if they differ by at most 2⁻⁴⁰ of the total
    weight; the order of the experts does not matter. Advice is a sequence of votes, or a dict of votes by name. Experts
    with None, NaN or an absent name are asleep; new names may join. Changing a parameter after the first round has no
    effect on predictions, the ledger or the certificate.

    Parameters
    ----------
    beta : float, optional
        0 ≤ β < 1; the default is ½.
    eta : float, optional
        1 − β, instead of β.
    prior : sequence or dict, optional
        A positive weight for each expert; uniform by default.

    Examples
    --------
    >>> import mistakebound as mb
    >>> ledger = mb.experts.WeightedMajority().run([[1, 0, 0], [1, 0, 0], [1, 0, 0]], [1, 1, 1])
    >>> ledger.mistakes, ledger.expert_mistakes.tolist()
    (1, [0, 3, 3])
    """

    id: ClassVar[str] = "weighted-majority"
    engine: ClassVar[Any] = Majority
    """The class of the engine: the core's, or its specification in ``mistakebound.aggregation.majority``."""
    beta_range: ClassVar[Parameter] = SHARE
    play_class: ClassVar[type[VotePlay]] = VotePlay
    _play: VotePlay | None = None

    def __init__(
        self,
        beta: float | None = None,
        eta: float | None = None,
        prior: Sequence[float] | Mapping[str, float] | None = None,
    ) -> None:
        if beta is not None and eta is not None:
            message = f"beta and eta cannot both be set (eta = 1 - beta), got beta={beta!r} and eta={eta!r}"
            raise ValueError(message)
        self.eta, self.prior = eta, prior
        self.beta: float = 1 - eta if eta is not None else HALF if beta is None else beta
        self.beta_range.checked("beta", self.beta)
        if prior is not None and self.beta == 0:
            message = f"prior is only valid for beta > 0: with beta = 0 weights are not used, got prior={prior!r}"
            raise ValueError(message)
        self._lock = Lock()
        self._tickets = Tickets()
        self._chooser = self._new_chooser()
        self.play_class(self, self._chooser)  # raises ValueError for a prior that is not valid

    def _new_chooser(self) -> Chooser:
        """Return the chooser of predictions."""
        return Heaviest()

    # ------------------------------------------------------------------ parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002 - scikit-learn's signature
        """Return the constructor's parameters; beta is None if eta sets it."""
        found = parameters.get_params(self)
        if "beta" in found and self.eta is not None and self.beta == 1 - self.eta:
            found["beta"] = None
        return found

    def set_params(self, **params: Any) -> Self:
        """Change parameters. After the first round this has no effect on predictions."""
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
        changed = parameters.in_a_line(params)
        return f"<{type(self).__name__}({changed}): {count(rounds, 'round')}, {count(experts, 'expert')}>"

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        play = self._play_so_far()
        rows = {**parameters.changed_params(play.built_with), "mistakes": self.ledger_.mistakes}
        return html_table(type(self).__name__, rows | {"rounds": play.rounds, "experts": play.roster.n})

    # ------------------------------------------------------------------ one round

    @guarded
    def predict_one(self, advice: Any) -> Any:
        """Return the outcome with the most weight. New experts join only when the round is learned."""
        with self._playing() as play:
            return play.predict(advice)

    @guarded
    def weights_for(self, advice: Any) -> FloatArray:
        """Return the weights that these votes would have, summing to 1: 0 for sleeping experts; new ones come last."""
        with self._playing() as play:
            return play.weights_for(advice)

    @guarded
    def learn_one(self, advice: Any, outcome: Any) -> None:
        """Predict, then charge every expert that is wrong about the outcome.

        While all outcomes are 0 and 1, a vote such as 0.9 raises StreamError, because it is probably a probability.
        """
        with self._playing() as play:
            play.one(advice, outcome, bits=play.bits and is_bit(outcome))

    @guarded
    def ask(self, advice: Any) -> Asked:
        """Return a prediction whose outcome is not known yet; pass it to `tell`, once, with the outcome.

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
        with self._playing() as play:
            served = play.serve(advice)
        return self._tickets.add(Asked(served.prediction, served.number, served))

    @guarded
    def tell(self, asked: Asked, outcome: Any) -> None:
        """Learn from the outcome of a prediction made by `ask`; it counts as a mistake if that prediction was wrong.

        Raises TicketError if `asked` is not from this learner, or was passed before.

        Examples
        --------
        >>> import mistakebound as mb
        >>> voter = mb.experts.WeightedMajority()
        >>> voter.tell(voter.ask({"Ann": "sun", "Bob": "rain"}), "rain")
        >>> voter.predict_one({"Ann": "sun", "Bob": "rain"})
        'rain'
        """
        with self._playing() as play:
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
            Keep the weights of each round, rounds × experts. The rounds are then played one by one, which is slower.

        Returns
        -------
        ExpertLedger
            The ledger of these rounds; that of all rounds is `ledger_`. It has ``rounds``, ``predictions``,
            ``mistakes``, ``mistake_rounds`` and ``expected_mistakes``; for each expert ``names``, ``expert_mistakes``
            and the number of ``expert_rounds`` in which it was awake; the number of the ``best_expert``; and
            ``weights``, if they were kept.

        Examples
        --------
        >>> import mistakebound as mb
        >>> ledger = mb.experts.WeightedMajority().run([[1, 0], [1, 0]], [1, 1], keep_weights=True)
        >>> ledger.weights.round(3).tolist()
        [[0.5, 0.5], [0.667, 0.333]]
        """
        with self._playing() as play:
            return play.run(A, y, keep_weights=keep_weights)

    # ------------------------------------------------------------------ results

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
        """Names of the experts; their numbers, if they have no names."""
        with self._lock:
            return self._play_so_far().roster.all_names()

    @property
    def ledger_(self) -> ExpertLedger:
        """The ledger of all rounds so far."""
        with self._lock:
            return self._play_so_far().ledger(Totals())

    def certify(self) -> Certificate:
        """Return the number of mistakes and the bound of the rule's theorem."""
        from mistakebound.certificates.certify import certify  # noqa: PLC0415 - it needs scipy, which import must not

        return certify(self.ledger_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to a model file (usually ``.mb``), which ``mistakebound.load`` reads.

        The file holds the whole state: the loaded learner continues as this one would. An existing file is replaced as
        a whole or not at all. Outcomes other than bool, int, float and str raise ModelError.

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
        from mistakebound.experts.model import save  # noqa: PLC0415 - it imports the learners

        save(self, path)

    # ------------------------------------------------------------------ internals

    def _play_so_far(self) -> VotePlay:
        """Return the play; before the first round an empty one, which is not kept."""
        return self._play or self.play_class(self, self._chooser)

    @contextmanager
    def _playing(self) -> Iterator[VotePlay]:
        """Return the play; before the first round a new one with the present parameters, kept if experts join it."""
        play = self._play or self.play_class(parameters.rebuilt(self), self._chooser)
        try:
            yield play
        finally:
            if play.roster.n:
                self._play = play

    def __copy__(self) -> Self:
        """Return a deep copy, because both learners go on learning."""
        return deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles, consistent even if another thread learns."""
        with self._lock:
            return snapshot(self) | {"_play": copy(self._play)}


class Halving(WeightedMajority):
    """Predict with the majority of the experts without a mistake: at most ⌊lg n⌋ mistakes if one of n is never wrong.

    See docs/theory.md, "Halving".

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
    """Follow expert i with probability w_i/W; in every round, multiply the weight of each wrong expert by β.

    The expected number of mistakes ``Σ F_t`` is at most ``(m ln(1/β) + ln n)/(1−β)``. It is computed exactly in
    ``ledger_.expected_mistakes``. With probability 1−δ, the number of mistakes exceeds it by at most √(T ln(1/δ)/2).
    See docs/theory.md, "Randomized Weighted Majority".

    Parameters
    ----------
    beta : float, optional
        0 ≤ β < 1; the default is ½.
    seed : int, optional
        Seed of the random draws.
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
        """Return an outcome drawn by weight; repeated calls return the same draw until a round is learned."""
        with self._chooser.again(self._chooser.next_draw()):
            return super().predict_one(advice)
