"""tf.test.compute_gradient: Jacobians by the tape beside Jacobians by central differences.

Rule: a complex number counts as two real ones, in x and in y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.tape.gradient_tape import GradientTape
from fastgraph.core.tensor import convert


def compute_gradient(
    f: Callable[..., Any], x: Sequence[Any], delta: float | None = None
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the Jacobians of y = f(*x) for each argument by the tape, and those by differences of 2 * delta (1/512).

    Each is an array [elements of y, elements of the argument]. Raises ValueError if `x` is no list or tuple, or if an
    empty result has a gradient. Source: tf.test.compute_gradient.

    Examples:
        >>> theoretical, numerical = tf.test.compute_gradient(tf.square, [[1.0, 2.0]])
        >>> theoretical[0].tolist()
        [[2.0, 0.0], [0.0, 4.0]]
    """
    if not isinstance(x, list | tuple):
        raise ValueError(
            f"`x` must be a list or tuple of values convertible to a Tensor (arguments to `f`), not a {type(x)}"
        )
    inputs = [convert(value) for value in x]
    with GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        y = convert(f(*inputs))
    for place, tensor in [*enumerate(inputs), ("y", y)]:
        if not (tensor.dtype.is_floating or tensor.dtype.is_complex):
            raise AssertionError(f"Cannot compute gradient for unsupported type {tensor.dtype.name} of {place}")
    step = 1.0 / 1024 if delta is None else delta
    found = [(_by_tape(tape, y, each), _by_differences(f, inputs, i, step, y)) for i, each in enumerate(inputs)]
    return tuple([a for a, _ in found]), tuple([b for _, b in found])


def _reals(array: Any, dtype: Any) -> Any:
    """The real numbers of an array, in order: a view where it is contiguous."""
    return array.reshape(-1).view(dtype.real_dtype.as_numpy_dtype)


def _by_tape(tape: GradientTape, y: Any, x: Any) -> Any:
    dy = np.zeros(y.shape, y.dtype.as_numpy_dtype)
    ones = _reals(dy, y.dtype)
    width = int(np.prod(x.shape)) * (2 if x.dtype.is_complex else 1)
    jacobian = np.zeros((ones.size, width), x.dtype.real_dtype.as_numpy_dtype)
    for row in range(max(ones.size, 1)):
        if ones.size:
            ones[row] = 1
        found = tape.gradient(y, x, output_gradients=convert(dy.copy(), y.dtype))
        gradient = None if found is None else np.ascontiguousarray(np.asarray(convert(found)))
        if not ones.size:
            _check_empty(gradient, x)
        elif gradient is not None:
            jacobian[row] = _reals(gradient, x.dtype)
            ones[row] = 0
        else:
            ones[row] = 0
    return jacobian


def _check_empty(gradient: Any, x: Any) -> None:
    if gradient is not None and gradient.shape != tuple(x.shape):
        raise ValueError(f"Empty gradient has wrong shape: expected {x.shape}, got {gradient.shape}")
    if gradient is not None and np.any(gradient):
        raise ValueError("Empty tensor with nonzero gradients")


def _by_differences(f: Callable[..., Any], inputs: list[Any], param: int, delta: float, y: Any) -> Any:
    arrays = [np.array(np.asarray(each)) for each in inputs]
    x, dtype = arrays[param], inputs[param].dtype
    flat = _reals(x, dtype)
    scale = np.asarray(2 * delta, y.dtype.real_dtype.as_numpy_dtype)
    n_outputs = int(np.prod(y.shape)) * (2 if y.dtype.is_complex else 1)
    jacobian = np.zeros((n_outputs, flat.size), flat.dtype)
    for column in range(flat.size):
        original = flat[column]
        values = []
        for offset in (delta, -delta):
            flat[column] = original + np.asarray(offset, flat.dtype)
            values.append(np.asarray(convert(f(*[convert(each.copy()) for each in arrays]))))
        flat[column] = original
        difference = np.ascontiguousarray((values[0] - values[1]) / scale)
        jacobian[:, column] = _reals(difference, y.dtype)
    return jacobian
