"""Variables that a traced function makes: they live outside of the graph, and are made in the first call only.

Rule: what such a Variable starts from is computed outside of the trace, from the arguments of the first call; no node
of a trace is run more than once for it, and none whose result follows from shapes. It sees what the nodes before it
have assigned, on copies of the Variables: the call itself, which comes after the trace, finds them as they were.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph._tape import VariableWatcher
from fastgraph.core.base import nesting
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import Tensor, cell_assign, cell_read, current_state, current_trace, from_array, init_scope
from fastgraph.errors import InaccessibleTensorError
from fastgraph.graph import ir
from fastgraph.graph.differentiate import entering
from fastgraph.graph.interpreter import run_node
from fastgraph.graph.source_lines import source_lines
from fastgraph.graph.structural_ops import CONST
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.graph.trace import GraphTrace
from fastgraph.state.variable_ops import ASSIGN

_NOT_FIRST_CALL = (
    "tf.function-decorated function tried to create variables on non-first call. tf.function only supports singleton "
    "tf.Variables created on the first call. Make sure the tf.Variable is only created once or created outside "
    "tf.function. See https://www.tensorflow.org/guide/function#creating_tfvariables for more information."
)


def not_first_call(kwargs: dict[str, Any]) -> str:
    """Return the text for a Variable that a traced function makes in vain: which, the line, and the remedies."""
    name = kwargs.get("name")
    made_at = next(iter(source_lines(1)), None)
    where = "" if made_at is None else f" at {made_at.file}:{made_at.line}, in {made_at.function}"
    variable = f"The Variable {name!r}" if name else "The Variable"
    return (
        f"{_NOT_FIRST_CALL}\n\n{variable} is made{where}, each time that the function is traced. Either make it before "
        "the first call, outside of the function (in __init__, or at the top of the module); or keep it where it "
        "outlives the call and make it only if it is not there: `if self.v is None: self.v = tf.Variable(...)`."
    )


#: Ops whose results follow from the shapes of their inputs.
_FROM_SHAPES: dict[str, Any] = {"zeros_like": np.zeros, "ones_like": np.ones}


#: Stands for the iterator in nodes that take its next element, as the resource does in nodes of one Variable.
_ELEMENTS = "elements"


class _Nodes:
    """The nodes of a trace so far: their positions, and which of them touch what."""

    def __init__(self, graph: ir.Graph) -> None:
        self._graph = graph
        self.positions: dict[ir.Node, int] = {}
        self.touching: dict[Any, list[ir.Node]] = {}
        self.touched: dict[ir.Node, list[Any]] = {}
        self.written: set[ir.Value] = set()

    def update(self) -> _Nodes:
        """Enter the nodes that have been added since."""
        for i in range(len(self.positions), len(self._graph.nodes)):
            node = self._graph.nodes[i]
            self.positions[node] = i
            effects = ir.effects(node)
            if effects:
                touched: list[Any] = [effect.resource for effect in effects if effect.resource is not None]
                self.written.update([e.resource for e in effects if e.kind == "write" and e.resource is not None])
                if _takes_elements(node):
                    touched.append(_ELEMENTS)
                self.touched[node] = list(dict.fromkeys(touched))
                for each in self.touched[node]:
                    self.touching.setdefault(each, []).append(node)
        return self


def _takes_elements(node: ir.Node) -> bool:
    return node.op.name.startswith("iterator_get_next") or any(
        _takes_elements(inner) for graph, _ in ir.subgraphs(node) for inner in graph.nodes
    )


class InitialValues:
    """The values from which the Variables made in one trace start, computed from the first call's arguments (`leaves`).

    What has been computed is kept until the trace is over: the next Variable goes on from there.
    """

    def __init__(self, trace: GraphTrace, leaves: list[Any]) -> None:
        self._trace = trace
        self._leaves = leaves
        self._known: dict[ir.Value, Any] = {}
        self._nodes: dict[GraphTrace, _Nodes] = {}
        self._done: set[ir.Node] = set()
        self._assigned: dict[ir.Node, list[tuple[ir.Value, Tensor]]] = {}  # of nodes that are run once, to what
        self._copies: dict[tuple[GraphTrace, int], Cell] = {}
        self._undo: list[Callable[[], None]] = []
        self.are_of_the_call = False  # whether one depends on arguments, or on what there is outside
        trace.initial_values = self

    def lifted(self, initial: object) -> Any:
        """Return the initial value of a Variable as it is outside the trace: symbolic ones are computed.

        Raises ValueError where one depends on what has no value: what a loop carries, the arguments of a trace that no
        call asked for.
        """
        if isinstance(initial, SymbolicTensor):
            with init_scope():
                return self._value(initial)
        trace = current_trace()
        cell = getattr(initial, "__fg_cell__", None)
        if isinstance(cell, Cell):
            if isinstance(trace, GraphTrace) and self._is_written(cell, trace):
                with init_scope():
                    return cell_read(self._settled(cell, trace))
            return initial
        if callable(initial) and not isinstance(initial, Tensor):
            return self._called(initial, trace)
        if nesting.is_nested(initial):
            return nesting.map_structure(self.lifted, initial)
        return initial

    def end(self) -> None:
        """Say that the trace is over: what was taken for it and cannot be copied is given back."""
        self._trace.initial_values = None
        for undo in reversed(self._undo):
            undo()

    def write_results(self) -> None:
        """Let the graph hold what Python and random ops gave when they were run: its one call does not run them again.

        Variables and iterators are as they were, so that what touches these alone is run by the call in its turn; a
        node that does both (a condition, say) leaves assignments of what it has assigned.
        """
        nodes: list[ir.Node] = []
        for node in self._trace.graph.nodes:
            if node not in self._assigned:
                nodes.append(node)
                continue
            for value in node.outputs:
                nodes.append(self._constant(self._known[value], node, value))
            for resource, tensor in self._assigned[node]:
                constant = self._constant(tensor, node)
                name = self._trace.graph.unique_name(node.name)
                inputs = (resource, constant.outputs[0])
                nodes += [constant, ir.Node(ASSIGN, inputs, {}, (), name, node.source, node.device)]
        self._trace.graph.nodes = nodes

    def _constant(self, tensor: Tensor, like: ir.Node, output: ir.Value | None = None) -> ir.Node:
        """Return a node that gives a tensor, in the place of a node, and perhaps of that node's output."""
        name = like.name if output is not None and output.index == 0 else self._trace.graph.unique_name(like.name)
        aval = tensor.aval if output is None else output.aval
        node = ir.Node(CONST, (), {"value": tensor}, (aval,), name, like.source, like.device)
        if output is not None:
            output.node, output.index, node.outputs = node, 0, (output,)
        return node

    def _note_assigned(self, node: ir.Node) -> None:
        """Note what a node that has run has assigned, if it must not run again: where it calls Python, or draws."""
        effects = ir.effects(node)
        resources = [effect.resource for effect in effects if effect.resource is not None]
        once = any(effect.kind == "host" for effect in effects) or not all(map(self._is_variable, resources))
        if effects and once and _ELEMENTS not in self._of(self._trace).touched.get(node, ()):
            written = [effect.resource for effect in effects if effect.kind == "write" and effect.resource is not None]
            changed = [resource for resource in dict.fromkeys(written) if self._is_variable(resource)]
            self._assigned[node] = [(resource, cell_read(self._known[resource])) for resource in changed]

    def _is_variable(self, resource: ir.Value) -> bool:
        return _variable_of(self._known[resource]) is not None

    def _called(self, initial: Callable[..., Any], trace: Any) -> Any:
        """Return `initial` as it can be called outside the trace, though it may use what only that has.

        That is its tensors, and what it has assigned to Variables.
        """

        def value() -> Any:
            try:
                with VariableWatcher(trainable_only=False) as watcher:
                    made = initial()
                if not any(self._is_written(variable.__fg_cell__, trace) for variable in watcher.variables):
                    return self.lifted(made)
            except InaccessibleTensorError:
                pass
            with entering(trace):
                return self.lifted(initial())

        return value

    def _value(self, tensor: object) -> Any:
        """Compute a tensor of the trace, of a branch in it, or of a trace around it; what has a value is that."""
        if not isinstance(tensor, SymbolicTensor):
            return tensor
        trace = tensor.trace
        if trace.root is not self._trace:
            others = trace.root.initial_values
            if others is None:
                raise self._no_value(trace.root)
            return others._value(tensor)
        if tensor.value not in self._known:
            self._run(self._needed([tensor.value], [], trace), trace)
        return self._known[tensor.value]

    def _run(self, needed: set[ir.Node], trace: GraphTrace) -> None:
        extra, known = current_state().extra, self._known
        before, extra["taken"] = extra.get("taken"), self._undo
        try:
            for node in sorted(needed, key=self._of(trace).positions.__getitem__):
                results = run_node(node, tuple([known[value] for value in node.inputs]))
                known.update(zip(node.outputs, results, strict=True))
                self._done.add(node)
                if trace is self._trace:
                    self._note_assigned(node)
        finally:
            extra["taken"] = before

    def _of(self, trace: GraphTrace) -> _Nodes:
        """Return the nodes of a trace, those made last included."""
        found = self._nodes.get(trace)
        if found is None:
            found = self._nodes[trace] = _Nodes(trace.graph)
        return found.update()

    def _needed(self, values: list[ir.Value], nodes: list[ir.Node], trace: GraphTrace) -> set[ir.Node]:
        """Return the nodes of a trace that are still to be run for some values, and to run some nodes.

        Of what has an effect, all that touched the same before it comes along.
        """
        placed = self._of(trace)
        needed: set[ir.Node] = set()
        stack = list(values)

        def need(node: ir.Node) -> None:
            if node in needed or node in self._done:
                return
            needed.add(node)
            stack.extend(node.inputs)
            for each in placed.touched.get(node, ()):
                for other in placed.touching[each]:
                    if other is node:
                        break
                    need(other)

        for node in nodes:
            need(node)
        while stack:
            value = stack.pop()
            node, aval = value.node, value.aval
            if value in self._known or node in needed:
                continue
            if aval.value is not None and node.op.effect is None:
                self._known[value] = from_array(np.array(aval.value), aval.dtype)
            elif aval.is_static and node.op.name in _FROM_SHAPES and aval.dtype.name != "string":
                made = _FROM_SHAPES[node.op.name](aval.shape, aval.dtype.as_numpy_dtype)
                self._known[value] = from_array(made, aval.dtype)
            elif node.op.name == "placeholder":
                self._known[value] = self._argument(value, trace)
            else:
                need(node)
        return needed

    def _argument(self, value: ir.Value, trace: GraphTrace) -> Any:
        """Return what a parameter of a trace stands for in the first call; for a Variable the copy of its Cell."""
        if trace is not self._trace:
            for operand in trace.operands:  # of a branch: what is around it, but not what a loop carries
                if trace.value_of(operand) is value:
                    return self._copy(operand, trace) if isinstance(operand, Cell) else self._value(operand)
            raise ValueError(
                f"A tf.Variable made inside a condition or loop of a tf.function starts from {trace.tensor(value)!r}, "
                "which has no value there. Create the Variable outside of it."
            )
        for leaf, parameter in zip(self._leaves, trace.graph.inputs, strict=True):
            if parameter is value:
                if not isinstance(leaf, Tensor):
                    raise self._no_value(trace)
                self.are_of_the_call = True
                return self._value(leaf)
        for held, parameter in trace.graph.captures:
            if parameter is value:
                found = held() if isinstance(held, weakref.ref) else held
                self.are_of_the_call |= not isinstance(found, Cell) or _variable_of(found) is not None
                return self._copy(found, trace) if isinstance(found, Cell) else self._value(found)
        raise self._no_value(trace)

    # -- Variables that are assigned in the trace

    def _copy(self, cell: Cell, trace: GraphTrace) -> Cell:
        """Return the Cell that stands for a Variable's in a trace: as it is when that begins, and changed by its nodes.

        The states of random ops are themselves: what an initial value draws, the call does not draw again.
        """
        if _variable_of(cell) is None:
            return cell
        found = self._copies.get((trace, cell.id))
        if found is None:
            around = trace.outer
            others = None if around is None else around.root.initial_values
            now = cell if others is None else others._settled(cell, around)
            found = self._copies[trace, cell.id] = Cell(cell.aval, cell.name)
            found.variable = cell.variable
            if now.initialized:
                cell_assign(found, cell_read(now))
        return found

    def _settled(self, cell: Cell, trace: GraphTrace) -> Cell:
        """Return the Cell that stands for a Variable's in a trace after all nodes so far have touched it."""
        if trace.root is not self._trace:
            others = trace.root.initial_values
            return cell if others is None else others._settled(cell, trace)
        self.are_of_the_call = True
        touching = self._of(trace).touching.get(trace.value_of(cell), [])
        self._run(self._needed([], touching, trace), trace)
        return self._copy(cell, trace)

    def _is_written(self, cell: Cell, trace: GraphTrace) -> bool:
        """Say whether a node of the trace, or of one around it, writes a Variable."""
        around: GraphTrace | None = trace
        while around is not None:
            others = around.root.initial_values
            captured = around.captured(cell)
            if others is not None and captured is not None and captured in others._of(around).written:
                return True
            around = around.outer
        return False

    def _no_value(self, trace: GraphTrace) -> ValueError:
        return ValueError(
            f"The initial value of a tf.Variable made while tracing {trace.graph.name!r} depends on its arguments, "
            "which have no values here. Call the function once, or create the Variable outside of it."
        )


def _variable_of(cell: Cell) -> Any:
    return None if cell.variable is None else cell.variable()
