"""`Guarded` is a voting rule like the others: tables and labels of any type, late outcomes, copies, files, ledgers."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from guarded_games import ADVICE, OUTCOMES, VOTES, check_trace, planted
from hypothesis import given, settings
from hypothesis import strategies as st

import mistakebound as mb
from mistakebound.experts import Guarded, guarded_play
from mistakebound.experts.model import restored, to_file
from mistakebound.play.expert_ledger import ExpertLedger
from mistakebound.play.guarded_ledger import GuardedLedger


def state(guard: Any) -> tuple[Any, ...]:
    ledger = guard.ledger_
    arrays = (ledger.override_rounds, ledger.mistake_rounds, ledger.expert_mistakes, ledger.expert_rounds)
    numbers = (ledger.expected_mistakes, ledger.advice_rounds, ledger.advice_mistakes, ledger.late)
    bits = (ledger.expert_losses.tobytes(), guard.weights_.tobytes())
    return ledger.predictions.tolist(), [each.tolist() for each in arrays], numbers, bits, ledger.names, repr(guard)


# ---------------------------------------------------------------------- tables


@pytest.mark.parametrize("kind", ["ints", "floats", "text", "bools"])
def test_tables_of_any_layout_and_type(kind: str) -> None:
    pandas = pytest.importorskip("pandas")
    V, y, advice = planted(kinds=2 if kind == "bools" else 3)
    convert = {"ints": int, "floats": float, "text": str, "bools": bool}[kind]
    V, y, advice = (each.astype(convert) for each in (V, y, advice))
    names = list("abcdefgh")
    plain = Guarded().run(V, y, advice)
    wide = np.zeros((len(y), 16), V.dtype)
    wide[:, ::2] = V
    frame = pandas.DataFrame(V, columns=names)
    columns = dict(zip(names, V.T, strict=True))
    tables = [V.tolist(), list(map(tuple, V.tolist())), V.astype(object), np.asfortranarray(V), wide[:, ::2]]
    for table in [*tables, frame, columns, frame.to_dict("records"), iter(V.tolist())]:
        ledger = Guarded().run(table, y.tolist(), advice)
        assert ledger.predictions.tolist() == plain.predictions.tolist()
        assert type(ledger.predictions.tolist()[0]) is convert
        assert ledger.override_rounds.tolist() == plain.override_rounds.tolist()
        assert ledger.expert_mistakes.tolist() == plain.expert_mistakes.tolist()
    for outcomes, given_advice in ((iter(y.tolist()), advice.tolist()), (pandas.Series(y), pandas.Series(advice))):
        assert Guarded().run(V, outcomes, given_advice).predictions.tolist() == plain.predictions.tolist()
    assert plain.overrides > 0


def test_columns_in_another_order_and_absent_ones() -> None:
    pandas = pytest.importorskip("pandas")
    V, y, advice = planted()
    frame = pandas.DataFrame(V, columns=list("abcdefgh"))
    table, rows = Guarded(), Guarded()
    parts = [
        frame[:100],
        frame[100:200][list("hgfedcba")],
        frame[200:300][list("ca")],
        frame[300:].rename(columns={"b": "z"}),
    ]
    begin = 0
    for part in parts:
        told = slice(begin, begin + len(part))
        table.run(part, y[told], advice[told])
        rows.run(part.to_dict("records"), y[told].tolist(), advice[told].tolist())
        begin += len(part)
    assert state(table) == state(rows)
    assert table.ledger_.names == tuple("abcdefghz")
    assert table.ledger_.expert_rounds.tolist() == [400, 200, 400, *[300] * 5, 100]


@pytest.mark.parametrize("sleepers", [0.0, 0.4])
@pytest.mark.parametrize("prior", [None, list(range(1, 9))])
def test_one_at_a_time_equals_run_equals_a_loaded_model(
    sleepers: float, prior: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarded_play, "TOGETHER", 64)
    V, y, advice = planted()
    V = V.astype(float)
    V[:, 1:][np.random.default_rng(3).random(V[:, 1:].shape) < sleepers] = np.nan
    advice = np.where(np.arange(400) % 11 == 0, np.nan, advice)
    whole, single, served, parts = (Guarded(0.7, prior=prior) for _ in range(4))
    ledger = whole.run(V, y, advice)
    kept = Guarded(0.7, prior=prior).run(V, y, advice, keep_weights=True)
    for row, outcome, advised, weights in zip(V.tolist(), y.tolist(), advice.tolist(), kept.weights, strict=True):
        predicted = single.predict_one(row, advised)
        assert single.weights_for(row).tolist() == weights.tolist()
        single.learn_one(row, outcome, advised)
        assert single.ledger_.predictions[-1] == predicted
        served.tell(served.ask(row, advised), outcome)
    for k, part in enumerate(np.array_split(np.arange(400), 7)):
        parts.run(V[part], y[part], advice[part])
        if k % 2:
            parts.save(tmp_path / "guard.mb")
            parts = mb.load(tmp_path / "guard.mb")
        else:
            parts = pickle.loads(pickle.dumps(parts)) if k % 4 else copy.deepcopy(parts)
    assert state(whole) == state(single) == state(served) == state(parts)
    assert kept.predictions.tolist() == ledger.predictions.tolist()
    assert ((ledger.override_rounds > 200) & (ledger.override_rounds < 390)).sum() > 50
    assert whole.certify() == single.certify() == parts.certify()


@given(data=st.data())
@settings(deadline=None, max_examples=150)
def test_any_rounds_one_by_one_and_together(data: Any) -> None:
    """Also rounds that floating-point numbers cannot decide, of few experts with few mistakes."""
    n, kinds = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    labels = list(range(kinds))
    rounds = data.draw(
        st.lists(
            st.tuples(
                st.lists(st.sampled_from([*labels, None]), min_size=n, max_size=n).map(lambda row: [0, *row]),
                st.sampled_from(labels),
                st.sampled_from([*labels, None, kinds]),
            ),
            max_size=30,
        )
    )
    beta = data.draw(st.sampled_from([0.5, 0.9, 1 / 3]))
    together, single = Guarded(beta), Guarded(beta)
    together.run([row for row, _, _ in rounds], [y for _, y, _ in rounds], [advice for _, _, advice in rounds])
    for row, y, advice in rounds:
        single.learn_one(row, y, advice)
    assert state(together) == state(single)
    if rounds:
        assert together.certify().mistakes <= together.certify().bound


def test_a_run_has_its_own_ledger() -> None:
    V, y, advice = planted()
    whole, parts = Guarded(), Guarded()
    whole.run(V, y, advice)
    first, second = parts.run(V[:250], y[:250], advice[:250]), parts.run(V[250:], y[250:], advice[250:])
    assert (first.rounds, first.from_start, second.rounds, second.from_start) == (250, True, 150, False)
    assert [*first.override_rounds, *(second.override_rounds + 250)] == whole.ledger_.override_rounds.tolist()
    assert first.advice_mistakes + second.advice_mistakes == whole.ledger_.advice_mistakes
    assert (first.advice_rounds, second.advice_rounds) == (250, 150)
    assert mb.certify(second).status == "does not apply"
    assert repr(second).startswith(
        f"<GuardedLedger: {second.mistakes} mistakes in 150 rounds, guarded-weighted-majority"
    )
    for part in (f"advice: {second.advice_mistakes} mistakes", f"{second.overrides} overridden"):
        assert part in repr(second)
    for part in ("GuardedLedger", "overrides", "advice mistakes"):
        assert part in second._repr_html_()


def test_labels_of_any_type() -> None:
    guard = Guarded()
    guard.learn_one([(1, 2), (3,)], (1, 2), advice=(9,))
    assert guard.ledger_.predictions.tolist() == [(9,)]
    mixed = Guarded().run([["sun", 5]] * 3, [5, 5, 5], advice=["sun", 5, None])
    assert mixed.predictions.tolist() == ["sun", 5, 5]
    ledger = Guarded().run([[1, 0]] * 2, [1, 1], advice=np.array([1, 0]))
    assert [type(each) for each in ledger.predictions.tolist()] == [int, int]


def test_threads_share_one_guard() -> None:
    V, y, advice = planted(4000)
    shared = Guarded()
    threads = [threading.Thread(target=shared.run, args=(V[k::8], y[k::8], advice[k::8])) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.ledger_.rounds == 4000
    assert shared.ledger_.advice_mistakes == (advice != y).sum()
    assert shared.certify().mistakes <= shared.certify().bound


# ---------------------------------------------------------------------- late outcomes


def test_late_outcomes() -> None:
    guard = Guarded()
    early = guard.ask(["a", "b", "b"], advice="a")
    other = guard.ask(["a", "b", "b"], advice="c")
    assert (early.prediction, other.prediction) == ("b", "b")
    guard.tell(other, "c")
    guard.tell(early, "b")
    ledger = guard.ledger_
    assert ledger.predictions.tolist() == ["b", "b"]
    assert (ledger.mistake_rounds.tolist(), ledger.override_rounds.tolist()) == ([0], [0, 1])
    assert (ledger.advice_rounds, ledger.advice_mistakes, ledger.late) == (2, 1, 1)
    found = guard.certify()
    assert found.status == "does not apply"
    assert ["late" in premise.statement for premise in found.premises if not premise.holds] == [True]


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("votes", "outcome", "advice", "words"),
    [
        ([1, 0], 1, [1], "the advice must be one label"),
        ([1, 0], 1, np.array([1, 0]), "the advice must be one label"),
        ([1, 0], 1, 0.9, "the advice must be 0 or 1.*0.9"),
        ([1, 0.5], 1, 1, "the vote of expert 1"),
        ([None, None], 1, 1, "asleep"),
        ([1, 0, 1], 1, 1, "2 experts"),
        ([1, 0], None, 1, "outcome"),
    ],
)
def test_a_rejected_round_changes_nothing(votes: Any, outcome: Any, advice: Any, words: str) -> None:
    guard = Guarded()
    guard.run([[1, 0]] * 3, [1, 1, 1], [1, 0, None])
    before = state(guard)
    with pytest.raises(mb.StreamError, match=f"round 3: .*{words}"):
        guard.learn_one(votes, outcome, advice)
    with pytest.raises(mb.StreamError, match=f"round 1: .*{words}") as caught:
        guard.run([[1, 0], votes, [1, 0]], [1, outcome, 1], [0, advice, 0])
    assert caught.value.ledger.rounds == 1
    assert caught.value.ledger.advice_rounds == 1
    assert guard.ledger_.rounds == 4
    twin = Guarded()
    twin.run([[1, 0]] * 4, [1] * 4, [1, 0, None, 0])
    assert state(guard) == state(twin) != before


def test_a_bad_round_after_many_good_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded_play, "TOGETHER", 10)
    V, y, advice = planted(100)
    table = V.astype(float)
    table[57] = np.nan
    guard = Guarded()
    with pytest.raises(mb.StreamError, match="round 57: .*asleep") as caught:
        guard.run(table, y, advice)
    assert guard.ledger_.rounds == caught.value.ledger.rounds == 57
    twin = Guarded()
    twin.run(V[:57].astype(float), y[:57], advice[:57])
    assert state(guard) == state(twin)


@pytest.mark.parametrize(
    ("advice", "words"),
    [([1], "1 labels"), ("ab", "sequence"), (7, "sequence"), (np.ones((2, 1)), "sequence"), ({"a": 1}, "sequence")],
)
def test_advice_of_a_run_must_have_a_label_for_each_round(advice: Any, words: str) -> None:
    guard = Guarded()
    with pytest.raises(ValueError, match=words):
        guard.run([[1, 0], [1, 0]], [1, 1], advice)
    assert guard.ledger_.rounds == 0


@pytest.mark.parametrize("beta", [0, 1, -0.1, float("nan")])
def test_beta_must_be_above_0_and_below_1(beta: float) -> None:
    with pytest.raises(ValueError, match="beta must be above 0 and below 1"):
        Guarded(beta)
    with pytest.raises(ValueError, match="beta"):
        mb.bounds.guarded_weighted_majority(5, 1, beta)


def test_prediction_with_bad_advice() -> None:
    with pytest.raises(mb.StreamError, match="one label"):
        Guarded().predict_one([1, 0], advice=[1])


# ---------------------------------------------------------------------- ledgers and files


def test_the_ledger_as_json() -> None:
    guard = Guarded()
    ledger = guard.run(VOTES, OUTCOMES, advice=ADVICE)
    again = GuardedLedger.from_json(ledger.to_json())
    check_trace(again)
    assert again.to_json() == ledger.to_json()
    assert mb.certify(again) == guard.certify()
    with pytest.raises(mb.ModelError):
        ExpertLedger.from_json(ledger.to_json())
    with pytest.raises(mb.ModelError):
        GuardedLedger.from_json(mb.experts.WeightedMajority().run([[1, 0]], [1]).to_json())


@pytest.mark.parametrize(
    ("forged", "field"),
    [
        ({"override_rounds": [5, 5]}, "override_rounds"),
        ({"override_rounds": [8]}, "override_rounds[0]"),
        ({"override_rounds": [-1]}, "override_rounds[0]"),
        ({"override_rounds": None}, "override_rounds"),
        ({"override_rounds": list(range(8))}, "advice_rounds"),
        ({"advice_rounds": 9}, "advice_rounds"),
        ({"advice_rounds": 0}, "advice_rounds"),
        ({"advice_mistakes": 8}, "advice_mistakes"),
        ({"advice_mistakes": 7}, "advice_mistakes"),
        ({"advice_mistakes": 3}, "advice_mistakes"),
        ({"advice_mistakes": -1}, "advice_mistakes"),
        ({"advice_mistakes": 1.5}, "advice_mistakes"),
        ({"beta": 0.0}, "beta"),
        ({"rule": "weighted-majority"}, "rule"),
    ],
)
def test_forged_ledgers_are_refused(forged: dict[str, Any], field: str) -> None:
    data = json.loads(Guarded().run(VOTES, OUTCOMES, advice=ADVICE).to_json()) | forged
    with pytest.raises(mb.ModelError) as caught:
        GuardedLedger.from_json(json.dumps(data))
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("overrides", "advice", "field"),
    [
        ([5, 5], (7, 5), "overrides"),
        ([8], (7, 5), "overrides"),
        ([5], (9, 5), "play.advice.advised"),
        ([5], (0, 0), "play.advice.advised"),
        ([5], (7, 8), "play.advice.advice_mistakes"),
        ([5], (7, -1), "play.advice.advice_mistakes"),
        ([5], (7, 3), "play.advice.advice_mistakes"),
        ([5], (7, 7), "play.advice.advice_mistakes"),
        ([5], (7, True), "play.advice.advice_mistakes"),
    ],
)
def test_forged_models_are_refused(overrides: list[int], advice: tuple[Any, Any], field: str) -> None:
    guard = Guarded()
    guard.run(VOTES, OUTCOMES, advice=ADVICE)
    header, arrays = to_file(guard)
    check_trace(restored(header, arrays).ledger_)
    header["play"]["advice"] = dict(zip(("advised", "advice_mistakes"), advice, strict=True))
    with pytest.raises(mb.ModelError) as caught:
        restored(header, arrays | {"overrides": np.array(overrides, np.int64)})
    assert caught.value.field == field


def test_a_file_with_weights_of_no_state_is_refused() -> None:
    guard = Guarded()
    guard.run(VOTES, OUTCOMES, advice=ADVICE)
    for base in (0.0, -1.0, 1e-200, 2.0):
        header, arrays = to_file(guard)
        with pytest.raises(mb.ModelError):
            restored(header, arrays | {"core.base": np.full(4, base)})


def test_a_voter_without_advice_has_no_such_fields() -> None:
    plain = mb.experts.WeightedMajority()
    plain.run(VOTES, OUTCOMES)
    header, arrays = to_file(plain)
    with pytest.raises(mb.ModelError):
        restored({**header, "play": header["play"] | {"advice": {"advised": 0, "advice_mistakes": 0}}}, arrays)
    with pytest.raises(mb.ModelError):
        restored({**header, "learner": "Guarded"}, arrays)
