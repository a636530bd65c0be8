"""Lists that a staged statement changes, in containers whose elements it changes as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg


def reversed_or_appended(n: Any, x: Any) -> Any:
    a, b = [x[0]], [x[1]]
    rows = [[a], [b]]
    if n > 0:
        rows.reverse()
    else:
        a.append(5)
    return rows[0][0], rows[1][0], a, b


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


def reversed_and_appended(n: Any, x: Any) -> Any:
    a, b = [x[0]], [x[1]]
    rows = [[a], [b]]
    if n > 0:
        rows.reverse()
        a.append(n)
    return rows[0][0], rows[1][0]


def appended_and_another_list_of_both(n: Any, x: Any) -> Any:
    a, b = [x[0]], [x[1]]
    rows = [a, b]

    def swap() -> None:
        nonlocal rows
        rows = [rows[1], rows[0]]

    if n > 0:
        a.append(n)
        swap()
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
    reversed_or_appended, reversed_or_set, set_and_reversed, reversed_and_appended, appended_and_another_list_of_both,
    in_a_dict,
])  # fmt: skip
def test_as_python_has_it(f: Callable[..., Any]) -> None:
    def flat(value: Any) -> Any:
        return [flat(each) for each in value] if isinstance(value, (list, tuple)) else np.asarray(value).tolist()

    staged = fg.function(f)
    for n in (0, 1, 3):
        assert flat(staged(fg.constant(n), fg.constant([3, 11]))) == flat(f(n, [3, 11])), n
