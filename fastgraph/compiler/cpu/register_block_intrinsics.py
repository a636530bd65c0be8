"""Blocks of sums of products kept in vector registers, as typed intrinsics that kernels of convolutions call.

Rule: imported only where kernels are compiled (it imports Numba); this file's text is part of every kernel's key.

A block is P x V vectors: `P` numbers of one operand, each broadcast, times `V` vectors of the other, added up in nested
loops. All sums stay in registers until the end, so an iteration of the innermost loop is P + V loads and
P * V fused multiply-adds; LLVM left to itself stores and loads sums in between.

Where a row has fewer numbers than a vector has lanes, its lanes are different terms of one sum instead: P runs of one
operand, each times R runs of the other, whose lanes are added up at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from fastgraph.compiler.cpu.target import host

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing.context import Context
    from numba.core.typing.templates import Signature

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_POINTER: Any = types.CPointer(types.float32)


@intrinsic
def pointer_float32(typingctx: Context, array: types.Type, index: types.Type) -> Any:
    """The address of an element of a buffer or of a kernel's own array."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return cgutils.gep(builder, args[0], args[1])

    return _POINTER(array, types.int64), codegen


class _Loads:
    """Vector loads, stores and multiply-adds of one width; the last vector of a row may be a part of one."""

    def __init__(self, builder: ir.IRBuilder, lanes: int, tail: int) -> None:
        self.builder = builder
        self.lanes = lanes
        self.tail = tail
        self.vector = ir.VectorType(ir.FloatType(), lanes)
        self.zero = ir.Constant(self.vector, [0.0] * lanes)
        self.fused = host().fused

    def _function(self, name: str, result: ir.Type, arguments: list[ir.Type]) -> ir.Function:
        kind = ir.FunctionType(result, arguments)
        return cgutils.get_or_insert_function(self.builder.module, kind, name)

    def _mask(self) -> ir.Value:
        return ir.Constant(ir.VectorType(ir.IntType(1), self.lanes), [int(i < self.tail) for i in range(self.lanes)])

    def load(self, address: ir.Value, last: bool) -> ir.Value:
        """A vector at `address`; lanes behind the end of the row are 0 and are not read."""
        b = self.builder
        place = b.bitcast(address, self.vector.as_pointer())
        if not last or self.tail == self.lanes:
            found = b.load(place)
            found.align = 4
            return found
        mask = self._mask()
        name = f"llvm.masked.load.v{self.lanes}f32.p0"
        function = self._function(name, self.vector, [place.type, _I32, mask.type, self.vector])
        return b.call(function, [place, ir.Constant(_I32, 4), mask, self.zero])

    def load_some(self, address: ir.Value, count: ir.Value) -> ir.Value:
        """The first `count` (a number of run time) elements of a vector; the other lanes are 0 and are not read."""
        b = self.builder
        place = b.bitcast(address, self.vector.as_pointer())
        numbers = ir.VectorType(_I64, self.lanes)
        one = b.insert_element(ir.Constant(numbers, ir.Undefined), count, ir.Constant(_I32, 0))
        everywhere = ir.Constant(ir.VectorType(_I32, self.lanes), [0] * self.lanes)
        counts = b.shuffle_vector(one, ir.Constant(numbers, ir.Undefined), everywhere)
        mask = b.icmp_signed("<", ir.Constant(numbers, list(range(self.lanes))), counts)
        name = f"llvm.masked.load.v{self.lanes}f32.p0"
        function = self._function(name, self.vector, [place.type, _I32, mask.type, self.vector])
        return b.call(function, [place, ir.Constant(_I32, 4), mask, self.zero])

    def totals(self, sums: list[ir.Value]) -> list[ir.Value]:
        """The sum of the lanes of each vector, side by side in as few vectors, in pairs of neighbours."""
        picked = [
            ir.Constant(ir.VectorType(_I32, self.lanes), list(range(first, 2 * self.lanes, 2))) for first in (0, 1)
        ]
        found = []
        for k in range(0, len(sums), self.lanes):
            level = sums[k : k + self.lanes]
            level += [self.zero] * (self.lanes - len(level))
            while len(level) > 1:
                pairs = zip(level[::2], level[1::2], strict=True)
                level = [self.builder.fadd(*[self.builder.shuffle_vector(a, b, m) for m in picked]) for a, b in pairs]
            found += level
        return found

    def store(self, value: ir.Value, address: ir.Value, last: bool) -> None:
        """Write a vector, up to the end of the row."""
        b = self.builder
        place = b.bitcast(address, self.vector.as_pointer())
        if not last or self.tail == self.lanes:
            b.store(value, place).align = 4
            return
        mask = self._mask()
        name = f"llvm.masked.store.v{self.lanes}f32.p0"
        function = self._function(name, ir.VoidType(), [self.vector, place.type, _I32, mask.type])
        b.call(function, [value, place, ir.Constant(_I32, 4), mask])

    def broadcast(self, address: ir.Value) -> ir.Value:
        """One number in all lanes."""
        b = self.builder
        undefined = ir.Constant(self.vector, ir.Undefined)
        one = b.insert_element(undefined, b.load(address), ir.Constant(_I32, 0))
        lanes = ir.Constant(ir.VectorType(_I32, self.lanes), [0] * self.lanes)
        return b.shuffle_vector(one, undefined, lanes)

    def rectified(self, value: ir.Value) -> ir.Value:
        """The larger of a vector and 0; NaN stays."""
        return self.builder.select(self.builder.fcmp_ordered("<", value, self.zero), self.zero, value)

    def multiply_add(self, x: ir.Value, y: ir.Value, total: ir.Value) -> ir.Value:
        """x * y + total."""
        if not self.fused:  # without the instruction it would be a call into the maths library
            return self.builder.fadd(self.builder.fmul(x, y), total)
        name = f"llvm.fma.v{self.lanes}f32"
        function = self._function(name, self.vector, [self.vector] * 3)
        return self.builder.call(function, [x, y, total])


def _loop(
    builder: ir.IRBuilder,
    count: ir.Value,
    pointers: list[tuple[ir.Value, ir.Value]],
    sums: list[ir.Value],
    body: Callable[[list[ir.Value], list[ir.Value]], list[ir.Value]],
) -> list[ir.Value]:
    """`count` times `body(pointers, sums)`, each pointer moving on by its step; the sums after that."""
    entry = builder.block
    head = builder.append_basic_block("block.loop")
    inside = builder.append_basic_block("block.body")
    done = builder.append_basic_block("block.done")
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(_I64)
    at = [builder.phi(p.type) for p, _ in pointers]
    totals = [builder.phi(s.type) for s in sums]
    index.add_incoming(ir.Constant(_I64, 0), entry)
    for phi, (first, _) in zip(at, pointers, strict=True):
        phi.add_incoming(first, entry)
    for phi, first in zip(totals, sums, strict=True):
        phi.add_incoming(first, entry)
    builder.cbranch(builder.icmp_signed("<", index, count), inside, done)
    builder.position_at_end(inside)
    new = body(at, totals)
    index.add_incoming(builder.add(index, ir.Constant(_I64, 1)), builder.block)
    for phi, (_, step) in zip(at, pointers, strict=True):
        phi.add_incoming(builder.gep(phi, [step]), builder.block)
    for phi, total in zip(totals, new, strict=True):
        phi.add_incoming(total, builder.block)
    builder.branch(head)
    builder.position_at_end(done)
    return totals


@intrinsic(prefer_literal=True)
def block_float32(
    typingctx: Context,
    shape: types.Tuple,
    x: types.Type,
    y: types.Type,
    out: types.Type,
    also: types.Type,
    x_step: types.Type,
    out_step: types.Type,
    loops: types.Tuple,
) -> Any:
    """out[p * out_step + v] = sum of x[p * x_step + ...] * y[v + ...] over `loops`, and what is added to it.

    `shape` is a tuple of literals (P, V, lanes, lanes of the last vector, sums side by side, ending); the ending is 0:
    nothing, 1: plus what is there, 2: plus also[v], 3: relu of that. `loops` is a tuple of (count, step of x, step of
    y), three numbers for each loop, the outermost first.
    """
    n_p, n_v, lanes, tail, width, ending = [t.literal_value for t in shape.types]
    n_loops = len(loops.types) // 3
    signature = types.void(shape, *[_POINTER] * 4, *[types.int64] * 2, types.UniTuple(types.int64, 3 * n_loops))

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        _, x0, y0, out0, also, x_by, out_by, packed = args
        numbers = [builder.extract_value(packed, i) for i in range(3 * n_loops)]
        levels = [numbers[3 * i : 3 * i + 3] for i in range(n_loops)]
        unit = _Loads(builder, lanes, tail)
        offsets = [builder.mul(x_by, ir.Constant(_I64, p)) for p in range(n_p)]

        def step(at: list[Any], sums: list[Any]) -> list[Any]:
            x_at, y_at = at
            vectors = [unit.load(builder.gep(y_at, [ir.Constant(_I64, v * lanes)]), v == n_v - 1) for v in range(n_v)]
            found = []
            for p in range(n_p):
                number = unit.broadcast(builder.gep(x_at, [offsets[p]]))
                found += [unit.multiply_add(number, vectors[v], sums[p * n_v + v]) for v in range(n_v)]
            return found

        def innermost(at: list[Any], sums: list[Any]) -> list[Any]:
            count, x_by_one, y_by_one = levels[-1]
            pointers = [(at[0], x_by_one), (at[1], y_by_one)]
            if width == 1:
                return _loop(builder, count, pointers, sums, step)
            # Few sums would wait for one another: `width` sets of them take turns.
            own = n_p * n_v
            turns = builder.sdiv(count, ir.Constant(_I64, width))
            wide = [(p, builder.mul(by, ir.Constant(_I64, width))) for p, by in pointers]

            def several(at: list[Any], sums: list[Any]) -> list[Any]:
                found = []
                for k in range(width):
                    here = [
                        builder.gep(a, [builder.mul(by, ir.Constant(_I64, k))])
                        for a, (_, by) in zip(at, pointers, strict=True)
                    ]
                    found += step(here, sums[k * own : (k + 1) * own])
                return found

            sums = _loop(builder, turns, wide, sums, several)
            done = builder.mul(turns, ir.Constant(_I64, width))
            rest = [(builder.gep(p, [builder.mul(by, done)]), by) for p, by in pointers]
            first = _loop(builder, builder.sub(count, done), rest, sums[:own], step)
            return [*first, *sums[own:]]

        def level(k: int) -> Any:
            if k == n_loops - 1:
                return innermost

            def outer(at: list[Any], sums: list[Any]) -> list[Any]:
                count, x_by_one, y_by_one = levels[k]
                return _loop(builder, count, [(at[0], x_by_one), (at[1], y_by_one)], sums, level(k + 1))

            return outer

        sums = level(0)([x0, y0], [unit.zero] * (n_p * n_v * width))
        own = n_p * n_v
        totals = sums[:own]
        for k in range(1, width):
            totals = [builder.fadd(a, b) for a, b in zip(totals, sums[k * own : (k + 1) * own], strict=True)]
        bias = []
        if ending > 1:
            places = [builder.gep(also, [ir.Constant(_I64, v * lanes)]) for v in range(n_v)]
            bias = [unit.load(place, v == n_v - 1) for v, place in enumerate(places)]
        for p in range(n_p):
            row = builder.gep(out0, [builder.mul(out_by, ir.Constant(_I64, p))])
            for v in range(n_v):
                place = builder.gep(row, [ir.Constant(_I64, v * lanes)])
                total = totals[p * n_v + v]
                if ending == 1:
                    total = builder.fadd(unit.load(place, v == n_v - 1), total)
                elif ending:
                    total = builder.fadd(total, bias[v])
                if ending == 3:
                    total = unit.rectified(total)
                unit.store(total, place, v == n_v - 1)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic(prefer_literal=True)
def few_float32(
    typingctx: Context,
    shape: types.Tuple,
    x: types.Type,
    y: types.Type,
    out: types.Type,
    also: types.Type,
    x_step: types.Type,
    out_step: types.Type,
    run: types.Type,
    loops: types.Tuple,
) -> Any:
    """out[p * out_step + r] = sum of x[p * x_step + e + ...] * y[r * run + e + ...] over e < run and `loops`.

    `shape` is a tuple of literals (P, R, lanes, ending, whether the results lie side by side); `loops` and the ending
    are those of `block_float32`, but nothing is added to what is there.
    """
    n_p, n_r, lanes, ending, side_by_side = [t.literal_value for t in shape.types]
    n_loops = len(loops.types) // 3
    signature = types.void(shape, *[_POINTER] * 4, *[types.int64] * 3, types.UniTuple(types.int64, 3 * n_loops))

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        _, x0, y0, out0, also, x_by, out_by, run, packed = args
        numbers = [builder.extract_value(packed, i) for i in range(3 * n_loops)]
        levels = [numbers[3 * i : 3 * i + 3] for i in range(n_loops)]
        unit = _Loads(builder, lanes, (n_p * n_r - 1) % lanes + 1)
        number = lambda n: ir.Constant(_I64, n)
        x_offsets = [builder.mul(x_by, number(p)) for p in range(n_p)]
        y_offsets = [builder.mul(run, number(r)) for r in range(n_r)]
        whole, rest = builder.sdiv(run, number(lanes)), builder.srem(run, number(lanes))
        partly = builder.zext(builder.icmp_signed(">", rest, number(0)), _I64)

        def step(at: list[ir.Value], sums: list[ir.Value], load: Callable[[ir.Value], ir.Value]) -> list[ir.Value]:
            x_at, y_at = at
            vectors = [load(builder.gep(y_at, [offset])) for offset in y_offsets]
            found = []
            for p, offset in enumerate(x_offsets):
                one = load(builder.gep(x_at, [offset]))
                found += [unit.multiply_add(one, v, sums[p * n_r + r]) for r, v in enumerate(vectors)]
            return found

        def innermost(at: list[Any], sums: list[Any]) -> list[Any]:
            by = number(lanes)
            full = lambda at, sums: step(at, sums, lambda address: unit.load(address, False))
            sums = _loop(builder, whole, [(at[0], by), (at[1], by)], sums, full)
            done = builder.mul(whole, by)
            left = [(builder.gep(p, [done]), by) for p in at]
            some = lambda at, sums: step(at, sums, lambda address: unit.load_some(address, rest))
            return _loop(builder, partly, left, sums, some)

        def level(k: int) -> Any:
            if k == n_loops:
                return innermost

            def outer(at: list[Any], sums: list[Any]) -> list[Any]:
                count, x_by_one, y_by_one = levels[k]
                return _loop(builder, count, [(at[0], x_by_one), (at[1], y_by_one)], sums, level(k + 1))

            return outer

        totals = unit.totals(level(0)([x0, y0], [unit.zero] * (n_p * n_r)))
        bias = unit.zero
        for r in range(n_r if ending > 1 else 0):
            bias = builder.insert_element(bias, builder.load(builder.gep(also, [number(r)])), ir.Constant(_I32, r))
        for k, total in enumerate(totals):
            if ending > 1:
                channels = [(k * lanes + lane) % n_r for lane in range(lanes)]
                mask = ir.Constant(ir.VectorType(_I32, lanes), channels)
                total = builder.fadd(total, builder.shuffle_vector(bias, unit.zero, mask))
            if ending == 3:
                total = unit.rectified(total)
            if side_by_side:
                unit.store(total, builder.gep(out0, [number(k * lanes)]), k == len(totals) - 1)
                continue
            for lane in range(min(lanes, n_p * n_r - k * lanes)):
                p, r = divmod(k * lanes + lane, n_r)
                place = builder.gep(out0, [builder.add(builder.mul(out_by, number(p)), number(r))])
                builder.store(builder.extract_element(total, ir.Constant(_I32, lane)), place)
        return context.get_dummy_value()

    return signature, codegen


def _within(builder: ir.IRBuilder, low: ir.Value, column: int, high: ir.Value) -> ir.Value:
    number = ir.Constant(_I64, column)
    return builder.and_(builder.icmp_signed("<=", low, number), builder.icmp_signed("<", number, high))


@intrinsic(prefer_literal=True)
def apart_float32(
    typingctx: Context,
    shape: types.Tuple,
    x: types.Type,
    nothing: types.Type,
    w: types.Type,
    out: types.Type,
    also: types.Type,
    x_step: types.Type,
    w_step: types.Type,
    rows: types.Type,
    x_row: types.Type,
    w_row: types.Type,
    low: types.Type,
    high: types.Type,
) -> Any:
    """out[p * x_step + v] = sum over r < rows, t of x[r * x_row + column * x_step + v] * w[r * w_row + t * w_step + v].

    `shape` is a tuple of literals (P, taps of a row, lanes, stride, dilation, ending as `block_float32`'s); a column is
    p * stride + t * dilation, and those outside [low, high) are read from the vector `nothing`. A column is loaded
    once for all that it is a part of.
    """
    n_p, taps, lanes, stride, dilation, ending = [t.literal_value for t in shape.types]
    signature = types.void(shape, *[_POINTER] * 5, *[types.int64] * 7)
    columns = sorted({p * stride + t * dilation for p in range(n_p) for t in range(taps)})

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        _, x0, nothing, w0, out0, also, x_by, w_by, rows, x_row, w_row, low, high = args
        unit = _Loads(builder, lanes, lanes)
        number = lambda n: ir.Constant(_I64, n)
        offsets = [builder.mul(x_by, number(column)) for column in columns]
        inside = [
            builder.and_(builder.icmp_signed("<=", low, number(column)), builder.icmp_signed("<", number(column), high))
            for column in columns
        ]

        def step(at: list[ir.Value], sums: list[ir.Value]) -> list[ir.Value]:
            x_at, w_at = at
            found = list(sums)
            weights = [unit.load(builder.gep(w_at, [builder.mul(w_by, number(t))]), False) for t in range(taps)]
            for column, offset, is_inside in zip(columns, offsets, inside, strict=True):
                value = unit.load(builder.select(is_inside, builder.gep(x_at, [offset]), nothing), False)
                for p in range(n_p):
                    t, apart = divmod(column - p * stride, dilation)
                    if not apart and 0 <= t < taps:
                        found[p] = unit.multiply_add(value, weights[t], found[p])
            return found

        totals = _loop(builder, rows, [(x0, x_row), (w0, w_row)], [unit.zero] * n_p, step)
        bias = unit.load(also, False) if ending > 1 else None
        for p, total in enumerate(totals):
            if bias is not None:
                total = builder.fadd(total, bias)
            if ending == 3:
                total = unit.rectified(total)
            unit.store(total, builder.gep(out0, [builder.mul(x_by, number(p))]), False)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic(prefer_literal=True)
def apart_gradient_float32(
    typingctx: Context,
    shape: types.Tuple,
    x: types.Type,
    nothing: types.Type,
    dy: types.Type,
    out: types.Type,
    step: types.Type,
    rows: types.Type,
    x_row: types.Type,
    out_row: types.Type,
    low: types.Type,
    high: types.Type,
) -> Any:
    """out[r * out_row + t * step + v] += sum over p of x[r * x_row + column * step + v] * dy[p * step + v], r < rows.

    `shape` is a tuple of literals (P, taps of a row, lanes, lanes that there are, stride, dilation); columns are those
    of `apart_float32`.
    """
    n_p, taps, lanes, tail, stride, dilation = [t.literal_value for t in shape.types]
    signature = types.void(shape, *[_POINTER] * 4, *[types.int64] * 6)
    columns = sorted({p * stride + t * dilation for p in range(n_p) for t in range(taps)})

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        _, x0, nothing, dy, out0, by, rows, x_row, out_row, low, high = args
        unit = _Loads(builder, lanes, tail)
        at = lambda place, k: builder.gep(place, [builder.mul(by, ir.Constant(_I64, k))])
        inside = [_within(builder, low, column, high) for column in columns]
        back = [unit.load(at(dy, p), True) for p in range(n_p)]

        def body(places: list[ir.Value], sums: list[ir.Value]) -> list[ir.Value]:
            x_at, out_at = places
            found = [unit.load(at(out_at, t), True) for t in range(taps)]
            for column, is_inside in zip(columns, inside, strict=True):
                value = unit.load(builder.select(is_inside, at(x_at, column), nothing), True)
                for p in range(n_p):
                    t, apart = divmod(column - p * stride, dilation)
                    if not apart and 0 <= t < taps:
                        found[t] = unit.multiply_add(value, back[p], found[t])
            for t, total in enumerate(found):
                unit.store(total, at(out_at, t), True)
            return sums

        _loop(builder, rows, [(x0, x_row), (out0, out_row)], [], body)
        return context.get_dummy_value()

    return signature, codegen


#: Intrinsics that kernels may call, by name.
FUNCTIONS: dict[str, Any] = {
    "pointer_float32": pointer_float32,
    "block_float32": block_float32,
    "few_float32": few_float32,
    "apart_float32": apart_float32,
    "apart_gradient_float32": apart_gradient_float32,
}
