"""tf.strings that give rows of different lengths: the parts of each string, neighbours joined.

Rule: the ops split a vector of strings; what has more dimensions is split as the values of a ragged tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.composites.unicode_strings import unicode_split_with_offsets
from fastgraph.core.base.dtype import string
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.native.array_kernels import joined
from fastgraph.ops.arguments import as_tensor, whole, word
from fastgraph.ops.families import Array, custom
from fastgraph.ops.joining import stack
from fastgraph.ops.movement import size
from fastgraph.ops.print_op import ragged_text, tensor_text
from fastgraph.ops.runtime_checks import of_rank
from fastgraph.ops.string_patterns import characters_p, ngrams_p
from fastgraph.ops.strings import string_split_p, string_split_v2_p


def bytes_split(input: TensorLike, name: str | None = None) -> RaggedTensor | Any:
    """The bytes of each string, a string each. string[*s] -> string[*s, None], ragged where s is not empty.

    Raises: ValueError for an unknown rank. Source: tf.strings.bytes_split.
    """
    with name_scope(name or "StringsByteSplit"):
        return _split(input, lambda words: string_split_p(words, "", skip_empty=False))


def split(input: TensorLike, sep: str | None = None, maxsplit: int = -1, name: str | None = None) -> RaggedTensor | Any:
    """The parts of each string between separators. string[*s] -> string[*s, None], ragged where s is not empty.

    sep: a string; None or "": white space, however much. maxsplit: after so many separators the rest stays whole (-1:
    never). Of unknown rank: a vector. Source: tf.strings.split.
    """
    most = whole(maxsplit, "maxsplit", 64)
    with name_scope(name or "StringSplit"):
        given = input if isinstance(input, RaggedTensor) else of_rank(as_tensor(input, string), 1)
        return _split(given, lambda words: string_split_v2_p(words, "" if sep is None else sep, maxsplit=most))


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
    rows = words.shape[0]
    return RaggedTensor.from_value_rowids(values, indices[:, 0], shape[0] if rows is None else rows, validate=False)


def unicode_split(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> RaggedTensor | Any:
    """The characters of each string, a string each. string[*s] -> string[*s, None], ragged where s is not empty.

    errors: "replace" what is no text by `replacement_char`, "ignore" it, or "strict". Raises: ValueError for an unknown
    rank; InvalidArgumentError for what is no text, if strict. Source: tf.strings.unicode_split.
    """
    if input_encoding != "UTF-8" or errors != "replace" or replacement_char != 0xFFFD:
        return unicode_split_with_offsets(input, input_encoding, errors, replacement_char, name or "UnicodeSplit")[0]
    with name_scope(name or "UnicodeSplit"):
        return _characters(input)


def _characters(input: TensorLike) -> Any:
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(_characters(input.flat_values))
    words = as_tensor(input, string)
    rank = words.shape.rank
    if rank is None:
        raise ValueError("Rank of `input` must be statically known.")
    if rank == 0:
        return characters_p(stack([words]))[0]
    if rank > 1:
        return _characters(RaggedTensor.from_tensor(words, ragged_rank=rank - 1))
    values, lengths = characters_p(words)
    return RaggedTensor.from_row_lengths(values, lengths, validate=False)


def ngrams(
    data: TensorLike,
    ngram_width: int | Sequence[int],
    separator: str = " ",
    pad_values: str | tuple[str, str] | None = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Neighbouring strings along the last axis, joined. string[*s, n] -> string[*s, None], ragged if `data` is.

    ngram_width: how many, or several such numbers. pad_values: what stands before and after, once for each neighbour
    but one (padding_width: at most). preserve_short_sequences: a row that is too short gives all of it.
    Raises: TypeError, ValueError for widths that are none and paddings that do not fit. Source: tf.strings.ngrams.
    """
    widths = [
        whole(n, "ngram_width", 32) for n in (ngram_width if isinstance(ngram_width, list | tuple) else [ngram_width])
    ]
    if min(widths, default=0) < 1:
        raise ValueError(f"All ngram_widths must be greater than 0. Received: ngram_width={ngram_width}")
    if isinstance(pad_values, list | tuple):
        if len(pad_values) != 2 or not all(isinstance(v, str | bytes) for v in pad_values):
            raise ValueError("pad_values must be a string, tuple of strings, or None.")
        ends = tuple(pad_values)
    elif pad_values is None or isinstance(pad_values, str | bytes):
        ends = (pad_values or "",) * 2
    else:
        raise TypeError("pad_values must be a string, tuple of strings, or None.")
    if padding_width is not None and pad_values is None:
        raise ValueError("pad_values must be provided if padding_width is set.")
    if padding_width is not None and padding_width < 1:
        raise ValueError(f"padding_width must be greater than 0. Received: padding_width={padding_width}")
    pads = 0 if pad_values is None else -1 if padding_width is None else padding_width
    attrs = {
        "widths": tuple(widths),
        "separator": word(separator, "separator"),
        "ends": tuple(v if isinstance(v, bytes) else v.encode() for v in ends),
        "pads": pads,
        "short": bool(preserve_short_sequences),
    }
    with name_scope(name or "StringNGrams"):
        if not isinstance(data, RaggedTensor):
            words = as_tensor(data, string)
            if words.shape.rank is None or words.shape.rank == 0:
                raise ValueError("`data` must have a rank of at least 1")
            if words.shape.rank == 1:
                return ngrams_p(words, stack([0, size(words)]), **attrs)[0]
            rows = RaggedTensor.from_tensor(words, ragged_rank=words.shape.rank - 1)
            return _rows_of(rows, attrs).to_tensor(shape=[*words.shape[:-1], None])
        if data.flat_values.shape.rank != 1:
            return _rows_of(data.with_flat_values(RaggedTensor.from_tensor(data.flat_values)), attrs)
        return _rows_of(data, attrs)


def _rows_of(data: RaggedTensor, attrs: dict[str, Any]) -> Any:
    if isinstance(data.values, RaggedTensor):
        return data.with_values(_rows_of(data.values, attrs))
    values, splits = ngrams_p(data.values, data.row_splits, **attrs)
    return RaggedTensor.from_row_splits(values, splits, validate=False)


@custom(
    infer=lambda *inputs, **_: Aval(string, ()),
    groups=("-",),
    samples=lambda: [
        (
            (np.arange(3.0), np.array([0, 1, 3])),
            {"template": "a {}", "placeholder": "{}", "summarize": 3, "levels": (1,)},
        )
    ],
    reason="text for people to read",
)
def format_rows_p(*inputs: Array, template: str, placeholder: str, summarize: int, levels: tuple[int, ...]) -> Any:
    """A text with tensors in the places held for them; the next `levels[i]` inputs are the row splits of the i-th."""
    left, shown = iter(inputs), []
    for n in levels:
        values, splits = next(left), [next(left) for _ in range(n)]
        shown.append(ragged_text(values, splits, summarize) if n else tensor_text(values, summarize))
    texts = zip(template.split(placeholder), [*shown, ""], strict=True)
    return np.array("".join(a + b for a, b in texts).encode(), object)


def format_rows(inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """tf.strings.format where one of the tensors is ragged."""
    parts = [(x.flat_values, *x.nested_row_splits) if isinstance(x, RaggedTensor) else (x,) for x in inputs]
    flat = [tensor for part in parts for tensor in part]
    return format_rows_p(*flat, **attrs, levels=tuple([len(part) - 1 for part in parts]))


@custom(
    op="UnsortedSegmentJoin",
    infer=lambda inputs, ids, n, **_: Aval(string, None if inputs.shape is None else (None, *inputs.shape[1:])),
    groups=("string", "T", "int64"),
    dtypes="index",
    step="dynamic",
    samples=lambda: [
        ((np.array([b"a", b"b", b"c"], object), np.array([1, 0, 1], t), np.int64(3)), {"separator": "+"})
        for t in ("int32", "int64")
    ],
    reason="strings are objects of Python",
)
def join_segments(inputs: Array, ids: Array, n: Array, *, separator: str) -> Any:
    """The slices of inputs with the same number joined, place by place. string[m, *s], i[m] -> string[n, *s]."""
    width = math.prod(inputs.shape[1:])
    places = (ids.astype(np.int64)[:, None] * width + np.arange(width)).reshape(-1)
    found = joined(np.ascontiguousarray(inputs), places, int(n) * width, separator.encode())
    return found.reshape(int(n), *inputs.shape[1:])
