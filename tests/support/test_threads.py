"""Work done ahead by threads: results and errors come in order, and after a fork; locks after a fork."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading

import pytest
from processes import DEADLINE

from mistakebound._support.locks import Lock
from mistakebound._support.threads import parallel_map, read_ahead


def never(_: int) -> bool:
    return False


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_results_come_in_order_from_the_given_number_of_threads(threads: int) -> None:
    """The first items are worked on at the same time, one by each thread, and the last of them is done first."""
    seen, done = set(), [threading.Event() for _ in range(threads)]
    together, all_at_work = threading.Semaphore(threads), threading.Barrier(threads)

    def work(item: int) -> int:
        assert together.acquire(blocking=False)
        seen.add(threading.get_ident())
        if item < threads:
            all_at_work.wait(DEADLINE)
            assert item == threads - 1 or done[item + 1].wait(DEADLINE)
            done[item].set()
        together.release()
        return 2 * item

    assert list(parallel_map(work, range(300), threads, never)) == [2 * item for item in range(300)]
    assert len(seen) == threads


def test_a_result_is_not_held_back_until_the_next_item() -> None:
    taken = []

    def items() -> object:
        for item in range(5):
            taken.append(item)
            yield item

    results = parallel_map(lambda item: item, items(), 2, lambda _: True)  # type: ignore[arg-type]
    assert next(results) == 0
    assert taken == [0]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_error_comes_after_the_results_before_it(threads: int) -> None:
    def work(item: int) -> int:
        if item == 3:
            message = "three"
            raise ValueError(message)
        return item

    results = parallel_map(work, range(100), threads, never)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(results)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("taken", [0, 1, 5])
def test_a_forked_process_raises_because_it_has_no_threads(taken: int) -> None:
    """It would wait forever: a fork copies locks that threads hold, but not the threads."""
    results = parallel_map(lambda item: item, range(100), 3, never)
    assert [next(results) for _ in range(taken)] == list(range(taken))
    child = os.fork()
    if child == 0:
        signal.alarm(int(DEADLINE))  # ends a child that hangs, with another exit code than 7
        try:
            found = list(results)
            os._exit(8 if found == list(range(taken, 100)) else 9)
        except RuntimeError as error:
            os._exit(7 if "fork" in str(error) else 10)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == (
        7 if taken else 8
    )  # a map that starts after the fork has its own threads
    assert list(results) == list(range(taken, 100))


def test_an_error_of_reading_comes_after_the_items_before_it() -> None:
    def items() -> object:
        yield from range(3)
        message = "broken"
        raise OSError(message)

    results = parallel_map(lambda item: item, items(), 2, never)  # type: ignore[arg-type]
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OSError, match="broken"):
        next(results)


def test_stopping_early_leaves_no_thread_behind() -> None:
    before = set(threading.enumerate())
    results = parallel_map(lambda item: item, range(1000), 4, never)
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert set(threading.enumerate()) <= before  # a thread of another test may have ended in the meantime


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("inside", [False, True])
def test_a_lock_in_a_forked_process_is_free_or_raises(inside: bool) -> None:
    """A thread that holds the lock when the process forks does not exist in the child, and never releases it."""
    lock, entered, leave = Lock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            entered.set()
            leave.wait(DEADLINE)

    thread = threading.Thread(target=hold)
    if inside:
        thread.start()
        assert entered.wait(DEADLINE)
    child = os.fork()
    if child == 0:
        code = 9
        try:
            with lock, lock:
                code = 1
        except RuntimeError as error:
            code = 2 if "forked" in str(error) else 3
        os._exit(code)
    leave.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (2 if inside else 1)
    if inside:
        thread.join(DEADLINE)
    with lock, copy.deepcopy(lock), pickle.loads(pickle.dumps(lock)):  # copies are other locks, which are free
        pass


# ---------------------------------------------------------------------- read ahead


def test_items_are_read_ahead_in_order() -> None:
    read = []

    def items():
        for number in range(20):
            read.append(number)
            yield number

    ahead = read_ahead(items(), most=2)
    assert next(ahead) == 0
    with pytest.raises(StopIteration):
        wait_for(ahead, 20)
    assert read == list(range(20))


def wait_for(ahead, count):
    for number in range(1, count + 1):
        assert next(ahead) == number


def test_no_more_items_are_read_than_asked_for() -> None:
    third, read = threading.Event(), []

    def items():
        for number in range(20):
            read.append(number)
            if number == 2:
                third.set()
            yield number

    ahead = read_ahead(items(), most=2)
    assert next(ahead) == 0
    assert third.wait(DEADLINE)
    ahead.close()
    assert read == [0, 1, 2]


def test_an_error_of_reading_is_raised_after_the_items_before_it() -> None:
    def items():
        yield 1
        message = "broken"
        raise ValueError(message)

    ahead = read_ahead(items())
    assert next(ahead) == 1
    with pytest.raises(ValueError, match="broken"):
        next(ahead)


def test_the_thread_ends_with_the_iterator() -> None:
    before = threading.active_count()
    ahead = read_ahead(iter(range(100)))
    assert [next(ahead) for _ in range(3)] == [0, 1, 2]
    assert threading.active_count() == before + 1
    ahead.close()
    assert threading.active_count() == before
