"""PlanSpec: a Program for one set of shapes, as plain data from which the executor makes C structs.

Rule: everything here is a number, a tuple or a callable; the executor trusts it and decides nothing itself. Memory is a
table of slots. Values that share memory (written in place, reshaped) have the same slot; two slots never overlap while
both are in use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Self

CPU = 0  # launch kinds and devices: the number of a device is 0 for the CPU
CUDA = 1


class Place(IntEnum):
    """Origins of a slot's memory."""

    INPUT = 0  # the plan's input number `index`
    CONSTANT = 1  # `tensor`, held by the plan
    ARENA = 2  # `offset` in the memory that lives as long as the call
    BLOCK = 3  # a Block of its own, made before the first step that writes it: whatever may outlive the call
    GIVEN = 4  # a Block that a step hands in: what it read, or what its own code made
    CELL = 5  # the Cell that is input number `index`


@dataclass(eq=False, repr=False, match_args=False)
class Slot:
    """One piece of memory."""

    place: Place
    nbytes: int = 0
    offset: int = 0
    index: int = -1
    tensor: Any = None
    dynamic: bool = False  # the shape is data: the step that gives the Block also gives the shape
    device: int = CPU


@dataclass(eq=False, repr=False, match_args=False)
class Operand:
    """A value as a host step or a caller sees it: memory, element type, shape (None: the slot's run-time shape)."""

    slot: int
    dtype: int
    shape: tuple[int, ...] | None


@dataclass(eq=False, repr=False, match_args=False)
class StepSpec:
    """The attributes that all steps have.

    `after` are the steps that must end first; `allocate` the BLOCK slots made before the step; `release` those whose
    last use it is, in program order; `copies` are (from slot, to slot, bytes) done before it. `cost` is in nanoseconds
    on one thread. A pinned step runs on the calling thread, because it needs Python.
    """

    after: tuple[int, ...] = ()
    allocate: tuple[int, ...] = ()
    release: tuple[int, ...] = ()
    copies: tuple[tuple[int, int, int], ...] = ()
    cost: float = 0.0
    pinned: bool = False
    launch: int = CPU
    device: int = CPU
    operands: tuple[Operand, ...] = ()  # what `explain` and host code are given
    name: str = ""
    source: Any = None  # the Program's step, for messages
    operations: float = 0.0  # arithmetic operations, as far as they are known

    def with_fields(self, fields: Mapping[str, Any]) -> Self:
        """Return this step with other values of some fields."""
        other = object.__new__(type(self))  # two updates: `dataclasses.replace` takes ten times as long
        other.__dict__.update(self.__dict__)
        other.__dict__.update(fields)
        return other


@dataclass(eq=False, repr=False, match_args=False)
class KernelCall(StepSpec):
    """kernel(status, excinfo, buffers, sizes, begin, end) over [0, extent) in ranges of `chunk` units.

    `updates` are (Cell, slot read from it, result slot): the result takes the memory of what was read while nobody but
    the Variable and this call holds it, else it is a Block of its own that begins as a copy. `counted` is an output of
    as many rows of the shape `row` as the `n_counts` int64s in slot `counts` add up to when the step begins. Of each of
    `products`, which it computes itself, the kernel gets two sizes more: who computes it, and what it is.
    """

    address: int = 0
    buffers: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    extent: int = 0
    chunk: int = 0
    updates: tuple[tuple[int, int, int], ...] = ()
    counted: Operand | None = None
    counts: int = -1
    n_counts: int = 0
    row: tuple[int, ...] = ()
    products: tuple[GemmCall, ...] = ()


@dataclass(eq=False, repr=False, match_args=False)
class GemmCall(StepSpec):
    """c[i] = op(a[i]) @ op(b[i]) for each batch i; offsets are in elements. Cut into `pieces` along M or N."""

    a: int = 0
    b: int = 0
    c: int = 0
    dtype: str = "float32"  # or float64, int32; bfloat16 or int16: pairs of them, as elements of 32 bits
    transpose_a: bool = False
    transpose_b: bool = False
    m: int = 0
    n: int = 0
    k: int = 0
    a_offsets: tuple[int, ...] = (0,)
    b_offsets: tuple[int, ...] = (0,)
    along_n: bool = False
    pieces: int = 1
    chunk: int = 1  # (batch, piece) units per shard


@dataclass(eq=False, repr=False, match_args=False)
class HostCall(StepSpec):
    """outputs = function(*operands): EagerTensors (Cells for resources) in, a list of EagerTensors out.

    Before, the Blocks in the slots `dropped`, which were read and are not used any more, are let go.
    `unless`: Nothing is called where the first operand, a bool, is true. `native`: the addresses of a function in C and
    of what it is called with, which does the same without Python, or says that Python is to do it (see executor.pxd).
    """

    function: Callable[..., list[Any]] | None = None
    outputs: tuple[Operand, ...] = ()
    dropped: tuple[int, ...] = ()
    unless: bool = False
    native: tuple[int, int] = (0, 0)


@dataclass(eq=False, repr=False, match_args=False)
class ListCall(HostCall):
    """A step on a list, done by `function` where the operands are not as they should be.

    The list has `rows` rows of `row_bytes` bytes. It gets longer where it has no such row (`grow`), and as many rows as
    `written` says are written (`push`), over the old list where nothing else looks at it (`over`); or it is cut.
    """

    push: bool = False
    written: int = 0
    grow: bool = False
    over: bool = False
    rows: int = 0
    row_bytes: int = 0
    wide_index: bool = False


@dataclass(eq=False, repr=False, match_args=False)
class ReadCell(StepSpec):
    """The Block that a Cell holds now goes to `output.slot`; its shape must be `output.shape` unless that is None."""

    cell: int = 0
    output: Operand | None = None


@dataclass(eq=False, repr=False, match_args=False)
class AssignCell(StepSpec):
    """The Cell takes the Block of `value`.

    With `before` (a slot, or -1), which `value` is an update of: if the Cell holds another Block by now, it takes what
    it holds + (value - before).
    """

    cell: int = 0
    value: Operand | None = None
    before: int = -1


@dataclass(eq=False, repr=False, match_args=False)
class DrawCell(StepSpec):
    """`output` is the int64[2] that the Cell holds; in the same moment its second number goes on by that in `count`."""

    cell: int = 0
    count: int = 0
    output: Operand | None = None


@dataclass(eq=False, repr=False, match_args=False)
class Branch(StepSpec):
    """Run one of two plans on `inputs`, by the bool in slot `predicate`."""

    predicate: int = 0
    then_plan: Any = None
    else_plan: Any = None
    inputs: tuple[int, ...] = ()
    outputs: tuple[Operand, ...] = ()


@dataclass(eq=False, repr=False, match_args=False)
class Loop(StepSpec):
    """Loop: while cond_plan(carried, invariants) is true, carried = body_plan(carried, invariants).

    Where the body may change a carried shape, `again(shapes)` gives the three plans for new ones. `burst_plan` does
    many iterations: the next carried values, how many it did (int64[1]), and as many rows of each further result; after
    none, body_plan does one. The carried values in the places `handed` are those of a loop around this one that nobody
    takes later: what is written over them need not be copied. `rows` are the extents of the further results of one
    iteration, 0 where the body decides: of no iteration.
    """

    cond_plan: Any = None
    body_plan: Any = None
    n_carried: int = 0
    inputs: tuple[int, ...] = ()
    outputs: tuple[Operand, ...] = ()
    again: Callable[[tuple[tuple[int, ...], ...]], tuple[Any, Any, Any]] | None = None
    burst_plan: Any = None
    handed: tuple[int, ...] = ()
    rows: tuple[tuple[int, ...], ...] = ()


@dataclass(eq=False, repr=False, match_args=False)
class Transfer(StepSpec):
    """Copy a value to another device."""

    origin: int = 0
    target: int = 0
    nbytes: int = 0


@dataclass(eq=False, repr=False, match_args=False)
class Rest(StepSpec):
    """The steps after one whose output shape is data: `resolve(shapes of the dynamic inputs)` gives the plan to run.

    Before, the Blocks in the slots `dropped` are let go, as of a HostCall.
    """

    inputs: tuple[int, ...] = ()
    outputs: tuple[Operand, ...] = ()
    dropped: tuple[int, ...] = ()
    resolve: Callable[[tuple[tuple[int, ...], ...]], Any] | None = None


@dataclass(eq=False, repr=False, match_args=False)
class PlanSpec:
    """Slots, steps in program order, and what goes in and out."""

    slots: list[Slot]
    steps: list[StepSpec]
    inputs: list[Operand]
    outputs: list[Operand]
    arenas: dict[int, int] = field(default_factory=dict)  # bytes by device; a slot's offset is in its device's arena
    parallel: bool = False  # worth more than one thread
    cost: float = 0.0
    name: str = "plan"
    keep: list[Any] = field(default_factory=list)  # what must outlive the plan (loaded kernels)
    explain: Callable[[StepSpec, int, int, list[Any]], Exception] | None = None  # (step, ordinal, position, operands)
