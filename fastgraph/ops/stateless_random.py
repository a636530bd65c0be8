"""Random numbers that follow from a seed which the caller gives: the same numbers each time, and TensorFlow's.

Rule: nothing is kept between calls; every function is one of random_ops.py over `Stateless`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, as_dtype, float32, int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.core.native import philox
from fastgraph.ops.arguments import as_tensor, tensor_of
from fastgraph.ops.elementwise import add, cast, multiply
from fastgraph.ops.families import Array, custom, invalid, misuse, public, shape_text
from fastgraph.ops.joining import stack
from fastgraph.ops.padding import pad
from fastgraph.ops.random_algorithms import Algorithm, check_philox
from fastgraph.ops.random_ops import (
    categorical_of,
    dropped,
    shape_vector,
    shuffled,
    standard_normal,
    truncated_of,
    uniform_of,
)
from fastgraph.ops.random_states import Stateless, numbers

_UNIFORM = ("float16", "bfloat16", "float32", "float64", "int32", "int64", "uint32", "uint64")


@public("random.stateless_uniform")
def stateless_uniform(
    shape: SizeLike,
    seed: TensorLike,
    minval: TensorLike | None = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
    alg: TensorLike = "auto_select",
) -> Any:
    """Numbers spread evenly over [minval, maxval), the same for the same seed i[2]. -> dtype[*shape].

    Of integers, both bounds None give any number. Raises: ValueError for integers with one bound or another `alg`;
    InvalidArgumentError for another seed. Source: tf.random.stateless_uniform.
    """
    target, size = as_dtype(dtype), shape_vector(shape)
    if target.name not in _UNIFORM:
        raise ValueError(
            f"Argument `dtype` got invalid value {target!r}. Accepted dtypes are "
            f"({', '.join('tf.' + n for n in _UNIFORM)})."
        )
    if target.is_integer:
        if (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer `dtype` argument {target!r}, argument `minval` and `maxval` must be both None or not "
                f"None. Got `minval`={minval} and `maxval`={maxval}."
            )
        if minval is not None and target.name in ("uint32", "uint64"):
            raise ValueError(
                f"Argument `dtype` got invalid value {target!r} when argument `minval` is not None. Please don't use "
                "unsigned integers in this case."
            )
    check_philox(alg)
    if minval is None and target.is_integer:
        return cast(numbers(Stateless(seed), size, "bits", as_dtype(f"uint{8 * target.size}")), target, name)
    bounds = (0 if minval is None else minval), (1 if maxval is None else maxval)
    return uniform_of(Stateless(seed), size, *bounds, target, "StatelessRandomUniformIntV2", name)


@public("random.stateless_normal")
def stateless_normal(
    shape: SizeLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
    alg: Algorithm | TensorLike = "auto_select",
) -> Any:
    """Numbers of the normal distribution, the same for the same seed i[2]. -> dtype[*shape].

    Raises: InvalidArgumentError for another seed. Source: tf.random.stateless_normal.
    """
    target = as_dtype(dtype)
    mean, stddev = tensor_of(mean, target), tensor_of(stddev, target)
    check_philox(alg)
    return add(multiply(standard_normal(Stateless(seed), shape_vector(shape), target), stddev), mean, name=name)


@public("random.stateless_truncated_normal")
def stateless_truncated_normal(
    shape: SizeLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
    alg: Algorithm | TensorLike = "auto_select",
) -> Any:
    """`truncated_normal` that is the same for the same seed i[2]. -> dtype[*shape].

    Raises: InvalidArgumentError for another seed. Source: tf.random.stateless_truncated_normal.
    """
    target = as_dtype(dtype)
    mean, stddev = tensor_of(mean, target), tensor_of(stddev, target)
    check_philox(alg)
    return truncated_of(Stateless(seed), shape_vector(shape), mean, stddev, target, name)


@public("random.stateless_categorical")
def stateless_categorical(
    logits: TensorLike, num_samples: TensorLike, seed: TensorLike, dtype: DTypeLike = int64, name: str | None = None
) -> Any:
    """Classes drawn with the probabilities softmax(logits), the same for the same seed. f[n, c] -> i64[n, samples].

    Raises: as `categorical`. Source: tf.random.stateless_categorical.
    """
    return categorical_of(Stateless(seed), logits, num_samples, dtype, "StatelessMultinomial", name)


@public("random.experimental.stateless_shuffle")
def stateless_shuffle(
    value: TensorLike, seed: TensorLike, alg: Algorithm | TensorLike = "auto_select", name: str | None = None
) -> Any:
    """The slices of value along its first axis in an order that the seed i[2] says. t[n, *s] -> t[n, *s].

    Source: tf.random.experimental.stateless_shuffle.
    """
    check_philox(alg)
    return shuffled(Stateless(seed), value, name)


@public("nn.experimental.stateless_dropout")
def stateless_dropout(
    x: TensorLike,
    rate: TensorLike,
    seed: TensorLike,
    rng_alg: Algorithm | TensorLike = "auto_select",
    noise_shape: SizeLike = None,
    name: str | None = None,
) -> Any:
    """`dropout` that drops the same elements for the same seed i[2]. f[*s] -> f[*s].

    Source: tf.nn.experimental.stateless_dropout.
    """
    check_philox(rng_alg)
    return dropped(lambda dtype: Stateless(seed), x, rate, noise_shape)


@public("random.split", "random.experimental.stateless_split")
def split(seed: TensorLike, num: TensorLike = 2, alg: Algorithm | TensorLike = "auto_select") -> Any:
    """New seeds, independent of each other, from one. i[2] -> i[num, 2]. Source: tf.random.split."""
    seed = as_tensor(seed)
    return stateless_uniform([num, 2], seed, None, None, seed.dtype, alg=alg)


@public("random.fold_in", "random.experimental.stateless_fold_in")
def fold_in(seed: TensorLike, data: TensorLike, alg: Algorithm | TensorLike = "auto_select") -> Any:
    """A new seed from one and a number, of the number's dtype. i[2], i[] -> i[2]. Source: tf.random.fold_in."""
    data = as_tensor(data)
    if not data.dtype.is_integer:
        raise ValueError(f"data must be an integer, not {data.dtype.name}")
    return stack([stateless_uniform([], seed, None, None, data.dtype, alg=alg), data])


# ---- single elements of a permutation -------------------------------------------------------------------------------

_INDICES = "int32 uint32 int64 uint64"
_FIRST_WORD = 498247692  # of three that make the key, where a seed has two
_MOST_ROUNDS = 256


def _infer_index_shuffle(index: Aval, seed: Aval, max_index: Aval, rounds: int) -> Aval:
    ranks = [a.shape if a.shape is None else len(a.shape) for a in (index, seed, max_index)]
    for rank, most, text in zip(ranks, (1, 2, 1), ("Index must be a scalar or vector.", "", ""), strict=True):
        if rank is not None and rank > most:
            raise invalid(text or "max_index must be a scalar or vector and seed a vector or matrix.")
    if None in ranks:
        return Aval(index.dtype, None)
    batches = [
        dims[0]
        for dims, single in ((index.shape, 0), (seed.shape, 1), (max_index.shape, 0))
        if dims and len(dims) > single
    ]
    return Aval(index.dtype, () if not batches else (next((n for n in batches if n not in (None, 1)), batches[0]),))


@custom(
    op="RandomIndexShuffle",
    infer=_infer_index_shuffle,
    groups=("T", "S", "T"),
    dtypes={"T": _INDICES, "S": _INDICES},
    samples=lambda: [
        ((np.arange(10, dtype=t), np.array([7, 5, 8], t), np.array(9, t)), {"rounds": 4}) for t in _INDICES.split()
    ],
    error_samples=lambda: [
        misuse(text, *map(np.array, inputs), rounds=4)
        for text, *inputs in (
            ("max_index must be >= index, but 3 < 5", 5, [1, 2, 3], 3),
            ("index must be >= 0 but was -1", -1, [1, 2, 3], 3),
            ("max_index must be >= 0 but was -1", 0, [1, 2, 3], -1),
            (r"Seed must be a vector of size \[3\] or a matrix of size \[1, 3\] but got \[2\]", 1, [1, 2], 3),
        )
    ],
    reason="how often a number is encrypted is data",
)
def index_shuffle_p(index: Array, seed: Array, max_index: Array, *, rounds: int) -> Any:
    """Place of each index in a permutation of 0 ... max_index. i[n], i[3] or i[n, 3], i[n] -> i[n]."""
    single = index.ndim == 0 and seed.ndim == 1 and max_index.ndim == 0
    n = max([1, *(a.shape[0] for a, rank in ((index, 0), (seed, 1), (max_index, 0)) if a.ndim > rank)])
    if index.ndim == 1 and not index.size:
        return index.copy()
    if seed.shape not in ((3,), (n, 3)):
        raise invalid(
            f"Seed must be a vector of size [3] or a matrix of size [{n}, 3] but got {shape_text(seed.shape)}."
        )
    if any(a.ndim == 1 and a.shape[0] not in (1, n) for a in (index, max_index)):
        raise invalid(
            f"Index and max_index must be scalars or of one size, got {shape_text(index.shape)} and "
            f"{shape_text(max_index.shape)}."
        )
    places, seeds = np.broadcast_to(index, (n,)), np.broadcast_to(seed, (n, 3))
    lasts = np.broadcast_to(max_index, (n,))
    out = np.empty(n, index.dtype)
    for i in range(n):
        place, last = int(places[i]), int(lasts[i])
        if place < 0:
            raise invalid(f"index must be >= 0 but was {place}")
        if last < 0:
            raise invalid(f"max_index must be >= 0 but was {last}")
        if last < place:
            raise invalid(f"max_index must be >= index, but {last} < {place}")
        out[i] = philox.shuffled_index(place, tuple([int(word) % 2**32 for word in seeds[i]]), rounds, last)
    return out[0] if single else out


@public("random_index_shuffle")
def random_index_shuffle(
    index: TensorLike, seed: TensorLike, max_index: TensorLike, rounds: int = 4, name: str | None = None
) -> Any:
    """`random.experimental.index_shuffle` by a seed of three numbers. i[], i[3], i[] -> i[].

    rounds: how often each index is encrypted, an even number from 2 to 256. Raises: InvalidArgumentError for another
    one, and an index outside. Source: tf.random_index_shuffle.
    """
    if rounds < 2 or rounds % 2 or rounds > _MOST_ROUNDS:
        raise invalid(f"rounds must be an even number from 2 to {_MOST_ROUNDS}, got {rounds}")
    index = as_tensor(index)
    return index_shuffle_p(index, as_tensor(seed), as_tensor(max_index, index.dtype), rounds=rounds)


@public("random.experimental.index_shuffle")
def index_shuffle(index: TensorLike, seed: TensorLike, max_index: TensorLike) -> Any:
    """Place of `index` in the permutation of 0 ... max_index that the seed says. i[], i[2], i[] -> i[].

    A vector of indices or of last indices, or a matrix of seeds, gives a vector. Raises: InvalidArgumentError for an
    index outside. Source: tf.random.experimental.index_shuffle; the cipher: Beaulieu et al., "The SIMON and SPECK
    families of lightweight block ciphers" (2013).
    """
    words = as_tensor(seed)
    if words.shape.rank and words.shape[-1] not in (2, None):
        raise invalid(
            f"Seed must be a vector of size [2] or a matrix of size [n, 2], got {shape_text(tuple(words.shape))}."
        )
    batch = [[0, 0]] * ((words.shape.rank or 1) - 1)
    return random_index_shuffle(index, pad(words, [*batch, [1, 0]], constant_values=_FIRST_WORD), max_index)
