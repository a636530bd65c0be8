"""The names of the ops in a graph."""

from __future__ import annotations

from collections.abc import Iterator

from fastgraph.graph.ir import Graph


def ops_in(graph: Graph) -> Iterator[str]:
    """The primitives' names, node by node, those of subgraphs after their node's."""
    for node in graph:
        yield node.op.name
        for value in node.attrs.values():
            if isinstance(value, Graph):
                yield from ops_in(value)
