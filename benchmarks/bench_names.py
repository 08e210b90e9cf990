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

import mistakebound as mb

NAMES, ACTIVE, PART = 5000, 30, 200


def examples(seed: int, rounds: int) -> list[tuple[dict[str, float], bool]]:
    draw = random.Random(seed)
    weights = random.Random(0)
    target = {f"word{i}": weights.gauss(0, 1) for i in range(NAMES)}
    names = list(target)
    made = []
    for _ in range(rounds):
        x = {name: draw.randint(1, 64) / 64 for name in draw.sample(names, ACTIVE)}
        made.append((x, sum(target[name] * value for name, value in x.items()) > 0))
    return made


def main() -> None:
    from river import linear_model

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    best = {"river": float("inf"), "river learn_one alone": float("inf"), "ours": float("inf")}
    for _ in range(options.repeats):
        ours = mb.Perceptron(bias=1, classes=(True, False), update_margin=5e-324)
        theirs, alone = linear_model.Perceptron(), linear_model.Perceptron()
        spent = dict.fromkeys(best, 0.0)
        river_mistakes = 0
        for part in range(options.rounds // PART):
            rows = examples(part, PART)
            start = time.perf_counter()
            for x, y in rows:
                ours.learn_one(x, y)
            middle = time.perf_counter()
            for x, y in rows:
                river_mistakes += theirs.predict_one(x) != y
                theirs.learn_one(x, y)
            last = time.perf_counter()
            for x, y in rows:
                alone.learn_one(x, y)
            spent["ours"] += middle - start
            spent["river"] += last - middle
            spent["river learn_one alone"] += time.perf_counter() - last
        best = {name: min(best[name], spent[name]) for name in best}
        mistakes = ours.ledger_.mistakes
        assert mistakes == river_mistakes, (mistakes, river_mistakes)
    micro = {name: seconds / options.rounds * 1e6 for name, seconds in best.items()}
    print(f"{options.rounds:,} dicts of {ACTIVE} names, best of {options.repeats}; {mistakes} mistakes on both sides\n")
    print(f"river predict_one + learn_one  {micro['river']:7.2f} µs")
    print(f"river learn_one alone          {micro['river learn_one alone']:7.2f} µs")
    print(f"mistakebound learn_one         {micro['ours']:7.2f} µs")
    print(f"ratio                          {micro['river'] / micro['ours']:7.1f}x", end="")
    print(f"  ({micro['river learn_one alone'] / micro['ours']:.1f}x river's learn_one alone)")


if __name__ == "__main__":
    main()
