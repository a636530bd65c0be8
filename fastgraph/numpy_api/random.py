"""Random numbers by NumPy's names: those of tf.random, as float64."""

from __future__ import annotations

from typing import Any, SupportsInt

from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import Tensor
from fastgraph.numpy_api.promotion import default_float, dtype_argument, ops, tensor


def _drawn(name: str, *args: Any, **kwargs: Any) -> Any:
    return public_function(f"random.{name}")(*args, **kwargs)


def _extents(size: Any) -> Any:
    """A size argument as extents: None is a scalar's, a number is a vector's."""
    return () if size is None else (size,) if tensor(size).shape.rank == 0 else size


def seed(s: SupportsInt) -> None:
    """Begin all sequences anew. Raises ValueError for what is no integer."""
    try:
        number = int(s)
    except TypeError:
        text = f"Argument `s` got an invalid value {s}. Only integers are supported."
        raise ValueError(text) from None
    _drawn("set_seed", number)


def standard_normal(size: SizeLike = None) -> Tensor:
    """Return numbers of the normal distribution."""
    return _drawn("normal", _extents(size), dtype=default_float())


def randn(*args: Any) -> Tensor:
    """Return numbers of the normal distribution; the arguments are extents."""
    return standard_normal(args)


def uniform(low: TensorLike = 0.0, high: TensorLike = 1.0, size: Any = None) -> Tensor:
    """Return numbers spread evenly over [low, high)."""
    kind = default_float()
    least, most = tensor(low, kind), tensor(high, kind)
    if size is None:
        size = ops.broadcast_dynamic_shape(ops.shape(least), ops.shape(most))
    return _drawn("uniform", size, least, most, kind)


def random(size: SizeLike = None) -> Tensor:
    """Return numbers spread evenly over [0, 1)."""
    return uniform(0.0, 1.0, size)


def rand(*size: Any) -> Tensor:
    """Return numbers of [0, 1); the arguments are extents."""
    return uniform(0.0, 1.0, size)


def poisson(lam: TensorLike = 1.0, size: SizeLike = None) -> Tensor:
    """Return Poisson variates, int64."""
    return _drawn("poisson", _extents(size), lam, dtype="int64")


def randint(low: Any, high: Any = None, size: Any = None, dtype: DTypeLike = "int64") -> Tensor:
    """Return integers of [low, high), of [0, low) without `high`.

    Raises: ValueError for other dtypes than int32 and int64.
    """
    first, last = (0, int(low)) if high is None else (int(low), high)
    kind: Any = dtype_argument(dtype)
    if kind.name not in ("int32", "int64"):
        raise ValueError(f"Argument `dtype` got an invalid value {dtype}. Only int32 and int64 are supported.")
    return _drawn("uniform", () if size is None else (size,) if isinstance(size, int) else size, first, last, kind)
