"""Vector maths: every special value, every kind of argument, errors in units of the last place."""

from __future__ import annotations

import llvmlite.binding as llvm
import ml_dtypes
import nests
import numpy as np
import pytest
from elementwise_kernels import compiled, elementwise, evaluate, run

from benchmarks import vecmath as vecmath_table
from benchmarks.vecmath import arguments, errors
from fastgraph.compiler.cpu.loader import Library
from fastgraph.compiler.cpu.target import symbol
from fastgraph.compiler.vecmath import functions

L = np.longdouble
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")  # the references' own overflows

#: function -> error allowed in float32, in float64
ALLOWED = {
    "exp": (1.1, 1.1),
    "expm1": (1.6, 2.0),
    "log": (1.0, 1.0),
    "log1p": (1.5, 1.5),
    "tanh": (1.9, 1.9),
    "sigmoid": (1.8, 1.8),
    "softplus": (2.0, 2.0),
    "sin": (1.6, 1.0),
    "cos": (1.6, 1.0),
    "tan": (1.6, 1.5),
    "sinh": (2.5, 2.6),
    "cosh": (2.5, 2.5),
    "asin": (2.8, 2.6),
    "acos": (2.6, 2.6),
    "atan": (2.0, 2.0),
    "asinh": (2.2, 2.2),
    "acosh": (2.8, 2.8),
    "atanh": (2.2, 2.2),
    "erf": (1.8, 1.0),
    "sqrt": (0.5, 0.5),
    "rsqrt": (1.5, 1.5),
}
#: function -> (reference in wider arithmetic, error allowed in float32, in float64)
FUNCTIONS = {name: (vecmath_table.FUNCTIONS[name][0], *allowed) for name, allowed in ALLOWED.items()}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_in_units_of_the_last_place(name: str, dtype: type) -> None:
    reference, *allowed = FUNCTIONS[name]
    x = arguments(dtype, 30_000, seed=3)
    got = evaluate(f"{name}_{np.dtype(dtype)}(a)", x)
    with np.errstate(all="ignore"):
        wide = reference(x.astype(np.float64 if dtype is np.float32 else L))
    wrong = errors(got, wide)
    worst = int(np.argmax(wrong))
    assert wrong[worst] <= allowed[dtype is np.float64], (
        f"{name}({x[worst]!r}) = {got[worst]!r}, should be {wide[worst]!r}: {wrong[worst]:.3g} ulp"
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["exp", "sigmoid", "softplus"])
def test_results_that_are_no_normal_numbers(name: str, dtype: type) -> None:
    least = np.log(np.finfo(dtype).tiny)
    x = np.linspace(least - 45, least + 1, 20_000, dtype=dtype)
    reference, *allowed = FUNCTIONS[name]
    wide = reference(x.astype(np.float64 if dtype is np.float32 else L))
    assert errors(evaluate(f"{name}_{np.dtype(dtype)}(a)", x), wide).max() <= allowed[dtype is np.float64]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_angles_of_points(dtype: type) -> None:
    """Zeros and infinities of either sign, tiny and huge numbers, all quarters, where polynomials meet."""
    info = np.finfo(dtype)
    values = [
        0.0,
        1.0,
        0.41421357,
        2.4142137,
        1e-30,
        1e30,
        np.inf,
        np.nan,
        info.tiny,
        info.smallest_subnormal,
        info.max,
    ]
    special = np.array([*values, *(-v for v in values)], dtype)
    y, x = (grid.ravel() for grid in np.meshgrid(special, special))
    rng = np.random.default_rng(1)
    bits = np.uint32 if dtype is np.float32 else np.uint64
    any_bits = rng.integers(0, np.iinfo(bits).max, (2, 30_000), dtype=bits, endpoint=True).view(dtype)
    near = rng.standard_normal((2, 30_000)).astype(dtype)
    y, x = np.concatenate([y, any_bits[0], near[0]]), np.concatenate([x, any_bits[1], near[1]])
    wide = np.float64 if dtype is np.float32 else L
    wrong = errors(evaluate(f"atan2_{np.dtype(dtype)}(a, b)", y, x), np.arctan2(y.astype(wide), x.astype(wide)))
    worst = int(np.argmax(wrong))
    assert wrong[worst] <= 2.0, f"atan2({y[worst]!r}, {x[worst]!r}): {wrong[worst]:.3g} ulp"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inverses_near_the_ends_of_their_ranges(dtype: type) -> None:
    rng = np.random.default_rng(2)
    near = (1 - 2.0 ** rng.uniform(-30, 0, 9_000)).astype(dtype)
    x = np.concatenate([near, -near, (1 + 2.0 ** rng.uniform(-30, 60, 9_000)).astype(dtype)])
    for name in ("asin", "acos", "acosh", "atanh", "asinh"):
        reference, *allowed = FUNCTIONS[name]
        wide = reference(x.astype(np.float64 if dtype is np.float32 else L))
        wrong = errors(evaluate(f"{name}_{np.dtype(dtype)}(a)", x), wide)
        assert wrong.max() <= allowed[dtype is np.float64], f"{name}({x[np.argmax(wrong)]!r}): {wrong.max():.3g} ulp"


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *[("exp2", 0.51), ("log2", 0.51), ("lgamma", 1.6), ("bessel_k0", 0.51), ("bessel_k0e", 0.51)],
        *[("bessel_k1", 0.51), ("bessel_k1e", 0.51), ("expint", 0.51)],
    ],
)
def test_float32_by_way_of_float64(name: str, most: float) -> None:
    from scipy import special

    reference = {"exp2": np.exp2, "log2": np.log2, "lgamma": special.gammaln, **nests.POSITIVE}[name]
    x = np.concatenate([arguments(np.float32, 30_000, seed=3), np.linspace(-12, 12, 30_001, dtype=np.float32)])
    x = x[x > -np.inf]  # where SciPy's lgamma is none of libm's
    wrong = errors(evaluate(f"{name}_float32(a)", x), reference(x.astype(np.float64)))
    assert wrong.max() <= most, f"{name}({x[np.argmax(wrong)]!r}): {wrong.max():.3g} ulp"


def test_erfc_is_as_precise_in_its_tail() -> None:
    from scipy import special

    x = arguments(np.float32, 30_000, seed=3)
    x = np.concatenate([x, np.linspace(-6, 12, 30_000, dtype=np.float32)])
    wrong = errors(evaluate("erfc_float32(a)", x), special.erfc(x.astype(np.float64)))
    worst = int(np.argmax(wrong))
    assert wrong[worst] <= 5.0, f"erfc({x[worst]!r}): {wrong[worst]:.3g} ulp"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_cpu_without_fused_multiply_add(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bounds for the oldest CPU that is supported, where x * y + z rounds twice: its code runs on any other."""
    import platform

    from fastgraph.compiler.cpu import llvm_lanes, object_code, target

    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("x86-64 only: elsewhere there is no CPU without it")
    oldest = target.Host(target.host().triple, "x86-64-v2", "")
    for module in (object_code, llvm_lanes):
        monkeypatch.setattr(module, "host", lambda: oldest)
    x = arguments(dtype, 10_000, seed=6)
    kind = np.dtype(dtype).name
    for name, (reference, *allowed) in FUNCTIONS.items():
        if dtype is np.float64 and name == "erf":
            continue  # libm's
        spec = elementwise(f"{name}_{kind}(a)", (kind,), kind)
        listing = object_code.compile_kernel(spec, "0" * 40)
        assert "vfmadd" not in str(listing.machine.emit_assembly(llvm.parse_assembly(listing.llvm_ir)))
        library = Library(listing.code, symbol("0" * 40))  # its code goes with it
        got = run(library.address, [x], dtype)
        with np.errstate(all="ignore"):
            wrong = errors(got, reference(x.astype(np.float64 if dtype is np.float32 else L)))
        worst = int(np.argmax(wrong))
        assert wrong[worst] <= allowed[dtype is np.float64], f"{name}({x[worst]!r}) = {got[worst]!r}"
    library = Library(
        object_code.compile_kernel(elementwise(f"pow_{kind}(a, b)", (kind, kind), kind), "0" * 40).code,
        symbol("0" * 40),
    )
    for each in KINDS_OF_POWERS:
        pair = powers(each, dtype)
        check_powers(run(library.address, list(pair), dtype), *pair)


def test_errors_measure() -> None:
    """The measure itself: one unit, a wrong sign of zero, a missed infinity and a missed NaN are seen."""
    one = np.array([1.0, 0.0, np.inf, np.nan, 1.0], np.float32)
    got = np.array([np.nextafter(np.float32(1), np.float32(2)), -0.0, 3e38, 1.0, 1.0], np.float32)
    assert errors(got, one.astype(np.float64)).tolist() == [1.0, np.inf, np.inf, np.inf, 0.0]


def powers(kind: str, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Bases and exponents of a kind."""
    rng = np.random.default_rng(4)
    if kind == "special":
        values = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 7.0, np.inf, 1e-45, 3e38, 1e10, 2.0**24 + 2, 2.0**23 + 1]
        info = np.finfo(dtype)
        values += [info.smallest_subnormal, info.tiny, info.max, 2.0**53 + 2, 2.0**52 + 1]
        values = np.array([np.nan, *values, *(-v for v in values)], dtype)
        a, b = (grid.ravel() for grid in np.meshgrid(values, values))
    elif kind == "random":
        a, b = abs(rng.standard_normal(50_000)) * 10, rng.standard_normal(50_000) * 10
    elif kind == "negative":
        a, b = rng.standard_normal(50_000) * 10, np.rint(rng.standard_normal(50_000) * 10)
    elif kind == "large exponents":
        a, b = 1 + rng.standard_normal(50_000) * 1e-4, rng.standard_normal(50_000) * 1e5
    elif kind == "no normal results":
        a = rng.uniform(0.1, 20, 50_000)
        b = (np.log(np.finfo(dtype).tiny) + rng.uniform(-20, 1, 50_000)) / np.log(a)
    else:
        bits = np.uint32 if dtype is np.float32 else np.uint64
        a, b = rng.integers(0, np.iinfo(bits).max, (2, 50_000), dtype=bits, endpoint=True).view(dtype)
    return a.astype(dtype), b.astype(dtype)


def check_powers(got: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        wide = np.float64 if a.dtype == np.float32 else L
        wrong = errors(got, np.power(a.astype(wide), b.astype(wide)))
    worst = int(np.argmax(wrong))
    assert wrong[worst] <= 1.1, f"{a[worst]!r} ** {b[worst]!r} = {got[worst]!r}: {wrong[worst]} ulp"


KINDS_OF_POWERS = ["special", "random", "negative", "large exponents", "no normal results", "bits"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS_OF_POWERS)
def test_power(kind: str, dtype: type) -> None:
    """Every pair of special values, and hardly more than half a unit off elsewhere."""
    a, b = powers(kind, dtype)
    check_powers(evaluate(f"pow_{np.dtype(dtype)}(a, b)", a, b), a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_few_odd_powers_change_nothing_for_their_neighbours(dtype: type) -> None:
    """A vector that holds a negative base or a denormal gives the other lanes the bits that they have alone."""
    a, b = (x[:2000] for x in powers("random", dtype))
    a[::37], b[5::41], a[7::53] = -3, np.nan, np.finfo(dtype).smallest_subnormal
    kind = np.dtype(dtype).name
    address = compiled(f"pow_{kind}(a, b)", (kind, kind), kind).address
    whole = run(address, [a, b], dtype)
    alone = np.concatenate([run(address, [a[k : k + 1], b[k : k + 1]], dtype) for k in range(a.size)])
    assert np.array_equal(whole, alone, equal_nan=True)


@pytest.mark.parametrize(
    "name", ["exp", "expm1", "log", "log1p", "tanh", "sigmoid", "softplus", "sin", "cos", "tan", "erf", "erfc"]
)
def test_loops_are_vectorised(name: str) -> None:
    """The point of all this: LLVM's loop works on vectors, and calls nothing."""
    from fastgraph.compiler.cpu.loader import undefined_symbols
    from fastgraph.compiler.cpu.object_code import compile_kernel

    listing = compile_kernel(elementwise(f"{name}_float32(a)", ("float32",), "float32"), "0" * 40)
    assert undefined_symbols(listing.code) == set()
    assert "x float> @llvm.f" in listing.llvm_ir or "fmul <" in listing.llvm_ir


@pytest.mark.parametrize("name", ["exp_float32", "tanh_float32", "log_float32", "exp_float64"])
def test_bits_do_not_depend_on_where_a_range_is_cut(name: str) -> None:
    dtype = np.float32 if name.endswith("32") else np.float64
    x = (np.random.default_rng(0).standard_normal(1000) * 3).astype(dtype)
    address = compiled(f"{name}(a)", (np.dtype(dtype).name,), np.dtype(dtype).name).address
    whole = run(address, [x], dtype)
    pieces = np.zeros_like(whole)
    for begin, end in [(0, 1), (1, 18), (18, 517), (517, 999), (999, 1000)]:
        pieces += run(address, [x], dtype, begin, end)
    assert whole.tobytes() == pieces.tobytes()


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_few_large_arguments_change_nothing_for_their_neighbours(name: str) -> None:
    """A vector one of whose lanes is reduced with all of 2 / pi gives the others the bits that they have alone."""
    rng = np.random.default_rng(1)
    x = (rng.standard_normal(4000) * 100).astype(np.float32)
    x[::37] = (2.0 ** rng.uniform(18, 128, x[::37].size)).astype(np.float32)
    x[5::613] = [np.inf, np.nan, -np.inf, 0, -0.0, 2.0**20, np.nextafter(np.float32(2.0**20), np.float32(0))]
    address = compiled(f"{name}_float32(a)", ("float32",), "float32").address
    whole = run(address, [x], np.float32)
    alone = np.concatenate([run(address, [x[k : k + 1]], np.float32) for k in range(x.size)])
    assert whole.tobytes() == alone.tobytes()
    with np.errstate(invalid="ignore"):
        wrong = errors(whole, getattr(np, name)(x.astype(np.float64)))
    assert wrong.max() <= FUNCTIONS[name][1]


@pytest.mark.parametrize("name", ["sin_float64", "cos_float64", "tan_float64", "pow_float64", "pow_float32"])
def test_what_is_rare_calls_nothing(name: str) -> None:
    """Nothing of libm is left in them, and loops are vectors."""
    from fastgraph.compiler.cpu.loader import undefined_symbols
    from fastgraph.compiler.cpu.object_code import compile_kernel

    kind, operands = name[4:], 2 if name.startswith("pow") else 1
    expression = f"{name}({', '.join('ab'[:operands])})"
    listing = compile_kernel(elementwise(expression, (kind,) * operands, kind), "0" * 40)
    assert undefined_symbols(listing.code) == set()
    assert f"x {'float' if kind == 'float32' else 'double'}> @llvm.fmuladd" in listing.llvm_ir


def test_large_arguments_leave_the_loop() -> None:
    """Loops of sines are vectors of the usual reduction; the long one stands behind a branch, in no loop of its own."""
    from fastgraph.compiler.cpu.llvm_lanes import MOSTLY
    from fastgraph.compiler.cpu.object_code import compile_kernel

    listing = compile_kernel(elementwise("sin_float32(a)", ("float32",), "float32"), "0" * 40)
    assert "x float> @llvm.fmuladd" in listing.llvm_ir and "branch_weights" in listing.llvm_ir
    assert f"@{MOSTLY}" not in listing.llvm_ir


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_float32(name: str) -> None:
    """All 2**32 arguments, against float64."""
    reference, allowed, _ = FUNCTIONS[name]
    worst, where = 0.0, np.float32(0)
    for block in range(1 << 11):
        x = np.arange(block << 21, (block + 1) << 21, dtype=np.uint64).astype(np.uint32).view(np.float32)
        got = evaluate(f"{name}_float32(a)", x)
        with np.errstate(all="ignore"):
            wide = reference(x.astype(np.float64))
            # The exact measure is slow: only where the result is not the nearest float32, NaN alike.
            differ = np.flatnonzero(
                (got.view(np.int32) != wide.astype(np.float32).view(np.int32)) & ~(np.isnan(got) & np.isnan(wide))
            )
        if differ.size:
            wrong = errors(got[differ], wide[differ])
            at = int(np.argmax(wrong))
            if wrong[at] > worst:
                worst, where = float(wrong[at]), x[differ[at]]
    print(f"{name}: at most {worst:.3f} ulp, at {where!r}")
    assert worst <= allowed


INTEGERS = [np.dtype(name) for name in functions.INTEGERS]


def integers(dtype: np.dtype, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs: random ones, small ones, and all pairs of edges."""
    rng = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    edges = np.array(
        [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, *([-1, -2, -3] if info.min else [])]
    )
    a, b = (grid.ravel().astype(dtype) for grid in np.meshgrid(edges.astype(dtype), edges.astype(dtype)))
    wide = rng.integers(info.min, info.max, (2, 3000), dtype=dtype, endpoint=True)
    small = rng.integers(-20 if info.min else 0, 20, (2, 3000)).astype(dtype)
    return np.concatenate([a, wide[0], small[0], wide[0]]), np.concatenate([b, wide[1], small[1], small[1]])


def _divide(a: int, b: int, kind: str) -> int:
    if b == 0:
        return 0
    if kind == "floordiv":
        return a // b
    if kind == "floormod":
        return a % b
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient if kind == "truncatediv" else a - quotient * b


def wrapped(value: int, dtype: np.dtype) -> int:
    """A whole number as two's complement of the dtype's width."""
    bits = 8 * dtype.itemsize
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_division(dtype: np.dtype) -> None:
    a, b = integers(dtype, 1)
    for kind in ("floordiv", "floormod", "truncatediv", "truncatemod"):
        got = evaluate(f"{kind}_{dtype}(a, b)", a, b)
        want = [wrapped(_divide(int(x), int(y), kind), dtype) for x, y in zip(a, b, strict=True)]
        assert got.tolist() == want, kind


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_arithmetic_wraps(dtype: np.dtype) -> None:
    a, b = integers(dtype, 2)
    bits = 8 * dtype.itemsize
    exponent = np.abs(b.astype(object)) % 70
    cases = {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "min": min,
        "max": max,
        "lshift": lambda x, y: x << min(max(y, 0), bits - 1),
        "rshift": lambda x, y: x >> min(max(y, 0), bits - 1),
    }
    for op, reference in cases.items():
        want = [wrapped(reference(int(x), int(y)), dtype) for x, y in zip(a, b, strict=True)]
        assert evaluate(f"{op}_{dtype}(a, b)", a, b).tolist() == want, op
    n = exponent.astype(dtype)
    want = [wrapped(pow(int(x), int(y), 1 << 64), dtype) for x, y in zip(a, n, strict=True)]
    assert evaluate(f"pow_{dtype}(a, b)", a, n).tolist() == want
    assert evaluate(f"abs_{dtype}(a)", a).tolist() == [wrapped(abs(int(x)), dtype) for x in a]
    assert evaluate(f"sign_{dtype}(a)", a).tolist() == np.sign(a).tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_minimum_and_maximum_propagate_nan(dtype: type) -> None:
    values = np.array([np.nan, -np.inf, -1.5, 0.0, 2.0, np.inf], dtype)
    a, b = (grid.ravel() for grid in np.meshgrid(values, values))
    name = np.dtype(dtype).name
    assert np.array_equal(evaluate(f"max_{name}(a, b)", a, b), np.maximum(a, b), equal_nan=True)
    assert np.array_equal(evaluate(f"min_{name}(a, b)", a, b), np.minimum(a, b), equal_nan=True)
    assert np.array_equal(evaluate(f"sign_{name}(a)", a), np.sign(a), equal_nan=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ranks_are_ordered_as_floats(dtype: type) -> None:
    """NaN of either sign above everything for a maximum, below for a minimum; and every rank leads back."""
    name, whole = np.dtype(dtype).name, np.dtype(f"int{8 * np.dtype(dtype).itemsize}")
    x = arguments(dtype, 2_000, seed=8)
    nan = np.isnan(x)
    for kind, beyond in (("max", np.inf), ("min", -np.inf)):
        rank = evaluate(f"rank_{kind}_{name}(a)", x, result=whole)
        order = np.argsort(rank, kind="stable")
        numbers = x[order][~nan[order]]
        assert np.all(numbers[1:] >= numbers[:-1])
        outside = rank[x == beyond].max() if kind == "max" else rank[x == beyond].min()
        assert np.all(rank[nan] > outside) if kind == "max" else np.all(rank[nan] < outside)
        back = evaluate(f"ranked_{name}(a)", rank, result=dtype)
        assert back[~nan].tobytes() == x[~nan].tobytes() and np.isnan(back[nan]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_division_is_tensorflows(dtype: type) -> None:
    """floor(a / b), and fmod moved to the divisor's sign: 1.0 // 0.1 is 10 (NumPy says 9)."""
    a = np.array([1.0, -7.0, 7.0, 7.0, -7.0, 0.0, np.inf, 5.0], dtype)
    b = np.array([0.1, 3.0, -3.0, np.inf, np.inf, -2.0, 2.0, 0.0], dtype)
    name = np.dtype(dtype).name
    with np.errstate(all="ignore"):
        assert np.array_equal(evaluate(f"floordiv_{name}(a, b)", a, b), np.floor(a / b), equal_nan=True)
        remainder = np.fmod(a, b)
        moved = np.where((remainder != 0) & ((b < 0) != (remainder < 0)), remainder + b, remainder)
    assert np.array_equal(evaluate(f"floormod_{name}(a, b)", a, b), moved, equal_nan=True)


@pytest.mark.parametrize("name", nests.POSITIVE)
def test_functions_of_positive_numbers_in_float64(name: str) -> None:
    """Within what SciPy's lose; Ei beside its zero as a difference of about 1."""
    rng = np.random.default_rng(6)
    x = np.concatenate([rng.uniform(0, 3, 9_000), rng.uniform(0, 90, 9_000), 2.0 ** rng.uniform(-900, 9, 2_000)])
    x = np.concatenate([x, [2, 6, 12, 24, 60, 0.0, -0.0, -1.0, np.inf, -np.inf, np.nan]])
    with np.errstate(all="ignore"):
        wanted = nests.POSITIVE[name](x)
    got = evaluate(f"{name}_float64(a)", x)
    loss = {"rtol": 5e-14, "atol": 1e-15} if name == "expint" else {"rtol": 5e-15, "atol": 1e-300}
    np.testing.assert_allclose(got, wanted, **loss)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_remainders_of_floats_are_exact(dtype: type) -> None:
    """Those of few multiples, computed by vectors, too: near whole quotients, of denormals, by 1, with every sign."""
    rng = np.random.default_rng(5)
    digits = np.finfo(dtype).nmant
    b = np.concatenate([rng.standard_normal(20_000), 2.0 ** rng.uniform(-20, 20, 10_000), np.ones(5_000)]).astype(dtype)
    times = np.floor(2.0 ** rng.uniform(0, digits + 3, b.size)).astype(dtype)
    near = (b * times).astype(dtype)
    edges = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, np.finfo(dtype).max, np.finfo(dtype).tiny, 5e-324, 1e-45]
    )
    crossed = [grid.ravel().astype(dtype) for grid in np.meshgrid(edges, edges)]
    small = (b * dtype(np.finfo(dtype).tiny)).astype(dtype)
    a = np.concatenate(
        [near, np.nextafter(near, dtype(0)), np.nextafter(near, dtype(np.inf)), small, b * 7, crossed[0]]
    )
    b = np.concatenate([b, b, b, np.roll(small, 1), np.roll(b, 1), crossed[1]])
    for dividend in (a.astype(dtype), -a.astype(dtype)):
        with np.errstate(all="ignore"):
            rest = np.fmod(dividend, b)
            moved = np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)
        got = evaluate(f"floormod_{np.dtype(dtype).name}(a, b)", dividend, b)
        assert np.array_equal(got, moved, equal_nan=True)
        assert np.array_equal(np.signbit(got)[~np.isnan(got)], np.signbit(moved)[~np.isnan(got)])


def test_every_half_float_converts() -> None:
    """All 65,536 patterns of float16 and bfloat16, exactly."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    for name, dtype in (("float16", np.dtype(np.float16)), ("bfloat16", np.dtype(ml_dtypes.bfloat16))):
        got = evaluate(f"cast_{name}_float32(a)", bits, result=np.float32)
        assert np.array_equal(got, bits.view(dtype).astype(np.float32), equal_nan=True)
        back = evaluate(f"cast_float32_{name}(a)", got, result=np.uint16).view(dtype)
        assert np.array_equal(back.astype(np.float32), got, equal_nan=True)
        assert np.array_equal(np.signbit(back.astype(np.float32)), np.signbit(got))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_rounding_to_half_floats(name: str) -> None:
    """Ties to even, denormals, overflow: float32 and float64 arguments near every boundary."""
    dtype = np.dtype(np.float16 if name == "float16" else ml_dtypes.bfloat16)
    bits = np.arange(1 << 16, dtype=np.uint16).view(dtype).astype(np.float64)
    bits = bits[np.isfinite(bits)]
    middle = (np.sort(bits)[1:] + np.sort(bits)[:-1]) / 2
    x = np.concatenate(
        [middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf), bits, [65519.9, 65520.0, 1e300]]
    )
    narrow = x.astype(np.float32)
    narrow = np.concatenate([narrow, np.nextafter(narrow, np.float32(0)), arguments(np.float32, 20_000, 5)])
    with np.errstate(all="ignore"):
        want = narrow.astype(dtype).astype(np.float32)
        got = evaluate(f"cast_float32_{name}(a)", narrow, result=np.uint16).view(dtype).astype(np.float32)
        assert np.array_equal(got, want, equal_nan=True)
        if name == "float16":  # bfloat16 from float64 goes through float32, as in ml_dtypes and TensorFlow
            got = evaluate("cast_float64_float16(a)", x, result=np.uint16).view(dtype)
            assert np.array_equal(got, x.astype(dtype), equal_nan=True)


@pytest.mark.parametrize("target", [d.name for d in INTEGERS])
@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_casts_of_floats_to_integers(source: type, target: str) -> None:
    """In range: towards zero. Out of range and NaN: what x86-64 gives, on every machine, the same in every lane."""
    x = arguments(source, 2_000, 7)
    edges = np.array([2.0**b + d for b in (7, 8, 15, 16, 31, 32, 63, 64) for d in (-1.0, -0.5, 0.0, 0.5, 1.0)])
    x = np.concatenate([x, edges.astype(source), -edges.astype(source)])
    through = {"int64": 64, "uint32": 64, "uint64": 64}.get(target, 32)

    def reference(value: float) -> int:
        if target == "uint64" and 2.0**63 <= value < 2.0**64:
            return int(value)
        whole = int(value) if np.isfinite(value) else 2**70
        if not -(2 ** (through - 1)) <= whole < 2 ** (through - 1):
            whole = -(2 ** (through - 1))
        return wrapped(whole, np.dtype(target))

    got = evaluate(f"cast_{np.dtype(source)}_{target}(a)", x, result=target)
    assert got.tolist() == [reference(float(v)) for v in x]


@pytest.mark.parametrize("source", ["int8", "uint8", "int32", "uint32", "int64", "uint64", "float32"])
def test_other_casts_are_numpys(source: str) -> None:
    a = integers(np.dtype(source), 4)[0] if source != "float32" else np.array([0.0, -0.0, 1.5, np.nan], np.float32)
    targets = (
        ["float32", "float64"] if source == "float32" else ["int8", "uint16", "int64", "uint64", "float32", "float64"]
    )
    for target in targets:
        assert np.array_equal(
            evaluate(f"cast_{source}_{target}(a)", a, result=target), a.astype(target), equal_nan=True
        )
    assert np.array_equal(evaluate(f"cast_{source}_bool(a)", a, result="uint8"), a.astype(bool))


def test_numbas_own_functions_are_linked_in() -> None:
    """A kernel may call what Numba compiles apart (min of integers, complex products), also twice over."""
    a = np.array([3, -1, 7], np.int64)
    out = evaluate("min(max(a, 0), 5) + max(min(a, 2), 1) + a ** 2 % 4", a)
    assert out.tolist() == [min(max(v, 0), 5) + max(min(v, 2), 1) + v**2 % 4 for v in a.tolist()]
    z = np.array([1 + 2j, -3j], np.complex64)
    assert np.allclose(evaluate("a * a / (a + a) + abs(a)", z), z / 2 + abs(z))


@pytest.mark.slow
def test_every_function_of_the_table_compiles() -> None:
    """Each name can be called, and gives something; what it gives is tested above or by the ops' tests."""
    kinds = {"bool": "uint8"}
    seen = 0
    for function in functions.functions().values():
        if function.name.startswith("cast_") or function.operands[0] in ("int16", "uint16", "uint32", "uint64"):
            continue
        operands = tuple(kinds.get(d, d) for d in function.operands)
        arguments = ", ".join(f"{x} != 0" if d == "bool" else x for x, d in zip("abcdef", function.operands))
        inputs = [np.ones(3, dtype) for dtype in operands]
        out = evaluate(f"{function.name}({arguments})", *inputs, result=kinds.get(function.result, function.result))
        assert out.shape == (3,)
        seen += 1
    assert seen > 100
