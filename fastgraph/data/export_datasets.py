"""Datasets and iterators as they are written into SavedModels: TensorFlow's operations, with functions of elements.

Rule: a dataset is written where its function makes it, or begins, if it was made outside. Handles have TensorFlow's
types in copies of graphs (`Written`); the graphs themselves, which other threads may run, stay as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from weakref import ref

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import Aval
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.registry import get
from fastgraph.core.tensor import from_array
from fastgraph.data import export_transformations  # noqa: F401  (fills the table of writers)
from fastgraph.data.dataset_base import DatasetSpec
from fastgraph.data.dataset_exporter import Attrs, Handles, Unwritten, Writer, element_types
from fastgraph.data.dataset_ops import no_element
from fastgraph.data.element_specs import InElements, OfElements, tensor_specs
from fastgraph.data.handles import held_by, resolve
from fastgraph.data.sources import Source
from fastgraph.graph.ir import Graph, Node, Value, subgraphs
from fastgraph.graphdef.export_calls import CALLS
from fastgraph.graphdef.export_loops import VARIANT
from fastgraph.graphdef.graph_copies import CopiedGraph, Copies
from fastgraph.graphdef.node_bytes import Definition, const_definition, constant
from fastgraph.graphdef.op_table import Unwritable, types_of

_RESOURCE = Aval(dtypes.resource, ())
_BOOL = Aval(dtypes.bool_, ())
_OPS = frozenset(
    {"dataset_cardinality", "get_element_at_index", "iterator_get_next", "iterator_get_next_as_optional",
     "make_dataset", "make_iterator"}
)  # fmt: skip


class Written:
    """Changes in copies of functions: types of handles, and how nodes of datasets are defined."""

    def __init__(self, copies: Copies) -> None:
        self.copies = copies
        self.typed: set[Value] = set()
        self.entered: set[Graph] = set()
        self.asked: set[Value] = set()  # handles in tests of loops that are truth values
        self.inputs: Handles = {}
        self.cells: dict[Node, dict[int, Value]] = {}  # of what makes datasets: Variables that its graph captured
        self.inner: set[Value] = set()  # parameters that stand for datasets, which are written inside
        copies.structure = self.structure = {
            **copies.structure,
            "call": self._call, "while": self._while, "make_dataset": self._made, "make_iterator": self._iterator,
            "iterator_get_next": self._next, "iterator_has_next": self._has_next, "dataset_cardinality": self._count,
            "get_element_at_index": self._at, "iterator_get_next_as_optional": self._optional,
        }  # fmt: skip

    @staticmethod
    def is_written(held: Any) -> bool:
        """Return whether what a function captured is a dataset, which is written inside of it.

        Raises: Unwritten for a pass that was begun outside: no file keeps where it is.
        """
        found = held_by(held)
        if found is not None and not isinstance(found, Source):
            raise Unwritten(
                "A function goes on with an iterator that was made outside of it, which cannot be saved: make it "
                "inside (`iter(dataset)`), or give the function elements."
            )
        return found is not None

    def enter(self, graph: Graph) -> None:
        """Copy a graph that has datasets, give its handles TensorFlow's types, and define what it captured."""
        given = [*self.inputs.get(graph, ()), *_arguments(graph)]
        if isinstance(graph, CopiedGraph) or not (given or graph in self.copies or _concerns(graph)):
            return
        copy = self.copies.of(graph)
        self._visit(copy)
        for value, aval in given:
            self._type(copy.values[value], aval)
        for held, value in copy.captures:
            found = held_by(held)
            if isinstance(found, Source) and value not in self.inner:
                self._type(value, VARIANT)
                self.inner.add(value)
                copy.stated[value.node] = self._writer(value.node, _cells(copy)).written(found)
        self._spread(copy)

    def _writer(self, node: Node, values: dict[int, Value]) -> Writer:
        return Writer(self.inputs, self.structure, node, values)

    def _type(self, value: Value, aval: Aval) -> bool:
        """Give a value of a copy a type; return whether it had another."""
        if value.aval.dtype is aval.dtype or value in self.asked:
            return False
        self.typed.add(value)
        value.aval = aval
        return True

    def _visit(self, graph: Graph) -> None:
        if graph in self.entered:
            return
        self.entered.add(graph)
        for node in graph.nodes:
            if node.op.name == "make_iterator":
                self._type(node.outputs[0], _RESOURCE)
            elif node.op.name == "make_dataset":
                self._type(node.outputs[0], VARIANT)
                self.cells[node] = _cells(graph)
            for inner, _ in subgraphs(node):
                self._visit(inner)

    def _spread(self, graph: Graph) -> bool:
        """Type what handles become: results of branches, loops and calls, parameters inside. Return whether any was."""
        found, again = False, True
        while again:
            again = False
            for node in graph.nodes:
                for inner, first in subgraphs(node):
                    again |= self._pass_on(zip(node.inputs[first:], inner.parameters, strict=False))
                    again |= self._spread(inner)
                    if node.op.name != "while" or inner is node.attrs["body_graph"]:
                        again |= self._pass_on(zip(inner.outputs, node.outputs, strict=False))
                if node.op.name == "identity":
                    again |= self._pass_on([(node.inputs[0], node.outputs[0])])
            found |= again
        return found

    def _pass_on(self, pairs: Iterable[tuple[Value, Value]]) -> bool:
        """Type the second of each pair as the first if this is a handle. Return whether any was."""
        changed = [self._type(second, first.aval) for first, second in pairs if first in self.typed]
        return any(changed)

    # -- how nodes are written

    def _call(self, node: Node) -> list[Definition]:
        """A call without the datasets that the function has itself."""
        found = CALLS["call"](node)
        callee = node.attrs["graph"]
        inner = {value for held, value in callee.captures if self.is_written(held)}
        if inner:
            kept = [given for value, given in zip(callee.parameters, node.inputs, strict=True) if value not in inner]
            found[-1].inputs, found[-1].attrs = tuple(kept), {**found[-1].attrs, "Tin": types_of(kept)}
        return found

    def _made(self, node: Node) -> list[Definition]:
        recipe = resolve(node.attrs["recipe"])
        values = {id(operand): value for operand, value in zip(recipe.operands, node.inputs, strict=True)}
        return self._writer(node, {**values, **self.cells[node]}).written(recipe.described)

    def _iterator(self, node: Node) -> list[Definition]:
        _check(node, dtypes.variant)
        if not node.attrs["types"]:
            raise Unwritable(node.op.name)
        writer = self._writer(node, {})
        attrs = element_types(node.attrs["types"])
        new = writer.add("AnonymousIteratorV3", (), attrs, aval=_RESOURCE)
        begun = writer.add("MakeIterator", (node.inputs[0], new), {})
        writer.add("Identity", (new,), {"T": dtypes.resource}, aval=_RESOURCE, slot="output")
        writer.found[-1].after = (begun.node.name,)
        return writer.finished()

    def _next(self, node: Node) -> list[Definition]:
        _check(node, dtypes.resource)
        return [_several(node, "IteratorGetNext", node.inputs, element_types(node.attrs["types"]))]

    def _optional(self, node: Node) -> list[Definition]:
        """Define whether there is another element, and this or zeros: a branch, for no element has no components."""
        _check(node, dtypes.resource)
        writer, attrs = self._writer(node, {}), element_types(node.attrs["types"])
        element = writer.add("IteratorGetNextAsOptional", node.inputs, attrs, slot="optional")
        writer.found[0].node, writer.found[0].name = node, node.name  # it waits for what the node waits for
        has = writer.add("OptionalHasValue", (element,), {}, aval=_BOOL, slot="has_value")
        then, rest = CopiedGraph("then", self.structure), CopiedGraph("else", self.structure)
        then.inputs, rest.inputs = [_parameter(then, "element", VARIANT)], [_parameter(rest, "element", VARIANT)]
        avals = tuple([value.aval.without_value() for value in node.outputs[1:]])
        taken = then.add(get("iterator_get_next"), tuple(then.inputs), {}, avals=avals)
        then.stated[taken] = [_several(taken, "OptionalGetValue", taken.inputs, attrs)]
        then.outputs = [*taken.outputs]
        for aval, array in zip(avals, no_element(node.attrs["types"], node.attrs["leasts"]), strict=True):
            zeros = from_array(array, aval.dtype)
            rest.outputs += rest.add(get("const"), (), {"value": zeros}, avals=(zeros.aval,)).outputs
        branches = {"then_graph": then, "else_graph": rest}
        step = Node(get("cond"), (has, element), branches, avals, f"{node.name}/cond", node.source)
        found = CALLS["cond"](step)
        for each, value in zip(found[1:], node.outputs[1:], strict=True):
            each.outputs = (value,)
            each.node = node
        found[0].node = node
        writer.found[-1].outputs = (has,)
        same = Definition(node, "Identity", (has,), {"T": dtypes.bool_}, name=f"{node.name}/has_value")
        same.outputs = node.outputs[:1]
        return [*writer.found, same, *found]

    def _at(self, node: Node) -> list[Definition]:
        _check(node, dtypes.variant)
        return [_several(node, "GetElementAtIndex", node.inputs, element_types(node.attrs["types"]))]

    def _count(self, node: Node) -> list[Definition]:
        _check(node, dtypes.variant)
        found = Definition(node, "DatasetCardinality", node.inputs, {})
        found.slots = ["cardinality:0"]
        return [found]

    def _has_next(self, node: Node) -> list[Definition]:
        """Define in a loop's test whether there is another element: what stands for the iterator there (see _while)."""
        _check(node, dtypes.bool_)
        return [Definition(node, "Identity", node.inputs, {"T": dtypes.bool_})]

    def _while(self, node: Node) -> list[Definition]:
        """A loop over an iterator: TensorFlow asks for the next element and whether there is one at once.

        Where the test asks whether there is another element, the loop goes on as if, and its body does nothing if
        there was none; the next test knows.
        """
        n, test, body = node.attrs["n_carried"], node.attrs["cond_graph"], node.attrs["body_graph"]
        places = [i for i, value in enumerate(test.inputs) if value.aval.dtype is dtypes.resource and i >= n]
        asked = [i for i in places if _asks(test, test.inputs[i])]
        if not asked:
            return CALLS["while"](node)
        taken = [each for each in body.nodes if each.op.name == "iterator_get_next"
                 and body.inputs[asked[0]] is each.inputs[0]]  # fmt: skip
        if len(asked) > 1 or len(taken) != 1 or len(node.outputs) > n:
            raise Unwritable(node.op.name)
        place = asked[0]
        yes = constant(np.array(True), node, "has_next")
        attrs = {
            **node.attrs, "n_carried": n + 1,
            "cond_graph": self._test(test, place), "body_graph": self._body(node, body, place, taken[0]),
        }  # fmt: skip
        avals = (_BOOL, *[value.aval for value in node.outputs])
        loop = Node(node.op, (yes.outputs[0], *node.inputs), attrs, avals, node.name, node.source)
        found = [const_definition(yes), *CALLS["while"](loop)]
        for each in found:
            if each.type in ("While", "StatelessWhile"):
                of_node = dict(zip(loop.outputs[1:], node.outputs, strict=True))
                each.outputs = tuple([of_node.get(value, value) for value in each.outputs])
                each.node = node
        return found

    def _test(self, test: CopiedGraph, place: int) -> Graph:
        """A loop's test with one parameter more before: whether there was another element, which it takes for it."""
        result = test.beside(test.nodes)
        handle = test.inputs[place]
        own = _parameter(result, "has_next", _BOOL)
        result.inputs = [own, *test.inputs]
        result.inputs[1 + place] = _parameter(result, "iterator", _RESOURCE)
        result.outputs = [*test.outputs]
        known = Definition(handle.node, "Identity", (own,), {"T": dtypes.bool_})
        result.stated[handle.node] = [known]
        self._ask(test, handle)
        return result

    def _ask(self, test: Graph, handle: Value) -> None:
        """Let a test, and the graphs inside, have for this handle whether there is another element."""
        self._type(handle, _BOOL)
        self.asked.add(handle)
        for node in test.nodes:
            for inner, first in subgraphs(node):
                for inside, given in zip(inner.parameters, node.inputs[first:], strict=False):
                    if given is handle:
                        self._ask(inner, inside)

    def _body(self, node: Node, body: CopiedGraph, place: int, taken: Node) -> Graph:
        """A loop's body that takes the next element, and gives before its results whether there was one."""
        then, result, rest = body.beside(body.nodes), body.beside(()), body.beside(())
        avals = [value.aval for value in body.inputs]
        n = len(node.outputs)
        element = _parameter(then, "element", VARIANT)
        then.inputs, then.outputs = [element, *body.inputs], [*body.outputs]
        attrs = element_types(taken.attrs["types"])
        then.stated[taken] = [_several(taken, "OptionalGetValue", (element,), attrs)]

        _parameter(rest, "element", VARIANT)
        rest.inputs = [*[value for each in rest.nodes for value in each.outputs],
                       *[_parameter(rest, f"unused_{i}", aval) for i, aval in enumerate(avals)]]  # fmt: skip
        rest.outputs = rest.inputs[1 : 1 + n]

        _parameter(result, "has_next", _BOOL)
        inputs = [_parameter(result, f"operand_{i}", aval) for i, aval in enumerate(avals)]
        result.inputs = [result.nodes[0].outputs[0], *inputs]
        ask = result.add(get("iterator_get_next_as_optional"), (inputs[place],), {}, avals=(VARIANT,))
        has = result.add(get("iterator_has_next"), (ask.outputs[0],), {}, avals=(_BOOL,), name="OptionalHasValue")
        branches = {"then_graph": then, "else_graph": rest}
        outputs = tuple([value.aval for value in node.outputs])
        step = result.add(get("cond"), (has.outputs[0], ask.outputs[0], *inputs), branches, avals=outputs, name="cond")
        for value in (has.outputs[0], *step.outputs):
            result.outputs += result.add(get("identity"), (value,), {}, avals=(value.aval,), name="Identity").outputs
        optional = Definition(ask, "IteratorGetNextAsOptional", ask.inputs, attrs)
        optional.slots = ["optional:0"]
        known = Definition(has, "OptionalHasValue", has.inputs, {})
        known.slots = ["has_value:0"]
        result.stated = {ask: [optional], has: [known]}
        return result


def _arguments(graph: Graph) -> Iterator[tuple[Value, Aval]]:
    """Yield the arguments of a Function that are datasets or iterators, and their types."""
    if graph.structured is not None:
        given = iter(graph.inputs)
        arguments = nesting.flatten(graph.structured[0].structured_inputs)
        for leaf in [*arguments, *nesting.flatten(graph.structured[1])]:
            _check_elements(leaf)
        for leaf in arguments:
            if isinstance(leaf, TypeSpec):
                for value in itertools.islice(given, len(tensor_specs(leaf))):
                    if isinstance(leaf, OfElements):
                        yield value, VARIANT if isinstance(leaf, DatasetSpec) else _RESOURCE


def _check_elements(leaf: Any) -> None:
    """Raise Unwritten for a dataset that a function takes or gives, whose elements others would read otherwise."""
    if isinstance(leaf, OfElements | InElements):
        spec: Any = leaf
        for each in nesting.flatten(spec.element_spec):
            if not isinstance(each, TensorSpec | OfElements):
                raise Unwritten(
                    f"A function that takes or gives datasets with elements of {type(each).__name__} cannot be saved "
                    "in a SavedModel."
                )
            _check_elements(each)


def _cells(graph: Graph) -> dict[int, Value]:
    """Return what stands for Variables that a graph captured, by the ids of their cells."""
    return {id(held()): value for held, value in graph.captures if isinstance(held, ref)}


def _concerns(graph: Graph) -> bool:
    """Return whether a graph, or one inside, has datasets."""
    own = any(node.op.name in _OPS or any(_concerns(inner) for inner, _ in subgraphs(node)) for node in graph.nodes)
    return own or any(held_by(held) is not None for held, _ in graph.captures)


def _check(node: Node, dtype: DType) -> None:
    if node.inputs[0].aval.dtype is not dtype:
        raise Unwritable(node.op.name)


def _asks(test: Graph, value: Value) -> bool:
    """Return whether a test asks of this parameter whether there is another element."""
    for node in test.nodes:
        if node.op.name == "iterator_has_next" and value is node.inputs[0]:
            return True
        for inner, first in subgraphs(node):
            places = zip(inner.parameters, node.inputs[first:], strict=False)
            if any(given is value and _asks(inner, inside) for inside, given in places):
                return True
    return False


def _parameter(graph: Graph, name: str, aval: Aval) -> Value:
    attrs = {"dtype": aval.dtype, "shape": aval.shape, "name": name}
    return graph.add(get("placeholder"), (), attrs, avals=(aval.without_value(),), name=name).outputs[0]


def _several(node: Node, kind: str, inputs: Sequence[Value], attrs: Attrs) -> Definition:
    found = Definition(node, kind, inputs, attrs)
    found.slots = [f"components:{i}" for i in range(len(node.outputs))]
    return found
