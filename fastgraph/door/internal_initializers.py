"""tensorflow.python.ops.init_ops_v2: initializers that draw by tf.random's ops, of a seed the same each time."""

from __future__ import annotations

import math
from typing import Any

import fastgraph as tf
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import SizeLike
from fastgraph.keras import initializers


class TruncatedNormal(initializers.AsOps, initializers.TruncatedNormal):
    """Normal, but within two `stddev` of `mean`, by the draws of tf.random.truncated_normal."""

    def __call__(self, shape: SizeLike, dtype: DTypeLike | None = tf.float32, **kwargs: Any) -> Any:
        """Return draws."""
        return self.draw("truncated_normal", shape, self.mean, self.stddev, tf.as_dtype(dtype or tf.float32))


class VarianceScaling(initializers.AsOps, initializers.VarianceScaling):
    """Variance scale / n, by the draws of tf.random's ops: see tf.keras.initializers.VarianceScaling."""

    def __call__(self, shape: SizeLike, dtype: DTypeLike | None = tf.float32, **kwargs: Any) -> Any:
        """Return draws."""
        variance, wanted = self.variance(_dims(shape)), tf.as_dtype(dtype or tf.float32)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return self.draw("uniform", shape, -limit, limit, wanted)
        if self.distribution == "untruncated_normal":
            return self.draw("normal", shape, 0.0, math.sqrt(variance), wanted)
        return self.draw("truncated_normal", shape, 0.0, math.sqrt(variance) / initializers.TRUNCATED_STDDEV, wanted)


class GlorotUniform(VarianceScaling, initializers.GlorotUniform):
    """Even, variance 2 / (inputs + outputs)."""


class GlorotNormal(VarianceScaling, initializers.GlorotNormal):
    """Truncated normal, variance 2 / (inputs + outputs)."""


class Orthogonal(initializers.AsOps, initializers.Orthogonal):
    """gain times orthonormal rows or columns of normal draws. Raises ValueError for less than two axes."""

    def __call__(self, shape: SizeLike, dtype: DTypeLike | None = tf.float32, **kwargs: Any) -> Any:
        """Return Q of the QR factors of draws."""
        dims = _dims(shape)
        if len(dims) < 2:
            raise ValueError(
                f"The tensor to initialize, specified by argument `shape` must be at least two-dimensional. Received "
                f"shape={shape}"
            )
        rows, columns = math.prod(dims[:-1]), dims[-1]
        draws = self.draw(
            "normal", [max(rows, columns), min(rows, columns)], 0.0, 1.0, tf.as_dtype(dtype or tf.float32)
        )
        q, r = tf.linalg.qr(draws, full_matrices=False)
        q = q * tf.sign(tf.linalg.diag_part(r))
        return self.gain * tf.reshape(tf.linalg.matrix_transpose(q) if rows < columns else q, dims)


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


def _dims(shape: Any) -> list[int]:
    found: list[Any] = tf.TensorShape(shape).as_list()
    return found
