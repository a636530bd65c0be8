"""Programs from one process to the next: they lie beside their kernels in the store.

Rule: a Program is plain data there, and is taken for a graph of the same key alone, on a CPU for which the same kernels
would be compiled. Whatever is wrong with it costs its making, never an error.
"""

from __future__ import annotations

import marshal

from fastgraph.compiler.program.packed import Unpackable, pack, unpack
from fastgraph.compiler.program.program import Program
from fastgraph.compiler.store import kernel_service
from fastgraph.compiler.store.kernel_store import PROGRAM, store
from fastgraph.graph.ir import Graph


def recall(key: str, graph: Graph) -> Program | None:
    """Return the Program that is stored under the key of a graph, if it is one for this machine."""
    data = store().read(key, PROGRAM)
    if data is None:
        return None
    try:
        environment, packed = marshal.loads(data)
        return unpack(packed, graph) if environment == kernel_service.environment() else None
    except Exception:  # whole, and of this user's key, but no Program of this graph
        return None


def keep(key: str, program: Program) -> None:
    """Store a Program, if it can be, under the key of its graph."""
    try:
        packed = pack(program)
    except Unpackable:
        return
    store().write(key, marshal.dumps((kernel_service.environment(), packed)), PROGRAM)
