"""Streams and opponents that a single experiment of the lab needs. Those of general use are in `streams`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.lab.streams import Stream, generator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import FloatArray

KNOWN_WORDS = 200
"""Words that exist from the start of a stream of `words`."""


def words(
    rounds: int, targets: Sequence[str], active: int, share: float, seed: int
) -> tuple[list[dict[str, int]], list[int]]:
    """Return sets of words and their labels; each word that is not a target is new with probability ``share``.

    >>> X, y = words(50, ["a", "b"], 5, 0.1, 0)
    >>> y == [int("a" in x or "b" in x) for x in X], max(map(len, X))
    (True, 5)
    """
    rng = generator(seed, 6)
    present = rng.random((rounds, len(targets))) < 1 - math.pow(0.5, 1 / len(targets))
    new, old = rng.random((rounds, active)), rng.integers(KNOWN_WORDS, size=(rounds, active))
    X = []
    for t in range(rounds):
        example = {name: 1 for name, here in zip(targets, present[t], strict=True) if here}
        for i in range(active - len(example)):
            example[f"new {t} {i}" if new[t, i] < share else f"known {old[t, i]}"] = 1
        X.append(example)
    return X, present.any(axis=1).astype(int).tolist()


def dense_signs(n: int, k: int, rounds: int, seed: int) -> Stream:
    """Return a stream whose target is −1 or +1 on every feature, and whose examples have 2k + 1 features.

    >>> X, y = stream = dense_signs(20, 3, 50, 0)
    >>> bool(np.all(y == np.sign(X @ stream.target))), bool(np.all((X != 0).sum(axis=1) == 7))
    (True, True)
    """
    rng, active = generator(seed, 4), 2 * k + 1  # a sum of an odd number of signs is not 0
    u: FloatArray = rng.choice([-1.0, 1.0], n)
    X = np.zeros((rounds, n))
    at = rng.random((rounds, n)).argpartition(active, axis=1)[:, :active]
    np.put_along_axis(X, at, rng.choice([-1.0, 1.0], (rounds, active)), axis=1)
    return Stream(X, np.where(X @ u > 0, 1, -1), u, 1.0)


def against_majority(n: int, rounds: int, eta: float, seed: int) -> tuple[Any, Any]:
    """Return votes and outcomes: in odd rounds the outcome is the opposite of the weighted majority, ties being 1.

    >>> votes, outcomes = against_majority(4, 10, 0.5, 0)
    >>> int(votes[::2].min()), votes[1::2].sum(axis=1).tolist()
    (1, [2, 2, 2, 2, 2])
    """
    rng, wrong = generator(seed, 4), np.zeros(n, dtype=np.int64)
    votes, outcomes = np.ones((rounds, n), dtype=np.int64), np.ones(rounds, dtype=np.int64)
    for t in range(1, rounds, 2):
        votes[t] = rng.permutation(n) % 2
        weights = (1 - eta) ** (wrong - wrong.min())
        outcomes[t] = 2 * (weights @ votes[t]) < weights.sum() * (1 - 1e-12)
        wrong += votes[t] != outcomes[t]
    return votes, outcomes


def coin_flip_losses(rounds: int, n: int, seed: int, number: int) -> FloatArray:
    """Return the losses 0 or 1 of n experts by fair coin flips; streams of different ``number`` are independent.

    >>> coin_flip_losses(3, 2, 0, 1).shape
    (3, 2)
    """
    return generator(seed, 1000 + number).integers(2, size=(rounds, n)).astype(float)
