"""Save a MultilabelPanel to a zip file with the model file of each panel, and load it. Nothing in it is executed."""

from __future__ import annotations

import json
import zipfile
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mistakebound._core import Engine
from mistakebound._support import schema
from mistakebound._support.atomic_file import replace
from mistakebound._support.lazy import np
from mistakebound.errors import ModelError
from mistakebound.learners.linear import load as load_panel
from mistakebound.learners.multilabel import MultilabelPanel, Totals
from mistakebound.learners.multilabel_rounds import SharedPlay
from mistakebound.learners.panel import Panel
from mistakebound.models.parameters import construct, describe_parameters

if TYPE_CHECKING:
    import os

TABLE = "multilabel.json"
FIELDS = ("format", "parameters", "labels", "rounds", "first_seen", "subset_mistakes")
FORMAT = 2
"""Format 2 also has ``first_missed``, and its panels share what does not depend on labels. Those of format 1 do not."""
MISSED = "first_missed"


def save(learner: MultilabelPanel, path: str | os.PathLike[str]) -> None:
    """Write a learner to a file atomically."""
    labels = [schema.to_json(label) for label in learner.panels]
    *totals, missed = learner._totals
    table = dict(zip(FIELDS, (FORMAT, describe_parameters(learner), labels, *totals), strict=True))  # type: ignore[arg-type]
    whole = BytesIO()
    with TemporaryDirectory() as folder, zipfile.ZipFile(whole, "w") as archive:
        archive.writestr(TABLE, json.dumps(table | {MISSED: missed}))
        for k, panel in enumerate(learner.panels.values()):
            panel.save(Path(folder) / f"{k}.mb")
            archive.write(Path(folder) / f"{k}.mb", f"{k}.mb")
    replace(Path(path).resolve(), [whole.getvalue()])


def load(path: str | os.PathLike[str]) -> MultilabelPanel:
    """Return the learner that ``MultilabelPanel.save`` wrote; raise ModelError if the file is not valid."""
    try:
        with TemporaryDirectory() as folder, zipfile.ZipFile(path) as archive:
            table = schema.parse(archive.read(TABLE), TABLE)
            missed = table.pop(MISSED, None) if isinstance(table, dict) else None
            version, parameters, labels, *totals = schema.fields(table, *FIELDS)
            schema.whole(version, "format", 1, FORMAT)
            schema.need((missed is not None) == (version > 1), f"{MISSED} does not fit the format", MISSED)
            names = [schema.from_json(each, "labels") for each in schema.items(labels, "labels")]
            files = [f"{k}.mb" for k in range(len(names))]
            fit = len({*names}) == len(names) and sorted(archive.namelist()) == sorted([TABLE, *files])
            schema.need(fit, "there must be a panel for each label", "labels")
            panels: list[Any] = []
            for file in files:
                (Path(folder) / file).write_bytes(archive.read(file))
                panels.append(load_panel(Path(folder) / file))
            learner: MultilabelPanel = construct(MultilabelPanel, parameters)  # type: ignore[type-var]
    except (zipfile.BadZipFile, KeyError, NotImplementedError, TypeError) as error:
        message = f"cannot load {path!s}: it is not a model file of MultilabelPanel ({error})"
        raise ModelError(message) from None
    rounds, first_seen, subset = (schema.whole(each, name) for each, name in zip(totals, FIELDS[3:], strict=True))
    found = Totals(rounds, first_seen, subset, 0 if missed is None else schema.whole(missed, MISSED))
    sound = all(isinstance(each, Panel) and each.ledger_.rounds <= rounds for each in panels) and subset <= rounds
    sound = sound and found.first_missed <= first_seen <= len(panels)
    schema.need(sound, f"cannot load {path!s}: the panels do not fit the number of rounds", "rounds")
    learner._panels = dict(zip(names, panels, strict=True))
    learner._totals = found
    try:
        join(learner, renumber=version == 1)
    except ValueError as error:
        message = f"cannot load {path!s}: the panels of its labels do not fit each other ({error})"
        raise ModelError(message) from None
    return learner


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
