"""Elements of a Python list as the rows of tensors.

Rule: the rows are made in the trace that is active, from elements that are alike in structure, dtype and shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph import dtype as dtypes
from fastgraph import nesting
from fastgraph._tensor import convert
from fastgraph.ops import creation, elementwise, gathering, joining, movement
from fastgraph.ops.tensor_lists import list_blank
from fastgraph.staging.autograph.state import is_tensor, same_structure


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
        else:
            rows.append(empty_rows(dtype, shape))
    return known[0], rows


def empty_rows(dtype: Any, shape: Sequence[Any]) -> Any:
    """Return no rows, of elements of this shape."""
    if None in shape:  # the first element says it
        return list_blank(convert(0, dtypes.int32), dtype=dtype.name, element=tuple(shape))
    return creation.fill([0, *shape], "") if dtype == dtypes.string else creation.zeros([0, *shape], dtype)


def fitted(row: Any, like: Any) -> Any:
    """Return rows with the element's shape of `like` where there are none: no rows may not know it before."""
    element = None if row.aval.shape is None else row.aval.shape[1:]
    if element is None or None not in element:
        return row
    own, other = movement.shape(row), movement.shape(like)
    sizes = gathering.where(elementwise.equal(own[0], 0), other[1:], own[1:])
    return movement.reshape(row, joining.concat([own[:1], sizes], 0))
