"""Rules for transforms: those of complex numbers of which half is known, for their input is real, or their imaginary
part dropped, do half of the work; short cosine transforms are products, which kernels compute.

    fft(cast(x))   becomes the transform of real numbers and, by symmetry, the negative frequencies
    real(ifft(x))  becomes the transform to real numbers of the part of x that is symmetric
    dct(x)         becomes x times the transforms of unit vectors

Rule: results differ in their last places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.graph.ir import Value
from fastgraph.graph.passes.rewriter import Application, Rebuild

#: Numbers up to which a product is faster than a transform, which is a host step.
_SHORT = 64
#: Elements of a transform from which on half of them is more than what is done besides.
_LEAST = 128


def _axes(value: Value, axes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The transformed axes counted from the first; None where their extents are unknown or few."""
    shape = value.aval.shape
    if shape is None or not axes:
        return None
    found = tuple([axis % len(shape) for axis in axes])
    sizes: list[Any] = [shape[axis] for axis in found]
    if None in sizes or np.prod(sizes) < _LEAST or sizes[-1] < 4 or len(set(found)) < len(found):
        return None
    return found


def _at(build: Rebuild, x: Value, places: Any, axis: int) -> Value:
    return build.emit1("gather", x, build.constant(np.asarray(places, np.int32)), axis=axis, batch_dims=0)


def _turned(build: Rebuild, x: Value, axes: tuple[int, ...]) -> Value:
    """x at the negative frequencies of some axes."""
    for axis in axes:
        n = (x.aval.shape or ())[axis]
        assert n is not None
        x = _at(build, x, -np.arange(n) % n, axis)
    return x


def transform_of_real(build: Rebuild, applied: Application) -> Value | None:
    """The frequencies of numbers that were real until they were cast."""
    (x,), attrs = applied.inputs, applied.attrs
    inner = x.node
    if inner.op.name != "cast" or not inner.inputs[0].aval.dtype.is_floating:
        return None
    axes, part = _axes(x, attrs["axes"]), x.aval.dtype.real_dtype
    if axes is None or not build.spend("transform of real numbers"):
        return None
    real = inner.inputs[0]
    if real.aval.dtype is not part:
        real = build.emit1("cast", real, dtype=part)
    half = build.emit1("rfft", real, axes=axes, scaled=attrs["scaled"], doubled=False)
    if attrs["inverse"]:
        half = build.emit1("conj", half)
    *others, last = axes
    n = (x.aval.shape or ())[last]
    assert n is not None
    rest = _at(build, _turned(build, half, tuple(others)), np.arange(n - n // 2 - 1, 0, -1), last)
    return build.emit("concat", (half, build.emit1("conj", rest)), {"axis": last}, applied.avals)[0]


def real_transform(build: Rebuild, applied: Application) -> Value | None:
    """The real part of a transform: that of the symmetric part of its input."""
    inner = applied.inputs[0].node
    if inner.op.name != "fft":
        return None
    x, attrs = inner.inputs[0], inner.attrs
    axes = _axes(x, attrs["axes"])
    if axes is None or not build.spend("real part of a transform"):
        return None
    n = (x.aval.shape or ())[axes[-1]]
    assert n is not None
    places = np.arange(n // 2 + 1)
    here = _at(build, x, places, axes[-1])
    there = build.emit1("conj", _at(build, _turned(build, x, axes[:-1]), -places % n, axes[-1]))
    if not attrs["inverse"]:
        here, there = build.emit1("conj", here), build.emit1("conj", there)
    weight = build.constant(np.asarray(0.5, x.aval.dtype.numpy_dtype))
    half = build.emit1("multiply", build.emit1("add", here, there), weight)
    length = build.constant(np.asarray(n, np.int32))
    made = {"axes": axes, "scaled": attrs["scaled"], "doubled": True}
    return build.emit("irfft", (half, length), made, applied.avals)[0]


def short_cosine_transform(build: Rebuild, applied: Application) -> Value | None:
    """A product, for a cosine transform is linear."""
    (x,), out = applied.inputs, applied.avals[0]
    shape = x.aval.shape
    n = shape[-1] if shape else None
    if n is None or not 0 < n <= _SHORT or not x.aval.size or applied.op.body is None:
        return None
    if not build.spend("a short cosine transform as a product"):
        return None
    units = applied.op.body(np.eye(n), **applied.attrs).astype(out.dtype.numpy_dtype)
    rows = build.emit1("reshape", x, shape=(x.aval.size // n, n))
    made = build.emit1("matmul", rows, build.constant(units), transpose_a=False, transpose_b=False)
    return build.emit("reshape", (made,), {"shape": shape}, applied.avals)[0]
