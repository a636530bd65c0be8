"""Measure the figures that the README quotes, each beside NumPy where NumPy has it.

    python benchmarks/figures.py [--json OUT]

Every figure is the minimum over several runs of the median of many calls, in microseconds unless its row says
otherwise: on a shared machine the minimum is the least disturbed. First calls run in processes of their own, cold with
an empty kernel store and warm with the store that the cold one left.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent

FIRST_CALL = """
import json, sys, time
started = time.perf_counter()
import fastgraph as fg
imported = time.perf_counter()
random = fg.random.normal((64, 784)), fg.random.uniform((64,), maxval=10, dtype=fg.int32)
weights = [fg.Variable(fg.random.normal(shape) * 0.05) for shape in ((784, 256), (256, 128), (128, 10))]
optimizer = fg.keras.optimizers.Adam()
loss_of = fg.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

@fg.function
def step(x, labels):
    with fg.GradientTape() as tape:
        h = fg.nn.relu(fg.nn.relu(x @ weights[0]) @ weights[1])
        loss = loss_of(labels, h @ weights[2])
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss

begin = time.perf_counter()
step(*random).numpy()
first = time.perf_counter()
concrete = step.get_concrete_function(*random)
while not concrete.is_compiled and time.perf_counter() - first < 60:
    step(*random).numpy()
full = time.perf_counter()
print(json.dumps({"import": imported - started, "first": first - begin, "full": full - begin,
                  "numba": "numba" in sys.modules}))
"""

IMPORT = """
import json, os, sys, time
started = time.perf_counter()
import fastgraph
if os.environ.get("FIRST_OP"):  # what the import leaves for later, NumPy among it
    fastgraph.constant([1.0]) + 1.0
seconds = time.perf_counter() - started
status = open("/proc/self/status").read() if sys.platform == "linux" else "VmRSS: 0 kB"
resident = int(status.split("VmRSS:")[1].split()[0]) / 1024
print(json.dumps({"ms": 1e3 * seconds, "mb": resident}))
"""


def microseconds(call: Callable[[], Any], n: int = 2000, runs: int = 7) -> float:
    """Return the minimum over `runs` of the median time of a call, in blocks of `n / 20` calls."""
    block = max(1, n // 20)
    call()
    medians = []
    for _ in range(runs):
        times = []
        for _ in range(20):
            started = time.perf_counter()
            for _ in range(block):
                call()
            times.append((time.perf_counter() - started) / block)
        medians.append(statistics.median(times))
    return 1e6 * min(medians)


def in_process(source: str, **environment: str) -> dict[str, float]:
    """Run `source` in a process of its own, with byte code kept, and return the JSON object it prints."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | environment
    done = subprocess.run([sys.executable, "-c", source], env=env, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure() -> list[tuple[str, float, float | None, str]]:
    """Return rows (what, fastgraph's figure, NumPy's or None, unit)."""
    import fastgraph as fg

    rows: list[tuple[str, float, float | None, str]] = []
    for what, first_op in (("import fastgraph", ""), ("import fastgraph and a first op", "1")):
        imports = [in_process(IMPORT, FIRST_OP=first_op) for _ in range(7)]
        rows.append((what, min(row["ms"] for row in imports), None, "ms"))
        rows.append((f"resident after {what}", min(row["mb"] for row in imports), None, "MB"))

    one, ten = fg.constant(1.5), fg.constant(np.arange(10, dtype=np.float32))
    np_one, np_ten = np.float32(1.5), np.arange(10, dtype=np.float32)
    np_zero_d = np.array(1.5, np.float32)
    rows.append(("a + b, scalars", microseconds(lambda: one + one), microseconds(lambda: np_zero_d + np_one), "us"))
    rows.append(("a + b, 10 floats", microseconds(lambda: ten + ten), microseconds(lambda: np_ten + np_ten), "us"))
    rows.append(("the same, recorded on a tape", recorded(fg, ten), None, "us"))

    def one_gradient() -> Any:
        with fg.GradientTape() as tape:
            tape.watch(ten)
            y = ten * ten
        return tape.gradient(y, ten)

    rows.append(("one op and its gradient by a tape", microseconds(one_gradient, 400), None, "us"))

    fused = fg.function(lambda a, b, c: a * b + c)
    settle(fused, ten, ten, ten)
    numpy_fused = microseconds(lambda: np_ten * np_ten + np_ten)
    rows.append(("call of a traced a*b+c, 10 floats", microseconds(lambda: fused(ten, ten, ten)), numpy_fused, "us"))
    rows.append(loop_iteration(fg))

    with tempfile.TemporaryDirectory() as store:
        in_process(FIRST_CALL, FASTGRAPH_STORE=store)  # byte code of whatever modules it needs
    with tempfile.TemporaryDirectory() as store:
        cold = in_process(FIRST_CALL, FASTGRAPH_STORE=store)
        warm = in_process(FIRST_CALL, FASTGRAPH_STORE=store)
    rows.append(("first call of an MLP step, cold: first result", 1e3 * cold["first"], None, "ms"))
    rows.append(("first call of an MLP step, cold: full speed", 1e3 * cold["full"], None, "ms"))
    rows.append(("first call of an MLP step, warm store: full speed", 1e3 * warm["full"], None, "ms"))
    rows.append(("Numba imported with a warm store (0: no)", float(warm["numba"]), None, ""))
    rows += demo_step(fg)
    return rows


def recorded(fg: Any, x: Any) -> float:
    """Return the time of one recorded addition: tapes of 200 records each, so that no tape grows large."""

    def record() -> None:
        with fg.GradientTape() as tape:
            tape.watch(x)
            for _ in range(200):
                x + x

    return microseconds(record, 100) / 200


def settle(function: Any, *args: Any) -> None:
    """Call `function` until its kernels are there."""
    concrete = function.get_concrete_function(*args)
    for _ in range(600):
        function(*args)
        if concrete.is_compiled:
            if concrete.host_steps:
                raise RuntimeError(
                    f"{concrete.name.decode()} has {concrete.host_steps} host steps: it would measure Python"
                )
            return
        time.sleep(0.05)
    raise RuntimeError("the kernels did not come within 30 s")


def loop_iteration(fg: Any) -> tuple[str, float, None, str]:
    """Return the row of one while_loop iteration: i += 1, x = tanh(x) on 5 floats."""

    @fg.function
    def loop(n: Any, x: Any) -> Any:
        return fg.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, fg.tanh(x)), (fg.constant(0), x))[1]

    x = fg.constant(np.linspace(-1, 1, 5, dtype=np.float32))
    few, many = fg.constant(100), fg.constant(10_100)
    settle(loop, few, x)
    cost = microseconds(lambda: loop(many, x), 20) - microseconds(lambda: loop(few, x), 20)
    return ("iteration of while_loop, tanh on 5 floats", cost / 10_000, None, "us")


def demo_step(fg: Any) -> list[tuple[str, float, float | None, str]]:
    """Return the rows of the demo's compiled step."""
    sys.path.insert(0, str(HERE.parent / "examples"))
    import digits

    model = digits.TwoLayers()
    plain = digits.make_step(model, fg.keras.optimizers.Adam(2e-3))
    eager = digits.make_step(digits.TwoLayers(), fg.keras.optimizers.Adam(2e-3))
    step = fg.function(plain)
    images = fg.constant(np.random.default_rng(0).random((32, 64), np.float32))
    labels = fg.constant(np.arange(32, dtype=np.int32) % 10)
    settle(step, images, labels)
    concrete = step.get_concrete_function(images, labels)
    kinds = [each.kind for each in concrete.steps()]
    return [
        ("demo's step, eager", microseconds(lambda: eager(images, labels), 100), None, "us"),
        ("demo's step, compiled", microseconds(lambda: step(images, labels), 400), None, "us"),
        ("demo's step: kernels", kinds.count("kernel"), None, ""),
        ("demo's step: products", kinds.count("gemm"), None, ""),
        ("demo's step: host steps", concrete.host_steps, None, ""),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the rows there as well")
    options = parser.parse_args()
    rows = measure()
    print("| figure | fastgraph | NumPy | |\n|---|---|---|---|")
    for what, ours, numpys, unit in rows:
        print(f"| {what} | {ours:.3g} | {'' if numpys is None else f'{numpys:.3g}'} | {unit} |")
    if options.json:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
        options.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
