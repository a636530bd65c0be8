"""NumPy's behaviour of tensors, switched on by a program: operators of several dtypes, methods, indexing, weak dtypes.

Rule: what is not switched on costs nothing: operators look at a slot before they refuse, and public functions that
know weak dtypes stand in their namespaces only while a mode asks for them.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.api.namespaces import ROOT
from fastgraph.core.base.dtype import DTypeLike, as_dtype
from fastgraph.core.base.logger import get_logger
from fastgraph.core.conversion import SizeLike, TensorLike, constant
from fastgraph.core.op_index import PUBLIC
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import EagerTensor, Tensor, get_slot, register_slot, set_tensor_attribute
from fastgraph.numpy_api import elementwise, products, reductions, shapes
from fastgraph.numpy_api.promotion import MODES, Behavior, as_kind, kind_together, ops, type_of_two
from fastgraph.numpy_api.weak_tensor import WeakTensor, weakened
from fastgraph.ops.indexing import getitem
from fastgraph.state.variable import Variable

#: Public functions that take the lattice's dtype of their first argument, and of their first two.
_UNARY = """
abs acos acosh angle asin asinh atan atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0
bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1 ceil clip_by_value conj cos cosh dawsn digamma elu erf erfc erfcinv
erfinv exp expand_dims expint expm1 floor fresnel_cos fresnel_sin gelu identity imag invert leaky_relu lgamma log log1p
log_sigmoid log_softmax ndtri negative ones_like real reciprocal reciprocal_no_nan reduce_euclidean_norm
reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum reduce_variance relu relu6 reshape
rint round rsqrt selu sigmoid sign sin sinh softplus softsign spence sqrt square squeeze stop_gradient swish tan tanh
trace transpose zeros_like
"""
_BINARY = """
add divide divide_no_nan equal floordiv floormod matmul maximum minimum mod multiply multiply_no_nan pow realdiv
subtract truediv truncatediv truncatemod
"""
_COMPARISONS = frozenset(["equal", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge"])
_NAMES = "add sub mul truediv floordiv mod pow and or xor lshift rshift lt le gt ge eq ne"
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {name: getattr(operator, f"__{name}__") for name in _NAMES.split()}
_OPERATORS |= {"realdiv": operator.truediv, "matmul": lambda x, y: ops.matmul(x, y)}
_spaces = ("", "math.", "math.special.", "nn.", "linalg.", "bitwise.")


def _takes_part(value: TensorLike) -> bool:
    kind = type(value)
    return isinstance(value, Tensor | bool | int | float | complex | np.ndarray | np.generic | list | tuple) or (
        hasattr(kind, "__fg_tensor__") and not hasattr(kind, "__fg_bind__")
    )


def promoted(name: str, x: TensorLike, y: TensorLike) -> Any:
    """Return what the operator `name` gives of two values of several dtypes; None where it goes on as ever."""
    if not (_takes_part(x) and _takes_part(y)) or as_dtype("string") in (_dtype(x), _dtype(y)):
        return None
    if name == "matmul" and not Behavior.auto:
        return products.matmul(x, y)
    if not Behavior.auto:
        kind = type_of_two(x, y)
        return _OPERATORS[name](as_kind(x, kind), as_kind(y, kind))
    if name in ("and", "or", "xor", "lshift", "rshift"):  # these take one dtype in the modes of the lattice
        return None
    try:
        kind, weak = kind_together(x, y)
    except NotImplementedError:
        return None
    made = _OPERATORS[name](as_kind(x, kind), as_kind(y, kind))
    return weakened(made) if weak and name not in _COMPARISONS else made


def _dtype(value: TensorLike) -> Any:
    return getattr(value, "dtype", None) if isinstance(value, Tensor) else None


def numpy_getitem(x: Tensor, key: Any) -> Any:
    """x[key] as NumPy indexes. Raises: IndexError for what is no index."""
    masks = isinstance(key, bool) or (isinstance(key, Tensor | np.ndarray) and as_dtype(key.dtype).is_bool)
    if masks:
        return getitem(x, key)
    if isinstance(key, list) and any(
        p is None or p is Ellipsis or isinstance(p, list | tuple | slice) or getattr(p, "ndim", 0) for p in key
    ):
        key = tuple(key)
    return shapes.indexed(x, key if isinstance(key, tuple) else (key,), getitem)


# ---- methods --------------------------------------------------------------------------------------------------------


def _reshape(x: Tensor, *newshape: Any, order: str = "C") -> Any:
    dims = newshape[0] if len(newshape) == 1 and not isinstance(newshape[0], int) else newshape
    return shapes.reshape(x, dims, order)


def _tolist(x: Tensor) -> Any:
    if not isinstance(x, EagerTensor):
        raise ValueError("Symbolic Tensors do not support the tolist API.")
    return x.numpy().tolist()


_METHODS: dict[str, Any] = {
    "T": property(lambda x: shapes.transpose(x)),
    "size": property(lambda x: np.int64(x.shape.num_elements() or 0) if x.shape.is_fully_defined() else None),
    "data": property(lambda x: x),
    "tolist": _tolist,
    "transpose": shapes.transpose,
    "flatten": shapes.flatten,
    "reshape": _reshape,
    "ravel": shapes.ravel,
    "clip": elementwise.clip,
    "astype": lambda x, dtype: ops.cast(x, dtype),
    "max": reductions.amax,
    "mean": reductions.mean,
    "min": reductions.amin,
}

# ---- functions of weak dtypes ---------------------------------------------------------------------------------------


def _wrapped(function: Callable[..., Any], name: str, operands: int) -> Callable[..., Any]:
    """A public function, which casts its first operands to the lattice's dtype and is weak where that is."""
    signature = inspect.signature(function)
    names = [*signature.parameters][:operands]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        given = bound.arguments
        values = [given.get(each) for each in names]
        if operands == 1 and (isinstance(values[0], Tensor) or given.get("dtype") is not None):
            return function(*args, **kwargs)
        try:
            kind, weak = kind_together(*values)
        except NotImplementedError:
            return function(*args, **kwargs)
        given.update({each: as_kind(value, kind) for each, value in zip(names, values, strict=True)})
        made = function(*bound.args, **bound.kwargs)
        return weakened(made) if weak and name not in _COMPARISONS else made

    return call


def _constant(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def with_weak(
        value: TensorLike, dtype: DTypeLike | None = None, shape: SizeLike = None, name: str = "Const"
    ) -> Any:
        plain = value.tensor if isinstance(value, WeakTensor) else value
        try:
            kind, weak = kind_together(value, None if dtype is None else as_dtype(dtype))
        except (NotImplementedError, TypeError):
            return function(plain, dtype, shape, name)
        if dtype is None:
            made = function(plain, kind, shape, name)
            return weakened(made) if weak else made
        if kind is as_dtype(dtype) and isinstance(plain, Tensor):
            plain = ops.cast(plain, kind)
        return function(plain, dtype, shape, name)

    return with_weak


def _assigning(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def assign(self: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            kind, _ = kind_together(self.dtype, value)
        except NotImplementedError:
            return function(self, value, *args, **kwargs)
        if kind is not self.dtype:
            raise TypeError(
                f"Variable dtype is immutable. Calling {function.__name__} of Variable (with dtype {self.dtype!r}) on "
                f"{value} requires converting {value} to {self.dtype!r}. This is disabled in the current promotion "
                f"semantics. Please convert {value} manually before calling {function.__name__}."
            )
        return function(self, as_kind(value, kind), *args, **kwargs)

    return assign


_ASSIGNS = {name: getattr(Variable, name) for name in ("assign", "assign_add", "assign_sub")}


def _replaced() -> dict[str, Callable[[], Any]]:
    """Return {public name: what gives the function that stands there in the modes "all" and "safe"}."""
    known = {name for names in PUBLIC.values() for name in names.split()}
    found: dict[str, Callable[[], Any]] = {}
    for operands, names in ((1, _UNARY), (2, _BINARY)):
        for last in names.split():
            for full in known.intersection(f"{space}{last}" for space in _spaces):
                found[full] = functools.partial(_wrapped_public, full, last, operands)
    found["math.scalar_mul"] = functools.partial(_wrapped_public, "math.scalar_mul", "scalar_mul", 2)
    return found


def _wrapped_public(full: str, last: str, operands: int) -> Any:
    return _wrapped(public_function(full), last, operands)


def _set_functions(auto: bool) -> None:
    """Put the functions that know weak dtypes into the public modules, or take them out."""
    rows: dict[str, Callable[[], Any]] = {**_replaced(), "constant": lambda: _constant(constant)}
    for full, make in rows.items():
        space, _, last = full.rpartition(".")
        function = make() if auto else None
        for root in (ROOT, "tensorflow"):
            module = sys.modules.get(f"{root}.{space}" if space else root)
            if module is None or (root != ROOT and getattr(module, "__file__", "") != sys.modules[ROOT].__file__):
                continue
            if auto:
                setattr(module, last, function)
            elif last in vars(module):
                delattr(module, last)  # it is looked up anew
    for name, function in _ASSIGNS.items():
        setattr(Variable, name, _assigning(function) if auto else function)


# ---- the switch -----------------------------------------------------------------------------------------------------


def experimental_enable_numpy_behavior(prefer_float32: bool = False, dtype_conversion_mode: str = "legacy") -> None:
    """Give tensors NumPy's methods and indexing, and operators that take several dtypes.

    Args:
        prefer_float32: Whether Python's floats count as float32 where NumPy takes them for float64.
        dtype_conversion_mode: "legacy": NumPy's dtypes; "all": those of a lattice, in which Python's numbers are weak;
            "safe": of it what loses nothing, else TypeError; "off": tensors of several dtypes do not go together.

    Raises:
        ValueError: Another mode.

    Source: tf.experimental.numpy.experimental_enable_numpy_behavior.
    """
    if dtype_conversion_mode not in MODES:
        raise ValueError(
            f"The provided promotion mode {dtype_conversion_mode} does not exist. Make sure the provided dtype "
            "conversion mode is one of the followings: 'off', 'legacy', 'safe' or 'all'."
        )
    auto = dtype_conversion_mode in ("safe", "all")
    if auto:
        get_logger().warning(
            "UserWarning: enabling the new type promotion must happen at the beginning of the program. Please ensure "
            "no TF APIs have been used yet."
        )
    if auto != Behavior.auto:
        _set_functions(auto)
    Behavior.mode, Behavior.auto, Behavior.prefer_float32 = dtype_conversion_mode, auto, prefer_float32
    get_slot("getitem")
    get_slot("round")
    for name, method in _METHODS.items():
        set_tensor_attribute(name, method)
    register_slot("getitem", numpy_getitem)
    register_slot("round", elementwise.around)
    register_slot("pos", lambda x: x)
    register_slot("promotion", None if dtype_conversion_mode == "off" else promoted)


def _operators_of_weak_tensors() -> None:
    def of_two(name: str, x: TensorLike, y: TensorLike) -> Any:
        made = promoted(name, x, y)
        if made is None:
            made = _OPERATORS[name](*(v.tensor if isinstance(v, WeakTensor) else v for v in (x, y)))
        return made

    def both(name: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
        return lambda x, y: of_two(name, x, y), lambda x, y: of_two(name, y, x)

    for name in [*_NAMES.split(), "matmul"]:
        there, back = both(name)
        setattr(WeakTensor, f"__{name}__", there)
        if name not in _COMPARISONS:
            setattr(WeakTensor, f"__r{name}__", back)
    for name, method in _METHODS.items():
        if not isinstance(method, property):
            setattr(WeakTensor, name, method)


_operators_of_weak_tensors()
