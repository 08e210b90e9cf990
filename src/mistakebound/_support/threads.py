"""Run a function ahead of its caller in several threads, and yield the results in order."""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MORE = 2
"""So many tasks lie ready beside those that are worked on: whoever has done one need not wait for the next."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Task(Generic[Item, Result]):
    """Something to do, and what came of it."""

    __slots__ = ("done", "error", "item", "result")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.done = False
        self.result: Result
        self.error: BaseException | None = None


class Team(Generic[Item, Result]):
    """Threads that take tasks from a queue; so does whoever waits for one: as many threads work as there are, no more.

    Parameters
    ----------
    work : callable
        What is done with each item. It should not hold Python's lock for long.
    threads : int
        How many, with the one that waits.
    """

    def __init__(self, work: Callable[[Item], Result], threads: int) -> None:
        self._work = work
        self._queue: deque[Task[Item, Result]] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self._process = os.getpid()
        self._others = [threading.Thread(target=self._serve, daemon=True) for _ in range(threads - 1)]
        for thread in self._others:
            thread.start()

    def add(self, item: Item) -> Task[Item, Result]:
        """Have it done by whoever is free first."""
        self._require_threads()
        task: Task[Item, Result] = Task(item)
        with self._changed:
            self._queue.append(task)
            self._changed.notify()
        return task

    def result_of(self, task: Task[Item, Result]) -> Result:
        """What came of a task. Works on others meanwhile."""
        while not task.done:
            self._require_threads()
            with self._changed:
                other = self._queue.popleft() if self._queue else None
                if other is None and not task.done:
                    self._changed.wait()
            if other is not None:
                self._do(other)
        if task.error is not None:
            raise task.error
        return task.result

    def end(self) -> None:
        """Leave undone what nobody has begun."""
        if self._process != os.getpid():
            return
        with self._changed:
            self._ended = True
            self._queue.clear()
            self._changed.notify_all()
        for thread in self._others:
            thread.join()

    def _require_threads(self) -> None:
        """Refuse to wait for threads that a forked process has not got, or for a lock that one of them held."""
        if self._process != os.getpid():
            message = "what was begun before a fork cannot go on in the new process: begin again there, or threads=1"
            raise RuntimeError(message)

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self._queue:
                    if self._ended:
                        return
                    self._changed.wait()
                task = self._queue.popleft()
            self._do(task)

    def _do(self, task: Task[Item, Result]) -> None:
        try:
            task.result = self._work(task.item)
        except Exception as error:  # noqa: BLE001 - raised again where the result is wanted
            task.error = error
        with self._changed:
            task.done = True
            self._changed.notify_all()


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int, is_last_for_now: Callable[[Item], bool]
) -> Iterator[Result]:
    """Results in the order of the items, several threads ahead; nothing is held back while the next one is to come."""
    if threads < 2:
        yield from map(work, items)
        return
    team = Team(work, threads)
    try:
        ahead: deque[Task[Item, Result]] = deque()
        broken: list[BaseException] = []
        for item in until_broken(items, broken):
            ahead.append(team.add(item))
            while ahead and (len(ahead) > threads + MORE or is_last_for_now(item)):
                yield team.result_of(ahead.popleft())
        while ahead:
            yield team.result_of(ahead.popleft())
        if broken:
            raise broken[0]
    finally:
        team.end()


def until_broken(items: Iterable[Item], broken: list[BaseException]) -> Iterator[Item]:
    """Those that can be read; why no more can (Ctrl-C, too) goes to ``broken``, to be told after they are learned."""
    try:
        yield from items
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - raised again, later
        broken.append(error)
