"""KernelSpec -> relocatable object code, by Numba and LLVM.

Rule: the only module that runs the compiler. It is imported by the worker process, or by the thread that stands in for it;
a program whose kernels are in the store never imports it (it imports Numba).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import njit, types

from fastgraph.compiler.intrinsics import FUNCTIONS, Buffers
from fastgraph.compiler.kernel import KernelSpec
from fastgraph.compiler.loader import ALLOWED, undefined_symbols
from fastgraph.compiler.target import host, symbol

_CASTS: dict[str, Any] = {
    name: getattr(np, name)
    for name in (
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool_",
    )
}  # fmt: skip


class KernelError(Exception):
    """A kernel that cannot be compiled: its ops keep running by their NumPy bodies."""


@dataclass(frozen=True)
class Listing:
    """Object code, and the texts behind it for whoever asks."""

    code: bytes
    llvm_ir: str
    machine: Any

    def assembly(self) -> str:
        """The machine code as text."""
        return str(self.machine.emit_assembly(llvm.parse_assembly(self.llvm_ir)))


def compile_kernel(spec: KernelSpec, key: str) -> Listing:
    """The object code of a kernel, with the entry point `symbol(key)`.

    Raises: KernelError with the source where Numba refuses it, or the code needs what the loader does not give.
    """
    namespace = {**_CASTS, **FUNCTIONS, "inf": float("inf"), "nan": float("nan"), "__name__": "fastgraph.kernel"}
    try:
        exec(compile(spec.source, f"<kernel {key}>", "exec"), namespace)
        element_types = tuple(getattr(types, name) for name in spec.buffer_types)
        signature = types.int64(Buffers(element_types), types.CPointer(types.int64), types.int64, types.int64)
        dispatcher = njit(signature, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(
            namespace["kernel"]
        )
        module = llvm.parse_assembly(dispatcher.inspect_llvm(dispatcher.signatures[0]))
    except Exception as error:
        raise KernelError(f"{type(error).__name__}: {error}\nin the kernel\n{spec.source}") from error
    _keep_one_entry(module, symbol(key))
    machine = host().machine()
    code = machine.emit_object(module)
    missing = undefined_symbols(code) - ALLOWED
    if missing:
        raise KernelError(f"needs {', '.join(sorted(missing))} at run time, in the kernel\n{spec.source}")
    return Listing(code, str(module), machine)


def _keep_one_entry(module: Any, name: str) -> None:
    """Rename the entry point and drop every other function: all have been inlined into it, or it calls them."""
    defined = [f for f in module.functions if not f.is_declaration]
    entries = [f for f in defined if "kernel" in f.name and f.linkage == llvm.Linkage.external]
    if len(entries) != 1:
        raise KernelError(f"expected one entry point, found {[f.name for f in defined]}")
    for function in defined:
        if function.name != entries[0].name:
            function.linkage = llvm.Linkage.internal
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = llvm.Linkage.internal
    entries[0].name = name
