"""The builder that ops' lowerings are written with, and the target-neutral loop nests that fusion makes of them.

Rule: a lowering says what one element is; only fusion and the emitters know in which loop it is computed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastgraph.compiler.nest.scalar_ir import Index, Number, Scalar, Table, in_range, walk
from fastgraph.core.base import expr
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.expr import Typed


class Operand:
    """An input or output of the node being lowered: `dtype` (its name), `rank`, `shape` (run-time extents)."""

    __slots__ = ("_read", "dtype", "rank", "shape")

    def __init__(self, dtype: str, shape: Sequence[Scalar], read: Callable[[Index], Scalar] | None) -> None:
        self.dtype = dtype
        self.shape = tuple(shape)
        self.rank = len(self.shape)
        self._read = read

    def at(self, index: Sequence[Scalar | int]) -> Scalar:
        """The element at `index`, one int64 scalar per axis."""
        if self._read is None:
            raise TypeError("an output has no elements yet")
        table = self.shape[0].table if self.shape else None
        if len(index) != self.rank:
            raise IndexError(f"{len(index)} indices for an operand of rank {self.rank}")
        return self._read(tuple([i if isinstance(i, Scalar) else table.const(i, "int64") for i in index]))  # type: ignore[union-attr]

    def broadcast_at(self, index: Sequence[Scalar]) -> Scalar:
        """The element at an index of the result it is broadcast to: axes align at the end, extents of 1 stay at 0."""
        own = index[len(index) - self.rank :] if self.rank else ()
        return self.at([0 if n.op == "const" and n.attr == 1 else i for i, n in zip(own, self.shape, strict=True)])


@dataclass
class Builder:
    """Builder for `lower(b, node)`, which returns one function per output, from an index to the element's scalar."""

    table: Table
    inputs: Sequence[Operand]
    outputs: Sequence[Operand]
    key: object = None  # names the node in a failing check

    @property
    def n_inputs(self) -> int:
        """The number of inputs of the node."""
        return len(self.inputs)

    def input(self, i: int) -> Operand:
        """The node's input number i."""
        return self.inputs[i]

    def output(self, i: int = 0) -> Operand:
        """The node's output number i (its dtype and shape; it has no elements)."""
        return self.outputs[i]

    def const(self, value: Number, dtype: str | DType = "int64") -> Scalar:
        """A literal: it specialises the kernel, so only for numbers that belong to the op itself."""
        return self.table.const(value, dtype)

    def param(self, value: int) -> Scalar:
        """A run-time int64 argument (a slice's offset, an axis's step): the kernel is shared by all its values."""
        return self.table.param(value)

    def op(self, name: str, *args: Scalar | Number) -> Scalar:
        """An operation of the expression language on scalars; plain numbers take the dtype of the first Scalar."""
        dtype = next(a.dtype for a in args if isinstance(a, Scalar) and (name != "select" or a is not args[0]))
        return self.table.op(name, *[a if isinstance(a, Scalar) else self.table.const(a, dtype) for a in args])

    def cast(self, x: Scalar, dtype: str | DType) -> Scalar:
        """`x` in another dtype, with NumPy's meaning."""
        return self.table.cast(x, dtype)

    def select(self, c: Scalar, x: Scalar | Number, y: Scalar | Number) -> Scalar:
        """`x` where `c`, else `y`; reads in the branch not taken never happen where they might be out of range."""
        return self.op("select", c, x, y)

    def reduce(self, kind: str, extents: Sequence[Scalar], body: Callable[[Index], Scalar]) -> Scalar:
        """Combine `body(index)` over an index space: sum prod max min any all, argmax argmin (one extent; int64)."""
        if kind in ("argmax", "argmin") and len(extents) != 1:
            raise ValueError(f"{kind} goes over one extent")
        variables = tuple([self.table.var(n) for n in extents if not (n.op == "const" and n.attr == 1)])
        fresh = iter(variables)
        zero = self.table.const(0, "int64")
        inner = body(tuple([zero if n.op == "const" and n.attr == 1 else next(fresh) for n in extents]))
        if not variables:
            return zero if kind.startswith("arg") else inner
        return self.table.reduce(kind, variables, inner)

    def check(self, ok: Scalar, x: Scalar, position: Scalar | int = 0) -> Scalar:
        """`x`; where `ok` is false the kernel fails, naming this op and the flat position of the bad element."""
        at = position if isinstance(position, Scalar) else self.table.const(position, "int64")
        return self.table.check(self.key, ok, x, at)

    def expr(self, text: str, **scalars: Scalar) -> Scalar:
        """The expression language over scalars; numbers take the dtype of what they are combined with."""
        return self._typed(_annotated(text, tuple([(k, s.dtype) for k, s in scalars.items()])), scalars)

    def _typed(self, tree: Typed, scalars: dict[str, Scalar]) -> Scalar:
        if tree.op == "name":
            return scalars[str(tree.value)]
        if tree.op == "literal":
            assert isinstance(tree.value, int | float)
            return self.table.const(tree.value, tree.dtype)
        args = [self._typed(a, scalars) for a in tree.args]
        if tree.op == "select":
            return self.table.select(*args, both=True)
        return self.table.cast(args[0], tree.dtype) if tree.op == "cast" else self.table.op(tree.op, *args)

    def within(self, index: Scalar, extent: Scalar, given: Scalar, own: Scalar) -> Scalar:
        """An index that is in range(extent) where the result's index `given` is in range(own)."""
        if in_range(given, own):
            self.table.within.add((index, extent))
        return index

    def flat(self, index: Sequence[Scalar], shape: Sequence[Scalar]) -> Scalar:
        """The row-major position of `index` in `shape`."""
        total: Scalar = self.table.const(0, "int64")
        for i, n in zip(index, shape, strict=True):
            total = total * n + i
        return total

    def unflat(self, position: Scalar, shape: Sequence[Scalar]) -> Index:
        """The index in `shape` of a row-major position."""
        index: list[Scalar] = []
        ones = 0  # axes of one element in front: what follows them is the outermost, which needs no remainder
        while ones + 1 < len(shape) and shape[ones].op == "const" and shape[ones].attr == 1:
            ones += 1
        for n in reversed(shape[ones + 1 :]):
            index.append(position % n)
            position = position // n
        return (*(self.table.const(0, "int64"),) * ones, position, *reversed(index)) if shape else ()

    def reshaped(self, index: Sequence[Scalar], source: Sequence[Scalar], target: Sequence[Scalar]) -> Index:
        """The index in `target` of the element that lies at `index` in `source`: the same elements in row-major order.

        Runs of axes with equal products map to each other, so that axes which a reshape leaves alone stay themselves.
        """
        if any(_witness(n) == 0 for n in source):
            return self.unflat(self.flat(index, source), target)
        result: list[Scalar] = []
        s = t = 0
        while s < len(source) or t < len(target):
            s0, t0, a, b = s, t, 1, 1
            while a != b or (s == s0 and t == t0):
                if s < len(source) and (a < b or s == s0 or t == len(target)):
                    a *= _witness(source[s])
                    s += 1
                else:
                    b *= _witness(target[t])
                    t += 1
                if t == t0 and t < len(target):
                    b *= _witness(target[t])
                    t += 1
            result += self._reshaped_run(index[s0:s], source[s0:s], target[t0:t])
        return tuple(result)

    def _reshaped_run(
        self, index: Sequence[Scalar], source: Sequence[Scalar], target: Sequence[Scalar]
    ) -> list[Scalar]:
        wide = [i for i, n in zip(index, source, strict=True) if _witness(n) != 1]
        if len(wide) == 1 and sum(_witness(n) != 1 for n in target) == 1:
            return [wide[0] if _witness(n) != 1 else self.table.const(0, "int64") for n in target]
        return list(self.unflat(self.flat(index, source), target))


@functools.lru_cache(1024)
def _annotated(text: str, dtypes: tuple[tuple[str, str], ...]) -> Typed:
    """The expression with the dtypes of its operands; a graph asks for the same few again and again."""
    return expr.annotate(expr.parse(text).root, dict(dtypes), dtypes[0][1] if dtypes else "float32")


def _witness(extent: Scalar) -> int:
    if extent.witness is None:
        raise TypeError(f"not an extent: {extent}")
    return extent.witness


@dataclass
class Store:
    """`scalar` written to the value `key` at `index`, for all values of `variables` inside the shared loops."""

    key: object
    dtype: str
    index: Index
    shape: tuple[Scalar, ...]
    variables: Index
    scalar: Scalar


@dataclass
class LoopNest:
    """Shared outer loops (outermost first) with stores in them; `in_place` pairs a loaded value with a stored one."""

    dims: Index
    stores: list[Store]
    shapes: dict[object, tuple[Scalar, ...]]  # of every value that is loaded or stored
    in_place: dict[object, object] = field(default_factory=dict)


def stages(dims: Index, stores: Sequence[Any]) -> dict[Scalar | int, int]:
    """Return how many joined loops must come before each reduction or store loop that hangs in the shared loops.

    What is read back from a value that the nest stores comes after the first store of it.
    """
    shared = frozenset(dims)
    depth: dict[Scalar, int] = {}
    found: dict[Scalar | int, int] = {}
    written: dict[object, int] = {}
    seen: set[Scalar] = set()
    for i, store in enumerate(stores):
        for term in walk([store.scalar], seen):
            n = max((depth[a] for a in term.args), default=0)
            if term.op == "reduce" and term.free <= shared:
                n += 1
                found[term] = n
            elif term.op in ("load", "read"):
                n = max(n, written.get(term.attr, 0))
            depth[term] = n
        found[i] = depth[store.scalar] + 1
        written.setdefault(store.key, found[i])
    return found
