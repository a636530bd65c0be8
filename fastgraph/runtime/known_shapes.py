"""The steps of a Program that can be planned now, and those that must wait for shapes that are data.

Rule: a step is planned if all its sizes are known; the number of threads plays no part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from fastgraph.compiler.library.loop_step_order import looks_in_vain
from fastgraph.compiler.program.program import (
    AliasStep,
    AssignStep,
    CountedStep,
    GemmStep,
    KernelStep,
    ListStep,
    Program,
    ReadStep,
    Step,
)
from fastgraph.compiler.program.shape_inference import CannotPlan, calls_python, infer_graph
from fastgraph.compiler.program.symbolic_extents import fits
from fastgraph.core.base.dtype import resource
from fastgraph.core.base.shapes import Aval
from fastgraph.graph.ir import Value
from fastgraph.runtime.check_errors import readable
from fastgraph.runtime.plan import Slot

if TYPE_CHECKING:
    from fastgraph.runtime.schedule import Planner


def known_sizes(
    program: Program, arguments: Sequence[Aval], given: dict[Value, Aval] | None = None
) -> dict[Value, Aval]:
    """Return the aval of every value. Raises CannotPlan where an op does not fit, or the Program does not."""
    for node in program.graph.nodes:
        if given and calls_python(node) and not all(_as_noted(value, given) for value in node.outputs):
            raise CannotPlan(node, ValueError("Python has given another shape than the program was told"))
    table = infer_graph(program.graph, arguments, given, alike=program.alike)
    if not fits(program.witness, [table[v].shape for n in program.graph.nodes for v in n.outputs]):
        raise CannotPlan(program.graph.nodes[-1], ValueError("the program was made for other extents"))
    return table


def _as_noted(value: Value, given: dict[Value, Aval]) -> bool:
    shape, noted = value.aval.shape if value not in given else given[value].shape, value.aval.shape
    if shape is None or noted is None:
        return True
    return len(shape) == len(noted) and all(n in (None, m) for m, n in zip(shape, noted, strict=True))


def _partial(value: Value) -> Aval | None:
    return value.aval if value.node.op.name == "partial_result" else None


class KnownShapes:
    """Knowledge of a schedule: the avals of a program's values, and the steps that these allow to be planned."""

    def __init__(
        self,
        planner: Planner,
        program: Program,
        table: dict[Value, Aval],
        chosen: Iterable[int],
        inputs: Sequence[int],
        computed: dict[Value, Aval] | None = None,
        own: Sequence[int] = (),
    ) -> None:
        self.own = frozenset(own)
        self.taken: set[int] = set()  # slots of results that are written over what a loop carries, where they can
        self.planner = planner
        self.program = program
        self.table = table
        self.avals = self._avals()
        self.inputs = tuple(inputs)
        self.computed = computed or {}  # the avals of what steps before these made
        self.keep: list[Any] = []
        self.slots: list[Slot] = []
        self.slot_of: dict[int, int] = {}  # value number -> slot
        self.producer: dict[int, int] = {}  # value number -> new index of its step
        self.now, self.later = self._split(chosen)
        if self.later and not self.now:  # else the plan of the rest would be a plan of the same rest, without end
            node = program.steps[self.later[0]].nodes[0]
            raise CannotPlan(node, ValueError("its sizes are data that no step before it gives"))
        self.position = {old: new for new, old in enumerate(self.now)}
        self.unsettled = self._unsettled()
        self.rest_inputs = self._rest_inputs()
        self.consumers = self._consumers()
        self.frozen = self._frozen()

    def _avals(self) -> list[Aval | None]:
        """Return what is known of each value. Partial results are the program's alone: their shapes are fixed."""
        table = self.table
        return [table.get(value) or _partial(value) for value in self.program.values]

    def aval(self, number: int) -> Aval:
        """Return what is known of a value."""
        aval = self.avals[number]
        assert aval is not None
        return aval

    def _shape(self, number: int) -> tuple[int, ...]:
        """Return the shape of a value whose size is known."""
        return self.avals[number].shape  # type: ignore[union-attr,return-value]

    def static(self, number: int) -> bool:
        """Return whether the value's shape is known (a resource has none to know)."""
        aval = self.avals[number]
        return aval is not None and (aval.is_static or aval.dtype == "resource")

    def _split(self, chosen: Iterable[int]) -> tuple[list[int], list[int]]:
        if self._all_known():
            return list(chosen), []
        now: list[int] = []
        later: list[int] = []
        waiting: set[int] = set()  # old indices of the steps that come later
        missing: set[int] = set()  # what they produce
        for old in chosen:
            step = self.program.steps[old]
            known = self._ready(step) and missing.isdisjoint(step.inputs)
            if not known or not waiting.isdisjoint(self._program_after(old)):
                later.append(old)
                waiting.add(old)
                missing.update(step.outputs)
            else:
                now.append(old)
        return now, later

    def _all_known(self) -> bool:
        """Return whether no size is data: then there is nothing to wait for, and no step needs a look of its own."""
        avals = self.avals
        for number in self.program.shape_values:
            aval = avals[number]
            if aval is None or aval.value is None:
                return False
        shapes = {None if aval is None else aval.shape for aval in avals if aval is None or aval.dtype is not resource}
        return None not in shapes and not any(None in shape for shape in shapes)  # type: ignore[operator]

    def _ready(self, step: Step) -> bool:
        sizes = (*step.sizes, step.extent, *step.cost_dims) if isinstance(step, KernelStep) else ()
        settled = (
            self.program.shape_values
        )  # no step computes these: they are known once the sizes they follow from are
        return all(number not in settled or self.aval(number).value is not None for number in step.inputs) and (
            all(self.static(number) for number in step.inputs)
            and all(self.static(number) for size in sizes for number, _ in size.dims)
            and (not isinstance(step, (KernelStep, GemmStep)) or all(self._sized(step, n) for n in step.outputs))
        )

    def _sized(self, step: Step, number: int) -> bool:
        """Return whether the size of an output is known, but for the number of rows if that is counted."""
        shape = self.aval(number).shape
        return self.static(number) or (isinstance(step, CountedStep) and shape is not None and None not in shape[1:])

    def _program_after(self, old: int) -> Sequence[int]:
        after = self.program.after
        return after[old] if old < len(after) else ()

    def _unsettled(self) -> list[int]:
        """Return the outputs that follow from extents that are data: no step computes them, none here knows them."""
        shapes = self.program.shape_values
        return [n for n in dict.fromkeys(self.program.outputs) if n in shapes and self.aval(n).value is None]

    def _rest_inputs(self) -> list[int]:
        """Return the value numbers that the later steps take from these: what they read, and all unknown shapes."""
        if not self.later and not self.unsettled:
            return []
        have = {number for old in self.now for number in self.program.steps[old].outputs} | set(self.inputs)
        wanted = {number for old in self.later for number in self.program.steps[old].inputs}
        # The inputs of the steps' nodes, too: in case that they are interpreted. Kernels may need less.
        numbers = {value: number for number, value in enumerate(self.program.values)}
        seen: set[Value] = set()
        stack = [value for old in self.later for node in self.program.steps[old].nodes for value in node.inputs]
        stack += [self.program.values[number] for number in self.unsettled]
        while stack:
            value = stack.pop()
            if value in seen:
                continue
            seen.add(value)
            if numbers.get(value) in have:
                wanted.add(numbers[value])
            else:
                stack += value.node.inputs
        dynamic = {number for old in self.now for number in self.program.steps[old].outputs if not self.static(number)}
        return sorted((wanted & have) | dynamic)

    def _consumers(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for new, old in enumerate(self.now):
            for number in self.program.steps[old].inputs:
                found.setdefault(number, []).append(new)
        return found

    def _by_bodies(self, step: Step) -> bool:
        """Return whether the bodies of a kernel's ops do what it does: they see faults in what has no elements."""
        return (
            isinstance(step, KernelStep)
            and looks_in_vain(step, self.avals)
            and readable(step, self.program.values, self.table)
        )

    def _frozen(self) -> set[int]:
        """Return the values that need a Block of their own, because somebody may hold them for longer than a step."""
        frozen = {*self.program.outputs, *self.rest_inputs}
        for old in self.now:
            step = self.program.steps[old]
            if isinstance(step, AssignStep):
                frozen.update(step.inputs[:2])  # not `before`: it is what was read, or assigned earlier
            elif isinstance(step, ListStep):
                frozen.update(step.inputs[1:])  # not the list: see `_dying`
            elif not isinstance(step, (KernelStep, GemmStep, AliasStep, ReadStep)) or self._by_bodies(step):
                frozen.update(step.inputs)
        return frozen
