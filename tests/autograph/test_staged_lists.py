"""Lists whose length staged statements decide: as lists of Python's, by every name, and what they refuse."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags

TIERS = pytest.mark.parametrize("tier", ["first", "last"])


def numbers(value: Any) -> Any:
    """Return a structure of tensors as one of numbers; a tuple is a list, for a staged list is returned as a tensor."""
    if isinstance(value, dict):
        return {key: numbers(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [numbers(each) for each in value]
    return np.asarray(value).tolist()


def filled(n: Any) -> Any:
    values = []
    for i in fg.range(n):
        values.append(i * i - 3)
    return values


def comprehended(n: Any) -> Any:
    values = filled(n)
    return [k * each for k, each in enumerate(values)], [each * 2 for each in values], [i + 1 for i in fg.range(n)]


def added_up(n: Any) -> Any:
    values = filled(n)
    return (
        sum(values), sum(each * each for each in values), fg.add_n(values), fg.math.accumulate_n(values, shape=[]),
        max(values), min(values), 1 if isinstance(values, (list, tuple)) and not isinstance(values, dict) else 2,
    )  # fmt: skip


class Box:
    def __init__(self) -> None:
        self.items: list[Any] = []

    def add(self, x: Any) -> None:
        if x > 1:
            self.items.append(x)

    def top(self) -> Any:
        return self.items[-1]

    def fill(self, n: Any) -> Any:
        for i in fg.range(n):
            self.items.append(i)
            self.add(i)
        return fg.stack(self.items)

    def start(self, n: Any) -> Any:
        self.items = []
        return self.fill(n) + len(self.items)


class Shelf:
    def __init__(self, box: Box) -> None:
        if box:
            self.box = box

    def fill(self, n: Any) -> Any:
        for i in fg.range(n):
            if i != 1:
                self.box.items.append(i)
        return self.box.top()


def by_a_class_of_its_own(n: Any) -> Any:
    class Filled(Box):
        def __init__(self, n: Any) -> None:
            super().__init__()
            for i in fg.range(n):
                self.items.append(i)

    class Module(fg.Module):
        def __init__(self) -> None:
            super().__init__()
            self.items: list[Any] = []

        def fill(self, n: Any) -> Any:
            for i in fg.range(n):
                self.items.append(i)
            return fg.stack(self.items)

    return Filled(n).items, Module().fill(n)


def by_a_method(n: Any) -> Any:
    box, other = Box(), Box()
    total = box.fill(n)
    shelf = Shelf(other)
    last = shelf.fill(n)
    return total, box.items, box.top(), Box().fill(n), Box().start(n), last, len(other.items)


def of_an_object(n: Any) -> Any:
    box, other = Box(), Box()
    for i in fg.range(n):
        box.items.append(i)
        other.add(i)
    other.add(n)
    return box.items, other.items, other.top(), len(other.items)


def the_same_twice(n: Any) -> Any:
    box = Box()
    for i in fg.range(n):
        box.items.append(i)
        box.add(i)
    return box.items


def of_objects_inside(n: Any) -> Any:
    outer = Box()
    outer.inner = Box()  # type: ignore[attr-defined]
    boxes = [Box(), outer]
    for i in fg.range(n):
        boxes[0].items.append(i)
        outer.inner.items.append(i + 1)  # type: ignore[attr-defined]
    return boxes[0].items, outer.inner.items  # type: ignore[attr-defined]


def of_a_list(n: Any) -> Any:
    lists = [[], [n]]
    for i in fg.range(n):
        lists[0].append(i)
        lists[1].append(len(lists[0]))
    return lists[0], lists[1]


def of_another_name(n: Any) -> Any:
    values = [0]
    other = values
    for i in fg.range(n):
        values.append(i)
        other.append(-i)
    third = other
    third.append(100)
    return len(other), other[0], values, other


def counted_in_an_object(n: Any) -> Any:
    box = Box()
    if n > 9:
        box.items.append(1)
    return len(box.items)


def of_vectors(n: Any) -> Any:
    values = []
    for i in fg.range(n):
        values.append(fg.ones([2, 3], fg.int32) * i)
    return (
        fg.concat(values, 0), fg.concat(values, 1), fg.concat(values, -1), fg.stack(values, 1), fg.stack(values, -1),
        fg.add_n(values), values == values, values.index(fg.ones([2, 3], fg.int32)),
    )  # fmt: skip


FUNCTIONS: list[Callable[[Any], Any]] = [
    comprehended, added_up,         of_an_object,     of_objects_inside, of_a_list, of_another_name, counted_in_an_object,
    by_a_method, the_same_twice, by_a_class_of_its_own,
    ]  # fmt: skip


@TIERS
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: str(each.__name__))
def test_as_python_has_it(function: Callable[[Any], Any], tier: str) -> None:
    with flags.override(tier=tier, worker=False):
        staged = fg.function(function)
        for n in (3, 5):
            assert numbers(staged(fg.constant(n))) == numbers(function(fg.constant(n)))
        assert staged.experimental_get_tracing_count() == 1


def test_a_with_statement_that_ends_an_exception_keeps_what_is_set_in_it() -> None:
    @fg.function
    def f(n: Any) -> Any:
        y, z = fg.constant(1), 0
        with contextlib.suppress(ValueError):
            if n > 2:
                y = fg.constant(2)
            raise ValueError("stop")
        for i in fg.range(n):
            with contextlib.suppress(ValueError):
                if i > 0:
                    z += i
                raise ValueError("stop") from None
        return y, z

    assert [numbers(f(fg.constant(n))) for n in (1, 4)] == [[1, 0], [2, 6]]

    @fg.function
    def raised(n: Any) -> Any:
        with contextlib.suppress(ValueError):
            raise KeyError("other") from RuntimeError("cause")
        return n

    with pytest.raises(KeyError, match="other") as found:
        raised(fg.constant(1))
    assert isinstance(found.value.__cause__, RuntimeError)


# ---------------------------------------------------------------------------------------------------------------------
# What is refused


def test_elements_of_known_different_shapes_are_told_with_what_to_do() -> None:
    def appended_under_if(n: Any) -> Any:
        values = [fg.zeros([1])]
        for i in fg.range(n):
            if i > 0:
                values.append(fg.ones([2]))
        return fg.concat(values, 0)

    def under_if(n: Any) -> Any:
        values = [fg.zeros([1])]
        if n > 1:
            values.append(fg.ones([2]))
        return fg.concat(values, 0)

    for function, line in ((appended_under_if, 2), (under_if, 2)):
        with pytest.raises(ValueError, match=r"list 'values' \(.*have shapes \(1,\) and \(2,\).*tf.concat") as raised:
            fg.function(function)(fg.constant(4))
        assert f"test_staged_lists.py:{function.__code__.co_firstlineno + line})" in str(raised.value)


def test_what_the_error_of_different_shapes_proposes() -> None:
    @fg.function
    def concatenated(n: Any) -> Any:
        values = fg.zeros([1])
        for _ in fg.range(n):
            fg.autograph.experimental.set_loop_options(shape_invariants=[(values, fg.TensorShape([None]))])
            values = fg.concat([values, fg.ones([2])], 0)
        return values

    @fg.function
    def written(n: Any) -> Any:
        values = fg.TensorArray(fg.float32, 0, dynamic_size=True, infer_shape=False).write(0, fg.zeros([1]))
        for i in fg.range(n):
            values = values.write(i + 1, fg.ones([2]))
        return values.concat()

    for function in (concatenated, written):
        assert numbers(function(fg.constant(2))) == [0.0, 1.0, 1.0, 1.0, 1.0]


@TIERS
def test_elements_of_different_shapes_are_told_with_the_line_that_made_them(tier: str) -> None:
    def appended(n: Any) -> Any:
        values = []
        for i in fg.range(n):
            x = fg.ones([i + 1])
            values.append(x)
        return fg.stack(values)

    def under_if(n: Any) -> Any:
        values = []
        for i in fg.range(n):
            if i > 0:
                values.append(fg.ones([i + 1]))
        return fg.stack(values)

    with flags.override(tier=tier, worker=False):
        for function, text, line in (
            (appended, "differ in shape", 3),
            (under_if, r"have shape \[2\], and one that is added has shape \[3\]", 4),
        ):
            first = function.__code__.co_firstlineno
            with pytest.raises(fg.errors.InvalidArgumentError, match=text) as raised:
                fg.function(function)(fg.constant(4))
            assert f'test_staged_lists.py", line {first + line}, in {function.__name__}' in str(raised.value)


def grown_until(n: Any) -> Any:
    values, i = [], n - n
    while len(values) < n and i < 20:
        values.append(i * 2)
        i += 1
    return values, i


@pytest.mark.parametrize("function", [grown_until])
def test_lengths_that_the_test_reads_or_that_shrink_after_growing(function: Callable[..., Any]) -> None:
    for n in (0, 1, 5):
        assert numbers(fg.function(function)(fg.constant(n))) == numbers(function(fg.constant(n)))


def same_in_both(n: Any) -> Any:
    values: list[Any] = []
    if n > 2:
        other, k = values, 1
    else:
        other, k = values, 2
    other.append(n)
    return len(values), len(other), k


def same_and_longer(n: Any) -> Any:
    values = []
    if n > 2:
        other = values
        other.append(n)
    else:
        other = values
        other.append(-n)
    return len(values), len(other), values[0]


def read_alone(n: Any) -> Any:
    one, two = [n, n], [n + 1, n]
    chosen = one if n > 2 else two
    if n > 3:
        other = one
    else:
        other = two
    return chosen[0] + other[0], list(chosen) + [n], len(other)


@pytest.mark.parametrize("function", [same_in_both, same_and_longer, read_alone])
def test_names_of_one_list_after_a_branch(function: Callable[..., Any]) -> None:
    for n in (1, 3, 4):
        assert numbers(fg.function(function)(fg.constant(n))) == numbers(function(fg.constant(n)))


@pytest.mark.slow
def test_gradients_of_lists_that_inner_loops_extend_by_elements_of_unknown_shape() -> None:
    def products(x: Any, n: Any) -> Any:
        found = []
        for i in fg.range(n):
            for j in fg.range(i):
                found.append(x[i] * x[j])
        return fg.stack(found)

    def gradient(x: Any, n: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            total = fg.reduce_sum(products(x, n))
        return tape.gradient(total, x)

    x = fg.constant(np.arange(12.0).reshape(4, 3), fg.float32)
    staged = fg.function(gradient, input_signature=[fg.TensorSpec([None, None]), fg.TensorSpec([], fg.int32)])
    rows = x.numpy()
    for _ in range(2):
        np.testing.assert_allclose(staged(x, 4), rows.sum(0) - rows)
        staged.get_concrete_function().wait(120)
