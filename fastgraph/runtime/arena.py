"""Offsets in a plan's arena: best fit over the steps in program order.

Rule: memory is reused only when every step that used it has certainly ended: in a serial plan when it comes earlier in
the order, in a parallel plan when the first step of the new allocation waits for it. It may be made to wait: then for
steps so far back that threads have hardly ever come to the one before the others have ended.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ALIGNMENT = 64
TRIES = 24  # holes looked at for one allocation: a plan of thousands of steps must not take seconds
#: How many steps before it a step knows for sure to have ended: with all of them memory would grow with the square.
WINDOW = 1 << 14
#: How far back a step lies that one may be made to wait for.
LAG = 16

Steps = frozenset[int]


@dataclass
class Allocation:
    """A piece of memory wanted from step `first` to step `last`; `users` are the steps that touch it."""

    nbytes: int
    first: int
    last: int
    users: Steps


class Ended:
    """The steps that have ended when each step begins: a set of bits, the nearest step's the lowest.

    `after` are the steps that each waits for. What is further back than WINDOW counts as running.
    """

    def __init__(self, after: Sequence[Sequence[int]]) -> None:
        self._bits: list[int] = []
        all_of_them = (1 << WINDOW) - 1
        for step, before in enumerate(after):
            bits = 0
            for other in before:
                bits |= (self._bits[other] << 1 | 1) << (step - other - 1)
            self._bits.append(bits & all_of_them if step > WINDOW else bits)

    def running(self, step: int, others: Iterable[int]) -> list[int]:
        """Return which of `others` may still run, or have not begun, when `step` begins."""
        bits = self._bits[step]
        return [other for other in others if other >= step or not bits >> (step - other - 1) & 1]


def place(allocations: Sequence[Allocation], ended: Ended | None) -> tuple[list[int], int]:
    """Return each allocation's offset and the size of the arena. Without `ended` the plan runs in program order."""
    offsets, size, _ = _place(allocations, ended, None if ended is None else 0)
    return offsets, size


def place_tightly(allocations: Sequence[Allocation], ended: Ended | None = None) -> tuple[list[int], int, list[Steps]]:
    """Return offsets and size, and for each allocation the steps that its first step must wait for.

    For a plan that runs on several threads and would need more memory otherwise: as in program order, or with `ended`
    as if steps had ended that lie LAG back.
    """
    return _place(allocations, ended, LAG)


def _place(
    allocations: Sequence[Allocation], ended: Ended | None, lag: int | None
) -> tuple[list[int], int, list[Steps]]:
    offsets = [0] * len(allocations)
    waits: list[Steps] = [frozenset()] * len(allocations)
    arena = _Arena(lag != 0)
    sizes = [_padded(allocation.nbytes) for allocation in allocations]
    going = sorted([(allocation.last, t) for t, allocation in enumerate(allocations)], reverse=True)
    for first, _, t in sorted([(allocation.first, -allocation.nbytes, t) for t, allocation in enumerate(allocations)]):
        while going[-1][0] < first:
            _, old = going.pop()
            arena.free(offsets[old], sizes[old], allocations[old].users)
        offsets[t], waits[t] = arena.take(sizes[t], first, ended, lag or 0)
    return offsets, arena.size, waits


def _padded(nbytes: int) -> int:
    return (nbytes + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT or ALIGNMENT


class _Arena:
    """Holes between allocations: by offset, to join neighbours, and by size, to find the best fit.

    Of holes of one size the one left last comes first: in a chain of steps its users are the likeliest to have ended.
    """

    def __init__(self, joins: bool) -> None:
        self.joins = joins  # neighbours become one hole whatever their pasts
        self.size = 0
        self.age = 0
        self.offsets: list[int] = []
        self.holes: dict[int, tuple[int, int, Steps]] = {}  # offset -> size, age, the steps that used it
        self.sizes: list[tuple[int, int, int]] = []  # (size, age, offset), ascending

    def _remove(self, offset: int) -> tuple[int, Steps]:
        size, age, users = self.holes.pop(offset)
        del self.offsets[bisect_left(self.offsets, offset)]
        del self.sizes[bisect_left(self.sizes, (size, age, offset))]
        return size, users

    def _insert(self, offset: int, size: int, users: Steps) -> None:
        self.age -= 1
        self.holes[offset] = (size, self.age, users)
        insort(self.offsets, offset)
        insort(self.sizes, (size, self.age, offset))

    def free(self, offset: int, size: int, users: Steps) -> None:
        """Make a hole; neighbours with the same past become one with it."""
        at = bisect_left(self.offsets, offset)
        if at < len(self.offsets) and self.offsets[at] == offset + size and self._alike(offset + size, users):
            length, past = self._remove(offset + size)
            size, users = size + length, users | past
        if at > 0 and self.offsets[at - 1] + self.holes[self.offsets[at - 1]][0] == offset:
            before = self.offsets[at - 1]
            if self._alike(before, users):
                length, past = self._remove(before)
                offset, size, users = before, size + length, users | past
        self._insert(offset, size, users)

    def _alike(self, hole: int, users: Steps) -> bool:
        return self.joins or self.holes[hole][2] == users

    def take(self, size: int, step: int, ended: Ended | None, lag: int) -> tuple[int, Steps]:
        """Return the offset of the smallest hole that fits and is surely free, or of new memory, and its last users.

        With a `lag`, it is free once the step has waited for those of them that lie so far back.
        """
        at = bisect_left(self.sizes, (size, -(1 << 60), -1))
        for length, _, offset in self.sizes[at : at + TRIES]:
            users = self.holes[offset][2]
            if ended is None or not [u for u in ended.running(step, users) if not lag or u > step - lag]:
                self._remove(offset)
                if length > size:
                    self._insert(offset + size, length - size, users)
                return offset, users
        offset = self.size
        self.size += size
        return offset, frozenset()
