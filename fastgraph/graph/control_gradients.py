"""The gradients of cond and while.

Rule: a cond differentiates to a cond with the same predicate, a while to a loop backward over residuals that the
forward loop stacks, one row an iteration. The forward node gets its residuals as further results; it is not run twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph import dtype as dtypes
from fastgraph._buffer import Cell
from fastgraph._tensor import Tensor, bind, current_trace, from_array, get_slot
from fastgraph.graph.branches import make_cond, make_while, subgraph_name, traced
from fastgraph.graph.differentiate import Derivative, add_outputs, derive, differentiable, extended
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graph.structure import CONST, rules
from fastgraph.graph.trace import GraphTrace
from fastgraph.primitive import get
from fastgraph.shapes import Aval


def _is_source(operand: Any) -> bool:
    return isinstance(operand, Cell) or differentiable(operand.aval)


def _dense(grad: Any) -> Any:
    """Return a gradient as a tensor: branches and iterations must agree on what a gradient is."""
    return grad if isinstance(grad, Tensor) else grad.__fg_tensor__()


def _zeros_like(operand: Any) -> Any:
    """Zeros for an operand that a branch or body does not use: a tensor, or a Variable's cell."""
    if isinstance(operand, Cell):
        read = get("read_variable")
        operand = bind(read, (operand,), {"dtype": operand.aval.dtype, "shape": operand.aval.shape})
    return get_slot("zeros_like")(operand)


# ---------------------------------------------------------------------------------------------------------------------
# cond


def _cond_gradient(
    needs: tuple[bool, ...], dys: list[Any], pred: Any, operands: list[Any], outs: list[Any]
) -> dict[str, Any]:
    node, trace = outs[0].value.node, outs[0].trace
    sources = tuple([i for i, operand in enumerate(operands) if needs[i + 1] and _is_source(operand)])
    flowing = [i for i, dy in enumerate(dys) if dy is not None]
    graphs = [node.attrs["then_graph"], node.attrs["else_graph"]]
    derivatives = [derive(graph.trace, sources, tuple([graph.outputs[i] for i in flowing])) for graph in graphs]
    _save_branches(node, trace, derivatives, [pred, *operands])
    given = [dys[i] for i in flowing]
    connected = [
        any(derivative.structure[k] is not None for derivative in derivatives) for k in range(len(sources))
    ]

    def branch(derivative: Derivative, graph: Graph) -> Callable[[], list[Any]]:
        position = {value: i for i, value in reversed(list(enumerate(graph.outputs)))}
        argument = dict(zip(derivative.forward.graph.inputs, operands, strict=True))

        def residual(value: Value) -> Any:
            return argument[value] if value in argument else trace.tensor(node.outputs[position[value]])

        def run() -> list[Any]:
            grads = derivative.apply(given, residual)
            return [
                _zeros_like(operands[i]) if grad is None else _dense(grad)
                for i, grad, used in zip(sources, grads, connected, strict=True)
                if used
            ]

        return run

    outer = current_trace()
    then_trace, _ = traced(
        outer, branch(derivatives[0], node.attrs["then_graph"]), [], subgraph_name("cond_grad_true")
    )
    else_trace, _ = traced(
        outer, branch(derivatives[1], node.attrs["else_graph"]), [], subgraph_name("cond_grad_false")
    )
    results = iter(make_cond(then_trace, else_trace, pred))
    grads: list[Any] = [None] * len(operands)
    for i, used in zip(sources, connected, strict=True):
        if used:
            grads[i] = next(results)
    return {"pred": None, "operands": grads}


def _save_branches(node: Node, trace: GraphTrace, derivatives: list[Derivative], handles: list[Any]) -> None:
    """Let the cond give the residuals of both branches; the branch not taken gives zeros for the other's."""
    graphs = [node.attrs["then_graph"], node.attrs["else_graph"]]
    wanted = [
        [value for value in derivative.saved() if value not in graph.outputs]
        for derivative, graph in zip(derivatives, graphs, strict=True)
    ]
    if not any(wanted):
        return
    avals = [value.aval.without_value() for values in wanted for value in values]
    extended_graphs = [extended(graph, []) for graph in graphs]
    for own, (graph, values) in enumerate(zip(extended_graphs, wanted, strict=True)):
        other = extended_graphs[1 - own]
        for value in values:
            graph.outputs.append(value)
            other.outputs.append(_zeros(other, value.aval))
    # Each graph has its own residuals and the other's zeros, in the same order: the first branch's first.
    node.attrs = {**node.attrs, "then_graph": extended_graphs[0], "else_graph": extended_graphs[1]}
    add_outputs(node, avals, trace, handles)


def _zeros(graph: Graph, aval: Aval) -> Value:
    """Append zeros of this type to a graph; unknown sizes are 0: nobody reads them."""
    shape = tuple([size or 0 for size in aval.shape or ()])
    const = graph.add(CONST, (), {"value": _scalar(aval)})
    node = graph.add(get("broadcast_to"), const.outputs, {"shape": shape})
    if aval.shape is None or None in aval.shape:
        node.outputs[0].aval = Aval(aval.dtype, aval.shape)
    return node.outputs[0]


def _scalar(aval: Aval) -> Any:
    """The eager zero of a dtype: a constant's value, even while a trace is active."""
    return from_array(np.array(b"" if aval.dtype == dtypes.string else 0, aval.dtype.as_numpy_dtype), aval.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# while


def _while_gradient(
    needs: tuple[bool, ...], dys: list[Any], operands: list[Any], outs: list[Any]
) -> dict[str, list[Any]]:
    node, trace = outs[0].value.node, outs[0].trace
    n_carried = node.attrs["n_carried"]
    body = node.attrs["body_graph"]
    floating = [i for i in range(n_carried) if differentiable(body.inputs[i].aval)]
    invariants = [
        i for i in range(n_carried, len(operands)) if needs[i] and _is_source(operands[i])
    ]
    stacked = [i for i in range(n_carried, len(dys)) if dys[i] is not None]
    outputs = tuple([body.outputs[i] for i in (*floating, *stacked)])
    derivative = derive(body.trace, (*floating, *invariants), outputs)
    rows = _save_rows(node, trace, derivative, operands)
    argument = {
        value: operands[i] for i, value in enumerate(derivative.forward.graph.inputs) if i >= n_carried
    }
    trips = get_slot("shape")(next(iter(rows.values())))[0]

    start = [dys[i] if dys[i] is not None else _zeros_like(outs[i]) for i in floating]
    carried_avals = [body.inputs[i].aval for i in floating]
    # A gradient of an invariant that no iteration uses is None, not zeros.
    used = [
        i for i, made in zip(invariants, derivative.structure[len(floating) :], strict=True) if made is not None
    ]
    sums = [_zeros_like(operands[i]) for i in used]

    def test(i: Any, *_: Any) -> Any:
        return i > 0

    def step(i: Any, *values: Any) -> list[Any]:
        at = i - 1
        d_carried, totals = values[: len(floating)], values[len(floating) :]

        def residual(value: Value) -> Any:
            return argument[value] if value in argument else rows[value][at]

        d_rows = [dys[k][at] for k in stacked]
        grads = derivative.apply([*d_carried, *d_rows], residual)
        next_carried = [
            get_slot("zeros_like")(before) if grad is None else _dense(grad)
            for before, grad in zip(d_carried, grads[: len(floating)], strict=True)
        ]
        found = dict(zip(invariants, grads[len(floating) :], strict=True))
        return [at, *next_carried, *[total + _dense(found[k]) for total, k in zip(totals, used, strict=True)]]

    outer = current_trace()
    begin = [trips, *start, *sums]
    avals = [trips.aval.without_value(), *carried_avals, *[tensor.aval.without_value() for tensor in sums]]
    own = [(Aval(aval.dtype, aval.shape), f"loop_var_{k}") for k, aval in enumerate(avals)]
    test_trace, _ = traced(outer, test, own, subgraph_name("while_grad_cond"))
    body_trace, _ = traced(outer, step, own, subgraph_name("while_grad_body"))
    results = make_while(test_trace, body_trace, begin)[1:]
    grads: list[Any] = [None] * len(operands)
    for i, grad in zip((*floating, *used), results, strict=True):
        grads[i] = grad
    return {"operands": grads}


def _save_rows(
    node: Node, trace: GraphTrace, derivative: Derivative, operands: Sequence[Any]
) -> dict[Value, Any]:
    """Let the loop stack what its gradient needs of each iteration; return the stacked tensors by the body's values."""
    n_carried = node.attrs["n_carried"]
    body = node.attrs["body_graph"]
    fixed = set(derivative.forward.graph.inputs[n_carried:])
    wanted = [value for value in derivative.residuals if value not in fixed]
    have = {value: i for i, value in enumerate(body.outputs) if i >= n_carried}
    missing = [value for value in wanted if value not in have]
    if not have and not missing:  # the number of iterations is then what is needed
        body = extended(body, [])
        missing = [body.add(CONST, (), {"value": _scalar(Aval(dtypes.bool_, ()))}).outputs[0]]
    if missing:
        for value in missing:
            if value.aval.shape is None:
                raise NotImplementedError(
                    f"The gradient of the while_loop {node.name} needs {value} of every iteration, whose rank is not "
                    "known: give the loop variables a static rank."
                )
        body = extended(body, missing)
        node.attrs = {**node.attrs, "body_graph": body}
        avals = [Aval(value.aval.dtype, (None, *(value.aval.shape or ()))) for value in missing]
        add_outputs(node, avals, trace, operands)
    rows = {value: trace.tensor(node.outputs[i]) for i, value in enumerate(body.outputs) if i >= n_carried}
    return {**{value: rows[value] for value in wanted}, **rows}


rules["cond"] = _cond_gradient
rules["while"] = _while_gradient
