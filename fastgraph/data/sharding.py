"""Datasets shared out among processes: the same pipeline over part of the files, or of what a hint marks.

Rule: a pipeline is made again over other sources; what does not lead to one that changes is the same object.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.composites.ragged_tensor import RaggedTensorSpec
from fastgraph.composites.sparse_tensor import SparseTensorSpec
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import int64
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.tensor import convert, from_array
from fastgraph.data.checked_elements import OfCardinality
from fastgraph.data.dataset import Dataset
from fastgraph.data.element_functions import Filter, FlatMap, Map, OfFunction
from fastgraph.data.grouping import Interleave
from fastgraph.data.record_datasets import Files
from fastgraph.data.shuffling import Shuffle
from fastgraph.data.sources import Slices, Source
from fastgraph.data.stored_elements import FileCache
from fastgraph.data.transformations import (
    Batch,
    Cache,
    Concatenate,
    Prefetch,
    Rebatch,
    Repeat,
    Shard,
    Skip,
    Take,
    Unbatch,
    WithOptions,
    Zip,
)
from fastgraph.data.windows import PaddedBatch, RaggedRows, Window

#: The argument of `Dataset.shard` where the processes' numbers are to stand. Source: tf.data.experimental.SHARD_HINT.
SHARD_HINT = -1

#: Elements that pass as they are.
_KEPT = (Cache, FileCache, Filter, OfCardinality, Prefetch, Repeat, Shard, Shuffle, Skip, Take, WithOptions)
#: Beyond which TensorFlow looks for files; what others are made of keeps all its elements.
_THROUGH = (*_KEPT, Batch, FlatMap, Interleave, Map, PaddedBatch, RaggedRows, Unbatch, Window)


def _beside(source: Source) -> tuple[Source, ...]:
    """Return the sources whose elements come after one another, or side by side."""
    if isinstance(source, Concatenate):
        return source.first, source.second
    return source.sources if isinstance(source, Zip) else ()


def batch_size_of(source: Source) -> int:
    """Return how many rows elements have where all say the same, else what the last batch takes; -1: nobody knows."""
    specs = nesting.flatten(source.spec)
    known = all(
        isinstance(spec, TensorSpec | SparseTensorSpec | RaggedTensorSpec) and spec.shape.rank for spec in specs
    )
    rows: set[Any] = {spec.shape[0] if known else None for spec in specs}
    return _batches_of(source) if None in rows else rows.pop() if len(rows) == 1 else -1


def _batches_of(source: Source) -> int:
    while isinstance(source, _KEPT):
        source = source.source
    if isinstance(source, PaddedBatch) or (
        isinstance(source, Batch) and not isinstance(source, Rebatch) and source.name == "_BatchDataset"
    ):
        return int(source.size)
    sizes = {_batches_of(each) for each in _beside(source)}
    return sizes.pop() if len(sizes) == 1 else -1


def compute_batch_size(dataset: Dataset) -> Any:
    """Return how many elements the last `batch` of a dataset puts together, -1 where nobody knows. -> i64[]."""
    return convert(-1 if dataset.source is None else batch_size_of(dataset.source), int64)


def _is_of_files(source: Source) -> bool:
    """Return whether files make all elements, so that parts of them make parts of the elements."""
    if isinstance(source, Files) or (isinstance(source, FlatMap | Interleave) and source._mapped.makes(Files)):
        return True
    if beside := _beside(source):
        return all(map(_is_of_files, beside))
    return isinstance(source, _THROUGH) and _is_of_files(source.source)


def _rebuilt(source: Source, change: Callable[[Source], Source | None]) -> Source:
    """Return a source with what `change` gives for those it is made of (None: look further down)."""
    changed = change(source)
    if changed is not None:
        return changed
    found: dict[str, Any] = {}
    for name, value in vars(source).items():
        if isinstance(value, Source):
            new: Any = _rebuilt(value, change)
        elif isinstance(value, tuple | list) and any(isinstance(each, Source) for each in value):
            new = type(value)([_rebuilt(each, change) if isinstance(each, Source) else each for each in value])
            new = value if all(a is b for a, b in zip(new, value, strict=True)) else new
        else:
            continue
        if new is not value:
            found[name] = new
    if not found:
        return source
    result = copy.copy(source)
    result.__dict__.update(found, _number=None, _handle=None)
    return result


class _Files:
    """Gives each process every `n`-th file, from number `index` on, and counts the files."""

    def __init__(self, n: int, index: int) -> None:
        self.n, self.index, self.counts = n, index, list[int]()

    def __call__(self, source: Source) -> Source | None:
        """Return a source of files with part of them; None for others."""
        if isinstance(source, Files):
            names = np.asarray(source.filenames).reshape(-1)
            self.counts.append(len(names))
            result = copy.copy(source)
            own = from_array(names[self.index :: self.n], source.filenames.dtype)
            result.__dict__.update(filenames=own, _number=None, _handle=None)
            return result
        if isinstance(source, FlatMap | Interleave) and source._mapped.makes(Files):
            return self.of_names(source)
        return None

    def of_names(self, source: OfFunction) -> Source:
        """Return what makes datasets of names, with part of the names, taken before they are shuffled or repeated."""
        count = len(self.counts)

        def part(leaf: Source) -> Source | None:
            if not isinstance(leaf, Slices):
                return None
            self.counts.append(leaf.cardinality())
            return Shard(leaf, self.n, self.index)

        names = _rebuilt(source.source, part)
        if len(self.counts) == count:
            names = Shard(names, self.n, self.index)
            self.counts.append(self.n)
        result = copy.copy(source)
        result.__dict__.update(source=names, _number=None, _handle=None)
        return result


def by_files(source: Source, n: int, index: int) -> tuple[Source, int | None]:
    """Return a source over each `n`-th file, from number `index` on, and how many files it has at the least place.

    The number is None where nothing reads files, or not all elements are made of them.
    """
    if not _is_of_files(source):
        return source, None
    change = _Files(n, index)
    found = _rebuilt(source, change)
    return found, min(change.counts, default=None)


def by_hint(source: Source, n: int, index: int) -> Source:
    """Return a source in which `shard(SHARD_HINT, SHARD_HINT)` is `shard(n, index)`."""

    def change(each: Source) -> Source | None:
        if isinstance(each, Shard) and each.shards == SHARD_HINT:
            return Shard(by_hint(each.source, n, index), n, index)
        return None

    return _rebuilt(source, change)
