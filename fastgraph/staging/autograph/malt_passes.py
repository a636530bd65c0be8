"""Malt's passes over a function's text, which then uses the operators of statements.py and builtins.py.

Rule: what comes out depends on the function's code and text, and on which names are taken where it stands.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Container
from typing import Any

from malt.converters import (
    break_statements,
    call_trees,
    conditional_expressions,
    continue_statements,
    directives,
    functions,
    logical_expressions,
    return_statements,
    variables,
)
from malt.core import converter
from malt.impl import api
from malt.pyct import anno, inspect_utils, naming, qual_names, transformer

from fastgraph.core.base.locks import Lock
from fastgraph.staging.autograph import closure_liveness, malt_walk_order, source_code, source_lines, syntax_rewrites
from fastgraph.staging.autograph.source_code import ConversionError

#: malt's names of the functions that get and set the state of a block, which the user did not write.
_STATE = ("get_state", "set_state")


class _ExceptionName(str):
    """The name in `except ... as name`, a plain string that malt visits and annotates as if it were a node."""

    _fields = _attributes = ()


class _Logical(logical_expressions.LogicalExpressionTransformer):  # type: ignore[misc]
    """and, or, not, and `in` as well."""

    def _overload_of(self, operator: object) -> str | None:
        if isinstance(operator, ast.In):
            return "ag__.in_"
        if isinstance(operator, ast.NotIn):
            return "ag__.not_in"
        return super()._overload_of(operator)  # type: ignore[no-any-return]


class _Conditional(conditional_expressions.ConditionalExpressionTransformer):  # type: ignore[misc]
    """Conditional expressions, and those inside of them."""

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        test = ast.unparse(node.test)
        self.generic_visit(node)
        made = super().visit_IfExp(node)
        made.args[3] = ast.Constant(test)
        return made


class _Names:
    """The names of a namespace; it notes which were looked for."""

    def __init__(self, namespace: Container[str]) -> None:
        self._namespace = namespace
        self.asked: dict[str, bool] = {}

    def __contains__(self, name: object) -> bool:
        return self.asked.setdefault(str(name), name in self._namespace)


class _OwnNames(ast.NodeTransformer):
    """`ag__` stands for the operators; it is no variable of the program that might not be defined."""

    def visit_Call(self, node: ast.Call) -> Any:
        if ast.unparse(node) == "ag__.ld(ag__)":
            return ast.Name("ag__", ast.Load())
        return self.generic_visit(node)


def _bound(node: Any) -> Any:
    """Return what a pass of malt has made: what it puts into a text it takes to be read, the targets of := as well."""
    for each in ast.walk(node):
        if isinstance(each, ast.NamedExpr):
            each.target.ctx = ast.Store()
    return node


class Translator(api.PyToPy):  # type: ignore[misc]
    """malt's own passes, and what they need; other users of malt in the process keep theirs, but walk as these do."""

    def __init__(self) -> None:
        super().__init__()
        # Instead of those that a forked child might find locked.
        self._cache_lock = Lock()
        inspect_utils._linecache_lock = Lock()
        malt_walk_order.install()

    def code(self, function: types.FunctionType, recursive: bool = True) -> str:
        """Return the text of the converted function. Raises ConversionError without its source."""
        node, _ = self._translate(function, inspect_utils.getnamespace(function), recursive)
        return ast.unparse(ast.fix_missing_locations(node)) + "\n"

    def factory(self, function: types.FunctionType) -> tuple[types.CodeType, dict[str, bool]]:
        """Return the code of what makes the converted function (see `lines.compiled`), and which names the
        conversion has asked for where the function stands, and found. Raises ConversionError without its source."""
        names = _Names(inspect_utils.getnamespace(function))
        node, blocks = self._translate(function, names)
        return source_lines.compiled(node, function, blocks), names.asked

    def _translate(
        self, function: types.FunctionType, taken_there: Container[str], recursive: bool = True
    ) -> tuple[Any, dict[str, str | None]]:
        """Return the converted definition, and the names of the functions in it that stand for blocks."""
        code = function.__code__
        node: Any = source_code.definition(function)
        if node is None:
            raise ConversionError(f"the source code of {function.__qualname__!r} ({code.co_filename}) is not available")
        namer = naming.Namer(taken_there)
        taken = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        node = syntax_rewrites.rewrite(node, code.co_qualname, lambda root: namer.new_symbol(root, taken))
        source_lines.begin()
        source_lines.annotate(node, code.co_filename, code.co_name)
        written = {each.name for each in ast.walk(node) if isinstance(each, ast.FunctionDef)}
        is_lambda = isinstance(node, ast.Lambda)
        name = namer.new_symbol("tf__lam" if is_lambda else f"tf__{node.name}", ())
        info = transformer.EntityInfo(name, "", code.co_filename, (), inspect_utils.getnamespace(function))
        options = converter.ConversionOptions(recursive=recursive, user_requested=True, optional_features=())
        context = transformer.Context(info, namer, converter.ProgramContext(options=options))
        node = self.transform_ast(self._erase_arg_defaults(node), context)
        if is_lambda:
            node = ast.Assign([ast.Name(name, ast.Store())], node)
        else:
            node.name = name
        node = _OwnNames().visit(node)
        source_lines.fill(node)
        made = {each.name for each in ast.walk(node) if isinstance(each, ast.FunctionDef)} - written - {name}
        return node, {each: None if each.startswith(_STATE) else code.co_name for each in made}

    def transform_ast(self, node: Any, ctx: Any) -> Any:
        node = self.initial_analysis(node, ctx)
        for each in (functions, directives, break_statements, continue_statements, return_statements):
            node = _bound(each.transform(node, ctx))
        source_lines.fill(node)  # before what stands in a block moves into a function
        warned, call_trees.set_trace_warned = call_trees.set_trace_warned, True  # debuggers do land in the user's code
        try:
            node = _bound(closure_liveness.stage(_bound(call_trees.transform(node, ctx)), ctx))
        finally:
            call_trees.set_trace_warned = warned
        node = variables.transform(_Logical(ctx).visit(_Conditional(ctx).visit(node)), ctx)
        for each in ast.walk(node):
            if isinstance(each, ast.comprehension):  # which malt leaves as they are
                owner = ast.Attribute(ast.Name("ag__", ast.Load()), "rows_of", ast.Load())
                each.iter = ast.copy_location(ast.Call(owner, [each.iter], []), each.iter)
        return node

    def initial_analysis(self, node: Any, ctx: object) -> Any:
        for each in ast.walk(node):
            if isinstance(each, (ast.Yield, ast.YieldFrom)):
                raise ConversionError("generators inside of a function are not converted")
            if isinstance(each, ast.ExceptHandler) and each.name is not None:
                each.name = _ExceptionName(each.name)
                anno.setanno(each.name, anno.Basic.QN, qual_names.QN(str(each.name)))
        return super().initial_analysis(node, ctx)

    def names(self) -> types.ModuleType:
        """Return what `ag__` stands for in malt."""
        found: types.ModuleType = self.get_extra_locals()["ag__"]
        return found
