"""ResourceHandle: the tensor of dtype resource that stands for a Variable where TensorFlow has one.

Rule: nothing computes with it; it says which Variable is meant, and holds it weakly.
"""

from __future__ import annotations

import weakref
from typing import Any

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import Aval, TensorShape
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import Tensor


class ResourceHandle(Tensor):
    """The handle of a Variable, as a graph captures it. Source: tf.Variable.handle."""

    __slots__ = ("_cell", "_name")

    def __init__(self, cell: Cell) -> None:
        self._cell = weakref.ref(cell)
        self._name = cell.name or f"_AnonymousVar{cell.id}"

    @property
    def cell(self) -> Cell | None:
        """The cell of the Variable, None once it is gone."""
        return self._cell()

    @property
    def aval(self) -> Aval:
        """A scalar of dtype resource."""
        return Aval(dtypes.resource, ())

    @property
    def dtype(self) -> DType:
        """resource."""
        return dtypes.resource

    @property
    def shape(self) -> TensorShape:
        """()."""
        return TensorShape([])

    def numpy(self) -> Any:
        """Raise TypeError: the Variable has a value, its handle has none."""
        raise TypeError(f"The handle of {self._name} has no NumPy form: read the Variable instead.")

    def __repr__(self) -> str:
        value = f'<ResourceHandle(name="{self._name}", type="tensorflow::Var")>'
        return f"<tf.Tensor: shape=(), dtype=resource, value={value}>"
