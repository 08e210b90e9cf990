"""Rules at work on advice: each on the same rounds, ranked, beside what would have been best in hindsight."""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import mistakebound as mb
from mistakebound.cli.advice import LABELS
from mistakebound.cli.choosing import FOLLOWING, kind_of, refuse_misfits, refuse_parameters
from mistakebound.cli.hindsight import in_hindsight
from mistakebound.cli.standings import Standings
from mistakebound.hindsight.oracles import expert_losses
from mistakebound.losses import ZeroOne, loss_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.certificates.certificate import Certificate
    from mistakebound.certificates.regret_certificate import RegretCertificate
    from mistakebound.cli.advice import Advice
    from mistakebound.losses import Loss

MOST_REPLAYED = 20_000
"""Rounds that are replayed for a certificate without being asked: a replay takes longer than the run."""
MOST_DRAWN = 500
"""Rounds whose weights are drawn."""
BOUNDED = ("holds", "vacuous", "violated")
"""What a certificate says if there is a bound."""


def compared(
    advice: Advice,
    rules: list[str],
    parameters: dict[str, Any],
    switches: int,
    *,
    certify: bool,
    next_step: Callable[[str], None] = lambda _: None,
) -> Standings:
    """Every rule on the same advice, and what would have been best; ``next_step`` hears what is worked on."""
    loss: Loss = ZeroOne() if rules[0] in FOLLOWING else loss_named(parameters["loss"] or "square")
    advice.check(loss)
    refuse_parameters(rules, parameters)
    tried = []
    for rule in rules:
        next_step(rule)
        tried.append(attempt(rule, advice, loss, parameters, certify=certify))
    next_step("the best in hindsight")
    played = sorted((each for each in tried if not each.reason), key=lambda each: each.mean)
    if not played:
        raise tried[0].error or ValueError(tried[0].reason)
    losses = expert_losses(advice.known, advice.outcomes, loss)
    hindsight = in_hindsight(advice, loss, switches, losses, played[0].losses)
    refused = [each for each in tried if each.reason]
    return Standings(advice, loss, losses, played, refused, hindsight, plain_losses(advice, loss))


def attempt(rule: str, advice: Advice, loss: Loss, parameters: dict[str, Any], *, certify: bool) -> Played:
    """What a rule makes of the advice, or why it cannot."""
    try:
        refuse_misfits(rule, advice, loss, parameters)
        return play(rule, made(rule, advice, parameters), advice, certify=certify)
    except (click.UsageError, ValueError) as error:
        words = error.message if isinstance(error, click.UsageError) else str(error)
        return Played(rule, None, reason=words, error=error)


def made(rule: str, advice: Advice, parameters: dict[str, Any]) -> Any:
    """A fresh learner with those of the parameters that it takes; it may keep all of the advice."""
    kind = kind_of(rule)
    takes = inspect.signature(kind).parameters
    given = {name: value for name, value in parameters.items() if name in takes and value is not None}
    if "seed" in takes:
        given.setdefault("seed", 0)  # the same command gives the same answer
    if "keep_bytes" in takes or "more" in takes:
        given["keep_bytes"] = advice.known.nbytes + advice.outcomes.nbytes
    try:
        return kind(**given)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def plain_losses(advice: Advice, loss: Loss) -> FloatArray:
    """Losses of the mean of those awake; of labels, of what most of them say (of equals the last, as the rules do)."""
    A, y = advice.known, advice.outcomes
    if advice.kind == LABELS:
        votes = np.stack([np.sum(code == A, axis=1) for code in range(len(advice.labels))], axis=1)
        most = len(advice.labels) - 1 - np.argmax(votes[:, ::-1], axis=1)
        return np.asarray(most != y, np.float64)
    mean = np.nanmean(A, axis=1)
    return np.asarray(loss.vector_value(mean, y) if A.ndim == 3 else loss.value(mean, y))


@dataclass
class Played:
    """What a rule made of the advice: its losses by round, and what a theorem allows; or why it could not."""

    rule: str
    learner: Any
    losses: FloatArray = field(default_factory=lambda: np.zeros(0))
    predictions: list[Any] = field(default_factory=list)
    seconds: float = 0.0
    certificate: Certificate | RegretCertificate | None = None
    reason: str = ""
    error: Exception | None = None

    @property
    def drawn(self) -> int | None:
        """Mistakes in what a randomized rule drew; its losses are what was to be expected of any draw."""
        return int(self.learner.ledger_.mistakes) if self.rule.startswith("randomized") else None

    @property
    def mean(self) -> float:
        """Loss a round."""
        return float(self.losses.mean())

    @property
    def bound(self) -> float | None:
        """What a theorem allows, if one applies."""
        told = self.certificate
        return told.bound if told is not None and told.status in BOUNDED else None

    @property
    def linear_regret(self) -> float | None:
        """The largest, of a rule that learns from losses made linear: it is this that the bound is on."""
        if not getattr(self.learner, "uses_gradient", False):
            return None
        told = self.certificate
        return float(self.learner.ledger_.linear_regrets.max()) if told is None else getattr(told, "regret", None)

    @property
    def status(self) -> str:
        """Of the certificate."""
        return "not derived" if self.certificate is None else self.certificate.status


def play(rule: str, learner: Any, advice: Advice, *, certify: bool) -> Played:
    """Predict, then learn, all rounds; then predict those whose outcome is to come."""
    played = Played(rule, learner)
    start = time.perf_counter()
    try:
        ledger = learner.run(advice.table(0, advice.rounds), advice.outcomes)
    except ValueError as error:
        told = advice.placed(error)
        hint = ": --loss square has no infinite losses" if str(error).endswith("inf") else ""
        message = f"{told}{hint}"
        raise mb.StreamError(message) from None
    played.seconds = time.perf_counter() - start
    played.losses = losses_of(ledger, advice)
    if played.drawn is not None:
        played.losses = expected_losses(advice, ledger.beta)
    played.predictions = ledger.predictions.tolist()
    played.predictions += [predicted(learner, advice, t) for t in range(*ahead(advice))]
    if advice.kind == LABELS:
        played.predictions = [None if code is None else advice.labels[int(code)] for code in played.predictions]
    if certify or advice.kind == LABELS or advice.rounds <= MOST_REPLAYED:
        played.certificate = learner.certify()
    return played


def predicted(learner: Any, advice: Advice, t: int) -> Any:
    """For a round whose outcome is to come; None if every expert is asleep."""
    return None if np.isnan(advice.said[t]).all() else np.asarray(learner.predict_one(advice.row(t))).tolist()


def ahead(advice: Advice) -> tuple[int, int]:
    """The rounds whose outcome is to come."""
    return advice.rounds, len(advice.said)


def losses_of(ledger: Any, advice: Advice) -> FloatArray:
    """Losses by round; of labels, mistakes."""
    if advice.kind != LABELS:
        return np.asarray(ledger.losses, np.float64)
    losses = np.zeros(advice.rounds)
    losses[ledger.mistake_rounds] = 1.0
    return losses


def expected_losses(advice: Advice, beta: float) -> FloatArray:
    """The share of the awake weight that is wrong, by round: the probability of a mistake of who draws by weight."""
    awake, wrong = advice.awake, advice.awake & (advice.known != advice.outcomes[:, None])
    lost, expected = np.zeros(len(advice.names)), np.zeros(advice.rounds)
    for t, (up, errs) in enumerate(zip(awake, wrong, strict=True)):
        weights = np.where(up, np.power(beta, np.where(up, lost - lost[up].min(), 0.0)), 0.0)
        expected[t] = weights[errs].sum() / weights.sum()
        lost += np.where(up, errs, expected[t])  # who sleeps loses what the learner does
    return expected


# ---------------------------------------------------------------------- for a picture


@dataclass
class History:
    """Weights before some rounds, and what the theorem allowed after some."""

    rounds: IntArray
    weights: FloatArray
    bounds: list[tuple[int, float]]


def history(played: Played, learner: Any, advice: Advice) -> History:
    """Let a fresh learner play in steps what was played, and look at it between them.

    Certificates are derived after half of the rounds, a quarter and so on: together they take no longer than the one
    of all rounds did.
    """
    T = advice.rounds
    halves = {T >> k for k in range(1, T.bit_length())} if played.bound is not None else set()
    drawn = np.unique(np.linspace(0, T - 1, min(T, MOST_DRAWN)).astype(np.int64)).tolist()
    starts = sorted({0, *drawn, *halves})
    weights, bounds = [], []
    for begin, end in pairwise([*starts, T]):
        weights.append(learner.weights_for(advice.row(begin)))
        learner.run(advice.table(begin, end), advice.outcomes[begin:end])
        if end in halves:
            bounds.append((end, learner.certify()))
    bounds.append((T, played.certificate))
    known = [(t, told.bound) for t, told in bounds if told is not None and told.status in BOUNDED]
    return History(np.array(starts), np.array(weights), known)
