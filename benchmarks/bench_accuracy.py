"""Measure the errors of the Panel on twelve public streams, beside Vowpal Wabbit (pip install vowpalwabbit).

    python benchmarks/bench_accuracy.py [--data FOLDER] [--streams a9a,sms_spam] [--pairs]

FOLDER is as in bench_bounds.py. Each stream is learned in one pass: each label is predicted before it is learned. The
Panel has its defaults. Vowpal Wabbit runs in five settings, with its constant feature and without interactions, and
with 2^22 weights, so that no two features share a weight. With --pairs, it also learns all pairs of features, which may
share weights. Its text has six digits of each value. "VW" is the best of the five, chosen in hindsight for each stream
and each column. It predicts the positive label if its score is above 0. The log loss is the mean of −ln p(y) over all
rounds; the probabilities of both are clipped to [1e-9, 1 − 1e-9]. The score of the hinge loss is not a log odds, so the
log loss is the best of the other four.

"prototype" is the error of the prototype in float64 that the Panel follows, and whether the error here is within a
tolerance of it: ±0.0005 or two mistakes, on rcv1_small ±0.004, on sms_spam ±0.0015. The tolerance allows for float32
and for other hashes.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from outside_data import STREAMS, add_data_option, loaders, stream

import mistakebound as mb
from mistakebound.bench.peers import installed, process
from mistakebound.bench.timing import write_texts

VW = [sys.executable, "-m", "vowpalwabbit", "-b", "22", "--quiet"]
VW_CONSTANT = 11650396 % 2**22
"""The index of the constant feature of Vowpal Wabbit, above the indices of all streams."""
LOGISTIC = ["--loss_function", "logistic"]
SETTINGS = {
    "logistic": LOGISTIC,
    "hinge": ["--loss_function", "hinge"],
    "sgd": ["--sgd", *LOGISTIC],
    "coin": ["--coin", *LOGISTIC],
    "ftrl": ["--ftrl", *LOGISTIC],
}
LEAST_CHANCE = 1e-9

PROTOTYPE = {
    "a9a": 0.1535,
    "rcv1_small": 0.1410,
    "spam_stream": 0.0093,
    "sms_spam": 0.0117,
    "ppattach": 0.1666,
    "mushroom": 0.0022,
    "house_votes_84": 0.0437,
    "elec2": 0.0659,
    "kdd99_10pct": 0.00031,
    "monks1": 0.0396,
    "monks2": 0.2396,
    "monks3": 0.0397,
}
WIDER = {"rcv1_small": 0.004, "sms_spam": 0.0015}
"""Streams whose error changes more between equally good hashes."""


class Score(NamedTuple):
    """The error and the log loss of one pass; the log loss is infinite if there are no probabilities."""

    error: float
    log_loss: float


def panel(X: Any, y: np.ndarray) -> Score:
    ledger = mb.Panel().run(X, y)
    return Score(ledger.mistakes / ledger.rounds, ledger.measures.log_loss)


def vw(options: list[str], text: Path, y: np.ndarray) -> Score:
    """Return the score of Vowpal Wabbit; it writes each prediction before it learns the label."""
    predictions = text.with_suffix(".predictions")
    process(*VW, *options, "-d", text, "-p", predictions)
    scores = np.loadtxt(predictions, usecols=0, ndmin=1)
    assert len(scores) == len(y)
    error = float(np.mean((scores > 0) != (y > 0)))
    if "logistic" not in options:
        return Score(error, np.inf)
    p = np.clip(1 / (1 + np.exp(-scores)), LEAST_CHANCE, 1 - LEAST_CHANCE)
    return Score(error, float(-np.mean(np.log(np.where(y > 0, p, 1 - p)))))


def vw_settings(X: Any, y: np.ndarray, more: list[str]) -> dict[str, Score]:
    """Return the score of each setting of Vowpal Wabbit, with more options."""
    assert X.shape[1] < VW_CONSTANT
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "stream.vw")
        write_texts(X, np.where(y > 0, 1, -1), Path(os.devnull), text)
        return {name: vw([*options, *more], text, y) for name, options in SETTINGS.items()}


def tolerance(name: str, rounds: int) -> float:
    return WIDER.get(name, max(0.0005, 2 / rounds))


def chosen(parser: argparse.ArgumentParser, names: str) -> list[str]:
    wanted = names.split(",")
    for name in wanted:
        if name not in STREAMS:
            parser.error(f"there is no stream {name!r}; the streams are {', '.join(STREAMS)}")
    return wanted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", default=",".join(STREAMS), help="names with commas between them")
    parser.add_argument("--pairs", action="store_true", help="let VW learn all pairs of features, too")
    add_data_option(parser)
    options = parser.parse_args()
    names, data = chosen(parser, options.streams), loaders(options.data)
    if not installed("vowpalwabbit"):
        sys.exit("this needs Vowpal Wabbit: pip install vowpalwabbit")
    print(f"{'':39} error {'':38} log loss")
    print(f"{'':14} {'rounds':>8} {'Panel':>8} {'VW':>17} {'ratio':>6} {'prototype':>10} {'':>10}", end="")
    print(f" {'Panel':>8} {'VW':>17}")
    ratios, at_most, less_loss, near = [], 0, 0, 0
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        X, y = stream(data, name)
        ours, theirs = panel(X, y), vw_settings(X, y, ["-q", "::"] if options.pairs else [])
        best = min(theirs, key=lambda setting: theirs[setting].error)
        best_loss = min(theirs, key=lambda setting: theirs[setting].log_loss)
        error, log_loss = theirs[best].error, theirs[best_loss].log_loss
        ratios.append(ours.error / error if error else np.inf)
        is_near = abs(ours.error - PROTOTYPE[name]) <= tolerance(name, len(y))
        at_most += ours.error <= error
        less_loss += ours.log_loss < log_loss
        near += is_near
        print(f"{name:14} {len(y):>8,} {ours.error:>8.5f} {f'{error:.5f} {best:8}':>17} {ratios[-1]:>6.2f} ", end="")
        print(f"{PROTOTYPE[name]:>10.5f} {'within' if is_near else 'NOT within':>10} ", end="")
        print(f"{ours.log_loss:>8.4f} {f'{log_loss:.4f} {best_loss:8}':>17}", flush=True)
    print(f"\nerror at most that of VW on {at_most} of {len(names)} streams, largest ratio {max(ratios):.2f}; ", end="")
    print(f"log loss less on {less_loss}; near the prototype on {near}")


if __name__ == "__main__":
    main()
