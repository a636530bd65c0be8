"""Nodes -> clusters: what is computed by one kernel.

Rule: legality (no cycle between clusters and steps) and cost (is one nest cheaper than two?) are asked apart. A cheap
producer, such as a transpose or a cast, belongs to no cluster: each consumer computes it in place.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastgraph.compiler.nest.acyclic_clusters import Order
from fastgraph.compiler.nest.build_nests import Lowering, build, effective_inputs, literal
from fastgraph.compiler.nest.canonicalize import joined
from fastgraph.compiler.nest.cost_model import LAUNCH, LOAD, cost, weight
from fastgraph.compiler.nest.loop_nest import LoopNest
from fastgraph.compiler.nest.scalar_ir import Table, walk
from fastgraph.core.base import expr, flags
from fastgraph.core.base.shapes import Aval, Shape
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graph.passes.prune import CHECKING
from fastgraph.graph.passes.rewriter import attrs_key

#: Nodes in one kernel at most: compiling takes about 2 ms an operation.
MAX_NODES = 64
#: Results of the nodes in one kernel at most: some have hundreds.
MAX_RESULTS = 128
#: Nodes with the cheap ones that a kernel computes for its nodes. What compiles them nests as deep as they do.
MAX_COMPUTED = 128
#: Tensors that one node may join in a kernel: a selection or sum is nested for each, and what compiles them takes time
#: that grows with the square. NumPy joins more in a host step.
MOST_INPUTS = 64
#: Axes of more than one element that a node in a kernel may have: Python, in which kernels are written, takes 20 loops
#: in one another. NumPy goes through more.
MOST_AXES = 16
#: The ops that put a value into a Variable.
UPDATES = ("assign_variable", "take_variable")
#: Elements up to which updates of several Variables are one kernel: above, a launch counts for little, and a gradient
#: that waits for others leaves the cache.
SMALL = 1 << 16
#: The part of the lesser of two kernels that reading once must save for them to become one.
SAVING = 0.1
#: Nanoseconds per element up to which a producer is recomputed by each of its consumers.
CHEAP = 0.045
#: Elements for each of all operands' from which on a result is computed again where that is no dearer than a load.
SPREAD = 8
#: Ops that read every element of their operands, some of them under a condition on the index.
WHOLE = frozenset(
    {"transpose", "reshape", "expand_dims", "squeeze", "concat", "stack", "reverse", "pad", "tile", "roll"}
)
_NUMERIC = frozenset(expr.DTYPES)


@dataclass
class _Facts:
    """Properties of each node that are asked for before it is part of a kernel."""

    is_cheap: bool  # consumers compute it in place: data movement, casts, or some arithmetic on one number
    checks: bool  # each element, not only something that is the same for all of them
    always_read: tuple[bool, ...]  # of each operand: whether all of it is read


def _checks_elements(nest: LoopNest) -> bool:
    return any(t.op == "check" and t.args[0].free for t in walk([s.scalar for s in nest.stores]))


def _always_read(node: Node, nest: LoopNest) -> tuple[bool, ...]:
    """Return whether each operand's elements are all read, whatever the numbers are."""
    if node.op.name in WHOLE or node.op.family == "elementwise":
        return (True,) * len(node.inputs)
    if node.op.family not in ("reduction", "contraction"):
        return (False,) * len(node.inputs)
    found: set[Any] = set()
    seen: set[Any] = set()
    terms = [store.scalar for store in nest.stores]
    while terms:
        term = terms.pop()
        if term in seen:
            continue
        seen.add(term)
        if term.op == "load":
            found.add(term.attr)
        terms += term.args[:1] if term.op == "select" else term.args
    return tuple([value in found for value in node.inputs])


@dataclass(eq=False)
class Cluster:
    """Nodes that one kernel computes, in program order."""

    nodes: dict[Node, None]
    first: int  # position of its first node in the graph
    cheap: frozenset[Node]  # what else it computes, for them
    n_results: int  # of its nodes
    elementwise: bool = False  # elements of one shape, each from elements at the same index
    priced: float | None = None
    loads: dict[Value, None] | None = field(default=None)  # what it takes from outside
    apart: set[Cluster] = field(default_factory=set)  # producers that cost less as kernels of their own
    barred: set[Node] = field(default_factory=set)  # a node of each producer with a step between it and this one

    def __post_init__(self) -> None:
        self.last = next(reversed(self.nodes))


def lowerable(node: Node) -> bool:
    """Return whether a kernel can compute the node."""
    if node.op.lower is None or node.op.effect is not None or len(node.inputs) > MOST_INPUTS:
        return False
    if any(
        v.aval.shape is not None and sum(n != 1 for n in v.aval.shape) > MOST_AXES
        for v in (*node.inputs, *node.outputs)
    ):
        return False
    dtypes = {v.aval.dtype.name for v in (*node.inputs, *node.outputs)}
    return dtypes <= _NUMERIC and (dtypes.isdisjoint(expr.PARTS) or _of_complex(node))


def _of_complex(node: Node) -> bool:
    """Return whether kernels know what the node computes of complex numbers."""
    if node.op.expr is None:
        return True  # it moves, adds or multiplies them
    terms = expr.walk(expr.parse(node.op.expr).root)
    return all(t.op in expr.OF_COMPLEX for t in terms if isinstance(t, expr.Apply))


class Fusion:
    """The clusters of one graph. `kernels` are the nodes that become kernels; all others are steps of their own."""

    def __init__(
        self,
        graph: Graph,
        avals: Mapping[Value, Aval],
        kernels: Collection[Node],
        before: Mapping[Node, Sequence[Node]],
    ) -> None:
        self.graph = graph
        self.avals = avals
        self._lowering = Lowering(Table(), avals, lambda value: False)
        self.kernels = kernels
        self.before = before  # effects: what a node must wait for besides its inputs
        self.position = {node: i for i, node in enumerate(graph.nodes)}
        self.consumers: dict[Value, list[Node]] = {}
        for node in graph.nodes:
            for value in dict.fromkeys(node.inputs):
                self.consumers.setdefault(value, []).append(node)
        checks = [v for n in graph.nodes if n.op.name in CHECKING for v in n.outputs if v not in self.consumers]
        self.outputs = frozenset([*graph.outputs, *checks])
        self.cluster: dict[Node, Cluster] = {}
        self.absorbed: Collection[Node] = ()
        self._facts: dict[tuple[Any, ...], _Facts] = {}
        self._facts_of: dict[Node, _Facts] = {}
        self._sources: dict[Node, list[Node]] = {}
        self._prices: dict[tuple[Any, ...], float] = {}
        self._order: Order[Cluster | Node] = Order(self._waits_for)
        fuse = "fuse" in flags.get("passes")
        if fuse:
            self.outputs |= self._partly_read()
        cheap = self._absorb() if fuse else {}
        for node in graph.nodes:
            if node in self.absorbed:
                continue
            if node not in kernels:
                self._order.append(node)
                continue
            same = node.op.family == "elementwise"
            own = Cluster({node: None}, self.position[node], cheap.get(node, frozenset()), len(node.outputs), same)
            self.cluster[node] = own
            if fuse:
                self._order.append(own)
                self._grow(own)
        if fuse:
            self._join_readers()
            self._recompute()
            self._join_updates()
        self.clusters = list(dict.fromkeys(self.cluster.values()))

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def _absorb(self) -> dict[Node, frozenset[Node]]:
        """Find the nodes that their consumers compute in place; return those that come so to each node."""
        absorbed: set[Node] = set()
        cheap: dict[Node, frozenset[Node]] = {}
        for node in self.graph.nodes:
            if node not in self.kernels:
                continue
            computed: frozenset[Node] = frozenset()
            producers = dict.fromkeys(value.node for value in node.inputs if value.node in absorbed)
            for producer in sorted(producers, key=lambda p: len(cheap[p])):
                more = computed | cheap[producer] | {producer}
                if len(more) < MAX_COMPUTED // 2:
                    computed = more
                else:
                    absorbed.discard(producer)  # a long chain: it is stored here, and read by what follows
            cheap[node] = computed
            # A value that must be stored for others anyway is loaded, not computed again.
            if self._of(node).is_cheap and not self._wanted(node):
                absorbed.add(node)
        self.absorbed = absorbed
        return cheap

    def _of(self, node: Node) -> _Facts:
        """Facts read off the loop nest of a node by itself."""
        found = self._facts_of.get(node)
        if found is None:
            key, _ = self._described([node], node.outputs[:1])
            found = self._facts.get(key)
            if found is None:
                nest = self._build([node], [node.outputs[0]])
                cheap = self._costs_little(node, nest)
                found = self._facts[key] = _Facts(cheap, _checks_elements(nest), _always_read(node, nest))
            self._facts_of[node] = found
        return found

    def _partly_read(self) -> set[Value]:
        """Find the values that are stored because a check goes with them, and what reads them reads a part only.

        A slice of a gather would leave out the checks of the other elements: the program would fail on the first tier
        and not in kernels.
        """
        nodes = [node for node in self.graph.nodes if node in self.kernels]
        checked: set[Value] = set()
        for node in nodes:
            if self._of(node).checks or not checked.isdisjoint(node.inputs):
                checked.update(node.outputs)
        if not checked:
            return set()
        stored: set[Value] = set()
        whole: set[Value] = set()  # every element of them is computed
        for node in reversed(nodes):
            for value in node.outputs:
                consumers = self.consumers.get(value, ())
                if value in self.outputs or any(self._reads_whole(c, value, whole) for c in consumers):
                    whole.add(value)
                elif value in checked and consumers:
                    stored.add(value)
                    whole.add(value)
        return stored

    def _reads_whole(self, consumer: Node, value: Value, whole: set[Value]) -> bool:
        if consumer not in self.kernels:
            return True
        if whole.isdisjoint(consumer.outputs):
            return False
        read = self._of(consumer).always_read
        return any(v is value and read[i] for i, v in enumerate(consumer.inputs))

    def _described(self, nodes: Iterable[Node], roots: Collection[Value]) -> tuple[tuple[Any, ...], list[Value]]:
        """All that the loop nest of some nodes depends on, a graph has many that are alike; and the values in it."""
        described: list[Any] = []
        number: dict[Value, int] = {}
        for node in nodes:
            for value in node.inputs:
                if value in number:
                    continue
                number[value] = len(number)
                aval, written = self.avals[value], literal(value)
                # A lowering may look at the value of what is known.
                known = value if written is None and (aval.value is not None or value.node.op.name == "const") else None
                described.append((aval.dtype, aval.shape, value.aval.shape, repr(written), known))
            results = [(self.avals[v].shape, v.aval.dtype, v.aval.shape, v in roots) for v in node.outputs]
            taken = tuple([number[value] for value in node.inputs])
            described.append((node.op, attrs_key(node.attrs), taken, *results))
            for value in node.outputs:
                number[value] = len(number)
        return tuple(described), list(number)

    def _costs_little(self, node: Node, nest: LoopNest) -> bool:
        size = max((self.avals[v].size or 0) for v in node.outputs)
        terms = walk([s.scalar for s in nest.stores])
        if any(t.op in ("reduce", "check") for t in terms) or len(node.outputs) > 1:
            return False
        loads = sum(t.op == "load" for t in terms)
        price = sum(weight(t) for t in terms if t.op != "load")
        # Few elements spread over many times as many are computed sooner than they are read back.
        spread = SPREAD * sum(self.avals[v].size or 0 for v in node.inputs) <= size
        return loads <= 2 and price <= (LOAD if spread else CHEAP) if size != 1 else price <= 10.0

    def _wanted(self, node: Node) -> bool:
        """Return whether something other than a kernel takes a result of the node."""
        return any(
            value in self.outputs or any(c not in self.kernels for c in self.consumers.get(value, ()))
            for value in node.outputs
        )

    def inputs(self, nodes: Collection[Node]) -> dict[Value, None]:
        """The values that a cluster of these nodes loads."""
        return effective_inputs(nodes, lambda value: value.node in self.absorbed)

    def loads(self, cluster: Cluster) -> dict[Value, None]:
        """The values that a cluster loads, kept with it: every node that may join it asks for its producers again."""
        if cluster.loads is None:
            cluster.loads = self.inputs(cluster.nodes)
        return cluster.loads

    def roots(self, nodes: Collection[Node]) -> list[Value]:
        """The results of `nodes` that something outside needs."""
        return [value for node in nodes for value in node.outputs if self._needed(value, nodes, set())]

    def _needed(self, value: Value, nodes: Collection[Node], seen: set[Value]) -> bool:
        if value in self.outputs:
            return True
        seen.add(value)
        for consumer in self.consumers.get(value, ()):
            if consumer in nodes:
                continue
            if consumer not in self.absorbed:
                return True
            if any(self._needed(v, nodes, seen) for v in consumer.outputs if v not in seen):
                return True
        return False

    def _build(self, nodes: Collection[Node], roots: Sequence[Value]) -> LoopNest:
        return build(self._lowering, lambda v: v.node in nodes or v.node in self.absorbed, roots)

    def _stored(self, cluster: Cluster) -> Sequence[Value]:
        """The values that a cluster's kernel writes."""
        return self.roots(cluster.nodes) or [next(iter(cluster.nodes)).outputs[0]]

    def nest(self, cluster: Cluster) -> LoopNest:
        """The loop nest of a cluster."""
        return self._build(cluster.nodes, self._stored(cluster))

    # -- merging -------------------------------------------------------------------------------------------------------

    def _grow(self, cluster: Cluster) -> None:
        """Merge a new cluster with those of its producers, nearest first, where that is legal and pays."""
        tried: set[Cluster] = set()
        while True:
            # Merged clusters have producers of their own: the whole may go together with one where a part did not.
            producers = {self.cluster[v.node] for v in self.loads(cluster) if v.node in self.cluster} - tried
            producers -= cluster.apart
            producers.discard(cluster)
            if not producers:
                return
            producer = max(producers, key=lambda c: self.position[c.last])
            tried.add(producer)
            if self._too_large(producer, cluster) or not producer.nodes.keys().isdisjoint(cluster.barred):
                continue
            between, waits = self._order.between(producer, cluster)
            if waits is not None:
                if self._is_step_on_the_way(cluster, waits, between):
                    cluster.barred.add(producer.last)
                continue
            merged = self._worth(producer, cluster)
            if merged is None:
                cluster.apart.add(producer)
            else:
                merged.apart = self._still_apart(producer, cluster) | self._still_apart(cluster, producer)
                merged.barred = producer.barred | cluster.barred
                self._order.merge(producer, cluster, merged, between)
                self.cluster.update(dict.fromkeys(merged.nodes, merged))
                cluster = merged

    @staticmethod
    def _is_step_on_the_way(
        cluster: Cluster, unit: Cluster | Node, found_from: Mapping[Cluster | Node, Cluster | Node]
    ) -> bool:
        """Return whether a step on the way from `unit` to a cluster is no kernel: it stays between them for good."""
        while unit is not cluster:
            if isinstance(unit, Node):
                return True
            unit = found_from[unit]
        return False

    def _still_apart(self, cluster: Cluster, other: Cluster) -> set[Cluster]:
        """The producers that need not be tried again once the two are one: the other has nothing in common with them.

        Its price is then added to both sides. Else a graph's longest chain would be priced anew with every node of it.
        """
        if not cluster.apart:
            return set()
        taken = {self.cluster.get(value.node) for value in self.loads(other)}
        read = [value for value in self.loads(other) if self.avals[value].size != 1]
        return {p for p in cluster.apart if p not in taken and self.loads(p).keys().isdisjoint(read)}

    @staticmethod
    def _too_large(a: Cluster, b: Cluster) -> bool:
        n_nodes = len(a.nodes) + len(b.nodes)
        if n_nodes > MAX_NODES or a.n_results + b.n_results > MAX_RESULTS:
            return True
        return n_nodes + len(a.cheap | b.cheap) > MAX_COMPUTED

    def _join_readers(self) -> None:
        """Merge clusters that read the same elements in the same loops: several sums of one tensor read it once.

        Only those of one level: no path leads from one to another, and the merged one is of that level again, so that
        however many are merged they make no cycle. Nothing has to be looked through for that.
        """
        level = self._levels()
        readers: dict[tuple[Value, int], list[Cluster]] = {}
        for cluster in dict.fromkeys(self.cluster.values()):
            for value in self.loads(cluster):
                if cluster in level and self.avals[value].size != 1:
                    readers.setdefault((value, level[cluster]), []).append(cluster)
        for clusters in readers.values():
            # Others may have merged some of them by now; each is tried with the one before it, so the tries are few.
            before: Cluster | None = None
            for cluster in dict.fromkeys(self.cluster[c.last] for c in clusters):
                merged = self._reading_once(before, cluster) if before is not None else None
                if merged is not None:
                    self.cluster.update(dict.fromkeys(merged.nodes, merged))
                before = merged or cluster

    def _levels(self) -> dict[Cluster | Node, int]:
        """Return how many clusters and steps the longest way to each goes through."""
        units = dict.fromkeys([self.unit(node) for node in self.graph.nodes if node not in self.absorbed])
        waits = {unit: [u for u in dict.fromkeys(self._waits_for(unit)) if u is not unit] for unit in units}
        followers: dict[Cluster | Node, list[Cluster | Node]] = {}
        for unit, needed in waits.items():
            for u in needed:
                followers.setdefault(u, []).append(unit)
        missing = {unit: sum(u in waits for u in needed) for unit, needed in waits.items()}
        ready = [unit for unit, n in missing.items() if not n]
        level = dict.fromkeys(ready, 0)
        for unit in ready:  # which grows meanwhile
            for follower in followers.get(unit, ()):
                missing[follower] -= 1
                if not missing[follower]:
                    level[follower] = 1 + max(level.get(u, 0) for u in waits[follower])
                    ready.append(follower)
        return level

    def _reading_once(self, a: Cluster, b: Cluster) -> Cluster | None:
        """The cluster of two of one level that read the same, if it saves enough beyond the launch of a kernel."""
        if self._too_large(a, b):
            return None
        merged = self._worth(a, b)
        if merged is None or merged.elementwise:
            return merged
        apart = [self._price(c) - LAUNCH for c in (a, b)]
        return merged if self._price(merged) - LAUNCH <= sum(apart) - SAVING * min(apart) else None

    def _recompute(self) -> None:
        """Let kernels compute for themselves what one before them would only write for them, if that is less."""
        readers: dict[Cluster, dict[Cluster, None]] = {}
        for cluster in dict.fromkeys(self.cluster.values()):
            for value in self.loads(cluster):
                if value.node in self.cluster:
                    readers.setdefault(self.cluster[value.node], {})[cluster] = None
        for cluster, takers in readers.items():
            nodes = cluster.nodes
            if not cluster.elementwise or len(takers) < 2:
                continue
            if any(self.cluster.get(each.last) is not each for each in (cluster, *takers)):
                continue  # another one by now
            if any(self._wanted(n) or self._of(n).checks for n in nodes) or any(
                self._too_large(cluster, t) for t in takers
            ):
                continue
            before = self._price(cluster) + sum(map(self._price, takers))
            absorbed = self.absorbed
            self.absorbed = {*absorbed, *nodes}
            cheap = cluster.cheap | nodes.keys()
            alike = [t.elementwise and self._shape(t) == self._shape(cluster) for t in takers]
            made = [
                Cluster(t.nodes, t.first, t.cheap | cheap, t.n_results, same)
                for t, same in zip(takers, alike, strict=True)
            ]
            if sum(map(self._price, made)) < before:
                for each in made:
                    self.cluster.update(dict.fromkeys(each.nodes, each))
                for node in nodes:
                    del self.cluster[node]
            else:
                self.absorbed = absorbed

    def _join_updates(self) -> None:
        """Merge clusters of one shape that only update Variables: an optimizer's step is a kernel for each shape.

        Nothing comes after such a cluster, so no path leads from one to another and merging them makes no cycle.
        """
        waited_for = {node for nodes in self.before.values() for node in nodes}
        last: dict[Shape, Cluster] = {}
        for cluster in dict.fromkeys(self.cluster.values()):
            shape = self._updated_shape(cluster, waited_for)
            if shape is None:
                continue
            other = last.get(shape)
            if other is not None and not self._too_large(other, cluster):
                nodes = dict.fromkeys(sorted((*other.nodes, *cluster.nodes), key=self.position.__getitem__))
                n_results = other.n_results + cluster.n_results
                first, cheap = min(other.first, cluster.first), other.cheap | cluster.cheap
                cluster = Cluster(nodes, first, cheap, n_results, True)
                self.cluster.update(dict.fromkeys(nodes, cluster))
            last[shape] = cluster

    def _updated_shape(self, cluster: Cluster, waited_for: Collection[Node]) -> Shape:
        """The shape of a small cluster whose results are taken by last assignments only, else None."""
        shapes = {self.avals[v].shape for n in cluster.nodes for v in n.outputs}
        shape = shapes.pop() if cluster.elementwise and len(shapes) == 1 else None
        if shape is None or math.prod([n or 0 for n in shape]) > SMALL:
            return None
        for value in self.roots(cluster.nodes):
            if value in self.outputs:
                return None
            for taker in self.consumers.get(value, ()):
                if taker in cluster.nodes:
                    continue
                later = any(v in self.outputs or self.consumers.get(v) for v in taker.outputs)
                if taker.op.name not in UPDATES or taker in waited_for or later:
                    return None
        return shape

    def _worth(self, a: Cluster, b: Cluster) -> Cluster | None:
        """The cluster of both, if it costs no more than the two."""
        nodes = a.nodes | b.nodes
        if self.position[a.last] > b.first:
            nodes = dict.fromkeys(sorted(nodes, key=self.position.__getitem__))
        # A value that has been looked through for one of them is so for both.
        loads = {v: None for v in (*self.loads(a), *self.loads(b)) if v.node not in nodes}
        n_results = a.n_results + b.n_results
        merged = Cluster(nodes, min(a.first, b.first), a.cheap | b.cheap, n_results, loads=loads)
        if a.elementwise and b.elementwise and self._shape(a) == self._shape(b):
            merged.elementwise = True
            return merged
        if self._goes_on(a, b):
            return merged
        together = self._price(merged)
        apart = self._price(a) + self._price(b)
        return merged if together <= apart else None

    def _goes_on(self, a: Cluster, b: Cluster) -> bool:
        """Return whether `b` only goes on, element by element, with what `a` writes: no more work in that loop.

        What is read in another place, or in a loop round the one that made it, may have to be computed again.
        """
        if not b.elementwise:
            return False
        shape = self._shape(b)
        taken = [self.avals[v] for v in self.loads(b) if v.node in a.nodes]
        if not any(aval.shape == shape for aval in taken):
            return False
        for node in b.cheap:
            if node.op.family != "elementwise":
                return False
            taken += [self.avals[v] for v in node.outputs]
        return all(aval.shape == shape or aval.size == 1 for aval in taken)

    def description(self, cluster: Cluster) -> tuple[tuple[Any, ...], list[Node], list[Value]]:
        """All that a cluster's loop nest depends on, and the nodes and values in the order in which it has them."""
        nodes = sorted((*cluster.nodes, *cluster.cheap), key=self.position.__getitem__)
        key, values = self._described(nodes, frozenset(self._stored(cluster)))
        return key, nodes, values

    def _shape(self, cluster: Cluster) -> Shape:
        """The shape of the last result: of all, where the cluster is elementwise."""
        return self.avals[cluster.last.outputs[0]].shape

    def _price(self, cluster: Cluster) -> float:
        # A cluster's stores depend on its consumers, which change as others merge: only whole prices are kept.
        if cluster.priced is None:
            key, _, _ = self.description(cluster)
            found = self._prices.get(key)
            if found is None:
                found = self._prices[key] = cost(joined(self.nest(cluster))) + LAUNCH
            cluster.priced = found
        return cluster.priced

    def _waits_for(self, unit: Cluster | Node) -> list[Cluster | Node]:
        """The clusters and steps whose results a cluster or step takes, or whose effects it must follow."""
        if isinstance(unit, Cluster):
            return [self.unit(v.node) for v in self.loads(unit)]
        sources = self._sources.get(unit)
        if sources is None:
            computed = [v.node for v in unit.inputs if v.node in self.absorbed]
            taken = [v.node for v in unit.inputs if v.node not in self.absorbed]
            taken += [v.node for v in self.inputs(computed)] if computed else ()
            sources = self._sources[unit] = [*taken, *self.before.get(unit, ())]
        return [self.unit(node) for node in sources]

    def unit(self, node: Node) -> Cluster | Node:
        """The cluster that computes a node, or the node itself."""
        return self.cluster.get(node, node)
