"""The expression language: what parses, what is refused, dtypes, and its C against whole numbers and NumPy."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fastgraph.core.base import expr
from fastgraph.core.base.expr import Apply, CannotPrint, ExpressionError, Literal, Name, annotate, parse, print_c


def test_tree_and_names_in_order() -> None:
    parsed = parse("select(x > 0, y * x, -2.5)")
    assert parsed.names == ("x", "y")
    assert parsed.root == Apply(
        "select", (Apply("gt", (Name("x"), Literal(0))), Apply("mul", (Name("y"), Name("x"))), Literal(-2.5))
    )
    assert parse("float32(x) ** 2").root == Apply("pow", (Apply("cast", (Name("x"),), "float32"), Literal(2)))
    assert parse("max(x, inf)").root == Apply("max", (Name("x"), Literal(float("inf"))))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x +",
        "x if y else z",
        "a < b < c",
        "f(x)",
        "exp(x, y)",
        "x.y",
        "'s'",
        "x[0]",
        "exp",
        "max(x)",
        "x and y",
        "+x",
        "lambda: 1",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


def test_dtypes() -> None:
    types = {"x": "float32", "n": "int32", "b": "bool"}
    assert annotate(parse("x * 2 + 1").root, types, "float64").dtype == "float32"
    assert annotate(parse("2 * 3").root, types, "float64").dtype == "float64"
    assert annotate(parse("(x > 0) & b").root, types, "bool").dtype == "bool"
    assert annotate(parse("select(1 < x, 0, x)").root, types, "float32").args[1].dtype == "float32"
    assert annotate(parse("isnan(x) | (n == 0)").root, types, "bool").dtype == "bool"
    assert annotate(parse("float32(n) / x").root, types, "float32").dtype == "float32"
    for text in ("x + n", "n / 2", "n + 0.5", "select(n, x, x)", "~x", "b + b", "x << 1", "exp(b)", "missing + 1"):
        with pytest.raises(ExpressionError):
            annotate(parse(text).root, types, "float32")


def test_fold_and_divisors() -> None:
    operations = {"add": "+", "floordiv": "//", "floormod": "%", "neg": "-"}
    text = expr.fold(
        parse("-a + b // (c % 3)").root,
        str,
        str,
        lambda op, args, to: f"({operations[op].join(args) if len(args) == 2 else operations[op] + args[0]})",
    )
    assert text == "((-a)+(b//(c%3)))"
    assert [str(getattr(d, "id", getattr(d, "value", "..."))) for d in expr.divisors(parse("a // b + c % 3"))] == [
        "b",
        "3",
    ]


def test_c_has_no_form_of_some() -> None:
    for text, dtype in (("exp(x)", "float32"), ("x + x", "float16"), ("x * x", "complex64"), ("x ** x", "float32")):
        with pytest.raises(CannotPrint):
            print_c(parse(text), {"x": dtype}, dtype)
    with pytest.raises(ExpressionError, match="does not fit int8"):
        print_c(parse("x + 300"), {"x": "int8"}, "int8")


INTEGER_TEXTS = [
    "x + y", "x - y", "x * y", "-x", "x // y", "x % y", "truncatediv(x, y)", "truncatemod(x, y)", "min(x, y)",
    "max(x, y)", "abs(x)", "sign(x)", "x & y", "x | y", "x ^ y", "~x", "x << (y & 7)", "x >> (y & 7)", "x ** (y & 7)",
    "select(x < y, x, 3)",
]  # fmt: skip
COMPARE_TEXTS = ["x < y", "x <= y", "x > y", "x >= y", "x == y", "x != y", "(x < y) | ~(x == y)"]
FLOAT_TEXTS = [
    "x + y", "x - y", "x * y", "x / y", "-x", "x // y", "x % y", "min(x, y)", "max(x, y)", "abs(x)", "sign(x)",
    "sqrt(x)", "rsqrt(x)", "floor(x)", "ceil(x)", "round(x)", "trunc(x)", "select(x < y, x, 0.1)", "max(x, 0)",
    "x * x + inf",
]  # fmt: skip


def _python(op: str, args: list[int], bits: int) -> int:
    """One operation on whole numbers, before wrapping."""
    a = args[0]
    b = args[1] if len(args) > 1 else 0
    truncated = 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    table: dict[str, Callable[[], int]] = {
        "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "neg": lambda: -a, "not": lambda: ~a,
        "floordiv": lambda: a // b if b else 0, "floormod": lambda: a % b if b else 0,
        "truncatediv": lambda: truncated, "truncatemod": lambda: a - truncated * b if b else 0,
        "min": lambda: min(a, b), "max": lambda: max(a, b), "abs": lambda: abs(a), "sign": lambda: (a > 0) - (a < 0),
        "and": lambda: a & b, "or": lambda: a | b, "xor": lambda: a ^ b, "lshift": lambda: a << b if b < bits else 0,
        "rshift": lambda: a >> b, "pow": lambda: a**b, "select": lambda: args[1] if a else args[2],
        "lt": lambda: a < b, "le": lambda: a <= b, "gt": lambda: a > b, "ge": lambda: a >= b,
        "eq": lambda: a == b, "ne": lambda: a != b,
    }  # fmt: skip
    return int(table[op]())


def _wrap(value: int, dtype: str) -> int:
    bits = int(dtype.lstrip("uint"))
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype[0] == "i" and value >> (bits - 1) else value


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Every text above in C, one loop each, built with undefined behaviour trapped where the compiler can."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler on this machine (building fastgraph needs one)")
    folder = tmp_path_factory.mktemp("expr")
    lines = [expr.C_PRELUDE]
    for dtype in (*expr.INTEGERS, "float32", "float64"):
        floating = dtype.startswith("float")
        for number, text in enumerate([*(FLOAT_TEXTS if floating else INTEGER_TEXTS), *COMPARE_TEXTS]):
            result = "bool" if text in COMPARE_TEXTS else dtype
            c, r = expr.C_TYPES[dtype], expr.C_TYPES[result]
            body = print_c(parse(text), {"x": dtype, "y": dtype}, result)
            lines.append(
                f"void f_{dtype}_{number}(const {c} *px, const {c} *py, {r} *out, int64_t n) {{"
                f" for (int64_t i = 0; i < n; i++) {{ {c} x = px[i], y = py[i]; (void)y; out[i] = {body}; }} }}"
            )
    for source in expr.C_TYPES:
        for target in expr.C_TYPES:
            c, r = expr.C_TYPES[source], expr.C_TYPES[target]
            lines.append(
                f"void cast_{source}_{target}(const {c} *px, {r} *out, int64_t n) {{"
                f" for (int64_t i = 0; i < n; i++) {{ {c} x = px[i];"
                f" out[i] = {print_c(parse(f'{target}(x)'), {'x': source}, target)}; }} }}"
            )
    (folder / "e.c").write_text("\n".join(lines))
    options = ["-O1", "-Wall", "-Wno-unused-function", "-Werror", "-ffp-contract=off", "-shared", "-fPIC"]
    trap = [
        "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,float-cast-overflow",
        "-fsanitize-undefined-trap-on-error",
    ]
    done = subprocess.run(
        [compiler, *options, *trap, "-o", folder / "e.so", folder / "e.c", "-lm"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(Path(folder) / "e.so"))


def _values(dtype: str) -> np.ndarray:
    rng = np.random.default_rng(1)
    if dtype.startswith("float"):
        special = [
            0.0,
            -0.0,
            np.inf,
            -np.inf,
            np.nan,
            1.0,
            -1.0,
            0.5,
            1.5,
            2.5,
            -2.5,
            0.1,
            1e30,
            -1e30,
            1e-40,
            2.0**31,
            2.0**63,
            2.0**64,
        ]
        return np.concatenate([np.array(special, dtype), (rng.standard_normal(30) * 100).astype(dtype)])
    if dtype == "bool":
        return np.array([0, 1], np.uint8)
    info = np.iinfo(dtype)
    edges = [info.min, info.max, 0, 1, 2, 3, info.max - 1, info.min + 1, *([-1, -2, -7] if info.min else [7])]
    return np.array([*edges, *(int(v) for v in rng.integers(info.min, info.max, 30, dtype=dtype))], dtype)


def _pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    v = _values(dtype)
    return np.repeat(v, v.size), np.tile(v, v.size)


def _pointers(*arrays: np.ndarray) -> list[ctypes.c_void_p]:
    return [ctypes.c_void_p(a.ctypes.data) for a in arrays]


@pytest.mark.parametrize("dtype", expr.INTEGERS)
def test_c_of_integers(library: ctypes.CDLL, dtype: str) -> None:
    x, y = _pairs(dtype)
    bits = int(dtype.lstrip("uint"))
    for number, text in enumerate([*INTEGER_TEXTS, *COMPARE_TEXTS]):
        out = np.empty(x.shape, np.uint8 if text in COMPARE_TEXTS else dtype)
        library[f"f_{dtype}_{number}"](*_pointers(x, y, out), ctypes.c_int64(x.size))
        root = parse(text).root

        def value(a: int, b: int, root: expr.Tree = root, text: str = text) -> int:
            def apply(op: str, args: list[int], to: str | None) -> int:
                if op == "not" and text in COMPARE_TEXTS:
                    return 1 - args[0]
                return _wrap(_python(op, args, bits), dtype)

            return expr.fold(root, lambda name: a if name == "x" else b, int, apply)  # type: ignore[arg-type]

        assert out.tolist() == [value(int(a), int(b)) for a, b in zip(x, y)], text


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_c_of_floats_is_numpys(library: ctypes.CDLL, dtype: str) -> None:
    x, y = _pairs(dtype)

    def modulo(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        r = np.fmod(a, b)
        return np.where((r != 0) & ((b < 0) != (r < 0)), r + b, r)

    kind = np.dtype(dtype).type
    table = {
        "x + y": x + y, "x - y": x - y, "x * y": x * y, "x / y": x / y, "-x": -x, "x // y": np.floor(x / y),
        "x % y": modulo(x, y), "min(x, y)": np.minimum(x, y), "max(x, y)": np.maximum(x, y), "abs(x)": abs(x),
        "sign(x)": np.sign(x), "sqrt(x)": np.sqrt(x), "rsqrt(x)": kind(1) / np.sqrt(x), "floor(x)": np.floor(x),
        "ceil(x)": np.ceil(x), "round(x)": np.round(x), "trunc(x)": np.trunc(x), "max(x, 0)": np.maximum(x, 0),
        "select(x < y, x, 0.1)": np.where(x < y, x, kind(0.1)), "x * x + inf": x * x + kind(np.inf),
        "x < y": x < y, "x <= y": x <= y, "x > y": x > y, "x >= y": x >= y, "x == y": x == y, "x != y": x != y,
        "(x < y) | ~(x == y)": (x < y) | ~(x == y),
    }  # fmt: skip
    for number, text in enumerate([*FLOAT_TEXTS, *COMPARE_TEXTS]):
        out = np.empty(x.shape, np.uint8 if text in COMPARE_TEXTS else dtype)
        library[f"f_{dtype}_{number}"](*_pointers(x, y, out), ctypes.c_int64(x.size))
        assert np.array_equal(out, table[text], equal_nan=True), text


test_c_of_floats_is_numpys = pytest.mark.filterwarnings("ignore::RuntimeWarning")(test_c_of_floats_is_numpys)


def test_c_casts(library: ctypes.CDLL) -> None:
    """Between every pair of dtypes; floats to integers towards zero, and defined (as on x86-64) out of range."""
    for source in expr.C_TYPES:
        x = _values(source)
        for target in expr.C_TYPES:
            out = np.empty(x.shape, np.uint8 if target == "bool" else target)
            library[f"cast_{source}_{target}"](*_pointers(x, out), ctypes.c_int64(x.size))
            if source.startswith("float") and target in expr.INTEGERS:
                width = {"int64": 64, "uint32": 64, "uint64": 64}.get(target, 32)
                want = []
                for v in map(float, x):
                    inside = np.isfinite(v) and -(2 ** (width - 1)) <= int(v) < 2 ** (width - 1)
                    inside |= target == "uint64" and 2.0**63 <= v < 2.0**64
                    want.append(_wrap(int(v) if inside else -(2 ** (width - 1)), target))
            elif target == "bool":
                want = [int(v != 0) for v in x]
            else:
                with np.errstate(all="ignore"):
                    want = x.astype(target).tolist()
            assert np.array_equal(out, np.array(want, out.dtype), equal_nan=True), (source, target)
