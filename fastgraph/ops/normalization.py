"""Moments and normalisation: by batch, by layer, by neighbouring channels, and what they are made of.

Rule: means and variances of 16-bit floats are taken in float32 and rounded once; a variance is the mean of squared
distances from the mean, so it is never negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.core.conversion import TensorLike
from fastgraph.core.name_scopes import op_scope
from fastgraph.core.tensor import Tensor
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.activations import divide_no_nan, relu, softplus
from fastgraph.ops.arguments import as_tensor, known_axes, of_dtypes, real, whole
from fastgraph.ops.comparison import logical_and
from fastgraph.ops.elementwise import (
    add,
    cast,
    identity,
    maximum,
    multiply,
    ones_like,
    select,
    square,
    squared_difference,
    stop_gradient,
    subtract,
    zeros_like,
)
from fastgraph.ops.exponentials import exp, log, rsqrt
from fastgraph.ops.exponentials import pow as power
from fastgraph.ops.families import canonical_axes, invalid, public, shape_text
from fastgraph.ops.gathering import dim
from fastgraph.ops.joining import concat
from fastgraph.ops.matmul import extents_of
from fastgraph.ops.movement import reshape
from fastgraph.ops.padding import pad
from fastgraph.ops.precise_sums import HALF
from fastgraph.ops.reduction import reduce_mean, reduce_sum
from fastgraph.ops.runtime_checks import of_rank


def _wide(x: Tensor) -> Any:
    return cast(x, "float32") if x.dtype.name in HALF else x


# ---- moments --------------------------------------------------------------------------------------------------------


@public("nn.moments")
def moments(
    x: TensorLike, axes: TensorLike, shift: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance along `axes`. f[*s] -> f[*r], f[*r]. Source: tf.nn.moments."""
    x = as_tensor(x)
    with op_scope(name, "moments"):
        wide = _wide(x)
        mean = reduce_mean(wide, axes, True, name="mean")
        variance = reduce_mean(squared_difference(wide, stop_gradient(mean)), axes, keepdims, name="variance")
        if not keepdims:
            mean = reduce_mean(mean, axes, False)
        return cast(mean, x.dtype), cast(variance, x.dtype)


@public("nn.weighted_moments")
def weighted_moments(
    x: TensorLike, axes: TensorLike, frequency_weights: TensorLike, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance along `axes` of elements that count as often as their weights say. f[*s] -> f[*r], f[*r].

    Source: tf.nn.weighted_moments.
    """
    x = as_tensor(x)
    wide = _wide(x)
    weights = cast(as_tensor(frequency_weights, x.dtype), wide.dtype)
    if weights.shape != wide.shape or not wide.shape.is_fully_defined():
        weights = add(weights, zeros_like(wide))  # each element has its own
    total = reduce_sum(weights, axes, True)
    mean = divide_no_nan(reduce_sum(weights * wide, axes, True), total)
    apart = squared_difference(wide, mean)
    variance = divide_no_nan(reduce_sum(weights * apart, axes, keepdims), reduce_sum(weights, axes, keepdims))
    if not keepdims:
        mean = reduce_mean(mean, axes, False)
    return cast(mean, x.dtype), cast(variance, x.dtype)


@public("nn.sufficient_statistics")
def sufficient_statistics(
    x: TensorLike, axes: TensorLike, shift: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Number of elements, sum, sum of squares along `axes`, and the shift. f[*s] -> f[], f[*r], f[*r], shift.

    Source: tf.nn.sufficient_statistics.
    """
    x = as_tensor(x)
    count: Any = as_tensor(1, x.dtype)
    for axis in canonical_axes(known_axes(axes), len(x.shape)):
        count = count * cast(dim(x, axis), x.dtype)
    if shift is None:
        return count, reduce_sum(x, axes, keepdims), reduce_sum(square(x), axes, keepdims), None
    shift = as_tensor(shift, x.dtype)
    moved = subtract(x, shift)
    return count, reduce_sum(moved, axes, keepdims), reduce_sum(square(moved), axes, keepdims), shift


@public("nn.normalize_moments")
def normalize_moments(
    counts: TensorLike, mean_ss: TensorLike, variance_ss: TensorLike, shift: TensorLike | None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance from what `sufficient_statistics` gives. f[], f[*r], f[*r] -> f[*r], f[*r].

    Source: tf.nn.normalize_moments.
    """
    per_element = 1.0 / as_tensor(counts)
    shifted = as_tensor(mean_ss) * per_element
    mean = shifted if shift is None else shifted + shift
    return mean, subtract(as_tensor(variance_ss) * per_element, square(shifted))


# ---- normalisation --------------------------------------------------------------------------------------------------


@public("nn.batch_normalization")
def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: TensorLike,
    name: str | None = None,
) -> Any:
    """(x - mean) / sqrt(variance + epsilon), times scale and plus offset where given; all broadcast. f[*s] -> f[*s].

    Source: Ioffe and Szegedy 2015; tf.nn.batch_normalization.
    """
    x = as_tensor(x)
    mean, variance = as_tensor(mean, x.dtype), as_tensor(variance, x.dtype)
    factor = rsqrt(variance + variance_epsilon)
    if scale is not None:
        factor = factor * as_tensor(scale, x.dtype)
    shift = -mean * factor if offset is None else as_tensor(offset, x.dtype) - mean * factor
    return add(x * cast(factor, x.dtype), cast(shift, x.dtype), name=name)


def _check_channels(x: Tensor, axis: int, **vectors: Tensor) -> None:
    n = x.shape[axis]
    for what, vector in vectors.items():
        if vector.shape.rank not in (None, 1):
            raise _invalid(f"{what} must be 1-dimensional{shape_text(vector.shape.as_list())}")
        if n is not None and vector.shape.rank == 1 and vector.shape[0] not in (None, n):
            raise _invalid(
                f"{what} must have the same number of elements as the channels of x, got {vector.shape[0]} and {n}"
            )


def _invalid(text: str) -> InvalidArgumentError:
    return invalid(text, "FusedBatchNormV3")


def fused_batch_norm(
    x: Tensor,
    scale: TensorLike,
    offset: TensorLike,
    mean: list[Any] | None = None,
    variance: list[Any] | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> Any:
    """Batch normalisation over all axes but the channels, and the mean and variance to keep.

    f[n, h, w, c] ("NCHW": f[n, c, h, w]), f32[c], f32[c] -> f[*s], f32[c], f32[c]. In training the batch's own moments
    normalise, and the running ones given move towards them by `exponential_avg_factor` (the variance as that of a
    sample: over n - 1). Otherwise the ones given normalise.

    Raises: InvalidArgumentError for shapes that do not fit; ValueError for moments that are missing.
    Source: tf.compat.v1.nn.fused_batch_norm, on the CPU.
    """
    x = as_tensor(x)
    rank = x.shape.rank
    if rank not in (4, 5):
        raise _invalid(f"input must be 4-dimensional{shape_text(x.shape.as_list())}")
    if data_format not in ("NHWC", "NCHW", "NDHWC", "NCDHW"):
        raise ValueError(f"Expected one of NHWC, NCHW, NDHWC, NCDHW for data_format, got {data_format!r}")
    axis = rank - 1 if data_format.endswith("C") else 1
    scale, offset = as_tensor(scale, "float32"), as_tensor(offset, "float32")
    _check_channels(x, axis, scale=scale, offset=offset)
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError(
            "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or `exponential_avg_factor` != "
            f"1.0. Received: `mean` {mean!r} and `variance` {variance!r}"
        )
    given: tuple[Any, Any] = (
        None if mean is None else as_tensor(mean, "float32"),
        None if variance is None else as_tensor(variance, "float32"),
    )
    others = tuple(i for i in range(rank) if i != axis)
    lined_up = tuple([-1 if i == axis else 1 for i in range(rank)]) if axis != rank - 1 else None
    wide = _wide(x)
    own, spread = given
    if is_training:
        # Both moments stay open to gradients: that of a variance does not pass through the mean.
        centre = reduce_mean(wide, others, True)
        apart = wide - centre
        own, spread = reshape(centre, [-1]), reduce_mean(square(apart), others, False)
    else:
        apart = wide - _lined_up(own, lined_up)
    factor = rsqrt(spread + max(epsilon, 1.001e-5)) * scale
    y = apart * _lined_up(factor, lined_up) + _lined_up(offset, lined_up)
    y = cast(y, x.dtype) if y.dtype is not x.dtype else identity(y, name=name) if name else y
    if not is_training:
        return y, own, spread
    count: Any = cast(1, "float32")
    for i in others:
        count = count * cast(dim(x, i), "float32")
    sample = spread * (count / maximum(count - 1.0, 1.0))
    kept_mean, kept_variance = own, sample
    if exponential_avg_factor != 1.0 and given[0] is not None and given[1] is not None:
        kept_mean = given[0] * (1.0 - exponential_avg_factor) + own * exponential_avg_factor
        kept_variance = given[1] * (1.0 - exponential_avg_factor) + sample * exponential_avg_factor
    return y, kept_mean, kept_variance


def _lined_up(vector: Tensor, shape: Sequence[int] | None) -> Any:
    """A vector of the channels as it broadcasts against x."""
    return vector if shape is None else reshape(vector, shape)


# ---- activations and losses of several ops --------------------------------------------------------------------------


@public("nn.crelu")
def crelu(features: TensorLike, axis: TensorLike | None = -1, name: str | None = None) -> Any:
    """relu of features and of minus features, joined along `axis`. f[*s, n] -> f[*s, 2n]. Source: tf.nn.crelu."""
    features = as_tensor(features)
    return relu(concat([features, -features], axis), name=name)


@public("nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, pos_weight: TensorLike, name: str | None = None
) -> Any:
    """Cross entropy of yes/no labels z where a yes counts pos_weight times. f[*s], f[*s] -> f[*s].

    (1 - z) * x + (1 + (q - 1) * z) * log(1 + exp(-x)), without overflow.
    Raises: ValueError if shapes differ. Source: tf.nn.weighted_cross_entropy_with_logits.
    """
    logits = as_tensor(logits)
    labels = as_tensor(labels, logits.dtype)
    if not labels.shape.is_compatible_with(logits.shape):
        raise ValueError(
            f"`logits` and `labels` must have the same shape, received ({logits.shape} vs {labels.shape})."
        )
    weight = (as_tensor(pos_weight, logits.dtype) - 1) * labels + ones_like(logits)
    return add((1 - labels) * logits, multiply(weight, softplus(-logits)), name=name)


@public("nn.log_poisson_loss")
def log_poisson_loss(
    targets: TensorLike, log_input: TensorLike, compute_full_loss: bool = False, name: str | None = None
) -> Any:
    """exp(c) - z * c for a Poisson count z and the log c of its rate. f[*s], f[*s] -> f[*s].

    With compute_full_loss Stirling's approximation of log(z!) is added where z > 1.
    Raises: ValueError if shapes differ. Source: tf.nn.log_poisson_loss.
    """
    log_input = as_tensor(log_input)
    targets = as_tensor(targets, log_input.dtype)
    if not log_input.shape.is_compatible_with(targets.shape):
        raise ValueError(
            f"`log_input` and `targets` must have the same shape, received ({log_input.shape} vs {targets.shape})."
        )
    loss = exp(log_input) - log_input * targets
    if not compute_full_loss:
        return loss
    stirling = targets * log(targets) - targets + 0.5 * log(6.283185307179586 * targets)
    return loss + select(logical_and(targets >= 0, targets <= 1), zeros_like(targets), stirling)


@public("nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization(
    input: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    beta: TensorLike,
    gamma: TensorLike,
    variance_epsilon: TensorLike,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Any:
    """(input - mean) / sqrt(variance + epsilon), times gamma if it is to be scaled, plus beta. f[n, h, w, c] -> same.

    Source: tf.nn.batch_norm_with_global_normalization; Ioffe and Szegedy 2015.
    """
    scale = gamma if scale_after_normalization else None
    return batch_normalization(input, mean, variance, beta, scale, variance_epsilon, name)


@public("nn.local_response_normalization", "nn.lrn")
def local_response_normalization(
    input: TensorLike, depth_radius: TensorLike = 5, bias: TensorLike = 1, alpha: TensorLike = 1,
    beta: TensorLike = 0.5, name: str | None = None,
) -> Any:  # fmt: skip
    """Each element over (bias + alpha * the squares of its channel's neighbours)**beta. f[n, h, w, c] -> same.

    Raises: InvalidArgumentError for another rank, another dtype or a negative radius. Source: Krizhevsky et al. 2012;
    tf.nn.local_response_normalization.
    """
    x = of_dtypes(as_tensor(input), "float16 bfloat16 float32")
    depth_radius = whole(depth_radius, "depth_radius")
    bias, alpha, beta = real(bias, "bias"), real(alpha, "alpha"), real(beta, "beta")
    if x.shape.rank not in (4, None):
        raise invalid("in must be 4-dimensional")
    if depth_radius < 0:
        raise invalid(f"depth_radius = {depth_radius} larger than int max")
    wide = cast(of_rank(x, 4), "float32")
    channels = wide.shape[-1]
    radius = depth_radius if channels is None else min(depth_radius, max(channels - 1, 0))
    squares = pad(square(wide), [[0, 0]] * 3 + [[radius, radius]])
    n = extents_of(wide)[-1]
    total = squares[..., :n]
    for i in range(1, 2 * radius + 1):
        total = total + squares[..., i : i + n]
    return cast(wide * power(total * alpha + bias, -beta), x.dtype, name=name)
