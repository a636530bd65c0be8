"""Averages of losses over batches that replicas share: compute_average_loss, scale_regularization_loss.

Rule: both are written in other ops.
"""

from __future__ import annotations

from typing import Any

from fastgraph.core import replicas
from fastgraph.core.conversion import TensorLike
from fastgraph.core.registry import register_public
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.activations import divide_no_nan
from fastgraph.ops.arguments import as_tensor, of_dtypes, static_int
from fastgraph.ops.division import truediv
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import public
from fastgraph.ops.matmul import extents_of
from fastgraph.ops.movement import expand_dims
from fastgraph.ops.nn_ops import scalar_mul
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.runtime_checks import checked
from fastgraph.ops.space_to_batch import space_to_batch

register_public(scalar_mul, "scalar_mul")
register_public(space_to_batch, "space_to_batch_nd", "nn.space_to_batch")


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
