"""Measure the speed and memory of the Panel: ratios to the Perceptron, Vowpal Wabbit and river, in the same run.

    python benchmarks/bench_panel.py [--rows 1000000] [--repeats 5] [--data FOLDER] [--quick]

The stream is the click log of bench_play.py, with 75 non-zeros per row. In memory, the time of the Panel is divided by
that of one pass of the Perceptron over the same matrix. Real streams are those of bench_accuracy.py, and are left out
if FOLDER does not exist. Whole processes learn from a file, as in bench_files.py: the Panel, from VW text and from
svmlight, against one model of Vowpal Wabbit with its default learner, from VW text. With names (VW text), features keep
their exact names. "From cache" is the second pass, each from its own binary cache. Dicts are those of bench_names.py,
against the logistic regression of river. "goal" is what the figure should at least, or at most, be. --quick runs
everything once on few rows and features; its times mean nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outside_data import add_data_option, loaders, stream
from processes import on_one_core, peak_memory, read_once

import mistakebound as mb
from mistakebound.bench.peers import OURS, VW, installed, our_rounds, process, river_rounds
from mistakebound.bench.timing import ACTIVE, FIELDS, best_times, click_log, named_parts, write_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

QUICK = {"rows": 2_000, "repeats": 1}
PANELS = {
    "full, one thread": {"threads": 1},
    "full, two threads": {"threads": 2},
    "lean, one thread": {"members": "lean", "threads": 1},
    "lean, two threads": {"members": "lean", "threads": 2},
}
GOALS = {
    20: dict(zip(PANELS, (10, 5.5, 6.5, 5), strict=True)),
    24: dict(zip(PANELS, (5.5, None, 3.5, None), strict=True)),
}
"""For each number of bits: the largest ratio to the Perceptron; None if there is no goal."""
REAL = {"a9a": 1.0, "elec2": 1.0, "kdd99_10pct": 1.8}
"""Real streams, and the most microseconds per row on one thread."""
PANEL = [*OURS, "--learner", "panel"]
ONE = ["--threads", "1"]


def perceptron(X: Any, y: Any) -> dict[str, Callable[[], object]]:
    return {"Perceptron": lambda: mb.Perceptron().run(X, y)}


def panels(X: Any, y: Any) -> dict[str, Callable[[], object]]:
    return {name: lambda options=options: mb.Panel(**options).run(X, y) for name, options in PANELS.items()}


def heading(title: str, *columns: str) -> None:
    print(f"\n{title:36} " + " ".join(f"{column:>17}" for column in columns), flush=True)


def line(what: str, *cells: str) -> None:
    print(f"{what:36} " + " ".join(f"{cell:>17}" for cell in cells), flush=True)


def in_memory(rows: int, repeats: int, fewer_bits: int) -> None:
    """Print the time of each panel as a ratio to the Perceptron, with 2^fewer_bits times fewer features than usual."""
    for bits, goals in GOALS.items():
        X, y = click_log(rows, 2 ** (bits - fewer_bits))
        best = best_times({**perceptron(X, y), **panels(X, y)}, repeats)
        heading(f"in memory, 2^{bits - fewer_bits} features", "µs a row", "ratio", "goal")
        for name, seconds in best.items():
            goal = goals.get(name)
            line(
                name,
                f"{seconds / rows * 1e6:.3f}",
                f"{seconds / best['Perceptron']:.2f}x",
                "" if goal is None else f"≤ {goal}x",
            )
        if bits == 20:
            prediction(X, y, repeats)


def prediction(X: Any, y: Any, repeats: int) -> None:
    """Print how many rows a learned panel predicts per second."""
    learned = mb.Panel()
    learned.run(X, y)
    seconds = best_times({"predict": lambda: learned.predict(X)}, repeats)["predict"]
    line("predict", f"{seconds / len(y) * 1e6:.3f}", f"{len(y) / seconds:,.0f}/s")


def real_streams(folder: Path, repeats: int, most: int | None) -> None:
    """Print the time of each panel on real streams, or on their first rows."""
    data = loaders(folder)
    heading("real streams, µs a row", *PANELS, "goal")
    for name, goal in REAL.items():
        X, y = stream(data, name)
        X, y = X[:most], y[:most]
        best = best_times(panels(X, y), repeats)
        line(f"{name} ({len(y):,} rows)", *(f"{best[each] / len(y) * 1e6:.2f}" for each in PANELS), f"≤ {goal}")


def versus(what: str, turns: Mapping[str, partial[None]], repeats: int, goal: float) -> None:
    """Time a process of Vowpal Wabbit and one of ours."""
    best = best_times(turns, repeats, lambda name: read_once(turns[name]))
    times = (f"{best[name]:.3f} s" for name in ("VW", "Panel"))
    line(what, *times, f"{best['VW'] / best['Panel']:.2f}x", f"≥ {goal}x")


def whole_processes(rows: int, repeats: int) -> None:
    """Print the times of processes that learn from a file."""
    with tempfile.TemporaryDirectory() as name:
        svmlight, vw, cache = (Path(name, file) for file in ("stream.svm", "stream.vw", "cache"))
        write_texts(*click_log(rows, 2**20), svmlight, vw)
        from_cache = ["--cache_file", cache]
        heading(f"whole processes, {vw.stat().st_size / 1e9:.2f} GB", "VW", "Panel", "ratio", "goal")
        for text, form in ((vw, "VW text"), (svmlight, "svmlight")):
            one = {"VW": partial(on_one_core, *VW, vw), "Panel": partial(on_one_core, *PANEL, text, *ONE)}
            versus(f"{form}, one core", one, repeats, 2.5)
            two = {"VW": partial(process, *VW, vw), "Panel": partial(process, *PANEL, text)}
            versus(f"{form}, two cores", two, repeats, 2.5)
        process(*VW, vw, *from_cache)
        for text, form in ((vw, "VW text"), (svmlight, "svmlight")):
            process(*PANEL, text, "--cache")
            one = {
                "VW": partial(on_one_core, *VW, vw, *from_cache),
                "Panel": partial(on_one_core, *PANEL, text, "--cache", *ONE),
            }
            versus(f"cache of {form}, one core", one, repeats, 1)
            two = {"VW": partial(process, *VW, vw, *from_cache), "Panel": partial(process, *PANEL, text, "--cache")}
            versus(f"cache of {form}, two cores", two, repeats, 1)


def one_at_a_time(rounds: int, repeats: int) -> None:
    """Print the time of an example as a dict, against river."""
    from river import linear_model

    heading(f"dicts of {ACTIVE} names, µs an example", "river", "Panel", "ratio", "goal")
    for vocabulary in (ACTIVE, 1000, 100_000):
        rows = [row for part in named_parts(rounds, vocabulary) for row in part]
        turns = {
            "river": lambda rows=rows: river_rounds(linear_model.LogisticRegression(), rows),
            "ours": lambda rows=rows: our_rounds(mb.Panel(classes=(False, True)), rows),
        }
        best = best_times(turns, repeats)
        times = (f"{best[name] / len(rows) * 1e6:.2f}" for name in ("river", "ours"))
        line(f"vocabulary {vocabulary:,}", *times, f"{best['river'] / best['ours']:.1f}x", "> 1x")


def memory(features: int) -> None:
    """Print the memory of a panel that has learned one example, and of each further feature."""
    program = """
import sys
import numpy as np
from scipy.sparse import csr_matrix
import mistakebound as mb
rows, members = int(sys.argv[1]), sys.argv[2]
index = np.arange(rows * 64)
X = csr_matrix((np.ones(rows * 64, np.float32), index, np.arange(0, rows * 64 + 1, 64)), shape=(rows, rows * 64))
y = np.arange(rows) % 2
learner = mb.Perceptron() if members == "none" else mb.Panel(members)
learner.run(X, y) if rows > 1 else learner.learn_one({"a": 1.0}, 1)
"""

    def peak(features: int, members: str) -> float:
        return peak_memory(sys.executable, "-c", program, str(features // 64), members)

    heading("memory, beyond the Perceptron's", "fresh, MB", "B a feature")
    few, many = peak(64, "none"), peak(features, "none")
    for members in ("all", "lean"):
        fresh, grown = peak(64, members) - few, peak(features, members) - many
        line(members, f"{fresh:.1f}", f"{(grown - fresh) * 2**20 / features:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="few rows, one turn")
    add_data_option(parser)
    options = parser.parse_args()
    if options.quick:
        parser.set_defaults(**QUICK)
        options = parser.parse_args()
    rows, repeats = options.rows, options.repeats
    print(f"{rows:,} rows x {FIELDS} non-zeros, best of {repeats} interleaved turns")
    fewer_bits = 8 if options.quick else 0
    in_memory(rows, repeats, fewer_bits)
    if options.data.is_dir():
        real_streams(options.data, repeats, rows if options.quick else None)
    else:
        print(f"\nno real streams: {options.data} does not exist; pass --data, or set MISTAKEBOUND_DATA")
    if installed("vowpalwabbit"):
        whole_processes(rows, repeats)
    else:
        print("\nno whole processes: pip install vowpalwabbit")
    if installed("river"):
        one_at_a_time(min(rows, 20_000), repeats)
    else:
        print("\nno dicts: pip install river")
    memory(2 ** (20 - fewer_bits))


if __name__ == "__main__":
    main()
