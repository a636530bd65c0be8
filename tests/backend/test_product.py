"""Products in registers: every rest of rows, columns and depth against float64, by every width of vectors, cut or not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.compiler.program.program import KernelStep
from fastgraph.core.base import flags
from fastgraph.core.native.matmul import pair_products
from fastgraph.ops.matmul import paired_matmul_p
from fastgraph.runtime import step_specs
from tests import native

TURNED = [(False, False), (True, False), (False, True), (True, True)]


@pytest.fixture(params=[512, 256, 0])
def bits(request: pytest.FixtureRequest) -> Iterator[int]:
    """Products by vectors of so many bits at most; 0: by BLAS, of integers by loops."""
    with native.using(native.PRODUCT_BITS, min(request.param, native.PRODUCT_BITS.value)):
        yield native.PRODUCT_BITS.value


def operands(m: int, k: int, n: int, turned: tuple[bool, bool], batch: Any = ((), ()), dtype: str = "float32") -> Any:
    rng = np.random.default_rng(m * 10007 + k * 101 + n)

    def drawn(shape: tuple[int, ...]) -> Any:
        if dtype == "int32":  # products and sums wrap
            return rng.integers(-(2**31), 2**31, shape).astype(dtype)
        return rng.standard_normal(shape).astype(dtype)

    return drawn(batch[0] + ((k, m) if turned[0] else (m, k))), drawn(batch[1] + ((n, k) if turned[1] else (k, n)))


def product(turned: tuple[bool, bool], **signature: Any) -> Any:
    return fg.function(lambda a, b: fg.matmul(a, b, transpose_a=turned[0], transpose_b=turned[1]), **signature)


def check(function: Any, x: Any, y: Any, turned: tuple[bool, bool]) -> None:
    a, b = (np.swapaxes(v, -1, -2) if t else v for v, t in zip((x, y), turned, strict=True))
    want = a @ b if a.dtype == np.int32 else a.astype(np.float64) @ b.astype(np.float64)
    with flags.override(tier="last"):
        got = function(fg.constant(x), fg.constant(y)).numpy()
    assert got.shape == want.shape
    if a.dtype == np.int32:
        np.testing.assert_array_equal(got, want)
        return
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * max(1, a.shape[-1]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("turned", TURNED)
def test_every_rest_of_columns(bits: int, turned: tuple[bool, bool], dtype: str) -> None:
    function = product(turned, reduce_retracing=True)
    for n in [1, 2, 5, 8, 12, *range(14, 19), *range(30, 36), 63, 64, 65, 256]:
        for m, k in [(13, 5), (61, 64), (29, 130)]:
            check(function, *operands(m, k, n, turned, dtype=dtype), turned)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("turned", TURNED)
def test_every_rest_of_rows_and_depth(bits: int, turned: tuple[bool, bool], dtype: str) -> None:
    function = product(turned, reduce_retracing=True)
    for m in [*range(17), 27, 28, 29]:
        for k in [0, 1, 7, 8, 9, 33]:
            check(function, *operands(m, k, 50, turned, dtype=dtype), turned)


@pytest.mark.parametrize("turned", TURNED)
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(70, 512, 1024), (300, 300, 300), (40, 2048, 64), (40, 2049, 64), (200, 260, 1056), (3, 1500, 700)],
)
def test_operands_that_are_copied(bits: int, m: int, k: int, n: int, turned: tuple[bool, bool]) -> None:
    for dtype in ("float32", "float64", "int32"):
        check(product(turned), *operands(m, k, n, turned, dtype=dtype), turned)


BATCHES = [((3,), (3,)), ((2, 2), (2, 2)), ((), (3,)), ((3,), ()), ((1,), (3,)), ((2, 1), (1, 3)), ((0,), (0,))]


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("turned", TURNED)
def test_batches(bits: int, batch: Any, turned: tuple[bool, bool]) -> None:
    for dtype in ("float32", "int32"):
        check(product(turned), *operands(15, 40, 33, turned, batch, dtype), turned)


def test_sizes_that_are_known_only_in_a_call(bits: int) -> None:
    unknown = fg.TensorSpec([None, None])
    for turned in TURNED:
        function = product(turned, input_signature=[unknown, unknown])
        integers = product(turned, input_signature=[fg.TensorSpec([None, None], "int32")] * 2)
        for m, k, n in [(4, 3, 5), (90, 700, 40), (0, 1, 8), (5, 0, 4), (64, 30, 1000), (1, 1, 1), (300, 17, 48)]:
            check(function, *operands(m, k, n, turned), turned)
            check(integers, *operands(m, k, n, turned, dtype="int32"), turned)


def test_the_result_is_written_and_nothing_beside_it(bits: int) -> None:
    """The last columns and rows are parts of vectors and blocks; what lies behind them belongs to another value."""
    function = fg.function(lambda a, b, c: (fg.matmul(a, b), c * 2.0, fg.matmul(a, c)))
    for m, n in [(13, 33), (15, 17), (7, 47), (29, 15)]:
        a, b, c = (np.full(s, v, np.float32) for s, v in (((m, 16), 1), ((16, n), 2), ((16, n), 3)))
        with flags.override(tier="last"):
            found = [t.numpy() for t in function(*map(fg.constant, (a, b, c)))]
        for got, want in zip(found, (32.0, 6.0, 48.0), strict=True):
            assert (got == want).all()


@pytest.mark.parametrize("turned", TURNED)
@pytest.mark.parametrize("shape", [(64, 784, 256), (300, 300, 300), (1000, 40, 30), (20, 500, 900), (256, 256, 1)])
def test_the_same_bits_on_any_number_of_threads(bits: int, shape: Any, turned: tuple[bool, bool]) -> None:
    x, y = operands(*shape, turned, ((4,), (4,)))
    found = []
    for threads in (1, 2, 3, 8):
        with flags.override(tier="last", threads=threads):
            function = product(turned)
            found += [function(fg.constant(v), fg.constant(w)).numpy() for v, w in ((x, y), (x[0], y[0]))]
    for one, other in zip(found, found[2:], strict=False):
        assert one.tobytes() == other.tobytes()


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    if native.PRODUCT_BITS.value == 0:
        pytest.skip("no blocks for this CPU")
    x, y = operands(200, 300, 200, (False, False))
    function = product((False, False), reduce_retracing=True)
    with flags.override(tier="last"):
        whole = function(fg.constant(x), fg.constant(y)).numpy()
        part = function(fg.constant(x[31:120]), fg.constant(y)).numpy()
    assert whole[31:120].tobytes() == part.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("turned", TURNED)
def test_eager_products(bits: int, turned: tuple[bool, bool], dtype: str) -> None:
    for m, k, n in [
        (64, 64, 64),
        (31, 200, 33),
        (5, 1000, 40),
        (100, 99, 100),
        (50, 40, 2000),
        (40000, 1, 2),
        (0, 5, 4),
        (3, 5, 0),
        (3, 0, 5),
        (257, 300, 290),
        (20, 5000, 700),
        (900, 130, 60),
    ]:
        check_eager(*operands(m, k, n, turned, dtype=dtype), turned)


def check_eager(x: Any, y: Any, turned: tuple[bool, bool]) -> None:
    a, b = (np.swapaxes(v, -1, -2) if t else v for v, t in zip((x, y), turned, strict=True))
    got = fg.matmul(x, y, transpose_a=turned[0], transpose_b=turned[1]).numpy()
    want = a @ b if a.dtype == np.int32 else a.astype(np.float64) @ b.astype(np.float64)
    assert (got.dtype, got.shape) == (x.dtype, want.shape)
    if a.dtype == np.int32:
        np.testing.assert_array_equal(got, want)
        return
    one = 1e-5 if x.dtype == np.float32 else 1e-14
    np.testing.assert_allclose(got, want, rtol=10 * one, atol=one * max(1, a.shape[-1]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("batch", [*BATCHES, ((70,), (70,)), ((70,), ()), ((3, 1, 30), (2, 1)), ((2, 0), (1,))])
@pytest.mark.parametrize("turned", TURNED)
def test_eager_batches(bits: int, batch: Any, turned: tuple[bool, bool], dtype: str) -> None:
    check_eager(*operands(15, 40, 33, turned, batch, dtype), turned)
    check_eager(*operands(1, 0, 3, turned, batch, dtype), turned)


@pytest.mark.parametrize("turned", TURNED)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("shape", [(300, 300, 310), (1000, 40, 60), (60, 900, 700)])
def test_eager_products_have_the_bits_of_functions_on_any_number_of_threads(
    shape: Any, dtype: str, turned: tuple[bool, bool]
) -> None:
    if native.PRODUCT_BITS.value == 0:
        pytest.skip("no blocks for this CPU")
    x, y = operands(*shape, turned, ((4,), (4,)), dtype)
    for v, w in ((x, y), (x[0], y[0])):
        with flags.override(tier="last"):
            want = product(turned)(fg.constant(v), fg.constant(w)).numpy().tobytes()
        for threads in (1, 2, 3, 8):
            with flags.override(threads=threads):
                got = fg.matmul(v, w, transpose_a=turned[0], transpose_b=turned[1]).numpy()
            assert got.tobytes() == want


def test_nan_and_infinity_stay_in_their_rows_and_columns(bits: int) -> None:
    x, y = operands(20, 9, 37, (False, False))
    x[3, 2], y[4, 36] = np.nan, np.inf
    with flags.override(tier="last"):
        got = product((False, False))(fg.constant(x), fg.constant(y)).numpy()
    assert np.isnan(got[3]).all()
    assert not np.isfinite(got[:, 36]).any()
    assert np.isfinite(np.delete(got[:, :36], 3, 0)).all()


@pytest.mark.parametrize("dtype", ["float16", "int32", "bfloat16"])
def test_other_dtypes_go_their_own_way(bits: int, dtype: str) -> None:
    a = np.random.default_rng(0).integers(-3, 4, (40, 50)).astype(np.float32)
    x = fg.cast(a, dtype)
    with flags.override(tier="last"):
        got = product((False, True))(x, x)
    assert got.dtype == x.dtype
    assert (
        fg.cast(got, "float64").numpy() == fg.cast(fg.cast(a.astype(np.float64) @ a.T, dtype), "float64").numpy()
    ).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("turned", TURNED)
def test_products_of_half_floats_are_those_of_float32_rounded_once(dtype: str, turned: tuple[bool, bool]) -> None:
    """Whole numbers, so that no order of a sum shows; a few of them are cheaper among their neighbours."""

    def steps(function: Any, *given: Any) -> list[str]:
        with flags.override(tier="last"):
            function(*given)
        program = function.get_concrete_function(*given).executable.program
        return [type(step).__name__ for step in program.steps]

    kind = fg.as_dtype(dtype).as_numpy_dtype
    function = product(turned, reduce_retracing=True)
    for m, k, n in ((31, 40, 33), (3, 4, 5)):
        x, y = ((v * 8).round().astype(kind) for v in operands(m, k, n, turned))
        a, b = (np.swapaxes(v, -1, -2) if t else v for v, t in zip((x, y), turned, strict=True))
        want = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32).astype(kind)
        with flags.override(tier="last"):
            got = function(fg.constant(x), fg.constant(y))
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.numpy().astype(np.float32), want.astype(np.float32))
    small = fg.zeros([4, 4], dtype)
    assert "GemmStep" not in steps(product(turned), small, small)
    large = fg.zeros([32, 32], dtype)
    assert "GemmStep" in steps(product(turned), large, large)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int16"])
@pytest.mark.parametrize("batch", [((), ()), ((3,), (3,)), ((2, 3), ())])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("bits", [0], indirect=True)
def test_products_of_integers_go_row_by_row(bits: int, dtype: str, batch: Any, turned: bool) -> None:
    """They wrap, and have NumPy's bits; small ones stay among their neighbours."""
    rng, info = np.random.default_rng(0), np.iinfo(dtype)
    function = product((turned, False), reduce_retracing=True)
    for m, k, n in ((31, 40, 77), (40, 33, 64), (1, 300, 130)):
        left = (k, m) if turned else (m, k)
        x = rng.integers(info.min, info.max, batch[0] + left, dtype, endpoint=True)
        y = rng.integers(info.min, info.max, batch[1] + (k, n), dtype, endpoint=True)
        with flags.override(tier="last"):
            got = function(fg.constant(x), fg.constant(y))
        np.testing.assert_array_equal(got.numpy(), np.matmul(np.swapaxes(x, -1, -2) if turned else x, y))
    large = fg.zeros([*batch[0], *((40, 32) if turned else (32, 40))], dtype), fg.zeros([*batch[1], 40, 32], dtype)
    alone = product((turned, False))
    with flags.override(tier="last"):
        alone(*large)
    program = alone.get_concrete_function(*large).executable.program
    (step,) = [step for step in program.steps if isinstance(step, KernelStep)]
    assert "sums = local_" in step.kernel.source


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turned", TURNED)
@pytest.mark.parametrize(("m", "k", "n"), [(1, 32, 48), (40, 33, 1), (1, 70, 1), (1, 1, 6)])
def test_matrices_by_a_vector_each_go_with_what_comes_before_and_after(
    m: int, k: int, n: int, turned: tuple[bool, bool], dtype: str
) -> None:
    x, y = operands(m, k, n, turned, ((5, 3), (5, 3)), dtype)
    function = product(turned)
    check(function, x, y, turned)
    program = function.get_concrete_function(fg.constant(x), fg.constant(y)).executable.program
    assert [type(step) for step in program.steps] == [KernelStep]


@pytest.mark.parametrize(
    ("sizes", "pieces"),
    [
        ((32, 128, 784), 2),
        ((784, 128, 32), 2),
        ((400, 256, 20), 2),
        ((32, 128, 128), 1),
        ((96, 160, 256), 1),
        ((1024, 1024, 256), 8),
    ],
)
def test_products_of_forty_microseconds_are_cut_in_two(sizes: tuple[int, int, int], pieces: int) -> None:
    assert step_specs.gemm_shards((), *sizes, 4)[0] == pieces


@pytest.mark.parametrize(("left", "right"), [((8, 4), ()), ((2, 3, 5), ()), ((6, 1), (1,)), ((3, 0), ())], ids=str)
def test_rows_of_all_batches_make_one_product_with_a_shared_matrix(
    left: Any, right: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches, shards = [], step_specs.gemm_shards
    monkeypatch.setattr(step_specs, "gemm_shards", lambda *sizes: batches.append(sizes[:2]) or shards(*sizes))
    for turned in TURNED:
        x, y = operands(left[-1], 20, 30, turned, (left[:-1], right))
        batches.clear()
        check(product(turned), x, y, turned)
        assert batches == [(left[:-1], left[-1]) if turned[0] else ((), math.prod(left))]


@pytest.mark.parametrize("turned", TURNED)
@pytest.mark.parametrize("kind", ["bfloat16", "int8", "uint8", "int16"])
def test_numbers_of_16_bits_in_pairs(kind: str, turned: tuple[bool, bool]) -> None:
    """As the op's body computes them: floats in float32, rounded once; integers exactly, or wrapping."""
    rng = np.random.default_rng(3)
    whole = kind != "bfloat16"

    def call(a: Any, b: Any) -> Any:
        return fg.matmul(*(fg.cast(v, "int32") if whole else v for v in (a, b)), *turned)

    function = fg.function(call)
    for m, k, n, batch in [
        (1, 64, 130, ()),
        (13, 30, 50, ()),
        (64, 128, 33, ()),
        (20, 4098, 16, ()),
        (15, 40, 33, (2, 3)),
    ]:
        shapes = batch + ((k, m) if turned[0] else (m, k)), batch + ((n, k) if turned[1] else (k, n))
        if whole:
            ends = np.iinfo(kind)
            x, y = (fg.constant(rng.integers(ends.min, ends.max + 1, s).astype(kind)) for s in shapes)
        else:
            x, y = (fg.cast(fg.constant(rng.standard_normal(s).astype("f4")), kind) for s in shapes)
        with flags.override(tier="last"):
            got = function(x, y)
        want = call(x, y)
        assert got.dtype == want.dtype and got.shape == want.shape
        if whole:
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(fg.cast(got, "float32"), fg.cast(want, "float32"), rtol=1e-2, atol=1e-2 * k**0.5)
    paired = "paired_matmul" in str(function.get_concrete_function(x, y).explain())
    assert paired == bool(pair_products() & (2 if whole else 1))


@pytest.mark.parametrize("kind", ["bfloat16", "int16"])
def test_pairs_on_any_cpu(bits: int, kind: str) -> None:
    """Without the instruction the op's body computes them: blocks of pairs would end the process."""
    x, y = (fg.fill(shape, np.uint32(0x3F80C000 if kind == "bfloat16" else 0x7FFD)) for shape in ((3, 2), (2, 3)))
    rule = {"transpose_a": False, "transpose_b": False, "pairs": kind}
    function = fg.function(lambda a, b: paired_matmul_p(a, b, **rule))
    with flags.override(tier="last"):
        got = function(x, y)
    np.testing.assert_allclose(got, paired_matmul_p(x, y, **rule))


def test_products_of_pairs_of_unknown_sizes() -> None:
    """Rows that only a call knows; an odd depth, and one that only a call knows, are not paired."""
    spec = fg.TensorSpec([None, 64], "bfloat16")
    weights = fg.cast(fg.constant(np.random.default_rng(4).standard_normal((64, 48)).astype("f4")), "bfloat16")
    function = fg.function(lambda x: fg.matmul(x, weights), input_signature=[spec])
    odd = fg.function(lambda x, y: fg.matmul(x, y))
    for rows in (1, 7, 100):
        x = fg.cast(fg.constant(np.random.default_rng(rows).standard_normal((rows, 64)).astype("f4")), "bfloat16")
        with flags.override(tier="last"):
            for got, want in ((function(x), x @ weights), (odd(x[:, 1:], weights[1:]), x[:, 1:] @ weights[1:])):
                np.testing.assert_allclose(fg.cast(got, "float32"), fg.cast(want, "float32"), rtol=1e-2, atol=0.1)


def test_the_gpu_leaves_pairs_to_the_host() -> None:
    """Its product of matrices knows none: the op's body computes what the CPU would multiply in pairs."""
    pytest.importorskip("numba")
    from fastgraph.compiler.cuda.device_program import _Assembler
    from fastgraph.compiler.program.symbolic_extents import witness_avals
    from fastgraph.runtime.executable import compile_graph

    graph = compile_graph(
        fg.function(lambda a: fg.matmul(a, a)).get_concrete_function(fg.zeros([32, 32], "bfloat16")).graph.ir
    )
    device = _Assembler(graph, witness_avals(graph, [(32, 32)]), set())
    assert not any(device.is_gemm(node) for node in graph.nodes if "pairs" in node.attrs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turned", TURNED)
def test_a_matrix_by_a_vector(bits: int, turned: tuple[bool, bool], dtype: str) -> None:
    """Columns of a larger result too: the last piece of those that threads share may be one column."""
    for m, k, n in ((1, 90, 70), (70, 90, 1), (1, 500, 4000), (4000, 500, 1), (2000, 300, 385), (385, 300, 2000)):
        check(product(turned), *operands(m, k, n, turned, dtype=dtype), turned)
    row, square = np.array([[1.0, np.inf, np.nan] + [0.0] * 37], dtype), np.eye(40, dtype=dtype)
    with flags.override(tier="last"):
        assert np.isnan(product((False, False))(row, square).numpy()).all()  # infinity times 0
        assert (product((False, False))(row[:, :1], square[:1]).numpy() == square[:1]).all()
