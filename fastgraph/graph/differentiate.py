"""Backward graphs: the gradient of a graph that was traced, as another graph over its residuals.

Rule: a backward graph is traced with the forward trace as its parent. Whatever a vjp asks for of the forward values is
captured as a residual; the forward graph is then given these residuals as further outputs. Nothing is traced twice, and
the gradients' own nodes are ordinary nodes, so that they can be differentiated again.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Collection, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from fastgraph._tape import ForwardRecorder, Tape
from fastgraph.core.base import nesting
from fastgraph.core.base.deferred_signals import Untraced
from fastgraph.core.base.shapes import Aval
from fastgraph.core.native.buffer import Cell
from fastgraph.core.registry import get, public_function, register_public
from fastgraph.core.tape.gradient_tape import UnconnectedGradients
from fastgraph.core.tensor import bind, convert, current_state, current_trace, get_slot
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graph.structural_ops import CALL, rules
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.graph.trace import GraphTrace
from fastgraph.state.resource_handles import ResourceHandle


@contextmanager
def entering(trace: GraphTrace | None) -> Any:
    """Bind this thread's ops to `trace` inside the block; tapes from outside do not see them.

    What the nodes of enclosing traces are given besides inside (`add_outputs`) the tapes are told afterwards. Handlers
    of signals are in none of the traces.
    """
    state = current_state()
    before = state.trace, state.tapes, state.extra.get("added")
    scope = state.extra.get("name_scope", "")
    added: list[tuple[Node, int, GraphTrace, Sequence[Any]]] = []
    with Untraced(state) if trace is not None and state.trace is None else nullcontext():
        if trace is not None:
            state.extra["name_scope"] = trace.scope
        state.trace, state.tapes = trace, []
        state.extra["added"] = added if trace is not None and trace.parent is not None else None
        try:
            yield trace
        finally:
            state.trace, state.tapes, state.extra["added"] = before
            state.extra["name_scope"] = scope
            for each in added:
                _tell_tapes(*each)


def differentiable(aval: Aval) -> bool:
    """Return whether cotangents flow through values of this type."""
    return aval.dtype.is_floating or aval.dtype.is_complex


def zeros_of(operand: object) -> Any:
    """Return zeros for an operand that nothing differentiated uses: a tensor, or a Variable's cell."""
    if isinstance(operand, Cell):
        operand = bind(get("read_variable"), (operand,), {"dtype": operand.aval.dtype, "shape": operand.aval.shape})
    return get_slot("zeros_like")(operand)


class Derivative:
    """The backward graph of a forward graph, for some of its parameters and outputs.

    `graph` takes the cotangents of `outputs` (values of the forward graph), then the residuals (`residuals`: such
    values too), then its own captures. `apply` gives one gradient, or None, for each parameter at `sources`.
    """

    def __init__(self, forward: GraphTrace, sources: tuple[int, ...], outputs: tuple[Value, ...]) -> None:
        self.forward = forward
        self.sources = sources
        self.outputs = outputs
        graph = forward.graph
        trace = GraphTrace(f"{graph.name}_backward", parent=forward, kind="backward")
        dys = [trace.add_input(value.aval.without_value(), f"grad_{value.node.name}") for value in outputs]
        parameters = graph.parameters
        wanted = [_handle(forward, parameters[i]) for i in sources]
        tape = replay(forward, wanted)
        with entering(trace):
            grads = tape.finish([forward.tensor(value) for value in outputs], wanted, list(dys), False)
            self.structure = grads
            flat = [leaf for leaf in nesting.flatten(grads, expand_composites=True) if leaf is not None]
            values = [trace.identity(convert(leaf)) for leaf in flat]
        self.graph = trace.finish(values)
        self.residuals = trace.residuals
        if forward.kind == "branch":
            self._save_shapes(len(dys))

    def _save_shapes(self, first: int) -> None:
        """Let a shape be the residual where only the shape of one is asked for: a list is not kept for it."""
        graph, forward = self.graph, self.forward
        for k, residual in enumerate(self.residuals):
            given = graph.inputs[first + k]
            users = [node for node in graph.nodes if given in node.inputs]
            if residual.aval.shape is None or residual.aval.is_static or given in graph.outputs or not users:
                continue
            kinds = {node.attrs.get("out_type") for node in users}
            if any(node.op.name != "shape" for node in users) or len(kinds) != 1:
                continue
            saved = next((s for s, of in forward.shapes.items() if of is residual and s.aval.dtype in kinds), None)
            if saved is None:
                saved = forward.graph.add(users[0].op, (residual,), users[0].attrs).outputs[0]
                forward.shapes[saved] = residual
            self.residuals[k] = saved
            given.aval = saved.aval.without_value()
            given.node.attrs = {**given.node.attrs, "dtype": given.aval.dtype, "shape": given.aval.shape}
            gone = {node.outputs[0] for node in users}
            graph.nodes[:] = [node for node in graph.nodes if node not in users]
            for node in graph.nodes:
                node.inputs = tuple([given if value in gone else value for value in node.inputs])
            graph.outputs[:] = [given if value in gone else value for value in graph.outputs]

    def apply(self, dys: Sequence[Any], residual: Callable[[Value], Any]) -> list[Any]:
        """Return the gradients for these cotangents, in the active trace; `residual` gives the tensor of a value."""
        operands = [*dys, *[residual(value) for value in self.residuals], *self.captured()]
        return self.pack(list(bind(CALL, tuple(operands), {"graph": self.graph})))

    def captured(self) -> list[Any]:
        """Return what the backward graph itself captures: tensors and Cells."""
        return [held() if isinstance(held, weakref.ref) else held for held, _ in self.graph.captures]

    def pack(self, results: Sequence[Any]) -> list[Any]:
        """Return the outputs of the backward graph as one gradient, or None, for each source."""
        leaves = iter(results)
        flat = [
            None if leaf is None else next(leaves) for leaf in nesting.flatten(self.structure, expand_composites=True)
        ]
        packed: list[Any] = nesting.pack_sequence_as(self.structure, flat, expand_composites=True)
        return packed

    def saved(self) -> list[Value]:
        """Return the residuals that the forward graph must give besides: those that are not its parameters."""
        parameters = set(self.forward.graph.parameters)
        return [value for value in self.residuals if value not in parameters]


def _handle(trace: GraphTrace, value: Value) -> Any:
    """The tensor of a value, or the Cell of a captured resource; of a freed one, its symbolic stand-in."""
    handle = trace.handle(value)
    return trace.tensor(value) if handle is None else handle


def replay(forward: GraphTrace, sources: Sequence[Any]) -> Any:
    """Return a tape that has seen the forward graph's nodes."""
    return _replayed([(forward, lambda value: _handle(forward, value))], sources)


def _replayed(
    traces: Sequence[tuple[GraphTrace, Callable[[Value], Any]]], sources: Sequence[Any], stopped: Collection[Value] = ()
) -> Any:
    """Return a tape that watches `sources` and has seen the nodes of traces, as `_note` tells them."""
    tape = Tape(False, False)
    tape.of_graph = True
    with entering(None), tape:
        for source in sources:
            tape.watch_one(source)
        for trace, handle in traces:
            _note(tape, trace, handle, stopped)
    return tape


def _note(tape: Any, trace: GraphTrace, handle: Callable[[Value], Any], stopped: Collection[Value]) -> None:
    """Tell a tape of the nodes of a trace, their inputs being what `handle` gives; `stopped` outputs are constants."""
    for node in trace.graph.nodes:
        if not node.inputs or not node.outputs:
            continue
        outputs = [SymbolicTensor(value, trace) if value in stopped else trace.tensor(value) for value in node.outputs]
        tape.note_python(node.op, tuple([handle(value) for value in node.inputs]), node.attrs, tuple(outputs))


def derive(forward: GraphTrace, sources: tuple[int, ...], outputs: tuple[Value, ...]) -> Derivative:
    """Return the derivative of `outputs` with respect to the parameters at `sources`, made once."""
    key = (sources, outputs)
    found: Derivative | None = forward.derivatives.get(key)
    if found is not None:
        return found
    extra = current_state().extra
    depth = extra.get("n_derivatives", 0)
    if depth == MOST_NESTED:
        raise _TooDeep(forward, sources, outputs)
    waiting = [(forward, sources, outputs)]
    while waiting:
        extra["n_derivatives"] = depth + 1
        try:
            trace, *what = waiting[-1]
            found = trace.derivatives[tuple(what)] = Derivative(*waiting[-1])
            waiting.pop()
        except _TooDeep as deeper:
            if depth:
                raise
            waiting.append(deeper.wanted)
        finally:
            extra["n_derivatives"] = depth
    assert found is not None
    return found


#: How many derivatives are made inside of one another: those of deeper calls are made before, from the outermost, so
#: that Python's stack does not limit how deep Functions call one another.
MOST_NESTED = 40


class _TooDeep(BaseException):
    """A derivative that is to be made first. No handler of a gradient function's stops it."""

    def __init__(self, *wanted: Any) -> None:
        super().__init__()
        self.wanted = wanted


def closed(forward: GraphTrace, sources: tuple[int, ...], outputs: tuple[Value, ...]) -> Derivative:
    """Return the derivative of `outputs` and of all the residuals that it takes itself.

    A gradient of the gradient goes through the residuals as well: they are then outputs like the others.
    """
    every = outputs
    while True:
        derivative = derive(forward, sources, every)
        more = [value for value in derivative.saved() if value not in every and differentiable(value.aval)]
        if not more:
            return derivative
        every = (*every, *more)


def extended(graph: Graph, extra: Sequence[Value]) -> Graph:
    """Return a graph over the same nodes that gives the values `extra` as well."""
    result = Graph(graph.name)
    result.trace = graph.trace
    result.inputs, result.captures = list(graph.inputs), list(graph.captures)
    result.nodes, result.outputs = list(graph.nodes), [*graph.outputs, *extra]
    result._names = dict(graph._names)
    if graph.trace is not None:
        result.nodes += [value.node for value in graph.trace.shapes if value.node not in result.nodes]
    return result


def add_outputs(node: Node, avals: Sequence[Aval], trace: GraphTrace, handles: Sequence[Any]) -> None:
    """Give a node further results; those who use the first ones are not concerned.

    Tapes that have noted the node (applied to `handles`) are told of the new ones: a gradient of what is computed from
    them goes through the node too.
    """
    first = len(node.outputs)
    node.outputs += tuple([Value(node, first + i, aval) for i, aval in enumerate(avals)])
    _tell_tapes(node, first, trace, handles)


def _tell_tapes(node: Node, first: int, trace: GraphTrace, handles: Sequence[Any]) -> None:
    """Tell this thread's tapes, and later those around the trace, of the results of a node from `first` on."""
    state = current_state()
    if state.extra.get("added") is not None:
        state.extra["added"].append((node, first, trace, handles))
    # Forward mode takes each op when it is applied: once the trace is over, no op follows that would ask it.
    over = current_trace() is not trace
    tapes: list[Any] = [
        tape for tape in state.tapes if hasattr(tape, "follows") and not (over and isinstance(tape, ForwardRecorder))
    ]
    if not tapes:
        return
    # The first results stand in the record that the tape has; here they are others by the same name.
    outputs = [SymbolicTensor(value, trace) for value in node.outputs[:first]]
    outputs += [trace.tensor(value) for value in node.outputs[first:]]
    for tape in tapes:
        if any(tape.follows(handle) for handle in handles):
            tape.note_python(node.op, tuple(handles), node.attrs, tuple(outputs))


def _call_gradient(
    needs: tuple[bool, ...], dys: list[Any], operands: list[Any], outs: list[Any]
) -> dict[str, list[Any]]:
    """The gradient of a call: a call of the backward graph, the forward call giving the residuals besides."""
    node, trace = outs[0].value.node, outs[0].trace
    graph = node.attrs["graph"]
    forward = graph.trace
    derivative = derive(
        forward,
        tuple([i for i, needed in enumerate(needs) if needed]),
        tuple([graph.outputs[i] for i, dy in enumerate(dys) if dy is not None]),
    )
    missing = [value for value in derivative.saved() if value not in graph.outputs]
    if missing:
        node.attrs = {**node.attrs, "graph": extended(graph, missing)}
        add_outputs(node, [value.aval.without_value() for value in missing], trace, operands)
    position = {value: i for i, value in reversed(list(enumerate(node.attrs["graph"].outputs)))}
    argument = dict(zip(forward.graph.parameters, operands, strict=True))

    def residual(value: Value) -> Any:
        return argument[value] if value in argument else trace.tensor(node.outputs[position[value]])

    grads = derivative.apply([dy for dy in dys if dy is not None], residual)
    result: list[Any] = [None] * len(operands)
    for i, grad in zip(derivative.sources, grads, strict=True):
        result[i] = grad
    return {"operands": result}


rules["call"] = _call_gradient

# ---- tf.gradients: of a graph under construction --------------------------------------------------------------------


class AggregationMethod:
    """Ways in which `gradients` adds cotangents: names that change nothing here. Source: tf.AggregationMethod."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys: object,
    xs: object,
    grad_ys: object = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: object = None,
    stop_gradients: object = None,
    unconnected_gradients: object = UnconnectedGradients.NONE,
) -> list[Any]:
    """The gradients of the sum of `ys` with respect to each of `xs`, in a Function. Source: tf.gradients.

    ys, xs: a symbolic tensor (or Variable) or a list of them; grad_ys: cotangents of the ys (None: ones);
    stop_gradients: tensors that count as constants, xs among them as independent. An x that no y depends on has None,
    or zeros with unconnected_gradients "zero". `gate_gradients` and `aggregation_method` change nothing here.
    Raises RuntimeError in eager mode, TypeError for complex ys without their grad_ys.
    """
    trace: Any = current_trace()
    if trace is None:
        raise RuntimeError(
            "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead."
        )
    targets = [_origin(convert(y)) for y in nesting.flatten(ys)]
    leaves = nesting.flatten(xs)
    sources = [_origin(x) for x in leaves]
    seeds = [None] * len(targets) if grad_ys is None else nesting.flatten(grad_ys)
    if len(seeds) != len(targets):
        raise ValueError(f"gradients: {len(seeds)} grad_ys were given for {len(targets)} ys")
    for y, dy in zip(targets, seeds, strict=True):
        if dy is None and y.dtype.is_complex:
            raise TypeError(f"Gradients of complex tensors ({y!r}) must set grad_ys (y.dtype = {y.dtype.name})")
    seeds = [None if dy is None else convert(dy, y.dtype) for dy, y in zip(seeds, targets, strict=True)]
    stopped = {x.value for x in map(_origin, nesting.flatten(stop_gradients or [])) if isinstance(x, SymbolicTensor)}
    unconnected = UnconnectedGradients(unconnected_gradients)
    around: GraphTrace | None = trace
    traces: list[tuple[GraphTrace, Callable[[Value], Any]]] = []
    while around is not None:
        traces.insert(0, (around, around.origin))
        around = around.outer
    found = _replayed(traces, sources, stopped).finish(targets, sources, seeds, False)
    if unconnected is UnconnectedGradients.ZERO:
        zeros_like = get_slot("zeros_like")
        found = [zeros_like(convert(x)) if made is None else made for x, made in zip(leaves, found, strict=True)]
    return list(found)


def _origin(item: object) -> Any:
    """Return what stands for a tensor or Variable on the tape of `gradients`: its origin outside, or the Cell."""
    if isinstance(item, SymbolicTensor):
        return item.trace.origin(item.value)
    return item.cell if isinstance(item, ResourceHandle) else getattr(item, "__fg_cell__", item)


def hessians(
    ys: object, xs: object, gate_gradients: bool = False, aggregation_method: object = None, name: str = "hessians"
) -> list[Any]:
    """The second derivatives of the sum of `ys` for each of `xs`, in a Function: f[*s] -> f[*s, *s].

    Raises RuntimeError in eager mode, ValueError for an x whose shape is not known. Source: tf.hessians.
    """
    result = []
    for x, gradient in zip(nesting.flatten(xs), gradients(ys, xs), strict=True):
        shape = x.shape.as_list()
        if None in shape:
            raise ValueError(f"hessians: the shape of {x!r} must be known")
        n = math.prod(shape)
        reshape, stack = public_function("reshape"), public_function("stack")
        if gradient is None:
            result.append(public_function("zeros")([*shape, *shape], x.dtype))
            continue
        flat = reshape(gradient, [n])
        rows = [gradients(flat[i], x, unconnected_gradients="zero")[0] for i in range(n)]
        result.append(reshape(stack(rows), [*shape, *shape]))
    return result


for _function in (gradients, hessians):
    register_public(_function, _function.__name__)
register_public(AggregationMethod, "AggregationMethod")
