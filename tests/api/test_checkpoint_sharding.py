"""Which of a checkpoint's files a tensor goes to, and the entries of its index."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.graphdef.wire_format import parsed, serialized
from fastgraph.saving import bundle_writer
from fastgraph.saving.tensor_bundle import PlainEntry, plain_entry

experimental = tf.train.experimental


class OneEach(experimental.ShardingCallback):  # type: ignore[misc]
    """A file for each tensor."""

    @property
    def description(self) -> str:
        return "one each"

    def __call__(self, shardable_tensors: Any) -> Any:
        return [{each.checkpoint_key: {each.slice_spec: each.tensor}} for each in shardable_tensors]


class Changing(OneEach):
    """A policy that does what none may do."""

    def __init__(self, change: str) -> None:
        self.change = change

    def __call__(self, shardable_tensors: Any) -> Any:
        first, *rest = super().__call__(shardable_tensors)
        ((key, slices),) = first.items()
        ((_, tensor),) = slices.items()
        return {
            "left out": rest,
            "twice": [first, first, *rest],
            "added": [{"other": {"": tensor}}, first, *rest],
            "dtype": [{key: {"": tf.zeros(tensor.shape, tf.int8)}}, *rest],
            "shape": [{key: {"": tf.zeros([77], tensor.dtype)}}, *rest],
        }[self.change]


def values() -> dict[str, Any]:
    return {
        "a": tf.Variable(np.arange(24, dtype=np.float32).reshape(4, 6)),
        "b": tf.Variable(np.arange(5)),
        "c": tf.Variable(3.0),
        "s": tf.Variable(["one", "three", ""]),
        "z": tf.Variable(tf.zeros([0, 3])),
    }


def saved(folder: Path, policy: Any) -> tuple[str, list[str]]:
    """(path of a checkpoint of `values`, its data files)."""
    path = tf.train.Checkpoint(**values()).write(
        str(folder / "c"), tf.train.CheckpointOptions(experimental_sharding_callback=policy)
    )
    return path, sorted(name for name in os.listdir(folder) if ".data-" in name)


def assert_restores(path: str) -> None:
    wanted = values()
    empty = {name: tf.Variable(tf.zeros_like(value)) for name, value in wanted.items() if name != "s"}
    empty["s"] = tf.Variable(["", "", ""])
    tf.train.Checkpoint(**empty).read(path).assert_consumed()
    for name, value in wanted.items():
        assert np.array_equal(empty[name].numpy(), value.numpy()), name


@pytest.mark.parametrize("size", [1, 8, 20, 50, 96, 10_000])
def test_files_of_a_greatest_size(tmp_path: Path, size: int) -> None:
    path, files = saved(tmp_path, experimental.MaxShardSizePolicy(size))
    assert_restores(path)
    n_bytes = 24 * 4 + 5 * 8 + 4 + 8  # strings and the graph of objects aside
    assert len(files) >= min(n_bytes // size, 24 + 5 + 1)
    assert len(files) < 300
    if size == 10_000:
        assert files == ["c.data-00000-of-00001"]


@pytest.mark.parametrize("dtype", ["float16", "uint16", "uint32", "uint64", "float8_e5m2", "string", "int16", "bool"])
def test_only_what_tensorflow_puts_together_is_cut(tmp_path: Path, dtype: str) -> None:
    value = tf.fill([9], "ab") if dtype == "string" else tf.cast(tf.range(9), dtype)
    options = tf.train.CheckpointOptions(experimental_sharding_callback=experimental.MaxShardSizePolicy(4))
    path = tf.train.Checkpoint(v=tf.Variable(value), w=tf.Variable(7.0)).write(str(tmp_path / "c"), options)
    files = len([name for name in os.listdir(tmp_path) if ".data-" in name])
    # of v, and of w and the graph of objects, whose size counts for nothing
    assert files == {"int16": 5, "bool": 3}.get(dtype, 1) + 1
    other = tf.train.Checkpoint(v=tf.Variable(value[::-1]), w=tf.Variable(0.0))
    other.read(path).assert_consumed()
    assert other.v.numpy().tolist() == value.numpy().tolist() and float(other.w) == 7.0


def test_one_file_for_each_and_for_the_task(tmp_path: Path) -> None:
    path, files = saved(tmp_path, OneEach())
    assert len(files) == 6  # and the graph of objects
    assert_restores(path)
    path, files = saved(tmp_path, experimental.ShardByTaskPolicy())
    assert files == ["c.data-00000-of-00001"]  # nothing is left of those that were there
    assert_restores(path)
    path, files = saved(tmp_path, experimental.ShardByTaskPolicy())
    assert files == ["c.data-00000-of-00002"]
    assert_restores(path)


@pytest.mark.parametrize("change", ["left out", "twice", "added", "dtype", "shape"])
def test_what_a_policy_may_not_do(tmp_path: Path, change: str) -> None:
    with pytest.raises(RuntimeError, match=f"{change}(?s:.*)one each"):
        saved(tmp_path, Changing(change))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("slices", [("6 0,4", "6 2,2"), ("6 0,3", "6 4,3"), ("6 0,3", "6 -1,3")])
def test_slices_lie_side_by_side_inside_the_tensor(tmp_path: Path, slices: tuple[str, str]) -> None:
    class Cutting(experimental.ShardingCallback):
        description = "cutting"

        def __call__(self, tensors: Any) -> Any:
            given = {each.checkpoint_key: each.tensor for each in tensors}
            shard = {key: {"": value} for key, value in given.items()}
            key = next(key for key in given if key.startswith("v"))
            shard[key] = {spec: given[key][: int(spec.split(",")[1])] for spec in slices}
            return [shard]

    options = tf.train.CheckpointOptions(experimental_sharding_callback=Cutting())
    with pytest.raises(RuntimeError, match="cutting"):
        tf.train.Checkpoint(v=tf.Variable(tf.range(6.0))).write(str(tmp_path / "c"), options)
    assert os.listdir(tmp_path) == []


def test_what_is_no_policy(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="ShardingCallback"):
        saved(tmp_path, 3)


def test_what_a_policy_is_told(tmp_path: Path) -> None:
    told: list[Any] = []

    class Telling(OneEach):
        def __call__(self, shardable_tensors: Any) -> Any:
            told.extend(shardable_tensors)
            return super().__call__(shardable_tensors)

    saved(tmp_path, Telling())
    found = {each.checkpoint_key: each for each in told}
    each = found["a/.ATTRIBUTES/VARIABLE_VALUE"]
    assert (each.dtype, each.shape, each.slice_spec, each.device.task) == (tf.float32, [4, 6], "", 0)
    assert experimental.MaxShardSizePolicy(3).max_shard_size == 3


def test_entries_of_whole_tensors_are_the_messages(rng: np.random.Generator) -> None:
    sizes = [0, 1, 5, 127, 128, 1 << 40]
    for _ in range(300):
        dims = tuple(sizes[i] for i in rng.integers(0, 6, rng.integers(0, 5)))
        shard, offset, size = (int(rng.choice([0, 3, 200, 1 << 33])) for _ in range(3))
        kind = tf.as_dtype(str(rng.choice(["float32", "string", "bfloat16"])))
        message = bundle_writer._entry(kind, dims)
        for name, number in (("shard_id", shard & 255), ("offset", offset), ("size", size)):
            if number:
                setattr(message, name, number)
        message.crc32c = 1 << 31
        entry = PlainEntry(kind.code, dims, shard & 255, offset, size, 1 << 31)
        assert entry.bytes() == serialized(message)
        content = bytearray(entry.bytes())
        assert plain_entry(bytes(content)) == entry
        content[rng.integers(len(content))] = rng.integers(256)
        found = plain_entry(bytes(content))  # None, or as the message has it
        if found is not None:
            read = parsed(bytes(content), "BundleEntry")
            assert found[0] == int(read.dtype) and found[2:6] == (read.shard_id, read.offset, read.size, read.crc32c)
            assert found.dims == tuple(int(dim.size) for dim in read.shape.dim) and not read.slices
    assert plain_entry(b"") is None and plain_entry(b"\x08\x01\x3a\x00") is None


def test_copies_of_options_and_policies_that_are_equal() -> None:
    options = tf.train.CheckpointOptions("cpu:0", enable_async=True, experimental_write_callbacks=[repr])
    other = copy.copy(options)
    other.enable_async = False
    other.experimental_write_callbacks.append(len)
    assert options.enable_async and options.experimental_write_callbacks == [repr]
    assert other.experimental_io_device == "cpu:0"
    policies = [experimental.MaxShardSizePolicy(n) for n in (4, 4, 8)]
    assert policies[0] == policies[1] != policies[2] and len(set(policies)) == 2
