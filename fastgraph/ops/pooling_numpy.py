"""Pooling of NumPy arrays [batch, *spatial, channels]; see pooling_primitives.py.

Rule: vectors of channels compute floats (`poolings`); where those do not serve, NumPy does (`*_by_numpy`), position by
position of the windows, which is also the oracle of their tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.native import poolings as vectors
from fastgraph.ops.families import Array, invalid
from fastgraph.ops.precise_sums import is_half
from fastgraph.ops.window_arguments import Padding, Steps, along, inner, out_extents, pad_extents, padded, taps


def ones(window: Sequence[int]) -> tuple[int, ...]:
    return (1,) * len(window)


def check_window(window: Sequence[int], padding: Padding, error: Callable[[str], Exception]) -> None:
    if any(n <= 0 for n in window):
        sizes = ",".join(map(str, window))
        raise error(f"Sliding window ksize must be positive. The specified or inferred ksize is: 1,{sizes},1")
    for axis, n in enumerate(window):
        pad = along(padding, axis)
        if not isinstance(pad, str):
            for which, amount in zip(_SIDES.get((len(window), axis), ("Front", "Back")), pad, strict=True):
                if amount >= n:
                    raise error(f"{which} padding {amount} needs to be smaller than the window size {n}")


_SIDES = {(2, 0): ("Top", "Bottom"), (2, 1): ("Left", "Right")}


def _out(x: Array, window: Steps, strides: Steps, padding: Padding) -> tuple[int, ...]:
    """The number of windows along each axis. Raises: InvalidArgumentError."""
    if x.ndim != len(window) + 2:
        raise invalid(f"tensor_in must be {len(window) + 2}-dimensional")
    check_window(window, padding, invalid)
    return out_extents(x.shape[1:-1], window, strides, padding, ones(window))


def lowest(dtype: np.dtype[Any]) -> Any:
    """The least finite number of a dtype: what a maximum begins with."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    if dtype.kind == "f":
        return np.finfo(dtype).min
    import ml_dtypes

    return ml_dtypes.finfo(dtype).min  # type: ignore[no-untyped-call]


def max_pool(x: Array, window: Steps, strides: Steps, padding: Padding) -> Array:
    """The largest element of each window."""
    out = _out(x, window, strides, padding)
    dims = (x.shape[0], *out, x.shape[-1])
    pads, low = _pads(x.shape, out, window, strides, padding), float(lowest(x.dtype))
    found = vectors.pooled("max", x.shape, dims, x, None, window, strides, pads, low)
    return found if found is not None else max_pool_by_numpy(x, window, strides, padding)


def max_pool_grad(x: Array, dy: Array, window: Steps, strides: Steps, padding: Padding) -> Array:
    """dy where each maximum came from: the first of equal ones, over three axes all of them (see `to_each`)."""
    out = _out(x, window, strides, padding)
    _check_gradient(x.shape, out, dy)
    pads = _pads(x.shape, out, window, strides, padding)
    how, low = ("spread to each", float(lowest(x.dtype))) if to_each(window) else ("spread", 0.0)
    found = vectors.pooled(how, x.shape, dy.shape, x, dy, window, strides, pads, low)
    return found if found is not None else max_pool_grad_by_numpy(x, dy, window, strides, padding)


def to_each(window: Sequence[int]) -> bool:
    """Return whether all elements that are as large as the largest of a window get its gradient: as in MaxPool3DGrad.

    Elsewhere, and where the gradient of that picks one, it is the first.
    """
    return len(window) == 3


def max_pool_pick(x: Array, g: Array, window: Steps, strides: Steps, padding: Padding) -> Array:
    """The element of g where each maximum came from."""
    out = _out(x, window, strides, padding)
    if g.shape != x.shape:
        raise invalid("Expected grad shape to be the input's")
    pads = _pads(x.shape, out, window, strides, padding)
    found = vectors.pooled("pick", x.shape, (x.shape[0], *out, x.shape[-1]), x, g, window, strides, pads)
    return found if found is not None else max_pool_pick_by_numpy(x, g, window, strides, padding)


def avg_pool(x: Array, window: Steps, strides: Steps, padding: Padding) -> Array:
    """The mean of what of each window is inside."""
    out = _out(x, window, strides, padding)
    pads = _pads(x.shape, out, window, strides, padding)
    found = vectors.pooled("mean", x.shape, (x.shape[0], *out, x.shape[-1]), x, None, window, strides, pads)
    return found if found is not None else avg_pool_by_numpy(x, window, strides, padding)


def avg_pool_grad(dims: tuple[int, ...], dy: Array, window: Steps, strides: Steps, padding: Padding) -> Array:
    """Each element's share of the windows it is in."""
    if len(dims) != len(window) + 2:
        raise invalid(f"orig_input_shape must be 1-dimensional and {len(window) + 2} elements")
    check_window(window, padding, invalid)
    out = out_extents(dims[1:-1], window, strides, padding, ones(window))
    _check_gradient(dims, out, dy)
    pads = _pads(dims, out, window, strides, padding)
    found = vectors.pooled("share", dims, dy.shape, None, dy, window, strides, pads)
    return found if found is not None else avg_pool_grad_by_numpy(dims, dy, window, strides, padding)


def max_pool_by_numpy(x: Array, window: Steps, strides: Steps, padding: Padding) -> Array:
    out = _out(x, window, strides, padding)
    low = lowest(x.dtype)
    whole = padded(x, out, window, strides, padding, ones(window), low)
    best = np.full((x.shape[0], *out, x.shape[-1]), low, x.dtype)
    for _, at in taps(out, window, strides, ones(window)):
        here = whole[at]
        np.copyto(best, here, where=here > best)
    return best


def _chosen(x: Array, out: Sequence[int], window: Steps, strides: Steps, padding: Padding) -> Array:
    """Find the number of the position that each window's maximum comes from: the first inside, then any above it."""
    inside = padded(np.ones(x.shape, bool), out, window, strides, padding, ones(window), False)
    whole = padded(x, out, window, strides, padding, ones(window), 0)
    found = np.full((x.shape[0], *out, x.shape[-1]), -1, np.int32)
    best = np.zeros(found.shape, x.dtype)
    for number, (_, at) in enumerate(taps(out, window, strides, ones(window))):
        here = whole[at]
        better = inside[at] & ((found < 0) | (here > best))
        np.copyto(best, here, where=better)
        found[better] = number
    return found


def max_pool_grad_by_numpy(x: Array, dy: Array, window: Steps, strides: Steps, padding: Padding) -> Array:
    out = _out(x, window, strides, padding)
    found = None if to_each(window) else _chosen(x, out, window, strides, padding)
    inside = padded(np.ones(x.shape, bool), out, window, strides, padding, ones(window), False)
    whole = padded(x, out, window, strides, padding, ones(window), 0)
    best = max_pool_by_numpy(x, window, strides, padding)
    pads = _pads(x.shape, out, window, strides, padding)
    wide = np.float32 if is_half(x.dtype) else x.dtype
    dims = (x.shape[0], *[n + a + b for n, (a, b) in zip(x.shape[1:-1], pads, strict=True)], x.shape[-1])
    total = np.zeros(dims, wide)
    for number, (_, at) in enumerate(taps(out, window, strides, ones(window))):
        chosen = inside[at] & (whole[at] == best) if found is None else found == number
        total[at] += np.where(chosen, dy.astype(wide, copy=False), np.zeros((), wide))
    return total[inner(x.shape[1:-1], pads)].astype(dy.dtype, copy=False)


def max_pool_pick_by_numpy(x: Array, g: Array, window: Steps, strides: Steps, padding: Padding) -> Array:
    out = _out(x, window, strides, padding)
    found = _chosen(x, out, window, strides, padding)
    whole = padded(g, out, window, strides, padding, ones(window))
    result = np.zeros(found.shape, g.dtype)
    for number, (_, at) in enumerate(taps(out, window, strides, ones(window))):
        np.copyto(result, whole[at], where=found == number)
    return result


def _counts(dims: Sequence[int], out: Sequence[int], window: Steps, strides: Steps, padding: Padding) -> Array:
    """Count the positions inside of each window: [*out, 1]."""
    one = np.ones((1, *dims, 1), np.float32)
    whole = padded(one, out, window, strides, padding, ones(window))
    total = np.zeros((1, *out, 1), np.float32)
    for _, at in taps(out, window, strides, ones(window)):
        total += whole[at]
    return total


def avg_pool_by_numpy(x: Array, window: Steps, strides: Steps, padding: Padding) -> Array:
    out = _out(x, window, strides, padding)
    wide = np.float32 if is_half(x.dtype) else x.dtype
    whole = padded(x, out, window, strides, padding, ones(window)).astype(wide, copy=False)
    total = np.zeros((x.shape[0], *out, x.shape[-1]), wide)
    for _, at in taps(out, window, strides, ones(window)):
        total += whole[at]
    count = _counts(x.shape[1:-1], out, window, strides, padding).astype(wide)
    return np.asarray((total / count).astype(x.dtype, copy=False))


def avg_pool_grad_by_numpy(dims: tuple[int, ...], dy: Array, window: Steps, strides: Steps, padding: Padding) -> Array:
    out = out_extents(dims[1:-1], window, strides, padding, ones(window))
    wide = np.float32 if is_half(dy.dtype) else dy.dtype
    pads = _pads(dims, out, window, strides, padding)
    share = dy.astype(wide, copy=False) / _counts(dims[1:-1], out, window, strides, padding).astype(wide)
    total = np.zeros((dims[0], *[n + a + b for n, (a, b) in zip(dims[1:-1], pads, strict=True)], dims[-1]), wide)
    for _, at in taps(out, window, strides, ones(window)):
        total[at] += share
    return total[inner(dims[1:-1], pads)].astype(dy.dtype, copy=False)


def _pads(dims: Sequence[int], out: Sequence[int], window: Steps, strides: Steps, padding: Padding) -> list[Any]:
    return [
        pad_extents(n, m, k, s, 1, along(padding, i))
        for i, (n, m, k, s) in enumerate(zip(dims[1:-1], out, window, strides, strict=True))
    ]


def _check_gradient(dims: Sequence[int], out: Sequence[int], dy: Array) -> None:
    wanted = (dims[0], *out, dims[-1])
    if dy.shape != wanted:
        raise invalid(f"Expected grad shape to be {list(wanted)}, but got {list(dy.shape)}")
