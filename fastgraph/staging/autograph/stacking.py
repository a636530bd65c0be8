"""Elements of a Python list as the rows of tensors.

Rule: the rows are made in the trace that is active, from elements that are alike in structure, dtype and shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import compatible, dims_text
from fastgraph.core.tensor import convert
from fastgraph.ops import creation, joining
from fastgraph.ops.tensor_lists import list_blank
from fastgraph.staging.autograph.block_state import at_line, is_tensor, same_structure


def as_rows(elements: Sequence[Any], sample: object = None) -> tuple[Any, list[Any]] | None:
    """Return the structure of the elements of a list and these as rows; None where they are not alike.

    `sample` is an element that is to be added, which tells of what there are none yet, or None.
    """
    known = [*elements, *([] if sample is None else [sample])]
    columns = _columns(known)
    if columns is None:
        return None
    rows = []
    for column, dtype, shape in columns:
        if elements:
            rows.append(joining.stack([convert(leaf, dtype) for leaf in column[: len(elements)]]))
        else:
            rows.append(empty_rows(dtype, shape))
    return known[0], rows


def check_dtypes(elements: Sequence[Any], name: str) -> None:
    """Raise TypeError where elements of one structure, that are to be rows, differ in dtype."""
    for leaves in zip(*map(nesting.flatten, elements), strict=False):
        kinds = list(dict.fromkeys(dtypes.as_dtype(leaf.dtype) for leaf in leaves if hasattr(leaf, "dtype")))
        if kinds and not (kinds[0].is_floating or kinds[0].is_complex) and any(type(leaf) is float for leaf in leaves):
            kinds.append(dtypes.float32)
        if len(kinds) > 1:
            raise TypeError(
                f"the elements of the list '{name}'{at_line()} have dtypes {kinds[0].name} and "
                f"{kinds[1].name}: a list that a staged statement makes longer has elements of one dtype. tf.cast "
                "them, or keep a list for each."
            )


def check_shapes(elements: Sequence[Any], name: str) -> None:
    """Raise ValueError where elements of one structure, that are to be rows, differ in shape."""
    for leaves in zip(*map(nesting.flatten, elements), strict=False):
        shapes = [tuple(leaf.shape) for leaf in leaves if getattr(leaf, "shape", None) is not None and
                  getattr(leaf.shape, "rank", 0) is not None]  # fmt: skip
        for shape in shapes:
            if not compatible(shapes[0], shape):
                raise ValueError(
                    f"the elements of the list '{name}'{at_line()} have shapes "
                    f"{dims_text(shapes[0])} and {dims_text(shape)}: a list that a staged statement makes longer has "
                    f"elements of one shape. Pad them; or put them one behind the other as you go, "
                    f"{name} = tf.concat([{name}, value], 0), and let its length vary: "
                    f"tf.autograph.experimental.set_loop_options(shape_invariants=[({name}, tf.TensorShape([None]))]); "
                    f"or write them to a tf.TensorArray(dtype, 0, dynamic_size=True, infer_shape=False) and use its "
                    "concat()."
                )


def _columns(known: Sequence[Any]) -> list[tuple[list[Any], Any, tuple[Any, ...]]] | None:
    """Return the leaves of elements, those of a place together, with their dtype and shape; None where these differ."""
    if not known or any(same_structure(known[0], each) is not None for each in known):
        return None
    columns: list[tuple[list[Any], Any, tuple[Any, ...]]] = []
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
        columns.append((column, dtype, shape))
    return columns


def empty_rows(dtype: DType, shape: Sequence[Any]) -> Any:
    """Return no rows, of elements of this shape."""
    if None in shape:  # the first element says it
        return list_blank(convert(0, dtypes.int32), dtype=dtype.name, element=tuple(shape))
    return creation.fill([0, *shape], "") if dtype == dtypes.string else creation.zeros([0, *shape], dtype)
