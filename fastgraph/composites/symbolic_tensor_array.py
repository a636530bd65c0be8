"""TensorArrays while a graph is built: values, so that each write gives another one and the old one stays as it was.

Rule: as long as places are known and nothing takes the array as a whole, its entries are symbolic tensors in a tuple;
after that it is one buffer [n, *element] (`ops/tensor_lists.py`), which loops, branches and Functions carry as they
carry any tensor, with a flag that says whether anything was written: elements may be empty. What the elements' shape is
may be learnt from a write that comes after the buffer was made, or in another graph (a loop's body): `ListShape` then
tells all tensors that stand for the list.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, ClassVar

import numpy as np

from fastgraph._tape import user_place
from fastgraph.composites.eager_tensor_array import TensorArray
from fastgraph.composites.tensor_array_spec import TensorArraySpec, is_uneven
from fastgraph.composites.tensor_list_shape import ListShape, reaches
from fastgraph.core.base.dtype import DType, int32
from fastgraph.core.base.nesting import flatten
from fastgraph.core.base.shapes import Shape, TensorShape, as_dims, common_shape, compatible, dims_text
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor, convert, current_trace
from fastgraph.ops.arguments import as_tensor, known_value
from fastgraph.ops.comparison import equal, greater, invert, logical_or
from fastgraph.ops.creation import zeros
from fastgraph.ops.elementwise import cast, maximum
from fastgraph.ops.families import invalid
from fastgraph.ops.gathering import gather, where
from fastgraph.ops.joining import concat, stack, unstack
from fastgraph.ops.movement import reshape
from fastgraph.ops.movement import shape as shape_of_tensor
from fastgraph.ops.reduction import reduce_max
from fastgraph.ops.runtime_assertions import Assert
from fastgraph.ops.scatter import list_scatter
from fastgraph.ops.tensor_lists import (
    list_begin,
    list_blank,
    list_get,
    list_grow,
    list_push,
    list_push_begin,
    list_reserve,
    list_set,
    list_trim,
)

_MOST_ENTRIES = 2**20  # that are looked at one by one while a graph is built; more are one buffer from the first


def unify(a: TensorArray, b: TensorArray) -> None:
    """Let two that stand in the same place (of two branches, before and after an iteration) have one element shape.

    Raises TypeError for two that a graph holds in different ways.
    """
    if isinstance(a, TracedTensorArray) and isinstance(b, TracedTensorArray) and a._shape is not b._shape:
        kinds = [(each._dynamic_size, is_uneven(each._infer_shape, each._shape.element)) for each in (a, b)]
        if type(a) is not type(b) or kinds[0] != kinds[1]:
            raise TypeError(f"No common supertype of {a._type_spec} and {b._type_spec}.")
        fit = compatible(a._shape.element, b._shape.element)
        if not fit and not (a._infer_shape or kinds[0][1]):  # the one they have in common would be held another way
            raise TypeError(f"No common supertype of {a._type_spec} and {b._type_spec}.")
        if not fit or a._shape.rows != b._shape.rows:
            a._shape.common = b._shape.common = (common_shape(a._shape.element, b._shape.element),)
        if not fit:
            return
        if b._shape not in a._shape.alike:
            a._shape.alike.append(b._shape)
            b._shape.alike.append(a._shape)
        a._shape.given = b._shape.given = a._shape.given or b._shape.given
        a._shape.learn(b._shape.element)
        b._shape.learn(a._shape.element)
        for one, two in ((a._shape, b._shape), (b._shape, a._shape)):
            for rank in tuple(one.ranks):
                two.note_rank(rank)


def unify_all(first: object, second: object) -> None:
    """`unify` the TensorArrays in the same places of two structures."""
    for a, b in zip(flatten(first), flatten(second), strict=False):
        if isinstance(a, TensorArray) and isinstance(b, TensorArray):
            unify(a, b)


def follow(result: object, leaves: list[Any], outputs: list[Any]) -> None:
    """Let the outputs of a graph know what becomes known of the TensorArrays in its `result`."""
    for array in flatten(result):
        if isinstance(array, TracedTensorArray):
            known = {id(tensor) for tensor in array._shape.tensors}
            for leaf, output in zip(leaves, outputs, strict=True):
                if id(leaf) in known:
                    array._shape.add(output)


class TracedTensorArray(TensorArray):
    """A TensorArray of a graph under construction. See TensorArray, whose methods it has."""

    uneven: ClassVar[type[TracedTensorArray]]  # those whose entries may differ in shape
    _unused: tuple[Any, str] | None = None  # of what `write` gave and nobody has looked at: in which trace, and where

    def _begin(self, size: object, element: Shape) -> None:
        self._count: Any = None  # the number of entries of one that can grow, once it has a buffer
        self._buffer: Any = None
        self._begun: Any = False  # of what has a buffer: whether an entry was written, which says the shape of all
        self._entries: Any = None
        if size is None and self._dynamic_size:
            size = 0
        if size is None:
            raise ValueError("The size of a TensorArray must be given (size=...).")
        n = size if type(size) is int else _integer(size, "size")
        known = n if type(n) is int else known_value(n)
        rows = None if known is None else int(known)
        if rows is not None and rows < 0:
            raise invalid(f"The size of a TensorArray must be 0 or more, got {rows}")
        self._shape = ListShape(None if self._dynamic_size else rows, element, current_trace())
        if is_uneven(self._infer_shape, element):
            self._be_uneven()
        if rows is not None and rows <= _MOST_ENTRIES:
            self._entries = (None,) * rows
        else:
            self._set_unknown_size(n)

    def _be_uneven(self) -> None:
        """Let entries differ in shape."""
        self.__class__ = TracedTensorArray.uneven

    def _set_unknown_size(self, n: Any) -> None:
        """Have `n` entries, a number that only the graph knows."""
        self._set_buffer(self._reserve(n))
        self._count = cast(n, int32) if self._dynamic_size else None

    @classmethod
    def of(
        cls, dtype: DType, entries: list[Any], dynamic_size: bool, infer_shape: bool, element: Shape, trace: Any
    ) -> TracedTensorArray:
        """Return one with these entries, of which None were not written."""
        made: TracedTensorArray = cls.__new__(cls)
        made._dtype, made._dynamic_size, made._infer_shape = dtype, dynamic_size, infer_shape
        made._clear_after_read = False
        made._buffer = made._count = None
        made._begun = False
        made._entries = tuple(entries)
        made._shape = ListShape(None if dynamic_size else len(entries), element, trace)
        if is_uneven(infer_shape, element):
            made._be_uneven()
            for entry in entries:
                if entry is not None:
                    made._shape.note_rank(entry.shape.rank)
        return made

    def _become(self, spec: TensorArraySpec, buffer: Tensor, count: Tensor | None) -> None:
        """Be what a spec describes, with this buffer."""
        trace = getattr(buffer, "trace", None) or current_trace()
        self._dtype, self._dynamic_size, self._infer_shape = spec._dtype, spec._dynamic_size, spec._infer_shape
        self._clear_after_read = False
        self._entries = None
        self._count = count
        shape = spec._shape
        if shape is None or not shape.serves(trace):
            dims = buffer.aval.shape
            element = as_dims(spec._element_shape)
            rows = None if spec._dynamic_size or not dims else dims[0]
            shape = ListShape(rows, element if element is not None or dims is None else dims[1:], trace)
            shape.given = not shape.whole
        self._shape = shape
        self._set_buffer(buffer)

    # Properties.

    def _element(self) -> Any:
        return self._shape.element

    @property
    def flow(self) -> Any:
        """A tensor that stands for the writes so far: the entries themselves."""
        return self._buffer_here()

    @property
    def _type_spec(self) -> TensorArraySpec:
        common = self._shape.common
        element = self.element_shape if common is None else TensorShape(common[0])
        spec = TensorArraySpec(element, self._dtype, self._dynamic_size, self._infer_shape)
        spec._shape = self._shape if common is None else None
        return spec

    def size(self, name: str | None = None) -> Any:
        """Return the number of entries. -> i32[]."""
        self._unused = None
        if self._entries is not None:
            return convert(len(self._entries), int32)
        if self._count is not None:
            return self._count
        if self._shape.rows is not None:
            return convert(self._shape.rows, int32)
        return shape_of_tensor(self._buffer_here())[0]

    def identity(self) -> TensorArray:
        """Return a TensorArray of the same entries."""
        return self._copy()

    # One entry.

    def write(self, index: object, value: TensorLike, name: str | None = None) -> TensorArray:
        """Return the TensorArray with `value` as the entry `index`.

        Raises ValueError for another shape, InvalidArgumentError for another dtype than that of the entries and, when
        the graph runs, for an index that is not there.
        """
        at = _integer(index, "index")
        entry = self._checked_entry(value)
        made = self._copy()
        made._unused = None if _is_scratch(current_trace()) else (current_trace(), user_place())
        place = self._known(at)
        if place is not None and place < (1 << 20 if self._dynamic_size else len(self._entries)):
            entries = list(self._entries)
            entries += [None] * (place + 1 - len(entries))
            entries[place] = entry
            made._entries = tuple(entries)
            return made
        unused = made._unused
        made = made._written(at, entry)
        made._unused = unused
        return made

    def _written(self, at: Tensor, entry: object) -> TracedTensorArray:
        """Write to a place that only the graph knows, and return this one."""
        buffer = self._buffer_here()
        if self._dynamic_size:
            self._count = maximum(self._count, cast(at, int32) + 1)
        self._entries = None
        if self._shape.said or self._begun is True:
            self._set_buffer((list_push if self._dynamic_size else list_set)(buffer, at, entry))
        else:
            self._set_buffer((list_push_begin if self._dynamic_size else list_begin)(buffer, at, entry, self._begun))
        self._begun = True
        return self

    def read(self, index: object, name: str | None = None) -> Any:
        """Return the entry `index`; zeros of the others' shape for one that was never written.

        Raises InvalidArgumentError when the graph runs for an index that is not there, and where no entry was written
        and no shape is known.
        """
        at = _integer(index, "index")
        place = self._known(at)
        if place is not None and place < len(self._entries) and (
            self._entries[place] is not None or not self._has_blanks()
        ):  # fmt: skip
            return self._entry(place)
        buffer, n = self._buffer_here(), self.size()
        if not self._shape.said and self._begun is not True:  # perhaps nothing is ever written
            n = where(self._begun, n, invert(n))
        found = list_get(buffer, at, n)
        if self._shape.element is not None and self._infer_shape:
            found.set_shape(self._shape.element)
        return found

    # All of them.

    def stack(self, name: str | None = None) -> Any:
        """Return all entries along a new first axis. -> t[n, *element].

        Raises ValueError where shapes differ and, when the graph runs, InvalidArgumentError where no entry was written
        and no shape is known.
        """
        if self._entries is not None and (self._entries or self._shape.whole):
            if not self._entries:
                return zeros((0, *self._shape.element), self._dtype)  # type: ignore[misc]
            if not self._has_blanks():
                return stack([self._entry(i) for i in range(len(self._entries))], name=name)
        buffer_is_made = self._buffer is not None and self._entries is None
        if self._shape.element is None and (self._begun is False or not buffer_is_made):
            raise ValueError(
                "Tried to stack elements of an empty list with non-fully-defined element_shape: <unknown>: write an "
                "entry, or give element_shape"
            )
        return self._rows("stack")

    def gather(self, indices: object, name: str | None = None) -> Any:
        """Return the entries that `indices` names along a new first axis. i[n] -> t[n, *element]."""
        if isinstance(indices, (list, tuple)) and not indices:
            indices = zeros([0], int32)
        places = known_value(as_tensor(indices))
        numbers = [] if places is None or self._entries is None else [int(i) for i in np.ravel(places)]
        if numbers and all(0 <= i < len(self._entries) for i in numbers) and not self._has_blanks():
            return stack([self._entry(i) for i in numbers], name=name)
        return gather(self._rows("gather"), indices, name=name)

    def concat(self, name: str | None = None) -> Any:
        """Return all entries joined along their first axis. -> t[sum of n, *rest].

        Raises InvalidArgumentError for scalars.
        """
        if self._shape.element is not None and not self._shape.element:
            raise invalid("Concat requires elements to be at least vectors, found scalars instead.")
        if self._entries and not self._has_blanks():
            return concat([self._entry(i) for i in range(len(self._entries))], 0, name=name)
        rest = (None,) if self._shape.element is None else self._shape.element[1:]
        whole = self._rows("concat", none=None not in rest)
        dims = shape_of_tensor(whole)
        joined = reshape(whole, concat([reshape(dims[0] * dims[1], [1]), dims[2:]], 0), name)
        if self._shape.element is not None:
            n, first = self._shape.rows, self._shape.element[0]
            joined.set_shape((None if n is None or first is None else n * first, *self._shape.element[1:]))
        return joined

    def unstack(self, value: object, name: str | None = None) -> TensorArray:
        """Return a TensorArray whose entries are the parts of `value` along its first axis. t[n, *element].

        Raises ValueError for more parts than entries where the size is not dynamic.
        """
        whole = as_tensor(value, self._dtype)
        dims = whole.aval.shape
        made = self._copy()
        if dims is not None:
            self._expect(dims[1:])
        n = dims[0] if dims else None
        had = len(self._entries) if self._entries is not None else self._shape.rows
        if n is not None and had is not None and n > had and not self._dynamic_size:
            raise ValueError(f"Cannot unstack {n} tensors into a TensorArray of static size {had} ")
        if n is not None and self._entries is not None and n < len(self._entries):
            made._entries = (*unstack(whole, axis=0), *self._entries[n:])
            return made
        made._entries = None
        made._shape = ListShape(None if self._dynamic_size else n, self._shape.element, current_trace())
        made._shape.alike.append(self._shape)
        self._shape.alike.append(made._shape)
        made._count = shape_of_tensor(whole)[0] if self._dynamic_size else None
        # Where none grows from no rows, the first that is written may say another shape.
        made._begun = greater(made._count, 0) if self._dynamic_size and not n else True
        made._set_buffer(list_grow(whole, made._count - 1) if self._dynamic_size else whole)
        return made

    def scatter(self, indices: TensorLike, value: Any, name: str | None = None) -> TensorArray:
        """Return the TensorArray with the parts of `value` as the entries at `indices`. i[n], t[n, *element]."""
        at, whole = as_tensor(indices), as_tensor(value, self._dtype)
        places = known_value(at)
        if places is not None and self._entries is not None and whole.aval.shape and whole.aval.shape[0] is not None:
            made: TensorArray = self
            for place, part in zip(np.ravel(places), unstack(whole, axis=0), strict=True):
                made = made.write(int(place), part)
            return made
        dims = whole.aval.shape
        if dims is not None:
            self._expect(dims[1:])
        changed = self._copy()
        buffer = changed._buffer_here()
        changed._entries = None
        if self._dynamic_size:
            last = reduce_max(concat([cast(at, int32), convert([-1], int32)], 0))
            buffer = list_grow(buffer, last)
            self._shape.add(buffer)
            changed._count = maximum(changed._count, last + 1)
        if not self._shape.said and self._begun is not True:  # the first row says the shape of all
            buffer = list_begin(buffer, reshape(at, [-1])[0], whole[0], self._begun)
            self._shape.add(buffer)
        changed._begun = True
        changed._set_buffer(list_scatter(buffer, reshape(at, [-1, 1]), whole))
        return changed

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Return a TensorArray of pieces of `value` of these lengths along its first axis. t[n, *rest], i[k].

        Raises InvalidArgumentError where the lengths do not fit the entries or `value`.
        """
        whole, given = as_tensor(value, self._dtype), known_value(as_tensor(lengths))
        if given is None or self._entries is None:
            return self._split_later(whole, as_tensor(lengths), name)
        parts = self._pieces(whole, given)
        made = self._copy()
        made._infer_shape = self._infer_shape and len({int(n) for n in np.ravel(given)}) <= 1
        for part in parts:
            made._expect(part.aval.shape)
        made._entries = tuple(parts)
        if len({int(n) for n in np.ravel(given)}) > 1:
            made._shape = ListShape(self._shape.rows, None, current_trace())
            made._be_uneven()
        else:
            self._shape.learn(made._entries[0].aval.shape if made._entries else None)
        return made

    def _split_later(self, whole: Any, lengths: Any, name: str | None) -> TensorArray:
        """Split where only a run of the graph knows the lengths, or how many entries there are."""
        n, made = self.size(), self._copy()
        if not self._dynamic_size:
            Assert(
                equal(n, shape_of_tensor(lengths)[0]),
                ["TensorArray's size is not equal to the size of lengths, and the TensorArray is not marked as "
                 "dynamically resizeable:", n, shape_of_tensor(lengths)[0]],
            )  # fmt: skip
        made._shape = ListShape(self._shape.rows, None, current_trace())
        made._infer_shape = False
        made._be_uneven()
        made._set_unknown_size(n)
        return made.split(whole, lengths, name)

    def close(self, name: str | None = None) -> None:
        """Do nothing: the memory goes when the last use is over."""

    # Inside.

    def _copy(self) -> TracedTensorArray:
        self._unused = None
        made: TracedTensorArray = TracedTensorArray.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def _known(self, index: object) -> int | None:
        """The index as an int, where entries are in Python and it is known and not negative."""
        if self._entries is None:
            return None
        value = index if type(index) is int else known_value(index)
        return None if value is None or int(value) < 0 else int(value)

    def _expect(self, dims: Shape) -> None:
        """Check the shape of an entry, and remember it where the first one says what all have."""
        if not self._infer_shape and self._shape.element is None:
            if self._entries is None and dims is not None:
                self._shape.learn((None,) * len(dims))
            return
        if not compatible(self._shape.element, dims):
            raise ValueError(
                f"Incompatible shape for value ({dims_text(dims)}), expected ({dims_text(self._shape.element)})"
            )
        if self._infer_shape:
            self._shape.learn(dims)

    def _has_blanks(self) -> bool:
        """Return whether entries were not written whose shape only the graph knows, by those that were."""
        written = [entry is not None for entry in self._entries]
        return not self._shape.whole and any(written) and not all(written)

    def _entry(self, place: int) -> Any:
        self._unused = None
        entry = self._entries[place]
        if entry is None:
            if not self._shape.whole:
                raise ValueError(
                    f"Cannot read entry {place} of a TensorArray: it was never written, and its shape "
                    f"{dims_text(self._shape.element)} is not known; write it, or give element_shape."
                )
            entry = zeros(self._shape.element, self._dtype)
        return entry

    def _reserve(self, n: object) -> Any:
        name = self._dtype.name
        if self._shape.whole:
            return list_reserve(n, dtype=name, element=self._shape.element)
        return list_blank(n, dtype=name, element=self._shape.element)

    def _set_buffer(self, buffer: Tensor) -> None:
        self._buffer = buffer
        if hasattr(buffer, "value"):
            self._shape.add(buffer)

    def _buffer_here(self) -> Any:
        """The entries as one tensor, that of the trace which is active now."""
        self._unused = None
        trace: Any = current_trace()
        if self._buffer is not None and self._entries is None:
            if not hasattr(self._buffer, "value") or not reaches(trace, self._buffer.trace):
                return self._buffer  # an eager tensor; or somebody only asks what this was made of
            if trace is not self._buffer.trace:
                here = trace.tensor(trace.value_of(self._buffer))
                self._shape.add(here)
                return here
            return self._buffer
        n = len(self._entries)
        written = sum([entry is not None for entry in self._entries])
        if written:
            shapes = [entry.aval.shape for entry in self._entries if entry is not None]
            if len(set(shapes)) == 1 and shapes[0] is not None and None not in shapes[0]:
                self._shape.learn(shapes[0])
            # Of few, putting them among zeros is far less work.
            if written == n or (self._shape.whole and 2 * written >= n):
                buffer = stack([self._entry(i) for i in range(n)])
            else:
                buffer = self._reserve(convert(n, int32))
                self._shape.add(buffer)
                begun = self._shape.whole
                for i, entry in enumerate(self._entries):
                    if entry is not None:
                        buffer = list_set(buffer, i, entry) if begun else list_begin(buffer, i, entry, False)
                        begun = True
        else:
            buffer = self._reserve(convert(n, int32))
            if self._dynamic_size:
                self._shape.add(buffer)
        self._begun = written > 0
        count = None
        if self._dynamic_size:
            buffer, count = list_grow(buffer, convert(n - 1, int32)), convert(n, int32)
        if trace is self._shape.trace:
            self._entries, self._count = None, count
            self._set_buffer(buffer)
        else:
            self._shape.add(buffer)
            if count is not None:
                self._count = count
        return buffer

    def _rows(self, what: str, none: bool = False) -> Any:
        """All entries as one tensor, without the room for more. Stops the graph where no shape of them is known.

        `none`: there may be no entries.
        """
        buffer = self._buffer_here()
        if not self._shape.said and self._begun is not True:
            Assert(
                logical_or(self._begun, equal(self.size(), 0)) if none else self._begun,
                [f"Tried to {what} list which only contains uninitialized tensors and has a non-fully-defined "
                 f"element_shape: {dims_text(self._shape.element)}"],
            )  # fmt: skip
        if self._count is None:
            return buffer
        rows = list_trim(buffer, self._count)
        if self._shape.element is not None:
            rows.set_shape((None, *self._shape.element))
        return rows

    def __del__(self) -> None:
        if self._unused is not None and not sys.is_finalizing() and self._unused[0] is current_trace():
            warnings.warn(
                f"The result of TensorArray.write at {self._unused[1]} was never used, so nothing was written: in a "
                "graph a write gives another TensorArray. Write `ta = ta.write(index, value)`.",
                stacklevel=2,
            )

    def _now(self, traced: bool = False) -> TensorArray:
        return self

    def __repr__(self) -> str:
        return f"<TensorArray of a graph, dtype={self._dtype.name}, {self.element_shape}>"


def _is_scratch(trace: Any) -> bool:
    """Return whether what is traced is thrown away: somebody only wants to know its types."""
    while trace is not None and trace.graph.name != "scratch":
        trace = trace.outer
    return trace is not None


def _integer(value: object, what: str) -> Any:
    tensor = as_tensor(value, int32) if type(value) is int else as_tensor(value)
    if not tensor.dtype.is_integer:
        raise TypeError(f"The {what} of a TensorArray is an integer, got {value!r}")
    return tensor if tensor.dtype.name in ("int32", "int64") else cast(tensor, int32)


TensorArray.traced = TracedTensorArray
TensorArray.__fg_unify__ = staticmethod(unify)  # type: ignore[attr-defined]  # where two values of a name come together
