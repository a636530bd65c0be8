"""Datasets made with functions that keep something from element to element, or give datasets whose elements mingle.

Rule: as in element_functions.py: such a function is traced when the dataset is made.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, bool_, int32, int64
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.tensor import as_array, from_array
from fastgraph.data.element_functions import Mapped, OfFunction
from fastgraph.data.element_specs import Element, packed
from fastgraph.data.prefetching import LONG, MOST_THREADS, TIMES, Call, Crew, Failed, anywhere, check_process, given
from fastgraph.data.sources import INFINITE, UNKNOWN, OfTensors, Run, Source
from fastgraph.data.windows import Elements, handle_of
from fastgraph.errors import InternalError, OpError
from fastgraph.ops.families import invalid


class TakeWhile(OfFunction):
    """The elements before the first of which a function is false. Source: tf.data.Dataset.take_while."""

    name = "_TakeWhileDataset"

    def __init__(self, source: Source, *captured: Any, mapped: Mapped) -> None:
        super().__init__(source, captured, mapped)
        self.spec, found = source.spec, mapped.spec
        if not (isinstance(found, TensorSpec) and found.dtype is bool_ and found.shape.is_compatible_with(())):
            text = f"Invalid `predicate`: it must return a `tf.bool` scalar tensor but its return type is {found}."
            raise ValueError(text)

    def elements(self, run: Run) -> Iterator[Element]:
        return _While(self.source.elements(run), self.function(run))


class _While(Iterator[Element]):
    """One pass, which an error in the source does not end."""

    def __init__(self, left: Iterator[Element], function: Callable[[Element], Element]) -> None:
        self.left, self.function, self.ended = left, function, False

    def __next__(self) -> Element:
        if self.ended:
            raise StopIteration
        element = next(self.left)
        if not bool(as_array(self.function(element)[0])):
            self.ended = True
            raise StopIteration
        return element


class Scan(OfFunction):
    """The results that a function of a state and an element gives besides the next state. Source: tf.data.Dataset.scan.

    Operands after the source: the tensors of the first state, then what the function captured.
    """

    name = "_ScanDataset"

    def __init__(self, source: Source, *operands: Any, mapped: Mapped, n_state: int) -> None:
        super().__init__(source, operands[n_state:], mapped)
        self.state, self.spec = operands[:n_state], mapped.spec[1]

    def elements(self, run: Run) -> Iterator[Element]:
        function, state, n = self.function(run), self.state, len(self.state)

        def next_one(element: Element) -> Element:
            nonlocal state
            found = function((*state, *element))
            state = found[:n]
            return found[n:]

        return map(next_one, self.source.elements(run))

    def cardinality(self) -> int:
        return self.source.cardinality()


class Interleave(OfFunction):
    """Elements of `cycle` datasets that a function of each element gives, `block` of each in turn.

    Source: tf.data.Dataset.interleave.
    """

    def __init__(
        self,
        source: Source,
        cycle: Any,
        block: Any,
        *captured: Any,
        mapped: Mapped,
        parallel: bool = False,
        threads: int = 0,
        ordered: bool | None = None,
    ) -> None:
        super().__init__(source, captured, mapped)
        self.cycle, self.block = (int(n) if isinstance(n, int) or hasattr(n, "numpy") else n for n in (cycle, block))
        if parallel and isinstance(self.cycle, int) and 0 < self.cycle < threads:
            raise invalid(
                "`num_parallel_calls` must be less than or equal to `cycle_length`. [Op:ParallelInterleaveDatasetV4]"
            )
        for value, what in ((self.cycle, "`cycle_length`"), (self.block, "`block_length`")):
            if isinstance(value, int) and value < 1:
                raise invalid(f"{what} must be > 0. [Op:InterleaveDataset]")
        self.inner = mapped.spec
        if not hasattr(self.inner, "element_spec"):
            raise TypeError(f"The `map_func` argument must return a `Dataset` object. Got {self.inner}.")
        self.spec = self.inner.element_spec
        self.parallel, self.threads, self.ordered = parallel, threads, ordered
        self.name = "_ParallelInterleaveDataset" if parallel else "_InterleaveDataset"

    def elements(self, run: Run) -> Iterator[Element]:
        return _Interleaved(self, run)

    def cardinality(self) -> int:
        return INFINITE if self.parallel and self.source.cardinality() == INFINITE else UNKNOWN  # as TensorFlow says


class _Interleaved(Iterator[Element]):
    """One pass. A place whose dataset has ended is empty until its next turn.

    Where TensorFlow has threads an error has a turn as an element has, and what is not made is a dataset of its error.
    There threads begin once elements take long: each makes the next block of one of the open datasets.
    """

    def __init__(self, interleave: Interleave, run: Run) -> None:
        self.left, self.function, self.run = interleave.source.elements(run), interleave.function(run), run
        self.inner, self.block, self.parallel = interleave.inner, interleave.block, interleave.parallel
        self.places: list[Iterator[Element] | None] = [None] * interleave.cycle
        self.at = self.taken = self.open = 0
        self.ended = False
        wanted = interleave.threads if interleave.threads > 0 else MOST_THREADS
        self.threads = min(wanted, interleave.cycle) if interleave.parallel else 0
        self.ordered = run.ordered if interleave.ordered is None else interleave.ordered
        self.long = 0  # elements in a row that took long
        self.crew: Crew | None = None
        self.calls: list[Call | None] = []  # of the places, each of whose next block it makes
        self.found: deque[Any] = deque()  # of the block whose turn it is

    def _on(self) -> None:
        self.at, self.taken = (self.at + 1) % len(self.places), 0

    def __next__(self) -> Element:
        if self.crew is not None:
            return self._next_made(self.crew)
        while self.open or not self.ended:
            place = self.places[self.at]
            if place is not None:
                begin = time.perf_counter() if self.threads else 0.0
                try:
                    element = next(place, None)
                except OpError:
                    self.taken += self.parallel
                    if self.taken == self.block:
                        self._on()
                    raise
                if element is None:
                    self.places[self.at] = None
                    self.open -= 1
                    self._on()
                    continue
                self.taken += 1
                if self.taken == self.block:
                    self._on()
                if self.threads > 1:
                    self.long = self.long + 1 if time.perf_counter() - begin > LONG else 0
                    if self.long == TIMES:
                        self._start()
                return element
            if self.ended:
                self._on()
                continue
            self._open(self.at)
        raise StopIteration

    def _open(self, at: int) -> None:
        """Begin the next dataset at a place, if there is one."""
        try:
            outer = next(self.left, None)
            if outer is None:
                self.ended = True
                return
            source = packed(self.inner, self.function(outer)).source
            if anywhere(source, "draws") or anywhere(source, "order"):
                self.threads = 0  # passes that begin in threads would draw what they draw in any order
            opened: Iterator[Element] = source.elements(self.run)
        except OpError as error:
            if not self.parallel:
                raise
            opened = _failing(error)
        self.places[at] = opened
        self.open += 1

    def _start(self) -> None:
        n = len(self.places)
        self.calls = [None] * n
        self.crew = Crew(_block_of, self.threads, self.ordered, "fastgraph-interleave")
        for i in range(n):
            self._ask(self.crew, (self.at + i) % n, self.block if i else self.block - self.taken)

    def _ask(self, crew: Crew, at: int, n: int) -> None:
        """Let a thread make the next n elements of a place."""
        if self.places[at] is None and not self.ended:
            self._open(at)
        place = self.places[at]
        call = self.calls[at] = None if place is None else Call((at, place, n))
        if call is not None:
            crew.calls.put(call)

    def _next_made(self, crew: Crew) -> Element:
        check_process(crew.process)
        while not self.found:
            if not self.open:
                crew.stop()
                raise StopIteration
            if self.ordered:
                call = self.calls[self.at]
                self.at = (self.at + 1) % len(self.places)
                if call is None:
                    continue
                call.done.acquire()
            else:
                call = crew.done.get()
            at, _, n = call.element
            self.found.extend(call.found)
            if len(call.found) < n:
                self.places[at] = None
                self.open -= 1
            self._ask(crew, at, self.block)
        return given(self.found.popleft())

    def __del__(self) -> None:
        if self.crew is not None:
            self.crew.stop()


def _block_of(asked: tuple[int, Iterator[Element], int]) -> list[Any]:
    """The next n elements of a dataset, or errors in their places; fewer at its end."""
    _, elements, n = asked
    found: list[Any] = []
    while len(found) < n:
        try:
            element = next(elements, None)
        except BaseException as error:
            found.append(Failed(error))
        else:
            if element is None:
                break
            found.append(element)
    return found


def _failing(error: OpError) -> Iterator[Element]:
    """Raise an error, once."""
    raise error
    yield


def check_integer(spec: Any, name: str, dtypes: Sequence[DType] = (int32, int64)) -> None:
    """Raise ValueError if a function's result is no scalar of these dtypes."""
    if not (isinstance(spec, TensorSpec) and spec.dtype in dtypes and spec.shape.rank in (0, None)):
        raise ValueError(f"Invalid `{name}`. `{name}` must return a single `tf.int64` scalar tensor but got {spec}.")


class GroupByWindow(OfTensors):
    """Datasets that a function makes of `window_size` elements with one key. Source: tf.data.Dataset."""

    name = "_GroupByWindowDataset"

    def __init__(
        self, source: Source, *captured: Any, key: Mapped, reduce: Mapped, size: Mapped, counts: tuple[int, int]
    ) -> None:
        self.source, self.functions = source, (key, reduce, size)
        first, second = counts
        self.captured = captured[:first], captured[first : first + second], captured[first + second :]
        check_integer(key.spec, "key_func")
        check_integer(size.spec, "window_size_func")
        if not hasattr(reduce.spec, "element_spec"):
            raise TypeError(
                f"Invalid `reduce_func`. `reduce_func` must return a `Dataset` object but got {reduce.spec}."
            )
        self.spec = reduce.spec.element_spec

    def elements(self, run: Run) -> Iterator[Element]:
        return _Groups(self, run)

    def cardinality(self) -> int:
        return INFINITE if self.source.cardinality() == INFINITE else UNKNOWN


class _Groups(Iterator[Element]):
    """One pass: windows as they become full, and at the end what is left, by key."""

    def __init__(self, grouped: GroupByWindow, run: Run) -> None:
        self.left, self.run, self.spec = grouped.source.elements(run), run, grouped.source.spec
        pairs = zip(grouped.functions, grouped.captured, strict=True)
        self.key, self.reduce, self.size = (function.bound(captured, run) for function, captured in pairs)
        self.inner, code = grouped.functions[1].spec, grouped.functions[1].code
        self.named = getattr(code, "__name__", type(code).__name__)
        self.groups: dict[int, list[Element]] = {}
        self.sizes: dict[int, int] = {}
        self.now: Iterator[Element] | None = None
        self.ended = False

    def __next__(self) -> Element:
        while True:
            if self.now is not None:
                element = next(self.now, None)
                if element is not None:
                    return element
                self.now = None
            if not self.ended:
                row = next(self.left, None)
                if row is None:
                    self.ended = True
                    continue
                key = int(as_array(self.key(row)[0]))
                group = self.groups.setdefault(key, [])
                group.append(row)
                if len(group) == self._size_of(key):
                    self._begin(key)
            elif self.groups:
                self._begin(min(self.groups))
            else:
                raise StopIteration

    def _size_of(self, key: int) -> int:
        if key not in self.sizes:
            size = int(as_array(self.size((_number(key),))[0]))
            if size <= 0:
                raise invalid(f"Window size must be greater than zero, but got {size}. [Op:IteratorGetNext]")
            self.sizes[key] = size
        return self.sizes[key]

    def _begin(self, key: int) -> None:
        rows = Elements(self.groups.pop(key), self.spec)
        try:
            found = self.reduce((_number(key), handle_of(rows)))
        except OpError as error:
            text = f"{code_name(error)}: function {self.named}: {error.message}"
            raise InternalError(error.node_def, error.op, text) from error
        self.now = packed(self.inner, found).source.elements(self.run)


class GroupByReducer(OfTensors):
    """One result for each key, of its elements in order. Source: tf.data.experimental.group_by_reducer."""

    name = "_GroupByReducerDataset"

    def __init__(self, source: Source, *, key: Mapped, init: Mapped, reduce: Mapped, finalize: Mapped) -> None:
        self.source, self.functions = source, (key, init, reduce, finalize)
        self.spec = finalize.spec

    def elements(self, run: Run) -> Iterator[Element]:
        key, init, reduce, finalize = (function.bound((), run) for function in self.functions)
        states: dict[int, Element] = {}
        for element in self.source.elements(run):
            number = int(as_array(key(element)[0]))
            state = states[number] if number in states else init((_number(number),))
            states[number] = reduce((*state, *element))
        for number in sorted(states):
            yield finalize(states[number])


def code_name(error: OpError) -> str:
    """Return TensorFlow's name of an error's code: INVALID_ARGUMENT of an InvalidArgumentError."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", type(error).__name__.removesuffix("Error")).upper()


def _number(key: int) -> Any:
    return from_array(np.array(key, np.int64))
