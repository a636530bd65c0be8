"""Staged loops: where a tensor comes to decide, early ends, what the first iteration changes, options."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg

set_loop_options = fg.autograph.experimental.set_loop_options


def ops_of(concrete: Any) -> list[str]:
    return [node.op.name for node in concrete.graph]


# ---------------------------------------------------------------------------------------------------------------------
# Plain against staged


def doubled_past(x: Any) -> Any:
    n = 0
    while True:
        n += 1
        x = x * 2
        if x > 100:
            break
    return n * 1000 + x


def grown_while_flag(x: Any) -> Any:
    going = True
    while going:
        x = x * 2
        going = x < 50
    return x


def python_test_tensor_break(x: Any) -> Any:
    i = 0
    while i < 5:
        i += 1
        x = x * 2
        if x > 10:
            break
    return x * 10 + i


def returned_from_while(x: Any) -> Any:
    while True:
        x = x + 1
        if x > 10:
            return x


def returned_from_nested(x: Any) -> Any:
    for _ in fg.range(10):
        if x > 20:
            return x
        for j in fg.range(3):
            if j == 2 and x > 15:
                return x * 100
            x = x + j
    return -x


def returned_from_either_loop(x: Any) -> Any:
    for i in fg.range(4):
        if x == i:
            return i * 10
    for i in fg.range(4, 9):
        if x == i:
            return i * 100
    return x - 1


def python_for_break(x: Any) -> Any:
    total = fg.constant(0)
    for _ in range(10):
        total = total + x
        if total > 5:
            break
    return total


def python_for_return(x: Any) -> Any:
    for i in [1, 2, 3]:
        if x == i:
            return x * 10
    return x


def python_for_continue_and_break(x: Any) -> Any:
    total = x * 0
    for i in range(6):
        if x > i:
            continue
        total += i
        if total > 7:
            break
    return total * 10 + i


def python_for_in_staged_for(x: Any) -> Any:
    found = x * 0
    for i in fg.range(x):
        for j in (1, 2, 3):
            if i * j > 3:
                found += i * j
                break
    return found


def greatest_from_none(x: Any) -> Any:
    best = None
    for i in fg.range(x):
        value = (i * 7) % 5 - 10
        if best is None:
            best = value
        elif value > best:
            best = value
    return best


def none_in_while(x: Any) -> Any:
    last = None
    while x > 0:
        last = x if last is None else last + x
        x -= 2
    return last


def defined_in_one_round(x: Any) -> Any:
    for i in fg.range(6):
        if i == x:
            found = i * 5
    return found


def used_after_nested(x: Any) -> Any:
    for i in fg.range(x):
        for j in fg.range(i + 1):
            last = i * 10 + j
    return last


def odd_steps(x: Any) -> Any:
    total = 0
    for i in range(20, x, -3):
        if i % 2 == 0:
            continue
        total += i
    return total


CASES = [
    *((doubled_past, v) for v in (1, 60, 200)),
    *((grown_while_flag, v) for v in (1, 30, 70)),
    *((python_test_tensor_break, v) for v in (0, 1, 4, 40)),
    *((returned_from_while, v) for v in (1, 10, 50)),
    *((returned_from_nested, v) for v in (1, 14, 50, -40)),
    *((returned_from_either_loop, v) for v in (-1, 0, 3, 4, 8, 9)),
    *((python_for_break, v) for v in (0, 1, 2, 100)),
    *((python_for_return, v) for v in (1, 2, 3, 9)),
    *((python_for_continue_and_break, v) for v in (-1, 2, 4, 9)),
    *((python_for_in_staged_for, v) for v in (0, 1, 3, 6)),
    *((greatest_from_none, v) for v in (1, 2, 6)),
    *((none_in_while, v) for v in (1, 2, 7)),
    *((defined_in_one_round, v) for v in (0, 3, 5)),
    *((used_after_nested, v) for v in (1, 4)),
    *((odd_steps, v) for v in (0, 7, 30)),
]


@pytest.mark.parametrize(("function", "value"), CASES)
def test_staged_equals_plain(function: Callable[[Any], Any], value: int) -> None:
    plain = np.asarray(function(fg.constant(value)))
    staged = fg.function(function)
    assert np.array_equal(staged(fg.constant(value)), plain)


@pytest.mark.parametrize(
    ("function", "value"),
    [(greatest_from_none, 0), (none_in_while, 0), (defined_in_one_round, 9), (used_after_nested, 0)],
)
def test_a_name_that_no_iteration_has_set_stops_the_graph(function: Callable[[Any], Any], value: int) -> None:
    with pytest.raises(fg.errors.InvalidArgumentError, match=r"at least once to initialize|before it is assigned"):
        fg.function(function)(fg.constant(value))


def test_the_error_of_zero_iterations_names_the_name_and_the_loop() -> None:
    @fg.function
    def last(n: Any) -> Any:
        for i in fg.range(n):
            y = i * 2
        return y

    assert int(last(fg.constant(4))) == 6
    with pytest.raises(fg.errors.InvalidArgumentError, match=r"at least once to initialize y .*test_loops\.py:\d+"):
        last(fg.constant(0))


def test_a_loop_that_runs_for_sure_checks_nothing() -> None:
    @fg.function
    def last(x: Any) -> Any:
        for i in fg.range(3):
            y = x * i
        return y

    concrete = last.get_concrete_function(fg.constant(2))
    assert int(concrete(fg.constant(2))) == 4
    assert "assert" not in ops_of(concrete)


def test_a_name_that_is_not_read_after_no_iteration_stops_nothing() -> None:
    @fg.function
    def unread(n: Any) -> Any:
        total = 0
        for i in fg.range(n):
            y = i * 2
            total += y
        if total > 0:
            return y
        return total

    assert int(unread(fg.constant(3))) == 4
    assert int(unread(fg.constant(0))) == 0


def test_the_body_is_in_the_graph_once() -> None:
    traced = []

    @fg.function
    def summed(n: Any) -> Any:
        total = 0
        for i in fg.range(n):
            traced.append(1)
            total += i
        return total

    assert int(summed(fg.constant(5))) == 10
    assert len(traced) == 1


# ---------------------------------------------------------------------------------------------------------------------
# Loops of effects, what is iterated


def test_a_loop_of_effects_alone() -> None:
    v = fg.Variable(3.0)

    @fg.function
    def raised_to(x: Any) -> Any:
        while v < x:
            v.assign_add(2.0)
        return v.read_value()

    assert float(raised_to(fg.constant(10.0))) == 11.0
    assert float(raised_to(fg.constant(1.0))) == 11.0


def test_a_loop_whose_test_has_the_effect() -> None:
    v = fg.Variable(0)

    @fg.function
    def counted() -> Any:
        while v.assign_add(1) < 5:
            pass
        return v.read_value()

    assert int(counted()) == 5


def test_a_variable_is_iterated_and_decides() -> None:
    v = fg.Variable([1, 2, 3])
    flag = fg.Variable(True)

    @fg.function
    def summed(x: Any) -> Any:
        for i in v:
            x += i
        if flag:
            x = x * 10
        return x if not flag else -x

    assert int(summed(fg.constant(1))) == -70
    flag.assign(False)
    assert int(summed(fg.constant(1))) == 7


def test_a_variable_stays_one_after_a_conditional() -> None:
    v = fg.Variable(1)

    @fg.function
    def added(x: Any) -> Any:
        w = v
        if x > 0:
            w = v
            y = x
        else:
            y = -x
        w.assign_add(y)
        return w.read_value()

    assert int(added(fg.constant(-4))) == 5


def test_rows_are_unpacked() -> None:
    @fg.function
    def products(x: Any) -> Any:
        total = 0
        for a, (b, c) in x:
            total += a * b[0] + c[1]
        return total

    rows = fg.reshape(fg.range(12), [3, 2, 2])
    plain = 0

    @fg.function
    def pairs(x: Any) -> Any:
        total = 0
        for a, b in x:
            total += a * b
        return total

    for a, b in np.arange(6).reshape(3, 2):
        plain += a * b
    assert int(pairs(fg.reshape(fg.range(6), [3, 2]))) == plain
    with pytest.raises((TypeError, ValueError)):
        products(rows[:, :, 0])


def test_unpacking_rows_of_unknown_width_says_so() -> None:
    @fg.function(input_signature=[fg.TensorSpec([None, None])])
    def pairs(x: Any) -> Any:
        total = 0.0
        for a, b in x:
            total += a * b
        return total

    with pytest.raises(ValueError, match="cannot unpack 2 names"):
        pairs(fg.ones([2, 2]))


def test_composites_are_state_of_conditionals_and_loops() -> None:
    @fg.function
    def grown(r: Any, x: Any) -> Any:
        if x > 0:
            r = r * 2
        while x > 0:
            r = r + 1
            x -= 1
        return r

    ragged = fg.ragged.constant([[1], [2, 3]])
    assert grown(ragged, fg.constant(2)).to_list() == [[4], [6, 8]]
    assert grown(ragged, fg.constant(-1)).to_list() == [[1], [2, 3]]


# ---------------------------------------------------------------------------------------------------------------------
# Gradients


def powers(x: Any) -> Any:
    n = 0.0
    while True:
        x = x * x
        n += 1.0
        if x > 10.0:
            return x * n


def first_large(x: Any) -> Any:
    y = x
    for k in range(1, 5):
        y = y * k
        if y > 4.0:
            break
    return y


def peeled(x: Any) -> Any:
    total = None
    for i in fg.range(4):
        term = x * fg.cast(i + 1, fg.float32)
        total = term if total is None else total * term
    return total


@pytest.mark.parametrize("function", [powers, first_large, peeled])
@pytest.mark.parametrize("value", [1.5, 2.5, 7.0])
def test_gradients(function: Callable[[Any], Any], value: float) -> None:
    def gradient(f: Callable[[Any], Any]) -> Any:
        x = fg.constant(value)
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    np.testing.assert_allclose(gradient(fg.function(function)), gradient(function), rtol=1e-5)


# ---------------------------------------------------------------------------------------------------------------------
# Loops that Python unrolls


def test_a_long_unrolled_loop_warns_once_with_its_line() -> None:
    @fg.function
    def long(x: Any) -> Any:
        for i in range(400):
            x = x * 2 + i
        return x

    with pytest.warns(UserWarning, match=r"Large unrolled loop.*test_loops\.py:\d+.*tf\.range") as found:
        long.get_concrete_function(fg.constant(1.0))
    assert len([w for w in found if "unrolled" in str(w.message)]) == 1
    assert found[0].filename == __file__


def test_a_long_unrolled_while_warns_and_short_loops_do_not() -> None:
    @fg.function
    def long(x: Any) -> Any:
        i = 0
        while i < 400:
            x = x * 2 + i
            i += 1
        return x

    @fg.function
    def short(x: Any) -> Any:
        for i in range(200):
            x = x * 2 + i
        return x

    with pytest.warns(UserWarning, match="Large unrolled loop"):
        long.get_concrete_function(fg.constant(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        short.get_concrete_function(fg.constant(1.0))


# ---------------------------------------------------------------------------------------------------------------------
# What says itself how a loop over it is staged


class Countdown:
    """An iterable whose elements, of lengths 3, 2 and 1, a graph takes one by one."""

    def __init__(self) -> None:
        self.left = fg.Variable(3)

    def __fg_staged_for__(self) -> Any:
        def get_next() -> Any:
            return fg.range(self.left.assign_sub(1) + 1)

        return lambda: self.left > 0, get_next


def test_an_iterable_with_a_staged_loop_of_its_own() -> None:
    countdown = Countdown()

    @fg.function
    def summed(first: Any) -> Any:
        last = first
        total = 0
        for element in countdown:
            last = element
            total += fg.reduce_sum(element)
            if total > 3:
                break
        return total, last

    total, last = summed(fg.constant([7, 7]))
    assert (int(total), last.numpy().tolist()) == (4, [0, 1])
    assert int(countdown.left) == 1


def test_a_staged_loop_puts_no_node_in_the_graph_twice() -> None:
    @fg.function
    def summed(n: Any) -> Any:
        total = 0
        for i in fg.range(n):
            total += i
        return total

    concrete = summed.get_concrete_function(fg.constant(3))
    (loop,) = [node for node in concrete.graph if node.op.name == "while"]
    assert ops_of(concrete).count("while") == 1
    assert [node.op.name for node in loop.attrs["cond_graph"]].count("less") == 1
    assert [node.op.name for node in loop.attrs["body_graph"] if node.op.name == "const"] == ["const"]


@pytest.mark.parametrize(("start", "step"), [(0, 1), (2, 1), (0, 3), (9, -2)])
def test_what_a_body_does_over_a_range_is_named_as_in_tensorflow(start: int, step: int) -> None:
    @fg.function
    def grown(x: Any) -> Any:
        for _ in fg.range(start, start + 2 * step, step):
            x = x + fg.ones([4])
        return x

    with pytest.raises(ValueError, match=re.escape("'{{node while/add}} = AddV2[T=DT_FLOAT](while/Placeholder_1")):
        grown(fg.ones([3]))
    assert grown(fg.ones([4])).numpy().tolist() == [3.0] * 4


def test_an_exception_in_a_staged_loop_leaves_lists_as_they_were() -> None:
    values: list[Any] = [1]
    failing = True

    @fg.function
    def filled(n: Any) -> Any:
        own = [n]
        for i in fg.range(n):
            own.append(i)
            if failing:
                raise KeyError("no")
        return fg.stack(own), len(values)

    with pytest.raises(KeyError):
        filled(fg.constant(2))
    failing = False
    stacked, n = filled(fg.constant(2))
    assert np.array_equal(stacked, [2, 0, 1])
    assert int(n) == 1
    assert values == [1]


def of_another_length(x: Any, k: Any) -> Any:
    if k > 3:
        return fg.zeros([2])
    while k > 0:
        if k == 2:
            return x[:k]
        k -= 1
    return x


def test_what_is_returned_from_a_loop_may_have_any_length() -> None:
    """No shape invariant can be given for it: it has no name."""
    staged = fg.function(of_another_length, input_signature=[fg.TensorSpec([None]), fg.TensorSpec([], fg.int32)])
    for k in (0, 1, 2, 3, 5):
        x = fg.constant([1.0, 2.0, 3.0])
        assert staged(x, k).numpy().tolist() == of_another_length(x, k).numpy().tolist()


def test_the_target_of_a_range_without_iterations_is_where_the_range_starts() -> None:
    @fg.function
    def last(first: Any, limit: Any, step: Any) -> Any:
        total = 0
        for i in fg.range(first, limit, step):
            total += i
        return i, total

    @fg.function
    def last_row(rows: Any) -> Any:
        for row in rows:
            pass
        return row

    def of(*limits: int) -> tuple[int, ...]:
        return tuple(int(value) for value in last(*map(fg.constant, limits)))

    assert of(12, 10, 1) == (12, 0)
    assert of(2, 5, 1) == (4, 9)
    assert of(1, 5, -1) == (1, 0)
    assert of(5, 1, -2) == (3, 8)
    with pytest.raises(fg.errors.InvalidArgumentError, match="must iterate at least once to initialize row"):
        last_row(fg.constant([], fg.int32))
