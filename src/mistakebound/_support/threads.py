"""Run a function in several threads ahead of its caller, and yield the results in order."""

from __future__ import annotations

import os
import threading
from collections import deque
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

QUEUED = 2
"""Tasks that wait in the queue, in addition to those in progress, so that a thread finds the next one at once."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Task(Generic[Item, Result]):
    """An item to process, and its result or error."""

    __slots__ = ("done", "error", "item", "result")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.done = False
        self.result: Result
        self.error: BaseException | None = None


class Workers(Generic[Item, Result]):
    """Threads that process tasks from a queue. The thread that waits for a result processes tasks, too.

    Parameters
    ----------
    work : callable
        Processes one item. It should not hold the GIL for long.
    threads : int
        Number of threads, including the one that waits.
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
        """Add an item to the queue, and return its task."""
        self._require_threads()
        task: Task[Item, Result] = Task(item)
        with self._changed:
            self._queue.append(task)
            self._changed.notify()
        return task

    def result_of(self, task: Task[Item, Result]) -> Result:
        """Wait for a task, and return its result or raise its error. Process other tasks while waiting."""
        while not task.done:
            self._require_threads()
            with self._changed:
                other = self._queue.popleft() if self._queue else None
                if other is None and not task.done:
                    self._changed.wait()
            if other is not None:
                self._process_task(other)
        if task.error is not None:
            raise task.error
        return task.result

    def end(self) -> None:
        """Discard the tasks that have not started, and wait for the threads."""
        if self._process != os.getpid():
            return
        with self._changed:
            self._ended = True
            self._queue.clear()
            self._changed.notify_all()
        for thread in self._others:
            thread.join()

    def _require_threads(self) -> None:
        """Raise RuntimeError after a fork: the threads do not exist in the new process, but their locks may be held."""
        if self._process != os.getpid():
            message = "reading that started before a fork cannot continue after it: start again, or set threads=1"
            raise RuntimeError(message)

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self._queue:
                    if self._ended:
                        return
                    self._changed.wait()
                task = self._queue.popleft()
            self._process_task(task)

    def _process_task(self, task: Task[Item, Result]) -> None:
        try:
            task.result = self._work(task.item)
        except Exception as error:  # noqa: BLE001 - raised again by result_of
            task.error = error
        with self._changed:
            task.done = True
            self._changed.notify_all()


def parallel_map(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int, is_last_for_now: Callable[[Item], bool]
) -> Iterator[Result]:
    """Yield the result of each item, in the order of the items, computed ahead by several threads.

    After an item for which ``is_last_for_now`` is true, all results so far are yielded before the next item is read:
    reading it may take long.
    """
    if threads < 2:
        yield from map(work, items)
        return
    workers = Workers(work, threads)
    try:
        ahead: deque[Task[Item, Result]] = deque()
        errors: list[BaseException] = []
        for item in until_error(items, errors):
            ahead.append(workers.add(item))
            while ahead and (len(ahead) > threads + QUEUED or is_last_for_now(item)):
                yield workers.result_of(ahead.popleft())
        while ahead:
            yield workers.result_of(ahead.popleft())
        if errors:
            raise errors[0]
    finally:
        workers.end()


def until_error(items: Iterable[Item], errors: list[BaseException]) -> Iterator[Item]:
    """Yield items until reading them fails; append the error (or Ctrl-C) to ``errors``, to be raised later."""
    try:
        yield from items
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - raised again after the items before it
        errors.append(error)


def read_ahead(items: Iterable[Item], most: int = 2) -> Generator[Item]:
    """Yield items that a thread reads ahead: at most so many, while the caller works on the one before them.

    An error of reading is raised after the items before it. The thread has ended when the iterator has ended.
    """
    free, found = threading.Semaphore(most), SimpleQueue[Any]()  # tuples of an item; at the end, a list of errors
    stopped = threading.Event()

    def read() -> None:
        errors: list[BaseException] = []
        for item in until_error(items, errors):
            found.put((item,))
            free.acquire()
            if stopped.is_set():
                break
        found.put(errors)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        while isinstance(next_one := found.get(), tuple):
            yield next_one[0]
            free.release()
        if next_one:
            raise next_one[0]
    finally:
        stopped.set()
        free.release()
        thread.join()
