"""Convolutions and pooling as kernels: the NumPy bodies' values for all geometries, any sizes, and any cut of the work."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
import fastgraph.ops
from fastgraph.compiler.assemble import assemble
from fastgraph.compiler.library import convolution_forward, register_blocks
from fastgraph.compiler.program.program import GemmStep, KernelStep
from fastgraph.compiler.program.symbolic_extents import witness_shapes
from fastgraph.compiler.store import kernel_service
from fastgraph.core.base import flags
from fastgraph.core.native import convolutions
from fastgraph.core.registry import get
from fastgraph.core.tensor import as_array, bind, from_array
from fastgraph.runtime.executable import compile_graph

#: (x, filter, strides, padding, dilations): channels of one and of many vectors, with and without a part of one.
CASES: dict[str, tuple[Any, ...]] = {
    "one channel": ((2, 5, 7, 1), (3, 3, 1, 1), (1, 1), "SAME", (1, 1)),
    "one channel to a vector": ((3, 9, 17, 1), (3, 3, 1, 16), (1, 1), "VALID", (1, 1)),
    "three to seventeen": ((2, 9, 16, 3), (3, 3, 3, 17), (1, 1), "SAME", (1, 1)),
    "strides": ((2, 9, 16, 3), (5, 4, 3, 16), (2, 2), "SAME", (1, 1)),
    "strides that differ": ((2, 9, 11, 16), (3, 3, 16, 33), (2, 3), "VALID", (1, 1)),
    "stride above the window": ((2, 8, 9, 3), (2, 2, 3, 5), (3, 4), "SAME", (1, 1)),
    "stride above one pixel": ((2, 8, 9, 3), (1, 1, 3, 5), (3, 4), "VALID", (1, 1)),
    "dilations": ((2, 9, 30, 17), (3, 2, 17, 64), (1, 1), "SAME", (2, 3)),
    "explicit padding": ((2, 9, 30, 4), (3, 2, 4, 5), (1, 1), ((3, 0), (1, 4)), (2, 1)),
    "window above the image": ((1, 3, 3, 8), (5, 5, 8, 80), (1, 1), "SAME", (1, 1)),
    "groups": ((2, 8, 8, 16), (3, 3, 8, 16), (2, 2), "SAME", (1, 1)),
    "groups and dilations": ((2, 8, 8, 16), (3, 3, 4, 20), (1, 1), "SAME", (1, 2)),
    "each channel alone": ((2, 6, 6, 8), (3, 3, 1, 16), (1, 1), "SAME", (1, 1)),
    "no batch": ((0, 8, 8, 16), (3, 3, 16, 16), (1, 1), "SAME", (1, 1)),
    "one row": ((3, 1, 50, 5), (1, 7, 5, 6), (1, 3), "SAME", (1, 1)),
    "many channels": ((1, 7, 7, 128), (3, 3, 128, 200), (1, 1), "SAME", (1, 1)),
    "panels": ((2, 7, 7, 150), (1, 1, 150, 900), (2, 2), "SAME", (1, 1)),
    "volume": ((2, 5, 6, 7, 3), (2, 3, 3, 3, 5), (1, 1, 1), "SAME", (1, 1, 1)),
    "volume, strides": ((2, 5, 6, 7, 3), (2, 3, 3, 3, 5), (2, 1, 2), "SAME", (1, 1, 1)),
    "few results": ((2, 9, 17, 20), (3, 3, 20, 3), (1, 1), "SAME", (1, 1)),
    "one result": ((2, 7, 33, 16), (1, 2, 16, 1), (2, 3), "VALID", (1, 1)),
    "to few, strides": ((2, 11, 13, 2), (3, 5, 2, 33), (2, 2), "SAME", (1, 1)),
    "to four": ((1, 5, 40, 4), (3, 3, 4, 9), (1, 1), ((2, 0), (0, 2)), (2, 1)),
    "volume of few": ((2, 4, 5, 9, 3), (2, 3, 4, 3, 12), (1, 2, 1), "SAME", (1, 1, 1)),
    "volume to one": ((1, 4, 5, 20, 17), (2, 2, 3, 17, 1), (1, 1, 1), "SAME", (1, 1, 1)),
    "volume, dilations": ((2, 5, 6, 7, 3), (2, 3, 2, 3, 18), (1, 1, 1), "VALID", (2, 1, 2)),
}


def three(case: tuple[Any, ...], dtype: str = "float32") -> tuple[Any, list[Any]]:
    """A function that computes a convolution and both gradients, and its arguments."""
    x, w, strides, padding, dilations = case
    name = f"conv{len(x) - 2}d"
    attrs = {"strides": strides, "padding": padding, "dilations": dilations}
    random = np.random.default_rng(0)
    given = [from_array(random.standard_normal(s).astype(dtype)) for s in (x, w)]
    out = bind(get(name), tuple(given), attrs).shape.as_list()
    given.append(from_array(random.standard_normal(out).astype(dtype)))

    def function(x: Any, w: Any, dy: Any) -> Any:
        return (
            bind(get(name), (x, w), attrs),
            bind(get(f"{name}_input_grad"), (fg.shape(x), w, dy), attrs),
            bind(get(f"{name}_filter_grad"), (x, fg.shape(w), dy), attrs),
        )

    return function, given


def assert_near(got: Any, wanted: Any, what: str = "", tolerance: float = 2e-6) -> None:
    got, wanted = as_array(got), as_array(wanted)
    assert got.shape == wanted.shape, what
    scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * scale * 4, err_msg=what)


def steps_of(function: Any, arguments: Any) -> list[KernelStep]:
    executable = function.get_concrete_function(*arguments).executable
    return [s for s in executable.program.steps if isinstance(s, KernelStep)]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_kernels_give_what_the_bodies_give(name: str) -> None:
    function, given = three(CASES[name])
    wanted = function(*given)
    with flags.override(tier="first"):
        for got, value in zip(fg.function(function)(*given), wanted, strict=True):
            assert np.array_equal(as_array(got), as_array(value))
    with flags.override(tier="last"):
        compiled = fg.function(function)
        for which, got, value in zip(("result", "input", "filter"), compiled(*given), wanted, strict=True):
            assert_near(got, value, which)
        assert compiled.get_concrete_function(*given).host_steps == 0


@pytest.mark.slow
def test_doubles_take_the_loop_nest() -> None:
    function, given = three(CASES["strides"], "float64")
    with flags.override(tier="last"):
        for got, value in zip(fg.function(function)(*given), function(*given), strict=True):
            assert_near(got, value, tolerance=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_floats_are_computed_in_float32(dtype: str) -> None:
    """By blocks, and rounded once. Whole numbers, so that no order of a sum shows."""
    function, given = three(CASES["strides"])
    random = np.random.default_rng(4)
    whole = [fg.cast(fg.constant(random.integers(-3, 4, v.shape.as_list()).astype(np.float32)), dtype) for v in given]
    with flags.override(tier="last"):
        staged = fg.function(function)
        for got, value in zip(staged(*whole), function(*whole), strict=True):
            assert got.dtype == dtype
            assert np.array_equal(as_array(fg.cast(got, fg.float32)), as_array(fg.cast(value, fg.float32)))
    blocks = [s for s in steps_of(staged, whole) if {"block_float32", "few_float32"} & set(s.kernel.imports)]
    assert [s.nodes[0].op.name for s in blocks] == ["conv2d", "conv2d_input_grad", "conv2d_filter_grad"]


@pytest.mark.slow
@pytest.mark.skipif(not convolutions.has_pairs(), reason="a CPU without products of pairs")
@pytest.mark.parametrize(
    ("x", "w", "by_pairs"),
    [
        ((4, 28, 28, 16), (3, 3, 16, 32), True),
        ((8, 30, 30, 64), (7, 7, 1, 64), True),  # each channel alone
        ((4, 56, 56, 3), (7, 7, 3, 16), False),  # too few channels
        ((4, 56, 56, 16), (3, 3, 16, 4), False),
        ((2, 6, 6, 8), (3, 3, 8, 8), False),  # too few products
        ((2, 8, 12, 12, 8), (3, 3, 3, 8, 16), True),
    ],
)
def test_pairs_of_bfloat16_are_left_to_the_body(x: Any, w: Any, by_pairs: bool) -> None:
    """Its bits, in graphs too: where the CPU multiplies pairs, and enough of them."""
    rank = len(x) - 2
    function, given = three((x, w, (1,) * rank, "SAME", (1,) * rank))
    half = [fg.cast(v, fg.bfloat16) for v in given]
    with flags.override(tier="last"):
        staged = fg.function(function)
        made = [as_array(fg.cast(v, fg.float32)) for v in staged(*half)]
    wanted = [as_array(fg.cast(v, fg.float32)) for v in function(*half)]
    assert staged.get_concrete_function(*half).host_steps == 3 * by_pairs
    for got, value in zip(made, wanted, strict=True):
        assert np.array_equal(got, value) if by_pairs else np.allclose(got, value, rtol=0.02, atol=0.02 * value.max())


@pytest.mark.slow
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_one_trace_and_its_kernels_serve_all_sizes(padding: str) -> None:
    random = np.random.default_rng(1)
    w = fg.constant(random.standard_normal([3, 3, 2, 5]).astype(np.float32))

    def function(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch([x, w])
            y = fg.nn.conv2d(x, w, 2, padding)
            y = fg.nn.max_pool2d(y, 2, 1, "SAME")
            loss = fg.reduce_sum(y * y)
        return [y, *tape.gradient(loss, [x, w])]

    staged = fg.function(function, input_signature=[fg.TensorSpec([None, None, None, 2])])
    compiled = None
    with flags.override(tier="last"):
        for batch, height, columns in itertools.product((1, 3), (3, 8), (4, 31)):
            x = fg.constant(random.standard_normal([batch, height, columns, 2]).astype(np.float32))
            for got, value in zip(staged(x), function(x), strict=True):
                assert_near(got, value, f"{batch} {height} {columns}")
            made = kernel_service.statistics().compiled + kernel_service.statistics().compiled_in_place
            if batch == 3 and compiled is None:
                compiled = made  # batch 1 is a program of its own: 1 may broadcast
        assert kernel_service.statistics().compiled + kernel_service.statistics().compiled_in_place == compiled
        assert staged.experimental_get_tracing_count() == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["three to seventeen", "strides", "many channels", "panels"])
def test_where_the_work_is_cut_changes_no_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastgraph.runtime import step_specs

    function, given = three(CASES[name])
    results = []
    for pieces in (1, 3, 7):
        monkeypatch.setattr(step_specs, "kernel_chunk", lambda extent, _, p=pieces: max(1, -(-extent // p)))
        with flags.override(tier="last"):
            results.append([as_array(y).copy() for y in fg.function(function)(*given)])
    for other in results[1:]:
        for got, value in zip(other, results[0], strict=True):
            assert np.array_equal(got, value)


def test_a_convolution_of_floats_has_a_kernel_of_blocks() -> None:
    function, given = three(CASES["three to seventeen"])
    steps = steps_of(fg.function(function), given)
    blocks = [s for s in steps if {"block_float32", "few_float32"} & set(s.kernel.imports)]
    assert [s.nodes[0].op.name for s in blocks] == ["conv2d", "conv2d_input_grad", "conv2d_filter_grad"]


def test_lanes_are_terms_of_a_sum_where_there_are_few_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three results to a pixel would leave most of a vector empty; where sums are short as well, it is so."""
    monkeypatch.setattr(register_blocks, "width", lambda: register_blocks.Width(16, 32))
    monkeypatch.setattr(convolution_forward, "width", lambda: register_blocks.Width(16, 32))

    def few(c: int, f: int, turned: bool, window: int = 3, **more: Any) -> bool:
        known = {"strides": (1, 1), "dilations": (1, 1), **more}
        g = register_blocks.Geometry((window, window), c, f, 1, known["strides"], known["dilations"], "SAME")
        return convolution_forward.Correlation(g, turned).few

    assert few(3, 16, turned=True) and few(1, 8, turned=True) and few(64, 3, turned=False)
    assert not few(3, 16, turned=False) and not few(16, 16, turned=True) and not few(3, 4, turned=True)
    assert not few(3, 16, turned=True, dilations=(1, 2)) and not few(3, 16, turned=True, strides=(4, 4))


def test_large_filters_of_one_tap_are_shared_among_threads() -> None:
    """By their panels, so that no thread reads all of them, and the gradient by its entries: rows are few there."""
    function, given = three(CASES["panels"])
    steps = steps_of(fg.function(function), given)
    units = {s.nodes[0].op.name: s.extent.constant for s in steps if "block_float32" in s.kernel.imports}
    rows = {"conv2d": 29, "conv2d_input_grad": 5} if register_blocks.width().lanes == 16 else units
    assert {name: units[name] for name in rows} == rows
    assert units["conv2d_filter_grad"] >= 8


def test_a_gradient_to_a_filter_of_unknown_size_has_no_kernel_of_blocks() -> None:
    """Such a kernel is special to the filter's extents; those that stand for unknown ones are not what comes."""
    function, given = three(((2, 4, 5, 3), (2, 1, 3, 8), (1, 1), "VALID", (1, 1)))
    unknown = [fg.TensorSpec([2, None, None, 3]), fg.TensorSpec([None] * 4), fg.TensorSpec([None] * 4)]
    staged = fg.function(function, input_signature=unknown)
    graph = compile_graph(staged.get_concrete_function().graph.ir)
    program = assemble(graph, witness_shapes(graph, [x.shape.as_list() for x in given]))
    blocks = [
        s
        for s in program.steps
        if isinstance(s, KernelStep) and {"block_float32", "few_float32"} & set(s.kernel.imports)
    ]
    assert not blocks
    with flags.override(tier="last"):
        for got, value in zip(staged(*given), function(*given), strict=True):
            assert_near(got, value, "unknown filter")


def test_kernels_are_shared_by_batches_heights_and_widths_of_as_many_pixels_at_a_time() -> None:
    def sources(x: tuple[int, ...]) -> list[str]:
        function, given = three((x, (3, 3, 16, 16), (1, 1), "SAME", (1, 1)))
        return [s.kernel.source for s in steps_of(fg.function(function), given)]

    assert sources((2, 9, 26, 16)) == sources((5, 30, 39, 16))
    assert sources((2, 9, 26, 16)) != sources((2, 9, 32, 16))  # by vectors of 512 bits 13 and 11 pixels


def test_kernels_are_shared_by_channels_windows_and_strides() -> None:
    """A network's convolutions are few kernels: only what blocks of registers depend on is in their text."""

    def sources(x: tuple[int, ...], w: tuple[int, ...], strides: tuple[int, int], padding: str = "SAME") -> list[str]:
        function, given = three((x, w, strides, padding, (1, 1)))
        return [s.kernel.source for s in steps_of(fg.function(function), given)]

    first = sources((2, 14, 14, 64), (3, 3, 64, 64), (1, 1))
    assert sources((2, 14, 14, 64), (1, 2, 64, 64), (1, 1)) == first
    assert sources((4, 14, 14, 64), (1, 5, 64, 96), (1, 1))[2] == first[2]
    strided = sources((2, 28, 28, 64), (3, 3, 64, 64), (2, 2))
    assert strided[0] == first[0] and strided[-1] == first[-1]
    assert sources((2, 42, 42, 64), (5, 5, 64, 64), (3, 3)) == strided


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 3, 4, 5, 9, 26, 29])
@pytest.mark.parametrize("case", ["three to seventeen", "strides"])
def test_each_width_has_blocks_that_fit(case: str, width: int) -> None:
    """A known width has the block that is best for it and one for short rows."""
    (n, h, _, c), *rest = CASES[case]
    function, given = three(((n, h, width, c), *rest))
    staged = fg.function(function)
    with flags.override(tier="last"):
        for got, value in zip(staged(*given), function(*given), strict=True):
            assert_near(got, value, f"{case}, {width}")


@pytest.mark.parametrize(("f", "lanes"), [(1, 4), (3, 4), (8, 8), (16, 16), (17, 16), (64, 16), (130, 16)])
def test_vectors_cover_a_row_once(f: int, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(register_blocks, "width", lambda: register_blocks.Width(16, 32))
    found, tail, n, each = register_blocks.vectors(f)
    assert found == lanes
    assert (n - 1) * found + tail == f
    assert 1 <= tail <= found
    assert 1 <= each <= 2


def test_kernels_of_windows_that_overlap_much_stay_small() -> None:
    """Each element of x is in many windows and each has many elements: all of them written out took minutes."""

    def function(x: Any) -> Any:
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as tape:
                tape.watch(x)
                total = fg.reduce_sum(fg.nn.max_pool2d(x, 5, 2, "SAME") ** 3)
            gradient = tape.gradient(total, x)
        return gradient, outer.gradient(gradient, x)

    x = fg.constant(np.random.default_rng(0).permutation(72).reshape(1, 9, 8, 1).astype(np.float32))
    assert max(len(s.kernel.source) for s in steps_of(fg.function(function), (x,))) < 60_000
    with flags.override(tier="last"):
        for got, value in zip(fg.function(function)(x), function(x), strict=True):
            assert_near(got, value, "window of 5 x 5")


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 8, 17, 130])
def test_gradients_of_biases_are_sums_of_rows_in_registers(n: int) -> None:
    random = np.random.default_rng(3)
    x = fg.constant(random.standard_normal([n, 9, 11, 4]).astype(np.float32))
    w = fg.constant(random.standard_normal([3, 3, 4, n]).astype(np.float32))
    b = fg.constant(random.standard_normal([n]).astype(np.float32))

    def function(x: Any, w: Any, b: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch([w, b])
            with fg.GradientTape() as inner:
                y = fg.nn.conv2d(x, w, 1, "SAME")
                inner.watch(y)
                z = fg.nn.bias_add(y, b)
                loss = fg.reduce_sum(fg.tanh(z))
            dy = inner.gradient(loss, y)
        # Sums along other axes of the same extent are other sums.
        return [*tape.gradient(loss, [w, b]), fg.reduce_sum(dy, [0, 1, 2]), fg.reduce_sum(dy, [1, 2, 3])]

    with flags.override(tier="last"):
        staged = fg.function(function)
        for got, value in zip(staged(x, w, b), function(x, w, b), strict=True):
            assert_near(got, value, tolerance=1e-5)
        sums = [s for s in steps_of(staged, (x, w, b)) if s.nodes[0].op.name == "sum_to_like"]
        assert "block_float32" in sums[0].kernel.imports


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "f"), [((2, 9, 11, 3), 18), ((2, 4, 5, 6, 3), 18), ((2, 9, 31, 8), 3)])
@pytest.mark.parametrize("relu", [False, True])
def test_a_bias_and_relu_are_added_where_the_sums_are(shape: tuple[int, ...], f: int, relu: bool) -> None:
    random = np.random.default_rng(5)
    x = random.standard_normal(shape).astype(np.float32)
    x[0, 0] = np.nan
    rank = len(shape) - 2
    w = fg.constant(random.standard_normal((*(3,) * rank, shape[-1], f)).astype(np.float32))
    b = fg.constant(random.standard_normal([f]).astype(np.float32))

    def function(x: Any) -> Any:
        y = b + fg.nn.convolution(x, w, padding="SAME")
        return fg.nn.relu(y) if relu else y

    given = fg.constant(x)
    with flags.override(tier="last"):
        staged = fg.function(function)
        got, wanted = as_array(staged(given)), as_array(function(given))
        *_, step = steps_of(staged, (given,))
    assert np.isnan(wanted).any()
    assert np.array_equal(np.isnan(got), np.isnan(wanted))
    assert_near(from_array(np.nan_to_num(got)), from_array(np.nan_to_num(wanted)))
    assert [n.op.name for n in step.nodes] == [f"conv{rank}d_bias"]


def test_what_something_else_takes_is_not_fused() -> None:
    w, b = fg.ones([3, 3, 2, 4]), fg.ones([4])

    def names(function: Any) -> list[str]:
        given = fg.ones([1, 5, 5, 2])
        return [s.nodes[0].op.name for s in steps_of(fg.function(function), (given,))]

    def both(x: Any) -> Any:
        y = fg.nn.conv2d(x, w, 1, "SAME")
        return y, y + b

    def sum_of_both(x: Any) -> Any:
        y = fg.nn.conv2d(x, w, 1, "SAME") + b
        return y * fg.nn.relu(y)

    def other_shape(x: Any) -> Any:
        return fg.nn.conv2d(x, w, 1, "SAME") + fg.ones([5, 4])

    assert names(both)[0] == "conv2d"
    assert names(sum_of_both)[0] == "conv2d_bias"
    assert names(other_shape)[0] == "conv2d"


@pytest.mark.slow
def test_training_by_convolutions_runs_without_python() -> None:
    random = np.random.default_rng(2)
    x = fg.constant(random.standard_normal([4, 12, 12, 1]).astype(np.float32))
    y = fg.constant(random.integers(0, 3, 4).astype(np.int32))
    w = fg.Variable(random.standard_normal([3, 3, 1, 8]).astype(np.float32))
    v = fg.Variable(random.standard_normal([8, 3]).astype(np.float32))

    def loss() -> Any:
        h = fg.nn.relu(fg.nn.conv2d(x, w, 1, "SAME"))
        h = fg.nn.max_pool2d(h, 2, 2, "VALID")
        logits = fg.matmul(fg.reduce_mean(h, [1, 2]), v)
        return fg.reduce_mean(fg.nn.sparse_softmax_cross_entropy_with_logits(y, logits))

    @fg.function
    def step() -> Any:
        with fg.GradientTape() as tape:
            value = loss()
        for variable, gradient in zip((w, v), tape.gradient(value, [w, v]), strict=True):
            variable.assign_sub(0.1 * gradient)
        return value

    with flags.override(tier="last"):
        losses = [float(step()) for _ in range(30)]
        assert step.get_concrete_function().host_steps == 0
    assert losses[-1] < 0.9 * losses[0]
    assert float(loss()) < losses[-1] + 1e-6


@pytest.mark.parametrize(
    ("x", "w", "padding", "products"),
    [
        ((2, 5, 3, 64), (1, 1, 64, 80), "SAME", 1),
        ((2, 5, 3, 96), (1, 1, 96, 64), "VALID", 1),
        ((0, 5, 3, 64), (1, 1, 64, 80), "SAME", 1),
        ((2, 5, 3, 64), (1, 1, 64, 80), ((0, 1), (0, 0)), 0),
        ((2, 5, 3, 64), (1, 1, 32, 80), "SAME", 0),
        ((2, 5, 3, 8), (1, 1, 8, 80), "SAME", 0),
        ((50, 7, 6, 96), (1, 1, 96, 64), "SAME", 0),
        ((2, 5, 3, 64), (1, 2, 64, 80), "SAME", 0),
    ],
)
def test_the_gradient_to_a_filter_of_one_tap(x: Any, w: Any, padding: Any, products: int) -> None:
    """A product of matrices, where the channels are many and no pixel is left out or added."""
    function, given = three((x, w, (1, 1), padding, (1, 1)))
    with flags.override(tier="last"):
        staged = fg.function(function)
        for got, value in zip(staged(*given), function(*given), strict=True):
            assert_near(got, value)
    steps = staged.get_concrete_function(*given).executable.program.steps
    assert [type(step) for step in steps].count(GemmStep) == products
