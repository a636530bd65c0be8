"""Names of graphs by all that their Programs depend on: equal keys, equal Programs.

Rule: what cannot be written down byte by byte (a function of the program's, an op that is none of the package's) has no
key. The names of nodes and the lines that they were written at do not count: they are the graph's, not the Program's.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import platform
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fastgraph.core.base import flags
from fastgraph.core.base.dtype import DType, string
from fastgraph.core.base.shapes import Aval, Shape
from fastgraph.core.native.matmul import vector_bits
from fastgraph.core.registry import Primitive
from fastgraph.core.tensor import EagerTensor, as_array
from fastgraph.graph.ir import Graph, Node, Value

#: Types whose values stand for themselves.
_PLAIN = frozenset({int, bool, str, bytes, float, complex, type(None)})
_PACKAGE = Path(__file__).parents[2]
_LONG = 4096  # bytes: of longer constants a hash stands in the text


class Unnamed(Exception):
    """The graph holds what has no name that another process would give it, too."""


def graph_key(graph: Graph, shapes: Sequence[Shape]) -> str | None:
    """Return the name of the Program of an optimised graph for these witness shapes; None where it has none."""
    try:
        facts: Any = _Facts().of(graph), tuple(shapes), tuple(sorted(flags.get("passes")))
        # In the second version what stands twice is written twice: equal facts give equal bytes.
        return hashlib.sha256(_environment() + marshal.dumps(facts, 2)).hexdigest()[:40]
    except (Unnamed, ValueError):  # ValueError: facts that are too deep to be written
        return None


@cache
def _environment() -> bytes:
    """Everything but the graph that a Program depends on, as far as it is known before LLVM is asked for the CPU."""
    parts = [sys.version, sys.platform, platform.machine(), str(vector_bits())]
    folders = [str(_PACKAGE)]
    files = []
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith((".py", ".so", ".pyd")):
                    status = entry.stat()
                    files.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
                elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)
    return hashlib.sha256("\0".join([*parts, *sorted(files)]).encode(errors="surrogateescape")).digest()


@cache
def _is_ours(op: Primitive) -> bool:
    """Return whether the package defines an op: others may be another thing in the next process."""
    functions = [each for each in (op.body, op.infer, op.lower) if each is not None]
    return all(str(getattr(each, "__module__", "")).startswith("fastgraph.") for each in functions)


class _Facts:
    """Facts of a graph and those inside it, each of which is written once."""

    def __init__(self) -> None:
        self.graphs: dict[Graph, int] = {}

    def of(self, graph: Graph) -> object:
        """The facts of a graph, or the number of one that was written before."""
        if graph in self.graphs:
            return self.graphs[graph]
        self.graphs[graph] = len(self.graphs)
        number: dict[Value, int] = {}
        rows = [self.node(node, number) for node in graph.nodes]
        ends = [number[value] for value in (*graph.parameters, *graph.outputs)]
        return len(graph.inputs), len(graph.captures), ends, rows

    def node(self, node: Node, number: dict[Value, int]) -> tuple[object, ...]:
        """The facts of a node; its results get numbers."""
        if not _is_ours(node.op):
            raise Unnamed(node.op.name)
        is_const = node.op.name == "const"  # what is known of it stands in its attribute
        results = tuple([self.aval(value.aval, is_const) for value in node.outputs])
        inputs = tuple([number[value] for value in node.inputs])
        for value in node.outputs:
            number[value] = len(number)
        if node.op.name == "placeholder":
            return results
        attrs = tuple([(key, self.attr(value)) for key, value in node.attrs.items()])
        return node.op.name, inputs, attrs, results, node.device

    def aval(self, aval: Aval, is_const: bool) -> tuple[object, ...]:
        """The facts of a type."""
        known = None if is_const else aval.partial if aval.value is None else aval.value
        if known is None:
            return aval.dtype.code, aval.shape
        if known.dtype.hasobject:
            return aval.dtype.code, aval.shape, repr(known.tolist())
        return aval.dtype.code, aval.shape, aval.value is None, known.tobytes()

    def attr(self, value: Any) -> object:
        """The facts of an attribute. Raises Unnamed. Lists stand for what marshal does not know."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is tuple:
            return tuple([self.attr(each) for each in value])
        if isinstance(value, DType):
            return [value.name]
        if isinstance(value, Graph):
            return [self.of(value)]
        if not isinstance(value, EagerTensor):
            raise Unnamed(f"{kind.__name__}")
        if value.aval.dtype is string:
            return ["string", value.aval.shape, repr(as_array(value).tolist())]
        data = as_array(value).tobytes()
        return [value.aval.dtype.code, value.aval.shape, data if len(data) <= _LONG else hashlib.sha256(data).digest()]


__all__ = ["graph_key"]
