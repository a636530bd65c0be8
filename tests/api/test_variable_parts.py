"""Parts of Variables: slices that are assigned, rows that are scattered, elements by index vectors."""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.runtime import step_costs


def table(dtype: str = "float32") -> Any:
    return fg.Variable(np.arange(12).reshape(4, 3).astype(fg.as_dtype(dtype).as_numpy_dtype), name="table")


KEYS: list[Any] = [
    0,
    -1,
    (1, 2),
    slice(1, 3),
    slice(None, None, -1),
    (slice(None), 1),
    (slice(None), slice(None, None, 2)),
    (Ellipsis, 0),
    Ellipsis,
    slice(2, 2),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
def test_a_slice_of_a_variable_is_assigned(key: Any, staged: bool) -> None:
    v, expected = table(), np.arange(12).reshape(4, 3).astype(np.float32)
    update = -np.arange(1, expected[key].size + 1, dtype=np.float32).reshape(np.shape(expected[key]))
    expected[key] = update

    def change(update: Any) -> Any:
        return v[key].assign(update)

    after = (fg.function(change) if staged else change)(fg.constant(update))
    assert np.array_equal(v, expected)
    assert np.array_equal(after, expected)


def test_a_slice_takes_a_scalar_and_a_tensor_as_index() -> None:
    v = table()

    @fg.function
    def change(i: Any) -> None:
        v[i].assign(fg.fill([3], 5.0))
        v[:, 1].assign(7.0)

    change(fg.constant(2))
    assert v.numpy().tolist() == [[0, 7, 2], [3, 7, 5], [5, 7, 5], [9, 7, 11]]


def test_a_slice_refuses_another_shape_and_tensors_have_no_assign() -> None:
    v = table()
    with pytest.raises((ValueError, fg.errors.InvalidArgumentError)):
        v[0].assign([1.0, 2.0])
    with pytest.raises((TypeError, ValueError)):
        v[0].assign("text")
    assert np.array_equal(v, np.arange(12).reshape(4, 3))
    with pytest.raises(AttributeError):
        v.value()[0].assign([1.0, 2.0, 3.0])


HOW = {
    "update": lambda row, given: given,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": lambda a, b: (np.trunc(a / b) if a.dtype.kind in "iu" else a / b).astype(a.dtype),
    "min": np.minimum,
    "max": np.maximum,
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "float16", "bfloat16", "uint8"])
@pytest.mark.parametrize("shared", [False, True], ids=["alone", "shared"])
def test_rows_are_scattered_one_after_the_other(how: str, dtype: str, shared: bool) -> None:
    v = table(dtype)
    before = v.numpy()
    held = v.value() if shared else None  # then the memory may not be written
    rows, given = [3, 0, 3], np.arange(1, 10).reshape(3, 3).astype(before.dtype)
    expected = before.copy()
    for row, update in zip(rows, given, strict=True):
        expected[row] = HOW[how](expected[row], update)
    after = getattr(v, f"scatter_{how}")(fg.IndexedSlices(fg.constant(given), fg.constant(rows)))
    assert np.array_equal(np.asarray(after, "f8"), np.asarray(expected, "f8"))
    if held is not None:
        assert np.array_equal(np.asarray(held, "f8"), np.asarray(before, "f8"))


def test_rows_are_scattered_in_functions_in_program_order() -> None:
    v = table()

    @fg.function
    def change(i: Any) -> Any:
        v.scatter_update(fg.IndexedSlices([[1.0, 1.0, 1.0]], [i]))
        first = v.read_value()
        v.scatter_add(fg.IndexedSlices([[1.0, 2.0, 3.0]], [i]))
        return first

    first = change(fg.constant(1))
    assert first.numpy()[1].tolist() == [1, 1, 1]
    assert v.numpy()[1].tolist() == [2, 3, 4]


def test_minimum_and_maximum_of_rows_keep_nan() -> None:
    v = fg.Variable([[np.nan, 1.0, 2.0]])
    v.scatter_min(fg.IndexedSlices([[0.0, np.nan, 1.0]], [0]))
    assert np.array_equal(v, [[np.nan, np.nan, 1.0]], equal_nan=True)


def test_rows_that_do_not_exist_change_nothing() -> None:
    v = table()
    for rows in ([0, 4], [-1, 0]):
        with pytest.raises(fg.errors.InvalidArgumentError, match=r"indices\[\d\] = (4|-1) is not in \[0, 4\)"):
            v.scatter_add(fg.IndexedSlices(np.ones((2, 3), np.float32), rows))
    with pytest.raises(fg.errors.InvalidArgumentError, match=r"Must have updates.shape = indices.shape"):
        v.scatter_add(fg.IndexedSlices(np.ones((2, 2), np.float32), [0, 1]))
    with pytest.raises(TypeError, match="must be a `tf.IndexedSlices`"):
        v.scatter_add(3)
    with pytest.raises(fg.errors.InvalidArgumentError, match="division by zero"):
        table("int32").scatter_div(fg.IndexedSlices([[1, 0, 1]], [0]))
    assert np.array_equal(v, np.arange(12).reshape(4, 3))


def test_scattered_rows_of_many_threads_are_all_kept() -> None:
    v = fg.Variable(np.zeros((8, 16), np.float32))
    one = fg.IndexedSlices(fg.ones([2, 16]), fg.constant([3, 3]))

    def work() -> None:
        for _ in range(200):
            v.scatter_add(one)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert v.numpy()[3].tolist() == [1600.0] * 16
    assert not v.numpy()[:3].any()


def test_elements_by_index_vectors() -> None:
    v = table()
    v.scatter_nd_update([[0], [2]], [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])
    v.scatter_nd_add([[0, 0]], [5.0])
    v.scatter_nd_sub([[0, 1]], [5.0])
    v.scatter_nd_min([[3, 0]], [-1.0])
    v.scatter_nd_max([[3, 1]], [99.0])
    assert v.numpy().tolist() == [[6, -4, 1], [3, 4, 5], [2, 2, 2], [-1, 99, 11]]
    assert v.gather_nd([[0, 0], [3, 1]]).numpy().tolist() == [6, 99]
    assert v.sparse_read([1]).numpy().tolist() == [[3, 4, 5]]
    v.batch_scatter_update(fg.IndexedSlices([[-5.0], [-6.0], [-7.0], [-8.0]], [[0], [1], [2], [0]]))
    assert v.numpy().tolist() == [[-5, -4, 1], [3, -6, 5], [2, 2, -7], [-8, 99, 11]]


def test_counting_up() -> None:
    v = fg.Variable(0)
    assert [int(v.count_up_to(2)), int(v.count_up_to(2))] == [0, 1]
    for count in (v.count_up_to, fg.function(v.count_up_to)):
        with pytest.raises(fg.errors.OutOfRangeError, match="Reached limit of 2"):
            count(2)
    by_name = fg.function(lambda: fg.raw_ops.ResourceCountUpTo(resource=v.handle, limit=3, T=fg.int32))
    assert int(by_name()) == 2
    with pytest.raises(fg.errors.OutOfRangeError, match="Reached limit of 3"):
        by_name()
    assert int(v) == 3
    with pytest.raises(fg.errors.InvalidArgumentError, match="not in the list of allowed values"):
        table().count_up_to(3)


def test_modes_are_members_of_their_enums() -> None:
    with pytest.raises(ValueError, match="Invalid variable aggregation mode: sum"):
        fg.Variable(1, aggregation="sum")
    with pytest.raises(ValueError, match="Invalid variable synchronization mode: on"):
        fg.Variable(1, synchronization="on")


def test_the_shape_of_what_is_assigned_is_narrowed() -> None:
    v = fg.Variable([1.0, 2.0], shape=[None])
    v.set_shape([2])
    with pytest.raises(ValueError, match="Shape mismatch"):
        v.assign([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="not compatible"):
        v.set_shape([3])
    assert copy.copy(v) is v


@pytest.mark.parametrize("shape", [(3, 0), (3, 0, 2)])
def test_rows_without_elements_are_scattered(shape):
    v = fg.Variable(fg.zeros(shape))
    v.scatter_update(fg.IndexedSlices(fg.zeros((2, *shape[1:])), fg.constant([0, 1])))
    v.scatter_add(fg.IndexedSlices(fg.zeros((2, *shape[1:])), fg.constant([2, 2])))
    assert v.value().shape == shape


def _early(v: Any, i: Any, u: Any) -> Any:
    total = fg.reduce_sum(fg.gather(v, i) * u)
    v.scatter_sub(fg.IndexedSlices(u * total, i))
    return total


def _late(v: Any, i: Any, u: Any) -> Any:
    before = v.read_value()
    v.scatter_sub(fg.IndexedSlices(u * fg.reduce_sum(fg.gather(v, i)), i))
    return fg.reduce_sum(before * before) + fg.reduce_sum(v)


def _kept(v: Any, i: Any, u: Any) -> Any:
    before = fg.reshape(v.read_value(), [-1])
    v.scatter_add(fg.IndexedSlices(u + before[0], i))
    return before


def _twice(v: Any, i: Any, u: Any) -> Any:
    first = fg.reduce_sum(fg.reshape(v, [-1]))
    v.scatter_add(fg.IndexedSlices(u * first, i))
    second = fg.gather(v, i)
    v.scatter_update(fg.IndexedSlices(second * 0.5, i))
    return first + fg.reduce_max(v)


def _branched(v: Any, i: Any, u: Any) -> Any:
    before = v.read_value()
    if fg.reduce_sum(before) > 0.0:
        v.scatter_add(fg.IndexedSlices(u, i))
    for _ in fg.range(2):
        v.scatter_sub(fg.IndexedSlices(u * fg.reduce_mean(fg.gather(before, i)), i))
    return before if fg.reduce_sum(v) > 1e9 else before + 1.0


@pytest.mark.parametrize("forced", [False, True], ids=["alone", "threads"])
@pytest.mark.parametrize("program", [_early, _late, _kept, _twice, _branched])
def test_rows_are_written_over_what_nobody_looks_at_any_more(
    program: Any, forced: bool, rng: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if forced:
        monkeypatch.setattr(step_costs, "WAKE_NS", -1e12)
        monkeypatch.setattr(step_costs, "SHARD_NS", 10.0)
    start = rng.standard_normal((500, 40)).astype(np.float32)
    i, u = fg.constant(rng.integers(0, 500, 30)), fg.constant(rng.standard_normal((30, 40)).astype(np.float32))
    u *= 1e-3
    eager, staged = fg.Variable(start), fg.Variable(start)
    function = fg.function(lambda i, u: program(staged, i, u))
    with flags.override(tier="last"):
        for _ in range(3):
            place = int(np.asarray(staged.read_value()).ctypes.data)
            wanted, found = program(eager, i, u), function(i, u)
            np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-4)
            np.testing.assert_allclose(staged, eager, rtol=2e-4, atol=2e-4)
            same = int(np.asarray(staged.read_value()).ctypes.data) == place
            assert same if program in (_early, _twice) else True
    held, before = staged.read_value(), staged.numpy().copy()
    function(i, u)
    np.testing.assert_array_equal(held, before)
