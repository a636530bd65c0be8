"""Graph -> Program: each node becomes part of a kernel or a step of its own, ordered by data and effects.

Rule: a Program depends on the graph and its witness shapes only; it contains no size that is known at run time alone.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeGuard, cast

from fastgraph.compiler.cpu.column_reductions import apply as down_columns
from fastgraph.compiler.cpu.emit import Emitted, emit
from fastgraph.compiler.cpu.op_renderer import FLOATS
from fastgraph.compiler.half_precision import is_by_pairs
from fastgraph.compiler.library import (
    bias_gradient,
    convolution,
    data_dependent_shapes,
    loop_kernels,
    scalar_loops,
    scatter_operands,
    segment_parts,
)
from fastgraph.compiler.library.kernel_source import Ordered
from fastgraph.compiler.library.register_blocks import Geometry
from fastgraph.compiler.library.sequential_ops import KINDS, ordered
from fastgraph.compiler.nest.canonicalize import FlatNest, arrange
from fastgraph.compiler.nest.cost_model import cost, operations
from fastgraph.compiler.nest.fusion import UPDATES, Cluster, Fusion, lowerable
from fastgraph.compiler.nest.scalar_ir import Scalar, walk
from fastgraph.compiler.nest.split_column_reductions import split_columns
from fastgraph.compiler.nest.split_reductions import few_at_a_time, split
from fastgraph.compiler.paired_products import is_served
from fastgraph.compiler.program.program import (
    PARTIAL_NODE,
    AliasStep,
    AssignStep,
    CondStep,
    DrawStep,
    DynamicStep,
    Fallible,
    GemmStep,
    HostStep,
    KernelStep,
    ListStep,
    Program,
    ReadStep,
    Size,
    Step,
    WhileStep,
)
from fastgraph.compiler.program.shape_inference import CannotPlan, infer_loop
from fastgraph.compiler.program.symbolic_extents import (
    FIRST_WITNESS,
    Witnesses,
    leaked,
    stand_ins,
    witness_avals,
)
from fastgraph.compiler.similar_clusters import Pattern
from fastgraph.compiler.step_order import LIST_STEPS, changes_rows, depends, in_order
from fastgraph.core.base import flags
from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.base.shapes import Aval, Shape
from fastgraph.core.native.matmul import vector_bits
from fastgraph.graph import ir
from fastgraph.graph.ir import Graph, Node, Value

#: Products of int32 that the executor computes: at least so many columns and multiplications.
LEAST_COLUMNS, LEAST_INTEGERS = 4, 512
#: Products of floats by a vector each that a loop nest computes: at least so many, of at most so many elements.
LEAST_VECTORS, MOST_ELEMENTS = 4, 4096
_SOURCES = frozenset({"placeholder", "const"})


def assemble(graph: Graph, shapes: Sequence[Shape], refused: Collection[Node] = ()) -> Program:
    """The Program of an optimised graph whose parameters have these (witness) shapes.

    `refused` are nodes that no kernel is to compute, because one that does cannot be compiled.
    """
    return Assembler(graph, witness_avals(graph, shapes), refused).run()


class Assembler:
    """Makes the Program of one graph. What another target does its own way is a method of its subclass."""

    def __init__(self, graph: Graph, known: Witnesses, refused: Collection[Node] = ()) -> None:
        self.graph = graph
        self.refused = refused
        self.opaque = known.opaque
        avals: Mapping[Value, Aval] = known.avals
        self.avals = avals
        self.values = [value for node in graph.nodes for value in node.outputs]
        self.number = {value: i for i, value in enumerate(self.values)}
        waits = ir.control_inputs(graph.nodes)
        before = {node: [graph.nodes[i] for i in waits[k]] for k, node in enumerate(graph.nodes) if waits[k]}
        self.settled = {
            node
            for node in graph.nodes
            if node.op.name not in _SOURCES and node.outputs and not ir.effects(node) and node.op.name not in ir.CHECKS
            and all(avals[v].value is not None for v in node.outputs)
        }  # fmt: skip
        #: The cotangents of convolutions whose gradients to the filter are made of blocks.
        self.returned = {
            n.inputs[2] for n in graph.nodes if n.op.name.endswith("_filter_grad") and self.blocks(n) is not None
        }
        kernels = [n for n in graph.nodes if n.op.name not in _SOURCES and n not in self.settled and self.is_kernel(n)]
        self.fusion = Fusion(graph, avals, frozenset(kernels), before)
        self.patterns: dict[tuple[Any, ...], Pattern] = {}

    def is_kernel(self, node: Node) -> bool:
        """Return whether the node is computed by a kernel (and not by BLAS, Python, or a plan of its own)."""
        if node.op.name in ("cond", "while", "call") or not lowerable(node) or self.is_dynamic(node):
            return False
        if not node.outputs:  # unstack along an axis of size 0, where nothing has pruned it
            return False
        if self.is_gemm(node) or node in self.refused or self.blocks(node) is not None or self.has_loops(node):
            return False
        return not self.is_bias_gradient(node) and not self.is_by_pairs(node)

    def is_gemm(self, node: Node) -> bool:
        """Return whether a node is a product that the executor computes by blocks in registers, or by BLAS."""
        if node.op.step != "gemm" or node in self.opaque:
            return False
        if "pairs" in node.attrs:  # a CPU without them has no blocks of pairs: the op's body computes it
            return is_served(node.attrs["pairs"])
        dtype = node.outputs[0].aval.dtype.name
        if dtype != "int32" or not vector_bits():  # BLAS has none of integers: a kernel of its own, or a loop nest
            return dtype in FLOATS and not self.is_of_vectors(node)
        # The nest of a tiny one, or of few columns, goes together with its neighbours.
        left, result = self.avals[node.inputs[0]].shape, self.avals[node.outputs[0]].shape
        if left is None or result is None:
            return False
        m, n, k = result[-2] or 0, result[-1] or 0, left[-2 if node.attrs.get("transpose_a", False) else -1] or 0
        return n >= LEAST_COLUMNS and m * n * k >= LEAST_INTEGERS

    def is_of_vectors(self, node: Node) -> bool:
        """Return whether many matrices are multiplied by a vector each: a nest reads both where, and as, they lie."""
        right, result = self.avals[node.inputs[1]].shape, self.avals[node.outputs[0]].shape
        if right is None or result is None:
            return False
        many = math.prod([n or 0 for n in right[:-2]])  # with a shared right operand it is one product of all rows
        m, n, k = result[-2], result[-1], right[-1 if node.attrs.get("transpose_b", False) else -2] or 0
        return 1 in (m, n) and many >= LEAST_VECTORS and (m or 0) * (n or 0) * k <= MOST_ELEMENTS

    def blocks(self, node: Node) -> Geometry | None:
        """Facts about a convolution that has a kernel of its own, else None."""
        if node.op.step != "convolution" or node in self.opaque or node in self.refused or self.is_dynamic(node):
            return None
        return convolution.geometry(node, lambda value: self.avals[value].shape)

    def is_by_pairs(self, node: Node) -> bool:
        """Return whether a node is a convolution of bfloat16 that C computes better than a kernel would."""
        return is_by_pairs(node)

    def has_loops(self, node: Node) -> bool:
        """Return whether a kernel of the op's own is better than the loop nest that it has too."""
        return (node.op.step or "").partition(".")[0] in KINDS and ordered(node, self.number, self.avals) is not None

    def is_bias_gradient(self, node: Node) -> bool:
        """Return whether a node sums the rows of what a convolution's gradient to its filter takes."""
        if not node.inputs or node.inputs[0] not in self.returned or node in self.opaque or node in self.refused:
            return False
        source, result = (self.avals[v].shape for v in (node.inputs[0], node.outputs[0]))
        known = node.outputs[0].aval.shape
        if source is None or result is None or known is None or None in known or 0 in source:
            return False
        return bias_gradient.is_column_sum(node, source, result)  # type: ignore[arg-type]

    def is_dynamic(self, node: Node) -> bool:
        """Return whether the shape of a result is data."""
        if (node.op.step or "").partition(".")[0] in ("dynamic", "counted") or node in self.opaque:
            return True
        return any(self.avals[node.inputs[i]].value is None for i in node.op.shape_inputs if i < len(node.inputs))

    def run(self) -> Program:
        order = self.order()
        self.last_use = self.last_uses(order)
        #: For each value that a Variable takes, the Variable's resource.
        self.assigned = {n.inputs[1]: n.inputs[0] for n in self.graph.nodes if n.op.name in UPDATES}
        steps: list[Step] = []
        made: dict[Cluster | Node, int] = {}
        for place, unit in enumerate(order):
            steps += self.kernels(unit, place) if isinstance(unit, Cluster) else self.steps(unit)
            made[unit] = len(steps) - 1
        if "fuse" in flags.get("passes"):
            outputs = self.numbers(self.graph.outputs)
            longer = scatter_operands.joined(steps, outputs, lambda n: self.avals[self.values[n]].size or 0)
            left = [k for k in range(len(steps)) if k + 1 not in longer]
            made = {unit: bisect_left(left, k) for unit, k in made.items()}
            steps = [longer.get(k, steps[k]) for k in left]
        # Only steps have effects, and each of those is one step: several kernels of a cluster follow by their data.
        after: list[tuple[int, ...]] = [()] * len(steps)
        for unit in order:
            after[made[unit]] = tuple(sorted({made[u] for u in self.effects_before(unit) if u in made} - {made[unit]}))
        if flags.get("verify"):
            for step in steps:
                if isinstance(step, KernelStep) and (found := leaked(step.kernel.source, self.avals)):
                    raise AssertionError(f"{sorted(found)} of the plan's own in a kernel:\n{step.kernel.source}")
        n_inputs = len(self.graph.inputs)
        parameters = tuple([self.number[v] for v in self.graph.parameters])
        return Program(
            graph=self.graph,
            values=self.values,
            inputs=parameters[:n_inputs],
            captures=parameters[n_inputs:],
            outputs=tuple([self.number[v] for v in self.graph.outputs]),
            steps=steps,
            constants={self.number[n.outputs[0]]: n.attrs["value"] for n in self.graph.nodes if n.op.name == "const"},
            shape_values=frozenset(self.number[v] for n in self.settled for v in n.outputs),
            after=after,
            witness=[cast("tuple[int, ...] | None", self.avals[v].shape) for n in self.graph.nodes for v in n.outputs],
        )

    # -- order ---------------------------------------------------------------------------------------------------------

    def order(self) -> list[Cluster | Node]:
        """Clusters and steps, each after what it waits for, else in program order."""
        fusion = self.fusion
        units: list[Cluster | Node] = [
            *fusion.clusters,
            *[
                n
                for n in self.graph.nodes
                if n.op.name not in _SOURCES and n not in self.settled and n not in fusion.kernels
            ],
        ]
        known = set(units)
        waits = {unit: {u for u in self.waits_for(unit) if u in known and u is not unit} for unit in units}
        rank = {unit: self.rank(unit) for unit in units}
        order = in_order(waits, rank)
        for read_first in (self.read_first, self.taken_first):
            if read_first(waits, {unit: place for place, unit in enumerate(order)}):
                order = in_order(waits, rank)
        return order

    def rank(self, unit: Cluster | Node) -> int:
        """The place in program order of the last node of a unit; of what is to come early, that of its operands."""
        position = self.fusion.position
        if isinstance(unit, Node) and unit.attrs.get("early"):
            return max([self.rank(other) for other in self.fusion._waits_for(unit)], default=0)
        return position[unit.last if isinstance(unit, Cluster) else unit]

    def waits_for(self, unit: Cluster | Node) -> list[Cluster | Node]:
        """The units that must come before a unit, by data and by effects."""
        return [*self.fusion._waits_for(unit), *self.effects_before(unit)]

    def effects_before(self, unit: Cluster | Node) -> list[Cluster | Node]:
        """The units that must come before a unit by effects alone."""
        return [] if isinstance(unit, Cluster) else [self.fusion.unit(n) for n in self.fusion.before.get(unit, ())]

    def read_first(self, waits: dict[Cluster | Node, set[Cluster | Node]], place: Mapping[Any, int]) -> bool:
        """Let a write come after all that takes earlier reads, where it can: then it may happen in place.

        `place` is an order that allows for `waits`. Return whether there was any such write.
        """
        takers: dict[Node, dict[Cluster | Node, None]] = {}
        for unit, needed in waits.items():
            for u in needed:
                if _has_effect(u, "read"):
                    takers.setdefault(u, {})[unit] = None
        later: list[tuple[Cluster | Node, Cluster | Node]] = []
        writes = [unit for unit in place if _has_effect(unit, "write")]
        for unit in writes:
            for read in sorted([u for u in waits[unit] if u in takers], key=place.__getitem__):
                for taker in takers[read]:
                    if place[taker] < place[unit]:  # then it does not depend on the write
                        waits[unit].add(taker)
                    elif taker is not unit:
                        later.append((unit, taker))
        for unit, taker in later:
            if not depends(taker, unit, waits):
                waits[unit].add(taker)
        return bool(writes)

    def taken_first(self, waits: dict[Cluster | Node, set[Cluster | Node]], place: Mapping[Any, int]) -> bool:
        """Let a step that changes a few rows come after all else that takes what it changes, where it can: likewise.

        Return whether there was any such step.
        """
        changes: dict[Value, list[Node]] = {}
        for unit in place:
            if isinstance(unit, Node) and changes_rows(unit):
                changes.setdefault(unit.inputs[0], []).append(unit)
        for taker in place if changes else ():
            for value in self.fusion.loads(taker) if isinstance(taker, Cluster) else dict.fromkeys(taker.inputs):
                for unit in changes.get(value, ()):
                    if not depends(taker, unit, waits):
                        waits[unit].add(taker)
        return bool(changes)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def numbers(self, values: Sequence[Any]) -> tuple[int, ...]:
        return tuple([self.number[v] for v in values])

    def steps(self, node: Node) -> Sequence[Step]:
        """The steps of a node that is no part of a kernel with others."""
        known = self.blocks(node)
        if known is not None:
            return convolution.steps(node, known, self.number.__getitem__, self.scratch)
        if self.is_bias_gradient(node):
            shape = cast("tuple[int, ...]", self.avals[node.inputs[0]].shape)
            return convolution.column_sum(node, shape, self.number.__getitem__, self.scratch)
        if node not in self.refused and node not in self.opaque and not self.is_dynamic(node):
            parts = segment_parts.in_parts(node, self.number, self.avals, self.scratch)
            if parts is not None:
                return [self.ordered_step(node, made, inputs, (out,)) for made, inputs, out in parts]
        return self.counted(node) or [self.step(node)]

    def counted(self, node: Node) -> list[Step] | None:
        """The kernels of a node that counts before it writes, else None."""
        kind = (node.op.step or "").partition(".")[0]
        if kind not in data_dependent_shapes.KINDS or node in self.refused or node in self.opaque:
            return None
        if kind == "placed" and self.is_dynamic(node):
            return None
        return data_dependent_shapes.steps(node, self.number, self.avals, self.scratch)

    def step(self, node: Node) -> Step:
        """The step of a node that is no part of a kernel."""
        inputs, outputs, nodes = self.numbers(node.inputs), self.numbers(node.outputs), (node,)
        name = node.op.name
        if name in ("cond", "while") and node not in self.opaque:
            try:
                return self.branches(node, inputs, outputs) if name == "cond" else self.loop(node, inputs, outputs)
            except CannotPlan:  # a branch that does not fit these shapes is interpreted if it is taken
                return HostStep(inputs, outputs, nodes, node)
        if name == "read_variable":
            return ReadStep(inputs, outputs, nodes)
        if name in UPDATES:
            return AssignStep(inputs, outputs, nodes)
        if node.op.step == "draw":
            return DrawStep(inputs, outputs, nodes)
        if self.is_gemm(node):
            a, b = (bool(node.attrs.get(key, False)) for key in ("transpose_a", "transpose_b"))
            return GemmStep(inputs, outputs, nodes, a, b, node.attrs.get("pairs", ""))
        if node.op.step in LIST_STEPS and node not in self.opaque:
            return ListStep(inputs, outputs, nodes, node)
        if self.is_dynamic(node):
            return DynamicStep(inputs, outputs, nodes, node)
        if node.op.step == "alias":
            return AliasStep(inputs, outputs, nodes)
        if (node.op.step or "").partition(".")[0] in KINDS and node not in self.refused:
            return self.in_order(node) or HostStep(inputs, outputs, nodes, node)
        return HostStep(inputs, outputs, nodes, node)

    def in_order(self, node: Node) -> Step | None:
        """The step of a node whose kernel goes through its input in order."""
        made = ordered(node, self.number, self.avals)
        return None if made is None else self.ordered_step(node, made, node.inputs, node.outputs)

    def ordered_step(self, node: Node, made: Ordered, given: Sequence[Value], outputs: Sequence[Value]) -> KernelStep:
        """The step of such a kernel, or of a part of it."""
        over = made.over
        inputs = [v for v in given if v in made.buffers or v is over or (made.fallible and self.avals[v].value is None)]
        return KernelStep(
            inputs=self.numbers(inputs),
            outputs=self.numbers(outputs),
            nodes=(node,),
            kernel=made.spec,
            buffers=self.numbers(made.buffers),
            sizes=made.sizes,
            extent=made.extent,
            cost=made.cost,
            cost_dims=made.cost_dims,
            fallible=(Fallible(node, "body"),) if made.fallible else (),
            in_place=() if over is None else ((inputs.index(over), 0),),
        )

    def branches(self, node: Node, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Step:
        """The step of a cond."""
        operands = [self.avals[v].shape for v in node.inputs[1:]]
        programs = [assemble(node.attrs[key], operands, self.refused) for key in ("then_graph", "else_graph")]
        return CondStep(inputs, outputs, (node,), *programs)

    def loop(self, node: Node, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Step:
        """The step of a while."""
        n = node.attrs["n_carried"]
        avals = [self.avals[v] for v in node.inputs]
        carried = infer_loop(node, avals)[:n]
        shapes = [a.shape for a in (*carried, *avals[n:])]
        # An extent that an iteration changes is unknown to both programs: any number may stand for it.
        body = node.attrs["body_graph"]
        stand = stand_ins(body, shapes)
        test, step = (assemble(node.attrs[key], stand, self.refused) for key in ("cond_graph", "body_graph"))
        alone = scalar_loops.body_program(node, self.refused)
        if alone is not None:
            return WhileStep(inputs, outputs, (node,), test, alone, n, iterates=True)
        burst = None if node in self.refused else loop_kernels.burst_program(node, test, step)
        return WhileStep(inputs, outputs, (node,), test, step, n, burst_program=burst)

    # -- kernels -------------------------------------------------------------------------------------------------------

    def kernels(self, cluster: Cluster, place: int) -> list[Step]:
        """The steps of a cluster, which are like those of one before it if the clusters are alike."""
        key, nodes, values = self.fusion.description(cluster)
        results = [value for node in cluster.nodes for value in node.outputs]
        whole_key = (key, tuple([self.gift(value, results, place) for value in values]))
        pattern = self.patterns.get(whole_key)
        numbers = self.numbers(values)
        if pattern is not None:
            return pattern.again(numbers, nodes, lambda n: self.number[self.scratch_like(self.values[n])])
        first = len(self.values)
        made = self.steps_of(cluster, place)
        pattern = Pattern(made, numbers, nodes, range(first, len(self.values)))
        if pattern.is_whole():
            self.patterns[whole_key] = pattern
        return made

    def scratch_like(self, value: Value) -> Value:
        """Another value of partial results."""
        (n,) = value.aval.shape or (0,)
        return self.scratch(value.aval.dtype.name, n or 0)

    def steps_of(self, cluster: Cluster, place: int) -> list[Step]:
        """The steps of a cluster: one kernel, or several where threads are to share a long reduction."""
        fusion = self.fusion
        nest = arrange(fusion.nest(cluster))
        nodes = self.all_nodes(cluster)
        if len(nest.stores) == 1 and (source := _copied(nest)) is not None:
            result: Any = nest.stores[0].key
            if self.avals[source].size == self.avals[result].size:  # else it is a slice that begins at 0
                return [AliasStep((self.number[source],), self.numbers([result]), nodes)]
        operands = [v for v in fusion.loads(cluster) if self.avals[v].value is None]
        parts = [few for part in self.split(nest) for few in few_at_a_time(part)]
        written = [key for part in parts for key in {store.key for store in part.stores}]
        if len(written) > len(set(written)):
            parts = [nest]  # who takes a value waits for the one kernel that writes it
        if len(parts) == 1:
            parts[0].in_place = self.in_place(parts[0], place)
        return [self.kernel(part, nodes, operands) for part in parts]

    def split(self, nest: FlatNest) -> list[FlatNest]:
        """The nests that compute it: several where threads are to share a long reduction."""
        parts = split(nest, self.scratch)
        return [p for part in parts for p in (split_columns(part, self.scratch) if down_columns(part) else [part])]

    def emit(self, nest: FlatNest) -> Emitted:
        """The kernel of a nest."""
        return emit(nest)

    # -- memory that an operand gives to a result ----------------------------------------------------------------------

    def last_uses(self, order: Sequence[Cluster | Node]) -> dict[Value, int]:
        """The place in the order of the last unit that takes a value."""
        found: dict[Value, int] = {}
        for place, unit in enumerate(order):
            inputs: Iterable[Value] = self.fusion.loads(unit) if isinstance(unit, Cluster) else unit.inputs
            if not isinstance(unit, Cluster) and unit.op.name == "take_variable":
                inputs = unit.inputs[:2]  # of what it was before, an update only looks at where it is
            for value in inputs:
                found[value] = place
        found.update((v, len(order)) for v in self.graph.outputs)
        return found

    def same_place(self, nest: FlatNest) -> list[tuple[Value, Value]]:
        """Operands and results of one shape of which each element is read only where that of the result is written."""
        if any(store.variables for store in nest.stores):
            return []
        terms = walk([s.scalar for s in nest.stores])
        if any(t.op in ("reduce", "check") for t in terms):
            return []
        reads: dict[Value, set[Scalar]] = {}
        for term in terms:
            if term.op == "read":
                reads.setdefault(term.attr, set()).add(term.args[0])
        found: list[tuple[Value, Value]] = []
        written: dict[Any, set[Scalar]] = {}
        for store in nest.stores:
            written.setdefault(store.key, set()).add(store.position)
        for result, places in written.items():
            if any(len(p.free) != len(nest.dims) for p in places):
                continue  # written more than once
            assert isinstance(result, Value)
            if result.node is PARTIAL_NODE:
                continue
            shape = self.avals[result].shape
            for value, positions in reads.items():
                if positions != places or value.node is PARTIAL_NODE:
                    continue
                if value.aval.dtype is result.aval.dtype and self.avals[value].shape == shape:
                    found.append((value, result))
        return found

    def in_place(self, nest: FlatNest, place: int) -> dict[object, object]:
        """Operands that die in a kernel, each with the result that may be written over it, element by element."""
        pairs: dict[object, object] = {}
        for value, result in self.same_place(nest):
            if value not in pairs and result not in pairs.values() and self.gift(value, (result,), place):
                pairs[value] = result
        return pairs

    def gift(self, value: Value, results: Sequence[Value], place: int) -> tuple[int, ...]:
        """Return those results of the unit at `place` that may be written over `value`, as far as its maker knows."""
        if self.last_use.get(value) != place:
            return ()
        node = value.node
        if node.op.name == "read_variable":
            resource = node.inputs[0]
            return tuple([i for i, r in enumerate(results) if self.assigned.get(r) is resource])
        free = node in self.fusion.cluster or self.is_gemm(node) or node.op.step == "convolution"
        return tuple(range(len(results))) if free else ()

    def scratch(self, dtype: str, n: int) -> Value:
        """A value of the Program that is none of the graph's: partial results."""
        value = Value(PARTIAL_NODE, 0, Aval(as_dtype(dtype), (n,)))
        self.number[value] = len(self.values)
        self.values.append(value)
        return value

    def kernel(self, nest: FlatNest, nodes: tuple[Node, ...], operands: Sequence[Value]) -> Step:
        """The step of one nest. `operands` are what the nodes' bodies would need, to explain a failed check."""
        emitted = self.emit(nest)
        roots = list(dict.fromkeys([store.key for store in nest.stores]))
        loaded = [*[key for key in emitted.buffers if key not in roots], *nest.in_place]
        if emitted.fallible:
            loaded += [v for v in operands if v not in loaded]
        units, cost_dims = self.units(nest)
        return KernelStep(
            inputs=self.numbers(loaded),
            outputs=self.numbers(roots),
            nodes=nodes,
            kernel=emitted.spec,
            buffers=self.numbers(emitted.buffers),
            sizes=tuple([self.size(s) for s in emitted.sizes]),
            extent=self.size(emitted.extent) if emitted.extent is not None else Size(1),
            cost=cost(nest) / units,
            operations=operations(nest) / units,
            shardable=emitted.extent is not None,
            fallible=tuple([Fallible(cast(Node, node), "body") for node in emitted.fallible]),
            cost_dims=cost_dims,
            in_place=tuple([(loaded.index(v), roots.index(r)) for v, r in nest.in_place.items()]),
            same_place=tuple([(loaded.index(v), roots.index(r)) for v, r in self.same_place(nest) if v in loaded]),
        )

    def all_nodes(self, cluster: Cluster) -> tuple[Node, ...]:
        """The nodes of a cluster with the cheap ones that are computed in it."""
        found = dict.fromkeys(cluster.nodes)
        stack = [v for n in cluster.nodes for v in n.inputs]
        while stack:
            node = stack.pop().node
            if node in self.fusion.absorbed and node not in found:
                found[node] = None
                stack += node.inputs
        return tuple(sorted(found, key=self.fusion.position.__getitem__))

    def size(self, scalar: Scalar) -> Size:
        """A run-time size as the schedule computes it."""
        constant, dims = 1, []
        stack = [scalar]
        while stack:
            term = stack.pop()
            if term.op == "mul":
                stack += reversed(term.args)
            elif term.op == "extent":
                dims.append((self.number[term.attr[0]], term.attr[1]))
            else:
                assert term.op in ("const", "param"), term
                constant *= term.attr
        return Size(constant, tuple(dims))

    def units(self, nest: FlatNest) -> tuple[int, tuple[Size, ...]]:
        """The units that a nest's cost is to be divided by (those of the outermost loop, and unknown inner extents),
        and the extents by which the cost of one unit is then to be multiplied."""
        factors: dict[int, Scalar] = {}
        variables = {v for s in nest.stores for v in (*nest.dims, *s.variables)}
        for term in walk([s.scalar for s in nest.stores]):
            if term.op == "reduce":
                variables.update(term.args[: term.attr[1]])
        outer = nest.dims[0].args[0] if nest.dims else None
        for extent in {v.args[0] for v in variables}:
            unknown = [e for e in _factors(extent) if (e.witness or 0) >= FIRST_WITNESS]
            for e in unknown if extent is not outer else ():
                factors.setdefault(e.witness or 0, e)
        units = (outer.witness or 1 if outer is not None else 1) * math.prod(factors)
        return max(units, 1), tuple([self.size(e) for e in factors.values()])


def _factors(extent: Scalar) -> list[Scalar]:
    return [f for a in extent.args for f in _factors(a)] if extent.op == "mul" else [extent]


def _copied(nest: FlatNest) -> Any:
    """The value that a nest of one store only copies, element by element in order."""
    store = nest.stores[0]
    same = store.scalar.op == "read" and store.scalar.args[0] is store.position and not store.scalar.risky
    return store.scalar.attr if same and store.scalar.dtype == store.dtype else None


def _has_effect(unit: Cluster | Node, kind: str) -> TypeGuard[Node]:
    return isinstance(unit, Node) and any(effect.kind == kind for effect in ir.effects(unit))
