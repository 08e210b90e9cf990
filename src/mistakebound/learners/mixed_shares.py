"""The shares with which parts are mixed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mistakebound.play.mixing import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Sequence

BY_MISTAKES = "mistakes"


def shares_of(shares: Any, rounds: Sequence[int], updates: Sequence[int]) -> list[float]:
    """Return the share of each part, given the rounds and the updates of each since the start.

    None stands for equal shares of the parts that have learned, and "mistakes" for shares in proportion to the updates.

    >>> shares_of(None, [5, 0, 7], [1, 0, 3]), shares_of("mistakes", [5, 0, 7], [1, 0, 3])
    ([0.5, 0.0, 0.5], [0.25, 0.0, 0.75])
    """
    if shares is None or (isinstance(shares, str) and shares == BY_MISTAKES):
        counts: Sequence[int] = [int(own > 0) for own in rounds]
        if shares is not None and any(updates):
            counts = updates
        total = math.fsum(counts)
        return [count / max(total, 1.0) for count in counts]
    if isinstance(shares, str):
        message = f'shares must be numbers, "{BY_MISTAKES}" or None, got {shares!r}'
        raise ValueError(message)
    found = [float(each) for each in shares]
    if len(found) != len(rounds):
        message = f"shares must have a number for each of the {len(rounds)} parts, got {len(found)}"
        raise ValueError(message)
    if not all(0 <= each <= 1 for each in found) or abs(math.fsum(found) - 1) > ROUNDING:
        message = f"shares must be numbers of at least 0 that sum to 1, got {found}"
        raise ValueError(message)
    return found
