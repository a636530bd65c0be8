"""The extension `fft`: discrete Fourier transforms along any axes, by the standard's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.array_api.dtypes import DEFAULTS, asarray, axes_of, floating, on, place
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.numpy_api import shapes
from fastgraph.numpy_api.promotion import ops
from fastgraph.numpy_api.tables import named

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip

#: The scale of each one-dimensional transform, as a power of n: what its op does already, and each norm's.
_SCALES = {"backward": (0, -1), "ortho": (-0.5, -0.5), "forward": (-1, 0)}


def _complex(x: TensorLike) -> Tensor:
    value = floating(x)
    return value if value.dtype.is_complex else ops.cast(value, f"complex{value.dtype.size * 16}")


def _cut(x: Tensor, n: int, along: int) -> Any:
    """x with n elements along an axis: the first ones, and zeros behind."""
    extent = ops.shape(x)[along]
    x = x[(*[slice(None)] * along, slice(None, n))]
    return ops.pad(x, [[0, ops.maximum(n - extent, 0) if i == along else 0] for i in range(x.shape.rank or 0)])


def _along(x: Tensor, axis: int, n: Any, norm: str, kind: str) -> Any:
    """One transform along one axis. Raises: ValueError for another norm."""
    if norm not in _SCALES:
        raise ValueError(f"fft: norm is one of {', '.join(_SCALES)}, not {norm!r}")
    at = place(axis, x.shape.rank, kind)
    inverse, extent = kind in ("ifft", "irfft"), x.shape[at] if x.shape[at] is not None else ops.shape(x)[at]
    halved = kind == "irfft"
    if n is not None and not halved:
        x = _cut(x, n, at)
    count = n if n is not None else 2 * (extent - 1) if halved else extent
    last = (x.shape.rank or 1) - 1
    x = shapes.moveaxis(x, at, last) if at != last else x
    made = getattr(ops, kind)(x, [count]) if kind in ("rfft", "irfft") else getattr(ops, kind)(x)
    power = _SCALES[norm][inverse] + inverse
    if power:
        made = made * ops.cast(ops.cast(count, made.dtype.real_dtype) ** power, made.dtype)
    return shapes.moveaxis(made, last, at) if at != last else made


def _one(name: str, of: Callable[[Any], Tensor]) -> Callable[..., Any]:
    def function(x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
        return _along(of(x), axis, n, norm, name)

    return named(function, name, f"Return the standard's `{name}` along an axis.")


fft, ifft, irfft = (_one(name, _complex) for name in ("fft", "ifft", "irfft"))
rfft = _one("rfft", floating)
_OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def hfft(x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """Return the transform of what is Hermitian in time: real. c[*s] -> f[*r]."""
    return irfft(ops.conj(_complex(x)), n=n, axis=axis, norm=_OPPOSITE.get(norm, norm))


def ihfft(x: TensorLike, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """Return the inverse of `hfft`. f[*s] -> c[*r]."""
    return ops.conj(rfft(x, n=n, axis=axis, norm=_OPPOSITE.get(norm, norm)))


def _several(name: str, of: Callable[[Any], Tensor], kind: str, last: str) -> Callable[..., Any]:
    def function(x: TensorLike, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
        value = of(x)
        rank = value.shape.rank or 0
        along = axes_of(range(rank - len(s), rank) if axes is None and s is not None else axes, rank, name)
        rows = list(zip(along, [None] * len(along) if s is None else s, strict=True))
        steps = list(zip(rows, [kind] * (len(rows) - 1) + [last], strict=True))
        for (axis, n), each in steps if last == "irfft" else reversed(steps):
            value = _along(value, axis, n, norm, each)
        return value

    return named(function, name, f"Return the standard's `{name}` along axes.")


fftn, ifftn = _several("fftn", _complex, "fft", "fft"), _several("ifftn", _complex, "ifft", "ifft")
rfftn, irfftn = _several("rfftn", floating, "fft", "rfft"), _several("irfftn", _complex, "ifft", "irfft")


def _frequencies(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    def function(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: str | None = None) -> Any:
        with on(device):
            return asarray(compute(n, d), dtype=DEFAULTS["real floating"] if dtype is None else dtype)

    return named(function, name, f"Return the standard's `{name}`: the frequencies of a transform of n. -> f[m].")


fftfreq, rfftfreq = _frequencies("fftfreq", np.fft.fftfreq), _frequencies("rfftfreq", np.fft.rfftfreq)


def _shift(name: str, sign: int) -> Callable[..., Any]:
    def function(x: TensorLike, /, *, axes: Any = None) -> Any:
        value = floating(x)
        along = axes_of(axes, value.shape.rank, name)
        halves = [(ops.shape(value)[axis] + (sign < 0)) // 2 for axis in along]
        return ops.roll(value, halves, along) if along else ops.identity(value)

    return named(function, name, f"Return the standard's `{name}`: frequency 0 moved to the middle, or back.")


fftshift, ifftshift = _shift("fftshift", 1), _shift("ifftshift", -1)
