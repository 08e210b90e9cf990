"""Let rules learn the same advice, and find the best choices in hindsight."""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound import experts
from mistakebound._support.text import many
from mistakebound.aggregation.registry import ADVISED, ALIASES, BY_ID, FOLLOWING, MIXING
from mistakebound.certificates.regret_certificate import certify_regret
from mistakebound.errors import OptionError, StreamError, setting
from mistakebound.experts.comparison.advice import CLASSES, LABELS
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
"""Most rounds for which a certificate is derived without ``certify``, because its replay takes longer than the run."""
EVERYTHING = 2**53
"""Bytes of advice that a learner keeps: a certificate needs all of it, and more may come."""
MOST_CELLS = 2_000_000
"""Most forecasts for which the best combination is searched."""
BOUNDED = ("holds", "vacuous", "violated")
"""Statuses of a certificate that has a bound."""


@dataclass
class RuleResult:
    """The result of one rule: its losses and predictions by round, and its certificate.

    Attributes
    ----------
    rule : str
        The id of the rule.
    learner : object
        The learner after the last round.
    losses : array
        Loss of each round; for labels, mistakes; for a randomized rule, expected mistakes.
    predictions : list
        Prediction of each round, including the last rounds without an outcome; None if every expert is asleep.
    mean, total : float
        Mean and sum of the losses.
    seconds, learning_seconds : float
        How long the rule took in this call, and how long of it to predict and learn; the rest is the certificate.
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
        Regret to each best choice in hindsight, by its kind. If experts slept, ``expert`` is the largest regret to one.
    expert_regrets : array
        Regret to each expert, over the rounds in which it was awake; −∞ if there are none.
    against : str
        The expert with the largest regret.
    """

    rule: str
    learner: Any
    losses: FloatArray
    predictions: list[Any]
    seconds: float
    learning_seconds: float
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
class RefusedRule:
    """A rule that could not be run, and the error."""

    rule: str
    error: ValueError


@dataclass(frozen=True)
class Hindsight:
    """The best choice in hindsight of one kind; or the reason why it is not known.

    Attributes
    ----------
    kind : str
        ``expert``, ``convex``, ``linear`` or ``switching``.
    name : str
        A description.
    oracle : Oracle or None
        The best choice, with its loss; None if it is not known.
    counted : array
        Whether each round counts for its loss.
    reason : str
        The reason why it is not known.
    """

    kind: str
    name: str
    oracle: Oracle | None
    counted: BoolArray
    reason: str = ""


def rules_for(advice: Advice, rules: Sequence[str], loss: Loss | None) -> list[str]:
    """Return the ids of the rules to run: all mix numbers, or all follow labels.

    Losses and mistakes cannot be compared, so rules of both kinds raise OptionError.
    """
    of_labels = advice.kind == LABELS or (loss is None and advice.only_zeros_and_ones)
    advised = advice.advised is not None
    rules = rules or [ADVISED[0] if advised else FOLLOWING[0] if of_labels else MIXING[0]]
    named = list(dict.fromkeys(ALIASES.get(rule, rule) for rule in rules if rule != "all"))
    unknown = next((rule for rule in named if rule not in BY_ID), None)
    if unknown is not None:
        message = f"there is no rule {unknown!r}; the rules are: {', '.join(BY_ID)}"
        raise OptionError(message, kind="unknown rule", value=unknown)
    if "all" in rules:
        follows = advised or any(rule in FOLLOWING for rule in named) or (of_labels and not named)
        followers = [rule for rule in FOLLOWING if advised or rule not in ADVISED]
        named = followers if follows else [*MIXING]
    follower = next((rule for rule in named if rule in ADVISED), None)
    if advised and follower is None:
        message = f" is only valid for {', '.join(ADVISED)}, not for {', '.join(named)}"
        raise OptionError(setting("advice"), message, kind="advice not followed")
    if follower and not advised:
        message = f"{follower} needs the column of the labels that it may follow: set "
        raise OptionError(message, setting("advice"), kind="no advice", value=follower)
    mixer, follower = (next((rule for rule in named if rule in kind), None) for kind in (MIXING, FOLLOWING))
    if mixer and follower:
        message = f"{mixer} has losses and {follower} counts mistakes, which cannot be compared: choose one of them"
        raise OptionError(message, kind="rules of two kinds")
    if advice.kind == LABELS and mixer:
        message = f"{mixer} mixes numbers, but column {advice.outcome!r} holds words: "
        remedy = (setting("rules", FOLLOWING[0]), " follows words")
        raise OptionError(message, *remedy, kind="labels, not numbers", value=mixer)
    if follower and loss is not None:
        message = f"{follower} counts mistakes, so it has no loss: do not set "
        remedy = (setting("loss"), f", or choose a rule that mixes numbers, such as {MIXING[0]}")
        raise OptionError(message, *remedy, kind="no loss of labels", value=follower)
    return named


def check_parameters(rules: list[str], parameters: dict[str, Any]) -> None:
    """Raise OptionError for a parameter that none of the rules has."""
    known = {name for rule in rules for name in parameters_of(rule)}
    for name, value in parameters.items():
        if value is not None and name not in known:
            message = f" is not a parameter of {' or '.join(rules)}"
            raise OptionError(setting(name), message, kind="unknown parameter", value=value)


def parameters_of(rule: str) -> set[str]:
    """Return the names of the parameters of a rule's learner."""
    return {*inspect.signature(getattr(experts, BY_ID[rule].learner)).parameters}


def check_rule(rule: str, advice: Advice, loss: Loss, parameters: dict[str, Any]) -> None:
    """Raise OptionError for a rule that cannot be run on this advice, with this loss or this rate."""
    entry, eta = BY_ID[rule], parameters.get("eta")
    if entry.only_loss and (loss.id != entry.only_loss or advice.kind == CLASSES):
        message = f"{rule} is only valid for the {entry.only_loss} loss of numbers; ml-poly takes any loss"
        raise OptionError(message, kind="another loss", value=rule)
    if isinstance(eta, str) and "eta" in entry.parameters and eta not in entry.parameters["eta"].words:
        with_one = [each.id for each in BY_ID.values() if "eta" in each.parameters and each.parameters["eta"].words]
        message = f"eta must be a number for {rule}, got {eta!r}; this rate is only valid for {', '.join(with_one)}"
        raise OptionError(message, kind="no such rate", value=eta)


def learner_for(rule: str, loss: Loss, parameters: dict[str, Any]) -> Any:
    """Return a new learner with those of the parameters that its class has; it keeps all of the advice."""
    known = parameters_of(rule)
    given = {name: value for name, value in parameters.items() if name in known and value is not None}
    if "loss" in known:
        given["loss"] = loss
    if "seed" in known:
        given.setdefault("seed", 0)  # the same call gives the same answer
    if "keep_bytes" in known or "more" in known:
        given["keep_bytes"] = EVERYTHING
    try:
        return getattr(experts, BY_ID[rule].learner)(**given)
    except ValueError as error:
        raise OptionError(str(error), kind="out of range") from None


def learn_rounds(rule: str, learner: Any, advice: Advice, begin: int, end: int) -> None:
    """Predict, then learn, the rounds from ``begin`` up to ``end``, which is excluded."""
    if begin == end:
        return
    rounds = slice(begin, end)
    try:
        learner.run(advice.table(begin, end), advice.outcomes[rounds], **advice.to_follow(rule, rounds))
    except ValueError as error:
        infinite = isinstance(error, StreamError) and error.kind == "loss" and abs(error.value) == np.inf
        remedy = (": ", setting("loss", "square"), " has no infinite losses") if infinite else ()
        if isinstance(error, StreamError) and error.round is not None:
            error = error.at_round(begin + error.round)
        raise advice.with_file_and_line(error, *remedy) from None


def result_of(rule: str, learner: Any, advice: Advice, learning: float, *, certify: bool) -> RuleResult:
    """Return the result of a learner that has learned all rounds, with predictions of the rounds without an outcome."""
    start = time.perf_counter()
    ledger = learner.ledger_
    losses, drawn = losses_of(ledger, advice), None
    if rule.startswith("randomized"):
        losses, drawn = expected_losses(advice, ledger.beta), int(ledger.mistakes)
    predictions = ledger.predictions.tolist()
    predictions += [prediction(rule, learner, advice, t) for t in range(advice.rounds, len(advice.forecasts))]
    if advice.kind == LABELS:
        predictions = [None if code is None else advice.labels[int(code)] for code in predictions]
    derived = certify or advice.rounds <= MOST_REPLAYED
    certificate: Certificate | RegretCertificate | None = None
    linear = None
    if advice.kind == LABELS:
        certificate = learner.certify()
    elif derived:  # from the ledger at hand: learner.certify() would make another one
        certificate = certify_regret(ledger)
        linear = certificate.regret if ledger.gradient else None
    elif ledger.gradient:
        linear = float(ledger.linear_regrets.max())
    weights = np.asarray(learner.weights_)
    seconds = learning + time.perf_counter() - start
    return RuleResult(rule, learner, losses, predictions, seconds, learning, weights, certificate, linear, drawn)


def prediction(rule: str, learner: Any, advice: Advice, t: int) -> Any:
    """Return the prediction of a round without an outcome; None if every expert is asleep."""
    if np.isnan(advice.forecasts[t]).all():
        return None
    return np.asarray(learner.predict_one(advice.row(t), **advice.to_follow(rule, t))).tolist()


def losses_of(ledger: Any, advice: Advice) -> FloatArray:
    """Return the loss of each round; for labels, 1 for a mistake."""
    if advice.kind != LABELS:
        return np.asarray(ledger.losses, np.float64)
    losses = np.zeros(advice.rounds)
    losses[ledger.mistake_rounds] = 1.0
    return losses


def expected_losses(advice: Advice, beta: float) -> FloatArray:
    """Return, for each round, the probability that a label drawn by weight among the awake experts is a mistake."""
    awake, wrong = advice.awake, advice.awake & (advice.past_forecasts != advice.outcomes[:, None])
    lost, expected = np.zeros(len(advice.names)), np.zeros(advice.rounds)
    for t, (now_awake, now_wrong) in enumerate(zip(awake, wrong, strict=True)):
        smallest = lost[now_awake].min()
        weights = np.where(now_awake, np.power(beta, np.where(now_awake, lost - smallest, 0.0)), 0.0)
        expected[t] = weights[now_wrong].sum() / weights.sum()
        lost += np.where(now_awake, now_wrong, expected[t])  # a sleeping expert is charged the learner's loss
    return expected


def plain_losses(advice: Advice, loss: Loss) -> FloatArray:
    """Return the losses of the mean forecast of the awake experts; for labels, of their majority.

    If several labels have equally many votes, the last one is chosen, as the rules do.
    """
    A, y = advice.past_forecasts, advice.outcomes
    if advice.kind == LABELS:
        votes = np.stack([np.sum(code == A, axis=1) for code in range(len(advice.labels))], axis=1)
        most = len(advice.labels) - 1 - np.argmax(votes[:, ::-1], axis=1)
        return np.asarray(most != y, np.float64)
    mean = np.nanmean(A, axis=1)
    return np.asarray(loss.vector_value(mean, y) if A.ndim == 3 else loss.value(mean, y))


def best_in_hindsight(
    advice: Advice, checked: CheckedForecasts, switches: int, learner_losses: FloatArray
) -> list[Hindsight]:
    """Return the best expert (first), combinations, and sequence.

    If experts slept, the best expert is the one to whom the learner has the largest regret.
    """
    awake, losses = advice.awake, checked.losses
    leader = int(np.argmax(regrets_to_each(awake, losses, learner_losses)))
    total, rounds = float(losses[awake[:, leader], leader].sum()), int(awake[:, leader].sum())
    alone = (np.arange(len(advice.names)) == leader).astype(float)
    best = Oracle(f"best expert ({leader})", total, total / rounds, rounds, alone)
    found = [Hindsight("expert", f"best expert: {advice.names[leader]}", best, awake[:, leader])]
    every_round, all_awake = np.ones(advice.rounds, bool), np.asarray(awake.all(axis=1))
    if advice.kind != LABELS:
        few = advice.past_forecasts.size <= MOST_CELLS
        found += [
            searched("convex", "best convex combination", every_round, lambda: best_convex(checked), few=few),
            searched("linear", "best linear combination", all_awake, lambda: best_linear(checked), few=few),
        ]
    if switches:
        times = many(switches, "switch", "es")
        name = f"best sequence of experts with at most {times}"
        found.append(searched("switching", name, every_round, lambda: best_switching(losses, switches), few=True))
    return found


def regrets_to_each(awake: BoolArray, losses: FloatArray, learner_losses: FloatArray) -> FloatArray:
    """Return the learner's losses minus each expert's, over the rounds in which that expert was awake; −∞ if none.

    Experts that were awake in different rounds cannot be ranked by mean loss: an expert that sleeps in difficult rounds
    has a small mean. The expert with the largest regret is the hardest to beat. If none sleeps, it is the best one.
    """
    totals = np.where(awake, learner_losses[:, None] - losses, 0.0).sum(axis=0)
    return np.where(awake.any(axis=0), totals, -np.inf)


def searched(kind: str, name: str, counted: BoolArray, search: Callable[[], Oracle], *, few: bool) -> Hindsight:
    """Return the result of a search, or the reason why there is none; ``few`` is whether a search is affordable."""
    if not few:
        return Hindsight(kind, name, None, counted, "there are too many forecasts to search")
    try:
        oracle = search()
    except ValueError as error:
        return Hindsight(kind, name, None, counted, str(error))
    if oracle.total == np.inf:
        return Hindsight(kind, name, None, counted, "no sequence has an awake expert in every round")
    return Hindsight(kind, oracle.name, oracle, counted)
