"""Fourier transforms: fft, ifft, rfft, irfft in any number of axes, fftshift, ifftshift.

Rule: a transform is linear, so its gradient is another one, with the scaling and the weights that are its attributes.
Single precision stays single. Source of the definitions: Oppenheim and Schafer, "Discrete-Time Signal Processing".
"""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fastgraph.core.base.deferred_signals import library
from fastgraph.core.base.dtype import as_dtype, string
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native.thread_pool import num_threads
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.ops.arguments import (
    are_known,
    as_tensor,
    has_dtype,
    index_vector,
    known_axes,
    known_value,
    named,
    residual_shape,
)
from fastgraph.ops.deferred_calls import late, late_unless_known
from fastgraph.ops.elementwise import cast, maximum, minimum
from fastgraph.ops.families import (
    Array,
    Builder,
    Node,
    canonical_axis,
    custom,
    invalid,
    misuse,
    movement,
    public,
    validated,
)
from fastgraph.ops.joining import stack
from fastgraph.ops.matmul import extents_of, product_of
from fastgraph.ops.movement import shape_of_value, transpose_p
from fastgraph.ops.padding import roll
from fastgraph.ops.runtime_assertions import ensure_shape_p
from fastgraph.ops.runtime_checks import checked, wide

#: Elements up to which one thread transforms.
ALONE = 65536


@functools.cache
def _pocketfft() -> Any:
    """SciPy's extension of transforms alone, which takes 1 ms to load (scipy.fft 40) and adds 1 us to a call, not 10.

    None where SciPy is built in another way.
    """
    name = "scipy.fft._pocketfft.pypocketfft"
    found = sys.modules.get(name)
    package = importlib.util.find_spec("scipy")
    for folder in package.submodule_search_locations or () if found is None and package is not None else ():
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            path = Path(folder, "fft", "_pocketfft", f"pypocketfft{suffix}")
            spec = importlib.util.spec_from_file_location(name, path) if path.exists() else None
            if spec is not None and spec.loader is not None:
                found = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(found)
                return found if all(hasattr(found, kind) for kind in ("c2c", "r2c", "c2r", "dct")) else None
    return found


def _transform(kind: str, x: Array, axes: tuple[int, ...], norm: str, sizes: Sequence[int] | None = None) -> Array:
    """The transform of that name in NumPy, by SciPy's pocketfft and, of many numbers, the threads of the pool."""
    inverse, workers = kind[0] == "i", 1 if x.size <= ALONE else num_threads()
    by = _pocketfft()
    if by is None:
        fft = library("scipy.fft")

        return np.asarray(getattr(fft, kind)(x, s=sizes, axes=axes, norm=norm, workers=workers))
    scale = 2 if inverse is (norm == "backward") else 0  # over the number of elements, or not
    if kind == "irfftn":
        return np.asarray(by.c2r(x, axes, sizes[-1] if sizes else None, False, scale, None, workers))
    return np.asarray((by.r2c if kind == "rfftn" else by.c2c)(x, axes, not inverse, scale, None, workers))


def cosine_transform(x: Array, kind: int, ortho: bool = False) -> Array:
    """The cosine transform of a type along the last axis, as `_transform` computes others."""
    workers, by = 1 if x.size <= ALONE else num_threads(), _pocketfft()
    if by is None:
        fft = library("scipy.fft")
        return np.asarray(fft.dct(x, type=kind, norm="ortho" if ortho else None, workers=workers))
    return np.asarray(by.dct(x, kind, (x.ndim - 1,), int(ortho), None, workers, None))


# ---- an array brought to a size -------------------------------------------------------------------------------------


def _lower_fit(b: Builder, node: Node) -> list[Any]:
    x = b.input(0)

    def element(index: Sequence[Any]) -> Any:
        inside = None
        for i in range(x.rank):
            fits = index[i] < x.shape[i]
            inside = fits if inside is None else b.op("and", inside, fits)
        value = x.at(tuple(index))
        return value if inside is None else b.select(inside, value, b.const(0, node.inputs[0].aval.dtype.name))

    return [element]


@movement(
    infer=lambda x, shape: Aval(x.dtype, shape_of_value(shape)),
    groups=("T", "Tshape"),
    dtypes={"Tshape": "index"},
    shape_inputs=(1,),
    lower=_lower_fit,
    vjp=dict(x=lambda dy, x_shape: fit(dy, residual_shape(x_shape))),
    samples=lambda: [
        ((np.arange(6.0).reshape(2, 3), np.array(s)), {}) for s in ([2, 3], [1, 5], [3, 2], [0, 3], [4, 4])
    ],
)
def fit(x: Array, shape: Array) -> Any:
    """x cut off, or with zeros after it, along each axis. t[*s], i[rank] -> t[*shape]."""
    result = np.zeros(tuple(shape.tolist()), x.dtype)
    common = tuple(slice(0, min(n, m)) for n, m in zip(x.shape, result.shape, strict=True))
    result[common] = x[common]
    return result


def fitted(x: Tensor, sizes: Sequence[Any]) -> Any:
    """x with its last axes brought to `sizes`, ints or scalar tensors."""
    extents = extents_of(x)
    wanted = [*extents[: len(extents) - len(sizes)], *sizes]
    if all(isinstance(n, int) and isinstance(m, int) and n == m for n, m in zip(extents, wanted, strict=True)):
        return x
    if all(isinstance(n, int) for n in wanted):
        return fit(x, index_vector(tuple(wanted)))
    return fit(x, stack([wide(n) for n in wanted]))


# ---- complex to complex ---------------------------------------------------------------------------------------------


def _complex(shape: Sequence[int], dtype: str) -> Array:
    random = np.random.default_rng(3)
    return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype)


def check_rank(rank: int, axes: Sequence[int]) -> None:
    least = max([-a if a < 0 else a + 1 for a in axes], default=0)
    if rank < least:
        raise invalid(f"Input must have rank of at least {least} but got: {rank}")


def _infer_same(x: Aval, *, axes: tuple[int, ...], **_: Any) -> Aval:
    if x.shape is not None:
        check_rank(len(x.shape), axes)
    return Aval(x.dtype, x.shape)


@custom(
    op="FFTND",
    infer=_infer_same,
    dtypes="complex64 complex128",
    vjp=dict(x=lambda dy, axes, inverse, scaled: fft_p(dy, axes=axes, inverse=not inverse, scaled=scaled)),
    samples=lambda: [
        ((_complex(s, t),), {"axes": a, "inverse": i, "scaled": i})
        for t in ("complex64", "complex128")
        for i in (False, True)
        for s, a in (((6,), (-1,)), ((2, 3, 5), (-2, -1)), ((0, 3), (-1,)), ((3, 0), (-1,)), ((4, 3), (0,)))
    ],
    error_samples=lambda: [
        misuse(
            "Input must have rank of at least 2 but got: 1",
            np.ones(3, complex),
            axes=(-2, -1),
            inverse=False,
            scaled=False,
        )
    ],
    step="fourier.complex",
)
def fft_p(x: Array, *, axes: tuple[int, ...], inverse: bool, scaled: bool) -> Any:
    """The discrete Fourier transform along `axes`, or its inverse; `scaled`: over the number of elements.

    c[*s] -> c[*s].
    """
    check_rank(x.ndim, axes)
    if x.size == 0 or not axes:
        return x.copy()
    return _transform("ifftn" if inverse else "fftn", x, axes, _norm(inverse, scaled))


def _norm(inverse: bool, scaled: bool) -> Any:
    """NumPy's name for the scaling, which counts for both directions: `backward` scales the inverse."""
    return "backward" if inverse is scaled else "forward"


# ---- real to complex, and back --------------------------------------------------------------------------------------


def _weight(n: int) -> Array:
    """2 for the frequencies that stand for their negative as well, 1 for the others, of a transform of n numbers."""
    weight = np.full(n // 2 + 1, 2.0)
    weight[0] = 1
    if n % 2 == 0:
        weight[-1] = 1
    return weight


def _frequencies(n: Tensor | int) -> Any:
    """Return the number of frequencies of n real numbers: n // 2 + 1, none of none. An int or a tensor, as n is."""
    return n // 2 + (min(n, 1) if isinstance(n, int) else minimum(n, 1))


def _infer_rfft(x: Aval, *, axes: tuple[int, ...], **_: Any) -> Aval:
    dtype = as_dtype("complex64" if x.dtype.name == "float32" else "complex128")
    if x.shape is None:
        return Aval(dtype, None)
    check_rank(len(x.shape), axes)
    last = x.shape[axes[-1]]
    dims = list(x.shape)
    dims[axes[-1]] = None if last is None else _frequencies(last)
    return Aval(dtype, tuple(dims))


def _last_of(dims: tuple[int, ...] | Tensor, axes: tuple[int, ...]) -> Any:
    """Return how many real numbers there were along the last transformed axis."""
    return np.array(dims[axes[-1]], np.int32) if isinstance(dims, tuple) else cast(dims[axes[-1]], "int32")


@custom(
    op="RFFTND",
    infer=_infer_rfft,
    dtypes="float32 float64",
    vjp=dict(
        x=lambda dy, x_shape, axes, scaled, doubled: irfft_p(
            dy, _last_of(x_shape, axes), axes=axes, scaled=scaled, doubled=doubled
        )
    ),
    samples=lambda: [
        ((_complex(s, "complex128").real.astype(t),), {"axes": a, "scaled": d, "doubled": d})
        for t in ("float32", "float64")
        for d in (False, True)
        for s, a in (((6,), (-1,)), ((2, 3, 5), (-2, -1)), ((0, 3), (-1,)), ((2, 1), (-1,)), ((4, 3), (0,)))
    ],
    error_samples=lambda: [
        misuse("Input must have rank of at least 2 but got: 1", np.ones(3), axes=(-2, -1), scaled=False, doubled=False)
    ],
    step="fourier.from_real",
)
def rfft_p(x: Array, *, axes: tuple[int, ...], scaled: bool, doubled: bool) -> Any:
    """The Fourier transform of real numbers, without the negative frequencies of the last of `axes`.

    `scaled`: over the number of elements; `doubled`: frequencies that stand for two are counted twice. f[*s] -> c[*r].
    """
    check_rank(x.ndim, axes)
    dims = list(x.shape)
    n = dims[axes[-1]]
    dims[axes[-1]] = _frequencies(n)
    kind = np.complex64 if x.dtype == np.float32 else np.complex128
    if x.size == 0:
        return np.zeros(dims, kind)
    found = _transform("rfftn", x, axes, "forward" if scaled else "backward")
    if doubled:
        found *= _along(_weight(n), axes[-1], x.ndim)
    return found.astype(kind, copy=False)


def _along(weight: Array, axis: int, rank: int) -> Array:
    return weight.reshape([-1 if i == axis % rank else 1 for i in range(rank)])


def _infer_irfft(x: Aval, length: Aval, *, axes: tuple[int, ...], **_: Any) -> Aval:
    dtype = as_dtype("float32" if x.dtype.name == "complex64" else "float64")
    if x.shape is None:
        return Aval(dtype, None)
    check_rank(len(x.shape), axes)
    dims = list(x.shape)
    dims[axes[-1]] = None if length.value is None else int(length.value)
    return Aval(dtype, tuple(dims))


@custom(
    op="IRFFTND",
    infer=_infer_irfft,
    groups=("T", "int32"),
    dtypes="complex64 complex128",
    shape_inputs=(1,),
    vjp=dict(x=lambda dy, axes, scaled, doubled: rfft_p(dy, axes=axes, scaled=scaled, doubled=doubled)),
    samples=lambda: [
        ((_complex(s, t), np.array(n, np.int32)), {"axes": a, "scaled": d, "doubled": d})
        for t in ("complex64", "complex128")
        for d in (False, True)
        for s, n, a in (((4,), 6, (-1,)), ((2, 3, 3), 5, (-2, -1)), ((0, 2), 3, (-1,)), ((2, 3), 2, (0,)))
    ],
    error_samples=lambda: [
        misuse(
            "5 real numbers have 3 frequencies, got 4",
            np.ones(4, complex),
            np.array(5, np.int32),
            axes=(-1,),
            scaled=True,
            doubled=True,
        )
    ],
    step="fourier.to_real",
)
def irfft_p(x: Array, length: Array, *, axes: tuple[int, ...], scaled: bool, doubled: bool) -> Any:
    """`length` real numbers along the last of `axes` from their frequencies that are not negative.

    `scaled`: over the number of elements; not `doubled`: each frequency counts once. c[*r], i32[] -> f[*s].
    """
    check_rank(x.ndim, axes)
    n = int(length)
    kind = np.float32 if x.dtype == np.complex64 else np.float64
    dims = list(x.shape)
    if n < 0 or dims[axes[-1]] != _frequencies(n):
        raise invalid(f"{n} real numbers have {_frequencies(max(n, 0))} frequencies, got {dims[axes[-1]]}")
    dims[axes[-1]] = n
    if math.prod(dims) == 0:
        return np.zeros(dims, kind)
    if not doubled:
        x = x / _along(_weight(n), axes[-1], x.ndim).astype(kind)
    found = _transform("irfftn", x, axes, "backward" if scaled else "forward", [dims[a] for a in axes])
    return found.astype(kind, copy=False)


# ---- public ---------------------------------------------------------------------------------------------------------


def preferring(value: TensorLike, dtype: str) -> Any:
    """A tensor as it is; anything else of numbers as `dtype`, as TensorFlow converts for these ops."""
    if has_dtype(value):
        return as_tensor(value)
    found = as_tensor(value)
    fits = isinstance(found, Tensor) and found.dtype is not string and (not found.dtype.is_complex or dtype[0] == "c")
    return cast(found, dtype) if fits else found


def _rank_of(x: Tensor) -> int:
    if x.shape.rank is None:
        raise NotImplementedError("A transform needs a tensor of known rank.")
    return int(x.shape.rank)


def _direct(names: tuple[str, ...], count: int, inverse: bool, words: str) -> Callable[..., Any]:
    def transform(input: TensorLike, name: str | None = None) -> Any:
        x = preferring(input, "complex64")
        return named(name, fft_p, x, axes=tuple(range(-count, 0)), inverse=inverse, scaled=inverse)

    return _publish(transform, names, words)


def _publish(function: Callable[..., Any], names: tuple[str, ...], words: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = names[0].rpartition(".")[2]
    function.__doc__ = f"{words}\n\n    Source: tf.{names[0]}.\n    "
    return public(*names)(function)


def _sizes(given: TensorLike | None, count: int) -> list[Any] | None:
    """An argument fft_length as ints, or scalar tensors where they are known only at run time; None as given."""
    if given is None:
        return None
    tensor = as_tensor(given, "int32")
    if not tensor.shape.is_compatible_with([count]):
        raise invalid(f"fft_length must have shape [{count}]")
    value = known_value(tensor)
    if value is None:
        tensor = checked(ensure_shape_p(tensor, shape=(count,)), 0, 2**63 - 1, "fft_length must >= 0, but got: {}")
        return [tensor[i] for i in range(count)]
    for i, n in enumerate(value.tolist()):
        if n < 0:
            raise invalid(f"fft_length[{i}] must >= 0, but got: {n}")
    return [int(n) for n in value.tolist()]


def _real(value: TensorLike) -> Any:
    x = preferring(value, "float32")
    if x.dtype.name not in ("float32", "float64"):
        raise ValueError(f"RFFT requires tf.float32 or tf.float64 inputs, got: {x}")
    return x


def is_whole(value: TensorLike) -> bool:
    return not has_dtype(value) and as_tensor(value).dtype.is_integer


def _from_real(x: Tensor, sizes: list[Any] | None, axes: tuple[int, ...], name: str | None) -> Any:
    _shape_of_rank(x, len(axes))
    x = x if sizes is None else fitted(x, sizes)
    return named(name, rfft_p, x, axes=axes, scaled=False, doubled=False)


def _shape_of_rank(x: Tensor, least: int) -> None:
    if _rank_of(x) < least:
        raise ValueError(f"Shape {x.shape} must have rank at least {least}")


def _to_real(x: Tensor, sizes: list[Any] | None, axes: tuple[int, ...], name: str | None) -> Any:
    _shape_of_rank(x, len(axes))
    if sizes is None:
        extents = extents_of(x)[-len(axes) :]
        n = extents[-1]
        last = max(2 * (n - 1), 0) if isinstance(n, int) else maximum(2 * (n - 1), 0)
        x = fitted(x, [_frequencies(last)])  # the one frequency of no number is none
    else:
        last = sizes[-1]
        x = fitted(x, [*sizes[:-1], _frequencies(last)])
    if isinstance(last, int) and last >= 2**31:
        raise invalid(f"fft_length must be an int32, not {last}")
    length = np.array(last, np.int32) if isinstance(last, int) else cast(last, "int32")
    return named(name, irfft_p, x, length, axes=axes, scaled=True, doubled=True)


def _late(
    transform: Callable[..., Any], x: TensorLike, lengths: TensorLike | None, dtype: str, name: str | None
) -> Any:
    """A transform of a tensor of unknown rank."""
    given = [] if lengths is None else [as_tensor(lengths, "int32")]
    return late(transform, [x, *given], as_dtype(dtype), name=name)


def _forward_real(names: tuple[str, ...], count: int, words: str) -> Callable[..., Any]:
    def transform(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None) -> Any:
        x = _real(input_tensor)
        if x.shape.rank is None:
            return _late(transform, x, fft_length, "complex64" if x.dtype.name == "float32" else "complex128", name)
        return _from_real(x, _sizes(fft_length, count), tuple(range(-count, 0)), name)

    return _publish(transform, names, words)


def _inverse_real(names: tuple[str, ...], count: int, words: str) -> Callable[..., Any]:
    def transform(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None) -> Any:
        x = preferring(input_tensor, "complex64")
        if not x.dtype.is_complex:
            raise ValueError(f"IRFFT requires tf.complex64 or tf.complex128 inputs, got: {x}")
        if x.shape.rank is None:
            return _late(transform, x, fft_length, x.dtype.real_dtype.name, name)
        return _to_real(x, _sizes(fft_length, count), tuple(range(-count, 0)), name)

    return _publish(transform, names, words)


_OVER = {1: "the last axis", 2: "the last two axes", 3: "the last three axes"}
_BACK = "Raises: InvalidArgumentError for a lower rank."

fft = _direct(("signal.fft",), 1, False, f"The discrete Fourier transform over {_OVER[1]}. c[*s] -> c[*s]. {_BACK}")
ifft = _direct(("signal.ifft",), 1, True, f"The inverse Fourier transform over {_OVER[1]}. c[*s] -> c[*s]. {_BACK}")
fft2d = _direct(("signal.fft2d",), 2, False, f"The Fourier transform over {_OVER[2]}. c[*s] -> c[*s]. {_BACK}")
ifft2d = _direct(("signal.ifft2d",), 2, True, f"The inverse transform over {_OVER[2]}. c[*s] -> c[*s]. {_BACK}")
fft3d = _direct(("signal.fft3d",), 3, False, f"The Fourier transform over {_OVER[3]}. c[*s] -> c[*s]. {_BACK}")
ifft3d = _direct(("signal.ifft3d",), 3, True, f"The inverse transform over {_OVER[3]}. c[*s] -> c[*s]. {_BACK}")

_REAL = "of real numbers, brought to fft_length, without negative frequencies over {}. f[*s] -> c[*r]. Raises: "
_HALF = "that is real, from frequencies over {} that are not negative. c[*r] -> f[*s]. Raises: "
_WRONG = (
    "ValueError for a lower rank or another dtype, InvalidArgumentError for lengths that are not one for each axis or "
    "negative."
)

rfft = _forward_real(("signal.rfft",), 1, "The Fourier transform " + _REAL.format(_OVER[1]) + _WRONG)
rfft2d = _forward_real(("signal.rfft2d",), 2, "The Fourier transform " + _REAL.format(_OVER[2]) + _WRONG)
rfft3d = _forward_real(("signal.rfft3d",), 3, "The Fourier transform " + _REAL.format(_OVER[3]) + _WRONG)
irfft = _inverse_real(("signal.irfft",), 1, "The inverse Fourier transform " + _HALF.format(_OVER[1]) + _WRONG)
irfft2d = _inverse_real(("signal.irfft2d",), 2, "The inverse transform " + _HALF.format(_OVER[2]) + _WRONG)
irfft3d = _inverse_real(("signal.irfft3d",), 3, "The inverse transform " + _HALF.format(_OVER[3]) + _WRONG)


def _chosen(
    x: Tensor, fft_length: TensorLike | None, axes: TensorLike | None
) -> tuple[list[Any] | None, tuple[int, ...]]:
    """The sizes and the axes, counted from the front, of a transform over axes of one's choice."""
    rank = _rank_of(x)
    if axes is None:
        count = rank
        if fft_length is not None:
            lengths = as_tensor(fft_length).shape
            if lengths.rank != 1 or lengths[0] is None:
                raise invalid(f"fft_length must be a vector of known length, got shape {lengths}")
            count = int(lengths[0])
        if count > rank:
            raise invalid(f"Input must have rank of at least {count} but got: {rank}")
        found = tuple(range(rank - count, rank))
    else:
        found = validated(lambda: tuple(canonical_axis(a, rank) for a in known_axes(axes)))
    if len(set(found)) < len(found) or not found:
        raise invalid(f"axes must be distinct and at least one, got {list(found)}")
    return _sizes(fft_length, len(found)), found


def _moved(x: Tensor, axes: tuple[int, ...], back: bool = False) -> Any:
    """x with `axes` last, or back to where they were."""
    rank = _rank_of(x)
    perm = (*[i for i in range(rank) if i not in axes], *axes)
    if perm == tuple(range(rank)):
        return x
    return transpose_p(x, perm=tuple(int(i) for i in np.argsort(perm)) if back else perm)


def _scaled(y: Tensor, norm: str | None, inverse: bool, extents: Callable[[], list[Any]]) -> Any:
    """y, scaled as if by "backward", by the factor of another `norm`."""
    if norm in (None, "backward"):
        return y
    if norm not in ("ortho", "forward"):
        raise ValueError(f'norm must be None, "backward", "ortho" or "forward", got {norm!r}')
    total = product_of(extents())
    size = cast(as_tensor(total), "float64")
    factor = size**0.5 if norm == "ortho" else size
    return y * cast(factor if inverse else 1.0 / factor, y.dtype)


def _over_axes(kind: str) -> Callable[..., Any]:
    inverse, real = kind.startswith("i"), "r" in kind

    def transform(
        input_tensor: TensorLike,
        fft_length: TensorLike | None = None,
        axes: TensorLike | None = None,
        norm: str | None = None,
        name: str | None = None,
    ) -> Any:
        x = _real(input_tensor) if kind == "rfftnd" else preferring(input_tensor, "complex64")
        sizes, places = _chosen(x, fft_length, axes)
        x, last = _moved(x, places), tuple(range(-len(places), 0))
        if real:
            y = (_to_real if inverse else _from_real)(x, sizes, last, name)
            whole = y if inverse else (x if sizes is None else None)
            found = lambda: list(sizes or []) if whole is None else extents_of(whole)[-len(places) :]
        else:
            x = x if sizes is None else fitted(x, sizes)
            y = named(name, fft_p, x, axes=last, inverse=inverse, scaled=inverse)
            found = lambda: extents_of(x)[-len(places) :]
        return _moved(_scaled(y, norm, inverse, found), places, back=True)

    words = f"The {'inverse ' if inverse else ''}Fourier transform{' of real numbers' if real else ''} over `axes`"
    text = f"{words} (the last ones), brought to fft_length and scaled as `norm` says. t[*s] -> t[*r]."
    return _publish(transform, (f"signal.{kind}", kind), f"{text} Raises: InvalidArgumentError for axes out of range.")


fftnd, ifftnd, rfftnd, irfftnd = (_over_axes(kind) for kind in ("fftnd", "ifftnd", "rfftnd", "irfftnd"))


def _axis(axis: int, rank: int) -> int:
    """`axis` counted from the front. Raises: InvalidArgumentError if it is none, in a graph ValueError."""
    try:
        return canonical_axis(axis, rank)
    except ValueError as error:
        raise error if current_trace() is not None else invalid(str(error)) from None


def _shift(x: TensorLike, axes: TensorLike | None, sign: int, name: str | None) -> Any:
    x = as_tensor(x)
    if x.shape.rank is None:
        return late(lambda t: _shift(t, axes, sign, None), [x], x.dtype, name=name)
    if not are_known(axes):
        call = partial(_shift, sign=sign, name=None)
        return late_unless_known(call, [x], {"axes": axes}, x.dtype, x.shape, name)
    rank, extents = _rank_of(x), extents_of(x)
    found = tuple(range(rank)) if axes is None else tuple(_axis(a, rank) for a in known_axes(axes))
    for a in found:
        n = extents[a]
        x = roll(x, n // 2 if sign > 0 else -(n // 2), a)
    return x


@public("signal.fftshift")
def fftshift(x: TensorLike, axes: TensorLike | None = None, name: str | None = None) -> Any:
    """x with frequency 0 in the middle of `axes` (all). t[*s] -> t[*s]. Source: tf.signal.fftshift."""
    return _shift(x, axes, 1, name)


@public("signal.ifftshift")
def ifftshift(x: TensorLike, axes: TensorLike | None = None, name: str | None = None) -> Any:
    """x with frequency 0 moved from the middle of `axes` (all) to the front. t[*s] -> t[*s].

    Source: tf.signal.ifftshift.
    """
    return _shift(x, axes, -1, name)
