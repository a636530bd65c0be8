"""tf.strings that give rows of different lengths: the parts of each string.

Rule: the ops split a vector of strings; what has more dimensions is split as the values of a ragged tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.core.base.dtype import string
from fastgraph.core.name_scopes import name_scope
from fastgraph.ops.arguments import as_tensor, whole
from fastgraph.ops.joining import stack
from fastgraph.ops.strings import string_split_p, string_split_v2_p


def bytes_split(input: object, name: str | None = None) -> Any:
    """The bytes of each string, a string each. string[*s] -> string[*s, None], ragged where s is not empty.

    Raises: ValueError for an unknown rank. Source: tf.strings.bytes_split.
    """
    with name_scope(name or "StringsByteSplit"):
        return _split(input, lambda words: string_split_p(words, "", skip_empty=False))


def split(input: object, sep: object = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of each string between separators. string[*s] -> string[*s, None], ragged where s is not empty.

    sep: a string; None or "": white space, however much. maxsplit: after so many separators the rest stays whole (-1:
    never). Raises: ValueError for an unknown rank. Source: tf.strings.split.
    """
    most = whole(maxsplit, "maxsplit", 64)
    with name_scope(name or "StringSplit"):
        return _split(input, lambda words: string_split_v2_p(words, "" if sep is None else sep, maxsplit=most))


def _split(input: object, op: Callable[[Any], Any]) -> Any:
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(_split(input.flat_values, op))
    words = as_tensor(input, string)
    rank = words.shape.rank
    if rank is None:
        raise ValueError("input must have a statically-known rank.")
    if rank == 0:
        return _split(stack([words]), op)[0]
    if rank > 1:
        return _split(RaggedTensor.from_tensor(words, ragged_rank=rank - 1), op)
    indices, values, shape = op(words)
    return RaggedTensor.from_value_rowids(values, indices[:, 0], shape[0], validate=False)
