"""The best choice in hindsight: an expert, a convex or linear combination, or a sequence of experts.

Each result has a gap, computed from a lower bound: the true optimum is at most this much better.

See docs/theory.md, "The best combination and the best sequence".
"""

from mistakebound.hindsight.oracles.base import CheckedForecasts, Oracle, checked_forecasts, expert_losses
from mistakebound.hindsight.oracles.combinations import best_convex, best_linear
from mistakebound.hindsight.oracles.sequences import best_expert, best_switching

__all__ = [
    "CheckedForecasts",
    "Oracle",
    "best_convex",
    "best_expert",
    "best_linear",
    "best_switching",
    "checked_forecasts",
    "expert_losses",
]
