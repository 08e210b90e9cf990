"""Every experiment of the lab holds, repeats itself by its seed, and fails if a rule or a bound is broken."""

from __future__ import annotations

import inspect
import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mistakebound as mb
from mistakebound.lab import experiments
from mistakebound.lab.experiment import Check, Experiment, Findings, Result, Table, cell, certified, experiment
from mistakebound.theorems import EXPERT_THEOREMS, THEOREMS, Theorem
from mistakebound.theorems.potential import Potential
from mistakebound.viz.chart import Level

NAMES = mb.lab.names()
MODULES = sorted(path for path in Path(experiments.__path__[0]).glob("*.py") if path.stem != "__init__")


def quick(name: str, **sizes: Any) -> Result:
    """Run an experiment at its small sizes."""
    found = mb.lab.get(name)
    return found.run(**{**found.quick, **sizes})


def test_every_module_is_an_experiment_of_its_name() -> None:
    assert sorted(NAMES) == [path.stem.replace("_", "-") for path in MODULES]
    assert len(set(NAMES)) == len(NAMES)
    for name in NAMES:
        assert mb.lab.get(name).name == name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_an_experiment_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 80


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_describes_itself(name: str) -> None:
    found = mb.lab.get(name)
    for words in (found.claim, found.setting):
        assert words.endswith(".")
    assert found.summary.endswith(".")
    assert found.claim.startswith(found.summary[:-1])
    assert set(found.theorems) <= set(THEOREMS) | set(EXPERT_THEOREMS) | set(mb.bounds.BOUNDS)
    assert set(found.quick) <= set(found.defaults)
    assert all(isinstance(value, (int, float)) for value in found.defaults.values())
    kinds = {each.kind for each in inspect.signature(found.function).parameters.values()}
    assert kinds <= {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_holds_at_its_default_sizes(name: str) -> None:
    result = mb.lab.run(name)
    assert result.holds, [check for check in result.checks if not check.holds]
    assert result.conclusion.endswith(".")
    assert result.tables
    assert all(len(row) == len(table.columns) for table in result.tables for row in table.rows)
    for chart in result.charts:
        assert chart.title
        assert chart.x.label
        assert chart.y.label
    assert result.charts
    assert len(result.figure().axes) == len(result.charts)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_result_and_another_seed_holds(name: str) -> None:
    first, again = quick(name), quick(name)
    assert first.holds
    assert (first.tables, first.checks, first.conclusion) == (again.tables, again.checks, again.conclusion)
    if "seed" in mb.lab.get(name).defaults:
        other = quick(name, seed=1)
        assert other.holds, [check for check in other.checks if not check.holds]
        assert other.tables != first.tables


@pytest.mark.parametrize("name", NAMES)
def test_the_command_of_a_result_repeats_it(name: str) -> None:
    result = quick(name)
    words = result.command.split()
    assert words[:3] == ["mistakebound", "lab", name]
    sizes = dict(zip([word[2:].replace("-", "_") for word in words[3::2]], words[4::2], strict=True))
    assert {key: float(value) for key, value in sizes.items()} == result.sizes


def test_a_result_as_json() -> None:
    data = json.loads(quick("learning-rate").to_json())
    assert data["holds"] is True
    assert data["sizes"] == {"n": 64, "k": 3, "seed": 0}
    assert data["tables"][0]["rows"][-1][4] is None, "an infinite bound is null"
    assert {"statement", "holds", "measured"} == set(data["checks"][0])


# ---------------------------------------------------------------- experiments that must fail


class Forgetful(mb.Perceptron):
    """A Perceptron that forgets every second example that it learns alone."""

    turn = 0

    def learn_one(self, x: Any, y: Any, **more: Any) -> Any:
        self.turn += 1
        return super().learn_one(x, y, **more) if self.turn % 2 else None


def fails(result: Result, *words: str) -> bool:
    """Whether the result fails, with these words in the checks that do."""
    wrong = " ".join(f"{check.statement} {check.measured}" for check in result.checks if not check.holds)
    return not result.holds and all(word in wrong for word in words)


def test_a_learner_that_forgets_is_found_by_the_adversary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mb, "Perceptron", Forgetful)
    assert fails(quick("unit-vectors"), "there are none in the later passes")


@pytest.mark.parametrize(
    ("name", "formula", "words"),
    [
        ("panel-of-experts", "winnow_panel", "violated: winnow-panel"),
        ("panel-of-experts", "perceptron_panel", "violated: perceptron-panel"),
        ("disjunctions", "littlestone", "violated: littlestone"),
        ("disjunctions", "elimination", "violated: elimination"),
        ("learning-rate", "winnow_fixed_rate", "violated: winnow-fixed-rate"),
        ("beta", "weighted_majority", "violated: weighted-majority"),
        ("pnorm", "pnorm", "violated: pnorm"),
        ("disjunction-adversary", "littlestone", "violated: littlestone"),
        ("halving", "halving", "violated: halving"),
        ("unit-vectors", "novikoff", "violated: novikoff"),
        ("potential", "weighted_majority", "violated: weighted-majority"),
    ],
)
def test_a_bound_that_is_too_small_is_found(
    monkeypatch: pytest.MonkeyPatch, name: str, formula: str, words: str
) -> None:
    right = getattr(mb.bounds, formula)
    monkeypatch.setattr(mb.bounds, formula, lambda *how, **more: right(*how, **more) / 8)
    sizes = mb.lab.get(name).quick | ({"n": 128} if name == "panel-of-experts" else {})
    assert fails(mb.lab.get(name).run(**sizes), words)


def test_labels_that_the_target_does_not_explain_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A premise fails on the whole stream, so that the certificate does not apply."""
    right = mb.streams.panel
    monkeypatch.setattr(mb.streams, "panel", lambda *how, **more: mb.streams.label_noise(right(*how, **more), 0.1))
    for name in ("panel-of-experts", "learning-rate", "signed-targets"):
        assert fails(quick(name), ":")


def test_a_gain_that_is_too_large_is_found_by_the_lemma(monkeypatch: pytest.MonkeyPatch) -> None:
    right = mb.bounds.winnow_gain
    monkeypatch.setattr(mb.bounds, "winnow_gain", lambda margin, eta, *more: 4 * right(margin, eta, *more))
    assert fails(quick("potential"), "Winnow: RE(u‖w⁺)", "slack -")


class WrongSign(Theorem):
    """The lemma of Novikoff for updates in the wrong direction."""

    def lemma(self, step: Any, witness: Any) -> dict[str, float]:
        from dataclasses import replace

        wrong = replace(step, z_next=step.z - step.y * step.x)
        return THEOREMS["novikoff"].lemma(wrong, witness) | {
            "u·z⁺ ≥ u·z + γ − hinge": float(witness.u @ (wrong.z_next - wrong.z)) - witness.margin
        }


def test_an_update_of_the_wrong_sign_is_found_by_the_lemma(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(THEOREMS, "perceptron-agnostic", WrongSign())
    assert fails(quick("potential"), "Perceptron: ‖z⁺‖²", "Perceptron: u·z⁺")


def test_a_learner_that_hardly_learns_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the premise on its rate, and by the comparison."""
    right = mb.NormalizedWinnow
    monkeypatch.setattr(mb, "NormalizedWinnow", lambda *_how, **_more: right(0.001))
    assert fails(quick("panel-of-experts"), "η is the best rate", "n = 128: Winnow makes fewer mistakes")


# ---------------------------------------------------------------- the parts


def test_potentials_of_the_proofs_reach_their_limits_at_the_bound() -> None:
    """At the bound, the line of the lemma says: ‖z‖ = u·z, RE = 0, W = weight of the best expert."""
    perceptron, winnow, majority = (chart.marks for chart in quick("potential").charts)
    norm, inner = perceptron[1], perceptron[3]
    assert norm.x[-1] == inner.x[-1]
    assert norm.y[-1] == pytest.approx(inner.y[-1], rel=1e-6)
    assert winnow[1].y[-1] == pytest.approx(0, abs=1e-6)
    best = next(mark for mark in majority if isinstance(mark, Level) and mark.along == "y")
    assert majority[1].y[-1] == pytest.approx(best.at, rel=1e-6)


def test_a_potential_without_mistakes_or_with_a_negative_slack_does_not_hold() -> None:
    assert not Potential("").holds
    assert Potential("", [1, 2], [1, 2], [0.0]).holds
    assert not Potential("", [1, 2], [1, 2], [0.0, -0.1]).holds


def test_wrong_names_and_sizes_are_errors_that_list_what_exists() -> None:
    with pytest.raises(mb.InputError, match="there is no experiment 'unit-vector'; did you mean 'unit-vectors'"):
        mb.lab.run("unit-vector")
    with pytest.raises(mb.InputError, match="the experiments are unit-vectors, "):
        mb.lab.get("xyz")
    with pytest.raises(
        mb.InputError, match="beta has no size 'round'; did you mean 'rounds'.*sizes are n, rounds, seed"
    ):
        mb.lab.run("beta", round=3)
    for wrong in (2.5, True, "many", math.inf, math.nan, None):
        with pytest.raises(mb.InputError, match="^n must be a "):
            mb.lab.run("beta", n=wrong)
    with pytest.raises(mb.InputError, match="^n must be at least 8, got 0: the claim is about larger numbers, and"):
        mb.lab.run("beta", n=0)
    assert quick("unit-vectors", k=20.0).sizes == {"k": 20}
    assert quick("unit-vectors", k=np.int32(20)).sizes == {"k": 20}


def certificate(**changes: Any) -> mb.Certificate:
    learner = mb.Perceptron()
    stream = mb.streams.margin(5, 200, 0.3)
    learner.run(*stream)
    found = learner.certify("novikoff", comparator=stream.target)
    return mb.Certificate(**{**vars(found), **changes})


@pytest.mark.parametrize(("value", "text"), [(1600.0000000002, "1,600"), (1600.06, "1,600.1"), (1e-9, "1e-09")])
def test_an_error_of_rounding_is_not_shown(value: float, text: str) -> None:
    """A bound like 4·(1/.05)², in floats, is as whole as its exact value."""
    assert cell(value) == text


def test_certificates_are_checked_together() -> None:
    near, far = certificate(mistakes=8, bound=10.0), certificate(mistakes=1, bound=10.0)
    assert certified("us", far, near) == Check(
        "us: the theorem novikoff",
        True,
        "2 certificates hold; nearest to its bound: 8 mistakes in 200 rounds, bound 10",
    )
    assert certified("us", far).measured == "1 mistake in 200 rounds, bound 10"
    assert certified("us", certificate(expected=2.5, bound=10.0)).measured.startswith("2.5 expected mistakes in ")
    for status in ("vacuous", "violated", "does not apply", "incomplete"):
        check = certified("us", near, certificate(status=status))
        assert not check.holds
        assert check.measured.startswith(f"{status}: ")


def test_an_experiment_of_ones_own() -> None:
    @experiment("mine", title="Mine", claim="One is one. It is.", setting="None.", quick={"n": 1})
    def mine(*, n: int = 2, share: float = 0.5) -> Findings:
        return Findings("Yes.", [Check("n is 1", n == 1, f"{n}")], [Table("t", ("a",), [(share,)])])

    assert isinstance(mine, Experiment)
    assert mine.summary == "One is one."
    assert mine.defaults == {"n": 2, "share": 0.5}
    assert not mine.run().holds
    assert mine.run(**mine.quick).holds
    assert mine.run(n=1, share=1).command == "mistakebound lab mine --n 1 --share 1.0"
    assert cell(mine.run().tables[0].rows[0][0]) == "0.5"


def test_the_crossing_of_the_bounds_of_a_panel_is_marked_if_it_is_in_the_chart() -> None:
    result = quick("panel-of-experts")
    crossings = [row[1] for row in result.tables[1].rows]
    levels = [[mark.at for mark in chart.marks if isinstance(mark, Level)] for chart in result.charts]
    assert levels == [[], crossings[1:2], crossings[2:]]


def test_a_size_is_not_too_large_to_be_measured() -> None:
    with pytest.raises(mb.InputError, match="^n must be at most 65,536, got 1000000000: the experiment would not fit"):
        mb.lab.run("disjunction-adversary", n=10**9)
    with pytest.raises(mb.InputError, match="^the sizes must satisfy n·rounds ≤ 20,000,000, got n = 20000, rounds = 2"):
        mb.lab.run("beta", n=20_000, rounds=2000)


@pytest.mark.parametrize(("name", "size"), [(name, size) for name in NAMES for size in mb.lab.get(name).defaults])
def test_a_size_has_a_range_that_the_experiment_can_measure(name: str, size: str) -> None:
    """At the smallest value all checks hold; below it and above the largest one, the size is refused by its name."""
    found = mb.lab.get(name)
    least, most = (each for each in (found.ranges[size].least, found.ranges[size].most))
    assert size == "seed" or size in found.sizes, "each size declares its range"
    for outside, words in ((least - 1, "at least"), (most + 1, "at most")):
        with pytest.raises(mb.InputError, match=f"^{size} must be {words} .*: .*its range is "):
            found.run(**{size: outside})
    assert least <= found.defaults[size] <= most
    legal = legal_sizes(found, {size: least})
    result = found.run(**legal)
    assert result.holds, [legal, [check for check in result.checks if not check.holds]]
    assert legal_sizes(found, {size: most}), "the largest value is legal beside some others"


def legal_sizes(found: Experiment, fixed: dict[str, Any]) -> dict[str, Any]:
    """Return sizes that satisfy all conditions, beside the ones that are fixed: the first that are found."""
    for chosen in product(*(values_of(found, name, fixed) for name in found.defaults)):
        sizes = dict(zip(found.defaults, chosen, strict=True))
        if all(condition.holds(sizes) for condition in found.together):
            return sizes
    return {}


def values_of(found: Experiment, name: str, fixed: dict[str, Any]) -> list[Any]:
    """Return values of a size to try: those of quick runs, the least and the default, and some in between."""
    if name in fixed or name == "seed":
        return [fixed.get(name, 0)]
    span, default = found.ranges[name], found.defaults[name]
    spread = np.geomspace(max(span.least, 1e-3), span.most, 12).tolist()
    values = [found.quick.get(name, default), default, span.least, *spread]
    whole = [int(value) + (span.odd and int(value) % 2 == 0) for value in values]
    return [value for value in (whole if isinstance(default, int) else values) if span.least <= value <= span.most]


def test_an_adversary_with_so_many_variables_that_its_record_is_sparse() -> None:
    assert mb.lab.run("disjunction-adversary", n=16_384, r=128).holds
