"""Datasets as TensorFlow's operations: one function for each way in which a dataset is made.

Rule: what a dataset is made of comes before it, each once; the names are those of a node, with what the operation is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import from_code
from fastgraph.core.base.shapes import Aval
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.registry import get
from fastgraph.core.tensor import EagerTensor, from_array
from fastgraph.data import checked_elements, element_functions, grouping, shuffling, sources, transformations, windows
from fastgraph.data.dataset_base import DatasetSpec
from fastgraph.data.element_functions import Mapped
from fastgraph.data.element_specs import tensor_specs
from fastgraph.data.handles import held_by
from fastgraph.data.sources import Described, Source
from fastgraph.graph.captures import Deferred
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.graphdef.export_loops import VARIANT
from fastgraph.graphdef.op_table import Definition, Dims, const_definition, constant, types_of

Attrs = dict[str, Any]

#: Of functions, the inputs that are datasets, and their types.
Handles = dict[Graph, list[tuple[Value, Aval]]]


class Unwritten(ValueError):
    """Error of a dataset that no operations of TensorFlow make."""


def element_types(types: Iterable[tuple[int, Any]]) -> Attrs:
    """Return the types and shapes of elements, (number of a dtype, shape) each, as attributes."""
    kinds = [(from_code(code), Dims(shape)) for code, shape in types]
    return {"output_types": [dtype for dtype, _ in kinds], "output_shapes": [shape for _, shape in kinds]}


def handles(spec: Any) -> list[int]:
    """Return which of the tensors of an element like `spec` are datasets."""
    found, n = [], 0
    for leaf in nesting.flatten(spec):
        if isinstance(leaf, DatasetSpec):
            found.append(n)
        n += len(tensor_specs(leaf))
    return found


def types_of_spec(source: Any) -> Attrs:
    """Return the types and shapes of a dataset's elements as attributes. Raises Unwritten for those of no tensors."""
    leaves = nesting.flatten(source.spec)
    if leaves and all(isinstance(leaf, DatasetSpec) for leaf in leaves):
        return {"output_types": [dtypes.variant] * len(leaves), "output_shapes": [Dims(())] * len(leaves)}
    for leaf in leaves:
        if not isinstance(leaf, TensorSpec):
            raise Unwritten(
                f"Datasets with elements of {type(leaf).__name__} cannot be saved in a SavedModel: {source.name}"
            )
    return element_types([(leaf.dtype.code, leaf.aval.shape) for leaf in tensor_specs(source.spec)])


# ---------------------------------------------------------------------------------------------------------------------
# Datasets


class Writer:
    """Writer of one dataset: its operations, named beside a node; `values` are those of symbolic operands, by id."""

    def __init__(self, functions: Handles, node: Node, values: dict[int, Value]) -> None:
        self.functions, self.node, self.values = functions, node, values
        self.found: list[Definition] = []
        self.known: dict[int, Value] = {}

    def written(self, source: Source) -> list[Definition]:
        """Return the operations, the dataset's last."""
        value = self.dataset(source)
        if not self.found or value not in self.found[-1].outputs:  # it is another node's
            self.add("Identity", (value,), {"T": dtypes.variant}, slot="output")
        return self.finished()

    def finished(self) -> list[Definition]:
        """Return the operations, the last one as the node's own."""
        last = self.found[-1]
        last.node, last.name, last.outputs = self.node, self.node.name, self.node.outputs
        return self.found

    def add(
        self, kind: str, inputs: Sequence[Value], attrs: Attrs, *, aval: Aval = VARIANT, slot: str = "handle"
    ) -> Value:
        """Append an operation of one result, and return this."""
        name = f"{self.node.name}/{kind}" + (f"_{len(self.found)}" if self.found else "")
        made = Node(self.node.op, (), {}, (aval,), name, self.node.source)
        self.found.append(Definition(made, kind, inputs, attrs))
        self.found[-1].slots = [f"{slot}:0"]
        return made.outputs[0]

    def constant(self, value: Any) -> Value:
        """Return a constant."""
        made = constant(value, self.node, f"Const_{len(self.found)}") if not isinstance(value, EagerTensor) else Node(
            get("const"), (), {"value": value}, (value.aval,), f"{self.node.name}/Const_{len(self.found)}",
            self.node.source)  # fmt: skip
        self.found.append(const_definition(made))
        self.found[-1].slots = ["output:0"]
        return made.outputs[0]

    def number(self, value: Any) -> Value:
        """Return a count, of the graph or a constant."""
        known = self.values.get(id(value))
        return self.constant(np.array(value, np.int64)) if known is None else known

    def tensor(self, value: Any) -> Value:
        """Return a tensor, of the graph or a constant."""
        known = self.values.get(id(value))
        if known is not None:
            return known
        if not isinstance(value, EagerTensor):
            value = from_array(np.asarray(value), None)
        return self.constant(value)

    def flag(self, value: bool) -> Value:
        """Return a constant."""
        return self.constant(np.array(bool(value)))

    def dataset(self, source: Any) -> Value:
        """Return a dataset; those that it is made of come before it, each once."""
        if isinstance(source, Described):
            return self.values[id(source)]
        known = self.known.get(id(source))
        if known is None:
            write = _WRITERS.get(type(source))
            if write is None:
                why = "its elements come from Python" if isinstance(source, sources.Generated) else "it has no equal"
                name = source.name.lstrip("_")
                raise Unwritten(
                    f"A dataset of {type(source).__name__} ({name}) cannot be saved in a SavedModel: {why}."
                )
            known = self.known[id(source)] = write(self, source)
        return known

    def simple(self, kind: str, inputs: Sequence[Value], source: Any, **attrs: Any) -> Value:
        """Append a dataset's operation with the types of its elements."""
        return self.add(kind, inputs, {**types_of_spec(source), **attrs})

    def function(
        self, mapped: Mapped, captured: Sequence[Any], name: str, types: str = "Targuments"
    ) -> tuple[list[Value], Attrs]:
        """Return what a function of elements takes from outside, and the attributes that say it."""
        if mapped.draws:
            raise Unwritten("A dataset's function that draws random numbers cannot be saved: use stateless ones.")
        given = iter(captured)
        values = []
        for held in mapped.taken:
            each = held.value() if isinstance(held, Deferred) else held
            if held_by(each) is not None:
                if mapped.captured or not mapped.graph.captures:
                    raise Unwritten("A dataset's function inside of a function cannot take a dataset from outside.")
            elif isinstance(each, EagerTensor):
                values.append(self.constant(each))
            elif isinstance(each, SymbolicTensor):
                values.append(self.tensor(next(given)))
            elif (cell := self.values.get(id(each() if isinstance(each, ref) else each))) is not None:
                values.append(cell)
            else:
                raise Unwritten(
                    "A dataset's function that reads a Variable cannot be saved in a SavedModel, unless the dataset is "
                    "made in the body of the tf.function that is saved."
                )
        for i in handles(mapped.given):
            self.functions.setdefault(mapped.graph, []).append((mapped.graph.inputs[i], VARIANT))
        return values, {name: mapped.graph, types: types_of(values)}


def _range(writer: Writer, source: Any) -> Value:
    return writer.simple("RangeDataset", [writer.number(each) for each in source.limits], source)


def _of_tensors(kind: str) -> Callable[[Writer, Any], Value]:
    def write(writer: Writer, source: Any) -> Value:
        values = [writer.tensor(each) for each in source.tensors]
        attrs = types_of_spec(source)
        types = {"Toutput_types": attrs["output_types"], "output_shapes": attrs["output_shapes"]}
        return writer.add(kind, values, types)

    return write


def _counted(kind: str, *names: str) -> Callable[[Writer, Any], Value]:
    """An operation that takes a dataset and these attributes of it as numbers."""

    def write(writer: Writer, source: Any) -> Value:
        first = writer.dataset(source.source)
        return writer.simple(kind, [first, *[writer.number(getattr(source, name)) for name in names]], source)

    return write


def _of_function(kind: str, function: str, **more: Any) -> Callable[[Writer, Any], Value]:
    def write(writer: Writer, source: Any) -> Value:
        first = writer.dataset(source.source)
        values, attrs = writer.function(source._mapped, source._captured, function)
        return writer.simple(kind, [first, *values], source, **attrs, **more)

    return write


def _interleave(writer: Writer, source: Any) -> Value:
    first = writer.dataset(source.source)
    values, attrs = writer.function(source._mapped, source._captured, "f")
    numbers = [writer.number(source.cycle), writer.number(source.block)]
    return writer.simple("InterleaveDataset", [first, *values, *numbers], source, **attrs)


def _scan(writer: Writer, source: Any) -> Value:
    first, state = writer.dataset(source.source), [writer.tensor(each) for each in source.state]
    values, attrs = writer.function(source._mapped, source._captured, "f")
    attrs["Tstate"] = types_of(state)
    return writer.simple("ScanDataset", [first, *state, *values], source, **attrs, preserve_cardinality=True)


def _batch(writer: Writer, source: Any) -> Value:
    inputs = [writer.dataset(source.source), writer.number(source.size), writer.flag(source.drop)]
    return writer.simple("BatchDatasetV2", inputs, source)


def _padded(writer: Writer, source: Any) -> Value:
    first, size = writer.dataset(source.source), writer.number(source.size)
    shapes, fill = ([writer.tensor(each) for each in group] for group in (source.shapes, source.fill))
    attrs = types_of_spec(source)
    attrs = {"Toutput_types": attrs["output_types"], "output_shapes": attrs["output_shapes"], "N": len(shapes)}
    return writer.add("PaddedBatchDatasetV2", [first, size, *shapes, *fill, writer.flag(source.drop)], attrs)


def _shuffle(writer: Writer, source: Any) -> Value:
    first = writer.dataset(source.source)
    numbers = [writer.number(each) for each in (source.buffer_size, *(source.seed or (0, 0)))]
    return writer.simple("ShuffleDataset", [first, *numbers], source, reshuffle_each_iteration=source.again)


def _cache(writer: Writer, source: Any) -> Value:
    inputs = [writer.dataset(source.source), writer.constant(np.array(b"", object))]
    return writer.simple("CacheDataset", inputs, source)


def _concatenate(writer: Writer, source: Any) -> Value:
    return writer.simple("ConcatenateDataset", [writer.dataset(each) for each in (source.first, source.second)], source)


def _zip(writer: Writer, source: Any) -> Value:
    inputs = [writer.dataset(each) for each in source.sources]
    return writer.simple("ZipDataset", inputs, source, N=len(inputs))


def _enumerate(writer: Writer, source: Any) -> Value:
    first = writer.dataset(source.source)
    limits = [writer.number(source.start), writer.number(sys.maxsize), writer.number(1)]
    types = element_types([(dtypes.int64.code, ())])
    numbers = writer.add("RangeDataset", limits, types)
    return writer.simple("ZipDataset", [numbers, first], source, N=2)


def _window(writer: Writer, source: Any) -> Value:
    first, numbers = writer.dataset(source.source), (source.size, source.shift, source.stride)
    inputs = [first, *[writer.number(each) for each in numbers], writer.flag(source.drop)]
    return writer.simple("WindowDataset", inputs, source)


def _group(writer: Writer, source: Any) -> Value:
    inputs, attrs = [writer.dataset(source.source)], Attrs()
    parts = ("key", "reduce", "window_size")
    for part, mapped, captured in zip(parts, source.functions, source.captured, strict=True):
        values, said = writer.function(mapped, captured, f"{part}_func", f"T{part}_func_other_arguments")
        inputs += values
        attrs.update(said)
    return writer.simple("GroupByWindowDataset", inputs, source, **attrs)


def _directed(writer: Writer, source: Any) -> Value:
    inputs = [writer.dataset(each) for each in (source.selector, *source.sources)]
    attrs = {"N": len(source.sources), "stop_on_empty_dataset": source.stop}
    return writer.simple("DirectedInterleaveDataset", inputs, source, **attrs)


def _random(writer: Writer, source: Any) -> Value:
    if source.again:
        raise Unwritten("Datasets of random numbers that differ in each iteration cannot be saved in a SavedModel.")
    return writer.simple("RandomDataset", [writer.number(each) for each in source.seed or (0, 0)], source)


def _rebatch(writer: Writer, source: Any) -> Value:
    if len(source.sizes) == 1:
        sizes = writer.number(source.sizes[0])
    elif all(isinstance(size, int) for size in source.sizes):
        sizes = writer.constant(np.array(source.sizes, np.int64))
    else:
        raise Unwritten("A dataset of batches of several sizes that a graph computes cannot be saved in a SavedModel.")
    inputs = [writer.dataset(source.source.source), sizes, writer.flag(source.drop)]
    return writer.simple("RebatchDatasetV2", inputs, source)


_WRITERS: dict[type, Callable[[Writer, Any], Value]] = {
    element_functions.Filter: _of_function("FilterDataset", "predicate"),
    element_functions.FlatMap: _of_function("FlatMapDataset", "f"),
    element_functions.Map: _of_function("MapDataset", "f", preserve_cardinality=True),
    checked_elements.Unique: _counted("UniqueDataset"),
    grouping.GroupByWindow: _group,
    grouping.Interleave: _interleave,
    grouping.Scan: _scan,
    grouping.TakeWhile: _of_function("TakeWhileDataset", "predicate"),
    shuffling.Random: _random,
    shuffling.Shuffle: _shuffle,
    sources.Range: _range,
    sources.Slices: _of_tensors("TensorSliceDataset"),
    sources.Tensors: _of_tensors("TensorDataset"),
    transformations.Batch: _batch,
    transformations.Cache: _cache,
    transformations.Concatenate: _concatenate,
    transformations.Enumerate: _enumerate,
    transformations.Prefetch: _counted("PrefetchDataset", "count"),
    transformations.Rebatch: _rebatch,
    transformations.Repeat: _counted("RepeatDataset", "count"),
    transformations.Shard: _counted("ShardDataset", "shards", "index"),
    transformations.Skip: _counted("SkipDataset", "count"),
    transformations.Take: _counted("TakeDataset", "count"),
    transformations.Unbatch: _counted("UnbatchDataset"),
    transformations.WithOptions: lambda writer, source: writer.dataset(source.source),
    transformations.Zip: _zip,
    windows.Directed: _directed,
    windows.PaddedBatch: _padded,
    windows.Window: _window,
}
