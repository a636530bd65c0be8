"""Numba's front end, cut down to what kernels are written in: loops over numbers, pointers and typed intrinsics.

Rule: imported only where kernels are compiled (it imports Numba). Whatever this road refuses takes Numba's own
(`object_code`), which knows all of Python that Numba does, and takes three times as long.

A kernel is straight loops over numbers: of Numba's 25 passes it needs those that read it, type it and write LLVM's IR,
and of Numba's tables those of numbers and ranges. Nothing counts references to a number, so no pass looks for where a
variable is last used. The others (arrays, strings, lists, dictionaries, linear algebra,
random generators) are half a second of imports in a process that compiles its first kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from numba import jit
from numba.core import cgutils, codegen, compiler, cpu, target_extension, typed_passes, types, untyped_passes
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.imputils import builtin_registry
from numba.core.ir_utils import build_definitions
from numba.core.ssa import reconstruct_ssa
from numba.core.typing.context import Context
from numba.extending import intrinsic

if TYPE_CHECKING:
    from llvmlite import ir
    from numba.core.base import BaseContext
    from numba.core.typing.templates import Signature


class _Typing(Context):
    """The types of numbers, and of what is registered besides."""

    def load_additional_registries(self) -> None:
        """Leave out what NumPy's arrays, lists, sets, dictionaries and foreign functions are."""

    def resolve_value_type(self, val: object) -> Any:
        """The type of a global. Of a class Numba asks first whether it is one of its lists', which it then imports."""
        return self._lookup_global(val) if val is range or val is bool else super().resolve_value_type(val)

    def resolve_function_type(self, func: types.Type, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        """The signature of a call. Equal types have equal ones: a kernel asks for the same few again and again."""
        if kws:
            return super().resolve_function_type(func, args, kws)
        found = self._known.get((func, args))
        if found is None:
            found = self._known[func, args] = super().resolve_function_type(func, args, kws)
        return found

    def init(self) -> None:
        self._known: dict[Any, Any] = {}

    def forget(self) -> None:
        """Ask again for every signature."""
        self._known.clear()


class _Library(codegen.JITCodeLibrary):
    """A kernel's IR as text. Numba would parse, check, optimise and link it; the caller does the first three again."""

    text = ""

    def add_ir_module(self, ir_module: ir.Module) -> None:
        self.text = cgutils.normalize_ir_text(str(ir_module))

    def get_llvm_str(self) -> str:
        return self.text


class _Target(cpu.CPUContext):
    """Translations to LLVM's IR: numbers, ranges and what is registered besides."""

    def init(self) -> None:
        super().init()
        self._internal_codegen._library_class = _Library
        self._sizes: dict[Any, int] = {}
        self._known: dict[Any, Any] = {}
        self._is_filled = False

    def refresh(self) -> None:
        """Fill the tables; later on take in what intrinsics have registered since.

        Numba asks for this whenever it misses an implementation, be it that of a constant index, for which it then
        takes another one; and would import all that there is for the types that it knows and no kernel has.
        """
        self.forget()
        if self._is_filled:
            self.install_registry(builtin_registry)
        else:
            super().refresh()
            self._is_filled = True

    def get_function(self, fn: Any, sig: Signature, _firstcall: bool = True) -> Any:
        """The translation of a call. Numba reads its parameters' names each time, and a kernel calls the same few."""
        found = self._known.get((fn, sig))
        if found is None:
            found = self._known[fn, sig] = super().get_function(fn, sig, _firstcall)
        return found

    def forget(self) -> None:
        """Look for every translation again."""
        self._known.clear()

    def get_abi_sizeof(self, ty: ir.Type) -> int:
        """Bytes of a type. Numba asks for every variable of a kernel, and LLVM parses a module for each answer."""
        found = self._sizes.get(ty)
        if found is None:
            found = self._sizes[ty] = super().get_abi_sizeof(ty)
        return found

    def load_additional_registries(self) -> None:
        from numba.core import optional
        from numba.cpython import builtins, numbers, rangeobj, tupleobj

        assert optional and builtins and numbers and rangeobj and tupleobj  # their import fills builtin_registry

    def post_lowering(self, mod: ir.Module, library: codegen.CodeLibrary) -> None:
        """Link nothing: Numba would add its allocator, which no kernel calls."""


class _Kernels(target_extension.CPU):
    """A target of Numba's own: else every intrinsic would fill the tables of the CPU's."""


class _Passes(PassManager):
    #: Numba would analyse the whole function again after every pass. The passes below each leave what the next needs.
    _ENFORCING = False


@register_pass(mutates_CFG=False, analysis_only=False)
class _SingleAssignments(untyped_passes.ReconstructSSA):
    """Numba's pass without the analysis after it."""

    _name = "fastgraph_reconstruct_ssa"

    def run_pass(self, state: Any) -> bool:
        state.func_ir = reconstruct_ssa(state.func_ir)
        self._patch_locals(state)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _WithoutPhis(typed_passes.PreLowerStripPhis):
    """Numba's pass without the analysis after it."""

    _name = "fastgraph_strip_phis"

    def run_pass(self, state: Any) -> bool:
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        return True


class _Compiler(compiler.CompilerBase):
    def define_pipelines(self) -> list[PassManager]:
        passes = _Passes("kernel")
        for each in (
            untyped_passes.TranslateByteCode,
            untyped_passes.FixupArgs,
            untyped_passes.GenericRewrites,
            _SingleAssignments,
            typed_passes.NopythonTypeInference,
            _WithoutPhis,
            typed_passes.NativeLowering,
            typed_passes.NoPythonBackend,
        ):
            passes.add_pass(each, each.__name__)
        passes.finalize()
        return [passes]


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
}


def kernel_flags() -> Any:
    """Numba's options for a kernel: LLVM's IR alone, and numbers that divide as NumPy's do."""
    flags: Any = compiler.Flags()
    flags.no_compile = True
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.error_model = "numpy"
    return flags


class FrontEnd:
    """A typing context and a target of its own: what Numba compiles elsewhere in this process is not touched."""

    def __init__(self) -> None:
        target_extension.target_registry["fastgraph"] = _Kernels
        self._typing = _Typing()
        self._target = _Target(self._typing, "fastgraph")
        owner = SimpleNamespace(targetdescr=SimpleNamespace(target_context=self._target))
        target_extension.dispatcher_registry[_Kernels] = owner
        target_extension.jit_registry[_Kernels] = jit
        with target_extension.target_override("fastgraph"):
            self._target.refresh()

    def forget(self) -> None:
        """Numba's own road has compiled: a function's type now knows what that made of its calls."""
        self._typing.forget()
        self._target.forget()

    def compile(self, function: Callable[..., object], signature: Signature) -> Any:
        """Compile `function` with Numba and return what its compiler does. Raises whatever it raises."""
        with target_extension.target_override("fastgraph"):
            return compiler.compile_extra(
                self._typing,
                self._target,
                function,
                signature.args,
                signature.return_type,
                kernel_flags(),
                {},
                pipeline_class=_Compiler,
            )
