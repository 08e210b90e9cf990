"""One example at a time, dicts of 30 names, against river's Perceptron, in the same run and with the same mistakes.

    python benchmarks/bench_names.py [--rounds 20000] [--repeats 5]

The protocol is predict, then learn. ``learn_one`` of ours predicts and counts by itself; river needs ``predict_one``
and ``learn_one``. Examples come in small parts that are made just before both learn from
them, as they would from a parser.

river has an intercept, sends a tie to False and then also learns from it when False was right. The same rule here is
``Perceptron(bias=1, classes=(True, False), update_margin=5e-324)``: positive is what a tie predicts, and the smallest
update margin there is takes in the ties. Values are multiples of 1/64, so that sums are exact on both sides.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import TYPE_CHECKING, Any

import mistakebound as mb

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES, ACTIVE, PART = 5000, 30, 50


def parts(rounds: int) -> Iterator[list[tuple[dict[str, float], bool]]]:
    draw = random.Random(0)
    target = {f"word{i}": draw.gauss(0, 1) for i in range(NAMES)}
    names = list(target)
    for _ in range(rounds // PART):
        made = []
        for _ in range(PART):
            x = {name: draw.randint(1, 64) / 64 for name in draw.sample(names, ACTIVE)}
            made.append((x, sum(target[name] * value for name, value in x.items()) > 0))
        yield made


def ours(learner: mb.Perceptron, rows: list[tuple[dict[str, float], bool]]) -> int:
    for x, y in rows:
        learner.learn_one(x, y)
    return 0


def river(learner: Any, rows: list[tuple[dict[str, float], bool]]) -> int:
    mistakes = 0
    for x, y in rows:
        mistakes += learner.predict_one(x) != y
        learner.learn_one(x, y)
    return mistakes


def river_learn(learner: Any, rows: list[tuple[dict[str, float], bool]]) -> int:
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
        "ours": (ours, lambda: mb.Perceptron(bias=1, classes=(True, False), update_margin=5e-324)),
        "river": (river, linear_model.Perceptron),
        "river learn_one alone": (river_learn, linear_model.Perceptron),
    }
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(options.repeats):
        for name, (play, make) in contenders.items():
            learner, spent, counted = make(), 0.0, 0
            for rows in parts(options.rounds):
                start = time.perf_counter()
                counted += play(learner, rows)
                spent += time.perf_counter() - start
            best[name] = min(best[name], spent)
            if name == "ours":
                mistakes = learner.ledger_.mistakes
            elif name == "river":
                assert mistakes == counted, (mistakes, counted)
    micro = {name: seconds / options.rounds * 1e6 for name, seconds in best.items()}
    print(f"{options.rounds:,} dicts of {ACTIVE} names, best of {options.repeats}; {mistakes} mistakes on both sides\n")
    print(f"river predict_one + learn_one  {micro['river']:7.2f} µs")
    print(f"river learn_one alone          {micro['river learn_one alone']:7.2f} µs")
    print(f"mistakebound learn_one         {micro['ours']:7.2f} µs")
    print(f"ratio                          {micro['river'] / micro['ours']:7.1f}x", end="")
    print(f"  ({micro['river learn_one alone'] / micro['ours']:.1f}x river's learn_one alone)")


if __name__ == "__main__":
    main()
