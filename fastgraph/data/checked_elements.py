"""Datasets that look at elements as they pass: each once, those without errors, as many as was said.

Rule: as in transformations.py; an element passes as it is, or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastgraph.core.base.logger import get_logger
from fastgraph.core.tensor import as_array
from fastgraph.data.element_specs import Element
from fastgraph.data.sources import UNKNOWN, Run, Source
from fastgraph.data.transformations import Counted, Same
from fastgraph.errors import FailedPreconditionError, OpError


class Unique(Same):
    """Each element once. Source: tf.data.Dataset.unique."""

    name = "_UniqueDataset"

    def elements(self, run: Run) -> Iterator[Element]:
        seen: set[Any] = set()

        def is_new(element: Element) -> bool:
            key = tuple([(array.shape, array.tobytes() if not array.dtype.hasobject else tuple(array.reshape(-1)))
                         for array in map(as_array, element)])  # fmt: skip
            return key not in seen and not seen.add(key)  # type: ignore[func-returns-value]

        return filter(is_new, self.source.elements(run))

    def cardinality(self) -> int:
        return UNKNOWN


class IgnoreErrors(Same):
    """The elements that come without an error. Source: tf.data.Dataset.ignore_errors."""

    name = "_IgnoreErrorsDataset"

    def __init__(self, source: Source, *, log: bool) -> None:
        super().__init__(source)
        self.log = log

    def elements(self, run: Run) -> Iterator[Element]:
        return _Ignoring(self.source.elements(run), self.log)

    def cardinality(self) -> int:
        return UNKNOWN


class _Ignoring(Iterator[Element]):
    def __init__(self, left: Iterator[Element], log: bool) -> None:
        self.left, self.log = left, log

    def __next__(self) -> Element:
        while True:
            try:
                return next(self.left)
            except OpError as error:
                if self.log:
                    get_logger().warning("Error raised with error message %s", error)


class Known(Counted):
    """The same elements, of which somebody knows how many there are."""

    name = "_LoadDataset"

    def cardinality(self) -> int:
        return int(self.count)


class OfCardinality(Same):
    """The elements, of which there are as many as is said. Source: tf.data.experimental.assert_cardinality."""

    name = "_AssertCardinalityDataset"

    def __init__(self, source: Source, count: Any) -> None:
        super().__init__(source)
        self.count = count

    def elements(self, run: Run) -> Iterator[Element]:
        return _Counting(self.source.elements(run), self.count)

    def cardinality(self) -> int:
        return int(self.count)


def _elements(n: int) -> str:
    return f"{n} element{'s' * (n != 1)}"


class _Counting(Iterator[Element]):
    """One pass. Raises FailedPreconditionError for another number of elements."""

    def __init__(self, left: Iterator[Element], count: int) -> None:
        self.left, self.count, self.n = left, count, 0

    def __next__(self) -> Element:
        wanted = "an infinite number of elements" if self.count < 0 else _elements(self.count)
        element = next(self.left, None)
        if element is None:
            if self.n != self.count and self.count != UNKNOWN:
                text = f"Input dataset was expected to contain {wanted} but contained only {_elements(self.n)}."
                raise FailedPreconditionError(None, None, text)
            raise StopIteration
        self.n += 1
        if self.n > self.count >= 0:
            text = f"Input dataset was expected to contain {wanted} but contained at least {_elements(self.n)}."
            raise FailedPreconditionError(None, None, text)
        return element
