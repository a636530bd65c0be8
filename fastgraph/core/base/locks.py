"""Locks that outlive a fork.

Rule: a lock that one thread may hold while another one forks is a `Lock` of this module, or is held during the fork.
Whatever else is imported on demand needs this module, which therefore comes with the package and imports little.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Iterator

_forks = 0  # how many forks lie between this process and the one that imported fastgraph
_renewing = threading.Lock()


class Lock:
    """A reentrant lock that a forked child finds free, unless the thread that forked holds it.

    What it protects must be whole between any two bytecodes: the thread that held it is gone in the child, wherever it
    was.
    """

    __slots__ = ("_forks", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._forks = _forks

    def __enter__(self) -> None:
        if self._forks != _forks:
            self._renew()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def is_mine(self) -> bool:
        """Return whether this thread holds it."""
        return self._forks == _forks and bool(self._lock._is_owned())  # type: ignore[attr-defined]

    def _renew(self) -> None:
        with _renewing:
            if self._forks != _forks:
                # As threading.Condition asks.
                if not self._lock._is_owned():  # type: ignore[attr-defined]
                    self._lock = threading.RLock()
                self._forks = _forks


class Turn:
    """A reentrant lock for work that may wait for other such work: of threads that wait for each other one goes on.

    Whoever would close a circle of waiting threads does not wait and works beside the holder. What a Turn protects must
    bear that: it saves work that would be done twice, and what is done twice must come out right.
    """

    __slots__ = ("_forks", "_holder", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._holder = 0  # the thread that has it
        self._forks = _forks

    @contextlib.contextmanager
    def held(self) -> Iterator[bool]:
        """Hold it; gives False where the work is done beside that of the holder."""
        if self._forks != _forks:
            self._renew()
        me = threading.get_ident()
        if not self._lock.acquire(blocking=False) and not self._wait(me):
            yield False
            return
        outermost, self._holder = self._holder != me, me
        try:
            yield True
        finally:
            if outermost:
                self._holder = 0
            self._lock.release()

    def _wait(self, me: int) -> bool:
        """Wait until it is free and take it; False if its holder waits for this thread, maybe by way of others."""
        with _renewing:
            turn: Turn | None = self
            seen: set[int] = set()
            while turn is not None and turn._holder not in seen:
                if turn._holder == me:
                    return False
                seen.add(turn._holder)
                turn = _waiting.get(turn._holder)
            _waiting[me] = self
        try:
            return self._lock.acquire()
        finally:
            _waiting.pop(me, None)

    def _renew(self) -> None:
        with _renewing:
            if self._forks != _forks:
                if not self._lock._is_owned():  # type: ignore[attr-defined]
                    self._lock = threading.RLock()
                    self._holder = 0
                self._forks = _forks


@contextlib.contextmanager
def awaiting(thread: int) -> Iterator[None]:
    """Say that this thread waits for another one, which then does not wait for Turns of this one's."""
    me, turn = threading.get_ident(), Turn()
    turn._holder = thread
    before, _waiting[me] = _waiting.get(me), turn
    try:
        yield
    finally:
        if before is None:
            _waiting.pop(me, None)
        else:
            _waiting[me] = before


#: Which threads wait for which Turn.
_waiting: dict[int, Turn] = {}

#: Held around imports that a call makes, and during a fork: Python's own lock of a module that another thread was
#: importing would stay locked in the child.
importing = Lock()
# At the end it is kept, as late as may be: a background thread that ends within an import would leave Python's lock of
# imports taken, for which the report of an error in a `__del__` waits then.
atexit.register(lambda: importing._lock.acquire(timeout=5.0))

#: Held around `ast.parse` and what compiles trees: CPython 3.11 counts their depth in one place for all threads, and
#: where two meet raises SystemError. Nothing is imported while it is held: modules parse when they are imported.
parsing = Lock()


def _before_fork() -> None:
    importing._lock.acquire(timeout=5.0)


def _after_fork_in_parent() -> None:
    with contextlib.suppress(RuntimeError):  # it was not to be had
        importing._lock.release()


def _after_fork_in_child() -> None:
    global _forks, _renewing
    _forks += 1
    _renewing = threading.Lock()
    _waiting.clear()
    _after_fork_in_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
