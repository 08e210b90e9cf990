"""docs/theory.md has a section for every rule and theorem, its links and examples work, and citations of it exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mistakebound as mb
from mistakebound.aggregation.registry import EXPERT_RULES, VARIANTS
from mistakebound.rules.registry import DECLARATIONS
from mistakebound.theorems import EXPERT_THEOREMS, THEOREMS

ROOT = Path(__file__).parent.parent
THEORY = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
BLOCKS = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PROSE = BLOCKS.sub("", THEORY)
HEADINGS = re.findall(r"^#{2,3} (.+)$", PROSE, re.MULTILINE)
ID = re.compile(r" \(`([\w-]+)`\)$")
SECTIONS = {ID.sub("", heading) for heading in HEADINGS}
"""What a citation may name: a heading without the id at its end."""

CITATION = re.compile(r'docs/theory\.md, "([^"]+)"')
NOT_IN_THE_REPOSITORY = re.compile(r"\b(?:THEORY|DESIGN|PANEL|STYLE)(?:\.md\b|'s\b|,? §| section)")
SOURCES = [
    path
    for folder in ("src", "core", "tests", "benchmarks", "examples")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".pyi", ".hpp", ".cpp"} and path != Path(__file__)
]


def anchor(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def joined(path: Path) -> str:
    """Return a source file with line breaks, also those inside comments, replaced by single spaces."""
    return re.sub(r"\s*\n\s*(?://+|#+:?|\*)?\s*", " ", path.read_text(encoding="utf-8"))


def cited(text: str) -> list[str]:
    """Return the sections of docs/theory.md that a text cites."""
    return CITATION.findall(text)


IDS = sorted(
    {*THEOREMS, *(theorem.id for theorem in EXPERT_THEOREMS.values()), *mb.bounds.BOUNDS}
    | {*DECLARATIONS, *(rule.id for rule in EXPERT_RULES), *(variant.theorem for variant in VARIANTS.values())}
)


@pytest.mark.parametrize("name", IDS)
def test_every_rule_and_theorem_has_a_section_with_text(name: str) -> None:
    heading = next((each for each in HEADINGS if each.endswith(f"(`{name}`)")), None)
    assert heading is not None, f"no heading ends with (`{name}`)"
    body = PROSE.split(f"\n### {heading}\n", 1)[1].split("\n#", 1)[0]
    assert len(body.split()) >= 10


def test_every_id_in_a_heading_exists() -> None:
    adversaries = {"unit-vectors", "disjunction", "halving-tree", "coin-flip"}
    found = {match[1] for match in map(ID.search, HEADINGS) if match}
    assert found == {*IDS, *adversaries}


@pytest.mark.parametrize("part", sorted(mb.bounds.PARTS))
def test_every_part_of_a_formula_is_named(part: str) -> None:
    assert f"`{part}`" in THEORY


def test_the_contents_list_every_section_in_order() -> None:
    contents = THEORY.split("\n## Contents\n", 1)[1].split("\n## ", 1)[0]
    listed = re.findall(r"^ *- \[(.+)\]\(#([\w-]+)\)$", contents, re.MULTILINE)
    assert listed == [(heading, anchor(heading)) for heading in HEADINGS if heading != "Contents"]


def test_links_between_sections_lead_somewhere() -> None:
    targets = dict(re.findall(r"^\[(.+)\]: #([\w-]+)$", THEORY, re.MULTILINE))
    anchors = {ID.sub("", heading): anchor(heading) for heading in HEADINGS}
    assert targets.items() <= anchors.items()
    used = set(re.findall(r"(?<![\w`\]])\[([A-Z][^\]\n]+)\](?![(:])", PROSE))
    assert used == set(targets)


def test_headings_differ_even_without_ids() -> None:
    assert len(SECTIONS) == len(HEADINGS)


EXAMPLES = [text for language, text in BLOCKS.findall(THEORY) if language == "python"]


@pytest.mark.parametrize("example", EXAMPLES, ids=[f"example {number}" for number in range(len(EXAMPLES))])
def test_examples_are_true(example: str) -> None:
    assert "assert" in example
    exec(compile(example, "docs/theory.md", "exec"), {})


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 4


def test_cited_sections_exist() -> None:
    wrong = {str(path.relative_to(ROOT)): set(cited(joined(path))) - SECTIONS for path in SOURCES}
    assert {path: names for path, names in wrong.items() if names} == {}


DOCUMENTED = [
    *((f"bounds.{name}", name, formula.__doc__) for name, formula in mb.bounds.BOUNDS.items()),
    *((f"theorem {name}", name, type(theorem).__doc__) for name, theorem in THEOREMS.items()),
    *((f"theorem {theorem.id}", theorem.id, type(theorem).__doc__) for theorem in EXPERT_THEOREMS.values()),
    *((f"rule {name}", name, declared.load().__doc__) for name, declared in DECLARATIONS.items()),
    *((f"rule {name}", variant.theorem, variant.rule.__doc__) for name, variant in VARIANTS.items()),
    *((f"experts.{rule.learner}", rule.id, getattr(mb.experts, rule.learner).__doc__) for rule in EXPERT_RULES),
]
"""What must cite its section: its name, the id of the section, and the docstring."""
WITHOUT_A_THEOREM = {"boa-observed", "ml-prod-observed"}


@pytest.mark.parametrize(("name", "section", "docstring"), DOCUMENTED, ids=[name for name, _, _ in DOCUMENTED])
def test_docstrings_of_rules_and_theorems_cite_their_section(name: str, section: str, docstring: str) -> None:
    heading = next(ID.sub("", each) for each in HEADINGS if each.endswith(f"(`{section}`)"))
    if name.removeprefix("rule ") in WITHOUT_A_THEOREM:
        heading = "Observed rates and rates from a grid"
    assert heading in cited(" ".join(docstring.split()))


@pytest.mark.parametrize("learner", [declared.learner for declared in DECLARATIONS.values()])
def test_docstrings_of_learners_cite_a_section(learner: str) -> None:
    assert cited(" ".join(getattr(mb, learner).__doc__.split()))


def test_a_mention_of_the_page_is_a_citation_of_a_section() -> None:
    bare = re.compile(r'docs/theory\.md(?!, "[^"]+")')
    package = [path for path in SOURCES if path.relative_to(ROOT).parts[0] in {"src", "core"}]
    found = [str(path.relative_to(ROOT)) for path in package if bare.search(joined(path))]
    assert found == []


def test_no_document_outside_the_repository_is_cited() -> None:
    found = [str(path.relative_to(ROOT)) for path in SOURCES if NOT_IN_THE_REPOSITORY.search(joined(path))]
    assert found == []


def test_citations_and_strays_are_recognised() -> None:
    assert cited('See docs/theory.md, "Update margin".') == ["Update margin"]
    assert cited("See docs/theory.md.") == []
    assert NOT_IN_THE_REPOSITORY.search("the id of THEORY §4")
    assert NOT_IN_THE_REPOSITORY.search("DESIGN's signature")
    assert not NOT_IN_THE_REPOSITORY.search("the THEORY constant of docs/theory.md")
