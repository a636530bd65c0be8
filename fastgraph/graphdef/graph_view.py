"""Graphs as users see them: operations found by name, symbolic tensors for inputs, outputs and captures.

Rule: nothing is kept here that the graph of `ir` does not say. A Graph is a view of one of those, which has one view;
an Operation is a view of one definition of `op_table`, so that what is asked for here and what is written as
GraphDef are the same.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fastgraph.core.base import nesting
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.paths import local_path
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.devices import device
from fastgraph.core.name_scopes import current_scope, name_scope
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.graph import captures, ir
from fastgraph.graph.differentiate import entering
from fastgraph.graphdef.default_graph import DefaultGraphTrace
from fastgraph.ops.control_dependencies import control_dependencies
from fastgraph.state.resource_handles import ResourceHandle

if TYPE_CHECKING:
    from fastgraph.graph.ir import Node, Value
    from fastgraph.graph.trace import GraphTrace
    from fastgraph.graphdef.node_bytes import Definition

_TENSOR_NAME = re.compile(r"(.+):(\d+)\Z")


@without(
    {"the ops in tf.raw_ops": "experimental_set_type", "tf.import_graph_def": "from_node_def", "node_def": "op_def"}
)
class Operation(ir.OperationView):
    """One operation of a graph. Source: tf.Operation."""

    __slots__ = ("__weakref__", "_found", "_node", "graph")

    def __init__(self, graph: Graph, node: Node, definition: Definition | None = None) -> None:
        self.graph = graph
        self._node = node
        self._found = definition

    @property
    def _definition(self) -> Definition:
        if self._found is None:  # made while its node was
            self.graph.elements()
        if self._found is None:
            from fastgraph.graphdef.op_table import as_is

            self._found = as_is(self._node)
        return self._found

    @property
    def name(self) -> str:
        """The name, unique in the graph."""
        return self._node.name if self._found is None else self._found.name

    type = ReadOnly[str]("_definition.type", 'The type of op, e.g. "MatMul".')

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The tensors it takes."""
        return tuple([self.graph.tensor(value) for value in self._definition.inputs])

    @property
    def outputs(self) -> list[Any]:
        """The tensors it makes."""
        return [self.graph.tensor(value) for value in self._definition.outputs]

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations it waits for besides those of its inputs."""
        return [self.graph.get_operation_by_name(name) for name in self._definition.control]

    node = ReadOnly["Node"]("_node", "The node of the graph that it shows.")

    @property
    def device(self) -> str:
        """The device asked for, "" where the placement is open."""
        return self._node.device or "" if self._found is None else self._found.device or ""

    @property
    def node_def(self) -> Any:
        """The operation as a NodeDef."""
        from fastgraph.graphdef import exporter

        return exporter.node_def(self._definition)

    @property
    def traceback(self) -> tuple[Any, ...]:
        """The lines of the user's program that made it, the innermost first."""
        return self._node.source

    def get_attr(self, name: str) -> Any:
        """Return an attribute: a number, text (bytes), a DType, a message, or a list. Raises ValueError for others."""
        from fastgraph.graphdef import exporter

        if name not in self._definition.attrs:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        return exporter.attribute(self._definition.attrs[name])

    def values(self) -> tuple[Any, ...]:
        """Return the outputs as a tuple."""
        return tuple(self.outputs)

    def colocation_groups(self) -> list[bytes]:
        """Return the groups of operations placed together: its own."""
        return [b"loc:@" + self.name.encode()]

    def run(self, feed_dict: object = None, session: object = None) -> None:
        """Raise ValueError: there are no sessions. Call a Function instead."""
        raise ValueError(
            "Cannot execute operation using `run()`: No default session is registered. Use `with sess.as_default():` "
            "or pass an explicit session to `run(session=sess)`: here, graphs run by being called (tf.function)"
        )

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"

    def __str__(self) -> str:
        return str(self.node_def)


class Elements:
    """The operations of a graph, as far as it goes, by their names, and who makes which value."""

    def __init__(self, graph: Graph, before: Elements | None) -> None:
        from fastgraph.graphdef.node_definitions import definitions

        self.n_nodes = len(graph.ir.nodes)
        self.operations: dict[str, Operation] = {}
        self.maker: dict[Value, str] = {}
        for definition in definitions(graph.ir):
            known = None if before is None else before.operations.get(definition.name)
            if known is None and definition.name == definition.node.name:
                known = graph.made.get(definition.node)
            if known is None:
                known = Operation(graph, definition.node)
            known._found = definition
            self.operations[definition.name] = known
            for value in definition.outputs:
                self.maker[value] = definition.name


@without(
    {
        "`del`, as for any object": "Dismantle",
        "get_operations()": "new_operations",
        "get_operations(), and len() of it": "num_operations",
        "add_to_collection": "add_to_collections",
        "tf.device": "colocate_with",
        "names of Variables": "container",
        "as_default() in each thread": "switch_to_thread_local",
        "the ops in tf.raw_ops": "create_op op_def_for_type",
        "tf.custom_gradient": "gradient_override_map",
        "as_graph_def().versions": "graph_def_versions",
        "tf.function": "get",
        "arguments of a tf.function": "prevent_feeding",
        "results of a tf.function": "prevent_fetching",
    }
)
class Graph:
    """A graph: its operations and tensors, and what it is as the default graph. Source: tf.Graph.

    `Graph()` is an empty one, to which ops are added within `as_default()`. That of a Function also has `inputs`,
    `outputs` and `captures`. `ir` is the graph as the compiler takes it, with `nodes` and values instead of tensors.
    """

    def __init__(self, *, of: ir.Graph | None = None) -> None:
        if of is None:
            of = ir.Graph()
            of.__dict__["public"] = self
        self.ir = of
        self.made: dict[Node, Operation] = {}  # those that ops have given
        self._elements: Elements | None = None
        self._finalized = False
        self._collections: dict[Any, list[Any]] = {}

    name = ReadOnly[str]("ir.name", "The name: of a Function's graph, the function's.")
    nodes = ReadOnly["list[Node]"]("ir.nodes", "The nodes in program order, as the compiler takes them.")

    def __iter__(self) -> Iterator[Node]:
        return iter(self.ir.nodes)

    def __bool__(self) -> bool:
        return True  # as TensorFlow's, which have no length: libraries ask whether there is a graph

    def __len__(self) -> int:
        return len(self.ir.nodes)

    def __str__(self) -> str:
        return str(self.ir)

    def __repr__(self) -> str:
        return f"FuncGraph(name={self.name}, id={id(self)})" if self.building_function else object.__repr__(self)

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """Return the graph as TensorFlow's GraphDef: all, shapes with inputs alone. Source: tf.Graph, same name."""
        from fastgraph.graphdef import exporter

        return exporter.graph_def(self.ir)

    @property
    def trace(self) -> GraphTrace:
        """The trace that builds the graph; of a graph that has none, a new one."""
        if self.ir.trace is None:
            self.ir.trace = DefaultGraphTrace(self.ir)
        return self.ir.trace

    def tensor(self, value: Value) -> Tensor:
        """Return the symbolic tensor of a value."""
        return self.trace.tensor(value)

    def operation(self, node: Node) -> Operation:
        """Return the operation that a node is, without looking at the others."""
        found = self.made.get(node)
        if found is None:
            known = None if self._elements is None else self._elements.operations.get(node.name)
            found = self.made[node] = known or Operation(self, node)
        return found

    def maker_of(self, value: Value) -> Operation:
        """Return the operation that makes a value of the graph. A constant that is asked for will be written."""
        elements = self.elements()
        if value not in elements.maker and value.node in self.ir.implied:
            self.ir.implied.discard(value.node)
            elements = self.elements(anew=True)
        if value in elements.maker:
            return elements.operations[elements.maker[value]]
        return self.operation(value.node)  # of what is not written, as the state of a generator

    def consumers_of(self, value: Value) -> list[Operation]:
        """Return the operations that take a value, in program order."""
        return [op for op in self.get_operations() if value in op._definition.inputs]

    def elements(self, anew: bool = False) -> Elements:
        """Return the operations there are now."""
        found = self._elements
        if anew:
            self.ir.__dict__.pop("_definitions", None)
        if anew or found is None or found.n_nodes != len(self.ir.nodes):
            found = self._elements = Elements(self, found)
        return found

    @property
    def operations(self) -> list[Operation]:
        """The operations in program order."""
        return self.get_operations()

    def get_operations(self) -> list[Operation]:
        """Return the operations in program order. Source: tf.Graph.get_operations."""
        return list(self.elements().operations.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation of this name. Raises KeyError if there is none, TypeError for what is no string."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor `operation:index`. Raises KeyError, or ValueError for a name of another form."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
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

    def _named(self, name: str, allow_tensor: bool, allow_operation: bool, wanted: str) -> Any:
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

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Write a drawing of the graph to `path`, by its ending SVG or (where matplotlib is there) PNG."""
        from fastgraph.graphdef import drawing

        drawing.draw(self.ir, path)

    def _repr_svg_(self) -> str:
        """Return the drawing that notebooks show."""
        from fastgraph.graphdef import drawing

        return drawing.svg(self.ir)

    # -- as the graph of a Function, a branch or a loop

    def _only_of_function(self, name: str) -> None:
        if not self.building_function:
            raise AttributeError(f"'Graph' object has no attribute {name!r}: only graphs of functions have it")

    def _structured(self, name: str) -> tuple[Any, Any]:
        self._only_of_function(name)
        if self.ir.structured is None:
            raise AttributeError(f"{name!r} is of the graph of a tf.function that has been traced")
        return self.ir.structured

    @property
    def inputs(self) -> list[Any]:
        """The placeholders: of the arguments, then of what the graph captures."""
        self._only_of_function("inputs")
        return [self.tensor(value) for value in self.ir.parameters]

    @property
    def outputs(self) -> list[Any]:
        """The tensors that are returned."""
        self._only_of_function("outputs")
        return [self.tensor(value) for value in self.ir.outputs]

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(positional arguments, keyword-only arguments) with TensorSpecs for tensors."""
        return self._structured("structured_input_signature")[0].structured_inputs

    @property
    def structured_outputs(self) -> Any:
        """The result as the Python function built it, with symbolic tensors."""
        structure = self._structured("structured_outputs")[1]
        tensors = iter(self.outputs)
        leaves = nesting.flatten(structure, expand_composites=True)
        flat = [leaf if leaf is None or isinstance(leaf, ResourceHandle) else next(tensors) for leaf in leaves]
        return nesting.pack_sequence_as(structure, flat, expand_composites=True)

    @property
    def control_outputs(self) -> list[Operation]:
        """The operations that run though nothing takes what they make, in program order: those with effects."""
        own = {node for node in self.ir.nodes if ir.effects(node)}
        return [op for op in self.get_operations() if op.node in own and op.name == op.node.name]

    def _get_control_flow_context(self) -> None:
        """Return the context of TensorFlow 1's control flow that ops are made in: None, conditions are nodes."""

    @property
    def outer_graph(self) -> Graph:
        """The graph under construction when this one was begun.

        Raises AttributeError where there was none, or it is gone: an outermost graph has none, as in TensorFlow.
        """
        if self.ir.trace is not None and self.ir.trace.parent is not None:
            around: ir.Graph | None = self.ir.trace.parent.graph
        else:
            around = None if self.ir.around is None else self.ir.around()
        if around is None:
            raise AttributeError("an outermost graph has no outer_graph")
        return around.public

    @property
    def captures(self) -> list[tuple[Any, Any]]:
        """Pairs of what the graph uses from outside, a Variable's handle for each Variable, and the placeholder."""
        self._only_of_function("captures")
        trace = self.trace
        taken = zip(trace.operands, self.ir.inputs[len(self.ir.inputs) - len(trace.operands) :], strict=True)
        both = [*taken, *[pair for pair in self.ir.captures if not isinstance(pair[0], captures.Deferred)]]
        return [(captures.shown(held), self.tensor(value)) for held, value in both]

    def _deferred(self) -> list[tuple[Any, Any]]:
        self._only_of_function("deferred_external_captures")
        deferred = [pair for pair in self.ir.captures if isinstance(pair[0], captures.Deferred)]
        return [(held.closure, self.tensor(value)) for held, value in deferred]

    @property
    def external_captures(self) -> list[Any]:
        """The tensors from outside that the graph uses, a Variable's handle for each Variable."""
        return [outside for outside, _ in self.captures]

    @property
    def internal_captures(self) -> list[Any]:
        """The placeholders that stand for `external_captures`."""
        return [inside for _, inside in self.captures]

    @property
    def deferred_external_captures(self) -> list[Any]:
        """The functions that give, for every call, what the graph uses from outside."""
        return [outside for outside, _ in self._deferred()]

    @property
    def deferred_internal_captures(self) -> list[Any]:
        """The placeholders that stand for `deferred_external_captures`."""
        return [inside for _, inside in self._deferred()]

    @property
    def variables(self) -> tuple[Any, ...]:
        """The Variables that the graph uses, but for those that are gone."""
        cells = [held() for held, _ in self.ir.captures if isinstance(held, weakref.ref)]
        found = [cell.variable() for cell in cells if cell is not None and cell.variable is not None]
        return tuple([variable for variable in found if variable is not None])

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The trainable ones among `variables`."""
        return tuple([variable for variable in self.variables if variable.trainable])

    # -- collections: lists by name, which the graph keeps for those who put things there

    @property
    def collections(self) -> list[Any]:
        """The names of the collections."""
        return list(self._collections)

    def get_all_collection_keys(self) -> list[str]:
        """Return the names of the collections that are text."""
        return [name for name in self._collections if isinstance(name, str)]

    def add_to_collection(self, name: object, value: object) -> None:
        """Append to the collection of this name."""
        self._collections.setdefault(name, []).append(value)

    def get_collection(self, name: object, scope: str | None = None) -> list[Any]:
        """Return what is in a collection; with a scope, what has a name that this regular expression begins."""
        found = self._collections.get(name, [])
        if scope is None:
            return list(found)
        return [item for item in found if hasattr(item, "name") and re.match(scope, item.name)]

    def get_collection_ref(self, name: object) -> list[Any]:
        """Return the list that is the collection."""
        return self._collections.setdefault(name, [])

    def clear_collection(self, name: object) -> None:
        """Forget a collection."""
        self._collections.pop(name, None)

    # -- as the default graph

    @contextmanager
    def as_default(self) -> Iterator[Any]:
        """A context in which ops are added to this graph. Source: tf.Graph.as_default."""
        if self.trace is current_trace():  # tapes go on recording, scopes of names and devices hold
            yield self
            return
        with entering(self.trace):
            yield self

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """A context in which names begin with `name` + "/". Source: tf.Graph.name_scope."""
        with name_scope(name or "") as scope:
            yield scope

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return the name, in the current scope, with what makes it another than all names in the graph."""
        return self.ir.unique_name(current_scope() + name, mark_as_used)

    def get_name_scope(self) -> str:
        """Return the current name scope without the last "/"."""
        return current_scope().removesuffix("/")

    def control_dependencies(self, control_inputs: list[Any] | None) -> Any:
        """Return a context whose operations wait for those given (None: for none).

        Raises TypeError for what is neither tensor nor operation. Source: tf.Graph.control_dependencies.
        """
        return control_dependencies(control_inputs)

    @contextmanager
    def device(self, device_name_or_function: str | Callable[..., Any] | None) -> Iterator[None]:
        """A context whose operations ask for a device. Source: tf.Graph.device."""
        function = device_name_or_function
        with device(function(None) if callable(function) else function):
            yield

    def finalize(self) -> None:
        """Let nothing be added any more. Source: tf.Graph.finalize."""
        self._finalized = True

    finalized = ReadOnly[bool]("_finalized", "True if nothing may be added.")

    @property
    def building_function(self) -> bool:
        """True if this is the graph of a Function, a branch or a loop."""
        return self.ir.building_function

    @property
    def seed(self) -> None:
        """None: seeds are of the process (tf.random.set_seed)."""
        return None

    def is_feedable(self, tensor: object) -> bool:
        """Return whether `tensor` is one of this graph."""
        return getattr(tensor, "graph", None) is self

    is_fetchable = is_feedable

    @property
    def version(self) -> int:
        """A number that grows with the operations."""
        return len(self.ir.nodes)


def write_graph(graph_or_graph_def: Any, logdir: str | os.PathLike[str], name: str, as_text: bool = True) -> str:
    """Write a graph, or its GraphDef, to the file `name` in a directory, which is made; return the path.

    as_text: as the text of the message, else its bytes. Raises AttributeError for what is no message.
    Source: tf.io.write_graph.
    """
    message = graph_or_graph_def.as_graph_def() if hasattr(graph_or_graph_def, "as_graph_def") else graph_or_graph_def
    written = message.SerializeToString()
    content = str(message).encode() if as_text else written
    logdir = local_path(logdir)
    path = os.path.join(logdir, name)
    os.makedirs(logdir, exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    return path
