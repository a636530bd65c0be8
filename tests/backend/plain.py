"""Programs run without a compiler: their kernels' sources as plain Python, which sees every index and every type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from nests import run_plain

from fastgraph.compiler.program.program import (
    AliasStep,
    AssignStep,
    CondStep,
    CountedStep,
    GemmStep,
    KernelStep,
    Program,
    ReadStep,
    Size,
    Step,
    WhileStep,
)
from fastgraph.compiler.program.shape_inference import infer_graph
from fastgraph.core.base.shapes import Aval
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import as_array, cell_assign, cell_read, from_array
from fastgraph.graph.interpreter import run_node
from fastgraph.graph.ir import Value


def run_program(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """The outputs of a Program (tensors) on these arguments (tensors and Cells)."""
    return _Run(program, arguments).outputs()


class _Run:
    def __init__(self, program: Program, arguments: Sequence[Any]) -> None:
        self.program = program
        self.values: dict[int, Any] = dict(zip((*program.inputs, *program.captures), arguments, strict=True))
        self.values.update(program.constants)
        self.infer()
        waiting = list(range(len(program.steps)))
        while waiting:  # some wait for sizes that follow from data
            i = next(i for i in waiting if self.ready(program.steps[i]) and not set(program.after[i]) & set(waiting))
            waiting.remove(i)
            step = program.steps[i]
            results = self.step(step)
            for number, result in zip(step.outputs, results, strict=True):
                self.values[number] = result
            if any(not self.aval(n).is_static for n in step.outputs):
                self.infer()

    def ready(self, step: Step) -> bool:
        sizes = (*step.sizes, step.extent) if isinstance(step, KernelStep) else ()
        sized = isinstance(step, KernelStep | GemmStep | AliasStep) and not isinstance(step, CountedStep)
        made = step.outputs if sized else ()
        return (
            all(n in self.values or self.aval(n).value is not None for n in step.inputs)
            and all(self.aval(n).is_static for size in sizes for n, _ in size.dims)
            and all(self.aval(n).is_static for n in made)
        )

    def outputs(self) -> list[Any]:
        return [self.value(n) for n in self.program.outputs]

    def infer(self) -> None:
        known = {
            self.program.values[n]: Aval(v.aval.dtype, v.aval.shape)
            for n, v in self.values.items()
            if not isinstance(v, Cell) and n not in self.program.constants
        }
        parameters = [v.aval for v in self.program.graph.parameters]
        self.table: dict[Value, Aval] = infer_graph(self.program.graph, parameters, known)

    def aval(self, number: int) -> Aval:
        value = self.program.values[number]
        return self.table.get(value, value.aval)

    def value(self, number: int) -> Any:
        found = self.values.get(number)
        if found is None:
            aval = self.aval(number)
            assert aval.value is not None, f"value {number} is not made by any step"
            found = from_array(np.asarray(aval.value), aval.dtype)
        return found

    def size(self, size: Size) -> int:
        return size.constant * math.prod([self.aval(n).shape[axis] for n, axis in size.dims])  # type: ignore[index,misc]

    def step(self, step: Step) -> list[Any]:
        if isinstance(step, KernelStep):
            return self.kernel(step)
        inputs = [self.value(n) for n in step.inputs]
        if isinstance(step, AliasStep):
            aval = self.aval(step.outputs[0])
            memory = np.ascontiguousarray(as_array(inputs[0])).reshape(-1)
            return [from_array(memory.view(aval.dtype.as_numpy_dtype).reshape(aval.shape), aval.dtype)]
        if isinstance(step, GemmStep) and not step.pairs:
            a, b = map(as_array, inputs)
            product = (a.swapaxes(-1, -2) if step.transpose_a else a) @ (b.swapaxes(-1, -2) if step.transpose_b else b)
            return [from_array(product, self.aval(step.outputs[0]).dtype)]
        if isinstance(step, ReadStep):
            return [cell_read(inputs[0])]
        if isinstance(step, AssignStep):
            cell_assign(inputs[0], inputs[1])
            return []
        if isinstance(step, CondStep):
            taken = step.then_program if bool(as_array(inputs[0])) else step.else_program
            return run_program(taken, inputs[1:])
        if isinstance(step, WhileStep):
            return self.loop(step, inputs)
        return list(run_node(step.nodes[0], tuple(inputs)))

    def loop(self, step: WhileStep, inputs: list[Any]) -> list[Any]:
        n = step.n_carried
        carried, rows = inputs[:n], []
        while bool(as_array(run_program(step.cond_program, [*carried, *inputs[n:]])[0])):
            results = run_program(step.body_program, [*carried, *inputs[n:]])
            carried = results[:n]
            rows.append(results[n:])
        stacked = []
        for k, number in enumerate(step.outputs[n:]):
            aval = self.program.values[number].aval
            shape = [0, *[d or 0 for d in (aval.shape or ())[1:]]]
            made = np.stack([as_array(r[k]) for r in rows]) if rows else np.zeros(shape, aval.dtype.numpy_dtype)
            stacked.append(from_array(made, aval.dtype))
        return [*carried, *stacked]

    def shape(self, step: KernelStep, number: int) -> tuple[int, ...]:
        shape = self.aval(number).shape
        assert shape is not None
        rows = (int(as_array(self.value(step.counts)).sum()),) if isinstance(step, CountedStep) else shape[:1]
        return (*rows, *shape[1:])  # type: ignore[return-value, arg-type]

    def kernel(self, step: KernelStep) -> list[Any]:
        if step.kernel.native:  # C, which has no source to run
            (node,) = step.nodes
            return list(run_node(node, tuple([self.value(n) for n in step.inputs])))
        made = {n: np.zeros(self.shape(step, n), self.aval(n).dtype.numpy_dtype) for n in step.outputs}
        for source, target in step.in_place:
            made[step.outputs[target]][...] = as_array(self.value(step.inputs[source])).view(
                made[step.outputs[target]].dtype
            )
        buffers = [made[n] if n in made else as_array(self.value(n)) for n in step.buffers]
        extent = self.size(step.extent)
        sizes = [self.size(s) for s in step.sizes]
        cuts = ((0, extent // 2), (extent // 2, extent)) if step.shardable else ((0, extent),)
        for begin, end in [cut for cut in cuts if cut[0] < cut[1] or not extent]:  # as the executor cuts
            status = run_plain(step.kernel, buffers, sizes, begin, end)
            assert status == 0, f"status {status >> 48} at {status & ((1 << 48) - 1)}\n{step.kernel.source}"
        return [from_array(made[n], self.aval(n).dtype) for n in step.outputs]
