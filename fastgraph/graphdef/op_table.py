"""The primitives as operations of TensorFlow: one table, read in one direction to write a graph, in the other
to import one.

Rule: a row says only what is not so by itself: inputs in order, types from tensors and defaults from the signature need
no word. `argument=attribute:codec` says which attribute of ours is an argument (a constant there) or attribute there.
A primitive without a row is written with its own attributes: one can read it, TensorFlow cannot run it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import DType, as_dtype
from fastgraph.core.base.shapes import Aval, Shape
from fastgraph.core.registry import all_primitives, get
from fastgraph.core.tensor import EagerTensor
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graphdef.node_bytes import Definition, Form, defined_as, key_of, remembered
from fastgraph.graphdef.op_signatures import RESULTS, TEXT

if TYPE_CHECKING:
    from fastgraph.graphdef.node_bytes import Made


class Unwritable(ValueError):
    """An application that has no equal there."""


#: Tensors of one number, fewer elements than these, are constants.
MOST_WRITTEN = 1000


class One(NamedTuple):
    """A tensor that has the same element everywhere, which is written once."""

    tensor: EagerTensor


class Dims(NamedTuple):
    """A shape as an attribute."""

    shape: Shape


# ---- Signatures -----------------------------------------------------------------------------------------------------


class Argument(NamedTuple):
    """An argument or result: `kind` is a dtype's name or the attribute that holds it; `number` counts them."""

    name: str
    kind: str
    number: str | None  # the attribute that says how many; "*": `kind` is a list of types


class Signature(NamedTuple):
    """A type of operation."""

    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    attrs: dict[str, tuple[str, Any]]  # name -> (kind, default or None)


def _argument(text: str) -> Argument:
    name, _, kind = text.partition(":")
    if kind.startswith("*"):
        return Argument(name, kind[1:], "*")
    number, star, one = kind.partition("*")
    return Argument(name, one, number) if star else Argument(name, kind, None)


def _default(kind: str, text: str) -> Any:
    if text.startswith("["):
        items = [item.strip("'") for item in text[1:-1].split(",") if item]
        return [{"ints": int, "floats": float}.get(kind, str)(item) for item in items]
    if kind in ("int", "float"):
        return (int if kind == "int" else float)(text)
    if kind == "bool":
        return text == "True"
    if kind == "type":
        return as_dtype(text)
    return Dims(None if text == "unknown" else ()) if kind == "shape" else text.replace("\\n", "\n")


@functools.cache
def signatures() -> dict[str, Signature]:
    """Return the signatures by type of operation."""
    return parsed_signatures(TEXT)


def parsed_signatures(text: str) -> dict[str, Signature]:
    """Return the signatures that a text says, a line for those that are alike."""
    found = {}
    for line in text.strip().replace("\n  ", " ").split("\n"):
        types, _, attrs = f"{line} ".partition(" | ")
        arguments, _, outputs = types.partition("->")
        table: dict[str, tuple[str, Any]] = {}
        for item in attrs.split():
            name, _, kind = item.partition(":")
            kind, given, default = kind.partition("=")
            table[name] = (kind, _default(kind, default) if given else None)
        inputs = tuple([_argument(item) for item in arguments.split() if ":" in item])
        signature = Signature(inputs, tuple([_argument(item) for item in outputs.split()]), table)
        found.update({op: signature for op in arguments.split() if ":" not in op})
    return found


@functools.cache
def results_of(op: str) -> tuple[Argument, ...] | None:
    """Return the results of a type of operation, None where they are not known: there is one, then."""
    if op in signatures():
        return signatures()[op].outputs
    for line in RESULTS.strip().replace("\n  ", " ").split("\n"):
        words = line.split()
        if op in words:
            return tuple([_argument(word) for word in words if ":" in word])
    return None


# ---- Codecs: our attribute as a constant or attribute there, and back -----------------------------------------------


def _axes(axes: tuple[Any, ...] | None, node: Node) -> Any:
    if axes is None:
        shape = node.inputs[0].aval.shape
        if shape is None:
            raise Unwritable("all axes of a tensor of unknown rank")
        return np.arange(len(shape), dtype=np.int32)
    return np.array(axes[0] if len(axes) == 1 else axes, np.int32)


def _one(items: Any, node: Node) -> Any:
    if len(items) != 1:
        raise Unwritable(f"{len(items)} axes at once")
    return np.array(items[0], np.int32)


def _numbers(value: np.ndarray) -> tuple[int, ...]:
    return tuple([int(item) for item in np.reshape(value, -1)])


def _lengths(value: np.ndarray) -> tuple[int, ...]:
    if np.any(np.less(value, 0)):
        raise Unreadable("one of the lengths is what the others leave")
    return _numbers(value)


def _pairs(value: Any) -> tuple[tuple[int, int], ...]:
    return tuple([(int(a), int(b)) for a, b in np.reshape(value, (-1, 2))])


def _same_padding(value: object, node: Node) -> Any:
    if not isinstance(value, str):
        raise Unwritable("explicit paddings")
    return value


#: name -> (from our attribute, back)
CODECS: dict[str, tuple[Callable[[Any, Node], Any], Callable[[Any], Any]]] = {
    "": (lambda value, node: value, lambda value: value),
    "axes": (_axes, _numbers),
    "one": (_one, _numbers),
    "ints": (lambda value, node: np.array(value, np.int32), _numbers),
    "lengths": (lambda value, node: np.array(value, np.int32), _lengths),
    "list": (lambda value, node: list(value or ()), lambda value: tuple(value)),
    "scalar": (lambda value, node: np.array(value, np.int32), int),
    "scalar64": (lambda value, node: np.array(value, np.int64), int),
    "pairs": (lambda value, node: np.reshape(np.array(value, np.int32), (-1, 2)), _pairs),
    "window": (lambda value, node: [1, *value, 1], lambda value: tuple(value[1:-1])),
    "padding": (_same_padding, str),
    "dtype": (lambda value, node: value.dtype, lambda value: value),
    "dims": (lambda value, node: Dims(value), lambda value: value.shape),
}

# ---- The table ------------------------------------------------------------------------------------------------------

_REDUCTION = "reduction_indices=axes:axes keep_dims=keepdims"
_SEGMENTS = "num_segments=num_segments:scalar"
_CUMULATIVE = "axis=axis:scalar exclusive=exclusive reverse=reverse"
_CONVOLUTION = "strides=strides:window padding=padding:padding dilations=dilations:window"
_POOL = "ksize=window:window strides=strides:window padding=padding:padding"

#: Primitive -> type of operation and what has to be said of it; "@1" is our input 1, "-" an attribute without an equal.
ROWS: dict[str, str] = {
    **{name: f"{op} {_REDUCTION}" for name, op in
       {"sum": "Sum", "mean": "Mean", "max": "Max", "min": "Min", "prod": "Prod", "any": "Any", "all": "All"}.items()},
    **{f"unsorted_segment_{name}": f"UnsortedSegment{name.capitalize()} {_SEGMENTS}"
       for name in ("sum", "prod", "max", "min")},
    "const": "Const dtype=value:dtype value=value",
    "cast": "Cast DstT=dtype",
    "complex": "Complex Tout=dtype",
    "bitcast": "Bitcast type=type",
    "leaky_relu": "LeakyRelu alpha=alpha",
    "leaky_relu_grad": "LeakyReluGrad alpha=alpha",
    "reshape": "Reshape shape=shape:ints",
    "reshape_dynamic": "Reshape",
    "ensure_extents": "Reshape",
    "transpose": "Transpose perm=perm:ints",
    "expand_dims": "ExpandDims dim=axes:one",
    "squeeze": "Squeeze squeeze_dims=axes:list",
    "broadcast_to": "BroadcastTo shape=shape:ints",
    "broadcast_to_dynamic": "BroadcastTo",
    "shape": "Shape out_type=out_type",
    "size": "Size out_type=out_type",
    "cumsum": f"Cumsum {_CUMULATIVE}",
    "cumprod": f"Cumprod {_CUMULATIVE}",
    "cumulative_logsumexp": f"CumulativeLogsumexp {_CUMULATIVE}",
    "argmax": "ArgMax dimension=axis:scalar output_type=output_type",
    "argmin": "ArgMin dimension=axis:scalar output_type=output_type",
    "assert": "Assert summarize=summarize",
    "check_numerics": "CheckNumerics message=message",
    "ensure_shape": "EnsureShape shape=shape:dims",
    "conv2d": f"Conv2D {_CONVOLUTION}",
    "conv2d_input_grad": f"Conv2DBackpropInput {_CONVOLUTION}",
    "conv2d_filter_grad": f"Conv2DBackpropFilter {_CONVOLUTION}",
    "conv3d": f"Conv3D {_CONVOLUTION}",
    "conv3d_input_grad": f"Conv3DBackpropInputV2 {_CONVOLUTION}",
    "conv3d_filter_grad": f"Conv3DBackpropFilterV2 {_CONVOLUTION}",
    "max_pool": f"MaxPool {_POOL}",
    "avg_pool": f"AvgPool {_POOL}",
    "avg_pool_grad": f"AvgPoolGrad {_POOL}",
    "slice": "Slice size=size:ints",
    "gather": "GatherV2 axis=axis:scalar batch_dims=batch_dims",
    "one_hot": "OneHot depth=depth:scalar axis=axis",
    "one_hot_dynamic": "OneHot axis=axis",
    "concat": "ConcatV2 axis=axis:scalar",
    "stack": "Pack axis=axis",
    "split": "SplitV size_splits=sizes:lengths split_dim=axis:scalar",
    "unstack": "Unpack axis=axis num=num",
    "matmul": "MatMul transpose_a=transpose_a transpose_b=transpose_b",
    "fill": "Fill dims=shape:ints",
    "fill_dynamic": "Fill dims=@1 value=@0",
    "top_k": "TopKV2 k=k:scalar index_type=index_type",
    "pad": "PadV2 paddings=paddings:pairs",
    "mirror_pad": "MirrorPad paddings=paddings:pairs mode=mode",
    "tile": "Tile multiples=multiples:ints",
    "reverse": "ReverseV2 axis=axes:ints",
    "roll": "Roll shift=shifts:ints axis=axes:ints",
    "matrix_band_part": "MatrixBandPart num_lower=lower:scalar64 num_upper=upper:scalar64",
    "read_variable": "ReadVariableOp dtype=dtype -=shape",
    "assign_add_variable": "AssignAddVariableOp -=dtype -=shape",
    "assign_sub_variable": "AssignSubVariableOp -=dtype -=shape",
    "solve": "MatrixSolve adjoint=adjoint",
    "triangular_solve": "MatrixTriangularSolve lower=lower adjoint=adjoint",
    "as_string": "AsString precision=precision scientific=scientific shortest=shortest width=width fill=fill",
    "reduce_join": "ReduceJoin reduction_indices=axes:axes keep_dims=keepdims separator=separator",
    "string_join": "StringJoin separator=separator",
    "string_split": "StringSplit skip_empty=skip_empty",
    "string_split_v2": "StringSplitV2 maxsplit=maxsplit",
    "string_format": "StringFormat template=template placeholder=placeholder summarize=summarize",
    "string_lower": "StringLower encoding=encoding",
    "string_upper": "StringUpper encoding=encoding",
    "string_length": "StringLength unit=unit",
    "to_number": "StringToNumber out_type=out_type",
    "regex_replace": "RegexReplace replace_global=replace_global",
    "hash_bucket_fast": "StringToHashBucketFast num_buckets=num_buckets",
    "hash_bucket_strong": "StringToHashBucketStrong num_buckets=num_buckets key=key:list",
    "decode_compressed": "DecodeCompressed compression_type=compression",
    "decode_csv": "DecodeCSV field_delim=delimiter use_quote_delim=quoted na_value=missing select_cols=columns:list",
    "encode_base64": "EncodeBase64 pad=pad",
    "unique": "UniqueWithCounts out_idx=out_idx",
    "dynamic_partition": "DynamicPartition num_partitions=count",
    "matrix_diag": "MatrixDiagV3 k=k:ints num_rows=rows:scalar num_cols=columns:scalar align=align",
    "matrix_diag_part": "MatrixDiagPartV3 k=k:ints align=align",
    "matrix_set_diag": "MatrixSetDiagV3 k=k:ints align=align",
    "tridiagonal_solve": "TridiagonalSolve perturb_singular=perturb",
    "lu": "Lu output_idx_type=output_idx_type",
    "qr": "Qr full_matrices=full_matrices",
    "svd": "Svd full_matrices=full_matrices",
    "cast_stored": "Cast DstT=dtype",
}  # fmt: skip


#: Primitives that have a type of operation and no attributes, and are written as several (see node_definitions.py).
OTHERWISE = frozenset({"draw", "permutation", "list_begin", "list_get", "list_grow", "list_push", "list_push_begin"})


class Row(NamedTuple):
    """One row, read: what is said of arguments and attributes (name -> (attribute, codec)), and of our inputs."""

    type: str
    said: dict[str, tuple[str, str]]
    places: dict[str, int]
    silent: tuple[str, ...]


def _parsed(text: str) -> Row:
    op, *items = text.split()
    said, places, silent = {}, {}, []
    for item in items:
        name, _, rest = item.partition("=")
        attr, _, codec = rest.partition(":")
        if rest.startswith("@"):
            places[name] = int(rest[1:])
        elif name == "-":
            silent.append(attr)
        else:
            said[name] = (attr, codec)
    return Row(op, said, places, tuple(silent))


@functools.cache
def row_of(name: str) -> Row | None:
    """Return the row of the primitive `name`; None if its attributes have no equal there."""
    if name in ROWS:
        return _parsed(ROWS[name])
    primitive = get(name)
    if primitive.attrs or primitive.op_type not in signatures() or name in OTHERWISE:
        return None
    return Row(primitive.op_type, {}, {}, ())


#: Primitives that are written as an op which allows more.
WRITTEN_ONLY = frozenset({"cast_stored", "const", "ensure_extents"})


@functools.cache
def rows_for(op: str) -> tuple[tuple[str, Row], ...]:
    """Return the primitives that are written as the type `op`, with their rows."""
    read = [primitive.name for primitive in all_primitives() if primitive.name not in WRITTEN_ONLY]
    found = [(name, row) for name in read if (row := row_of(name)) is not None and row.type == op]
    return tuple(sorted(found, key=lambda pair: pair[0].endswith("_dynamic")))


# ---- Writing --------------------------------------------------------------------------------------------------------


def scoped(node: Node, name: str) -> str:
    """Return a name beside the node's."""
    scope, slash, _ = node.name.rpartition("/")
    return f"{scope}{slash}{name}"


def as_is(node: Node) -> Definition:
    """Return a node that has no equal, with its own attributes."""
    attrs = {name: value for name, value in node.attrs.items() if not isinstance(value, Graph)}
    for letter, value in zip(node.op.groups, node.inputs, strict=False):
        if letter[:1].isupper():
            attrs.setdefault(letter, value.aval.dtype)
    found = Definition(node, str(node.op.op_type), node.inputs, attrs)
    found.is_foreign = True
    return found


#: Operations that strings have in another's place.
_OF_STRINGS = {"AddV2": "Add"}


_PLACEHOLDER = Form(
    ("Placeholder", "Placeholder"), ["output:0"], {},
    [
        ("_user_specified_name", "dtype", lambda _, node: node.attrs.get("name") or node.name, False),
        ("dtype", "dtype", None, True),
        ("shape", "shape", lambda shape, _: Dims(shape), True),
    ],
    (), (),
)  # fmt: skip


@functools.cache
def form_of(name: str, n_inputs: int, n_outputs: int) -> Form | None:
    """Return how nodes of a primitive are written, None if no row says it."""
    if name == "placeholder":
        return _PLACEHOLDER
    row = row_of(name)
    return None if row is None else form_by(row, n_inputs, n_outputs)


def form_by(row: Row, n_inputs: int, n_outputs: int) -> Form:
    """Return how nodes with so many inputs and results are written by a row."""
    signature = signatures()[row.type]
    rest, at = [i for i in range(n_inputs) if i not in row.places.values()], 0
    n_one = sum(a.name not in row.said and a.number is None and a.name not in row.places for a in signature.inputs)
    arguments: list[Any] = []
    types: dict[str, Any] = {}  # attribute -> its place among the inputs, later the outputs; or a number
    for argument in signature.inputs:
        first = len(arguments)
        if argument.name in row.said:
            attr, codec = row.said[argument.name]
            like = types.get(argument.kind)
            arguments.append((argument.name, attr, CODECS[codec][0], like))
        elif argument.name in row.places:
            arguments.append(row.places[argument.name])
        else:
            n = 1 if argument.number is None else len(rest) - n_one
            n_one -= argument.number is None
            arguments += rest[at : at + n]
            at += n
        _note_places(types, argument, first, len(arguments) - first)
    results: dict[str, Any] = {}
    slots: list[str] = []
    for argument in signature.outputs:
        n, first = 1 if argument.number is None else n_outputs - len(slots), len(slots)
        slots += [f"{argument.name}:{i}" for i in range(n)]
        _note_places(results, argument, first, n)
    fixed, said, of_inputs, of_outputs = {}, [], [], []
    for attr, (_, default) in signature.attrs.items():
        fixed[attr] = default
        if attr in row.said:
            ours, codec = row.said[attr]
            said.append((attr, ours, CODECS[codec][0] if codec else None, codec in _OF_VALUES))
        elif isinstance(found := types.get(attr, results.get(attr)), str):
            fixed[attr] = int(found)
        elif attr in types:
            of_inputs.append((attr, types[attr]))
        elif attr in results:
            of_outputs.append((attr, results[attr]))
    both = row.type, _OF_STRINGS.get(row.type, row.type)
    as_they_are = arguments == [*range(n_inputs)]
    return Form(both, slots, fixed, said, of_inputs, of_outputs, None if as_they_are else arguments)


#: Codecs of values that tell alone what the attribute is, and of which no two are equal and not the same.
_OF_VALUES = frozenset({"list", "window"})


def _note_places(types: dict[str, Any], argument: Argument, first: int, n: int) -> None:
    """Note where the dtypes of an argument's tensors are found, and how many there are, as a text."""
    if argument.number == "*":
        types[argument.kind] = first, n
    elif n:
        types.setdefault(argument.kind, first)
    if argument.number not in (None, "*"):
        types[argument.number] = str(n)


def written(node: Node) -> list[Definition]:
    """Return the definitions of a node by its row: constants for what is an attribute here, then the operation."""
    form = form_of(node.op.name, len(node.inputs), len(node.outputs))
    if form is None:
        raise Unwritable(node.op.name)
    return form.definitions(node)


#: All that operations are written as besides their inputs, by `key_of`: most are like one before.
_MADE: dict[tuple[Any, ...] | None, Made] = {}


def defined(
    node: Node, kind: str, inputs: Sequence[Value], apart: Mapping[str, object] | None = None, /, **attrs: object
) -> Definition:
    """Return an operation of a type; attributes that are not given follow from the tensors or are the defaults.

    Those `apart` are of this one alone: nothing is kept for others that are like it.
    """
    key = key_of(kind, inputs, node.outputs, attrs)
    made = _MADE.get(key)
    if made is None:
        signature = signatures()[kind]
        types: dict[str, Any] = {}
        for arguments, values in ((signature.inputs, list(inputs)), (signature.outputs, list(node.outputs))):
            n_rest = len(values) - sum(argument.number is None for argument in arguments)
            for argument in arguments:
                n = 1 if argument.number is None else n_rest
                _note_types(types, argument, values[:n])
                del values[:n]
        found = {name: attrs.get(name, types.get(name, default)) for name, (_, default) in signature.attrs.items()}
        made = found, [f"{result.name}:0" for result in signature.outputs[: len(node.outputs)]], [None]
        if key is not None:
            remembered(_MADE, key, made)
    if apart is not None:
        made = {**made[0], **apart}, made[1], [None]
    return defined_as(node, kind, inputs, made)


def _note_types(types: dict[str, Any], argument: Argument, values: Sequence[Value]) -> None:
    if argument.number == "*":
        types[argument.kind] = [value.aval.dtype for value in values]
    elif values:
        types.setdefault(argument.kind, values[0].aval.dtype)
    if argument.number not in (None, "*"):
        types[argument.number] = len(values)


def shapes_of(values: Iterable[Value]) -> list[Dims]:
    """Return the shapes of values as an attribute."""
    return [Dims(value.aval.shape) for value in values]


def types_of(values: Iterable[Value]) -> list[DType]:
    """Return the dtypes of values as an attribute."""
    return [value.aval.dtype for value in values]


# ---- Reading --------------------------------------------------------------------------------------------------------


class Unreadable(ValueError):
    """An operation that no primitive is."""


def read(
    op: str, inputs: Sequence[Aval], attrs: Mapping[str, Any]
) -> tuple[str, tuple[int, ...], dict[str, Any]] | None:
    """Return the primitive that an operation is, which of its inputs it takes, and its attributes; None if none is.

    Raises Unreadable if the type is known and these attributes are not.
    """
    reasons = []
    for name, row in rows_for(op):
        try:
            return name, *_read(op, row, name, inputs, attrs)
        except Unreadable as reason:
            reasons.append(str(reason))
    if reasons:
        raise Unreadable(reasons[0])
    return None


def _read(
    op: str, row: Row, name: str, inputs: Sequence[Aval], attrs: Mapping[str, Any]
) -> tuple[tuple[int, ...], dict[str, Any]]:
    signature = signatures()[op]
    taken: list[int] = []
    placed: dict[int, int] = {}
    ours: dict[str, Any] = dict.fromkeys(row.silent)
    at = 0
    for argument in signature.inputs:
        n = 1
        if argument.number == "*":
            n = len(attrs[argument.kind])
        elif argument.number is not None:
            n = int(attrs[argument.number])
        if not 0 <= n <= len(inputs) - at:
            raise IndexError(f"{len(inputs)} inputs, of which {argument.name} takes {n} from {at} on")
        if argument.name in row.said:
            attr, codec = row.said[argument.name]
            known = inputs[at].value
            if known is None:
                raise Unreadable(f"the argument {argument.name} of {op} must be a constant")
            ours[attr] = CODECS[codec][1](np.asarray(known))
        elif argument.name in row.places:
            placed[row.places[argument.name]] = at
        else:
            taken += range(at, at + n)
        at += n
    types = {argument.kind for argument in (*signature.inputs, *signature.outputs)}
    numbers = {argument.number for argument in (*signature.inputs, *signature.outputs)}
    for key, (_, default) in signature.attrs.items():
        value = attrs.get(key, default)
        if key in row.said:
            attr, codec = row.said[key]
            ours[attr] = CODECS[codec][1](value)
        elif key not in types and key not in numbers and value != default and key not in IGNORED:
            raise Unreadable(f"{op} with {key} = {value!r}")
    if set(ours) != set(get(name).attrs):
        raise Unreadable(f"{op} as {name}")
    return (*[placed[i] for i in sorted(placed)], *taken), ours


#: Attributes that change no value.
IGNORED = frozenset({"use_cudnn_on_gpu", "grad_a", "grad_b", "grad_x", "grad_y", "validate_shape", "sorted", "name",
                     "parallel_iterations", "use_locking"})  # fmt: skip
