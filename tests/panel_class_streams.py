"""Streams with several classes for the Panel: labels are numbers of classes, in the order of their first round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from panel_streams import matrix, rows_of

from mistakebound.play.class_engine import empty_engine
from mistakebound.rules.panel_members import MEMBERS, mask_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from panel_streams import Rows

    from mistakebound.play.class_engine import ClassEngine

    ClassStream = tuple[Rows, list[int]]

CLASS_STREAMS: dict[str, Callable[[], ClassStream]] = {}


def class_stream(make: Callable[[], ClassStream]) -> Callable[[], ClassStream]:
    """Add a stream by the name of its function."""
    CLASS_STREAMS[make.__name__] = make
    return make


def numbered(labels: Sequence[Any]) -> list[int]:
    """Number labels in the order of their first round."""
    seen: dict[Any, int] = {}
    return [seen.setdefault(label, len(seen)) for label in labels]


def classes_of(rng: np.random.Generator, rows: Rows, classes: int, noise: float = 0.1) -> list[int]:
    """Labels by a hidden linear rule for each class, some of them random."""
    hidden = rng.normal(size=(classes, 1 + max((j for row in rows for j, _ in row), default=0)))
    found = []
    for row in rows:
        scores = sum((hidden[:, j] * x for j, x in row), np.zeros(classes))
        found.append(int(rng.integers(classes)) if rng.random() < noise else int(scores.argmax()))
    return numbered(found)


def made(seed: int, sizes: tuple[int, int], width: int, rounds: int, classes: int) -> ClassStream:
    rng = np.random.default_rng(seed)
    rows = rows_of(rng, sizes, width, rounds, lambda size: rng.gamma(2, size=size) * rng.choice([-1, 1], size))
    return rows, classes_of(rng, rows, classes)


@class_stream
def three_classes() -> ClassStream:
    return made(1, (1, 20), 40, 150, 3)


@class_stream
def one_class() -> ClassStream:
    return made(2, (1, 10), 12, 60, 1)


@class_stream
def two_classes() -> ClassStream:
    return made(3, (3, 12), 30, 120, 2)


@class_stream
def dense() -> ClassStream:
    return made(4, (6, 7), 6, 150, 8)


@class_stream
def late_labels() -> ClassStream:
    """A new class every 15 rounds, up to 20, so that some classes learn and others do not from round 240 on."""
    rows, labels = made(5, (1, 8), 15, 310, 20)
    return rows, numbered([min(label, t // 15) for t, label in enumerate(labels)])


@class_stream
def forty_classes() -> ClassStream:
    return made(6, (2, 9), 25, 260, 40)


@class_stream
def all_widths() -> ClassStream:
    """Rows at the edges of what has triples, pairs and tokens."""
    rng = np.random.default_rng(7)
    sizes, rows = [0, 1, 12, 13, 48, 49, 256, 257], []
    for t in range(56):
        row = rows_of(rng, (sizes[t % 8], sizes[t % 8] + 1), 300, 1, lambda size: rng.gamma(2, size=size))
        rows += row
    return rows, classes_of(rng, rows, 5)


@class_stream
def empty_rows() -> ClassStream:
    rows, labels = three_classes()
    return [[] if t % 3 == 0 else row for t, row in enumerate(rows[:90])], labels[:90]


@class_stream
def cyclic() -> ClassStream:
    """The same row with labels in turn: only the label sequence can learn it."""
    return [[(0, 1.0), (2, -2.0)]] * 300, [t % 5 for t in range(300)]


def new_engine(width: int | None, members: Sequence[str] = MEMBERS) -> ClassEngine:
    """Return an engine without names, or with names if ``width`` is None."""
    return empty_engine(mask_of(tuple(members)), width, 1 << 20)


def csr(rows: Rows, width: int, dtype: Any = np.float32) -> tuple[Any, Any, Any]:
    """Return the three arrays of a sparse matrix."""
    X = matrix(rows, width, dtype)
    return X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data


def width_of(rows: Rows) -> int:
    return 1 + max((j for row in rows for j, _ in row), default=0)


class Heard:
    """What the core says of a row, without learning it."""

    def __init__(self, engine: ClassEngine, row: Any) -> None:
        core, classes = engine.core, engine.class_count
        if isinstance(row, dict):
            chances, self.prediction = core.score_named_class(row)
            self.probabilities = np.array(chances)
        else:
            out, predicted = np.empty((1, classes + 1)), np.empty(1, np.int32)
            assert core.score_csr_classes(*csr([row], core.slots()), out, predicted) == (1, None)
            self.probabilities, self.prediction = out[0], int(predicted[0])
        self.scores, self.experts = (
            np.asarray(each).reshape(-1, classes) if classes else each for each in core.class_advice()
        )


def learn(engine: ClassEngine, rows: Rows, labels: Sequence[int]) -> tuple[Any, Any]:
    """Play rows, and return the predictions and the log probabilities of the labels."""
    predictions, logs = np.empty(len(rows), np.int32), np.empty(len(rows))
    given = (*csr(rows, engine.core.slots()), np.array(labels, np.int32), predictions, logs)
    assert engine.core.play_csr_classes(*given) == (len(rows), None)
    return predictions, logs
