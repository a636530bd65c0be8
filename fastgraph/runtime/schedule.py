"""The schedule: from a Program and concrete shapes to a PlanSpec with sizes, memory, shards and order.

Rule: everything is decided by shapes alone, never by the number of threads, so results have the same bits everywhere.
The parts of the work are modules, in this order: `known_shapes` (which steps can be planned), `buffer_assignment`
(slots), `step_specs` (the steps) and `dynamic_tail` (steps behind a shape that is data). Order and memory are here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.program.program import AliasStep, CondStep, HostStep, KernelStep, Program, WhileStep
from fastgraph.compiler.program.shape_inference import CannotPlan, shape_key
from fastgraph.core.base.locks import Lock
from fastgraph.core.base.shapes import Aval
from fastgraph.runtime import plan as specs
from fastgraph.runtime.arena import Allocation, Ended, place, place_tightly
from fastgraph.runtime.check_errors import FailedChecks
from fastgraph.runtime.dynamic_tail import DynamicTail
from fastgraph.runtime.executor import Plan
from fastgraph.runtime.known_shapes import known_sizes
from fastgraph.runtime.plan import Place, PlanSpec, StepSpec
from fastgraph.runtime.step_costs import worth_threads
from fastgraph.runtime.step_specs import PLANS_KEPT

# Gives the address of a kernel: a number, or what holds the kernel and has one (`.address`), which the plan then keeps.
Link = Callable[[KernelSpec], Any]
LARGE_ARENA = 64 << 20  # from here on a parallel plan may wait for memory that other steps use


class Planner:
    """The plans of a Program and of the programs inside it, by shape: an LRU per program."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self._plans: dict[int, OrderedDict[tuple[Any, ...], Plan]] = {}
        self._patterns: dict[tuple[int, tuple[int, ...]], _Schedule] = {}  # the first of each, without sizes of data
        self._lock = Lock()

    def plan(self, program: Program, avals: Sequence[Aval], own: tuple[int, ...] = ()) -> Plan:
        """Return the plan of `program` for arguments of these avals. Raises CannotPlan.

        The arguments in the places `own` are those of a loop that nobody else takes: where one dies, a result may be
        written over it.
        """
        values = [a.partial if a.value is None else a.value for a in avals]
        key = (shape_key(avals), tuple([None if v is None else (v.dtype.char, v.tobytes()) for v in values]), own)
        with self._lock:
            plans = self._plans.setdefault(id(program), OrderedDict())
            found = plans.get(key)
            if found is not None:
                plans.move_to_end(key)
                return found
        made = self.make(program, avals, own)
        with self._lock:
            made = plans.setdefault(key, made)
            while len(plans) > PLANS_KEPT:
                plans.popitem(last=False)
        return made

    def make(self, program: Program, avals: Sequence[Aval], own: tuple[int, ...] = ()) -> Plan:
        """Return what `plan` does, made anew: the caller keeps it."""
        table = known_sizes(program, avals)
        pattern = self._patterns.get((id(program), own))
        schedule = pattern.with_other_sizes(table) if pattern is not None else None
        if schedule is None:
            inputs = (*program.inputs, *program.captures)
            schedule = _Schedule(self, program, table, range(len(program.steps)), inputs, own=[inputs[i] for i in own])
        try:
            made = Plan(schedule.spec())
        except OverflowError as error:  # more bytes than can be counted: the op that makes them says so
            raise CannotPlan(program.graph.nodes[-1], error) from error
        if pattern is None and not schedule.later and not schedule.unsettled:
            self._patterns.setdefault((id(program), own), schedule)
        return made


def plan(program: Program, avals: Sequence[Aval], link: Link) -> Plan:
    """Return a plan of `program` for arguments of these avals (inputs, then captures; resources for Cells).

    `link` gives the address of a kernel. Raises CannotPlan where the ops do not fit the shapes.
    """
    return Planner(link).plan(program, avals)


class _LiveRange(NamedTuple):
    """The steps that use a slot; whether the first makes a Block for it, and the last lets go of it."""

    slot: int
    first: int
    last: int
    users: frozenset[int]
    is_allocated: bool
    is_released: bool


class _Schedule(DynamicTail):
    """The making of one PlanSpec, of the steps `chosen` of a program."""

    index: dict[int, int]  # where a step that is none in another shape stands in the plan
    waits: list[tuple[int, ...]]
    steps: list[StepSpec] | None = None  # of the first plan: others' have other sizes
    lives: dict[int, list[_LiveRange]]  # in the arenas, by device

    def spec(self) -> PlanSpec:
        """Return what a Plan is made of."""
        if self.steps is not None:
            steps = [self._step_again(new, step) for new, step in zip(self.index, self.steps, strict=True)]
            return self._finish(steps)
        self._place_values()
        kept = [new for new, old in enumerate(self.now) if not isinstance(self.program.steps[old], AliasStep)]
        index = self.index = {new: i for i, new in enumerate(kept)}
        after = self._after()
        self.waits = [tuple(sorted({index[before] for before in after[new] if before in index})) for new in kept]
        return self._finish([self._step(new, self.program.steps[self.now[new]]) for new in kept])

    # Order

    def _after(self) -> list[set[int]]:
        """Return for each step the steps it waits for: producers, effects, readers of what it overwrites, failures."""
        found: list[set[int]] = []
        may_fail: set[int] = set()  # steps since the last exchange with other processes
        for new, old in enumerate(self.now):
            step = self.program.steps[old]
            before = {self.producer[number] for number in step.inputs if self.producer.get(number, -1) >= 0}
            before |= {self.position[other] for other in self._program_after(old) if other in self.position}
            before |= set(self.order_after.get(new, ()))
            if isinstance(step, HostStep) and step.native:  # processes that all fail there have begun as many
                before |= may_fail
                may_fail = set()
            elif isinstance(step, (CondStep, WhileStep)) or (isinstance(step, KernelStep) and step.fallible):
                may_fail.add(new)
            before.discard(new)
            found.append(before)
        return found

    # The whole

    def _finish(self, steps: list[StepSpec]) -> PlanSpec:
        """Order, memory, and the rest."""
        for step, waits in zip(steps, self.waits, strict=True):
            step.after = waits
        outputs = [self._operand(number) for number in self.program.outputs if number in self.slot_of]
        if self.later or self.unsettled:
            steps.append(self._rest(self.index))
            outputs = [self._operand(number) for number in self.program.outputs]
        spec = PlanSpec(
            slots=self.slots,
            steps=steps,
            inputs=[self._operand(number) for number in self.inputs],
            outputs=outputs,
            cost=sum([step.cost for step in steps]),
            name=self.program.graph.name,
            keep=self.keep,
            explain=FailedChecks(self.program, self.table),
        )
        spec.parallel = worth_threads(steps)
        if self.steps is None:
            self.steps = steps
            self.lives = self._come_and_go(spec)
        self._place_slots(spec)
        return spec

    def _come_and_go(self, spec: PlanSpec) -> dict[int, list[_LiveRange]]:
        """Decide when Blocks come and go; return the lives of the slots in each device's arena."""
        found: dict[int, list[_LiveRange]] = {}
        for life in _lives(spec):
            if life.is_allocated:
                spec.steps[life.first].allocate += (life.slot,)
            if life.is_released:
                spec.steps[life.last].release += (life.slot,)
            slot = spec.slots[life.slot]
            if slot.place == Place.ARENA:
                found.setdefault(slot.device, []).append(life)
        return found

    def _place_slots(self, spec: PlanSpec) -> None:
        ended = Ended([step.after for step in spec.steps]) if spec.parallel else None
        for device, lives in self.lives.items():
            slots = [spec.slots[life.slot] for life in lives]
            allocations = [
                Allocation(s.nbytes, life.first, life.last, life.users) for s, life in zip(slots, lives, strict=True)
            ]
            offsets, spec.arenas[device] = self._arena(spec, allocations, ended)
            for slot, offset in zip(slots, offsets, strict=True):
                slot.offset = offset

    def _arena(self, spec: PlanSpec, allocations: list[Allocation], ended: Ended | None) -> tuple[list[int], int]:
        """Return where each allocation lies in the arena of one device, and the arena's size."""
        offsets, size = place(allocations, ended)
        if ended is not None and size > LARGE_ARENA:
            # Rather wait for memory than take more of it; for steps just before where that is twice as much.
            for known, worth in ((None, size // 2), (ended, size)):
                tight, less, waits = place_tightly(allocations, known)
                if less < worth:
                    for allocation, wait in zip(allocations, waits, strict=True):
                        step = spec.steps[allocation.first]
                        step.after = tuple(sorted({*step.after, *ended.running(allocation.first, wait)}))
                    return tight, less
        return offsets, size


def _lives(spec: PlanSpec) -> list[_LiveRange]:
    """Return from when to when each slot is used."""
    users: dict[int, list[int]] = {}
    for i, step in enumerate(spec.steps):
        for slot in _slots_used(step):
            users.setdefault(slot, []).append(i)
    outputs = {operand.slot for operand in spec.outputs}
    found = []
    for slot, steps in users.items():
        first, last = min(steps), max(steps)
        place_ = spec.slots[slot].place
        updated = {target for _, _, target in _updates(spec.steps[first])}
        is_allocated = place_ == Place.BLOCK and slot not in updated
        is_released = place_ in (Place.BLOCK, Place.GIVEN) and slot not in outputs
        found.append(_LiveRange(slot, first, last, frozenset(steps), is_allocated, is_released))
    return found


def _updates(step: StepSpec) -> tuple[tuple[int, int, int], ...]:
    return step.updates if isinstance(step, specs.KernelCall) else ()


def _slots_used(step: StepSpec) -> set[int]:
    used = {operand.slot for operand in step.operands}
    for origin, target, _ in step.copies:
        used |= {origin, target}
    if isinstance(step, specs.KernelCall):
        used.update(step.buffers)
        for update in step.updates:
            used.update([slot for slot in update if slot >= 0])
    elif isinstance(step, specs.GemmCall):
        used |= {step.a, step.b, step.c}
    elif isinstance(step, specs.ReadCell):
        assert step.output is not None
        used |= {step.cell, step.output.slot}
    elif isinstance(step, specs.AssignCell):
        assert step.value is not None
        used |= {step.cell, step.value.slot, *([step.before] if step.before >= 0 else [])}
    elif isinstance(step, specs.DrawCell):
        assert step.output is not None
        used |= {step.cell, step.count, step.output.slot}
    elif isinstance(step, specs.HostCall):
        used |= {operand.slot for operand in step.outputs}
    elif isinstance(step, (specs.Branch, specs.Loop, specs.Rest)):
        used |= {*step.inputs, *[operand.slot for operand in step.outputs]}
        if isinstance(step, specs.Branch):
            used.add(step.predicate)
    elif isinstance(step, specs.Transfer):
        used |= {step.origin, step.target}
    return used
