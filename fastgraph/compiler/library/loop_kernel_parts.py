"""A kernel's source as a part of the source of a longer kernel.

Rule: what a part computes has the bits that the kernel computes by itself. The order of a float sum is LLVM's choice,
which it makes by the loop, not knowing its length: so that loop stays as it is. Only where there are fewer values than
lanes in a vector is the order known: one after another.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence

from fastgraph.compiler.cpu.emit import SUM_BLOCK

#: Fewer values than this are perhaps summed one after another: no machine's vectors have more lanes at least.
FEW = 4


class NoPart(Exception):
    """The kernel cannot be a part of another."""


class Part(ast.NodeTransformer):
    """A kernel's source as part of a longer one: names get a prefix, slots and sizes are those of the whole.

    `known` are those of the sizes that are the same in every call, by their place.
    """

    def __init__(
        self, prefix: str, slots: Sequence[str], sizes: Sequence[ast.expr], end: ast.expr, known: Mapping[int, int]
    ) -> None:
        self.prefix, self.slots, self.sizes, self.end, self.known = prefix, slots, sizes, end, known
        self.names: dict[str, str] = {}
        self.imports: set[str] = set()
        self.lengths: dict[str, int] = {}  # the names of sizes that are known
        self.n_held = 0

    def lines(self, source: str) -> list[str]:
        """The lines of the part."""
        function = ast.parse(source).body[0]
        assert isinstance(function, ast.FunctionDef)
        *body, last = function.body
        if not (isinstance(last, ast.Return) and _is_zero(last.value)):
            raise NoPart
        for node in ast.walk(ast.Module(body, [])):
            if isinstance(node, ast.Return) and _is_zero(node.value):
                raise NoPart  # done early, not failed
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.names[node.id] = self.prefix + node.id
        kept = []
        for statement in body:
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Subscript):
                of, target = statement.value, statement.targets[0]
                named = isinstance(of.value, ast.Name) and of.value.id == "buffers"
                if named and isinstance(target, ast.Name) and isinstance(of.slice, ast.Constant):
                    self.names[target.id] = self.slots[of.slice.value]  # type: ignore[index]
                    continue
            kept.append(statement)
        made = [ast.fix_missing_locations(self.visit(statement)) for statement in self.divided(kept)]
        return [line for statement in made for line in ast.unparse(statement).splitlines()]

    # -- sums of few elements ------------------------------------------------------------------------------------------

    def divided(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements, loops that sum or multiply a known small number of floats among them in another form."""
        made: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, ast.Assign) and (known := self.known_size(statement.value)) is not None:
                target = statement.targets[0]
                assert isinstance(target, ast.Name)
                self.lengths[target.id] = known
            short = self.short(statement, made[-1] if made else None)
            if short is not None:
                test = ast.parse(f"in_order({short[0]})", mode="eval").body
                self.imports.add("in_order")
                made.append(ast.If(test, short[1], [statement]))
                continue
            if self.is_one_piece(statement, made[-1] if made else None):
                assert isinstance(statement, ast.While)
                made += list(statement.body)
                continue
            for block in ("body", "orelse"):
                if isinstance(getattr(statement, block, None), list):
                    setattr(statement, block, self.divided(getattr(statement, block)))
            made.append(statement)
        return made

    def known_size(self, value: ast.expr) -> int | None:
        """The number that a size of the kernel's is, in every call."""
        if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and value.value.id == "sizes":
            place = value.slice.value if isinstance(value.slice, ast.Constant) else None
            return self.known.get(place) if isinstance(place, int) else None
        return None

    def length(self, stop: ast.expr | None) -> int:
        """Return how often a loop up to `stop` runs, if that is known and not often; else 0."""
        found = self.lengths.get(stop.id, 0) if isinstance(stop, ast.Name) else 0
        return found if found < FEW else 0

    def short(self, loop: ast.stmt, before: ast.stmt | None) -> tuple[int, list[ast.stmt]] | None:
        """A loop's length and what does its work without a sum in a loop; None where it is no such loop.

        `before` is the statement before it: a loop over pieces begins at 0.
        """
        if isinstance(loop, ast.For):
            counted = loop.iter.args if isinstance(loop.iter, ast.Call) else []
            n = self.length(counted[0]) if len(counted) == 1 else 0
            made = self.unrolled(loop, n) if n else None
            return None if made is None else (n, made)
        if not isinstance(loop, ast.While) or not self.is_one_piece(loop, before):
            return None
        assert isinstance(loop.test, ast.Compare)
        n = self.length(loop.test.comparators[0])
        if not n:
            return None
        whole: list[ast.stmt] = []
        for statement in copy.deepcopy(loop.body):
            if isinstance(statement, ast.For):
                made = self.unrolled(statement, n)
                if made is None:
                    return None
                whole += made
            else:
                whole.append(statement)
        return n, whole

    def is_one_piece(self, loop: ast.stmt, before: ast.stmt | None) -> bool:
        """Return whether a loop over the pieces of a sum is known to have one."""
        if not isinstance(loop, ast.While) or not isinstance(loop.test, ast.Compare) or loop.orelse:
            return False
        stop = loop.test.comparators[0]
        known = isinstance(stop, ast.Name) and 0 < self.lengths.get(stop.id, 0) <= SUM_BLOCK
        return known and isinstance(before, ast.Assign) and _is_zero(before.value)

    def unrolled(self, loop: ast.For, n: int) -> list[ast.stmt] | None:
        """The loop without its sums, and those written out; None where it has none, or other things than assignments.

        LLVM makes straight-line vector code of a loop whose length it knows, but not of one that also adds in order.
        """
        folds = [(s, call) for s in loop.body if (call := _folded(s)) is not None]
        others = [s for s in loop.body if _folded(s) is None]
        if not folds or not all(isinstance(s, ast.Assign) for s in others) or not isinstance(loop.target, ast.Name):
            return None
        at = loop.target.id
        first: list[str] = []
        inside: list[str] = []
        last: list[str] = []
        for fold, call in folds:
            assert isinstance(fold, ast.Assign) and isinstance(call.func, ast.Name)
            total, value = ast.unparse(fold.targets[0]), ast.unparse(call.args[1])
            _, op, kind = call.func.id.split("_")
            if kind not in ("float32", "float64") or total != ast.unparse(call.args[0]):
                return None
            name = f"held{self.n_held}"
            self.n_held += 1
            self.names[name] = self.prefix + name
            self.imports.add(f"local_{kind}")
            first.append(f"{name} = local_{kind}({n})")
            inside.append(f"{name}[{at}] = {value}")
            terms = [total, *[f"{name}[{k}]" for k in range(n)]]
            last.append(f"{total} = {(' + ' if op == 'add' else ' * ').join(terms)}")
        (middle,) = ast.parse(f"for {at} in range({n}):\n    pass").body
        assert isinstance(middle, ast.For)
        middle.body = [*copy.deepcopy(others), *_parsed(inside)]
        return [*_parsed(first), middle, *_parsed(last)]

    # -- names ---------------------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "begin":
            return ast.Constant(0)
        if node.id == "end":
            return self.end
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "sizes" and isinstance(node.slice, ast.Constant):
            return self.sizes[node.slice.value]  # type: ignore[index]
        self.generic_visit(node)
        return node

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        return ast.Return(ast.Constant(0))


def _folded(statement: ast.stmt) -> ast.Call | None:
    """The step of a float sum or product, if a statement is one: its order is LLVM's choice."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    named = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id.startswith("fold_")
    return value if named and isinstance(value, ast.Call) and len(value.args) == 2 else None


def _parsed(lines: Sequence[str]) -> list[ast.stmt]:
    return ast.parse("\n".join(lines)).body


def _is_zero(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0
