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
from fastgraph.core.tensor import Tensor, convert, current_trace, init_scope
from fastgraph.errors import NotFoundError
from fastgraph.graphdef.import_calls import Library
from fastgraph.graphdef.import_slices import slice_update
from fastgraph.graphdef.import_values import fixed, fixed_text
from fastgraph.graphdef.op_table import Dims
from fastgraph.ops.families import bind_named

#: A function of the library, the node's name, its inputs and its attributes.
Make = Callable[[Library, str, list[Any], dict[str, Any]], Any]

# ---- Variables ------------------------------------------------------------------------------------------------------


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


def _slice_assigned(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return _assign(inputs[0], slice_update(name, [_read(inputs[0]), *inputs[1:]], attrs), name)


def _counted(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Return the number in a Variable, which goes on by one up to a limit."""
    value, limit = _read(inputs[0]), int(attrs["limit"])
    bounds = [constant(n, value.dtype) for n in (value.dtype.min, limit - 1)]
    before = bind_named(name, get("within"), (value, *bounds), {"text": f"Reached limit of {limit}", "beyond": True})
    _assign(inputs[0], before + 1)
    return before


# ---------------------------------------------------------------------------------------------------------------------
# Optimizers. A rule: the values of a Variable and its slots, then the operation's other inputs in their order -> the
# values after; operations whose name says "Sparse" apply it to the rows that `indices`, behind the gradient, names.


def _keras_momentum(
    var: Tensor, speed: Tensor, rate: Tensor, gradient: Tensor, momentum: Tensor, use_nesterov: bool = False
) -> list[Any]:
    speed = speed * momentum - rate * gradient
    return [var + (speed * momentum - rate * gradient if use_nesterov else speed), speed]


def _momentum(
    var: Tensor, speed: Tensor, rate: Tensor, gradient: Tensor, momentum: Tensor, use_nesterov: bool = False
) -> list[Any]:
    speed = speed * momentum + gradient
    return [var - (gradient * rate + speed * momentum * rate if use_nesterov else speed * rate), speed]


def _adam(
    var: Tensor, m: Tensor, v: Tensor, power1: Tensor, power2: Tensor, rate: Tensor, beta1: Tensor, beta2: Tensor,
    epsilon: Tensor, gradient: Tensor,
    use_nesterov: bool = False, most: Tensor | None = None,
) -> list[Any]:  # fmt: skip
    sqrt = public_function("sqrt")
    rate = rate * sqrt(1 - power2) / (1 - power1)
    m = m + (gradient - m) * (1 - beta1)
    v = v + (gradient * gradient - v) * (1 - beta2)
    slots = [m, v] if most is None else [m, v, public_function("maximum")(most, v)]
    up = m * beta1 + (1 - beta1) * gradient if use_nesterov else m
    return [var - rate * up / (sqrt(slots[-1]) + epsilon), *slots]


def _amsgrad(var: Tensor, m: Tensor, v: Tensor, most: Tensor, *rest: Any) -> list[Any]:
    return _adam(var, m, v, *rest, most=most)  # type: ignore[misc]


def _adamax(
    var: Tensor,
    m: Tensor,
    v: Tensor,
    power1: Tensor,
    rate: Tensor,
    beta1: Tensor,
    beta2: Tensor,
    epsilon: Tensor,
    gradient: Tensor,
) -> list[Any]:
    m = m + (gradient - m) * (1 - beta1)
    v = public_function("maximum")(beta2 * v, public_function("abs")(gradient))
    return [var - rate / (1 - power1) * (m / (v + epsilon)), m, v]


def _adadelta(
    var: Tensor, mean: Tensor, moved: Tensor, rate: Tensor, rho: Tensor, epsilon: Tensor, gradient: Tensor
) -> list[Any]:
    mean = mean * rho + gradient * gradient * (1 - rho)
    update = public_function("sqrt")(moved + epsilon) * public_function("math.rsqrt")(mean + epsilon) * gradient
    return [var - update * rate, mean, moved * rho + update * update * (1 - rho)]


def _adagrad(var: Tensor, squares: Tensor, rate: Tensor, gradient: Tensor, update_slots: bool = True) -> list[Any]:
    squares = squares + gradient * gradient if update_slots else squares
    return [var - gradient * rate * public_function("math.rsqrt")(squares), squares]


def _adagrad_v2(
    var: Tensor, squares: Tensor, rate: Tensor, epsilon: Tensor, gradient: Tensor, update_slots: bool = True
) -> list[Any]:
    squares = squares + gradient * gradient if update_slots else squares
    return [var - gradient * rate / (public_function("sqrt")(squares) + epsilon), squares]


def _rms(
    var: Tensor,
    mean: Tensor,
    speed: Tensor,
    rate: Tensor,
    rho: Tensor,
    momentum: Tensor,
    epsilon: Tensor,
    gradient: Tensor,
    middle: Tensor | None = None,
) -> list[Any]:
    mean = mean + (gradient * gradient - mean) * (1 - rho)
    if middle is not None:
        middle = middle + (gradient - middle) * (1 - rho)
    width = mean + epsilon if middle is None else mean - middle * middle + epsilon
    speed = speed * momentum + rate * gradient * public_function("math.rsqrt")(width)
    return [var - speed, *([] if middle is None else [middle]), mean, speed]


def _centered(var: Tensor, middle: Tensor, mean: Tensor, speed: Tensor, *rest: Any) -> list[Any]:
    return _rms(var, mean, speed, *rest, middle=middle)  # type: ignore[misc]


def _ftrl(
    var: Tensor, squares: Tensor, linear: Tensor, gradient: Tensor, rate: Tensor, l1: Tensor, l2: Tensor, power: Tensor,
    multiply_linear_by_lr: bool = False, shrinkage: Tensor | float = 0.0,
) -> list[Any]:  # fmt: skip
    raised, where = public_function("pow"), public_function("where")
    after = squares + gradient * gradient
    step = raised(after, -power) - raised(squares, -power)
    width = raised(after, -power)
    gradient = gradient + 2 * shrinkage * var
    if multiply_linear_by_lr:
        linear = linear + gradient * rate - step * var
        width, l1 = width + 2 * l2 * rate, l1 * rate
    else:
        linear = linear + gradient - step / rate * var
        width = width / rate + 2 * l2
    shrunk = (public_function("sign")(linear) * l1 - linear) / width
    zeros = public_function("zeros_like")(var)
    return [where(public_function("abs")(linear) > l1, shrunk, zeros), after, linear]


def _ftrl_v2(
    var: Tensor, squares: Tensor, linear: Tensor, gradient: Tensor, rate: Tensor, l1: Tensor, l2: Tensor,
    shrinkage: Tensor, power: Tensor,
    multiply_linear_by_lr: bool = False,
) -> list[Any]:  # fmt: skip
    return _ftrl(var, squares, linear, gradient, rate, l1, l2, power, multiply_linear_by_lr, shrinkage)


def _shrunk(moved: Tensor, rate: Tensor, l1: Tensor, l2: Tensor) -> Any:
    """Return what is nearest to `moved` when its size and its square cost something."""
    size = public_function("maximum")(public_function("abs")(moved) - rate * l1, 0.0)
    return public_function("sign")(moved) * size / (1 + l2 * rate)


def _proximal(var: Tensor, rate: Tensor, l1: Tensor, l2: Tensor, gradient: Tensor) -> list[Any]:
    return [_shrunk(var - rate * gradient, rate, l1, l2)]


def _proximal_adagrad(
    var: Tensor, squares: Tensor, rate: Tensor, l1: Tensor, l2: Tensor, gradient: Tensor
) -> list[Any]:
    squares = squares + gradient * gradient
    rate = rate * public_function("math.rsqrt")(squares)
    return [_shrunk(var - rate * gradient, rate, l1, l2), squares]


def _by_sign(weight: Callable[[Any, Any], Any]) -> Callable[..., list[Any]]:
    """A rule whose step is larger where the gradient has the sign of its mean."""

    def rule(
        var: Tensor, m: Tensor, rate: Tensor, alpha: Tensor, decay: Tensor, beta: Tensor, gradient: Tensor
    ) -> list[Any]:
        m = m * beta + gradient * (1 - beta)
        agree = decay * public_function("sign")(gradient) * public_function("sign")(m)
        return [var - rate * weight(alpha, agree) * gradient, m]

    return rule


def _updated(rule: Callable[..., list[Any]], n_slots: int, place: int | None) -> Make:
    """`place`: that of the gradient among the inputs that are no resources, if `indices` follow it."""

    def make(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        cells, given = inputs[: n_slots + 1], inputs[n_slots + 1 :]
        said = {key: attrs[key] for key in ("use_nesterov", "update_slots", "multiply_linear_by_lr") if key in attrs}
        before = [_read(cell) for cell in cells]
        if place is None:
            after = rule(*before, *given, **said)
        else:
            indices = given.pop(place + 1)
            _one_each(indices)
            rows = rule(*[public_function("gather")(value, indices) for value in before], *given, **said)
            places, update = public_function("expand_dims")(indices, -1), public_function("tensor_scatter_nd_update")
            after = [update(value, places, row) for value, row in zip(before, rows, strict=True)]
        for cell, value in zip(cells[1:], after[1:], strict=True):
            _assign(cell, value)
        return _assign(cells[0], after[0], name)

    return make


def _one_each(indices: Tensor) -> None:
    """Check that no row is named twice: TensorFlow updates it twice, and which gradient comes first is not said."""
    n = public_function("size")(public_function("unique")(indices)[0])
    text = "an optimizer's operation on rows names one twice: add up the gradients of a row before"
    public_function("debugging.assert_equal")(n, public_function("size")(indices), text)


#: {operation without "Resource(Sparse)Apply": (rule, slots, place of the gradient)}, and which of them go over rows.
_DENSE: dict[str, tuple[Callable[..., list[Any]], int, int]] = {
    "AdaMax": (_adamax, 2, 5),
    "Adadelta": (_adadelta, 2, 3),
    "Adagrad": (_adagrad, 1, 1),
    "AdagradV2": (_adagrad_v2, 1, 2),
    "Adam": (_adam, 2, 6),
    "AdamWithAmsgrad": (_amsgrad, 3, 6),
    "AddSign": (_by_sign(lambda alpha, agree: alpha + agree), 1, 4),
    "CenteredRMSProp": (_centered, 3, 4),
    "Ftrl": (_ftrl, 2, 0),
    "FtrlV2": (_ftrl_v2, 2, 0),
    "GradientDescent": (lambda var, rate, gradient: [var - rate * gradient], 0, 1),
    "KerasMomentum": (_keras_momentum, 1, 1),
    "Momentum": (_momentum, 1, 1),
    "PowerSign": (_by_sign(lambda base, agree: public_function("exp")(base * agree)), 1, 4),
    "ProximalAdagrad": (_proximal_adagrad, 1, 3),
    "ProximalGradientDescent": (_proximal, 0, 3),
    "RMSProp": (_rms, 2, 4),
}
_OF_ROWS = ("Adadelta", "Adagrad", "AdagradV2", "CenteredRMSProp", "Ftrl", "FtrlV2", "KerasMomentum", "Momentum",
            "ProximalAdagrad", "ProximalGradientDescent", "RMSProp")  # fmt: skip

# ---- Tables ---------------------------------------------------------------------------------------------------------


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
    """A look-up; one in a table that is still to be filled, or filled beside it, is an effect behind that."""
    table, keys, default = inputs
    is_filled = table.entries and library.filling.get(table) != id(current_trace())
    find = get("table_find" if table.is_fixed and is_filled else "mutable_table_find")
    return bind_named(name, find, (keys, default), _of(table))


def _of(table: Table) -> dict[str, Any]:
    return {"table": table}


def _with_table(primitive: str) -> Make:
    def make(library: Library, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        said = _of(inputs[0])
        if primitive == "table_export":
            said["key_dtype"] = inputs[0].key_dtype.name
        if primitive == "table_import":
            library.filling[inputs[0]] = id(current_trace())
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
    return _with_table("table_import")(library, name, [table, *given], attrs)


#: Operations on tables, of TensorFlow 1 too, whose first version has a name where the second has a handle.
_TABLES: dict[str, Make] = {
    "HashTable": _table(is_fixed=True),
    **dict.fromkeys(("MutableDenseHashTable", "MutableHashTable", "MutableHashTableOfTensors"), _table(is_fixed=False)),
    "InitializeTable": _with_table("table_import"),
    "InitializeTableFromTextFile": _from_file,
    "LookupTableExport": _with_table("table_export"),
    "LookupTableFind": _found,
    "LookupTableImport": _with_table("table_import"),
    "LookupTableInsert": _with_table("table_insert"),
    "LookupTableSize": _with_table("table_size"),
}

RESOURCES: dict[str, Make] = {
    "VarHandleOp": _handle,
    "ReadVariableOp": of_variable("read_variable"),
    "AssignVariableOp": lambda library, name, inputs, attrs: _assign(inputs[0], inputs[1], name),
    "AssignAddVariableOp": of_variable("assign_add_variable"),
    "AssignSubVariableOp": of_variable("assign_sub_variable"),
    "DestroyResourceOp": lambda library, name, inputs, attrs: bind_named(name, get("no_op"), (), {}),
    "VarIsInitializedOp": lambda library, name, inputs, attrs: convert(np.True_),
    "VariableShape": _shape,
    "ResourceCountUpTo": _counted,
    "ResourceGather": _gather,
    "ResourceGatherNd": _gather_nd,
    **{f"ResourceScatter{kind}": _scatter(function, of_rows=True) for kind, function in
       (("Add", "add"), ("Sub", "sub"), ("Min", "min"), ("Max", "max"), ("Update", "update"))},
    **{f"ResourceScatterNd{kind}": _scatter(function, of_rows=False) for kind, function in
       (("Add", "add"), ("Sub", "sub"), ("Min", "min"), ("Max", "max"), ("Update", "update"))},
    "ResourceScatterDiv": _scaled("divide"),
    "ResourceScatterMul": _scaled("multiply"),
    "ResourceStridedSliceAssign": _slice_assigned,
    **{f"ResourceApply{kind}": _updated(rule, n, None) for kind, (rule, n, _) in _DENSE.items()},
    **{f"ResourceSparseApply{kind}": _updated(*_DENSE[kind]) for kind in _OF_ROWS},
    "AnonymousHashTable": _table(is_fixed=True),
    **dict.fromkeys(
        ("AnonymousMutableDenseHashTable", "AnonymousMutableHashTable", "AnonymousMutableHashTableOfTensors"),
        _table(is_fixed=False)),
    **{f"{op}{version}": make for op, make in _TABLES.items() for version in ("", "V2")},
    "LookupTableRemoveV2": _with_table("table_remove"),
}  # fmt: skip
