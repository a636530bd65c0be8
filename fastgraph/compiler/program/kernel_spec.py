"""A kernel before it has an address: its source text and all that its compilation depends on.

Rule: a KernelSpec is a pure value; two equal specs are the same machine code.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Rows of the blocks that kernels turn in registers (`turned_block`), by the bytes of an element.
SIDES = {1: 16, 2: 16, 4: 16, 8: 8}


@dataclass(frozen=True)
class KernelSpec:
    """The source of one kernel, in the canonical form in which it is shared by functions and shapes.

    `source` defines one Python function `kernel(buffers, sizes, begin, end)` that returns the status (0: fine, else
    (ordinal of the fallible op + 1) << 48 | flat position). `buffer_types` names the element type of each buffer slot
    as Numba spells it ("float32", "int64", "uint8", "uint16", ...): operands that share a slot share memory, which is
    how an in-place kernel is told from one with distinct buffers. `n_sizes` is the number of int64 run-time arguments.
    `imports` lists the vector-maths functions and intrinsics the source calls; they are part of its identity.
    """

    source: str
    buffer_types: tuple[str, ...]
    n_sizes: int
    imports: tuple[str, ...] = ()
    #: The name of a kernel in C (`compiler.library.fourier_lines`), which nobody compiles: it has no source.
    native: str = ""
