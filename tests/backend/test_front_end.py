"""The language of kernels: what Python makes of a source, the compiled kernel makes of it too, by the short road."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
from elementwise_kernels import call

SOURCES = {
    "ranges": """
        for i in range(sizes[0]):
            for k in range(i, 20, 3):
                y[k] = y[k] + i
            for k in range(i, -1, -2):
                y[k] += 100
    """,
    "ranges by steps of run time": """
        step = sizes[1]
        for k in range(0, 20, step):
            y[k] = 1
        back = -step
        for k in range(19, 2, back):
            y[k] += 10
        for k in range(5, 5, step):
            y[k] += 100
    """,
    "the last of a range": """
        at = 7
        for at in range(sizes[0]):
            y[at] = 1
        y[at + 1] = at
        for at in range(0):
            y[at] = 9
        y[at + 2] = at
    """,
    "while, break, continue": """
        n = 0
        while n < 20:
            n = n + 1
            if n % 3 == 0:
                continue
            if n > 14:
                break
            y[n] = n
        y[19] = n
    """,
    "branches": """
        for i in range(20):
            if i < 4:
                v = i * 2
            elif i == 7:
                v = -i
            else:
                v = i
                if i > 10 and not i % 2 == 0:
                    v += 5
            y[i] = v
    """,
    "conditions": """
        for i in range(20):
            y[i] = 3 if (i < 4 or i > 7) and (i != 12 or sizes[0] == 3) else 5 if 1 < i <= 3 else i
    """,
    "division": """
        at = 0
        for a in range(-3, 4):
            for b in range(-2, 3, 4):
                y[at] = a // b * 10 + a % b
                at = at + 1
    """,
    "tuples": """
        a, b = sizes[0], sizes[1]
        a, b = b, a
        y[0], y[1] = a * 3, b & 3
    """,
    "an early end": """
        for i in range(20):
            y[i] = i
            if i == sizes[1]:
                return i
    """,
    "a name of two types, one after the other": """
        v = 2
        y[0] = v
        v = 2.5
        y[1] = int64(v * 2)
        for i in range(3):
            v = i
            v = v + 1
            y[2 + i] = v
    """,
    "what a round leaves": """
        before = 0
        for i in range(20):
            y[i] = before
            before = i * i
            for k in range(2):
                before += k
        now = before
        y[0] = now
    """,
}  # fmt: skip


def kernel_of(body: str) -> str:
    head = "def kernel(buffers, sizes, begin, end):\n    y = buffers[0]\n"
    return head + textwrap.indent(textwrap.dedent(body), "    ") + "    return 0\n"


def compiled_and_interpreted(source: str) -> list[tuple[int, list[int]]]:
    """(status, what is in the buffer) by machine code and by Python."""
    from fastgraph.compiler.cpu.loader import Library
    from fastgraph.compiler.cpu.object_code import compile_kernel
    from fastgraph.compiler.cpu.target import kernel_key, symbol
    from fastgraph.compiler.program.kernel_spec import KernelSpec

    spec, ours, theirs = KernelSpec(source, ("int64",), 2), np.zeros(24, "int64"), np.zeros(24, "int64")
    key = kernel_key(spec)
    library = Library(compile_kernel(spec, key).code, symbol(key))
    names = {"int64": np.int64}
    exec(source, names)
    want = names["kernel"]([theirs], np.array([3, 4]), 0, 1)
    return [(call(library.address, [ours.ctypes.data], [3, 4], 0, 1), ours.tolist()), (want, theirs.tolist())]


@pytest.mark.parametrize("name", SOURCES)
def test_a_kernel_does_what_its_source_says(name: str) -> None:
    from fastgraph.compiler.cpu import object_code

    before = dict(object_code.refused)
    ours, theirs = compiled_and_interpreted(kernel_of(SOURCES[name]))
    assert ours == theirs
    assert object_code.refused == before


def test_complex_numbers() -> None:
    from elementwise_kernels import evaluate

    from fastgraph.compiler.cpu import object_code

    before = dict(object_code.refused)
    z = np.array([1 + 2j, 3 - 1j], "complex64")
    np.testing.assert_array_equal(evaluate("a + complex64(complex(2.0, 1.0))", z), z + np.complex64(2 + 1j))
    assert object_code.refused == before


def test_what_the_short_road_does_not_know_numba_compiles() -> None:
    """A name with another type on each way here."""
    from fastgraph.compiler.cpu import object_code

    source = kernel_of("""
        if sizes[0] > 2:
            v = 1
        else:
            v = 2.5
        y[0] = int64(v * 4)
    """)
    before = len(object_code.refused)
    ours, theirs = compiled_and_interpreted(source)
    assert ours == theirs
    assert len(object_code.refused) == before + 1
