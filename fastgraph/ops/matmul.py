"""Contractions: matrix products of the last two axes, batched, and what is made of them.

Rule: float32 and float64 products are steps of their own (`step="gemm"`: `matmul.pyx`); all other dtypes lower to a sum
of products.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, as_dtype, float32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.op_errors import is_of_memory, message_name
from fastgraph.core.tensor import Tensor, class_has
from fastgraph.ops.arguments import are_known, as_tensor, known_value, named, not_allowed, refused, static_axes
from fastgraph.ops.complex_numbers import conj
from fastgraph.ops.deferred_calls import late, late_unless_known
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import (
    Array,
    Builder,
    Node,
    Operand,
    accumulator,
    broadcast,
    contraction,
    dtype_set,
    invalid,
    is_one,
    misuse,
    public,
    shape_text,
)
from fastgraph.ops.movement import expand_dims, reshape, shape, squeeze, transpose
from fastgraph.ops.precise_sums import is_half

#: Numbers of 16 bits whose products are taken in pairs, and what their sums are.
SUMS_OF_PAIRS = {"bfloat16": "float32", "int16": "int32"}


def _infer_matmul(a: Aval, b: Aval, *, transpose_a: bool, transpose_b: bool) -> Aval:
    for aval in (a, b):
        if aval.shape is not None and len(aval.shape) < 2:
            raise ValueError(f"Shape must be at least rank 2 but is rank {len(aval.shape)}")
    if a.shape is None or b.shape is None:
        return Aval(a.dtype, None)
    m, k = a.shape[-2:][::-1] if transpose_a else a.shape[-2:]
    k_b, n = b.shape[-2:][::-1] if transpose_b else b.shape[-2:]
    if k is not None and k_b is not None and k != k_b:
        raise ValueError(f"Dimensions must be equal, but are {k} and {k_b}")
    batch = broadcast(a.shape[:-2], b.shape[:-2])
    assert batch is not None
    return Aval(a.dtype, (*batch, m, n))


def _lower_matmul(b: Builder, node: Node) -> list[Any]:
    left, right = b.input(0), b.input(1)
    dtype = node.inputs[0].aval.dtype
    wide = accumulator(dtype)
    transpose_a, transpose_b = node.attrs["transpose_a"], node.attrs["transpose_b"]

    def lead(operand: Operand, index: Sequence[Any]) -> list[Any]:
        """Return where the batch axes of an operand stand: a broadcast one stays at 0."""
        own = index[:-2][len(index) - operand.rank :]
        return [0 if is_one(n) else i for n, i in zip(operand.shape[:-2], own, strict=True)]

    def element(index: Sequence[Any]) -> Any:
        m, n = index[-2:]

        def product(position: Sequence[Any]) -> Any:
            k = position[0]
            x = left.at((*lead(left, index), *((k, m) if transpose_a else (m, k))))
            y = right.at((*lead(right, index), *((n, k) if transpose_b else (k, n))))
            return x * y if wide is dtype else b.cast(x, wide) * b.cast(y, wide)

        total = b.reduce("sum", [left.shape[-2 if transpose_a else -1]], product)
        return total if wide is dtype else b.cast(total, dtype)

    return [element]


def _grad_a(dy: Tensor, a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> Any:
    a, b = a, conj(b)
    if transpose_a:
        return matmul_p(b, dy, transpose_a=transpose_b, transpose_b=True)
    return matmul_p(dy, b, transpose_a=False, transpose_b=not transpose_b)


def _grad_b(dy: Tensor, a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> Any:
    a = conj(a)
    if transpose_b:
        return matmul_p(dy, a, transpose_a=True, transpose_b=transpose_a)
    return matmul_p(a, dy, transpose_a=not transpose_a, transpose_b=False)


def _matmul_samples() -> list[Any]:
    random = np.random.default_rng(0)
    plain = {"transpose_a": False, "transpose_b": False}

    def pair(a: tuple[int, ...], b: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
        return random.integers(-3, 4, a).astype(dtype), random.integers(-3, 4, b).astype(dtype)

    found = [
        (pair(a, b, t), plain)
        for t in ("float32", "float64", "int32", "int64", "float16", "complex64")
        for a, b in (
            ((2, 3), (3, 4)),
            ((2, 2, 3), (2, 3, 2)),
            ((2, 1, 2, 3), (4, 3, 2)),
            ((2, 0), (0, 3)),
            ((0, 2), (2, 3)),
        )
    ]
    for ta, a in ((False, (2, 3)), (True, (3, 2))):
        for tb, b in ((False, (3, 4)), (True, (4, 3))):
            found += [(pair(a, b, t), {"transpose_a": ta, "transpose_b": tb}) for t in ("float32", "int32")]
    return found


@contraction(
    op="MatMul",
    infer=_infer_matmul,
    dtypes="bfloat16 float16 float32 float64 int32 int64 uint8 uint16 uint32 uint64 complex64 complex128 int16",
    step="gemm",
    lower=_lower_matmul,
    vjp=dict(
        a=lambda dy, a, b, transpose_a, transpose_b: _grad_a(dy, a, b, transpose_a, transpose_b),
        b=lambda dy, a, b, transpose_a, transpose_b: _grad_b(dy, a, b, transpose_a, transpose_b),
    ),
    samples=_matmul_samples,
    error_samples=lambda: [
        misuse(
            r"Matrix size-incompatible: In\[0\]: \[2,3\], In\[1\]: \[2,3\]",
            np.ones([2, 3]),
            np.ones([2, 3]),
            transpose_a=False,
            transpose_b=False,
        ),
        misuse(r"In\[0\] ndims must be >= 2", np.ones([3]), np.ones([3, 3]), transpose_a=False, transpose_b=False),
        misuse(
            r"In\[0\] and In\[1\] must have compatible batch dimensions: \[2,2,3\] vs. \[3,3,4\]",
            np.ones([2, 2, 3]),
            np.ones([3, 3, 4]),
            transpose_a=False,
            transpose_b=False,
        ),
    ],
)
def matmul_p(a: Array, b: Array, *, transpose_a: bool, transpose_b: bool) -> Any:
    """Product of the matrices in the last two axes; the others are batches. t[*b,m,k], t[*b,k,n] -> t[*b,m,n]."""
    for i, x in enumerate((a, b)):
        if x.ndim < 2:
            raise invalid(f"In[{i}] ndims must be >= 2")
    left = np.swapaxes(a, -1, -2) if transpose_a else a
    right = np.swapaxes(b, -1, -2) if transpose_b else b
    if left.shape[-1] != right.shape[-2]:
        raise invalid(f"Matrix size-incompatible: In[0]: {shape_text(a.shape)}, In[1]: {shape_text(b.shape)}")
    if is_half(a.dtype):
        left, right = left.astype(np.float32), right.astype(np.float32)
    try:
        return np.matmul(left, right).astype(a.dtype, copy=False)
    except ValueError as error:
        if is_of_memory(error):
            raise
        text = f"In[0] and In[1] must have compatible batch dimensions: {shape_text(a.shape)} vs. {shape_text(b.shape)}"
        raise invalid(text) from None


def _unpaired(x: Array, pairs: str) -> Array:
    """Rows of pairs as rows of numbers, wide enough for sums of products. u32[*s, p] -> f32 or i32[*s, 2 p]."""
    halves = np.stack([x & 0xFFFF, x >> 16], -1).astype(np.uint32).reshape(*x.shape[:-1], 2 * x.shape[-1])
    return (halves << 16).view(np.float32) if pairs == "bfloat16" else halves.astype(np.int16).astype(np.int32)


@contraction(
    op="PairedMatMul",
    infer=lambda a, b, *, transpose_a, transpose_b, pairs: Aval(
        as_dtype(SUMS_OF_PAIRS[pairs]), _infer_matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b).shape
    ),
    dtypes="uint32",
    step="gemm",
    samples=lambda: [
        ((x, y), {"transpose_a": False, "transpose_b": turned, "pairs": pairs})
        for pairs, one in (("bfloat16", 0x3F80C000), ("int16", 0x7FFD))
        for turned in (False, True)
        for x, y in [(np.full((3, 2), one, np.uint32), np.full((2, 3, 2) if turned else (2, 3), one, np.uint32)[-2:])]
    ],
    error_samples=lambda: [
        misuse(
            "Matrix size-incompatible",
            *[np.ones([2, 3], np.uint32)] * 2,
            transpose_a=False,
            transpose_b=False,
            pairs="int16",
        )
    ],
)
def paired_matmul_p(a: Array, b: Array, *, transpose_a: bool, transpose_b: bool, pairs: str) -> Any:
    """Product of matrices of which an element is two numbers along the axis that is summed over, as 32 bits.

    `pairs`: the numbers' dtype, bfloat16 or int16. u32[*b, m, k / 2], u32[*b, k / 2, n] -> f32 or i32[*b, m, n].
    """
    left = np.swapaxes(a, -1, -2) if transpose_a else a
    right = b if transpose_b else np.swapaxes(b, -1, -2)
    if left.shape[-1] != right.shape[-1]:
        raise invalid(f"Matrix size-incompatible: In[0]: {shape_text(a.shape)}, In[1]: {shape_text(b.shape)}")
    return np.matmul(_unpaired(left, pairs), np.swapaxes(_unpaired(right, pairs), -1, -2))


@public("matmul", "linalg.matmul")
def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: DTypeLike | None = None,
    grad_a: TensorLike = False,
    grad_b: TensorLike = False,
    name: str | None = None,
) -> Any:
    """Product of the matrices in the last two axes; the others are batches and broadcast.

    t[*b, m, k], t[*b, k, n] -> t[*b, m, n].

    Args:
        a: Matrices of numbers, of rank 2 or more.
        b: Matrices of the same dtype; bfloat16 beside float32 gives float32.
        transpose_a, transpose_b: Whether an operand is transposed first.
        adjoint_a, adjoint_b: Whether it is transposed and conjugated.
        a_is_sparse, b_is_sparse: Hints for matrices with many zeros.
        output_type: int32 for int8 and uint8; bfloat16 for these and bfloat16; halves for what is wider. None: a's.
        grad_a, grad_b: Taken, as TensorFlow does.

    Raises:
        InvalidArgumentError: The shapes or dtypes do not fit.
        ValueError: One operand is to be both transposed and adjoint.

    Examples:
        >>> tf.matmul([[1.0, 2.0]], [[3.0], [4.0]])
        <tf.Tensor: shape=(1, 1), dtype=float32, numpy=array([[11.]], dtype=float32)>
        >>> batch = tf.ones([10, 2, 3])
        >>> tf.matmul(batch, batch, transpose_b=True).shape
        TensorShape([10, 2, 2])
        >>> tf.matmul([[1.0, 2.0]], [[3.0, 4.0]])
        Traceback (most recent call last):
            ...
        fastgraph.errors.InvalidArgumentError: ...Matrix size-incompatible: In[0]: [1,2], In[1]: [1,2]...

    Source: tf.matmul.
    """
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        which = "a" if transpose_a and adjoint_a else "b"
        raise ValueError(
            f"Only one of `transpose_{which}` and `adjoint_{which}` can be True. Received `transpose_{which}`=True, "
            f"`adjoint_{which}`=True."
        )
    if output_type is not None or (isinstance(a, Tensor) and isinstance(b, Tensor) and a.dtype is not b.dtype):
        a, b, output_type = _of_one_dtype(a, b, output_type)
    if adjoint_a or adjoint_b:
        of_operators = class_has(a, "__fg_adjoint__") or class_has(b, "__fg_adjoint__")
        if adjoint_a:
            a, transpose_a = _before_transposing(a, of_operators)
        if adjoint_b:
            b, transpose_b = _before_transposing(b, of_operators)
    result = named(name, matmul_p, a, b, transpose_a=bool(transpose_a), transpose_b=bool(transpose_b))
    return result if output_type is None else cast(result, output_type)


def _before_transposing(x: TensorLike, of_operators: bool) -> tuple[Any, bool]:
    """x, such that transposed it is the adjoint, and whether it is still to be: not where an operator multiplies."""
    if class_has(x, "__fg_adjoint__"):
        return x.__fg_adjoint__(), False  # type: ignore[union-attr]
    if not of_operators:
        return conj(x), True
    matrix = as_tensor(x)
    axes = [*range(len(matrix.shape))]
    return conj(transpose(matrix, [*axes[:-2], *axes[:-3:-1]])), False


#: The dtypes that TensorFlow takes as `output_type`.
_RESULTS = "bfloat16 half float32 float64 int16 int32 int64 complex64 complex128"


def _of_one_dtype(a: TensorLike, b: TensorLike, output_type: DTypeLike | None) -> tuple[Any, Any, Any]:
    """A product's operands in the dtype in which it is computed, and that of the result, None for the same."""
    a = as_tensor(a, b.dtype if isinstance(b, Tensor) else None)
    b = as_tensor(b, a.dtype)
    made = None if output_type is None else as_dtype(output_type)
    dtypes = {a.dtype.name, b.dtype.name}
    if dtypes == {"bfloat16", "float32"}:
        return cast(a, float32), cast(b, float32), None
    small = dtypes <= {"int8", "uint8"} and made == "int32"
    if small or (len(dtypes) == 2 and made == "bfloat16" and dtypes <= {"int8", "uint8", "bfloat16"}):
        return cast(a, made), cast(b, made), None
    if made is None or len(dtypes) == 2 or made is a.dtype:
        return a, b, None if made is a.dtype else made
    if made not in dtype_set(_RESULTS):
        raise refused(not_allowed(made, "Tout", ", ".join(map(message_name, dtype_set(_RESULTS)))))
    if (made.size > a.dtype.size and (made.is_floating or made.is_complex or a.dtype.is_integer)) or (
        a.dtype.is_integer and not made.is_integer
    ):
        return cast(a, made), cast(b, made), None  # sums that a's dtype may not hold
    return a, b, made


@public("linalg.matvec")
def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Product of matrices and vectors. t[*b, m, k], t[*b, k] -> t[*b, m]. Source: tf.linalg.matvec."""
    product = matmul(a, expand_dims(b, -1), transpose_a=transpose_a, adjoint_a=adjoint_a)
    return squeeze(product, [-1])


@public("tensordot", "linalg.tensordot")
def tensordot(a: TensorLike, b: TensorLike, axes: TensorLike, name: str | None = None) -> Any:
    """Sum of products over pairs of axes. t[*s], t[*q] -> t[*s without axes, *q without axes].

    Args:
        a: A tensor of numbers.
        b: A tensor of the same dtype.
        axes: An int n: the last n of a with the first n of b; or two lists, of a's axes and of b's.

    Raises:
        ValueError: The axes do not fit.
        InvalidArgumentError: The extents or dtypes do not.

    Examples:
        >>> tf.tensordot([1, 2, 3], [4, 5, 6], axes=1)
        <tf.Tensor: shape=(), dtype=int32, numpy=32>
        >>> tf.tensordot(tf.ones([2, 3, 4]), tf.ones([4, 3, 5]), axes=[[1, 2], [1, 0]]).shape
        TensorShape([2, 5])

    Source: tf.tensordot.
    """
    a, b = as_tensor(a), as_tensor(b)
    rank_a, rank_b = a.shape.rank, b.shape.rank
    if rank_a is None or rank_b is None:
        tensors = [a, b, *([axes] if isinstance(axes, Tensor) else [])]
        return late(lambda x, y, pairs=axes: tensordot(x, y, pairs), tensors, a.dtype, name=name)
    if not are_known(axes) and not (isinstance(axes, Tensor) and axes.shape.rank == 0):
        return late_unless_known(tensordot, [a, b], {"axes": axes}, a.dtype, None, name)
    if isinstance(axes, (int, np.integer)):
        if not 0 <= axes <= builtins.min(rank_a, rank_b):
            if axes < 0:
                raise ValueError(f"`axes` must be at least 0. Received: {axes}.")
            smaller = a if axes > rank_a else b
            raise ValueError(
                f"`axes` must not be larger than the number of dimensions of tensor {smaller}.  Received {axes}, vs "
                f"tensor dimensions {smaller.shape.rank}."
            )
        over_a, over_b = tuple(range(rank_a - axes, rank_a)), tuple(range(axes))
    else:
        pair: Any = axes
        if isinstance(axes, Tensor):
            pair = known_value(axes)
            if not axes.shape.rank:
                raise invalid("Attempting to slice scalar input.", "StridedSlice", [])
        if len(pair) != 2:
            raise ValueError(f"`axes` must be an integer or have length 2. Received {axes!s}.")
        over_a, over_b = (static_axes(x) for x in pair)  # type: ignore[assignment]
        if len(over_a) != len(over_b):
            raise ValueError(f"Different number of contraction axes `a` and `b`, {len(over_a)} != {len(over_b)}.")
        for own, rank in ((over_a, rank_a), (over_b, rank_b)):
            if any(not -rank <= x < rank for x in own):
                raise invalid(f"`axes` {own} are out of range for a tensor of rank {rank}.")
        over_a = tuple(x % rank_a for x in over_a)
        over_b = tuple(x % rank_b for x in over_b)
    free_a = tuple(i for i in range(rank_a) if i not in over_a)
    free_b = tuple(i for i in range(rank_b) if i not in over_b)
    left = transpose(a, free_a + over_a) if free_a + over_a != tuple(range(rank_a)) else a
    right = transpose(b, over_b + free_b) if over_b + free_b != tuple(range(rank_b)) else b
    extent_a, extent_b = extents_of(left), extents_of(right)
    rows, inner, columns = extent_a[: len(free_a)], extent_a[len(free_a) :], extent_b[len(over_b) :]
    left = reshape(left, [product_of(rows), product_of(inner)])
    right = reshape(right, [product_of(extent_b[: len(over_b)]), product_of(columns)])
    return reshape(matmul(left, right), [*rows, *columns], name=name)


def extents_of(x: Tensor) -> list[Any]:
    """The extents of a tensor as ints, and as scalar tensors where they are known only at run time."""
    dims: list[Any] = x.shape.as_list()
    if None not in dims:
        return dims
    at_run_time = shape(x)
    return [at_run_time[i] if n is None else n for i, n in enumerate(dims)]


def product_of(extents: Sequence[Any]) -> Any:
    total: Any = 1
    for n in extents:
        total = total * n
    return total
