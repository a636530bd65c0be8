"""tf.experimental.numpy: what libraries use of it.

Rule: dtypes go together as NumPy's do, Python's numbers taking the others'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DTypeLike, as_dtype
from fastgraph.core.conversion import Data
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import public
from fastgraph.ops.gathering import where


@public("experimental.numpy.finfo")
def finfo(dtype: DTypeLike) -> Any:
    """Return the limits of a floating dtype: `eps`, `max`, `tiny`, ... Raises ValueError for other dtypes."""
    kind = as_dtype(dtype)
    if kind.name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.finfo(kind.as_numpy_dtype)  # type: ignore[no-untyped-call]
    return np.finfo(kind.numpy_dtype)


def _together(values: Sequence[Any]) -> Any:
    kinds = [v if isinstance(v, bool | int | float | complex) else as_tensor(v).dtype.numpy_dtype for v in values]
    try:
        return as_dtype(np.result_type(*kinds))
    except TypeError as error:  # of classes of NumPy's own
        raise TypeError(str(error)) from None


@public("experimental.numpy.select")
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Data = 0) -> Any:
    """Elements of the first choice whose condition holds, of `default` where none does. bool[*s]..., t[*s]... -> t[*s].

    Raises: ValueError for another number of choices than of conditions. Source: tf.experimental.numpy.select.
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})")
    kind = _together([default, *choicelist])
    result = cast(as_tensor(default), kind)
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = where(cast(condition, "bool"), cast(as_tensor(choice), kind), result)
    return result
