"""Functions out of rows of tables: their names, docstrings, and what they do with weak tensors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.numpy_api.promotion import (
    Behavior,
    as_kind,
    default_float,
    dtype_argument,
    is_inexact,
    kind_together,
    ops,
    tensor,
    together,
)
from fastgraph.numpy_api.weak_tensor import weakened

Function = Callable[..., Tensor | Any]

#: Functions that give a weak tensor where their first argument is weak.
WEAK = frozenset(
    """
    abs absolute amax amin angle arange arccos arcsin arcsinh arctan arctanh around array asanyarray asarray
    ascontiguousarray average bitwise_not cbrt ceil conj conjugate copy cos cosh cumprod cumsum deg2rad diag diagflat
    diagonal diff empty_like exp exp2 expand_dims expm1 fabs fix flatten flip fliplr flipud floor full_like imag log
    log10 log1p log2 max mean min moveaxis nanmean negative ones_like positive prod rad2deg ravel real reciprocal repeat
    reshape rot90 round sin sinc sinh sort sqrt square squeeze std sum swapaxes tan tanh trace transpose triu vander var
    zeros_like
    """.split()  # noqa: SIM905 - a list of ninety strings is no easier to read
)


def weakly(function: Function) -> Function:
    """`function`, which in the modes "all" and "safe" gives weak tensors of a weak first argument."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not Behavior.auto:
            return function(*args, **kwargs)
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
        name, first = next(iter(bound.items()))
        if isinstance(first, Tensor) or bound.get("dtype") is not None:
            return function(*args, **kwargs)
        try:
            dtype, weak = kind_together(first)
        except NotImplementedError:
            return function(*args, **kwargs)
        made = as_kind(first, dtype)
        result = function(made, *args[1:], **kwargs) if args else function(**{**kwargs, name: made})
        return weakened(result) if weak else result

    call.knows_weak = True  # type: ignore[attr-defined]
    return call


def make_weak(module: dict[str, Any]) -> None:
    """Let the functions of a module that are in WEAK know weak tensors."""
    found = {name: module[name] for name in WEAK & module.keys()}
    module.update({name: weakly(each) for name, each in found.items() if not hasattr(each, "knows_weak")})


def named(function: Function, name: str, text: str) -> Function:
    """A function that a table makes, with its name and docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def as_function(name: str, compute: Function, text: str) -> Function:
    """`compute` under a name, with its own arguments; `text` says what it gives."""

    @functools.wraps(compute)
    def function(*args: Any, **kwargs: Any) -> Any:
        return compute(*args, **kwargs)

    return named(function, name, f"Return {text}.")


def of_first(name: str, compute: Function, text: str) -> Function:
    """Do as `as_function` for a first argument that becomes a tensor."""
    first = next(iter(inspect.signature(compute).parameters))

    @functools.wraps(compute)
    def function(*args: Any, **kwargs: Any) -> Any:
        if args:
            return compute(tensor(args[0]), *args[1:], **kwargs)
        return compute(**{**kwargs, first: tensor(kwargs[first])} if first in kwargs else kwargs)

    return named(function, name, f"Return {text}.")


def _found(compute: str | Function) -> Function:
    """An op by its name, found when it is called; a function as it is."""
    return (lambda *args: getattr(ops, compute)(*args)) if isinstance(compute, str) else compute


def unary(name: str, compute: str | Function, to_float: bool = True) -> Function:
    """A function of each element; integers and bools become floats first, where it is one of floats."""
    apply = _found(compute)

    def function(x: TensorLike) -> Any:
        value = tensor(x)
        return apply(ops.cast(value, default_float()) if to_float and not is_inexact(value.dtype) else value)

    return named(function, name, f"Return NumPy's `{name}` of each element. t[*s] -> t[*s].")


def binary(name: str, compute: str | Function, of_bools: str | Function | None = None) -> Function:
    """A function of two operands of NumPy's dtype for both; `of_bools` is it of bools."""
    apply, logical = _found(compute), None if of_bools is None else _found(of_bools)

    def function(x1: TensorLike, x2: TensorLike) -> Any:
        a, b = together(x1, x2)
        return (logical if logical is not None and a.dtype.is_bool else apply)(a, b)

    return named(function, name, f"Return NumPy's `{name}` of pairs. t[*s], t[*s] -> t[*s], broadcasting.")


def as_int8(name: str, back: bool = False) -> Function:
    """An op of bools by way of int8, and `back` to bools."""

    def function(a: Tensor, b: Tensor) -> Any:
        made = getattr(ops, name)(ops.cast(a, "int8"), ops.cast(b, "int8"))
        return ops.cast(made, "bool") if back else made

    return function


def reduction(
    name: str,
    op: str,
    of_bools: str | None = None,
    integers: str | None = "int",
    keeps_bools: bool = False,
    takes: str = "dtype",
) -> Function:
    """A reduction. `integers` is what small integers and bools become: "int", "float", or None: nothing.

    `of_bools` reduces bools where they are asked for or stay bools; `takes`: arguments besides axis, keepdims.
    """

    def compute(a: TensorLike, axis: Any = None, dtype: DTypeLike | None = None, keepdims: bool | None = None) -> Any:
        kind = dtype_argument(dtype)
        value = tensor(a, kind)
        if value.dtype.is_bool and of_bools is not None and (kind is not None or keeps_bools):
            return getattr(ops, of_bools)(value, axis=axis, keepdims=bool(keepdims))
        if kind is None and (value.dtype.is_integer or value.dtype.is_bool) and integers:
            bits = 32 if Behavior.auto else 64
            if integers == "float":
                value = ops.cast(value, default_float())
            elif value.dtype.is_bool or value.dtype.size * 8 < bits:
                value = ops.cast(value, f"{'u' if value.dtype.is_unsigned else ''}int{bits}")
        if isinstance(axis, Tensor) and axis.dtype.name not in ("int32", "int64"):
            axis = ops.cast(axis, "int64")
        return getattr(ops, op)(value, axis=axis, keepdims=bool(keepdims))

    names = ["a", "axis", *takes.split(), "keepdims"]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(each, kind, default=None) for each in names[1:]]
    signature = inspect.Signature([inspect.Parameter("a", kind), *parameters])

    def function(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        refuse(given.pop("out", None) is not None, "Setting out is not supported.")
        return compute(**given)

    function.__signature__ = signature  # type: ignore[attr-defined]
    return named(function, name, f"Return NumPy's `{name}` along axes, or of all elements. t[*s] -> t[*r].")


def refuse(wrong: bool, text: str) -> None:
    """Raise ValueError where an argument is wrong."""
    if wrong:
        raise ValueError(text)
