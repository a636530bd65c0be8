"""Object code -> an address that can be called, by LLVM's JIT linker; one library per kernel.

Rule: imports llvmlite, never Numba.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from fastgraph.compiler.cpu.target import LIBM, host

#: Symbols that object code may leave to the loader: the maths library, and what LLVM makes of loops that copy or fill.
ALLOWED = frozenset({"memset", "memcpy", "memmove", *LIBM, *(name + "f" for name in LIBM)})

_names = itertools.count()
_lock = threading.Lock()
_jit: Any = None


class LoadError(Exception):
    """Object code that does not link."""


class Library:
    """One loaded kernel; its code lives as long as this object."""

    __slots__ = ("_tracker", "address")

    def __init__(self, code: bytes, symbol: str) -> None:
        """Link `code` and find `symbol`. Raises LoadError."""
        global _jit
        # LLVM would look for any other name in the whole process.
        called = undefined_symbols(code)
        if foreign := called - _externals().keys():
            raise LoadError(f"it calls {', '.join(sorted(foreign))}")
        builder = llvm.JITLibraryBuilder().add_object_img(code).export_symbol(symbol)
        for name in called:
            builder.import_symbol(name, _externals()[name])
        with _lock:
            if _jit is None:
                host()
                _jit = llvm.create_lljit_compiler(host().machine())
            try:
                self._tracker = builder.link(_jit, f"kernel {next(_names)}")
            except RuntimeError as error:
                raise LoadError(str(error)) from None
        self.address = int(self._tracker[symbol])


@cache
def _externals() -> dict[str, int]:
    """Names that kernels may call: the addresses of libm's functions and of memcpy's family, and nothing else."""
    found: dict[str, int] = {}
    libraries = [ctypes.CDLL(None)]
    if not hasattr(libraries[0], "sin"):
        from ctypes.util import find_library  # which imports much

        if libm := find_library("m"):
            libraries.append(ctypes.CDLL(libm))
    for name in ALLOWED:
        for library in libraries:
            if hasattr(library, name):
                found[name] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
                break
    return found


def undefined_symbols(code: bytes) -> set[str]:
    """The names an ELF64 object leaves to the loader (empty for other formats, which are not checked)."""
    if code[:6] != b"\x7fELF\x02\x01":
        return set()
    try:
        return set(_elf_undefined(code))
    except (struct.error, IndexError, ValueError):
        raise LoadError("it is no whole object file") from None


def _elf_undefined(code: bytes) -> Iterator[str]:
    (section_table,) = struct.unpack_from("<Q", code, 40)
    entry_size, count = struct.unpack_from("<HH", code, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, section_table + i * entry_size) for i in range(count)]
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        if kind != 2:  # SHT_SYMTAB
            continue
        strings = sections[link][4]
        for at in range(offset + 24, offset + size, 24):  # the first symbol is always empty
            name_at, _, _, section = struct.unpack_from("<IBBH", code, at)
            if section == 0 and name_at:
                end = code.index(b"\0", strings + name_at)
                yield code[strings + name_at : end].decode()


#: The kernel ABI, for tools that call a kernel themselves; the executor calls the address directly.
PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.POINTER(ctypes.c_int64),  # status
    ctypes.POINTER(ctypes.c_void_p),  # excinfo
    ctypes.POINTER(ctypes.c_void_p),  # buffers
    ctypes.POINTER(ctypes.c_int64),  # sizes
    ctypes.c_int64,  # begin
    ctypes.c_int64,  # end
)
