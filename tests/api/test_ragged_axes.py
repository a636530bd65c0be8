"""Ops along every axis of RaggedTensors, against nested lists; eagerly, and in a graph that knows no extent."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import fastgraph as fg

R = fg.ragged.constant
#: By name: lists, how many axes after the first are ragged.
VALUES: dict[str, tuple[Any, int]] = {
    "rows": ([[1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0]], 1),
    "rows of pairs": ([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]], [[9.0, 0.0], [1.0, 2.0], [3.0, 4.0]]], 1),
    "rows of rows": (
        [[[1.0, 2.0], [3.0, 4.0, 5.0]], [[6.0, 7.0], [8.0, 9.0], [1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]],
        2,
    ),
    "pairs of rows": ([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0, 7.0], [8.0, 9.0]], [[1.0, 2.0], [3.0, 4.0]]], 2),
}


def ragged(name: str) -> Any:
    value, rank = VALUES[name]
    found = R(value, ragged_rank=rank)
    if name == "pairs of rows":
        found = fg.RaggedTensor.from_uniform_row_length(found.values, 2)
    return found


def lists(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [lists(each) for each in x]
    return x.to_list() if hasattr(x, "to_list") else x.numpy().tolist()


def both(function: Any, *arguments: Any) -> Any:
    """The result of a function, eagerly and in a graph; they are the same."""
    specs = []
    for x in arguments:
        known = [None] * (x.ragged_rank + 1) + x.shape.as_list()[x.ragged_rank + 1 :]
        specs.append(fg.RaggedTensorSpec(known, x.dtype, x.ragged_rank))
    eager = lists(function(*arguments))
    staged = lists(fg.function(function, input_signature=specs, autograph=False)(*arguments))
    assert eager == staged
    return eager


def taken(x: Any, at: Any, axis: int, batches: int) -> Any:
    if batches:
        return [taken(a, b, axis - 1, batches - 1) for a, b in zip(x, at, strict=True)]
    if axis:
        return [taken(a, at, axis - 1, 0) for a in x]
    return [taken(x, each, 0, 0) for each in at] if isinstance(at, list) else x[at]


@pytest.mark.parametrize("name", VALUES)
def test_gather_along_every_axis_in_every_batch(name: str) -> None:
    value, rank = VALUES[name][0], ragged(name).shape.rank
    indices: list[Any] = [1, [1, 0, 1], [[1, 0]], [[1], [0], [1]], [[[0, 1], [1, 1]]] * 3, [[[1], [0]]] * 3]
    for at, axis, n in itertools.product(indices, range(rank), (0, 1)):
        if n > min(axis, np.ndim(at)) or (n and len(at) != 3):
            continue
        for batches in {n, n - np.ndim(at) if n < np.ndim(at) else n}:
            for along in (axis, axis - rank):
                found = fg.gather(ragged(name), fg.constant(at), axis=along, batch_dims=batches)
                assert lists(found) == taken(value, at, axis, n), (at, along, batches)
        if np.ndim(at) == 2:
            assert both(lambda x, at=at, axis=axis, n=n: fg.gather(x, at, None, axis, n), ragged(name)) == lists(found)


def test_gather_by_ragged_indices() -> None:
    x, at = ragged("rows of rows"), R([[0, 1], [2], [1, 0, 0]])
    for axis, n in ((0, 0), (1, 0), (1, 1)):
        used = at if axis == 0 else R([[0, 1], [1], [1, 0, 0]])
        want = taken(VALUES["rows of rows"][0], used.to_list(), axis, n)
        assert lists(fg.gather(x, used, axis=axis, batch_dims=n)) == want
        assert lists(fg.gather(x, used, axis=axis - 3, batch_dims=n - 2)) == want
    inner = R([[[0], [1]], [[1, 0], [0], [1]], [[0], [1]]])
    assert lists(fg.gather(x, inner, batch_dims=2)) == taken(VALUES["rows of rows"][0], inner.to_list(), 2, 2)
    assert lists(fg.gather(x, inner, batch_dims=-1)) == taken(VALUES["rows of rows"][0], inner.to_list(), 2, 2)
    dense = fg.constant([10.0, 20.0, 30.0])
    assert lists(fg.gather(dense, at)) == [[10.0, 20.0], [30.0], [20.0, 10.0, 10.0]]
    for wrong in ({"axis": 0, "batch_dims": 1}, {"axis": 3}, {"batch_dims": 3}):
        with pytest.raises(ValueError, match="axis|batch"):
            fg.gather(x, at, **wrong)
    with pytest.raises(fg.errors.InvalidArgumentError, match="out of range of their row"):
        fg.gather(x, [2], axis=1)


@pytest.mark.parametrize("name", VALUES)
def test_gather_nd(name: str) -> None:
    value, x = VALUES[name][0], ragged(name)
    rank = x.shape.rank
    for depth in range(rank + 1):
        for at in ([[0, 1, 1][:depth], [2, 0, 1][:depth]], [[[1, 1, 0][:depth]], [[0, 0, 0][:depth]]]):
            want: Any = at
            for _ in range(np.ndim(at) - 1 if depth else 0):
                want = [y for x in want for y in x] if np.ndim(want) > 2 else want
            flat = np.reshape(at, [-1, depth]).tolist() if depth else [[]] * 2
            found = [value] * len(flat)
            for i, each in enumerate(flat):
                for k in each:
                    found[i] = found[i][k]
            shaped = found if np.ndim(at) == 2 else [[each] for each in found]
            indices = fg.constant(at, fg.int32, np.shape(at))
            assert both(lambda x, at=indices: fg.gather_nd(x, at), x) == shaped
    assert lists(fg.gather_nd(x, R([[[0, 1]], [[2, 0], [1, 1]]], ragged_rank=1))) == [
        [value[0][1]],
        [value[2][0], value[1][1]],
    ]
    with pytest.raises(fg.errors.InvalidArgumentError, match="out of range"):
        fg.gather_nd(x, [[0, 5]])
    with pytest.raises(ValueError, match="batch_dims != 0 is not supported"):
        fg.gather_nd(x, [[0]], batch_dims=1)


def along(x: Any, axis: int, function: Any) -> Any:
    """What a function of vectors gives along an axis of nested lists."""
    if axis:
        return [along(each, axis - 1, function) for each in x]
    if not isinstance(x[0], list):
        return list(map(float, function(np.array(x))))
    found: list[Any] = [[] for _ in x]
    for i in range(max(map(len, x))):
        rows = [k for k, each in enumerate(x) if len(each) > i]
        for k, each in zip(rows, along([x[k][i] for k in rows], 0, function), strict=True):
            found[k].append(each)
    return found


def close(a: Any, b: Any) -> None:
    assert np.asarray(a, object).shape == np.asarray(b, object).shape
    if isinstance(a, list):
        for x, y in zip(a, b, strict=True):
            close(x, y)
    else:
        assert abs(a - b) < 1e-5


@pytest.mark.parametrize("name", VALUES)
def test_running_sums_softmax_and_shares_along_every_axis(name: str) -> None:
    value, x = VALUES[name][0], ragged(name)
    for axis in range(x.shape.rank):
        close(both(lambda x, axis=axis: fg.cumsum(x, axis), x), along(value, axis, np.cumsum))
        backward = along(value, axis, lambda v: np.cumsum(v[::-1])[::-1] - v)
        close(lists(fg.cumsum(x, axis - x.shape.rank, exclusive=True, reverse=True)), backward)
        close(lists(fg.nn.softmax(x, axis)), along(value, axis, lambda v: np.exp(v) / np.exp(v).sum()))
    shares = both(lambda x: x / fg.reduce_sum(x, -1, keepdims=True), x)
    close(shares, along(value, x.shape.rank - 1, lambda v: v / v.sum()))
    with pytest.raises(ValueError, match="out of bounds"):
        fg.cumsum(x, x.shape.rank)


def test_rows_of_one_element_are_repeated() -> None:
    x, ones = ragged("rows of rows"), R([[[1.0], [2.0]], [[3.0], [4.0], [5.0]], [[6.0], [7.0]]], ragged_rank=1)
    want = [[[i + j[0] for i in a] for a, j in zip(r, o, strict=True)] for r, o in zip(x.to_list(), ones.to_list(),
            strict=True)]  # fmt: skip
    assert both(lambda a, b: a + b, x, ones) == want and lists(ones + x) == want
    wide = fg.RaggedTensor.from_uniform_row_length(R([[1.0, 2.0]] * 3), 1)
    same = fg.RaggedTensor.from_uniform_row_length(R([[1.0, 2.0]] * 6), 2)
    assert lists(wide + same) == lists(same * 2)
    with pytest.raises(fg.errors.InvalidArgumentError):
        x + R([[[1.0, 2.0]], [[1.0]], [[1.0]]])


@pytest.mark.parametrize("name", VALUES)
def test_pieces(name: str) -> None:
    value, x = VALUES[name][0], ragged(name)
    assert both(lambda x: fg.split(x, [1, 2]), x) == [value[:1], value[1:]]
    assert both(lambda x: fg.split(x, 3), x) == [[each] for each in value]
    assert lists(fg.split(x, 1, 1)) == [value]
    for sizes in ([1, 1], [4, -1], 2):
        with pytest.raises(fg.errors.InvalidArgumentError):
            fg.split(x, sizes)
    if x.shape[-1] is not None:
        assert lists(fg.split(x, 2, -1)) == [[[[each[k]] for each in row] for row in value] for k in (0, 1)]
    if x.shape[1] is not None:
        assert lists(fg.split(x, 2, 1)) == [[[row[k]] for row in value] for k in (0, 1)]
    else:
        with pytest.raises(ValueError, match="Cannot split a ragged dimension"):
            fg.split(x, [1, 1], 1)


def test_bits() -> None:
    x = ragged("rows of pairs")
    assert both(lambda x: fg.bitcast(fg.bitcast(x, fg.uint8), fg.float32), x) == VALUES["rows of pairs"][0]
    assert fg.bitcast(x, fg.float64).shape.as_list() == [3, None]
    with pytest.raises(ValueError, match="rank >= 2"):
        fg.bitcast(ragged("rows"), fg.float64)


def test_reductions_over_several_axes_keep_them() -> None:
    x = ragged("rows of rows")
    for name, want in (("reduce_sum", [27.0, 34.0, 5.0]), ("reduce_max", [8.0, 9.0, 5.0])):
        reduce = getattr(fg, name)
        assert both(lambda x, reduce=reduce: reduce(x, [0, 1]), x) == want
        kept = reduce(x, [0, 1], keepdims=True)
        assert isinstance(kept, fg.RaggedTensor) and both(lambda x, reduce=reduce: reduce(x, [0, 1], True), x) == [
            [want]
        ]
        assert lists(reduce(x, [0, 1, 2], True)) == [[[reduce(x).numpy()]]]


def test_outputs_list_the_parts_of_composites() -> None:
    def f(x: Any) -> Any:
        return {"a": [x, fg.reduce_sum(x)]}, fg.sparse.from_dense([[1.0, 0.0]]), None

    spec = fg.RaggedTensorSpec([None, None], fg.float32, row_splits_dtype=fg.int32)
    concrete = fg.function(f).get_concrete_function(spec)
    assert concrete.output_dtypes == (
        {"a": [[fg.float32, fg.int32], fg.float32]},
        [fg.int64, fg.float32, fg.int64],
        None,
    )
    shapes = concrete.output_shapes
    assert str(shapes[0]) == "{'a': [[TensorShape([None]), TensorShape([None])], TensorShape([])]}"
    assert [s.rank for s in shapes[1]] == [2, 1, 1]


Spec = fg.RaggedTensorSpec
MAPS: dict[str, tuple[Any, Any, Any]] = {
    "rows alone": (lambda x: x * 2.0, None, [[2.0, 4.0], [], [6.0, 8.0, 10.0]]),
    "numbers": (fg.reduce_sum, fg.float32, [3.0, 0.0, 12.0]),
    "rows of rows": (
        lambda x: fg.ragged.range(fg.cast(x, fg.int32)),
        Spec([None, None], fg.int32),
        [[[0], [0, 1]], [], [[0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4]]],
    ),
    "longer rows": (
        lambda x: fg.concat([x, x], 0),
        Spec([None], fg.float32, 0),
        [[1.0, 2.0] * 2, [], [3.0, 4.0, 5.0] * 2],
    ),
}


@pytest.mark.parametrize(("function", "signature", "want"), MAPS.values(), ids=list(MAPS))
def test_map_fn_of_ragged_rows(function: Any, signature: Any, want: Any) -> None:
    x = R([[1.0, 2.0], [], [3.0, 4.0, 5.0]])
    assert both(lambda x: fg.map_fn(function, x, fn_output_signature=signature), x) == want


def test_map_fn_of_deeper_rows_beside_tensors_and_its_gradient() -> None:
    x = R([[[1.0], [2.0, 3.0]], [], [[4.0, 5.0, 6.0]]])
    spec = Spec([None, None], fg.float32)
    twice = both(lambda x: fg.map_fn(lambda r: fg.concat([r, r], 0), x, fn_output_signature=spec), x)
    assert twice == [[[1.0], [2.0, 3.0]] * 2, [], [[4.0, 5.0, 6.0]] * 2]

    def add(x: Any) -> Any:
        pair = (x, fg.constant([[1.0], [2.0], [3.0]]))
        kinds = (Spec([None], fg.float32, 0), fg.float32)
        return fg.map_fn(lambda p: (fg.reduce_sum(p[0], 1), fg.reduce_sum(p[1])), pair, fn_output_signature=kinds)

    assert both(add, x) == [[[1.0, 5.0], [], [15.0]], [1.0, 2.0, 3.0]]

    @fg.function
    def gradient(values: Any) -> Any:
        rows = fg.RaggedTensor.from_row_splits(values, [0, 2, 2, 5])
        with fg.GradientTape() as tape:
            tape.watch(values)
            total = fg.reduce_sum(fg.map_fn(lambda r: r * r, rows.with_values(values)).flat_values)
        return tape.gradient(total, values)

    assert gradient(fg.range(5.0)).numpy().tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
    with pytest.raises(ValueError, match="Dimensions 2 and 3 are not compatible"):
        fg.function(lambda: fg.map_fn(lambda p: p[0], (R([[1.0], []]), fg.ones([3])), fn_output_signature=fg.float32))()
    same = fg.function(lambda: fg.map_fn(lambda r: r, fg.sparse.eye(2)))()
    assert fg.sparse.to_dense(same).numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_a_variance_is_that_of_its_own_row() -> None:
    nan = float("nan")
    for other in (nan, float("inf"), 1e6, 1e30):
        ragged = fg.ragged.constant([[1.0, 3.0], [other], []])
        for found in (fg.math.reduce_variance(ragged, 1), fg.function(fg.math.reduce_variance)(ragged, 1)):
            assert found.numpy()[:1].tolist() == [1.0]
        assert fg.math.reduce_std(ragged, 1, keepdims=True).numpy()[0].tolist() == [1.0]
    columns = fg.math.reduce_variance(fg.ragged.constant([[1.0, 2.0], [3.0], [nan]]), 0).numpy()
    assert np.isnan(columns[0]) and columns[1] == 0.0
    assert float(fg.math.reduce_variance(fg.ragged.constant([[1, 2], [3, 6]]))) == 3.5


@pytest.mark.parametrize("lengths", [(2,), (None,), None])
@pytest.mark.parametrize("rows", [(2, None), None])
def test_pieces_of_sizes_that_the_run_knows(rows: Any, lengths: Any) -> None:
    spec = [fg.RaggedTensorSpec(rows, ragged_rank=1), fg.TensorSpec(lengths, fg.int32)]
    cut = fg.function(lambda x, sizes: fg.split(x, sizes, num=2), input_signature=spec)
    x = R([[1.0, 2.0, 3.0], [4.0]])
    assert [piece.to_list() for piece in cut(x, [1, 1])] == [[[1.0, 2.0, 3.0]], [[4.0]]]
    if lengths != (2,):
        with pytest.raises(fg.errors.InvalidArgumentError, match="inconsistent"):
            cut(x, [1, 1, 0])


def test_numbers_of_pieces_that_do_not_fit() -> None:
    x = R([[1.0, 2.0, 3.0], [4.0]])
    for sizes, num, error, text in (
        ([1, 1], 3, ValueError, "`num` does not match"),
        ([1.0, 1.0], None, TypeError, "integers"),
        ([[1, 1]], 2, TypeError, "1-D list"),
        (0, None, ValueError, ">=1"),
    ):
        with pytest.raises(error, match=text):
            fg.split(x, sizes, num=num)
