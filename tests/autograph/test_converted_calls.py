"""What is converted where converted code calls it: constructors, properties, operators, callbacks."""

from __future__ import annotations

import functools
import gc
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.staging import autograph


class Sized:
    """Each of its functions decides by a tensor."""

    def __init__(self, value: Any) -> None:
        if value > 0:
            self.value = value
        else:
            self.value = -value

    @property
    def capped(self) -> Any:
        if self.value > 3:
            return self.value * 0 + 3
        return self.value

    @functools.cached_property
    def once(self) -> Any:
        return self.value if self.value > 2 else self.value * 10

    def __add__(self, other: Any) -> Any:
        if self.value > other:
            return self.value - other
        return self.value + other

    def __rmul__(self, other: Any) -> Any:
        return other if self.value > 4 else other * self.value

    def __lt__(self, other: Any) -> Any:
        return self.value < other if other > 0 else self.value > other

    def __neg__(self) -> Any:
        return self.value if self.value > 7 else -self.value

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.value * index.stop
        return self.value if self.value > index else self.value * 0 + index


class Refuses:
    def __add__(self, other: Any) -> Any:
        if isinstance(other, int):
            return other + 1 if other > 3 else other
        return NotImplemented

    def __radd__(self, other: Any) -> Any:
        return other * 2 if other > 0 else other


class Made:
    def __new__(cls, value: Any) -> Any:
        made = super().__new__(cls)
        made.value = value if value > 0 else value * 100
        return made


class Inheriting(Sized):
    def __init__(self, value: Any) -> None:
        super().__init__(value - 1)
        if self.value > 5:
            self.value = self.value * 2


def constructed(x: Any) -> Any:
    return Sized(x).value


def constructed_by_new(x: Any) -> Any:
    return Made(x).value


def constructed_by_inheritance(x: Any) -> Any:
    return Inheriting(x).value


def by_property(x: Any) -> Any:
    return Sized(x).capped + 1


def by_cached_property(x: Any) -> Any:
    made = Sized(x)
    first = made.once
    return first + made.once


def given(made: Any) -> Any:
    return made.capped


def by_property_of_an_argument(x: Any) -> Any:
    return given(Sized(x))


def by_operators(x: Any) -> Any:
    made = Sized(x)
    return made + 2, 3 * made, -made, made[2], made[1:3]


def by_comparison(x: Any) -> Any:
    return x if Sized(x) < 3 else x * 0


def by_augmented_assignment(x: Any) -> Any:
    total: Any = Sized(x)
    total += 2
    return total


def by_reflection(x: Any) -> Any:
    return x + Refuses()


def positive(x: Any) -> Any:
    if x > 0:
        return x
    return -x


class Owner:
    factor = 3

    def scaled(self, x: Any) -> Any:
        return x * self.factor if x > 2 else x


def by_map(x: Any) -> Any:
    return sum(map(positive, [x, x + 3, x - 9]))


def by_reduce(x: Any) -> Any:
    return functools.reduce(lambda a, b: a if a > b else b, [x, x + 2, x * x])


def larger(a: Any, b: Any) -> Any:
    return a if a > b else b


def by_reduce_of_a_name(x: Any) -> Any:
    return functools.reduce(larger, [x, x + 2, x * x])


def by_accumulate(x: Any) -> Any:
    return list(itertools.accumulate([x, x + 2, x * x], larger))[-1]


def by_map_fn(x: Any) -> Any:
    return fg.map_fn(positive, fg.stack([x, -x]))


def by_map_fn_of_a_method(x: Any) -> Any:
    return fg.map_fn(Owner().scaled, fg.stack([x, -x, x * 2]))


def by_map_fn_of_a_partial(x: Any) -> Any:
    return fg.map_fn(functools.partial(larger, 1), fg.stack([x, -x, x * 2]))


def by_foldl(x: Any) -> Any:
    return fg.foldl(larger, fg.stack([x, -x, x * 2]))


def by_scan(x: Any) -> Any:
    return fg.scan(larger, fg.stack([x, -x, x * 2]))


def by_cond(x: Any) -> Any:
    return fg.cond(x > 1, functools.partial(positive, x), lambda: positive(x) * 2)


def by_case(x: Any) -> Any:
    def first() -> Any:
        return positive(x) * 3

    return fg.case([(x > 3, first), (x < 0, functools.partial(positive, x))], default=lambda: x)


def by_map_structure(x: Any) -> Any:
    return fg.nest.map_structure(positive, {"a": x, "b": [x - 1]})["b"][0]


CASES: list[Callable[..., Any]] = [
    constructed, constructed_by_new, constructed_by_inheritance, by_property, by_cached_property,
    by_property_of_an_argument, by_operators, by_comparison, by_augmented_assignment, by_reflection, by_map, by_reduce,
    by_reduce_of_a_name, by_accumulate, by_map_fn, by_map_fn_of_a_method, by_map_fn_of_a_partial, by_foldl, by_scan,
    by_cond, by_case, by_map_structure,
]  # fmt: skip


@pytest.mark.parametrize("value", [-9, -1, 2, 5, 8])
@pytest.mark.parametrize("function", CASES)
@pytest.mark.filterwarnings("error")
def test_staged_equals_plain(function: Callable[..., Any], value: int) -> None:
    plain = function(fg.constant(value))
    staged = fg.function(function)(fg.constant(value))
    fg.nest.map_structure(lambda a, b: np.testing.assert_array_equal(np.asarray(a), np.asarray(b)), plain, staged)


def mapped(x: Any) -> Any:
    return fg.map_fn(fg.abs, x)


class Plain:
    def __init__(self, x: Any) -> None:
        self.x = x

    @property
    def doubled(self) -> Any:
        return fg.add(self.x, self.x)


def with_plain_class(x: Any) -> Any:
    return fg.add(Plain(x).x, Plain(x).doubled)


@pytest.mark.parametrize("function", [mapped, with_plain_class])
def test_what_decides_nothing_is_left_alone(function: Any) -> None:
    assert not autograph.needs_conversion(function)


def test_a_wrong_operand_is_told_as_python_does() -> None:
    @fg.function
    def wrong(x: Any) -> Any:
        return Refuses() + "a", x if x > 0 else -x

    with pytest.raises(TypeError, match="unsupported operand"):
        wrong(fg.constant(1))


def test_a_class_is_still_a_class() -> None:
    @fg.function
    def classes(x: Any) -> Any:
        made = Inheriting(x)
        seen.append((type(made), isinstance(made, Sized), issubclass(Inheriting, Sized)))
        return made.value

    seen: list[Any] = []
    classes(fg.constant(3))
    assert seen == [(Inheriting, True, True)]


def test_classes_that_were_converted_are_freed() -> None:
    def made() -> weakref.ref[type]:
        class Temporary(Sized):
            @property
            def again(self) -> Any:
                return super().capped if self.value > 1 else self.value

        @fg.function
        def using(x: Any) -> Any:
            return Temporary(x).again

        assert int(using(fg.constant(5))) == 3
        return weakref.ref(Temporary)

    reference = made()
    gc.collect()
    assert reference() is None


class Choosing(type):
    """Its classes are made only of what is above 0, of what is below of the number turned round."""

    def __call__(cls, value: Any) -> Any:
        if value > 0:
            made = value
        else:
            made = -value
        instance = cls.__new__(cls)
        instance.value = made
        return instance


class Chosen(metaclass=Choosing):
    value: Any


def test_a_call_that_a_metaclass_defines() -> None:
    @fg.function
    def made(x: Any) -> Any:
        return Chosen(x).value

    assert made(fg.constant(-2)).numpy() == 2
    assert made(fg.constant(3)).numpy() == 3
