"""Statements that AutoGraph rewrites first: plain Python against staged."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.staging import autograph


def while_else(x: Any) -> Any:
    while x < 10:
        x += 3
        if x == 8:
            break
    else:
        x = x * 100
    return x


def while_else_without_break(x: Any) -> Any:
    while x < 10:
        x += 3
    else:
        x = x * 100
    return x


def for_else(n: Any) -> Any:
    found = 0
    for i in fg.range(n):
        if i == 5:
            found = i * 10
            break
    else:
        found = found - 1
    return found


def for_else_over_python(x: Any) -> Any:
    for i in (1, 2, 3):
        if i == 7:
            break
    else:
        if x > 0:
            x = -x
    return x


def break_in_an_inner_else(x: Any) -> Any:
    while x < 100:
        while x % 7 != 0:
            x += 1
        else:
            if x > 50:
                break
        x = x * 2
    else:
        x = x - 1000
    return x


def match_of_a_tensor(x: Any) -> Any:
    match x:
        case 1 | 2:
            y = x * 10
        case 3 if x > 5:
            y = x * 0
        case _:
            y = -x
    return y


def match_of_python(x: Any, mode: Any) -> Any:
    match mode:
        case "a":
            if x > 0:
                y = x
            else:
                y = -x
        case (1, (2, inner)) as whole:
            y = x + inner + len(whole)
        case [first, *_, last] if first < last:
            y = x + first + last
        case [] | [_]:
            y = x * 3
        case {"scale": scale, **rest}:
            y = x * scale + len(rest)
        case int(n) | float(n):
            y = x * int(n)
        case Point(a, y=b):
            y = x * a + b
        case None:
            y = x
        case _:
            y = x * 0
    return y


@dataclasses.dataclass
class Point:
    x: int
    y: int


def chained_comparison(x: Any) -> Any:
    return -5 < x < 3 <= 4


def contained(x: Any) -> Any:
    return x in [1, 2, 3]


def not_contained(x: Any) -> Any:
    y = x * 2 if x not in (1, 2) else x
    return y


def contained_in_a_tensor(x: Any) -> Any:
    values = fg.stack([x, x + 1, x * 5])
    return 10 in values


def contained_in_python(x: Any) -> Any:
    return x + (1 if "a" in {"a": 2} and 3 not in range(3) else 2)


def conditionals_in_each_other(x: Any) -> Any:
    return x * 2 if x > 5 else x * 3 if x > 2 else -x if (x if x > 0 else -x) > 1 else x


def asserted(x: Any) -> Any:
    assert x > -100, f"too small: {x}"
    assert isinstance(x, object)
    return x + 1


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((function, (v,)) for function in (while_else, while_else_without_break) for v in (1, 2, 5, 30)),
    *((for_else, (v,)) for v in (0, 3, 6, 9)),
    *((for_else_over_python, (v,)) for v in (-1, 1)),
    *((break_in_an_inner_else, (v,)) for v in (1, 7, 40, 99, 120)),
    *((match_of_a_tensor, (v,)) for v in (1, 2, 3, 9)),
    *(
        (match_of_python, (v, mode))
        for v in (-2, 3)
        for mode in ("a", "b", [1, 2, 3], [3, 2], [], [4], {"scale": 4, "z": 0}, 7, 2.0, Point(3, 4), None, (1, (2, 9)))
    ),
    *((chained_comparison, (v,)) for v in (-9, 0, 3)),
    *((contained, (v,)) for v in (0, 2)),
    *((not_contained, (v,)) for v in (1, 5)),
    *((contained_in_a_tensor, (v,)) for v in (2, 3, 9)),
    *((contained_in_python, (v,)) for v in (2, 3)),
    *((conditionals_in_each_other, (v,)) for v in (-3, 0, 1, 2, 4, 9)),
    *((asserted, (v,)) for v in (1, -4)),
]


@pytest.mark.parametrize(("function", "values"), CASES)
@pytest.mark.filterwarnings("error")
def test_staged_equals_plain(function: Callable[..., Any], values: tuple[Any, ...]) -> None:
    x, *others = values
    plain = function(fg.constant(x), *others)
    staged = fg.function(function)(fg.constant(x), *others)
    assert np.array_equal(np.asarray(staged), np.asarray(plain))


@pytest.mark.parametrize("function", [chained_comparison, contained, asserted, match_of_a_tensor])
def test_what_stands_alone_needs_conversion(function: Any) -> None:
    assert autograph.needs_conversion(function)


def test_an_assertion_of_a_tensor_fails_when_the_graph_runs() -> None:
    staged = fg.function(asserted)
    with pytest.raises(fg.errors.InvalidArgumentError, match="too small"):
        staged(fg.constant(-200))


def test_an_assertion_without_a_message_tells_its_test() -> None:
    @fg.function
    def positive(x: Any) -> Any:
        assert x > 0
        return x

    assert int(positive(fg.constant(1))) == 1
    with pytest.raises(fg.errors.InvalidArgumentError, match="assert x > 0"):
        positive(fg.constant(-1))


def test_a_python_assertion_stays_one() -> None:
    @fg.function
    def checked(x: Any, n: int) -> Any:
        assert n > 0, "n"
        return x if x > 0 else -x

    with pytest.raises(AssertionError, match="n"):
        checked(fg.constant(1), 0)


def test_a_handler_gets_what_cannot_be_staged() -> None:
    """As in TensorFlow: what cannot be staged is an error of the `try` that it stands in."""

    def undefined(x: Any) -> Any:
        try:
            if x > 0:
                y = x
        except ValueError:
            y = x * 1000
        return y

    def of_two_types(x: Any) -> Any:
        try:
            if x > 0:
                y = x
            else:
                y = "s"
        except TypeError:
            y = x * 1000
        return y

    def growing(x: Any) -> Any:
        y = fg.zeros([1], fg.int32)
        try:
            while fg.reduce_sum(y) < x:
                y = fg.concat([y, [1]], 0)
        except ValueError:
            y = x * 1000
        return y

    for each in (undefined, of_two_types, growing):
        assert int(fg.function(each)(fg.constant(1))) == 1000


def test_a_handler_gets_the_errors_of_the_program() -> None:
    @fg.function
    def handled(x: Any, values: Any) -> Any:
        try:
            for value in values:
                x = x + value
            if x > 0:
                x = fg.matmul(x, x)
        except TypeError:
            x = x - 1
        except ValueError:
            x = x - 2
        return x

    assert int(handled(fg.constant(1), None)) == 0
    assert int(handled(fg.constant(1), (1,))) == 0


def test_a_handler_gets_what_a_symbolic_tensor_does_not_have() -> None:
    @fg.function
    def with_fallback(x: Any) -> Any:
        y = x
        if x > 0:
            try:
                y = x.numpy() * 2
            except AttributeError:
                y = x * 3
        return y

    assert int(with_fallback(fg.constant(2))) == 6


def test_what_stands_within_a_chain_of_comparisons_is_evaluated_once() -> None:
    seen: list[int] = []

    def at(place: int, value: Any) -> Any:
        seen.append(place)
        return value

    def chain(x: Any) -> Any:
        return at(0, x) < at(1, 2) <= at(2, 2) != at(3, 5) > at(4, 4) < x + 10

    def part(x: Any) -> Any:
        return 0 <= at(0, x) < 10

    def names(x: Any) -> Any:
        y = x + 1
        return x < y < at(0, y + 1) < 100 < at(1, 200)

    def new(f: Callable[[Any], Any], x: Any) -> tuple[bool, list[int]]:
        seen.clear()
        return bool(f(x)), list(seen)

    for f in (chain, part, names):
        for value in (1, 3, 30, -1):
            assert new(fg.function(f), value) == new(f, value)
            result, places = new(fg.function(f), fg.constant(value))
            assert result == f(value) and len(places) == len(set(places))


def test_what_a_comprehension_runs_over_is_evaluated_outside_of_it() -> None:
    @fg.function
    def same_names(x: Any) -> Any:
        xs = [1, 2, 3]
        xs = [xs * 2 for xs in xs]
        rows = [[x, x + 1], [x + 2]]
        flat = [rows for rows in rows for rows in rows]
        total = sum(rows for rows in flat if rows > 1)
        xs = [xs + x for xs in [xs for xs in xs]]
        return xs, flat, total, [x for x in fg.stack(flat)]

    xs, flat, total, rows = same_names(fg.constant(1))
    assert [int(each) for each in xs] == [3, 5, 7]
    assert [int(each) for each in flat] == [int(each) for each in rows] == [1, 2, 3]
    assert int(total) == 5
