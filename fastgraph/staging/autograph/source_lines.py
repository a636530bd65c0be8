"""Converted code as code of the user's file: each instruction has the line that it was made from.

Rule: tracebacks, debuggers, profilers and coverage see the file that the user wrote, the function's own name, and no
frame of ours that need not be there: a callee is converted first and then called from where the user calls it.
"""

from __future__ import annotations
import __future__

import ast
import threading
import types
from collections.abc import Iterator, Sequence
from typing import Any

from malt.pyct import anno, origin_info

from fastgraph.graph.source_lines import block_name
from fastgraph.staging import autograph
from fastgraph.staging.autograph import source_code
from fastgraph.staging.autograph.syntax_rewrites import operator

_INTERNAL = "<fastgraph autograph>"  # what the user did not write
_BLOCK = "ag__block"  # the parameter of a lambda that stands for a part of an expression
_FACTORY = "__fastgraph_factory"
_FUTURE_FLAGS = 0
for _name in __future__.all_feature_names:
    _FUTURE_FLAGS |= getattr(__future__, _name).compiler_flag


class _Origin(origin_info.OriginInfo):  # type: ignore[misc]
    """The place where a node was written, and (line, column) of its end."""

    end: tuple[int, int]


# ---- Where each node was written ------------------------------------------------------------------------------------


class _Current(threading.local):
    """The places of the function that this thread is converting."""

    def __init__(self) -> None:
        self.origins: dict[int, _Origin] = {}


_current = _Current()


def begin() -> None:
    """Forget the places of the function before."""
    _current.origins = {}


def annotate(node: Any, file: str, function: str) -> None:
    """Note in each node of a parsed tree where it stands. What malt makes of a node keeps this note."""
    if isinstance(node, ast.FunctionDef):
        function = node.name
    line = getattr(node, "lineno", None)
    if line is not None and not getattr(node, "of_a_statement", False):
        place = origin_info.Location(file, line, node.col_offset)
        origin = _Origin(place, function, source_code.text(node, file), None)
        origin.end = _end(node)
        _current.origins[id(origin)] = origin
        anno.setanno(node, anno.Basic.ORIGIN, origin)
    for child in ast.iter_child_nodes(node):
        annotate(child, file, function)


def _end(node: Any) -> tuple[int, int]:
    """Return where a node ends; of a compound statement, where its first line's expression does."""
    if isinstance(node, (ast.If, ast.While)):
        node = node.test
    elif isinstance(node, ast.For):
        node = node.iter
    elif isinstance(node, (ast.With, ast.Try, ast.FunctionDef, ast.ClassDef)):
        return node.lineno, node.col_offset + 1
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _origin(node: ast.AST) -> _Origin | None:
    found: _Origin | None = anno.getanno(node, anno.Basic.ORIGIN, default=None)
    return found if id(found) in _current.origins else None  # malt uses nodes of its own again


def fill(node: ast.AST) -> None:
    """Give statements that malt has made the place of what they hold, else of the statement beside them."""
    for _, value in ast.iter_fields(node):
        if not isinstance(value, list) or not value or not isinstance(value[0], ast.AST):
            continue
        if isinstance(value[0], ast.stmt):
            for statement in value:
                if _origin(statement) is None and not isinstance(statement, ast.FunctionDef):
                    _note(statement, next(_origins(statement), None))
            for sequence in (value[::-1], value):  # first what comes next, else what came before
                beside = None
                for statement in sequence:
                    if _origin(statement) is None:
                        _note(statement, beside)
                    beside = _origin(statement)
    for child in ast.iter_child_nodes(node):
        fill(child)


def _note(node: ast.AST, origin: _Origin | None) -> None:
    if origin is not None:
        anno.setanno(node, anno.Basic.ORIGIN, origin)


def _origins(node: ast.AST) -> Iterator[_Origin]:
    for child in ast.iter_child_nodes(node):
        found = _origin(child)
        if found is not None:
            yield found
        yield from _origins(child)


def _place(node: Any, around: _Origin) -> None:
    """Set the line and columns of a node and all below it."""
    origin = _origin(node) or around
    if "lineno" in node._attributes:
        node.lineno, node.col_offset = origin.loc.lineno, origin.loc.col_offset
        node.end_lineno, node.end_col_offset = origin.end
    for child in ast.iter_child_nodes(node):
        _place(child, origin)


# ---- The code that is run differs from what to_code shows -----------------------------------------------------------


class _Run(ast.NodeTransformer):
    """Leaves out what malt's own runtime needs, and calls from where the user calls."""

    def __init__(self, attributes: set[str], operators: set[str], blocks: set[str], variables: Sequence[str]) -> None:
        self.scopes: set[str] = set()
        self.blocks = blocks
        self.variables = variables
        self.attributes = attributes
        self.operators = operators
        self.sets_state = False

    def visit_With(self, node: ast.With) -> Any:
        scope = node.items[0].context_expr
        if not (isinstance(scope, ast.Call) and _is_name(scope.func, "FunctionScope")):
            return self.generic_visit(node)
        self.scopes.add(node.items[0].optional_vars.id)  # type: ignore[union-attr]
        return self.generic_visit(node).body  # type: ignore[attr-defined]

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        node.name = node.name and str(node.name)  # Python takes no class derived from str
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        outer, self.sets_state = self.sets_state, node.name.startswith("set_state")
        try:
            return self._function(node)
        finally:
            self.sets_state = outer

    def _function(self, node: ast.FunctionDef) -> Any:
        node.decorator_list = [each for each in node.decorator_list if not _is_name(each, "autograph_artifact")]
        self.generic_visit(node)
        if self.variables and node.name in self.blocks:
            # Never run, but it makes the variables of the function those of the block, too.
            names: list[ast.expr] = [ast.Name(name, ast.Load()) for name in self.variables]
            node.body += [_like(ast.Return(None), node.body[-1]), ast.Expr(ast.Tuple(names, ast.Load()))]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        if _origin(node) is None:  # part of an expression
            node.args.kwonlyargs.append(ast.arg(_BLOCK))
            node.args.kw_defaults.append(ast.Constant(None))
        return self.generic_visit(node)

    def _operator(self, node: Any) -> Any:
        name = autograph.operator_of(node)
        self.generic_visit(node)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and (
            self.sets_state or _is_indexed(node)
        ):  # fmt: skip
            node.value = _like(operator("slots", node.value), node)
            return node
        if name not in self.operators:
            # It may be a tensor, which a list takes for an index by its rows alone.
            is_read = _is_indexed(node) and isinstance(node.ctx, ast.Load)
            return _like(operator("item", node.value, node.slice), node) if is_read else node
        if isinstance(node, ast.AugAssign):
            if not isinstance(node.target, ast.Name):
                return node
            left = ast.Name(node.target.id, ast.Load())
            call = operator("augment", ast.Constant(name), left, node.value)
            return _like(ast.Assign([node.target], _like(call, node)), node)
        if isinstance(node, ast.Subscript):
            operands = [node.value, _index(node.slice)]
        elif isinstance(node, ast.UnaryOp):
            operands = [node.operand]
        else:
            operands = [node.left, node.comparators[0] if isinstance(node, ast.Compare) else node.right]
        return _like(operator("operate", ast.Constant(name), *operands), node)

    visit_BinOp = visit_UnaryOp = visit_Compare = visit_Subscript = visit_AugAssign = _operator

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        if self.sets_state and isinstance(node.ctx, ast.Store):
            node.value = _like(operator("Attributes", node.value), node)
        if node.attr not in self.attributes or not isinstance(node.ctx, ast.Load) or _is_name(node, node.attr):
            return node
        return _like(operator("attribute", node.value, ast.Constant(node.attr)), node)

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        function = node.func
        if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
            return node
        if function.value.id in self.scopes and function.attr == "ret":
            function.value.id = "ag__"
        elif function.value.id != "ag__":
            pass
        elif function.attr == "autograph_artifact":
            return node.args[0]
        elif function.attr == "with_function_scope":
            return node.args[0].body  # type: ignore[attr-defined]
        elif function.attr == "converted_call":
            return _called(node)
        return node


def _is_indexed(node: ast.AST) -> bool:
    """Say whether a value is read by an index that is not written out."""
    return (
        isinstance(node, ast.Subscript)
        and not isinstance(node.ctx, ast.Del)
        and not isinstance(node.slice, (ast.Constant, ast.Slice, ast.Tuple))
        and not (isinstance(node.slice, ast.UnaryOp) and isinstance(node.slice.operand, ast.Constant))
    )


def _like(new: Any, old: ast.AST) -> Any:
    _note(new, _origin(old))
    return new


def _index(node: ast.expr) -> ast.expr:
    """Return what stands in brackets as an expression."""
    if isinstance(node, ast.Slice):
        parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
        return ast.Call(ast.Name("slice", ast.Load()), parts, [])
    return ast.Tuple([_index(each) for each in node.elts], ast.Load()) if isinstance(node, ast.Tuple) else node


def _called(node: ast.Call) -> ast.Call:
    """ag__.converted_call(f, (a,), dict(b=b), scope) as ag__.callee(f)(a, b=b)."""
    function, arguments, keywords = node.args[:3]
    callee = operator("callee", function)
    _note(callee, _origin(function))
    plain: list[ast.expr] = (
        [ast.Starred(arguments, ast.Load())] if not isinstance(arguments, ast.Tuple) else list(arguments.elts)
    )
    named = keywords.keywords if isinstance(keywords, ast.Call) else []
    call = ast.Call(callee, plain, named)
    _note(call, _origin(node))
    return call


def _is_name(node: ast.AST, name: str) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.value, ast.Name)
        and node.value.id == "ag__"
    )


# ---- Code -----------------------------------------------------------------------------------------------------------

#: Functions that look at the variables of their caller's frame: there, blocks have all variables of their function.
_LOOKING = frozenset({"eval", "exec", "locals", "vars", "dir", "breakpoint", "set_trace", "_getframe", "currentframe"})


def code_names(code: types.CodeType) -> set[str]:
    """The names of globals and attributes in `code`, and in the functions inside of it."""
    return set(code.co_names).union(*(each.co_names for each in source_code.codes(code)))


def compiled(node: Any, function: types.FunctionType, names: dict[str, str | None]) -> types.CodeType:
    """Return the code of a factory, which called with the operators makes the function; free variables are cells.

    `node` is the converted definition of `function`, or the assignment of a converted lambda. `names` says what the
    functions that the conversion has made are called: None for those that the user did not write at all.
    """
    name = node.name if isinstance(node, ast.FunctionDef) else node.targets[0].id
    start = _origin(node) or next(_origins(node))
    blocks = {each for each, owner in names.items() if owner is not None}
    code = function.__code__
    looks = not _LOOKING.isdisjoint(code_names(code))
    variables = (*code.co_varnames, *code.co_cellvars, *code.co_freevars) if looks else ()
    node = _Run(*autograph.special_names(function), blocks, variables).visit(node)
    arguments = node.args if isinstance(node, ast.FunctionDef) else node.value.args
    for each in ast.walk(arguments):
        if isinstance(each, ast.arg):
            each.annotation = None  # they may name what only the place of the definition knows
    if isinstance(node, ast.FunctionDef):
        node.returns = None
    _place(node, start)
    inner = ast.parse(f"def {_FACTORY}(ag__):\n return {name}").body[0]
    inner.body.insert(0, node)  # type: ignore[attr-defined]
    outer = ast.parse(f"def {_FACTORY}():\n return {_FACTORY}").body[0]
    cells = [ast.Assign([ast.Name(free, ast.Store())], ast.Constant(None)) for free in function.__code__.co_freevars]
    outer.body[:0] = [*cells, inner]  # type: ignore[attr-defined]
    module = ast.fix_missing_locations(ast.Module([outer], []))
    compiled_module = compile(module, code.co_filename, "exec", code.co_flags & _FUTURE_FLAGS, dont_inherit=True)
    (factory,) = (each for each in compiled_module.co_consts if isinstance(each, types.CodeType))
    (factory,) = (each for each in factory.co_consts if isinstance(each, types.CodeType))
    return factory.replace(
        co_filename=_INTERNAL,
        co_consts=tuple(
            _named(each, names, code.co_name, code.co_qualname, True) if isinstance(each, types.CodeType) else each
            for each in factory.co_consts
        ),
    )


def _named(
    code: types.CodeType, names: dict[str, str | None], owner: str, qualname: str, top: bool = False
) -> types.CodeType:
    """Return code with the names that the user knows its functions by."""
    if not top:
        name = names.get(code.co_name, code.co_name)
        if name is None:
            return code.replace(co_filename=_INTERNAL)
        if code.co_name in names or _BLOCK in code.co_varnames[: code.co_kwonlyargcount]:
            qualname = block_name(qualname)
        else:  # the user's own
            owner, qualname = name, f"{qualname.removesuffix(block_name(''))}.<locals>.{name}"
    consts = tuple(
        _named(each, names, owner, qualname) if isinstance(each, types.CodeType) else each for each in code.co_consts
    )
    return code.replace(co_name=owner, co_qualname=qualname, co_consts=consts)
