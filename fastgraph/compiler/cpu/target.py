"""The CPU that kernels are compiled for and loaded on, and what names their machine code.

Rule: imports llvmlite, never Numba: a program whose kernels are in the store asks only this module.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from fastgraph.compiler.program.kernel_spec import KernelSpec

#: Raised whenever the meaning of a kernel's arguments or of its object code changes.
ABI = 1
OPTIONS = "error_model=numpy opt=3 vectorise slp unroll interleave reloc=pic codemodel=small"

#: Functions of the maths library that kernels may call, without the "f" of their float32 forms. (LLVM makes sincos of a
#: sine and a cosine of one number.)
LIBM = (
    "sin", "cos", "sincos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "fmod", "erf", "erfc", "lgamma", "nextafter",
    "floor", "ceil", "trunc", "rint", "round", "sqrt", "fma", "ldexp", "hypot",
)  # fmt: skip

#: The files whose text decides what a kernel's calls mean.
_SOURCES = (
    "../vecmath/functions.py", "../vecmath/float_formats.py", "../vecmath/exponentials.py", "../vecmath/powers.py",
    "../vecmath/trigonometry.py", "../vecmath/inverse_functions.py", "../vecmath/special_functions.py",
    "../vecmath/bessel.py", "../vecmath/incomplete_gamma.py", "../vecmath/incomplete_beta.py",
    "../vecmath/philox.py", "complex_arithmetic.py", "llvm_lanes.py", "gamma_variates.py",
    "../../core/base/gamma_expansion.py", "register_block_intrinsics.py",
    "intrinsics.py", "front_end.py", "object_code.py", "target.py", "transpose_intrinsics.py",
)  # fmt: skip


@dataclass(frozen=True)
class Host:
    """This machine, as LLVM is told about it."""

    triple: str
    cpu: str
    features: str

    @property
    def vector_bits(self) -> int:
        """The vector width to ask LLVM for, 0 for its own choice (256 where 512 is there).

        On the CPUs with AVX-512 since Ice Lake and Zen 4, known by VBMI2, wide vectors no longer slow the clock down.
        """
        return 512 if "+avx512vbmi2" in self.features and "+avx512vl" in self.features else 0

    @property
    def least_lanes(self) -> int:
        """The least number of loop elements that LLVM takes together, where it takes several: in what it leaves of one
        too, which has shorter vectors."""
        return 4 if self.vector_bits == 512 else 2

    @property
    def fused(self) -> bool:
        """True if there is an instruction that multiplies and adds, rounding once."""
        return "+fma" in self.features.split(",") or not self.triple.startswith("x86_64")

    def form_lanes(self, bits: int) -> tuple[int, ...]:
        """The lengths of vectors for which functions of numbers of so many bits have forms: the widest, the shortest.

        Not those between: LLVM would take what a loop leaves by them, and few elements, as small states have, one by
        one.
        """
        widest = self.vector_bits or (256 if "+avx2" in self.features.split(",") else 128)
        shortest = max(self.least_lanes, 128 // bits)
        return (shortest,) if widest // bits <= shortest else (shortest, widest // bits)

    def machine(self, without: str = "") -> Any:
        """An LLVM target machine for it, `without` features (",-avx512dq"). Position-independent: the loader may put
        code and data far apart."""
        target, features = llvm.Target.from_triple(self.triple), self.features + without
        return target.create_target_machine(cpu=self.cpu, features=features, opt=3, reloc="pic", codemodel="small")


@cache
def host() -> Host:
    """The machine this process runs on."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


def version(package: str) -> str:
    """The version of an installed package. Raises PackageNotFoundError for one that is not installed.

    As the name of its folder of metadata says, which stands beside it: importlib.metadata takes 15 ms to import.
    """
    spec = find_spec(package)
    places = [Path(place).parent for place in (spec.submodule_search_locations if spec is not None else None) or ()]
    found = [each.name for place in places for each in place.glob(f"{package}-*.dist-info")]
    if len(found) == 1:
        return found[0].removeprefix(f"{package}-").removesuffix(".dist-info")
    from importlib import metadata

    return metadata.version(package)


@cache
def _environment() -> bytes:
    """Everything but the kernel itself that its machine code depends on."""
    here = Path(__file__).parent
    this = host()
    parts = [
        f"fastgraph kernel {ABI}",
        OPTIONS,
        this.triple,
        this.cpu,
        this.features,
        f"python {sys.version_info[0]}.{sys.version_info[1]} {platform.machine()}",
        *(f"{package} {version(package)}" for package in ("numba", "llvmlite")),
        *((here / name).read_text(encoding="utf-8") for name in _SOURCES),
    ]
    return "\0".join(parts).encode()


@cache
def environment() -> bytes:
    """A name of all that kernels' machine code depends on besides the kernels."""
    return hashlib.sha256(_environment()).digest()


def kernel_key(spec: KernelSpec) -> str:
    """The name of a kernel's machine code: equal keys, equal code. 40 hexadecimal digits."""
    text = "\0".join((spec.source, ",".join(spec.buffer_types), str(spec.n_sizes), ",".join(spec.imports)))
    return hashlib.sha256(environment() + text.encode()).hexdigest()[:40]


def symbol(key: str) -> str:
    """The name of a kernel's entry point. Numba's own names repeat between processes; the key does not."""
    return f"fg_{key}"
