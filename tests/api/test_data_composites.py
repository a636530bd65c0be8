"""Datasets of RaggedTensors, SparseTensors, datasets and None: slices, batches, functions of them, in graphs."""

import gc
import os

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import errors

Dataset = fg.data.Dataset


def plain(x):
    """A structure of tensors of any kind in lists."""
    if isinstance(x, tuple | list):
        return tuple(plain(item) for item in x)
    if isinstance(x, dict):
        return {key: plain(item) for key, item in x.items()}
    if isinstance(x, fg.SparseTensor):
        return fg.sparse.to_dense(x).numpy().tolist()
    if isinstance(x, fg.RaggedTensor):
        return x.to_list()
    return x if x is None else x.numpy().tolist()


def all_of(dataset):
    return [plain(x) for x in dataset]


R2 = fg.ragged.constant([[1, 2], [3], [], [4, 5, 6]])
R3 = fg.ragged.constant([[[1, 2], [3]], [], [[4], [], [5, 6]]])
SP = fg.sparse.from_dense([[1, 0], [0, 3], [0, 0]])


@pytest.mark.parametrize(
    ("value", "spec", "rows"),
    [
        (R2, fg.RaggedTensorSpec([None], fg.int32, 0), [[1, 2], [3], [], [4, 5, 6]]),
        (R3, fg.RaggedTensorSpec([None, None], fg.int32, 1), [[[1, 2], [3]], [], [[4], [], [5, 6]]]),
        (
            fg.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], ragged_rank=1),
            fg.RaggedTensorSpec([None, 2], fg.int32, 0),
            [[[1, 2], [3, 4]], [[5, 6]]],
        ),
        (
            fg.RaggedTensor.from_uniform_row_length(fg.ragged.constant([[1], [2, 3], [4], []]), 2),
            fg.RaggedTensorSpec([2, None], fg.int32, 1),
            [[[1], [2, 3]], [[4], []]],
        ),
        (fg.ragged.constant([["a"], ["b", "c"]]), fg.RaggedTensorSpec([None], fg.string, 0), [[b"a"], [b"b", b"c"]]),
        (SP, fg.SparseTensorSpec([2], fg.int32), [[1, 0], [0, 3], [0, 0]]),
    ],
)
def test_slices_and_batches(value, spec, rows):
    dataset = Dataset.from_tensor_slices(value)
    assert dataset.element_spec == spec and int(dataset.cardinality()) == len(rows) and all_of(dataset) == rows
    batches = dataset.batch(2)
    assert all_of(batches) == [rows[i : i + 2] for i in range(0, len(rows), 2)]
    assert all_of(batches.unbatch()) == rows and batches.unbatch().element_spec == spec
    assert all_of(batches.unbatch().batch(len(rows))) == [rows]
    assert all_of(Dataset.from_tensors(value).unbatch()) == rows
    assert all_of(dataset.map(lambda x: x)) == rows
    assert all_of(dataset.shuffle(1).cache().repeat(2).take(len(rows))) == rows
    numbers = [n for n, _ in all_of(dataset.enumerate())]
    assert numbers == list(range(len(rows)))


def test_specs_of_batches():
    assert Dataset.from_tensor_slices(R2).batch(2).element_spec == fg.RaggedTensorSpec([None, None], fg.int32, 1)
    whole = Dataset.from_tensor_slices(R3).batch(2, drop_remainder=True)
    assert whole.element_spec == fg.RaggedTensorSpec([2, None, None], fg.int32, 2) and len(all_of(whole)) == 1
    assert Dataset.from_tensor_slices(SP).batch(2).element_spec == fg.SparseTensorSpec([None, 2], fg.int32)
    scalars = Dataset.from_tensors(R2).unbatch().unbatch()
    assert scalars.element_spec == fg.RaggedTensorSpec([], fg.int32, -1) and all_of(scalars) == [1, 2, 3, 4, 5, 6]
    assert all_of(scalars.batch(4)) == [[1, 2, 3, 4], [5, 6]]


def test_structures_with_composites():
    given = {"s": SP, "r": fg.ragged.constant([[1], [2, 3], []]), "d": [1, 2, 3], "n": None}
    found = all_of(Dataset.from_tensor_slices(given).batch(2))
    assert found[0] == {"s": [[1, 0], [0, 3]], "r": [[1], [2, 3]], "d": [1, 2], "n": None}
    assert len(found) == 2 and found[1]["r"] == [[]]
    with pytest.raises(ValueError, match="Dimensions 4 and 3 are not compatible"):
        Dataset.from_tensor_slices((R2, [5, 6, 7]))


def test_functions_of_composites():
    dataset = Dataset.from_tensor_slices(R3)
    assert all_of(dataset.map(lambda x: x * 2))[0] == [[2, 4], [6]]
    assert all_of(dataset.filter(lambda x: fg.reduce_sum(x) > 6)) == [[[4], [], [5, 6]]]
    assert int(dataset.batch(2).reduce(0, lambda s, x: s + fg.reduce_sum(x))) == 21
    assert all_of(Dataset.from_tensor_slices(SP).map(fg.sparse.to_dense)) == [[1, 0], [0, 3], [0, 0]]
    made = Dataset.range(3).map(lambda x: fg.RaggedTensor.from_row_lengths(fg.range(x), [x]))
    assert all_of(made) == [[[]], [[0]], [[0, 1]]]
    assert all_of(Dataset.range(3).map(lambda x: fg.ragged.range([x, 2])).batch(3)) == [
        [[[], [0, 1]], [[0], [0, 1]], [[0, 1], [0, 1]]]
    ]


def test_composites_in_functions():
    @fg.function
    def total(dataset):
        s = 0
        for x in dataset:
            s += fg.reduce_sum(x)
        return s

    @fg.function
    def inside(r):
        s = 0
        for x in Dataset.from_tensors(r).unbatch().batch(2):
            s += fg.reduce_sum(x)
        return s

    @fg.function
    def following(iterator):
        return next(iterator)

    assert int(total(Dataset.from_tensor_slices(R2))) == int(total(Dataset.from_tensor_slices(R3).batch(2))) == 21
    assert int(inside(R2)) == int(inside(R3)) == 21
    iterator = iter(Dataset.from_tensor_slices(R3))
    assert [plain(following(iterator)) for _ in range(3)] == R3.to_list()
    assert plain(following(iter(Dataset.from_tensor_slices(SP)))) == [1, 0]


def test_numpy_of_composites():
    rows = list(Dataset.from_tensor_slices(SP).as_numpy_iterator())
    np.testing.assert_array_equal(rows, [[1, 0], [0, 3], [0, 0]])
    np.testing.assert_array_equal(next(Dataset.from_tensor_slices(R2).as_numpy_iterator()), [1, 2])
    nested = Dataset.range(2).map(lambda x: Dataset.range(x))
    with pytest.raises(TypeError, match="is not supported for datasets that produce values of type"):
        nested.as_numpy_iterator()


def test_sparse_elements_of_several_shapes():
    spec = fg.SparseTensorSpec([None], fg.int32)
    made = Dataset.from_generator(
        lambda: iter([fg.sparse.from_dense([0, 1]), fg.sparse.from_dense([0, 1, 2])]), output_signature=spec
    )
    assert all_of(made.batch(2)) == [[[0, 1, 0], [0, 1, 2]]]
    with pytest.raises(errors.InvalidArgumentError, match="Rank of input SparseTensor should be > 1"):
        all_of(Dataset.from_tensors(fg.sparse.from_dense([1, 2])).unbatch())


def test_none_in_elements():
    pairs = Dataset.range(4).map(lambda x: (x, None))
    assert pairs.element_spec == (fg.TensorSpec([], fg.int64), fg.NoneTensorSpec())
    assert all_of(pairs) == [(i, None) for i in range(4)]
    assert all_of(pairs.batch(2)) == [([0, 1], None), ([2, 3], None)]
    assert all_of(pairs.batch(2).unbatch()) == all_of(pairs)
    assert all_of(pairs.map(lambda x, y: {"a": y, "b": x}))[3] == {"a": None, "b": 3}
    assert all_of(Dataset.from_tensors((1, None))) == [(1, None)]
    assert all_of(Dataset.from_tensor_slices(([1, 2], None))) == [(1, None), (2, None)]
    assert next(pairs.batch(4).as_numpy_iterator())[1] is None
    assert all_of(Dataset.zip(pairs, pairs).concatenate(Dataset.zip(pairs, pairs)))[7] == ((3, None), (3, None))

    @fg.function
    def total(dataset):
        s = fg.constant(0, fg.int64)
        for x, _ in dataset:
            s += x
        return s

    assert int(total(pairs)) == 6
    one = fg.TensorSpec([], fg.int32)
    assert all_of(Dataset.from_generator(lambda: iter([(1, None)]), output_signature=(one, fg.NoneTensorSpec()))) == [
        (1, None)
    ]


def test_elements_of_nothing():
    for make in (lambda: Dataset.from_tensors(None), lambda: Dataset.range(2).map(lambda x: (None,))):
        with pytest.raises(errors.InvalidArgumentError, match="must be at least minimum 1"):
            make()
    for empty in (None, (None, None), [None]):
        with pytest.raises(ValueError):
            Dataset.from_tensor_slices(empty)
    with pytest.raises(ValueError, match="its return type is NoneTensorSpec"):
        Dataset.range(2).filter(lambda x: None)
    with pytest.raises(TypeError, match="must return a `Dataset` object"):
        Dataset.range(2).flat_map(lambda x: None)


def test_datasets_of_datasets():
    one = Dataset.from_tensors(Dataset.range(3))
    gc.collect()  # the element keeps its dataset
    assert one.element_spec == fg.data.DatasetSpec(fg.TensorSpec([], fg.int64))
    assert [all_of(x) for x in one] == [[0, 1, 2]]
    many = Dataset.range(4).map(lambda x: (x, Dataset.range(x)))
    assert [(int(n), all_of(d)) for n, d in many] == [(i, list(range(i))) for i in range(4)]
    batches = Dataset.range(4).map(lambda x: Dataset.range(x)).batch(2)
    assert batches.element_spec == fg.data.DatasetSpec(fg.TensorSpec([], fg.int64), [None])
    gc.collect()
    assert all_of(batches.unbatch().flat_map(lambda d: d)) == [0, 0, 1, 0, 1, 2]
    both = Dataset.from_tensors((5, Dataset.from_tensor_slices(R2)))
    assert all_of(both.flat_map(lambda n, d: d)) == R2.to_list()


def test_prefetch():
    dataset = Dataset.range(3)
    for size in (None, fg.data.AUTOTUNE, 0, 5):
        assert all_of(dataset.prefetch(size)) == [0, 1, 2]
    with pytest.raises(errors.InvalidArgumentError, match="buffer_size must be >= 0"):
        dataset.prefetch(-2)
    for method in (dataset.take, dataset.batch, dataset.shuffle):
        with pytest.raises(ValueError, match="unsupported type"):
            method(None)


def test_unbatch_of_other_sizes():
    with pytest.raises(ValueError, match="matching leading dimension. Encountered both 2 and 3"):
        Dataset.from_tensors(([1, 2], [1, 2, 3])).unbatch()
    with pytest.raises(ValueError, match="Cannot unbatch an input with scalar components"):
        Dataset.from_tensors(([1, 2], 1)).unbatch()
    unknown = fg.TensorSpec(None, fg.int32)
    for second, text in (([1, 2, 3], "Component 0 had size 2 but component 1 had size, 3"), (1, "non-scalar value")):
        made = Dataset.from_generator(lambda s=second: iter([([1, 2], s)]), output_signature=(unknown, unknown))
        with pytest.raises(errors.InvalidArgumentError, match=text):
            all_of(made.unbatch())


def test_lists_of_datasets_are_one_component():
    kept = Dataset.from_tensors([Dataset.range(3), Dataset.range(4)])
    assert kept.element_spec == fg.data.DatasetSpec(fg.TensorSpec((), fg.int64), [2])
    assert [int(x) for x in kept.unbatch().flat_map(lambda x: x)] == [0, 1, 2, 0, 1, 2, 3]
    named = Dataset.from_tensor_slices({"a": [Dataset.range(3)]})
    assert [[int(y) for y in x["a"]] for x in named] == [[0, 1, 2]]
    with pytest.raises(ValueError, match="unsupported type"):
        Dataset.from_tensors([Dataset.range(3), Dataset.from_tensors(1.0)])

    @fg.function
    def total(n):
        found = fg.constant(0, fg.int64)
        for each in Dataset.from_tensors([Dataset.range(n), Dataset.range(4)]).unbatch():
            found += each.reduce(fg.constant(0, fg.int64), lambda a, b: a + b)
        return found

    assert int(total(fg.constant(3, fg.int64))) == 9


def test_batches_of_other_sizes_with_none():
    pairs = Dataset.range(4).map(lambda x: (x, None)).batch(4, drop_remainder=True).rebatch([2, 2])
    assert pairs.element_spec[0] == fg.TensorSpec([2], fg.int64)
    assert [x.numpy().tolist() for x, _ in pairs] == [[0, 1], [2, 3]]


def test_one_none_among_padding_values_stands_for_a_part_of_the_structure():
    dataset = Dataset.from_tensor_slices([1, 3]).map(
        lambda n: (fg.fill([n], n), {"s": fg.strings.as_string(fg.fill([n], n))})
    )
    (found,) = dataset.padded_batch(2, padding_values=(-1, None))
    assert found[0].numpy().tolist() == [[1, -1, -1], [3, 3, 3]]
    assert found[1]["s"].numpy().tolist() == [[b"1", b"", b""], [b"3", b"3", b"3"]]


@pytest.mark.parametrize(("threads", "cycle"), [(None, 4), (1, 1), (3, 3), (fg.data.AUTOTUNE, 2)])
def test_cycles_of_no_given_length_follow_the_cores_and_the_threads(monkeypatch, threads, cycle):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3}, raising=False)
    dataset = Dataset.range(6).interleave(lambda x: Dataset.from_tensors(x).repeat(2), num_parallel_calls=threads)
    wanted = Dataset.range(6).interleave(lambda x: Dataset.from_tensors(x).repeat(2), cycle_length=cycle)
    assert all_of(dataset) == all_of(wanted)


def test_shards_by_numbers_of_the_elements_around():
    def of(shards):
        source = Dataset.range(10)
        mixed = Dataset.range(2).interleave(lambda i: source.shard(shards(i), i), cycle_length=2)
        return [int(x) for x in mixed]

    assert of(lambda i: 2) == list(range(10))
    assert of(lambda i: i + 1) == [0, 1, 1, 3, 2, 5, 3, 7, 4, 9, 5, 6, 7, 8, 9]
    with pytest.raises(fg.errors.InvalidArgumentError, match="index must be between 0 and 0, got 1"):
        of(lambda i: 1)
