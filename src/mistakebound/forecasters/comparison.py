"""Rank forecasters, and compare each pair: Alice says 70 %, Bob says 80 %, and it rains.

The true probability p of a round is never known, but ``E[(h − y)²] = E[(h − p)²] + E[p(1 − p)]``, and the last term is
the same for all forecasters. So a smaller mean Brier score means forecasts closer to the true probabilities.
``compare`` ranks by the Brier score and also reports the log score (another proper score, which may rank differently).
It computes a confidence sequence for the difference of each pair: you may look at it after every round, and stop when
the better one is clear.

See docs/theory.md, "Who is closer to the truth".
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound.data.dates import date_column
from mistakebound.errors import StreamError
from mistakebound.forecasters.inputs import checked_rounds
from mistakebound.forecasters.pairs import compare_pair
from mistakebound.forecasters.pairwise import pairwise_order
from mistakebound.forecasters.scoring import decomposed
from mistakebound.forecasters.table import forecast_table
from mistakebound.forecasters.verdict import Forecaster, Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import BoolArray
    from mistakebound.forecasters.inputs import ForecastRounds
    from mistakebound.forecasters.table import ForecastTable


def compare(
    P: Any,
    y: Any = None,
    names: Sequence[str] | None = None,
    alpha: float = 0.05,
    *,
    classes: Sequence[Any] | None = None,
    outcome: str | None = None,
    positive: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    skip_bad: int = 0,
) -> Report:
    r"""Compare forecasters by the probabilities that they gave to two outcomes, or to several classes.

    Parameters
    ----------
    P : array (rounds × forecasters), dict of columns, DataFrame; with ``outcome`` also the path of a file, or paths
        Probabilities that the outcome is 1; NaN where a forecaster gave none. Pairs are compared on the rounds in which
        both gave a forecast, and scores are computed on the rounds in which all did. If there is no such round, each
        score is that of the forecaster's own rounds, and the ranking counts pairs: see ``Report.comparable``. Whether a
        forecaster gives a forecast must not depend on the outcome.
    y : sequence of 0, 1 or bool; with ``classes``, of classes
        The outcomes, in the order in which they came.
    names : sequence of str, optional
        The names of the forecasters.
    alpha : float
        Probability that any of the confidence sequences for the Brier score fails in any round.
    classes : sequence, optional
        The possible outcomes, if there are more than two. P then has the probabilities of all classes, in this order:
        rounds × forecasters × classes, or {name: rounds × classes}. In a table, forecaster b has the columns b_H, b_D
        and b_A for the classes H, D and A.
    outcome : str, optional
        The column of P with the outcomes, instead of ``y``. ``names`` are then the columns of the forecasters; without
        ``names``, all columns of probabilities are used.
    positive : str, optional
        With ``outcome``: the word that means 1; all other words mean 0.
    separator, header, skip_bad
        With ``outcome``: how files are read, see `Source`.

    Notes
    -----
    In each round the forecasts are known before the outcome, so the difference of two scores is one of two known
    numbers, or of as many as there are classes. ``ConfidenceSequence`` uses the least and the greatest of them as the
    range of the difference, which is narrow if the forecasts nearly agree. Its guess is the expected difference if the
    mean of the two forecasts were the true probability. The Brier score of several classes is the sum over all classes
    of (probability − outcome)², between 0 and 2. The log score is treated in the same way, without clipping; there are
    no bounds for it if one of the two ever forecasts 0 for an outcome and the other does not.

    Examples
    --------
    >>> import mistakebound as mb
    >>> report = mb.forecasters.compare({"Alice": [0.7, 0.2, 0.9], "Bob": [0.8, 0.4, 0.5]}, [1, 0, 1])
    >>> list(report.scores), round(report.scores["Alice"].brier.score, 5), report.pairs[0].clear
    (['Alice', 'Bob'], 0.04667, False)
    >>> table = {"Alice": [0.7, 0.2, 0.9], "Bob": [0.8, 0.4, 0.5], "rain": ["wet", "dry", "wet"]}
    >>> mb.forecasters.compare(table, outcome="rain", positive="wet").to_json() == report.to_json()
    True
    >>> games = {"Ann": [[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]], "Ben": [[0.4, 0.3, 0.3], [0.3, 0.3, 0.4]]}
    >>> list(mb.forecasters.compare(games, ["H", "A"], classes=["H", "D", "A"]).scores)
    ['Ann', 'Ben']
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "rain.csv"
    >>> _ = file.write_text("Alice,Bob,rain\n0.7,0.8,1\n0.2,0.4,0\n0.9,0.5,1\n")
    >>> mb.forecasters.compare(file, outcome="rain").to_json() == report.to_json()
    True
    """
    if not 0 < alpha < 1:
        message = f"alpha must lie between 0 and 1, got {alpha!r}"
        raise ValueError(message)
    if outcome is not None:
        table = forecast_table(
            *(P, outcome, names or (), positive),
            separator=separator,
            header=header,
            skip_bad=skip_bad,
            classes=classes or (),
        )
        return _compare_table(table, alpha)
    reading = {"positive": positive, "separator": separator, "header": header, "skip_bad": skip_bad or None}
    for name in (name for name, value in reading.items() if value is not None):
        message = f"{name} is only valid with outcome"
        raise TypeError(message)
    if isinstance(P, (str, PathLike)):
        message = f"outcome must be set: the column of {fspath(P)} with the outcomes"
        raise TypeError(message)
    if y is None:
        message = "y or outcome must be set"
        raise TypeError(message)
    return compare_rounds(checked_rounds(P, y, names, classes), alpha)


def compare_rounds(rounds: ForecastRounds, alpha: float) -> Report:
    """Return the report on forecasts and outcomes that were checked."""
    common = np.asarray(rounds.given.all(axis=1))
    comparable = bool(common.any())
    found = {name: score_of(rounds, place, common if comparable else None) for place, name in enumerate(rounds.names)}
    order = sorted(found, key=lambda name: found[name].brier.score)
    share = alpha / max(1, math.comb(len(order), 2))
    places = [rounds.names.index(name) for name in order]
    pairs = [pair for a, b in combinations(places, 2) if (pair := compare_pair(rounds, a, b, share)) is not None]
    if not comparable:
        if not pairs:
            message = "there is no round in which every forecaster gave a forecast, nor one in which two of them did"
            raise StreamError(message, kind="no common round")
        order = pairwise_order(order, pairs)
    counted = rounds.outcomes[common] if comparable else rounds.outcomes
    return Report(
        {name: found[name] for name in order},
        pairs,
        int(common.sum()),
        float("nan") if rounds.classes else float(counted.mean()),
        alpha,
        rounds.forecasts,
        rounds.outcomes,
        tuple(rounds.names),
        classes=rounds.classes,
    )


def score_of(rounds: ForecastRounds, place: int, counted: BoolArray | None) -> Forecaster:
    """Return the scores of a forecaster on some rounds; None for the rounds in which it gave a forecast."""
    given = rounds.given[:, place]
    used = given if counted is None else counted
    if not used.any():
        message = f"{rounds.names[place]!r} gave no forecast in any round"
        raise StreamError(message, kind="no forecast", feature=rounds.names[place])
    p, y = rounds.forecasts[used, place], rounds.outcomes[used]
    return Forecaster(rounds.names[place], int(given.sum()), decomposed(p, y, "brier"), decomposed(p, y, "log"))


def _compare_table(table: ForecastTable, alpha: float) -> Report:
    """Return the report on a table. An error of a round has the place of its row."""
    try:
        report = compare(table.forecasts, table.outcomes, alpha=alpha, classes=table.classes or None)
    except StreamError as error:
        raise table.placed(error) from None
    frame = table.frame
    files = tuple(dict.fromkeys(each.file for each in frame.places))
    return replace(report, left=table.left, skipped=tuple(frame.skipped), dates=date_column(frame), files=files)
