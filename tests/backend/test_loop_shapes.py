"""Loops in forms that vectorise: short ones written out, sums down columns in registers, ranges without branches."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from plain import run_program

import fastgraph as fg
from fastgraph.compiler.assemble import assemble
from fastgraph.compiler.program.symbolic_extents import witness_shapes
from fastgraph.core.base import flags
from fastgraph.runtime.executable import compile_graph

F = Callable[..., Any]


def kernels(function: Any, *args: Any) -> list[str]:
    """The sources of the kernels that the arguments' Program has."""
    graph = compile_graph(function.get_concrete_function(*args).graph.ir)
    program = assemble(graph, [value.aval.shape for value in graph.parameters])
    return [step.kernel.source for step in program.steps if hasattr(step, "kernel")]


def sample(shape: tuple[int, ...], dtype: str, special: bool = True) -> np.ndarray:
    random = np.random.default_rng(sum(shape))
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if "int" in dtype:
        return random.integers(0 if dtype.startswith("u") else -9, 10, shape).astype(dtype)
    made = random.normal(size=shape).astype(dtype)
    if special and made.size > 4:
        made.flat[[0, 1, -1, made.size // 2]] = np.nan, np.inf, -np.inf, -0.0
    return made


def check(f: F, *arrays: np.ndarray, exact: bool = False, signature: Any = None, native: bool = False) -> Any:
    """Eager mode's values by kernels, as plain Python if they are not to be compiled; return the Function."""
    function = fg.function(f, input_signature=signature)
    given = [fg.constant(a) for a in arrays]
    if native:
        with flags.override(tier="last"):
            got = fg.nest.flatten(function(*given))
    else:
        graph = compile_graph(function.get_concrete_function(*given).graph.ir)
        with np.errstate(all="ignore"):
            got = run_program(assemble(graph, witness_shapes(graph, [a.shape for a in arrays])), given)
    for a, b in zip(got, fg.nest.flatten(f(*given)), strict=True):
        assert a.dtype == b.dtype
        if exact or not a.dtype.is_floating:
            np.testing.assert_array_equal(a.numpy(), b.numpy())
        else:
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=2e-6)
    return function


REDUCTIONS: dict[str, F] = {
    "sum": lambda x: fg.reduce_sum(x, -1),
    "mean": lambda x: fg.reduce_mean(x, -1),
    "prod": lambda x: fg.reduce_prod(x, -1),
    "max": lambda x: fg.reduce_max(x, -1),
    "min": lambda x: fg.reduce_min(x, -1),
    "argmax": lambda x: fg.argmax(x, -1),
    "argmin": lambda x: fg.argmin(x, -1, fg.int32),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8", "int64"])
def test_reductions_of_short_rows(dtype: str) -> None:
    def every(x: Any) -> list[Any]:
        return [f(x) for f in REDUCTIONS.values()]

    for shape in ((7, 2), (2, 3, 3), (1, 4), (3, 8), (3, 9), (0, 3)):
        check(every, sample(shape, dtype))


def test_rows_of_which_several_places_are_read_have_their_length_written() -> None:
    """A begin of a slice and the length of a row are numbers then: with sizes of run time LLVM read them one by one."""

    def overlaps(x: Any) -> Any:
        ends = fg.minimum(x[:, None, 2:], x[None, :, 2:])
        return fg.reduce_prod(fg.maximum(ends - fg.maximum(x[:, None, :2], x[None, :, :2]), 0.0), -1)

    function = check(overlaps, sample((9, 4), "float32", special=False), exact=True)
    (source,) = kernels(function, fg.zeros([9, 4]))
    assert "* 4" in source and "+ 3" in source and "max_int64" not in source
    (column,) = kernels(fg.function(lambda x: x[:, None, 1] + x[None, :, 1]), fg.zeros([9, 4]))
    assert "* 4" not in column  # of one place alone nothing is gained


def test_logic_of_short_rows() -> None:
    check(lambda x: (fg.reduce_any(x, -1), fg.reduce_all(x, -1)), sample((41, 3), "bool"))


def distances(x: Any, y: Any) -> Any:
    return fg.reduce_sum((x[:, None] - y[None]) ** 2, -1)


def attraction(x: Any, y: Any) -> Any:
    apart = y[None] - x[:, None]
    return fg.reduce_sum(apart / (fg.reduce_sum(apart**2, -1, keepdims=True) + 1e-2) ** 1.5, 1)


#: name -> (function of two tensors [*, n], loops of its kernels)
AROUND: dict[str, tuple[F, int]] = {
    "distances": (distances, 2),
    "attraction": (attraction, 2),
    "nearest": (lambda x, y: fg.argmin(distances(x, y), 1), 5),
    "softmax": (lambda x, y: fg.nn.softmax(x), 1),
    "unit vectors": (lambda x, y: fg.nn.l2_normalize(x, -1), 1),
    "scaled": (lambda x, y: x * y[0] - y[1], 1),
}


@pytest.mark.parametrize("name", AROUND)
def test_what_is_round_a_short_loop(name: str) -> None:
    f, loops = AROUND[name]
    for n in (2, 3, 4):
        function = check(f, sample((5, n), "float32", False), sample((4, n), "float32", False))
    given = [fg.TensorSpec([35, 4], "float32"), fg.TensorSpec([29, 4], "float32")]
    assert sum(source.count("for i") for source in kernels(function, *given)) == loops
    unknown = [fg.TensorSpec([None, 3], "float32"), fg.TensorSpec([None, None], "float32")]
    for n in (1, 6):
        check(f, sample((n, 3), "float32", False), sample((n + 1, 3), "float32", False), signature=unknown)


def test_a_size_that_only_a_call_knows_is_not_written_into_a_kernel() -> None:
    function = fg.function(lambda x: fg.reduce_sum(x, 1), input_signature=[fg.TensorSpec([None, None], "float32")])
    for n in (3, 2, 4, 1):
        x = sample((6, n), "float32", False)
        with flags.override(tier="last"):
            np.testing.assert_allclose(function(fg.constant(x)), x.sum(1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32", "uint8"])
def test_places_of_extremes_in_long_rows(dtype: str) -> None:
    for shape in ((3, 50), (3, 1), (20, 13)):
        x = sample(shape, "float32" if dtype == "bfloat16" else dtype)
        if "float" in dtype:
            x[0] = np.nan
            x[-1] = np.inf
        check(
            lambda x, to=dtype: [
                g(fg.cast(x, to), axis) for g in (fg.argmin, fg.argmax, fg.reduce_min) for axis in (0, 1)
            ],
            x,
        )


COLUMNS: dict[str, F] = {
    "sum": lambda x: fg.reduce_sum(x, 0),
    "extremes": lambda x: (fg.reduce_max(x, 0), fg.reduce_min(x, 0)),
    "moments": lambda x: fg.nn.moments(x, [0]),
    "two at once": lambda x: (fg.reduce_sum(x, 0), fg.reduce_sum(x * x, 0)),
    "relu before": lambda x: fg.reduce_mean(fg.nn.relu(x) * 2, 0),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("columns", [3, 8, 10, 70])
def test_sums_down_columns(name: str, columns: int) -> None:
    rows = max(260, 10_000 // columns + 3)
    check(COLUMNS[name], sample((rows, columns), "float32", False) + 3, native=columns == 10)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "uint8", "int64"])
def test_sums_down_columns_of_other_types(dtype: str) -> None:
    check(lambda x: (fg.reduce_sum(x, 0), fg.reduce_max(x, 0)), sample((500, 21), dtype))


def test_sums_down_columns_have_the_same_bits_whatever_the_threads() -> None:
    x = fg.constant(sample((20_000, 24), "float32", False))
    function = fg.function(lambda x: fg.nn.moments(x, [0]))
    found = []
    for threads in (1, 2, 3):
        with flags.override(tier="last", threads=threads):
            found.append([t.numpy() for t in function(x)])
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def life(x: Any) -> Any:
    n = fg.add_n([fg.roll(x, [i, j], [0, 1]) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j])
    return fg.cast((n == 3) | ((n == 2) & (x == 1)), x.dtype)


RANGES: dict[str, F] = {
    "rolled": lambda x: fg.roll(x, 1, -1),
    "rolled far": lambda x: fg.roll(x, -23, 1),
    "rolled by nothing": lambda x: fg.roll(x, [14, 0], [1, 0]),
    "rolled twice": lambda x: fg.roll(fg.roll(x, 3, 1), [-1, 2], [0, 1]),
    "stencil": lambda x: fg.roll(x, 1, 1) + fg.roll(x, -1, 1) + fg.roll(x, 1, 0) - x,
    "joined": lambda x: fg.concat([x, x[:, :2], x[:, 5:]], 1) + 1,
    "padded": lambda x: fg.pad(x, [[1, 2], [3, 1]]) + 1,
    "padded once": lambda x: fg.pad(x, [[0, 0], [2, 0]]) + 1,
    "the first": lambda x: [fg.slice(x, [0, 0], [3, -1]), x[:2], x[1], fg.roll(x, [0, 7], [0, 1])],
    "slices padded": lambda x: (
        fg.pad(fg.slice(x, [0, 2], [4, 5]), [[1, 1], [2, 0]]) + fg.pad(x[1:5, 1:6], [[0, 2], [0, 2]])
    ),
    "rolls joined": lambda x: fg.concat([fg.roll(x, 1, 0), x[::-1], fg.roll(fg.roll(x, 2, 1), 1, 1)], 0) + 1,
    "sliced": lambda x: fg.slice(x, [1, 2], [4, 5]) + 1,
    "band": lambda x: fg.linalg.band_part(x, 1, 2) + 1,
}


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_loops_cut_into_ranges(name: str, dtype: str) -> None:
    f = RANGES[name]
    check(f, sample((9, 14), dtype), exact=True)
    for rows, columns in ((5, 7), (6, 33)):
        check(f, sample((rows, columns), dtype), exact=True, signature=[fg.TensorSpec([None, None], dtype)])


def test_stores_behind_a_sum_are_whole_vectors() -> None:
    """A loop of known length that LLVM writes out, store by store, becomes no vectors."""
    f = lambda x: x * fg.reduce_sum(fg.exp(x), [1, 2], keepdims=True) * x[:, :, :1]
    x = sample((5, 26, 16), "float32", False)
    (source,) = kernels(check(f, x), fg.constant(x))
    assert source.count("range(tile_int64(16, 16))") == 1


def turned_gradient(x: Any) -> Any:
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = fg.reduce_sum(fg.nn.softmax(x, axis=1) * fg.nn.log_softmax(fg.sin(x), axis=0))
    return tape.gradient(y, x)


TURNED: dict[str, F] = {
    "softmax": lambda x: fg.nn.softmax(x * 2, axis=1),
    "log softmax": lambda x: fg.nn.log_softmax(x, axis=0),
    "a sum": lambda x: fg.reduce_sum(fg.exp(-fg.transpose(x)), 0),
    "all": lambda x: fg.reduce_max(fg.transpose(x, [0, 2, 1]) + 1),
    "two axes": lambda x: fg.reduce_mean(fg.transpose(x, [1, 2, 0]), [0, -1]),
    "two kept": lambda x: fg.reduce_max(fg.transpose(x, [2, 0, 1]), [-1]),
    "a scalar first": lambda x: 2.0 - fg.transpose(x) / fg.reduce_sum(fg.abs(fg.transpose(x)), 2, keepdims=True),
    "unlike": lambda x: fg.transpose(x, [1, 0, 2]) - fg.reduce_max(fg.transpose(x, [1, 2, 0]), [1, 2], True),
    "a vector": lambda x: fg.reduce_sum(fg.transpose(x) + fg.range(3.0, dtype=x.dtype), 1),
    "a gradient": turned_gradient,
    "a loop": lambda x: fg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, fg.nn.softmax(y, axis=0)), [0, x])[1],
}


@pytest.mark.parametrize("name", TURNED)
def test_reductions_of_what_is_transposed_are_done_where_it_lies(name: str) -> None:
    f = TURNED[name]
    check(f, sample((3, 5, 4), "float32", False))
    check(f, sample((3, 5, 4), "float64", False), signature=[fg.TensorSpec([None, None, None], "float64")])


def test_softmax_along_a_middle_axis_turns_nothing() -> None:
    x = fg.constant(sample((6, 90, 40), "float32", False))
    for f in (TURNED["softmax"], turned_gradient):
        graph = compile_graph(fg.function(f).get_concrete_function(x).graph.ir)
        assert "transpose" not in [node.op.name for node in graph.nodes]


def test_a_mean_round_means_of_columns_is_a_kernel_of_its_own() -> None:
    """In one kernel each column would be read across the rows, and no vectors."""
    f = lambda x: fg.reduce_mean(fg.maximum(fg.reduce_mean(fg.exp(x), 0) - 1.0, 0.0))
    x = sample((50, 300), "float32", False)
    sources = kernels(check(f, x), fg.constant(x))
    (source,) = [source for source in sources if "exp" in source]
    assert "for k in range" in source


def looked_up(table: Any, x: Any) -> Any:
    return fg.gather(table, fg.cast(fg.roll(x, 1, -1) * 4 + x * 2 + fg.roll(x, -2, -1), "int32")) * 1.5


@pytest.mark.parametrize("shape", [(70,), (3, 50)])
def test_indices_are_checked_range_by_range(shape: tuple[int, ...]) -> None:
    table = np.arange(8, dtype=np.float32)
    x = np.random.default_rng(0).integers(0, 2, shape).astype(np.uint8)
    function = check(looked_up, table, x, exact=True)
    (source,) = kernels(function, fg.constant(table), fg.constant(x))
    assert "if i" not in source and " else " not in source
    for place in (0, 1, 33, shape[-1] - 2, shape[-1] - 1):
        wrong = x.copy()
        wrong[..., place] = 9
        messages = []
        for tier in ("first", "last"):
            with flags.override(tier=tier), pytest.raises(fg.errors.InvalidArgumentError) as raised:
                function(fg.constant(table), fg.constant(wrong))
            messages.append(str(raised.value).partition(" [Op")[0])
        assert messages[0] == messages[1]


def test_what_one_side_of_a_choice_computes_is_computed_for_all() -> None:
    def chosen(x: Any, t: Any) -> Any:
        return fg.where(t < 2.0, fg.norm(x * t[:, None], axis=1) - 0.3, 0.0)

    x, t = sample((40, 3), "float32"), sample((40,), "float32")
    function = check(chosen, x, t)
    (source,) = kernels(function, fg.constant(x), fg.constant(t))
    assert "select_float32" in source and " else " not in source  # a branch would have its loads under a mask


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_the_game_of_life(dtype: str) -> None:
    for shape in ((1, 1), (2, 3), (17, 70)):
        x = (sample(shape, "int32") > 3).astype(dtype)
        n = sum(np.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        np.testing.assert_array_equal(life(x), ((n == 3) | ((n == 2) & (x == 1))).astype(dtype))
        check(life, x, native=shape[0] == 17 and dtype == "uint8")
    (source,) = kernels(fg.function(life), fg.TensorSpec([17, 70], dtype))
    assert "if" not in source.replace(" if v", "")


def test_a_loop_of_many_cuts_has_a_middle_without_branches() -> None:
    def smoothed(x: Any) -> Any:
        total, weights = fg.zeros_like(x), fg.zeros_like(x)
        for j in range(-3, 4):
            other = fg.roll(x, [1, j], [0, 1])
            weight = fg.exp(j * j / 9 - fg.square(other - x) / 1.7)
            total, weights = total + weight * other, weights + weight
        return total / weights

    for width in (5, 40):
        x = sample((7, width), "float32", False)
        (source,) = kernels(check(smoothed, x), fg.constant(x))
    first, middle, last = source.split("for i1 in ")[1:]
    assert " if " in first and " if " not in middle and " if " in last


@pytest.mark.parametrize("shape", [(6, 6), (5, 9), (9, 15), (3, 10, 10), (1, 1)])
def test_rows_are_cut_at_their_diagonal(shape: tuple[int, ...]) -> None:
    def framed(x: Any, d: Any) -> Any:
        return 1 / (2 + fg.linalg.set_diag(fg.square(x), d))

    x, d = sample(shape, "float32"), sample((*shape[:-2], min(shape[-2:])), "float32")
    function = check(framed, x, d)
    (source,) = kernels(function, fg.constant(x), fg.constant(d))
    assert not re.search("^ +if ", source, re.MULTILINE)
    check(framed, x, d, signature=[fg.TensorSpec([None] * len(shape)), fg.TensorSpec([None] * (len(shape) - 1))])


def test_differences_of_all_pairs_are_summed_without_being_stored() -> None:
    def forces(p: Any, y: Any) -> Any:
        apart = y[:, None] - y[None]
        near = 1 / (1 + fg.reduce_sum(fg.square(apart), -1))
        pull = fg.reduce_sum(((p - near / fg.reduce_sum(near)) * near)[:, :, None] * apart, 1)
        return pull * 0.5, y - pull

    p, y = sample((150, 150), "float32", False), sample((150, 2), "float32", False)
    function = check(forces, p, y)
    *_, last = sources = kernels(function, fg.constant(p), fg.constant(y))
    assert len(sources) == 2 and last.count("fold_add_float32") == 3  # one of the parts of the sum, two of the pulls
    program = function.get_concrete_function(fg.constant(p), fg.constant(y)).executable.program
    assert max(len(program.values[n].aval.shape) for step in program.steps for n in step.outputs) == 2


def test_rolls_in_graphs_have_gradients_of_both_orders_and_batches() -> None:
    x = fg.constant(sample((4, 6), "float64", False))

    def both(x: Any) -> Any:
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as tape:
                tape.watch(x)
                y = fg.reduce_sum(fg.roll(x, [1, -2], [0, 1]) ** 3 * fg.roll(x, 2, 1))
            dx = tape.gradient(y, x)
        return dx, outer.gradient(dx, x)

    for a, b in zip(fg.function(both)(x), both(x), strict=True):
        np.testing.assert_allclose(a, b)
    mapped = fg.function(lambda x: fg.vectorized_map(lambda row: fg.roll(row, 2, 0), x))(x)
    np.testing.assert_array_equal(mapped, np.roll(x, 2, 1))


def pipeline(x: Any) -> Any:
    y = fg.cast(x, "float32") / 255.0 - [0.4, 0.5, 0.6]
    return fg.saturate_cast(fg.round(y * 300.0 + 100.0), "uint8")


def test_an_image_pipeline() -> None:
    x = np.random.default_rng(0).integers(0, 256, (3, 17, 5, 3)).astype(np.uint8)
    function = check(pipeline, x, exact=True)
    assert len(kernels(function, fg.constant(x))) == 1


def normalised(x: Any) -> Any:
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = fg.nn.relu(fg.nn.batch_normalization(x, *fg.nn.moments(x, [0, 1, 2]), 0.1, 1.5, 1e-3))
        total = fg.reduce_sum(y * y * x)
    return tape.gradient(total, x)


def test_a_gradient_of_normalisation_writes_nothing_between_its_sums_and_its_result() -> None:
    x = sample((9, 8, 7, 16), "float32", False)
    function = fg.function(normalised)
    with flags.override(tier="last"):
        np.testing.assert_allclose(function(fg.constant(x)), normalised(fg.constant(x)), rtol=2e-3, atol=2e-3)
    program = function.get_concrete_function(fg.TensorSpec(x.shape, "float32")).executable.program
    large = [n for step in program.steps for n in step.outputs if program.witness[n : n + 1] == [x.shape]]
    assert len(large) == 1


def test_what_a_sum_reads_transposed_is_turned_before() -> None:
    """Read across its rows it would keep the whole sum from vectors: ten times as slow as a kernel with tiles."""

    def loss(x: Any, y: Any) -> Any:
        return fg.reduce_mean(fg.square(fg.exp(fg.transpose(x, [0, 2, 3, 1]) + y)))

    arrays = [sample(shape, "float32", special=False) for shape in ((2, 16, 32, 32), (2, 32, 32, 16))]
    function = check(loss, *arrays)
    sources = kernels(function, *[fg.constant(a) for a in arrays])
    assert "exp" in sources[0] and not any("exp" in source for source in sources[1:])


@pytest.mark.parametrize("rows", [0, 2])
def test_what_never_runs_is_not_free(rows: int) -> None:
    def second(x: fg.Tensor) -> fg.Tensor:
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as tape:
                tape.watch(x)
                y = fg.reduce_sum(fg.nn.avg_pool2d(x, [3, 2], 1, "SAME") ** 2)
            z = fg.reduce_sum(tape.gradient(y, x) ** 2)
        return outer.gradient(z, x)

    # Were loops of no rows free, fusion would compute all in each place that takes it: 720,000 characters of one kernel.
    assert max(map(len, kernels(fg.function(second), fg.zeros([rows, 6, 5, 2])))) < 30_000


def test_a_maximum_and_a_sum_in_one_loop_are_vectors() -> None:
    """What a rank becomes behind the loop must not keep LLVM from seeing a maximum in it."""
    from fastgraph.compiler.cpu.object_code import compile_kernel

    function = fg.function(lambda x: (fg.reduce_max(x, 1), fg.reduce_sum(x, 1), fg.reduce_min(x, 1)))
    graph = compile_graph(function.get_concrete_function(fg.ones([64, 3000])).graph.ir)
    (step,) = assemble(graph, [value.aval.shape for value in graph.parameters]).steps
    text = compile_kernel(step.kernel, "0" * 40).llvm_ir
    for reduction in ("smax", "smin", "fadd"):
        assert f"@llvm.vector.reduce.{reduction}" in text


def test_rows_of_six_elements_with_several_results_are_vectors() -> None:
    """LLVM is to check as many places as the rows of several tensors have, written out."""
    from fastgraph.compiler.cpu.object_code import compile_kernel

    def softmaxes(x: fg.Tensor, y: fg.Tensor) -> list[fg.Tensor]:
        p = fg.nn.softmax(x)
        return [p, p * y, (1 - p) * y, fg.exp(p), p - y, fg.sqrt(p)]

    function = fg.function(softmaxes)
    graph = compile_graph(function.get_concrete_function(*[fg.ones([4000, 6])] * 2).graph.ir)
    (step,) = assemble(graph, [value.aval.shape for value in graph.parameters]).steps
    assert "for i1" not in step.kernel.source
    assert "vector.body" in compile_kernel(step.kernel, "0" * 40).llvm_ir
