"""GraphDefs as graphs: operations that others wrote become nodes of the graph that is built now.

Rule: what a type of operation is says the table of `graphdef_ops`, read backwards; here stand the types that have no
primitive of their own and become several. Constants are made when something takes them as tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fastgraph import dtype as dtypes
from fastgraph._buffer import Cell
from fastgraph._tensor import EagerTensor, Tensor, convert, current_trace, from_array
from fastgraph.dtype import DType, as_dtype
from fastgraph.errors import InvalidArgumentError, NotFoundError
from fastgraph.graph import control_flow
from fastgraph.graph.graphdef_ops import Dims, Unreadable, read, signatures
from fastgraph.graph.ir import Graph
from fastgraph.graph.protocol import Message, parsed
from fastgraph.names import current_scope, name_scope
from fastgraph.op_errors import enum_name
from fastgraph.ops import contraction, convolutions, joining, movement, nnops, normalization, padding, pools
from fastgraph.ops.arguments import known_value
from fastgraph.ops.einsum import einsum
from fastgraph.ops.families import bind_named
from fastgraph.ops.output import print_
from fastgraph.primitive import get
from fastgraph.shapes import Aval, TensorShape

# ---------------------------------------------------------------------------------------------------------------------
# The public function


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Add the operations of a GraphDef to the graph that is built now, their names after `name` ("import") + "/".

    `input_map` gives tensors for names of the GraphDef's own; `return_elements` names the tensors ("x:0") and
    operations ("x") to return. In eager mode the graph is a new one. Raises TypeError, ValueError, or NotFoundError for
    a type of operation that has no equal here. Source: tf.import_graph_def.
    """
    serialize = getattr(graph_def, "SerializeToString", None)
    if isinstance(graph_def, bytes):
        definition = parsed(graph_def, "GraphDef")
    elif serialize is not None:
        definition = parsed(serialize(), "GraphDef")
    else:
        raise TypeError("Argument `graph_def` must be a GraphDef proto.")
    if input_map is not None and not isinstance(input_map, Mapping):
        raise TypeError(f"Argument `input_map` must be a dictionary. Obtained {type(input_map).__name__}")
    wanted = [] if return_elements is None else list(return_elements)
    for element in wanted:
        if not isinstance(element, str):
            raise TypeError(f"Argument `return_elements` must be a list of strings. Obtained {element!r}")
    trace = current_trace()
    if trace is None:
        with Graph().as_default():
            return _imported(definition, dict(input_map or {}), wanted, return_elements is not None, name)
    return _imported(definition, dict(input_map or {}), wanted, return_elements is not None, name)


def _imported(
    definition: Message, input_map: dict[str, Any], wanted: list[str], returns: bool, name: str | None
) -> list[Any] | None:
    library = {function.signature.name: function for function in getattr(_field(definition, "library"), "function", [])}
    nodes = _field(definition, "node", [])
    names = {node.name for node in nodes}
    missing = [key for key in input_map if key.partition(":")[0].lstrip("^") not in names]
    if missing:
        raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{', '.join(missing)}]")
    for element in wanted:
        if element.partition(":")[0] not in names:
            what = "tensor" if ":" in element else "node"
            raise ValueError(f"Requested return {what} {element!r} not found in graph def")
    values = {_full(key): getattr(value, "__fg_cell__", None) for key, value in input_map.items()}
    resources = {f"{node.name}:0" for node in nodes if node.op == "Placeholder" and _is_resource(node)}
    for key, value in input_map.items():
        if values[_full(key)] is None or _full(key) not in resources:  # else a Variable, for its resource
            values[_full(key)] = convert(value)
    scope = "import" if name is None else name
    with name_scope(scope) if scope else _Nothing():
        body = Body(nodes, values, library)
        body.run()
        if not returns:
            return None
        return [body.tensor(element) if ":" in element else body.tensor(f"{element}:0").op for element in wanted]


def _is_resource(node: Message) -> bool:
    return str(_field(node.attr.get("dtype", Message()), "type")) == "DT_RESOURCE"


class _Nothing:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass


def _field(message: Message, name: str, default: Any = None) -> Any:
    return getattr(message, name, default)


def _full(name: str) -> str:
    return name if ":" in name else f"{name}:0"


# ---------------------------------------------------------------------------------------------------------------------
# Attributes and tensors


_DTYPES = {
    enum_name(as_dtype(name)): as_dtype(name)
    for name in (
        *("bfloat16", "bool", "complex64", "complex128", "float16", "float32", "float64", "int8", "int16", "int32"),
        *("int64", "resource", "string", "uint8", "uint16", "uint32", "uint64", "variant"),
    )
}


def _dtype(enum: str) -> DType:
    found = _DTYPES.get(str(enum))
    if found is None:
        raise NotFoundError(None, None, f"tensors of type {enum} have no equal here")
    return found


def attribute(message: Message) -> Any:
    """Return an AttrValue as the table has it: a number, str, DType, Dims, tensor, name of a function, or a list."""
    for name, value in message.__dict__.items():
        return _plain(name, value)
    return None


def _plain(name: str, value: Any) -> Any:
    if name == "list":
        return [_plain(kind, item) for kind, items in value.__dict__.items() for item in items]
    if name == "s":
        return value.decode(errors="surrogateescape")
    if name == "b":
        return bool(value)
    if name == "type":
        return _dtype(value)
    if name == "shape":
        return Dims(_dims(value))
    if name == "tensor":
        return tensor_of(value)
    return value.name if name == "func" else value


def _dims(shape: Message) -> tuple[int | None, ...] | None:
    if _field(shape, "unknown_rank"):
        return None
    sizes = [_field(dim, "size", 0) for dim in _field(shape, "dim", [])]
    return tuple([None if size < 0 else size for size in sizes])


def tensor_of(message: Message) -> EagerTensor:
    """Return the tensor of a TensorProto. Raises ValueError if its elements do not fit its shape."""
    dtype = _dtype(message.dtype)
    dims = _dims(_field(message, "tensor_shape", Message())) or ()
    n = math.prod(size or 0 for size in dims)
    if hasattr(message, "tensor_content"):
        array = np.frombuffer(message.tensor_content, dtype.numpy_dtype).copy()
    else:
        listed: list[Any] = next((value for key, value in message.__dict__.items() if key.endswith("_val")), [])
        if dtype.name == "string":
            array = np.array([*listed], object)
        elif dtype.is_complex:
            array = np.array(listed, np.float64).reshape(-1, 2) @ np.array([1, 1j])
        elif dtype.name in ("float16", "bfloat16"):
            array = np.array(listed, np.uint16).view(dtype.numpy_dtype)
        else:
            array = np.array(listed).astype(dtype.numpy_dtype)
        if array.size < n:  # the last one stands for the rest
            last = array[-1:] if array.size else np.zeros(1, array.dtype)
            array = np.concatenate([array, np.repeat(last, n - array.size)])
    if array.size != n:
        raise ValueError(f"a tensor of shape {dims} has {n} elements, and {array.size} were given")
    return from_array(array.reshape(dims), dtype)


_OLD_LOOPS = frozenset({"Enter", "Exit", "Merge", "NextIteration", "RefSwitch", "Switch"})

# ---------------------------------------------------------------------------------------------------------------------
# Running the nodes of a GraphDef or of a function


class Body:
    """The nodes of a GraphDef, or of a function: made one after the other, each from the tensors before it."""

    def __init__(self, nodes: Sequence[Message], values: dict[str, Any], library: dict[str, Message]) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.values = values  # "name:0" -> tensor; of constants, eager ones
        self.library = library
        self.texts: dict[str, tuple[Message, list[Any]]] = {}
        self.made: set[str] = set()

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
                for given in _field(self.nodes[name], "input", []):
                    source = given.lstrip("^").partition(":")[0]
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
        signature = None if node is None else signatures().get(node.op)
        for output in () if signature is None else signature.outputs:
            if output.name == argument:
                break
            at += 1 if output.number is None else len(self._list_of(node, output))
        return f"{name}:{at + int(index)}"

    def _list_of(self, node: Any, output: Any) -> range:
        value = attribute(node.attr[output.kind if output.number == "*" else output.number])
        return range(len(value) if isinstance(value, list) else int(value))

    def lazy(self, given: str) -> Any:
        """Return a tensor, of a constant an eager one."""
        key = self._key(given)
        if key not in self.values:
            raise ValueError(f"Tensor '{key}' is not made by its operation, or has no equal here")
        return self.values[key]

    def tensor(self, given: str) -> Any:
        """Return a tensor of the graph; a constant becomes a node."""
        found = self.lazy(given)
        if isinstance(found, EagerTensor):
            trace: Any = current_trace()
            found = trace.constant(found)
            trace.name_constant(found, given.partition(":")[0])
            self.values[self._key(given)] = found
        return found

    def _make(self, node: Message) -> None:
        name, op = node.name, node.op
        if f"{name}:0" in self.values:  # mapped
            return
        attrs = {key: attribute(value) for key, value in _field(node, "attr", {}).items()}
        given = [each for each in _field(node, "input", []) if not each.startswith("^")]
        if op == "Const":
            self.values[f"{name}:0"] = attrs["value"]
        elif op == "StringFormat":
            self.texts[name] = node, [self.lazy(each) for each in given]
        elif op != "NoOp":
            self._enter(name, self._results(node, given, attrs))

    def _enter(self, name: str, results: Any) -> None:
        for i, result in enumerate(results if isinstance(results, tuple | list) else [results]):
            if isinstance(result, Tensor):
                self.values[f"{name}:{i}"] = result

    def _results(self, node: Message, given: list[str], attrs: dict[str, Any]) -> Any:
        name, op = node.name, node.op
        if op == "PrintV2" and given[0].partition(":")[0] in self.texts:
            return self._print(given[0].partition(":")[0], attrs)
        if op in STRUCTURE:
            return STRUCTURE[op](self, name, [self.tensor(each) for each in given], attrs)
        lazy = [self.lazy(each) for each in given]
        if op in COMPOSITES:
            return COMPOSITES[op](name, [self.tensor(each) for each in given], attrs)
        try:
            found = read(op, [_aval(tensor) for tensor in lazy], attrs)
        except Unreadable as reason:
            if op in VARIANTS:
                return VARIANTS[op](name, [self.tensor(each) for each in given], attrs)
            raise NotFoundError(None, None, f"Node '{name}': {reason} has no equal here") from None
        if found is None:
            raise NotFoundError(None, None, f"Op type not registered '{op}': node '{name}' has no equal here")
        primitive, taken, ours = found
        inputs = tuple([self.tensor(given[i]) for i in taken])
        try:
            return bind_named(name, get(primitive), inputs, ours)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Node '{name}' ({op}): {error}") from error

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
        function = self.library[name]
        parameters = _field(function.signature, "input_arg", [])
        values = {f"{parameter.name}:0": tensor for parameter, tensor in zip(parameters, arguments, strict=True)}
        body = Body(_field(function, "node_def", []), values, self.library)
        body.run()
        results = _field(function.signature, "output_arg", [])
        return [body.tensor(function.ret[result.name]) for result in results]


def _aval(tensor: Any) -> Aval:
    """What is known of a tensor, its value too."""
    if isinstance(tensor, Cell):
        return Aval(dtypes.resource, ())
    if tensor.aval.value is not None or not isinstance(tensor, EagerTensor):
        aval: Aval = tensor.aval
        return aval
    return Aval(tensor.aval.dtype, tensor.aval.shape, np.asarray(tensor.numpy()))


# ---------------------------------------------------------------------------------------------------------------------
# Structure


def _placeholder(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    trace: Any = current_trace()
    shape = attrs.get("shape", Dims(None)).shape
    if trace.kind != "graph":
        raise InvalidArgumentError(
            None,
            None,
            f"You must feed a value for placeholder tensor '{name}' with dtype {attrs['dtype'].name}: give it in "
            "input_map, since a Function's arguments are its own",
        )
    return trace.tensor(trace.placeholder(Aval(attrs["dtype"], shape), current_scope() + name))


def _read(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    dtype = attrs["dtype"]
    shape: Any = None
    if isinstance(inputs[0], Cell) and (variable := inputs[0].variable()) is not None:
        shape = None if variable.shape.rank is None else tuple(variable.shape)
    return bind_named(name, get("read_variable"), (inputs[0],), {"dtype": dtype, "shape": shape})


def _if(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    pred, *operands = inputs
    results = control_flow.cond(
        pred,
        lambda: body.function(attrs["then_branch"], operands),
        lambda: body.function(attrs["else_branch"], operands),
        name=name,
    )
    return results


def _while(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    shapes = [dims.shape for dims in attrs.get("output_shapes") or []]
    if len(shapes) != len(inputs):
        shapes = [tensor.aval.shape for tensor in inputs]
    return control_flow.while_loop(
        lambda *values: body.function(attrs["cond"], values)[0],
        lambda *values: body.function(attrs["body"], values),
        inputs,
        shape_invariants=[TensorShape(shape) for shape in shapes],
        name=name,
    )


def _case(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    index, *operands = inputs
    branches = [lambda each=each: body.function(each, operands) for each in attrs["branches"]]
    return control_flow.switch_case(index, branches, name=name)


def _call(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    with name_scope(name):
        return body.function(attrs["f"], inputs)


STRUCTURE: dict[str, Callable[[Body, str, list[Any], dict[str, Any]], Any]] = {
    "Placeholder": _placeholder,
    "PlaceholderV2": _placeholder,
    "PlaceholderWithDefault": lambda body, name, inputs, attrs: inputs[0],
    "ReadVariableOp": _read,
    "If": _if,
    "StatelessIf": _if,
    "While": _while,
    "StatelessWhile": _while,
    "Case": _case,
    "StatelessCase": _case,
    "PartitionedCall": _call,
    "StatefulPartitionedCall": _call,
}


# ---------------------------------------------------------------------------------------------------------------------
# Types of operations that are several primitives


def _fixed(tensor: Any, what: str) -> Any:
    """The elements of an argument that must be known."""
    found = known_value(tensor)
    if found is None:
        raise NotFoundError(None, None, f"{what} must be a constant")
    return np.array(found)


def _batched(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    x, y = inputs
    adjoint_x, adjoint_y = attrs.get("adj_x", False), attrs.get("adj_y", False)
    return contraction.matmul(x, y, adjoint_a=adjoint_x, adjoint_b=adjoint_y, name=name)


def _slice(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """x[...] again from begin, end, strides and the masks."""
    x, begin, end, strides = inputs
    masks = {key: attrs.get(f"{key}_mask", 0) for key in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}
    steps = _fixed(strides, f"Node '{name}': the strides")
    starts, ends = _entries(begin, len(steps)), _entries(end, len(steps))
    key: list[Any] = []
    for i, step in enumerate(steps):
        bit = 1 << i
        if masks["ellipsis"] & bit:
            key.append(Ellipsis)
        elif masks["new_axis"] & bit:
            key.append(None)
        elif masks["shrink_axis"] & bit:
            key.append(starts[i])
        else:
            first = None if masks["begin"] & bit else starts[i]
            last = None if masks["end"] & bit else ends[i]
            key.append(slice(first, last, int(step)))
    trace: Any = current_trace()
    trace.node_name = name
    return x[tuple(key)]


def _entries(vector: Any, n: int) -> list[Any]:
    """The numbers of a vector: ints where they are known, else tensors."""
    known = known_value(vector)
    if known is not None:
        return [int(number) for number in np.array(known)]
    found = []
    for i in range(n):
        part = vector[i]
        number = known_value(part)
        found.append(part if number is None else int(number))
    return found


def _pad(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return padding.pad(inputs[0], _fixed(inputs[1], f"Node '{name}': the paddings"), name=name)


def _fused_batch_norm(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    if attrs.get("is_training", True):
        x, scale, offset = inputs[:3]
        epsilon, layout = attrs.get("epsilon", 1e-4), attrs.get("data_format", "NHWC")
        return normalization.fused_batch_norm(x, scale, offset, epsilon=epsilon, data_format=layout, name=name)
    x, scale, offset, mean, variance = inputs
    epsilon, layout = attrs.get("epsilon", 1e-4), attrs.get("data_format", "NHWC")
    if layout.startswith("NC"):
        rank = x.shape.rank
        scale, offset, mean, variance = [
            movement.reshape(each, [1, -1] + [1] * (rank - 2)) for each in (scale, offset, mean, variance)
        ]
    return normalization.batch_normalization(x, mean, variance, offset, scale, epsilon, name)


def _explicit(attrs: dict[str, Any]) -> Any:
    if attrs["padding"] != "EXPLICIT":
        return attrs["padding"]
    return np.reshape(attrs["explicit_paddings"], (-1, 2)).tolist()


def _conv2d(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    layout, dilations = attrs.get("data_format", "NHWC"), attrs.get("dilations", [1, 1, 1, 1])
    return convolutions.conv2d(*inputs, attrs["strides"], _explicit(attrs), layout, dilations, name)


def _depthwise(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    layout, dilations = attrs.get("data_format", "NHWC"), attrs.get("dilations", [1, 1, 1, 1])
    at = 1 if layout == "NHWC" else 2
    return convolutions.depthwise_conv2d(
        *inputs, attrs["strides"], _explicit(attrs), layout, dilations[at : at + 2], name
    )


def _pool(function: Callable[..., Any]) -> Callable[[str, list[Any], dict[str, Any]], Any]:
    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        layout = attrs.get("data_format", "NHWC")
        return function(inputs[0], attrs["ksize"], attrs["strides"], _explicit(attrs), layout, name)

    return make


#: Types that no row has.
COMPOSITES: dict[str, Callable[[str, list[Any], dict[str, Any]], Any]] = {
    "Add": lambda name, inputs, attrs: bind_named(name, get("add"), tuple(inputs), {}),
    "BiasAdd": lambda name, inputs, attrs: nnops.bias_add(*inputs, attrs.get("data_format", "NHWC"), name),
    "BatchMatMul": _batched,
    "BatchMatMulV2": _batched,
    "BatchMatMulV3": _batched,
    "DepthwiseConv2dNative": _depthwise,
    "Einsum": lambda name, inputs, attrs: einsum(attrs["equation"], *inputs, name=name),
    "FusedBatchNorm": _fused_batch_norm,
    "FusedBatchNormV3": _fused_batch_norm,
    "IdentityN": lambda name, inputs, attrs: [bind_named(None, get("identity"), (each,), {}) for each in inputs],
    "Pad": _pad,
    "PrintV2": lambda name, inputs, attrs: print_(inputs[0], end=attrs.get("end", "\n")),
    "PreventGradient": lambda name, inputs, attrs: bind_named(name, get("identity"), tuple(inputs), {}),
    "Select": lambda name, inputs, attrs: bind_named(name, get("select"), tuple(inputs), {}),
    "Snapshot": lambda name, inputs, attrs: bind_named(name, get("identity"), tuple(inputs), {}),
    "Split": lambda name, inputs, attrs: joining.split(
        inputs[1], attrs["num_split"], int(_fixed(inputs[0], f"Node '{name}': the axis")), name=name
    ),
    "StridedSlice": _slice,
}

#: Types that a row has, for the attributes that it does not.
VARIANTS: dict[str, Callable[[str, list[Any], dict[str, Any]], Any]] = {
    "Conv2D": _conv2d,
    "MaxPool": _pool(pools.max_pool2d),
    "AvgPool": _pool(pools.avg_pool2d),
}
