"""Measure one pass over a CSR matrix in memory against scikit-learn's Perceptron, in the same run.

    python benchmarks/bench_play.py [--rows 1000000] [--repeats 5]

"One call" is scikit-learn at its fastest: float32, unshuffled, no intercept. "Batches" are 10,000 rows each, which are
predicted and then learned with its defaults (shuffled, with an intercept); they are cut before the time starts, for
both.

The stream is the click log of mistakebound.bench.timing. "uniform" draws all values with equal probability, so nothing
can be learned: this is the worst case for caches, with a mistake in every second round.
"""

from __future__ import annotations

import argparse

import mistakebound as mb
from mistakebound.bench.peers import batches_of, our_batches, sklearn_batches, sklearn_one_call
from mistakebound.bench.timing import FIELDS, best_times, click_log, ratio


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
            X, y = click_log(options.rows, 2**bits, uniform=uniform)
            batches = batches_of(X, y)
            mistakes = mb.Perceptron().run(X, y).mistakes
            best = best_times(
                {
                    "sklearn": lambda X=X, y=y: sklearn_one_call(X, y),
                    "ours": lambda X=X, y=y: mb.Perceptron().run(X, y),
                    "sklearn batches": lambda batches=batches: sklearn_batches(batches),
                    "ours batches": lambda batches=batches: our_batches(batches),
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
