"""The colour of each learner: one mapping, so that a learner has the same colour in all charts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

COLOURS = 7
"""How many colours there are. The numbers from 7 on are the same colours with another style of line."""
NEUTRAL = 6
"""The colour of marks that belong to no learner, such as the place where two bounds cross."""

LINEAR = {
    "panel": 0,
    "winnow": 1,
    "perceptron": 2,
    "elimination": 3,
    "balanced-winnow": 4,
    "coin-betting": 5,
    "ftrl-proximal": 6,
    "naive-bayes": 7,
    "normalized-winnow": 8,
    "pnorm": 9,
    "implicit-logistic": 10,
    "arow": 11,
    "passive-aggressive-i": 12,
    "logistic-sgd": 13,
    "decision-list": 14,
    "averaged-perceptron": 16,
    "adagrad-logistic": 17,
    "exponentiated-gradient": 18,
    "passive-aggressive-ii": 19,
    "multiclass-perceptron": 23,
    "adagrad-hinge": 24,
}
OVER_EXPERTS = {
    "ml-poly": 0,
    "hedge": 1,
    "adahedge": 2,
    "fixed-share": 3,
    "boa": 4,
    "exponentially-weighted-average": 5,
    "ridge": 6,
    "ml-prod": 7,
    "squint": 8,
    "ogd": 9,
    "ml-ewa": 12,
    "guarded-weighted-majority": 0,
    "randomized-weighted-majority": 2,
    "halving": 3,
    "weighted-majority": 4,
}
OTHER_NAMES = {
    "normalisedwinnow": 1,
    "pnormperceptron": 2,
    "exponentialweights": 5,
    "guard": 0,
    "guarded": 0,
    "randomized": 2,
    "randomizedrule": 2,
}
"""Names in charts of experiments, which are not ids. There, normalised Winnow is also called Winnow."""

BOUND = re.compile(r"^bound (?:of|for|on) (?:the )?")


def key_of(name: str) -> str:
    """Return a name without spelling: letters and digits of what stands before a colon, a comma or a parameter.

    >>> [key_of(name) for name in ("Weighted Majority: 84 mistakes", "weighted-majority", "Hedge, mean")]
    ['weightedmajority', 'weightedmajority', 'hedge']
    """
    first = re.split(r"[:,(]| --|\s\S*=", BOUND.sub("", name), maxsplit=1)[0]
    return "".join(letter for letter in first.casefold() if letter.isalnum())


NUMBERS = {key_of(name): number for name, number in {**LINEAR, **OVER_EXPERTS, **OTHER_NAMES}.items()}


def colour_of(name: str) -> int:
    """Return the number of the colour of a learner.

    >>> colour_of("Perceptron") == colour_of("perceptron")
    True
    """
    return NUMBERS[key_of(name)]


def is_bound(name: str) -> bool:
    """Return whether a mark is the bound of a learner, by its name."""
    return BOUND.match(name) is not None


def assigned(names: Sequence[str], given: Sequence[int | None] = ()) -> list[int]:
    """Return a number for each name in a chart: that of the learner if it has one, otherwise one that is free.

    The bound of a learner has the number of the learner. All other numbers differ, and a colour that is not in the
    chart yet is preferred. ``given`` are the numbers that are chosen already, or None.

    >>> assigned(["Alice", "Winnow", "Panel", "bound of Winnow", "Bob"])
    [2, 1, 0, 1, 3]
    """
    found = dict(enumerate(given))
    owners: dict[int, str] = {}
    drawn: set[str] = set()
    for place, name in enumerate(names):
        key, bound = key_of(name), is_bound(name)
        number = NUMBERS.get(key)
        second = key in drawn and not bound  # another line of the same learner
        if found.get(place) is None and number is not None and not second and owners.setdefault(number, key) == key:
            found[place] = number
            drawn |= set() if bound else {key}
    used, numbers = set(owners), []
    for place in range(len(names)):
        chosen = found.get(place)
        numbers.append(free(used) if chosen is None else chosen)
        used.add(numbers[-1])
    return numbers


def free(used: set[int]) -> int:
    """Return the least number that is free, of a colour that is used least often.

    >>> free({0, 1, 9}), free(set(range(7)))
    (3, 7)
    """
    often = [sum(number % COLOURS == colour for number in used) for colour in range(COLOURS)]
    colour = often.index(min(often))
    return next(number for number in range(colour, colour + COLOURS * (len(used) + 1), COLOURS) if number not in used)
