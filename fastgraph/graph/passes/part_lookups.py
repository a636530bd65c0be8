"""The pass over graphs that split strings only to look the parts up in a table: both are one op, without the parts.

    i, parts, n = string_split_v2(lines, sep); found = table_find(parts, default)
    becomes:      i, found, n = string_split_find(lines, sep, default)

Rule: nothing else may want the parts. They would be objects of Python, which take more time than the splitting.
"""

from __future__ import annotations

from collections import Counter

from fastgraph.graph.ir import Graph, Node
from fastgraph.graph.passes.rewriter import Rebuild


def lookups_of_parts(graph: Graph) -> dict[Node, Node]:
    """Return the nodes that split strings whose parts are only looked up, each with the node that does so."""
    if not any(node.op.name == "string_split_v2" for node in graph.nodes):
        return {}
    uses = Counter([value for node in graph.nodes for value in node.inputs] + graph.outputs)
    found = {}
    for node in graph.nodes:
        if node.op.name != "table_find":
            continue
        (keys, default), result = node.inputs, node.outputs[0].aval
        split = keys.node
        if split.op.name != "string_split_v2" or split.attrs["maxsplit"] >= 0 or uses[keys] != 1:
            continue
        if default.aval.shape == () and result.shape is not None and len(result.shape) == 1:
            found[split] = node
    return found


class InOne(Rebuild):
    """Copies a graph with each such pair as one op, where the default is there before the strings are split."""

    def __init__(self, graph: Graph, pairs: dict[Node, Node]) -> None:
        super().__init__(graph)
        self.pairs = pairs
        self.done: set[Node] = set()

    def node(self, node: Node) -> None:
        """Rebuild one node of the old graph."""
        if node in self.done:
            return
        find = self.pairs.get(node)
        default = None
        if find is not None:
            given = find.inputs[1]
            if given not in self.mapping and given.node.op.name in ("const", "placeholder"):
                super().node(given.node)
                self.done.add(given.node)
            default = self.mapping.get(given)
        if find is None or default is None or not self.spend("look up the parts of strings"):
            super().node(node)
            return
        self.source, self.device, self.name = find.source + self.callers, find.device, find.name
        where, _, shape = node.outputs
        (values,) = find.outputs
        lines, sep = (self.mapping[value] for value in node.inputs)
        avals = (where.aval, values.aval, shape.aval)
        made = self.emit("string_split_find", (lines, sep, default), {"table": find.attrs["table"]}, avals)
        self.mapping |= zip((where, values, shape), made, strict=True)
        self.done.add(find)
