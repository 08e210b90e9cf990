"""The documentation matches the program: names, commands, options, links and versions; the stub matches the core."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from pages import PAGES, ROOT, all_options, options_of

import mistakebound as mb
from mistakebound import _core
from mistakebound.aggregation.registry import EXPERT_RULES
from mistakebound.cli import COMMANDS, main
from mistakebound.rules import RULES
from mistakebound.rules.registry import DECLARATIONS
from mistakebound.theorems import EXPERT_THEOREMS, PANEL_THEOREMS, THEOREMS

TEXTS = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
ALL = "\n".join(TEXTS.values())
IDS = [page.name for page in PAGES]


# ---------------------------------------------------------------- every public thing is documented


@pytest.mark.parametrize("name", THEOREMS)
def test_every_theorem_is_in_the_page_of_learners_and_in_bounds(name: str) -> None:
    assert f"`{name}`" in TEXTS["learners.md"]
    assert callable(getattr(mb.bounds, name.replace("-", "_")))


@pytest.mark.parametrize("name", EXPERT_THEOREMS)
def test_every_theorem_over_experts_is_in_their_page_and_in_bounds(name: str) -> None:
    assert f"`{name}`" in TEXTS["experts.md"]
    assert callable(getattr(mb.bounds, name.replace("-", "_")))


def table_rows(page: str) -> list[list[str]]:
    """The cells of all rows of all tables of a page."""
    return [re.split(r" *(?<!\\)\| *", line.strip("| \n")) for line in page.splitlines() if line.startswith("|")]


def test_every_public_learner_is_in_the_table_with_its_parameters_and_theorems() -> None:
    learners = {
        name: getattr(mb, name)
        for name in mb.__all__
        if isinstance(getattr(mb, name), type) and hasattr(getattr(mb, name), "learn_one") and name != "MultilabelPanel"
    }
    rows = {row[0].strip("`"): row for row in table_rows(TEXTS["learners.md"]) if len(row) == 5}
    assert len(RULES) + 2 == len(DECLARATIONS) == len(learners) == 21  # the Panel and the multiclass Perceptron
    shared = {"classes", "keep_bytes", "update_margin", "bias"}
    for name, declared in DECLARATIONS.items():
        row = rows[declared.learner]
        assert row[1] == f"`{name}`"
        own = set(learners[declared.learner]().get_params()) - shared
        assert set(re.findall(r"`(\w+)`", row[3])) == own
        theorems = {each.id for each in THEOREMS.values() if each.rule == name and not each.delayed | each.mixed}
        theorems |= set(PANEL_THEOREMS) if name == "panel" else set()
        assert set(re.findall(r"`([\w-]+)`", row[4])) - {"certify"} == theorems


def test_every_rule_over_experts_is_in_the_table_with_its_parameters() -> None:
    named = ((re.match(r"`([A-Z]\w+)`", row[0]), row) for row in table_rows(TEXTS["experts.md"]))
    rows = {match[1]: row for match, row in named if match}
    assert set(rows) == {rule.learner for rule in EXPERT_RULES}
    shared = {"loss", "gradient", "prior", "keep_bytes"}
    for rule in EXPERT_RULES:
        row = rows[rule.learner]
        assert f"`{rule.id}`" in row[1]
        own = set(getattr(mb.experts, rule.learner)().get_params()) - shared
        assert set(re.findall(r"`(\w+)`", row[2])) == own


def test_every_experiment_of_the_lab_is_in_the_table_with_its_title_and_theorems() -> None:
    rows = [tuple(row) for row in table_rows(TEXTS["lab.md"]) if row[0].startswith("`")]
    found = [mb.lab.get(name) for name in mb.lab.names()]
    assert rows == [
        (f"`{each.name}`", each.title, ", ".join(f"`{name}`" for name in each.theorems) or "–") for each in found
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    assert re.search(rf"mistakebound {name}\b", ALL)


@pytest.mark.parametrize(
    ("command", "page"),
    [
        ("run", "files.md"),
        ("compare", "files.md"),
        ("predict", "files.md"),
        ("weights", "files.md"),
        ("explain", "files.md"),
        ("verify", "certificates.md"),
        ("experts", "experts.md"),
        ("forecasters", "forecasters.md"),
        ("bench", "speed.md"),
        ("lab", "lab.md"),
    ],
)
def test_every_option_of_a_command_is_in_its_page(command: str, page: str) -> None:
    named = set(re.findall(r"--[a-z][\w-]*", TEXTS[page] + (TEXTS["files.md"] if command == "verify" else "")))
    assert {option for option in options_of(command) if option.startswith("--")} - {"--help"} <= named


@pytest.mark.parametrize("page", IDS)
def test_every_option_that_a_page_names_exists(page: str) -> None:
    """Also in the text; options of formulas and experiments (``bound``, ``lab``), and of benchmarks are known, too."""
    programs = [*(ROOT / "benchmarks").glob("*.py"), ROOT / "src/mistakebound/bounds/disjunctions.py"]
    known = (
        all_options() | {"--n", "--r"} | {f"--{size}" for name in mb.lab.names() for size in mb.lab.get(name).defaults}
    )
    known |= {name for path in programs for name in re.findall(r'"(--[a-z_-]+)"', path.read_text(encoding="utf-8"))}
    assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", TEXTS[page])) <= known


def test_every_python_name_that_a_page_names_exists() -> None:
    for path in set(re.findall(r"\bmb((?:\.[A-Za-z_]\w*)+)", ALL)):
        found = mb
        for name in path.split(".")[1:]:
            assert hasattr(found, name), f"mb{path}"
            found = getattr(found, name)
            if isinstance(found, type) or not hasattr(found, "__name__"):
                break  # what follows is of an instance, which the examples run


# ---------------------------------------------------------------- pages


def test_the_readme_is_one_page_and_links_to_all_others() -> None:
    assert len(TEXTS["README.md"].splitlines()) <= 130
    for page in IDS[1:]:
        assert f"(docs/{page})" in TEXTS["README.md"]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        path, _, heading = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert link.startswith("https://") or target.exists(), link
        if heading and target.suffix == ".md":
            titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}, link


@pytest.mark.parametrize("page", IDS[1:])
def test_every_page_opens_with_a_title_and_a_sentence(page: str) -> None:
    assert re.match(r"# \S.*\n\n[A-Z][^.#]*\.", TEXTS[page])


def test_every_target_of_make_that_a_page_names_exists() -> None:
    text = ALL + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("$(VENV)", ".venv")
    for target in set(re.findall(r"`make ([\w./-]+)`", text)):
        assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), target


def test_versions_agree() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f'version = "{mb.__version__}"' in project
    assert f"## [{mb.__version__}]" in changelog


# ---------------------------------------------------------------- help, stub


def test_help_lists_every_command_and_keeps_the_lines_of_examples() -> None:
    output = CliRunner().invoke(main, ["--help"]).output
    assert "    mistakebound run mail.csv --label kind --save model.mb\n" in output
    for name in COMMANDS:
        assert re.search(rf"^  {name} +[A-Z][^.]+\.$", output, re.MULTILINE), name
        assert "\\b" not in CliRunner().invoke(main, [name, "--help"]).output
    assert "    mistakebound compare stream.svm\n" in CliRunner().invoke(main, ["compare", "--help"]).output


def test_stub_mirrors_the_core() -> None:
    stub = ast.parse((ROOT / "src/mistakebound/_core.pyi").read_text(encoding="utf-8"))
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    methods = {node.name for node in classes["Engine"].body if isinstance(node, ast.FunctionDef)}
    ours = {name for name in vars(_core.Engine) if not name.startswith("__")}
    assert ours <= methods
    assert methods - {"__init__", "__getstate__", "__setstate__"} == ours
    functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    assert functions | set(classes) == {name for name in vars(_core) if not name.startswith("_")}
