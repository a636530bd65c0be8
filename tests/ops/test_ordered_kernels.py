"""Kernels that go in order (running totals, scatters, segments, top_k, searches): any shape, any threads, eager's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.core.native.thread_pool import num_threads, set_num_threads

F = Callable[..., Any]


def last(f: F, *args: Any, specs: Any = None) -> list[Any]:
    """f's results by kernels, which are all it takes."""
    function = fg.function(f, input_signature=specs)
    with flags.override(tier="last"):
        results = function(*args)
        steps = function.get_concrete_function(*args).steps()
    assert not [s for s in steps if s.kind not in ("kernel", "alias")]
    return [r.numpy() for r in (results if isinstance(results, (tuple, list)) else [results])]


def threads(run: Callable[[], Any]) -> list[Any]:
    """What `run` gives on one thread and on four."""
    before, found = num_threads(), []
    for n in (1, 4):
        set_num_threads(n)
        found.append(run())
    set_num_threads(before)
    return found


@pytest.mark.parametrize("shape", [(7,), (1, 5), (3, 1, 4), (2, 300), (300, 2), (5, 70, 3), (700, 130), (0, 3), (3, 0)])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_totals(shape: Any, exclusive: bool, reverse: bool) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)

    def totals(t: Any) -> Any:
        return [
            f(t, a, exclusive, reverse) for a in range(len(shape)) for f in (fg.cumsum, fg.math.cumulative_logsumexp)
        ]

    eager = [r.numpy() for r in totals(fg.constant(x))]
    for results in threads(lambda: last(totals, fg.constant(x))):
        for i, (got, wanted) in enumerate(zip(results, eager, strict=True)):
            if i % 2 == 0:
                assert np.array_equal(got, wanted)  # the same additions in the same order
            else:
                np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_a_running_total_is_linear_in_its_length() -> None:
    x = fg.constant(np.ones(400_000, np.int64))
    with flags.override(tier="last"):
        got = fg.function(lambda t: fg.cumsum(t))(x)  # by a sum for each element it would take a minute
    assert np.array_equal(got.numpy(), np.arange(1, 400_001))


SHAPES = [(50, 3), (50, 9), (4, 200), (3000, 1), (2000, 40), (1, 1), (5, 0)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_scatters(shape: Any, dtype: str) -> None:
    rows, columns = shape
    random = np.random.default_rng(rows)
    n = 3 * rows
    base = random.integers(-9, 9, shape).astype(dtype)
    updates = random.integers(-9, 9, (n, columns)).astype(dtype)
    indices = random.integers(0, rows, (n, 1)).astype(np.int32)

    def scattered(b: Any, i: Any, u: Any) -> Any:
        found = [fg.scatter_nd(i, u, fg.shape(b)), fg.math.unsorted_segment_sum(u, i[:, 0], rows)]
        kinds = (
            fg.tensor_scatter_nd_update,
            fg.tensor_scatter_nd_add,
            fg.tensor_scatter_nd_sub,
            fg.tensor_scatter_nd_max,
            fg.tensor_scatter_nd_min,
        )
        if columns:
            found += [f(b, i, u) for f in kinds]
        return [*found, fg.math.unsorted_segment_max(u, i[:, 0], rows + 1)]

    given = [fg.constant(v) for v in (base, indices, updates)]
    eager = [r.numpy() for r in scattered(*given)]
    specs = [fg.TensorSpec(shape, dtype), fg.TensorSpec([None, 1], "int32"), fg.TensorSpec([None, None], dtype)]
    for results in threads(lambda: last(scattered, *given)) + [last(scattered, *given, specs=specs)]:
        for got, wanted in zip(results, eager, strict=True):
            assert np.array_equal(got, wanted)


@pytest.mark.parametrize("kind", ["gather", "gather along 1", "gather of batches", "gather_nd"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gradients_of_gathers_run_by_kernels(kind: str, dtype: str) -> None:
    x = fg.cast(np.random.default_rng(1).normal(size=(6, 40, 5)), dtype)
    flat, pairs = np.array([1, 5, 1, 0, 1]), np.array([[0, 3], [5, 39], [0, 3]])
    batches = np.array([[0, 1, 1]] * 6)
    f: F = {
        "gather": lambda t: fg.gather(t * 2.0, flat),
        "gather along 1": lambda t: fg.gather(t, flat, axis=1),
        "gather of batches": lambda t: fg.gather(t, batches, axis=1, batch_dims=1),
        "gather_nd": lambda t: fg.gather_nd(t, pairs),
    }[kind]

    def slope(t: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(t)
            y = f(t)
            y = fg.reduce_sum(y * y)
        return fg.convert_to_tensor(tape.gradient(y, t))

    wanted = slope(x).numpy().astype(np.float32)
    (got,) = last(slope, x)
    np.testing.assert_allclose(got.astype(np.float32), wanted, rtol=2e-2 if dtype == "bfloat16" else 1e-5)


def test_an_embedding_is_trained_by_its_rows() -> None:
    table = fg.Variable(np.arange(12.0).reshape(4, 3))
    with fg.GradientTape() as tape:
        y = fg.nn.embedding_lookup(table, [1, 3, 1])
    slope = tape.gradient(y, table)
    assert isinstance(slope, fg.IndexedSlices) and slope.indices.numpy().tolist() == [1, 3, 1]
    parts = [fg.constant([[1.0], [2.0]]), fg.constant([[3.0]])]
    assert fg.nn.embedding_lookup(parts, [2, 0]).numpy().tolist() == [[3.0], [1.0]]
    with pytest.raises(ValueError, match="params must be specified"):
        fg.nn.embedding_lookup(None, [0])
    for tier in ("first", "last"):
        with flags.override(tier=tier):
            function = fg.function(lambda i: fg.nn.embedding_lookup(table, i))
            with pytest.raises(fg.errors.InvalidArgumentError, match=r"indices\[1\] = 4 is not in \[0, 4\)"):
                function(fg.constant([0, 4]))


@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.parametrize(
    ("f", "arguments", "text"),
    [
        (lambda i, u: fg.scatter_nd(i, u, [4]), ([[0], [4]], [1.0, 2.0]), r"indices\[1\] = \[4\] does not index into"),
        (lambda i, u: fg.tensor_scatter_nd_add(u, i, u), ([[0], [-1]], [1.0, 2.0]), r"indices\[1\] = \[-1\] does not"),
        (lambda i, u: fg.math.unsorted_segment_sum(u, i, 2), ([0, 2], [1.0, 2.0]), r"segment_ids\[1\] = 2 is out of"),
        (lambda i, u: fg.gather_nd(u, i), ([[0], [7]], [1.0, 2.0]), r"indices\[1\] = \[7\] does not index into param"),
        (lambda i, u: fg.math.invert_permutation(i), ([1, 1], [1.0]), "1 is duplicated in the input."),
        (lambda i, u: fg.unravel_index(i, [1, 3]), ([1, 3], [1.0]), "index is out of bound as with dims"),
    ],
    ids=["scatter_nd", "tensor_scatter", "segments", "gather_nd", "permutation", "unravel"],
)
def test_numbers_out_of_range_are_named_in_every_tier(f: F, arguments: Any, text: str, tier: str) -> None:
    given = [fg.constant(a) for a in arguments]
    with flags.override(tier=tier), pytest.raises(fg.errors.InvalidArgumentError, match=text):
        fg.function(f)(*given)
    with pytest.raises(fg.errors.InvalidArgumentError, match=text):
        f(*given)


@pytest.mark.parametrize("k", [1, 4, 70])
def test_top_k_of_many_rows(k: int) -> None:
    x = np.random.default_rng(k).integers(0, 50, (300, 70)).astype(np.float32)
    x[5, :10], x[6] = np.nan, 1.0
    eager = [r.numpy() for r in fg.math.top_k(x, k)]
    for results in threads(lambda: last(lambda t: list(fg.math.top_k(t, k)), fg.constant(x))):
        for got, wanted in zip(results, eager, strict=True):
            assert np.array_equal(got, wanted, equal_nan=got.dtype.kind == "f")


def test_searches() -> None:
    random = np.random.default_rng(3)
    rows, values = np.sort(random.integers(0, 30, (40, 25)), -1), random.integers(-2, 33, (40, 9))
    for side in ("left", "right"):
        wanted = np.array([np.searchsorted(a, v, side) for a, v in zip(rows, values, strict=True)])
        assert np.array_equal(fg.searchsorted(rows, values, side).numpy(), wanted)
        (got,) = last(lambda a, v, side=side: fg.searchsorted(a, v, side), fg.constant(rows), fg.constant(values))
        assert np.array_equal(got, wanted)


@pytest.mark.parametrize("n", [1, 2, 5, 9, 24, 25, 128, 129])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int32", "uint8", "int64", "uint64"])
def test_short_rows_are_sorted_side_by_side(n: int, dtype: str) -> None:
    random = np.random.default_rng(n)
    x = random.integers(0, 6, (37, n)).astype(np.float64)
    if "int" not in dtype:
        for value in (np.nan, -0.0, np.inf, -np.inf):
            x[random.random(x.shape) < 0.1] = value
    for direction in ("ASCENDING", "DESCENDING"):
        for sort in (fg.sort, fg.argsort):
            f = lambda x, sort=sort, way=direction: sort(x, -1, way)
            given = fg.cast(x, dtype)
            with flags.override(tier="first"):
                wanted = np.array(fg.cast(fg.function(f)(given), "float64"))
            if n <= 128:
                got = np.array(fg.cast(last(f, given)[0], "float64"))
                np.testing.assert_array_equal(got, wanted)
                np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(wanted[wanted == 0]))
            else:
                concrete = fg.function(f).get_concrete_function(given)
                assert concrete.wait(60) and concrete.host_steps == 1


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 17, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32"])
def test_running_totals_of_rows_go_side_by_side(rows: int, dtype: str) -> None:
    x = fg.cast(np.random.default_rng(rows).integers(-3, 4, (rows, 30)), dtype)
    totals = [fg.cumsum, fg.math.cumprod, *([fg.math.cumulative_logsumexp] if dtype.startswith("float") else [])]
    for total in totals:
        for exclusive, reverse in ((False, False), (True, False), (False, True), (True, True)):
            f = lambda x, total=total, e=exclusive, r=reverse: total(x, 1, exclusive=e, reverse=r)
            (got,) = last(f, x)
            exact = total is not fg.math.cumulative_logsumexp
            for k in range(rows):  # as each alone
                np.testing.assert_allclose(got[k], last(f, x[k : k + 1])[0][0], rtol=0 if exact else 1e-5)
            with flags.override(tier="first"):
                np.testing.assert_allclose(got, fg.function(f)(x), rtol=0 if exact else 1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize(("rows", "n", "m"), [(1, 300, 1000), (1, 300, 1), (90, 7, 1), (3, 40, 150), (2, 1, 70)])
def test_searches_go_in_tiles(rows: int, n: int, m: int, dtype: str) -> None:
    random = np.random.default_rng(n)
    among = np.sort(random.integers(0, 2 * n, (rows, n)), -1).astype(dtype)
    for values in (random.integers(-2, 2 * n + 2, (rows, m)), np.arange(rows * m).reshape(rows, m) * 2 * n // m):
        for side in ("left", "right"):
            wanted = np.array([np.searchsorted(a, v, side) for a, v in zip(among, values, strict=True)])
            search = lambda a, v, side=side: fg.searchsorted(a, v, side)
            assert np.array_equal(last(search, fg.constant(among), fg.constant(values.astype(dtype)))[0], wanted)


def test_searches_among_nan_take_the_steps_of_one_alone() -> None:
    among = np.sort(np.random.default_rng(0).normal(size=(2, 30)).astype(np.float32), -1)
    among[0, [3, 14, 15]] = np.nan
    values = np.random.default_rng(1).normal(size=(2, 100)).astype(np.float32)
    values[:, 50] = np.nan
    for side in ("left", "right"):
        search = lambda a, v, side=side: fg.searchsorted(a, v, side)
        with flags.override(tier="first"):
            wanted = fg.function(search)(among, values)
        assert np.array_equal(last(search, fg.constant(among), fg.constant(values))[0], wanted)


#: What goes through NaN and infinities; tests/api/op_rows_wide.py has TensorFlow's answers to such arguments.
NOT_NUMBERS: dict[str, F] = {
    **{
        name: lambda x, y, name=name: getattr(fg, name)(x, -1)
        for name in (
            "reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_logsumexp", "argmax",
            "argmin", "cumsum",
        )
    },
    **{
        name: lambda x, y, name=name: getattr(fg.math, name)(x, -1)
        for name in ("reduce_variance", "reduce_std", "reduce_euclidean_norm", "cumprod", "cumulative_logsumexp")
    },
    **{
        name: getattr(fg, name)
        for name in (
            "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "maximum", "minimum",
        )
    },
    "norm": lambda x, y: fg.norm(x, float("inf"), -1),
    "count_nonzero": lambda x, y: fg.math.count_nonzero(x, -1),
    "reduce_any": lambda x, y: fg.reduce_any(x > y, -1),
    "where": lambda x, y: fg.where(x < y, x, y),
    "sign": lambda x, y: fg.sign(x),
    "relu6": lambda x, y: fg.nn.relu6(x),
    "clip_by_value": lambda x, y: fg.clip_by_value(x, -1.0, 1.0),
    "sums down the columns": lambda x, y: [fg.reduce_max(x, 0), fg.reduce_sum(y, 0), fg.reduce_min(y, 0)],
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_not_numbers_are_the_same_in_every_tier(dtype: str) -> None:
    some = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.0])
    x, y = (np.random.default_rng(s).choice(some, (60, 9)).astype(dtype) for s in (0, 1))

    def every(a: Any, b: Any) -> Any:
        return fg.nest.flatten([f(a, b) for f in NOT_NUMBERS.values()])

    eager = [r.numpy() for r in every(fg.constant(x), fg.constant(y))]
    for tier in ("first", "last"):
        with flags.override(tier=tier):
            results = fg.function(every)(fg.constant(x), fg.constant(y))
        for got, wanted in zip(results, eager, strict=True):
            np.testing.assert_allclose(got.numpy(), wanted, rtol=2e-3 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("tier", ["first", "last"])
def test_searches_in_other_rows_than_there_are(tier: str) -> None:
    """A kernel would read behind the sequence."""
    spec = fg.TensorSpec([None, None])
    search = fg.function(lambda rows, values: fg.searchsorted(rows, values), input_signature=[spec, spec])
    with flags.override(tier=tier):
        for n, m in ((1, 50_000), (3, 2)):
            with pytest.raises(fg.errors.InvalidArgumentError, match="Leading dim_size"):
                search(fg.ones([n, 4]), fg.zeros([m, 3]))
        assert search(fg.ones([2, 4]), fg.zeros([2, 3])).numpy().tolist() == [[0, 0, 0], [0, 0, 0]]
