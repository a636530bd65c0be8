"""What functions that take a list of tensors mean of a list whose length a tensor decides: stack, concat and add_n.

Rule: of any other list they are the functions themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastgraph._tensor import convert
from fastgraph.ops import joining, movement, nnops, reduction
from fastgraph.staging.autograph.lists import StagedList
from fastgraph.staging.autograph.state import user_place
from fastgraph.staging.autograph.uneven_lists import UnevenList


def _first_axis_to(rows: Any, axis: int) -> Any:
    order = [*range(1, axis + 1), 0, *range(axis + 1, int(rows.shape.rank or 0))]
    return movement.transpose(rows, order) if axis else rows


def stack_(values: Any, axis: Any = 0, name: str | None = "stack") -> Any:
    """tf.stack(values, axis), of a list whose length a tensor decides as well."""
    if not isinstance(values, StagedList):
        return joining.stack(values, axis, name)
    rows = convert(values)
    if rows.shape.rank is None and axis == 0:
        return rows
    rank = int(rows.shape.rank or 0)
    if type(axis) is not int or not -rank <= axis < rank:
        raise ValueError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
    return _first_axis_to(rows, axis % rank)


def concat_(values: Any, axis: Any, name: str | None = "concat") -> Any:
    """tf.concat(values, axis), of a list whose length a tensor decides as well."""
    if not isinstance(values, StagedList):
        return joining.concat(values, axis, name)
    uneven = values.joined(axis) if isinstance(values, UnevenList) else None
    if uneven is not None:
        return uneven
    rows = convert(values)
    rank = int(rows.shape.rank or 1) - 1  # of an element
    if type(axis) is not int or not -rank <= axis < rank:
        raise ValueError(f"concat of the list '{values.name}' ({user_place()}): its elements have rank {rank}, and the "
                         f"axis is {axis}")  # fmt: skip
    axis %= rank
    along = _first_axis_to(rows, axis)
    dims = movement.shape(along)
    joined = joining.concat([dims[:axis], movement.reshape(dims[axis] * dims[axis + 1], [1]), dims[axis + 2 :]], 0)
    return movement.reshape(along, joined)


def add_n_(inputs: Any, name: str | None = None) -> Any:
    """tf.add_n(inputs), of a list whose length a tensor decides as well."""
    return reduction.reduce_sum(convert(inputs), 0) if isinstance(inputs, StagedList) else nnops.add_n(inputs, name)


#: What a call of one of them means in converted code.
OF_LISTS: dict[Any, Callable[..., Any]] = {joining.stack: stack_, joining.concat: concat_, nnops.add_n: add_n_}
