"""Programs whose Functions make datasets and go over them, as cases of SavedModels that TensorFlow writes.

Rule: one object of many functions each, which all take a number of elements; see saved_model_cases.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.oracle.saved_model_cases import DATASETS, Case, holder, spec


def case(function: Callable[[Any], Case]) -> Callable[[Any], Case]:
    """Enter a case under the function's name."""
    DATASETS[function.__name__] = function
    return function


def functions(tf: Any, *bodies: Callable[..., Any], **attributes: Any) -> Case:
    """A Module with a Function of a number for each of `bodies`, called with 7 and with 0."""
    made = {body.__name__: tf.function(body, input_signature=[spec(tf, [], "int64")]) for body in bodies}
    calls: list[tuple[Any, ...]] = [(name, [np.int64(n)]) for name in made for n in (7, 0)]
    return Case(holder(tf, **attributes, **made), calls)


@case
def dataset_methods(tf: Any) -> Case:
    data = tf.data.Dataset

    def listed(dataset: Any) -> Any:
        first = (tf.zeros([0], tf.int64), tf.constant(0, tf.int64))
        found = dataset.reduce(first, lambda s, x: (tf.concat([s[0], [tf.reduce_sum(x) + s[1]]], 0), s[1] + 1))
        return found[0]

    def shuffled(n: Any) -> Any:
        return listed(data.range(n).shuffle(5, seed=7).batch(2, drop_remainder=True).prefetch(2).repeat(2))

    def windows(n: Any) -> Any:
        return listed(data.range(n).window(3, shift=2).flat_map(lambda w: w.batch(3)))

    def grouped(n: Any) -> Any:
        return listed(data.range(n).group_by_window(lambda x: x % 2, lambda k, w: w.batch(4), window_size=4))

    def interleaved(n: Any) -> Any:
        return listed(data.range(n).interleave(lambda x: data.from_tensors(x).repeat(3), cycle_length=2))

    def in_parallel(n: Any) -> Any:
        made = data.range(n).interleave(lambda x: data.range(x), cycle_length=2, block_length=2, num_parallel_calls=2)
        return listed(made.map(lambda x: x * n, num_parallel_calls=2).cache().take_while(lambda x: x < 30).skip(1))

    def padded(n: Any) -> Any:
        made = data.range(n).map(lambda x: (tf.range(x), x)).padded_batch(3, ([8], []), (np.int64(-1), np.int64(0)))
        return listed(made.map(lambda a, b: tf.concat([tf.reshape(a, [-1]), b], 0)))

    def chosen(n: Any) -> Any:
        return listed(data.choose_from_datasets([data.range(n), data.range(10, 20)], data.range(2).repeat(3)))

    def sampled(n: Any) -> Any:
        return listed(data.sample_from_datasets([data.range(n), data.range(10, 20)], [0.5, 0.5], seed=3))

    def others(n: Any) -> Any:
        made = data.range(n).map(lambda x: {"b": x, "a": (x, x * 2)}).batch(2).unbatch().filter(lambda d: d["b"] > 1)
        made = made.enumerate().map(lambda i, d: i * d["a"][1]).shard(2, 1).concatenate(data.range(3).unique())
        return listed(data.zip((made, data.random(seed=4), data.counter(2))).map(lambda x, r, i: x + r * i))

    def scanned(n: Any) -> Any:
        return listed(data.range(n).scan(tf.constant(1, tf.int64), lambda s, x: (s + x, s * x)).batch(3).rebatch(2))

    def counted(n: Any) -> Any:
        return data.range(n).batch(3).cardinality(), data.from_tensors(n).map(lambda x: x + 1).get_single_element()

    def uneven(n: Any) -> Any:
        made = data.from_tensor_slices(tf.ragged.constant([[1], [2, 3], []], dtype=tf.int64)).batch(2)
        return listed(made.map(lambda rows: tf.reduce_sum(rows, axis=1) * n))

    every = (
        shuffled,
        windows,
        grouped,
        interleaved,
        in_parallel,
        padded,
        chosen,
        sampled,
        others,
        scanned,
        counted,
        uneven,
    )
    return functions(tf, *every)


@case
def dataset_loops(tf: Any) -> Case:
    data = tf.data.Dataset
    scale = tf.Variable(3, dtype=tf.int64)
    kept = data.range(10).map(lambda x: x * 3).filter(lambda x: x % 2 == 0)
    table = data.from_tensor_slices((np.arange(4), np.arange(4.0, dtype=np.float32))).batch(3)

    def written(n: Any) -> Any:
        array, i = tf.TensorArray(tf.int64, 0, dynamic_size=True, element_shape=[]), 0
        for x in data.range(n):
            array = array.write(i, x * x)
            i += 1  # noqa: SIM113  # as programs count
        return array.stack()

    def broken(n: Any) -> Any:
        total = tf.constant(0, tf.int64)
        for x in data.range(n):
            if x > 4:
                break
            for y in data.range(x):
                if y % 2 == 0:
                    continue
                total += y * scale
        return total

    def stepped(n: Any) -> Any:
        iterator = iter(data.range(n).map(lambda x: (x, x + 1)))
        first = iterator.get_next_as_optional()
        total = n * 2
        if first.has_value():
            total += first.get_value()[1]
        for x, y in iterator:
            total += x * y
        return total

    def captured(n: Any) -> Any:
        total = kept.take(n).reduce(tf.constant(0, tf.int64), lambda a, b: a + b)
        for x, y in table:
            total += tf.reduce_sum(x) + tf.cast(tf.reduce_max(y), tf.int64)
        return total

    return functions(tf, written, broken, stepped, captured, scale=scale, kept=kept, table=table)


@case
def datasets_given(tf: Any) -> Case:
    data = tf.data.Dataset
    numbers, rows = (
        tf.data.DatasetSpec(spec(tf, [], "int64")),
        tf.data.DatasetSpec({"x": spec(tf, [None], "float32"), "n": (spec(tf, [], "int64"),)}),
    )

    @tf.function(input_signature=[numbers, spec(tf, [], "int64")])
    def total(dataset: Any, first: Any) -> Any:
        for x in dataset.filter(lambda x: x > 1):
            first += x
        return first

    @tf.function(input_signature=[rows])
    def doubled(dataset: Any) -> Any:
        return dataset.map(lambda row: {"y": row["x"] * 2.0, "m": row["n"][0]}), dataset.cardinality()

    @tf.function(input_signature=[tf.data.IteratorSpec(spec(tf, [], "int64"))])
    def taken(iterator: Any) -> Any:
        return next(iterator) * 10 + next(iterator)

    def counted(n: Any) -> Any:
        return total(data.range(n), n)

    found = functions(tf, counted)
    found.root.total, found.root.doubled, found.root.taken = total, doubled, taken
    return found


@case
def dataset_elements(tf: Any) -> Case:
    data = tf.data.Dataset

    def sums(dataset: Any) -> Any:
        return dataset.reduce(tf.constant(0, tf.int64), lambda a, x: a * 7 + tf.cast(x, tf.int64))

    def ragged(n: Any) -> Any:
        rows = tf.ragged.constant([[[1], [2, 3]], [], [[4], [], [5, 6, 7]], [[8]]])
        made = data.from_tensor_slices((rows, [1, 2, 3, 4])).take(n)
        batches = made.batch(2).map(lambda rows, _: tf.reduce_sum(rows.to_tensor(), [1, 2]))
        return sums(made.map(lambda rows, x: tf.reduce_sum(rows) * x)) + sums(batches.unbatch())

    def ragged_batches(n: Any) -> Any:
        made = data.range(n).map(lambda x: (tf.range(x), x)).ragged_batch(3)
        again = made.map(lambda rows, _: rows * 2).unbatch().batch(2)
        return sums(made.map(lambda rows, x: tf.reduce_sum(rows[-1]) + x[0])) + sums(again.map(lambda r: r.nrows()))

    def sparse(n: Any) -> Any:
        made = data.from_tensor_slices(tf.sparse.from_dense([[0, 1, 2], [0, 0, 0], [3, 0, 4]])).take(n)
        dense = made.batch(2).map(lambda rows: tf.reduce_sum(tf.sparse.to_dense(rows) * [1, 2, 3]))
        return sums(dense) + sums(made.batch(2).unbatch().map(tf.sparse.reduce_sum))

    def texts(n: Any) -> Any:
        found = tf.constant("")
        for x in data.from_tensor_slices(["a", "b", "c"]).take(n):
            found += x
        return found

    def drawn(n: Any) -> Any:
        made = data.range(n).map(lambda x: (tf.random.normal([], seed=3), tf.random.shuffle([1, 2, 3], 5)))
        found = made.map(lambda x, y: x + tf.cast(y[0], tf.float32) + tf.random.uniform([], seed=2))
        return found.reduce(0.0, lambda a, x: a * 3 + x)

    return functions(tf, ragged, ragged_batches, sparse, texts, drawn)
