"""Eager pooling by vectors gives the bits that NumPy's bodies give, for any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.native import poolings
from fastgraph.core.native.thread_pool import num_threads, set_num_threads
from fastgraph.ops import pooling_numpy
from fastgraph.ops.window_arguments import out_extents
from tests import native

DTYPES = ("float32", "float64", "bfloat16", "float16")


@pytest.fixture(params=(512, 256))
def vectors(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.param > native.MOST_BITS:
        pytest.skip(f"this CPU has no vectors of {request.param} bits")
    with native.using(native.CONVOLUTION_BITS, request.param):
        yield


def _case(random: np.random.Generator) -> tuple[Any, ...]:
    """Shapes of x and of its windows, their extents, strides and padding."""
    rank = int(random.integers(1, 4))
    k, s = (tuple(random.integers(1, 5, rank).tolist()) for _ in range(2))
    spatial = tuple(random.integers(4, (40, 12, 7)[rank - 1], rank).tolist())
    padding: Any = str(random.choice(["SAME", "VALID", "explicit"]))
    if padding == "explicit":
        padding = tuple((int(random.integers(0, n)), int(random.integers(0, n))) for n in k)
    batch, c = int(random.integers(0, 4)), int(random.choice((1, 3, 8, 16, 31, 40, 70)))
    out = out_extents(spatial, k, s, padding, (1,) * rank)
    return (batch, *spatial, c), (batch, *out, c), k, s, padding


def _all(case: tuple[Any, ...], x: Any, g: Any, dy: Any) -> list[tuple[Any, Any]]:
    """Each pooling by vectors and by NumPy."""
    how, found = case[2:], pooling_numpy
    return [
        (found.max_pool(x, *how), found.max_pool_by_numpy(x, *how)),
        (found.max_pool_grad(x, dy, *how), found.max_pool_grad_by_numpy(x, dy, *how)),
        (found.max_pool_pick(x, g, *how), found.max_pool_pick_by_numpy(x, g, *how)),
        (found.avg_pool(x, *how), found.avg_pool_by_numpy(x, *how)),
        (found.avg_pool_grad(x.shape, dy, *how), found.avg_pool_grad_by_numpy(x.shape, dy, *how)),
    ]


def _bits(array: Any) -> Any:
    """What is compared: 0 and -0 are one, and so is all that is no number."""
    return np.where(np.isnan(array), np.float64(np.nan), array.astype(np.float64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors_give_what_numpy_gives(dtype: str, vectors: None) -> None:
    random = np.random.default_rng(DTYPES.index(dtype))
    kind = tf.as_dtype(dtype).as_numpy_dtype
    for _ in range(60):
        case = _case(random)
        x, g, dy = (random.standard_normal(shape).astype(kind) for shape in (case[0], case[0], case[1]))
        if x.size:
            x = np.where(random.random(x.shape) < 0.5, np.round(x.astype(np.float32)).astype(kind), x)  # equal ones
            x.flat[random.integers(0, x.size, 5)] = (np.nan, np.nan, np.inf, -np.inf, -np.inf)
        with np.errstate(invalid="ignore"):
            for number, (found, wanted) in enumerate(_all(case, x, g, dy)):
                assert found.dtype == wanted.dtype
                np.testing.assert_array_equal(_bits(found), _bits(wanted), err_msg=f"{number} of {case}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", (2, 3))
def test_windows_that_share_no_element(dtype: str, step: int, vectors: None) -> None:
    """Each element gets what its window gets, others nothing: equal maxima, edges and every number of channels."""
    random = np.random.default_rng(step)
    kind = tf.as_dtype(dtype).as_numpy_dtype
    for c in (1, 6, 16, 33, 300):
        for window in ((2,), (2, 2), (2, 1, 2)):
            how = (window, (step,) * len(window), "SAME")
            dims = (3, *(7, 5, 4)[: len(window)], c)
            out = (3, *out_extents(dims[1:-1], *how, (1,) * len(window)), c)
            x = random.integers(-1, 2, dims).astype(kind)  # the largest of a window is often there twice
            g, dy = (random.standard_normal(shape).astype(kind) for shape in (dims, out))
            for number, (found, wanted) in enumerate(_all((dims, out, *how), x, g, dy)):
                np.testing.assert_array_equal(_bits(found), _bits(wanted), err_msg=f"{number} of {dims}, {how}")


@pytest.mark.parametrize("window", (2, 3))  # windows that share nothing, and those that do
def test_threads_change_no_bit(window: int) -> None:
    random = np.random.default_rng(0)
    case = ((3, 40, 40, 70), (3, 20, 20, 70), (window, window), (2, 2), "SAME")
    x, g, dy = (random.standard_normal(shape).astype(np.float32) for shape in (case[0], case[0], case[1]))
    before, found = num_threads(), []
    try:
        for threads in (1, 2, 7):
            set_num_threads(threads)
            found.append([each for each, _ in _all(case, x, g, dy)])
    finally:
        set_num_threads(before)
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_windows_far_beyond_the_image_take_no_longer_than_the_image() -> None:
    """What can lie inside is what counts: by NumPy, position by position, these would take hours."""
    x = tf.constant(np.arange(32.0, dtype=np.float32).reshape(1, 4, 4, 2))
    with tf.GradientTape() as tape:
        tape.watch(x)
        most = tf.nn.max_pool2d(x, 100_000, 1, "SAME")
        mean = tf.nn.avg_pool2d(x, 100_000, 2, "SAME")
        total = tf.reduce_sum(most) + tf.reduce_sum(mean)
    np.testing.assert_array_equal(most, np.broadcast_to([30.0, 31.0], (1, 4, 4, 2)))
    np.testing.assert_array_equal(mean, np.broadcast_to([15.0, 16.0], (1, 2, 2, 2)))
    wanted = np.full((1, 4, 4, 2), 4 / 16, np.float32)
    wanted[0, 3, 3] += 16
    np.testing.assert_array_equal(tape.gradient(total, x), wanted)


def test_sizes_that_do_not_fit_are_refused() -> None:
    x, y = np.ones((2, 5, 5, 4), np.float32), np.ones((2, 4, 4, 4), np.float32)
    steps = ((2, 2), (1, 1), ((0, 0), (0, 0)))
    assert poolings.pooled("max", x.shape, y.shape, x, None, *steps) is not None
    for bad in [
        lambda: poolings.pooled("max", (2, 5, 6, 4), y.shape, x, None, *steps),
        lambda: poolings.pooled("max", x.shape, (2, 4, 4, 5), x, None, *steps),
        lambda: poolings.pooled("max", x.shape, (2, 4, -4, 4), x, None, *steps),
        lambda: poolings.pooled("max", x.shape, y.shape, None, None, *steps),
        lambda: poolings.pooled("spread", x.shape, y.shape, x, x, *steps),
        lambda: poolings.pooled("pick", x.shape, y.shape, x, y, *steps),
        lambda: poolings.pooled("share", x.shape, y.shape, None, x, *steps),
        lambda: poolings.pooled("mean", x.shape, y.shape, x, None, (2,), *steps[1:]),
        lambda: poolings.pooled("mean", x.shape, y.shape, x, None, (2, 0), *steps[1:]),
        lambda: poolings.pooled("mean", x.shape, y.shape, x, None, (2, 2), (1, 0), steps[2]),
    ]:
        with pytest.raises(ValueError, match="pooling"):
            bad()
    integers = x.astype(np.int32)
    assert poolings.pooled("max", x.shape, y.shape, integers, None, *steps) is None
