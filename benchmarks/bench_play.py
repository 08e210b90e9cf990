"""One pass over CSR in memory against scikit-learn's Perceptron, in the same run.

In one call, at its best: float32, unshuffled, no intercept. In batches of 10,000, predicted and then learned,
with its defaults: float32, but shuffled and with an intercept; the batches are cut beforehand, for both.

    python benchmarks/bench_play.py [--rows 1000000] [--repeats 5]

The stream is like a click log: 75 fields, each with its own vocabulary, common values far more common than rare ones
(value number v·u³ for uniform u), float32 values; the label is the sign of a hidden linear target over the 64 most
common values of each field, with 2 % flipped. "uniform" draws all values alike, which nobody can learn: the worst case
for caches, with a mistake in every second round.
"""

from __future__ import annotations

import argparse

import numpy as np
from measure import best_times, ratio
from scipy.sparse import csr_matrix

import mistakebound as mb

FIELDS = 75
BATCH = 10_000


def stream(rows: int, features: int, *, uniform: bool = False) -> tuple[csr_matrix, np.ndarray]:
    rng = np.random.default_rng(0)
    width = features // FIELDS
    u = rng.random((rows, FIELDS), dtype=np.float32)
    if not uniform:
        u = u * u * u
    index = (u * np.float32(width)).astype(np.int32)
    np.minimum(index, width - 1, out=index)
    places = rng.permutation(width).astype(np.int32)  # common values do not lie side by side
    fields = np.arange(FIELDS, dtype=np.int32) * width
    index = places[index] + fields
    value = rng.random((rows, FIELDS), dtype=np.float32)
    indptr = np.arange(0, rows * FIELDS + 1, FIELDS, dtype=np.int32)
    X = csr_matrix((value.ravel(), index.ravel(), indptr), shape=(rows, features))
    target = rng.standard_normal(features).astype(np.float32)
    if not uniform:
        rare = np.ones(features, bool)
        rare[(places[:64, None] + fields).ravel()] = False
        target[rare] = 0
    y = np.where(X @ target >= 0, 1, -1)
    y[rng.random(rows) < 0.02] *= -1
    return X, y


def sklearn_one_call(X: csr_matrix, y: np.ndarray) -> None:
    from sklearn.linear_model import Perceptron

    Perceptron(shuffle=False, fit_intercept=False).partial_fit(X, y, classes=[-1, 1])


Batches = list[tuple[csr_matrix, np.ndarray]]


def batches_of(X: csr_matrix, y: np.ndarray) -> Batches:
    return [(X[s : s + BATCH], y[s : s + BATCH]) for s in range(0, X.shape[0], BATCH)]


def sklearn_batches(batches: Batches) -> None:
    from sklearn.linear_model import Perceptron

    learner = Perceptron()  # as it comes: it shuffles each batch and has an intercept
    learner.partial_fit(batches[0][0][:1], batches[0][1][:1], classes=[-1, 1])
    for X, y in batches:
        learner.predict(X)
        learner.partial_fit(X, y)


def ours_batches(batches: Batches) -> None:
    learner = mb.Perceptron()
    for X, y in batches:
        assert len(learner.run(X, y).predictions) == len(y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"{options.rows:,} rows x {FIELDS} non-zeros, float32, best of {options.repeats} interleaved turns\n")
    print(f"{'features':>9} {'values':>8} {'mistakes':>9} {'sklearn one call':>17} {'ours':>8} {'ratio':>7}", end="")
    print(f" {'sklearn batches':>16} {'ours':>8} {'ratio':>7}")
    for bits in (20, 24):
        for uniform in (False, True):
            X, y = stream(options.rows, 2**bits, uniform=uniform)
            batches = batches_of(X, y)
            mistakes = mb.Perceptron().run(X, y).mistakes
            best = best_times(
                {
                    "sklearn": lambda X=X, y=y: sklearn_one_call(X, y),
                    "ours": lambda X=X, y=y: mb.Perceptron().run(X, y),
                    "sklearn batches": lambda batches=batches: sklearn_batches(batches),
                    "ours batches": lambda batches=batches: ours_batches(batches),
                },
                options.repeats,
            )
            kind = "uniform" if uniform else "skewed"
            print(f"{f'2^{bits}':>9} {kind:>8} {mistakes / options.rows:>9.1%} {best['sklearn']:>16.3f}s", end="")
            print(
                f" {best['ours']:>7.3f}s {ratio(best, 'sklearn', 'ours'):>7} {best['sklearn batches']:>15.3f}s", end=""
            )
            print(f" {best['ours batches']:>7.3f}s {ratio(best, 'sklearn batches', 'ours batches'):>7}", flush=True)


if __name__ == "__main__":
    main()
