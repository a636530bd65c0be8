"""The public convolutions: tf.nn.conv2d and its kin, made of the primitives of `convolution_primitives`.

Rule: arguments are checked here, other layouts are transposed to channels last, leading axes are flattened; a window
over one spatial axis is one over two, the first of extent 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.core.op_errors import misfit
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.ops.arguments import as_tensor, extents, index_vector, named
from fastgraph.ops.convolution_primitives import conv2d_input_grad_p, conv2d_p, conv3d_input_grad_p, conv3d_p
from fastgraph.ops.families import invalid, public, shape_text
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import concat
from fastgraph.ops.matmul import extents_of
from fastgraph.ops.movement import expand_dims, reshape, shape, squeeze
from fastgraph.ops.runtime_checks import of_rank
from fastgraph.ops.window_arguments import (
    Padding,
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


def _apply(
    rank: int,
    x: TensorLike,
    filters: TensorLike,
    strides: TensorLike | None,
    padding: PadLike,
    data_format: str | None,
    dilations: TensorLike | None,
    name: str | None,
    step_name: str = "strides",
) -> Any:
    """One convolution of a public function: arguments checked, other layouts transposed, leading axes flattened."""
    first = is_channels_first(data_format, rank)
    images: Any = as_tensor(x)
    filters = as_tensor(filters, images.dtype)
    stride = steps(strides, rank, step_name, first)
    dilation = steps(1 if dilations is None else dilations, rank, "dilations", first, "dilations")
    pads = paddings(padding, rank, first, explicit=rank < 3)
    batch = _leading(images, rank)
    if batch is not None:
        images = reshape(images, (-1, *extents_of(images)[len(batch) :]))
    if first:
        images = channels_last(images, rank)
    last = None if first or batch is not None else name
    result = _primitive_apply(rank, last, images, filters, stride, pads, dilation)
    if first:
        result = channels_first(result, rank, name if batch is None else None)
    return result if batch is None else reshape(result, (*batch, *extents_of(result)[1:]), name=name)


def _primitive_apply(
    rank: int, name: str | None, x: Tensor, filters: Tensor, stride: Steps, pads: Padding, dilation: Steps
) -> Any:
    """The primitive itself; one spatial axis is two, the first of extent 1."""
    if rank == 1:
        if not isinstance(pads, str):
            pads = ((0, 0), *pads)
        return squeeze(
            named(
                None, conv2d_p, expand_dims(x, 1), expand_dims(filters, 0),
                strides=(1, *stride), padding=pads, dilations=(1, *dilation),
            ),
            [1],
            name=name,
        )  # fmt: skip
    primitive = conv2d_p if rank == 2 else conv3d_p
    return named(name, primitive, x, filters, strides=stride, padding=pads, dilations=dilation)


def _leading(x: Tensor, rank: int) -> list[Any] | None:
    """The batch axes of a tensor that has several of them, else None."""
    own = x.shape.rank
    return None if own is None or own <= rank + 2 else extents_of(x)[: own - rank - 1]


@public("nn.conv2d")
def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides: TensorLike | None,
    padding: PadLike,
    data_format: str | None = "NHWC",
    dilations: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Correlation over two spatial axes. t[*b, h, w, c], t[kh, kw, c/groups, f] -> t[*b, oh, ow, f].

    The channels of input fall into groups where a filter has fewer. Raises: InvalidArgumentError for shapes that do not
    fit; ValueError for other arguments. Source: tf.nn.conv2d.
    """
    return _apply(2, input, filters, strides, padding, data_format, dilations, name)


@public("nn.conv1d")
def conv1d(
    input: TensorLike,
    filters: TensorLike,
    stride: TensorLike,
    padding: PadLike,
    data_format: str = "NWC",
    dilations: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Correlation over one spatial axis. t[*b, w, c], t[k, c/groups, f] -> t[*b, ow, f].

    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.nn.conv1d.
    """
    layout = {"NHWC": "NWC", "NCHW": "NCW"}.get(data_format, data_format)
    return _apply(1, input, filters, stride, padding, layout, dilations, name, "stride")


@public("nn.conv3d")
def conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides: TensorLike,
    padding: PadLike,
    data_format: str | None = "NDHWC",
    dilations: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Correlation over three spatial axes. t[*b, d, h, w, c], t[kd, kh, kw, c/groups, f] -> t[*b, od, oh, ow, f].

    Raises: InvalidArgumentError for shapes that do not fit; TypeError for strides or padding of another type.
    Source: tf.nn.conv3d.
    """
    strides = listed(strides) if isinstance(strides, TensorShape) else strides
    if not isinstance(strides, (list, tuple, np.ndarray)):
        raise TypeError(f"Expected list for 'strides' argument to 'conv3d' Op, not {strides!s}.")
    return _apply(3, input, filters, strides, padding, data_format, dilations, name)


@public("nn.convolution")
def convolution(
    input: TensorLike,
    filters: TensorLike,
    strides: TensorLike | None = None,
    padding: PadLike = "VALID",
    data_format: str | None = None,
    dilations: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Correlation over one, two or three spatial axes, as many as the filter has. Source: tf.nn.convolution.

    t[*b, *s, c], t[*k, c/groups, f] -> t[*b, *o, f]. Raises: ValueError for strides and dilations together, or ranks
    that do not fit.
    """
    x = as_tensor(input)
    filters = as_tensor(filters, x.dtype)
    known = filters.shape.rank if filters.shape.rank is not None else x.shape.rank
    if known is None:
        raise ValueError("Rank of convolution must be known")
    rank = known - 2
    if rank not in (1, 2, 3):
        raise ValueError(f"`num_spatial_dims` must be 1, 2, or 3. Received: num_spatial_dims={rank}.")
    step, rate = both_steps(strides, dilations, rank)
    return _apply(rank, x, filters, step, padding, data_format, rate, name)


@public("nn.depthwise_conv2d")
def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: TensorLike,
    padding: PadLike,
    data_format: str | None = None,
    dilations: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Correlation of each channel with m filters of its own. t[n, h, w, c], t[kh, kw, c, m] -> t[n, oh, ow, c * m].

    Raises: InvalidArgumentError for shapes that do not fit, or strides that differ. Source: tf.nn.depthwise_conv2d.
    """
    x = as_tensor(input)
    filter = as_tensor(filter, x.dtype)
    first = is_channels_first(data_format, 2)
    if dilations is not None:
        rate = listed(dilations)
        if not isinstance(rate, (list, tuple, np.ndarray)) or len(rate) != 2:
            raise ValueError(f"dilations must have 2 elements, one for each spatial axis. Received: {dilations!s}")
        dilations = steps(rate, 2, "dilations", first)
        positive(dilations, "dilation_rate")
    strides = listed(strides) if isinstance(strides, TensorShape) else strides
    if not isinstance(strides, (list, tuple, np.ndarray)):
        raise TypeError(f"Expected list for 'strides' argument to 'depthwise_conv2d_native' Op, not {strides!s}.")
    stride = steps(strides, 2, "strides", first)
    if stride[0] != stride[1]:
        raise invalid("Current implementation only supports equal length strides in the row and column dimensions.")
    if filter.shape.rank not in (4, None):
        raise invalid(f"filter must be 4-dimensional: {shape_text(filter.shape.as_list())}")
    if x.shape.rank not in (4, None):
        raise invalid(f"input must be 4-dimensional: {shape_text(x.shape.as_list())}")
    x, filter = of_rank(x, 4), of_rank(filter, 4)
    channels = x.shape[1 if first else -1]
    kh, kw, c, m = extents_of(filter)
    if channels is not None and isinstance(c, int) and channels != c:
        if current_trace() is not None:
            what = f"Dimensions must be equal, but are {channels} and {c}"
            raise misfit(what, "DepthwiseConv2dNative", x.shape, filter.shape)
        raise invalid(f"input and filter must have the same depth: {channels} vs {c}")
    if channels is None:
        channels = shape(x)[1 if first else 3]
    # Each channel is a group of its own. Counted by the input's channels, so that a reshape to other ones fails.
    each = reshape(filter, (kh, kw, 1, channels * m))
    return _apply(2, x, each, stride, padding, data_format, dilations, name)


@public("nn.separable_conv2d")
def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: TensorLike,
    padding: PadLike,
    data_format: TensorLike | None = None,
    dilations: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """depthwise_conv2d, then conv2d of window 1x1. t[n, h, w, c], t[kh, kw, c, m], t[1, 1, c*m, f] -> t[n, oh, ow, f].

    Raises: ValueError if the second window is not 1x1. Source: tf.nn.separable_conv2d.
    """
    x = as_tensor(input)
    pointwise = as_tensor(pointwise_filter, x.dtype)
    if pointwise.shape.rank == 4:
        for n in pointwise.shape.as_list()[:2]:
            if n not in (1, None):
                raise ValueError(f"Dimensions {n} and 1 are not compatible")
    mixed = depthwise_conv2d(x, depthwise_filter, strides, padding, data_format, dilations)
    return conv2d(mixed, pointwise, 1, "VALID", data_format or "NHWC", name=name)


# ---- transposed -----------------------------------------------------------------------------------------------------


def _transposed(
    rank: int,
    x: TensorLike,
    filters: TensorLike,
    output_shape: SizeLike,
    strides: TensorLike,
    padding: PadLike,
    data_format: str | None,
    dilations: TensorLike | None,
    name: str | None,
) -> Any:
    """The gradient of a convolution to its input, as an op of its own."""
    first = is_channels_first(data_format, rank)
    x = as_tensor(x)
    filters = as_tensor(filters, x.dtype)
    stride = steps(strides, rank, "strides", first)
    dilation = steps(1 if dilations is None else dilations, rank, "dilations", first, "dilations")
    pads = paddings(padding, rank, first, explicit=rank == 2)
    amount = extents(output_shape)
    if amount.static is not None:
        if len(amount.static) != rank + 2:
            raise invalid(f"input_sizes must contain {rank + 2} values, but got: {len(amount.static)}")
        sizes: Any = amount.static
        sizes = (sizes[0], *sizes[2:], sizes[1]) if first else sizes
        sizes = (sizes[0], 1, *sizes[1:]) if rank == 1 else sizes
        sizes = index_vector(sizes)
    else:
        sizes = amount.tensor
        if first:
            sizes = gather(sizes, np.array([0, *range(2, rank + 2), 1], np.int32))
        if rank == 1:
            one = as_tensor([1], sizes.dtype)
            sizes = concat([sizes[:1], one, sizes[1:]], 0)
    if first:
        x = channels_last(x, rank)
    last = None if first else name
    if rank == 1:
        if not isinstance(pads, str):
            pads = ((0, 0), *pads)
        wide = named(
            None, conv2d_input_grad_p, sizes, expand_dims(filters, 0), expand_dims(x, 1),
            strides=(1, *stride), padding=pads, dilations=(1, *dilation),
        )  # fmt: skip
        result = squeeze(wide, [1], name=last)
    else:
        primitive = conv2d_input_grad_p if rank == 2 else conv3d_input_grad_p
        result = named(last, primitive, sizes, filters, x, strides=stride, padding=pads, dilations=dilation)
    return channels_first(result, rank, name) if first else result


def _transposing(rank: int, layout: str, shapes: str) -> Any:
    """The public gradient of the convolution over so many axes."""

    def transpose(
        input: TensorLike, filters: TensorLike, output_shape: SizeLike, strides: TensorLike, padding: PadLike = "SAME",
        data_format: str | None = layout, dilations: TensorLike | None = None, name: str | None = None,
    ) -> Any:  # fmt: skip
        return _transposed(rank, input, filters, output_shape, strides, padding, data_format, dilations, name)

    transpose.__name__ = transpose.__qualname__ = f"conv{rank}d_transpose"  # where pickles look for it
    transpose.__doc__ = (
        f"conv{rank}d's gradient to its input, as an op. {shapes} -> t[*output_shape].\n\n"
        f"Raises: InvalidArgumentError if conv{rank}d would not make input of a tensor of output_shape.\n"
        f"Source: tf.nn.conv{rank}d_transpose."
    )
    return public(f"nn.conv{rank}d_transpose")(transpose)


conv1d_transpose = _transposing(1, "NWC", "t[n, w, f], t[k, c, f]")
conv2d_transpose = _transposing(2, "NHWC", "t[n, h, w, f], t[kh, kw, c, f]")
conv3d_transpose = _transposing(3, "NDHWC", "t[n, d, h, w, f], t[kd, kh, kw, c, f]")


@public("nn.conv_transpose")
def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: SizeLike,
    strides: TensorLike,
    padding: PadLike = "SAME",
    data_format: str | None = None,
    dilations: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """convNd_transpose for as many spatial axes as output_shape has. Source: tf.nn.conv_transpose.

    t[n, *s, f], t[*k, c, f] -> t[*output_shape]. Raises: ValueError for another rank.
    """
    amount = extents(output_shape)
    if amount.static is None and amount.tensor.shape.rank not in (None, 1):
        raise ValueError(f"output_shape must be a vector, got shape {amount.tensor.shape}")
    known = len(amount.static) if amount.static is not None else amount.tensor.shape[0]
    if known is None or not 3 <= known <= 5:
        raise ValueError(f"`output_shape` must be of length 3, 4 or 5. Received: output_shape={output_shape}.")
    return _transposed(known - 2, input, filters, output_shape, strides, padding, data_format, dilations, name)
