"""Products of arrays, by NumPy's names."""

from __future__ import annotations

from typing import Any

from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.errors import InvalidArgumentError
from fastgraph.numpy_api.arrays import padded_left
from fastgraph.numpy_api.promotion import (
    Behavior,
    all_together,
    as_kind,
    dtype_argument,
    kind_together,
    ops,
    tensor,
    together,
)
from fastgraph.numpy_api.reductions import sum
from fastgraph.numpy_api.shapes import broadcast_arrays, choose, diagonal, moveaxis, rank_of, whole_axis
from fastgraph.numpy_api.tables import Function, as_function, make_weak
from fastgraph.numpy_api.weak_tensor import weakened


def _rank(x: Tensor) -> Any:
    return ops.rank(x) if x.shape.rank is None else x.shape.rank


def _either(a: Tensor, b: Tensor, n: int) -> Any:
    """True if one of two has n axes: now, where ranks are known."""
    known = [x.shape.rank for x in (a, b)]
    return n in known if None not in known else (ops.equal(ops.rank(a), n) | ops.equal(ops.rank(b), n))


def _dot(a: Tensor, b: Tensor) -> Any:
    def of_axes() -> Any:
        last = lambda: ops.tensordot(a, b, [[-1], [-1]])
        return choose(ops.equal(_rank(b), 1), last, lambda: ops.tensordot(a, b, [[-1], [-2]]))

    return choose(_either(a, b, 0), lambda: a * b, of_axes)


def _inner(a: Tensor, b: Tensor) -> Any:
    return choose(_either(a, b, 0), lambda: a * b, lambda: ops.tensordot(a, b, [[-1], [-1]]))


def _matmul(a: Tensor, b: Tensor) -> Any:
    def of_matrices() -> Any:
        first = lambda: ops.tensordot(a, b, [[0], [-2]])
        return choose(ops.equal(_rank(a), 1), first, lambda: ops.matmul(a, b))

    try:
        return choose(ops.equal(_rank(b), 1), lambda: ops.tensordot(a, b, 1), of_matrices)
    except InvalidArgumentError as error:
        raise ValueError(str(error)) from None


def _of_pair(name: str, compute: Any) -> Function:
    return as_function(name, lambda a, b: compute(*together(a, b)), f"NumPy's `{name}` of pairs")


dot = _of_pair("dot", _dot)
inner = _of_pair("inner", _inner)
outer = _of_pair("outer", lambda a, b: ops.reshape(a, [-1, 1]) * ops.reshape(b, [-1]))


def matmul(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return the matrix product; vectors are rows before, columns behind."""
    if Behavior.auto:
        dtype, weak = kind_together(x1, x2)
        made = _matmul(as_kind(x1, dtype), as_kind(x2, dtype))
        return weakened(made) if weak else made
    return _matmul(*together(x1, x2))


def tensordot(a: TensorLike, b: TensorLike, axes: Any = 2) -> Tensor:
    """Return sums of products over axes of both."""
    x, y = together(a, b)
    return ops.tensordot(x, y, axes=axes)


def vdot(a: TensorLike, b: TensorLike) -> Tensor:
    """Return the sum of products of all elements, those of a conjugated."""
    x, y = (ops.reshape(t, [-1]) for t in all_together([a, b]))
    return _dot(ops.conj(x) if x.dtype.is_complex else x, y)


def kron(a: TensorLike, b: TensorLike) -> Tensor:
    """Return Kronecker's product: b times each element of a."""
    x, y = all_together([a, b])
    rank = max(rank_of(x, "kron"), rank_of(y, "kron"))
    x, y = padded_left(x, rank), padded_left(y, rank)
    dims = ops.shape(x) * ops.shape(y)
    for axis in range(rank):
        x, y = ops.expand_dims(x, 2 * axis + 1), ops.expand_dims(y, 2 * axis)
    return ops.reshape(x * y, dims)


def cross(
    a: TensorLike, b: TensorLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """Return vectors' cross products; of two elements, the third of theirs."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = together(a, b)
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    flat = x.shape[-1] == y.shape[-1] == 2
    whole = []
    for t in (x, y):
        zeros = [[0, 0]] * (rank_of(t, "cross") - 1)
        whole.append(ops.pad(t, [*zeros, [0, 1]]) if t.shape[-1] == 2 else t)
    made = ops.cross(*broadcast_arrays(*whole))
    return made[..., 2] if flat else moveaxis(made, -1, whole_axis(axisc, rank_of(made, "cross")))


def trace(a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None) -> Tensor:
    """Return the sum of a diagonal of matrices in two axes."""
    kind = dtype_argument(dtype)
    x = tensor(a, kind)
    rank = x.shape.rank
    if offset == 0 and rank is not None and axis1 in (-2, rank - 2) and axis2 in (-1, rank - 1):
        return ops.trace(x)
    return sum(diagonal(x, offset, axis1, axis2), -1, kind)


def polyval(p: TensorLike, x: TensorLike) -> Tensor:
    """Return a polynomial's values, its coefficients from the highest power down."""
    coefficients, at = together(p, x)
    made: Any = ops.zeros_like(at)
    for coefficient in ops.unstack(padded_left(coefficients, 1)):
        made = coefficient + made * at
    return made


def einsum(subscripts: str, *operands: TensorLike, **kwargs: Any) -> Tensor:
    """Return sums of products by their subscripts.

    Raises: ValueError for other casting than "safe" and "no", or another `optimize` than True, "greedy", "optimal".
    """
    casting, optimize = kwargs.get("casting", "safe"), kwargs.get("optimize", False)
    if casting not in ("safe", "no"):
        text = f'Expected casting="safe" or casting="no". Received: casting={casting}'
        raise ValueError(f"Invalid value for argument `casting`. {text}")
    if optimize and optimize is not True and optimize not in ("greedy", "optimal"):
        text = f'Expected one of {{True, "greedy", "optimal"}}. Received: optimize={optimize}'
        raise ValueError(f"Invalid value for argument `optimize`. {text}")
    arrays = all_together(operands) if casting == "safe" else [tensor(x) for x in operands]
    return ops.einsum(subscripts, *arrays)


make_weak(globals())
