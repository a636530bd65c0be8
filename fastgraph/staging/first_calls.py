"""Variables that a traced function makes: they live outside of the graph, and are made in the first call only.

Rule: what such a Variable starts from is computed outside of the trace, from the arguments of the first call; no node
of a trace is run more than once for it, and none whose result follows from shapes.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from fastgraph import nesting
from fastgraph._tensor import Tensor, current_trace, from_array, init_scope
from fastgraph.errors import InaccessibleTensorError
from fastgraph.graph import ir
from fastgraph.graph.differentiate import entering
from fastgraph.graph.interpret import run_node
from fastgraph.graph.trace import GraphTrace, SymbolicTensor, source_lines

_NOT_FIRST_CALL = (
    "tf.function-decorated function tried to create variables on non-first call. tf.function only supports singleton "
    "tf.Variables created on the first call. Make sure the tf.Variable is only created once or created outside "
    "tf.function. See https://www.tensorflow.org/guide/function#creating_tfvariables for more information."
)


def not_first_call(kwargs: dict[str, Any]) -> str:
    """Return the text for a Variable that a traced function makes in vain: which, the line, and the remedies."""
    name = kwargs.get("name")
    made_at = next(iter(source_lines(1)), None)
    where = "" if made_at is None else f" at {made_at.file}:{made_at.line}, in {made_at.function}"
    variable = f"The Variable {name!r}" if name else "The Variable"
    return (
        f"{_NOT_FIRST_CALL}\n\n{variable} is made{where}, each time that the function is traced. Either make it before "
        "the first call, outside of the function (in __init__, or at the top of the module); or keep it where it "
        "outlives the call and make it only if it is not there: `if self.v is None: self.v = tf.Variable(...)`."
    )


#: What these give follows from the shape of what they take.
_FROM_SHAPES: dict[str, Any] = {"zeros_like": np.zeros, "ones_like": np.ones}


class InitialValues:
    """What the Variables made in one trace start from, computed from the arguments of the first call (`leaves`).

    What has been computed is kept until the trace is over: the next Variable goes on from there.
    """

    def __init__(self, trace: GraphTrace, leaves: list[Any]) -> None:
        self._trace = trace
        self._leaves = leaves
        self._known: dict[ir.Value, Any] = {}
        self._positions: dict[GraphTrace, dict[ir.Node, int]] = {}
        trace.initial_values = self

    def lifted(self, initial: Any) -> Any:
        """Return the initial value of a Variable as it is outside the trace: symbolic ones are computed.

        Raises ValueError where one depends on what has no value: what a loop carries, the arguments of a trace that no
        call asked for.
        """
        if isinstance(initial, SymbolicTensor):
            with init_scope():
                return self._value(initial)
        if callable(initial) and not isinstance(initial, Tensor):
            return self._called(initial, current_trace())
        if nesting.is_nested(initial):
            return nesting.map_structure(self.lifted, initial)
        return initial

    def _called(self, initial: Any, trace: Any) -> Any:
        """Return `initial` as it can be called outside the trace, though it may use tensors of that."""

        def value() -> Any:
            try:
                return initial()
            except InaccessibleTensorError:
                with entering(trace):
                    made = initial()
            return self.lifted(made)

        return value

    def _value(self, tensor: Any) -> Any:
        """Compute a tensor of the trace, of a branch in it, or of a trace around it; what has a value is that."""
        if not isinstance(tensor, SymbolicTensor):
            return tensor
        trace = tensor.trace
        if trace.root is not self._trace:
            others = trace.root.initial_values
            if others is None:
                raise self._no_value(trace.root)
            return others._value(tensor)
        known = self._known
        if tensor.value not in known:
            needed = self._needed(tensor.value, trace)
            positions = self._positions.setdefault(trace, {})
            for i in range(len(positions), len(trace.graph.nodes)):
                positions[trace.graph.nodes[i]] = i
            for node in sorted(needed, key=positions.__getitem__):
                results = run_node(node, tuple([known[value] for value in node.inputs]))
                known.update(zip(node.outputs, results, strict=True))
        return known[tensor.value]

    def _needed(self, value: ir.Value, trace: GraphTrace) -> set[ir.Node]:
        """Return the nodes of a trace that are still to be run for a value."""
        needed: set[ir.Node] = set()
        stack = [value]
        while stack:
            value = stack.pop()
            node, aval = value.node, value.aval
            if value in self._known or node in needed:
                continue
            if aval.value is not None and node.op.effect is None:
                self._known[value] = from_array(np.array(aval.value), aval.dtype)
            elif aval.is_static and node.op.name in _FROM_SHAPES and aval.dtype.name != "string":
                made = _FROM_SHAPES[node.op.name](aval.shape, aval.dtype.as_numpy_dtype)
                self._known[value] = from_array(made, aval.dtype)
            elif node.op.name == "placeholder":
                self._known[value] = self._argument(value, trace)
            else:
                needed.add(node)
                stack += node.inputs
        return needed

    def _argument(self, value: ir.Value, trace: GraphTrace) -> Any:
        """Return what a parameter of a trace stands for in the first call."""
        if trace is not self._trace:
            for operand in trace.operands:  # of a branch: what is around it, but not what a loop carries
                if trace.value_of(operand) is value:
                    return self._value(operand)
            raise ValueError(
                f"A tf.Variable made inside a condition or loop of a tf.function starts from {trace.tensor(value)!r}, "
                "which has no value there. Create the Variable outside of it."
            )
        for leaf, parameter in zip(self._leaves, trace.graph.inputs, strict=True):
            if parameter is value:
                if not isinstance(leaf, Tensor):
                    raise self._no_value(trace)
                return self._value(leaf)
        for held, parameter in trace.graph.captures:
            if parameter is value:
                return held() if isinstance(held, weakref.ref) else self._value(held)
        raise self._no_value(trace)

    def _no_value(self, trace: GraphTrace) -> ValueError:
        return ValueError(
            f"The initial value of a tf.Variable made while tracing {trace.graph.name!r} depends on its arguments, "
            "which have no values here. Call the function once, or create the Variable outside of it."
        )
