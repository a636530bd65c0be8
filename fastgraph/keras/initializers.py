"""tf.keras.initializers: what weights begin with. Meaning and messages of Keras 2.

Rule: an initializer is a callable from shape and dtype to a tensor; the numbers of one with a seed are always the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastgraph.api.namespaces import lookup
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, int64
from fastgraph.core.conversion import SizeLike, TensorLike, convert_to_tensor
from fastgraph.core.conversion import constant as constant_of
from fastgraph.core.tensor import Tensor, init_scope
from fastgraph.keras import backend, identifiers
from fastgraph.keras.identifiers import Identifier, config_of
from fastgraph.ops import creation, random_ops, stateless_random
from fastgraph.ops.elementwise import sign
from fastgraph.ops.factorizations import qr
from fastgraph.ops.matrix_diagonals import diag_part
from fastgraph.ops.matrix_transposes import matrix_transpose
from fastgraph.ops.movement import reshape

__all__ = [
    "Constant",
    "GlorotNormal",
    "GlorotUniform",
    "HeNormal",
    "HeUniform",
    "Identity",
    "Initializer",
    "LecunNormal",
    "LecunUniform",
    "Ones",
    "Orthogonal",
    "RandomNormal",
    "RandomUniform",
    "TruncatedNormal",
    "VarianceScaling",
    "Zeros",
    "constant",
    "deserialize",
    "get",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "serialize",
    "truncated_normal",
    "variance_scaling",
    "zeros",
]

__getattr__, __dir__ = lookup("keras.initializers")


class Initializer:
    """The base of initializers: `__call__(shape, dtype)` gives values. Source: tf.keras.initializers.Initializer."""

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Tensor:  # subclasses may take less
        """Return values of this shape and dtype."""
        raise NotImplementedError("Initializer subclasses must implement the `__call__()` method.")

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such an initializer."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """Return the initializer that `get_config` described."""
        return cls(**{name: value for name, value in config.items() if name != "dtype"})


def _part(shape: SizeLike, given: dict[str, Any], whole: str = "") -> Any:
    """The shape that keywords of `__call__` ask for: that of one part, or `shape`. `whole`: whose values have no parts.

    Raises TypeError for unknown keywords, ValueError for a layout, or for a part of what has none.
    """
    unknown = [name for name in given if name not in ("partition_shape", "partition_offset", "layout")]
    if unknown:
        raise TypeError(
            f"Unknown keyword arguments: {unknown}. Allowed keyword arguments: ['partition_shape', 'partition_offset', "
            "'layout']."
        )
    if given.get("layout") is not None:
        raise ValueError("Initializers give tensors of one device: a layout of DTensor is not built.")
    if whole and ("partition_shape" in given or "partition_offset" in given):
        raise ValueError(f"{whole} initializer doesn't support partition-related arguments.")
    return given.get("partition_shape", shape)


class Zeros(Initializer):
    """Zeros as what a weight begins with. Source: tf.keras.initializers.Zeros.

    A call takes a shape and a dtype (float32), and raises ValueError for strings.

    Examples:
        >>> tf.zeros_initializer()([2, 2], tf.int32)
        <tf.Tensor: shape=(2, 2), dtype=int32, numpy=
        array([[0, 0],
               [0, 0]], dtype=int32)>
    """

    def __call__(self, shape: SizeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        """Return zeros."""
        return creation.zeros(_part(shape, kwargs), _numeric(dtype))


class Ones(Initializer):
    """All 1. Raises ValueError for strings. Source: tf.keras.initializers.Ones."""

    def __call__(self, shape: SizeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        """Return ones."""
        return creation.ones(_part(shape, kwargs), _numeric(dtype))


class Constant(Initializer):
    """All `value`. Source: tf.keras.initializers.Constant."""

    def __init__(self, value: TensorLike = 0) -> None:
        self.value = value

    def __call__(self, shape: SizeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        """Return the value, repeated; of as many elements as the shape has, in that shape."""
        return constant_of(self.value, as_dtype(dtype or backend.floatx()), _part(shape, kwargs))

    get_config = config_of("value")


class ConstantOfAnyType(Constant):
    """All `value`, of its own dtype where none is asked for. Source: tf.constant_initializer.

    Raises: TypeError for a value that is no number, list or array, and for one of as many elements as no such shape.
    """

    def __init__(self, value: TensorLike = 0, support_partition: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, list | tuple | np.ndarray)):
            raise TypeError(
                f"Invalid type for initial value: {type(value).__name__}. Expected Python scalar, list or tuple of "
                "values, or numpy.ndarray."
            )
        super().__init__(value)

    def __call__(self, shape: SizeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        """Return the value, repeated; of as many elements as the shape has, in that shape."""
        return constant_of(self.value, dtype, _part(shape, kwargs, "Constant"))


class Identity(Initializer):
    """gain on the diagonal of a matrix, 0 elsewhere. Raises ValueError unless a matrix is asked for."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, shape: SizeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        """Return the identity matrix times the gain."""
        dims = _dims(_part(shape, kwargs, "Identity"))
        if len(dims) != 2:
            raise ValueError(f"Identity matrix initializer can only be used for 2D matrices. Received: shape={dims}")
        return self.gain * creation.eye(*dims, dtype=_floating(dtype))

    get_config = config_of("gain")


class _Random(Initializer):
    """Initializers that draw by tf.random's stateless ops of the seed, so that each call gives the same numbers.

    One without a seed takes its own at its first call, as Keras 2 does: see `backend.initializer_seed`.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed
        self._drawn: int | None = seed

    def draw(
        self, kind: str, shape: SizeLike, first: float, second: float, dtype: DType, offset: Sequence[int] | None = None
    ) -> Tensor:
        """Return draws of the op of that name and its two parameters. offset: where in the whole a part begins."""
        if self._drawn is None:
            self._drawn = backend.initializer_seed()
        op = getattr(stateless_random, f"stateless_{kind}")
        with init_scope():  # what a weight begins with is no part of the graph that makes it
            seed = convert_to_tensor([self._drawn, 0], int64)
            seed = stateless_random.fold_in(seed, hash(tuple(offset))) if offset else seed
            drawn: Tensor = op(shape, seed, first, second, dtype)
        return drawn

    get_config = config_of("seed")


class RandomUniform(_Random):
    """Even between minval and maxval. Source: tf.keras.initializers.RandomUniform."""

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None) -> None:
        super().__init__(seed)
        self.minval = minval
        self.maxval = maxval

    def __call__(self, shape: SizeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        """Return draws."""
        wanted, part = _numeric(dtype), _part(shape, kwargs)
        return self.draw("uniform", part, self.minval, self.maxval, wanted, kwargs.get("partition_offset"))

    get_config = config_of("minval maxval seed")


class RandomNormal(_Random):
    """Normal with `mean` and `stddev`. Source: tf.keras.initializers.RandomNormal."""

    KIND = "normal"

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        super().__init__(seed)
        self.mean = mean
        self.stddev = stddev

    def __call__(self, shape: SizeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        """Return draws."""
        wanted, part = _floating(dtype), _part(shape, kwargs)
        return self.draw(self.KIND, part, self.mean, self.stddev, wanted, kwargs.get("partition_offset"))

    get_config = config_of("mean stddev seed")


class TruncatedNormal(RandomNormal):
    """Normal, but within two `stddev` of `mean`. Source: tf.keras.initializers.TruncatedNormal."""

    KIND = "truncated_normal"


class AsOps(_Random):
    """Draws of tf.random's ops: without a seed each call's own."""

    def draw(
        self, kind: str, shape: SizeLike, first: float, second: float, dtype: DType, offset: Sequence[int] | None = None
    ) -> Tensor:
        """Return draws of the op of that name and its two parameters."""
        if self.seed is None:
            return getattr(random_ops, kind)(shape, first, second, dtype)
        return getattr(stateless_random, f"stateless_{kind}")(shape, [self.seed, 0], first, second, dtype)


class UniformDraws(AsOps, RandomUniform):
    """Even between minval and maxval, by the draws of tf.random.uniform. Source: tf.random_uniform_initializer."""


class NormalDraws(AsOps, RandomNormal):
    """Normal with `mean` and `stddev`, by the draws of tf.random.normal. Source: tf.random_normal_initializer."""


for _own in (ConstantOfAnyType, UniformDraws, NormalDraws):
    _own.__name__ = _own.__bases__[-1].__name__  # in configs, of which Keras 2 makes its own initializers


class VarianceScaling(_Random):
    """Variance scale / n, where n is by `mode` the count of inputs, of outputs, or their mean. Glorot 2010, He 2015.

    Raises ValueError for scale <= 0 and unknown modes and distributions. Source: tf.keras.initializers.VarianceScaling.
    """

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal", seed: int | None = None
    ) -> None:
        if scale <= 0.0:
            raise ValueError(f"`scale` must be positive float. Received: scale={scale}.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(
                f"Invalid `mode` argument: {mode}. Please use one of the {{'fan_in', 'fan_out', 'fan_avg'}}."
            )
        distribution = {"normal": "truncated_normal"}.get(distribution.lower(), distribution.lower())
        if distribution not in ("uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(
                f"Invalid `distribution` argument: {distribution}. Allowed distributions: "
                "{'uniform', 'truncated_normal', 'untruncated_normal'}."
            )
        super().__init__(seed)
        self.scale = scale
        self.mode = mode
        self.distribution = distribution

    def variance(self, dims: Sequence[int]) -> float:
        """Return the variance of weights of this shape."""
        fan_in, fan_out = fans(dims)
        return self.scale / max(
            1.0, {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[self.mode]
        )

    def __call__(self, shape: SizeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        """Return draws."""
        wanted, part, offset = _floating(dtype), _part(shape, kwargs), kwargs.get("partition_offset")
        variance = self.variance(_dims(shape))  # of the whole, whose part this may be
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return self.draw("uniform", part, -limit, limit, wanted, offset)
        if self.distribution == "untruncated_normal":
            return self.draw("normal", part, 0.0, math.sqrt(variance), wanted, offset)
        return self.draw("truncated_normal", part, 0.0, math.sqrt(variance) / TRUNCATED_STDDEV, wanted, offset)

    get_config = config_of("scale mode distribution seed")


class _Named(VarianceScaling):
    """VarianceScaling with all but the seed settled."""

    SCALE, MODE, DISTRIBUTION = 1.0, "fan_avg", "uniform"

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(self.SCALE, self.MODE, self.DISTRIBUTION, seed)

    get_config = config_of("seed")


class GlorotUniform(_Named):
    """Even, variance 2 / (inputs + outputs). Glorot and Bengio 2010. Source: tf.keras.initializers.GlorotUniform."""


class GlorotNormal(_Named):
    """Truncated normal, variance 2 / (inputs + outputs). Source: tf.keras.initializers.GlorotNormal."""

    DISTRIBUTION = "truncated_normal"


class HeUniform(_Named):
    """Even, variance 2 / inputs. He et al. 2015. Source: tf.keras.initializers.HeUniform."""

    SCALE, MODE = 2.0, "fan_in"


class HeNormal(_Named):
    """Truncated normal, variance 2 / inputs. Source: tf.keras.initializers.HeNormal."""

    SCALE, MODE, DISTRIBUTION = 2.0, "fan_in", "truncated_normal"


class LecunUniform(_Named):
    """Even, variance 1 / inputs. LeCun et al. 1998. Source: tf.keras.initializers.LecunUniform."""

    MODE = "fan_in"


class LecunNormal(_Named):
    """Truncated normal, variance 1 / inputs. Source: tf.keras.initializers.LecunNormal."""

    MODE, DISTRIBUTION = "fan_in", "truncated_normal"


class Orthogonal(_Random):
    """gain times orthonormal rows or columns, whichever are fewer, of the last axis against all others.

    Raises ValueError for less than two axes. Saxe et al. 2014. Source: tf.keras.initializers.Orthogonal.
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        super().__init__(seed)
        self.gain = gain

    def __call__(self, shape: SizeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        """Return Q of the QR factors of draws."""
        wanted, dims = _floating(dtype), _dims(_part(shape, kwargs, "Orthogonal"))
        if len(dims) < 2:
            raise ValueError(
                "The tensor to initialize must be at least two-dimensional. Received: "
                f"shape={dims} of rank {len(dims)}."
            )
        rows, columns = math.prod(dims[:-1]), dims[-1]
        draws = self.draw("normal", (max(rows, columns), min(rows, columns)), 0.0, 1.0, wanted)
        q, r = qr(draws)
        q = q * sign(diag_part(r))  # so that no direction is preferred
        return self.gain * reshape(matrix_transpose(q) if rows < columns else q, dims)

    get_config = config_of("gain seed")


#: Standard deviation of a standard normal cut at -2 and 2.
TRUNCATED_STDDEV = 0.87962566103423978


def fans(dims: Sequence[int]) -> tuple[float, float]:
    """Return how many inputs and outputs a unit of weights of this shape has; window axes come first."""
    if len(dims) < 2:
        n = float(dims[0]) if dims else 1.0
        return n, n
    window = math.prod(dims[:-2])
    return float(dims[-2] * window), float(dims[-1] * window)


def get(identifier: Identifier) -> Any:
    """Return an initializer: itself, None, or by its name or config. Raises ValueError for an unknown one."""
    if identifier is None:
        return None
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier() if isinstance(identifier, type) else identifier
    raise ValueError(f"Could not interpret initializer identifier: {identifier}")


def deserialize(
    config: str | Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None, use_legacy_format: bool = False
) -> Any:
    """Return the initializer of a name or config, of either format. Raises ValueError for an unknown one."""
    return identifiers.find(config, {**_TABLE, **(custom_objects or {})}, "initializer")


def serialize(initializer: object, use_legacy_format: bool = False) -> Any:
    """Return the config of an initializer; in the format of Keras up to 2.12 if that is wanted."""
    return identifiers.described(initializer, "keras.initializers", use_legacy_format)


constant, identity, ones, zeros = Constant, Identity, Ones, Zeros
random_normal, random_uniform, truncated_normal = RandomNormal, RandomUniform, TruncatedNormal
orthogonal, variance_scaling = Orthogonal, VarianceScaling
glorot_normal, glorot_uniform, he_normal, he_uniform = GlorotNormal, GlorotUniform, HeNormal, HeUniform
lecun_normal, lecun_uniform = LecunNormal, LecunUniform

_KINDS = (
    Constant, Identity, Ones, Orthogonal, Zeros, RandomNormal, RandomUniform, TruncatedNormal, VarianceScaling,
    GlorotNormal, GlorotUniform, HeNormal, HeUniform, LecunNormal, LecunUniform,
)  # fmt: skip
_TABLE: dict[str, Any] = {
    **{backend.snake_case(kind.__name__): kind for kind in _KINDS},
    "one": Ones,
    "zero": Zeros,
    "normal": RandomNormal,
    "uniform": RandomUniform,
}
_TABLE |= {kind.__name__: kind for kind in _TABLE.values()}


def _dims(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of lengths. Raises ValueError for one that is not all known."""
    lengths = shape.as_list() if hasattr(shape, "as_list") else np.asarray(shape).reshape(-1).tolist()
    if any(n is None for n in lengths):
        raise ValueError(f"The shape of a weight must be fully known. Received: shape={shape}")
    return tuple(int(n) for n in lengths)


def _numeric(dtype: DTypeLike | None) -> DType:
    wanted = as_dtype(dtype or backend.floatx())
    if not wanted.is_numpy_compatible or wanted.name == "string":
        raise ValueError(f"Expected numeric or boolean dtype, got {wanted!r}.")
    return wanted


def _floating(dtype: DTypeLike | None) -> DType:
    wanted = as_dtype(dtype or backend.floatx())
    if not wanted.is_floating:
        raise ValueError(f"Expected floating point type, got {wanted!r}.")
    return wanted
