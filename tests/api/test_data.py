"""tf.data in eager mode: sources, transformations, specs, cardinalities, errors. Values are TensorFlow's."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph import errors

Dataset = tf.data.Dataset
SCALAR = tf.TensorSpec((), tf.int64)


def values(dataset: Any) -> list[Any]:
    return list(dataset.as_numpy_iterator())


def plain(dataset: Any) -> Any:
    """The elements as lists and tuples of Python numbers."""
    return tf.nest.map_structure(lambda leaf: leaf.tolist(), values(dataset))


def each(iterator: Any, n: int) -> list[Any]:
    """What `n` calls of next give: values, "stop", or the classes of errors."""
    found: list[Any] = []
    for _ in range(n):
        try:
            found.append(next(iterator).numpy().tolist())
        except StopIteration:
            found.append("stop")
        except Exception as error:
            found.append(type(error))
    return found


# ---- sources --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [((3,), [0, 1, 2]), ((2, 5), [2, 3, 4]), ((5, 0, -2), [5, 3, 1]), ((0, 5, 2), [0, 2, 4]), ((0,), [])],
)
def test_range(arguments: tuple[int, ...], expected: list[int]) -> None:
    dataset = Dataset.range(*arguments)
    assert plain(dataset) == expected
    assert len(dataset) == len(expected)
    assert dataset.element_spec == SCALAR
    assert values(Dataset.range(2, output_type=tf.float32))[1].dtype == np.float32


def test_slices_of_nested_tensors() -> None:
    pairs = Dataset.from_tensor_slices(([1, 2], [3.0, 4.0]))
    assert pairs.element_spec == (tf.TensorSpec((), tf.int32), tf.TensorSpec((), tf.float32))
    assert plain(pairs) == [(1, 3.0), (2, 4.0)]
    assert plain(Dataset.from_tensor_slices({"b": [1, 2], "a": [3, 4]})) == [{"b": 1, "a": 3}, {"b": 2, "a": 4}]
    assert plain(Dataset.from_tensor_slices(np.arange(6).reshape(3, 2))) == [[0, 1], [2, 3], [4, 5]]
    assert values(Dataset.from_tensor_slices(["a", "bc"])) == [b"a", b"bc"]
    assert values(Dataset.from_tensor_slices([])) == []
    point = namedtuple("point", "x y")
    first = next(iter(Dataset.from_tensor_slices(point([1], [2]))))
    assert type(first) is point and int(first.y) == 2


@pytest.mark.parametrize("dtype", [tf.bool, tf.uint8, tf.bfloat16, tf.float16, tf.complex64, tf.string])
def test_slices_keep_their_dtype(dtype: Any) -> None:
    data = tf.constant(["a", "b"]) if dtype == tf.string else tf.cast([0, 1], dtype)
    dataset = Dataset.from_tensor_slices(data).batch(2)
    assert dataset.element_spec == tf.TensorSpec((None,), dtype)
    batch = next(iter(dataset))
    assert batch.dtype == dtype
    np.testing.assert_array_equal(batch.numpy(), data.numpy())


def test_a_list_of_pairs_is_one_tensor() -> None:
    assert plain(Dataset.from_tensor_slices([(1, 1), (2, 2)])) == [[1, 1], [2, 2]]
    assert plain(Dataset.from_tensors(([1, 2], 3))) == [([1, 2], 3)]


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: Dataset.from_tensor_slices(([1, 2], [1])), ValueError, "Dimensions 2 and 1 are not compatible"),
        (lambda: Dataset.from_tensor_slices(3), ValueError, "only supported for rank >= 1"),
        (lambda: Dataset.from_tensor_slices(([1], 3)), ValueError, "only supported for rank >= 1"),
        (lambda: Dataset.from_tensor_slices([None]), ValueError, "should not be empty"),
        (lambda: Dataset.from_tensor_slices(()), ValueError, "should not be empty"),
        (lambda: Dataset.from_tensor_slices(object()), ValueError, "unsupported type"),
        (lambda: Dataset.range(), ValueError, "between 1 and 3 but was 0"),
        (lambda: Dataset.range(0, 3, 0), errors.InvalidArgumentError, "step must be a non-zero integer"),
        (lambda: Dataset.from_generator(lambda: [1]), TypeError, "To specify the output signature"),
        (lambda: Dataset.from_generator([1], tf.int32), TypeError, "must be a Python callable"),
        (
            lambda: Dataset.from_generator(lambda: [1], tf.int32, output_signature=SCALAR),
            TypeError,
            "can not be used together",
        ),
        (lambda: Dataset.from_generator(lambda: [1], output_signature=3), TypeError, "subclass of `tf.TypeSpec`"),
        (lambda: Dataset.range(5).batch(0), errors.InvalidArgumentError, "Batch size must be greater than zero"),
        (lambda: Dataset.range(5).batch(2.5), TypeError, "Cannot convert 2.5"),
        (lambda: Dataset.range(5).take("a"), TypeError, "Cannot convert 'a'"),
        (lambda: Dataset.range(5).shuffle(0), errors.InvalidArgumentError, "buffer_size must be greater than zero"),
        (lambda: Dataset.range(5).map(3), ValueError, "must be a callable"),
        (lambda: Dataset.range(5).map(lambda x: None), errors.InvalidArgumentError, "must be at least minimum 1"),
        (lambda: Dataset.range(5).map(lambda x: object()), TypeError, "Unsupported return value"),
        (lambda: Dataset.range(5).map(lambda x, y: x), TypeError, "missing 1 required positional argument"),
        (lambda: Dataset.range(5).filter(lambda x: x), ValueError, "must return a `tf.bool` scalar"),
        (lambda: Dataset.range(5).flat_map(lambda x: x), TypeError, "must return a `Dataset`"),
        (lambda: Dataset.zip([Dataset.range(3)]), TypeError, "`list` is not supported"),
        (lambda: Dataset.zip((Dataset.range(3), 3)), TypeError, "encountered object of type <class 'int'>"),
        (lambda: Dataset.zip(), TypeError, "at least one dataset"),
        (lambda: Dataset.range(3).concatenate(Dataset.from_tensors(1.0)), TypeError, "Incompatible dataset elements"),
        (lambda: Dataset.range(3).apply(lambda d: 3), TypeError, "must return a `tf.data.Dataset`"),
        (lambda: tf.convert_to_tensor(Dataset.range(3)), ValueError, "unsupported type"),
        (lambda: Dataset.range(3)[0], TypeError, "not subscriptable"),
        (lambda: len(Dataset.range(3).repeat()), TypeError, "The dataset is infinite"),
        (lambda: len(Dataset.range(3).filter(lambda x: x > 1)), TypeError, "The dataset length is unknown"),
    ],
)
def test_wrong_arguments(make: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        make()


# ---- generators -----------------------------------------------------------------------------------------------------


def test_generator_of_pairs() -> None:
    dataset = Dataset.from_generator(lambda: [(1, 1)] * 3, (tf.int32, tf.int32))
    unknown = "TensorSpec(shape=<unknown>, dtype=tf.int32, name=None)"
    assert repr(dataset) == f"<_FlatMapDataset element_spec=({unknown}, {unknown})>"
    assert plain(dataset) == [(1, 1)] * 3
    assert plain(dataset) == [(1, 1)] * 3  # called anew
    assert int(dataset.cardinality()) == tf.data.UNKNOWN_CARDINALITY


@pytest.mark.parametrize(
    ("value", "dtype", "wanted"),
    [
        (1.5, tf.int32, None),
        (1, tf.bool, None),
        (True, tf.uint8, None),
        (1j, tf.float32, None),
        (tf.constant(1.0), tf.int32, None),
        (1, tf.float32, 1.0),
        (True, tf.int32, 1),
        (np.float64(1.5), tf.int32, 1),
        (np.array(2), tf.float32, 2.0),
        ([], tf.int32, []),
        ([[], []], tf.string, [[], []]),
        (np.zeros([0]), tf.string, None),
    ],
)
def test_generators_yield_numbers_of_the_kind_that_is_wanted(value: Any, dtype: Any, wanted: Any) -> None:
    dataset = Dataset.from_generator(lambda: iter([value]), dtype)
    if wanted is not None:
        assert plain(dataset) == [wanted]
        return
    with pytest.raises(tf.errors.InvalidArgumentError):
        plain(dataset)


def test_generator_with_shapes_a_signature_and_arguments() -> None:
    assert Dataset.from_generator(lambda: [1], tf.int64, tf.TensorShape([])).element_spec == SCALAR
    signature = {"a": tf.TensorSpec((), tf.int32), "b": tf.TensorSpec((None,), tf.float32)}
    named = Dataset.from_generator(lambda: [{"b": [1.0], "a": 2}], output_signature=signature)
    assert named.element_spec == signature
    assert plain(named) == [{"a": 2, "b": [1.0]}]
    counted = Dataset.from_generator(lambda n, k: range(n, n + k), tf.int64, args=(3, np.int64(2)))
    assert plain(counted) == [3, 4]


@pytest.mark.parametrize(
    ("yielded", "signature", "text"),
    [
        ("a", tf.TensorSpec((), tf.int32), "did not match the expected structure.*yielded element was a"),
        ([1, 2, 3], tf.TensorSpec((2,), tf.int32), r"shape \(3,\) where an element of shape \(2,\) was expected"),
        (1, (SCALAR, SCALAR), r"expected structure was \(tf.int64, tf.int64\), but the yielded element was 1"),
        ({"b": 1}, {"a": SCALAR}, "did not match the expected structure"),
    ],
)
def test_generator_that_yields_what_does_not_fit(yielded: Any, signature: Any, text: str) -> None:
    dataset = Dataset.from_generator(lambda: [yielded], output_signature=signature)
    with pytest.raises(errors.InvalidArgumentError, match=text):
        values(dataset)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError, errors.InvalidArgumentError),
        (TypeError, errors.InvalidArgumentError),
        (KeyError, errors.UnknownError),
        (NotImplementedError, errors.UnimplementedError),
        (MemoryError, errors.ResourceExhaustedError),
    ],
)
def test_failing_generator_ends_its_pass(error: type[Exception], kind: type[Exception]) -> None:
    def generator() -> Iterator[int]:
        yield 1
        raise error("boom")

    iterator = iter(Dataset.from_generator(generator, tf.int32))
    assert each(iterator, 4) == [1, kind, "stop", "stop"]
    with pytest.raises(kind, match="boom"):
        values(Dataset.from_generator(generator, tf.int32))


def test_generator_that_cannot_begin() -> None:
    def generator() -> Any:
        raise OSError("no file")

    assert each(iter(Dataset.from_generator(generator, tf.int32)), 3) == [errors.UnknownError, "stop", "stop"]


def test_generators_run_when_an_element_is_asked_for() -> None:
    seen: list[int] = []

    def generator() -> Iterator[int]:
        for i in range(3):
            seen.append(i)
            yield i

    dataset = Dataset.from_generator(generator, tf.int32).map(lambda x: x + 1).prefetch(2)
    assert seen == []
    iterator = iter(dataset)
    assert seen == []
    next(iterator)
    assert seen == [0]


# ---- transformations ------------------------------------------------------------------------------------------------


def test_batch() -> None:
    dataset = Dataset.range(5).batch(2)
    assert plain(dataset) == [[0, 1], [2, 3], [4]]
    assert dataset.element_spec == tf.TensorSpec((None,), tf.int64)
    whole = Dataset.range(5).batch(2, drop_remainder=True)
    assert plain(whole) == [[0, 1], [2, 3]]
    assert whole.element_spec == tf.TensorSpec((2,), tf.int64)
    assert plain(Dataset.from_tensors((1, [2])).repeat(2).batch(2)) == [([1, 1], [[2], [2]])]
    assert plain(Dataset.range(5).batch(2).unbatch()) == [0, 1, 2, 3, 4]


def test_batch_of_different_shapes() -> None:
    dataset = Dataset.from_generator(lambda: [[1], [1, 2]], tf.int32).batch(2)
    with pytest.raises(
        errors.InvalidArgumentError,
        match=r"different shapes in component 0. First element had shape \[1\] and element 1 had shape \[2\]",
    ):
        values(dataset)


def test_map_is_traced_once_and_converted() -> None:
    traces = []

    def function(x: Any) -> Any:
        traces.append(1)
        if x % 2 == 0:
            y = x
        else:
            y = -x
        return {"y": y, "both": [x, y]}

    dataset = Dataset.range(3).map(function, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)
    assert len(traces) == 1
    assert dataset.element_spec["y"] == SCALAR
    assert sorted(int(element["y"]) for element in dataset) == [-1, 0, 2]
    assert len(traces) == 1


def test_map_of_tuples_dicts_and_lists() -> None:
    pairs = Dataset.from_tensor_slices(([1, 2], [3, 4]))
    assert plain(pairs.map(lambda a, b: a * b)) == [3, 8]
    assert plain(Dataset.from_tensor_slices({"a": [1, 2]}).map(lambda d: d["a"] * 2)) == [2, 4]
    assert Dataset.range(1).map(lambda x: [x, x]).element_spec == (SCALAR, SCALAR)
    assert plain(Dataset.range(2).map(lambda x: (x, (x, 5)))) == [(0, (0, 5)), (1, (1, 5))]


def test_map_reads_variables_as_they_are() -> None:
    factor = tf.Variable(2, dtype=tf.int64)
    dataset = Dataset.range(3).map(lambda x: x * factor)
    assert plain(dataset) == [0, 2, 4]
    factor.assign(3)
    assert plain(dataset) == [0, 3, 6]


def test_map_of_ragged_elements() -> None:
    dataset = Dataset.range(1, 3).map(lambda n: tf.RaggedTensor.from_row_lengths(tf.range(n), tf.reshape(n, [1])))
    assert isinstance(dataset.element_spec, tf.RaggedTensorSpec)
    assert [row.to_list() for row in dataset] == [[[0]], [[0, 1]]]


def test_failing_map_goes_on_after_the_element() -> None:
    iterator = iter(Dataset.range(4).map(lambda x: 10 // (x - 1)))
    assert each(iterator, 6) == [-10, errors.InvalidArgumentError, 10, 5, "stop", "stop"]
    with pytest.raises(ZeroDivisionError):
        Dataset.range(3).map(lambda x: 1 / 0)


def test_failing_element_takes_its_batch_with_it() -> None:
    iterator = iter(Dataset.range(5).map(lambda x: 10 // (x - 1)).batch(2))
    assert each(iterator, 4) == [errors.InvalidArgumentError, [10, 5], [3], "stop"]


def test_filter_take_skip_repeat() -> None:
    five = Dataset.range(5)
    assert plain(five.filter(lambda x: x % 2 == 0)) == [0, 2, 4]
    assert (plain(five.take(2)), plain(five.take(9)), plain(five.take(-1))) == ([0, 1], list(range(5)), list(range(5)))
    assert (plain(five.skip(3)), plain(five.skip(9)), plain(five.skip(-1))) == ([3, 4], [], [])
    assert plain(Dataset.range(2).repeat(3)) == [0, 1] * 3
    assert plain(Dataset.range(2).repeat().take(5)) == [0, 1, 0, 1, 0]
    assert plain(Dataset.range(0).repeat()) == []
    assert plain(five.take(tf.constant(1, tf.int64))) == [0]


def test_zip_enumerate_concatenate() -> None:
    a, b = Dataset.range(3), Dataset.range(2)
    assert plain(Dataset.zip(a, b)) == plain(Dataset.zip((a, b))) == [(0, 0), (1, 1)]
    assert plain(Dataset.zip({"a": a, "b": (b, b)})) == [{"a": 0, "b": (0, 0)}, {"a": 1, "b": (1, 1)}]
    assert values(Dataset.from_tensor_slices(["a", "b"]).enumerate(start=5)) == [(5, b"a"), (6, b"b")]
    assert plain(a.concatenate(b)) == [0, 1, 2, 0, 1]
    wider = Dataset.from_tensors([1, 2]).concatenate(Dataset.from_tensors([1]))
    assert wider.element_spec == tf.TensorSpec((None,), tf.int32)


def test_flat_map_and_reduce() -> None:
    assert plain(Dataset.range(4).flat_map(lambda x: Dataset.range(x))) == [0, 0, 1, 0, 1, 2]
    assert int(Dataset.range(5).reduce(np.int64(0), lambda s, x: s + x)) == 10
    total, n = Dataset.range(5).reduce((np.int64(0), 0), lambda s, x: (s[0] + x, s[1] + 1))
    assert (int(total), int(n)) == (10, 5)


def test_cache_asks_its_source_once() -> None:
    calls = []

    def generator() -> Iterator[int]:
        calls.append(1)
        yield from range(3)

    dataset = Dataset.from_generator(generator, tf.int32).cache()
    next(iter(dataset))  # does not come to the end: nothing is kept
    assert (plain(dataset), plain(dataset), len(calls)) == ([0, 1, 2], [0, 1, 2], 2)


@pytest.mark.parametrize("in_file", [False, True])
def test_a_cache_of_a_known_number_is_there_after_the_last(in_file: bool, tmp_path: Path) -> None:
    calls = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return x

    source = Dataset.range(3).map(lambda x: tf.py_function(counted, [x], tf.int64))
    dataset = source.cache(str(tmp_path / "c") if in_file else "").prefetch(1)
    for _ in range(3):  # as `fit` does with a known number of steps
        iterator = iter(dataset)
        assert [int(next(iterator)) for _ in range(3)] == [0, 1, 2]
    assert len(calls) == 3 and plain(dataset) == [0, 1, 2]


def test_shuffle_is_a_permutation_within_its_buffer() -> None:
    for size in (1, 3, 100):
        order = plain(Dataset.range(50).shuffle(size))
        assert sorted(order) == list(range(50))
        assert all(value < place + size for place, value in enumerate(order))
    assert plain(Dataset.range(5).shuffle(1)) == list(range(5))


def test_shuffle_with_a_seed() -> None:
    dataset = Dataset.range(20).shuffle(20, seed=3)
    first, second = plain(dataset), plain(dataset)
    assert first != second
    again = Dataset.range(20).shuffle(20, seed=3)
    assert [plain(again), plain(again)] == [first, second]
    fixed = Dataset.range(20).shuffle(20, seed=3, reshuffle_each_iteration=False)
    assert plain(fixed) == plain(fixed)
    assert plain(Dataset.range(20).shuffle(20)) != plain(Dataset.range(20).shuffle(20))


def test_orders_of_shuffle_are_tensorflows() -> None:
    """Of TensorFlow 2.21 with these seeds."""
    tf.random.set_seed(11)
    data = Dataset.range(8)
    twice = data.shuffle(3, seed=5).repeat(2)
    assert [int(x) for x in twice] == [1, 2, 4, 0, 3, 6, 7, 5, 0, 1, 3, 5, 6, 2, 4, 7]
    assert [int(x) for x in twice] == [1, 0, 4, 2, 5, 6, 7, 3, 1, 2, 3, 4, 6, 7, 0, 5]
    by_the_program = data.shuffle(100)
    assert [int(x) for x in by_the_program] == [7, 4, 3, 6, 5, 0, 2, 1]
    assert [int(x) for x in by_the_program] == [0, 6, 1, 7, 5, 3, 4, 2]
    once = data.shuffle(4, seed=-3, reshuffle_each_iteration=False)
    assert [int(x) for x in once] == [int(x) for x in once] == [0, 3, 4, 5, 6, 2, 7, 1]


def test_shuffle_follows_the_global_seed() -> None:
    orders = []
    for _ in range(2):
        tf.random.set_seed(7)
        orders.append([plain(Dataset.range(20).shuffle(20)), plain(Dataset.range(20).shuffle(20))])
    tf.random.set_seed(None)  # type: ignore[arg-type]
    assert orders[0] == orders[1]
    assert orders[0][0] != orders[0][1]


def five() -> Any:
    return Dataset.range(5)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (five, 5),
        (lambda: five().batch(2), 3),
        (lambda: five().batch(2, True), 2),
        (lambda: five().repeat(), -1),
        (lambda: five().repeat(2), 10),
        (lambda: five().repeat(0), 0),
        (lambda: Dataset.range(0).repeat(), 0),
        (lambda: five().filter(lambda x: x > 1), -2),
        (lambda: five().take(3), 3),
        (lambda: five().take(9), 5),
        (lambda: five().take(-1), 5),
        (lambda: five().skip(2), 3),
        (lambda: five().skip(9), 0),
        (lambda: five().skip(-1), 0),
        (lambda: Dataset.zip((Dataset.range(3), five())), 3),
        (lambda: Dataset.range(3).concatenate(five()), 8),
        (lambda: five().repeat().take(4), 4),
        (lambda: five().repeat().skip(2), -1),
        (lambda: five().repeat().batch(2), -1),
        (lambda: Dataset.from_generator(lambda: [1], tf.int32), -2),
        (lambda: Dataset.from_tensors(1), 1),
        (lambda: five().shuffle(2).enumerate().prefetch(1).cache(), 5),
        (lambda: five().filter(lambda x: x > 1).take(2), -2),
        (lambda: five().filter(lambda x: x > 1).repeat(), -1),
    ],
)
def test_cardinality(make: Callable[[], Any], expected: int) -> None:
    cardinality = make().cardinality()
    assert cardinality.dtype == tf.int64
    assert int(cardinality) == expected


def test_every_dataset_says_what_it_is() -> None:
    base = Dataset.range(3)
    spec = "TensorSpec(shape=(), dtype=tf.int64, name=None)"
    for dataset, name in [
        (base, "Range"),
        (base.take(1), "Take"),
        (base.skip(1), "Skip"),
        (base.repeat(), "Repeat"),
        (base.shuffle(2), "Shuffle"),
        (base.prefetch(1), "Prefetch"),
        (base.filter(lambda x: x > 1), "Filter"),
        (base.map(lambda x: x), "Map"),
        (base.map(lambda x: x, num_parallel_calls=2), "ParallelMap"),
        (base.concatenate(base), "Concatenate"),
        (base.batch(2).unbatch(), "Unbatch"),
    ]:
        assert repr(dataset) == f"<_{name}Dataset element_spec={spec}>"
    assert repr(base.cache()) == f"<CacheDataset element_spec={spec}>"  # TensorFlow's own exception
    assert isinstance(base, Dataset)
    assert bool(Dataset.range(0))
    assert (tf.data.AUTOTUNE, tf.data.INFINITE_CARDINALITY, tf.data.UNKNOWN_CARDINALITY) == (-1, -1, -2)
    assert tf.data.experimental.AUTOTUNE == -1
    assert int(tf.data.experimental.cardinality(base)) == 3


# ---- iterators ------------------------------------------------------------------------------------------------------


def test_iterator() -> None:
    iterator = iter(Dataset.range(2))
    assert isinstance(iterator, tf.data.Iterator)
    assert iterator.element_spec == SCALAR
    assert iter(iterator) is iterator
    assert (int(next(iterator)), int(iterator.get_next())) == (0, 1)
    with pytest.raises(errors.OutOfRangeError, match="End of sequence"):
        iterator.get_next()
    with pytest.raises(StopIteration):
        next(iterator)
    assert [(i, int(x)) for i, x in enumerate(Dataset.range(5, 7))] == [(0, 5), (1, 6)]


def test_passes_are_apart() -> None:
    dataset = Dataset.range(3)
    a, b = iter(dataset), iter(dataset)
    assert (int(next(a)), int(next(a)), int(next(b))) == (0, 1, 0)


def test_threads_share_a_pass() -> None:
    iterator = iter(Dataset.range(2000).map(lambda x: x + 1))
    found: list[int] = []

    def work() -> None:
        for x in iterator:
            found.append(int(x))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1, 2001))


def test_no_tape_follows_a_pass() -> None:
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        total = tf.add_n(list(Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: w * x)))
    assert tape.gradient(total, w) is None


def test_datasets_go_when_nobody_has_them() -> None:
    class Loader:
        def __init__(self) -> None:
            self.dataset = Dataset.from_generator(self.numbers, tf.int32).map(lambda x: x + 1)

        def numbers(self) -> Iterator[int]:
            yield 1

    loader = Loader()
    assert plain(loader.dataset) == [2]
    gone = weakref.ref(loader)
    del loader
    gc.collect()
    assert gone() is None


def test_specs() -> None:
    assert repr(tf.data.DatasetSpec(SCALAR)) == f"DatasetSpec({SCALAR!r}, TensorShape([]))"
    assert tf.data.DatasetSpec.from_value(Dataset.range(2)) == tf.data.DatasetSpec(SCALAR)
    assert repr(iter(Dataset.range(2))._type_spec) == f"IteratorSpec({SCALAR!r},)"
    named = Dataset.from_tensor_slices({"a": [1]})
    assert hash(named._type_spec) == hash(Dataset.from_tensor_slices({"a": [2]})._type_spec)
    assert named._type_spec != Dataset.range(2)._type_spec


def test_elements_print_where_nothing_else_has_been_used() -> None:
    code = "import fastgraph as tf\nfor x in tf.data.Dataset.range(1): print(x, repr(x), f'{x}')"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found == "tf.Tensor(0, shape=(), dtype=int64) <tf.Tensor: shape=(), dtype=int64, numpy=0> 0\n"


def test_importing_fastgraph_does_not_load_data() -> None:
    code = (
        "import sys, fastgraph as fg; fg.constant(1) + 1; "
        "assert 'fastgraph.data' not in sys.modules; fg.data.Dataset; "
        "assert 'fastgraph.data' in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([np.zeros([2], np.uint8)] * 2, "uint8"),
        ([[np.array([1, 2])], [np.array([3, 4])]], "int64"),
        ([np.array(1), np.array(2)], "int64"),
        ([np.array([1, 2]), [3, 4]], "int32"),
        ([np.array([1], np.int8), np.array([2], np.int16)], "int32"),
        ([np.int64(1), np.int64(2)], "int32"),
    ],
)
def test_lists_of_arrays_keep_their_dtype(values: Any, dtype: str) -> None:
    """In datasets, and where it is one; elsewhere integers of lists are int32. Checked against TensorFlow."""
    assert tf.data.Dataset.from_tensors(values).element_spec.dtype.name == dtype
    assert tf.data.Dataset.from_tensor_slices(values).element_spec.dtype.name == dtype


def test_lists_of_elements_that_differ_in_size() -> None:
    ragged = tf.data.experimental.from_list([(1, [1]), (2, [2, 3])])
    assert ragged.element_spec == (tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.int32))
    assert [row.tolist() for _, row in ragged.as_numpy_iterator()] == [[1], [2, 3]]
    for elements in ([1, 2.0], [{"a": 1}, {"b": 1}]):
        with pytest.raises(TypeError, match="Incompatible dataset elements"):
            tf.data.experimental.from_list(elements)


@pytest.mark.parametrize("of", [tf.data.Dataset.range, tf.data.Dataset.range(9).take, tf.data.Dataset.range(9).batch])
def test_counts_are_int64(of: Any) -> None:
    for wrong in (tf.constant(2), tf.constant(2.0)):
        with pytest.raises(ValueError, match="dtype int64 for Tensor with dtype"):
            of(wrong)
        with pytest.raises(ValueError, match="dtype int64 for Tensor with dtype"):
            tf.function(lambda n: of(n).cardinality()).get_concrete_function(wrong)
    assert of(tf.constant(2, tf.int64)).cardinality() == of(2).cardinality()


def test_images_of_unknown_sizes_have_the_size_they_are_cut_to() -> None:
    images = tf.data.Dataset.from_generator(
        lambda: iter([np.ones([9, 20, 3], np.uint8)]), output_signature=tf.TensorSpec([None, None, 3], tf.uint8)
    ).map(lambda x: tf.image.resize_with_crop_or_pad(x, 12, 10))
    assert images.element_spec == tf.TensorSpec([12, 10, 3], tf.uint8)
    assert [int(tf.reduce_sum(tf.cast(x, tf.int32))) for x in images] == [9 * 10 * 3]


def test_datasets_of_named_tuples_keep_their_names_in_a_dataset() -> None:
    pair = namedtuple("pair", "a b")
    each = tf.data.Dataset.from_tensors(pair(3, "test"))
    both = tf.data.Dataset.from_tensor_slices([each, each])
    assert both.element_spec == tf.data.DatasetSpec(each.element_spec)
    assert type(both.element_spec.element_spec) is pair and [int(x.a) for x in both.flat_map(lambda x: x)] == [3, 3]


@pytest.mark.parametrize(("n", "sizes", "drop", "wanted"), [
    (4, 2, False, 2), (4, [2, 2], False, 2), (4, [3, 3], True, 3), (4, 3, False, None), (4, [2, 1], True, None),
    (None, 2, False, None),
])  # fmt: skip
def test_rebatch_knows_a_size_that_divides_the_batches(n: Any, sizes: Any, drop: bool, wanted: Any) -> None:
    batches = tf.data.Dataset.range(8).batch(n or 4, drop_remainder=n is not None)
    assert batches.rebatch(sizes, drop_remainder=drop).element_spec.shape.as_list() == [wanted]
