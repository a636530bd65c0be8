"""Traces: the graphs that a Function keeps, found by the keys of calls.

Rule: what a call costs does not grow with the number of traces, and memory does not grow with the number of calls: the
traces that were used least recently go.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from fastgraph.core.base.locks import Lock
from fastgraph.staging.concrete_function import ConcreteFunction
from fastgraph.staging.signature.relaxed_keys import Mask, Masked, hidden, masked, skeleton

#: How many traces a Function keeps at most, and how many nodes their graphs may have together; so few traces are kept
#: in any case.
MOST_TRACES, MOST_NODES, FEWEST_TRACES = 1024, 2_000_000, 64


@dataclass(frozen=True, eq=False)
class _Kept:
    number: int
    concrete: ConcreteFunction
    key: Any
    exact: bool
    masked: Masked | None  # of a general trace: where it stands in the index

    @property
    def n_nodes(self) -> int:
        return len(self.concrete.graph.nodes)


class Traces:
    """The traces of one Function.

    A trace serves calls with just its key; a general one, with unknown sizes, those that differ from it only there. A
    general one is found by what a key is without the sizes, then, for each pattern of unknown sizes that was traced, by
    the sizes that are known.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._numbers = itertools.count()
        self._uses = itertools.count()
        self._exact: dict[Any, ConcreteFunction] = {}
        self._general: dict[Any, dict[Mask, dict[Any, list[_Kept]]]] = {}
        self._alike: dict[Any, Any] = {}  # a key without its sizes -> the latest key that is the same without its own
        self._kept: dict[ConcreteFunction, _Kept] = {}
        self._n_nodes = 0
        self._void: list[Any] = []  # weak references to traces whose key has an object in it that is gone

    def __len__(self) -> int:
        return len(self._kept)

    def all(self) -> list[ConcreteFunction]:
        """The traces, in the order in which they were made."""
        with self._lock:
            return [kept.concrete for kept in sorted(self._kept.values(), key=lambda kept: kept.number)]

    def find(self, key: object) -> ConcreteFunction | None:
        """Return the trace that serves calls with this key, None if there is none."""
        if self._void:
            with self._lock:
                self._forget_void()
        found = self._exact.get(key)
        if found is None and self._general:
            with self._lock:
                found = self._find_general(key)
        if found is not None:
            found.latest_use = next(self._uses)
        return found

    def _find_general(self, key: object) -> ConcreteFunction | None:
        shapes: list[Any] = []
        types: list[Any] = []
        for mask, by_sizes in self._general.get(skeleton(key, shapes, types), {}).items():
            for kept in by_sizes.get(hidden(shapes, mask), ()):
                assert kept.masked is not None
                if all(a.is_subtype_of(b) for a, b in zip(types, kept.masked.types, strict=True)):
                    return kept.concrete
        return None

    def alike(self, key: object) -> Any:
        """Return the latest key that a trace was made for and that differs from `key` in sizes only; None if none."""
        with self._lock:
            return self._alike.get(skeleton(key, [], []))

    def add(
        self, key: object, concrete: ConcreteFunction, exact: bool, general: bool, in_use: Collection[Any]
    ) -> ConcreteFunction:
        """Keep a trace; let others go where there are too many, but none that is in use. Return what serves the key."""
        with self._lock:
            other = self._exact.get(key)
            if other is not None:  # made meanwhile, beside this one
                return other
            apart = masked(key) if general else None
            concrete.latest_use = next(self._uses)
            kept = self._kept[concrete] = _Kept(next(self._numbers), concrete, key, exact, apart)
            self._n_nodes += kept.n_nodes
            if exact:
                self._exact[key] = concrete
            if apart is not None:
                by_mask = self._general.setdefault(apart.skeleton, {})
                by_mask.setdefault(apart.mask, {}).setdefault(apart.sizes, []).append(kept)
            self._alike[skeleton(key, [], [])] = key
            self._shrink(concrete, in_use)
            return concrete

    def _shrink(self, newest: ConcreteFunction, in_use: Collection[Any]) -> None:
        """Let the traces go that were not used for the longest time, until there is room."""
        n = len(self._kept)
        if n <= FEWEST_TRACES or (n <= MOST_TRACES and self._n_nodes <= MOST_NODES):
            return
        for concrete in sorted(self._kept, key=lambda concrete: concrete.latest_use):
            n = len(self._kept)
            if n <= FEWEST_TRACES or (n <= MOST_TRACES and self._n_nodes <= MOST_NODES):
                return
            if concrete is not newest and concrete not in in_use:
                self.forget(concrete)

    def void(self, trace: Callable[[], Any]) -> None:
        """Let a trace go, given by a weak reference: at once, or where this table is in use, before it is used again.

        It may be called whenever Python frees something.
        """
        self._void.append(trace)
        if not self._lock.is_mine():
            with self._lock:
                self._forget_void()

    def _forget_void(self) -> None:
        while self._void:
            self.forget(self._void.pop()())

    def forget(self, concrete: Any) -> None:
        """Let a trace go."""
        with self._lock:
            kept = self._kept.pop(concrete, None)
            if kept is None:
                return
            self._n_nodes -= kept.n_nodes
            if kept.exact:
                del self._exact[kept.key]
            if kept.masked is not None:
                by_mask = self._general[kept.masked.skeleton]
                by_sizes = by_mask[kept.masked.mask]
                by_sizes[kept.masked.sizes].remove(kept)
                if not by_sizes[kept.masked.sizes]:
                    del by_sizes[kept.masked.sizes]
                if not by_sizes:
                    del by_mask[kept.masked.mask]
                if not by_mask:
                    del self._general[kept.masked.skeleton]
            alike = skeleton(kept.key, [], [])
            if self._alike.get(alike) == kept.key:
                del self._alike[alike]

    def clear(self) -> None:
        """Let all traces go."""
        with self._lock:
            for table in (self._exact, self._general, self._alike, self._kept):
                table.clear()
            self._n_nodes = 0
