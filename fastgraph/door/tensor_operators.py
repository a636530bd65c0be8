"""The operators of Tensor as functions that libraries give to classes of their own: `Mine.__add__ = tf.Tensor.__add__`.

Rule: Tensors keep the operators of C, which Python finds without looking here; of anything else an operator is the
public function of the same meaning, whose dispatchers know what to do.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import fastgraph
from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.core import fallback_dispatch
from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.door.static_types import write_attribute
from fastgraph.graph import symbolic_tensor  # noqa: F401 - its class takes the operators of C over while they are there

#: Python's operator -> the public function of two arguments, or of one.
_BINARY = {
    "add": "", "sub": "math.subtract", "mul": "math.multiply", "truediv": "math.truediv", "floordiv": "math.floordiv",
    "mod": "math.floormod", "pow": "math.pow", "matmul": "linalg.matmul", "and": "", "or": "", "xor": "",
    "lt": "math.less", "le": "math.less_equal", "gt": "math.greater", "ge": "math.greater_equal", "div": "math.truediv",
}  # fmt: skip
_UNARY = {"abs": "math.abs", "neg": "math.negative"}
_MIRRORED = ("add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")


def _public(name: str) -> Callable[..., Any]:
    found: Any = fastgraph
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def add(x: object, y: object, name: str | None = None) -> Any:
    """Return x + y as Tensors have it: of strings, joined. Source: tf.__operators__.add."""
    if name is not None:
        return fastgraph.add(x, y, name=name)
    tensor = _tensor(x)
    found = type(tensor).__add__(tensor, y)
    if found is NotImplemented:
        if not isinstance(y, CompositeTensor):  # its own operator may well be this function
            raise TypeError(f"Cannot add {y!r} to a tensor.")
        found = tensor + y
    return found


def eq(x: object, y: object) -> Any:
    """Return x == y as Tensors have it. Source: tf.__operators__.eq."""
    return _tensor(x) == y


def ne(x: object, y: object) -> Any:
    """Return x != y as Tensors have it. Source: tf.__operators__.ne."""
    return _tensor(x) != y


def getitem(tensor: object, slice_spec: object, var: object = None) -> Any:
    """Return tensor[slice_spec] as Tensors have it. Source: tf.__operators__.getitem."""
    return _tensor(tensor)[slice_spec]


def _tensor(x: Any) -> Any:
    return x if isinstance(x, Tensor) else fastgraph.convert_to_tensor(x)


def _like(x: Any, y: Any) -> Any:
    """Return what stands left of y as a tensor of its dtype, as Tensor's mirrored operators have it."""
    return x if fastgraph.is_tensor(x) else fastgraph.convert_to_tensor(x, getattr(y, "dtype", None))


#: RaggedTensor's `[]`. Source: tf.__operators__.ragged_getitem.
ragged_getitem = RaggedTensor.__getitem__
#: The functions that have a public name as operators alone -> it.
PUBLIC: dict[Any, str] = {function: f"__operators__.{function.__name__}" for function in (add, eq, ne, getitem)}
PUBLIC[ragged_getitem] = "__operators__.ragged_getitem"
_LOGIC = {
    "and": ("math.logical_and", "bitwise.bitwise_and"),
    "or": ("math.logical_or", "bitwise.bitwise_or"),
    "xor": ("math.logical_xor", "bitwise.bitwise_xor"),
}


def _function_of(operator: str) -> Callable[..., Any]:
    """Return the function of x and y that an operator of something that is no Tensor is."""
    if operator == "add":
        return add
    if operator not in _LOGIC:
        return _public(_BINARY[operator])
    logical, bitwise = map(_public, _LOGIC[operator])

    def by_kind(x: TensorLike, y: Any) -> Any:
        return (logical if (x if hasattr(x, "dtype") else y).dtype == fastgraph.bool else bitwise)(x, y)

    return by_kind


def _method(name: str, own: Any, other: Callable[..., Any]) -> types.FunctionType:
    """Return an operator's method: `own` of Tensors, `other` of anything else."""

    def operate(self: Any, *args: object) -> Any:
        return own(self, *args) if isinstance(self, Tensor) else other(self, *args)

    operate.__name__, operate.__qualname__ = name, f"Tensor.{name}"
    operate.__doc__ = getattr(own, "__doc__", None)
    return operate  # type: ignore[return-value]


def _inverted(x: Any) -> Any:
    return (fastgraph.math.logical_not if x.dtype == fastgraph.bool else fastgraph.bitwise.invert)(x)


def _methods() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for operator in _BINARY:
        function, name = _function_of(operator), f"__{operator}__"
        found[name] = _method(
            name, getattr(Tensor, name.replace("div__", "truediv__") if operator == "div" else name), function
        )
        if operator in _MIRRORED:
            mirrored = f"__r{operator}__"
            found[mirrored] = _method(
                mirrored,
                getattr(Tensor, "__rtruediv__" if operator == "div" else mirrored),
                lambda y, x, function=function: function(_like(x, y), y),
            )
    for operator, public in _UNARY.items():
        found[f"__{operator}__"] = _method(f"__{operator}__", getattr(Tensor, f"__{operator}__"), _public(public))
    found["__invert__"] = _method("__invert__", Tensor.__invert__, _inverted)
    found["__eq__"] = _method("__eq__", Tensor.__eq__, eq)
    found["__ne__"] = _method("__ne__", Tensor.__ne__, ne)
    found["__getitem__"] = getitem
    return found


@functools.cache
def names() -> frozenset[str]:
    """Return the names of Tensor's operators, and from then on have functions under them in the class."""
    methods = _methods()
    for function in (add, eq, ne, getitem):
        fallback_dispatch.ask_about(function)
    for name, method in methods.items():
        write_attribute(Tensor, name, method)
    write_attribute(Tensor, "__nonzero__", Tensor.__bool__)  # its name of old, by which libraries copy it
    return frozenset(methods)
