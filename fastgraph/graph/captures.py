"""The captures of a concrete function, as its users see them and as its graph holds them.

Rule: the graph holds eager tensors, weakly the cells of Variables, and what gives either of them; users see tensors.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.shapes import Aval, compatible, shape_of
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import EagerTensor, Tensor, convert
from fastgraph.graph.ir import Value
from fastgraph.state.resource_handles import ResourceHandle


class Deferred:
    """A capture that a Python function gives anew for every call."""

    def __init__(self, closure: Callable[[], Any], aval: Aval) -> None:
        self.closure = closure
        self.aval = aval  # of the placeholder

    def value(self) -> Any:
        """Return what this call captures: a tensor, or a Variable's Cell. Raises ValueError if it does not fit."""
        given = self.closure()
        cell = given.cell if isinstance(given, ResourceHandle) else getattr(given, "__fg_cell__", None)
        if self.aval.dtype is dtypes.resource:
            if cell is None:
                raise ValueError(f"A deferred capture that stands for a Variable must give one, not {given!r}")
            return cell
        tensor = convert(given) if isinstance(given, Tensor) or cell is not None else convert(given, self.aval.dtype)
        if tensor.dtype != self.aval.dtype or not compatible(tensor.aval.shape, self.aval.shape):
            raise ValueError(
                f"A deferred capture must give a {self.aval.dtype.name} tensor of shape {shape_of(self.aval.shape)}, "
                f"got {given!r}"
            )
        return tensor


def place_of(captures: Sequence[tuple[Any, Value]], tensor: object, placeholder: object) -> int:
    """Return which capture a tensor or Variable is, or a placeholder stands for. Raises ValueError for another."""
    cell = tensor.cell if isinstance(tensor, ResourceHandle) else getattr(tensor, "__fg_cell__", None)
    for i, (held, value) in enumerate(captures):
        if placeholder is not None and getattr(placeholder, "value", None) is value:
            return i
        if held is tensor or (isinstance(held, weakref.ref) and cell is not None and held() is cell):
            return i
    raise ValueError(
        f"Did not find `tensor` argument {tensor} in the ConcreteFunction's captured inputs list, and did not receive "
        "a placeholder argument. Thus we're unable to infer the internal placeholder."
    )


def shown(held: object) -> Any:
    """Return a capture as a tensor: of a Cell its Variable's handle, of a deferred one what it gives now."""
    if isinstance(held, Deferred):
        given = held.value()
        return ResourceHandle(given) if isinstance(given, Cell) else given
    cell = held() if isinstance(held, weakref.ref) else held
    if cell is not None and not isinstance(cell, Cell):
        return held
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
    if isinstance(old, Deferred):
        if old.aval.dtype is dtypes.resource:
            return weakref.ref(Deferred(lambda: capture, old.aval).value())
        return Deferred(lambda: capture, old.aval).value()
    tensor = capture if isinstance(capture, EagerTensor) else convert(capture, old.dtype)
    if tensor.dtype != old.dtype or tensor.shape != old.shape:
        raise ValueError(f"A {old.dtype.name} tensor of shape {old.shape} is wanted, got {capture!r}")
    return tensor


def cell_name(held: object) -> str | None:
    cell = held() if isinstance(held, weakref.ref) else None
    return None if cell is None else (cell.name or f"_AnonymousVar{cell.id}")
