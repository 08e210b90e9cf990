"""What would have been best in hindsight: an expert, a convex or linear combination, a sequence of experts.

Each comes with its gap: a proof, by a lower bound computed beside it, of how far from the best it can be at most.
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
