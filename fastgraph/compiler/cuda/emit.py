"""Loop nest -> source of one cuda.jit kernel.

Rule: the text is as canonical as a CPU kernel's, and every index in it is one that the CPU's kernel would use. The
shared loops of a nest become the grid: a thread for each element, or a block of threads for each row where reductions
or stores have loops of their own, which the threads of the block then share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fastgraph.compiler.cpu import emit as emit_cpu
from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.cpu.emit import Block, Emitted
from fastgraph.compiler.cuda.functions import NotOnDevice
from fastgraph.compiler.nest.canonicalize import FlatNest, FlatStore
from fastgraph.compiler.nest.scalar_ir import Scalar, walk
from fastgraph.compiler.program.kernel_spec import KernelSpec

_KEPT = {"bool": "int32"}  # what threads hold of a truth value while they combine theirs


@dataclass(frozen=True)
class CudaKernel(KernelSpec):
    """`kernel(status, n_units, *buffers, *sizes)`; `by_rows`: a block of threads for each unit, not a thread."""

    by_rows: bool = False


def emit(nest: FlatNest) -> Emitted:
    """The kernel of a loop nest.

    Raises: NotOnDevice for one with a dtype or function that is left to the host.
    """
    return Emitter(nest).run()


class Emitter(emit_cpu.Emitter):
    """Writes one kernel."""

    def __init__(self, nest: FlatNest) -> None:
        super().__init__(nest)
        terms = walk([t for s in nest.stores for t in (s.scalar, s.position)])
        dtypes = {t.dtype for t in terms} | {s.dtype for s in nest.stores}
        if not dtypes.isdisjoint((*render.HALVES, "complex64", "complex128")):
            raise NotOnDevice(f"kernels of {', '.join(sorted(dtypes))}")
        self.outer = frozenset(nest.dims)
        # A thread that fails a check leaves, and must not be waited for by the others of its block.
        self.by_rows = bool(self.groups) and not any(t.op == "check" for t in terms)

    def run(self) -> Emitted:
        """Write the whole kernel."""
        root = Block(None, frozenset())
        unit = Block(root, self.outer)
        lines = self.indices("u", self.nest.dims, unit)
        for store in self.nest.stores:
            if not store.variables:
                self.emit(store.scalar, unit)
        if self.by_rows and any(not store.variables for store in self.nest.stores):
            unit.lines.append("cuda.syncthreads()")  # what one thread writes next, the others may still have to read
        for i, store in enumerate(self.nest.stores):
            if not store.variables:
                self.emit_store(store, unit)
            elif i not in self.emitted:
                self.emit_loop(self.members((store.variables, self.nest.stage[i]), unit), unit)
        unit.lines[:0] = lines
        first, step = ("cuda.blockIdx.x", "cuda.gridDim.x") if self.by_rows else ("cuda.grid(1)", "cuda.gridsize(1)")
        root.nest(f"for u in range({first}, n_units, {step}):", unit)
        if self.by_rows:
            root.lines.insert(0, "t = cuda.threadIdx.x")
        arguments = ["status", "n_units", *self.buffers.values(), *self.sizes.values()]
        source = f"def kernel({', '.join(arguments)}):\n" + "".join(f"    {line}\n" for line in root.lines)
        imports = tuple(sorted(self.imports))
        spec = CudaKernel(source, tuple(self.buffer_types), len(self.sizes), imports, by_rows=self.by_rows)
        extents = [v.args[0] for v in self.nest.dims]
        extent = math.prod(extents[1:], start=extents[0]) if extents else None
        return Emitted(spec, list(self.buffers), list(self.sizes), extent, list(self.fallible), self.nest)

    def indices(self, flat: str, variables: Sequence[Scalar], block: Block) -> list[str]:
        """The lines that make the variables of a flat index, the last of them the fastest."""
        if not variables:
            return []
        for v in variables:
            self.variables.setdefault(v, f"i{len(self.variables)}")
        lines, rest = [], flat
        for v in reversed(variables[1:]):
            extent, left = self.size(v.args[0]), self.local()
            lines += [f"{self.variables[v]} = {rest} % {extent}", f"{left} = {rest} // {extent}"]
            rest = left
        return [*lines, f"{self.variables[variables[0]]} = {rest}"]

    def leave(self, status: str) -> list[str]:
        """The lines that end the thread with a status: the greatest of those that threads leave is kept."""
        return [f"cuda.atomic.max(status, 0, {status})", "return"]

    def some_element(self, check: Scalar, place: Block) -> str:
        """The condition that the loops behind a check run at all: the grid's have, as the thread is there."""
        if self.outer <= place.variables:
            return super().some_element(check, place)
        return "n_units > 0 and "

    def emit_store(self, store: FlatStore, block: Block) -> None:
        alone = self.by_rows and block.variables == self.outer
        value, at = self.emit(store.scalar, block), self.emit(store.position, block)
        text = f"{self.buffer(store.key, store.dtype)}[{at}] = {render.stored(value, store.dtype, self.call)}"
        block.lines += ["if t == 0:", f"    {text}", "cuda.syncthreads()"] if alone else [text]

    # -- loops ---------------------------------------------------------------------------------------------------------

    def emit_loop(self, members: Sequence[Scalar | int], place: Block) -> None:
        """One loop for reductions and stores over the same variables, whose iterations the threads of a block share."""
        variables = self.bound(members[0])
        plain = all(len(v.args) == 1 for v in variables)
        if not self.by_rows or not plain or place.guarded or not place.variables <= self.outer:
            if self.by_rows and any(isinstance(item, int) for item in members):
                raise NotOnDevice("a store in a loop with bounds that are computed")
            super().emit_loop(members, place)
            return
        inner = Block(place, place.variables | set(variables))
        flat = self.local()
        lines = self.indices(flat, variables, inner)
        folds: list[render.Fold] = []
        stores = False
        for item in members:
            if isinstance(item, int):
                self.emitted.add(item)
                self.emit_store(self.nest.stores[item], inner)
                stores = True
                continue
            made = self.fold(item, self.emit_body(item.args[-1], inner), flat, shared=True)
            inner.lines += made.step
            place.names[item] = made.result
            folds.append(made)
        inner.lines[:0] = lines
        for made in folds:
            place.lines += made.before
        length = " * ".join(self.size(v.args[0]) for v in variables)
        place.nest(f"for {flat} in range(t, {length}, THREADS):", inner)
        for made in folds:
            place.lines += made.after
        if stores:
            place.lines.append("cuda.syncthreads()")

    def fold(self, reduction: Scalar, value: str, variable: str, *, shared: bool = False) -> render.Fold:
        """Return the step by which a reduction takes one more value: floats in float64, by thread, then by block."""
        kind, dtype = reduction.attr[0], reduction.args[-1].dtype
        total, result = self.local(), self.local()
        if kind in ("argmax", "argmin"):
            best, sign = self.local(), ">" if kind == "argmax" else "<"
            before = [f"{best} = {render.edge(kind[3:], dtype)}", f"{total} = int64(0)"]
            step = [f"if {value} {sign} {best}:", f"    {best} = {value}", f"    {total} = {variable}"]
            if shared:
                after = [f"{result} = {self.combined(kind, dtype, best, total)}"]
                return render.Fold(before, step, result, after=after)
            return render.Fold(before, step, total)
        kept = "float64" if kind == "sum" and dtype in render.FLOATS else _KEPT.get(dtype, dtype)
        if kind in ("any", "all"):
            first, more = f"int32({int(kind == 'all')})", f"{total} {'&' if kind == 'all' else '|'} int32({value})"
        elif kind in ("sum", "prod"):
            first = f"{kept}({int(kind == 'prod')})"
            more = f"{kept}({total} {'+' if kind == 'sum' else '*'} {value})"
        else:
            first, more = render.edge(kind, dtype), self.call(f"{kind}_{dtype}", total, value)
        combined = self.combined(kind, kept, total) if shared else total
        last = f"{combined} != 0" if dtype == "bool" else f"{dtype}({combined})" if kept != dtype else combined
        return render.Fold([f"{total} = {first}"], [f"{total} = {more}"], result, after=[f"{result} = {last}"])

    def combined(self, kind: str, dtype: str, *held: str) -> str:
        """Combine the values that all threads of a block hold."""
        return self.call(f"block_{kind}_{dtype}", *held, "t")
