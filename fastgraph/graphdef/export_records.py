"""Operations that take Examples and numbers in strings apart, as they are written: the reverse of import_records.py.

Rule: as in `export_parts`: the last operation has the node's name and gives its results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.dtype import as_dtype
from fastgraph.graph.ir import Node
from fastgraph.graphdef.export_parts import Parts
from fastgraph.graphdef.op_table import Definition, Dims


def _raw(node: Node) -> list[Definition]:
    """Numbers of all of a string, or of as many bytes as are told."""
    said, parts = node.attrs, Parts(node)
    attrs = {"out_type": as_dtype(said["dtype"]), "little_endian": said["little"]}
    if not said["length"]:
        return parts.last("DecodeRaw", node.inputs, **attrs)
    length = parts.const(np.array(said["length"], np.int32), "fixed_length")
    return parts.last("DecodePaddedRaw", (*node.inputs, length), **attrs)


def _example(node: Node) -> list[Definition]:
    """The features of Examples: their keys are constants there."""
    sparse, dense, ragged = (node.attrs[kind] for kind in ("sparse", "dense", "ragged"))
    serialized, names, *defaults = node.inputs
    parts = Parts(node)
    keys = [
        parts.const(np.array([key.encode() for key, *_ in features], object), f"{kind}_keys", dtypes.string)
        for kind, features in (("sparse", sparse), ("dense", dense), ("ragged", ragged))
    ]
    found = Definition(node, "ParseExampleV2", (serialized, names, *keys, *defaults), {
        "Tdense": [as_dtype(dtype) for _, dtype, _ in dense],
        "dense_shapes": [Dims(tuple(shape)) for *_, shape in dense],
        "num_sparse": len(sparse),
        "ragged_split_types": [as_dtype(splits) for *_, splits in ragged],
        "ragged_value_types": [as_dtype(dtype) for _, dtype, _ in ragged],
        "sparse_types": [as_dtype(dtype) for _, dtype in sparse],
    })  # fmt: skip
    counts = {"sparse_indices": sparse, "sparse_values": sparse, "sparse_shapes": sparse, "dense_values": dense}
    counts |= {"ragged_values": ragged, "ragged_row_splits": ragged}
    found.slots = [f"{name}:{i}" for name, features in counts.items() for i in range(len(features))]
    return [*parts.made, found]


RECORDS: dict[str, Callable[[Node], list[Any]]] = {
    "decode_raw": _raw,
    "deserialize_many_sparse": lambda node: Parts(node).last(
        "DeserializeManySparse", node.inputs, dtype=as_dtype(node.attrs["dtype"])
    ),
    "parse_example_v2": _example,
    "parse_tensor": lambda node: Parts(node).last("ParseTensor", node.inputs, out_type=as_dtype(node.attrs["dtype"])),
}
