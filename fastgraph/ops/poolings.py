"""The public poolings: tf.nn.max_pool, avg_pool, pool, made of `pooling_primitives`.

Rule: arguments are checked here and other layouts are transposed to channels last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.errors import UnimplementedError
from fastgraph.ops.arguments import as_tensor, named, whole
from fastgraph.ops.families import Array, invalid, public
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import concat
from fastgraph.ops.matmul import extents_of
from fastgraph.ops.movement import expand_dims, reshape, squeeze
from fastgraph.ops.pooling_primitives import avg_pool_p, max_pool_p
from fastgraph.ops.reduction import reduce_max
from fastgraph.ops.window_arguments import (
    PadLike,
    Steps,
    both_steps,
    channels_first,
    channels_last,
    is_channels_first,
    listed,
    paddings,
    positive,
    steps,
)


def _window(value: TensorLike, rank: int, first: bool) -> tuple[tuple[int, ...], int, int]:
    """A ksize or strides argument: over the spatial axes, the batch, the channels."""
    given = (
        [whole(v, "ksize", 32) for v in value]
        if isinstance(value, (list, tuple, np.ndarray))
        else [whole(value, "ksize", 32)]
    )
    if len(given) != rank + 2:
        return steps(given, rank, "ksize", first), 1, 1
    return tuple(given[2:] if first else given[1:-1]), given[0], given[1 if first else -1]


def _pool(
    rank: int,
    primitive: Callable[..., Any],
    x: TensorLike,
    ksize: TensorLike,
    strides: TensorLike,
    padding: PadLike,
    data_format: str | None,
    name: str | None,
) -> Any:
    """One pooling of a public function: arguments checked, other layouts transposed."""
    first = is_channels_first(data_format, rank)
    x = as_tensor(x)
    if name is None and rank == 2 and current_trace() is not None:
        name = "MaxPool2d" if primitive is max_pool_p else "AvgPool2D"
    ksize, strides = listed(ksize), listed(strides)
    window, batch, depth = _window(ksize, rank, first)
    stride, batch_step, depth_step = _window(strides, rank, first) if _full(strides, rank) else (
        steps(strides, rank, "strides", first), 1, 1
    )  # fmt: skip
    pads = paddings(padding, rank, first, explicit=primitive is max_pool_p and rank < 3)
    if batch != 1 or batch_step != 1:
        raise UnimplementedError(None, None, "Pooling is not yet supported on the batch dimension.")
    if depth != 1 or depth_step != 1:
        return _depth_pool(x, window, stride, depth, depth_step, primitive, first, name)
    if first:
        x = channels_last(x, rank)
    if rank == 1:
        if not isinstance(pads, str):
            pads = ((0, 0), *pads)
        wide = named(None, primitive, expand_dims(x, 1), window=(1, *window), strides=(1, *stride), padding=pads)
        result = squeeze(wide, [1], name=None if first else name)
    else:
        result = named(None if first else name, primitive, x, window=window, strides=stride, padding=pads)
    return channels_first(result, rank, name) if first else result


def _full(value: TensorLike | None, rank: int) -> bool:
    return isinstance(value, (list, tuple, np.ndarray)) and len(np.ravel(value)) == rank + 2


def _depth_pool(
    x: Tensor,
    window: Steps,
    stride: Steps,
    depth: int,
    step: int,
    primitive: Callable[..., Any],
    first: bool,
    name: str | None,
) -> Any:
    """The largest of each group of neighbouring channels."""
    if primitive is not max_pool_p or first:
        raise UnimplementedError(None, None, "Pooling across channels is there for max_pool with channels last.")
    if any(n != 1 for n in (*window, *stride)):
        raise UnimplementedError(
            None, None, "MaxPooling supports exactly one of pooling across depth or pooling across width/height."
        )
    if depth != step:
        raise UnimplementedError(None, None, "Depthwise max pooling requires the depth window to equal the stride.")
    dims = extents_of(x)
    if isinstance(dims[-1], int) and dims[-1] % depth:
        raise UnimplementedError(
            None, None, "Depthwise max pooling requires the depth window to evenly divide the input depth."
        )
    return reduce_max(reshape(x, (*dims[:-1], dims[-1] // depth, depth)), -1, name=name)


def _pooling(named: str, rank: int | None, text: str) -> Any:
    """The public pooling of a name, over so many spatial axes or, None, over as many as its input has."""
    primitive = max_pool_p if named.startswith("max") else avg_pool_p
    layout = None if rank is None else ("NWC", "NHWC", "NDHWC")[rank - 1]

    def pooling(
        input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: PadLike, data_format: str | None = layout,
        name: str | None = None,
    ) -> Any:  # fmt: skip
        if rank is not None:
            return _pool(rank, primitive, input, ksize, strides, padding, data_format, name)
        x = as_tensor(input)
        if x.shape.rank is None:
            raise ValueError("The rank of `input` must be known")
        if not 3 <= x.shape.rank <= 5:
            raise ValueError(
                f"`input.shape.rank` must be 3, 4 or 5. Received: input.shape={x.shape} of rank {x.shape.rank}."
            )
        return _pool(x.shape.rank - 2, primitive, x, ksize, strides, padding, data_format, name)

    pooling.__name__ = pooling.__qualname__ = named  # where pickles look for it
    pooling.__doc__ = f"{text} Source: tf.nn.{named}."
    return public(f"nn.{named}")(pooling)


_REFUSES = "Raises: InvalidArgumentError for windows that do not fit; ValueError for other arguments."
max_pool = _pooling(
    "max_pool", None,
    "The largest element of each window, over one to three spatial axes. t[n, *s, c] -> t[n, *o, c].\n\n"
    f"NaN is passed over. {_REFUSES}",
)  # fmt: skip
avg_pool = _pooling(
    "avg_pool", None,
    "The mean of each window, of what is inside, over one to three spatial axes. f[n, *s, c] -> f[n, *o, c].\n\n"
    f"{_REFUSES}",
)  # fmt: skip
_AXES = ("one spatial axis. {0}[n, w, c] -> {0}[n, ow, c].",
         "two spatial axes. {0}[n, h, w, c] -> {0}[n, oh, ow, c].",
         "three spatial axes. {0}[n, d, h, w, c] -> {0}[n, od, oh, ow, c].")  # fmt: skip
max_pool1d, max_pool2d, max_pool3d = (
    _pooling(f"max_pool{i}d", i, f"The largest element of each window of {axes.format('t')}")
    for i, axes in enumerate(_AXES, 1)
)
avg_pool1d, avg_pool2d, avg_pool3d = (
    _pooling(f"avg_pool{i}d", i, f"The mean of each window of {axes.format('f')}") for i, axes in enumerate(_AXES, 1)
)


@public("nn.pool")
def pool(
    input: TensorLike,
    window_shape: Sequence[int] | Array,
    pooling_type: str,
    strides: TensorLike | None = None,
    padding: PadLike = "VALID",
    data_format: str | None = None,
    dilations: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """The maximum ("MAX") or mean ("AVG") of windows over len(window_shape) axes. t[n, *s, c] -> t[n, *o, c].

    Args:
        input: A tensor with the spatial axes *s between the batch's and the channels'.
        window_shape: The window's extents, one for each spatial axis.
        pooling_type: "MAX" or "AVG".
        strides: How far the window moves along each; None: 1.
        padding: "VALID": windows inside only; "SAME": as many as there are positions; or explicit pairs.
        data_format: "NWC", "NHWC", "NDHWC" (None), or with the channels second, "NCHW".
        dilations: A window takes every d-th element (padding "VALID" only); None: 1.

    Raises:
        ValueError: These do not go together.

    Examples:
        >>> signal = tf.constant([1.0, 3.0, 2.0, 5.0])[None, :, None]
        >>> tf.nn.pool(signal, [2], "MAX", strides=[2])[0, :, 0]
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([3., 5.], dtype=float32)>

    Source: tf.nn.pool.
    """
    rank = len(window_shape)
    if not 1 <= rank <= 3:
        raise ValueError(f"`num_spatial_dims` must be 1, 2, or 3. Received: num_spatial_dims={rank}.")
    primitive = {"MAX": max_pool_p, "AVG": avg_pool_p}.get(pooling_type)
    if primitive is None:
        raise ValueError(f"{rank}-D {pooling_type} pooling is not supported.")
    window = [whole(k, "window_shape", 32) for k in listed(window_shape)]
    strides, dilations = listed(strides), listed(dilations)
    for what, given in (("dilation_rate", dilations), ("strides", strides)):
        if isinstance(given, (list, tuple, np.ndarray)) and len(given) != rank:
            raise ValueError(f"`len({what})` should be {rank}. Received: {what}={given} of length {len(given)}")
    step, rate = both_steps(strides, dilations, rank)
    positive(step, "strides")
    if any(s > k for s, k in zip(step, window, strict=True)):
        raise ValueError(
            "`strides` > `window_shape` not supported due to inconsistency between CPU and GPU implementations. "
            f"Received: strides={list(step)} and window_shape={window}"
        )
    if all(d == 1 for d in rate):
        return _pool(rank, primitive, input, window, list(step), padding, data_format, name)
    if padding != "VALID":
        raise ValueError(
            "pooling with 'SAME' padding is not implemented for `dilation_rate` > 1. "
            f"Received: padding={padding} and dilation_rate={np.array(rate)}"
        )
    return _dilated(rank, primitive, as_tensor(input), window, rate, data_format, name)


def _dilated(
    rank: int,
    primitive: Callable[..., Any],
    x: Tensor,
    window: Sequence[int],
    rate: Sequence[int],
    data_format: str | None,
    name: str | None,
) -> Any:
    """Pooling of every d-th element: one pooling for each remainder, put together again."""
    first = is_channels_first(data_format, rank)
    if first:
        x = channels_last(x, rank)
    result = x
    dims = x.shape.as_list()
    if len(dims) != rank + 2:
        raise ValueError(f"Shape {x.shape} must have rank {rank + 2}")
    if None in dims[1:-1]:
        raise NotImplementedError("pool with dilations needs spatial sizes that are known")
    for axis, (k, d) in enumerate(zip(window, rate, strict=True)):
        one = tuple(k if i == axis else 1 for i in range(rank))
        n = result.shape[axis + 1]
        out = n - (k - 1) * d
        if out < 1:
            raise invalid(f"A window of {k} with dilation {d} does not fit an axis of {n}")
        parts = [gather(result, np.arange(r, n, d, dtype=np.int32), axis=axis + 1) for r in range(d)]
        parts = [p for p in parts if p.shape[axis + 1] >= k]
        made = [_pool(rank, primitive, p, list(one), 1, "VALID", None, None) for p in parts]
        joined = concat(made, axis + 1) if made else result
        # Element r + d * i of the result is element i of the pooling of remainder r.
        lengths = [p.shape[axis + 1] for p in made]
        starts = [sum(lengths[:i]) for i in range(len(lengths))]
        order = np.array([starts[i % d] + i // d for i in range(out)], np.int32)
        result = gather(joined, order, axis=axis + 1)
    return channels_first(result, rank, name) if first else result
