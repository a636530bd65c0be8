"""Names that a block changes for those who look at them later through a lambda, a generator or a class.

A name that is not read behind an `if` or a loop belongs to that block alone; malt takes it that a lambda reads names
where it stands, and never later. A lambda that is kept, by a name or in a list, reads them whenever it is called.

Rule: a name is in use as long as a lambda that reads it may be called; one that a class or a kept generator reads
always is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from malt.converters import control_flow
from malt.pyct import anno, cfg, qual_names
from malt.pyct.static_analysis import activity, annos, liveness, reaching_definitions, reaching_fndefs

#: Methods that keep what they are given.
_KEEPING = frozenset({"add", "append", "appendleft", "extend", "insert", "setdefault"})


def stage(node: object, ctx: object) -> Any:
    """Return a function with its `if`, `while` and `for` as calls of the operators: malt's pass, with our liveness."""
    graphs = cfg.build(node)
    node = activity.resolve(qual_names.resolve(node), ctx, None)
    node = reaching_fndefs.resolve(reaching_definitions.resolve(node, ctx, graphs), ctx, graphs)
    node = _Annotator(ctx, graphs, include_annotations=True).visit(node)
    return _Ordered(ctx).visit(node)


class _Ordered(control_flow.ControlFlowTransformer):  # type: ignore[misc]
    """malt's pass, with names in alphabetical order where it has sets of them: one source gives one text."""

    def _create_nonlocal_declarations(self, vars_: object) -> Any:
        found = super()._create_nonlocal_declarations(vars_)
        for declaration in found:
            declaration.names.sort()
        return found

    def _create_undefined_assigns(self, undefined_symbols: tuple[Any, ...]) -> Any:
        return super()._create_undefined_assigns(sorted(undefined_symbols, key=str))


class _Annotator(liveness.TreeAnnotator):  # type: ignore[misc]
    current_analyzer: Any
    kept: dict[ast.Lambda, qual_names.QN | None] | None = None
    always: frozenset[qual_names.QN]

    def _analyze_function(self, node: Any, is_lambda: bool) -> Any:
        if self.kept is None:
            found = dict(_kept(node))
            self.kept = {each: name for each, name in found.items() if isinstance(each, ast.Lambda)}
            readers = [each for each in ast.walk(node) if isinstance(each, ast.ClassDef) or each in found]
            self.always = frozenset().union(*[_read(each) for each in readers if not isinstance(each, ast.Lambda)])
        outer, analyzer = self.current_analyzer, _Analyzer(self.graphs[node], self.include_annotations)
        analyzer.kept, analyzer.always = self.kept, self.always
        analyzer.visit_reverse()
        self.current_analyzer = analyzer
        node = self.generic_visit(node)
        self.current_analyzer = outer
        return node


class _Analyzer(liveness.Analyzer):  # type: ignore[misc]
    kept: dict[ast.Lambda, qual_names.QN | None]
    always: frozenset[qual_names.QN]

    def visit_node(self, node: Any) -> bool:
        before = self.in_[node]
        super().visit_node(node)
        if (self.kept or self.always) and anno.hasanno(node.ast_node, anno.Static.SCOPE):
            live = self.in_[node] | self.always
            for each in anno.getanno(node.ast_node, anno.Static.DEFINED_FNS_IN):
                if each in self.kept and (self.kept[each] is None or self.kept[each] in live):
                    scope = anno.getanno(each, annos.NodeAnno.ARGS_AND_BODY_SCOPE)
                    live = live | (scope.read - scope.bound)
            self.in_[node] = live
        return bool(before != self.in_[node])


def _read(node: ast.AST) -> set[qual_names.QN]:
    return {qual_names.QN(each.id) for each in ast.walk(node) if isinstance(each, ast.Name)}


def _kept(function: ast.AST) -> Iterator[tuple[ast.AST, qual_names.QN | None]]:
    """Yield the lambdas and generators that may be used after their statement, each with the name that alone has it."""
    passed_on = _passed_on(function)
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            targets = [each.id for each in node.targets if isinstance(each, ast.Name)]
            alone = len(targets) == len(node.targets) == 1 and targets[0] not in passed_on
            for each in _held(node.value):
                direct = alone and each is _bare(node.value)
                yield each, qual_names.QN(targets[0]) if direct else None
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from ((each, None) for each in _held(node.value))
        elif isinstance(node, ast.Call) and _is_operator(node, "converted_call"):
            method = node.args[0]
            if isinstance(method, ast.Attribute) and method.attr in _KEEPING:
                yield from ((each, None) for each in _held(node.args[1]))


def _passed_on(function: ast.AST) -> set[str]:
    """Return the names that stand in other places than where they are called, given to a call or assigned."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    used = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _is_operator(node, "converted_call"):
            keeps = isinstance(node.args[0], ast.Attribute) and node.args[0].attr in _KEEPING
            given = [] if keeps or not isinstance(node.args[1], ast.Tuple) else node.args[1].elts
            named = [each.value for each in node.args[2].keywords] if isinstance(node.args[2], ast.Call) else []
            used |= {each for each in (node.args[0], *given, *named) if isinstance(each, ast.Name)}
    return {node.id for node in names if node not in used}


def _held(expression: ast.AST) -> Iterable[ast.AST]:
    """Yield the lambdas and generators that the value of an expression holds on to."""
    expression = _bare(expression)
    if isinstance(expression, (ast.Lambda, ast.GeneratorExp)):
        yield expression
    elif isinstance(expression, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.IfExp, ast.BoolOp, ast.Starred)):
        for each in ast.iter_child_nodes(expression):
            yield from _held(each)
    elif isinstance(expression, (ast.ListComp, ast.SetComp)):
        yield from _held(expression.elt)
    elif isinstance(expression, ast.DictComp):
        yield from _held(expression.value)


def _bare(expression: ast.AST) -> ast.AST:
    """Return the lambda that malt has marked as converted; anything else as it is."""
    marked = isinstance(expression, ast.Call) and _is_operator(expression, "autograph_artifact")
    return expression.args[0] if marked else expression  # type: ignore[attr-defined]


def _is_operator(node: ast.Call, name: str) -> bool:
    function = node.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr == name
        and isinstance(function.value, ast.Name)
        and function.value.id == "ag__"
    )
