"""Measure how long a certificate takes: 100,000 rounds of 75 non-zeros, with a comparator found in hindsight.

    python benchmarks/bench_certificate.py

Each learner is certified twice: over the whole stream, in a second pass, and over its mistaken rounds only.

An example has a value of ±1 in each of 75 fields with skewed vocabularies. The label is the majority vote of the
frequent values of three fields. Some labels are flipped, and then no comparator separates the mistaken rounds.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.sparse import csr_matrix

import mistakebound as mb

ROUNDS, FIELDS = 100_000, 75


def stream(features: int, noise: float) -> tuple[csr_matrix, np.ndarray]:
    rng = np.random.default_rng(0)
    width = features // FIELDS
    index = (rng.random((ROUNDS, FIELDS)) ** 12 * width).astype(np.int64) + np.arange(FIELDS) * width
    value = rng.choice([-1.0, 1.0], (ROUNDS, FIELDS))
    indptr = np.arange(0, ROUNDS * FIELDS + 1, FIELDS)
    X = csr_matrix((value.ravel(), index.ravel(), indptr), shape=(ROUNDS, features))
    u = np.zeros(features)
    for field in range(3):
        u[field * width : field * width + 40] = 1
    y = np.where(X @ u >= 0, 1, -1)
    y[rng.random(ROUNDS) < noise] *= -1
    return X, y


def main() -> None:
    learners = (mb.Perceptron(), mb.NormalizedWinnow(eta=0.3), mb.BalancedWinnow(), mb.PNormPerceptron())
    print(f"{'features':>9} {'flipped':>8} {'learner':>28} {'mistakes':>9} {'scope':>16} {'theorem':>20} ", end="")
    print(f"{'bound':>8} {'status':>15} {'seconds':>8} {'CPU':>6}")
    for features, noise in ((20_000, 0.0), (20_000, 0.01), (2**20, 0.0)):
        X, y = stream(features, noise)
        for learner in learners:
            learner.fit(X, y)
            for whole in ({"X": X, "y": y}, {}):
                start, processor = time.perf_counter(), time.process_time()
                found = learner.certify(**whole)
                seconds, processor = time.perf_counter() - start, time.process_time() - processor
                print(f"{features:>9,} {noise:>8.0%} {learner!r:>28} {found.mistakes:>9} {found.scope:>16} ", end="")
                print(f"{found.theorem:>20} {found.bound:>8.0f} {found.status:>15} ", end="")
                print(f"{seconds:>8.1f} {processor:>6.1f}", flush=True)


if __name__ == "__main__":
    main()
