"""Programs as plain data, which another process makes Programs of its own graph from.

Rule: numbers, texts, bytes and tuples of them. Nodes and values are numbers, in the order in which the graphs have
them; whatever has no such form is not packed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fastgraph.compiler.program import program as steps
from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.program.program import PARTIAL_NODE, CondStep, Fallible, Program, Size, Step, WhileStep
from fastgraph.core.base.dtype import DType, as_dtype, string
from fastgraph.core.base.shapes import Aval
from fastgraph.core.registry import get
from fastgraph.core.tensor import EagerTensor, as_array, from_array
from fastgraph.graph.ir import Graph, Node, Value

_EXACT = frozenset({int, bool, str, bytes, float, type(None)})
_KINDS: tuple[type[Step], ...] = tuple(
    each for each in vars(steps).values() if isinstance(each, type) and issubclass(each, Step) and each is not Step
)
_NUMBER = {kind: number for number, kind in enumerate(_KINDS)}


class Unpackable(Exception):
    """The Program holds what has no form as plain data."""


def pack(program: Program) -> tuple[Any, ...]:
    """Return the Program of an optimised graph as plain data. Raises Unpackable."""
    writer = _Writer()
    try:
        whole = writer.program(program, program.graph)
    except KeyError as error:  # a node or a value of another graph
        raise Unpackable(f"it refers to {error}") from None
    return tuple([(s.source, s.buffer_types, s.n_sizes, s.imports, s.native) for s in writer.specs]), whole


def unpack(data: tuple[Any, ...], graph: Graph) -> Program:
    """Return the Program of a graph whose like `pack` was given the Program of."""
    specs, whole = data
    return _Reader([KernelSpec(*each) for each in specs]).program(whole, graph)


def _exact(value: Any) -> Any:
    """Return a value that consists of Python's own numbers, texts and tuples. Raises Unpackable."""
    kind = type(value)
    if kind is tuple:
        return tuple([_exact(each) for each in value])
    if isinstance(value, np.generic):
        return _exact(value.item())
    if kind not in _EXACT:
        raise Unpackable(f"{kind.__name__} is no plain data")
    return value


def _tensor(value: Any) -> tuple[Any, ...]:
    array = as_array(value)
    if value.aval.dtype is string:
        raise Unpackable("a tensor of strings")
    return value.aval.dtype.name, array.shape, array.tobytes()


def _made_tensor(name: str, shape: tuple[int, ...], data: bytes) -> EagerTensor:
    dtype = as_dtype(name)
    return from_array(np.frombuffer(data, dtype.numpy_dtype).reshape(shape), dtype)


def _attr(value: Any) -> Any:
    """An attribute of a node in a graph that was made for a Program alone: a pair of its kind and what it is."""
    if isinstance(value, DType):
        return "dtype", value.name
    return ("tensor", _tensor(value)) if isinstance(value, EagerTensor) else ("", _exact(value))


def _made_attr(kind: str, value: Any) -> Any:
    return as_dtype(value) if kind == "dtype" else _made_tensor(*value) if kind == "tensor" else value


def _given(step: Step) -> Iterator[tuple[str, Graph]]:
    """The Programs inside a step, and the graphs of its node that they may be of."""
    attrs = step.nodes[0].attrs
    if isinstance(step, CondStep):
        yield from (("then_program", attrs["then_graph"]), ("else_program", attrs["else_graph"]))
    elif isinstance(step, WhileStep):
        yield from (("cond_program", attrs["cond_graph"]), ("body_program", attrs["body_graph"]))
        yield "burst_program", attrs["body_graph"]


class _Writer:
    """Packs a Program and those inside it: their kernels and nodes are numbered as they come."""

    def __init__(self) -> None:
        self.specs: dict[KernelSpec, int] = {}
        self.nodes: dict[Node, int] = {}
        self.n_nodes = 0  # a graph that two loops have is counted twice

    def program(self, program: Program, given: Graph) -> tuple[Any, ...]:
        """Pack a Program; its graph is written if it is not `given`."""
        graph = program.graph
        values = [value for node in graph.nodes for value in node.outputs]
        number = {value: i for i, value in enumerate(values)}
        made = None
        if graph is given:
            self.nodes.update(zip(graph.nodes, range(self.n_nodes, self.n_nodes + len(graph.nodes)), strict=True))
            self.n_nodes += len(graph.nodes)
            if program.values[: len(values)] != values:
                raise Unpackable("its values have other numbers")
        else:
            made = self.graph(graph, number)
        rest = program.values[0 if made else len(values) :]
        constants = program.constants
        return (
            made,
            tuple([number[v] if v in number else (v.aval.dtype.name, _exact(v.aval.shape)) for v in rest]),
            tuple([(k, _tensor(each)) for k, each in constants.items()]) if made else (),
            _exact((program.inputs, program.captures, program.outputs)),
            tuple([self.step(step) for step in program.steps]),
            _exact(tuple(sorted(program.shape_values))),
            _exact(tuple(program.after)),
            _exact(tuple(program.witness)),
        )

    def graph(self, graph: Graph, number: dict[Value, int]) -> tuple[Any, ...]:
        """Pack a graph that was made for a Program alone."""
        rows = []
        for node in graph.nodes:
            if get(node.op.name) is not node.op:
                raise Unpackable(node.op.name)
            avals = tuple([(v.aval.dtype.name, _exact(v.aval.shape), self.known(v)) for v in node.outputs])
            attrs = tuple([(key, *_attr(value)) for key, value in node.attrs.items()])
            rows.append((node.op.name, node.name, tuple([number[v] for v in node.inputs]), attrs, avals))
        ends = [tuple([number[v] for v in each]) for each in (graph.inputs, graph.outputs)]
        return graph.name, tuple(rows), *ends

    def known(self, value: Value) -> bytes | None:
        found = value.aval.value
        if value.aval.partial is not None or (found is not None and found.dtype.hasobject):
            raise Unpackable(value.name)
        return None if found is None else found.tobytes()

    def step(self, step: Step) -> tuple[Any, ...]:
        inside = {id(p): graph for name, graph in _given(step) if (p := getattr(step, name)) is not None}

        def packed(form: str, value: Any) -> Any:
            if form in ("Program", "Program | None"):
                return None if value is None else self.program(value, inside[id(value)])
            if form == "KernelSpec":
                return self.specs.setdefault(value, len(self.specs))
            if form in ("Node", "tuple[Node, ...]"):
                return self.nodes[value] if form == "Node" else tuple([self.nodes[each] for each in value])
            if form in ("Size", "tuple[Size, ...]"):
                each = (value,) if form == "Size" else value
                sizes = tuple([_exact((size.constant, size.dims)) for size in each])
                return sizes[0] if form == "Size" else sizes
            if form == "tuple[Fallible, ...]":
                return tuple([(self.nodes[each.node], each.message) for each in value])
            return tuple([self.step(each) for each in value]) if form == "tuple[Step, ...]" else _exact(value)

        rows = [packed(form, getattr(step, name)) for name, form in _fields(type(step)).items()]
        return _NUMBER[type(step)], *rows


def _fields(kind: type[Step]) -> dict[str, str]:
    """The fields of a step, the plain ones first, and what the program module says that they are."""
    found = {each.name: str(each.type) for each in dataclasses.fields(kind)}
    return dict(sorted(found.items(), key=lambda field: field[1] in _FORMS))


#: Forms of fields that are more than plain data, and the method of `_Reader` that makes each.
_FORMS = {
    "Program": "inner", "Program | None": "inner", "KernelSpec": "spec", "Node": "node", "tuple[Node, ...]": "several",
    "Size": "size", "tuple[Size, ...]": "sizes", "tuple[Fallible, ...]": "checks", "tuple[Step, ...]": "steps",
}  # fmt: skip


class _Reader:
    """Makes a Program and those inside it."""

    def __init__(self, specs: list[KernelSpec]) -> None:
        self.specs = specs
        self.nodes: list[Node] = []
        self.known_sizes: dict[tuple[Any, ...], Size] = {}
        self.forms: list[tuple[tuple[str, ...], list[tuple[str, Callable[[Any], Any]]]]] = []
        for kind in _KINDS:
            fields = _fields(kind)
            plain = tuple([name for name, form in fields.items() if form not in _FORMS])
            methods = [(name, getattr(self, _FORMS[form])) for name, form in fields.items() if form in _FORMS]
            self.forms.append((plain, methods))

    def program(self, data: tuple[Any, ...], given: Graph) -> Program:
        made, rest, constants, ends, rows, shape_values, after, witness = data
        graph = given if made is None else self.graph(*made)
        values = [value for node in graph.nodes for value in node.outputs]
        if made is None:
            self.nodes += graph.nodes
            known = {n.outputs[0]: n.attrs["value"] for n in graph.nodes if n.op.name == "const"}
            tensors = {i: known[value] for i, value in enumerate(values) if value in known}
        else:
            tensors = {k: _made_tensor(*each) for k, each in constants}
        others = [
            values[each] if type(each) is int else Value(PARTIAL_NODE, 0, Aval(as_dtype(each[0]), each[1]))
            for each in rest
        ]
        return Program(
            graph=graph,
            values=others if made else [*values, *others],
            inputs=ends[0],
            captures=ends[1],
            outputs=ends[2],
            steps=[self.step(row) for row in rows],
            constants=tensors,
            shape_values=frozenset(shape_values),
            after=list(after),
            witness=list(witness),
        )

    def graph(self, name: str, rows: tuple[Any, ...], inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Graph:
        """A graph that is of a Program alone."""
        graph, values = Graph(name), list[Value]()
        for op, node_name, taken, attrs, types in rows:
            avals = tuple([_made_aval(*each) for each in types])
            chosen = {key: _made_attr(kind, value) for key, kind, value in attrs}
            node = Node(get(op), tuple([values[k] for k in taken]), chosen, avals, node_name)
            graph.nodes.append(node)
            values += node.outputs
        graph.inputs = [values[k] for k in inputs]
        graph.outputs = [values[k] for k in outputs]
        return graph

    def step(self, row: tuple[Any, ...]) -> Step:
        kind = _KINDS[row[0]]
        plain, methods = self.forms[row[0]]
        step: Step = object.__new__(kind)
        fields = step.__dict__
        fields.update(zip(plain, row[1:], strict=False))
        for (name, method), value in zip(methods, row[1 + len(plain) :], strict=True):
            fields[name] = method(value)
        if kind is CondStep or kind is WhileStep:
            for name, graph in _given(step):
                if fields[name] is not None:
                    fields[name] = self.program(fields[name], graph)
        return step

    def inner(self, data: Any) -> Any:
        """A Program inside is made when the step's nodes are known."""
        return data

    def spec(self, number: int) -> KernelSpec:
        return self.specs[number]

    def node(self, number: int) -> Node:
        return self.nodes[number]

    def several(self, numbers: tuple[int, ...]) -> tuple[Node, ...]:
        return tuple([self.nodes[number] for number in numbers])

    def size(self, data: tuple[Any, ...]) -> Size:
        found = self.known_sizes.get(data)
        return self.known_sizes.setdefault(data, Size(*data)) if found is None else found

    def sizes(self, rows: tuple[Any, ...]) -> tuple[Size, ...]:
        return tuple([self.size(row) for row in rows])

    def checks(self, rows: tuple[Any, ...]) -> tuple[Fallible, ...]:
        return tuple([Fallible(self.nodes[number], message) for number, message in rows])

    def steps(self, rows: tuple[Any, ...]) -> tuple[Step, ...]:
        return tuple([self.step(row) for row in rows])


def _made_aval(name: str, shape: Any, data: bytes | None) -> Aval:
    dtype = as_dtype(name)
    known = None if data is None else np.frombuffer(data, dtype.numpy_dtype).reshape(shape)
    return Aval(dtype, shape, known)


__all__ = ["Unpackable", "pack", "unpack"]
