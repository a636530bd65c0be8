"""Kernels' front end: the source of a kernel, whose language is small, read once and written as LLVM's IR.

Rule: imported only where kernels are compiled (it imports Numba). Whatever this road refuses takes Numba's own
(`object_code`), which knows all of Python that Numba does, and takes seven times as long.

A kernel is straight loops over numbers: assignments, `for` over ranges, `while`, `if`, arithmetic, elements of buffers,
and calls of typed intrinsics. A variable has the type of what was last assigned to it, which is known where a line is
read; where two ways meet with different types, the name is gone. What operators mean is looked up in Numba's tables of
numbers. The others (arrays, strings, lists, dictionaries, linear algebra, random generators) are half a second of
imports in a process that compiles its first kernel.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from llvmlite import ir
from numba import jit
from numba.core import callconv, cgutils, compiler, cpu, target_extension, types
from numba.core.imputils import builtin_registry
from numba.core.typing.context import Context
from numba.extending import intrinsic

from fastgraph.compiler.cpu.intrinsics import FUNCTIONS, Buffers, note_slots

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing.templates import Signature


class RefusedError(Exception):
    """A kernel that this road does not know: Numba's own knows more."""


class _Typing(Context):
    """The types of numbers, and of what is registered besides."""

    def load_additional_registries(self) -> None:
        """Leave out what NumPy's arrays, lists, sets, dictionaries and foreign functions are."""


class _Target(cpu.CPUContext):
    """Translations to LLVM's IR: numbers and what is registered besides."""

    def init(self) -> None:
        super().init()
        self._is_filled = False
        self.error_model = callconv.create_error_model("numpy", self)

    def refresh(self) -> None:
        """Fill the tables; later on take in what has been registered since.

        Numba asks for this whenever it misses an implementation, be it that of a constant index, for which it then
        takes another one; and would import all that there is for the types that it knows and no kernel has.
        """
        if self._is_filled:
            self.install_registry(builtin_registry)
        else:
            super().refresh()
            self._is_filled = True

    def add_linking_libs(self, libs: Sequence[object]) -> None:
        """Refuse what Numba has compiled as a function of its own."""
        if libs:
            raise RefusedError("another function")

    def load_additional_registries(self) -> None:
        from numba.core import optional
        from numba.cpython import builtins, numbers, tupleobj

        assert optional and builtins and numbers and tupleobj  # their import fills builtin_registry


class _Kernels(target_extension.CPU):
    """A target of Numba's own: else what is registered by signatures would fill the tables of the CPU's."""


def _of_integers(comparison: str) -> Any:
    """`min` or `max` of two int64, which Numba would compile as a function of its own."""

    @intrinsic
    def chosen(typingctx: Context, a: types.Type, b: types.Type) -> Any:
        if not all(each in types.signed_domain or isinstance(each, types.IntegerLiteral) for each in (a, b)):
            return None

        def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
            a, b = args
            return builder.select(builder.icmp_signed(comparison, b, a), b, a)

        return types.int64(types.int64, types.int64), codegen

    return chosen


def _number(kind: types.Type) -> Any:
    """A number as another type, which Numba would compile as a function of its own for the types of NumPy."""

    @intrinsic
    def cast(typingctx: Context, x: types.Type) -> Any:
        if not isinstance(x, (types.Number, types.Boolean)):
            return None

        def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
            return context.cast(builder, args[0], sig.args[0], kind)

        return kind(x), codegen

    return cast


#: Functions that kernels call by the names of Python's own functions and of NumPy's types.
BUILTINS = {
    "min": _of_integers("<"),
    "max": _of_integers(">"),
    **{str(kind): _number(kind) for kind in types.number_domain},
    "bool_": _number(types.boolean),
    "complex": complex,
}


def kernel_flags() -> Any:
    """Numba's options for a kernel on its own road: LLVM's IR alone, and numbers that divide as NumPy's do."""
    flags: Any = compiler.Flags()
    flags.no_compile = True
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.error_model = "numpy"
    return flags


class _Typed(NamedTuple):
    """A number, or several, on the way into the IR; `literal`: what the source says, where it says it."""

    type: Any
    value: ir.Value
    literal: int | None = None

    @property
    def exact(self) -> types.Type:
        """The type that tells the number too."""
        kind: types.Type = self.type if self.literal is None else types.literal(self.literal)
        return kind


class _Call(NamedTuple):
    """The way operands of some types are taken together: cast to `operands`, by `write`."""

    result: types.Type
    operands: Sequence[types.Type]
    write: Callable[[ir.IRBuilder, Sequence[ir.Value]], ir.Value]


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.USub: operator.neg, ast.Not: operator.not_, ast.Invert: operator.invert,
}  # fmt: skip
_POINTER = ir.IntType(8).as_pointer()


class FrontEnd:
    """A typing context and a target of its own: what Numba compiles elsewhere in this process is not touched."""

    def __init__(self) -> None:
        target_extension.target_registry["fastgraph"] = _Kernels
        self.typing = _Typing()
        self.target = _Target(self.typing, "fastgraph")
        owner = SimpleNamespace(targetdescr=SimpleNamespace(target_context=self.target))
        target_extension.dispatcher_registry[_Kernels] = owner
        target_extension.jit_registry[_Kernels] = jit
        with target_extension.target_override("fastgraph"):
            self.target.refresh()
            self.typing.refresh()
        self._known: dict[Any, _Call] = {}

    def lower(self, source: str, element_types: tuple[types.Type, ...], name: str, triple: str, layout: str) -> str:
        """A kernel's source as LLVM's IR, with `name` for its entry point. Raises: RefusedError; what intrinsics do."""
        (function,) = ast.parse(source).body
        assert isinstance(function, ast.FunctionDef)
        lost: set[tuple[int, str]] = set()
        while True:
            module = ir.Module("kernel")
            module.triple, module.data_layout = triple, layout
            known = len(lost)
            with target_extension.target_override("fastgraph"):
                _Writer(self, module, function, element_types, name, lost).write()
            if len(lost) == known:
                return str(module)

    def call(self, function: Any, operands: tuple[_Typed, ...]) -> _Call:
        """The call of an intrinsic, or of an operator, with operands of such types."""
        key = function, tuple((each.type, each.literal) for each in operands)
        found = self._known.get(key)
        if found is None:
            found = self._intrinsic(function, operands) if hasattr(function, "_defn") else self._operator(*key)
            self._known[key] = found
        return found

    def _operator(self, function: Any, operands: tuple[tuple[types.Type, int | None], ...]) -> _Call:
        self.typing.refresh()
        signature = self.typing.resolve_function_type(
            self.typing.resolve_value_type(function), tuple(kind for kind, _ in operands), {}
        )
        if signature is None:
            raise RefusedError(f"{function.__name__} of {operands}")
        return _Call(signature.return_type, signature.args, self.target.get_function(function, signature))

    def _intrinsic(self, function: Any, given: tuple[_Typed, ...]) -> _Call:
        plain, exact = tuple(each.type for each in given), tuple(each.exact for each in given)
        for kinds in (exact, plain) if function._prefer_literal else (plain, exact):
            if (made := function._defn(self.typing, *kinds)) is not None:
                signature, write = made
                operands = [t if isinstance(t, types.BaseTuple) else types.unliteral(t) for t in signature.args]
                return _Call(signature.return_type, operands, partial(_written, self.target, signature, write))
        raise RefusedError(f"{function._name} of {plain}")


def _written(
    target: _Target, signature: Signature, write: Any, builder: ir.IRBuilder, args: Sequence[ir.Value]
) -> ir.Value:
    return write(target, builder, signature, args)


def _suites(node: ast.stmt) -> tuple[list[ast.stmt], ...]:
    """The blocks of lines within a statement."""
    if isinstance(node, ast.If):
        return node.body, node.orelse
    return (node.body,) if isinstance(node, (ast.For, ast.While)) else ()


class _Writer:
    """One kernel on its way into a module. Names whose loop is in `lost` are not seen in it from outside."""

    def __init__(
        self,
        front: FrontEnd,
        module: ir.Module,
        function: ast.FunctionDef,
        element_types: tuple[types.Type, ...],
        name: str,
        lost: set[tuple[int, str]],
    ) -> None:
        self.front, self.target, self.function, self.lost = front, front.target, function, lost
        number = ir.IntType(64)
        result = ir.FunctionType(
            ir.IntType(32), [number.as_pointer(), _POINTER, _POINTER.as_pointer(), number.as_pointer(), number, number]
        )
        entry = ir.Function(module, result, name)
        for each in entry.args[:2]:
            each.add_attribute("noalias")
        self.builder = ir.IRBuilder(entry.append_basic_block("entry"))
        self.result = entry.args[0]
        kinds = Buffers(element_types), types.CPointer(types.int64), types.int64, types.int64
        names = [each.arg for each in function.args.args]
        values = map(_Typed, kinds, entry.args[2:])
        #: Of a variable its type and where it lies, or, where it is assigned once and read behind that, its value.
        self.names: dict[str, _Typed | tuple[types.Type, ir.Value]] | None = dict(zip(names, values, strict=True))
        self.slots: dict[tuple[str, types.Type], tuple[types.Type, ir.Value]] = {}
        self.lasting = self._lasting()
        self.loops: list[tuple[ir.Block, ir.Block, list[Any], list[Any]]] = []

    def write(self) -> None:
        """Write the whole kernel."""
        entry = self.builder.block
        self.builder.position_at_end(self.builder.append_basic_block("body"))
        body = self.builder.block
        self.suite(self.function.body)
        if self.names is not None:
            raise RefusedError("a kernel without a result")
        with self.builder.goto_block(entry):
            self.builder.branch(body)

    def _lasting(self) -> set[str]:
        """The variables that need a place: assigned again where they are seen, or read outside of those lines."""
        home: dict[str, int] = {each.arg: 0 for each in self.function.args.args}
        lasting: set[str] = set()

        def walk(suite: list[ast.stmt], around: tuple[int, ...]) -> None:
            inside = (*around, id(suite))
            for line in suite:
                inner = _suites(line)
                heads: Iterable[ast.AST] = (
                    [line] if not inner else [line.iter] if isinstance(line, ast.For) else [line.test]  # type: ignore[attr-defined]
                )
                stored: list[tuple[str, int]] = []
                for head in heads:
                    for each in ast.walk(head):
                        if not isinstance(each, ast.Name):
                            continue
                        if isinstance(each.ctx, ast.Store):
                            stored.append((each.id, id(suite)))
                            if isinstance(line, ast.AugAssign):
                                lasting.add(each.id)
                        elif home.get(each.id, 0) not in (0, *inside):
                            lasting.add(each.id)
                if isinstance(line, ast.For):
                    assert isinstance(line.target, ast.Name)
                    stored.append((line.target.id, id(line.body)))
                for name, where in stored:
                    if home.get(name) in (0, *inside):
                        lasting.add(name)
                    home[name] = where
                for each_suite in inner:
                    walk(each_suite, inside)

        walk(self.function.body, ())
        return lasting

    # ---- lines ----

    def suite(self, lines: list[ast.stmt]) -> None:
        """Write lines, up to one behind which none is reached."""
        for line in lines:
            if self.names is None:
                return
            write = getattr(self, f"_line_{type(line).__name__}", None)
            if write is None:
                raise RefusedError(ast.unparse(line))
            write(line)

    def _line_Assign(self, line: ast.Assign) -> None:
        (target, *others) = line.targets
        if others:
            raise RefusedError(ast.unparse(line))
        if isinstance(target, ast.Tuple) and isinstance(line.value, ast.Tuple):
            values = [self.value(each) for each in line.value.elts]
            for each, value in zip(target.elts, values, strict=True):
                self.assign(each, value)
        else:
            self.assign(target, self.value(line.value))

    def _line_AugAssign(self, line: ast.AugAssign) -> None:
        function = _OPERATORS[type(line.op)]
        if isinstance(line.target, ast.Name):
            held = self.read(line.target.id)
            self.assign(line.target, self.apply(function, held, self.value(line.value)))
        else:
            assert isinstance(line.target, ast.Subscript)
            array, place = self.value(line.target.value), self.value(line.target.slice)
            held = self.apply(operator.getitem, array, place)
            self.apply(operator.setitem, array, place, self.apply(function, held, self.value(line.value)))

    def _line_Expr(self, line: ast.Expr) -> None:
        self.value(line.value)

    def _line_Pass(self, line: ast.Pass) -> None:
        pass

    def _line_Return(self, line: ast.Return) -> None:
        if line.value is None:
            raise RefusedError("a kernel without a result")
        self.builder.store(self.cast(self.value(line.value), types.int64), self.result)
        self.builder.ret(ir.Constant(ir.IntType(32), 0))
        self.names = None

    def _line_If(self, line: ast.If) -> None:
        truth = self.truth(line.test)
        then, end = self.builder.append_basic_block("then"), self.builder.append_basic_block("end")
        other = self.builder.append_basic_block("else") if line.orelse else end
        self.builder.cbranch(truth, then, other)
        before = dict(self.names or {})
        ways = [] if line.orelse else [before]
        for block, lines in ((then, line.body), (other, line.orelse)):
            if lines:
                self.builder.position_at_end(block)
                self.names = dict(before)
                self.suite(lines)
                self._go(end, ways)
        self._meet(end, ways)

    def _line_While(self, line: ast.While) -> None:
        builder = self.builder
        head, body, end = (builder.append_basic_block(each) for each in ("while", "body", "behind"))
        before = self._enter(line)
        builder.branch(head)
        builder.position_at_end(head)
        builder.cbranch(self.truth(line.test), body, end)
        self._loop(line, body, head, end, before)

    def _line_For(self, line: ast.For) -> None:
        builder, called = self.builder, line.iter
        if not (isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.func.id == "range"):
            raise RefusedError(ast.unparse(called))
        ends = [self.value(each) for each in called.args]
        start, stop = ends[:2] if len(ends) > 1 else (_Typed(types.int64, self.constant(0)), ends[0])
        if any(each.type is not types.int64 for each in ends):
            raise RefusedError(ast.unparse(called))
        head, body, latch, end = (builder.append_basic_block(each) for each in ("for", "body", "next", "behind"))
        by = 1 if len(ends) < 3 else ends[2].literal or 0
        known = by != 0
        if known:
            first, last, step = start.value, stop.value, self.constant(by)
        else:  # rounds are counted: either end may be the greater one
            by, step = 1, self.constant(1)
            first, last = self.constant(0), self._rounds(start.value, stop.value, ends[2].value)
        before = self._enter(line)
        outside = builder.block
        builder.branch(head)
        builder.position_at_end(head)
        counter = builder.phi(ir.IntType(64))
        counter.add_incoming(first, outside)
        builder.cbranch(builder.icmp_signed("<" if by > 0 else ">", counter, last), body, end)
        builder.position_at_end(latch)
        counter.add_incoming(builder.add(counter, step, flags=("nsw",)), latch)
        builder.branch(head)
        builder.position_at_end(body)
        value = counter if known else builder.add(start.value, builder.mul(counter, ends[2].value))
        self.assign(line.target, _Typed(types.int64, value))
        self._loop(line, body, latch, end, before)

    def _rounds(self, start: ir.Value, stop: ir.Value, step: ir.Value) -> ir.Value:
        """The count of numbers in a range."""
        builder, none = self.builder, self.constant(0)
        falls = builder.icmp_signed("<", step, none)
        span = builder.select(falls, builder.sub(start, stop), builder.sub(stop, start))
        size = builder.select(falls, builder.neg(step), step)
        full = builder.sdiv(builder.add(span, builder.sub(size, self.constant(1))), size)
        return builder.select(builder.icmp_signed(">", span, none), full, none)

    def _line_Break(self, line: ast.Break) -> None:
        _, end, _, ways = self.loops[-1]
        self._go(end, ways)

    def _line_Continue(self, line: ast.Continue) -> None:
        again, _, ways, _ = self.loops[-1]
        self._go(again, ways)

    def _enter(self, line: ast.stmt) -> dict[str, Any]:
        """The variables that a loop sees from outside."""
        self.names = {name: each for name, each in (self.names or {}).items() if (id(line), name) not in self.lost}
        return dict(self.names)

    def _loop(
        self, line: ast.For | ast.While, body: ir.Block, again: ir.Block, end: ir.Block, before: dict[str, Any]
    ) -> None:
        if line.orelse:
            raise RefusedError("else of a loop")
        rounds: list[Any] = []
        ends: list[Any] = [before]
        self.loops.append((again, end, rounds, ends))
        self.builder.position_at_end(body)
        self.suite(line.body)
        self._go(again, rounds)
        self.loops.pop()
        for names in rounds:  # what a round leaves, the next one finds
            self.lost.update((id(line), name) for name, each in before.items() if names.get(name) is not each)
        self._meet(end, [*ends, *rounds])

    def _go(self, block: ir.Block, ways: list[Any]) -> None:
        """Go on at a block, where this way meets others."""
        if self.names is not None:
            self.builder.branch(block)
            ways.append(self.names)
            self.names = None

    def _meet(self, block: ir.Block, ways: list[Any]) -> None:
        """Go on where ways have met. A name has a value there unless they have different ones."""
        self.builder.position_at_end(block)
        if not ways:
            self.builder.unreachable()
            return
        met: dict[str, Any] = {}
        for names in ways:
            for name, each in names.items():
                met[name] = each if met.get(name, each) is each else None
        self.names = {name: each for name, each in met.items() if each is not None}

    # ---- names ----

    def assign(self, target: ast.expr, value: _Typed) -> None:
        """Write a variable or an element."""
        if isinstance(target, ast.Subscript):
            self.apply(operator.setitem, self.value(target.value), self.value(target.slice), value)
            return
        if not isinstance(target, ast.Name) or self.names is None:
            raise RefusedError(ast.unparse(target))
        if target.id not in self.lasting:
            self.names[target.id] = _Typed(value.type, value.value)
            return
        key = target.id, value.type
        if key not in self.slots:
            place = cgutils.alloca_once(self.builder, self.target.get_value_type(value.type))
            self.slots[key] = value.type, place
        self.builder.store(value.value, self.slots[key][1])
        self.names[target.id] = self.slots[key]

    def read(self, name: str) -> _Typed:
        """The value of a variable."""
        found = (self.names or {}).get(name)
        if found is None:
            if name in ("inf", "nan"):
                return _Typed(types.float64, ir.Constant(ir.DoubleType(), math.inf if name == "inf" else math.nan))
            raise RefusedError(f"{name} has no value, or several")
        return found if isinstance(found, _Typed) else _Typed(found[0], self.builder.load(found[1]))

    # ---- values ----

    def constant(self, number: int) -> ir.Constant:
        """An integer of 64 bits."""
        return ir.Constant(ir.IntType(64), number)

    def value(self, node: ast.expr) -> _Typed:
        """Write an expression."""
        write = getattr(self, f"_value_{type(node).__name__}", None)
        if write is None:
            raise RefusedError(ast.unparse(node))
        return write(node)  # type: ignore[no-any-return]

    def _value_Name(self, node: ast.Name) -> _Typed:
        return self.read(node.id)

    def _value_Constant(self, node: ast.Constant) -> _Typed:
        number = node.value
        if isinstance(number, bool):
            return _Typed(types.boolean, ir.Constant(ir.IntType(1), int(number)))
        if isinstance(number, int) and -(2**63) <= number < 2**64:
            return _Typed(types.int64 if number < 2**63 else types.uint64, self.constant(number), number)
        if isinstance(number, float):
            return _Typed(types.float64, ir.Constant(ir.DoubleType(), number))
        raise RefusedError(ast.unparse(node))

    def _value_UnaryOp(self, node: ast.UnaryOp) -> _Typed:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return self._value_Constant(ast.Constant(-node.operand.value))  # type: ignore[operator]
        return self.apply(_OPERATORS[type(node.op)], self.value(node.operand))

    def _value_BinOp(self, node: ast.BinOp) -> _Typed:
        function = _OPERATORS.get(type(node.op))
        if function is None:
            raise RefusedError(ast.unparse(node))
        a, b = self.value(node.left), self.value(node.right)
        if a.literal is not None and b.literal is not None and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            return self._value_Constant(ast.Constant(function(a.literal, b.literal)))
        return self.apply(function, a, b)

    def _value_Compare(self, node: ast.Compare) -> _Typed:
        sides = [self.value(each) for each in (node.left, *node.comparators)]  # what a comparison needs has no effect
        found = [self.apply(_OPERATORS[type(op)], *sides[i : i + 2]) for i, op in enumerate(node.ops)]
        return _Typed(types.boolean, reduce(self.builder.and_, [each.value for each in found]))

    def _value_BoolOp(self, node: ast.BoolOp) -> _Typed:
        builder, end = self.builder, self.builder.append_basic_block("known")
        truth, decided = ir.IntType(1), int(isinstance(node.op, ast.Or))
        ways = []
        for each in node.values[:-1]:
            found = self._boolean(each)
            ways.append((ir.Constant(truth, decided), builder.block))
            further = builder.append_basic_block("further")
            builder.cbranch(found, *((end, further) if decided else (further, end)))
            builder.position_at_end(further)
        ways.append((self._boolean(node.values[-1]), builder.block))
        builder.branch(end)
        builder.position_at_end(end)
        result = builder.phi(truth)
        for value, block in ways:
            result.add_incoming(value, block)
        return _Typed(types.boolean, result)

    def _boolean(self, node: ast.expr) -> ir.Value:
        found = self.value(node)
        if found.type is not types.boolean:
            raise RefusedError(ast.unparse(node))
        return found.value

    def _value_IfExp(self, node: ast.IfExp) -> _Typed:
        builder = self.builder
        truth = self.truth(node.test)
        then, other, end = (builder.append_basic_block(each) for each in ("then", "else", "end"))
        builder.cbranch(truth, then, other)
        ways = []
        for block, each in ((then, node.body), (other, node.orelse)):
            builder.position_at_end(block)
            ways.append((self.value(each), builder.block))
            builder.branch(end)
        (kind, *others) = {way.type for way, _ in ways}
        if others:
            raise RefusedError(ast.unparse(node))
        builder.position_at_end(end)
        result = builder.phi(ways[0][0].value.type)
        for way, block in ways:
            result.add_incoming(way.value, block)
        return _Typed(kind, result)

    def _value_Tuple(self, node: ast.Tuple) -> _Typed:
        parts = [self.value(each) for each in node.elts]
        kind = types.BaseTuple.from_types(tuple(each.exact for each in parts))
        return _Typed(kind, self.target.make_tuple(self.builder, kind, [each.value for each in parts]))

    def _value_Subscript(self, node: ast.Subscript) -> _Typed:
        array, place = self.value(node.value), self.value(node.slice)
        if isinstance(array.type, Buffers):
            if place.literal is None:
                raise RefusedError(ast.unparse(node))
            note_slots(self.builder, array.type)
            slot = array.type.slots[place.literal]
            held = self.builder.load(self.builder.gep(array.value, [place.value]))
            return _Typed(slot, self.builder.bitcast(held, self.target.get_value_type(slot)))
        return self.apply(operator.getitem, array, place)

    def _value_Call(self, node: ast.Call) -> _Typed:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise RefusedError(ast.unparse(node))
        name = node.func.id
        try:
            function = BUILTINS[name] if name in BUILTINS else FUNCTIONS[name]
        except KeyError:
            raise RefusedError(name) from None
        if not hasattr(function, "_defn") and function is not complex:  # Numba compiles it by itself
            raise RefusedError(name)
        return self.apply(function, *map(self.value, node.args))

    def apply(self, function: Any, *operands: _Typed) -> _Typed:
        """An operator or an intrinsic of operands."""
        call = self.front.call(function, operands)
        values = [self.cast(each, kind) for each, kind in zip(operands, call.operands, strict=True)]
        return _Typed(call.result, call.write(self.builder, values))

    def cast(self, value: _Typed, kind: types.Type) -> ir.Value:
        """A value as another type."""
        if value.type is kind or value.type == kind:
            return value.value
        return self.target.cast(self.builder, value.value, value.type, kind)

    def truth(self, node: ast.expr) -> ir.Value:
        """A value as a condition."""
        found = self.value(node)
        if found.type is types.boolean:
            return found.value
        return self.target.is_true(self.builder, found.type, found.value)
