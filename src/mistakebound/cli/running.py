"""Bounds that can be told while a run goes on: those that cost nothing and look for no comparator in hindsight.

A theorem that speaks of the best comparator (a margin, a distribution, hinge losses) needs all mistaken rounds and a
search: of those the table shows –, and ``--certify`` finds them at the end. What is left:

Elimination
    A mistake on a negative example strikes out at least one of the n features seen so far, so there are at most n such
    mistakes; and as long as no positive example was missed, there are no others. This supposes nothing. A missed
    positive shows that the label is no OR of the features: then there is no bound.
Winnow with ``--relevant R``
    The user says that the label is an OR of R features: Littlestone's bound. It holds with n the number of features so
    far, since the weights of features that never came neither rose nor fell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from mistakebound.learners.linear import LinearLearner
    from mistakebound.play.ledger import Ledger


def running_bound(model: LinearLearner, relevant: int | None, *, loaded: bool) -> Callable[[Ledger, int], float | None]:
    """What may be shown of this learner, as a function of a part's ledger and of the positives that this run missed."""
    kind = type(model).__name__
    missed_before = model.ledger_.false_negatives if loaded else 0

    def of_elimination(part: Ledger, missed: int) -> float | None:
        from mistakebound import bounds  # noqa: PLC0415 - most runs do without

        seen = part.n - part.named  # there, one slot stands for all names that are not known yet
        return None if missed_before + missed or not seen else bounds.elimination(seen)

    def of_winnow(part: Ledger, _: int) -> float | None:
        from mistakebound import bounds  # noqa: PLC0415

        rule: Any = part.rule
        seen = part.n - part.named
        return (
            None
            if not seen
            else bounds.littlestone(seen, min(relevant or 0, seen), rule.alpha, rule.theta, rule.strict)
        )

    if relevant is not None and (kind != "Winnow" or getattr(model, "bias", False)):
        message = "--relevant is for winnow without a bias: no other theorem speaks of an OR of so many features"
        raise click.UsageError(message)
    if kind == "Elimination":
        return of_elimination
    return of_winnow if relevant is not None else lambda _part, _missed: None
