"""The functions of tf.keras.backend, in which losses and metrics of Keras 2's time are written.

Rule: each is a public op, by Keras's name and with its arguments; nothing else in the house uses them.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.composites.ctc_decoders import ctc_beam_search_decoder, ctc_greedy_decoder
from fastgraph.composites.sparse_ops import to_dense
from fastgraph.core.base.dtype import DTypeLike, as_dtype, bool_, int32
from fastgraph.core.base.shapes import ShapeLike
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor, init_scope
from fastgraph.graph.control_flow import cond
from fastgraph.keras import backend, loss_functions
from fastgraph.ops import creation, reduction
from fastgraph.ops.arg_reduction import argmax as _argmax
from fastgraph.ops.arg_reduction import argmin as _argmin
from fastgraph.ops.comparison import logical_and, not_equal
from fastgraph.ops.ctc_loss import ctc_loss
from fastgraph.ops.elementwise import cast, clip_by_value, maximum, ones_like, zeros_like
from fastgraph.ops.exponentials import log
from fastgraph.ops.exponentials import sqrt as _sqrt
from fastgraph.ops.gathering import gather, where
from fastgraph.ops.joining import concat, stack
from fastgraph.ops.matmul import matmul, tensordot
from fastgraph.ops.movement import expand_dims as _expand_dims
from fastgraph.ops.movement import reshape, shape, transpose
from fastgraph.ops.one_hot import one_hot as _one_hot
from fastgraph.ops.padding import reverse as _reverse
from fastgraph.ops.sorting import argsort
from fastgraph.ops.tiling import repeat as _repeat
from fastgraph.state.variable import Variable

Axes = int | Sequence[int] | None


def _reducing(op: Callable[..., Any], kind: str = "") -> Callable[..., Any]:
    """The reduction `op` with Keras's arguments; of bools as `kind` says: as "float", everything as "bool"."""

    def reduced(x: TensorLike, axis: Axes = None, keepdims: bool = False) -> Any:
        x = convert_to_tensor(x)
        if kind == "bool" or (kind == "float" and x.dtype == bool_):
            x = cast(x, bool_ if kind == "bool" else backend.floatx())
        return op(x, axis, keepdims)

    reduced.__doc__ = f"Return tf.{op.__name__} of `x` along `axis`. t[*s] -> t[*r]."
    return reduced


sum = _reducing(reduction.reduce_sum)
prod = _reducing(reduction.reduce_prod)
max = _reducing(reduction.reduce_max)
min = _reducing(reduction.reduce_min)
mean = _reducing(reduction.reduce_mean, "float")
std = _reducing(reduction.reduce_std, "float")
var = _reducing(reduction.reduce_variance, "float")
all = _reducing(reduction.reduce_all, "bool")
any = _reducing(reduction.reduce_any, "bool")


def argmax(x: TensorLike, axis: int = -1) -> Any:
    """Return where the greatest elements along `axis` are. t[*s] -> i64[*r]."""
    return _argmax(x, axis)


def argmin(x: TensorLike, axis: int = -1) -> Any:
    """Return where the least elements along `axis` are. t[*s] -> i64[*r]."""
    return _argmin(x, axis)


def sqrt(x: TensorLike) -> Any:
    """Return the square root of x, of 0 below 0. f[*s] -> f[*s]."""
    x = convert_to_tensor(x)
    return _sqrt(maximum(x, zeros_like(x)))


def clip(x: TensorLike, min_value: Any, max_value: Any) -> Any:
    """Return x between two bounds, None for none. t[*s] -> t[*s]."""
    low, high = -np.inf if min_value is None else min_value, np.inf if max_value is None else max_value
    if isinstance(low, (int, float)) and isinstance(high, (int, float)):
        high = builtins.max(low, high)
    return clip_by_value(x, low, high)


def flatten(x: TensorLike) -> Any:
    """Return all elements in a row. t[*s] -> t[n]."""
    return reshape(x, [-1])


def batch_flatten(x: TensorLike) -> Any:
    """Return the elements of each example in a row. t[n, *s] -> t[n, m]."""
    return reshape(x, stack([-1, reduction.reduce_prod(shape(x)[1:])]))


def expand_dims(x: TensorLike, axis: int = -1) -> Any:
    """Return x with a new axis of length 1. t[*s] -> t[*r]."""
    return _expand_dims(x, axis)


def concatenate(tensors: Sequence[TensorLike], axis: int = -1) -> Any:
    """Return the tensors as one along `axis`."""
    return concat(tensors, axis)


def permute_dimensions(x: TensorLike, pattern: Sequence[int]) -> Any:
    """Return x with its axes in the order of `pattern`."""
    return transpose(x, pattern)


def reverse(x: TensorLike, axes: int | Sequence[int]) -> Any:
    """Return x with the elements along `axes` from last to first."""
    return _reverse(x, [axes] if isinstance(axes, int) else axes)


def repeat(x: TensorLike, n: int) -> Any:
    """Return n copies of each row. t[b, m] -> t[b, n, m]."""
    return _repeat(_expand_dims(x, 1), n, axis=1)


def repeat_elements(x: TensorLike, rep: int, axis: int) -> Any:
    """Return x with each element along `axis` `rep` times."""
    return _repeat(x, rep, axis=axis)


def one_hot(indices: TensorLike, num_classes: int) -> Any:
    """Return ones where the classes are. i[*s] -> f32[*s, num_classes]."""
    return _one_hot(indices, num_classes)


def dot(x: TensorLike, y: TensorLike) -> Any:
    """Return the product over the last axis of x and the last but one of y. f[*s, k], f[*t, k, n] -> f[*s, *t, n]."""
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    ranks = x.shape.rank or 0, y.shape.rank or 0
    return matmul(x, y) if builtins.max(ranks) <= 2 else tensordot(x, y, [[ranks[0] - 1], [ranks[1] - 2]])


def ones(shape: ShapeLike, dtype: DTypeLike | None = None, name: str | None = None) -> Variable:
    """Return a Variable of ones."""
    return variable(creation.ones(shape, dtype or backend.floatx()), name=name)


def zeros(shape: ShapeLike, dtype: DTypeLike | None = None, name: str | None = None) -> Variable:
    """Return a Variable of zeros."""
    return variable(creation.zeros(shape, dtype or backend.floatx()), name=name)


def variable(value: Any, dtype: DTypeLike | None = None, name: str | None = None, constraint: Any = None) -> Variable:
    """Return a Variable: of `floatx()` where neither the value nor `dtype` says another."""
    dtype = dtype or getattr(value, "dtype", None) or backend.floatx()
    with init_scope():
        made = Variable(value, dtype=as_dtype(dtype), name=name, constraint=constraint)
    return made


def arange(start: TensorLike, stop: TensorLike | None = None, step: TensorLike = 1, dtype: DTypeLike = "int32") -> Any:
    """Return the numbers from `start` (or 0) up to `stop`."""
    if stop is None:
        start, stop = 0, start
    return cast(creation.range_(start, stop, step), as_dtype(dtype))


def dtype(x: Any) -> str:
    """Return the name of the dtype."""
    return as_dtype(x.dtype).name


def ndim(x: Any) -> Any:
    """Return the number of axes, None if it is not known."""
    return x.shape.rank if hasattr(x.shape, "rank") else len(x.shape)


def int_shape(x: Any) -> tuple[int | None, ...] | None:
    """Return the static shape, None if its rank is not known."""
    return None if ndim(x) is None else tuple(x.shape)


def cast_to_floatx(x: Any) -> Any:
    """Return a tensor or array of `floatx()`."""
    if isinstance(x, (Tensor, Variable)):
        return cast(x, backend.floatx())
    return np.asarray(x, backend.floatx())


def get_value(x: TensorLike) -> Any:
    """Return the value as an array."""
    return x.numpy() if hasattr(x, "numpy") else x


eval = get_value


def set_value(x: Variable, value: Any) -> None:
    """Assign `value` to a Variable."""
    x.assign(np.asarray(value, x.dtype.as_numpy_dtype))


def switch(condition: TensorLike, then_expression: Any, else_expression: Any) -> Any:
    """Return one of two values or calls by a scalar, or elements of one of two tensors."""
    chosen: Any = cast(condition, bool_)
    if chosen.shape.rank == 0:
        then, other = (f if callable(f) else lambda f=f: f for f in (then_expression, else_expression))
        return cond(chosen, then, other)
    then, other = (found() if callable(found) else found for found in (then_expression, else_expression))
    n_new = (convert_to_tensor(then).shape.rank or 0) - chosen.shape.rank
    return where(chosen[(..., *[None] * n_new)] if n_new > 0 and chosen.shape.rank > 1 else chosen, then, other)


def binary_crossentropy(target: TensorLike, output: TensorLike, from_logits: bool = False) -> Any:
    """Return the cross-entropy of each element. f[*s], f[*s] -> f[*s]."""
    return loss_functions._yes_and_no(convert_to_tensor(target), convert_to_tensor(output), from_logits)


def categorical_crossentropy(target: TensorLike, output: TensorLike, from_logits: bool = False, axis: int = -1) -> Any:
    """Return the cross-entropy of each example. f[*s, n], f[*s, n] -> f[*s]."""
    return loss_functions.categorical_crossentropy(target, output, from_logits, axis=axis)


def ctc_batch_cost(y_true: TensorLike, y_pred: TensorLike, input_length: TensorLike, label_length: TensorLike) -> Any:
    """Return the CTC loss of rows of labels, the last class being the blank. i[b, l], f[b, t, c], ... -> f[b, 1]."""
    lengths = [cast(reshape(length, [-1]), int32) for length in (label_length, input_length)]
    logits = log(transpose(y_pred, [1, 0, 2]) + backend.epsilon())
    return _expand_dims(ctc_loss(cast(y_true, int32), logits, *lengths, blank_index=-1), 1)


def ctc_decode(
    y_pred: TensorLike, input_length: TensorLike, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Any], Any]:
    """Return rows of labels, -1 behind their ends, and how likely they are. f[b, t, c], i[b] -> ([i64[b, l]], f)."""
    logits = log(transpose(y_pred, [1, 0, 2]) + backend.epsilon())
    length = cast(input_length, int32)
    if greedy:
        rows, scores = ctc_greedy_decoder(logits, length)
    else:
        rows, scores = ctc_beam_search_decoder(logits, length, beam_width, top_paths)
    size = shape(y_pred)
    dense = [
        to_dense(type(r)(r.indices, r.values, cast(size[:2], r.dense_shape.dtype)), default_value=-1) for r in rows
    ]
    return dense if greedy else [_merged(row) for row in dense], scores


def _merged(rows: Any) -> Any:
    """Rows of labels, in which equal ones in a row have become one: so TensorFlow 1's decoder has them."""
    kept = logical_and(rows >= 0, concat([ones_like(rows[:, :1], bool_), not_equal(rows[:, 1:], rows[:, :-1])], 1))
    order = argsort(cast(kept, int32), direction="DESCENDING", stable=True)
    return where(gather(kept, order, batch_dims=1), gather(rows, order, batch_dims=1), -ones_like(rows))
