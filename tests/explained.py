"""Checks of the explanations of a panel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from panel_streams import STREAMS

from mistakebound.learners.explanation import GUARD, UNIFORM
from mistakebound.rules.panel_members import MEMBERS

if TYPE_CHECKING:
    from mistakebound.learners.explanation import Explanation
    from mistakebound.play.parts import Parts


def check(found: Explanation) -> Explanation:
    """The terms add up to the logit, those of each member to what it adds; the largest come first.

    Sums are exact to float64: relative to the sizes of the terms, because large terms may cancel.
    """
    size = math.fsum(abs(term.adds) for term in found.terms)
    assert found.logit is not None
    assert found.probability is not None
    assert math.fsum(term.adds for term in found.terms) == pytest.approx(found.logit, rel=1e-12, abs=1e-12 * size)
    assert found.probability == pytest.approx(1 / (1 + math.exp(-found.logit)), rel=1e-9, abs=1e-12)
    sizes = [abs(term.adds) for term in found.terms]
    assert sizes == sorted(sizes, reverse=True)
    others = [term.adds for term in found.terms if term.name in (GUARD, UNIFORM) and not term.features]
    assert math.fsum([*others, *(each.adds for each in found.members)]) == pytest.approx(
        found.logit, rel=1e-9, abs=1e-9 * (1 + size)
    )
    for each in found.members:
        through = math.fsum(term.by_member.get(each.name, 0.0) for term in found.terms)
        assert through == pytest.approx(each.adds, rel=1e-8, abs=1e-8 * (1 + size))
    return found


def check_parts(parts: Parts, members: tuple[str, ...]) -> None:
    """What the parts add to the score of each member is its score, up to float32 rounding: nothing is left out."""
    triples = parts.slots[:, 2] >= 0
    for i, name in enumerate(members):
        number = MEMBERS.index(name) if name in MEMBERS else len(MEMBERS)
        if number < 11:
            found = parts.of_places[:, number]
        elif number < 15:
            found = parts.of_slots[triples if number > 12 else ~triples, (number - 11) % 2]
        else:
            continue
        close = 3e-6 * (1 + np.abs(found).sum(axis=0))
        assert (np.abs(found.sum(axis=0) - parts.scores[i]) <= close).all(), name


def classes_of(stream: str, count: int) -> tuple[Any, list[int]]:
    """The rows of a stream, with labels that depend on the label and on the first feature and its value."""
    rows, labels = STREAMS[stream]()
    kinds = [int(2 * row[0][0] + 300 * abs(row[0][1])) if row else 0 for row in rows]
    return rows, [(kind + (y > 0)) % count for kind, y in zip(kinds, labels, strict=True)]
