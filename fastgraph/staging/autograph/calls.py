"""Calls in converted code: of functions, constructors and callbacks, of properties and operators too.

Rule: only functions of the user's are converted, and of those only the ones that need it; what cannot be converted is
called as Python calls it.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import operator
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from fastgraph.core.tensor import class_has
from fastgraph.staging import autograph

#: Callables of libraries that call the functions they are given, in the graph that is being traced.
_HIGHER_ORDER = frozenset({
    "map_fn", "scan", "foldl", "foldr", "vectorized_map", "cond", "while_loop", "case", "switch_case", "map_structure",
    "map_structure_with_path", "custom_gradient", "recompute_grad", "map_flat_values", "jvp",
    "map", "filter", "reduce", "flat_map", "interleave", "take_while", "group_by_window",
    "sorted", "min", "max", "sort",
    "accumulate", "starmap", "takewhile", "dropwhile", "filterfalse", "groupby",
})  # fmt: skip
#: Builtins that classes may have a way of their own for: `__fg_builtins__`.
_OF_ARGUMENTS = (abs, enumerate, zip, map, filter, len, any, all)
_DEEPEST = 3  # lists of pairs of functions, as tf.case takes

# ---- Calls ----------------------------------------------------------------------------------------------------------


def callee(function: Any) -> Any:
    """Return what converted code calls where the user calls `function`."""
    if type(function) is types.BuiltinMethodType and type(function.__self__) is list:
        from fastgraph.staging.autograph.block_state import check_not_left

        check_not_left(function.__self__)
    overload = overloaded(function)
    decorated = getattr(function, "__fg_decorator__", None)
    if decorated is not None:
        again, inside = decorated
        return again(autograph.convert(inside))
    if is_higher_order(function):
        return functools.partial(_with_callbacks, overload)
    if overload is not function:
        return overload
    if isinstance(function, type) and function.__module__ != "builtins" and not autograph.is_library(function):
        return functools.partial(_construct if constructors(function) else _made, function)
    return autograph.convert(function)


def overloaded(function: object) -> Any:
    """Return what a builtin means in converted code; any other callable as it is."""
    from fastgraph.staging.autograph.expressions import BUILTINS

    try:
        overload = BUILTINS.get(function, function)
    except TypeError:  # an object without a hash
        return function
    return functools.partial(_of_arguments, function, overload) if function in _OF_ARGUMENTS else overload


def _of_arguments(function: object, overload: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A builtin as the class of one of its arguments has it (enumerate of a Dataset), or as `overload`."""
    for own in (getattr(type(argument), "__fg_builtins__", None) for argument in args):
        if own is not None and function in own:
            return own[function](*args, **kwargs)
    return overload(*args, **kwargs)


def is_higher_order(function: object) -> bool:
    """Say whether a builtin or a function of a library calls the functions it is given."""
    name = getattr(function, "__name__", None)
    if name not in _HIGHER_ORDER:
        return False
    return getattr(function, "__module__", None) in (None, "builtins", "_functools") or autograph.is_library(function)


def _with_callbacks(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    return function(*map(_callback, args), **{name: _callback(value) for name, value in kwargs.items()})


def _callback(value: Any, depth: int = 0) -> Any:
    """Return an argument with the functions in it converted; tensors and other objects stay what they are."""
    if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
        return autograph.convert(value)
    if type(value) in (list, tuple) and depth < _DEEPEST:
        items = [_callback(item, depth + 1) for item in value]
        return value if all(map(operator.is_, items, value)) else type(value)(items)
    if type(value) is dict and depth < _DEEPEST:
        return {key: _callback(item, depth + 1) for key, item in value.items()}
    return value


# ---- Constructors ---------------------------------------------------------------------------------------------------


def constructors(cls: type) -> list[types.FunctionType]:
    """Return the __new__ and __init__ of a user's class that need conversion; or its metaclass's __call__."""
    if autograph.is_library(cls):
        return []
    if type(cls).__call__ is not type.__call__:
        own = _is_standard(str(type(cls).__module__)) or autograph.is_library(type(cls))
        found: list[Any] = [] if own else [type(cls).__call__]
    else:
        found = [inspect.getattr_static(cls, name, None) for name in ("__new__", "__init__")]
    found = [each.__func__ if isinstance(each, staticmethod) else each for each in found]
    return [each for each in found if isinstance(each, types.FunctionType) and autograph.needs_conversion(each)]


def _made(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A call of a class none of whose constructors needs conversion."""
    from fastgraph.staging.autograph.block_state import note_made

    if cls.__new__ is not object.__new__ or cls.__init__ is object.__init__ or type(cls).__call__ is not type.__call__:
        instance = autograph.convert(cls)(*args, **kwargs)
        note_made(instance)
        return instance
    instance = object.__new__(cls)
    note_made(instance)  # before what its constructor appends in a loop
    cls.__init__(instance, *args, **kwargs)
    return instance


def _construct(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Do as type.__call__ does, or its metaclass's own, with the class's own functions converted."""
    from fastgraph.staging.autograph.block_state import note_made

    if type(cls).__call__ is not type.__call__:
        return autograph.convert(type(cls).__call__)(cls, *args, **kwargs)
    if cls.__new__ is object.__new__:
        instance = object.__new__(cls)
    else:
        instance = autograph.convert(cls.__new__)(cls, *args, **kwargs)
    if isinstance(instance, cls):
        note_made(instance)
        autograph.convert(type(instance).__init__)(instance, *args, **kwargs)
    return instance


# ---- Properties and operators ---------------------------------------------------------------------------------------

_BINARY = {
    name: (f"__{name}__", f"__r{name}__")
    for name in ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift")
} | {"and_": ("__and__", "__rand__"), "or_": ("__or__", "__ror__"), "xor": ("__xor__", "__rxor__")}
_COMPARISONS = {
    "lt": ("__lt__", "__gt__"), "le": ("__le__", "__ge__"), "gt": ("__gt__", "__lt__"), "ge": ("__ge__", "__le__"),
    "eq": ("__eq__", "__eq__"), "ne": ("__ne__", "__ne__"),
}  # fmt: skip
_UNARY = {"neg": ("__neg__",), "pos": ("__pos__",), "invert": ("__invert__",)}
#: Operator -> the methods that it calls, of the left operand and of the right one.
METHODS: dict[str, tuple[str, ...]] = {
    **_BINARY, **_COMPARISONS, **_UNARY, "getitem": ("__getitem__",), "with": ("__enter__", "__exit__"),
}  # fmt: skip
_NAMES = frozenset(name for names in METHODS.values() for name in names)

#: Classes that are being looked at, and what was found of each so far: its functions may lead to it again.
_looked_at: contextvars.ContextVar[dict[type, frozenset[str]]] = contextvars.ContextVar("_looked_at", default={})  # noqa: B039
_special: weakref.WeakKeyDictionary[type, frozenset[str]] = weakref.WeakKeyDictionary()


def special(cls: type) -> frozenset[str]:
    """Return the names of the properties and the operators of a user's class that need conversion."""
    known = _special.get(cls)
    if known is not None:
        return known
    if cls in _looked_at.get():
        return _looked_at.get()[cls]
    found: frozenset[str] = frozenset()
    more = True
    while more:
        token = _looked_at.set({**_looked_at.get(), cls: found})
        try:
            now = _found_in(cls)
        finally:
            _looked_at.reset(token)
        more = now != found
        found = now
    _special[cls] = found
    return found


def _found_in(cls: type) -> frozenset[str]:
    found: set[str] = set()
    for owner in reversed(cls.__mro__):
        library = autograph.is_library(owner) or owner.__module__ == "builtins"
        for name, value in vars(owner).items():
            found.discard(name)
            function = None if library else _getter(value) or (value if name in _NAMES else None)
            if isinstance(function, types.FunctionType) and autograph.needs_conversion(function):
                found.add(name)
    return frozenset(found)


def _getter(value: object) -> Any:
    if isinstance(value, property):
        return value.fget
    return value.func if isinstance(value, functools.cached_property) else None


def visible(function: types.FunctionType, instance: object = None) -> Iterator[type]:
    """The user's classes that a function's globals, cells and instance show: what it may meet without calling it."""
    values = [*function.__globals__.values(), instance]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not bound yet
            continue
    for value in values:
        cls = value if isinstance(value, type) else type(value)
        if not autograph.is_library(cls) and not _is_installed(str(cls.__module__)):
            yield cls


def _is_standard(module: str) -> bool:
    return module != "__main__" and module.partition(".")[0] in sys.stdlib_module_names


def _is_installed(module: str) -> bool:
    """Say whether a module is Python's own, or lies where packages are installed."""
    if _is_standard(module) or module == "__main__":
        return module != "__main__"
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


def attribute(owner: object, name: str) -> Any:
    """owner.name, where a class shows a property of this name that needs conversion."""
    if type(owner) is super:
        return _attribute_of_super(owner, name)
    if name not in special(type(owner)):
        return getattr(owner, name)
    descriptor = inspect.getattr_static(type(owner), name)
    cached = isinstance(descriptor, functools.cached_property)
    if cached and name in vars(owner):
        return vars(owner)[name]
    value = autograph.convert(_getter(descriptor))(owner)
    if cached:
        vars(owner)[name] = value
    return value


def _attribute_of_super(owner: Any, name: str) -> Any:
    order = owner.__self_class__.__mro__
    for cls in order[order.index(owner.__thisclass__) + 1 :]:
        if name in vars(cls):
            getter = _getter(vars(cls)[name])
            return autograph.convert(getter)(owner.__self__) if name in special(cls) else getattr(owner, name)
    return getattr(owner, name)


def operate(name: str, left: object, *right: object) -> Any:
    """An operator of Python, where a class shows a method for it that needs conversion."""
    plain: Callable[..., Any] = getattr(operator, name)
    methods = METHODS[name]
    calls = [(left, methods[0], right)]
    if len(methods) > 1:
        reflected = (right[0], methods[1], (left,))
        derived = type(right[0]) is not type(left) and isinstance(right[0], type(left))
        calls.insert(0 if derived else 1, reflected)
    if not any(method in special(type(owner)) for owner, method, _ in calls):
        return plain(left, *right)
    for owner, method, operands in calls:
        function: Any = getattr(type(owner), method, None)
        if method in special(type(owner)):
            function = autograph.convert(function)
        result = NotImplemented if function is None else function(owner, *operands)
        if result is not NotImplemented:
            return result
    return plain(left, *right)  # which says what is wrong


def context(manager: object) -> Any:
    """Return what a with statement enters: `manager`, its class's functions converted where they need it."""
    return _Context(manager) if not special(type(manager)).isdisjoint(METHODS["with"]) else manager


def raise_(error: Any, *cause: Any) -> None:
    """raise error, or raise error from cause."""
    if cause:
        raise error from cause[0]
    raise error


class _Context:
    """A context manager of the user's, whose functions are converted."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def __enter__(self) -> Any:
        return autograph.convert(type(self._manager).__enter__)(self._manager)

    def __exit__(self, *error: object) -> Any:
        return autograph.convert(type(self._manager).__exit__)(self._manager, *error)


def augment(name: str, left: object, right: object) -> Any:
    """An augmented assignment's operator: the left operand's own, or the plain one."""
    if class_has(left, f"__i{name.rstrip('_')}__"):
        return getattr(operator, f"i{name.rstrip('_')}")(left, right)
    return operate(name, left, right)
