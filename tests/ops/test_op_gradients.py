"""Gradients of every differentiable primitive against finite differences: order 1, and order 2 of what has one.

Each input is moved along a random direction, in float64. Repeat one op's by `pytest tests/ops -k "gradient and [name]"`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_samples import op_primitives, samples

import fastgraph as fg
from fastgraph.core.tensor import bind, from_array

STEP = 1e-5
#: Their inputs or results are complex: tests/ops/test_complex.py, test_decompositions.py, test_signal.py.
NOT_REAL = {"complex_abs", "complex", "conj", "real", "imag", "eig", "eigvals", "logm", "fft", "rfft", "irfft"}
#: They are defined for matrices equal to their transposes: only such directions lead anywhere.
SYMMETRIC = {"cholesky"}
#: Inputs whose gradient has none, as in TensorFlow: it raises LookupError.
ONCE = {("igamma", 0), ("igammac", 0), ("igamma_grad_a", 0)}
#: Variates: of one state they jump where a parameter moves past a rejection, and their gradients are implicit ones
#: (tests/api/test_random_distributions.py); that of gamma variates has no gradient itself, as in TensorFlow.
VARIATES = {"random_gamma", "random_truncated"}
#: Its second output is the gradient of the first: tests/ops/test_ctc.py.
OWN_RESIDUAL = {"ctc"}
PRIMITIVES = [
    pytest.param(p, id=p.name)
    for p in op_primitives()
    if p.name not in VARIATES | OWN_RESIDUAL
    and (p.vjp or p.vjp_all)
    and (p.samples is not None or p.family in ("elementwise", "reduction"))
]


def is_float(x: Any) -> bool:
    return np.asarray(x).dtype.kind == "f" or np.asarray(x).dtype.name == "bfloat16"


def float_samples(primitive: Any) -> list[Any]:
    """Samples with something to differentiate, in float64, few and small."""
    found, seen = [], set()
    for arrays, attrs in samples(primitive):
        if not any(is_float(a) for a in arrays) or any(np.asarray(a).dtype == object for a in arrays):
            continue
        if not all(np.isfinite(np.asarray(a, np.float64)).all() for a in arrays if is_float(a)):
            continue
        wide = tuple(np.asarray(a, np.float64) if is_float(a) else np.asarray(a) for a in arrays)
        key = (tuple(a.shape for a in wide), tuple(a.tobytes() for a in wide if a.dtype.kind != "f"), repr(attrs))
        if key not in seen and sum(a.size for a in wide) <= 60:
            seen.add(key)
            found.append((wide, attrs))
    return found[:14]


def is_differentiable(primitive: Any, i: int) -> bool:
    if primitive.is_variadic and i >= len(primitive.inputs) - 1:
        return primitive.inputs[-1].lstrip("*") in primitive.vjp
    return primitive.vjp_all is not None or primitive.inputs[i] in primitive.vjp


def dense(gradient: Any, like: Any) -> Any:
    return fg.zeros_like(like) if gradient is None else fg.convert_to_tensor(gradient)


def weights(outputs: Any, seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    return [from_array(random.uniform(0.5, 1.5, tuple(o.shape)).astype(np.float64)) for o in outputs]


def direction(primitive: Any, shape: Any, random: Any) -> Any:
    v = random.uniform(-1, 1, shape)
    return v + np.swapaxes(v, -1, -2) if primitive.name in SYMMETRIC else v


class Scalar:
    """The weighted sum of an op's float64 results as a function of one input."""

    def __init__(self, primitive: Any, arrays: Any, attrs: Any, position: int) -> None:
        self.primitive, self.arrays, self.attrs, self.position = primitive, arrays, attrs, position
        self.weights = weights(self.outputs(from_array(arrays[position])), 3)

    def outputs(self, x: Any) -> list[Any]:
        inputs = [x if i == self.position else from_array(a) for i, a in enumerate(self.arrays)]
        result = bind(self.primitive, tuple(inputs), self.attrs)
        return [o for o in (result if isinstance(result, (tuple, list)) else (result,)) if o.dtype == fg.float64]

    def __call__(self, x: Any) -> Any:
        return fg.add_n([fg.reduce_sum(w * o) for w, o in zip(self.weights, self.outputs(x), strict=True)])

    def finite(self, array: Any) -> bool:
        """Whether the sum is a number: infinities have no slope."""
        return bool(np.isfinite(self(from_array(array)).numpy()))

    def gradient(self, array: Any) -> Any:
        x = from_array(array)
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = self(x)
        return dense(tape.gradient(y, x), x)

    def second(self, array: Any, direction: Any) -> Any:
        """The derivative of <gradient, direction>."""
        x = from_array(array)
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as inner:
                inner.watch(x)
                y = self(x)
            slope = fg.reduce_sum(dense(inner.gradient(y, x), x) * from_array(direction))
        return dense(outer.gradient(slope, x), x)


def along(function: Any, x: Any, v: Any) -> Any:
    return (np.asarray(function(x + STEP * v)) - np.asarray(function(x - STEP * v))) / (2 * STEP)


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_gradient_is_the_slope(primitive: Any) -> None:
    checked = 0
    for arrays, attrs in float_samples(primitive):
        for i, array in enumerate(arrays):
            if array.dtype.kind != "f" or not is_differentiable(primitive, i) or array.size == 0:
                continue
            if (primitive.name, i) in ONCE and primitive.name.endswith("_grad_a"):
                continue
            f = Scalar(primitive, arrays, attrs, i)
            if not f.weights or not f.finite(array):
                continue
            v = direction(primitive, array.shape, np.random.default_rng(i + 1))
            got = float(np.sum(f.gradient(array).numpy() * v))
            wanted = float(along(lambda a, f=f: f(from_array(a)).numpy(), array, v))
            assert got == pytest.approx(wanted, rel=1e-5, abs=1e-6), f"{primitive.name} input {i} {attrs}"
            checked += 1
    assert checked or primitive.name in NOT_REAL, f"no sample of {primitive.name} has a float input"


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_second_gradient_is_the_slope_of_the_first(primitive: Any) -> None:
    for arrays, attrs in float_samples(primitive)[:6]:
        for i, array in enumerate(arrays):
            if array.dtype.kind != "f" or not is_differentiable(primitive, i) or array.size == 0:
                continue
            if (primitive.name, i) in ONCE:
                continue
            f = Scalar(primitive, arrays, attrs, i)
            if not f.weights or not f.finite(array):
                continue
            random = np.random.default_rng(i + 5)
            u, v = [direction(primitive, array.shape, random) for _ in range(2)]
            got = float(np.sum(f.second(array, u).numpy() * v))
            wanted = float(np.sum(along(lambda a, f=f: f.gradient(a).numpy(), array, v) * u))
            assert got == pytest.approx(wanted, rel=1e-4, abs=1e-5), f"{primitive.name} input {i} {attrs}"
