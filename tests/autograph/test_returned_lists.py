"""Lists that a function returns from the loop that appends to them, or after it, as another path has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg


def within_the_loop(n: Any, range: Any) -> Any:
    found: Any = []
    for i in range(n):
        found.append(i)
        if i > 2:
            return found
    return found


def under_conditions(n: Any, range: Any) -> Any:
    found: Any = []
    for i in range(n):
        if i % 2 == 0:
            continue
        found.append(i)
        if i > 2:
            return found, len(found)
    found.append(n)
    return found, 7


def of_two_loops(n: Any, range: Any) -> Any:
    found: Any = []
    for i in range(n):
        for j in range(i):
            found.append(i * j)
            if i + j > 3:
                return found
    return found


def numbers(value: Any) -> Any:
    return [numbers(each) for each in value] if isinstance(value, (tuple, list)) else np.asarray(value).tolist()


@pytest.mark.parametrize("f", [
    within_the_loop, under_conditions, of_two_loops,
])  # fmt: skip
def test_as_python_has_it(f: Callable[..., Any]) -> None:
    staged = fg.function(f)
    for n in (0, 1, 2, 3, 4, 6):
        assert numbers(staged(fg.constant(n), fg.range)) == numbers(f(n, range)), n
