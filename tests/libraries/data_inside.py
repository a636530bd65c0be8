"""TensorFlow's own tests of tf.data behind the door: where the inner names that they import lead.

Rule: data_names.txt has what TensorFlow exports: each inner name is the public object of that name here. What is below
are names that TensorFlow does not export: a few lines of public names each. Any other is an AttributeError: a miss. The
tests' own bases (TEST_MODULES) are the files of the checkout that LIBRARY_SOURCE names; nothing of them is kept here.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import operator
import os
import sys
import time
import types
import unittest
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import graph_sessions
import tensorflow as tf  # behind the door

from fastgraph.data import element_specs, sharding

#: The modules that are the tests' own.
TEST_MODULES = ("framework.combinations", "framework.test_combinations", "data.kernel_tests.")
ROOT = "tensorflow.python"


def names() -> dict[str, str]:
    """Return the public name of each inner one, "MODULE.NAME" below tensorflow.python."""
    found = {}
    for line in (Path(__file__).parent / "data_names.txt").read_text(encoding="utf-8").splitlines():
        place, _, words = line.partition(":")
        module, home = place.split()
        for word in words.split():
            name, _, public = word.partition("=")
            found[f"{module}.{name}"] = (public or name) if home == "." else f"{home}.{public or name}"
    return found


# ---- nests as tf.data has them: lists are values


def _is_nested(value: object) -> bool:
    return isinstance(value, tuple | dict) and not isinstance(value, tf.compat.v1.SparseTensorValue)


def _parts(value: Any) -> list[Any]:
    return [value[key] for key in sorted(value)] if isinstance(value, dict) else list(value)


def flatten(value: Any) -> list[Any]:
    return [leaf for part in _parts(value) for leaf in flatten(part)] if _is_nested(value) else [value]


def assert_same_structure(first: Any, second: Any, check_types: bool = True) -> None:
    if _is_nested(first) != _is_nested(second):
        raise ValueError(f"The two structures differ: {first}, {second}")
    if _is_nested(first):
        if type(first) is not type(second):
            raise TypeError(f"The two structures differ in type: {type(first)}, {type(second)}")
        if len(first) != len(second) or (isinstance(first, dict) and set(first) != set(second)):
            raise ValueError(f"The two structures differ: {first}, {second}")
        for a, b in zip(_parts(first), _parts(second), strict=True):
            assert_same_structure(a, b, check_types)


def pack_sequence_as(structure: Any, flat: Sequence[Any]) -> Any:
    left = iter(flat)

    def packed(part: Any) -> Any:
        if not _is_nested(part):
            return next(left)
        if isinstance(part, dict):
            made = {key: packed(part[key]) for key in sorted(part)}
            return type(part)((key, made[key]) for key in part)
        parts = [packed(each) for each in part]
        return type(part)(*parts) if hasattr(part, "_fields") else type(part)(parts)

    return packed(structure)


def map_structure(function: Callable[..., Any], *structures: Any, **_: Any) -> Any:
    return pack_sequence_as(structures[0], [function(*row) for row in zip(*map(flatten, structures), strict=True)])


# ---- specs


def _flat_specs(spec: Any) -> list[Any]:
    def variant(leaf: Any) -> Any:
        several = isinstance(leaf, tf.SparseTensorSpec | tf.RaggedTensorSpec)
        return tf.TensorSpec(None if several else getattr(leaf, "dataset_shape", []), tf.variant)

    return [leaf if isinstance(leaf, tf.TensorSpec) else variant(leaf) for leaf in flatten(spec)]


def are_compatible(first: Any, second: Any) -> bool:
    try:
        assert_same_structure(first, second)
    except (TypeError, ValueError):
        return False
    pairs = zip(flatten(first), flatten(second), strict=True)
    return all(a.is_compatible_with(b) or b.is_compatible_with(a) for a, b in pairs)


# ---- transformations that only tests have


def sleep(sleep_microseconds: int) -> Callable[[Any], Any]:
    def slept(*element: Any) -> Any:
        flat = tf.nest.flatten(element)

        def wait(*values: Any) -> Any:
            time.sleep(sleep_microseconds * 1e-6)
            return list(values)

        done = tf.py_function(wait, flat, [leaf.dtype for leaf in flat])
        for result, leaf in zip(done, flat, strict=True):
            result.set_shape(leaf.shape)
        result = tf.nest.pack_sequence_as(element, done)
        return result if len(element) > 1 else result[0]

    return lambda dataset: dataset.map(slept)


def global_shuffle(dataset: Any, seed: Any = None, reshuffle_each_iteration: bool = True, name: Any = None) -> Any:
    """All elements in random order: `shuffle` of as many as there are."""
    n = dataset.cardinality()
    if hasattr(n, "numpy") and n == tf.data.INFINITE_CARDINALITY:
        raise tf.errors.InvalidArgumentError(None, None, "`global_shuffle` requires the dataset to have finite size.")
    if hasattr(n, "numpy") and n < 0:
        text = "`global_shuffle` requires all upstream transformations be compatible with random access."
        raise tf.errors.FailedPreconditionError(None, None, text)
    return dataset.shuffle(n, seed, reshuffle_each_iteration)


def make_tf_record_dataset(
    file_pattern: Any,
    batch_size: int,
    parser_fn: Callable[..., Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int | None = None,
    shuffle_seed: Any = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int = 1,
    num_parallel_parser_calls: int | None = None,
    drop_final_batch: bool = False,
) -> Any:
    """Batches of the records of files: the methods that TensorFlow's function of this name calls, one by one."""
    files = tf.data.Dataset.list_files(file_pattern, shuffle, shuffle_seed)
    dataset = files.interleave(tf.data.TFRecordDataset, num_parallel_reads, num_parallel_calls=num_parallel_reads)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size or 10000, shuffle_seed)
    dataset = dataset.repeat(num_epochs)
    if parser_fn is not None:
        dataset = dataset.map(parser_fn, num_parallel_parser_calls)
    return dataset.batch(batch_size, drop_final_batch or num_epochs is None).prefetch(prefetch_buffer_size or 1)


def index_shuffle(
    file_infos: Sequence[dict[str, Any]],
    reader_factory: Callable[[Any], Any],
    seed: Any = None,
    reshuffle_each_iteration: bool = False,
    num_parallel_calls: Any = tf.data.AUTOTUNE,
) -> Any:
    """The elements of files where random indices say: `index_shuffle` and `at`, which TensorFlow's calls."""
    places: list[int] = []
    first = 0
    for info in file_infos:
        n, skip, take = info["num_elements"], info.get("skip", 0), info.get("take", -1)
        begin = min(skip, n) if skip >= 0 else n
        places += range(first + begin, first + (n if take < 0 else min(begin + take, n)))
        first += n
    whole = reader_factory([info["path"] for info in file_infos])

    def one_pass(seeds: Any) -> Any:
        def element(index: Any) -> Any:
            place = tf.random.experimental.index_shuffle(index, seeds, len(places) - 1)
            return tf.data.experimental.at(whole, tf.gather(tf.constant(places, tf.int64), place))

        return tf.data.Dataset.range(len(places)).map(element, num_parallel_calls)

    seeds = tf.data.Dataset.random(seed, rerandomize_each_iteration=reshuffle_each_iteration)
    return seeds.take(2).batch(2, drop_remainder=True).flat_map(one_pass)


def auto_shard(dataset: Any, num_workers: int, index: int, num_replicas: Any = None) -> Any:
    """What one of several workers reads: the pipeline over part of its files, or every `num_workers`-th element."""
    if not 0 <= index < num_workers:
        raise tf.errors.InvalidArgumentError(None, None, f"index should be >= 0 and < {num_workers}, got {index}")
    policies = tf.data.experimental.AutoShardPolicy
    policy = dataset.options().experimental_distribute.auto_shard_policy
    source = None
    if policy in (policies.AUTO, policies.FILE):
        source, files = sharding.by_files(dataset.source, num_workers, index)
        if policy is policies.FILE and files is None:
            raise tf.errors.NotFoundError(None, None, "Did not find a shardable source")
        source = None if files is None else source
    elif policy is policies.HINT:
        source = sharding.by_hint(dataset.source, num_workers, index)
    if source is not None:
        return dataset.made_as(source, dataset.element_spec, None)
    return dataset if policy is policies.OFF else dataset.shard(num_workers, index)


def legacy_snapshot(path: str, compression: str | None = None, mode: str | None = None, **_: Any) -> Any:
    """The snapshot before today's: how its files lie is not there, that they are written and read is."""
    return lambda dataset: dataset if mode == "passthrough" else dataset.snapshot(path, compression or "")


class Defun:
    """A function of tensors of given dtypes, as one decorates it."""

    def __init__(self, *dtypes: Any, **_: Any) -> None:
        self.signature = [tf.TensorSpec(None, dtype) for dtype in dtypes] if dtypes else None

    def __call__(self, function: Callable[..., Any]) -> Any:
        return tf.function(function, input_signature=self.signature)


def exported(*_: Any, **__: Any) -> Callable[[Any], Any]:
    return lambda value: value


def no(*_: Any) -> bool:
    return False


class _V1Only:
    """A class of TensorFlow 1's that is none here: nothing is an instance of it."""


#: Names that TensorFlow does not export.
OWN: dict[str, Any] = {
    "data.ops.readers._TFRecordDataset": tf.data.TFRecordDataset,
    "data.ops.prefetch_op._PrefetchDataset": lambda dataset, size, slack_period=None: dataset.prefetch(size),
    "data.ops.test_mode.toggle_test_mode": no,  # of the model that tunes buffers, which there is none of
    "data.ops.dataset_ops.DatasetV1": _V1Only,
    "data.ops.dataset_ops.DatasetV2": tf.data.Dataset,
    "data.ops.dataset_ops.make_one_shot_iterator": graph_sessions.one_shot,
    "data.ops.dataset_ops.make_initializable_iterator": graph_sessions.initializable,
    "data.util.nest": (flatten, assert_same_structure, pack_sequence_as, map_structure),
    "data.util.nest.is_nested": _is_nested,
    "data.util.nest.map_structure_up_to": lambda shallow, function, *trees: map_structure(function, *trees),
    "data.util.structure": (are_compatible,),
    "data.util.structure.type_spec_from_value": lambda value: element_specs.spec_of(element_specs.normalized(value)),
    "data.util.structure.get_flat_tensor_shapes": lambda spec: [leaf.shape for leaf in _flat_specs(spec)],
    "data.util.structure.get_flat_tensor_types": lambda spec: [leaf.dtype for leaf in _flat_specs(spec)],
    "data.experimental.ops.snapshot.legacy_snapshot": legacy_snapshot,
    "data.experimental.ops.snapshot.COMPRESSION_NONE": "",
    "data.experimental.ops.snapshot.COMPRESSION_GZIP": "GZIP",
    "data.experimental.ops.snapshot.COMPRESSION_SNAPPY": "SNAPPY",
    "data.experimental.ops.matching_files.MatchingFilesDataset": lambda patterns: tf.data.Dataset.list_files(
        patterns, shuffle=False
    ),
    "data.experimental.ops.testing.sleep": sleep,
    "data.experimental.ops.readers.make_tf_record_dataset": make_tf_record_dataset,
    "data.experimental.ops.distribute._AutoShardDataset": auto_shard,
    "data.experimental.ops.distribute.compute_batch_size": sharding.compute_batch_size,
    "data.experimental.ops.shuffle_ops.index_shuffle": index_shuffle,
    "data.experimental.ops.global_shuffle_op._global_shuffle": global_shuffle,
    "data.experimental.ops.iterator_ops.make_saveable_from_iterator": graph_sessions.make_saveable,
    "training.saver.Saver": graph_sessions.Saver,
    "training.saver.import_meta_graph": graph_sessions.import_meta_graph,
    "framework.ops.GraphKeys": graph_sessions.GraphKeys,
    "framework.ops.add_to_collection": graph_sessions.add_to_collection,
    "framework.ops.get_collection": graph_sessions.get_collection,
    "client.session.Session": graph_sessions.Session,
    "eager.context.ASYNC": 1,
    "eager.context.SYNC": 0,
    "eager.context.execution_mode": contextlib.nullcontext,
    "eager.context.eager_mode": contextlib.nullcontext,
    "eager.context.graph_mode": contextlib.nullcontext,
    "framework.ops.inside_function": graph_sessions.inside_function,
    "framework.function.Defun": Defun,
    "framework.ops.colocate_with": lambda *_: contextlib.nullcontext(),
    "framework.sparse_tensor.is_sparse": lambda x: isinstance(x, tf.SparseTensor | tf.compat.v1.SparseTensorValue),
    "framework.test_util.run_gpu_only": lambda test: unittest.skip("no GPU")(test),
    "framework.test_util.deterministic_ops": contextlib.nullcontext,
    "ops.ragged.ragged_tensor.is_ragged": lambda x: isinstance(
        x, tf.RaggedTensor | tf.compat.v1.ragged.RaggedTensorValue
    ),
    "ops.ragged.ragged_conversion_ops.to_tensor": lambda rt, *args, **kwargs: rt.to_tensor(*args, **kwargs),
    "ops.control_flow_util.ENABLE_CONTROL_FLOW_V2": True,
    "ops.ragged.ragged_factory_ops.constant_value": graph_sessions.ragged_value,
    "ops.lookup_ops.tables_initializer": graph_sessions.nothing,
    "ops.variables.global_variables_initializer": graph_sessions.nothing,
    "ops.variables.variables_initializer": graph_sessions.nothing,
    "pywrap_sanitizers.is_asan_enabled": no,
    "pywrap_sanitizers.is_msan_enabled": no,
    "pywrap_sanitizers.is_tsan_enabled": no,
    "tf2.enabled": lambda: True,
    "util.tf_export.tf_export": exported,
    "util.tf_inspect.getfullargspec": inspect.getfullargspec,
    **{
        f"core.example.{home}.{name}": getattr(tf.train, name)
        for home, every in (
            ("example_pb2", ("Example", "SequenceExample")),
            (
                "feature_pb2",
                ("BytesList", "Feature", "FeatureList", "FeatureLists", "Features", "FloatList", "Int64List"),
            ),
        )
        for name in every
    },
}
for _home in ("data.util.nest", "data.util.structure"):
    OWN.update({f"{_home}.{function.__name__}": function for function in OWN.pop(_home)})


class Inner(types.ModuleType):
    """A module below tensorflow.python (or tensorflow.core); its names are found when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = f"{self.__name__.removeprefix('tensorflow.').removeprefix('python.')}.{name}"
        found = _found(path)
        setattr(self, name, found)
        return found


@functools.cache
def _public() -> dict[str, str]:
    return names()


def _found(path: str) -> Any:
    if path in OWN:
        return OWN[path]
    public = _public().get(path)
    home, _, name = path.rpartition(".")
    if public is None and home.startswith("ops.gen_"):
        public = "raw_ops." + "".join(part.capitalize() for part in name.split("_"))
    if public is None:
        raise AttributeError(f"tensorflow.python.{path} is an inner name of TensorFlow's")
    return operator.attrgetter(public)(tf)


class Finder:
    """The finder of the modules below tensorflow.python: the tests' own from their files, Inner ones for the others."""

    @staticmethod
    def find_spec(full: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if full.split(".")[:2] not in (["tensorflow", "python"], ["tensorflow", "core"]):
            return None
        part = full.removeprefix(f"{ROOT}.")
        file = Path(os.environ["LIBRARY_SOURCE"], *full.split(".")).with_suffix(".py")
        if part.startswith(TEST_MODULES) and file.is_file():
            return importlib.util.spec_from_file_location(full, file)
        return ModuleSpec(full, Finder, is_package=True)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> types.ModuleType:
        return Inner(spec.name)

    @staticmethod
    def exec_module(module: types.ModuleType) -> None:
        module.__path__ = []


def install() -> None:
    """Let the inner names lead where the tables say."""
    sys.meta_path.insert(0, Finder)  # type: ignore[arg-type]
    iterator: Any = type(iter(tf.data.Dataset.range(1)))
    iterator._next_internal = iterator.get_next
    for error in vars(sys.modules["fastgraph.errors"]).values():
        if isinstance(error, type) and issubclass(error, tf.errors.OpError):
            error.__module__ = "tensorflow.python.framework.errors_impl"  # tests are called by it
    graph_sessions.install(tf.test.TestCase)


install()
