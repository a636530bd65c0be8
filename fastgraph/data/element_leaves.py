"""Batches and slices of the leaves of elements' structures: tensors, ragged and sparse ones, datasets, None.

Rule: a leaf is here the tuple of its eager tensors, as `flat` takes composites apart; its kind knows how many they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fastgraph.composites.extension_batching import BatchableExtensionTypeSpec, batched_spec, unbatched_spec
from fastgraph.composites.ragged_tensor import RaggedTensorSpec
from fastgraph.composites.sparse_tensor import SparseTensorSpec
from fastgraph.core.base import nesting
from fastgraph.core.base.shapes import shape_of
from fastgraph.core.base.type_specs import NoneTensorSpec, TensorSpec
from fastgraph.core.tensor import Tensor, as_array, from_array
from fastgraph.data.handles import together
from fastgraph.ops.families import invalid

Parts = tuple[Any, ...]


class Dense:
    """A tensor: its batches are stacks."""

    n = 1

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def batched(self, size: int | None) -> Any:
        """Return the spec of `size` such leaves together."""
        shape = self.spec.shape
        return TensorSpec(shape if shape.rank is None else [size, *shape], self.spec.dtype)

    def unbatched(self) -> Any:
        """Return the spec of what lies along the first axis. Raises ValueError for scalars."""
        shape = self.spec.shape
        if shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return TensorSpec(shape_of(None) if shape.rank is None else shape[1:], self.spec.dtype)

    def size(self, parts: Parts) -> int | None:
        """Return the extent of the first axis, as far as it is known. Raises InvalidArgumentError for scalars."""
        (tensor,) = parts
        if tensor.shape.rank == 0:
            raise invalid("Input element must have a non-scalar value in each component. [Op:IteratorGetNext]")
        return None if tensor.shape.rank is None else tensor.shape[0]

    def slices(self, parts: Parts) -> Iterator[Parts]:
        """Go over what lies along the first axis."""
        return zip(parts[0])

    def none_of(self, parts: Parts) -> Parts:
        """Return no rows, like some that are together."""
        return tuple([part[:0] for part in parts])

    def together(self, rows: Sequence[Parts], component: int) -> Parts:
        """Return the rows as one. Raises InvalidArgumentError where their shapes differ in component `component`."""
        arrays = [as_array(row[0]) for row in rows]
        for i, array in enumerate(arrays):
            if array.shape != arrays[0].shape:
                first, other = (str(list(a.shape)).replace(" ", "") for a in (arrays[0], array))
                raise invalid(
                    f"Cannot batch tensors with different shapes in component {component}. First element had shape "
                    f"{first} and element {i} had shape {other}. [Op:IteratorGetNext]"
                )
        return (from_array(np.stack(arrays), self.spec.dtype, False),)


class Ragged(Dense):
    """A RaggedTensor, flat values first, or with a ragged rank of 0 (or, of a scalar, -1) a tensor."""

    def __init__(self, spec: RaggedTensorSpec) -> None:
        super().__init__(spec)
        self.n = 1 + max(spec.ragged_rank, 0)

    def _like(self, shape: object, ragged_rank: int) -> RaggedTensorSpec:
        return RaggedTensorSpec(shape, self.spec.dtype, ragged_rank, self.spec.row_splits_dtype)

    def batched(self, size: int | None) -> Any:
        shape = self.spec.shape
        return self._like(None if shape.rank is None else [size, *shape], self.spec.ragged_rank + 1)

    def unbatched(self) -> Any:
        shape = self.spec.shape
        if shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return self._like(None if shape.rank is None else shape[1:], self.spec.ragged_rank - 1)

    def size(self, parts: Parts) -> int | None:
        if len(parts) == 1:
            return super().size(parts)
        n = parts[1].shape[0]
        return None if n is None else n - 1

    def slices(self, parts: Parts) -> Iterator[Parts]:
        flat, *splits = parts
        if not splits:
            return super().slices(parts)
        rows = as_array(splits[0]).tolist()
        levels = [as_array(level) for level in splits[1:]]
        return (self._row(flat, levels, *ends) for ends in itertools.pairwise(rows))

    def _row(self, flat: Tensor, levels: list[Any], start: int, stop: int) -> Parts:
        inner = []
        for level in levels:
            own = level[start : stop + 1]
            start, stop = int(own[0]), int(own[-1])
            inner.append(from_array(own - start, self.spec.row_splits_dtype, False))
        return (flat[start:stop], *inner)

    def none_of(self, parts: Parts) -> Parts:
        return parts[0][:0], *[splits[:1] for splits in parts[1:]]

    def together(self, rows: Sequence[Parts], component: int) -> Parts:
        if self.spec.ragged_rank < 0:
            return super().together(rows, component)
        dtype = self.spec.row_splits_dtype
        flats = [as_array(row[0]) for row in rows]
        # One more level outside: how many rows each has; those inside go on where the one before has ended.
        outer = [as_array(row[1]).shape[0] - 1 if len(row) > 1 else flat.shape[0]
                 for row, flat in zip(rows, flats, strict=True)]  # fmt: skip
        splits = [np.concatenate([[0], np.cumsum(outer)])]
        for level in range(1, self.n):
            own, ends = [np.zeros(1, np.int64)], 0
            for row in rows:
                inner = as_array(row[level])
                own.append(inner[1:] + ends)
                ends += int(inner[-1])
            splits.append(np.concatenate(own))
        values = from_array(np.concatenate(flats), self.spec.dtype, False)
        return values, *[from_array(level.astype(dtype.numpy_dtype), dtype, False) for level in splits]


class Sparse(Dense):
    """A SparseTensor: indices, values, dense shape."""

    n = 3

    def batched(self, size: int | None) -> Any:
        shape = self.spec.shape
        return SparseTensorSpec(None if shape.rank is None else [size, *shape], self.spec.dtype)

    def unbatched(self) -> Any:
        shape = self.spec.shape
        if shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return SparseTensorSpec(None if shape.rank is None else shape[1:], self.spec.dtype)

    def size(self, parts: Parts) -> int | None:
        dense_shape = parts[2]
        if not hasattr(dense_shape, "numpy"):
            return None
        dims = as_array(dense_shape)
        if dims.size < 2:
            raise invalid(f"Rank of input SparseTensor should be > 1, but saw rank: {dims.size} [Op:IteratorGetNext]")
        return int(dims[0])

    def slices(self, parts: Parts) -> Iterator[Parts]:
        indices, values, dims = map(as_array, parts)
        dtype = self.spec.dtype
        order = np.argsort(indices[:, 0], kind="stable")
        ends = np.searchsorted(indices[order, 0], np.arange(int(dims[0]) + 1))
        inner = from_array(dims[1:])
        for start, stop in itertools.pairwise(ends.tolist()):
            own = order[start:stop]
            yield from_array(indices[own, 1:]), from_array(values[own], dtype, False), inner

    def none_of(self, parts: Parts) -> Parts:
        indices, values, dims = parts
        return indices[:0], values[:0], from_array(np.array([0, *as_array(dims)[1:]], np.int64))

    def together(self, rows: Sequence[Parts], component: int) -> Parts:
        indices, values, dims = zip(*[tuple(map(as_array, row)) for row in rows], strict=True)
        if len({d.size for d in dims}) > 1:
            raise invalid(f"Sparse tensors of ranks {[d.size for d in dims]} make no batch [Op:IteratorGetNext]")
        numbers = np.repeat(np.arange(len(rows)), [len(own) for own in values])
        placed = np.concatenate([numbers[:, None], np.concatenate(indices)], 1)
        shape = np.array([len(rows), *np.max(dims, 0)], np.int64)
        found = from_array(np.concatenate(values), self.spec.dtype, False)
        return from_array(placed), found, from_array(shape)


class Nothing(Dense):
    """None: no tensor at all."""

    n = 0

    def batched(self, size: int | None) -> Any:
        return self.spec

    def unbatched(self) -> Any:
        return self.spec

    def size(self, parts: Parts) -> int | None:
        return None

    def together(self, rows: Sequence[Parts], component: int) -> Parts:
        return ()


class Datasets(Dense):
    """The number of a dataset, or a tensor of several; its memory keeps them."""

    def _of(self, shape: object) -> Any:
        return type(self.spec)(self.spec.element_spec, shape)

    def batched(self, size: int | None) -> Any:
        return self._of([size, *self.spec.dataset_shape])

    def unbatched(self) -> Any:
        if not self.spec.dataset_shape.rank:
            raise ValueError("Unbatching a dataset is only supported for rank >= 1")
        return self._of(self.spec.dataset_shape[1:])

    def together(self, rows: Sequence[Parts], component: int) -> Parts:
        return (from_array(together([as_array(row[0]) for row in rows]), None, False),)


class Extension(Dense):
    """An object of an extension type: its encoding is batched, part by part."""

    def __init__(self, spec: BatchableExtensionTypeSpec) -> None:
        super().__init__(spec)
        self.n = len(nesting.flatten(spec, expand_composites=True))
        self._kinds = [kind_of(part) for part in spec.encodings()]

    def batched(self, size: int | None) -> Any:
        return batched_spec(self.spec, size)

    def unbatched(self) -> Any:
        for kind in self._kinds:
            kind.unbatched()
        return unbatched_spec(self.spec)

    def _encoded(self, parts: Parts, minimum_rank: int) -> list[Parts]:
        value = nesting.pack_sequence_as(self.spec, list(parts), expand_composites=True)
        return [_flat(part) for part in self.spec.encoded(value, minimum_rank)]

    def _decoded(self, spec: Any, kinds: Sequence[Dense], encoded: Sequence[Parts]) -> Parts:
        made = [
            nesting.pack_sequence_as(kind, list(own), expand_composites=True)
            for kind, own in zip(kinds, encoded, strict=True)
        ]
        return _flat(spec.decoded(made))

    def size(self, parts: Parts) -> int | None:
        sizes = [kind.size(own) for kind, own in zip(self._kinds, self._encoded(parts, 1), strict=True)]
        return sizes[0] if sizes else None

    def slices(self, parts: Parts) -> Iterator[Parts]:
        spec = self.unbatched()
        rows = zip(*[kind.slices(own) for kind, own in zip(self._kinds, self._encoded(parts, 1), strict=True)])
        specs = [kind.unbatched() for kind in self._kinds]
        return (self._decoded(spec, specs, row) for row in rows)

    def none_of(self, parts: Parts) -> Parts:
        made = [kind.none_of(own) for kind, own in zip(self._kinds, self._encoded(parts, 1), strict=True)]
        return self._decoded(self.spec, [kind.spec for kind in self._kinds], made)

    def together(self, rows: Sequence[Parts], component: int) -> Parts:
        columns = zip(*[self._encoded(row, 0) for row in rows], strict=True)
        made = [kind.together(column, component) for kind, column in zip(self._kinds, columns, strict=True)]
        n = len(rows)
        return self._decoded(self.batched(n), [kind.batched(n) for kind in self._kinds], made)


def _flat(value: Any) -> Parts:
    return tuple(nesting.flatten(value, expand_composites=True))


def kind_of(spec: object) -> Dense:
    """Return what a leaf with this spec does. Raises NotImplementedError for leaves that have no batches yet."""
    if isinstance(spec, TensorSpec):
        return Dense(spec)
    if isinstance(spec, RaggedTensorSpec):
        return Ragged(spec)
    if isinstance(spec, SparseTensorSpec):
        return Sparse(spec)
    if isinstance(spec, NoneTensorSpec):
        return Nothing(spec)
    if isinstance(spec, BatchableExtensionTypeSpec):
        return Extension(spec)
    if hasattr(spec, "dataset_shape"):
        return Datasets(spec)
    raise NotImplementedError(f"Batches and slices of {type(spec).__name__} are not built yet.")


def kinds_of(spec: object) -> list[Dense]:
    """Return what each leaf of an element's structure does."""
    return [kind_of(leaf) for leaf in nesting.flatten(spec)]


def batched(spec: object, size: int | None) -> Any:
    """Return the spec of `size` elements put together."""
    return nesting.map_structure(lambda leaf: kind_of(leaf).batched(size), spec)


def unbatched(spec: object) -> Any:
    """Return the spec of what lies along the first axis. Raises ValueError for scalars."""
    return nesting.map_structure(lambda leaf: kind_of(leaf).unbatched(), spec)


def apart(kinds: Sequence[Dense], element: Parts) -> list[Parts]:
    """Return the parts of each leaf of an element."""
    left = iter(element)
    return [tuple([next(left) for _ in range(kind.n)]) for kind in kinds]


def sliced(kinds: Sequence[Dense], element: Parts) -> Iterator[Parts]:
    """Go over what lies along the first axis of an element. Raises InvalidArgumentError where its extents differ."""
    leaves = [pair for pair in zip(kinds, apart(kinds, element), strict=True) if pair[0].n]
    sizes = [kind.size(parts) for kind, parts in leaves]
    for i, size in enumerate(sizes):
        if size != sizes[0]:
            raise invalid(
                "Input element must have the same batch size in each component. Component 0 had size "
                f"{sizes[0]} but component {i} had size, {size}. [Op:IteratorGetNext]"
            )
    return map(_joined, zip(*[kind.slices(parts) for kind, parts in leaves], strict=True))


def _joined(row: tuple[Parts, ...]) -> Parts:
    return row[0] if len(row) == 1 else tuple([part for parts in row for part in parts])


def stacked(kinds: Sequence[Dense], rows: Sequence[Parts]) -> Parts:
    """Return elements as one, each leaf along a new first axis. Raises InvalidArgumentError where they do not fit."""
    if all(type(kind) is Dense for kind in kinds):
        columns: Any = [[(part,) for part in column] for column in zip(*rows, strict=True)]
    else:
        columns = zip(*[apart(kinds, row) for row in rows], strict=True)
    pairs = enumerate(zip(kinds, columns, strict=True))
    return tuple([part for i, (kind, column) in pairs for part in kind.together(column, i)])
