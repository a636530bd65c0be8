"""Converted functions: malt's passes with the operators of statements.py and builtins.py.

Rule: a function's text is converted once, and the result is bound to the globals, cells and defaults of each function
that has this text.
"""

from __future__ import annotations

import ast
import functools
import types
import weakref
from typing import Any

from malt.converters import (
    break_statements,
    call_trees,
    conditional_expressions,
    continue_statements,
    control_flow,
    directives,
    functions,
    logical_expressions,
    return_statements,
    variables,
)
from malt.core import converter
from malt.impl import api
from malt.pyct import anno, inspect_utils, naming, qual_names, transformer

from fastgraph.locks import Lock
from fastgraph.staging.autograph import calls, lines, matching, rewrites, sources
from fastgraph.staging.autograph.builtins import (
    Attributes,
    and_,
    assert_stmt,
    float_,
    if_exp,
    int_,
    item,
    joined,
    joined_tuple,
    len_,
    not_,
    not_eq,
    or_,
    print_,
    range_,
    slots,
)  # fmt: skip
from fastgraph.staging.autograph.iterables import known_rows, rows_of, unpacked
from fastgraph.staging.autograph.sources import ConversionError
from fastgraph.staging.autograph.state import ld
from fastgraph.staging.autograph.statements import FunctionScope, for_stmt, if_stmt, while_stmt

_OPERATORS = (
    if_stmt, while_stmt, for_stmt, if_exp, and_, or_, not_, not_eq, assert_stmt, range_, len_, print_, int_, float_,
    ld, FunctionScope, rows_of, known_rows, unpacked, item, slots, Attributes, joined, joined_tuple,
)  # fmt: skip


#: What malt calls the functions that get and set the state of a block, which the user did not write.
_STATE = ("get_state", "set_state")


_MATCHING = (
    matching.in_, matching.not_in, matching.matches_sequence,
    matching.matches_mapping, matching.rest_of_mapping, matching.matches_class,
    matching.matched_attribute, matching.raise_if_of_staging,
)  # fmt: skip


_CALLS = (calls.callee, calls.attribute, calls.operate, calls.augment, calls.context, calls.raise_)


class Converter:
    """Turns Python functions into converted ones."""

    def __init__(self) -> None:
        self._translator = _Translator()
        # By the file as well: code is equal to code of the same text at the same lines elsewhere.
        self._factories: weakref.WeakKeyDictionary[types.CodeType, dict[str, types.CodeType]] = (
            weakref.WeakKeyDictionary()
        )
        self._own: weakref.WeakSet[types.CodeType] = weakref.WeakSet()

    def made(self, code: types.CodeType) -> bool:
        """Say whether this is converted code."""
        return code in self._own

    def __call__(self, function: types.FunctionType, recursive: bool = True) -> types.FunctionType:
        """Return `function` converted, and what it calls if `recursive`. Raises ConversionError without its source."""
        file = function.__code__.co_filename
        factory = self._factories.get(function.__code__, {}).get(file)
        if factory is None:
            node, names = self._translator.translate(function)
            factory = lines.compiled(node, function, names)
            self._factories.setdefault(function.__code__, {})[file] = factory
            self._own.update(lines.codes(factory))
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        closure = tuple(cells[name] for name in factory.co_freevars)
        make = types.FunctionType(factory, function.__globals__, closure=closure)
        converted: types.FunctionType = make(self._translator.operators(recursive))
        converted.__defaults__ = function.__defaults__
        converted.__kwdefaults__ = function.__kwdefaults__
        converted.__name__, converted.__qualname__ = function.__name__, function.__qualname__
        converted.__module__, converted.__doc__ = function.__module__, function.__doc__
        return converted

    def code(self, function: types.FunctionType) -> str:
        """Return the text of the converted function."""
        node, _ = self._translator.translate(function)
        return ast.unparse(ast.fix_missing_locations(node)) + "\n"


class _ExceptionName(str):
    """The name in `except ... as name`, a plain string that malt visits and annotates as if it were a node."""

    _fields = _attributes = ()


class _Logical(logical_expressions.LogicalExpressionTransformer):  # type: ignore[misc]
    """and, or, not, and `in` as well."""

    def _overload_of(self, operator: Any) -> str | None:
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


class _OwnNames(ast.NodeTransformer):
    """`ag__` stands for the operators; it is no variable of the program that might not be defined."""

    def visit_Call(self, node: ast.Call) -> Any:
        if ast.unparse(node) == "ag__.ld(ag__)":
            return ast.Name("ag__", ast.Load())
        return self.generic_visit(node)


class _Translator(api.PyToPy):  # type: ignore[misc]
    """malt's own passes, and what they need; other users of malt in the process keep theirs."""

    def __init__(self) -> None:
        super().__init__()
        # Instead of those that a forked child might find locked.
        self._cache_lock = Lock()
        inspect_utils._linecache_lock = Lock()
        self._names: dict[bool, types.ModuleType] = {}
        self._options = converter.ConversionOptions(recursive=True, user_requested=True, optional_features=())

    def translate(self, function: types.FunctionType) -> tuple[Any, dict[str, str | None]]:
        """Return the converted definition, and the names of the functions in it that stand for blocks."""
        code = function.__code__
        node: Any = sources.definition(function)
        if node is None:
            raise ConversionError(f"the source code of {function.__qualname__!r} ({code.co_filename}) is not available")
        namespace = inspect_utils.getnamespace(function)
        namer = naming.Namer(namespace)
        taken = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        node = rewrites.rewrite(node, code.co_qualname, lambda root: namer.new_symbol(root, taken))
        lines.begin()
        lines.annotate(node, code.co_filename, code.co_name)
        written = {each.name for each in ast.walk(node) if isinstance(each, ast.FunctionDef)}
        is_lambda = isinstance(node, ast.Lambda)
        name = namer.new_symbol("tf__lam" if is_lambda else f"tf__{node.name}", ())
        info = transformer.EntityInfo(name, "", code.co_filename, (), namespace)
        context = transformer.Context(info, namer, converter.ProgramContext(options=self._options))
        node = self.transform_ast(self._erase_arg_defaults(node), context)
        if is_lambda:
            node = ast.Assign([ast.Name(name, ast.Store())], node)
        else:
            node.name = name
        node = _OwnNames().visit(node)
        lines.fill(node)
        made = {each.name for each in ast.walk(node) if isinstance(each, ast.FunctionDef)} - written - {name}
        return node, {each: None if each.startswith(_STATE) else code.co_name for each in made}

    def transform_ast(self, node: Any, ctx: Any) -> Any:
        node = self.initial_analysis(node, ctx)
        for each in (functions, directives, break_statements, continue_statements, return_statements):
            node = each.transform(node, ctx)
        lines.fill(node)  # before what stands in a block moves into a function
        warned, call_trees.set_trace_warned = call_trees.set_trace_warned, True  # debuggers do land in the user's code
        try:
            node = control_flow.transform(call_trees.transform(node, ctx), ctx)
        finally:
            call_trees.set_trace_warned = warned
        node = variables.transform(_Logical(ctx).visit(_Conditional(ctx).visit(node)), ctx)
        for each in ast.walk(node):
            if isinstance(each, ast.comprehension):  # which malt leaves as they are
                owner = ast.Attribute(ast.Name("ag__", ast.Load()), "rows_of", ast.Load())
                each.iter = ast.copy_location(ast.Call(owner, [each.iter], []), each.iter)
        return node

    def initial_analysis(self, node: Any, ctx: Any) -> Any:
        for each in ast.walk(node):
            if isinstance(each, (ast.Yield, ast.YieldFrom)):
                raise ConversionError("generators inside of a function are not converted")
            if isinstance(each, ast.ExceptHandler) and each.name is not None:
                each.name = _ExceptionName(each.name)
                anno.setanno(each.name, anno.Basic.QN, qual_names.QN(str(each.name)))
        return super().initial_analysis(node, ctx)

    def operators(self, recursive: bool) -> types.ModuleType:
        """Return what `ag__` stands for."""
        if recursive not in self._names:
            names = super().get_extra_locals()["ag__"].__dict__
            module = types.ModuleType("fastgraph_autograph")
            module.__dict__.update({k: v for k, v in names.items() if k not in ("__name__", "__spec__", "__loader__")})
            module.__dict__.update({operator.__name__: operator for operator in (*_OPERATORS, *_MATCHING, *_CALLS)})
            # What a function returns: malt's scopes are left out of what is run.
            module.__dict__["ret"] = functools.partial(module.__dict__["FunctionScope"].ret, None)
            if not recursive:
                module.__dict__["callee"] = calls.overloaded
            self._names[recursive] = module
        return self._names[recursive]
