"""Threads that a user is waiting for: those that trace, or that run a graph for the first time.

Rule: background work asks here before it begins; nothing waits long because of the answer, and nothing is refused.
"""

from __future__ import annotations

import os
import threading
import time

_busy: dict[int, int] = {}  # threads -> how deep they are in it
_last = 0.0  # when one of them was done


class Foreground:
    """A context manager inside which this thread's result is waited for; it nests, and is shared by all threads."""

    __slots__ = ()

    def __enter__(self) -> None:
        me = threading.get_ident()
        _busy[me] = _busy.get(me, 0) + 1

    def __exit__(self, *_: object) -> None:
        global _last
        me = threading.get_ident()
        depth = _busy.pop(me, 1) - 1
        if depth:
            _busy[me] = depth
        _last = time.monotonic()


#: The one there is: it has no state of its own.
foreground = Foreground()


def is_quiet(seconds: float) -> bool:
    """Return whether no user waits for a thread, nor did for so long."""
    return not _busy and time.monotonic() - _last >= seconds


def _after_fork_in_child() -> None:
    """Forget all threads but the one that forked."""
    me = threading.get_ident()
    for thread in [each for each in _busy if each != me]:
        del _busy[thread]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
