"""Ops of neural networks: softmax, cross entropies, biases, norms of gradients.

Rule: an op that needs whole rows (softmax) states `decompose`: the compiler writes it in reductions and fuses those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.op_errors import misfit
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.ops.arguments import UnknownAxis, as_tensor, known_axis, named, of_dtypes, word
from fastgraph.ops.comparison import greater_equal, is_finite
from fastgraph.ops.complex_numbers import conj, imag, real
from fastgraph.ops.division import realdiv
from fastgraph.ops.elementwise import add, cast, maximum, minimum, multiply, select, square, zeros_like_p
from fastgraph.ops.exponentials import exp, log, log1p, sqrt
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
from fastgraph.ops.gathering import dim, gather, one_hot_dynamic, one_hot_p
from fastgraph.ops.joining import concat
from fastgraph.ops.late_calls import late
from fastgraph.ops.movement import expand_dims_p, reshape, shape, squeeze_p, transpose_p
from fastgraph.ops.precise_sums import HALF, block_sum, is_half
from fastgraph.ops.reduction import max_p, reduce_sum, sum_p
from fastgraph.ops.runtime_checks import with_extents

# ---- softmax --------------------------------------------------------------------------------------------------------


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
    """Apply an op of the last axis along `axis`."""
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


# ---- cross entropies ------------------------------------------------------------------------------------------------


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


#: Tensors that one node of add_n sums.
_AT_ONCE = 32

# ---- sums of many, norms --------------------------------------------------------------------------------------------


def _infer_add_n(*inputs: Aval) -> Aval:
    dims = inputs[0].shape
    for i, x in enumerate(inputs[1:], 1):
        if dims is None or x.shape is None:
            dims = x.shape if dims is None else dims
            continue
        if len(dims) != len(x.shape) or any(
            m is not None and n is not None and m != n for m, n in zip(dims, x.shape, strict=True)
        ):
            raise ValueError(f"Shapes must be equal: input 0 is {shape_text(dims)}, input {i} is {shape_text(x.shape)}")
        dims = tuple(n if m is None else m for m, n in zip(dims, x.shape, strict=True))
    return Aval(inputs[0].dtype, dims)


def _lower_add_n(b: Builder, node: Node) -> list[Any]:
    def element(index: Sequence[Any]) -> Any:
        total = b.input(0).at(index)
        for i in range(1, b.n_inputs):
            total = total + b.input(i).at(index)
        return total

    return [element]


@custom(
    infer=_infer_add_n,
    dtypes="summable",
    lower=_lower_add_n,
    vjp=dict(inputs=lambda dy, inputs: [dy] * len(inputs)),
    samples=lambda: [
        (tuple(np.full([2, 3], i).astype(t) for i in range(n)), {}) for t in ("float32", "int32") for n in (1, 2, 4)
    ],
    error_samples=lambda: [
        misuse(r"must have the same size and shape.  Input 0: \[2,3\] != input 1: \[2\]", np.ones([2, 3]), np.ones([2]))
    ],
)
def add_n_p(*inputs: Array) -> Any:
    """Sum of tensors of one shape, from the first to the last. t[*s]... -> t[*s]."""
    total: Any = inputs[0]
    for i, x in enumerate(inputs[1:], 1):
        if x.shape != total.shape:
            raise invalid(
                "Inputs to operation AddN of type AddN must have the same size and shape.  "
                f"Input 0: {shape_text(total.shape)} != input {i}: {shape_text(x.shape)}"
            )
        total = total + x if i == 1 or not total.ndim else np.add(total, x, out=total)
    return total


@public("add_n", "math.add_n")
def add_n(inputs: TensorLike | Iterable[TensorLike], name: str | None = None) -> Any:
    """Sum of tensors of one shape, of anything that gives them one by one. t[*s]... -> t[*s].

    Args:
        inputs: Tensors of numbers of one shape and dtype, or IndexedSlices; at least one.

    Raises:
        ValueError: There is none.
        InvalidArgumentError: Shapes or dtypes differ.

    Examples:
        >>> tf.add_n([[1, 2], [10, 20], [100, 200]])
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([111, 222], dtype=int32)>

    Source: tf.add_n.
    """
    if not isinstance(inputs, (list, tuple)):
        if hasattr(inputs, "__fg_summed__"):  # a list whose length a tensor decides
            return inputs.__fg_summed__()
        inputs = list(inputs) if isinstance(inputs, Iterable) and not isinstance(inputs, str | bytes) else []
    if not inputs:
        raise ValueError(
            "Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape."
        )
    while len(inputs) > _AT_ONCE:  # the same sums in the same order, by nodes small enough for kernels
        inputs = [add_n_p(*inputs[:_AT_ONCE]), *inputs[_AT_ONCE:]]
    return named(name, add_n_p, *inputs)


@public("nn.bias_add")
def bias_add(value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None) -> Any:
    """value plus a bias per channel (the last axis; the second of "NC..."). t[*s, c], t[c] -> t[*s, c].

    Raises: InvalidArgumentError if the channels do not fit; ValueError for another format. Source: tf.nn.bias_add.
    """
    value, bias = as_tensor(value), as_tensor(bias)
    data_format = None if data_format is None else word(data_format, "data_format")
    if data_format is not None and not (data_format.startswith(("N", "NC")) or data_format == "NHWC"):
        raise ValueError(f"`data_format` must be of the form `N...C` or `NC...`. Received: data_format={data_format}")
    rank = value.shape.rank
    if rank is not None and rank < 2:
        raise invalid(f"Input tensor must be at least 2D: {shape_text(value.shape)}", "BiasAdd")
    if bias.shape.rank not in (None, 1):
        raise invalid(f"Biases must be 1D: {shape_text(bias.shape)}", "BiasAdd")
    channels_first = data_format is not None and data_format.startswith("NC") and data_format[-1] != "C"
    own = value.shape[1 if channels_first else -1] if rank else None
    if own is not None and bias.shape.rank == 1 and bias.shape[0] not in (None, own):
        if current_trace() is not None:
            what = f"Dimensions must be equal, but are {own} and {bias.shape[0]}"
            raise misfit(what, "BiasAdd", value.shape, bias.shape)
        raise invalid(
            "Must provide as many biases as the last dimension of the input tensor: "
            f"{shape_text(bias.shape)} vs. {shape_text(value.shape)}",
            "BiasAdd",
        )
    if rank and bias.shape.rank == 1 and None in (own, bias.shape[0]):
        # A single bias would be added to every channel: whether it is one for each is seen when this runs.
        bias = with_extents(bias, {0: dim(value, 1 if channels_first else -1)})
    if channels_first and rank is not None and rank > 2:
        bias = reshape(bias, (1, -1, *(1,) * (rank - 2)))
    return add(value, bias, name=name)


@public("nn.embedding_lookup")
def embedding_lookup(
    params: TensorLike | None, ids: TensorLike, max_norm: TensorLike | None = None, name: str | None = None
) -> Any:
    """The rows of params that ids name, shortened to norm max_norm if given. f[n, *r], i[*q] -> f[*q, *r].

    Raises: InvalidArgumentError for an id out of range. Source: tf.nn.embedding_lookup.
    """
    if params is None or (isinstance(params, (list, tuple)) and not params):
        raise ValueError("params must be specified")
    if isinstance(params, (list, tuple)):  # parts of one table, one after the other
        params = params[0] if len(params) == 1 else concat([as_tensor(p) for p in params], 0)
    rows = gather(params, ids, axis=0, name=name)
    if max_norm is None:
        return rows
    own = as_tensor(ids).shape.rank
    if own is None or rows.shape.rank is None:
        raise NotImplementedError("embedding_lookup with max_norm needs tensors of known rank")
    return clip_by_norm(rows, max_norm, axes=list(range(own, rows.shape.rank)))


@public("nn.l2_loss")
def l2_loss(t: TensorLike, name: str | None = None) -> Any:
    """Half the sum of squares. f[*s] -> f[]. Source: tf.nn.l2_loss."""
    t = of_dtypes(as_tensor(t), "floating")
    return multiply(reduce_sum(t * t), 0.5, name=name)


@public("nn.l2_normalize", "math.l2_normalize", "linalg.l2_normalize")
def l2_normalize(
    x: TensorLike, axis: TensorLike | None = None, epsilon: TensorLike = 1e-12, name: str | None = None
) -> Any:
    """x over its Euclidean norm along `axis`. t[*s] -> t[*s]. Source: tf.nn.l2_normalize."""
    x = as_tensor(x)
    if x.dtype.is_complex:
        total = reduce_sum(square(real(x)) + square(imag(x)), axis, True)
        return multiply(x, cast(1.0 / sqrt(maximum(total, epsilon)), x.dtype), name=name)
    total = reduce_sum(x * x, axis, True)
    return multiply(x, 1.0 / sqrt(maximum(total, epsilon)), name=name)


def _norm_of(total: Tensor) -> Any:
    """The root of a sum of squares; where that is 0 its derivative is 0, not infinite."""
    positive = total > 0
    safe = select(positive, total, total * 0 + 1)
    return select(positive, sqrt(safe), total)


@public("clip_by_norm")
def clip_by_norm(t: TensorLike, clip_norm: TensorLike, axes: TensorLike | None = None, name: str | None = None) -> Any:
    """t, scaled down where its norm along `axes` is above clip_norm. f[*s] -> f[*s].

    Raises: ValueError for norms that would make it larger. Source: tf.clip_by_norm.
    """
    if isinstance(t, IndexedSlices):
        return t.with_values(clip_by_norm(t.values, clip_norm, axes, name))
    t = as_tensor(t)
    norm = _norm_of(reduce_sum(t * conj(t), axes, True))
    scaled = t * clip_norm
    t.shape.assert_is_compatible_with(scaled.shape)
    return named(name, realdiv, scaled, maximum(norm, clip_norm))


@public("linalg.global_norm")
def global_norm(t_list: TensorLike, name: str | None = None) -> Any:
    """The norm of all elements of a list of tensors (None is passed over; of none 0). f[*s]... -> f[].

    Raises: TypeError for one tensor. Source: tf.linalg.global_norm.
    """
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    values = [as_tensor(t.values if isinstance(t, IndexedSlices) else t) for t in t_list if t is not None]
    squares = [reduce_sum(t * t) for t in values]
    return sqrt(add_n(squares) if squares else as_tensor(0.0), name=name)


@public("clip_by_global_norm")
def clip_by_global_norm(
    t_list: TensorLike, clip_norm: TensorLike, use_norm: TensorLike | None = None, name: str | None = None
) -> tuple[list[Tensor | Any], Tensor]:
    """A list of tensors, scaled down together where their common norm is above clip_norm; and that norm.

    A norm that is not finite makes all results NaN. Source: tf.clip_by_global_norm.
    """
    if not isinstance(t_list, (list, tuple)):
        raise TypeError("`t_list` should be a sequence of tensors. Received " + str(type(t_list)) + ".")
    norm = global_norm(t_list) if use_norm is None else as_tensor(use_norm)
    scale = clip_norm * minimum(1.0 / norm, 1.0 / cast(clip_norm, norm.dtype))
    scale = select(is_finite(norm), scale, scale * 0 + float("nan"))
    return [_scaled(t, scale) for t in t_list], norm


def _scaled(t: TensorLike | None, scale: Tensor) -> Any:
    """t * scale; None and IndexedSlices stay what they are."""
    if t is None:
        return None
    if isinstance(t, IndexedSlices):
        return t.with_values(t.values * cast(scale, t.values.dtype))
    t = as_tensor(t)
    return t * cast(scale, t.dtype)
