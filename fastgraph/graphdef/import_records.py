"""Types of operations that take Examples and strings of numbers apart.

Rule: as in import_ops.py: a function takes the node's name, its inputs and its attributes, and returns the results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base.dtype import string
from fastgraph.core.tensor import from_array
from fastgraph.graphdef import serialized_tensors
from fastgraph.graphdef.import_arrays import Make
from fastgraph.graphdef.import_values import fixed, fixed_words
from fastgraph.ops.families import bind_named
from fastgraph.records import codecs
from fastgraph.records.example_ops import parse_example_v2, parse_sequence_example_v2


def _keys(tensor: Any, name: str) -> list[str]:
    return [key.decode() for key in fixed_words(tensor, f"Node '{name}': the keys of features").reshape(-1).tolist()]


def _example(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    serialized, names, *rest = inputs
    sparse, dense, ragged = [_keys(each, name) for each in rest[:3]]
    return _parsed(name, serialized, names, (sparse, dense, ragged), rest[3:], attrs)


def _example_1(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    n, m = int(attrs["Nsparse"]), int(attrs["Ndense"])
    serialized, names, *rest = inputs
    sparse, dense = [[_keys(each, name)[0] for each in part] for part in (rest[:n], rest[n : n + m])]
    return _parsed(name, serialized, names, (sparse, dense, []), rest[n + m :], attrs)


def _sequences(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """ParseSequenceExampleV2."""
    serialized, names, *keys = inputs[:8]
    missing = fixed(inputs[8], f"Node '{name}': which lists may be missing").reshape(-1).tolist()
    parts = []
    for where, (sparse, dense, ragged) in (("context", keys[:3]), ("feature_list", keys[3:])):
        said = {key.removeprefix(f"{where}_"): value for key, value in attrs.items() if key.startswith(f"{where}_")}
        said["Tdense"] = attrs.get("Tcontext_dense" if where == "context" else "feature_list_dense_types", [])
        parts.append(_asked((_keys(sparse, name), _keys(dense, name), _keys(ragged, name)), said))
    context, lists = [(part["sparse"], part["dense"], part["ragged"]) for part in parts]
    optional = tuple([row[0] for row, may in zip(lists[1], missing, strict=True) if may])
    primitive = parse_sequence_example_v2.primitive  # type: ignore[attr-defined]
    said = {"context": context, "lists": lists, "optional": optional}
    return tuple(bind_named(name, primitive, (serialized, names, *inputs[9:]), said))


def _single(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    keys: tuple[list[str], ...] = (attrs.get("sparse_keys", []), attrs.get("dense_keys", []), [])
    none = from_array(np.zeros(0, object), string)
    return _parsed(name, inputs[0], none, keys, inputs[1:], attrs)


def _parsed(
    name: str, serialized: Any, names: Any, keys: tuple[list[str], ...], defaults: list[Any], attrs: dict[str, Any]
) -> Any:
    primitive = parse_example_v2.primitive  # type: ignore[attr-defined]
    return tuple(bind_named(name, primitive, (serialized, names, *defaults), _asked(keys, attrs)))


def _asked(keys: tuple[list[str], ...], attrs: dict[str, Any]) -> dict[str, Any]:
    """The attributes of our op for features of these names."""
    sparse, dense, ragged = keys
    shapes = [each.shape for each in attrs.get("dense_shapes", [])]
    dtypes = {
        key: [each.name for each in attrs.get(key, [])]
        for key in ("sparse_types", "Tdense", "ragged_value_types", "ragged_split_types")
    }
    return {
        "sparse": tuple(zip(sparse, dtypes["sparse_types"], strict=True)),
        "dense": tuple(zip(dense, dtypes["Tdense"], shapes, strict=True)),
        "ragged": tuple(zip(ragged, dtypes["ragged_value_types"], dtypes["ragged_split_types"], strict=True)),
    }


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


def _parts(sparse: SparseTensor) -> tuple[Any, ...]:
    return sparse.indices, sparse.values, sparse.dense_shape


#: Type of operation -> what makes it.
RECORDS: dict[str, Make] = {
    "DecodeBase64": lambda name, inputs, attrs: codecs.decode_base64(inputs[0], name),
    "DecodeCSV": _csv,
    "DecodeCompressed": lambda name, inputs, attrs: codecs.decode_compressed(
        inputs[0], attrs.get("compression_type", ""), name
    ),
    "DecodeJSONExample": lambda name, inputs, attrs: serialized_tensors.decode_json_example(inputs[0], name),
    "DecodePaddedRaw": _raw,
    "DecodeRaw": _raw,
    "EncodeBase64": lambda name, inputs, attrs: codecs.encode_base64(inputs[0], attrs.get("pad", False), name),
    "DeserializeManySparse": lambda name, inputs, attrs: _parts(
        serialized_tensors.deserialize_many_sparse(inputs[0], attrs["dtype"], name=name)
    ),
    "ParseExample": _example_1,
    "ParseExampleV2": _example,
    "ParseSequenceExampleV2": _sequences,
    "ParseSingleExample": _single,
    "ParseTensor": lambda name, inputs, attrs: serialized_tensors.parse_tensor(inputs[0], attrs["out_type"], name),
    "SerializeManySparse": lambda name, inputs, attrs: serialized_tensors.serialize_many_sparse(
        SparseTensor(*inputs), name=name
    ),
    "SerializeSparse": lambda name, inputs, attrs: serialized_tensors.serialize_sparse(
        SparseTensor(*inputs), name=name
    ),
    "SerializeTensor": lambda name, inputs, attrs: serialized_tensors.serialize_tensor(inputs[0], name),
}
