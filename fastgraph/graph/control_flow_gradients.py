"""The gradients of cond and while.

Rule: a cond differentiates to a cond with the same predicate, a while to a loop backward over residuals that the
forward loop stacks, one row an iteration. The forward node gets its residuals as further results; it is not run twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.shapes import Aval
from fastgraph.core.native.buffer import Cell
from fastgraph.core.registry import get
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import Tensor, convert, current_trace, from_array, get_slot
from fastgraph.graph.differentiate import Derivative, add_outputs, derive, differentiable, entering, extended, zeros_of
from fastgraph.graph.ir import Graph, Node, Value, infer
from fastgraph.graph.structural_ops import CONST, known_trips, rules
from fastgraph.graph.subgraphs import make_cond, make_while, subgraph_name, traced
from fastgraph.graph.trace import GraphTrace
from fastgraph.ops import gathering, joining, movement, reduction, scans

_MOST_DIMENSIONS = 16  # of a tensor


def _is_source(operand: Tensor | Cell) -> bool:
    return isinstance(operand, Cell) or differentiable(operand.aval)


def _dense(grad: Any) -> Any:
    """Return a gradient as a tensor: branches and iterations must agree on what a gradient is."""
    return grad if isinstance(grad, Tensor) else grad.__fg_tensor__()


# ---- cond -----------------------------------------------------------------------------------------------------------


def _cond_gradient(
    needs: tuple[bool, ...], dys: list[Any], pred: Tensor, operands: list[Any], outs: list[Any]
) -> dict[str, Any]:
    node, trace = outs[0].value.node, outs[0].trace
    sources = tuple([i for i, operand in enumerate(operands) if needs[i + 1] and _is_source(operand)])
    flowing = [i for i, dy in enumerate(dys) if dy is not None]
    graphs = [node.attrs["then_graph"], node.attrs["else_graph"]]
    derivatives = [derive(graph.trace, sources, tuple([graph.outputs[i] for i in flowing])) for graph in graphs]
    _save_branches(node, trace, derivatives, [pred, *operands])
    given = [dys[i] for i in flowing]
    connected = [any(derivative.structure[k] is not None for derivative in derivatives) for k in range(len(sources))]

    def branch(derivative: Derivative, graph: Graph) -> Callable[[], list[Any]]:
        position = {value: i for i, value in reversed(list(enumerate(graph.outputs)))}
        argument = dict(zip(derivative.forward.graph.inputs, operands, strict=True))

        def residual(value: Value) -> Any:
            return argument[value] if value in argument else trace.tensor(node.outputs[position[value]])

        def run() -> list[Any]:
            grads = derivative.apply(given, residual)
            return [
                zeros_of(operands[i]) if grad is None else _dense(grad)
                for i, grad, used in zip(sources, grads, connected, strict=True)
                if used
            ]

        return run

    outer = current_trace()
    then_trace, _ = traced(outer, branch(derivatives[0], node.attrs["then_graph"]), [], subgraph_name("cond_grad_true"))
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
    return node.outputs[0]


def _scalar(aval: Aval) -> Any:
    """The eager zero of a dtype: a constant's value, even while a trace is active."""
    return from_array(np.array(b"" if aval.dtype == dtypes.string else 0, aval.dtype.as_numpy_dtype), aval.dtype)


# ---- while ----------------------------------------------------------------------------------------------------------


def _while_gradient(
    needs: tuple[bool, ...], dys: list[Any], operands: list[Any], outs: list[Any]
) -> dict[str, list[Any]]:
    node, trace = outs[0].value.node, outs[0].trace
    n_carried = node.attrs["n_carried"]
    body = node.attrs["body_graph"]
    floating = [i for i in range(n_carried) if differentiable(body.inputs[i].aval)]
    invariants = [i for i in range(n_carried, len(operands)) if needs[i] and _is_source(operands[i])]
    stacked = [i for i in range(n_carried, len(dys)) if dys[i] is not None]
    outputs = tuple([body.outputs[i] for i in (*floating, *stacked)])
    derivative = derive(body.trace, (*floating, *invariants), outputs)
    rows = _Rows(node, trace, derivative, operands)
    argument = {value: operands[i] for i, value in enumerate(derivative.forward.graph.inputs) if i >= n_carried}
    trips = rows.trips()
    joined = node.attrs.get("joined", ())
    ends = {k: rows.ends(body.outputs[k]) for k in stacked if k in joined}
    for value in derivative.residuals:
        if value in rows.flattened and value not in rows.position:
            rows.ends(rows.flattened[value][0])

    start = [dys[i] if dys[i] is not None else zeros_of(outs[i]) for i in floating]
    carried_avals = [body.inputs[i].aval for i in floating]
    # A gradient of an invariant that no iteration uses is None, not zeros.
    made = dict(zip(invariants, derivative.structure[len(floating) :], strict=True))
    sparse = [i for i in invariants if _is_sparse(made[i])]
    used = [i for i in invariants if made[i] is not None and i not in sparse]
    sums = [zeros_of(operands[i]) for i in used]

    def test(i: Tensor, *_: object) -> Any:
        return i > 0

    def step(i: Tensor, *values: Tensor) -> list[Any]:
        at = i - 1
        d_carried, totals = values[: len(floating)], values[len(floating) :]

        def residual(value: Value) -> Any:
            if value in argument:
                return argument[value]
            if body.trace.shapes.get(value) in argument:
                return get_slot("shape")(argument[body.trace.shapes[value]])
            return rows.row(value, at)

        d_rows = [_piece(dys[k], ends[k], at) if k in ends else gathering.gather(dys[k], at) for k in stacked]
        grads = derivative.apply([*d_carried, *d_rows], residual)
        next_carried = [
            get_slot("zeros_like")(before) if grad is None else _dense(grad)
            for before, grad in zip(d_carried, grads[: len(floating)], strict=True)
        ]
        found = dict(zip(invariants, grads[len(floating) :], strict=True))
        slices = [part for k in sparse for part in (found[k].values, found[k].indices)]
        return [at, *next_carried, *[total + _dense(found[k]) for total, k in zip(totals, used, strict=True)], *slices]

    outer = current_trace()
    begin = [trips, *start, *sums]
    avals = [trips.aval.without_value(), *carried_avals, *[tensor.aval.without_value() for tensor in sums]]
    own = [(Aval(aval.dtype, aval.shape), f"loop_var_{k}") for k, aval in enumerate(avals)]
    test_trace, _ = traced(outer, test, own, subgraph_name("while_grad_cond"))
    body_trace, _ = traced(outer, step, own, subgraph_name("while_grad_body"))
    results = make_while(test_trace, body_trace, begin)
    grads: list[Any] = [None] * len(operands)
    for i, grad in zip((*floating, *used), results[1 : len(begin)], strict=True):
        grads[i] = grad
    for n, i in enumerate(sparse):
        values, indices = results[len(begin) + 2 * n : len(begin) + 2 * n + 2]
        grads[i] = _joined_slices(values, indices, operands[i])
    return {"operands": grads}


def _is_sparse(grad: object) -> bool:
    """Return whether an iteration's gradient is so many rows of a tensor: these are stacked, nothing is summed."""
    return isinstance(grad, IndexedSlices) and bool(grad.values.shape.rank) and grad.values.shape[0] is not None


def _joined_slices(values: Tensor, indices: Tensor, operand: Tensor | Cell) -> Any:
    """The gradient of `operand` from the rows of all iterations, stacked by iteration: added up once, not each time."""
    if isinstance(operand, Cell):
        dense_shape = convert(operand.aval.shape, dtypes.int32)
    else:
        dense_shape = get_slot("shape")(operand)
    rows = movement.reshape(indices, [-1])
    flat = movement.reshape(values, joining.concat([get_slot("shape")(rows), dense_shape[1:]], 0))
    flat.set_shape([None, *values.shape[2:]])
    return _dense(IndexedSlices(flat, rows, dense_shape))


class _Rows:
    """The values that a loop saves of each iteration for its gradient, and how an iteration's part is found again.

    A residual with the same shape in every iteration is stacked. One whose size changes (it comes from an inner loop,
    or grows) is saved as a vector, end to end with those of the other iterations, and its shapes are stacked beside it.
    """

    def __init__(self, node: Node, trace: GraphTrace, derivative: Derivative, operands: Sequence[Any]) -> None:
        self.node, self.trace = node, trace
        n_carried = node.attrs["n_carried"]
        forward = derivative.forward
        body = extended(node.attrs["body_graph"], [])
        joined = list(node.attrs.get("joined", ()))
        fixed = set(forward.graph.inputs[n_carried:])
        fixed |= {value for value, of in forward.shapes.items() if of in fixed}
        wanted = [value for value in derivative.residuals if value not in fixed]
        steady = _steady(forward.graph, n_carried)
        trips = known_trips(node)
        avals: list[Aval] = []

        def save(value: Value, *, vector: bool = False) -> None:
            if value in body.outputs[n_carried:]:
                return
            if vector:
                joined.append(len(body.outputs))
            body.outputs.append(value)
            avals.append(Aval(value.aval.dtype, (None,) if vector else (trips, *(value.aval.shape or ()))))

        for value in wanted:
            if value in steady:
                save(value)
            else:
                flat, dims = _flattened(forward, body, value)
                save(flat, vector=True)
                save(dims)
        if not any(_is_empty(value) for value in body.outputs[n_carried:]):  # rows without elements tell how many
            save(body.add(CONST, (), {"value": from_array(np.zeros(0, np.bool_), dtypes.bool_)}).outputs[0])
        if avals:
            node.attrs = {**node.attrs, "body_graph": body}
            if joined:
                node.attrs["joined"] = tuple(joined)
            add_outputs(node, avals, trace, operands)
        self.position = {value: i for i, value in enumerate(body.outputs) if i >= n_carried}
        self.flattened = forward.flattened
        self._ends: dict[Value, Any] = {}

    def _tensor(self, value: Value) -> Any:
        return self.trace.tensor(self.node.outputs[self.position[value]])

    def trips(self) -> Any:
        """The number of iterations, i32[]."""
        joined = self.node.attrs.get("joined", ())
        found = [value for value, i in self.position.items() if i not in joined]
        # Rows without elements tell their shape, and no others are asked for.
        return get_slot("shape")(self._tensor(next(value for value in found if _is_empty(value))))[0]

    def row(self, value: Value, at: Any) -> Any:
        """The value in iteration `at`."""
        if value in self.position:
            return gathering.gather(self._tensor(value), at)
        flat, dims = self.flattened[value]
        shape = self._tensor(dims)[at]
        if value.aval.shape is None:
            shape = shape[: shape[_MOST_DIMENSIONS]]
        tensor = movement.reshape(_piece(self._tensor(flat), self.ends(flat), at), shape)
        tensor.set_shape(value.aval.shape)
        return tensor

    def ends(self, flat: Value) -> Any:
        """Return where the parts of a saved vector begin, and where the last one ends, i32[trips + 1].

        It is made in the trace round the loop, where it is first asked for: once, and not in every iteration.
        """
        if flat not in self._ends:
            value, dims = next((value, dims) for value, (vector, dims) in self.flattened.items() if vector is flat)
            shapes = self._tensor(dims)
            whole = shapes[:, :_MOST_DIMENSIONS] if value.aval.shape is None else shapes
            lengths = scans.cumsum(reduction.reduce_prod(whole, axis=1))
            self._ends[flat] = joining.concat([convert([0], dtypes.int32), lengths], 0)
        return self._ends[flat]


def _is_empty(row: Value) -> bool:
    return row.aval.dtype == dtypes.bool_ and row.aval.shape == (0,)


def _piece(joined: Tensor, ends: Tensor, at: Tensor) -> Any:
    """The part of `joined` that iteration `at` put there."""
    return joined[ends[at] : ends[at + 1]]


def _flattened(forward: GraphTrace, body: Graph, value: Value) -> tuple[Value, Value]:
    """Return `value` as a vector and its shape, made in the body (once) and known to later derivatives of it."""
    found = forward.flattened.get(value)
    if found is None:
        graph = forward.graph
        vector = graph.add(get("reshape"), (value,), {"shape": (-1,)})
        if value.aval.shape is None:
            dims = _padded_shape(forward, value)
        else:
            dims = graph.add(get("shape"), (value,), {"out_type": dtypes.int32}).outputs[0]
        found = forward.flattened[value] = vector.outputs[0], dims
    for made in found:
        _with(body, made)
    return found


def _padded_shape(forward: GraphTrace, value: Value) -> Value:
    """Return the shape of a tensor of unknown rank in as many numbers as any has, filled up by ones, and its rank."""
    with entering(forward):
        dims = get_slot("shape")(forward.tensor(value))
        ones = convert(np.ones(_MOST_DIMENSIONS, np.int32))
        padded = joining.concat([dims, ones], 0)[:_MOST_DIMENSIONS]
        whole = joining.concat([padded, get_slot("shape")(dims)], 0)
        whole.set_shape([_MOST_DIMENSIONS + 1])
    found: Value = whole.value
    return found


def _with(body: Graph, value: Value) -> None:
    """Have the graph `body` compute `value`, by nodes of the graph that it is made of."""
    there = set(body.nodes)

    def add(node: Node) -> None:
        if node not in there:
            there.add(node)
            for each in node.inputs:
                add(each.node)
            body.nodes.append(node)

    add(value.node)


def _steady(graph: Graph, n_carried: int) -> set[Value]:
    """Return the values of a loop's body that have the same shape in every iteration.

    Unknown sizes of the body's inputs are given numbers (different ones, or, where that does not fit, one); what is
    then known, while the loop variables keep their shapes, is the same in every iteration.
    """
    for number in (itertools.count(1_000_003, 1_000), itertools.repeat(1_000_003)):
        table: dict[Value, Aval] = {}
        for value in graph.inputs:
            shape = value.aval.shape
            if shape is not None:
                shape = tuple([next(number) if size is None else size for size in shape])
            table[value] = Aval(value.aval.dtype, shape)
        try:
            for node in graph.nodes:
                if node.op.name != "placeholder":
                    avals = infer(node.op, [table[value] for value in node.inputs], node.attrs)
                    if node.op.name == "while":  # how often it iterates may be known, and never follows from `number`
                        avals = tuple([_counted(a, v.aval) for a, v in zip(avals, node.outputs, strict=True)])
                    table.update(zip(node.outputs, avals, strict=True))
        except (TypeError, ValueError):
            continue
        if all(
            table[before] == table[after]
            for before, after in zip(graph.inputs[:n_carried], graph.outputs[:n_carried], strict=True)
        ):
            return {value for value, aval in table.items() if aval.is_static}
        break
    return {value for node in graph.nodes for value in node.outputs if value.aval.is_static}


def _counted(rows: Aval, known: Aval) -> Aval:
    """Return what is inferred of a loop's result, with its first extent as it is known."""
    if rows.shape and rows.shape[0] is None and known.shape:
        return Aval(rows.dtype, (known.shape[0], *rows.shape[1:]))
    return rows


rules["cond"] = _cond_gradient
rules["while"] = _while_gradient
