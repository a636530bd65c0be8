"""Functions of elements: what a user gives to map, filter or flat_map, traced once, and the datasets made with it.

Rule: such a function is converted and traced when the dataset is made, so that its errors come there, and never again.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.base.locks import Lock
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.tensor import current_trace
from fastgraph.data.element_specs import Element, flat, normalized, packed, spec_of, tensor_specs
from fastgraph.data.handles import resolve
from fastgraph.data.prefetching import Together, anywhere
from fastgraph.data.sources import Chained, OfTensors, Run, Source
from fastgraph.errors import InvalidArgumentError, OpError, OutOfRangeError
from fastgraph.graph.ir import PYTHON, Graph, effects, subgraphs
from fastgraph.graph.subgraphs import subgraph_name, traced
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.ops.families import invalid
from fastgraph.ops.random_states import generators
from fastgraph.staging import autograph
from fastgraph.staging.function import Function
from fastgraph.staging.graph_runner import Runner

_CORES = os.cpu_count() or 1


class Mapped:
    """`function` of elements like `spec` (a tuple is spread over the parameters), as a graph; `spec` is of its result.

    `captured`: what it uses of a trace around it, which is there only when that trace's graph runs.
    """

    def __init__(self, function: Callable[..., Any], spec: Any, where: str) -> None:
        if not callable(function):
            raise ValueError(f"Argument `func` must be a callable. Received func={function} (of type {type(function)})")
        arguments = spec if type(spec) is tuple else (spec,)

        def of_tensors(*element: object) -> Element:
            result = autograph.convert(function)(*packed(arguments, element))
            if isinstance(result, list):  # as many results, not one tensor of them
                result = tuple(result)
            try:
                result = normalized(result)
            except (TypeError, ValueError) as error:
                text = f"Unsupported return value from function passed to {where}: {result}."
                raise TypeError(text) from error
            self.spec: Any = spec_of(result)
            return flat(result)

        self.given = spec
        self.code = function  # whose text tells pipelines apart
        outer = current_trace()
        self.captured: list[Any] = []
        self._lock = Lock()
        self._generators: list[Any]
        self._call: Callable[[Element, Sequence[Any]], Element]
        if outer is None:
            of_tensors.__name__ = getattr(function, "__name__", type(function).__name__)
            concrete = Function(of_tensors).get_concrete_function(*tensor_specs(spec))
            self._call = lambda tensors, _: concrete(*tensors)
            self.graph = concrete._trace.graph
            #: The inputs from outside, after the element: of `captured` in their order, and what is there always.
            self.taken: list[Any] = [held for held, _ in self.graph.captures]
            held = [cell() for cell in self.taken if isinstance(cell, weakref.ref)]
            self._generators = [cell for cell in held if generators.is_traced(cell)]
            self._note_writes(self.graph)
            return
        own = [(leaf.aval, "element") for leaf in tensor_specs(spec)]
        trace, _ = traced(outer, of_tensors, own, subgraph_name("of_element"))
        operands, runner = trace.operands, Runner(trace, trace.graph.name)
        self._generators = [operand for operand in operands if generators.is_traced(operand)]
        self.captured = [operand for operand in operands if isinstance(operand, SymbolicTensor)]

        def call(tensors: Element, captured: Sequence[Any]) -> Element:
            left = iter(captured)
            rest = [next(left) if isinstance(operand, SymbolicTensor) else operand for operand in operands]
            return tuple(runner([*tensors, *rest]))

        self._call, self.graph, self.taken = call, trace.graph, operands
        self._note_writes(trace.graph)

    def makes(self, kind: type[Source]) -> bool:
        """Return whether it makes datasets of such sources."""
        recipes = [node.attrs["recipe"] for node in self.graph.nodes if node.op.name == "make_dataset"]
        return any(issubclass(resolve(recipe).kind, kind) for recipe in recipes)

    def _note_writes(self, graph: Graph) -> None:
        written = [resource for node in graph for kind, resource in effects(node) if kind == "write"]
        #: True where passes differ by more than their elements: it draws numbers, or writes Variables.
        self.stateful = self.draws or any(resource is not None for resource in written)
        #: True where it calls Python, which may tell others that it was called.
        self.calls_python = _calls_python(graph)

    @property
    def draws(self) -> bool:
        """True if it has random ops, whose numbers come in the order of its calls."""
        return bool(self._generators)

    def seeds(self) -> list[tuple[int, int] | None]:
        """Return the seeds of its random ops, None for one that no one can foresee."""
        return [generators.traced[cell] for cell in self._generators]

    def bound(self, captured: Sequence[Any], run: Run) -> Callable[[Element], Element]:
        """Return the function of elements that uses these tensors for those that it captured.

        Its random ops begin anew with every iterator, and go on from where they are as long as it lives (`run`).
        """
        if not self._generators:
            return lambda element: self._call(element, captured)
        states = run.states.get(self)
        if states is None:
            states = run.states[self] = [generators.beginning(cell) for cell in self._generators]

        def call(element: Element) -> Element:
            with self._lock, generators.at(self._generators, states):
                return self._call(element, captured)

        return call


def _calls_python(graph: Graph) -> bool:
    """Return whether a graph calls the program's Python, or makes datasets that do."""
    for node in graph.nodes:
        if node.op.name in PYTHON or any(_calls_python(inner) for inner, _ in subgraphs(node)):
            return True
        if node.op.name == "make_dataset" and anywhere(resolve(node.attrs["recipe"]).described, "calls_python"):
            return True
    return False


class OfFunction(OfTensors):
    """A source that calls a function of the user's."""

    def __init__(self, source: Source, captured: tuple[Any, ...], mapped: Mapped) -> None:
        self.source, self._mapped, self._captured = source, mapped, captured

    draws = ReadOnly[bool]("_mapped.draws", "True if its function has random ops.")
    calls_python = ReadOnly[bool]("_mapped.calls_python", "True if its function calls Python.")

    def function(self, run: Run) -> Callable[[Element], Element]:
        """Return the function of elements for an iterator. Its errors say which dataset it is of."""
        function = self._mapped.bound(self._captured, run)

        def call(element: Element) -> Element:
            try:
                return function(element)
            except OpError as error:
                raise _in_function(self.name.lstrip("_"), error) from error

        return call


def _in_function(name: str, error: OpError) -> OpError:
    """The error of a dataset's function. The end of an iterator inside of it is not the end of the dataset."""
    kind, text = type(error), error.message
    if kind is OutOfRangeError:
        kind, text = InvalidArgumentError, f"Function invocation produced OutOfRangeError: {text}"
    text = (
        f"Error in user-defined function passed to {name} transformation with iterator: "
        f"Iterator::Root::{name.removesuffix('Dataset')}: {text}"
    )
    return kind(error.node_def, error.op, text) if kind is not OpError else error


class Map(OfFunction):
    """A function of each element. Source: tf.data.Dataset.map."""

    def __init__(
        self, source: Source, *captured: Any, mapped: Mapped, calls: int = 0, ordered: bool | None = None
    ) -> None:
        super().__init__(source, captured, mapped)
        self.spec, self.ordered = mapped.spec, ordered
        self.calls = _CORES if calls < 0 else calls
        if not tensor_specs(self.spec):
            text = "Length for attr 'output_shapes' of 0 must be at least minimum 1 [Op:MapDataset]"
            raise InvalidArgumentError(None, None, text)
        self.name = "_ParallelMapDataset" if calls else "_MapDataset"

    def elements(self, run: Run) -> Iterator[Element]:
        if self.is_parallel():
            ordered = run.ordered if self.ordered is None else self.ordered
            return Together(self.function(run), self.source.elements(run), self.calls, ordered)
        return map(self.function(run), self.source.elements(run))

    def is_parallel(self) -> bool:
        """Return whether threads call the function."""
        return self.calls > 1 and not self._mapped.draws

    def cardinality(self) -> int:
        return self.source.cardinality()


class Filter(OfFunction):
    """The elements of which a function is true. Source: tf.data.Dataset.filter."""

    name = "_FilterDataset"

    def __init__(self, source: Source, *captured: Any, mapped: Mapped) -> None:
        super().__init__(source, captured, mapped)
        self.spec, found = source.spec, mapped.spec
        if not (isinstance(found, TensorSpec) and found.dtype is dtypes.bool_ and found.shape.is_compatible_with(())):
            raise ValueError(
                "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its return type is "
                f"{found}."
            )

    def elements(self, run: Run) -> Iterator[Element]:
        function = self.function(run)
        return filter(lambda element: bool(function(element)[0]), self.source.elements(run))


class FlatMap(OfFunction):
    """The elements of the datasets that a function of each element gives. Source: tf.data.Dataset.flat_map."""

    name = "_FlatMapDataset"

    def __init__(self, source: Source, *captured: Any, mapped: Mapped) -> None:
        super().__init__(source, captured, mapped)
        inner = self.inner = mapped.spec
        if not hasattr(inner, "element_spec"):
            raise TypeError(f"The `map_func` argument must return a `Dataset` object. Got {inner}.")
        self.spec = inner.element_spec

    def elements(self, run: Run) -> Iterator[Element]:
        function = self.function(run)

        def inner(element: Element) -> Iterator[Element]:
            return packed(self.inner, function(element)).source.elements(run)

        return Chained(map(inner, self.source.elements(run)))


def state_spec(given: Any, found: Any, name: str) -> Any:
    """Return what fits a first state and what the function of this name gives. Raises TypeError if nothing."""
    try:
        nesting.assert_same_structure(given, found)
        pairs = list(zip(nesting.flatten(given), nesting.flatten(found), strict=True))
    except (TypeError, ValueError):
        raise invalid(
            f"Invalid `{name}`. The structure of the new state must match the initial state: {given}, {found}."
        ) from None
    wider = []
    for own, new in pairs:
        if own.dtype is not new.dtype:
            raise TypeError(
                f"Invalid `{name}`. The element types for the new state must match the initial state. Expected "
                f"{own.dtype}; got {new.dtype}."
            )
        wider.append(own.most_specific_common_supertype([new]))
    return nesting.pack_sequence_as(given, wider)


def reduced(source: Source, initial_state: object, function: Callable[..., Any]) -> Any:
    """Return the last state of `state = function(state, element)`. Source: tf.data.Dataset.reduce."""
    state = normalized(initial_state)
    spec = spec_of(state)
    mapped = Mapped(function, (spec, source.spec), "Dataset.reduce()")
    while mapped.spec != spec:
        spec = state_spec(spec, mapped.spec, "reduce_func") if nesting.flatten(spec) else mapped.spec
        mapped = Mapped(function, (spec, source.spec), "Dataset.reduce()")
    tensors = flat(state)
    run = Run()
    function = mapped.bound((), run)
    for element in source.elements(run):
        tensors = function((*tensors, *element))
    return packed(mapped.spec, tensors)
