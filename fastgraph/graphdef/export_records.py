"""Operations that take Examples and numbers in strings apart, as they are written: the reverse of import_records.py.

Rule: as in `export_decompositions`: the last operation has the node's name and gives its results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.dtype import as_dtype
from fastgraph.graph.ir import Node
from fastgraph.graphdef.export_decompositions import Parts
from fastgraph.graphdef.node_bytes import Definition
from fastgraph.graphdef.op_table import Dims


def _raw(node: Node) -> list[Definition]:
    """Numbers of all of a string, or of as many bytes as are told."""
    said, parts = node.attrs, Parts(node)
    attrs = {"out_type": as_dtype(said["dtype"]), "little_endian": said["little"]}
    if not said["length"]:
        return parts.last("DecodeRaw", node.inputs, **attrs)
    length = parts.const(np.array(said["length"], np.int32), "fixed_length")
    return parts.last("DecodePaddedRaw", (*node.inputs, length), **attrs)


def _keys(parts: Parts, said: Any, before: str = "") -> list[Any]:
    """The keys of features as constants: of the sparse, the dense and the ragged ones."""
    return [
        parts.const(np.array([key.encode() for key, *_ in features], object), f"{before}{kind}_keys", dtypes.string)
        for kind, features in zip(("sparse", "dense", "ragged"), said, strict=True)
    ]


def _types(features: Any, place: int = 1) -> list[Any]:
    return [as_dtype(each[place]) for each in features]


def _shapes(dense: Any) -> list[Dims]:
    return [Dims(tuple(shape)) for *_, shape in dense]


def _with_slots(parts: Parts, found: Definition, counts: dict[str, Any]) -> list[Definition]:
    found.slots = [f"{name}:{i}" for name, features in counts.items() for i in range(len(features))]
    return [*parts.made, found]


def _example(node: Node) -> list[Definition]:
    """The features of Examples: their keys are constants there."""
    sparse, dense, ragged = (node.attrs[kind] for kind in ("sparse", "dense", "ragged"))
    serialized, names, *defaults = node.inputs
    parts = Parts(node)
    found = Definition(
        node, "ParseExampleV2", (serialized, names, *_keys(parts, (sparse, dense, ragged)), *defaults), {
            "Tdense": _types(dense), "dense_shapes": _shapes(dense), "num_sparse": len(sparse),
            "ragged_split_types": _types(ragged, 2), "ragged_value_types": _types(ragged),
            "sparse_types": _types(sparse),
        },
    )  # fmt: skip
    counts = {"sparse_indices": sparse, "sparse_values": sparse, "sparse_shapes": sparse, "dense_values": dense}
    return _with_slots(parts, found, {**counts, "ragged_values": ragged, "ragged_row_splits": ragged})


def _sequences(node: Node) -> list[Definition]:
    """The features of SequenceExamples: those of the contexts, then of the lists."""
    serialized, names, *defaults = node.inputs
    parts, context, lists = Parts(node), node.attrs["context"], node.attrs["lists"]
    missing = parts.const(np.array([key in node.attrs["optional"] for key, *_ in lists[1]], bool), "missing")
    keys = (*_keys(parts, context, "context_"), *_keys(parts, lists, "feature_list_"))
    attrs: dict[str, Any] = {"Tcontext_dense": _types(context[1]), "feature_list_dense_types": _types(lists[1])}
    counts: dict[str, Any] = {}
    for place, (sparse, dense, ragged) in (("context", context), ("feature_list", lists)):
        attrs |= {
            f"N{place}_sparse": len(sparse), f"{place}_sparse_types": _types(sparse),
            f"{place}_ragged_value_types": _types(ragged), f"{place}_ragged_split_types": _types(ragged, 2),
            f"{place}_dense_shapes": _shapes(dense),
        }  # fmt: skip
        counts |= {f"{place}_sparse_{each}": sparse for each in ("indices", "values", "shapes")}
        several = ["dense_values"] if place == "context" else ["dense_values", "dense_lengths"]
        counts |= {f"{place}_{each}": dense for each in several}
        several = ["row_splits"] if place == "context" else ["outer_splits", "inner_splits"]
        counts |= {f"{place}_ragged_{each}": ragged for each in ("values", *several)}
    attrs["Nfeature_list_dense"] = len(lists[1])
    inputs = (serialized, names, *keys, missing, *defaults)
    return _with_slots(parts, Definition(node, "ParseSequenceExampleV2", inputs, attrs), counts)


RECORDS: dict[str, Callable[[Node], list[Any]]] = {
    "decode_raw": _raw,
    "deserialize_many_sparse": lambda node: Parts(node).last(
        "DeserializeManySparse", node.inputs, dtype=as_dtype(node.attrs["dtype"])
    ),
    "parse_example_v2": _example,
    "parse_sequence_example_v2": _sequences,
    "parse_tensor": lambda node: Parts(node).last("ParseTensor", node.inputs, out_type=as_dtype(node.attrs["dtype"])),
}
