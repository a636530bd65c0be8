"""Random numbers of a distribution: uniform, normal, truncated normal, categorical, shuffled, dropped.

Rule: every function exists once, over a source of states (random_states.py): an op's own generator, or another one
(stateless_random.py: a seed that the caller gives; random_generator.py: a Variable).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, SupportsInt

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, float32, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.core.name_scopes import op_scope
from fastgraph.core.native import philox
from fastgraph.core.tensor import Tensor, class_has
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import Extents, as_tensor, extents, known_value, static_int, tensor_of
from fastgraph.ops.comparison import greater_equal, is_finite
from fastgraph.ops.creation import zeros
from fastgraph.ops.division import floormod
from fastgraph.ops.elementwise import add, cast, maximum, minimum, multiply, select, subtract, zeros_like_p
from fastgraph.ops.families import Array, custom, invalid, public, shape_text
from fastgraph.ops.gathering import dim, gather_p
from fastgraph.ops.matmul import extents_of
from fastgraph.ops.movement import shape, shape_of_value
from fastgraph.ops.random_states import Source, as_vector, checked_size, count, generators, numbers, numbers_of
from fastgraph.ops.runtime_checks import checked, wide
from fastgraph.ops.scans import cumsum_p
from fastgraph.ops.softmax import softmax_p
from fastgraph.ops.sorting import search_sorted


@public("random.set_seed")
def set_seed(seed: SupportsInt | None) -> None:
    """Begin the sequences of all random ops anew, from `seed`. Source: tf.random.set_seed.

    An op without a seed of its own takes one from it and from the number of ops before it; one with a `seed` has the
    sequence that the pair says.

    Args:
        seed: An int; None: one that nobody can foresee.

    Returns:
        Nothing.

    Raises:
        TypeError: The seed is no number, or not finite.

    Examples:
        >>> tf.random.set_seed(3)
        >>> first, second = tf.random.uniform([]), tf.random.uniform([])
        >>> tf.random.set_seed(3)
        >>> bool(tf.random.uniform([]) == first), bool(first == second)
        (True, False)
    """
    generators.reset(None if seed is None else _whole(seed))


def _whole(seed: SupportsInt) -> int:
    """A seed as an int. Raises: TypeError for text, and for what int() takes no whole number of."""
    try:
        if isinstance(seed, str | bytes):
            raise TypeError
        return int(seed)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"Expected int for argument 'seed' not {seed!r}.") from None


# ---- numbers --------------------------------------------------------------------------------------------------------


def scalar_bounds(low: Tensor, high: Tensor, op: str) -> None:
    """InvalidArgumentError with TensorFlow's text unless low < high, both scalars, as far as they are known."""
    for name, bound in (("minval", low), ("maxval", high)):
        if bound.shape.rank not in (None, 0):
            raise invalid(f"{name} must be 0-D, got shape {shape_text(bound.shape.as_list())} [Op:{op}] name: ")
    a, b = known_value(low), known_value(high)
    if a is not None and b is not None and a >= b:
        raise InvalidArgumentError(
            None,
            None,
            f"{{{{function_node __wrapped__{op}_device_/job:localhost/replica:0/task:0/device:CPU:0}}}} "
            f"Need minval < maxval, got {a} >= {b} [Op:{op}] name: ",
        )


def uniform_of(
    source: Source, size: Extents, low: TensorLike, high: TensorLike, target: DType, op: str, name: str | None
) -> Any:
    """Numbers spread evenly over [low, high)."""
    low_, high_ = tensor_of(low, target), tensor_of(high, target)
    if target.is_integer:
        if size.static is not None and 0 in size.static:  # TensorFlow compares the bounds of numbers that there are
            return zeros(size.static, target)
        scalar_bounds(low_, high_, op)
        least = known_value(low_)
        if least is not None and known_value(high_) is None:  # a check of what is known would be left out with it
            text = f"Need minval < maxval, got {int(least)} >= {{}}"
            high_ = cast(checked(high_, min(int(least) + 1, 2**63 - 1), 2**63 - 1, text), high_.dtype)
        elif least is None:
            most = maximum(wide(high_), 1 - 2**63) - 1
            low_ = cast(checked(low_, -(2**63), most, "Need minval < maxval, got {} > {most}"), low_.dtype)
        word = as_dtype("uint64" if target.size == 8 else "uint32")
        span = cast(subtract(cast(high_, int64), cast(low_, int64)), word)
        offset = floormod(numbers(source, size, "bits", word), span)
        return add(cast(offset, target), low_, name=name)
    unit = numbers(source, size, "unit", target, "RandomUniform" if op == "RandomUniformInt" else None)
    if type(low) in (int, float) and low == 0 and type(high) in (int, float) and high == 1:
        return unit
    return add(multiply(unit, subtract(high_, low_)), low_, name=name)


@public("random.uniform")
def uniform(
    shape: SizeLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = float32,
    seed: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Numbers spread evenly over [minval, maxval). -> dtype[*shape].

    Args:
        shape: The extents: a list of ints or an integer tensor.
        minval: The least number that can occur.
        maxval: What all numbers are below; None is 1 for floats and must be given for integers.
        dtype: A floating dtype, int32 or int64.
        seed: An int: this op's own sequence, see `tf.random.set_seed`.

    Raises:
        ValueError: Another dtype, or integers without maxval.
        InvalidArgumentError: minval >= maxval, for integers.

    Examples:
        >>> x = tf.random.uniform([1000], -1.0, 1.0)
        >>> bool(tf.reduce_all((x >= -1.0) & (x < 1.0)))
        True
        >>> tf.random.uniform([2, 3], maxval=6, dtype=tf.int32).shape
        TensorShape([2, 3])

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
    source = generators.source(f"uniform_{target.name}", seed, shape, minval, maxval)
    with op_scope(name, "random_uniform") as scope:
        return uniform_of(source, shape_vector(shape), minval, maxval, target, "RandomUniformInt", scope or name)


def shape_vector(shape: SizeLike) -> Extents:
    """The shape argument of random numbers, which is no scalar."""
    return extents(shape, "T", "shape must be a vector of {int32,int64}, got shape []")


def standard_normal(source: Source, size: Extents, dtype: DType, name: str | None = None) -> Any:
    """Numbers of the standard normal distribution. Source: Box and Muller 1958."""
    wide = dtype if dtype.name == "float64" else float32
    return cast(numbers(source, size, "normal", wide, name), dtype)


def check_floating(target: DType, what: str) -> None:
    """TypeError for a dtype of other than floating numbers."""
    if not target.is_floating:
        raise TypeError(f"random.{what} gives floating numbers, not {target.name}")


@public("random.normal")
def normal(
    shape: SizeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    seed: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Numbers of the normal distribution. -> dtype[*shape].

    Args:
        shape: The extents: a list of ints or an integer tensor.
        mean: The distribution's mean; it and stddev broadcast with the shape.
        stddev: Its standard deviation.
        dtype: A floating dtype.
        seed: An int: this op's own sequence, see `tf.random.set_seed`.

    Raises:
        TypeError: The dtype is an integer's.

    Examples:
        >>> x = tf.random.normal([10000, 2], mean=[0.0, 5.0], seed=1)
        >>> x.shape, np.round(np.abs(tf.reduce_mean(x, 0))).tolist()
        (TensorShape([10000, 2]), [0.0, 5.0])

    Source: tf.random.normal.
    """
    target = as_dtype(dtype)
    mean_, stddev_ = tensor_of(mean, target), tensor_of(stddev, target)
    check_floating(target, "normal")
    source, size = generators.source(f"normal_{target.name}", seed, shape, mean, stddev), shape_vector(shape)
    with op_scope(name, "random_normal") as scope:
        standard = standard_normal(source, size, target, "RandomStandardNormal")
        if type(mean) is type(stddev) is float and mean == 0 and stddev == 1:
            return standard
        return add(multiply(standard, stddev_), mean_, name=scope or name)


def _truncated_samples() -> list[Any]:
    return [
        ((np.array([3, 0, 5]), np.array(d)), {"dtype": as_dtype(t)})
        for d in ([5], [2, 3], [0], [300])
        for t in ("float32", "float64")
    ]


@custom(
    op="StatelessTruncatedNormalV2",
    infer=lambda state, shape, *, dtype: Aval(dtype, shape_of_value(shape)),
    groups=("int64", "T"),
    dtypes="index",
    shape_inputs=(1,),
    samples=_truncated_samples,
    step="philox.truncated",
)
def truncated_numbers(state: Array, shape: Array, *, dtype: DType) -> Any:
    """Numbers of the standard normal distribution that are below 2 in size. i64[3], i[n] -> f32 or f64[*shape]."""
    size = checked_size(shape)
    return philox.normals(state, math.prod(size), dtype.size == 8, True).reshape(size)


def truncated_of(
    source: Source, size: Extents, mean: TensorLike, stddev: TensorLike, target: DType, name: str | None
) -> Any:
    """Numbers of the normal distribution within two standard deviations."""
    wide = target if target.name == "float64" else float32
    standard = cast(truncated_numbers(source.state(count(size)), as_vector(size), dtype=wide), target)
    return add(multiply(standard, tensor_of(stddev, target)), tensor_of(mean, target), name=name)


@public("random.truncated_normal")
def truncated_normal(
    shape: SizeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    seed: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Numbers of the normal distribution, no further than 2 stddev from the mean. -> dtype[*shape].

    Raises: TypeError for integers. Source: tf.random.truncated_normal.
    """
    target = as_dtype(dtype)
    mean, stddev = tensor_of(mean, target), tensor_of(stddev, target)
    check_floating(target, "truncated_normal")
    source = generators.source(f"truncated_normal_{target.name}", seed, shape, mean, stddev)
    return truncated_of(source, shape_vector(shape), mean, stddev, target, name)


def categorical_of(
    source: Source, logits: TensorLike, num_samples: TensorLike, dtype: DTypeLike | None, op: str, name: str | None
) -> Any:
    """Each sample is the first class at which the running sum of the probabilities passes an even number."""
    logits = as_tensor(logits)
    target = int64 if dtype is None else as_dtype(dtype)
    if target.name not in ("int32", "int64"):
        raise ValueError(f"Argument `dtype` got invalid value {target!r}. Accepted dtypes are (tf.int32, tf.int64).")
    if logits.shape.rank not in (None, 2):
        raise invalid(f"logits should be a matrix, got shape {shape_text(logits.shape.as_list())} [Op:{op}]")
    if logits.shape.rank is not None and logits.shape[1] == 0:
        raise invalid(f"num_classes should be positive, got 0 [Op:{op}]")
    number = static_int(num_samples, "num_samples should be a scalar, got shape")
    if number is not None and number < 0:
        raise invalid(f"num_samples should be non-negative, got {number} [Op:{op}]")
    double = cast(logits, "float64")
    # A class whose logit is not finite is never drawn.
    mass = softmax_p(select(is_finite(double), double, as_tensor(-math.inf, double.dtype)))
    totals = cumsum_p(mass, axis=1, exclusive=False, reverse=False)
    rows: Any = dim(logits, 0)
    drawn: Any = number
    if number is None:
        rows, drawn = wide(rows), checked(num_samples, 0, 2**63 - 1, "num_samples should be non-negative, got {}")
    size = extents([rows, drawn])
    state = source.state((drawn + 3) // 4 * 4 * rows * 2)  # in fours, two words each
    unit = numbers_of(state, size, "unit", as_dtype("float64"))
    # Of the last total, which rounding may leave short of 1, no share is lost.
    found = search_sorted(totals, unit * totals[:, -1:], right=True, out_type=int64)
    return cast(minimum(found, cast(dim(logits, 1), int64) - 1), target, name)


@public("random.categorical")
def categorical(
    logits: TensorLike, num_samples: TensorLike, dtype: DTypeLike | None = None, seed: TensorLike | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Classes drawn with the probabilities softmax(logits) of each row. f[n, c] -> i64[n, num_samples].

    Raises: InvalidArgumentError for other ranks or no classes. Source: tf.random.categorical.
    """
    return categorical_of(
        generators.source("categorical", seed, logits), logits, num_samples, dtype, "Multinomial", name
    )


@custom(
    op="RandomShuffle",
    infer=lambda state, n: Aval(int64, (None if n.value is None else int(n.value),)),
    groups=("int64", "int64"),
    shape_inputs=(1,),
    samples=lambda: [((np.array([3, 0, 5]), np.array(n)), {}) for n in (0, 1, 2, 30)],
    reason="exchanges in order: each looks at what those before it have moved",
)
def permutation(state: Array, n: Array) -> Any:
    """0 ... n - 1 in random order. i64[3], i64[] -> i64[n]. Source: Fisher and Yates 1938."""
    return philox.permuted(state, int(n))


def shuffled(source: Source, value: TensorLike, name: str | None) -> Any:
    """The slices along the first axis in random order."""
    value = as_tensor(value)
    if value.shape.rank == 0:
        return value
    n = dim(value, 0)
    state = source.blocks((n + 2) // 4 if isinstance(n, int) else (cast(n, int64) + 2) // 4)
    number = as_tensor(n, int64) if isinstance(n, int) else cast(n, int64)
    return gather_p(value, permutation(state, number), axis=0, batch_dims=0)


@public("random.shuffle")
def shuffle(value: TensorLike, seed: TensorLike | None = None, name: str | None = None) -> Any:
    """The slices of value along its first axis in random order. t[n, *s] -> t[n, *s]. Source: tf.random.shuffle."""
    return shuffled(generators.source("shuffle", seed, value), value, name)


# ---- dropout --------------------------------------------------------------------------------------------------------


def _noise(x: Tensor, noise_shape: list[Any] | None) -> Extents:
    """The shape of the random numbers of a dropout: x's, with what noise_shape says in place of it."""
    if noise_shape is None:
        return extents(x.shape) if x.shape.is_fully_defined() else Extents(None, shape(x))
    if isinstance(noise_shape, Tensor):
        return extents(noise_shape)
    dims = [*noise_shape]
    if None in dims and x.shape.rank == len(dims):  # None stands for x's own extent
        dims = [dim(x, i) if n is None else n for i, n in enumerate(dims)]
    return extents(dims)


def dropped(source_of: Any, x: Any, rate: Any, noise_shape: Any) -> Any:
    """x with a share of the elements 0; of a RaggedTensor of its innermost values."""
    x = as_tensor(x)
    if hasattr(x, "with_flat_values"):
        if noise_shape is not None:
            raise ValueError("noise_shape is not supported yet for RaggedTensor x")
        return x.with_flat_values(dropped(source_of, x.flat_values, rate, None))
    if not x.dtype.is_floating:
        raise ValueError(
            f"`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype={x.dtype}"
        )
    if isinstance(rate, (int, float)):
        if not 0 <= rate < 1:
            raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
        if rate == 0:
            return x
    elif not isinstance(rate, (Tensor, np.generic)) and not class_has(rate, "__fg_tensor__"):
        raise ValueError(f"`rate` must be a scalar or scalar tensor. Received: rate={rate!s}")
    share = as_tensor(rate, x.dtype)
    if share.dtype is not x.dtype:
        raise ValueError(
            f"`x.dtype` must be compatible with `rate.dtype`. Received: x.dtype={x.dtype} and rate.dtype={share.dtype}"
        )
    unit = numbers(source_of(x.dtype.name), _noise(x, noise_shape), "unit", x.dtype)
    scaled = x * (1.0 / (1.0 - share))
    return select(unit >= share, scaled, zeros_like_p(scaled))


@public("nn.dropout")
def dropout(
    x: TensorLike, rate: TensorLike, noise_shape: SizeLike = None, seed: TensorLike | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """x with a share `rate` of the elements 0, the others scaled up by 1 / (1 - rate). f[*s] -> f[*s].

    `noise_shape`, which broadcasts to x's, says which elements fall together; None in it is x's own extent.
    Raises: ValueError for integers or a rate outside [0, 1). Source: tf.nn.dropout; Srivastava et al. 2014.
    """
    return dropped(lambda dtype: generators.source(f"uniform_{dtype}", seed, x, rate), x, rate, noise_shape)


@public("nn.experimental.general_dropout")
def general_dropout(
    x: TensorLike, rate: TensorLike, uniform_sampler: Callable[..., Any], noise_shape: SizeLike = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """x with 0 where uniform_sampler(shape=, dtype=) gives less than rate, the others over 1 - rate. f[*s] -> f[*s].

    Raises: ValueError for integers or a rate outside [0, 1). Source: tf.nn.experimental.general_dropout.
    """
    x = as_tensor(x)
    if not x.dtype.is_floating:
        raise ValueError(
            f"`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype={x.dtype}"
        )
    if isinstance(rate, (int, float)) and not isinstance(rate, bool):
        if not 0 <= rate < 1:
            raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
        if rate == 0:
            return x
    elif not isinstance(rate, Tensor):
        raise ValueError(f"`rate` must be a scalar or scalar tensor. Received: rate={rate!s}")
    share = as_tensor(rate, x.dtype)
    if noise_shape is None:
        dims: Any = x.shape.as_list() if x.shape.is_fully_defined() else shape(x)
    elif isinstance(noise_shape, (list, tuple)):
        own = extents_of(x)
        dims = [own[i] if n is None else n for i, n in enumerate(noise_shape)]
    else:
        dims = noise_shape
    drawn = uniform_sampler(shape=dims, dtype=x.dtype)
    scaled = multiply(x, 1.0 / (1.0 - share))
    return select(greater_equal(as_tensor(drawn), share), scaled, zeros_like_p(scaled))
