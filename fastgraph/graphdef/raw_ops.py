"""tf.raw_ops: operations by TensorFlow's own names of them, made of what imported graphs are made of.

Rule: nothing is computed here. A signature says how arguments become inputs and attributes; the rules of the importer
say what the operation is; results come as TensorFlow gives them: one tensor, a list, a named tuple, or nothing.
"""

from __future__ import annotations

import functools
import inspect
import numbers
import re
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from fastgraph.api.namespaces import resolve
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base.dtype import DType, as_dtype
from fastgraph.core.base.name_tables import lines_of
from fastgraph.core.base.shapes import Aval, TensorShape
from fastgraph.core.conversion import convert_to_tensor
from fastgraph.core.registry import get
from fastgraph.core.tensor import EagerTensor, Tensor
from fastgraph.errors import NotBuiltError
from fastgraph.graphdef.import_ops import COMPOSITES, VARIANTS
from fastgraph.graphdef.import_resources import RESOURCES
from fastgraph.graphdef.import_sparse import sparse_of
from fastgraph.graphdef.op_table import (
    Argument,
    Dims,
    Signature,
    Unreadable,
    parsed_signatures,
    read,
    rows_for,
    signatures,
)
from fastgraph.ops.families import bind_named, operation_made
from fastgraph.state.resource_handles import ResourceHandle

#: Only in graphs that are read: lists as handles, tables, parts of gradients, and calls of functions.
_NOT_ALONE = frozenset({"BroadcastGradientArgs", "VarHandleOp", "RngReadAndSkip"})


class _Tables(NamedTuple):
    """raw_signatures.txt, read."""

    signatures: dict[str, Signature]
    renamed: dict[str, dict[str, str]]  # operation -> {an argument's name in tf.raw_ops: in graphs}
    public: dict[str, tuple[str, dict[str, str]]]  # operation -> the public function, {its keyword: attribute}


@functools.cache
def _tables() -> _Tables:
    lines = lines_of("graphdef/raw_signatures.txt")
    written = "\n".join([line for line in lines if line[0] not in "~="])
    renamed: dict[str, dict[str, str]] = {}
    public = {}
    for mark, *words in (line.split() for line in lines):
        pairs = dict([word.split("=") for word in words if "=" in word]) if mark in "~=" else {}
        if mark == "~":
            renamed.update(dict.fromkeys([word for word in words if "=" not in word], pairs))
        elif mark == "=":
            public[words[0]] = words[1], {**{word: word for word in words[2:] if "=" not in word}, **pairs}
    return _Tables({**parsed_signatures(written), **signatures()}, renamed, public)


@functools.cache
def names() -> frozenset[str]:
    """Return the operations that are served."""
    return frozenset([op for op in _tables().signatures if _is_served(op)])


def _is_served(op: str) -> bool:
    if op in _NOT_ALONE or op.startswith(("TensorList", "EmptyTensorList", "LookupTable", "InitializeTable")):
        return False
    return (
        op in _tables().public
        or op in COMPOSITES
        or op in VARIANTS
        or op in RESOURCES
        or bool(op in signatures() and rows_for(op))
    )


@functools.cache
def function(op: str) -> Callable[..., Any]:
    """Return the function of an operation. Raises KeyError for one that is not served."""
    if op not in names():
        raise KeyError(op)
    signature, names_of = _tables().signatures[op], _tables().renamed.get(op, {})
    shown = {new: old for old, new in names_of.items()}
    of_inputs = {name for each in signature.inputs for name in (each.kind, each.number)}
    attrs = {name: said for name, said in signature.attrs.items() if name not in of_inputs}
    needed = [each.name for each in signature.inputs] + [
        name for name, (_, default) in attrs.items() if default is None
    ]
    order = [*needed, *(name for name in attrs if name not in needed), "name"]
    keys = [shown.get(key, key) for key in order]

    def call(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise TypeError(
                f"{op} only takes keyword args (possible keys: {keys}). Please pass these args as kwargs instead."
            )
        for key in kwargs:
            if key not in keys:
                raise TypeError(f"{op}() got an unexpected keyword argument {key!r}")
        given = {names_of.get(key, key): value for key, value in kwargs.items()}
        lacking = [shown.get(key, key) for key in needed if key not in given]
        if lacking:
            plural = f"s: {', '.join(map(repr, lacking[:-1]))} and" if len(lacking) > 1 else ":"
            raise TypeError(f"{op}() missing {len(lacking)} required positional argument{plural} {lacking[-1]!r}")
        return _applied(op, signature, attrs, given)

    call.__name__ = call.__qualname__ = op
    call.__doc__ = f"The operation {op} with the arguments {', '.join(keys)}. Source: tf.raw_ops.{op}."
    call.keys, call.n_needed = keys, len(needed)  # type: ignore[attr-defined]
    return call


@functools.cache
def _by_snake_names() -> dict[str, str]:
    """Return the operations by the names that TensorFlow's own modules give them: {"mat_mul": "MatMul"}."""
    lower = re.compile(r"(?<=[a-z0-9])(?=[A-Z])(?<!\d(?=D(?![a-z])))|(?<=[A-Z])(?=[A-Z][a-z])")  # but Conv2D: conv2d
    return {lower.sub("_", op).lower(): op for op in names()}


@functools.cache
def by_position(name: str) -> Callable[..., Any] | None:
    """Return the operation that TensorFlow's own modules call `name` ("mat_mul"), which takes arguments by position.

    None where there is no such operation, or it is not served.
    """
    op = _by_snake_names().get(name.removeprefix("_"))  # "_max" is hidden, for Python has a max
    if op is None:
        return None
    of_keywords: Any = function(op)
    keys = of_keywords.keys

    def call(*args: object, **kwargs: object) -> Any:
        if len(args) > len(keys):
            count = f"from {of_keywords.n_needed} to {len(keys)} positional arguments but {len(args)} were given"
            raise TypeError(f"{name}() takes {count}")
        for key in keys[: len(args)]:
            if key in kwargs:
                raise TypeError(f"{name}() got multiple values for argument {key!r}")
        return of_keywords(**dict(zip(keys, args, strict=False)), **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = of_keywords.__doc__
    return call


#: Kind of attribute -> how it is given.
_CLASSES: dict[str, Any] = {"string": (str, bytes), "bool": bool, "float": numbers.Real}
_CLASSES |= dict.fromkeys(("ints", "floats", "strings", "types"), (list, tuple))


def _applied(op: str, signature: Signature, attrs: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    name = given.get("name")
    said = {}
    for key, (kind, default) in attrs.items():
        value = given.get(key, default)
        if key in given and not isinstance(value, _CLASSES.get(kind, object)):
            wanted = f"list for '{key}' argument to" if kind[-1] == "s" else f"{kind} for argument '{key}' of"
            raise TypeError(f"Expected {wanted} {op}, not {value!r}.")
        said[key] = _attribute(kind, value)
    inputs = _inputs(signature, given, said)
    found = _made(op, name, inputs, said)
    return _results(op, signature.outputs, found, said)


def results_of(op: str) -> tuple[Argument, ...] | None:
    """Return the results of an operation that is only read, None where they are not known."""
    signature = _tables().signatures.get(op)
    return None if signature is None else signature.outputs


def is_public(op: str) -> bool:
    """Return whether a public function computes an operation."""
    return op in _tables().public


def by_public_function(op: str, name: str, inputs: list[Any], attrs: Mapping[str, Any]) -> Any:
    """Return the results of a graph's operation that a public function computes; None where none does."""
    if op not in _tables().public:
        return None
    signature = _tables().signatures[op]
    if any(key not in signature.attrs for key in attrs if not key.startswith("_")):  # a primitive's, as it is written
        return None
    said = {key: _attribute(kind, attrs.get(key, default)) for key, (kind, default) in signature.attrs.items()}
    return _results(op, signature.outputs, _made(op, name, inputs, said), said)


def _attribute(kind: str, value: Any) -> Any:
    if value is None:
        return None
    if kind == "type":
        return as_dtype(value)
    if kind == "types":
        return [as_dtype(each) for each in value]
    if kind == "shape":
        shape = TensorShape(value.shape if isinstance(value, Dims) else value)
        return Dims(None if shape.rank is None else tuple(shape))
    if kind in ("int", "float", "bool"):
        return {"int": int, "float": float, "bool": bool}[kind](value)
    if kind in ("ints", "floats"):
        return [(int if kind == "ints" else float)(each) for each in value]
    return value.decode() if isinstance(value, bytes) else list(value) if kind == "strings" else value


def _inputs(signature: Signature, given: Mapping[str, Any], said: dict[str, Any]) -> list[Any]:
    """Return the inputs as tensors, all of a type attribute of one dtype; such attributes and numbers are noted."""
    types: dict[str, DType] = {}
    for argument in signature.inputs:
        values = given[argument.name]
        for value in values if argument.number is not None else [values]:
            if argument.kind in signature.attrs and isinstance(value, Tensor) and argument.number != "*":
                types.setdefault(argument.kind, value.dtype)
    found: list[Any] = []
    for argument in signature.inputs:
        values = given[argument.name]
        if argument.number is not None and not isinstance(values, list | tuple):
            raise TypeError(f"Expected list for '{argument.name}' argument to op, not {values!r}.")
        tensors = [_input(argument, value, signature, types) for value in (values if argument.number else [values])]
        if argument.number == "*":
            said[argument.kind] = [tensor.dtype for tensor in tensors]
        elif argument.number is not None:
            said[argument.number] = len(tensors)
        found += tensors
    said.update(types)
    return found


def _input(argument: Argument, value: Any, signature: Signature, types: dict[str, DType]) -> Any:
    if argument.kind == "resource":
        cell = value.cell if isinstance(value, ResourceHandle) else getattr(value, "__fg_cell__", None)
        if cell is None:
            raise NotBuiltError(f"raw_ops with the resource {value!r} are not built: Variables' handles are.")
        return cell
    if argument.kind == "variant":
        return value
    if argument.kind not in signature.attrs:
        return convert_to_tensor(value, as_dtype(argument.kind))
    if argument.number == "*":
        return convert_to_tensor(value)
    if argument.kind in types:
        return convert_to_tensor(value, types[argument.kind])
    tensor = convert_to_tensor(value)
    types[argument.kind] = tensor.dtype
    return tensor


def _made(op: str, name: str | None, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    if op in _tables().public:
        function, keywords = _tables().public[op]
        inputs = _with_sparse(_tables().signatures[op], inputs) if function[0] == "*" else inputs
        space, _, last = function.removeprefix("*").rpartition(".")
        named = {keyword: attrs[key] for keyword, key in keywords.items()}
        found = resolve(space, last)
        takes_name = name is not None and "name" in inspect.signature(found).parameters
        return found(*inputs, **named, **({"name": name} if takes_name else {}))
    if op in RESOURCES:
        return RESOURCES[op](None, name, inputs, attrs)  # type: ignore[arg-type]
    if op in COMPOSITES:
        return COMPOSITES[op](name, inputs, attrs)  # type: ignore[arg-type]
    try:
        found = read(op, [_aval(tensor) for tensor in inputs], attrs)
    except Unreadable as reason:
        if op in VARIANTS:
            return VARIANTS[op](name, inputs, attrs)  # type: ignore[arg-type]
        raise NotBuiltError(f"raw_ops.{op}: {reason}: this is not built. Use the public function of the op.") from None
    if found is None:
        return VARIANTS[op](name, inputs, attrs)  # type: ignore[arg-type]
    primitive, taken, ours = found
    return bind_named(name, get(primitive), tuple([inputs[i] for i in taken]), ours)


def _with_sparse(signature: Signature, inputs: list[Any]) -> list[Any]:
    """Return the inputs with a SparseTensor in place of indices, values and shape."""
    found, rest = [], list(inputs)
    for argument in signature.inputs:
        if argument.name.endswith("indices"):
            found.append(sparse_of(*rest[:3]))
            del rest[:3]
        elif not argument.name.endswith(("values", "shape")):
            found.append(rest.pop(0))
    return found


def _aval(tensor: Tensor) -> Aval:
    """All that is known of a tensor, its value too."""
    if tensor.aval.value is not None or not isinstance(tensor, EagerTensor):
        return tensor.aval
    return Aval(tensor.aval.dtype, tensor.aval.shape, np.asarray(tensor))


@functools.cache
def _tuple_of(op: str, names: tuple[str, ...]) -> Any:
    return namedtuple(op, names)  # noqa: PYI024 - its fields are data


def _results(op: str, outputs: tuple[Argument, ...], found: Any, attrs: Mapping[str, Any]) -> Any:
    if not outputs:
        return operation_made()
    if isinstance(found, SparseTensor):
        part = {"indices": found.indices, "shape": found.dense_shape}
        found = [part.get(output.name.rpartition("_")[2], found.values) for output in outputs]
    rest = list(found) if isinstance(found, list | tuple) else [found]
    parts: list[Any] = []
    for output in outputs:
        if output.number is None:
            if not rest:
                raise NotBuiltError(f"raw_ops.{op}: its result {output.name!r} is not built")
            parts.append(rest.pop(0))
            continue
        n = len(attrs[output.kind]) if output.number == "*" else attrs[output.number]
        parts.append(rest[:n])
        del rest[:n]
    return parts[0] if len(parts) == 1 else _tuple_of(op, tuple([each.name for each in outputs]))(*parts)
