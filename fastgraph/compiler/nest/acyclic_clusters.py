"""Clusters and steps in an order in which each stands after what it waits for, kept while clusters merge.

Rule: two may become one where no way leads from the first to the second through a third. Such a way runs between the
places of the two: nothing else is looked at, and what is found there is all that has to move.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

Unit = TypeVar("Unit")

#: Units looked through for one answer at most: then a graph takes time that grows with its size and no faster.
FAR = 1000
#: How close two places may come: numbers of this size are that exact where there are millions of units.
CLOSE = 1e-6


class Order(Generic[Unit]):
    """The order. `waits_for` gives what a unit needs; what is not in the order is needed by nobody."""

    def __init__(self, waits_for: Callable[[Unit], Iterable[Unit]]) -> None:
        self._waits_for = waits_for
        self._place: dict[Unit, float] = {}
        self._places: list[float] = []  # ascending

    def append(self, unit: Unit) -> None:
        """Put a new unit behind all others."""
        place = self._places[-1] + 1.0 if self._places else 0.0
        self._place[unit] = place
        self._places.append(place)

    def between(self, first: Unit, last: Unit) -> tuple[dict[Unit, Unit], Unit | None]:
        """The units between two units that `last` waits for, each with the unit that it was found from; and which of
        it waits for `first`, so that the two must stay apart. Where that is too far to see it is `last` itself."""
        found: dict[Unit, Unit] = {}
        low = self._place[first]
        stack = [(last, unit) for unit in self._waits_for(last) if unit is not first]
        while stack:
            origin, unit = stack.pop()
            if unit in found or self._place.get(unit, low) <= low:
                continue
            if len(found) == FAR:
                return found, last
            found[unit] = origin
            for needed in self._waits_for(unit):
                if needed is first:
                    return found, unit
                stack.append((unit, needed))
        return found, None

    def merge(self, first: Unit, last: Unit, merged: Unit, between: Iterable[Unit]) -> None:
        """Let `merged` take the place of `first`, and what `last` waits for and stands between them come before it."""
        moved = sorted(between, key=self._place.__getitem__)
        for unit in (last, *moved):
            del self._places[bisect_left(self._places, self._place.pop(unit))]
        if moved:
            low, step = self._room(first, len(moved))
            if step < CLOSE:
                self._spread()
                low, step = self._room(first, len(moved))
            for i, unit in enumerate(moved, 1):
                self._place[unit] = low + i * step
                insort(self._places, low + i * step)
        self._place[merged] = self._place.pop(first)

    def _room(self, unit: Unit, n: int) -> tuple[float, float]:
        """The place before that of a unit, and how far from each other n more are that come between."""
        place = self._place[unit]
        at = bisect_left(self._places, place)
        low = self._places[at - 1] if at else place - 1.0
        return low, (place - low) / (n + 1)

    def _spread(self) -> None:
        """Give all units new places, as far from each other as at first."""
        units = sorted(self._place, key=self._place.__getitem__)
        self._place = {unit: float(place) for place, unit in enumerate(units)}
        self._places = list(self._place.values())
