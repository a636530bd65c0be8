"""Positions of the greatest and least elements along an axis: argmax, argmin.

Rule: the first of equal elements counts, and NaN is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, class_has
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import UnknownAxis, known_axis, named, not_allowed, refused
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.families import Array, Builder, Node, Scalar, accumulator, canonical_axis, custom, invalid, public
from fastgraph.ops.precise_sums import is_half
from fastgraph.ops.reduction import highest, lowest

_POSITION_DTYPES = "float32 float64 int32 uint8 int16 int8 int64 bfloat16 uint16 float16 uint32 uint64 bool"


def _infer_position(input: Aval, *, axis: int, output_type: DType) -> Aval:
    if input.shape is None:
        return Aval(output_type, None)
    rank = len(input.shape)
    if not -rank <= axis < rank:
        raise ValueError(
            f"Dimension ({axis}) must be in the range [{-rank}, {rank}), where {rank} is the number of dimensions in "
            "the input."
        )
    axis %= rank
    return Aval(output_type, input.shape[:axis] + input.shape[axis + 1 :])


def _lower_position(kind: str) -> Callable[..., Any]:
    def lower(b: Builder, node: Node) -> list[Any]:
        x = b.input(0)
        dtype = node.inputs[0].aval.dtype
        axis = canonical_axis(node.attrs["axis"], x.rank)

        def element(index: Sequence[Any]) -> Any:
            def at(k: Scalar) -> Any:
                value = x.at((*index[:axis], k, *index[axis:]))
                if dtype.is_floating:  # NaN is never chosen
                    wide = b.cast(value, accumulator(dtype))
                    worst = b.const(-np.inf if kind == "argmax" else np.inf, accumulator(dtype).name)
                    return b.select(b.op("isnan", wide), worst, wide)
                return b.cast(value, "uint8") if dtype.is_bool else value

            n = x.shape[axis]
            place = b.reduce(kind, [n], lambda k: at(k[0]))
            if not n.is_known or not n.witness:  # a check keeps columns from being gone through side by side
                place = b.check(n > 0, place)
            return b.cast(place, node.attrs["output_type"])

        return [element]

    return lower


def _position(x: Array, axis: int, output_type: DType, find: Callable[..., Any], worst: Callable[..., Any]) -> Any:
    rank = x.ndim
    if not -rank <= axis < rank:
        raise invalid(f"Expected dimension in the range [{-rank}, {rank}), but got {axis}")
    if x.shape[axis] == 0 and x.size == 0 and np.prod(np.delete(x.shape, axis)) > 0:
        text = ",".join(map(str, x.shape))
        raise invalid(f"Reduction axis {axis % rank} is empty in shape [{text}]")
    if x.shape[axis] == 0:
        return np.zeros(np.delete(x.shape, axis), output_type.numpy_dtype)
    places = find(x, axis=axis)
    if x.dtype.kind == "f" or is_half(x.dtype):
        many = is_half(x.dtype) or x.ndim > 63  # axes for which NumPy takes no places
        nan = np.isnan(x if many else np.take_along_axis(x, np.expand_dims(places, axis), axis))
        if nan.any():  # which NumPy takes for the greatest and the least
            places = find(np.where(np.isnan(x), worst(x.dtype), x), axis=axis)
    return places.astype(output_type.numpy_dtype)


def _position_samples() -> list[Any]:
    x = np.array([[3.0, 7.0, 7.0], [np.nan, -2.0, -np.inf]])
    return [
        ((x.astype(as_dtype(t).numpy_dtype),), {"axis": axis, "output_type": as_dtype(out)})
        for t in ("float32", "float64", "float16", "bfloat16")
        for axis, out in ((0, "int64"), (1, "int32"), (-1, "int64"))
    ] + [
        ((np.array([[3, 1, 4], [4, 1, 4]], t),), {"axis": axis, "output_type": as_dtype("int64")})
        for t in ("int32", "uint8", "int64")
        for axis in (0, -1)
    ]


def _position_errors() -> list[Any]:
    both = {"axis": 1, "output_type": as_dtype("int64")}
    return [
        (
            (np.zeros([3], np.float32),),
            both,
            InvalidArgumentError,
            r"Expected dimension in the range \[-1, 1\), but got 1",
        ),
        ((np.zeros([3, 0], np.float32),), both, InvalidArgumentError, r"Reduction axis 1 is empty in shape \[3,0\]"),
    ]


@custom(
    op="ArgMax",
    infer=_infer_position,
    dtypes=_POSITION_DTYPES,
    lower=_lower_position("argmax"),
    samples=_position_samples,
    error_samples=_position_errors,
)
def argmax_p(input: Array, *, axis: int, output_type: DType) -> Any:
    """Position of the greatest element along `axis`, the first of several; NaN is passed over. t[*s] -> i[*r]."""
    return _position(input, axis, output_type, np.argmax, lowest)


@custom(
    op="ArgMin",
    infer=_infer_position,
    dtypes=_POSITION_DTYPES,
    lower=_lower_position("argmin"),
    samples=_position_samples,
    error_samples=_position_errors,
)
def argmin_p(input: Array, *, axis: int, output_type: DType) -> Any:
    """Position of the least element along `axis`, the first of several; NaN is passed over. t[*s] -> i[*r]."""
    return _position(input, axis, output_type, np.argmin, highest)


def _position_dtype(output_type: DTypeLike | None) -> DType:
    dtype = int64 if output_type is None else as_dtype(output_type)
    if dtype.name not in ("int16", "uint16", "int32", "int64"):
        raise refused(not_allowed(dtype, "output_type", "int16, uint16, int32, int64"))
    return dtype


def _position_axis(axis: Any, strict: bool = False) -> int:
    """The axis of argmin, and of argmax, which is `strict` about what an axis may be."""
    if strict and not isinstance(axis, (int, Tensor)) and not class_has(axis, "__fg_tensor__"):
        if isinstance(axis, (np.generic, np.ndarray)) and axis.dtype != np.int32 and axis.dtype.kind in "iu":
            raise TypeError(f"axis tensor dtypes {axis.dtype} is not supported")
        if not isinstance(axis, (np.generic, np.ndarray)) or axis.dtype != np.int32:
            raise TypeError("axis must be int or Tensor with integer datatype")
    if strict and not isinstance(axis, int) and not as_dtype(axis.dtype).is_integer:
        raise TypeError("axis must be int or Tensor with integer datatype")
    letter = "" if strict else "Tidx"
    return known_axis(axis, "dim must be a scalar, but received tensor of shape:", letter)


def _extreme_position(
    primitive: Callable[..., Any], x: TensorLike, axis: TensorLike | None, strict: bool, dtype: DType, name: str | None
) -> Any:
    try:
        along = 0 if axis is None else _position_axis(axis, strict)
    except UnknownAxis:
        return late(lambda rows, at: primitive(rows, axis=int(at), output_type=dtype), [x, axis], dtype, name=name)
    return named(name, primitive, x, axis=along, output_type=dtype)


@public("argmax", "math.argmax")
def argmax(
    input: TensorLike, axis: TensorLike | None = None, output_type: DTypeLike | None = int64, name: str | None = None
) -> Any:
    """Position of the greatest element along `axis` (None: 0), the first of several. t[*s] -> i64[*r].

    Args:
        input: A tensor of numbers or bools.
        axis: An int, or a tensor that holds one.
        output_type: int64, int32, int16 or uint16.

    Raises:
        InvalidArgumentError: There is no such axis, or there are no elements along it.

    Examples:
        >>> scores = tf.constant([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]])
        >>> tf.argmax(scores, axis=-1)
        <tf.Tensor: shape=(2,), dtype=int64, numpy=array([1, 0])>

    Source: tf.argmax.
    """
    return _extreme_position(argmax_p, input, axis, True, _position_dtype(output_type), name)


@public("argmin", "math.argmin")
def argmin(
    input: TensorLike, axis: TensorLike | None = None, output_type: DTypeLike | None = int64, name: str | None = None
) -> Any:
    """Position of the least element along `axis` (None: 0), the first of several. t[*s] -> i64[*r].

    Raises: InvalidArgumentError for an axis out of range, or no elements. Source: tf.argmin.
    """
    return _extreme_position(argmin_p, input, axis, False, _position_dtype(output_type), name)
