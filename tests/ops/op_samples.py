"""Inputs for every primitive: those that its definition states, and what its family implies.

A sample is (inputs, attrs): NumPy arrays and attributes as `bind` takes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import fastgraph.ops  # noqa: F401 - registers the primitives
from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.registry import all_primitives

Sample = tuple[tuple[Any, ...], dict[str, Any]]
DEFAULT = ("float32", "int32", "bool", "float64")
#: Ops whose second operand must not be 0, or must be small and not negative.
DIVISORS = {"floordiv", "floormod", "realdiv"}
COUNTS = {"pow", "left_shift", "right_shift"}


def op_primitives() -> list[Any]:
    """The primitives that ops define: pure ones with samples, in the order of their registration."""
    return [p for p in all_primitives() if p.body.__module__.startswith("fastgraph.ops") and "samples" in p.extra]


def numbers(shape: tuple[int, ...], dtype: str, domain: tuple[float, float] | None, seed: int) -> Any:
    """Numbers for tests: spread over the domain, or small with both signs and zero."""
    random = np.random.default_rng(seed)
    kind = as_dtype(dtype)
    if kind.is_bool:
        return random.integers(0, 2, shape).astype(bool)
    if kind.is_integer:
        low, high = (1, 5) if domain is not None and domain[0] >= 0 else (-4, 5)
        return random.integers(0 if kind.is_unsigned else low, high, shape).astype(kind.numpy_dtype)
    low, high = domain or (-3.0, 3.0)
    values = random.uniform(low, high, shape)
    if kind.is_complex:
        values = values + 1j * random.uniform(low, high, shape)
    return np.asarray(values).astype(kind.numpy_dtype)


_SHAPES = {
    1: [((),), ((3,),), ((2, 3),), ((0, 3),), ((2, 1, 3),)],
    2: [((), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 2)), ((0, 3), (1, 3)), ((2, 3), ())],
    3: [((3,), (3,), (3,)), ((2, 1), (3,), ()), ((), (2, 2), (2, 1)), ((0,), (1,), ())],
}


def _attrs(primitive: Any) -> dict[str, Any]:
    return {"alpha": 0.2} if primitive.attrs == ("alpha",) else {}


def _elementwise(primitive: Any) -> Iterator[Sample]:
    letters = primitive.groups
    allowed = [d.name for d in primitive.dtypes.get("T", ())] or list(DEFAULT)
    for name in allowed if "T" in letters else ["bool"]:
        if name == "string":
            continue
        for k, shapes in enumerate(_SHAPES[len(letters)]):
            if k > 1 and name not in ("float32", "int32", "float64", "bool"):
                continue
            arrays = []
            for i, (letter, shape) in enumerate(zip(letters, shapes, strict=True)):
                dtype = name if letter == "T" else letter
                domain = primitive.domain
                if i == 1 and primitive.name in DIVISORS | COUNTS:
                    domain = (0.5, 3.0)
                x = numbers(shape, dtype, domain, 10 * k + i)
                if i == 1 and primitive.name in DIVISORS and np.asarray(x).dtype.kind == "u":
                    x = np.maximum(x, 1).astype(x.dtype)
                arrays.append(x)
            yield tuple(arrays), _attrs(primitive)


def _reduction(primitive: Any) -> Iterator[Sample]:
    cases = [((2, 3, 4), a) for a in (None, (0,), (1,), (-1,), (0, 2), (2, 0, 1), ())]
    cases += [((), None), ((), ()), ((0, 3), (0,)), ((3, 0), (0,)), ((3, 0), None), ((1, 5), (0,))]
    names = [d.name for d in primitive.dtypes.get("T", ())] or list(primitive.groups)
    for name in names:
        for k, (shape, axes) in enumerate(cases):
            if k % 4 and name not in ("float32", "int32", "bool"):
                continue
            for keepdims in (False, True):
                x = numbers(shape, name, primitive.domain or (-2.0, 2.0), k)
                yield (x,), {"axes": axes, "keepdims": keepdims}


def samples(primitive: Any) -> list[Sample]:
    """The samples of a primitive."""
    if primitive.samples is not None:
        return primitive.samples()
    return list({"elementwise": _elementwise, "reduction": _reduction}[primitive.family](primitive))


def spread(array: Any) -> Any:
    """The same elements at strides: a view that is not dense."""
    array = np.asarray(array)
    if array.ndim == 0:
        return array
    wide = np.zeros(tuple(2 * n for n in array.shape), array.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def tolerance(dtype: Any) -> dict[str, float]:
    """How close two computations of the same floats must be."""
    name = as_dtype(dtype).name if not isinstance(dtype, str) else dtype
    eps = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-6, "complex64": 4e-6, "float64": 1e-13, "complex128": 1e-13}
    return {"rtol": eps.get(name, 0.0), "atol": eps.get(name, 0.0)}


def assert_same(got: Any, wanted: Any, what: str) -> None:
    """Equal dtype, shape and elements; floats up to rounding."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.dtype == wanted.dtype, what
    assert got.shape == wanted.shape, what
    if got.dtype.kind in "fc" or got.dtype.name == "bfloat16":
        limits = tolerance(got.dtype.name)
        wide = np.complex128 if got.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(got.astype(wide), wanted.astype(wide), err_msg=what, **limits)
    else:
        assert np.array_equal(got, wanted), f"{what}: {got!r} is not {wanted!r}"
