"""One learner over experts from learners that continued from copies of the same one: their losses are added.

With a fixed rate, the weights are a function of the total losses of the experts, so the sum is exact: the weights are
those of one learner that learned all rounds, in any order. They would not be if an expert slept in a part, because it
is then charged the loss of the learner, or if losses were linearised at the learner's forecasts.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mistakebound.aggregation.exponential import ExpConcave, Exponential
from mistakebound.aggregation.reference import SUMS, Mixture
from mistakebound.experts.aggregation import Aggregation
from mistakebound.experts.majority import WeightedMajority
from mistakebound.experts.vote_play import VotePlay
from mistakebound.experts.votes import joined_labels
from mistakebound.models import engine_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mistakebound._support.arrays import AnyArray
    from mistakebound.experts.advice import Roster
    from mistakebound.experts.mixture_play import MixturePlay

VOTING = ("weighted-majority", "randomized-weighted-majority", "halving")
WORKS = (
    "mix WeightedMajority, RandomizedWeightedMajority or Halving; or, with gradient=False, Hedge with eta or horizon, "
    "or ExponentiallyWeightedAverage with eta"
)
ADDED = (*SUMS, "R", *(f"sums.{name}" for name in SUMS))
"""Arrays of an engine's state that are sums over rounds, with a number for each expert."""
TOTALS = [2, 5, 6]
"""Places of sums over rounds in the array ``numbers`` of the core."""


class Part(NamedTuple):
    """The play of a part, and the places of the experts of the result among its own."""

    play: Any
    order: list[int]


def is_over_experts(learner: Any) -> bool:
    """Return whether this is a learner over experts."""
    return isinstance(learner, (Aggregation, WeightedMajority))


def mix_experts(start: Any, parts: Sequence[Any], shares: Any = None) -> Any:
    """Return one learner that has learned what the parts have learned; see ``mistakebound.mix``."""
    parts = list(parts)
    if not parts:
        message = "parts must have at least one learner"
        raise ValueError(message)
    if shares is not None:
        message = f"shares is not valid for experts, because their losses are added, got {shares!r}"
        raise ValueError(message)
    _check_kinds(start, parts)
    _check_rule(next((each._play.built_with for each in (start, *parts) if each._play is not None), start))
    past = start._play
    before = 0 if past is None else past.rounds
    learned = {place: part for place, part in enumerate(parts) if part._play is not None and part._play.rounds > before}
    if not learned:
        return deepcopy(start)
    first = next(iter(learned.values()))
    base = past if past is not None and past.roster.n else _empty_play(first)
    for place, part in learned.items():
        if not _begins_with(part._play, base):
            _refuse(place, "its first rounds are not those of start")
    if len(learned) == 1:
        return deepcopy(first)
    used = [_checked(place, part._play, base) for place, part in learned.items()]
    found = type(start)(**start.get_params())
    if isinstance(base, VotePlay):
        longest = max(learned.values(), key=lambda part: part._play.rounds)
        found._chooser = deepcopy(longest._chooser)  # its random numbers were not used by the others, either
        found._play = _mixed_votes(base, used, found._chooser)
    else:
        found._play = _mixed_forecasts(base, used)
    found._play.mixed = True
    return found


def _empty_play(learner: Any) -> Any:
    """Return a play that has learned nothing, with the experts of this learner."""
    like = learner._play
    play: Any
    if isinstance(like, VotePlay):
        play = type(like)(deepcopy(like.built_with), learner._chooser)
        play._join(like.roster.n, like.roster.names)
        return play
    play = type(like)(deepcopy(like.built_with))
    play._engine_with(like.roster.n, like.roster.names, vectors=bool(like.shape))
    play.shape = like.shape
    return play


# ---------------------------------------------------------------------- votes


def _mixed_votes(base: VotePlay, parts: Sequence[Part], chooser: Any) -> VotePlay:
    """Return the play with the losses of all parts."""
    play = type(base)(deepcopy(base.built_with), chooser)
    play.roster = deepcopy(base.roster)
    play.mistakes, play.awake, play.charged = base.mistakes.copy(), base.awake.copy(), base.charged.copy()
    play.rounds, play.late, play.expected, play.bits = base.rounds, base.late, base.expected, base.bits
    wrong = _joined_rounds(base)
    if base.rounds:  # both lists have the same number of parts
        play.predictions, play.wrong = [joined_labels(base.predictions)], [wrong]
    for part, order in parts:
        play.mistakes += part.mistakes[order] - base.mistakes
        play.awake += part.awake[order] - base.awake
        play.predictions.append(joined_labels(part.predictions)[base.rounds :])
        play.wrong.append(_joined_rounds(part)[len(wrong) :] - base.rounds + play.rounds)
        play.rounds += part.rounds - base.rounds
        play.late += part.late - base.late
        play.expected += part.expected - base.expected
        play.bits = play.bits and part.bits
    play.core = play.built_with.engine(play.beta)
    play.core.join(base.core.losses() + (play.mistakes - base.mistakes))
    return play


def _joined_rounds(play: VotePlay) -> AnyArray:
    return np.concatenate([np.zeros(0, np.int64), *play.wrong])


# ---------------------------------------------------------------------- forecasts


def _mixed_forecasts(base: MixturePlay, parts: Sequence[Part]) -> MixturePlay:
    """Return the play with the losses of all parts."""
    play = deepcopy(base)
    play.shape = parts[0].play.shape  # a start that has learned nothing has none
    width = int(np.prod(play.shape or ()))
    for part, order in parts:
        play.forecasts.extend(part.forecasts[base.rounds * width :])
        play.kept.extend(part.kept, base.rounds, order, play.roster.prior)
        play.late += part.late - base.late
        play.losses.extend(part.losses[base.rounds :])
    engine: Any = play.engine
    start = engine_state.export(engine)
    numbers, arrays = dict(start[0]), {name: each.copy() for name, each in start[1].items()}
    for part, order in parts:
        _add_state(numbers, arrays, start, engine_state.export(part.engine), order)
    if "stale" in numbers:
        numbers |= {"since": 0, "stale": True}  # the core computes the weights again
    engine_state.restore(engine, numbers, arrays, play.shape or ())
    return play


def _add_state(
    numbers: dict[str, Any], arrays: dict[str, AnyArray], start: Any, state: Any, order: Sequence[int]
) -> None:
    """Add what an engine has learned since the start."""
    (old, old_arrays), (new, new_arrays) = start, state
    for name in ("played", "rounds", "gaps"):
        if name in numbers:
            numbers[name] += new[name] - old[name]
    for name in ADDED:
        if name in arrays:
            arrays[name] += new_arrays[name][list(order)] - old_arrays[name]
    if "numbers" in arrays:
        arrays["numbers"][TOTALS] += new_arrays["numbers"][TOTALS] - old_arrays["numbers"][TOTALS]


# ---------------------------------------------------------------------- checks


def _check_kinds(start: Any, parts: Sequence[Any]) -> None:
    like = _parameters(start)
    for place, part in enumerate(parts):
        if type(part) is not type(start):
            _refuse(place, f"it is a {type(part).__name__}, and start is a {type(start).__name__}")
        if start._play is not None and start._play.rounds and part._play is None:
            _refuse(place, "it has not learned anything, and start has")
        if _parameters(part) != like:
            _refuse(place, f"it has the parameters {_parameters(part)}, and start has {like}")
    plays = [each._play for each in (start, *parts) if each._play is not None]
    if len({play.loss.id for play in plays if not isinstance(play, VotePlay)}) > 1:
        message = "some of the learners have learned from losses alone (run_losses), and others from forecasts"
        raise ValueError(message)


def _parameters(learner: Any) -> dict[str, Any]:
    """Return the parameters that the learner began with; the prior as text, because an array has no single truth."""
    found: dict[str, Any] = (learner if learner._play is None else learner._play.built_with).get_params()
    return found | ({"prior": repr(found["prior"])} if "prior" in found else {})


def _check_rule(learner: Any) -> None:
    """Raise ValueError unless the weights are a function of the experts' total losses."""
    name, why = type(learner).__name__, ""
    if isinstance(learner, WeightedMajority):
        if learner.id not in VOTING:
            why = "what it may follow depends on its own mistakes"
    else:
        forecaster: Any = learner._make(np.full(2, 0.5)).forecaster
        fixed = type(forecaster) is Mixture and type(forecaster.rule) in (Exponential, ExpConcave)
        if not fixed:
            why = (
                "its weights are not a function of the experts' total losses: its rate adapts, or it has further state"
            )
        elif learner.uses_gradient and learner._loss.id != "given":
            why = "it learns from losses linearised at its own forecasts (gradient=True)"
    if why:
        message = f"{name} cannot be mixed: {why}; {WORKS}"
        raise ValueError(message)


def _checked(place: int, part: Any, base: Any) -> Part:
    """Return the part; raise ValueError unless it has the same experts as the start, and all were awake."""
    order = _order(place, part.roster, base.roster)
    slept = _awake(part)[order] - _awake(base) < part.rounds - base.rounds
    if slept.any():
        expert = base.roster.display_name(int(np.argmax(slept)))
        message = (
            f"part {place} cannot be mixed: expert {expert} slept in a round of it, so its weight depends on the "
            "predictions of the learner, and not only on losses; pass advice of every expert in every round"
        )
        raise ValueError(message)
    return Part(part, order)


def _order(place: int, own: Roster, base: Roster) -> list[int]:
    """Return the places of the experts of the start among those of a part."""
    order = list(range(base.n))
    if (own.names is None) != (base.names is None) or own.n != base.n or set(own.names or ()) != set(base.names or ()):
        message = (
            f"part {place} cannot be mixed: it has the experts {_listed(own)}, and those before it have "
            f"{_listed(base)}; an absent expert sleeps, and its weight then depends on the learner's predictions"
        )
        raise ValueError(message)
    if own.names is not None:
        order = [own.names.index(name) for name in base.names or ()]
    if not np.allclose(own.prior()[order], base.prior(), rtol=1e-12, atol=0):
        _refuse(place, "its experts have another prior; pass the prior as a dict by name")
    return order


def _listed(roster: Roster) -> str:
    return f"{roster.n} without names" if roster.names is None else ", ".join(map(repr, roster.names))


def _awake(play: Any) -> AnyArray:
    """Return the number of rounds in which each expert was awake."""
    return np.asarray(play.awake if isinstance(play, VotePlay) else play.engine.sums["rounds"])


def _begins_with(part: Any, base: Any) -> bool:
    """Return whether the record of a part begins with that of the start."""
    if not base.rounds:
        return isinstance(base, VotePlay) or base.shape in (None, part.shape)
    if isinstance(base, VotePlay):
        own = _joined_rounds(part)
        same = joined_labels(part.predictions)[: base.rounds].tolist() == joined_labels(base.predictions).tolist()
        return same and np.array_equal(own[own < base.rounds], _joined_rounds(base))
    count = len(base.forecasts)
    return bool(part.losses[: base.rounds] == base.losses and part.forecasts[:count] == base.forecasts)


def _refuse(place: int, why: str) -> None:
    message = f"part {place} does not continue from start: {why}"
    raise ValueError(message)
