"""Scopes of certificates: the whole stream or the mistaken rounds; circular certificates; random labels."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_matrix

import mistakebound as mb
from mistakebound.certificates.certificate import rounded_up
from mistakebound.certificates.certify import recheck
from mistakebound.cli import main
from mistakebound.learners.replay import whole_stream
from mistakebound.theorems import THEOREMS

if TYPE_CHECKING:
    from pathlib import Path

LEARNERS = [
    mb.Perceptron(),
    mb.Perceptron(bias=1, update_margin=1),
    mb.NormalizedWinnow(eta=0.1),
    mb.BalancedWinnow(eta=0.1),
    mb.BalancedWinnow(eta=0.01, update_margin=0.0003),
    mb.PNormPerceptron(p=4),
]


def coin_flips(n: int, rounds: int, seed: int) -> tuple[Any, Any]:
    """Return examples of ±1 in n dimensions, at most 20 of them non-zero, and random labels."""
    rng = np.random.default_rng(seed)
    if n <= 100:
        return rng.choice([-1.0, 1.0], (rounds, n)), rng.choice([-1, 1], rounds)
    index = np.sort(rng.permuted(np.tile(np.arange(n), (rounds, 1)), axis=1)[:, :20], axis=1)
    value = rng.choice([-1.0, 1.0], rounds * 20)
    return csr_matrix((value, index.ravel(), np.arange(0, rounds * 20 + 1, 20)), shape=(rounds, n)), rng.choice(
        [-1, 1], rounds
    )


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize(("n", "rounds"), [(5, 2000), (100, 2000), (10_000, 600)])
def test_no_certificate_holds_on_random_labels(learner: Any, n: int, rounds: int) -> None:
    """No certificate of the whole stream holds; one of the mistaken rounds names its scope in the first line."""
    for seed in range(3):
        X, y = coin_flips(n, rounds, seed)
        learner.fit(X, y)
        theorems = [None, *(t.id for t in THEOREMS.values() if t.rule == learner.ledger_.rule.id and t.in_hindsight)]
        evidence = whole_stream(learner, X, y)
        for theorem in theorems:
            found = mb.certify(evidence, theorem)
            assert found.status in ("vacuous", "does not apply"), str(found)
            assert found.scope == "whole stream"
            mistaken = learner.certify(theorem)
            assert mistaken.scope == "mistaken rounds"
            assert "mistaken rounds" in str(mistaken).splitlines()[0]
            if mistaken.status == "holds":  # many dimensions separate almost anything
                assert n == 10_000
                assert mistaken.comparator["loss"] == 0


@pytest.mark.parametrize("learner", [mb.Winnow(), mb.Elimination(), mb.Winnow(alpha=1.25)], ids=repr)
def test_random_labels_are_not_a_disjunction(learner: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (500, 40)), rng.integers(0, 2, 500)
    learner.fit(X, y)
    assert learner.certify(X=X, y=y).status in ("does not apply", "vacuous")


def test_an_agnostic_certificate_of_the_mistaken_rounds_is_circular() -> None:
    X, y = mb.streams.label_noise(mb.streams.margin(10, 2000, 0.3, seed=0), 0.1, seed=1)
    learner = mb.Perceptron()
    learner.run(X, y)
    circular = learner.certify("perceptron-agnostic")
    assert (circular.status, circular.bound) == ("vacuous", circular.mistakes)
    assert "circular" in str(circular)
    zero = learner.certify("perceptron-agnostic", np.zeros(10))
    assert zero.status == "vacuous"  # given or not, u = 0 says M ≤ M
    whole = learner.certify(X=X, y=y)
    assert (whole.status, whole.theorem) == ("holds", "perceptron-agnostic")
    # what makes it readable: the comparator's own mistakes, norm and loss, over the same rounds
    u = np.zeros(10)
    for name, weight in whole.comparator["weights"].items():
        u[int(name)] = weight
    assert whole.comparator["mistakes"] == np.sum((X @ u >= 0) != (y > 0))
    assert whole.comparator["norm"] == pytest.approx(np.linalg.norm(u))
    gamma = whole.comparator["margin"]
    assert whole.comparator["loss"] == pytest.approx(np.sum(np.maximum(0, 1 - y * (X @ u) / gamma)))
    assert f"{whole.comparator['mistakes']:,} mistakes" in str(whole)


def test_the_limit_of_a_useful_bound() -> None:
    """T − 3√T for a comparator chosen in hindsight, T for one that was passed."""
    stream = mb.streams.margin(8, 300, 0.3, seed=2)
    learner = mb.Perceptron()
    learner.run(*stream)
    evidence = whole_stream(learner, *stream)
    novikoff = THEOREMS["novikoff"]

    def status(bound: float, *given: Any) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(novikoff), "bound", lambda *_: bound)
            return mb.certify(evidence, "novikoff", *given).status

    limit = 300 - 3 * math.sqrt(300)
    assert [status(limit - 0.01), status(limit + 0.01)] == ["holds", "vacuous"]
    assert [status(299.99, stream.target), status(300.0, stream.target)] == ["holds", "vacuous"]


@pytest.mark.parametrize("bound", [math.nan, math.inf])
def test_a_bound_that_is_nan_or_infinite_is_vacuous(bound: float, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = mb.Perceptron()
    learner.run(*mb.streams.margin(8, 300, 0.3, seed=2))
    monkeypatch.setattr(type(THEOREMS["novikoff"]), "bound", lambda *_: bound)
    found = learner.certify("novikoff")
    assert (found.status, found.bound) == ("vacuous", math.inf)


def test_a_bound_is_never_shown_below_the_counted_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = mb.Perceptron()
    learner.run(*mb.streams.margin(8, 300, 0.3, seed=2))
    mistakes = learner.ledger_.mistakes
    monkeypatch.setattr(type(THEOREMS["novikoff"]), "bound", lambda *_: math.nextafter(mistakes, 0))
    found = learner.certify("novikoff")
    assert (found.bound, found.status) == (mistakes, "holds")
    assert f"bound {mistakes}:" in str(found)
    for value in (386, 123456.7, 1234567.000001, 99999.96, 0.1 + 0.2, 1e14 + 0.5):
        assert float(rounded_up(value).replace(",", "")) >= value


# ---------------------------------------------------------------------- the second pass


def named(X: Any) -> list[dict[str, float]]:
    return [{f"f{i}": float(row[i]) for i in np.flatnonzero(row)} for row in np.asarray(X)]


def as_kind(kind: str, X: Any, y: Any, folder: Path) -> Any:
    """Return the examples as a matrix, with names, as a file or as a DataFrame."""
    if kind == "csr":
        return csr_matrix(X)
    if kind in ("named", "iterator"):
        return named(X)
    if kind == "file":
        rows = zip(X, y, strict=True)
        lines = [" ".join([str(label), *(f"{i + 1}:1" for i in np.flatnonzero(x))]) for x, label in rows]
        (folder / "s.svm").write_text("\n".join(lines) + "\n")
        return mb.Source(folder / "s.svm")
    return pytest.importorskip("pandas").DataFrame(X, columns=[f"f{i}" for i in range(12)]) if kind == "frame" else X


def learn(learner: Any, kind: str, given: Any, y: Any) -> None:
    """Run one pass over this kind of input."""
    if kind == "one by one":
        for x, label in zip(given, y, strict=True):
            learner.learn_one(x, label)
    elif kind == "batches":
        learner.partial_fit(given[:150], y[:150], classes=[0, 1]).partial_fit(given[150:], y[150:])
    elif kind == "file":
        learner.run(given)
    else:
        learner.run(given, y)


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("kind", ["array", "csr", "named", "iterator", "one by one", "batches", "file", "frame"])
def test_the_certificate_is_the_same_for_every_kind_of_input(kind: str, passes: int, tmp_path: Path) -> None:
    """Every kind of input gives the certificate of the array; p passes count every sum p times."""
    stream = mb.streams.label_noise(mb.streams.disjunction(12, 2, 400, seed=1), 0.05, seed=2)
    X, y = np.asarray(stream.X, float), np.asarray(stream.y)
    learner, given = mb.Perceptron(bias=1), as_kind(kind, X, y, tmp_path)
    for _ in range(passes):
        learn(learner, kind, given, y)
    found = learner.certify(X=iter(given) if kind == "iterator" else given, y=None if kind == "file" else y)
    assert (found.status, found.scope, found.rounds) == ("holds", "whole stream", 400 * passes)
    u = np.zeros(13)
    for name, weight in found.comparator["weights"].items():
        u[12 if name == "(constant)" else int(name.removeprefix("f"))] = weight
    scores = np.append(X, np.ones((400, 1)), axis=1) @ u
    lost = np.maximum(0, 1 - np.where(y > 0, scores, -scores) / found.comparator["margin"])
    assert found.comparator["loss"] == pytest.approx(passes * np.sum(lost))
    assert found.comparator["mistakes"] == passes * np.sum((scores >= 0) != (y > 0))
    radius, norm = np.sqrt(1 + X.sum(axis=1).max()), np.linalg.norm(u) / found.comparator["margin"]
    k, squared = radius * norm, math.sqrt(passes * np.sum(lost**2))
    expected = min(((k + math.sqrt(k * k + 4 * passes * np.sum(lost))) / 2) ** 2, (k + squared) ** 2)
    assert found.bound == pytest.approx(expected)


def test_other_data_are_refused(tmp_path: Path) -> None:
    stream = mb.streams.margin(8, 300, 0.3, seed=2)
    X, y = np.asarray(stream.X), np.asarray(stream.y)
    learner = mb.Perceptron()
    learner.run(X, y)
    before = learner.ledger_.to_json()
    swapped = X[::-1], y[::-1]
    flipped = X, np.where(np.arange(300) == 299, -y, y)
    fewer = X[:-1], y[:-1]
    wider = np.append(X, X, axis=1), y
    for other_X, other_y in (swapped, flipped, fewer, wider, (X, [5] * 300), (X[:0], y[:0]), (named(X), y)):
        with pytest.raises(ValueError):
            learner.certify(X=other_X, y=other_y)
    with pytest.raises(ValueError, match=r"certify.*\by\b.*\bX\b"):
        learner.certify(X=X)
    path = tmp_path / "s.svm"
    path.write_text("1 1:1\n-1 2:1\n")
    with pytest.raises(ValueError):
        learner.certify(X=mb.Source(path))
    with pytest.raises(ValueError, match="learned"):
        mb.Perceptron().certify(X=X, y=y)
    assert learner.ledger_.to_json() == before  # the learner itself is not touched
    assert learner.certify(X=X, y=y).status == "holds"


def test_reductions_are_certified() -> None:
    X, y = mb.streams.disjunction(10, 2, 3000, seed=3)
    conjunction = mb.Winnow(target="conjunction")
    conjunction.run(1 - X, 1 - y)
    assert conjunction.certify(X=1 - X, y=1 - y).status == "holds"
    complements = mb.Elimination(complements=True)
    complements.run(X, y)
    assert complements.certify(X=X, y=y).status == "holds"


def test_parameters_that_were_changed_later_do_not_matter() -> None:
    X, y = mb.streams.panel(15, 3, 2000, seed=1)
    learner = mb.NormalizedWinnow(eta=0.3)
    learner.run(X, y)
    expected = learner.certify(X=X, y=y)
    learner.set_params(eta=0.9)
    assert learner.certify(X=X, y=y) == expected


# ---------------------------------------------------------------------- forged comparators


def forged(certificate: mb.Certificate, **comparator: Any) -> mb.Certificate:
    return dataclasses.replace(certificate, comparator={**certificate.comparator, **comparator})


def test_a_variable_counts_once() -> None:
    X, y = mb.streams.disjunction(200, 5, 3000, seed=0)
    learner = mb.Elimination()
    learner.run(X, y)
    for evidence in (learner.ledger_, whole_stream(learner, X, y)):
        honest = mb.certify(evidence)
        again = recheck(evidence, forged(honest, variables=honest.comparator["variables"] * 150))
        assert again.bound == honest.bound


@pytest.mark.parametrize("learner", [mb.BalancedWinnow(eta=0.5), mb.NormalizedWinnow(eta=0.3)], ids=repr)
def test_a_comparator_of_another_norm_is_normalised(learner: Any) -> None:
    X, y = mb.streams.panel(15, 3, 2000, seed=1)
    learner.run(X, y)
    for evidence in (learner.ledger_, whole_stream(learner, X, y)):
        honest = mb.certify(evidence)
        for factor in (2.0, 0.5, 1e-200, 1e200):
            weights = {name: weight * factor for name, weight in honest.comparator["weights"].items()}
            assert recheck(evidence, forged(honest, weights=weights)).bound == pytest.approx(honest.bound)


@pytest.mark.parametrize("learner", [mb.Perceptron(), mb.PNormPerceptron(p=3)], ids=repr)
def test_the_scale_of_a_comparator_does_not_matter(learner: Any) -> None:
    stream = mb.streams.margin(8, 3000, 0.3, seed=2)
    learner.run(*stream)
    for evidence in (learner.ledger_, whole_stream(learner, *stream)):
        honest = mb.certify(evidence)
        for factor in (3e-162, 1e-200, 1e-290, 1e150, 1e300):
            margin = {"margin": honest.comparator["margin"] * factor} if "margin" in honest.comparator else {}
            weights = {name: weight * factor for name, weight in honest.comparator["weights"].items()}
            again = recheck(evidence, forged(honest, weights=weights, **margin))
            assert again.bound == pytest.approx(honest.bound, rel=1e-6)
            assert again.status == honest.status


def test_an_update_margin_as_large_as_the_radius_does_not_apply() -> None:
    X, y = mb.streams.panel(15, 3, 500, seed=1)
    for learner in (mb.NormalizedWinnow(eta=0.3, update_margin=1.0), mb.BalancedWinnow(eta=0.3, update_margin=2.0)):
        learner.run(X, y)
        for found in (learner.certify(), learner.certify(X=X, y=y)):
            assert found.status == "does not apply"
            assert [p.statement for p in found.premises if not p.holds]


# ---------------------------------------------------------------------- what was once confirmed


@pytest.mark.parametrize("passes", [3, 10, 50])
@pytest.mark.parametrize(("n", "rounds"), [(5, 500), (200, 100)])
def test_passes_repeat_the_same_coin_flips(n: int, rounds: int, passes: int) -> None:
    """More passes give more rounds, but the certificate must not hold on random labels."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(rounds, n)), rng.choice([-1, 1], rounds)
    for learner in (mb.Perceptron(), mb.PNormPerceptron(p=3), mb.BalancedWinnow(eta=0.1)):
        for _ in range(passes):
            learner.run(X, y)
        assert learner.certify(X=X, y=y).status in ("vacuous", "does not apply")


def test_passes_over_a_planted_stream_hold() -> None:
    X, y = mb.streams.label_noise(mb.streams.margin(10, 2000, 0.4, seed=0), 0.05, seed=1)
    learner = mb.Perceptron()
    for _ in range(3):
        learner.run(X, y)
    found = learner.certify(X=X, y=y)
    assert (found.status, found.rounds) == ("holds", 6000)


@pytest.mark.parametrize("d", [4, 16, 64])
def test_rounding_of_float32_weights_is_not_a_violation(d: int) -> None:
    """Rows that are nearly a Hadamard matrix: a tie of float32 weights causes one mistake more than exact weights."""
    from scipy.linalg import hadamard

    H = hadamard(d).astype(float)
    X = H.copy()
    for t in range(d):
        p = H[t + 1 :].sum(0)
        top = abs(p).max(initial=0.0)
        X[t] = H[t] + (p / top * 2.8e-8 if top else p) - 1e-12 * H[:t].sum(0)
    X = np.r_[X, np.tile(X[-1], (80, 1))]
    y = -np.ones(len(X), int)
    learner = mb.Perceptron(classes=(-1, 1))
    learner.run(X, y)
    for found in (learner.certify(), learner.certify(X=X, y=y)):
        assert found.status != "violated"
        assert found.bound >= found.mistakes


def test_a_useless_comparator_is_circular_even_if_given() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.choice([-1, 1], 400)
    for learner, theorem, u in (
        (mb.Perceptron(), "perceptron-agnostic", [1e-6, 0, 0, 0, 0]),
        (mb.PNormPerceptron(p=3), "pnorm", [1e-6, 0, 0, 0, 0]),
        (mb.NormalizedWinnow(eta=0.1), "winnow-agnostic", np.ones(5)),
    ):
        learner.run(X, y)
        assert learner.certify(theorem, u, 1.0).status in ("vacuous", "does not apply")


@pytest.mark.parametrize("eta", [1e-6, 1e-8, 1e-12])
def test_a_rate_that_float32_cannot_follow_does_not_apply(eta: float) -> None:
    X, y = np.tile([1.0, -1.0], (2000, 1)), -np.ones(2000, int)
    learner = mb.NormalizedWinnow(eta=eta)
    learner.run(X, y)
    assert learner.certify(X=X, y=y).status == "does not apply"
    given = learner.certify("winnow-fixed-rate", [0.5 - 5e-7, 0.5 + 5e-7], X=X, y=y)
    assert given.status == "does not apply"


@pytest.mark.parametrize("value", [1e17, 1e29])
def test_steps_beyond_float64_are_certified(value: float) -> None:
    X, y = np.full((300, 2), value), np.where(np.arange(300) % 3, 1, -1)
    for learner in (mb.BalancedWinnow(), mb.NormalizedWinnow()):
        learner.run(X, y)
        assert learner.certify(X=X, y=y).status in ("vacuous", "does not apply", "holds")


def test_errors_of_bad_margins_and_variables() -> None:
    stream = mb.streams.panel(15, 3, 400, seed=1)
    learner = mb.Perceptron()
    learner.run(*stream)
    for margin in (math.nan, math.inf, "x", True):
        with pytest.raises(ValueError, match="margin"):
            learner.certify("perceptron-agnostic", np.ones(15), margin)
    with pytest.raises(ValueError, match="comparator"):
        learner.certify("perceptron-agnostic", margin=3.0)
    with pytest.raises(ValueError, match="variables"):
        learner.certify("perceptron-panel", 5)


def test_values_that_were_never_learned_allow_a_certificate_of_the_mistaken_rounds_only(tmp_path: Path) -> None:
    """Such a value raises an error when it is learned, but a round without a mistake is never learned."""
    X, y = np.ones((60, 1)), -np.ones(60, int)
    X[10] = 1e-40
    learner = mb.Perceptron(classes=(-1, 1))
    learner.run(X, y)
    with pytest.raises(ValueError, match="round 10.*1e-40"):
        learner.certify(X=X, y=y)
    assert learner.certify().scope == "mistaken rounds"
    path, certificate = tmp_path / "s.svm", tmp_path / "c.json"
    path.write_text("".join(f"-1 1:{value:g}\n" for value in X.ravel()))
    run = ["run", str(path), "--learner", "perceptron", "--certificate", str(certificate), "--json"]
    assert CliRunner().invoke(main, run).exit_code == 0
    assert json.loads(certificate.read_text())["certificate"]["scope"] == "mistaken rounds"
    assert CliRunner().invoke(main, ["verify", str(certificate), str(path)]).exit_code == 0
