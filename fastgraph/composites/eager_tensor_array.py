"""TensorArray: a list of tensors of one dtype, written and read by index.

Rule: the entries are tensors in a Python list, so that tapes see through it; an entry that was never written reads as
zeros once a shape is known.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fastgraph.composites.variable_shape_entries import parts_of
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, int32
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import Shape, ShapeLike, TensorShape, as_dims, compatible, dims_text
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.errors import OutOfRangeError, ResourceExhaustedError
from fastgraph.ops.arguments import as_tensor, known_value
from fastgraph.ops.creation import zeros
from fastgraph.ops.families import invalid
from fastgraph.ops.gathering import gather
from fastgraph.ops.joining import concat, split, stack, unstack

if TYPE_CHECKING:
    from fastgraph.composites.symbolic_tensor_array import TracedTensorArray


class _Cleared:
    """Stands for an entry that was read, and is not kept."""


class TensorArray:
    """A list of tensors of one dtype. Source: tf.TensorArray.

    dtype: of all entries. size: how many there are; dynamic_size: whether a write beyond them makes more.
    clear_after_read: whether an entry can be read once only (True). element_shape: what entries must be compatible
    with; where infer_shape is True the first one written says it. Each method that writes returns the TensorArray to go
    on with; in a graph only that one has the entry, and entries can be read again whatever clear_after_read says.
    Raises ValueError, InvalidArgumentError or OutOfRangeError as the methods say.
    """

    traced: ClassVar[type[TracedTensorArray]]  # the class of those that a graph under construction has

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        """Make one of the kind that fits: while a graph is built, a value of that graph."""
        if cls is TensorArray and current_trace() is not None:
            return object.__new__(cls.traced)
        return object.__new__(cls)

    def __init__(
        self,
        dtype: DTypeLike,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: ShapeLike = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is not None:
            raise ValueError("TensorArray handles are not supported when eager execution is enabled.")
        self._dtype = as_dtype(dtype)
        self._dynamic_size = bool(dynamic_size)
        self._clear_after_read = clear_after_read is None or bool(clear_after_read)
        self._infer_shape = infer_shape
        self._begin(size, as_dims(element_shape))

    def _begin(self, size: TensorLike, element: Shape) -> None:
        """Have `size` entries, none of them written."""
        if size is None:
            raise ValueError("Size must be declared for TensorArrays when eager execution is enabled.")
        self._element_shape: Shape = element
        count = _number(size, "size")
        if count < 0:
            raise invalid(f"The size of a TensorArray must be 0 or more, got {count}")
        self._entries: list[Any] = _unwritten(count)

    # Properties.

    dtype = ReadOnly[DType]("_dtype", "The dtype of its entries.")
    dynamic_size = ReadOnly[bool]("_dynamic_size", "True if a write beyond its end makes it longer.")

    @property
    def element_shape(self) -> TensorShape:
        """The shape with which those of its entries are compatible."""
        return TensorShape(self._element())

    def _element(self) -> Shape:
        """Return the shape of its entries, as far as it is known: a method, which the kinds of graphs have anew."""
        return self._element_shape

    @property
    def handle(self) -> None:
        """Nothing: the entries are in Python."""
        return None

    @property
    def _type_spec(self) -> Any:
        return self._now(True)._type_spec  # type: ignore[union-attr]

    def _parts(self) -> tuple[Any, ...]:
        """The tensors, as `_type_spec` takes it apart."""
        if not self._infer_shape and (self._element_shape is None or None in self._element_shape):
            pieces = parts_of(self._entries, self._dtype)
            return (*pieces, self.size()) if self._dynamic_size else pieces
        dims = self._element_shape
        begun = any(entry is not None for entry in self._entries)
        if begun or (self._entries and dims and None not in dims):
            whole = self.stack()
        else:  # nothing says how large an entry is: what is not known is 0 (ops/tensor_lists.py)
            element = (0,) if dims is None and self._entries else [n or 0 for n in dims or ()]
            whole = zeros((len(self._entries), *element), self._dtype)
        flag = convert_to_tensor(begun)
        return (whole, self.size(), flag) if self._dynamic_size else (whole, flag)

    @property
    def flow(self) -> Tensor:
        """A tensor that stands for the order of writes, which here is that of the program."""
        return convert_to_tensor(0, int32)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of entries. -> i32[]."""
        if (now := self._now()) is not None:
            return now.size(name=name)
        return convert_to_tensor(len(self._entries), int32)

    def identity(self) -> TensorArray:
        """Return a TensorArray of the same entries."""
        if (now := self._now()) is not None:
            return now.identity()
        return self

    def grad(self, source: object, flow: object = None, name: str | None = None) -> TensorArray:
        """Raise NotImplementedError: tapes see the entries."""
        raise NotImplementedError(
            "TensorArray.grad is not supported when executing eagerly; eager's gradient implementation does not use"
            "/need this function to compute gradients of operations that use TensorArrays."
        )

    # One entry.

    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Make `value` the entry `index`.

        Args:
            index: An integer scalar, from 0.
            value: A tensor of the entries' dtype and shape.

        Returns:
            The array with that entry: in a Function only this one has it.

        Raises:
            OutOfRangeError: The index is below 0, or beyond the end where the size is not dynamic.
            ValueError: The shape is another than that of the entries.
            InvalidArgumentError: The dtype is.

        Examples:
            >>> @tf.function
            ... def squares(n):
            ...     array = tf.TensorArray(tf.int32, size=n)
            ...     for i in tf.range(n):
            ...         array = array.write(i, i * i)
            ...     return array.stack()
            >>> squares(tf.constant(4)).numpy()
            array([0, 1, 4, 9], dtype=int32)
        """
        if (now := self._now()) is not None:
            return now.write(index, value, name=name)
        place = _number(index, "index")
        if place < 0:
            raise OutOfRangeError(None, None, f"Writing to negative indices (index {place}) is not allowed.")
        if place >= len(self._entries) and not self._dynamic_size:
            raise OutOfRangeError(
                None,
                None,
                f"Tried to write to index {place} but array is not resizeable and size is: {len(self._entries)} ",
            )
        entry = self._checked_entry(value)
        self._entries += _unwritten(place + 1 - len(self._entries))
        self._entries[place] = entry
        return self

    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """Return the entry `index`, which is then gone where entries are cleared after they were read.

        Raises OutOfRangeError for an index that is not there, InvalidArgumentError for an entry that was read before,
        ValueError for one that was never written while no shape is known.
        """
        if (now := self._now()) is not None:
            return now.read(index, name=name)
        place = _number(index, "index")
        if place < 0:
            raise OutOfRangeError(None, None, f"Reading from negative indices (index {place}) is not allowed.")
        if place >= len(self._entries):
            raise OutOfRangeError(
                None, None, f"Tried to read from index {place} but array size is: {len(self._entries)} "
            )
        entry = self._entry(place)
        if self._clear_after_read:
            self._entries[place] = _Cleared
        return entry

    # All of them.

    def stack(self, name: str | None = None) -> Tensor:
        """Return all entries along a new first axis. -> t[n, *element]. Raises ValueError where shapes differ."""
        if (now := self._now()) is not None:
            return now.stack(name=name)
        if not self._entries:
            element = self._element_shape or ()
            return zeros((0, *(() if None in element else element)), self._dtype)
        return stack([self._kept(i) for i in range(len(self._entries))], name=name)

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Return the entries that `indices` names along a new first axis. i[n] -> t[n, *element]."""
        if (now := self._now()) is not None:
            return now.gather(indices, name=name)
        places = known_value(as_tensor(indices))
        if places is None:
            return gather(self.stack(), indices, name=name)
        if places.dtype.kind not in "iu" and places.size:
            raise TypeError(f"The indices of a TensorArray are integers, got {indices!r}")
        for i in np.ravel(places):
            if not -len(self._entries) <= i < len(self._entries):
                raise OutOfRangeError(
                    None, None, f"Tried to read from index {i} but array size is: {len(self._entries)} "
                )
        return stack([self._kept(int(i)) for i in np.ravel(places)], name=name)

    def concat(self, name: str | None = None) -> Tensor:
        """Return all entries joined along their first axis. -> t[sum of n, *rest].

        Raises InvalidArgumentError for scalars.
        """
        if (now := self._now()) is not None:
            return now.concat(name=name)
        entries = [self._kept(i) for i in range(len(self._entries))]
        for place, entry in enumerate(entries):
            if entry.shape.rank == 0:
                raise invalid(f"Concat saw a scalar shape at index {place} but requires at least vectors.")
        return concat(entries, 0, name=name)

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Make the parts of `value` along its first axis the entries. t[n, *element].

        Raises ValueError for more parts than entries where the size is not dynamic.
        """
        if (now := self._now()) is not None:
            return now.unstack(value, name=name)
        parts = unstack(as_tensor(value, self._dtype), axis=0)
        if len(parts) > len(self._entries) and not self._dynamic_size:
            raise ValueError(
                f"Cannot unstack {len(parts)} tensors into a TensorArray of static size {len(self._entries)} "
            )
        self._replace(parts)
        return self

    def scatter(self, indices: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Write the parts of `value` to the entries that `indices` names. i[n], t[n, *element]."""
        if (now := self._now()) is not None:
            return now.scatter(indices, value, name=name)
        places = known_value(as_tensor(indices))
        if places is None:
            raise NotImplementedError("TensorArray.scatter takes indices that are known while a function is traced")
        parts = unstack(as_tensor(value, self._dtype), axis=0)
        if places.size != len(parts):
            raise invalid(f"Cannot scatter {len(parts)} tensors to {places.size} indices")
        for place, part in zip(np.ravel(places), parts, strict=True):
            self.write(int(place), part)
        return self

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Make pieces of `value` of these lengths along its first axis the entries. t[n, *rest], i[k].

        Raises InvalidArgumentError where the lengths do not fit the entries or `value`.
        """
        if (now := self._now()) is not None:
            return now.split(value, lengths, name=name)
        parts = self._pieces(as_tensor(value, self._dtype), lengths)
        self._infer_shape = self._infer_shape and len({part.shape[0] for part in parts}) <= 1
        del self._entries[len(parts) :]
        self._replace(parts)
        return self

    def close(self, name: str | None = None) -> None:
        """Forget all entries."""
        if (now := self._now()) is not None:
            now.close(name=name)
        else:
            self._entries = []

    # Inside.

    def _now(self, traced: bool = False) -> TensorArray | None:
        """Return what stands for it in the graph that is built, which writes do not change; None where it is eager.

        What a graph holds already says itself: its class has methods of its own, these are then called by their class.
        """
        if not traced and current_trace() is None:
            return None
        entries = [None if entry is _Cleared else entry for entry in self._entries]
        return self.traced.of(
            self._dtype, entries, self._dynamic_size, self._infer_shape, self._element_shape, current_trace()
        )

    def _pieces(self, whole: Tensor, lengths: TensorLike) -> list[Any]:
        """The pieces of `whole` of these lengths, as many as there are entries. Raises as `split` does."""
        given = known_value(as_tensor(lengths))
        if given is None:
            raise NotImplementedError("TensorArray.split takes lengths that are known while a function is traced")
        sizes = [int(n) for n in np.ravel(given)]
        if whole.shape.rank == 0:
            raise invalid("Expected value to be at least a vector, but received shape: []")
        if len(sizes) != len(self._entries) and not self._dynamic_size:
            raise invalid(
                f"TensorArray's size is not equal to the size of lengths ({len(self._entries)} vs. {len(sizes)}), and "
                "the TensorArray is not marked as dynamically resizeable."
            )
        if whole.shape[0] is not None and sum(sizes) != whole.shape[0]:
            raise invalid(
                f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {sum(sizes)} and "
                f"value's shape is: {whole.shape.as_list()} "
            )
        return split(whole, sizes) if sizes else []

    def _checked_entry(self, value: TensorLike) -> Tensor:
        """Return `value` as an entry. Raises InvalidArgumentError for another dtype, ValueError for another shape."""
        entry = value if isinstance(value, Tensor) else convert_to_tensor(value, self._dtype)
        if entry.dtype is not self._dtype:
            raise invalid(
                f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype {entry.dtype.name} "
            )
        self._expect(entry.aval.shape)
        return entry

    def _replace(self, parts: list[Any]) -> None:
        for part in parts:
            self._expect(part.aval.shape)
        self._entries[: len(parts)] = parts

    def _expect(self, dims: Shape) -> None:
        """Check the shape of an entry, and remember it where the first one says what all have."""
        if not compatible(self._element_shape, dims):
            raise ValueError(
                f"Incompatible shape for value ({dims_text(dims)}), expected ({dims_text(self._element_shape)})"
            )
        if self._infer_shape:
            self._element_shape = as_dims(TensorShape(self._element_shape).merge_with(TensorShape(dims)))

    def _kept(self, place: int) -> Any:
        """An entry among others: zeros for one that was read and is not kept, which an array of all may well have."""
        if self._entries[place] is _Cleared:
            self._entries[place] = None
        return self._entry(place)

    def _entry(self, place: int) -> Any:
        """An entry, zeros for one that was never written."""
        entry = self._entries[place]
        if entry is _Cleared:
            raise invalid(
                f"Could not read index {place} twice because it was cleared after a previous read (perhaps try setting "
                "clear_after_read = false?)"
            )
        if entry is None:
            dims = self._element_shape
            if dims is None or None in dims:
                raise ValueError(
                    f"Cannot read entry {place} of a TensorArray: it was never written, and its shape "
                    f"{dims_text(dims)} is not known; write it, or give element_shape."
                )
            entry = zeros(dims, self._dtype)
        return entry

    def __repr__(self) -> str:
        return f"<TensorArray of {len(self._entries)} entries, dtype={self._dtype.name}, {self.element_shape}>"


def _unwritten(count: int) -> list[None]:
    """Make so many entries that were never written. Raises ResourceExhaustedError where they find no room."""
    try:
        return [None] * count
    except (MemoryError, OverflowError):
        raise ResourceExhaustedError(None, None, f"Out of memory: a TensorArray of {count} entries") from None


def _number(value: TensorLike, what: str) -> int:
    """An index or size as an int. NotImplementedError for one that is known only when a graph runs."""
    if type(value) is int:
        return value
    tensor = as_tensor(value)
    found = known_value(tensor)
    if found is None:
        raise NotImplementedError(
            f"The {what} of a TensorArray must be known while a function is traced: give it as a Python int."
        )
    if not tensor.dtype.is_integer:
        raise TypeError(f"The {what} of a TensorArray is an integer, got {value!r}")
    return int(found)


_signature = inspect.signature(TensorArray.__init__)  # `__new__` takes anything, and would be what is shown
TensorArray.__signature__ = _signature.replace(parameters=[*_signature.parameters.values()][1:])  # type: ignore[attr-defined]
TensorArray.__fg_builtins__ = {len: lambda array: array.size()}  # type: ignore[attr-defined]
