"""The report of a comparison of forecasters: scores, pairs, and how certain the ranking is."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support.json_numbers import finite
from mistakebound._support.text import escaped, many
from mistakebound.forecasters.calibration import reliability
from mistakebound.forecasters.pairwise import pairwise_standing, pairwise_table

if TYPE_CHECKING:
    from os import PathLike

    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.data.dates import DateColumn
    from mistakebound.data.remarks import BadLine
    from mistakebound.forecasters.calibration import Decomposition, Reliability
    from mistakebound.forecasters.confidence_sequence import Bounds
    from mistakebound.forecasters.pairwise import PairwiseStanding


PAIR_FIELDS = (
    *("better", "worse", "difference", "low", "high", "clear", "clear_since", "evidence", "enough"),
    *("log_difference", "log_low", "log_high"),
)
"""Fields of a pair in JSON."""


@dataclass(frozen=True)
class Forecaster:
    """One forecaster, on the rounds in which all gave a forecast, or on its own rounds if there is no such round.

    ``forecasts`` is the number of forecasts in all rounds. ``brier`` and ``log`` are the decomposed mean scores.
    ``skill`` is the share of the base rate's Brier score that is saved. (The base rate is known only in hindsight, so
    it is not easy to beat.)
    """

    name: str
    forecasts: int
    brier: Decomposition
    log: Decomposition

    @property
    def skill(self) -> float:
        """``1 − Brier/uncertainty``; NaN if all outcomes are the same."""
        return self.brier.skill


@dataclass(frozen=True)
class Pair:
    """Two forecasters on the rounds in which both gave a forecast; ``better`` has the smaller mean Brier score.

    Attributes
    ----------
    difference, low, high : float
        The mean of Brier(better) − Brier(worse), which is never above 0; and the confidence sequence after the last
        round, for the expected value of this mean under the true probabilities.
    clear_since : int or None
        The number of common rounds after which the whole confidence sequence stayed below 0; None if it is not below 0
        now.
    evidence : float
        Half of the e-value against "the better one is never better on average". It is half because the outcomes decide
        which of the two is called better. The pair is clear when the evidence has reached ``enough``.
    enough : float
        1/α, times the number of pairs.
    log_difference, log_low, log_high : float
        The same for the log score. The bounds are infinite if one of the two ever forecast 0 or 1 and the other did
        not: the score may then be infinite.
    rounds : array
        The common rounds, 0-based.
    means, bounds : array, Bounds
        The mean difference and the confidence sequence after each common round.
    """

    better: str
    worse: str
    difference: float
    low: float
    high: float
    clear_since: int | None
    evidence: float
    enough: float
    log_difference: float
    log_low: float
    log_high: float
    rounds: IntArray = field(repr=False)
    means: FloatArray = field(repr=False)
    bounds: Bounds = field(repr=False)

    @property
    def names(self) -> tuple[str, str]:
        """The better and the worse one."""
        return self.better, self.worse

    @property
    def clear(self) -> bool:
        """Whether the confidence sequence shows by now that the better one is better."""
        return self.clear_since is not None


@dataclass(frozen=True)
class Report:
    """The result of ``compare``.

    Attributes
    ----------
    scores : dict
        A ``Forecaster`` for each name, the best first: by its Brier score, or by its pairs if the scores are not
        comparable.
    pairs : list of Pair
        All pairs. All their confidence sequences hold together with probability 1 − α (Bonferroni).
    rounds : int
        The number of rounds in which all forecasters gave a forecast. If there are none, the scores are those of
        different rounds, and not comparable.
    base_rate : float
        The share of ones among the outcomes of these rounds (of all rounds, if there are none); NaN with classes.
    alpha : float
        The parameter of ``compare``.
    left : tuple of str
        For a table: the columns that are not forecasters, and why.
    skipped : tuple of BadLine
        For files: the bad rows that were skipped.
    dates : DateColumn or None
        For a table: a column with a date in every row that never decreases.
    files : tuple of str
        The files of the table.
    classes : tuple
        The classes; empty for two outcomes. With classes, ``P`` has the probabilities of all of them, and ``y`` has the
        places of the outcomes in ``classes``.
    """

    scores: dict[str, Forecaster]
    pairs: list[Pair]
    rounds: int
    base_rate: float
    alpha: float
    P: FloatArray = field(repr=False)
    y: IntArray = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    left: tuple[str, ...] = field(default=(), repr=False)
    skipped: tuple[BadLine, ...] = field(default=(), repr=False)
    dates: DateColumn | None = field(default=None, repr=False)
    files: tuple[str, ...] = field(default=(), repr=False)
    classes: tuple[Any, ...] = ()

    def reliability(self, name: str, label: Any = None, **options: Any) -> Reliability:
        """Return the reliability diagram of a forecaster, on all rounds with a forecast; see ``reliability``.

        With classes, it is that of the probability of ``label``, by default of the first class.
        """
        p, y = self.P[:, self.names.index(name)], self.y
        if self.classes:
            place = 0 if label is None else self.classes.index(label)
            p, y = p[:, place], y == place
        given = ~np.isnan(p)
        return reliability(p[given], y[given].astype(np.float64), **options)

    @property
    def comparable(self) -> bool:
        """Whether the scores are those of the same rounds: whether all gave a forecast in at least one round."""
        return self.rounds > 0

    @property
    def base_rates(self) -> dict[Any, float]:
        """The share of each class among all outcomes; empty for two outcomes."""
        counts = np.bincount(self.y, minlength=len(self.classes)) / len(self.y)
        return dict(zip(self.classes, counts.tolist(), strict=True)) if self.classes else {}

    @property
    def standings(self) -> list[PairwiseStanding]:
        """How many others each forecaster is better than, on their common rounds, in the order of ``scores``."""
        return [pairwise_standing(name, self.pairs, len(self.names)) for name in self.scores]

    @property
    def surely_best(self) -> str | None:
        """The forecaster that is clearly better than each other one; None if there is none."""
        best = next(iter(self.scores))
        beaten = sum(pair.clear and pair.better == best for pair in self.pairs)
        return best if beaten == len(self.scores) - 1 > 0 else None

    @property
    def ranking(self) -> str:
        """The ranking in one sentence: who is first, whether that is certain, and with which confidence."""
        sure = f" ({self.confidence} confidence for all clear results together)" if self.surely_best else ""
        return f"{self.verdict}{sure}"

    @property
    def verdict(self) -> str:
        """Who is first, and whether that is certain."""
        best, *others = self.scores
        name = escaped(best)
        if not others:
            return f"{name} is the only forecaster"
        if self.surely_best:
            return f"{name} is best"
        beaten = ", ".join(escaped(pair.worse) for pair in self.pairs if pair.better == best and pair.clear)
        return f"{name} is first, {f'and clearly better than {beaten}' if beaten else 'but that is not yet certain'}"

    @property
    def different_rounds(self) -> str:
        """Why pairs may differ from the ranking, in sentences; empty if they use the same rounds."""
        if not self.comparable or all(len(pair.rounds) == self.rounds for pair in self.pairs):
            return ""
        words = [
            "Each pair is compared in all rounds in which both gave a forecast, so it may differ from the ranking."
        ]
        best = next(iter(self.scores))
        for pair in self.pairs:
            if pair.worse == best:
                names = f"{escaped(pair.better)} has a smaller score than {escaped(best)}"
                words.append(f"{names} in their {many(len(pair.rounds), 'common round')}.")
        return " ".join(words)

    @property
    def table(self) -> str:
        """A table of the forecasters, one per line, the best first."""
        width = max(len("forecaster"), *(len(escaped(name)) for name in self.scores))
        titles = ("Brier", "MCB", "DSC", "UNC", "skill", "log score")
        lines = [f"{'forecaster':{width}} {'rounds':>8}" + "".join(f"{title:>10}" for title in titles)]
        for each in self.scores.values():
            parts = each.brier
            numbers = (parts.score, parts.miscalibration, parts.discrimination, parts.uncertainty, each.skill)
            cells = "".join(f"{number:>10.5f}" for number in (*numbers, each.log.score))
            rounds = self.rounds if self.comparable else each.forecasts
            lines.append(f"{escaped(each.name):{width}} {rounds:>8,}{cells}")
        return "\n".join(lines)

    @property
    def pairwise_table(self) -> str:
        """A table of how many others each forecaster is better and worse than; empty if the scores are comparable."""
        return "" if self.comparable else pairwise_table(self.standings)

    def __str__(self) -> str:
        tables = [self.table, *([] if self.comparable else ["", self.pairwise_table])]
        return "\n".join([*tables, "", *(sentence(pair, self.confidence) for pair in self.pairs), self.ranking])

    @property
    def confidence(self) -> str:
        """The confidence for all pairs together, in percent."""
        return f"{100 * (1 - self.alpha):.6g} %"

    def plot(self, *, dark: bool = False) -> Any:
        """Draw the reliability diagrams, and the differences from the best one; return a matplotlib figure."""
        from mistakebound.viz.plot import forecasters  # noqa: PLC0415 - it needs matplotlib

        return forecasters(self, dark=dark)

    def write_report(self, path: str | PathLike[str], *, command: str = "") -> None:
        """Write an HTML page about the forecasters, which loads nothing.

        Parameters
        ----------
        path : path
            The HTML file.
        command : str, optional
            The command that makes the page again.
        """
        from mistakebound.forecasters.report_page import write_report  # noqa: PLC0415 - seldom needed

        write_report(self, path, command)

    def to_json(self) -> str:
        """Return the report as JSON; numbers that are not finite become null."""
        scores = [
            {
                "name": each.name,
                "forecasts": each.forecasts,
                "skill": each.skill,
                "brier": asdict(each.brier),
                "log": asdict(each.log),
            }
            for each in self.scores.values()
        ]
        pairs = [
            {name: getattr(pair, name) for name in PAIR_FIELDS} | {"rounds": len(pair.rounds)} for pair in self.pairs
        ]
        data: dict[str, Any] = {
            "rounds": self.rounds,
            "base_rate": self.base_rate,
            "alpha": self.alpha,
            "surely_best": self.surely_best,
            "forecasters": scores,
            "pairs": pairs,
        }
        if self.classes:
            data |= {"classes": list(self.classes), "base_rates": list(self.base_rates.values())}
        if not self.comparable:
            data |= {"comparable": False, "pairwise": [each._asdict() for each in self.standings]}
        return json.dumps(finite(data))


def evidence_of(pair: Pair) -> str:
    """Return the evidence for a pair, and how much is enough, in words."""
    found, enough = (
        f"{value:,.0f}" if 100 <= value < 1e15 else f"{value:.3g}" for value in (pair.evidence, pair.enough)
    )
    return f"evidence {found} of {enough}"


def sentence(pair: Pair, confidence: str) -> str:
    """Return the result for a pair in words."""
    interval = (
        f"difference {pair.difference:+.5f}, {confidence} confidence sequence [{pair.low:+.5f}, {pair.high:+.5f}]"
    )
    better, worse = escaped(pair.better), escaped(pair.worse)
    if pair.clear_since is not None:
        result = f"{better} is better than {worse}: {interval}, clear since round {pair.clear_since:,}"
    else:
        result = f"{better} or {worse}? {interval}, not yet clear ({evidence_of(pair)})"
    return f"{result}; the log score ranks them the other way" if pair.log_difference > 0 else result
