"""Stable orders of arrays by NumPy's vectorised sorts, which are not stable: of numbers that hold places.

Rule: of equal elements the first comes first, -0.0 equals 0.0, and NaN counts as greater than any number.
"""

from __future__ import annotations

import math

import numpy as np

from fastgraph.core.native import array_kernels
from fastgraph.ops.families import Array
from fastgraph.ops.precise_sums import is_half

#: Elements up to which NumPy's stable sort is as fast.
FEW = 512
#: How long rising runs are of which NumPy's stable sort, which merges them, is the faster one.
FEW_RUNS = 256
#: Elements of a row, at least, that tell about where its greatest begin.
SAMPLE = 4096


def _bits(x: Array, descending: bool) -> Array:
    """Unsigned integers of the elements' size in the wanted order, equal where elements are. t[*s] -> u[*s]."""
    kind = np.dtype(f"u{x.dtype.itemsize}")
    top = kind.type(1 << (8 * kind.itemsize - 1))
    if x.dtype.kind in "ub":
        bits = x.view(kind)
    elif x.dtype.kind == "i":
        bits = x.view(kind) ^ top
    else:
        signed = (x + np.zeros((), x.dtype)).view(f"i{kind.itemsize}")  # which turns -0.0 to 0.0
        bits = ((signed >> (8 * kind.itemsize - 1)).view(kind) | top) ^ signed.view(kind)
        nan = x != x
        if nan.any():
            bits[nan] = ~kind.type(0)
    return ~bits if descending else bits


def _keys(bits: Array) -> Array:
    """Numbers of 64 bits that order what has at most 32 as a stable sort does: their low halves are the places."""
    keys = bits.astype(np.uint64)
    keys <<= np.uint64(32)
    keys |= np.arange(bits.shape[-1], dtype=np.uint64)
    return keys


def stable_order(x: Array, descending: bool) -> Array:
    """The places along the last axis in rising (falling) order, the first of equals first. t[*s, n] -> i32[*s, n]."""
    n = x.shape[-1]
    if x.size <= FEW and not is_half(x.dtype):
        if not descending:
            return np.argsort(x, axis=-1, kind="stable").astype(np.int32)
        backwards = np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        return np.asarray(n - 1 - backwards).astype(np.int32)
    bits = _bits(x, descending)
    if bits.itemsize <= 2:  # a radix sort
        return np.argsort(bits, axis=-1, kind="stable").astype(np.int32)
    if bits.itemsize == 4:
        keys = _keys(bits)
        keys.sort(axis=-1)
        return keys.astype(np.int32)
    if x.ndim == 1 and np.count_nonzero(bits[1:] < bits[:-1]) < n // FEW_RUNS:
        return np.argsort(bits, kind="stable").astype(np.int32)
    order = np.argsort(bits, axis=-1)
    kept = np.take_along_axis(bits, order, -1)
    new = kept[..., 1:] != kept[..., :-1]
    if not new.all():  # the places of equals, which may stand in any order, by number
        keys = np.zeros(x.shape, np.uint64)
        np.cumsum(new, axis=-1, out=keys[..., 1:])
        keys <<= np.uint64(32)
        keys |= order.astype(np.uint64)
        keys.sort(axis=-1)
        order = keys
    return order.astype(np.int32)


def in_order(x: Array, descending: bool) -> Array:
    """The elements along the last axis in rising (falling) order. t[*s] -> t[*s]."""
    signs = x.dtype.kind == "f" and bool((x.view(f"i{x.itemsize}") == np.iinfo(f"i{x.itemsize}").min).any())
    if is_half(x.dtype) or signs:  # of zeros of both signs, too, the first comes first
        return np.take_along_axis(x, stable_order(x, descending), -1)
    kept = np.sort(x, axis=-1)
    return np.ascontiguousarray(kept[..., ::-1]) if descending else kept


def _greatest_by_sample(row: Array, k: int) -> Array | None:
    """`greatest` of one row: all that is not less than one of a sample is sorted; None where that is too much."""
    sample = row[:: len(row) // SAMPLE]
    share = k * len(sample) / len(row)
    rank = min(int(1.3 * share + 4 * math.sqrt(share) + 8), len(sample))
    places = np.flatnonzero(~(row < np.partition(sample, -rank)[-rank]))  # a NaN is less than nothing
    if not k <= len(places) <= len(row) // 3:
        return None
    return places[stable_order(row[places], True)[:k]]


def greatest(x: Array, k: int) -> Array:
    """The places of the k greatest along the last axis, falling, the first of equals first. t[*s, n] -> i32[*s, k]."""
    if k == 1 and not is_half(x.dtype):
        return np.argmax(x, -1)[..., None].astype(np.int32)  # a NaN if there is one, the first of equals
    if (places := array_kernels.greatest(x, k)) is not None:
        return places
    if x.size <= FEW or 4 * k > x.shape[-1] or not k:
        return stable_order(x, True)[..., :k]
    if not is_half(x.dtype) and x.shape[-1] >= 4 * SAMPLE:
        found = [_greatest_by_sample(row, k) for row in x.reshape(-1, x.shape[-1])]
        if (sure := [places for places in found if places is not None]) and len(sure) == len(found):
            return np.stack(sure).astype(np.int32).reshape(*x.shape[:-1], k)
    if not is_half(x.dtype):
        least = np.partition(x, -k, axis=-1)[..., -k, None]
        chosen = x >= least
        if (chosen.sum(-1) == k).all():  # no NaN, and none left out that is like the least
            places = chosen.nonzero()[-1].reshape(*x.shape[:-1], k)
            return np.take_along_axis(places, stable_order(np.take_along_axis(x, places, -1), True), -1).astype(
                np.int32
            )
    if x.itemsize > 4:
        return stable_order(x, True)[..., :k]
    keys = _keys(_bits(x, True))
    keys.partition(k - 1, axis=-1)
    return np.sort(keys[..., :k], axis=-1).astype(np.int32)
