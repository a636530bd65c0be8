"""vectorized_map, and the walk of a tape for many cotangents at once: a graph of one element, run for all of them.

Rule: a node is applied once to all elements by its batching rule (`batching_rules.py`); one without a rule is applied
to one element after the other, it alone. What no element changes is computed once; random ops draw anew for each
element.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fastgraph._tape import record_operation, stop_recording
from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.base.shapes import Aval
from fastgraph.core.registry import register_public
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import Tensor, bind, convert, current_trace, register_slot
from fastgraph.graph import batching_rules
from fastgraph.graph.batching_rules import Application, NoRule, Unbatched, moved, spread
from fastgraph.graph.control_flow import cond
from fastgraph.graph.differentiate import entering
from fastgraph.graph.interpreter import deref
from fastgraph.graph.ir import Graph, Node, Value, subgraphs
from fastgraph.graph.map_and_scan import stacked_loop
from fastgraph.graph.structural_ops import backward_function
from fastgraph.graph.subgraphs import as_tensor, make_while, subgraph_name, traced
from fastgraph.graph.trace import GraphTrace
from fastgraph.ops.creation import range_, zeros
from fastgraph.ops.elementwise import cast, identity
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import stack, unstack
from fastgraph.ops.movement import shape
from fastgraph.ops.reduction import reduce_sum


class Part(NamedTuple):
    """A value of the graph while it is run: one tensor for all elements, or theirs along the first axis."""

    tensor: Any
    batched: bool


_PER_ELEMENT = frozenset({"draw"})
_SIZES = frozenset({"shape", "size", "rank"})


def _draws(graph: Graph) -> bool:
    """Return whether a graph has random ops: its results then differ from element to element."""
    return any(
        node.op.name in _PER_ELEMENT or any(_draws(inner) for inner, _ in subgraphs(node)) for node in graph.nodes
    )


class Run:
    """One graph run for n elements (an int, or i32[] in a trace)."""

    def __init__(self, n: Any, loops: bool = True) -> None:
        self.n = n
        self.loops = loops
        self.draws: dict[int, tuple[Any, Any]] = {}  # id of batched states -> (these, the first)

    def graph(self, graph: Graph, arguments: Sequence[Part]) -> list[Part]:
        """The outputs of `graph` on arguments for its parameters."""
        table: dict[Value, Part] = dict(zip(graph.parameters, arguments, strict=True))
        keeps = any(node.op.name == "custom_gradient_identity" for node in graph.nodes)
        last: dict[Value, Node] = {}
        for node in graph.nodes:
            last.update(dict.fromkeys(node.inputs, node))
        kept = set(graph.outputs)
        for node in graph.nodes:
            if node.op.name == "placeholder":
                continue
            if node.op.name == "custom_gradient_identity":
                results = self._custom(node, graph.trace, table)
            else:
                results = self.node(node, [table[value] for value in node.inputs])
            table.update(zip(node.outputs, results, strict=True))
            if not keeps:
                for value in node.inputs:
                    if last[value] is node and value not in kept:
                        table.pop(value, None)
        return [table[value] for value in graph.outputs]

    def node(self, node: Node, parts: Sequence[Part]) -> list[Part]:
        """The results of one node."""
        name = node.op.name
        if name == "const":
            trace = current_trace()
            value = node.attrs["value"]
            return [Part(value if trace is None else trace.constant(value), False)]
        if name == "draw" and self.n is not None:
            return [self._draw(node, parts)]
        if name in _STRUCTURAL:
            try:
                return _STRUCTURAL[name](self, node, parts)
            except NoRule:
                return self._looped(node, parts)
        if not any(part.batched for part in parts):
            made = bind(node.op, tuple([part.tensor for part in parts]), node.attrs)
            return [Part(tensor, False) for tensor in self._several(node, made)]
        rule = batching_rules.rules.get(name) or batching_rules.FAMILIES.get(node.op.family)
        try:
            if name == "random_numbers":
                return [self._numbers(node, parts[0].tensor)]
            if rule is None:
                raise NoRule
            application = Application(node, [p.tensor for p in parts], [p.batched for p in parts], self.n)
            made = rule(application)
        except NoRule:
            if not self.loops:
                raise ValueError(
                    f"No batching rule for the op {node.op.op_type} of these arguments: {node!r}"
                ) from None
            return self._looped(node, parts)
        if isinstance(made, Unbatched):
            return [Part(made.tensor, False)]
        return [Part(tensor, True) for tensor in self._several(node, made)]

    def _several(self, node: Node, made: Any) -> Sequence[Any]:
        if node.op.n_outputs == 1:
            return [made]
        return () if made is None else list(made)

    def full(self, part: Part, aval: Aval) -> Any:
        """The tensor with a first axis of all elements."""
        return part.tensor if part.batched or self.n is None else spread(part.tensor, aval, self.n)

    # -- one element after the other

    def _looped(self, node: Node, parts: Sequence[Part]) -> list[Part]:
        def one(i: Tensor) -> list[Any]:
            return alone([Part(gather(p.tensor, i), False) if p.batched else p for p in parts])

        def alone(taken: list[Part]) -> list[Any]:
            return [part.tensor for part in Run(None).node(node, taken)]

        if current_trace() is not None:
            made = stacked_loop(self.n, lambda i: ((), one(i)), (), "elements")[1]
            return [Part(tensor, True) for tensor in made]
        columns = [unstack(p.tensor, self.n) if p.batched and self.n else [p.tensor] * self.n for p in parts]
        rows = [alone([Part(column[i], False) for column in columns]) for i in range(self.n)]
        if not rows:
            return [Part(_none_of(value.aval), True) for value in node.outputs]
        return [Part(stack(list(column)), True) for column in zip(*rows, strict=True)]

    # -- random numbers

    def _draw(self, node: Node, parts: Sequence[Part]) -> Part:
        """States for all elements from one draw: each its own blocks of the sequence."""
        cell, blocks = parts[0].tensor, parts[1].tensor
        if parts[1].batched:
            raise NotImplementedError("vectorized_map: how many random numbers are drawn depends on the element")
        n = convert(self.n, dtypes.int64) if isinstance(self.n, int) else cast(self.n, dtypes.int64)
        first = bind(node.op, (cell, n * blocks), node.attrs)
        counters = cast(range_(self.n), dtypes.int64) * blocks
        states = stack([counters + first[0], counters * 0 + first[1], counters * 0 + first[2]], axis=1)
        self.draws[id(states)] = (states, first)
        return Part(states, True)

    def _numbers(self, node: Node, states: Tensor) -> Part:
        """The numbers of all elements in one go, from the first state: it has blocks enough for all."""
        _, first = self.draws.get(id(states), (None, None))
        if first is None or not isinstance(self.n, int):
            raise NoRule
        return Part(bind(node.op, (first,), {**node.attrs, "shape": (self.n, *node.attrs["shape"])}), True)

    # -- structure

    def _call(self, node: Node, parts: Sequence[Part]) -> list[Part]:
        return self.graph(node.attrs["graph"], parts)

    def _cond(self, node: Node, parts: Sequence[Part]) -> list[Part]:
        """One branch for all elements. Raises NoRule where the predicate differs from element to element."""
        if parts[0].batched:
            raise NoRule
        graphs = (node.attrs["then_graph"], node.attrs["else_graph"])
        batched = self.n is not None and (any(part.batched for part in parts) or any(map(_draws, graphs)))

        def branch(graph: Graph) -> Callable[[], list[Any]]:
            def run() -> list[Any]:
                made = self.graph(graph, parts[1:])
                if not batched:
                    return [part.tensor for part in made]
                return [self.full(part, value.aval) for part, value in zip(made, graph.outputs, strict=True)]

            return run

        if not node.outputs:  # effects alone: cond needs something to return
            cond(parts[0].tensor, lambda: [*branch(graphs[0])(), 0], lambda: [*branch(graphs[1])(), 0])
            return []
        return [Part(tensor, batched) for tensor in cond(parts[0].tensor, branch(graphs[0]), branch(graphs[1]))]

    def _while(self, node: Node, parts: Sequence[Part]) -> list[Part]:
        """One loop over all elements. Raises NoRule where these go round differently often."""
        n_carried = node.attrs["n_carried"]
        test, body = node.attrs["cond_graph"], node.attrs["body_graph"]
        flags = [part.batched for part in parts]
        while True:
            after = self._flow(body, flags)
            wider = [a or b for a, b in zip(flags[:n_carried], after[:n_carried], strict=True)]
            if wider == flags[:n_carried]:
                break
            flags[:n_carried] = wider
        if self._flow(test, flags)[0] or (node.attrs.get("joined") and self.n is not None):
            raise NoRule
        row_flags = after[n_carried:]
        start = [
            self.full(part, value.aval) if flag else part.tensor
            for part, flag, value in zip(parts[:n_carried], flags, body.inputs, strict=False)
        ]

        def goes_on(*carried: object) -> Any:
            given = [*map(Part, carried, flags[:n_carried]), *parts[n_carried:]]
            return self.graph(test, given)[0].tensor

        def step(*carried: object) -> list[Any]:
            made = self.graph(body, [*map(Part, carried, flags[:n_carried]), *parts[n_carried:]])
            wanted = [*flags[:n_carried], *row_flags]
            return [
                self.full(part, value.aval) if flag else part.tensor
                for part, flag, value in zip(made, wanted, body.outputs, strict=True)
            ]

        carried, rows = self._loop(goes_on, step, start, flags, body)
        stacks = [
            Part(moved(tensor, 1, 0) if flag else tensor, flag) for tensor, flag in zip(rows, row_flags, strict=True)
        ]
        return [*map(Part, carried, flags[:n_carried]), *stacks]

    def _loop(
        self,
        goes_on: Callable[..., Any],
        step: Callable[..., list[Any]],
        start: list[Any],
        flags: list[bool],
        body: Graph,
    ) -> tuple[list[Any], list[Any]]:
        """The last carried values, and what the iterations give besides, stacked."""
        trace = current_trace()
        n_carried = len(start)
        if trace is not None:
            n = self.n if isinstance(self.n, int) else None
            own = []
            for value, flag in zip(body.inputs[:n_carried], flags, strict=False):
                dims = value.aval.shape
                dims = (n, *dims) if flag and dims is not None else dims
                own.append((Aval(value.aval.dtype, dims), "loop_var"))
            test_trace, _ = traced(trace, goes_on, own, subgraph_name("while_cond"))
            body_trace, _ = traced(trace, step, own, subgraph_name("while_body"))
            outputs = make_while(test_trace, body_trace, start)
            return list(outputs[:n_carried]), list(outputs[n_carried:])
        carried = start
        rows: list[list[Any]] = []
        while bool(goes_on(*carried)):
            made = step(*carried)
            carried = made[:n_carried]
            rows.append(made[n_carried:])
        if rows or len(body.outputs) == n_carried:
            return carried, [stack(list(column)) for column in zip(*rows, strict=True)]
        if self.n is not None:
            raise NoRule  # no iteration, and rows wanted: each element's own loop knows what they are
        return carried, [_none_of(value.aval) for value in body.outputs[n_carried:]]

    def _flow(self, graph: Graph, flags: Sequence[bool]) -> list[bool]:
        return _flow(graph, flags) if self.n is not None else [False] * len(graph.outputs)

    # -- custom gradients

    def _custom(self, node: Node, forward: GraphTrace, table: dict[Value, Part]) -> list[Part]:
        """The values; their gradient is the custom one, run for all elements."""
        n_outputs, several = node.attrs["n_outputs"], self.n is not None
        parts = [table[value] for value in node.inputs]
        outputs = [self.full(parts[i], node.inputs[i].aval) for i in range(n_outputs)]
        inputs = parts[n_outputs:]

        def backward(*dys: object) -> list[Any]:
            trace = GraphTrace(f"{forward.graph.name}_backward", parent=forward, kind="backward")
            given = [trace.add_input(value.aval.without_value(), "grad") for value in node.outputs]
            with entering(trace):
                grads = [_dense(grad) for grad in backward_function(node.attrs["key"])(*given)]
                found = [trace.identity(convert(grad)) for grad in grads if grad is not None]
            graph = trace.finish(found)
            held = [Part(each, False) for each in deref([held for held, _ in graph.captures])]
            made = iter(
                self.graph(graph, [*[Part(dy, several) for dy in dys], *[table[v] for v in trace.residuals], *held])
            )
            result: list[Any] = []
            for grad, part in zip(grads, inputs, strict=True):
                if grad is None:
                    result.append(None)
                    continue
                one = next(made)
                full = self.full(one, grad.aval)
                result.append(full if part.batched or not several else reduce_sum(full, 0))
            return result

        tensors = [part.tensor for part in inputs]
        outer = current_trace()
        if outer is not None:
            return [Part(tensor, several) for tensor in outer.custom_gradient(outputs, tensors, backward)]
        with stop_recording():
            outputs = [identity(tensor) for tensor in outputs]
        record_operation(node.op.name, tensors, outputs, backward)
        return [Part(tensor, several) for tensor in outputs]


_STRUCTURAL: dict[str, Callable[[Run, Node, Sequence[Part]], list[Part]]] = {
    "call": Run._call,
    "cond": Run._cond,
    "while": Run._while,
}


def _stackable(leaf: Any) -> Any:
    """`leaf` as what elements are stacked of: rows of other places cannot be, so IndexedSlices become dense."""
    return convert(leaf) if isinstance(leaf, IndexedSlices) else as_tensor(leaf)


def _none_of(aval: Aval) -> Any:
    """A stack of no tensors like this one; of sizes that are not known, 0."""
    return zeros([0, *[size or 0 for size in aval.shape or ()]], aval.dtype)


def _dense(grad: object) -> Any:
    return grad if grad is None or isinstance(grad, Tensor) else convert(grad)


def _flow(graph: Graph, flags: Sequence[bool]) -> list[bool]:
    """Return which outputs of a graph differ from element to element, if those parameters do."""
    differs = {value for value, flag in zip(graph.parameters, flags, strict=True) if flag}
    for node in graph.nodes:
        draws = node.op.name in _PER_ELEMENT or any(_draws(inner) for inner, _ in subgraphs(node))
        follows = node.op.name not in _SIZES and any(value in differs for value in node.inputs)
        if draws or follows or node.op.name == "custom_gradient_identity":
            differs.update(node.outputs)
    return [value in differs for value in graph.outputs]


# ---- Tracing one element --------------------------------------------------------------------------------------------


def _begin(name: str) -> GraphTrace:
    """A trace for one element: in a trace a part of it, in eager mode on its own."""
    outer = current_trace()
    if outer is not None:
        trace = GraphTrace(subgraph_name(name), parent=outer, kind="branch")
        trace.random_ops = outer.random_ops  # its ops will stand in the graph around it
        return trace
    trace = GraphTrace(name)
    trace.draws_eagerly = True
    return trace


def _outside(trace: GraphTrace) -> list[Part]:
    """Return what a finished trace uses from outside, for its parameters after its own inputs."""
    if trace.kind == "branch":
        return [Part(tensor, False) for tensor in trace.operands]
    return [Part(tensor, False) for tensor in deref([held for held, _ in trace.graph.captures])]


def _let_go(trace: GraphTrace) -> None:
    """Give up what a trace of eager mode captured: trace and graph refer to one another, and would keep it."""
    if trace.kind != "branch":
        trace.graph.captures.clear()


def vectorized_map(
    fn: Callable[[Any], Any], elems: object, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """Apply `fn` to each element of `elems` along the first axis, all at once: t[n, *s] -> u[n, *r].

    `fn` is traced for one element, and each op in it becomes one op on all elements; one that cannot (it is said once
    for each op if `warn`) is applied to one after the other, or raises ValueError without `fallback_to_while_loop`. A
    first axis of 1 stands for the same element n times. IndexedSlices among the results become dense. Random ops draw
    for each element; Variables are read once. The result can be differentiated. Raises ValueError for scalars and for
    numbers of elements that differ.
    Source: tf.vectorized_map.
    """
    if not callable(fn):
        raise TypeError(f"vectorized_map: fn should be a callable object, got {fn!r}")
    flat = [as_tensor(leaf) for leaf in nesting.flatten(elems, expand_composites=True)]
    n = _number(flat)
    parts = []
    for tensor in flat:
        same = tensor.shape[0] == 1 and n != 1
        parts.append(Part(gather(tensor, 0), False) if same else Part(tensor, True))
    trace = _begin("vectorized_map")
    with entering(trace):
        arguments = [
            trace.add_input(Aval(tensor.dtype, tuple(tensor.aval.shape[1:])), f"element_{i}")
            for i, tensor in enumerate(flat)
        ]
        result = fn(nesting.pack_sequence_as(elems, arguments, expand_composites=True))
        result = nesting.map_structure(_stackable, result)
        leaves = [leaf for leaf in nesting.flatten(result, expand_composites=True) if leaf is not None]
        values = [trace.value_of(leaf) for leaf in leaves]
    graph = trace.finish(values)
    run = Run(n, fallback_to_while_loop)
    if warn and fallback_to_while_loop:
        _warn(graph)
    made = run.graph(graph, [*parts, *_outside(trace)])
    _let_go(trace)
    full = iter([run.full(part, value.aval) for part, value in zip(made, graph.outputs, strict=True)])
    packed = [None if leaf is None else next(full) for leaf in nesting.flatten(result, expand_composites=True)]
    return nesting.pack_sequence_as(result, packed, expand_composites=True)


def _number(flat: Sequence[Any]) -> Any:
    """Return the number of elements: an int, or i32[]."""
    if not flat:
        raise ValueError("vectorized_map: elems should contain a tensor")
    known = set()
    for tensor in flat:
        if tensor.shape.rank is None:
            raise ValueError("vectorized_map: the rank of each of elems must be known")
        if tensor.shape.rank == 0:
            raise ValueError("vectorized_map: elements in elems must be 1+ dimensional Tensors, not scalars")
        known.add(tensor.shape[0])
    counts = known - {1, None}
    if len(counts) > 1:
        raise ValueError(f"vectorized_map: elems have different numbers of elements: {sorted(counts)}")
    if counts:
        return counts.pop()
    if None in known:
        return shape(next(tensor for tensor in flat if tensor.shape[0] is None))[0]
    return 1


_warned: set[str] = set()


def _warn(graph: Graph) -> None:
    """Say once for each op that it is applied to one element after the other."""
    for node in graph.nodes:
        name = node.op.name
        known = (
            name in batching_rules.rules
            or node.op.family in batching_rules.FAMILIES
            or name in _STRUCTURAL
            or not node.inputs
        )
        if known or name in _warned or name in ("draw", "random_numbers", "read_variable", "custom_gradient_identity"):
            continue
        _warned.add(name)
        warnings.warn(
            f"vectorized_map: {node.op.op_type} has no batching rule and is applied to one element after the other"
            + (f" ({node.source[0]})" if node.source else ""),
            stacklevel=3,
        )


# ---- A tape's walk for many cotangents ------------------------------------------------------------------------------


def walk(cotangents: Callable[[Any], list[Any]], target: Any, seeds: object, n: object) -> list[Any]:
    """The gradients for each of n cotangents of `target`, in one walk: seeds t[n, *target] -> g[n, *source] or None."""
    trace = _begin("jacobian")
    with entering(trace):
        seed = trace.add_input(target.aval.without_value(), "seed")
        found = [_dense(grad) for grad in cotangents(seed)]
        values = [trace.value_of(grad) for grad in found if grad is not None]
    graph = trace.finish(values)
    run = Run(n)
    made = run.graph(graph, [Part(seeds, True), *_outside(trace)])
    _let_go(trace)
    full = iter([run.full(part, value.aval) for part, value in zip(made, graph.outputs, strict=True)])
    return [None if grad is None else next(full) for grad in found]


register_slot("vectorized_walk", walk)
register_public(vectorized_map, "vectorized_map")
