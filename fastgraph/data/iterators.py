"""Iterators: one pass over a dataset, eagerly and in graphs.

Rule: a pass has one state, whoever advances it: Python, a Function that takes it as an argument or captured it, another
thread. In a trace, advancing is a node that runs on every call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fastgraph.composites.sparse_ops import to_dense
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import string
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.tensor import Tensor, convert, current_trace, from_array
from fastgraph.data import dataset_ops
from fastgraph.data.element_specs import OfElements, packed
from fastgraph.data.handles import HANDLE, resolve
from fastgraph.data.optionals import Optional
from fastgraph.data.sources import Cursor
from fastgraph.errors import InvalidArgumentError, OutOfRangeError
from fastgraph.state.tracking import Trackable

_MOST_IN_A_GRAPH = 10_000


class IteratorBase(Iterator[Any]):
    """The base of all iterators of tf.data. Source: tf.data.Iterator."""

    _spec: Any

    element_spec = ReadOnly[Any]("_spec", "The spec of an element.")

    def get_next(self) -> Any:
        """Return the next element. Raises OutOfRangeError after the last."""
        raise NotImplementedError("Iterator.get_next()")

    def get_next_as_optional(self) -> Optional:
        """Return the next element as an Optional, an empty one after the last."""
        raise NotImplementedError("Iterator.get_next_as_optional()")


class SteppedIterator(Iterator[Any]):
    """The other ways to say `next(iterator)`."""

    def next(self) -> Any:
        """Return the next element. Raises StopIteration after the last."""
        return self.__next__()

    def get_next(self) -> Any:
        """Return the next element. Raises OutOfRangeError after the last."""
        try:
            return self.__next__()
        except StopIteration:
            raise OutOfRangeError(None, None, "End of sequence [Op:IteratorGetNext]") from None


class OwnedIterator(SteppedIterator, IteratorBase, Trackable):
    """A pass over a dataset: `iter(dataset)`. Source: tf.data.Iterator.

    In a checkpoint it is where it stands: restored, it begins anew, in the same random order, and goes there.
    """

    _legacy_saveable_name = "ITERATOR"

    def __init__(self, cursor: Cursor | None, spec: Any, symbolic: Any = None) -> None:
        self._cursor, self._spec, self._symbolic = cursor, spec, symbolic
        self._n_in_graphs = 0
        self.__fg_handled__: tuple[Any, Any] | None = None  # once there is a handle: (spec, handle)

    @property
    def _type_spec(self) -> IteratorSpec:
        return IteratorSpec(self._spec)

    @property
    def handle(self) -> Any:
        """The tensor by which graphs know it."""
        own = None if self._cursor is None else self._cursor.handle()  # asked in any case: a trace then keeps the pass
        if self._symbolic is not None:
            return self._symbolic
        self.__fg_handled__ = self._spec, own
        return own

    def __next__(self) -> Any:
        if current_trace() is None and self._cursor is not None:
            return packed(self._spec, self._cursor.take())
        return self._next_in_graph()

    def get_next_as_optional(self) -> Optional:
        """Return the next element as an Optional, an empty one after the last. Source: tf.data.Iterator."""
        if current_trace() is None and self._cursor is not None:
            try:
                return Optional(self._spec, convert(True), self._cursor.take())
            except StopIteration:
                return Optional.empty(self._spec)
        has_value, *components = dataset_ops.get_next_as_optional(self.handle, self._spec)
        return Optional(self._spec, has_value, components)

    def _next_in_graph(self) -> Any:
        self._n_in_graphs += 1
        if self._n_in_graphs > _MOST_IN_A_GRAPH:
            raise ValueError(
                f"A Python loop over a dataset was unrolled {_MOST_IN_A_GRAPH} times while tracing and would go on for "
                "ever: a graph does not know where the dataset ends. Let AutoGraph convert the loop (tf.function with "
                "autograph=True, source to be found), or use Dataset.reduce."
            )
        return packed(self._spec, dataset_ops.get_next(self.handle, self._spec))

    def _serialize_to_tensors(self) -> dict[str, Any]:
        """Return what a checkpoint keeps: a text, which is ours and not TensorFlow's."""
        if self._cursor is None:
            raise ValueError("An iterator that exists only when a graph runs cannot be saved.")
        return {"_STATE": from_array(np.array(self._cursor.state(), object), string)}

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> None:
        """Go where such a text says. Raises InvalidArgumentError for one of another dataset, or TensorFlow's."""
        if self._cursor is None:
            raise ValueError("An iterator that exists only when a graph runs cannot be restored.")
        try:
            self._cursor.go_to(restored_tensors["_STATE"].numpy())
        except (ValueError, TypeError, KeyError) as error:
            text = f"this is no state of an iterator over {self._spec}: {error}"
            raise InvalidArgumentError(None, None, text) from None

    def __fg_staged_for__(self) -> tuple[Any, Any]:
        """Return what a staged loop goes over: (is there another element, the next element), two functions."""
        return lambda: dataset_ops.has_next(self.handle), self._next_in_graph


class IteratorSpec(OfElements):
    """The type of an iterator, which the spec of its elements says. Source: tf.data.IteratorSpec."""

    __slots__ = ()

    @staticmethod
    def from_value(value: OwnedIterator) -> IteratorSpec:
        """Return the spec of an iterator."""
        return IteratorSpec(value.element_spec)

    @property
    def value_type(self) -> type:
        return OwnedIterator

    @property
    def _component_specs(self) -> Any:
        return HANDLE

    def _to_components(self, value: Any) -> Any:
        return value.handle

    def _from_components(self, components: object) -> OwnedIterator:
        cursor = found(components)
        return OwnedIterator(cursor, self._element_spec, components)


def found(handle: object) -> Any:
    """Return the object of an eager handle; None for one that exists only when the graph runs, or a spec."""
    return resolve(handle) if isinstance(handle, Tensor) and hasattr(handle, "numpy") else None


class NumpyIterator(Iterator[Any], Trackable):
    """The elements as NumPy arrays. Source: tf.data.NumpyIterator."""

    _legacy_saveable_name = "ITERATOR"

    def __init__(self, iterator: OwnedIterator) -> None:
        self._iterator = iterator

    def _serialize_to_tensors(self) -> dict[str, Any]:
        return self._iterator._serialize_to_tensors()

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> None:
        self._iterator._restore_from_tensors(restored_tensors)

    def __next__(self) -> Any:
        return nesting.map_structure(_as_numpy, next(self._iterator))

    def next(self) -> Any:
        """Return the next element. Raises StopIteration after the last."""
        return self.__next__()

    def save(self) -> Tensor:
        """Return where the pass is, for `restore`: string[]."""
        found: Tensor = self._iterator._serialize_to_tensors()["_STATE"]
        return found

    def restore(self, state: Any) -> None:
        """Go where `save` was called. Raises InvalidArgumentError for the state of another dataset."""
        self._iterator._restore_from_tensors({"_STATE": convert(state, string)})

    def __repr__(self) -> str:
        return f"NumpyIterator(iterator={self._iterator!r})"


def _as_numpy(leaf: object) -> Any:
    if isinstance(leaf, SparseTensor):
        leaf = to_dense(leaf)
    found: Any = leaf.numpy() if hasattr(leaf, "numpy") else leaf
    if isinstance(found, np.ndarray):
        found = found.view()
        found.setflags(write=False)
    return found
