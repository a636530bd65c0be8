"""Locks that outlive a fork.

Rule: a lock that one thread may hold while another one forks is a `Lock` of this module, or is held during the fork.
"""

from __future__ import annotations

import contextlib
import os
import threading

from fastgraph import expr

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

    def _renew(self) -> None:
        with _renewing:
            if self._forks != _forks:
                # As threading.Condition asks.
                if not self._lock._is_owned():  # type: ignore[attr-defined]
                    self._lock = threading.RLock()
                self._forks = _forks


#: Held around imports that a call makes, and during a fork: Python's own lock of a module that another thread was
#: importing would stay locked in the child.
importing = Lock()

#: Held around `ast.parse` and what compiles trees: CPython 3.11 counts their depth in one place for all threads, and
#: where two meet raises SystemError. Nothing is imported while it is held: modules parse when they are imported.
parsing = expr.parsing = Lock()


def _before_fork() -> None:
    importing._lock.acquire(timeout=5.0)


def _after_fork_in_parent() -> None:
    with contextlib.suppress(RuntimeError):  # it was not to be had
        importing._lock.release()


def _after_fork_in_child() -> None:
    global _forks, _renewing
    _forks += 1
    _renewing = threading.Lock()
    _after_fork_in_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
