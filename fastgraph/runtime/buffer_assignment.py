"""Memory for values: every value of a schedule gets a slot, and values that may share memory share a slot.

Rule: memory is written over only if nobody reads it later, holds it, or knows it by another name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np

from fastgraph.compiler.program.program import (
    AliasStep,
    AssignStep,
    CountedStep,
    GemmStep,
    HostStep,
    KernelStep,
    ListStep,
    ReadStep,
    Step,
)
from fastgraph.core.base.dtype import string
from fastgraph.core.base.shapes import Aval
from fastgraph.core.tensor import EagerTensor, from_array
from fastgraph.graph.ir import Value
from fastgraph.runtime.known_shapes import KnownShapes
from fastgraph.runtime.plan import Operand, Place, Slot

_MADE = (KernelStep, GemmStep)  # steps that write into memory they are given


class Placement(KnownShapes):
    """The slots of a schedule's values."""

    def _nbytes(self, number: int) -> int:
        return self.aval(number).nbytes or 0

    def _room(self, place: Place, number: int) -> int:
        """Return the bytes of a slot."""
        aval = self.aval(number)
        if aval.dtype is string:
            return 8 * (aval.size or 0)
        return 0 if place == Place.CELL else aval.nbytes or 0

    def _slot(
        self, place: Place, number: int, *, index: int = -1, tensor: EagerTensor | None = None, dynamic: bool = False
    ) -> int:
        self.slots.append(Slot(place, self._room(place, number), 0, index, tensor, dynamic))
        self.number_of.append(number)
        self.slot_of[number] = len(self.slots) - 1
        return len(self.slots) - 1

    def _memory(self, place: Place, number: int) -> int:
        """Make the slot of a value that others may share later."""
        slot = self._slot(place, number)
        self.groups[slot], self.names[slot] = [number], [number]
        return slot

    def _place_values(self) -> None:
        """Give every value a slot; values that share memory get the same one. Arena offsets come last."""
        self.number_of: list[int] = []  # slot -> the value it was made for
        self.as_large: list[tuple[int, int, bool]] = []  # values that may share memory, and whether they are as large
        self.groups: dict[int, list[int]] = {}  # slot -> its values
        self.names: dict[int, list[int]] = {}  # slot -> those of them that are in it now, before they are written over
        self.copies: dict[int, list[tuple[int, int, int]]] = {}  # new step -> copies before it
        self.order_after: dict[int, list[int]] = {}  # new step -> readers that an in-place step must wait for
        self.dropped: dict[int, list[int]] = {}  # new step -> slots of what was read, and is let go before it
        self.held: dict[int, list[int]] = {}  # Cell -> values read from it that may be let go
        self.wanted = {*self.program.outputs, *self.rest_inputs}
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
                for known in (self.groups, self.names):
                    known.setdefault(slot, [step.inputs[0]]).append(step.outputs[0])
                continue
            if isinstance(step, ReadStep):
                self.held.setdefault(step.inputs[0], []).append(step.outputs[0])
            elif isinstance(step, HostStep) and step.node.op.effect == "write":
                self._reads_die(new, step)
            by_bodies = self._by_bodies(step)
            pairs = {out: into for into, out in step.in_place} if isinstance(step, KernelStep) and not by_bodies else {}
            if isinstance(step, ListStep):
                self._list_dies(new, step)
            for position, number in enumerate(step.outputs):
                self.producer[number] = new
                if not isinstance(step, _MADE) or isinstance(step, CountedStep) or by_bodies:
                    self._slot(Place.GIVEN, number, dynamic=not self.static(number))
                elif position in pairs:
                    self._share(new, step, step.inputs[pairs[position]], number)
                else:
                    self._memory(Place.ARENA, number)
        for number in (*self.program.outputs, *self.rest_inputs):
            self._constant(number)
        for slot, group in self.groups.items():
            if self.slots[slot].place == Place.ARENA and any(number in self.frozen for number in group):
                self.slots[slot].place = Place.BLOCK

    def _list_dies(self, new: int, step: ListStep) -> None:
        """Note whether a list step may give the memory of its list away: nobody takes it later, or holds it."""
        number, slot = step.inputs[0], self.slot_of[step.inputs[0]]
        group = self.names.get(slot, [number])
        readers = [reader for other in group for reader in self.consumers.get(other, [])]
        place = self.slots[slot].place  # a Block that somebody else holds as well is left alone at run time
        own = number in self.own if place == Place.INPUT else place in (Place.ARENA, Place.BLOCK, Place.GIVEN)
        held = any(other in self.frozen for other in group) or step.inputs.count(number) > 1
        if place == Place.ARENA:
            self.slots[slot].place = Place.BLOCK
        if own and not held and all(reader <= new for reader in readers):
            self.lists_over.add(new)
            self.order_after.setdefault(new, []).extend([reader for reader in readers if reader < new])

    def _reads_die(self, new: int, step: HostStep) -> None:
        """Note which values read from the Cell that a step writes nobody takes later: it can write over them then."""
        for cell in step.inputs:
            left = []
            for number in self.held.get(cell, ()):
                slot = self.slot_of[number]
                group, readers = self._known_as(number)
                if all(reader < new for reader in readers) and self.wanted.isdisjoint(group):
                    self.dropped.setdefault(new, []).append(slot)
                    self.order_after.setdefault(new, []).extend(readers)
                else:
                    left.append(number)
            if left or cell in self.held:
                self.held[cell] = left

    def _known_as(self, number: int) -> tuple[list[int], list[int]]:
        """Return the values in a value's slot, and the steps that read them."""
        group = self.groups.get(self.slot_of[number], [number])
        return group, [reader for other in group for reader in self.consumers.get(other, [])]

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
        # Who read what was there before has ended: the step that wrote over it has waited for them.
        group = self.names.get(slot, [source] if own else [])
        readers = [reader for number in group for reader in self.consumers.get(number, [])]
        allowed = (
            (self.slots[slot].place == Place.ARENA or slot in self.taken or own)
            and bool(group)
            and not any(number in self.frozen for number in group)
            and all(reader <= new for reader in readers)
            and sum(self.slot_of.get(number) == slot for number in step.inputs) == 1  # none is another view of it
            and self._as_large(source, target)
        )
        if allowed and own:
            made = self._memory(Place.BLOCK, target)
            self.taken.add(made)
            self.updates.setdefault(new, []).append((-1, slot, made))
            self.order_after.setdefault(new, []).extend([reader for reader in readers if reader < new])
            return
        if allowed:
            self.slot_of[target] = slot
            self.groups[slot].append(target)
            self.names[slot] = [target]
            self.order_after.setdefault(new, []).extend([reader for reader in readers if reader < new])
            return
        made = self._memory(Place.ARENA, target)
        if not self._as_large(source, target):
            return  # a list whose elements' shape was not known: there is nothing in it
        cell = self._updated(new, source, target)
        if cell is not None:
            self.updates.setdefault(new, []).append((cell, slot, made))
            return
        self.copies.setdefault(new, []).append((slot, made, self._nbytes(target)))

    def _as_large(self, source: int, target: int) -> bool:
        found = self._nbytes(source) == self._nbytes(target)
        self.as_large.append((source, target, found))
        return found

    def with_other_sizes(self, table: dict[Value, Aval]) -> Self | None:
        """Return what this is where the values have these sizes; None where more than sizes is another.

        Which values share memory and what waits for what does not depend on sizes, as long as none of them is data.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.table = table
        other.avals = other._avals()
        if not other._all_known():
            return None
        if any((other._nbytes(a) == other._nbytes(b)) != same for a, b, same in self.as_large):
            return None
        other.slots = [other._slot_again(slot, number) for slot, number in zip(self.slots, self.number_of, strict=True)]
        other.copies = {
            step: [(origin, made, other.slots[made].nbytes) for origin, made, _ in copies]
            for step, copies in self.copies.items()
        }
        return other

    def _slot_again(self, slot: Slot, number: int) -> Slot:
        """Return the slot of a value for the sizes known now."""
        if slot.place == Place.CELL or number in self.program.constants:
            return slot
        tensor = slot.tensor
        if tensor is not None:
            tensor = from_array(np.asarray(self.aval(number).value), self.aval(number).dtype)
        return Slot(slot.place, self._room(slot.place, number), 0, slot.index, tensor, device=slot.device)

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
        if source not in read.outputs or not self._as_large(source, target):
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
