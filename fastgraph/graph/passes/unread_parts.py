"""The pass over graphs that read only one part of what an op gives: another op computes that part alone.

    e, v = eigh(x)   becomes eigvalsh(x) where nothing reads v
    s, u, v = svd(x) becomes singular_values(x) where nothing reads u and v
    real(ifft(x))    becomes a transform to real numbers where nothing else reads the transform

Rule: results differ in their last places.
"""

from __future__ import annotations

from collections import Counter

from fastgraph.graph.ir import Graph, Node
from fastgraph.graph.passes.rewriter import Application, Rebuild
from fastgraph.graph.passes.transforms import real_transform

#: Ops whose first result another op gives, without attributes.
_FIRST = {"eigh": "eigvalsh", "svd": "singular_values"}


def read_once(graph: Graph) -> set[Node]:
    """Return the nodes of which only the first result is read, and the real parts of transforms read nowhere else."""
    if not any(node.op.name in _FIRST or node.op.name == "fft" for node in graph.nodes):
        return set()
    reads = Counter([value for node in graph.nodes for value in node.inputs] + graph.outputs)
    found = {node for node in graph.nodes if node.op.name in _FIRST and not any(reads[v] for v in node.outputs[1:])}
    for node in graph.nodes:
        if node.op.name == "real" and node.inputs[0].node.op.name == "fft" and reads[node.inputs[0]] == 1:
            found.add(node)
    return found


class OnePart(Rebuild):
    """Copies a graph with the nodes of `read_once` as ops that give what is read alone."""

    def __init__(self, graph: Graph, smaller: set[Node]) -> None:
        super().__init__(graph)
        self.smaller = smaller

    def node(self, node: Node) -> None:
        """Rebuild one node of the old graph."""
        super().node(node)
        if node not in self.smaller:
            return
        given, first = tuple([self.mapping[value] for value in node.inputs]), node.outputs[0]
        if node.op.name == "real":
            made = real_transform(self, Application(node.op, given, node.attrs, (first.aval,)))
            if made is not None:
                self.mapping[first] = made
        elif self.spend("one part of a decomposition"):
            (self.mapping[first],) = self.emit(_FIRST[node.op.name], given, {}, (first.aval,))
