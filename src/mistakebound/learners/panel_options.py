"""Check the parameters of a `Panel`: threshold, abstention, threads, limit of features, and the number of labels."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from numbers import Integral, Real
from typing import Any

from mistakebound._support.lazy import np
from mistakebound.data.labels import plain
from mistakebound.errors import Option, OptionError, setting
from mistakebound.rules.panel_members import EVEN

ROUNDING = 1e-9
ONE_LABEL = (
    "; leave it out, or for a file, ",
    Option("positive", "positive=LABEL", "LABEL"),
    " predicts one label against all others",
)


def check_cut(threshold: Any) -> float:
    """Return the least probability at which the positive label is predicted."""
    cut: Any = EVEN if threshold is None else threshold
    if isinstance(cut, bool) or not isinstance(cut, Real) or not 0 < float(cut) < 1:
        raise OptionError(setting("threshold"), f" must be a number between 0 and 1, but not 0 or 1, got {cut!r}")
    return float(cut)


def check_abstain(abstain: Any, cut: float) -> float:
    """Return half the width of the band of probabilities around ``cut`` in which no label is predicted."""
    half: Any = 0.0 if abstain is None else abstain
    if isinstance(half, bool) or not isinstance(half, Real) or not 0 <= float(half) <= EVEN:
        raise OptionError(setting("abstain"), f" must be a number from 0 to 0.5, got {half!r}")
    edges = [cut + sign * float(half) for sign in (-1, 1)]
    if half and any(abs(p * 1000 - round(p * 1000)) > ROUNDING for p in edges):
        reason = f" must be a multiple of 0.001, like the threshold, got {half!r}"
        raise OptionError(setting("abstain"), reason)
    if edges[0] < -ROUNDING or edges[1] > 1 + ROUNDING:
        reason = f" must not be larger than the distance of the threshold from 0 and 1, got {half!r}"
        raise OptionError(setting("abstain"), reason)
    return float(half)


def refuse_decisions(panel: Any) -> None:
    """Raise OptionError if a panel of more than two labels has a threshold, or may abstain."""
    for name in ("threshold", "abstain"):
        if getattr(panel, name) is not None:
            raise OptionError(setting(name), " is only valid for two labels, and there are more", *ONE_LABEL)


def only_two_labels(name: str) -> tuple[str | Option, ...]:
    """Return the end of the message about a third label, which a panel with this option cannot learn."""
    return ("; without ", setting(name), ", a panel also learns more than two labels")


def check_feature_limit(limit: Any, *, named: bool) -> int | None:
    """Return the limit on the number of features; None for features by position, or if there is no limit."""
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, Integral) or limit < 1:
        raise OptionError(Option("max_features", "max_features", limit), f" must be at least 1, got {limit!r}")
    return int(limit) if named else None  # features by position are as many as the widest row has


def check_threads(threads: Any) -> int:
    """Return the number of threads."""
    if threads is None:
        return min(2, processors())
    if isinstance(threads, bool) or not isinstance(threads, Integral) or threads not in (1, 2):
        raise OptionError(Option("threads", "threads", threads), f" must be 1 or 2, got {threads!r}")
    return int(threads)


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def more_than_two(classes: Any) -> bool:
    """Return whether classes has more than two labels."""
    return isinstance(classes, Collection) and not isinstance(classes, str) and len(classes) > 2


def distinct_labels(y: Any, known: Collection[Any] = ()) -> set[Any]:
    """Return distinct labels of a batch and of ``known``. If there are three or more, at least three are returned.

    >>> len(distinct_labels([1, 2, 1, 3, 4]))
    3
    """
    found = {*known}
    for part in (y[:1000], y):
        values = (
            np.unique(part).tolist()
            if getattr(part, "dtype", None) is not None and part.dtype.kind in "biuUS"
            else part
        )
        for label in values:
            if len(found) > 2:
                return found
            with suppress(TypeError):  # a label that is not hashable is an error in its round
                label = plain(label)  # noqa: PLW2901
                if label is not None and label == label:  # noqa: PLR0124 - not NaN
                    found.add(label)
    return found
