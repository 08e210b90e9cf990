"""The map in CONTRIBUTING.md lists exactly the packages and modules of the source, and the folders of the core."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "mistakebound"


def entries() -> dict[str, str]:
    """Return the paths of the map with their descriptions. Two spaces are a level; a line may list several modules."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Where things are")[2].split("```")[1]
    found: dict[str, str] = {}
    folders: list[str] = []
    for line in text.strip("\n").splitlines():
        indent, names, what = re.fullmatch(r"( *)([^\s,]+(?:, [^\s,]+)*) *(.*)", line).groups()
        if len(indent) > 2 * len(folders):  # the second line of a description
            found[next(reversed(found))] += f" {line.strip()}"
            continue
        del folders[len(indent) // 2 :]
        for name in names.split(", "):
            path = "".join([*folders, name])
            assert path not in found, f"{path} is in the map twice"
            found[path] = what
        if names.endswith("/"):
            folders.append(names)
    return found


def tree() -> set[str]:
    """Return the packages and modules of the source, and the folders of the core, in the format of the map."""
    rooms = {f"{path.parent.relative_to(ROOT).as_posix()}/" for path in PACKAGE.rglob("__init__.py")}
    modules = {path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}
    core = {f"{path.relative_to(ROOT).as_posix()}/" for path in (ROOT / "core").iterdir() if path.is_dir()}
    return rooms | modules | core


def test_everything_is_in_the_map() -> None:
    assert sorted(tree() - set(entries())) == []


def test_everything_in_the_map_is_there() -> None:
    assert [path for path in entries() if not (ROOT / path).exists()] == []


def test_the_map_describes_each_place() -> None:
    assert [path for path, what in entries().items() if len(what.split()) < 2] == []


@pytest.mark.parametrize("missing", ["src/mistakebound/theorems/", "src/mistakebound/bounds/winnow.py", "core/read/"])
def test_places_of_each_kind_are_compared(missing: str) -> None:
    assert missing in tree()
    assert missing in entries()
