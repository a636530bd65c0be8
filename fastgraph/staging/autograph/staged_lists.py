"""Lists that staged statements append to: their elements are the rows of tensors, and their length is a tensor.

Rule: a loop that appends as many elements in every iteration, and does not read them, stacks what its iterations append
(the list is then recorded); elsewhere an element is written behind the last one, into rows with room for more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Self

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.base.shapes import Shape, compatible, shape_of
from fastgraph.core.tensor import Tensor, convert, current_trace
from fastgraph.errors import InaccessibleTensorError
from fastgraph.ops import comparison, elementwise, gathering, joining, movement, reduction
from fastgraph.ops.tensor_lists import list_get, list_grow, list_set
from fastgraph.staging.autograph.block_state import at_line, in_state, same_structure, user_place
from fastgraph.staging.autograph.conditional_lists import lost


class StagedList:
    """A list whose elements are the rows of tensors.

    `rows` are the elements' flat tensors, stacked, of which the first `n_elements` are there (all of them if `full`);
    `structure` is that of an element. While the elements that a loop appends are being recorded `rows` is None, `new`
    holds them, and `on_read` is called where anything else is done.
    """

    __fg_staged_list__ = True
    __hash__ = object.__hash__

    def __init__(
        self,
        name: str,
        structure: Any = None,
        rows: Sequence[Any] | None = None,
        n_elements: Tensor | None = None,
        *,
        full: bool = False,
        on_read: Callable[[], NoReturn] | None = None,
        origin: list[Any] | None = None,
    ) -> None:
        self.name = name
        self.structure = structure
        self.rows = None if rows is None else list(rows)
        self.n_elements = n_elements
        self.full = full
        self.is_chosen = False  # whether it is a copy of what a tensor has chosen of several lists
        self.new: list[Any] = []
        self.on_read = on_read
        self.origin = origin  # the list of Python's that this stands for
        self.made_at = user_place()

    # -- as what blocks change and carry

    def held(self) -> Any:
        """Return what it holds: the elements that were recorded, or the rows by their numbers."""
        if self.rows is None:
            return list(self.new)
        return {**{f"{k:03d}": row for k, row in enumerate(self.rows)}, "count": self.n_elements}

    def update(self, held: Any) -> None:
        """Hold what `held` has returned."""
        if self.rows is None:
            self.new[:] = held
        else:
            *self.rows, self.n_elements = held.values()

    def parts(self) -> list[Any]:
        """Return the tensors that it is made of."""
        return [*self._there(), self.n_elements]

    def of(self, parts: Sequence[Any]) -> StagedList:
        """Return one like this, of other tensors."""
        *rows, n_elements = parts
        return StagedList(self.name, self.structure, rows, n_elements, full=self.full)

    def shapes(self) -> list[Shape]:
        """Return the shapes of `parts`, where the number of rows changes."""
        found = [row.aval.shape for row in self._there()]
        return [*((None, *shape[1:]) if shape else shape for shape in found), ()]

    @staticmethod
    def __fg_unify__(a: StagedList, b: StagedList) -> None:
        """Have two lists, of which one name holds the one or the other, be of one kind."""
        difference = same_structure(a.structure, b.structure)
        if difference is not None:
            raise TypeError(f"the elements of the lists '{a.name}' and '{b.name}' differ: {difference}")
        a.full = b.full = a.full and b.full

    # -- the rows

    def _there(self) -> list[Any]:
        if self.rows is None:
            assert self.on_read is not None
            self.on_read()
        return self.rows

    def _rows(self) -> list[Any]:
        """Return the rows, with what room there is for more."""
        self._check_reach(self._there())
        return self._there()

    def _known(self) -> list[Any]:
        """Return the rows of the elements."""
        return self._rows() if self.full else [row[: self.n_elements] for row in self._rows()]

    def _check_reach(self, rows: list[Any]) -> None:
        """Raise InaccessibleTensorError if the rows are of a graph that is not being made any more, or not here."""
        trace: Any = current_trace()
        own = next((row.trace for row in rows if hasattr(row, "trace")), None)
        while own is not None and trace is not own:
            if trace is None:
                raise InaccessibleTensorError(
                    f"the list '{self.name}' is out of scope and cannot be used here{at_line()}: a staged loop or "
                    f"branch ({self.made_at}) has changed its length while {own.graph.name} was traced, and its "
                    f"elements are tensors of that graph, without values. Return the list, or tf.stack({self.name}), "
                    f"from {own.graph.name}, and put what a call returns where the list is to be."
                )
            trace = trace.outer

    def _leaves(self, value: object) -> list[Any]:
        """Return the tensors of an element. Raises TypeError or ValueError where it is not like the others."""
        rows = self._rows()
        difference = same_structure(self.structure, value)
        if difference is not None:
            raise ValueError(f"the elements of '{self.name}' must be alike{at_line()}: {difference}")
        leaves = []
        for leaf, row in zip(nesting.flatten(value), rows, strict=True):
            leaf = convert(leaf) if hasattr(leaf, "dtype") else convert(leaf, row.dtype)
            if leaf.dtype != row.dtype:
                raise TypeError(
                    f"the elements of '{self.name}' have dtype {row.dtype.name}, and one that is added has dtype "
                    f"{leaf.dtype.name}{at_line()}"
                )
            shapes = [row.aval.shape and row.aval.shape[1:], leaf.aval.shape]
            if not compatible(*shapes):
                wanted, found = map(shape_of, shapes)
                raise ValueError(
                    f"the elements of '{self.name}' have shape {wanted}, and one that is added has shape "
                    f"{found}{at_line()}"
                )
            leaves.append(leaf)
        return leaves

    # -- as a list of Python's

    def append(self, value: object) -> None:
        """Add an element at the end."""
        if self.is_chosen:
            raise lost("list")
        if self.rows is None:
            self.new.append(value)
            return
        leaves = self._leaves(value)
        self.rows = [list_set(list_grow(row, self.n_elements), self.n_elements, leaf, in_order=self.name)
                     for row, leaf in zip(self.rows, leaves, strict=True)]  # fmt: skip
        self.n_elements, self.full = elementwise.add(self.n_elements, 1), False

    def extend(self, values: object) -> None:
        """Add the elements of a list of Python's at the end."""
        if not isinstance(values, (list, tuple)):
            raise self.unsupported("extend() by what is no list or tuple of Python's")
        for value in values:
            self.append(value)

    def __iadd__(self, values: object) -> Self:
        self.extend(values)
        return self

    def length(self) -> Any:
        """Return the number of elements, as a tensor where the graph alone can tell."""
        rows = self._rows()
        size = rows[0].shape[0] if self.full else None
        return self.n_elements if size is None else size

    def truth(self) -> Any:
        """Say whether there is an element."""
        return comparison.greater(convert(self.length()), 0)

    def row(self, i: Any) -> Any:
        """Return the i-th element."""
        rows, at = self._rows(), elementwise.cast(convert(i), dtypes.int32)
        leaves = [gathering.gather(row, at) if self.full else list_get(row, at, self.n_elements) for row in rows]
        return nesting.pack_sequence_as(self.structure, leaves)

    def __getitem__(self, index: object) -> Any:
        if in_state():
            return None  # the list is carried as a whole
        if isinstance(index, slice):
            raise self.unsupported("a slice")
        self._rows()
        at = elementwise.cast(convert(index), dtypes.int32)
        if not isinstance(index, int):
            at = elementwise.add(at, elementwise.multiply(self.n_elements, elementwise.cast(at < 0, dtypes.int32)))
        return self.row(elementwise.add(self.n_elements, at) if isinstance(index, int) and index < 0 else at)

    def __setitem__(self, index: object, value: object) -> None:
        if not in_state():
            raise self.unsupported("setting an element")

    def __len__(self) -> int:
        size = self.length()
        if not isinstance(size, int):
            raise TypeError(
                f"the length of '{self.name}', which a staged loop or branch has changed, is a tensor, and Python "
                f"itself wants to know it{at_line()}: use len({self.name}) in code that AutoGraph converts"
            )
        return size

    def __iter__(self) -> Any:
        if not isinstance(self.length(), int):
            raise TypeError(
                f"Python itself cannot take the elements of '{self.name}' one by one{at_line()}, for a staged loop or "
                f"branch has changed its length, which is a tensor: loop over it by a for statement or a list "
                f"comprehension in code that AutoGraph converts, or stack it, tf.stack({self.name})"
            )
        return iter([self.row(i) for i in range(len(self))])

    def __bool__(self) -> bool:
        return len(self) > 0

    # -- as a tensor

    def __fg_tensor__(self, dtype: Any = None) -> Any:
        rows = self._known()
        if nesting.is_nested(self.structure):
            raise TypeError(
                f"the list '{self.name}', whose length a staged loop or branch ({self.made_at}) has changed, cannot be "
                f"one tensor{at_line()}, as it is where it is stacked or returned: its elements are tuples. Stack or "
                f"return its parts, tf.stack([element[0] for element in {self.name}]), or keep a list for each."
            )
        return rows[0] if dtype is None or rows[0].dtype == dtype else convert(rows[0], dtype)

    def __fg_stacked__(self, axis: int) -> Any:
        """Return tf.stack of the elements."""
        rows = convert(self)
        if rows.shape.rank is None and axis == 0:
            return rows
        rank = int(rows.shape.rank or 0)
        if not -rank <= axis < rank:
            raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
        return _first_axis_to(rows, axis % rank)

    def __fg_joined__(self, axis: object) -> Any:
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

    # -- what is refused

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(list, name):
            raise self.unsupported(f"{name}()")
        raise AttributeError(f"'list' object has no attribute {name!r}")

    def unsupported(self, what: str) -> NotImplementedError:
        """Return the error for what such a list does not do."""
        self._check_reach(self.rows or [])
        return NotImplementedError(
            f"{what} of the list '{self.name}'{at_line()}: a staged loop or branch appends to it, so that its elements "
            "are the rows of a tensor. It can be appended to, indexed, looped over, and stacked: compute with "
            f"tf.stack({self.name}), or use a tf.TensorArray."
        )

    def __repr__(self) -> str:
        return f"<list '{self.name}' of a staged loop or branch>"


def _refusing(what: str) -> Callable[..., NoReturn]:
    def refuse(self: StagedList, *_: object) -> NoReturn:
        raise self.unsupported(what)

    return refuse


for _names, _what in (
    ("add radd mul rmul imul", "`+` and `*`"),
    ("eq ne lt le gt ge", "comparing"),
    ("delitem", "deleting an element"),
    ("contains", "`in`, in code that AutoGraph does not convert,"),
):
    for _name in _names.split():
        setattr(StagedList, f"__{_name}__", _refusing(_what))


def _first_axis_to(rows: Tensor, axis: int) -> Any:
    order = [*range(1, axis + 1), 0, *range(axis + 1, int(rows.shape.rank or 0))]
    return movement.transpose(rows, order) if axis else rows
