"""The dynamic tail of a plan: the steps that depend on a shape which is data, planned once that shape is known.

Rule: a tail is a schedule of the same Program in which more sizes are known. If none can be made, the ops' bodies run.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fastgraph.compiler.program.program import HostStep
from fastgraph.compiler.program.shape_inference import CannotPlan, infer_graph
from fastgraph.core.base.shapes import Aval
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import EagerTensor, from_array
from fastgraph.graph.interpreter import run_node
from fastgraph.graph.ir import Node, Value
from fastgraph.runtime import plan as specs
from fastgraph.runtime.executor import Plan
from fastgraph.runtime.known_shapes import known_sizes
from fastgraph.runtime.plan import Place, StepSpec
from fastgraph.runtime.step_specs import PLANS_KEPT, StepSpecs, host_plan


class DynamicTail(StepSpecs):
    """A schedule that may end in a rest."""

    def spec(self) -> specs.PlanSpec:
        """Return what a Plan is made of."""
        raise NotImplementedError

    def _rest(self, index: dict[int, int]) -> StepSpec:
        """Return the step that runs the later steps, by a plan made when their sizes are known."""
        numbers = self.rest_inputs
        produced = {number for old in self.later for number in self.program.steps[old].outputs} | {*self.unsettled}
        outputs = [number for number in dict.fromkeys(self.program.outputs) if number in produced]
        after = {self.producer[number] for number in numbers if self.producer.get(number, -1) >= 0}
        for old in self.later:
            after |= {self.position[other] for other in self._program_after(old) if other in self.position}
        # A later step that writes a Cell can write over what was read from it, if nobody takes that any more.
        dropped = []
        for step in [self.program.steps[old] for old in self.later]:
            writes = isinstance(step, HostStep) and step.node.op.effect == "write"
            for number in [n for cell in step.inputs for n in self.held.pop(cell, ())] if writes else ():
                group, readers = self._known_as(number)
                if self.wanted.isdisjoint(group):
                    dropped.append(self.slot_of[number])
                    after.update(readers)
        for number in outputs:
            self._slot(Place.GIVEN, number, dynamic=not self.static(number))
        plans: OrderedDict[tuple[tuple[int, ...], ...], Plan] = OrderedDict()
        dynamic = [number for number in numbers if self.slots[self.slot_of[number]].dynamic]
        # A value that only the later steps take is theirs, if they know its memory by one name and nothing else does.
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
                    table = known_sizes(self.program, arguments, given)
                    part = replace(self.program, outputs=tuple(outputs))
                    found = Plan(type(self)(self.planner, part, table, self.later, numbers, given, own).spec())
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
            dropped=tuple(dropped),
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

        def function(*operands: EagerTensor | Cell) -> list[Any]:
            known: dict[Value, Any] = dict(zip([values[number] for number in inputs], operands, strict=True))

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

        arguments = [given[values[n]] if values[n] in given else self.aval(n) for n in inputs]
        return host_plan(self.program.graph.name, arguments, [values[n].aval for n in outputs], function)
