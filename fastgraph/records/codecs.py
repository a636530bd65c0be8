"""Texts and numbers as bytes: tf.io.decode_raw, decode_csv, decode_compressed, decode_base64 and its inverse.

Rule: an op takes a whole tensor of strings; what they hold decides nothing but values and, where it is said, one axis.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, string
from fastgraph.core.base.shapes import Aval
from fastgraph.core.conversion import TensorLike
from fastgraph.core.native import array_kernels
from fastgraph.core.tensor import Tensor, convert
from fastgraph.errors import DataLossError
from fastgraph.ops.arguments import as_tensor, named, not_allowed, refused, whole, word
from fastgraph.ops.families import Array, bind_named, custom, invalid
from fastgraph.records import wire_scan
from fastgraph.records.csv_fields import FIELDS, KINDS, columns_of

_REASON = "strings: their bytes lie in Python objects, which kernels do not see"


def _each(function: Callable[[bytes], bytes], x: Array) -> Array:
    result = np.empty(x.shape, object)
    flat, out = x.reshape(-1), result.reshape(-1)
    for i in range(flat.size):
        out[i] = function(flat[i])
    return result


def _strings(words: list[bytes], like: Array) -> Array:
    result = np.empty(like.size, object)
    result[:] = words
    return result.reshape(like.shape)


def _same(input: Aval, **attrs: Any) -> Aval:
    return Aval(string, input.shape)


# ---- numbers as they lie in memory ----------------------------------------------------------------------------------

_RAW = "half, float, double, int32, uint16, uint8, int16, int8, int64, complex64, complex128, bool, bfloat16"
_RAW_NAMES = {*_RAW.replace("half", "float16").replace("float,", "float32,").replace("double", "float64").split(", ")}


def _infer_raw(input: Aval, *, dtype: str, little: bool, length: int) -> Aval:
    shape, out = input.shape, as_dtype(dtype)
    n = length // out.size if length else None
    return Aval(out, None if shape is None else (*shape, n))


@custom(op="DecodeRaw", infer=_infer_raw, groups=("string",), step="dynamic", reason=_REASON)
def decode_raw_p(input: Array, *, dtype: str, little: bool, length: int) -> Any:
    """The numbers that strings are in memory; of `length` bytes each, or all of as many. string[*s] -> dtype[*s, n]."""
    out, words = as_dtype(dtype), np.ascontiguousarray(input)
    lengths = array_kernels.lengths(words, False).reshape(-1)
    size = length or int(lengths.max(initial=0))
    if not length and (other := np.flatnonzero(lengths != lengths[:1])).size:
        raise invalid(
            "DecodeRaw requires input strings to all be the same size, but element "
            f"{other[0]} has size {lengths[0]} != {lengths[other[0]]}"
        )
    if size % out.size:
        raise invalid(
            f"Input to DecodeRaw has length {size} that is not a multiple of {out.size}, the size of {out.name}"
        )
    found = array_kernels.raw(words, size).reshape(-1)
    part = out.size // 2 if out.is_complex else out.size
    if not little and part > 1:
        found = np.ascontiguousarray(found.reshape(-1, part)[:, ::-1]).reshape(-1)
    if dtype == "bool":
        found = (found != 0).view(np.uint8)
    return found.view(out.numpy_dtype).reshape(*input.shape, size // out.size)


def decode_raw(
    input_bytes: TensorLike,
    out_type: DTypeLike,
    little_endian: bool = True,
    fixed_length: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The numbers that strings are in memory. string[*s] -> out_type[*s, n].

    fixed_length: how many bytes each is cut or filled up to; None: all have as many. Raises: InvalidArgumentError for
    strings of different sizes, sizes that no number of elements has, and other types. Source: tf.io.decode_raw.
    """
    dtype, op = as_dtype(out_type), "DecodeRaw" if fixed_length is None else "DecodePaddedRaw"
    if dtype.name not in _RAW_NAMES:
        raise refused(not_allowed(dtype, f"{op}.out_type", _RAW))
    length = 0
    if fixed_length is not None:
        length = whole(fixed_length, "fixed_length")
        if length <= 0:
            raise invalid(f"fixed_length ({length}) must be greater than zero.")
        if length % dtype.size:
            raise invalid(f"fixed_length ({length}) must be a multiple of the size of out_type ({dtype.size})")
    given = as_tensor(input_bytes, string)
    return named(name, decode_raw_p, given, dtype=dtype.name, little=bool(little_endian), length=length)


# ---- lines of fields ------------------------------------------------------------------------------------------------

#: The messages for wrong records, in TensorFlow's words.
_FAULTS = {
    2: "Unquoted fields cannot have quotes/CRLFs inside",
    3: "Quoted field has to end with quote followed by delim or end",
    4: "Quote inside a string has to be escaped by another quote",
}


def _infer_csv(records: Aval, *defaults: Aval, **attrs: Any) -> tuple[Aval, ...]:
    return tuple([Aval(default.dtype, records.shape) for default in defaults])


@custom(op="DecodeCSV", infer=_infer_csv, groups=("string", "-"), n_outputs=None, reason=_REASON)
def decode_csv_p(
    records: Array, *record_defaults: Array, delimiter: bytes, quoted: bool, missing: bytes, columns: tuple[int, ...]
) -> Any:
    """The fields of records as columns: string[*s], a default of each -> as many t[*s]."""
    wanted = len(record_defaults)
    for i, default in enumerate(record_defaults):
        if default.ndim > 1 or default.size > 1:
            raise invalid(f"There should only be 1 default per field but field {i} has {default.size}")
    lines = records.reshape(-1).tolist()
    places = np.full(columns[-1] + 1, -1, np.int32) if columns else np.arange(wanted, dtype=np.int32)
    places[list(columns or range(wanted))] = range(wanted)
    enough = ~wanted if columns else wanted
    slices, n, _, fault, have, _ = wire_scan.rows(lines, 0, 0, places, wanted, enough, delimiter[0], quoted, True)
    kinds = [as_dtype(default.dtype).name for default in record_defaults]
    found, fit, wrong = columns_of(slices, n, kinds, record_defaults, missing)
    if wrong:
        raise invalid(wrong % f" {fit}")
    if fault == FIELDS:
        raise invalid(f"Expect {wanted} fields but have {have} in record {n}")
    if fault:
        raise invalid(_FAULTS[fault])
    return tuple([column.reshape(records.shape) for column in found])


def decode_csv(
    records: TensorLike,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Any]:
    """The fields of records of comma-separated values, a tensor for each column: string[*s] -> t[*s] each.

    record_defaults: what stands for an empty field of each column, which says its dtype (float32, float64, int32, int64
    or string); without an element, the field must be there. use_quote_delim: whether fields may stand in quotes, a
    quote within as two. na_value: a word that stands for an empty field as well. select_cols: which columns there are
    defaults for. Raises: ValueError for select_cols that do not rise or are more or fewer than the defaults;
    InvalidArgumentError for records of more or fewer fields and for fields of other types. Source: tf.io.decode_csv.
    """
    delimiter = word(field_delim, "field_delim").encode()
    if select_cols is not None:
        if any(a >= b for a, b in pairwise(select_cols)):
            raise ValueError("select_cols is not strictly increasing.")
        if select_cols and select_cols[0] < 0:
            raise ValueError("select_cols contains negative values.")
        if len(select_cols) != len(record_defaults):
            raise ValueError("Length of select_cols and record_defaults do not match.")
    if len(delimiter) != 1:
        raise invalid("field_delim should be only 1 char")
    defaults = [_record_default(default) for default in record_defaults]
    given = (as_tensor(records, string), *defaults)
    attributes = {
        "delimiter": delimiter, "quoted": bool(use_quote_delim), "missing": word(na_value, "na_value").encode(),
        "columns": tuple(map(int, select_cols or ())),
    }  # fmt: skip
    found = bind_named(name, decode_csv_p.primitive, given, attributes)  # type: ignore[attr-defined]
    return list(found) if isinstance(found, list | tuple) else [found]


def _record_default(given: Any) -> Tensor:
    if isinstance(given, DType) or (isinstance(given, type) and issubclass(given, np.generic)):
        raise ValueError(
            f"Attempt to convert a value ({given!r}) with an unsupported type ({type(given)}) to a Tensor."
        )
    default = convert(np.zeros(0, np.float32) if isinstance(given, list) and not given else given)
    if default.dtype.name not in KINDS:
        raise refused(not_allowed(default.dtype, "DecodeCSV.OUT_TYPE", "float, double, int32, int64, string"))
    return default


# ---- compressed -----------------------------------------------------------------------------------------------------


def _inflated(content: bytes, window: int) -> bytes:
    parts = []
    while content:
        inflater = zlib.decompressobj(window)
        try:
            parts.append(inflater.decompress(content))
        except zlib.error as error:
            text = str(error).partition("while decompressing data: ")[2] or str(error)
            raise DataLossError(None, None, f"inflate() failed with error -3: {text}") from None
        content = inflater.unused_data
    return b"".join(parts)


@custom(op="DecodeCompressed", infer=_same, groups=("string",), reason=_REASON)
def decode_compressed_p(input: Array, *, compression: str) -> Any:
    """The contents of compressed strings. string[*s] -> string[*s]."""
    if not compression:
        return input
    window = {"ZLIB": 15, "GZIP": 31}[compression]
    return _each(lambda content: _inflated(content, window), input)


def decode_compressed(bytes: TensorLike, compression_type: str = "", name: str | None = None) -> Tensor:
    """The contents of strings compressed by "ZLIB", "GZIP", or "" for not at all. string[*s] -> string[*s].

    Raises: InvalidArgumentError for another type, DataLossError for other bytes. Source: tf.io.decode_compressed.
    """
    compression_type = word(compression_type, "compression_type")
    if compression_type not in ("", "ZLIB", "GZIP"):
        raise invalid("Only ZLIB, GZIP or NONE are supported compressions")
    return named(name, decode_compressed_p, as_tensor(bytes, string), compression=compression_type)


# ---- base64 ---------------------------------------------------------------------------------------------------------


@custom(op="EncodeBase64", infer=_same, groups=("string",), reason=_REASON)
def encode_base64_p(input: Array, *, pad: bool) -> Any:
    """Strings in base64 for web addresses. string[*s] -> string[*s]."""
    return _strings(array_kernels.to_base64(np.ascontiguousarray(input), pad), input)


def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:
    """Strings in base64 for web addresses, filled up by "=" if they are to be. string[*s] -> string[*s].

    Source: tf.io.encode_base64.
    """
    return named(name, encode_base64_p, as_tensor(input, string), pad=bool(pad))


@custom(op="DecodeBase64", infer=_same, groups=("string",), reason=_REASON)
def decode_base64_p(input: Array) -> Any:
    """The bytes that base64 for web addresses stands for. string[*s] -> string[*s]."""
    try:
        return _strings(array_kernels.from_base64(np.ascontiguousarray(input)), input)
    except ValueError as error:
        raise invalid(str(error)) from None


def decode_base64(input: TensorLike, name: str | None = None) -> Tensor:
    """The bytes that base64 for web addresses stands for, filled up or not. string[*s] -> string[*s].

    Raises: InvalidArgumentError for other characters. Source: tf.io.decode_base64.
    """
    return named(name, decode_base64_p, as_tensor(input, string))
