"""AutoGraph: Python's if, while and for on tensors become cond and while nodes. The one adapter round diastatic-malt.

Rule: only what needs it is converted. A scan of the function, and of the functions it can be seen to call, tells: no
control flow and no call into the unknown, no conversion. malt is imported when the first function needs it.
"""

from __future__ import annotations

import ast
import builtins as builtins_of_python  # this package has a module `builtins`, which takes that name
import functools
import inspect
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from fastgraph.core.base.deferred_signals import deferred, imported
from fastgraph.core.base.locks import importing
from fastgraph.graph.source_lines import unconverted
from fastgraph.staging.autograph import source_code
from fastgraph.staging.autograph.loop_options import prints_in_graphs

_STAGED = (ast.If, ast.While, ast.For, ast.IfExp, ast.BoolOp, ast.Assert, ast.Match, ast.comprehension)
_LIBRARIES = frozenset({
    "fastgraph", "tensorflow", "keras", "tf_keras", "tensorflow_probability", "numpy", "scipy", "numba", "malt",
    "ml_dtypes", "optree", "collections", "copy", "functools", "itertools", "inspect", "math", "operator", "pathlib",
    "pdb", "random", "re", "threading", "time", "typing", "logging", "os", "matplotlib", "pandas", "PIL", "pytest",
    "unittest", "abc", "contextlib", "dataclasses", "enum", "warnings",
})  # fmt: skip
#: Builtins whose meaning on tensors differs, or that call what they are given.
_OVERLOADED = frozenset({
    "print", "range", "len", "int", "float", "enumerate", "map", "filter", "any", "all", "next", "sorted", "abs",
    "bool", "list", "max", "min", "reversed", "round", "sum", "super", "tuple", "zip",
})  # fmt: skip
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.MatMult: "matmul", ast.Div: "truediv", ast.Mod: "mod",
    ast.FloorDiv: "floordiv", ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and_",
    ast.BitOr: "or_", ast.BitXor: "xor", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq",
    ast.NotEq: "ne", ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert",
}  # fmt: skip
#: Builtins that do with a tuple what Python does, whatever its items are.
_OF_TUPLES = frozenset({"len", "list", "tuple", "enumerate", "zip", "reversed"})
_NO_CONVERSION = "_fastgraph_do_not_convert"
_UNKNOWN = object()
_LIBRARY_VALUE = object()

_needs: weakref.WeakKeyDictionary[types.CodeType, bool] = weakref.WeakKeyDictionary()
_trees: weakref.WeakKeyDictionary[types.CodeType, ast.AST | None] = weakref.WeakKeyDictionary()
_converter: Any = None
_observer: Callable[[types.FunctionType], None] | None = None  # told of each function that is converted


def convert(function: Callable[..., Any], asked: bool = False) -> Callable[..., Any]:
    """Return `function`, or what it becomes when its control flow is staged; `asked`: a library's function as well.

    Functions, methods, lambdas, partials and callable objects. Raises ConversionError for one whose source cannot be
    found although it needs conversion only when a tensor decides in it: until then it runs as it is.
    """
    if isinstance(function, functools.partial):
        return functools.partial(convert(function.func, asked), *function.args, **function.keywords)
    target, instance = underlying(function)
    if target is None or not (needs_conversion(target, instance, asked=asked) or _may_print(target)):
        return function
    converted = _convert_function(target)
    if converted is None:
        return function
    return converted if instance is None else types.MethodType(converted, instance)


def _may_print(function: types.FunctionType) -> bool:
    """Say whether a function that stages nothing is converted for what it may print: where graphs print."""
    code = function.__code__
    return prints_in_graphs() and not (code in unconverted or is_library(function) or is_converted(code))


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Return `func`, marked so that AutoGraph leaves it as it is.

    Source: tf.autograph.experimental.do_not_convert.
    """
    if func is None:
        return do_not_convert
    if isinstance(func, types.FunctionType):
        setattr(func, _NO_CONVERSION, True)
        return func

    @functools.wraps(func)
    def unconverted(*args: object, **kwargs: object) -> Any:
        return func(*args, **kwargs)

    setattr(unconverted, _NO_CONVERSION, True)
    return unconverted


def underlying(function: object) -> tuple[types.FunctionType | None, Any]:
    """Return (the plain Python function behind a callable or None, the instance it is bound to or None)."""
    if isinstance(function, types.MethodType):
        inner = function.__func__
        return (inner, function.__self__) if isinstance(inner, types.FunctionType) else (None, None)
    if isinstance(function, types.FunctionType):
        return function, None
    if isinstance(function, type) or inspect.isbuiltin(function):
        return None, None
    call = inspect.getattr_static(type(function), "__call__", None)
    return (call, function) if isinstance(call, types.FunctionType) else (None, None)


def is_library(value: object) -> bool:
    """Say whether a callable belongs to a library that is never converted."""
    module = getattr(value, "__module__", None) or getattr(type(value), "__module__", None) or ""
    return str(module).partition(".")[0] in _LIBRARIES


def leave(function: Callable[..., Any], reason: str) -> None:
    """Note why a function runs as it is, for errors in it."""
    target, _ = underlying(function)
    if target is not None:
        unconverted.setdefault(target.__code__, reason)


def leaves(code: types.CodeType, module: str) -> bool:
    """Say whether this code, of a function of `module`, is never converted, or was not."""
    return code in unconverted or module.partition(".")[0] in _LIBRARIES


def is_converted(code: types.CodeType) -> bool:
    """Say whether this is code that conversion has made."""
    return _converter is not None and bool(_converter.made(code))


def scope_of(code: types.CodeType) -> Any:
    """Return the names that stand round converted code, a `converter.Scope`; None for other code."""
    return None if _converter is None else _converter.scope_of(code)


# ---- Does it need conversion? ---------------------------------------------------------------------------------------


def needs_conversion(
    function: types.FunctionType, instance: object = None, seen: set[Any] | None = None, asked: bool = False
) -> bool:
    """Say whether `function`, or a function it may call, has control flow that a tensor could decide.

    A library's function has none, unless the user has `asked` for this one, and it is not ours.
    """
    code = function.__code__
    known = _needs.get(code)
    if known is not None:
        return known
    if getattr(function, _NO_CONVERSION, False):
        unconverted.setdefault(code, "it is marked with do_not_convert")
        return False
    if is_library(function) and not (asked and function.__module__.partition(".")[0] != "fastgraph"):
        return False
    if is_converted(code):
        return False
    if code.co_flags & inspect.CO_GENERATOR:
        unconverted[code] = "it is a generator"
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return False
    seen = set() if seen is None else seen
    if code in seen:
        return False
    seen.add(code)
    tree = _trees.get(code)
    if tree is None:
        tree = _trees[code] = source_code.definition(function)
    if tree is None:
        unconverted[code] = (
            "its source code is not available, as it was not read from a file or a cell (source that is given to exec "
            "can be entered in linecache.cache under the name that it is compiled with)"
        )
    result = tree is not None and _Scan(function, instance, seen).finds(tree)
    # Free variables and attributes may come to hold other functions: only what stands in the text alone is remembered.
    if tree is not None and any(map(_is_staged, ast.walk(tree))):
        _needs[code] = True
    return result


def _is_staged(node: ast.AST) -> bool:
    """Say whether a tensor could decide in this statement or expression."""
    if isinstance(node, ast.Compare):  # a chain of comparisons is an `and`
        return len(node.ops) > 1 or isinstance(node.ops[0], (ast.In, ast.NotIn))
    if isinstance(node, ast.Starred):  # a target: tensors are taken apart
        return isinstance(node.ctx, ast.Store)
    return isinstance(node, _STAGED) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


@functools.cache
def _calls() -> Any:
    """Return the module that knows of single functions and classes, which needs this one."""
    return imported(f"{__name__}.calls")


def special_names(function: types.FunctionType, instance: object = None) -> tuple[set[str], set[str]]:
    """Return the names of properties, and the operators, for which a class that the function shows needs conversion."""
    calls = _calls()
    names = {name for cls in calls.visible(function, instance) for name in calls.special(cls)}
    operators = {name for name, methods in calls.METHODS.items() if not names.isdisjoint(methods)}
    return {name for name in names if not name.startswith("__")}, operators


def operator_of(node: ast.AST) -> str | None:
    """Return the name in `operator` of what an expression or augmented assignment does, None for another node."""
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        return _OPERATORS[type(node.op)]
    if isinstance(node, ast.UnaryOp):
        return _OPERATORS.get(type(node.op))
    if isinstance(node, ast.Compare):
        return _OPERATORS.get(type(node.ops[0])) if len(node.ops) == 1 else None
    return "getitem" if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) else None


def _rest(code: types.CodeType) -> str | None:
    """The name in `*name` among a function's parameters, None where there is none."""
    if not code.co_flags & inspect.CO_VARARGS:
        return None
    return code.co_varnames[code.co_argcount + code.co_kwonlyargcount]


def _may_bind(node: ast.AST, name: str) -> bool:
    """Say whether a node names `name` for anything but reading it: as a target, a parameter, a function, an import."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return False
    return any(value == name for _, value in ast.iter_fields(node) if isinstance(value, str))


class _Scan:
    """One function's text, and what its names stand for."""

    attributes: set[str]
    operators: set[str]

    def __init__(self, function: types.FunctionType, instance: Any, seen: set[Any]) -> None:
        self.seen = seen
        self.names: dict[str, Any] = {**vars(builtins_of_python), **function.__globals__}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                self.names[name] = cell.cell_contents
            except ValueError:  # not bound yet
                self.names[name] = _UNKNOWN
        parameters = function.__code__.co_varnames
        for name in parameters:
            self.names[name] = _UNKNOWN
        if instance is not None and parameters:
            self.names[parameters[0]] = instance
        self.tuple = _rest(function.__code__)
        self.shows = functools.partial(special_names, function, instance)

    def finds(self, tree: ast.AST) -> bool:
        """Say whether the text has control flow or a call that may lead to some."""
        nodes = list(ast.walk(tree))
        if any(map(_is_staged, nodes)):
            return True
        if self.tuple is not None and sum(_may_bind(node, self.tuple) for node in nodes) != 1:
            self.tuple = None
        for node in nodes:
            self._bind(node)
        if any(isinstance(node, ast.Call) and self._call_matters(node) for node in nodes):
            return True
        self.attributes, self.operators = self.shows()
        return any(map(self._uses, nodes)) if self.attributes or self.operators else False

    def _uses(self, node: ast.AST) -> bool:
        """Say whether an attribute may be a property, or an operator a method, that needs conversion."""
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return "with" in self.operators
        if isinstance(node, ast.Attribute):
            return node.attr in self.attributes and self.value(node.value) is not _LIBRARY_VALUE
        return operator_of(node) in self.operators

    def _bind(self, node: ast.AST) -> None:
        """Note local names that hold what the library returned: their methods are the library's."""
        if isinstance(node, ast.Assign) and self._is_library_value(node.value):
            for target in node.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        self.names[name.id] = _LIBRARY_VALUE
        elif (
            isinstance(node, ast.withitem)
            and isinstance(node.optional_vars, ast.Name)
            and self._is_library_value(node.context_expr)
        ):
            self.names[node.optional_vars.id] = _LIBRARY_VALUE

    def _is_library_value(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            target = self.value(node.func)
            return target is _LIBRARY_VALUE or (target is not _UNKNOWN and is_library(target))
        if isinstance(node, ast.BinOp):
            return self._is_library_value(node.left) or self._is_library_value(node.right)
        return isinstance(node, ast.Name) and self.names.get(node.id) is _LIBRARY_VALUE

    def value(self, node: ast.AST) -> Any:
        """Return what an expression of names and attributes stands for, _UNKNOWN where the text does not tell."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, _UNKNOWN)
        if isinstance(node, ast.Call) and self._is_library_value(node):
            return _LIBRARY_VALUE
        if not isinstance(node, ast.Attribute):
            return _UNKNOWN
        owner = self.value(node.value)
        if owner is _UNKNOWN or owner is _LIBRARY_VALUE:
            return owner
        if isinstance(owner, types.ModuleType):
            return getattr(owner, node.attr, _UNKNOWN)
        static = inspect.getattr_static(owner, node.attr, _UNKNOWN)  # runs no property
        if isinstance(static, types.FunctionType) and not isinstance(owner, type):
            return types.MethodType(static, owner)
        return _UNKNOWN if isinstance(static, property) else static

    def _call_matters(self, node: ast.Call) -> bool:
        target = self.value(node.func)
        if target is _LIBRARY_VALUE:
            return False
        if target is _UNKNOWN:
            return True
        if isinstance(target, functools.partial):
            target = target.func
        calls = _calls()
        if calls.is_higher_order(target):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(self._function_matters(self.value(each)) for value in given for each in ast.walk(value)):
                return True
        if inspect.isbuiltin(target) or isinstance(target, type):
            if getattr(target, "__module__", "") == "builtins":
                name = getattr(target, "__name__", "")
                return name in _OVERLOADED and not (name in _OF_TUPLES and all(map(self._is_tuple, node.args)))
            return isinstance(target, type) and bool(calls.constructors(target))
        return self._function_matters(target)

    def _is_tuple(self, node: ast.AST) -> bool:
        """Say whether an argument is surely a tuple or list: one that is written out, or *args of this call."""
        if isinstance(node, ast.Name):
            return node.id == self.tuple
        return isinstance(node, (ast.Tuple, ast.List))

    def _function_matters(self, target: Any) -> bool:
        if target is _UNKNOWN or target is _LIBRARY_VALUE or is_library(target):
            return False
        if hasattr(target, "__fg_decorator__"):
            _, target = target.__fg_decorator__
        function, instance = underlying(target)
        return function is not None and needs_conversion(function, instance, self.seen)


# ---- Converting -----------------------------------------------------------------------------------------------------


def set_observer(observer: Callable[[types.FunctionType], None] | None) -> None:
    """Let `observer` be told of each function before it is converted."""
    global _observer
    _observer = observer


def _convert_function(function: types.FunctionType) -> Callable[..., Any] | None:
    """Return the converted function, or None (with a warning, once) where malt cannot convert it."""
    if _observer is not None and not getattr(function, _NO_CONVERSION, False):
        _observer(function)
    with deferred:  # what a handler of a signal raises is no reason to run the function as it is
        try:
            converted: Callable[..., Any] = get_converter()(function)
            return converted
        except RecursionError:
            raise  # of the program: the stack was full before
        except Exception as error:
            cause = str(error)
    if not getattr(function, _NO_CONVERSION, False):
        setattr(function, _NO_CONVERSION, True)
        unconverted[function.__code__] = cause
        warnings.warn_explicit(
            f"AutoGraph could not transform {function!r} and will run it as-is. Cause: {cause}. To silence "
            "this warning, decorate the function with @tf.autograph.experimental.do_not_convert",
            UserWarning,
            function.__code__.co_filename,
            function.__code__.co_firstlineno,
        )
    return None


def get_converter() -> Any:
    """Return the Converter, which loads malt for the first function that nobody has converted yet."""
    global _converter
    with importing:
        if _converter is None:
            from fastgraph.staging.autograph import converter

            _converter = converter.Converter()
    return _converter


def to_code(entity: object, recursive: bool = True, experimental_optional_features: object = None) -> str:
    """Return the source of what AutoGraph makes of `entity`, a function or a Function.

    It says whether what the function calls is converted too, as `recursive` asks. Raises ConversionError for what is no
    Python function, or has no source. Source: tf.autograph.to_code.
    """
    return str(get_converter().code(python_function(entity), recursive))


def python_function(entity: Any) -> types.FunctionType:
    """Return the Python function behind a function, method, callable object or Function. Raises ConversionError."""
    function, _ = underlying(getattr(entity, "python_function", entity))
    if function is None:
        raise source_code.ConversionError(f"AutoGraph converts Python functions, not {entity!r}.")
    return function
