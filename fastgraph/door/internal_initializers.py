"""tensorflow.python.ops.init_ops_v2: initializers that draw by tf.random's ops, of a seed the same each time."""

from __future__ import annotations

from typing import Any

import fastgraph as tf
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import SizeLike
from fastgraph.keras import initializers


class _OfFloat32(initializers.AsOps):
    """Draws of tf.random's ops, float32 where no dtype is asked for, whatever Keras's floatx is."""

    def __call__(self, shape: SizeLike, dtype: DTypeLike | None = tf.float32, **kwargs: Any) -> Any:
        """Return draws."""
        return super().__call__(shape, dtype or tf.float32, **kwargs)


class TruncatedNormal(_OfFloat32, initializers.TruncatedNormal):
    """Normal, but within two `stddev` of `mean`."""


class VarianceScaling(_OfFloat32, initializers.VarianceScaling):
    """Variance scale / n: see tf.keras.initializers.VarianceScaling."""


class GlorotUniform(_OfFloat32, initializers.GlorotUniform):
    """Even, variance 2 / (inputs + outputs)."""


class GlorotNormal(_OfFloat32, initializers.GlorotNormal):
    """Truncated normal, variance 2 / (inputs + outputs)."""


class Orthogonal(_OfFloat32, initializers.Orthogonal):
    """gain times orthonormal rows or columns of normal draws. Raises ValueError for less than two axes."""


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal, variance 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Even, variance 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal, variance 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Even, variance 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)
