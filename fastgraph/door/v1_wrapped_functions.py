"""tf.compat.v1.wrap_function: a function traced once, whose graph programs take apart.

Rule: as in TensorFlow 1's graphs, an effect runs if what is asked for waits for it, by data or by control.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import fastgraph as tf
from fastgraph.core.tensor import current_trace
from fastgraph.door.v1_variables import VariableStore
from fastgraph.graph import ir
from fastgraph.graph.structural_ops import PLACEHOLDER
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.graphdef.func_graph import placeholder


class WrappedFunction:
    """A function traced once, with the Variables that it made. Source: tf.compat.v1.wrap_function."""

    def __init__(self, fn: Callable[..., Any], signature: Any, name: str | None) -> None:
        self._fn, self._signature, self._store = fn, list(signature), VariableStore()
        self.__name__ = name or getattr(fn, "__name__", "wrapped")

    def _run(self, *args: Any) -> Any:
        with self._store.used():
            return self._fn(*args)

    @functools.cached_property
    def _traced(self) -> Any:
        return tf.function(self._run).get_concrete_function(*self._signature)

    @functools.cached_property
    def _called(self) -> Any:
        """Return what a call runs: the traced function without the effects that its results do not wait for."""
        whole = self._traced
        if not whole.outputs or not _unneeded(whole.outputs):
            return whole
        return self._function(whole.inputs[: len(self._signature)], whole.structured_outputs)

    @functools.cached_property
    def _graph(self) -> Any:
        graph = tf.Graph()
        with graph.as_default():
            self._run(*[placeholder(spec.dtype, spec.shape) for spec in self._signature])
        return graph

    @property
    def graph(self) -> Any:
        """The graph: of a function of nothing with its own placeholders."""
        return self._traced.graph if self._signature else self._graph

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._called(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._traced, name)

    def prune(self, feeds: Any, fetches: Any, name: str | None = None, input_signature: Any = None) -> Any:
        """Return a function of `feeds`, tensors of `graph` or their names, for `fetches`, which may be operations.

        It runs what `fetches` need and nothing else; of an operation the result is None. Raises KeyError for a name
        that is not in the graph, ValueError for a placeholder that `fetches` need and `feeds` lack.
        """
        graph = self._graph_of([each for each in tf.nest.flatten([feeds, fetches]) if isinstance(each, str)])
        given = [graph.as_graph_element(each) for each in tf.nest.flatten(feeds)]
        return self._function(given, tf.nest.map_structure(graph.as_graph_element, fetches))

    def _graph_of(self, names: list[str]) -> Any:
        """The graph that has these: that of the call, or the one whose inputs are called as placeholders are."""
        known = {operation.name for operation in self.graph.get_operations()}
        return self.graph if known.issuperset([each.partition(":")[0] for each in names]) else self._graph

    def _function(self, feeds: list[Any], fetches: Any) -> Any:
        return tf.function(functools.partial(_replayed, feeds, fetches)).get_concrete_function(
            *[tf.TensorSpec(each.shape, each.dtype) for each in feeds]
        )


def _node(element: Any) -> ir.Node:
    return element.value.node if isinstance(element, SymbolicTensor) else element._node


def _needed(fetches: Iterable[Any], fed: Iterable[ir.Value] = ()) -> set[ir.Node]:
    """The nodes that tensors and operations of one graph need, down to the values that are fed."""
    elements = list(fetches)
    stop, found = set(fed), set()
    control = {} if not elements else elements[0].graph.trace.graph.control
    left = [_node(each) for each in elements if not isinstance(each, SymbolicTensor) or each.value not in stop]
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += [value.node for value in node.inputs if value not in stop]
            left += control.get(node, ())
    return found


def _unneeded(outputs: list[Any]) -> bool:
    """Return whether the graph of these has effects that they do not wait for."""
    needed = _needed(outputs)
    nodes = outputs[0].trace.graph.nodes
    return any(effect.kind != "read" for node in nodes if node not in needed for effect in ir.effects(node))


def _replayed(feeds: list[Any], fetches: Any, *tensors: Any) -> Any:
    """Make the nodes that `fetches` need once more, in the trace at hand, with `tensors` for `feeds`."""
    trace: Any = current_trace()
    flat = tf.nest.flatten(fetches)
    source: Any = next(each.trace for each in [*flat, *feeds] if isinstance(each, SymbolicTensor))
    values = {}
    for fed, tensor in zip(feeds, tensors, strict=True):
        values[fed.value] = trace.value_of(tensor)
        if fed.value in source.graph.outputs and fed.op.type == "Identity":  # a result is what the function returned
            values[fed.value.node.inputs[0]] = values[fed.value]
    nodes: dict[ir.Node, ir.Node] = {}
    needed = _needed(flat, values)
    for node in source.graph.nodes:
        if node not in needed or (node.outputs and all(value in values for value in node.outputs)):
            continue
        if node.op is PLACEHOLDER:
            outside = source.origin(node.outputs[0])
            if outside is None or getattr(outside, "trace", None) is source:
                raise ValueError(
                    f"You must feed a value for placeholder tensor '{node.name}' with dtype "
                    f"{node.outputs[0].aval.dtype.name}: it is not among the feeds of prune"
                )
            values[node.outputs[0]] = trace.value_of(outside)
            continue
        new = trace.graph.add(
            node.op,
            tuple([values[value] for value in node.inputs]),
            node.attrs,
            avals=tuple([value.aval for value in node.outputs]),
            name=node.name,
            source=node.source,
            device=node.device,
        )
        nodes[node] = new
        waits = [nodes[each] for each in source.graph.control.get(node, ()) if each in nodes]
        if waits:
            trace.graph.control[new] = tuple(waits)
        values.update(zip(node.outputs, new.outputs, strict=True))
    return tf.nest.map_structure(
        lambda each: trace.tensor(values[each.value]) if isinstance(each, SymbolicTensor) else None, fetches
    )


def wrap_function(fn: Callable[..., Any], signature: Any, name: str | None = None) -> WrappedFunction:
    """Return a function of the tensors that a list of specs says; Variables that it makes are made once.

    Of a function of nothing `graph` has its placeholders, and `prune(feeds, fetches)` makes a function of them.
    Source: tf.compat.v1.wrap_function.
    """
    return WrappedFunction(fn, signature, name)
