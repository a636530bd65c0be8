"""Arrays of more than 2**31 elements or bytes: no offset is a 32-bit number. Needs 5 GB of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from tests import native

pytestmark = pytest.mark.soak

N = 2**31 + 24
NEAR = [0, 5, 2**31 - 1, 2**31, N - 1]


@pytest.fixture(autouse=True)
def _memory_is_given_back() -> Iterator[None]:
    yield
    native.trim_pool()


def marked() -> Any:
    """int8 zeros with a number at each place of NEAR."""
    values = np.zeros(N, np.int8)
    values[NEAR] = [1, 2, 3, 4, 5]
    return fg.constant(values)


CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "elementwise": (lambda x: fg.gather(x + fg.constant(1, fg.int8), NEAR), [2, 3, 4, 5, 6]),
    "sum": (lambda x: fg.reduce_sum(fg.cast(x[2**31 - 8 :], fg.int32)), 12),
    "max": (lambda x: fg.reduce_max(x), 5),
    "any": (lambda x: fg.reduce_any(fg.equal(x, fg.constant(5, fg.int8))), True),
    "argmax": (lambda x: fg.argmax(x), N - 1),
    "size": (lambda x: fg.size(x, fg.int64), N),
    "slice": (lambda x: x[2**31 - 1 : 2**31 + 2], [3, 4, 0]),
    "strided slice": (lambda x: x[:: 2**31 - 1], [1, 3]),
    "reverse": (lambda x: fg.reverse(x, [0])[:2], [5, 0]),
    "gather": (lambda x: fg.gather(x, fg.constant(NEAR, fg.int64)), [1, 2, 3, 4, 5]),
    "gather_nd": (lambda x: fg.gather_nd(x, fg.constant([[2**31], [N - 1]], fg.int64)), [4, 5]),
    "reshape": (lambda x: fg.reshape(x, [8, -1])[7, -1], 5),
    "concat": (lambda x: fg.concat([x[: 2**30], x[2**30 :]], 0)[2**31 - 1 : 2**31 + 1], [3, 4]),
    "where": (lambda x: fg.where(x > fg.constant(3, fg.int8)), [[2**31], [N - 1]]),
    "columns": (lambda x: fg.reduce_max(fg.reshape(x, [-1, 8]), axis=0), [1, 0, 0, 0, 0, 2, 0, 5]),
    "rows": (lambda x: fg.reduce_max(fg.reshape(x, [8, -1]), axis=1)[-1], 5),
}


@pytest.mark.parametrize("way", ["eager", "first", "last"])
@pytest.mark.parametrize("name", CASES)
def test_more_elements_than_32_bits_count(name: str, way: str) -> None:
    function, expected = CASES[name]
    if name == "columns":
        wanted = np.zeros(8, np.int8)
        for place, number in zip(NEAR, (1, 2, 3, 4, 5), strict=True):
            wanted[place % 8] = max(wanted[place % 8], number)
        expected = wanted
    x = marked()
    if way == "eager":
        result = function(x)
    else:
        with flags.override(tier=way, worker=False):
            result = fg.function(function)(x)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("way", ["eager", "first", "last"])
def test_products_of_more_bytes_than_32_bits_count(way: str) -> None:
    """Operands of 2.1 GB, in rows of which the last ones begin behind 2**31 bytes."""
    k = 16_384
    m = 2**31 // (4 * k) + 64
    x = fg.fill([m, k], 0.5)
    w = fg.ones([k, 2])

    def function(x: Any) -> Any:
        return fg.matmul(x, w), fg.reduce_sum(x[-1])

    if way != "eager":
        function = fg.function(function)
    with flags.override(tier="last" if way == "last" else "first", worker=False):
        product, last = function(x)
    assert float(last) == k / 2
    np.testing.assert_array_equal(product, np.full((m, 2), k / 2, np.float32))
