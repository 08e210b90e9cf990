"""``mistakebound bench``: how long others take for the same, measured here and now."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import mistakebound as mb
from mistakebound._support.json_numbers import json_of
from mistakebound._support.plural import many
from mistakebound.cli.manual import EXIT_CODES, Manual
from mistakebound.cli.output import told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Match:
    """One thing that ours and a peer both do."""

    what: str
    peer: str
    """The peer's module."""
    theirs: Callable[[], object]
    ours: Callable[[], object]


@click.command(cls=Manual, epilog=EXIT_CODES, short_help="Measure it against other packages.")
@click.option("--rows", default=20_000, show_default=True, type=click.IntRange(100), help="Rows of the stream.")
@click.option(
    "--repeats", default=3, show_default=True, type=click.IntRange(1), help="Turns, of which the best counts."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of the table.")
def bench(rows: int, repeats: int, *, as_json: bool) -> None:
    r"""Measure mistakebound against scikit-learn, river and Vowpal Wabbit, as far as they are installed.

    \b
    Both learn a Perceptron from the same generated stream (75 non-zeros a row, about 1.2 kB of text), in turns, in one
    run; VW learns its default. A ratio above 1 means that mistakebound is so many times faster. Small streams show the
    time to start as well: --rows 200000 takes some minutes and says more.
    """
    from mistakebound.bench.peers import PEERS, installed  # noqa: PLC0415
    from mistakebound.bench.timing import best_times  # noqa: PLC0415 - it needs numpy

    there = {peer: installed(peer) for peer in PEERS}
    results: list[dict[str, Any]] = []
    with told(), tempfile.TemporaryDirectory() as folder:
        if not as_json:
            click.echo(f"{rows:,} rows, best of {many(repeats, 'turn')} each\n")
            click.echo(f"{'':46} {'peer':>14} {'seconds':>9} {'ours':>9} {'ratio':>8}")
        for match in matches(rows, Path(folder)):
            theirs = {"theirs": match.theirs} if there[match.peer] else {}
            best = best_times({**theirs, "ours": match.ours}, repeats)
            found = {"what": match.what, "peer": PEERS[match.peer], "ours": best["ours"], "theirs": best.get("theirs")}
            results.append(found | {"ratio": best["theirs"] / best["ours"] if theirs else None})
            if not as_json:
                click.echo(in_words(results[-1]))
        missing = [PEERS[peer] for peer, found in there.items() if not found]
        if as_json:
            about = {"version": mb.__version__, "rows": rows, "repeats": repeats}
            click.echo(json_of(about | {"results": results, "not_installed": missing}))
        elif missing:
            click.echo(f"\nnot installed: {', '.join(missing)}; to compare: pip install {' '.join(missing)}")


def in_words(found: dict[str, Any]) -> str:
    """One line of the table."""
    seconds = f"{found['theirs']:.3f}" if found["theirs"] else "–"
    ratio = f"{found['ratio']:.1f}x" if found["ratio"] else "–"
    return f"{found['what']:46} {found['peer']:>14} {seconds:>9} {found['ours']:>9.3f} {ratio:>8}"


def matches(rows: int, folder: Path) -> Iterator[Match]:
    """Each thing that is compared, made ready just before."""
    from mistakebound.bench import peers  # noqa: PLC0415
    from mistakebound.bench.timing import click_log, named_parts, write_texts  # noqa: PLC0415

    X, y = click_log(rows, 2**20)
    batches = peers.batches_of(X, y)
    sklearn = "sklearn"
    yield Match(
        "sparse rows in memory, one call",
        sklearn,
        lambda: peers.sklearn_one_call(X, y),
        lambda: mb.Perceptron().run(X, y),
    )
    yield Match(
        "sparse rows in batches, predicted and learned",
        sklearn,
        lambda: peers.sklearn_batches(batches),
        lambda: peers.our_batches(batches),
    )
    named = [row for part in named_parts(rows, 1000) for row in part]
    yield Match(
        "dicts of 30 names, one at a time",
        "river",
        lambda: peers.river_rounds(river(), named),
        lambda: peers.our_rounds(peers.as_river(), named),
    )
    svmlight, vw = folder / "stream.svm", folder / "stream.vw"
    write_texts(X, y, svmlight, vw)
    yield Match(
        "svmlight file into memory", sklearn, lambda: read_svmlight(svmlight), lambda: peers.our_matrix(svmlight)
    )
    for learner in ("perceptron", "balanced-winnow"):
        yield Match(
            f"text file, whole process, {learner}",
            "vowpalwabbit",
            partial(peers.process, *peers.VW, vw),
            partial(peers.process, *peers.OURS, svmlight, "--learner", learner),
        )


def river() -> Any:
    """Make a Perceptron of river."""
    from river import linear_model  # noqa: PLC0415

    return linear_model.Perceptron()


def read_svmlight(path: Path) -> Any:
    """scikit-learn's reader."""
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415

    return load_svmlight_file(str(path))
