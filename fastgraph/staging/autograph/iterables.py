"""Iterables of staged for loops besides tensors: enumerate, zip, map, filter and reversed of tensors.

Rule: an iterable here is a number of rows and a function from a row's index to the row, so that a loop over it is
staged; Python code that iterates it itself gets the rows one by one, if their number is known while tracing.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.tensor import Tensor, convert
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.ops import division, elementwise, gathering, joining, movement
from fastgraph.ops.arguments import known_value
from fastgraph.staging.autograph.block_state import is_tensor
from fastgraph.staging.autograph.expressions import and_, bool_, converted, decides, decisive
from fastgraph.staging.autograph.staged_lists import StagedList


class StagedIterable:
    """Rows of tensors that a staged loop runs over."""

    #: Row -> True if the loop's body runs for it; None where it does for all.
    holds: Callable[[Any], Any] | None = None

    def count(self) -> Any:
        """Return the number of rows: an int where it is known while tracing, else a tensor."""
        raise NotImplementedError

    def row(self, i: object) -> Any:
        """Return the i-th row."""
        raise NotImplementedError

    def value(self, row: object) -> Any:
        """Return what the loop's target gets for a row."""
        return row

    def __iter__(self) -> Iterator[Any]:
        n = self.count()
        if not isinstance(n, int):
            raise ValueError(
                "Python cannot iterate over a tensor whose first dimension is unknown while tracing: loop over it with "
                "a for statement, or use tf.map_fn."
            )
        for i in range(n):
            row = self.row(i)
            if self.holds is not None and decides(self.holds(row)):
                raise ValueError("filter by a tensor gives a number of elements that only the graph knows: loop over it"
                                 " with a for statement, or use tf.boolean_mask.")  # fmt: skip
            if self.holds is None or self.holds(row):
                yield self.value(row)


class _Rows(StagedIterable):
    def __init__(self, tensor: Tensor) -> None:
        if tensor.shape.rank == 0:
            raise TypeError("cannot iterate over a scalar tensor")
        self.tensor = tensor
        self._rows: list[Any] | None = None
        self._counted = counted(tensor) if isinstance(tensor, SymbolicTensor) else None

    def count(self) -> Any:
        known = None if self.tensor.shape.rank is None else self.tensor.shape[0]
        if known is not None:
            return known
        return self._counted[0] if self._counted else movement.shape(self.tensor)[0]

    def row(self, i: object) -> Any:
        return self._counted[1](i) if self._counted else gathering.gather(self.tensor, i)

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.count(), int):
            return iter(joining.unstack(self.tensor))
        return super().__iter__()


class _Filled(StagedIterable):
    """The elements of a list that a staged loop has filled."""

    def __init__(self, filled: StagedList) -> None:
        self.filled = filled

    def count(self) -> Any:
        return self.filled.length()

    def row(self, i: object) -> Any:
        return self.filled.row(i)


class _Elements(StagedIterable):
    """The elements of a Python sequence, all alike, as rows."""

    def __init__(self, elements: list[Any]) -> None:
        self.elements = elements
        self._stacks: list[Any] | None = None

    def count(self) -> Any:
        return len(self.elements)

    def row(self, i: object) -> Any:
        if isinstance(i, int):
            return self.elements[i]
        columns = zip(*(nesting.flatten(element) for element in self.elements), strict=True)
        leaves = [gathering.gather(joining.stack([convert(leaf) for leaf in column]), i) for column in columns]
        first = self.elements[0]
        return nesting.pack_sequence_as(first, leaves) if nesting.is_nested(first) else leaves[0]


class _Enumerated(StagedIterable):
    def __init__(self, source: StagedIterable, start: int) -> None:
        self.source = _whole(source, "enumerate")
        self.start = start

    def count(self) -> Any:
        return self.source.count()

    def row(self, i: object) -> Any:
        number = i if isinstance(i, int) else elementwise.cast(i, dtypes.int32)
        return number + self.start, self.source.value(self.source.row(i))


class _Zipped(StagedIterable):
    def __init__(self, sources: list[StagedIterable]) -> None:
        self.sources = [_whole(source, "zip") for source in sources]

    def count(self) -> Any:
        counts = [source.count() for source in self.sources]
        known = [n for n in counts if isinstance(n, int)]
        least: Any = min(known) if known else None
        for n in counts:
            if not isinstance(n, int):
                n = elementwise.cast(n, dtypes.int64)
                least = n if least is None else elementwise.minimum(n, convert(least, dtypes.int64))
        return least

    def row(self, i: object) -> Any:
        return tuple(source.value(source.row(i)) for source in self.sources)


class _Mapped(StagedIterable):
    def __init__(self, function: Callable[..., Any], source: StagedIterable, *, several: bool) -> None:
        self.function = function
        self.source = source
        self.several = several
        self.holds = source.holds

    def count(self) -> Any:
        return self.source.count()

    def row(self, i: object) -> Any:
        return self.source.row(i)

    def value(self, row: object) -> Any:
        inner = self.source.value(row)
        return self.function(*inner) if self.several else self.function(inner)


class _Filtered(StagedIterable):
    def __init__(self, function: Callable[..., Any] | None, source: StagedIterable) -> None:
        self.source = source
        inner = source.holds

        def holds(row: object) -> Any:
            value = source.value(row)
            own = bool_(value) if function is None else function(value)
            return own if inner is None else and_(lambda: inner(row), lambda: own)

        self.holds = holds

    def count(self) -> Any:
        return self.source.count()

    def row(self, i: object) -> Any:
        return self.source.row(i)

    def value(self, row: object) -> Any:
        return self.source.value(row)


class _Reversed(StagedIterable):
    def __init__(self, source: StagedIterable) -> None:
        self.source = _whole(source, "reversed")

    def count(self) -> Any:
        return self.source.count()

    def row(self, i: Any) -> Any:
        last = self.source.count() - 1
        if not isinstance(last, int) and not isinstance(i, int):
            last = elementwise.cast(last, i.dtype)
        return self.source.value(self.source.row(last - i))


def start_of(iter_: Any) -> Any:
    """Return where a tf.range starts, None for another tensor."""
    node = iter_.value.node
    return SymbolicTensor(node.inputs[0], iter_.trace) if node.op.name == "range" else None


def counted(iter_: Any) -> tuple[Any, Callable[[Any], Any]] | None:
    """(how many, the i-th) of a tf.range of integers: no memory, and no error where it has none. Else None."""
    node = iter_.value.node
    if node.op.name != "range" or not iter_.dtype.is_integer or node.inputs[2].aval.value == 0:
        return None

    def whole(value: Any) -> Any:
        return elementwise.cast(SymbolicTensor(value, iter_.trace), dtypes.int64)

    start, limit = whole(node.inputs[0]), whole(_limit_as_given(*node.inputs[:2]))
    known = node.inputs[2].aval.value
    step: Any = whole(node.inputs[2]) if known is None else int(known)
    n = elementwise.subtract(limit, start)
    if known is None or step != 1:  # in int64, so that what is added does not overflow
        one: Any = elementwise.sign(step) if known is None else 1 if step > 0 else -1
        n = division.floordiv(elementwise.add(n, step - one), step)

    def row(i: object) -> Any:
        with name_scope("iterate"):  # the body's own operations have the names that they would have without these
            steps = i if known is not None and step == 1 else elementwise.multiply(i, step)
            return elementwise.cast(steps if known_value(start) == 0 else elementwise.add(start, steps), iter_.dtype)

    return n, row


def _limit_as_given(start: Any, limit: Any) -> Any:
    """Return the limit of a range that was kept from lying behind its start: no iteration runs in either case."""
    if limit.node.op.name not in ("maximum", "minimum"):
        return limit
    one, other = limit.node.inputs
    same = one is start or (one.aval.value is not None and one.aval.value == start.aval.value)
    return other if same else limit


def _whole(source: StagedIterable, what: str) -> StagedIterable:
    if source.holds is not None:
        raise ValueError(
            f"{what} of a filter by a tensor: how many elements it has only the graph knows. Filter in the loop, by an "
            "if statement."
        )
    return source


def staged(value: object) -> bool:
    """Say whether a loop over `value` is staged."""
    return isinstance(value, (SymbolicTensor, StagedIterable, StagedList))


def source_of(value: Any) -> StagedIterable:
    """Return the rows of something that `staged` says yes to, or of a Python sequence whose elements are alike."""
    if isinstance(value, StagedIterable):
        return value
    if isinstance(value, StagedList):
        return _Filled(value)
    if isinstance(value, Tensor):
        return _Rows(value)
    return _Elements(list(value))


def rows_of(value: object) -> Any:
    """Return what a comprehension runs over: the rows of a tensor, if their number is known; else `value` itself."""
    if isinstance(value, StagedList):
        return iter(source_of(value))
    value = decisive(value)
    return iter(source_of(value)) if isinstance(value, SymbolicTensor) else value


def known_rows(value: object) -> Any:
    """Return the rows of a tensor as a list, if their number is known; else `value` itself, to be looped over."""
    value = unpacked(value)
    return source_of(value) if isinstance(value, SymbolicTensor) else value


def unpacked(value: object) -> Any:
    """Return the rows of a tensor as a list, if their number is known; else `value` itself."""
    if isinstance(value, SymbolicTensor) and value.shape.rank and value.shape[0] is not None:
        return joining.unstack(value)
    return value


def unpacked_around(value: object, before: int, after: int) -> tuple[Any, ...]:
    """Return the first values, a list of those between, and the last ones. Raises ValueError for too few."""
    items = list(unpacked(value))
    if len(items) < before + after:
        raise ValueError(f"not enough values to unpack (expected at least {before + after}, got {len(items)})")
    stop = len(items) - after
    return (*items[:before], items[before:stop], *items[stop:])


# ---- The builtins ---------------------------------------------------------------------------------------------------


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """enumerate(iterable, start)."""
    return _Enumerated(source_of(iterable), start) if staged(iterable) else builtins.enumerate(iterable, start)


def zip_(*iterables: object, strict: bool = False) -> Any:
    """zip(*iterables): with tensors as many rows as the shortest has. Raises ValueError where strict forbids it."""
    if not any(map(staged, iterables)):
        return builtins.zip(*iterables, strict=strict)
    if not all(staged(each) or _sequence_of_tensors(each) for each in iterables):
        return builtins.zip(*(source_of(each) if staged(each) else each for each in iterables), strict=strict)
    result = _Zipped([source_of(each) for each in iterables])
    counts = [source.count() for source in result.sources]
    if strict and len({n for n in counts if isinstance(n, int)}) > 1:
        raise ValueError(f"zip() arguments have different lengths: {counts}")
    return result


def _sequence_of_tensors(value: object) -> bool:
    """Say whether the elements of a sequence can be the rows of tensors: alike in structure, dtype and shape."""
    if isinstance(value, Tensor):
        return True
    if not isinstance(value, (list, tuple, range)) or not len(value):
        return False
    if not all(is_tensor(leaf) for element in value for leaf in nesting.flatten(element)):
        return False
    try:
        kinds = {
            tuple((convert(leaf).dtype, tuple(convert(leaf).shape.as_list())) for leaf in nesting.flatten(element))
            for element in value
        }
        return len(kinds) == 1
    except (TypeError, ValueError):
        return False


def map_(function: Callable[..., Any], *iterables: Any) -> Any:
    """map(function, *iterables); the function is converted like one that is called by name."""
    function = converted(function)
    if not any(map(staged, iterables)):
        return builtins.map(function, *iterables)
    if len(iterables) == 1:
        return _Mapped(function, source_of(iterables[0]), several=False)
    zipped = zip_(*iterables)
    if not isinstance(zipped, StagedIterable):
        return (function(*row) for row in zipped)
    return _Mapped(function, zipped, several=True)


def filter_(function: object, iterable: object) -> Any:
    """filter(function, iterable): where a tensor decides, the body of the loop over it runs under a condition."""
    if staged(iterable):
        return _Filtered(converted(function), source_of(iterable))
    return FilteredElements(converted(function), iterable)


class FilteredElements(Iterator[Any]):
    """filter(function, iterable) of Python elements: a tensor may decide for each whether the loop's body runs."""

    def __init__(self, function: Callable[..., Any] | None, iterable: Any) -> None:
        self.function = bool if function is None else function
        self.elements = iter(iterable)

    def __next__(self) -> Any:
        for element in self.elements:
            holds = self.function(element)
            if decides(holds):
                raise ValueError("filter by a tensor gives a number of elements that only the graph knows: loop over it"
                                 " with a for statement, or use tf.boolean_mask.")  # fmt: skip
            if holds:
                return element
        raise StopIteration


def reversed_(sequence: Any) -> Any:
    """reversed(sequence)."""
    return _Reversed(source_of(sequence)) if staged(sequence) else builtins.reversed(sequence)
