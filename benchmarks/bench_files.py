"""Measure whole processes that learn from a file, against Vowpal Wabbit (pip install vowpalwabbit) in the same run.

    python benchmarks/bench_files.py [--rows 1000000] [--repeats 3]

The stream is that of bench_play.py with 2^20 features, 75 per row, written as svmlight and as VW text (a million rows
take 1.2 GB). "Words" are 75 words per row, drawn by Zipf's law, as VW text without values. Their vocabulary is 2^17,
that of a large corpus, or 2^20, as many as VW has weights here. VW runs its default learner; ours are the Perceptron,
and Balanced Winnow with an update margin, the default of the command line. "One core" limits the whole process to one
core, because this VW has no option for one thread; otherwise both have two threads. Files are in the page cache: each
turn first reads its files once, because some machines drop pages all the time. "From cache" is the second pass over the
same data, each from its own binary cache. The svmlight reader of scikit-learn is compared with ours on the first
100,000 rows, and must return the same matrix.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from processes import on_one_core, peak_memory, read_once

from mistakebound.bench.peers import OURS, VW, our_matrix, process
from mistakebound.bench.timing import best_times, click_log, ratio, write_texts, write_words

PERCEPTRON = ["--learner", "perceptron"]
ONE = ["--threads", "1"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        names = ("stream.svm", "stream.vw", "words.vw", "more_words.vw", "small.svm")
        svm, vw, words, more_words, small = (folder / file for file in names)
        write_texts(*click_log(options.rows, 2**20), svm, vw)
        write_words(options.rows, 2**17, words)
        write_words(options.rows, 2**20, more_words)
        with svm.open("rb") as whole:
            small.write_bytes(b"".join(next(whole) for _ in range(min(100_000, options.rows))))
        vw_cache = ["--cache_file", folder / "vw.cache"]
        process(*VW, vw, *vw_cache)
        process(*OURS, svm, "--cache", *PERCEPTRON)
        print(f"{options.rows:,} rows x 75, {svm.stat().st_size / 1e9:.2f} GB, best of {options.repeats} turns\n")
        print(f"{'':36} {'VW':>9} {'ours':>9} {'ratio':>8}")
        pairs = {
            "Perceptron, one core": (
                partial(on_one_core, *VW, vw),
                partial(on_one_core, *OURS, svm, *PERCEPTRON, *ONE),
            ),
            "Perceptron": (partial(process, *VW, vw), partial(process, *OURS, svm, *PERCEPTRON)),
            "Balanced Winnow, one core": (
                partial(on_one_core, *VW, vw),
                partial(on_one_core, *OURS, svm, *ONE),
            ),
            "Balanced Winnow": (partial(process, *VW, vw), partial(process, *OURS, svm)),
            "Perceptron, words out of 2^17": (
                partial(process, *VW, words),
                partial(process, *OURS, words, *PERCEPTRON),
            ),
            "Perceptron, words out of 2^20": (
                partial(process, *VW, more_words),
                partial(process, *OURS, more_words, *PERCEPTRON),
            ),
            "Perceptron, the same VW text": (partial(process, *VW, vw), partial(process, *OURS, vw, *PERCEPTRON)),
            "Perceptron, from cache": (
                partial(process, *VW, vw, *vw_cache),
                partial(process, *OURS, svm, "--cache", *PERCEPTRON),
            ),
        }
        for what, (theirs, ours) in pairs.items():
            turns = {"VW": theirs, "ours": ours}
            best = best_times(turns, options.repeats, lambda name, turns=turns: read_once(turns[name]))
            print(f"{what:36} {best['VW']:>7.3f} s {best['ours']:>7.3f} s {ratio(best, 'VW', 'ours'):>8}", flush=True)
        print(f"\npeak memory of the Perceptron from svmlight: {peak_memory(*OURS, svm, *PERCEPTRON):.0f} MB")

        from sklearn.datasets import load_svmlight_file

        X, _ = load_svmlight_file(str(small), n_features=2**20)
        index, value = our_matrix(small)
        assert np.array_equal(index, X.indices)
        assert np.array_equal(value, X.data)
        read = best_times(
            {"sklearn": lambda: load_svmlight_file(str(small), n_features=2**20), "ours": lambda: our_matrix(small)},
            2 * options.repeats,
        )
        print(f"svmlight into CSR: scikit-learn {read['sklearn']:.3f} s, ours {read['ours']:.3f} s, ", end="")
        print(ratio(read, "sklearn", "ours"))


if __name__ == "__main__":
    main()
