"""Batches for `fit`, `evaluate`, `predict`: of arrays, Datasets, generators, Sequences, prepared beside the steps.

Rule: a source yields tuples (x,), (x, y) or (x, y, sample_weight); it knows nothing of models.
"""

from __future__ import annotations

import inspect
import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import int64
from fastgraph.core.base.logger import get_logger
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.keras import backend
from fastgraph.ops.creation import range_ as range_op
from fastgraph.ops.random_ops import shuffled
from fastgraph.ops.random_states import generators
from fastgraph.state.variable import Variable

#: How many bytes of shuffled rows are gathered at a time.
_BLOCK = 4 << 20
#: Seconds that a batch may take to prepare before it is prepared in a thread: to hand one over costs some 50 µs.
_QUICK = 2e-4

Batch = tuple[Any, ...]
#: Data to learn from: arrays or tensors, several in a list or by name, or what yields batches of them.
Examples = TensorLike | Mapping[str, Any] | Iterable[Any]


def to_categorical(y: TensorLike, num_classes: int | None = None, dtype: Any = "float32") -> np.ndarray:
    """Return integer labels as rows that are 1 at the label and 0 elsewhere. i[*s] or i[*s, 1] -> f[*s, num_classes].

    num_classes: by default the greatest label and one. Raises IndexError for a label that is no class.
    Source: tf.keras.utils.to_categorical.

    Examples:
        >>> to_categorical([0, 2, 1])
        array([[1., 0., 0.],
               [0., 0., 1.],
               [0., 1., 0.]], dtype=float32)
    """
    labels = np.asarray(y, dtype="int64")
    if labels.shape and labels.shape[-1] == 1 and labels.ndim > 1:
        labels = labels[..., 0]
    n = num_classes or int(labels.max()) + 1
    return np.eye(n, dtype=getattr(dtype, "name", dtype))[labels]


class Sequence:
    """The base of data that is asked for batch by batch: state `__len__` and `__getitem__(index)`, a tuple for `fit`.

    Source: tf.keras.utils.Sequence.
    """

    def __getitem__(self, index: int) -> Any:
        """Return one batch: x, (x, y) or (x, y, sample_weight)."""
        raise NotImplementedError

    def __len__(self) -> int:
        """Return the number of batches."""
        raise NotImplementedError

    def on_epoch_end(self) -> None:
        """Act after each pass over the batches."""

    def __iter__(self) -> Any:
        """Yield the batches in order."""
        for index in range(len(self)):
            yield self[index]


class Source:
    """Batches, epoch after epoch. steps: how many an epoch has, or None while that is not known.

    rows: how many each batch has, None where they may differ.
    """

    steps: int | None = None
    rows: int | None = None
    name = "batches"
    anew = True  # its first batch is the first of the data

    def __init__(self, steps: int | None = None) -> None:
        self.steps = steps
        self._going_on: Iterator[Batch] | None = None  # where epochs are pieces of one long pass
        self.ended = False

    def passes(self) -> Iterator[Batch]:
        """Yield the batches of one pass over the data."""
        raise NotImplementedError

    def endless(self) -> bool:
        """Return whether another pass may begin in the middle of an epoch."""
        return False

    def whole(self) -> bool:
        """Return whether each epoch is a pass of its own."""
        return True

    def epoch(self) -> Iterator[Batch]:
        """Yield the batches of the next epoch; sets `ended` if there were fewer than `steps`."""
        if self.whole():
            count = 0
            for batch in self.passes():
                count += 1
                yield batch
            self.steps = self.steps or count
            return
        assert self.steps is not None
        for _ in range(self.steps):
            following = self._next()
            if following is None:
                self.ended = True
                get_logger().warning(
                    "Your input ran out of data; interrupting training. Make sure that your dataset or generator can "
                    "generate at least `steps_per_epoch * epochs` batches (in this case, %s). You may need to use the "
                    "repeat() function when building your dataset.", self.steps,
                )  # fmt: skip
                return
            yield following

    def pass_over(self) -> None:
        """Go on behind an epoch, whose batches nobody wants; what does not begin anew stays where it is."""
        for _ in self.epoch() if self.anew else ():
            pass

    def begin_anew(self) -> None:
        """Let the next epoch begin with the first batch, if there is a way back to it."""
        if self._going_on is not None:
            self._going_on.close()  # type: ignore[attr-defined]  # so that no thread goes on preparing
            self._going_on = None

    def _next(self) -> Batch | None:
        if self._going_on is None:
            self._going_on = self.passes()
        batch = next(self._going_on, None)
        if batch is None and self.endless():
            self._going_on = self.passes()
            batch = next(self._going_on, None)
        return batch


class Arrays(Source):
    """Batches of arrays with as many rows each; shuffled anew for each pass if asked."""

    def __init__(
        self, x: Examples, y: Examples | None, weights: Examples | None, batch_size: int | None, steps: int | None,
        shuffle: bool | str,
    ) -> None:  # fmt: skip
        data = trimmed(x, y, weights)
        self._data = nesting.map_structure(array_of, data)
        self._leaves = [leaf for leaf in nesting.flatten(self._data) if leaf is not None]
        rows = [_rows(leaf) for leaf in self._leaves]
        if len(set(rows)) > 1:
            sizes = "".join(
                f"  {name} sizes: {', '.join(str(_rows(leaf)) for leaf in nesting.flatten(part))}\n"
                for name, part in zip(("x", "y", "sample_weight"), self._data, strict=False)
                if part is not None
            )
            raise ValueError(
                f"Data cardinality is ambiguous:\n{sizes}Make sure all arrays contain the same number of samples."
            )
        self._count = rows[0]
        if not batch_size and steps:
            batch_size = -(-self._count // steps)
        self.batch_size = int(batch_size or 32)
        self.rows = None if self._count % self.batch_size else self.batch_size
        self.shuffle = shuffle  # "batch": the rows of each batch change places
        self._random = generators.first_of_graph()  # Keras shuffles in a dataset's function: the orders are the same
        self._steps_given = steps is not None
        super().__init__(steps if steps is not None else -(-self._count // self.batch_size))
        if not self._count:
            raise ValueError("Expected input data to be non-empty.")

    def endless(self) -> bool:
        return True

    def whole(self) -> bool:
        return not self._steps_given

    def _order(self) -> np.ndarray:
        span = self.batch_size if self.shuffle == "batch" else self._count
        return np.concatenate([
            shuffled(self._random, range_op(start, min(start + span, self._count), dtype=int64), None)
            for start in range(0, self._count, span)
        ])  # fmt: skip

    def pass_over(self) -> None:
        if not self.whole():
            super().pass_over()
        elif self.shuffle:
            self._order()

    def passes(self) -> Iterator[Batch]:
        if not self.shuffle:
            yield from self._cut(self._leaves)
            return
        order = self._order()
        row = max(1, sum(leaf[:1].nbytes for leaf in self._leaves))
        block = self.batch_size * max(1, _BLOCK // (row * self.batch_size))
        pieces = [order[start : start + block] for start in range(0, self._count, block)]

        def gather(piece: np.ndarray) -> list[Any]:
            return [leaf.take(piece, axis=0) for leaf in self._leaves]

        if len(pieces) == 1:
            yield from self._cut(gather(order))
            return
        with ThreadPoolExecutor(1, thread_name_prefix="fastgraph-batches") as thread:
            ahead = thread.submit(gather, pieces[0])
            for piece in pieces[1:]:
                block_leaves = ahead.result()
                ahead = thread.submit(gather, piece)
                yield from self._cut(block_leaves)
            yield from self._cut(ahead.result())

    def _cut(self, leaves: list[Any]) -> Iterator[Batch]:
        size = self.batch_size
        if not any(isinstance(part, (list, dict, tuple)) or part is None for part in self._data):
            for start in range(0, len(leaves[0]), size):
                yield packed(tuple([leaf[start : start + size] for leaf in leaves]))
            return
        for start in range(0, len(leaves[0]), size):
            cut = iter([leaf[start : start + size] for leaf in leaves])
            yield packed(nesting.map_structure(lambda leaf, cut=cut: None if leaf is None else next(cut), self._data))


class Items(Source):
    """Batches that something else makes: a Dataset, a generator, a Sequence, called anew for each pass."""

    def __init__(
        self, make: Callable[[], Iterable[Any]], known: int | None, steps: int | None, again: bool, convert: bool
    ) -> None:
        super().__init__(steps if steps is not None else known)
        self._make = make
        self._known = known
        self._given = steps
        self._again = again
        self._convert = convert
        self._is_new = not convert  # a dataset, in whose first epoch Keras begins a pass that it drops

    def endless(self) -> bool:
        return False

    def whole(self) -> bool:
        if not self._again:
            return self._given is None
        return self._given is None or self._given == self._known

    def begin_anew(self) -> None:
        self._is_new = not self._convert
        if self._again:
            super().begin_anew()

    def passes(self) -> Iterator[Batch]:
        if self._is_new and self.whole():
            iter(self._make())  # whose order was drawn: the orders of shuffled datasets are the same as in Keras
        self._is_new = False
        for item in ahead(iter(self._make())):
            if not self._convert and not isinstance(item, tuple):
                yield item
                continue
            batch = tuple(item) if isinstance(item, (tuple, list)) else (item,)
            if len(batch) > 3:
                raise ValueError(
                    "Data is expected to be in format `x`, `(x,)`, `(x, y)`, or `(x, y, sample_weight)`, found a tuple "
                    f"of {len(batch)}."
                )
            yield packed(nesting.map_structure(array_of, batch)) if self._convert else batch


def source_of(
    x: Any, y: Examples | None = None, sample_weight: Examples | None = None, batch_size: int | None = None, steps: int
    | None = None, shuffle: bool | str = False, class_weight: dict[int, float] | None = None, infinite_steps: str =
    "steps_per_epoch",
) -> Source:  # fmt: skip
    """Return the batches of whatever Keras's methods take as `x`.

    Raises ValueError for y or weights beside an x that yields its own, for arrays of different lengths, for endless
    data without a number of steps.
    """
    if x is None:
        raise ValueError("x is None: give arrays, tensors, a tf.data.Dataset, a generator or a keras.utils.Sequence.")
    source: Source
    if _are_scalars(x) and (y is None or _are_scalars(y)):
        x, y, sample_weight = (None if each is None else np.asarray(each) for each in (x, y, sample_weight))
    kind = _kind(x)
    if kind == "arrays":
        source = Arrays(x, y, sample_weight, batch_size, steps, shuffle)
    else:
        for name, given in (("y", y), ("sample_weight", sample_weight)):
            if given is not None:
                raise ValueError(f"`{name}` argument is not supported when using {kind} as input.")
        if kind == "dataset":
            if batch_size is not None:
                raise ValueError(
                    "The `batch_size` argument must not be specified for the given input type. Received input: "
                    f"{x!s}, batch_size: {batch_size}"
                )
            count = x.cardinality
            known = int(count() if callable(count) else count)
            if known == -1 and steps is None:
                raise ValueError(
                    "When passing an infinitely repeating dataset, you must specify how many steps to draw: "
                    f"`{infinite_steps}`."
                )
            source = Items(lambda: x, known if known >= 0 else None, steps, again=True, convert=False)
            first = TensorShape(nesting.flatten(x.element_spec)[0].shape)
            source.rows = first[0] if first.rank else None
        elif kind == "sequence":
            source = Items(lambda: _of_sequence(x, bool(shuffle)), len(x), steps, again=True, convert=True)
        else:
            iterator = iter(x)
            source = Items(lambda: iterator, None, steps, again=False, convert=True)
            source.anew = inspect.isgenerator(iterator) and inspect.getgeneratorstate(iterator) == inspect.GEN_CREATED
    if class_weight:
        source = _ClassWeighted(source, class_weight)
    return source


class _ClassWeighted(Source):
    """Batches whose sample weights are, times those there were, the weights of their classes."""

    def __init__(self, source: Source, class_weight: dict[int, float]) -> None:
        classes = sorted(int(c) for c in class_weight)
        if classes != list(range(len(classes))):
            raise ValueError(
                "Expected `class_weight` to be a dict with keys from 0 to one less than the number of classes, found "
                f"{class_weight}"
            )
        super().__init__(source.steps)
        self._source, self.anew, self.rows = source, source.anew, source.rows
        self._table = np.asarray([class_weight[c] for c in classes], backend.floatx())

    def pass_over(self) -> None:
        self._source.pass_over()

    def epoch(self) -> Iterator[Batch]:
        for batch in self._source.epoch():
            x, y, weights = unpacked(batch)
            if y is None or isinstance(y, (list, tuple, dict)):
                raise ValueError("`class_weight` is only supported for Models with a single output and targets.")
            y = np.asarray(y)
            if y.ndim > 2:
                raise ValueError("`class_weight` not supported for 3+ dimensional targets.")
            numbers = y.argmax(axis=1) if y.ndim == 2 and y.shape[1] > 1 else y.reshape(-1).astype(np.int64)
            if numbers.size and (numbers.max() >= len(self._table) or numbers.min() < 0):
                raise ValueError(f"`class_weight` has no weight for class {int(numbers.max())}.")
            own = self._table[numbers]
            yield x, y, own if weights is None else own * np.asarray(weights)
        self.steps, self.ended = self._source.steps, self._source.ended


def ahead(items: Iterator[Any]) -> Iterator[Any]:
    """Yield the items; if they take their time, the next is prepared in a thread while this one is used."""
    quickest = 1.0
    for spent, first in itertools.islice(_timed(items), 4):
        quickest = min(quickest, spent)
        yield first
    if quickest < _QUICK:
        yield from items
        return
    end: Any = object()
    with ThreadPoolExecutor(1, thread_name_prefix="fastgraph-batches") as thread:
        coming = thread.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = thread.submit(next, items, end)
            yield item


def _timed(items: Iterator[Any]) -> Iterator[tuple[float, Any]]:
    while True:
        begun = time.perf_counter()
        try:
            item = next(items)
        except StopIteration:
            return
        yield time.perf_counter() - begun, item


def trimmed(x: Examples, y: Examples | None, weights: Examples | None) -> Batch:
    """Return what there is of (x, y, sample_weight)."""
    return (x, y, weights) if weights is not None else (x, y) if y is not None else (x,)


def packed(batch: Batch) -> Any:
    """Return a batch as steps get it: x by itself if there is nothing else and it is no list or tuple."""
    return batch[0] if len(batch) == 1 and not isinstance(batch[0], (list, tuple)) else batch


def unpacked(batch: Any) -> tuple[Any, Any, Any]:
    """Return x, y, sample_weight of a batch, None for what it does not have."""
    if not isinstance(batch, tuple):
        return batch, None, None
    return (*batch, None, None)[:3]


def split(x: Examples, y: Examples | None, weights: Examples | None, share: float) -> tuple[Any, Any]:
    """Return (x, y, weights) without the last `share` of the rows, and those. Raises ValueError for no arrays."""
    data = (x, y, weights)
    leaves = [leaf for leaf in nesting.flatten(data) if leaf is not None]
    if _kind(x) != "arrays":
        raise ValueError(
            "`validation_split` is only supported for Tensors or NumPy arrays, found following types in the input: "
            f"{[type(leaf) for leaf in leaves]}"
        )
    if not 0 < share < 1:
        raise ValueError(f"`validation_split` must be between 0 and 1, received: {share}")
    n = _rows(array_of(leaves[0]))
    at = int(n * (1.0 - share))
    if at in (0, n):
        raise ValueError(
            f"Training data contains {n} samples, which is not sufficient to split it into a validation and training "
            f"set as specified by `validation_split={share}`. Either provide more data, or a different value for the "
            "`validation_split` argument."
        )

    def part(of: slice) -> Any:
        return nesting.map_structure(lambda leaf: None if leaf is None else array_of(leaf)[of], data)

    return part(slice(0, at)), part(slice(at, n))


def array_of(value: Any) -> Any:
    """Return an array of what holds rows: floating ones in the default dtype, others as they are."""
    if value is None or (not isinstance(value, (np.ndarray, Tensor, Variable)) and not hasattr(value, "__array__")):
        return value if value is None else np.asarray(value)
    array = value.numpy() if isinstance(value, (Tensor, Variable)) else np.asarray(value)
    floating = array.dtype.kind == "f" and not isinstance(value, (Tensor, Variable))
    return array.astype(backend.floatx(), copy=False) if floating else array


def _kind(x: Any) -> str:
    if isinstance(x, Sequence):
        return "sequence"
    if hasattr(x, "element_spec") and hasattr(x, "cardinality"):
        return "dataset"
    if isinstance(x, Iterator):
        return "generator"
    if _are_scalars(x):
        raise ValueError(
            "Failed to find data adapter that can handle input: a list of Python numbers. Give a NumPy array of it: "
            "numpy.array(x)."
        )
    return "arrays"


def _are_scalars(x: Any) -> bool:
    leaves = nesting.flatten(x) if isinstance(x, (list, tuple)) else []
    return bool(leaves) and all(isinstance(leaf, (int, float, str, bytes)) for leaf in leaves)


def _rows(leaf: Any) -> int:
    if not np.ndim(leaf):
        raise ValueError(f"Expected arrays with rows, received a scalar: {leaf!r}")
    return len(leaf)


def _of_sequence(items: Any, shuffle: bool) -> Iterator[Any]:
    order = list(range(len(items)))
    if shuffle:
        random.shuffle(order)
    for index in order:
        yield items[index]
    items.on_epoch_end()
