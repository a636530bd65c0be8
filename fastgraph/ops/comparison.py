"""Comparison, logic and bits, element by element.

Rule: as in elementwise.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import bind
from fastgraph.ops.arguments import named
from fastgraph.ops.families import Array, elementwise, public


def _steps(x: Array) -> Array:
    """The integers that quantised numbers are stored as; other arrays as they are."""
    return x if x.dtype.names is None else x[x.dtype.names[0]]


@elementwise(expr="x == y", dtypes="any", out="bool")
def equal_p(x: Array, y: Array) -> Any:
    """True where x == y. t[*s], t[*s] -> bool[*s], broadcasting."""
    return np.equal(_steps(x), _steps(y))


@elementwise(expr="x != y", dtypes="any", out="bool")
def not_equal_p(x: Array, y: Array) -> Any:
    """True where x != y; NaN differs from all. t[*s], t[*s] -> bool[*s], broadcasting."""
    return np.not_equal(_steps(x), _steps(y))


@elementwise("less", "math.less", expr="x < y", dtypes="ordered", out="bool")
def less(x: Array, y: Array) -> Any:
    """True where x < y. t[*s], t[*s] -> bool[*s], broadcasting. Source: tf.less."""
    return np.less(x, y)


@elementwise("less_equal", "math.less_equal", expr="x <= y", dtypes="ordered", out="bool")
def less_equal(x: Array, y: Array) -> Any:
    """True where x <= y. t[*s], t[*s] -> bool[*s], broadcasting. Source: tf.less_equal."""
    return np.less_equal(x, y)


@elementwise("greater", "math.greater", expr="x > y", dtypes="ordered", out="bool")
def greater(x: Array, y: Array) -> Any:
    """True where x > y. t[*s], t[*s] -> bool[*s], broadcasting. Source: tf.greater."""
    return np.greater(x, y)


@elementwise("greater_equal", "math.greater_equal", expr="x >= y", dtypes="ordered", out="bool")
def greater_equal(x: Array, y: Array) -> Any:
    """True where x >= y. t[*s], t[*s] -> bool[*s], broadcasting. Source: tf.greater_equal."""
    return np.greater_equal(x, y)


@elementwise("logical_and", "math.logical_and", expr="x & y", groups=("bool", "bool"), out="bool")
def logical_and(x: Array, y: Array) -> Any:
    """True where both hold. bool[*s], bool[*s] -> bool[*s], broadcasting. Source: tf.logical_and."""
    return np.logical_and(x, y)


@elementwise("logical_or", "math.logical_or", expr="x | y", groups=("bool", "bool"), out="bool")
def logical_or(x: Array, y: Array) -> Any:
    """True where at least one holds. bool[*s], bool[*s] -> bool[*s], broadcasting. Source: tf.logical_or."""
    return np.logical_or(x, y)


@elementwise("logical_not", "math.logical_not", expr="~x", groups=("bool",), out="bool")
def logical_not(x: Array) -> Any:
    """True where x does not hold. bool[*s] -> bool[*s]. Source: tf.logical_not."""
    return np.logical_not(x)


@elementwise("math.is_nan", expr="isnan(x)", out="bool")
def is_nan(x: Array) -> Any:
    """True where x is not a number. f[*s] -> bool[*s]. Source: tf.math.is_nan.

    Args:
        x: A floating tensor.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        >>> tf.math.is_nan([1.0, float("nan"), float("inf")])
        <tf.Tensor: shape=(3,), dtype=bool, numpy=array([False,  True, False])>
    """
    return np.isnan(x)


@elementwise("math.is_inf", expr="isinf(x)", out="bool")
def is_inf(x: Array) -> Any:
    """True where x is infinite. f[*s] -> bool[*s]. Source: tf.math.is_inf."""
    return np.isinf(x)


@elementwise("math.is_finite", expr="isfinite(x)", out="bool")
def is_finite(x: Array) -> Any:
    """True where x is neither infinite nor NaN. f[*s] -> bool[*s]. Source: tf.math.is_finite."""
    return np.isfinite(x)


@elementwise("bitwise.bitwise_and", expr="x & y", dtypes="integer")
def bitwise_and(x: Array, y: Array) -> Any:
    """Bits set in both. i[*s], i[*s] -> i[*s], broadcasting. Source: tf.bitwise.bitwise_and."""
    return np.bitwise_and(x, y)


@elementwise("bitwise.bitwise_or", expr="x | y", dtypes="integer")
def bitwise_or(x: Array, y: Array) -> Any:
    """Bits set in either. i[*s], i[*s] -> i[*s], broadcasting. Source: tf.bitwise.bitwise_or."""
    return np.bitwise_or(x, y)


@elementwise("bitwise.bitwise_xor", expr="x ^ y", dtypes="integer")
def bitwise_xor(x: Array, y: Array) -> Any:
    """Bits set in one of the two. i[*s], i[*s] -> i[*s], broadcasting. Source: tf.bitwise.bitwise_xor."""
    return np.bitwise_xor(x, y)


@elementwise("bitwise.invert", expr="~x", dtypes="integer")
def invert(x: Array) -> Any:
    """Every bit flipped. i[*s] -> i[*s]. Source: tf.bitwise.invert."""
    return np.invert(x)


def _shift_limit(x: Array, y: Array) -> Any:
    """The amounts y as far as x is wide: from 0 to its width less one."""
    return np.clip(y, 0, x.dtype.itemsize * 8 - 1)


@elementwise("bitwise.left_shift", expr="x << y", dtypes="integer")
def left_shift(x: Array, y: Array) -> Any:
    """x moved left by y bits, from 0 to its width less one. i[*s], i[*s] -> i[*s], broadcasting."""
    return np.left_shift(x, _shift_limit(x, y))


@elementwise("bitwise.right_shift", expr="x >> y", dtypes="integer")
def right_shift(x: Array, y: Array) -> Any:
    """x moved right by y bits, from 0 to its width less one, keeping its sign. i[*s], i[*s] -> i[*s], broadcasting."""
    return np.right_shift(x, _shift_limit(x, y))


# ---- public functions that decide which op to apply -----------------------------------------------------------------


_EQUAL = equal_p.primitive  # type: ignore[attr-defined]


@public("equal", "math.equal")
def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Any:
    """True where x == y. t[*s], t[*s] -> bool[*s], broadcasting. Source: tf.equal.

    Args:
        x: A tensor of any dtype.
        y: A tensor of the same dtype.

    Raises:
        InvalidArgumentError: The dtypes differ, or the shapes do not broadcast.

    Examples:
        >>> tf.equal([1, 2, 3], 2)
        <tf.Tensor: shape=(3,), dtype=bool, numpy=array([False,  True, False])>
        >>> tf.equal([1, 2], [1, 2, 3])
        Traceback (most recent call last):
            ...
        fastgraph.errors.InvalidArgumentError: ...Incompatible shapes: [2] vs. [3]...
    """
    return bind(_EQUAL, (x, y), {}) if name is None else named(name, equal_p, x, y)


@public("not_equal", "math.not_equal")
def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Any:
    """True where x != y; NaN differs from all. t[*s], t[*s] -> bool[*s], broadcasting. Source: tf.not_equal."""
    return named(name, not_equal_p, x, y)


@public("math.logical_xor")
def logical_xor(x: TensorLike, y: TensorLike, name: str | None = "LogicalXor") -> Any:
    """True where exactly one holds. bool[*s], bool[*s] -> bool[*s], broadcasting. Source: tf.math.logical_xor."""
    return logical_and(logical_or(x, y), logical_not(logical_and(x, y)))
