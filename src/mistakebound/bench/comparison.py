"""Time this package and the installed peers on the same generated stream, for ``mistakebound bench``."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mistakebound as mb
from mistakebound.bench import peers
from mistakebound.bench.timing import best_times, click_log, named_parts, write_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True)
class Match:
    """A job that this package and a peer both do."""

    what: str
    peer: str
    """The peer's module."""
    theirs: Callable[[], object]
    ours: Callable[[], object]


@dataclass(frozen=True)
class Timing:
    """The times of one job."""

    what: str
    peer: str
    """Name of the peer's package."""
    ours: float
    """Seconds."""
    theirs: float | None
    """None if the peer is not installed."""

    @property
    def ratio(self) -> float | None:
        """How many times faster this package is; None if the peer is not installed."""
        return None if self.theirs is None else self.theirs / self.ours


def not_installed() -> list[str]:
    """Return the package names of the peers that cannot be imported."""
    return [name for module, name in peers.PEERS.items() if not peers.installed(module)]


def timings(rows: int = 20_000, repeats: int = 3) -> Iterator[Timing]:
    """Yield the times of each job: the best of ``repeats``, with the runs of both interleaved."""
    with tempfile.TemporaryDirectory() as folder:
        for match in matches(rows, Path(folder)):
            theirs = {"theirs": match.theirs} if peers.installed(match.peer) else {}
            best = best_times({**theirs, "ours": match.ours}, repeats)
            yield Timing(match.what, peers.PEERS[match.peer], best["ours"], best.get("theirs"))


def matches(rows: int, folder: Path) -> Iterator[Match]:
    """Yield each job with its data; the data are generated just before."""
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
    """Return a Perceptron of river."""
    from river import linear_model  # noqa: PLC0415 - optional

    return linear_model.Perceptron()


def read_svmlight(path: Path) -> Any:
    """Read a file with scikit-learn."""
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415 - optional

    return load_svmlight_file(str(path))
