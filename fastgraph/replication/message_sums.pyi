"""Sums of arrays over MPI's processes, in C. See message_sums.pyx."""

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

class Journal:
    """Record of what this process has begun with others, and how it is."""

    asked: bool
    waits: bool
    failed: int
    caught: int
    begun: int
    compared: int
    awaited: int
    under_way: int
    large: int
    limit: float
    since: float
    def go(self, digest: int, words: str) -> tuple[int, int]:
        """Note the beginning of an exchange; return its number, and a digest of it and of all that were before it."""
    def fail(self, behind: bool = False) -> None:
        """Note that something failed which was to bring together values of processes; nobody waits for it now."""
    def place_of_begun(self) -> int:
        """Return the address of `begun`."""
    def recent(self) -> tuple[int, int, tuple[tuple[int, int, str], ...]]:
        """Return how many exchanges were begun, which was compared, and the last of them: number, way, words."""
    def wait(self, number: int) -> float:
        """Note that an exchange is waited for, 0: no more; return for how long, in seconds."""
    def forked(self) -> None:
        """Have every thread of a forked child ask Python."""
    def __enter__(self) -> None: ...
    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None: ...
    def go_on(self) -> int:
        """Go on with sums that nobody asks for, unless another thread has the turn; return how many are left."""

class SumKind:
    """Sums of arrays of one dtype and of given shapes over processes."""

    def __init__(
        self, mpi: Any, comm: Any, journal: Journal, digest: int, layout: tuple[Any, ...], short: bool
    ) -> None: ...
    def steps(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the steps in C that begin such sums and end them."""
    @overload
    def start(self, arrays: Sequence[np.ndarray]) -> np.ndarray | None: ...
    @overload
    def start(self, arrays: Sequence[np.ndarray], numbered: Callable[[], int]) -> np.ndarray:
        """Begin to add arrays up; return what `results` takes, int64[]: let go of, nobody asks for the sum."""
    def start_on_device(self, kept: tuple[int, int, Any, Any], numbered: Callable[[], int]) -> np.ndarray:
        """Begin a sum of what lies on a GPU; return what `results` takes, which gives `kept` back."""
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
