"""AtomicFunction: one graph as a function of all that it takes, captures included.

Rule: it only passes on; the concrete function that it belongs to runs the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import Tensor, bind, convert
from fastgraph.graph import ir
from fastgraph.graph.captures import shown
from fastgraph.graph.differentiate import entering
from fastgraph.graph.structural_ops import CALL
from fastgraph.graph.trace import GraphTrace
from fastgraph.graphdef.graph_view import Graph
from fastgraph.staging.graph_runner import Runner
from fastgraph.staging.signature.function_type import FunctionType
from fastgraph.state.resource_handles import ResourceHandle

if TYPE_CHECKING:
    from fastgraph.staging.concrete_function import ConcreteFunction


class AtomicFunction:
    """The flat function that a concrete function calls, as `ConcreteFunction.inference_fn` gives it.

    `name` is bytes, as in TensorFlow; `children` are none: every function that is called is in its GraphDef.
    """

    def __init__(self, concrete: ConcreteFunction) -> None:
        self._concrete = concrete
        self.children: list[AtomicFunction] = []
        self.attributes: dict[str, Any] = {}
        self._runner: Runner | None = None

    name = ReadOnly[bytes]("_concrete.name", "The name of the function.")
    graph = ReadOnly[Graph]("_concrete.graph", "The graph as written.")

    function_type = ReadOnly[FunctionType]("_concrete.function_type", "The signature of the trace.")
    definition = ReadOnly[Any]("_concrete.function_def", "The graph as a FunctionDef.")

    cached_definition = ReadOnly[Any]("_concrete.function_def", "The graph as a FunctionDef.")

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Call the graph. Raises ValueError if it captures anything: give that to call_with_captures."""
        if self.graph.ir.captures:
            raise ValueError("The FunctionType defines captured inputs. Use call_with_captures instead.")
        return self.call_with_captures(args, kwargs, [])

    def call_with_captures(self, args: Sequence[Any], kwargs: Mapping[str, Any], captures: Sequence[Any]) -> Any:
        """Call the graph as its function, with one of `captures` for each tensor and Variable from outside."""
        n = len(self.graph.ir.captures)
        if len(captures) != n:
            raise ValueError(f"{self._concrete.label} captures {n} tensors and Variables, got {len(captures)}")
        leaves = self._concrete.leaves_of_call(tuple(args), dict(kwargs))
        return self._concrete.pack(self._run([*leaves, *captures]))

    def call_flat(self, *args: object) -> list[Any]:
        """Call the graph on all its parameters, tensors and handles of Variables; return its flat results.

        Raises ValueError for another number of them.
        """
        n = len(self.graph.ir.parameters)
        if len(args) != n:
            raise ValueError(f"Signature specifies {n} arguments, got: {len(args)}.")
        return list(self._run(args))

    def _run(self, operands: Sequence[Any]) -> Sequence[Any]:
        given = [operand.cell if isinstance(operand, ResourceHandle) else operand for operand in operands]
        given = [getattr(operand, "__fg_cell__", operand) for operand in given]
        given = [operand if isinstance(operand, Cell | Tensor) else convert(operand) for operand in given]
        if self._runner is None:
            self._runner = _runner_of(self.graph.ir, self._concrete.label)
        cells = [operand for operand in given if isinstance(operand, Cell)]
        return self._runner([operand for operand in given if not isinstance(operand, Cell)] + cells)

    def __repr__(self) -> str:
        return f"AtomicFunction(name={self.name!r}, function_type={self.function_type})"


def _runner_of(graph: ir.Graph, name: str) -> Runner:
    """Return what runs a graph on its tensors, then its cells: captured tensors, which it takes too, may be others."""
    trace = GraphTrace(graph.name)
    held = {value: capture for capture, value in graph.captures}
    operands = []
    for value in graph.parameters:
        if value.aval.dtype is dtypes.resource:
            operands.append(shown(held[value]).cell)
        else:
            operands.append(trace.add_input(value.aval.without_value(), value.node.name))
    with entering(trace):
        for operand in operands:
            if isinstance(operand, Cell):
                trace.value_of(operand)
        results = bind(CALL, tuple(operands), {"graph": graph})
        trace.finish([trace.identity(result) for result in results])
    return Runner(trace, name)
