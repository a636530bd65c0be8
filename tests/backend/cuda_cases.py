"""Functions on a GPU, or on Numba's simulator of one: what test_cuda.py runs in a process of its own."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest

import fastgraph as fg
from fastgraph.compiler.cuda import target
from fastgraph.compiler.cuda.device_program import DeviceProgram, Transfer
from fastgraph.compiler.cuda.emit import CudaKernel
from fastgraph.compiler.program.program import KernelStep
from fastgraph.runtime.executable import compile_graph

X, Y = np.random.default_rng(5).normal(size=(2, 5, 6)).astype("float32")
W = np.random.default_rng(6).normal(size=(6, 3)).astype("float32")
D = np.random.default_rng(7).normal(size=(2, 3, 4))
IDS = np.array([3, 0, 4, 4], "int32")

CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "chain": (lambda x: fg.tanh(x) * fg.sigmoid(x) + fg.exp(-x * x) - fg.math.log(1 + x * x), (X,)),
    "broadcast": (lambda x, y: x[:, :1] * y + x[0] - y[:, 2:3], (X, Y)),
    "select and cast": (lambda x: fg.where(x > 0, fg.cast(x * 10, "int32"), -7), (X,)),
    "integers": (lambda i: (i * 3 + 1) // 2 - i % 4, (IDS,)),
    "truth": (lambda x: fg.logical_and(x > 0, fg.logical_not(x > 1)), (X,)),
    "double": (lambda x: fg.sin(x) / (1.0 + fg.square(x)), (D,)),
    "transpose": (lambda x: fg.transpose(x) * 2.0, (X,)),
    "softmax": (lambda x: fg.nn.softmax(x), (X,)),
    "row statistics": (lambda x: (x - fg.reduce_mean(x, 1, keepdims=True)) / fg.math.reduce_std(x, 1, keepdims=True), (X,)),
    "column statistics": (lambda x: fg.reduce_max(x, 0) - fg.reduce_min(x, 0), (X,)),
    "sum of all": (lambda x: fg.reduce_sum(x * x), (X,)),
    "places": (lambda x: (fg.argmax(x, 1), fg.argmin(x, 0)), (np.round(X),)),
    "any and all": (lambda x: (fg.reduce_any(x > 1, 1), fg.reduce_all(x > -1, 1)), (X,)),
    "product": (lambda x, w: fg.nn.relu(x @ w + 1.0), (X, W)),
    "transposed products": (lambda x, y: (fg.matmul(x, y, transpose_b=True), fg.matmul(x, y, transpose_a=True)), (X, Y)),
    "batched product": (lambda d: fg.matmul(d, fg.transpose(d, [0, 2, 1])), (D,)),
    "gather": (lambda x, i: fg.gather(x, i) * 2.0, (X, IDS)),
    "empty": (lambda x: (fg.reduce_sum(x[:0] * 2.0), x[:, :0] + 1.0), (X,)),
    "on the host": (lambda x: fg.sort(x * 2.0, axis=1) + 1.0, (X,)),
    "branches": (lambda x: fg.cond(fg.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: fg.exp(x)) + 1.0, (X,)),
    "nothing to compute": (lambda x: fg.reshape(x, [-1]), (X,)),
    "NaN": (lambda x: (fg.reduce_max(x, 1), fg.maximum(x, 0.0)), (np.where(X > 1, np.float32("nan"), X),)),
}  # fmt: skip


def ptx(spec: CudaKernel, capability: tuple[int, int] = (8, 0)) -> str:
    """PTX that NVVM makes of a kernel for GPUs of a compute capability; Numba says so if CUDA's toolkit is missing."""
    types = numba.types
    arrays = [types.Array(getattr(types, name), 1, "C") for name in ("int64", *spec.buffer_types)]
    signature = (arrays[0], types.int64, *arrays[1:], *[types.int64] * spec.n_sizes)
    from numba.cuda import dispatcher

    # For the device functions that a kernel calls, Numba asks the driver what GPU is there; none need be.
    asks: Any = dispatcher
    asked = asks.get_current_device
    asks.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    try:
        text, _ = target.cuda.compile_ptx(target.python_function(spec), signature, cc=capability)
    finally:
        asks.get_current_device = asked
    return str(text)


def compiles() -> bool:
    """Return whether PTX can be made here: NVVM, a part of CUDA's toolkit, is found."""
    if target.SIMULATED:
        return False
    from numba.cuda.cudadrv import nvvm
    from numba.cuda.cudadrv.error import NvvmSupportError

    library: Any = nvvm
    try:
        library.NVVM()
    except NvvmSupportError:
        return False
    return True


runs = pytest.mark.skipif(not target.runs(), reason="there is no GPU")


def device_program(function: Any, *arrays: np.ndarray) -> DeviceProgram:
    concrete = fg.function(function, autograph=False).get_concrete_function(*map(fg.constant, arrays))
    return DeviceProgram(compile_graph(concrete.graph.ir))


def on_device(function: Any, *arrays: np.ndarray) -> tuple[list[np.ndarray], DeviceProgram]:
    program = device_program(function, *arrays)
    return [np.asarray(r) for r in program(*map(fg.constant, arrays), *captured(program))], program


def captured(program: DeviceProgram) -> list[Any]:
    return [held() if isinstance(held, weakref.ref) else held for held, _ in program.program.graph.captures]


@runs
@pytest.mark.parametrize("name", CASES)
def test_the_device_gives_what_the_host_gives(name: str) -> None:
    function, arrays = CASES[name]
    found, _ = on_device(function, *arrays)
    wanted = [np.asarray(r) for r in fg.nest.flatten(function(*map(fg.constant, arrays)))]
    assert [r.shape for r in found] == [r.shape for r in wanted]
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.astype("float64"), b.astype("float64"), rtol=2e-6, atol=2e-6)


@pytest.mark.skipif(not compiles(), reason="there is no NVVM to compile with")
@pytest.mark.parametrize("name", CASES)
def test_kernels_compile_to_ptx(name: str) -> None:
    function, arrays = CASES[name]
    for step in device_program(function, *arrays).program.steps:
        if isinstance(step, KernelStep):
            text = ptx(step.kernel)
            assert ".visible .entry" in text and ".target sm_80" in text
            assert "cvt.f64.f32" not in text or "sum" in step.kernel.source or "float64" in step.kernel.source, text


def test_kernels_and_transfers_are_steps() -> None:
    program = device_program(lambda x, w: fg.nn.softmax(x @ w + 1.0), X, np.tile(W, 4))
    text = program.explain()
    assert text.splitlines()[0] == "copy %0 to the device"
    assert sum(isinstance(step, Transfer) for step in program.steps) == 3 == text.count("copy %")
    assert "gemm: " in text and "shared" not in text and "block_max_float32" in text


@runs
def test_a_failing_index_is_the_hosts_error() -> None:
    with pytest.raises(fg.errors.InvalidArgumentError, match=r"indices\[1\] = 9 is not in \[0, 5\)"):
        on_device(lambda x, i: fg.gather(x * 2.0, i) + 1.0, X, np.array([0, 9, 1], "int32"))


def linear_step() -> tuple[Callable[..., Any], list[Any]]:
    """A step of gradient descent on a linear model, and its Variables."""
    w, b = fg.Variable(np.zeros((6, 3), "float32")), fg.Variable(np.zeros(3, "float32"))

    def step(x: Any, y: Any) -> Any:
        with fg.GradientTape() as tape:
            loss = fg.reduce_mean(fg.square(x @ w + b - y))
        for variable, gradient in zip((w, b), tape.gradient(loss, (w, b)), strict=True):
            variable.assign_sub(0.1 * gradient)
        return loss

    return step, [w, b]


@runs
def test_a_linear_model_learns_as_on_the_host() -> None:
    target = (X @ W + 0.5).astype("float32")
    losses: list[list[float]] = []
    learned: list[list[np.ndarray]] = []
    for device in (False, True):
        step, variables = linear_step()
        staged = fg.function(step)
        if device:
            concrete = staged.get_concrete_function(fg.constant(X), fg.constant(target))
            program = DeviceProgram(compile_graph(concrete.graph.ir))
            held = captured(program)
            run = lambda x, y, program=program, held=held: program(x, y, *held)[0]
            assert not any(type(s).__name__ == "HostStep" for s in program.steps)
        else:
            run = staged
        losses.append([float(run(fg.constant(X), fg.constant(target))) for _ in range(5)])
        learned.append([v.numpy() for v in variables])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    for a, b in zip(*learned, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    assert losses[1][-1] < losses[1][0]


@runs
def test_a_step_of_two_replicas_is_a_program_of_one_device() -> None:
    strategy = fg.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    given = strategy.experimental_distribute_values_from_function(
        lambda context: fg.constant(X + float(context.replica_id_in_sync_group))
    )
    found = []
    for device in (False, True):
        with strategy.scope():
            w, optimizer = fg.Variable(W), fg.keras.optimizers.SGD(0.1)
            optimizer.build([w])

        def replica(x: Any, w: Any = w, optimizer: Any = optimizer) -> Any:
            with fg.GradientTape() as tape:
                loss = fg.reduce_mean(fg.square(x @ w))
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            return loss

        staged = fg.function(lambda replica=replica: strategy.reduce("SUM", strategy.run(replica, (given,)), axis=None))
        run: Any = staged
        if device:
            program = DeviceProgram(compile_graph(staged.get_concrete_function().graph.ir))
            held = captured(program)
            run = lambda program=program, held=held: program(*held)[0]
        losses = [float(run()) for _ in range(4)]
        copies = [copy.numpy() for copy in w.values]
        np.testing.assert_array_equal(*copies)
        found.append((losses, copies[0]))
    assert found[1][0][-1] < found[1][0][0]
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
