"""Running totals along an axis: cumsum, cumprod, cumulative_logsumexp.

Rule: each element is combined with the total before it, in order and once: eager mode and kernels give the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.activations import divide_no_nan
from fastgraph.ops.arguments import UnknownAxis, as_tensor, known_axis, named
from fastgraph.ops.complex_numbers import conj
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.elementwise import select, subtract
from fastgraph.ops.exponentials import exp, log
from fastgraph.ops.families import Array, custom, invalid, misuse, public
from fastgraph.ops.precise_sums import is_half


def _running(x: Array, combine: Any, start: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    if not -x.ndim <= axis < x.ndim:
        raise invalid(f"ScanOp: Expected scan axis in the range [{-x.ndim}, {x.ndim}), but got {axis}")
    wide = x.astype(np.float32) if is_half(x.dtype) else x
    total = np.empty(wide.shape, wide.dtype)
    line = total
    if reverse:
        wide, line = np.flip(wide, axis), np.flip(line, axis)
    if exclusive and x.shape[axis]:
        before: tuple[Any, ...] = (slice(None),) * (axis % x.ndim)
        line[(*before, 0)] = start
        wide, line = wide[(*before, slice(-1))], line[(*before, slice(1, None))]
    _accumulate(combine, wide, line, axis)
    return total.astype(x.dtype, copy=False)


#: Elements beside each other from which on whole rows are combined: NumPy accumulates one column after the other.
_ROW = 32


def _accumulate(combine: Any, x: Array, out: Array, axis: int) -> None:
    """`combine.accumulate` along an axis; the same numbers in the same order."""
    if math.prod(x.shape[axis % x.ndim + 1 :]) < _ROW or not x.size:
        combine.accumulate(x, axis=axis, dtype=x.dtype, out=out)
        return
    rows, totals = np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0)
    total = totals[0]
    total[...] = rows[0]
    for row, there in zip(rows[1:], totals[1:], strict=True):
        total = combine(total, row, out=there)


def _infer_running(x: Aval, *, axis: int, exclusive: bool, reverse: bool) -> Aval:
    if x.shape is not None and not -len(x.shape) <= axis < len(x.shape):
        raise ValueError(f"axis {axis} is out of range for an input of rank {len(x.shape)}")
    return Aval(x.dtype, x.shape)


def _samples(types: tuple[str, ...]) -> list[Any]:
    x = np.array([[0.5, 1.5, -2.0], [1.0, 2.0, 0.25]])
    deep = np.arange(1.0, 25.0).reshape(2, 3, 4) / 8
    ways = ((0, False, False), (1, True, False), (-1, False, True), (1, True, True))
    return [
        ((a.astype(as_dtype(t).numpy_dtype),), {"axis": axis, "exclusive": e, "reverse": r})
        for t in types
        for a in (x, deep)
        for axis, e, r in ways
    ] + [((np.zeros([2, 0], np.float32),), {"axis": 1, "exclusive": True, "reverse": False})]


_NUMBERS = ("float32", "float64", "float16", "bfloat16", "int32", "int64", "uint8", "int8")


def _error_samples() -> list[Any]:
    return [
        misuse(
            r"ScanOp: Expected scan axis in the range \[-1, 1\), but got 1",
            np.ones([3]),
            axis=1,
            exclusive=False,
            reverse=False,
        )
    ]


@custom(
    infer=_infer_running,
    dtypes="summable",
    vjp=dict(x=lambda dy, axis, exclusive, reverse: cumsum_p(dy, axis=axis, exclusive=exclusive, reverse=not reverse)),
    step="scan.add",
    samples=lambda: _samples(_NUMBERS),
    error_samples=_error_samples,
)
def cumsum_p(x: Array, *, axis: int, exclusive: bool, reverse: bool) -> Any:
    """Running sum along `axis`. t[*s] -> t[*s]."""
    return _running(x, np.add, 0, axis, exclusive, reverse)


def _cumprod_grad(dy: Tensor, x: Tensor, out: Tensor, axis: int, exclusive: bool, reverse: bool) -> Any:
    """The sum of the products after x, over x; 0 where x is 0, as in TensorFlow."""
    total = cumsum_p(conj(out) * dy, axis=axis, exclusive=exclusive, reverse=not reverse)
    return divide_no_nan(total, conj(x))


@custom(
    infer=_infer_running,
    dtypes="summable",
    vjp=dict(x=lambda dy, x, out, axis, exclusive, reverse: _cumprod_grad(dy, x, out, axis, exclusive, reverse)),
    step="scan.mul",
    samples=lambda: _samples(_NUMBERS),
    error_samples=_error_samples,
)
def cumprod_p(x: Array, *, axis: int, exclusive: bool, reverse: bool) -> Any:
    """Running product along `axis`. t[*s] -> t[*s]."""
    return _running(x, np.multiply, 1, axis, exclusive, reverse)


def _logsumexp_grad(dy: Tensor, x: Tensor, out: Tensor, axis: int, exclusive: bool, reverse: bool) -> Any:
    """sum(dy * exp(x - out)) over the totals that an element is in: by logarithms, so that nothing overflows."""
    lowest = as_tensor(x.dtype.min, x.dtype)
    some = out > lowest  # a total of nothing depends on nothing

    def part(size: Tensor, there: Tensor) -> Any:
        logs = select(there & some, subtract(log(size), out), lowest)
        ahead = cumulative_logsumexp_p(logs, axis=axis, exclusive=exclusive, reverse=not reverse)
        return exp(ahead + x)

    return part(dy, dy > 0) - part(-dy, dy < 0)


@custom(
    infer=_infer_running,
    dtypes="bfloat16 float16 float32 float64",
    vjp=dict(x=lambda dy, x, out, axis, exclusive, reverse: _logsumexp_grad(dy, x, out, axis, exclusive, reverse)),
    step="scan.logaddexp",
    samples=lambda: (
        _samples(("float32", "float64", "float16", "bfloat16"))
        + [
            ((np.array([-np.inf, 2.0, np.inf, np.nan], np.float32),), {"axis": 0, "exclusive": False, "reverse": r})
            for r in (False, True)
        ]
    ),
    error_samples=_error_samples,
)
def cumulative_logsumexp_p(x: Array, *, axis: int, exclusive: bool, reverse: bool) -> Any:
    """Running log(sum(exp(x))) along `axis`; of no elements -inf. f[*s] -> f[*s]."""
    return _running(x, np.logaddexp, -np.inf, axis, exclusive, reverse)


def _along(
    primitive: Callable[..., Any], name: str | None, x: TensorLike, axis: TensorLike, exclusive: bool, reverse: bool
) -> Any:
    try:
        along = known_axis(axis, "ScanOp: axis must be a scalar, not")
    except UnknownAxis:
        x = as_tensor(x)
        made = late(
            lambda rows, at: _along(primitive, None, rows, at, exclusive, reverse), [x, axis], x.dtype, name=name
        )
        made.set_shape(x.shape)
        return made
    return named(name, primitive, x, axis=along, exclusive=bool(exclusive), reverse=bool(reverse))


@public("cumsum", "math.cumsum")
def cumsum(
    x: TensorLike, axis: TensorLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """Running sum along `axis`; without the element itself if `exclusive`. t[*s] -> t[*s].

    Raises: InvalidArgumentError for an axis out of range. Source: tf.cumsum.
    """
    return _along(cumsum_p, name, x, axis, exclusive, reverse)


@public("math.cumprod")
def cumprod(
    x: TensorLike, axis: TensorLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """Running product along `axis`; without the element itself if `exclusive`. t[*s] -> t[*s].

    Raises: InvalidArgumentError for an axis out of range. Source: tf.math.cumprod.
    """
    return _along(cumprod_p, name, x, axis, exclusive, reverse)


@public("math.cumulative_logsumexp")
def cumulative_logsumexp(
    x: TensorLike, axis: TensorLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """Running log(sum(exp(x))) along `axis`, without overflow; of no elements -inf. f[*s] -> f[*s].

    Raises: InvalidArgumentError for integers or an axis out of range. Source: tf.math.cumulative_logsumexp.
    """
    return _along(cumulative_logsumexp_p, name, x, axis, exclusive, reverse)
