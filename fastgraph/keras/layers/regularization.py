"""Noise in training: GaussianNoise, AlphaDropout, SpatialDropout2D and kin, and learnt rectifiers, as in Keras 2."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.tensor import Tensor
from fastgraph.graph.control_flow import cond
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.keras import activations, backend
from fastgraph.keras.identifiers import Identifier
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.calls import Training
from fastgraph.keras.layers.core import Dropout, checked_data_format
from fastgraph.keras.layers.input_spec import InputSpec
from fastgraph.keras.regularizers import L1L2
from fastgraph.ops.activations import relu
from fastgraph.ops.elementwise import cast, identity
from fastgraph.ops.movement import shape
from fastgraph.ops.random_ops import normal, uniform


def in_training(training: Training, noisy: Callable[[], Any], plain: Any) -> Any:
    """Return `noisy()` in training, else `plain`; `training` may be a bool tensor of a graph."""
    if isinstance(training, SymbolicTensor):
        return cond(cast(training, "bool"), noisy, lambda: identity(plain))
    return noisy() if training else plain


class _Noise(Layer):
    """The base of layers that add chance in training: `_noisy(inputs)`."""

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self._take(locals())

    def call(self, inputs: Tensor, training: Training = None) -> Any:
        """Return the inputs, with noise in training."""
        return in_training(training, lambda: self._noisy(inputs), inputs)

    def _noisy(self, inputs: Any) -> Any:
        raise NotImplementedError


class GaussianNoise(_Noise):
    """Inputs plus normal numbers of deviation `stddev` in training. f[*s] -> f[*s]. Source: tf.keras.layers."""

    def __init__(self, stddev: float, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(stddev, seed, **kwargs)
        self._take(locals())

    def _noisy(self, inputs: Any) -> Any:
        return inputs + normal(shape(inputs), stddev=self.stddev, dtype=inputs.dtype, seed=backend.op_seed(self))


class GaussianDropout(_Noise):
    """Inputs times normal numbers of mean 1 and variance rate / (1 - rate), in training. f[*s] -> f[*s].

    Source: tf.keras.layers.GaussianDropout; Srivastava et al. 2014.
    """

    def _noisy(self, inputs: Any) -> Any:
        if not 0 < self.rate < 1:
            return inputs
        deviation = math.sqrt(self.rate / (1.0 - self.rate))
        return inputs * normal(shape(inputs), 1.0, deviation, inputs.dtype, seed=backend.op_seed(self))


class AlphaDropout(_Noise):
    """Dropout that keeps mean and variance: a share becomes SELU's least value. Source: Klambauer et al. 2017."""

    def __init__(
        self, rate: float, noise_shape: Sequence[int] | None = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(rate, seed, **kwargs)
        self._take(locals())

    def _noisy(self, inputs: Any) -> Any:
        rate, least = self.rate, -1.6732632423543772 * 1.0507009873554805
        if not 0 < rate < 1:
            return inputs
        dims = shape(inputs) if self.noise_shape is None else self.noise_shape
        kept = cast(uniform(dims, dtype=backend.floatx(), seed=backend.op_seed(self)) >= rate, inputs.dtype)
        a = ((1 - rate) * (1 + rate * least**2)) ** -0.5
        return a * (inputs * kept + least * (1 - kept)) - a * least * rate


class SpatialDropout2D(Dropout):
    """Dropout of whole channels of images. f[b, h, w, c] -> f[b, h, w, c]. Source: tf.keras.layers."""

    RANK = 2

    def __init__(self, rate: float, data_format: str | None = None, **kwargs: Any) -> None:
        kwargs.pop("noise_shape", None)  # which configs have
        super().__init__(rate, **kwargs)
        self.data_format = checked_data_format(data_format)
        self._between = (1, 1 + self.RANK) if self.data_format == "channels_last" else (2, 2 + self.RANK)
        self.input_spec = InputSpec(ndim=self.RANK + 2)

    def _noise_shape(self) -> Any:
        return [1 if self._between[0] <= i < self._between[1] else None for i in range(self.RANK + 2)]


class SpatialDropout1D(SpatialDropout2D):
    """Dropout of whole channels. f[b, t, c] -> f[b, t, c]. Source: tf.keras.layers.SpatialDropout1D."""

    RANK = 1


class SpatialDropout3D(SpatialDropout2D):
    """Dropout of whole channels of volumes. f[b, d, h, w, c] -> the same. Source: tf.keras.layers."""

    RANK = 3


class PReLU(Layer):
    """x where it is positive, elsewhere alpha * x, alpha being learnt. f[b, *s] -> f[b, *s].

    Weight: alpha [*s], of length 1 along `shared_axes`. Source: tf.keras.layers.PReLU; He et al. 2015.
    """

    def __init__(
        self, alpha_initializer: Identifier = "zeros", alpha_regularizer: Identifier = None,
        alpha_constraint: Identifier = None, shared_axes: int | Sequence[int] | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self.supports_masking = True
        self._take(locals())
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes and list(shared_axes)

    def build(self, input_shape: ShapeLike) -> None:
        """Make alpha."""
        dims = TensorShape(input_shape).as_list()
        shared = self.shared_axes or []
        self.alpha = self._weight("alpha", [1 if i in shared else n for i, n in enumerate(dims)][1:])
        axes = {i: n for i, n in enumerate(dims) if i and i not in shared} if shared else {}
        self.input_spec = InputSpec(ndim=len(dims), axes=axes)
        self.built = True

    def call(self, inputs: Tensor) -> Any:
        """Return the rectified inputs."""
        return relu(inputs) - self.alpha * relu(-inputs)


class ELU(Layer):
    """x where it is positive, alpha * (exp(x) - 1) elsewhere. f[*s] -> f[*s]. Source: tf.keras.layers.ELU."""

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if alpha is None:
            raise ValueError(f"Alpha of an ELU layer cannot be None, expecting a float. Received: {alpha}")
        self.supports_masking = True
        self._take({"alpha": float(alpha)})

    def call(self, inputs: Tensor) -> Any:
        """Return the function of the inputs."""
        return activations.elu(inputs, self.alpha)


class ActivityRegularization(Layer):
    """The inputs, which add l1 times their absolute and l2 times their squared sum to the loss. f[*s] -> f[*s].

    Per example, as `activity_regularizer` of other layers. Source: tf.keras.layers.ActivityRegularization.
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=L1L2(l1, l2), **kwargs)
        self.supports_masking = True
        self._take(locals())

    def call(self, inputs: Tensor) -> Any:
        """Return the inputs."""
        return identity(inputs)


class ThresholdedReLU(Layer):
    """x where it is above `theta`, else 0. f[*s] -> f[*s]. Raises ValueError for a negative threshold.

    Source: tf.keras.layers.ThresholdedReLU.
    """

    def __init__(self, theta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if theta is None or theta < 0:
            said = "Theta of a" if theta is None else "The theta value of a"
            wanted = "cannot be None, expecting a float" if theta is None else "should be >=0"
            raise ValueError(f"{said} Thresholded ReLU layer {wanted}. Received: {theta}")
        self.supports_masking = True
        self._take(locals())

    def call(self, inputs: Tensor) -> Any:
        """Return the rectified inputs."""
        return inputs * cast(inputs > cast(self.theta, inputs.dtype), inputs.dtype)
