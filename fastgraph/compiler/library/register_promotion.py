"""Memory of a loop's kernel: small arrays in registers too, rows of stacked results in the stack at once.

Rule: source to source. What the next iteration waits for goes by no memory: every element that is written to an array
is written to its mirror, a local array, in the same place; what is read at a place that is known when the kernel is
compiled is read there. LLVM makes registers of an array all of whose places it knows; sums, whose loops must not know
how long they are, go on reading the array itself.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

#: An array of more bytes fills more than the widest register.
MOST_BYTES = 64


def mirrored(
    lines: Sequence[str], states: Collection[str], scratch: Collection[str]
) -> tuple[list[str], dict[str, str], set[str]]:
    """The lines with mirrors of those arrays that gain by it; the mirrors; arrays that need be no more than local.

    `states` are what an iteration gives the next, `scratch` what it computes. The caller makes the mirrors, and fills
    those of states.
    """
    tree = ast.parse("\n".join(lines))
    uses = _Uses({*states, *scratch})
    uses.visit(tree)
    fit = (uses.read & uses.written) - uses.unfit - uses.given
    local = fit.intersection(scratch) - uses.searched
    mirrors = {name: f"r{name}" for name in (*states, *scratch) if name in fit - local}
    if not mirrors:
        return list(lines), {}, local
    made = ast.fix_missing_locations(_Mirrors(mirrors).visit(tree))
    return ast.unparse(made).splitlines(), mirrors, local


def put_in_rows(lines: Sequence[str], rows: Mapping[str, tuple[str, int]]) -> tuple[list[str], set[str]]:
    """The lines with arrays written where they are kept: `rows` says of which list each is the row `it`, and how long.

    Returns which arrays are in their rows: not those that a function is given.
    """
    tree = ast.parse("\n".join(lines))
    uses = _Uses(rows)
    uses.visit(tree)
    chosen = {name: row for name, row in rows.items() if name not in uses.given}
    if not chosen:
        return list(lines), set()
    made = ast.fix_missing_locations(_Rows(chosen).visit(tree))
    return ast.unparse(made).splitlines(), set(chosen)


class _Rows(ast.NodeTransformer):
    def __init__(self, rows: Mapping[str, tuple[str, int]]) -> None:
        self.rows = rows

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        name = _array(node, self.rows)
        if name is None:
            return node
        of, n = self.rows[name]
        begin = ast.BinOp(ast.Name("it", ast.Load()), ast.Mult(), ast.Constant(n))
        return _element(of, ast.BinOp(begin, ast.Add(), node.slice), node.ctx)


class _Uses(ast.NodeVisitor):
    """Uses of arrays: `read` and `written` at places that are known, `searched` at others, `given`, `unfit`."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names
        self.counters: set[str] = set()  # of the loops around
        self.read: set[str] = set()
        self.written: set[str] = set()
        self.searched: set[str] = set()
        self.given: set[str] = set()  # to a function
        self.unfit: set[str] = set()

    def visit_For(self, loop: ast.For) -> None:
        fresh = {loop.target.id} if isinstance(loop.target, ast.Name) and _is_counted(loop.iter) else set()
        self.generic_visit(loop.iter)
        self.counters |= fresh
        for statement in loop.body:
            self.visit(statement)
        self.counters -= fresh

    def visit_Subscript(self, node: ast.Subscript) -> None:
        name = _array(node, self.names)
        if name is None:
            self.generic_visit(node)
        elif not _is_known(node.slice, self.counters):
            (self.searched if isinstance(node.ctx, ast.Load) else self.unfit).add(name)
            self.visit(node.slice)
        else:
            (self.read if isinstance(node.ctx, ast.Load) else self.written).add(name)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.unfit.add(_array(node.target, self.names) or "")
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self.names:
            self.given.add(node.id)


class _Mirrors(ast.NodeTransformer):
    def __init__(self, chosen: dict[str, str]) -> None:
        self.chosen = chosen
        self.counters: set[str] = set()

    def visit_For(self, loop: ast.For) -> ast.For:
        fresh = {loop.target.id} if isinstance(loop.target, ast.Name) and _is_counted(loop.iter) else set()
        self.counters |= fresh
        self.generic_visit(loop)
        self.counters -= fresh
        return loop

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | list[ast.Assign]:
        node.value = self.visit(node.value)
        target = node.targets[0]
        name = _array(target, self.chosen)
        if name is None:
            return node
        assert isinstance(target, ast.Subscript)
        first = ast.Assign([_element(self.chosen[name], target.slice, ast.Store())], node.value)
        return [first, ast.Assign([target], _element(self.chosen[name], target.slice, ast.Load()))]

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        name = _array(node, self.chosen)
        if name is not None and _is_known(node.slice, self.counters):
            return _element(self.chosen[name], node.slice, node.ctx)
        self.generic_visit(node)
        return node


def _array(node: ast.expr, names: Collection[str]) -> str | None:
    """The array among `names` of which this is an element."""
    named = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names
    return node.value.id if named else None  # type: ignore[attr-defined]


def _element(name: str, place: ast.expr, context: ast.expr_context) -> ast.Subscript:
    return ast.Subscript(ast.Name(name, ast.Load()), place, context)


def _is_counted(iterated: ast.expr) -> bool:
    """Return whether a loop goes over a range whose bounds are numbers."""
    if not isinstance(iterated, ast.Call) or not isinstance(iterated.func, ast.Name) or iterated.func.id != "range":
        return False
    return all(isinstance(bound, ast.Constant) for bound in iterated.args)


def _is_known(place: ast.expr, counters: Collection[str]) -> bool:
    return isinstance(place, ast.Constant) or (isinstance(place, ast.Name) and place.id in counters)
