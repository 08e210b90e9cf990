"""Measure the errors of learners that were mixed from shards on Spark, beside one machine.

    python benchmarks/bench_spark_errors.py [--sets a9a spam_stream kdd99] [--learners panel ...]
        [--shards 1 2 4 8 16] [--epochs 3]

For each set there are rows to learn, and rows to test that are never learned: a9a has a test file; of the others, each
fifth row is tested. A learner learns the rows in their order, in so many passes, on one machine; and through Spark in
local mode with ``OnlineClassifier``, in so many shards and epochs. The table has the error on the test rows after each
epoch, and the mistakes in all rounds (each prediction was made before its label was learned). "ratio" is the error
beside that of one machine with as many passes.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from outside_data import add_data_option, loaders
from spark_session import frame_of, session

import mistakebound as mb
from mistakebound.rules.registry import DECLARATIONS

SETS = ("a9a", "spam_stream", "kdd99")


def split(data: Any, name: str) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Return the rows to learn with their labels, and the rows to test with theirs."""
    if name == "a9a":
        return *data.a9a(), *data.a9a_test()
    X, y = data.kdd99_10pct() if name == "kdd99" else getattr(data, name)()
    tested = np.arange(len(y)) % 5 == 4
    return X[~tested], y[~tested], X[tested], y[tested]


def error(learner: Any, X: Any, y: np.ndarray) -> float:
    """Return the share of rows that a learner predicts wrongly."""
    return float(np.mean(learner.predict(X) != y))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_option(parser)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--learners", nargs="+", default=["panel", "perceptron", "adagrad-logistic", "arow"])
    parser.add_argument("--shards", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    from mistakebound.spark import OnlineClassifier

    data = loaders(options.data)
    print(f"{'set':12} {'learner':17} {'shards':>6}  {'test error after each epoch':32} {'ratio':>6} {'mistakes':>9}")
    with session() as spark:
        for name in options.sets:
            X, y, X_test, y_test = split(data, name)
            with frame_of(spark, X, y) as frame:
                rows = frame.repartition(4).persist()
                for rule in options.learners:
                    kind = getattr(mb, DECLARATIONS[rule].learner)
                    alone, errors = kind(classes=(0.0, 1.0)), []
                    for _ in range(options.epochs):
                        alone.run(X, y.astype(float))
                        errors.append(error(alone, X_test, y_test))
                    show(name, rule, "alone", errors, 1.0, alone)
                    for shards in options.shards:
                        learner, found = kind(classes=(0.0, 1.0)), []
                        for _ in range(options.epochs):
                            estimator = OnlineClassifier(learner=learner, orderCol="t", shards=shards)
                            learner = estimator.fit(rows).learner
                            found.append(error(learner, X_test, y_test))
                        show(name, rule, str(shards), found, found[-1] / max(errors[-1], 1e-12), learner)
                rows.unpersist()


def show(name: str, rule: str, shards: str, errors: list[float], ratio: float, learner: Any) -> None:
    shown = "  ".join(f"{each:.5f}" for each in errors)
    print(f"{name:12} {rule:17} {shards:>6}  {shown:32} {ratio:6.3f} {learner.ledger_.mistakes:9}", flush=True)


if __name__ == "__main__":
    main()
