"""Source text of single operations, literals, casts and foldings, as njit kernels have them.

Rule: the text has exactly the dtype asked for, in Numba and in plain NumPy scalars alike: half floats are float32
values rounded after each operation, bool is a truth value, every other dtype is itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from fastgraph.compiler.nest.scalar_ir import Scalar
from fastgraph.core.base import expr

HALVES = ("float16", "bfloat16")
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^"}
_COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
FLOATS = ("float32", "float64")
# In these, arithmetic on two numbers of the dtype gives the dtype again, with Numba and with NumPy: no cast is written.
_CLOSED = frozenset({*FLOATS, "int64", "uint64"})

Call = Callable[..., str]  # (name, *arguments) -> text; notes the import


def kernel(buffers: Iterable[str], sizes: Iterable[str], lines: Iterable[str]) -> str:
    """The source of a kernel: the names of its slots and of its run-time numbers, then its lines."""
    head = [f"{name} = buffers[{k}]" for k, name in enumerate(buffers)]
    head += [f"{name} = sizes[{k}]" for k, name in enumerate(sizes)]
    whole = [*head, *lines, "return 0"]
    return "def kernel(buffers, sizes, begin, end):\n" + "".join(f"    {line}\n" for line in whole)


def storage(dtype: str) -> str:
    """The element type of a buffer: bool travels as uint8, half floats as uint16."""
    return "uint8" if dtype == "bool" else "uint16" if dtype in HALVES else dtype


def register(dtype: str) -> str:
    """The type a value of this dtype has between two operations."""
    return "float32" if dtype in HALVES else dtype


def number(value: complex, dtype: str) -> str:
    """A literal of a dtype."""
    kind = register(dtype)
    if kind == "bool":
        return str(bool(value))
    if kind in expr.PARTS:
        return f"{kind}(complex({_real(value.real)}, {_real(value.imag)}))"
    if kind not in FLOATS:
        return f"{kind}({int(value.real)})" if kind != "int64" else str(int(value.real))
    return f"{kind}({_real(value.real)})"


def _real(value: float) -> str:
    value = float(value)
    return repr(value) if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def loaded(text: str, dtype: str, call: Call) -> str:
    """An element as it comes from its buffer."""
    if dtype in HALVES:
        return call(f"cast_{dtype}_float32", text)
    return f"{text} != 0" if dtype == "bool" else text


def stored(value: str, dtype: str, call: Call) -> str:
    """An element as it goes to its buffer."""
    if dtype in HALVES:
        return call(f"cast_float32_{dtype}", value)
    return f"uint8({value})" if dtype == "bool" else value


def rounded(text: str, dtype: str, call: Call) -> str:
    """A float32 result as a value of a half float dtype; other dtypes are left alone."""
    return call(f"cast_{dtype}_float32", call(f"cast_float32_{dtype}", text)) if dtype in HALVES else text


def operation(term: Scalar, args: Sequence[str], call: Call) -> str:
    """An operation of the expression language over named operands."""
    op, dtype = term.op, term.dtype
    source = term.args[0].dtype
    kind = register(source)
    if op == "cast":
        return _cast(args[0], source, dtype, call)
    if op == "select":
        # Of a branch LLVM makes more: what only one side uses goes into it, loads too, and vectors load under masks.
        # Of numbers, which are no vectors, that may be right; places are too little for it.
        if term.free and dtype not in ("int64", "bool"):
            return call(f"select_{register(dtype)}", *args)
        return f"{args[1]} if {args[0]} else {args[2]}"
    if op in _COMPARE and source not in expr.PARTS:
        return f"{args[0]} {_COMPARE[op]} {args[1]}"
    if op in expr.PREDICATES or kind not in _CLOSED:
        if dtype == "bool" and op in ("and", "or", "xor"):
            return f"{args[0]} {_INFIX[op]} {args[1]}"
        return rounded(call(f"{op}_{kind}", *args), dtype, call)
    if op == "floordiv" and source in HALVES:  # the quotient is rounded before it is cut, as TensorFlow's is
        return call("floor_float32", rounded(f"{args[0]} / {args[1]}", source, call))
    if op in _INFIX:
        text = f"{args[0]} {_INFIX[op]} {args[1]}"
    elif op in ("neg", "not"):
        text = f"-{args[0]}" if op == "neg" else f"~{args[0]}"
    else:
        text = call(f"{op}_{kind}", *args)
    return rounded(text, dtype, call)


def _cast(text: str, source: str, target: str, call: Call) -> str:
    kind = register(source)
    if kind in expr.PARTS and target not in expr.PARTS:
        return _cast(call(f"real_{kind}", text), expr.PARTS[kind], target, call)
    if target in HALVES and kind not in ("float32", "bool"):
        # One rounding, not two: float64 and wide integers go straight to the half float.
        return call(f"cast_{target}_float32", call(f"cast_{kind}_{target}", text))
    goal = register(target)
    return rounded(text if kind == goal else call(f"cast_{kind}_{goal}", text), target, call)


@dataclass
class Fold:
    """One reduction as lines: before the loop, round each block of it, in its body, after it; and its result's name."""

    before: list[str]
    step: list[str]
    result: str
    block_before: list[str] = field(default_factory=list)
    block_after: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


def fold(
    kind: str,
    dtype: str,
    value: str,
    variable: str,
    cell: Callable[[str], str],
    local: Callable[[str], str],
    call: Call,
) -> Fold:
    """`value` of `dtype` combined over a loop. Sums of floats go in blocks: a narrow part per block, a wide total.

    `cell(dtype)` names what is kept from one iteration to the next, `local(dtype)` the result after the loop.
    """
    kept = register(dtype)
    real = kept in FLOATS
    if kind in ("argmax", "argmin"):
        best, total, sign = cell(kept), cell("int64"), ">" if kind == "argmax" else "<"
        before = [f"{best} = {edge(kind[3:], kept)}", f"{total} = 0"]
        return Fold(before, [f"if {value} {sign} {best}:", f"    {best} = {value}", f"    {total} = {variable}"], total)
    if kind == "sum" and (real or kept in expr.PARTS):
        wide = "float64" if real else "complex128"
        total, part, result = cell(wide), cell(kept), local(kept)
        step = call(f"fold_add_{kept}", part, value)
        more = _cast(part, kept, wide, call)
        return Fold(
            [f"{total} = {wide}(0)"],
            [f"{part} = {step}"],
            result,
            [f"{part} = {kept}(0)"],
            [f"{total} = {f'{total} + {more}' if real else call(f'add_{wide}', total, more)}"],
            [f"{result} = {total if dtype == wide else _cast(total, wide, dtype, call)}"],
        )
    if kind in ("sum", "prod"):
        total = cell(kept)
        op = "add" if kind == "sum" else "mul"
        if kept in _CLOSED and not real:
            step = f"{total} {_INFIX[op]} {value}"
        else:
            step = call(f"fold_mul_{kept}" if real else f"{op}_{kept}", total, value)
        after, result = [], total
        if dtype in HALVES:
            result = local(kept)
            after = [f"{result} = {rounded(total, dtype, call)}"]
        return Fold([f"{total} = {kept}({int(kind == 'prod')})"], [f"{total} = {step}"], result, after=after)
    if kind in ("any", "all"):
        total = cell(kept)
        step = f"{total} {'&' if kind == 'all' else '|'} {value}"
        return Fold([f"{total} = {kind == 'all'}"], [f"{total} = {step}"], total)
    if real:
        whole, result = "int64" if kept == "float64" else "int32", local(kept)
        total = cell(whole)
        before = [f"{total} = {call(f'rank_{kind}_{kept}', edge(kind, kept))}"]
        step = call(f"{kind}_{whole}", total, call(f"rank_{kind}_{kept}", value))
        return Fold(before, [f"{total} = {step}"], result, after=[f"{result} = {call(f'ranked_{kept}', total)}"])
    total = cell(kept)
    return Fold([f"{total} = {edge(kind, kept)}"], [f"{total} = {call(f'{kind}_{kept}', total, value)}"], total)


def edge(kind: str, dtype: str) -> str:
    """The value that every other of the dtype replaces: the start of a maximum or a minimum."""
    if dtype in FLOATS:
        return number(-math.inf if kind == "max" else math.inf, dtype)
    bits = int(dtype.lstrip("uint"))
    low, high = (0, 2**bits - 1) if dtype in expr.UNSIGNED else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return f"{dtype}({low if kind == 'max' else high})"
