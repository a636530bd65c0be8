"""Emitted kernels against NumPy: as native code and as plain Python, over dtypes, ranks, broadcasts and odd sizes."""

from __future__ import annotations

import gc
import re
from typing import Any

import numpy as np
import pytest
from llvmlite.ir.instructions import LoadInstr
from nests import BFLOAT16, Bench

BOTH = pytest.mark.parametrize("plain", [False, True], ids=["native", "plain"])
FLOATS = [np.dtype("float32"), np.dtype("float64"), np.dtype("float16"), BFLOAT16]
INTEGERS = [np.dtype(f"{s}int{b}") for s in ("", "u") for b in (8, 16, 32, 64)]


def some(shape: tuple[int, ...], dtype: np.dtype, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=shape) * 3
    return np.asarray(np.abs(values) if dtype.kind == "u" else values).astype(dtype)


def elementwise(text: str, dtype: np.dtype, **inputs: np.ndarray) -> Bench:
    bench = Bench(**inputs)
    bench.output("out", np.broadcast_shapes(*[a.shape for a in inputs.values()]), dtype)
    operands = {name: bench.operand(name) for name in inputs}
    bench.store("out", lambda i: bench.builder.expr(text, **{n: o.broadcast_at(i) for n, o in operands.items()}))
    return bench


@BOTH
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_arithmetic_has_numpys_bits(dtype: np.dtype, plain: bool) -> None:
    x, y = some((37,), dtype), some((37,), dtype, 1)
    bench = elementwise("(x + y) * x - y", dtype, x=x, y=y)
    assert bench.run(plain=plain) == 0
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(bench.arrays["out"], ((x + y) * x - y).astype(dtype))


@BOTH
@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 4), (4,)), ((3, 4), (3, 1)), ((2, 1, 4), (3, 1)), ((), (5,)), ((0, 3), (3,)), ((1, 1), (1,)), ((2, 3, 4, 5), (4, 5)),
     ((2, 3, 4, 5), (2, 3, 1, 1)), ((), ())],
)  # fmt: skip
def test_broadcasts(left: tuple[int, ...], right: tuple[int, ...], plain: bool) -> None:
    x, y = some(left, FLOATS[0]), some(right, FLOATS[0], 1)
    bench = elementwise("x * y + x", FLOATS[0], x=x, y=y)
    assert bench.run(plain=plain) == 0
    np.testing.assert_array_equal(bench.arrays["out"], x * y + x)


@BOTH
def test_comparison_select_and_cast(plain: bool) -> None:
    x, y = some((50,), FLOATS[0]), some((50,), np.dtype("int32"), 1)
    bench = elementwise("select((x > 0.5) & (y != 0), int32(x) + y, -y)", np.dtype("int32"), x=x, y=y)
    assert bench.run(plain=plain) == 0
    np.testing.assert_array_equal(bench.arrays["out"], np.where((x > 0.5) & (y != 0), x.astype("int32") + y, -y))
    bench = elementwise("(x > 0) | (y == 1)", np.dtype("bool"), x=x, y=y)
    assert bench.run(plain=plain) == 0
    np.testing.assert_array_equal(bench.arrays["out"], (x > 0) | (y == 1))


@BOTH
def test_functions(plain: bool) -> None:
    x = some((100,), FLOATS[0])
    bench = elementwise("tanh(x) * sigmoid(x) + exp(-x * x) - log(1 + x * x)", FLOATS[0], x=x)
    assert bench.run(plain=plain) == 0
    d = x.astype("float64")
    expected = np.tanh(d) / (1 + np.exp(-d)) + np.exp(-d * d) - np.log(1 + d * d)
    np.testing.assert_allclose(bench.arrays["out"], expected, rtol=0, atol=1e-6)


def test_cut_anywhere_the_bits_are_equal() -> None:
    x = some((1003,), FLOATS[0])
    whole = elementwise("tanh(x) + exp(x) * x", FLOATS[0], x=x)
    whole.run()
    cut = elementwise("tanh(x) + exp(x) * x", FLOATS[0], x=x)
    cut.run(cuts=[1, 2, 9, 500, 501, 1000])
    assert whole.arrays["out"].tobytes() == cut.arrays["out"].tobytes()


def reduction(kind: str, x: np.ndarray, axis: tuple[int, ...], dtype: np.dtype) -> Bench:
    bench = Bench(x=x)
    bench.output("out", tuple(n for a, n in enumerate(x.shape) if a not in axis), dtype)
    operand = bench.operand("x")

    def element(index: tuple) -> object:
        def body(inner: tuple) -> object:
            kept, reduced = iter(index), iter(inner)
            return operand.at([next(reduced) if a in axis else next(kept) for a in range(x.ndim)])

        return bench.builder.reduce(kind, [operand.shape[a] for a in axis], body)

    bench.store("out", element)
    return bench


@BOTH
@pytest.mark.parametrize("axis", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("kind", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype("int32"), np.dtype("uint8")], ids=str)
def test_reductions(kind: str, axis: tuple[int, ...], dtype: np.dtype, plain: bool) -> None:
    x = some((3, 5, 7), dtype)
    bench = reduction(kind, x, axis, dtype)
    assert bench.run(plain=plain) == 0
    wide = x.astype("float64") if dtype in FLOATS else x
    expected = getattr(np, kind)(wide, axis=axis)
    tolerance = {"float32": 1e-5, "float64": 1e-12, "float16": 5e-3, "bfloat16": 4e-2}.get(str(dtype), 0)
    np.testing.assert_allclose(
        bench.arrays["out"].astype("float64"), expected.astype(dtype).astype("float64"), rtol=tolerance, atol=tolerance
    )


@BOTH
def test_any_all_argmax(plain: bool) -> None:
    x = some((6, 9), FLOATS[0])
    for kind in ("any", "all"):
        bench = reduction(kind, x > 1, (1,), np.dtype("bool"))
        assert bench.run(plain=plain) == 0
        np.testing.assert_array_equal(bench.arrays["out"], getattr(np, kind)(x > 1, axis=1))
    for kind in ("argmax", "argmin"):
        for dtype in (FLOATS[0], np.dtype("int8"), np.dtype("uint64")):
            y = some((6, 9), dtype)
            bench = reduction(kind, y, (1,), np.dtype("int64"))
            assert bench.run(plain=plain) == 0
            np.testing.assert_array_equal(bench.arrays["out"], getattr(np, kind)(y, axis=1))


@BOTH
def test_empty_reductions_give_the_neutral_element(plain: bool) -> None:
    for kind, neutral in (("sum", 0.0), ("prod", 1.0), ("max", -np.inf), ("min", np.inf)):
        bench = reduction(kind, np.zeros((3, 0), "float32"), (1,), FLOATS[0])
        assert bench.run(plain=plain) == 0
        np.testing.assert_array_equal(bench.arrays["out"], np.full(3, neutral))


def test_max_propagates_nan() -> None:
    x = some((4, 40), FLOATS[0])
    x[1, 7] = np.nan
    bench = reduction("max", x, (1,), FLOATS[0])
    bench.run()
    np.testing.assert_array_equal(bench.arrays["out"], x.max(axis=1))


def test_long_sum_is_exact_enough() -> None:
    x = np.full((1, 3_000_001), 0.1, "float32")
    bench = reduction("sum", x, (1,), FLOATS[0])
    bench.run()
    assert abs(bench.arrays["out"][0] / (0.1 * 3_000_001) - 1) < 5e-7


@BOTH
def test_row_softmax_with_its_loss_in_one_kernel(plain: bool) -> None:
    x = some((5, 11), FLOATS[0])
    bench = Bench(x=x)
    bench.output("p", (5, 11), "float32")
    bench.output("logsum", (5,), "float32")
    operand, b = bench.operand("x"), bench.builder
    bench.dims = (bench.table.var(bench.shape("x")[0]),)
    maxima: dict = {}

    def peak(i: object) -> object:
        if i not in maxima:
            maxima[i] = b.reduce("max", [operand.shape[1]], lambda r: operand.at((i, r[0])))
        return maxima[i]

    def total(i: object) -> object:
        if (i, 1) not in maxima:
            maxima[i, 1] = b.reduce("sum", [operand.shape[1]], lambda r: b.op("exp", operand.at((i, r[0])) - peak(i)))
        return maxima[i, 1]

    bench.store("p", lambda i: b.op("exp", operand.at(i) - peak(i[0])) / total(i[0]), shared=1)
    bench.store("logsum", lambda i: b.op("log", total(i[0])) + peak(i[0]), shared=1)
    assert bench.run(plain=plain, cuts=[2]) == 0
    d = np.exp(x.astype("float64"))
    np.testing.assert_allclose(bench.arrays["p"], d / d.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(bench.arrays["logsum"], np.log(d.sum(1)), rtol=1e-5)


@BOTH
def test_gather_checks_its_indices(plain: bool) -> None:
    x, ids = some((7, 3), FLOATS[0]), np.array([4, 0, 6, 6], "int32")
    for bad in (None, 2, 3):
        index = ids.copy()
        if bad is not None:
            index[bad] = 7 if bad == 2 else -1
        bench = Bench(x=x, ids=index)
        bench.output("out", (4, 3), "float32")
        table, rows, b = bench.operand("x"), bench.operand("ids"), bench.builder

        def element(i: tuple, b: Any = b, rows: Any = rows, table: Any = table) -> object:
            row = b.cast(rows.at(i[:1]), "int64")
            return b.check((row >= 0) & (row < table.shape[0]), table.at((row, i[1])), i[0])

        bench.store("out", element)
        status = bench.run(plain=plain)
        if bad is None:
            assert status == 0
            np.testing.assert_array_equal(bench.arrays["out"], x[ids])
        else:
            assert status == (1 << 48) + bad


@BOTH
def test_select_does_not_read_what_it_does_not_take(plain: bool) -> None:
    x = some((5,), FLOATS[0])
    bench = Bench(x=x)
    bench.output("out", (9,), "float32")
    operand, b = bench.operand("x"), bench.builder

    def element(i: tuple) -> object:
        inside = (i[0] >= b.param(2)) & (i[0] < operand.shape[0] + b.param(2))
        return b.select(inside, b.op("exp", operand.at((i[0] - b.param(2),))), 0)

    bench.store("out", element)
    assert bench.run(plain=plain) == 0
    np.testing.assert_allclose(bench.arrays["out"], np.pad(np.exp(x), 2), rtol=1e-6)


@BOTH
def test_in_place(plain: bool) -> None:
    x, y = some((100,), FLOATS[0]), some((100,), FLOATS[0], 1)
    bench = elementwise("x * y + x", FLOATS[0], x=x.copy(), y=y)
    bench.arrays["out"][:] = x
    assert bench.run(plain=plain, x="out") == 0
    np.testing.assert_array_equal(bench.arrays["out"], x * y + x)


@BOTH
def test_a_product_of_numbers_is_no_size(plain: bool) -> None:
    x = some((5,), FLOATS[0])
    bench = elementwise("x + 0.5 * 3.0", FLOATS[0], x=x)
    assert bench.run(plain=plain) == 0
    np.testing.assert_array_equal(bench.arrays["out"], x + np.float32(1.5))


@BOTH
def test_a_check_in_one_loop_and_a_store_in_another(plain: bool) -> None:
    x, ids = some((4,), FLOATS[0]), np.array([[3, 0, 1], [2, 2, 0]], "int64")
    bench = Bench(x=x, ids=ids)
    bench.output("rows", (2, 3), "int64")
    bench.output("out", (4,), "float32")
    values, indices, b = bench.operand("x"), bench.operand("ids"), bench.builder
    best = b.reduce("argmax", [values.shape[0]], lambda r: values.at(r))

    def picked(i: tuple) -> object:
        at = indices.at(i)
        return b.check((at >= 0) & (at < values.shape[0]), best + at, b.flat(i, indices.shape))

    def checked(i: tuple) -> object:
        return b.check(values.at(i) < 1e9, values.at(i) * 2.0, i[0])

    bench.store("rows", picked, shared=0)
    bench.store("out", checked, shared=0)
    assert bench.run(plain=plain) == 0
    np.testing.assert_array_equal(bench.arrays["rows"], ids + x.argmax())
    np.testing.assert_array_equal(bench.arrays["out"], x * 2)


def test_kernels_take_the_short_road() -> None:
    """Only what calls functions that Numba compiles by themselves takes Numba's own; both may come in any order."""
    from fastgraph.compiler.cpu import object_code

    before = object_code.refused.keys() | ()  # kernels that are no kernels, in other tests
    x, n = np.abs(some((40,), FLOATS[0])), np.arange(1, 41, dtype="int32")
    cases = [("tanh(x) * x", x, np.tanh(x) * x), ("n ** n", n, n**n), ("tanh(x) * x + x", x, np.tanh(x) * x + x)]
    for text, operand, want in cases:
        bench = elementwise(text.replace("n ** n", "pow(n, n)"), operand.dtype, **{text[-1]: operand})
        assert bench.run(plain=False) == 0
        np.testing.assert_allclose(bench.arrays["out"], want, rtol=1e-6)
    assert {object_code.refused[key] for key in object_code.refused.keys() - before} <= {"RefusedError: pow_int32"}


def test_what_compiled_a_kernel_keeps_nothing_of_it() -> None:
    """The IR of a kernel takes a megabyte, and a program has hundreds."""
    from fastgraph.compiler.cpu import object_code
    from fastgraph.compiler.program.kernel_spec import KernelSpec

    def instructions() -> int:
        gc.collect()
        return sum(isinstance(each, LoadInstr) for each in gc.get_objects())

    def compiled(number: float) -> None:
        source = f"def kernel(buffers, sizes, begin, end):\n    x = buffers[0]\n    y = buffers[1]\n    y[0] = x[0] + {number}\n    return 0\n"
        object_code.compile_kernel(KernelSpec(source, ("float64", "float64"), 0, ()), "0" * 40)

    compiled(1.0)
    before = instructions()
    compiled(2.0)
    assert instructions() == before


#: exp of what each row of ten has less than its largest one: LLVM holds the constants in the registers that all reach.
ROWS_OF_TEN = """def kernel(buffers, sizes, begin, end):
    x0 = buffers[0]
    x1 = buffers[1]
    for i0 in range(begin, end):
        v0 = i0 * 10
        v1 = rank_max_float32(float32(-inf))
        for i1 in range(10):
            v2 = x0[v0 + i1]
            v1 = max_int32(v1, rank_max_float32(v2))
        v3 = ranked_float32(v1)
        for i1 in range(10):
            v4 = x0[v0 + i1] - v3
            x1[v0 + i1] = exp_float32(v4)
    return 0
"""
IMPORTS = ("rank_max_float32", "max_int32", "ranked_float32", "exp_float32")


@pytest.mark.parametrize("cpu", ["", "skylake-avx512", "znver4", "sapphirerapids"])
def test_signs_are_gathered_from_the_register_that_holds_them(cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM 22 gathers those of another register where theirs is one of AVX-512's upper sixteen."""
    from elementwise_kernels import call

    from fastgraph.compiler.cpu import object_code, target
    from fastgraph.compiler.cpu.loader import Library
    from fastgraph.compiler.program.kernel_spec import KernelSpec

    host = object_code.host()
    if not host.triple.startswith("x86_64"):
        pytest.skip("the fault is x86-64's")
    if cpu:
        known = "+fma,+avx2,+avx512f,+avx512cd,+avx512bw,+avx512dq,+avx512vl"
        extra = "" if cpu == "skylake-avx512" else ",+avx512vbmi,+avx512vbmi2"
        monkeypatch.setattr(object_code, "host", lambda: target.Host("x86_64-unknown-linux-gnu", cpu, known + extra))
    listing = object_code.compile_kernel(KernelSpec(ROWS_OF_TEN, ("float32", "float32"), 0, IMPORTS), "0" * 40)
    assembly = listing.machine.emit_assembly(listing.module)
    assert not re.search(r"movmsk\w+\s+%[xyz]mm(1[6-9]|2\d|3[01])", assembly)
    if host.features == object_code.host().features:
        x = np.zeros((3, 10), np.float32)
        x[1] = np.arange(-9, 1)
        out = np.empty_like(x)
        library = Library(listing.code, target.symbol("0" * 40))
        assert call(library.address, [x.ctypes.data, out.ctypes.data], [], 0, 3) == 0
        np.testing.assert_allclose(out, np.exp(x - x.max(1, keepdims=True)), rtol=1e-6)
