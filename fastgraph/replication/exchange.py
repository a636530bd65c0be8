"""Sums of arrays over processes, by the kind of device on which they lie: those of the CPU are message_sums.pyx's.

Rule: what a GPU cannot send by itself is added up on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Staged:
    """A sum of what lies on a GPU: copied to the host, added up there, and copied back when `Test` is true.

    own, total: arrays with `copy_to_host` and `copy_to_device`, as Numba's are.
    """

    __slots__ = ("_operands", "_request", "_total")

    def __init__(self, comm: Any, own: Any, total: Any) -> None:
        sent = own.copy_to_host()
        self._operands, self._total = (sent, np.empty_like(sent)), total
        self._request = comm.Iallreduce(*self._operands)

    def Test(self) -> bool:
        """Return whether the sum is on the device. Its name is that of MPI's requests."""
        if not self._request.Test():
            return False
        self._total.copy_to_device(self._operands[1])
        return True


#: The beginning of a sum, by the kind of device: (communicator, own, total) -> a request. One of NCCL's takes the place
#: of "GPU", as does an MPI that reads the memory of GPUs itself.
KINDS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "CPU": lambda comm, own, total: comm.Iallreduce(own, total),
    "GPU": Staged,
}


def begin(comm: Any, own: Any, total: Any) -> Any:
    """Begin to add up over all processes what lies on one device; return a request. t[n], t[n] for the sum."""
    return KINDS["GPU" if hasattr(own, "copy_to_host") else "CPU"](comm, own, total)
