"""Costs compared by the clock, for what no counter shows: whether work grows with the square of its size.

A busy machine makes any single time longer, never shorter, so what is asked for must be seen once in many tries;
work that grows with the square never passes.
"""

import time
from collections.abc import Callable

from fastgraph.runtime import executable

TRIES = 25


def takes_less(work: Callable[[], object], seconds: float) -> bool:
    """Whether this thread has once done the work within so many seconds of CPU time, its kernels compiled before."""
    return any(_seconds(work) < seconds for _ in range(TRIES))


def grows_in_proportion(small: Callable[[], object], large: Callable[[], object], factor: float) -> bool:
    """Whether the large work has once cost less than ``factor`` times the small one, both done before."""
    tries = ((_seconds(small), _seconds(large)) for _ in range(TRIES))
    return any(larger < factor * smaller for smaller, larger in tries)


def _seconds(work: Callable[[], object]) -> float:
    executable.wait_for_all(60.0)  # each time: some kernels are asked for by a second run only
    begin = time.thread_time()
    work()
    return time.thread_time() - begin
