"""Evaluates lowerings element by element in NumPy: what an op's `lower` says, without fusion, emitters or kernels.

Rule: an element is computed only where it is asked for, and a read outside a tensor is an error.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from fastgraph.compiler.nest.loop_nest import Builder, Operand
from fastgraph.compiler.nest.scalar_ir import Scalar, Table
from fastgraph.core.base.dtype import as_dtype

HALF = ("float16", "bfloat16")


class CheckFailed(Exception):
    """A check of the lowering did not hold; `position` is the flat position that it names."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class _Value:
    def __init__(self, aval: Any) -> None:
        self.aval = aval


class _Node:
    def __init__(self, primitive: Any, inputs: list[Any], outputs: list[Any], attrs: dict[str, Any]) -> None:
        self.op = primitive
        self.inputs = tuple(_Value(a) for a in inputs)
        self.outputs = tuple(_Value(a) for a in outputs)
        self.attrs = attrs


def _extents(table: Table, key: Any, shape: tuple[int, ...]) -> list[Scalar]:
    return [table.extent(key, axis, n) for axis, n in enumerate(shape)]


def _operand(table: Table, key: Any, aval: Any) -> Operand:
    shape = _extents(table, key, aval.shape)
    name = aval.dtype.name
    return Operand(name, shape, lambda index: table.load(key, name, index, shape))


def evaluate(
    primitive: Any, arrays: list[Any], attrs: dict[str, Any], in_avals: list[Any], out_avals: list[Any]
) -> list[Any]:
    """The op's outputs by its lowering. Raises CheckFailed; IndexError for a read outside an input."""
    table = Table()
    inputs = [_operand(table, i, aval) for i, aval in enumerate(in_avals)]
    outputs = [Operand(a.dtype.name, _extents(table, ("out", i), a.shape), None) for i, a in enumerate(out_avals)]
    builder = Builder(table, inputs, outputs, key="node")
    node = _Node(primitive, in_avals, out_avals, attrs)
    elements = primitive.lower(builder, node)
    assert len(elements) == len(out_avals)
    results = []
    for element, operand, aval in zip(elements, outputs, out_avals, strict=True):
        variables = [table.var(n) for n in operand.shape]
        term = table.cast(element(tuple(variables)), aval.dtype)
        result = np.empty(aval.shape, aval.dtype.numpy_dtype)
        for index in itertools.product(*[range(n) for n in aval.shape]):
            machine = _Machine(arrays, {("out", i): a.shape for i, a in enumerate(out_avals)})
            result[index] = machine.value(term, dict(zip(variables, index, strict=True)))
        results.append(result)
    return results


class _Machine:
    def __init__(self, arrays: list[Any], shapes: dict[Any, Any]) -> None:
        self.arrays = arrays
        self.shapes = {i: a.shape for i, a in enumerate(arrays)} | shapes

    def value(self, term: Scalar, env: dict[Scalar, int], memo: dict[Scalar, Any] | None = None) -> Any:
        memo = {} if memo is None else memo
        if term in memo:
            return memo[term]
        memo[term] = found = self._value(term, env, memo)
        return found

    def _value(self, term: Scalar, env: dict[Scalar, int], memo: dict[Scalar, Any]) -> Any:
        op, numpy_type = term.op, as_dtype(term.dtype).numpy_dtype.type
        if op == "const" or op == "param":
            return numpy_type(term.attr)
        if op == "extent":
            key, axis = term.attr
            return np.int64(self.shapes[key][axis])
        if op == "var":
            return np.int64(env[term])
        if op == "select":
            return self.value(term.args[1 if self.value(term.args[0], env, memo) else 2], env, memo)
        if op == "check":
            if not self.value(term.args[0], env, memo):
                raise CheckFailed(int(self.value(term.args[2], env, memo)))
            return self.value(term.args[1], env, memo)
        if op == "reduce":
            return self._reduce(term, env)
        args = [self.value(a, env, memo) for a in term.args]
        if op == "load":
            array = self.arrays[term.attr]
            index = tuple(int(i) for i in args)
            if any(not 0 <= i < n for i, n in zip(index, array.shape, strict=True)):
                raise IndexError(f"read of {index} in {array.shape}")
            return array[index]
        if op == "cast":
            return cast(args[0], term.dtype)
        return apply(op, args, term.dtype)

    def _reduce(self, term: Scalar, env: dict[Scalar, int]) -> Any:
        kind, n = term.attr
        variables, body = term.args[:n], term.args[n]
        sizes = [int(self.value(v.args[0], env)) for v in variables]
        values = []
        for index in itertools.product(*[range(m) for m in sizes]):
            values.append(self.value(body, env | dict(zip(variables, index, strict=True))))
        dtype = as_dtype(body.dtype).numpy_dtype
        array = np.array(values, dtype)
        if kind in ("argmax", "argmin"):
            return np.int64(getattr(np, kind)(array))
        if kind in ("any", "all"):
            return np.bool_(getattr(np, kind)(array))
        if kind in ("max", "min"):
            if not values:
                return _worst(kind, dtype)
            return getattr(np, kind)(array)
        if kind == "sum" and dtype.kind == "f":
            return dtype.type(math.fsum(array.tolist()) if np.isfinite(array).all() else array.sum())
        return getattr(np, kind)(array, dtype=dtype)


def _worst(kind: str, dtype: Any) -> Any:
    if dtype.kind in "iu":
        return dtype.type(np.iinfo(dtype).min if kind == "max" else np.iinfo(dtype).max)
    return dtype.type(-np.inf if kind == "max" else np.inf)


def cast(x: Any, dtype: str) -> Any:
    """x in another dtype, as NumPy converts."""
    return np.asarray(x).astype(as_dtype(dtype).numpy_dtype)[()]


def _special(name: str) -> Any:
    from scipy import special

    return getattr(special, name)


def _digamma(x: Any) -> Any:
    return np.where(x == 0, np.nan, _special("psi")(x))


def _polygamma(n: Any, x: Any) -> Any:
    return np.where(n == 0, _digamma(x), _special("polygamma")(np.asarray(n).astype(int), x.astype(np.float64)))


def _igamma_grad_a(a: Any, x: Any) -> Any:
    from fastgraph.core.registry import get

    return get("igamma_grad_a").body(np.asarray(a), np.asarray(x))


def _pow(x: Any, y: Any) -> Any:
    return np.power(x, y) if np.asarray(y).dtype.kind != "i" or y >= 0 else x.dtype.type(0)


_FUNCTIONS = {
    "conj": np.conj,
    "complex": lambda real, imag: real + 1j * imag,
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "pow": _pow,
    "not": np.invert, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
    "exp": np.exp, "log": np.log, "log1p": np.log1p, "expm1": np.expm1, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sqrt": np.sqrt, "abs": np.abs, "sign": np.sign,
    "floor": np.floor, "ceil": np.ceil, "round": np.rint, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
    "min": np.minimum, "max": np.maximum, "atan2": np.arctan2, "trunc": np.trunc,
    "fmod": np.fmod, "nextafter": np.nextafter, "digamma": _digamma, "polygamma": _polygamma, "truncatemod": np.fmod,
    **{name: lambda *x, name=name: _special(name)(*x) for name in ("erf", "erfc", "erfinv", "ndtri", "zeta")},
    "lgamma": lambda x: _special("gammaln")(x), "igamma": lambda a, x: _special("gammainc")(a, x),
    "igammac": lambda a, x: _special("gammaincc")(a, x), "igamma_grad_a": _igamma_grad_a,
    "betainc": lambda a, b, x: _special("betainc")(a, b, x),
    **{
        f"bessel_{name}": lambda x, name=name: np.where(x <= 0, np.inf, _special(name)(x))
        for name in ("k0", "k0e", "k1", "k1e")
    },
    "expint": lambda x: np.where((x < 0) | np.isinf(x), np.nan, _special("expi")(x)),
    "bessel_i0e": lambda x: _special("i0e")(x), "bessel_i1e": lambda x: _special("i1e")(x),
}  # fmt: skip


def apply(op: str, args: list[Any], dtype: str) -> Any:
    """One operation of the expression language on NumPy scalars."""
    own = args[0].dtype
    wide = [a.astype(np.float32) for a in args] if own.name in HALF else args
    kind = wide[0].dtype.kind
    if op == "floordiv":
        result = (np.floor_divide(*wide) if wide[1] != 0 else 0) if kind in "iu" else wide[0] / wide[1]
        result = np.floor(own.type(result).astype(wide[0].dtype))
    elif op == "floormod":
        result = np.mod(*wide) if kind == "f" or wide[1] != 0 else 0
    elif op == "truncatediv":
        result = int(abs(int(wide[0])) // abs(int(wide[1]))) * (1 if (wide[0] < 0) == (wide[1] < 0) else -1)
    elif op in ("lshift", "rshift"):
        amount = own.type(min(max(int(wide[1]), 0), own.itemsize * 8 - 1))
        result = (np.left_shift if op == "lshift" else np.right_shift)(wide[0], amount)
    elif op == "rsqrt":
        result = wide[0].dtype.type(1) / np.sqrt(wide[0])
    elif op == "sigmoid":
        small = np.exp(-np.abs(wide[0]))
        result = (1 if wide[0] >= 0 else small) / (1 + small)
    elif op == "softplus":
        result = np.log1p(np.exp(-np.abs(wide[0]))) + np.maximum(wide[0], 0)
    elif op == "round" and kind in "iu":
        result = wide[0]
    else:
        result = _FUNCTIONS[op](*wide)
    return np.asarray(result).astype(as_dtype(dtype).numpy_dtype)[()]
