"""Softmax and the cross entropies made of it.

Rule: an op that needs whole rows states `decompose`: the compiler writes it in reductions and fuses those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import UnknownAxis, as_tensor, known_axis, named
from fastgraph.ops.comparison import greater_equal
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.elementwise import add, cast, select, zeros_like_p
from fastgraph.ops.exponentials import exp, log, log1p
from fastgraph.ops.families import (
    Array,
    Builder,
    Node,
    broadcast,
    canonical_axis,
    custom,
    invalid,
    misuse,
    public,
    shape_text,
)
from fastgraph.ops.movement import expand_dims_p, shape, squeeze_p, transpose_p
from fastgraph.ops.one_hot import one_hot_dynamic, one_hot_p
from fastgraph.ops.precise_sums import HALF, block_sum, is_half
from fastgraph.ops.reduction import max_p, sum_p


def _wide(x: Array) -> Array:
    return x.astype(np.float32) if is_half(x.dtype) else x


def _log_softmax(x: Array) -> Any:
    shifted = x - np.maximum.reduce(x, axis=-1, keepdims=True, initial=-np.inf)
    return shifted - np.log(block_sum(np.exp(shifted), (x.ndim - 1,), keepdims=True))


def _softmax(x: Array) -> Any:
    grown = x - np.maximum.reduce(x, axis=-1, keepdims=True, initial=-np.inf)
    np.exp(grown, out=grown)
    grown /= block_sum(grown, (x.ndim - 1,), keepdims=True)
    return grown


def _row_sum(x: Tensor) -> Any:
    return sum_p(x, axes=(-1,), keepdims=True)


def _shifted(logits: Tensor) -> Any:
    return logits - max_p(logits, axes=(-1,), keepdims=True)


def _decompose_softmax(logits: Tensor) -> Any:
    grown = exp(_shifted(_single(logits)))
    return cast(grown / _row_sum(grown), logits.dtype)


def _decompose_log_softmax(logits: Tensor) -> Any:
    shifted = _shifted(_single(logits))
    return cast(shifted - log(_row_sum(exp(shifted))), logits.dtype)


def _single(x: Tensor) -> Any:
    """16-bit floats as float32: several steps round once, at the end."""
    return cast(x, "float32") if x.dtype.name in HALF else x


def _rows() -> list[Any]:
    x = np.array([[1.0, 2.0, 3.0], [-50.0, 0.0, 50.0]])
    return [((x.astype(as_dtype(t).numpy_dtype),), {}) for t in ("float32", "float64", "float16", "bfloat16")] + [
        ((np.zeros([2, 0], np.float32),), {}),
        ((np.ones([2, 2, 3], np.float32),), {}),
        ((np.array([-np.inf, 0.0, 1.0], np.float32),), {}),
    ]


def _check_rows(logits: Array) -> None:
    if logits.ndim == 0:
        raise invalid("Input dims must be >= 1")


_FLOATS = "float16 bfloat16 float32 float64"


@custom(
    infer=lambda logits: Aval(logits.dtype, logits.shape),
    dtypes=_FLOATS,
    decompose=_decompose_softmax,
    vjp=dict(logits=lambda dy, out: (dy - _row_sum(dy * out)) * out),
    samples=_rows,
)
def softmax_p(logits: Array) -> Any:
    """exp(logits) / sum(exp(logits)) along the last axis. f[*s] -> f[*s]."""
    _check_rows(logits)
    return _softmax(_wide(logits)).astype(logits.dtype, copy=False)


@custom(
    infer=lambda logits: Aval(logits.dtype, logits.shape),
    dtypes=_FLOATS,
    decompose=_decompose_log_softmax,
    vjp=dict(logits=lambda dy, out: dy - exp(out) * _row_sum(dy)),
    samples=_rows,
)
def log_softmax_p(logits: Array) -> Any:
    """logits - log(sum(exp(logits))) along the last axis. f[*s] -> f[*s]."""
    _check_rows(logits)
    return _log_softmax(_wide(logits)).astype(logits.dtype, copy=False)


def _along(primitive: Callable[..., Any], logits: TensorLike, axis: TensorLike | None, name: str | None) -> Any:
    x = as_tensor(logits)
    if isinstance(axis, (list, tuple)):
        raise TypeError(f"An axis must be one integer. Received: axis={axis}")
    try:
        axis = -1 if axis is None else known_axis(axis, "axis must be a scalar, not")
    except UnknownAxis:
        made = late(lambda rows, at: _along(primitive, rows, at, None), [x, axis], x.dtype, name=name)
        made.set_shape(x.shape)
        return made
    rank = x.shape.rank
    if primitive is softmax_p and hasattr(x, "row_splits"):
        rows: Any = x
        return rows._softmax(axis)
    if axis == -1 or (rank is not None and axis == rank - 1):
        return named(name, primitive, x)
    if rank is None:
        return late(lambda rows: _along(primitive, rows, axis, None), [x], x.dtype, name=name)
    if not -rank <= axis < rank:
        raise invalid(
            f"`dim` must be in the range [{-rank}, {rank}) where {rank} is the number of dimensions in the input. "
            f"Received: dim={axis}"
        )
    swap = list(range(rank))
    swap[axis], swap[-1] = swap[-1], swap[axis]
    return transpose_p(named(name, primitive, transpose_p(x, perm=tuple(swap))), perm=tuple(swap))


@public("nn.softmax", "math.softmax")
def softmax(logits: TensorLike, axis: TensorLike | None = None, name: str | None = None) -> Any:
    """exp(logits) / sum(exp(logits)) along `axis` (-1). f[*s] -> f[*s].

    Args:
        logits: Floating, of rank 1 or more.
        axis: The axis along which the results sum to 1; None: the last.

    Raises:
        InvalidArgumentError: The dtype is no floating one, or the axis is out of range.

    Examples:
        >>> tf.nn.softmax([[0.0, 0.0], [0.0, 1000.0]])
        <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
        array([[0.5, 0.5],
               [0. , 1. ]], dtype=float32)>

    Source: tf.nn.softmax.
    """
    return _along(softmax_p, logits, axis, name)


@public("nn.log_softmax", "math.log_softmax")
def log_softmax(logits: TensorLike, axis: TensorLike | None = None, name: str | None = None) -> Any:
    """log(softmax(logits)) along `axis` (-1), without overflow. f[*s] -> f[*s]. Source: tf.nn.log_softmax."""
    return _along(log_softmax_p, logits, axis, name)


def _check_labels(labels: Array, n: int) -> None:
    bad = (labels < 0) | (labels >= n)
    if bad.any():
        raise invalid(
            f"Received a label value of {labels[bad][0]} which is outside the valid range of [0, {n}).  Label values: "
            + " ".join(str(int(v)) for v in labels.ravel())
        )


def _check_lengths(logits: Array, labels: Array) -> None:
    if labels.shape != logits.shape[:-1]:
        raise invalid(
            f"logits and labels must have the same first dimension, got logits shape {shape_text(logits.shape)} and "
            f"labels shape {shape_text(labels.shape)}"
        )


def _infer_pick(logits: Aval, labels: Aval) -> Aval:
    if logits.shape is None:
        return Aval(logits.dtype, labels.shape)
    return Aval(logits.dtype, logits.shape[:-1])


def _lower_pick(b: Builder, node: Node) -> list[Any]:
    logits, labels = b.input(0), b.input(1)

    def element(index: Sequence[Any]) -> Any:
        # Sizes known only at run time may differ: then nothing is read.
        same = b.const(True, "bool")
        for n, m in zip(labels.shape, logits.shape[:-1], strict=True):
            same = b.op("and", same, n.eq(m))
        k = b.cast(b.check(same, labels.at(index), b.const(0)), "int64")
        inside = b.op("and", k >= 0, k < logits.shape[-1])
        return b.check(inside, logits.at((*index, k)), b.flat(index, labels.shape))

    return [element]


def _label_errors() -> list[Any]:
    x = np.array([[1.0, 2.0]])
    text = r"Received a label value of {} which is outside the valid range of \[0, 2\).  Label values: {}"
    return [misuse(text.format(k, k), x, np.array([k])) for k in (5, -1)]


def _label_samples() -> list[Any]:
    x = np.array([[1.0, 2.0, -1.0], [0.5, -40.0, 60.0]])
    return [
        ((x.astype(as_dtype(t).numpy_dtype), np.array(k, i)), {})
        for t, i in (("float32", "int32"), ("float64", "int64"), ("bfloat16", "int32"), ("float16", "int64"))
        for k in ([2, 0], [1, 1])
    ] + [((np.array([1.0, 2.0], np.float32), np.array(1)), {}), ((np.ones([2, 2, 3]), np.array([[0, 1], [2, 2]])), {})]


@custom(
    infer=_infer_pick,
    groups=("T", "Tlabels"),
    dtypes={"T": _FLOATS, "Tlabels": "index"},
    lower=_lower_pick,
    vjp=dict(logits=lambda dy, logits, labels: expand_dims_p(dy, axes=(-1,)) * _hot(logits, labels)),
    samples=_label_samples,
    error_samples=_label_errors,
)
def pick_labels(logits: Array, labels: Array) -> Any:
    """The element of each row that its label names. f[*s, n], i[*s] -> f[*s]."""
    _check_lengths(logits, labels)
    _check_labels(labels, logits.shape[-1])
    return np.take_along_axis(logits, labels[..., None].astype(np.int64), axis=-1)[..., 0]


def _hot(logits: Tensor, labels: Tensor) -> Any:
    """Labels as rows with a 1."""
    one, zero = as_tensor(1, logits.dtype), as_tensor(0, logits.dtype)
    n = logits.shape[-1]
    if n is None:
        return one_hot_dynamic(labels, shape(logits)[-1], one, zero, axis=-1)
    return one_hot_p(labels, one, zero, depth=n, axis=-1)


def _decompose_sparse(logits: Tensor, labels: Tensor) -> Any:
    shifted = _shifted(_single(logits))
    total = squeeze_p(log(_row_sum(exp(shifted))), axes=(-1,))  # the sum of the gradient's softmax as well
    return cast(total - pick_labels(shifted, labels), logits.dtype)


@custom(
    op="SparseSoftmaxCrossEntropyWithLogits",
    infer=_infer_pick,
    groups=("T", "Tlabels"),
    dtypes={"T": _FLOATS, "Tlabels": "index"},
    decompose=_decompose_sparse,
    vjp=dict(
        logits=lambda dy, logits, labels: expand_dims_p(dy, axes=(-1,)) * (softmax_p(logits) - _hot(logits, labels))
    ),
    samples=_label_samples,
    error_samples=_label_errors,
)
def sparse_cross_entropy_p(logits: Array, labels: Array) -> Any:
    """-log(softmax(logits)) at the label of each row. f[*s, n], i[*s] -> f[*s]."""
    _check_rows(logits)
    _check_lengths(logits, labels)
    if labels.size == 0:
        return np.zeros(labels.shape, logits.dtype)
    _check_labels(labels, logits.shape[-1])
    rows = _log_softmax(_wide(logits))
    picked = np.take_along_axis(rows, labels[..., None].astype(np.int64), axis=-1)[..., 0]
    return np.negative(picked).astype(logits.dtype)


@public("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike, name: str | None = None) -> Any:
    """-log(softmax(logits)) at the label of each row. i[*s], f[*s, n] -> f[*s].

    Raises: InvalidArgumentError for a label out of range; ValueError for shapes that do not fit.
    Source: tf.nn.sparse_softmax_cross_entropy_with_logits.
    """
    logits, labels = as_tensor(logits), as_tensor(labels)
    a, b = labels.shape, logits.shape
    if b.rank is not None and b.rank == 0:
        raise ValueError(f"`logits` cannot be a scalar. Received logits={logits}`")
    if a.rank is not None and b.rank is not None:
        if a.rank != b.rank - 1:
            raise ValueError(
                f"`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: labels.shape={a} of rank {a.rank} "
                f"and logits.shape={b} of rank {b.rank}"
            )
        if not a.is_compatible_with(b[:-1]):
            raise ValueError(
                "`labels.shape` must equal `logits.shape` except for the last dimension. Received: "
                f"labels.shape={a} and logits.shape={b}"
            )
    return named(name, sparse_cross_entropy_p, logits, labels)


def _infer_cross_entropy(logits: Aval, labels: Aval) -> Aval:
    dims = broadcast(logits.shape, labels.shape)
    return Aval(logits.dtype, None if dims is None else dims[:-1])


def _decompose_cross_entropy(logits: Tensor, labels: Tensor) -> Any:
    shifted = _shifted(_single(logits))
    rest = log(_row_sum(exp(shifted))) - shifted
    return cast(sum_p(_single(labels) * rest, axes=(-1,), keepdims=False), logits.dtype)


@custom(
    op="SoftmaxCrossEntropyWithLogits",
    infer=_infer_cross_entropy,
    groups=("T", "T"),
    dtypes=_FLOATS,
    decompose=_decompose_cross_entropy,
    vjp=dict(
        logits=lambda dy, logits, labels: expand_dims_p(dy, axes=(-1,)) * (softmax_p(logits) - labels),
        labels=lambda dy, logits: expand_dims_p(dy, axes=(-1,)) * -log_softmax_p(logits),
    ),
    samples=lambda: (
        [
            ((np.array([[1.0, 2.0, -1.0], [0.5, -4.0, 6.0]], t), np.array([[0.0, 1.0, 0.0], [0.25, 0.25, 0.5]], t)), {})
            for t in ("float32", "float64", "float16")
        ]
        + [((np.ones([2, 3]), np.array([[0.0, 1.0, 0.0]])), {})]
    ),
    error_samples=lambda: [
        misuse(
            r"logits and labels must be broadcastable: logits_size=\[1,2\] labels_size=\[1,3\]",
            np.ones([1, 2]),
            np.ones([1, 3]),
        )
    ],
)
def cross_entropy_p(logits: Array, labels: Array) -> Any:
    """-sum(labels * log(softmax(logits))) over the last axis. f[*s, n], f[*s, n] -> f[*s].

    The gradient takes labels for distributions: rows that sum to 1. Source: TensorFlow's op of this name.
    """
    _check_rows(logits)
    try:
        product = -_wide(labels) * _log_softmax(_wide(logits))
    except ValueError:
        text = f"logits_size={shape_text(logits.shape)} labels_size={shape_text(labels.shape)}"
        raise invalid(f"logits and labels must be broadcastable: {text}") from None
    return block_sum(product, (product.ndim - 1,)).astype(logits.dtype)


@public("nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, axis: TensorLike = -1, name: str | None = None
) -> Any:
    """-sum(labels * log(softmax(logits))) along `axis`. f[*s], f[*s] -> f[*r].

    Raises: InvalidArgumentError for shapes that do not broadcast. Source: tf.nn.softmax_cross_entropy_with_logits.
    """
    logits, labels = as_tensor(logits), as_tensor(labels)
    if labels.dtype is not logits.dtype:
        labels = cast(labels, logits.dtype)
    rank = logits.shape.rank
    axis = known_axis(axis, "axis must be a scalar, not", hint=False)
    if rank is None and axis != -1:
        again = lambda x, y: softmax_cross_entropy_with_logits(y, x, axis)
        return late(again, [logits, labels], logits.dtype, name=name)
    if rank is not None and axis not in (-1, rank - 1):
        at = canonical_axis(axis, rank)
        perm = tuple(i for i in range(rank) if i != at) + (at,)
        logits, labels = transpose_p(logits, perm=perm), transpose_p(labels, perm=perm)
    return named(name, cross_entropy_p, logits, labels)


@public("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(
    labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None
) -> Any:
    """Cross entropy of independent yes/no labels: max(x, 0) - x * z + log(1 + exp(-|x|)). f[*s], f[*s] -> f[*s].

    Raises: ValueError if shapes differ. Source: tf.nn.sigmoid_cross_entropy_with_logits.
    """
    logits = as_tensor(logits)
    labels = as_tensor(labels, logits.dtype)
    if not labels.shape.is_compatible_with(logits.shape):
        raise ValueError(
            f"`logits` and `labels` must have the same shape, received ({logits.shape} vs {labels.shape})."
        )
    # Not by relu and abs: their slopes at 0 would sum to that of another function.
    above = greater_equal(logits, 0)
    small = select(above, -logits, logits)
    return add(select(above, logits, zeros_like_p(logits)) - logits * labels, log1p(exp(small)), name=name)
