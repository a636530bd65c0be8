"""String tensors: joining, measuring, cutting, numbers as text and back.

Rule: strings are bytes in object arrays; every op here runs on the host, because no kernel has string elements.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, float32, int32, int64, string
from fastgraph.core.base.shapes import Aval, TensorShape
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native import array_kernels
from fastgraph.core.op_errors import wrong_dtype
from fastgraph.core.tensor import Tensor, executing_eagerly
from fastgraph.errors import InvalidArgumentError, OutOfRangeError
from fastgraph.ops.arguments import are_known, as_tensor, named, static_axes, whole, word
from fastgraph.ops.deferred_calls import late_unless_known
from fastgraph.ops.families import (
    Array,
    broadcast,
    canonical_axes,
    custom,
    invalid,
    misuse,
    public,
    reduced_shape,
    shape_text,
)
from fastgraph.ops.print_op import tensor_text

_REASON = "strings: their bytes lie in Python objects, which kernels do not see"


def _each(function: Callable[[Any], Any], x: Array, dtype: type | np.dtype[Any] = object) -> Any:
    return _array(map(function, x.reshape(-1).tolist()), x.shape, dtype)


def _array(items: Iterable[Any], shape: tuple[int, ...], dtype: type | np.dtype[Any] = object) -> Any:
    if dtype is object:
        return array_kernels.objects(list(items)).reshape(shape)
    return np.fromiter(items, dtype, math.prod(shape)).reshape(shape)


def _words(*items: Any) -> Any:
    return np.array(items, object)


# ---- numbers as text ------------------------------------------------------------------------------------------------


@custom(
    infer=lambda input, **attrs: Aval(string, input.shape),
    dtypes="ordered complex64 complex128 bool string",
    samples=lambda: [
        ((np.array(v, t),), {"precision": -1, "scientific": False, "shortest": False, "width": -1, "fill": ""})
        for v, t in (([1.5, -2], "float32"), ([1, 22], "int32"), (True, "bool"), (1 + 2j, "complex64"))
    ],
    reason=_REASON,
)
def as_string_p(input: Array, *, precision: int, scientific: bool, shortest: bool, width: int, fill: str) -> Any:
    """Each element as text. t[*s] -> string[*s]."""
    if len(fill) > 1:
        raise invalid("Fill string must be one or fewer characters")
    if fill and fill not in " +-0#":
        raise invalid(f'Fill argument not supported: "{fill}"')
    if input.dtype.kind in "iubO" and (scientific or shortest or precision > -1):
        what = "precision" if not (scientific or shortest) else "scientific and shortest format"
        raise invalid(f"{what} not supported for datatype {as_dtype(input.dtype).name}")
    if input.dtype == object:
        return _each(lambda v: v.ljust(width) if fill == "-" else v.rjust(width), input) if width > 0 else input
    if input.dtype.kind == "b":
        return np.where(input, b"true", b"false").astype(object)
    letter = "d" if input.dtype.kind in "iu" else "g" if shortest else "e" if scientific else "f"
    flat = input.reshape(-1)
    if flat.dtype.kind == "c":
        sides = [_texts_of(side, letter, precision, width, fill) for side in (flat.real, flat.imag)]
        return _array(map(b"(%b,%b)".__mod__, zip(*sides, strict=True)), input.shape)
    return _array(_texts_of(flat, letter, precision, width, fill), input.shape)


def _texts_of(x: Array, letter: str, precision: int, width: int, fill: str) -> Iterable[bytes]:
    """Numbers as C's printf writes them, which Python's % does as well."""
    wide = x.astype(np.float64 if letter != "d" else np.uint64 if x.dtype.kind == "u" else np.int64)
    fill = "" if x.dtype.kind == "u" and fill in (" ", "+") else fill  # C leaves out signs of what has none
    if width < 0 and not fill:
        return array_kernels.printed(wide, letter, precision if precision > -1 else 6)
    form = f"{width if width > -1 else ''}{f'.{precision}' if precision > -1 else ''}{letter}".encode()
    full, other = b"%" + fill.encode() + form, b"%" + (b"" if fill == "0" else fill.encode()) + form
    return [(full if finite else other) % v for v, finite in zip(wide.tolist(), np.isfinite(wide), strict=True)]


@public("strings.as_string", "as_string")
def as_string(
    input: TensorLike,
    precision: TensorLike = -1,
    scientific: TensorLike = False,
    shortest: TensorLike = False,
    width: TensorLike = -1,
    fill: TensorLike = "",
    name: str | None = None,
) -> Any:
    """Each element as text. t[*s] -> string[*s].

    Raises: InvalidArgumentError if both scientific and shortest are asked for. Source: tf.strings.as_string.
    """
    if scientific and shortest:
        raise invalid("Cannot select both scientific and shortest notation")
    return named(
        name, as_string_p, input, precision=whole(precision, "precision", 32), scientific=bool(scientific),
        shortest=bool(shortest), width=whole(width, "width", 32), fill=word(fill, "fill"),
    )  # fmt: skip


def _numbers(words: Array, dtype: DType) -> Array:
    """The number that each string says. Raises: ValueError, OverflowError for one that says none of the dtype."""
    found = array_kernels.numbers(np.ascontiguousarray(words), dtype.is_floating)
    if found is not None and (
        dtype.is_floating or not found.size or dtype.min <= found.min() <= found.max() <= dtype.max
    ):
        with np.errstate(over="ignore"):
            return found.astype(dtype.numpy_dtype).reshape(words.shape)
    if b"_" in b"".join(words.reshape(-1).tolist()):  # which Python allows between digits
        raise ValueError
    return _each(_float if dtype.is_floating else int, words, dtype.numpy_dtype)


def _float(word: bytes) -> float:
    """The number that a word says, as decimals or as C's hexadecimal ones."""
    try:
        return float(word)
    except ValueError:
        if b"x" not in word.lower():
            raise
        return float.fromhex(word.decode())


def _says_number(word: bytes, dtype: DType) -> bool:
    try:
        _numbers(_words(word), dtype)
    except (ValueError, OverflowError):
        return False
    return True


@custom(
    op="StringToNumber",
    infer=lambda string_tensor, *, out_type: Aval(out_type, string_tensor.shape),
    groups=("string",),
    samples=lambda: [((_words(b"1.5", b"-2"),), {"out_type": as_dtype("float32")})],
    error_samples=lambda: [misuse("could not correctly convert string: a", _words(b"a"), out_type=as_dtype("float32"))],
    reason=_REASON,
)
def to_number_p(string_tensor: Array, *, out_type: DType) -> Any:
    """The number that each string says. string[*s] -> out_type[*s]."""
    try:
        return _numbers(string_tensor, out_type)
    except (ValueError, OverflowError):
        wrong = next(w for w in string_tensor.reshape(-1) if not _says_number(w, out_type))
        text = f"StringToNumberOp could not correctly convert string: {wrong.decode(errors='replace')}"
        raise invalid(text) from None


@public("strings.to_number")
def to_number(input: TensorLike, out_type: DTypeLike = float32, name: str | None = None) -> Any:
    """The number that each string says. string[*s] -> out_type[*s].

    Raises: InvalidArgumentError for a string that is no number. Source: tf.strings.to_number.
    """
    return named(name, to_number_p, input, out_type=as_dtype(out_type))


# ---- joining --------------------------------------------------------------------------------------------------------


def _infer_join(*inputs: Aval, separator: str) -> Aval:
    dims = TensorShape([])
    for x in inputs:
        if x.shape is None or dims.rank is None:
            dims = TensorShape(None)
        elif x.shape != ():
            if not dims.is_compatible_with(x.shape) and dims.rank:
                raise _misfit(dims, x.shape)
            dims = dims.merge_with(x.shape) if dims.rank else TensorShape(x.shape)
    return Aval(string, None if dims.rank is None else tuple(dims))


def _misfit(one: Any, other: Any) -> InvalidArgumentError:
    return invalid(f"Input shapes do not match: {shape_text(one)} vs. {shape_text(other)}")


@custom(
    infer=_infer_join,
    groups=("string",),
    samples=lambda: [
        ((_words(b"a", b"b"), _words(b"c", b"d")), {"separator": "-"}),
        ((np.array(b"a", object), _words(b"c", b"d")), {"separator": ""}),
    ],
    error_samples=lambda: [
        misuse(r"Input shapes do not match: \[1\] vs. \[2\]", _words(b"a"), _words(b"b", b"c"), separator="")
    ],
    reason=_REASON,
)
def string_join_p(*inputs: Array, separator: str) -> Any:
    """Strings at the same place, joined; scalars go with all; none give "". string[*s]... -> string[*s]."""
    if not inputs:
        return np.array(b"", object)
    whole = [x for x in inputs if x.ndim]
    for x in whole[1:]:
        if x.shape != whole[0].shape:
            raise _misfit(whole[0].shape, x.shape)
    shape = whole[0].shape if whole else ()
    n = math.prod(shape)
    words = np.concatenate([np.broadcast_to(x, shape).reshape(-1) for x in inputs])
    return array_kernels.joined(words, np.tile(np.arange(n), len(inputs)), n, separator.encode()).reshape(shape)


@public("strings.join")
def join(inputs: Iterable[TensorLike], separator: str = "", name: str | None = None) -> Any:
    """Strings at the same place of a list of tensors, joined; scalars go with all. string[*s]... -> string[*s].

    Raises: InvalidArgumentError if shapes differ; ValueError for a tensor of another dtype beside Python's strings in
    eager mode. Source: tf.strings.join.
    """
    inputs = list(inputs)
    if executing_eagerly() and not all(isinstance(x, Tensor) for x in inputs):
        for x in inputs:
            if isinstance(x, Tensor) and x.dtype is not string:
                raise wrong_dtype(x, string)
    return named(name, string_join_p, *inputs, separator=word(separator, "separator"))


@custom(
    infer=lambda inputs, *, axes, keepdims, separator: Aval(string, reduced_shape(inputs.shape, axes, keepdims)),
    groups=("string",),
    samples=lambda: [
        ((np.array([[b"a", b"b"], [b"c", b"d"]], object),), {"axes": a, "keepdims": k, "separator": "-"})
        for a, k in ((None, False), ((1,), False), ((0,), True))
    ],
    reason=_REASON,
)
def reduce_join_p(inputs: Array, *, axes: tuple[int, ...] | None, keepdims: bool, separator: str) -> Any:
    """Strings along `axes`, joined: along the first axis first. None: in row-major order. string[*s] -> string[*r]."""
    for a in axes or ():
        if not -inputs.ndim <= a < inputs.ndim:
            text = f"Invalid reduction dimension {a} for input with {inputs.ndim} dimension(s)"
            raise OutOfRangeError(None, None, text)
    reduced = canonical_axes(axes, inputs.ndim)
    kept = tuple(i for i in range(inputs.ndim) if i not in reduced)
    order = reduced if axes is None else tuple(a % inputs.ndim for a in reversed(axes))
    rows = np.transpose(inputs, kept + order).reshape(
        [inputs.shape[i] for i in kept] + [math.prod(inputs.shape[i] for i in reduced)]
    )
    size = math.prod(rows.shape[:-1])
    words, numbers = np.ascontiguousarray(rows), np.repeat(np.arange(size), rows.shape[-1])
    result = array_kernels.joined(words, numbers, size, separator.encode()).reshape(rows.shape[:-1])
    return np.expand_dims(result, reduced) if keepdims else result


@public("strings.reduce_join")
def reduce_join(
    inputs: TensorLike, axis: TensorLike | None = None, keepdims: bool = False, separator: str = "",
    name: str | None = None,
) -> Any:  # fmt: skip
    """Strings along `axis` (None: all), joined: along the first axis of several first. string[*s] -> string[*r].

    Raises: OutOfRangeError for an axis that is none. Source: tf.strings.reduce_join.
    """
    if not are_known(axis):
        call = partial(reduce_join, keepdims=keepdims, separator=separator)
        return late_unless_known(call, [as_tensor(inputs)], {"axis": axis}, string, None, name)
    return named(
        name,
        reduce_join_p,
        inputs,
        axes=static_axes(axis),
        keepdims=bool(keepdims),
        separator=word(separator, "separator"),
    )


# ---- one string at a time -------------------------------------------------------------------------------------------


def _mapped(op: str, public_name: str, function: Callable[[Any], Any], what: str) -> Callable[..., Any]:
    of_text = getattr(str, function.__name__)

    def body(input: Array, *, encoding: str) -> Any:
        return _each(function if encoding == "" else (lambda w: of_text(w.decode(errors="replace")).encode()), input)

    name = public_name.rsplit(".", 1)[-1]
    body.__name__, body.__doc__ = f"string_{name}_p", f"{what}. string[*s] -> string[*s]."
    primitive = custom(
        op=op,
        infer=lambda input, *, encoding: Aval(string, input.shape),
        groups=("string",),
        samples=lambda: [((_words(b" aBc ", b""),), {"encoding": e}) for e in ("", "utf-8")],
        reason=_REASON,
    )(body)

    def apply(input: TensorLike, encoding: str = "", name: str | None = None) -> Any:
        given = word(encoding, "encoding")
        if given not in ("", "utf-8"):
            raise invalid(f"only utf-8 or '' (no encoding) is supported, got {given}")
        return named(name, primitive, input, encoding=given)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"{what}. string[*s] -> string[*s]. Source: tf.{public_name}."
    return public(public_name)(apply)


lower = _mapped("StringLower", "strings.lower", bytes.lower, "Each string in lower case (ASCII, or UTF-8)")
upper = _mapped("StringUpper", "strings.upper", bytes.upper, "Each string in upper case (ASCII, or UTF-8)")


@custom(
    infer=lambda input: Aval(string, input.shape),
    groups=("string",),
    samples=lambda: [((_words(b"  a ", b"b\n"),), {})],
    reason=_REASON,
)
def string_strip_p(input: Array) -> Any:
    """Each string without white space at its ends. string[*s] -> string[*s]."""
    return _each(bytes.strip, input)


@public("strings.strip")
def strip(input: TensorLike, name: str | None = None) -> Any:
    """Each string without white space at its ends. string[*s] -> string[*s]. Source: tf.strings.strip."""
    return named(name, string_strip_p, input)


UNITS = ("BYTE", "UTF8_CHAR")


def _unit(unit: str) -> str:
    unit = word(unit, "unit")
    if unit not in UNITS:
        raise invalid(f"unit must be one of 'BYTE', 'UTF8_CHAR', but was '{unit}'")
    return unit


def _characters(word: bytes, start: int = 0) -> list[int]:
    """Places of the bytes with which characters of UTF-8 begin."""
    return [i for i, byte in enumerate(word, start) if byte & 0xC0 != 0x80]


@custom(
    infer=lambda input, *, unit: Aval(int32, input.shape),
    groups=("string",),
    samples=lambda: [((_words(b"ab", "\u00e9".encode(), b""),), {"unit": u}) for u in UNITS],
    reason=_REASON,
)
def string_length_p(input: Array, *, unit: str) -> Any:
    """The length of each string, in bytes or in characters. string[*s] -> i32[*s]."""
    return array_kernels.lengths(np.ascontiguousarray(input), unit != "BYTE").reshape(input.shape)


@public("strings.length")
def length(input: TensorLike, unit: str = "BYTE", name: str | None = None) -> Any:
    """The length of each string, in bytes or, with unit "UTF8_CHAR", in characters. string[*s] -> i32[*s].

    Raises: InvalidArgumentError for another unit. Source: tf.strings.length.
    """
    return named(name, string_length_p, input, unit=_unit(unit))


def _cut(word: bytes, pos: int, n: int, unit: str) -> bytes:
    """The part of `word` from `pos` on. Of a negative n: bytes to the end, but no characters."""
    starts: Sequence[int] = range(len(word))
    if unit != "BYTE":
        starts = [0] * bool(word) + _characters(word[1:], 1)
    if not -len(starts) <= pos <= len(starts) or (unit != "BYTE" and pos < 0 and n < 0):
        raise invalid(f"pos {pos} out of range for string b'{word.decode(errors='replace')}'")
    ends, first = [*starts, len(word)], pos if pos >= 0 else len(starts) + pos
    if unit != "BYTE":
        n = max(n, 0)
    return word[ends[first] : ends[min(first + n, len(starts)) if n >= 0 else -1]]


def _infer_substr(input: Aval, pos: Aval, len: Aval, *, unit: str = "BYTE") -> Aval:
    own, other = pos.shape, len.shape
    if own is not None and other is not None and not TensorShape(own).is_compatible_with(other):
        raise ValueError(f"pos and len should have the same shape, got: {shape_text(own)} vs. {shape_text(other)}")
    return Aval(string, broadcast(input.shape, own if own is not None else other))


@custom(
    infer=_infer_substr,
    groups=("string", "T", "T"),
    dtypes="index",
    samples=lambda: (
        [((_words(b"hello", b"world"), np.array(p), np.array(2)), {}) for p in (1, -3, 5)]
        + [((_words(b"hello", "\u00e9ab".encode()), np.array([1, -2]), np.array([-1, -7])), {"unit": "BYTE"})]
        + [((_words(b"hello", "\u00e9ab".encode()), np.array([1, -2]), np.array([-1, 7])), {"unit": "UTF8_CHAR"})]
    ),
    error_samples=lambda: [
        misuse("pos 3 out of range for string b'ab'", _words(b"ab"), np.array(3), np.array(1)),
        misuse("should have the same shape, got: .1. vs", _words(b"ab"), np.array([0]), np.array(1)),
    ],
    reason=_REASON,
)
def substr_p(input: Array, pos: Array, len: Array, *, unit: str = "BYTE") -> Any:
    """The `len` bytes or characters of each string from `pos`. string[*s], i[*s], i[*s] -> string[*s], broadcasting."""
    if pos.shape != len.shape:
        raise invalid(
            f"pos and len should have the same shape, got: {shape_text(pos.shape)} vs. {shape_text(len.shape)}"
        )
    simple = unit == "BYTE" and not pos.ndim and pos >= 0 and len >= 0 and input.size > 0
    if simple and (cuts := array_kernels.cut(np.ascontiguousarray(input), int(pos), int(len))) is not None:
        return cuts.reshape(input.shape)
    words, *places = np.broadcast_arrays(input, pos, len)
    parts = map(_cut, *(x.reshape(-1).tolist() for x in (words, *places)), itertools.repeat(unit))
    return _array(parts, words.shape)


@public("strings.substr")
def substr(input: TensorLike, pos: TensorLike, len: TensorLike, unit: str = "BYTE", name: str | None = None) -> Any:
    """The `len` bytes of each string from `pos` on. string[*s], i[*s], i[*s] -> string[*s], broadcasting.

    Of a negative `len`: all bytes that follow, or no characters, which unit "UTF8_CHAR" counts.
    Raises: InvalidArgumentError for a position outside a string, or another unit. Source: tf.strings.substr.
    """
    return named(name, substr_p, as_tensor(input), pos, len, unit=_unit(unit))


# ---- splitting ------------------------------------------------------------------------------------------------------


def parts_of(words: Array, split: Callable[[bytes], list[bytes]] | bytes | None) -> tuple[Any, Any, Any]:
    """Split each string, between bytes or (None) at every byte: as indices, values and shape of a sparse matrix."""
    if words.ndim != 1:
        raise invalid(f"input must be a vector, got shape: {shape_text(words.shape)}")
    if split is None:
        rows = words.tolist()
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        values = _words(*[bytes([i]) for i in range(256)])[np.frombuffer(b"".join(rows), np.uint8)]
    elif isinstance(split, bytes):
        indices, values, lengths = array_kernels.split(np.ascontiguousarray(words), split)
        return indices, values, np.array([len(lengths), lengths.max(initial=0)], np.int64)
    else:
        rows = [split(word) for word in words.tolist()]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        values = np.fromiter(itertools.chain.from_iterable(rows), object, lengths.sum())
    return array_kernels.places(lengths), values, np.array([len(lengths), lengths.max(initial=0)], np.int64)


def _infer_parts(input: Aval, sep: Aval, **_: Any) -> tuple[Aval, Aval, Aval]:
    for x, rank, what in ((input, 1, "input must be a vector"), (sep, 0, "sep must be a scalar")):
        if x.shape is not None and len(x.shape) != rank:
            raise ValueError(f"{what}, got shape: {shape_text(x.shape)}")
    return Aval(int64, (None, 2)), Aval(string, (None,)), Aval(int64, (2,))


def _no_vector(input: bytes | list[list[bytes]], **attrs: Any) -> Any:
    """A call of a splitting op that is refused."""
    return (np.array(input, object), np.array(b"", object)), attrs, InvalidArgumentError, "must be a vector"


@custom(
    infer=_infer_parts,
    groups=("string", "string"),
    n_outputs=3,
    step="dynamic",
    samples=lambda: [
        ((_words(b"a b", b"", b" c"), np.array(d, object)), {"skip_empty": s})
        for d in (b"", b" ", b"ab")
        for s in (True, False)
    ],
    error_samples=lambda: [_no_vector(b"a", skip_empty=True)],
    reason=_REASON,
)
def string_split_p(input: Array, delimiter: Array, *, skip_empty: bool) -> Any:
    """The parts of each string between any of the bytes of a delimiter, its single bytes where that is empty.

    string[n], string[] -> i64[m, 2], string[m], i64[2].
    """
    cuts: bytes = np.asarray(delimiter).item()

    def split(word: bytes) -> list[bytes]:
        for cut in cuts[1:]:
            word = word.replace(bytes([cut]), cuts[:1])
        return [part for part in word.split(cuts[:1]) if part or not skip_empty]

    return parts_of(input, split if cuts else None)


@custom(
    infer=_infer_parts,
    groups=("string", "string"),
    n_outputs=3,
    step="dynamic",
    samples=lambda: [
        ((_words(b" a b  c ", b"", b"d,e,,f"), np.array(s, object)), {"maxsplit": n})
        for s in (b"", b",", b" a")
        for n in (-1, 0, 1, 3)
    ],
    error_samples=lambda: [_no_vector([[b"a"]], maxsplit=-1)],
    reason=_REASON,
)
def string_split_v2_p(input: Array, sep: Array, *, maxsplit: int) -> Any:
    """The parts of each string between separators, between white space where that is empty.

    string[n], string[] -> i64[m, 2], string[m], i64[2].
    """
    between: bytes = np.asarray(sep).item()
    if maxsplit < 0:
        return parts_of(input, between)
    if between and maxsplit > 0:
        return parts_of(input, operator.methodcaller("split", between or None, maxsplit))

    def split(word: bytes) -> list[bytes]:
        if maxsplit == 0:
            return [word]
        found = word.split(None, maxsplit)
        # After so many parts comes what is left, which may be nothing.
        return [*found, b""] if len(found) == maxsplit else found

    return parts_of(input, split)


# ---- tensors in text ------------------------------------------------------------------------------------------------


@custom(
    infer=lambda *inputs, **_: Aval(string, ()),
    groups=("-",),
    samples=lambda: [
        ((np.arange(8.0), _words(b"a")), {"template": "x: %s, %s", "placeholder": "%s", "summarize": n})
        for n in (3, -1)
    ],
    reason=_REASON,
)
def string_format_p(*inputs: Array, template: str, placeholder: str, summarize: int) -> Any:
    """A text with tensors in the places that are held for them. t[*s]... -> string[]."""
    texts = template.split(placeholder)
    shown = [tensor_text(x, summarize) for x in inputs]
    return np.array(
        "".join(a + b for a, b in zip(texts, [*shown, ""], strict=True)).encode(errors="surrogateescape"), object
    )


@public("strings.format")
def format_(
    template: str, inputs: TensorLike, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Any:
    """The text `template` with the tensors in the places of `placeholder`, as print shows them. t[*s]... -> string[].

    inputs: a tensor or a list of them. summarize: elements shown at each end of an axis, -1: all.
    Raises: ValueError for another number of tensors than of places, TypeError for a template that is no text.
    Source: tf.strings.format.
    """
    items = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    template, placeholder = word(template, "template"), word(placeholder, "placeholder")
    n = template.count(placeholder)
    if n != len(items):
        raise ValueError(
            f"The template expects {n} tensors, but the inputs only has {len(items)}. Please ensure the number of "
            "placeholders in template matches inputs length."
        )
    return named(
        name, string_format_p, *items, template=template, placeholder=placeholder,
        summarize=whole(summarize, "summarize", 64),
    )  # fmt: skip
