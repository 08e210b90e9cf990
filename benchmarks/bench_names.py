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

ACTIVE, PART = 30, 50


def parts(rounds: int, vocabulary: int) -> Iterator[list[tuple[dict[str, float], bool]]]:
    """30 names a round, out of a vocabulary in which the k-th name is about as common as in a text (Zipf)."""
    draw = random.Random(0)
    target = {f"name{i}": draw.gauss(0, 1) for i in range(vocabulary)}
    names = list(target)
    for _ in range(rounds // PART):
        made = []
        for _ in range(PART):
            x: dict[str, float] = {}
            while len(x) < ACTIVE:
                name = names[int(vocabulary ** draw.random()) - 1] if vocabulary > ACTIVE else names[len(x)]
                x.setdefault(name, draw.randint(1, 64) / 64)
            made.append((x, sum(target[name] * (value - 0.5) for name, value in x.items()) > 0))
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
    print(f"{options.rounds:,} dicts of {ACTIVE} names, best of {options.repeats}, microseconds a round\n")
    print(f"{'vocabulary':>10} {'mistakes, both':>15} {'river predict + learn':>22} {'learn alone':>12}", end="")
    print(f" {'ours':>6} {'ratio':>7} {'(to learn alone)':>17}")
    for vocabulary in (ACTIVE, 1000, 100_000):
        best = dict.fromkeys(contenders, float("inf"))
        for _ in range(options.repeats):
            for name, (play, make) in contenders.items():
                learner, spent, counted = make(), 0.0, 0
                for rows in parts(options.rounds, vocabulary):
                    start = time.perf_counter()
                    counted += play(learner, rows)
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
