"""The data files of a checkpoint that tensors go to, whole or in slices: tf.train.experimental's policies.

Rule: a policy only says where what it was given goes; every element is written once, or nothing is. Source:
tf.train.experimental.ShardingCallback.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, as_dtype, string
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.device_spec import DeviceSpec
from fastgraph.core.tensor import EagerTensor, as_array, convert
from fastgraph.saving.bundle_writer import BundleWriter
from fastgraph.saving.object_graph import OBJECT_GRAPH

Shard = Mapping[str, Mapping[str, Any]]  #: {key of a tensor: {which slice of it, "" for all: the slice}}
_DEVICE = DeviceSpec.from_string("/job:localhost/replica:0/task:0/device:CPU:0")


@dataclass(frozen=True, eq=False)
class ShardableTensor:
    """A tensor of a checkpoint, as a policy is told of it. Source: tf.train.experimental.ShardableTensor."""

    _tensor_save_spec: Any
    tensor: Any
    dtype: DType
    device: DeviceSpec
    name: str
    shape: TensorShape
    slice_spec: str
    checkpoint_key: str
    trackable: Any


class ShardingCallback(abc.ABC):
    """The base of policies: called with a list of ShardableTensors it returns shards, a list of dicts
    {checkpoint_key: {slice_spec: tensor}}. A slice_spec is "", or "6 2 0,3:0,2" for rows 0 to 3 of [6, 2].

    Source: tf.train.experimental.ShardingCallback.
    """

    @property
    @abc.abstractmethod
    def description(self) -> str:
        """The policy in words."""

    @abc.abstractmethod
    def __call__(self, shardable_tensors: Sequence[ShardableTensor]) -> Sequence[Shard]:
        """Return the shards."""

    def __hash__(self) -> int:
        return hash((self.description, *vars(self).values()))

    def __eq__(self, other: object) -> bool:
        alike = type(other) is type(self) and vars(other) == vars(self)
        return alike and other.description == self.description  # type: ignore[attr-defined]


class ShardByTaskPolicy(ShardingCallback):
    """A shard for each task that tensors are of: here one. Source: tf.train.experimental.ShardByTaskPolicy."""

    @property
    def description(self) -> str:
        """The policy in words."""
        return "Split tensors into shards based on their device spec task."

    def __call__(self, shardable_tensors: Sequence[ShardableTensor]) -> Sequence[Shard]:
        """Return the shards."""
        return [{each.checkpoint_key: {each.slice_spec: each.tensor} for each in shardable_tensors}]


#: The dtypes whose parts TensorFlow 2.21 puts together.
CUT = frozenset(
    ["float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64", "complex128"]
)


@without({"the policy itself": "MaxShardSizePartitioner"})
class MaxShardSizePolicy(ShardingCallback):
    """Shards of at most `max_shard_size` bytes each; a single element that is larger has its own.

    Tensors are cut along an axis where they do not fit. Those of dtypes that TensorFlow cannot put together again from
    parts (strings, float16, unsigned ones but uint8) stay whole. Source: tf.train.experimental.MaxShardSizePolicy.
    """

    def __init__(self, max_shard_size: int) -> None:
        self.max_shard_size = max_shard_size

    @property
    def description(self) -> str:
        """The policy in words."""
        return "Split tensors into shards with a max shard size."

    def __call__(self, shardable_tensors: Sequence[ShardableTensor]) -> Sequence[Shard]:
        """Return the shards."""
        shards: list[dict[str, dict[str, Any]]] = [{}]
        large: list[Shard] = []
        most = room = self.max_shard_size
        for each in shardable_tensors:
            array = _array(each.tensor)
            known = each.checkpoint_key != OBJECT_GRAPH  # whose size counts for nothing
            size = int(array.dtype.itemsize) if known else 0
            cuttable = each.dtype.name in CUT
            left = [([0] * array.ndim, list(array.shape))]
            while left:
                offset, shape = left.pop()
                n_bytes = math.prod(shape) * size
                if size and each.dtype is string:  # which is never cut
                    n_bytes = sum(map(len, array.reshape(-1).tolist()))
                whole = shape == list(array.shape)
                place = tuple(slice(at, at + n) for at, n in zip(offset, shape, strict=True))
                part = each.tensor if whole else array[place]
                slices = {"" if whole else slice_spec(array.shape, offset, shape): part}
                if n_bytes > most and not (cuttable and any(extent > 1 for extent in shape)):
                    large.append({each.checkpoint_key: slices})
                    continue
                if n_bytes > room:
                    cut = _part(shape, size, room) if cuttable else None
                    if cut is None and room < most:
                        shards.append({})
                        room = most
                        left.append((offset, shape))
                        continue
                    axis, n = cut or next((axis, 1) for axis, extent in enumerate(shape) if extent > 1)
                    first, rest, further = list(shape), list(shape), list(offset)
                    first[axis], rest[axis], further[axis] = n, shape[axis] - n, offset[axis] + n
                    left += [(further, rest), (offset, first)]
                    continue
                shards[-1].setdefault(each.checkpoint_key, {}).update(slices)
                room -= n_bytes
                if room <= 0 and left:
                    shards.append({})
                    room = most
        return [shard for shard in (*shards, *large) if shard]


def _array(value: Any) -> Any:
    return as_array(value) if isinstance(value, EagerTensor) else np.asarray(value)


def _part(shape: list[int], size: int, room: int) -> tuple[int, int] | None:
    """The axis along which equal parts that fit are fewest, and their length; None if no slice of any axis fits."""
    best = None
    for axis, extent in enumerate(shape):
        n = room // (math.prod(shape) // extent * size)
        if n and (best is None or -(-extent // n) < best[0]):
            best = -(-extent // n), axis
    return None if best is None else (best[1], -(-shape[best[1]] // best[0]))


def slice_spec(full: Sequence[int], offset: Sequence[int], shape: Sequence[int]) -> str:
    """Return the text for a slice: the tensor's shape, then of each axis start and length."""
    extents = ":".join(f"{at},{n}" for at, n in zip(offset, shape, strict=True))
    return f"{' '.join(map(str, full))} {extents}"


def extents_of(spec: str) -> tuple[list[int], list[tuple[int, int]]]:
    """Return (the tensor's shape, of each axis start and length) of such a text. Raises ValueError for another."""
    *full, extents = spec.split()
    pairs = [part.split(",") for part in extents.split(":")]
    dims = [int(size) for size in full]
    if len(pairs) != len(dims) or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{spec!r} does not say a slice, as '6 2 0,3:0,2' does")
    return dims, [(int(at), int(n)) for at, n in pairs]


def shards_of(callback: ShardingCallback, tensors: Mapping[str, Any]) -> Sequence[Shard]:
    """Return what a policy makes of a checkpoint's tensors.

    Raises RuntimeError where it adds, leaves out, repeats or changes any, TypeError for what is no policy.
    """
    if not isinstance(callback, ShardingCallback):
        raise TypeError(
            f"The experimental_sharding_callback is a tf.train.experimental.ShardingCallback; got {callback}"
        )
    given = []
    for key, value in tensors.items():
        tensor = value if isinstance(value, EagerTensor) else convert(value)
        given.append(ShardableTensor(None, tensor, tensor.dtype, _DEVICE, key, tensor.shape, "", key, None))
    shards = [shard for shard in callback(given) if shard]
    missing = {key: math.prod(value.shape) for key, value in tensors.items()}
    taken: dict[str, np.ndarray[Any, Any]] = {}  # which elements are given, of what is cut
    seen: set[tuple[str, str]] = set()
    for shard in shards:
        for key, slices in shard.items():
            for spec, value in slices.items():
                wrong = None
                if key not in tensors:
                    wrong = "added a tensor"
                elif (key, spec) in seen:
                    wrong = "gave a tensor twice"
                elif _array(value).dtype != _array(tensors[key]).dtype:
                    wrong = "changed the dtype of a tensor"
                elif not _fits(spec, list(value.shape), list(tensors[key].shape)):
                    wrong = "changed the shape of a tensor"
                if wrong is None and spec:
                    place = tuple([slice(at, at + n) for at, n in extents_of(spec)[1]])
                    given_of = taken.setdefault(key, np.zeros(tuple(tensors[key].shape), bool))
                    wrong = "gave a part of a tensor twice" if given_of[place].any() else None
                    given_of[place] = True
                if wrong:
                    raise _refused(callback, wrong, key, spec)
                seen.add((key, spec))
                missing[key] -= math.prod(value.shape)
    for key, n in missing.items():
        if n or not any(each == key for each, _ in seen):
            raise _refused(callback, "left out a tensor or part of it", key, "")
    return shards


def bundle_of(path: str, tensors: Mapping[str, Any], callback: ShardingCallback | None) -> BundleWriter:
    """Return what writes a bundle, with all tensors in the files that a policy says: it is to be finished."""
    whole = {key: {"": value} for key, value in tensors.items()}
    shards = [whole] if callback is None else shards_of(callback, tensors)
    writer = BundleWriter(path, len(shards))
    try:
        for number, shard in enumerate(shards):
            if number:
                writer.next_shard()
            for key, slices in shard.items():
                for spec, value in slices.items():
                    if spec:
                        writer.add_slice(key, *extents_of(spec), value)
                    else:
                        writer.add(key, value, as_dtype(value.dtype) if hasattr(value, "dtype") else string)
    except BaseException:
        writer.discard()
        raise
    return writer


def _fits(spec: str, shape: list[int], full: list[int]) -> bool:
    """Return whether a tensor of a shape is the slice that a text says of a tensor of the full shape."""
    dims, extents = extents_of(spec) if spec else (full, [(0, n) for n in full])
    if dims != full or shape != [n for _, n in extents]:
        return False
    return all(at >= 0 and at + n <= dim for (at, n), dim in zip(extents, full, strict=True))


def _refused(callback: ShardingCallback, wrong: str, key: str, spec: str) -> RuntimeError:
    return RuntimeError(
        f"The checkpoint sharding callback {wrong}.\n  callback_description: {callback.description}\n"
        f"  checkpoint_key: {key}\n  slice_spec: {spec}"
    )
