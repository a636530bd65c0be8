"""Parts that the kernels of convolutions share: their geometry, this CPU's vectors, and text that calls blocks.

Rule: knows no node and no step; `register_block_intrinsics` says what a block is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Geometry:
    """Facts about one convolution before any run: all about the filter. `c`, `f`: channels of one group."""

    window: tuple[int, ...]
    c: int
    f: int
    groups: int
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: Any

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.window)

    @property
    def filter_size(self) -> int:
        """The number of elements of the filter."""
        return math.prod(self.window) * self.c * self.f * self.groups


@dataclass(frozen=True)
class Width:
    """The vectors of this CPU, as far as blocks are concerned."""

    lanes: int
    registers: int


@cache
def width() -> Width:
    """The vectors of the CPU that kernels are compiled for."""
    from fastgraph.compiler.cpu.target import host

    this = host()
    if this.vector_bits == 512:
        return Width(16, 32)
    if "+avx" in this.features:
        return Width(8, 16)
    return Width(4, 32 if this.triple.startswith("aarch64") else 16)


class Text:
    """Lines of a kernel's source."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1

    def __call__(self, *lines: str) -> None:
        """Append lines."""
        self.lines += ["    " * self.depth + line for line in lines]

    def open(self, header: str) -> None:
        """Append a header; what follows is inside it."""
        self(header)
        self.depth += 1

    def close(self, n: int = 1) -> None:
        """End the last n headers."""
        self.depth -= n

    def source(self) -> str:
        """The whole function."""
        return "def kernel(buffers, sizes, begin, end):\n" + "\n".join(self.lines) + "\n    return 0\n"


def vectors(f: int) -> tuple[int, int, int, int]:
    """(lanes, lanes of the last vector, vectors, vectors in a block) for rows of f numbers."""
    lanes = width().lanes
    while lanes > 4 and lanes // 2 >= f:
        lanes //= 2
    n = -(-f // lanes)
    most = 2  # with more of them fewer pixels share a load of the filter, which comes from farther away
    return lanes, f - (n - 1) * lanes, n, -(-n // -(-n // most))


def most_broadcast(n_vectors: int) -> int:
    """How many numbers to broadcast against so many vectors: all sums, the vectors and one more are in registers."""
    return max(1, min(14, (width().registers - n_vectors - 2) // n_vectors))


def shared(entries: int, n_vectors: int) -> int:
    """Into runs of how many to cut entries of a filter's gradient: even ones, as long as their sums fit registers."""
    most = max(1, (width().registers - n_vectors - 2) // n_vectors)
    return entries if entries <= most else -(-entries // -(-entries // min(most, 16)))


def _turns(n: int) -> int:
    """How many sets of n sums take turns, so that none waits for itself (two units, four cycles)."""
    return max(1, 8 // n)


#: What a block does with its sums at the end: see `blocks_cpu.block_float32`.
STORE, ADD, BIAS, BIAS_RELU = range(4)


def block_call(
    n_p: int,
    n_v: int,
    lanes: int,
    tail: int,
    ending: int,
    x: str,
    y: str,
    out: str,
    steps: str,
    loops: str,
    also: str = "",
) -> str:
    """The call of one block; the arguments are those of `block_float32`."""
    shape = f"({n_p}, {n_v}, {lanes}, {tail}, {_turns(n_p * n_v)}, {ending})"
    return f"block_float32({shape}, {x}, {y}, {out}, {also or out}, {steps}, ({loops}))"


def before_line(text: Text, name: str, n: str, m: str, k: int, s: int, d: int, padding: Any) -> None:
    """The line that says how far windows reach over the beginning of an axis."""
    if padding == "VALID":
        text(f"{name} = 0")
    elif padding == "SAME":
        text(f"{name} = max(({m} - 1) * {s} + {(k - 1) * d + 1} - {n}, 0) // 2")
    else:
        text(f"{name} = {padding[0]}")


def pad_of(g: Geometry, axis: int) -> Any:
    return g.padding if isinstance(g.padding, str) else g.padding[axis]


def over_blocks(
    text: Text, n_vectors: int, each: int, lanes: int, tail: int, call: Callable[[str, int, int], str], looped: bool
) -> None:
    """The calls for all vectors of a row, in blocks of `each`; if `looped`, for the block that `block` names."""
    n_blocks = -(-n_vectors // each)
    last = n_vectors - (n_blocks - 1) * each
    whole = n_blocks if last == each and tail == lanes else n_blocks - 1
    step = each * lanes
    if looped:
        text.open(f"if block < {whole}:")
        text(call(f"block * {step}", each, lanes))
        text.close()
    elif whole == 1:
        text(call("0", each, lanes))
    elif whole > 1:
        text.open(f"for v in range(0, {whole * step}, {step}):")
        text(call("v", each, lanes))
        text.close()
    if whole < n_blocks:
        if looped:
            text.open("else:")
        text(call(str(whole * step), last, tail))
        if looped:
            text.close()
