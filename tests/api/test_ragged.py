"""RaggedTensor and tf.ragged against lists: values, gradients of both orders, Functions, errors, specs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.errors import InvalidArgumentError

RAGGED = settings(max_examples=25, deadline=None)

A = fg.ragged.constant([[1.0, 2.0], [], [3.0]])
B = fg.ragged.constant([[[1.0], [2.0, 3.0]], [], [[4.0, 5.0, 6.0]]])
V = fg.RaggedTensor.from_row_splits(np.arange(6, dtype=np.float32).reshape(3, 2), [0, 2, 2, 3])
SAMPLES = {"A": A, "B": B, "V": V}
MASK = fg.ragged.constant([[True, False], [], [True]])

#: Name -> (which RaggedTensor, what is done, the result as lists).
CASES: dict[str, Any] = {
    "plus": ("A", lambda r: r + 1.0, [[2, 3], [], [4]]),
    "minus": ("A", lambda r: 1.0 - r, [[0, -1], [], [-2]]),
    "itself": ("A", lambda r: r * r, [[1, 4], [], [9]]),
    "column": ("A", lambda r: r + fg.constant([[1.0], [2.0], [3.0]]), [[2, 3], [], [6]]),
    "column_first": ("A", lambda r: fg.constant([[1.0], [2.0], [3.0]]) + r, [[2, 3], [], [6]]),
    "inner_row": ("V", lambda r: r * [10.0, 100.0], [[[0, 100], [20, 300]], [], [[40, 500]]]),
    "compare": ("A", lambda r: r > 1.5, [[False, True], [], [True]]),
    "where": ("A", lambda r: fg.where(r > 1.5, r, 0.0), [[0, 2], [], [3]]),
    "where_list": ("A", lambda r: fg.where(r > 1.5, [[5.0], [6.0], [7.0]], r), [[1, 5], [], [7]]),
    "cast": ("A", lambda r: fg.cast(r, fg.int32), [[1, 2], [], [3]]),
    "zeros": ("B", fg.zeros_like, [[[0], [0, 0]], [], [[0, 0, 0]]]),
    "tanh": ("A", fg.tanh, [np.tanh([1, 2]).tolist(), [], np.tanh([3]).tolist()]),
    "softmax": ("A", fg.nn.softmax, [(np.exp([1, 2]) / np.exp([1, 2]).sum()).tolist(), [], [1]]),
    "sum": ("A", fg.reduce_sum, 6),
    "sum_0": ("A", lambda r: fg.reduce_sum(r, 0), [4, 2]),
    "sum_1": ("A", lambda r: fg.reduce_sum(r, 1), [3, 0, 3]),
    "sum_kept": ("A", lambda r: fg.reduce_sum(r, 1, keepdims=True), [[3], [0], [3]]),
    "prod": ("A", lambda r: fg.reduce_prod(r, -1), [2, 1, 3]),
    "max": ("B", lambda r: fg.reduce_max(r, 2), [[1, 3], [], [6]]),
    "min_0": ("B", lambda r: fg.reduce_min(r, 0), [[1, 5, 6], [2, 3]]),
    "sum_b1": ("B", lambda r: fg.reduce_sum(r, 1), [[3, 3], [], [4, 5, 6]]),
    "sum_b02": ("B", lambda r: fg.reduce_sum(r, [0, 2]), [16, 5]),
    "sum_b12": ("B", lambda r: fg.reduce_sum(r, [1, 2]), [6, 0, 15]),
    "mean_0": ("A", lambda r: fg.reduce_mean(r, 0), [2, 2]),
    "sum_dense_axis": ("V", lambda r: fg.reduce_sum(r, 2), [[1, 5], [], [9]]),
    "any": ("A", lambda r: fg.reduce_any(r > 2.5, 1), [False, False, True]),
    "all": ("A", lambda r: fg.reduce_all(r > 1.5, 1), [False, True, True]),
    "concat_0": ("A", lambda r: fg.concat([r, r], 0), [[1, 2], [], [3], [1, 2], [], [3]]),
    "concat_1": ("A", lambda r: fg.concat([r, r * 2], -1), [[1, 2, 2, 4], [], [3, 6]]),
    "concat_2": ("B", lambda r: fg.concat([r, r], 2), [[[1, 1], [2, 3, 2, 3]], [], [[4, 5, 6, 4, 5, 6]]]),
    "concat_dense": ("A", lambda r: fg.concat([r, fg.ones([3, 1])], 1), [[1, 2, 1], [1], [3, 1]]),
    "stack_0": ("A", lambda r: fg.stack([r, r]), [[[1, 2], [], [3]]] * 2),
    "stack_1": ("A", lambda r: fg.stack([r, r], 1), [[[1, 2], [1, 2]], [[], []], [[3], [3]]]),
    "stack_2": ("A", lambda r: fg.stack([r, -r], 2), [[[1, -1], [2, -2]], [], [[3, -3]]]),
    "tile": ("A", lambda r: fg.tile(r, [2, 2]), [[1, 2, 1, 2], [], [3, 3]] * 2),
    "expand_0": ("A", lambda r: fg.expand_dims(r, 0), [[[1, 2], [], [3]]]),
    "expand_1": ("A", lambda r: fg.expand_dims(r, 1), [[[1, 2]], [[]], [[3]]]),
    "expand_2": ("A", lambda r: fg.expand_dims(r, -1), [[[1], [2]], [], [[3]]]),
    "gather": ("A", lambda r: fg.gather(r, [2, 0, 0]), [[3], [1, 2], [1, 2]]),
    "gather_2d": ("A", lambda r: fg.gather(r, [[2, 0], [1, 1]]), [[[3], [1, 2]], [[], []]]),
    "gather_deep": ("B", lambda r: fg.gather(r, [2, 0]), [[[4, 5, 6]], [[1], [2, 3]]]),
    "gather_ids": ("A", lambda r: fg.gather([10.0, 20, 30, 40], fg.cast(r, fg.int32)), [[20, 30], [], [40]]),
    "gather_batch": ("A", lambda r: fg.gather(r, fg.ragged.constant([[1], [], [0]]), batch_dims=1), [[2], [], [3]]),
    "reverse": ("A", lambda r: fg.reverse(r, [1]), [[2, 1], [], [3]]),
    "mask": ("A", lambda r: fg.ragged.boolean_mask(r, MASK), [[1], [], [3]]),
    "mask_rows": ("B", lambda r: fg.ragged.boolean_mask(r, [True, False, True]), [[[1], [2, 3]], [[4, 5, 6]]]),
    "mask_middle": ("B", lambda r: fg.ragged.boolean_mask(r, MASK), [[[1]], [], [[4, 5, 6]]]),
    "row": ("A", lambda r: r[0], [1, 2]),
    "last": ("B", lambda r: r[-1], [[4, 5, 6]]),
    "element": ("A", lambda r: r[0, -1], 2),
    "rows": ("A", lambda r: r[1:], [[], [3]]),
    "every_second": ("A", lambda r: r[::2], [[1, 2], [3]]),
    "backwards": ("A", lambda r: r[::-1], [[3], [], [1, 2]]),
    "first_ones": ("A", lambda r: r[:, :1], [[1], [], [3]]),
    "last_ones": ("A", lambda r: r[:, -1:], [[2], [], [3]]),
    "rows_backwards": ("B", lambda r: r[:, :, ::-1], [[[1], [3, 2]], [], [[6, 5, 4]]]),
    "ellipsis": ("B", lambda r: r[..., :1], [[[1], [2]], [], [[4]]]),
    "newaxis": ("A", lambda r: r[:, None], [[[1, 2]], [[]], [[3]]]),
    "dense_axis": ("V", lambda r: r[:, :, 0], [[0, 2], [], [4]]),
    "uniform_axis": ("A", lambda r: fg.expand_dims(r, 1)[:, 0], [[1, 2], [], [3]]),
    "to_tensor": ("A", lambda r: r.to_tensor(9.0), [[1, 2], [9, 9], [3, 9]]),
    "to_shape": ("A", lambda r: r.to_tensor(shape=[2, 1]), [[1], [0]]),
    "to_tensor_deep": ("B", lambda r: r.to_tensor(shape=[None, 1, 2]), [[[1, 0]], [[0, 0]], [[4, 5]]]),
    "to_sparse": ("A", lambda r: fg.sparse.to_dense(r.to_sparse()), [[1, 2], [0, 0], [3, 0]]),
    "merge": ("B", lambda r: r.merge_dims(0, 1), [[1], [2, 3], [4, 5, 6]]),
    "merge_inner": ("B", lambda r: r.merge_dims(1, 2), [[1, 2, 3], [], [4, 5, 6]]),
    "merge_all": ("V", lambda r: r.merge_dims(0, 2), [0, 1, 2, 3, 4, 5]),
    "merge_dense": ("V", lambda r: r.merge_dims(1, 2), [[0, 1, 2, 3], [], [4, 5]]),
    "map": ("B", lambda r: fg.ragged.map_flat_values(fg.multiply, r, 2.0), [[[2], [4, 6]], [], [[8, 10, 12]]]),
    "rowids": ("A", lambda r: r.value_rowids(), [0, 0, 2]),
    "lengths_2": ("B", lambda r: r.row_lengths(2), [[1, 2], [], [3]]),
    "bounding": ("B", lambda r: r.bounding_shape(), [3, 2, 3]),
    "size": ("B", fg.size, 6),
    "where_1": ("A", lambda r: fg.where(r > 1.5), [[0, 1], [2, 0]]),
}
DIFFERENTIABLE = [
    name for name in CASES if name not in ("compare", "cast", "zeros", "any", "all", "gather_ids", "rowids", "lengths_2",
                                           "bounding", "size", "where_1", "max", "min_0")
]  # fmt: skip


def lists(value: Any) -> Any:
    return value.to_list() if isinstance(value, fg.RaggedTensor) else np.asarray(value).tolist()


def close(found: Any, expected: Any) -> None:
    """Nested lists of the same form, numbers nearly equal."""
    if isinstance(expected, list):
        assert isinstance(found, list) and len(found) == len(expected), (found, expected)
        for mine, theirs in zip(found, expected, strict=True):
            close(mine, theirs)
    else:
        assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    which, function, expected = CASES[name]
    close(lists(function(SAMPLES[which])), expected)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_what_eager_gives(name: str, known: bool) -> None:
    which, function, expected = CASES[name]
    rt = SAMPLES[which]
    shape = rt.shape if known else [None, *rt.shape[1:]]
    spec = fg.RaggedTensorSpec(shape, rt.dtype, rt.ragged_rank)
    compiled = fg.function(function, input_signature=[spec])
    result = compiled(rt)
    assert type(result) is type(function(rt))
    close(lists(result), expected)
    again = compiled(rt.with_flat_values(rt.flat_values * 1.0))
    close(lists(again), expected)
    assert compiled.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_of_both_orders(name: str, staged: bool) -> None:
    which, function, _ = CASES[name]
    rt = SAMPLES[which]

    def loss(flat: Any) -> Any:
        result = function(rt.with_flat_values(flat))
        result = fg.reshape(result.flat_values if isinstance(result, fg.RaggedTensor) else result, [-1])
        return fg.reduce_sum(result**3 * fg.cast(fg.range(1, fg.size(result) + 1), result.dtype) / 8.0)

    def both(flat: Any) -> Any:
        with fg.GradientTape() as outer:
            outer.watch(flat)
            with fg.GradientTape() as inner:
                inner.watch(flat)
                total = loss(flat)
            first = fg.convert_to_tensor(inner.gradient(total, flat))
        return first, fg.convert_to_tensor(outer.gradient(first, flat))

    def slopes(flat: Any) -> np.ndarray[Any, Any]:
        with fg.GradientTape() as tape:
            tape.watch(flat)
            total = loss(flat)
        return np.asarray(fg.convert_to_tensor(tape.gradient(total, flat)), np.float64)

    flat = rt.flat_values + 0.25
    first, second = (fg.function(both) if staged else both)(flat)
    x, step = flat.numpy().astype(np.float64), 2.0**-5
    numeric, curved = np.zeros(x.shape), np.zeros(x.shape)
    for at in np.ndindex(x.shape):
        move = np.zeros(x.shape)
        move[at] = step
        up, down = fg.constant(x + move, "float32"), fg.constant(x - move, "float32")
        numeric[at] = (float(loss(up)) - float(loss(down))) / (2 * step)
        curved[at] = (slopes(up).sum() - slopes(down).sum()) / (2 * step)
    scale = 1 + np.abs(numeric).max()
    np.testing.assert_allclose(first, numeric, atol=1e-2 * scale)
    np.testing.assert_allclose(second, curved, atol=1e-2 * (1 + np.abs(curved).max()))


def test_gradients_of_extremes_and_of_a_ragged_source() -> None:
    with fg.GradientTape() as tape:
        tape.watch(B)
        loss = fg.reduce_sum(fg.reduce_max(B, 2).flat_values) + fg.reduce_sum(B * B)
    found = tape.gradient(loss, B)
    assert isinstance(found, fg.RaggedTensor)
    close(found.to_list(), [[[3], [4, 7]], [], [[8, 10, 13]]])


ROWS = st.lists(st.lists(st.integers(-5, 5), max_size=4), min_size=1, max_size=5)


@RAGGED
@given(ROWS, ROWS, st.slices(4), st.slices(5))
def test_drawn_rows(rows: list[list[int]], others: list[list[int]], part: slice, some: slice) -> None:
    rt = fg.ragged.constant(rows, dtype="float64", ragged_rank=1)
    assert rt.to_list() == rows
    assert rt[some].to_list() == rows[some]
    assert rt[:, part].to_list() == [row[part] for row in rows]
    assert rt.row_lengths().numpy().tolist() == [len(row) for row in rows]
    width = max(map(len, rows))
    padded = [row + [7] * (width - len(row)) for row in rows]
    assert rt.to_tensor(7.0).numpy().tolist() == padded
    assert fg.RaggedTensor.from_tensor(rt.to_tensor(9.0), padding=9.0).to_list() == rows
    assert fg.RaggedTensor.from_tensor(rt.to_tensor(), lengths=rt.row_lengths()).to_list() == rows
    assert fg.RaggedTensor.from_sparse(rt.to_sparse()).to_list() == rows
    assert fg.RaggedTensor.from_value_rowids(rt.values, rt.value_rowids(), len(rows)).to_list() == rows
    for made in (
        fg.RaggedTensor.from_row_lengths(rt.values, rt.row_lengths()),
        fg.RaggedTensor.from_row_starts(rt.values, rt.row_starts()),
        fg.RaggedTensor.from_row_limits(rt.values, rt.row_limits()),
    ):
        assert made.to_list() == rows
    assert fg.reduce_sum(rt, 1).numpy().tolist() == [sum(row) for row in rows]
    assert fg.reduce_sum(rt, 0).numpy().tolist() == [sum(r[i] for r in rows if len(r) > i) for i in range(width)]
    both = fg.concat([rt, fg.ragged.constant(others, "float64", ragged_rank=1)], 0)
    assert both.to_list() == rows + others
    assert fg.concat([rt, rt, rt], 1).to_list() == [row * 3 for row in rows]
    assert fg.ragged.stack([rt, both]).to_list() == [rows, rows + others]
    kept = [[x > 0 for x in row] for row in rows]
    mask = fg.ragged.constant(kept, bool, ragged_rank=1)
    assert fg.ragged.boolean_mask(rt, mask).to_list() == [[x for x in row if x > 0] for row in rows]
    assert (rt * 2 + rt).to_list() == [[3 * x for x in row] for row in rows]


def test_ways_to_make_one() -> None:
    R = fg.RaggedTensor
    uniform = R.from_uniform_row_length([1, 2, 3, 4], 2)
    assert uniform.shape == [2, 2] and uniform.uniform_row_length.numpy() == 2
    assert R.from_uniform_row_length([], 0, nrows=3).to_list() == [[], [], []]
    for nested in (
        R.from_nested_row_splits([1, 2, 3], [[0, 1, 2], [0, 2, 3]]),
        R.from_nested_row_lengths([1, 2, 3], [[1, 1], [2, 1]]),
        R.from_nested_value_rowids([1, 2, 3], [[0, 1], [0, 0, 1]]),
    ):
        assert nested.to_list() == [[[1, 2]], [[3]]] and nested.ragged_rank == 2
    cube = np.arange(8).reshape(2, 2, 2)
    assert R.from_tensor(cube, ragged_rank=2).shape == [2, 2, 2]
    assert R.from_tensor(cube, lengths=([2, 1], [1, 2, 0])).to_list() == [[[0], [2, 3]], [[]]]
    assert R.from_tensor([[[1, 0], [0, 0]]], padding=[0, 0]).to_list() == [[[1, 0]]]
    assert fg.ragged.constant([]).shape == [0] and fg.ragged.constant([[]]).shape == [1, None]
    assert fg.ragged.constant([[[1, 2]], [[3, 4]]], ragged_rank=1).shape == [2, None, 2]
    assert fg.ragged.constant([["a"], ["b", "c"]]).to_list() == [[b"a"], [b"b", b"c"]]
    assert fg.ragged.constant([[1]], row_splits_dtype=fg.int32).row_splits.dtype == fg.int32
    assert fg.ragged.range([3, 0, 2]).to_list() == [[0, 1, 2], [], [0, 1]]
    assert fg.ragged.range([5, 0], [0, 4], [-2, 3]).to_list() == [[5, 3, 1], [0, 3]]
    assert fg.ragged.row_splits_to_segment_ids([0, 3, 3, 5]).numpy().tolist() == [0, 0, 0, 2, 2]
    assert fg.ragged.segment_ids_to_row_splits([0, 0, 2], num_segments=4).numpy().tolist() == [0, 2, 2, 3, 3]
    parts = fg.ragged.stack_dynamic_partitions(["a", "b", "c", "d"], [3, 0, 2, 2], 5)
    assert parts.to_list() == [[b"b"], [], [b"c", b"d"], [b"a"], []]


def test_what_it_is() -> None:
    assert repr(A) == "<tf.RaggedTensor [[1.0, 2.0], [], [3.0]]>"
    assert repr(fg.expand_dims(A, 1)) == "<tf.RaggedTensor [[[1.0, 2.0]],\n [[]],\n [[3.0]]]>"
    assert B.shape == [3, None, None] and B.ragged_rank == 2 and B.dtype == fg.float32
    assert [s.numpy().tolist() for s in B.nested_row_splits] == [[0, 2, 2, 3], [0, 1, 3, 6]]
    assert B.flat_values.shape == [6] and B.nrows().numpy() == 3
    assert [lists(row) for row in A] == [[1, 2], [], [3]]
    assert A.numpy().dtype == object and fg.expand_dims(A, 0)[0].to_list() == A.to_list()
    assert fg.is_tensor(A) and (A == None) is False and (A == B) is False  # noqa: E711
    assert A.with_row_splits_dtype(fg.int32).row_splits.dtype == fg.int32
    for wrong in (len, hash, bool):
        with pytest.raises(TypeError):
            wrong(A)
    for unsupported in (fg.convert_to_tensor, fg.transpose, fg.linalg.inv):
        with pytest.raises(ValueError, match="with an unsupported type"):
            unsupported(A)
    with pytest.raises(ValueError, match="constructor is private"):
        fg.RaggedTensor([1, 2], [0, 2])
    assert (np.array([[1.0], [2.0], [3.0]], np.float32) * A).to_list() == [[1, 2], [], [9]]
    table = fg.Variable([[1.0], [2.0], [3.0]])
    ids = fg.ragged.constant([[0, 2], [], [1]])
    assert fg.nn.embedding_lookup(table, ids).to_list() == [[[1], [3]], [], [[2]]]
    mean = fg.nn.safe_embedding_lookup_sparse(table, ids)
    assert mean.numpy().tolist() == [[2], [0], [2]]
    counts = fg.sparse.bincount(ids, axis=-1)
    assert counts.indices.numpy().tolist() == [[0, 0], [0, 2], [2, 1]]


R = fg.RaggedTensor


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda: R.from_row_splits([1, 2, 3], [1, 1, 3]), InvalidArgumentError, "valid RaggedTensor:zero"),
        (lambda: R.from_row_splits([1, 2, 3], [0, 2, 1, 3]), InvalidArgumentError, "monotonic"),
        (lambda: R.from_row_splits([1, 2, 3], [0, 1, 4]), InvalidArgumentError, "do not form a valid RaggedTensor"),
        (lambda: R.from_row_splits([1, 2, 3], []), ValueError, "row_splits tensor may not be empty"),
        (lambda: R.from_row_splits([1], [[0, 1]]), ValueError, "must have rank 1"),
        (lambda: R.from_row_splits([1], [0.0, 1.0]), ValueError, "must have dtype int32 or int64"),
        (lambda: R.from_row_lengths([1, 2, 3], [1, 0, 1]), InvalidArgumentError, "do not form a valid RaggedTensor"),
        (lambda: R.from_row_lengths([1, 2, 3], [4, -1]), InvalidArgumentError, "x >= 0 did not hold"),
        (lambda: R.from_value_rowids([1, 2, 3], [0, 2, 1]), InvalidArgumentError, "x >= 0 did not hold"),
        (lambda: R.from_value_rowids([1, 2], [0, 2], nrows=2), ValueError, "Expected nrows >= value_rowids"),
        (lambda: R.from_value_rowids([1, 2], [0]), ValueError, "are incompatible"),
        (lambda: R.from_row_starts([1, 2, 3], [1, 2]), InvalidArgumentError, "Arguments to from_row_starts"),
        (lambda: R.from_row_limits([1, 2, 3], [0, 2]), InvalidArgumentError, "do not form a valid RaggedTensor"),
        (lambda: R.from_uniform_row_length([1, 2, 3], 2), ValueError, "times nrows=1 must equal nvals=3"),
        (lambda: R.from_uniform_row_length([1, 2], -2), ValueError, "must be >= 0"),
        (lambda: R.from_tensor([1, 2]), ValueError, "must be greater than 1"),
        (lambda: R.from_tensor([[1, 2]], lengths=[1], padding=0), ValueError, "but not both"),
        (lambda: R.from_sparse(fg.SparseTensor([[0, 1]], [1], [4, 3])), InvalidArgumentError, "not right-ragged"),
        (lambda: R.from_sparse([1]), TypeError, "must be of type SparseTensor"),
        (lambda: A.with_values([4.0]), ValueError, "are incompatible"),
        (lambda: A.to_tensor(shape=[None, -1]), ValueError, "Dimension -1 must be >= 0"),
        (lambda: A.to_tensor(shape=fg.constant([-2, 3])), InvalidArgumentError, "used for shape: -2"),
        (lambda: A.to_tensor(shape=[5]), InvalidArgumentError, "rt_input.rank = 2 but shape.rank = 1"),
        (lambda: B.merge_dims(2, 1), ValueError, "to be less than or equal to inner_axis"),
        (lambda: B.row_lengths(5), ValueError, "axis=5 out of bounds: expected -3<=axis<3"),
        (lambda: fg.ragged.constant([[1], 2]), ValueError, "same nesting depth"),
        (lambda: fg.ragged.constant([[1]], ragged_rank=2), ValueError, "requires scalar value depth greater than 2"),
        (lambda: fg.ragged.constant([[[1, 2], [3]]], ragged_rank=1), ValueError, "inconsistent shape"),
        (lambda: fg.ragged.range([1], [2], 0), InvalidArgumentError, "Requires delta != 0"),
        (lambda: fg.ragged.range([1, 2], [2, 3, 4]), InvalidArgumentError, "must have the same shape"),
        (lambda: fg.ragged.map_flat_values(fg.reduce_sum, A), ValueError, "same outer-dimension size"),
        (lambda: fg.ragged.map_flat_values(fg.add, A, B), ValueError, "same outer-dimension size"),
        (lambda: fg.ragged.stack([]), ValueError, "may not be empty"),
        (lambda: fg.ragged.boolean_mask(A, True), ValueError, "mask cannot be scalar"),
        (lambda: fg.ragged.boolean_mask(A, fg.ragged.constant([[True], [], [True]])), InvalidArgumentError, "identical ragged splits"),
        (lambda: fg.ragged.stack_dynamic_partitions([1, 2], [0, 5], 2), InvalidArgumentError, "less than num_partitions"),
        (lambda: A + fg.ragged.constant([[1.0], [2.0], [3.0]]), InvalidArgumentError, "x == y did not hold"),
        (lambda: A + fg.constant([[1.0, 2], [3, 4], [5, 6]]), InvalidArgumentError, "Unable to broadcast"),
        (lambda: A + fg.ragged.constant([[1, 2], [], [3]]), InvalidArgumentError, "was expected to be a float tensor"),
        (lambda: A + A.with_row_splits_dtype(fg.int32), ValueError, "mismatched row_splits dtypes"),
        (lambda: fg.reduce_sum(A, 2), ValueError, "axis=2 out of bounds"),
        (lambda: fg.concat([A, B], 0), ValueError, "must have rank 2"),
        (lambda: fg.concat([A, A[:1]], 1), InvalidArgumentError, "incompatible shapes"),
        (lambda: fg.gather(A, [5]), InvalidArgumentError, "is not in"),
        (lambda: fg.gather(A, [[0], [0], [3]], batch_dims=1), InvalidArgumentError, "out of range of their row"),
        (lambda: A[3], IndexError, "Row key 3 out of bounds"),
        (lambda: A[-4], InvalidArgumentError, "slice index -1 of dimension 0 out of bounds"),
        (lambda: A[:, 0], ValueError, "Cannot index into an inner ragged dimension"),
        (lambda: A["a"], TypeError, "are valid indices, got 'a'"),
        (lambda: A[1.5], TypeError, "are valid indices, got 1.5"),
        (lambda: fg.RaggedTensorSpec(), ValueError, "Must specify ragged_rank or a shape"),
        (lambda: fg.RaggedTensorSpec([None, None], ragged_rank=5), ValueError, "must be less than rank"),
    ],
)  # fmt: skip
def test_errors(function: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        function()


def test_validation_inside_a_function() -> None:
    make = fg.function(lambda values, splits: R.from_row_splits(values, splits))
    assert make(fg.range(3), fg.constant([0, 1, 3])).to_list() == [[0], [1, 2]]
    with pytest.raises(InvalidArgumentError, match="monotonic"):
        make(fg.range(3), fg.constant([0, 2, 1, 3]))


def test_specs_and_nesting() -> None:
    spec = fg.type_spec_from_value(A)
    assert repr(spec) == "RaggedTensorSpec(TensorShape([3, None]), tf.float32, 1, tf.int64)"
    assert fg.RaggedTensorSpec([3, None]).is_compatible_with(A) and spec == fg.RaggedTensorSpec.from_value(A)
    assert not fg.RaggedTensorSpec([None, None], fg.int32).is_compatible_with(A)
    assert not fg.RaggedTensorSpec([None, None], row_splits_dtype=fg.int32).is_compatible_with(A)
    assert spec.value_type is fg.RaggedTensor
    parts = fg.nest.flatten([B], expand_composites=True)
    assert [part.shape for part in parts] == [[6], [4], [4]]
    [again] = fg.nest.pack_sequence_as([B], parts, expand_composites=True)
    assert again.to_list() == B.to_list()
    assert fg.nest.map_structure(lambda t: t, fg.expand_dims(A, 1), expand_composites=True).shape == [3, 1, None]


def test_in_functions_one_trace_per_number_of_rows() -> None:
    seen = []

    @fg.function
    def total(rt: Any) -> Any:
        seen.append(rt.shape)
        return fg.reduce_sum(rt, 1), rt

    assert total(A)[0].numpy().tolist() == [3, 0, 3]
    assert total(fg.ragged.constant([[1.0], [2.0, 3.0, 4.0], []]))[0].numpy().tolist() == [1, 9, 0]
    assert len(seen) == 1
    assert total(A[:2])[1].to_list() == [[1, 2], []]
    assert seen == [[3, None], [2, None]]


def test_a_signature_branches_and_loops() -> None:
    @fg.function(input_signature=[fg.RaggedTensorSpec([None, None])])
    def halved(rt: Any) -> Any:
        return fg.cond(fg.reduce_sum(rt) > 5, lambda: rt / 2, lambda: rt)

    assert halved(A).to_list() == [[0.5, 1], [], [1.5]]
    assert halved(A[:1]).to_list() == [[1, 2]]
    with pytest.raises(TypeError):
        halved(B)

    @fg.function
    def doubled(rt: Any) -> Any:
        return fg.while_loop(lambda i, r: i < 3, lambda i, r: (i + 1, r * 2), [fg.constant(0), rt])[1]

    assert doubled(A).to_list() == [[8, 16], [], [24]]


def test_neither_import_nor_ops_load_the_composites() -> None:
    code = (
        "import sys, fastgraph as fg\n"
        "fg.reduce_sum(fg.gather(fg.ones([3]), [0]) + 1.0)\n"
        "print(sorted(m for m in sys.modules if 'fastgraph.composites.' in m))\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("tier", ["eager", "first"])
def test_shapes_of_dense_tensors_may_be_tensors(tier: str) -> None:
    ragged = fg.RaggedTensor.from_row_splits(fg.range(4.0), [0, 1, 4])
    ways: list[Callable[[Any], Any]] = [
        lambda n: ragged.to_tensor(shape=[None, n]),
        lambda n: ragged.to_tensor(shape=[2, n]),
        lambda n: ragged.to_tensor(shape=fg.stack([2, n])),
        lambda n: ragged.to_tensor(shape=fg.reshape(fg.stack([-1, n]), [-1])),
    ]
    for way in ways:
        for n, wanted in (
            (2, [[0, 0], [1, 2]]),
            (4, [[0, 0, 0, 0], [1, 2, 3, 0]]),
            (0, [[], []]),
            (-1, [[0, 0, 0], [1, 2, 3]]),
        ):
            function = way if tier == "eager" else fg.function(way)
            with flags.override(tier="first"):
                assert function(fg.constant(n)).numpy().tolist() == wanted


def test_lengths_of_rows_are_not_cut_to_32_bits() -> None:
    x, lengths = fg.reshape(fg.range(6), [2, 3]), fg.constant([2**32 + 1, -(2**32) + 1], fg.int64)
    for way in (fg.RaggedTensor.from_tensor, fg.function(fg.RaggedTensor.from_tensor)):
        assert way(x, lengths).row_splits.numpy().tolist() == [0, 3, 3]


def test_the_shape_of_rows() -> None:
    rows = fg.ragged.constant([[4, 1], [3]])
    shape = fg.shape(rows)
    assert repr(shape) == "<DynamicRaggedShape lengths=[2, (2, 1)] num_row_partitions=1>"
    assert (int(shape[0]), shape[0].dtype, shape.rank, shape.is_uniform(1)) == (2, "int32", 2, False)
    with pytest.raises(ValueError, match="Index 1 is not uniform"):
        _ = shape[1]
    inner = fg.shape(fg.RaggedTensor.from_row_splits(fg.ones([3, 5]), [0, 2, 3]), fg.int64)
    assert int(inner[-1]) == 5 and inner.dtype == "int64"
    even = fg.shape(fg.RaggedTensor.from_uniform_row_length(rows, 2))
    assert repr(even) == "<DynamicRaggedShape lengths=[1, 2, (2, 1)] num_row_partitions=2>" and int(even[1]) == 2
    assert int(fg.function(lambda r: fg.shape(r)[0])(rows)) == 2


I32, I64 = fg.int32, fg.int64
NARROW = fg.ragged.constant([[1], [2]], row_splits_dtype=I32)
WIDE = fg.ragged.constant([[1], [2]])
#: Row splits follow a tensor's dtype, an int32 array's, that of the values' rows, else they are int64.
SPLITS: list[tuple[Any, list[Any]]] = [
    (lambda: fg.RaggedTensor.from_row_splits([1], [fg.constant(0), fg.constant(1)]), [I64]),
    (lambda: fg.RaggedTensor.from_row_lengths([1], np.array([1], np.int32)), [I32]),
    (lambda: fg.RaggedTensor.from_row_lengths([1], np.array([1], np.int16)), [I64]),
    (lambda: fg.RaggedTensor.from_row_lengths(NARROW, [2]), [I32, I32]),
    (lambda: fg.RaggedTensor.from_value_rowids(NARROW, np.array([0, 0], np.int64)), [I32, I32]),
    (lambda: fg.RaggedTensor.from_uniform_row_length([1, 2], fg.constant(2)), [I32]),
    (lambda: fg.RaggedTensor.from_uniform_row_length(NARROW, 2), [I32, I32]),
    (lambda: fg.ragged.stack([fg.constant([1.0]), fg.constant([2.0, 3.0])]), [I32]),
    (lambda: fg.ragged.stack([NARROW, fg.constant([[1, 2], [3, 4]])], axis=1), [I32, I32]),
]
UNEQUAL: list[tuple[Any, str]] = [
    (lambda: fg.RaggedTensor.from_row_lengths(NARROW, fg.constant([2], I64)), "must have same dtype as Argument"),
    (lambda: fg.RaggedTensor.from_nested_row_splits([1], [fg.constant([0, 1]), [0, 1]]), "must have same dtype"),
    (
        lambda: fg.RaggedTensor.from_uniform_row_length([1], fg.constant(1), fg.constant(1, I64)),
        "requested dtype int32",
    ),
    (lambda: WIDE.with_flat_values(NARROW), "self and new_values have mismatched row_splits dtypes"),
    (lambda: fg.concat([NARROW, WIDE], 0), "Input RaggedTensors have mismatched row_splits dtypes"),
    (lambda: fg.ragged.stack([NARROW, WIDE]), "Input RaggedTensors have mismatched row_splits dtypes"),
    (lambda: fg.gather(NARROW, fg.ragged.constant([[0]])), "Input RaggedTensors have mismatched row_splits dtypes"),
    (lambda: fg.ragged.boolean_mask(NARROW, WIDE > 0), "Input RaggedTensors have mismatched row_splits dtypes"),
]


@pytest.mark.parametrize("i", range(len(SPLITS)))
def test_dtypes_of_row_splits(i: int) -> None:
    make, expected = SPLITS[i]
    assert [part.dtype for part in make().nested_row_splits] == expected


@pytest.mark.parametrize("i", range(len(UNEQUAL)))
def test_row_splits_of_two_dtypes_are_refused(i: int) -> None:
    make, text = UNEQUAL[i]
    with pytest.raises(ValueError, match=text):
        make()


def test_dtypes_of_row_partitions() -> None:
    make = fg.experimental.RowPartition
    assert make.from_row_lengths([fg.constant(1)]).dtype is I64
    assert make.from_row_lengths([1], dtype_hint=I32).dtype is I32
    assert make.from_uniform_row_length(1, fg.constant(2)).dtype is I32
    with pytest.raises(ValueError, match="requested dtype int64"):
        make.from_row_lengths(fg.constant([1]), dtype=I64)
