"""Ops of neural networks: sums of many tensors, polynomials, biases, rows of embeddings, norms of gradients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, as_dtype
from fastgraph.core.base.shapes import Aval, ShapeLike, TensorShape
from fastgraph.core.conversion import TensorLike
from fastgraph.core.op_errors import misfit
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import Tensor, convert, current_trace
from fastgraph.ops.arguments import alike, as_tensor, named, of_dtypes, word
from fastgraph.ops.comparison import is_finite
from fastgraph.ops.complex_numbers import conj, imag, real
from fastgraph.ops.deferred_calls import late
from fastgraph.ops.division import realdiv
from fastgraph.ops.elementwise import add, cast, maximum, minimum, multiply, select, square, zeros_like
from fastgraph.ops.exponentials import sqrt
from fastgraph.ops.families import Array, Builder, Node, custom, invalid, misuse, public, shape_text
from fastgraph.ops.gathering import dim, gather
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import reshape
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.runtime_checks import of_rank, with_extents

# ---- softmax --------------------------------------------------------------------------------------------------------


# ---- cross entropies ------------------------------------------------------------------------------------------------


#: Tensors that one node of add_n sums.
_AT_ONCE = 32


def _infer_add_n(*inputs: Aval) -> Aval:
    dims = inputs[0].shape
    for i, x in enumerate(inputs[1:], 1):
        if dims is None or x.shape is None:
            dims = x.shape if dims is None else dims
            continue
        if len(dims) != len(x.shape) or any(
            m is not None and n is not None and m != n for m, n in zip(dims, x.shape, strict=True)
        ):
            raise ValueError(f"Shapes must be equal: input 0 is {shape_text(dims)}, input {i} is {shape_text(x.shape)}")
        dims = tuple(n if m is None else m for m, n in zip(dims, x.shape, strict=True))
    return Aval(inputs[0].dtype, dims)


def _lower_add_n(b: Builder, node: Node) -> list[Any]:
    def element(index: Sequence[Any]) -> Any:
        total = b.input(0).at(index)
        for i in range(1, b.n_inputs):
            total = total + b.input(i).at(index)
        return total

    return [element]


@custom(
    infer=_infer_add_n,
    dtypes="summable",
    lower=_lower_add_n,
    vjp=dict(inputs=lambda dy, inputs: [dy] * len(inputs)),
    samples=lambda: [
        (tuple(np.full([2, 3], i).astype(t) for i in range(n)), {}) for t in ("float32", "int32") for n in (1, 2, 4)
    ],
    error_samples=lambda: [
        misuse(r"must have the same size and shape.  Input 0: \[2,3\] != input 1: \[2\]", np.ones([2, 3]), np.ones([2]))
    ],
)
def add_n_p(*inputs: Array) -> Any:
    """Sum of tensors of one shape, from the first to the last. t[*s]... -> t[*s]."""
    total: Any = inputs[0]
    for i, x in enumerate(inputs[1:], 1):
        if x.shape != total.shape:
            raise invalid(
                "Inputs to operation AddN of type AddN must have the same size and shape.  "
                f"Input 0: {shape_text(total.shape)} != input {i}: {shape_text(x.shape)}"
            )
        total = total + x if i == 1 or not total.ndim else np.add(total, x, out=total)
    return total


@public("add_n", "math.add_n")
def add_n(inputs: TensorLike | Iterable[TensorLike], name: str | None = None) -> Any:
    """Sum of tensors of one shape, of anything that gives them one by one. t[*s]... -> t[*s].

    Args:
        inputs: Tensors of numbers of one shape and dtype, or IndexedSlices; at least one.

    Raises:
        ValueError: There is none.
        InvalidArgumentError: Shapes or dtypes differ.

    Examples:
        >>> tf.add_n([[1, 2], [10, 20], [100, 200]])
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([111, 222], dtype=int32)>

    Source: tf.add_n.
    """
    if not isinstance(inputs, (list, tuple)):
        if hasattr(inputs, "__fg_summed__"):  # a list whose length a tensor decides
            return inputs.__fg_summed__()
        inputs = list(inputs) if isinstance(inputs, Iterable) and not isinstance(inputs, str | bytes) else []
    if not inputs:
        raise ValueError(
            "Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape."
        )
    while len(inputs) > _AT_ONCE:  # the same sums in the same order, by nodes small enough for kernels
        inputs = [add_n_p(*inputs[:_AT_ONCE]), *inputs[_AT_ONCE:]]
    return named(name, add_n_p, *inputs)


@public("nn.bias_add")
def bias_add(value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None) -> Any:
    """value plus a bias per channel (the last axis; the second of "NC..."). t[*s, c], t[c] -> t[*s, c].

    Raises: InvalidArgumentError if the channels do not fit; ValueError for another format. Source: tf.nn.bias_add.
    """
    value, bias = alike([value, bias])
    data_format = None if data_format is None else word(data_format, "data_format")
    if data_format is not None and not (data_format.startswith(("N", "NC")) or data_format == "NHWC"):
        raise ValueError(f"`data_format` must be of the form `N...C` or `NC...`. Received: data_format={data_format}")
    rank = value.shape.rank
    if rank is not None and rank < 2:
        raise invalid(f"Input tensor must be at least 2D: {shape_text(value.shape)}", "BiasAdd")
    if bias.shape.rank not in (None, 1):
        raise invalid(f"Biases must be 1D: {shape_text(bias.shape)}", "BiasAdd")
    channels_first = data_format is not None and data_format.startswith("NC") and data_format[-1] != "C"
    if channels_first and rank is None:
        return late(lambda t, b: bias_add(t, b, data_format), [value, bias], value.dtype, name=name)
    own = value.shape[1 if channels_first else -1] if rank else None
    if own is not None and bias.shape.rank == 1 and bias.shape[0] not in (None, own):
        if current_trace() is not None:
            what = f"Dimensions must be equal, but are {own} and {bias.shape[0]}"
            raise misfit(what, "BiasAdd", value.shape, bias.shape)
        raise invalid(
            "Must provide as many biases as the last dimension of the input tensor: "
            f"{shape_text(bias.shape)} vs. {shape_text(value.shape)}",
            "BiasAdd",
        )
    bias = of_rank(bias, 1)
    if None in (own, bias.shape[0]):
        # A single bias would be added to every channel: whether it is one for each is seen when this runs.
        bias = with_extents(bias, {0: dim(value, 1 if channels_first else -1)})
    if channels_first and rank is not None and rank > 2:
        bias = reshape(bias, (1, -1, *(1,) * (rank - 2)))
    return add(value, bias, name=name)


@public("nn.embedding_lookup")
def embedding_lookup(
    params: TensorLike | None, ids: TensorLike, max_norm: TensorLike | None = None, name: str | None = None
) -> Any:
    """The rows of params that ids name, shortened to norm max_norm if given. f[n, *r], i[*q] -> f[*q, *r].

    Raises: InvalidArgumentError for an id out of range. Source: tf.nn.embedding_lookup.
    """
    if params is None or (isinstance(params, (list, tuple)) and not params):
        raise ValueError("params must be specified")
    if isinstance(params, (list, tuple)):  # parts of one table, one after the other
        params = params[0] if len(params) == 1 else concat([as_tensor(p) for p in params], 0)
    rows = gather(params, ids, axis=0, name=name)
    if max_norm is None:
        return rows
    own = as_tensor(ids).shape.rank
    if own is None or rows.shape.rank is None:
        return late(lambda p, i, m: embedding_lookup(p, i, m), [params, as_tensor(ids), max_norm], rows.dtype)
    return clip_by_norm(rows, max_norm, axes=list(range(own, rows.shape.rank)))


@public("nn.l2_loss")
def l2_loss(t: TensorLike, name: str | None = None) -> Any:
    """Half the sum of squares. f[*s] -> f[]. Source: tf.nn.l2_loss."""
    t = of_dtypes(as_tensor(t), "floating")
    return multiply(reduce_sum(t * t), 0.5, name=name)


@public("nn.l2_normalize", "math.l2_normalize", "linalg.l2_normalize")
def l2_normalize(
    x: TensorLike, axis: TensorLike | None = None, epsilon: TensorLike = 1e-12, name: str | None = None,
    dim: TensorLike | None = None,
) -> Any:  # fmt: skip
    """x over its Euclidean norm along `axis`, once `dim`. t[*s] -> t[*s]. Source: tf.nn.l2_normalize."""
    if dim is not None and axis is not None:
        raise ValueError("Cannot specify both 'axis' and 'dim'.")
    x, axis = as_tensor(x), axis if dim is None else dim
    if x.dtype.is_complex:
        total = reduce_sum(square(real(x)) + square(imag(x)), axis, True)
        return multiply(x, cast(1.0 / sqrt(maximum(total, epsilon)), x.dtype), name=name)
    total = reduce_sum(x * x, axis, True)
    return multiply(x, 1.0 / sqrt(maximum(total, epsilon)), name=name)


def _norm_of(total: Tensor) -> Any:
    """The root of a sum of squares; where that is 0 its derivative is 0, not infinite."""
    positive = total > 0
    safe = select(positive, total, total * 0 + 1)
    return select(positive, sqrt(safe), total)


@public("clip_by_norm")
def clip_by_norm(t: TensorLike, clip_norm: TensorLike, axes: TensorLike | None = None, name: str | None = None) -> Any:
    """t, scaled down where its norm along `axes` is above clip_norm. f[*s] -> f[*s].

    Raises: ValueError for norms that would make it larger. Source: tf.clip_by_norm.
    """
    if isinstance(t, IndexedSlices):
        return t.with_values(clip_by_norm(t.values, clip_norm, axes, name))
    t = as_tensor(t)
    norm = _norm_of(reduce_sum(t * conj(t), axes, True))
    scaled = t * clip_norm
    t.shape.assert_is_compatible_with(scaled.shape)
    return named(name, realdiv, scaled, maximum(norm, clip_norm))


@public("linalg.global_norm")
def global_norm(t_list: TensorLike, name: str | None = None) -> Any:
    """The norm of all elements of a list of tensors (None is passed over; of none 0). f[*s]... -> f[].

    Raises: TypeError for one tensor. Source: tf.linalg.global_norm.
    """
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    given = [as_tensor(t.values if isinstance(t, IndexedSlices) else t) for t in t_list if t is not None]
    values = [of_dtypes(t, "floating") for t in given]
    squares = [reduce_sum(t * t) for t in values]
    return sqrt(add_n(squares) if squares else as_tensor(0.0), name=name)


@public("clip_by_global_norm")
def clip_by_global_norm(
    t_list: TensorLike, clip_norm: TensorLike, use_norm: TensorLike | None = None, name: str | None = None
) -> tuple[list[Tensor | Any], Tensor]:
    """A list of tensors, scaled down together where their common norm is above clip_norm; and that norm.

    A norm that is not finite makes all results NaN. Source: tf.clip_by_global_norm.
    """
    if not isinstance(t_list, (list, tuple)):
        raise TypeError("`t_list` should be a sequence of tensors. Received " + str(type(t_list)) + ".")
    norm = global_norm(t_list) if use_norm is None else as_tensor(use_norm)
    scale = clip_norm * minimum(1.0 / norm, 1.0 / cast(clip_norm, norm.dtype))
    scale = select(is_finite(norm), scale, scale * 0 + float("nan"))
    return [_scaled(t, scale) for t in t_list], norm


def _scaled(t: TensorLike | None, scale: Tensor) -> Any:
    """t * scale; None and IndexedSlices stay what they are."""
    if t is None:
        return None
    if isinstance(t, IndexedSlices):
        return t.with_values(t.values * cast(scale, t.values.dtype))
    t = as_tensor(t)
    return t * cast(scale, t.dtype)


@public("math.accumulate_n")
def accumulate_n(
    inputs: Sequence[TensorLike], shape: ShapeLike = None, tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Sum of a list of tensors of one shape. t[*s]... -> t[*s].

    Raises: ValueError for an empty list or shapes that differ, TypeError if they are not of `tensor_dtype`.
    Source: tf.math.accumulate_n.
    """
    if hasattr(inputs, "__fg_summed__"):  # a list whose length a tensor decides
        inputs = [inputs.__fg_summed__()]
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("inputs must be a list of at least one Tensor with the same dtype and shape")
    tensors = [as_tensor(x) for x in inputs]
    if tensor_dtype is not None and as_dtype(tensor_dtype) is not tensors[0].dtype:
        raise TypeError(
            f"The `tensor_dtype` argument is {as_dtype(tensor_dtype)!r}, but `input` is of type {tensors[0].dtype!r}. "
            "These must be equal. Try casting the input to the desired type."
        )
    if any(x.dtype is not tensors[0].dtype for x in tensors):
        raise ValueError("inputs must be a list of at least one Tensor with the same dtype and shape")
    wanted = TensorShape(shape) if shape is not None else tensors[0].shape
    for x in tensors:
        if not x.shape.is_compatible_with(wanted):
            raise ValueError(f"Shapes {wanted} and {x.shape} are not compatible")
    return add_n(tensors, name=name)


@public("math.polyval")
def polyval(coeffs: TensorLike, x: TensorLike, name: str | None = None) -> Any:
    """The polynomial of these coefficients, the highest power first, at x. [t[*s], ...], t[*s] -> t[*s].

    By Horner's rule. Raises: ValueError if coeffs is no list. Source: tf.math.polyval.
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    x = as_tensor(x)
    if not coeffs:
        return zeros_like(x)
    total = as_tensor(coeffs[0], x.dtype)  # not 0 * x + coeffs[0]: x may be infinite
    for c in coeffs[1:]:
        total = as_tensor(c, x.dtype) + total * x
    return total


@public("math.scalar_mul")
def scalar_mul(scalar: TensorLike, x: TensorLike, name: str | None = None) -> Any:
    """A scalar times a tensor. t[], t[*s] -> t[*s]. Raises: ValueError for no scalar, or another dtype.

    Source: tf.math.scalar_mul.
    """
    if isinstance(x, IndexedSlices):
        return x.with_values(scalar_mul(scalar, x.values, name))
    x = as_tensor(x)
    factor = convert(scalar, x.dtype)
    if factor.shape.rank not in (None, 0):
        raise ValueError(f"The input scalar must be a 0-D value. Received shape {factor.shape}.")
    return multiply(factor, x, name=name)
