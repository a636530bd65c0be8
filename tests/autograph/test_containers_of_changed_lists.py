"""Lists that a staged statement changes, in containers whose elements it changes as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg


def flat(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: flat(each) for key, each in value.items()}
    return [flat(each) for each in value] if isinstance(value, (list, tuple)) else np.asarray(value).tolist()


def reversed_or_set(n: Any, x: Any) -> Any:
    a, b = [x[0]], [x[1]]
    rows = [a, b]
    if n > 0:
        rows.reverse()
    else:
        a[0] = n
    return rows[0], rows[1]


def set_and_reversed(n: Any, x: Any) -> Any:
    a, b = [x[0]], [x[1]]
    rows = [a, b]
    if n > 0:
        a[0] = n
        rows.reverse()
    return rows[0], rows[1]


def in_a_dict(n: Any, x: Any) -> Any:
    a, b = [x[0]], [x[1]]
    table = {"a": a, "b": b}

    def swap(values: Any) -> None:
        values.update(a=values["b"], b=values["a"])

    if n > 0:
        a[0] = n
        swap(table)
    return table["a"], table["b"]


@pytest.mark.parametrize("f", [
    reversed_or_set, set_and_reversed,     in_a_dict,
])  # fmt: skip
def test_as_python_has_it(f: Callable[..., Any]) -> None:
    staged = fg.function(f)
    for n in (0, 1, 3):
        assert flat(staged(fg.constant(n), fg.constant([3, 11]))) == flat(f(n, [3, 11])), n


# ---------------------------------------------------------------------------------------------------------------------
# Lists that one branch alone has made


def returned_from_branches_in_a_loop(n: Any, x: Any) -> Any:
    for i in fg.range(n):
        if n > 0:
            if n > 1:
                return [i + 1, i + 2]
        else:
            x = x + x
    return [n + 5, n]


def returned_dict(n: Any, x: Any) -> Any:
    for i in fg.range(n):
        if n > 0:
            if n > 1:
                return {"a": i + 1, "b": [i]}
    return {"a": n, "b": [x[0]]}


def set_in_branches_in_a_loop(n: Any, x: Any) -> Any:
    for i in fg.range(n):
        if n > 0:
            if n > 1:
                rows = [[i + 1], [x[0]]]
    if n > 1:
        n = n + rows[0][0] + rows[1][0]
    return n


@pytest.mark.parametrize("f", [
    returned_from_branches_in_a_loop, returned_dict, set_in_branches_in_a_loop,
])  # fmt: skip
def test_lists_that_one_branch_alone_has_made(f: Callable[..., Any]) -> None:
    staged = fg.function(f)
    for n in (0, 1, 3):
        assert flat(staged(fg.constant(n), fg.constant([3, 11]))) == flat(f(n, [3, 11])), n


# ---------------------------------------------------------------------------------------------------------------------
# Elements of elements of a list that a branch or loop assigns


def set_under_two_conditions(n: Any, x: Any) -> Any:
    rows = [[[x[0]]]]
    if n > 2:
        rows = rows[::-1]
    else:
        if n > 0:
            rows[0][0] = [x[1] + n]
            rows = rows[::-1]
    return rows[0][0], 1


def numbers_set(n: Any, x: Any) -> Any:
    rows = [[x[0]], [x[1]]]
    if n > 0:
        rows[0][0] = x[1] + n
        rows = rows[::-1]
    return rows[0][0], rows[1][0]


def keys_set(n: Any, x: Any) -> Any:
    rows = [{"k": x[0]}, {"k": x[1]}]
    if n > 0:
        rows[0]["k"] = x[1] + n
        rows = rows[::-1]
    return rows[0]["k"], rows[1]["k"]


class Holder:
    def __init__(self, values: Any) -> None:
        self.values = values


def attributes_set(n: Any, x: Any) -> Any:
    one = Holder(x[0])
    rows = [one, one]
    if n > 0:
        rows[0].values = x[1] + n
        rows = rows[::-1]
    return one.values, rows[1].values


def dict_set_and_assigned(n: Any, x: Any) -> Any:
    g = {"k": x[0]}
    h = g
    if n == 1:
        g["k"] += x[1]
        g = {"k": 5}
    return g["k"], h["k"]


def dict_assigned_or_set(n: Any, x: Any) -> Any:
    g = {"k": x[0]}
    h = g
    if n == 1:
        g["k"] = x[1]
        g = {"k": 5}
    else:
        g["k"] = 70
    return g["k"], h["k"]


def dict_set_before_a_return(n: Any, x: Any) -> Any:
    g = {"k": x[0]}
    if n == 1:
        g["k"] += x[1]
        g = {"k": 5}
        return g["k"], x[0]
    return g["k"], x[1]


def dict_with_new_keys(n: Any, x: Any) -> Any:
    g: Any = {}
    if n > 1:
        g = {"l": 2}
        g["k"] = 1
    else:
        g = {"k": x[1]}
        g["l"] = n
    return g["k"], g["l"]


def list_in_a_tuple_set_and_assigned(n: Any, x: Any) -> Any:
    pair = ([x[0]], {"k": x[0]})
    one, two = pair
    if n == 1:
        pair[0][0] = x[1]
        pair[1]["k"] = n
        pair = ([5], {"k": 7})
    return pair[0][0], one[0], pair[1]["k"], two["k"]


@pytest.mark.parametrize("f", [
    list_in_a_tuple_set_and_assigned, dict_set_and_assigned, dict_assigned_or_set, dict_set_before_a_return, dict_with_new_keys, set_under_two_conditions, numbers_set, keys_set, attributes_set,
])  # fmt: skip
def test_elements_of_what_is_assigned_too(f: Callable[..., Any]) -> None:
    staged = fg.function(f)
    for n in (0, 1, 3):
        assert flat(staged(fg.constant(n), fg.constant([3, 11]))) == flat(f(n, [3, 11])), n
