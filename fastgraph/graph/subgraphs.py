"""Branches and bodies: Python functions traced as closed subgraphs, and the cond and while nodes made of them.

Rule: a subgraph is closed: what it uses from outside is an operand of its node, and the subgraphs of one node take the
same operands in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fastgraph._tape import watch_accessed
from fastgraph.composites.symbolic_tensor_array import follow
from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.base.shapes import Aval
from fastgraph.core.base.type_specs import TypeSpec
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import Tensor, bind, convert
from fastgraph.graph.differentiate import entering
from fastgraph.graph.ir import Value
from fastgraph.graph.structural_ops import COND, WHILE
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.graph.trace import GraphTrace

_numbers = iter(range(1, 1 << 62))


def subgraph_name(what: str) -> str:
    """Return a name for a subgraph, numbered over the process as TensorFlow numbers them: `clip_cond_true_3`."""
    return f"{what.replace('/', '_')}_{next(_numbers)}"


def traced(
    outer: GraphTrace, function: Callable[..., Any], own: Sequence[tuple[Aval, str]], name: str, within: str = "",
    idle: bool = False,
) -> tuple[GraphTrace, Any]:  # fmt: skip
    """Trace `function` as a subgraph with inputs `own`; return its trace and its result with symbolic leaves.

    The graph's outputs are the flat tensors of the result. Names begin with `within`, the name of the node to come;
    `idle` says that this branch will not run.
    """
    trace = GraphTrace(name, parent=outer, kind="branch")
    trace.idle |= idle
    trace.scope = f"{within}/" if within else ""
    outputs: list[Value] = []
    leaves: list[Any] = []

    def returned(leaf: object) -> Any:  # each leaf is converted, then given out: the order of the nodes is TensorFlow's
        tensor = as_tensor(leaf)
        parts = [part for part in nesting.flatten(tensor, expand_composites=True) if part is not None]
        outputs.extend([trace.identity(part) for part in parts])
        leaves.extend(parts)
        return tensor

    with entering(trace):
        arguments = [trace.add_input(aval, argument) for aval, argument in own]
        result = nesting.map_structure(returned, function(*arguments))
    trace.finish(outputs)
    follow(result, leaves, [trace.tensor(value) for value in outputs])
    return trace, result


def opened(outer: GraphTrace, block: Callable[[], Any], name: str, within: str, idle: bool) -> tuple[GraphTrace, Any]:
    """Trace `block` as a subgraph without inputs of its own; return its trace, to be `closed`, and its result.

    Names begin with `within`, the name of the node to come; `idle` says that this branch will not run.
    """
    trace = GraphTrace(name, parent=outer, kind="branch")
    trace.idle |= idle
    trace.scope = f"{within}/"
    with entering(trace):
        return trace, block()


def closed(trace: GraphTrace, leaves: Callable[[], Iterable[Any]]) -> None:
    """Make the tensors that `leaves` gives, run in the subgraph, its outputs; each is given out as soon as made."""
    with entering(trace):
        outputs = [trace.identity(leaf) for leaf in leaves()]
    trace.finish(outputs)


def converted(result: object) -> Any:
    """Return a structure with its leaves as tensors; None stays."""
    return nesting.map_structure(as_tensor, result)


def as_tensor(leaf: object) -> Any:
    if leaf is None or isinstance(leaf, Tensor) or _is_composite(leaf):
        return leaf
    return convert(leaf)


def _is_composite(value: object) -> bool:
    spec = getattr(value, "_type_spec", None)
    return isinstance(spec, TypeSpec) and spec._is_composite


def packed(structure: object, outputs: Sequence[Any]) -> Any:
    """Return the outputs in the structure of a branch's result; where that has None, None."""
    leaves = iter(outputs)
    flat = [None if leaf is None else next(leaves) for leaf in nesting.flatten(structure, expand_composites=True)]
    return nesting.pack_sequence_as(structure, flat, expand_composites=True)


def _align(traces: Sequence[GraphTrace], n_own: int) -> list[Any]:
    """Give the traced subgraphs the same operands in the same order after their first `n_own` inputs; return these."""
    union: dict[Any, Any] = {}
    for trace in traces:
        for operand in trace.operands:
            union.setdefault(_key(operand), operand)
    for trace in traces:
        own = {_key(operand): value for operand, value in zip(trace.operands, trace.graph.inputs[n_own:], strict=True)}
        inputs = []
        for key, operand in union.items():
            value = own.get(key)
            if value is None:
                is_cell = isinstance(operand, Cell)
                aval = Aval(dtypes.resource, ()) if is_cell else operand.aval
                value = trace.placeholder(aval, "Placeholder")
                value.node.attrs["name"] = ""  # it stands for nothing that the graph takes
            inputs.append(value)
        trace.graph.inputs[n_own:] = inputs
        trace.operands = list(union.values())
    return list(union.values())


def _watch(operands: Sequence[Any]) -> None:
    """Tell the tapes of the Variables that a subgraph uses."""
    for operand in operands:
        if isinstance(operand, Cell):
            watch_accessed(operand)


def _key(operand: Tensor | Cell) -> Any:
    return operand.value if isinstance(operand, SymbolicTensor) else operand.id


def make_cond(
    then_trace: GraphTrace, else_trace: GraphTrace, pred: TensorLike, *, name: str | None = None, indexed: bool = False
) -> tuple[Any, ...]:
    """Bind the cond node of two traced branches to the trace around them; return its results.

    `indexed`: `pred` says whether an index is one number; the node in the other branch asks for the next, if there is.
    """
    operands = _align([then_trace, else_trace], 0)
    _watch(operands)
    outer = then_trace.parent
    assert outer is not None
    outer.node_name = name
    attrs: dict[str, Any] = {"then_graph": then_trace.graph, "else_graph": else_trace.graph}
    if indexed:
        attrs["indexed"] = True
    results: tuple[Any, ...] = bind(COND, (pred, *operands), attrs)
    return results


def make_while(
    cond_trace: GraphTrace,
    body_trace: GraphTrace,
    carried: Sequence[Any],
    *,
    name: str | None = None,
    joined: tuple[int, ...] = (),
) -> tuple[Any, ...]:
    """Bind the while node of a traced test and body to the trace around them; return the final carried values.

    After these come what the iterations give besides: stacked, or (outputs named by `joined`) end to end.
    """
    invariants = _align([cond_trace, body_trace], len(carried))
    _watch(invariants)
    outer = cond_trace.parent
    assert outer is not None
    outer.node_name = name
    attrs: dict[str, Any] = {"cond_graph": cond_trace.graph, "body_graph": body_trace.graph, "n_carried": len(carried)}
    if joined:
        attrs["joined"] = joined
    results: tuple[Any, ...] = bind(WHILE, (*carried, *invariants), attrs)
    return results
