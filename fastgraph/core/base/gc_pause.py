"""The cycle collector's rest: while a graph grows, every collection would walk the whole of it and find nothing.

Rule: it rests for the process as long as any thread is at it, and is back on, if it was on, when the last one is done.
Where threads take turns at it without an end (one traces, others compile what was traced before), garbage is collected
between two of them.
"""

from __future__ import annotations

import gc
import os
import threading

_resting: dict[int, int] = {}  # threads that build graphs -> how deep they are in it
_switched_off = False
#: Objects that may have come while the collector rested before it works in between: some ten graphs of 1,000 nodes.
_MOST = 500_000


def depth() -> int:
    """Return how deep this thread is in building graphs."""
    return _resting.get(threading.get_ident(), 0)


def go_to(depth: int) -> None:
    """Let this thread be so deep in building graphs.

    There is no lock: what a signal's handler raises may come after any of these lines, and must leave none taken. Where
    two threads meet here, the collector may work while one of them builds, which costs time alone.
    """
    global _switched_off
    me = threading.get_ident()
    if depth:
        _resting[me] = depth
        if gc.isenabled():
            _switched_off = True
            gc.disable()
        return
    _resting.pop(me, None)
    if not _switched_off:
        return
    if not _resting:
        _switched_off = False
        gc.enable()
    elif gc.get_count()[0] > _MOST:
        gc.collect()


class Rest:
    """A context manager inside which cycles are not collected; it nests, and is shared by all threads."""

    __slots__ = ()

    def __enter__(self) -> None:
        go_to(depth() + 1)

    def __exit__(self, *_: object) -> None:
        go_to(depth() - 1)


#: The one there is: it has no state of its own.
resting = Rest()


def _after_fork_in_child() -> None:
    """Forget all threads but the one that forked; what the others were at is over."""
    me = threading.get_ident()
    others = [thread for thread in _resting if thread != me]
    for thread in others:
        del _resting[thread]
    if others and not _resting:
        go_to(0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
