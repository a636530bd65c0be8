"""Sums of arrays over MPI's processes, in C. See message_sums.pyx."""

from collections.abc import Sequence
from typing import Any

import numpy as np

class Journal:
    """Record of what this process has begun with others, and how it is."""

    asked: bool
    waits: bool
    begun: int
    awaited: int
    under_way: int
    large: int
    limit: float
    since: float
    def go(self, digest: int, words: str) -> tuple[int, int]:
        """Note the beginning of an exchange; return its number, and a digest of it and of all that were before it."""
    def recent(self) -> tuple[int, tuple[tuple[int, int, str], ...]]:
        """Return how many exchanges were begun, and the last of them: number, way, words."""
    def wait(self, number: int) -> float:
        """Note that an exchange is waited for, 0: no more; return for how long, in seconds."""
    def forked(self) -> None:
        """Have every thread of a forked child ask Python."""
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...

class SumKind:
    """Sums of arrays of one dtype and of given shapes over processes."""

    def __init__(
        self, mpi: Any, comm: Any, journal: Journal, digest: int, layout: tuple[Any, ...], short: bool
    ) -> None: ...
    def steps(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the steps in C that begin such sums and end them."""
    def start(self, arrays: Sequence[np.ndarray], number: int = 0) -> int:
        """Begin to add arrays up, and return a number for `end`; they are kept until then."""
    def start_at(self, kept: tuple[int, int, Any, Any], number: int) -> int:
        """Begin a sum of what lies on a GPU as exchange `number`; return a number for `end`."""
    @property
    def places(self) -> list[int]:
        """The bytes at which each array begins in what is sent."""
    @property
    def size_in_bytes(self) -> int:
        """The bytes that are sent."""

def results(number: int) -> list[Any]:
    """Wait for a sum; return arrays (of one on a GPU what was kept), or none where Python is asked."""

def exchange_of(number: int) -> int:
    """Return the number of the exchange that a sum under way is."""

def advance(number: int) -> bool:
    """Look at a sum under way, whose turn this thread has; return whether it has ended."""
