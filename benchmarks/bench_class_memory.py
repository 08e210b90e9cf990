"""Measure the memory of a Panel with 10,000 features and 1,000 classes.

    python benchmarks/bench_class_memory.py [--rows 40000] [--features 10000] [--classes 1000] [--max-features N]

Labels are random, so that each row makes records for new pairs of feature and class: for the label and its 15 strongest
rivals. Rows have 9 or 75 non-zeros in turn: those of 9 have pairs and triples of features, too. The table shows the
largest resident memory of the process after a number of rows. The last line is an upper bound for any stream: records
for all pairs of feature and class, as many records of interactions as are ever kept, all contexts of labels, and all
pairs of label and prediction.

With ``--max-features``, rows have 30 names instead, ten of which are new, and rare names are dropped. To drop them, the
panel is copied: for a moment there are four copies, which the upper bound includes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

PROGRAM = """
import resource, sys
import numpy as np
from scipy.sparse import csr_matrix
import mistakebound as mb

rows, features, classes, part, limit = (int(word) for word in sys.argv[1:])
rng = np.random.default_rng(0)

def report(done):
    print(done, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, flush=True)

report(0)
def named(done):
    for row in range(done, done + part):
        yield {f"w{k}" for k in rng.choice(features, 20, replace=False)} | {f"new-{row}-{k}" for k in range(10)}

def positional():
    sizes = np.where(np.arange(part) % 2, 9, 75)
    index = np.concatenate([rng.choice(features, size, replace=False) for size in sizes])
    X = csr_matrix((np.ones(len(index)), index, np.concatenate([[0], np.cumsum(sizes)])), shape=(part, features))
    X.sort_indices()
    return X

learner = mb.Panel(classes=list(range(classes)), max_features=limit or None)
for done in range(0, rows, part):
    learner.run(named(done) if limit else positional(), rng.integers(classes, size=part))
    report(done + part)
"""
MEGABYTE = 1 << 20
BYTES_OF_PAIR = (19 * 4 + 4) + 4 / 8
"""A record has 19 floats and the number of the class; each block of eight has the number of the next."""
BYTES_OF_SLOTS = (5 << 19) * (8 * (7 * 4 + 4) + 4) + (1 << 18) * 12
BETWEEN_LIMITS = 1024 * 30
"""Names that rows may add before the limit is applied again."""
COPIES = 4
"""The old and the new panel, and the state between them in Python and in the core, while names are dropped."""
CONTEXTS = 2 << 14
"""Contexts of two and three labels; those of one are few."""


def largest(features: int, classes: int) -> float:
    """Return the most bytes that a panel needs for any stream, beyond those of Python and its modules."""
    pairs = features * -(-classes // 8) * 8 * BYTES_OF_PAIR
    slots = min(BYTES_OF_SLOTS, (1 << 18) * -(-classes // 8) * 260)
    contexts = CONTEXTS * classes * 8 * 1.03  # the capacity of a list is 2^k − 1
    confusion = classes * (classes + 1) * 64
    return pairs + slots + contexts + confusion


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--features", type=int, default=10_000)
    parser.add_argument("--classes", type=int, default=1_000)
    parser.add_argument("--max-features", type=int, default=0)
    options = parser.parse_args()
    part, limit = max(options.rows // 8, 1), options.max_features
    words = [str(number) for number in (options.rows, options.features, options.classes, part, limit)]
    command = [sys.executable, "-c", PROGRAM, *words]
    print("| rows | largest memory, MB |\n|---|---|")
    before = 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            rows, peak = (int(word) for word in line.split())
            before = before or peak
            print(f"| {rows:,} | {peak:,} |", flush=True)
    if child.returncode:
        sys.exit(f"the process ended with {child.returncode}")
    features = limit + BETWEEN_LIMITS if limit else options.features
    most = before + (COPIES if limit else 1) * largest(features, options.classes) / MEGABYTE
    print(f"| any number, at most | {most:,.0f} |")


if __name__ == "__main__":
    main()
