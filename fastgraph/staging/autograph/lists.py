"""Lists that staged statements make longer or shorter: their elements are the rows of tensors.

Rule: such a list has a tensor for its length. A loop that only appends, as many elements in every iteration, stacks
what its iterations append (the list is then recorded); any other loop or branch carries the rows.
"""

from __future__ import annotations

import dis
import reprlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Self

from fastgraph import dtype as dtypes
from fastgraph import nesting
from fastgraph._tensor import Tensor, convert
from fastgraph.graph.loops import stacked_loop
from fastgraph.ops import comparison, elementwise, gathering, joining, movement, ranking, reduction
from fastgraph.ops.checks import Assert
from fastgraph.ops.creation import range_
from fastgraph.ops.padding import tile
from fastgraph.ops.tensor_lists import list_grow, list_set
from fastgraph.shapes import compatible
from fastgraph.staging.autograph.list_rows import ListRows, at_line
from fastgraph.staging.autograph.moved import Moved, current
from fastgraph.staging.autograph.rows import as_rows, empty_rows, fitted
from fastgraph.staging.autograph.state import in_state, same_structure, user_place


class StagedList(ListRows):
    """A list whose elements are the rows of tensors. See `list_rows`."""

    __hash__ = object.__hash__

    # -- as a list of Python's

    def append(self, value: Any) -> None:
        """Add an element at the end."""
        self._changes()
        if self.tracing:
            self.new.append(value)
        elif self.n_kept is not None:
            assert self.rows is not None
            leaves = [gathering.gather(row, 0) for row in self._stacked([value])]
            self.rows = [list_set(list_grow(row, self.n_kept), self.n_kept, leaf, in_order=self.name)
                         for row, leaf in zip(self.rows, leaves, strict=True)]  # fmt: skip
            self.n_kept = elementwise.add(self.n_kept, 1)
        else:
            self._put([value], lambda row: row, None)

    def extend(self, values: Any) -> None:
        """Add elements at the end: those of a list, or the rows of a tensor."""
        if isinstance(values, StagedList):
            added = values._known()
            pairs = list(zip(self._known(), added, strict=True))
            self._hold([joining.concat([fitted(a, b), fitted(b, a)], 0) for a, b in pairs])
        elif isinstance(values, Tensor):
            (row,) = self._known()
            self._hold([joining.concat([row, convert(values, row.dtype)], 0)])
        else:
            for value in list(values):
                self.append(value)

    def __iadd__(self, values: Any) -> Self:
        self.extend(values)
        return self

    def __add__(self, values: Any) -> StagedList:
        if not isinstance(values, (list, StagedList)):
            return NotImplemented
        result = self.copy()
        if any(None in (row.aval.shape or (None,))[1:] for row in result._known()):
            result.n_kept = result._n()  # the first element that is set says the shape of all
        result.extend(values)
        return result

    def __radd__(self, values: Any) -> Any:
        if not isinstance(values, list):
            return NotImplemented
        if type(values) is list and _assigns(sys._getframe(1)):
            extend(values, self)
            return current(values)
        result = self.copy()
        if values:
            result._put(values, lambda row: row[:0], lambda row: row)
        return result

    def __mul__(self, n: Any) -> StagedList:
        times = elementwise.maximum(convert(n, dtypes.int32) if isinstance(n, int) else convert(n), 0)
        rows = []
        for row in self._known():
            ones = [1] * (row.shape.rank - 1)
            rows.append(tile(row, joining.concat([movement.reshape(times, [1]), convert(ones, times.dtype)], 0)
                                      if ones else movement.reshape(times, [1])))  # fmt: skip
        result: StagedList = self._like(rows)
        return result

    __rmul__ = __mul__

    def __imul__(self, n: Any) -> Self:
        self._hold((self * n)._known())
        return self

    def insert(self, index: Any, value: Any) -> None:
        """Add an element before the one at `index`, at an end where that is beyond it."""
        n = self._n()
        at = elementwise.minimum(elementwise.maximum(self._place(index), 0), n)
        self._put([value], lambda row: row[:at], lambda row: row[at:])

    def pop(self, index: Any = -1) -> Any:
        """Remove an element and return it. Raises InvalidArgumentError at run time for one that is not there."""
        last = isinstance(index, int) and index == -1
        found = self[index]
        n = self._n()
        at = elementwise.cast(convert(index), n.dtype)
        within = comparison.logical_and(comparison.less(at, n), comparison.greater_equal(at, -n))
        Assert(within, [f"pop from the list '{self.name}'{at_line()}: no element", index, "of", n])
        if last and self.n_kept is not None:
            self._changes()
            self.n_kept = elementwise.subtract(self.n_kept, 1)
            return found
        at = self._place(index)
        self._cut(lambda row: row[: -1 if last else at], None if last else lambda row: row[at + 1 :])
        return found

    def copy(self) -> StagedList:
        """Return another list of the same elements."""
        return StagedList(self.name, self.structure, self._known())

    def _like(self, rows: Sequence[Any]) -> Any:
        """Return one of these rows, of the same class."""
        return type(self)(self.name, self.structure, rows)

    def clear(self) -> None:
        """Remove all elements."""
        self._cut(lambda row: row[:0], None)

    def reverse(self) -> None:
        """Put the elements in the opposite order."""
        self._cut(lambda row: row[::-1], None)

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        """Put the elements in order, equal ones as they were. `key` gives what to compare by."""
        keys: Any = self if key is None else mapped(self.length(), lambda i: key(self.row(i)), self.name)
        by = convert(keys)
        if by.shape.rank not in (None, 1):
            raise ValueError(f"the list '{self.name}' is sorted{at_line()} by what has no order, {by}: sort by a key")
        order = ranking.argsort(by, direction="DESCENDING" if reverse else "ASCENDING", stable=True)
        self._hold([gathering.gather(row, order) for row in self._known()])

    # -- what functions that take a list of tensors, and find this in its place, ask for

    def __fg_stacked__(self, axis: int) -> Any:
        """Return tf.stack of the elements."""
        rows = convert(self)
        if rows.shape.rank is None and axis == 0:
            return rows
        rank = int(rows.shape.rank or 0)
        if not -rank <= axis < rank:
            raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
        return _first_axis_to(rows, axis % rank)

    def __fg_joined__(self, axis: Any) -> Any:
        """Return tf.concat of the elements."""
        rows = convert(self)
        rank = int(rows.shape.rank or 1) - 1  # of an element
        if type(axis) is not int or not -rank <= axis < rank:
            raise ValueError(f"concat of the list '{self.name}' ({user_place()}): its elements have rank {rank}, and "
                             f"the axis is {axis}")  # fmt: skip
        axis %= rank
        along = _first_axis_to(rows, axis)
        dims = movement.shape(along)
        joined = joining.concat([dims[:axis], movement.reshape(dims[axis] * dims[axis + 1], [1]), dims[axis + 2 :]], 0)
        return movement.reshape(along, joined)

    def __fg_summed__(self) -> Any:
        """Return tf.add_n of the elements."""
        return reduction.reduce_sum(convert(self), 0)

    # -- compared

    def _other(self, value: Any) -> StagedList | None:
        """Return a list to compare with by rows; None for one that holds what no element is equal to."""
        if isinstance(value, StagedList):
            same = same_structure(self.structure, value.structure) is None
            return value if same and all(a.dtype == b.dtype for a, b in self._pairs(value)) else None
        try:
            return StagedList(self.name, self.structure, self._stacked(value)) if value else self[:0]
        except (TypeError, ValueError):
            return None

    def _pairs(self, other: StagedList) -> Any:
        return zip(self._known(), other._known(), strict=True)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, (StagedList, tuple if isinstance(self, StagedTuple) else list)) or (
            isinstance(other, StagedTuple) != isinstance(self, StagedTuple) and isinstance(other, StagedList)
        ):  # fmt: skip
            return False
        if other is self:
            return True
        self._known()
        found = self._other(other)
        if found is None:  # equal where neither has an element
            return comparison.equal(self._n(), 0) if isinstance(other, StagedList) and len(other) == 0 else False
        n, m = (elementwise.cast(convert(each.length()), dtypes.int64) for each in (self, found))
        result = comparison.equal(n, m)
        least = elementwise.minimum(n, m)
        for a, b in self._pairs(found):
            if compatible(a.aval.shape and a.aval.shape[1:], b.aval.shape and b.aval.shape[1:]):
                same = reduction.reduce_all(comparison.equal(a[:least], b[:least]))
            else:
                same = comparison.equal(least, 0)
            result = comparison.logical_and(result, same)
        return result

    def __ne__(self, other: object) -> Any:
        same = self == other
        return not same if isinstance(same, bool) else comparison.logical_not(same)

    def _order(self, other: Any) -> NoReturn:
        raise self._unsupported("comparing the order of elements (<, <=, >, >=)")

    __lt__ = __le__ = __gt__ = __ge__ = _order

    def _equal_to(self, value: Any) -> Any:
        """Return for each element whether it is `value`. bool[n]."""
        found: Any = None
        for row, one in zip(self._known(), self._stacked([value]), strict=True):
            same = comparison.equal(row, one)
            if row.shape.rank != 1:
                same = reduction.reduce_all(same, list(range(1, row.shape.rank)))
            found = same if found is None else comparison.logical_and(found, same)
        return found

    def count(self, value: Any) -> Any:
        """Return how many elements are equal to `value`."""
        return reduction.reduce_sum(elementwise.cast(self._equal_to(value), dtypes.int32))

    def index(self, value: Any, *limits: Any) -> Any:
        """Return where the first element equal to `value` is. Raises InvalidArgumentError at run time without one."""
        if limits:
            raise self._unsupported("index() with limits")
        equal = elementwise.cast(self._equal_to(value), dtypes.int32)
        n = reduction.reduce_sum(equal)
        Assert(comparison.greater(n, 0), [f"no element of the list '{self.name}'{at_line()} is", value])
        return reduction.argmax(joining.concat([equal, convert([1])], 0), 0, output_type=dtypes.int32)

    def remove(self, value: Any) -> None:
        """Remove the first element equal to `value`. Raises InvalidArgumentError at run time without one."""
        self.pop(self.index(value))

    def __delitem__(self, index: Any) -> None:
        if isinstance(index, slice):
            start, stop = self._bounds(index, "del of a slice with a step")
            self._cut(lambda row: row[:start], lambda row: row[stop:])
        else:
            self.pop(index)

    def _set_slice(self, index: slice, values: Any) -> None:
        """Put the elements of a list, or the rows of a tensor, in the place of those of a slice."""
        start, stop = self._bounds(index, "assigning to a slice with a step")
        new = self[:0]
        new.extend(values)
        pairs = list(zip(self._known(), new._known(), strict=True))
        pairs = [(fitted(row, added), fitted(added, row)) for row, added in pairs]
        self._hold([joining.concat([row[:start], added, row[stop:]], 0) for row, added in pairs])

    def _bounds(self, index: slice, what: str) -> tuple[Any, Any]:
        """Return where a slice begins and ends. Raises NotImplementedError, saying `what`, for one with a step."""
        if index.step not in (None, 1):
            raise self._unsupported(what)
        n = self._n()
        start, stop = (self._bound(bound, n, default) for bound, default in ((index.start, 0), (index.stop, n)))
        return start, elementwise.maximum(start, stop)

    def _bound(self, bound: Any, n: Any, default: Any) -> Any:
        if bound is None:
            return convert(default, dtypes.int32)
        return elementwise.minimum(elementwise.maximum(self._place(bound), 0), n)

    def __getitem__(self, index: Any) -> Any:
        if in_state():
            return None  # the list is carried as a whole
        if isinstance(index, slice):
            return self._like([row[index] for row in self._known()])
        self._known()
        return self._read(index, lambda: self.row(self._place(index)))

    def __setitem__(self, index: Any, value: Any) -> None:
        if in_state():
            return
        if isinstance(index, slice):
            self._set_slice(index, value)
            return
        # This stops the graph where there is no such element.
        at = gathering.gather(range_(self._n()), self._place(index))
        self._put([value], lambda row: row[:at], lambda row: row[at + 1 :])

    def __len__(self) -> int:
        size = self._known()[0].shape[0]
        if size is None:
            raise TypeError(
                f"the length of '{self.name}', which a staged loop or branch has changed, is a tensor, and Python "
                f"itself wants to know it{at_line()}: use len({self.name}) in code that AutoGraph converts"
            )
        return int(size)

    def __iter__(self) -> Any:
        if self._known()[0].shape[0] is None:
            raise TypeError(
                f"Python itself cannot take the elements of '{self.name}' one by one{at_line()}, for a staged loop or "
                f"branch has changed its length, which is a tensor: loop over it by a for statement or a list "
                f"comprehension in code that AutoGraph converts, or stack it, tf.stack({self.name})"
            )
        return iter([self.row(i) for i in range(len(self))])

    def __bool__(self) -> bool:
        return len(self) > 0

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(list, name):
            raise self._unsupported(f"{name}()")
        raise AttributeError(f"'list' object has no attribute {name!r}")

    def _unsupported(self, what: str) -> NotImplementedError:
        return NotImplementedError(
            f"{what} of the list '{self.name}'{at_line()}: a staged loop or branch changes its length, so that its "
            "elements are the rows of a tensor. It can be appended to, extended, inserted to, popped from, indexed, "
            f"sliced, looped over, and stacked: tf.stack({self.name})."
        )

    def __repr__(self) -> str:
        return f"<list '{self.name}' of a staged loop>"


#: The instruction of `a += b`: for a list of Python's on the left it is its right side that Python asks first.
_IN_PLACE = next(
    bytes((step.opcode, step.arg or 0)) for step in dis.get_instructions(compile("a += b", "", "exec"))
    if step.opname in ("BINARY_OP", "INPLACE_ADD")
)  # fmt: skip


def _assigns(frame: Any) -> bool:
    """Say whether a frame is at an augmented assignment by +=."""
    at = frame.f_lasti
    return bool(frame.f_code.co_code[at : at + 2] == _IN_PLACE)


def _first_axis_to(rows: Any, axis: int) -> Any:
    order = [*range(1, axis + 1), 0, *range(axis + 1, int(rows.shape.rank or 0))]
    return movement.transpose(rows, order) if axis else rows


class StagedTuple(StagedList):
    """A tuple of a list's elements."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(f"a tuple of the list '{self.name}' cannot be changed{at_line()}")

    append = extend = insert = pop = clear = reverse = sort = remove = _refuse
    __setitem__ = __delitem__ = _refuse

    def __add__(self, values: Any) -> Any:
        if not isinstance(values, (tuple, StagedTuple)):
            return NotImplemented
        return as_tuple(StagedList.copy(self) + (values.copy() if isinstance(values, StagedTuple) else list(values)))

    def __radd__(self, values: Any) -> Any:
        return as_tuple(list(values) + StagedList.copy(self)) if isinstance(values, tuple) else NotImplemented

    def __iadd__(self, values: Any) -> Any:
        return self + values

    def __imul__(self, n: Any) -> Any:
        return self * n


def as_tuple(values: StagedList) -> StagedTuple:
    """Return a tuple of the elements."""
    return StagedTuple(values.name, values.structure, values._known())


def may_be_rows(*values: Any) -> bool:
    """Say whether values are all lists, or all tuples, of Python's or staged."""
    return any(all(isinstance(each, StagedTuple if kind is tuple else StagedList) or type(each) is kind
                   for each in values) for kind in (list, tuple))  # fmt: skip


def lists_differ(a: Any, b: Any) -> bool:
    """Say whether two of which `may_be_rows` holds differ in length, as far as only the graph may know it."""
    return a is not b and (any(isinstance(each, StagedList) for each in (a, b)) or len(a) != len(b))


def _class_of(values: StagedList) -> type[StagedList]:
    return StagedTuple if isinstance(values, StagedTuple) else StagedList


def as_list(value: Any, other: Any, name: str) -> StagedList:
    """Return a list or staged list as a staged one. Raises TypeError where its elements cannot be rows.

    `other` is what the name holds elsewhere, which tells of what an empty list is.
    """
    if isinstance(value, StagedList):
        return _class_of(value)(name, value.structure, value._known())
    if not value and isinstance(other, StagedList):
        shapes = [(row.dtype, row.aval.shape[1:]) for row in other._rows_anywhere()]
        return _class_of(other)(name, other.structure, [empty_rows(dtype, shape) for dtype, shape in shapes])
    made = as_rows(value, None if value or not other else other[0], name)
    if made is None:
        raise TypeError(
            f"the elements of the list '{name}'{at_line()}, whose length a tensor decides, must be tensors alike in "
            f"structure, dtype and shape: {reprlib.repr(value)}"
        )
    return (StagedTuple if isinstance(value, tuple) else StagedList)(name, *made)


def as_staged(values: list[Any], other: StagedList) -> StagedList:
    """Return what stands for a list of Python's from now on, a staged one of elements like those of `other`."""
    if type(current(values)) is list:
        values[:] = [Moved(other.name, as_list(values, other, other.name))]
    found: StagedList = current(values)
    return found


def extend(values: list[Any], more: Any) -> None:
    """values.extend(more) of a list of Python's, which becomes a staged one if it gets the elements of such."""
    (as_staged(values, more) if isinstance(more, StagedList) else current(values)).extend(more)


def mapped(n: Any, element: Callable[[Any], Any], name: str) -> StagedList:
    """Return the list of element(i) for i < n. Raises TypeError where the elements are no tensors."""
    structure: list[Any] = []

    def step(i: Any) -> Any:
        value = element(i)
        structure[:] = [value]
        return (), [convert(leaf) for leaf in nesting.flatten(value)]

    n = elementwise.cast(convert(n), dtypes.int32)
    _, rows = stacked_loop(n, step, (), "map")
    return StagedList(name, structure[0], rows)
