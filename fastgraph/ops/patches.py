"""Windows laid out as patches: dilation2d, erosion2d, extract_volume_patches, max_pool_with_argmax.

Rule: x is [batch, *spatial, channels]; a patch is a gather along each spatial axis, so sizes may be unknown until the
op runs, and gradients of every order and kernels come from the ops it is made of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, as_dtype, int64
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.ops.arguments import as_tensor, index_list, named, not_allowed, of_dtypes, refused
from fastgraph.ops.broadcasting import broadcast_to
from fastgraph.ops.comparison import greater, logical_and
from fastgraph.ops.creation import range_
from fastgraph.ops.elementwise import cast, identity, maximum, minimum, select, zeros_like_p
from fastgraph.ops.families import invalid, public, shape_text
from fastgraph.ops.gathering import gather
from fastgraph.ops.matmul import extents_of, product_of
from fastgraph.ops.movement import expand_dims, reshape, shape, transpose_p
from fastgraph.ops.padding import pad, reverse
from fastgraph.ops.pooling_primitives import max_pool_p, max_pool_pick_p
from fastgraph.ops.runtime_checks import of_rank
from fastgraph.ops.window_arguments import PadLike, infer_extents, paddings, steps


class Windows(NamedTuple):
    """The elements in each window."""

    values: Any  # [n, o1, k1, o2, k2, ..., c]
    inside: Any  # bool, broadcasts to values; None where every place is
    out: list[Any]


def windows_of(
    x: Tensor, window: Sequence[int], strides: Sequence[int], padding: str, dilations: Sequence[int]
) -> Windows:
    """The elements of each window; places outside x repeat its border."""
    rank, extents = len(window), extents_of(x)
    inside, out = None, []
    along = _margins(x, window, strides, padding, dilations)
    for i, (k, s, d, (count, missing)) in enumerate(zip(window, strides, dilations, along, strict=True)):
        n, first = extents[i + 1], missing // 2
        places = expand_dims(range_(count) * s - first, 1) + np.arange(k, dtype=np.int32) * d
        if padding == "SAME":
            fits = reshape(
                logical_and(places >= 0, places < n), [*[1] * (2 * i + 1), count, k, *[1] * (2 * rank - 2 * i - 1)]
            )
            inside = fits if inside is None else logical_and(inside, fits)
            places = minimum(maximum(places, 0), n - 1)
        x = gather(x, places, axis=2 * i + 1)
        out.append(count)
    return Windows(x, inside, out)


def _margins(
    x: Tensor, window: Sequence[int], strides: Sequence[int], padding: str, dilations: Sequence[int]
) -> list[tuple[Any, Any]]:
    """Along each spatial axis, how many windows there are, and how many elements they reach beyond x."""
    try:
        infer_extents(x.shape[1:-1].as_list(), window, strides, padding, dilations)
    except ValueError as error:  # no window fits
        raise invalid(str(error)) if current_trace() is None else error from None
    found = []
    for n, k, s, d in zip(extents_of(x)[1:], window, strides, dilations, strict=False):
        reach = (k - 1) * d + 1
        count: Any = -(-n // s) if padding == "SAME" else (n - reach + s) // s
        missing = (count - 1) * s + reach - n if padding == "SAME" else 0
        found.append((count, max(missing, 0) if isinstance(missing, int) else maximum(missing, 0)))
    return found


# ---- morphology -----------------------------------------------------------------------------------------------------


def spatial(value: TensorLike, rank: int, what: str) -> tuple[int, ...]:
    """Return the numbers of [1, *spatial, 1]. Raises InvalidArgumentError for others at its ends, or other lengths."""
    given = index_list(value, what)
    if len(given) != rank + 2:
        raise invalid(f"{what} must have {rank + 2} elements, got {len(given)}")
    return steps(given, rank, what, False, what)


@public("nn.dilation2d")
def dilation2d(
    input: TensorLike, filters: TensorLike, strides: TensorLike, padding: str, data_format: str, dilations: TensorLike,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The largest sum of each window's elements and the filter's, per channel.

    t[n, h, w, c], t[kh, kw, c] -> t[n, *o, c].
    Raises: ValueError for another data_format; InvalidArgumentError for shapes that do not fit. Source: Serra 1982;
    tf.nn.dilation2d.
    """
    if data_format != "NHWC":
        raise ValueError(
            f"`data_format` values other than 'NHWC' are not supported. Received: data_format={data_format}"
        )
    x = as_tensor(input)
    kernel = as_tensor(filters, x.dtype)
    x, kernel = of_rank(x, 4), of_rank(kernel, 3)
    if x.shape.rank != 4:
        raise invalid(f"input must be 4-dimensional: {shape_text(x.shape.as_list())}")
    if kernel.shape.rank != 3:
        raise invalid(f"filter must be 3-dimensional: {shape_text(kernel.shape.as_list())}")
    if None not in (x.shape[-1], kernel.shape[-1]) and x.shape[-1] != kernel.shape[-1]:
        raise invalid(f"input and filter must have the same depth: {x.shape[-1]} vs {kernel.shape[-1]}")
    pads = paddings(padding, 2, False, explicit=False)
    kh, kw, _ = extents_of(kernel)
    if not isinstance(kh, int) or not isinstance(kw, int):
        raise NotImplementedError("dilation2d needs a filter of known height and width")
    assert isinstance(pads, str)
    stride, rate = spatial(strides, 2, "strides"), spatial(dilations, 2, "dilations")
    best: Any = None
    for each in _sums(x, kernel, (kh, kw), stride, pads, rate):  # the first of equal ones takes the gradient
        best = each if best is None else select(greater(each, best), each, best)
    return best if name is None else identity(best, name=name)


def _sums(
    x: Tensor, kernel: Tensor, window: tuple[int, int], strides: Sequence[int], padding: str, rates: Sequence[int]
) -> list[Any]:
    """Sums of elements of x with each element of the filter, the least number outside. t[n, *o, c] each."""
    taps = list(np.ndindex(*window))
    if not x.dtype.is_floating:  # the least integer has no sums
        found = windows_of(x, window, strides, padding, rates)
        total, low = found.values + reshape(kernel, [1, 1, window[0], 1, window[1], -1]), x.dtype.min
        if found.inside is not None:
            total = select(found.inside, total, as_tensor(np.asarray(low, x.dtype.numpy_dtype)))
        return [total[:, :, i, :, j] for i, j in taps]
    (rows, below), (columns, beside) = _margins(x, window, strides, padding, rates)
    around = [[0, 0], *[[n // 2, n - n // 2] for n in (below, beside)], [0, 0]]
    whole = pad(x, around, constant_values=-math.inf) if padding == "SAME" else x

    def part(first: int, count: Any, step: int) -> slice:
        return slice(first, first + (count - 1) * step + 1, step)

    return [
        whole[:, part(i * rates[0], rows, strides[0]), part(j * rates[1], columns, strides[1])] + kernel[i, j]
        for i, j in taps
    ]


@public("nn.erosion2d")
def erosion2d(
    value: TensorLike, filters: TensorLike, strides: TensorLike, padding: str, data_format: str, dilations: TensorLike,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The least difference of each window's elements and the filter's, turned round. t[n, h, w, c] -> t[n, *o, c].

    Raises: as dilation2d. Source: Serra 1982; tf.nn.erosion2d.
    """
    x = as_tensor(value)
    turned = reverse(as_tensor(filters, x.dtype), [0, 1])
    return -dilation2d(-x, turned, strides, padding, data_format, dilations, name)


@public("extract_volume_patches")
def extract_volume_patches(
    input: TensorLike, ksizes: TensorLike, strides: TensorLike, padding: str, name: str | None = None
) -> Any:
    """The elements of each window of a volume as channels, 0 outside. t[n, d, h, w, c] -> t[n, *o, prod(k) * c].

    Raises: InvalidArgumentError for another rank or dtype, or windows over batch or channels.
    Source: tf.extract_volume_patches.
    """
    x = of_dtypes(as_tensor(input), "real")
    if x.shape.rank != 5:
        raise invalid(f"input must be 5-dimensional: {shape_text(x.shape.as_list())}")
    window, stride = spatial(ksizes, 3, "ksizes"), spatial(strides, 3, "strides")
    pads = paddings(padding, 3, False, explicit=False)
    assert isinstance(pads, str)
    found = windows_of(x, window, stride, pads, (1, 1, 1))
    values = found.values
    if found.inside is not None:
        values = select(found.inside, values, zeros_like_p(values))
    extents = extents_of(x)
    rows = transpose_p(values, perm=(0, 1, 3, 5, 2, 4, 6, 7))
    return reshape(rows, [extents[0], *found.out, math.prod(window) * extents[4]], name=name)


# ---- where a maximum comes from -------------------------------------------------------------------------------------


class MaxPoolWithArgmax(NamedTuple):
    """Results of max_pool_with_argmax."""

    output: Tensor
    argmax: Tensor


@public("nn.max_pool_with_argmax")
def max_pool_with_argmax(
    input: TensorLike,
    ksize: TensorLike,
    strides: TensorLike,
    padding: PadLike,
    data_format: str = "NHWC",
    output_dtype: DTypeLike = int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> MaxPoolWithArgmax:
    """The largest element of each window, and where it stands: (row * width + column) * channels + channel.

    t[n, h, w, c] -> t[n, *o, c], i[n, *o, c].
    Raises: ValueError for another data_format; InvalidArgumentError for windows that do not fit. Source:
    tf.nn.max_pool_with_argmax.
    """
    if data_format != "NHWC":
        raise ValueError(
            f"`data_format` values other  than 'NHWC' are not supported. Received: data_format={data_format}"
        )
    kind = as_dtype(output_dtype)
    if kind.name not in ("int32", "int64"):
        raise refused(not_allowed(kind, "Targmax", "int32, int64"))
    x = of_rank(as_tensor(input), 4)
    window, stride = steps(ksize, 2, "ksize", False), steps(strides, 2, "strides", False)
    pads = paddings(padding, 2, False, explicit=False)
    largest = named(name, max_pool_p, x, window=window, strides=stride, padding=pads)
    n, h, w, c = extents_of(x)
    # float64 holds all numbers of places, and all elements but the largest integers.
    places = cast(range_(product_of([n, h, w, c]) if include_batch_in_index else product_of([h, w, c])), "float64")
    places = reshape(places, [n if include_batch_in_index else 1, h, w, c])
    numbers = cast(x, "float64")
    found = max_pool_pick_p(numbers, broadcast_to(places, shape(x)), window=window, strides=stride, padding=pads)
    return MaxPoolWithArgmax(largest, cast(found, kind))
