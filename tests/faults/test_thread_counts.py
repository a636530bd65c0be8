"""Results have the same bits whatever the number of threads, in each tier; an idle program uses no processor."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.core.native import thread_pool


def normal(*shape: int) -> Any:
    return fg.constant(np.random.default_rng(shape[0]).normal(size=shape).astype(np.float32))


X, W, LONG = normal(700, 513), normal(513, 300), normal(3000, 513)
IMAGES, FILTERS = normal(4, 40, 40, 16), normal(3, 3, 16, 32)
ROWS = fg.constant(np.random.default_rng(0).integers(0, 50, 700).astype(np.int32))
PLACES = fg.constant(np.random.default_rng(1).integers(0, 700, (3000, 1)).astype(np.int32))


def gradient(function: Callable[..., Any], *arguments: Any) -> Any:
    with fg.GradientTape() as tape:
        tape.watch(list(arguments))
        result = function(*arguments)
    return [fg.convert_to_tensor(g) for g in tape.gradient(result, list(arguments))]


CASES: dict[str, Callable[[], Any]] = {
    "reductions": lambda: (
        [fg.reduce_sum(X), fg.reduce_mean(X, 0), fg.reduce_sum(X * X, 1), fg.reduce_logsumexp(X, 1), fg.norm(LONG)]
        + [fg.reduce_prod(1 + X * 1e-4), fg.math.reduce_variance(X), fg.reduce_sum(fg.tanh(LONG)), fg.cumsum(X)]
    ),
    "moments": lambda: [*fg.nn.moments(IMAGES, [0, 1, 2]), fg.nn.softmax(X)],
    "products": lambda: [X @ W, fg.matmul(X, X, transpose_a=True), fg.einsum("ij,ik->jk", X, X)],
    "products of batches": lambda: fg.matmul(fg.reshape(X, [7, 100, 513]), fg.reshape(X, [7, 513, 100])),
    "convolution": lambda: fg.nn.conv2d(IMAGES, FILTERS, 1, "SAME"),
    "gradient of a convolution": lambda: gradient(
        lambda x, w: fg.reduce_sum(fg.tanh(fg.nn.conv2d(x, w, 1, "SAME"))), IMAGES, FILTERS
    ),
    "gradient of pooling": lambda: gradient(
        lambda x: fg.reduce_sum(fg.nn.max_pool2d(x, 2, 2, "SAME") ** 2 + fg.nn.avg_pool2d(x, 2, 2, "SAME")), IMAGES
    ),
    "gradient of products": lambda: gradient(lambda x, w: fg.reduce_mean(fg.tanh(x @ w)), X, W),
    "gradient of gather": lambda: gradient(lambda x: fg.reduce_sum(fg.gather(x, ROWS) ** 2), X),
    "segments": lambda: [fg.math.unsorted_segment_sum(X, ROWS, 50), fg.math.unsorted_segment_mean(X, ROWS, 50)],
    "scatter": lambda: [fg.tensor_scatter_nd_add(X, PLACES, LONG), fg.scatter_nd(PLACES, LONG, [700, 513])],
    "random": lambda: [
        fg.random.stateless_normal([1000, 300], [1, 2]),
        fg.random.stateless_uniform([1000, 300], [1, 2]),
        fg.random.stateless_gamma([1000], [1, 2], 2.0),
    ],
}


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    fg.config.threading.set_intra_op_parallelism_threads(0)


@pytest.mark.parametrize("way", ["eager", "first", "last"])
@pytest.mark.parametrize("name", CASES)
def test_the_same_bits_for_any_number_of_threads(name: str, way: str) -> None:
    function = CASES[name] if way == "eager" else fg.function(CASES[name])
    results = []
    with flags.override(tier="last" if way == "last" else "first"):
        for count in (1, 2, 8):
            fg.config.threading.set_intra_op_parallelism_threads(count)
            assert thread_pool.num_threads() == count
            results += [b"".join([v.numpy().tobytes() for v in fg.nest.flatten(function())]) for _ in range(2)]
    assert results[0] and set(results) == {results[0]}


def test_the_same_bits_from_the_first_call_on_if_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """With determinism no call runs in another tier than the next one."""
    function = fg.function(lambda x, w: fg.reduce_sum(fg.tanh(x @ w), 0))
    fg.config.experimental.enable_op_determinism()
    try:
        results = []
        for count in (8, 1, 2):
            fg.config.threading.set_inter_op_parallelism_threads(count)
            results += [function(X, W).numpy().tobytes() for _ in range(2)]
        assert function.get_concrete_function(X, W).wait()
        results.append(function(X, W).numpy().tobytes())
        assert set(results) == {results[0]}
    finally:
        flags.clear_flag("tier")


def test_an_idle_program_uses_no_processor() -> None:
    fg.config.threading.set_inter_op_parallelism_threads(4)
    function = fg.function(lambda x: fg.reduce_sum(fg.tanh(x @ x)))
    x = fg.ones([400, 400])
    with flags.override(tier="last"):
        for _ in range(5):
            function(x)
    assert thread_pool.alive_threads()
    time.sleep(0.1)  # they look for work for some microseconds
    assert min(_seconds_of_cpu_asleep() for _ in range(5)) < 0.01  # others of this process may be at work for a while


def _seconds_of_cpu_asleep() -> float:
    began = time.process_time()
    time.sleep(0.5)
    return time.process_time() - began
