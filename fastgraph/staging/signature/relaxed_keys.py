"""Keys with unknown sizes: which calls a general trace serves, and the key that serves two calls.

Rule: nothing but the shapes of tensors and types with subtypes may differ between a general key and what it serves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastgraph.core.base.type_specs import TypeSpec
from fastgraph.staging.signature.cache_keys import TENSOR, TYPE


def general_key(key: Any, other: Any) -> Any | None:
    """Return the key that serves two calls: shapes of tensors relaxed to None where they differ; None if there is none.

    Only shapes of tensors and types with subtypes may differ. Source: tf.function(reduce_retracing=True).
    """
    if type(key) is not tuple or type(other) is not tuple:
        return key if key == other else None
    if len(key) != len(other):
        return None
    if key[:1] == other[:1] == (TENSOR,):
        if key[1] != other[1]:
            return None
        a, b = key[2], other[2]
        if a is None or b is None or len(a) != len(b):
            return (TENSOR, key[1], None)
        return (TENSOR, key[1], tuple([x if x == y else None for x, y in zip(a, b, strict=True)]))
    if key[:1] == other[:1] == (TYPE,):
        common = key[1].most_specific_common_supertype([other[1]])
        return None if common is None else (TYPE, common)
    parts = []
    for x, y in zip(key, other, strict=True):
        part = general_key(x, y) if type(x) is tuple else x if x == y and type(x) is type(y) else None
        if part is None and not (x is None and y is None):
            return None
        parts.append(part)
    return tuple(parts)


#: For each tensor of a key, whether each of its sizes is unknown; None where its rank is.
Mask = tuple[tuple[bool, ...] | None, ...]


@dataclass(frozen=True)
class Masked:
    """A key with unknown sizes taken apart: what it is without sizes, which are unknown, the others, and its types."""

    skeleton: Any
    mask: Mask
    sizes: Any
    types: list[Any]


def masked(key: object) -> Masked:
    """Take a key apart."""
    shapes: list[Any] = []
    types_: list[Any] = []
    without = skeleton(key, shapes, types_)
    mask = tuple([None if shape is None else tuple([d is None for d in shape]) for shape in shapes])
    return Masked(without, mask, hidden(shapes, mask), types_)


def skeleton(key: object, shapes: list[Any], types_: list[Any]) -> Any:
    """Return a key without the shapes of its tensors and the parts of its types, which are appended to the lists."""
    if type(key) is not tuple or not key:
        return key
    if key[0] is TENSOR:
        shapes.append(key[2])
        return key[:2]
    if key[0] is TYPE:
        types_.append(key[1])
        return (TYPE, type(key[1]) if isinstance(key[1], TypeSpec) else None)  # a program's may be subtypes of any
    return tuple([skeleton(part, shapes, types_) for part in key])


def hidden(shapes: list[Any], mask: Mask) -> Any:
    """Return the sizes that the mask leaves, None where the ranks do not fit."""
    left: list[Any] = []
    for shape, unknown in zip(shapes, mask, strict=True):
        if unknown is None:
            left.append(None)
        elif shape is None or len(shape) != len(unknown):
            return None
        else:
            left.append(tuple([size for size, is_unknown in zip(shape, unknown, strict=True) if not is_unknown]))
    return tuple(left)
