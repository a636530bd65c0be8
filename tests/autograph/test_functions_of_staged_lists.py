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
