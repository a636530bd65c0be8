"""Datasets of several elements at a time that `batch` does not make: windows, padded, ragged and sparse batches.

Rule: as in transformations.py; no function of the user's is called here.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fastgraph.composites.ragged_tensor import RaggedTensorSpec
from fastgraph.composites.sparse_tensor import SparseTensorSpec
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DType, as_dtype, bool_, int64, string
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.tensor import as_array, convert, from_array
from fastgraph.data.element_leaves import apart, kinds_of
from fastgraph.data.element_specs import Element, common
from fastgraph.data.handles import owned
from fastgraph.data.sources import INFINITE, UNKNOWN, Described, OfTensors, Run, Source
from fastgraph.errors import DataLossError, InvalidArgumentError, OpError
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.ops import elementwise
from fastgraph.ops.arguments import known_value
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import invalid
from fastgraph.ops.joining import stack


class Elements(Source):
    """Elements that are there."""

    name = "_VariantDataset"

    def __init__(self, rows: Sequence[Element], spec: Any) -> None:
        self.rows, self.spec = rows, spec

    def elements(self, run: Run) -> Iterator[Element]:
        return iter(self.rows)

    def cardinality(self) -> int:
        return len(self.rows)


def handle_of(source: Source) -> Any:
    """Return the tensor by which an element holds a dataset; it keeps it."""
    return from_array(owned(source), None, False)


class Window(Source):
    """Datasets of `size` elements each, from every `shift`-th on, `stride` apart. Source: tf.data.Dataset.window."""

    name, decides = "_VariantDataset", ("size", "shift", "stride")

    def __init__(self, source: Source, size: Any, shift: Any, stride: Any, *, drop: bool, of_spec: Any) -> None:
        for value, what in ((size, "Window size"), (shift, "Window shift"), (stride, "Window stride")):
            if isinstance(value, int) and value < 1:
                raise invalid(f"{what} must be greater than zero. [Op:WindowDataset]")
        self.source, self.size, self.shift, self.stride, self.drop = source, size, shift, stride, drop
        self.leaves = nesting.flatten(source.spec)
        self.spec = nesting.map_structure(of_spec, source.spec)

    def elements(self, run: Run) -> Iterator[Element]:
        return _Windows(self, run)

    def cardinality(self) -> int:
        n = self.source.cardinality()
        if n < 0:
            return n
        if not self.drop:
            return int(-(-n // self.shift))
        rest = n - ((self.size - 1) * self.stride + 1)
        return 0 if rest < 0 else int(rest // self.shift + 1)


class _Windows(Iterator[Element]):
    """One pass of windows; the elements that the next one may need are kept."""

    def __init__(self, window: Window, run: Run) -> None:
        self.window, self.left = window, window.source.elements(run)
        self.kinds = kinds_of(window.source.spec)
        self.buffer: list[Any] = []  # elements, and errors in their places

    def __next__(self) -> Element:
        own = self.window
        reach = (own.size - 1) * own.stride + 1
        while len(self.buffer) < reach:
            try:
                element: Any = next(self.left, None)
            except OpError as error:
                element = error
            if element is None:
                break
            self.buffer.append(element)
        if not self.buffer or (own.drop and len(self.buffer) < reach):
            raise StopIteration
        rows = self.buffer[: reach : own.stride]
        missing = own.shift - len(self.buffer)
        self.buffer = self.buffer[own.shift :]
        for _ in itertools.islice(self.left, max(missing, 0)):
            pass
        for row in rows:
            if isinstance(row, OpError):
                raise row
        columns = zip(*[apart(self.kinds, row) for row in rows], strict=True)
        return tuple([handle_of(Elements(*pair)) for pair in zip(columns, own.leaves, strict=True)])


class PaddedBatch(OfTensors):
    """Batches of tensors that are filled up to one shape. Source: tf.data.Dataset.padded_batch.

    Operands: the size, then for each component its shape i64[rank] (-1: as long as the longest) and its value t[].
    """

    name, decides = "_PaddedBatchDataset", ("size",)

    def __init__(self, source: Source, size: Any, *rest: Any, drop: bool, shapes: Sequence[Any]) -> None:
        self.source, self.drop = source, drop
        self.size = int(size) if hasattr(size, "numpy") or isinstance(size, np.ndarray) else size
        if isinstance(self.size, int) and self.size < 1:
            raise invalid("Batch size must be greater than zero. [Op:PaddedBatchDatasetV2]")
        n = len(shapes)
        self.shapes, self.fill = rest[:n], rest[n:]
        for least in (min(as_array(shape).tolist(), default=0) for shape in self.shapes if hasattr(shape, "numpy")):
            if least < -1:
                raise invalid(f"Dimension {least} must be >= -1 [Op:PaddedBatchDatasetV2]")
        known = self.size if drop and isinstance(self.size, int) else None
        leaves = nesting.flatten(source.spec)
        specs = [TensorSpec([known, *shape], leaf.dtype) for shape, leaf in zip(shapes, leaves, strict=True)]
        self.spec = nesting.pack_sequence_as(source.spec, specs)

    def elements(self, run: Run) -> Iterator[Element]:
        return _PaddedBatches(self, run)

    def cardinality(self) -> int:
        n = self.source.cardinality()
        return n if n < 0 else n // self.size if self.drop else -(-n // self.size)


class _PaddedBatches(Iterator[Element]):
    def __init__(self, batch: PaddedBatch, run: Run) -> None:
        self.batch, self.left = batch, batch.source.elements(run)
        self.shapes = [[int(size) for size in as_array(shape).tolist()] for shape in batch.shapes]
        self.fill = [as_array(value) for value in batch.fill]
        self.dtypes = [leaf.dtype for leaf in nesting.flatten(batch.source.spec)]

    def __next__(self) -> Element:
        rows = list(itertools.islice(self.left, self.batch.size))
        if not rows or (self.batch.drop and len(rows) < self.batch.size):
            raise StopIteration
        columns = enumerate(zip(*rows, strict=True))
        return tuple([self._padded(i, [as_array(part) for part in column]) for i, column in columns])

    def _padded(self, i: int, arrays: list[np.ndarray]) -> Any:
        wanted, dtype = self.shapes[i], self.dtypes[i]
        shape = [max(a.shape[axis] for a in arrays) if size < 0 and all(a.ndim > axis for a in arrays) else size
                 for axis, size in enumerate(wanted)]  # fmt: skip
        for array in arrays:
            if array.ndim != len(wanted):
                raise invalid(
                    f"All elements in a batch must have the same rank as the padded shape for component{i}: expected "
                    f"rank {len(wanted)} but got element with rank {array.ndim} [Op:IteratorGetNext]"
                )
            for size, limit in zip(array.shape, shape, strict=True):
                if size > limit:
                    raise DataLossError(
                        None, None, "Attempted to pad to a smaller size than the input element. [Op:IteratorGetNext]"
                    )
        if all(array.shape == tuple(shape) for array in arrays):
            return from_array(np.stack(arrays), dtype, False)
        found = np.empty((len(arrays), *shape), arrays[0].dtype)
        found[...] = self.fill[i]
        for row, array in zip(found, arrays, strict=True):
            row[tuple([slice(size) for size in array.shape])] = array
        return from_array(found, dtype, False)


def padded_shapes_of(spec: Any, padded_shapes: Any) -> list[TensorShape]:
    """Return the shape of each component of a padded batch. Raises ValueError, TypeError as TensorFlow."""
    leaves = nesting.flatten(spec)
    for leaf in leaves:
        if not isinstance(leaf, TensorSpec):
            if hasattr(leaf, "dataset_shape"):
                raise TypeError("`padded_batch` is not supported for datasets of datasets")
            raise TypeError(
                "`padded_batch` is only supported for datasets that produce tensor elements but type spec of elements "
                f"in the input dataset is not a subclass of TensorSpec: `{leaf}`."
            )
    if padded_shapes is None:
        for leaf in leaves:
            if leaf.shape.rank is None:
                raise ValueError("You must provide `padded_shapes` argument because component has unknown rank.")
        return [leaf.shape for leaf in leaves]
    given = _up_to(spec, padded_shapes)
    if len(given) != len(leaves):
        raise ValueError(f"`padded_shapes` has {len(given)} shapes for {len(leaves)} components")
    found = []
    for one, leaf in zip(given, leaves, strict=True):
        shape = _padded_shape(one)
        own = leaf.shape
        if own.rank is not None:
            if shape.rank != own.rank:
                raise ValueError(
                    f"The padded shape {shape} is not compatible with the shape {own} of the corresponding input "
                    "component."
                )
            for padded, size in zip(shape, own, strict=True):
                if padded is not None and size is not None and padded < size:
                    raise ValueError(
                        f"The padded shape {shape} is not compatible with the shape {own} of the corresponding input "
                        "component."
                    )
        found.append(shape)
    return found


def padded_sizes_of(spec: Any, padded_shapes: Any, shapes: list[TensorShape]) -> list[Any]:
    """Return the sizes of each component as tensors: what is given where only a graph knows it, -1 for any."""
    given = [None] * len(shapes) if padded_shapes is None else _up_to(spec, padded_shapes)
    found = []
    for one, shape in zip(given, shapes, strict=True):
        symbolic = isinstance(one, SymbolicTensor)
        found.append(one if symbolic else convert([-1 if n is None else n for n in shape], int64))
    return found


def _up_to(spec: Any, value: Any) -> list[Any]:
    """Return the parts of `value`, one for each leaf of a spec."""
    if isinstance(spec, dict):
        if not isinstance(value, dict) or set(value) != set(spec):
            raise ValueError(f"The two structures don't have the same keys: {sorted(spec)}, {value}")
        return [part for key in sorted(spec) for part in _up_to(spec[key], value[key])]
    if isinstance(spec, tuple):
        if not isinstance(value, tuple) or len(value) != len(spec):
            raise (ValueError if isinstance(value, tuple) else TypeError)(
                f"The two structures don't have the same sequence length or type: {spec}, {value}"
            )
        return [part for pair in zip(spec, value, strict=True) for part in _up_to(*pair)]
    if isinstance(value, list | tuple) and any(isinstance(n, SymbolicTensor) for n in value):
        return [stack([convert(-1, int64) if n is None else cast(n, int64) for n in value])]
    return [value]


def _padded_shape(value: Any) -> TensorShape:
    if isinstance(value, TensorShape):
        return value
    if isinstance(value, SymbolicTensor):
        known = known_value(value)
        value = value if known is None or (np.asarray(known) < -1).any() else known  # what is wrong is said by the run
    if isinstance(value, SymbolicTensor):
        return TensorShape(None if value.shape.rank is None else [None] * (value.shape[0] or 0))
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, list | tuple) and value and all(isinstance(row, list | tuple) for row in value):
        value = np.array(value)  # no vector: an error
    if isinstance(value, np.ndarray):
        if value.ndim != 1 or value.dtype.kind not in "iu":
            given = value.tolist()
            its = f"shape was {value.shape}" if value.ndim != 1 else f"element type was {as_dtype(value.dtype).name}"
            raise (ValueError if value.ndim != 1 else TypeError)(
                f"Padded shape {given} must be a `tf.int64` vector tensor, but its {its}."
            )
        value = value.tolist()
    if isinstance(value, int):
        value = [value]
    try:
        return TensorShape([None if size is None or size == -1 else operator.index(size) for size in value])
    except TypeError:
        raise TypeError(f"Padded shape {value} must be a `tf.int64` vector tensor.") from None


def _defaults(spec: Any, values: Any) -> Any:
    """Return values in which one None stands for all of the part of the structure that it is given for, spread out."""
    if values is None:
        return nesting.map_structure(lambda _: None, spec)
    if isinstance(spec, dict) and isinstance(values, dict) and spec.keys() == values.keys():
        return {name: _defaults(spec[name], values[name]) for name in spec}
    if type(spec) is type(values) is tuple and len(spec) == len(values):
        return tuple(_defaults(part, value) for part, value in zip(spec, values, strict=True))
    return values


def padding_values_of(spec: Any, values: Any) -> list[Any]:
    """Return the value of each component of a padded batch, as arrays. Raises TypeError, ValueError as TensorFlow."""
    leaves = nesting.flatten(spec)
    given = (
        [values] * len(leaves)
        if values is None or not isinstance(values, tuple | dict)
        else _up_to(spec, _defaults(spec, values))
    )
    found: list[Any] = []
    for value, leaf in zip(given, leaves, strict=True):
        if value is None:
            found.append(
                from_array(np.array(b"" if leaf.dtype is string else 0, leaf.dtype.as_numpy_dtype), leaf.dtype)
            )
            continue
        tensor = convert(value)
        if tensor.shape.rank != 0:
            raise ValueError(f"Padding value should be a scalar, but got {value}.")
        if tensor.dtype is not leaf.dtype:
            raise TypeError(
                f"Mismatched type between padding value {value} and input dataset's component type {leaf.dtype}"
            )
        found.append(tensor)
    return found


class RaggedRows(Source):
    """The elements with ragged tensors for those whose shapes are open: what is batched then may differ in shape."""

    name = "_DenseToRaggedDataset"

    def __init__(self, source: Source, *, row_splits_dtype: DType) -> None:
        self.source, self.dtype = source, row_splits_dtype
        self.spec = nesting.map_structure(self._ragged, source.spec)

    def _ragged(self, leaf: Any) -> Any:
        shape = getattr(leaf, "shape", None)
        if not isinstance(leaf, TensorSpec) or shape is None or shape.rank is None or shape.is_fully_defined():
            return leaf
        rank = max(axis for axis, size in enumerate(shape) if size is None)
        return RaggedTensorSpec(shape, leaf.dtype, rank, self.dtype)

    def elements(self, run: Run) -> Iterator[Element]:
        return map(self._taken_apart, self.source.elements(run))

    def _taken_apart(self, element: Element) -> Element:
        found: list[Any] = []
        specs = zip(nesting.flatten(self.source.spec), nesting.flatten(self.spec), strict=True)
        parts = apart(kinds_of(self.source.spec), element)
        for (before, after), own in zip(specs, parts, strict=True):
            if before is after or after.ragged_rank == 0:
                found += own
                continue
            array, rank = as_array(own[0]), after.ragged_rank
            sizes = array.shape
            found.append(from_array(array.reshape(-1, *sizes[rank + 1 :]), after.dtype))
            for axis in range(rank):
                rows = math.prod(sizes[: axis + 1])
                splits = np.arange(rows + 1, dtype=self.dtype.numpy_dtype) * sizes[axis + 1]
                found.append(from_array(splits.astype(self.dtype.numpy_dtype), self.dtype))
        return tuple(found)

    def cardinality(self) -> int:
        return self.source.cardinality()


class SparseBatch(Source):
    """Batches as SparseTensors of rows `row_shape`. Source: tf.data.Dataset.sparse_batch."""

    name, decides = "_DenseToSparseBatchDataset", ("size",)

    def __init__(self, source: Source, size: Any, *, row_shape: TensorShape) -> None:
        if not isinstance(source.spec, TensorSpec):
            raise TypeError("`dense_to_sparse_batch` requires an input dataset whose elements have a single component.")
        self.source, self.size, self.row_shape = source, size, row_shape
        if isinstance(size, int) and size < 1:
            raise invalid("Batch size must be greater than zero. [Op:DenseToSparseBatchDataset]")
        self.spec = SparseTensorSpec([None, *row_shape], source.spec.dtype)

    def elements(self, run: Run) -> Iterator[Element]:
        return _SparseBatches(self, run)

    def cardinality(self) -> int:
        n = self.source.cardinality()
        return n if n < 0 else -(-n // self.size)


class _SparseBatches(Iterator[Element]):
    def __init__(self, batch: SparseBatch, run: Run) -> None:
        self.batch, self.left = batch, batch.source.elements(run)

    def __next__(self) -> Element:
        arrays = [as_array(row[0]) for row in itertools.islice(self.left, self.batch.size)]
        if not arrays:
            raise StopIteration
        limits = self.batch.row_shape.as_list()
        for array in arrays:
            if array.ndim != len(limits):
                raise invalid(
                    f"Input element had shape ({list(array.shape)}) that is incompatible with the row shape "
                    f"({limits}). [Op:IteratorGetNext]"
                )
            if any(limit is not None and size > limit for size, limit in zip(array.shape, limits, strict=True)):
                raise DataLossError(
                    None, None, f"Input element had shape ({list(array.shape)}) larger than the row shape"
                )
        longest = np.max([array.shape for array in arrays], 0) if limits else np.zeros(0, np.int64)
        row = [int(longest[i]) if limit is None else limit for i, limit in enumerate(limits)]
        cells = [np.indices(array.shape).reshape(array.ndim, -1).T for array in arrays]
        numbers = np.repeat(np.arange(len(arrays)), [array.size for array in arrays])
        indices = np.concatenate([numbers[:, None], np.concatenate(cells)], 1).astype(np.int64)
        values = np.concatenate([array.reshape(-1) for array in arrays])
        shape = np.array([len(arrays), *row], np.int64)
        return from_array(indices), from_array(values, self.batch.spec.dtype, False), from_array(shape)


class Directed(Source):
    """Elements of several datasets; the first says whose turn it is. Source: tf.data.Dataset.choose_from_datasets."""

    name = "_DirectedInterleaveDataset"

    def __init__(self, selector: Source, *sources: Source, stop: bool) -> None:
        self.selector, self.sources, self.stop = selector, sources, stop
        spec = sources[0].spec
        for i, source in enumerate(sources[1:], 1):
            try:
                spec = common(spec, source.spec)
            except TypeError:
                raise TypeError(
                    "Invalid `datasets`. `datasets` must have compatible element specs.\n Dataset 0 "
                    f"element_spec={spec}.\n Dataset {i} element_spec={source.spec}."
                ) from None
        self.spec = spec

    def elements(self, run: Run) -> Iterator[Element]:
        return _Directions(self, run)

    def cardinality(self) -> int:
        return INFINITE if any(source.cardinality() == INFINITE for source in self.sources) else UNKNOWN


class _Directions(Iterator[Element]):
    def __init__(self, directed: Directed, run: Run) -> None:
        self.stop = directed.stop
        self.choices = directed.selector.elements(run.branch(0))
        self.left: list[Iterator[Element] | None] = [
            source.elements(run.branch(i)) for i, source in enumerate(directed.sources, 1)
        ]
        self.n = len(self.left)

    def __next__(self) -> Element:
        while self.n:
            choice = int(as_array(next(self.choices)[0]))
            if not 0 <= choice < len(self.left):
                text = f"Selector index out of range: {choice} >= {len(self.left)} [Op:IteratorGetNext]"
                raise InvalidArgumentError(None, None, text)
            elements = self.left[choice]
            if elements is None:
                continue
            element = next(elements, None)
            if element is not None:
                return element
            if self.stop:
                self.n = 0
                break
            self.left[choice] = None
            self.n -= 1
        raise StopIteration


class PadToCardinality(Source):
    """Dicts with a mask, and elements of zeros once the source has ended. Source: pad_to_cardinality."""

    name = "_FlatMapDataset"

    def __init__(self, source: Source, count: Any, *, key: str) -> None:
        self.source, self.count = source, count
        n = source.cardinality()
        if isinstance(count, int) and not (0 <= n <= count or isinstance(source, Described)):
            known = "known cardinalty" if n < 0 else f"cardinalty less than the target cardinality ({count})"
            text = f"The dataset passed into `pad_to_cardinality` must have a {known}, but has cardinality {n}"
            raise ValueError(text)
        spec = dict(source.spec)
        self.spec = {**spec, key: TensorSpec((), bool_)}
        self.at = next(i for i, name in enumerate(sorted(self.spec)) if name == key)

    def elements(self, run: Run) -> Iterator[Element]:
        place = sum(kind.n for kind in kinds_of([self.spec[name] for name in sorted(self.spec)[: self.at]]))
        last: Element | None = None
        n = 0
        for last in self.source.elements(run):
            n += 1
            yield (*last[:place], from_array(np.array(True)), *last[place:])
        if last is None:
            return
        zeros = tuple([elementwise.zeros_like(part) for part in last])
        for _ in range(self.count - n):
            yield (*zeros[:place], from_array(np.array(False)), *zeros[place:])

    def cardinality(self) -> int:
        return int(self.count)
