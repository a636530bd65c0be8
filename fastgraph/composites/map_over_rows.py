"""map_fn over the rows of RaggedTensors and SparseTensors.

Rule: in a trace a row is what its row splits say, cut where the iteration stands; of a SparseTensor, whose rows are
not cut by one place alone, what its indices name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.composites.ragged_tensor import RaggedTensor, RaggedTensorSpec, nvals
from fastgraph.composites.sparse_ops import reshape
from fastgraph.composites.sparse_ops import slice as sparse_slice
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base import nesting
from fastgraph.core.tensor import Tensor, convert, current_trace
from fastgraph.ops.comparison import equal
from fastgraph.ops.elementwise import cast
from fastgraph.ops.gathering import gather, where
from fastgraph.ops.joining import unstack
from fastgraph.ops.runtime_assertions import assert_equal


class CompositeElements:
    """The rows of a structure in which composites are: n each."""

    def __init__(self, elems: Any, caller: str) -> None:
        self.structure = elems
        self.n: Any = None
        leaves = nesting.flatten(elems)
        if current_trace() is not None:
            self._begin(leaves, caller)
            return
        self._rows = [_rows(leaf) for leaf in leaves]
        self.static = self.n = len(self._rows[0])
        for rows in self._rows:
            if len(rows) != self.static:
                raise ValueError(f"{caller}: Dimensions {self.static} and {len(rows)} are not compatible")

    def _begin(self, leaves: Sequence[Any], caller: str) -> None:
        """Say how many rows there are, in a trace."""
        composites = (RaggedTensor, SparseTensor)
        self._leaves = [leaf if isinstance(leaf, composites) else _with_rows(convert(leaf)) for leaf in leaves]
        known = {leaf.shape[0] for leaf in self._leaves} - {None}
        if len(known) > 1:
            raise ValueError("{}: Dimensions {} and {} are not compatible".format(caller, *sorted(known)[:2]))
        self.n = next(iter(known), None)
        if self.n is None or len({leaf.shape[0] for leaf in self._leaves}) > 1:
            counts = [cast(_n_rows(leaf), "int32") for leaf in self._leaves]
            for count in counts[1:]:
                assert_equal(counts[0], count, f"{caller}: elems have different numbers of rows")
            self.n = counts[0] if self.n is None else self.n

    def eager(self, i: int) -> Any:
        """Element `i`."""
        return nesting.pack_sequence_as(self.structure, [rows[i] for rows in self._rows])

    def at(self, i: Tensor | int) -> Any:
        """Element `i` (i32[]) in a trace."""
        rows = [_row(leaf, i) for leaf in self._leaves]
        return nesting.pack_sequence_as(self.structure, rows)


def _n_rows(leaf: Tensor | RaggedTensor | SparseTensor) -> Any:
    return leaf.dense_shape[0] if isinstance(leaf, SparseTensor) else nvals(leaf)


def _row(leaf: Tensor | RaggedTensor | SparseTensor, i: Tensor | int) -> Any:
    """Row `i` (i32[]) of a leaf, in a trace."""
    if isinstance(leaf, RaggedTensor):
        return leaf[i]
    if not isinstance(leaf, SparseTensor):
        return gather(leaf, i)
    places = where(equal(leaf.indices[:, 0], cast(i, "int64")))[:, 0]
    row = SparseTensor(gather(leaf.indices, places)[:, 1:], gather(leaf.values, places), leaf.dense_shape[1:])
    row.set_shape(leaf.shape[1:])
    return row


def row_spec(composite: Any) -> Any:
    """The spec of the rows of a composite, which map_fn's results have where nothing else is said."""
    spec = composite._type_spec
    if not isinstance(spec, RaggedTensorSpec):
        return type(spec)(spec.shape[1:], spec.dtype)
    return RaggedTensorSpec(spec.shape[1:], spec.dtype, spec.ragged_rank - 1, spec.row_splits_dtype)


def _with_rows(tensor: Tensor) -> Any:
    if tensor.shape.rank == 0:
        raise ValueError("map_fn: Elements in elems must be 1+ dimensional Tensors, not scalars")
    return tensor


def _rows(leaf: Tensor | RaggedTensor | SparseTensor) -> Sequence[Any]:
    if isinstance(leaf, RaggedTensor):
        return [leaf[i] for i in range(int(leaf.nrows()))]
    if isinstance(leaf, SparseTensor):
        n, *rest = leaf.dense_shape.numpy().tolist()
        starts = [[i, *[0] * len(rest)] for i in range(n)]
        return [reshape(sparse_slice(leaf, start, [1, *rest]), rest) for start in starts]
    tensor = _with_rows(convert(leaf))
    return unstack(tensor) if tensor.shape[0] else []
