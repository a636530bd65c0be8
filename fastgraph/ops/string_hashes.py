"""Fingerprints of strings, as TensorFlow's buckets have them.

Rule: whole numbers of 64 bits, computed with Python's and cut to 64 bits where they may have grown.
Sources: FarmHash's Fingerprint64 (Pike), SipHash-2-4 (Aumasson and Bernstein 2012).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import int64, string, uint8
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import as_tensor, index_list, known_value, named, whole
from fastgraph.ops.families import Array, custom, invalid, public
from fastgraph.ops.python_functions import host_call

_MASK = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_REASON = "strings: their bytes lie in Python objects, which kernels do not see"


def _rotated(value: int, right: int) -> int:
    value &= _MASK
    return (value >> right | value << (64 - right)) & _MASK


def _mixed(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _joined(u: int, v: int, factor: int) -> int:
    """Two words as one."""
    a = _mixed((u ^ v) * factor)
    return _mixed((v ^ a) * factor) * factor & _MASK


def _word(text: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(text[at : at + size], "little")


def _short(text: bytes) -> int:
    n = len(text)
    factor = _K2 + 2 * n
    if n >= 8:
        a, b = _word(text, 0) + _K2 & _MASK, _word(text, n - 8)
        c = _rotated(b, 37) * factor + a & _MASK
        d = (_rotated(a, 25) + b) * factor & _MASK
        return _joined(c, d, factor)
    if n >= 4:
        return _joined(n + (_word(text, 0, 4) << 3), _word(text, n - 4, 4), factor)
    if n:
        y, z = text[0] + (text[n >> 1] << 8), n + (text[-1] << 2)
        return _mixed(y * _K2 ^ z * _K0) * _K2 & _MASK
    return _K2


def _middle(text: bytes) -> int:
    """Of 17 to 64 bytes."""
    n = len(text)
    factor = _K2 + 2 * n
    a = _word(text, 0) * (_K1 if n <= 32 else _K2) & _MASK
    b = _word(text, 8)
    c = _word(text, n - 8) * factor & _MASK
    d = _word(text, n - 16) * _K2 & _MASK
    y = _rotated(a + b, 43) + _rotated(c, 30) + d & _MASK
    z = _joined(y, a + _rotated(b + _K2, 18) + c & _MASK, factor)
    if n <= 32:
        return z
    e, f = _word(text, 16) * factor & _MASK, _word(text, 24)
    g = (y + _word(text, n - 32)) * factor & _MASK
    h = (z + _word(text, n - 24)) * factor & _MASK
    return _joined(_rotated(e + f, 43) + _rotated(g, 30) + h & _MASK, e + _rotated(f + a, 18) + g & _MASK, factor)


def _weak(text: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_word(text, at + i) for i in (0, 8, 16, 24))
    a += w
    b = _rotated(b + a + z, 21)
    c = a
    a += x + y
    return a + z & _MASK, b + _rotated(a, 44) + c & _MASK


def fingerprint(text: bytes) -> int:
    """Return FarmHash's Fingerprint64 of a string."""
    n = len(text)
    if n <= 16:
        return _short(text)
    if n <= 64:
        return _middle(text)
    x, y = 81, 81 * _K1 + 113 & _MASK
    z = _mixed(y * _K2 + 113) * _K2 & _MASK
    v, w = (0, 0), (0, 0)
    x = x * _K2 + _word(text, 0) & _MASK
    rest = n - 1 & 63

    def sweep(at: int, x: int, y: int, z: int, factor: int, by: int) -> tuple[Any, ...]:
        x = _rotated(x + y + v[0] + _word(text, at + 8), 37) * factor
        y = _rotated(y + v[1] + _word(text, at + 48), 42) * factor
        x = (x ^ w[1] * by) & _MASK
        y = y + v[0] * by + _word(text, at + 40) & _MASK
        z = _rotated(z + w[0], 33) * factor & _MASK
        first = _weak(text, at, v[1] * factor, x + w[0])
        second = _weak(text, at + 32, z + w[1], y + _word(text, at + 16))
        return z, y, x, first, second

    for at in range(0, n - 1 - rest, 64):
        x, y, z, v, w = sweep(at, x, y, z, _K1, 1)
    factor = _K1 + ((z & 0xFF) << 1)
    w = (w[0] + rest & _MASK, w[1])
    v = (v[0] + w[0] & _MASK, v[1])
    w = (w[0] + v[0] & _MASK, w[1])
    x, y, z, v, w = sweep(n - 64, x, y, z, factor, 9)
    first = _joined(v[0], w[0], factor) + _mixed(y) * _K0 + z & _MASK
    return _joined(first, _joined(v[1], w[1], factor) + x & _MASK, factor)


def together(first: int, second: int) -> int:
    """Return the fingerprint of two fingerprints in order."""
    factor = 0xC6A4A7935BD1E995
    result = (first ^ factor ^ _mixed(second * factor) * factor) * factor
    return _mixed(_mixed(result) * factor)


def keyed(text: bytes, key: tuple[int, int]) -> int:
    """Return SipHash-2-4 of a string by two words of key."""
    v = [
        key[0] ^ 0x736F6D6570736575,
        key[1] ^ 0x646F72616E646F6D,
        key[0] ^ 0x6C7967656E657261,
        key[1] ^ 0x7465646279746573,
    ]

    def rounds(count: int) -> None:
        for _ in range(count):
            for a, b, turn in ((0, 1, 51), (2, 3, 48)):
                v[a] = v[a] + v[b] & _MASK
                v[b] = _rotated(v[b], turn) ^ v[a]
            v[0] = _rotated(v[0], 32)
            for a, b, turn in ((2, 1, 47), (0, 3, 43)):
                v[a] = v[a] + v[b] & _MASK
                v[b] = _rotated(v[b], turn) ^ v[a]
            v[2] = _rotated(v[2], 32)

    whole_words = len(text) // 8 * 8
    words = [_word(text, at) for at in range(0, whole_words, 8)]
    for each in [*words, _word(text, whole_words) | (len(text) & 0xFF) << 56]:
        v[3] ^= each
        rounds(2)
        v[0] ^= each
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def _buckets(words: Array, function: Callable[[bytes], int], count: int) -> Array:
    if count < 1:
        raise invalid(f"num_buckets must be >= 1, got {count}")
    flat = [function(word) % count for word in words.reshape(-1).tolist()]
    return np.array(flat, np.int64).reshape(words.shape)


def _samples(**more: Any) -> list[Any]:
    texts = np.array([b"", b"a", b"hello", b"0123456789", b"x" * 30, b"y" * 60, b"z" * 200], object)
    return [((texts,), {"num_buckets": 1000, **more})]


@custom(
    op="StringToHashBucketFast",
    infer=lambda input, **_: Aval(int64, input.shape),
    groups=("string",),
    samples=_samples,
    error_samples=lambda: [
        ((np.array([b"a"], object),), {"num_buckets": 0}, InvalidArgumentError, "num_buckets must be >= 1")
    ],
    reason=_REASON,
)
def hash_bucket_fast_p(input: Array, *, num_buckets: int) -> Any:
    """The bucket of each string, by its fingerprint. string[*s] -> i64[*s]."""
    return _buckets(input, fingerprint, num_buckets)


@custom(
    op="StringToHashBucketStrong",
    infer=lambda input, **_: Aval(int64, input.shape),
    groups=("string",),
    samples=lambda: _samples(key=(1, 2)),
    reason=_REASON,
)
def hash_bucket_strong_p(input: Array, *, num_buckets: int, key: tuple[int, int]) -> Any:
    """The bucket of each string, by SipHash with a key. string[*s] -> i64[*s]."""
    return _buckets(input, functools.partial(keyed, key=key), num_buckets)


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


def _legacy(text: bytes) -> int:
    """MurmurHash64A of a string, with the seed of tf.strings.to_hash_bucket."""
    factor = 0xC6A4A7935BD1E995
    hashed = 0xDECAFCAFFE ^ len(text) * factor & _MASK
    whole = len(text) & ~7
    for at in range(0, whole, 8):
        word = int.from_bytes(text[at : at + 8], "little") * factor & _MASK
        hashed = (hashed ^ _mixed(word) * factor & _MASK) * factor & _MASK
    if whole < len(text):
        hashed = (hashed ^ int.from_bytes(text[whole:], "little")) * factor & _MASK
    return _mixed(_mixed(hashed) * factor & _MASK)


@public("strings.to_hash_bucket")
def to_hash_bucket(input: TensorLike, num_buckets: TensorLike, name: str | None = None) -> Any:
    """The bucket of each string, by an older hash than to_hash_bucket_fast's. string[*s] -> i64[*s].

    Raises: InvalidArgumentError for less than one bucket. Source: tf.strings.to_hash_bucket.
    """
    words, count = as_tensor(input, string), whole(num_buckets, "num_buckets")
    if count < 1:
        raise invalid(f"num_buckets must be >= 1, got {count}")
    return host_call(lambda texts: [_buckets(texts, _legacy, count)], [words], (int64, words.shape))[0]


@public("fingerprint")
def fingerprints(data: TensorLike, method: TensorLike = "farmhash64", name: str | None = None) -> Any:
    """FarmHash's 64 bits of each row, as bytes. t[n, *s] -> u8[n, 8]. Source: tf.fingerprint.

    Raises: InvalidArgumentError for a scalar and for another method.
    """
    x = as_tensor(data)
    if x.shape.rank == 0:
        raise invalid("`data` should have at least one dimension")
    known = known_value(as_tensor(method, string))
    if known is not None and known != b"farmhash64":
        raise invalid(f"Unsupported fingerprint algorithm: {known.item().decode()}")

    def rows(array: Any) -> list[Any]:
        if array.dtype == object and array.ndim == 1:
            texts = array.tolist()
        elif array.dtype == object:
            texts = [b"".join(fingerprint(each).to_bytes(8, "little") for each in row.flat) for row in array]
        else:
            texts = [np.ascontiguousarray(row).tobytes() for row in array]
        found = b"".join(fingerprint(text).to_bytes(8, "little") for text in texts)
        return [np.frombuffer(found, np.uint8).reshape(-1, 8)]

    n = None if x.shape.rank is None else x.shape[0]
    return host_call(rows, [x], (uint8, [n, 8]))[0]
