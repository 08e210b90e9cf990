"""Save linear learners to model files, and load them. A file has JSON and arrays of numbers; nothing is executed.

``container`` writes and reads the file; this module and ``learner_state`` convert a learner to JSON and tensors, and
check them when a file is read. Files of every format so far can be read (``tests/fixtures``):

- Format 1: the learner.
- Format 2: also ``progress``, the position of the run in its files.
- Format 3: also ``reading``, the options that the files were read with.
- Format 4: also late outcomes (``late`` in the state, and ``tickets``), and learners over experts.
- Format 5: also panels, which have tensors of their own (``panel_state``), and ``measures`` of probabilities in the
  state of a learner.
- Format 6: also panels of several classes, and multiclass Perceptrons, which have tensors of their own
  (``class_state``, ``perceptron_state``); the former have ``confidence`` and ``measured`` in their state, which the
  first files of this format lack; and ``weighted`` in the state of a learner: whether rounds had weights, so
  that counts are sums of weights; and ``earlier`` in that of a panel of one of several labels: the rounds before the
  first one with its label, which it has counted.
- Format 7: also ``mixing``: which rounds were learned in shards, and with which shares their states were mixed.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mistakebound._support.atomic_file import replace
from mistakebound._support.lazy import np
from mistakebound._support.schema import fields, is_list_of, need
from mistakebound.data.class_labels import ClassLabels
from mistakebound.data.options import Reading
from mistakebound.errors import ModelError
from mistakebound.models.class_state import CONFIDENCE, describe_classes, restore_classes
from mistakebound.models.class_state import TENSORS as CLASS_TENSORS
from mistakebound.models.container import is_zip, learner_in, pack, unpack
from mistakebound.models.labels import describe_labels, restore_labels
from mistakebound.models.learner_state import TENSORS, describe_state, restore_state
from mistakebound.models.panel_state import TENSORS as PANEL_TENSORS
from mistakebound.models.parameters import construct, describe_parameters, need_no_objects
from mistakebound.models.perceptron_state import TENSORS as PERCEPTRON_TENSORS
from mistakebound.models.perceptron_state import describe_perceptron, restore_perceptron
from mistakebound.play.mixing import check_mistakes, read_mixing, write_mixing
from mistakebound.play.tickets import Tickets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mistakebound._support.arrays import AnyArray
    from mistakebound.learners.learner import Learner
    from mistakebound.play.class_engine import ClassEngine
    from mistakebound.play.engine import LearnerEngine
    from mistakebound.play.mixing import Mixing
    from mistakebound.play.perceptron_engine import PerceptronEngine

    Kind = TypeVar("Kind", bound=Learner)

PERCEPTRON = "multiclass-perceptron"
OF_THE_RUN = ("progress", "reading", "tickets")
"""Optional objects of a file, in addition to the learner."""


def save(
    learner: Learner,
    path: str | os.PathLike[str],
    kinds: Mapping[str, type[Learner]],
    progress: dict[str, Any] | None = None,
) -> None:
    """Write a learner and the progress of its run to a file, completely or not at all."""
    try:
        parts = parts_of(learner, kinds, progress)
    except ModelError as error:
        message = f"cannot save {os.fspath(path)}: {error}"
        raise ModelError(message, field=error.field) from None
    replace(Path(os.path.realpath(path)), parts)


def parts_of(
    learner: Learner, kinds: Mapping[str, type[Learner]], progress: dict[str, Any] | None = None
) -> list[bytes]:
    """Return the content of a model file in parts; raise ModelError if a file cannot store the learner."""
    is_ours = kinds.get(type(learner).__name__) is type(learner)
    need(is_ours, f"{type(learner).__name__} is not one of the learners that can be saved: {', '.join(kinds)}")
    need_no_objects(learner)
    described, tensors = _describe(learner)
    reading, tickets = learner.known_reading(), None if learner._play is None else learner._play.tickets
    of_the_run = {
        "progress": progress,
        "reading": None if reading is None else reading.to_json(),
        "tickets": None if tickets is None else tickets.to_json(),
    }
    return pack(described | {name: each for name, each in of_the_run.items() if each is not None}, tensors)


def load(path: str | os.PathLike[str], kinds: Mapping[str, type[Kind]]) -> Kind:
    """Return the learner that a file contains; raise ModelError if the file is not valid."""
    return load_with_progress(path, kinds)[0]


def load_with_progress(
    path: str | os.PathLike[str], kinds: Mapping[str, type[Kind]]
) -> tuple[Kind, dict[str, Any] | None]:
    """Return the learner that a file contains, and the progress of its run if the file has it."""
    data = Path(path).read_bytes()
    try:
        return restored(data, kinds)
    except ModelError as error:
        # A learner over experts has other tensors; the error must not be about them, but about the kind of learner.
        name = learner_in(path)
        another = bool(name) and name not in kinds
        reason: Any = _other_learner(name, kinds) if another else error
        if is_zip(path):
            reason = "it is a zip file, as the model of a MultilabelPanel is, which mistakebound.load reads"
        message = f"cannot load {os.fspath(path)}: {reason}"
        raise ModelError(message, field="learner" if another else error.field) from None


def restored(data: bytes, kinds: Mapping[str, type[Kind]]) -> tuple[Kind, dict[str, Any] | None]:
    """Return the learner in the bytes of a model file, and the progress of its run if the file has it."""
    described, tensors = unpack(data, TENSORS, PANEL_TENSORS, CLASS_TENSORS, PERCEPTRON_TENSORS)
    of_the_run = {name: described.pop(name, None) for name in OF_THE_RUN}
    for name, each in of_the_run.items():
        need(each is None or isinstance(each, dict), f"{name} must be an object", name)
    learner = _restore(described, tensors, kinds)
    reading = None if of_the_run["reading"] is None else Reading.from_json(of_the_run["reading"])
    tickets = None if of_the_run["tickets"] is None else Tickets.from_json(of_the_run["tickets"])
    if learner._play is not None:
        learner._play.reading = reading if learner.has_learned else None
        learner._play.tickets = tickets
    return learner, of_the_run["progress"]


def _other_learner(name: Any, kinds: Mapping[str, type[Kind]]) -> str:
    return f"the learner {name!r} is not one of {', '.join(kinds)}"


def fingerprint(learner: Learner) -> str:
    """Return a SHA-256 of the parameters and state of a learner. It is equal if their model files are equal.

    Of members from outside it has the class only. It leaves out the calibration of several classes.
    """
    described, tensors = _describe(learner)
    if learner.several and described["life"] is not None:
        described["life"].pop(CONFIDENCE, None)
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for tensor in tensors.values():
        digest.update(tensor.tobytes())
    return digest.hexdigest()


# ---------------------------------------------------------------------- to the file


def _describe(learner: Learner) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    play, columns = learner._play, getattr(learner, "feature_names_in_", None)
    described: dict[str, Any] | None = None
    tensors: dict[str, AnyArray] = {}
    if play is not None and learner.rule_id == PERCEPTRON:
        described, tensors = describe_perceptron(cast("PerceptronEngine", play.engine))
    elif play is not None and learner.several:
        described, tensors = describe_classes(cast("ClassEngine", play.engine))
    elif play is not None:
        described, tensors = describe_state(learner, play.engine)
    mixing = None if play is None else play.engine.mixing
    labels: Any = learner._early_labels if play is None else play.labels
    if play is None and isinstance(labels, ClassLabels):
        labels = None  # they are the parameter ``classes``
    return {
        "learner": type(learner).__name__,
        "parameters": describe_parameters(learner),
        "labels": None if labels is None else describe_labels(labels),
        "columns": None if columns is None else list(map(str, columns)),
        "life": described,
        **({} if mixing is None else {"mixing": write_mixing(mixing)}),
    }, tensors


# ---------------------------------------------------------------------- from the file


def _restore(described: dict[str, Any], tensors: dict[str, AnyArray], kinds: Mapping[str, type[Kind]]) -> Kind:
    mixing = described.pop("mixing", None)
    name, parameters, labels, columns, state = fields(described, "learner", "parameters", "labels", "columns", "life")
    need(isinstance(name, str) and name in kinds, _other_learner(name, kinds), "learner")
    learner = construct(kinds[name], parameters)
    need(bool(tensors) == (state is not None), "life must be null if and only if there are no tensors", "life")
    known: Any = None if labels is None else restore_labels(labels)
    classes = len(known.ids) if isinstance(known, ClassLabels) else None
    need(classes is None or learner.takes_several, f"{name} cannot have more than two labels", "labels")
    numbered = known is None or classes is not None or kinds[name].rule_id != PERCEPTRON
    need(numbered, f"the labels of {name} must have class ids", "labels")
    if known is not None:
        learner._early_labels = known
    need(mixing is None or state is not None, "mixing must be absent, because nothing was learned", "mixing")
    if state is not None:
        weighted = isinstance(state, dict) and state.get("weighted") is True
        is_perceptron = kinds[name].rule_id == PERCEPTRON
        of_classes = list(PERCEPTRON_TENSORS if is_perceptron else CLASS_TENSORS)
        fit = (classes is not None) == (list(tensors) == of_classes) and (classes is not None or not is_perceptron)
        need(fit, "the tensors do not fit the labels", "tensors")
        engine: LearnerEngine
        if is_perceptron and classes is not None:
            engine = restore_perceptron(kinds[name], state, tensors, classes)
        elif classes is None:
            engine = restore_state(kinds[name], state, tensors)
        else:
            engine = restore_classes(kinds[name], state, tensors, classes)
        engine.mixing = _read_mixing(mixing, engine)
        try:
            learner._restore(engine).weighted = weighted
        except ValueError as error:  # classes that are not two different labels
            raise ModelError(str(error), field="parameters") from None
    if columns is not None:
        need(is_list_of(str, columns) and columns, "columns must be a list of names", "columns")
        learner.feature_names_in_ = np.array(columns, dtype=object)
    return learner


def _read_mixing(value: Any, engine: LearnerEngine) -> Mixing | None:
    """Return what was mixed, after checking it against the record of the engine."""
    rounds, wrong_positive, wrong_negative, updates, _ = engine.core.counts()
    mistakes = wrong_positive + wrong_negative
    mixing = read_mixing(value, rounds, mistakes, updates)
    if mixing is not None:
        check_mistakes(mixing, engine.core.mistake_rounds(0, mistakes), mistakes)
    return mixing
