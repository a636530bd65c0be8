"""A Program: the optimised graph as kernels and steps, with symbolic sizes; made once per function, not per shape.

Rule: nothing here depends on a run-time size. `schedule.py` turns a Program and concrete shapes into a Plan.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.program.shape_inference import alike_nodes
from fastgraph.core.registry import Primitive
from fastgraph.graph.ir import Node

if TYPE_CHECKING:
    from fastgraph.graph.ir import Graph, Value

#: The node of values that are Programs' own: partial results, and what kernels keep.
PARTIAL_NODE = Node(Primitive("partial_result", op_type="PartialResult", n_outputs=1), (), {}, (), "partial_result")


@dataclass(frozen=True)
class Size:
    """A run-time int64: `constant` times the product of the extents `(value number, axis)` in `dims`.

    A size with no `dims` is a plain run-time parameter (a slice's offset). Several sizes over the same extents are how
    strides and collapsed dimensions are passed to a kernel.
    """

    constant: int = 1
    dims: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Fallible:
    """The op behind one ordinal of a kernel's status: what to say to the user when it fails."""

    node: Node
    message: str  # name of the formatter: the host re-reads the operands and writes TensorFlow's message


@dataclass(eq=False, repr=False, match_args=False)
class Step:
    """One step of a Program. `inputs` and `outputs` are value numbers (indices into Program.values)."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    nodes: tuple[Node, ...]  # the nodes it computes, for messages, explain() and the first tier

    @functools.cached_property
    def name(self) -> str:
        """The ops it computes."""
        return "+".join(dict.fromkeys([node.op.name for node in self.nodes]))


@dataclass(eq=False, repr=False, match_args=False)
class KernelStep(Step):
    """Run a compiled kernel over `extent` units of work, which may be cut anywhere into ranges."""

    kernel: KernelSpec
    buffers: tuple[int, ...]  # value number behind each buffer slot of the kernel (an in-place slot names its output)
    sizes: tuple[Size, ...]
    extent: Size
    cost: float  # estimated nanoseconds per unit of extent, on one thread; decides sharding and wake-ups
    shardable: bool = True
    in_place: tuple[tuple[int, int], ...] = ()  # (input position, output position) pairs that may share memory
    same_place: tuple[tuple[int, int], ...] = ()  # such pairs whose elements depend only on each other: they might
    fallible: tuple[Fallible, ...] = ()
    cost_dims: tuple[Size, ...] = ()  # further factors of the cost (the length of a reduction)
    operations: float = 0.0  # arithmetic operations per unit of extent, with the same factors
    products: tuple[Step, ...] = ()  # GemmSteps that the kernel has the executor's function compute


@dataclass(eq=False, repr=False, match_args=False)
class CountedStep(KernelStep):
    """A kernel with one output, as many rows of it as the int64s of value `counts` add up to when the step begins."""

    counts: int = -1


@dataclass(eq=False, repr=False, match_args=False)
class GemmStep(Step):
    """out[..., m, n] = op(a) @ op(b) by blocks or BLAS, of floats, int32 or pairs; batches are the output's."""

    transpose_a: bool
    transpose_b: bool
    pairs: str = ""  # the dtype of which an element of 32 bits is a pair
    shapes: tuple[tuple[int, ...], ...] = ()  # of the three matrices, where they are not those of the values


@dataclass(eq=False, repr=False, match_args=False)
class AliasStep(Step):
    """outputs[0] is inputs[0] seen in another shape (reshape, identity): no code runs, no memory is used."""


@dataclass(eq=False, repr=False, match_args=False)
class HostStep(Step):
    """Run the body of one node's primitive on the calling thread, with the GIL. Counted and shown."""

    node: Node

    @property
    def native(self) -> Any:
        """A giver of a function in C for it, by dtypes and shapes of operands, or None."""
        return getattr(getattr(self.node.attrs.get("key"), "object", None), "__fg_native__", None)


@dataclass(eq=False, repr=False, match_args=False)
class DynamicStep(Step):
    """A host or kernel step whose output shape is data: it ends the segment it stands in."""

    node: Node


@dataclass(eq=False, repr=False, match_args=False)
class ListStep(Step):
    """A list with elements more or in others' place (inputs: list, index, element or elements), longer, or cut.

    Nothing is moved where the list dies and has room.
    """

    node: Node


@dataclass(eq=False, repr=False, match_args=False)
class ReadStep(Step):
    """outputs[0] = the value held by the Variable behind resource inputs[0]."""


@dataclass(eq=False, repr=False, match_args=False)
class AssignStep(Step):
    """The Variable behind resource inputs[0] takes the value inputs[1]; in place where nothing else holds it.

    With inputs[2] it is an update of that value, and none that another thread made meanwhile gets lost.
    """


@dataclass(eq=False, repr=False, match_args=False)
class DrawStep(Step):
    """outputs[0] = the generator's state behind resource inputs[0], whose counter goes on by inputs[1] at once."""


@dataclass(eq=False, repr=False, match_args=False)
class CondStep(Step):
    """inputs[0] is the predicate, the rest the operands of both branches."""

    then_program: Program
    else_program: Program


@dataclass(eq=False, repr=False, match_args=False)
class WhileStep(Step):
    """inputs = (*carried, *invariants); both programs take all of them; the body gives the next carried values.

    `iterates`: the body's program does many iterations at once, and tests in between. A burst's does so as well, and
    tells how many; where it says none, the body's does one.
    """

    cond_program: Program
    body_program: Program
    n_carried: int
    iterates: bool = False
    burst_program: Program | None = None

    @property
    def stacked(self) -> list[Value]:
        """The results of the body that are stacked."""
        return list(self.nodes[0].attrs["body_graph"].outputs[self.n_carried :])


@dataclass(eq=False, repr=False, match_args=False)
class Program:
    """Steps in an order that respects data and effects.

    `values[i]` is the graph value behind number i; `inputs`, `captures` and `outputs` are value numbers. `constants`
    maps a value number to the tensor it always is; `shape_values` are the numbers whose values follow from shapes
    alone: the schedule computes them with the primitives' bodies when it makes a Plan. `after[i]` lists the steps
    that step i must wait for besides its inputs' producers (effects).
    """

    graph: Graph
    values: list[Value]
    inputs: tuple[int, ...]
    captures: tuple[int, ...]
    outputs: tuple[int, ...]
    steps: list[Step]
    constants: dict[int, Any] = field(default_factory=dict)
    shape_values: frozenset[int] = frozenset()
    after: list[tuple[int, ...]] = field(default_factory=list)
    witness: list[tuple[int, ...] | None] = field(default_factory=list)  # shapes of the graph's values as it was made

    @functools.cached_property
    def alike(self) -> dict[Node, int]:
        """Numbers of the graph's nodes, the same for those that give the same for the same shapes."""
        return alike_nodes(self.graph)

    def kernel_steps(self) -> list[KernelStep]:
        """The steps of the program, and of those inside it, that run kernels."""
        return [s for each in programs(self) for s in each.steps if isinstance(s, KernelStep)]


def programs(program: Program) -> list[Program]:
    """A program and those inside it."""
    found = [program]
    for step in program.steps:
        if isinstance(step, CondStep):
            found += [*programs(step.then_program), *programs(step.else_program)]
        elif isinstance(step, WhileStep):
            found += [*programs(step.cond_program), *programs(step.body_program)]
            found += programs(step.burst_program) if step.burst_program is not None else []
    return found
