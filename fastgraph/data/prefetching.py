"""Elements made in threads: ahead of who asks for them, or several at once.

Rule: a thread begins only when some elements in a row have taken longer than a thread costs, so quick pipelines run
without (where the order is free they begin with threads: one element that takes long holds up no other; where Python
is called ahead, somebody may wait for that); errors come where their elements would. Threads end with the iterator that
they work for, and before the interpreter does.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

from fastgraph.data.element_specs import Element

LONG = 3e-4  # seconds: what takes less is made at once
TIMES = 3  # one element may take long by chance, as the first one does
_QUICK = 16  # elements in a row after which threads that stand ready are given up
MOST_THREADS = 32  # of one dataset, where nobody says how many
_LAST = 2.0  # seconds that the end of the program waits for a thread

_working: weakref.WeakSet[_Made | Crew] = weakref.WeakSet()


def check_process(begun: int) -> None:
    """Raise RuntimeError in a process that was forked since: it has the iterator, and not its threads."""
    if os.getpid() != begun:
        raise RuntimeError(
            "This iterator makes elements in threads, which a forked process has not: make the iterator after the fork."
        )


class _Made:
    """The elements that a thread has made, and the way to stop it."""

    def __init__(self, elements: Iterator[Element], size: int) -> None:
        self.elements, self.size = elements, size
        self.found: deque[Any] = deque()  # elements, errors, None at the end
        self.changed = threading.Condition()
        self.stopped = False
        self.process = os.getpid()
        self.threads = [threading.Thread(target=_make, args=(self,), daemon=True, name="fastgraph-prefetch")]

    def stop(self) -> None:
        """Let the thread end after what it is making."""
        if os.getpid() != self.process:  # a fork: there is no thread, and who held the lock is gone
            return
        with self.changed:
            self.stopped = True
            self.changed.notify_all()


def _make(made: _Made) -> None:
    while True:
        with made.changed:
            while len(made.found) >= made.size and not made.stopped:
                made.changed.wait()
            if made.stopped:
                return
        found: Any
        try:
            found = next(made.elements, None)
        except BaseException as error:
            found = Failed(error)
        with made.changed:
            made.found.append(found)
            made.changed.notify_all()
        if found is None:
            return


class Failed:
    """An error in the place of an element."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def given(found: Any) -> Element:
    """Return an element, or raise the error that is in its place."""
    if isinstance(found, Failed):
        try:
            raise found.error
        finally:
            del found  # or the error would hold this frame, the frame it, and both an iterator with its threads
    return found


class Ahead(Iterator[Element]):
    """A pass of which a thread makes up to `size` elements ahead, `at_once` or when they take long."""

    def __init__(self, elements: Iterator[Element], size: int, at_once: bool = False) -> None:
        self.elements, self.size, self.at_once = elements, size, at_once
        self.made: _Made | None = None
        self.ended = False
        self.long = 0  # elements in a row that took long

    def __next__(self) -> Element:
        if self.ended:
            raise StopIteration
        if self.made is None and not self.at_once:
            begin = time.perf_counter()
            element = next(self.elements)
            self.long = self.long + 1 if time.perf_counter() - begin > LONG else 0
            if self.long == TIMES:
                self._start()
            return element
        made = self.made or self._start()
        check_process(made.process)
        with made.changed:
            while not made.found:
                made.changed.wait()
            self.ended = made.found[0] is None
            made.changed.notify_all()
            if not self.ended:
                return given(made.found.popleft())
        raise StopIteration

    def _start(self) -> _Made:
        made = self.made = _Made(self.elements, self.size)
        _working.add(made)
        made.threads[0].start()
        return made

    def __del__(self) -> None:
        if self.made is not None:
            self.made.stop()


@atexit.register
def _stop_all() -> None:
    for each in list(_working):
        each.stop()
    for thread in [thread for each in list(_working) for thread in each.threads]:
        with contextlib.suppress(RuntimeError):
            thread.join(_LAST)


class _Timed:
    """A function of elements, and how many of them in a row took long."""

    def __init__(self, function: Callable[[Element], Element]) -> None:
        self.function = function
        self.long = 0  # below 0: that did not

    def __call__(self, element: Element) -> Element:
        begin = time.perf_counter()
        found = self.function(element)
        took_long = time.perf_counter() - begin > LONG
        self.long = max(self.long, 0) + 1 if took_long else min(self.long, 0) - 1
        return found


class Call:
    """A call of a function that a thread makes, and what it gave."""

    __slots__ = ("done", "element", "found")

    def __init__(self, element: Any) -> None:
        self.element = element
        self.found: Any = None
        self.done = threading.Lock()  # free once there is a result
        self.done.acquire()


class Crew:
    """Threads that call a function, and the way to stop them.

    By queues and locks of C: Futures took some 50 us of an element, a sixth of what a small picture takes to decode.
    """

    def __init__(self, function: Callable[[Any], Any], size: int, ordered: bool, name: str) -> None:
        self.function, self.ordered = function, ordered
        self.calls: SimpleQueue[Call | None] = SimpleQueue()  # None: a thread ends
        self.done: SimpleQueue[Call] = SimpleQueue()  # as they end, where the order is free
        self.process = os.getpid()
        self.stopped = False
        self.threads = [threading.Thread(target=_call, args=(self,), daemon=True, name=name) for _ in range(size)]
        _working.add(self)
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        """Let the threads end after what they are calling."""
        if os.getpid() == self.process:
            self.stopped = True
            for _ in self.threads:
                self.calls.put(None)


def _call(crew: Crew) -> None:
    while (call := crew.calls.get()) is not None and not crew.stopped:
        try:
            call.found = crew.function(call.element)
        except BaseException as error:
            call.found = Failed(error)
        if crew.ordered:
            call.done.release()
        else:
            crew.done.put(call)
        del call  # and with it the element, while this waits for the next one


class Together(Iterator[Element]):
    """A function of each element, of which up to `calls` are made at once."""

    def __init__(
        self, function: Callable[[Element], Element], elements: Iterator[Element], calls: int, ordered: bool
    ) -> None:
        self.function, self.elements, self.calls, self.ordered = _Timed(function), elements, calls, ordered
        self.crew: Crew | None = None
        self.inline = ordered  # whether it goes on without, while there is none
        self.running: deque[Call] = deque()
        self.ended = False
        self.error: BaseException | None = None  # of the source, for after what came before it

    def __next__(self) -> Element:
        if self.crew is None and self.inline:
            found = self.function(next(self.elements))
            if self.function.long == TIMES:
                self._start()
            return found
        crew = self.crew or self._start()
        check_process(crew.process)
        going = self.ordered or self.function.long > -_QUICK
        while going and not self.ended and self.error is None and len(self.running) < self.calls + 1:
            try:
                element = next(self.elements)
            except StopIteration:
                self.ended = True
            except Exception as error:
                self.error = error
            else:
                call = Call(element)
                self.running.append(call)
                crew.calls.put(call)
        if self.running:
            return given(self._next_call(crew).found)
        if self.error is not None:
            kept, self.error = self.error, None
            raise kept
        if self.ended:
            raise StopIteration
        crew.stop()
        self.crew, self.inline = None, True
        return next(self)

    def _next_call(self, crew: Crew) -> Call:
        """Wait for the call whose result is next."""
        if self.ordered:
            call = self.running.popleft()
            call.done.acquire()
        else:
            call = crew.done.get()
            self.running.remove(call)
        return call

    def _start(self) -> Crew:
        self.crew = Crew(self.function, self.calls, self.ordered, "fastgraph-map")
        return self.crew

    def __del__(self) -> None:
        if self.crew is not None:
            self.crew.stop()


def anywhere(source: Any, what: str) -> bool:
    """Return whether `what` is true of a source or of one that it is made of: "draws", "calls_python"."""
    if getattr(source, what, False):
        return True
    inner = [value for value in vars(source).values() if hasattr(value, "elements") and hasattr(value, "cardinality")]
    for value in vars(source).values():
        if isinstance(value, tuple):
            inner += [item for item in value if hasattr(item, "elements") and hasattr(item, "cardinality")]
    return any(anywhere(each, what) for each in inner)
