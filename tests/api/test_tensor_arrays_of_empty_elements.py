"""Elements without numbers in TensorArrays that grow in staged loops: they have a shape, which all others have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import flags


@pytest.fixture(autouse=True, params=["first", "last"])
def tier(request: Any) -> Any:
    with flags.override(tier=request.param):
        yield request.param


def grown(value: Any, n: Any, first: Any = None) -> Any:
    array = fg.TensorArray(fg.float32, 0, dynamic_size=True)
    if first is not None:
        array = array.write(0, first)
    for i in fg.range(0 if first is None else 1, n):
        array = array.write(i, value(i))
    return array.stack()


def grown_under_if(value: Any, n: Any, first: Any = None) -> Any:
    array = fg.TensorArray(fg.float32, 0, dynamic_size=True)
    if first is not None:
        array = array.write(0, first)
    for i in fg.range(0 if first is None else 1, n):
        if i < 9:
            array = array.write(i, value(i))
    return array.stack()


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("program", [grown, grown_under_if])
def test_an_element_of_another_shape_than_empty_ones_is_an_error(program: Any, begun: bool, size: int) -> None:
    @fg.function
    def parts(x: Any, n: Any) -> Any:
        return program(lambda i: x[: size * i], n, x[: 0 * n] if begun else None)

    for _ in range(2):
        with pytest.raises(fg.errors.InvalidArgumentError, match="incompatible shape.*infer_shape=False"):
            parts(fg.ones([size]), fg.constant(2))


@pytest.mark.parametrize("size", [0, 1, 2])
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("program", [grown, grown_under_if])
def test_elements_of_one_shape_that_is_data(program: Any, begun: bool, size: int) -> None:
    @fg.function(input_signature=[fg.TensorSpec([None]), fg.TensorSpec([], fg.int32)])
    def rows(x: Any, n: Any) -> Any:
        return program(lambda i: x * fg.cast(i, fg.float32), n, 0 * x if begun else None)

    for n in (1, 2, 6):
        expected = np.arange(float(n))[:, None] * np.ones([1, size])
        got = rows(fg.ones([size]), fg.constant(n))
        assert got.shape == (n, size)
        np.testing.assert_array_equal(got, expected)


def test_entries_that_nobody_has_written_have_the_shape_of_what_is_written() -> None:
    @fg.function(input_signature=[fg.TensorSpec([None]), fg.TensorSpec([], fg.int32)])
    def some(x: Any, n: Any) -> Any:
        array = fg.TensorArray(fg.float32, 3, dynamic_size=True)
        last = fg.TensorArray(fg.float32, 0, dynamic_size=True)
        for i in fg.range(n, n + 2):
            array = array.write(i, x)
            last = last.write(i, x)
        return array.stack(), last.stack()

    for got in some(fg.ones([2]), fg.constant(1)):
        np.testing.assert_array_equal(got, [[0, 0], [1, 1], [1, 1]])
