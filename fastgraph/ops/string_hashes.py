"""Fingerprints of strings, as TensorFlow's buckets have them.

Rule: whole numbers of 64 bits, computed in C (core/native/fingerprints.h, where the sources are named).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.dtype import int64, string, uint8
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native import array_kernels
from fastgraph.core.tensor import Tensor
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import as_tensor, index_list, known_value, named, whole
from fastgraph.ops.families import Array, custom, invalid, public
from fastgraph.ops.python_functions import host_call

_MASK = (1 << 64) - 1
#: Kinds of fingerprints besides FarmHash's, 0: see array_kernels.fingerprints.
_SIP, _MURMUR = 1, 2
_REASON = "strings: their bytes lie in Python objects, which kernels do not see"


def fingerprint(text: bytes) -> int:
    """Return FarmHash's Fingerprint64 of a string."""
    return int(array_kernels.fingerprints(np.array(text, object))[()])


def _mixed(x: Array) -> Array:
    return x ^ x >> np.uint64(47)


def together(first: Array, second: Array) -> Array:
    """Return the fingerprints of pairs of fingerprints in order. u64[n], u64[n] -> u64[n]."""
    factor = np.uint64(0xC6A4A7935BD1E995)
    result = (first ^ factor ^ _mixed(second * factor) * factor) * factor
    return _mixed(_mixed(result) * factor)


def _buckets(words: Array, count: int, *kind_and_key: int) -> Array:
    if count < 1:
        raise invalid(f"num_buckets must be >= 1, got {count}")
    found = array_kernels.fingerprints(np.ascontiguousarray(words).reshape(words.shape), *kind_and_key)
    return (found % np.uint64(count)).astype(np.int64)


def older_buckets(words: Array, count: int) -> Array:
    """Return the buckets of `to_hash_bucket`, whose hash TensorFlow's tables of strings have, too. -> i64[*s]."""
    return _buckets(words, count, _MURMUR, 0xDECAFCAFFE)


def _samples(**more: Any) -> list[Any]:
    texts = np.array([b"", b"a", b"hello", b"0123456789", b"x" * 30, b"y" * 60, b"z" * 200], object)
    return [((texts,), {"num_buckets": 1000, **more})]


_TOO_FEW = ((np.array([b"a"], object),), {"num_buckets": 0}, InvalidArgumentError, "num_buckets must be >= 1")


@custom(
    op="StringToHashBucket",
    infer=lambda input, **_: Aval(int64, input.shape),
    groups=("string",),
    samples=_samples,
    error_samples=lambda: [_TOO_FEW],
    reason=_REASON,
)
def hash_bucket_p(input: Array, *, num_buckets: int) -> Any:
    """The bucket of each string, by an older hash. string[*s] -> i64[*s]."""
    return older_buckets(input, num_buckets)


@custom(
    op="StringToHashBucketFast",
    infer=lambda input, **_: Aval(int64, input.shape),
    groups=("string",),
    samples=_samples,
    error_samples=lambda: [_TOO_FEW],
    reason=_REASON,
)
def hash_bucket_fast_p(input: Array, *, num_buckets: int) -> Any:
    """The bucket of each string, by its fingerprint. string[*s] -> i64[*s]."""
    return _buckets(input, num_buckets)


@custom(
    op="StringToHashBucketStrong",
    infer=lambda input, **_: Aval(int64, input.shape),
    groups=("string",),
    samples=lambda: _samples(key=(1, 2)),
    reason=_REASON,
)
def hash_bucket_strong_p(input: Array, *, num_buckets: int, key: tuple[int, int]) -> Any:
    """The bucket of each string, by SipHash with a key. string[*s] -> i64[*s]."""
    return _buckets(input, num_buckets, _SIP, *key)


@public("strings.to_hash_bucket_fast")
def to_hash_bucket_fast(input: TensorLike, num_buckets: TensorLike, name: str | None = None) -> Tensor:
    """The bucket of each string, by its fingerprint. string[*s] -> i64[*s], from 0 to num_buckets - 1.

    Raises: InvalidArgumentError for less than one bucket. Source: tf.strings.to_hash_bucket_fast.
    """
    return named(name, hash_bucket_fast_p, input, num_buckets=whole(num_buckets, "num_buckets"))


@public("strings.to_hash_bucket_strong")
def to_hash_bucket_strong(input: TensorLike, num_buckets: TensorLike, key: TensorLike, name: str | None = None) -> Any:
    """The bucket of each string, by a hash with a key of two numbers. string[*s] -> i64[*s].

    Raises: InvalidArgumentError for less than one bucket or another key. Source: tf.strings.to_hash_bucket_strong.
    """
    words = tuple(number & _MASK for number in index_list(key, "key"))
    if len(words) != 2:
        raise invalid("Key must have 2 elements")
    count = whole(num_buckets, "num_buckets")
    return named(name, hash_bucket_strong_p, input, num_buckets=count, key=words)


@public("strings.to_hash_bucket")
def to_hash_bucket(input: TensorLike, num_buckets: TensorLike, name: str | None = None) -> Any:
    """The bucket of each string, by an older hash than to_hash_bucket_fast's. string[*s] -> i64[*s].

    Raises: InvalidArgumentError for less than one bucket. Source: tf.strings.to_hash_bucket.
    """
    return named(name, hash_bucket_p, input, num_buckets=whole(num_buckets, "num_buckets"))


@public("fingerprint")
def fingerprints(data: TensorLike, method: TensorLike = "farmhash64", name: str | None = None) -> Any:
    """FarmHash's 64 bits of each row, as bytes. t[n, *s] -> u8[n, 8]. Source: tf.fingerprint.

    Raises: InvalidArgumentError for a scalar and for another method.
    """
    x = as_tensor(data)
    if x.shape.rank == 0:
        raise invalid("`data` should have at least one dimension")
    how = as_tensor(method, string)
    known = known_value(how)
    if known is not None and known != b"farmhash64":
        raise invalid(f"Unsupported fingerprint algorithm: {known.item().decode()}")

    def rows(array: Any, _: Any) -> list[Any]:
        if array.dtype == object and array.ndim > 1:  # of a row of strings: of the fingerprints of them all
            prints = array_kernels.fingerprints(np.ascontiguousarray(array)).astype("<u8")
            texts = [row.tobytes() for row in prints]
        elif array.dtype != object:
            texts = [np.ascontiguousarray(row).tobytes() for row in array]
        else:
            texts = array.tolist()
        found = array_kernels.fingerprints(np.fromiter(texts, object, len(texts)))
        return [found.astype("<u8").view(np.uint8).reshape(-1, 8)]

    n = None if x.shape.rank is None else x.shape[0]
    return host_call(rows, [x, how], (uint8, [n, 8]), written=("Fingerprint", "fingerprint", {"T": x.dtype}))[0]
