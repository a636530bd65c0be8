"""Steps of a Program for known sizes: the StepSpecs that the executor reads.

Rule: a StepSpec holds numbers only (slots, sizes, costs), except for the function that a host step calls.
"""

from __future__ import annotations

import contextlib
import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from fastgraph.compiler.library.fourier_lines import native_address
from fastgraph.compiler.library.loop_step_order import checks
from fastgraph.compiler.program.gemm_cost import gemm_cost, gemm_shards, gemm_size
from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.program.program import (
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
from fastgraph.compiler.program.shape_inference import CannotPlan
from fastgraph.core.base.dtype import string
from fastgraph.core.base.shapes import Aval
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import EagerTensor
from fastgraph.graph.interpreter import interpret, run_node
from fastgraph.graph.ir import Node, Value
from fastgraph.runtime import plan as specs
from fastgraph.runtime.buffer_assignment import Placement
from fastgraph.runtime.check_errors import results_of
from fastgraph.runtime.executor import Plan
from fastgraph.runtime.plan import Operand, Place, PlanSpec, Slot, StepSpec
from fastgraph.runtime.step_costs import CALL_NS, kernel_chunk

PLANS_KEPT = 64  # per place that asks for plans by run-time shapes


class StepSpecs(Placement):
    """The StepSpecs of a schedule's steps."""

    def _size(self, size: Size) -> int:
        total, avals = size.constant, self.avals
        for number, axis in size.dims:
            total *= avals[number].shape[axis] or 0  # type: ignore[union-attr,index]
        return total

    def with_other_sizes(self, table: dict[Value, Aval]) -> Self | None:
        """Return what this is where the values have these sizes; None where more than sizes is another."""
        other = super().with_other_sizes(table)
        if other is not None and any(other._by_bodies(step) != self._by_bodies(step) for step in self._lookers):
            return None
        return other

    @cached_property
    def _lookers(self) -> list[KernelStep]:
        steps = [self.program.steps[old] for old in self.now]
        return [step for step in steps if isinstance(step, KernelStep) and checks(step)]

    def _step_again(self, new: int, earlier: StepSpec) -> StepSpec:
        """Return what a step of a plan is for the sizes known now."""
        step = earlier.source
        if isinstance(earlier, specs.KernelCall):
            sized = self._kernel_sizes(step)
        elif isinstance(step, GemmStep):
            sized = self._gemm_sizes(step)
        else:
            made = self._step(new, step)
            made.allocate, made.release = earlier.allocate, earlier.release
            return made
        if earlier.copies:
            sized["copies"] = tuple(self.copies[new])
        return earlier.with_fields(sized)

    def _step(self, new: int, step: Step) -> StepSpec:
        common: dict[str, Any] = {"copies": tuple(self.copies.get(new, ())), "name": step.name, "source": step}
        if isinstance(step, KernelStep):
            if self._by_bodies(step):
                return self._looked(step, common)
            address, updates = self._address(step.kernel), tuple(self.updates.get(new, ()))
            buffers = tuple([self.slot_of[number] for number in step.buffers])
            return specs.KernelCall(
                address=address, buffers=buffers, updates=updates, **self._kernel_sizes(step), **common
            )
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
            made = self._host(step, _body_of(step.node), common)
            made.dropped = tuple(self.dropped.get(new, ()))
            made.unless = step.node.op.step == "unless" and self.aval(step.inputs[0]).shape == ()
            made.cost = 40.0 if made.unless else made.cost
            native = step.native if isinstance(step, HostStep) else None
            if native and all(self.static(number) for number in (*step.inputs, *step.outputs)):
                avals = [self.aval(number) for number in step.inputs]
                made.native = native(tuple([(np.dtype(aval.dtype.as_numpy_dtype), aval.shape) for aval in avals]))
            return made
        if isinstance(step, ListStep):
            return self._list(new, step, common)
        if isinstance(step, CondStep):
            return self._branch(step, common)
        if isinstance(step, WhileStep):
            return self._loop(step, common)
        raise TypeError(f"{step.name}: no step of a plan")

    def _list(self, new: int, step: ListStep, common: dict[str, Any]) -> StepSpec:
        operands, function, kind = self._operands(step.inputs), _body_of(step.node), step.node.op.step
        shape = operands[0].shape or ()
        written = operands[2].shape if len(operands) > 2 else None  # a row, or, to extend by, as many as there are
        row, n_written = (written, int(written is not None))
        if kind == "dynamic.extend" and written:
            row, n_written = written[1:], written[0]
        fits = bool(shape) and (written is None or row == shape[1:]) and operands[0].dtype != string.code
        if not fits:
            return self._host(step, function, common)
        return specs.ListCall(
            function=function,
            operands=operands,
            outputs=self._operands(step.outputs),
            cost=40.0,
            pinned=True,
            push=written is not None,
            written=n_written,
            grow=kind != "dynamic.trim",
            over=new in self.lists_over,
            rows=shape[0],
            row_bytes=math.prod(shape[1:]) * (self.aval(step.inputs[0]).dtype.size),
            wide_index=self.aval(step.inputs[1]).dtype.size == 8,
            **common,
        )

    def _variable_name(self, number: int) -> str:
        return str(self.program.values[number].node.name)

    def _kernel_sizes(self, step: KernelStep) -> dict[str, Any]:
        """Return what sizes decide of a KernelCall."""
        extent = self._size(step.extent)
        is_list = step.nodes[0].op.step == "list_set"  # which looks at its index even if elements are empty
        if not (is_list or isinstance(step, CountedStep) or [n for n in step.outputs if 0 not in self._shape(n)]):
            extent = 0  # no element is computed, so no check may fail
        per_unit, operations = step.cost, step.operations * extent
        for factor in step.cost_dims:
            per_unit *= self._size(factor)
            operations *= self._size(factor)
        chunk = kernel_chunk(extent, per_unit) if step.shardable else extent
        sized = {
            "sizes": tuple([self._size(size) for size in step.sizes]),
            "extent": extent,
            "chunk": chunk,
            "cost": CALL_NS + extent * per_unit,
            "operations": operations,
        }
        if step.fallible:
            sized["operands"] = self._operands(step.inputs)
        if step.products:
            sized["products"] = tuple([self._gemm(each, {}) for each in step.products])  # type: ignore[arg-type]
        if isinstance(step, CountedStep):
            sized.update(self._rows(step))
        return sized

    def _looked(self, step: KernelStep, common: dict[str, Any]) -> StepSpec:
        """The nodes of a step as their bodies do them: no element is computed, by which a kernel would check."""
        values, table = self.program.values, self.table

        def function(*inputs: EagerTensor | Cell) -> list[EagerTensor]:
            found = results_of(step, values, inputs, table)
            return [found[values[number]] for number in step.outputs]

        return self._host(step, function, common)

    def _host(self, step: Step, function: Callable[..., list[Any]], common: dict[str, Any]) -> specs.HostCall:
        operands, outputs = self._operands(step.inputs), self._operands(step.outputs)
        return specs.HostCall(function=function, operands=operands, outputs=outputs, cost=3000.0, pinned=True, **common)

    def _rows(self, step: CountedStep) -> dict[str, Any]:
        """Return what a kernel whose results are counted has besides."""
        counted = self._operand(step.outputs[0])
        row = tuple([int(n or 0) for n in (self.aval(step.outputs[0]).shape or ())[1:]])
        n = self.aval(step.counts).size or 0
        return {"counted": counted, "counts": self.slot_of[step.counts], "n_counts": n, "row": row}

    def _address(self, kernel: KernelSpec) -> int:
        linked = native_address(kernel.native) if kernel.native else self.planner.link(kernel)
        if isinstance(linked, int):
            return linked
        self.keep.append(linked)
        return int(linked.address)

    def _gemm(self, step: GemmStep, common: dict[str, Any]) -> specs.GemmCall:
        a, b = step.inputs
        return specs.GemmCall(
            a=self.slot_of[a],
            b=self.slot_of[b],
            c=self.slot_of[step.outputs[0]],
            dtype=step.pairs or self.aval(a).dtype.name,
            transpose_a=step.transpose_a,
            transpose_b=step.transpose_b,
            **self._gemm_sizes(step),
            **common,
        )

    def _gemm_sizes(self, step: GemmStep) -> dict[str, Any]:
        """Return what sizes decide of a GemmCall."""
        a, b = step.inputs
        a_shape, b_shape, c_shape = step.shapes or [self._shape(number) for number in (a, b, step.outputs[0])]
        m, n = c_shape[-2:]
        k = a_shape[-2] if step.transpose_a else a_shape[-1]
        batch = c_shape[:-2]
        if not step.shapes and not step.transpose_a and a_shape[:-2] == batch and math.prod(b_shape[:-2]) == 1:
            m, batch, a_shape, b_shape = (
                m * math.prod(batch),
                (),
                a_shape[-2:],
                b_shape[-2:],
            )  # one product, of all rows
        size = gemm_size(self.aval(a).dtype.name)
        pieces, along_n, chunk = gemm_shards(batch, m, n, k, size)
        return {
            "m": m,
            "n": n,
            "k": k,
            "a_offsets": _batch_offsets(a_shape, batch),
            "b_offsets": _batch_offsets(b_shape, batch),
            "along_n": along_n,
            "pieces": pieces,
            "chunk": chunk,
            "cost": gemm_cost(batch, m, n, k, size),
            "operations": 2.0 * math.prod(batch) * m * n * k,
        }

    def _branch(self, step: CondStep, common: dict[str, Any]) -> StepSpec:
        avals = [self.aval(number) for number in step.inputs[1:]]
        own = self._handed(step.inputs[1:])
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

    def _handed(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """The places of what the loop around carries and only the one step that asks takes."""
        kept = {*self.program.outputs, *self.rest_inputs}
        return tuple(
            [i for i, n in enumerate(numbers) if n in self.own and n not in kept and len(self.consumers[n]) == 1]
        )

    def _loop(self, step: WhileStep, common: dict[str, Any]) -> StepSpec:
        n = step.n_carried
        avals = [self.aval(number) for number in step.inputs]
        invariants = avals[n:]

        def plans(shapes: tuple[tuple[int, ...], ...]) -> tuple[Plan, Plan, Plan | None]:
            carried = [Aval(aval.dtype, shape) for aval, shape in zip(avals, shapes)]
            arguments, own = [*carried, *invariants], tuple(range(n))
            burst = None
            if step.burst_program is not None:
                burst = self.planner.plan(step.burst_program, arguments, own)
            make = self.planner.plan
            return make(step.cond_program, arguments), make(step.body_program, arguments, own), burst

        kept: OrderedDict[tuple[tuple[int, ...], ...], tuple[Plan, Plan, Plan | None]] = OrderedDict()

        def again(shapes: tuple[tuple[int, ...], ...]) -> tuple[Plan, Plan, Plan | None]:
            found = kept.get(shapes)
            if found is None:
                try:
                    found = plans(shapes)
                except CannotPlan:  # the ops' bodies say what is wrong
                    carried = [Aval(aval.dtype, shape) for aval, shape in zip(avals, shapes)]
                    made = [graph_plan(p, [*carried, *invariants]) for p in (step.cond_program, step.body_program)]
                    found = made[0], made[1], None
                kept[shapes] = found
                while len(kept) > PLANS_KEPT:
                    with contextlib.suppress(KeyError):  # another thread has done it
                        kept.popitem(last=False)
            return found

        cond_plan, body_plan, burst = plans(tuple([aval.shape for aval in avals[:n]]))  # type: ignore[misc]
        stable = all(self.static(number) for number in step.outputs[:n])
        return specs.Loop(
            cond_plan=cond_plan,
            body_plan=body_plan,
            n_carried=n,
            inputs=tuple([self.slot_of[number] for number in step.inputs]),
            outputs=self._operands(step.outputs),
            again=None if stable else again,
            burst_plan=burst,
            handed=self._handed(step.inputs[:n]),
            rows=tuple([tuple([size or 0 for size in value.aval.shape or ()]) for value in step.stacked]),
            cost=100.0 + 20 * (cond_plan.spec.cost + body_plan.spec.cost),
            **common,
        )


def _body_of(node: Node) -> Callable[..., list[Any]]:
    """Return a function that gives what a node's body gives."""
    return lambda *inputs: list(run_node(node, inputs))


def graph_plan(program: Program, arguments: Sequence[Aval]) -> Plan:
    """Return a plan that interprets a program's graph."""
    graph = program.graph

    outputs = [value.aval for value in graph.outputs]
    return host_plan(graph.name, arguments, outputs, lambda *operands: interpret(graph, operands))


def host_plan(name: str, inputs: Sequence[Aval], outputs: Sequence[Aval], function: Callable[..., list[Any]]) -> Plan:
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


def _dims(aval: Aval) -> tuple[int, ...]:
    assert aval.shape is not None
    return tuple([int(n or 0) for n in aval.shape])


def _batch_offsets(shape: tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    """Return for each matrix of the result where its operand's matrix begins, in elements; batches broadcast."""
    own = shape[:-2]
    if not batch:
        return (0,)
    matrix = shape[-2] * shape[-1]
    numbers = np.arange(int(np.prod(own, dtype=np.int64)), dtype=np.int64).reshape(own) * matrix
    return tuple(np.broadcast_to(numbers, batch).reshape(-1).tolist())
