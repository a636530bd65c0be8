"""The pass over graphs that take elements of iterators: what waits for none of them is written before they are taken.

TensorFlow runs the operations of a graph when their operands are there. Where an iterator is at its end, what does not
wait for its element has been done by the time that this is known: an optimizer has counted a step, a layer has drawn
its seed, and the epoch after goes on from there. Here the nodes' order is the order of effects, so these come first.

    x = next(it); y = f(x); n.assign_add(1)   ->   n.assign_add(1); x = next(it); y = f(x)

Rule: only values of moderate size are written earlier: before the old value has been used, the new one has no place but
memory of its own. Nothing goes past what it waits for, but for the elements.
"""

from __future__ import annotations

from fastgraph.graph import ir
from fastgraph.graph.ir import Effect, Graph, Node
from fastgraph.graph.passes.rewriter import Rebuild, Rule

Waits = dict[Node, tuple[Node, ...]]

#: The op that fails at the end of an iterator.
_TAKES = "iterator_get_next"
#: So many elements at most has what is written earlier.
_MOST_ELEMENTS = 1 << 16


def takes_elements(graph: Graph) -> bool:
    """Return whether a graph, or one inside it, takes elements of iterators that may be at their end."""
    return any(node.op.name == _TAKES for each in _graphs(graph) for node in each.nodes)


def _graphs(graph: Graph) -> list[Graph]:
    """Return a graph and all that are inside it."""
    found = {graph: None}
    left = [graph]
    while left:
        inside = {each: None for node in left.pop().nodes for each, _ in ir.subgraphs(node) if each not in found}
        found |= inside
        left += inside
    return list(found)


class Inlining(Rebuild):
    """Copies a graph with calls inlined by a rule, and keeps what its user said that nodes wait for."""

    def __init__(self, graph: Graph, rule: Rule) -> None:
        super().__init__(graph, rules={"call": [rule]})
        self.control: Waits = {}
        for each in _graphs(graph):
            self.control |= each.control
        self.made: dict[Node, list[Node]] = {}  # of each node that something waits for: those in its place
        self.waited = {each for found in self.control.values() for each in found}

    def node(self, node: Node) -> None:
        """Rebuild one node of the old graph."""
        before = len(self.new.nodes)
        super().node(node)
        if node in self.waited:
            self.made[node] = self.new.nodes[before:]
        waits: list[Node] = []
        for each in self.control.get(node, ()):
            waits += [self.mapping[value].node for value in each.outputs if value in self.mapping]
            waits += self.made.get(each, ())
        if waits:
            for made in self.new.nodes[before:]:
                self.new.control[made] = (*self.new.control.get(made, ()), *waits)


def counted_first(graph: Graph) -> Graph:
    """Return `graph`, in place, with small writes that wait for no element before the first that is taken.

    The graphs inside it stay as they are.
    """
    first = next((i for i, node in enumerate(graph.nodes) if node.op.name == _TAKES), len(graph.nodes))
    behind = graph.nodes[first:]
    earlier = _needed(behind, _waits(behind, graph.control)) if behind else ()
    if earlier:
        behind.sort(key=lambda node: node not in earlier)
        graph.nodes[first:] = behind
    return graph


def _waits(nodes: list[Node], control: Waits) -> dict[Node, list[Node]]:
    """Return for each node those of `nodes` that it waits for: data, `control`, effects, were elements always there."""
    known = {node: ir.effects(node) for node in nodes}
    known.update({node: [Effect("read", node.inputs[0])] for node in nodes if node.op.name == _TAKES})
    among = set(nodes)
    found = {}
    for node, before in zip(nodes, ir.control_inputs(nodes, known=known), strict=True):
        others = [*[value.node for value in node.inputs], *control.get(node, ())]
        found[node] = [*[each for each in others if each in among], *[nodes[i] for i in before]]
    return found


def _needed(nodes: list[Node], waits: dict[Node, list[Node]]) -> set[Node]:
    """Return the small writes that wait for no element, and what they wait for."""
    late: set[Node] = set()
    writes = []
    for node in nodes:
        if node.op.name == _TAKES or not late.isdisjoint(waits[node]):
            late.add(node)
        elif node.op.effect == "write" and all(_is_small(value.aval.size) for value in node.inputs[1:]):
            writes.append(node)
    found: set[Node] = set()
    while writes:
        node = writes.pop()
        if node not in found:
            found.add(node)
            writes += waits[node]
    return found


def _is_small(size: int | None) -> bool:
    return size is not None and size <= _MOST_ELEMENTS
