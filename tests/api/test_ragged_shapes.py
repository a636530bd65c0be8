"""RowPartition and DynamicRaggedShape: rows without values, and what makes RaggedTensors as shapes make tensors."""

import itertools
from typing import Any

import pytest

import fastgraph as tf

Rows = tf.experimental.RowPartition
Shape = tf.experimental.DynamicRaggedShape
R = tf.ragged.constant


_narrow = tf.function(lambda rows: rows.with_dtype(tf.int32), reduce_retracing=True)
_same = tf.function(lambda shape: shape, reduce_retracing=True)
_sevens = tf.function(lambda shape: tf.fill(shape, 7), reduce_retracing=True)


def plain(x: Any) -> Any:
    return x.to_list() if isinstance(x, tf.RaggedTensor) else x.numpy().tolist()


@pytest.mark.parametrize(
    ("make", "splits"),
    [
        (lambda: Rows.from_row_splits([0, 2, 2, 5]), [0, 2, 2, 5]),
        (lambda: Rows.from_row_lengths([2, 0, 3]), [0, 2, 2, 5]),
        (lambda: Rows.from_value_rowids([0, 0, 2, 2, 2]), [0, 2, 2, 5]),
        (lambda: Rows.from_value_rowids([0, 0, 2], nrows=4), [0, 2, 2, 3, 3]),
        (lambda: Rows.from_row_starts([0, 2, 2], nvals=5), [0, 2, 2, 5]),
        (lambda: Rows.from_row_limits([2, 2, 5]), [0, 2, 2, 5]),
        (lambda: Rows.from_uniform_row_length(2, nvals=6), [0, 2, 4, 6]),
        (lambda: Rows.from_uniform_row_length(2, nrows=3), [0, 2, 4, 6]),
        (lambda: Rows.from_uniform_row_length(0, nvals=0, nrows=3), [0, 0, 0, 0]),
        (lambda: Rows.from_row_lengths([]), [0]),
    ],
)
def test_rows(make: Any, splits: list[int]) -> None:
    rows = make()
    lengths = [b - a for a, b in itertools.pairwise(splits)]
    assert plain(rows.row_splits()) == splits and rows.dtype is tf.int64
    assert plain(rows.row_lengths()) == lengths and plain(rows.row_starts()) == splits[:-1]
    assert plain(rows.row_limits()) == splits[1:] and (plain(rows.nrows()), plain(rows.nvals())) == (
        len(lengths),
        splits[-1],
    )
    assert plain(rows.value_rowids()) == [i for i, n in enumerate(lengths) for _ in range(n)]
    assert plain(rows.offsets_in_rows()) == [i for n in lengths for i in range(n)]
    assert (rows.static_nrows, rows.static_nvals) == (len(lengths), splits[-1])
    uniform = rows.uniform_row_length()
    assert rows.is_uniform() == (uniform is not None) and (uniform is None or plain(uniform) == splits[1])
    narrow = _narrow(rows)
    assert narrow.dtype is tf.int32 and plain(narrow.row_splits()) == splits


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: Rows.from_row_splits([]), ValueError),
        (lambda: Rows.from_row_splits([1, 2]), tf.errors.InvalidArgumentError),
        (lambda: Rows.from_row_splits([0, 3, 2]), tf.errors.InvalidArgumentError),
        (lambda: Rows.from_row_lengths([-1]), tf.errors.InvalidArgumentError),
        (lambda: Rows.from_uniform_row_length(2), ValueError),
        (lambda: Rows.from_uniform_row_length(2, nvals=6, nrows=4), ValueError),
        (lambda: Rows.from_row_splits(tf.constant([0, 1], tf.int16)), ValueError),
        (lambda: Rows([0, 1]), ValueError),
    ],
)
def test_rows_that_are_none(make: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        make()


@pytest.mark.parametrize(
    ("lengths", "inner", "uniform"),
    [
        ([2, (3, 2)], [5], [True, False]),
        ([2, (1, 3), 2], [4, 2], [True, False, True]),
        ([2, 2, (1, 2, 3, 4)], [10], [True, True, False]),
        ([1, (3,), 1, (2, 1, 1)], [4], [True, False, True, False]),
        ([2, 3, 4], [2, 3, 4], [True] * 3),
        ([2, (0, 0)], [0], [True, False]),
        ([], [], []),
    ],
)
def test_shapes_of_lengths(lengths: list[Any], inner: list[int], uniform: list[bool]) -> None:
    shape = Shape.from_lengths(lengths)
    assert shape.static_lengths() == lengths and plain(shape.inner_shape) == inner and shape.rank == len(lengths)
    assert [shape.is_uniform(i) for i in range(len(lengths))] == uniform
    assert [plain(shape[i]) for i, u in enumerate(uniform) if u] == [n for n in lengths if isinstance(n, int)]
    again = _same(shape)
    assert plain(again == shape) is True and again.num_row_partitions == shape.num_row_partitions
    assert plain(tf.fill(shape, 7)) == plain(_sevens(shape))
    if all(uniform):
        assert plain(tf.zeros(shape)) == plain(tf.zeros(lengths))


def test_shapes_make_tensors() -> None:
    shape, rows = Shape.from_lengths([2, (1, 2)]), R([[1], [2, 3]])
    assert plain(tf.zeros(shape)) == [[0.0], [0.0, 0.0]] and plain(tf.ones(shape, tf.int32)) == [[1], [1, 1]]
    assert plain(tf.fill(shape, "a")) == [[b"a"], [b"a", b"a"]]
    assert plain(tf.reshape(tf.range(3), shape)) == [[0], [1, 2]]
    assert plain(tf.reshape(rows, Shape.from_lengths([3, (1, 0, 2)]))) == [[1], [], [2, 3]]
    assert plain(tf.reshape(rows, [3])) == [1, 2, 3] and plain(tf.shape(rows, tf.int64) == shape) is True
    assert plain(tf.function(lambda r: tf.zeros(tf.shape(r)))(rows)) == [[0.0], [0.0, 0.0]]
    assert plain(tf.broadcast_to(3, shape)) == [[3], [3, 3]]
    assert plain(tf.broadcast_to([["a"], ["b"]], shape)) == [[b"a"], [b"b", b"b"]]
    wide = tf.broadcast_dynamic_shape(Shape.from_lengths([2, (1, 2), 1]), tf.constant([3], tf.int64))
    assert wide.static_lengths() == [2, (1, 2), 3]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.reshape(tf.range(4), shape)


def test_parts_of_shapes() -> None:
    shape = Shape.from_lengths([2, (1, 2), 5, 6])
    assert shape[:1].static_lengths() == [2] and shape[:2].static_lengths() == [2, (1, 2)]
    assert shape[2:].static_lengths() == [5, 6] and shape[:-1].static_lengths() == [2, (1, 2), 5]
    assert shape[0:0].rank == 0 and plain(shape[-1]) == 6
    for wrong, kind in ((1, ValueError), (4, IndexError), (slice(None, None, 2), IndexError), ("a", TypeError)):
        with pytest.raises(kind):
            shape[wrong]


def test_shapes_of_partitions() -> None:
    outer, inner = Rows.from_row_lengths([1, 2]), Rows.from_row_lengths([2, 0, 1])
    shape = Shape.from_row_partitions([outer, inner])
    assert shape.static_lengths() == [2, (1, 2), (2, 0, 1)] and len(shape.row_partitions) == 2
    assert Shape([outer], [3, 4]).static_lengths() == [2, (1, 2), 4] and Shape([], [2, 3]).rank == 2
    assert shape.with_dtype(tf.int32).dtype is tf.int32
    for wrong in (
        lambda: Shape([outer], [4]),
        lambda: Shape.from_row_partitions([]),
        lambda: Shape([inner, outer], [3]),
    ):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(TypeError):
        Shape([3], [3])


def test_specs_are_made_of_specs() -> None:
    parts = [tf.experimental.RowPartition.from_row_splits([0, 2, 3])._type_spec]
    spec = Shape.Spec(row_partitions=parts, static_inner_shape=[3, 4], dtype=tf.int64)
    assert (spec.rank, spec.num_row_partitions, spec.inner_rank, spec.dtype) == (3, 1, 2, tf.int64)
    shape = Shape([tf.experimental.RowPartition.from_row_splits([0, 2, 3])], [3, 4])
    assert spec == shape._type_spec and spec.is_compatible_with(shape)
    lengths = tf.function(lambda x: x.row_partitions[0].row_lengths(), input_signature=[spec])
    assert lengths(shape).numpy().tolist() == [2, 1]
    assert Shape.Spec([], tf.TensorShape(None), tf.int32).rank is None
    for given, inner, dtype, error in (
        (parts, [3], tf.int32, ValueError),
        (parts, [3], tf.float32, ValueError),
        (parts, [], tf.int64, ValueError),
        ([3], [3], tf.int64, TypeError),
    ):
        with pytest.raises(error):
            Shape.Spec(row_partitions=given, static_inner_shape=inner, dtype=dtype)
