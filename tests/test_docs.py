"""README and changelog cannot lag: its code runs, its names exist, versions agree, the stub mirrors the core."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import mistakebound as mb
from mistakebound import _core
from mistakebound.rules import RULES
from mistakebound.theorems import EXPERT_THEOREMS, THEOREMS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_code_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize("name", [*THEOREMS, *EXPERT_THEOREMS])
def test_every_theorem_is_in_the_readme_and_in_bounds(name: str) -> None:
    assert f"`{name}`" in README
    assert callable(getattr(mb.bounds, name.replace("-", "_")))


def test_every_public_learner_is_in_the_readme() -> None:
    for name in mb.__all__:
        assert hasattr(mb, name)
        if isinstance(getattr(mb, name), type) and hasattr(getattr(mb, name), "learn_one"):
            assert f"`{name}`" in README
    assert len(RULES) == 7


def test_versions_agree() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f'version = "{mb.__version__}"' in project
    assert f"## [{mb.__version__}]" in changelog


def test_stub_mirrors_the_core() -> None:
    stub = ast.parse((ROOT / "src/mistakebound/_core.pyi").read_text(encoding="utf-8"))
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    methods = {node.name for node in classes["Engine"].body if isinstance(node, ast.FunctionDef)}
    ours = {name for name in vars(_core.Engine) if not name.startswith("__")}
    assert ours <= methods
    assert methods - {"__init__", "__getstate__", "__setstate__"} == ours
    functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    assert functions | set(classes) == {name for name in vars(_core) if not name.startswith("_")}


def test_every_file_of_the_readme_exists() -> None:
    for path in re.findall(r"\]\(([^)]+)\)", README):
        assert path.startswith("http") or (ROOT / path).exists(), path
