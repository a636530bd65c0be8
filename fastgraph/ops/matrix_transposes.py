"""Matrices with rows and columns exchanged: matrix_transpose, adjoint; and cross products."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.op_errors import misfit
from fastgraph.core.tensor import class_has, current_trace
from fastgraph.errors import FailedPreconditionError
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.complex_numbers import conj
from fastgraph.ops.families import Array, Dims, invalid, misuse, movement, public, shape_text, validated
from fastgraph.ops.joining import stack, unstack
from fastgraph.ops.matmul import extents_of
from fastgraph.ops.matrix_diagonals import check_rank
from fastgraph.ops.movement import transpose_p
from fastgraph.ops.runtime_checks import with_extents


def _exchanged(shape: Dims) -> Dims:
    if shape is None:
        return None
    check_rank(shape)
    return (*shape[:-2], shape[-1], shape[-2])


@movement(
    op="Transpose",
    infer=lambda a: Aval(a.dtype, _exchanged(a.shape)),
    lower=lambda b, node: [lambda index: b.input(0).at((*index[:-2], index[-1], index[-2]))],
    vjp=dict(a=lambda dy: swap_last(dy)),
    samples=lambda: [
        ((np.arange(24).reshape(s).astype(t),), {}) for t in ("float32", "int8", "bool") for s in ((4, 6), (2, 3, 4))
    ],
    error_samples=lambda: [misuse(r"at least 2-dim, received shape: \[3\]", np.ones([3]))],
)
def swap_last(a: Array) -> Any:
    """Matrices with rows and columns exchanged, for tensors of unknown rank. t[*s, m, n] -> t[*s, n, m]."""
    validated(_exchanged, a.shape)
    return np.swapaxes(a, -1, -2)


@public("linalg.matrix_transpose")
def matrix_transpose(a: TensorLike, name: str | None = "matrix_transpose", conjugate: bool = False) -> Any:
    """Matrices with rows and columns exchanged. t[*s, m, n] -> t[*s, n, m].

    Raises: ValueError for less than two axes. Source: tf.linalg.matrix_transpose.
    """
    x = as_tensor(a)
    rank = x.shape.rank
    if rank is not None and rank < 2:
        raise ValueError(
            f"Argument `a` should be a (batch) matrix with rank >= 2.  Received `a` = {x} with shape: {x.shape}"
        )
    moved = swap_last(x) if rank is None else transpose_p(x, perm=(*range(rank - 2), rank - 1, rank - 2))
    return conj(moved) if conjugate else moved


@public("linalg.adjoint")
def adjoint(matrix: TensorLike, name: str | None = None) -> Any:
    """Matrices transposed and conjugated. t[*s, m, n] -> t[*s, n, m]. Source: tf.linalg.adjoint."""
    if class_has(matrix, "__fg_adjoint__"):
        return matrix.__fg_adjoint__()  # type: ignore[union-attr]
    return matrix_transpose(matrix, conjugate=True)


@public("linalg.cross")
def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Any:
    """The cross product of vectors of three elements. t[*s, 3], t[*s, 3] -> t[*s, 3].

    Raises: InvalidArgumentError if shapes differ; FailedPreconditionError for other lengths. Source: tf.linalg.cross.
    """
    a = as_tensor(a)
    b = as_tensor(b, a.dtype)
    if a.shape.rank == 0:
        raise invalid(f"Input must be at least 1D, got shape: {shape_text(a.shape.as_list())}")
    if not a.shape.is_compatible_with(b.shape):
        text = f"{shape_text(a.shape.as_list())} vs. {shape_text(b.shape.as_list())}"
        raise invalid(f"Both inputs must be of same shape: {text}")
    if a.shape[-1] not in (None, 3):
        if current_trace() is not None:
            raise misfit(f"Dimension must be 3 but is {a.shape[-1]}", "Cross", a.shape, b.shape)
        raise FailedPreconditionError(None, None, "Cross-products are only defined for 3-element vectors. [Op:Cross]")
    if a.shape.rank is not None and b.shape.rank is not None:  # a 1 would be broadcast, which is seen when this runs
        unknown = [i for i, (m, n) in enumerate(zip(a.shape, b.shape, strict=True)) if None in (m, n)]
        b = with_extents(b, {i: extents_of(a)[i] for i in unknown})
    (a0, a1, a2), (b0, b1, b2) = unstack(a, 3, axis=-1), unstack(b, 3, axis=-1)
    return stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1, name=name or "stack")
