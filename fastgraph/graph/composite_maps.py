"""map_fn over the rows of RaggedTensors and SparseTensors, and results that are ragged.

Rule: in eager mode only. A while node stacks tensors of one shape, which rows of several lengths are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph import nesting
from fastgraph._tensor import Tensor, convert, current_trace
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.creation import zeros
from fastgraph.ops.joining import concat, unstack
from fastgraph.ops.movement import shape
from fastgraph.ragged_functions import stack
from fastgraph.ragged_tensor import RaggedTensor, RaggedTensorSpec
from fastgraph.sparse_ops import reshape
from fastgraph.sparse_ops import slice as sparse_slice
from fastgraph.sparse_tensor import SparseTensor


class CompositeElements:
    """The rows of a structure in which composites are: n each."""

    def __init__(self, elems: Any, caller: str) -> None:
        refuse_in_a_trace(caller)
        self.structure = elems
        self._rows = [_rows(leaf) for leaf in nesting.flatten(elems)]
        self.static = len(self._rows[0])
        for rows in self._rows:
            if len(rows) != self.static:
                raise ValueError(f"{caller}: Dimensions {self.static} and {len(rows)} are not compatible")

    def eager(self, i: int) -> Any:
        """Element `i`."""
        return nesting.pack_sequence_as(self.structure, [rows[i] for rows in self._rows])


class RaggedLeaf:
    """One result of map_fn that is ragged once its rows lie below one another."""

    def __init__(self, spec: RaggedTensorSpec) -> None:
        refuse_in_a_trace("map_fn")
        self.spec = spec

    def take(self, value: Any) -> Any:
        """Return one row. Raises InvalidArgumentError for another dtype, ValueError for another rank or shape."""
        row = value if isinstance(value, (Tensor, RaggedTensor)) else convert(value, self.spec.dtype)
        if row.dtype is not self.spec.dtype:
            raise InvalidArgumentError(
                None,
                None,
                f"map_fn: the result was to be {self.spec.dtype.name} (fn_output_signature), and fn gave a tensor of "
                f"dtype {row.dtype.name}",
            )
        rank = row.ragged_rank if isinstance(row, RaggedTensor) else 0
        if rank != self.spec.ragged_rank:
            raise ValueError(f"map_fn: the result was to have ragged_rank {self.spec.ragged_rank}, and has {rank}")
        if not self.spec.shape.is_compatible_with(row.shape):
            raise ValueError(f"Incompatible shape for value ({row.shape}), expected ({self.spec.shape})")
        return row

    def stacked(self, rows: Sequence[Any]) -> RaggedTensor:
        """Return the rows as one RaggedTensor, of one ragged dimension more."""
        lengths = self.spec.row_splits_dtype
        if not rows:
            dims = self.spec.shape.as_list() if self.spec.shape.rank else [0]
            empty: Any = zeros([0, *[n or 0 for n in dims[self.spec.ragged_rank + 1 :]]], self.spec.dtype)
            for _ in range(self.spec.ragged_rank + 1):
                empty = RaggedTensor.from_row_lengths(empty, zeros([0], lengths))
            return empty  # type: ignore[no-any-return]
        if self.spec.ragged_rank:
            return stack(list(rows))  # type: ignore[no-any-return]
        counts = [shape(row, lengths)[0] for row in rows]
        return RaggedTensor.from_row_lengths(concat(list(rows), 0), counts)  # type: ignore[no-any-return]


def row_spec(composite: Any) -> Any:
    """The spec of the rows of a composite, which map_fn's results have where nothing else is said."""
    spec = composite._type_spec
    if not isinstance(spec, RaggedTensorSpec):
        return spec
    return RaggedTensorSpec(spec.shape[1:], spec.dtype, spec.ragged_rank - 1, spec.row_splits_dtype)


def refuse_in_a_trace(caller: str) -> None:
    """Raise NotImplementedError while a function is traced."""
    if current_trace() is not None:
        raise NotImplementedError(
            f"{caller}: RaggedTensors and SparseTensors are not built yet where a function is traced: map their values"
        )


def _rows(leaf: Any) -> Sequence[Any]:
    if isinstance(leaf, RaggedTensor):
        return [leaf[i] for i in range(int(leaf.nrows()))]
    if isinstance(leaf, SparseTensor):
        n, *rest = leaf.dense_shape.numpy().tolist()
        starts = [[i, *[0] * len(rest)] for i in range(n)]
        return [reshape(sparse_slice(leaf, start, [1, *rest]), rest) for start in starts]
    tensor = convert(leaf)
    if tensor.shape.rank == 0:
        raise ValueError("map_fn: Elements in elems must be 1+ dimensional Tensors, not scalars")
    return unstack(tensor) if tensor.shape[0] else []
