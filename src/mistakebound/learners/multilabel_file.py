"""Save a MultilabelPanel to a zip file with the model file of each panel, and load it. Nothing in it is executed."""

from __future__ import annotations

import json
import zipfile
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from mistakebound._support import schema
from mistakebound._support.atomic_file import replace
from mistakebound.errors import ModelError
from mistakebound.learners.linear import load as load_panel
from mistakebound.learners.multilabel import MultilabelPanel
from mistakebound.learners.panel import Panel
from mistakebound.models.parameters import construct, describe_parameters

if TYPE_CHECKING:
    import os

TABLE = "multilabel.json"
FIELDS = ("format", "parameters", "labels", "rounds", "first_seen", "subset_mistakes")
FORMAT = 1


def save(learner: MultilabelPanel, path: str | os.PathLike[str]) -> None:
    """Write a learner to a file atomically."""
    labels = [schema.to_json(label) for label in learner.panels]
    stored = (FORMAT, describe_parameters(learner), labels, *learner._totals)  # type: ignore[arg-type]
    whole = BytesIO()
    with TemporaryDirectory() as folder, zipfile.ZipFile(whole, "w") as archive:
        archive.writestr(TABLE, json.dumps(dict(zip(FIELDS, stored, strict=True))))
        for k, panel in enumerate(learner.panels.values()):
            panel.save(Path(folder) / f"{k}.mb")
            archive.write(Path(folder) / f"{k}.mb", f"{k}.mb")
    replace(Path(path).resolve(), [whole.getvalue()])


def load(path: str | os.PathLike[str]) -> MultilabelPanel:
    """Return the learner that ``MultilabelPanel.save`` wrote; raise ModelError if the file is not valid."""
    try:
        with TemporaryDirectory() as folder, zipfile.ZipFile(path) as archive:
            table = schema.parse(archive.read(TABLE), TABLE)
            version, parameters, labels, *totals = schema.fields(table, *FIELDS)
            schema.whole(version, "format", FORMAT, FORMAT)
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
    sound = all(isinstance(each, Panel) and each.ledger_.rounds <= rounds for each in panels) and subset <= rounds
    schema.need(sound, f"cannot load {path!s}: the panels do not fit the number of rounds", "rounds")
    learner._panels = dict(zip(names, panels, strict=True))
    learner._totals = (rounds, first_seen, subset)
    return learner
