"""The trace of a graph that the user makes (tf.Graph): what its ops are bound to while it is the default graph.

Rule: it captures nothing. Whatever its ops take is made in it, or is a Python value.
"""

from __future__ import annotations

from typing import Any

from fastgraph.core.base.shapes import Aval
from fastgraph.core.native.buffer import Cell
from fastgraph.core.primitive import Primitive
from fastgraph.graph.ir import Graph, Value
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.graph.trace import GraphTrace


class DefaultGraphTrace(GraphTrace):
    """Adds nodes to a given graph."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph.name, kind="graph", graph=graph)

    def __repr__(self) -> str:
        return repr(self.graph.public)

    def bind(self, prim: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Append the application of `prim`. Raises RuntimeError if the graph is finalized."""
        self._check_open()
        return super().bind(prim, inputs, attrs)

    def constant(self, tensor: object) -> Any:
        """Return the const node of a Python value. Raises RuntimeError if the graph is finalized."""
        self._check_open()
        return super().constant(tensor)

    def _check_open(self) -> None:
        if self.graph.public.finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def _check_reach(self, tensor: SymbolicTensor) -> None:
        raise ValueError(
            f"{tensor} must be from the same graph as what it is used with (graphs are {tensor.graph!r} and "
            f"{self.graph.public!r})."
        )

    def _capture(self, tensor: object, key: object, aval: Aval) -> Value:
        if isinstance(tensor, Cell):
            return super()._capture(tensor, key, aval)
        raise RuntimeError("Attempting to capture an EagerTensor without building a function.")
