"""Sums of small arrays that MPI has prepared: memory and a request that are begun again and again.

Rule: what is between the program and MPI costs as much as a small sum, so nothing is done here that could be done once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastgraph.replication.exchange import PreparedExchange

#: The dtypes and shapes of arrays; None for what may differ.
Layout = tuple[tuple[np.dtype, tuple[int | None, ...]], ...]

SMALL = 1 << 15  #: Bytes up to which latency is all that a sum costs.
ONE_MESSAGE = 1 << 11  #: Bytes above which two processes exchange what they have, rather than let MPI add it up.
LAYOUTS = 128  #: For so many sums are prepared.
TURNS = 2  #: Of one layout so many are under way at once; one more has the oldest end first.
KEPT = 1 << 10  #: Results that nobody has asked for yet; past them, whoever began the sums has failed.
SPINS = range(40)  #: Looks at a request, of 60 ns, before others are let know that this process waits.


def wide(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which MPI adds up arrays of one."""
    return dtype if dtype.kind in "iufc" and dtype.itemsize > 2 else np.dtype(np.float32)


class PreparedSum:
    """A sum over all processes of arrays of one layout, t[*s]...: one at a time.

    number: of the exchange that is under way, 0: none. sent: where what is added up has to be at `start`.
    """

    __slots__ = ("_alone", "_done", "_dtypes", "_request", "_test", "_totals", "_wait", "number", "sent", "start")

    def __init__(
        self, comm: Any, wait: Callable[[Any, int], None], layout: Layout, dtype: np.dtype, count: int
    ) -> None:
        shapes: Any = [shape for _, shape in layout]
        ends = list(itertools.accumulate([int(np.prod(shape)) for shape in shapes], initial=0))
        memory = np.empty((2, ends[-1]), dtype)
        self.sent, self._totals = (
            [part[a:b].reshape(shape) for shape, (a, b) in zip(shapes, itertools.pairwise(ends), strict=True)]
            for part in memory
        )
        self._alone = self._totals[0] if len(layout) == 1 and layout[0][0] == dtype else None
        self._dtypes = None if all(own == dtype for own, _ in layout) else [own for own, _ in layout]
        exchanged = count == 2 and memory[0].nbytes > ONE_MESSAGE
        self._request = PreparedExchange(comm, *memory) if exchanged else comm.Allreduce_init(*memory)
        self.start, self._test, self._wait, self.number = self._request.Start, self._request.Test, wait, 0
        self._done: dict[int, list[np.ndarray]] = {}

    def make_room(self) -> None:
        """End the sum that is under way, and keep what it gives for whoever asks."""
        if len(self._done) >= KEPT:
            self._done.clear()
        number = self.number
        self._done[number] = self.end(number)

    def end(self, number: int) -> list[np.ndarray]:
        """Wait for the sum that was begun as exchange `number`; return it. Raises what waiting for others raises."""
        if number != self.number:
            return self._done.pop(number)
        test = self._test
        for _ in SPINS:
            if test():
                break
        else:
            self._wait(self._request, number)
        self.number = 0
        if self._alone is not None:
            return [self._alone.copy()]
        if self._dtypes is None:
            return [total.copy() for total in self._totals]
        return [total.astype(dtype) for total, dtype in zip(self._totals, self._dtypes, strict=True)]


class Prepared(NamedTuple):
    """The sums of a layout that may be under way at once, and what its exchanges are called."""

    digest: int
    words: str
    turns: Sequence[PreparedSum]


class Begun(NamedTuple):
    """A prepared sum that is under way, until its `end`."""

    prepared: PreparedSum
    number: int

    def end(self) -> list[np.ndarray]:
        """Wait for the sums and return them. Raises what waiting for others raises."""
        return self.prepared.end(self.number)


def prepare(comm: Any, wait: Callable[[Any, int], None], layout: Layout, count: int) -> Sequence[PreparedSum]:
    """Return sums of a layout over `count` processes, as many as may be under way: none of a large one, nor of dtypes.

    All processes have to call this for the same layouts in the same order. wait: called with a request and the number
    of its exchange. Raises NotImplementedError where MPI (before version 4) has no such sums.
    """
    dtypes = {wide(dtype) for dtype, _ in layout}
    shapes: Any = [shape for _, shape in layout]
    size = sum([int(np.prod(shape)) for shape in shapes])
    dtype = dtypes.pop()
    if dtypes or not 0 < size * dtype.itemsize <= SMALL:
        return ()
    return [PreparedSum(comm, wait, layout, dtype, count) for _ in range(TURNS)]
