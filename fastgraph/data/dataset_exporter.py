"""The writer of one dataset as TensorFlow's operations: names, constants, types of elements, functions of elements.

Rule: what a dataset is made of comes before it, each once; the names are those of a node, with what the operation is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import from_code
from fastgraph.core.base.shapes import Aval
from fastgraph.core.registry import get
from fastgraph.core.tensor import EagerTensor, from_array
from fastgraph.data import sources
from fastgraph.data.dataset_base import DatasetSpec
from fastgraph.data.element_functions import Mapped
from fastgraph.data.element_specs import tensor_specs
from fastgraph.data.handles import held_by
from fastgraph.data.sources import Described, Source
from fastgraph.graph.captures import Deferred
from fastgraph.graph.ir import Graph, Node, Value, subgraphs
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.graphdef.export_loops import VARIANT
from fastgraph.graphdef.graph_copies import Structure
from fastgraph.graphdef.node_bytes import Definition, const_definition, constant
from fastgraph.graphdef.op_table import Dims, types_of
from fastgraph.ops.random_states import generators

Attrs = dict[str, Any]

#: Of functions, the inputs that are datasets, and their types.
Handles = dict[Graph, list[tuple[Value, Aval]]]


class Unwritten(ValueError):
    """Error of a dataset that no operations of TensorFlow make."""


def element_types(types: Iterable[tuple[int, Any]]) -> Attrs:
    """Return the types and shapes of elements, (number of a dtype, shape) each, as attributes."""
    kinds = [(from_code(code), Dims(shape)) for code, shape in types]
    return {"output_types": [dtype for dtype, _ in kinds], "output_shapes": [shape for _, shape in kinds]}


def handles(spec: Any) -> list[int]:
    """Return which of the tensors of an element like `spec` are datasets."""
    found, n = [], 0
    for leaf in nesting.flatten(spec):
        if isinstance(leaf, DatasetSpec):
            found.append(n)
        n += len(tensor_specs(leaf))
    return found


def types_of_spec(source: Any) -> Attrs:
    """Return the types and shapes of a dataset's elements as attributes. Raises Unwritten for those with datasets."""
    leaves = nesting.flatten(source.spec)
    if leaves and all(isinstance(leaf, DatasetSpec) for leaf in leaves):
        return {"output_types": [dtypes.variant] * len(leaves), "output_shapes": [Dims(())] * len(leaves)}
    if any(isinstance(leaf, DatasetSpec) for leaf in leaves):
        raise Unwritten(
            f"Datasets of datasets beside tensors cannot be saved in a SavedModel: {source.name.lstrip('_')}"
        )
    return element_types([(leaf.dtype.code, leaf.aval.shape) for leaf in tensor_specs(source.spec)])


#: By the classes of sources, how each is written: export_transformations.py has them all.
WRITERS: dict[type, Callable[[Writer, Any], Value]] = {}


class Writer:
    """Writer of one dataset: its operations, named beside a node; `values` are those of symbolic operands, by id."""

    def __init__(self, functions: Handles, structure: Structure, node: Node, values: dict[int, Value]) -> None:
        self.functions, self.structure, self.node, self.values = functions, structure, node, values
        self.found: list[Definition] = []
        self.known: dict[int, Value] = {}

    def written(self, source: Source) -> list[Definition]:
        """Return the operations, the dataset's last."""
        value = self.dataset(source)
        if not self.found or value not in self.found[-1].outputs:  # it is another node's
            self.add("Identity", (value,), {"T": dtypes.variant}, slot="output")
        return self.finished()

    def finished(self) -> list[Definition]:
        """Return the operations, the last one as the node's own."""
        last = self.found[-1]
        last.node, last.name, last.outputs = self.node, self.node.name, self.node.outputs
        return self.found

    def add(
        self, kind: str, inputs: Sequence[Value], attrs: Attrs, *, aval: Aval = VARIANT, slot: str = "handle"
    ) -> Value:
        """Append an operation of one result, and return this."""
        name = f"{self.node.name}/{kind}" + (f"_{len(self.found)}" if self.found else "")
        made = Node(self.node.op, (), {}, (aval,), name, self.node.source)
        self.found.append(Definition(made, kind, inputs, attrs))
        self.found[-1].slots = [f"{slot}:0"]
        return made.outputs[0]

    def constant(self, value: Any) -> Value:
        """Return a constant."""
        made = constant(value, self.node, f"Const_{len(self.found)}") if not isinstance(value, EagerTensor) else Node(
            get("const"), (), {"value": value}, (value.aval,), f"{self.node.name}/Const_{len(self.found)}",
            self.node.source)  # fmt: skip
        self.found.append(const_definition(made))
        self.found[-1].slots = ["output:0"]
        return made.outputs[0]

    def number(self, value: Any) -> Value:
        """Return a count, of the graph or a constant."""
        known = self.values.get(id(value))
        return self.constant(np.array(value, np.int64)) if known is None else known

    def tensor(self, value: Any) -> Value:
        """Return a tensor, of the graph or a constant."""
        known = self.values.get(id(value))
        if known is not None:
            return known
        if not isinstance(value, EagerTensor):
            value = from_array(np.asarray(value), None)
        return self.constant(value)

    def flag(self, value: bool) -> Value:
        """Return a constant."""
        return self.constant(np.array(bool(value)))

    def dataset(self, source: Any) -> Value:
        """Return a dataset; those that it is made of come before it, each once."""
        if isinstance(source, Described):
            return self.values[id(source)]
        known = self.known.get(id(source))
        if known is None:
            write = WRITERS.get(type(source))
            if write is None:
                why = "its elements come from Python" if isinstance(source, sources.Generated) else "it has no equal"
                name = source.name.lstrip("_")
                raise Unwritten(
                    f"A dataset of {type(source).__name__} ({name}) cannot be saved in a SavedModel: {why}."
                )
            known = self.known[id(source)] = write(self, source)
        return known

    def simple(self, kind: str, inputs: Sequence[Value], source: Any, **attrs: Any) -> Value:
        """Append a dataset's operation with the types of its elements."""
        return self.add(kind, inputs, {**types_of_spec(source), **attrs})

    def function(
        self, mapped: Mapped, captured: Sequence[Any], name: str, types: str = "Targuments"
    ) -> tuple[list[Value], Attrs]:
        """Return what a function of elements takes from outside, and the attributes that say it."""
        if python_in(mapped.graph):
            raise Unwritten(
                "A dataset's function that calls Python (tf.py_function, tf.numpy_function) cannot be saved in a "
                "SavedModel: whoever loads it has no such Python."
            )
        given = iter(captured)
        values = []
        for held in mapped.taken:
            each = held.value() if isinstance(held, Deferred) else held
            if held_by(each) is not None:
                if mapped.captured or not mapped.graph.captures:
                    raise Unwritten("A dataset's function inside of a function cannot take a dataset from outside.")
            elif isinstance(each, EagerTensor):
                values.append(self.constant(each))
            elif isinstance(each, SymbolicTensor):
                values.append(self.tensor(next(given)))
            elif (cell := self.values.get(id(each() if isinstance(each, ref) else each))) is not None:
                values.append(cell)
            else:
                cell = each() if isinstance(each, ref) else each
                what = "draws random numbers" if generators.is_traced(cell) else "reads a Variable"
                raise Unwritten(
                    f"A dataset's function that {what} cannot be saved in a SavedModel, unless the dataset is made in "
                    "the body of the tf.function that is saved."
                )
        for i in handles(mapped.given):
            self.functions.setdefault(mapped.graph, []).append((mapped.graph.inputs[i], VARIANT))
        return values, {name: mapped.graph, types: types_of(values)}


def python_in(graph: Graph) -> bool:
    """Return whether a graph, or one inside, calls Python functions of the program's."""
    return any(
        node.op.name in ("eager_py_func", "py_func") or any(python_in(inner) for inner, _ in subgraphs(node))
        for node in graph.nodes
    )
