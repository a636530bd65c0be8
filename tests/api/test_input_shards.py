"""AutoShardPolicy: what each of several processes reads of a dataset."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import fastgraph as fg
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
