"""Sums of arrays over processes, by the kind of device on which they lie; over two of them by an exchange.

Of two processes each sends the other all that it has, and adds up what comes.

Rule: as many bytes leave a process as in any other way, at once instead of half of them after the other half, so there
is one latency. Both add up in the same order: a sum of two NaN is the first of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PIECE = 1 << 20  #: Bytes that are added up at once: while one piece is, the next ones come.
_TAG = 7707


@np.errstate(all="ignore")  # as MPI adds up
def _add(rank: int, own: np.ndarray, theirs: np.ndarray, total: np.ndarray) -> None:
    """Write the sum of both. t[n]."""
    np.add(*((theirs, own) if rank else (own, theirs)), total)


class Exchange:
    """A sum over two processes that is under way; `own`, what it is made of, has to stay until the end.

    own, total: t[n], and where the sum is written, which is all there is to it once `Test` has been true.
    """

    __slots__ = ("_comes", "_leaves", "_rank")

    def __init__(self, comm: Any, own: np.ndarray, total: np.ndarray) -> None:
        self._rank, other = comm.rank, 1 - comm.rank
        step = max(1, PIECE // own.itemsize)
        pieces = [(own[at : at + step], total[at : at + step]) for at in range(0, own.size, step)]
        self._comes = [(mine, its, comm.Irecv(its, other, _TAG)) for mine, its in pieces]
        self._leaves = [comm.Isend(mine, other, _TAG) for mine, _ in pieces]
        self._comes.reverse()  # the first comes first, and is taken from the end

    def Test(self) -> bool:
        """Add up what has come; return whether all has, and all has left. Its name is that of MPI's requests."""
        comes, leaves = self._comes, self._leaves
        while comes:
            mine, its, request = comes[-1]
            if not request.Test():
                return False
            _add(self._rank, mine, its, its)
            comes.pop()
        while leaves:
            if not leaves[-1].Test():
                return False
            leaves.pop()
        return True


class PreparedExchange:
    """A sum over two processes, of what lies in the same memory each time: begun by `Start`, again and again.

    own, total: t[n], read at `Start`, written when `Test` is true. Its names are those of MPI's persistent requests.
    """

    __slots__ = ("_comes", "_leaves", "_operands")

    def __init__(self, comm: Any, own: np.ndarray, total: np.ndarray) -> None:
        other, theirs = 1 - comm.rank, np.empty_like(own)
        self._comes, self._leaves = comm.Recv_init(theirs, other, _TAG), comm.Send_init(own, other, _TAG)
        self._operands = comm.rank, own, theirs, total

    def Start(self) -> None:
        """Begin."""
        self._comes.Start()
        self._leaves.Start()

    def Test(self) -> bool:
        """Return whether all has come and has left; then it is added up."""
        if not (self._comes.Test() and self._leaves.Test()):
            return False
        _add(*self._operands)
        return True


def _of_host(comm: Any, own: np.ndarray, total: np.ndarray) -> Any:
    return Exchange(comm, own, total) if comm.size == 2 else comm.Iallreduce(own, total)


class Staged:
    """A sum of what lies on a GPU: copied to the host, added up there, and copied back when `Test` is true.

    own, total: arrays with `copy_to_host` and `copy_to_device`, as Numba's are.
    """

    __slots__ = ("_operands", "_request", "_total")

    def __init__(self, comm: Any, own: Any, total: Any) -> None:
        sent = own.copy_to_host()
        self._operands, self._total = (sent, np.empty_like(sent)), total
        self._request = _of_host(comm, *self._operands)

    def Test(self) -> bool:
        """Return whether the sum is on the device. Its name is that of MPI's requests."""
        if not self._request.Test():
            return False
        self._total.copy_to_device(self._operands[1])
        return True


#: The beginning of a sum, by the kind of device: (communicator, own, total) -> a request. One of NCCL's takes the place
#: of "GPU", as does an MPI that reads the memory of GPUs itself.
KINDS: dict[str, Callable[[Any, Any, Any], Any]] = {"CPU": _of_host, "GPU": Staged}


def begin(comm: Any, own: Any, total: Any) -> Any:
    """Begin to add up over all processes what lies on one device; return a request. t[n], t[n] for the sum."""
    return KINDS["GPU" if hasattr(own, "copy_to_host") else "CPU"](comm, own, total)
