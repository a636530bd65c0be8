"""Operations on Variables and tables in GraphDefs: what they do to the Cell or the table that stands in their place.

Rule: a resource is an input like another, but no tensor: a Cell, or a Table. A file is read where the importer was told
of it, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.composites.lookup_primitives import Table, new_table
from fastgraph.composites.lookup_tables import TextFileInitializer
from fastgraph.core.conversion import constant
from fastgraph.core.native.buffer import Cell
from fastgraph.core.registry import get, public_function
from fastgraph.core.tensor import convert, init_scope
from fastgraph.errors import NotFoundError
from fastgraph.graphdef.import_calls import Library
from fastgraph.graphdef.import_values import fixed, fixed_text
from fastgraph.graphdef.op_table import Dims
from fastgraph.ops.families import bind_named

#: A function of the library, the node's name, its inputs and its attributes.
Make = Callable[[Library, str, list[Any], dict[str, Any]], Any]

# ---------------------------------------------------------------------------------------------------------------------
# Variables


def cell_shape(cell: object) -> Any:
    """The extents of the Variable that a Cell belongs to, None where nothing is known."""
    if isinstance(cell, Cell) and cell.variable is not None and (variable := cell.variable()) is not None:
        return None if variable.shape.rank is None else tuple(variable.shape)
    return None


def of_variable(primitive: str) -> Make:
    """A read or update of a Variable, which knows the shape."""

    def make(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        said = {"dtype": attrs["dtype"], "shape": cell_shape(inputs[0])}
        return bind_named(name, get(primitive), tuple(inputs), said)

    return make


def _read(cell: Any) -> Any:
    return bind_named(None, get("read_variable"), (cell,), {"dtype": cell.aval.dtype, "shape": cell_shape(cell)})


def _assign(cell: Any, value: Any, name: str | None = None) -> Any:
    return bind_named(name, get("assign_variable"), (cell, value), {})


def _assigned(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return _assign(inputs[0], inputs[1], name)


def _handle(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    shared = attrs.get("shared_name") or name
    found = library.resources.get(shared)
    if found is None:
        raise NotFoundError(None, None, f"Node '{name}': there is no Variable {shared!r}")
    return found


def _shape(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return public_function("shape")(_read(inputs[0]), attrs.get("out_type", "int32"), name=name)


def _gather(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    batch_dims = attrs.get("batch_dims", 0)
    return public_function("gather")(_read(inputs[0]), inputs[1], axis=batch_dims, batch_dims=batch_dims, name=name)


def _gather_nd(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return public_function("gather_nd")(_read(inputs[0]), inputs[1], name=name)


def _scatter(function: str, *, of_rows: bool) -> Make:
    """Rows (or elements) of a Variable are updated."""

    def make(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        cell, indices, updates = inputs
        value = _read(cell)
        if of_rows:
            if updates.shape.rank == 0:
                shape = public_function("concat")(
                    [public_function("shape")(indices), public_function("shape")(value)[1:]], 0
                )
                updates = public_function("broadcast_to")(updates, shape)
            indices = public_function("expand_dims")(indices, -1)
        return _assign(cell, public_function(f"tensor_scatter_nd_{function}")(value, indices, updates), name)

    return make


def _scaled(function: str) -> Make:
    """Rows of a Variable times, or over, numbers."""

    def make(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        cell, indices, updates = inputs
        value = _read(cell)
        rows = public_function(function)(public_function("gather")(value, indices), updates)
        places = public_function("expand_dims")(indices, -1)
        return _assign(cell, public_function("tensor_scatter_nd_update")(value, places, rows), name)

    return make


def _descent(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    cell, rate, gradient = inputs
    return _assign(cell, _read(cell) - rate * gradient, name)


def _momentum(*, is_keras: bool) -> Make:
    def make(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        cell, slot, rate, gradient, momentum = inputs
        if is_keras:
            speed = _read(slot) * momentum - rate * gradient
            step = speed * momentum - rate * gradient if attrs.get("use_nesterov") else speed
            _assign(slot, speed)
            return _assign(cell, _read(cell) + step, name)
        speed = _read(slot) * momentum + gradient
        step = gradient * rate + speed * momentum * rate if attrs.get("use_nesterov") else speed * rate
        _assign(slot, speed)
        return _assign(cell, _read(cell) - step, name)

    return make


def _adam(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    cell, first, second, power1, power2, rate, beta1, beta2, epsilon, gradient = inputs
    sqrt = public_function("sqrt")
    rate = rate * sqrt(1 - power2) / (1 - power1)
    m = _read(first) + (gradient - _read(first)) * (1 - beta1)
    v = _read(second) + (gradient * gradient - _read(second)) * (1 - beta2)
    _assign(first, m)
    _assign(second, v)
    up = m * beta1 + (1 - beta1) * gradient if attrs.get("use_nesterov") else m
    return _assign(cell, _read(cell) - rate * up / (sqrt(v) + epsilon), name)


def _rms(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    cell, mean, slot, rate, rho, momentum, epsilon, gradient = inputs
    square = _read(mean) + (gradient * gradient - _read(mean)) * (1 - rho)
    speed = _read(slot) * momentum + rate * gradient * public_function("math.rsqrt")(square + epsilon)
    _assign(mean, square)
    _assign(slot, speed)
    return _assign(cell, _read(cell) - speed, name)


def _nothing(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return bind_named(name, get("no_op"), (), {})


# ---------------------------------------------------------------------------------------------------------------------
# Tables


def _table(*, is_fixed: bool) -> Make:
    def make(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        shared = attrs.get("shared_name") or name
        found = library.resources.get(shared)
        if found is None:
            dims = attrs.get("value_shape", Dims(())).shape or ()
            found = new_table(attrs["key_dtype"], attrs["value_dtype"], tuple(dims), is_fixed=is_fixed)
            found.reserved = tuple([fixed(key, f"Node '{name}': a reserved key").item() for key in inputs[:2]])
            library.resources[shared] = found
        return found

    return make


def _found(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    table, keys, default = inputs
    return bind_named(name, get("table_find" if table.is_fixed else "mutable_table_find"), (keys, default), _of(table))


def _of(table: Table) -> dict[str, Any]:
    return {"table": table}


def _with_table(primitive: str) -> Make:
    def make(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        said = _of(inputs[0])
        if primitive == "table_export":
            said["key_dtype"] = inputs[0].key_dtype.name
        return bind_named(name, get(primitive), tuple(inputs[1:]), said)

    return make


def _from_file(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    table, file = inputs
    path = fixed_text(file, f"Node '{name}': the file of a table")
    if path not in library.files:
        raise NotFoundError(None, None, f"Node '{name}': a table is filled from a file that is no asset: {path!r}")
    size = attrs.get("vocab_size", -1)
    initializer = TextFileInitializer(
        path, table.key_dtype, attrs["key_index"], table.dtype, attrs["value_index"], size if size > 0 else None,
        attrs.get("delimiter", "\t"), value_index_offset=attrs.get("offset", 0),
    )  # fmt: skip
    with init_scope():
        keys, values = initializer.columns()
    given = constant(keys, table.key_dtype), constant(values, table.dtype)
    return bind_named(name, get("table_import"), given, _of(table))


RESOURCES: dict[str, Make] = {
    "VarHandleOp": _handle,
    "ReadVariableOp": of_variable("read_variable"),
    "AssignVariableOp": _assigned,
    "AssignAddVariableOp": of_variable("assign_add_variable"),
    "AssignSubVariableOp": of_variable("assign_sub_variable"),
    "DestroyResourceOp": _nothing,
    "VarIsInitializedOp": lambda library, name, inputs, attrs: convert(np.True_),
    "VariableShape": _shape,
    "ResourceGather": _gather,
    "ResourceGatherNd": _gather_nd,
    **{f"ResourceScatter{kind}": _scatter(function, of_rows=True) for kind, function in
       (("Add", "add"), ("Sub", "sub"), ("Min", "min"), ("Max", "max"), ("Update", "update"))},
    **{f"ResourceScatterNd{kind}": _scatter(function, of_rows=False) for kind, function in
       (("Add", "add"), ("Sub", "sub"), ("Min", "min"), ("Max", "max"), ("Update", "update"))},
    "ResourceScatterDiv": _scaled("divide"),
    "ResourceScatterMul": _scaled("multiply"),
    "ResourceApplyAdam": _adam,
    "ResourceApplyGradientDescent": _descent,
    "ResourceApplyKerasMomentum": _momentum(is_keras=True),
    "ResourceApplyMomentum": _momentum(is_keras=False),
    "ResourceApplyRMSProp": _rms,
    **dict.fromkeys(("AnonymousHashTable", "HashTableV2"), _table(is_fixed=True)),
    **dict.fromkeys(
        ("AnonymousMutableDenseHashTable", "AnonymousMutableHashTable", "AnonymousMutableHashTableOfTensors",
         "MutableDenseHashTableV2", "MutableHashTableOfTensorsV2", "MutableHashTableV2"), _table(is_fixed=False)),
    "InitializeTableFromTextFileV2": _from_file,
    "InitializeTableV2": _with_table("table_import"),
    "LookupTableExportV2": _with_table("table_export"),
    "LookupTableFindV2": _found,
    "LookupTableImportV2": _with_table("table_import"),
    "LookupTableInsertV2": _with_table("table_insert"),
    "LookupTableRemoveV2": _with_table("table_remove"),
    "LookupTableSizeV2": _with_table("table_size"),
}  # fmt: skip
