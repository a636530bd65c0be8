"""Dispatchers: what calls of public functions with values of libraries' own classes are instead of errors.

Rule: a call costs what it did until a dispatcher is registered, and then only calls that fail ask dispatchers: the
outermost public function that was given such a value. What core/api_dispatch registers by types comes before.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import threading
import types
from collections.abc import Callable
from typing import Any

from fastgraph.core import api_dispatch, registry

_global: list[GlobalOpDispatcher] = []
#: Code of public functions whose failing calls ask dispatchers.
_asking: set[types.CodeType] = set()
_of_function: dict[Any, list[OpDispatcher]] = {}


class _Calls(threading.local):
    """The arguments of the calls of public functions that this thread is in, while dispatchers may be asked."""

    def __init__(self) -> None:
        self.given: list[list[Any]] = []


_calls = _Calls()


class OpDispatcher:
    """The ways of one public function with values that it refuses. Source: tf.__internal__.dispatch.OpDispatcher.

    A subclass's `handle(args, kwargs)` returns the result of a call, or NOT_SUPPORTED.
    """

    NOT_SUPPORTED = object()

    def handle(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a call gives, or NOT_SUPPORTED."""
        return self.NOT_SUPPORTED

    def register(self, op: object) -> None:
        """Have calls of a public function (or a class's method) that fail come here. Raises AssertionError for others.

        The dispatchers of a function are asked in the order in which they were registered.
        """
        target = _target(op)
        if target is None:
            raise AssertionError(f"Dispatching not enabled for {op}")
        _of_function.setdefault(target, []).append(self)
        ask_about(target)


class GlobalOpDispatcher:
    """The ways of any public function with values that it refuses. Source: tf.__internal__.dispatch.GlobalOpDispatcher.

    A subclass's `handle(op, args, kwargs)` returns the result of a call of `op`, or NOT_SUPPORTED.
    """

    NOT_SUPPORTED = OpDispatcher.NOT_SUPPORTED

    def handle(self, op: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a call gives, or NOT_SUPPORTED."""

    def register(self) -> None:
        """Have calls of public functions that fail come here."""
        _global.append(self)
        if len(_global) == 1:
            registry.watch(ask_about)


class _TypeBased(OpDispatcher):
    """A function in the place of another one wherever an argument is of one of some types."""

    def __init__(self, function: Callable[..., Any], kinds: tuple[type, ...]) -> None:
        self.function, self.kinds = function, kinds

    def handle(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values: list[Any] = []
        for value in (*args, *kwargs.values()):
            values.extend(value if type(value) in (list, tuple) else [value])
        return (
            self.function(*args, **kwargs)
            if any(isinstance(each, self.kinds) for each in values)
            else self.NOT_SUPPORTED
        )


def dispatch_for_types(op: Callable[..., Any], *kinds: type) -> Callable[[Any], Any]:
    """Decorate a function that stands for `op` where that one refuses an argument of one of these types.

    Raises AssertionError where its parameters are others. Source: TensorFlow's dispatch.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        own, wanted = [[(each.name, each.kind, each.default) for each in inspect.signature(f).parameters.values()]
                       for f in (function, op)]  # fmt: skip
        if own != wanted:  # what they are annotated with is another matter
            raise AssertionError(f"The decorated function's signature must exactly match: {inspect.signature(op)}")
        _TypeBased(function, kinds).register(op)
        return function

    return decorate


def add_dispatch_support(target: Callable[..., Any] | None = None, iterable_parameters: Any = None) -> Any:
    """Return a library's function whose failing calls dispatchers are asked about.

    iterable_parameters is what TensorFlow calls parameters that may be iterators; they are given as they are. Source:
    tf.__internal__.dispatch.add_dispatch_support.
    """
    if target is None:
        return functools.partial(add_dispatch_support, iterable_parameters=iterable_parameters)

    @functools.wraps(target)
    def dispatched(*args: object, **kwargs: Any) -> Any:
        try:
            return target(*args, **kwargs)
        except (TypeError, ValueError):
            found = dispatch(dispatched, args, kwargs)
            if found is OpDispatcher.NOT_SUPPORTED:
                raise
            return found

    dispatched.__signature__ = inspect.signature(target)  # type: ignore[attr-defined]
    _of_function[dispatched] = []
    return dispatched


def dispatch(op: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what the first dispatcher says that knows a call of `op`, NOT_SUPPORTED where none does."""
    for own in _of_function.get(op, ()):
        found = own.handle(args, kwargs)
        if found is not OpDispatcher.NOT_SUPPORTED:
            return found
    for each in _global:
        found = each.handle(op, args, kwargs)
        if found is not OpDispatcher.NOT_SUPPORTED:
            return found
    return OpDispatcher.NOT_SUPPORTED


def _target(op: object) -> Any:
    """Return the function that a dispatcher is registered for: that of a method, one of ours, one that supports it."""
    op = getattr(op, "__func__", op)
    if op in _of_function:
        return op
    plain = isinstance(op, types.FunctionType) and op.__globals__.get("__name__", "").startswith("fastgraph.")
    return op if plain else None


def ask_about(function: object) -> None:
    """Let dispatchers be asked where a call of a public function fails; other objects are left as they are.

    As with api_dispatch, the function keeps its identity, so that who has imported it sees it too.
    """
    if not isinstance(function, types.FunctionType) or function.__code__ in _asking or function.__name__ == "<lambda>":
        return
    own = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    own.__kwdefaults__ = function.__kwdefaults__
    signature = inspect.signature(function)

    def asked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = _calls.given
        given.append([*args, *kwargs.values()])
        try:
            return own(*args, **kwargs)
        except (TypeError, ValueError):
            found = _asked(function, args, kwargs)
            if found is OpDispatcher.NOT_SUPPORTED:
                raise
            return found
        finally:
            given.pop()

    function.__code__ = api_dispatch.leading_code(function, {"asked": asked}, "return {asked}(args, kwargs)")
    function.__signature__ = signature  # type: ignore[attr-defined]
    _asking.add(function.__code__)


def _asked(function: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what dispatchers say of a call that has failed; NOT_SUPPORTED where a caller of ours is to ask instead."""
    *around, given = _calls.given
    if not any(map(api_dispatch.is_foreign, given)):
        known = tuple(
            kind for own in _of_function.get(function, ()) if isinstance(own, _TypeBased) for kind in own.kinds
        )
        if not (_of_function.get(function) and (not known or any(isinstance(each, known) for each in given))):
            return OpDispatcher.NOT_SUPPORTED
    if any(map(api_dispatch.is_foreign, itertools.chain.from_iterable(around))):
        return OpDispatcher.NOT_SUPPORTED
    return dispatch(function, args, kwargs)
