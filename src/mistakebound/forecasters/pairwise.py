"""Rank forecasters by pairs, each on its common rounds, if there is no round in which all gave a forecast."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mistakebound._support.text import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound.forecasters.verdict import Pair


class PairwiseStanding(NamedTuple):
    """How many others a forecaster is better and worse than, each on the common rounds of the two."""

    name: str
    better: int
    clearly_better: int
    worse: int
    clearly_worse: int
    without_common_round: int


def pairwise_standing(name: str, pairs: Sequence[Pair], forecasters: int) -> PairwiseStanding:
    """Return the standing of a forecaster."""
    won = [pair.clear for pair in pairs if pair.better == name]
    lost = [pair.clear for pair in pairs if pair.worse == name]
    return PairwiseStanding(name, len(won), sum(won), len(lost), sum(lost), forecasters - 1 - len(won) - len(lost))


def pairwise_order(names: Sequence[str], pairs: Sequence[Pair]) -> list[str]:
    """Return the names by the number of others that they are better than, minus those that they are worse than.

    Equal ones are ordered by the sum of their differences.
    """

    def key(name: str) -> tuple[int, float]:
        found = pairwise_standing(name, pairs, len(names))
        own = (pair.difference if pair.better == name else -pair.difference for pair in pairs if name in pair.names)
        return found.worse - found.better, sum(own)

    return sorted(names, key=key)


def pairwise_table(standings: Sequence[PairwiseStanding]) -> str:
    """Return the standings as text, with a warning that the scores of the forecasters are not comparable."""
    width = max(len("forecaster"), *(len(escaped(each.name)) for each in standings))
    titles = ("better", "clearly", "worse", "clearly", "no common round")
    widths = [max(len(title), 7) for title in titles]
    lines = [
        "not comparable: there is no round in which all gave a forecast, so the scores are over different rounds;",
        "the ranking counts how many others each one is better than, on the rounds in which both gave a forecast:",
        f"{'forecaster':{width}}" + "".join(f" {title:>{wide}}" for title, wide in zip(titles, widths, strict=True)),
    ]
    for each in standings:
        cells = "".join(f" {count:>{wide},}" for count, wide in zip(each[1:], widths, strict=True))
        lines.append(f"{escaped(each.name):{width}}{cells}")
    return "\n".join(lines)
