"""Complex numbers: made of two parts, taken apart, conjugated.

Rule: a real number is its own conjugate and real part; its imaginary part is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, as_dtype
from fastgraph.core.base.shapes import broadcast_shapes
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, get_slot
from fastgraph.ops.arguments import as_tensor, named
from fastgraph.ops.families import Array, elementwise, public


def _zeros(x: Tensor) -> Any:
    return get_slot("zeros_like")(x)  # an op of a module that needs this one


@elementwise(expr="conj(input)", dtypes="complex64 complex128", vjp=dict(input=lambda dy: conj(dy)))
def conj_p(input: Array) -> Any:
    """Complex conjugate. c[*s] -> c[*s]."""
    return np.conj(input)


@elementwise(
    expr="real(input)", dtypes="complex64 complex128", out="real", vjp=dict(input=lambda dy: complex_of(dy, _zeros(dy)))
)
def real_p(input: Array) -> Any:
    """Real part. c64[*s] -> f32[*s], c128[*s] -> f64[*s]."""
    return np.real(input)


@elementwise(
    expr="imag(input)", dtypes="complex64 complex128", out="real", vjp=dict(input=lambda dy: complex_of(_zeros(dy), dy))
)
def imag_p(input: Array) -> Any:
    """Imaginary part. c64[*s] -> f32[*s], c128[*s] -> f64[*s]."""
    return np.imag(input)


@elementwise(
    dtypes="float32 float64",
    out="dtype",
    lower=lambda b, node: [lambda index: b.op("complex", *[b.input(i).broadcast_at(index) for i in range(2)])],
    vjp=dict(real=lambda dy: real_p(dy), imag=lambda dy: imag_p(dy)),
    samples=lambda: [
        ((np.array([1.0, 2.0], t), np.array(3.0, t)), {"dtype": as_dtype(c)})
        for t, c in (("float32", "complex64"), ("float64", "complex128"))
    ],
)
def complex_p(real: Array, imag: Array, *, dtype: DType) -> Any:
    """real + i * imag. f32[*s] -> c64[*s], f64[*s] -> c128[*s], broadcasting."""
    dims: Any = broadcast_shapes(real.shape, imag.shape)
    result = np.empty(dims, dtype.numpy_dtype)
    result.real, result.imag = real, imag
    return result


def conj(x: Any, name: str | None = None) -> Any:
    """Complex conjugate; anything else as it is. t[*s] -> t[*s]."""
    x = as_tensor(x)
    return named(name, conj_p, x) if x.dtype.is_complex else x


@public("math.conj")
def conj_(x: TensorLike, name: str | None = None) -> Any:
    """Complex conjugate; real numbers as they are. t[*s] -> t[*s]. Raises: TypeError for others.

    Source: tf.math.conj.
    """
    x = as_tensor(x)
    if x.dtype.is_bool or x.dtype.name == "string":
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}.")
    return conj(x, name)


@public("math.real")
def real(input: Any, name: str | None = None) -> Any:
    """Real part; real numbers as they are. c64[*s] -> f32[*s]. Raises: TypeError for others. Source: tf.math.real."""
    input = as_tensor(input)
    if input.dtype.is_bool or input.dtype.name == "string":
        raise TypeError(f"input must be a numeric tensor, but got tensor with dtype {input.dtype!r}")
    return named(name, real_p, input) if input.dtype.is_complex else input


@public("math.imag")
def imag(input: TensorLike, name: str | None = None) -> Any:
    """Imaginary part; 0 of real numbers. c64[*s] -> f32[*s]. Source: tf.math.imag."""
    input = as_tensor(input)
    return named(name, imag_p, input) if input.dtype.is_complex else _zeros(input)


@public("complex", "dtypes.complex")
def complex_of(real: TensorLike, imag: TensorLike, name: str | None = None) -> Any:
    """real + i * imag. f32[*s], f32[*s] -> c64[*s]; f64 -> c128.

    Raises: TypeError for parts that are not both float32 or both float64. Source: tf.complex.
    """
    real, imag = as_tensor(real), as_tensor(imag)
    types = {"float32": "complex64", "float64": "complex128"}
    if real.dtype is not imag.dtype or real.dtype.name not in types:
        raise TypeError(
            f"The `real` and `imag` components have incorrect types: {real.dtype.name} {imag.dtype.name}. They must be "
            "consistent, and one of [tf.float32, tf.float64]"
        )
    return named(name, complex_p, real, imag, dtype=as_dtype(types[real.dtype.name]))
