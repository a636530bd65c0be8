"""Sorts, top_k, unique, searches and segments against plain Python: any dtype, NaN, zeros of both signs, views, no elements."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.base import flags
from fastgraph.core.native import array_kernels
from fastgraph.ops import stable_sorting
from fastgraph.ops.gathering import gather_grad
from fastgraph.ops.segments import unsorted_segment_max, unsorted_segment_min, unsorted_segment_prod
from fastgraph.ops.sorting import search_sorted

DTYPES = ["float32", "float64", "int32", "uint8", "int16", "int8", "int64", "uint16", "float16", "uint32", "uint64"]
DTYPES += ["bfloat16"]


def drawn(rng: Any, dtype: str, shape: Any, few: bool) -> Any:
    """Numbers of which many (`few`) or no two are equal; floats with NaN, infinities and zeros of both signs."""
    kind = np.dtype(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype)
    if kind.kind in "iu":
        low, high = (0, 4) if few else (np.iinfo(kind).min, np.iinfo(kind).max)
        return rng.integers(low, high, shape, dtype=kind, endpoint=True)
    x = np.asarray(rng.standard_normal(shape) * 3)
    x = (np.round(x) if few else x).astype(kind)
    for i, special in enumerate((np.nan, -0.0, 0.0, np.inf, -np.inf, -np.nan)):
        x.reshape(-1)[i :: 13 + i] = special
    return x


def order_of(x: Any, falling: bool) -> Any:
    """The stable order along the last axis, NaN as the greatest."""
    x = x.astype(np.float64) if x.dtype.kind in "fV" else x
    if not falling:
        return np.argsort(x, axis=-1, kind="stable")
    return x.shape[-1] - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]


def same(found: Any, wanted: Any) -> None:
    """Equal, with the signs of zeros."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    if wanted.dtype.kind in "fV":
        found, wanted = found.astype(np.float64), wanted.astype(np.float64)
        np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(wanted[wanted == 0]))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("shape", [(0,), (7,), (2000,), (3, 400), (0, 5), (3, 0)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_orders_are_stable(rng: Any, dtype: str, shape: Any) -> None:
    for few in (False, True):
        x = drawn(rng, dtype, shape, few)
        for view in (x, x[..., ::-1], x[..., ::2]):
            for falling in (False, True):
                wanted = order_of(view, falling)
                np.testing.assert_array_equal(stable_sorting.stable_order(view, falling), wanted)
                same(stable_sorting.in_order(view, falling), np.take_along_axis(view, wanted, -1))
            for k in {0, min(1, view.shape[-1]), view.shape[-1] // 5, view.shape[-1]}:
                np.testing.assert_array_equal(stable_sorting.greatest(view, k), wanted[..., :k])


@pytest.mark.parametrize("direction", ["ASCENDING", "DESCENDING"])
def test_sort_and_its_gradients(rng: Any, direction: str) -> None:
    x, w = (tf.constant(rng.permutation(np.arange(600.0)).reshape(2, 300)) for _ in range(2))

    def both(x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(tf.sort(x, 0, direction) ** 3 * w) + tf.reduce_sum(tf.sort(x, -1, direction) * w)
            first = tape.gradient(y, x)
            z = tf.reduce_sum(first * w)
        return first, outer.gradient(z, x)

    eager = [each.numpy() for each in both(x)]
    sign = 1 if direction == "ASCENDING" else -1
    wanted = np.empty((2, 300))
    np.put_along_axis(wanted, np.argsort(sign * x.numpy(), 0), 3 * np.sort(sign * x.numpy(), 0) ** 2 * w.numpy(), 0)
    last = np.empty((2, 300))
    np.put_along_axis(last, np.argsort(sign * x.numpy(), -1), w.numpy(), -1)
    np.testing.assert_allclose(eager[0], wanted + last)
    for f in (tf.function(both), tf.function(both, input_signature=[tf.TensorSpec([None, None], tf.float64)])):
        for got, each in zip(f(x), eager, strict=True):
            np.testing.assert_allclose(got, each)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_of_sorted_halves(rng: Any, dtype: str) -> None:
    x, w = (tf.cast(tf.constant(rng.permutation(np.arange(6.0))), dtype) for _ in range(2))

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.sort(x) * w)
        return tape.gradient(y, x)

    wanted = tf.gather(w, tf.cast(x, tf.int32))
    for f in (slope, tf.function(slope)):
        assert f(x).dtype == x.dtype and bool(tf.reduce_all(f(x) == wanted))


@pytest.mark.parametrize("dtype", [*DTYPES, "bool", "complex64"])
@pytest.mark.parametrize("n", [0, 1, 50, 5000])
def test_unique(rng: Any, dtype: str, n: int) -> None:
    for few in (True, False):
        x = drawn(rng, "int8" if dtype in ("bool", "complex64") else dtype, n, few)
        x = (x % 2 == 0) if dtype == "bool" else x.astype(np.complex64) if dtype == "complex64" else x
        table: dict[Any, int] = {}
        numbers, counts, first = [], [], []
        for i, value in enumerate(x.tolist()):
            key = object() if value != value else value
            if key not in table:
                table[key] = len(table)
                counts.append(0)
                first.append(i)
            numbers.append(table[key])
            counts[table[key]] += 1
        for y in (tf.unique_with_counts(x), tf.function(tf.unique_with_counts)(tf.constant(x))):
            same(y.y.numpy(), x[np.array(first, int)])
            assert y.idx.numpy().tolist() == numbers and y.count.numpy().tolist() == counts
    same(tf.unique(x[::-1][::2], tf.int64).idx.numpy(), tf.unique(x[::-1][::2].copy(), tf.int64).idx.numpy())


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("n", [0, 1, 9, 40])
def test_searches_for_integers_that_ascend_or_not(rng: Any, side: str, n: int) -> None:
    rows = np.sort(rng.integers(0, 30, (6, n)))
    values = rng.integers(-2, 33, (6, 50))
    values[::2] = np.sort(values[::2])
    values[1] = np.sort(values[1])[::-1]
    wanted = np.array([np.searchsorted(r, v, side) for r, v in zip(rows, values, strict=True)])
    with flags.override(tier="last"):
        kernel = tf.function(lambda a, b: tf.searchsorted(a, b, side))(tf.constant(rows), tf.constant(values))
    np.testing.assert_array_equal(kernel, wanted)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searches_with_nan_as_comparisons_have_it(rng: Any, side: str) -> None:
    rows = np.sort(rng.standard_normal((20, 9)).astype(np.float32))
    values = rng.standard_normal((20, 30)).astype(np.float32)
    values[:, ::4], values[:, 1] = rows[:, :8], np.nan
    for some, asked in ((rows, values), (rows[:1], values[:1]), (rows[:, :0], values)):
        wanted = np.array([np.searchsorted(r, v, side) for r, v in zip(some, asked, strict=True)])
        wanted[:, 1] = 0 if side == "left" else some.shape[1]  # TensorFlow's
        with flags.override(tier="last"):
            kernel = tf.function(lambda a, b: tf.searchsorted(a, b, side))(tf.constant(some), tf.constant(asked))
        np.testing.assert_array_equal(kernel, wanted)
        np.testing.assert_array_equal(tf.searchsorted(some, asked, side), wanted)
    with pytest.raises(tf.errors.InvalidArgumentError):
        search_sorted(tf.constant(rows), tf.constant(values[:3]), right=False, out_type=tf.int32)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "int32", "uint64", "complex64"])
@pytest.mark.parametrize("inner", [(), (1,), (3, 7), (0,)], ids=str)
def test_segments_add_in_order(rng: Any, dtype: str, inner: Any) -> None:
    data = (rng.standard_normal((500, *inner)) * 50).astype(dtype) if dtype != "uint64" else None
    data = rng.integers(0, 1 << 63, (500, *inner)).astype(dtype) if data is None else data
    if dtype.startswith("float"):
        data.reshape(-1)[::17] = np.nan
    ids = rng.integers(-1, 40, 500)
    wanted = {"sum": np.zeros((40, *inner), dtype), "prod": np.ones((40, *inner), dtype)}
    for i, row in zip(ids, data, strict=True):
        if i >= 0:
            with np.errstate(all="ignore"):
                wanted["sum"][i] += row
                wanted["prod"][i] = wanted["prod"][i] * row
    np.testing.assert_array_equal(tf.math.unsorted_segment_sum(data, ids, 40), wanted["sum"])
    np.testing.assert_allclose(unsorted_segment_prod(data, ids, 40), wanted["prod"], rtol=1e-5)
    if dtype != "complex64":
        for op in (unsorted_segment_max, unsorted_segment_min):
            with flags.override(tier="last"):
                kernel = tf.function(lambda d, i, op=op: op(d, i, 40))(tf.constant(data), tf.constant(ids))
            np.testing.assert_array_equal(op(data, ids, 40), kernel)
    np.testing.assert_array_equal(tf.math.unsorted_segment_sum(data[::-2], ids[::-2], 40),
                                  tf.math.unsorted_segment_sum(data[::-2].copy(), ids[::-2].copy(), 40))  # fmt: skip


def test_rows_that_are_none_are_not_written() -> None:
    rows, x = np.zeros((3, 2), np.float32), np.ones((2, 2), np.float32)
    with pytest.raises(IndexError, match="row 3 of 3"):
        array_kernels.combine("add", rows, np.array([-1, 3]), x)
    for wrong in ((rows[:, :1], x), (rows, x[:1]), (rows[0], x), (rows.T.copy().T, x), (rows.astype("d"), x)):
        with pytest.raises(ValueError):
            array_kernels.combine("add", wrong[0], np.array([0, 1]), wrong[1])
    assert not rows.any() and not array_kernels.combine("add", rows.astype(bool), np.array([0, 1]), x.astype(bool))
    for x in (np.ones(3, np.int16), np.ones((2, 2), np.int32), np.ones(9, np.int32)[::2]):
        with pytest.raises(ValueError):
            array_kernels.unique(x)
    grad = gather_grad(tf.ones([2, 4]), tf.constant([[3, 0, -1, 1]] * 2), tf.constant([2, 3]), axis=1, batch_dims=1)
    assert grad.numpy().tolist() == [[1.0, 1.0, 0.0]] * 2  # what is no place is passed over, as by kernels


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("k", [1, 3, 100])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "float16"])
def test_the_greatest_are_the_first_of_the_stable_order(rng: Any, dtype: str, k: int, few: bool) -> None:
    for x in (drawn(rng, dtype, (3, 450), few), drawn(rng, "uint8", (3, 450), few).astype(dtype)):
        np.testing.assert_array_equal(stable_sorting.greatest(x, k), stable_sorting.stable_order(x, True)[..., :k])


def test_orders_of_rising_runs(rng: Any) -> None:
    x = np.concatenate([np.sort(rng.integers(-(2**40), 2**40, 2000)) for _ in range(3)])
    for falling in (True, False):
        np.testing.assert_array_equal(stable_sorting.stable_order(x, falling), order_of(x, falling))


@pytest.mark.parametrize("lower", [-1, 0, 2, 5])
@pytest.mark.parametrize("upper", [-1, 0, 3, 7])
def test_bands(rng: Any, lower: int, upper: int) -> None:
    x = rng.standard_normal((2, 5, 7))
    inside = np.ones((5, 7), bool)
    inside = np.triu(inside, -lower) if lower >= 0 else inside
    inside = np.tril(inside, upper) if upper >= 0 else inside
    np.testing.assert_array_equal(tf.linalg.band_part(x, lower, upper), np.where(inside, x, 0))


@pytest.mark.parametrize("find", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_positions_pass_over_nan(rng: Any, find: str, axis: int) -> None:
    x = drawn(rng, "float32", (20, 70, 9), True)
    x[:, 3] = np.nan
    worst = -np.inf if find == "argmax" else np.inf
    wanted = getattr(np, find)(np.where(np.isnan(x), worst, x), axis)
    np.testing.assert_array_equal(getattr(tf, find)(x, axis), wanted)
    np.testing.assert_array_equal(tf.function(getattr(tf, find))(tf.constant(x), axis), wanted)
