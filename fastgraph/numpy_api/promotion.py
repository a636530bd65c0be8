"""The dtype that several values have together: NumPy's rules, and TensorFlow's lattice of weak and strong dtypes."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import numpy as np

from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, bool_, float32, int32, string
from fastgraph.core.base.nesting import flatten
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import Tensor, class_has
from fastgraph.numpy_api.weak_tensor import WeakTensor

MODES = ("off", "legacy", "safe", "all")


class Behavior:
    """State that a program has switched on: the mode of its operators, and how Python's floats count."""

    mode = "off"
    auto = False  # "safe" or "all"
    prefer_float32 = False


#: dtype -> those right above it; a star marks weak ones. Two dtypes make the least that is above both.
_ABOVE = {
    "bool": "int32*", "int32*": "int64*", "int64*": "uint8 int8 float32*", "uint8": "uint16 int16",
    "uint16": "uint32 int32", "uint32": "uint64 int64", "uint64": "float64*", "int8": "int16", "int16": "int32",
    "int32": "int64", "int64": "float64*", "float32*": "float64*", "float64*": "bfloat16 float16 complex128*",
    "bfloat16": "float32", "float16": "float32", "float32": "float64 complex64", "float64": "complex128",
    "complex128*": "complex64", "complex64": "complex128", "complex128": "",
}  # fmt: skip
#: How many bits of an integer a dtype holds.
_BITS = {"bfloat16": 8, "float16": 11, "float32": 24, "complex64": 24}

Kind = tuple[DType, bool]  # and whether it is weak


@functools.cache
def _reach(node: str) -> frozenset[str]:
    return frozenset([node]).union(*(_reach(above) for above in _ABOVE[node].split()))


@functools.cache
def meet(a: Kind, b: Kind) -> tuple[Kind, bool]:
    """Return what two dtypes make together, and whether mode "safe" allows it: one of the two, which holds the other.

    Raises: NotImplementedError for dtypes that are in no lattice.
    """
    if a == b == (string, False):
        return a, True
    names = [f"{dtype.name}{'*' if weak else ''}" for dtype, weak in (a, b)]
    if not {*names} <= {*_ABOVE}:
        raise NotImplementedError(
            f"Implicit Conversion between {a[0]!r} and {b[0]!r} is not allowed. Please convert the input manually if "
            "you need to."
        )
    common = _reach(names[0]) & _reach(names[1])
    found = next(node for node in common if common <= _reach(node))
    made = as_dtype(found.rstrip("*"))
    held = [dtype.size * 8 for dtype, weak in (a, b) if dtype.is_integer and not weak and not made.is_integer]
    safe = bool({found, f"{found}*"} & {*names}) and max(held, default=0) <= _BITS.get(made.name, 53)
    return (made, found.endswith("*")), safe


def kind_of(value: Any) -> Kind:
    """The dtype of a value or of what stands for a dtype, and whether it is weak, as a Python number's is.

    Raises: NotImplementedError for what has none; OverflowError for an int that no int32 holds.
    """
    if isinstance(value, WeakTensor):
        return value.dtype, True
    dtype = value if isinstance(value, DType) else getattr(value, "dtype", None)
    if isinstance(dtype, DType) or isinstance(value, np.ndarray | np.generic):
        return as_dtype(cast(Any, dtype)), False
    if isinstance(value, bytes | str):
        return string, False
    if isinstance(value, bool) or value is bool:
        return bool_, False
    if isinstance(value, int):
        if not -(2**31) <= value < 2**31:
            raise OverflowError(f"Python int {value} too large to convert to np.int32")
        return int32, True
    for python, name in ((int, "int32"), (float, "float32"), (complex, "complex128")):
        if value is python or isinstance(value, python):
            return as_dtype(name), True
    if isinstance(value, TensorShape):
        return int32, False
    try:
        return as_dtype(value), False
    except TypeError:
        text = f"Auto dtype conversion semantics does not support {type(value)} type."
        raise NotImplementedError(text) from None


def kind_together(*values: Any) -> Kind:
    """The dtype of all the values in nested lists, by the lattice.

    Raises: TypeError where the mode is "safe" and they only fit a wider one; NotImplementedError as `kind_of`.
    """
    if any(isinstance(v, CompositeTensor) and not isinstance(v, WeakTensor) for v in values):
        raise NotImplementedError("Auto dtype conversion semantics does not support composite tensors.")
    kinds = [kind_of(value) for value in flatten([v for v in values if v is not None])] or [(float32, True)]
    made = kinds[0]
    for kind in kinds[1:]:
        before = made
        made, safe = meet(before, kind)
        if Behavior.mode == "safe" and not safe:
            first, second = (f"({dtype!s}, weak={weak})" for dtype, weak in (before, kind))
            raise TypeError(
                f"In promotion mode PromoMode.SAFE, implicit dtype promotion between {first} and {second} is "
                "disallowed. You need to explicitly specify the dtype in your op, or relax your dtype promotion rules "
                "(such as from SAFE mode to ALL mode)."
            )
    return made


def _numpy_kind(value: TensorLike) -> Any:
    """Return what np.result_type is asked about: numbers as they are, of others the dtype."""
    if isinstance(value, numbers.Real):
        return np.float32(value) if Behavior.prefer_float32 and isinstance(value, float) else value
    dtype = value if isinstance(value, DType) else getattr(value, "dtype", None)
    if isinstance(dtype, DType):
        return dtype.numpy_dtype
    if Behavior.prefer_float32 and isinstance(value, complex):
        return np.complex64(value)
    return value


def numpy_type(values: Sequence[Any]) -> DType:
    """The dtype of values by NumPy's rules. Raises: TypeError for those that have none together."""
    try:
        return as_dtype(np.result_type(*[_numpy_kind(value) for value in values]))
    except TypeError as error:  # of classes of NumPy's own
        raise TypeError(str(error)) from None


@functools.cache
def _dtypes_together(a: DType, b: DType) -> DType:
    return numpy_type([a, b])


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the dtype that arrays, numbers and dtypes have together."""
    if Behavior.auto:
        return kind_together(*arrays_and_dtypes)[0]
    found: dict[Any, Any] = {}  # of Python's numbers, one of each class says all
    for value in flatten(arrays_and_dtypes):
        plain = type(value) in (bool, float, complex) or (type(value) is int and abs(value) < 2**63)
        found[type(value) if plain else id(value)] = value
    return numpy_type([*found.values()] or [np.asarray([])])


def type_of_two(a: TensorLike, b: TensorLike) -> DType:
    """The dtype of two operands: NumPy's in every mode, unless one is a list."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.dtype if a.dtype is b.dtype else _dtypes_together(a.dtype, b.dtype)
    if isinstance(a, list | tuple) or isinstance(b, list | tuple):
        return result_type(a, b)
    return numpy_type([a, b])


def _numpy_dtype(dtype: Any) -> Any:
    return dtype.numpy_dtype if isinstance(dtype, DType) else np.dtype(dtype)


def promote_types(type1: DTypeLike, type2: DTypeLike) -> np.dtype[Any]:
    """Return NumPy's dtype that both fit."""
    return np.promote_types(_numpy_dtype(type1), _numpy_dtype(type2))


def finfo(dtype: DTypeLike) -> np.finfo[Any]:
    """Return the limits of a floating dtype: `eps`, `max`, `tiny`, ... Raises ValueError for other dtypes."""
    kind = _numpy_dtype(dtype)
    if kind.name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.finfo(kind)  # type: ignore[no-untyped-call]
    return np.finfo(kind)


class _Ops:
    """Public ops by their names, found when they are first used."""

    _homes: ClassVar[dict[str, str]] = {
        name: space
        for space, names in {
            "math": "angle ceil conj count_nonzero cumprod expm1 floordiv floormod imag is_finite is_inf is_nan log "
            "log1p logical_xor nextafter real reciprocal reduce_std reduce_variance truediv unsorted_segment_min",
            "nn": "relu",
            "linalg": "adjoint band_part cholesky cross det diag diag_part eig eigh eigvals eigvalsh inv "
            "matrix_transpose pinv qr slogdet solve svd trace",
            "signal": "fft ifft irfft rfft",
            "bitwise": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
        }.items()
        for name in names.split()
    }

    def __getattr__(self, name: str) -> Any:
        home = self._homes.get(name)
        found = public_function(f"{home}.{name}" if home else name)
        setattr(self, name, found)
        return found


ops: Any = _Ops()


def wanted(dtype: DTypeLike | None) -> DType | None:
    """A dtype argument, Python's classes and NumPy's dtypes among them, as a DType."""
    return None if dtype is None or isinstance(dtype, DType) else result_type(dtype)


def dtype_argument(dtype: DTypeLike | None) -> DType | None:
    """Return `wanted`, a DType as it is; a name is TensorFlow's or NumPy's."""
    if isinstance(dtype, str):
        try:
            return as_dtype(dtype)
        except TypeError:
            return as_dtype(np.dtype(dtype))
    return as_dtype(dtype) if isinstance(dtype, DType) else wanted(dtype)


def default_float() -> DType:
    """Return what Python's `float` stands for."""
    return result_type(float)


def is_inexact(dtype: DType) -> bool:
    """Return whether NumPy counts a dtype among its floating and complex ones."""
    return np.issubdtype(dtype.numpy_dtype, np.inexact)


def tensor(value: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """A value as a tensor: of NumPy's dtype for it, or cast to `dtype`."""
    kind = dtype_argument(dtype)
    if isinstance(value, WeakTensor):
        value = value.tensor
    if not isinstance(value, Tensor):
        if kind is None:
            kind = string if isinstance(value, str | bytes) else result_type(value)
        big = isinstance(value, int) and value >= 2**63
        value = convert_to_tensor(value, "uint64") if big else convert_to_tensor(value, dtype_hint=kind)
    return value if kind is None or value.dtype is kind else ops.cast(value, kind)


def together(a: TensorLike, b: TensorLike) -> tuple[Tensor, Tensor]:
    """Two operands as tensors of one dtype, by NumPy's rules."""
    dtype = type_of_two(a, b)
    return tensor(a, dtype), tensor(b, dtype)


def all_together(values: Sequence[Any]) -> list[Tensor]:
    """Values as tensors of one dtype."""
    dtype = result_type(*values)
    return [tensor(value, dtype) for value in values]


def as_kind(value: Any, dtype: DType) -> Any:
    """A value as a tensor of a dtype: what has one is cast, Python's numbers and arrays are converted."""
    if isinstance(value, WeakTensor):
        value = value.tensor
    if isinstance(value, Tensor | CompositeTensor) or class_has(value, "__fg_tensor__"):
        return ops.cast(value, dtype)
    return convert_to_tensor(value, dtype)
