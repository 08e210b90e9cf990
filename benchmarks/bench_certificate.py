"""How long a certificate takes: 100,000 rounds of 75 non-zeros, the comparator found in hindsight.

python benchmarks/bench_certificate.py
"""

from __future__ import annotations

import time

import numpy as np
from bench_play import stream

import mistakebound as mb


def main() -> None:
    X, y = stream(100_000, 2**20)
    sparse_target = np.asarray(X[:, : 2**14].sum(axis=1)).ravel()
    noisy = np.where(sparse_target > np.median(sparse_target), 1, -1)
    noisy[np.random.default_rng(1).random(len(noisy)) < 0.02] *= -1
    print(f"{'learner':>34} {'mistakes':>9} {'theorem':>22} {'bound':>12} {'status':>10} {'seconds':>8}")
    for learner in (
        mb.Perceptron(),
        mb.Perceptron(bias=1),
        mb.NormalizedWinnow(),
        mb.BalancedWinnow(),
        mb.PNormPerceptron(),
    ):
        for labels in (y, noisy):
            ledger = learner.fit(X, labels).ledger_
            start = time.perf_counter()
            found = mb.certify(ledger)
            seconds = time.perf_counter() - start
            print(f"{learner!r:>34} {ledger.mistakes:>9} {found.theorem:>22} {found.bound:>12.6g} ", end="")
            print(f"{found.status:>10} {seconds:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
