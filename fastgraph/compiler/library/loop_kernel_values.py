"""The values of a loop's kernel: their numbers, the memory that they lie in, and how they are copied in its source.

Rule: what is carried from one iteration to the next is written at the iteration's end, all at once; a list, and a long
array, is never copied.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.program.program import PARTIAL_NODE, Program, Size
from fastgraph.compiler.program.shape_inference import infer_graph
from fastgraph.core.base.shapes import Aval
from fastgraph.core.registry import get
from fastgraph.core.tensor import EagerTensor, from_array
from fastgraph.graph.ir import Graph, Value

#: Bytes of what is copied at the end of an iteration, and of one row.
SMALL = 2048
ROWS_BYTES = 1 << 16


class Unfit(Exception):
    """The loop has something that is no part of such a kernel."""


class Values:
    """The values of a loop's kernel, by numbers of its own (the loop's operands come first), and their memory."""

    def __init__(self, of: Graph, n_carried: int) -> None:
        self.graph, self.n_carried = Graph(of.name), n_carried
        self.n_operands = len(of.parameters)
        self.constants: dict[int, EagerTensor] = {}
        self.values: list[Value] = []
        self.buffers: dict[int, str] = {}  # number -> name in the source, in the order of the kernel's slots
        self.sizes: list[Size] = []
        self.imports: set[str] = set()
        self.made: list[int] = []  # memory for what an iteration computes
        self.at_once: dict[int, int] = {}  # of that, what may be written into its row of a stacked result
        self.lists: dict[int, int] = {}  # states that are lists of any length -> the operands with as many rows
        self.n_parts = 0
        self.cost = 2.0
        self.opaque = False  # whether what is written is a part that must not know its sizes

    def local(self, number: int) -> str:
        """The text of an array of the kernel's own that has room for a value."""
        kind = render.storage(self.aval(number).dtype.name)
        self.imports.add(f"local_{kind}")
        return f"local_{kind}({self.aval(number).size})"

    def aval(self, number: int) -> Aval:
        return self.values[number].aval

    def keep(self, aval: Aval) -> int:
        """The number of a new value of the kernel's own."""
        self.values.append(Value(PARTIAL_NODE, 0, aval.without_value()))
        self.made.append(len(self.values) - 1)
        return len(self.values) - 1

    def state(self, k: int) -> int:
        """The number of what the kernel makes of carried value k. The schedule asks how many rows a list has."""
        aval = self.aval(k)
        if aval.is_static:
            return self.keep(aval)
        self.values.append(self.graph.add(get("identity"), (self.values[k],), {}, avals=(aval,)).outputs[0])
        self.made.append(len(self.values) - 1)
        self.lists[self.made[-1]] = k
        return self.made[-1]

    def is_long(self, number: int) -> bool:
        """Return whether a value is never copied."""
        return not self.aval(number).is_static or (self.aval(number).nbytes or 0) > SMALL

    def buffer(self, number: int) -> str:
        """The name of a value's memory in the source."""
        return self.buffers.setdefault(number, f"b{len(self.buffers)}")

    def copied(self, source: int, target: int, at: str = "") -> list[str]:
        """Lines that copy a value, to its place `at` in a longer one."""
        size = self.aval(source).size or 0
        if self.is_long(source):
            raise Unfit
        self.cost += 0.1 * size
        if size == 1 and not at:
            return [f"{self.buffer(target)}[0] = {self.buffer(source)}[0]"]
        e = f"e{self.n_parts}"
        place = f"{at} * {size} + {e}" if at else e
        self.n_parts += 1
        return [f"for {e} in range({size}):", f"    {self.buffer(target)}[{place}] = {self.buffer(source)}[{e}]"]

    def moved(self, after: Sequence[int], states: Sequence[int]) -> list[str]:
        """Lines that make what an iteration has computed the states of the next: all at once."""
        first: list[str] = []
        then: list[str] = []
        written = {state for value, state in zip(after, states, strict=True) if value != state}
        for value, state in zip(after, states, strict=True):
            if value == state:
                continue
            if value in written:  # another state, which is written as well
                held = self.keep(self.aval(value))
                first += self.copied(value, held)
                value = held
            then += self.copied(value, state)
        return first + then

    def rows(self, after: Sequence[int], states: Sequence[int]) -> tuple[list[tuple[int, int]], list[str]]:
        """Memory for the rows of a call, how many there is room for, and lines that write those of an iteration.

        What the iteration computed for itself may be written there at once.
        """
        made: list[tuple[int, int]] = []
        lines: list[str] = []
        for number in after:
            aval = self.aval(number)
            room = ROWS_BYTES // max(aval.nbytes or 1, 1)
            if not aval.is_static or room < 16:
                raise Unfit
            rows = self.keep(Aval(aval.dtype, (room, *(aval.shape or ()))))
            made.append((rows, room))
            self.buffer(rows)
            own = number in self.made and number not in states and number in self.buffers
            if own and (aval.size or 0) > 1 and number not in self.at_once:
                self.at_once[number] = rows
            elif aval.size:
                lines += self.copied(number, rows, "it")
        return made, lines

    def known(self, size: Size, scope: Scope) -> int | None:
        """The number that a size is in every call; None where the shapes of this one decide.

        Raises Unfit where even the rank does.
        """
        total = size.constant
        for k, axis in size.dims:
            shape = scope.avals[k].shape
            if shape is None:
                raise Unfit
            n = shape[axis]
            if n is None:
                return None
            total *= n
        return total

    def size(self, size: Size, scope: Scope) -> ast.expr:
        """A size in the source."""
        found = self.known(size, scope)
        if found is not None and not (self.opaque and size.dims):
            return ast.Constant(found)
        if found is not None:
            size = Size(found)
        own = [(scope.number.get(k, self.n_operands), axis) for k, axis in size.dims]
        made = Size(size.constant, tuple([(self.lists.get(k, k), axis) for k, axis in own]))
        if any(k >= self.n_operands for k, _ in made.dims):
            raise Unfit
        if made not in self.sizes:
            self.sizes.append(made)
        return ast.Subscript(ast.Name("sizes", ast.Load()), ast.Constant(self.sizes.index(made)), ast.Load())


class Scope:
    """The values of one of the programs that the kernel does, by that program's numbers."""

    def __init__(self, kernel: Values, program: Program, given: Sequence[int]) -> None:
        table = infer_graph(program.graph, [kernel.aval(k) for k in given])
        self.kernel, self.program = kernel, program
        self.avals = [table.get(v, v.aval) for v in program.values]
        self.number = dict(zip((*program.inputs, *program.captures), given, strict=True))  # -> the kernel's

    def at(self, k: int) -> int:
        """The kernel's number of a value. A constant gets one when it is first asked for. Raises Unfit."""
        if k not in self.number:
            value, aval = self.program.constants.get(k, self.avals[k].value), self.avals[k]
            if value is None or not aval.is_static:
                raise Unfit
            self.number[k] = len(self.kernel.values)
            self.kernel.values.append(Value(PARTIAL_NODE, 0, aval.without_value()))
            known = value if isinstance(value, EagerTensor) else from_array(np.asarray(value), aval.dtype)
            self.kernel.constants[self.number[k]] = known
        return self.number[k]


def is_list(aval: Aval) -> bool:
    """Return whether only the number of rows is not known, and each has an element."""
    return bool(aval.shape) and None not in aval.shape[1:] and 0 not in aval.shape  # type: ignore[index,operator]
