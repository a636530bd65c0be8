"""Fourier transforms along one axis as kernels in C (`core/native/fourier.h`): a unit of work is one line.

Rule: of lengths that are known and made of small primes, for which those are as fast as SciPy's or faster, and without
Python; the others remain host steps.
"""

from __future__ import annotations

import math

from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.library.kernel_source import Ordered, Shapes
from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.program.program import Size
from fastgraph.core.native import array_kernels
from fastgraph.graph.ir import Node

_KINDS = ("complex", "from_real", "to_real")
#: Numbers of a line up to which it need not fill vectors by itself: lines go side by side, and of one the rest is idle.
MOST_BESIDE = 2048
#: And at most: a thread has four rows of a line's numbers, or of eight lines' where others are beside it.
MOST, MOST_ROWS = 1 << 20, 1 << 16


def native_address(name: str) -> int:
    """The address of a kernel in C, by the name that its spec has for it."""
    kind, dtype = name.split(".")
    return array_kernels.fourier_kernel(_KINDS.index(kind), dtype == "float64")


def is_fit(n: int | None) -> bool:
    """Return whether a line of so many complex numbers has a kernel."""
    if not n:
        return False
    rest = n
    for prime in (2, 3, 5, 7, 11, 13):
        while rest % prime == 0:
            rest //= prime
    return rest == 1 and n <= MOST and (n <= MOST_BESIDE or n % 16 == 0)


def fourier_kernel(node: Node, how: str, shapes: Shapes) -> Ordered | None:
    """The lines of x0 along the op's one axis, transformed."""
    x, out, attrs = node.inputs[0], node.outputs[0], node.attrs
    real = {"complex": x, "from_real": x, "to_real": out}[how]
    dtype = {"complex64": "float32", "complex128": "float64"}.get(real.aval.dtype.name, real.aval.dtype.name)
    name = f"{how}.{dtype}"
    if len(attrs["axes"]) != 1 or dtype not in ("float32", "float64") or not native_address(name):
        return None
    axis = attrs["axes"][0] % shapes.rank(x)
    n, given = (None if each.aval.shape is None else each.aval.shape[axis] for each in (real, x))  # noted: of any call
    if (
        n is None
        or not is_fit(n)
        or (n > MOST_ROWS and axis + 1 < shapes.rank(x))
        or (how == "to_real" and given != n // 2 + 1)
    ):
        return None
    flags = 1 * attrs["scaled"] | 2 * attrs.get("doubled", False) | 4 * attrs.get("inverse", False)
    sizes = (Size(n), shapes.of(x, axis + 1), Size(flags))
    types = tuple([render.storage(v.aval.dtype.name) for v in (x, out)])
    spec = KernelSpec("", types, len(sizes), native=name)
    cost = (0.2 if how == "complex" else 0.12) * n * math.log2(n + 1) * (1 if dtype == "float32" else 2) + 10
    extent = Size(1, shapes.of(x, 0, axis).dims + sizes[1].dims)
    return Ordered(spec, (x, out), sizes, extent, cost, (), fallible=False, over=None)
