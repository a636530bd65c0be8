"""tf.strings.unicode_*: strings of an encoding as numbers of characters, with their places, and back; other encodings.

Rule: the codecs are Python's; a part that is no text of the encoding is replaced, left out, or an error.
"""

from __future__ import annotations

import codecs
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.core.base.dtype import int32, int64, string
from fastgraph.core.base.name_tables import lines_of
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.conversion import TensorLike
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.native.array_kernels import pieces
from fastgraph.core.tensor import EagerTensor, Tensor, from_array
from fastgraph.ops.arguments import as_tensor, static_int, whole, word
from fastgraph.ops.comparison import logical_and
from fastgraph.ops.creation import range_
from fastgraph.ops.elementwise import maximum
from fastgraph.ops.families import invalid
from fastgraph.ops.gathering import gather, where
from fastgraph.ops.movement import reshape, shape, size
from fastgraph.ops.python_functions import host_call
from fastgraph.ops.reduction import reduce_prod
from fastgraph.ops.sorting import searchsorted

_OUTPUTS = ("UTF-8", "UTF-16-BE", "UTF-32-BE")


class _Options:
    """Options: how text is read, and what becomes of what is none."""

    def __init__(self, encoding: str, errors: str, replacement: Any, control: bool = False) -> None:
        encoding, errors = word(encoding, "input_encoding"), word(errors, "errors")
        if errors not in ("strict", "replace", "ignore"):
            allowed = '"strict", "replace", "ignore"'
            raise invalid(f"Value for attr 'errors' of \"{errors}\" is not in the list of allowed values: {allowed}")
        try:
            self.codec = codecs.lookup(encoding).name
        except LookupError:
            raise invalid(f"Could not create converter for input encoding: {encoding}") from None
        self.errors, self.control, self.encoding = errors, control, encoding
        self.replacement = whole(replacement, "replacement_char", 32)
        if not 0 <= self.replacement <= 0x10FFFF:
            raise invalid("replacement_char out of unicode codepoint range")

    def written(self, **more: Any) -> dict[str, Any]:
        """Return the attributes of operations that take these options."""
        return {"errors": self.errors, "replacement_char": self.replacement, **more}

    def characters(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the numbers of the characters, and where each begins."""
        codec, first = _byte_order(self.codec, data)
        at = first
        while at < len(data):
            end, after = len(data), None
            try:
                text = data[at:].decode(codec)
            except UnicodeDecodeError as error:
                end, after = at + error.start, at + max(error.end, error.start + 1)
                text = data[at:end].decode(codec)
            for character in text:
                code = ord(character)
                if self.control and code < 32:
                    if self.errors != "ignore":
                        yield self.replacement, at if at > first else 0
                else:
                    yield code, at if at > first else 0
                at += len(character.encode(codec))
            if after is None:
                return
            if self.errors == "strict":
                raise invalid("Invalid formatting on input string")
            if self.errors == "replace":
                yield self.replacement, end if end > first else 0
            at = after

    def characters_of_all(self, words: list[bytes]) -> tuple[Any, Any, Any] | None:
        """The numbers of all characters, where in its string each begins, how many each has; None if not all is UTF-8.

        Of all strings at once: those that are valid together are so one by one if none begins within a character.
        """
        joined = b"".join(words)
        data = np.frombuffer(joined, np.uint8)
        ends = np.cumsum([*map(len, words)], dtype=np.int64)
        begins = ends - np.diff(ends, prepend=0)
        leads = data & 0xC0 != 0x80
        if self.codec != "utf-8" or not leads[begins[begins < data.size]].all():
            return None
        try:
            codes = np.frombuffer(joined.decode().encode("utf-32-le"), np.int32)
        except UnicodeDecodeError:
            return None
        places = np.flatnonzero(leads)
        if self.control and (odd := codes < 32).any():
            if self.errors == "ignore":
                codes, places = codes[~odd], places[~odd]
            else:
                codes = np.where(odd, np.int32(self.replacement), codes)
        lengths = np.diff(np.searchsorted(places, ends), prepend=0)
        return codes, places - np.repeat(begins, lengths), lengths


def _byte_order(codec: str, data: bytes) -> tuple[str, int]:
    """Return the codec of text whose mark says the order of its bytes (none: big-endian), and the mark's length."""
    if codec not in ("utf-16", "utf-32"):
        return codec, 0
    little, big = (
        (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) if codec == "utf-16" else (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
    )
    return f"{codec}-{'le' if data.startswith(little) else 'be'}", len(big) * data.startswith((little, big))


def _output(encoding: str) -> str:
    encoding = word(encoding, "output_encoding")
    if encoding not in _OUTPUTS:
        allowed = ", ".join(f'"{each}"' for each in _OUTPUTS)
        raise invalid(
            f"Value for attr 'output_encoding' of \"{encoding}\" is not in the list of allowed values: {allowed}"
        )
    return codecs.lookup(encoding).name


def _texts(items: list[bytes]) -> Any:
    made = np.empty(len(items), object)
    made[:] = items
    return made


def _encoded(codes: Any, lengths: Any, codec: str) -> Any:
    """Strings of so many characters each: all are encoded at once, and cut. i32[m], i[n] -> string[n]."""
    text = codes.astype("<i4", copy=False).tobytes().decode("utf-32-le", "surrogatepass")
    if codec == "utf-8":
        widths = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
    else:
        widths = 2 + 2 * (codes >= 0x10000) if codec == "utf-16-be" else np.full(codes.size, 4)
    places = np.concatenate([[0], np.cumsum(widths)])[np.cumsum(lengths)].astype(np.int64, copy=False)
    return _texts(pieces(text.encode(codec, "surrogatepass"), places))


def _by_rows(input: Any, parts: Callable[[Any], list[Any]], scope: str) -> list[Any]:
    """Results of a vector of strings, [values..., row lengths], as ragged tensors of one more axis."""
    if isinstance(input, RaggedTensor):
        return [input.with_flat_values(each) for each in _by_rows(input.flat_values, parts, scope)]
    words = as_tensor(input, string)
    rank = words.shape.rank
    if rank is None:
        raise ValueError("Rank of `input` must be statically known.")
    if rank > 1:
        return _by_rows(RaggedTensor.from_tensor(words, ragged_rank=rank - 1), parts, scope)
    *values, lengths = parts(reshape(words, [-1]))
    if rank == 0:
        return values
    return [RaggedTensor.from_row_lengths(each, lengths, validate=False) for each in values]


def _decoded(options: _Options, words: Any) -> list[Any]:
    def decode(words: Any) -> tuple[Any, Any, Any]:
        if (found := options.characters_of_all(words.tolist())) is not None:
            return found
        rows = [list(options.characters(word)) for word in words.tolist()]
        flat = np.array([pair for row in rows for pair in row], np.int64).reshape(-1, 2)
        return flat[:, 0].astype(np.int32), flat[:, 1], np.array([len(row) for row in rows], np.int64)

    said = options.written(input_encoding=options.encoding, replace_control_characters=options.control, Tsplits=int64)
    results = (int32, [None]), (int64, [None]), (int64, words.shape)
    names = "row_splits char_values char_to_byte_starts"
    return host_call(decode, [words], *results, written=("UnicodeDecodeWithOffsets", names, said))


def unicode_decode(
    input: TensorLike, input_encoding: str, errors: str = "replace", replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False, name: str | None = None,
) -> RaggedTensor | Any:  # fmt: skip
    """The numbers of each string's characters. string[*s] -> i32[*s, None], ragged where s is not empty.

    errors: "replace" what is no text by `replacement_char`, "ignore" it, or "strict". Raises: InvalidArgumentError for
    what is no text, if strict, and for unknown encodings. Source: tf.strings.unicode_decode.
    """
    return unicode_decode_with_offsets(
        input, input_encoding, errors, replacement_char, replace_control_characters, name or "UnicodeDecode"
    )[0]


def unicode_decode_with_offsets(input: TensorLike, input_encoding: str, errors: str = "replace",
                                replacement_char: int = 0xFFFD, replace_control_characters: bool = False,
                                name: str | None = None) -> tuple[Any, Any]:  # fmt: skip
    """`unicode_decode`, and at which byte each character begins, i64. Source: same name."""
    options = _Options(input_encoding, errors, replacement_char, bool(replace_control_characters))
    with name_scope(name or "UnicodeDecodeWithOffsets") as scope:
        codes, offsets = _by_rows(input, lambda words: _decoded(options, words), str(scope))
    return codes, offsets


def unicode_split_with_offsets(
    input: TensorLike, input_encoding: str, errors: str = "replace", replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Each string's characters as strings, and at which byte each begins. string[*s] -> string, i64[*s, None].

    Source: tf.strings.unicode_split_with_offsets.
    """
    options, codec = _Options(input_encoding, errors, replacement_char), _output(input_encoding)

    def split(words: Any) -> list[Any]:
        codes, offsets, lengths = _decoded(options, words)
        if isinstance(codes, EagerTensor):
            parts = _encoded(codes.numpy(), np.ones(codes.shape[0], int), codec)
            return [from_array(parts, string), offsets, lengths]
        single = RaggedTensor.from_row_splits(codes, range_(size(codes, int64) + 1), validate=False)
        return [unicode_encode(single, input_encoding), offsets, lengths]

    with name_scope(name or "UnicodeSplitWithOffsets") as scope:
        parts, offsets = _by_rows(input, split, str(scope))
    return parts, offsets


def unicode_encode(
    input: Any, output_encoding: str, errors: str = "replace", replacement_char: int = 0xFFFD, name: str | None = None
) -> Tensor | Any:
    """Strings of the numbers of their characters, which lie along the last axis. i32[*s, n] -> string[*s].

    Raises: InvalidArgumentError for numbers of no characters, if strict, and for other encodings.
    Source: tf.strings.unicode_encode.
    """
    options, codec = _Options("UTF-8", errors, replacement_char), _output(output_encoding)

    def texts(codes: Any, lengths: Any) -> Any:
        known = (codes >= 0) & (codes < 0xD800) | (codes >= 0xE000) & (codes <= 0x10FFFF)
        if not known.all():
            if errors == "strict":
                raise invalid("Code point is out of range for Unicode, or a noncharacter.")
            if errors == "ignore":
                before = np.concatenate([[0], np.cumsum(known)])
                codes, lengths = codes[known], np.diff(before[np.cumsum(lengths)], prepend=0)
            else:
                codes = np.where(known, codes, np.int32(options.replacement))
        return _encoded(codes, lengths, codec)

    def rows(codes: Any, splits: Any) -> list[Any]:
        return [texts(codes[splits[0] : splits[-1]], np.diff(splits))]

    with name_scope(name or "UnicodeEncode"):
        if isinstance(input, RaggedTensor) and isinstance(input.values, RaggedTensor):
            return input.with_values(unicode_encode(input.values, output_encoding, errors, replacement_char))
        if isinstance(input, RaggedTensor) and input.values.shape.rank == 1:
            n = None if input.shape[0] is None else [input.shape[0]]
            said = options.written(output_encoding=output_encoding, Tsplits=input.row_splits.dtype)
            inputs, written = [input.values, input.row_splits], ("UnicodeEncode", "output", said)
            return host_call(rows, inputs, (string, n or [None]), written=written)[0]
        if isinstance(input, RaggedTensor):
            return input.with_values(unicode_encode(input.values, output_encoding, errors, replacement_char))
        codes = as_tensor(input, int32)
        if codes.shape.rank is None:
            raise ValueError("Rank of input_tensor must be statically known.")
        if codes.shape.rank == 0:
            raise ValueError("input_tensor's rank must be at least 1.")

        if not isinstance(codes, EagerTensor):  # as rows of one length, which files have
            dims, flat = shape(codes, int64), reshape(codes, [-1])
            splits = range_(reduce_prod(dims[:-1]) + 1) * dims[-1]
            return reshape(unicode_encode(RaggedTensor.from_row_splits(flat, splits, validate=False), output_encoding,
                                          errors, replacement_char), dims[:-1])  # fmt: skip

        def dense(codes: Any) -> list[Any]:
            n = int(np.prod(codes.shape[:-1]))
            return [texts(codes.reshape(-1), np.full(n, codes.shape[-1])).reshape(codes.shape[:-1])]

        return host_call(dense, [codes], (string, codes.shape[:-1]))[0]


def unicode_transcode(input: TensorLike, input_encoding: str, output_encoding: str, errors: str = "replace",
                      replacement_char: int = 0xFFFD, replace_control_characters: bool = False,
                      name: str | None = None) -> Tensor | Any:  # fmt: skip
    """Strings of one encoding in another. string[*s] -> string[*s]. Source: tf.strings.unicode_transcode."""
    options = _Options(input_encoding, errors, replacement_char, bool(replace_control_characters))
    codec = _output(output_encoding)
    if isinstance(input, RaggedTensor):
        rest = (errors, replacement_char, replace_control_characters, name)
        return input.with_flat_values(unicode_transcode(input.flat_values, input_encoding, output_encoding, *rest))

    def transcode(words: Any) -> list[Any]:
        if (found := options.characters_of_all(words.reshape(-1).tolist())) is not None:
            codes, _, lengths = found
            surrogates = (codes >= 0xD800) & (codes < 0xE000)  # what takes the place of control characters may be one
            return [_encoded(np.where(surrogates, np.int32(ord("?")), codes), lengths, codec).reshape(words.shape)]
        texts = ["".join(chr(code) for code, _ in options.characters(word)) for word in words.reshape(-1).tolist()]
        return [_texts([each.encode(codec, "replace") for each in texts]).reshape(words.shape)]

    words = as_tensor(input, string)
    with name_scope(name or "UnicodeTranscode"):
        said = options.written(
            input_encoding=options.encoding, output_encoding=output_encoding,
            replace_control_characters=options.control,
        )  # fmt: skip
        return host_call(transcode, [words], (string, words.shape), written=("UnicodeTranscode", "output", said))[0]


@functools.cache
def _scripts() -> tuple[Any, Any]:
    """Return where runs of characters of one script begin, and the scripts' numbers in ICU."""
    runs = " ".join(lines_of("composites/unicode_scripts.txt")).split()
    lengths, scripts = np.array([run.split(":") for run in runs], np.int32).T
    return np.cumsum(lengths) - lengths, scripts


def unicode_script(input: TensorLike, name: str | None = None) -> Tensor | Any:
    """The number that ICU gives the script of each character (0 common, 25 Latin), -1 for what is no character.

    i32[*s] -> i32[*s]. Source: tf.strings.unicode_script.
    """
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(unicode_script(input.flat_values, name))
    codes = as_tensor(input, int32)
    starts, scripts = _scripts()
    with name_scope(name or "UnicodeScript"):
        places = searchsorted(as_tensor(starts, int32), reshape(codes, [-1]), side="right") - 1
        found = reshape(gather(as_tensor(scripts), maximum(places, 0)), shape(codes))
        return where(logical_and(codes >= 0, codes < 0x110000), found, as_tensor(-1))


def unsorted_segment_join(
    inputs: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, separator: str = "", name: str | None = None
) -> Tensor:
    """Strings with the same id joined in order. string[*s, *r], i[*s] -> string[num_segments, *r].

    Raises: InvalidArgumentError for other ids and shapes.
    Source: tf.strings.unsorted_segment_join.
    """
    words, ids, n = as_tensor(inputs, string), as_tensor(segment_ids), as_tensor(num_segments)
    between = separator.encode() if isinstance(separator, str) else separator

    def join(words: Any, ids: Any, n: Any) -> list[Any]:
        count = int(n)
        if words.shape[: ids.ndim] != ids.shape:
            raise invalid("segment_ids's shape must be the beginning of inputs' shape")
        rest = words.shape[ids.ndim :]
        rows = words.reshape(ids.size, -1 if words.size else int(np.prod(rest)))
        found: list[list[list[bytes]]] = [[[] for _ in range(rows.shape[1])] for _ in range(count)]
        for row, place in zip(rows, ids.reshape(-1).tolist(), strict=True):
            if not 0 <= place < count:
                raise invalid("segment_ids are not allowed to exceed num_segments or to have negative values.")
            for parts, each in zip(found[place], row, strict=True):
                parts.append(each)
        return [_texts([between.join(parts) for row in found for parts in row]).reshape(count, *rest)]

    rank = ids.shape.rank
    known = TensorShape([static_int(n)])
    rest = None if rank is None or words.shape.rank is None else known.concatenate(words.shape[rank:])
    with name_scope(name or "UnsortedSegmentJoin"):
        said = {"separator": between, "Tindices": ids.dtype, "Tnumsegments": n.dtype}
        return host_call(join, [words, ids, n], (string, rest), written=("UnsortedSegmentJoin", "output", said))[0]
