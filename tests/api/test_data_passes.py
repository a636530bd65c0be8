"""What passes over a dataset have in common: epochs without elements, random ops in functions of elements, caches."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph import errors

Dataset = tf.data.Dataset


def plain(dataset: tf.data.Dataset) -> list[int]:
    """The elements, scalars, as numbers of Python's."""
    return [int(x) for x in dataset]


def _listed(dataset):
    return [np.asarray(x).tolist() for x in dataset]


def _epochs(*lengths):
    """A dataset whose passes have these lengths, and none once they are over."""
    left = iter(lengths)

    def elements():
        yield from range(next(left, 0))

    return Dataset.from_generator(elements, output_signature=tf.TensorSpec([], tf.int64))


@pytest.mark.parametrize("lengths", [(0, 3, 2), (3, 0, 2), (1, 1, 0, 0, 1), (0,)])
def test_repeat_goes_on_after_an_empty_epoch(lengths):
    expected = sorted(x for n in lengths for x in range(n))
    assert sorted(_listed(_epochs(*lengths).shuffle(10).repeat(12))) == expected
    assert sorted(_listed(_epochs(*lengths).repeat(12).shuffle(10))) == expected
    assert sorted(_listed(_epochs(*lengths).shuffle(10).repeat(2).repeat(6))) == expected


def test_repeat_for_ever_ends_with_an_empty_epoch():
    assert _listed(_epochs(2, 1, 0, 3).repeat()) == [0, 1, 0]
    assert _listed(Dataset.range(0).repeat()) == _listed(Dataset.range(0).shuffle(10).repeat(10**15)) == []


U = [0.8669, 0.0890, 0.9858, 0.7997, 0.1684, 0.1441]  # of seed 5 under the global seed 7


@pytest.fixture
def seeded():
    tf.random.set_seed(7)
    yield lambda x: tf.random.uniform([], seed=5)
    tf.random.set_seed(None)


def test_random_ops_begin_anew_with_every_iterator(seeded):
    d = Dataset.range(3).map(seeded)
    for _ in range(2):
        assert np.allclose(_listed(d), U[:3], atol=1e-4)
    assert np.allclose(_listed(d.repeat(2)), U, atol=1e-4)  # one iterator, so they go on
    assert np.allclose(_listed(d.concatenate(d)), U[:3] * 2, atol=1e-4)
    assert np.allclose([pair[0] for pair in _listed(Dataset.zip((d, d)))], U[:3], atol=1e-4)
    assert np.allclose(_listed(Dataset.range(3).flat_map(lambda x: Dataset.range(2).map(seeded))), U, atol=1e-4)
    first, second = iter(d), iter(d)
    assert np.allclose([next(i).numpy() for i in (first, second, first, second)], [U[0], U[0], U[1], U[1]], atol=1e-4)
    kept = Dataset.range(20).filter(lambda x: seeded(x) > 0.5)
    assert _listed(kept) == _listed(kept) != []


def test_random_ops_begin_anew_in_graphs_and_leave_functions_alone(seeded):
    function = tf.function(seeded)
    assert np.allclose(function(0), U[0], atol=1e-4)
    assert np.allclose(_listed(Dataset.range(3).map(function)), U[:3], atol=1e-4)
    assert np.allclose(function(0), U[1], atol=1e-4)

    @tf.function
    def total():
        s = 0.0
        for x in Dataset.range(3).map(seeded):
            s += x
        return s

    assert np.allclose([total(), total()], sum(U[:3]), atol=1e-3)


def test_random_ops_without_a_seed_follow_the_global_one(seeded):
    d = Dataset.range(3).map(lambda x: tf.random.uniform([]))
    assert _listed(d) == _listed(d)
    tf.random.set_seed(None)
    d = Dataset.range(3).map(lambda x: tf.random.uniform([]))
    assert _listed(d) != _listed(d)


def test_a_cache_behind_a_shuffle_is_read_again_as_it_was():
    d = Dataset.range(30).shuffle(30).cache()
    assert _listed(d.take(3)) is not None
    assert _listed(d) == _listed(d) == _listed(d.repeat(2))[30:]


def test_random_access_has_an_order_of_its_own() -> None:
    # TensorFlow 2.21's orders; a buffer of any size is as large as the dataset here, and passes change nothing.
    tf.random.set_seed(1234)
    for again, expected in ((True, [5, 4, 0, 1, 6, 2, 3]), (False, [0, 4, 5, 6, 3, 2, 1])):
        for size in (2, 10):
            dataset = Dataset.range(7).shuffle(size, 2, again)
            plain(dataset)
            assert [int(tf.data.experimental.at(dataset, i)) for i in range(7)] == expected
            rows = dataset.map(lambda x: x + 10).batch(3)
            assert [x - 10 for i in range(3) for x in tf.data.experimental.at(rows, i).numpy()] == expected
    with pytest.raises(errors.FailedPreconditionError, match="infinite cardinality"):
        tf.data.experimental.at(Dataset.range(3).repeat(), 0)


def test_an_empty_pass_ends_no_repeated_shuffle_that_has_given_elements() -> None:
    for shuffled, expected in ((True, [0, 0, 1]), (False, [0])):
        sizes = iter([1, 0, 2, 10])
        dataset = Dataset.from_generator(lambda: iter(range(next(sizes))), tf.int64, ())  # noqa: B023 - used at once
        dataset = dataset.shuffle(9) if shuffled else dataset
        assert sorted(plain(dataset.repeat().take(3))) == expected


def test_counts_in_variables() -> None:
    count = tf.Variable(2, dtype=tf.int64)
    dataset = Dataset.range(2).flat_map(lambda x: Dataset.from_tensors(x).repeat(count))
    assert plain(dataset) == [0, 0, 1, 1] and plain(Dataset.range(1).repeat(count)) == [0, 0]
    count.assign(0)
    assert plain(dataset) == []


def test_batches_of_datasets_keep_their_shape_through_functions() -> None:
    dataset = Dataset.range(6).map(lambda i: Dataset.from_tensors(i)).batch(3).map(lambda x: x)
    assert plain(dataset.unbatch().flat_map(lambda x: x)) == list(range(6))


ONE, TWO, THREE = [0, 1, 2, 3, 4, 5], [0, 4, 1, 5, 3, 2], [2, 4, 5, 3, 0, 1]  # TensorFlow 2.21's orders


@pytest.fixture
def shuffled():
    """A maker of datasets that have these orders."""
    tf.random.set_seed(None)
    return lambda: Dataset.range(6).shuffle(10, seed=3)


@pytest.mark.parametrize(
    ("behind", "orders"),
    [
        (lambda ds: ds, (ONE, TWO, THREE)),
        (lambda ds: ds.map(lambda x: x).prefetch(2).take(-1), (ONE, TWO, THREE)),
        (lambda ds: ds.batch(3).unbatch(), (ONE, TWO, THREE)),
        (lambda ds: Dataset.range(0).concatenate(ds), (TWO, ONE, THREE)),  # the second begins with its elements
        (lambda ds: ds.shuffle(1, seed=9), (TWO, ONE, THREE)),  # as its buffer is filled
    ],
)
def test_the_order_of_a_pass_is_drawn_when_its_iterator_is_made(shuffled, behind, orders):
    dataset = behind(shuffled())
    first, second = iter(dataset), iter(dataset)
    late = _listed(second)
    assert (_listed(first), late, _listed(dataset)) == orders


def test_an_iterator_that_is_not_used_draws_an_order(shuffled, tmp_path):
    dataset = shuffled().batch(6)
    iter(dataset)
    second = iter(dataset)
    saved = tf.train.Checkpoint(it=second).save(str(tmp_path / "c"))
    assert (_listed(dataset), _listed(second)) == ([THREE], [TWO])
    third = iter(dataset)
    tf.train.Checkpoint(it=third).restore(saved)
    assert _listed(third) == [TWO]


def test_a_dataset_made_in_a_graph_has_its_first_order_in_each_call(shuffled):
    assert _listed(Dataset.range(2).flat_map(lambda _: shuffled())) == ONE + ONE

    @tf.function
    def first():
        return next(iter(shuffled().batch(6))), next(iter(Dataset.random(seed=4, rerandomize_each_iteration=True)))

    assert [np.asarray(x).tolist() for x in first()] == [np.asarray(x).tolist() for x in first()]
    kept = shuffled()
    assert _listed(Dataset.range(2).flat_map(lambda _: kept)) == ONE + TWO


def test_states_of_reducers_widen_and_what_is_too_short_is_refused(tmp_path: Any) -> None:
    reducer = tf.data.experimental.Reducer(
        lambda key: ([0], 1),
        lambda state, x: (tf.concat([state[0], state[0]], 0), tf.expand_dims(state[1], 0)),
        lambda x, y: (x, y),
    )
    groups = tf.data.Dataset.range(3).apply(tf.data.experimental.group_by_reducer(lambda x: x * 0, reducer))
    assert groups.element_spec[0].shape.as_list() == [None]
    assert groups.element_spec[1].shape.rank is None
    assert [[part.numpy().tolist() for part in group] for group in groups] == [[[0] * 8, [[[1]]]]]
    with pytest.raises(ValueError, match=r"less than the target cardinality \(3\), but has cardinality 5"):
        tf.data.Dataset.from_tensors({"a": 1}).repeat(5).apply(tf.data.experimental.pad_to_cardinality(3))
    shares = np.array([0.5, 0.5])  # float64, and what comes is counted
    assert list(tf.data.Dataset.range(40).rejection_resample(lambda x: x % 2, shares, seed=1))
    path = str(tmp_path / "none")
    assert list(tf.data.Dataset.range(0).snapshot(path)) == []
    assert (
        len(os.listdir(os.path.join(path, *os.listdir(path)))) == 2
    )  # the metadata, and the folder of a run without elements


def test_a_repeat_that_is_through_has_begun_another_pass() -> None:
    # TensorFlow's numbers; it makes one source of a shuffle that is repeated at once, which begins none
    def after(make) -> list[int]:
        tf.random.set_seed(7)
        rows = tf.data.Dataset.range(20).shuffle(50, seed=5)
        list(make(rows))
        return [int(next(iter(rows))) for _ in range(2)]

    assert after(lambda rows: rows.batch(4).repeat(2)) == [7, 2]
    assert after(lambda rows: rows.repeat(3).batch(4)) == [7, 2]
    assert after(lambda rows: rows.repeat(2).repeat(2)) == [19, 4]
    assert after(lambda rows: rows.filter(lambda x: x < 0).repeat(3)) == [2, 19]
    assert after(lambda rows: rows.repeat(1)) == [11, 18]


def test_random_orders_without_a_seed_in_functions_are_those_of_tensorflow() -> None:
    """By the global seed and the op's number in its trace; the numbers are TensorFlow 2.21's."""
    tf.random.set_seed(1)
    four = lambda _: Dataset.range(4).shuffle(4)
    assert plain(Dataset.range(2).flat_map(four)) == [1, 2, 3, 0, 1, 2, 3, 0]
    assert plain(Dataset.range(2).interleave(four, 2)) == [1, 1, 2, 2, 3, 3, 0, 0]
    drawn = Dataset.range(2).flat_map(lambda _: Dataset.random().take(2))
    assert plain(drawn) == [3823634032, 3842641596, 3823634032, 3842641596]

    @tf.function
    def twice(n: Any) -> Any:
        found = tf.constant([], tf.int64)
        for _ in range(2):
            for x in Dataset.range(n).shuffle(5):
                found = tf.concat([found, [x]], 0)
        return tf.concat([found, [tf.random.uniform([], 0, 99, tf.int64)]], 0)

    assert twice(tf.constant(4, tf.int64)).numpy().tolist() == [1, 2, 3, 0, 2, 3, 0, 1, 58]


def test_passes_of_a_resampled_shuffle_are_those_of_tensorflow():
    rare = lambda x: tf.cast(x % 4 == 0, tf.int32)
    tf.random.set_seed(7)
    made = tf.data.Dataset.range(20).shuffle(20, seed=3).rejection_resample(rare, [0.5, 0.5], seed=5)
    tf.random.set_seed(None)
    assert [[int(x) for _, x in made] for _ in range(2)] == [  # of TensorFlow 2.21
        [16, 12, 7, 8, 13, 14, 15, 10, 16, 4, 17, 8, 2, 3, 4, 0, 6, 19],
        [15, 0, 17, 8, 0, 10, 1, 11, 12, 2, 4, 3, 16, 9, 16, 4, 19, 6],
    ]
