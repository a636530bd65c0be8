"""one_hot: rows of zeros with a one at the place that a number names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, as_dtype, int32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, current_trace, init_scope
from fastgraph.errors import InvalidArgumentError, ResourceExhaustedError
from fastgraph.ops.arguments import as_tensor, named, static_int, whole
from fastgraph.ops.families import (
    Array,
    Builder,
    Dims,
    Node,
    body_of,
    invalid,
    misuse,
    movement,
    public,
    shape_text,
    validated,
)
from fastgraph.ops.runtime_checks import MOST, narrow


def _one_hot_shape(indices: Dims, depth: int | None, axis: int) -> Dims:
    if indices is None:
        return None
    if not -1 <= axis <= len(indices):
        raise ValueError(f"Expected axis to be -1 or between [0, {len(indices) + 1}).  But received: {axis}")
    at = len(indices) if axis == -1 else axis
    return (*indices[:at], depth, *indices[at:])


def _infer_one_hot(indices: Aval, on_value: Aval, off_value: Aval, *, depth: int, axis: int) -> Aval:
    if depth < 0:
        raise ValueError(f"depth must be non-negative, got: {depth}")
    return Aval(on_value.dtype, _one_hot_shape(indices.shape, depth, axis))


def _lower_one_hot(b: Builder, node: Node) -> list[Any]:
    indices = b.input(0)
    axis = b.output(0).rank - 1 if node.attrs["axis"] == -1 else node.attrs["axis"]

    def element(index: Sequence[Any]) -> Any:
        chosen = b.cast(indices.at((*index[:axis], *index[axis + 1 :])), "int64")
        return b.select(chosen.eq(index[axis]), b.input(1).at(()), b.input(2).at(()))

    return [element]


def _one_hot_samples() -> list[Any]:
    one, zero = np.array(1.0, np.float32), np.array(0.0, np.float32)
    return [
        ((np.array(i, t), one, zero), {"depth": 3, "axis": a})
        for t in ("int32", "int64", "uint8", "int8")
        for i, a in ((2, -1), ([0, 2, 1], -1), ([0, 2, 3], 0), ([[0, 1], [2, 5]], 1))
    ] + [((np.array([0, -1]), np.array(True), np.array(False)), {"depth": 2, "axis": -1})]


@movement(
    infer=_infer_one_hot,
    groups=("TI", "T", "T"),
    dtypes={"TI": "uint8 int8 int32 int64"},
    lower=_lower_one_hot,
    samples=_one_hot_samples,
    error_samples=lambda: [
        misuse("depth must be non-negative, got: -1", np.array([0]), np.array(1.0), np.array(0.0), depth=-1, axis=-1),
        misuse(
            r"Expected axis to be -1 or between \[0, 2\).  But received: 3",
            np.array([0]),
            np.array(1.0),
            np.array(0.0),
            depth=3,
            axis=3,
        ),
    ],
)
def one_hot_p(indices: Array, on_value: Array, off_value: Array, *, depth: int, axis: int) -> Any:
    """on_value at the index, off_value elsewhere, along a new axis. i[*s], t[], t[] -> t[*s with depth]."""
    if depth < 0:
        raise invalid(f"depth must be non-negative, got: {depth}")
    if depth > MOST:  # NumPy's range of the largest numbers is empty
        raise ResourceExhaustedError(None, None, f"OOM when allocating tensor of depth {depth}")
    validated(_one_hot_shape, indices.shape, depth, axis)
    at = indices.ndim if axis == -1 else axis
    chosen = indices.reshape((*indices.shape[:at], 1, *indices.shape[at:]))
    line = np.arange(depth)
    return np.where(
        chosen == (line if axis == -1 else line.reshape((-1, *(1,) * (indices.ndim - at)))), on_value, off_value
    )


def _infer_one_hot_dynamic(indices: Aval, depth: Aval, on_value: Aval, off_value: Aval, *, axis: int) -> Aval:
    number = None if depth.value is None else int(depth.value)
    return Aval(on_value.dtype, _one_hot_shape(indices.shape, number, axis))


@movement(
    op="OneHot",
    infer=_infer_one_hot_dynamic,
    groups=("TI", "int32", "T", "T"),
    dtypes={"TI": "uint8 int8 int32 int64"},
    shape_inputs=(1,),
    lower=lambda b, node: [
        lambda index: b.select(
            b.cast(
                b.input(0).at([i for k, i in enumerate(index) if k != node.attrs["axis"] % b.output(0).rank]), "int64"
            ).eq(index[node.attrs["axis"] % b.output(0).rank]),
            b.input(2).at(()),
            b.input(3).at(()),
        )
    ],
    samples=lambda: [((np.array([0, 2]), np.array(3, np.int32), np.array(1.0), np.array(0.0)), {"axis": -1})],
)
def one_hot_dynamic(indices: Array, depth: Array, on_value: Array, off_value: Array, *, axis: int) -> Any:
    """`one_hot` of a depth known only at run time. i[*s], i32[], t[], t[] -> t[*s with depth]."""
    return body_of(one_hot_p)(indices, on_value, off_value, depth=int(depth), axis=axis)


@cache
def _one_and_zero(dtype: str) -> tuple[Tensor, Tensor]:
    with init_scope():
        pair = as_tensor(1, dtype), as_tensor(0, dtype)
    return pair


@public("one_hot")
def one_hot(
    indices: TensorLike,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Any:
    """on_value (1) at the index, off_value (0) elsewhere, along a new axis of size depth. i[*s] -> t[*s with depth].

    Args:
        indices: Integers; one that is out of range gives off_value everywhere.
        depth: The size of the new axis.
        on_value: None: 1.
        off_value: None: 0.
        axis: Where the new axis stands; None: last.
        dtype: The result's; None: that of the values, or float32.

    Raises:
        InvalidArgumentError: depth is negative.
        TypeError: The values' dtypes differ.

    Examples:
        >>> tf.one_hot([0, 2, 5], depth=3)
        <tf.Tensor: shape=(3, 3), dtype=float32, numpy=
        array([[1., 0., 0.],
               [0., 0., 1.],
               [0., 0., 0.]], dtype=float32)>

    Source: tf.one_hot.
    """
    if on_value is None and off_value is None and type(depth) is int and name is None and current_trace() is None:
        on, off = _one_and_zero("float32" if dtype is None else as_dtype(dtype).name)
        return one_hot_p(indices, on, off, depth=static_int(depth), axis=-1 if axis is None else whole(axis, "axis"))
    if dtype is None:
        given = [as_tensor(v) for v in (on_value, off_value) if v is not None]
        target = given[0].dtype if given else as_dtype("float32")
        if len(given) == 2:
            on_value, off_value = given
    else:
        target = as_dtype(dtype)
    on = as_tensor(1 if on_value is None else on_value, target)
    off = as_tensor(0 if off_value is None else off_value, target)
    if on.dtype is not off.dtype:
        raise TypeError(f"dtype {on.dtype!r} of on_value does not match dtype {off.dtype!r} of off_value")
    for value, what in ((on, "on_value"), (off, "off_value")):
        if value.shape.rank:
            raise InvalidArgumentError(
                None, None, f"{what} must be a scalar, but got: {shape_text(tuple(value.shape))}"
            )
    at = -1 if axis is None else whole(axis, "axis")
    number = static_int(depth, "depth must be a scalar, but got:")
    if number is None:
        if depth.dtype is not int32:
            depth = narrow(depth, 0, "depth must be non-negative and an int32, got: {}")
        return named(name, one_hot_dynamic, indices, depth, on, off, axis=at)
    return named(name, one_hot_p, indices, on, off, depth=number, axis=at)
