"""Average pooling of every place (strides of 1) and its gradient, rewritten as sums along one axis after the other.

Rule: the same means, in the op's own dtype. A window of k x l elements is k + l additions then, not k * l, and each
adds whole rows, however few channels there are (7x7 over three channels: 400 us become 20).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.conversion import constant
from fastgraph.graph.ir import Node
from fastgraph.ops.movement import reshape
from fastgraph.ops.nn_ops import add_n
from fastgraph.ops.padding import pad
from fastgraph.ops.window_arguments import along, pad_extents

#: Elements of a window along one axis up to which they are added one after the other.
MOST = 32


def is_sliding(node: Node) -> bool:
    """Return whether the pooling is computed axis by axis."""
    if node.op.name not in ("avg_pool", "avg_pool_grad"):
        return False
    result, window = node.outputs[0].aval, node.attrs["window"]
    shapes = [result.shape, node.inputs[node.op.name != "avg_pool"].aval.shape]
    if (
        result.dtype.name not in ("float32", "float64")
        or {*node.attrs["strides"]} != {1}
        or not 1 < max(window) <= MOST
    ):
        return False
    return all(shape is not None and all(shape[1:]) and shape[0] != 0 for shape in shapes)


def sliding(node: Node, *inputs: Any) -> Any:
    """The pooling in terms of ops."""
    window, x = node.attrs["window"], inputs[-1]
    ends: Any = [node.inputs[-1].aval.shape, node.outputs[0].aval.shape]  # known but for the batch
    is_mean = node.op.name == "avg_pool"
    (_, *extents, _), (_, *places, _) = ends if is_mean else ends[::-1]
    before = [
        pad_extents(n, m, k, 1, 1, along(node.attrs["padding"], i))[0]
        for i, (n, m, k) in enumerate(zip(extents, places, window, strict=True))
    ]
    shares = _shares(extents, places, window, before)
    if is_mean:
        margins = [(a, m + k - 1 - n - a) for a, n, m, k in zip(before, extents, places, window, strict=True)]
        return _sums(x, window, margins, shares)
    margins = [(k - 1 - a, n + a - m) for a, n, m, k in zip(before, extents, places, window, strict=True)]
    return _sums(x * constant(shares, x.dtype), window, margins)


def _shares(
    extents: Sequence[int], places: Sequence[int], window: Sequence[int], before: Sequence[int]
) -> np.ndarray[Any, Any]:
    """One over the number of elements that each window has: [1, *places, 1], or one number for all."""
    counts = []
    for n, m, k, a in zip(extents, places, window, before, strict=True):
        first = np.arange(m) - a
        counts.append(np.minimum(first + k, n) - np.maximum(first, 0))
    if all((c == k).all() for c, k in zip(counts, window, strict=True)):
        return np.asarray(1 / math.prod(window))
    with np.errstate(divide="ignore"):  # windows with nothing inside
        sizes: Any = np.ix_(np.ones(1), *counts, np.ones(1))
        return np.asarray(1 / functools.reduce(np.multiply, sizes))


def _sums(x: Any, window: Sequence[int], margins: Sequence[tuple[int, int]], shares: Any = None) -> Any:
    """The sum of each window of `x` with margins of zeros (less than none: of a part of it), times its share.

    What follows the axis is one row with it, of which parts are added: whole vectors. One node adds them, so that no
    kernel computes them for each window of the next axis.
    """
    _, *extents, c = x.shape.as_list()
    summed = [i for i, (k, margin) in enumerate(zip(window, margins, strict=True)) if k > 1 or margin != (0, 0)]
    for i in summed:
        row, k, (a, b) = math.prod(extents[i + 1 :]) * c, window[i], margins[i]
        flat = reshape(x, [-1, math.prod(extents[:i]), extents[i] * row])
        if a < 0 or b < 0:
            flat = flat[:, :, max(-a, 0) * row : (extents[i] - max(-b, 0)) * row]
        if a > 0 or b > 0:
            flat = pad(flat, [(0, 0), (0, 0), (max(a, 0) * row, max(b, 0) * row)])
        extents[i] += a + b - k + 1
        length = extents[i] * row
        total = add_n([flat[:, :, j * row : j * row + length] for j in range(k)])
        if shares is not None and i == summed[-1]:
            whole = np.broadcast_to(shares, (1, *extents, c)).reshape(-1, length) if shares.ndim else shares
            total = total * constant(whole, x.dtype)
        x = reshape(total, [-1, *extents, c])
    return x
