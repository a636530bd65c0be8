"""Types of operations that take Examples and strings of numbers apart.

Rule: as in import_ops.py: a function takes the node's name, its inputs and its attributes, and returns the results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.dtype import string
from fastgraph.core.tensor import from_array
from fastgraph.graphdef.import_arrays import Make
from fastgraph.graphdef.import_values import fixed, fixed_words
from fastgraph.ops.families import bind_named
from fastgraph.records import codecs
from fastgraph.records.example_ops import parse_example_v2


def _keys(tensor: Any, name: str) -> list[str]:
    return [key.decode() for key in fixed_words(tensor, f"Node '{name}': the keys of features").reshape(-1).tolist()]


def _example(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    serialized, names, *rest = inputs
    sparse, dense, ragged = [_keys(each, name) for each in rest[:3]]
    return _parsed(name, serialized, names, (sparse, dense, ragged), rest[3:], attrs)


def _single(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    keys: tuple[list[str], ...] = (attrs.get("sparse_keys", []), attrs.get("dense_keys", []), [])
    none = from_array(np.zeros(0, object), string)
    return _parsed(name, inputs[0], none, keys, inputs[1:], attrs)


def _parsed(
    name: str, serialized: Any, names: Any, keys: tuple[list[str], ...], defaults: list[Any], attrs: dict[str, Any]
) -> Any:
    sparse, dense, ragged = keys
    shapes = [each.shape for each in attrs.get("dense_shapes", [])]
    dtypes = {
        key: [each.name for each in attrs.get(key, [])]
        for key in ("sparse_types", "Tdense", "ragged_value_types", "ragged_split_types")
    }
    found = bind_named(
        name, parse_example_v2.primitive, (serialized, names, *defaults),  # type: ignore[attr-defined]
        {
            "sparse": tuple(zip(sparse, dtypes["sparse_types"], strict=True)),
            "dense": tuple(zip(dense, dtypes["Tdense"], shapes, strict=True)),
            "ragged": tuple(zip(ragged, dtypes["ragged_value_types"], dtypes["ragged_split_types"], strict=True)),
        },
    )  # fmt: skip
    return tuple(found)


def _raw(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    length = int(fixed(inputs[1], f"Node '{name}': the length")) if len(inputs) > 1 else None
    return codecs.decode_raw(inputs[0], attrs["out_type"], attrs.get("little_endian", True), length, name)


def _csv(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    records, *defaults = inputs
    columns = list(attrs.get("select_cols", [])) or None
    return tuple(codecs.decode_csv(
        records, defaults, attrs.get("field_delim", ","), attrs.get("use_quote_delim", True),
        attrs.get("na_value", ""), columns, name,
    ))  # fmt: skip


#: Type of operation -> what makes it.
RECORDS: dict[str, Make] = {
    "DecodeBase64": lambda name, inputs, attrs: codecs.decode_base64(inputs[0], name),
    "DecodeCSV": _csv,
    "DecodeCompressed": lambda name, inputs, attrs: codecs.decode_compressed(
        inputs[0], attrs.get("compression_type", ""), name
    ),
    "DecodePaddedRaw": _raw,
    "DecodeRaw": _raw,
    "EncodeBase64": lambda name, inputs, attrs: codecs.encode_base64(inputs[0], attrs.get("pad", False), name),
    "ParseExampleV2": _example,
    "ParseSingleExample": _single,
}
