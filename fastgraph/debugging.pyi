# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph import Assert as Assert
from fastgraph import assert_equal as assert_equal
from fastgraph import assert_greater as assert_greater
from fastgraph import assert_less as assert_less
from fastgraph import assert_rank as assert_rank
from typing import Any
import builtins

def assert_greater_equal(x: Any, y: Any, message: Any = None, summarize: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless x >= y for all elements. t[*s], t[*s] -> nothing, broadcasting.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_greater_equal."""
def assert_integer(x: Any, message: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless x is of integers. Raises: TypeError. Source: tf.debugging.assert_integer."""
def assert_less_equal(x: Any, y: Any, message: Any = None, summarize: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless x <= y for all elements. t[*s], t[*s] -> nothing, broadcasting.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_less_equal."""
def assert_near(x: Any, y: Any, rtol: Any = None, atol: Any = None, message: Any = None, summarize: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless |x - y| <= atol + rtol * |y| for all elements (both 10 eps by default). f[*s], f[*s] -> nothing.

    Raises: InvalidArgumentError. Source: tf.debugging.assert_near."""
def assert_negative(x: Any, message: Any = None, summarize: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless x < 0 for all elements. t[*s] -> nothing.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_negative."""
def assert_non_negative(x: Any, message: Any = None, summarize: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless x >= 0 for all elements. t[*s] -> nothing.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_non_negative."""
def assert_non_positive(x: Any, message: Any = None, summarize: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless x <= 0 for all elements. t[*s] -> nothing.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_non_positive."""
def assert_none_equal(x: Any, y: Any, message: Any = None, summarize: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless x != y for all elements. t[*s], t[*s] -> nothing, broadcasting.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_none_equal."""
def assert_positive(x: Any, message: Any = None, summarize: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless x > 0 for all elements. t[*s] -> nothing.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_positive."""
def assert_rank_at_least(x: Any, rank: Any, message: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless x has at least this rank. Raises: ValueError. Source: tf.debugging.assert_rank_at_least."""
def assert_scalar(tensor: Any, message: Any = None, name: builtins.str | None = None) -> Any:
    """The tensor, if it is a scalar. t[] -> t[]. Raises: ValueError. Source: tf.debugging.assert_scalar."""
def assert_type(tensor: Any, tf_type: Any, message: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless the tensor has this dtype. Raises: TypeError. Source: tf.debugging.assert_type."""
def check_numerics(tensor: Any, message: Any, name: builtins.str | None = None) -> Any:
    """The tensor itself. f[*s] -> f[*s].

    Raises: InvalidArgumentError for NaN or infinities. Source: tf.debugging.check_numerics."""
