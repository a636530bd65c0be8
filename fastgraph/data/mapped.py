"""Functions of elements: what a user gives to map, filter or flat_map, traced once, and the datasets made with it.

Rule: such a function is converted and traced when the dataset is made, so that its errors come there, and never again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from fastgraph import dtype as dtypes
from fastgraph import nesting
from fastgraph.data.sources import UNKNOWN, Source
from fastgraph.data.structures import Element, flat, normalized, packed, spec_of
from fastgraph.shapes import TensorSpec
from fastgraph.staging import autograph
from fastgraph.staging.function import Function


class Mapped:
    """`function` of elements like `spec` (a tuple is spread over the parameters), as a graph; `spec` is of its result."""

    def __init__(self, function: Any, spec: Any, where: str) -> None:
        if not callable(function):
            raise ValueError(f"Argument `func` must be a callable. Received func={function} (of type {type(function)})")
        arguments = spec if type(spec) is tuple else (spec,)

        def of_element(*element: Any) -> Any:
            result = autograph.convert(function)(*element)
            if isinstance(result, list):  # as many results, not one tensor of them
                result = tuple(result)
            if any(leaf is None for leaf in nesting.flatten(result)):
                raise TypeError(f"Unsupported return value from function passed to {where}: {result}.")
            try:
                return normalized(result)
            except (TypeError, ValueError) as error:
                text = f"Unsupported return value from function passed to {where}: {result}."
                raise TypeError(text) from error

        of_element.__name__ = getattr(function, "__name__", type(function).__name__)
        self._function = Function(of_element)
        self._concrete = self._function.get_concrete_function(*arguments)
        self.spec = spec_of(self._concrete.structured_outputs)

    def __call__(self, element: Element) -> Element:
        return flat(self._concrete.call_flat(list(element)))


class Map(Source):
    """A function of each element. Source: tf.data.Dataset.map."""

    name = "_MapDataset"

    def __init__(self, source: Source, *, mapped: Mapped, parallel: bool = False) -> None:
        self.source, self.mapped, self.spec = source, mapped, mapped.spec
        self.name = "_ParallelMapDataset" if parallel else "_MapDataset"

    def elements(self) -> Iterator[Element]:
        return map(self.mapped, self.source.elements())

    def cardinality(self) -> int:
        return self.source.cardinality()


class Filter(Source):
    """The elements of which a function is true. Source: tf.data.Dataset.filter."""

    name = "_FilterDataset"

    def __init__(self, source: Source, *, mapped: Mapped) -> None:
        self.source, self.mapped, self.spec = source, mapped, source.spec
        found = mapped.spec
        if not (isinstance(found, TensorSpec) and found.dtype is dtypes.bool_ and found.shape.is_compatible_with(())):
            raise ValueError(
                "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its return type is "
                f"{found}."
            )

    def elements(self) -> Iterator[Element]:
        return filter(lambda element: bool(self.mapped(element)[0]), self.source.elements())

    def cardinality(self) -> int:
        return UNKNOWN


class FlatMap(Source):
    """The elements of the datasets that a function of each element gives. Source: tf.data.Dataset.flat_map."""

    name = "_FlatMapDataset"

    def __init__(self, source: Source, *, mapped: Mapped) -> None:
        self.source, self.mapped = source, mapped
        inner = mapped.spec
        if not hasattr(inner, "element_spec"):
            raise TypeError(f"The `map_func` argument must return a `Dataset` object. Got {inner}.")
        self.spec = inner.element_spec

    def elements(self) -> Iterator[Element]:
        return itertools.chain.from_iterable(map(self._inner, self.source.elements()))

    def _inner(self, element: Element) -> Iterator[Element]:
        found: Iterator[Element] = packed(self.mapped.spec, self.mapped(element)).source.elements()
        return found


def reduced(source: Source, initial_state: Any, function: Callable[..., Any]) -> Any:
    """Return the last state of `state = function(state, element)`. Source: tf.data.Dataset.reduce."""
    state = normalized(initial_state)
    spec = spec_of(state)
    mapped = Mapped(function, (spec, source.spec), "Dataset.reduce()")
    if mapped.spec != spec:
        mapped = Mapped(function, (mapped.spec, source.spec), "Dataset.reduce()")  # a wider shape
    tensors = flat(state)
    for element in source.elements():
        tensors = mapped((*tensors, *element))
    return packed(mapped.spec, tensors)
