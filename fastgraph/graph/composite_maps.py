"""map_fn over the rows of RaggedTensors and SparseTensors.

Rule: in eager mode only. A while node stacks tensors of one shape, which rows of several lengths are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph import nesting
from fastgraph._tensor import convert, current_trace
from fastgraph.ops.joining import unstack
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
