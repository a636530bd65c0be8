"""Convolutions with gaps, by dilations or by blocks moved into the batch, and the gradients of depthwise convolutions.

Rule: what a convolution can do by itself it does; with_space_to_batch is for other ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import int32
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.errors import UnimplementedError
from fastgraph.ops.arguments import as_tensor, extents, index_list, index_vector, known_value, named, whole, word
from fastgraph.ops.convolution_primitives import conv2d_filter_grad_p, conv2d_input_grad_p
from fastgraph.ops.convolutions import conv2d
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import invalid, public, shape_text
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import concat, stack
from fastgraph.ops.matmul import extents_of
from fastgraph.ops.movement import reshape
from fastgraph.ops.runtime_assertions import ensure_shape
from fastgraph.ops.runtime_checks import checked, narrow, with_extents
from fastgraph.ops.space_to_batch import batch_to_space, space_to_batch
from fastgraph.ops.window_arguments import PadLike, channels_first, channels_last, is_channels_first, paddings, steps

# ---- gaps -----------------------------------------------------------------------------------------------------------


def _rate(rate: TensorLike) -> int:
    found = whole(rate, "rate")
    if found < 1:
        raise ValueError(f"`rate` cannot be less than one. Received: rate={rate!s}")
    return found


@public("nn.atrous_conv2d")
def atrous_conv2d(
    value: TensorLike, filters: TensorLike, rate: TensorLike, padding: PadLike, name: str | None = None
) -> Any:
    """Correlation with a filter whose elements are `rate` places apart. t[n, h, w, c], t[kh, kw, c, f] -> t[n, *o, f].

    Raises: ValueError for a rate below 1 and shapes that do not fit. Source: tf.nn.atrous_conv2d; Chen et al. 2016.
    """
    d = _rate(rate)
    x = as_tensor(value)
    kernel = as_tensor(filters, x.dtype)
    if kernel.shape.rank not in (4, None):
        raise ValueError(f"filters must be 4-dimensional. Received: filters.shape={kernel.shape}")
    if x.shape.rank is not None and x.shape.rank < 4:
        raise ValueError(f"`input.shape.rank` must be at least 4. Received: input.shape={x.shape}")
    if x.shape.rank == 4 and kernel.shape.rank == 4:
        have, want = x.shape[3], kernel.shape[2]
        if have is not None and want and have % want:
            raise ValueError(
                "The number of input channels is not divisible by the number of channels of a filter. "
                f"Received: input.shape={x.shape} and filters.shape={kernel.shape}"
            )
    return conv2d(x, kernel, 1, padding, dilations=d, name=name)


@public("nn.atrous_conv2d_transpose")
def atrous_conv2d_transpose(
    value: TensorLike, filters: TensorLike, output_shape: SizeLike, rate: TensorLike, padding: PadLike,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The gradient of atrous_conv2d to its input, as an op of its own. t[n, h, w, f], t[kh, kw, c, f] -> t[*shape].

    Raises: ValueError for a rate below 1 or depths that differ, InvalidArgumentError for a filter of another rank.
    Source: tf.nn.atrous_conv2d_transpose.
    """
    d = _rate(rate)
    x = as_tensor(value)
    kernel = as_tensor(filters, x.dtype)
    if x.shape.rank not in (4, None):
        raise ValueError(f"Shape {x.shape} must have rank 4")
    if kernel.shape.rank not in (4, None):
        raise invalid(f"filter must be 4-dimensional: {shape_text(kernel.shape.as_list())}")
    if None not in (x.shape[3], kernel.shape[3]) and x.shape[3] != kernel.shape[3]:
        raise ValueError(
            "`value` channel count must be compatible with `filters` input channel count. "
            f"Received: value.shape={x.shape} with channel count {x.shape[3]} and filters.shape={kernel.shape}"
        )
    amount = extents(output_shape)
    if amount.static is not None and len(amount.static) != 4:
        raise ValueError(f"output_shape must have 4 elements, got {amount.static}")
    sizes = index_vector(amount.static) if amount.static is not None else amount.tensor
    pads = paddings(padding, 2, False, explicit=False)
    return named(name, conv2d_input_grad_p, sizes, kernel, x, strides=(1, 1), padding=pads, dilations=(d, d))


# ---- depthwise ------------------------------------------------------------------------------------------------------


def _depthwise(
    strides: TensorLike, padding: PadLike, data_format: str | None, dilations: TensorLike
) -> tuple[bool, dict[str, Any]]:
    first = is_channels_first(data_format, 2)
    stride = steps(strides, 2, "strides", first, depthwise=True)
    if stride[0] != stride[1]:
        raise invalid("Current implementation only supports equal length strides in the row and column dimensions.")
    rate = steps(dilations, 2, "dilations", first, "dilations", depthwise=True)
    return first, {"strides": stride, "padding": paddings(padding, 2, first), "dilations": rate}


def _known_sizes(sizes: TensorLike, what: str) -> tuple[int, ...]:
    """Four extents. NotImplementedError if they are known only at run time."""
    found = extents(sizes)
    if found.static is None:
        raise NotImplementedError(f"{what} must be known while a function is traced")
    if len(found.static) != 4:
        raise invalid(f"{what} must be a 4-element vector, got {shape_text((len(found.static),))}")
    return found.static


#: A filter for other channels than there are is one in groups to the convolution that these gradients are made of.
_DEPTH = "input and filter must have the same depth: {} vs {least}"


def _with_depth(sizes: TensorLike, depth: Tensor | int) -> Any:
    """Sizes i[4] of which the last must be `depth`, checked now or when this runs. Raises: InvalidArgumentError."""
    if isinstance(depth, int) and isinstance(sizes, np.ndarray):
        if sizes[3] != depth:
            raise invalid(_DEPTH.format(sizes[3], least=depth))
        return sizes
    given = as_tensor(sizes)
    return concat([given[:3], cast(checked(given[3:], depth, depth, _DEPTH), given.dtype)], 0)


@public("nn.depthwise_conv2d_backprop_input")
def depthwise_conv2d_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: TensorLike,
    padding: PadLike,
    data_format: str = "NHWC",
    dilations: TensorLike = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """depthwise_conv2d's gradient to its input. i[4], t[kh, kw, c, m], t[n, oh, ow, c * m] -> t[n, h, w, c].

    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.nn.depthwise_conv2d_backprop_input.
    """
    first, attrs = _depthwise(strides, padding, data_format, dilations)
    g = as_tensor(out_backprop)
    kernel = as_tensor(filter, g.dtype)
    if kernel.shape.rank != 4:
        raise invalid(f"filter must be 4-dimensional: {kernel.shape}")
    kh, kw, c, m = extents_of(kernel)
    each = reshape(kernel, (kh, kw, 1, c * m))
    amount = extents(input_sizes)
    if amount.static is not None:
        n, *dims = _known_sizes(input_sizes, "input_sizes")
        sizes: Any = index_vector((n, *(dims[1:] if first else dims[:2]), dims[0] if first else dims[2]))
    else:
        sizes = gather(amount.tensor, np.array([0, 2, 3, 1], np.int32)) if first else amount.tensor
    sizes = _with_depth(sizes, c)
    g = channels_last(g, 2) if first else g
    found = named(None if first else name, conv2d_input_grad_p, sizes, each, g, **attrs)
    return channels_first(found, 2, name) if first else found


@public("nn.depthwise_conv2d_backprop_filter")
def depthwise_conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: TensorLike,
    padding: PadLike,
    data_format: str = "NHWC",
    dilations: TensorLike = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """depthwise_conv2d's gradient to its filter. t[n, h, w, c], i[4], t[n, oh, ow, c * m] -> t[kh, kw, c, m].

    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.nn.depthwise_conv2d_backprop_filter.
    """
    first, attrs = _depthwise(strides, padding, data_format, dilations)
    x = as_tensor(input)
    g = as_tensor(out_backprop, x.dtype)
    kh, kw, c, m = _known_sizes(filter_sizes, "filter_sizes")
    if first:
        x, g = channels_last(x, 2), channels_last(g, 2)
    channels = x.shape[3] if x.shape.rank == 4 else c
    if channels not in (None, c):
        raise invalid(_DEPTH.format(channels, least=c))
    x = with_extents(x, {3: c} if channels is None else {})
    found = named(None, conv2d_filter_grad_p, x, index_vector((kh, kw, 1, c * m)), g, **attrs)
    return reshape(found, (kh, kw, c, m), name=name)


# ---- blocks ---------------------------------------------------------------------------------------------------------


def _int32(value: TensorLike, what: str) -> Any:
    """Integers as int32, which they must fit."""
    given = as_tensor(value)
    return given if given.dtype is int32 else narrow(given, -(2**31), what + " must be of int32's range, got {}")


@public("required_space_to_batch_paddings")
def required_space_to_batch_paddings(
    input_shape: TensorLike, block_shape: TensorLike, base_paddings: TensorLike | None = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The paddings that make each extent a multiple of its block, and the crops that undo what they add. -> i[n, 2] x2.

    Raises: ValueError for shapes that are no vectors of one length, and blocks below 1; InvalidArgumentError for what
    is no int32. Source: tf.required_space_to_batch_paddings.
    """
    sizes, block = _int32(input_shape, "input_shape"), _int32(block_shape, "block_shape")
    if sizes.shape.rank is None:
        sizes = ensure_shape(sizes, block.shape)
    if block.shape.rank != 1 or sizes.shape.rank != 1 or not sizes.shape.is_compatible_with(block.shape):
        raise ValueError(f"input_shape and block_shape are vectors of one length, got {sizes.shape} and {block.shape}")
    given = known_value(block)
    if given is not None and (given < 1).any():
        raise ValueError(f"block_shape must be positive, got {given.tolist()}")
    if given is None:
        block = narrow(block_shape, 1, "block_shape must be positive, got {}")
    count = block.shape[0]
    if sizes.shape[0] is None and count is not None:
        sizes = with_extents(sizes, {0: count})
    if base_paddings is None:
        base = as_tensor(np.zeros([int(count or 0), 2], np.int32))
    else:
        base = _int32(base_paddings, "base_paddings")
        if not base.shape.is_compatible_with([count, 2]):
            raise ValueError(f"base_paddings must have shape [{count}, 2], got {base.shape}")
    known = [known_value(t) for t in (sizes, block, base)]
    are_known = all(v is not None for v in known)
    # Of int32 either way: sums of arrays wrap as those of tensors do.
    extent, step, sides = [np.asarray(v) for v in known] if are_known else [sizes, block, base]
    more = (step - (extent + sides[:, 0] + sides[:, 1]) % step) % step
    pads, crops = [sides[:, 0], sides[:, 1] + more], [more * 0, more]
    if are_known:
        return as_tensor(np.stack(pads, 1)), as_tensor(np.stack(crops, 1))
    return stack(pads, 1), stack(crops, 1)


@public("nn.with_space_to_batch")
def with_space_to_batch(
    input: TensorLike,
    dilation_rate: TensorLike,
    padding: str,
    op: Callable[..., Any],
    filter_shape: TensorLike | None = None,
    spatial_dims: TensorLike | None = None,
    data_format: str | None = None,
) -> Any:
    """`op(x, spatial_dims_in_use, padding)` on every dilation_rate-th element of the spatial axes: an op with gaps.

    t[n, *s, c] -> what op gives. Raises: ValueError for rates below 1, a padding that is neither "SAME" nor "VALID",
    or "SAME" without a filter_shape. Source: tf.nn.with_space_to_batch.
    """
    x = as_tensor(input)
    if isinstance(dilation_rate, Tensor) and known_value(dilation_rate) is None:
        raise NotImplementedError("dilation_rate must be known while a function is traced")
    rates = index_list(dilation_rate, "dilation_rate")
    if data_format is not None and not isinstance(data_format, str):
        raise TypeError(f"data_format must be a string or None, got {data_format!r}")
    if any(r < 1 for r in rates):
        raise ValueError(f"`dilation_rate` must be positive. Received: dilation_rate={rates}")
    begin = 2 if data_format is not None and data_format.startswith("NC") else 1
    places = (
        index_list(spatial_dims, "spatial_dims") if spatial_dims is not None else [begin + i for i in range(len(rates))]
    )
    if places != sorted(set(places)) or len(places) != len(rates) or any(i < 1 for i in places):
        raise ValueError(
            f"`spatial_dims` must be a monotonically increasing sequence of positive integers, got {places}"
        )
    way = word(padding, "padding").upper()
    if way not in ("SAME", "VALID"):
        raise ValueError(f"Invalid padding method {padding!r}")
    if way == "SAME" and filter_shape is None:
        raise ValueError("`filter_shape` must be specified for `padding='SAME'`. Received: filter_shape=None")
    window = [] if filter_shape is None else index_list(filter_shape, "filter_shape")
    if way == "SAME" and len(window) < len(rates):
        raise ValueError(f"filter_shape must have {len(rates)} elements, got {window}")
    if all(r == 1 for r in rates):
        return op(x, list(range(1, len(rates) + 1)) if spatial_dims is None else places, padding)
    rank = x.shape.rank
    if rank is None or rank <= places[-1]:
        raise ValueError(f"input tensor must have rank at least {places[-1] + 1}. Received: rank={rank}")
    last = places[-1]
    factors, base, extents_ = [1] * last, [[0, 0]] * last, [1] * last
    for k, (place, rate) in enumerate(zip(places, rates, strict=True)):
        n = x.shape[place]
        if n is None:
            raise UnimplementedError(None, None, "with_space_to_batch needs spatial axes of known extents")
        reach = 0 if way == "VALID" else (window[k] - 1) * rate
        factors[place - 1], extents_[place - 1] = rate, n
        base[place - 1] = [reach // 2, reach - reach // 2]
    pads, crops = required_space_to_batch_paddings(extents_, factors, base)
    pads, crops = np.asarray(known_value(pads)), np.asarray(known_value(crops))
    wide = space_to_batch(x, factors, pads)
    return batch_to_space(op(wide, places, "VALID"), factors, crops)
