"""One element inside a kernel, as LLVM IR under construction: arithmetic on a `Lane` appends instructions.

Rule: every operation is defined for every operand (no undefined behaviour, no poison), has no branch, and stays a
vector instruction when LLVM runs many lanes side by side; `call`, `mostly` and `inside` are the exceptions and say so.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

from llvmlite import ir

from fastgraph.compiler.cpu.target import host
from fastgraph.core.native.lane_operators import LaneOperators

_TYPES: dict[str, Any] = {
    "bool": ir.IntType(1),
    **{f"{sign}int{bits}": ir.IntType(bits) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": ir.FloatType(),
    "float64": ir.DoubleType(),
}

#: LLVM's instructions by operators: of integers, of floats.
_INSTRUCTIONS: dict[str, tuple[str | None, str | None]] = {
    "+": ("add", "fadd"), "-": ("sub", "fsub"), "*": ("mul", "fmul"), "/": (None, "fdiv"), "&": ("and_", None),
    "|": ("or_", None), "^": ("xor", None), "<<": ("shl", None), ">>": ("lshr", None),
}  # fmt: skip
#: The beginning of the names of functions made by `Lane.mostly`. `object_code` makes them part of the loops that call
#: them, once these are vectorised.
MOSTLY = "fg_mostly_"
#: And those made by `Lane.apart`, which stay functions.
APART = "fg_apart_"


def is_float(dtype: str) -> bool:
    """Return whether lanes of `dtype` are floating point."""
    return dtype in ("float32", "float64")


def is_signed(dtype: str) -> bool:
    """Return whether lanes of `dtype` are signed integers."""
    return dtype.startswith("int")


def bits_of(dtype: str) -> int:
    """The width of `dtype` in bits (1 for bool)."""
    return 1 if dtype == "bool" else int(dtype.lstrip("uintfloa"))


@lru_cache(maxsize=2048)
def _constant(written: bytes | int, dtype: str, lanes: int) -> Any:
    """A number as LLVM's constant, or a vector of it. Kept, for llvmlite keeps its text with it, which is long in the
    making."""
    if isinstance(written, bytes):
        (number,) = struct.unpack("d", written)
    else:
        number = written & ((1 << bits_of(dtype)) - 1)
    kind = ir.VectorType(_TYPES[dtype], lanes) if lanes else _TYPES[dtype]
    return ir.Constant(kind, [number] * lanes if lanes else number)


class Lane(LaneOperators):
    """A value of one dtype ("bool", "int8" ... "uint64", "float32", "float64"); Python numbers take its dtype.

    Inside a `mostly` it may be a vector of such values; nothing but `any_` shows.
    """

    __slots__ = ("builder", "dtype", "value")

    def __init__(self, builder: ir.IRBuilder, value: ir.Value, dtype: str) -> None:
        self.builder = builder
        self.value = value
        self.dtype = dtype

    def constant(self, number: float, dtype: str | None = None) -> Lane:
        """`number` as a lane of `dtype` (this lane's if not given); integers wrap."""
        dtype = dtype or self.dtype
        written = struct.pack("d", number) if is_float(dtype) else int(number)  # its bits: -0.0 equals 0.0
        return Lane(self.builder, _constant(written, dtype, self._lanes), dtype)

    @property
    def _lanes(self) -> int:
        """The number of values in a vector; 0 for a single one."""
        return self.value.type.count if isinstance(self.value.type, ir.VectorType) else 0

    def _type(self, dtype: str) -> ir.Type:
        """LLVM's type of as many values of `dtype`."""
        return ir.VectorType(_TYPES[dtype], self._lanes) if self._lanes else _TYPES[dtype]

    def _lift(self, other: Lane | float) -> Lane:
        if not isinstance(other, Lane):
            return self.constant(other)
        if other.dtype != self.dtype:
            raise TypeError(f"lanes of {self.dtype} and {other.dtype} meet")
        return other

    def _make(self, value: ir.Value, dtype: str | None = None) -> Lane:
        return Lane(self.builder, value, dtype or self.dtype)

    def _binary(self, other: Lane | float, operator: str) -> Lane:
        integer, floating = _INSTRUCTIONS[operator]
        if operator == ">>" and is_signed(self.dtype):
            integer = "ashr"
        name = floating if is_float(self.dtype) else integer
        if name is None:
            raise TypeError(f"{operator} is not an operation of {self.dtype}")
        return self._make(getattr(self.builder, name)(self.value, self._lift(other).value))

    def __neg__(self) -> Lane:
        return self._make(self.builder.fneg(self.value)) if is_float(self.dtype) else self.constant(0) - self

    def __invert__(self) -> Lane:
        return self ^ -1

    def _compare(self, other: Lane | float, operator: str) -> Lane:
        right = self._lift(other).value
        if is_float(self.dtype):
            compare = self.builder.fcmp_unordered if operator == "!=" else self.builder.fcmp_ordered
        else:
            compare = self.builder.icmp_signed if is_signed(self.dtype) else self.builder.icmp_unsigned
        return self._make(compare(operator, self.value, right), "bool")

    def select(self, yes: Lane | float, no: Lane | float) -> Lane:
        """`yes` where this bool lane is true, else `no`; both are computed."""
        if not isinstance(yes, Lane):
            yes = cast(Lane, no).constant(yes)
        return self._make(self.builder.select(self.value, yes.value, yes._lift(no).value), yes.dtype)

    def quotient(self, other: Lane | float) -> Lane:
        """Integer division towards zero; the caller keeps out zero, and the smallest integer over -1."""
        divide = self.builder.sdiv if is_signed(self.dtype) else self.builder.udiv
        return self._make(divide(self.value, self._lift(other).value))

    def remainder(self, other: Lane | float) -> Lane:
        """The remainder that `quotient` leaves."""
        divide = self.builder.srem if is_signed(self.dtype) else self.builder.urem
        return self._make(divide(self.value, self._lift(other).value))

    def high_of_product(self, other: Lane) -> Lane:
        """The upper 64 of the 128 bits of a product of uint64 lanes that are single values."""
        wide = ir.IntType(128)
        product = self.builder.mul(self.builder.zext(self.value, wide), self.builder.zext(other.value, wide))
        high = self.builder.lshr(product, ir.Constant(wide, 64))
        return self._make(self.builder.trunc(high, _TYPES["uint64"]))

    def bytes_at(self, name: str, table: bytes, offset: int) -> Lane:
        """Eight bytes of a table, the lowest first, from the place that this (single) uint64 and `offset` give on."""
        module = self.builder.module
        kind = ir.ArrayType(ir.IntType(8), len(table))
        symbol = f"fg_table_{name}"
        variable = module.globals.get(symbol)
        if variable is None:
            variable = ir.GlobalVariable(module, kind, symbol)
            variable.global_constant, variable.linkage = True, "internal"
            variable.initializer = ir.Constant(kind, bytearray(table))
        place = self.builder.gep(variable, [_constant(0, "int64", 0), (self + offset).value])
        pointer = self.builder.bitcast(place, ir.IntType(64).as_pointer())
        return self._make(self.builder.load(pointer, align=1))

    # ---- LLVM's own functions of floats ----

    def _llvm(self, symbol: str, *others: Lane | float) -> Lane:
        value_type = self._type(self.dtype)
        args = [self.value, *(self._lift(o).value for o in others)]
        signature = ir.FunctionType(value_type, [value_type] * len(args))
        name = f"{symbol}.{f'v{self._lanes}' if self._lanes else ''}f{bits_of(self.dtype)}"
        function = self.builder.module.globals.get(name) or ir.Function(self.builder.module, signature, name)
        return self._make(self.builder.call(function, args))

    @property
    def fused(self) -> bool:
        """True if `muladd` rounds once."""
        return host().fused

    def muladd(self, factor: Lane | float, summand: Lane | float) -> Lane:
        """self * factor + summand: rounded once where the CPU can, else twice; the same in every lane on a machine."""
        return self._llvm("llvm.fmuladd", factor, summand)

    def rest_of_product(self, factor: Lane | float, product: Lane | float) -> Lane:
        """self * factor - product, as good as exactly, where `product` is that but for its last digits."""
        if self.fused:
            return self._llvm("llvm.fma", factor, -self._lift(product))
        if self.dtype == "float32":
            wide = self.to("float64") * self._lift(factor).to("float64")
            return (wide - self._lift(product).to("float64")).to("float32")
        a, a_low = self._halves()
        b, b_low = self._lift(factor)._halves()
        return ((a * b - product) + a * b_low + a_low * b) + a_low * b_low

    def _halves(self) -> tuple[Lane, Lane]:
        """Two numbers whose sum this float64 is, of 26 and 27 bits: their products are exact, but for the smallest."""
        high = (self.bits() & -(1 << 27)).from_bits()
        return high, self - high

    def _function(self, name: str, *others: Lane | float) -> Lane:
        return self._llvm(f"llvm.{name}", *others)

    def call(self, symbol: str, *others: Lane | float) -> Lane:
        """A function of libm ("sin" is sinf for float32): a scalar call, which keeps a loop from running vectorised."""
        value_type = _TYPES[self.dtype]
        args = [self.value, *(self._lift(o).value for o in others)]
        name = symbol + "f" if self.dtype == "float32" else symbol
        module = self.builder.module
        function = module.globals.get(name)
        if function is None:
            function = ir.Function(module, ir.FunctionType(value_type, [value_type] * len(args)), name)
            function.attributes.add("nounwind")
            function.attributes.add("readnone")
        return self._one_by_one(function, args)

    def _one_by_one(self, function: ir.Function, args: list[ir.Value]) -> Lane:
        """A function of single values, called for each lane."""
        if not self._lanes:
            return self._make(self.builder.call(function, args))
        result = ir.Constant(self.value.type, ir.Undefined)
        for k in range(self._lanes):
            at = ir.Constant(ir.IntType(32), k)
            one = self.builder.call(function, [self.builder.extract_element(x, at) for x in args])
            result = self.builder.insert_element(result, one, at)
        return self._make(result)

    def mostly(
        self,
        name: str,
        usual: Callable[..., tuple[Lane, Lane]],
        otherwise: Callable[..., Lane],
        *others: Lane,
        same: bool = False,
        rare: bool = True,
    ) -> Lane:
        """Lanes of usual(self, *others) where the bool it gives with them is true, else of otherwise(self, *others).

        A branch, taken where some lane of a vector does not fit. LLVM's vectoriser cannot branch like that. It sees the
        call of a function that it is told has forms for vectors (LLVM's "Vector Function ABI variants"), and the forms
        become part of the loop afterwards. The operands are of one dtype. `same`: `otherwise` gives the same bits where
        both do, so it alone serves for single values, the forms are of the longest vectors, and
        there is less to compile. `rare`: `otherwise` may work on the stack, so that registers are left to the others.
        """
        lanes = (self, *others)
        single, body = otherwise if same else None, _mostly(usual, otherwise, rare)
        function = _with_forms(self.builder.module, name, self.dtype, len(lanes), body, single)
        return self._make(self.builder.call(function, [lane.value for lane in lanes]))

    def inside(self, name: str, body: Callable[..., Lane], *others: Lane) -> Lane:
        """body(self, *others), a function with forms for vectors, as `mostly` makes them. There `only_where` and
        `repeated` have their branches. The operands are of one dtype."""
        lanes = (self, *others)
        function = _with_forms(self.builder.module, name, self.dtype, len(lanes), body)
        return self._make(self.builder.call(function, [lane.value for lane in lanes]))

    def only_where(self, body: Callable[[], Lane], otherwise: Lane, weights: Sequence[int] = ()) -> Lane:
        """Lanes of body() where this bool lane is true, else of `otherwise`. Nothing is computed where it never is.

        `weights`: how often it is somewhere, and how often it is not.
        """
        builder = self.builder
        here, inner, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
        branch = builder.cbranch(self.any_(), inner, after)
        if weights:
            branch.set_weights(weights)
        builder.position_at_end(inner)
        value = self.select(body(), otherwise)
        last = builder.block
        builder.branch(after)
        builder.position_at_end(after)
        result = builder.phi(value.value.type)
        result.add_incoming(otherwise.value, here)
        result.add_incoming(value.value, last)
        return value._make(result)

    def repeated(
        self, state: Sequence[Lane], step: Callable[..., tuple[Sequence[Lane], Lane]], most: int
    ) -> list[Lane]:
        """`state` after step(*state), which gives the next one, again and again: in each lane for as long as the bool
        given with it is true, if this bool lane is, and `most` times. What the others do changes no lane's bits."""
        builder, kind = self.builder, ir.IntType(32)
        here, body, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
        builder.cbranch(self.any_(), body, after)
        builder.position_at_end(body)
        going, count = builder.phi(self.value.type), builder.phi(kind)
        before = [lane._make(builder.phi(lane.value.type)) for lane in state]
        active = self._make(going)
        found, more = step(*before)
        kept = [active.select(new, old) for new, old in zip(found, before, strict=True)]
        still = active & more
        counted = builder.add(count, ir.Constant(kind, 1))
        again = builder.and_(still.any_(), builder.icmp_unsigned("<", counted, ir.Constant(kind, most)))
        last = builder.block
        builder.cbranch(again, body, after)
        values = [(self.value, going, still.value), (ir.Constant(kind, 0), count, counted)]
        values += [(a.value, b.value, c.value) for a, b, c in zip(state, before, kept, strict=True)]
        for first, phi, following in values:
            phi.add_incoming(first, here)
            phi.add_incoming(following, last)
        builder.position_at_end(after)
        results = [lane._make(builder.phi(lane.value.type)) for lane in state]
        for result, first, following in zip(results, state, kept, strict=True):
            result.value.add_incoming(first.value, here)
            result.value.add_incoming(following.value, last)
        return results

    def apart(self, name: str, body: Callable[[Lane], Lane]) -> Lane:
        """body(self), a function that is called for one value after another: for what is long, and rare."""
        module, kind = self.builder.module, _TYPES[self.dtype]
        symbol = f"{APART}{name}_{self.dtype}"
        function = module.globals.get(symbol)
        if function is None:
            function = ir.Function(module, ir.FunctionType(kind, [kind]), symbol)
            for attribute in ("cold", "noinline", "nounwind", "readnone"):
                function.attributes.add(attribute)
            builder = ir.IRBuilder(function.append_basic_block())
            builder.ret(body(Lane(builder, function.args[0], self.dtype)).value)
        return self._one_by_one(function, [self.value])

    def any_(self) -> ir.Value:
        """True where this bool lane is true, or some lane of it, as LLVM's truth value."""
        if not self._lanes:
            return self.value
        bits = ir.IntType(self._lanes)
        return self.builder.icmp_unsigned("!=", self.builder.bitcast(self.value, bits), ir.Constant(bits, 0))

    # ---- casts ----

    def bits(self) -> Lane:
        """The bits of a float as a signed integer of its width."""
        dtype = "int32" if self.dtype == "float32" else "int64"
        return self._make(self.builder.bitcast(self.value, self._type(dtype)), dtype)

    def from_bits(self) -> Lane:
        """The float whose bits this 32- or 64-bit integer is."""
        dtype = "float32" if bits_of(self.dtype) == 32 else "float64"
        return self._make(self.builder.bitcast(self.value, self._type(dtype)), dtype)

    def to(self, dtype: str) -> Lane:
        """A cast, defined for every value: integers wrap; a float that does not fit gives what x86-64 gives."""
        if dtype == self.dtype:
            return self
        if dtype == "bool":
            return self.differs(0)
        target = self._type(dtype)
        if is_float(self.dtype):
            return self._float_to(dtype)
        if is_float(dtype):
            convert = self.builder.sitofp if is_signed(self.dtype) else self.builder.uitofp
            return self._make(convert(self.value, target), dtype)
        if bits_of(dtype) <= bits_of(self.dtype):
            narrow = self.value if bits_of(dtype) == bits_of(self.dtype) else self.builder.trunc(self.value, target)
            return self._make(narrow, dtype)
        widen = self.builder.sext if is_signed(self.dtype) else self.builder.zext
        return self._make(widen(self.value, target), dtype)

    def _float_to(self, dtype: str) -> Lane:
        target = self._type(dtype)
        if is_float(dtype):
            convert = self.builder.fpext if dtype == "float64" else self.builder.fptrunc
            return self._make(convert(self.value, target), dtype)
        if dtype == "uint64":
            # Values from 2**63 on have their own conversion; the rest wrap as int64 does.
            large = (self >= 2.0**63) & (self < 2.0**64)
            unsigned = self.builder.fptoui(large.select(self, 0.0).value, target)
            return large.select(self._make(unsigned, dtype), self.to("int64").to(dtype))
        if dtype not in ("int32", "int64"):
            return self.to("int64" if dtype == "uint32" else "int32").to(dtype)
        limit = 2.0 ** (bits_of(dtype) - 1)
        # float64 holds the fractions between -2**31 - 1 and -2**31, which truncate into range; the others do not.
        above = self > -limit - 1.0 if (self.dtype, dtype) == ("float64", "int32") else self >= -limit
        fits = above & (self < limit)
        # LLVM's conversion is undefined out of range: it must not see such a value.
        whole = self._make(self.builder.fptosi(fits.select(self, 0.0).value, target), dtype)
        return fits.select(whole, -int(limit))


def _with_forms(
    module: ir.Module,
    name: str,
    dtype: str,
    operands: int,
    body: Callable[..., Lane],
    single: Callable[..., Lane] | None = None,
) -> Any:
    """A function of single values, by `single` if it is given; its forms for vectors are written beside it (then those
    of the longest alone)."""
    forms = host().form_lanes(bits_of(dtype))
    for lanes in (*forms[-1 if single is not None else 0 :], 0):
        symbol = f"{MOSTLY}{name}_{dtype}_{lanes}" if lanes else f"{MOSTLY}{name}_{dtype}"
        if symbol in module.globals:
            continue
        kind = ir.VectorType(_TYPES[dtype], lanes) if lanes else _TYPES[dtype]
        function = ir.Function(module, ir.FunctionType(kind, [kind] * operands), symbol)
        for attribute in ("noinline", "nounwind", "readnone"):
            function.attributes.add(attribute)
        builder = ir.IRBuilder(function.append_basic_block())
        given = [Lane(builder, argument, dtype) for argument in function.args]
        builder.ret((body if lanes or single is None else single)(*given).value)
    return module.globals[f"{MOSTLY}{name}_{dtype}"]


def _mostly(usual: Callable[..., tuple[Lane, Lane]], otherwise: Callable[..., Lane], rare: bool) -> Callable[..., Lane]:
    """The body of a function behind `Lane.mostly`."""

    def body(*given: Lane) -> Lane:
        near, fit = usual(*given)
        return (~fit).only_where(lambda: otherwise(*given), near, (1, 10_000 if rare else 1))

    return body


class ComplexLane:
    """A complex number ("complex64", "complex128"): the lanes of its two parts."""

    __slots__ = ("imag", "real")

    def __init__(self, real: Lane, imag: Lane) -> None:
        self.real = real
        self.imag = imag

    @classmethod
    def of(cls, builder: ir.IRBuilder, value: ir.Value, dtype: str) -> ComplexLane:
        """The lanes of a complex value as Numba represents it: a struct of the parts."""
        part = "float32" if dtype == "complex64" else "float64"
        return cls(*[Lane(builder, builder.extract_value(value, k), part) for k in range(2)])

    @property
    def value(self) -> ir.Value:
        """The number as Numba represents it."""
        kind = _TYPES[self.real.dtype]
        struct = ir.Constant(ir.LiteralStructType([kind, kind]), ir.Undefined)
        for k, part in enumerate((self.real, self.imag)):
            struct = self.real.builder.insert_value(struct, part.value, k)
        return struct
