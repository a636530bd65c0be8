"""Segments: slices of a tensor with the same id combined into one, ids sorted (segment_*) or in any order.

Rule: an id out of range is an error with the id in it; negative ids of unsorted segments are passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, float32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.registry import get
from fastgraph.core.tensor import Tensor, bind
from fastgraph.ops.arguments import as_tensor, named, static_int
from fastgraph.ops.comparison import equal_p
from fastgraph.ops.division import truediv
from fastgraph.ops.elementwise import cast, maximum, ones_like, select, zeros_like
from fastgraph.ops.exponentials import sqrt
from fastgraph.ops.families import Array, Dims, custom, invalid, misuse, public, shape_text, validated
from fastgraph.ops.gathering import combine_at, dim, gather_p
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import expand_dims_p, reshape, shape
from fastgraph.ops.precise_sums import HALF

_REAL = "float32 float64 int32 uint8 int16 int8 int64 uint16 uint32 uint64"
_SUMMED = _REAL + " complex64 complex128"


def _start(kind: str, dtype: np.dtype[Any]) -> Any:
    """The value of a segment without elements, of unsorted ones."""
    if kind in ("sum", "prod"):
        return int(kind == "prod")
    limits = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
    return limits.min if kind == "max" else limits.max


#: TensorFlow's comparisons: a NaN takes the place of what was there, and is replaced by what comes next.
_COMBINED = {"sum": "add", "prod": "mul", "max": "segmax", "min": "segmin"}

# ---- unsorted -------------------------------------------------------------------------------------------------------


def _unsorted_shape(data: Dims, ids: Dims, n: int | None) -> Dims:
    if data is None or ids is None:
        return None
    if len(ids) > len(data) or any(
        a is not None and b is not None and a != b for a, b in zip(data[: len(ids)], ids, strict=True)
    ):
        raise ValueError(f"data.shape = {shape_text(data)} does not start with segment_ids.shape = {shape_text(ids)}")
    return (n, *data[len(ids) :])


def _unsorted(kind: str, data: Array, segment_ids: Array, n: int, start: float | None = None) -> Any:
    if n < 0:
        raise invalid(f"Input num_segments == {n} must not be negative.")
    validated(_unsorted_shape, data.shape, segment_ids.shape, n)
    if segment_ids.size and segment_ids.max() >= n:
        bad = segment_ids >= n
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        place = f"segment_ids{shape_text(first)}" if first else "segment_ids"
        raise invalid(f"{place} = {int(segment_ids[first])} is out of range [0, {n})")
    result: Array = np.full(
        (n, *data.shape[segment_ids.ndim :]), _start(kind, data.dtype) if start is None else start, data.dtype
    )
    combine_at(_COMBINED[kind], result, [segment_ids], data)
    return result


def _unsorted_samples(kind: str) -> Callable[[], list[Any]]:
    def samples() -> list[Any]:
        rows = np.arange(1.0, 7.0).reshape(3, 2)
        wide = np.arange(4.0 * 130).reshape(4, 130) % 7 + 1
        found = [
            ((rows.astype(t), np.array([0, 2, 0], it)), {"num_segments": 4})
            for t in ("float32", "float64", "int32", "int64", "uint8")
            for it in ("int32", "int64")
        ]
        found += [
            ((rows, np.array([1, -1, 1])), {"num_segments": 2}),
            ((wide, np.array([1, 0, 1, 1])), {"num_segments": 2}),
        ]
        found += [((wide[:, :9], np.array([1, 0, 1, 5])), {"num_segments": 9})]
        found += [((rows, np.array([[0, 3], [3, 1], [0, 0]])), {"num_segments": 4})]
        found += [((rows, np.array([0, 1, 0])), {"num_segments": 2})]
        if kind in ("max", "min"):  # without a slope, and so not for sums
            found += [((np.array([np.nan, 2.0, 1.0, np.nan], np.float32), np.array([0, 0, 1, 1])), {"num_segments": 3})]
        return found

    return samples


def _unsorted_errors() -> list[Any]:
    return [
        misuse(r"segment_ids\[1\] = 4 is out of range \[0, 4\)", np.ones([3]), np.array([0, 4, 2]), num_segments=4),
        misuse(
            r"data.shape = \[3\] does not start with segment_ids.shape = \[2\]",
            np.ones([3]),
            np.array([0, 1]),
            num_segments=4,
        ),
        misuse("Input num_segments == -1 must not be negative.", np.ones([3]), np.array([0, 1, 2]), num_segments=-1),
    ]


def _infer_unsorted(data: Aval, segment_ids: Aval, *, num_segments: int) -> Aval:
    if num_segments < 0:
        raise ValueError(f"Input num_segments == {num_segments} must not be negative.")
    return Aval(data.dtype, _unsorted_shape(data.shape, segment_ids.shape, num_segments))


def _infer_unsorted_dynamic(data: Aval, segment_ids: Aval, num_segments: Aval) -> Aval:
    n = None if num_segments.value is None else int(num_segments.value)
    return Aval(data.dtype, _unsorted_shape(data.shape, segment_ids.shape, n))


def _spread(kept: Tensor, like: Tensor) -> Any:
    """One value per id, with axes of size 1 for those of a row."""
    if like.shape.rank is None or kept.shape.rank is None:
        own, wanted = shape(kept), shape(like)
        return reshape(kept, concat([own, ones_like(wanted[shape(own)[0] :])], 0))
    trailing = like.shape.rank - kept.shape.rank
    return expand_dims_p(kept, axes=tuple(range(-trailing, 0))) if trailing else kept


def _taken(x: Tensor, ids: Tensor) -> Any:
    """The row of x that each id names; zeros for negative ids."""
    rows = gather_p(x, maximum(ids, zeros_like(ids)), axis=0, batch_dims=0)
    return select(_spread(ids >= 0, rows), rows, zeros_like(rows))


def _extreme_grad(total: Callable[..., Any], dy: Tensor, data: Tensor, ids: Tensor, out: Tensor) -> Any:
    """The cotangent shared by the elements that are their segment's extreme."""
    chosen = cast(equal_p(_taken(out, ids), data) & _spread(ids >= 0, data), dy.dtype)
    shares = total(chosen, ids, dy)
    return _taken(dy / maximum(shares, ones_like(shares)), ids) * chosen


def _prod_grad(dy: Tensor, data: Tensor, ids: Tensor, out: Tensor) -> Any:
    """dy times the product of the other elements of the segment; a zero is counted, not divided by."""
    zero = equal_p(data, zeros_like(data))
    zeros = _taken(_total(cast(zero, "int32"), ids, dy), ids)
    others = select(zero, ones_like(data), data)
    # by way of `out`, not of the others' product: beside a zero that is 0, but its gradient to the zero is not
    alone = select(zero, _taken(_product(others, ids, dy), ids), _taken(out, ids) / others)
    return select(zeros > 1, zeros_like(data), alone * _taken(dy, ids))


def _combined(kind: str) -> Callable[..., Any]:
    """The unsorted segment op of a kind, with as many segments as `like` has rows."""

    def apply(data: Tensor, ids: Tensor, like: Tensor) -> Any:
        n = like.shape[0]
        if n is None:
            return bind(get(f"unsorted_segment_{kind}_dynamic"), (data, ids, shape(like)[0]), {})
        return bind(get(f"unsorted_segment_{kind}"), (data, ids), {"num_segments": n})

    return apply


_total, _product = _combined("sum"), _combined("prod")
_VJP: dict[str, dict[str, Callable[..., Any]]] = {
    "sum": dict(data=lambda dy, segment_ids: _taken(dy, segment_ids)),
    "prod": dict(data=lambda dy, data, segment_ids, out: _prod_grad(dy, data, segment_ids, out)),
    "max": dict(data=lambda dy, data, segment_ids, out: _extreme_grad(_total, dy, data, segment_ids, out)),
    "min": dict(data=lambda dy, data, segment_ids, out: _extreme_grad(_total, dy, data, segment_ids, out)),
}
_STEPS = {"sum": "segment.add", "prod": "segment.mul", "max": "segment.segmax", "min": "segment.segmin"}
_WORDS = {"sum": "Sum", "prod": "Product", "max": "Greatest", "min": "Least", "mean": "Mean"}


def _unsorted_op(kind: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The unsorted op of a kind, with a number of segments known now, and known at run time."""

    def static(data: Array, segment_ids: Array, *, num_segments: int) -> Any:
        return _unsorted(kind, data, segment_ids, num_segments)

    def dynamic(data: Array, segment_ids: Array, num_segments: Array) -> Any:
        return _unsorted(kind, data, segment_ids, int(num_segments))

    name = f"unsorted_segment_{kind}"
    static.__name__, dynamic.__name__ = f"{name}_p", f"{name}_dynamic"
    static.__doc__ = f"{_WORDS[kind]} of the rows of data with the same id. t[*q, *r], i[*q] -> t[num_segments, *r]."
    dynamic.__doc__ = f"`{name}` of a number of segments known only at run time. t[*q, *r], i[*q], i[] -> t[n, *r]."
    allowed = _SUMMED if kind in ("sum", "prod") else _REAL
    dtypes = {"T": allowed, "Tindices": "int16 int32 int64", "Tnumsegments": "index"}
    op = f"UnsortedSegment{kind.capitalize()}"
    first = custom(
        op=op,
        infer=_infer_unsorted,
        groups=("T", "Tindices"),
        dtypes=dtypes,
        vjp=_VJP[kind],
        step=_STEPS[kind],
        samples=_unsorted_samples(kind),
        error_samples=_unsorted_errors,
    )(static)
    second = custom(
        op=op,
        infer=_infer_unsorted_dynamic,
        groups=("T", "Tindices", "Tnumsegments"),
        dtypes=dtypes,
        shape_inputs=(2,),
        vjp=_VJP[kind],
        step=_STEPS[kind],
        samples=lambda: [((np.arange(1.0, 7.0).reshape(3, 2), np.array([0, 1, 0]), np.array(2)), {})],
    )(dynamic)
    return first, second


unsorted_segment_sum_p, unsorted_segment_sum_dynamic = _unsorted_op("sum")
unsorted_segment_prod_p, unsorted_segment_prod_dynamic = _unsorted_op("prod")
unsorted_segment_max_p, unsorted_segment_max_dynamic = _unsorted_op("max")
unsorted_segment_min_p, unsorted_segment_min_dynamic = _unsorted_op("min")


def _apply(
    static: Callable[..., Any],
    dynamic: Callable[..., Any],
    data: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike,
    name: str | None,
) -> Any:
    number, data = static_int(num_segments, "num_segments should be a scalar, not shape"), as_tensor(data)
    if data.dtype.name in HALF:  # many of them are added: in float32, rounded once
        wide = _apply(static, dynamic, cast(data, "float32"), segment_ids, num_segments, None)
        lowest, highest = (as_tensor(n, "float32") for n in (data.dtype.min, data.dtype.max))
        if static is unsorted_segment_max_p:  # of nothing: the least number of this type, not of float32
            wide = select(equal_p(wide, as_tensor(float32.min, "float32")), lowest, wide)
        elif static is unsorted_segment_min_p:
            wide = select(equal_p(wide, as_tensor(float32.max, "float32")), highest, wide)
        return cast(wide, data.dtype, name)
    if number is None:
        return named(name, dynamic, data, segment_ids, num_segments)
    return named(name, static, data, segment_ids, num_segments=number)


def _public_unsorted(kind: str, static: Callable[..., Any], dynamic: Callable[..., Any]) -> Callable[..., Any]:
    def apply(data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None) -> Any:
        return _apply(static, dynamic, data, segment_ids, num_segments, name)

    apply.__name__ = apply.__qualname__ = f"unsorted_segment_{kind}"
    apply.__doc__ = f"""{_WORDS[kind]} of the slices of data with the same id. t[*q, *r], i[*q] -> t[num_segments, *r].

    Negative ids are passed over.
    Raises: InvalidArgumentError for an id out of range. Source: tf.math.unsorted_segment_{kind}.
    """
    return public(f"math.unsorted_segment_{kind}")(apply)


unsorted_segment_sum = _public_unsorted("sum", unsorted_segment_sum_p, unsorted_segment_sum_dynamic)
unsorted_segment_prod = _public_unsorted("prod", unsorted_segment_prod_p, unsorted_segment_prod_dynamic)
unsorted_segment_max = _public_unsorted("max", unsorted_segment_max_p, unsorted_segment_max_dynamic)
unsorted_segment_min = _public_unsorted("min", unsorted_segment_min_p, unsorted_segment_min_dynamic)


def _counts(segment_ids: Tensor, num_segments: TensorLike, dtype: DTypeLike, like: Tensor, data: Any = None) -> Any:
    """Number of rows of each segment, at least 1, to divide `like` by. i[*q], f[n, *r] -> f[n, 1, ...]."""
    ids = as_tensor(segment_ids)
    if not isinstance(like, Tensor):  # a ragged one: how many have each element
        counted = unsorted_segment_sum(ones_like(data), ids, num_segments)
        return maximum(counted, ones_like(counted))
    counted = unsorted_segment_sum(ones_like(ids, dtype=dtype), ids, num_segments)
    counted = maximum(counted, ones_like(counted))
    if like.shape.rank is None:
        return _spread(counted, like)
    return reshape(counted, [-1, *(1,) * (like.shape.rank - 1)])


@public("math.unsorted_segment_mean")
def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Any:
    """Mean of the slices of data with the same id; 0 of none. t[*q, *r], i[*q] -> f[num_segments, *r].

    Raises: InvalidArgumentError for an id out of range. Source: tf.math.unsorted_segment_mean.
    """
    data, ids = as_tensor(data), as_tensor(segment_ids)
    total = unsorted_segment_sum(data, ids, num_segments)
    return truediv(total, _counts(ids, num_segments, data.dtype, total, data), name=name)


@public("math.unsorted_segment_sqrt_n")
def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Any:
    """Sum of the slices of data with the same id over the root of their number. f[*q, *r], i[*q] -> f[n, *r].

    Raises: InvalidArgumentError for an id out of range. Source: tf.math.unsorted_segment_sqrt_n.
    """
    data, ids = as_tensor(data), as_tensor(segment_ids)
    total = unsorted_segment_sum(data, ids, num_segments)
    return truediv(total, sqrt(_counts(ids, num_segments, data.dtype, total, data)), name=name)


# ---- sorted ---------------------------------------------------------------------------------------------------------


def _infer_sorted(data: Aval, segment_ids: Aval) -> Aval:
    if segment_ids.shape is not None and len(segment_ids.shape) != 1:
        raise ValueError(f"Shape must be rank 1 but is rank {len(segment_ids.shape)}")
    return Aval(data.dtype, None if data.shape is None else (None, *data.shape[1:]))


def _check_sorted(data: Array, ids: Array) -> None:
    if ids.ndim != 1:
        raise invalid("segment_ids should be a vector.")
    if data.ndim == 0 or len(ids) != data.shape[0]:
        raise invalid("segment_ids should be the same size as dimension 0 of input.")
    if len(ids) and ids[0] < 0:
        raise invalid(
            f"Segment id {ids[0]} out of range [0, {int(ids[-1]) + 1}), possibly because 'segment_ids' input is not "
            "sorted."
        )
    if (ids[1:] < ids[:-1]).any():
        raise invalid("segment ids are not increasing")


def _sorted_samples() -> list[Any]:
    rows = np.arange(1.0, 7.0).reshape(3, 2)
    return [
        ((rows.astype(t), np.array(ids, it)), {})
        for t, it in (("float32", "int32"), ("float64", "int64"), ("int32", "int32"))
        for ids in ([0, 0, 2], [0, 1, 1], [3, 3, 3])
    ] + [((np.zeros([0, 2], np.float32), np.zeros([0], np.int32)), {})]


def _sorted_errors() -> list[Any]:
    x = np.ones([3])
    return [
        misuse("segment ids are not increasing", x, np.array([0, 2, 1])),
        misuse(r"Segment id -1 out of range \[0, 2\)", x, np.array([-1, 0, 1])),
        misuse("segment_ids should be the same size as dimension 0 of input.", x, np.array([0, 1])),
        misuse("segment_ids should be a vector.", x, np.array([[0, 1, 1]])),
    ]


def _mean_grad(dy: Tensor, ids: Tensor) -> Any:
    n = dim(dy, 0)
    counts = cast(_counts(ids, n, "float32" if dy.dtype.is_complex else dy.dtype, dy), dy.dtype)
    return _taken(dy / counts, ids)


def _sorted_op(kind: str) -> Callable[..., Any]:
    """The op of sorted segments; a segment without elements is 0, a product of none 1."""

    def apply(data: Array, segment_ids: Array) -> Any:
        _check_sorted(data, segment_ids)
        n = int(segment_ids[-1]) + 1 if len(segment_ids) else 0
        if kind == "mean":
            total = _unsorted("sum", data, segment_ids, n)
            counts = np.maximum(np.bincount(segment_ids, minlength=n), 1)
            counts = counts.reshape([-1, *(1,) * (data.ndim - 1)]).astype(data.dtype)
            return total / counts if data.dtype.kind in "fc" else _truncated(total, counts)
        # Infinities are the extremes of their segments: the least finite number is only that of none, which 0 replaces.
        start = {"max": -np.inf, "min": np.inf}.get(kind) if data.dtype.kind == "f" else None
        result = _unsorted(kind, data, segment_ids, n, start)
        if kind in ("max", "min"):
            result[np.bincount(segment_ids, minlength=n) == 0] = 0
        return result

    apply.__name__ = f"segment_{kind}_p"
    apply.__doc__ = f"{_WORDS[kind]} of the rows of data with the same id; ids rise. t[n, *r], i[n] -> t[last + 1, *r]."
    vjp = dict(data=lambda dy, segment_ids: _mean_grad(dy, segment_ids)) if kind == "mean" else _VJP[kind]
    return custom(
        op=f"Segment{kind.capitalize()}",
        infer=_infer_sorted,
        groups=("T", "Tindices"),
        dtypes={"T": _REAL if kind in ("max", "min") else _SUMMED, "Tindices": "index"},
        step="counted.mean" if kind == "mean" else _STEPS[kind].replace("segment.", "counted."),
        vjp=vjp,
        samples=_sorted_samples,
        error_samples=_sorted_errors,
    )(apply)


def _truncated(total: Array, counts: Array) -> Any:
    return np.sign(total) * (np.abs(total) // counts) if total.dtype.kind == "i" else total // counts


def _public_sorted(kind: str) -> Callable[..., Any]:
    op = _sorted_op(kind)

    def apply(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Any:
        data = as_tensor(data)
        if data.dtype.name in HALF:  # many of them are added: in float32, rounded once
            return cast(op(cast(data, "float32"), segment_ids), data.dtype, name)
        return named(name, op, data, segment_ids)

    apply.__name__ = apply.__qualname__ = f"segment_{kind}"
    apply.__doc__ = f"""{_WORDS[kind]} of the rows of data with one id; ids rise. t[n, *r], i[n] -> t[last + 1, *r].

    Raises: InvalidArgumentError for ids that do not rise from 0 on. Source: tf.math.segment_{kind}.
    """
    return public(f"math.segment_{kind}")(apply)


segment_sum = _public_sorted("sum")
segment_mean = _public_sorted("mean")
segment_prod = _public_sorted("prod")
segment_max = _public_sorted("max")
segment_min = _public_sorted("min")
