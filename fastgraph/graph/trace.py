"""Tracing: while a GraphTrace is active, ops become nodes of its graph and no kernel runs.

Rule: what a traced function uses from outside becomes a placeholder: an eager tensor or a Variable's cell is captured
by a function, a tensor of the enclosing trace is an operand of a branch or loop body, or a residual of a backward
graph. Any other tensor is out of reach, and the error says so.
"""

from __future__ import annotations

import os
import sys
import weakref
from types import CodeType
from typing import TYPE_CHECKING, Any

from fastgraph.composites.list_shape import reaches
from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import Aval, TensorShape, shape_of
from fastgraph.core.name_scopes import check_node
from fastgraph.core.native.buffer import Cell
from fastgraph.core.op_errors import enum_name
from fastgraph.core.primitive import Primitive
from fastgraph.core.registry import get
from fastgraph.core.tensor import EagerTensor, Tensor, ThreadState, Trace, bind, current_state, current_trace
from fastgraph.errors import InaccessibleTensorError, InternalError, MisfitError, OperatorNotAllowedInGraphError
from fastgraph.graph import shape_errors
from fastgraph.graph.ir import Graph, Node, SourceLine, Value, node_name
from fastgraph.graph.node_names import UNNAMED, Reserved, argument_name, tensor_place
from fastgraph.graph.structural_ops import CONST, CUSTOM, PLACEHOLDER, register_backward
from fastgraph.ops.families import shape_text

if TYPE_CHECKING:
    from fastgraph.graphdef import graph_view

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_CONVERTER = f"{os.sep}malt{os.sep}"  # AutoGraph's own frames
_MAX_SOURCE_LINES = 8

# ---------------------------------------------------------------------------------------------------------------------
# Where the user wrote it

# By names: code of two files is equal where their text is, and to hash it takes longer than to hash its name.
_internal_files: dict[str, bool] = {}
_lines: dict[tuple[str, int, str], SourceLine] = {}


def is_internal(code: CodeType) -> bool:
    """Whether code is of this package, or of what it is built with, and not the user's."""
    file = code.co_filename
    known = (
        file.startswith((_PACKAGE, "<frozen", "<fastgraph")) or file.endswith((".pyx", ".pxi")) or _CONVERTER in file
    )
    if len(_internal_files) > 100_000:  # functions made again and again by the user's program
        _internal_files.clear()
    _internal_files[file] = known
    return known


#: Where tracing begins: what is further out in the stack is not part of the traced function.
boundaries: set[CodeType] = set()


_BLOCK = ".<block>"


def block_name(qualname: str) -> str:
    """Return the qualified name of the code of a block, which is part of the function of this name."""
    return qualname if qualname.endswith(_BLOCK) else qualname + _BLOCK


def is_block(code: CodeType) -> bool:
    """Say whether `code` is a block of a function: of a staged statement, which runs in a frame of its own."""
    return code.co_qualname.endswith(_BLOCK)


#: Why AutoGraph has left functions as they are, for errors where a tensor would decide in one.
unconverted: weakref.WeakKeyDictionary[CodeType, str] = weakref.WeakKeyDictionary()


def _remedy() -> str:
    """Say what to do where a symbolic tensor would have to be a Python value."""
    frame = sys._getframe(2)
    while frame is not None and is_internal(frame.f_code):
        frame = frame.f_back  # type: ignore[assignment]
    reason = None if frame is None else unconverted.get(frame.f_code)
    if reason is None:
        return _REMEDY
    code = frame.f_code
    return (
        f" is not allowed in {code.co_name!r} (file {code.co_filename!r}, line {frame.f_lineno}), which AutoGraph has "
        f"not converted: {reason}. Use tf.cond, tf.while_loop or tf.where there instead."
    )


def user_line(code: CodeType, number: int) -> SourceLine | None:
    """Return the line of the user's program that a line of `code` is, None for a line of ours."""
    known = _internal_files.get(code.co_filename)
    if known is None:
        known = is_internal(code)
    if known:
        return None
    key = (code.co_filename, number, code.co_name)
    line = _lines.get(key)
    if line is None:
        if len(_lines) > 100_000:
            _lines.clear()
        line = _lines[key] = SourceLine(code.co_filename, number, code.co_name)
    return line


class _Code:
    """A code object as source_lines remembers it: whether it is ours, and the user's line of each instruction met.

    A code's hash goes through its constants and a frame's line number through its line table, so that both would make
    a function cost the square of its length: codes are found by identity, lines by the instruction.
    """

    __slots__ = ("at", "begins", "block", "code", "internal")

    def __init__(self, code: CodeType) -> None:
        self.code = code  # keeps it, and with it the identity
        self.internal = is_internal(code)
        self.block = is_block(code)
        self.begins = self.internal and code in boundaries
        self.at: dict[int, SourceLine | None] = {}


_codes: dict[int, _Code] = {}


def _code(code: CodeType) -> _Code:
    if len(_codes) > 100_000:
        _codes.clear()
    known = _codes[id(code)] = _Code(code)
    return known


def source_lines(n_frames: int = 2) -> tuple[SourceLine, ...]:
    """Return the innermost lines of the user's code that led here, the innermost first; so many frames are passed."""
    frame = sys._getframe(n_frames)
    found: list[SourceLine] = []
    within = False  # a block of the next function that is met
    while frame is not None:
        code = frame.f_code
        known = _codes.get(id(code)) or _code(code)
        if known.internal:
            if known.begins:
                break
        else:
            lasti = frame.f_lasti
            line = known.at.get(lasti)
            if line is None:
                line = known.at[lasti] = user_line(code, frame.f_lineno)
            if line is not None and not within and (not found or found[-1] is not line):
                found.append(line)
                if len(found) == _MAX_SOURCE_LINES:
                    break
            within = known.block
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(found)


# ---------------------------------------------------------------------------------------------------------------------
# Symbolic tensors

_REMEDY = (
    " is not allowed. You can attempt the following resolutions to the problem: If you are running in Graph mode, use"
    " Eager execution mode or decorate this function with @tf.function. If you are using AutoGraph, you can try"
    " decorating this function with @tf.function. If that does not work, then you may be using an unsupported feature"
    " or your source code may not be visible to AutoGraph: use tf.cond, tf.while_loop or tf.where instead."
)


class SymbolicTensor(Tensor):
    """A tensor of a graph under construction: it has a dtype, a shape as far as it is known, and no value."""

    __slots__ = ("dtype", "trace", "value")

    value: Value
    trace: GraphTrace
    dtype: DType  #: The element type.

    def __init__(self, value: Value, trace: GraphTrace) -> None:
        self.value = value
        self.trace = trace
        self.dtype = value.aval.dtype  # of every op that takes it, asked for several times

    @property
    def aval(self) -> Aval:
        """The dtype, the shape as far as it is known, and the value where it follows from shapes."""
        return self.value.aval

    @property
    def shape(self) -> TensorShape:
        """The shape; a dimension that is known only when the graph runs is None."""
        return shape_of(self.value.aval.shape)

    @property
    def name(self) -> str:
        """TensorFlow's name: `node:index`."""
        if not self.value.node.name:
            self.trace.settle(self.value.node)
        return "{}:{}".format(*tensor_place(self.value))

    @property
    def op(self) -> graph_view.Operation:
        """The operation that makes this tensor."""
        return self.trace.graph.public.maker_of(self.value)

    def consumers(self) -> list[graph_view.Operation]:
        """Return the operations that take this tensor."""
        return self.trace.graph.public.consumers_of(self.value)

    @property
    def graph(self) -> graph_view.Graph:
        """The graph under construction."""
        return self.trace.graph.public

    @property
    def value_index(self) -> int:
        """Which result of its operation this is."""
        return tensor_place(self.value)[1]

    @property
    def device(self) -> str:
        """The device asked for, or "" where the placement is open."""
        return self.value.node.device or ""

    @property
    def numpy(self) -> Any:
        """There is no value: AttributeError says what to do instead."""
        return self.__getattr__("numpy")

    def set_shape(self, shape: Any) -> None:
        """Note what is known besides about the shape. Raises ValueError if it contradicts what is known."""
        merged = self.shape.merge_with(shape)
        aval = self.value.aval
        self.value.aval = Aval(aval.dtype, None if merged.rank is None else tuple(merged), aval.value, aval.partial)

    @property
    def made_at(self) -> str:
        """Where it was made, for people: `from f, file:line`; of an argument, whose it is."""
        line = next(iter(self.value.node.source), None)
        if line is not None:
            return f"from {line.function}, {line}"
        trace = self.trace.root
        what = "an argument" if self.value in trace.graph.inputs else "a tensor"
        return f"from {trace.graph.name}, {what} of it"

    def __bool__(self) -> bool:
        raise OperatorNotAllowedInGraphError("Using a symbolic `tf.Tensor` as a Python `bool`" + _remedy())

    def __iter__(self) -> Any:
        raise OperatorNotAllowedInGraphError("Iterating over a symbolic `tf.Tensor`" + _remedy())

    def __len__(self) -> int:
        raise TypeError(
            f"len is not well defined for a symbolic Tensor ({self.name}). "
            "Please call `x.shape` rather than `len(x)` for shape information."
        )

    def __array__(self, *_: object, **__: object) -> Any:
        raise NotImplementedError(
            f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array. This error may indicate that you're "
            f"trying to pass a Tensor to a NumPy call, which is not supported. The tensor ({self.made_at}) has no "
            "value while tracing: use ops of tf, tf.numpy_function, or return it."
        )

    def _no_number(self, what: str) -> TypeError:
        return TypeError(
            f"{what}() needs a value, and the symbolic tensor {self.name} ({self.made_at}) has none until the graph "
            "runs. Compute with it as a tensor (tf.cast), or call the function eagerly."
        )

    def __int__(self) -> int:
        known = self.aval.value  # what tf.get_static_value gives, a program may ask for
        if known is None or known.ndim:
            raise self._no_number("int")
        return int(known)

    def __float__(self) -> float:
        raise self._no_number("float")

    def __complex__(self) -> complex:
        raise self._no_number("complex")

    def __index__(self) -> int:
        raise TypeError(
            f"the symbolic tensor {self.name} ({self.made_at}) cannot be a Python index: it has no value until the "
            "graph runs. Use tf.gather, or tf.range for a loop's counter."
        )

    def __getattr__(self, name: str) -> Any:
        if name in ("numpy", "item", "tolist"):
            raise AttributeError(
                f"'SymbolicTensor' object has no attribute {name!r}: {self.name} ({self.made_at}) has no value until "
                "the graph runs. Return it from the tf.function, print it with tf.print, or take it to Python with "
                "tf.py_function."
            )
        raise AttributeError(f"'SymbolicTensor' object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<tf.Tensor {self.name!r} shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        return f'Tensor("{self.name}", shape={self.shape}, dtype={self.dtype.name})'

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(f"unsupported format string passed to SymbolicTensor.__format__: {self.name} has no value")
        return str(self)


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


# ---------------------------------------------------------------------------------------------------------------------
# Names


def reserved(trace: GraphTrace, base: str) -> Reserved:
    """Return a name for a node of the trace that is still to come: its subgraphs' names begin with it."""
    return Reserved(trace.graph.unique_name(current_state().extra.get("name_scope", "") + base))


# ---------------------------------------------------------------------------------------------------------------------
# The trace


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
        self.enclosing: GraphTrace | None = None  # of a function: what traces the call that it is traced for
        self.within: dict[Any, Any] = {}  # the functions traced for calls here that take tensors of this trace
        self.operands: list[Any] = []
        self.residuals: list[Value] = []
        self.shapes: dict[Value, Value] = {}  # shapes that gradients ask for, and of what
        self.variables: list[Any] = []  # Variables made while tracing
        self.derivatives: dict[Any, Any] = {}  # backward graphs by what they are with respect to
        self.flattened: dict[Value, tuple[Value, Value]] = {}  # of a loop's body: what its gradient saves as vectors
        self.n_random_ops = 0  # what tells a function's random ops apart
        self.draws_eagerly = False  # traced for one call: its random ops take what eager ones would
        self.generators: list[Any] = []  # the cells of random ops, which nothing else keeps
        self.spare_generators: list[Any] = []  # of an earlier trace of the same function, for its random ops
        self.initial_values: Any = None  # of a function, while it is traced: of the Variables that it makes
        self.sealed = False
        self.node_name: str | None = None  # what the next node is to be called, where an op was given a name
        self.scope = ""  # the prefix of the names of its nodes
        self._unnamed = False  # whether there are nodes that wait for the name of what takes them
        # What the nodes made now wait for, as the user said: by context, with the nodes that were made in it.
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
        known = aval if self.kind == "branch" else aval.without_value()  # a branch has one place, where that is known
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
