"""Errors and speed of the kernels' mathematics: `python -m benchmarks.vecmath [--report docs/vecmath.md]`.

Each function on random bit patterns, where it bends and on every special value, against the same in wider arithmetic,
and beside NumPy's (SciPy's where NumPy has none). Times are one thread's for an array in the second cache, the least of
many. `tests/backend/test_vecmath.py` holds the errors to their bounds by the same measure; `make soak` goes through all
2**32 arguments of float32.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

import fastgraph as fg
from fastgraph.compiler.cpu.loader import PROTOTYPE, Library
from fastgraph.compiler.cpu.target import host, kernel_key, symbol
from fastgraph.compiler.program.kernel_spec import KernelSpec

L = np.longdouble
Array = Any


def erf(x: Array) -> Array:
    """erf by its series of positive terms, as wide as `x` is: SciPy has none that is wider than float64."""
    small = np.minimum(np.abs(x), x.dtype.type(7))  # where it rounds to 1 in float64, and the series is still short
    term, total = small.copy(), small.copy()
    for k in range(1, 250):
        term = term * (2 * small * small) / (2 * k + 1)
        total += term
    return np.copysign(np.minimum(total * np.exp(-small * small) * 2 / np.sqrt(4 * np.arctan(x.dtype.type(1))), 1), x)


#: function -> reference in wider arithmetic, what NumPy (SciPy) has, and the range of the arguments for the times
FUNCTIONS: dict[str, tuple[Callable[..., Array], Callable[..., Array], tuple[float, float]]] = {
    "exp": (np.exp, np.exp, (-20, 20)),
    "expm1": (np.expm1, np.expm1, (-5, 5)),
    "log": (np.log, np.log, (0.01, 100)),
    "log1p": (np.log1p, np.log1p, (-0.9, 10)),
    "tanh": (np.tanh, np.tanh, (-5, 5)),
    "sigmoid": (lambda x: np.exp(np.minimum(x, 0)) / (1 + np.exp(-abs(x))), special.expit, (-10, 10)),
    "softplus": (
        lambda x: np.maximum(x, 0) + np.log1p(np.exp(-abs(x))),
        lambda x: np.logaddexp(x, x.dtype.type(0)),
        (-10, 10),
    ),
    "sin": (np.sin, np.sin, (-10, 10)),
    "cos": (np.cos, np.cos, (-10, 10)),
    "tan": (np.tan, np.tan, (-10, 10)),
    "sinh": (np.sinh, np.sinh, (-5, 5)),
    "cosh": (np.cosh, np.cosh, (-5, 5)),
    "asin": (np.arcsin, np.arcsin, (-1, 1)),
    "acos": (np.arccos, np.arccos, (-1, 1)),
    "atan": (np.arctan, np.arctan, (-10, 10)),
    "asinh": (np.arcsinh, np.arcsinh, (-10, 10)),
    "acosh": (np.arccosh, np.arccosh, (1, 10)),
    "atanh": (np.arctanh, np.arctanh, (-1, 1)),
    "erf": (erf, special.erf, (-3, 3)),
    "sqrt": (np.sqrt, np.sqrt, (0, 100)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), lambda x: 1 / np.sqrt(x), (0.01, 100)),
    "pow": (np.power, np.power, (0.1, 10)),
}


def arguments(dtype: type, n: int, seed: int) -> Array:
    """Random bit patterns, the ranges where functions bend, and all special values."""
    rng = np.random.default_rng(seed)
    bits = np.uint32 if dtype is np.float32 else np.uint64
    info = np.finfo(dtype)
    top = float(np.log(info.max)) * 1.2
    near = edges(dtype)
    return np.concatenate(
        [
            rng.integers(0, np.iinfo(bits).max, n, dtype=bits, endpoint=True).view(dtype),
            (rng.standard_normal(n) * 4).astype(dtype),
            rng.uniform(-top, top, n).astype(dtype),
            (2.0 ** rng.uniform(-60, 8, n) * rng.choice([-1, 1], n)).astype(dtype),
            (1 + rng.standard_normal(n) * 1e-2).astype(dtype),
            (rng.integers(1, 1 << 20, n) * (np.pi / 2)).astype(dtype),  # where sine and cosine are nearly 0
            near,
            -near,
        ]
    )


def edges(dtype: type) -> Array:
    """Special values that are not negative, and their neighbours."""
    info = np.finfo(dtype)
    largest, least = np.log(info.max), np.log(info.smallest_subnormal)
    values = [0.0, np.inf, np.nan, 1.0, info.tiny, info.max, info.smallest_subnormal, info.tiny / 2, info.eps]
    values += [largest * dtype(1.2), largest, np.log(info.tiny), least, 0.5, 2.0, np.log(2.0), np.log(2.0) / 2]
    near = np.array([*values, 2.0**20], dtype)
    with np.errstate(all="ignore"):
        return np.concatenate([near, np.nextafter(near, dtype(np.inf)), np.nextafter(near, dtype(-np.inf))])


def errors(got: Array, wide: Array) -> Array:
    """Distance in units of the last place; infinite where NaN, infinities or the sign of zero are wrong."""
    dtype = got.dtype
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        want = wide.astype(dtype)
        exponent = np.maximum(np.frexp(np.abs(wide))[1] - 1, info.minexp)
        # An overflow one unit early or late is an error of about one unit: compare there as if the range went on.
        distance = np.abs(got.astype(L) - wide.astype(L)) / np.ldexp(L(1), exponent - info.nmant)
    same = (got == want) & (np.signbit(got) == np.signbit(want)) | (np.isnan(got) & np.isnan(want))
    finite = np.isfinite(got) & np.isfinite(want) & ((want != 0) | (got != 0))
    return np.where(same & ~finite, 0.0, np.where(finite, distance, np.inf)).astype(np.float64)


class Kernel:
    """out[i] = function(a[i]) or function(a[i], b[i]), compiled here without the store."""

    def __init__(self, name: str, dtype: str, operands: int) -> None:
        from fastgraph.compiler.cpu.object_code import compile_kernel

        names = "ab"[:operands]
        slots = [f"    p{k} = buffers[{k}]" for k in range(operands + 1)]
        given = ", ".join([f"p{k}[i]" for k in range(operands)])
        loop = ["    for i in range(begin, end):", f"        p{operands}[i] = {name}_{dtype}({given})", "    return 0"]
        source = "\n".join(["def kernel(buffers, sizes, begin, end):", *slots, *loop])
        spec = KernelSpec(source, (dtype,) * (len(names) + 1), 0, (f"{name}_{dtype}",))
        key = kernel_key(spec)
        self.library = Library(compile_kernel(spec, key).code, symbol(key))

    def on(self, inputs: list[Array], out: Array) -> Callable[[], None]:
        """The kernel's call with these arrays, made ready: what is left in Python takes less time than NumPy's call."""
        pointers = (ctypes.c_void_p * (len(inputs) + 1))(*[x.ctypes.data for x in (*inputs, out)])
        status, excinfo, sizes = ctypes.c_int64(0), ctypes.c_void_p(), (ctypes.c_int64 * 1)()
        given = (ctypes.byref(status), ctypes.byref(excinfo), pointers, sizes, 0, out.size)
        function = PROTOTYPE(self.library.address)

        def run() -> None:
            assert function(*given) == 0

        return run


def least(action: Callable[[], Any], n: int, seconds: float) -> float:
    """Nanoseconds per element: the least of the calls in so many seconds."""
    best, until = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < until:
        begun = time.perf_counter_ns()
        action()
        best = min(best, (time.perf_counter_ns() - begun) / n)
    return best


def row(name: str, dtype: type, samples: int, seconds: float) -> list[str]:
    """A row of the table."""
    reference, beside, (low, high) = FUNCTIONS[name]
    operands = 2 if name == "pow" else 1
    kernel = Kernel(name, np.dtype(dtype).name, operands)
    given = [arguments(dtype, samples, seed) for seed in range(operands)]
    if operands == 2:
        rng = np.random.default_rng(9)
        powers = (rng.standard_normal((2, samples)) * 10).astype(dtype)
        grid = [each.ravel() for each in np.meshgrid(edges(dtype), np.concatenate([edges(dtype), -edges(dtype)]))]
        given = [np.concatenate([x, y, z]) for x, y, z in zip(given, (abs(powers[0]), powers[1]), grid, strict=True)]
    wrong, bad = [], []
    out = np.empty_like(given[0])
    kernel.on(given, out)()
    with np.errstate(all="ignore"):
        wide = reference(*[x.astype(np.float64 if dtype is np.float32 else L) for x in given])
        for got in (out, beside(*given)):
            found = errors(got, wide)
            bad.append(int(np.isinf(found).sum()))
            wrong.append(float(found[np.isfinite(found)].max()))
    n = 1 << 15
    timed = [np.random.default_rng(k).uniform(low, high, n).astype(dtype) for k in range(operands)]
    out = np.empty_like(timed[0])
    mine = least(kernel.on(timed, out), n, seconds)
    theirs = least(lambda: beside(*timed, **({"out": out} if isinstance(beside, np.ufunc) else {})), n, seconds)
    special_values = ["right" if not count else f"{count} wrong" for count in bad]
    return [
        name,
        np.dtype(dtype).name,
        f"{wrong[0]:.2f}",
        f"{wrong[1]:.2f}",
        *special_values,
        f"{mine:.2f}",
        f"{theirs:.2f}",
        f"{mine / theirs:.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--report", type=Path, metavar="OUT", help="write the report there")
    parser.add_argument("--samples", type=int, default=100_000, help="of each kind of argument (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each time (%(default)s)")
    parser.add_argument("functions", nargs="*", default=list(FUNCTIONS), metavar="FUNCTION", help="these alone")
    options = parser.parse_args()
    lines = [
        "# Vector mathematics",
        "",
        f"fastgraph {fg.__version__}, NumPy {np.__version__}, Python {platform.python_version()}, {platform.machine()}",
        f"({host().cpu}, vectors of {host().vector_bits or 256} bits), {datetime.date.today()}.",
        "Made by `python -m benchmarks.vecmath --report docs/vecmath.md`, which says how it measures.",
        "",
        "The worst error found, in units in the last place; whether NaN, infinities, zeros and their signs, denormals",
        "and overflow come out right; nanoseconds per element on one thread. NumPy's: SciPy's of `sigmoid` and `erf`,",
        "`logaddexp(x, 0)` of `softplus`, the quotient of `rsqrt`.",
        "",
        "| function | dtype | ulp | NumPy's ulp | special values | NumPy's | ns | NumPy's ns | ratio |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in options.functions:
        for dtype in (np.float32, np.float64):
            lines.append("| " + " | ".join(row(name, dtype, options.samples, options.seconds)) + " |")
            print(lines[-1], flush=True)
    text = "\n".join(lines) + "\n"
    if options.report:
        options.report.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
