"""stack, concat and add_n of a list whose length a tensor decides, in functions that AutoGraph has no need to convert."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg


def stacked(values: Any) -> Any:
    return fg.stack(values)


def stacked_last(values: Any) -> Any:
    return fg.stack(values, axis=-1)


def joined(values: Any) -> Any:
    return fg.concat(values, 0)


def joined_last(values: Any) -> Any:
    return fg.concat(values=values, axis=-1)


def added(values: Any) -> Any:
    return fg.add_n(values)


@fg.autograph.experimental.do_not_convert
def joined_as_it_is(values: Any) -> Any:
    return fg.concat(values, 0)


@pytest.mark.parametrize("function", [stacked, stacked_last, joined, joined_last, added, joined_as_it_is])
@pytest.mark.parametrize("limit", [3, 9])
@pytest.mark.parametrize("shape", [(2,), (2, 3)])
def test_a_helper_sees_the_elements(function: Any, limit: int, shape: Any) -> None:
    @fg.function
    def under_if(x: Any, n: Any) -> Any:
        rows = []
        for i in fg.range(n):
            if i < limit:
                rows.append(x + fg.cast(i, fg.float32))
        return function(rows)

    @fg.function
    def always(x: Any, n: Any) -> Any:
        rows = []
        for i in fg.range(fg.minimum(n, limit)):
            rows.append(x + fg.cast(i, fg.float32))
        return function(rows)

    x = fg.ones(shape)
    expected = function([x + float(i) for i in range(min(4, limit))])
    for staged in (under_if, always):
        np.testing.assert_array_equal(staged(x, fg.constant(4)), expected)


def test_a_helper_joins_elements_of_different_lengths() -> None:
    @fg.function
    def parts(x: Any, n: Any) -> Any:
        rows = []
        for i in fg.range(n):
            rows.append(x[:i])
        return joined(rows)

    np.testing.assert_array_equal(parts(fg.range(3.0), fg.constant(4)), [0, 0, 1, 0, 1, 2])


def elements_that_are_the_same(n: Any, range: Any) -> Any:
    values, pairs = [], []
    for i in range(n):
        values.append(i + 1000)
        pairs.append((i + 1000, i))
    parts = tuple(values)
    same = [values[0] is values[0], values[-1] is values[-1], parts[0] is parts[0], pairs[0] is pairs[0]]
    first = values[0]
    same += [first is parts[1], first is values[1]]
    if n > 1:
        inner = values[0]
        r = 1 if inner is values[0] else 0
        s = 2 if first is values[0] else 0
    else:
        r = s = 0
    before = values[0]
    values[0] = values[1] * 7
    same += [before is values[0]]
    return [1 if each else 0 for each in same], r, s, values[0] + before


def test_an_element_that_is_read_again_is_the_same_one_until_the_list_is_changed() -> None:
    staged = fg.function(elements_that_are_the_same)(fg.constant(3), fg.range)
    expected = elements_that_are_the_same(3, range)
    assert list(map(int, [*staged[0], *staged[1:]])) == [*expected[0], *expected[1:]]
