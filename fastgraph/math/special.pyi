# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.tensor import Tensor
from fastgraph.math import bessel_i0 as bessel_i0
from fastgraph.math import bessel_i0e as bessel_i0e
from fastgraph.math import bessel_i1 as bessel_i1
from fastgraph.math import bessel_i1e as bessel_i1e
from typing import Any

def bessel_j0(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function J0; NaN at infinity. f[*s] -> f[*s]. Source: tf.math.special.bessel_j0."""
def bessel_j1(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function J1; NaN at infinity. f[*s] -> f[*s]. Source: tf.math.special.bessel_j1."""
def bessel_k0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function K0, x > 0. f[*s] -> f[*s]. Source: tf.math.special.bessel_k0."""
def bessel_k0e(x: Any, name: str | None = None) -> Tensor:
    """e**x times the modified Bessel function K0, x > 0. f[*s] -> f[*s]. Source: tf.math.special.bessel_k0e."""
def bessel_k1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function K1, x > 0. f[*s] -> f[*s]. Source: tf.math.special.bessel_k1."""
def bessel_k1e(x: Any, name: str | None = None) -> Tensor:
    """e**x times the modified Bessel function K1, x > 0. f[*s] -> f[*s]. Source: tf.math.special.bessel_k1e."""
def bessel_y0(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function Y0, x > 0; NaN at infinity. f[*s] -> f[*s]. Source: tf.math.special.bessel_y0."""
def bessel_y1(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function Y1, x > 0; NaN at infinity. f[*s] -> f[*s]. Source: tf.math.special.bessel_y1."""
def dawsn(x: Any, name: str | None = None) -> Tensor:
    """Dawson's integral e**-x**2 times the integral of e**t**2 from 0. f[*s] -> f[*s].

    Source: tf.math.special.dawsn."""
def expint(x: Any, name: str | None = None) -> Tensor:
    """The exponential integral Ei, x > 0; NaN below. f[*s] -> f[*s]. Source: tf.math.special.expint."""
def fresnel_cos(x: Any, name: str | None = None) -> Tensor:
    """Fresnel's integral of cos(pi t**2 / 2) from 0. f[*s] -> f[*s]. Source: tf.math.special.fresnel_cos."""
def fresnel_sin(x: Any, name: str | None = None) -> Tensor:
    """Fresnel's integral of sin(pi t**2 / 2) from 0. f[*s] -> f[*s]. Source: tf.math.special.fresnel_sin."""
def spence(x: Any, name: str | None = None) -> Tensor:
    """Spence's integral of log(t) / (1 - t) from 1, x >= 0; NaN below. f[*s] -> f[*s].

    Source: tf.math.special.spence."""
