"""Python's containers and the names of a staged block: carried where that can be, else refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import flags


def test_a_list_that_both_branches_append_to() -> None:
    @fg.function
    def signed(x: Any) -> Any:
        values = []
        if x > 0:
            values.append(x)
        else:
            values.append(-x)
        return values[0]

    assert [int(signed(fg.constant(v))) for v in (1, -1, 5)] == [1, 1, 5]


def test_a_list_that_one_branch_appends_to_has_a_tensor_for_its_length() -> None:
    @fg.function
    def uneven(x: Any) -> Any:
        values = [x]
        if x > 0:
            values.append(1)
        return fg.stack(values), len(values), values[-1]

    assert [np.asarray(v).tolist() for v in uneven(fg.constant(3))] == [[3, 1], 2, 1]
    assert [np.asarray(v).tolist() for v in uneven(fg.constant(-3))] == [[-3], 1, -3]
    assert uneven.experimental_get_tracing_count() == 1


def test_a_dict_that_a_branch_updates() -> None:
    @fg.function
    def updated(x: Any) -> Any:
        d = {"a": x, "b": x * 10}
        if x > 0:
            d.update(a=x + 1)
        else:
            d.update(b=x - 1)
        return d["a"], d["b"]

    assert [int(v) for v in updated(fg.constant(1))] == [2, 10]
    assert [int(v) for v in updated(fg.constant(-1))] == [-1, -2]


def test_a_list_inside_a_list_and_one_that_a_called_function_changes() -> None:
    def replace(values: list[Any], x: Any) -> None:
        values[0] = x * 100

    @fg.function
    def nested(x: Any) -> Any:
        values = [[x, x], [x]]
        if x > 0:
            replace(values[1], x)
        return values[1][0]

    assert int(nested(fg.constant(2))) == 200
    assert int(nested(fg.constant(-2))) == -2


def test_a_list_of_an_outer_function_may_log() -> None:
    log: list[Any] = []

    @fg.function
    def logged(x: Any) -> Any:
        if x > 0:
            log.append("main")
        else:
            log.append("else")
        return x

    assert int(logged(fg.constant(3))) == 3
    assert log == ["main", "else"]


def test_elements_are_carried_by_a_loop() -> None:
    def swap(values: list[Any]) -> None:
        values[0], values[1] = values[1], values[0] + values[1]

    @fg.function
    def fibonacci(n: Any) -> Any:
        values = [0, 1]
        for _ in fg.range(n):
            swap(values)
        return values[0]

    assert [int(fibonacci(fg.constant(n))) for n in (0, 1, 2, 7)] == [0, 1, 1, 13]


# ---------------------------------------------------------------------------------------------------------------------
# Lists that loops append to


def test_append_in_a_staged_for() -> None:
    @fg.function
    def doubled(n: Any) -> Any:
        values = []
        for i in fg.range(n):
            values.append(i * 2)
        return fg.stack(values)

    assert np.array_equal(doubled(fg.constant(4)), [0, 2, 4, 6])
    assert doubled(fg.constant(0)).shape == [0]


def test_append_in_a_staged_while_after_elements_that_are_there() -> None:
    @fg.function
    def halves(x: Any) -> Any:
        values = [x]
        while x > 1.0:
            x = x / 2.0
            values.append(x)
        return fg.stack(values), len(values), values[-1], values[0]

    stacked, n, last, first = halves(fg.constant(8.0))
    assert np.array_equal(stacked, [8.0, 4.0, 2.0, 1.0])
    assert (int(n), float(last), float(first)) == (4, 1.0, 8.0)


def test_several_and_structured_elements_an_iteration() -> None:
    @fg.function
    def filled(n: Any) -> Any:
        pairs = []
        flat = []
        for i in fg.range(n):
            pairs.append((i, fg.ones([2]) * fg.cast(i, fg.float32)))
            flat.append(i)
            flat.append(-i)
        total = 0.0
        for k, row in pairs:
            total += fg.reduce_sum(row) * fg.cast(k, fg.float32)
        return total, fg.stack(flat)

    total, flat = filled(fg.constant(3))
    assert float(total) == 10.0
    assert np.array_equal(flat, [0, 0, 1, -1, 2, -2])


def test_pop_append_and_iterate_after_the_loop() -> None:
    @fg.function
    def popped(n: Any) -> Any:
        values = []
        for i in fg.range(n):
            values.append(i)
        last = values.pop()
        values.append(last * 100)
        total = 0
        for v in values:
            total += v
        for i, v in enumerate(values):
            total += i * v
        return last, fg.stack(values), total

    last, stacked, total = popped(fg.constant(4))
    assert int(last) == 3
    assert np.array_equal(stacked, [0, 1, 2, 300])
    assert int(total) == 303 + (1 + 4 + 900)


def test_gradients_through_appended_elements() -> None:
    @fg.function
    def powers(x: Any) -> Any:
        values = []
        y = x
        for _ in fg.range(3):
            values.append(y)
            y = y * x
        return fg.reduce_sum(fg.stack(values))

    x = fg.Variable(2.0)
    with fg.GradientTape() as tape:
        y = powers(x)
    assert float(y) == 14.0
    assert float(tape.gradient(y, x)) == 1 + 4 + 12


def test_a_list_that_some_iterations_append_to() -> None:
    @fg.function
    def even(n: Any) -> Any:
        values = []
        for i in fg.range(n):
            if i % 2 == 0:
                values.append(i)
        return fg.stack(values)

    assert even(fg.constant(5)).numpy().tolist() == [0, 2, 4]
    assert even(fg.constant(0)).numpy().tolist() == []


def test_a_list_that_a_loop_pops_from() -> None:
    @fg.function
    def emptied(n: Any) -> Any:
        values = [n, n + 1, n + 2]
        total = 0
        while n > 0:
            total = total * 10 + values.pop()
            n -= 1
        return total, len(values)

    assert [int(v) for v in emptied(fg.constant(2))] == [43, 1]
    with pytest.raises(fg.errors.InvalidArgumentError):
        emptied(fg.constant(4))


def test_the_list_is_read_in_the_loop_that_appends() -> None:
    @fg.function
    def read(n: Any) -> Any:
        values = [n]
        for _ in fg.range(n):
            values.append(values[-1] + 1)
        return fg.stack(values)

    assert read(fg.constant(3)).numpy().tolist() == [3, 4, 5, 6]


def unlike_elements(n: Any) -> Any:
    values = [n]
    for i in fg.range(n):
        if i > 1:
            values.append(fg.stack([i, i]))
    return values[0] + values[-1]


def unlike_dtypes(n: Any) -> Any:
    values = [n, n]
    for i in fg.range(n):
        if i > 1:
            values.pop()
            values.append(1.5)
    return values[0]


def text_in_a_list(n: Any) -> Any:
    names = []
    for i in fg.range(n):
        if i > 1:
            names.append(object())
    return n, names


def cut_with_a_step(n: Any) -> Any:
    values = [n, n, n]
    for i in fg.range(n):
        if i > 1:
            del values[::2]
    return values[0]


@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [
        (unlike_elements, ValueError, r"elements of the list 'values' .* have shapes \(\) and \(2,\)"),
        (unlike_dtypes, TypeError, r"'values' has dtype float32 in the main branch, but dtype int32 in the else"),
        (text_in_a_list, ValueError, "list 'names' is changed in an if statement"),
        (cut_with_a_step, NotImplementedError, r"slice with a step of the list 'values'"),
    ],
)
def test_lists_that_cannot_be_rows_are_named(function: Any, kind: Any, text: str) -> None:
    staged = fg.function(function)
    with pytest.raises(kind, match=text) as raised:
        staged(fg.constant(4))
    assert "test_state.py" in str(raised.value)


# ---------------------------------------------------------------------------------------------------------------------
# Attributes


class Counter:
    def __init__(self, start: Any) -> None:
        self.total = start
        self.steps = 0
        self.label = "counter"

    def add(self, x: Any) -> None:
        self.total = self.total + x
        self.steps = self.steps + 1


def test_attributes_that_a_method_sets_in_a_branch() -> None:
    @fg.function
    def counted(x: Any) -> Any:
        counter = Counter(x)
        if x > 0:
            counter.add(10)
        return counter.total, counter.steps

    assert [int(v) for v in counted(fg.constant(1))] == [11, 1]
    assert [int(v) for v in counted(fg.constant(-1))] == [-1, 0]


def test_attributes_that_a_method_sets_in_a_loop() -> None:
    @fg.function
    def counted(x: Any) -> Any:
        counter = Counter(x)
        for i in fg.range(x):
            counter.add(i)
        return counter.total, counter.steps

    assert [int(v) for v in counted(fg.constant(4))] == [10, 4]
    assert [int(v) for v in counted(fg.constant(0))] == [0, 0]


def test_elements_written_by_name_and_others_of_the_same_dict() -> None:
    @fg.function
    def updated(x: Any) -> Any:
        d = {"a": x, "b": x, "c": x}
        if x > 0:
            d["a"] = x + 1
            d.update(b=x + 2)
        else:
            d["a"] = x - 1
        return d["a"], d["b"], d["c"]

    assert [int(v) for v in updated(fg.constant(5))] == [6, 7, 5]
    assert [int(v) for v in updated(fg.constant(-5))] == [-6, -5, -5]


def test_a_key_that_the_loop_alone_sets() -> None:
    @fg.function
    def last(n: Any) -> Any:
        d: dict[str, Any] = {}
        for i in fg.range(n):
            d["last"] = i * 3
        return d["last"]

    assert int(last(fg.constant(3))) == 6


def test_a_name_that_is_none_where_no_path_sets_it() -> None:
    @fg.function
    def found(x: Any) -> Any:
        place = None
        for i in fg.range(5):
            if i == x:
                place = i
        return place

    assert int(found(fg.constant(3))) == 3
    with pytest.raises(fg.errors.InvalidArgumentError, match="'place' is None"):
        found(fg.constant(7))


@pytest.mark.parametrize("tier", ["first", "last"])
def test_popping_what_is_not_there_stops_the_program(tier: str) -> None:
    @fg.function
    def popped(n: Any) -> Any:
        values = [fg.constant(1), fg.constant(2)]
        while n > 0:
            n -= 1
            values.pop()
        return len(values)

    with flags.override(tier=tier, worker=False):
        assert [int(popped(fg.constant(n))) for n in (0, 1, 2)] == [2, 1, 0]
        with pytest.raises(fg.errors.InvalidArgumentError, match="pop from the list 'values'"):
            popped(fg.constant(3))


def test_lists_of_staged_loops_are_joined_by_plus() -> None:
    @fg.function
    def f(n: Any) -> Any:
        values = [0]
        for i in fg.range(n):
            values.append(i)
        joined = values + [9]
        return fg.stack(joined), fg.stack(values)

    assert [r.numpy().tolist() for r in f(fg.constant(2))] == [[0, 0, 1, 9], [0, 0, 1]]


class _Holder:
    def __init__(self) -> None:
        self.v: Any = None
        self.listed: list[Any] = [1]


@pytest.mark.parametrize("fails", [True, False])
def test_objects_hold_no_stand_ins_when_tracing_is_over(fails: bool) -> None:
    holder, nested = _Holder(), _Holder()
    nested.v = _Holder()
    count: Any = None

    @fg.function
    def f(x: Any) -> Any:
        nonlocal count
        for i in fg.range(3):
            if holder.v is None:
                holder.v = x
            if x > 1.0:
                nested.v.v = x
            if count is None:
                count = x
        if fails:
            raise KeyError("after")
        return x

    if fails:
        with pytest.raises(KeyError):
            f(fg.constant(3.0))
    else:
        f(fg.constant(3.0))
    for held in (holder.v, nested.v.v, count):
        assert held is None or isinstance(held, fg.Tensor), type(held)
    with pytest.raises(TypeError, match="out of scope"):
        holder.v + 1.0


def test_a_variable_made_in_a_staged_loop_is_kept() -> None:
    holder = _Holder()

    @fg.function
    def f(x: Any) -> Any:
        for _ in fg.range(3):
            if holder.v is None:
                holder.v = fg.Variable(1.0)
        return x

    assert f(fg.constant(3.0)).numpy() == 3.0 and isinstance(holder.v, fg.Variable)
