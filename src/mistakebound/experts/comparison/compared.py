"""Run each rule on the same advice, and find what would have been best in hindsight."""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound import experts
from mistakebound.aggregation.registry import ALIASES, BY_ID, FOLLOWING, MIXING
from mistakebound.certificates.regret_certificate import certify_regret
from mistakebound.errors import OptionError, StreamError, setting
from mistakebound.experts.comparison import advice as kinds
from mistakebound.hindsight.oracles import Oracle, best_convex, best_linear, best_switching

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mistakebound._support.arrays import BoolArray, FloatArray
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.certificates.regret_certificate import RegretCertificate
    from mistakebound.experts.comparison.advice import Advice
    from mistakebound.hindsight.oracles import CheckedForecasts
    from mistakebound.losses import Loss

MOST_REPLAYED = 20_000
"""Without ``certify``, longer streams get no certificate: its replay takes longer than the run."""
MOST_CELLS = 2_000_000
"""Numbers for which a programme is solved to find the best combination."""
BOUNDED = ("holds", "vacuous", "violated")
"""Statuses of a certificate that has a bound."""


@dataclass
class Mix:
    """The result of one rule: its losses and predictions by round, and its certificate.

    Attributes
    ----------
    rule : str
        Its id.
    learner : object
        The learner after the last round.
    losses : array
        Loss of each round; for labels, mistakes; for a randomized rule, expected mistakes.
    predictions : list
        Prediction of each round, also of the last rounds without an outcome; None where every expert is asleep.
    mean, total : float
        Mean and sum of the losses.
    seconds : float
        Time of the run.
    weights : array
        Final weight of each expert.
    certificate : Certificate, RegretCertificate or None
        None if it was not derived.
    bound : float or None
        The bound of the theorem, if one applies.
    status : str
        Status of the certificate.
    linear_regret : float or None
        The largest regret on linearised losses, for a rule that learns from gradients: its bound is on this regret.
    drawn : int or None
        Mistakes of the predictions that a randomized rule drew.
    regrets : dict
        Regret to each best choice in hindsight, by its kind; for ``expert``, the largest if some slept.
    expert_regrets : array
        Regret to each expert, over the rounds in which it was awake; −∞ if there are none.
    against : str
        The expert to whom the regret is the largest.
    """

    rule: str
    learner: Any
    losses: FloatArray
    predictions: list[Any]
    seconds: float
    weights: FloatArray
    certificate: Certificate | RegretCertificate | None
    linear_regret: float | None = None
    drawn: int | None = None
    mean: float = 0.0
    total: float = 0.0
    bound: float | None = None
    status: str = "not derived"
    regrets: dict[str, float | None] = field(default_factory=dict)
    expert_regrets: FloatArray = field(default_factory=lambda: np.zeros(0))
    against: str = ""

    def __post_init__(self) -> None:
        self.mean, self.total = float(self.losses.mean()), float(self.losses.sum())
        certificate = self.certificate
        if certificate is not None:
            self.status = certificate.status
            self.bound = certificate.bound if certificate.status in BOUNDED else None


@dataclass(frozen=True)
class Refused:
    """A rule that was not played, and why."""

    rule: str
    error: ValueError


@dataclass(frozen=True)
class Hindsight:
    """What would have been best, and over which rounds; or why that is not known.

    Attributes
    ----------
    kind : str
        ``expert``, ``convex``, ``linear`` or ``switching``.
    name : str
        In words.
    oracle : Oracle or None
        None if it is not known.
    counted : array
        The rounds that it is of.
    reason : str
        Why it is not known.
    """

    kind: str
    name: str
    oracle: Oracle | None
    counted: BoolArray
    reason: str = ""


def rules_for(advice: Advice, rules: Sequence[str], loss: Loss | None) -> list[str]:
    """The ids of the rules to run. All mix numbers or all follow labels: losses and mistakes cannot be compared."""
    of_labels = advice.kind == kinds.LABELS or (loss is None and advice.only_zeros_and_ones)
    rules = rules or [FOLLOWING[0] if of_labels else MIXING[0]]
    named = list(dict.fromkeys(ALIASES.get(rule, rule) for rule in rules if rule != "all"))
    unknown = next((rule for rule in named if rule not in BY_ID), None)
    if unknown is not None:
        message = f"there is no rule {unknown!r}; there are {', '.join(BY_ID)}"
        raise OptionError(message, kind="unknown rule", value=unknown)
    if "all" in rules:
        follows = any(rule in FOLLOWING for rule in named) or (of_labels and not named)
        named = [*(FOLLOWING if follows else MIXING)]
    mixer, follower = (next((rule for rule in named if rule in kind), None) for kind in (MIXING, FOLLOWING))
    if mixer and follower:
        message = f"{mixer} has losses and {follower} counts mistakes, which cannot be compared: ask for one of them"
        raise OptionError(message, kind="rules of two kinds")
    if advice.kind == kinds.LABELS and mixer:
        told = f"{mixer} mixes numbers, and {advice.outcome!r} holds words: "
        remedy = (setting("rules", FOLLOWING[0]), " follows them")
        raise OptionError(told, *remedy, kind="labels, not numbers", value=mixer)
    if follower and loss is not None:
        told = f"{follower} counts mistakes: leave out "
        remedy = (setting("loss"), f", or choose a rule that mixes numbers, such as {MIXING[0]}")
        raise OptionError(told, *remedy, kind="no loss of labels", value=follower)
    return named


def refuse_parameters(rules: list[str], parameters: dict[str, Any]) -> None:
    """Refuse a parameter that none of the rules takes."""
    takes = {name for rule in rules for name in taken_by(rule)}
    for name, value in parameters.items():
        if value is not None and name not in takes:
            told = f" is not a parameter of {' or '.join(rules)}"
            raise OptionError(setting(name), told, kind="unknown parameter", value=value)


def taken_by(rule: str) -> set[str]:
    """The parameters of a rule's learner."""
    return {*inspect.signature(getattr(experts, BY_ID[rule].learner)).parameters}


def refuse_misfits(rule: str, advice: Advice, loss: Loss, parameters: dict[str, Any]) -> None:
    """Refuse a rule that cannot take this advice or this loss."""
    entry, eta = BY_ID[rule], parameters.get("eta")
    if entry.only_loss and (loss.id != entry.only_loss or advice.kind == kinds.CLASSES):
        message = f"{rule} is for the {entry.only_loss} loss of numbers; another rule, such as ml-poly, takes any"
        raise OptionError(message, kind="another loss", value=rule)
    if isinstance(eta, str) and "eta" in entry.parameters and eta not in entry.parameters["eta"].words:
        with_one = [each.id for each in BY_ID.values() if "eta" in each.parameters and each.parameters["eta"].words]
        message = f"{rule} has no rate {eta!r}: give a number; {', '.join(with_one)} has one"
        raise OptionError(message, kind="no such rate", value=eta)


def learner_for(rule: str, advice: Advice, loss: Loss, parameters: dict[str, Any]) -> Any:
    """A fresh learner with the parameters that its class has, and with memory for all of the advice."""
    takes = taken_by(rule)
    given = {name: value for name, value in parameters.items() if name in takes and value is not None}
    if "loss" in takes:
        given["loss"] = loss
    if "seed" in takes:
        given.setdefault("seed", 0)  # the same call gives the same answer
    if "keep_bytes" in takes or "more" in takes:
        given["keep_bytes"] = advice.known.nbytes + advice.outcomes.nbytes
    try:
        return getattr(experts, BY_ID[rule].learner)(**given)
    except ValueError as error:
        raise OptionError(str(error), kind="out of range") from None


def mix_of(rule: str, learner: Any, advice: Advice, *, certify: bool) -> Mix:
    """Predict, then learn, all rounds; then predict those whose outcome is to come."""
    start = time.perf_counter()
    try:
        ledger = learner.run(advice.table(0, advice.rounds), advice.outcomes)
    except ValueError as error:
        infinite = isinstance(error, StreamError) and error.kind == "loss" and abs(error.value) == np.inf
        remedy = (": ", setting("loss", "square"), " has no infinite losses") if infinite else ()
        raise advice.placed(error, *remedy) from None
    seconds = time.perf_counter() - start
    losses, drawn = losses_of(ledger, advice), None
    if rule.startswith("randomized"):
        losses, drawn = expected_losses(advice, ledger.beta), int(ledger.mistakes)
    predictions = ledger.predictions.tolist()
    predictions += [predicted(learner, advice, t) for t in range(advice.rounds, len(advice.said))]
    if advice.kind == kinds.LABELS:
        predictions = [None if code is None else advice.labels[int(code)] for code in predictions]
    derived = certify or advice.rounds <= MOST_REPLAYED
    certificate: Certificate | RegretCertificate | None = None
    linear = None
    if advice.kind == kinds.LABELS:
        certificate = learner.certify()
    elif derived:  # by the ledger of all rounds: the learner's own would be made anew
        certificate = certify_regret(ledger)
        linear = certificate.regret if ledger.gradient else None
    elif ledger.gradient:
        linear = float(ledger.linear_regrets.max())
    weights = np.asarray(learner.weights_)
    return Mix(rule, learner, losses, predictions, seconds, weights, certificate, linear, drawn)


def predicted(learner: Any, advice: Advice, t: int) -> Any:
    """For a round whose outcome is to come; None if every expert is asleep."""
    return None if np.isnan(advice.said[t]).all() else np.asarray(learner.predict_one(advice.row(t))).tolist()


def losses_of(ledger: Any, advice: Advice) -> FloatArray:
    """Losses by round; of labels, mistakes."""
    if advice.kind != kinds.LABELS:
        return np.asarray(ledger.losses, np.float64)
    losses = np.zeros(advice.rounds)
    losses[ledger.mistake_rounds] = 1.0
    return losses


def expected_losses(advice: Advice, beta: float) -> FloatArray:
    """The share of the awake weight that is wrong, by round: the probability that a draw by weight is a mistake."""
    awake, wrong = advice.awake, advice.awake & (advice.known != advice.outcomes[:, None])
    lost, expected = np.zeros(len(advice.names)), np.zeros(advice.rounds)
    for t, (up, errs) in enumerate(zip(awake, wrong, strict=True)):
        weights = np.where(up, np.power(beta, np.where(up, lost - lost[up].min(), 0.0)), 0.0)
        expected[t] = weights[errs].sum() / weights.sum()
        lost += np.where(up, errs, expected[t])  # a sleeping expert is charged the learner's loss
    return expected


def plain_losses(advice: Advice, loss: Loss) -> FloatArray:
    """Losses of the mean of those awake; of labels, of what most of them say (of equals the last, as the rules do)."""
    A, y = advice.known, advice.outcomes
    if advice.kind == kinds.LABELS:
        votes = np.stack([np.sum(code == A, axis=1) for code in range(len(advice.labels))], axis=1)
        most = len(advice.labels) - 1 - np.argmax(votes[:, ::-1], axis=1)
        return np.asarray(most != y, np.float64)
    mean = np.nanmean(A, axis=1)
    return np.asarray(loss.vector_value(mean, y) if A.ndim == 3 else loss.value(mean, y))


def in_hindsight(
    advice: Advice, checked: CheckedForecasts, switches: int, learner_losses: FloatArray
) -> list[Hindsight]:
    """The best expert (first), combinations, and sequence; the learner is the one that regrets are of."""
    awake, losses = advice.awake, checked.losses
    leader = int(np.argmax(regrets_to_each(awake, losses, learner_losses)))
    total, rounds = float(losses[awake[:, leader], leader].sum()), int(awake[:, leader].sum())
    alone = (np.arange(len(advice.names)) == leader).astype(float)
    best = Oracle(f"best expert ({leader})", total, total / rounds, rounds, alone)
    found = [Hindsight("expert", f"best expert: {advice.names[leader]}", best, awake[:, leader])]
    everywhere, all_awake = np.ones(advice.rounds, bool), np.asarray(awake.all(axis=1))
    if advice.kind != kinds.LABELS:
        few = advice.known.size <= MOST_CELLS
        found += [
            tried("convex", "best convex combination", everywhere, lambda: best_convex(checked), few=few),
            tried("linear", "best linear combination", all_awake, lambda: best_linear(checked), few=few),
        ]
    if switches:
        times = "1 switch" if switches == 1 else f"{switches} switches"
        name = f"best sequence of experts with at most {times}"
        found.append(tried("switching", name, everywhere, lambda: best_switching(losses, switches), few=True))
    return found


def regrets_to_each(awake: BoolArray, losses: FloatArray, learner_losses: FloatArray) -> FloatArray:
    """The learner's losses less each expert's, over the rounds in which that expert was awake; −∞ if there are none.

    Experts who were awake in different rounds cannot be ranked by their means: who sleeps through hard rounds looks
    good. The one to whom the regret is the largest is the hardest to beat; where nobody sleeps, that is the best one.
    """
    totals = np.where(awake, learner_losses[:, None] - losses, 0.0).sum(axis=0)
    return np.where(awake.any(axis=0), totals, -np.inf)


def tried(kind: str, name: str, counted: BoolArray, search: Callable[[], Oracle], *, few: bool) -> Hindsight:
    """What a search finds, or why it does not."""
    if not few:
        return Hindsight(kind, name, None, counted, "too many numbers to search among")
    try:
        oracle = search()
    except ValueError as error:
        return Hindsight(kind, name, None, counted, str(error).removeprefix(name).removeprefix(", "))
    if oracle.total == np.inf:
        return Hindsight(kind, name, None, counted, "no sequence is awake in every round")
    return Hindsight(kind, name + oracle.name.partition(",")[1] + oracle.name.partition(",")[2], oracle, counted)
