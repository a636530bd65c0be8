"""tf.queue: queues of elements between threads, bounded, in the order of arrival, by priority, or shuffled.

Rule: a queue is a list under one lock; in a graph its operations run on the host, in program order.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, as_dtype, bool_, int32, int64
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.errors import CancelledError, InvalidArgumentError, OutOfRangeError, UnimplementedError
from fastgraph.ops.families import invalid, operation_made, shape_text
from fastgraph.ops.python_functions import host_call
from fastgraph.ops.random_states import first_state, generators


class _Store:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity if capacity >= 0 else 2**31 - 1
        self.rows: list[tuple[Any, ...]] = []
        self.closed = False
        self.cancelled = False
        self.changed = threading.Condition()


class QueueBase:
    """The base class of queues. Source: tf.queue.QueueBase."""

    _kind = "queue"

    def __init__(
        self, dtypes: Sequence[DType], shapes: Sequence[TensorShape] | None, names: Any, store: _Store
    ) -> None:
        self._dtypes, self._shapes, self._store = list(dtypes), shapes, store
        if names is not None and (not isinstance(names, list | tuple) or len(names) != len(self._dtypes)):
            raise ValueError(f"List of names must have the same length as the list of dtypes, got {names}")
        self._names = None if names is None else list(names)
        self._name = self._kind

    def _make(self, capacity: int, dtypes: Any, shapes: Any, names: Any, name: str, partly: bool = False) -> None:
        kinds = [as_dtype(each) for each in (dtypes if isinstance(dtypes, list | tuple) else [dtypes])]
        dims = None
        if shapes is not None:
            is_one = isinstance(shapes, TensorShape) or all(each is None or isinstance(each, int) for each in shapes)
            dims = [TensorShape(each) for each in ([shapes] if is_one else shapes)]
            if len(dims) != len(kinds):
                raise ValueError(
                    f"Queue shapes must have the same length as dtypes, received len(shapes)={len(dims)}, "
                    f"len(dtypes)={len(kinds)}"
                )
            if not partly and not all(each.is_fully_defined() for each in dims):
                raise ValueError(f"Shapes must be fully defined: {shapes}")
        QueueBase.__init__(self, kinds, dims, names, _Store(int(capacity)))
        self._name = name

    name = ReadOnly[str]("_name", "The name.")
    dtypes = ReadOnly[list[DType]]("_dtypes", "The dtypes of an element's components.")

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of an element's components."""
        return [TensorShape(None)] * len(self._dtypes) if self._shapes is None else list(self._shapes)

    names = ReadOnly[list[str] | None]("_names", "The names of an element's components, None if it is a list of them.")

    @property
    def queue_ref(self) -> Any:
        """The queue."""
        return self

    @staticmethod
    def from_list(index: Any, queues: Sequence[QueueBase]) -> QueueBase:
        """Return one of several queues of the same dtypes, by its number. Raises TypeError if they are not."""
        if not queues or not all(isinstance(each, QueueBase) for each in queues):
            raise TypeError("A list of queues expected")
        if any(each.dtypes != queues[0].dtypes for each in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(each.names != queues[0].names for each in queues):
            raise TypeError("Queues do not have matching component names.")
        return queues[int(index)]

    # ---- elements ---------------------------------------------------------------------------------------------------

    def _components(self, vals: Any) -> list[Any]:
        if isinstance(vals, dict):
            if self._names is None:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals.keys(), key=str):
                raise ValueError(f"Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                                 f"{sorted(vals.keys())},Queue: {sorted(self._names)}")  # fmt: skip
            vals = [vals[name] for name in self._names]
        elif self._names is not None:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, list | tuple):
            vals = [vals]
        if len(vals) != len(self._dtypes):
            raise ValueError(f"Unexpected input vals {vals}: {len(self._dtypes)} components are expected")
        return [convert_to_tensor(val, dtype) for val, dtype in zip(vals, self._dtypes, strict=True)]

    def _checked(self, tensor: Any, i: int, skip: int) -> None:
        if self._shapes is not None and not TensorShape(tensor.shape[skip:]).is_compatible_with(self._shapes[i]):
            wanted = ([tensor.shape[0]] if skip else []) + self._shapes[i].as_list()
            raise invalid(
                f"Shape mismatch in tuple component {i}. Expected {shape_text(wanted)}, got "
                f"{shape_text(tensor.shape.as_list())}"
            )

    def _given(self, parts: Sequence[Any]) -> Any:
        if self._names is not None:
            return dict(zip(self._names, parts, strict=True))
        return parts[0] if len(parts) == 1 else list(parts)

    def enqueue(self, vals: Any, name: str | None = None) -> Any:
        """Put one element in; wait while the queue is full. Raises CancelledError if it is closed."""
        tensors = self._components(vals)
        for i, tensor in enumerate(tensors):
            self._checked(tensor, i, 0)
        host_call(lambda *parts: self._put([parts]), tensors)
        return operation_made()

    def enqueue_many(self, vals: Any, name: str | None = None) -> Any:
        """Put elements in that lie along the first axis."""
        tensors = self._components(vals)
        for i, tensor in enumerate(tensors):
            if tensor.shape.rank == 0:
                raise ValueError(f"Shape must be at least rank 1 but is rank 0: component {i} of enqueue_many")
            self._checked(tensor, i, 1)
        host_call(lambda *parts: self._put(list(zip(*parts, strict=True))), tensors)
        return operation_made()

    def _put(self, rows: list[tuple[Any, ...]]) -> tuple[()]:
        store = self._store
        for row in rows:
            with store.changed:
                while len(store.rows) >= store.capacity and not store.closed:
                    store.changed.wait()
                if store.closed:
                    what = "cancelled" if store.cancelled else "closed"
                    raise CancelledError(None, None, f"{type(self).__name__} '{self._name}' is {what}.")
                self._insert(tuple([np.array(part) for part in row]))
                store.changed.notify_all()
        return ()

    def _insert(self, row: tuple[Any, ...]) -> None:
        self._store.rows.append(row)

    def _take(self) -> tuple[Any, ...]:
        return self._store.rows.pop(0)

    #: How many elements stay in an open queue.
    _reserve = 0

    def _taken(self, n: int, exact: bool) -> list[tuple[Any, ...]]:
        store = self._store
        if n < 0:
            raise InvalidArgumentError(None, None, f"{self._op} requested {n} < 0 elements")
        found: list[tuple[Any, ...]] = []
        with store.changed:
            while len(found) < n:
                if len(store.rows) > (0 if store.closed else self._reserve):
                    found.append(self._take())
                    store.changed.notify_all()
                elif store.closed:
                    break
                else:
                    store.changed.wait()
            if len(found) < n and (exact or not found):
                store.rows[:0] = found
                raise OutOfRangeError(
                    None, None,
                    f"{type(self).__name__} '{self._name}' is closed and has insufficient elements (requested {n}, "
                    f"current size {len(store.rows)})",
                )  # fmt: skip
        return found

    _op = "QueueDequeueMany"

    def dequeue(self, name: str | None = None) -> Any:
        """Take one element out; wait for one. Raises OutOfRangeError if the queue is closed and empty."""
        results = zip(self._dtypes, self.shapes, strict=True)
        return self._given(host_call(lambda: self._taken(1, True)[0], (), *results))

    def dequeue_many(self, n: TensorLike, name: str | None = None) -> Any:
        """Take n elements out, one behind the other along a new first axis."""
        return self._several(n, True)

    def dequeue_up_to(self, n: TensorLike, name: str | None = None) -> Any:
        """Take n elements out; of a closed queue those that are left."""
        return self._several(n, False)

    def _several(self, n: Any, exact: bool) -> Any:
        if not all(each.is_fully_defined() for each in self.shapes) and not self._pads:
            raise UnimplementedError(
                None, None, "All the components of a queue must have specified shapes to dequeue several elements"
            )
        count = convert_to_tensor(n, int32)
        rows = None if not exact or isinstance(n, bool) or not isinstance(n, int) else n
        results = [(dtype, [rows, *shape]) for dtype, shape in zip(self._dtypes, self.shapes, strict=True)]

        def take(n: Any) -> list[Any]:
            found = self._taken(int(n), exact)
            return [self._stacked([row[i] for row in found], i) for i in range(len(self._dtypes))]

        return self._given(host_call(take, [count], *results))

    _pads = False

    def _stacked(self, parts: list[Any], i: int) -> Any:
        dtype = object if self._dtypes[i].name == "string" else self._dtypes[i].as_numpy_dtype
        if not parts:
            return np.zeros((0, *[dim or 0 for dim in self.shapes[i]]), dtype)
        most = np.max([part.shape for part in parts], 0).astype(int) if parts[0].ndim else ()
        result = np.full((len(parts), *most), b"" if dtype is object else 0, dtype)
        for row, part in zip(result if parts[0].ndim else [], parts, strict=bool(parts[0].ndim)):
            row[tuple([slice(n) for n in part.shape])] = part
        if not parts[0].ndim:
            result[:] = [part[()] for part in parts]
        return result

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """Take no more elements in; what waits for room is given up if `cancel_pending_enqueues`."""

        def run() -> tuple[()]:
            with self._store.changed:
                self._store.closed = True
                self._store.cancelled = cancel_pending_enqueues
                self._store.changed.notify_all()
            return ()

        host_call(run, ())
        return operation_made()

    def is_closed(self, name: str | None = None) -> Tensor:
        """Return whether it is closed, as a tensor."""
        return host_call(lambda: [np.bool_(self._store.closed)], (), (bool_, ()))[0]

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements, as a tensor."""
        return host_call(lambda: [np.int32(len(self._store.rows))], (), (int32, ()))[0]


class FIFOQueue(QueueBase):
    """Elements come out in the order in which they went in. Source: tf.queue.FIFOQueue.

    Examples:
        >>> queue = tf.queue.FIFOQueue(3, [tf.int32])
        >>> queue.enqueue_many([[1, 2]])
        >>> int(queue.dequeue()), int(queue.size())
        (1, 1)
    """

    _kind = "fifo_queue"

    def __init__(self, capacity: int, dtypes: Any, shapes: Any = None, names: Any = None,
                 shared_name: str | None = None, name: str = "fifo_queue") -> None:  # fmt: skip
        self._make(capacity, dtypes, shapes, names, name)


class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue whose elements' extents may differ: several that come out are padded. Source: same name."""

    _kind, _pads = "padding_fifo_queue", True

    def __init__(self, capacity: int, dtypes: Any, shapes: Any, names: Any = None, shared_name: str | None = None,
                 name: str = "padding_fifo_queue") -> None:  # fmt: skip
        self._make(capacity, dtypes, shapes, names, name, partly=True)


class PriorityQueue(QueueBase):
    """The first component, an int64, says which element comes out next: that of the least. Source: same name."""

    _kind = "priority_queue"

    def __init__(self, capacity: int, types: Any, shapes: Any = None, names: Any = None, shared_name: str | None = None,
                 name: str = "priority_queue") -> None:  # fmt: skip
        kinds = [int64, *(types if isinstance(types, list | tuple) else [types])]
        dims = None if shapes is None else [(), *(shapes if isinstance(shapes, list) else [shapes])]
        self._make(capacity, kinds, dims, names, name)

    def _insert(self, row: tuple[Any, ...]) -> None:
        bisect.insort_right(self._store.rows, row, key=lambda each: int(each[0]))


class RandomShuffleQueue(QueueBase):
    """Elements come out in a random order; `min_after_dequeue` stay in while it is open. Source: same name."""

    _kind = "random_shuffle_queue"

    def __init__(self, capacity: int, min_after_dequeue: int, dtypes: Any, shapes: Any = None, names: Any =
                 None, seed: int | None = None, shared_name: str | None = None, name: str =
                 "random_shuffle_queue") -> None:  # fmt: skip
        self._make(capacity, dtypes, shapes, names, name)
        self._reserve = int(min_after_dequeue)
        state = first_state(generators.next_seeds() if seed is None else generators.seeds(seed))
        self._random = np.random.Generator(np.random.PCG64(state.view(np.uint64).tolist()))

    def _take(self) -> tuple[Any, ...]:
        rows = self._store.rows
        at = int(self._random.integers(len(rows)))
        rows[at], rows[-1] = rows[-1], rows[at]
        return rows.pop()
