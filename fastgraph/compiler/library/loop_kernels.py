"""A loop whose test and body are small kernels, as one kernel that iterates by itself over memory it keeps.

Rule: the kernel does whole iterations, and tells how many. It stops before the one in which a check fails or an inner
loop takes long, and after so many as take some milliseconds: the executor then does one iteration step by step, which
says what is wrong, or looks for signals. Its parts are the kernels of those steps, so the values have the same bits.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import cast

from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.library.loop_kernel_parts import NoPart, Part
from fastgraph.compiler.library.loop_kernel_values import SMALL, Scope, Unfit, Values, is_list
from fastgraph.compiler.library.loop_step_order import (
    looks_in_vain,
    makes_room,
    may_stop,
    only_written,
    row_of,
    writes_last,
    writes_row,
)
from fastgraph.compiler.library.register_promotion import MOST_BYTES, mirrored, put_in_rows
from fastgraph.compiler.program.gemm_cost import gemm_cost, gemm_shards, gemm_size
from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.program.program import (
    AliasStep,
    CondStep,
    CountedStep,
    GemmStep,
    KernelStep,
    ListStep,
    Program,
    Size,
    Step,
    WhileStep,
)
from fastgraph.compiler.program.shape_inference import CannotPlan
from fastgraph.core.base import flags
from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.base.shapes import Aval
from fastgraph.core.native.matmul import vector_bits
from fastgraph.graph.ir import Node

#: Estimated time of one call: so long a signal may wait.
CALL_NS = 2e6
#: Iterations of one call at most, those of loops inside among them.
MOST = 1 << 16
#: An iteration that takes longer gains nothing from being part of a kernel (and its steps may be worth threads).
LONG_NS = 4000.0
#: Rows and columns of a matrix whose product with a vector is written out: the executor's products of those (fg_by_rows
#: in matmul_blocks.h) go by the same order.
FEW_SUMS = 32
MAX_STEPS = 24
MAX_BUFFERS = 48
MAX_CARRIED = 30  # an executor's step updates no more values in place

_UNFIT = frozenset({"resource", "string", "variant"})


def burst_program(loop: Node, test: Program, body: Program) -> Program | None:
    """The Program that does many iterations of `loop` at once; None where it is not made of small kernels alone.

    It takes what the body takes; gives the next carried values, how many iterations were done (int64[1]), and for each
    result of the body that is stacked so many rows (and room for more).
    """
    if "fuse" not in flags.get("passes") or loop.attrs.get("joined"):
        return None
    try:
        return _LoopKernel(loop, test, body).program()
    except (Unfit, NoPart, CannotPlan):
        return None


class _LoopKernel(Values):
    """The kernel in the making. Its values have numbers of their own: the loop's operands come first."""

    def __init__(self, loop: Node, test: Program, body: Program) -> None:
        super().__init__(body.graph, loop.attrs["n_carried"])
        self.loop, self.test, self.body = loop, test, body
        self.products: list[GemmStep] = []
        self.head: list[str] = []  # what is done before the first iteration
        self.inner = False
        self.fixed: frozenset[int] = frozenset()  # what the programs being written take as operands
        #: Of them, and of long arrays, those that the branch or loop being written may write rows of: whether the
        #: iteration may stop after that, and whether it may be done again then.
        self.handed: dict[int, tuple[bool, bool]] = {}

    def program(self) -> Program:
        """The Program. Raises Unfit."""
        n, operands = self.n_carried, self.body.graph.parameters
        if n > MAX_CARRIED or len(self.test.steps) + len(self.body.steps) > MAX_STEPS:
            raise Unfit
        avals = [v.aval.without_value() for v in operands]
        if any(not (a.is_static or is_list(a)) or a.dtype.name in _UNFIT for a in avals[:n]):
            raise Unfit
        for value, aval in zip(operands, avals, strict=True):
            attrs = {"dtype": aval.dtype, "shape": aval.shape, "name": value.node.name}
            placeholder = self.graph.add(value.node.op, (), attrs, avals=(aval,), name=value.node.name)
            self.values.append(placeholder.outputs[0])
        self.graph.inputs = list(self.values)
        states = [self.state(k) for k in range(n)]
        count = self.keep(Aval(as_dtype("int64"), (1,)))
        given = [*states, *range(n, len(operands))]
        lines = [f"{self.buffer(count)}[0] = it"]
        (goes_on,), text = self.nested(self.test, given)
        lines += [*text, f"if {self.buffer(goes_on)}[0] == 0:", "    return 0"]
        after, text = self.nested(self.body, given, frozenset(states))
        lines += text
        rows, text = self.rows(after[n:], states)
        lines += [*text, *self.moved(after[:n], states)]
        if self.cost > LONG_NS or len(self.buffers) > MAX_BUFFERS:
            raise Unfit
        most = max(16, min(MOST, int(CALL_NS / self.cost), *[size for _, size in rows]))
        outputs = [*states, count, *[number for number, _ in rows]]
        lines = self.in_rows(lines)
        lines, mirrors, local = mirrored(lines, *self.small(states, outputs))
        loaded, head, leave = self.held(states, count, local)
        scratch = [number for number in self.made if number in loaded and number not in outputs]
        first = len(self.sizes)
        for k in range(len(self.products)):
            head += [f"f{k} = sizes[{first + 2 * k}]", f"g{k} = sizes[{first + 2 * k + 1}]"]
        if self.inner:
            head.append(f"left = {MOST}")
        lines = [each for line in lines for each in (_indented(line, [*leave, "return 0"]) or [line])]
        head += self.filled(mirrors, states)
        whole = [*head, *self.head, f"for it in range({most}):", *["    " + line for line in lines]]
        whole += [f"{self.buffer(count)}[0] = {most}", *leave]
        source = render.kernel((), (), whole)
        types = tuple([render.storage(self.aval(number).dtype.name) for number in loaded])
        inputs = tuple(range(self.n_operands))
        read = [k for k in (*inputs, *self.constants) if k < n or k in self.buffers]
        step = KernelStep(
            inputs=tuple(read),
            outputs=(*outputs, *scratch),
            nodes=(self.loop,),
            kernel=KernelSpec(source, types, first + 2 * len(self.products), tuple(sorted(self.imports))),
            buffers=loaded,
            sizes=tuple(self.sizes),
            extent=Size(1),
            cost=most * self.cost,
            shardable=False,
            in_place=tuple([(k, k) for k in range(n)]),
            products=tuple(self.products),
        )
        witness = self.body.witness
        places = [self.body.values.index(value) for value in operands]
        return Program(
            graph=self.graph,
            values=self.values,
            inputs=inputs,
            captures=(),
            outputs=tuple(outputs),
            steps=[step],
            constants=self.constants,
            after=[()],
            witness=[witness[k] for k in places],
        )

    # -- memory --------------------------------------------------------------------------------------------------------

    def small(self, states: Sequence[int], outputs: Sequence[int]) -> tuple[list[str], list[str]]:
        """The names of states, and of what an iteration computes besides, that registers might hold."""
        few = [k for k in self.made if k in self.buffers and 1 < (self.aval(k).size or 0) <= MOST_BYTES]
        few = [k for k in few if 0 < (self.aval(k).nbytes or 0) <= MOST_BYTES]
        names = [self.buffers[k] for k in few if k in states]
        return names, [self.buffers[k] for k in few if k not in outputs]

    def filled(self, mirrors: Mapping[str, str], states: Sequence[int]) -> list[str]:
        """Lines that make the mirrors, those of states with what they hold."""
        lines = []
        for k, name in self.buffers.items():
            if name in mirrors:
                lines.append(f"{mirrors[name]} = {self.local(k)}")
                if k in states:
                    lines += [f"for e{mirrors[name]} in range({self.aval(k).size}):"]
                    lines += [f"    {mirrors[name]}[e{mirrors[name]}] = {name}[e{mirrors[name]}]"]
        return lines

    def held(
        self, states: Sequence[int], count: int, local: Collection[str]
    ) -> tuple[tuple[int, ...], list[str], list[str]]:
        """Return the values in the kernel's slots, the lines that name them, and those that come before it returns.

        A single number is held in a variable of the kernel's own: what the next iteration waits for then goes through
        no memory. So is what is named `local`.
        """
        outside = {k for step in self.products for k in (*step.inputs, *step.outputs)}
        single = {k for k in self.buffers if self.aval(k).size == 1} - outside
        given = {k for k in single if k < self.n_operands or k in self.constants or k in states}
        single |= {k for k, name in self.buffers.items() if name in local}
        loaded = tuple([k for k in self.buffers if k not in single or k in given or k == count])
        head, leave = [], []
        for k, name in self.buffers.items():
            slot = f"m{name}" if k in single else name
            if k in loaded:
                head.append(f"{slot} = buffers[{loaded.index(k)}]")
            if k in single:
                head.append(f"{name} = {self.local(k)}")
                head += [f"{name}[0] = {slot}[0]"] if k in given else []
                leave += [f"{slot}[0] = {name}[0]"] if k in states or k == count else []
        return loaded, head, leave

    def in_rows(self, lines: list[str]) -> list[str]:
        """The lines with what is stacked written into its row, where it can be; copied else."""
        where = {self.buffers[k]: (self.buffers[rows], self.aval(k).size or 0) for k, rows in self.at_once.items()}
        lines, done = put_in_rows(lines, where) if where else (lines, set())
        for k, rows in self.at_once.items():
            if self.buffers[k] in done:
                del self.buffers[k]
            else:
                lines += self.copied(k, rows, "it")
        return lines

    # -- programs inside -----------------------------------------------------------------------------------------------

    def inline(self, program: Program, given: Sequence[int], owned: frozenset[int]) -> tuple[list[int], list[str]]:
        """The numbers of a program's results for operands of these numbers, and the lines that compute them.

        Values that are `owned` may be written over where they die.
        """
        scope = Scope(self, program, given)
        lines: list[str] = []
        becomes = dict(zip(program.outputs, given[: self.n_carried], strict=False)) if owned else {}
        steps = writes_last(program)
        for place, step in enumerate(steps):
            later = steps[place + 1 :]
            if isinstance(step, AliasStep):
                scope.number[step.outputs[0]] = scope.at(step.inputs[0])
                continue
            # The value that dies with the step, and what is then known of its rows.
            dead = {k: self.dying(k, scope, step, later, owned) for k in step.inputs}
            free = {k: rows for k, rows in dead.items() if rows is not None}
            if isinstance(step, KernelStep) and not isinstance(step, CountedStep):
                lines += self.kernel(step, scope, set(free), becomes)
            elif isinstance(step, GemmStep):
                lines += self.product(step, scope)
            elif isinstance(step, CondStep):
                lines += self.branches(step, scope, free)
            elif isinstance(step, WhileStep):
                lines += self.loop_inside(step, scope, free)
            elif isinstance(step, ListStep) and (makes_room(step) or writes_row(step)):
                lines += self.room(step, scope, set(free))
            else:
                raise Unfit
        return [scope.at(k) for k in program.outputs], lines

    def dying(
        self, k: int, scope: Scope, step: Step, later: Sequence[Step], owned: frozenset[int]
    ) -> tuple[bool, bool] | None:
        """Return whether an iteration may stop after a step, and be done again although rows of `k` were written.

        None if anything after it looks at this operand, or its memory is not the iteration's own.
        """
        own, program = scope.number.get(k), scope.program
        if own is None or own in self.constants:
            return None
        alike = {other for other, same in scope.number.items() if same == own}
        if any(not alike.isdisjoint(s.inputs) for s in later) or not alike.isdisjoint(program.outputs):
            return None
        if own in owned or own in self.handed:  # what the iteration began with, needed until nothing can fail any more
            stops, again = self.handed.get(own, (False, True))
            stops = stops or any(may_stop(s) and not self.alike(step, s, scope) for s in later)
            again = again and only_written(program, alike)
            writes = writes_row(step) or isinstance(step, (CondStep, WhileStep))
            return (stops, again) if (writes and (again or not stops)) or (own in owned and not stops) else None
        return (False, True) if own in self.made and own not in self.fixed else None

    def alike(self, step: Step, other: Step, scope: Scope) -> bool:
        """Return whether each writes a row of a list, and finds its place wherever the other does."""
        if not (writes_row(step) and writes_row(other)):
            return False
        (one, place, _), (two, at, row) = ([scope.number.get(k) for k in row_of(s)] for s in (step, other))
        if None in (one, two, place, row) or place != at:
            return False
        first, second = (self.aval(cast(int, k)).shape or (None,) for k in (one, two))
        known = first[0] is not None and first[0] == second[0]
        return known and second[1:] == self.aval(cast(int, row)).shape

    def room(self, step: ListStep, scope: Scope, free: set[int]) -> list[str]:
        """Lines that go on where a list has room for an element, which the executor gives it else, and write it."""
        into, index = scope.at(step.inputs[0]), scope.at(step.inputs[1])
        if into not in self.lists:
            raise Unfit
        self.n_parts += 1
        place, cast_ = f"k{self.n_parts}", f"cast_{self.aval(index).dtype.name}_int64"
        self.imports.add(cast_)
        rows = ast.unparse(self.size(Size(1, ((step.inputs[0], 0),)), scope))
        lines = [f"{place} = {cast_}({self.buffer(index)}[0])", f"if {place} >= {rows}:", "    return 0"]
        scope.number[step.outputs[0]] = into
        if not writes_row(step):
            return lines
        row = scope.at(step.inputs[2])
        if step.inputs[0] not in free or (self.aval(into).shape or ())[1:] != self.aval(row).shape:
            raise Unfit
        return [*lines, f"if {place} < 0:", "    return 0", *self.copied(row, into, place)]

    def over(self, step: KernelStep, scope: Scope, free: set[int], becomes: Mapping[int, int]) -> dict[int, int]:
        """Return which operand each result of a step is written over; it may have to be copied before."""
        over = {step.outputs[out]: step.inputs[into] for into, out in step.in_place}
        written = {scope.at(k) for k in over.values()}
        given = [scope.number.get(k) for k in step.inputs]
        for into, out in step.same_place:
            source, result = step.inputs[into], step.outputs[out]
            own = given[into]
            if source not in free or result in over or own is None or own in written or given.count(own) > 1:
                continue
            if becomes.get(result, own) == own:  # else it would be moved to its state's place, and so would another
                over[result] = source
                written.add(own)
        return over

    def kernel(self, step: KernelStep, scope: Scope, free: set[int], becomes: Mapping[int, int]) -> list[str]:
        """The lines of one kernel. `becomes`: the state that a result is in the next iteration."""
        if step.kernel.native:
            raise Unfit
        lines: list[str] = []
        avals, number = scope.avals, scope.number
        over = self.over(step, scope, free, becomes)
        for out in step.outputs:
            aval = avals[out]
            source = over.get(out)
            if source is not None and source in free and self.as_large(step, aval, self.aval(scope.at(source))):
                number[out] = scope.at(source)
                continue
            if not aval.is_static:
                raise Unfit
            number[out] = self.keep(aval)
            if (aval.nbytes or 0) > 4 * SMALL:
                raise Unfit
            if source is not None:
                lines += self.copied(scope.at(source), number[out])
        costs = [k for size in (step.extent, *step.cost_dims) for k, _ in size.dims]
        if looks_in_vain(step, avals) or any(number.get(k) in self.lists for k in costs):
            raise Unfit
        is_list = step.nodes[0].op.step == "list_set"
        if not (is_list or any(avals[k].size for k in step.outputs)):
            return lines
        # The order of a float sum is LLVM's choice: it must not know here how long it is, for it does not know there.
        self.opaque = any(name.startswith("fold_") for name in step.kernel.imports)
        end = self.size(step.extent, scope)
        factors = [self.known(size, scope) for size in (step.extent, *step.cost_dims)]
        self.cost += 1.0 + step.cost * math.prod([f or 1 for f in factors])
        sizes = [self.size(size, scope) for size in step.sizes]
        self.imports.update(step.kernel.imports)
        slots = [self.buffer(scope.at(k)) for k in step.buffers]
        self.n_parts += 1
        known = {i: n for i, size in enumerate(step.sizes) if (n := self.known(size, scope)) is not None}
        part = Part(f"p{self.n_parts}_", slots, sizes, end, known)
        lines += part.lines(step.kernel.source)
        self.imports |= part.imports
        return lines

    def as_large(self, step: Step, aval: Aval, other: Aval) -> bool:
        """Return whether a result fits where an operand lies; a list is as long with another row."""
        if aval.is_static and other.is_static:
            return aval.nbytes == other.nbytes
        return writes_row(step) and is_list(other) and (aval.shape or ())[1:] == (other.shape or ())[1:]

    def product(self, step: GemmStep, scope: Scope) -> list[str]:
        """The line that has a product of matrices computed, as it is outside of kernels."""
        given = [scope.avals[k] for k in (*step.inputs, *step.outputs)]
        if not all(aval.is_static for aval in given) or (given[2].nbytes or 0) > 4 * SMALL:
            raise Unfit
        shapes = tuple([cast("tuple[int, ...]", aval.shape) for aval in given])
        *batch, m, n = shapes[2]
        k, dtype = shapes[0][-2 if step.transpose_a else -1], given[0].dtype.name
        item = gemm_size(dtype)
        operands = [scope.at(k) for k in step.inputs]
        scope.number[step.outputs[0]] = result = self.keep(given[2])
        few = not batch and min(m, n) == 1 and max(m, n) <= FEW_SUMS and 1 <= k <= FEW_SUMS
        if few and vector_bits() and dtype in render.FLOATS:
            self.cost += 4.0 + 0.1 * m * n * k
            turned = step.transpose_b if m == 1 else not step.transpose_a
            matrix, vector = operands[::-1] if m == 1 else operands
            return self.by_rows(matrix, vector, result, max(m, n), k, turned)
        self.cost += gemm_cost(batch, m, n, k, item)
        units = math.prod(batch) * gemm_shards(batch, m, n, k, item)[0]
        i = len(self.products)
        self.products.append(replace(step, inputs=tuple(operands), outputs=(result,), shapes=shapes))
        self.imports.add("product")
        slots = ", ".join([self.buffer(k) for k in (*operands, result)])
        return [f"product(f{i}, g{i}, {slots}, {units})"]

    def by_rows(self, matrix: int, vector: int, result: int, m: int, k: int, rows: bool) -> list[str]:
        """The lines that compute m sums of k products in order, a lane each; `rows`: a sum's factors lie in a row."""
        self.n_parts += 1
        i, name = f"r{self.n_parts}", f"m{self.n_parts}"
        kind, source = self.aval(matrix).dtype.name, self.buffer(matrix)
        if rows and (matrix in self.constants or self.n_carried <= matrix < self.n_operands):
            # It is the same in every iteration: turned before the first.
            self.imports.add(f"local_{kind}")
            self.head += [f"{name} = local_{kind}({m * k})", f"for {i} in range({m}):"]
            self.head.append(f"    for {name}k in range({k}):")
            self.head.append(f"        {name}[{name}k * {m} + {i}] = {source}[{i} * {k} + {name}k]")
            source, rows = name, False
        self.imports.add(f"muladd_{kind}")
        lines = [f"{name}v{p} = {self.buffer(vector)}[{p}]" for p in range(k)]
        lines += [f"for {i} in range({m}):", f"    {name}s = {kind}(0)"]
        for p in range(k):
            place = f"{i} * {k} + {p}" if rows else f"{p * m} + {i}"
            lines.append(f"    {name}s = muladd_{kind}({source}[{place}], {name}v{p}, {name}s)")
        return [*lines, f"    {self.buffer(result)}[{i}] = {name}s"]

    def nested(
        self,
        program: Program,
        given: Sequence[int],
        owned: frozenset[int] = frozenset(),
        handed: Mapping[int, tuple[bool, bool]] | None = None,
    ) -> tuple[list[int], list[str]]:
        """`inline` for a program whose operands stay as they are, but for those `owned` and rows of those `handed`."""
        around = self.fixed, self.handed
        self.fixed, self.handed = self.fixed | frozenset(given), dict(handed or {})
        try:
            return self.inline(program, given, owned)
        finally:
            self.fixed, self.handed = around

    def branches(self, step: CondStep, scope: Scope, free: Mapping[int, tuple[bool, bool]]) -> list[str]:
        """The lines of a cond. A list that both branches hand on, perhaps with other rows, stays where it is."""
        predicate, *operands = [scope.at(k) for k in step.inputs]
        handed = {own: free[k] for k, own in zip(step.inputs[1:], operands, strict=True) if k in free}
        handed = {own: rows for own, rows in handed.items() if self.is_long(own) and operands.count(own) == 1}
        blocks = [self.nested(each, operands, handed=handed) for each in (step.then_program, step.else_program)]
        for k, *values in zip(step.outputs, *[found for found, _ in blocks], strict=True):
            if values[0] == values[1] and values[0] in handed:
                scope.number[k] = values[0]
                continue
            if not scope.avals[k].is_static:
                raise Unfit
            scope.number[k] = self.keep(scope.avals[k])
            for value, (_, text) in zip(values, blocks, strict=True):
                text += self.copied(value, scope.number[k])
        lines: list[str] = []
        for header, (_, text) in zip((f"if {self.buffer(predicate)}[0] != 0:", "else:"), blocks, strict=True):
            lines += [header, *["    " + line for line in text or ["pass"]]]
        return lines

    def loop_inside(self, step: WhileStep, scope: Scope, free: Mapping[int, tuple[bool, bool]]) -> list[str]:
        """The lines of a loop in the body: if it takes long, the iteration is left to the executor.

        Rows of a list are written where it is.
        """
        n = step.n_carried
        if len(step.outputs) != n or len(step.cond_program.steps) + len(step.body_program.steps) > MAX_STEPS:
            raise Unfit
        self.inner = True
        lines: list[str] = []
        operands = [scope.at(k) for k in step.inputs]
        states = []
        handed = {}
        for k, taken, source in zip(step.outputs, step.inputs, operands[:n], strict=False):
            if self.is_long(source) and taken in free and operands.count(source) == 1:
                scope.number[k] = source
                handed[source] = True, free[taken][1]  # the next iteration may stop
            elif not scope.avals[k].is_static or scope.avals[k].dtype.name in _UNFIT:
                raise Unfit
            else:
                scope.number[k] = self.keep(scope.avals[k])
                lines += self.copied(source, scope.number[k])
            states.append(scope.number[k])
        given = [*states, *operands[n:]]
        before = self.cost
        (goes_on,), text = self.nested(step.cond_program, given)
        inside = [*text, f"if {self.buffer(goes_on)}[0] == 0:", "    break"]
        inside += [f"left = left - {MOST // 16 if step.iterates else 1}", "if left < 0:", "    return 0"]
        after, text = self.nested(step.body_program, given, handed=handed)
        inside += [*text, *self.moved(after, states)]
        self.cost = before + 8 * (self.cost - before)
        return [*lines, "while True:", *["    " + line for line in inside]]


def _indented(line: str, instead: Sequence[str]) -> list[str]:
    """`instead` of a line that returns, as far to the right; nothing for other lines."""
    return [line.replace("return 0", each) for each in instead] if line.strip() == "return 0" else []
