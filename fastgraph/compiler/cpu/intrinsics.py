"""Extensions of Numba for what plain Python cannot say: typed buffer slots, and `functions` as typed intrinsics.

Rule: imported only where kernels are compiled (it imports Numba); this file's text is part of every kernel's key.

A function of `functions` is run once per call site, on `Lane`s that write LLVM IR as they are computed with. So it
costs neither Numba's front end nor an inlining decision, and it is straight-line code, which LLVM vectorises.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.core.typing.templates import AbstractTemplate, infer, infer_global
from numba.extending import intrinsic, lower_builtin, models, register_model

from fastgraph.compiler.cpu import complex_arithmetic, gamma_variates, register_block_intrinsics, transpose_intrinsics
from fastgraph.compiler.cpu.llvm_lanes import ComplexLane, Lane
from fastgraph.compiler.cpu.target import host
from fastgraph.compiler.vecmath import functions

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.datamodel.manager import DataModelManager
    from numba.core.typing.context import Context
    from numba.core.typing.templates import Signature


class Elements(types.Type):
    """A pointer to elements, read and written by their places."""

    def __init__(self, dtype: types.Type, name: str) -> None:
        self.dtype = dtype
        super().__init__(f"{name}({dtype})")


class Slot(Elements):
    """A pointer to the elements of buffer slot `number` of `count`."""

    def __init__(self, dtype: types.Type, number: int, count: int) -> None:
        self.number = number
        self.count = count
        super().__init__(dtype, f"slot{number}of{count}")


class Local(Elements):
    """A kernel's own array of a fixed length, on its stack."""

    def __init__(self, dtype: types.Type, length: int) -> None:
        self.length = length
        super().__init__(dtype, f"local{length}")


class Buffers(types.Type):
    """A kernel's `void** buffers`, indexed by literals."""

    def __init__(self, dtypes: tuple[types.Type, ...]) -> None:
        self.slots = tuple(Slot(dtype, i, len(dtypes)) for i, dtype in enumerate(dtypes))
        super().__init__(f"buffers({', '.join(map(str, dtypes))})")


@register_model(Slot)
@register_model(Local)
class _ElementsModel(models.PrimitiveModel):
    def __init__(self, dmm: DataModelManager, fe_type: Elements) -> None:
        super().__init__(dmm, fe_type, dmm.lookup(fe_type.dtype).get_data_type().as_pointer())


@register_model(Buffers)
class _BuffersModel(models.PrimitiveModel):
    def __init__(self, dmm: DataModelManager, fe_type: Buffers) -> None:
        super().__init__(dmm, fe_type, ir.IntType(8).as_pointer().as_pointer())


@infer
class _BuffersItem(AbstractTemplate):
    key = "static_getitem"

    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        buffers, index = args
        if isinstance(buffers, Buffers) and isinstance(index, int) and 0 <= index < len(buffers.slots):
            return buffers.slots[index](buffers, types.intp)
        return None


@infer_global(operator.getitem)
class _Read(AbstractTemplate):
    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        elements, index = args
        if isinstance(elements, Elements) and isinstance(index, types.Integer):
            return elements.dtype(elements, types.intp)
        return None


@infer_global(operator.setitem)
class _Write(AbstractTemplate):
    def generic(self, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        elements, index, _ = args
        if isinstance(elements, Elements) and isinstance(index, types.Integer):
            return types.none(elements, types.intp, elements.dtype)
        return None


@lower_builtin("static_getitem", Buffers, types.Any)
def _lower_buffers_item(
    context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]
) -> ir.Value:
    note_slots(builder, sig.args[0])
    pointer = builder.load(cgutils.gep(builder, args[0], args[1]))
    return builder.bitcast(pointer, context.get_value_type(sig.return_type))


def note_slots(builder: ir.IRBuilder, buffers: Buffers) -> None:
    """Say how many slots the module's kernel has, before its elements are read and written."""
    vars(builder.module)["_fastgraph_slots"] = len(buffers.slots)


def _promise_disjoint(instruction: ir.Instruction, elements: Elements) -> None:
    """Tell LLVM that slots are bound to disjoint memory, and that no array on the stack is a slot's.

    Without it every pair of pointers is compared before a loop may run vectorised, and from about eight comparisons
    LLVM does not vectorise at all; nor where it compares once for a loop outside whose steps go backwards.
    """
    # Each slot has many loads and stores. What was said of it is kept with the module, or that would live on with it.
    module, number = instruction.module, elements.number if isinstance(elements, Slot) else -1
    made: dict[int, Any] = vars(module).setdefault("_fastgraph_promises", {})
    if number not in made:
        domain = module.add_metadata(["fastgraph"])
        count = vars(module).get("_fastgraph_slots", 0)  # of functions that are handed a slot's elements: not known
        count = max(count, elements.count) if isinstance(elements, Slot) else count
        scopes = [module.add_metadata([f"fastgraph slot {i}", domain]) for i in range(count)]
        own = module.add_metadata([scopes.pop(number)]) if number >= 0 else None
        made[number] = own, module.add_metadata(scopes) if scopes else None
    for name, promise in zip(("alias.scope", "noalias"), made[number], strict=True):
        if promise is not None:
            instruction.set_metadata(name, promise)


@lower_builtin(operator.getitem, Elements, types.intp)
def _lower_read(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    loaded = builder.load(cgutils.gep(builder, *args))
    _promise_disjoint(loaded, sig.args[0])
    return context.data_model_manager[sig.return_type].from_data(builder, loaded)


@lower_builtin(operator.setitem, Elements, types.intp, types.Any)
def _lower_write(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
    data = context.data_model_manager[sig.args[2]].as_data(builder, args[2])
    _promise_disjoint(builder.store(data, cgutils.gep(builder, args[0], args[1])), sig.args[0])
    return context.get_dummy_value()


def _local_array(dtype: types.Type) -> Any:
    """`local_<dtype>(n)` with a literal n: an array of n elements that lives as long as the kernel's call."""

    @intrinsic(prefer_literal=True)
    def local(typingctx: Context, length: types.IntegerLiteral) -> Any:
        result = Local(dtype, length.literal_value)

        def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
            element = context.data_model_manager[dtype].get_data_type()
            return cgutils.alloca_once(builder, element, size=ir.Constant(ir.IntType(32), result.length))

        return result(length), codegen

    return local


@intrinsic
def product(
    typingctx: Context, function: types.Type, described: types.Type, a: Slot, b: Slot, c: Slot, units: types.Type
) -> Any:
    """Call the executor's function for products of matrices: its address, what it is to do, slots, how many units."""
    if not all(isinstance(slot, Slot) for slot in (a, b, c)):
        return None

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        number, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer] * 4 + [number] * 2)
        operands = [builder.bitcast(slot, pointer) for slot in args[2:5]]
        what = builder.inttoptr(args[1], pointer)
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), [what, *operands, ir.Constant(number, 0), args[5]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, a, b, c, types.int64), codegen


@intrinsic(prefer_literal=True)
def in_order(typingctx: Context, n: types.IntegerLiteral) -> Any:
    """Return whether LLVM's float sum adds n values one after another: there are more lanes in its vectors."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return ir.Constant(ir.IntType(1), int(n.literal_value < host().least_lanes))

    return types.boolean(n), codegen


# ---- the functions of vecmath and complexmath as intrinsics ----------------------------------------------------------

_NUMBER_TYPES = (*types.integer_domain, types.float32, types.float64, types.complex64, types.complex128)
_NUMBA_TYPES = {"bool": types.boolean, **{str(t): t for t in _NUMBER_TYPES}}


def _intrinsic(function: functions.Function) -> Any:
    """The intrinsic that writes `function` into the kernel: its operands are cast to the dtypes the name says."""
    result = _NUMBA_TYPES[function.result]
    operands = tuple(_NUMBA_TYPES[dtype] for dtype in function.operands)

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        lanes = [
            (ComplexLane.of if dtype in complex_arithmetic.PARTS else Lane)(builder, value, dtype)
            for value, dtype in zip(args, function.operands, strict=True)
        ]
        return function.body(*lanes).value

    def typed(typingctx: Context, *args: types.Type) -> Any:
        return result(*operands), codegen

    typed.__name__ = function.name
    # Numba reads the number of operands off the signature.
    names = ["typingctx", *(f"x{i}" for i in range(len(operands)))]
    typed.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    )
    return intrinsic(typed)


def _integer_power(dtype: str) -> Any:
    kind = getattr(np, dtype)
    signed = dtype in functions.SIGNED

    def power(a, b):  # type: ignore[no-untyped-def]
        """a**b, wrapping; a negative exponent (the op's error) gives the true result cut off."""
        base = kind(a)
        exponent = kind(b)
        if signed and exponent < kind(0):
            if base == kind(1):
                return kind(1)
            if base == kind(-1):
                return kind(-1) if exponent & kind(1) else kind(1)
            return kind(0)
        result = kind(1)
        while exponent:
            if exponent & kind(1):
                result = kind(result * base)
            base = kind(base * base)
            exponent = kind(exponent >> kind(1))
        return result

    return njit(error_model="numpy", forceinline=True)(power)


_NUMBERS = {**functions.functions(), **complex_arithmetic.functions()}
#: Where a tile of known width begins. Its name tells that the loops of a kernel become vectors as they stand.
_NUMBERS["tile_int64"] = functions.Function("tile_int64", ("int64", "int64"), "int64", functions.ARITHMETIC["min"])
_POWERS = {f"pow_{dtype}": dtype for dtype in functions.INTEGERS}
_LOCALS = {f"local_{dtype}": kind for dtype, kind in _NUMBA_TYPES.items()}


class _Functions(dict[str, Callable[..., Any]]):
    """Functions by name. Each is made when it is first asked for: a kernel calls a few of seven hundred."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        if name in _NUMBERS:
            self[name] = _intrinsic(_NUMBERS[name])
        elif name in _LOCALS:
            self[name] = _local_array(_LOCALS[name])
        elif name in _POWERS:
            self[name] = _integer_power(_POWERS[name])
        elif name == "random_gamma":
            self.update(gamma_variates.functions(self))
        else:
            raise KeyError(name)
        return self[name]


#: Every function a kernel may call, by the name it is called by.
FUNCTIONS = _Functions(
    {"in_order": in_order, "product": product, **register_block_intrinsics.FUNCTIONS, **transpose_intrinsics.FUNCTIONS}
)
