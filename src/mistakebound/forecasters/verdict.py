"""The report of a comparison of forecasters: scores, pairs, and how certain the ranking is."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support.json_numbers import finite
from mistakebound._support.text import escaped
from mistakebound.forecasters.calibration import reliability

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray, IntArray
    from mistakebound.data.remarks import BadLine
    from mistakebound.forecasters.calibration import Decomposition, Reliability
    from mistakebound.forecasters.confidence_sequence import Bounds


OF_A_PAIR = (
    *("better", "worse", "difference", "low", "high", "clear", "clear_since", "evidence", "enough"),
    *("log_difference", "log_low", "log_high"),
)
"""What JSON tells of a pair."""


@dataclass(frozen=True)
class Forecaster:
    """One forecaster, on the rounds in which all gave a forecast.

    ``forecasts`` counts those in any round; ``brier`` and ``log`` are mean scores taken apart; ``skill`` is the part of
    the base rate's Brier score that is saved. (The base rate is known only afterwards: it is not easy to beat.)
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
    """Two forecasters on the rounds in which both gave a forecast; ``better`` has the smaller mean of Brier's score.

    Attributes
    ----------
    difference, low, high : float
        Mean of Brier(better) − Brier(worse), which is never above 0; and the confidence sequence after the last round,
        for what that mean was expected to be, round by round, by who knows the true probabilities.
    clear_since : int or None
        The number of common rounds after which the sequence lay below 0, where it stayed; None if it is not there now.
    evidence : float
        Half of the e-value against "the better one is never better on average": half, since only the outcomes told
        which of the two that is. The pair is clear when it has reached ``enough``.
    enough : float
        1/α, times the number of pairs.
    log_difference, log_low, log_high : float
        The same of the log score. The bounds are infinite if one of the two ever said 0 or 1 while the other did not:
        then the score may be infinite, and nothing is certain.
    rounds : array
        0-based rounds of both.
    means, bounds : array, Bounds
        Difference and confidence sequence after each of them.
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
    def clear(self) -> bool:
        """Whether the better one is surely better by now."""
        return self.clear_since is not None


@dataclass(frozen=True)
class Report:
    """What ``compare`` found.

    Attributes
    ----------
    scores : dict
        A ``Forecaster`` for each name, the smallest Brier score first.
    pairs : list of Pair
        Each two of them. All of their confidence sequences together hold with probability 1 − α (Bonferroni).
    rounds : int
        In which all forecasters gave a forecast.
    base_rate : float
        Share of ones among the outcomes of those.
    alpha : float
        As it was told.
    left : tuple of str
        Of a table: the columns that are not forecasters, and why.
    skipped : tuple of BadLine
        Of files: the bad rows that were left out.
    """

    scores: dict[str, Forecaster]
    pairs: list[Pair]
    rounds: int
    base_rate: float
    alpha: float
    P: FloatArray = field(repr=False)
    y: FloatArray = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    left: tuple[str, ...] = field(default=(), repr=False)
    skipped: tuple[BadLine, ...] = field(default=(), repr=False)

    def reliability(self, name: str, **options: Any) -> Reliability:
        """Reliability diagram of a forecaster, on all rounds in which he gave a forecast; see ``reliability``."""
        p = self.P[:, self.names.index(name)]
        spoke = ~np.isnan(p)
        return reliability(p[spoke], self.y[spoke], **options)

    @property
    def surely_best(self) -> str | None:
        """Who is clearly better than each of the others, if somebody is."""
        best = next(iter(self.scores))
        against = [pair for pair in self.pairs if best in (pair.better, pair.worse)]
        return best if against and all(pair.clear and pair.better == best for pair in against) else None

    @property
    def ranking(self) -> str:
        """Who is first, and how sure that is, in a sentence."""
        best, *others = self.scores
        name = escaped(best)
        if not others:
            return f"{name} is the only one"
        if self.surely_best:
            return f"{name} is best, with {self.confidence} confidence in all that is clear here"
        beaten = ", ".join(escaped(pair.worse) for pair in self.pairs if pair.better == best and pair.clear)
        return f"{name} is first, {f'by now clearly better than {beaten}' if beaten else 'which is not yet clear'}"

    @property
    def table(self) -> str:
        """The forecasters, the best first, a line each."""
        width = max(len("forecaster"), *(len(escaped(name)) for name in self.scores))
        titles = ("Brier", "MCB", "DSC", "UNC", "skill", "log score")
        lines = [f"{'forecaster':{width}} {'rounds':>8}" + "".join(f"{title:>10}" for title in titles)]
        for each in self.scores.values():
            parts = each.brier
            numbers = (parts.score, parts.miscalibration, parts.discrimination, parts.uncertainty, each.skill)
            cells = "".join(f"{number:>10.5f}" for number in (*numbers, each.log.score))
            lines.append(f"{escaped(each.name):{width}} {self.rounds:>8,}{cells}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n".join([self.table, "", *(sentence(pair, self.confidence) for pair in self.pairs), self.ranking])

    @property
    def confidence(self) -> str:
        """Of all pairs together, in percent."""
        return f"{100 * (1 - self.alpha):.6g} %"

    def to_json(self) -> str:
        """JSON text; what is infinite or not a number is null there."""
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
            {name: getattr(pair, name) for name in OF_A_PAIR} | {"rounds": len(pair.rounds)} for pair in self.pairs
        ]
        data = {
            "rounds": self.rounds,
            "base_rate": self.base_rate,
            "alpha": self.alpha,
            "surely_best": self.surely_best,
            "forecasters": scores,
            "pairs": pairs,
        }
        return json.dumps(finite(data))


def sentence(pair: Pair, confidence: str) -> str:
    """What is known of a pair, in words."""
    interval = (
        f"difference {pair.difference:+.5f}, {confidence} confidence sequence [{pair.low:+.5f}, {pair.high:+.5f}]"
    )
    better, worse = escaped(pair.better), escaped(pair.worse)
    if pair.clear_since is not None:
        said = f"{better} is better than {worse}: {interval}, clear since round {pair.clear_since:,}"
    else:
        evidence = f"not yet clear (evidence {pair.evidence:.3g} of {pair.enough:.3g})"
        said = f"{better} or {worse}? {interval}, {evidence}"
    return f"{said}; the log score says the opposite" if pair.log_difference > 0 else said
