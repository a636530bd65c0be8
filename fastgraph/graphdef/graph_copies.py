"""Copies of graphs that are written otherwise than they were traced.

Rule: nobody else holds a copy, so that whoever writes may change it; a graph that others trace from or run stays as it
is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from fastgraph.graph.ir import WITH_SUBGRAPHS, Graph, Node, Value, subgraphs
from fastgraph.graphdef.node_bytes import Definition

#: How nodes are written, by the names of their primitives.
Structure = Mapping[str, Callable[[Node], list[Definition]]]


class CopiedGraph(Graph):
    """A graph with nodes of its own; `of` is what it is a copy of, `structure` says how it is written otherwise."""

    def __init__(self, name: str, structure: Structure, of: Graph | None = None) -> None:
        super().__init__(name)
        self.structure, self.of = structure, of
        self.stated: dict[Node, list[Definition]] = {}  # what nodes are written as, whatever `structure` says
        self.values: dict[Value, Value] = {}  # by those of the graph that it is a copy of
        self.origins: dict[Value, Value] = {}

    def copy_nodes(self, nodes: Iterable[Node], inner: Callable[[Node, str, Graph], Graph]) -> None:
        """Append copies of nodes, with `inner(node, attribute, graph)` for the graphs among their attributes."""
        for node in nodes:
            outputs, attrs = node.outputs, node.attrs  # in this order: a gradient that adds results adds them last
            if node.op.step in WITH_SUBGRAPHS:
                attrs = {
                    name: inner(node, name, value) if isinstance(value, Graph) else value
                    for name, value in attrs.items()
                }
            inputs = tuple([self.values[value] for value in node.inputs])
            avals = tuple([value.aval for value in outputs])
            new = Node(node.op, inputs, attrs, avals, node.name, node.source, node.device)
            self.nodes.append(new)
            self.values.update(zip(outputs, new.outputs, strict=True))
            self.origins.update(zip(new.outputs, outputs, strict=True))

    def beside(self, nodes: Sequence[Node] = ()) -> CopiedGraph:
        """Return a copy without ends of some of these nodes."""
        result = super().beside(nodes)
        assert isinstance(result, CopiedGraph)
        return result

    def _empty(self) -> CopiedGraph:
        result = CopiedGraph(self.name, self.structure)
        result.origins = self.origins
        return result


def _leave_out_results(graph: Graph) -> None:
    """Let loops and branches not give what gradients made them give besides, where nothing takes it."""
    used = {value for node in graph.nodes for value in node.inputs}.union(graph.outputs)
    for node in graph.nodes:
        if node.op.name in ("cond", "while"):
            n = len(node.outputs)
            while n > node.attrs.get("n_carried", 1) and node.outputs[n - 1] not in used:
                n -= 1
            node.outputs = node.outputs[:n]
            for name in ("then_graph", "else_graph", "body_graph"):
                if name in node.attrs:
                    del node.attrs[name].outputs[n:]
        for inner, _ in subgraphs(node):
            if node.op.name != "call":  # whose function is written for all that call it
                _leave_out_results(inner)


def origin(graph: Graph, value: Value) -> Value:
    """Return what the trace of a graph knows one of its values as."""
    return graph.origins.get(value, value) if isinstance(graph, CopiedGraph) else value


def original(graph: Graph) -> Graph:
    """Return the graph that one is a copy of, or itself."""
    return graph.of if isinstance(graph, CopiedGraph) and graph.of is not None else graph


class Copies:
    """The copies of one act of writing: one of each graph, in which branches, loops and calls have copies as well."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self._made: dict[Graph, CopiedGraph] = {}

    def __contains__(self, graph: Graph) -> bool:
        return graph in self._made

    def of(self, graph: Graph) -> CopiedGraph:
        """Return the copy of a graph; of a copy, itself."""
        if isinstance(graph, CopiedGraph):
            return graph
        found = self._made.get(graph)
        if found is None:
            found = self._copied(graph)
            _leave_out_results(found)
        return found

    def _copied(self, graph: Graph) -> CopiedGraph:
        found = self._made.get(graph)
        if found is None:
            if graph.trace is not None:
                graph.trace.settle_names()
            found = self._made[graph] = CopiedGraph(graph.name, self.structure, graph)
            self._fill(found, graph)
        return found

    def _fill(self, copy: CopiedGraph, graph: Graph) -> None:
        outputs, nodes = list(graph.outputs), list(graph.nodes)  # in this order: results come after their nodes
        copy._names = dict(graph._names)
        copy.copy_nodes(nodes, self._inner)
        copy.inputs = [copy.values[value] for value in graph.inputs]
        copy.captures = [(held, copy.values[value]) for held, value in graph.captures]
        copy.outputs = [copy.values[value] for value in outputs]
        of_node = dict(zip(nodes, copy.nodes, strict=True))
        copy.implied = {of_node[node] for node in graph.implied if node in of_node}
        copy.listed = {of_node[node] for node in graph.listed if node in of_node}
        copy.control = {
            of_node[node]: tuple([of_node[each] for each in before if each in of_node])
            for node, before in graph.control.items()
            if node in of_node
        }
        for name in ("trace", "around", "function_name", "structured", "library", "choice"):
            setattr(copy, name, getattr(graph, name))

    def _inner(self, node: Node, name: str, graph: Graph) -> Graph:
        found = self._copied(graph)
        if name in ("then_graph", "else_graph", "body_graph"):  # a gradient that adds results gives them to these first
            del found.outputs[len(node.outputs) :]
        return found
