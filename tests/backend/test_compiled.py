"""Functions on compiled plans, end to end: every kind of step against eager mode, on one thread and on many."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.core.native.buffer import pool_statistics
from fastgraph.core.native.thread_pool import num_threads, set_num_threads
from fastgraph.runtime import step_costs


@pytest.fixture(autouse=True)
def _last_tier() -> Iterator[None]:
    """Each call waits for its kernels, so that what runs is the plan."""
    before = num_threads()
    with flags.override(tier="last"):
        yield
    set_num_threads(before)


def f32(*shape: int) -> Any:
    return fg.constant(np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32))


def flat(result: Any) -> list[np.ndarray]:
    parts = result if isinstance(result, (tuple, list)) else [result]
    return [np.asarray(part) for part in parts]


def mlp_gradient(x: Any, w: Any, v: Any) -> Any:
    with fg.GradientTape() as tape:
        tape.watch([w, v])
        hidden = fg.tanh(fg.matmul(x, w))
        loss = fg.reduce_mean(fg.square(fg.matmul(hidden, v)))
    return [loss, *tape.gradient(loss, [w, v])]


def doubling(x: Any) -> Any:
    """A loop whose carried value grows."""
    shapes = [fg.TensorShape([]), fg.TensorShape([None, 3])]
    return fg.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, fg.concat([y, y + 1.0], 0)),
        [fg.constant(0), x],
        shape_invariants=shapes,
    )[1]


def loop_gradient(x: Any) -> Any:
    with fg.GradientTape() as tape:
        tape.watch(x)
        _, y = fg.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, fg.tanh(y) * x), [fg.constant(0), x])
        loss = fg.reduce_sum(y)
    return tape.gradient(loss, x)


def cond_gradient(x: Any) -> Any:
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = fg.cond(fg.reduce_sum(x) > 0.0, lambda: x * x, lambda: fg.exp(x))
        loss = fg.reduce_sum(y)
    return tape.gradient(loss, x)


CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "elementwise": (lambda x, y: fg.tanh(x) * fg.sigmoid(y) + fg.exp(-x * x), [f32(4, 5), f32(4, 5)]),
    "broadcast": (lambda x, y: (x + y) * 2.0, [f32(4, 5), f32(5)]),
    "reduction": (lambda x: (fg.reduce_sum(x, 0), fg.reduce_max(x, 1), fg.reduce_mean(x)), [f32(7, 9)]),
    "large reduction": (lambda x: fg.reduce_sum(fg.exp(-x * x)), [f32(300_000)]),
    "movement": (lambda x: (fg.transpose(x)[1:], fg.reshape(x, [-1]), fg.concat([x, x], 1)), [f32(3, 4)]),
    "matmul": (lambda x, y: fg.nn.relu(fg.matmul(x, y)), [f32(50, 30), f32(30, 20)]),
    "large matmul": (lambda x, y: fg.matmul(x, y, transpose_b=True), [f32(300, 100), f32(400, 100)]),
    "batched matmul": (lambda x, y: fg.matmul(x, y), [f32(2, 3, 4, 5), f32(5, 6)]),
    "integer matmul": (lambda x: fg.matmul(x, x), [fg.constant(np.arange(16, dtype=np.int32).reshape(4, 4))]),
    "gather": (lambda x: fg.gather(x, [2, 0, 2]), [f32(3, 4)]),
    "mask": (lambda x: fg.boolean_mask(x, x > 0.0) * 2.0 + 1.0, [f32(4, 5)]),
    "mask, then a sum": (lambda x: (fg.reduce_sum(fg.boolean_mask(x, x > 0.0)), x + 1.0), [f32(4, 5)]),
    "mask of a mask": (lambda x: fg.boolean_mask(fg.boolean_mask(x, x > 0.0), fg.boolean_mask(x, x > 0.0) < 1.0), [f32(30)]),
    "cond": (lambda x: fg.cond(fg.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: x - 1.0), [f32(4)]),
    "while": (lambda x: fg.while_loop(lambda y: fg.reduce_sum(y * y) > 0.01, lambda y: y * 0.5, [x]), [f32(6)]),
    "growing loop": (doubling, [f32(2, 3)]),
    "loop's gradient": (loop_gradient, [f32(2, 3)]),
    "cond's gradient": (cond_gradient, [f32(5)]),
    "gradient": (mlp_gradient, [f32(64, 20), f32(20, 30), f32(30, 5)]),
    "shapes": (lambda x: x / fg.cast(fg.shape(x)[0] * 2, fg.float32), [f32(6, 2)]),
    "nothing": (lambda x: (x, x), [f32(3)]),
    "constant": (lambda x: (fg.constant([1.0, 2.0]), x + 1.0), [f32(2)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_eager_and_compiled_agree_on_any_number_of_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, arguments = CASES[name]
    expected = flat(function(*arguments))
    bits = set()
    for forced in (False, True):  # as the costs say, and with everything cut and parallel
        if forced:
            monkeypatch.setattr(step_costs, "WAKE_NS", -1e12)
            monkeypatch.setattr(step_costs, "SHARD_NS", 10.0)
        staged = fg.function(function)
        for threads in (1, 2, 8):
            set_num_threads(threads)
            for _ in range(2):
                got = flat(staged(*arguments))
                for a, b in zip(got, expected, strict=True):
                    assert a.dtype == b.dtype
                    np.testing.assert_allclose(a, b, rtol=3e-5, atol=1e-6)
                bits.add(tuple(a.tobytes() for a in got))
    assert len(bits) == 1


@pytest.mark.parametrize("name", ["elementwise", "mask", "growing loop", "loop's gradient", "cond", "gradient"])
def test_nothing_leaks(name: str) -> None:
    function, arguments = CASES[name]
    staged = fg.function(function)
    for _ in range(4):
        staged(*arguments)
    before = pool_statistics()["live_blocks"]
    for _ in range(20):
        staged(*arguments)
    assert pool_statistics()["live_blocks"] <= before


@pytest.mark.parametrize("rows", [0, 1, 2, 17])
def test_a_none_dimension_runs_the_same_kernels(rows: int) -> None:
    @fg.function(input_signature=[fg.TensorSpec([None, 3], fg.float32)])
    def f(x: Any) -> Any:
        return fg.reduce_sum(fg.exp(x) * 2.0, 1) + fg.cast(fg.shape(x)[0], fg.float32)

    x = f32(rows, 3)
    np.testing.assert_allclose(f(x), np.exp(np.asarray(x)).sum(1) * 2 + rows, rtol=1e-5)


def test_variables_keep_program_order() -> None:
    v = fg.Variable([1.0, 2.0])

    @fg.function
    def f(x: Any) -> Any:
        before = v + 0.0
        v.assign_add(x)
        middle = v * 1.0
        v.assign(v * 2.0)
        return before, middle, v.read_value()

    x = fg.constant([1.0, 1.0])
    assert [np.asarray(t).tolist() for t in f(x)] == [[1, 2], [2, 3], [4, 6]]
    assert [np.asarray(t).tolist() for t in f(x)] == [[4, 6], [5, 7], [10, 14]]
    assert v.numpy().tolist() == [10, 14]


def test_python_that_a_graph_calls_is_among_its_assignments() -> None:
    v, seen = fg.Variable(0), []

    @fg.function
    def f(x: Any) -> Any:
        v.assign_add(x)
        fg.py_function(lambda: seen.append(int(v)), [], [])
        v.assign_add(10)
        before = v.read_value()
        fg.numpy_function(lambda: (seen.append(int(v)), v.assign(100))[0], [], [])
        after = v.read_value()
        for _ in fg.range(2):
            v.assign_add(x)
            fg.py_function(lambda: v.assign(v * 2) and None, [], [])
        return before, after

    for _ in range(2):
        v.assign(0)
        seen.clear()
        assert [int(t) for t in f(fg.constant(1))] == [11, 100]
        assert seen == [1, 11] and int(v) == 406


def test_what_is_assigned_before_a_failing_assertion_stays_and_nothing_after_it_is() -> None:
    v, w = fg.Variable(0), fg.Variable([0.0, 0.0])

    @fg.function
    def f(x: Any) -> Any:
        v.assign_add(1)
        w.assign_add([1.0, 1.0])
        if x < 5:
            fg.debugging.assert_positive(x)
        v.assign_add(10)
        w.assign(w * 2.0)
        for i in fg.range(3):
            v.assign_add(100)
            fg.Assert(i < x, [i])
            v.assign_add(1000)
        return x

    def left(x: int) -> Any:
        v.assign(0)
        w.assign([0.0, 0.0])
        with pytest.raises(fg.errors.InvalidArgumentError):
            f(fg.constant(x))
        return int(v), w.numpy().tolist()

    f(fg.constant(7))
    assert left(-1) == (1, [1.0, 1.0])
    assert left(2) == (2311, [2.0, 2.0])


def test_what_was_read_stays_when_the_variable_is_assigned() -> None:
    v = fg.Variable(np.zeros(1000, np.float32))

    @fg.function
    def f() -> Any:
        old = v.read_value()
        v.assign_add(fg.ones([1000]))
        return old

    results = [f() for _ in range(5)]
    assert [float(np.asarray(t)[7]) for t in results] == [0, 1, 2, 3, 4]
    assert all(len(set(np.asarray(t).tolist())) == 1 for t in results)


def test_readers_see_whole_values_while_another_thread_trains() -> None:
    """A step adds 1 everywhere; a reader on another thread never sees two different elements."""
    v = fg.Variable(np.zeros(20_000, np.float32))

    @fg.function
    def step() -> Any:
        v.assign_add(fg.ones([20_000]))
        return v.read_value()[0]

    @fg.function
    def spread() -> Any:
        value = v.read_value()
        return fg.reduce_max(value) - fg.reduce_min(value)

    step(), spread()
    stop = threading.Event()
    seen: list[float] = []

    def read() -> None:
        while not stop.is_set():
            seen.append(float(spread()))

    thread = threading.Thread(target=read)
    thread.start()
    for _ in range(300):
        step()
    stop.set()
    thread.join()
    assert seen and set(seen) == {0.0}
    assert float(v[0]) == 301


def test_one_function_from_many_threads() -> None:
    function, arguments = CASES["gradient"]
    staged = fg.function(function)
    expected = [a.tobytes() for a in flat(staged(*arguments))]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(40):
            if [a.tobytes() for a in flat(staged(*arguments))] != expected:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_failing_check_names_the_line() -> None:
    f = fg.function(lambda x, i: fg.gather(x + 1.0, i) * 2.0)
    x = f32(3, 2)
    with pytest.raises(fg.errors.InvalidArgumentError, match=r"indices\[1\] = 7 is not in \[0, 3\)"):
        f(x, fg.constant([0, 7]))
    np.testing.assert_allclose(f(x, fg.constant([0, 2])), (np.asarray(x)[[0, 2]] + 1) * 2, rtol=1e-6)


INTEGERS = (fg.constant([4, 5]), fg.constant([1, 0]))
PLACES = (fg.constant([1.0, 2.0, 3.0]), fg.constant([0, 9]))


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (lambda x, i: fg.gather(x, i)[:1] + 1.0, PLACES, "9 is not in"),
        (lambda x, i: fg.math.divide_no_nan(fg.gather(x, i), x[:2] * fg.constant([1.0, 0.0])), PLACES, "9 is not in"),
        (lambda x, y: fg.transpose((x // y) * 2 + 1)[:1], INTEGERS, "division by zero"),
        (lambda x, y: fg.where(y == 0, x, x // y), INTEGERS, "division by zero"),
        (lambda x, y: fg.gather(x % y, [0]), INTEGERS, "division by zero"),
        (lambda x, y: fg.reduce_sum(fg.pow(y, -x)[1:1]), INTEGERS, "negative integer powers"),
        (
            lambda x: fg.debugging.check_numerics(fg.math.log(x), "m")[:1],
            (fg.constant([1.0, -1.0]),),
            "m : Tensor had NaN",
        ),
    ],
    ids=["slice of gather", "unused quotient", "moved on", "choice", "gather", "none of it", "numerics"],
)
def test_what_is_read_in_part_is_checked_as_a_whole(function: Any, arguments: Any, message: str) -> None:
    """As in TensorFlow and on the first tier: ops fail for elements that nobody reads."""
    for tier in ("first", "last"):
        with flags.override(tier=tier), pytest.raises(fg.errors.InvalidArgumentError, match=message):
            fg.function(function)(*arguments)


@pytest.mark.parametrize("size", [0, None], ids=["known", "unknown"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: fg.gather_nd(x, i[:, None]),
        lambda x, i: fg.scatter_nd(i[:, None], x[:1], fg.shape(x)),
        lambda x, i: x[i[0]] * 2.0,
        lambda x, i: fg.gather(x + 1.0, i)[:, :0],
    ],
    ids=["gather_nd", "scatter_nd", "index", "slice"],
)
def test_what_has_no_elements_is_checked(function: Any, size: int | None) -> None:
    """A kernel looks at an index where it computes an element: there is none of rows that are empty."""
    signature = [fg.TensorSpec([2, size], fg.float32), fg.TensorSpec([1], fg.int32)]
    for tier in ("first", "last"):
        with flags.override(tier=tier):
            f = fg.function(function, input_signature=signature)
            assert f(fg.zeros([2, 0]), fg.constant([1])).shape[-1] == 0
            with pytest.raises(fg.errors.InvalidArgumentError):
                f(fg.zeros([2, 0]), fg.constant([7]))
            if size is None:
                f(fg.zeros([2, 2]), fg.constant([1]))
                with pytest.raises(fg.errors.InvalidArgumentError):
                    f(fg.zeros([2, 0]), fg.constant([7]))


def test_one_check_for_all_elements_stores_no_row() -> None:
    """`x[i][j]` computes one element: whether i is a row is asked there as well."""
    f = fg.function(lambda x, i, j: fg.exp(x)[i][j])
    concrete = f.get_concrete_function(f32(3, 4), fg.constant(1), fg.constant(2))
    concrete.wait()
    assert len(re.findall(r"^  \d+ kernel: .* -> %\d+  ", concrete.explain(), re.MULTILINE)) == 1
    with pytest.raises(fg.errors.InvalidArgumentError, match="slice index 3 of dimension 0 out of bounds"):
        f(f32(3, 4), fg.constant(3), fg.constant(2))


def test_an_unused_failing_op_does_not_fail() -> None:
    @fg.function
    def f(x: Any, i: Any) -> Any:
        fg.gather(x, i)
        return x + 1.0

    np.testing.assert_allclose(f(fg.constant([1.0]), fg.constant([5])), [2.0])


def address(v: Any) -> int:
    return int(np.asarray(v.read_value()).ctypes.data)


def test_an_update_is_in_place_unless_somebody_holds_the_value() -> None:
    v = fg.Variable(np.zeros(1000, np.float32))

    @fg.function
    def step(x: Any) -> None:
        v.assign(v * 0.5 + x)

    x = fg.ones([1000])
    step(x)
    first = address(v)
    step(x)
    assert address(v) == first
    held = v.read_value()
    step(x)
    assert address(v) != first
    assert float(held[0]) == 1.5 and float(v[0]) == 1.75
    second = address(v)
    del held
    step(x)
    assert address(v) == second


@pytest.mark.parametrize("forced", [False, True])
def test_two_variables_in_both_orders_from_two_threads(forced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """No deadlock, no torn value: each step adds the same to every element of both Variables."""
    if forced:
        monkeypatch.setattr(step_costs, "WAKE_NS", -1e12)
        monkeypatch.setattr(step_costs, "SHARD_NS", 10.0)
    set_num_threads(4)
    n = 5000
    a, b = fg.Variable(np.zeros(n, np.float32)), fg.Variable(np.zeros(n, np.float32))

    @fg.function
    def forth() -> Any:
        a.assign_add(fg.ones([n]))
        b.assign(b + a * 0.0 + 1.0)
        return fg.reduce_max(a) - fg.reduce_min(a)

    @fg.function
    def back() -> Any:
        b.assign_add(fg.ones([n]))
        a.assign(a + b * 0.0 + 1.0)
        return fg.reduce_max(b) - fg.reduce_min(b)

    spreads: set[float] = set()

    def work(f: Callable[[], Any]) -> None:
        for _ in range(200):
            spreads.add(float(f()))

    threads = [threading.Thread(target=work, args=(f,)) for f in (forth, back, forth, back)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert spreads == {0.0}
    assert len(set(a.numpy().tolist())) == len(set(b.numpy().tolist())) == 1


def test_a_loop_updates_a_variable_in_place() -> None:
    v = fg.Variable(np.zeros(100, np.float32))

    @fg.function
    def f() -> Any:
        def body(i: Any) -> Any:
            v.assign_add(fg.ones([100]))
            return i + 1

        return fg.while_loop(lambda i: i < 10, body, [fg.constant(0)])

    f()
    f()
    first = address(v)
    f()
    assert float(v[99]) == 30
    assert address(v) == first


def test_a_read_between_update_and_assignment_sees_the_old_value() -> None:
    """Program order holds although the update is computed where the assignment will be."""
    v = fg.Variable([1.0, 2.0])
    w = fg.Variable([0.0, 0.0])

    @fg.function
    def f() -> Any:
        new = v + 1.0
        old = v.read_value() * 1.0
        w.assign(v.read_value())
        v.assign(new)
        return old, v.read_value()

    assert [np.asarray(t).tolist() for t in f()] == [[1, 2], [2, 3]]
    assert [np.asarray(t).tolist() for t in f()] == [[2, 3], [3, 4]]
    assert w.numpy().tolist() == [2, 3]


def test_sizes_that_are_data_and_do_not_fit() -> None:
    """What one mask leaves is added to what another does: right if they fit, the op's own error if not."""
    v = fg.Variable([0.0])

    @fg.function
    def f(x: Any, y: Any) -> Any:
        v.assign_add([1.0])
        return fg.boolean_mask(x, x > 0.0) + fg.boolean_mask(y, y > 0.0) * 2.0

    x = fg.constant([1.0, -1.0, 2.0])
    assert np.asarray(f(x, fg.constant([3.0, 4.0, -5.0]))).tolist() == [7, 10]
    assert np.asarray(f(x, fg.constant([3.0, -4.0, -5.0]))).tolist() == [7, 8]
    with pytest.raises(fg.errors.InvalidArgumentError, match="Incompatible shapes|required broadcastable"):
        f(x, fg.constant([3.0, 4.0, 5.0]))
    assert v.numpy().tolist() == [3]  # what came before happened once


def test_a_loop_that_grows_until_it_does_not_fit() -> None:
    @fg.function
    def f(x: Any, y: Any) -> Any:
        shapes = [fg.TensorShape([None])]
        return fg.while_loop(
            lambda a: fg.shape(a)[0] < 9, lambda a: [fg.concat([a, a + y], 0)], [x], shape_invariants=shapes
        )

    one = fg.constant([1.0])
    assert np.asarray(f(one, one)[0]).shape == (16,)
    with pytest.raises(fg.errors.InvalidArgumentError, match="Incompatible shapes|required broadcastable"):
        f(fg.constant([1.0, 2.0]), fg.constant([1.0, 2.0]))
