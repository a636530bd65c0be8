"""Lists that staged loops append to: after the loop the appended elements are the rows of tensors.

Rule: in the loop such a list can only be appended to; after it, it can be indexed, sliced, iterated by a staged loop,
popped from and stacked. Its length is a tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph import dtype as dtypes
from fastgraph import nesting
from fastgraph._tensor import convert
from fastgraph.ops import gathering, joining, movement


class StagedList:
    """A list whose elements a staged loop has appended, or is appending: `new` holds those of the loop being traced.

    `rows` are the elements' flat tensors, stacked; `structure` is that of an element. Both are None while the first
    loop is being traced.
    """

    def __init__(self, name: str, structure: Any = None, rows: Sequence[Any] | None = None) -> None:
        self.name = name
        self.structure = structure
        self.rows = rows
        self.tracing = rows is None
        self.new: list[Any] = []

    def append(self, value: Any) -> None:
        """Add an element at the end."""
        if self.tracing:
            self.new.append(value)
            return
        self.rows = self._extended([value])

    def extend(self, values: Any) -> None:
        """Add elements at the end."""
        for value in values:
            self.append(value)

    def _extended(self, values: Sequence[Any]) -> list[Any]:
        rows = list(self._known())
        for value in values:
            nesting.assert_same_structure(self.structure, value)
            rows = [joining.concat([row, [convert(leaf, row.dtype)]], 0)
                    for row, leaf in zip(rows, nesting.flatten(value), strict=True)]  # fmt: skip
        return rows

    def _known(self) -> Sequence[Any]:
        if self.tracing or self.rows is None:
            raise ValueError(
                f"The list '{self.name}' is read in the staged loop that appends to it, whose body is traced once: use "
                "a tf.TensorArray, or carry what you read in a variable of its own."
            )
        return self.rows

    def _element(self, tensors: Sequence[Any]) -> Any:
        return nesting.pack_sequence_as(self.structure, list(tensors)) if nesting.is_nested(self.structure) else (
            tensors[0])  # fmt: skip

    def pop(self, index: Any = -1) -> Any:
        """Remove the last element and return it. Raises InvalidArgumentError at run time for an empty list."""
        if not isinstance(index, int) or index != -1:
            raise ValueError(f"only the last element can be popped from '{self.name}', which a staged loop has filled")
        last = self[-1]
        self.rows = [row[:-1] for row in self._known()]
        return last

    def __getitem__(self, index: Any) -> Any:
        rows = self._known()
        if isinstance(index, slice):
            return StagedList(self.name, self.structure, [row[index] for row in rows])
        at = convert(index, dtypes.int32) if isinstance(index, int) else index
        n = movement.shape(rows[0])[0]
        if isinstance(index, int):
            at = at + n if index < 0 else at
        return self._element([gathering.gather(row, at) for row in rows])

    def __setitem__(self, index: Any, value: Any) -> None:
        raise ValueError(
            f"'{self.name}' was filled by a staged loop: its elements cannot be replaced. Use tf.stack(...) and "
            "tf.tensor_scatter_nd_update."
        )

    def __len__(self) -> int:
        if self.tracing:
            return len(self.new)
        size = self._known()[0].shape[0]
        if size is None:
            raise TypeError(f"the length of '{self.name}', which a staged loop has filled, is a tensor: use "
                            f"tf.shape(tf.stack({self.name}))[0]")  # fmt: skip
        return int(size)

    def length(self) -> Any:
        """Return the number of elements, as a tensor where the graph alone can tell."""
        size = self._known()[0].shape[0]
        return movement.shape(self._known()[0])[0] if size is None else size

    def row(self, i: Any) -> Any:
        """Return the i-th element."""
        return self._element([gathering.gather(row, i) for row in self._known()])

    def __iter__(self) -> Any:
        return iter([self.row(i) for i in range(len(self))])

    def __bool__(self) -> bool:
        return len(self) > 0

    def __fg_tensor__(self, dtype: Any = None) -> Any:
        rows = self._known()
        if len(rows) != 1 or nesting.is_nested(self.structure):
            raise TypeError(f"the elements of '{self.name}' are structures, not tensors that can be stacked")
        return rows[0] if dtype is None or rows[0].dtype == dtype else convert(rows[0], dtype)

    def __repr__(self) -> str:
        return f"<list '{self.name}' of a staged loop>"


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
            f"a staged loop has appended to the list '{self._name}', and this is another name of the same list: "
            f"read it by the name '{self._name}', which the loop appends by."
        )
