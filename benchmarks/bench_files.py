"""Whole processes that learn from a text file, against Vowpal Wabbit (pip install vowpalwabbit) in the same run.

    python benchmarks/bench_files.py [--rows 200000] [--repeats 3]

The stream is that of bench_play.py, with 2^20 features, written as svmlight and as VW text; scikit-learn's reader of
svmlight is compared with ours on its first 20,000 rows, and must give the same matrix. "One core" is one core for the
whole process (this VW has no option for one thread).
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np

from mistakebound.measure import best_times, click_log, ratio, write_texts
from mistakebound.peers import OURS, VW, our_matrix, process

PERCEPTRON = ["--learner", "perceptron"]


def run_on_one_core(*command: str | Path) -> None:
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        process(*command)
    finally:
        os.sched_setaffinity(0, cores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        svm, vw = Path(folder) / "stream.svm", Path(folder) / "stream.vw"
        write_texts(*click_log(options.rows, 2**20), svm, vw)
        small = Path(folder) / "small.svm"
        with svm.open("rb") as whole:
            small.write_bytes(b"".join(next(whole) for _ in range(20_000)))
        print(f"{options.rows:,} rows x 75, {svm.stat().st_size / 1e9:.2f} GB, best of {options.repeats} turns\n")
        best = best_times(
            {
                "VW, one core": lambda: run_on_one_core(*VW, vw),
                "VW": lambda: process(*VW, vw),
                "perceptron, svmlight, one core": lambda: run_on_one_core(*OURS, svm, *PERCEPTRON, "--threads", "1"),
                "perceptron, svmlight": lambda: process(*OURS, svm, *PERCEPTRON),
                "perceptron, VW text": lambda: process(*OURS, vw, *PERCEPTRON),
                "balanced winnow, svmlight": lambda: process(*OURS, svm),
            },
            options.repeats,
        )
        for name, seconds in best.items():
            peer = "VW, one core" if "one core" in name else "VW"
            print(f"{name:36} {seconds:>7.3f} s {'' if name in ('VW', peer) else ratio(best, peer, name):>8}")

        from sklearn.datasets import load_svmlight_file

        X, _ = load_svmlight_file(str(small), n_features=2**20)
        index, value = our_matrix(small)
        assert np.array_equal(index, X.indices)
        assert np.array_equal(value, X.data)
        read = best_times(
            {"sklearn": lambda: load_svmlight_file(str(small), n_features=2**20), "ours": lambda: our_matrix(small)}, 3
        )
        print(f"\nsvmlight into CSR: scikit-learn {read['sklearn']:.3f} s, ours {read['ours']:.3f} s, ", end="")
        print(ratio(read, "sklearn", "ours"))


if __name__ == "__main__":
    main()
