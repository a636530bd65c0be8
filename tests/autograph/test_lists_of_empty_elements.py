"""Elements without numbers in lists whose length staged statements decide: they are elements, and have a shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg

pytestmark = pytest.mark.usefixtures("tier")


def under_if(value: Any, n: Any) -> Any:
    rows = []
    for i in fg.range(n):
        if i < 9:
            rows.append(value(i))
    return rows


def nested(value: Any, n: Any) -> Any:
    rows = []
    for i in fg.range(n):
        for _ in fg.range(1 + i % 2):
            rows.append(value(i))
    return rows


def continued(value: Any, n: Any) -> Any:
    rows = []
    for i in fg.range(n + 1):
        if i == n:
            continue
        rows.append(value(i))
    return rows


def broken(value: Any, n: Any) -> Any:
    rows = []
    for i in fg.range(n + 1):
        if i == n:
            break
        rows.append(value(i))
    return rows


def counted(value: Any, n: Any) -> Any:
    rows, i = [], 0 * n
    while i < n:
        rows.append(value(i))
        i = fg.convert_to_tensor(len(rows))
    return rows


def begun(value: Any, n: Any) -> Any:
    rows = [value(0 * n)]
    for i in fg.range(1, n):
        if i < 9:
            rows.append(value(i))
    return rows


PROGRAMS = pytest.mark.parametrize("program", [under_if, nested, continued, broken, counted, begun])


def staged(program: Callable[..., Any], value: Callable[..., Any], **options: Any) -> Any:
    @fg.function(**options)
    def run(x: Any, n: Any) -> Any:
        rows = program(lambda i: value(x, i), n)
        return rows[0], fg.concat(rows, 0), fg.stack(rows)

    return run


@PROGRAMS
@pytest.mark.parametrize("size", [1, 2, 3])
def test_an_element_of_another_shape_than_empty_ones_is_an_error(program: Any, size: int) -> None:
    values: list[Callable[[Any, Any], Any]] = [
        lambda x, i: x[: i * size],
        lambda x, i: x[: fg.maximum(i - 1, 0) * size],  # some that are empty
        lambda x, i: fg.ones([i * size, 2]),
        lambda x, i: fg.ones([2, i * size]),
    ]
    for k, value in enumerate(values):
        args = fg.ones([size]), fg.constant(3 if k == 1 else 2)
        for options in ({}, {"input_signature": [fg.TensorSpec([None]), fg.TensorSpec([], fg.int32)]}):
            run = staged(program, value, **options)
            for _ in range(2):
                with pytest.raises(fg.errors.InvalidArgumentError, match="the elements of the list 'rows' have shape"):
                    run(*args)


@PROGRAMS
def test_elements_that_become_empty_are_an_error_too(program: Any) -> None:
    run = staged(program, lambda x, i: x[i:])
    with pytest.raises(fg.errors.InvalidArgumentError):
        run(fg.ones([1]), fg.constant(2))


@PROGRAMS
@pytest.mark.parametrize("size", [0, 1, 2])
def test_elements_of_one_shape_that_is_data_are_as_in_plain_python(program: Any, size: int) -> None:
    def value(x: Any, i: Any) -> Any:
        return x[: fg.size(x) + 0 * i] * fg.cast(i, fg.float32)

    x = fg.range(1.0, size + 1.0)
    run = staged(program, value, input_signature=[fg.TensorSpec([None]), fg.TensorSpec([], fg.int32)])
    for n in (1, 2, 6):  # more than there is room for at first
        rows = program(lambda i: value(x, i), n)
        expected = rows[0], fg.concat(rows, 0), fg.stack(rows)
        for got, wanted in zip(run(x, fg.constant(n)), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)
            assert got.shape == wanted.shape


def test_the_gradient_of_elements_whose_shape_is_data() -> None:
    @fg.function(input_signature=[fg.TensorSpec([None]), fg.TensorSpec([], fg.int32)])
    def slope(x: Any, n: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.reduce_sum(fg.stack(under_if(lambda i: x[: fg.size(x) + 0 * i] * fg.cast(i, fg.float32), n)))
        return tape.gradient(y, x)

    for size in (0, 1, 2):
        np.testing.assert_array_equal(slope(fg.ones([size]), fg.constant(6)), np.full([size], 15.0, np.float32))
