"""Batches of extension types: what tf.data and map_fn make of many objects, and of parts of one.

Rule: an object is batched by its encoding, a row of tensors and composites that are batched one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from fastgraph.composites.extension_type import ExtensionType, ExtensionTypeSpec
from fastgraph.composites.ragged_tensor import RaggedTensorSpec
from fastgraph.composites.sparse_tensor import SparseTensorSpec
from fastgraph.core.base import nesting
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.conversion import SizeLike


def batched_spec(spec: Any, size: int | None) -> Any:
    """Return the spec of `size` values of a spec together. Raises NotImplementedError for types without batches."""
    if isinstance(spec, ExtensionTypeSpec):
        return _batchable(spec).__batch_encoder__.batch(spec, size)
    return _reshaped(spec, None if spec.shape.rank is None else [size, *spec.shape], 1)


def unbatched_spec(spec: Any) -> Any:
    """Return the spec of one of many values. Raises NotImplementedError for types without batches."""
    if isinstance(spec, ExtensionTypeSpec):
        return _batchable(spec).__batch_encoder__.unbatch(spec)
    return _reshaped(spec, None if spec.shape.rank is None else spec.shape[1:], -1)


def _reshaped(spec: Any, shape: SizeLike, deeper: int) -> Any:
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank + deeper, spec.row_splits_dtype)
    return type(spec)(shape, spec.dtype)


def is_batchable(spec: object) -> bool:
    """Return whether values of a spec have batches."""
    return isinstance(spec, (TensorSpec, RaggedTensorSpec, SparseTensorSpec, BatchableExtensionTypeSpec))


class ExtensionTypeBatchEncoder:
    """Batching of objects of an extension type, as its `__batch_encoder__`: the parts that are batched.

    Source: tf.experimental.ExtensionTypeBatchEncoder.
    """

    def batch(self, spec: Any, batch_size: int | None) -> Any:
        """Return the spec of `batch_size` objects: each tensor, and each TensorShape, with an axis more."""

        def batch_field(field: Any) -> Any:
            if is_batchable(field):
                return batched_spec(field, batch_size)
            if isinstance(field, TensorShape):
                return TensorShape([batch_size]).concatenate(field)
            return field

        return _with_fields(spec, batch_field)

    def unbatch(self, spec: Any) -> Any:
        """Return the spec of one object of many: each tensor, and each TensorShape, without its first axis."""

        def unbatch_field(field: Any) -> Any:
            if is_batchable(field):
                return unbatched_spec(field)
            return field[1:] if isinstance(field, TensorShape) else field

        return _with_fields(spec, unbatch_field)

    def encode(self, spec: Any, value: Any, minimum_rank: int = 0) -> Any:
        """Return the tensors and composites, of this rank at least, that stand for an object."""
        return spec._to_components(value)

    def decode(self, spec: Any, encoded_value: Sequence[Any]) -> Any:
        """Return the object of these tensors and composites."""
        return spec._from_components(tuple(encoded_value))

    def encoding_specs(self, spec: Any) -> Any:
        """Return the specs of what `encode` gives."""
        return spec._component_specs


def _with_fields(spec: Any, function: Any) -> Any:
    fields = [(name, nesting.map_structure(function, value)) for name, value in spec._serialize()]
    return type(spec)._deserialize(fields)


class BatchableExtensionTypeSpec(ExtensionTypeSpec):
    """The specs of extension types whose objects have batches."""

    __batch_encoder__: ClassVar[Any] = ExtensionTypeBatchEncoder()

    def encoded(self, value: Any, minimum_rank: int = 0) -> tuple[Any, ...]:
        """Return what is batched of a value: tensors, ragged and sparse ones, what nested objects are encoded as."""
        found = self.__batch_encoder__.encode(self, value, minimum_rank)
        specs = nesting.flatten(self.__batch_encoder__.encoding_specs(self))
        parts: list[Any] = []
        for spec, part in zip(specs, nesting.flatten(found), strict=True):
            inner = isinstance(spec, BatchableExtensionTypeSpec)
            parts += spec.encoded(part, minimum_rank) if inner else [part]
        return tuple(parts)

    def encodings(self) -> tuple[Any, ...]:
        """Return the specs of what `encoded` gives. Raises NotImplementedError for parts that have no batches."""
        parts: list[Any] = []
        for spec in nesting.flatten(self.__batch_encoder__.encoding_specs(self)):
            if not is_batchable(spec):
                raise NotImplementedError(f"{spec.value_type.__name__} has no batches: see BatchableExtensionType")
            parts += spec.encodings() if isinstance(spec, BatchableExtensionTypeSpec) else [spec]
        return tuple(parts)

    def decoded(self, parts: Sequence[Any]) -> Any:
        """Return the value of these parts."""
        left, made = list(parts), []
        structure = self.__batch_encoder__.encoding_specs(self)
        for spec in nesting.flatten(structure):
            inner = isinstance(spec, BatchableExtensionTypeSpec)
            n = len(spec.encodings()) if inner else 1
            own, left = left[:n], left[n:]
            made.append(spec.decoded(own) if inner else own[0])
        return self.__batch_encoder__.decode(self, nesting.pack_sequence_as(structure, made))


class BatchableExtensionType(ExtensionType):
    """An ExtensionType whose objects tf.data and map_fn put together and take apart, as `__batch_encoder__` says.

    Source: tf.experimental.BatchableExtensionType.
    """

    _fg_of_the_house = True
    __batch_encoder__: ClassVar[Any] = ExtensionTypeBatchEncoder()
    _fg_spec: ClassVar[Any] = BatchableExtensionTypeSpec


def _spec(leaf: Any) -> Any:
    found = leaf if isinstance(leaf, TypeSpec) else getattr(leaf, "_type_spec", None)
    return found if isinstance(found, ExtensionTypeSpec) else None


def has_extensions(structure: object) -> bool:
    """Return whether objects of extension types, or their specs, are in a structure."""
    return any(_spec(leaf) is not None for leaf in nesting.flatten(structure))


class Encodings:
    """map_fn's function, elements and signature with encodings in the places of extension types."""

    def __init__(self, function: Any, elems: Any, signature: Any) -> None:
        self._function, self._given, self._wanted = function, elems, signature
        for leaf in nesting.flatten(elems):
            if _spec(leaf) is not None and not isinstance(_spec(leaf), BatchableExtensionTypeSpec):
                raise TypeError(f"map_fn can not consume {_spec(leaf)!r} inputs: got {leaf!r}")
        self.elems = nesting.map_structure(lambda leaf: _encoded(leaf, 1), elems)
        self.signature = nesting.map_structure(
            lambda leaf: leaf if _spec(leaf) is None else _batchable(leaf).encodings(), signature
        )

    def __call__(self, element: Any) -> Any:
        """Return the encoding of what the function gives for the encoding of an element."""
        specs = [None if _spec(leaf) is None else unbatched_spec(_spec(leaf)) for leaf in nesting.flatten(self._given)]
        result = self._function(_decoded(self._given, specs, element))
        return nesting.map_structure(lambda leaf: _encoded(leaf, 0), result)

    def packed(self, results: Any) -> Any:
        """Return the values of the encodings of all results."""
        first = next(iter(nesting.flatten(results)), None)
        n = None if first is None else first.shape[0]
        specs = [None if _spec(leaf) is None else batched_spec(leaf, n) for leaf in nesting.flatten(self._wanted)]
        return _decoded(self._wanted, specs, results)


def _batchable(spec: Any) -> Any:
    """`spec`, if its values have batches. Raises NotImplementedError."""
    if not isinstance(spec, BatchableExtensionTypeSpec):
        raise NotImplementedError(f"{spec.value_type.__name__} has no batches: see BatchableExtensionType")
    return spec


def _encoded(leaf: Any, minimum_rank: int) -> Any:
    spec = _spec(leaf)
    return leaf if spec is None else _batchable(spec).encoded(leaf, minimum_rank)


def _decoded(structure: Any, specs: Sequence[Any], encodings: Any) -> Any:
    left = iter(nesting.flatten(encodings))
    leaves = [next(left) if spec is None else spec.decoded([next(left) for _ in spec.encodings()]) for spec in specs]
    return nesting.pack_sequence_as(structure, leaves)
