"""Datasets made of datasets: one class for each way, which says what its elements are like and how a pass goes.

Rule: counts may be symbolic while a graph is traced, when only the spec is asked for. No function of the user's is
called here (element_functions.py).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import int64
from fastgraph.core.base.type_specs import NoneTensorSpec, TensorSpec
from fastgraph.core.tensor import as_array, from_array
from fastgraph.data.element_functions import Map
from fastgraph.data.element_leaves import Dense, apart, batched, kinds_of, sliced, stacked, unbatched
from fastgraph.data.element_specs import Element, common
from fastgraph.data.prefetching import Ahead, anywhere
from fastgraph.data.random_access import Cut, Table, numbers, rows_of, whole
from fastgraph.data.sources import INFINITE, UNKNOWN, Chained, Run, Source, draw_orders
from fastgraph.errors import FailedPreconditionError, InvalidArgumentError, OpError, OutOfRangeError

MOST_ROWS = 1 << 26  # whose numbers are worth keeping at once
_AHEAD = 4  # elements made ahead where nobody says how many


class Same(Source):
    """A dataset of elements like those of its one source, and by default as many."""

    def __init__(self, source: Source) -> None:
        self.source, self.spec = source, source.spec

    def elements(self, run: Run) -> Iterator[Element]:
        return self.source.elements(run)

    def cardinality(self) -> int:
        return self.source.cardinality()


class WithOptions(Same):
    """The same elements. `deterministic` holds for all that it is made of. Source: tf.data.Dataset.with_options."""

    name, decides = "_OptionsDataset", None

    def __init__(self, source: Source, *, deterministic: bool | None) -> None:
        super().__init__(source)
        self.deterministic = deterministic

    def table(self, run: Run) -> Table | None:
        return self.source.table(run)


class Counted(Same):
    """A dataset of elements like those of its one source, `count` of them in some way."""

    def __init__(self, source: Source, count: Any) -> None:
        super().__init__(source)
        self.count = count


class Take(Counted):
    """The first `count` elements; all if it is -1. Source: tf.data.Dataset.take."""

    name = "_TakeDataset"

    def elements(self, run: Run) -> Iterator[Element]:
        elements = self.source.elements(run)
        return elements if self.count < 0 else _Taking(elements, self.count)

    def table(self, run: Run) -> Table | None:
        table = self.source.table(run)
        return table and table.with_keys(Cut(table.keys, 0, None if self.count < 0 else self.count))

    def cardinality(self) -> int:
        n = self.source.cardinality()
        if self.count < 0 or n == UNKNOWN:
            return n
        return int(self.count if n == INFINITE else min(n, self.count))


class _Taking(Iterator[Element]):
    """One pass, which an error does not end, as it would end itertools.islice."""

    def __init__(self, left: Iterator[Element], count: int) -> None:
        self.left, self.count = left, count

    def __next__(self) -> Element:
        if self.count <= 0:
            raise StopIteration
        element = next(self.left)
        self.count -= 1
        return element


class _Skipping(_Taking):
    """One pass without its first elements; after an error among them it skips as many again, as TensorFlow does."""

    def __next__(self) -> Element:
        for _ in range(self.count):
            next(self.left)
        self.count = 0
        return next(self.left)


class _Sharding(Iterator[Element]):
    def __init__(self, left: Iterator[Element], shards: int, index: int) -> None:
        self.left, self.shards, self.index, self.at = left, shards, index, 0

    def __next__(self) -> Element:
        ahead = (self.index - self.at) % self.shards
        for _ in range(ahead):
            next(self.left)
        self.at += ahead
        element = next(self.left)
        self.at += 1
        return element


class Shard(Same):
    """Every `number`-th element, from number `index` on. Source: tf.data.Dataset.shard."""

    name = "_ShardDataset"

    def __init__(self, source: Source, number: Any, index: Any) -> None:
        super().__init__(source)
        known = isinstance(number, int) and isinstance(index, int)
        hint = known and number == index == -1  # tf.data.experimental.SHARD_HINT
        if isinstance(number, int) and number < 1 and not hint:
            raise InvalidArgumentError(None, None, f"num_shards must be >= 1, got {number} [Op:ShardDataset]")
        if known and not 0 <= index < number and not hint:
            text = f"index must be between 0 and {number - 1}, got {index} [Op:ShardDataset]"
            raise InvalidArgumentError(None, None, text)
        self.shards, self.index = number, index

    def elements(self, run: Run) -> Iterator[Element]:
        if self.shards < 0:
            text = "`shard(SHARD_HINT, ...)` needs a strategy, and AutoShardPolicy.HINT in the dataset's options"
            raise InvalidArgumentError(None, None, f"{text} [Op:ShardDataset]")
        return _Sharding(self.source.elements(run), self.shards, self.index)

    def table(self, run: Run) -> Table | None:
        table = whole(self.source, run) if self.shards > 0 else None
        return table and table.with_keys(Cut(table.keys, self.index, None, self.shards))

    def cardinality(self) -> int:
        n = self.source.cardinality()
        return n if n < 0 or self.shards < 0 else max(0, -(-(n - self.index) // self.shards))


class Skip(Counted):
    """The elements after the first `count`; none if it is -1. Source: tf.data.Dataset.skip."""

    name, decides = "_SkipDataset", ("count",)

    def elements(self, run: Run) -> Iterator[Element]:
        return iter(()) if self.count < 0 else _Skipping(self.source.elements(run), self.count)

    def table(self, run: Run) -> Table | None:
        table = self.source.table(run)
        return table and table.with_keys(iter(()) if self.count < 0 else Cut(table.keys, self.count, None))

    def cardinality(self) -> int:
        n = self.source.cardinality()
        return 0 if self.count < 0 else n if n < 0 else max(n - self.count, 0)


def element_at(source: Source, place: int) -> Element:
    """Return an element by its place, in the one order that it has for what is shuffled.

    Raises: OutOfRangeError where there are fewer, FailedPreconditionError where there is no end of them.
    """
    if source.cardinality() == INFINITE and not isinstance(source, Cache):  # a cache need only come so far
        text = f"Dataset of type {source.name} has infinite cardinality, which does not support random access."
        raise FailedPreconditionError(None, None, f"{text} [Op:GetElementAtIndex]")
    within = place < source.cardinality() or source.cardinality() < 0
    for element in Take(Skip(source, place), 1).elements(Run(source, by_index=True)) if within and place >= 0 else ():
        return element
    text = f"Index out of range [0, {source.cardinality()}):{place} [Op:GetElementAtIndex]"
    raise OutOfRangeError(None, None, text)


class Repeat(Counted):
    """All elements `count` times, for ever if it is -1. Source: tf.data.Dataset.repeat."""

    name = "_RepeatDataset"

    def elements(self, run: Run) -> Iterator[Element]:
        if self.source.cardinality() == 0:
            return iter(())
        passes = _Passes(self.source, self.count, run, self.source.only_first)
        return itertools.chain.from_iterable(itertools.chain(passes, (self._end() for _ in (None,))))

    def table(self, run: Run) -> Table | None:
        first = whole(self.source, run) if self.source.cardinality() > 0 else None
        if first is None or not first.fixed or self.count == 0:
            return None
        more = itertools.repeat(None) if self.count < 0 else itertools.repeat(None, self.count - 1)
        rest = (self.source.table(run).keys for _ in more)  # type: ignore[union-attr]
        ended = (self._end() for _ in (None,))
        return first.with_keys(itertools.chain(first.keys, itertools.chain.from_iterable(itertools.chain(rest, ended))))

    def _end(self) -> Iterator[Any]:
        """After the last of several passes: TensorFlow has begun another, not of a shuffle, with which it is one."""
        if self.count > 1 and not self.source.only_first:
            draw_orders(self.source, lambda source, order: None)
        return iter(())

    def cardinality(self) -> int:
        n = self.source.cardinality()
        if self.count == 0 or n == 0:
            return 0
        if self.count < 0:
            return INFINITE
        return n if n < 0 else n * self.count


class _Passes(Iterator[Iterator[Element]]):
    """Passes over a source, `count`; where that is -1, until one of them is empty, or if `first` only the first one."""

    def __init__(self, source: Source, count: int, run: Run, first: bool) -> None:
        self.source, self.left, self.run, self.empty, self.first = source, count, run, False, first
        self.any = False

    def __next__(self) -> Iterator[Element]:
        if self.left == 0 or (self.left < 0 and self.empty):
            raise StopIteration
        self.left -= 1
        self.empty = not (self.first and self.any)
        return map(self._seen, self.source.elements(self.run))

    def _seen(self, element: Element) -> Element:
        self.empty, self.any = False, True
        return element


class Prefetch(Counted):
    """The same elements, some of them made ahead. Source: tf.data.Dataset.prefetch."""

    name, decides = "_PrefetchDataset", None

    def elements(self, run: Run) -> Iterator[Element]:
        elements, size = self.source.elements(run), _AHEAD if self.count < 0 else self.count
        if not size or anywhere(self.source, "draws"):
            return elements
        return Ahead(elements, size, anywhere(self.source, "calls_python"))

    def table(self, run: Run) -> Table | None:
        return self.source.table(run)


class Cache(Same):
    """The elements that the first whole pass gave. Source: tf.data.Dataset.cache."""

    name = "CacheDataset"
    aside = (*Source.aside, "kept", "columns")

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.kept: list[Element] | None = None
        self.columns: Element | None = None  # where all elements fit together: those of `kept` are views of them

    def __copy__(self) -> Cache:
        result = type(self).__new__(type(self))
        result.__dict__.update(vars(self), kept=None, columns=None)  # of another source, it has kept nothing
        return result

    def at_once(self) -> list[Source]:
        return [self.source] if self.kept is None else []

    def elements(self, run: Run) -> Iterator[Element]:
        return _Caching(self, run) if self.kept is None else iter(self.kept)

    def table(self, run: Run) -> Table | None:
        kinds = kinds_of(self.spec)
        if not self.kept or not all(type(kind) is Dense for kind in kinds):
            return None
        if self.columns is None:
            if any({as_array(part).shape for part in column} != {as_array(column[0]).shape}
                   for column in zip(*self.kept, strict=True)):  # fmt: skip
                return None
            self.columns = stacked(kinds, self.kept)
            self.kept = list(sliced(kinds, self.columns))
        return Table(numbers(len(self.kept)), rows_of(self.columns))


class _Caching(Iterator[Element]):
    """A pass that keeps what it gives; once it is through, the cache has it.

    Who knows how many elements there are does not ask for one more: the last of a known number is the end.
    """

    def __init__(self, cache: Cache, run: Run) -> None:
        self.cache, self.found, self.left = cache, list[Element](), cache.source.elements(run)
        self.last = cache.source.cardinality()

    def __next__(self) -> Element:
        try:
            element = next(self.left)
        except StopIteration:
            self.cache.kept = self.found
            raise
        self.found.append(element)
        if len(self.found) == self.last:
            self.cache.kept = self.found
        return element


class Batch(Source):
    """`batch_size` elements at a time, put together. Source: tf.data.Dataset.batch."""

    decides = ("size",)

    def __init__(self, source: Source, batch_size: Any, *, drop_remainder: bool, parallel: bool = False) -> None:
        if isinstance(batch_size, int) and batch_size < 1:
            raise InvalidArgumentError(None, None, "Batch size must be greater than zero. [Op:BatchDatasetV2]")
        self.source, self.size, self.drop = source, batch_size, drop_remainder
        known = batch_size if drop_remainder and isinstance(batch_size, int) else None
        self.spec = batched(source.spec, known)
        self.name = "_ParallelBatchDataset" if parallel else "_BatchDataset"

    def elements(self, run: Run) -> Iterator[Element]:
        table = self.source.table(run)
        return _Batches(self, run) if table is None else table.batches(self.size, self.drop)

    def cardinality(self) -> int:
        n = self.source.cardinality()
        return n if n < 0 else n // self.size if self.drop else -(-n // self.size)


class _Batches(Iterator[Element]):
    """One pass, batch by batch. The elements beside one that failed are lost with it, as in TensorFlow."""

    def __init__(self, batch: Batch, run: Run) -> None:
        self.batch, self.function = batch, None
        source = batch.source
        if isinstance(source, Map) and not source.is_parallel():  # TensorFlow has a whole batch of a `map` at once
            self.function, source = source.function(run), source.source
        self.left = source.elements(run)
        self.kinds = kinds_of(batch.source.spec)
        self.sizes: Iterator[int] = itertools.repeat(batch.size)

    def __next__(self) -> Element:
        size = next(self.sizes)
        rows = list(itertools.islice(self.left, size))
        if self.function is not None:
            rows = [*map(self.function, rows)]
        if not rows or (self.batch.drop and len(rows) < size):
            raise StopIteration
        return stacked(self.kinds, rows)


class Unbatch(Source):
    """The slices along the first axis of each element. Source: tf.data.Dataset.unbatch."""

    name = "_UnbatchDataset"

    def __init__(self, source: Source) -> None:
        self.source = source
        sizes = []
        for leaf in nesting.flatten(source.spec):
            shape = getattr(leaf, "shape", None)
            if shape is not None and shape.rank == 0:
                raise ValueError("Cannot unbatch an input with scalar components.")
            if shape is not None and shape.rank and shape[0] is not None:
                sizes.append(shape[0])
        for size in sizes:
            if size != sizes[0]:
                raise ValueError(
                    "`unbatch()` is only supported for datasets of elements whose components have a matching leading "
                    f"dimension. Encountered both {sizes[0]} and {size}."
                )
        self.spec = unbatched(source.spec)

    def elements(self, run: Run) -> Iterator[Element]:
        kinds = kinds_of(self.source.spec)
        return Chained(map(functools.partial(sliced, kinds), self.source.elements(run)))

    def cardinality(self) -> int:
        n = self.source.cardinality()
        shapes = [leaf.shape for leaf in nesting.flatten(self.source.spec) if isinstance(leaf, TensorSpec)]
        sizes = [shape[0] for shape in shapes if shape.rank and shape[0] is not None]
        return n * sizes[0] if n >= 0 and any(sizes) else INFINITE if n == INFINITE else UNKNOWN  # as TensorFlow says


class Rebatch(Batch):
    """Batches of other sizes, in turn, of what lies along the first axis. Source: tf.data.Dataset.rebatch."""

    decides = ("sizes",)

    def __init__(self, source: Source, *sizes: Any, drop_remainder: bool) -> None:
        if any(isinstance(size, int) and size < 0 for size in sizes):
            raise InvalidArgumentError(None, None, f"Batch sizes must be at least 0, got {sizes}. [Op:RebatchDataset]")
        super().__init__(Unbatch(source), sizes[0] or 1, drop_remainder=drop_remainder)
        self.sizes, self.name = sizes, "_RebatchDataset"
        first = sizes[0]
        if (isinstance(first, int) and not first) or not all(isinstance(size, int) and size == first for size in sizes):
            self.spec = batched(self.source.spec, None)
        elif not drop_remainder and all(_divides(first, spec) for spec in nesting.flatten(source.spec)):
            self.spec = batched(self.source.spec, first)

    def elements(self, run: Run) -> Iterator[Element]:
        return _Rebatches(self, run)

    def cardinality(self) -> int:
        return UNKNOWN


def _divides(size: int, spec: Any) -> bool:
    """Return whether the first axis of what a spec describes is known and some times `size` long."""
    if isinstance(spec, NoneTensorSpec):
        return True
    rows = spec.shape[0] if spec.shape.rank else None
    return rows is not None and rows % size == 0


class _Rebatches(_Batches):
    """One pass. A batch of no elements takes none, whether there are any left or not."""

    def __init__(self, batch: Rebatch, run: Run) -> None:
        super().__init__(batch, run)
        self.sizes, self.ended = itertools.cycle(batch.sizes), False
        specs = nesting.flatten(batch.spec)
        self.together = kinds_of(batch.spec)
        self.none: Element | None = None
        if all(isinstance(spec, TensorSpec) and spec.shape.rank for spec in specs):
            dtypes = [(spec.dtype, [0, *(size or 0 for size in list(spec.shape)[1:])]) for spec in specs]
            self._note([from_array(np.zeros(shape, dtype.as_numpy_dtype), dtype) for dtype, shape in dtypes])

    def _note(self, batch: Any) -> None:
        pairs = zip(self.together, apart(self.together, batch), strict=True)
        self.none = tuple([part for kind, parts in pairs for part in kind.none_of(parts)])

    def __next__(self) -> Element:
        size = next(self.sizes)
        if not size and self.none is None:  # then the first row says what they are like
            rows = list(itertools.islice(self.left, 1))
            self.left, self.ended = itertools.chain(rows, self.left), not rows
            if rows:
                self._note(stacked(self.kinds, rows))
        if self.ended:
            raise StopIteration
        if not size and self.none is not None:
            return self.none
        rows = list(itertools.islice(self.left, size))
        self.ended = len(rows) < size
        if not rows or (self.batch.drop and self.ended):
            raise StopIteration
        found = stacked(self.kinds, rows)
        self._note(found)
        return found


class Enumerate(Source):
    """Pairs of a number, from `start` on, and an element. Source: tf.data.Dataset.enumerate."""

    name = "_EnumerateDataset"

    def __init__(self, source: Source, start: Any) -> None:
        self.source, self.start = source, start
        self.spec = (TensorSpec((), int64), source.spec)

    def elements(self, run: Run) -> Iterator[Element]:
        def numbered(pair: tuple[int, Element]) -> Element:
            return (from_array(np.array(pair[0])), *pair[1])

        return map(numbered, zip(itertools.count(self.start), self.source.elements(run), strict=False))

    def cardinality(self) -> int:
        return self.source.cardinality()


class Concatenate(Source):
    """The elements of one dataset, then those of another. Source: tf.data.Dataset.concatenate."""

    name = "_ConcatenateDataset"

    def __init__(self, first: Source, second: Source) -> None:
        self.first, self.second = first, second
        self.spec = common(first.spec, second.spec)

    def at_once(self) -> list[Source]:
        return [self.first]

    def elements(self, run: Run) -> Iterator[Element]:
        return itertools.chain.from_iterable(
            source.elements(run.branch(i)) for i, source in enumerate((self.first, self.second))
        )

    def cardinality(self) -> int:
        both = self.first.cardinality(), self.second.cardinality()
        return INFINITE if INFINITE in both else UNKNOWN if UNKNOWN in both else sum(both)


class Zip(Source):
    """Structures of elements, one of each dataset, until one of them has no more. Source: tf.data.Dataset.zip."""

    name = "_ZipDataset"

    def __init__(self, *sources: Source, structure: Any) -> None:
        self.sources = sources
        self.spec = nesting.pack_sequence_as(structure, [source.spec for source in sources])

    def elements(self, run: Run) -> Iterator[Element]:
        return _Zipped([source.elements(run.branch(i)) for i, source in enumerate(self.sources)])

    def table(self, run: Run) -> Table | None:
        n = self.cardinality()
        if not 0 <= n <= MOST_ROWS or any(source.cardinality() < 0 for source in self.sources):
            return None
        tables = []
        for i, source in enumerate(self.sources):
            table = whole(source, run.branch(i))
            if table is None:
                return None
            tables.append(table)
        columns: list[Any] = []

        def gather(keys: Any) -> Element:
            if not columns:
                columns.extend(np.concatenate([np.empty(0, np.int64), *table.keys]) for table in tables)
            parts = [table.gather(column[keys]) for table, column in zip(tables, columns, strict=True)]
            return tuple(itertools.chain.from_iterable(parts))

        fixed = all(table.fixed and table.ordered for table in tables)
        return Table(numbers(n), gather, fixed=fixed)

    def cardinality(self) -> int:
        every = [source.cardinality() for source in self.sources]
        finite = [n for n in every if n != INFINITE]
        return INFINITE if not finite else UNKNOWN if UNKNOWN in finite else min(finite)


class _Zipped(Iterator[Element]):
    """One pass. What comes beside an error is gone with it: the sources stay in step."""

    def __init__(self, parts: list[Iterator[Element]]) -> None:
        self.parts = parts

    def __next__(self) -> Element:
        row: list[Any] = []
        error = None
        for part in self.parts:
            try:
                row += next(part)
            except OpError as each:
                error = error or each
        if error is not None:
            raise error
        return tuple(row)
