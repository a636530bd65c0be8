"""Small functions about losses and normalisation: averages over batches, local responses, moments given.

Rule: all are written in other ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastgraph.core import replicas
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.core.registry import register_public
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.activations import divide_no_nan
from fastgraph.ops.arguments import as_tensor, of_dtypes, real, static_int, whole
from fastgraph.ops.array_ops import scalar_mul
from fastgraph.ops.comparison import greater_equal
from fastgraph.ops.division import realdiv, truediv
from fastgraph.ops.elementwise import cast, multiply, select, square, zeros_like_p
from fastgraph.ops.exponentials import pow as power
from fastgraph.ops.families import invalid, public
from fastgraph.ops.joining import stack
from fastgraph.ops.matmul import extents_of
from fastgraph.ops.movement import expand_dims, shape
from fastgraph.ops.normalization import batch_normalization
from fastgraph.ops.padding import pad
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.runtime_checks import checked, of_rank
from fastgraph.ops.space_to_batch import space_to_batch

register_public(scalar_mul, "scalar_mul")
register_public(space_to_batch, "space_to_batch_nd", "nn.space_to_batch")


@public("realdiv")
def realdiv_(x: TensorLike, y: TensorLike, name: str | None = None) -> Any:
    """Quotient x / y of floats or complex numbers. f[*s], f[*s] -> f[*s], broadcasting. Source: tf.realdiv."""
    first = as_tensor(x)
    return realdiv(first, as_tensor(y, first.dtype))


@public("parallel_stack")
def parallel_stack(values: TensorLike, name: str | None = "parallel_stack") -> Any:
    """Tensors of one shape along a new first axis, in graphs only. t[*s]... -> t[n, *s].

    Raises: RuntimeError in eager mode. Source: tf.parallel_stack.
    """
    if current_trace() is None:
        raise RuntimeError("tf.parallel_stack() is not compatible with eager execution.")
    return stack(values, 0)


# ---- losses ---------------------------------------------------------------------------------------------------------


@public("nn.compute_average_loss")
def compute_average_loss(
    per_example_loss: TensorLike, sample_weight: TensorLike | None = None, global_batch_size: TensorLike | None = None
) -> Any:
    """The sum of losses, weighted, over the size of the batch: global_batch_size, or the loss's first extent.

    That of a replica is the extent times their number. f[n, *s] -> f[]. Raises: ValueError for a scalar loss or a size
    that is no scalar; TypeError for a size that is no integer; InvalidArgumentError for a negative one and losses that
    are no numbers; RuntimeError between replicas. Source: tf.nn.compute_average_loss.
    """
    loss = as_tensor(per_example_loss)
    if loss.shape.rank == 0:
        raise ValueError(
            "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1. "
            f"Received per_example_loss={per_example_loss!s} with rank 0"
        )
    loss = of_dtypes(loss, "summable")
    if not loss.dtype.is_floating and not loss.dtype.is_complex:
        loss = cast(loss, "float64")
    if sample_weight is not None:
        weight = cast(as_tensor(sample_weight), loss.dtype)
        while weight.shape.rank is not None and 0 < weight.shape.rank < (loss.shape.rank or 0):
            weight = expand_dims(weight, -1)
        loss = loss * weight
    if global_batch_size is None:
        _check_replica("compute_average_loss")
        size: Any = extents_of(loss)[0]
        if (n := replicas.count()) > 1:
            size = size * n
    else:
        size = as_tensor(global_batch_size)
        if size.shape.rank not in (0, None):
            raise ValueError(
                f"global_batch_size must be scalar..  Expected scalar shape, saw shape: {size.shape.as_list()}."
            )
        if not size.dtype.is_integer:
            raise TypeError(
                'global_batch_size must be an integer..  Expected "x" to be integer type.  Found: tensor of dtype '
                f"{size.dtype!r}"
            )
        known = static_int(size)
        if known is not None and known < 0:
            raise InvalidArgumentError(None, None, "global_batch_size must be non-negative.")
        size = size if known is not None else checked(size, 0, 2**63 - 1, "global_batch_size must be non-negative.")
    return divide_no_nan(reduce_sum(loss), cast(as_tensor(size), loss.dtype))


@public("nn.scale_regularization_loss")
def scale_regularization_loss(regularization_loss: TensorLike) -> Any:
    """The sum of a regularisation loss over the number of replicas; of integers a float. f[*s] -> f[].

    Raises: RuntimeError between replicas. Source: tf.nn.scale_regularization_loss.
    """
    _check_replica("scale_regularization_loss")
    return truediv(reduce_sum(regularization_loss), replicas.count())


def _check_replica(name: str) -> None:
    if replicas.between():
        raise RuntimeError(
            f"You are calling `{name}` in cross replica context, while it was expected to be called in replica context."
        )


# ---- normalisation --------------------------------------------------------------------------------------------------


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


# ---- dropout --------------------------------------------------------------------------------------------------------


@public("nn.experimental.general_dropout")
def general_dropout(
    x: TensorLike, rate: TensorLike, uniform_sampler: Callable[..., Any], noise_shape: SizeLike = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """x with 0 where uniform_sampler(shape=, dtype=) gives less than rate, the others over 1 - rate. f[*s] -> f[*s].

    Raises: ValueError for integers or a rate outside [0, 1). Source: tf.nn.experimental.general_dropout.
    """
    x = as_tensor(x)
    if not x.dtype.is_floating:
        raise ValueError(
            f"`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype={x.dtype}"
        )
    if isinstance(rate, (int, float)) and not isinstance(rate, bool):
        if not 0 <= rate < 1:
            raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
        if rate == 0:
            return x
    elif not isinstance(rate, Tensor):
        raise ValueError(f"`rate` must be a scalar or scalar tensor. Received: rate={rate!s}")
    share = as_tensor(rate, x.dtype)
    if noise_shape is None:
        dims: Any = x.shape.as_list() if x.shape.is_fully_defined() else shape(x)
    elif isinstance(noise_shape, (list, tuple)):
        own = extents_of(x)
        dims = [own[i] if n is None else n for i, n in enumerate(noise_shape)]
    else:
        dims = noise_shape
    drawn = uniform_sampler(shape=dims, dtype=x.dtype)
    scaled = multiply(x, 1.0 / (1.0 - share))
    return select(greater_equal(as_tensor(drawn), share), scaled, zeros_like_p(scaled))
