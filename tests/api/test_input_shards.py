"""AutoShardPolicy: what each of several processes reads of a dataset."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import fastgraph as fg
from fastgraph.data.sharding import batch_size_of
from fastgraph.replication.input import own_part

POLICY = fg.data.experimental.AutoShardPolicy
HINT = fg.data.experimental.SHARD_HINT


def files(folder: Path, n: int = 4) -> list[str]:
    """Write files of five lines each."""
    for i in range(n):
        (folder / f"{i}.txt").write_text("".join(f"{i}{j}\n" for j in range(5)))
    return [str(folder / f"{i}.txt") for i in range(n)]


def with_policy(dataset: Any, policy: Any) -> Any:
    """Return a dataset with a policy among its options."""
    options = fg.data.Options()
    options.experimental_distribute.auto_shard_policy = policy
    return dataset.with_options(options)


def read(dataset: Any, n: int = 2) -> list[list[list[Any]]]:
    """Return the batches of each process, which are all its own."""
    parts = [own_part(dataset, n, index) for index in range(n)]
    assert all(own for _, own in parts)
    return [[batch.numpy().tolist() for batch in part] for part, _ in parts]


def test_files_are_shared_out_and_batches_are_the_process_s_part(tmp_path: Path) -> None:
    names = files(tmp_path)
    lines = fg.data.TextLineDataset(names)
    first, second = read(lines.batch(5))
    assert [len(batch) for batch in first] == [3, 2, 3, 2] and [len(batch) for batch in second] == [2, 3, 2, 3]
    assert list(chain(*first)) == [b"%d%d" % (i, j) for i in (0, 2) for j in range(5)]
    inside = fg.data.Dataset.from_tensor_slices(names).interleave(fg.data.TextLineDataset, cycle_length=2).batch(4)
    shuffled = fg.data.Dataset.list_files(str(tmp_path / "*.txt")).flat_map(lambda n: fg.data.TextLineDataset(n))
    for dataset in (inside, shuffled.shuffle(7).batch(4).prefetch(1)):
        parts = [sorted(chain(*batches)) for batches in read(dataset)]
        assert parts == [[b"%d%d" % (i, j) for i in own for j in range(5)] for own in ((0, 2), (1, 3))]
    assert sum(len(batch) for batch in lines.batch(5)) == 20  # the pipeline itself is as it was


def test_too_few_files_are_shared_out_by_their_elements_or_are_an_error(tmp_path: Path) -> None:
    lines = fg.data.TextLineDataset(files(tmp_path, 1)).batch(2)
    assert own_part(lines, 2, 0) == (lines, False)
    with pytest.raises(fg.errors.InvalidArgumentError, match="a file for each of 2 processes, and the dataset reads 1"):
        own_part(with_policy(lines, POLICY.FILE), 2, 0)


def test_without_files_and_with_data_each_process_takes_rows_of_each_batch(tmp_path: Path) -> None:
    numbers = fg.data.Dataset.range(8).batch(4)
    assert own_part(numbers, 2, 1) == (numbers, False)
    lines = with_policy(fg.data.TextLineDataset(files(tmp_path)).batch(5), POLICY.DATA)
    assert own_part(lines, 2, 1) == (lines, False)


def test_off_leaves_all_to_each_and_a_hint_is_where_to_shard() -> None:
    off = with_policy(fg.data.Dataset.range(8).batch(4), POLICY.OFF)
    assert read(off) == [[[0, 1], [2, 3], [4, 5], [6, 7]]] * 2
    hinted = fg.data.Dataset.range(8).shard(HINT, HINT).map(lambda n: n * 10).batch(4)
    assert read(with_policy(hinted, POLICY.HINT)) == [[[0, 20], [40, 60]], [[10, 30], [50, 70]]]
    with pytest.raises(fg.errors.InvalidArgumentError, match="SHARD_HINT"):
        list(hinted)


def test_batches_of_unknown_size_are_read_in_parts_of_which_some_are_empty() -> None:
    mapped = with_policy(fg.data.Dataset.range(8).batch(4).map(lambda n: n), POLICY.OFF)
    assert read(mapped) == [[[0, 1], [2, 3], [4, 5], [6, 7]]] * 2
    alone = with_policy(fg.data.Dataset.range(5).batch(5).map(lambda n: (n,)), POLICY.OFF)
    assert [[n.numpy().tolist() for n in each] for each in own_part(alone, 2, 0)[0]] == [[[0, 1, 2]], [[3, 4]]]
    sizes = fg.data.Dataset.from_tensor_slices([5, 1]).map(fg.range)  # as TensorFlow's _LegacyRebatchDataset
    assert read(with_policy(sizes, POLICY.OFF), 4) == [[[0, 1], [2, 3], [4], [], [0], [], [], []]] * 4
    ragged = sizes.map(
        lambda row: {"n": row, "of": (fg.RaggedTensor.from_row_lengths(row, fg.ones_like(row)), row + 1)}
    )
    part, own = own_part(with_policy(ragged, POLICY.OFF), 2, 1)
    found = [(each["n"].numpy().tolist(), each["of"][0].to_list(), each["of"][1].shape[0]) for each in part]
    assert own and found == [([0, 1, 2], [[0], [1], [2]], 3), ([3, 4], [[3], [4]], 2), ([0], [[0]], 1), ([], [], 0)]


def test_files_of_batches_of_unknown_size_are_shared_out(tmp_path: Path) -> None:
    lines = fg.data.TextLineDataset(files(tmp_path)).batch(5).map(lambda line: line)
    assert [list(chain(*batches)) for batches in read(lines)] == [
        [b"%d%d" % (i, j) for i in own for j in range(5)] for own in ((0, 2), (1, 3))
    ]


def test_rows_that_specs_and_padded_batches_say_are_known() -> None:
    padded = fg.data.Dataset.range(1, 6).map(fg.range).padded_batch(3)  # as two processes of TensorFlow have them
    assert read(with_policy(padded, POLICY.OFF)) == [
        [[[0, 0, 0], [0, 1, 0]], [[0, 1, 2]], [[0, 1, 2, 3, 0], [0, 1, 2, 3, 4]]],  # an empty one is agreed on
        [[[0, 0, 0]], [[0, 1, 0], [0, 1, 2]], [[0, 1, 2, 3, 0]], [[0, 1, 2, 3, 4]]],
    ]
    sparse = fg.data.Dataset.from_tensors(fg.sparse.from_dense([[1, 0], [0, 2], [3, 0]]))
    for element, rows in ((sparse, [1, 2]), (fg.data.Dataset.from_tensors(fg.range(3)), [1, 2])):
        assert [each.shape[0] for each in own_part(with_policy(element, POLICY.OFF), 2, 1)[0]] == rows


def test_the_sizes_of_batches_are_those_tensorflow_knows() -> None:
    numbers = fg.data.Dataset.range(9)
    four, pair = numbers.batch(4), (fg.range(3), fg.range(2))
    unknown = [
        four.rebatch(2),
        four.ignore_errors(),
        numbers.batch(4, num_parallel_calls=2),
        numbers.window(4),
        numbers,
    ]
    unknown += [four.concatenate(numbers.batch(3)), four.map(abs), fg.data.Dataset.from_tensors(pair)]
    known = [four.filter(lambda n: True), four.concatenate(four), fg.data.Dataset.zip((four, four)), four.take(1)]
    known += [four.shuffle(2).repeat(), numbers.batch(4, True).map(abs), numbers.padded_batch(4).prefetch(1)]
    assert [batch_size_of(each.source) for each in (*unknown, *known)] == [-1] * len(unknown) + [4] * len(known)


def test_what_regroups_elements_of_files_or_has_others_is_shared_out_by_elements(tmp_path: Path) -> None:
    lines = fg.data.TextLineDataset(files(tmp_path))
    numbers = fg.data.Dataset.range(20)
    some = [lines.group_by_window(lambda line: fg.constant(0, fg.int64), lambda _, window: window.batch(3), 3)]
    some += [lines.enumerate().batch(2), fg.data.Dataset.zip((lines, numbers)).batch(2), lines.unique().batch(2)]
    some += [
        lines.concatenate(fg.data.Dataset.from_tensors("x")).batch(2),
        lines.take_while(lambda line: True).batch(2),
    ]
    for dataset in some:
        assert own_part(dataset, 2, 0) == (dataset, False)
        with pytest.raises(fg.errors.NotFoundError, match="the dataset reads none, or not for all of its elements"):
            own_part(with_policy(dataset, POLICY.FILE), 2, 0)
    assert own_part(
        fg.data.Dataset.zip((lines, lines)).concatenate(fg.data.Dataset.zip((lines, lines))).batch(2), 2, 0
    )[1]


def test_batches_of_no_rows_take_none_of_ragged_and_sparse_ones() -> None:
    rows = fg.data.Dataset.from_tensors(fg.ragged.constant([[1], [2, 3], []]))
    assert [part.to_list() for part in rows.rebatch([0, 2])] == [[], [[1], [2, 3]], [], [[]]]
    assert [part.to_list() for part in rows.rebatch([1, 0])] == [[[1]], [], [[2, 3]], [], [[]], []]
    sparse = fg.data.Dataset.from_tensors(fg.sparse.from_dense([[1, 0], [0, 2]]))
    assert [part.dense_shape.numpy().tolist() for part in sparse.rebatch([0, 2])] == [[0, 2], [2, 2], [0, 2]]
