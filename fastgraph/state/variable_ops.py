"""Reads and assigns of Variables: the effectful primitives by which tapes and traces see them.

Rule: a Cell is read and written by these and by nothing else. An assign never writes into memory that a tensor holds:
it is in place only while the Cell alone refers to that memory, otherwise the Cell takes another Block. Updates are
atomic: of those that several threads make at once, none gets lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core import cells
from fastgraph.core import registry as primitives
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import Aval
from fastgraph.core.native.buffer import Cell
from fastgraph.core.registry import Primitive
from fastgraph.core.tensor import EagerTensor, Tensor, as_array, bind, cell_assign, cell_read, from_array, run
from fastgraph.ops.families import invalid, shape_text
from fastgraph.ops.runtime_checks import ensure_extents

# Their first input is the Cell itself, which is never converted.


def _read_body(cell: Cell, *, dtype: DType, shape: tuple[int | None, ...] | None) -> EagerTensor:
    return cell_read(cell)


def _assign_body(cell: Cell, value: np.ndarray) -> tuple[()]:
    cell_assign(cell, from_array(value, cell.aval.dtype, False))
    return ()


def _update_body(slot: str) -> Callable[..., tuple[()]]:
    def update(cell: Cell, value: np.ndarray, *, dtype: DType, shape: tuple[int | None, ...] | None) -> tuple[()]:
        change = from_array(value, dtype, False)
        while True:  # until nobody assigned in between
            before = cell_read(cell)
            if before.dims != change.dims:
                raise invalid(
                    f"Cannot update variable with shape {shape_text(before.dims)} using a Tensor with shape "
                    f"{shape_text(change.dims)}, shapes must be equal."
                )
            if cells.replace(cell, before, run(primitives.get(slot), (before, change), {})):
                return ()

    return update


def _take_body(cell: Cell, value: np.ndarray, before: np.ndarray) -> tuple[()]:
    after = from_array(value, cell.aval.dtype, False)
    while True:  # until nobody assigned in between
        found = cell_read(cell)
        held = as_array(found)
        if held.shape != value.shape:
            cell_assign(cell, after)
            return ()
        if held.ctypes.data == before.ctypes.data or not value.size:  # `before` keeps its memory from being another's
            new = after
        else:
            with np.errstate(all="ignore"):
                change = value - before
                sums = np.where(np.isfinite(change), held + change, value)
            new = from_array(sums.astype(value.dtype), cell.aval.dtype, False)
        if cells.replace(cell, found, new):
            return ()


def _infer_read(resource: Aval, *, dtype: DType, shape: tuple[int | None, ...] | None) -> Aval:
    return Aval(dtype, shape)


def _infer_nothing(*avals: Aval, **attrs: object) -> tuple[()]:
    return ()


READ = primitives.register(
    Primitive(
        "read_variable", op_type="ReadVariableOp", body=_read_body, infer=_infer_read, inputs=("resource",),
        attrs=("dtype", "shape"), groups=("resource",), vjp={"resource": lambda dy: dy}, effect="read",
    )
)  # fmt: skip


def _write(name: str, op_type: str, body: Callable[..., tuple[()]], *values: str, **more: Any) -> Primitive:
    """Register a primitive that gives the Cell, its first input, another value."""
    inputs, groups = ("resource", *values), ("resource", *["-"] * len(values))
    return primitives.register(
        Primitive(
            name, op_type=op_type, body=body, infer=_infer_nothing, n_outputs=0, inputs=inputs, groups=groups,
            effect="write", **more,
        )
    )  # fmt: skip


ASSIGN = _write("assign_variable", "AssignVariableOp", _assign_body, "value")
#: An update computed in a graph. The Cell takes `value`, which was computed from its value `before`; where it no
#: longer holds `before`, because another thread has assigned meanwhile, it takes what it holds + (value - before).
TAKE = _write("take_variable", "AssignVariableOp", _take_body, "value", "before")


def _update(name: str, op_type: str, slot: str) -> Primitive:
    def decompose(resource: Cell, value: Tensor, *, dtype: DType, shape: tuple[int | None, ...] | None) -> tuple[()]:
        before = bind(READ, (resource,), {"dtype": dtype, "shape": shape})
        # As the body checks: the sum would broadcast.
        if shape is None or None in shape:
            value = ensure_extents(value, primitives.public_function("shape")(before))
        elif not value.shape.is_fully_defined():
            value = bind(primitives.get("ensure_shape"), (value,), {"shape": shape})
        bind(TAKE, (resource, bind(primitives.get(slot), (before, value), {}), before), {})
        return ()

    return _write(name, op_type, _update_body(slot), "value", attrs=("dtype", "shape"), decompose=decompose)


ASSIGN_ADD = _update("assign_add_variable", "AssignAddVariableOp", "add")
ASSIGN_SUB = _update("assign_sub_variable", "AssignSubVariableOp", "subtract")
