"""Loops of small kernels as one kernel: the same bits as step by step, errors and interrupts as before."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.compiler import assemble
from fastgraph.compiler.library import loop_kernels
from fastgraph.compiler.library.register_promotion import mirrored, put_in_rows
from fastgraph.compiler.program.program import WhileStep, programs
from fastgraph.core.base import flags
from fastgraph.runtime.executable import Executable


@pytest.fixture(autouse=True)
def compiled() -> Any:
    with flags.override(tier="last"):
        yield


def _loops(concrete: Any) -> list[WhileStep]:
    executable = concrete.executable
    assert isinstance(executable, Executable)
    assert executable.program is not None
    return [s for program in programs(executable.program) for s in program.steps if isinstance(s, WhileStep)]


def _run(function: Callable[..., Any], *args: Any) -> tuple[list[bytes], list[WhileStep]]:
    staged = fg.function(function)
    results = [_bits(np.asarray(each)) for each in fg.nest.flatten(staged(*args))]
    return results, _loops(staged.get_concrete_function(*args))


def _bits(x: Any) -> bytes:
    """Its bytes; a NaN's sign, which comes from the operand that happens to stand first, does not count."""
    return (np.where(x != x, np.abs(x), x) if x.dtype.kind == "f" else x).tobytes()


def _same(monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], *args: Any, bursts: int = 1) -> None:
    """As one kernel and step by step a loop gives the same bits; `bursts` loops are kernels of the first kind."""
    fused, loops = _run(function, *args)
    assert sum(step.burst_program is not None for step in loops) >= bursts
    with monkeypatch.context() as patch:
        patch.setattr(loop_kernels, "burst_program", lambda *_: None)
        plain, loops = _run(function, *args)
    assert all(step.burst_program is None for step in loops)
    assert fused == plain


def _numbers(*shape: int) -> Any:
    return fg.constant(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


def until(x: Any, limit: Any) -> Any:
    while fg.reduce_sum(x) > limit:
        x = fg.tanh(x)
    return x


def mixed(x: Any, n: Any) -> Any:
    total = fg.zeros([])
    for i in fg.range(n):
        x = fg.sin(x * 1.7 + 0.3)
        total = total + fg.reduce_sum(x * x) * 0.5 - fg.cast(i, fg.float32)
    return x, total


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 16, 17, 64, 100])
def test_vectors_and_numbers(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    _same(monkeypatch, mixed, _numbers(n), fg.constant(40))
    _same(monkeypatch, until, fg.ones([n]), fg.constant(0.25 * n))


def folded(x: Any, n: Any) -> Any:
    total, product = fg.zeros([], x.dtype), fg.ones([], x.dtype)
    for _ in fg.range(n):
        x = 0.9 * x + 0.1 * fg.sin(x + total)
        total = 0.9 * total + 0.1 * fg.reduce_sum(x * x)
        product = 0.5 + 0.1 * fg.reduce_prod(1.5 + x)
    return x, total, product, fg.reduce_sum(fg.tanh(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 8, 13, 33])
def test_sums_and_products_of_few_numbers(monkeypatch: pytest.MonkeyPatch, n: int, dtype: Any) -> None:
    """LLVM adds as many as it takes together in an order of its own: that must be the same in a longer kernel."""
    x = np.random.default_rng(n).standard_normal(n).astype(dtype) * 2
    _same(monkeypatch, folded, fg.constant(x), fg.constant(30))


def zeros(x: Any, n: Any) -> Any:
    total = fg.ones([])
    for _ in fg.range(n):
        total = fg.reduce_sum(x * 0.0)
        x = -fg.abs(x)
    return x, total


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_sum_of_negative_zeros_is_zero(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    _same(monkeypatch, zeros, -fg.ones([n]), fg.constant(5))
    assert not np.signbit(fg.function(zeros)(-fg.ones([n]), fg.constant(5))[1].numpy())


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_iterations(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    _same(monkeypatch, mixed, _numbers(4), fg.constant(n))


def test_nan_ends_what_a_comparison_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    _same(monkeypatch, until, fg.constant([np.nan, 1.0]), fg.constant(0.5))
    _same(monkeypatch, mixed, fg.constant([np.nan, 1.0, np.inf]), fg.constant(5))


def swapped(a: Any, b: Any, n: Any) -> Any:
    for _ in fg.range(n):
        a, b = b, a
        a = a + 1.0
    return a, b


def test_values_that_change_places(monkeypatch: pytest.MonkeyPatch) -> None:
    for n in (0, 1, 2, 7):
        _same(monkeypatch, swapped, fg.ones([3]), fg.zeros([3]), fg.constant(n))


def crosswise(a: Any, b: Any, n: Any) -> Any:
    for _ in fg.range(n):
        a, b = b * 2.0 - a, 0.5 * (a + b)
    return a, b


def against_itself(x: Any, n: Any) -> Any:
    for _ in fg.range(n):
        x = 0.5 * x + fg.reshape(fg.transpose(fg.reshape(x, [2, -1])), [-1]) - fg.reverse(x, [0]) * 0.1
    return x


def looked_at_later(x: Any, n: Any) -> Any:
    best = fg.zeros([])
    for i in fg.range(n):
        new = fg.tanh(x) + 0.1
        best = fg.maximum(best, fg.reduce_max(x - new)) + x[i % 3]
        x = new
    return x, best


def kept_unchanged(x: Any, n: Any) -> Any:
    before = x
    for _ in fg.range(n):
        before, x = x, x * 1.5 - before
    return before, x


def overwritten(x: Any, n: Any) -> Any:
    y = fg.zeros_like(x)
    for i in fg.range(n):
        y = x + 1.0
        if i % 2 == 0:
            x = y * 0.5
        else:
            x = fg.sin(x) - y
    return x, y


@pytest.mark.parametrize("n", [2, 4, 6, 16, 18])
@pytest.mark.parametrize("body", [against_itself, looked_at_later, kept_unchanged, overwritten])
def test_states_that_are_written_where_they_lie(monkeypatch: pytest.MonkeyPatch, body: Any, n: int) -> None:
    n = max(n, 4)
    for count in (0, 1, 2, 9):
        _same(monkeypatch, body, _numbers(n), fg.constant(count), bursts=0)


@pytest.mark.parametrize("n", [2, 4, 16, 100])
def test_two_states_made_of_both(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    for count in (0, 1, 2, 9):
        _same(monkeypatch, crosswise, _numbers(n), fg.ones([n]), fg.constant(count))


def test_a_state_is_written_where_it_lies() -> None:
    """Nothing is moved when an iteration ends, and what a few elements wait for is in registers."""
    for n, registers in ((5, True), (16, True), (17, False)):
        (loop,) = _loops(fg.function(until).get_concrete_function(fg.ones([n]), fg.constant(0.25 * n)))
        assert loop.burst_program is not None
        (step,) = loop.burst_program.steps
        source = step.kernel.source  # type: ignore[union-attr]
        assert source.count("= buffers[") == 3, source  # how many iterations were done, the state, the limit
        inside = source[source.index("for it in") :]
        assert (f"local_float32({n})" in source) == registers
        assert ("_v0 = r" in inside) == registers


def stacked(x: Any, n: Any) -> Any:
    h, rows = x, fg.TensorArray(fg.float32, size=100, element_shape=x.shape)
    total = fg.zeros([])
    for i in fg.range(n):
        new = fg.sin(h) + x
        total = total * 0.5 + fg.reduce_sum(new * h)
        h = fg.where(i % 3 == 0, new, h * 0.5 + new)
        rows = rows.write(i, new - h)
    return total, rows.stack()


def sloped(x: Any, n: Any) -> Any:
    with fg.GradientTape() as tape:
        tape.watch(x)
        total, rows = stacked(x, n)
        loss = total + fg.reduce_sum(rows * rows)
    return rows, tape.gradient(loss, x)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 4, 5, 17])
def test_rows_are_written_where_they_are_kept(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    for count in (1, 2, 9, 70):
        _same(monkeypatch, sloped, _numbers(n), fg.constant(count))


def test_a_row_is_copied_only_where_a_function_is_given_it() -> None:
    lines = ["for i in range(n):", "    a[i] = b[i]", "total = a[0] + a[n - 1]", "product(c)"]
    made, done = put_in_rows(lines, {"a": ("rows", 4), "c": ("more", 2)})
    assert done == {"a"}
    assert made == [
        "for i in range(n):", "    rows[it * 4 + i] = b[i]", "total = rows[it * 4 + 0] + rows[it * 4 + (n - 1)]",
        "product(c)",
    ]  # fmt: skip


def test_what_has_a_mirror() -> None:
    """Arrays that are read where a loop of known length is; not those that a function is given or any loop writes."""
    lines = [
        "for i in range(4):", "    a[i] = a[i] + b[i]", "    c[i] = b[i]", "    d[i] = c[i]",
        "for j in range(n):", "    total = total + a[j]", "    b[j] = 0",
        "product(d)", "e[0] = d[1]",
    ]  # fmt: skip
    made, mirrors, local = mirrored(lines, ["a", "b"], ["c", "d", "e"])
    assert (mirrors, local) == ({"a": "ra"}, {"c"})
    assert made == [
        "for i in range(4):", "    ra[i] = ra[i] + b[i]", "    a[i] = ra[i]", "    c[i] = b[i]", "    d[i] = c[i]",
        "for j in range(n):", "    total = total + a[j]", "    b[j] = 0",
        "product(d)", "e[0] = d[1]",
    ]  # fmt: skip


def cell(x: Any, w: Any) -> Any:
    h = fg.zeros([4])
    states, twice = fg.TensorArray(fg.float32, size=200), fg.TensorArray(fg.float32, size=200)
    for i in fg.range(x.shape[0]):
        h = fg.tanh(x[i] + h * w)
        states, twice = states.write(i, h), twice.write(i, 2.0 * h)
    return h, states.stack(), twice.stack()


def test_a_cell_over_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    _same(monkeypatch, cell, _numbers(200, 4), fg.constant(0.7))


def slope(x: Any, w: Any) -> Any:
    with fg.GradientTape() as outer:
        outer.watch(w)
        with fg.GradientTape() as tape:
            tape.watch(w)
            total = fg.zeros([])
            h = fg.zeros([4])
            for i in fg.range(x.shape[0]):
                h = fg.tanh(fg.gather(x, i) + h * w)
                total = total + fg.reduce_sum(h)
        first = tape.gradient(total, w)
    return first, outer.gradient(first, w)


def test_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    _same(monkeypatch, slope, _numbers(50, 4), fg.constant(0.7), bursts=2)


def halved(n: Any, x: Any) -> Any:
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in fg.range(n):
            y = y * 0.5
    return tape.gradient(y, x)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_linear_loop_keeps_nothing_for_its_gradient(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    _same(monkeypatch, halved, fg.constant(n), fg.ones([3]), bursts=2)
    staged = fg.function(halved)
    assert np.array_equal(staged(fg.constant(n), fg.ones([3])), np.full(3, 0.5**n, np.float32))
    for step in _loops(staged.get_concrete_function(fg.constant(n), fg.ones([3]))):
        rows = [step.body_program.values[k].aval for k in step.body_program.outputs[step.n_carried :]]
        assert all(aval.size == 0 for aval in rows)


def nested(n: Any, x: Any) -> Any:
    total = fg.zeros([3])
    for i in fg.range(n):
        j = fg.constant(0)
        while j < i:
            x = x * 0.9 + 0.1
            j += 1
        if i % 2 == 0:
            total = total + x
        else:
            total = total - fg.cast(i, fg.float32)
    return total


def test_loops_and_conditions_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    _same(monkeypatch, nested, fg.constant(30), fg.constant([1.0, 2.0, 3.0]), bursts=2)


def counting(n: Any, x: Any) -> Any:
    total = fg.constant(0)
    for i in fg.range(n):
        k = i
        while k < 200_000:
            k = k * 3 + 1
            total = total + k
        x = x + 1.0
    return total, x


def test_an_inner_loop_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an inner loop does may take longer than a signal may wait: the executor then goes step by step."""

    def long(n: Any, x: Any) -> Any:
        for _ in fg.range(n):
            k = fg.constant(0)
            while k < 3 * loop_kernels.MOST:
                k, x = k + 1, x * 0.999
        return x

    _same(monkeypatch, counting, fg.constant(5), fg.ones([2]))
    _same(monkeypatch, long, fg.constant(2), fg.ones([2]), bursts=2)


def powers(a: Any, x: Any, n: Any) -> Any:
    for _ in fg.range(n):
        x = fg.linalg.matvec(a, x)
        x = x / fg.norm(x)
    return x


def products(a: Any, x: Any, n: Any) -> Any:
    for _ in fg.range(n):
        x = fg.tanh(fg.matmul(x, a, transpose_b=True) + fg.matmul(a, x, transpose_a=True))
    return x


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_products(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    a, x = fg.cast(_numbers(5, 5), dtype), fg.cast(_numbers(5, 5), dtype)
    _same(monkeypatch, powers, a, x[0], fg.constant(30))
    _same(monkeypatch, products, a, x, fg.constant(30))
    batch = fg.cast(_numbers(3, 4, 4), dtype)
    _same(monkeypatch, products, batch, batch * 0.5, fg.constant(30))


def by_vectors(x: Any, w: Any, u: Any, n: Any) -> Any:
    a = x
    for _ in fg.range(n):
        a = fg.tanh(fg.linalg.matvec(w, x) + fg.linalg.matvec(u, a, transpose_a=True))
        x = fg.tanh((a[None] @ w)[0] + (a[None] @ fg.transpose(u))[0] - fg.linalg.matvec(fg.linalg.diag(a), x))
    return a, x, fg.linalg.matvec(w, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 13, 32, 33])
def test_matrices_by_vectors(monkeypatch: pytest.MonkeyPatch, n: int, dtype: Any) -> None:
    """Written out in the kernel they have the bits of the executor's products: fixed matrices, turned, and made anew."""
    rng = np.random.default_rng(n)
    x, w, u = (fg.constant((rng.standard_normal(s) / n**0.5).astype(dtype)) for s in ((n,), (n, n), (n, n)))
    _same(monkeypatch, by_vectors, x, w, u, fg.constant(20), bursts=int(n <= 32))
    if n <= 32:  # of more, BLAS has an order for turned matrices and another for others
        once = x, w, u, fg.constant(1)
        assert np.array_equal(fg.function(by_vectors)(*once)[2], by_vectors(*once)[2])


def test_a_map_and_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    x = _numbers(5000, 3)
    _same(monkeypatch, lambda x: fg.scan(lambda a, b: a * 0.5 + b, x), x)
    _same(monkeypatch, lambda x: fg.map_fn(lambda b: fg.reduce_max(b) * b, x), x)


def test_what_was_given_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    x = fg.ones([5])
    fg.function(until)(x, fg.constant(1.0))
    assert np.array_equal(x, np.ones(5))


def test_single_numbers_go_through_no_memory() -> None:
    """What an iteration waits for is in registers: memory is read before the first one and written after the last."""

    @fg.function
    def kept(x: Any, n: Any) -> Any:
        total = fg.constant(0.0)
        for _ in fg.range(n):
            x = 0.9 * x + 0.1 * fg.tanh(x + total)
            total = 0.5 * total + fg.reduce_sum(x * x)
        return x, total

    (loop,) = _loops(kept.get_concrete_function(_numbers(20), fg.constant(10)))
    assert loop.burst_program is not None
    (step,) = loop.burst_program.steps
    lines = step.kernel.source.splitlines()  # type: ignore[union-attr]
    first = next(k for k, line in enumerate(lines) if line.startswith("    for it in"))
    slots = {line.split()[0] for line in lines[:first] if "= buffers[" in line}
    vectors = {name for name in slots if not name.startswith("m")}
    inside = [line for line in lines[first:] if line.startswith("        ") and "return" not in line]
    used = {name for name in slots if any(f"{name}[" in line.replace(f"m{name}", "") for line in inside)}
    assert len(vectors) == 2 and vectors <= used
    assert any("local_float32(1)" in line for line in lines[:first])


def test_an_index_out_of_bounds_is_an_error_in_its_iteration() -> None:
    @fg.function
    def f(x: Any, n: Any) -> Any:
        h = fg.zeros([2])
        for i in fg.range(n):
            h = h + fg.gather(x, i)
        return h

    x = _numbers(6, 2)
    assert np.allclose(f(x, fg.constant(6)), np.sum(x.numpy(), 0))
    assert _loops(f.get_concrete_function(x, fg.constant(6)))[0].burst_program is not None
    with pytest.raises(fg.errors.InvalidArgumentError, match=r"= 6 is not in \[0, 6\)"):
        f(x, fg.constant(9))
    assert np.allclose(f(x, fg.constant(6)), np.sum(x.numpy(), 0))


def test_ctrl_c_ends_it() -> None:
    @fg.function
    def endless(x: Any) -> Any:
        while fg.reduce_sum(x) > -1.0:
            x = fg.tanh(x)
        return x

    assert _loops(endless.get_concrete_function(fg.TensorSpec([5])))[0].burst_program is not None
    timer = threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        endless(fg.ones([5]))
    timer.join()


def test_threads_share_one_loop() -> None:
    staged = fg.function(mixed)
    args = (_numbers(5), fg.constant(3000))
    want = [np.asarray(each).tobytes() for each in staged(*args)]
    wrong: list[Any] = []

    def call() -> None:
        for _ in range(20):
            if [np.asarray(each).tobytes() for each in staged(*args)] != want:
                wrong.append(1)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_large_states_go_step_by_step() -> None:
    _, loops = _run(mixed, _numbers(4000), fg.constant(3))
    assert loops[0].burst_program is None
    assert assemble.loop_kernels is loop_kernels
