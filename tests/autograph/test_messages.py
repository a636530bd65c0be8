"""What is said of staged code that cannot be: the name, the two values, the line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fastgraph as fg


def branch_dtype(x: Any) -> Any:
    if x > 0:
        y = 1
    else:
        y = 2.5
    return y


def branch_structure(x: Any) -> Any:
    if x > 0:
        y = (x, x)
    else:
        y = [x]
    return y


def branch_none(x: Any) -> Any:
    y = None
    if x > 0:
        y = x
    return y


def branch_undefined(x: Any) -> Any:
    if x > 0:
        y = x
    return y


def branch_text(x: Any) -> Any:
    mode = "up"
    if x > 0:
        mode = "down"
    return x, mode


def returned_in_one(x: Any) -> Any:
    if x > 0:
        return x


def returned_in_loop(x: Any) -> Any:
    for i in fg.range(x):
        if i > 2:
            return i


def returned_dtypes(x: Any) -> Any:
    if x > 0:
        return x
    return 0.5


def vector_condition(x: Any) -> Any:
    v = fg.stack([x, x])
    if v > 0:
        return x
    return -x


def number_condition(x: Any) -> Any:
    while x:
        x -= 1
    return x


def loop_dtype(x: Any) -> Any:
    y = 0
    for i in fg.range(x):
        y = fg.cast(i, fg.float32)
    return y


def loop_shape(x: Any) -> Any:
    y = fg.zeros([1])
    for _ in fg.range(x):
        y = fg.concat([y, y], 0)
    return y


def loop_structure(x: Any) -> Any:
    y = (x,)
    for _ in fg.range(x):
        y = (x, x)
    return y


def loop_text(x: Any) -> Any:
    mode = "up"
    while x > 0:
        mode = "down"
        x -= 1
    return x, mode


def loop_none(x: Any) -> Any:
    y = x
    while x > 0:
        y = None
        x -= 1
    return y


def expression_dtypes(x: Any) -> Any:
    return x if x > 0 else 0.5


CASES: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (branch_dtype, TypeError, r"'y' has dtype int32 in the main branch, but dtype float32 in the else branch"),
    (branch_structure, TypeError, r"'y' must have the same nested structure in the main and else branches"),
    (branch_none, ValueError, r"'y' is None at the end of the else branch"),
    (branch_undefined, ValueError, r"'y' must also be initialized in the else branch"),
    (branch_text, TypeError, r"'mode' .*holds 'down' in the main branch and 'up' in the else branch"),
    (returned_in_one, ValueError, r"A value must also be returned from the else branch \(.*test_messages\.py:\d+\)"),
    (returned_in_loop, ValueError, r"A value must also be returned"),
    (returned_dtypes, TypeError, r"the return value has dtype int32 in the main branch"),
    (vector_condition, ValueError, r"condition of if statement expected to be `tf\.bool` scalar"),
    (number_condition, ValueError, r"condition of while statement expected to be `tf\.bool` scalar"),
    (loop_dtype, TypeError, r"'y' has dtype int32 before the loop, but dtype float32 after one iteration"),
    (loop_shape, ValueError, r"'y' has shape \(1,\) before the loop, but shape \(2,\) after one .*set_loop_options"),
    (loop_structure, TypeError, r"'y' must have the same nested structure before the loop and after an iteration"),
    (loop_text, TypeError, r"'mode' .*holds 'up' before and 'down' after one"),
    (loop_none, ValueError, r"'y' is a value before the loop and None at the end of an iteration"),
    (expression_dtypes, TypeError, r"conditional expression `.*x > 0.*` must have the same structure and dtypes"),
]


@pytest.mark.parametrize(("function", "kind", "text"), CASES, ids=lambda case: getattr(case, "__name__", None))
def test_the_error_names_the_symbol(function: Callable[[Any], Any], kind: type[Exception], text: str) -> None:
    staged = fg.function(function)
    with pytest.raises(kind, match=text) as raised:
        staged(fg.constant(3))
    assert "test_messages.py" in str(raised.value)
    with pytest.raises(kind):  # the next call traces afresh
        staged(fg.constant(3))
