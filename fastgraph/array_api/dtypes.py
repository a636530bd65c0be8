"""Dtypes of the array API standard: kinds, limits, promotion, what there is; and values as tensors of one dtype."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from fastgraph.core import dlpack
from fastgraph.core.base.dtype import DType, as_dtype, bfloat16
from fastgraph.core.base.nesting import flatten
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.devices import device, device_name, list_logical_devices
from fastgraph.core.tensor import Tensor, class_has
from fastgraph.numpy_api.promotion import ops
from fastgraph.numpy_api.tables import named

__all__ = [
    "__array_namespace_info__", "asarray", "astype", "can_cast", "finfo", "from_dlpack", "iinfo", "isdtype",
    "result_type",
]  # fmt: skip

#: Kind of dtypes -> those it is made of.
KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
#: The dtypes of Python's numbers.
DEFAULTS = {
    "real floating": as_dtype("float32"), "complex floating": as_dtype("complex64"), "integral": as_dtype("int32"),
    "indexing": as_dtype("int64"),
}  # fmt: skip
INDEX = DEFAULTS["indexing"]
_OF_PYTHON = {bool: as_dtype("bool"), int: DEFAULTS["integral"], float: DEFAULTS["real floating"],
              complex: DEFAULTS["complex floating"]}  # fmt: skip


def __array_namespace_info__() -> SimpleNamespace:
    """Return what the namespace can do, its devices and dtypes."""

    def dtypes(*, device: str | None = None, kind: Any = None) -> dict[str, DType]:
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        return {name: as_dtype(name) for each in kinds for name in KINDS[each]}

    can = {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    return SimpleNamespace(
        capabilities=lambda: can,
        default_device=lambda: device_name(0),
        default_dtypes=lambda *, device=None: dict(DEFAULTS),
        devices=lambda: tuple(device_name(0, part) for part in range(len(list_logical_devices()))),
        dtypes=dtypes,
    )


def dtype_of(value: Any) -> DType:
    """The dtype of an array, of what stands for a dtype, or by default of a Python number."""
    if isinstance(value, bool | int | float | complex):
        return _OF_PYTHON[next(kind for kind in _OF_PYTHON if isinstance(value, kind))]
    return as_dtype(getattr(value, "dtype", value))


@functools.cache
def _together(a: DType, b: DType) -> DType:
    try:
        return as_dtype(np.promote_types(a.numpy_dtype, b.numpy_dtype))
    except TypeError as error:
        raise TypeError(f"{a.name} and {b.name} have no dtype together: {error}") from None


def _with_number(dtype: DType, number: TensorLike) -> DType:
    """The dtype of an array and a Python number: the array's, unless the number is of a higher kind."""
    least = dtype_of(number)
    rank = [dtype.is_bool, dtype.is_integer, dtype.is_floating, dtype.is_complex].index(True)
    if rank >= list(_OF_PYTHON.values()).index(least):
        return dtype
    return _together(dtype, least) if rank == 2 else least


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the dtype that arrays, dtypes and Python's numbers have together.

    Raises: ValueError for nothing; TypeError for those that have none.
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type takes at least one array or dtype")
    numbers = [v for v in arrays_and_dtypes if isinstance(v, bool | int | float | complex)]
    others = [dtype_of(v) for v in arrays_and_dtypes if not isinstance(v, bool | int | float | complex)]
    made = functools.reduce(_together, others) if others else dtype_of(numbers[0])
    return functools.reduce(_with_number, numbers, made)


def can_cast(from_: Any, to: DType, /) -> bool:
    """Return whether all elements of an array or dtype are elements of another."""
    return result_type(dtype_of(from_), to) == to


def isdtype(dtype: DType, kind: Any) -> bool:
    """Return whether a dtype is of a kind ("integral", another dtype), or of one of several.

    Raises: ValueError for an unknown kind.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if not isinstance(kind, str):
        return bool(as_dtype(dtype) == as_dtype(kind))
    if kind not in KINDS:
        raise ValueError(f"isdtype: kind is one of {', '.join(KINDS)}, or a dtype, not {kind!r}")
    known = as_dtype(dtype)
    return known.name in KINDS[kind] or (kind in ("real floating", "numeric") and known.is_floating)


record: Any = namedtuple  # noqa: PYI024 - rows of names are shorter
FloatLimits = record("FloatLimits", "bits eps max min smallest_normal dtype")
IntegerLimits = record("IntegerLimits", "bits max min dtype")


def finfo(type: Any, /) -> Any:
    """Return the limits of a floating dtype, of a complex one those of its parts. Raises: ValueError for others."""
    dtype = dtype_of(type).real_dtype
    if not dtype.is_floating:
        raise ValueError(f"finfo takes floating dtypes, not {dtype.name}")
    if dtype is bfloat16:
        import ml_dtypes

        limits: Any = ml_dtypes.finfo(dtype.numpy_dtype)  # type: ignore[no-untyped-call]
    else:
        limits = np.finfo(dtype.numpy_dtype)
    numbers = (float(getattr(limits, name)) for name in ("eps", "max", "min", "smallest_normal"))
    return FloatLimits(dtype.size * 8, *numbers, dtype)


def iinfo(type: Any, /) -> Any:
    """Return the limits of an integer dtype. Raises: ValueError for others."""
    dtype = dtype_of(type)
    if not dtype.is_integer:
        raise ValueError(f"iinfo takes integer dtypes, not {dtype.name}")
    limits = np.iinfo(dtype.numpy_dtype)
    return IntegerLimits(limits.bits, int(limits.max), int(limits.min), dtype)


def named_rows(rows: Mapping[str, tuple[Callable[..., Any], str]]) -> dict[str, Callable[..., Any]]:
    """Functions of a table {name: (function, what it gives)}."""
    return {name: named(function, name, f"Return {text}.") for name, (function, text) in rows.items()}


# ---- values ---------------------------------------------------------------------------------------------------------


def array(x: TensorLike) -> Tensor:
    """An argument as a tensor; Python's numbers get the default dtypes."""
    return x if isinstance(x, Tensor) else asarray(x)


def floating(x: TensorLike) -> Tensor:
    """An argument as a tensor of floats or complex numbers: others are cast to the default float."""
    value = array(x)
    known = value.dtype.is_floating or value.dtype.is_complex
    return value if known else ops.cast(value, DEFAULTS["real floating"])


def together(*values: TensorLike) -> list[Tensor]:
    """Arguments as tensors of one dtype."""
    dtype = result_type(*[v if isinstance(v, bool | int | float | complex) else array(v) for v in values])
    return [ops.cast(array(v), dtype) if hasattr(v, "dtype") else asarray(v, dtype=dtype) for v in values]


def on(name: str | None) -> device:
    """The context in which arrays are made on a device; None and "", which symbolic tensors say, mean any."""
    return device(name or None)


def _plain(value: object) -> bool:
    return not any(isinstance(leaf, Tensor) or class_has(leaf, "__fg_tensor__") for leaf in flatten(value))


def asarray(obj: TensorLike, /, *, dtype: Any = None, device: str | None = None, copy: bool | None = None) -> Tensor:
    """Return a tensor of an array, a number or nested lists of numbers.

    Raises: ValueError for copy=False where one is needed; OverflowError for an int that the dtype does not hold.
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if copy is False and (not isinstance(obj, Tensor) or wanted not in (None, obj.dtype)):
        raise ValueError("asarray: copy=False, but a copy is needed")
    with on(device):
        if not isinstance(obj, Tensor):
            if _plain(obj):
                made = np.asarray(obj, None if wanted is None else wanted.as_numpy_dtype)
                if wanted is None and not hasattr(obj, "dtype"):
                    made = made.astype(_default(made).as_numpy_dtype)
                return convert_to_tensor(made)
            obj = convert_to_tensor(obj)
        return astype(obj, wanted or obj.dtype, copy=bool(copy) or device is not None)


def _default(made: np.ndarray[Any, Any]) -> DType:
    """The dtype for what Python's numbers made: the default, unless ints are too large for it."""
    dtype = {"i": DEFAULTS["integral"], "f": _OF_PYTHON[float], "c": _OF_PYTHON[complex]}.get(made.dtype.kind)
    if dtype is None or (made.dtype.kind == "i" and made.size and not -(2**31) <= made.min() <= made.max() < 2**31):
        return as_dtype(made.dtype)
    return dtype


def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: str | None = None) -> Tensor:
    """Return an array of another dtype. Raises: TypeError for complex numbers to be made real."""
    wanted, value = as_dtype(dtype), array(x)
    if value.dtype.is_complex and not (wanted.is_complex or wanted.is_bool):
        raise TypeError(f"astype: {value.dtype.name} does not become {wanted.name}; take real(x) or imag(x)")
    with on(device):
        return ops.cast(value, wanted) if value.dtype is not wanted else ops.identity(value) if copy else value


def from_dlpack(x: object, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """Return a tensor over the memory of an object with `__dlpack__`, or of its own if `copy`."""
    found: Tensor = dlpack.from_dlpack(x)
    if copy:
        found = convert_to_tensor(np.array(found), found.dtype)
    return asarray(found, device=device)


def axes_of(axis: Any, rank: int | None, what: str) -> list[int]:
    """Axes counted from the start. Raises: ValueError where the rank is not known, or an axis is given twice."""
    if rank is None:
        raise ValueError(f"{what} needs an array of a known rank")
    given: Sequence[int] = range(rank) if axis is None else (axis,) if isinstance(axis, int) else axis
    made = [place(each, rank, what) for each in given]
    if len(set(made)) < len(made):
        raise ValueError(f"{what}: an axis is given twice: {axis}")
    return made


class AxisError(IndexError, ValueError):
    """An axis that an array does not have."""


def place(axis: int, rank: int | None, what: str) -> int:
    """An axis counted from the start. Raises: AxisError for one out of range."""
    if rank is None or not -rank <= axis < rank:
        raise AxisError(f"{what}: axis {axis} is out of range for an array of rank {rank}")
    return axis % rank
