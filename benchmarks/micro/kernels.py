"""The compiler's back end by itself: time to compile, to load and to a first kernel; vector maths against NumPy.

    python benchmarks/micro/kernels.py

Every figure is the least of several runs on one thread; run it on an idle machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

from fastgraph.compiler.cpu.loader import PROTOTYPE, Library
from fastgraph.compiler.cpu.target import host, kernel_key, symbol
from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.store import kernel_service
from fastgraph.core.base import flags

CHAIN = "tanh_float32(v) * sigmoid_float32(v) + exp_float32(-(v * v)) - log_float32(float32(1) + v * v)"
FUNCTIONS = ("exp", "expm1", "log", "log1p", "tanh", "sin", "cos")


def spec(expression: str, dtype: str = "float32", comment: str = "") -> KernelSpec:
    """y[i] = expression of v = x[i]."""
    lines = ["def kernel(buffers, sizes, begin, end):", "    x = buffers[0]", "    y = buffers[1]"]
    lines += ["    for i in range(begin, end):", "        v = x[i]", f"        y[i] = {expression}", "    return 0"]
    return KernelSpec("\n".join([*lines, f"# {comment}"]), (dtype, dtype), 0)


def least(function: Callable[[], object], runs: int) -> float:
    """Seconds of the fastest of some runs."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def compiling() -> None:
    """Numba's front end, LLVM, and the loader, in this process."""
    from fastgraph.compiler.cpu.object_code import compile_kernel

    serial = iter(range(10**6))

    def fresh(expression: str) -> KernelSpec:
        return spec(expression, comment=str(next(serial)))

    compile_kernel(fresh("v"), "0")  # Numba loads its own tables with the first function
    for name, expression in (("v + 1", "v + float32(1)"), ("exp", "exp_float32(v)"), ("chain of 9 ops", CHAIN)):
        seconds = least(lambda expression=expression: compile_kernel(fresh(expression), "0"), 7)
        size = len(compile_kernel(fresh(expression), "0").code)
        print(f"compile {name:16} {1e3 * seconds:8.1f} ms   {size} bytes")
    one = fresh(CHAIN)
    code = compile_kernel(one, kernel_key(one)).code
    entry = symbol(kernel_key(one))
    print(f"load a kernel           {1e6 * least(lambda: Library(code, entry), 50):8.0f} us")


def first_kernel() -> None:
    """A new process: to its first kernel and to 20, with an empty store and with a full one."""
    program = (
        "import sys, time; start = time.perf_counter()\n"
        "from benchmarks.micro.kernels import CHAIN, spec\n"
        "from fastgraph.compiler.store import kernel_service as kernels\n"
        "asked = time.perf_counter()\n"
        "handles = kernels.request([spec(CHAIN, comment=str(i)) for i in range(20)])\n"
        "handles[0].wait(); first = time.perf_counter()\n"
        "assert all(h.wait() for h in handles)\n"
        "print(first - asked, time.perf_counter() - asked, 'numba' in sys.modules)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in ("empty store", "full store", "full store"):
            environment = {**os.environ, "FASTGRAPH_STORE": os.path.join(folder, "kernels")}
            done = subprocess.run(
                [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
            )
            first, every, numba = done.stdout.split()
            times = f"first kernel {1e3 * float(first):6.0f} ms, 20 kernels {1e3 * float(every):6.0f} ms"
            print(f"{name}: {times}, Numba imported: {numba}")


def running() -> None:
    """One call on 1e3 and 1e5 numbers, warm."""
    import ctypes

    def call(address: int, x: np.ndarray, y: np.ndarray) -> Callable[[], object]:
        status, excinfo = ctypes.c_int64(0), ctypes.c_void_p()
        buffers = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
        function = PROTOTYPE(address)
        arguments = (ctypes.byref(status), ctypes.byref(excinfo), buffers, (ctypes.c_int64 * 1)(), 0, x.size)
        return lambda kept=(x, y): function(*arguments)

    def chain(x: np.ndarray) -> np.ndarray:
        return np.tanh(x) * (1 / (1 + np.exp(-x))) + np.exp(-x * x) - np.log(1 + x * x)

    cases: list[tuple[str, str, Callable[[np.ndarray], np.ndarray]]] = [("chain float32", CHAIN, chain)]
    for dtype in ("float32", "float64"):
        cases += [(f"{name} {dtype}", f"{name}_{dtype}(v)", getattr(np, name)) for name in FUNCTIONS]
    with flags.override(worker=False, store=tempfile.mkdtemp()):
        handles = kernel_service.request([spec(text, title.split()[1]) for title, text, _ in cases])
        for (title, _, reference), handle in zip(cases, handles, strict=True):
            assert handle.wait(), handle.error
            line = f"{title:16}"
            for n in (1_000, 100_000):
                x = abs(np.random.default_rng(0).standard_normal(n)).astype(title.split()[1])
                ours = least(call(handle.address, x, np.empty_like(x)), 200)
                numpys = least(lambda x=x, reference=reference: reference(x), 50)
                line += f"   {n:7}: {1e6 * ours:8.2f} us, NumPy {1e6 * numpys:8.2f} ({ours / numpys:.2f})"
            print(line)


if __name__ == "__main__":
    print(
        f"{host().cpu}, vectors of {host().vector_bits or 'LLVM-chosen'} bits; times include ctypes' call, about 1 us"
    )
    compiling()
    first_kernel()
    running()
