"""Operations: the nodes of a graph as TensorFlow shows them, found by name, with tensors for inputs and outputs.

Rule: nothing is kept here that the graph does not say. An Operation is a view of one definition of `graphdef_ops`, so
that what is asked for here and what is written as GraphDef are the same.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fastgraph import nesting

if TYPE_CHECKING:
    from fastgraph.graph.graphdef_ops import Definition
    from fastgraph.graph.ir import Graph, Node, Value

_TENSOR_NAME = re.compile(r"(.+):(\d+)\Z")


class Operation:
    """One operation of a graph. Source: tf.Operation."""

    __slots__ = ("__weakref__", "_definition", "graph")

    def __init__(self, graph: Graph, definition: Definition) -> None:
        self.graph = graph
        self._definition = definition

    @property
    def name(self) -> str:
        """The name, unique in the graph."""
        return self._definition.name

    @property
    def type(self) -> str:
        """The type of op, e.g. "MatMul"."""
        return self._definition.type

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The tensors it takes."""
        return tuple([_tensor(self.graph, value) for value in self._definition.inputs])

    @property
    def outputs(self) -> list[Any]:
        """The tensors it makes."""
        return [_tensor(self.graph, value) for value in self._definition.outputs]

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations it waits for besides those of its inputs."""
        return [self.graph.get_operation_by_name(name) for name in self._definition.control]

    @property
    def node(self) -> Node:
        """The node of the graph that it shows."""
        return self._definition.node

    @property
    def device(self) -> str:
        """The device asked for, "" where the placement is open."""
        return self._definition.device or ""

    @property
    def node_def(self) -> Any:
        """The operation as a NodeDef."""
        from fastgraph.graph import graphdef

        return graphdef.node_def(self._definition)

    @property
    def traceback(self) -> tuple[Any, ...]:
        """The lines of the user's program that made it, the innermost first."""
        return self._definition.node.source

    def get_attr(self, name: str) -> Any:
        """Return an attribute: a number, text (bytes), a DType, a message, or a list. Raises ValueError for others."""
        from fastgraph.graph import graphdef

        if name not in self._definition.attrs:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        return graphdef.attribute(self._definition.attrs[name])

    def values(self) -> tuple[Any, ...]:
        """Return the outputs as a tuple."""
        return tuple(self.outputs)

    def colocation_groups(self) -> list[bytes]:
        """Return the groups of operations placed together: its own."""
        return [b"loc:@" + self.name.encode()]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Raise ValueError: there are no sessions. Call a Function instead."""
        raise ValueError(
            "Cannot execute operation using `run()`: No default session is registered. Use `with sess.as_default():` "
            "or pass an explicit session to `run(session=sess)`: here, graphs run by being called (tf.function)"
        )

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"

    def __str__(self) -> str:
        return str(self.node_def)


def _tensor(graph: Graph, value: Value) -> Any:
    return trace_of(graph).tensor(value)


def trace_of(graph: Graph) -> Any:
    """Return the trace that builds the graph; of a graph that has none, a new one."""
    if graph.trace is None:
        from fastgraph.graph.default_graph import DefaultGraphTrace

        graph.trace = DefaultGraphTrace(graph)
    return graph.trace


def operation_of(graph: Graph, value: Value) -> Operation:
    """Return the operation that makes a value of the graph."""
    elements = graph.elements()
    return elements.operations[elements.maker[value]]


def consumers(graph: Graph, value: Value) -> list[Operation]:
    """Return the operations that take a value, in program order."""
    return [op for op in graph.get_operations() if value in op._definition.inputs]


class Elements:
    """The operations of a graph, as far as it goes, by their names, and who makes which value."""

    def __init__(self, graph: Graph, before: Elements | None) -> None:
        from fastgraph.graph.graphdef_ops import definitions

        self.n_nodes = len(graph.nodes)
        self.operations: dict[str, Operation] = {}
        self.maker: dict[Value, str] = {}
        for definition in definitions(graph):
            known = None if before is None else before.operations.get(definition.name)
            if known is None:
                known = Operation(graph, definition)
            known._definition = definition
            self.operations[definition.name] = known
            for value in definition.outputs:
                self.maker[value] = definition.name


class GraphElements:
    """What a graph answers about its operations and tensors, and what it is as the default graph. Source: tf.Graph."""

    _elements: Elements | None = None
    _finalized = False
    around: weakref.ref[Any] | None = None  # of a Function's graph, the one that was made when its tracing began

    def elements(self: Any) -> Elements:
        """Return the operations there are now."""
        found: Elements | None = self._elements
        if found is None or found.n_nodes != len(self.nodes):
            found = self._elements = Elements(self, found)
        return found

    def get_operations(self) -> list[Operation]:
        """Return the operations in program order. Source: tf.Graph.get_operations."""
        return list(self.elements().operations.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation of this name. Raises KeyError if there is none, TypeError for what is no string."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        found: Operation = self.as_graph_element(name, allow_tensor=False, allow_operation=True)
        return found

    def get_tensor_by_name(self, name: str) -> Any:
        """Return the tensor `operation:index`. Raises KeyError, or ValueError for a name of another form."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

    def as_graph_element(self: Any, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """Return the tensor or operation that `obj`, one of the graph or a name, stands for.

        Raises KeyError for a name that is not in the graph, ValueError for a name of the wrong kind or an element of
        another graph, TypeError for other objects. Source: tf.Graph.as_graph_element.
        """
        if not (allow_tensor or allow_operation):
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        wanted = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
        if isinstance(obj, str):
            return self._named(obj, allow_tensor, allow_operation, wanted)
        if isinstance(obj, Operation) and allow_operation:
            if obj.graph is not self:
                raise ValueError(f"Operation {obj} is not an element of this graph.")
            return obj
        if hasattr(obj, "value_index") and allow_tensor:
            if obj.graph is not self:
                raise ValueError(f"Tensor {obj} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")

    def _named(self: Any, name: str, allow_tensor: bool, allow_operation: bool, wanted: str) -> Any:
        operations = self.elements().operations
        form = 'Tensor names must be of the form "<op_name>:<output_index>".'
        if ":" in name:
            if not allow_tensor:
                raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a {wanted}.")
            found = _TENSOR_NAME.match(name)
            if found is None:
                raise ValueError(f"The name {name!r} looks a like a Tensor name, but is not a valid one. {form}")
            operation = operations.get(found[1])
            missing = f"The name {name!r} refers to a Tensor which does not exist. The operation, {found[1]!r}, "
            if operation is None:
                raise KeyError(f"{missing}does not exist in the graph.")
            outputs = operation.outputs
            if int(found[2]) >= len(outputs):
                raise KeyError(f"{missing}exists but only has {len(outputs)} outputs.")
            return outputs[int(found[2])]
        if not allow_operation:
            if name in operations:
                raise ValueError(f"The name {name!r} refers to an Operation, not a {wanted}. {form}")
            raise ValueError(f"The name {name!r} looks like an (invalid) Operation name, not a {wanted}. {form}")
        if name not in operations:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return operations[name]

    def draw(self: Any, path: Any) -> None:
        """Write a drawing of the graph to `path`, by its ending SVG or (where matplotlib is there) PNG."""
        from fastgraph.graph import drawing

        drawing.draw(self, path)

    def _repr_svg_(self: Any) -> str:
        """Return the drawing that notebooks show."""
        from fastgraph.graph import drawing

        return drawing.svg(self)

    # -- as the graph of a Function

    def _of_function(self: Any) -> tuple[Any, Any]:
        if self.structured is None:
            raise AttributeError("only the graph of a tf.function has a signature, structured results and captures")
        found: tuple[Any, Any] = self.structured
        return found

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(positional arguments, keyword-only arguments) with TensorSpecs for tensors."""
        found: tuple[tuple[Any, ...], dict[str, Any]] = self._of_function()[0].structured_inputs
        return found

    @property
    def structured_outputs(self: Any) -> Any:
        """The result as the Python function built it, with symbolic tensors."""
        structure = self._of_function()[1]
        tensors = iter([_tensor(self, value) for value in self.outputs])
        leaves = nesting.flatten(structure, expand_composites=True)
        flat = [None if leaf is None else next(tensors) for leaf in leaves]
        return nesting.pack_sequence_as(structure, flat, expand_composites=True)

    def _captured(self: Any, deferred: bool) -> list[tuple[Any, Any]]:
        found = self._of_function()[0].captured(self, deferred=deferred)
        return [(outside, _tensor(self, value)) for outside, value in found]

    @property
    def control_outputs(self: Any) -> list[Operation]:
        """The operations that run though nothing takes what they make, in program order: those with effects."""
        from fastgraph.graph.ir import effects

        own = {node for node in self.nodes if effects(node)}
        return [op for op in self.get_operations() if op.node in own and op.name == op.node.name]

    @property
    def outer_graph(self: Any) -> Any:
        """The graph under construction when this one was begun; None where there was none, or it is gone."""
        if self.trace is not None and self.trace.parent is not None:
            return self.trace.parent.graph
        return None if self.around is None else self.around()

    @property
    def external_captures(self) -> list[Any]:
        """The tensors from outside that the graph uses, a Variable's handle for each Variable."""
        return [outside for outside, _ in self._captured(False)]

    @property
    def internal_captures(self) -> list[Any]:
        """The placeholders that stand for `external_captures`."""
        return [inside for _, inside in self._captured(False)]

    @property
    def deferred_external_captures(self) -> list[Any]:
        """The functions that give, for every call, what the graph uses from outside."""
        return [outside for outside, _ in self._captured(True)]

    @property
    def deferred_internal_captures(self) -> list[Any]:
        """The placeholders that stand for `deferred_external_captures`."""
        return [inside for _, inside in self._captured(True)]

    @property
    def variables(self: Any) -> tuple[Any, ...]:
        """The Variables that the graph uses, but for those that are gone."""
        cells = [held() for held, _ in self.captures if isinstance(held, weakref.ref)]
        found = [cell.variable() for cell in cells if cell is not None and cell.variable is not None]
        return tuple([variable for variable in found if variable is not None])

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The trainable ones among `variables`."""
        return tuple([variable for variable in self.variables if variable.trainable])

    # -- as the default graph

    @contextmanager
    def as_default(self: Any) -> Iterator[Any]:
        """A context in which ops are added to this graph. Source: tf.Graph.as_default."""
        from fastgraph.graph.differentiate import entering

        with entering(trace_of(self)):
            yield self

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """A context in which names begin with `name` + "/". Source: tf.Graph.name_scope."""
        from fastgraph.names import name_scope

        with name_scope(name) as scope:
            yield scope

    def get_name_scope(self) -> str:
        """Return the current name scope without the last "/"."""
        from fastgraph.names import current_scope

        return current_scope().rstrip("/")

    def control_dependencies(self, control_inputs: Any) -> Any:
        """Return a context whose operations wait for those given (None: for none).

        Raises TypeError for what is neither tensor nor operation. Source: tf.Graph.control_dependencies.
        """
        from fastgraph.context import control_dependencies

        return control_dependencies(control_inputs)

    @contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """A context whose operations ask for a device. Source: tf.Graph.device."""
        from fastgraph.devices import device

        with device(device_name_or_function):
            yield

    def finalize(self) -> None:
        """Let nothing be added any more. Source: tf.Graph.finalize."""
        self._finalized = True

    @property
    def finalized(self) -> bool:
        """Whether nothing may be added."""
        return self._finalized

    @property
    def building_function(self: Any) -> bool:
        """Whether this is the graph of a Function, a branch or a loop."""
        return self.trace is not None and self.trace.kind != "graph"

    @property
    def seed(self) -> None:
        """None: seeds are of the process (tf.random.set_seed)."""
        return None

    def is_feedable(self, tensor: Any) -> bool:
        """Whether `tensor` is one of this graph."""
        return getattr(tensor, "graph", None) is self

    is_fetchable = is_feedable

    @property
    def version(self: Any) -> int:
        """A number that grows with the operations."""
        return len(self.nodes)
