# Written by tools/stubs.py from the ops' definitions; do not edit.
from collections.abc import Sequence
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import Data
from fastgraph.core.tensor import Tensor
from typing import Any

def finfo(dtype: DTypeLike) -> Any:
    """Return the limits of a floating dtype: `eps`, `max`, `tiny`, ... Raises ValueError for other dtypes."""
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Data = 0) -> Tensor:
    """Elements of the first choice whose condition holds, of `default` where none does. bool[*s]..., t[*s]... -> t[*s].

    Raises: ValueError for another number of choices than of conditions. Source: tf.experimental.numpy.select."""
