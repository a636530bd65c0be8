"""Reads and updates of Cells at C speed. See cells.pyx."""

from typing import Any

from fastgraph.core.native.buffer import Cell
from fastgraph.core.primitive import Primitive
from fastgraph.core.tensor import EagerTensor, Tensor

def read(primitive: Primitive, cell: Cell, attrs: dict[str, Any]) -> Tensor:
    """The value of `cell` by the op `primitive`: what bind does, without its conversion of inputs."""

def replace(cell: Cell, before: EagerTensor, after: EagerTensor) -> bool:
    """Put `after`, of the same dtype and shape, where `before` is; False if the Cell no longer holds `before`."""

def assign(primitive: Primitive, cell: Cell, value: Any) -> None:
    """Make `cell` hold the Tensor `value` by the op `primitive`."""

def update(primitive: Primitive, cell: Cell, change: Any, sign: int, attrs: dict[str, Any]) -> None:
    """cell += sign * change by the op `primitive`; at once, and in place, where that is possible."""

def scatter_rows(cell: Cell, kind: int, rows: EagerTensor, updates: EagerTensor) -> bool:
    """Change the rows of `cell` that `rows` names, in place. False, and nothing done, where that is not possible."""

def memory_for(cell: Cell, shape: tuple[int, ...], /) -> tuple[EagerTensor, memoryview]:
    """(tensor, its bytes, to be written to) of the dtype of `cell`: to be assigned to it once they are written."""
