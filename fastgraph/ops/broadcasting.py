"""Broadcasting: elements repeated along axes of size 1 and new axes, and gradients summed back to what was broadcast.

Rule: axes align at the end; a shape known only at run time is an input of the op's `_dynamic` form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.shapes import Aval, ShapeLike, broadcast_shapes
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import extents, index_vector, named
from fastgraph.ops.families import (
    Array,
    Builder,
    Dims,
    Node,
    accumulator,
    body_of,
    is_one,
    misuse,
    movement,
    public,
    shape_text,
    validated,
)
from fastgraph.ops.movement import _ints, shape_of_value
from fastgraph.ops.precise_sums import block_sum


def _check_broadcast(shape: Dims, target: Dims) -> None:
    if shape is None or target is None:
        return
    if any(n is not None and n < 0 for n in target):
        raise ValueError(f"Dimension {next(n for n in target if n is not None and n < 0)} must be >= 0")
    if len(shape) > len(target):
        raise ValueError(f"Rank of input ({len(shape)}) must be no greater than rank of output shape ({len(target)}).")
    own = target[len(target) - len(shape) :]
    if any(a is not None and b is not None and a not in (1, b) for a, b in zip(shape, own, strict=True)):
        texts = shape_text(shape), shape_text(target)
        if all(None in (n, to) or n in (1, to) or to == 1 for n, to in zip(shape, own, strict=True)):
            raise ValueError(f"Unable to broadcast tensor of shape {texts[0]} to tensor of shape {texts[1]}")
        raise ValueError(f"Incompatible shapes: {texts[0]} vs. {texts[1]}")


def _infer_broadcast(input: Aval, *, shape: tuple[int, ...]) -> Aval:
    _check_broadcast(input.shape, shape)
    return Aval(input.dtype, shape)


def _lower_broadcast(b: Builder, node: Node) -> list[Any]:
    x = b.input(0)
    return [lambda index: x.broadcast_at(index)]


@movement(
    infer=_infer_broadcast,
    lower=_lower_broadcast,
    vjp=dict(input=lambda dy, input_shape: sum_to(dy, input_shape)),
    samples=lambda: [
        ((np.arange(np.prod(a, dtype=int)).astype(t).reshape(a),), {"shape": s})
        for t in ("float32", "int32", "bool")
        for a, s in (
            ((3,), (2, 3)),
            ((2, 1), (2, 4)),
            ((), (2, 2)),
            ((1, 3), (0, 3)),
            ((2, 3), (2, 3)),
            ((1, 1), (3, 2)),
        )
    ],
    error_samples=lambda: [
        misuse("Incompatible shapes: \\[2,3\\] vs. \\[3,3\\]", np.ones([2, 3]), shape=(3, 3)),
        misuse("Unable to broadcast tensor of shape \\[2\\] to tensor of shape \\[2,1\\]", np.ones([2]), shape=(2, 1)),
        misuse(
            "Rank of input \\(2\\) must be no greater than rank of output shape \\(1\\).", np.ones([2, 3]), shape=(3,)
        ),
        misuse("Dimension -1 must be >= 0", np.ones([3]), shape=(-1, 3)),
    ],
)
def broadcast_to_p(input: Array, *, shape: tuple[int, ...]) -> Any:
    """input repeated along axes of size 1 and new leading axes to `shape`. t[*s] -> t[*shape]."""
    validated(_check_broadcast, input.shape, shape)
    return np.broadcast_to(input, shape)


def _infer_broadcast_dynamic(input: Aval, shape: Aval) -> Aval:
    dims = shape_of_value(shape)
    _check_broadcast(input.shape, dims)
    if dims is not None and input.shape:  # an extent but 1 stays as it is
        lead = len(dims) - len(input.shape)
        own = [n if n is not None and n != 1 else to for n, to in zip(input.shape, dims[lead:], strict=True)]
        dims = (*dims[:lead], *own)
    return Aval(input.dtype, dims)


@movement(
    op="BroadcastTo",
    infer=_infer_broadcast_dynamic,
    groups=("T", "Tidx"),
    dtypes={"Tidx": "index"},
    shape_inputs=(1,),
    lower=_lower_broadcast,
    vjp=dict(input=lambda dy, input_shape: sum_to(dy, input_shape)),
    samples=lambda: [((np.arange(3.0), np.array([2, 3])), {})],
)
def broadcast_to_dynamic(input: Array, shape: Array) -> Any:
    """`broadcast_to` a shape known only at run time. t[*s], i[n] -> t[*shape]."""
    return body_of(broadcast_to_p)(input, shape=_ints(shape))


@public("broadcast_to")
def broadcast_to(input: Any, shape: TensorLike | ShapeLike, name: str | None = None) -> Any:
    """input repeated along axes of size 1 and new leading axes to `shape`. t[*s] -> t[*shape].

    Args:
        input: The tensor.
        shape: The extents of the result: a list of ints or an integer tensor.

    Raises:
        InvalidArgumentError: An extent of the input is neither 1 nor that of the result.

    Examples:
        >>> tf.broadcast_to([[1], [2]], [2, 3])
        <tf.Tensor: shape=(2, 3), dtype=int32, numpy=
        array([[1, 1, 1],
               [2, 2, 2]], dtype=int32)>

    Source: tf.broadcast_to.
    """
    size = extents(shape, "BroadcastTo.Tidx")
    if size.static is not None:
        if name is None:
            return broadcast_to_p(input, shape=size.static)
        return named(name, broadcast_to_p, input, shape=size.static)
    return named(name, broadcast_to_dynamic, input, size.tensor)


def _check_sum(dy: Array, shape: Sequence[int]) -> None:
    try:
        fits = broadcast_shapes(dy.shape, tuple(shape)) == dy.shape
    except ValueError:
        fits = False
    if not fits:
        raise InvalidArgumentError(
            None, None, f"A tensor of shape {shape_text(dy.shape)} cannot be summed to {shape_text(shape)}"
        )


def sum_down(dy: np.ndarray[Any, Any], shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """`dy` summed to `shape`, from which it could have been broadcast."""
    lead = dy.ndim - len(shape)
    axes = [i for i in range(dy.ndim) if i < lead or (shape[i - lead] == 1 and dy.shape[i] != 1)]
    return block_sum(dy, axes).reshape(tuple(shape)) if axes else dy.reshape(tuple(shape))


def _lower_sum_to(b: Builder, node: Node) -> list[Any]:
    dy = b.input(0)
    own, target = dy.shape, b.output(0).shape
    dtype = node.inputs[0].aval.dtype
    wide = accumulator(dtype)
    lead = len(own) - len(target)
    axes = [i for i in range(len(own)) if i < lead or (is_one(target[i - lead]) and not is_one(own[i]))]

    def element(index: Sequence[Any]) -> Any:
        def inner(position: Sequence[Any]) -> Any:
            inside = iter(position)
            value = dy.at([next(inside) if i in axes else index[i - lead] for i in range(len(own))])
            return value if wide is dtype else b.cast(value, wide)

        total = b.reduce("sum", [dy.shape[a] for a in axes], inner) if axes else inner(())
        return total if wide is dtype else b.cast(total, dtype)

    return [element]


def _summed(dy: Aval, shape: Dims) -> Aval:
    """Sum dy to `shape`. ValueError if it could not have been broadcast to dy: whether an extent is 1 matters."""
    if dy.shape is not None and shape is not None:
        lead = len(dy.shape) - len(shape)
        if lead < 0 or any(
            m is not None and n is not None and n not in (1, m) for m, n in zip(dy.shape[lead:], shape, strict=True)
        ):
            raise ValueError(f"A tensor of shape {shape_text(dy.shape)} cannot be summed to {shape_text(shape)}")
    return Aval(dy.dtype, shape)


@movement(
    infer=lambda dy, x: _summed(dy, x.shape),
    groups=("T", "-"),
    dtypes="summable",
    lower=_lower_sum_to,
    vjp=dict(dy=lambda dy, dy_shape: broadcast_to(dy, dy_shape)),
    samples=lambda: [
        ((np.arange(24, dtype=t).reshape(2, 3, 4), np.zeros(shape, np.int32)), {})
        for t in ("float32", "float64", "int32", "float16")
        for shape in ((2, 3, 4), (3, 4), (1, 4), (2, 1, 1), (), (1, 1, 1))
    ],
)
def sum_to_like(dy: Array, x: Array) -> Any:
    """dy summed over the axes along which x would have been broadcast to it. t[*s], u[*r] -> t[*r]."""
    _check_sum(dy, x.shape)
    return sum_down(dy, x.shape)


@movement(
    op="SumTo",
    infer=lambda dy, shape: _summed(dy, shape_of_value(shape)),
    groups=("T", "Tidx"),
    dtypes={"T": "summable", "Tidx": "index"},
    shape_inputs=(1,),
    lower=_lower_sum_to,
    vjp=dict(dy=lambda dy, dy_shape: broadcast_to(dy, dy_shape)),
    samples=lambda: [
        ((np.arange(24, dtype=t).reshape(2, 3, 4), np.array(shape, np.int32)), {})
        for t in ("float32", "int32")
        for shape in ((2, 3, 4), (3, 4), (1, 4), (2, 1, 1), ())
    ],
)
def sum_to_shape(dy: Array, shape: Array) -> Any:
    """dy summed over the axes along which a tensor of `shape` would have been broadcast to it. t[*s], i[n] -> t[*r]."""
    _check_sum(dy, shape.tolist())
    return sum_down(dy, shape.tolist())


def sum_to(dy: Tensor, shape: TensorLike) -> Any:
    """dy summed to `shape` (a tuple or an int tensor), from which it was broadcast. t[*s] -> t[*shape]."""
    return sum_to_shape(dy, index_vector(shape) if isinstance(shape, tuple) else shape)
