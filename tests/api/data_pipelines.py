"""Pipelines of tf.data, run on fastgraph or TensorFlow: what each gives, as JSON.

`python tests/api/data_pipelines.py tensorflow` prints TensorFlow's, which data_pipelines.json keeps;
`python tests/api/data_pipelines.py fastgraph` what is given here.
"""

from __future__ import annotations

import gzip
import importlib
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

PIPELINES: dict[str, Callable[[Any, Any], Any]] = {}


def _add(name: str, make: Callable[[Any, Any], Any]) -> None:
    assert name not in PIPELINES, name
    PIPELINES[name] = make


def _many() -> None:
    # windows
    for n in (0, 1, 8):
        for size in (1, 3, 4):
            for shift in (None, 1, 2, 5):
                for stride in (1, 2):
                    for drop in (False, True):
                        _add(
                            f"window {n} {size} {shift} {stride} {drop}",
                            lambda tf, D, n=n, a=(size, shift, stride, drop): (
                                D.range(n).window(*a).flat_map(lambda w: w.batch(10))
                            ),
                        )
                        _add(
                            f"windows {n} {size} {shift} {stride} {drop}",
                            lambda tf, D, n=n, a=(size, shift, stride, drop): _cardinality(D.range(n).window(*a)),
                        )
    # interleave
    for cycle in (1, 2, 3, 7):
        for block in (1, 2, 5):
            for parallel in (None, 2):
                _add(
                    f"interleave {cycle} {block} {parallel}",
                    lambda tf, D, a=(cycle, block, parallel): D.range(1, 6).interleave(
                        lambda x: D.from_tensors(x).repeat(x), a[0], a[1], num_parallel_calls=a[2]
                    ),
                )
    # sampling
    for seed in (0, 42, 2**33):
        for again in (None, False, True):
            _add(f"random {seed} {again}", lambda tf, D, a=(seed, again): _twice(D.random(*a).take(7)))
            _add(
                f"sample {seed} {again}",
                lambda tf, D, a=(seed, again): _twice(
                    D.sample_from_datasets(
                        [D.range(5), D.range(10, 14), D.range(20, 29)], seed=a[0], rerandomize_each_iteration=a[1]
                    )
                ),
            )
        for stop in (False, True):
            _add(
                f"sample weights {seed} {stop}",
                lambda tf, D, a=(seed, stop): D.sample_from_datasets(
                    [D.range(5), D.range(10, 14), D.range(20, 29)],
                    [0.5, 0.1, 0.4],
                    seed=a[0],
                    stop_on_empty_dataset=a[1],
                ),
            )
        for n, buffer in ((0, 3), (1, 1), (10, 1), (10, 3), (10, 10), (10, 100), (50, 9)):
            for again in (None, True, False):
                _add(
                    f"shuffle {seed} {n} {buffer} {again}",
                    lambda tf, D, a=(seed, n, buffer, again): _twice(D.range(a[1]).shuffle(a[2], a[0], a[3])),
                )
                _add(
                    f"shuffle repeat batch {seed} {n} {buffer} {again}",
                    lambda tf, D, a=(seed, n, buffer, again): _twice(
                        D.from_tensor_slices({"a": np.arange(a[1]), "b": np.arange(a[1]) * 2.0})
                        .shuffle(a[2], a[0], a[3])
                        .repeat(2)
                        .batch(4)
                    ),
                )


def _cardinality(dataset: Any) -> Any:
    spec = dataset.element_spec
    spec = dict(sorted(spec.items())) if type(spec) is dict else spec
    return {"cardinality": int(dataset.cardinality()), "spec": str(spec)}


def _twice(dataset: Any) -> Any:
    return {"twice": [_plain(dataset), _plain(dataset)], **_cardinality(dataset)}


def _plain(dataset: Any) -> Any:
    return [_leaf(element) for element in dataset]


def _leaf(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _leaf(item) for key, item in sorted(value.items())}
    if isinstance(value, tuple):
        return [_leaf(item) for item in value]
    if hasattr(value, "to_list"):
        return ["ragged", _text(value.to_list())]
    if hasattr(value, "dense_shape"):
        return ["sparse", *[_text(part.numpy().tolist()) for part in (value.indices, value.values, value.dense_shape)]]
    if hasattr(value, "numpy"):
        return [
            str(value.numpy().dtype) if hasattr(value.numpy(), "dtype") else "text",
            _text(np.asarray(value).tolist()),
        ]
    if hasattr(value, "element_spec"):
        return {"dataset": _plain(value)}
    return str(value)


def _text(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_text(item) for item in value]
    if isinstance(value, bytes):
        return value.decode()
    return round(value, 5) if isinstance(value, float) else value


def _each(dataset: Any, n: int) -> Any:
    """What n calls of next give, errors among them."""
    elements, found = iter(dataset), []
    for _ in range(n):
        try:
            found.append(_leaf(next(elements)))
        except StopIteration:
            found.append("stop")
        except Exception as error:
            found.append(type(error).__name__)
    return found


def _lengths(tf: Any, D: Any, n: int = 6) -> Any:
    return D.range(n).map(lambda x: tf.fill([x % 4], x))


def _folder() -> str:
    return tempfile.mkdtemp()


def _chains(numbers: range) -> None:
    for number in numbers:
        _add(f"chain {number}", lambda tf, D, n=number: _chain(tf, D, n))


def _single() -> None:
    one = {
        "padded": lambda tf, D: _lengths(tf, D).padded_batch(2),
        "padded drop": lambda tf, D: _lengths(tf, D, 5).padded_batch(2, drop_remainder=True),
        "padded shape": lambda tf, D: _lengths(tf, D).padded_batch(4, padded_shapes=[5], padding_values=tf.constant(7, tf.int64)),
        "padded shape tensor": lambda tf, D: _lengths(tf, D).padded_batch(4, padded_shapes=tf.constant([4], tf.int64)),
        "padded number": lambda tf, D: _lengths(tf, D).padded_batch(4, padded_shapes=[None], padding_values=-1),
        "padded float for int": lambda tf, D: _lengths(tf, D).padded_batch(4, padding_values=-1.5),
        "padded too small": lambda tf, D: _each(_lengths(tf, D).padded_batch(4, padded_shapes=[2]), 3),
        "padded structure": lambda tf, D: D.range(4).map(lambda x: {"a": tf.fill([x], "q"), "b": (x, tf.fill([2, x], 1.0))}).padded_batch(3),
        "padded structure values": lambda tf, D: D.range(4).map(lambda x: (tf.fill([x], "q"), tf.fill([2, x], 1.0))).padded_batch(3, ([None], [3, None]), ("z", 9.0)),
        "padded one none": lambda tf, D: D.range(4).map(lambda x: (tf.fill([x], "q"), tf.fill([2, x], 1.0))).padded_batch(3, padding_values=(None, 9.0)),
        "padded rank": lambda tf, D: _lengths(tf, D).padded_batch(4, padded_shapes=[None, 3]),
        "padded less": lambda tf, D: D.range(3).map(lambda x: tf.fill([3], x)).padded_batch(2, padded_shapes=[2]),
        "padded list for tuple": lambda tf, D: D.range(3).map(lambda x: (x, x)).padded_batch(2, padded_shapes=[[], []]),
        "padded wrong structure": lambda tf, D: D.range(3).map(lambda x: (x, x)).padded_batch(2, padded_shapes=([], [], [])),
        "padded vector value": lambda tf, D: _lengths(tf, D).padded_batch(4, padding_values=tf.constant([1, 2], tf.int64)),
        "padded zero": lambda tf, D: _lengths(tf, D).padded_batch(0),
        "padded empty": lambda tf, D: _lengths(tf, D, 0).padded_batch(2),
        "padded sparse": lambda tf, D: D.range(3).map(lambda x: tf.sparse.from_dense([x, 1])).padded_batch(2),
        "padded ragged": lambda tf, D: D.from_tensor_slices(tf.ragged.constant([[1], [2, 3]])).padded_batch(2),
        "padded scalars": lambda tf, D: D.range(3).padded_batch(2),
        "padded bool": lambda tf, D: D.range(1, 4).map(lambda x: tf.fill([x], True)).padded_batch(2),
        "padded generator": lambda tf, D: D.from_generator(lambda: iter([[1], [2, 3]]), output_signature=tf.TensorSpec(None, tf.int32)).padded_batch(2, [None]),
        "padded unknown rank": lambda tf, D: D.from_generator(lambda: iter([[1], [2, 3]]), tf.int32).padded_batch(2),
        "ragged": lambda tf, D: _lengths(tf, D).ragged_batch(4),
        "ragged drop": lambda tf, D: _lengths(tf, D).ragged_batch(4, True),
        "ragged 32": lambda tf, D: _lengths(tf, D).ragged_batch(4, row_splits_dtype=tf.int32),
        "ragged 2": lambda tf, D: D.range(4).map(lambda x: tf.fill([x, 2, x], x)).ragged_batch(3),
        "ragged 2 dense inside": lambda tf, D: D.range(4).map(lambda x: tf.ensure_shape(tf.fill([x, 2], x), [None, 2])).ragged_batch(3),
        "ragged scalars": lambda tf, D: D.range(4).ragged_batch(3),
        "ragged structure": lambda tf, D: D.range(4).map(lambda x: {"a": x, "b": tf.fill([x], x)}).ragged_batch(3),
        "sparse batch": lambda tf, D: D.range(4).map(lambda x: tf.fill([x], x)).sparse_batch(3, [5]),
        "sparse batch open": lambda tf, D: D.range(4).map(lambda x: tf.fill([x, 2], x)).sparse_batch(3, [None, 3]),
        "sparse batch small": lambda tf, D: _each(D.range(4).map(lambda x: tf.fill([x], x)).sparse_batch(3, [1]), 2),
        "sparse batch tuple": lambda tf, D: D.range(4).map(lambda x: (x, x)).sparse_batch(3, [1]),
        "window structure": lambda tf, D: D.from_tensor_slices(({"x": [1, 2, 3, 4, 5]}, [6, 7, 8, 9, 0])).window(2),
        "window default": lambda tf, D: [len(list(w)) for w in D.range(7).window(3)],
        "window zero": lambda tf, D: D.range(7).window(0),
        "window shift zero": lambda tf, D: D.range(7).window(2, 0),
        "window stride zero": lambda tf, D: D.range(7).window(2, 1, 0),
        "window zip": lambda tf, D: D.from_tensor_slices(([1, 2, 3, 4], [5, 6, 7, 8])).window(2).flat_map(lambda a, b: D.zip((a.batch(2), b.batch(2)))),
        "window of sparse": lambda tf, D: D.range(4).map(lambda x: tf.sparse.from_dense([x, 1])).window(2).flat_map(lambda w: w.batch(2)),
        "window in function": lambda tf, D: _leaf(tf.function(lambda n: D.range(6).window(n).flat_map(lambda w: w.batch(9)).reduce(tf.constant(0, tf.int64), lambda s, b: s + tf.reduce_prod(b)))(tf.constant(3, tf.int64))),
        "group": lambda tf, D: D.range(12).group_by_window(lambda x: x % 3, lambda k, w: w.batch(10), 3),
        "group key in elements": lambda tf, D: D.range(12).group_by_window(lambda x: x % 3, lambda k, w: w.map(lambda x: (k, x)), 3),
        "group func": lambda tf, D: D.range(13).group_by_window(lambda x: x % 3, lambda k, w: w.batch(10), window_size_func=lambda k: k + 1),
        "group two": lambda tf, D: D.range(13).group_by_window(lambda x: x % 3, lambda k, w: w, 1, lambda k: k + 1),
        "group none": lambda tf, D: D.range(13).group_by_window(lambda x: x % 3, lambda k, w: w),
        "group zero": lambda tf, D: _each(D.range(13).group_by_window(lambda x: x % 3, lambda k, w: w, 0), 2),
        "group key int32": lambda tf, D: D.range(13).group_by_window(lambda x: tf.cast(x % 3, tf.int32), lambda k, w: w.batch(9), 2),
        "group key float": lambda tf, D: D.range(13).group_by_window(lambda x: 1.0, lambda k, w: w.batch(9), 2),
        "group key vector": lambda tf, D: D.range(13).group_by_window(lambda x: [x], lambda k, w: w.batch(9), 2),
        "group no dataset": lambda tf, D: D.range(13).group_by_window(lambda x: x, lambda k, w: k, 2),
        "group tuple": lambda tf, D: D.range(6).map(lambda x: (x, x * 2)).group_by_window(lambda x, y: y % 4, lambda k, w: w.batch(9), 2),
        "group negative": lambda tf, D: D.range(6).group_by_window(lambda x: -(x % 3), lambda k, w: w.batch(9), 9),
        "bucket": lambda tf, D: _lengths(tf, D, 9).bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2, 3], [2, 3, 2]),
        "bucket drop": lambda tf, D: _lengths(tf, D, 9).bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2, 3], [2, 3, 2], drop_remainder=True),
        "bucket boundary": lambda tf, D: _lengths(tf, D, 9).bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2, 5], [2, 3, 2], pad_to_bucket_boundary=True),
        "bucket no padding": lambda tf, D: D.range(9).map(lambda x: tf.fill([x % 2 + 1], x)).bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2], [2, 3], no_padding=True),
        "bucket shapes": lambda tf, D: _lengths(tf, D, 9).bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2, 3], [2, 3, 2], padded_shapes=[6], padding_values=tf.constant(-1, tf.int64)),
        "bucket wrong": lambda tf, D: _lengths(tf, D, 9).bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2, 3], [2, 3]),
        "bucket tuple": lambda tf, D: D.range(7).map(lambda x: (tf.fill([x % 4], x), x)).bucket_by_sequence_length(lambda x, y: tf.shape(x)[0], [2, 3], [2, 3, 2]),
        "interleave default": lambda tf, D: sorted(str(x) for x in _plain(D.range(4).interleave(lambda x: D.range(x)))),
        "interleave auto": lambda tf, D: sorted(str(x) for x in _plain(D.range(4).interleave(lambda x: D.range(x), num_parallel_calls=tf.data.AUTOTUNE))),
        "interleave zero": lambda tf, D: D.range(4).interleave(lambda x: D.range(x), 0),
        "interleave block zero": lambda tf, D: D.range(4).interleave(lambda x: D.range(x), 1, 0),
        "interleave error": lambda tf, D: _each(D.range(4).interleave(lambda x: D.range(3).map(lambda y: tf.debugging.check_numerics(1.0 / tf.cast(y * x, tf.float32), "")), 2), 14),
        "interleave empty": lambda tf, D: D.range(0).interleave(lambda x: D.range(x), 2),
        "interleave capture": lambda tf, D: _leaf(tf.function(lambda k: D.range(4).interleave(lambda x: D.range(x + k), 2).reduce(tf.constant(1, tf.int64), lambda s, x: s * 3 + x))(tf.constant(2, tf.int64))),
        "choose": lambda tf, D: D.choose_from_datasets([D.range(3), D.range(10, 13)], D.range(2).repeat(3)),
        "choose early": lambda tf, D: D.choose_from_datasets([D.range(1), D.range(10, 13)], D.range(2).repeat(3)),
        "choose late": lambda tf, D: D.choose_from_datasets([D.range(1), D.range(10, 13)], D.range(2).repeat(3), False),
        "choose infinite": lambda tf, D: D.choose_from_datasets([D.range(1), D.range(10, 13)], D.range(2).repeat(), False),
        "choose outside": lambda tf, D: _each(D.choose_from_datasets([D.range(1), D.range(10, 13)], D.range(3)), 4),
        "choose none": lambda tf, D: D.choose_from_datasets([], D.range(3)),
        "choose int32": lambda tf, D: D.choose_from_datasets([D.range(1)], D.range(3, output_type=tf.int32)),
        "choose vector": lambda tf, D: D.choose_from_datasets([D.range(1)], D.range(3).batch(1)),
        "choose types": lambda tf, D: D.choose_from_datasets([D.range(1), D.from_tensors(1.0)], D.range(2)),
        "choose shapes": lambda tf, D: D.choose_from_datasets([D.from_tensors([1]), D.from_tensors([1, 2])], D.range(2)),
        "choose list": lambda tf, D: D.choose_from_datasets([D.range(1)], [0]),
        "sample none": lambda tf, D: D.sample_from_datasets([]),
        "sample one": lambda tf, D: D.sample_from_datasets([D.range(3)]),
        "sample number": lambda tf, D: D.sample_from_datasets([D.range(3), D.range(3)], [1.0]),
        "sample ints": lambda tf, D: D.sample_from_datasets([D.range(3), D.range(3)], [1, 1]),
        "sample zero weight": lambda tf, D: D.sample_from_datasets([D.range(3), D.range(3, 5)], [0.0, 1.0]),
        "sample all zero": lambda tf, D: D.sample_from_datasets([D.range(3), D.range(3, 5)], [0.0, 0.0]),
        "sample weights dataset": lambda tf, D: D.sample_from_datasets([D.range(30), D.range(100, 130)], D.from_tensors([0.2, 0.8]).repeat(), seed=3),
        "unbatch counted": lambda tf, D: [_cardinality(D.range(4).batch(2, True).unbatch()), _cardinality(D.range(4).batch(2).repeat().unbatch())],
        "sample infinite": lambda tf, D: D.sample_from_datasets([D.range(3).repeat(), D.range(10, 13).repeat()], seed=4).take(20),
        "resample": lambda tf, D: D.range(60).rejection_resample(lambda x: tf.cast(x % 3, tf.int32), [0.5, 0.3, 0.2], [1 / 3] * 3, seed=5),
        "resample estimated": lambda tf, D: D.range(60).rejection_resample(lambda x: tf.cast(x % 3, tf.int32), [0.5, 0.3, 0.2], seed=5),
        "resample same": lambda tf, D: D.range(9).rejection_resample(lambda x: tf.cast(x % 2, tf.int32), [0.5, 0.5], [0.5, 0.5], seed=5),
        "resample zero": lambda tf, D: D.range(9).rejection_resample(lambda x: tf.cast(x % 2, tf.int32), [0.0, 1.0], [0.5, 0.5], seed=5),
        "scan": lambda tf, D: D.range(5).scan(tf.constant(0, tf.int64), lambda s, x: (s + x, (s, x * 2))),
        "scan structure": lambda tf, D: D.from_tensor_slices(([1, 2, 3], [4, 5, 6])).scan({"a": 0, "b": 1.0}, lambda s, xy: ({"a": s["a"] + xy[0], "b": s["b"] * 2}, {"o": s["a"] + xy[1], "p": s["b"]})),
        "scan shape": lambda tf, D: D.range(3).scan(tf.constant([1], tf.int64), lambda s, x: (tf.concat([s, [x]], 0), s)),
        "scan type": lambda tf, D: D.range(3).scan(0, lambda s, x: (tf.cast(s, tf.float32), x)),
        "scan no pair": lambda tf, D: D.range(3).scan(0, lambda s, x: s),
        "scan structure differs": lambda tf, D: D.range(3).scan(0, lambda s, x: ((s, s), x)),
        "take_while": lambda tf, D: D.range(10).take_while(lambda x: x < 4),
        "take_while none": lambda tf, D: D.range(10).take_while(lambda x: x < 0),
        "take_while int": lambda tf, D: D.range(10).take_while(lambda x: x),
        "take_while after": lambda tf, D: _each(D.from_tensor_slices([1, 5, 2]).take_while(lambda x: x < 4), 4),
        "unique": lambda tf, D: D.from_tensor_slices([3, 1, 3, 2, 1]).unique(),
        "unique strings": lambda tf, D: D.from_tensor_slices(["b", "a", "b"]).unique(),
        "unique vectors": lambda tf, D: D.from_tensor_slices([[1, 2], [2, 1], [1, 2]]).unique(),
        "unique floats": lambda tf, D: D.from_tensor_slices([1.0, 2.0]).unique(),
        "unique tuple": lambda tf, D: D.from_tensor_slices(([1, 2, 1], [1, 2, 1])).unique(),
        "counter": lambda tf, D: D.counter().take(3),
        "counter 2": lambda tf, D: D.counter(5, -2, tf.int32).take(3),
        "counter float": lambda tf, D: D.counter(0.5, 0.25, tf.float32).take(3),
        "counter endless": lambda tf, D: _cardinality(D.counter()),
        "ignore": lambda tf, D: D.from_tensor_slices([1.0, 0.0, 4.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")).ignore_errors(),
        "ignore cardinality": lambda tf, D: _cardinality(D.range(3).ignore_errors()),
        "single": lambda tf, D: _leaf(D.from_tensors((1, 2)).get_single_element()),
        "single empty": lambda tf, D: _leaf(D.range(0).get_single_element()),
        "single more": lambda tf, D: _leaf(D.range(2).get_single_element()),
        "single in function": lambda tf, D: _leaf(tf.function(lambda n: D.range(n, n + 1).get_single_element())(tf.constant(3, tf.int64))),
        "single more in function": lambda tf, D: _leaf(tf.function(lambda n: D.range(n).get_single_element())(tf.constant(3, tf.int64))),
        "single none in function": lambda tf, D: _leaf(tf.function(lambda n: D.range(n).get_single_element())(tf.constant(0, tf.int64))),
        "rebatch": lambda tf, D: D.range(11).batch(4).rebatch(3),
        "rebatch drop": lambda tf, D: D.range(11).batch(4).rebatch(3, drop_remainder=True),
        "rebatch structure": lambda tf, D: D.range(6).map(lambda x: {"a": x, "b": [x, x]}).batch(4).rebatch(3),
        "rebatch list": lambda tf, D: D.range(11).batch(4).rebatch([2, 3]),
        "rebatch strings": lambda tf, D: D.from_tensor_slices(["a", "b", "c"]).batch(2).rebatch(1),
        "batch parallel": lambda tf, D: D.range(11).batch(4, num_parallel_calls=2),
        "shard": lambda tf, D: D.range(11).shard(3, 1),
        "shard outside": lambda tf, D: D.range(11).shard(3, 3),
        "shard zero": lambda tf, D: D.range(11).shard(0, 0),
        "cache file": lambda tf, D: _twice(D.range(4).map(lambda x: (x, tf.strings.as_string(x))).cache(os.path.join(_folder(), "c"))),
        "cache file empty": lambda tf, D: _twice(D.range(0).cache(os.path.join(_folder(), "c"))),
        "cache shuffle batch": lambda tf, D: _twice(D.range(9).map(lambda x: (x, [x, x])).cache().shuffle(4, seed=1).batch(4)),
        "cache ragged shuffle batch": lambda tf, D: _each(_lengths(tf, D).cache().shuffle(2, seed=1).batch(1).repeat(3), 20),
        "cache shuffle repeat batch": lambda tf, D: _twice(D.range(9).map(lambda x: x).cache().shuffle(4, seed=1).repeat(2).batch(4)),
        "cache partial": lambda tf, D: _each(D.range(4).cache().take(2).repeat(2), 5),
        "save load": lambda tf, D: _saved(D, D.range(4).map(lambda x: {"a": x, "b": tf.strings.as_string(x), "c": [1.5, 2.5]})),
        "save load gzip": lambda tf, D: _saved(D, D.range(4), "GZIP"),
        "save load empty": lambda tf, D: _saved(D, D.range(0)),
        "save load sharded": lambda tf, D: _saved(D, D.range(10), None, lambda x: x % 3, lambda shards: shards.flat_map(lambda x: x)),
        "save load shards interleaved": lambda tf, D: _saved(D, D.range(10), None, lambda x: x % 2, lambda shards: shards.interleave(lambda x: x, 2)),
        "save wrong compression": lambda tf, D: _saved(D, D.range(10), "NO"),
        "load nothing": lambda tf, D: _plain(D.load(_folder())),
        "load nothing with spec": lambda tf, D: _plain(D.load(_folder(), tf.TensorSpec([], tf.int64))),
        "snapshot": lambda tf, D: _twice(D.range(6).snapshot(_folder(), reader_func=lambda s: s.flat_map(lambda x: x), shard_func=lambda x: tf.constant(0, tf.int64))),
        "list_files": lambda tf, D: _listed(D, False),
        "list_files sorted shuffled": lambda tf, D: _listed(D, True),
        "list_files none": lambda tf, D: D.list_files(os.path.join(_folder(), "*")),
        "assert cardinality": lambda tf, D: D.range(4).filter(lambda x: True).apply(tf.data.experimental.assert_cardinality(4)),
        "assert cardinality less": lambda tf, D: _each(D.range(4).filter(lambda x: True).apply(tf.data.experimental.assert_cardinality(3)), 5),
        "assert cardinality more": lambda tf, D: _each(D.range(2).filter(lambda x: True).apply(tf.data.experimental.assert_cardinality(3)), 4),
        "group_by_reducer": lambda tf, D: D.range(10).apply(tf.data.experimental.group_by_reducer(lambda x: x % 3, tf.data.experimental.Reducer(lambda k: (k * 0, k * 0), lambda s, x: (s[0] + x, s[1] + 1), lambda a, b: a * 100 + b))),
        "pad_to_cardinality": lambda tf, D: D.from_tensor_slices({"a": [1, 2], "z": ["x", "y"]}).apply(tf.data.experimental.pad_to_cardinality(4)),
        "pad_to_cardinality no dict": lambda tf, D: D.range(2).apply(tf.data.experimental.pad_to_cardinality(4)),
        "from_list": lambda tf, D: tf.data.experimental.from_list([(1, "a"), (2, "b")]),
        "from_list empty": lambda tf, D: tf.data.experimental.from_list([]),
        "from_list no list": lambda tf, D: tf.data.experimental.from_list(3),
        "at": lambda tf, D: _leaf(tf.data.experimental.at(D.range(10).map(lambda x: x * 2), 3)),
        "at outside": lambda tf, D: _leaf(tf.data.experimental.at(D.range(3), 3)),
        "structure": lambda tf, D: str(tf.data.experimental.get_structure(D.range(3))),
        "old scan": lambda tf, D: D.range(4).apply(tf.data.experimental.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s))),
        "old bucket": lambda tf, D: _lengths(tf, D).apply(tf.data.experimental.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2], [2, 2])),
        "old group": lambda tf, D: D.range(6).apply(tf.data.experimental.group_by_window(lambda x: x % 2, lambda k, w: w.batch(5), 2)),
        "old unbatch": lambda tf, D: D.range(6).batch(4).apply(tf.data.experimental.unbatch()),
        "old unique": lambda tf, D: D.from_tensor_slices([1, 2, 1]).apply(tf.data.experimental.unique()),
        "old ignore": lambda tf, D: D.from_tensor_slices([1.0, 0.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")).apply(tf.data.experimental.ignore_errors()),
        "old ragged": lambda tf, D: _lengths(tf, D).apply(tf.data.experimental.dense_to_ragged_batch(3)),
        "old sparse": lambda tf, D: D.range(4).map(lambda x: tf.fill([x], x)).apply(tf.data.experimental.dense_to_sparse_batch(3, [5])),
        "old take_while": lambda tf, D: D.range(4).apply(tf.data.experimental.take_while(lambda x: x < 2)),
        "old map_and_batch": lambda tf, D: D.range(4).apply(tf.data.experimental.map_and_batch(lambda x: x * 2, 3)),
        "old parallel_interleave": lambda tf, D: D.range(4).apply(tf.data.experimental.parallel_interleave(lambda x: D.range(x), 2)),
        "old shuffle_and_repeat": lambda tf, D: D.range(4).apply(tf.data.experimental.shuffle_and_repeat(4, 2, seed=3)),
        "old enumerate": lambda tf, D: D.range(4).apply(tf.data.experimental.enumerate_dataset(2)),
        "old counter": lambda tf, D: tf.data.experimental.Counter(1, 2).take(2),
        "old random": lambda tf, D: tf.data.experimental.RandomDataset(4).take(2),
        "old choose": lambda tf, D: tf.data.experimental.choose_from_datasets([D.range(1), D.range(10, 13)], D.range(2).repeat(3)),
        "old resample": lambda tf, D: D.range(20).apply(tf.data.experimental.rejection_resample(lambda x: tf.cast(x % 2, tf.int32), [0.2, 0.8], [0.5, 0.5], seed=1)),
        "prefetch": lambda tf, D: D.range(5).prefetch(2),
        "prefetch error": lambda tf, D: _each(D.from_tensor_slices([1.0, 0.0, 4.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")).prefetch(2), 5),
        "prefetch device": lambda tf, D: D.range(5).filter(lambda x: True).apply(tf.data.experimental.prefetch_to_device("/cpu:0")),
        "map parallel": lambda tf, D: D.range(50).map(lambda x: tf.reduce_sum(tf.ones([100, 100])) * tf.cast(x, tf.float32), num_parallel_calls=tf.data.AUTOTUNE),
        "map parallel error": lambda tf, D: _each(D.from_tensor_slices([1.0, 0.0, 4.0]).map(lambda x: tf.debugging.check_numerics(1 / x, ""), num_parallel_calls=2), 5),
        "map unordered": lambda tf, D: sorted(str(x) for x in _plain(D.range(50).map(lambda x: x * 2, num_parallel_calls=3, deterministic=False))),
        "zip shuffle batch": lambda tf, D: _twice(D.zip((D.range(20), D.from_tensor_slices(np.arange(40.0).reshape(20, 2)))).shuffle(7, seed=3).batch(6)),
        "slices batch": lambda tf, D: D.from_tensor_slices((np.arange(7), ["a", "b", "c", "d", "e", "f", "g"])).batch(3),
        "slices skip take shard batch": lambda tf, D: D.from_tensor_slices(np.arange(40)).skip(3).take(30).shard(2, 1).shuffle(50, 4).skip(2).batch(4, True),
        "slices repeat batch": lambda tf, D: D.from_tensor_slices(np.arange(5)).repeat(3).batch(4),
        "slices endless batch": lambda tf, D: D.from_tensor_slices(np.arange(5)).repeat().shuffle(4, 1).batch(4).take(5),
        "slices concatenate batch": lambda tf, D: D.range(4).concatenate(D.range(10, 13)).batch(3),
        "ragged slices batch": lambda tf, D: D.from_tensor_slices(tf.ragged.constant([[1], [2, 3], []])).shuffle(3, 4).batch(2),
        "options": lambda tf, D: _options(tf, D),
        "unbatch": lambda tf, D: D.from_tensor_slices(np.arange(12).reshape(2, 3, 2)).unbatch(),
        "unbatch sparse": lambda tf, D: D.from_tensors(tf.sparse.from_dense([[1, 0], [0, 2]])).unbatch(),
        "csv": lambda tf, D: _csv(tf, "1,2.5,a\n4,,b\n", [tf.int32, 0.5, tf.string]),
        "csv missing": lambda tf, D: _csv(tf, "1,2.5,a\n,1.5,b\n", [tf.int32, 0.5, tf.string]),
        "csv header": lambda tf, D: _csv(tf, "x,y\n1,2\n", [tf.int64, tf.int64], header=True),
        "csv quotes": lambda tf, D: _csv(tf, '"a,b","c""d"\n"e\nf",g\n', [tf.string, tf.string]),
        "csv no quotes": lambda tf, D: _csv(tf, '"a,b"\n', [tf.string, tf.string], use_quote_delim=False),
        "csv select": lambda tf, D: _csv(tf, "1,2,3\n4,5,6\n", [tf.int32, tf.float64], select_cols=[0, 2]),
        "csv exclude": lambda tf, D: _csv(tf, "1,2,3\n4,5,6\n", [tf.int32, tf.float64], exclude_cols=[1]),
        "csv floats": lambda tf, D: _csv(tf, "1e3, 2.5\n-inf,nan\n", [tf.float32, tf.float64]),
        "csv ints": lambda tf, D: _csv(tf, "2147483648,1\n 5,-7\n+3,9223372036854775807\n1_0,2\n", [tf.int32, tf.int64]),
        "csv spaces": lambda tf, D: _csv(tf, " a , b\n", [tf.string, tf.string]),
        "csv batch": lambda tf, D: [_each(_csv_file(tf, "".join(f"{i},{'x' if i in bad else i}\n" for i in range(9)), [tf.int32, tf.int32]).batch(3), 6) for bad in ((), (0,), (4,), (8,), (1, 2), (3, 8))],
        "flat_map error": lambda tf, D: _each(D.from_tensor_slices([1.0, 0.0, 4.0]).flat_map(lambda x: D.from_tensors(tf.debugging.check_numerics(1 / x, "")).repeat(2)), 7),
        "flat_map error inside": lambda tf, D: _each(D.range(2).flat_map(lambda x: D.from_tensor_slices([1.0, 0.0, 4.0]).map(lambda y: tf.debugging.check_numerics(1 / y, ""))), 8),
        "shard after error": lambda tf, D: _each(D.from_tensor_slices([1.0, 0.0, 4.0, 5.0, 2.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")).shard(2, 0), 5),
        "window after error": lambda tf, D: _each(D.from_tensor_slices([1.0, 0.0, 4.0, 5.0, 2.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")).window(2).flat_map(lambda w: w.batch(2)), 5),
        "batch after error": lambda tf, D: _each(D.from_tensor_slices([1.0, 0.0, 4.0, 5.0, 2.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")).batch(2), 5),
        "padded shapes in function": lambda tf, D: _leaf(tf.function(lambda n: D.range(3).map(lambda i: tf.fill([i], i)).padded_batch(2, padded_shapes=tf.stack([n])).reduce(tf.constant(0, tf.int64), lambda s, x: s + tf.size(x, tf.int64)))(tf.constant(3, tf.int64))),
        "shuffle after error": lambda tf, D: _each(D.from_tensor_slices([1.0, 0.0, 4.0, 5.0, 2.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")).shuffle(2, seed=1), 6),
        "zip after error": lambda tf, D: _each(D.zip((D.range(5), D.from_tensor_slices([1.0, 0.0, 4.0, 5.0, 2.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")))), 6),
        "enumerate after error": lambda tf, D: _each(D.from_tensor_slices([1.0, 0.0, 4.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")).enumerate(), 4),
        "repeat after error": lambda tf, D: _each(D.from_tensor_slices([1.0, 0.0, 4.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")).repeat(2), 7),
        "concatenate after error": lambda tf, D: _each(D.from_tensor_slices([1.0, 0.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")).concatenate(D.from_tensors(2.0)), 4),
        "padded after error": lambda tf, D: _each(D.from_tensor_slices([1.0, 0.0, 4.0, 5.0, 2.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")).padded_batch(2), 5),
        "scan after error": lambda tf, D: _each(D.from_tensor_slices([1.0, 0.0, 4.0]).scan(0.0, lambda s, x: (s + x, tf.debugging.check_numerics(1 / x, ""))), 4),
        "cache after error": lambda tf, D: _each(D.from_tensor_slices([1.0, 0.0, 4.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")).cache().repeat(2), 7),
        "group after error": lambda tf, D: _each(D.from_tensor_slices([1.0, 0.0, 4.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")).group_by_window(lambda x: tf.constant(1, tf.int64), lambda k, w: w.batch(2), 2), 4),
        "take after error": lambda tf, D: _each(D.from_tensor_slices([1.0, 0.0, 4.0, 5.0, 6.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")).take(3), 5),
        "skip after error": lambda tf, D: _each(D.from_tensor_slices([1.0, 2.0, 0.0, 5.0, 6.0]).map(lambda x: tf.debugging.check_numerics(1 / x, "")).skip(1), 5),
        "csv take batch": lambda tf, D: _each(_csv_file(tf, "1\n2\nx\n3\n4\n", [tf.int32]).take(4).batch(2), 5),
        "csv files": lambda tf, D: tf.data.experimental.CsvDataset([_csv_path("a\n1\n2\n"), _csv_path("a\n3\n")], [tf.int32], header=True).batch(2),
        "csv na": lambda tf, D: _csv(tf, "1,NA\nNA,5\n", [tf.constant([7]), tf.constant([8.0])], na_value="NA"),
        "csv delimiter": lambda tf, D: _csv(tf, "1|2\n", [tf.int32, tf.int32], field_delim="|"),
        "csv not a number": lambda tf, D: _csv(tf, "1,x\n2,3\n", [tf.int32, tf.int32]),
        "csv too few": lambda tf, D: _csv(tf, "1\n2,3\n", [tf.int32, tf.int32]),
        "csv too many": lambda tf, D: _csv(tf, "1,2,3\n2,3\n", [tf.int32, tf.int32]),
        "csv crlf": lambda tf, D: _csv(tf, "1,2\r\n3,4\r\n", [tf.int32, tf.int32]),
        "csv no end": lambda tf, D: _csv(tf, "1,2\n3,4", [tf.int32, tf.int32]),
        "csv gzip": lambda tf, D: _csv(tf, "1,2\n3,4\n", [tf.int32, tf.int32], compression_type="GZIP"),
        "csv no file": lambda tf, D: _each(tf.data.experimental.CsvDataset("/none/at/all", [tf.int32]), 2),
        "csv bool": lambda tf, D: _csv(tf, "True\n", [tf.bool]),
        "csv empty line": lambda tf, D: _csv(tf, "1\n\n2\n", [tf.constant([5])]),
        "csv batches": lambda tf, D: _csv_batches(tf),
        "csv batches label": lambda tf, D: _csv_batches(tf, label_name="c"),
        "csv batches select": lambda tf, D: _csv_batches(tf, select_columns=["a", "c"]),
        "csv batches names": lambda tf, D: _csv_batches(tf, header=False, column_names=["p", "q", "r", "s"]),
        "csv batches defaults": lambda tf, D: _csv_batches(tf, column_defaults=[tf.float32, 0.5, tf.string, tf.string]),
        "csv batches shuffled": lambda tf, D: _csv_batches(tf, shuffle=True, shuffle_seed=3),
        "csv batches endless": lambda tf, D: _csv_batches(tf, num_epochs=None),
        "csv batches wrong label": lambda tf, D: _csv_batches(tf, label_name="no"),
        "iterator checkpoint": lambda tf, D: _checkpoint(tf, D.range(20).shuffle(5, seed=2).batch(2)),
        "numpy iterator": lambda tf, D: [str(x) for x in D.range(2).as_numpy_iterator()],
        "generator types": lambda tf, D: D.from_generator(lambda n: ((i, [i] * i) for i in range(n)), (tf.int64, tf.float32), ([], [None]), args=[3]),
        "generator signature": lambda tf, D: D.from_generator(lambda: iter([{"a": 1}, {"a": 2}]), output_signature={"a": tf.TensorSpec([], tf.int32)}),
        "generator ragged": lambda tf, D: D.from_generator(lambda: iter([tf.ragged.constant([[1], [2, 3]])]), output_signature=tf.RaggedTensorSpec([2, None], tf.int32)),
        "optional": lambda tf, D: str(iter(D.range(1)).get_next_as_optional().element_spec),
        "dataset argument": lambda tf, D: _leaf(tf.function(lambda d: d.reduce(tf.constant(0, tf.int64), lambda a, b: a + b))(D.range(5))),
        "dataset result": lambda tf, D: _plain(tf.function(lambda n: D.range(n).window(2).flat_map(lambda w: w.batch(2)))(tf.constant(5, tf.int64))),
    }  # fmt: skip
    for name, make in one.items():
        _add(name, make)


def _steps(tf: Any, D: Any) -> list[Callable[[Any], Any]]:
    """What chains are drawn from: each takes a dataset of any elements."""

    def first(x: Any) -> Any:
        return tf.cast(tf.reshape(tf.nest.flatten(x)[0], [-1])[0], tf.int64)

    def key(*x: Any) -> Any:
        return first(x) % 3

    return [
        lambda d: d.batch(2),
        lambda d: d.batch(3, drop_remainder=True),
        lambda d: d.unbatch(),
        lambda d: d.rebatch(3),
        lambda d: d.ragged_batch(2),
        lambda d: d.padded_batch(2),
        lambda d: d.shuffle(4, seed=5),
        lambda d: d.shuffle(3, seed=6, reshuffle_each_iteration=False),
        lambda d: d.repeat(2),
        lambda d: d.take(5),
        lambda d: d.skip(2),
        lambda d: d.shard(2, 1),
        lambda d: d.enumerate(),
        lambda d: d.cache(),
        lambda d: d.prefetch(2),
        lambda d: d.map(lambda *x: x),
        lambda d: d.map(lambda *x: {"a": x, "b": first(x)}, num_parallel_calls=2),
        lambda d: d.map(lambda *x: first(x) * 2),
        lambda d: d.filter(lambda *x: first(x) % 2 == 0),
        lambda d: d.concatenate(d),
        lambda d: D.zip((d, D.range(5))),
        lambda d: D.zip({"x": d, "y": d}),
        lambda d: d.flat_map(lambda *x: D.from_tensors(x[0] if len(x) == 1 else x).repeat(2)),
        lambda d: d.interleave(lambda *x: D.from_tensors(x[0] if len(x) == 1 else x).repeat(2), 2, 1),
        lambda d: d.window(2, drop_remainder=True).flat_map(lambda *w: D.zip(w).take(1) if len(w) > 1 else D.range(2)),
        lambda d: d.group_by_window(key, lambda k, w: w.batch(4), 2),
        lambda d: d.take_while(lambda *x: first(x) < 6),
        lambda d: d.scan(tf.constant(0, tf.int64), lambda s, x: (s + first(x), (s, x))),
        lambda d: d.ignore_errors(),
        lambda d: D.choose_from_datasets([d, d.skip(1)], D.range(2).repeat(4)),
        lambda d: D.sample_from_datasets([d, d], seed=3),
        lambda d: d.apply(lambda e: e.take(3)),
    ]


def _chain(tf: Any, D: Any, number: int) -> Any:
    """Some steps drawn by a number; those that are refused are left out and told."""
    draw = random.Random(number)
    bases = [
        lambda: D.range(9),
        lambda: D.from_tensor_slices({"p": np.arange(7), "q": np.arange(14.0).reshape(7, 2)}),
        lambda: D.from_tensor_slices((["a", "bc", "d"], [3, 1, 2])).map(lambda s, n: (n, s)),
        lambda: D.range(6).map(lambda x: tf.fill([x % 3 + 1], x)),
        lambda: D.from_tensor_slices(tf.ragged.constant([[1], [2, 3], [4], [5, 6, 7]])),
        lambda: D.range(5).map(lambda x: tf.sparse.from_dense(tf.stack([x, 0, 1]))),
        lambda: D.from_generator(lambda: iter(range(6)), output_signature=tf.TensorSpec([], tf.int32)),
    ]
    dataset, told = draw.choice(bases)(), []
    for _ in range(draw.randrange(1, 6)):
        step = draw.randrange(32)
        try:
            dataset = _steps(tf, D)[step](dataset)
            told.append([step, str(dataset.element_spec)])
        except Exception as error:
            told.append([step, type(error).__name__])
    return [told, _each(dataset.take(40), 42), int(dataset.cardinality())]


def _saved(D: Any, dataset: Any, compression: Any = None, shard: Any = None, read: Any = None) -> Any:
    path = os.path.join(_folder(), "saved")
    dataset.save(path, compression, shard)
    loaded = D.load(path, compression=compression, reader_func=read)
    return {"elements": _plain(loaded), **_cardinality(loaded)}


def _listed(D: Any, shuffle: bool) -> Any:
    folder = _folder()
    for name in ("b.txt", "a.txt", ".h.txt", "c.csv"):
        with open(os.path.join(folder, name), "w"):
            pass
    found = [
        os.path.basename(path.numpy()).decode()
        for path in D.list_files(os.path.join(folder, "*.txt"), shuffle=shuffle, seed=4)
    ]
    two = D.list_files([os.path.join(folder, "c*"), os.path.join(folder, "a*")], shuffle=False)
    return [found, [os.path.basename(path.numpy()).decode() for path in two]]


def _options(tf: Any, D: Any) -> Any:
    options = tf.data.Options()
    options.deterministic = False
    options.threading.private_threadpool_size = 2
    dataset = D.range(3).with_options(options).map(lambda x: x)
    return [dataset.options().deterministic, dataset.options().threading.private_threadpool_size]


def _csv_path(text: str, kind: Any = None) -> str:
    path = os.path.join(_folder(), "f.csv")
    with (gzip.open if kind else open)(path, "wb") as file:
        file.write(text.encode())
    return path


def _csv_file(tf: Any, text: str, defaults: Any, **options: Any) -> Any:
    path = _csv_path(text, options.get("compression_type"))
    return tf.data.experimental.CsvDataset(path, defaults, **options)


def _csv(tf: Any, text: str, defaults: Any, **options: Any) -> Any:
    dataset = _csv_file(tf, text, defaults, **options)
    return [_each(dataset, 4), _cardinality(dataset)]


def _csv_batches(tf: Any, **options: Any) -> Any:
    path = os.path.join(_folder(), "f.csv")
    with open(path, "w") as file:
        file.write("a,b,c,d\n" + "".join(f"{i},{i / 2},w{i},{i << 33}\n" for i in range(7)))
    options = {"num_epochs": 1, "shuffle": False, **options}
    dataset = tf.data.experimental.make_csv_dataset(path, 3, **options)
    return [_plain(dataset.take(4)), _cardinality(dataset)]


def _checkpoint(tf: Any, dataset: Any) -> Any:
    elements = iter(dataset)
    kept = tf.train.Checkpoint(it=elements)
    first = [_leaf(next(elements)) for _ in range(3)]
    path = kept.save(os.path.join(_folder(), "c"))
    second = [_leaf(next(elements)) for _ in range(4)]
    kept.restore(path)
    return [first, second, [_leaf(next(elements)) for _ in range(4)]]


def outcome(tf: Any, name: str) -> Any:
    """What a pipeline gives: elements, spec and cardinality, or the class of the error."""
    tf.random.set_seed(11)
    try:
        found = PIPELINES[name](tf, tf.data.Dataset)
        if hasattr(found, "element_spec"):
            found = {"elements": _plain(found.take(200)), **_cardinality(found)}
    except Exception as error:
        found = {"error": type(error).__name__}
        if os.environ.get("WHY"):
            print(name, repr(error)[:300], file=sys.stderr)
    return json.loads(json.dumps(found, default=str))


_many()
_single()
_chains(range(int(os.environ.get("CHAINS", "56"))))

if __name__ == "__main__":
    library = importlib.import_module(sys.argv[1])
    chosen = [name for name in PIPELINES if not sys.argv[2:] or name.startswith(tuple(sys.argv[2:]))]
    lines = [f"{json.dumps(name)}: {json.dumps(outcome(library, name))}" for name in chosen]
    print("{" + ",\n".join(lines) + "}")
