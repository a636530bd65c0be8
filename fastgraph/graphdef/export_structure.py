"""Nodes that no row of `op_table` describes, as they are written: structure, products, slices, prints, effects.

Rule: the names of what is added are TensorFlow's (`cond/Identity`, `NoOp`); the graph itself stays as it was traced.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.shapes import Aval
from fastgraph.core.tensor import EagerTensor, from_array
from fastgraph.graph import ir
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graph.structural_ops import backward_function
from fastgraph.graphdef.export_calls import CALLS
from fastgraph.graphdef.export_decompositions import SEVERAL, Parts, expm
from fastgraph.graphdef.export_kernels import KERNELS
from fastgraph.graphdef.export_media import MEDIA
from fastgraph.graphdef.export_records import RECORDS
from fastgraph.graphdef.export_transforms import TRANSFORMS
from fastgraph.graphdef.node_bytes import (
    Definition,
    ancestors,
    const_definition,
    constant,
    constant_of,
    tensor_of,
    waiting_for_none,
)
from fastgraph.graphdef.op_table import (
    MOST_WRITTEN,
    Dims,
    One,
    Row,
    Unwritable,
    defined,
    form_by,
    scoped,
    types_of,
    written,
)
from fastgraph.ops.python_functions import token_of


def custom_gradient(stated: Mapping[str, list[Aval]]) -> Callable[[Node], list[Definition]]:
    """Return how operations with gradients of their own are written.

    `stated`: of the gradients that are written as functions, by their names, the types of the operands that are
    Variables.
    """

    def write(node: Node) -> list[Definition]:
        """Define the results again; with a gradient that is a function also the operands, of Variables the values."""
        n, key = node.attrs["n_outputs"], node.attrs["key"]
        inputs = list(node.inputs[:n])
        refusal = getattr(backward_function(key), "refusal", None)
        if refusal is not None:
            definition = Definition(node, "PreventGradient", inputs, {"T": inputs[0].aval.dtype, "message": refusal})
            definition.slots = ["output:0"]
            return [definition]
        if key not in stated:
            return [Definition(node, "IdentityN", inputs, {"T": types_of(inputs)})]
        parts, avals = Parts(node), iter(stated[key])
        for value in node.inputs[n:]:
            is_tensor = value.aval.dtype != dtypes.resource
            inputs.append(value if is_tensor else parts.op("ReadVariableOp", (value,), next(avals)))
        attrs = {"T": types_of(inputs), "_gradient_op_type": key}
        return [*parts.made, Definition(node, "IdentityN", inputs, attrs)]

    return write


def _reduced(node: Node) -> list[Definition]:
    """A reduction; over all axes of a tensor of unknown rank, as many as that turns out to be."""
    x = node.inputs[0]
    if node.attrs["axes"] is not None or x.aval.shape is not None:
        return written(node)
    parts = Parts(node)
    number = Aval(dtypes.int32, ())
    rank = parts.op("Rank", (x,), number)
    bounds = parts.const(0, "start", dtypes.int32), rank, parts.const(1, "delta", dtypes.int32)
    axes = parts.op("Range", bounds, Aval(dtypes.int32, (None,)))
    return parts.last(str(node.op.op_type), (x, axes), keep_dims=node.attrs["keepdims"])


def _expanded(node: Node) -> list[Definition]:
    """Several new axes are one after the other, the first ones first."""
    axes, shape = node.attrs["axes"], node.outputs[0].aval.shape
    if len(axes) == 1:
        return written(node)
    if not axes:  # of a gradient of a reduction along none
        return _apart(node)
    if shape is None:
        raise Unwritable("several new axes of a tensor of unknown rank")
    x, parts = node.inputs[0], Parts(node)
    *before, last = sorted([axis % len(shape) for axis in axes])
    for axis in before:
        x = parts.op("ExpandDims", (x, parts.const(axis, "dim", dtypes.int32)), Aval(x.aval.dtype, None))
    return parts.last("ExpandDims", (x, parts.const(last, "dim", dtypes.int32)))


def _apart(node: Node) -> list[Definition]:
    """The first input itself: what checks it here, TensorFlow's own operations check."""
    return [Definition(node, "Identity", node.inputs[:1], {"T": node.inputs[0].aval.dtype})]


_BATCHED = form_by(Row("BatchMatMulV2", {"adj_x": ("transpose_a", ""), "adj_y": ("transpose_b", "")}, {}, ()), 2, 1)


def _matmul(node: Node) -> list[Definition]:
    ranks = [None if value.aval.shape is None else len(value.aval.shape) for value in node.inputs]
    if ranks == [2, 2]:
        return written(node)
    flipped = node.attrs["transpose_a"] or node.attrs["transpose_b"]
    if flipped and node.inputs[0].aval.dtype.is_complex:
        raise Unwritable("transposed, not conjugated, complex matrices")
    return _BATCHED.definitions(node)


def _swap_last(node: Node) -> list[Definition]:
    shape = node.inputs[0].aval.shape
    if shape is None:
        raise Unwritable("a transposition of a tensor of unknown rank")
    order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    perm = constant(np.array(order, np.int32), node, "perm")
    return [const_definition(perm), defined(node, "Transpose", (node.inputs[0], perm.outputs[0]))]


def _split(node: Node) -> list[Definition]:
    sizes, axis = node.attrs["sizes"], node.attrs["axis"]
    if len(set(sizes)) != 1 or sizes[0] < 0:
        return written(node)
    dim = constant(np.array(axis, np.int32), node, "split_dim")
    attrs = {"T": node.inputs[0].aval.dtype, "num_split": len(sizes)}
    definition = Definition(node, "Split", (dim.outputs[0], node.inputs[0]), attrs)
    return [const_definition(dim), definition]


def _strided_slice(node: Node) -> list[Definition]:
    made, stacks, masks = _stacks(node, _apart_from(node.inputs[1:]))
    return [*made, defined(node, "StridedSlice", (node.inputs[0], *stacks), **masks)]


def _strided_slice_grad(node: Node) -> list[Definition]:
    dy, x, *positions = node.inputs
    made, stacks, masks = _stacks(node, _apart_from(positions))
    index, rank = stacks[0].aval.dtype, None if x.aval.shape is None else len(x.aval.shape)
    sizes = Node(node.op, (), {}, (Aval(index, (rank,)),), f"{node.name}/Shape", node.source)
    made.append(defined(sizes, "Shape", (x,)))
    return [*made, defined(node, "StridedSliceGrad", (sizes.outputs[0], *stacks, dy), **masks)]


def _apart_from(positions: Sequence[Value]) -> list[Value]:
    """Return the positions of a slice one by one, where one vector has them all."""
    if len(positions) != 1 or positions[0].aval.shape == ():
        return list(positions)
    if positions[0].node.op.name != "stack":
        raise Unwritable("positions as one vector")
    return list(positions[0].node.inputs)


def _stacks(node: Node, positions: list[Value]) -> tuple[list[Definition], list[Value], dict[str, int]]:
    """begin, end and strides as vectors; the masks say what is left open, an index, a new axis, an ellipsis."""
    if not positions:
        vectors, masks = _known_stacks(node.attrs["spec"])
        known = [constant_of(vector, node, name) for vector, name in zip(vectors, _STACKS, strict=True)]
        return [const_definition(each) for each in known], [each.outputs[0] for each in known], masks
    dtype = positions[0].aval.dtype
    made: list[Definition] = []

    def after(begin: Value, i: int) -> Value:
        one = constant(1, node, f"add_{i}/y", dtype)
        total = _sum(node, begin, one.outputs[0], f"{node.name}/add_{i}")
        made.extend((const_definition(one), total))
        return total.outputs[0]

    rows, masks = _rows(node.attrs["spec"], positions, after)
    stacks = [_stack(node, row, name, dtype, made) for row, name in zip(rows, _STACKS, strict=True)]
    return made, stacks, masks


@functools.lru_cache(4096)
def _known_stacks(spec: tuple[Any, ...]) -> tuple[list[EagerTensor], dict[str, int]]:
    """begin, end and strides of a slice without tensors, and the masks: the same slices come again and again."""
    rows, masks = _rows(spec, [], None)
    return [tensor_of(np.array(row, np.int32)) for row in rows], masks


def _rows(
    spec: tuple[Any, ...], positions: list[Value], after: Callable[[Value, int], Value] | None
) -> tuple[tuple[list[Any], list[Any], list[Any]], dict[str, int]]:
    """begin, end and strides, numbers and tensors, and the masks; `after` makes the tensor that is one more."""
    masks = dict.fromkeys(("begin", "end", "ellipsis", "new_axis", "shrink_axis"), 0)
    rows: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for i, item in enumerate(spec):
        begin: Any = 0
        end: Any = 0
        step: Any = 1
        if item[0] == "n":
            masks["new_axis"] |= 1 << i
        elif item[0] == "e":
            masks["ellipsis"] |= 1 << i
        elif item[0] == "i":
            masks["shrink_axis"] |= 1 << i
            begin = item[1]
            if begin == "t" and after is not None:
                begin = positions.pop(0)
                end = after(begin, i)
            else:
                end = begin + 1
        else:
            begin, end, step = [positions.pop(0) if part == "t" else part for part in item[1:]]
            if begin is None:
                masks["begin"] |= 1 << i
            if end is None:
                masks["end"] |= 1 << i
            begin, end, step = [
                default if part is None else part for part, default in ((begin, 0), (end, 0), (step, 1))
            ]
        for row, part in zip(rows, (begin, end, step), strict=True):
            row.append(part)
    return rows, {f"{name}_mask": mask for name, mask in masks.items()}


_STACKS = ("stack", "stack_1", "stack_2")


def _sum(node: Node, x: Value, y: Value, name: str) -> Definition:
    made = Node(node.op, (), {}, (x.aval.without_value(),), name, node.source)
    return defined(made, "AddV2", (x, y))


def _stack(node: Node, row: list[Any], name: str, dtype: Any, made: list[Definition]) -> Value:
    """One vector of a slice: a constant, or a Pack of constants and tensors."""
    if not any(isinstance(part, Value) for part in row):
        whole = constant(np.array(row, np.int64 if dtype is not None and dtype.size == 8 else np.int32), node, name)
        made.append(const_definition(whole))
        return whole.outputs[0]
    parts = []
    for i, part in enumerate(row):
        if not isinstance(part, Value):
            one = constant(part, node, f"{name}/{i}", dtype)
            made.append(const_definition(one))
            part = one.outputs[0]
        parts.append(part)
    pack = Node(node.op, (), {}, (Aval(dtype, (len(row),)),), f"{node.name}/{name}", node.source)
    made.append(defined(pack, "Pack", parts))
    return pack.outputs[0]


def _print(node: Node) -> list[Definition]:
    pieces = node.attrs["pieces"]
    if node.attrs.get("bare"):
        return [Definition(node, "PrintV2", node.inputs, {"output_stream": node.attrs["stream"], "end": pieces[-1]})]
    end = "\n" if pieces[-1].endswith("\n") else ""
    template = "{}".join([*pieces[:-1], pieces[-1][: len(pieces[-1]) - len(end)]])
    text = Node(node.op, (), {}, (Aval(dtypes.string, ()),), scoped(node, "StringFormat"), node.source)
    attrs = {
        "T": types_of(node.inputs),
        "template": template,
        "placeholder": "{}",
        "summarize": node.attrs["summarize"],
    }
    before = Definition(text, "StringFormat", node.inputs, attrs)
    before.free = True
    after = Definition(node, "PrintV2", text.outputs, {"output_stream": node.attrs["stream"], "end": end})
    return [before, after]


def _pad(node: Node) -> list[Definition]:
    """Zeros around a tensor are a Pad, others a PadV2."""
    filler = node.inputs[1].node
    if filler.op.name != "const" or filler.attrs["value"].num_elements != 1 or filler.attrs["value"].numpy():
        return written(node)
    x = node.inputs[0]
    paddings = constant(np.reshape(np.array(node.attrs["paddings"], np.int32), (-1, 2)), node, "paddings")
    return [const_definition(paddings), defined(node, "Pad", (x, paddings.outputs[0]))]


def _alike(node: Node) -> list[Definition]:
    """Ones or zeros in the shape of a tensor: a constant where the shape is known."""
    number = int(node.op.name.startswith("ones"))
    aval = node.outputs[0].aval
    if aval.shape is None or None in aval.shape or aval.dtype.name in ("string", "variant", "resource"):
        return written(node)
    return _filled(node, number)


def _filled(node: Node, value: object) -> list[Definition]:
    """One number everywhere, as a constant if it is small."""
    aval = node.outputs[0].aval
    dtype = aval.dtype
    if (aval.size or 0) < MOST_WRITTEN:
        tensor = from_array(np.full(aval.shape or (), value, dtype.numpy_dtype), dtype)
        return [Definition(node, "Const", (), {"dtype": dtype, "value": One(tensor)})]
    parts = Parts(node)
    dims = parts.const(np.array(aval.shape, np.int32), "shape_as_tensor")
    number = parts.const(np.asarray(value).astype(dtype.numpy_dtype), "Const", dtype)
    return parts.last("Fill", (dims, number))


def _shape(node: Node) -> list[Definition]:
    """A shape that is known is a constant."""
    shape = node.inputs[0].aval.shape
    if shape is None or None in shape:
        return written(node)
    dtype = node.outputs[0].aval.dtype
    value = from_array(np.array(shape, dtype.numpy_dtype), dtype)
    return [Definition(node, "Const", (), {"dtype": dtype, "value": value})]


def _python(node: Node) -> list[Definition]:
    """A call of Python: what it gives, without the number of its tape."""
    attrs = {
        "token": token_of(node.attrs["key"]),
        "is_async": False,
        "Tin": types_of(node.inputs),
        "Tout": types_of(node.outputs[:-1]),
    }
    definition = Definition(node, "EagerPyFunc", node.inputs, attrs)
    definition.device = definition.device or "/job:localhost/replica:0/task:0"
    return [definition]


_ONES_AND_ZEROS = re.compile(r"(.*/)?(ones|zeros)(_\d+)?\Z")


def _fill(node: Node) -> list[Definition]:
    """`tf.ones` and `tf.zeros` are constants, `tf.fill` is a Fill."""
    value = node.inputs[0].node
    if value.op.name != "const" or not _ONES_AND_ZEROS.match(node.name) or value.attrs["value"].dtype.name == "string":
        return written(node)
    return _filled(node, value.attrs["value"].numpy())


def _assign(node: Node) -> list[Definition]:
    value = node.inputs[1]
    attrs = {"dtype": value.aval.dtype, "validate_shape": False}
    return [Definition(node, "AssignVariableOp", node.inputs[:2], attrs)]


#: Operations on tables: the type, and the results that it has.
_TABLES = {
    "table_find": "LookupTableFindV2",
    "mutable_table_find": "LookupTableFindV2",
    "table_insert": "LookupTableInsertV2",
    "table_remove": "LookupTableRemoveV2",
    "table_import": "LookupTableImportV2",
    "table_export": "LookupTableExportV2",
    "table_size": "LookupTableSizeV2",
}


def _of_table(node: Node) -> list[Definition]:
    """An operation on a table, which another one finds by its name."""
    table = node.attrs["table"]
    parts = Parts(node)
    kind, attrs = table_maker(table)
    handle = parts.op(kind, (), Aval(dtypes.resource, ()), **attrs)
    types = {"Tin": table.key_dtype, "Tout": table.dtype}
    types = {"Tkeys": types["Tin"], "Tvalues": types["Tout"]} if node.op.name == "table_export" else types
    types = {} if node.op.name == "table_size" else types
    types = {"Tin": table.key_dtype} if node.op.name == "table_remove" else types
    return parts.last(_TABLES[node.op.name], (handle, *node.inputs), **types)


def table_maker(table: Any) -> tuple[str, dict[str, Any]]:
    """Return the type and the attributes of the operation that makes a table, or finds it again by its name."""
    attrs: dict[str, Any] = {
        "container": "", "shared_name": str(table), "use_node_name_sharing": True, "key_dtype": table.key_dtype,
        "value_dtype": table.dtype,
    }  # fmt: skip
    if table.is_fixed:
        return "HashTableV2", attrs
    if not table.shape:
        return "MutableHashTableV2", attrs
    return "MutableHashTableOfTensorsV2", {**attrs, "value_shape": Dims(tuple(table.shape))}


STRUCTURE: dict[str, Callable[[Node], list[Definition]]] = {
    **CALLS,
    "no_op": lambda node: [Definition(node, "NoOp", (), {})],
    "custom_gradient_identity": custom_gradient({}),
    **dict.fromkeys(("sum", "mean", "max", "min", "prod", "any", "all"), _reduced),
    "expand_dims": _expanded,
    "apart": _apart,
    "check_indices": _apart,
    "countable": _apart,
    "within": _apart,
    **dict.fromkeys(("interval", "numbers", "whole_split"), _apart),
    "matmul": _matmul,
    "pad": _pad,
    "ones_like": _alike,
    "zeros_like": _alike,
    "fill": _fill,
    "shape": _shape,
    "eager_py_func": _python,
    "expm": expm,
    "swap_last": _swap_last,
    "split": _split,
    "strided_slice": _strided_slice,
    "strided_slice_dynamic": _strided_slice,
    "strided_slice_grad": _strided_slice_grad,
    "print": _print,
    "assign_variable": _assign,
    "take_variable": _assign,
    **dict.fromkeys(_TABLES, _of_table),
    **SEVERAL,
    **KERNELS,
    **MEDIA,
    **RECORDS,
    **TRANSFORMS,
}


# ---- Control inputs -------------------------------------------------------------------------------------------------


def control_of(graph: Graph, found: list[Definition], touching: list[Node]) -> list[Definition]:
    """Return the definitions with what they wait for: as the user said, and what effects ask for.

    In a function a NoOp waits for all that has to run, and the results wait for it, but for those that this takes.
    `touching` are the nodes that may have effects.
    """
    said: dict[Node, tuple[Node, ...]] = graph.control
    effects = {node: done for node in touching if (done := ir.effects(node))}
    if not said and not effects:
        return found
    acting = list(effects)
    waits = ir.control_inputs(acting, apart=True, known=effects)
    effectful = {node: [acting[i] for i in before] for node, before in zip(acting, waits, strict=True) if before}
    there = waiting_for_none(found)
    must_run = []
    if graph.building_function:  # what draws from an op's own generator does so by itself, whoever takes it
        must_run = [node for node in effects if node.inputs and (node.op.name != "draw" or node in there)]
    if not said and not effectful and not must_run:
        return found
    outputs = {value.node for value in graph.outputs} - ancestors(must_run) if must_run else set()
    asked_for = [*must_run, *[each for group in (*said.values(), *effectful.values()) for each in group]]
    takers: dict[Node, list[Node]] = {}  # of what is not written
    for definition in found if any(node not in there for node in asked_for) else ():
        for value in definition.node.inputs:
            if value.node not in there:
                takers.setdefault(value.node, []).append(definition.node)

    def shown(nodes: Iterable[Node]) -> list[str]:
        """The names of what runs; for the state of a generator, of what draws from it."""
        kept = [each for node in nodes for each in ([node] if node in there else takers.get(node, ()))]
        return [each.name for each in dict.fromkeys(kept)]

    for node in dict.fromkeys([*said, *effectful, *outputs]):
        own = there.get(node)
        if own is not None:
            names = shown([*said.get(node, ()), *effectful.get(node, ())])
            own.control = tuple([*names, _no_op_name(graph)] if node in outputs else names)
    if must_run:
        last = Node(found[-1].node.op, (), {}, (), _no_op_name(graph))
        no_op = Definition(last, "NoOp", (), {})
        no_op.control = tuple(sorted(shown(must_run)))
        return [*found, no_op]
    return found


def _no_op_name(graph: Graph) -> str:
    scope = getattr(graph.trace, "scope", "") if graph.trace is not None else ""
    return graph.unique_name(f"{scope}NoOp", mark_as_used=False)
