"""Write the state of a comparison to a file, and read it: numbers and JSON, never pickle, with the same bits.

The file holds the options, the rows that were learned, and the learner of each rule as in its model file. Arrays that
are equal, such as the advice that every rule keeps, are stored once.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mistakebound._support import schema
from mistakebound._support.atomic_file import replace
from mistakebound._support.schema import need
from mistakebound.aggregation.registry import BY_ID, FOLLOWING
from mistakebound.data.columns import Frame, Places
from mistakebound.errors import InputError, ModelError, Option, message_text
from mistakebound.experts import model
from mistakebound.experts.comparison.advice import ColumnChoice, advice_of
from mistakebound.experts.comparison.results import RefusedRule
from mistakebound.experts.comparison.state import State
from mistakebound.experts.votes import joined_labels
from mistakebound.losses import loss_named
from mistakebound.models.container import pack, unpack
from mistakebound.models.parameters import decode, encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mistakebound._support.arrays import AnyArray

FIELDS = ("learner", "options", "columns", "rounds", "last", "labels", "rules", "refused", "shared")
OPTIONS = ("outcome", "experts", "classes", "positive", "advice", "ids", "loss", "parameters")


def save_state(state: State, path: str | os.PathLike[str]) -> None:
    """Write a state to a file, as a whole or not at all; raise ModelError for what a file cannot hold."""
    try:
        header, arrays = to_file(state)
        parts = pack(header, dict(sorted(arrays.items(), key=lambda each: -each[1].itemsize)))
    except ModelError as error:
        message = f"cannot save {os.fspath(path)}: {error}"
        raise ModelError(message, field=error.field) from None
    replace(Path(os.path.realpath(path)), parts)


def load_state(path: str | os.PathLike[str]) -> State:
    """Return the state in a file; raise ModelError if the file does not hold one."""
    data = Path(path).read_bytes()
    try:
        header, arrays = unpack(data)
        kind = header.get("learner")
        need(
            kind == model.STATE, f"it holds the model {schema.shown(kind)}, not a state that 'experts' saved", "learner"
        )
        return restored_state(header, arrays, os.fspath(path))
    except ModelError as error:
        message = f"cannot load {os.fspath(path)}: {error}"
        raise ModelError(message, field=error.field) from None


# ---------------------------------------------------------------------- to a file


def to_file(state: State) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the JSON object and the arrays of a state."""
    past, choice = state.past, state.choice
    need(past is not None, "nothing was learned yet")
    columns, arrays = columns_to_file(past)  # type: ignore[arg-type]
    rules = []
    for number, (rule, learner) in enumerate(state.learners.items()):
        header, of_rule = model.to_file(learner)
        rules.append({"rule": rule, "model": header})
        arrays |= {f"rule.{number}.{name}": each for name, each in of_rule.items()}
    options = {
        "outcome": state.outcome,
        **{name: list(getattr(choice, name)) for name in ("experts", "classes", "ids")},
        **{name: getattr(choice, name) for name in ("positive", "advice")},
        "loss": None if state.loss is None else state.loss.id,
        "parameters": {name: encode(each) for name, each in state.parameters.items() if each is not None},
    }
    stored, shared = without_repetitions(arrays)
    header = {
        "learner": model.STATE,
        "options": options,
        "columns": columns,
        "rounds": state.rounds,
        "last": state.last,
    }
    refused = [{"rule": each.rule, "reason": reason_to_file(each.error)} for each in state.refused]
    return header | {"labels": state.labels, "rules": rules, "refused": refused, "shared": shared}, stored


def reason_to_file(error: ValueError) -> list[Any]:
    """Return the parts of a message: texts, and options as objects."""
    if not isinstance(error, InputError):
        return [str(error)]
    place = error.text().removesuffix(message_text(error.message_parts))
    parts = [part._asdict() if isinstance(part, Option) else str(part) for part in error.message_parts]
    return [place, *parts] if place else parts


def columns_to_file(frame: Frame) -> tuple[list[dict[str, Any]], dict[str, AnyArray]]:
    """Return the columns of a frame: numbers as arrays, words as codes of the words that occur."""
    columns: list[dict[str, Any]] = []
    arrays: dict[str, AnyArray] = {}
    for number, name in enumerate(frame.names):
        if name in frame.numbers:
            columns.append({"name": name, "words": None})
            arrays[f"column.{number}"] = np.asarray(frame.numbers[name], np.float64)
        else:
            codes: dict[str, int] = {}
            coded = [codes.setdefault(word, len(codes)) for word in frame.words[name]]
            columns.append({"name": name, "words": list(codes)})
            arrays[f"column.{number}"] = np.array(coded, np.uint32)
    return columns, arrays


def without_repetitions(arrays: Mapping[str, AnyArray]) -> tuple[dict[str, AnyArray], dict[str, str]]:
    """Return the arrays that differ, and for each other array the name of the one that equals it."""
    stored: dict[str, AnyArray] = {}
    shared: dict[str, str] = {}
    seen: dict[tuple[str, bytes], str] = {}
    for name, each in arrays.items():
        flat = np.ascontiguousarray(each).ravel()
        first = seen.setdefault((flat.dtype.str, hashlib.sha256(flat.tobytes()).digest()), name)
        if first == name:
            stored[name] = flat
        else:
            shared[name] = first
    return stored, shared


# ---------------------------------------------------------------------- from a file


def restored_state(header: dict[str, Any], stored: Mapping[str, AnyArray], path: str) -> State:
    """Return the state that a file describes; raise ModelError with the field that is wrong."""
    _, options, columns, rounds, last, labels, rules, refused, shared = schema.fields(
        {"refused": [], **header}, *FIELDS
    )
    need(isinstance(shared, dict), "shared must be an object", "shared")
    for name, first in shared.items():
        need(type(first) is str and first in stored, f"shared.{name} is not one of the tensors", "shared")
        need(name not in stored, f"{name} is both shared and a tensor", "shared")
    arrays = {**stored, **{name: stored[first] for name, first in shared.items()}}
    state = restored_options(options)
    rounds = schema.whole(rounds, "rounds", 1, 2**31)
    state.last = schema.whole(last, "last", 1, rounds)
    state.labels = schema.texts(labels, "labels", distinct=True)
    state.past = restored_columns(columns, arrays, rounds, path)
    needed = {state.outcome, *state.choice.ids, *([state.choice.advice] if state.choice.advice else [])}
    needed |= set() if state.choice.classes else set(state.choice.experts)
    lacking = needed - {*state.past.names}
    need(not lacking, f"columns lacks {', '.join(sorted(lacking))}", "columns")
    for number, entry in enumerate(schema.items(rules, "rules")):
        rule, described = schema.fields(entry, "rule", "model", path=f"rules[{number}]")
        schema.text(rule, f"rules[{number}].rule", BY_ID)
        need(rule not in state.learners, f"rules[{number}].rule is repeated", "rules")
        prefix = f"rule.{number}."
        own = {name.removeprefix(prefix): each for name, each in arrays.items() if name.startswith(prefix)}
        need(isinstance(described, dict), f"rules[{number}].model must be an object", "rules")
        learner = model.restored(described, own)
        check_learner(learner, rule, state, rounds)
        state.learners[rule] = learner
    need(state.learners, "rules must not be empty", "rules")
    state.refused = [restored_refusal(each, f"refused[{k}]") for k, each in enumerate(schema.items(refused, "refused"))]
    check_rows(state)
    known = {*(f"column.{number}" for number in range(len(columns)))}
    of_rules = tuple(f"rule.{number}." for number in range(len(rules)))
    foreign = [name for name in arrays if name not in known and not name.startswith(of_rules)]
    need(not foreign, f"the tensor {foreign[0] if foreign else ''} is unknown", "tensors")
    state.rules = list(state.learners)
    return state


def restored_options(options: Any) -> State:
    """Return a state without rows, with the options of a file."""
    outcome, experts, classes, positive, advice, ids, loss, parameters = schema.fields(
        options, *OPTIONS, path="options"
    )
    lists = [
        schema.texts(value, f"options.{name}", distinct=True)
        for name, value in (("experts", experts), ("classes", classes), ("ids", ids))
    ]
    need(lists[0], "options.experts must not be empty", "options.experts")
    choice = ColumnChoice(
        experts=lists[0],
        classes=lists[1],
        ids=lists[2],
        positive=schema.optional(schema.text, positive, "options.positive"),
        advice=schema.optional(schema.text, advice, "options.advice"),
    )
    known = None
    if loss is not None:
        try:
            known = loss_named(schema.text(loss, "options.loss"))
        except ValueError as error:
            raise ModelError(str(error), field="options.loss") from None
    need(isinstance(parameters, dict), "options.parameters must be an object", "options.parameters")
    passed = {name: decode(value, f"options.parameters.{name}") for name, value in parameters.items()}
    return State(schema.text(outcome, "options.outcome"), choice, [], known, passed)


def restored_refusal(entry: Any, path: str) -> RefusedRule:
    """Return a rule that could not be run, and why."""
    rule, reason = schema.fields(entry, "rule", "reason", path=path)
    parts: list[str | Option] = []
    for part in schema.items(reason, f"{path}.reason"):
        if isinstance(part, dict):
            name, in_python, value = schema.fields(part, *Option._fields, path=f"{path}.reason")
            need(value is None or type(value) in schema.LABEL_TYPES, f"{path}.reason has an invalid value", path)
            schema.texts([name, in_python], f"{path}.reason")
            parts.append(Option(name, in_python, value))
        else:
            parts.append(schema.text(part, f"{path}.reason"))
    return RefusedRule(schema.text(rule, f"{path}.rule", BY_ID), InputError(*parts))


def restored_columns(columns: Any, arrays: Mapping[str, AnyArray], rounds: int, path: str) -> Frame:
    """Return the rows that were learned; their places are rows of the file."""
    frame = Frame(rows=rounds)
    for number, entry in enumerate(schema.items(columns, "columns")):
        name, words = schema.fields(entry, "name", "words", path=f"columns[{number}]")
        tensor, where = f"column.{number}", f"columns[{number}]"
        need(tensor in arrays, f"the tensor {tensor} is missing", tensor)
        values = arrays[tensor]
        need(values.size == rounds, f"{tensor} must have {rounds} values, got {values.size}", tensor)
        frame.names.append(schema.text(name, f"{where}.name"))
        if words is None:
            need(values.dtype == np.float64, f"{tensor} must have the dtype F64", tensor)
            frame.numbers[name] = values.copy()
        else:
            schema.texts(words, f"{where}.words", distinct=True)
            need(values.dtype == np.uint32, f"{tensor} must have the dtype U32", tensor)
            need((values < len(words)).all(), f"{tensor} has a code without a word", tensor)
            frame.words[name] = [words[code] for code in values.tolist()]
    need(len({*frame.names}) == len(frame.names), "columns has the same name twice", "columns")
    frame.places.append(Places(0, path, True, np.arange(1, rounds + 1)))
    return frame


def check_rows(state: State) -> None:
    """Raise ModelError unless the advice that the learners keep is that of the rows."""
    try:
        stream = advice_of(state.past, state.outcome, state.choice)  # type: ignore[arg-type]
        follower = next((rule for rule in state.learners if rule in FOLLOWING), None)
        stream = stream.as_labels(follower) if follower else stream
    except ValueError as error:
        message = f"the rows are not valid: {error}"
        raise ModelError(message, field="columns") from None
    need(stream.rounds == state.rounds, "a row has no outcome", "columns")
    need(not follower or stream.labels == state.labels, "labels must be those of the rows", "labels")
    wrong = stream.awake & (stream.past_forecasts != stream.outcomes[:, None]) if follower else np.zeros(0)
    for rule, learner in state.learners.items():
        ledger = learner.ledger_
        if rule in FOLLOWING:
            same = ledger.expert_mistakes.tolist() == wrong.sum(axis=0).tolist()
        else:
            advice, outcomes = ledger.kept.rounds()
            same = np.array_equal(advice, stream.forecasts, equal_nan=True) and np.array_equal(
                outcomes, stream.outcomes
            )
        need(same, f"{rule} has learned other rows", "rules")


def check_learner(learner: Any, rule: str, state: State, rounds: int) -> None:
    """Raise ModelError unless a learner is one of this rule that has learned the rows of the state."""
    need(type(learner).id == rule, f"the model of {rule} is {type(learner).__name__}", "rules")
    ledger = learner.ledger_
    need(ledger.rounds == rounds, f"{rule} must have learned {rounds} rounds, got {ledger.rounds}", "rules")
    experts = list(state.choice.experts)
    need(learner.names_ == experts, f"the experts of {rule} are not those of the options", "rules")
    if rule in FOLLOWING:
        codes = joined_labels(learner._play.predictions)  # noqa: SLF001 - they are indices of labels
        numbers = codes.dtype.kind == "f" and (codes % 1 == 0).all() and (codes >= 0).all()
        need(
            numbers and (codes < len(state.labels)).all(), f"{rule} has predicted a label that does not exist", "labels"
        )
    else:
        loss = "square" if state.loss is None else state.loss.id
        need(ledger.loss.id == loss, f"the loss of {rule} must be {loss}, got {ledger.loss.id}", "rules")
