"""Text of the signature of a concrete function: specs of tensors, structures with numbered leaves."""

from __future__ import annotations

import pprint
from typing import Any

from fastgraph.core.base import nesting
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.graph.ir import Value
from fastgraph.staging.signature.cache_keys import Held


def spec_of(value: Value) -> TensorSpec:
    return TensorSpec(value.aval.shape, value.aval.dtype, value.node.attrs.get("name") or value.node.name)


def type_of_result(leaf: Any) -> Any:
    spec = leaf if isinstance(leaf, TypeSpec) else getattr(leaf, "_type_spec", None)
    return spec if isinstance(spec, TypeSpec) else TensorSpec(leaf.aval.shape, leaf.dtype)


def has_spec(value: object) -> bool:
    return any(
        isinstance(leaf, TypeSpec) or (isinstance(leaf, Held) and leaf.is_variable) for leaf in nesting.flatten(value)
    )


class _Marker:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def pretty(spec: object) -> str:
    if isinstance(spec, TensorSpec):
        return f"{spec.dtype.name} Tensor, shape={spec.shape}"
    if nesting.is_nested(spec):
        pieces = nesting.flatten(spec)
        markers = [_Marker(f"<{i + 1}>") for i in range(len(pieces))]
        text = pprint.pformat(nesting.pack_sequence_as(spec, markers), width=10_000)
        for marker, piece in zip(markers, pieces, strict=True):
            text += f"\n      {marker!r}: {pretty(piece)}"
        return text
    return repr(spec)
