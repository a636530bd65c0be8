"""The warning for a loop that Python runs while a function is traced, and that makes the graph long."""

from __future__ import annotations

import warnings
import weakref
from typing import Any, Self

from fastgraph.core.tensor import current_trace
from fastgraph.graph.source_lines import source_lines

MOST_NODES = 1000

_registry: dict[Any, Any] = {}
_warned: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


class Unrolling:
    """Counts the nodes that a loop adds to the graph; warns once, with the loop's line, when they pass MOST_NODES."""

    def __enter__(self) -> Self:
        trace = current_trace()
        self._graph = getattr(trace, "graph", None)
        self._begin = 0 if self._graph is None else len(self._graph)
        self._iterations = 0
        return self

    def __exit__(self, *_: object) -> None:
        self._graph = None

    def iterated(self) -> None:
        """Say that an iteration is over."""
        self._iterations += 1
        graph = self._graph
        if graph is None or len(graph) - self._begin <= MOST_NODES:
            return
        self._graph = None
        if _warned.get(graph, -1) >= self._begin:
            return  # a loop within this one was it
        _warned[graph] = len(graph)
        lines = source_lines()
        if not lines:
            return
        place = lines[0]
        warnings.warn_explicit(
            f"Large unrolled loop detected: after {self._iterations} iterations the loop in {place.function} "
            f"({place.file}:{place.line}) has put {len(graph) - self._begin} nodes in the graph, one copy of its body "
            "for each iteration. Python values decide this loop; iterate over a tensor, such as tf.range(n), to have "
            "its body in the graph once.",
            UserWarning, place.file, place.line, registry=_registry,
        )  # fmt: skip
