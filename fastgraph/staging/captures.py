"""What a concrete function captures, as its users see it and as its graph holds it.

Rule: the graph holds eager tensors, and weakly the cells of Variables; users see tensors.
"""

from __future__ import annotations

import weakref
from typing import Any

from fastgraph._tensor import EagerTensor, convert
from fastgraph.resource_handles import ResourceHandle


def shown(held: Any) -> Any:
    """Return a capture as a tensor: of a Cell its Variable's handle."""
    if not isinstance(held, weakref.ref):
        return held
    cell = held()
    if cell is None:
        return None
    variable = None if cell.variable is None else cell.variable()
    return ResourceHandle(cell) if variable is None else variable.handle


def held_like(capture: Any, old: Any) -> Any:
    """Return a capture in the place of another as the graph holds it. Raises ValueError if it is not like that."""
    if isinstance(old, weakref.ref):
        cell = capture.cell if isinstance(capture, ResourceHandle) else getattr(capture, "__fg_cell__", None)
        before = old()
        if cell is None or (before is not None and cell.aval != before.aval):
            raise ValueError(f"A Variable like {None if before is None else before.name!r} is wanted, got {capture!r}")
        return weakref.ref(cell)
    tensor = capture if isinstance(capture, EagerTensor) else convert(capture, old.dtype)
    if tensor.dtype != old.dtype or tensor.shape != old.shape:
        raise ValueError(f"A {old.dtype.name} tensor of shape {old.shape} is wanted, got {capture!r}")
    return tensor


def cell_name(held: Any) -> str | None:
    cell = held() if isinstance(held, weakref.ref) else None
    return None if cell is None else (cell.name or f"_AnonymousVar{cell.id}")
