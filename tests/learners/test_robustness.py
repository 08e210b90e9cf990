"""Nothing breaks a learner: bad input, interruption, threads, forks and small memories."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from input_streams import BINARY, REAL, changed, dicts, facts, stream
from processes import DEADLINE, wait_until

import mistakebound as mb

AT = 3
NAN, INF = float("nan"), float("inf")
FORMS: dict[str, Callable[[Any], Any]] = {"dense": np.asarray, "csr": sp.csr_matrix, "dicts": dicts}
REDUCED: list[Callable[..., Any]] = [
    lambda **k: mb.Winnow(target="conjunction", **k),
    lambda **k: mb.Elimination(complements=True, **k),
]


def spoiled(value: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """A stream in which only round AT has feature 2, and no other feature, and is a mistake."""
    X, y = stream(AT + 3, binary=True)
    X[:, 2] = X[AT] = 0
    X[AT, 2], y[AT] = value, 0
    return X, y


def expect_stop(make: Callable[..., Any], rows: Any, words: str, y: Any = None) -> None:
    """Check that round AT is bad, and that the learner equals a twin that learned only the rounds before it."""
    X, labels = spoiled()
    y = labels if y is None else y
    good: Any = dicts(X) if isinstance(rows, list) and not isinstance(rows[0], list) else X
    learner, twin = make(classes=(0, 1)), make(classes=(0, 1))
    for t in range(AT):
        twin.learn_one(good[t], labels[t])
    with pytest.raises(mb.StreamError, match=f"^round {AT}: .*{words}") as caught:
        learner.run(rows, y)
    assert (caught.value.round, caught.value.ledger.rounds) == (AT, AT)
    assert caught.value.ledger.predictions.tolist() == twin.ledger_.predictions.tolist()
    assert facts(learner) == facts(twin)
    if not sp.issparse(rows):
        with pytest.raises(mb.StreamError, match=f"^round {AT}: .*{words}") as caught:
            learner.learn_one(rows[AT], y[AT])
        assert (caught.value.round, caught.value.ledger.rounds) == (AT, AT)
    for each in (learner, twin):
        each.run(good[:AT], labels[:AT])
    assert facts(learner) == facts(twin)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [NAN, INF, -INF, 1e39, 2.0, 0.5, -1.0, 9e-31, 1e-46, 1e-310, 5e-324])
@pytest.mark.parametrize("make", REAL + BINARY + REDUCED)
def test_bad_values_stop_at_their_round(make: Callable[..., Any], value: float, form: str) -> None:
    """NaN, infinity, values too large or too small for float32 sums, and other values than 0 and 1 for binary rules."""
    ordinary = 1e-30 <= abs(value) <= 2
    if not (make in REAL and ordinary) and not (make in REDUCED and form == "dicts"):
        X, y = spoiled(value)
        expect_stop(make, FORMS[form](X), "feature ('f2'|2) ", y)


NO_EXAMPLES: list[Any] = [
    {1: 1},
    {"\ud800": 1},
    ["a", 1],
    ["\ud800"],
    {"a": "\ud800"},
    {1, 2},
    "word",
    b"word",
    5,
    None,
]
NO_EXAMPLES += [{"a": value} for value in (None, 1j, [1], 10**400, b"v", np.ones(2))]


@pytest.mark.parametrize("x", NO_EXAMPLES, ids=repr)
def test_bad_names_and_values(x: Any) -> None:
    """Something that is not an example raises at its round, in run and in learn_one."""
    rows: list[Any] = dicts(spoiled()[0])
    rows[AT] = x
    expect_stop(mb.Perceptron, rows, "")


@pytest.mark.parametrize("make", [mb.Perceptron, mb.Elimination, *REDUCED])
@pytest.mark.parametrize("fault", ["negative", "beyond", "falls", "overruns", "overruns nothing", "starts below"])
def test_malformed_sparse_matrices(make: Callable[..., Any], fault: str) -> None:
    """Indices outside 0..width-1, and an invalid indptr; the rounds before are learned."""
    m = sp.csr_matrix(spoiled()[0])
    indices, indptr = m.indices.copy(), m.indptr.copy()
    if fault in ("negative", "beyond"):
        indices[indptr[AT]] = -1 if fault == "negative" else 12
        expect_stop(make, changed(m, indices=indices), f"feature {indices[indptr[AT]]} is out of range")
    elif fault in ("overruns", "falls"):
        indptr[AT + 1] = 999 if fault == "overruns" else 0
        expect_stop(make, changed(m, indptr=indptr), "indptr")
    else:
        start = [0, 5] if fault == "overruns nothing" else [-3, 0]
        nothing = changed(sp.csr_matrix((1, 3)), indptr=np.array(start))
        with pytest.raises(mb.StreamError, match="round 0: .*indptr"):
            make().run(nothing, [1])


def test_wrong_width_names_the_round() -> None:
    """Too many or too few features."""
    learner = mb.Perceptron()
    learner.run([[1.0, 0.0], [0.0, 1.0]], [-1, 1])
    for call, where in (
        (lambda: learner.learn_one([1, 2, 3], 1), 2),
        (lambda: learner.run(np.ones((2, 3)), [1, 1]), 0),
    ):
        with pytest.raises(mb.StreamError, match=f"^round {where}: .*3 features") as caught:
            call()
        assert (caught.value.round, caught.value.ledger.rounds) == (where, where)
    rows = spoiled()[0].tolist()
    rows[AT] = rows[AT][:-1]
    expect_stop(mb.Perceptron, rows, "11 features")


def test_a_bad_first_round_does_not_start_a_learner() -> None:
    """Its label is not learned, either."""
    for bad, good in (([NAN], [1.0]), ({"a": NAN}, {"a": 1.0})):
        learner = mb.Perceptron()
        with pytest.raises(mb.StreamError):
            learner.learn_one(bad, 7)
        with pytest.raises(mb.StreamError):
            learner.run([bad], [7])
        learner.learn_one(good, -1)
        learner.learn_one(good, 1)
        assert learner.predict_one(good) == 1


class NoHash:
    """A label or a value whose own methods fail."""

    def __hash__(self) -> int:
        message = "no hash"
        raise RuntimeError(message)


def test_an_error_of_the_label_itself_does_not_start_a_learner() -> None:
    learner = mb.Perceptron()
    with pytest.raises(RuntimeError, match="no hash"):
        learner.learn_one({"a": 1.0}, NoHash())
    learner.learn_one([1.0, 2.0], 1)
    with pytest.raises(RuntimeError, match="no hash"):
        learner.learn_one([1.0, 2.0], NoHash())
    assert learner.ledger_.rounds == 1


@pytest.mark.parametrize("rounds", [0, 1])
def test_the_labels_of_a_bad_first_round_are_not_learned_by_a_started_learner(rounds: int) -> None:
    learner = mb.Perceptron()
    learner.predict_one({"a": 1.0})
    learner.run([{"a": 1.0}] * rounds, [1] * rounds)
    with pytest.raises(mb.StreamError, match="must be finite"):
        learner.run([{"a": NAN}, {"b": 1.0}], [1, 0])
    assert learner.run([{"a": 1.0}, {"b": 1.0}], [1, -1]).rounds == 2
    assert learner.classes_.tolist() == [-1, 1]


def isolated(code: str) -> None:
    """Run code that once crashed the interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"


def test_memory_outside_of_arrays_is_never_read() -> None:
    """An index in a matrix of width 0; names that are created while a Set is iterated."""
    isolated("""
import mistakebound as mb, numpy as np, pytest, scipy.sparse as sp
m = sp.csr_matrix((1, 0))
m.indices, m.data, m.indptr = np.array([0], np.int32), np.ones(1), np.array([0, 1])
with pytest.raises(mb.StreamError, match="round 0: feature 0 is out of range"): mb.Perceptron().run(m, [1])
""")
    isolated("""
from collections.abc import Set
import mistakebound as mb
class Fresh(Set):
    def __iter__(self): return (f"feature-{i}-é" + "x" * 200 for i in range(50))
    def __len__(self): return 50
    def __contains__(self, x): return True
learner = mb.Perceptron(); learner.learn_one(Fresh(), -1)
assert sorted(learner.weights_) == sorted(Fresh())
""")


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("make", REAL + BINARY)
def test_stopped_in_the_middle(make: Callable[..., Any], named: bool) -> None:
    """A learner that was pickled or copied during a stream continues with equal results; a clone is fresh."""
    X, y = stream(200, binary=make in BINARY)
    rows: Any = dicts(X) if named else X
    whole, half = make(classes=(0, 1)), make(classes=(0, 1))
    whole.run(rows, y)
    half.run(rows[:90], y[:90])
    for stopped in (pickle.loads(pickle.dumps(half)), copy.deepcopy(half), pickle.loads(pickle.dumps(half, 2))):
        assert facts(stopped) == facts(half)
        stopped.run(rows[90:], y[90:])
        assert facts(stopped) == facts(whole)
    assert half.ledger_.rounds == 90
    fresh = pytest.importorskip("sklearn.base").clone(half)
    fresh.run(rows, y)
    assert facts(fresh) == facts(whole)


def test_the_gil_is_released() -> None:
    """Another thread runs during a long run. Without forced switches, it can only run while the core works."""
    ticks, done = [], threading.Event()
    ticker = threading.Thread(target=lambda: [ticks.append(1) for _ in iter(lambda: done.wait(0.001), True)])
    sizes = chain((10_000, 100_000), repeat(1_000_000))  # a busy machine may not let the ticker run during the first

    def ticks_within_a_run() -> int:
        rounds = next(sizes)
        X, y = np.ones((rounds, 40), np.float32), np.ones(rounds)
        before = len(ticks)
        mb.BalancedWinnow().run(X, y)
        return len(ticks) - before

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        ticker.start()
        wait_until(lambda: ticks_within_a_run() > 10)
    finally:
        sys.setswitchinterval(interval)
        done.set()
        ticker.join()


def test_a_shared_learner_loses_no_round() -> None:
    """Threads on one learner, positional or named: counts add up, and each run's ledger is of that run."""
    for rows, y in ((stream(500)[0], stream(500)[1]), (dicts(stream(500)[0]), stream(500)[1])):
        learner, ledgers = mb.Perceptron(classes=(0, 1)), []

        def work(rows: Any = rows, y: Any = y, learner: Any = learner, ledgers: list[Any] = ledgers) -> None:
            for _ in range(4):
                ledgers.append(learner.run(rows, y))
                for t in range(50):
                    learner.predict_one(rows[t])
                    learner.learn_one(rows[t], y[t])

        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        whole = learner.ledger_
        assert whole.rounds == 4 * 4 * 550 == len(whole.predictions)
        assert whole.mistakes == len(whole.mistake_rounds) == len(whole.kept)
        assert [ledger.rounds for ledger in ledgers] == [500] * 16


def test_reading_while_another_thread_learns() -> None:
    """ledger_, weights_ and pickle take the lock, so they never read a half-learned round."""
    isolated("""
import mistakebound as mb, numpy as np, pickle, threading
X = np.random.default_rng(0).standard_normal((20000, 20)); y = np.random.default_rng(1).choice([-1, 1], 20000)
learner = mb.Perceptron(keep_bytes=1 << 30); learner.run(X[:10], y[:10])
allowed = threading.Semaphore(0)
threading.Thread(target=lambda: [learner.run(X, y) for _ in range(10) if allowed.acquire()], daemon=True).start()
ledger = learner.ledger_
for runs in range(1, 11):
    allowed.release()
    while ledger.rounds < 10 + runs * len(X):  # so that each run is looked at while it goes on
        for ledger in (learner.ledger_, pickle.loads(pickle.dumps(learner)).ledger_):
            assert len(ledger.predictions) == ledger.rounds
            assert len(ledger.mistake_rounds) == ledger.mistakes == len(ledger.kept)
""")


def forked(learner: Any, rows: Any, y: Any, answer: Any) -> None:
    """Continue in a child process."""
    learner.run(rows, y)
    answer.put(pickle.dumps(facts(learner)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork() -> None:
    """A child process continues with equal results, and the parent is not changed."""
    X, y = stream(100)
    for rows in (X, dicts(X)):
        learner = mb.Perceptron(classes=(0, 1))
        learner.run(rows[:50], y[:50])
        fork = multiprocessing.get_context("fork")
        answer = fork.Queue()
        child = fork.Process(target=forked, args=(learner, rows[50:], y[50:], answer))
        child.start()
        theirs = pickle.loads(answer.get(timeout=DEADLINE))
        child.join()
        assert learner.ledger_.rounds == 50
        learner.run(rows[50:], y[50:])
        assert facts(learner) == theirs


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_while_another_thread_learns() -> None:
    """The child inherits a learner that stopped in the middle of a round, and must not use it."""
    isolated("""
import mistakebound as mb, numpy as np, os, threading, warnings
warnings.simplefilter("ignore")
X = np.random.default_rng(0).standard_normal((300000, 30)); y = np.random.default_rng(1).choice([-1, 1], 300000)
learner = mb.Perceptron(); learner.run(X[:10], y[:10])
going = True
def work():
    while going:
        learner.run(X, y)
thread = threading.Thread(target=work); thread.start()
codes = []
while set(codes) <= {9}:  # some forks fall between two runs, and those children may go on
    child = os.fork()
    if child == 0:
        try:
            learner.run(X[:10], y[:10])
        except RuntimeError as error:
            os._exit(7 if "forked" in str(error) else 8)
        os._exit(9)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
going = False
thread.join()
assert 7 in codes and set(codes) <= {7, 9}
assert (learner.ledger_.rounds - 10) % 300000 == 0
""")


def test_interleaved_named_runs_count_their_own_mistakes() -> None:
    """The ledger of a named run does not count rounds that another thread learns meanwhile."""
    X, y = stream(200)
    learner, other = mb.Perceptron(classes=(0, 1)), dicts(X[100:])

    def with_company() -> Iterator[Any]:
        for x, another, label in zip(dicts(X[:100]), other, y[100:], strict=True):
            yield x
            learner.learn_one(another, label)

    ledger = learner.run(with_company(), y[:100])
    wrong = np.flatnonzero(np.asarray(ledger.predictions) != y[:100])
    assert ledger.mistake_rounds.tolist() == wrong.tolist()
    assert ledger.rounds == 100
    assert ledger.mistakes == len(wrong)
    assert not ledger.complete


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the address space")
def test_a_learner_is_usable_after_running_out_of_memory() -> None:
    """A round without enough memory changes nothing, and the learner still works."""
    isolated("""
import mistakebound as mb, resource
learner = mb.BalancedWinnow(classes=(0, 1), keep_bytes=1 << 40)
learner.learn_one({"a": 1.0}, 0)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (48 << 20), resource.RLIM_INFINITY))
failed = 0
for i in range(2_000_000):
    try:
        learner.learn_one({f"{i:09d}-{j}": 1.0 for j in range(50)}, i % 2)
    except MemoryError:
        failed += 1
        if failed == 3:
            break
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert failed == 3
ledger = learner.ledger_
assert ledger.rounds == len(ledger.predictions)
assert ledger.mistakes == len(ledger.mistake_rounds) == len(ledger.kept)
assert len(learner.weights_) + 1 == ledger.n
learner.learn_one({"a": 1.0}, 1)
assert learner.ledger_.rounds == ledger.rounds + 1
""")


def test_keep_bytes_limits_the_kept_rounds() -> None:
    """Beyond the limit, certificates are incomplete, counts are exact, and each run still has its predictions."""
    X, y = stream(3000)
    small, large = mb.Perceptron(keep_bytes=1000, classes=(0, 1)), mb.Perceptron(classes=(0, 1))
    mine, theirs = small.run(X, y), large.run(X, y)
    assert mine.rounds == 3000
    assert (mine.false_positives, mine.false_negatives) == (theirs.false_positives, theirs.false_negatives)
    assert mine.predictions.tolist() == theirs.predictions.tolist()
    assert sum(part.nbytes for part in vars(small.ledger_.kept).values()) <= 2000
    assert len(pickle.dumps(small)) < 10_000 < len(pickle.dumps(large))
    assert small.certify().status == "incomplete"
    assert large.certify().status != "incomplete"
    for read in (lambda: small.ledger_.predictions, lambda: small.ledger_.mistake_rounds):
        with pytest.raises(ValueError, match="keep_bytes"):
            read()
    for bad in (-1, 1.5, "much", 2**63, 10**400):
        with pytest.raises(ValueError, match="keep_bytes"):
            mb.Perceptron(keep_bytes=bad).run(X, y)


@pytest.mark.parametrize("make", [*REAL, *BINARY, lambda **k: mb.NormalizedWinnow(eta=INF, **k)])
def test_ledger_as_json(make: Callable[..., Any]) -> None:
    """A ledger is equal after writing and reading, complete or not, with names or positions."""
    X, y = stream(binary=make in BINARY)
    for rows in (X, dicts(X)):
        learner = make(classes=("no", "yes"), keep_bytes=500 if rows is X else 10**6)
        learner.run(rows, np.array(["no", "yes"])[y])
        ledger = learner.ledger_
        back = mb.Ledger.from_json(ledger.to_json())
        assert json.loads(back.to_json()) == json.loads(ledger.to_json())
        for part in ("rounds", "mistakes", "updates", "classes", "rule", "n", "complete", "names", "from_start"):
            assert getattr(back, part) == getattr(ledger, part)


def test_import_is_light(tmp_path: Path) -> None:
    """It imports neither scipy nor anything heavier, and calls at most a tenth of the functions that numpy's does."""
    # Calls, for they are the same on any machine, and whatever else it does.
    counting = """
import sys
def calls_of_importing(name):
    found = []
    sys.setprofile(lambda frame, event, _: found.append(event))
    __import__(name)
    sys.setprofile(None)
    return sum(event in ("call", "c_call") for event in found)
print(calls_of_importing("numpy"), calls_of_importing("mistakebound"), *sys.modules)
"""
    command = [sys.executable, "-c", counting]
    # As for a user, whose second import finds the compiled modules of the first.
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {
        "PYTHONPYCACHEPREFIX": str(tmp_path)
    }
    for _ in range(2):
        found = subprocess.run(command, capture_output=True, text=True, check=True, env=plain).stdout.split()
    assert not {"scipy", "sklearn", "matplotlib", "pandas"} & set(found)
    assert int(found[1]) <= int(found[0]) / 10
