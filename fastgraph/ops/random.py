"""Random numbers of a distribution: uniform, normal, truncated normal, categorical, shuffled, dropped.

Rule: every function exists once, over a source of bits (generators.py): an op's own generator, or a seed that the
caller gives (`stateless_*`: the same numbers each time).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph._tensor import Tensor
from fastgraph.dtype import DType, as_dtype, float32, int64
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import Extents, as_tensor, extents, known_value, static_int
from fastgraph.ops.elementwise import (
    add,
    bitwise_xor,
    cast,
    floormod,
    maximum,
    minimum,
    multiply,
    right_shift,
    select,
    subtract,
    zeros_like_p,
)
from fastgraph.ops.exponentials import cos, log, sqrt
from fastgraph.ops.families import invalid, public, shape_text
from fastgraph.ops.gathering import dim, gather_p
from fastgraph.ops.generators import Source, bits, generators, normal_from_bits, unit_from_bits
from fastgraph.ops.joining import stack
from fastgraph.ops.movement import shape
from fastgraph.ops.nnops import softmax_p
from fastgraph.ops.ranking import argsort_p, search_sorted
from fastgraph.ops.scans import cumsum_p
from fastgraph.ops.special import erfinv


@public("random.set_seed")
def set_seed(seed: Any) -> Any:
    """Begin the sequences of all random ops anew, from `seed` (None: from an unforeseeable one).

    Source: tf.random.set_seed, whose examples of global and op seeds hold here.
    """
    generators.reset(None if seed is None else int(seed))


class Stateless(Source):
    """Bits of a seed i[2] alone: the same for the same seed."""

    def __init__(self, seed: Any) -> None:
        seed = as_tensor(seed)
        if seed.dtype.name not in ("int32", "int64"):
            name = {"float32": "float", "float64": "double"}.get(seed.dtype.name, seed.dtype.name)
            raise invalid(f"Value for attr 'Tseed' of {name} is not in the list of allowed values: int32, int64")
        if seed.shape.rank is not None and not seed.shape.is_compatible_with([2]):
            raise invalid(f"seed must have shape [2], not {shape_text(seed.shape.as_list())}")
        self.key = _scrambled(seed)
        self.counter: Any = 0

    def state(self, n: Any) -> Any:
        """The state from which n blocks follow."""
        state = stack([self.key, cast(self.counter, int64)])
        self.counter = self.counter + (n if isinstance(n, int) else cast(n, int64))
        return state


def _scrambled(seed: Any) -> Any:
    """A 64-bit key that depends on all bits of a seed. i[2] -> i64[]. Source: SplitMix64, Steele et al. 2014."""
    words = cast(cast(seed, int64), "uint64")

    def word(n: int) -> Any:
        return as_tensor(n, "uint64")

    state = word(0x9E3779B97F4A7C15)
    for i in range(2):
        state = bitwise_xor(state, words[i]) * as_tensor(0xBF58476D1CE4E5B9, "uint64")
        state = bitwise_xor(state, right_shift(state, as_tensor(27, "uint64"))) * as_tensor(
            0x94D049BB133111EB, "uint64"
        )
        state = bitwise_xor(state, right_shift(state, as_tensor(31, "uint64")))
    return cast(state, int64)


# ---- numbers --------------------------------------------------------------------------------------------------------


def _word(dtype: DType) -> str:
    return "uint64" if dtype.name == "float64" else "uint32"


def _uniform(source: Source, size: Extents, low: Any, high: Any, target: DType, op: str, name: str | None) -> Any:
    low_, high_ = as_tensor(low, target), as_tensor(high, target)
    if target.is_integer:
        a, b = known_value(low_), known_value(high_)
        if a is not None and b is not None and np.any(a >= b):
            raise InvalidArgumentError(
                None,
                None,
                f"{{{{function_node __wrapped__{op}_device_/job:localhost/replica:0/task:0/device:CPU:0}}}} "
                f"Need minval < maxval, got {a} >= {b} [Op:{op}] name: ",
            )
        span = cast(subtract(cast(high_, int64), cast(low_, int64)), "uint64")
        offset = floormod(bits(source, size, "uint64"), span)
        return add(cast(cast(offset, int64), target), low_, name=name)
    unit = unit_from_bits(bits(source, size, _word(target)), dtype=target)
    if type(low) in (int, float) and low == 0 and type(high) in (int, float) and high == 1:
        return unit
    return add(multiply(unit, subtract(high_, low_)), low_, name=name)


@public("random.uniform")
def uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> Any:
    """Numbers spread evenly over [minval, maxval). -> dtype[*shape].

    maxval is 1 for floats and must be given for integers.

    Raises: ValueError for other dtypes or integers without maxval; InvalidArgumentError if minval >= maxval.
    Source: tf.random.uniform.
    """
    target = as_dtype(dtype)
    accepted = ("float16", "bfloat16", "float32", "float64", "int32", "int64")
    if target.name not in accepted:
        raise ValueError(
            f"Argument `dtype` got invalid value {target!r}. Accepted dtypes are "
            f"({', '.join('tf.' + n for n in accepted)})."
        )
    if maxval is None:
        if target.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {target!r}")
        maxval = 1
    source = generators.source(f"uniform_{target.name}", seed)
    return _uniform(source, extents(shape), minval, maxval, target, "RandomUniformInt", name)


def _standard_normal(source: Source, size: Extents, dtype: DType) -> Any:
    """Numbers of the standard normal distribution. Source: Box and Muller 1958."""
    if dtype.name != "float64":
        return cast(normal_from_bits(bits(source, size, "uint64")), dtype)
    radius, angle = (unit_from_bits(bits(source, size, "uint64"), dtype=dtype) for _ in range(2))
    return sqrt(log(1.0 - radius) * -2.0) * cos(angle * 6.283185307179586)


def _check_floating(target: DType, what: str) -> None:
    if not target.is_floating:
        raise TypeError(f"random.{what} gives floating numbers, not {target.name}")


@public("random.normal")
def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> Any:
    """Numbers of the normal distribution. -> dtype[*shape].

    Raises: TypeError for integers. Source: tf.random.normal.
    """
    target = as_dtype(dtype)
    mean_, stddev_ = as_tensor(mean, target), as_tensor(stddev, target)
    _check_floating(target, "normal")
    standard = _standard_normal(generators.source(f"normal_{target.name}", seed), extents(shape), target)
    if type(mean) is type(stddev) is float and mean == 0 and stddev == 1:
        return standard
    return add(multiply(standard, stddev_), mean_, name=name)


def _truncated(source: Source, size: Extents, mean: Any, stddev: Any, target: DType, name: str | None) -> Any:
    """By the inverse of the distribution function, within two standard deviations."""
    wide = float32 if target.size < 8 else target
    # erf(2 / sqrt(2)): the mass within two standard deviations.
    x = (unit_from_bits(bits(source, size, _word(wide)), dtype=wide) * 2.0 - 1.0) * 0.954499736103642
    standard = cast(erfinv(x) * 1.4142135623730951, target)
    # Rounded, the outermost could lie a little beyond.
    standard = maximum(minimum(standard, as_tensor(2, target)), as_tensor(-2, target))
    return add(multiply(standard, as_tensor(stddev, target)), as_tensor(mean, target), name=name)


@public("random.truncated_normal")
def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> Any:
    """Numbers of the normal distribution, no further than 2 stddev from the mean. -> dtype[*shape].

    Raises: TypeError for integers. Source: tf.random.truncated_normal.
    """
    target = as_dtype(dtype)
    mean, stddev = as_tensor(mean, target), as_tensor(stddev, target)
    _check_floating(target, "truncated_normal")
    source = generators.source(f"truncated_normal_{target.name}", seed)
    return _truncated(source, extents(shape), mean, stddev, target, name)


def _categorical(source: Source, logits: Any, num_samples: Any, dtype: Any, name: str | None) -> Any:
    """Each sample is the first class at which the running sum of the probabilities passes an even number."""
    logits = as_tensor(logits)
    if logits.shape.rank not in (None, 2):
        raise invalid(f"logits should be a matrix, got shape {shape_text(logits.shape.as_list())} [Op:Multinomial]")
    if logits.shape.rank is not None and logits.shape[1] == 0:
        raise invalid("num_classes should be positive, got 0 [Op:Multinomial]")
    number = static_int(num_samples)
    if number is not None and number < 0:
        raise invalid(f"num_samples should be non-negative, got {number} [Op:Multinomial]")
    totals = cumsum_p(softmax_p(cast(logits, "float64")), axis=1, exclusive=False, reverse=False)
    size = extents([dim(logits, 0), num_samples if number is None else number])
    unit = unit_from_bits(bits(source, size, "uint64"), dtype=as_dtype("float64"))
    # Of the last total, which rounding may leave short of 1, no share is lost; a class of no mass is never met.
    found = search_sorted(totals, unit * totals[:, -1:], right=True, out_type=int64)
    return cast(minimum(found, cast(dim(logits, 1), int64) - 1), dtype or int64, name)


@public("random.categorical")
def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: str | None = None) -> Any:
    """Classes drawn with the probabilities softmax(logits) of each row. f[n, c] -> i64[n, num_samples].

    Raises: InvalidArgumentError for other ranks or no classes. Source: tf.random.categorical.
    """
    return _categorical(generators.source("categorical", seed), logits, num_samples, dtype, name)


def _shuffled(source: Source, value: Any, name: str | None) -> Any:
    """The rows in the order of random numbers."""
    value = as_tensor(value)
    if value.shape.rank == 0:
        return value
    order = argsort_p(bits(source, extents([dim(value, 0)]), "uint64"), descending=False)
    return gather_p(value, order, axis=0, batch_dims=0)


@public("random.shuffle")
def shuffle(value: Any, seed: Any = None, name: str | None = None) -> Any:
    """The slices of value along its first axis in random order. t[n, *s] -> t[n, *s]. Source: tf.random.shuffle."""
    return _shuffled(generators.source("shuffle", seed), value, name)


# ---- dropout --------------------------------------------------------------------------------------------------------


def _noise(x: Any, noise_shape: Any) -> Extents:
    """The shape of the random numbers of a dropout: x's, with what noise_shape says in place of it."""
    if noise_shape is None:
        return extents(x.shape) if x.shape.is_fully_defined() else Extents(None, shape(x))
    if isinstance(noise_shape, Tensor):
        return extents(noise_shape)
    dims = [*noise_shape]
    if None in dims and x.shape.rank == len(dims):  # None stands for x's own extent
        dims = [dim(x, i) if n is None else n for i, n in enumerate(dims)]
    return extents(dims)


def _dropped(source_of: Any, x: Any, rate: Any, noise_shape: Any) -> Any:
    x = as_tensor(x)
    if not x.dtype.is_floating:
        raise ValueError(
            f"`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype={x.dtype}"
        )
    if isinstance(rate, (int, float)):
        if not 0 <= rate < 1:
            raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
        if rate == 0:
            return x
    elif not isinstance(rate, (Tensor, np.ndarray, np.generic)) and not hasattr(type(rate), "__fg_tensor__"):
        raise ValueError(f"`rate` must be a scalar or scalar tensor. Received: rate={rate}")
    share = as_tensor(rate, x.dtype)
    if share.dtype is not x.dtype:
        raise ValueError(
            f"`x.dtype` must be compatible with `rate.dtype`. Received: x.dtype={x.dtype} and rate.dtype={share.dtype}"
        )
    unit = unit_from_bits(bits(source_of(), _noise(x, noise_shape), _word(x.dtype)), dtype=x.dtype)
    scaled = x * (1.0 / (1.0 - share))
    return select(unit >= share, scaled, zeros_like_p(scaled))


@public("nn.dropout")
def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None) -> Any:
    """x with a share `rate` of the elements 0, the others scaled up by 1 / (1 - rate). f[*s] -> f[*s].

    `noise_shape`, which broadcasts to x's, says which elements fall together; None in it is x's own extent.
    Raises: ValueError for integers or a rate outside [0, 1). Source: tf.nn.dropout; Srivastava et al. 2014.
    """
    return _dropped(lambda: generators.source("dropout", seed), x, rate, noise_shape)


# ---- stateless ------------------------------------------------------------------------------------------------------


@public("random.stateless_uniform")
def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Any:
    """Numbers spread evenly over [minval, maxval), the same for the same seed i[2]. -> dtype[*shape].

    Of integers, both bounds None give any number. Raises: ValueError for integers with one bound;
    InvalidArgumentError for another seed. Source: tf.random.stateless_uniform.
    """
    target, size = as_dtype(dtype), extents(shape)
    if target.is_integer:
        if (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer `dtype` argument {target!r}, argument `minval` and `maxval` must be both None or not "
                f"None. Got `minval`={minval} and `maxval`={maxval}."
            )
        if minval is None:
            return cast(bits(Stateless(seed), size, "uint64" if target.size == 8 else "uint32"), target, name)
    bounds = (0 if minval is None else minval), (1 if maxval is None else maxval)
    return _uniform(Stateless(seed), size, *bounds, target, "StatelessRandomUniformIntV2", name)


@public("random.stateless_normal")
def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Any:
    """Numbers of the normal distribution, the same for the same seed i[2]. -> dtype[*shape].

    Source: tf.random.stateless_normal.
    """
    target = as_dtype(dtype)
    mean, stddev = as_tensor(mean, target), as_tensor(stddev, target)
    return add(multiply(_standard_normal(Stateless(seed), extents(shape), target), stddev), mean, name=name)


@public("random.stateless_truncated_normal")
def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Any:
    """Numbers of the truncated normal distribution, the same for the same seed i[2]. -> dtype[*shape].

    Source: tf.random.stateless_truncated_normal.
    """
    return _truncated(Stateless(seed), extents(shape), mean, stddev, as_dtype(dtype), name)


@public("random.stateless_categorical")
def stateless_categorical(logits: Any, num_samples: Any, seed: Any, dtype: Any = int64, name: str | None = None) -> Any:
    """Classes drawn with the probabilities softmax(logits), the same for the same seed. f[n, c] -> i64[n, samples].

    Source: tf.random.stateless_categorical.
    """
    return _categorical(Stateless(seed), logits, num_samples, dtype, name)


@public("random.experimental.stateless_shuffle")
def stateless_shuffle(value: Any, seed: Any, alg: Any = "auto_select", name: str | None = None) -> Any:
    """The slices of value along its first axis in an order that the seed i[2] says. t[n, *s] -> t[n, *s].

    Source: tf.random.experimental.stateless_shuffle.
    """
    return _shuffled(Stateless(seed), value, name)


@public("nn.experimental.stateless_dropout")
def stateless_dropout(
    x: Any, rate: Any, seed: Any, rng_alg: Any = "auto_select", noise_shape: Any = None, name: str | None = None
) -> Any:
    """`dropout` that drops the same elements for the same seed i[2]. f[*s] -> f[*s].

    Source: tf.nn.experimental.stateless_dropout.
    """
    return _dropped(lambda: Stateless(seed), x, rate, noise_shape)


@public("random.split", "random.experimental.stateless_split")
def split(seed: Any, num: Any = 2, alg: Any = "auto_select") -> Any:
    """New seeds, independent of each other, from one. i[2] -> i[num, 2]. Source: tf.random.split."""
    seed = as_tensor(seed)
    words = bits(Stateless(seed), extents([num, 2]), "uint64" if seed.dtype.size == 8 else "uint32")
    return cast(words, seed.dtype)


@public("random.fold_in", "random.experimental.stateless_fold_in")
def fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Any:
    """A new seed from one and a number. i[2], i[] -> i[2]. Source: tf.random.fold_in."""
    seed = as_tensor(seed)
    mixed = bitwise_xor(_scrambled(seed), _scrambled(stack([cast(data, int64), cast(1, int64)])))
    return cast(stack([mixed, right_shift(mixed, as_tensor(32, int64))]), seed.dtype)
