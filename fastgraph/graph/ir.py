"""The graph: nodes in program order, values between them, and the check that a graph is well formed.

Rule: a graph's node list is its program order; effects are ordered by it and by nothing else. Placeholders and
constants stand in the list like every other node.
"""

from __future__ import annotations

import functools
import keyword
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from fastgraph import errors
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import Aval, compatible
from fastgraph.core.op_errors import MAX_RANK, rank_too_large
from fastgraph.core.primitive import Primitive
from fastgraph.core.registry import get
from fastgraph.core.tensor import EagerTensor

if TYPE_CHECKING:
    from fastgraph.graphdef import graph_view


@dataclass(frozen=True)
class SourceLine:
    """A line of the user's program."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class OperationView:
    """The base of nodes as users see them (graph_view.Operation): here, so that a result can be told to be one."""

    __slots__ = ()


class Effect(NamedTuple):
    """An act of a node besides computing: "read" or "write" of a resource (None: of any), or "host" (print, assert)."""

    kind: str
    resource: Value | None


class Value:
    """An edge: the result `index` of `node`."""

    __slots__ = ("__weakref__", "aval", "index", "node")

    def __init__(self, node: Node, index: int, aval: Aval) -> None:
        self.node = node
        self.index = index
        self.aval = aval

    @property
    def name(self) -> str:
        """TensorFlow's name of the tensor: `node:index`. A cond's results are Identities of their own."""
        if self.node.op.step == "cond":
            return f"{self.node.name}/Identity" + (f"_{self.index}:0" if self.index else ":0")
        return f"{self.node.name}:{self.index}"

    def __repr__(self) -> str:
        return f"<Value {self.name} {format_aval(self.aval)}>"


class Node:
    """One application of a primitive."""

    __slots__ = ("attrs", "device", "inputs", "name", "op", "outputs", "source")

    def __init__(
        self,
        op: Primitive,
        inputs: tuple[Value, ...],
        attrs: dict[str, Any],
        avals: tuple[Aval, ...],
        name: str,
        source: tuple[SourceLine, ...] = (),
        device: str | None = None,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.name = name
        self.source = source
        self.device = device
        if len(avals) == 1:  # what most nodes have, on the shortest way
            self.outputs: tuple[Value, ...] = (Value(self, 0, avals[0]),)
        else:
            self.outputs = tuple([Value(self, i, aval) for i, aval in enumerate(avals)])

    def __repr__(self) -> str:
        return f"<Node {self.name} = {self.op.name}({', '.join(v.name for v in self.inputs)})>"


class Graph:
    """A function as data: placeholders in, values out.

    `inputs` are the placeholders of the arguments. `captures` pairs what the function uses from outside (an eager
    tensor, or a Variable's cell held weakly) with the placeholder that stands for it; a caller passes the captures
    after the inputs. A subgraph has no captures: whatever it uses is an explicit input of its node.
    """

    def __init__(self, name: str = "graph") -> None:
        self.name = name
        self.inputs: list[Value] = []
        self.captures: list[tuple[Any, Value]] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []
        self.trace: Any = None  # the GraphTrace that built it, which differentiation goes on from
        self.around: weakref.ref[Graph] | None = None  # of a Function, the graph that was made when its tracing began
        self.function_name: str | None = None  # what a GraphDef calls it, once it has a name there
        self.control: dict[Node, tuple[Node, ...]] = {}  # what the user said that a node waits for
        self.structured: Any = None  # of a Function: (what its arguments are like, its result with symbolic leaves)
        self.library: dict[str, Graph] = {}  # functions that its GraphDef has besides those that it calls
        self.choice: tuple[str, str] | None = None  # the API that the function implements, for which device: see choose
        self.at_once = False  # of a Function of XLA: it begins when all that it takes is there
        self.interpreter: Any = None  # the graph prepared for being interpreted; it may lead back here
        self.implied: set[Node] = set()  # what is written with its taker: constants of Python values, conditions
        self.listed: set[Node] = set()  # reductions over one axis that was given as a list
        self._names: dict[str, int] = {}

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def parameters(self) -> list[Value]:
        """All placeholders a caller fills, in order: inputs, then captures."""
        return [*self.inputs, *[value for _, value in self.captures]]

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return `name`, or `name_1`, `name_2`, ... so that no two nodes share a name (letters' case aside)."""
        key = name.lower()
        count = self._names.get(key, 0)
        if mark_as_used:
            self._names[key] = count + 1
        if not count:
            return name
        found = name
        while key in self._names:
            found = f"{name}_{count}"
            key = found.lower()
            count += 1
        if mark_as_used:
            self._names[key] = 1
        return found

    def add(
        self,
        op: Primitive,
        inputs: tuple[Value, ...],
        attrs: dict[str, Any],
        *,
        avals: tuple[Aval, ...] | None = None,
        name: str | None = None,
        source: tuple[SourceLine, ...] = (),
        device: str | None = None,
    ) -> Node:
        """Append the application of `op` and return its node; result types are inferred where `avals` is not given.

        An empty name stays so until the trace gives one; a name that is not a plain str is unique already.
        """
        if avals is None:
            avals = infer(op, [value.aval for value in inputs], attrs)
        if name is None:
            name = self.unique_name(node_name(op))
        elif name and type(name) is str:
            name = self.unique_name(name)
        node = Node(op, inputs, attrs, avals, name, source, device)
        self.nodes.append(node)
        return node

    def beside(self, nodes: Sequence[Node] = ()) -> Graph:
        """Return a graph without ends of some of these nodes: they wait and are named there as here."""
        result = self._empty()
        result.nodes, result.trace = [*nodes], self.trace
        result.implied, result.listed, result.control = self.implied, self.listed, self.control
        if nodes:
            result._names = dict(self._names)
        return result

    def _empty(self) -> Graph:
        return Graph(self.name)

    def with_ends_of(self, graph: Graph, mapping: Mapping[Value, Value]) -> Graph:
        """Take over the inputs, captures and outputs of a graph whose values `mapping` maps to this one's."""
        self.inputs = [mapping[value] for value in graph.inputs]
        self.captures = [(held, mapping[value]) for held, value in graph.captures]
        self.outputs = [mapping[value] for value in graph.outputs]
        return self

    @property
    def building_function(self) -> bool:
        """True if this is the graph of a Function, a branch or a loop, and not one that a user made."""
        return self.trace is not None and self.trace.kind != "graph"

    @property
    def public(self) -> graph_view.Graph:
        """The graph as users see it (tf.Graph): always the same object."""
        found: graph_view.Graph | None = self.__dict__.get("public")
        if found is None:
            from fastgraph.graphdef import graph_view

            found = self.__dict__.setdefault("public", graph_view.Graph(of=self))  # one, whoever is first
        return found

    def __str__(self) -> str:
        return format_graph(self)


def infer(op: Primitive, avals: Sequence[Aval], attrs: Mapping[str, Any]) -> tuple[Aval, ...]:
    """Return the types of the results of `op` applied to arguments of these types.

    Raises InvalidArgumentError for one of more dimensions than tensors have: compiled code has room for no more.
    """
    result = op.infer(*avals, **attrs)  # type: ignore[misc]  # what graphs have says it
    avals_of_results: tuple[Aval, ...] = result if type(result) is tuple else (result,)
    for aval in avals_of_results:
        if aval.shape is not None and len(aval.shape) > MAX_RANK:
            raise errors.InvalidArgumentError(None, None, rank_too_large(len(aval.shape)))
    return avals_of_results


# TensorFlow names a node after the Python operator where there is one, else after the op's type.
_OPERATOR_NAMES = {
    "AddV2": "add",
    "Sub": "sub",
    "Mul": "mul",
    "RealDiv": "truediv",
    "FloorDiv": "floordiv",
    "FloorMod": "mod",
    "Pow": "pow",
    "StridedSlice": "strided_slice",
    "ConcatV2": "concat",
    "Transpose": "transpose",
    "OneHot": "one_hot",
    "Range": "range",
    "If": "cond",
    "StatelessIf": "cond",
    "While": "while",
    "StatelessWhile": "while",
    "Pack": "stack",
    "Unpack": "unstack",
    "SplitV": "split",
    "PadV2": "Pad",
    "OnesLike": "ones_like",
    "RFFTND": "rfft",
    "IRFFTND": "irfft",
    "FFTND": "FFT",
    "BooleanMask": "boolean_mask",
    "ZerosLike": "zeros_like",
    "ComplexAbs": "Abs",
    "Conv3DBackpropInputV2": "Conv3DBackpropInput",
    "Conv3DBackpropFilterV2": "Conv3DBackpropFilter",
}


@functools.cache
def node_name(op: Primitive) -> str:
    """Return the name TensorFlow would give a node of this op, before it is made unique."""
    op_type: str = op.op_type or op.name
    return _OPERATOR_NAMES.get(op_type, op_type).lstrip("_")


# ---- Effects --------------------------------------------------------------------------------------------------------


#: The steps of the ops that have graphs among their attributes, or stand for one.
WITH_SUBGRAPHS = frozenset({"cond", "while", "call", "recursive_call"})


def subgraphs(node: Node) -> list[tuple[Graph, int]]:
    """Return the subgraphs among the node's attributes, each with the input of the node that is its first parameter."""
    if node.op.step not in WITH_SUBGRAPHS:
        return []
    first = 1 if node.op.name == "cond" else 0
    return [(value, first) for value in node.attrs.values() if isinstance(value, Graph)]


_NO_EFFECTS: list[Effect] = []
#: Ops on the host that touch no resource; what the others call (Python, pipelines of data) may read and write any.
_TELLING = frozenset({"Assert", "Communicate", "PrintV2", "Timestamp"})
_ANY = Effect("write", None)
#: Calls of the program's own Python.
PYTHON = frozenset({"py_func", "eager_py_func"})
#: Ops that give what they take if it is as it must be: what is known of the result is so once they have run.
CHECKS = frozenset({"within", "ensure_extents"})


def effects(node: Node) -> list[Effect]:
    """Return what the node does besides computing its results; of a node with subgraphs, what these do.

    A resource that only a subgraph touches is named by the node's own input, so that callers never look inside.
    What calls Python has a "write" of no resource besides, which stands for one of every resource.
    """
    kind = node.op.effect
    if kind is None and node.op.step not in WITH_SUBGRAPHS:
        return _NO_EFFECTS
    if node.op.step == "recursive_call":  # what it calls is not looked at: it may be what is looked at now
        found = [Effect(kind, None if i < 0 else node.inputs[i]) for kind, i in node.attrs["effects"]]
        return [*found, _ANY] if any(effect.kind == "host" for effect in found) else found
    found = []
    if kind == "host":
        found.append(Effect("host", None))
        if node.op.op_type not in _TELLING:
            found.append(_ANY)
    elif kind is not None:
        found.append(Effect(kind, node.inputs[0]))
    for graph, first in subgraphs(node):
        positions: dict[Value, int] = {}
        for inner in graph.nodes:
            if inner.op.effect is None and inner.op.step not in WITH_SUBGRAPHS:
                continue
            for effect in effects(inner):
                outer = None
                if effect.resource is not None:
                    positions = positions or {value: i for i, value in enumerate(graph.parameters)}
                    outer = node.inputs[first + positions[effect.resource]]
                if (translated := Effect(effect.kind, outer)) not in found:
                    found.append(translated)
    return found


def is_pure(node: Node) -> bool:
    """Return whether the node only computes: it may be dropped when unused and merged with its like."""
    return not effects(node)


def control_inputs(
    nodes: Sequence[Node], apart: bool = False, known: Mapping[Node, list[Effect]] | None = None
) -> list[tuple[int, ...]]:
    """Return for each node the positions of the earlier nodes it must wait for because of effects.

    Per resource, a write waits for the reads since the last write (or for that write) and a read for the last write.
    Host effects happen one after the other, each after the writes before it, for it may end the run, and before those
    after it; where it calls Python, it is a write of every resource. With `apart`, as in TensorFlow, they wait for one
    another alone. Only the nearest such nodes are named: the rest follows. `known` has the effects of all nodes that
    have any, where they are known.
    """
    last_write: dict[Value | None, int] = {}
    reads: dict[Value | None, list[int]] = {}
    last_host, last_call = -1, -1  # on the host, and of them one that calls Python
    writes: list[int] = []  # since the last host effect
    waits: list[tuple[int, ...]] = []
    for i, node in enumerate(nodes):
        found = effects(node) if known is None else known.get(node, _NO_EFFECTS)
        if not found:
            waits.append(())
            continue
        kind, resource = found[0]
        if len(found) == 1 and resource is not None:  # nearly all
            if kind == "read":
                nearest = [last_write.get(resource, -1), last_call]
                reads.setdefault(resource, []).append(i)
            else:
                nearest = [-1 if apart else last_host, last_write.get(resource, -1), *reads.get(resource, ())]
                if kind == "write":
                    last_write[resource], reads[resource] = i, []
                    writes.append(i)
            waits.append(tuple(sorted({*nearest} - {-1})))
            continue
        before: set[int] = set()
        found = [effect for effect in found if not (apart and effect == _ANY)]
        for kind, resource in found:
            if kind == "host":
                before.update((last_host, *(() if apart else writes)))
            elif resource is None:  # any
                before.update([each for readers in reads.values() for each in readers])
            elif kind == "read":
                before.update((last_write.get(resource, -1), last_call))
            else:
                before.update((-1 if apart else last_host, last_write.get(resource, -1), *reads.get(resource, ())))
        for kind, resource in found:
            if kind == "read":
                reads.setdefault(resource, []).append(i)
        for kind, resource in found:
            if kind == "host":
                last_host, writes = i, []
            elif resource is None:
                last_call = i
                last_write.clear()
                reads.clear()
            elif kind == "write":
                last_write[resource] = i
                reads[resource] = []
        if last_host != i and any(kind == "write" for kind, _ in found):
            writes.append(i)
        before -= {i, -1}
        waits.append(tuple(sorted(before)))
    return waits


# ---- Copies ---------------------------------------------------------------------------------------------------------


def copy(graph: Graph, name: str | None = None) -> tuple[Graph, dict[Value, Value]]:
    """Return a copy of `graph` (subgraphs are shared) and the map from its values to the copy's."""
    result = Graph(name or graph.name)
    result._names = dict(graph._names)
    mapping: dict[Value, Value] = {}
    for node in graph.nodes:
        copy_node(node, result, mapping)
    result.with_ends_of(graph, mapping)
    return result, mapping


def copy_node(node: Node, into: Graph, mapping: dict[Value, Value]) -> Node:
    """Append a copy of a node of another graph, under its own name; `mapping` leads from that graph's values."""
    inputs = tuple([mapping[value] for value in node.inputs])
    avals = tuple([value.aval for value in node.outputs])
    new = Node(node.op, inputs, node.attrs, avals, node.name, node.source, node.device)
    into.nodes.append(new)
    mapping.update(zip(node.outputs, new.outputs, strict=True))
    return new


def alone(node: Node, taken: Sequence[int]) -> Graph:
    """Return a graph of one node and of the constants that it takes; its operands of the numbers `taken` are inputs."""
    graph = Graph(node.name)
    mapping: dict[Value, Value] = {}
    operands: list[Value] = []
    for i, value in enumerate(node.inputs):
        if i in taken:
            aval = value.aval.without_value()
            attrs = {"dtype": aval.dtype, "shape": aval.shape, "name": "operand"}
            operands.append(graph.add(get("placeholder"), (), attrs, avals=(aval,), name="operand").outputs[0])
            graph.inputs.append(operands[-1])
        else:
            operands.append(mapping.get(value) or copy_node(value.node, graph, mapping).outputs[value.index])
    avals = tuple([value.aval for value in node.outputs])
    own = graph.add(node.op, tuple(operands), node.attrs, avals=avals, name=node.name, source=node.source)
    graph.outputs = [*own.outputs]
    return graph


def splice(graph: Graph, into: Graph, arguments: Sequence[Value], *, prefix: str = "") -> list[Value]:
    """Append the nodes of `graph` to `into` with `arguments` for its parameters; return the values of its outputs."""
    mapping: dict[Value, Value] = dict(zip(graph.parameters, arguments, strict=True))
    for node in graph.nodes:
        if node.op.name == "placeholder":
            continue
        new = into.add(
            node.op,
            tuple([mapping[value] for value in node.inputs]),
            node.attrs,
            avals=tuple([value.aval for value in node.outputs]),
            name=prefix + node.name,
            source=node.source,
            device=node.device,
        )
        mapping.update(zip(node.outputs, new.outputs, strict=True))
    return [mapping[value] for value in graph.outputs]


def uses(graph: Graph) -> dict[Value, list[Node]]:
    """Return for each value the nodes that take it, in program order (outputs of the graph are not counted)."""
    found: dict[Value, list[Node]] = {}
    for node in graph.nodes:
        for value in node.inputs:
            found.setdefault(value, []).append(node)
    return found


# ---- The check ------------------------------------------------------------------------------------------------------


def verify(graph: Graph, *, devices: Callable[[str], bool] | None = None) -> Graph:
    """Return `graph` if it is well formed: every value defined before use, every type what inference gives again,
    attributes serialisable, devices known, names unique, subgraphs well formed and closed.

    Raises InternalError that shows the node with its neighbours and the user's source line.
    """
    defined: set[Value] = set()
    names: set[str] = set()
    for i, node in enumerate(graph.nodes):
        try:
            _verify_node(graph, node, defined, devices)
            if node.name.lower() in names:
                raise _Flaw(f"its name {node.name!r} is taken")
        except _Flaw as flaw:
            raise errors.InternalError(None, None, _explain(graph, i, str(flaw))) from flaw.__cause__
        names.add(node.name.lower())
        defined.update(node.outputs)
    for what, values in (("input", graph.parameters), ("output", graph.outputs)):
        for i, value in enumerate(values):
            if value not in defined:
                raise errors.InternalError(None, None, f"{what} {i} of graph {graph.name!r} is not made by it: {value}")
    for value in graph.parameters:
        if value.node.op.name != "placeholder":
            raise errors.InternalError(None, None, f"graph {graph.name!r} takes {value}, which is no placeholder")
    if len(set(graph.parameters)) != len(graph.parameters):
        raise errors.InternalError(None, None, f"a placeholder of graph {graph.name!r} stands for two parameters")
    return graph


class _Flaw(Exception):
    """One node is malformed: the text says how."""


def _verify_node(graph: Graph, node: Node, defined: set[Value], devices: Callable[[str], bool] | None) -> None:
    for value in node.inputs:
        if value not in defined:
            raise _Flaw(f"it takes {value}, which is not defined before it in this graph")
    for i, value in enumerate(node.outputs):
        if value.node is not node or value.index != i:
            raise _Flaw(f"its result {i} belongs to {value.node!r}")
    if node.op.name == "placeholder" and node.outputs[0] not in graph.parameters:
        raise _Flaw("it is a placeholder that no parameter fills")
    for name, attr in node.attrs.items():
        if not is_serialisable(attr):
            raise _Flaw(f"its attribute {name} = {attr!r} cannot be written to a file")
    if node.device is not None and devices is not None and not devices(node.device):
        raise _Flaw(f"its device {node.device!r} does not exist")
    for subgraph, first in subgraphs(node):
        if subgraph.captures and node.op.name != "call":  # what a called function captures, the call passes
            raise _Flaw(f"its subgraph {subgraph.name!r} captures from outside")
        arguments, parameters = node.inputs[first:], subgraph.parameters
        if len(arguments) != len(parameters):
            raise _Flaw(f"its subgraph {subgraph.name!r} takes {len(parameters)} arguments, not {len(arguments)}")
        for argument, parameter in zip(arguments, parameters, strict=True):
            # A shape that is noted of an argument (set_shape) may get lost on the way; a contradiction may not come up.
            if argument.aval.dtype != parameter.aval.dtype or not compatible(parameter.aval.shape, argument.aval.shape):
                raise _Flaw(f"it passes {argument} for {parameter} of {subgraph.name!r}")
        verify(subgraph, devices=devices)
    try:
        avals = infer(node.op, [value.aval for value in node.inputs], node.attrs)
    except Exception as error:
        raise _Flaw(f"inference fails: {type(error).__name__}: {error}") from error
    if len(avals) != len(node.outputs):
        raise _Flaw(f"it has {len(node.outputs)} results, inference gives {len(avals)}")
    for value, aval in zip(node.outputs, avals, strict=True):
        # A noted shape may say more than inference does (set_shape), or less (an input became a constant since then),
        # never something else.
        if value.aval.dtype != aval.dtype or not compatible(aval.shape, value.aval.shape):
            raise _Flaw(f"its result {value.index} is noted as {format_aval(value.aval)}, inferred {format_aval(aval)}")


def is_serialisable(attr: object) -> bool:
    """Return whether an attribute is a number, string, bytes, bool, None, DType, tensor, graph, or a tuple of such."""
    if attr is None or isinstance(attr, bool | int | float | complex | str | bytes | DType | Graph):
        return True
    if isinstance(attr, tuple):
        return all(is_serialisable(item) for item in attr)
    return isinstance(attr, EagerTensor)


def _explain(graph: Graph, position: int, flaw: str) -> str:
    """Return the text for a malformed node: what is wrong, where the user wrote it, and the nodes around it."""
    node = graph.nodes[position]
    lines = [f"node {node.name!r} ({node.op.name}) of graph {graph.name!r} is malformed: {flaw}"]
    if node.source:
        lines.append(f"  written at {node.source[0]}")
    for i in range(max(position - 2, 0), min(position + 3, len(graph.nodes))):
        mark = "->" if i == position else "  "
        lines.append(f"  {mark} {_format_node(graph.nodes[i], {})}")
    return "\n".join(lines)


# ---- Printing: every graph reads as a Python program ----------------------------------------------------------------


def format_aval(aval: Aval) -> str:
    """Return e.g. `float32[2, None]`, `float32[...]` for an unknown rank."""
    if aval.shape is None:
        return f"{aval.dtype.name}[...]"
    return f"{aval.dtype.name}[{', '.join(str(size) for size in aval.shape)}]"


def format_graph(graph: Graph, name: str | None = None) -> str:
    """Return the graph as the text of a Python function, one line a node, types and source lines as comments."""
    lines: list[str] = []
    identifiers: dict[Value, str] = {}
    _format_body(graph, name or graph.name, "", lines, identifiers)
    return "\n".join(lines)


def _identifier(text: str) -> str:
    name = "".join(c if c.isalnum() else "_" for c in text)
    if keyword.iskeyword(name):
        return name + "_"
    return name if name and not name[0].isdigit() else "_" + name


def _format_body(graph: Graph, name: str, indent: str, lines: list[str], identifiers: dict[Value, str]) -> None:
    for value in graph.parameters:
        identifiers[value] = _identifier(value.node.name)
    parameters = ", ".join(f"{identifiers[value]}: {format_aval(value.aval)!r}" for value in graph.parameters)
    lines.append(f"{indent}def {_identifier(name)}({parameters}):")
    inner = indent + "    "
    for node in graph.nodes:
        if node.op.name == "placeholder":
            continue
        for attr, subgraph in node.attrs.items():
            if isinstance(subgraph, Graph):
                _format_body(subgraph, f"{node.name}_{attr}", inner, lines, identifiers)
        lines.append(inner + _format_node(node, identifiers))
    returned = ", ".join(identifiers.get(value, _identifier(value.name)) for value in graph.outputs)
    lines.append(f"{inner}return {returned}".rstrip())


def _format_node(node: Node, identifiers: dict[Value, str]) -> str:
    base = _identifier(node.name)
    for value in node.outputs:
        identifiers[value] = base if len(node.outputs) == 1 else f"{base}__{value.index}"
    arguments = [identifiers.get(value, _identifier(value.name)) for value in node.inputs]
    for name, attr in node.attrs.items():
        arguments.append(f"{name}={_format_attr(node, name, attr)}")
    results = ", ".join(identifiers[value] for value in node.outputs)
    types = ", ".join(format_aval(value.aval) for value in node.outputs)
    where = f"  {node.source[0]}" if node.source else ""
    device = f"  on {node.device}" if node.device else ""
    call = f"{_identifier(node.op.name)}({', '.join(arguments)})"
    return f"{results} = {call}  # {types}{device}{where}" if results else f"{call}  #{device}{where}"


def _format_attr(node: Node, name: str, attr: object) -> str:
    if isinstance(attr, Graph):
        return _identifier(f"{node.name}_{name}")
    if isinstance(attr, DType):
        return repr(attr.name)
    if isinstance(attr, tuple):
        items = [_format_attr(node, name, item) for item in attr]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if isinstance(attr, EagerTensor):
        array = attr.numpy()
        if isinstance(array, bytes):
            return repr(array)
        return repr(array.tolist()) if array.size <= 8 else "..."
    return repr(attr)
