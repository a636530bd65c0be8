"""Tracing: while a GraphTrace is active, ops become nodes of its graph and no kernel runs.

Rule: what a traced function uses from outside becomes a placeholder: an eager tensor or a Variable's cell is captured
by a function, a tensor of the enclosing trace is an operand of a branch or loop body, or a residual of a backward
graph. Any other tensor is out of reach, and the error says so.
"""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any

from fastgraph.composites.tensor_list_shape import reaches
from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.shapes import Aval
from fastgraph.core.name_scopes import check_node
from fastgraph.core.native.buffer import Cell
from fastgraph.core.op_errors import enum_name
from fastgraph.core.primitive import Primitive
from fastgraph.core.registry import get
from fastgraph.core.tensor import EagerTensor, ThreadState, Trace, bind, current_state, current_trace
from fastgraph.errors import InaccessibleTensorError, InternalError, MisfitError
from fastgraph.graph import shape_errors
from fastgraph.graph.ir import Graph, Node, Value, node_name
from fastgraph.graph.node_names import UNNAMED, Reserved, argument_name
from fastgraph.graph.source_lines import source_lines
from fastgraph.graph.structural_ops import CONST, CUSTOM, PLACEHOLDER, register_backward
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.ops.families import shape_text

if TYPE_CHECKING:
    from fastgraph.graphdef import graph_view


def base_name(node: Node) -> str:
    """Return the last part of the name that a node gets from what takes it; "" where that is the argument's."""
    if node.op is CONST:
        return ""
    return str(node.attrs["name"]) if node.op is PLACEHOLDER else "ReadVariableOp"


def _misfit(graph: Graph, prim: Primitive, name: str, values: tuple[Value, ...]) -> str:
    """Return the end of the text for inputs that do not fit an op: the node as TensorFlow prints it, and the shapes."""
    what = name if type(name) is Reserved else graph.unique_name(name, mark_as_used=False)
    arguments = ", ".join(
        (value.node.name or f"{what}/{base_name(value.node) or argument_name(prim, i)}")
        + (f":{value.index}" if value.index else "")
        for i, value in enumerate(values)
    )
    types = {
        letter: value.aval.dtype for letter, value in zip(prim.groups, values, strict=False) if letter[:1].isupper()
    }
    shapes = ", ".join("?" if value.aval.shape is None else shape_text(value.aval.shape) for value in values)
    attrs = f"[{', '.join(f'{letter}={enum_name(dtype)}' for letter, dtype in types.items())}]" if types else ""
    node = f"{{{{node {what}}}}} = {prim.op_type}{attrs}({arguments})"
    return f" for '{node}' with input shapes: {shapes}."


# ---- Names ----------------------------------------------------------------------------------------------------------


def reserved(trace: GraphTrace, base: str) -> Reserved:
    """Return a name for a node of the trace that is still to come: its subgraphs' names begin with it."""
    return Reserved(trace.graph.unique_name(current_state().extra.get("name_scope", "") + base))


# ---- The trace ------------------------------------------------------------------------------------------------------


class GraphTrace(Trace):
    """Builds one graph. `parent` is the trace around a branch, a loop body or a backward graph; a function has none.

    `kind` says what a tensor of the parent becomes here: in a "branch" an operand (`operands`: the parent's tensors, in
    the order of the graph's inputs from `n_own` on), in a "backward" graph a residual (`residuals`: values there).
    """

    def __init__(
        self, name: str, parent: GraphTrace | None = None, kind: str = "function", graph: Graph | None = None
    ) -> None:
        self.graph = Graph(name) if graph is None else graph
        self.graph.trace = self
        self.parent = parent
        self.kind = kind
        self.scratch = False  # a graph that programs make to look at shapes alone
        self.enclosing: GraphTrace | None = None  # of a function: what traces the call that it is traced for
        self.within: dict[Any, Any] = {}  # the functions traced for calls here that take tensors of this trace
        self.operands: list[Any] = []
        self.residuals: list[Value] = []
        self.shapes: dict[Value, Value] = {}  # shapes that gradients ask for, and of what
        self.variables: list[Any] = []  # Variables made while tracing
        self.derivatives: dict[Any, Any] = {}  # backward graphs by what they are with respect to
        self.flattened: dict[Value, tuple[Value, Value]] = {}  # of a loop's body: what its gradient saves as vectors
        self.random_ops = itertools.count()  # what tells the random ops of a graph, a branch or a body apart
        self.draws_eagerly = False  # traced for one call: its random ops take what eager ones would
        self.generators: list[Any] = []  # the cells of random ops, which nothing else keeps
        self.spare_generators: list[Any] = []  # of an earlier trace of the same function, for its random ops
        self.initial_values: Any = None  # of a function, while it is traced: of the Variables that it makes
        self.sealed = False
        self.idle: bool = parent is not None and parent.idle  # a branch that is known not to run
        self.node_name: str | None = None  # what the next node is to be called, where an op was given a name
        self.scope = ""  # the prefix of the names of its nodes
        self._unnamed = False  # whether there are nodes that wait for the name of what takes them
        # Operations that nodes made now wait for, as the user said: by context, with the nodes that were made in it.
        self.control: tuple[tuple[list[Node], set[Node]], ...] = ()
        self._captured: dict[Any, Value] = {}
        self._cells: dict[Value, Any] = {}  # placeholder of a resource -> weak reference to its Cell
        self._outside: dict[Value, Any] = {}  # what was captured -> the tensor outside; of an eager one a reference
        self._tensors: dict[Value, SymbolicTensor] = {}

    def __repr__(self) -> str:
        return f"FuncGraph(name={self.graph.name}, id={id(self)})"

    # -- making nodes

    def bind(self, prim: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Append the application of `prim` and return its symbolic result, or the tuple of them.

        Raises MisfitError, in TensorFlow's words, where the inputs' types do not fit the op.
        """
        values = tuple([self.value_of(tensor) for tensor in inputs])
        name, self.node_name = self.node_name, None
        state = current_state()
        full_name = self._name(prim, name, state)
        try:
            node = self.graph.add(prim, values, attrs, name=full_name, source=source_lines(), device=state.device)
        except ValueError as error:
            if type(error) not in (ValueError, MisfitError) or len(error.args) != 1:
                raise
            text = shape_errors.words(prim.name, [value.aval.shape for value in values], attrs) or str(error.args[0])
            text += _misfit(self.graph, prim, full_name or node_name(prim), values)
            raise MisfitError(None, None, text).with_traceback(error.__traceback__) from None
        if self.control:
            self._wait(node)
        if self._unnamed:
            self._name_inputs(node)
        checked = state.extra.get("check_numerics")
        return self.results(node) if checked is None else checked(self, node)

    def _name(self, prim: Primitive, name: str | None, state: ThreadState) -> str:
        """Return what a node is to be called before it is made unique; "" for a read: what takes it names it."""
        if name is None:
            if prim.effect == "read" and prim.name == "read_variable":
                self._unnamed = True
                return UNNAMED
            name = node_name(prim)
            check_node(state.extra.get("name_scope", ""))
        elif type(name) is Reserved:
            return name
        elif name.endswith("/"):  # that of a scope, which an op in it may have
            check_node("", name[:-1])
            return Reserved(name[:-1])
        else:
            check_node(state.extra.get("name_scope", ""), name)
        scope = state.extra.get("name_scope", "")
        return scope + name if scope else name

    def results(self, node: Node) -> Any:
        """Return the node's results as the op's caller gets them: a tensor, or a tuple where there may be several."""
        tensors = [self.tensor(value) for value in node.outputs]
        return tensors[0] if node.op.n_outputs == 1 else tuple(tensors)

    def operation(self, node: Node | None = None) -> graph_view.Operation:
        """Return the operation of a node, of the one made last if none is given."""
        node = self.graph.nodes[-1] if node is None else node
        self.settle(node)
        return self.graph.public.operation(node)

    def constant(self, tensor: object) -> Any:
        """Return the const node that stands for an eager tensor made from a Python value."""
        if type(tensor) is SymbolicTensor or isinstance(tensor, SymbolicTensor):
            return tensor
        device = current_state().device
        node = self.graph.add(CONST, (), {"value": tensor}, name=UNNAMED, device=device)
        self._unnamed = True
        if self.control:
            self._wait(node)
        return self.tensor(node.outputs[0])

    def _wait(self, node: Node) -> None:
        """Note what a node waits for; what it takes, and what that waits for, it waits for in any case."""
        taken = {value.node for value in node.inputs}
        found: dict[Node, None] = {}
        for nodes, made in self.control:
            if made.isdisjoint(taken):
                found.update(dict.fromkeys([each for each in nodes if each not in taken]))
            made.add(node)
        if found:
            self.graph.control[node] = tuple(found)

    # -- names of what its first use names: `add/y`, `MatMul/ReadVariableOp/resource`. A constant has its line as well.

    def _name_inputs(self, node: Node) -> None:
        if not node.name:
            return
        for i, value in enumerate(node.inputs):
            made = value.node
            if not made.name:
                made.name = self.graph.unique_name(f"{node.name}/{base_name(made) or argument_name(node.op, i)}")
                if made.op is CONST:
                    self.graph.implied.add(made)
                    made.source = made.source or node.source
                self._name_inputs(made)

    def settle(self, node: Node, name: str | None = None) -> None:
        """Name a node that nothing has taken yet: `name`, or what ops of its type are called."""
        if not node.name:
            node.source = node.source or source_lines()
            scope = current_state().extra.get("name_scope", "") if current_trace() is self else self.scope
            base = name or (base_name(node) if node.op is PLACEHOLDER else node_name(node.op))
            if name is not None and name.endswith("/"):  # as in _name
                check_node("", name[:-1])
                node.name = Reserved(name[:-1])
            else:
                check_node(scope, name)
                node.name = self.graph.unique_name(scope + (base or "Const"))
            self._name_inputs(node)

    def name_constant(self, tensor: object, name: str | None) -> None:
        """Name a constant that nothing has taken yet."""
        if isinstance(tensor, SymbolicTensor) and tensor.trace is self:
            self.settle(tensor.value.node, name)

    def settle_names(self) -> None:
        """Name the nodes that nothing has taken yet."""
        if self._unnamed:
            for node in self.graph.nodes:
                if not node.name:
                    self.settle(node)
                    if node.op is CONST:
                        self.graph.implied.add(node)
            self._unnamed = False

    def placeholder(self, aval: Aval, name: str) -> Value:
        """Append a placeholder node; the caller enters it among the inputs or captures."""
        attrs = {"dtype": aval.dtype, "shape": aval.shape, "name": name}
        node = self.graph.add(PLACEHOLDER, (), attrs, avals=(Aval(aval.dtype, aval.shape),), name=self.scope + name)
        return node.outputs[0]

    def add_input(self, aval: Aval, name: str) -> SymbolicTensor:
        """Append an input of the graph."""
        value = self.placeholder(aval, name)
        self.graph.inputs.append(value)
        return self.tensor(value)

    def tensor(self, value: Value) -> SymbolicTensor:
        """Return the symbolic tensor of one of this graph's values."""
        found = self._tensors.get(value)
        if found is None:
            found = self._tensors[value] = SymbolicTensor(value, self)
        return found

    def handle(self, value: Value) -> Any:
        """Return the tensor of `value`, or the Cell itself where a captured resource stands (None once it is freed)."""
        reference = self._cells.get(value)
        return self.tensor(value) if reference is None else reference()

    def origin(self, value: Value) -> Any:
        """Return what `value` is where it comes from: of a capture the tensor outside, or the Cell (None if freed)."""
        found: Any = self
        while isinstance(found, GraphTrace):
            outside = found._outside.get(value)
            if outside is None:
                return found.handle(value)
            if not isinstance(outside, SymbolicTensor):
                return outside()
            found, value = outside.trace, outside.value
        return found

    def custom_gradient(self, outputs: list[Any], inputs: list[Any], backward: Any) -> list[Any]:
        """Return `outputs` passed through one op whose gradient is `backward(*dys)`, one gradient per input."""
        attrs = {"n_outputs": len(outputs), "key": register_backward(backward)}
        handles = [getattr(item, "__fg_cell__", item) for item in inputs]
        return list(bind(CUSTOM, (*outputs, *handles), attrs))

    # -- what comes from outside

    def value_of(self, tensor: Any) -> Value:
        """Return this graph's value for a tensor or Cell, capturing it if it comes from outside.

        Raises InaccessibleTensorError for a tensor of a trace that does not enclose this one.
        """
        if isinstance(tensor, SymbolicTensor):
            if tensor.trace is self:
                return tensor.value
            known = self._captured.get(tensor.value)
            if known is not None:
                return known
            self._check_reach(tensor)
            return self._capture(tensor, tensor.value, tensor.aval)
        known = self._captured.get(tensor.id)
        if known is not None:
            return known
        if isinstance(tensor, Cell):
            return self._capture(tensor, tensor.id, Aval(dtypes.resource, ()))
        if isinstance(tensor, EagerTensor):
            return self._capture(tensor, tensor.id, tensor.aval)
        raise InternalError(None, None, f"{type(tensor).__name__} cannot be an operand of a graph's op")

    def captured(self, cell: Cell) -> Value | None:
        """Return what stands here for a Cell from outside, None if nothing has used it."""
        return self._captured.get(cell.id)

    def origins(self) -> dict[Value, Any]:
        """Return what comes from outside: the value here, and the one (of a tensor or Cell the id) it stands for."""
        return {value: key for key, value in self._captured.items()}

    def reaches(self, tensor: SymbolicTensor) -> bool:
        """Say whether a tensor of a trace may be used here."""
        return reaches(self, tensor.trace)

    def _capture(self, tensor: Any, key: object, aval: Aval) -> Value:
        if self.sealed:
            raise InternalError(None, None, f"graph {self.graph.name!r} is finished and cannot capture {tensor!r}")
        is_cell = isinstance(tensor, Cell)
        if isinstance(tensor, SymbolicTensor) and self._may_copy(tensor):
            node = self.graph.add(CONST, (), tensor.value.node.attrs, name=UNNAMED, source=tensor.value.node.source)
            self._captured[key] = node.outputs[0]
            self._outside[node.outputs[0]] = tensor
            self._unnamed = True
            return node.outputs[0]
        name = "resource" if is_cell else tensor.name.partition(":")[0] if isinstance(tensor, SymbolicTensor) else ""
        attrs = {"dtype": aval.dtype, "shape": aval.shape, "name": name}
        # A branch has one place, where values are known; they may not fit one that does not run.
        known = aval if self.kind == "branch" and not self.idle else aval.without_value()
        node = self.graph.add(PLACEHOLDER, (), attrs, avals=(known,), name=UNNAMED)
        value = node.outputs[0]
        self._unnamed = True
        if self.kind == "branch":
            assert self.parent is not None
            self.parent.value_of(tensor)  # a chain of captures up to where it comes from
            self.graph.inputs.append(value)
            self.operands.append(tensor)
        elif self.kind == "backward" and (residual := self._residual(tensor)) is not None:
            self.graph.inputs.append(value)
            self.residuals.append(residual)
        elif is_cell:
            self.graph.captures.append((weakref.ref(tensor), value))
        else:
            self.graph.captures.append((tensor, value))
        self._captured[key] = value
        if is_cell:
            self._cells[value] = weakref.ref(tensor)
            if tensor.name == "generator":
                self.generators.append(tensor)
        else:  # who asks for gradients of an eager one has it
            self._outside[value] = tensor if isinstance(tensor, SymbolicTensor) else weakref.ref(tensor)
        return value

    def _may_copy(self, tensor: SymbolicTensor) -> bool:
        """Say whether a tensor of a graph around this one is a constant for which nobody asks gradients."""
        if tensor.value.node.op is not CONST:
            return False
        dtype = tensor.dtype
        return not (dtype.is_floating or dtype.is_complex) or (
            self.kind == "backward" and tensor.trace is self.parent  # of a graph that is finished
        )

    def _residual(self, tensor: object) -> Value | None:
        """Return the value of the forward graph that a backward graph gets for `tensor`, None if it has none there."""
        assert self.parent is not None
        if isinstance(tensor, SymbolicTensor):
            if tensor.trace is self.parent:
                return tensor.value
            return self.parent._captured.get(tensor.value)
        return None  # eager tensors and cells come straight from outside

    def _check_reach(self, tensor: SymbolicTensor) -> None:
        if not self.reaches(tensor):
            raise InaccessibleTensorError(out_of_reach(tensor, self))

    @property
    def outer(self) -> GraphTrace | None:
        """The trace whose tensors may be used here."""
        return self.parent if self.parent is not None else self.enclosing

    @property
    def root(self) -> GraphTrace:
        """The trace of the whole function that this is of, or of a branch or a body in it."""
        trace = self
        while trace.parent is not None:
            trace = trace.parent
        return trace

    # -- the end

    def finish(self, outputs: list[Value]) -> Graph:
        """Enter the outputs and return the graph; nothing can be captured by it any more."""
        self.graph.outputs = outputs
        self.settle_names()
        self.sealed = True
        return self.graph

    def identity(self, tensor: object, name: str = "Identity") -> Value:
        """Append an Identity of a tensor: what a function returns is a node of its own."""
        value = self.value_of(tensor)
        if value.node.op is not PLACEHOLDER:
            self.settle(value.node)
        node = self.graph.add(
            get("identity"), (value,), {}, avals=(value.aval,), name=self.scope + name, source=value.node.source
        )
        self._name_inputs(node)
        return node.outputs[0]


def out_of_reach(tensor: SymbolicTensor, where: GraphTrace | None) -> str:
    """Return the text for a tensor that was used outside the trace it belongs to."""
    lines = [
        f"{tensor!r} is out of scope and cannot be used here. Use return values, explicit Python locals or TensorFlow "
        "collections to access it.",
        "Please see https://www.tensorflow.org/guide/function#all_outputs_of_a_tffunction_must_be_return_values for "
        "more information.",
        f"{tensor!r} ({tensor.made_at}) was defined here:",
    ]
    for line in reversed(tensor.value.node.source):
        lines.append(f'    File "{line.file}", line {line.line}, in {line.function}')
    if where is None:
        lines.append(f"It belongs to {tensor.trace!r}, whose tracing is over; outside a tf.function only values exist.")
    else:
        lines.append(
            f"The tensor {tensor!r} cannot be accessed from {where!r}, because it was defined in {tensor.trace!r}, "
            "which is out of scope."
        )
    return "\n".join(lines)
