"""Convolutions of NumPy arrays: x [batch, *spatial, c], filter [*window, c / groups, f]; see convolution_primitives.py.

Rule: blocks of sums in registers compute them (`convolutions`); where those do not serve, NumPy does (`*_by_numpy`),
which is also the oracle of their tests. There windows become rows of a matrix and the sum over a window one product, a
slab of positions at a time, so that rows are still near when they are multiplied. Groups go position by position: their
products are too thin to copy for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from fastgraph.core.native import convolutions as blocks
from fastgraph.ops.families import Array
from fastgraph.ops.precise_sums import is_half
from fastgraph.ops.window_arguments import Padding, Steps, extents_and_pads, inner, out_extents, padded, taps

#: Numbers of a slab: a few hundred rows of most windows, which the second cache holds.
SLAB = 1 << 18


def forward(x: Array, filter: Array, strides: Steps, padding: Padding, dilations: Steps) -> Any:
    """The convolution [batch, *out, f]."""
    out, pads = extents_and_pads(x.shape, filter.shape, strides, padding, dilations)
    found = blocks.forward(x, filter, out, strides, pads, dilations) if filter.size else None  # of no features
    return found if found is not None else forward_by_numpy(x, filter, strides, padding, dilations)


def input_gradient(
    dims: tuple[int, ...], filter: Array, dy: Array, strides: Steps, padding: Padding, dilations: Steps
) -> Any:
    """The gradient to an input of shape `dims` from dy, which lies like the result."""
    if not filter.size:
        return np.zeros(dims, dy.dtype)
    _, pads = extents_and_pads(dims, filter.shape, strides, padding, dilations)
    found = blocks.input_gradient(dims, filter, dy, strides, pads, dilations)
    return found if found is not None else input_gradient_by_numpy(dims, filter, dy, strides, padding, dilations)


def filter_gradient(
    x: Array, dims: tuple[int, ...], dy: Array, strides: Steps, padding: Padding, dilations: Steps
) -> Any:
    """The gradient to a filter of shape `dims` from dy, which lies like the result."""
    _, pads = extents_and_pads(x.shape, dims, strides, padding, dilations)
    found = blocks.filter_gradient(x, dims, dy, strides, pads, dilations) if 0 not in dims else None
    return found if found is not None else filter_gradient_by_numpy(x, dims, dy, strides, padding, dilations)


def forward_by_numpy(x: Array, filter: Array, strides: Steps, padding: Padding, dilations: Steps) -> Any:
    """`forward` as products of NumPy's."""
    window = filter.shape[:-2]
    out = out_extents(x.shape[1:-1], window, strides, padding, dilations)
    x_wide, w = _wide(padded(x, out, window, strides, padding, dilations), filter)
    return _product(x_wide, w, out, strides, dilations).astype(x.dtype, copy=False)


def input_gradient_by_numpy(
    dims: tuple[int, ...], filter: Array, dy: Array, strides: Steps, padding: Padding, dilations: Steps
) -> Any:
    """`input_gradient` as products of NumPy's."""
    window, c = filter.shape[:-2], dims[-1]
    groups = c // filter.shape[-2]
    w, g = _wide(filter, dy)
    _, pads = extents_and_pads(dims, filter.shape, strides, padding, dilations)
    ends = [((k - 1) * d - a, (k - 1) * d - b) for k, d, (a, b) in zip(window, dilations, pads, strict=True)]
    if groups == 1 and set(strides) == {1} and filter.shape[-1] <= 2 * c and min(map(min, ends)) >= 0 and dy.size:
        # Every element is in as many windows as a window has elements: the same sum with the window turned round.
        turned = np.swapaxes(np.flip(w, tuple(range(len(window)))), -1, -2)
        around = np.pad(g, [(0, 0), *ends, (0, 0)])
        return _product(around, turned, dims[1:-1], strides, dilations).astype(dy.dtype, copy=False)
    whole = np.zeros((dims[0], *[n + a + b for n, (a, b) in zip(dims[1:-1], pads, strict=True)], c), g.dtype)
    if dy.size and groups == 1:
        flat = w.reshape(-1, w.shape[-1]).T
        for at in _slabs(dy.shape[0], dy.shape[1:-1], flat.shape[1], whole_images=True):
            rows = (g[at].reshape(-1, g.shape[-1]) @ flat).reshape(*g[at].shape[:-1], *window, c)
            for position, where in taps(dy.shape[1:-1], window, strides, dilations):
                whole[at[0]][where] += rows[(..., *position, slice(None))]
    elif dy.size:
        for position, where in taps(dy.shape[1:-1], window, strides, dilations):
            whole[where] += _apart_transposed(g, w[position], groups)
    return whole[inner(dims[1:-1], pads)].astype(dy.dtype, copy=False)


def filter_gradient_by_numpy(
    x: Array, dims: tuple[int, ...], dy: Array, strides: Steps, padding: Padding, dilations: Steps
) -> Any:
    """`filter_gradient` as products of NumPy's."""
    window, out = dims[:-2], dy.shape[1:-1]
    groups = x.shape[-1] // dims[-2]
    x_wide, g = _wide(padded(x, out, window, strides, padding, dilations), dy)
    result = np.zeros(dims, x_wide.dtype)
    if dy.size and groups == 1:
        flat = result.reshape(-1, dims[-1])
        windows = _windows(x_wide, out, window, strides, dilations)
        for at in _slabs(dy.shape[0], out, flat.shape[0]):
            flat += windows[at].reshape(-1, flat.shape[0]).T @ g[at].reshape(-1, dims[-1])
    elif dy.size:
        each = _grouped(g, groups)
        for position, where in taps(out, window, strides, dilations):
            part = np.matmul(np.swapaxes(_grouped(x_wide[where], groups), 1, 2), each)
            result[position] = np.moveaxis(part, 0, 1).reshape(dims[-2:])
    return result.astype(dy.dtype, copy=False)


def _product(x: Array, w: Array, out: Sequence[int], strides: Steps, dilations: Steps) -> Any:
    """The convolution of an x that holds every element of every window."""
    window, f = w.shape[:-2], w.shape[-1]
    groups = x.shape[-1] // w.shape[-2]
    dims = (x.shape[0], *out, f)
    if not math.prod(dims) or not w.size:
        return np.zeros(dims, x.dtype)
    if groups > 1:
        total: Any = np.zeros(dims, x.dtype)
        for position, where in taps(out, window, strides, dilations):
            total += _apart(x[where], w[position], groups)
        return total
    result = np.empty(dims, x.dtype)
    flat = np.ascontiguousarray(w.reshape(-1, f))
    windows = _windows(x, out, window, strides, dilations)
    for at in _slabs(x.shape[0], out, flat.shape[0]):
        np.matmul(windows[at].reshape(-1, flat.shape[0]), flat, out=result[at].reshape(-1, f))
    return result


def _windows(x: Array, out: Sequence[int], window: Sequence[int], strides: Steps, dilations: Steps) -> Any:
    """A view [batch, *out, *window, c] of an x that holds every element of every window."""
    rank = len(window)
    reach = [(k - 1) * d + 1 for k, d in zip(window, dilations, strict=True)]
    views: Any = sliding_window_view(x, reach, tuple(range(1, rank + 1)))  # [batch, *starts, c, *reach]
    starts = [slice(0, (n - 1) * s + 1, s) for n, s in zip(out, strides, strict=True)]
    chosen = views[(slice(None), *starts, slice(None), *[slice(None, None, d) for d in dilations])]
    return np.moveaxis(chosen, rank + 1, -1)


def _slabs(batch: int, out: Sequence[int], row: int, whole_images: bool = False) -> Iterator[tuple[slice, ...]]:
    """Cut batch and first axis of the positions so that a slab's rows, `row` long, are about SLAB numbers."""
    image = math.prod(out) * row
    images = max(1, SLAB // image)
    lines = out[0] if images > 1 or whole_images else max(1, SLAB * out[0] // image)
    for first in range(0, batch, images):
        for line in range(0, out[0], lines):
            yield slice(first, first + images), slice(line, min(line + lines, out[0]))


def _wide(*arrays: Array) -> list[Array]:
    """Operands as they are multiplied: 16-bit floats in float32."""
    return [a.astype(np.float32) if is_half(a.dtype) else a for a in arrays]


# ---- groups ---------------------------------------------------------------------------------------------------------


def _grouped(x: Array, groups: int) -> Array:
    """[..., c] -> [groups, all of ..., c / groups]."""
    return np.moveaxis(x.reshape((math.prod(x.shape[:-1]), groups, x.shape[-1] // groups)), 1, 0)


def _ungrouped(x: Array, dims: Sequence[int]) -> Array:
    """[groups, all of ..., c / groups] -> [..., c]."""
    return np.moveaxis(x, 0, 1).reshape((*dims, x.shape[0] * x.shape[2]))


def _matrices(w: Array, groups: int) -> Any:
    """The filter at one position, [c / groups, f], as [groups, c / groups, f / groups]."""
    return np.moveaxis(w.reshape((w.shape[0], groups, w.shape[1] // groups)), 1, 0)


def _apart(x: Array, w: Array, groups: int) -> Array:
    """Each group's channels by its own part of the filter at one position: [..., c] -> [..., f]."""
    if w.shape[0] == 1:  # a channel each: no sums
        return (x[..., None] * w.reshape(groups, -1)).reshape(*x.shape[:-1], w.shape[1])
    return _ungrouped(np.matmul(_grouped(x, groups), _matrices(w, groups)), x.shape[:-1])


def _apart_transposed(g: Array, w: Array, groups: int) -> Any:
    """The transpose of `_apart`: [..., f] -> [..., c]."""
    if w.shape[0] == 1:
        return (g.reshape(*g.shape[:-1], groups, -1) * w.reshape(groups, -1)).sum(-1)
    return _ungrouped(np.matmul(_grouped(g, groups), np.swapaxes(_matrices(w, groups), 1, 2)), g.shape[:-1])
