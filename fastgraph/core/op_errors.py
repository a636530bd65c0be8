"""The texts of the errors that applying an op gives, in TensorFlow's words.

Rule: functions here make exceptions or messages and raise nothing themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import Shape
from fastgraph.errors import (
    DtypeMismatchError,
    InaccessibleTensorError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
)

if TYPE_CHECKING:
    from fastgraph.core.primitive import Primitive
    from fastgraph.core.tensor import Tensor

#: True where an op's error keeps the Python exception inside its body as its cause.
TRACEBACKS = False

_MESSAGE_NAMES = {"float32": "float", "float64": "double", "float16": "half"}
_ENUM_NAMES = {"float32": "DT_FLOAT", "float64": "DT_DOUBLE", "float16": "DT_HALF"}
DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


def message_name(dtype: DType) -> str:
    """The name of `dtype` in TensorFlow's kernel messages: float32 is "float"."""
    return _MESSAGE_NAMES.get(dtype.name, dtype.name)


def enum_name(dtype: DType) -> str:
    """The name of `dtype` in a GraphDef: "DT_FLOAT"."""
    return _ENUM_NAMES.get(dtype.name, "DT_" + dtype.name.upper())


def format_shape(dims: Iterable[int | None]) -> str:
    """A shape as TensorFlow's kernels print it: [2,3]."""
    return "[" + ",".join("?" if d is None else str(d) for d in dims) + "]"


def misfit(what: str, op: str, *shapes: Iterable[int | None] | None) -> ValueError:
    """Inputs of these shapes do not fit an op that a graph has not as a node: it is made of others."""
    given = ", ".join("<unknown>" if dims is None else format_shape(dims) for dims in shapes)
    return ValueError(f"{what} for '{{{{node {op}}}}} = {op}' with input shapes: {given}.")


def mismatch(prim: Primitive, position: int, expected: DType, found: DType, trace: Any, inputs: list[Any]) -> Exception:
    """Input `position` has dtype `found` where the other inputs or the op ask for `expected`."""
    if trace is None:
        return DtypeMismatchError(
            None,
            None,
            f"cannot compute {prim.op_type} as input #{position}(zero-based) was expected to be a "
            f"{message_name(expected)} tensor but is a {message_name(found)} tensor [Op:{prim.op_type}] name: ",
        )
    name = _input_name(prim, position)
    letter = prim.groups[min(position, len(prim.groups) - 1)]
    if letter[0].isupper():
        # The input that set the dtype may stand behind this one: a Python number is converted last.
        first = next((i for i in range(position) if prim.groups[min(i, len(prim.groups) - 1)] == letter), position + 1)
        return TypeError(
            f"Input '{name}' of '{prim.op_type}' Op has type {found.name} that does not match type "
            f"{expected.name} of argument '{_input_name(prim, first)}'."
        )
    return TypeError(
        f"Input '{name}' of '{prim.op_type}' Op has type {found.name} that does not match expected type of "
        f"{expected.name}."
    )


def mixed_dtypes(op: str, arguments: tuple[str, ...], found: list[DType], name: str, trace: Any) -> Exception:
    """The last inputs of the operation `op`, called `name`, must be of one dtype; one argument names a list of them."""
    at = next(i for i, dtype in enumerate(found) if dtype is not found[0])
    listed = len(arguments) == 1
    if trace is None:
        position = at if listed else at + len(arguments) - len(found)
        return DtypeMismatchError(
            None,
            None,
            f"cannot compute {op} as input #{position}(zero-based) was expected to be a {message_name(found[0])} "
            f"tensor but is a {message_name(found[at])} tensor [Op:{op}] name: {name}",
        )
    if listed:
        types = ", ".join(dtype.name for dtype in found)
        return TypeError(
            f"Tensors in list passed to '{arguments[0]}' of '{op}' Op have types [{types}] that don't all match."
        )
    own = arguments[len(arguments) - len(found) :]
    return TypeError(
        f"Input '{own[at]}' of '{op}' Op has type {found[at].name} that does not match type {found[0].name} of "
        f"argument '{own[0]}'."
    )


def _input_name(prim: Primitive, position: int) -> str:
    return prim.inputs[min(position, len(prim.inputs) - 1)].lstrip("*")


def dtype_not_allowed(prim: Primitive, letter: str, found: DType, trace: Any) -> Exception:
    """The inputs of type letter `letter` have a dtype that the op does not take."""
    allowed = prim.dtypes[letter]
    if trace is not None:
        position = prim.groups.index(letter)
        return TypeError(
            f"Value passed to parameter '{_input_name(prim, position)}' has DataType {found.name} not in list of "
            f"allowed values: {', '.join(dtype.name for dtype in allowed)}"
        )
    signature = ", ".join(f"{name.lstrip('*')}:{group}" for name, group in zip(prim.inputs, prim.groups, strict=True))
    attr = f"{letter}:type,allowed=[{', '.join(enum_name(dtype) for dtype in allowed)}]"
    return InvalidArgumentError(
        None,
        None,
        f"Value for attr '{letter}' of {message_name(found)} is not in the list of allowed values: "
        f"{', '.join(message_name(dtype) for dtype in allowed)}\n\t; NodeDef: {{{{node {prim.op_type}}}}}; "
        f"Op<name={prim.op_type}; signature={signature}; attr={attr}> [Op:{prim.op_type}] name: ",
    )


def failed(prim: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any], error: BaseException) -> Exception:
    """The error to raise when the body of `prim` raised `error`: TensorFlow's class and text, with the op's name."""
    if isinstance(error, OpError):
        if "[Op:" in error.message:
            return error
        return _named(prim, error, inputs, attrs)
    if is_of_memory(error):
        return ResourceExhaustedError(
            None, None, f"Out of memory: {error or 'an array could not be made'} [Op:{prim.op_type}] name: "
        )
    if prim.infer is not None:  # the inference rules say what is wrong with shapes
        try:
            prim.infer(*(getattr(value, "aval", value) for value in inputs), **attrs)
        except OpError as better:
            return _named(prim, better, inputs, attrs)
        except ValueError as better:
            return _named(prim, InvalidArgumentError(None, None, str(better)), inputs, attrs)
        except Exception:  # a rule that fails otherwise explains nothing: keep the body's own error
            pass
    operands = ", ".join(
        f"{message_name(value.dtype)}{format_shape(value.shape)}" for value in inputs if hasattr(value, "dtype")
    )
    return _named(prim, InvalidArgumentError(None, None, f"{error} (inputs: {operands})"), inputs, attrs)


def _named(prim: Primitive, error: OpError, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> OpError:
    count = f"_N_{len(inputs)}" if prim.inputs and prim.inputs[0].startswith("*") else ""
    node = f"{{{{function_node __wrapped__{prim.op_type}{count}_device_{DEVICE}}}}}"
    text = f"{node} {error.message} {_ending(prim, attrs)}"
    if type(error) is OpError:
        return OpError(None, None, text, error.error_code)
    return type(error)(None, None, text)


#: Attributes that are inputs of TensorFlow's op, and as a rule given as lists.
_LISTS = ("multiples", "paddings", "perm", "shape", "size")


def _ending(prim: Primitive, attrs: dict[str, Any]) -> str:
    """Return the end of an op's error: the name given to it, unless one of its inputs was a list.

    TensorFlow's quick way from Python to an op takes tensors, arrays and numbers, and names the op in its errors; what
    goes the other way has no name. A list of several axes is an input as well.
    """
    listed = any(name in attrs for name in _LISTS) or len(attrs.get("axes") or ()) > 1
    return f"[Op:{prim.op_type}]" if listed else f"[Op:{prim.op_type}] name: {prim.extra.get('node_name', '')}"


#: Operations whose functions make tensors of what they are given before they apply them.
_CONVERTING = ("AddV2", "BatchMatMul", "Cumprod", "Cumsum", "CumulativeLogsumexp", "MatMul")


def unnamed(error: Exception, prim: Primitive, given: tuple[Any, ...]) -> Exception:
    """`error` of an op that was given these: without the empty name at its end if one of them is a list or text."""
    if not isinstance(error, OpError) or prim.op_type in _CONVERTING:
        return error
    if any(isinstance(value, (list, tuple, str, bytes)) for value in given) and error.message.endswith("] name: "):
        return _ended(error, error.message.removesuffix(" name: "))
    return error


def called(error: OpError, name: str) -> OpError:
    """`error` of an op that the caller has called `name`."""
    head, ending, _ = error.message.rpartition("] name: ")
    return _ended(error, head + ending + name) if ending else error


def _ended(error: OpError, message: str) -> OpError:
    error._message = message
    error.args = (*error.args[:2], message, *error.args[3:])
    return error


def is_of_memory(error: BaseException) -> bool:
    """Say whether NumPy lacked memory: it has other words for more bytes than can be counted."""
    words = ("array is too big", "Maximum allowed dimension", "iterator is too large", "broadcast dimensions too large")
    return isinstance(error, MemoryError) or str(error).startswith(words)


def out_of_memory(dims: tuple[int, ...], dtype: DType) -> str:
    """A tensor of this shape could not be allocated."""
    return (
        f"OOM when allocating tensor with shape{format_shape(dims)} and type {message_name(dtype)} on {DEVICE} by "
        "allocator cpu"
    )


MAX_RANK = 64  # of tensors, as NumPy's


def rank_too_large(rank: int) -> str:
    """An array has more dimensions than tensors can have."""
    return f"Tensors have at most {MAX_RANK} dimensions; an array of {rank} was given"


def unsupported_array(dtype: np.dtype[Any]) -> str:
    """An array's elements are of a type that tensors do not have."""
    names = {"M": "NPY_DATETIME", "m": "NPY_TIMEDELTA", "g": "NPY_LONGDOUBLE", "G": "NPY_CLONGDOUBLE", "V": "NPY_VOID"}
    return f"Failed to convert a NumPy array to a Tensor (Unsupported numpy type: {names.get(dtype.char, dtype.name)})."


def not_strings(source: np.ndarray[Any, Any], dtype: DType | None, item: object = None) -> Exception:
    """An array was to become a string tensor, or a string array another tensor, and cannot."""
    if item is not None or source.dtype == object:
        culprit = item
        if culprit is None and source.size:
            culprit = source.flat[0]
        return ValueError(
            "Failed to convert a NumPy array to a Tensor (Unsupported object type "
            f"{type(culprit.item() if isinstance(culprit, np.generic) else culprit).__name__})."
        )
    wanted = message_name(dtype) if dtype is not None else "string"
    return TypeError(f"Cannot convert {source.tolist()!r} to EagerTensor of dtype {wanted}")


def wrong_dtype(value: Tensor, dtype: DType) -> Exception:
    """A Tensor was given where one of another dtype is wanted."""
    return ValueError(
        f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value.dtype.name}: {value!r}"
    )


def out_of_scope(value: Tensor) -> Exception:
    """A symbolic tensor was used where its trace is over or another one runs."""
    origin = getattr(value, "made_at", "")
    return InaccessibleTensorError(
        f"{value!r} is out of scope and cannot be used here. Use return values, explicit Python locals or TensorFlow "
        f"collections to access it.{origin and f' It was made while tracing ({origin}).'}"
    )


def uninitialized(name: str) -> str:
    """A Variable was read before it held a value, or after it was freed."""
    return (
        f"Error while reading resource variable {name} from Container: localhost. This could mean that the variable "
        f"was uninitialized or deleted. Not found: Resource localhost/{name} does not exist."
    )


def wrong_assignment(cell: Any, value: Any) -> Exception:
    """A value of another dtype or shape was assigned to a Variable."""
    return ValueError(
        f"Cannot assign value to variable '{cell.name}': Shape mismatch. The variable shape "
        f"{_shape_text(cell.aval.shape)}, and the assigned value shape {_shape_text(value.shape)} are incompatible."
        if value.dtype is cell.aval.dtype
        else f"Cannot assign to variable '{cell.name}' of dtype {cell.aval.dtype.name} a value of dtype "
        f"{value.dtype.name}."
    )


def _shape_text(dims: Shape) -> str:
    if dims is None:
        return "<unknown>"
    dims = tuple(dims)
    return "(" + ", ".join(str(d) for d in dims) + ("," if len(dims) == 1 else "") + ")"


_NUMPY_NAMES = frozenset(
    [
        "T",
        "size",
        "astype",
        "ravel",
        "tolist",
        "reshape",
        "transpose",
        "clip",
        "max",
        "min",
        "mean",
        "sum",
        "data",
        "flatten",
        "item",
        "squeeze",
        "std",
        "var",
        "dot",
        "argmax",
        "argmin",
        "cumsum",
        "prod",
        "all",
        "any",
        "copy",
        "fill",
        "sort",
        "nonzero",
        "swapaxes",
    ]
)


#: Those of them that TensorFlow's tensors have, in graphs.
UNDEFINED = ("name", "op", "graph", "consumers", "value_index")

#: Attributes that tensors do not have and users look for.
ABSENT = (*UNDEFINED, "eval", *sorted(_NUMPY_NAMES))


def no_attribute(value: Tensor, name: str) -> str:
    """The text of the AttributeError for an attribute that tensors do not have."""
    text = f"'{type(value).__name__}' object has no attribute '{name}'"
    if name in UNDEFINED:
        return f"Tensor.{name} is undefined when eager execution is enabled."
    if name == "eval":
        return f"{text}: eval is not supported when eager execution is enabled, is .numpy() what you're looking for?"
    if name in _NUMPY_NAMES:
        way = "or .numpy(); T, reshape and the like: tf.experimental.numpy.experimental_enable_numpy_behavior()."
        return f"{type(value).__name__} object has no attribute '{name}'. Use the functions of fastgraph, {way}"
    return text
