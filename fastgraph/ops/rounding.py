"""Elementwise ops that round floats to whole numbers: floor, ceil, round, rint."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.ops.families import Array, elementwise


@elementwise("floor", "math.floor", expr="floor(x)")
def floor(x: Array) -> Any:
    """The greatest whole number not above x. f[*s] -> f[*s]. Source: tf.floor.

    Args:
        x: A floating tensor.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        >>> tf.floor([1.7, -1.2])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([ 1., -2.], dtype=float32)>
    """
    return np.floor(x)


@elementwise("math.ceil", expr="ceil(x)")
def ceil(x: Array) -> Any:
    """The least whole number not below x. f[*s] -> f[*s]. Source: tf.math.ceil."""
    return np.ceil(x)


@elementwise("round", "math.round", expr="round(x)", dtypes="real")
def round(x: Array) -> Any:
    """The nearest whole number, halves to even. t[*s] -> t[*s]. Source: tf.round."""
    return x if x.dtype.kind in "iu" else np.rint(x)


@elementwise("math.rint", expr="round(x)")
def rint(x: Array) -> Any:
    """The nearest whole number, halves to even. f[*s] -> f[*s]. Source: tf.math.rint."""
    return np.rint(x)
