"""Measure one example at a time, as dicts of 30 names, against river's Perceptron in the same run.

    python benchmarks/bench_names.py [--rounds 20000] [--repeats 5]

In each round both predict, then learn. Our ``learn_one`` predicts and counts mistakes; river needs ``predict_one`` and
``learn_one``. The examples are made in small parts just before both learn from them, as a parser would make them.

Our learner has the same rule as river's (mistakebound.bench.peers.as_river), and all sums are exact, so both make the
same mistakes.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from mistakebound.bench.peers import as_river, our_rounds, river_rounds
from mistakebound.bench.timing import ACTIVE, Named, named_parts


def river_learn(learner: Any, rows: Named) -> int:
    for x, y in rows:
        learner.learn_one(x, y)
    return 0


def main() -> None:
    from river import linear_model

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    contenders = {
        "ours": (our_rounds, as_river),
        "river": (river_rounds, linear_model.Perceptron),
        "river learn_one alone": (river_learn, linear_model.Perceptron),
    }
    print(f"{options.rounds:,} dicts of {ACTIVE} names, best of {options.repeats}, microseconds a round\n")
    print(f"{'vocabulary':>10} {'mistakes, both':>15} {'river predict + learn':>22} {'learn alone':>12}", end="")
    print(f" {'ours':>6} {'ratio':>7} {'(to learn alone)':>17}")
    for vocabulary in (ACTIVE, 1000, 100_000):
        best = dict.fromkeys(contenders, float("inf"))
        for _ in range(options.repeats):
            for name, (play, make) in contenders.items():
                learner, spent, counted = make(), 0.0, 0
                for rows in named_parts(options.rounds, vocabulary):
                    start = time.perf_counter()
                    counted += play(learner, rows) or 0
                    spent += time.perf_counter() - start
                best[name] = min(best[name], spent)
                if name == "ours":
                    mistakes = learner.ledger_.mistakes
                elif name == "river":
                    assert mistakes == counted, (mistakes, counted)
        both, alone, mine = (best[k] / options.rounds * 1e6 for k in ("river", "river learn_one alone", "ours"))
        print(f"{vocabulary:>10,} {mistakes:>15} {both:>22.2f} {alone:>12.2f}", end="")
        print(f" {mine:>6.2f} {both / mine:>6.1f}x {alone / mine:>16.1f}x", flush=True)


if __name__ == "__main__":
    main()
