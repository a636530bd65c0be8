"""Forward mode for every differentiable primitive: the tangent of the result is what the gradient says of it.

<w, jvp(t)> = <gradient of <w, y>, t> for any w and t: the accumulator against the tape, whose rules are held against
finite differences in test_op_gradients.py. Orders mixed: forward over reverse against reverse over reverse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_op_gradients import ONCE, PRIMITIVES, Scalar, dense, float_samples, is_differentiable

import fastgraph as fg
from fastgraph.core.tensor import from_array


def inputs_of(arrays: Any, primitive: Any) -> list[int]:
    return [
        i
        for i, array in enumerate(arrays)
        if array.dtype.kind == "f"
        and array.size
        and is_differentiable(primitive, i)
        and (primitive.name, i) not in ONCE  # a tangent is the gradient's gradient
    ]


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_tangent_is_the_gradients_transpose(primitive: Any) -> None:
    for arrays, attrs in float_samples(primitive)[:8]:
        for i in inputs_of(arrays, primitive):
            f = Scalar(primitive, arrays, attrs, i)
            if not f.weights or not f.finite(arrays[i]):
                continue
            t = np.random.default_rng(i + 1).uniform(-1, 1, arrays[i].shape)
            x = from_array(arrays[i])
            with fg.autodiff.ForwardAccumulator(x, from_array(t)) as accumulator:
                y = f(x)
            got = accumulator.jvp(y, unconnected_gradients="zero").numpy()
            wanted = np.sum(f.gradient(arrays[i]).numpy() * t)
            assert got == pytest.approx(wanted, rel=1e-7, abs=1e-9), f"{primitive.name} input {i} {attrs}"


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_forward_over_reverse_is_reverse_over_reverse(primitive: Any) -> None:
    for arrays, attrs in float_samples(primitive)[:4]:
        for i in inputs_of(arrays, primitive):
            f = Scalar(primitive, arrays, attrs, i)
            if not f.weights or not f.finite(arrays[i]):
                continue
            t = np.random.default_rng(i + 1).uniform(-1, 1, arrays[i].shape)
            x = from_array(arrays[i])
            with fg.autodiff.ForwardAccumulator(x, from_array(t)) as accumulator, fg.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
                g = dense(tape.gradient(y, x), x)
            got = dense(accumulator.jvp(g), x).numpy()
            wanted = f.second(arrays[i], t).numpy()
            np.testing.assert_allclose(got, wanted, rtol=1e-7, atol=1e-9, err_msg=f"{primitive.name} {i} {attrs}")
