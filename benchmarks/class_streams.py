"""Streams with several classes: five public ones, and four generated ones that were not used to find the Panel."""

from __future__ import annotations

import gzip
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from outside_data import loaders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PUBLIC = ("digits", "digits_shuffled", "iris", "wine", "kdd99")
ORDERS, KDD_ROWS = 5, 100_000
Stream = tuple[Any, Any]


def numbered(y: Any) -> Any:
    """Return labels as numbers in the order of their first rounds."""
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(label, len(seen)) for label in y], dtype=np.int32)


def prepared(X: Any, y: Any) -> Stream:
    """Return a CSR matrix of float64 without zeros, and numbered labels."""
    rows = sp.csr_matrix(X, dtype=np.float64)
    rows.eliminate_zeros()
    rows.sort_indices()
    return rows, numbered(y)


def kdd_labels(data: Path) -> list[str]:
    """Return the kinds of attack of the first rows of kdd99, which its loader makes two labels of."""
    with gzip.open(data / "kdd99_10pct" / "kddcup.data_10_percent.gz", "rt") as lines:
        return [line.rstrip().rpartition(",")[2] for line in islice(lines, KDD_ROWS)]


def public_streams(name: str, data: Path, *, scaled: bool = True) -> Iterator[Stream]:
    """Yield the orders of a public stream. Only kdd99 needs the data folder; the others are sets of scikit-learn.

    If ``scaled``, the values of digits are divided by 16, their maximum, and the columns of iris and wine have mean 0
    and variance 1 over all rows, because Vowpal Wabbit makes several times as many mistakes on the columns as they are.
    """
    if name == "kdd99":
        yield prepared(loaders(data).kdd99_10pct()[0][:KDD_ROWS], kdd_labels(data))
        return
    import sklearn.datasets

    X, y = getattr(sklearn.datasets, f"load_{name.split('_', maxsplit=1)[0]}")(return_X_y=True)
    if scaled:
        X = X / 16 if name.startswith("digits") else (X - X.mean(axis=0)) / X.std(axis=0)
    if name == "digits":
        yield prepared(X, y)
    else:
        for seed in (1,) if name == "digits_shuffled" else range(ORDERS):
            order = np.random.default_rng(seed).permutation(len(y))
            yield prepared(X[order], y[order])


def clusters(rows: int = 5_000) -> Stream:
    """Return twelve classes of two clusters each, in 20 dense numeric columns, of which 12 matter."""
    from sklearn.datasets import make_classification

    X, y = make_classification(
        rows, 20, n_informative=12, n_redundant=4, n_classes=12, n_clusters_per_class=2, random_state=0
    )
    return prepared(X, y)


def topics(rows: int = 10_000, classes: int = 40, vocabulary: int = 5_000) -> Stream:
    """Return texts of 60 words drawn by Zipf's law; the frequencies of topics follow it, too.

    Of the words of a text, a fifth come from the topic's own order of the vocabulary, the others from a common one.
    """
    rng = np.random.default_rng(0)
    share = np.cumsum(1 / np.arange(1, vocabulary + 1))
    orders = np.array([rng.permutation(vocabulary) for _ in range(classes)])
    of_class = 1 / np.arange(1, classes + 1)
    y = rng.choice(classes, rows, p=of_class / of_class.sum())
    drawn = np.searchsorted(share, rng.random((rows, 60)) * share[-1])
    words = np.where(rng.random(drawn.shape) < 0.2, orders[y[:, None], drawn], drawn)
    place = np.repeat(np.arange(rows), words.shape[1])
    X = sp.csr_matrix((np.ones(words.size), (place, words.ravel())), shape=(rows, vocabulary))
    X.data[:] = 1
    return prepared(X, y)


def letters(rows: int = 10_000) -> Stream:
    """Return 26 classes with 16 whole numbers from 0 to 15, like measurements of letters printed in three fonts."""
    rng = np.random.default_rng(0)
    fonts = rng.uniform(2, 13, (26, 3, 16))
    y, font = rng.integers(26, size=rows), rng.integers(3, size=rows)
    return prepared(np.clip(np.rint(fonts[y, font] + rng.normal(0, 2, (rows, 16))), 0, 15), y)


def products(rows: int = 10_000) -> Stream:
    """Return five classes that depend on products of nominal columns with four values; 5 % of labels are random."""
    rng = np.random.default_rng(0)
    values = rng.integers(4, size=(rows, 6))
    y = (values[:, 0] * values[:, 1] + values[:, 2] * values[:, 3]) % 5
    y = np.where(rng.random(rows) < 0.05, rng.integers(5, size=rows), y)
    return prepared(np.eye(4)[values].reshape(rows, 24), y)


GENERATED: dict[str, Callable[[], Stream]] = {
    "clusters": clusters,
    "topics": topics,
    "letters": letters,
    "products": products,
}
STREAMS = (*PUBLIC, *GENERATED)


def streams(name: str, data: Path) -> Iterator[Stream]:
    """Yield the orders of a stream, each as a CSR matrix and labels numbered by their first rounds."""
    if name in GENERATED:
        yield GENERATED[name]()
    else:
        yield from public_streams(name, data)
