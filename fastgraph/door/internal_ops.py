"""Inner functions of TensorFlow's that compute, for libraries which are written in terms of them.

Rule: each is made of public names; what it takes and gives is what the libraries' calls say.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import fastgraph as tf
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.linear_operators.base import LinearOperator


def pfor(loop_fn: Callable[[Any], Any], iters: TensorLike, fallback_to_while_loop: bool = True) -> Any:
    """Return the results of loop_fn(0), ..., loop_fn(iters - 1), stacked along a new first axis."""
    return tf.vectorized_map(loop_fn, tf.range(iters), fallback_to_while_loop=fallback_to_while_loop)


def case_helper(
    cond_fn: Callable[..., Any],
    pred_fn_pairs: Sequence[tuple[Any, Callable[[], Any]]],
    default: Callable[[], Any] | None,
    exclusive: bool,
    name: str | None,
    allow_python_preds: bool = False,
    **cond_kwargs: Any,
) -> Any:
    """Return what the function of the first true predicate gives, else the default's, by `cond_fn`.

    Predicates are scalars of bool, also Python's. Raises InvalidArgumentError where none is true and there is no
    default, or where two are and `exclusive` says that one may be.
    """
    del allow_python_preds
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    checks = []
    if exclusive:
        true = tf.add_n([tf.cast(pred, tf.int32) for pred, _ in pairs])
        checks = [tf.debugging.assert_less(true, 2, message="More than one predicate is true, and exclusive=True.")]
    if default is None:
        (pred, last), pairs = pairs[-1], pairs[:-1]

        def default() -> Any:
            tf.debugging.assert_equal(pred, True, message="None of the conditions is true, and there is no default.")
            return last()

    with tf.name_scope(name or "case"), tf.control_dependencies([check for check in checks if check is not None]):
        chain = default
        for pred, function in reversed(pairs):
            chain = functools.partial(cond_fn, pred, true_fn=function, false_fn=chain, **cond_kwargs)
        return chain()


def parameterized_truncated_normal(
    shape: TensorLike,
    means: TensorLike = 0.0,
    stddevs: TensorLike = 1.0,
    minvals: TensorLike = -2.0,
    maxvals: TensorLike = 2.0,
    dtype: DTypeLike = tf.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return numbers of normal distributions within bounds: those of a stateless draw whose seed is drawn."""
    drawn = tf.random.uniform([2], maxval=2**31 - 1, dtype=tf.int32, seed=seed)
    mean, deviation, least, most = [tf.convert_to_tensor(each, dtype) for each in (means, stddevs, minvals, maxvals)]
    return tf.random.stateless_parameterized_truncated_normal(shape, drawn, mean, deviation, least, most, name)


class Convolution:
    """A convolution of given strides, padding and dilation rate: called with an input and a kernel."""

    def __init__(
        self,
        input_shape: Any,
        filter_shape: Any,
        padding: str,
        strides: Any = None,
        dilation_rate: Any = None,
        name: str | None = None,
        data_format: str | None = None,
    ) -> None:
        del input_shape, filter_shape
        options = {"strides": strides, "dilations": dilation_rate, "data_format": data_format, "name": name}
        self._options = {"padding": padding, **{key: each for key, each in options.items() if each is not None}}

    def __call__(self, inp: TensorLike, filter: TensorLike) -> Any:
        return tf.nn.convolution(inp, filter, **self._options)


def add_operators(operators: Sequence[LinearOperator]) -> list[LinearOperator]:
    """Return the sum of linear operators as one: a diagonal if all of them are, else a full matrix."""
    diagonal = (tf.linalg.LinearOperatorDiag, tf.linalg.LinearOperatorIdentity)
    if all(isinstance(each, diagonal) for each in operators):
        total = functools.reduce(tf.add, [each.diag_part() for each in operators])
        return [tf.linalg.LinearOperatorDiag(total)]
    return [tf.linalg.LinearOperatorFullMatrix(functools.reduce(tf.add, [each.to_dense() for each in operators]))]


def make_composite_tensor(cls: type) -> type:
    """Return a class of linear operators as it is: all of them are composites."""
    return cls


def constant_value_as_shape(tensor: Any) -> Any:
    """Return the shape whose extents a vector of integers has, None for those that are not known; -1 is such a one."""
    if not tf.is_tensor(tensor):
        return tf.TensorShape(tensor)
    known = tf.get_static_value(tensor, partial=True)
    if known is None:
        n = tensor.shape[0] if tensor.shape.rank else None
        return tf.TensorShape(None if n is None else [None] * n)
    return tf.TensorShape([None if each is None or each == -1 else int(each) for each in known])
