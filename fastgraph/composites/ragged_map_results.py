"""Results of map_fn that differ in size from element to element: RaggedTensors with one ragged dimension more, and
SparseTensors.

Rule: what an iteration gives is kept as a vector, end to end with those of the other iterations, beside its shape; a
gradient finds an iteration's part again by these shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.composites.ragged_tensor import RaggedTensor, RaggedTensorSpec
from fastgraph.composites.sparse_tensor import SparseTensorSpec, with_shape
from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.conversion import TensorLike
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import Tensor, convert
from fastgraph.ops.creation import range_
from fastgraph.ops.elementwise import cast
from fastgraph.ops.joining import concat, stack
from fastgraph.ops.movement import expand_dims, reshape, shape
from fastgraph.ops.reduction import reduce_max
from fastgraph.ops.tiling import repeat


class RaggedLeaf:
    """One result of a signature that has a RaggedTensorSpec: its parts are flat values and the row lengths."""

    def __init__(self, spec: RaggedTensorSpec) -> None:
        self.spec = spec
        self.dtype: DType = spec.dtype
        self.shape: TensorShape = spec.shape
        self.n = self.uneven = 1 + spec.ragged_rank

    def parts(self, value: Any) -> list[Any]:
        """The tensors of one result. Raises ValueError for another dtype, rank or shape."""
        spec = self.spec
        if spec.ragged_rank == 0 and not isinstance(value, RaggedTensor):
            value = value if isinstance(value, Tensor) else convert(value, spec.dtype)
        if getattr(value, "ragged_rank", 0) != spec.ragged_rank or value.dtype is not spec.dtype:
            raise ValueError(f"map_fn: fn was to return {spec!r} (fn_output_signature), and it gave {value!r}")
        if not spec.shape.is_compatible_with(value.shape):
            raise ValueError(f"Incompatible shape for value ({value.shape}), expected ({spec.shape})")
        if spec.ragged_rank == 0:
            return [value]
        return [value.flat_values, *[cast(n, spec.row_splits_dtype) for n in value.nested_row_lengths()]]

    def of_rows(self, rows: Sequence[Sequence[Any]]) -> Any:
        """The RaggedTensor of the parts of all results."""
        if not rows:
            dims = [n or 0 for n in (self.shape.as_list() if self.shape.rank else [0])]
            empty = public_function("zeros")([0, *dims[self.n :]], self.dtype)
            return self._made(empty, [public_function("zeros")([0], self.spec.row_splits_dtype)] * self.n)
        columns = list(zip(*rows, strict=True))
        outermost = stack([shape(first)[0] for first in columns[1 if self.n > 1 else 0]])
        return self._made(concat(list(columns[0]), 0), [outermost, *[concat(list(c), 0) for c in columns[1:]]])

    def of_loop(self, parts: Sequence[Any]) -> Any:
        """The RaggedTensor of what a loop gave: for each part a vector, the shapes i32[n, rank], and the sizes of one
        row of it, which are the same in all results.
        """
        vector, shapes, inner = parts[0]
        if None in inner:
            raise NotImplementedError(f"map_fn: the sizes of what is not ragged must be known, got {list(inner)}")
        values = reshape(vector, [-1, *inner])
        outermost = (parts[1] if self.n > 1 else (None, shapes))[1][:, 0]
        return self._made(values, [outermost, *[lengths for lengths, *_ in parts[1:]]])

    def _made(self, values: object, lengths: Sequence[Any]) -> Any:
        lengths = [cast(n, self.spec.row_splits_dtype) for n in lengths]
        return RaggedTensor.from_nested_row_lengths(values, lengths, validate=False)


class SparseLeaf:
    """One result of a signature that has a SparseTensorSpec: its parts are indices and values, and the dense shape."""

    n, uneven = 3, 2

    def __init__(self, spec: SparseTensorSpec) -> None:
        self.spec = spec
        self.dtype: DType = spec.dtype

    def parts(self, value: Any) -> list[Any]:
        """The tensors of one result. Raises ValueError for another kind, dtype or shape."""
        if not self.spec.is_compatible_with(value):
            raise ValueError(f"map_fn: fn was to return {self.spec!r} (fn_output_signature), and it gave {value!r}")
        return [value.indices, value.values, value.dense_shape]

    def of_rows(self, rows: Sequence[Sequence[Any]]) -> Any:
        """The SparseTensor of the parts of all results."""
        if not rows:
            zeros, rank = public_function("zeros"), self.spec.shape.rank
            if rank is None:
                raise ValueError(
                    f"map_fn: of no elements the rank of the sparse result must be known, got {self.spec!r}"
                )
            none = zeros([0], dtypes.int64)
            return self._made(
                zeros([0, rank], dtypes.int64), zeros([0], self.dtype), none, zeros([0, rank], none.dtype)
            )
        indices, values, dims = zip(*rows, strict=True)
        counts = stack([shape(part)[0] for part in values])
        return self._made(concat(list(indices), 0), concat(list(values), 0), counts, stack(list(dims)))

    def of_loop(self, parts: Sequence[Any]) -> Any:
        """The SparseTensor of what a loop gave."""
        (indices, _, inner), (values, shapes, _), dims = parts
        return self._made(reshape(indices, [-1, *inner]), values, shapes[:, 0], dims)

    def _made(self, indices: TensorLike, values: Any, counts: Any, dims: Any) -> Any:
        known = [None] * dims.shape[1] if self.spec.shape.rank is None else self.spec.shape.as_list()
        rows = cast(repeat(range_(shape(counts)[0]), counts), dtypes.int64)
        least = convert([[n or 0 for n in known]], dtypes.int64)  # where there are no results
        dense_shape = concat([cast(shape(counts), dtypes.int64), reduce_max(concat([dims, least], 0), 0)], 0)
        return with_shape(concat([expand_dims(rows, 1), indices], 1), values, dense_shape, [counts.shape[0], *known])


def flattened(tensor: Tensor) -> list[Any]:
    """A part as a vector, and its shape."""
    if tensor.shape.rank is None:
        raise NotImplementedError("map_fn: the rank of a ragged result must be known while a function is traced")
    return [reshape(tensor, [-1]), shape(tensor, dtypes.int32)]
