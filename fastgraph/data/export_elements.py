"""Elements with ragged and sparse tensors as datasets of TensorFlow's have them while rows are taken apart or batched.

Rule: everywhere else such an element is written as the tensors that it is made of; a variant is made of it just before,
and taken apart just behind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.base.shapes import Aval
from fastgraph.core.registry import get
from fastgraph.data.dataset_exporter import Attrs, Unwritten, Writer
from fastgraph.data.element_leaves import Dense, Extension, Ragged, Sparse, apart, kinds_of
from fastgraph.data.element_specs import tensor_specs
from fastgraph.graph.ir import Graph, Value
from fastgraph.graphdef.export_loops import VARIANT
from fastgraph.graphdef.graph_copies import CopiedGraph
from fastgraph.graphdef.node_bytes import Definition
from fastgraph.graphdef.op_table import Dims

#: Appends an operation of results of these types and names, and returns them.
Add = Callable[[str, Sequence[Value], Attrs, Sequence[Aval], str], Sequence[Value]]


def is_packed(kind: Dense) -> bool:
    """Return whether leaves of an element are one variant each."""
    return isinstance(kind, Sparse) or (isinstance(kind, Ragged) and kind.spec.ragged_rank >= 0)


def _of_variants(kind: Dense, rows: bool) -> Aval:
    """The type of a leaf; of `rows` of it."""
    own: tuple[int | None, ...] = (3,) if isinstance(kind, Sparse) else ()
    return Aval(dtypes.variant, (None, *own) if rows else own)


def _pack(add: Add, kind: Dense, parts: Sequence[Value], rows: bool) -> Sequence[Value]:
    """The variant of the tensors of a leaf; with `rows`, one for each of its rows."""
    if not is_packed(kind) or (rows and isinstance(kind, Ragged) and not kind.spec.ragged_rank):
        return parts
    dtype, result = kind.spec.dtype, [_of_variants(kind, rows)]
    if isinstance(kind, Sparse):
        attrs = {"T": dtype, "out_type": dtypes.variant}
        return add("SerializeManySparse" if rows else "SerializeSparse", parts, attrs, result, "serialized_sparse")
    flat, *splits = parts
    attrs = {"RAGGED_RANK": len(splits), "Tvalues": dtype, "Tsplits": kind.spec.row_splits_dtype, "batched_input": rows}
    return add("RaggedTensorToVariant", [*splits, flat], attrs, result, "encoded_ragged")


def _unpack(add: Add, kind: Dense, rank: int, variant: Value) -> Sequence[Value]:
    """The tensors of a leaf; `rank` is the ragged rank of what is in the variant."""
    avals = [spec.aval for spec in tensor_specs(kind.spec)]
    if isinstance(kind, Sparse):
        attrs: Attrs = {"dtype": kind.spec.dtype, "Tserialized": dtypes.variant}
        return add("DeserializeSparse", [variant], attrs, avals, "sparse_indices sparse_values sparse_shape")
    n = kind.spec.ragged_rank
    attrs = {"input_ragged_rank": rank, "output_ragged_rank": n, "Tvalues": kind.spec.dtype,
             "Tsplits": kind.spec.row_splits_dtype}  # fmt: skip
    slots = "output_nested_splits " * n + "output_dense_values"
    *splits, flat = add("RaggedTensorFromVariant", [variant], attrs, [*avals[1:], avals[0]], slots)
    return [flat, *splits]


def _slots(names: str) -> list[str]:
    found: list[str] = []
    for name in names.split():
        found.append(f"{name}:{sum(each.startswith(f'{name}:') for each in found)}")
    return found


class _Function:
    """A function of elements: `values` are those that it is given, of these types."""

    def __init__(self, writer: Writer, avals: Sequence[Aval], name: str) -> None:
        self.graph = CopiedGraph(name, writer.structure)
        for aval in avals:
            attrs = {"dtype": aval.dtype, "shape": aval.shape, "name": "element"}
            self.graph.inputs += self.graph.add(get("placeholder"), (), attrs, avals=(aval,), name="element").outputs
        self.values = iter(self.graph.inputs)

    def take(self, n: int) -> list[Value]:
        """Return the next values."""
        return [next(self.values) for _ in range(n)]

    def add(
        self, kind: str, inputs: Sequence[Value], attrs: Attrs, avals: Sequence[Aval], names: str
    ) -> Sequence[Value]:
        """Append an operation."""
        node = self.graph.add(get("identity"), tuple(inputs), {}, avals=tuple(avals), name=kind)
        definition = Definition(node, kind, inputs, attrs)
        definition.slots = _slots(names)
        self.graph.stated[node] = [definition]
        return node.outputs


def _mapped(writer: Writer, dataset: Value, function: Graph) -> Value:
    return writer.add("MapDataset", [dataset], _mapping(function))


def _mapping(function: Graph) -> Attrs:
    types = _types([value.aval for value in function.outputs])
    return {"f": function, "Targuments": [], "preserve_cardinality": True, **types}


def _types(avals: Sequence[Aval]) -> Attrs:
    return {"output_types": [aval.dtype for aval in avals], "output_shapes": [Dims(aval.shape) for aval in avals]}


def _known(spec: Any) -> list[Dense]:
    """The kinds of leaves. Raises Unwritten for those of extension types."""
    kinds = kinds_of(spec)
    for kind in kinds:
        if isinstance(kind, Extension):
            raise Unwritten(f"Batches of {type(kind.spec).__name__} cannot be saved in a SavedModel.")
    return kinds


def _packed(writer: Writer, dataset: Value, kinds: Sequence[Dense], rows: bool) -> Value:
    """A dataset with variants for the leaves."""
    avals = [spec.aval for kind in kinds for spec in tensor_specs(kind.spec)]
    function = _Function(writer, avals, "packed")
    for kind in kinds:
        function.graph.outputs += _pack(function.add, kind, function.take(kind.n), rows)
    return _mapped(writer, dataset, function.graph)


def _between(kinds: Sequence[Dense], rows: bool) -> list[Aval]:
    """The types of elements with variants, where those like `kinds` are made of them."""
    found = []
    for kind in kinds:
        found += [_of_variants(kind, rows)] if is_packed(kind) else [spec.aval for spec in tensor_specs(kind.spec)]
    return found


def _unpacked(writer: Writer, dataset: Value, kinds: Sequence[Dense], ranks: Sequence[int], rows: bool) -> Value:
    """The dataset of elements like `kinds`, of variants of these ragged ranks."""
    function = _Function(writer, _between(kinds, rows), "unpacked")
    for kind, rank in zip(kinds, ranks, strict=True):
        if is_packed(kind):
            function.graph.outputs += _unpack(function.add, kind, rank, function.take(1)[0])
        else:
            function.graph.outputs += function.take(kind.n)
    return _mapped(writer, dataset, function.graph)


def _ranks(kinds: Sequence[Dense]) -> list[int]:
    return [kind.spec.ragged_rank if isinstance(kind, Ragged) else 0 for kind in kinds]


def slices(writer: Writer, source: Any) -> Value:
    """The rows of tensors."""
    kinds, after = source.kinds, _known(source.spec)
    values: list[Value] = []

    def add(kind: str, inputs: Sequence[Value], attrs: Attrs, avals: Sequence[Aval], name: str) -> Sequence[Value]:
        return [writer.add(kind, inputs, attrs, aval=avals[0], slot=name)]

    for kind, parts in zip(kinds, apart(kinds, source.tensors), strict=True):
        values += _pack(add, kind, [writer.tensor(each) for each in parts], True)
    types = _types(_between(after, False))
    types = {"Toutput_types": types["output_types"], "output_shapes": types["output_shapes"]}
    found = writer.add("TensorSliceDataset", values, types)
    return _unpacked(writer, found, after, _ranks(after), False) if any(map(is_packed, after)) else found


def batch(writer: Writer, source: Any) -> Value:
    """Batches of elements."""
    first = writer.dataset(source.source)
    kinds, after = _known(source.source.spec), _known(source.spec)
    if not any(map(is_packed, kinds)):
        return writer.simple("BatchDatasetV2", [first, writer.number(source.size), writer.flag(source.drop)], source)
    inputs = [_packed(writer, first, kinds, False), writer.number(source.size), writer.flag(source.drop)]
    found = writer.add("BatchDatasetV2", inputs, _types(_between(after, True)))
    return _unpacked(writer, found, after, _ranks(kinds), True)


def unbatch(writer: Writer, source: Any) -> Value:
    """The rows of elements."""
    first = writer.dataset(source.source)
    kinds, after = _known(source.source.spec), _known(source.spec)
    if not any(map(is_packed, after)):
        return writer.simple("UnbatchDataset", [first], source)
    types = _types(_between(after, False))
    found = writer.add("UnbatchDataset", [_packed(writer, first, kinds, True)], types)
    return _unpacked(writer, found, after, _ranks(after), False)


def window(writer: Writer, source: Any) -> Value:
    """Datasets of the elements one after the other, each leaf in one of its own."""
    first, kinds = writer.dataset(source.source), _known(source.source.spec)
    packed = any(map(is_packed, kinds))
    inputs = [_packed(writer, first, kinds, False) if packed else first]
    inputs += [writer.number(each) for each in (source.size, source.shift, source.stride)]
    found = writer.simple("WindowDataset", [*inputs, writer.flag(source.drop)], source)
    if not packed:
        return found
    function = _Function(writer, [VARIANT] * len(kinds), "windows")
    for kind, rank in zip(kinds, _ranks(kinds), strict=True):
        (inner,) = function.take(1)
        if is_packed(kind):
            element = _Function(writer, _between([kind], False), "unpacked")
            element.graph.outputs += _unpack(element.add, kind, rank, element.take(1)[0])
            attrs = _mapping(element.graph)
            (inner,) = function.add("MapDataset", [inner], attrs, [VARIANT], "handle")
        function.graph.outputs.append(inner)
    return _mapped(writer, found, function.graph)


def rebatch(writer: Writer, source: Any, sizes: Value) -> Value:
    """Rows in batches of other sizes."""
    whole = source.source.source
    first, kinds, after = writer.dataset(whole), _known(whole.spec), _known(source.spec)
    if not any(map(is_packed, kinds)):
        return writer.simple("RebatchDatasetV2", [first, sizes, writer.flag(source.drop)], source)
    inputs = [_packed(writer, first, kinds, True), sizes, writer.flag(source.drop)]
    found = writer.add("RebatchDatasetV2", inputs, _types(_between(after, True)))
    return _unpacked(writer, found, after, [rank - 1 for rank in _ranks(after)], True)


def ragged_rows(writer: Writer, source: Any) -> Value:
    """Elements that are to become rows: as they are, if they may differ in their first size alone."""
    if any(getattr(leaf, "ragged_rank", 0) for leaf in nesting.flatten(source.spec)):
        raise Unwritten("Batches of tensors that differ in several sizes cannot be saved in a SavedModel.")
    return writer.dataset(source.source)
