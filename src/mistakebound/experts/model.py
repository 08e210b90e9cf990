"""Save a learner over experts to a model file, and load it: numbers and JSON, never pickle, with the same bits.

The file holds the class, its present parameters, and the play: the parameters that it began with, the experts, the
state of the rule, the predictions, and the advice that is kept for certificates.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound import experts
from mistakebound._support import schema
from mistakebound._support.atomic_file import replace
from mistakebound._support.schema import need
from mistakebound.aggregation.registry import EXPERT_RULES
from mistakebound.errors import ModelError
from mistakebound.experts.aggregation import Aggregation
from mistakebound.experts.majority import RandomizedWeightedMajority, WeightedMajority
from mistakebound.experts.mixture_model import mixture_to_file, restored_mixture
from mistakebound.experts.mixture_play import MixturePlay
from mistakebound.experts.model_fields import constructed, encoded_parameters
from mistakebound.experts.vote_model import draws_to_file, restore_draws, restored_votes, votes_to_file
from mistakebound.models.container import pack, unpack
from mistakebound.play.tickets import Tickets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mistakebound._support.arrays import AnyArray

KINDS: dict[str, type[Aggregation | WeightedMajority]] = {
    each.learner: getattr(experts, each.learner) for each in EXPERT_RULES
}
"""The classes that a file may name; no other class is ever looked up."""
STATE = "Comparison"
"""What the state of a comparison names instead of a class; `comparison.state_file` reads it."""


def save(learner: Aggregation | WeightedMajority, path: str | os.PathLike[str]) -> None:
    """Write a learner to a file, as a whole or not at all; raise ModelError for what a file cannot hold."""
    try:
        ours = KINDS.get(type(learner).__name__) is type(learner)
        need(ours, f"only the rules of mistakebound can be saved, got {type(learner).__name__}")
        with learner._lock:  # noqa: SLF001 - a model file holds the whole state
            header, arrays = to_file(learner)
        restored(header, arrays)  # a file that could not be loaded must not be written
        by_width = dict(sorted(arrays.items(), key=lambda each: -each[1].itemsize))
        parts = pack(header, by_width)
    except ModelError as error:
        message = f"cannot save {os.fspath(path)}: {error}"
        raise ModelError(message, field=error.field) from None
    replace(Path(os.path.realpath(path)), parts)


def load(path: str | os.PathLike[str]) -> Aggregation | WeightedMajority:
    """Return the learner in a file; raise ModelError if the file does not hold one."""
    data = Path(path).read_bytes()
    try:
        learner: Aggregation | WeightedMajority = restored(*unpack(data))
    except ModelError as error:
        message = f"cannot load {os.fspath(path)}: {error}"
        raise ModelError(message, field=error.field) from None
    return learner


def to_file(learner: Any) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the JSON object and the arrays of a learner's file."""
    play = learner._play  # noqa: SLF001
    fields: Any = None
    arrays: dict[str, AnyArray] = {}
    if play is not None:
        fields, arrays = mixture_to_file(play) if isinstance(play, MixturePlay) else votes_to_file(play)
    header = {
        "learner": type(learner).__name__,
        "parameters": encoded_parameters(learner),
        "tickets": None if learner._tickets is None else learner._tickets.to_json(),  # noqa: SLF001
        "draws": draws_to_file(learner._chooser) if isinstance(learner, RandomizedWeightedMajority) else None,  # noqa: SLF001
        "play": fields,
    }
    return header, {name: np.ascontiguousarray(each).ravel() for name, each in arrays.items()}


def restored(header: dict[str, Any], arrays: Mapping[str, AnyArray]) -> Any:
    """Return the learner that a file describes; raise ModelError with the field that is wrong."""
    need(
        header.get("learner") != STATE,
        "it holds a state of experts: pass it to mb.experts.compare(load=...)",
        "learner",
    )
    name, parameters, tickets, draws, play = schema.fields(header, "learner", "parameters", "tickets", "draws", "play")
    kind = KINDS[schema.text(name, "learner", KINDS)]
    learner: Any = constructed(kind, parameters, "parameters")
    learner._tickets = Tickets.from_json(tickets)  # noqa: SLF001
    randomized = kind is RandomizedWeightedMajority
    need((draws is not None) == randomized, "draws are only valid for a randomized rule, which needs them", "draws")
    if draws is not None:
        restore_draws(learner._chooser, draws)  # noqa: SLF001
    need(play is not None or not arrays, "there are tensors, but no play", "play")
    if play is not None:
        learner._play = (  # noqa: SLF001
            restored_mixture(kind, play, arrays)
            if issubclass(kind, Aggregation)
            else restored_votes(kind, play, arrays, learner)
        )
    return learner
