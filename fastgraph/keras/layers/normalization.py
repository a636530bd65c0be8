"""Normalisation of batches, layers, groups and vectors. Meaning and messages of Keras 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.core import replicas
from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.graph.control_flow import cond
from fastgraph.keras import backend
from fastgraph.keras.identifiers import Identifier
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.calls import Training
from fastgraph.keras.layers.input_spec import InputSpec
from fastgraph.keras.layers.window_arguments import Sizes
from fastgraph.ops.broadcasting import broadcast_to
from fastgraph.ops.elementwise import cast, maximum, multiply, ones_like, square
from fastgraph.ops.exponentials import rsqrt
from fastgraph.ops.movement import expand_dims, reshape, shape, size
from fastgraph.ops.nn_ops import l2_normalize
from fastgraph.ops.normalization import moments, weighted_moments
from fastgraph.ops.reduction import reduce_sum
from fastgraph.state.variable import Variable, VariableAggregation, VariableSynchronization

_MEAN_OF_REPLICAS: dict[str, Any] = {
    "synchronization": VariableSynchronization.ON_READ,
    "aggregation": VariableAggregation.MEAN,
}


class _Normalization(Layer):
    """The base of the first three: the axes, scale (gamma) and offset (beta)."""

    def __init__(
        self, axis: Sizes, epsilon: float, center: bool, scale: bool, beta_initializer: Identifier,
        gamma_initializer: Identifier, beta_regularizer: Identifier, gamma_regularizer: Identifier,
        beta_constraint: Identifier, gamma_constraint: Identifier, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._take(locals())
        if isinstance(axis, bool) or not (
            isinstance(axis, int) or (isinstance(axis, Sequence) and all(isinstance(a, int) for a in axis))
        ):
            raise TypeError(f"Expected an int or a list/tuple of ints for the argument 'axis', but received: {axis!r}")
        self.axis = axis if isinstance(axis, int) else list(axis)
        self.supports_masking = True

    def _known_axes(self, dims: TensorShape) -> list[int]:
        """The axes, counted from the first. Raises ValueError if one is not there, or its length not known."""
        given = [self.axis] if isinstance(self.axis, int) else self.axis
        rank = dims.rank or 0
        axes = [a + rank if a < 0 else a for a in given]
        if any(not 0 <= a < rank for a in axes):
            raise ValueError(
                f"Invalid value for `axis` argument. Expected 0 <= axis < inputs.rank (with inputs.rank={rank}). "
                f"Received: axis={tuple(given)}"
            )
        if len(set(axes)) != len(axes):
            raise ValueError(f"Duplicate axis: axis={tuple(axes)}")
        if any(dims[a] is None for a in axes):
            raise ValueError(
                f"Input has undefined `axis` dimension. Received input with shape {tuple(dims.as_list())} and "
                f"axis={tuple(axes)}"
            )
        return axes

    def _make_scale(self, lengths: Sequence[int]) -> None:
        self.gamma = self._weight("gamma", lengths) if self.scale else None
        self.beta = self._weight("beta", lengths) if self.center else None

    def _normalized(self, inputs: Tensor, mean: Tensor, variance: Tensor, dims: Sequence[int]) -> Any:
        """(inputs - mean) / sqrt(variance + epsilon) * gamma + beta; `dims`: the weights' shape beside the inputs."""
        factor = rsqrt(variance + self.epsilon)
        if self.gamma is not None:
            factor = factor * _shaped(self.gamma, dims)
        outputs = (inputs - mean) * factor
        return outputs if self.beta is None else outputs + _shaped(self.beta, dims)


class BatchNormalization(_Normalization):
    """Mean 0 and variance 1 for each place along `axis`, then gamma * x + beta. f[*s] -> f[*s].

    In training by the batch's moments, of which moving means are kept; else by those. A layer whose `trainable` is
    False uses the kept ones always. Weights: gamma, beta, moving_mean, moving_variance. Of images (four axes or five)
    the unbiased variance is kept, as Keras 2 does. Source: tf.keras.layers.BatchNormalization; Ioffe and Szegedy 2015.
    """

    def __init__(
        self, axis: Sizes = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True, scale: bool =
        True, beta_initializer: Identifier = "zeros", gamma_initializer: Identifier = "ones",
        moving_mean_initializer: Identifier = "zeros", moving_variance_initializer: Identifier = "ones",
        beta_regularizer: Identifier = None, gamma_regularizer: Identifier = None, beta_constraint: Identifier =
        None, gamma_constraint: Identifier = None, synchronized: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            axis, epsilon, center, scale, beta_initializer, gamma_initializer, beta_regularizer, gamma_regularizer,
            beta_constraint, gamma_constraint, **kwargs,
        )  # fmt: skip
        self._take(locals())
        self.synchronized = bool(synchronized)
        self._unbiased = False

    def build(self, input_shape: ShapeLike) -> None:
        """Make scale, offset and the moving moments."""
        dims = TensorShape(input_shape)
        axes = self._known_axes(dims)
        self.input_spec = InputSpec(ndim=dims.rank, axes={a: dims[a] for a in axes})
        self._axes = axes
        self._reduced = [a for a in range(dims.rank or 0) if a not in axes]
        self._beside = [dims[a] if a in axes else 1 for a in range(dims.rank or 0)]
        # As Keras 2: for images, whose fused kernel counts so.
        self._unbiased = not self.synchronized and dims.rank in (4, 5) and axes in ([1], [dims.rank - 1])
        lengths = [dims[axes[0]]] if len(axes) == 1 else self._beside
        self._make_scale(lengths)
        self.moving_mean = self.add_weight(
            "moving_mean", lengths, initializer=self.moving_mean_initializer, trainable=False, **_MEAN_OF_REPLICAS
        )
        self.moving_variance = self.add_weight(
            "moving_variance", lengths, initializer=self.moving_variance_initializer, trainable=False,
            **_MEAN_OF_REPLICAS,
        )  # fmt: skip
        self.built = True

    def call(self, inputs: Tensor, training: Training | None = None, mask: Tensor | None = None) -> Tensor:
        """Return the normalised inputs. mask: b[*s], which elements the batch's mean and variance are of."""
        inputs = _floating(inputs)
        if isinstance(training, Tensor) and self._trainable:
            return cond(cast(training, "bool"), lambda: self._by_batch(inputs, mask), lambda: self._by_moving(inputs))
        return self._by_batch(inputs, mask) if training and self._trainable else self._by_moving(inputs)

    def _by_moving(self, inputs: Tensor) -> Any:
        mean, variance = (_shaped(w, self._beside) for w in (self.moving_mean, self.moving_variance))
        return self._normalized(inputs, mean, variance, self._beside)

    def _by_batch(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        if self.synchronized:
            mean, variance = self._moments_of_replicas(inputs, mask)
        elif mask is None:
            mean, variance = moments(inputs, self._reduced, keepdims=True)
        else:
            weights = expand_dims(cast(mask, inputs.dtype), -1)
            mean, variance = weighted_moments(inputs, self._reduced, weights, keepdims=True)
        flat = self.moving_mean.shape
        kept = variance
        if self._unbiased:
            n = cast(size(inputs), variance.dtype) / float(flat.num_elements() or 1)
            kept = variance * (n / maximum(n - 1.0, 1.0))  # of one element alone: its variance, 0
        self._move(self.moving_mean, reshape(mean, flat))
        self._move(self.moving_variance, reshape(kept, flat))
        return self._normalized(inputs, mean, variance, self._beside)

    def _moments_of_replicas(self, inputs: Tensor, mask: Tensor | None) -> tuple[Any, Any]:
        """Mean and variance of the batches of all replicas together."""
        wide = cast(inputs, "float32") if inputs.dtype.size < 4 else inputs
        weights = ones_like(wide) if mask is None else expand_dims(cast(mask, wide.dtype), -1) * ones_like(wide)
        parts = (wide * weights, square(wide) * weights, weights)
        sums = [reduce_sum(each, self._reduced, keepdims=True) for each in parts]
        replica = replicas.current()
        if replica is not None and replica.context is not None:
            sums = replica.context.all_reduce("SUM", sums)
        count = sums[2]
        mean = sums[0] / count
        return cast(mean, inputs.dtype), cast(sums[1] / count - square(mean), inputs.dtype)

    def _move(self, moving: Variable, now: Tensor) -> None:
        moving.assign_sub(multiply(moving - now, 1.0 - self.momentum))


class SyncBatchNormalization(BatchNormalization):
    """BatchNormalization by the batches of all replicas together. f[*s] -> f[*s].

    Source: tf.keras.layers.experimental.SyncBatchNormalization.
    """

    def __init__(
        self, axis: Sizes = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(axis, momentum, epsilon, center, scale, **{"synchronized": True, **kwargs})


class LayerNormalization(_Normalization):
    """Mean 0 and variance 1 along `axis` in each example, then gamma * x + beta. f[*s] -> f[*s].

    Weights: gamma and beta, of the lengths of the axes. Source: tf.keras.layers.LayerNormalization; Ba et al. 2016.
    """

    def __init__(
        self, axis: Sizes = -1, epsilon: float = 1e-3, center: bool = True, scale: bool = True, beta_initializer:
        Identifier = "zeros", gamma_initializer: Identifier = "ones", beta_regularizer: Identifier = None,
        gamma_regularizer: Identifier = None, beta_constraint: Identifier = None, gamma_constraint: Identifier =
        None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            axis, epsilon, center, scale, beta_initializer, gamma_initializer, beta_regularizer, gamma_regularizer,
            beta_constraint, gamma_constraint, **kwargs,
        )  # fmt: skip

    def build(self, input_shape: ShapeLike) -> None:
        """Make scale and offset."""
        dims = TensorShape(input_shape)
        self._axes = self._known_axes(dims)
        self._beside = [dims[a] if a in self._axes else 1 for a in range(dims.rank or 0)]
        self._make_scale([dims[a] for a in self._axes])
        self.built = True

    def call(self, inputs: Tensor) -> Any:
        """Return the normalised inputs."""
        inputs = _floating(inputs)
        mean, variance = moments(inputs, self._axes, keepdims=True)
        return self._normalized(inputs, mean, variance, self._beside)


def _floating(inputs: Tensor) -> Any:
    """The inputs, whole numbers as Keras's floats."""
    return inputs if inputs.dtype.is_floating else cast(inputs, backend.floatx())


def _shaped(weight: Variable, dims: Sequence[int]) -> Any:
    """The weight with the inputs' rank; left as it is where it broadcasts by itself."""
    own = weight.shape.as_list()
    trailing = list(dims)
    while len(trailing) > len(own) and trailing[0] == 1:
        trailing.pop(0)
    return weight if own == trailing else reshape(weight, dims)


class GroupNormalization(_Normalization):
    """Mean 0 and variance 1 in each example and group of channels, then gamma * x + beta. f[*s] -> f[*s].

    groups: in how many the channels along `axis` are parted; -1: each by itself. Weights: gamma, beta [channels].
    Source: tf.keras.layers.GroupNormalization; Wu and He 2018.
    """

    groups: int

    def __init__(
        self, groups: int = 32, axis: int = -1, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
        beta_initializer: Identifier = "zeros", gamma_initializer: Identifier = "ones", beta_regularizer:
        Identifier = None, gamma_regularizer: Identifier = None, beta_constraint: Identifier = None,
        gamma_constraint: Identifier = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            axis, epsilon, center, scale, beta_initializer, gamma_initializer, beta_regularizer, gamma_regularizer,
            beta_constraint, gamma_constraint, **kwargs,
        )  # fmt: skip
        self._take({"groups": groups}, more=True)

    def build(self, input_shape: ShapeLike) -> None:
        """Make scale and offset. Raises ValueError for a number of groups that does not part the channels."""
        dims = TensorShape(input_shape)
        n = dims[self.axis] if dims.rank else None  # type: ignore[index]
        if n is None:
            raise ValueError(f"Axis {self.axis} of input tensor should have a defined dimension, in shape {dims}.")
        self.groups = n if self.groups == -1 else self.groups
        if n < self.groups or n % self.groups:
            told = "cannot be more than" if n < self.groups else "must be a multiple of"
            raise ValueError(f"Number of groups ({self.groups}) {told} the number of channels ({n}).")
        self.input_spec = InputSpec(ndim=dims.rank, axes={self.axis: n})  # type: ignore[dict-item]
        self._make_scale([n])
        self.built = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Any:
        """Return the normalised inputs. mask: b[*s] or what broadcasts to it, which elements the moments are of."""
        known: Any = inputs.shape.as_list()
        now = shape(inputs)
        at = self.axis % len(known)  # type: ignore[operator]
        parts = [self.groups, known[at] // self.groups]
        dims = [now[i] if n is None else n for i, n in enumerate(known)]
        grouped = [*dims[:at], *parts, *dims[at + 1 :]]
        x = reshape(inputs, grouped)
        axes = [i for i in range(1, len(grouped)) if i != at]
        if mask is None:
            mean, variance = moments(x, axes, keepdims=True)
        else:
            weights = reshape(cast(broadcast_to(mask, now), x.dtype), grouped)
            mean, variance = weighted_moments(x, axes, weights, keepdims=True)
        beside = [1] * at + parts + [1] * (len(known) - at - 1)
        return reshape(self._normalized(x, mean, variance, beside), dims)


class UnitNormalization(Layer):
    """The inputs divided by their length along an axis or several. f[*s] -> f[*s]. Source: tf.keras.layers."""

    def __init__(self, axis: int | Sequence[int] = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self._take(locals())

    def call(self, inputs: TensorLike) -> Any:
        """Return the vectors, each of length 1."""
        return l2_normalize(cast(inputs, self._dtype), axis=self.axis)
