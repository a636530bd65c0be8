"""FuncGraph: a function's graph that a program builds itself, op by op; and the placeholders that are its inputs.

Rule: eager tensors and Variables that its ops take are captured, as in a traced function.
"""

from __future__ import annotations

from typing import Any

from fastgraph.core.base.dtype import DTypeLike, as_dtype
from fastgraph.core.base.shapes import Aval, ShapeLike, TensorShape
from fastgraph.core.name_scopes import current_scope
from fastgraph.core.tensor import current_trace
from fastgraph.graph.trace import GraphTrace
from fastgraph.graphdef.graph_view import Graph


class FuncGraph(Graph):
    """An empty graph of a function; ops are added within `as_default()`. Source: tf.__internal__.FuncGraph."""

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        trace = GraphTrace(name)
        super().__init__(of=trace.graph)
        trace.graph.__dict__["public"] = self
        trace.scratch = True
        outer = current_trace()
        trace.enclosing = outer if isinstance(outer, GraphTrace) else None


def placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Any:
    """Return a tensor of the graph under construction that is fed when the graph runs: an input of it.

    Raises RuntimeError in eager mode. Source: tf.compat.v1.placeholder.
    """
    trace = current_trace()
    if not isinstance(trace, GraphTrace):
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    extents = TensorShape(shape)
    aval = Aval(as_dtype(dtype), None if extents.rank is None else tuple(extents))
    return trace.add_input(aval, current_scope() + (name or "Placeholder"))
