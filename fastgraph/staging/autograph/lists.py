"""Lists that staged statements make longer or shorter: their elements are the rows of tensors.

Rule: such a list has a tensor for its length. A loop that only appends, as many elements in every iteration, stacks
what its iterations append (the list is then recorded); any other loop or branch carries the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Self

from fastgraph import dtype as dtypes
from fastgraph import nesting
from fastgraph._tensor import Tensor, convert
from fastgraph.ops import creation, elementwise, gathering, joining, movement
from fastgraph.ops.checks import Assert
from fastgraph.ops.tensor_lists import list_get, list_grow, list_set
from fastgraph.staging.autograph.state import in_state, is_tensor, same_structure, user_place


class StagedList:
    """A list whose elements are the rows of tensors.

    `rows` are the elements' flat tensors, stacked; `structure` is that of an element. While the elements that a loop
    appends are being recorded `rows` is None, `new` holds them, and `on_read` is called where anything else is done.
    """

    __fg_staged_list__ = True
    __hash__ = object.__hash__

    def __init__(
        self,
        name: str,
        structure: Any = None,
        rows: Sequence[Any] | None = None,
        on_read: Callable[[], NoReturn] | None = None,
        origin: Any = None,
        count: Any = None,
    ) -> None:
        self.name = name
        self.structure = structure
        self.rows = rows
        # How many of the rows there are; None: all. Rows with room for more are not copied by append.
        self.n_kept = count
        self.tracing = rows is None
        self.new: list[Any] = []
        self.on_read = on_read
        self.origin = origin  # the list of Python's that this stands for

    # -- as a container that blocks change

    def held(self) -> Any:
        """Return what it holds: the elements that were recorded, or the rows by their numbers."""
        if self.tracing:
            return list(self.new)
        assert self.rows is not None
        held = {f"{k:03d}": row for k, row in enumerate(self.rows)}
        return held if self.n_kept is None else {**held, "count": self.n_kept}

    def update(self, held: Any) -> None:
        """Hold what `held` has returned."""
        if self.tracing:
            self.new[:] = held
        else:
            self.rows = [row for key, row in held.items() if key != "count"]
            self.n_kept = held.get("count")

    @staticmethod
    def shapes_of(held: Any) -> list[Any]:
        """Return the shapes of rows whose number may change."""
        shapes = [row.aval.shape for row in held.values()]
        return [(None, *shape[1:]) if shape else shape for shape in shapes]

    # -- the elements as tensors

    def _known(self) -> Sequence[Any]:
        if self.rows is None:
            assert self.on_read is not None
            self.on_read()
        return self.rows if self.n_kept is None else [row[: self.n_kept] for row in self.rows]

    def _n(self) -> Any:
        """Return the number of elements as a tensor."""
        return movement.shape(self._known()[0])[0] if self.n_kept is None else self.n_kept

    def _hold(self, rows: Sequence[Any]) -> None:
        """Hold these rows, all of them."""
        self.rows = list(rows)
        if self.n_kept is not None:
            self.n_kept = movement.shape(rows[0])[0]

    def _stacked(self, values: Sequence[Any]) -> list[Any]:
        """Return the elements `values` as rows. Raises ValueError, naming the list, where they are not like its own."""
        columns: list[list[Any]] = [[] for _ in self._known()]
        for value in values:
            difference = same_structure(self.structure, value)
            if difference is not None:
                raise ValueError(f"the elements of '{self.name}' must be alike{_line()}: {difference}")
            for column, leaf, row in zip(columns, nesting.flatten(value), self._known(), strict=True):
                column.append(convert(leaf) if hasattr(leaf, "dtype") else convert(leaf, row.dtype))
                if column[-1].dtype != row.dtype:
                    raise TypeError(
                        f"the elements of '{self.name}' have dtype {row.dtype.name}, and one that is added has dtype "
                        f"{column[-1].dtype.name}{_line()}"
                    )
        return [joining.stack(column) for column in columns]

    def _put(self, values: Sequence[Any], before: Callable[[Any], Any], after: Callable[[Any], Any] | None) -> None:
        """Hold the rows that `before` leaves, the elements `values`, and the rows that `after` leaves."""
        rows = []
        for row, new in zip(self._known(), self._stacked(values), strict=True):
            parts = [before(row), new, *([] if after is None else [after(row)])]
            rows.append(joining.concat(parts, 0))
        self._hold(rows)

    def _cut(self, before: Callable[[Any], Any], after: Callable[[Any], Any] | None) -> None:
        """Hold the rows that `before` and `after` leave."""
        self._hold(
            [before(row) if after is None else joining.concat([before(row), after(row)], 0) for row in self._known()]
        )

    def _place(self, index: Any) -> Any:
        """Return an index from the list's begin on, checked when the graph runs by what uses it."""
        at = convert(index, dtypes.int32) if isinstance(index, int) else elementwise.cast(convert(index), dtypes.int32)
        n = self._n()
        if isinstance(index, int):
            return at + n if index < 0 else at
        return elementwise.add(at, elementwise.multiply(n, elementwise.cast(elementwise.less(at, 0), dtypes.int32)))

    def _element(self, tensors: Sequence[Any]) -> Any:
        return nesting.pack_sequence_as(self.structure, list(tensors)) if nesting.is_nested(self.structure) else (
            tensors[0])  # fmt: skip

    def length(self) -> Any:
        """Return the number of elements, as a tensor where the graph alone can tell."""
        size = None if self.n_kept is not None else self._known()[0].shape[0]
        return self._n() if size is None else size

    def truth(self) -> Any:
        """Say whether there is an element."""
        return elementwise.greater(convert(self.length()), 0)

    def row(self, i: Any) -> Any:
        """Return the i-th element."""
        if self.n_kept is None or self.rows is None:
            return self._element([gathering.gather(row, i) for row in self._known()])
        at = elementwise.cast(convert(i), dtypes.int32)
        return self._element([list_get(row, at, self.n_kept) for row in self.rows])

    def __fg_tensor__(self, dtype: Any = None) -> Any:
        rows = self._known()
        if len(rows) != 1 or nesting.is_nested(self.structure):
            raise TypeError(f"the elements of '{self.name}' are structures, not tensors that can be stacked")
        return rows[0] if dtype is None or rows[0].dtype == dtype else convert(rows[0], dtype)

    # -- as a list of Python's

    def append(self, value: Any) -> None:
        """Add an element at the end."""
        if self.tracing:
            self.new.append(value)
        elif self.n_kept is not None:
            assert self.rows is not None
            leaves = [gathering.gather(row, 0) for row in self._stacked([value])]
            self.rows = [list_set(list_grow(row, self.n_kept), self.n_kept, leaf)
                         for row, leaf in zip(self.rows, leaves, strict=True)]  # fmt: skip
            self.n_kept = elementwise.add(self.n_kept, 1)
        else:
            self._put([value], lambda row: row, None)

    def extend(self, values: Any) -> None:
        """Add elements at the end: those of a list, or the rows of a tensor."""
        if isinstance(values, StagedList):
            added = values._known()
            self._hold([joining.concat([a, b], 0) for a, b in zip(self._known(), added, strict=True)])
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
        result = self.copy()
        result.extend(values)
        return result

    def __mul__(self, n: Any) -> NoReturn:
        raise self._unsupported("*")

    __rmul__ = __mul__

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
        within = elementwise.logical_and(elementwise.less(at, n), elementwise.greater_equal(at, -n))
        Assert(within, [f"pop from the list '{self.name}'{_line()}: no element", index, "of", n])
        if last and self.n_kept is not None:
            self.n_kept = elementwise.subtract(self.n_kept, 1)
            return found
        at = self._place(index)
        self._cut(lambda row: row[: -1 if last else at], None if last else lambda row: row[at + 1 :])
        return found

    def copy(self) -> StagedList:
        """Return another list of the same elements."""
        return StagedList(self.name, self.structure, self._known())

    def clear(self) -> None:
        """Remove all elements."""
        self._cut(lambda row: row[:0], None)

    def reverse(self) -> None:
        """Put the elements in the opposite order."""
        self._cut(lambda row: row[::-1], None)

    def __delitem__(self, index: Any) -> None:
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise self._unsupported("del of a slice with a step")
            n = self._n()
            start, stop = (self._bound(bound, n, default) for bound, default in ((index.start, 0), (index.stop, n)))
            stop = elementwise.maximum(start, stop)
            self._cut(lambda row: row[:start], lambda row: row[stop:])
        else:
            self.pop(index)

    def _bound(self, bound: Any, n: Any, default: Any) -> Any:
        if bound is None:
            return convert(default, dtypes.int32)
        return elementwise.minimum(elementwise.maximum(self._place(bound), 0), n)

    def __getitem__(self, index: Any) -> Any:
        if in_state():
            return None  # the list is carried as a whole
        if isinstance(index, slice):
            return StagedList(self.name, self.structure, [row[index] for row in self._known()])
        self._known()
        return self.row(self._place(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if in_state():
            return
        if isinstance(index, slice):
            raise self._unsupported("assigning to a slice")
        at = self._place(index)
        self.row(at)  # stops the graph where there is no such element
        self._put([value], lambda row: row[:at], lambda row: row[at + 1 :])

    def __len__(self) -> int:
        size = self._known()[0].shape[0]
        if size is None:
            raise TypeError(
                f"the length of '{self.name}', which a staged loop or branch has changed, is a tensor, and Python "
                f"itself wants to know it{_line()}: use len({self.name}) in code that AutoGraph converts"
            )
        return int(size)

    def __iter__(self) -> Any:
        return iter([self.row(i) for i in range(len(self))])

    def __bool__(self) -> bool:
        return len(self) > 0

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(list, name):
            raise self._unsupported(f"{name}()")
        raise AttributeError(f"'list' object has no attribute {name!r}")

    def _unsupported(self, what: str) -> NotImplementedError:
        return NotImplementedError(
            f"{what} of the list '{self.name}'{_line()}: a staged loop or branch changes its length, so that its "
            "elements are the rows of a tensor. It can be appended to, extended, inserted to, popped from, indexed, "
            f"sliced, looped over, and stacked: tf.stack({self.name})."
        )

    def __repr__(self) -> str:
        return f"<list '{self.name}' of a staged loop>"


def _line() -> str:
    place = user_place()
    return f" ({place})" if place else ""


def as_rows(elements: Sequence[Any], sample: Any) -> tuple[Any, list[Any]] | None:
    """Return the structure of the elements of a list and these as rows; None where they are not alike.

    `sample` is an element that is to be added, which tells of what there are none yet, or None.
    """
    known = [*elements, *([] if sample is None else [sample])]
    if not known or any(same_structure(known[0], each) is not None for each in known):
        return None
    rows = []
    for k in range(len(nesting.flatten(known[0]))):
        column = [nesting.flatten(each)[k] for each in known]
        if not all(map(is_tensor, column)):
            return None
        kinds = [leaf.dtype for leaf in column if hasattr(leaf, "dtype")]
        dtype = dtypes.as_dtype(kinds[0]) if kinds else convert(column[-1]).dtype
        if any(dtypes.as_dtype(each) != dtype for each in kinds):
            return None
        shapes = {tuple(leaf.shape) if getattr(leaf, "shape", None) is not None else () for leaf in column}
        if len(shapes) > 1:
            return None
        (shape,) = shapes
        if elements:
            rows.append(joining.stack([convert(leaf, dtype) for leaf in column[: len(elements)]]))
        elif None not in shape and dtype != dtypes.string:
            rows.append(creation.zeros([0, *shape], dtype))
        elif None not in shape:
            rows.append(creation.fill([0, *shape], ""))
        else:
            return None
    return known[0], rows


def not_moved(value: Any) -> None:
    """Raise ValueError for a list object whose elements a staged loop or branch has made rows."""
    if type(value) is list and len(value) == 1 and type(value[0]) is Moved:
        raise value[0]._error()


class Moved:
    """What is left in a list object whose elements a staged loop has made rows: using it says by which name to go."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __fg_tensor__(self, dtype: Any = None) -> Any:
        raise self._error()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._error()

    def _error(self) -> ValueError:
        return ValueError(
            f"a staged loop or branch has changed the length of the list '{self._name}', and this is another name of "
            f"the same list: read it by the name '{self._name}' of the function with that statement, and return it "
            "from there to where it is needed."
        )
