"""Classes drawn by chance for losses over very many classes, and those losses: sampled softmax, noise contrast.

Rule: numbers follow TensorFlow's from the same seeds: 32-bit words of Philox in order, two to a 64-bit number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import float32, int32, int64
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native import philox
from fastgraph.core.tensor import Tensor
from fastgraph.errors import ResourceExhaustedError
from fastgraph.ops.arguments import as_tensor, whole
from fastgraph.ops.elementwise import cast, ones_like, stop_gradient, zeros_like_p
from fastgraph.ops.exponentials import log
from fastgraph.ops.families import invalid, public
from fastgraph.ops.joining import concat
from fastgraph.ops.matmul import extents_of, matmul
from fastgraph.ops.movement import expand_dims, reshape, shape
from fastgraph.ops.nn_ops import embedding_lookup
from fastgraph.ops.python_functions import host_call
from fastgraph.ops.random_states import generators, refuse_deferred
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.runtime_checks import ensure_extents
from fastgraph.ops.softmax import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits

#: Words of 32 bits that are set aside for each number drawn.
_ASIDE = 2048


class Words:
    """Numbers of a state, drawn one by one."""

    def __init__(self, state: Any) -> None:
        self._words = self._stream(np.asarray(state))

    @staticmethod
    def _stream(state: Any) -> Iterator[int]:
        at, n = int(state[0]), 64
        while True:
            begin = np.array([at, state[1], state[2]], np.int64)
            yield from philox.words(begin, 4 * n).tolist()
            at += n

    def long(self) -> int:
        """A number of 64 bits."""
        return next(self._words) | next(self._words) << 32

    def unit(self) -> float:
        """A number in [0, 1) of 52 bits."""
        high, low = next(self._words), next(self._words)
        return ((high & 0xFFFFF) << 32 | low) * 2.0**-52

    def single(self) -> Any:
        """A float32 in [0, 1)."""
        return np.float32((next(self._words) & 0x7FFFFF) * 2.0**-23)

    def below32(self, n: int) -> int:
        """A number in [0, n), by words of 32 bits."""
        if n & (n - 1) == 0:
            return next(self._words) & (n - 1)
        least = ((1 << 32) - 1) % n + 1
        while True:
            found = next(self._words)
            if found >= least:
                return found % n

    def below(self, n: int) -> int:
        """A number in [0, n)."""
        if n & (n - 1) == 0:
            return self.long() & (n - 1)
        least = ((1 << 64) - 1) % n + 1
        while True:
            found = self.long()
            if found >= least:
                return found % n


class _Range:
    """A distribution of classes 0 .. n - 1: how they are drawn, and with which probability."""

    def __init__(self, n: int) -> None:
        self.n = n

    def sample(self, words: Words) -> int:
        return words.below(self.n)

    def probability(self, values: Any) -> Any:
        return np.full(values.shape, 1.0 / self.n)


class _Every(_Range):
    """Each class, one after the other."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.values = iter(range(n))

    def sample(self, words: Words) -> int:
        return next(self.values)


class _LogUniform(_Range):
    def sample(self, words: Words) -> int:
        return int(math.exp(words.unit() * math.log1p(self.n))) - 1 if self.n else 0

    def probability(self, values: Any) -> Any:
        return np.log((values + 2.0) / (values + 1.0)) / math.log1p(self.n)


class _Weighted(_Range):
    """A distribution by weights, of which the first are those of reserved classes, which never come."""

    def __init__(self, n: int, weights: Sequence[float], reserved: int, shards: int, shard: int) -> None:
        super().__init__(n)
        every = np.concatenate([np.zeros(reserved), np.asarray(weights, np.float64)])
        self.weights = np.where(np.arange(len(every)) % shards == shard, every, 0.0)
        self.total = self.weights.sum()
        self.ends = np.cumsum(self.weights)

    def sample(self, words: Words) -> int:
        return int(np.searchsorted(self.ends, words.unit() * self.total, "right"))

    def probability(self, values: Any) -> Any:
        return self.weights[values] / self.total


def _expected(probability: Any, n: int, tries: int) -> Any:
    if tries == n:
        return probability * n
    with np.errstate(divide="ignore"):
        return -np.expm1(tries * np.log1p(-probability))


def _drawn(range_: Callable[[], _Range], n: int, unique: bool) -> Callable[..., tuple[Any, Any, Any]]:
    def draw(state: Any, true_classes: Any) -> tuple[Any, Any, Any]:
        source, words, tries = range_(), Words(state), 0
        wrong = true_classes[(true_classes < 0) | (true_classes >= source.n)]
        if wrong.size:
            raise invalid(f"`true_candidate` out of range [0, {source.n}), received {wrong[0]}")
        found: dict[int, None] = {}
        listed: list[int] = []
        while len(listed) < n:
            value = source.sample(words)
            tries += 1
            if not unique or value not in found:
                found[value] = None
                listed.append(value)
        sampled = np.array(listed, np.int64)
        true, own = [
            _expected(source.probability(values), n, tries).astype(np.float32) for values in (true_classes, sampled)
        ]
        return sampled, true, own

    return draw


def _given(true_classes: TensorLike, num_true: TensorLike, num_sampled: TensorLike) -> tuple[Any, int, int]:
    """The arguments that all samplers have, checked."""
    true, width, n = as_tensor(true_classes, int64), whole(num_true, "num_true"), whole(num_sampled, "num_sampled")
    if n <= 0 or width <= 0:
        raise invalid("num_sampled and num_true must be positive")
    if n >= 2**31:
        raise ResourceExhaustedError(None, None, f"OOM when allocating tensor with shape[{n}] and type int64")
    if true.shape.rank not in (2, None):
        raise invalid("true_classes must be a matrix")
    if true.shape.rank is not None and true.shape[1] not in (None, width):
        raise invalid(f"true_classes must have num_true columns, expected: {true.shape[1]} was: {width}")
    return true, width, n


def _sampled(op: str, range_: Callable[[], _Range], n_classes: int, true_classes: TensorLike, num_true: TensorLike,
             num_sampled: TensorLike, unique: bool, seed: int | None, **said: Any) -> Any:  # fmt: skip
    true, width, n = _given(true_classes, num_true, num_sampled)
    if n_classes < 1:
        raise invalid(f"Value for attr 'range_max' of {n_classes} must be at least minimum 1 [Op:{op}]")
    if unique and n > n_classes:
        raise invalid("Sampler's range is too small.")
    kernel = f"{op} {width} {n} {unique} {n_classes}"  # each set of attributes has its own sequence
    state = generators.source(kernel, seed).blocks(n * _ASIDE // 4)
    results = (int64, [n]), (float32, true.shape), (float32, [n])
    attrs = {"num_true": width, "num_sampled": n, "unique": bool(unique), "seed": 0, **said}
    if op != "AllCandidateSampler":
        attrs["range_max"] = n_classes
    names = "sampled_candidates true_expected_count sampled_expected_count"
    return tuple(host_call(_drawn(range_, n, bool(unique)), [state, true], *results, written=(op, names, attrs)))


@public("random.uniform_candidate_sampler")
def uniform_candidate_sampler(
    true_classes: TensorLike, num_true: TensorLike, num_sampled: TensorLike, unique: bool, range_max: TensorLike,
    seed: int | None = None, name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Classes below range_max, each as likely. i64[b, num_true] -> i64[n], f32[b, num_true], f32[n].

    The second and third result: how often the true classes and the sampled ones are expected to be drawn.
    Raises: InvalidArgumentError for more different classes than there are. Source: tf.random.uniform_candidate_sampler.
    """
    n = whole(range_max, "range_max")
    return _sampled("UniformCandidateSampler", lambda: _Range(n), n, true_classes, num_true, num_sampled, unique, seed)


@public("random.log_uniform_candidate_sampler")
def log_uniform_candidate_sampler(
    true_classes: TensorLike, num_true: TensorLike, num_sampled: TensorLike, unique: bool, range_max: TensorLike,
    seed: int | None = None, name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`uniform_candidate_sampler`, where class k comes with (log(k + 2) - log(k + 1)) / log(range_max + 1).

    Source: tf.random.log_uniform_candidate_sampler.
    """
    n = whole(range_max, "range_max")
    return _sampled(
        "LogUniformCandidateSampler", lambda: _LogUniform(n), n, true_classes, num_true, num_sampled, unique, seed
    )


@public("random.fixed_unigram_candidate_sampler", "nn.fixed_unigram_candidate_sampler")
def fixed_unigram_candidate_sampler(
    true_classes: TensorLike, num_true: TensorLike, num_sampled: TensorLike, unique: bool, range_max: TensorLike,
    vocab_file: str = "", distortion: float = 1.0, num_reserved_ids: TensorLike = 0, num_shards: TensorLike = 1,
    shard: TensorLike = 0, unigrams: Sequence[float] = (), seed: int | None = None, name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`uniform_candidate_sampler` by weights: `unigrams`, or the last column of a CSV file, to the power `distortion`.

    num_reserved_ids: so many classes come first and are never drawn. Numbers follow the weights, and are not
    TensorFlow's. Source: tf.random.fixed_unigram_candidate_sampler.
    """
    weights = [float(weight) for weight in unigrams]
    if bool(weights) == bool(vocab_file):
        raise invalid("Must provide either vocab_file or unigrams, and not both")
    if vocab_file:
        with open(vocab_file, encoding="utf-8") as file:
            weights = [float(line.rstrip().rpartition(",")[2]) for line in file if line.strip()]
    n, reserved = whole(range_max, "range_max"), whole(num_reserved_ids, "num_reserved_ids")
    if len(weights) + reserved != n:
        raise invalid(f"range_max is {n}, and there are {len(weights) + reserved} classes")
    table = _Weighted(
        n, [w**distortion for w in weights], reserved, whole(num_shards, "num_shards"), whole(shard, "shard")
    )
    said = {
        "vocab_file": "", "distortion": float(distortion), "num_reserved_ids": reserved,
        "num_shards": whole(num_shards, "num_shards"), "shard": whole(shard, "shard"), "unigrams": weights,
    }  # fmt: skip
    return _sampled(
        "FixedUnigramCandidateSampler", lambda: table, n, true_classes, num_true, num_sampled, unique, seed, **said
    )


@public("random.all_candidate_sampler", "nn.all_candidate_sampler")
def all_candidate_sampler(
    true_classes: TensorLike, num_true: TensorLike, num_sampled: TensorLike, unique: bool, seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Every class below num_sampled once, each expected once: for tests. Source: tf.random.all_candidate_sampler."""
    n = whole(num_sampled, "num_sampled")
    return _sampled("AllCandidateSampler", lambda: _Every(n), n, true_classes, num_true, n, True, seed)


@public("nn.compute_accidental_hits")
def compute_accidental_hits(
    true_classes: TensorLike, sampled_candidates: TensorLike, num_true: TensorLike, seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Find where sampled classes are true ones. i64[b, num_true], i64[n] -> rows i32[k], places i64[k], weights f32[k].

    The weights are the least float32. Source: tf.nn.compute_accidental_hits.
    """
    width = whole(num_true, "num_true")

    def find(true: Any, sampled: Any) -> tuple[Any, Any, Any]:
        rows, _, places = np.nonzero(true[:, :, None] == sampled[None, None, :])
        return rows.astype(np.int32), places.astype(np.int64), np.full(len(rows), np.finfo(np.float32).min, np.float32)

    true = as_tensor(true_classes, int64)
    if true.shape.rank == 2 and true.shape[1] not in (None, width):
        raise invalid("true_classes must have num_true columns")
    results = (int32, [None]), (int64, [None]), (float32, [None])
    said = "ComputeAccidentalHits", "indices ids weights", {"num_true": width, "seed": 0, "seed2": 0}
    return tuple(host_call(find, [true, as_tensor(sampled_candidates, int64)], *results, written=said))


def _logits(weights: Any, biases: Any, labels: TensorLike, inputs: TensorLike, num_sampled: Any, num_classes: Any,
            num_true: int, values: Any, remove: bool, seed: int | None) -> tuple[Any, Any]:  # fmt: skip
    """Logits of the true classes, then of the sampled ones, less the logarithms of what is expected; and labels."""
    x, true = as_tensor(inputs), cast(labels, int64)
    if values is None:
        refuse_deferred(inputs)
        values = log_uniform_candidate_sampler(true, num_true, num_sampled, True, num_classes, seed)
    sampled, expected, own = [stop_gradient(as_tensor(each)) for each in values]
    sampled = cast(sampled, int64)
    flat = reshape(true, [-1])
    ids = concat([flat, sampled], 0)
    rows, offsets = [cast(embedding_lookup(table, ids), x.dtype) for table in (weights, biases)]
    n = shape(flat)[0]
    of_true = reduce_sum(expand_dims(x, 1) * reshape(rows[:n], [-1, num_true, extents_of(rows)[1]]), 2)
    of_true = of_true + reshape(offsets[:n], [-1, num_true])
    of_sampled = matmul(x, rows[n:], transpose_b=True) + offsets[n:]
    if remove:
        sampled = ensure_extents(sampled, reshape(as_tensor(num_sampled, int32), [1]))  # hits are of so many
        hits = reduce_sum(cast(expand_dims(true, 2) == sampled, x.dtype), 1)
        of_sampled = of_sampled + hits * float(np.finfo(np.float32).min)
    of_true, of_sampled = of_true - cast(log(expected), x.dtype), of_sampled - cast(log(own), x.dtype)
    return concat([of_true, of_sampled], 1), concat([ones_like(of_true) / num_true, zeros_like_p(of_sampled)], 1)


@public("nn.nce_loss")
def nce_loss(
    weights: Any, biases: Any, labels: TensorLike, inputs: TensorLike, num_sampled: TensorLike, num_classes: TensorLike,
    num_true: int = 1, sampled_values: Any = None, remove_accidental_hits: bool = False, name: str = "nce_loss",
) -> Any:  # fmt: skip
    """Noise-contrastive loss of each row. f[n, d], f[n], i64[b, k], f[b, d] -> f[b].

    sampled_values: what a candidate sampler gave; None: that of log_uniform_candidate_sampler.
    Source: tf.nn.nce_loss.
    """
    logits, targets = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                              remove_accidental_hits, None)  # fmt: skip
    return reduce_sum(sigmoid_cross_entropy_with_logits(labels=targets, logits=logits), 1)


@public("nn.sampled_softmax_loss")
def sampled_softmax_loss(
    weights: Any, biases: Any, labels: TensorLike, inputs: TensorLike, num_sampled: TensorLike, num_classes: TensorLike,
    num_true: int = 1, sampled_values: Any = None, remove_accidental_hits: bool = True, seed: int | None = None,
    name: str = "sampled_softmax_loss",
) -> Any:  # fmt: skip
    """Cross-entropy over the true and some sampled classes. f[n, d], f[n], i64[b, k], f[b, d] -> f[b].

    sampled_values: what a candidate sampler gave; None: that of log_uniform_candidate_sampler.
    Source: tf.nn.sampled_softmax_loss.
    """
    logits, targets = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                              remove_accidental_hits, seed)  # fmt: skip
    return softmax_cross_entropy_with_logits(labels=stop_gradient(targets), logits=logits)
