"""Python's containers and the names of a staged block: carried where that can be, else refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg


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
        (cut_with_a_step, ValueError, r"list 'values' is changed in an if statement"),
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
    with pytest.raises(
        fg.errors.InvalidArgumentError, match=r"loop must iterate at least once to initialize d\['last'\]"
    ):
        last(fg.constant(0))


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
