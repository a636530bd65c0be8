"""Checks for users' programs: gradients against finite differences, values against values, mode against mode.

Rule: every check raises AssertionError that says where the two sides differ most, and how to see it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph import ops  # noqa: F401  # the second: values have their operators
from fastgraph.api.namespaces import lookup
from fastgraph.core import registry as primitives
from fastgraph.core.base import nesting  # the second: values have their operators
from fastgraph.core.tape.gradient_tape import GradientTape, is_variable
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import EagerTensor, Tensor, as_array, convert
from fastgraph.staging.function_decorator import function

__getattr__, __dir__ = lookup("testing")

#: Relative tolerance by the coarsest dtype compared.
_TOLERANCES = {
    "bfloat16": 2e-2,
    "float16": 2e-3,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float64": 1e-10,
    "complex128": 1e-10,
}


def assert_close(
    actual: object, expected: object, rtol: float | None = None, atol: float | None = None, message: str = ""
) -> None:
    """Check that two structures of tensors, arrays or numbers hold the same values.

    Integers, bools and strings must be equal; floats within rtol * |expected| + atol, by default rtol after the coarser
    of the two dtypes (float32: 2e-5) and atol = rtol. NaNs and infinities must stand at the same places. Shapes must be
    equal. Raises AssertionError that shows the worst element.
    """
    nesting.assert_same_structure(actual, expected, check_types=False)
    leaves = zip(nesting.flatten(actual), nesting.flatten(expected), strict=True)
    for i, (ours, theirs) in enumerate(leaves):
        _leaf_close(_array(ours), _array(theirs), rtol, atol, f"{message + ': ' if message else ''}leaf {i}")


def _array(leaf: object) -> Any:
    """A leaf as an ndarray, or None."""
    if leaf is None or isinstance(leaf, np.ndarray):
        return leaf
    if isinstance(leaf, IndexedSlices) or is_variable(leaf):
        leaf = convert(leaf)
    return as_array(leaf) if isinstance(leaf, EagerTensor) else np.asarray(leaf)


def _leaf_close(
    ours: np.ndarray | None, theirs: np.ndarray | None, rtol: float | None, atol: float | None, where: str
) -> None:
    if ours is None or theirs is None:
        if ours is not theirs:
            raise AssertionError(f"{where}: {ours!r} against {theirs!r}")
        return
    if ours.shape != theirs.shape:
        raise AssertionError(f"{where}: shape {ours.shape} against {theirs.shape}")
    tolerances = [_TOLERANCES[a.dtype.name] for a in (ours, theirs) if a.dtype.name in _TOLERANCES]
    if not tolerances:
        wrong = np.asarray(ours != theirs)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise AssertionError(
                f"{where}: {int(wrong.sum())} of {wrong.size} elements differ; at {list(at)}: {ours[at]!r} against "
                f"{theirs[at]!r}"
            )
        return
    rtol = max(tolerances) if rtol is None else rtol
    atol = rtol if atol is None else atol
    wide = np.complex128 if "c" in (ours.dtype.kind, theirs.dtype.kind) else np.float64
    a, b = ours.astype(wide), theirs.astype(wide)
    with np.errstate(all="ignore"):
        excess = np.abs(a - b) - (atol + rtol * np.abs(b))
    special = ~(np.isfinite(a) & np.isfinite(b))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    excess = np.where(special, np.where(same, -np.inf, np.inf), excess)
    if excess.size and excess.max() > 0:
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), excess.shape))
        raise AssertionError(
            f"{where}: {int((excess > 0).sum())} of {excess.size} elements differ by more than {rtol:g} * |expected| + "
            f"{atol:g}; worst at {list(at)}: {ours[at]!r} against {theirs[at]!r}"
        )


def check_gradients(
    f: Callable[..., Any],
    *inputs: object,
    order: int = 2,
    step: float = 1e-5,
    rtol: float = 1e-5,
    atol: float = 1e-7,
    seed: int = 0,
) -> None:
    """Check f's gradients of order 1 .. `order` against central differences along a random direction.

    inputs: floating tensors, arrays or numbers; they are cast to float64, so `f` must take that. `f` gives a tensor or
    a structure of them; outputs that are not floating are left out. For a random w the gradient g of <w, f(x)> is
    compared with (<w, f(x + h u)> - <w, f(x - h u)>) / 2h along a random u: <g, u>. Order 2 does the same with g
    in the place of f. Raises AssertionError, naming the order and the seed. Source: check_grads of autograd.
    """
    points = [convert(np.asarray(_array(given), np.float64)) for given in inputs]
    _check_order(f, points, 1, order, step, rtol, atol, np.random.default_rng(seed), seed)


def _check_order(
    f: Callable[..., Any],
    points: list[Any],
    order: int,
    last: int,
    step: float,
    rtol: float,
    atol: float,
    random: np.random.Generator,
    seed: int,
) -> None:
    reduce_sum, zeros_like = primitives.public_function("reduce_sum"), primitives.public_function("zeros_like")
    weights: list[Any] = []

    def weighed(*xs: object) -> Any:
        """<w, f(xs)> with the same random w at every call."""
        outputs = [y for y in nesting.flatten(f(*xs)) if y is not None and convert(y).dtype.is_floating]
        if not outputs:
            raise AssertionError(f"check_gradients: {f} gave no floating output")
        if not weights:
            weights.extend(convert(random.uniform(-1.0, 1.0, _array(y).shape)) for y in outputs)
        total = None
        for y, w in zip(outputs, weights, strict=True):
            term = reduce_sum(convert(y) * w)
            total = term if total is None else total + term
        return total

    def gradient(*xs: object) -> list[Any]:
        with GradientTape() as tape:
            tape.watch(list(xs))
            y = weighed(*xs)
        found = tape.gradient(y, list(xs))
        return [zeros_like(x) if g is None else convert(g) for x, g in zip(xs, found, strict=True)]

    found = gradient(*points)
    direction = [random.uniform(-1.0, 1.0, as_array(point).shape) for point in points]
    size = np.sqrt(sum(float((u * u).sum()) for u in direction)) or 1.0
    direction = [u / size for u in direction]
    along = sum(float((as_array(g) * u).sum()) for g, u in zip(found, direction, strict=True))

    def moved(h: float) -> float:
        return float(weighed(*[convert(as_array(x) + h * u) for x, u in zip(points, direction, strict=True)]))

    difference = (moved(step) - moved(-step)) / (2 * step)
    if not abs(along - difference) <= atol + rtol * abs(difference):
        raise AssertionError(
            f"check_gradients: order {order}: along a random direction the gradient gives {along!r}, finite "
            f"differences {difference!r} (seed={seed}, step={step:g})"
        )
    if order < last:
        _check_order(gradient, points, order + 1, last, step, rtol, atol, random, seed)


def compare_modes(
    f: Callable[..., Any], *args: Any, gradients: bool = True, rtol: float | None = None, atol: float | None = None
) -> Any:
    """Check that `f` and its gradients are the same eagerly and as a Function; return the eager result.

    args: tensors, arrays or numbers. With `gradients` the sum of the floating outputs is differentiated for the
    floating tensors among `args`, in both modes. Raises AssertionError.
    """
    tensors = [given if isinstance(given, Tensor) or is_variable(given) else convert(given) for given in args]
    eager = f(*tensors)
    staged = function(f)
    assert_close(staged(*tensors), eager, rtol, atol, "as a Function")
    if gradients:
        sources = [t for t in tensors if t.dtype.is_floating]
        if sources:
            ours, theirs = _gradients(staged, tensors, sources), _gradients(f, tensors, sources)
            assert_close(ours, theirs, rtol, atol, "gradient as a Function")
            inside = function(lambda *xs: _gradients(f, xs, [x for x in xs if x.dtype.is_floating]))
            assert_close(inside(*tensors), theirs, rtol, atol, "gradient inside a Function")
    return eager


def _gradients(f: Callable[..., Any], args: Sequence[Any], sources: list[Any]) -> list[Any]:
    """Gradients of the sum of f's floating outputs; zeros where there is none."""
    reduce_sum = primitives.public_function("reduce_sum")
    with GradientTape() as tape:
        tape.watch(sources)
        outputs = [reduce_sum(y) for y in nesting.flatten(f(*args)) if convert(y).dtype.is_floating]
    found = tape.gradient(outputs, sources, unconnected_gradients="zero")
    return [convert(g) for g in found]


__all__ = ["assert_close", "check_gradients", "compare_modes"]
