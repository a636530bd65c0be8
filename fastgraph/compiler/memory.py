"""Where values live in a plan's arena: best fit over the steps in program order.

Rule: memory goes to a new tenant only when every step that used the old one is sure to have ended: in a serial plan
when it stands earlier in the order, in a parallel plan when the new tenant's first step waits for it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT = 64


@dataclass
class Tenant:
    """A piece of memory wanted from step `first` to step `last`; `users` is the set of steps that touch it, as bits."""

    nbytes: int
    first: int
    last: int
    users: int


def ancestors(after: Sequence[Sequence[int]]) -> list[int]:
    """Return for each step the set, as bits, of the steps that have ended when it begins."""
    found: list[int] = []
    for before in after:
        bits = 0
        for step in before:
            bits |= found[step] | (1 << step)
        found.append(bits)
    return found


def place(tenants: Sequence[Tenant], ended: Sequence[int] | None) -> tuple[list[int], int]:
    """Return the offset of each tenant and the size of the arena.

    `ended[i]`: the steps that have ended when step i begins (bits); None for a plan that runs in program order.
    """
    offsets = [0] * len(tenants)
    arena = _Arena()
    coming = sorted(range(len(tenants)), key=lambda t: (tenants[t].first, -tenants[t].nbytes, t))
    going = sorted(range(len(tenants)), key=lambda t: (tenants[t].last, t))
    gone = 0
    for t in coming:
        tenant = tenants[t]
        while gone < len(going) and tenants[going[gone]].last < tenant.first:
            old = going[gone]
            arena.free(offsets[old], _padded(tenants[old].nbytes), 0 if ended is None else tenants[old].users)
            gone += 1
        offsets[t] = arena.take(_padded(tenant.nbytes), None if ended is None else ended[tenant.first])
    return offsets, arena.size


def _padded(nbytes: int) -> int:
    return max(ALIGNMENT, (nbytes + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT)


class _Arena:
    """Holes between tenants: by offset, to join neighbours, and by size, to find the best fit."""

    def __init__(self) -> None:
        self.size = 0
        self.offsets: list[int] = []
        self.holes: dict[int, tuple[int, int]] = {}  # offset -> size, the steps that used it
        self.sizes: list[tuple[int, int]] = []  # (size, offset), ascending

    def _remove(self, offset: int) -> tuple[int, int]:
        size, users = self.holes.pop(offset)
        del self.offsets[bisect_left(self.offsets, offset)]
        del self.sizes[bisect_left(self.sizes, (size, offset))]
        return size, users

    def _insert(self, offset: int, size: int, users: int) -> None:
        self.holes[offset] = (size, users)
        insort(self.offsets, offset)
        insort(self.sizes, (size, offset))

    def free(self, offset: int, size: int, users: int) -> None:
        """Make a hole; neighbours with the same past become one with it."""
        at = bisect_left(self.offsets, offset)
        if at < len(self.offsets) and self.offsets[at] == offset + size:
            after, past = self.holes[offset + size]
            if past == users or not past or not users:
                self._remove(offset + size)
                size, users = size + after, users | past
        if at > 0:
            before = self.offsets[at - 1]
            length, past = self.holes[before]
            if before + length == offset and (past == users or not past or not users):
                self._remove(before)
                offset, size, users = before, size + length, users | past
        self._insert(offset, size, users)

    def take(self, size: int, ended: int | None) -> int:
        """Return the offset of the smallest hole that fits and is surely free, or of new memory at the end."""
        at = bisect_left(self.sizes, (size, -1))
        while at < len(self.sizes):
            length, offset = self.sizes[at]
            users = self.holes[offset][1]
            if ended is None or not users & ~ended:
                self._remove(offset)
                if length > size:
                    self._insert(offset + size, length - size, users)
                return offset
            at += 1
        offset = self.size
        self.size += size
        return offset
