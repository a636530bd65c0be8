"""Laws that hold for all shapes, dtypes and layouts: arrays from hypothesis, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import fastgraph as fg

DTYPES = st.sampled_from(["float32", "float64", "int32", "int64", "int8", "uint8"])
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
BROADCASTING = hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=4)
FAST = settings(max_examples=60, deadline=None, derandomize=True)


def arrays(dtype: str, shape: Any, low: int = -4, high: int = 4) -> st.SearchStrategy[Any]:
    """Small whole numbers of any dtype: sums and products of them are exact."""
    floor = max(low, 0) if dtype.startswith("u") else low
    return hnp.arrays(np.int64, shape, elements=st.integers(floor, high)).map(lambda a: a.astype(dtype))


@st.composite
def tensors(draw: Any) -> Any:
    """An array in one of the layouts that programs have: dense, Fortran order, strided, read backwards, a 0-stride view."""
    array = draw(arrays(draw(DTYPES), draw(SHAPES)))
    layout = draw(st.sampled_from(["dense", "fortran", "strided", "backwards", "readonly"]))
    if layout == "fortran":
        return np.array(array, order="F")
    if layout == "strided" and array.ndim:
        wide = np.repeat(array, 2, axis=-1)
        return wide[..., ::2]
    if layout == "backwards" and array.ndim:
        return array[::-1]
    if layout == "readonly":
        array.flags.writeable = False
    return array


@st.composite
def pairs(draw: Any) -> Any:
    shapes = draw(BROADCASTING).input_shapes
    dtype = draw(DTYPES)
    return [draw(arrays(dtype, s)) for s in shapes]


@FAST
@given(pairs())
def test_arithmetic_broadcasts_as_numpy(xy: Any) -> None:
    x, y = xy
    for ours, numpys in (
        (fg.add, np.add),
        (fg.subtract, np.subtract),
        (fg.multiply, np.multiply),
        (fg.maximum, np.maximum),
    ):
        got = ours(x, y).numpy()
        wanted = numpys(x, y)
        assert got.dtype == wanted.dtype and np.array_equal(got, wanted)
    assert np.array_equal(fg.less(x, y).numpy(), np.less(x, y))


@FAST
@given(tensors(), st.data())
def test_reductions_over_any_axes(x: Any, data: Any) -> None:
    axes = data.draw(st.sets(st.integers(0, x.ndim - 1)) if x.ndim else st.just(set()))
    signed = tuple(a - x.ndim if data.draw(st.booleans()) else a for a in axes)
    keep = data.draw(st.booleans())
    got = fg.reduce_sum(x, list(signed), keep)
    assert np.array_equal(got.numpy(), np.sum(x, axis=tuple(axes), keepdims=keep, dtype=x.dtype))
    if x.size:
        assert np.array_equal(fg.reduce_max(x, list(signed), keep).numpy(), np.max(x, axis=tuple(axes), keepdims=keep))


@FAST
@given(tensors(), st.data())
def test_transposing_back_is_nothing(x: Any, data: Any) -> None:
    perm = data.draw(st.permutations(range(x.ndim)))
    there = fg.transpose(x, perm)
    assert there.shape == tuple(x.shape[p] for p in perm)
    assert np.array_equal(fg.transpose(there, np.argsort(perm).tolist()).numpy(), x)


@FAST
@given(tensors(), st.data())
def test_splitting_and_joining_is_nothing(x: Any, data: Any) -> None:
    if x.ndim == 0:
        return
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    n = x.shape[axis]
    cut = data.draw(st.integers(0, n))
    assert np.array_equal(fg.concat(fg.split(x, [cut, n - cut], axis), axis).numpy(), x)
    if n:
        assert np.array_equal(fg.stack(fg.unstack(x, axis=axis), axis).numpy(), x)


@FAST
@given(tensors(), st.data())
def test_basic_indexing_is_numpys(x: Any, data: Any) -> None:
    key = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True, allow_ellipsis=True))
    got = fg.constant(x)[key]
    wanted = x[key]
    assert np.array_equal(got.numpy(), wanted) and got.shape == np.shape(wanted)


@FAST
@given(tensors(), st.data())
def test_gather_takes_what_numpy_takes(x: Any, data: Any) -> None:
    if x.ndim == 0 or 0 in x.shape:
        return
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    indices = data.draw(hnp.arrays(np.int32, SHAPES, elements=st.integers(0, x.shape[axis] - 1)))
    assert np.array_equal(fg.gather(x, indices, axis=axis).numpy(), np.take(x, indices, axis=axis))


@FAST
@given(tensors(), st.data())
def test_padding_and_slicing_is_nothing(x: Any, data: Any) -> None:
    paddings = [[data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))] for _ in x.shape]
    wide = fg.pad(x, np.array(paddings, np.int32).reshape(-1, 2), constant_values=7)
    assert np.array_equal(fg.slice(wide, [a for a, _ in paddings], x.shape).numpy(), x)
    assert int(fg.reduce_sum(fg.cast(wide, "int64"))) == int(x.sum(dtype=np.int64)) + 7 * (int(fg.size(wide)) - x.size)


@FAST
@given(tensors(), st.data())
def test_boolean_mask_is_numpys(x: Any, data: Any) -> None:
    if x.ndim == 0:
        return
    depth = data.draw(st.integers(1, x.ndim))
    mask = data.draw(hnp.arrays(np.bool_, x.shape[:depth]))
    assert np.array_equal(fg.boolean_mask(x, mask).numpy(), x[mask])
    assert np.array_equal(fg.where(mask).numpy(), np.argwhere(mask))


@FAST
@given(st.data())
def test_products_of_batches_are_numpys(data: Any) -> None:
    batch = data.draw(BROADCASTING).input_shapes
    m, k, n = (data.draw(st.integers(0, 4)) for _ in range(3))
    dtype = data.draw(st.sampled_from(["float32", "float64", "int32", "int64"]))
    a = data.draw(arrays(dtype, (*batch[0], m, k)))
    b = data.draw(arrays(dtype, (*batch[1], k, n)))
    wanted = np.matmul(a, b)
    assert np.array_equal(fg.matmul(a, b).numpy(), wanted)
    assert np.array_equal(fg.matmul(np.swapaxes(a, -1, -2), b, transpose_a=True).numpy(), wanted)
    assert np.array_equal(fg.matmul(a, np.swapaxes(b, -1, -2), transpose_b=True).numpy(), wanted)


@FAST
@given(tensors())
def test_argmax_is_the_first_greatest(x: Any) -> None:
    if x.ndim == 0 or 0 in x.shape:
        return
    for axis in range(x.ndim):
        assert np.array_equal(fg.argmax(x, axis).numpy(), np.argmax(x, axis))


def test_long_sums_keep_their_precision() -> None:
    x = np.full((3, 1_000_003), 0.1, np.float32)
    exact = 1_000_003 * float(np.float32(0.1))
    for axis, array in ((1, x), (0, np.ascontiguousarray(x.T))):
        got = fg.reduce_sum(array, axis).numpy()
        assert np.all(np.abs(got - exact) < 1e-5 * exact)
    assert abs(float(fg.reduce_sum(x)) - 3 * exact) < 1e-5 * 3 * exact
    half = fg.cast(np.ones(4096), "float16")
    assert float(fg.reduce_sum(half)) == 4096.0
    assert float(fg.reduce_mean(fg.cast(np.ones(70000), "bfloat16"))) == 1.0
