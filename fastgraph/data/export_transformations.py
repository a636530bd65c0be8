"""Datasets as TensorFlow's operations: one function for each way in which a dataset is made.

Rule: one row of WRITERS each; what takes rows apart or batches them is in export_elements.py.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.dtype import string
from fastgraph.core.conversion import constant
from fastgraph.data import (
    checked_elements,
    csv_files,
    element_functions,
    export_elements,
    grouping,
    record_datasets,
    shuffling,
    sources,
    stored_elements,
    transformations,
    windows,
)
from fastgraph.data.dataset_base import made
from fastgraph.data.dataset_exporter import WRITERS, Attrs, Unwritten, Writer, element_types, types_of_spec
from fastgraph.data.element_functions import Mapped
from fastgraph.graph.ir import Value
from fastgraph.graphdef.op_table import Dims, types_of
from fastgraph.ops.movement import reshape


def _range(writer: Writer, source: Any) -> Value:
    return writer.simple("RangeDataset", [writer.number(each) for each in source.limits], source)


def _tensors(writer: Writer, source: Any) -> Value:
    values = [writer.tensor(each) for each in source.tensors]
    attrs = types_of_spec(source)
    types = {"Toutput_types": attrs["output_types"], "output_shapes": attrs["output_shapes"]}
    return writer.add("TensorDataset", values, types)


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
    file = os.fsencode(source.path) if isinstance(source, stored_elements.FileCache) else b""
    inputs = [writer.dataset(source.source), writer.constant(np.array(file, object))]
    return writer.simple("CacheDataset", inputs, source)


def _snapshot(writer: Writer, source: Any) -> Value:
    inputs = [writer.dataset(source.source), writer.constant(np.array(os.fsencode(source.folder), object))]
    read, shard = source.mapped
    shard = shard or Mapped(lambda *element: constant(0, dtypes.int64), source.spec, "snapshot()")
    attrs = Attrs(compression=source.compression or "")
    for part, mapped in (("reader", read), ("shard", shard)):
        values, said = writer.function(mapped, (), f"{part}_func", f"T{part}_func_args")
        inputs += values
        attrs.update(said)
    return writer.simple("SnapshotDatasetV2", inputs, source, **attrs)


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
    return export_elements.rebatch(writer, source, sizes)


_BLOCK = 1 << 18  # bytes that are read at once


def _text(writer: Writer, value: Any) -> Value:
    return writer.constant(np.array((value or "").encode("latin-1"), object))


def _files(writer: Writer, source: Any) -> Value:
    """The elements of files; of several that take turns, a dataset for each."""
    kind, said, names = source.name.removesuffix("V2"), source.blocks.keywords, writer.tensor(source.filenames)
    if source.turns is not None:
        slices = writer.add("TensorSliceDataset", [names], {"Toutput_types": [string], "output_shapes": [Dims(())]})
        one = lambda name: made(record_datasets.Files, reshape(name, [-1]), blocks=source.blocks, turns=None, name=kind)
        values, attrs = writer.function(Mapped(one, source.spec, "interleave()"), (), "f")
        numbers = [writer.number(source.turns), writer.number(1)]
        return writer.simple("InterleaveDataset", [slices, *values, *numbers], source, **attrs)
    compression, size = _text(writer, said["compression"]), writer.number(said["block"])
    if kind == "FixedLengthRecordDataset":
        lengths = [writer.number(said[name]) for name in ("header", "size", "footer")]
        return writer.add("FixedLengthRecordDatasetV2", [names, *lengths, size, compression], {})
    return writer.add(kind, [names, compression, size], {})


def _csv(writer: Writer, source: Any) -> Value:
    said = source.options
    columns, excluded = [np.array(sorted(said[name] or ()), np.int64) for name in ("columns", "excluded")]
    inputs = [
        writer.tensor(source.paths), _text(writer, said["compression_type"]), writer.number(_BLOCK),
        writer.flag(said["header"]), _text(writer, said["field_delim"]), writer.flag(said["use_quote_delim"]),
        _text(writer, said["na_value"]), writer.constant(columns),
        *[writer.tensor(each) for each in source.defaults], writer.constant(excluded),
    ]  # fmt: skip
    return writer.simple("CSVDatasetV2", inputs, source)


WRITERS.update({
    element_functions.Filter: _of_function("FilterDataset", "predicate"),
    element_functions.FlatMap: _of_function("FlatMapDataset", "f"),
    element_functions.Map: _of_function("MapDataset", "f", preserve_cardinality=True),
    csv_files.CsvRows: _csv,
    checked_elements.Unique: _counted("UniqueDataset"),
    grouping.GroupByWindow: _group,
    grouping.Interleave: _interleave,
    grouping.Scan: _scan,
    grouping.TakeWhile: _of_function("TakeWhileDataset", "predicate"),
    record_datasets.Files: _files,
    shuffling.Random: _random,
    shuffling.Shuffle: _shuffle,
    sources.Range: _range,
    sources.Slices: export_elements.slices,
    sources.Tensors: _tensors,
    stored_elements.FileCache: _cache,
    stored_elements.Snapshot: _snapshot,
    transformations.Batch: export_elements.batch,
    transformations.Cache: _cache,
    transformations.Concatenate: _concatenate,
    transformations.Enumerate: _enumerate,
    transformations.Prefetch: _counted("PrefetchDataset", "count"),
    transformations.Rebatch: _rebatch,
    transformations.Repeat: _counted("RepeatDataset", "count"),
    transformations.Shard: _counted("ShardDataset", "shards", "index"),
    transformations.Skip: _counted("SkipDataset", "count"),
    transformations.Take: _counted("TakeDataset", "count"),
    transformations.Unbatch: export_elements.unbatch,
    transformations.WithOptions: lambda writer, source: writer.dataset(source.source),
    transformations.Zip: _zip,
    windows.Directed: _directed,
    windows.PaddedBatch: _padded,
    windows.RaggedRows: export_elements.ragged_rows,
    windows.Window: export_elements.window,
})  # fmt: skip
