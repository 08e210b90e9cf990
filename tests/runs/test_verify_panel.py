"""Portable certificates of panels, and ledgers of panels in JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from files import svmlight
from input_streams import dicts, stream

import mistakebound as mb
from mistakebound.certificates.portable import seal
from mistakebound.theorems.panel import PANEL_THEOREMS


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    path = svmlight(tmp_path / "a.svm")
    result = mb.runs.run(mb.Source(path), mb.Panel(), certificate=tmp_path / "c.json", checkpoint=tmp_path / "m.mb")
    assert result.certificate is not None
    assert result.certificate.theorem in PANEL_THEOREMS
    return path, json.loads((tmp_path / "c.json").read_text())


def verified(document: dict[str, Any], path: Path) -> Any:
    """Verify a document whose seal is correct, as a forger would make it."""
    document["seal"] = seal(document)
    certificate = path.with_name("forged.json")
    certificate.write_text(json.dumps(document))
    return mb.runs.verify(certificate, path, model=path.with_name("m.mb"))


@pytest.mark.parametrize("theorem", PANEL_THEOREMS)
def test_a_certificate_is_confirmed_by_learning_again(theorem: str, made: Any) -> None:
    path, document = made
    panel: Any = mb.load(path.with_name("m.mb"))
    document["certificate"] = json.loads(panel.certify(theorem=theorem).to_json())
    found = verified(document, path)
    assert found.agrees, [each.words for each in found.checks if not each.agrees]
    assert {"theorem", "bound", "status", "model", "comparator: variables"} <= {each.what for each in found.checks}
    assert found.certificate.theorem == theorem


FORGERIES: list[tuple[str, Callable[[dict[str, Any]], Any], str]] = [
    ("a smaller bound", lambda c: c.update(bound=c["bound"] - 1), "bound"),
    ("fewer mistakes", lambda c: c.update(mistakes=0), "its mistakes"),
    ("another status", lambda c: c.update(status="violated"), "status"),
    ("another member", lambda c: c.update(comparator={"variables": ["arow-2"]}), "comparator: variables"),
    ("a theorem on another rule", lambda c: c.update(theorem="novikoff"), "certificate"),
    ("other members of the rule", lambda c: c["rule"].update(members=1), "its rule"),
    ("a premise", lambda c: c["premises"][1].update(measured="m = 0"), "premise"),
    ("a premise less", lambda c: c["premises"].pop(), "premises"),
]


@pytest.mark.parametrize(("act", "what"), [each[1:] for each in FORGERIES], ids=[each[0] for each in FORGERIES])
def test_a_forged_certificate_is_detected(act: Any, what: str, made: Any) -> None:
    path, document = made
    act(document["certificate"])
    found = verified(document, path)
    assert what in {each.what for each in found.checks if not each.agrees}


def test_other_data_are_detected(made: Any) -> None:
    path, document = made
    path.write_text(path.read_text().replace("1:1", "1:2", 1))
    found = verified(document, path)
    assert {"model", path.name} <= {each.what for each in found.checks if not each.agrees}


class Always:
    """A member from outside."""

    def predict_one(self, x: Any) -> bool:
        return True

    def learn_one(self, x: Any, y: Any) -> None:
        pass


def test_a_panel_with_members_from_outside_has_no_portable_certificate(tmp_path: Path) -> None:
    path = svmlight(tmp_path / "a.svm")
    panel = mb.Panel(["arow", Always()])
    for wanted in ("certificate", "checkpoint"):
        with pytest.raises(mb.ModelError, match="Always are objects from outside"):
            mb.runs.run(mb.Source(path), panel, **{wanted: tmp_path / "written"})
    assert not panel.has_learned
    assert not (tmp_path / "written").exists()


# ---------------------------------------------------------------------- ledgers


def panel_of(members: Any = "all", *, named: bool = False) -> mb.Panel:
    X, y = stream(200)
    panel = mb.Panel(members, classes=(0, 1))
    panel.run(dicts(X) if named else X, y)
    return panel


@pytest.mark.parametrize("members", ["all", "lean", ["arow", Always(), Always()]])
@pytest.mark.parametrize("named", [False, True])
def test_a_ledger_gives_the_same_certificate(members: Any, named: bool) -> None:
    panel = panel_of(members, named=named)
    text = panel.ledger_.to_json()
    again = mb.Ledger.from_json(text)
    assert again.to_json() == text
    assert again.standings == panel.standings
    assert again.measures.to_dict() == panel.ledger_.measures.to_dict()
    for theorem in (None, *PANEL_THEOREMS):
        assert mb.certify(again, theorem).to_json() == panel.certify(theorem).to_json()
    certificate = panel.certify()
    assert mb.Certificate.from_json(certificate.to_json()) == certificate


def test_the_ledger_of_a_later_run() -> None:
    panel = panel_of()
    X, y = stream(50, seed=5)
    ledger = panel.run(X, y)
    again = mb.Ledger.from_json(ledger.to_json())
    assert (again.rounds, again.measures.rounds) == (50, 50)
    assert again.standings is not None
    assert again.standings.rounds == 250
    assert mb.certify(again).status == "does not apply"


def test_members_counted_in_other_rounds_certify_nothing() -> None:
    data = json.loads(panel_of().ledger_.to_json())
    data["standings"]["rounds"] += 1
    assert mb.certify(mb.Ledger.from_json(json.dumps(data))).status == "does not apply"


def test_a_panel_is_compared_with_its_own_members() -> None:
    with pytest.raises(ValueError, match="no comparator"):
        mb.certify(panel_of().ledger_, "bayes-mixture", [1.0] * 12)
    with pytest.raises(ValueError, match="no theorem 'novikoff' on the panel"):
        mb.certify(panel_of().ledger_, "novikoff")


STANDINGS: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda s: s.update(rounds=199), "rounds"),
    (lambda s: s.update(mistakes=s["mistakes"] + 1), "mistakes"),
    (lambda s: s.update(overrides=-1), "overrides"),
    (lambda s: s.update(log_loss=-1.0), "log_loss"),
    (lambda s: s.update(log_loss=1e300), "log_loss"),
    (lambda s: s["members"].pop(), "members"),
    (lambda s: s["mixers"].reverse(), "members of the rule"),
    (lambda s: s["members"][0].update(name="arow"), "members of the rule"),
    (lambda s: s["members"][0].update(mistakes=201), "mistakes"),
    (lambda s: s["members"][0].update(mistakes=0.0), "mistakes"),
    (lambda s: s["members"][0].update(log_loss=0.0), "too small"),
    (lambda s: s["members"][0].update(share=0.9), "add up to 1"),
    (lambda s: s["members"][0].update(share=-0.1), "share"),
    (lambda s: s["members"][0].update(weight="a"), "weight"),
    (lambda s: s.clear(), "standings"),
]


@pytest.mark.parametrize(("act", "where"), STANDINGS)
def test_standings_that_are_not_possible(act: Any, where: str) -> None:
    data = json.loads(panel_of().ledger_.to_json())
    act(data["standings"])
    with pytest.raises(mb.ModelError, match=rf"standings.*{where}|{where}"):
        mb.Ledger.from_json(json.dumps(data))


def test_only_a_panel_has_standings() -> None:
    X, y = stream(20)
    learner = mb.Perceptron()
    learner.run(X, y)
    data, of_panel = json.loads(learner.ledger_.to_json()), json.loads(panel_of().ledger_.to_json())
    assert "standings" not in data
    data["standings"] = of_panel.pop("standings")
    for each in (data, of_panel):
        with pytest.raises(mb.ModelError, match="standings must be"):
            mb.Ledger.from_json(json.dumps(each))
