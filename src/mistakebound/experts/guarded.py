"""Guarded Weighted Majority: follow any advice, and keep the mistake bound of the experts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from mistakebound._support.locks import guarded
from mistakebound.aggregation.registry import OPEN_SHARE
from mistakebound.experts.guarded_play import GuardedPlay, advice_list
from mistakebound.experts.majority import WeightedMajority
from mistakebound.experts.votes import is_bit
from mistakebound.play.tickets import Asked

if TYPE_CHECKING:
    from mistakebound._support.arrays import FloatArray
    from mistakebound.aggregation.registry import Parameter
    from mistakebound.experts.vote_play import VotePlay
    from mistakebound.play.guarded_ledger import GuardedLedger


class Guarded(WeightedMajority):
    """Follow any advice while the bound of Weighted Majority allows it, otherwise the weighted vote of the experts.

    The advice may come from anywhere: a neural net, a rule base, a person. For β = 1/2 the learner makes at most
    ``2.41(m + lg n)`` mistakes on any stream, whatever the advice is, where m is the number of mistakes of the best of
    n experts. It follows the advice while ``W(β + (1−β)τ*) ≤ ((1+β)/2)^(M+1)``: W is the weight of the experts, 1 at
    the start; τ* the largest share of it that votes for one label other than the advice; M the number of mistakes so
    far. In every round, the weight of each wrong expert is multiplied by β. See docs/theory.md, "Guarded Weighted
    Majority".

    Votes, names, ties, sleeping and new experts are those of `WeightedMajority`. Without advice (None or NaN) the
    experts vote. Advice is always followed unless more than half of the weight is behind one other label. If the
    advice is also passed as one of the experts, the bound holds for its own mistakes, too.

    Parameters
    ----------
    beta : float, optional
        0 < β < 1; the default is ½.
    eta, prior
        As in `WeightedMajority`.

    Examples
    --------
    >>> import mistakebound as mb
    >>> guard = mb.experts.Guarded()
    >>> ledger = guard.run([["a", "b", "c"]] * 6, ["c"] * 6, advice=["b"] * 6)  # advice that is always wrong
    >>> ledger.mistakes, ledger.advice_mistakes, ledger.overrides, ledger.override_rounds.tolist()
    (3, 6, 3, [3, 4, 5])
    >>> guard.certify().status
    'holds'
    """

    id: ClassVar[str] = "guarded-weighted-majority"
    beta_range: ClassVar[Parameter] = OPEN_SHARE
    play_class: ClassVar[type[VotePlay]] = GuardedPlay

    @guarded
    def predict_one(self, votes: Any, advice: Any = None) -> Any:  # type: ignore[override]  # others call the votes advice
        """Return the advice or the label with the most weight. New experts join only when the round is learned."""
        with self._playing() as play:
            return play.predict(votes, advice)

    @guarded
    def weights_for(self, votes: Any) -> FloatArray:
        """Return the weights that these votes would have, summing to 1: 0 for sleeping experts; new ones come last."""
        return super().weights_for(votes)

    @guarded
    def learn_one(self, votes: Any, outcome: Any, advice: Any = None) -> None:  # type: ignore[override]  # others call the votes advice
        """Predict, then charge every expert that is wrong about the outcome.

        While all outcomes are 0 and 1, a vote or advice such as 0.9 raises StreamError, because it is probably a
        probability.
        """
        with self._playing() as play:
            play.one(votes, outcome, advice, bits=play.bits and is_bit(outcome))

    @guarded
    def ask(self, votes: Any, advice: Any = None) -> Asked:  # type: ignore[override]  # others call the votes advice
        """Return a prediction whose outcome is not known yet; pass it to `tell`, once, with the outcome.

        Examples
        --------
        >>> import mistakebound as mb
        >>> guard = mb.experts.Guarded()
        >>> monday = guard.ask(["sun", "rain", "rain"], advice="sun")
        >>> guard.tell(monday, "rain")
        >>> monday.prediction, guard.ledger_.mistakes, guard.ledger_.override_rounds.tolist()
        ('rain', 0, [0])
        """
        with self._playing() as play:
            served = play.serve(votes, advice)
        return self._tickets.add(Asked(served.prediction, served.number, served))

    @guarded
    def run(self, V: Any, y: Any, advice: Any = None, *, keep_weights: bool = False) -> GuardedLedger:
        """Predict, then learn, over a whole stream.

        Parameters
        ----------
        V : array, DataFrame, dict of columns, or sequence of rounds
            A row holds each expert's vote in a round.
        y : sequence
            An outcome for each round.
        advice : sequence, optional
            An advised label for each round; None or NaN where there is none.
        keep_weights : bool
            Keep the weights of each round, rounds × experts. The rounds are then played one by one, which is slower.

        Returns
        -------
        GuardedLedger
            The ledger of these rounds; that of all rounds is `ledger_`. It has all that the ledger of
            `WeightedMajority` has, and the ``override_rounds`` in which the prediction was not the advice, their number
            ``overrides``, and the ``advice_mistakes`` in the ``advice_rounds`` in which there was advice.

        Examples
        --------
        >>> import mistakebound as mb
        >>> ledger = mb.experts.Guarded().run({"Ann": [1, 1, 0], "Bob": [0, 1, 0]}, [1, 1, 0], advice=[0, 1, None])
        >>> ledger.mistakes, ledger.overrides, ledger.advice_rounds
        (1, 0, 2)
        """
        outcomes = y if hasattr(y, "__len__") else list(y)
        given = advice_list(advice, len(outcomes))
        with self._playing() as play:
            return play.run(V, outcomes, given, keep_weights=keep_weights)  # type: ignore[return-value]
