"""KernelSpec -> relocatable object code, by Numba and LLVM.

Rule: the only module that runs the compiler. It is imported by the worker process, or by the thread that stands in for
it; a program whose kernels are in the store never imports it (it imports Numba).
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm
import numpy as np
from numba import njit, types
from numba.core import compiler, ir
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from fastgraph.compiler.cpu.front_end import FrontEnd, kernel_flags
from fastgraph.compiler.cpu.intrinsics import FUNCTIONS, Buffers
from fastgraph.compiler.cpu.llvm_lanes import MOSTLY
from fastgraph.compiler.cpu.loader import ALLOWED, undefined_symbols
from fastgraph.compiler.cpu.target import host, symbol
from fastgraph.compiler.program.kernel_spec import KernelSpec

if TYPE_CHECKING:
    from numba.core.typing.templates import Signature

_CASTS: dict[str, Any] = {
    name: getattr(np, name)
    for name in (
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
        "complex128", "bool_",
    )
}  # fmt: skip


#: Functions whose loops are unrolled, or become vectors, as they stand.
_BLOCKS = frozenset({"apart_float32", "apart_gradient_float32", "block_float32", "few_float32", "tile_int64"})


#: In machine code, what may be an instruction that gathers the signs of a vector: an opcode behind a VEX prefix.
_MASK_MOVES = re.compile(rb"(?:\xc5.|\xc4[\x01\x21\x41\x61\x81\xa1\xc1\xe1].)[\x50\xd7][\xc0-\xff]", re.DOTALL)


def _lacking(assembly: str) -> str:
    """The features without which code that gathers signs is right; none where it is so, as on CPUs without AVX-512.

    LLVM 22 makes one such instruction of two of AVX-512 and does not look whether it reaches their register (it reaches
    half of the 32: another's signs are gathered), nor always whether the mask is used once more (LLVM's issue 191304,
    pull request 198220). The two that it joins are AVX-512DQ's, and for bytes AVX-512BW's.
    """
    has = host().features.split(",")
    return "".join(
        f",-{feature}"
        for feature, name in (("avx512dq", "vmovmsk"), ("avx512bw", "vpmovmskb"))
        if name in assembly and f"+{feature}" in has
    )


class KernelError(Exception):
    """A kernel that cannot be compiled: its ops keep running by their NumPy bodies."""


@dataclass(frozen=True)
class Listing:
    """Object code, and the texts behind it for whoever asks."""

    code: bytes
    module: llvm.ModuleRef
    machine: llvm.TargetMachine

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR that the machine code was made of, as text."""
        return str(self.module)


def compile_kernel(spec: KernelSpec, key: str, vectors: bool = True) -> Listing:
    """The object code of a kernel, with the entry point `symbol(key)`.

    vectors: Whether LLVM may make vectors of loops. Where it ends itself doing so (LLVM 22 over seven columns of half
    floats side by side), the kernel is compiled again without.
    Raises: KernelError with the source where Numba refuses it, or the code needs what the loader does not give.
    """
    try:
        with global_compiler_lock:
            text, entry = _lower(spec, key)
    except Exception as error:
        raise KernelError(f"{type(error).__name__}: {error}\nin the kernel\n{spec.source}") from error
    if host().vector_bits:
        # LLVM keeps to half of the widest vectors on most CPUs, from when they slowed the clock.
        wide = f'"prefer-vector-width"="{host().vector_bits}"'
        text = re.sub(r"^(define .*\)[^{]*)\{$", rf"\1 {wide} {{", text, flags=re.MULTILINE)
    has_mostly = MOSTLY in text
    if has_mostly:
        text = _with_forms(str(llvm.parse_assembly(text)))  # as LLVM writes it
    module = llvm.parse_assembly(text)
    _keep_one_entry(module, entry, symbol(key))
    machine = host().machine()
    _optimise(module, machine, unroll=_BLOCKS.isdisjoint(spec.imports), vectors=vectors)
    if has_mostly:
        module = _put_in_place(str(module), symbol(key), machine)
    optimised = module.clone()  # making machine code changes it
    code = machine.emit_object(module)
    if _MASK_MOVES.search(code) and (without := _lacking(machine.emit_assembly(optimised.clone()))):
        machine = host().machine(without)
        code = machine.emit_object(optimised.clone())
    missing = undefined_symbols(code) - ALLOWED
    if missing:
        raise KernelError(f"needs {', '.join(sorted(missing))} at run time, in the kernel\n{spec.source}")
    return Listing(code, optimised, machine)


#: LLVM makes vectors of a loop only where it checks no more than so many places before (16, if nobody says): each
#: element of a short row that is written out is a place of its own, in each tensor.
llvm.set_option("", "-vectorize-scev-check-threshold=128")


@cache
def _front_end() -> FrontEnd:
    return FrontEnd()


def _bear_a_deleted_folder() -> None:
    """Have Numba name lines, which it does relative to the working folder, also where that has been deleted."""
    get = getattr(ir.Loc, "_get_path", None)

    def path(loc: ir.Loc) -> Any:
        try:
            return get(loc) if get is not None else loc.filename
        except FileNotFoundError:
            return loc.filename

    ir.Loc._get_path = path  # type: ignore[method-assign]


_bear_a_deleted_folder()


def prepare() -> None:
    """Make what every kernel needs: so it is there before a process that compiles forks."""
    _front_end()


def _lower(spec: KernelSpec, key: str) -> tuple[str, str]:
    """A kernel as LLVM IR, with everything it calls, and the name of its entry point."""
    element_types = tuple(getattr(types, name) for name in spec.buffer_types)
    try:
        layout = str(host().machine().target_data)
        return _front_end().lower(spec.source, element_types, symbol(key), host().triple, layout), symbol(key)
    except Exception as error:  # what is wrong with the kernel, the other road says
        refused[key] = f"{type(error).__name__}: {error}"
    namespace: dict[str, Any] = {**_CASTS, "inf": math.inf, "nan": math.nan, "__name__": "fastgraph.kernel"}
    code = compile(spec.source, f"<kernel {key}>", "exec")
    names = {name for part in code.co_consts if isinstance(part, CodeType) for name in part.co_names}
    for name in names - namespace.keys():
        with contextlib.suppress(KeyError):  # else it is one of Python's, or Numba says that there is none
            namespace[name] = FUNCTIONS[name]
    exec(code, namespace)
    signature = types.int64(Buffers(element_types), types.CPointer(types.int64), types.int64, types.int64)
    return _lower_by_numba(namespace["kernel"], signature)


#: The kernels that the front end did not take, in this process, and why.
refused: dict[str, str] = {}


def _lower_by_numba(function: Callable[..., object], signature: Signature) -> tuple[str, str]:
    """A function as LLVM IR, with everything it calls, and the name of its entry point.

    Numba's ordinary road would also optimise it twice and load it, which is half of the time and of no use here. So
    this takes the road that Numba's ahead-of-time compiler takes, up to the IR; where a version of Numba lacks that,
    the public one.
    """
    try:
        typing, target = cpu_target.typing_context, cpu_target.target_context
        typing.refresh()
        target.refresh()
        flags, returned = kernel_flags(), signature.return_type
        result = compiler.compile_extra(typing, target, function, signature.args, returned, flags, {})
        module = llvm.parse_assembly(result.library.get_llvm_str())
        for library in result.library._linking_libraries:
            called = llvm.parse_assembly(library.get_llvm_str())
            for part in called.functions:
                if not part.is_declaration and part.linkage == llvm.Linkage.external:
                    part.linkage = llvm.Linkage.linkonce_odr  # several libraries may bring the same function
            module.link_in(called)
        return str(module), result.fndesc.llvm_func_name
    except (AttributeError, TypeError):  # not the kernel's fault: that would be one of Numba's own errors
        options: Any = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        dispatcher: Any = njit(signature, **options)(function)
        (compiled,) = dispatcher.overloads.values()
        return dispatcher.inspect_llvm(dispatcher.signatures[0]), compiled.fndesc.llvm_func_name


def _keep_one_entry(module: llvm.ModuleRef, entry: str, name: str, *, forms: bool = True) -> None:
    """Rename the entry point, and let the optimiser drop whatever it does not need; `forms`: but for vectors' forms."""
    for function in module.functions:
        if function.name != entry and not function.is_declaration:
            kept = forms and function.name.startswith(MOSTLY)
            function.linkage = llvm.Linkage.external if kept else llvm.Linkage.internal
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = llvm.Linkage.internal
    module.get_function(entry).name = name


def _with_forms(text: str) -> str:
    """A module in which the functions of `Lane.mostly` name their forms for vectors."""

    def head(found: re.Match[str]) -> str:
        lengths, operands = host().form_lanes(int(found[2][-2:])), "v" * found[1].count("%")
        forms = [(f"{n}{operands}", f"{MOSTLY}{found[2]}_{n}") for n in lengths]
        named = ",".join([f"_ZGV_LLVM_N{n}_{MOSTLY}{found[2]}({form})" for n, form in forms if f"@{form}(" in text])
        return f'{found[1]}"vector-function-abi-variant"="{named}" willreturn '

    return re.sub(rf"^(define .*@{MOSTLY}(\w+?_float\d\d)\([^#{{]*)", head, text, flags=re.MULTILINE)


def _put_in_place(text: str, entry: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """The module with the functions of `Lane.mostly` made part of those that call them: the loops are vectorised now.

    What few arguments need, too: a call in a loop would have everything that is held in registers moved to the stack.
    """
    text = re.sub(r"^(attributes #\d+ = \{(?! cold ).*) noinline ", r"\1 alwaysinline ", text, flags=re.MULTILINE)
    module = llvm.parse_assembly(text)
    _keep_one_entry(module, entry, entry, forms=False)
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_new_gvn_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3)))
    return module


def _optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine, unroll: bool, vectors: bool = True) -> None:
    """LLVM's usual passes at level 3, in place. Loops around blocks in registers have nothing left to unroll."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = vectors
    options.loop_interleaving = True
    options.loop_unrolling = unroll
    options.slp_vectorization = vectors
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
