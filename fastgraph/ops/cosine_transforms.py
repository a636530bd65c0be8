"""Cosine transforms: dct, idct, of types I to IV along the last axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.ops.arguments import as_tensor, named, static_int
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import Array, custom, invalid, misuse, public
from fastgraph.ops.fourier import check_rank, cosine_transform, fitted, is_whole


def _infer_dct(x: Aval, *, kind: int, **_: Any) -> Aval:
    if x.shape is not None:
        check_rank(len(x.shape), (-1,))
        _check_dct(x.shape[-1], kind, ValueError)
    return Aval(x.dtype, x.shape)


def _check_dct(n: int | None, kind: int, error: Callable[[str], Exception]) -> None:
    if kind == 1 and n is not None and n < 2:
        raise error("Type-I DCT requires the dimension to be greater than one.")


@custom(
    op="DCT",
    infer=_infer_dct,
    dtypes="float32 float64",
    vjp=dict(x=lambda dy, kind, ortho, turned: dct_p(dy, kind=kind, ortho=ortho, turned=not turned)),
    samples=lambda: [
        ((np.random.default_rng(k).standard_normal(s).astype(t),), {"kind": k, "ortho": o, "turned": turned})
        for t in ("float32", "float64")
        for k, o in ((1, False), (2, False), (2, True), (3, False), (3, True), (4, False), (4, True))
        for turned in (False, True)
        for s in ((5,), (2, 3, 4), (0, 3))
    ],
    error_samples=lambda: [misuse("Type-I DCT requires", np.ones([2, 1]), kind=1, ortho=False, turned=False)],
    reason="a cosine transform: SciPy's is the fast one already",
)
def dct_p(x: Array, *, kind: int, ortho: bool, turned: bool) -> Any:
    """The discrete cosine transform of type `kind` along the last axis; `turned`: by the transposed matrix.

    f[*s, n] -> f[*s, n].
    """
    check_rank(x.ndim, (-1,))
    _check_dct(x.shape[-1], kind, invalid)
    if x.size == 0:
        return x.copy()
    if not turned or kind == 4 or ortho:
        return cosine_transform(x, {2: 3, 3: 2}.get(kind, kind) if turned else kind, ortho)
    if kind == 1:  # the matrix has columns of cosines, the inner ones twice
        weight = np.full(x.shape[-1], 2, x.dtype)
        weight[0] = weight[-1] = 1
        return weight * cosine_transform(x / weight, 1)
    if kind == 2:
        first = x.copy()
        first[..., 0] *= 2
        return cosine_transform(first, 3)
    found = cosine_transform(x, 2)
    found[..., 0] *= 0.5
    return found


def _check_cosine(kind: int, n: int | None, axis: int, norm: str | None) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if kind not in (1, 2, 3, 4):
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")
    if kind == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")


@public("signal.dct")
def dct(
    input: TensorLike, type: int = 2, n: TensorLike | None = None, axis: int = -1, norm: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The discrete cosine transform of type 1 to 4 of the last axis, brought to n elements. f[*s, m] -> f[*s, n].

    Raises: ValueError for another type, n or norm; NotImplementedError for another axis. Source: tf.signal.dct.
    """
    length = None if n is None else static_int(n)
    _check_cosine(type, length, axis, norm)
    x = cast(as_tensor(input), "float32") if is_whole(input) else as_tensor(input)
    if length is not None:
        x = fitted(x, [length])
    return named(name, dct_p, x, kind=type, ortho=norm == "ortho", turned=False)


@public("signal.idct")
def idct(
    input: TensorLike, type: int = 2, n: TensorLike | None = None, axis: int = -1, norm: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The inverse of `dct` of the last axis, times 2 n unless norm is "ortho". f[*s, m] -> f[*s, n].

    Raises: ValueError for another type, n or norm; NotImplementedError for another axis. Source: tf.signal.idct.
    """
    length = None if n is None else static_int(n)
    _check_cosine(type, length, axis, norm)
    return dct(input, {2: 3, 3: 2}.get(type, type), n, axis, norm, name)
