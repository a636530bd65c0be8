"""Checks of ranks, shapes and kinds, which are known while an op is called; of finite numbers, which are not.

Rule: what is known now is checked now and makes no node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, float32, int32, int64
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import Tensor, convert, current_trace
from fastgraph.ops.arguments import are_known, as_tensor, known_value, named
from fastgraph.ops.comparison import equal, greater_equal
from fastgraph.ops.creation import ones
from fastgraph.ops.elementwise import cast, minimum
from fastgraph.ops.families import public
from fastgraph.ops.joining import concat, stack
from fastgraph.ops.movement import rank as rank_of
from fastgraph.ops.movement import reshape
from fastgraph.ops.movement import shape as shape_of
from fastgraph.ops.reduction import reduce_any
from fastgraph.ops.runtime_assertions import (
    assert_p,
    beginning,
    check_numerics,
    rank_at_run_time,
    rank_known,
    rank_text,
)


@public("debugging.assert_all_finite")
def assert_all_finite(x: TensorLike, message: str, name: str | None = None) -> Any:
    """x, if none of its elements is infinite or NaN. f[*s] -> f[*s].

    Raises: InvalidArgumentError. Source: tf.debugging.assert_all_finite.
    """
    return check_numerics(x, message, name)


@public("debugging.assert_rank_in")
def assert_rank_in(x: TensorLike, ranks: Sequence[Any], message: str | None = None, name: str | None = None) -> Any:
    """Stop unless the rank of x is one of `ranks`. Raises: ValueError. Source: tf.debugging.assert_rank_in."""
    x = as_tensor(x)
    known = [as_tensor(rank) for rank in ranks]
    for rank in known:
        if not rank.dtype.is_integer:
            raise TypeError(f"tensor must be of type tf.int32; got {rank.dtype!r}")
        if rank.shape.rank not in (0, None):
            raise ValueError(f"Rank must be a scalar, got shape {rank.shape}")
    if not are_known(*known):
        holds = reduce_any(equal(cast(rank_of(x), int64), stack([cast(rank, int64) for rank in known])))
        return rank_at_run_time(name, x, holds, message, "in those given")
    wanted = tuple([int(known_value(rank)) for rank in known])  # type: ignore[arg-type]
    if x.shape.rank is None:
        return rank_at_run_time(name, x, reduce_any(equal(rank_of(x), list(wanted))), message, f"in {wanted}")
    if x.shape.rank not in wanted:
        raise ValueError(rank_text(message, x, f"in {wanted}"))
    return rank_known(name, "assert_rank_in")


@public("debugging.assert_same_float_dtype")
def assert_same_float_dtype(tensors: Sequence[Any] | None = None, dtype: DTypeLike | None = None) -> DType:
    """The one dtype of floats that all tensors, and `dtype`, have; float32 where nothing says.

    Raises: ValueError for another dtype, or one of no floats. Source: tf.debugging.assert_same_float_dtype.
    """
    wanted, first = (None if dtype is None else as_dtype(dtype)), None
    for tensor in tensors or ():
        if tensor is None:
            continue
        if not isinstance(getattr(tensor, "dtype", None), DType):
            raise TypeError(f"Expected tensors, got {tensor!r}")
        if wanted is None:
            wanted, first = tensor.dtype, tensor
        elif tensor.dtype is not wanted:
            beside = "" if first is None else f" as {first}"
            raise ValueError(f"{tensor}, type={tensor.dtype!r}, must be of the same type ({wanted!r}){beside}.")
    found = wanted or float32
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found!r}.")
    return found


@public("debugging.assert_proper_iterable")
def assert_proper_iterable(values: TensorLike) -> None:
    """Stop unless `values` is a list, a tuple or the like: no tensor, array or text.

    Raises: TypeError. Source: tf.debugging.assert_proper_iterable.
    """
    if isinstance(values, (Tensor, np.ndarray, bytes, str)):
        raise TypeError(f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}')
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


@public("debugging.is_numeric_tensor")
def is_numeric_tensor(tensor: TensorLike) -> bool:
    """Return whether it is a tensor of numbers: bool and strings are none. Source: tf.debugging.is_numeric_tensor."""
    if not isinstance(tensor, Tensor):
        return False
    dtype = tensor.dtype
    return bool(dtype.is_integer or dtype.is_floating or dtype.is_complex)


@public("debugging.assert_shapes")
def assert_shapes(
    shapes: Mapping[Any, Any] | Iterable[Any],
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Stop unless tensors have these shapes, and extents of one symbol are equal.

    `shapes`: pairs (tensor, shape), or a dict with references as keys. A shape is a sequence, or a string of one letter
    for each axis, of: an int; a symbol, which stands for the same extent wherever it is; None or ".", any extent; and
    at the beginning or the end Ellipsis or "*", any number of axes. None for a shape says nothing; scalars, and the
    shape of none, count as of one axis of one element. Raises: ValueError; InvalidArgumentError when the
    graph runs for what is unknown while a function is traced. Source: tf.debugging.assert_shapes.
    """
    begin = beginning(message)
    sizes: dict[Any, tuple[Any, str]] = {}
    pairs = shapes.items() if isinstance(shapes, Mapping) else shapes
    for given, spec in pairs:
        x = given.deref() if hasattr(given, "deref") else given
        if not _is_sparse(x):
            x = as_tensor(x)
        if spec is None:
            continue
        described = f"Tensor {_name(x)}shape={x.shape} dtype={x.dtype.name}"
        if not hasattr(spec, "__iter__") and not hasattr(spec, "__getitem__"):
            raise ValueError(
                f"{begin}{described}.  Specified shape must be an iterable.  An iterable has the attribute `__iter__` "
                f"or `__getitem__`.  Received specified shape: {spec}"
            )
        for axis, extent, symbol in _matched(begin, _with_axis(x), list(spec) or [1]):
            _compare(begin, described, x, axis, extent, symbol, sizes)


def _is_sparse(x: Any) -> bool:
    """Return whether x is a sparse tensor: it is looked at as it is, never made dense."""
    return hasattr(x, "dense_shape") and not isinstance(x, (Tensor, IndexedSlices))


def _extents(x: Any) -> Any:
    return cast(x.dense_shape, int32) if _is_sparse(x) else shape_of(x)


def _with_axis(x: Any) -> Any:
    """x as it is, a scalar as a vector of one element."""
    if x.shape.rank or _is_sparse(x):
        return ones([1]) if x.shape.rank == 0 else x
    return reshape(x, [1] if x.shape.rank == 0 else concat([shape_of(x), ones([1 - minimum(rank_of(x), 1)], int32)], 0))


def _name(x: Tensor) -> str:
    return f"{getattr(x, 'name', '')} " if current_trace() is not None else ""


def _matched(begin: str, x: Tensor, symbols: list[Any]) -> list[tuple[int, Any, Any]]:
    """(axis, extent, symbol) of the axes that a shape speaks of; an extent is a tensor where only the run knows it."""
    many = [symbol in ("*", Ellipsis) if not isinstance(symbol, Tensor) else False for symbol in symbols]
    if any(many[1:-1]):
        raise ValueError(f"{begin}Specified shape {symbols}: any number of axes stands at the beginning or the end")
    rank = x.shape.rank
    leading, trailing = bool(many and many[0]), bool(len(many) > 1 and many[-1])
    exact = symbols[leading : len(symbols) - trailing]
    some = leading or trailing
    what = f"at least {len(exact)}" if some else f"{len(exact)}"
    if rank is None:
        found = shape_of(_extents(x))[0]
        holds = greater_equal(found, len(exact)) if some else equal(found, len(exact))
        rank_at_run_time(None, x, holds, begin.rstrip(". ") or None, what)
    elif not (rank >= len(exact) if some else rank == len(exact)):
        raise ValueError(begin + rank_text(None, x, what))
    if leading and trailing:
        return []  # they could be any of the axes
    first = 0 if not leading else -len(exact) if rank is None else rank - len(exact)
    known = None if rank is None else x.shape.as_list()
    return [
        (first + i, _extents(x)[first + i] if known is None or known[first + i] is None else known[first + i], symbol)
        for i, symbol in enumerate(exact)
        if symbol is not None
    ]


def _compare(
    begin: str, described: str, x: Tensor, axis: int, extent: Any, symbol: Any, sizes: dict[Any, tuple[Any, str]]
) -> None:
    """Check one axis against its symbol, or remember what the symbol stands for."""
    if isinstance(symbol, Tensor):
        found = known_value(symbol)
        symbol = cast(symbol, "int32") if found is None else int(found)
    if isinstance(symbol, str) and symbol == ".":
        return
    if isinstance(symbol, str) and not symbol.isdigit():
        wanted, source = sizes.setdefault(
            symbol, (extent, f"by {described[0].lower()}{described[1:]} dimension {axis}")
        )
    else:
        wanted, source = (symbol if isinstance(symbol, Tensor) else int(symbol)), "explicitly"
    if isinstance(wanted, Tensor) or isinstance(extent, Tensor):
        text = f"{begin}Specified {source}.  {described} dimension {axis} must have size "
        data = [text, convert(wanted, int32), ".  Received size ", convert(extent, int32)]
        named(None, assert_p, equal(*data[1::2]), *data, summarize=3)
    elif wanted != extent:
        raise ValueError(
            f"{begin}Specified {source}.  {described} dimension {axis} must have size {wanted}.  Received size "
            f"{extent}, shape {x.shape}"
        )
