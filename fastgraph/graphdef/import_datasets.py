"""Datasets and iterators of GraphDefs: each operation is the method of tf.data that writes it.

Rule: a dataset is no tensor, and what holds one (`Held`) stands in its place. Its elements are flat tuples of tensors,
lists of tensors and datasets, as the operations' functions take them. Files are opened where that was allowed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fastgraph.api import namespaces
from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import int64, string
from fastgraph.core.registry import get, public_function
from fastgraph.core.tensor import Tensor, convert
from fastgraph.errors import NotFoundError
from fastgraph.graphdef.import_lists import TensorList
from fastgraph.graphdef.import_records import RECORDS
from fastgraph.graphdef.import_values import attribute, fixed, fixed_text
from fastgraph.graphdef.messages import Message
from fastgraph.ops.families import bind_named
from fastgraph.ops.joining import stack
from fastgraph.ops.movement import size

if TYPE_CHECKING:
    from fastgraph.graphdef.importer import Body

#: The nodes around, the node's name, its inputs and its attributes.
Make = Callable[["Body", str, list[Any], dict[str, Any]], Any]


class Held:
    """The place of a dataset, an iterator or an Optional while a graph is built."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _public(name: str) -> Any:
    return getattr(namespaces.file_module("data"), name)


def leaves(element: Any) -> list[Any]:
    """Return the values of an element, one after the other; a dataset or RaggedTensor among them as what holds it."""
    if isinstance(element, tuple | dict) and not isinstance(element, TensorList):
        parts = [element[key] for key in sorted(element)] if isinstance(element, dict) else element
        return [leaf for part in parts for leaf in leaves(part)]
    return [element if isinstance(element, Tensor | TensorList) else Held(element)]


def _element(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([value.value if isinstance(value, Held) else value for value in values])


def _function(body: Body, name: str, captured: Sequence[Any]) -> Callable[..., list[Any]]:
    """Return a function of the library as one of elements, which takes `captured` besides."""
    return lambda *element: body.function(name, [*leaves(element), *captured])


def _flag(value: Any, name: str) -> bool:
    return bool(fixed(value, f"Node '{name}': whether a remainder is dropped"))


# ---- Datasets -------------------------------------------------------------------------------------------------------


def _range(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return _public("Dataset").range(*inputs, output_type=attrs["output_types"][0])


def _map(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any], *, fixed_inputs: int = 1) -> Any:
    """A map; of the parallel ones the number of calls comes last."""
    dataset, *rest = inputs
    number = rest.pop() if fixed_inputs == 2 else attrs.get("num_parallel_calls")
    call = _function(body, attrs["f"], rest)
    ordered = {"true": True, "false": False}.get(attrs.get("deterministic", "default"))
    return dataset.value.map(lambda *element: _element(call(*element)), number, ordered)


def _parallel_map(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return _map(body, name, inputs, attrs, fixed_inputs=2)


def _map_and_batch(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    *rest, size, calls, drop = inputs
    return _map(body, name, [*rest, calls], attrs, fixed_inputs=2).batch(size, _flag(drop, name))


def _of_predicate(method: str) -> Make:
    def make(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        dataset, *captured = inputs
        call = _function(body, attrs["predicate"], captured)
        return getattr(dataset.value, method)(lambda *element: call(*element)[0])

    return make


def _flat_map(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    dataset, *captured = inputs
    call = _function(body, attrs["f"], captured)
    return dataset.value.flat_map(lambda *element: call(*element)[0].value)


def _interleave(behind: int) -> Make:
    """Interleaved datasets; `behind` inputs after what the function captured: the cycle, the block, and what helps."""

    def make(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        dataset, *captured = inputs[:-behind]
        said = inputs[-behind:]
        call = _function(body, attrs["f"], captured)
        return dataset.value.interleave(lambda *element: call(*element)[0].value, said[0], said[1])

    return make


def _padded_batch(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    dataset, size, *rest = inputs
    n = attrs["N"]
    spec = dataset.value.element_spec
    shapes, values = nesting.pack_sequence_as(spec, rest[:n]), nesting.pack_sequence_as(spec, rest[n : 2 * n])
    return dataset.value.padded_batch(size, shapes, values, len(rest) > 2 * n and _flag(rest[-1], name))


def _seeds(inputs: Sequence[Any], name: str) -> tuple[int, int] | None:
    """The two seeds of an operation, None for 0 and 0: numbers that nobody knows."""
    if len(inputs) < 2 or any(isinstance(seed, Held) for seed in inputs[:2]):
        raise NotFoundError(None, None, f"Node '{name}': a dataset without seeds of its own has no equal here")
    first, second = [int(fixed(seed, f"Node '{name}': a seed")) for seed in inputs[:2]]
    return (first, second) if first or second else None


def _shuffle(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    dataset, size, *seeds = inputs
    again = attrs.get("reshuffle_each_iteration", True)
    return dataset.value._shuffled(size, _seeds(seeds, name), again)


def _random(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    again = attrs.get("rerandomize_each_iteration", False)
    return _public("Dataset")._random(_seeds(inputs, name), again)


def _rebatch(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    dataset, sizes, drop = inputs
    found = fixed(sizes, f"Node '{name}': the sizes of batches")
    return dataset.value.rebatch(found.tolist(), _flag(drop, name))


def _shuffle_and_repeat(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return _shuffle(body, name, inputs[:4], attrs).repeat(inputs[4])


def _cache(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return inputs[0].value.cache(_file(body, name, inputs[1], "the file of a cache"))


def _file(body: Body, name: str, path: Any, what: str) -> str:
    """The path of what a dataset keeps in files, "" for none."""
    file = fixed_text(path, f"Node '{name}': {what}")
    if file and not body.library.opens_files:
        raise NotFoundError(None, None, f"Node '{name}': {what} was not allowed when it was loaded")
    return os.fsdecode(file)


def _snapshot(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    dataset, path, *captured = inputs
    n = len(attrs["Treader_func_args"] or [])
    read = _function(body, attrs["reader_func"], captured[:n])
    shard = _function(body, attrs["shard_func"], captured[n:])
    return dataset.value.snapshot(
        _file(body, name, path, "the folder of a snapshot"),
        attrs.get("compression") or None,
        lambda shards: read(shards)[0].value,
        lambda *element: shard(*element)[0],
    )


def _of_files(function: str) -> Make:
    """The contents of files, one after the other: their names, how they are packed, what helps."""

    def make(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        packed = fixed_text(inputs[1], f"Node '{name}': how files are packed").decode()
        return _public(function)(inputs[0], packed)

    return make


def _of_lengths(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    files, header, record, footer, *rest = inputs
    packed = fixed_text(rest[1], f"Node '{name}': how files are packed").decode() if len(rest) > 1 else None
    sizes = [int(fixed(each, f"Node '{name}': a number of bytes")) for each in (record, header, footer)]
    return _public("FixedLengthRecordDataset")(files, *sizes, compression_type=packed)


def _csv(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Rows of files; columns that are left out are said as those read, or (of the newer operation) as those not."""
    n = len(attrs["output_types"])
    files, packed, length, *said = inputs[:8]
    defaults, more = inputs[8 : 8 + n], inputs[8 + n :]
    what = f"Node '{name}': how rows are read"
    header, quotes = bool(fixed(said[0], what)), bool(fixed(said[2], what))
    packed, delimiter, missing = [fixed_text(each, what).decode("latin-1") for each in (packed, said[1], said[3])]
    chosen, excluded = [[int(i) for i in fixed(each, what)] or None for each in (said[4], *more)] + [None] * (not more)
    values = [convert(each) for each in defaults]
    return _public("experimental").CsvDataset(
        files, values, packed, length, header, delimiter, quotes, missing, chosen, excluded
    )


#: Those that open files.
OF_FILES: dict[str, Make] = {
    "CSVDataset": _csv,
    "CSVDatasetV2": _csv,
    "FixedLengthRecordDataset": _of_lengths,
    "FixedLengthRecordDatasetV2": _of_lengths,
    "TextLineDataset": _of_files("TextLineDataset"),
    "TFRecordDataset": _of_files("TFRecordDataset"),
    "TFRecordDatasetV2": _of_files("TFRecordDataset"),
}


def _concatenate(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    first, second = [_flat(each.value) for each in inputs]
    return first.concatenate(second)


def _flat(dataset: Any) -> Any:
    """The dataset with flat elements, which the structures of two operands have in common."""
    return dataset.map(lambda *element: _element(leaves(element)))


def _window(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    dataset, size, shift, stride, drop = inputs
    return dataset.value.window(size, shift, stride, _flag(drop, name))


def _scan(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    n = len(attrs["Tstate"])
    dataset, state, captured = inputs[0], inputs[1 : n + 1], inputs[n + 1 :]

    def step(now: Any, element: Any) -> Any:
        found = _element(body.function(attrs["f"], [*now, *leaves(element), *captured]))
        return found[:n], found[n:]

    return dataset.value.scan(_element(state), step)


def _group(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    counts = [len(attrs[f"T{part}_func_other_arguments"] or []) for part in ("key", "reduce", "window_size")]
    dataset, *rest = inputs
    key = _function(body, attrs["key_func"], rest[: counts[0]])
    reduce = _function(body, attrs["reduce_func"], rest[counts[0] : counts[0] + counts[1]])
    size = _function(body, attrs["window_size_func"], rest[counts[0] + counts[1] :])
    return dataset.value.group_by_window(
        lambda *element: key(*element)[0], lambda k, group: reduce(k, group)[0].value, None, lambda k: size(k)[0]
    )


def _chosen(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    choices, *datasets = [each.value for each in inputs]
    stop = attrs.get("stop_on_empty_dataset", False)
    return _public("Dataset").choose_from_datasets([_flat(each) for each in datasets], _single(choices), stop)


def _single(dataset: Any) -> Any:
    return dataset.map(lambda *element: leaves(element)[0])


def _method(name: str, *, also: tuple[str, ...] = ()) -> Make:
    """A method of the same arguments."""
    return lambda body, node, inputs, attrs: getattr(inputs[0].value, name)(*inputs[1:], *[attrs[x] for x in also])


def _same(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return inputs[0].value  # how it is made, not what


# ---- Datasets made of others ----------------------------------------------------------------------------------------


def _reduce(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    n = len(attrs["Tstate"])
    dataset, state, captured = inputs[0], inputs[1 : n + 1], inputs[n + 1 :]

    def step(now: Any, element: Any) -> Any:
        return _element(body.function(attrs["f"], [*now, *leaves(element), *captured]))

    return leaves(dataset.value.reduce(_element(state), step))


def _cardinality(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return public_function("identity")(inputs[0].value.cardinality(), name=name)


def _new_holder(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return [Held(None), Held(None)]  # MakeIterator gives it its iterator; the other one is what deletes it


def _make_iterator(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    dataset, iterator = inputs
    iterator.value = iter(dataset.value)


def _begun(iterator: Held, name: str) -> Any:
    if iterator.value is None:
        raise NotFoundError(None, None, f"Node '{name}': an iterator that another graph begins has no equal here")
    return iterator.value


def _next(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return leaves(next(_begun(inputs[0], name)))


def _some(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    element = _element(inputs)
    return Held(_public("experimental").Optional.from_value(element[0] if len(element) == 1 else element))


def zeros_of(optional: Held) -> Held:
    """Return an Optional that holds zeros, or nothing, as another one does."""
    spec = optional.value._type_spec
    has_value, *parts = spec._to_components(optional.value)
    return Held(spec._from_components((has_value, *map(public_function("zeros_like"), parts))))


def _nothing(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return bind_named(name, get("no_op"), (), {})


def _ragged(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """A RaggedTensor; a tensor is a row of one, that rows of other lengths may stand beside it in a batch."""
    splits: list[Any] = [convert(each) for each in inputs]
    values: Any = splits.pop()
    if not splits and not attrs.get("batched_input") and values.shape.rank:
        splits = [stack([0, size(values, attrs.get("Tsplits", int64))])]
    for each in reversed(splits):
        values = RaggedTensor.from_row_splits(values, each, validate=False)
    return leaves(values)


def _parts(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    value = inputs[0].value if isinstance(inputs[0], Held) else inputs[0]
    if isinstance(value, RaggedTensor) and len(value.nested_row_splits) == attrs["output_ragged_rank"] + 1:
        value = value.values  # rows that were tensors, one each
    splits = value.nested_row_splits if isinstance(value, RaggedTensor) else ()
    if len(splits) != attrs["output_ragged_rank"] or isinstance(value, TensorList):
        raise NotFoundError(None, None, f"Node '{name}': variants that become ragged here have no equal here")
    return [*splits, value.flat_values if splits else value]


def _sparse(op: str) -> Make:
    """A SparseTensor in a variant; in texts, as everywhere else."""

    def make(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        parts = [convert(each) for each in inputs]
        return (
            RECORDS[op](name, parts, attrs) if attrs.get("out_type", string) == string else leaves(SparseTensor(*parts))
        )

    return make


def _sparse_parts(body: Body, name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    value = inputs[0].value if isinstance(inputs[0], Held) else inputs[0]
    if not isinstance(value, SparseTensor):
        raise NotFoundError(None, None, f"Node '{name}': sparse tensors in texts, of any rank, have no equal here")
    return [value.indices, value.values, value.dense_shape]


#: Those that give a dataset.
MADE: dict[str, Make] = {
    "AssertCardinalityDataset": lambda body, name, inputs, attrs: inputs[0].value.apply(
        _public("experimental").assert_cardinality(inputs[1])
    ),
    "BatchDataset": lambda body, name, inputs, attrs: inputs[0].value.batch(inputs[1]),
    "BatchDatasetV2": lambda body, name, inputs, attrs: inputs[0].value.batch(inputs[1], _flag(inputs[2], name)),
    "CacheDataset": _cache,
    "CacheDatasetV2": _cache,
    "ConcatenateDataset": _concatenate,
    "DenseToSparseBatchDataset": lambda body, name, inputs, attrs: _single(inputs[0].value).apply(
        _public("experimental").dense_to_sparse_batch(inputs[1], fixed(inputs[2], f"Node '{name}': the shape of rows"))
    ),
    "DirectedInterleaveDataset": _chosen,
    "FilterDataset": _of_predicate("filter"),
    "FlatMapDataset": _flat_map,
    "GroupByWindowDataset": _group,
    "IgnoreErrorsDataset": lambda body, name, inputs, attrs: inputs[0].value.ignore_errors(),
    "InterleaveDataset": _interleave(2),
    "LegacyParallelInterleaveDatasetV2": _interleave(4),
    "MapAndBatchDataset": _map_and_batch,
    "MapDataset": _map,
    "PaddedBatchDataset": _padded_batch,
    "PaddedBatchDatasetV2": _padded_batch,
    "ParallelBatchDataset": lambda body, name, inputs, attrs: inputs[0].value.batch(inputs[1], _flag(inputs[3], name)),
    "ParallelFilterDataset": lambda body, name, inputs, attrs: MADE["FilterDataset"](body, name, inputs[:-1], attrs),
    "ParallelInterleaveDatasetV2": _interleave(3),
    "ParallelInterleaveDatasetV3": _interleave(3),
    "ParallelInterleaveDatasetV4": _interleave(5),
    "ParallelMapDataset": _parallel_map,
    "ParallelMapDatasetV2": _parallel_map,
    "PrefetchDataset": _method("prefetch"),
    "RandomDataset": _random,
    "RandomDatasetV2": _random,
    "RangeDataset": _range,
    "RebatchDatasetV2": _rebatch,
    "RepeatDataset": _method("repeat"),
    "ScanDataset": _scan,
    "ShardDataset": _method("shard"),
    "ShuffleAndRepeatDataset": _shuffle_and_repeat,
    "ShuffleAndRepeatDatasetV2": _shuffle_and_repeat,
    "ShuffleDataset": _shuffle,
    "ShuffleDatasetV3": _shuffle,
    "SkipDataset": _method("skip"),
    "SnapshotDatasetV2": _snapshot,
    "SparseTensorSliceDataset": lambda body, name, inputs, attrs: _public("Dataset").from_tensor_slices(
        SparseTensor(*[convert(each) for each in inputs])
    ),
    "TakeDataset": _method("take"),
    "TakeWhileDataset": _of_predicate("take_while"),
    "TensorDataset": lambda body, name, inputs, attrs: _public("Dataset").from_tensors(_element(inputs)),
    "TensorSliceDataset": lambda body, name, inputs, attrs: _public("Dataset").from_tensor_slices(_element(inputs)),
    "UnbatchDataset": _method("unbatch"),
    "UniqueDataset": _method("unique"),
    "WindowDataset": _window,
    "ZipDataset": lambda body, name, inputs, attrs: _public("Dataset").zip(_element(inputs)),
    **OF_FILES,
    **dict.fromkeys(
        ("FinalizeDataset", "MaxIntraOpParallelismDataset", "ModelDataset", "OptimizeDataset", "OptimizeDatasetV2",
         "OptionsDataset", "PrivateThreadPoolDataset", "RewriteDataset"), _same),
}  # fmt: skip

#: Those that give something else.
_OTHERS: dict[str, Make] = {
    **dict.fromkeys(("AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3", "AnonymousMemoryCache",
                     "AnonymousSeedGenerator", "DummyMemoryCache", "DummySeedGenerator"), _new_holder),
    **dict.fromkeys(("DeleteIterator", "DeleteMemoryCache", "DeleteSeedGenerator"), _nothing),
    "DatasetCardinality": _cardinality,
    "DatasetToSingleElement": lambda body, name, inputs, attrs: leaves(inputs[0].value.get_single_element()),
    "DeserializeSparse": _sparse_parts,
    "GetElementAtIndex": lambda body, name, inputs, attrs: leaves(_public("experimental").at(*_element(inputs))),
    "IteratorGetNext": _next,
    "IteratorGetNextAsOptional": lambda body, name, inputs, attrs: Held(_begun(inputs[0], name).get_next_as_optional()),
    "IteratorGetNextSync": _next,
    "MakeIterator": _make_iterator,
    "OptionalFromValue": _some,
    "OptionalGetValue": lambda body, name, inputs, attrs: leaves(inputs[0].value.get_value()),
    "OptionalNone": lambda body, name, inputs, attrs: Held(_public("experimental").Optional.empty(None)),
    "OptionalHasValue": lambda body, name, inputs, attrs: public_function("identity")(
        inputs[0].value.has_value(), name=name
    ),
    "RaggedTensorFromVariant": _parts,
    "RaggedTensorToVariant": _ragged,
    "ReduceDataset": _reduce,
    "SerializeManySparse": _sparse("SerializeManySparse"),
    "SerializeSparse": _sparse("SerializeSparse"),
}  # fmt: skip

SERVED = frozenset({*MADE, *_OTHERS})


def place(node: Message, argument: str) -> int:
    """Return at which of an operation's results the one of this name is, or begins where it is a list."""
    if argument == "output_dense_values":
        return int(attribute(node.attr["output_ragged_rank"]))
    return {"deleter": 1, "sparse_shape": 2, "sparse_values": 1}.get(argument, 0)


def results(body: Body, name: str, op: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Return what an operation of SERVED gives: `Held` ones, tensors and lists of tensors."""
    if any(isinstance(each, TensorList) for each in inputs) and op in ("TensorDataset", "TensorSliceDataset"):
        raise NotFoundError(None, None, f"Node '{name}': a dataset of lists of tensors has no equal here")
    make = MADE.get(op)
    return _OTHERS[op](body, name, inputs, attrs) if make is None else Held(make(body, name, inputs, attrs))
