"""Rows: what a list whose length a tensor decides holds, the elements' tensors stacked, and how they are changed.

Rule: nothing here is a method of Python's lists; those are in `lists`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from fastgraph import dtype as dtypes
from fastgraph import nesting
from fastgraph._tensor import convert, current_trace
from fastgraph.errors import InaccessibleTensorError
from fastgraph.graph.trace import SymbolicTensor
from fastgraph.ops import comparison, elementwise, gathering, joining, movement
from fastgraph.ops.tensor_lists import list_get
from fastgraph.shapes import compatible, dims_text, shape_of
from fastgraph.staging.autograph import identity
from fastgraph.staging.autograph.elements import guarded, of_several
from fastgraph.staging.autograph.rows import fitted
from fastgraph.staging.autograph.state import same_structure, user_place


class ListRows:
    """The elements of a list as the rows of tensors.

    `rows` are the elements' flat tensors, stacked; `structure` is that of an element. While the elements that a loop
    appends are being recorded `rows` is None, `new` holds them, and `on_read` is called where anything else is done.
    """

    __fg_staged_list__ = True

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
        self.name_of_several = ""  # by which name this is a copy of one of several lists, not to be changed
        self.made_at = user_place()
        self._been_read: tuple[list[Any], dict[Any, tuple[Any, Any, Any]]] = [], {}

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

    def _rows_anywhere(self) -> Sequence[Any]:
        """Return the rows, and room for more, to ask for their types."""
        return self._known() if self.rows is None else self.rows

    def _known(self) -> Sequence[Any]:
        if self.rows is None:
            assert self.on_read is not None
            self.on_read()
        self._check_reach()
        self._check_elements()
        return self.rows if self.n_kept is None else [row[: self.n_kept] for row in self.rows]

    def _check_elements(self) -> None:
        """Raise NotImplementedError where a list has been changed after rows were made of it."""
        changed = identity.changed_element() if nesting.is_nested(self.structure) else None
        if changed is not None:
            raise NotImplementedError(
                f"a list or dict that has become an element of '{changed.name}' ({changed.place}) is changed after "
                f"that, and '{self.name}' is read{at_line()}: its elements are the rows of tensors, copies of what was "
                f"added. Add a copy, {changed.name}.append(list(element)), or change it before it is added."
            )

    def _check_reach(self) -> None:
        """Raise InaccessibleTensorError if the rows are of a graph that is not being made any more, or not here."""
        assert self.rows is not None
        trace: Any = current_trace()
        own = next((row.trace for row in self.rows if hasattr(row, "trace")), None)
        while own is not None and trace is not own:
            if trace is None:
                raise InaccessibleTensorError(
                    f"the list '{self.name}' is out of scope and cannot be used here{at_line()}: a staged loop or "
                    f"branch ({self.made_at}) has changed its length while {own.graph.name} was traced, and its "
                    f"elements are tensors of that graph, without values. Return the list, or tf.stack({self.name}), "
                    f"from {own.graph.name}, and put what a call returns where the list is to be."
                )
            trace = trace.outer

    def _n(self) -> Any:
        """Return the number of elements as a tensor."""
        return movement.shape(self._known()[0])[0] if self.n_kept is None else self.n_kept

    def _changes(self) -> None:
        """Raise NotImplementedError where a change would be lost to other names."""
        if self.name_of_several:
            raise of_several(self.name_of_several, "list")

    def _hold(self, rows: Sequence[Any]) -> None:
        """Hold these rows, all of them."""
        self._changes()
        self.rows = list(rows)
        if self.n_kept is not None:
            self.n_kept = movement.shape(rows[0])[0]

    def _stacked(self, values: Sequence[Any]) -> list[Any]:
        """Return the elements `values` as rows. Raises ValueError, naming the list, where they are not like its own."""
        columns: list[list[Any]] = [[] for _ in self._known()]
        for value in values:
            identity.element(value, self.name)
            difference = same_structure(self.structure, value)
            if difference is not None:
                raise ValueError(f"the elements of '{self.name}' must be alike{at_line()}: {difference}")
            for column, leaf, row in zip(columns, nesting.flatten(value), self._known(), strict=True):
                column.append(convert(leaf) if hasattr(leaf, "dtype") else convert(leaf, row.dtype))
                if column[-1].dtype != row.dtype:
                    raise TypeError(
                        f"the elements of '{self.name}' have dtype {row.dtype.name}, and one that is added has dtype "
                        f"{column[-1].dtype.name}{at_line()}"
                    )
                shapes = [row.aval.shape and row.aval.shape[1:], column[-1].aval.shape]
                if not compatible(*shapes):
                    wanted, found = map(shape_of, shapes)
                    raise ValueError(
                        f"the elements of '{self.name}' have shape {wanted}, and one that is added has shape "
                        f"{found}{at_line()}"
                    )
        return [joining.stack(column) for column in columns]

    def _put(self, values: Sequence[Any], before: Callable[[Any], Any], after: Callable[[Any], Any] | None) -> None:
        """Hold the rows that `before` leaves, the elements `values`, and the rows that `after` leaves."""
        rows = []
        for row, new in zip(self._known(), self._stacked(values), strict=True):
            row = fitted(row, new)
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
        return elementwise.add(at, elementwise.multiply(n, elementwise.cast(comparison.less(at, 0), dtypes.int32)))

    def _element(self, tensors: Sequence[Any]) -> Any:
        if not nesting.is_nested(self.structure):
            return tensors[0]
        return guarded(nesting.pack_sequence_as(self.structure, list(tensors)), self.name)

    def length(self) -> Any:
        """Return the number of elements, as a tensor where the graph alone can tell."""
        size = None if self.n_kept is not None else self._known()[0].shape[0]
        return self._n() if size is None else size

    def truth(self) -> Any:
        """Say whether there is an element."""
        return comparison.greater(convert(self.length()), 0)

    def row(self, i: Any) -> Any:
        """Return the i-th element."""
        if self.n_kept is None or self.rows is None:
            return self._element([gathering.gather(row, i) for row in self._known()])
        at = elementwise.cast(convert(i), dtypes.int32)
        return self._element([list_get(row, at, self.n_kept) for row in self.rows])

    def _read(self, index: Any, made: Callable[[], Any]) -> Any:
        """Return the element that `made` gives; by the same index the same one, until the list is changed."""
        if type(index) is not int and not isinstance(index, SymbolicTensor):
            return made()
        assert self.rows is not None
        now, then = [*self.rows, self.n_kept], self._been_read[0]
        if len(now) != len(then) or any(a is not b for a, b in zip(now, then, strict=True)):
            self._been_read = now, {}
        read, key = self._been_read[1], (type(index), index if type(index) is int else id(index))
        trace: Any = current_trace()
        if key in read:
            found = read[key]
            while trace is not None and trace is not found[0]:
                trace = trace.outer
            if trace is not None:
                return found[2]
        read[key] = current_trace(), index, made()
        return read[key][2]

    def __fg_tensor__(self, dtype: Any = None) -> Any:
        rows = self._known()
        if nesting.is_nested(self.structure):
            whole = _stacked_rows(self.structure, iter(rows))
            rows = rows if whole is None else [whole]
        if len(rows) != 1 or (nesting.is_nested(self.structure) and whole is None):
            raise TypeError(
                f"the list '{self.name}', whose length a staged loop or branch ({self.made_at}) has changed, cannot be "
                f"one tensor{at_line()}, as it is where it is stacked or returned: its elements are structures, "
                f"{self._element_text()}{self._rank_text()}. Stack or return its parts, {self._part_text()}, or keep "
                "a list for each."
            )
        return rows[0] if dtype is None or rows[0].dtype == dtype else convert(rows[0], dtype)

    def _element_text(self) -> str:
        specs = [f"{row.dtype.name} {dims_text(row.aval.shape and row.aval.shape[1:])}" for row in self._known()]
        shown = nesting.pack_sequence_as(self.structure, specs)
        return str(shown).replace("'", "")

    def _rank_text(self) -> str:
        unknown = any(row.shape.rank is None for row in self._known())
        return " (to be stacked as they are, their ranks must be known while tracing)" if unknown else ""

    def _part_text(self) -> str:
        """Return how the elements' first part is stacked."""
        steps = []
        part = self.structure
        while nesting.is_nested(part) and (found := nesting.steps(part)):
            step, part = found[0]
            steps.append(step)
        return f"tf.stack([element{''.join(steps)} for element in {self.name}])"


def _stacked_rows(structure: Any, rows: Iterator[Any]) -> Any:
    """Return elements that are lists of tensors alike, given as rows of each of these, as rows of stacked lists.

    None where they are not alike, or where there are other structures in them. A number of Python's has the dtype of
    the tensors beside it.
    """
    if not nesting.is_nested(structure):
        return next(rows)
    if not isinstance(structure, (list, tuple)) or not structure:
        return None
    parts = [_stacked_rows(each, rows) for each in structure]
    if any(part is None for part in parts):
        return None
    is_number = [type(each) in (int, float) for each in structure]
    dtype = next((part.dtype for part, number in zip(parts, is_number, strict=True) if not number), parts[0].dtype)
    for k, part in enumerate(parts):
        if is_number[k] and part.dtype != dtype and (dtype.is_floating or type(structure[k]) is int):
            parts[k] = elementwise.cast(part, dtype)
    if any(part.dtype != dtype or part.shape.rank is None for part in parts):
        return None
    if any(not compatible(parts[0].aval.shape[1:], part.aval.shape[1:]) for part in parts):
        return None
    return joining.stack(parts, axis=1)


def at_line() -> str:
    """Return the user's line that is traced now, as errors have it; "" if there is none."""
    place = user_place()
    return f" ({place})" if place else ""
