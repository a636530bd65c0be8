"""StructuredTensor: many structures of the same fields, each field of all of them in one tensor.

Rule: the first `rank` axes of every field are the StructuredTensor's own, cut into rows by the same partitions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Union

import numpy as np

from fastgraph.composites.extension_batching import (
    BatchableExtensionType,
    ExtensionTypeBatchEncoder,
    batched_spec,
    unbatched_spec,
)
from fastgraph.composites.ragged_shape import DynamicRaggedShape
from fastgraph.composites.ragged_tensor import RaggedTensor, RaggedTensorSpec, levels
from fastgraph.composites.row_partition import RowPartition
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, int32, int64
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.conversion import TensorLike
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.tensor import EagerTensor, Tensor, convert
from fastgraph.ops.arguments import as_tensor, known_value, static_int
from fastgraph.ops.elementwise import cast
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import concat
from fastgraph.ops.movement import reshape, shape
from fastgraph.ops.runtime_assertions import assert_equal

_NAME = re.compile("[a-zA-Z][a-zA-Z0-9_]*")

#: The values that a field may hold.
FieldValue = Union[Tensor, RaggedTensor, "StructuredTensor"]


class _Encoder(ExtensionTypeBatchEncoder):
    """Batches of the fields: they say what shape there is. A StructuredTensor without any is what it is made of."""

    def batch(self, spec: Any, batch_size: int | None) -> Any:
        return self._of(spec, {name: batched_spec(each, batch_size) for name, each in spec._fields.items()}, 1)

    def unbatch(self, spec: Any) -> Any:
        return self._of(spec, {name: _of_row(unbatched_spec(each)) for name, each in spec._fields.items()}, -1)

    @staticmethod
    def _of(spec: Any, fields: dict[str, Any], deeper: int) -> Any:
        return spec._from_fields_and_rank(fields, spec.rank + deeper, spec._ragged_shape._inner_shape.dtype)

    def encode(self, spec: Any, value: Any, minimum_rank: int = 0) -> Any:
        return tuple(value._fields.values())

    def decode(self, spec: Any, encoded_value: Sequence[Any]) -> Any:
        fields = dict(zip(spec._fields, encoded_value, strict=True))
        return StructuredTensor.from_fields(fields, [None] * spec.rank)

    def encoding_specs(self, spec: Any) -> Any:
        return tuple(spec._fields.values())


def _of_row(spec: Any) -> Any:
    """The spec of one row of a field: rows without rows in them are Tensors."""
    return TensorSpec(spec.shape, spec.dtype) if isinstance(spec, RaggedTensorSpec) and spec.ragged_rank < 1 else spec


@without({"str": "FieldName"})
class StructuredTensor(BatchableExtensionType):
    """Structures of one kind: a scalar, a vector, ... of them, as one tensor for each field.

    Made by `from_fields`, `from_pyval` and their like. fields: Tensors, RaggedTensors and StructuredTensors whose
    first axes are those of ragged_shape.

    Examples:
        >>> people = tf.experimental.StructuredTensor.from_pyval(
        ...     [{"age": 12, "names": ["Ann"]}, {"age": 82, "names": ["Bo", "Bob"]}])
        >>> people.shape, people.field_value("age").numpy().tolist()
        (TensorShape([2]), [12, 82])
        >>> people[1, "names"].numpy().tolist()
        [b'Bo', b'Bob']

    Source: tf.experimental.StructuredTensor.
    """

    _fields: Mapping[str, FieldValue]
    _ragged_shape: DynamicRaggedShape

    __batch_encoder__ = _Encoder()

    class Spec:
        """Knowledge of a StructuredTensor: specs of its fields, and of its shape."""

        _fields: Any
        _ragged_shape: Any

        @classmethod
        def _from_fields_and_rank(cls: Any, fields: Mapping[str, Any], rank: int, dtype: DTypeLike = int64) -> Any:
            rows = RowPartition.Spec(TensorSpec([None], dtype), None)
            outer = DynamicRaggedShape.Spec((rows,) * max(0, rank - 1), [None] * min(rank, 1), dtype)
            return cls(fields, outer)

        @property
        def rank(self) -> int:
            """Number of axes."""
            return len(self._ragged_shape._row_partitions) + int(self._ragged_shape._inner_shape.shape[0])

        @property
        def shape(self) -> TensorShape:
            """The extents, as far as the fields tell them."""
            return _merged([None] * self.rank, self._fields)

    def __init__(self, fields: Mapping[str, FieldValue], ragged_shape: DynamicRaggedShape) -> None:
        self._fields, self._ragged_shape = fields, ragged_shape

    @classmethod
    def from_shape(cls, ragged_shape: DynamicRaggedShape) -> StructuredTensor:
        """Return structures without fields, of this shape."""
        return cls({}, ragged_shape)

    @classmethod
    def _of(cls, fields: Mapping[str, FieldValue], outer: DynamicRaggedShape) -> StructuredTensor:
        """Return structures of fields that are of this shape, whose axes are cut alike from here on."""
        parts = _partitions_of_shape(outer)
        if not parts:
            return cls(fields, outer)
        alike = {name: _recut(each, parts) for name, each in fields.items()}
        return cls(alike, DynamicRaggedShape(parts, [parts[-1].nvals()], outer.dtype))

    @classmethod
    def from_fields(
        cls,
        fields: dict[str, Any],
        shape: ShapeLike = (),
        nrows: TensorLike | None = None,
        row_partitions: Sequence[RowPartition] | None = None,
        validate: bool = False,
    ) -> StructuredTensor:
        """Return structures of the shape `shape`, whose rank is known: what else is known of it, the fields say.

        nrows: i[], the first extent; row_partitions: how the other axes are cut; both need to be given where there are
        no fields. Raises: ValueError for fields whose first axes differ, TypeError for what is none; where only a run
        can tell and `validate` asks for it, InvalidArgumentError.
        """
        outer = TensorShape(shape)
        if outer.rank is None:
            raise ValueError("StructuredTensor's shape must have known rank.")
        if not isinstance(fields, dict):
            raise TypeError(f"fields must be a dictionary, got {type(fields).__name__}")
        if outer.rank < 2 and row_partitions:
            raise ValueError("row_partitions must be None or [] if shape.rank<2")
        if outer.rank == 0 and nrows is not None:
            raise ValueError("nrows must be None if shape.rank==0")
        if row_partitions is not None and len(row_partitions) != max(0, outer.rank - 1):
            raise ValueError("len(row_partitions) must be shape.rank-1")
        return _built(_converted(fields), outer, nrows, row_partitions or None, None, validate)

    @classmethod
    def from_fields_and_rank(
        cls, fields: Mapping[str, Any], rank: int, validate: bool = False, dtype: DTypeLike | None = None
    ) -> StructuredTensor:
        """Return structures of as many axes, which the fields tell. Raises: ValueError for no fields, and others'."""
        if not fields:
            raise ValueError("Must provide at least one field")
        if not isinstance(rank, int):
            raise ValueError("rank must be an integer")
        if rank < 0:
            raise ValueError("rank must be nonnegative")
        return _built(_converted(fields), TensorShape([None] * rank), None, None, dtype, validate)

    @classmethod
    def from_pyval(cls, pyval: object, typespec: TypeSpec | None = None) -> FieldValue:
        """Return what a dict, or lists of dicts, of Python's values is; lists of lists become RaggedTensors.

        typespec: a spec of the result. Raises: ValueError where the values are not of it, or their dicts lie at
        different depths; KeyError where one lacks a field.
        """
        from fastgraph.composites.structured_values import from_python

        return from_python(pyval, typespec, ())

    def to_pyval(self) -> dict[str, Any] | list[Any]:
        """Return a dict, or lists of dicts, of Python's values. Raises: ValueError in Functions."""
        if not all(isinstance(part, EagerTensor) for part in nesting.flatten(self, expand_composites=True)):
            raise ValueError("StructuredTensor.to_pyval() is only supported in eager mode.")
        from fastgraph.composites.structured_values import to_python

        return to_python(self)

    # ---- what there is

    @property
    def rank(self) -> int:
        """Number of axes."""
        return int(self._ragged_shape.rank)

    @property
    def shape(self) -> TensorShape:
        """The extents that are known; None along axes whose rows may differ."""
        return _merged(self._ragged_shape.static_lengths(ragged_lengths=False), self._fields)

    @property
    def row_partitions(self) -> tuple[RowPartition, ...]:
        """Rows into which all structures are cut, those into rows again, ...: one for each axis but the first."""
        return tuple(_partitions_of_shape(self._ragged_shape))

    def nrows(self) -> Tensor | None:
        """Return the first extent, i[]; None of a scalar."""
        return self._ragged_shape[0] if self.rank else None

    def field_names(self) -> tuple[str, ...]:
        """Return the names of the fields."""
        return tuple(self._fields)

    def field_value(self, field_name: str | Sequence[str]) -> FieldValue:
        """Return a field of all structures; a sequence of names leads into nested ones. Raises: KeyError."""
        if not isinstance(field_name, (list, tuple)):
            return self._fields[str(field_name)]
        value: Any = self
        for name in field_name:
            if not isinstance(value, StructuredTensor):
                raise KeyError(f"Field path {field_name} not found in {self}")
            value = value.field_value(name)
        return value

    def _at(self, path: tuple[str, ...]) -> Any:
        return self.field_value(path)

    def with_shape_dtype(self, dtype: DTypeLike) -> StructuredTensor:
        """Return the same with partitions of int32 or int64, in all fields."""
        if as_dtype(dtype) is self._ragged_shape.dtype:
            return self
        return StructuredTensor(
            {name: _with_dtype(each, dtype) for name, each in self._fields.items()},
            self._ragged_shape.with_dtype(dtype),
        )

    def __getitem__(self, key: Any) -> FieldValue:
        """Return a part: indices and slices of the first axes, then a field's name, then what is a part of the field.

        Raises: ValueError for other keys, KeyError for a field that is not there.
        """
        keys = tuple(key) if isinstance(key, (list, tuple)) else (key,)
        if not keys:
            return self
        whole = isinstance(keys[0], slice) and keys[0] == slice(None)
        if self.rank == 0 and whole:
            return StructuredTensor.from_fields({name: _part(each, keys[1:]) for name, each in self._fields.items()})
        if len(keys) > self.rank:
            name, others = keys[self.rank], (*keys[: self.rank], *keys[self.rank + 1 :])
            if not isinstance(name, (str, bytes)):
                or_all = " or a full slice (':')" if self.rank == 0 else ""
                raise ValueError(f"Key for indexing a StructuredTensor must be a string{or_all}, not {name!r}")
            return _part(self._fields[name.decode() if isinstance(name, bytes) else name], others)
        for each in keys:
            if each is None or each is Ellipsis or not isinstance(each, (slice, int, np.integer, Tensor)):
                if isinstance(each, (str, bytes)):
                    raise TypeError(f"Only integers and slices come before the name of a field, got {each!r}")
                shown = "tf.newaxis" if each is None else repr(each)
                raise ValueError(f"Slicing not supported for {shown}")
        kept = [
            n if each == slice(None) else None
            for n, each in zip(self.shape, keys, strict=False)
            if isinstance(each, slice)
        ]
        found = {name: _part(each, keys) for name, each in self._fields.items()}
        return StructuredTensor.from_fields(found, [*kept, *self.shape[len(keys) :]])

    def __repr__(self) -> str:
        deeper = "\n" + " " * 12
        parts = [f'"{name}": ' + str(each).replace("\n", deeper) for name, each in sorted(self._fields.items())]
        fields = ",\n        ".join(parts)
        return f"<StructuredTensor(\n    fields={{\n        {fields}}},\n    shape={self.shape})>"

    # ---- others made of it

    def with_updates(self, updates: Mapping[Any, Any], validate: bool = False) -> StructuredTensor:
        """Return the same with other fields. updates: {a field's name, or its path: the new value, a function of the
        old one, or None, which takes it away}.

        Raises: ValueError for a path whose beginning is updated as well, or is not there, for what is to be changed or
        taken away and is not there, and for values that do not have this shape.
        """
        paths = [((name,) if isinstance(name, str) else tuple(name), value) for name, value in updates.items()]
        paths.sort(key=lambda pair: pair[0])
        for (one, _), (other, _) in pairwise(paths):
            if one and other[: len(one)] == one:
                raise ValueError(
                    "`StructuredTensor.with_updates` does not allow both parent and child nodes to be updated: "
                    f"parent={one}, child={other}"
                )
        return self._updated((), paths, validate)

    def _updated(self, above: tuple[str, ...], updates: Sequence[Any], validate: bool) -> StructuredTensor:
        fields: dict[str, Any] = dict(self._fields)
        what = "`StructuredTensor.with_updates`"
        for path, value in updates:
            if not path or not path[0]:
                raise ValueError(f"{what} does not allow empty names {(*above, *path)}.")
            name, rest, here = path[0], path[1:], (*above, path[0])
            if rest:
                where = f"{what} cannot create new sub-field {(*above, *path)}"
                if name not in fields:
                    raise ValueError(f"{where}: the parent field {here} is not set.")
                if not isinstance(fields[name], StructuredTensor):
                    raise ValueError(
                        f"{where}: {here} is not a `StructuredTensor` but a {type(fields[name]).__name__}."
                    )
                fields[name] = fields[name]._updated(here, [(rest, value)], validate)
            elif value is None:
                if name not in fields:
                    raise ValueError(f"{what} cannot delete field {here}: it is not present.")
                del fields[name]
            elif callable(value) and not isinstance(value, Tensor):
                if name not in fields:
                    raise ValueError(f"{what} cannot update the field {here} by a function: it does not already exist.")
                fields[name] = value(fields[name])
            else:
                fields[name] = value
        try:
            return StructuredTensor.from_fields(
                fields, self.shape, self.nrows(), self.row_partitions if self.rank > 1 else None, validate
            )
        except ValueError as error:
            raise ValueError(f"{what} failed{f' for field {above}' if above else ''}") from error

    def promote(self, source_path: Sequence[str], new_name: str) -> StructuredTensor:
        """Return the same with a field more: a nested one, beside the structure that it is in, the rows of that and
        its own as one.

        Raises: ValueError for a path of less than two names, and for a name that is no text.
        """
        if not isinstance(new_name, str):
            raise ValueError("new_name is not a string")
        if not isinstance(source_path, (list, tuple)):
            raise ValueError("source_path must be a list or tuple")
        if len(source_path) < 2:
            raise ValueError("source_path must have length at least two")
        path = tuple(source_path)
        value, outer, inner = [self._at(each) for each in (path, path[:-2], path[:-1])]
        if outer.rank != inner.rank:
            if value.shape.rank is None:
                raise ValueError(f"The rank of the field {path} is not known: its axes cannot be merged.")
            last = min(inner.rank, value.shape.rank - 1)
            value = _merge(value, outer.rank, last) if last > outer.rank else value
        return self.with_updates({(*path[:-2], new_name): value})

    def partition_outer_dimension(self, row_partition: RowPartition) -> StructuredTensor:
        """Return the first axis cut into rows, by a RowPartition. Raises: ValueError for a scalar."""
        if not isinstance(row_partition, RowPartition):
            raise TypeError(f"row_partition must be a RowPartition, got {row_partition!r}")
        if self.rank == 0:
            raise ValueError("Shape () must have rank at least 1")
        return _cut(self, row_partition)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> StructuredTensor:
        """Return the axes from outer_axis to inner_axis as one. Raises: ValueError for axes that are none."""
        outer, inner = [axis + self.rank if axis < 0 else axis for axis in (outer_axis, inner_axis)]
        for name, axis in (("outer_axis", outer), ("inner_axis", inner)):
            if not 0 <= axis < self.rank:
                raise ValueError(f"{name}={axis} out of bounds: expected 0<={name}<{self.rank}")
        if outer > inner:
            raise ValueError(f"Expected outer_axis ({outer}) to be less than or equal to inner_axis ({inner})")
        return _merge(self, outer, inner)


# ---- fields, and the shape that they have in common


def _converted(fields: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the fields as tensors and composites. Raises TypeError or ValueError for what is none, and its names."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if not isinstance(name, str):
            raise TypeError(f"Unexpected type for key in `fields`: {name!r}")
        if not _NAME.fullmatch(name):
            raise ValueError(f"Field name {name!r} is not currently allowed.")
        if not isinstance(value, (Tensor, RaggedTensor, StructuredTensor)):
            try:
                if hasattr(value, "nested_row_splits"):  # the arrays of a RaggedTensor, as TensorFlow 1 has them
                    value = RaggedTensor.from_nested_row_splits(value.flat_values, value.nested_row_splits)
                else:
                    value = convert(value)
            except (TypeError, ValueError) as error:
                raise TypeError(f"Unexpected type for value in `fields`: {value!r}") from error
            if not isinstance(value, (Tensor, RaggedTensor)):
                raise TypeError(f"Unexpected type for value in `fields`: {value!r}")
        found[name] = value
    return found


def _merged(dims: Sequence[int | None], fields: Mapping[str, Any]) -> TensorShape:
    """Return extents with what fields, or specs of them, know of them. Raises ValueError where they differ."""
    outer = TensorShape(dims)
    for name, each in fields.items():
        own = TensorShape(each.shape)
        if own.rank is None:
            continue
        try:
            outer = outer.merge_with(own[: len(dims)])
        except ValueError:
            raise ValueError(
                f"Error in shape of {name}: Shapes {own} and {outer} differ; the first axes of all fields are those of "
                "the structures"
            ) from None
    return outer


def _shape_dtype(parts: Sequence[Any]) -> DType:
    """Return the dtype of partitions that different ones, and RaggedTensors, take together."""
    found = set()
    for each in parts:
        if isinstance(each, RaggedTensor):
            found.add(each.row_splits.dtype)
        elif isinstance(each, StructuredTensor):
            found.add(each._ragged_shape.dtype)
        elif isinstance(each, (RowPartition, Tensor)):
            found.add(each.dtype)
    return int32 if found == {int32} else int64


def _with_dtype(value: FieldValue, dtype: DTypeLike) -> Any:
    if isinstance(value, RaggedTensor):
        return value.with_row_splits_dtype(dtype)
    return value.with_shape_dtype(dtype) if isinstance(value, StructuredTensor) else value


def _built(
    fields: dict[str, Any],
    outer: TensorShape,
    nrows: TensorLike | None,
    partitions: Sequence[RowPartition] | None,
    dtype: DTypeLike | None,
    validate: bool,
) -> StructuredTensor:
    """Return the StructuredTensor of fields, whose partitions are made the same."""
    rank, dims = len(outer), outer.as_list()
    of_shape = [each for each in fields.values() if not isinstance(each, Tensor)]
    dtype = as_dtype(dtype) if dtype is not None else _shape_dtype([*of_shape, *(partitions or ()), nrows])
    if nrows is not None and rank:
        dims = TensorShape([static_int(nrows), *dims[1:]]).merge_with(dims).as_list()
    outer = _merged(dims, fields)
    with name_scope("StructuredTensor"):
        fields = {name: _with_dtype(each, dtype) for name, each in fields.items()}
        if rank < 2:
            extents = [_first(outer, nrows, fields, dtype)] if rank else []
            return StructuredTensor(fields, DynamicRaggedShape([], extents, dtype))
        found = None if partitions is None else [each.with_dtype(dtype) for each in partitions]
        for name, each in fields.items():
            own = _partitions_of(each, rank, dtype)
            found = (
                own
                if found is None
                else [_agreed(name, *pair, validate=validate) for pair in zip(found, own, strict=True)]
            )
        if found is None:
            if not outer.is_fully_defined():
                raise ValueError("Must specify row_partitions, a fully specified shape, or have fields if rank > 1")
            found = _uniform(outer.as_list(), rank, dtype)
        fields = {name: _recut(each, found) for name, each in fields.items()}
        return StructuredTensor(fields, DynamicRaggedShape(found, [found[-1].nvals()], dtype))


def _first(outer: TensorShape, nrows: TensorLike | None, fields: Mapping[str, Any], dtype: DType) -> Any:
    """Return the only extent of a vector."""
    if outer[0] is not None:
        return outer[0]
    if nrows is not None:
        return cast(as_tensor(nrows), dtype)
    if not fields:
        raise ValueError("Must specify `nrows`, a fully specified `shape`, or have `fields` if `rank=1`")
    value = next(iter(fields.values()))
    return cast(value.nrows(), dtype) if not isinstance(value, Tensor) else shape(value, dtype)[0]


def _extents(x: Tensor, dtype: DType) -> list[Any]:
    """Return the extents of a tensor: ints where they are known."""
    if x.shape.is_fully_defined():
        return x.shape.as_list()
    dims = shape(x, dtype)
    return [dims[axis] if n is None else n for axis, n in enumerate(x.shape)]


def _uniform(extents: Sequence[Any], rank: int, dtype: DType) -> list[RowPartition]:
    """Return the partitions of a tensor's first `rank` axes."""
    found, n = [], extents[0]
    for length in extents[1:rank]:
        found.append(RowPartition.from_uniform_row_length(length, n * length, n, dtype=dtype))
        n = n * length
    return found


def _partitions_of(value: FieldValue, rank: int, dtype: DType) -> list[RowPartition]:
    """Return the partitions of a field's first `rank` axes."""
    if isinstance(value, StructuredTensor):
        return [each.with_dtype(dtype) for each in value.row_partitions[: rank - 1]]
    if not isinstance(value, RaggedTensor):
        return _uniform(_extents(value, dtype), rank, dtype)
    found = [RowPartition(level, internal=True) for level in levels(value)][: rank - 1]
    deeper = rank - len(found)
    return found + (_uniform(_extents(value.flat_values, dtype), deeper, dtype) if deeper > 1 else [])


def _partitions_of_shape(outer: DynamicRaggedShape) -> list[RowPartition]:
    """Return the partitions of all axes of a shape, of its values too."""
    found = list(outer.row_partitions)
    if outer.inner_rank and outer.inner_rank > 1:
        inner = [outer.inner_shape[i] if n is None else n for i, n in enumerate(outer._known_inner())]
        found += _uniform(inner, len(inner), outer.dtype)
    return found


def _agreed(name: str, one: RowPartition, other: RowPartition, validate: bool) -> RowPartition:
    """Return the one of two partitions that are the same which knows more. Raises ValueError where they are not."""
    mine, theirs = [known_value(each.row_splits()) for each in (one, other)]
    if mine is not None and theirs is not None:
        if mine.tolist() != theirs.tolist():
            raise ValueError(
                f"Error in shape of {name}: its rows are cut at {theirs.tolist()}, those of the structures at "
                f"{mine.tolist()}"
            )
    elif validate:
        assert_equal(one.row_splits(), other.row_splits(), message=f"Error in shape of {name}")
    return other if other.is_uniform() and not one.is_uniform() else one


def _recut(value: FieldValue, partitions: Sequence[RowPartition]) -> Any:
    """Return a field with these partitions, which are its own, in their place."""
    if not partitions or isinstance(value, Tensor):
        return value
    if isinstance(value, RaggedTensor):
        return partitions[0].rows_of(_recut(value.values, partitions[1:]))
    parts = [*partitions, *value.row_partitions[len(partitions) :]]
    fields = {name: _recut(each, partitions) for name, each in value._fields.items()}
    return StructuredTensor(fields, DynamicRaggedShape(parts, [parts[-1].nvals()], parts[0].dtype))


def _part(value: FieldValue, keys: tuple[Any, ...]) -> Any:
    return value[keys] if keys else value


def _cut(value: FieldValue, rows: RowPartition) -> Any:
    """Return a field's first axis cut into rows; of a Tensor into rows of one length, a Tensor."""
    if isinstance(value, StructuredTensor):
        rows = rows.with_dtype(value._ragged_shape.dtype)
        parts = [rows, *value.row_partitions]
        fields = {name: _cut(each, rows) for name, each in value._fields.items()}
        return StructuredTensor(fields, DynamicRaggedShape(parts, [parts[-1].nvals()], rows.dtype))
    if isinstance(value, RaggedTensor):
        return rows.with_dtype(value.row_splits.dtype).rows_of(value)
    if not rows.is_uniform():
        return rows.rows_of(value)
    known = [rows.static_nrows, rows.static_uniform_row_length, *value.shape[1:]]
    if None not in known:
        return reshape(value, known)
    dims = [cast(each, rows.dtype) for each in (rows._rows.nrows(), rows.uniform_row_length())]
    return reshape(value, concat([dims, shape(value, rows.dtype)[1:]], 0))


def _merge(value: FieldValue, outer: int, inner: int) -> Any:
    """Return a field with the axes from `outer` to `inner` as one."""
    if outer == inner:
        return value
    if isinstance(value, RaggedTensor):
        return value.merge_dims(outer, inner)
    if isinstance(value, Tensor):
        dims = shape(value)
        return reshape(value, concat([dims[:outer], [-1], dims[inner + 1 :]], 0))
    fields = {name: _merge(each, outer, inner) for name, each in value._fields.items()}
    parts, dtype = list(value.row_partitions), value._ragged_shape.dtype
    if outer == 0:
        n: Any = parts[inner - 1].nvals()
        kept = parts[inner:]
    else:
        splits = parts[outer - 1].row_splits()
        for each in parts[outer:inner]:
            splits = gather(each.row_splits(), splits)
        n, kept = value.nrows(), [*parts[: outer - 1], RowPartition.from_row_splits(splits, False), *parts[inner:]]
    if fields:
        return _built(fields, TensorShape([None] * (value.rank - inner + outer)), n, None, dtype, False)
    return StructuredTensor({}, DynamicRaggedShape(kept, [kept[-1].nvals() if kept else n], dtype))
