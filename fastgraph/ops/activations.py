"""Elementwise ops: activations of neural networks, and products and quotients that must not become NaN.

Rule: as in elementwise.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.dtype import as_dtype, float32
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import class_has, convert
from fastgraph.ops.arguments import as_tensor, named
from fastgraph.ops.complex_numbers import conj
from fastgraph.ops.division import fractions
from fastgraph.ops.elementwise import cast_p, multiply_no_nan_p, negative, select, widened, zeros_like_p
from fastgraph.ops.exponentials import erfc, pow, sigmoid, tanh
from fastgraph.ops.families import Array, elementwise, public

# ---- activations ----------------------------------------------------------------------------------------------------


@elementwise(
    "nn.relu",
    expr="select(features < 0, 0, features)",
    dtypes="ordered",
    vjp=dict(features=lambda dy, out: relu_grad(dy, out)),
)
def relu(features: Array) -> Any:
    """features where positive, else 0; NaN stays. t[*s] -> t[*s]. Source: tf.nn.relu.

    Args:
        features: A tensor of real numbers.

    Raises:
        InvalidArgumentError: features are no real numbers.

    Examples:
        >>> tf.nn.relu([-1.5, 0.0, 2.0])
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([0., 0., 2.], dtype=float32)>
    """
    return np.maximum(features, np.zeros((), features.dtype))


@elementwise(
    expr="select(features > 0, gradients, 0)",
    dtypes="ordered",
    vjp=dict(
        gradients=lambda dy, features: relu_grad(dy, features), features=lambda dy, features: zeros_like_p(features)
    ),
)
def relu_grad(gradients: Array, features: Array) -> Any:
    """gradients where features are positive, else 0. t[*s], t[*s] -> t[*s]. Source: TensorFlow's op ReluGrad."""
    return np.where(features > 0, gradients, np.zeros((), features.dtype))


@elementwise(
    "nn.relu6",
    expr="min(max(features, 0), 6)",
    dtypes="ordered",
    vjp=dict(features=lambda dy, out: relu6_grad(dy, out)),
)
def relu6(features: Array) -> Any:
    """features limited to [0, 6]. t[*s] -> t[*s]. Source: tf.nn.relu6."""
    return np.minimum(np.maximum(features, np.zeros((), features.dtype)), np.asarray(6, features.dtype))


@elementwise(
    expr="select((features > 0) & (features < 6), gradients, 0)",
    dtypes="ordered",
    vjp=dict(
        gradients=lambda dy, features: relu6_grad(dy, features), features=lambda dy, features: zeros_like_p(features)
    ),
)
def relu6_grad(gradients: Array, features: Array) -> Any:
    """gradients where features are between 0 and 6, else 0. t[*s], t[*s] -> t[*s]. Source: Relu6Grad."""
    return np.where((features > 0) & (features < 6), gradients, np.zeros((), features.dtype))


@elementwise(
    expr="select(features > 0, features, features * alpha)",
    vjp=dict(features=lambda dy, features, alpha: leaky_relu_grad(dy, features, alpha=alpha)),
)
def leaky_relu_p(features: Array, *, alpha: float = 0.2) -> Any:
    """features where positive, else alpha * features. f[*s] -> f[*s]. Source: LeakyRelu."""
    slope = np.asarray(alpha, features.dtype)
    if 0 < slope <= 1:  # without a choice, which NumPy makes one element at a time
        return np.maximum(features, features * slope)
    return np.where(features > 0, features, features * slope)


@elementwise(
    expr="select(features > 0, gradients, gradients * alpha)",
    vjp=dict(
        gradients=lambda dy, features, alpha: leaky_relu_grad(dy, features, alpha=alpha),
        features=lambda dy, features: zeros_like_p(features),
    ),
)
def leaky_relu_grad(gradients: Array, features: Array, *, alpha: float = 0.2) -> Any:
    """gradients where features are positive, else alpha times them. f[*s], f[*s] -> f[*s]. Source: LeakyReluGrad."""
    return np.where(features > 0, gradients, gradients * np.asarray(alpha, features.dtype))


def _real(alpha: Any) -> float:
    """A slope. Raises: TypeError for what is no real number, as TensorFlow's ops do for an attribute."""
    try:
        dtype = getattr(alpha, "dtype", None)
        if isinstance(alpha, (str, bytes)) or (dtype is not None and as_dtype(dtype).is_complex):
            raise TypeError
        return float(alpha)
    except Exception:  # whatever its __float__ says
        raise TypeError(f"Expected float for argument 'alpha' not {alpha!r}.") from None


@public("nn.leaky_relu")
def leaky_relu(features: TensorLike, alpha: TensorLike = 0.2, name: str | None = None) -> Any:
    """features where positive, else alpha * features; integers as float32. t[*s] -> f[*s]. Source: tf.nn.leaky_relu."""
    features = as_tensor(features)
    if features.dtype.is_integer:
        features = cast_p(features, dtype=float32)
    return named(name, leaky_relu_p, features, alpha=_real(alpha))


@elementwise(
    "nn.elu",
    expr="select(features < 0, expm1(features), features)",
    vjp=dict(features=lambda dy, features, out: select(features < 0, dy * (out + 1), dy)),
)
def elu(features: Array) -> Any:
    """exp(features) - 1 where negative, else features. f[*s] -> f[*s]. Source: tf.nn.elu."""
    return np.where(features < 0, np.expm1(features), features)


@elementwise(
    "nn.selu",
    expr="select(features < 0, expm1(features) * 1.7580993408473768, features * 1.0507009873554805)",
    vjp=dict(
        features=lambda dy, features, out: select(
            features < 0, dy * (out + 1.7580993408473768), dy * 1.0507009873554805
        )
    ),
)
def selu(features: Array) -> Any:
    """Scaled exponential linear unit. f[*s] -> f[*s]. Source: Klambauer et al. 2017, eq. 2; tf.nn.selu."""
    wide = widened(features)
    scale, both = np.asarray(1.0507009873554805, wide.dtype), np.asarray(1.7580993408473768, wide.dtype)
    return np.where(wide < 0, np.expm1(wide) * both, wide * scale).astype(features.dtype)


@elementwise(
    "math.softplus",
    "nn.softplus",
    expr="softplus(features)",
    vjp=dict(features=lambda dy, features: dy * sigmoid(features)),
)
def softplus(features: Array) -> Any:
    """log(1 + exp(features)), without overflow. f[*s] -> f[*s]. Source: tf.math.softplus.

    Args:
        features: A floating tensor.

    Raises:
        InvalidArgumentError: features are of another dtype.

    Examples:
        >>> tf.math.softplus([-1000.0, 1000.0])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([   0., 1000.], dtype=float32)>
    """
    wide = widened(features)
    return (np.log1p(np.exp(-np.abs(wide))) + np.maximum(wide, 0)).astype(features.dtype)


@public("math.log_sigmoid")
def log_sigmoid(x: TensorLike, name: str | None = None) -> Any:
    """log(sigmoid(x)), without overflow. f[*s] -> f[*s]. Source: tf.math.log_sigmoid."""
    return negative(softplus(negative(x)), name=name)


@public("nn.silu", "nn.swish")
def silu(features: TensorLike, beta: TensorLike = 1.0) -> Any:
    """features * sigmoid(beta * features). f[*s] -> f[*s]. Source: tf.nn.silu."""
    features = as_tensor(features)
    return features * sigmoid(features if isinstance(beta, int | float) and beta == 1 else features * beta)


@public("nn.gelu")
def gelu(features: TensorLike, approximate: bool = False, name: str | None = None) -> Any:
    """Gaussian error linear unit, or its tanh form. f[*s] -> f[*s].

    Raises: ValueError for other dtypes. Source: Hendrycks and Gimpel 2016; tf.nn.gelu.
    """
    features = as_tensor(features)
    if not features.dtype.is_floating:
        raise ValueError(
            f"`features.dtype` must be a floating point tensor. Received: features.dtype={features.dtype!r}"
        )
    if approximate:
        inner = 0.7978845608028654 * (features + 0.044715 * pow(features, 3))
        return 0.5 * features * (1.0 + tanh(inner))
    # 1 + erf(x) would cancel where features are negative
    return 0.5 * features * erfc(-features / as_tensor(1.4142135623730951, features.dtype))


# ---- values that must not become NaN --------------------------------------------------------------------------------


@public("math.multiply_no_nan")
def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Any:
    """x * y, and 0 where y is 0 whatever x is. f[*s], f[*s] -> f[*s], broadcasting.

    Raises: ValueError if y is a tensor of another dtype. Source: tf.math.multiply_no_nan.
    """
    x = as_tensor(x)
    return named(name, multiply_no_nan_p, x, y if class_has(y, "__fg_bind__") else convert(y, x.dtype))


@elementwise(
    op="DivNoNan",
    expr="select(y == 0, 0, x / y)",
    dtypes="float16 float32 bfloat16 float64 complex64 complex128",
    vjp=dict(
        x=lambda dy, y: divide_no_nan_p(dy, conj(y)),
        y=lambda dy, x, y: dy * conj(divide_no_nan_p(divide_no_nan_p(-x, y), y)),
    ),
    domain=(0.3, 3),
)
def divide_no_nan_p(x: Array, y: Array) -> Any:
    """x / y, and 0 where y is 0. f[*s], f[*s] -> f[*s], broadcasting. Source: DivNoNan."""
    return np.where(y == 0, np.zeros((), x.dtype), np.divide(x, y))


@public("math.divide_no_nan")
def divide_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Any:
    """x / y as `truediv` divides, and 0 where y is 0. t[*s], t[*s] -> f[*s], broadcasting.

    Raises: TypeError if the dtypes differ or are no numbers. Source: tf.math.divide_no_nan.
    """
    return named(name, divide_no_nan_p, *fractions(x, y))
