# Written by tools/stubs.py from the ops' definitions; do not edit.
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from fastgraph import Assert as Assert
from fastgraph import assert_equal as assert_equal
from fastgraph import assert_greater as assert_greater
from fastgraph import assert_less as assert_less
from fastgraph import assert_rank as assert_rank
from fastgraph.api.configuration import disable_traceback_filtering as disable_traceback_filtering
from fastgraph.api.configuration import enable_traceback_filtering as enable_traceback_filtering
from fastgraph.api.configuration import get_log_device_placement as get_log_device_placement
from fastgraph.api.configuration import is_traceback_filtering_enabled as is_traceback_filtering_enabled
from fastgraph.api.configuration import set_log_device_placement as set_log_device_placement
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from typing import Any
import builtins

def assert_all_finite(x: TensorLike, message: builtins.str, name: builtins.str | None = None) -> Tensor:
    """x, if none of its elements is infinite or NaN. f[*s] -> f[*s].

    Raises: InvalidArgumentError. Source: tf.debugging.assert_all_finite."""
def assert_greater_equal(x: TensorLike, y: TensorLike, message: builtins.str | None = None, summarize: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless x >= y for all elements. t[*s], t[*s] -> nothing, broadcasting.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_greater_equal."""
def assert_integer(x: TensorLike, message: builtins.str | None = None, name: builtins.str | None = None) -> Any:
    """Stop unless x is of integers. Raises: TypeError. Source: tf.debugging.assert_integer."""
def assert_less_equal(x: TensorLike, y: TensorLike, message: builtins.str | None = None, summarize: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless x <= y for all elements. t[*s], t[*s] -> nothing, broadcasting.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_less_equal."""
def assert_near(x: TensorLike, y: TensorLike, rtol: TensorLike | None = None, atol: TensorLike | None = None, message: builtins.str | None = None, summarize: TensorLike | None = None, name: builtins.str | None = None) -> Any:
    """Stop unless |x - y| <= atol + rtol * |y| for all elements (both 10 eps by default). t[*s], t[*s] -> nothing.

    Raises: InvalidArgumentError. Source: tf.debugging.assert_near."""
def assert_negative(x: TensorLike, message: builtins.str | None = None, summarize: builtins.int | None = None, name: builtins.str | None = None) -> Any:
    """Stop unless x < 0 for all elements. t[*s] -> nothing.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_negative."""
def assert_non_negative(x: TensorLike, message: builtins.str | None = None, summarize: builtins.int | None = None, name: builtins.str | None = None) -> Any:
    """Stop unless x >= 0 for all elements. t[*s] -> nothing.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_non_negative."""
def assert_non_positive(x: TensorLike, message: builtins.str | None = None, summarize: builtins.int | None = None, name: builtins.str | None = None) -> Any:
    """Stop unless x <= 0 for all elements. t[*s] -> nothing.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_non_positive."""
def assert_none_equal(x: TensorLike, y: TensorLike, summarize: Any = None, message: builtins.str | None = None, name: builtins.str | None = None) -> Any:
    """Stop unless x != y for all elements. t[*s], t[*s] -> nothing, broadcasting.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_none_equal."""
def assert_positive(x: TensorLike, message: builtins.str | None = None, summarize: builtins.int | None = None, name: builtins.str | None = None) -> Any:
    """Stop unless x > 0 for all elements. t[*s] -> nothing.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_positive."""
def assert_proper_iterable(values: TensorLike) -> None:
    """Stop unless `values` is a list, a tuple or the like: no tensor, array or text.

    Raises: TypeError. Source: tf.debugging.assert_proper_iterable."""
def assert_rank_at_least(x: TensorLike, rank: TensorLike, message: builtins.str | None = None, name: builtins.str | None = None) -> Any:
    """Stop unless x has at least this rank. Raises: ValueError. Source: tf.debugging.assert_rank_at_least."""
def assert_rank_in(x: TensorLike, ranks: Sequence[Any], message: builtins.str | None = None, name: builtins.str | None = None) -> Any:
    """Stop unless the rank of x is one of `ranks`. Raises: ValueError. Source: tf.debugging.assert_rank_in."""
def assert_same_float_dtype(tensors: Sequence[Any] | None = None, dtype: DTypeLike | None = None) -> DType:
    """The one dtype of floats that all tensors, and `dtype`, have; float32 where nothing says.

    Raises: ValueError for another dtype, or one of no floats. Source: tf.debugging.assert_same_float_dtype."""
def assert_scalar(tensor: TensorLike, message: builtins.str | None = None, name: builtins.str | None = None) -> Any:
    """Stop unless the tensor is a scalar. Raises: ValueError. Source: tf.debugging.assert_scalar."""
def assert_shapes(shapes: Mapping[Any, Any] | Iterable[Any], data: Sequence[TensorLike] | None = None, summarize: builtins.int | None = None, message: builtins.str | None = None, name: builtins.str | None = None) -> None:
    """Stop unless tensors have these shapes, and extents of one symbol are equal.

    `shapes`: pairs (tensor, shape), or a dict with references as keys. A shape is a sequence, or a string of one letter
    for each axis, of: an int; a symbol, which stands for the same extent wherever it is; None or ".", any extent; and
    at the beginning or the end Ellipsis or "*", any number of axes. None for a shape says nothing; scalars, and the
    shape of none, count as of one axis of one element. Raises: ValueError; InvalidArgumentError when the
    graph runs for what is unknown while a function is traced. Source: tf.debugging.assert_shapes."""
def assert_type(tensor: TensorLike, tf_type: DTypeLike, message: builtins.str | None = None, name: builtins.str | None = None) -> Any:
    """Stop unless the tensor has this dtype. Raises: TypeError. Source: tf.debugging.assert_type."""
def check_numerics(tensor: TensorLike, message: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The tensor itself. f[*s] -> f[*s].

    Raises: InvalidArgumentError for NaN or infinities. Source: tf.debugging.check_numerics."""
def disable_check_numerics() -> None:
    """Undo `enable_check_numerics` on this thread; graphs keep the checks that they were traced with.

    Source: tf.debugging.disable_check_numerics."""
def enable_check_numerics(stack_height_limit: builtins.int = 30, path_length_limit: builtins.int = 50) -> None:
    """Raise an error that names the op and the line as soon as an op of this thread gives NaN or an infinity.

    It is so for ops that run from now on, and for graphs traced from now on, until `disable_check_numerics`; ops that
    only move elements are passed over. The limits change nothing: the lines of the user's program are shown.
    Raises: InvalidArgumentError, later, by the op. Source: tf.debugging.enable_check_numerics."""
def is_numeric_tensor(tensor: TensorLike) -> builtins.bool:
    """Return whether it is a tensor of numbers: bool and strings are none. Source: tf.debugging.is_numeric_tensor."""
