"""Elements of datasets: nested tuples and dicts of tensors, with their specs.

Rule: a list is no structure here but becomes one tensor, as everywhere in tf.data. Inside the package an element is the
tuple of its tensors, composites taken apart; the spec puts it together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.composites.composite_values import RaggedTensorValue, SparseTensorValue
from fastgraph.composites.ragged_tensor import RaggedTensor, RaggedTensorSpec
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.type_specs import NoneTensorSpec, TensorSpec, TypeSpec, type_spec_from_value
from fastgraph.core.tensor import Tensor, convert

Element = tuple[Any, ...]


class OfElements(TypeSpec):
    """A spec that says what elements are like, and nothing else that counts."""

    __slots__ = ("_element_spec",)

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    element_spec = ReadOnly[Any]("_element_spec", "The spec of an element.")

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec,)

    def __hash__(self) -> int:
        return hash((type(self), *nesting.flatten(self._element_spec)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"


class InElements:
    """The base of datasets: what stands for one in an element of another keeps it."""

    def _as_element(self) -> Any:
        """Return what an element holds."""
        raise NotImplementedError

    def _stacked(self, datasets: list[Any]) -> Any:
        """Return what an element holds of a list of such, this one the first."""
        raise NotImplementedError


def normalized(value: object) -> Any:
    """Return the structure with a tensor for each leaf (lists are leaves, None stays). Raises ValueError for others."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if isinstance(value, RaggedTensorValue):
        return RaggedTensor.from_row_splits(normalized(value.values), value.row_splits, validate=False)
    if is_structure(value):
        return _map(normalized, value)
    if value is None:
        return None
    if isinstance(value, InElements):
        return value._as_element()
    if isinstance(value, list) and value and all(isinstance(each, InElements) for each in value):
        return value[0]._stacked(value)
    if isinstance(value, Tensor) or isinstance(getattr(value, "_type_spec", None), TypeSpec):
        return convert(value) if hasattr(value, "__fg_cell__") else value
    return convert(value, _dtype_of_arrays(value)) if isinstance(value, list) else convert(value)


def _dtype_of_arrays(values: list[Any]) -> Any:
    """The dtype of a list, nested or not, of arrays that all have one; else None. Elsewhere such a list is int32."""
    found = None
    for value in values:
        if isinstance(value, list):
            dtype = _dtype_of_arrays(value)
        else:
            dtype = value.dtype if isinstance(value, np.ndarray) and value.dtype.kind in "biufc" else None
        if dtype is None or found not in (None, dtype):
            return None
        found = dtype
    return None if found is None else as_dtype(found)


def is_structure(value: object) -> bool:
    """Return whether `value` is a container of components: a tuple, a dict, a named tuple or an attrs class."""
    return nesting.is_nested(value) and not isinstance(value, list | range)


def _map(function: Callable[[Any], Any], value: object) -> Any:
    if isinstance(value, dict):
        items = {key: function(item) for key, item in value.items()}
        return items if type(value) is dict else nesting.pack_sequence_as(value, nesting.flatten(items))
    if isinstance(value, tuple):
        children = [function(item) for item in value]
        return type(value)(*children) if hasattr(value, "_fields") else tuple(children)
    return nesting.map_structure(function, value)


def spec_of(value: object) -> Any:
    """Return the specs of a structure of tensors."""
    return nesting.map_structure(_leaf_spec, value)


def _leaf_spec(value: object) -> Any:
    return NoneTensorSpec() if value is None else type_spec_from_value(value)


def flat(value: object) -> Element:
    """Return the tensors of an element."""
    return tuple([tensor for tensor in nesting.flatten(value, expand_composites=True) if tensor is not None])


def packed(spec: object, tensors: Sequence[Any]) -> Any:
    """Return the element whose tensors these are."""
    if isinstance(spec, TensorSpec):
        return tensors[0]
    return nesting.pack_sequence_as(spec, list(tensors), expand_composites=True)


def tensor_specs(spec: object) -> list[TensorSpec]:
    """Return the specs of an element's tensors."""
    return nesting.flatten(spec, expand_composites=True)


def least_extents(spec: Any) -> list[int]:
    """Return, for each of an element's tensors, how long an extent without a size is in none: splits are 1."""
    found: list[int] = []
    for leaf in nesting.flatten(spec):
        if isinstance(leaf, RaggedTensorSpec):
            found += [0, *[1] * (len(tensor_specs(leaf)) - 1)]
        else:
            found += [0] if isinstance(leaf, TensorSpec) else least_extents(leaf._component_specs)
    return found


def common(a: object, b: object) -> Any:
    """Return the spec that fits the elements of both. Raises TypeError if there is none."""
    try:
        nesting.assert_same_structure(a, b)
        pairs = zip(nesting.flatten(a), nesting.flatten(b), strict=True)
        found = [x.most_specific_common_supertype([y]) for x, y in pairs]
    except (TypeError, ValueError):
        found = [None]
    if None in found:
        raise TypeError(f"Incompatible dataset elements:\n  {a} vs.   {b}")
    return nesting.pack_sequence_as(a, found)
