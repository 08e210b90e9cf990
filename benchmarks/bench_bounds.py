"""Certify the Perceptron over the whole stream of real data sets, beside linear SVMs of scikit-learn as comparators.

    python benchmarks/bench_bounds.py [--data FOLDER]

FOLDER holds ``loaders.py``, with one function per data set that returns (X, y). The default is the environment variable
MISTAKEBOUND_DATA, then ``../shared/data``. The Perceptron has a constant feature of value 1. The SVM is fitted for a
small grid of C, and each solution is scaled to give its smallest bound.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from outside_data import add_data_option, loaders
from scipy.sparse import csr_matrix, hstack

import mistakebound as mb

SETS = ("a9a", "sms_spam", "spam_stream", "elec2", "mushroom", "house_votes_84", "rcv1_small", "ppattach")


def svm_bound(X: csr_matrix, y: np.ndarray) -> float:
    """Return the smallest bound of a few linear SVMs, each at a few scales."""
    from sklearn.svm import LinearSVC

    A, sign = csr_matrix(hstack([X, np.ones((X.shape[0], 1))])), np.where(y > 0, 1.0, -1.0)
    radius, best = np.sqrt(A.multiply(A).sum(axis=1).max()), float(len(y))
    for C in 10.0 ** np.arange(-5, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            u = LinearSVC(C=C, fit_intercept=False, max_iter=300).fit(A, sign).coef_.ravel()
        scores = sign * (A @ u)
        for gamma in np.quantile(scores[scores > 0], np.linspace(0.01, 1, 60)):
            lost = np.maximum(0, 1 - scores / gamma)
            k = radius * np.linalg.norm(u) / gamma
            hinge = ((k + np.sqrt(k * k + 4 * lost.sum())) / 2) ** 2
            best = min(best, hinge, (k + np.linalg.norm(lost)) ** 2)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_data_option(parser)
    data = loaders(parser.parse_args().data)
    columns = ("rounds", "learner", "comparator", "bound", "SVM", "ratio", "seconds")
    print(f"{'':14} " + " ".join(f"{name:>10}" for name in columns) + "  status")
    for name in SETS:
        X, y = getattr(data, name)()
        learner = mb.Perceptron(bias=1)
        learner.run(X, y)
        start = time.perf_counter()
        found = learner.certify(X=X, y=y)
        seconds, svm = time.perf_counter() - start, svm_bound(X, y)
        print(f"{name:14} {found.rounds:>10,} {found.mistakes:>10,} {found.comparator['mistakes']:>10,} ", end="")
        print(f"{found.bound:>10,.0f} {svm:>10,.0f} {found.bound / svm:>10.3f} {seconds:>10.2f}  {found.status}")


if __name__ == "__main__":
    main()
