"""Functions of each element, by NumPy's names: tables over ops, and what no one op is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.graph.control_flow import while_loop
from fastgraph.numpy_api.promotion import all_together, default_float, is_inexact, ops, result_type, tensor, together
from fastgraph.numpy_api.tables import Function, as_int8, binary, make_weak, named, of_first, refuse, unary

# Of floats.
arccos = unary("arccos", "acos")
arccosh = unary("arccosh", "acosh")
arcsin = unary("arcsin", "asin")
arcsinh = unary("arcsinh", "asinh")
arctan = unary("arctan", "atan")
arctanh = unary("arctanh", "atanh")
cbrt = unary("cbrt", lambda x: ops.where(x < 0, -(ops.abs(x) ** (1.0 / 3)), ops.abs(x) ** (1.0 / 3)))
ceil = unary("ceil", "ceil")
cos = unary("cos", "cos")
cosh = unary("cosh", "cosh")
deg2rad = unary("deg2rad", lambda x: x * (math.pi / 180.0))
exp = unary("exp", "exp")
exp2 = unary("exp2", lambda x: 2**x)
expm1 = unary("expm1", "expm1")
fix = unary("fix", lambda x: ops.where(x < 0, ops.ceil(x), ops.floor(x)))
floor = unary("floor", "floor")
isfinite = unary("isfinite", "is_finite")
isnan = unary("isnan", "is_nan")
log = unary("log", "log")
log10 = unary("log10", lambda x: ops.log(x) / np.log(10))
log1p = unary("log1p", "log1p")
log2 = unary("log2", lambda x: ops.log(x) / np.log(2))
sin = unary("sin", "sin")
sinc = unary("sinc", lambda x: ops.where(x == 0, ops.ones_like(x), ops.sin(x * math.pi) / (x * math.pi)))
sinh = unary("sinh", "sinh")
sqrt = unary("sqrt", "sqrt")
tan = unary("tan", "tan")
tanh = unary("tanh", "tanh")

# Of all numbers.
abs = unary("abs", "abs", to_float=False)
absolute = unary("absolute", "abs", to_float=False)
bitwise_not = unary("bitwise_not", lambda x: (ops.logical_not if x.dtype.is_bool else ops.invert)(x), to_float=False)
conj = unary("conj", "conj", to_float=False)
conjugate = unary("conjugate", "conj", to_float=False)
fabs = unary("fabs", "abs", to_float=False)
negative = unary("negative", "negative", to_float=False)
positive = unary("positive", lambda x: x, to_float=False)
reciprocal = unary("reciprocal", "reciprocal", to_float=False)
signbit = unary("signbit", lambda x: ops.zeros_like(x) if x.dtype.is_bool else x < 0, to_float=False)
square = unary("square", "square", to_float=False)


def _of_floats(apply: Function) -> Function:
    """Bools as the floats that Python's `float` stands for."""
    return lambda a, b: apply(ops.cast(a, default_float()), ops.cast(b, default_float()))


# Of two operands.
add = binary("add", "add", "logical_or")
arctan2 = binary("arctan2", "atan2")
bitwise_and = binary("bitwise_and", "bitwise_and", as_int8("bitwise_and", back=True))
bitwise_or = binary("bitwise_or", "bitwise_or", as_int8("bitwise_or", back=True))
bitwise_xor = binary("bitwise_xor", "bitwise_xor", as_int8("bitwise_xor", back=True))
divide = binary("divide", "truediv", _of_floats(lambda a, b: ops.truediv(a, b)))
float_power = binary("float_power", "pow")
floor_divide = binary("floor_divide", "floordiv", as_int8("floordiv"))
minimum = binary("minimum", "minimum", "logical_and")
mod = binary("mod", "floormod", as_int8("floormod"))
multiply = binary("multiply", "multiply", "logical_and")
nextafter = binary("nextafter", "nextafter")
power = binary("power", "pow")
remainder = binary("remainder", "floormod", as_int8("floormod"))
subtract = binary("subtract", "subtract")
true_divide = binary("true_divide", "truediv", _of_floats(lambda a, b: ops.truediv(a, b)))
_maximum = binary("maximum", "maximum", "logical_or")


def maximum(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return the greater of pairs. t[*s], t[*s] -> t[*s], broadcasting."""
    relu = isinstance(x1, Tensor) and not x1.dtype.is_bool and type(x2) in (int, float) and x2 == 0
    return ops.relu(x1) if relu else _maximum(x1, x2)


def _comparison(name: str, of_order: bool = True) -> Function:
    def function(x1: TensorLike, x2: TensorLike) -> Any:
        a, b = all_together([x1, x2])
        if of_order and a.dtype.is_bool:
            a, b = ops.cast(a, "int32"), ops.cast(b, "int32")
        return getattr(ops, name)(a, b)

    return named(function, name, f"Return whether NumPy's `{name}` holds. t[*s], t[*s] -> bool[*s], broadcasting.")


equal = _comparison("equal", of_order=False)
greater = _comparison("greater")
greater_equal = _comparison("greater_equal")
less = _comparison("less")
less_equal = _comparison("less_equal")
not_equal = _comparison("not_equal", of_order=False)


def _logical(name: str) -> Function:
    def function(x1: TensorLike, x2: TensorLike) -> Any:
        return getattr(ops, name)(tensor(x1, bool), tensor(x2, bool))

    return named(function, name, f"Return NumPy's `{name}` of what is not 0. t[*s], t[*s] -> bool[*s], broadcasting.")


logical_and = _logical("logical_and")
logical_or = _logical("logical_or")
logical_xor = _logical("logical_xor")
logical_not = unary("logical_not", lambda x: ops.logical_not(ops.cast(x, "bool")), to_float=False)


def divmod(x1: TensorLike, x2: TensorLike) -> tuple[Tensor, Tensor]:
    """Return floor_divide and mod of pairs."""
    return floor_divide(x1, x2), mod(x1, x2)


def rad2deg(x: TensorLike) -> Tensor | Any:
    """Return radians in degrees. f[*s] -> f[*s]."""
    return x * (180.0 / math.pi)  # type: ignore[operator]


def real(val: TensorLike) -> Tensor:
    """Return the real part of each element. t[*s] -> real[*s]."""
    return ops.real(tensor(val))


def imag(val: TensorLike) -> Tensor:
    """Return the imaginary part of each element. t[*s] -> real[*s]."""
    return ops.imag(tensor(val))


def angle(z: TensorLike, deg: bool = False) -> Tensor:
    """Return the angle of complex numbers; of real ones 0, or pi below 0."""
    x = tensor(z)
    x = x if is_inexact(x.dtype) else ops.cast(x, default_float())
    made = ops.angle(x) if x.dtype.is_complex else ops.where(x < 0, math.pi, 0)
    return rad2deg(made) if deg else made


def sign(x: TensorLike, out: TensorLike | None = None, where: Any = None, **kwargs: Any) -> Tensor:
    """Return the sign of each element. Raises ValueError for other arguments."""
    if out or where or kwargs:
        raise ValueError(f"tf.numpy doesnt support setting {'out' if out else 'where' if where else kwargs.keys()}.")
    return ops.sign(tensor(x))


def _around(a: Tensor, decimals: int = 0) -> Any:
    kind = a.dtype if is_inexact(a.dtype) else default_float()
    factor = ops.cast(math.pow(10, decimals), kind)
    return ops.cast(ops.divide(ops.round(ops.multiply(ops.cast(a, kind), factor)), factor), a.dtype)


around = of_first("around", _around, "elements rounded to that many decimals, halves to even")
round = of_first("round", _around, "elements rounded to that many decimals, halves to even")


def clip(a: TensorLike, a_min: TensorLike | None, a_max: TensorLike | None) -> Tensor:
    """Return elements moved into [a_min, a_max]. Raises ValueError without ends."""
    refuse(a_min is None and a_max is None, "Not more than one of `a_min` and `a_max` may be `None`.")
    if a_min is None:
        return minimum(a, a_max)
    if a_max is None:
        return maximum(a, a_min)
    x, low, high = all_together([a, a_min, a_max])
    return ops.clip_by_value(x + ops.zeros_like(low + high), low, high)


def heaviside(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return 0 below 0, x2 at 0, 1 above it, as floats."""
    a, b = together(x1, x2)
    made = ops.where(a < 0, ops.cast(0, b.dtype), ops.where(a > 0, ops.cast(1, b.dtype), b))
    return made if is_inexact(made.dtype) else ops.cast(made, default_float())


def hypot(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return sqrt(x1**2 + x2**2)."""
    return sqrt(add(square(x1), square(x2)))


def logaddexp(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return log(exp(x1) + exp(x2))."""
    a, b = together(x1, x2)
    return _after(a, b, log1p(exp(-ops.abs(a - b))))


def logaddexp2(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return log2(2**x1 + 2**x2)."""
    a, b = together(x1, x2)
    return _after(a, b, log1p(exp2(-ops.abs(a - b))) / np.log(2))


def _after(a: Tensor, b: Tensor, rest: Any) -> Any:
    """The greater of a and b with `rest` added; their sum where they are infinities of one sign, or NaN."""
    kind = result_type(a, rest)
    most = ops.cast(ops.maximum(a, b), kind) + ops.cast(rest, kind)
    return ops.where(isnan(a - b), ops.cast(a + b, kind), most)


def _imaginary(x: Tensor) -> Any:
    part = ops.imag(x)
    return ops.not_equal(part, ops.zeros_like(part))


iscomplex = of_first("iscomplex", _imaginary, "where the imaginary part is not 0")
isreal = of_first("isreal", lambda x: ops.logical_not(_imaginary(x)), "where the imaginary part is 0")


iscomplexobj = of_first("iscomplexobj", lambda x: bool(x.dtype.is_complex), "whether the dtype is complex")
isrealobj = of_first("isrealobj", lambda x: not x.dtype.is_complex, "whether the dtype is not complex")


def isinf(x: Any) -> Tensor | Any:
    """Return where a tensor of floats is infinite, False of others."""
    return ops.is_inf(x if is_inexact(x.dtype) else ops.cast(x, default_float())) if x.dtype.is_floating else False


def isneginf(x: Any) -> Tensor | Any:
    """Return where a tensor of floats is -inf, False of others."""
    return ops.equal(x, ops.cast(-np.inf, x.dtype)) if x.dtype.is_floating else False


def isposinf(x: Any) -> Tensor | Any:
    """Return where a tensor of floats is inf, False of others."""
    return ops.equal(x, ops.cast(np.inf, x.dtype)) if x.dtype.is_floating else False


def isclose(a: TensorLike, b: TensorLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Return where |a - b| <= atol + rtol |b|; of integers, where they are equal."""
    x, y = together(a, b)
    if not is_inexact(x.dtype):
        return ops.equal(x, y)
    near = ops.abs(x - y) <= atol + rtol * ops.abs(y)
    return near | (ops.is_nan(x) & ops.is_nan(y)) if equal_nan else near


def allclose(a: TensorLike, b: TensorLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Return whether `isclose` holds everywhere. -> bool[]."""
    return ops.reduce_all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: TensorLike, a2: TensorLike) -> Tensor:
    """Return whether shapes and elements are equal. -> bool[]."""
    a, b = all_together([a1, a2])
    if not a.shape.is_compatible_with(b.shape):
        return ops.cast(False, "bool")
    if a.shape.is_fully_defined() and b.shape.is_fully_defined():
        return ops.reduce_all(ops.equal(a, b))
    same = ops.reduce_all(ops.equal(ops.shape(a), ops.shape(b)))
    flat, other = ops.reshape(a, [-1]), ops.reshape(b, [-1])
    count = ops.minimum(ops.size(flat), ops.size(other))
    return ops.logical_and(same, ops.reduce_all(ops.equal(flat[:count], other[:count])))


def _common_divisor(a: Tensor, b: Tensor) -> Any:
    """The greatest common divisor, by Euclid's steps of all pairs at once. Raises: ValueError but for integers."""
    refuse(not a.dtype.is_integer, "Arguments to gcd must be integers.")
    zero = ops.zeros_like(a) + ops.zeros_like(b)
    x, y = ops.abs(a) + zero, ops.abs(b) + zero

    def step(x: Tensor, y: Tensor) -> Any:
        left = ops.not_equal(y, 0)
        return ops.where(left, y, x), ops.where(left, ops.floormod(x, ops.where(left, y, ops.ones_like(y))), y)

    if current_trace() is None:
        while bool(ops.reduce_any(ops.not_equal(y, 0))):
            x, y = step(x, y)
        return x
    return while_loop(lambda _, y: ops.reduce_any(ops.not_equal(y, 0)), step, (x, y))[0]


def gcd(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return the greatest common divisor of pairs of integers."""
    return _common_divisor(*together(x1, x2))


def lcm(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return the least common multiple of pairs of integers."""
    a, b = together(x1, x2)
    divisor = _common_divisor(a, b)
    whole = ops.abs(a) * ops.floordiv(ops.abs(b), ops.where(ops.equal(divisor, 0), ops.ones_like(divisor), divisor))
    return ops.where(ops.equal(divisor, 0), ops.zeros_like(whole), whole)


make_weak(globals())
