"""GraphDefs as graphs: operations that others wrote become nodes of the graph that is built now.

Rule: what a type of operation is says the table of `op_table`, read backwards; the types that become several
primitives are in `import_ops`. Constants are made when something takes them as tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from fastgraph.composites.lookup_primitives import Table
from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.gc_pause import resting
from fastgraph.core.base.shapes import Aval, TensorShape, generalises
from fastgraph.core.conversion import constant
from fastgraph.core.name_scopes import current_scope, name_scope
from fastgraph.core.native.buffer import Cell
from fastgraph.core.registry import get, public_function
from fastgraph.core.tensor import EagerTensor, Tensor, convert, current_trace
from fastgraph.errors import NotFoundError, OpError
from fastgraph.graph import control_flow
from fastgraph.graph.ir import Node
from fastgraph.graphdef import import_datasets, raw_ops
from fastgraph.graphdef.graph_view import Graph
from fastgraph.graphdef.import_calls import OPENING_FILES, CustomGradient, Library
from fastgraph.graphdef.import_datasets import Held
from fastgraph.graphdef.import_lists import ON_LISTS, TensorList, UnevenList
from fastgraph.graphdef.import_ops import COMPOSITES, VARIANTS, Broadcast, sum_over_broadcast
from fastgraph.graphdef.import_random import seeded
from fastgraph.graphdef.import_resources import RESOURCES
from fastgraph.graphdef.import_values import attribute, attributes, field_of
from fastgraph.graphdef.message_types import Enum
from fastgraph.graphdef.messages import GraphDef, Message
from fastgraph.graphdef.op_table import Dims, Unreadable, read, results_of, rows_for, signatures
from fastgraph.graphdef.wire_format import parsed, sealed_message
from fastgraph.ops.families import bind_named, invalid
from fastgraph.ops.python_functions import held_by


def import_graph_def(
    graph_def: object,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: object = None,
    producer_op_list: object = None,
) -> list[Any] | None:
    """Add the operations of a GraphDef to the graph that is built now, their names after `name` ("import") + "/".

    `input_map` gives tensors for names of the GraphDef's own; `return_elements` names the tensors ("x:0") and
    operations ("x") to return. In eager mode the graph is a new one. Raises TypeError, ValueError, or NotFoundError for
    a type of operation that has no equal here. Source: tf.import_graph_def.
    """
    with resting:
        return _import(graph_def, input_map, return_elements, name)


def _import(
    graph_def: object, input_map: Mapping[str, Any] | None, return_elements: Sequence[str] | None, name: str | None
) -> list[Any] | None:
    serialize = getattr(graph_def, "SerializeToString", None)
    if isinstance(graph_def, GraphDef):
        definition: Message = graph_def
    elif isinstance(graph_def, bytes):
        definition = parsed(graph_def, "GraphDef")
    elif serialize is not None:
        definition = sealed_message(bytes(serialize()), "GraphDef")
    else:
        raise TypeError("Argument `graph_def` must be a GraphDef proto.")
    if input_map is not None and not isinstance(input_map, Mapping):
        raise TypeError(f"Argument `input_map` must be a dictionary. Obtained {type(input_map).__name__}")
    wanted = [] if return_elements is None else list(return_elements)
    for element in wanted:
        if not isinstance(element, str):
            raise TypeError(f"Argument `return_elements` must be a list of strings. Obtained {element!r}")
    given = {_full(key): value for key, value in (input_map or {}).items()}
    trace = current_trace()
    if trace is None:
        with Graph().as_default():
            return _imported(definition, given, wanted, return_elements is not None, name)
    return _imported(definition, given, wanted, return_elements is not None, name)


def _imported(
    definition: Message, input_map: dict[str, Any], wanted: list[str], returns: bool, name: str | None
) -> list[Any] | None:
    held = field_of(definition, "library")
    library = Library([] if held is None else field_of(held, "function", []))
    nodes = field_of(definition, "node", [])
    names = {node.name for node in nodes}
    missing = [key for key in input_map if key.partition(":")[0] not in names]
    if missing:
        raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{', '.join(missing)}]")
    for element in wanted:
        if element.partition(":")[0] not in names:
            what = "tensor" if ":" in element else "node"
            raise ValueError(f"Requested return {what} {element!r} not found in graph def")
    resources = {f"{node.name}:0" for node in nodes if node.op == "Placeholder" and _dtype_of(node) == RESOURCE}
    scope = "import" if name is None else name
    with name_scope(scope) if scope else nullcontext():
        mapped = _mapped(input_map, resources, name)
        body = Body(nodes, mapped, library)
        body.run()
        missing = [key for key in mapped if not body.has(key)]
        if missing:
            raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{', '.join(missing)}]")
        if not returns:
            return None
        return [body.tensor(element) if ":" in element else body.operation(element) for element in wanted]


def _mapped(given: dict[str, Any], resources: set[str], name: str | None) -> dict[str, Any]:
    """Return the tensors, of Variables the cells, that stand for tensors of the GraphDef."""
    found: dict[str, Any] = {}
    values = {}
    for key, value in given.items():
        cell = getattr(value, "__fg_cell__", None)
        if cell is not None and key in resources:
            found[key] = cell
        elif isinstance(value, Tensor) or cell is not None:
            found[key] = convert(value)
        else:
            found[key] = None  # keeps its place
            values[key] = value
    if values and name == "":
        raise ValueError(
            "tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor values. Try calling "
            "tf.convert_to_tensor() on `input_map` values before calling tf.import_graph_def()."
        )
    if values:
        with name_scope("_inputs"):
            found.update({key: constant(value) for key, value in values.items()})
    return found


def _dtype_of(node: Message) -> Any:
    return getattr(node.attr.get("dtype"), "type", None)


def _full(name: str) -> str:
    return name if ":" in name else f"{name}:0"


RESOURCE = Enum("DT_RESOURCE")
#: Attributes that are types alone: what they are read as does not depend on what is known of the inputs.
_PLAIN = frozenset({"T", "Tidx", "Treal", "Tcomplex"})
_OWN = (TensorList, UnevenList, Broadcast, Table, Cell, Held)  # what is no tensor here
_OLD_LOOPS = frozenset({"Enter", "Exit", "Merge", "NextIteration", "RefSwitch", "Switch"})

# ---- Running the nodes of a GraphDef or of a function ---------------------------------------------------------------


class Body:
    """The nodes of a GraphDef, or of a function: made one after the other, each from the tensors before it.

    `values` has what is given from outside instead of a tensor of theirs; the node that makes such a one is there all
    the same, and what waits for it waits for that.
    """

    def __init__(self, nodes: Sequence[Message], values: dict[str, Any], library: Library) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.values = values  # "name:0" -> tensor; of constants, eager ones
        self.library = library
        self.texts: dict[str, tuple[Message, list[Any]]] = {}
        self.given = frozenset(values)
        self.made: dict[str, Node] = {}  # what stands for a node of theirs, where it has become one
        self.counts: dict[str, int] = {}  # how many results a node has that is mapped
        self.unfed: dict[str, Message] = {}  # placeholders for which nothing is given
        trace: Any = current_trace()
        self.control = trace.control  # what all of it waits for
        self.taken = {_full(each) for node in nodes for each in field_of(node, "input", []) if not each.startswith("^")}
        self.known: dict[Any, Any] = {}

    def run(self, wanted: Sequence[str] | None = None) -> None:
        """Make all nodes, or those that `wanted` names need, and those with effects."""
        for name in self._order():
            self._make(self.nodes[name])

    def _order(self) -> list[str]:
        """The names so that each comes after what it takes. Raises ValueError for what is not there, or in a circle.

        Raises NotFoundError for loops of the old kind.
        """
        old = next((node for node in self.nodes.values() if node.op in _OLD_LOOPS), None)
        if old is not None:
            raise NotFoundError(
                None,
                None,
                f"Node '{old.name}': loops and branches as {old.op} have no equal here; write the graph with While and "
                "If (convert_variables_to_constants_v2(..., lower_control_flow=False))",
            )
        order: list[str] = []
        state: dict[str, int] = {}
        for root in self.nodes:
            stack = [(root, False)]
            while stack:
                name, done = stack.pop()
                if done:
                    state[name] = 2
                    order.append(name)
                    continue
                if state.get(name):
                    continue
                state[name] = 1
                stack.append((name, True))
                for given in field_of(self.nodes[name], "input", []):
                    source = given.lstrip("^").partition(":")[0]
                    if state.get(source) == 2:
                        continue
                    if source in self.nodes:
                        if state.get(source) == 1:
                            raise ValueError(f"Node '{name}': its input '{given}' comes after it, in a circle")
                        stack.append((source, False))
                    elif self._key(given) not in self.values and not given.startswith("^"):
                        raise ValueError(f"Node '{name}': Unknown input node '{given}'")
        return order

    def _key(self, given: str) -> str:
        """The place of a reference: `node`, `node:1`, in functions `node:result:0` or an argument's name."""
        name, _, rest = given.partition(":")
        if ":" not in rest:
            return f"{name}:{rest or 0}"
        argument, _, index = rest.partition(":")
        node = self.nodes.get(name)
        at = 0
        known = None if node is None else results_of(node.op) or raw_ops.results_of(node.op)
        if node is not None and node.op in import_datasets.SERVED:
            at = import_datasets.place(node, argument)
        elif node is not None and node.op in self.library:
            at = [each.name for each in field_of(self.library[node.op].signature, "output_arg", [])].index(argument)
        elif known is None and self.counts.get(name, 1) > 1:
            raise invalid(f"Node '{name}': which result of {self.nodes[name].op} '{argument}' is, is not known")
        for output in known or ():
            if output.name == argument:
                break
            at += 1 if output.number is None else len(self._list_of(node, output))
        if not index.isdecimal():
            raise ValueError(f"'{given}' names no tensor")
        return f"{name}:{at + int(index)}"

    def _list_of(self, node: Any, output: Any) -> range:
        value = attribute(node.attr[output.kind if output.number == "*" else output.number])
        return range(len(value) if isinstance(value, list) else int(value or 0))  # 0 is not always written

    def has(self, key: str) -> bool:
        """Return whether there is such a tensor, given or made."""
        name, _, index = key.partition(":")
        return int(index) < self.counts.get(name, 1)

    def lazy(self, given: str) -> Any:
        """Return a tensor, of a constant an eager one."""
        key = given if given in self.values else self._key(given)
        name = key.partition(":")[0]
        if key not in self.values and name in self.texts:  # a text that is not printed alone
            node = self.texts[name][0]
            self._enter(name, self._results(node, self._given(node), attributes(node)))
        if key not in self.values and name in self.unfed:
            dtype = attribute(self.unfed[name].attr["dtype"])
            raise invalid(
                f"You must feed a value for placeholder tensor '{name}' with dtype {dtype.name}: give it in "
                "input_map, since a Function's arguments are its own"
            )
        if key not in self.values:
            raise ValueError(f"Tensor '{key}' is not made by its operation, or has no equal here")
        return self.values[key]

    def tensor(self, given: str) -> Any:
        """Return a tensor of the graph; a constant becomes a node."""
        found = self.lazy(given)
        if isinstance(found, EagerTensor):
            name = given.partition(":")[0]
            found = self.values[self._key(given)] = self._constant(name, found)
            self.made[name] = found.value.node
        return found

    def _with_axes(self, given: list[str], lazy: list[Any]) -> list[str]:
        """Return the names of inputs, where axes that were broadcast are tensors."""
        found = list(given)
        for i, value in enumerate(lazy):
            if isinstance(value, Broadcast):
                found[i] = f"({given[i].replace(':', '/')}):0"  # no operation is called so
                if found[i] not in self.values:
                    self.values[found[i]] = value.axes()
        return found

    def _constant(self, name: str, value: EagerTensor) -> Any:
        trace: Any = current_trace()
        before, trace.control = trace.control, self._control(self.nodes[name])
        try:
            found = trace.constant(value)
            trace.name_constant(found, name)
        finally:
            trace.control = before
        return found

    def _control(self, node: Message) -> Any:
        waits = [made for each in field_of(node, "input", []) if (made := self._waited(each)) is not None]
        return (*self.control, (waits, set())) if waits else self.control

    def operation(self, name: str) -> Any:
        """Return the operation of this name."""
        if f"{name}:0" not in self.given and f"{name}:0" in self.values:
            return self.tensor(f"{name}:0").op
        trace: Any = current_trace()
        if name not in self.made:
            raise ValueError(f"Operation '{name}' has no equal here")
        return trace.operation(self.made[name])

    def _make(self, node: Message) -> None:
        """Make a node, and with it those that it waits for."""
        trace: Any = current_trace()
        trace.control = self._control(node)
        n = len(trace.graph.nodes)
        try:
            self._make_one(node)
        except (LookupError, AttributeError, ArithmeticError, AssertionError, UnicodeError, RuntimeError) as error:
            if isinstance(error, OpError | NotImplementedError):
                raise
            what = f"{type(error).__name__}: {error}"
            text = f"Node '{node.name}' ({node.op}) is not as an operation of this type is written: {what}"
            raise invalid(text) from error
        finally:
            trace.control = self.control
        if len(trace.graph.nodes) > n:
            self.made.setdefault(node.name, trace.graph.nodes[-1])

    def _waited(self, given: str) -> Node | None:
        name = given[1:]
        if not given.startswith("^"):
            return None
        if isinstance(self.values.get(f"{name}:0"), EagerTensor) and f"{name}:0" not in self.given:
            self.tensor(f"{name}:0")
        return self.made.get(name)

    def _make_one(self, node: Message) -> None:
        name, op = node.name, node.op
        trace: Any = current_trace()
        if op.startswith("Placeholder") and f"{name}:0" in self.given and trace.kind != "graph":
            return  # a Function's placeholders are its arguments
        attrs = attributes(node)
        given = self._given(node)
        if op == "Const":
            self._enter(name, attrs["value"])
            if f"{name}:0" in self.given:
                self.made[name] = self._constant(name, attrs["value"]).value.node
            elif f"{name}:0" not in self.taken:
                self.tensor(f"{name}:0")
        elif op == "StringFormat":
            self.texts[name] = node, [self.lazy(each) for each in given]
        elif op == "NoOp":
            bind_named(name, get("no_op"), (), {})
        elif op.startswith("Placeholder") and not given and trace.kind != "graph":
            self.unfed[name] = node
        else:
            self._enter(name, self._results(node, given, attrs))

    def _given(self, node: Message) -> list[str]:
        return [each for each in field_of(node, "input", []) if not each.startswith("^")]

    def _enter(self, name: str, results: Any) -> None:
        several = isinstance(results, tuple | list) and not isinstance(results, _OWN)
        for i, result in enumerate(results if several else [results]):
            self.counts[name] = i + 1
            if isinstance(result, (Tensor, *_OWN)) and f"{name}:{i}" not in self.given:
                self.values[f"{name}:{i}"] = result

    def _results(self, node: Message, given: list[str], attrs: dict[str, Any]) -> Any:
        name, op = node.name, node.op
        if op == "Identity" and isinstance(held := self.lazy(given[0]), TensorList | UnevenList | Table | Cell | Held):
            return held
        if op == "PrintV2" and given[0].partition(":")[0] in self.texts:
            return self._print(given[0].partition(":")[0], attrs)
        if op in OPENING_FILES:
            self.library.check_opening(op, name, self.lazy(given[0]))
        if op in import_datasets.SERVED:
            return import_datasets.results(self, name, op, [self.lazy(each) for each in given], attrs)
        if op in RESOURCES:
            return RESOURCES[op](self.library, name, [self.tensor(each) for each in given], attrs)
        if op == "IdentityN" and (stated := self.library.gradients.get(attrs.get("_gradient_op_type", ""))) is not None:
            return _with_gradient(self, [self.tensor(each) for each in given], stated)
        if op in self.library:  # a call as old graphs have it
            return _call(self, name, [self.tensor(each) for each in given], {"f": op})
        if op in STRUCTURE:
            return STRUCTURE[op](self, name, [self.tensor(each) for each in given], attrs)
        lazy = [self.lazy(each) for each in given]
        if op == "ZerosLike" and isinstance(lazy[0], Held):
            return import_datasets.zeros_of(lazy[0])
        if op in ON_LISTS and isinstance(lazy[0], TensorList):
            return ON_LISTS[op](name, lazy, attrs)
        if any(isinstance(each, Broadcast) for each in lazy):
            found = sum_over_broadcast(name, op, [self.tensor(each) for each in given])
            return found if found is not None else self._results(node, self._with_axes(given, lazy), attrs)
        if op in COMPOSITES:
            with seeded(attrs):
                return COMPOSITES[op](name, [self.tensor(each) for each in given], attrs)
        try:
            found = self._read(op, lazy, attrs)
        except Unreadable as reason:
            if op in VARIANTS:
                return VARIANTS[op](name, [self.tensor(each) for each in given], attrs)
            raise NotFoundError(None, None, f"Node '{name}': {reason} has no equal here") from None
        if found is None:
            with seeded(attrs):
                made = raw_ops.by_public_function(op, name, [self.tensor(each) for each in given], attrs)
            if made is not None:
                return made
            raise NotFoundError(None, None, f"Op type not registered '{op}': node '{name}' has no equal here")
        primitive, taken, ours = found
        inputs = tuple([self.tensor(given[i]) for i in taken])
        try:
            return bind_named(name, get(primitive), inputs, ours)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Node '{name}' ({op}): {error}") from error

    def _read(self, op: str, lazy: list[Any], attrs: dict[str, Any]) -> Any:
        """The primitive that an operation is, see `read`; operations of few attributes alike are read once."""
        key = None
        if attrs.keys() <= _PLAIN:
            key = (op, len(lazy), tuple(attrs.items()))
            found = self.known.get(key)
            if found is not None:
                return (found[0], found[1], dict(found[2]))
        found = read(op, [_aval(tensor) for tensor in lazy], attrs)
        if key is not None and found is not None and len(found[1]) == len(lazy):
            self.known[key] = found
        return found

    def _print(self, text: str, attrs: dict[str, Any]) -> None:
        node, values = self.texts[text]
        said = {key: attribute(value) for key, value in node.attr.items()}
        pieces = said.get("template", "%s").split(said.get("placeholder", "%s"))
        end = attrs.get("end", "\n")
        pieces[-1] += end
        stream = attrs.get("output_stream", "stderr")
        bind_named(
            None, get("print"), tuple([convert(value) for value in values]),
            {"pieces": tuple(pieces), "summarize": int(said.get("summarize", 3)), "stream": stream},
        )  # fmt: skip

    def function(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """Return the results of a function of the library for these tensors."""
        if name not in self.library:
            raise NotFoundError(None, None, f"Function {name} is not in the library of the GraphDef")
        if name in self.library.recursive:
            return self.library.call(name, arguments, lambda given: self._function(name, given))
        return self._function(name, arguments)

    def _function(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        function = self.library[name]
        parameters = field_of(function.signature, "input_arg", [])
        values = {f"{parameter.name}:0": tensor for parameter, tensor in zip(parameters, arguments, strict=True)}
        body = Body(field_of(function, "node_def", []), values, self.library)
        body.run()
        results = field_of(function.signature, "output_arg", [])
        return [body.tensor(function.ret[result.name]) for result in results]


def _aval(tensor: Tensor) -> Aval:
    """Return what is known of a tensor, its value too."""
    if isinstance(tensor, Cell):
        return Aval(dtypes.resource, ())
    if isinstance(tensor, TensorList | UnevenList | Held):
        return Aval(dtypes.variant, ())
    if isinstance(tensor, Table):
        return Aval(dtypes.resource, ())
    if tensor.aval.value is not None or not isinstance(tensor, EagerTensor):
        return tensor.aval
    return Aval(tensor.aval.dtype, tensor.aval.shape, np.asarray(tensor))


# ---- Structure ------------------------------------------------------------------------------------------------------


def _placeholder(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    trace: Any = current_trace()
    shape = attrs.get("shape", Dims(None)).shape
    return trace.tensor(trace.placeholder(Aval(attrs["dtype"], shape), current_scope() + name))


def _if(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    pred, *operands = inputs
    then_branch, else_branch = (_branch(body, attrs[key], operands) for key in ("then_branch", "else_branch"))
    return _held(control_flow.cond(pred, then_branch, else_branch, name=name))


def _branch(body: Body, function: str, operands: list[Any]) -> Callable[[], Any]:
    """Return a function without arguments for one of the library's, whose results are values of the graph."""

    def branch() -> Any:
        found = body.function(function, operands)
        return [each.value if isinstance(each, Held) else each for each in found]

    return branch


def _held(results: Any) -> Any:
    """Return results of branches with what is no tensor in its place while a graph is built."""
    if not isinstance(results, list):
        return results
    return [each if isinstance(each, (Tensor, *_OWN)) else Held(each) for each in results]


def _while(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    resources = {i: each for i, each in enumerate(inputs) if isinstance(each, Table | Cell | Held)}
    if not resources:
        return _loop(name, inputs, attrs, lambda function, values: body.function(function, values))

    def whole(values: Sequence[Any]) -> list[Any]:
        rest = iter(values)
        return [resources[i] if i in resources else next(rest) for i in range(len(inputs))]

    def call(function: str, values: Sequence[Any]) -> list[Any]:
        made = body.function(function, whole(values))
        return made if len(made) < len(inputs) else [each for i, each in enumerate(made) if i not in resources]

    said = dict(attrs)
    if len(said.get("output_shapes") or []) == len(inputs):
        said["output_shapes"] = [each for i, each in enumerate(said["output_shapes"]) if i not in resources]
    found = _loop(name, [each for i, each in enumerate(inputs) if i not in resources], said, call)
    return whole(found if isinstance(found, list | tuple) else [found])


def _loop(name: str, inputs: list[Any], attrs: dict[str, Any], call: Callable[[str, Sequence[Any]], list[Any]]) -> Any:
    shapes = [dims.shape for dims in attrs.get("output_shapes") or []]
    if len(shapes) != len(inputs):
        shapes = [_aval(tensor).shape for tensor in inputs]
    shapes = [
        TensorList(TensorShape(None), TensorShape([])) if isinstance(tensor, TensorList) else TensorShape(shape)
        for tensor, shape in zip(inputs, shapes, strict=True)
    ]

    def fitted(made: Sequence[Any]) -> list[Any]:
        return [
            each if isinstance(each, TensorList) else _fitted(each, to) for each, to in zip(made, shapes, strict=True)
        ]

    return control_flow.while_loop(
        lambda *values: call(attrs["cond"], values)[0], lambda *values: fitted(call(attrs["body"], values)),
        fitted(inputs), shape_invariants=shapes, name=name,
    )  # fmt: skip


def _fitted(tensor: Tensor, shape: TensorShape) -> Any:
    """The tensor with the shape that the loop declares, if it may have another."""
    dims = None if shape.rank is None else tuple(shape)
    if generalises(dims, tensor.aval.shape):
        return tensor
    return bind_named(None, get("ensure_shape"), (tensor,), {"shape": dims})


def _case(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    index, *operands = inputs
    branches = [_branch(body, each, operands) for each in attrs["branches"]]
    return _held(control_flow.indexed_case(index, branches, name))


def _with_gradient(body: Body, inputs: list[Any], stated: CustomGradient) -> list[Any]:
    """Results, then operands: the results again, whose gradients to the operands are what the program states."""
    trace: Any = current_trace()
    n = next((i for i, each in enumerate(stated.given) if each is not None), len(stated.given))
    bound = [body.lazy(each) if isinstance(each, str) else each for each in stated.bound]

    def backward(*dys: Any) -> list[Any]:
        zeros = [public_function("zeros_like")(each) for each in inputs]  # of results without a gradient too: integers
        given = [zero if dy is None else dy for dy, zero in zip(dys, zeros[:n], strict=True)]
        made = iter(body.function(stated.function, [*given, *zeros[n:], *bound]))
        return [None if each is None else next(made) for each in stated.given][n:]

    return [*trace.custom_gradient(inputs[:n], inputs[n:], backward), *inputs[n:]]


def _call(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    with name_scope(name):
        return body.function(attrs["f"], inputs)


def _python(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    key = held_by(str(attrs.get("token", "")))
    if key is None:
        raise NotFoundError(None, None, f"Node '{name}': its Python function is not in this process")
    dtypes = tuple([dtype.name for dtype in attrs.get("Tout") or ()])
    results = bind_named(name, get("eager_py_func"), tuple(inputs), {"key": key, "dtypes": dtypes})
    return list(results)[:-1]


STRUCTURE: dict[str, Callable[[Body, str, list[Any], dict[str, Any]], Any]] = {
    "Placeholder": _placeholder,
    "PlaceholderV2": _placeholder,
    "PlaceholderWithDefault": lambda body, name, inputs, attrs: inputs[0],
    "If": _if,
    "StatelessIf": _if,
    "While": _while,
    "StatelessWhile": _while,
    "Case": _case,
    "StatelessCase": _case,
    "PartitionedCall": _call,
    "StatefulPartitionedCall": _call,
    "BatchFunction": _call,  # of one call's tensors: what calls at the same time would share is only speed
    "EagerPyFunc": _python,
}


_SERVED = frozenset({"Const", "NoOp", "StringFormat", "PrintV2"})


def unserved(library: Library, roots: Iterable[str], nodes: Iterable[Message] = ()) -> dict[str, list[str]]:
    """Return the types of operations that have no equal here, and the functions that they are in.

    Looked at are `nodes`, the functions `roots`, and all that those call.
    """
    found: dict[str, list[str]] = {}

    def note(node: Message, where: str) -> None:
        op = node.op
        closed = op == "EagerPyFunc" and held_by(str(attributes(node).get("token", ""))) is None
        closed |= op in OPENING_FILES - {"ReadFile"} and not library.opens_files  # it may be of an asset
        if op in _OLD_LOOPS or closed or not (is_served(op) or op in library):
            places = found.setdefault(op, [])
            if where not in places:
                places.append(where)

    for node in nodes:
        note(node, "the graph")
    for name in sorted(library.reached(roots, nodes)):
        for node in field_of(library[name], "node_def", []):
            note(node, name)
    return dict(sorted(found.items()))


def is_served(op: str) -> bool:
    """Return whether a type of operation has an equal here."""
    known = any(op in each for each in (_SERVED, STRUCTURE, RESOURCES, import_datasets.SERVED, COMPOSITES, VARIANTS))
    return known or (op in signatures() and bool(rows_for(op))) or raw_ops.is_public(op)
