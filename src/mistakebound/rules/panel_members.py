"""The members and mixers of the Panel by name, and their weights at the start."""

from __future__ import annotations

MEMBERS = (
    "coin-betting",
    "implicit-logistic",
    "arow",
    "adagrad-logistic",
    "adagrad-hinge",
    "ftrl-proximal",
    "logistic-sgd",
    "balanced-winnow",
    "exponentiated-gradient",
    "naive-bayes",
    "decision-list",
    "coin-betting-pairs",
    "adagrad-pairs",
    "coin-betting-triples",
    "adagrad-triples",
    "label-history",
)
"""The members in the order of the core."""
LEAN = tuple(
    name for name in MEMBERS if name not in {"adagrad-hinge", "logistic-sgd", "balanced-winnow", "adagrad-triples"}
)
"""The members of a lean panel, which is almost as accurate, is faster and takes less memory."""
ROSTERS = {"all": MEMBERS, "lean": LEAN}
"""Names for sets of members."""
MIXERS = ("mixer-fast", "mixer-slow", "mixer-gradient")
PRIOR_OF_MIXERS, PRIOR_OF_MEMBERS = (0.47, 0.47, 0.05), 0.01
"""The weights in the Bayes mixture at the start: of each mixer, and of all members together."""
CLASS_PRIOR = "class-prior"
"""With several classes, a panel has one more member: it predicts the relative frequency of each label."""
EVEN = 0.5
"""The default of ``PanelRule.cut``."""
MOST_JOINED = 48
"""The largest number of members from outside."""


def priors(members: int) -> list[float]:
    """Return the weights of the members and of the mixers in the Bayes mixture at the start.

    >>> priors(2)
    [0.005, 0.005, 0.47, 0.47, 0.05]
    """
    return [PRIOR_OF_MEMBERS / members] * members + [*PRIOR_OF_MIXERS]


def mask_of(members: tuple[str, ...]) -> int:
    """Return a number with a bit for each of these members.

    >>> mask_of(("coin-betting", "arow"))
    5
    """
    return sum(1 << MEMBERS.index(name) for name in members)
