"""The schedule: a Program and concrete shapes become a PlanSpec: sizes, memory, shards, order, what runs where.

Rule: everything is decided by shapes alone, never by the number of threads, so that results have the same bits
wherever they are computed. Steps behind a shape that is data are planned when it is known (`_Schedule.rest`).
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fastgraph import errors, flags
from fastgraph._executor import Plan
from fastgraph._tensor import EagerTensor, from_array
from fastgraph.compiler import plan as specs
from fastgraph.compiler.costs import CALL_NS, gemm_cost, gemm_shards, kernel_chunk, worth_threads
from fastgraph.compiler.extents import fits
from fastgraph.compiler.kernel import KernelSpec
from fastgraph.compiler.memory import Tenant, ancestors, place, place_tightly
from fastgraph.compiler.plan import Operand, Place, PlanSpec, Slot, StepSpec
from fastgraph.compiler.program import (
    AliasStep,
    AssignStep,
    CondStep,
    CountedStep,
    DrawStep,
    DynamicStep,
    GemmStep,
    HostStep,
    KernelStep,
    ListStep,
    Program,
    ReadStep,
    Size,
    Step,
    WhileStep,
)
from fastgraph.compiler.sizes import CannotPlan, infer_graph, shape_key
from fastgraph.dtype import string
from fastgraph.graph.interpret import interpret, run_node
from fastgraph.graph.ir import Node, Value
from fastgraph.locks import Lock
from fastgraph.shapes import Aval

# Gives the address of a kernel: a number, or what holds the kernel and has one (`.address`), which the plan then keeps.
Link = Callable[[KernelSpec], Any]
LARGE_ARENA = 64 << 20  # from here on a parallel plan may wait for memory that other steps use
PLANS_KEPT = 64  # per place that asks for plans by run-time shapes

_MADE = (KernelStep, GemmStep)  # steps that write into memory they are given


class Planner:
    """The plans of a Program and of the programs inside it, by shape: an LRU per program."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self._plans: dict[int, OrderedDict[tuple[Any, ...], Plan]] = {}
        self._lock = Lock()

    def plan(self, program: Program, avals: Sequence[Aval], own: tuple[int, ...] = ()) -> Plan:
        """Return the plan of `program` for arguments of these avals. Raises CannotPlan.

        The arguments in the places `own` are those of a loop that nobody else takes: where one dies, a result may be
        written over it.
        """
        key = (shape_key(avals), tuple([None if a.value is None else a.value.tobytes() for a in avals]), own)
        with self._lock:
            plans = self._plans.setdefault(id(program), OrderedDict())
            found = plans.get(key)
            if found is not None:
                plans.move_to_end(key)
                return found
        table = _known_sizes(program, avals)
        inputs = (*program.inputs, *program.captures)
        schedule = _Schedule(self, program, table, range(len(program.steps)), inputs, own=[inputs[i] for i in own])
        try:
            made = Plan(schedule.spec)
        except OverflowError as error:  # more bytes than can be counted: the op that makes them says so
            raise CannotPlan(program.graph.nodes[-1], error) from error
        with self._lock:
            made = plans.setdefault(key, made)
            while len(plans) > PLANS_KEPT:
                plans.popitem(last=False)
        return made


def _known_sizes(
    program: Program, arguments: Sequence[Aval], given: dict[Value, Aval] | None = None
) -> dict[Value, Aval]:
    """Return the aval of every value. Raises CannotPlan where an op does not fit, or the Program does not."""
    table = infer_graph(program.graph, arguments, given)
    if not fits(program.witness, [table[v].shape for n in program.graph.nodes for v in n.outputs]):
        raise CannotPlan(program.graph.nodes[-1], ValueError("the program was made for other extents"))
    return table


def plan(program: Program, avals: Sequence[Aval], link: Link) -> Plan:
    """Return a plan of `program` for arguments of these avals (inputs, then captures; resources for Cells).

    `link` gives the address of a kernel. Raises CannotPlan where the ops do not fit the shapes.
    """
    return Planner(link).plan(program, avals)


class _Schedule:
    """The making of one PlanSpec, of the steps `chosen` of a program."""

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
        # Partial results are values of the program alone: their shapes are fixed.
        self.avals = [
            table.get(value, value.aval if value.node.op.name == "partial_result" else None) for value in program.values
        ]
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
        self._place_values()
        self.after = self._after()
        made = [self._step(new, self.program.steps[old]) for new, old in enumerate(self.now)]
        self.spec = self._finish([step for step in made if step is not None])

    # What is planned now, and what waits for shapes

    def aval(self, number: int) -> Aval:
        """Return what is known of a value."""
        aval = self.avals[number]
        assert aval is not None
        return aval

    def static(self, number: int) -> bool:
        """Whether the value's shape is known (a resource has none to know)."""
        aval = self.avals[number]
        return aval is not None and (aval.is_static or aval.dtype == "resource")

    def _split(self, chosen: Iterable[int]) -> tuple[list[int], list[int]]:
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
        # What the steps' nodes are computed from, too: in case that they are interpreted. Kernels may need less.
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

    def _frozen(self) -> set[int]:
        """Return the values that need a Block of their own, because somebody may hold them for longer than a step."""
        frozen = {*self.program.outputs, *self.rest_inputs}
        for old in self.now:
            step = self.program.steps[old]
            if isinstance(step, AssignStep):
                frozen.update(step.inputs[:2])  # not `before`: it is what was read, or assigned earlier
            elif isinstance(step, ListStep):
                frozen.update(step.inputs[1:])  # not the list: see `_dying`
            elif not isinstance(step, (KernelStep, GemmStep, AliasStep, ReadStep)):
                frozen.update(step.inputs)
        return frozen

    # Values and slots

    def _nbytes(self, number: int) -> int:
        return self.aval(number).nbytes or 0

    def _slot(self, place: Place, number: int, **fields: Any) -> int:
        nbytes = self._nbytes(number) if self.static(number) and place != Place.CELL else 0
        if self.aval(number).dtype == "string":
            nbytes = 8 * (self.aval(number).size or 0)
        self.slots.append(Slot(place, nbytes, **fields))
        self.slot_of[number] = len(self.slots) - 1
        return len(self.slots) - 1

    def _place_values(self) -> None:
        """Give every value a slot; values that share memory get the same one. Arena offsets come last."""
        self.groups: dict[int, list[int]] = {}  # slot -> its values
        self.copies: dict[int, list[tuple[int, int, int]]] = {}  # new step -> copies before it
        self.order_after: dict[int, list[int]] = {}  # new step -> readers that an in-place step must wait for
        self.lists_over: set[int] = set()  # new steps that may write over the list they take
        self.updates: dict[int, list[tuple[int, int, int]]] = {}  # new step -> Cells, what was read, what is assigned
        for index, number in enumerate(self.inputs):
            resource = self.aval(number).dtype == "resource"
            self._slot(Place.CELL if resource else Place.INPUT, number, index=index)
        for new, old in enumerate(self.now):
            step = self.program.steps[old]
            for number in step.inputs:
                self._constant(number)
            if isinstance(step, AliasStep):
                slot = self.slot_of[step.inputs[0]]
                self.slot_of[step.outputs[0]] = slot
                self.producer[step.outputs[0]] = self.producer.get(step.inputs[0], -1)
                self.groups.setdefault(slot, [step.inputs[0]]).append(step.outputs[0])
                continue
            pairs = {out: into for into, out in step.in_place} if isinstance(step, KernelStep) else {}
            if isinstance(step, ListStep):
                self._list_dies(new, step)
            for position, number in enumerate(step.outputs):
                self.producer[number] = new
                if not isinstance(step, _MADE) or isinstance(step, CountedStep):
                    self._slot(Place.GIVEN, number, dynamic=not self.static(number))
                elif position in pairs:
                    self._share(new, step, step.inputs[pairs[position]], number)
                else:
                    slot = self._slot(Place.ARENA, number)
                    self.groups[slot] = [number]
        for number in (*self.program.outputs, *self.rest_inputs):
            self._constant(number)
        for slot, group in self.groups.items():
            if self.slots[slot].place == Place.ARENA and any(number in self.frozen for number in group):
                self.slots[slot].place = Place.BLOCK

    def _list_dies(self, new: int, step: ListStep) -> None:
        """Note whether a list step may give the memory of its list away: nobody takes it later, or holds it."""
        number, slot = step.inputs[0], self.slot_of[step.inputs[0]]
        group = self.groups.get(slot, [number])
        readers = [reader for other in group for reader in self.consumers.get(other, [])]
        place = self.slots[slot].place  # a Block that somebody else holds as well is left alone at run time
        own = number in self.own if place == Place.INPUT else place in (Place.ARENA, Place.BLOCK, Place.GIVEN)
        held = any(other in self.frozen for other in group) or step.inputs.count(number) > 1
        if place == Place.ARENA:
            self.slots[slot].place = Place.BLOCK
        if own and not held and all(reader <= new for reader in readers):
            self.lists_over.add(new)
            self.order_after.setdefault(new, []).extend([reader for reader in readers if reader < new])

    def _constant(self, number: int) -> None:
        """Make the slot of a value that no step computes: a constant, or one that follows from shapes."""
        if number in self.slot_of or number in self.producer:
            return
        tensor = self.program.constants.get(number)
        if tensor is None:
            aval = self.avals[number]
            if aval is None or aval.value is None:
                return  # a later step's: it belongs to the rest
            tensor = from_array(np.asarray(aval.value), aval.dtype)
        self._slot(Place.CONSTANT, number, tensor=tensor)

    def _share(self, new: int, step: Step, source: int, target: int) -> None:
        """Let an in-place operand and its result be one slot; where that is not allowed, copy the operand there."""
        slot = self.slot_of[source]
        own = self.slots[slot].place == Place.INPUT and source in self.own
        group = self.groups.get(slot, [source] if own else [])
        readers = [reader for number in group for reader in self.consumers.get(number, [])]
        allowed = (
            (self.slots[slot].place == Place.ARENA or slot in self.taken or own)
            and bool(group)
            and not any(number in self.frozen for number in group)
            and all(reader <= new for reader in readers)
            and list(step.inputs).count(source) == 1
            and self._nbytes(source) == self._nbytes(target)
        )
        if allowed and own:
            made = self._slot(Place.BLOCK, target)
            self.taken.add(made)
            self.groups[made] = [target]
            self.updates.setdefault(new, []).append((-1, slot, made))
            self.order_after.setdefault(new, []).extend([reader for reader in readers if reader < new])
            return
        if allowed or (flags.get("fault") == "slot" and self.slots[slot].place == Place.ARENA):
            self.slot_of[target] = slot
            self.groups[slot].append(target)
            self.order_after.setdefault(new, []).extend([reader for reader in readers if reader < new])
            return
        made = self._slot(Place.ARENA, target)
        self.groups[made] = [target]
        if self._nbytes(source) != self._nbytes(target):
            return  # a list whose elements' shape was not known: there is nothing in it
        cell = self._updated(new, source, target)
        if cell is not None:
            self.updates.setdefault(new, []).append((cell, slot, made))
            return
        self.copies.setdefault(new, []).append((slot, made, self._nbytes(target)))

    def _updated(self, new: int, source: int, target: int) -> int | None:
        """Return the Cell's slot, if step `new` may write the Variable's next value over the one that it read.

        Then the Variable changes when the step runs: so the step must come after all that its assignment comes after,
        and nobody may take what was read later, or hold it.
        """
        step = self.program.steps[self.now[new]]
        origin = self.producer.get(source, -1)
        read = self.program.steps[self.now[origin]] if origin >= 0 else None
        if not isinstance(read, ReadStep) or not isinstance(step, KernelStep) or step.fallible:
            return None
        group = self.groups.get(self.slot_of[source], [source])  # the value that was read, in all its shapes
        if any(number in self.frozen for number in group):
            return None
        takers = [self.now[reader] for reader in self.consumers.get(target, [])]
        assigns = [old for old in takers if isinstance(self.program.steps[old], AssignStep)]
        if len(assigns) != 1 or self.program.steps[assigns[0]].inputs[:2] != (read.inputs[0], target):
            return None
        readers = [r for n in group for r in self.consumers.get(n, []) if self.now[r] != assigns[0]]  # it looks where
        if source not in read.outputs or self._nbytes(source) != self._nbytes(target):
            return None
        before = {self.position.get(old, len(self.now)) for old in self._program_after(assigns[0])} - {new}
        if max([*before, *readers], default=0) > new or list(step.inputs).count(source) != 1:
            return None
        self.order_after.setdefault(new, []).extend([*before, *[reader for reader in readers if reader != new]])
        return self.slot_of[read.inputs[0]]

    def _operand(self, number: int) -> Operand:
        aval = self.aval(number)
        shape = tuple([int(n or 0) for n in aval.shape or ()]) if aval.is_static else None
        return Operand(self.slot_of[number], aval.dtype.code, shape)

    def _operands(self, numbers: Iterable[int]) -> tuple[Operand, ...]:
        return tuple([self._operand(number) for number in numbers])

    # Order

    def _after(self) -> list[set[int]]:
        """Return for each step the steps it waits for: producers, effects, readers of what it overwrites."""
        found: list[set[int]] = []
        for new, old in enumerate(self.now):
            step = self.program.steps[old]
            before = {self.producer[number] for number in step.inputs if self.producer.get(number, -1) >= 0}
            before |= {self.position[other] for other in self._program_after(old) if other in self.position}
            before |= set(self.order_after.get(new, ()))
            before.discard(new)
            found.append(before)
        return found

    # Steps

    def _size(self, size: Size) -> int:
        total = size.constant
        for number, axis in size.dims:
            shape = self.aval(number).shape
            assert shape is not None
            total *= shape[axis] or 0
        return total

    def _step(self, new: int, step: Step) -> StepSpec | None:
        common: dict[str, Any] = {
            "copies": tuple(self.copies.get(new, ())),
            "name": "+".join(dict.fromkeys([node.op.name for node in step.nodes])),
            "source": step,
        }
        if isinstance(step, KernelStep):
            return self._kernel(step, tuple(self.updates.get(new, ())), common)
        if isinstance(step, GemmStep):
            return self._gemm(step, common)
        if isinstance(step, ReadStep):
            common["name"] = self._variable_name(step.inputs[0])
            (cell,), (output,) = step.inputs, step.outputs
            return specs.ReadCell(cell=self.slot_of[cell], output=self._operand(output), cost=40.0, **common)
        if isinstance(step, AssignStep):
            common["name"] = self._variable_name(step.inputs[0])
            cell, value, *old = step.inputs
            before = self.slot_of[old[0]] if old else -1
            return specs.AssignCell(
                cell=self.slot_of[cell], value=self._operand(value), before=before, cost=40.0, **common
            )
        if isinstance(step, DrawStep):
            cell, count = step.inputs
            (output,) = step.outputs
            return specs.DrawCell(
                cell=self.slot_of[cell], count=self.slot_of[count], output=self._operand(output), cost=60.0, **common
            )
        if isinstance(step, (HostStep, DynamicStep)):
            node, outputs = step.node, self._operands(step.outputs)

            def function(*inputs: Any) -> list[Any]:
                return list(run_node(node, inputs))

            operands = self._operands(step.inputs)
            return specs.HostCall(
                function=function, operands=operands, outputs=outputs, cost=3000.0, pinned=True, **common
            )
        if isinstance(step, ListStep):
            return self._list(new, step, common)
        if isinstance(step, CondStep):
            return self._branch(step, common)
        if isinstance(step, WhileStep):
            return self._loop(step, common)
        return None  # an alias

    def _list(self, new: int, step: ListStep, common: dict[str, Any]) -> StepSpec:
        node, operands, outputs = step.node, self._operands(step.inputs), self._operands(step.outputs)

        def function(*inputs: Any) -> list[Any]:
            return list(run_node(node, inputs))

        shape = operands[0].shape or ()
        push, grow = len(operands) == 3, node.op.step != "dynamic.trim"
        fits = bool(shape) and (not push or operands[2].shape == shape[1:]) and operands[0].dtype != string.code
        if not fits:
            return specs.HostCall(
                function=function, operands=operands, outputs=outputs, cost=3000.0, pinned=True, **common
            )
        return specs.ListCall(
            function=function,
            operands=operands,
            outputs=outputs,
            cost=40.0,
            pinned=True,
            push=push,
            grow=grow,
            over=new in self.lists_over,
            rows=shape[0],
            row_bytes=math.prod(shape[1:]) * (self.aval(step.inputs[0]).dtype.size),
            wide_index=self.aval(step.inputs[1]).dtype.size == 8,
            **common,
        )

    def _variable_name(self, number: int) -> str:
        return str(self.program.values[number].node.name)

    def _kernel(self, step: KernelStep, updates: tuple[tuple[int, int, int], ...], common: dict[str, Any]) -> StepSpec:
        extent = self._size(step.extent)
        is_list = step.nodes[0].op.step == "list_set"  # which looks at its index even if elements are empty
        any_elements = any(self.aval(number).size for number in step.outputs)
        if not (any_elements or is_list or isinstance(step, CountedStep)):
            extent = 0  # no element is computed, so no check may fail
        per_unit, operations = step.cost, step.operations * extent
        for factor in step.cost_dims:
            per_unit *= self._size(factor)
            operations *= self._size(factor)
        chunk = kernel_chunk(extent, per_unit) if step.shardable else extent
        return specs.KernelCall(
            address=self._address(step.kernel),
            buffers=tuple([self.slot_of[number] for number in step.buffers]),
            sizes=tuple([self._size(size) for size in step.sizes]),
            extent=extent,
            chunk=chunk,
            cost=CALL_NS + extent * per_unit,
            operations=operations,
            operands=self._operands(step.inputs) if step.fallible else (),
            updates=updates,
            products=tuple([self._gemm(each, {}) for each in step.products]),  # type: ignore[misc,arg-type]
            **self._rows(step),
            **common,
        )

    def _rows(self, step: KernelStep) -> dict[str, Any]:
        """Return what a kernel whose results are counted has besides."""
        if not isinstance(step, CountedStep):
            return {}
        counted = self._operand(step.outputs[0])
        row = tuple([int(n or 0) for n in (self.aval(step.outputs[0]).shape or ())[1:]])
        n = self.aval(step.counts).size or 0
        return {"counted": counted, "counts": self.slot_of[step.counts], "n_counts": n, "row": row}

    def _address(self, kernel: KernelSpec) -> int:
        linked = self.planner.link(kernel)
        if isinstance(linked, int):
            return linked
        self.keep.append(linked)
        return int(linked.address)

    def _gemm(self, step: GemmStep, common: dict[str, Any]) -> StepSpec:
        a, b = step.inputs
        shapes = step.shapes or [_dims(self.aval(number)) for number in (a, b, step.outputs[0])]
        a_shape, b_shape, c_shape = shapes
        m, n = c_shape[-2:]
        k = a_shape[-2] if step.transpose_a else a_shape[-1]
        batch = c_shape[:-2]
        size = self.aval(a).dtype.size
        pieces, along_n, chunk = gemm_shards(batch, m, n, k, size)
        return specs.GemmCall(
            a=self.slot_of[a],
            b=self.slot_of[b],
            c=self.slot_of[step.outputs[0]],
            double=size == 8,
            transpose_a=step.transpose_a,
            transpose_b=step.transpose_b,
            m=m,
            n=n,
            k=k,
            a_offsets=_batch_offsets(a_shape, batch),
            b_offsets=_batch_offsets(b_shape, batch),
            along_n=along_n,
            pieces=pieces,
            chunk=chunk,
            cost=gemm_cost(batch, m, n, k, size),
            operations=2.0 * math.prod(batch) * m * n * k,
            **common,
        )

    def _branch(self, step: CondStep, common: dict[str, Any]) -> StepSpec:
        avals = [self.aval(number) for number in step.inputs[1:]]
        kept = {*self.program.outputs, *self.rest_inputs}
        own = tuple(
            [
                i
                for i, number in enumerate(step.inputs[1:])
                if number in self.own and number not in kept and len(self.consumers[number]) == 1
            ]
        )
        then_plan = self.planner.plan(step.then_program, avals, own)
        else_plan = self.planner.plan(step.else_program, avals, own)
        return specs.Branch(
            predicate=self.slot_of[step.inputs[0]],
            then_plan=then_plan,
            else_plan=else_plan,
            inputs=tuple([self.slot_of[number] for number in step.inputs[1:]]),
            outputs=self._operands(step.outputs),
            cost=100.0 + max(then_plan.spec.cost, else_plan.spec.cost),
            **common,
        )

    def _loop(self, step: WhileStep, common: dict[str, Any]) -> StepSpec:
        n = step.n_carried
        avals = [self.aval(number) for number in step.inputs]
        invariants = avals[n:]

        def plans(shapes: tuple[tuple[int, ...], ...]) -> tuple[Plan, Plan]:
            carried = [Aval(aval.dtype, shape) for aval, shape in zip(avals, shapes)]
            arguments = [*carried, *invariants]
            return self.planner.plan(step.cond_program, arguments), self.planner.plan(
                step.body_program, arguments, tuple(range(n))
            )

        def again(shapes: tuple[tuple[int, ...], ...]) -> tuple[Plan, Plan]:
            try:
                return plans(shapes)
            except CannotPlan:  # the ops' bodies say what is wrong
                carried = [Aval(aval.dtype, shape) for aval, shape in zip(avals, shapes)]
                made = [_graph_plan(p, [*carried, *invariants]) for p in (step.cond_program, step.body_program)]
                return made[0], made[1]

        cond_plan, body_plan = plans(tuple([aval.shape for aval in avals[:n]]))  # type: ignore[misc]
        stable = all(self.static(number) for number in step.outputs[:n])
        burst = None
        if step.burst_program is not None and stable:
            burst = self.planner.plan(step.burst_program, avals, tuple(range(n)))
        return specs.Loop(
            cond_plan=cond_plan,
            body_plan=body_plan,
            n_carried=n,
            inputs=tuple([self.slot_of[number] for number in step.inputs]),
            outputs=self._operands(step.outputs),
            again=None if stable else again,
            burst_plan=burst,
            cost=100.0 + 20 * (cond_plan.spec.cost + body_plan.spec.cost),
            **common,
        )

    # The whole

    def _finish(self, steps: list[StepSpec]) -> PlanSpec:
        """Order, memory, and the rest."""
        kept = [new for new, old in enumerate(self.now) if not isinstance(self.program.steps[old], AliasStep)]
        index = {new: i for i, new in enumerate(kept)}
        for i, new in enumerate(kept):
            steps[i].after = tuple(sorted({index[before] for before in self.after[new] if before in index}))
        outputs = [self._operand(number) for number in self.program.outputs if number in self.slot_of]
        if self.later or self.unsettled:
            steps.append(self._rest(index))
            outputs = [self._operand(number) for number in self.program.outputs]
        spec = PlanSpec(
            slots=self.slots,
            steps=steps,
            inputs=[self._operand(number) for number in self.inputs],
            outputs=outputs,
            cost=sum([step.cost for step in steps]),
            name=self.program.graph.name,
            keep=self.keep,
            explain=_Explain(self.program, self.table),
        )
        spec.parallel = worth_threads(steps)
        self._place_slots(spec)
        return spec

    def _place_slots(self, spec: PlanSpec) -> None:
        """Decide when Blocks come and go, and where in the arena the other slots lie."""
        users: dict[int, list[int]] = {}
        for i, step in enumerate(spec.steps):
            for slot in _slots_used(step):
                users.setdefault(slot, []).append(i)
        outputs = {operand.slot for operand in spec.outputs}
        ended = ancestors([step.after for step in spec.steps]) if spec.parallel else None
        tenants: dict[int, list[Tenant]] = {}  # by device: each has an arena of its own
        homes: dict[int, list[int]] = {}
        short_lives = flags.get("fault") == "arena"  # planted, to show that tests find it
        for slot, steps in users.items():
            first, last = min(steps), max(steps)
            place_ = self.slots[slot].place
            if place_ == Place.BLOCK and slot not in {target for _, _, target in _updates(spec.steps[first])}:
                spec.steps[first].allocate += (slot,)
            if place_ in (Place.BLOCK, Place.GIVEN) and slot not in outputs:
                spec.steps[last].release += (slot,)
            if place_ == Place.ARENA:
                bits = 0
                for user in steps:
                    bits |= 1 << user
                device = self.slots[slot].device
                tenant = Tenant(self.slots[slot].nbytes, first, first if short_lives else last, bits)
                tenants.setdefault(device, []).append(tenant)
                homes.setdefault(device, []).append(slot)
        for device, wanted in tenants.items():
            offsets, spec.arenas[device] = self._arena(spec, wanted, ended)
            for slot, offset in zip(homes[device], offsets, strict=True):
                self.slots[slot].offset = offset

    def _arena(self, spec: PlanSpec, tenants: list[Tenant], ended: list[int] | None) -> tuple[list[int], int]:
        """Return where each tenant lies in the arena of one device, and the arena's size."""
        offsets, size = place(tenants, ended)
        if ended is not None and size > LARGE_ARENA:
            tight, less, waits = place_tightly(tenants)
            if 2 * less < size:  # rather wait for memory than take so much more of it
                for tenant, wait in zip(tenants, waits, strict=True):
                    missing = wait & ~ended[tenant.first]
                    step = spec.steps[tenant.first]
                    step.after = tuple(sorted({*step.after, *_bits(missing)}))
                return tight, less
        return offsets, size

    def _rest(self, index: dict[int, int]) -> StepSpec:
        """Return the step that runs the later steps, by a plan made when their sizes are known."""
        numbers = self.rest_inputs
        produced = {number for old in self.later for number in self.program.steps[old].outputs} | {*self.unsettled}
        outputs = [number for number in dict.fromkeys(self.program.outputs) if number in produced]
        after = {self.producer[number] for number in numbers if self.producer.get(number, -1) >= 0}
        for old in self.later:
            after |= {self.position[other] for other in self._program_after(old) if other in self.position}
        for number in outputs:
            self._slot(Place.GIVEN, number, dynamic=not self.static(number))
        plans: OrderedDict[tuple[tuple[int, ...], ...], Plan] = OrderedDict()
        dynamic = [number for number in numbers if self.slots[self.slot_of[number]].dynamic]
        # What only the later steps take is theirs, if they know its memory by one name and nothing else does.
        kept = {*self.program.outputs, *self.consumers}
        names = Counter(self.slot_of[n] for n in numbers)
        own = [
            n
            for n in numbers
            if (n in self.own or self.producer.get(n, -1) >= 0)
            and names[self.slot_of[n]] == 1
            and kept.isdisjoint(self.groups.get(self.slot_of[n], [n]))
        ]
        # All else is inferred again: what follows from a shape has a value once the shape is known.
        computed = [*self.inputs, *[number for old in self.now for number in self.program.steps[old].outputs]]
        known = dict(self.computed)
        known.update({self.program.values[n]: self.aval(n) for n in computed if self.static(n)})

        def resolve(shapes: tuple[tuple[int, ...], ...]) -> Plan:
            found = plans.get(shapes)
            if found is None:
                given = dict(known)
                for number, shape in zip(dynamic, shapes, strict=True):
                    given[self.program.values[number]] = Aval(self.aval(number).dtype, shape)
                arguments = [self.table[value] for value in self.program.graph.parameters]
                try:
                    table = _known_sizes(self.program, arguments, given)
                    part = replace(self.program, outputs=tuple(outputs))
                    found = Plan(_Schedule(self.planner, part, table, self.later, numbers, given, own).spec)
                except CannotPlan:  # the ops' bodies say what is wrong
                    found = self._interpreted(numbers, outputs, given)
                plans[shapes] = found
                while len(plans) > PLANS_KEPT:
                    plans.popitem(last=False)
            return found

        return specs.Rest(
            after=tuple(sorted({index[before] for before in after if before in index})),
            inputs=tuple([self.slot_of[number] for number in numbers]),
            outputs=self._operands(outputs),
            resolve=resolve,
            pinned=True,
            cost=5000.0,
            name="rest",
        )

    def _interpreted(self, inputs: Sequence[int], outputs: Sequence[int], given: dict[Value, Aval]) -> Plan:
        """Return a plan that runs the later steps node by node."""
        values = self.program.values
        # A shape may be known of a value that is no input of the rest: what follows from it needs no value either.
        arguments = [given.get(value, self.table[value]) for value in self.program.graph.parameters]
        given = infer_graph(self.program.graph, arguments, given, partial=True)
        later = {node for old in self.later for node in self.program.steps[old].nodes}

        def function(*operands: Any) -> list[Any]:
            known = dict(zip([values[number] for number in inputs], operands, strict=True))

            def value_of(value: Value) -> Any:
                if value not in known:
                    run(value.node)
                return known[value]

            def run(node: Node) -> None:
                aval = given.get(node.outputs[0]) if len(node.outputs) == 1 else None
                if aval is not None and aval.value is not None:
                    known[node.outputs[0]] = from_array(np.asarray(aval.value), aval.dtype)
                    return
                results = run_node(node, tuple([value_of(value) for value in node.inputs]))
                known.update(zip(node.outputs, results, strict=True))

            for node in self.program.graph.nodes:
                if node in later and not (node.outputs and all(value in known for value in node.outputs)):
                    run(node)
            return [value_of(values[number]) for number in outputs]

        arguments = [given.get(values[number], self.table[values[number]]) for number in inputs]
        return _host_plan(self.program.graph.name, arguments, [values[n].aval for n in outputs], function)


def _graph_plan(program: Program, arguments: Sequence[Aval]) -> Plan:
    """Return a plan that interprets a program's graph."""
    graph = program.graph

    def function(*operands: Any) -> list[Any]:
        return interpret(graph, operands)

    return _host_plan(graph.name, arguments, [value.aval for value in graph.outputs], function)


def _host_plan(name: str, inputs: Sequence[Aval], outputs: Sequence[Aval], function: Callable[..., list[Any]]) -> Plan:
    """Return a plan of one host step, whose results may have any shape."""
    slots: list[Slot] = []
    operands: list[Operand] = []
    for index, aval in enumerate(inputs):
        resource = aval.dtype == "resource"
        slots.append(Slot(Place.CELL if resource else Place.INPUT, aval.nbytes or 0, index=index))
        operands.append(Operand(index, aval.dtype.code, None if resource else _dims(aval)))
    results = [Operand(len(slots) + k, aval.dtype.code, None) for k, aval in enumerate(outputs)]
    slots += [Slot(Place.GIVEN, dynamic=True) for _ in outputs]
    step = specs.HostCall(
        function=function, operands=tuple(operands), outputs=tuple(results), cost=1e5, pinned=True, name=name
    )
    return Plan(PlanSpec(slots, [step], operands, results, cost=1e5, name=name))


def _bits(mask: int) -> list[int]:
    """Return the positions of the bits that are set."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def _dims(aval: Aval) -> tuple[int, ...]:
    assert aval.shape is not None
    return tuple([int(n or 0) for n in aval.shape])


def _batch_offsets(shape: tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    """Return for each matrix of the result where its operand's matrix begins, in elements; batches broadcast."""
    own = shape[:-2]
    matrix = shape[-2] * shape[-1]
    numbers = np.arange(int(np.prod(own, dtype=np.int64)), dtype=np.int64).reshape(own) * matrix
    return tuple(np.broadcast_to(numbers, batch).reshape(-1).tolist())


def _updates(step: StepSpec) -> tuple[tuple[int, int, int], ...]:
    return step.updates if isinstance(step, specs.KernelCall) else ()


def _slots_used(step: StepSpec) -> set[int]:
    """Return the slots that a step touches."""
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


class _Explain:
    """Says what a kernel's failed check means: the ops' bodies run on its operands, and raise."""

    def __init__(self, program: Program, table: dict[Value, Aval]) -> None:
        self.program = program
        self.table = table

    def __call__(self, step: StepSpec, ordinal: int, position: int, operands: list[EagerTensor]) -> Exception:
        """Return the error for check `ordinal` of `step`, which failed at the flat position given."""
        source = step.source
        name = step.name
        if isinstance(source, KernelStep):
            values: dict[Value, Any] = {}
            for number, tensor in zip(source.inputs, operands):
                values[self.program.values[number]] = tensor
            try:
                for node in source.nodes:
                    inputs = tuple([self._value(values, value) for value in node.inputs])
                    for value, result in zip(node.outputs, run_node(node, inputs), strict=True):
                        values[value] = result
            except KeyError as error:  # an operand that the step does not read as such
                name = f"{name} ({error})"
            except Exception as error:
                return error
            if 0 <= ordinal < len(source.fallible):
                name = source.fallible[ordinal].node.name
        return errors.InternalError(None, None, f"{name}: check {ordinal} of the kernel failed at position {position}")

    def _value(self, values: dict[Value, Any], value: Value) -> Any:
        found = values.get(value)
        if found is None and value.node.op.name == "const":
            found = value.node.attrs["value"]
        if found is None and self.table[value].value is not None:
            found = from_array(np.asarray(self.table[value].value), self.table[value].dtype)
        if found is None:
            raise KeyError(value.name)
        return found
