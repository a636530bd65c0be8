"""Eager convolutions by blocks of sums give what NumPy's bodies give, the same bits for any number of threads."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.native import convolutions as blocks
from fastgraph.core.native.thread_pool import num_threads, set_num_threads
from fastgraph.ops import convolution_numpy
from fastgraph.ops.window_arguments import along, extents_and_pads, out_extents, pad_extents
from tests import native

DTYPES = ("float32", "float64", "bfloat16", "float16")


@pytest.fixture(params=(512, 256))
def vectors(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.param > native.MOST_BITS:
        pytest.skip(f"this CPU has no vectors of {request.param} bits")
    with native.using(native.CONVOLUTION_BITS, request.param):
        yield


@pytest.fixture(params=(2, 1), ids=("tiles", "pairs"))
def registers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Of bfloat16: however many operations there are, registers of tiles or vectors of pairs do them."""
    if request.param > native.MOST_TILES:
        pytest.skip("this CPU has no such instructions")
    with native.using(native.TILES, request.param), native.using(native.TILED, 0):
        yield


def _dtype(name: str) -> Any:
    return tf.as_dtype(name).as_numpy_dtype


def _case(random: np.random.Generator) -> tuple[Any, ...] | None:
    """Shapes of x, filter and result, strides, padding, dilations; None where no window fits."""
    rank = int(random.integers(1, 4))
    groups, c, f = (int(random.choice(n)) for n in ((1, 1, 2, 3, 20), (1, 1, 2, 7, 17), (1, 1, 2, 9, 16, 33)))
    k, s, d = (tuple(random.integers(1, most, rank).tolist()) for most in (5, 4, 4))
    spatial = tuple(random.integers(1, (40, 14, 7)[rank - 1], rank).tolist())
    padding: Any = str(random.choice(["SAME", "VALID", "explicit"]))
    if padding == "explicit":
        padding = tuple(map(tuple, random.integers(0, 6, (rank, 2)).tolist()))
    batch = int(random.integers(0, 4))
    reach = [n + sum(padding[i]) if isinstance(padding, tuple) else n for i, n in enumerate(spatial)]
    if padding != "SAME" and any((m - 1) * e + 1 > n for m, e, n in zip(k, d, reach, strict=True)):
        return None
    out = out_extents(spatial, k, s, padding, d)
    return (batch, *spatial, groups * c), (*k, c, groups * f), (batch, *out, groups * f), s, padding, d


def _by_blocks(case: tuple[Any, ...], x: Any, w: Any, dy: Any) -> list[Any]:
    """The result, the gradients to the input and to the filter."""
    s, padding, d = case[3:]
    pads = [
        pad_extents(n, m, k, s[i], d[i], along(padding, i))
        for i, (n, m, k) in enumerate(zip(x.shape[1:-1], dy.shape[1:-1], w.shape[:-2], strict=True))
    ]
    return [
        blocks.forward(x, w, dy.shape[1:-1], s, pads, d),
        blocks.input_gradient(x.shape, w, dy, s, pads, d),
        blocks.filter_gradient(x, w.shape, dy, s, pads, d),
    ]


def _by_numpy(case: tuple[Any, ...], x: Any, w: Any, dy: Any) -> list[Any]:
    """The same by NumPy."""
    return [
        convolution_numpy.forward_by_numpy(x, w, *case[3:]),
        convolution_numpy.input_gradient_by_numpy(x.shape, w, dy, *case[3:]),
        convolution_numpy.filter_gradient_by_numpy(x, w.shape, dy, *case[3:]),
    ]


@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_give_what_numpy_gives(dtype: str, vectors: None) -> None:
    random = np.random.default_rng(DTYPES.index(dtype))
    done = 0
    while done < 150:
        case = _case(random)
        if case is None:
            continue
        done += 1
        # Small whole numbers: every order of the sums gives the same.
        x, w, dy = (random.integers(-3, 4, shape).astype(_dtype(dtype)) for shape in case[:3])
        for found, wanted in zip(_by_blocks(case, x, w, dy), _by_numpy(case, x, w, dy), strict=True):
            np.testing.assert_array_equal(found.astype(np.float64), wanted.astype(np.float64), err_msg=str(case))


def test_registers_of_bfloat16_give_what_numpy_gives(registers: None) -> None:
    random = np.random.default_rng(4)
    done = 0
    while done < 150:
        case = _case(random)
        if case is None:
            continue
        done += 1
        x, w, dy = (random.integers(-3, 4, shape).astype(_dtype("bfloat16")) for shape in case[:3])
        if x.size and dy.size:
            x.flat[random.integers(0, x.size)] = np.nan  # which other places do not see
            dy.flat[random.integers(0, dy.size)] = np.inf
        with np.errstate(invalid="ignore"):
            for found, wanted in zip(_by_blocks(case, x, w, dy), _by_numpy(case, x, w, dy), strict=True):
                np.testing.assert_array_equal(found.astype(np.float64), wanted.astype(np.float64), err_msg=str(case))


def test_depthwise_pairs_of_bfloat16_give_what_numpy_gives(registers: None) -> None:
    random = np.random.default_rng(8)
    for case in [
        ((2, 9, 30, 77), (7, 7, 1, 77), (2, 9, 30, 77), (1, 1), "SAME", (1, 1)),  # part of a vector of channels
        ((1, 8, 20, 64), (4, 6, 1, 64), (1, 8, 20, 64), (1, 1), "SAME", (1, 1)),  # no last tap of its own
        ((1, 8, 20, 32), (3, 2, 1, 32), (1, 5, 19, 32), (1, 1), ((0, 1), (0, 0)), (2, 1)),
        ((1, 17, 3, 40), (3, 3, 1, 40), (1, 9, 2, 40), (2, 2), "SAME", (1, 1)),  # lines are exchanged
        ((2, 15, 31, 33), (3, 3, 1, 33), (2, 6, 9, 33), (2, 3), "VALID", (2, 3)),  # steps of more than a column
    ]:
        x, w, dy = (random.integers(-3, 4, shape).astype(_dtype("bfloat16")) for shape in case[:3])
        for array in (x, dy):
            array.flat[random.integers(0, array.size, 3)] = (np.nan, np.inf, -np.inf)
        with np.errstate(invalid="ignore"):
            for found, wanted in zip(_by_blocks(case, x, w, dy), _by_numpy(case, x, w, dy), strict=True):
                np.testing.assert_array_equal(found.astype(np.float64), wanted.astype(np.float64), err_msg=str(case))


def test_gradients_to_large_filters_are_pieced_together(registers: None) -> None:
    random = np.random.default_rng(6)
    for case in [
        ((3, 5, 6, 160), (3, 3, 160, 250), (3, 5, 6, 250), (1, 1), "SAME", (1, 1)),  # pieces of channels
        ((2, 9, 9, 320), (3, 2, 80, 36), (2, 5, 4, 36), (2, 2), "SAME", (1, 2)),  # chunks, of several tiles each
        ((2, 1100, 35), (3, 35, 20), (2, 1100, 20), (1,), "SAME", (1,)),  # lines in several tiles
        ((2, 40, 37, 130), (5, 5, 130, 40), (2, 40, 37, 40), (1, 1), "SAME", (1, 1)),
        ((3, 6, 30, 30, 18), (3, 3, 3, 18, 17), (3, 6, 30, 30, 17), (1, 1, 1), "SAME", (1, 1, 1)),
    ]:
        x, w, dy = (random.integers(-3, 4, shape).astype(_dtype("bfloat16")) for shape in case[:3])
        for array in (x, dy):
            array.flat[random.integers(0, array.size)] = np.nan
        found = _by_blocks(case, x, w, dy)[2]
        with np.errstate(invalid="ignore"):
            wanted = convolution_numpy.filter_gradient_by_numpy(x, w.shape, dy, *case[3:])
        np.testing.assert_array_equal(found.astype(np.float64), wanted.astype(np.float64), err_msg=str(case))


@pytest.mark.parametrize("dtype", ("float32", "bfloat16"))
def test_large_filters_and_few_results_give_what_numpy_gives(dtype: str, vectors: None) -> None:
    random = np.random.default_rng(7)
    for case in [
        ((2, 9, 45, 100), (3, 3, 100, 50), (2, 9, 45, 50), (1, 1), "SAME", (1, 1)),  # filters in pieces
        ((1, 3, 15, 15, 40), (3, 3, 3, 40, 96), (1, 3, 15, 15, 96), (1, 1, 1), "SAME", (1, 1, 1)),
        ((2, 8, 31, 20), (5, 5, 20, 7), (2, 4, 16, 7), (2, 2), "SAME", (2, 2)),  # lines of 3 and 2 taps
        ((2, 6, 61, 33), (3, 3, 33, 40), (2, 6, 61, 40), (1, 1), "SAME", (1, 1)),  # the last by half a vector
        ((2, 9, 30, 461), (7, 7, 1, 461), (2, 9, 30, 461), (1, 1), "SAME", (1, 1)),  # apart, in parts
        ((1, 12, 70, 50), (3, 11, 1, 50), (1, 12, 70, 50), (1, 1), "SAME", (2, 6)),  # more columns than have masks
        ((1, 9, 41, 21), (3, 5, 1, 42), (1, 5, 14, 42), (2, 3), "SAME", (1, 1)),
    ]:
        x, w, dy = (random.integers(-3, 4, shape).astype(_dtype(dtype)) for shape in case[:3])
        for found, wanted in zip(_by_blocks(case, x, w, dy), _by_numpy(case, x, w, dy), strict=True):
            np.testing.assert_array_equal(found.astype(np.float64), wanted.astype(np.float64), err_msg=str(case))


@pytest.mark.parametrize("dtype", ("float32", "bfloat16"))
def test_planes_outside_are_not_multiplied(dtype: str, vectors: None) -> None:
    x, w = np.ones((1, 3, 3, 3, 32), _dtype(dtype)), np.ones((3, 3, 3, 32, 32), _dtype(dtype))
    w[0] = np.inf  # of the plane before
    found = blocks.forward(x, w, (3, 3, 3), (1, 1, 1), ((1, 1),) * 3, (1, 1, 1))
    assert found is not None and np.isfinite(found[0, 0].astype(np.float32)).all()
    assert not np.isfinite(found[0, 1:].astype(np.float32)).any()


@pytest.mark.parametrize("taps", (2, 3, 5, 7))
@pytest.mark.parametrize("channels", (1, 8, 33))
def test_columns_outside_are_not_multiplied(channels: int, taps: int, vectors: None) -> None:
    x, w = np.ones((1, 5, 30, channels), np.float32), np.ones((3, taps, 1, channels), np.float32)
    w[:, 0] = np.inf  # of columns before
    results = 8  # of more, not all vectors go by lines of taps
    for filter in (w, np.broadcast_to(w.reshape(3, taps, channels, 1), (3, taps, channels, results)).copy()):
        found = blocks.forward(x, filter, (5, 30), (1, 1), ((1, 1), (taps // 2, (taps - 1) // 2)), (1, 1))
        assert found is not None and np.isfinite(found[:, :, : taps // 2]).all()
        assert np.isposinf(found[:, :, taps // 2 :]).all()


def test_what_is_no_number_stays_where_it_is(vectors: None) -> None:
    random = np.random.default_rng(5)
    for case in [
        ((2, 5, 7, 3), (3, 3, 3, 5), (2, 5, 7, 5), (1, 1), "SAME", (1, 1)),
        ((2, 5, 7, 40), (3, 2, 1, 40), (2, 3, 4, 40), (2, 2), "SAME", (1, 1)),
        ((1, 9, 33, 2), (2, 3, 2, 17), (1, 8, 31, 17), (1, 1), "VALID", (1, 1)),
    ]:
        x, w, dy = (random.integers(-3, 4, shape).astype(np.float32) for shape in case[:3])
        for array in (x, dy):
            array.flat[random.integers(0, array.size, 2)] = (np.nan, np.inf)
        with np.errstate(invalid="ignore"):
            for found, wanted in zip(_by_blocks(case, x, w, dy), _by_numpy(case, x, w, dy), strict=True):
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_sums_are_as_near_as_those_of_numpy(dtype: str, vectors: None) -> None:
    random = np.random.default_rng(0)
    case = ((1, 30, 31, 40), (3, 3, 40, 50), (1, 30, 31, 50), (1, 1), "SAME", (1, 1))
    x, w, dy = (random.standard_normal(shape) for shape in case[:3])
    exact = _by_numpy(case, x, w, dy)
    narrow = [a.astype(dtype) for a in (x, w, dy)]
    for found, wanted in zip(_by_blocks(case, *narrow), exact, strict=True):
        assert np.abs(found - wanted).max() <= (2e-4 if dtype == "float32" else 1e-11)


@pytest.mark.parametrize("dtype", ("float32", "bfloat16"))
@pytest.mark.parametrize("groups", (1, 4, 64))
def test_threads_change_no_bit(groups: int, dtype: str) -> None:
    random = np.random.default_rng(0)
    case = ((3, 40, 40, 64), (3, 3, 64 // groups, 64), (3, 40, 40, 64), (1, 1), "SAME", (1, 1))
    x, w, dy = (random.standard_normal(shape).astype(_dtype(dtype)) for shape in case[:3])
    before, found = num_threads(), []
    try:
        for threads in (1, 2, 7):
            set_num_threads(threads)
            found.append(_by_blocks(case, x, w, dy))
    finally:
        set_num_threads(before)
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_sizes_that_do_not_fit_are_refused() -> None:
    x, w, dy = (np.ones(shape, np.float32) for shape in ((2, 5, 5, 4), (3, 3, 4, 6), (2, 3, 3, 6)))
    steps = ((1, 1), ((0, 0), (0, 0)), (1, 1))
    assert blocks.forward(x, w, (3, 3), *steps) is not None
    for bad in [
        lambda: blocks.forward(x, np.ones((3, 3, 3, 6), np.float32), (3, 3), *steps),  # 4 channels are no groups of 3
        lambda: blocks.forward(x, np.ones((3, 3, 1, 6), np.float32), (3, 3), *steps),  # nor 6 results 4 of them
        lambda: blocks.forward(x, np.ones((3, 3, 0, 6), np.float32), (3, 3), *steps),
        lambda: blocks.forward(x, w[0], (3, 3), *steps),
        lambda: blocks.forward(x, w, (3,), *steps),
        lambda: blocks.forward(x, w, (3, -1), *steps),
        lambda: blocks.forward(x, w, (3, 3), (1, 0), *steps[1:]),
        lambda: blocks.forward(x, w, (3, 3), (1,), *steps[1:]),
        lambda: blocks.forward(x, w, (3, 3), *steps[:2], (1, 0)),
        lambda: blocks.forward(x, w, (3, 3), *steps[:2], (1, 1 << 40)),
        lambda: blocks.input_gradient((2, 5, 5, 5), w, dy, *steps),
        lambda: blocks.input_gradient((1, 5, 5, 4), w, dy, *steps),
        lambda: blocks.input_gradient((2, -5, 5, 4), w, dy, *steps),
        lambda: blocks.filter_gradient(x, (3, 3, 4, 5), dy, *steps),
        lambda: blocks.filter_gradient(x, (0, 3, 4, 6), dy, *steps),
        lambda: blocks.filter_gradient(x, (3, 3, 4), dy, *steps),
    ]:
        with pytest.raises(ValueError, match="convolution|strides"):
            bad()
    assert blocks.forward(x.astype(np.complex64), w.astype(np.complex64), (3, 3), *steps) is None
    assert blocks.forward(x, w.astype(np.float64), (3, 3), *steps) is None


def test_sizes_are_computed_once_and_refused_each_time() -> None:
    x, w = tf.ones([1, 5, 5, 2]), tf.ones([3, 3, 2, 4])
    extents_and_pads.cache_clear()
    for _ in range(3):
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            y = tf.nn.conv2d(x, w, 2, "SAME")
        assert [each.shape for each in tape.gradient(y, [x, w])] == [x.shape, w.shape]
        with pytest.raises(tf.errors.InvalidArgumentError, match="strides should be larger than 0"):
            tf.nn.conv2d(x, w, 0, "SAME")
    assert extents_and_pads.cache_info().misses == 1 + 3  # those refused are found nowhere


def test_windows_beyond_the_input_read_zeros() -> None:
    """A result larger than its input has windows for, which no op asks for, is made without reading outside."""
    x, w = np.ones((1, 3, 3, 2), np.float32), np.ones((2, 2, 2, 5), np.float32)
    found = blocks.forward(x, w, (50, 50), (1, 1), ((-1, 0), (7, 0)), (1, 1))
    assert found is not None and found.sum() > 0 and not found[0, 3:].any() and not found[0, :, 11:].any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_taps_too_far_apart_for_a_tile_are_left_to_numpy(dtype: str) -> None:
    """What they see is counted without wrapping round: 2**31 lines of as many columns of 4 channels are 2**64."""
    x, w = np.ones((1, 1, 1, 4), _dtype(dtype)), np.ones((2, 2, 4, 1), _dtype(dtype))
    far = ((1, 1), ((2**30, 2**30),) * 2, (2**31 - 1,) * 2)
    assert blocks.forward(x, w, (1, 1), *far) is None
    assert blocks.input_gradient(x.shape, w, np.ones((1, 1, 1, 1), x.dtype), *far) is None
    assert blocks.filter_gradient(x, w.shape, np.ones((1, 1, 1, 1), x.dtype), *far) is None


def test_a_long_convolution_can_be_interrupted() -> None:
    x, w = tf.ones((4, 200, 200, 128)), tf.ones((5, 5, 128, 128))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        began = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            tf.nn.conv2d(x, w, 1, "SAME")
        taken = time.perf_counter() - began
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert taken < 10  # all of it is 130 billion operations
