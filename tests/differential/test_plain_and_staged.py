"""Each function plain, by Python's own control flow, and staged: the same values and the same gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import float_functions
import integer_functions
import numpy as np
import pytest

import fastgraph as fg

VECTORS = [[0.3, 1.5, 0.7], [1.2, -0.4, 2.0], [-0.6, 0.2, -1.0], [2.0, 2.0, 0.1]]


def values_of(result: Any) -> list[Any]:
    return [np.asarray(leaf).tolist() for leaf in fg.nest.flatten(result)]


@pytest.mark.parametrize(("function", "values"), integer_functions.FUNCTIONS, ids=lambda f: getattr(f, "__name__", ""))
def test_integers(function: Callable[[Any], Any], values: tuple[int, ...]) -> None:
    staged = fg.function(function)
    for value in values:
        x = fg.constant(value)
        assert values_of(staged(x)) == values_of(function(x)), value
    assert staged.experimental_get_tracing_count() == 1


def value_and_gradient(function: Callable[[Any], Any], x: Any) -> list[Any]:
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    gradient = tape.gradient(y, x, unconnected_gradients=fg.UnconnectedGradients.ZERO)
    return [np.asarray(y), np.asarray(fg.convert_to_tensor(gradient))]


@pytest.mark.parametrize("function", float_functions.FUNCTIONS, ids=lambda f: f.__name__)
def test_floats(function: Callable[[Any], Any]) -> None:
    staged = fg.function(function)
    for value in VECTORS:
        x = fg.constant(value)
        for got, wanted in zip(value_and_gradient(staged, x), value_and_gradient(function, x), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-6, err_msg=str(value))
