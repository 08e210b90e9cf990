"""Save a MultilabelPanel to a zip file with the model file of each panel, and load it. Nothing in it is executed."""

from __future__ import annotations

import json
import os
import zipfile
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from mistakebound._core import Engine
from mistakebound._support import schema
from mistakebound._support.atomic_file import replace
from mistakebound._support.lazy import np
from mistakebound.errors import ModelError
from mistakebound.learners.linear import KINDS
from mistakebound.learners.multilabel import MultilabelPanel, Totals
from mistakebound.learners.multilabel_labels import check_label_list
from mistakebound.learners.multilabel_rounds import SharedPlay
from mistakebound.learners.panel import Panel
from mistakebound.models.model_file import parts_of
from mistakebound.models.model_file import restored as restored_panel
from mistakebound.models.parameters import construct, describe_parameters, encode_one, need_no_objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mistakebound.learners.learner import Learner

TABLE = "multilabel.json"
FIELDS = ("format", "parameters", "labels", "rounds", "first_seen", "subset_mistakes")
FORMAT = 2
"""Format 2 also has ``first_missed``, and its panels share what does not depend on labels. Those of format 1 do not."""
MISSED = "first_missed"
LARGEST_TABLE = 1 << 26
"""Bytes of the table with the labels."""
ENCRYPTED = 1
"""The bit of the flags of a member of a zip file that says that it is encrypted."""


def save(learner: MultilabelPanel, path: str | os.PathLike[str]) -> None:
    """Write a learner to a file atomically."""
    *totals, missed = learner._totals
    whole = BytesIO()
    try:
        need_no_objects(learner.new_panel())
        labels = [encode_one(label) for label in learner.panels]
        table = dict(zip(FIELDS, (FORMAT, describe_parameters(learner), labels, *totals), strict=True))  # type: ignore[arg-type]
        text = json.dumps(table | {MISSED: missed})
        schema.need(len(text) <= LARGEST_TABLE, f"its labels need more than {LARGEST_TABLE:,} bytes", "labels")
        with zipfile.ZipFile(whole, "w") as archive:
            archive.writestr(TABLE, text)
            for k, (label, panel) in enumerate(learner.panels.items()):
                with naming_label(label):
                    archive.writestr(f"{k}.mb", b"".join(parts_of(panel, KINDS)))
    except ModelError as error:
        message = f"cannot save {os.fspath(path)}: {error}"
        raise ModelError(message, field=error.field) from None
    replace(Path(path).resolve(), [whole.getvalue()])


def load(path: str | os.PathLike[str]) -> MultilabelPanel:
    """Return the learner that ``MultilabelPanel.save`` wrote; raise ModelError if the file is not valid."""
    with open(path, "rb") as file:
        try:
            return restored(file)
        except ModelError as error:
            message = f"cannot load {os.fspath(path)}: {error}"
            raise ModelError(message, field=error.field) from None


def restored(file: BinaryIO) -> MultilabelPanel:
    """Return the learner in a file; raise ModelError if the file is not valid."""
    members = read_members(file)
    table = schema.parse(members.pop(TABLE), TABLE)
    missed = table.pop(MISSED, None)
    version, parameters, labels, *totals = schema.fields(table, *FIELDS)
    schema.whole(version, "format", 1, FORMAT)
    schema.need((missed is not None) == (version > 1), f"{MISSED} does not fit the format", MISSED)
    names = check_names([schema.from_json(each, "labels") for each in schema.items(labels, "labels")], "labels")
    files = [f"{k}.mb" for k in range(len(names))]
    schema.need(sorted(members) == sorted(files), "there must be a panel for each label", "labels")
    rounds, first_seen, subset = (schema.whole(each, name) for each, name in zip(totals, FIELDS[3:], strict=True))
    found = Totals(rounds, first_seen, subset, 0 if missed is None else schema.whole(missed, MISSED))
    learner = check_parameters(construct(MultilabelPanel, parameters))  # type: ignore[type-var]
    panels = {}
    for label, name in zip(names, files, strict=True):
        with naming_label(label):
            panels[label] = check_panel(restored_panel(members[name], KINDS)[0], rounds)
    sound = subset <= rounds and found.first_missed <= first_seen <= len(panels)
    schema.need(sound, "the panels do not fit the number of rounds", "rounds")
    learner.continue_with(panels, found)
    try:
        join(learner, renumber=version == 1)
    except ValueError as error:
        message = f"the panels of its labels do not fit each other ({error})"
        raise ModelError(message) from None
    return learner


@contextmanager
def naming_label(label: Any) -> Iterator[None]:
    """Add the label to the message of a ModelError about its panel."""
    try:
        yield
    except ModelError as error:
        message = f"the panel of the label {schema.shown(label)}: {error}"
        raise ModelError(message, field=error.field) from None


# ---------------------------------------------------------------------- checks of a file


def read_members(file: BinaryIO) -> dict[str, bytes]:
    """Return the content of each member of a zip file; raise ModelError if ``save`` did not write it.

    Sizes are checked before anything is read. Members must not be compressed: then they are not larger than the file.
    """
    size = file.seek(0, os.SEEK_END)
    try:
        with zipfile.ZipFile(file) as archive:
            found = archive.infolist()
            names = {each.filename for each in found}
            schema.need(TABLE in names and len(names) == len(found), f"it must have {TABLE}, and each member once")
            for each in found:
                stored = each.compress_type == zipfile.ZIP_STORED and not each.flag_bits & ENCRYPTED
                schema.need(stored, f"{schema.shown(each.filename)} must be neither compressed nor encrypted")
                limit = LARGEST_TABLE if each.filename == TABLE else size
                schema.need(each.file_size <= limit, f"{schema.shown(each.filename)} is too large")
            schema.need(sum(each.file_size for each in found) <= size, "its members are larger than the file")
            return {each.filename: archive.read(each) for each in found}
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001 - zipfile raises exceptions of many kinds for damaged files
        message = f"it is not a model file of MultilabelPanel ({error})"
        raise ModelError(message) from None


def check_names(labels: list[Any], field: str) -> list[Any]:
    """Return labels of a file; raise ModelError if they are not different labels."""
    try:
        return list(check_label_list(labels))
    except ValueError as error:
        raise ModelError(str(error), field=field) from None


def check_parameters(learner: MultilabelPanel) -> MultilabelPanel:
    """Return a learner; raise ModelError if its parameters, which come from a file, are not valid."""
    schema.whole(learner.keep_bytes, "parameters.keep_bytes")
    if learner.classes is not None:
        schema.need(isinstance(learner.classes, list | tuple), "classes must be a list", "parameters.classes")
        check_names(list(learner.classes), "parameters.classes")
    try:
        learner.check_params()
    except (TypeError, ValueError) as error:
        message = f"its parameters are not valid: {error}"
        raise ModelError(message, field="parameters") from None
    return learner


def check_panel(panel: Learner, rounds: int) -> Panel:
    """Return the panel of a label, from a file of so many rounds; raise ModelError if it cannot be such a panel."""
    if not isinstance(panel, Panel):
        schema.refuse("learner", "Panel", type(panel).__name__)
    pair: tuple[Any, ...] = () if panel.several else panel._labels.pair
    are_labels = len(pair) == 2 and pair[0] is False and pair[1] is True
    schema.need(are_labels, "its labels must be false and true", "labels")
    for name in ("threshold", "abstain", "max_features", "class_weight"):
        schema.need(getattr(panel, name) is None, f"{name} must be null", f"parameters.{name}")
    learned = panel.ledger_.rounds
    fits = learned <= rounds and (learned > 0) == (rounds > 0)
    schema.need(fits, f"it has {learned} rounds, which does not fit {rounds} rounds of all labels", "rounds")
    return panel


# ---------------------------------------------------------------------- panels that learn together


def join(learner: MultilabelPanel, *, renumber: bool) -> None:
    """Let the panels of a file learn together; raise ValueError if they cannot."""
    begun = [panel for panel in learner.panels.values() if panel._play is not None]
    if not begun or learner.new_panel().objects():
        return
    engines = [panel._current_play().engine for panel in begun]
    if renumber and engines[0].named:
        names = max(engines, key=lambda each: each.counts.rounds).core.names()
        for panel in begun:
            renumber_features(panel, names)
    learner.shared = SharedPlay(begun, engines[0].width)


def renumber_features(panel: Panel, names: list[str]) -> None:
    """Number the features of a panel by their places in ``names``, as if it had seen all of them."""
    engine = panel._current_play().engine
    settings, own, state, *history = engine.core.__getstate__()
    if own == names[: len(own)]:
        return
    places = {name: k + 1 for k, name in enumerate(names)}
    if not places.keys() >= set(own):
        message = "a panel has features that the panel with the most rounds does not have"
        raise ValueError(message)
    features, records, *rest = state
    numbers = np.array([places[own[feature - 1]] for feature in features.tolist()], np.uint32)
    order = np.argsort(numbers)
    rows = records.reshape(len(features) + 1, -1)
    moved = np.concatenate([rows[:-1][order], rows[-1:]]).ravel()
    core = Engine.__new__(Engine)
    core.__setstate__((settings, names, (numbers[order], moved, *rest), *history))
    engine.core = core
    panel._restore(engine)
