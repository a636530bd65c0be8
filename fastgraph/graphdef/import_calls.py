"""Functions of a GraphDef's library that call themselves, or each other in a circle: graphs that their calls name.

Rule: what such a call gives is taken for granted, and the function is made anew until it gives that: shapes begin
unknown and only become narrower, effects begin with none and only become more.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from fastgraph.core.base.shapes import Aval
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import Tensor, bind
from fastgraph.errors import NotFoundError
from fastgraph.graph import recursive_calls
from fastgraph.graph.differentiate import entering
from fastgraph.graph.structural_ops import CALL
from fastgraph.graph.trace import GraphTrace
from fastgraph.graphdef.import_values import attribute, dtype_of, field_of, fixed_text
from fastgraph.graphdef.messages import Message

#: Operations that open files, which the graph or a call names.
OPENING_FILES = frozenset(
    ["CSVDataset", "CSVDatasetV2", "FixedLengthRecordDataset", "FixedLengthRecordDatasetV2", "MatchingFiles",
     "ReadFile", "TextLineDataset", "TFRecordDataset", "TFRecordDatasetV2", "WriteFile"]
)  # fmt: skip
#: Passes after which what a function gives would have to be known.
_MOST_PASSES = 20


class _Key(NamedTuple):
    """The call that a graph is made for: a function and the Variables that it is called with, by position."""

    name: str
    cells: tuple[tuple[int, int], ...]


class _Made:
    """A graph that calls itself, as far as it is known."""

    def __init__(self, key: _Key) -> None:
        self.callee = recursive_calls.callee(key.name)
        self.specs: recursive_calls.Specs = ()
        self.effects: recursive_calls.Effects = ()


class CustomGradient(NamedTuple):
    """A gradient that a program states: a function of the cotangents of an operation's results, then its operands.

    `given` are the gradients that it returns, None where there is none; `bound` is what it takes besides: Cells and
    tensors, or the names of tensors of the function around the operation.
    """

    function: str
    given: list[Any]
    bound: list[Any]
    objects: Sequence[Any] = ()  # that these stand for


class Library(dict[str, Message]):
    """The functions of a GraphDef by name."""

    def __init__(self, functions: Sequence[Message]) -> None:
        super().__init__({function.signature.name: function for function in functions})
        self._made: dict[_Key, _Made] = {}
        self.resources: dict[str, Any] = {}  # Cells and tables by the names that operations share them by
        self.filling: dict[Any, int] = {}  # tables that operations fill, and the id of the trace that these went to
        self.files: frozenset[bytes] = frozenset()  # the files that operations may read
        self.opens_files = True  # whether operations may open files that they name, or a call does
        self.gradients: dict[str, CustomGradient] = {}  # by the name that operations have for it
        self.messages: dict[str, Message] = {}  # what else is said of functions

    def check_opening(self, op: str, name: str, path: Any) -> None:
        """Raise NotFoundError if an operation may not open a file; what came with the graph may be read."""
        try:
            allowed = self.opens_files or (op == "ReadFile" and fixed_text(path, "the path") in self.files)
        except NotFoundError:
            allowed = False
        if not allowed:
            option = "LoadOptions(experimental_open_files=True)"
            raise NotFoundError(None, None, f"Node '{name}': {op} opens files, which {option} allows")

    @cached_property
    def recursive(self) -> frozenset[str]:
        """The functions that come to a call of themselves."""
        return frozenset(name for name in self if name in _reached(self._calls, name))

    @cached_property
    def _calls(self) -> dict[str, set[str]]:
        return {name: set(_called(field_of(function, "node_def", []))) & self.keys() for name, function in self.items()}

    def reached(self, roots: Iterable[str], nodes: Iterable[Message] = ()) -> set[str]:
        """Return the functions `roots`, those that `nodes` name, and all that calls from them on come to."""
        found = {each for each in (*roots, *_called(nodes)) if each in self}
        return found.union(*[_reached(self._calls, each) for each in found])

    def call(self, name: str, operands: Sequence[Any], make: Callable[[Sequence[Any]], list[Any]]) -> list[Any]:
        """Return the results of a call of a recursive function; `make` gives those of its nodes.

        Raises NotFoundError for operands that are lists, and where no pass gives what it took for granted.
        """
        function = self[name]
        if not all(isinstance(operand, Tensor | Cell) for operand in operands):
            raise NotFoundError(None, None, f"Function {name}, which calls itself with lists of tensors, has no equal")
        cells = [operand for operand in operands if isinstance(operand, Cell)]
        given = [*[operand for operand in operands if not isinstance(operand, Cell)], *cells]
        key = _Key(name, tuple([(i, id(each)) for i, each in enumerate(operands) if isinstance(each, Cell)]))
        known = self._made.get(key)
        if known is not None:
            results = recursive_calls.apply(known.callee, [*given, *known.callee.extra], known.specs, known.effects)
            return results[: len(known.specs)]
        outputs = field_of(function.signature, "output_arg", [])
        made = self._made[key] = _Made(key)
        made.specs = tuple([(_type(output), None) for output in outputs])
        before = set(self._made)
        for _ in range(_MOST_PASSES):
            for other in set(self._made) - before:  # they took what this one no longer gives
                del self._made[other]
            trace = _pass(function, operands, make)
            graph = trace.graph
            specs = tuple([(value.aval.dtype, value.aval.shape) for value in graph.outputs])
            effects = recursive_calls.effects_of(graph)
            extra = [held for held, _ in graph.captures[len(cells) :]]
            if any(isinstance(held, weakref.ref) for held in extra):
                raise NotFoundError(None, None, f"Function {name}, which calls itself and draws numbers, has no equal")
            if (specs, effects) == (made.specs, made.effects):
                made.callee._graph, made.callee.extra = graph, extra
                return list(bind(CALL, (*given, *extra), {"graph": graph}))
            made.specs, made.effects = specs, effects
        del self._made[key]
        raise NotFoundError(None, None, f"Function {name} calls itself and gives other results in every pass")


def _pass(function: Message, operands: Sequence[Any], make: Callable[[Sequence[Any]], list[Any]]) -> GraphTrace:
    """Trace a function: its tensors are inputs, its Variables those of the call."""
    trace = GraphTrace(function.signature.name)
    arguments: list[Any] = []
    parameters = field_of(function.signature, "input_arg", [])
    for i, (parameter, operand) in enumerate(zip(parameters, operands, strict=True)):
        if isinstance(operand, Cell):
            arguments.append(operand)
        else:
            arguments.append(trace.add_input(Aval(operand.aval.dtype, _shape(function, i)), parameter.name))
    with entering(trace):
        for argument in arguments:
            if isinstance(argument, Cell):
                trace.value_of(argument)
        trace.finish([trace.identity(result) for result in make(arguments)])
    return trace


def _shape(function: Message, i: int) -> Any:
    """The declared shape of an argument, None where there is none."""
    said = field_of(function, "arg_attr", {}).get(i)
    shapes = None if said is None else field_of(said, "attr", {}).get("_output_shapes")
    found = None if shapes is None else attribute(shapes)
    return found[0].shape if found else None


def _type(argument: Message) -> Any:
    """Return the dtype of an argument or result of a function."""
    return dtype_of(argument.type)


def _called(nodes: Iterable[Message]) -> Iterator[str]:
    for node in nodes:
        yield node.op  # as old graphs call
        for value in field_of(node, "attr", {}).values():
            listed = field_of(value, "list")
            one = field_of(value, "func")
            for func in [*([] if one is None else [one]), *([] if listed is None else field_of(listed, "func", []))]:
                yield func.name


def _reached(calls: dict[str, set[str]], name: str) -> set[str]:
    """The functions that calls from `name` on come to."""
    found: set[str] = set()
    left = list(calls[name])
    while left:
        each = left.pop()
        if each not in found:
            found.add(each)
            left += calls[each]
    return found
