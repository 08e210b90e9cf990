"""Compare the experts of a table, the rules that mix them, and the best choice in hindsight."""

from mistakebound.experts.comparison.compare import Comparison, compare

__all__ = ["Comparison", "compare"]
