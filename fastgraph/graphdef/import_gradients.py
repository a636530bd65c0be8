"""TensorFlow's gradient operations in a graph that is imported: each is the gradient of the operation it belongs to.

Rule: a gradient is taken by a tape of ops that have gradients themselves, so that gradients of gradients follow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.registry import public_function
from fastgraph.core.tape.gradient_tape import GradientTape
from fastgraph.graphdef.import_values import fixed
from fastgraph.ops import convolutions, fractional_pooling, normalization, patches, poolings
from fastgraph.ops.families import invalid, shape_text

Make = Callable[[Any, list[Any], dict[str, Any]], Any]
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def slopes_of(forward: Callable[..., Any], sources: list[Any], dy: object) -> list[Any]:
    """The gradients of forward(*sources), where `dy` is that of its result; those of integers in float64."""
    dtypes, cast = [each.dtype for each in sources], public_function("cast")
    if any(dtype.is_integer for dtype in dtypes):
        found = slopes_of(forward, [cast(each, "float64") for each in sources], cast(dy, "float64"))
        return [cast(each, dtype) for each, dtype in zip(found, dtypes, strict=True)]
    tape = GradientTape()
    with tape:
        sources = [public_function("identity")(each) for each in sources]
        tape.watch(sources)
        y = forward(*sources)
    return tape.gradient(y, sources, output_gradients=dy)


def _of_input(forward: Callable[..., Any]) -> Make:
    """An operation that is given dy and the input of `forward`."""
    return lambda name, inputs, attrs: slopes_of(forward, [inputs[1]], inputs[0])[0]


def _of_output(slope: Callable[[Any], Any]) -> Make:
    """An operation that is given dy and the result y: dy times the slope there."""
    return lambda name, inputs, attrs: inputs[0] * slope(inputs[1])


def _cholesky(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """The factor of a matrix, and the gradient to it -> that to the matrix."""
    factor, dy = inputs
    matrix = public_function("matmul")(factor, factor, adjoint_b=True)
    return slopes_of(public_function("linalg.cholesky"), [matrix], dy)[0]


def _quantized(name: str, inputs: list[Any], attrs: dict[str, Any]) -> list[Any]:
    """dy, x, least, largest: dy where x lies between these, which have no gradient."""
    dy, x, least, largest = inputs
    axis = attrs.get("axis", -1)
    if axis != -1:
        dims = [-1 if i == axis else 1 for i in range(x.shape.rank)]
        least, largest = (public_function("reshape")(each, dims) for each in (least, largest))
    zeros = public_function("zeros_like")
    inside = public_function("logical_and")(x >= least, x <= largest)
    return [_where(inside, dy, zeros(dy)), zeros(inputs[2]), zeros(inputs[3])]


def _where(condition: object, x: object, y: object) -> Any:
    return public_function("where")(condition, x, y)


def _ones(like: object) -> Any:
    return public_function("ones_like")(like)


def explicit(attrs: dict[str, Any]) -> Any:
    """The attribute padding, with the numbers where it is EXPLICIT."""
    if attrs["padding"] != "EXPLICIT":
        return attrs["padding"]
    return np.reshape(attrs["explicit_paddings"], (-1, 2)).tolist()


def _bias(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """dy[*s, c] ("NCHW": dy[n, c, *s]) -> dy[c]: its sum over all axes but the channels."""
    dy = inputs[0]
    rank = dy.shape.rank
    if rank is None and attrs.get("data_format", "NHWC") == "NHWC":
        rows = public_function("reshape")(dy, public_function("stack")([-1, public_function("shape")(dy)[-1]]))
        return public_function("reduce_sum")(rows, 0, name=name)
    at = 1 if attrs.get("data_format", "NHWC") == "NCHW" else rank - 1
    return public_function("reduce_sum")(dy, [i for i in range(rank) if i != at], name=name)


def pool(function: Callable[..., Any], layout: str) -> Make:
    """A pooling of the attributes; `layout` is what data_format is if nothing is said."""

    def make(name: str | None, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        given = attrs.get("data_format", layout)
        return function(inputs[0], attrs["ksize"], attrs["strides"], explicit(attrs), given, name)

    return make


def _max_pool(forward: Make) -> Make:
    """x, y, dy -> dx."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        def pooled(x: Any) -> Any:
            y = forward(None, [x], attrs)
            for each, what in ((inputs[1], "orig_output"), (inputs[2], "grad")):
                if not each.shape.is_compatible_with(y.shape):
                    wanted, got = shape_text(y.shape), shape_text(each.shape)
                    raise invalid(f"Expected {what} shape to be {wanted}, but got {got}")
            return y

        return slopes_of(pooled, inputs[:1], inputs[2])[0]

    return make


def _max_pool_twice(backward: Make) -> Make:
    """x, y, the gradient to dx -> that to dy, which dx is linear in."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        x, y, g = inputs
        return slopes_of(lambda dy: backward(name, [x, y, dy], attrs), [public_function("zeros_like")(y)], g)[0]

    return make


def _of_shape(forward: Make) -> Make:
    """An operation of one tensor that is linear: the shape of that, dy -> dx."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        zeros = public_function("zeros")(inputs[0], inputs[1].dtype)
        return slopes_of(lambda x: forward(None, [x], attrs), [zeros], inputs[1])[0]

    return make


def _mirror_pad(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """dy of the larger tensor and the amounts -> that of the smaller one."""
    dy, amounts = inputs[0], fixed(inputs[1], f"Node '{name}': the paddings")
    dims = public_function("shape")(dy) - np.asarray(amounts).sum(1).astype(np.int32)
    zeros = public_function("zeros")(dims, dy.dtype)
    return slopes_of(lambda x: public_function("pad")(x, amounts, attrs["mode"]), [zeros], dy)[0]


def batch_norm(name: str | None, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """y, mean and variance to keep, and what the gradient operation asks for: the moments of x, and nothing."""
    x, scale, offset, mean, variance = inputs
    epsilon, layout = attrs.get("epsilon", 1e-4), attrs.get("data_format", "NHWC")
    nothing = public_function("zeros")([0], scale.dtype)
    if attrs.get("is_training", True):
        share = attrs.get("exponential_avg_factor", 1.0)
        kept = {} if share == 1.0 else {"mean": mean, "variance": variance, "exponential_avg_factor": share}
        made = normalization.fused_batch_norm(x, scale, offset, epsilon=epsilon, data_format=layout, name=name, **kept)
        axes = [i for i in range(x.shape.rank) if i != (1 if layout.startswith("NC") else x.shape.rank - 1)]
        return [*made, *normalization.moments(x, axes), nothing]
    if layout.startswith("NC"):
        dims = [1, -1] + [1] * (x.shape.rank - 2)
        wide = [public_function("reshape")(each, dims) for each in (mean, variance, offset, scale)]
    else:
        wide = [mean, variance, offset, scale]
    y = normalization.batch_normalization(x, *wide, epsilon, name)
    return [y, mean, variance, mean, variance, nothing]


def _batch_norm_grad(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """dy, x, scale, mean, variance -> dx, dscale, doffset. In training the moments are the batch's, which x decides."""
    dy, x, scale, mean, variance = inputs[:5]
    zeros = public_function("zeros_like")(scale)

    def forward(x: object, scale: object, offset: object) -> Any:
        return batch_norm(None, [x, scale, offset, mean, variance], attrs)[0]

    nothing = public_function("zeros")([0], scale.dtype)
    return [*slopes_of(forward, [x, scale, zeros], dy), nothing, nothing]


def conv(function: Callable[..., Any], layout: str) -> Make:
    """A convolution of the attributes; `layout` is what data_format is if nothing is said."""

    def make(name: str | None, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        given, dilations = attrs.get("data_format", layout), attrs.get("dilations", [1] * len(layout))
        return function(*inputs, attrs["strides"], explicit(attrs), given, dilations, name)

    return make


def depthwise(name: str | None, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    layout, dilations = attrs.get("data_format", "NHWC"), attrs.get("dilations", [1, 1, 1, 1])
    at = 1 if layout == "NHWC" else 2
    return convolutions.depthwise_conv2d(
        *inputs, attrs["strides"], explicit(attrs), layout, dilations[at : at + 2], name
    )


def _of_one(forward: Callable[..., Any], which: int, *, by_shape: bool = True) -> Make:
    """image, filter, dy -> the gradient to the image (0) or the filter (1); of that one the shape is given."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        given, dy = list(inputs[:2]), inputs[2]
        if by_shape:
            given[which] = public_function("zeros")(given[which], dy.dtype)
        return slopes_of(lambda *both: forward(None, list(both), attrs), given, dy)[which]

    return make


def dilation(name: str | None, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return patches.dilation2d(*inputs, attrs["strides"], attrs["padding"], "NHWC", attrs["rates"], name)


def local_response(name: str | None, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    said = {key: attrs[key] for key in ("depth_radius", "bias", "alpha", "beta") if key in attrs}
    return normalization.local_response_normalization(inputs[0], **said, name=name)


def _of_regions(forward: Callable[..., Any], by_shape: bool) -> Make:
    """x (or its shape), perhaps y, dy, bounds of rows and of columns -> dx."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        *given, dy, rows, columns = inputs
        x = public_function("zeros")(given[0], dy.dtype) if by_shape else given[0]
        return slopes_of(lambda x: forward(x, (rows, columns), attrs.get("overlapping", False)), [x], dy)[0]

    return make


def _cross_entropy(forward: str) -> Make:
    """The loss of each row, and its gradient to the logits."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        logits, labels = inputs

        def loss(x: object) -> Any:
            return public_function(forward)(labels=labels, logits=x)

        found = public_function(forward)(labels=labels, logits=logits, name=name)
        return [found, slopes_of(loss, [logits], _ones(found))[0]]

    return make


CONV2D, CONV3D = conv(convolutions.conv2d, "NHWC"), conv(convolutions.conv3d, "NDHWC")
MAX_POOL, MAX_POOL_3D = pool(poolings.max_pool2d, "NHWC"), pool(poolings.max_pool3d, "NDHWC")
AVG_POOL, AVG_POOL_3D = pool(poolings.avg_pool2d, "NHWC"), pool(poolings.avg_pool3d, "NDHWC")

GRADIENTS: dict[str, Make] = {
    "AvgPool3DGrad": _of_shape(AVG_POOL_3D),
    "BiasAddGrad": _bias,
    "CholeskyGrad": _cholesky,
    "DepthwiseConv2dNativeBackpropFilter": _of_one(depthwise, 1),
    "DepthwiseConv2dNativeBackpropInput": _of_one(depthwise, 0),
    "Dilation2DBackpropFilter": _of_one(dilation, 1, by_shape=False),
    "Dilation2DBackpropInput": _of_one(dilation, 0, by_shape=False),
    "EluGrad": _of_output(lambda y: _where(y < 0, y + 1, _ones(y))),
    "FractionalAvgPoolGrad": _of_regions(fractional_pooling.means_of_regions, True),
    "FractionalMaxPoolGrad": _of_regions(fractional_pooling.greatest_of_regions, False),
    "FusedBatchNormGrad": _batch_norm_grad,
    "FusedBatchNormGradV2": _batch_norm_grad,
    "FusedBatchNormGradV3": _batch_norm_grad,
    "Inv": lambda name, inputs, attrs: public_function("math.reciprocal")(inputs[0], name),
    "InvGrad": lambda name, inputs, attrs: -inputs[1] * inputs[0] * inputs[0],
    "LRNGrad": lambda name, inputs, attrs: slopes_of(
        lambda x: local_response(None, [x], attrs), [inputs[1]], inputs[0]
    )[0],
    "MaxPool3DGrad": _max_pool(MAX_POOL_3D),
    "MaxPool3DGradGrad": _max_pool_twice(_max_pool(MAX_POOL_3D)),
    "MaxPoolGrad": _max_pool(MAX_POOL),
    "MaxPoolGradGrad": _max_pool_twice(_max_pool(MAX_POOL)),
    "MirrorPadGrad": _mirror_pad,
    "QuantizeAndDequantizeV4Grad": _quantized,
    "SeluGrad": _of_output(lambda y: _where(y < 0, y + _SELU_SCALE * _SELU_ALPHA, _SELU_SCALE * _ones(y))),
    "SoftmaxCrossEntropyWithLogits": _cross_entropy("nn.softmax_cross_entropy_with_logits"),
    "SoftplusGrad": _of_input(lambda x: public_function("math.softplus")(x)),
    "SoftsignGrad": _of_input(lambda x: public_function("nn.softsign")(x)),
    "SparseSoftmaxCrossEntropyWithLogits": _cross_entropy("nn.sparse_softmax_cross_entropy_with_logits"),
}

#: Of types that a row has, for the attributes that it does not: other layouts, paddings that are numbers.
GRADIENT_VARIANTS: dict[str, Make] = {
    "AvgPoolGrad": _of_shape(AVG_POOL),
    "Conv2DBackpropFilter": _of_one(CONV2D, 1),
    "Conv2DBackpropInput": _of_one(CONV2D, 0),
    "Conv3DBackpropFilterV2": _of_one(CONV3D, 1),
    "Conv3DBackpropInputV2": _of_one(CONV3D, 0),
}
