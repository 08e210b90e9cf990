"""Ways to play a stream in an experiment: with certificates, with late outcomes, and from own mistakes only."""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.lab.experiment_streams import coin_flip_losses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from mistakebound.certificates.certificate import Certificate
    from mistakebound.lab.streams import Stream


def run_and_certify(stream: Stream, learners: Mapping[str, Any]) -> tuple[list[float], list[Certificate]]:
    """Run learners, {theorem: learner}, and return the rounds, then the mistakes and the bound of each.

    >>> import mistakebound as mb
    >>> numbers, certificates = run_and_certify(mb.streams.disjunction(20, 2, 100), {"elimination": mb.Elimination()})
    >>> numbers[0], numbers[2], certificates[0].status
    (100.0, 18.0, 'holds')
    """
    numbers, certificates = [float(len(stream))], []
    for theorem, learner in learners.items():
        mistakes = learner.run(stream.X, stream.y).mistakes
        certificates.append(learner.certify(theorem, comparator=stream.target, X=stream.X, y=stream.y))
        numbers += [mistakes, certificates[-1].bound]
    return numbers, certificates


def learn_late(learner: Any, X: Any, y: Any, delay: int, *, together: bool) -> None:
    """Learn a stream; each outcome comes ``delay`` rounds late, or those of delay + 1 rounds come ``together``."""
    waiting: deque[tuple[Any, Any]] = deque()
    for t, (x, outcome) in enumerate(zip(X, y, strict=True)):
        waiting.append((learner.ask(x), outcome))
        last = t == len(y) - 1
        while waiting and (last or (t % (delay + 1) == delay if together else len(waiting) > delay)):
            learner.tell(*waiting.popleft())


def learn_own_mistakes(learner: Any, stream: Stream) -> NDArray[np.float64]:
    """Return the predictions of a learner that learns only the rounds in which it errs."""
    answers = np.empty(len(stream))
    for t, (x, outcome) in enumerate(stream.rounds()):
        answers[t] = learner.predict_one(x)
        if answers[t] != outcome:
            learner.learn_one(x, outcome)
    return answers


def regrets_on_coin_flips(mixer: Any, rounds: int, n: int, streams: int, seed: int) -> tuple[list[float], Any]:
    """Return the regret of copies of a mixer in each of several streams of coin flips, and the last certificate."""
    regrets = []
    for number in range(streams):
        losses, fresh = coin_flip_losses(rounds, n, seed, number), deepcopy(mixer)
        regrets.append(float(fresh.run_losses(losses).sum() - losses.sum(axis=0).min()))
    return regrets, fresh.certify()
