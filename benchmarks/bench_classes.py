"""Measure the errors of the Panel on streams with several classes, beside VW, scikit-learn and river.

    python benchmarks/bench_classes.py [--data FOLDER] [--streams digits,wine]

FOLDER is as in bench_bounds.py; only kdd99 needs it. Each stream is learned in one pass: each label is predicted before
it is learned. The first round of each label counts as a mistake for all. Streams with several orders show the mean.

The Panel has its defaults. Vowpal Wabbit runs --oaa with the true number of classes, in four settings, with its
constant feature and 2^22 weights, without interactions, and in a further column with all pairs of features (-q ::).
scikit-learn is SGDClassifier in three settings, one row at a time, and river is its softmax regression. Both learn the
rows as they are, and with at most 100 columns also rows whose columns are standardised by the rows so far. Each column
shows the best, chosen in hindsight for each stream. scikit-learn is left out above 2,000 rows, and pairs above
1,000,000 of them.

The log loss is the mean of −ln p(y) over all rounds. The Panel has a probability for a label that was never seen; VW
knows all labels from the start. p is clipped to at least 1e-9. With hinge loss, VW has no probabilities.

"prototype" is the error of the prototype in float64 that the Panel follows, and whether the error here is within
±max(0.0005, 3/rounds) of it. For the orders of iris and wine, check_class_fidelity.py compares the two.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from class_streams import STREAMS, streams
from outside_data import add_data_option
from scipy.sparse import csr_matrix

import mistakebound as mb
from mistakebound.bench.peers import installed, process
from mistakebound.bench.timing import write_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

VW = [sys.executable, "-m", "vowpalwabbit", "-b", "22", "--quiet"]
LOGISTIC = ["--loss_function", "logistic", "--probabilities"]
SETTINGS = {
    "logistic": LOGISTIC,
    "hinge": ["--loss_function", "hinge"],
    "coin": ["--coin", *LOGISTIC],
    "ftrl": ["--ftrl", *LOGISTIC],
}
SGD: dict[str, dict[str, Any]] = {
    "hinge": {"loss": "hinge"},
    "logistic": {"loss": "log_loss"},
    "averaged": {"loss": "hinge", "average": True},
}
LEAST_CHANCE, MOST_SGD_ROWS, MOST_PAIRS, MOST_STANDARDISED = 1e-9, 2_000, 1_000_000, 100
PROTOTYPE = {"digits": 0.0284, "digits_shuffled": 0.0835, "kdd99": 0.00077}


class Score(NamedTuple):
    """The error and the log loss of one pass; the log loss is infinite if there are no probabilities."""

    error: float
    log_loss: float


def first_rounds(y: np.ndarray) -> np.ndarray:
    """Return for each round whether its label was never seen before."""
    first = np.zeros(len(y), dtype=bool)
    first[np.unique(y, return_index=True)[1]] = True
    return first


def error(predictions: Iterable[Any], y: np.ndarray) -> float:
    """Return the share of mistakes; those in the first rounds of labels count always."""
    wrong = np.array([p != label for p, label in zip(predictions, y.tolist(), strict=True)])
    return float(np.mean(wrong | first_rounds(y)))


def panel(X: Any, y: np.ndarray) -> Score:
    learner = mb.Panel(classes=sorted(set(y.tolist())))
    ledger = learner.run(X, y)
    return Score(ledger.mistakes / ledger.rounds, ledger.measures.log_loss)


def vw(options: list[str], text: Path, y: np.ndarray) -> Score:
    """Return the score of Vowpal Wabbit; it writes each prediction before it learns the label."""
    predictions = text.with_suffix(".predictions")
    process(*VW, "--oaa", str(int(y.max()) + 1), *options, "-d", text, "-p", predictions)
    lines = predictions.read_text().splitlines()
    if "--probabilities" not in options:
        return Score(error([int(float(line)) - 1 for line in lines], y), np.inf)
    p = np.array([[float(cell.partition(":")[2]) for cell in line.split()] for line in lines])
    chance = np.clip(p[np.arange(len(y)), y], LEAST_CHANCE, 1)
    return Score(error(p.argmax(axis=1).tolist(), y), float(-np.mean(np.log(chance))))


def vw_settings(X: Any, y: np.ndarray, more: list[str]) -> dict[str, Score]:
    """Return the score of each setting of Vowpal Wabbit, with more options."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "stream.vw")
        write_texts(X, y + 1, Path("/dev/null"), text)
        return {name: vw([*options, *more], text, y) for name, options in SETTINGS.items()}


def pairs_of(X: Any) -> int:
    """Return how many pairs of features the rows have."""
    sizes = np.diff(X.indptr).astype(np.int64)
    return int((sizes * (sizes - 1) // 2).sum())


def standardised(rows: np.ndarray) -> np.ndarray:
    """Return rows whose columns have mean 0 and variance 1 over the rows so far, the present one included."""
    count = np.arange(1, len(rows) + 1)[:, None]
    mean = np.cumsum(rows, axis=0) / count
    spread = np.sqrt(np.maximum(np.cumsum(rows * rows, axis=0) / count - mean * mean, 0))
    return np.divide(rows - mean, spread, out=np.zeros_like(rows), where=spread > 1e-9)


def sgd(settings: dict[str, Any], X: Any, y: np.ndarray) -> float:
    """Return the error of SGDClassifier of scikit-learn, one row at a time.

    The rows are dense, because its intercept learns from sparse rows at a hundredth of the rate.
    """
    from sklearn.linear_model import SGDClassifier
    from threadpoolctl import threadpool_limits

    rows, learner, labels = X.toarray(), SGDClassifier(random_state=0, **settings), np.unique(y)

    def predictions() -> Iterator[int]:
        for r in range(len(y)):
            yield int(learner.predict(rows[r : r + 1])[0]) if r else -1
            learner.partial_fit(rows[r : r + 1], y[r : r + 1], classes=labels)

    # A row is too little work for several threads, which wait for each other.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # overflows in rows that are not standardised
        return error(predictions(), y)


def river(rows: Any, y: np.ndarray) -> float:
    """Return the error of the softmax regression of river."""
    from river import linear_model

    learner = linear_model.SoftmaxRegression()

    def predictions() -> Iterator[Any]:
        for r, label in enumerate(y.tolist()):
            row = slice(rows.indptr[r], rows.indptr[r + 1])
            x = dict(zip(rows.indices[row].tolist(), rows.data[row].tolist(), strict=True))
            yield learner.predict_one(x)
            learner.learn_one(x, label)

    return error(predictions(), y)


def best_mean(scores: list[dict[str, Score]], of: Callable[[Score], float]) -> tuple[float, str]:
    """Return the least mean over orders, and its setting."""
    return min((float(np.mean([of(each[name]) for each in scores])), name) for name in scores[0])


def chosen(parser: argparse.ArgumentParser, names: str) -> list[str]:
    wanted = names.split(",")
    for name in wanted:
        if name not in STREAMS:
            parser.error(f"there is no stream {name!r}; the streams are {', '.join(STREAMS)}")
    return wanted


def other_errors(orders: list[tuple[Any, np.ndarray]]) -> tuple[float | None, float]:
    """Return the errors of scikit-learn (None if it is left out) and of river, the best of their settings."""
    forms = [[X] for X, _ in orders]
    if orders[0][0].shape[1] <= MOST_STANDARDISED:
        forms = [[X, csr_matrix(standardised(X.toarray()))] for X, _ in orders]

    def best(play: Callable[[Any, np.ndarray], float]) -> float:
        means = ([play(X, y) for X, (_, y) in zip(form, orders, strict=True)] for form in zip(*forms, strict=True))
        return min(float(np.mean(each)) for each in means)

    if sum(len(y) for _, y in orders) > MOST_SGD_ROWS:
        return None, best(river)
    return min(best(partial(sgd, settings)) for settings in SGD.values()), best(river)


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.5f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", default=",".join(STREAMS), help="names with commas between them")
    add_data_option(parser)
    options = parser.parse_args()
    names = chosen(parser, options.streams)
    for module in ("vowpalwabbit", "sklearn", "river"):
        if not installed(module):
            sys.exit("this needs other libraries: pip install vowpalwabbit scikit-learn river")
    print("| stream | rounds | classes | error: Panel | prototype | VW | VW with pairs | scikit-learn | river ", end="")
    print("| log loss: Panel | VW |")
    print("|---" * 11 + "|")
    less_error, less_loss, near = [], [], []
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        orders = list(streams(name, options.data))
        rounds = sum(len(y) for _, y in orders)
        ours = [panel(X, y) for X, y in orders]
        ours_error, ours_loss = (float(np.mean(each)) for each in zip(*ours, strict=True))
        plain = [vw_settings(X, y, []) for X, y in orders]
        (least, setting), (loss, of_loss) = (best_mean(plain, lambda s, k=k: s[k]) for k in range(2))
        with_pairs = None
        if sum(pairs_of(X) for X, _ in orders) <= MOST_PAIRS:
            with_pairs = best_mean([vw_settings(X, y, ["-q", "::"]) for X, y in orders], lambda s: s.error)[0]
        of_sklearn, of_river = other_errors(orders)
        less_error += [name] if ours_error < least else []
        less_loss += [name] if ours_loss < loss else []
        beside = "–"
        if name in PROTOTYPE:
            is_near = abs(ours_error - PROTOTYPE[name]) <= max(0.0005, 3 / rounds)
            near += [name] if is_near else []
            beside = f"{PROTOTYPE[name]:.5f}{'' if is_near else ' (NOT within)'}"
        size = f"{len(orders)} × {len(orders[0][1]):,}" if len(orders) > 1 else f"{rounds:,}"
        print(f"| {name} | {size} | {int(orders[0][1].max()) + 1} | {ours_error:.5f} | {beside} ", end="")
        print(f"| {least:.5f} ({setting}) | {number(with_pairs)} | {number(of_sklearn)} | {number(of_river)} ", end="")
        print(f"| {ours_loss:.4f} | {loss:.4f} ({of_loss}) |", flush=True)
    compared = sum(name in PROTOTYPE for name in names)
    print(
        f"\nerror less than that of VW on {len(less_error)} of {len(names)} streams, log loss on {len(less_loss)}; ",
        end="",
    )
    print(f"near the prototype on {len(near)} of {compared}")


if __name__ == "__main__":
    main()
