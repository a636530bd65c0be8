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


class SharedText(Text):
    """The source of a kernel whose numbers come at run time: kernels of other numbers are the same machine code.

    What stays in the text is what its form depends on: how many axes, which blocks of registers. `sizes`: the names of
    what the step itself gives, before the numbers.
    """

    def __init__(self, *sizes: str) -> None:
        super().__init__()
        self._sizes = sizes
        self.numbers: dict[str, int] = {}

    def number(self, name: str, value: int) -> str:
        """The name of a number, one of the kernel's last sizes."""
        assert self.numbers.setdefault(name, value) == value, name
        return name

    def source(self) -> str:
        names = [*self._sizes, *self.numbers]
        body = "".join(f"    {name} = sizes[{i}]\n" for i, name in enumerate(names))
        head, _, rest = super().source().partition("\n")
        return f"{head}\n{body}{rest}"


class Axes:
    """A geometry's numbers as names in a kernel's source."""

    def __init__(self, g: Geometry, text: SharedText) -> None:
        self._g, self._text = g, text

    def window(self, k: int) -> str:
        """The number of taps along axis k."""
        return self._text.number(f"window{k}", self._g.window[k])

    def stride(self, k: int) -> str:
        """The distance of windows along axis k."""
        return self._text.number(f"stride{k}", self._g.strides[k])

    def dilated(self, k: int, taps: str) -> str:
        """The distance of so many taps along axis k; most windows have no gaps, and no multiplication here."""
        d = self.dilation(k)
        return taps if d == "1" else f"({taps}) * {d}"

    def dilation(self, k: int) -> str:
        """The distance of two taps along axis k."""
        d = self._g.dilations[k]
        return "1" if d == 1 else self._text.number(f"dilation{k}", d)

    def before(self, k: int, n: str, m: str) -> None:
        """The line of `a{k}`: how far windows reach over the beginning of axis k, of n pixels under m windows."""
        padding: Any = self._g.padding if isinstance(self._g.padding, str) else self._g.padding[k]
        if padding == "VALID":
            self._text(f"a{k} = 0")
        elif padding == "SAME":
            reach = self.dilated(k, f"{self.window(k)} - 1")
            self._text(f"a{k} = max(({m} - 1) * {self.stride(k)} + {reach} + 1 - {n}, 0) // 2")
        else:
            self._text(f"a{k} = {self._text.number(f'padding{k}', padding[0])}")


def vectors(f: int) -> tuple[int, int, int, int]:
    """(lanes, lanes of the last vector, vectors, vectors in a block) for rows of f numbers."""
    lanes = width().lanes
    while lanes > 4 and lanes // 2 >= f:
        lanes //= 2
    n = -(-f // lanes)
    most = 2  # with more of them fewer pixels share a load of the filter, which comes from farther away
    return lanes, f - (n - 1) * lanes, n, -(-n // -(-n // most))


def most_broadcast(n_vectors: int) -> int:
    """Return how many numbers to broadcast against the vectors: all sums, the vectors and one more are in registers."""
    return max(1, min(14, (width().registers - n_vectors - 2) // n_vectors))


def shared(entries: int, n_vectors: int) -> int:
    """Into runs of how many to cut entries of a filter's gradient: even ones, as long as their sums fit registers."""
    most = max(1, (width().registers - n_vectors - 2) // n_vectors)
    return entries if entries <= most else -(-entries // -(-entries // min(most, 16)))


def _turns(n: int) -> int:
    """Return how many sets of n sums take turns, so that none waits for itself (two units, four cycles)."""
    return max(1, 8 // n)


#: A block's treatment of its sums at the end: see `blocks_cpu.block_float32`.
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


def over_blocks(
    text: SharedText,
    n_vectors: int,
    each: int,
    lanes: int,
    tail: int,
    call: Callable[[str, int, int], str],
    looped: bool,
) -> None:
    """The calls for all vectors of a row, in blocks of `each`; if `looped`, for the block that `block` names."""
    n_blocks = -(-n_vectors // each)
    last = n_vectors - (n_blocks - 1) * each
    whole = n_blocks if last == each and tail == lanes else n_blocks - 1
    step = each * lanes
    if whole:
        end = text.number("whole", whole * step)
    if looped:
        text(f"v = block * {step}")
        text.open(f"if v < {end}:")
        text(call("v", each, lanes))
        text.close()
    elif whole:
        text.open(f"for v in range(0, {end}, {step}):")
        text(call("v", each, lanes))
        text.close()
    if whole < n_blocks:
        if looped:
            text.open("else:")
        text(call(end if whole else "0", last, tail))
        if looped:
            text.close()
