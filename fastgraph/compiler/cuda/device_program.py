"""A graph as steps of a GPU: kernels and products there, the rest on the host, and every transfer a step of its own.

Rule: a value lies where it was last made or copied; what a step needs elsewhere is copied by a step before it, once.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastgraph.compiler.assemble import Assembler
from fastgraph.compiler.cpu.emit import Emitted
from fastgraph.compiler.cuda import emit as cuda_emit
from fastgraph.compiler.cuda import target
from fastgraph.compiler.cuda.functions import NotOnDevice, function
from fastgraph.compiler.nest.canonicalize import FlatNest
from fastgraph.compiler.nest.fusion import Cluster
from fastgraph.compiler.program.program import (
    AliasStep,
    AssignStep,
    GemmStep,
    HostStep,
    KernelStep,
    Program,
    ReadStep,
    Size,
    Step,
)
from fastgraph.compiler.program.symbolic_extents import FIRST_WITNESS, witness_avals
from fastgraph.core.base.dtype import int64
from fastgraph.core.base.shapes import Aval
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import EagerTensor, as_array, cell_assign, cell_read, from_array
from fastgraph.errors import InternalError
from fastgraph.graph.interpreter import run_node
from fastgraph.graph.ir import Graph, Node


class _Refused(Exception):
    """A cluster that the GPU cannot compute."""

    def __init__(self, nodes: Collection[Node]) -> None:
        self.nodes = nodes


class _Assembler(Assembler):
    """Clusters become kernels of the GPU; what the CPU has kernels of its own kind for is left to them or the host."""

    def blocks(self, node: Node) -> None:
        return None

    def has_loops(self, node: Node) -> bool:
        return False

    is_by_pairs = has_loops

    def is_gemm(self, node: Node) -> bool:
        return "pairs" not in node.attrs and super().is_gemm(node)  # its product knows no pairs

    def counted(self, node: Node) -> None:
        return None

    def in_order(self, node: Node) -> None:
        return None

    def split(self, nest: FlatNest) -> list[FlatNest]:
        return [nest]

    def in_place(self, nest: FlatNest, place: int) -> dict[object, object]:
        return {}

    def branches(self, node: Node, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Step:
        return HostStep(inputs, outputs, (node,), node)

    loop = branches

    def emit(self, nest: FlatNest) -> Emitted:
        emitted = cuda_emit.emit(nest)
        for name in emitted.spec.imports:
            function(name)
        return emitted

    def kernels(self, cluster: Cluster, place: int) -> list[Step]:
        try:
            return super().kernels(cluster, place)
        except NotOnDevice:
            raise _Refused(self.all_nodes(cluster)) from None


@dataclass
class Transfer:
    """Copy a value from the host to the GPU, or back."""

    number: int
    to_device: bool


@dataclass
class DeviceSum:
    """The beginning of a sum over processes of what lies on the GPU, or its end: see replication/collectives.py.

    function: arrays of the GPU -> the sum's number, or that -> the sums, there.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    function: Any
    begins: bool


class DeviceProgram:
    """An optimised graph with static shapes, to be run on a GPU (or its simulator).

    shapes: Those of the parameters, where the graph itself does not say. Raises NotOnDevice where sizes are data.
    """

    def __init__(self, graph: Graph, shapes: Sequence[Any] | None = None) -> None:
        shapes = [value.aval.shape for value in graph.parameters] if shapes is None else shapes
        known = {n for shape in shapes for n in shape or ()}
        for aval in witness_avals(graph, shapes).avals.values():
            if aval.shape is None or any(n is None or (n >= FIRST_WITNESS and n not in known) for n in aval.shape):
                raise NotOnDevice(f"the shape {aval.shape} is only known when it is computed")
        refused: set[Node] = set()
        while True:
            try:
                self.program: Program = _Assembler(graph, witness_avals(graph, shapes), refused).run()
                break
            except _Refused as found:
                refused.update(found.nodes)
        self.steps = list(self._with_transfers(self.program))

    def _with_transfers(self, program: Program) -> Any:
        on_host = {*program.inputs, *program.captures, *program.constants, *program.shape_values}
        on_device: set[int] = set()
        for step in map(self._summed, program.steps):
            there = isinstance(step, KernelStep | GemmStep) or (isinstance(step, DeviceSum) and step.begins)
            if isinstance(step, AliasStep):
                there = step.inputs[0] in on_device
            needed = dict.fromkeys((*step.buffers, *step.inputs) if isinstance(step, KernelStep) else step.inputs)
            for number in needed:
                if number in step.outputs:
                    continue
                if number not in (on_device if there else on_host):
                    yield Transfer(number, there)
                    (on_device if there else on_host).add(number)
            yield step
            (on_device if there != isinstance(step, DeviceSum) else on_host).update(step.outputs)
        for number in program.outputs:
            if number not in on_host:
                yield Transfer(number, False)
                on_host.add(number)

    def _summed(self, step: Step) -> Any:
        """Return a sum over processes as one of the GPU's memory, where MPI can read that; what else a step is."""
        made = isinstance(step, HostStep) and getattr(step.node.attrs.get("key"), "object", None)
        find = getattr(made, "__fg_device__", None)
        if find is None:
            return step
        layout = [(self.program.values[n].aval.dtype.numpy_dtype, _shape(self.program, n)) for n in step.inputs]
        found = find(tuple(layout), target)
        if found is None:
            return step
        function, begins = found
        return DeviceSum(step.inputs if begins else step.inputs[:1], step.outputs, function, begins)

    def explain(self) -> str:
        """The steps, one a line, kernels with their source."""
        lines = []
        for step in self.steps:
            if isinstance(step, Transfer):
                lines.append(f"copy %{step.number} to the {'device' if step.to_device else 'host'}")
                continue
            if isinstance(step, DeviceSum):
                what = "beginning" if step.begins else "end"
                lines.append(f"{what} of a sum over processes: {step.inputs} -> {step.outputs}")
                continue
            names = " ".join(node.op.name for node in step.nodes)
            kind = type(step).__name__.removesuffix("Step").lower()
            lines.append(f"{kind}: {step.inputs} -> {step.outputs}  [{names}]")
            if isinstance(step, KernelStep):
                lines += [f"    | {line}" for line in step.kernel.source.splitlines()]
        return "\n".join(lines)

    def __call__(self, *arguments: EagerTensor | Cell) -> list[Any]:
        """The outputs (tensors) on these arguments: tensors, and the Cells of Variables, parameters before captures."""
        return _Run(self, arguments).outputs()


class _Run:
    def __init__(self, owner: DeviceProgram, arguments: Sequence[Any]) -> None:
        program = self.program = owner.program
        self.host: dict[int, Any] = dict(zip((*program.inputs, *program.captures), arguments, strict=True))
        self.host.update(program.constants)
        self.device: dict[int, Any] = {}
        for step in owner.steps:
            self.run(step)

    def outputs(self) -> list[Any]:
        return [self.value(n) for n in self.program.outputs]

    def aval(self, number: int) -> Aval:
        return self.program.values[number].aval

    def shape(self, number: int) -> tuple[int, ...]:
        return _shape(self.program, number)

    def value(self, number: int) -> Any:
        """A value on the host."""
        found = self.host.get(number)
        if found is None:
            aval = self.aval(number)
            found = self.host[number] = from_array(np.asarray(aval.value), aval.dtype)
        return found

    def size(self, size: Size) -> int:
        return size.constant * math.prod([self.shape(n)[axis] for n, axis in size.dims])

    def run(self, step: Step | Transfer | DeviceSum) -> None:
        if isinstance(step, Transfer):
            self.transfer(step)
        elif isinstance(step, DeviceSum) and step.begins:
            begun = step.function([self.device[n] for n in step.inputs])
            self.host[step.outputs[0]] = from_array(begun, int64)
        elif isinstance(step, DeviceSum):
            found = step.function(as_array(self.value(step.inputs[0])))
            self.device.update(zip(step.outputs, found, strict=True))
        elif isinstance(step, KernelStep):
            self.kernel(step)
        elif isinstance(step, GemmStep):
            self.product(step)
        elif isinstance(step, AliasStep) and step.inputs[0] in self.device:
            self.device[step.outputs[0]] = self.device[step.inputs[0]]
        else:
            results = self.on_host(step)
            self.host.update(zip(step.outputs, results, strict=True))

    def transfer(self, step: Transfer) -> None:
        if step.to_device:
            flat = np.ascontiguousarray(as_array(self.value(step.number))).reshape(-1)
            flat = flat.view("uint8") if flat.dtype == bool else flat
            self.device[step.number] = target.cuda.to_device(flat if flat.size else np.zeros(1, flat.dtype))
            return
        aval, shape = self.aval(step.number), self.shape(step.number)
        array = self.device[step.number].copy_to_host()[: math.prod(shape)]
        self.host[step.number] = from_array(array.view(aval.dtype.numpy_dtype).reshape(shape), aval.dtype)

    def make(self, number: int) -> Any:
        """Memory for a value on the GPU."""
        dtype = self.aval(number).dtype.numpy_dtype
        kind = "uint8" if dtype.kind == "b" else dtype
        self.device[number] = target.cuda.device_array(max(math.prod(self.shape(number)), 1), kind)
        return self.device[number]

    def on_host(self, step: Step) -> list[Any]:
        inputs = [self.value(n) for n in step.inputs]
        if isinstance(step, ReadStep):
            return [cell_read(inputs[0])]
        if isinstance(step, AssignStep):
            assert isinstance(inputs[0], Cell)
            cell_assign(inputs[0], inputs[1])
            return []
        return list(run_node(step.nodes[0], tuple(inputs)))

    def kernel(self, step: KernelStep) -> None:
        spec = step.kernel
        assert isinstance(spec, cuda_emit.CudaKernel)
        n_units = self.size(step.extent)
        for number in step.outputs:
            self.make(number)
        if n_units == 0:
            return
        status = target.cuda.to_device(np.zeros(1, np.int64))
        needed = n_units if spec.by_rows else -(-n_units // target.N_THREADS)
        target.kernel(spec)[min(needed, target.MAX_BLOCKS), target.N_THREADS](
            status, n_units, *[self.device[n] for n in step.buffers], *[self.size(s) for s in step.sizes]
        )
        if step.fallible:
            self.check(int(status.copy_to_host()[0]), step)

    def check(self, status: int, step: KernelStep) -> None:
        """Raise the error of the op that failed: its body, run again on the host, says what is wrong."""
        if status == 0:
            return
        for number in step.inputs:
            if number not in self.host:
                self.transfer(Transfer(number, False))
        values = {self.program.values[n]: self.value(n) for n in step.inputs}
        for node in step.nodes:
            inputs = [values[v] if v in values else self.value(self.program.values.index(v)) for v in node.inputs]
            values.update(zip(node.outputs, run_node(node, tuple(inputs)), strict=True))
        node = step.fallible[(status >> 48) - 1].node
        place = status & ((1 << 48) - 1)
        raise InternalError(None, None, f"{node.name} failed at element {place} on the device alone.")

    def product(self, step: GemmStep) -> None:
        (a, b), (out,) = step.inputs, step.outputs
        shape = self.shape(out)
        rows, columns = shape[-2:]
        inner = self.shape(a)[-2 if step.transpose_a else -1]
        starts = np.stack([_starts(self.shape(n), shape[:-2]) for n in (a, b)], axis=1)
        made = self.make(out)
        if math.prod(shape) == 0:
            return
        a_steps = (1, rows) if step.transpose_a else (inner, 1)
        b_steps = (1, inner) if step.transpose_b else (columns, 1)
        grid = (-(-columns // target.TILE), -(-rows // target.TILE), len(starts))
        kernel = target.matmul(self.aval(out).dtype.name)[grid, (target.TILE, target.TILE)]
        memory = (self.device[a], self.device[b], made, target.cuda.to_device(starts))
        kernel(*memory, *a_steps, *b_steps, rows, columns, inner)


def _shape(program: Program, number: int) -> tuple[int, ...]:
    shape = program.witness[number] if number < len(program.witness) else None
    return shape if shape is not None else tuple([int(n or 0) for n in program.values[number].aval.shape or ()])


def _starts(shape: tuple[int, ...], batch: tuple[int, ...]) -> np.ndarray:
    """Return where each matrix of a batch begins in an operand that is broadcast to it."""
    own = np.arange(math.prod(shape[:-2]), dtype=np.int64).reshape(shape[:-2]) * (shape[-2] * shape[-1])
    return np.ascontiguousarray(np.broadcast_to(own, batch)).reshape(-1)
