"""Scalars: the hash-consed description of one element, in which kernels are put together; knows no target.

Rule: scalars are immutable and interned in a table, so equal terms are one object and common subterms cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from fastgraph.core.base import expr
from fastgraph.core.base.dtype import DType

#: Dtypes whose scalars are counted, compared and indexed exactly.
_INTEGERS = frozenset(expr.INTEGERS)
_KINDS = frozenset({"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"})
_NO_VARIABLES: frozenset[Scalar] = frozenset()

Number = bool | int | float | complex
Index = tuple["Scalar", ...]


class Scalar:
    """One number, as a term: `op` applied to `args`. Made by a `Table` or a `Builder` only.

    op is "const" (attr: the number), "extent" (attr: (key of a value, axis); a run-time size), "param" (attr: an int
    passed at run time), "var" (attr: ordinal; args: its extent, or with it the bounds of a part of it), "load" (attr:
    key of a value; args: the index), "read" (the same; args: the flat position), "cast", "select" (lazy, but with attr
    "both"), "check" (attr: key of the failing op; args: ok, result, flat position), "reduce" (attr: (kind, its number
    of variables); args: the variables, then the body), or one of the expression language's operations.
    `free` holds the loop variables it depends on; `risky` says that computing it where it is not asked for might read
    outside a buffer. Python's operators build integer and float arithmetic; equality of objects is equality of terms.
    """

    __slots__ = ("args", "attr", "dtype", "free", "op", "risky", "table", "witness")

    def __init__(
        self,
        table: Table,
        op: str,
        dtype: str,
        args: Index,
        attr: Any,
        free: frozenset[Scalar],
        risky: bool,
        witness: int | None,
    ) -> None:
        self.table = table
        self.op = op
        self.dtype = dtype
        self.args = args
        self.attr = attr
        self.free = free
        self.risky = risky
        self.witness = witness

    @property
    def is_known(self) -> bool:
        """True if an extent is the same number in every call."""
        if self.op != "extent":
            return self.op == "const"
        key, axis = self.attr
        shape = key.aval.shape if hasattr(key, "aval") else None
        return shape is not None and shape[axis] is not None

    @property
    def is_guard(self) -> bool:
        """True for a select one branch of which must not be computed where it is not chosen."""
        return self.op == "select" and self.attr is None and (self.args[1].risky or self.args[2].risky)

    def __repr__(self) -> str:
        return format_scalar(self)

    def _other(self, other: Scalar | Number) -> Scalar:
        return other if isinstance(other, Scalar) else self.table.const(other, self.dtype)

    def __add__(self, other: Scalar | Number) -> Scalar:
        return self.table.op("add", self, self._other(other))

    def __radd__(self, other: Number) -> Scalar:
        return self.table.op("add", self._other(other), self)

    def __sub__(self, other: Scalar | Number) -> Scalar:
        return self.table.op("sub", self, self._other(other))

    def __rsub__(self, other: Number) -> Scalar:
        return self.table.op("sub", self._other(other), self)

    def __mul__(self, other: Scalar | Number) -> Scalar:
        return self.table.op("mul", self, self._other(other))

    def __rmul__(self, other: Number) -> Scalar:
        return self.table.op("mul", self._other(other), self)

    def __truediv__(self, other: Scalar | Number) -> Scalar:
        return self.table.op("div", self, self._other(other))

    def __floordiv__(self, other: Scalar | Number) -> Scalar:
        return self.table.op("floordiv", self, self._other(other))

    def __mod__(self, other: Scalar | Number) -> Scalar:
        return self.table.op("floormod", self, self._other(other))

    def __neg__(self) -> Scalar:
        return self.table.op("neg", self)

    def __and__(self, other: Scalar) -> Scalar:
        return self.table.op("and", self, self._other(other))

    def __or__(self, other: Scalar) -> Scalar:
        return self.table.op("or", self, self._other(other))

    def __invert__(self) -> Scalar:
        return self.table.op("not", self)

    def __lt__(self, other: Scalar | Number) -> Scalar:
        return self.table.op("lt", self, self._other(other))

    def __le__(self, other: Scalar | Number) -> Scalar:
        return self.table.op("le", self, self._other(other))

    def __gt__(self, other: Scalar | Number) -> Scalar:
        return self.table.op("gt", self, self._other(other))

    def __ge__(self, other: Scalar | Number) -> Scalar:
        return self.table.op("ge", self, self._other(other))

    def eq(self, other: Scalar | Number) -> Scalar:
        """bool: whether two numbers are equal (`==` compares the terms)."""
        return self.table.op("eq", self, self._other(other))

    def ne(self, other: Scalar | Number) -> Scalar:
        """bool: whether two numbers differ."""
        return self.table.op("ne", self, self._other(other))


class Table:
    """Interns scalars; one per program that is built."""

    def __init__(self) -> None:
        self._terms: dict[tuple[Any, ...], Scalar] = {}
        self._n_vars = 0
        self.within: set[tuple[Scalar, Scalar]] = set()  # indices that are surely in range(extent)

    def make(self, op: str, dtype: str, args: Index = (), attr: Any = None, *, witness: int | None = None) -> Scalar:
        """The one scalar of this description; `attr` must be hashable."""
        # 1, 1.0 and True hash alike, and so do 0.0 and -0.0: the text tells them apart.
        key = (op, dtype, args, repr(attr) if op == "const" else attr)
        term = self._terms.get(key)
        if term is None:
            # Most arguments depend on the same variables: one set for all of them is made once, and compared quickly.
            free, risky = _NO_VARIABLES, op == "check"
            for a in args:
                if a.free is not free and not a.free <= free:
                    free = free | a.free if free else a.free
                risky = risky or a.risky
            if op == "reduce":
                free = free.difference(args[: attr[1]])
            term = Scalar(self, op, dtype, args, attr, free, risky, witness)
            if op == "var":
                term.free = free | {term}
            self._terms[key] = term
        return term

    def const(self, value: Number, dtype: str | DType) -> Scalar:
        """A literal of this dtype."""
        name = dtype if isinstance(dtype, str) else dtype.name
        if name == "bool":
            value = bool(value)
        elif name in _INTEGERS:
            value = int(value.real)
        elif not isinstance(value, complex) or not name.startswith("complex"):
            value = float(value.real)
        return self.make("const", name, (), value, witness=value if name == "int64" else None)  # type: ignore[arg-type]

    def extent(self, key: object, axis: int, witness: int) -> Scalar:
        """The extent of one axis of a value: a run-time size, except that 1 is always 1."""
        if witness == 1:
            return self.const(1, "int64")
        return self.make("extent", "int64", (), (key, axis), witness=witness)

    def param(self, value: int) -> Scalar:
        """An int64 that is passed to the kernel at run time, so that it does not specialise the kernel."""
        return self.make("param", "int64", (), int(value), witness=int(value))

    def var(self, extent: Scalar) -> Scalar:
        """A fresh loop variable over range(extent)."""
        self._n_vars += 1
        return self.make("var", "int64", (extent,), self._n_vars)

    def load(self, key: object, dtype: str, index: Index, shape: Sequence[Scalar]) -> Scalar:
        """The element of a stored value at `index`; an index that is not surely in range makes it risky."""
        term = self.make("load", dtype, tuple(index), key)
        term.risky = term.risky or not all(in_range(i, n) for i, n in zip(index, shape, strict=True))
        return term

    def op(self, name: str, *args: Scalar) -> Scalar:
        """`name` applied to arguments of one dtype; index arithmetic is simplified."""
        if name == "select":
            return self.select(*args)
        dtype = args[0].dtype
        for argument in args[1:]:
            if argument.dtype != dtype and name not in ("lshift", "rshift"):
                raise TypeError(f"operands of {name} differ: {dtype} and {argument.dtype}")
        if dtype == "int64":
            simple = _simplify(self, name, args)
            if simple is not None:
                return simple
        return self.make(name, expr.result_dtype(name, dtype), args, witness=_fold_witness(name, args))

    def cast(self, x: Scalar, dtype: str | DType) -> Scalar:
        """`x` in another dtype, with NumPy's meaning."""
        name = dtype if isinstance(dtype, str) else dtype.name
        if x.dtype == name:
            return x
        plain = x.op == "const" and name not in ("float16", "bfloat16") and not isinstance(x.attr, complex)
        if plain and not (isinstance(x.attr, float) and name in _INTEGERS):
            return self.const(x.attr, name)
        return self.make("cast", name, (x,))

    def select(self, c: Scalar, x: Scalar, y: Scalar, *, both: bool = False) -> Scalar:
        """`x` where `c`, else `y`; the other one is not computed where that might read outside a buffer.

        both: An op's operands are: each was asked for by itself, and its checks hold or fail whatever is chosen.
        """
        if c.dtype != "bool":
            raise TypeError(f"select on {c.dtype}")
        if x.dtype != y.dtype:
            raise TypeError(f"branches of select differ: {x.dtype} and {y.dtype}")
        if c.op == "const":
            return x if c.attr else y
        attr = "both" if both and (x.risky or y.risky) else None
        return x if x is y else self.make("select", x.dtype, (c, x, y), attr)

    def check(self, key: object, ok: Scalar, x: Scalar, position: Scalar) -> Scalar:
        """`x`; the kernel ends with the status of `key` and `position` where `ok` is false."""
        if _holds(ok):
            return x
        return self.make("check", x.dtype, (ok, x, position), key)

    def reduce(self, kind: str, variables: Index, body: Scalar) -> Scalar:
        """`body` combined over all values of `variables`, which it binds."""
        if kind not in _KINDS:
            raise ValueError(f"unknown reduction {kind}")
        if kind in ("any", "all") and body.dtype != "bool":
            raise TypeError(f"{kind} of {body.dtype}")
        dtype = "int64" if kind in ("argmax", "argmin") else body.dtype
        return self.make("reduce", dtype, (*variables, body), (kind, len(variables)))

    def substitute(
        self, term: Scalar, mapping: dict[Scalar, Scalar], memo: dict[Scalar, Scalar] | None = None
    ) -> Scalar:
        """`term` with the variables of `mapping` replaced."""
        memo = {} if memo is None else memo
        if term in mapping:
            return mapping[term]
        if term.free.isdisjoint(mapping):
            return term
        found = memo.get(term)
        if found is None:
            args = tuple([self.substitute(a, mapping, memo) for a in term.args])
            found = memo[term] = self.rebuilt(term, args)
        return found

    def rebuilt(self, term: Scalar, args: Index) -> Scalar:
        """`term` applied to other arguments, with index arithmetic simplified."""
        if args == term.args:
            return term
        if term.op in ("and", "or") and term.dtype == "bool" and (known := [a for a in args if a.op == "const"]):
            decided = bool(known[0].attr) == (term.op == "or")
            return known[0] if decided else args[args[0] is known[0]]
        if term.op in ("select", "check") and args[0].op == "const" and args[0].attr:
            return args[1]
        if term.op == "select" and args[0].op == "const":
            return args[2]
        if term.dtype in ("int64", "bool") and term.attr is None and term.op not in ("cast", "select"):
            return self.op(term.op, *args)
        return self.with_args(term, args)

    def with_args(self, term: Scalar, args: Index) -> Scalar:
        """`term` applied to other arguments, as it stands: nothing is simplified."""
        if args == term.args:
            return term
        made = self.make(term.op, term.dtype, args, term.attr, witness=term.witness)
        made.risky = made.risky or term.risky
        return made

    def replaced(self, term: Scalar, memo: dict[Scalar, Scalar]) -> Scalar:
        """`term` with the terms in `memo` replaced, which it goes into itself."""
        found = memo.get(term)
        if found is None:
            found = memo[term] = self.with_args(term, tuple([self.replaced(a, memo) for a in term.args]))
        return found


def row_major(index: Scalar) -> Index:
    """The loop variables, outermost first, whose row-major position `index` is; () where it is none."""
    inner: list[Scalar] = []
    while index.op == "add":
        rest, v = index.args
        if v.op != "var" or len(v.args) != 1 or rest.op != "mul" or not _same(rest.args[1], v.args[0]):
            return ()
        inner.append(v)
        index = rest.args[0]
    return (index, *reversed(inner)) if index.op == "var" and (not inner or len(index.args) == 1) else ()


def _same(a: Scalar, b: Scalar) -> bool:
    """Return whether two extents are equal in every call."""
    return a is b or (a.op == b.op == "extent" and a.witness is not None and a.witness == b.witness)


def in_range(index: Scalar, extent: Scalar) -> bool:
    """Return whether an index is surely in range(extent)."""
    if (index, extent) in index.table.within:
        return True
    if index.op == "var":
        n = index.args[0]
        return n is extent or (n.witness is not None and n.witness == extent.witness)
    if index.op == "add":
        variables = row_major(index)
        return bool(variables) and math.prod([v.args[0].witness or 0 for v in variables]) == extent.witness
    if index.op == "max" and index.args[1].op == "const" and index.args[1].attr == 0:
        return _is_below(index.args[0], extent)  # clamped: the nearest place inside
    return index.op == "const" and extent.op == "const" and 0 <= index.attr < extent.attr


def _is_below(index: Scalar, extent: Scalar) -> bool:
    """Return whether `index` is min(.., extent - 1), where there is an element at all."""
    if index.op != "min" or extent.witness == 0:
        return False
    last = index.args[1]
    return last.op == "sub" and last.args[0] is extent and last.args[1].op == "const" and last.args[1].attr == 1


def _fold_witness(name: str, args: Index) -> int | None:
    if name not in ("add", "sub", "mul") or any(a.witness is None for a in args):
        return None
    x, y = args[0].witness, args[1].witness
    assert x is not None and y is not None
    return x + y if name == "add" else x - y if name == "sub" else x * y


def _holds(condition: Scalar) -> bool:
    """Return whether a condition is certainly true: it compares numbers that are written in the source."""
    if condition.op == "const":
        return bool(condition.attr)
    if condition.op in ("and", "or") and condition.dtype == "bool":
        return (all if condition.op == "and" else any)(_holds(a) for a in condition.args)
    if condition.op == "ne" and all(a.op == "const" for a in condition.args):
        a, b = condition.args
        return bool(a.attr != b.attr)
    return False


def _simplify(table: Table, name: str, args: Index) -> Scalar | None:
    """Index arithmetic: constants, neutral elements, and what a variable's range says."""
    if len(args) != 2:
        return None
    x, y = args
    a = x.attr if x.op == "const" else None
    b = y.attr if y.op == "const" else None
    if a is not None and b is not None:
        if name in ("floordiv", "floormod") and b == 0:
            return None
        folded = {
            "add": lambda: a + b,
            "sub": lambda: a - b,
            "mul": lambda: a * b,
            "floordiv": lambda: a // b,
            "floormod": lambda: a % b,
            "min": lambda: min(a, b),
            "max": lambda: max(a, b),
        }.get(name)
        if folded:
            return table.const(folded(), "int64")
        compare = {"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b, "eq": a == b, "ne": a != b}
        return table.const(compare[name], "bool") if name in compare else None
    if name == "add":
        if y.op == "floormod" and x.op == "mul" and x.args[1] is y.args[1]:
            whole = x.args[0]  # (p // n) * n + p % n
            if whole.op == "floordiv" and whole.args == y.args:
                return y.args[0]
        return y if a == 0 else x if b == 0 else None
    if name == "sub":
        return x if b == 0 else table.const(0, "int64") if x is y else None
    if name == "mul":
        if a == 0 or b == 0:
            return table.const(0, "int64")
        return y if a == 1 else x if b == 1 else None
    if name == "floordiv":
        if b == 1:
            return x
        return _cut(table, x, y)[0]
    if name == "floormod":
        if b == 1:
            return table.const(0, "int64")
        return _cut(table, x, y)[1]
    if name == "lt" and x.op == "var" and x.args[0] is y:
        return table.const(True, "bool")
    if name == "ge" and x.op == "var" and b == 0:
        return table.const(True, "bool")
    if name in ("min", "max") and x is y:
        return x
    return None


def _cut(table: Table, x: Scalar, n: Scalar) -> tuple[Scalar | None, Scalar | None]:
    """`x // n` and `x % n` where the innermost of the loops whose position `x` is have `n` iterations."""
    if x.op == "var" and x.args[0] is n:
        return table.const(0, "int64"), x
    variables = row_major(x) if x.op == "add" else ()
    product = 1
    for k in reversed(range(len(variables))):
        product *= variables[k].args[0].witness or 0
        if product == n.witness and n.op == "extent":
            return _position(table, variables[:k]), _position(table, variables[k:])
    return None, None


def _position(table: Table, variables: Index) -> Scalar:
    total: Scalar = table.const(0, "int64")
    for v in variables:
        total = total * v.args[0] + v
    return total


def walk(roots: Iterable[Scalar], seen: set[Scalar] | None = None) -> list[Scalar]:
    """Every term below `roots`, arguments before what uses them, each once; none of `seen`, which they are put into."""
    seen = set() if seen is None else seen
    order: list[Scalar] = []
    stack: list[Scalar | None] = [*roots]
    stack.reverse()
    while stack:
        term = stack.pop()
        if term is None:  # what lies on it is done
            order.append(stack.pop())  # type: ignore[arg-type]
        elif term not in seen:
            seen.add(term)
            if term.args:
                stack += (term, None)
                stack += term.args[::-1]
            else:
                order.append(term)
    return order


def format_scalar(term: Scalar) -> str:
    """A term on one line, for error messages and explain()."""
    if term.op == "const":
        return repr(term.attr) if not isinstance(term.attr, float) or math.isfinite(term.attr) else str(term.attr)
    if term.op == "var":
        return f"i{term.attr}"
    if term.op in ("extent", "param"):
        return f"{term.op}{term.attr}"
    args = ", ".join(format_scalar(a) for a in term.args)
    if term.op == "load":
        return f"{term.attr}[{args}]"
    return f"{term.op if term.attr is None else f'{term.op}<{term.attr}>'}({args})"
