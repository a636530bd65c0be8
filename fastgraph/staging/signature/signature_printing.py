"""The specs of a concrete function's tensors and results."""

from __future__ import annotations

from typing import Any

from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.graph.ir import Value


def spec_of(value: Value) -> TensorSpec:
    return TensorSpec(value.aval.shape, value.aval.dtype, value.node.attrs.get("name") or value.node.name)


def type_of_result(leaf: Any) -> Any:
    spec = leaf if isinstance(leaf, TypeSpec) else getattr(leaf, "_type_spec", None)
    return spec if isinstance(spec, TypeSpec) else TensorSpec(leaf.aval.shape, leaf.dtype)
