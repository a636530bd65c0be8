"""Functions of each element, by the standard's names: tables over ops, and what no one op is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.array_api.dtypes import array, asarray, floating, together
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.numpy_api.promotion import ops
from fastgraph.numpy_api.tables import named

Function = Callable[..., Any]


def _unary(name: str, compute: Function, of: Function = floating) -> Function:
    def function(x: TensorLike, /) -> Any:
        return compute(of(x))

    return named(function, name, f"Return the standard's `{name}` of each element. t[*s] -> t[*s].")


def _binary(name: str, compute: Function) -> Function:
    def function(x1: TensorLike, x2: TensorLike, /) -> Any:
        return compute(*together(x1, x2))

    return named(function, name, f"Return the standard's `{name}` of pairs. t[*s], t[*s] -> t[*s], broadcasting.")


def _op(name: str) -> Function:
    return lambda *values: getattr(ops, name)(*values)


def _whole(name: str) -> Function:
    """A function that rounds: integers and bools stay as they are, of complex numbers both parts are rounded."""

    def compute(x: Tensor) -> Any:
        if x.dtype.is_complex:
            return ops.complex(compute(ops.real(x)), compute(ops.imag(x)))
        return _rounded(name, x) if x.dtype.is_floating else ops.identity(x)

    return compute


def _rounded(name: str, x: Tensor) -> Any:
    return ops.where(x < 0, ops.ceil(x), ops.floor(x)) if name == "trunc" else getattr(ops, name)(x)


def _test(name: str, join: str, otherwise: bool) -> Function:
    """A test of floats; of complex numbers of both parts, and of others known beforehand."""

    def compute(x: Tensor) -> Any:
        if x.dtype.is_complex:
            return getattr(ops, join)(compute(ops.real(x)), compute(ops.imag(x)))
        return getattr(ops, name)(x) if x.dtype.is_floating else ops.fill(ops.shape(x), otherwise)

    return compute


def _by_bits(of_ints: str, of_bools: str) -> Function:
    return lambda *values: getattr(ops, of_bools if values[0].dtype.is_bool else of_ints)(*values)


def _ordered(name: str) -> Function:
    """A comparison or choice by order; bools count as 0 and 1."""

    def compute(a: Tensor, b: Tensor) -> Any:
        if not a.dtype.is_bool:
            return getattr(ops, name)(a, b)
        made = getattr(ops, name)(ops.cast(a, "int8"), ops.cast(b, "int8"))
        return ops.cast(made, "bool")

    return compute


def _sign(x: Tensor) -> Any:
    return ops.cast(x != 0, x.dtype) if x.dtype.is_unsigned or x.dtype.is_bool else ops.sign(x)


def _negative_bit(x: Tensor) -> Any:
    if not x.dtype.is_floating:
        return x < 0 if x.dtype.is_integer and not x.dtype.is_unsigned else ops.fill(ops.shape(x), False)
    return ops.bitcast(x, f"int{x.dtype.size * 8}") < 0


def _with_sign(a: Tensor, b: Tensor) -> Any:
    return ops.where(_negative_bit(b), -ops.abs(a), ops.abs(a))


def _length(a: Tensor, b: Tensor) -> Any:
    a, b = ops.abs(a), ops.abs(b)
    most, least = ops.maximum(a, b), ops.minimum(a, b)
    ratio = least / ops.where(most == 0, ops.ones_like(most), most)
    infinite = ops.is_inf(a) | ops.is_inf(b)
    return ops.where(infinite, ops.cast(np.inf, a.dtype), most * ops.sqrt(1 + ratio * ratio))


def _log_of_sum(a: Tensor, b: Tensor) -> Any:
    apart = ops.where(a == b, ops.zeros_like(a + b), a - b)
    return ops.maximum(a, b) + ops.log1p(ops.exp(-ops.abs(apart)))


def _power(a: Tensor, b: Tensor) -> Any:
    if a.dtype.is_unsigned:  # modulo 2**64, of which the bits of smaller ones are a part
        return ops.cast(ops.pow(ops.cast(a, "int64"), ops.cast(b, "int64")), a.dtype)
    return ops.pow(a, b)


def _remainder(a: Tensor, b: Tensor) -> Any:
    made = ops.floormod(a, b)
    return ops.where(made == 0, _with_sign(ops.zeros_like(made), b), made) if a.dtype.is_floating else made


def _expm1(x: Tensor) -> Any:
    if not x.dtype.is_complex:
        return ops.expm1(x)
    a, b = ops.real(x), ops.imag(x)
    least, wild = ops.equal(a, -np.inf), ops.logical_not(ops.is_finite(b))
    half = ops.sin(b / 2)
    real = ops.where(ops.equal(a, np.inf) & wild, a, ops.expm1(a) * ops.cos(b) - 2 * half * half + 0.0)
    imaginary = ops.where(least & wild, ops.zeros_like(b), ops.where(b == 0, b, ops.exp(a) * ops.sin(b)))
    return ops.complex(ops.where(least, -ops.ones_like(a), real), imaginary)


def _negated(x: Tensor) -> Any:
    return ops.zeros_like(x) - x if x.dtype.is_unsigned else ops.negative(x)


def _imaginary(x: Tensor) -> Any:
    return ops.imag(x) if x.dtype.is_complex else ops.zeros_like(x)


_FLOATING = "acosh asin asinh atan atanh cosh exp log log1p reciprocal sin sinh sqrt tan tanh acos cos"
_TESTS = {
    "isfinite": ("is_finite", "logical_and", True), "isinf": ("is_inf", "logical_or", False),
    "isnan": ("is_nan", "logical_or", False),
}  # fmt: skip
_BINARY = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "truediv", "floor_divide": "floordiv",
    "equal": "equal", "not_equal": "not_equal", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
}  # fmt: skip

_made: dict[str, Function] = {
    **{name: _unary(name, _op(name)) for name in _FLOATING.split()},
    **{name: _unary(name, _whole(name), array) for name in ("ceil", "floor", "round", "trunc")},
    **{name: _unary(name, _test(*row), array) for name, row in _TESTS.items()},
    **{name: _binary(name, _op(op)) for name, op in _BINARY.items()},
    **{
        name: _binary(name, _ordered(name))
        for name in ("greater", "greater_equal", "less", "less_equal", "maximum", "minimum")
    },
    **{
        name: _binary(name, lambda a, b, op=name: getattr(ops, op)(ops.cast(a, "bool"), ops.cast(b, "bool")))
        for name in ("logical_and", "logical_or", "logical_xor")
    },
    **{
        f"bitwise_{name}": _binary(f"bitwise_{name}", _by_bits(f"bitwise_{name}", f"logical_{name}"))
        for name in ("and", "or", "xor")
    },
    **{
        name: _binary(name, lambda a, b, f=compute: f(floating(a), floating(b)))
        for name, compute in {
            "atan2": _op("atan2"), "copysign": _with_sign, "hypot": _length, "logaddexp": _log_of_sum,
            "nextafter": _op("nextafter"),
        }.items()
    },
    "expm1": _unary("expm1", _expm1),
    "pow": _binary("pow", _power),
    "remainder": _binary("remainder", _remainder),
    **{
        name: _unary(name, compute, array)
        for name, compute in {
            "abs": lambda x: (ops.identity if x.dtype.is_unsigned else ops.abs)(x),
            "bitwise_invert": _by_bits("invert", "logical_not"), "conj": _op("conj"),
            "imag": _imaginary, "logical_not": lambda x: ops.logical_not(ops.cast(x, "bool")), "negative": _negated,
            "positive": _op("identity"), "real": _op("real"), "sign": _sign, "signbit": _negative_bit,
            "square": _op("square"),
        }.items()
    },
    "log2": _unary("log2", lambda x: ops.log(x) / math.log(2)),
    "log10": _unary("log10", lambda x: ops.log(x) / math.log(10)),
}  # fmt: skip
globals().update(_made)


def clip(x: TensorLike, /, min: TensorLike | None = None, max: TensorLike | None = None) -> Any:
    """Return elements moved into [min, max], of the dtype of x. t[*s] -> t[*s], broadcasting."""
    made = array(x)
    for end, op in ((min, "maximum"), (max, "minimum")):
        if end is not None:
            limit = ops.cast(end, made.dtype) if hasattr(end, "dtype") else asarray(end, dtype=made.dtype)
            made = _ordered(op)(made, limit)
    return made


__all__ = [*_made, "clip"]
