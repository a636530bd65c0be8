"""The cycle collector's rest: while a graph grows, every collection would walk the whole of it and find nothing.

Rule: it rests for the process as long as any thread is at it, and is back on, if it was on, when the last one is done.
Where threads take turns at it without an end (one traces, others compile what was traced before), garbage is collected
between two of them.
"""

from __future__ import annotations

import gc
import os
import threading

from fastgraph.core.base.locks import Lock

_lock = Lock()
_resting: dict[int, int] = {}  # threads that build graphs -> how deep they are in it
_was_on = False
#: Objects that may have come while the collector rested before it works in between: some ten graphs of 1,000 nodes.
_MOST = 500_000


class Rest:
    """A context manager inside which cycles are not collected; it nests, and is shared by all threads."""

    __slots__ = ()

    def __enter__(self) -> None:
        global _was_on
        me = threading.get_ident()
        with _lock:
            if not _resting:
                _was_on = gc.isenabled()
                gc.disable()
            _resting[me] = _resting.get(me, 0) + 1

    def __exit__(self, *_: object) -> None:
        me = threading.get_ident()
        with _lock:
            depth = _resting.pop(me) - 1
            if depth:
                _resting[me] = depth
            elif not _resting and _was_on:
                gc.enable()
            overdue = not depth and bool(_resting) and _was_on and gc.get_count()[0] > _MOST
        if overdue:
            gc.collect()


#: The one there is: it has no state of its own.
resting = Rest()


def _after_fork_in_child() -> None:
    """Forget all threads but the one that forked; what the others were at is over."""
    me = threading.get_ident()
    others = [thread for thread in _resting if thread != me]
    for thread in others:
        del _resting[thread]
    if others and not _resting and _was_on:
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
