"""Square blocks turned in vector registers, as a typed intrinsic that transposing kernels call.

Rule: imported only where kernels are compiled (it imports Numba); this file's text is part of every kernel's key.

A block of n rows is n vector loads, n * log2(n) shuffles of two vectors and n vector stores: in step s the halves of
rows r and r + s that lie across the diagonal change places, for s = 1, 2, 4, ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from fastgraph.compiler.program.kernel_spec import SIDES

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing.context import Context
    from numba.core.typing.templates import Signature

    from fastgraph.compiler.cpu.intrinsics import Elements

_I32 = ir.IntType(32)


def _turned(builder: ir.IRBuilder, rows: list[ir.Value]) -> list[ir.Value]:
    """The columns of a square block of vectors."""
    n, step = len(rows), 1
    while step < n:
        upper = [c if not c & step else n + c - step for c in range(n)]
        lower = [c + step if not c & step else n + c for c in range(n)]
        masks = [ir.Constant(ir.VectorType(_I32, n), picked) for picked in (upper, lower)]
        made = list(rows)
        for r in range(n):
            if not r & step:
                made[r], made[r + step] = [builder.shuffle_vector(rows[r], rows[r + step], mask) for mask in masks]
        rows, step = made, 2 * step
    return rows


@intrinsic
def turned_block(
    typingctx: Context,
    local: Elements,
    to: types.Type,
    width: types.Type,
    source: Elements,
    at: types.Type,
    step: types.Type,
) -> Any:
    """local[to + c * width + r] = source[at + r * step + c] for all r and c below the side of a block."""
    bits = 8 * {"complex64": 8}.get(str(source.dtype), getattr(source.dtype, "bitwidth", 0) // 8)
    n = SIDES[bits // 8]
    element = ir.FloatType() if bits == 32 else ir.DoubleType() if bits == 64 else ir.IntType(bits)
    vector = ir.VectorType(element, n)

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        target, first, across, values, begin, apart = args

        def place(base: ir.Value, index: ir.Value) -> ir.Value:
            return builder.bitcast(cgutils.gep(builder, base, index), vector.as_pointer())

        def moved(begin: ir.Value, apart: ir.Value, k: int) -> ir.Value:
            return builder.add(begin, builder.mul(apart, ir.Constant(apart.type, k)))

        rows = []
        for r in range(n):
            rows.append(builder.load(place(values, moved(begin, apart, r))))
            rows[-1].align = bits // 8
        for c, column in enumerate(_turned(builder, rows)):
            builder.store(column, place(target, moved(first, across, c))).align = bits // 8
        return context.get_dummy_value()

    return types.void(local, types.int64, types.int64, source, types.int64, types.int64), codegen


FUNCTIONS = {"turned_block": turned_block}
