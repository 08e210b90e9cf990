"""Base class of the learners that mix forecasts: one round, many rounds, or late outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mistakebound._support.locks import Lock, guarded, snapshot
from mistakebound._support.text import html_table
from mistakebound.aggregation.reference import Engine, Mixture
from mistakebound.aggregation.registry import declared, known_parameters
from mistakebound.experts.advice import Roster, first_rounds, one_hot
from mistakebound.experts.mixture_play import MixturePlay
from mistakebound.learners import parameters
from mistakebound.losses import loss_named
from mistakebound.play.expert_ledger import count
from mistakebound.play.tickets import Asked, Tickets

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from typing_extensions import Self

    from mistakebound._support.arrays import FloatArray
    from mistakebound.aggregation.base import Rule
    from mistakebound.certificates.regret_certificate import RegretCertificate
    from mistakebound.losses import LossLike
    from mistakebound.play.expert_ledger import AggregationLedger

KEEP_BYTES = 16 * 2**20


class Aggregation:
    """Base class of the learners that mix the forecasts of experts, with a bound on the regret to the best of them.

    Use one of its subclasses, such as `MLPoly`.

    Losses must be at most 1e150 in absolute value, and the largest of a round must be 0 or at least 1e-135; other
    rounds raise StreamError, because their squares do not fit into float64. With a fixed rate, the log loss or the
    percentage loss, there is no lower limit: smaller losses count as 0.

    Changing a parameter after the first round has no effect on predictions, the ledger or the certificate.

    Parameters
    ----------
    loss : str, Loss or pair of functions
        ``square``, ``absolute``, ``percentage``, ``pinball:TAU``, ``log``, or a function with its gradient.
    gradient : bool, optional
        Learn from losses linearised at the forecast: the learner then competes with the best *convex combination* of
        the experts instead of the best expert. The default is True for convex losses.
    prior : sequence or dict, optional
        A positive weight for each expert; uniform by default.
    keep_bytes : int
        Memory for advice and outcomes, from which a certificate is derived.
    """

    id: ClassVar[str]
    _play: MixturePlay | None = None
    _tickets: Tickets | None = None  # created by the first `ask`

    def __init__(
        self,
        loss: LossLike = "square",
        gradient: bool | None = None,  # noqa: FBT001 - scikit-learn passes parameters by position
        prior: Sequence[float] | Mapping[str, float] | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        if type(self) is Aggregation:
            message = "Aggregation is only a base class: use a rule that mixes forecasts, such as MLPoly()"
            raise TypeError(message)
        self.loss, self.gradient, self.prior, self.keep_bytes = loss, gradient, prior, keep_bytes
        self._lock = Lock()
        self._check()
        Roster(prior)  # raises ValueError for a prior that is not valid

    def _check(self) -> None:
        """Raise ValueError for a parameter that is out of range: when it is passed, and before the first round."""
        for name, parameter in known_parameters(type(self)).items():
            setattr(self, name, parameter.checked(name, getattr(self, name)))
        self._loss = loss_named(self.loss)

    # ------------------------------------------------------------------ the rule

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the rule, for a ledger."""
        return {}

    def _rule(self, prior: FloatArray) -> Rule:
        """Return the rule on regrets for these parameters."""
        passed, gradient = self.parameters(), self.uses_gradient
        variant = declared(type(self)).variant(passed, gradient=gradient)
        return variant.rule(prior, *(passed[name] for name in variant.needs))

    def _make(self, prior: FloatArray) -> Engine:
        """Return a new engine of the rule, by its specification."""
        return Engine(Mixture(self._rule(prior), self._loss, gradient=self.uses_gradient), self._loss, prior)

    @property
    def uses_gradient(self) -> bool:
        """Whether the rule learns from linearised losses."""
        return self._loss.convex if self.gradient is None else self.gradient

    # ------------------------------------------------------------------ parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002 - scikit-learn's signature
        """Return the constructor's parameters."""
        return parameters.get_params(self)

    def set_params(self, **params: Any) -> Self:
        """Change parameters. After the first round this has no effect on predictions."""
        return parameters.set_params(self, params)

    def __repr__(self) -> str:
        play = self._play
        changed = parameters.in_a_line(parameters.changed_params(self if play is None else play.built_with))
        rounds, experts = (0, 0) if play is None else (play.rounds, play.roster.n)
        return f"<{type(self).__name__}({changed}): {count(rounds, 'round')}, {count(experts, 'expert')}>"

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        play = self._play_so_far()
        ledger = self.ledger_
        rows = {**parameters.changed_params(play.built_with), "loss so far": f"{ledger.total_loss:.6g}"}
        return html_table(type(self).__name__, rows | {"rounds": play.rounds, "experts": play.roster.n})

    # ------------------------------------------------------------------ one round

    @guarded
    def predict_one(self, advice: Any) -> Any:
        """Return the mix of the experts' forecasts: a sequence, an array or a dict of them.

        NaN, None and absent names are experts that are asleep.
        """
        with self._playing(learns=False) as play, play.without_newcomers():
            return play.serve(advice).prediction

    @guarded
    def weights_for(self, advice: Any) -> FloatArray:
        """Return the weights with which this advice would be mixed: 0 for sleeping experts; new experts come last."""
        with self._playing(learns=False) as play, play.without_newcomers():
            return play.serve(advice).served.p.copy()

    @guarded
    def ask(self, advice: Any) -> Asked:
        """Return a forecast whose outcome is not known yet; pass it to `tell`, once, with the outcome.

        Examples
        --------
        >>> import mistakebound as mb
        >>> mixer = mb.experts.MLPoly()
        >>> monday, tuesday = mixer.ask({"Ann": 20.0, "Bob": 25.0}), mixer.ask({"Ann": 21.0, "Bob": 26.0})
        >>> mixer.tell(tuesday, 21.0), mixer.tell(monday, 20.0)
        (None, None)
        >>> tuesday.prediction, mixer.predict_one({"Ann": 18.0, "Bob": 22.0})
        (23.5, 18.0)
        """
        with self._playing(learns=False) as play:
            served = play.serve(advice)
        if self._tickets is None:
            self._tickets = Tickets()
        return self._tickets.add(Asked(served.prediction, served.number, served))

    @guarded
    def tell(self, asked: Asked, outcome: Any, *, classes: Sequence[Any] | None = None) -> None:
        """Learn from the outcome of a forecast made by `ask`; experts that joined after it slept in that round.

        With ``classes``, the outcome is one of these labels, as in `run`. Raises TicketError if `asked` is not from
        this learner, or was passed before.

        Examples
        --------
        >>> import mistakebound as mb
        >>> mixer = mb.experts.MLPoly()
        >>> mixer.tell(mixer.ask({"Ann": 20.0, "Bob": 25.0}), 21.0)
        >>> mixer.ledger_.rounds
        1
        """
        play = self._play_so_far()
        tickets = self._tickets or Tickets()
        tickets.check(asked, type(self).__name__, play.rounds)
        play.learn(asked.held, outcome if classes is None else _class_outcome(outcome, classes))
        tickets.close(asked)

    @guarded
    def learn_one(self, advice: Any, outcome: Any, *, classes: Sequence[Any] | None = None) -> None:
        """Mix the forecasts of a round, then learn from its outcome; with ``classes``, one of these labels."""
        with self._playing() as play:
            play.one(advice, outcome if classes is None else _class_outcome(outcome, classes))

    @guarded
    def run(
        self, A: Any, y: Any, *, keep_weights: bool = False, classes: Sequence[Any] | None = None
    ) -> AggregationLedger:
        """Predict, then learn, over a whole stream.

        Parameters
        ----------
        A : array, DataFrame, dict of columns, or sequence of rounds
            Rounds × experts (× classes), NaN asleep; or rounds as `learn_one` takes them.
        y : sequence
            An outcome for each round.
        keep_weights : bool
            Keep the weights of each round, rounds × experts. The rounds are then played one by one, which is slower.
        classes : sequence, optional
            The labels in the order of the last axis of A, if experts give a probability for each of them. Each outcome
            in y is then one of these labels.

        Returns
        -------
        AggregationLedger
            For these rounds: ``predictions``, ``losses``, ``total_loss``, ``mean_loss`` and, if kept, ``weights``. For
            each expert, since the learner's first round: ``names``; ``expert_losses`` and the learner's ``regrets``,
            both over the ``expert_rounds`` in which the expert was awake; ``linear_regrets``, from which the rule
            learned; and the ``best_expert``, by mean loss.

        Examples
        --------
        >>> import mistakebound as mb
        >>> ledger = mb.experts.MLPoly().run([[20.0, 25.0], [21.0, 26.0]], [21.0, 22.0], keep_weights=True)
        >>> ledger.weights.tolist(), ledger.predictions.tolist()
        ([[0.5, 0.5], [1.0, 0.0]], [22.5, 21.0])
        >>> rounds = [[[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], [[0.4, 0.3, 0.3], [0.1, 0.2, 0.7]]]
        >>> ledger = mb.experts.MLPoly().run(rounds, ["H", "A"], classes=["H", "D", "A"])
        >>> ledger.predictions.round(2).tolist(), ledger.mistakes
        ([[0.35, 0.25, 0.4], [0.4, 0.3, 0.3]], 2)
        """
        if classes is None:
            with self._playing() as play:
                return play.run(A, y, keep_weights=keep_weights)
        labels = list(y)
        outcomes, fault = one_hot(labels, classes)
        rows = A if fault is None else first_rounds(A, len(outcomes))
        if fault is None and hasattr(rows, "__len__") and not isinstance(rows, Mapping) and len(rows) != len(labels):
            message = f"there are {len(rows)} rounds of advice but {len(labels)} outcomes"
            raise ValueError(message)
        with self._playing() as play:
            ledger = play.run(rows, outcomes, keep_weights=keep_weights)
        if fault is not None:
            raise fault.at_round(fault.round, ledger)  # type: ignore[arg-type]
        return ledger

    @guarded
    def learn_losses(self, losses: Any) -> None:
        """Learn from the experts' losses of a round, without forecasts; the learner's loss is their weighted mean."""
        with self._playing(losses_alone=True) as play:
            play.one(losses, 0.0)

    @guarded
    def run_losses(self, L: Any) -> FloatArray:
        """Learn from losses, rounds × experts (NaN asleep); return the learner's loss of each round."""
        L = L if hasattr(L, "__len__") else list(L)
        rounds = len(next(iter(L.values()), ())) if isinstance(L, Mapping) else len(L)
        with self._playing(losses_alone=True) as play:
            return play.run(L, np.zeros(rounds)).losses

    # ------------------------------------------------------------------ results

    @property
    def weights_(self) -> FloatArray:
        """Weights of the experts if all are awake."""
        with self._lock:
            engine = self._play_so_far().engine
            return np.zeros(0) if engine is None else engine.weights()

    @property
    def names_(self) -> list[str]:
        """Names of the experts; their numbers, if they have no names."""
        with self._lock:
            return self._play_so_far().roster.all_names()

    @property
    def ledger_(self) -> AggregationLedger:
        """The ledger of all rounds so far."""
        with self._lock:
            return self._play_so_far().ledger()

    def certify(self) -> RegretCertificate:
        """Return the regret and the bound of the rule's theorem, recomputed from the advice and the outcomes."""
        from mistakebound.certificates.regret_certificate import certify_regret  # noqa: PLC0415 - rarely needed

        return certify_regret(self.ledger_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to a model file (usually ``.mb``), which ``mistakebound.load`` reads.

        The file holds the whole state: the loaded learner continues as this one would. An existing file is replaced as
        a whole or not at all. A loss that is a pair of functions raises ModelError.

        Examples
        --------
        >>> import tempfile, pathlib, mistakebound as mb
        >>> mixer = mb.experts.MLPoly()
        >>> mixer.learn_one({"Ann": 20.0, "Bob": 25.0}, 21.0)
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "m.mb"
        >>> mixer.save(path)
        >>> mb.load(path).predict_one({"Ann": 18.0, "Bob": 22.0})
        18.0
        """
        from mistakebound.experts.model import save  # noqa: PLC0415 - it imports the learners

        save(self, path)

    # ------------------------------------------------------------------ internals

    @contextmanager
    def _playing(self, *, learns: bool = True, losses_alone: bool = False) -> Iterator[MixturePlay]:
        """Return the play; before the first round a new one, which is kept if an engine is created in the context."""
        play = self._play or self._new_play(losses_alone=losses_alone)
        given = play.loss.id == "given"
        if losses_alone and not given:
            message = f"this learner has learned from forecasts with the {play.loss.name}, so it cannot learn losses"
            raise ValueError(message)
        if given and learns and not losses_alone and loss_named(self.loss).id != "given":
            message = "this learner has learned from losses, so it cannot learn from forecasts"
            raise ValueError(message)
        try:
            yield play
        finally:
            if play.engine is not None:
                self._play = play

    def _new_play(self, *, losses_alone: bool = False) -> MixturePlay:
        """Return a new play with the present parameters."""
        built_with = type(self).__new__(type(self))
        vars(built_with).update(self.__getstate__())  # not `copy`: it would copy the parameters, too
        built_with._check()  # noqa: SLF001 - it is a copy of this one
        self._loss = built_with._loss  # noqa: SLF001
        if losses_alone:
            built_with._loss = loss_named("given")  # noqa: SLF001
        return MixturePlay(built_with)

    def _play_so_far(self) -> MixturePlay:
        """Return the play; before the first round an empty one, which is not kept."""
        return self._play or MixturePlay(self)

    def __copy__(self) -> Self:
        """Return a deep copy, because both learners go on learning."""
        return deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles, consistent even if another thread learns."""
        with self._lock:
            return snapshot(self) | {"_play": copy(self._play)}


def _class_outcome(outcome: Any, classes: Sequence[Any]) -> FloatArray:
    """Return an outcome as a number for each class; raise StreamError if it is not one of them."""
    found, fault = one_hot([outcome], classes)
    if fault is not None:
        raise fault.at_round(None)
    return np.asarray(found[0])
