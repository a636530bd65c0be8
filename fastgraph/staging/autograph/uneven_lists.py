"""Lists that a staged loop has appended to, of elements whose shapes may differ: all numbers end to end, and shapes.

Rule: beside these are the rows, and what nobody asks for is left out of the graph: stack takes the rows, for which all
elements must be alike; an element, the length and concat take the numbers. What changes the list changes rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph import dtype as dtypes
from fastgraph import nesting
from fastgraph._tensor import convert
from fastgraph.graph.ragged_results import flattened
from fastgraph.ops import checks, comparison, elementwise, gathering, joining, movement, reduction
from fastgraph.ops.creation import range_, zeros
from fastgraph.ops.padding import repeat
from fastgraph.ops.scans import cumsum
from fastgraph.shapes import common_shape, compatible
from fastgraph.staging.autograph.list_rows import at_line
from fastgraph.staging.autograph.lists import StagedList

PIECES = 3  # that an iteration gives of elements whose shapes may differ


def may_differ(leaves: Sequence[Any]) -> bool:
    """Say whether tensors in the same place of a list's elements may differ in shape: they have one rank, as known."""
    first, *shapes = [convert(leaf).aval.shape for leaf in leaves]
    if not first or any(shape is None or len(shape) != len(first) for shape in shapes):
        return False
    return None in first or any(shape != first for shape in shapes)


def can_be_rows(leaves: Sequence[Any]) -> bool:
    """Say whether tensors may, by what is known of them, have one shape."""
    shapes = [convert(leaf).aval.shape for leaf in leaves]
    return all(compatible(a, b) for a in shapes for b in shapes)


def end_to_end(leaves: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return an iteration's elements as one tensor, and what it gives: that as a vector, its shape, all shapes."""
    if len(leaves) == 1:
        whole = elementwise.identity(convert(leaves[0]))
    else:
        whole = joining.concat([movement.reshape(convert(leaf), [-1]) for leaf in leaves], 0)
    vector, dims = flattened(whole)
    shapes = [movement.shape(convert(leaf), dtypes.int32) for leaf in leaves]
    return whole, [vector, dims, joining.stack(shapes)]


class Numbers:
    """Tensors of a list's elements: `vector` has the numbers, those of the i-th from begins[i], in shape shapes[i]."""

    def __init__(self, vector: Any, shapes: Any, element: Sequence[int | None], begins: Any = None) -> None:
        self.vector = vector
        self.shapes = shapes
        self.element = tuple(element)  # what is known of all shapes
        self.in_order = begins is None
        lengths = reduction.reduce_prod(shapes, axis=1)
        self.begins = cumsum(lengths, exclusive=True) if begins is None else begins
        self.lengths = lengths

    @classmethod
    def of_loop(cls, first: Sequence[Any], vector: Any, shapes: Any, leaves: Sequence[Any]) -> Numbers:
        """Return those of the elements `first` and of what the iterations have given; `leaves` are like these."""
        element = convert(leaves[0]).aval.shape
        for leaf in (*leaves, *first):
            element = common_shape(element, convert(leaf).aval.shape)
        assert element is not None
        shapes = movement.reshape(shapes, [-1, len(element)])
        if first:
            parts = [movement.reshape(convert(leaf), [-1]) for leaf in first]
            vector = joining.concat([*parts, vector], 0)
            shapes = joining.concat([joining.stack([movement.shape(convert(leaf)) for leaf in first]), shapes], 0)
        return cls(vector, shapes, element)

    def n(self) -> Any:
        """Return the number of elements."""
        return movement.shape(self.shapes)[0]

    def whole(self) -> Any:
        """Return the elements as rows, where all have one shape. Raises InvalidArgumentError at run time else."""
        rank = len(self.element)
        greatest = reduction.reduce_max(joining.concat([zeros([1, rank], dtypes.int32), self.shapes], 0), 0)
        rows = movement.reshape(self.vector, joining.concat([movement.reshape(self.n(), [1]), greatest], 0))
        rows.set_shape([None, *self.element])
        return rows

    def at(self, i: Any) -> Any:
        """Return the i-th element. Raises InvalidArgumentError at run time where there is none."""
        begin, shape = gathering.gather(self.begins, i), gathering.gather(self.shapes, i)
        found = movement.reshape(self.vector[begin : begin + gathering.gather(self.lengths, i)], shape)
        found.set_shape(self.element)
        return found

    def part(self, index: slice) -> Numbers:
        """Return those of some of the elements."""
        return Numbers(self.vector, self.shapes[index], self.element, self.begins[index])

    def joined(self, axis: int, name: str) -> Any:
        """Return the elements joined along an axis. Raises InvalidArgumentError at run time where others differ."""
        rank = len(self.element)
        greatest = reduction.reduce_max(joining.concat([zeros([1, rank], dtypes.int32), self.shapes], 0), 0)
        others = [k for k in range(rank) if k != axis]
        if others:
            alike = comparison.equal(
                gathering.gather(self.shapes, others, axis=1), gathering.gather(greatest, others)[None]
            )
            checks.Assert(reduction.reduce_all(alike),
                          [f"the elements of '{name}'{at_line()} are to be joined along axis {axis}, and differ in "
                           "others: their shapes are", self.shapes])  # fmt: skip
        extent = reduction.reduce_sum(self.shapes[:, axis])
        dims = joining.concat([greatest[:axis], movement.reshape(extent, [1]), greatest[axis + 1 :]], 0)
        vector = self.vector
        if axis or not self.in_order:
            lengths = reduction.reduce_prod(self.shapes[:, axis:], axis=1)
            starts = self.begins - cumsum(lengths, exclusive=True)
            places = repeat(starts, lengths) + range_(reduction.reduce_sum(lengths))
            lines = range_(reduction.reduce_prod(greatest[:axis]))
            vector = gathering.gather(vector, places[None] + lines[:, None] * repeat(lengths, lengths)[None])
        found = movement.reshape(vector, dims)
        found.set_shape([None if k == axis else size for k, size in enumerate(self.element)])
        return found


class UnevenList(StagedList):
    """A list that a loop has appended to, of elements whose shapes may differ."""

    def __init__(self, name: str, structure: Any, rows: Sequence[Any], numbers: Sequence[Numbers | None]) -> None:
        super().__init__(name, structure, rows)
        self._of = list(rows), list(numbers)

    def numbers(self) -> list[Numbers | None] | None:
        """Return the numbers of each of the elements' tensors; None where the list has been changed."""
        rows, numbers = self._of
        same = self.rows is not None and len(self.rows) == len(rows)
        same = same and all(a is b for a, b in zip(self.rows or (), rows, strict=True))
        return numbers if same and self.n_kept is None else None

    def _n(self) -> Any:
        numbers = self.numbers()
        if numbers is None:
            return super()._n()
        self._check_reach()
        return next(each for each in numbers if each is not None).n()

    def length(self) -> Any:
        """Return the number of elements, as a tensor where the graph alone can tell."""
        return super().length() if self.numbers() is None else self._n()

    def row(self, i: Any) -> Any:
        """Return the i-th element."""
        numbers = self.numbers()
        if numbers is None:
            return super().row(i)
        rows = zip(self._known(), numbers, strict=True)
        return self._element([gathering.gather(row, i) if each is None else each.at(i) for row, each in rows])

    def copy(self) -> StagedList:
        """Return another list of the same elements."""
        numbers = self.numbers()
        return super().copy() if numbers is None else UnevenList(self.name, self.structure, self._known(), numbers)

    def _like(self, rows: Sequence[Any]) -> Any:
        return StagedList(self.name, self.structure, rows)

    def __getitem__(self, index: Any) -> Any:
        numbers = self.numbers()
        if numbers is None or not isinstance(index, slice):
            return super().__getitem__(index)
        parts = [None if each is None else each.part(index) for each in numbers]
        rows = [row[index] for row in self._known()]
        return UnevenList(self.name, self.structure, rows, parts)

    def __fg_joined__(self, axis: Any) -> Any:
        """Return the elements joined along an axis: the numbers, where these are."""
        numbers = self.numbers()
        of_leaf = None if numbers is None or nesting.is_nested(self.structure) else numbers[0]
        rank = 0 if of_leaf is None else len(of_leaf.element)
        if of_leaf is None or type(axis) is not int or not -rank <= axis < rank:
            return super().__fg_joined__(axis)
        return of_leaf.joined(axis % rank, self.name)
