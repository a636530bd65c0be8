"""The meaning of Python's builtins in converted code.

Rule: as in statements.py; nothing here knows of blocks and their state.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.tensor import convert
from fastgraph.graph import control_flow, map_and_scan
from fastgraph.ops import (
    arg_reduction,
    comparison,
    creation,
    elementwise,
    gathering,
    movement,
    print_op,
    reduction,
    rounding,
    sorting,
    strings,
)
from fastgraph.staging.autograph.block_state import condition
from fastgraph.staging.autograph.expressions import BUILTINS, bool_, converted, decides, decisive, stacked
from fastgraph.staging.autograph.iterables import enumerate_, filter_, map_, reversed_, source_of, staged, zip_
from fastgraph.staging.autograph.staged_lists import StagedList


def range_(*limits: Any) -> Any:
    """range(...), of tensors tf.range; empty as Python's where the limit is behind the start."""
    if not any(map(decides, limits)):
        return range(*limits)
    first, last, by = (0, *limits, 1) if len(limits) == 1 else (*limits, 1)[:3]
    start, limit, step = creation.bounds(first, last, by)
    if decides(by):
        limit = gathering.where(step > 0, elementwise.maximum(start, limit), elementwise.minimum(start, limit))
    else:
        limit = (elementwise.maximum if by > 0 else elementwise.minimum)(start, limit)
    return creation.range_(start, limit, step)


def len_(value: Any) -> Any:
    """len(value); a tensor's may be known only when the graph runs."""
    if isinstance(value, StagedList):
        return value.length()
    value = decisive(value)
    if not decides(value):
        return len(value)
    if value.shape.rank == 0:
        raise ValueError("len requires a non-scalar tensor")
    known = None if value.shape.rank is None else value.shape[0]
    return known if known is not None else movement.shape(value)[0]


def print_(*values: Any, **options: Any) -> None:
    """print(...), where a symbolic tensor is among the values at every run of the graph."""
    if any(map(decides, nesting.flatten(list(values)))) and not options:
        print_op.print_(*values)
    else:
        builtins.print(*values, **options)


def int_(value: object = 0, /, base: int = 10) -> Any:
    """int(...), of a symbolic tensor its numbers as int32: those of strings, or a cast."""
    number = decisive(value)
    if not decides(number):
        return int(number) if base == 10 else int(number, base)
    if base != 10:
        raise NotImplementedError(f"int() of a tensor by the base {base}: a graph reads decimal numbers alone")
    return _numbers(number, dtypes.int32)


def float_(value: object = 0.0, /) -> Any:
    """float(...), of a symbolic tensor its numbers as float32: those of strings, or a cast."""
    number = decisive(value)
    return _numbers(number, dtypes.float32) if decides(number) else float(number)


def _numbers(value: Any, dtype: dtypes.DType) -> Any:
    return strings.to_number(value, dtype) if value.dtype == dtypes.string else elementwise.cast(value, dtype)


def _row_truths(values: Any) -> Any:
    if values.shape.rank is not None and values.shape.rank != 1:
        raise ValueError(f"any and all of {values}: its rows must be scalars; use tf.reduce_any or tf.reduce_all")
    return values if values.dtype == dtypes.bool_ else comparison.not_equal(values, elementwise.zeros_like(values))


def any_(values: object) -> Any:
    """any(...)."""
    values = stacked(values)
    if decides(values):
        return reduction.reduce_any(_row_truths(values))
    return _first_of(values, True, comparison.logical_or)


def all_(values: object) -> Any:
    """all(...)."""
    values = stacked(values)
    if decides(values):
        return reduction.reduce_all(_row_truths(values))
    return _first_of(values, False, comparison.logical_and)


def _first_of(values: Any, deciding: bool, joined: Callable[[Any, Any], Any]) -> Any:
    """Return whether a value is `deciding`: Python's answer as soon as a Python value gives it, or the tensors'."""
    found = None
    for value in values:
        truth = bool_(value)
        if decides(truth):
            found = truth if found is None else joined(found, truth)
        elif truth is deciding:
            return deciding
    return not deciding if found is None else found


def max_(*values: object, **options: object) -> Any:
    """max(...)."""
    return _extreme("max", values, options, arg_reduction.argmax, comparison.greater)


def min_(*values: object, **options: object) -> Any:
    """min(...)."""
    return _extreme("min", values, options, arg_reduction.argmin, comparison.less)


def _extreme(what: str, values: tuple[Any, ...], options: dict[str, Any], place: Any, beats: Any) -> Any:
    """The first of the greatest (or least) values, as Python finds it."""
    python = getattr(builtins, what)
    if len(values) == 1:
        single = stacked(values[0])
        if decides(single) and not options:
            if single.shape.rank is not None and single.shape.rank != 1:
                raise ValueError(f"{what} of {single}: its rows must be scalars; use tf.reduce_{what}")
            return gathering.gather(single, place(single, 0))
        elements: Any = list(source_of(single)) if staged(single) else list(single)
    else:
        elements = [decisive(value) for value in values]
    key = converted(options.get("key"))
    keys = [key(element) for element in elements] if key else elements
    if not any(map(decides, keys)):
        return python(*values, **options) if len(values) > 1 else python(elements, **options)
    best, best_key = elements[0], keys[0]
    for element, its_key in zip(elements[1:], keys[1:], strict=True):
        better = condition(beats(its_key, best_key), what)
        best_key = control_flow.cond(better, lambda k=its_key: convert(k), lambda k=best_key: convert(k))
        best = best_key if key is None else control_flow.cond(better, lambda e=element: e, lambda e=best: e)
    return best


def sum_(values: Any, start: Any = 0) -> Any:
    """sum(...)."""
    values = stacked(values)
    if decides(values):
        total = reduction.reduce_sum(values, 0)
        return total if isinstance(start, int) and start == 0 else start + total
    return builtins.sum(values, start)


def sorted_(values: Any, *, key: Callable[..., Any] | None = None, reverse: bool = False) -> Any:
    """sorted(...), of a symbolic tensor as a tensor: its elements, or its rows by a key, equal ones in their order."""
    values = stacked(values)
    if not decides(values):
        return builtins.sorted(values, key=key, reverse=reverse)
    if key is None and values.shape.rank not in (None, 1):
        raise ValueError(f"sorted of {values}: its rows must be scalars, or a key must say by what to sort")
    direction = "DESCENDING" if reverse else "ASCENDING"
    if key is None:
        return sorting.sort(values, direction=direction)
    keys = map_and_scan.map_fn(converted(key), values, fn_output_signature=None)
    if keys.shape.rank not in (None, 1):
        raise ValueError(f"sorted by a key: a row's key must be a scalar, and is of shape {keys.shape[1:]}")
    return gathering.gather(values, sorting.argsort(keys, direction=direction, stable=True))


def isinstance_(value: Any, kinds: Any) -> bool:
    """isinstance(...): a list that a staged statement has appended to is one."""
    return builtins.isinstance([] if isinstance(value, StagedList) else value, kinds)


def abs_(value: object) -> Any:
    """abs(...)."""
    return builtins.abs(decisive(value))


def round_(value: Any, *digits: Any) -> Any:
    """round(...), of a symbolic tensor element by element, halves to even."""
    value = decisive(value)
    if not decides(value):
        return builtins.round(value, *digits)
    if not digits or digits[0] is None:
        return rounding.round(value)
    scale = 10.0 ** digits[0]
    return rounding.round(value * scale) / scale


def list_(*values: object) -> Any:
    """list(...), of a symbolic tensor its rows."""
    if len(values) == 1 and isinstance(values[0], StagedList):
        return values[0].of(values[0].parts())
    return list(*map(_elements, values))


def tuple_(*values: object) -> Any:
    """tuple(...), of a symbolic tensor its rows."""
    return tuple(*map(_elements, values))


def _elements(value: object) -> Any:
    if isinstance(value, StagedList):
        raise value.unsupported("tuple()")
    value = decisive(value)
    return source_of(value) if staged(value) else value


BUILTINS.update({
    print: print_, range: range_, len: len_, int: int_, float: float_, bool: bool_, any: any_, all: all_, max: max_,
    min: min_, sum: sum_, sorted: sorted_, abs: abs_, round: round_, list: list_, tuple: tuple_, enumerate: enumerate_,
    zip: zip_, map: map_, filter: filter_, reversed: reversed_, isinstance: isinstance_,
})  # fmt: skip
