"""Elements of lists whose length a tensor decides, set by an index that is no constant in a branch or loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg


def staged(n: Any, x: Any, range: Any) -> Any:
    values = [x[0], n]
    for i in range(n):
        values.append(i)
    return values


def in_a_branch(n: Any, x: Any, range: Any) -> Any:
    values = staged(n, x, range)
    if n > 1:
        values[n] = 50
    return values


def in_a_branch_of_a_loop(n: Any, x: Any, range: Any) -> Any:
    values = staged(n, x, range)
    for i in range(n):
        if i > 0:
            values[i] = 50
    return values


def until_one_is_found(n: Any, x: Any, range: Any) -> Any:
    values = staged(n, x, range)
    for i, each in enumerate(values):
        if each == 1:
            break
        values[i] = each + 1
    return values


def returned_when_found(n: Any, x: Any, range: Any) -> Any:
    def found(values: Any) -> Any:
        for i, each in enumerate(values):
            if each == 2:
                return i
            values[i] = each + 1
        return -1

    values = staged(n, x, range)
    return found(values), values


def sorted_in_place(n: Any, x: Any, range: Any) -> Any:
    values = staged(n, x, range)
    for i in range(len(values)):
        for k in range(len(values) - 1 - i):
            if values[k] < values[k + 1]:
                values[k], values[k + 1] = values[k + 1], values[k]
    return values


def by_two_names(n: Any, x: Any, range: Any) -> Any:
    values = [x[0], n]
    table = {"k": values}
    for i in range(n):
        values.append(i)
    if n > 1:
        table["k"][n] = 50
    else:
        values[n] += 7
    return values, table["k"]


def in_a_list(n: Any, x: Any, range: Any) -> Any:
    rows = [[x[0], n]]
    for i in range(n):
        rows[0].append(i)
    if n > 1:
        rows[0][n] = 50
    return rows[0]


def numbers(value: Any) -> Any:
    return [numbers(each) for each in value] if isinstance(value, (tuple, list)) else np.asarray(value).tolist()


@pytest.mark.parametrize("f", [
    in_a_branch, in_a_branch_of_a_loop, until_one_is_found, returned_when_found, sorted_in_place, by_two_names,
    in_a_list,
])  # fmt: skip
def test_as_python_has_it(f: Callable[..., Any]) -> None:
    made = fg.function(f)
    for n in (0, 1, 2, 4):
        assert numbers(made(fg.constant(n), fg.constant([3, 11]), fg.range)) == numbers(f(n, [3, 11], range)), n
