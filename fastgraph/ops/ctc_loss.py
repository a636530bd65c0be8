"""Connectionist temporal classification: the loss of labels without times.

Rule: sums over alignments lose nothing, however small (core/native/ctc_alignments.h). Beginning or ending in a wrong
state has the probability 1e-307, as in TensorFlow, so that losses stay finite: the loss of labels that cannot be counts
the ends, their gradient both. Source: Graves et al. 2006.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import as_dtype, int32, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native import array_kernels
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import Tensor, class_has, current_trace
from fastgraph.ops.arguments import as_tensor, named, of_dtypes, static_int
from fastgraph.ops.elementwise import cast, clip_by_value, identity
from fastgraph.ops.families import Array, custom, invalid, misuse, public, shape_text
from fastgraph.ops.gathering import dim
from fastgraph.ops.movement import expand_dims_p, transpose_p
from fastgraph.ops.runtime_checks import checked

#: The logarithm of beginning or ending where one cannot.
_NEVER = math.log(1e-307)


def _infer(logits: Aval, labels: Aval, label_length: Aval, logit_length: Aval, *, blank: int) -> tuple[Aval, Aval]:
    if logits.shape is not None and len(logits.shape) != 3:
        raise ValueError(f"logits must be 3-dimensional, got shape {shape_text(logits.shape)}")
    dims = None if logits.shape is None else (logits.shape[1],)
    return Aval(logits.dtype, (None,) if dims is None else dims), Aval(logits.dtype, logits.shape)


def _grad(dys: list[Any], outs: list[Any]) -> Any:
    if dys[1] is not None:
        raise LookupError("ctc_loss has no second gradient")
    return None if dys[0] is None else outs[1] * expand_dims_p(dys[0], axes=(0, 2))


def _samples() -> list[Any]:
    random = np.random.default_rng(4)
    logits = random.standard_normal((6, 3, 4))
    labels = np.array([[1, 2, 2], [3, 0, 0], [1, 3, 1]], np.int32)
    lengths = np.array([3, 1, 2], np.int32), np.array([6, 4, 5], np.int32)
    found: list[Any] = [((logits.astype(t), labels, *lengths), {"blank": 0}) for t in ("float32", "float64")]
    return [*found, ((logits, np.where(labels == 0, 0, labels - 1).astype(np.int32), *lengths), {"blank": 3})]


def _errors() -> list[Any]:
    logits, one = np.ones([4, 2, 3]), np.ones(2, np.int32)
    return [
        misuse(r"labels must have shape \[2,.*\], got \[3,2\]", logits, np.ones([3, 2], np.int32), one, one, blank=0),
        misuse(r"label 7 is not in \[0, 3\)", logits, np.full([2, 1], 7, np.int32), one, one, blank=0),
        misuse("logit_length 5", logits, np.ones([2, 1], np.int32), one, one + 4, blank=0),
        misuse("label_length 2", logits, np.ones([2, 1], np.int32), one + 1, one, blank=0),
    ]


def _check(logits: Array, labels: Array, label_length: Array, logit_length: Array) -> None:
    if logits.ndim != 3:
        raise invalid(f"logits must be 3-dimensional, got shape {shape_text(logits.shape)}")
    frames, batch, classes = logits.shape
    if labels.ndim != 2 or labels.shape[0] != batch:
        raise invalid(f"labels must have shape [{batch},?], got {shape_text(labels.shape)}")
    for name, lengths, most in (
        ("label_length", label_length, labels.shape[1]),
        ("logit_length", logit_length, frames),
    ):
        if lengths.shape != (batch,):
            raise invalid(f"{name} must have shape [{batch}], got {shape_text(lengths.shape)}")
        for n in lengths.tolist():
            if not 0 <= n <= most:
                raise invalid(f"{name} {n} is not in [0, {most}]")
    used = labels[np.arange(labels.shape[1]) < label_length[:, None]]
    bad = used[(used < 0) | (used >= classes)]
    if bad.size:
        raise invalid(f"label {bad[0]} is not in [0, {classes})")


@custom(
    op="CTCLoss",
    infer=_infer,
    groups=("T", "int32", "int32", "int32"),
    dtypes="floating",
    n_outputs=2,
    vjp=dict(logits=_grad),
    samples=_samples,
    error_samples=_errors,
    reason="a recurrence over time of rows as long as the labels: its work depends on data",
)
def ctc_p(logits: Array, labels: Array, label_length: Array, logit_length: Array, *, blank: int) -> Any:
    """Minus the logarithm of the labels' probability, and its gradient to the logits.

    f[t, n, c], i32[n, l], i32[n], i32[n] -> f[n], f[t, n, c].
    """
    _check(logits, labels, label_length, logit_length)
    frames, batch, classes = logits.shape
    wide = logits.astype(np.float64)
    shifted = wide - wide.max(-1, initial=-np.inf, keepdims=True) if classes else wide
    sure = shifted - np.log(np.sum(np.exp(shifted), -1, keepdims=True))
    # The states are blank, label, blank, label, ..., blank: those of the padding too, in which nothing ends.
    count = 2 * labels.shape[1] + 1
    states = np.full((batch, count), blank, np.int64)
    states[:, 1::2] = np.where((labels >= 0) & (labels < classes), labels, blank)
    skips = np.zeros((batch, count), bool)
    skips[:, 3::2] = labels[:, 1:] != labels[:, :-1]
    behind = np.arange(count) - 2 * label_length[:, None]
    ends = np.where((behind == 0) | (behind == -1), 0.0, _NEVER)
    runs = np.arange(frames)[:, None] < logit_length
    gradient = np.where(runs[:, :, None], np.exp(sure), 0.0)
    times = logit_length.astype(np.int64)
    chance = array_kernels.aligned(np.ascontiguousarray(sure), times, states, skips, ends, _NEVER, gradient)
    chance = np.where(times > 0, chance, np.where(label_length == 0, 0.0, _NEVER))  # of no frames
    return (-chance).astype(logits.dtype), gradient.astype(logits.dtype)


@public("nn.ctc_loss")
def ctc_loss(
    labels: TensorLike,
    logits: TensorLike,
    label_length: TensorLike | None,
    logit_length: TensorLike | None,
    logits_time_major: bool = True,
    unique: TensorLike | None = None,
    blank_index: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Minus the logarithm of the probability of each row of labels, over all alignments with blanks between.

    i[n, l], f[t, n, c] (f[n, t, c] if not logits_time_major), i[n], i[n] -> f[n]. The blank is class 0, or blank_index.
    `unique` is what `ctc_unique_labels` gives of the labels, and checked alone. Labels may be a SparseTensor [n, l]:
    those of each row follow each other, `label_length` says nothing, `blank_index` must be given, and what no alignment
    has costs infinity.
    Raises: ValueError for lengths left out or a blank that is no class; InvalidArgumentError for shapes that do not
    fit and labels that are no classes or no integers, of sparse ones for rows without labels, for blanks among them and
    for more of them than frames. Source: Graves et al. 2006; tf.nn.ctc_loss.
    """
    sparse = labels if class_has(labels, "__fg_bind__") and hasattr(labels, "dense_shape") else None
    if sparse is not None and blank_index is None:
        raise ValueError("Argument `blank_index` must be provided when `labels` is a `SparseTensor`.")
    if (label_length is None and sparse is None) or logit_length is None:
        raise ValueError("ctc_loss needs label_length and logit_length where labels are dense")
    x = as_tensor(logits)
    if x.shape.rank is not None and x.shape.rank != 3:
        raise invalid(f"logits must be 3-dimensional, got shape {x.shape}")
    if not logits_time_major:
        x = transpose_p(x, perm=(1, 0, 2))
    blank = 0 if blank_index is None else static_int(blank_index)
    classes = x.shape[2]
    if blank is None or (blank < 0 and classes is None):
        raise NotImplementedError("blank_index, and for a negative one the classes, must be known while tracing")
    if blank < 0:
        blank += classes or 0
    if blank < 0 or (classes is not None and blank >= classes):
        raise ValueError(f"blank_index must be one of the {classes} classes, got {blank_index}")
    if sparse is not None:
        return _of_sparse(sparse, x, _as_int32(as_tensor(logit_length)), blank, name)
    lengths = [_as_int32(as_tensor(n)) for n in (label_length, logit_length)]
    numbers = _as_int32(of_dtypes(as_tensor(labels), "integer"))
    if unique:
        _check_unique(unique, numbers)
    return named(name, ctc_p, x, numbers, *lengths, blank=blank)[0]


def _of_sparse(labels: Any, logits: Tensor, frames: Tensor, blank: int, name: str | None) -> Any:
    """Return the losses of a SparseTensor of labels, those of each row one after the other."""
    op = public_function
    values = _as_int32(of_dtypes(labels.values, "integer"))
    is_blank = checked(cast(op("equal")(values, blank), int32), 0, 0, "All labels must be classes other than the blank")
    batch = dim(logits, 1)
    if isinstance(batch, int) and batch == 0:
        raise invalid("batch_size must not be 0", "CTCLoss")
    rows = checked(
        _as_int32(labels.indices[:, 0]), 0, batch - 1, "label SparseTensor is not valid: row {} is none of {most}"
    )
    counts = op("math.unsorted_segment_sum")(is_blank + 1, rows, batch)
    counts = checked(counts, 1, 2**31 - 1, "Labels length is zero in a batch")
    frames = checked(frames, 0, 2**31 - 1, "logit_length {} is not in [{least}, {most}]")
    room = checked(frames - counts, 0, 2**31 - 1, "Not enough time for target transition sequence")
    starts = op("math.cumsum")(counts, exclusive=True)
    places = op("range")(op("size")(values, int64)) - op("gather")(starts, rows)
    size = op("stack")([op("cast")(batch, int64), op("reduce_max")(counts)])
    dense = op("scatter_nd")(op("stack")([rows, places], 1), values, size)
    used = op("sequence_mask")(counts - 1, op("reduce_max")(counts) - 1)
    twice = op("reduce_sum")(cast(op("logical_and")(op("equal")(dense[:, 1:], dense[:, :-1]), used), int64), 1)
    loss = named(name, ctc_p, logits, dense, _as_int32(counts), _as_int32(frames), blank=blank)[0]
    return op("where")(twice > room, cast(np.float32(np.inf), loss.dtype), loss)


def _as_int32(numbers: Tensor) -> Any:
    """Integers as int32; those that it does not hold are the least or the greatest, which are no labels or lengths."""
    if numbers.dtype is int64:
        numbers = clip_by_value(numbers, np.int64(-(2**31)), np.int64(2**31 - 1))
    return cast(numbers, int32)


def _check_unique(unique: Any, labels: Tensor) -> None:
    """Raise TypeError, ValueError or InvalidArgumentError for what `ctc_unique_labels` cannot give of the labels."""
    try:
        ids, places = unique
    except (TypeError, ValueError) as error:
        raise type(error)(f"unique must be the two tensors that ctc_unique_labels gives: {error}") from None
    of_dtypes(as_tensor(ids), "int16 int32 int64", "Tindices")
    of_dtypes(as_tensor(places), "uint8 int8 int32 int64", "TI")
    for given in (as_tensor(ids), as_tensor(places)):
        if not given.shape.is_compatible_with(labels.shape):
            text = f"unique must be tensors of the labels' shape {labels.shape}, got {given.shape}"
            raise ValueError(text) if current_trace() is not None else invalid(text)


@public("nn.ctc_unique_labels")
def ctc_unique_labels(labels: TensorLike, name: str | None = None) -> list[Tensor]:
    """The different labels of each row in the order in which they come, 0 after them; and which each label is.

    t[n, l] -> i64[n, l], i32[n, l]. Raises: InvalidArgumentError, in a graph ValueError, for another rank.
    Source: tf.nn.ctc_unique_labels.
    """
    x = as_tensor(labels)
    if x.shape.rank not in (2, None):
        text = f"ctc_unique_labels needs labels of rank 2, got shape {x.shape}"
        raise ValueError(text) if current_trace() is not None else invalid(text)
    op = public_function
    places = op("range")(op("shape")(x)[1])
    same = op("equal")(expand_dims_p(x, axes=(2,)), expand_dims_p(x, axes=(1,)))
    # The first label that is like each one, and how many others come before it.
    first = op("reduce_min")(op("where")(same, places, _LAST), -1)
    new = op("equal")(first, places)
    number = op("cumsum")(cast(new, "int32"), axis=1) - 1
    which = op("gather")(number, first, axis=1, batch_dims=1)
    taken = op("logical_and")(expand_dims_p(new, axes=(2,)), op("equal")(expand_dims_p(number, axes=(2,)), places))
    found = op("where")(taken, expand_dims_p(cast(x, "int64"), axes=(2,)), as_tensor(0, as_dtype("int64")))
    return [op("reduce_sum")(found, 1), named(name, identity, which)]


_LAST = 2**31 - 1
