"""TensorFlow's texts for shapes that do not fit an op while a graph is made, where its kernels say it otherwise.

Rule: only words; whether something fits is the op's `infer`. A table from a primitive's name to a function of shapes
and attributes, which gives None where the kernel's words stand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastgraph.core.op_errors import format_shape

Dims = tuple[int | None, ...] | None


def words(name: str, shapes: Sequence[Dims], attrs: Mapping[str, Any]) -> str | None:
    """Return TensorFlow's text for inputs of these shapes that do not fit the primitive; None if it has no other."""
    found = _WORDS.get(name)
    return None if found is None or any(shape is None for shape in shapes) else found(shapes, attrs)


def _unequal(a: Sequence[int | None], b: Sequence[int | None]) -> str | None:
    """The text for the first extent in which two shapes differ."""
    if len(a) != len(b):
        return f"Shapes must be equal rank, but are {len(a)} and {len(b)}"
    for i, (m, n) in enumerate(zip(a, b, strict=True)):
        if m is not None and n is not None and m != n:
            text = f"Dimension {i} in both shapes must be equal, but are {m} and {n}."
            return f"{text} Shapes are {format_shape(a)} and {format_shape(b)}."
    return None


def _reshape(shapes: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    (given,), wanted = shapes, attrs["shape"]
    if None in given or wanted.count(-1) > 1 or min(wanted, default=0) < -1:
        return None
    n, known = math.prod(given), math.prod(k for k in wanted if k != -1)
    if -1 in wanted:
        return f"Dimension size must be evenly divisible by {known} but is {n}" if known else None
    return f"Cannot reshape a tensor with {n} elements to shape {format_shape(wanted)} ({known} elements)"


def _string_join(shapes: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    whole = [shape for shape in shapes if shape]
    return next((text for other in whole[1:] if (text := _unequal(whole[0], other))), None)


def _concat(shapes: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    first, axis = shapes[0], attrs["axis"]
    for other in shapes[1:]:
        if len(other) != len(first):
            return f"Shape must be rank {len(first)} but is rank {len(other)}"
        at = axis % len(first) if -len(first) <= axis < len(first) else None
        if at is None:
            return None
        found = _unequal(first[:at], other[:at]) or _unequal(first[at + 1 :], other[at + 1 :])
        if found:
            return found
    return None


def _stack(shapes: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    last = shapes[-1]
    for i in range(len(shapes) - 2, -1, -1):
        if found := _unequal(shapes[i], last):
            return f"{found.rstrip('.')}. From merging shape {i} with other shapes."
    return None


def _broadcast(shapes: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    (given,), wanted = shapes, attrs["shape"]
    for m, n in zip(reversed(given), reversed(wanted), strict=False):
        if m not in (None, 1, n):
            return f"Dimensions must be equal, but are {m} and {n}"
    return None


def _transpose(shapes: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    rank, perm = len(shapes[0]), attrs["perm"]
    if len(perm) != rank:
        return f"Dimension must be {rank} but is {len(perm)}"
    wrong = [n for n in perm if not -rank <= n < rank]
    return f"perm dim {wrong[0]} is out of range of input rank {rank}" if wrong else None


def _pad(shapes: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    n, rank = len(attrs["paddings"]), len(shapes[0])
    return f"Shape must be rank {n} but is rank {rank}" if n != rank else None


def _tile(shapes: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    n, rank = len(attrs["multiples"]), len(shapes[0])
    return f"Shape must be rank {rank} but is rank {n}" if n != rank else None


def _segments(shapes: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    for m, n in zip(*shapes[:2], strict=False):
        if m is not None and n is not None and m != n:
            return f"Dimensions must be equal, but are {m} and {n}"
    return None


def _top_k(shapes: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    k, n = attrs["k"], shapes[0][-1] if shapes[0] else None
    return None if n is None or k <= n else f"input must have last dimension >= k = {k} but is {n}"


def _one_hot(shapes: Sequence[Any], attrs: Mapping[str, Any]) -> str | None:
    depth = attrs["depth"]
    return f"Dimension size, given by scalar input 1, must be non-negative but is {depth}" if depth < 0 else None


_WORDS: dict[str, Callable[[Sequence[Any], Mapping[str, Any]], str | None]] = {
    "reshape": _reshape,
    "concat": _concat,
    "string_join": _string_join,
    "stack": _stack,
    "broadcast_to": _broadcast,
    "transpose": _transpose,
    "pad": _pad,
    "tile": _tile,
    **dict.fromkeys([f"unsorted_segment_{kind}" for kind in ("sum", "prod", "max", "min")], _segments),
    "top_k": _top_k,
    "one_hot": _one_hot,
}
