"""A panel in a model file: exact, small, and checked number by number."""

from __future__ import annotations

import json
import pickle
import re
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile import Model, sign_model
from input_streams import dicts, stream

import mistakebound as mb
from mistakebound._core import Engine
from mistakebound.models.model_file import fingerprint
from mistakebound.models.panel_state import RECORD, SLOT, TENSORS, _numbers
from mistakebound.rules.panel_members import MEMBERS

INF, NAN = float("inf"), float("nan")
FIXTURES = Path(__file__).parent.parent / "fixtures"


class Constant:
    """A member from outside that always predicts the same."""

    def __init__(self, label: bool) -> None:
        self.label, self.seen = label, 0

    def predict_one(self, x: Any) -> bool:
        return self.label

    def learn_one(self, x: Any, y: bool) -> None:
        self.seen += 1


def exactly(panel: Any) -> Any:
    """The state of the core, without the number of threads, as bytes."""

    def flat(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return [flat(each) for each in value]
        return value.tobytes() if isinstance(value, np.ndarray) else repr(value)

    settings, *state = panel._play.engine.core.__getstate__()
    return flat([settings[:-1], *state])


def learned(rounds: int = 100, members: Any = "all", *, named: bool = False, **options: Any) -> mb.Panel:
    panel = mb.Panel(members, classes=(0, 1), **{"threads": 1, **options})
    X, y = stream(rounds)
    panel.run(dicts(X) if named else X, y)
    return panel


# ---------------------------------------------------------------------- exact


@pytest.mark.parametrize("members", ["all", "lean", ["arow"], MEMBERS[3:15]])
@pytest.mark.parametrize("make", [copy, deepcopy, lambda panel: pickle.loads(pickle.dumps(panel))])
def test_a_copy_continues_like_the_original(make: Any, members: Any) -> None:
    panel = learned(70, members)
    other = make(panel)
    assert exactly(other) == exactly(panel)
    X, y = stream(50, seed=1)
    panel.run(X, y)
    assert exactly(other) != exactly(panel)
    other.run(X, y)
    assert exactly(other) == exactly(panel)


@pytest.mark.parametrize("before", [1, 2])
@pytest.mark.parametrize("after", [1, 2])
@pytest.mark.parametrize("members", ["all", "lean"])
def test_the_number_of_threads_may_change(before: int, after: int, members: str, tmp_path: Path) -> None:
    X, y = stream(3000)
    whole = mb.Panel(members, threads=1)
    whole.run(X, y)
    half = mb.Panel(members, threads=before)
    half.run(X[:1300], y[:1300])
    half.set_params(threads=after)
    half.save(tmp_path / "m.mb")
    loaded = mb.load(tmp_path / "m.mb")
    assert loaded._play.engine.core.__getstate__()[0][-1] == after
    assert pickle.loads(pickle.dumps(loaded))._play.engine.core.__getstate__()[0][-1] == after
    loaded.run(X[1300:], y[1300:])
    assert exactly(loaded) == exactly(whole)


@pytest.mark.parametrize("wrong", [{"threads": 7}, {"threads": 2.0}, {"threads": True}, {"members": 5}])
def test_a_parameter_that_is_not_valid_waits_for_the_next_fit(wrong: dict[str, Any], tmp_path: Path) -> None:
    panel = learned()
    panel.set_params(**wrong)
    panel.save(tmp_path / "m.mb")
    loaded = mb.load(tmp_path / "m.mb")
    assert exactly(loaded) == exactly(panel)
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        loaded.fit(*stream(5))


def test_a_width_that_grows(tmp_path: Path) -> None:
    lines = [f"{'+1' if k % 3 else '-1'} {k + 1}:1 {2 * k + 2}:0.5\n" for k in range(200)]
    paths = [tmp_path / "a.svm", tmp_path / "b.svm"]
    for path, part in zip(paths, (lines[:80], lines[80:]), strict=True):
        path.write_text("".join(part))
    whole, half = mb.Panel(classes=(-1, 1)), mb.Panel(classes=(-1, 1))
    whole.run(mb.Source(paths))
    half.run(mb.Source(paths[0]))
    half.save(tmp_path / "m.mb")
    loaded = mb.load(tmp_path / "m.mb")
    assert exactly(loaded) == exactly(half)
    loaded.run(mb.Source(paths[1]))
    assert exactly(loaded) == exactly(whole)
    assert fingerprint(loaded) == fingerprint(whole) != fingerprint(half)


def test_late_outcomes(tmp_path: Path) -> None:
    X, y = stream(60)
    panel = mb.Panel(classes=(0, 1), threads=1)
    for t in range(0, 60, 15):
        asked = [panel.ask(X[t + k]) for k in range(15)]
        for k in range(15):
            panel.tell(asked[k], y[t + k])
    assert panel.standings.mistakes != panel.ledger_.mistakes
    panel.save(tmp_path / "m.mb")
    loaded = mb.load(tmp_path / "m.mb")
    assert exactly(loaded) == exactly(panel)
    assert loaded.certify().to_json() == panel.certify().to_json()
    assert panel.certify().status == "does not apply"
    again = mb.Ledger.from_json(panel.ledger_.to_json())
    assert mb.certify(again).to_json() == panel.certify().to_json()


def test_changes_of_the_leader_are_kept_as_they_are() -> None:
    """After half of many changes was left out, two neighbours may be the same member."""
    panel = learned()
    state = list(panel._play.engine.core.__getstate__())
    leads = np.array([32.0, 3, 64, 3, 96, 1])
    state[2] = (*state[2][:-1], leads)
    core = Engine.__new__(Engine)
    core.__setstate__(tuple(state))
    assert core.leadership() == [(32, 3), (64, 3), (96, 1)]
    assert core.__getstate__()[2][-1].tolist() == leads.tolist()


def test_standings_and_leadership_after_loading(tmp_path: Path) -> None:
    panel = learned(500, named=True)
    panel.save(tmp_path / "m.mb")
    loaded: Any = mb.load(tmp_path / "m.mb")
    assert loaded.standings == panel.standings
    assert loaded.members() == panel.members()
    assert loaded.leadership() == panel.leadership() != []


# ---------------------------------------------------------------------- size


def size(panel: Any, path: Path) -> int:
    panel.save(path)
    return path.stat().st_size


def test_a_feature_that_was_never_seen_costs_a_bit(tmp_path: Path) -> None:
    X, y = stream(30)
    narrow, wide = mb.Panel(), mb.Panel()
    narrow.run(X, y)
    many = np.zeros((30, 80_012))
    many[:, :12] = X
    wide.run(many, y)
    assert abs(size(wide, tmp_path / "w.mb") - size(narrow, tmp_path / "n.mb") - 10_000) < 64
    assert exactly(mb.load(tmp_path / "w.mb")) == exactly(wide)


def test_features_and_slots_cost_what_they_need(tmp_path: Path) -> None:
    fresh = mb.Panel()
    fresh.predict_one({"a": 1})
    assert size(fresh, tmp_path / "m.mb") < 10_000
    panel = learned(200, named=True)
    _, _, (features, _, touched, *_), *_ = panel._play.engine.core.__getstate__()
    needed = 96 * len(features) + 32 * len(touched)
    assert 1000 < needed < size(panel, tmp_path / "m.mb") < needed + 16_000


# ---------------------------------------------------------------------- measures


PROBABILISTIC = [mb.NaiveBayes, mb.ImplicitLogistic, mb.Panel]


@pytest.mark.parametrize("make", PROBABILISTIC)
def test_measures_continue(make: Any, tmp_path: Path) -> None:
    X, y = stream(300)
    whole, half = make(), make()
    whole.run(X, y)
    half.run(X[:170], y[:170])
    half.save(tmp_path / "m.mb")
    loaded = mb.load(tmp_path / "m.mb")
    loaded.run(X[170:], y[170:])
    assert loaded.ledger_.measures.to_dict() == whole.ledger_.measures.to_dict()
    assert loaded.ledger_.measures.rounds == 300


def test_measures_begin_after_loading_a_file_that_has_none() -> None:
    path = FIXTURES / "model-v4-naive-bayes-named.mb"
    learner = mb.load(path)
    with pytest.raises(ValueError, match="no measures"):
        learner.ledger_.measures.rounds  # noqa: B018
    said = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    learner.run(said["rows"][30:], said["labels"][30:])
    assert (learner.ledger_.rounds, learner.ledger_.measures.rounds) == (40, 10)


MEASURES = [
    ("rounds", lambda m: m["rounds"] + 1, "rounds"),
    ("rounds", lambda m: m["rounds"] - 1, "negatives|positives|bins"),
    ("rounds", lambda m: -1, "rounds"),
    ("squares", lambda m: -0.5, "squares"),
    ("squares", lambda m: 1e6, "squares"),
    ("squares", lambda m: {"float": "nan"}, "squares"),
    ("loss", lambda m: -1.0, "loss"),
    ("loss", lambda m: 1e300, "loss"),
    ("product", lambda m: 0.0, "product"),
    ("product", lambda m: 1.5, "product"),
    ("product", lambda m: 1e-300, "product"),
    ("bins", lambda m: m["bins"][::-1], "bins"),
    ("bins", lambda m: [*m["bins"][:-1], 1222], "bins"),
    ("bins", lambda m: [-1, *m["bins"][1:]], "bins"),
    ("bins", lambda m: m["bins"][:-1], "negatives"),
    ("positives", lambda m: [-1, *m["positives"][1:]], "positives"),
    ("positives", lambda m: m["negatives"], "bins|positives"),
    ("negatives", lambda m: [2**62, *m["negatives"][1:]], "negatives"),
]


@pytest.mark.parametrize(("field", "value", "where"), MEASURES)
@pytest.mark.parametrize("make", [mb.NaiveBayes, mb.Panel])
def test_measures_that_are_not_possible(make: Any, field: str, value: Any, where: str, tmp_path: Path) -> None:
    X, y = stream(100)
    learner = make()
    learner.run(X, y)
    learner.save(tmp_path / "m.mb")
    model = Model((tmp_path / "m.mb").read_bytes())
    ledger = json.loads(learner.ledger_.to_json())
    for measures in (model.metadata["life"]["measures"], ledger["measures"]):
        assert measures["rounds"] == 100
        measures[field] = value(measures)
    (tmp_path / "m.mb").write_bytes(sign_model(model))
    with pytest.raises(mb.ModelError, match=rf"measures.*({where})"):
        mb.load(tmp_path / "m.mb")
    with pytest.raises(mb.ModelError, match=rf"measures.*({where})"):
        mb.Ledger.from_json(json.dumps(ledger))


def test_a_rule_without_probabilities_has_no_measures(tmp_path: Path) -> None:
    X, y = stream(20)
    learner = mb.Perceptron()
    learner.run(X, y)
    learner.save(tmp_path / "m.mb")
    model = Model((tmp_path / "m.mb").read_bytes())
    assert "measures" not in model.metadata["life"]
    empty = {"rounds": 0, "squares": 0.0, "loss": 0.0, "product": 1.0, "bins": [], "negatives": [], "positives": []}
    model.metadata["life"]["measures"] = empty
    (tmp_path / "m.mb").write_bytes(sign_model(model))
    with pytest.raises(mb.ModelError, match=r"measures.*predicts no probabilities"):
        mb.load(tmp_path / "m.mb")


# ---------------------------------------------------------------------- files that are not valid


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("sound")
    found = {}
    for name, panel in {
        "all": learned(101),
        "settled": learned(96),
        "named": learned(70, named=True),
        "lean": learned(70, "lean"),
    }.items():
        panel.save(folder / "m.mb")
        found[name] = (folder / "m.mb").read_bytes()
    return found


def refused(model: Model, path: Path) -> str:
    path.write_bytes(sign_model(model))
    with pytest.raises(mb.ModelError) as caught:
        mb.load(path)
    return f"{caught.value.field}: {caught.value}"


def put(name: str, at: int, value: Any, kind: str = "") -> Any:
    def act(model: Model) -> None:
        array = model.arrays[name]
        (array.view(kind) if kind else array)[at] = value

    return act


def number(part: str, at: int, value: Any) -> Any:
    """Change a number of a part of ``numbers``."""

    def act(model: Model) -> None:
        getattr(_numbers(model.arrays["numbers"], 16), part)[at] = value

    return act


def field(name: str, value: Any, kind: str = "", feature: int = 0) -> Any:
    return put("feature_records", feature * len(RECORD) + list(RECORD).index(name), value, kind)


def slot(name: str, value: Any) -> Any:
    return put("slot_records", list(SLOT).index(name), value)


def resize(name: str, by: int) -> Any:
    def act(model: Model) -> None:
        array = model.arrays[name]
        model.arrays[name] = array[:by] if by < 0 else np.concatenate([array, array[:by]])

    return act


CONTRADICTIONS = [
    ("all", number("labels", 0, 0.0), "labels"),
    ("all", number("labels", 0, 1e300), "labels"),
    ("all", number("labels", 2, 102.0), "labels"),
    ("all", number("last", 0, 8.0), "last three labels"),
    ("all", number("last", 0, -1.0), "last three labels"),
    ("all", number("last", 0, 0.5), "last three labels"),
    ("all", number("after_positive", 3, 300.0), "label history"),
    ("all", number("after_negative", 3, -1.0), "label history"),
    ("all", number("fast", 0, INF), "mixer"),
    ("all", number("slow_covariance", 17, NAN), "mixer"),
    ("all", number("fast_drift", 2, -1e-6), "mixer"),
    ("all", number("loss", 0, -1.0), "log loss"),
    ("all", number("loss", 0, 1e9), "log loss"),
    ("all", number("loss", 0, 0.0), "log loss is too small|shares"),
    ("all", number("product", 0, 0.0), "product"),
    ("all", number("product", 19, 2.0), "product"),
    ("settled", number("product", 0, 0.5), "product"),
    ("all", number("share", 0, 1.5), "shares"),
    ("all", number("share", 16, 0.5), "shares"),
    ("all", number("share", 19, 0.5), "shares"),
    ("all", number("wrong", 0, 102.0), "mistakes of a member"),
    ("all", number("wrong", 0, 0.5), "mistakes of a member"),
    ("all", number("wrong", 0, INF), "mistakes of a member"),
    ("all", number("wrong", 19, 0.0), "mistakes of a member"),
    ("all", number("totals", 0, 0.0), "mistakes of the panel"),
    ("all", number("totals", 1, -1.0), "totals"),
    ("all", number("totals", 1, 102.0), "totals"),
    ("all", number("totals", 2, 2.0**63), "totals"),
    ("all", number("totals", 3, -1.0), "log loss"),
    ("all", number("totals", 3, 0.0), "log loss is too small"),
    ("all", number("totals", 4, 1.1), "product"),
    ("all", resize("numbers", 1), "numbers"),
    ("all", resize("numbers", -1), "numbers"),
    ("all", field("scale", 0.0), "scale"),
    ("all", field("scale", -1.0), "scale"),
    ("all", field("positives", -1, "<i4"), "counts of a feature"),
    ("all", field("negatives", 2**31 - 1, "<i4"), "counts of a feature"),
    ("all", field("seen", 99, "<i4"), "counts of a feature"),
    ("all", field("seen", -5, "<i4"), "counts of a feature"),
    ("all", field("coin_reward", -1.0), "coin_reward"),
    ("all", field("implicit_sum", 0.0), "implicit_sum"),
    ("all", field("adagrad_sum", -1.0), "adagrad_sum"),
    ("all", field("arow_variance", 1.5), "arow_variance"),
    ("all", field("spread", -1.0), "spread"),
    ("all", field("spare", 1.0), "spare"),
    ("all", field("scale", 2.0, feature=-1), "constant"),
    ("all", field("positives", 1, "<i4", feature=-1), "constant"),
    ("lean", field("hinge_w", 1.0), "hinge_w"),
    ("lean", field("hinge_sum", 1.0), "hinge_sum"),
    ("all", resize("feature_records", -24), "feature_records"),
    ("all", resize("features", 1), "features"),
    ("all", put("features", 1, 0xFF), "features"),
    ("all", put("features", 0, 0xFE), "feature_records"),
    ("named", put("features", 0, 0xFF), "unknown names"),
    ("all", resize("slot_records", -7), "slot_records"),
    ("all", put("touched_slots", -1, 2**18), "touched_slots"),
    ("all", put("touched_slots", 0, 2**18 - 1), "touched_slots"),
    ("all", put("touched_slots", -1, 0), "touched_slots"),
    ("all", slot("coin_w", NAN), "coin_w"),
    ("all", slot("coin_most", 0.0), "coin_most"),
    ("all", slot("adagrad_sum", 0.0), "adagrad_sum"),
    ("all", put("lead_rounds", 0, 0), "lead_rounds"),
    ("all", put("lead_rounds", 0, 33), "lead_rounds"),
    ("all", put("lead_rounds", -1, 128), "lead_rounds"),
    ("all", put("lead_members", 0, 16), "lead_members"),
    ("all", resize("lead_members", -1), "lead_rounds"),
    ("all", put("predictions", 0, 2), "predictions"),
    (
        "all",
        lambda model: model.metadata["life"].update(counts=[101, *model.metadata["life"]["counts"][1:3], 7, 0]),
        "counts",
    ),
    ("all", lambda model: model.metadata["life"].update(width=2**40), "features"),
    ("all", lambda model: model.metadata["life"].update(sums={"bias_z": 1.0}), "sums"),
    ("all", lambda model: model.metadata["life"]["parameters"].update(members="lean"), "numbers"),
    ("all", lambda model: model.metadata["life"]["parameters"].update(members={"list": ["arow"] * 2}), "members"),
    ("all", lambda model: model.metadata["life"]["parameters"].update(members=65535), "life.parameters"),
    ("all", lambda model: model.metadata["life"]["parameters"].update(joined=3), "life.parameters"),
    ("all", lambda model: model.metadata.update(learner="NaiveBayes", parameters={}), "tensors|keep_bytes|members"),
]


@pytest.mark.parametrize(("which", "act", "where"), CONTRADICTIONS)
def test_a_contradiction_is_refused(which: str, act: Any, where: str, sound: Any, tmp_path: Path) -> None:
    model = Model(sound[which])
    act(model)
    assert sign_model(model) != sign_model(Model(sound[which]))
    assert re.search(where, refused(model, tmp_path / "m.mb"))


@pytest.mark.parametrize("which", ["named", "lean"])
def test_no_number_may_be_nan(which: str, sound: Any, tmp_path: Path) -> None:
    """Each place of each tensor of floats, except counts, whose bits are integers."""
    tried = 0
    counts = [place for place, name in enumerate(RECORD) if RECORD[name] is None]
    for name in ("numbers", "feature_records", "slot_records"):
        length = len(Model(sound[which]).arrays[name])
        for at in range(0, length, 1 if length < 700 else 37):
            if name == "feature_records" and at % len(RECORD) in counts:
                continue
            model = Model(sound[which])
            model.arrays[name][at] = NAN
            refused(model, tmp_path / "m.mb")
            tried += 1
    assert tried > 500


def test_a_panel_does_not_take_the_tensors_of_a_linear_learner(sound: Any, tmp_path: Path) -> None:
    X, y = stream(20)
    learner = mb.Perceptron()
    learner.run(X, y)
    learner.save(tmp_path / "p.mb")
    model, other = Model(sound["all"]), Model((tmp_path / "p.mb").read_bytes())
    model.arrays, model.header = other.arrays, other.header
    assert "tensors" in refused(model, tmp_path / "m.mb")
    assert list(Model(sound["all"]).arrays) == list(TENSORS)


# ---------------------------------------------------------------------- members from outside


def test_members_from_outside_are_not_saved_but_pickled(tmp_path: Path) -> None:
    X, y = stream(60)
    for start in (False, True):
        panel = mb.Panel(["arow", "label-history", Constant(True), Constant(False)], classes=(0, 1))
        if start:
            panel.run(X, y)
        with pytest.raises(mb.ModelError, match=r"m\.mb: .*Constant, Constant-2.*pickle\.dump") as caught:
            panel.save(tmp_path / "m.mb")
        assert caught.value.field == "parameters.members"
        assert list(tmp_path.iterdir()) == []
    other = pickle.loads(pickle.dumps(panel))
    assert fingerprint(other) == fingerprint(panel)
    assert other.standings == panel.standings
    for each in (panel, other):
        each.run(X, y)
    assert fingerprint(other) == fingerprint(panel)
    assert exactly(other) == exactly(panel)
    assert [each.seen for _, each in other._play.engine.joined] == [120, 120]
    assert mb.Ledger.from_json(panel.ledger_.to_json()).standings == panel.standings


def test_a_panel_with_members_from_outside_can_be_checked_by_learning_again() -> None:
    X, y = stream(60)
    panel = mb.Panel(["arow", Constant(True)], classes=(0, 1))
    panel.run(X, y)
    assert panel.certify(X=X, y=y) == panel.certify()
    with pytest.raises(ValueError, match="another state"):
        panel.certify(X=X, y=1 - y)


def test_before_the_first_input_its_ledger_is_empty() -> None:
    panel = mb.Panel(["arow", Constant(True)])
    assert panel.ledger_.rounds == 0
    assert [row.name for row in panel.members()] == ["arow", "Constant"]
