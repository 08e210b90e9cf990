"""Experts of a table, compared: each expert, rules that mix them, and what would have been best in hindsight."""

from mistakebound.experts.comparison.compare import Comparison, compare

__all__ = ["Comparison", "compare"]
