"""Variables that a traced function makes: they live outside of the graph, and are made in the first call only.

Rule: what such a Variable starts from is computed outside of the trace, from the arguments of the first call.
"""

from __future__ import annotations

import weakref
from typing import Any

from fastgraph import nesting
from fastgraph._tensor import EagerTensor, Tensor, init_scope
from fastgraph.graph import ir, passes
from fastgraph.graph.interpret import interpret
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


def lifted(initial: Any, trace: GraphTrace, leaves: list[Any]) -> Any:
    """Return the initial value of a Variable as it is outside the trace: symbolic ones are computed."""
    if isinstance(initial, SymbolicTensor):
        return _evaluate(initial, trace, leaves)
    if callable(initial) and not isinstance(initial, Tensor):
        return initial  # called under init_scope
    if nesting.is_nested(initial):
        return nesting.map_structure(lambda leaf: lifted(leaf, trace, leaves), initial)
    return initial


def _evaluate(tensor: SymbolicTensor, trace: GraphTrace, leaves: list[Any]) -> Any:
    """Compute a symbolic tensor from the arguments of the first call."""
    if tensor.trace is not trace:
        return _evaluate_within(tensor, trace, leaves)
    needed = ir.reachable([tensor.value])
    used = [leaf for leaf, value in zip(leaves, trace.graph.inputs, strict=True) if value.node in needed]
    if any(not isinstance(leaf, EagerTensor) for leaf in used):
        raise ValueError(
            f"The initial value of a tf.Variable made while tracing {trace.graph.name!r} depends on its arguments, "
            "which have no values here. Call the function once, or create the Variable outside of it."
        )
    captures = trace.graph.captures
    captured = [held() if isinstance(held, weakref.ref) else held for held, _ in captures]
    return _computed(tensor, needed, [*trace.graph.inputs, *[value for _, value in captures]], [*leaves, *captured])


def _evaluate_within(tensor: SymbolicTensor, trace: GraphTrace, leaves: list[Any]) -> Any:
    """Compute a tensor of a condition or loop: it may depend on what is around that, not on what a loop carries."""
    inner, needed = tensor.trace, ir.reachable([tensor.value])
    operands = {inner.value_of(operand): operand for operand in inner.operands}
    own = [value for value in inner.graph.inputs if value not in operands]
    if inner.kind != "branch" or any(value.node in needed for value in own):
        raise ValueError(
            f"A tf.Variable made inside a condition or loop of a tf.function starts from {tensor!r}, which has no "
            "value there. Create the Variable outside of it."
        )
    used = {value: operand for value, operand in operands.items() if value.node in needed}
    return _computed(tensor, needed, list(used), [lifted(operand, trace, leaves) for operand in used.values()])


def _computed(tensor: SymbolicTensor, needed: set[ir.Node], inputs: list[ir.Value], arguments: list[Any]) -> Any:
    """Run the part of a trace that a tensor needs."""
    traced = tensor.trace.graph
    graph = ir.Graph(traced.name)
    given = {value.node for value in inputs}
    graph.nodes = [node for node in traced.nodes if node in needed or node in given]
    graph.inputs, graph.outputs = inputs, [tensor.value]
    with init_scope():
        value = interpret(passes.inline(graph), arguments)[0]
    return value
