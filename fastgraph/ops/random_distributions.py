"""Gamma, Poisson, binomial numbers and normal numbers between given ends, with the gradients of those that have them.

Rule: every op draws from the distribution of each element of its parameters, which stand for the last axes of the
result; the loops are C (distributions.h). `stateless_*` is given the whole shape of the result, the others what comes
before the parameters' shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, float32, int32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.core.native import philox
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import Extents, as_tensor, extents, named, not_allowed, refused, tensor_of
from fastgraph.ops.broadcast_shapes import broadcast_dynamic_shape
from fastgraph.ops.broadcasting import broadcast_to, sum_to
from fastgraph.ops.elementwise import abs as absolute
from fastgraph.ops.elementwise import cast, maximum, minimum, select, zeros_like_p
from fastgraph.ops.exponentials import erf, erfc, exp, log, log1p
from fastgraph.ops.families import Array, Dims, broadcast, custom, elementwise, invalid, misuse, public
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import shape as shape_of
from fastgraph.ops.movement import shape_of_value
from fastgraph.ops.random_states import REJECTION, Source, Stateless, as_vector, checked_size, count, generators
from fastgraph.ops.reduction import reduce_prod

_ENDS = "Shape passed in must end with broadcasted shape."
_NUMBERS = "float16 float32 float64 int32 int64"
_STATE = np.array([0, 5, 3])


def _split(shape: Array, parameters: Sequence[Array]) -> tuple[tuple[int, ...], int, list[Array]]:
    """The size of the result, the samples of each distribution, and the parameters as vectors of one length."""
    size = checked_size(shape)
    together = np.broadcast_shapes(*[p.shape for p in parameters])
    if size[len(size) - len(together) :] != together or len(together) > len(size):
        raise invalid(_ENDS)
    n = math.prod(together)
    vectors = [np.broadcast_to(p, together).astype(np.float64).reshape(-1) for p in parameters]
    return size, math.prod(size) // n if n else 0, vectors


def _infer(state: Aval, shape: Aval, *parameters: Aval, dtype: DType | None = None) -> Aval:
    dims = shape_of_value(shape)
    together: Dims = ()
    for p in parameters:
        together = broadcast(together, p.shape)
    if dims is not None and together is not None:
        ending = dims[len(dims) - len(together) :]
        if len(together) > len(dims) or any(
            None not in (a, b) and a != b for a, b in zip(ending, together, strict=True)
        ):
            raise invalid(_ENDS)
        known = [b if a is None else a for a, b in zip(ending, together, strict=True)]
        dims = (*dims[: len(dims) - len(together)], *known)
    return Aval(dtype or parameters[0].dtype, dims)


def _fitted(found: Array, dtype: DType) -> Array:
    """float64 numbers as numbers of a dtype; what an integer cannot hold is its greatest."""
    if dtype.is_integer:
        return np.clip(found, None, _top(dtype)).astype(dtype.numpy_dtype)
    with np.errstate(over="ignore"):
        return found.astype(dtype.numpy_dtype)


def _top(dtype: DType) -> float:
    if not dtype.is_integer:
        return float(np.finfo(dtype.numpy_dtype).max)
    top = np.iinfo(dtype.numpy_dtype).max
    return float(top) if dtype.size < 8 else float(np.nextafter(float(top), 0))


# ---- gamma ----------------------------------------------------------------------------------------------------------


@elementwise(
    op="RandomGammaGrad",
    dtypes="float16 float32 float64",
    samples=lambda: [
        ((np.array([0.3, 1.0, 4.0, 90.0], t), np.array([0.2, 0.5, 6.0, 100.0], t)), {}) for t in ("float32", "float64")
    ],
    reason="a series or a continued fraction: how many terms it needs is data",
)
def gamma_slope(alpha: Array, sample: Array) -> Any:
    """Slope of gamma variates along their shape alpha. f[*s], f[*s] -> f[*s]. Source: Figurnov et al. 2018."""
    shape = np.broadcast_shapes(alpha.shape, sample.shape)
    a, x = [np.broadcast_to(v, shape).astype(np.float64).reshape(-1) for v in (alpha, sample)]
    return philox.gamma_slope(a, x).reshape(shape).astype(sample.dtype)


@public("raw_ops.RandomGammaGrad")
def random_gamma_grad(alpha: TensorLike, sample: TensorLike, name: str | None = None) -> Any:
    """Slope of gamma variates `sample` along their shape `alpha`. f[*s], f[*s] -> f[*s].

    Source: tf.raw_ops.RandomGammaGrad.
    """
    return named(name, gamma_slope, alpha, sample)


@custom(
    infer=_infer,
    groups=("int64", "I", "T"),
    dtypes={"T": "float16 float32 float64", "I": "index"},
    shape_inputs=(1,),
    vjp=dict(alpha=lambda dy, alpha, out: sum_to(dy * gamma_slope(alpha, out), shape_of(alpha))),
    samples=lambda: [
        ((_STATE, np.array(d), np.array([0.3, 1.0, 7.0], t)), {})
        for d in ([3], [4, 3], [0, 3])
        for t in ("float16", "float32", "float64")
    ],
    error_samples=lambda: [misuse(_ENDS, _STATE, np.array([4]), np.ones(3))],
    step="philox.gamma",
)
def random_gamma(state: Array, shape: Array, alpha: Array) -> Any:
    """Gamma variates of shape alpha and scale 1. i64[3], i[n], f[*s] -> f[*shape], which ends with s."""
    size, samples, (a,) = _split(shape, [alpha])
    with np.errstate(over="ignore"):
        return philox.drawn("gamma", state, [a], samples).reshape(size).astype(alpha.dtype)


def _whole(shape: Any, together: Tensor, source: Source) -> tuple[Any, Any]:
    """The state of `shape` samples of each distribution, and the shape of them all, i[n]."""
    if np.ndim(shape) == 0 if isinstance(shape, (int, np.ndarray, np.generic)) else _is_scalar(shape):
        raise invalid(f"shape must be a vector of {{int32,int64}}, got shape: {shape}")
    before = as_vector(extents(shape))
    whole = concat([cast(before, int32), cast(together, int32)], 0)
    return source.state(_count(whole)), whole


def _is_scalar(shape: list[Any]) -> bool:
    return isinstance(shape, Tensor) and shape.shape.rank == 0


def _count(shape: Tensor) -> Any:
    size = extents(shape)
    return reduce_prod(cast(size.tensor, "int64")) if size.static is None else count(size)


def _rated(variates: Tensor, beta: Tensor | None, alpha: Tensor) -> Any:
    tiny = as_tensor(float(np.finfo(alpha.dtype.numpy_dtype).tiny), alpha.dtype)
    return maximum(tiny, variates if beta is None else variates / beta)


def _gamma_parameters(alpha: TensorLike, beta: TensorLike | None, dtype: DTypeLike) -> tuple[Any, Any, Any]:
    target = as_dtype(dtype)
    alpha = tensor_of(alpha, target)
    if beta is None:
        return alpha, None, shape_of(alpha)
    beta = tensor_of(beta, target)
    together = broadcast_dynamic_shape(shape_of(alpha), shape_of(beta))
    return broadcast_to(alpha, together), beta, together


@public("random.gamma")
def gamma(
    shape: SizeLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = float32,
    seed: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Gamma variates of shape alpha and rate beta (1). f[*s], f[*s] -> f[*shape, *s].

    They have gradients with respect to both. Raises: InvalidArgumentError for shapes that do not broadcast. Source:
    tf.random.gamma; Marsaglia and Tsang 2000.
    """
    shapes, rates, together = _gamma_parameters(alpha, beta, dtype)
    state, whole = _whole(shape, together, generators.source(f"gamma_{shapes.dtype.name}", seed, shape, alpha, beta))
    return _rated(random_gamma(state, whole, shapes), rates, shapes)


@public("random.stateless_gamma")
def stateless_gamma(
    shape: SizeLike,
    seed: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """`gamma`, the same for the same seed i[2]; shape is the result's and ends with that of the parameters.

    Raises: InvalidArgumentError if it does not. Source: tf.random.stateless_gamma.
    """
    shapes, rates, _ = _gamma_parameters(alpha, beta, dtype)
    size = as_vector(extents(shape))
    return _rated(random_gamma(Stateless(seed).state(0), size, shapes), rates, shapes)


# ---- whole numbers --------------------------------------------------------------------------------------------------


@custom(
    op="RandomPoissonV2",
    infer=_infer,
    groups=("int64", "I", "T"),
    dtypes={"T": _NUMBERS, "I": "index"},
    shape_inputs=(1,),
    samples=lambda: [
        ((_STATE, np.array([4, 3]), np.array([0.3, 9.0, 70.0], t)), {"dtype": as_dtype(to)})
        for t in ("float32", "float64")
        for to in _NUMBERS.split()
    ],
    error_samples=lambda: [misuse(_ENDS, _STATE, np.array([4]), np.ones(3), dtype=int32)],
    reason=REJECTION,
)
def random_poisson(state: Array, shape: Array, rate: Array, *, dtype: DType) -> Any:
    """Poisson variates of mean `rate`. i64[3], i[n], t[*s] -> dtype[*shape], which ends with s."""
    size, samples, (r,) = _split(shape, [rate])
    return _fitted(philox.drawn("poisson", state, [r, _top(dtype)], samples).reshape(size), dtype)


def _check_number(target: DType) -> DType:
    if target.name not in _NUMBERS.split():
        raise refused(not_allowed(target, "dtype", "half, float, double, int32, int64"))
    return target


@public("random.poisson")
def poisson(
    shape: SizeLike, lam: TensorLike, dtype: DTypeLike = float32, seed: TensorLike | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Poisson variates of mean lam. t[*s] -> dtype[*shape, *s].

    Raises: InvalidArgumentError for other dtypes. Source: tf.random.poisson; Knuth 1969, Hormann 1993.
    """
    target, rate = _check_number(as_dtype(dtype)), as_tensor(lam)
    source = generators.source(f"poisson_{target.name}_{rate.dtype.name}", seed, shape, lam)
    state, whole = _whole(shape, shape_of(rate), source)
    return random_poisson(state, whole, rate, dtype=target)


@public("random.stateless_poisson")
def stateless_poisson(
    shape: SizeLike, seed: TensorLike, lam: TensorLike, dtype: DTypeLike = int32, name: str | None = None
) -> Tensor:
    """`poisson`, the same for the same seed i[2]; shape is the result's and ends with lam's.

    Raises: InvalidArgumentError if it does not. Source: tf.random.stateless_poisson.
    """
    target = _check_number(as_dtype(dtype))
    return random_poisson(Stateless(seed).state(0), as_vector(extents(shape)), as_tensor(lam), dtype=target)


@custom(
    op="StatelessRandomBinomial",
    infer=_infer,
    groups=("int64", "I", "T", "T"),
    dtypes={"T": _NUMBERS, "I": "index"},
    shape_inputs=(1,),
    samples=lambda: [
        ((_STATE, np.array([4, 3]), np.array([5, 60, 1000], t), np.array(0.3, t)), {"dtype": as_dtype(to)})
        for t in ("float32", "float64")
        for to in _NUMBERS.split()
    ],
    error_samples=lambda: [misuse(_ENDS, _STATE, np.array([4]), np.ones(3), np.ones(3), dtype=int32)],
    reason=REJECTION,
)
def random_binomial(state: Array, shape: Array, counts: Array, probs: Array, *, dtype: DType) -> Any:
    """Binomial variates. i64[3], i[n], t[*s], t[*s] -> dtype[*shape], which ends with s; s broadcast."""
    size, samples, parameters = _split(shape, [counts, probs])
    return _fitted(philox.drawn("binomial", state, parameters, samples).reshape(size), dtype)


def _set_aside(size: Extents, *ranks: int | None) -> Any:
    """Return for how many numbers binomial ones, whose parameters have these ranks, move a state on in TensorFlow."""
    known = [rank for rank in ranks if rank is not None]
    if size.static is None or len(known) < len(ranks):
        return 200 * count(size)
    split = len(size.static) - max(known)
    return 200 * math.prod(size.static[split:]) * (math.prod(size.static[:split]) + 3) // 4


def binomial_of(source: Source, shape: SizeLike, counts: TensorLike, probs: TensorLike, dtype: DTypeLike) -> Any:
    """Binomial variates of a source."""
    target = _check_number(as_dtype(dtype))
    probs = as_tensor(probs)
    counts = as_tensor(counts, probs.dtype)
    counts = counts if counts.dtype is probs.dtype else cast(counts, probs.dtype)
    size = extents(shape)
    n = _set_aside(size, counts.shape.rank, probs.shape.rank)
    return random_binomial(source.state(n), as_vector(size), counts, probs, dtype=target)


@public("random.stateless_binomial")
def stateless_binomial(
    shape: SizeLike, seed: TensorLike, counts: TensorLike, probs: TensorLike, output_dtype: DTypeLike = int32,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Successes in `counts` trials of probability `probs`, the same for the same seed i[2]. -> output_dtype[*shape].

    shape ends with that of the parameters, which broadcast. Raises: InvalidArgumentError if it does not. Source:
    tf.random.stateless_binomial; Hormann 1993.
    """
    return binomial_of(Stateless(seed), shape, counts, as_tensor(probs, float32), output_dtype)


# ---- normal between given ends --------------------------------------------------------------------------------------


def _distribution(x: Tensor) -> Any:
    """The standard normal distribution function, to the last place in both tails."""
    w = x * math.sqrt(0.5)
    size = absolute(w)
    tail = erfc(size)
    return 0.5 * select(size < math.sqrt(0.5), 1.0 + erf(w), select(w > 0, 2.0 - tail, tail))


def _finite(end: Tensor) -> Any:
    """An end, or 0 for one that is infinite: nothing follows that."""
    return select(absolute(end) < math.inf, end, zeros_like_p(end))


def _truncated_grads(
    dy: Tensor, means: Tensor, stddevs: Tensor, minvals: Tensor, maxvals: Tensor, out: Tensor
) -> dict[str, Any]:
    """Gradient by implicit differentiation of the distribution function. Source: Figurnov et al. 2018."""
    low, high, x = [(v - means) / stddevs for v in (minvals, maxvals, out)]
    below = _distribution(low)
    share = (_distribution(x) - below) / (_distribution(high) - below)
    limits = np.finfo(out.dtype.numpy_dtype)
    share = minimum(maximum(share, as_tensor(float(limits.tiny), x.dtype)), as_tensor(1 - float(limits.eps), x.dtype))
    by_max = exp(0.5 * (x * x - high * high) + log(share))
    by_min = exp(0.5 * (x * x - low * low) + log1p(-share))
    # Parameters that move all of the distribution move its ends too, which stay where they are.
    by_mean = 1.0 - by_min - by_max
    by_stddev = x - by_min * _finite(low) - by_max * _finite(high)
    slopes = {"means": (by_mean, means), "stddevs": (by_stddev, stddevs), "minvals": (by_min, minvals)}
    slopes["maxvals"] = (by_max, maxvals)
    return {name: sum_to(dy * slope, shape_of(of)) for name, (slope, of) in slopes.items()}


@custom(
    op="StatelessParameterizedTruncatedNormal",
    infer=_infer,
    groups=("int64", "I", "T", "T", "T", "T"),
    dtypes={"T": "float16 float32 float64", "I": "index"},
    shape_inputs=(1,),
    vjp_all=_truncated_grads,
    samples=lambda: [
        (
            (
                _STATE,
                np.array([40, 3]),
                np.array([0, 1, 5], t),
                np.array(2, t),
                np.array([-1, 3, 9], t),
                np.array(10, t),
            ),
            {},
        )
        for t in ("float32", "float64")
    ],
    error_samples=lambda: [
        misuse("Invalid parameters", _STATE, np.array([4]), np.array(0.0), np.array(1.0), np.array(3.0), np.array(2.0))
    ],
    reason=REJECTION,
)
def random_truncated(state: Array, shape: Array, means: Array, stddevs: Array, minvals: Array, maxvals: Array) -> Any:
    """Normal variates between minvals and maxvals. i64[3], i[n], f[*s] ... -> f[*shape], which ends with s."""
    size, samples, parameters = _split(shape, [means, stddevs, minvals, maxvals])
    mean, deviation, low, high = parameters
    if not np.all((deviation > 0) & (low < high) & np.isfinite(mean) & (np.isfinite(low) | np.isfinite(high))):
        raise invalid("Invalid parameters")
    return philox.normals_between(state, parameters, samples, 8 * means.itemsize).reshape(size).astype(means.dtype)


@public("random.stateless_parameterized_truncated_normal")
def stateless_parameterized_truncated_normal(
    shape: SizeLike,
    seed: TensorLike,
    means: TensorLike = 0.0,
    stddevs: TensorLike = 1.0,
    minvals: TensorLike = -2.0,
    maxvals: TensorLike = 2.0,
    name: str | None = None,
) -> Any:
    """Normal variates between minvals and maxvals, the same for the same seed i[2]. -> f[*shape].

    shape ends with that of the parameters, which broadcast; the result has gradients with respect to each of them.
    Raises: InvalidArgumentError for shapes that do not fit, no standard deviation or no room between the ends. Source:
    tf.random.stateless_parameterized_truncated_normal; Robert 1995.
    """
    means = as_tensor(means)
    rest = [as_tensor(v, means.dtype) for v in (stddevs, minvals, maxvals)]
    return random_truncated(Stateless(seed).state(0), as_vector(extents(shape)), means, *rest)
