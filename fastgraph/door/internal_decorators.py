"""Decorators of TensorFlow's libraries: those that can be seen, those that warn, notes for documentation.

Rule: nothing here changes what a decorated function does; deprecated names warn, as they do in TensorFlow, once.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager as contextmanager
from typing import Any

from fastgraph.core.base.logger import get_logger
from fastgraph.staging.function import Function

_warned: set[Any] = set()
_silent = False


class Decorator:
    """The note in the place of a decorated function: its decorator's function, name and the target."""

    def __init__(
        self, decorator_name: str, target: object, decorator_doc: str = "", decorator_argspec: Any = None
    ) -> None:
        self.decorator_name, self.decorator_doc = decorator_name, decorator_doc
        self.decorated_target, self.decorator_argspec = target, decorator_argspec


def make_decorator(
    target: Callable[..., Any],
    decorator_func: Any,
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Any:
    """Return `decorator_func`, which then says what it decorates: name, documentation, signature and `unwrap` know it.

    Source: tf.__internal__.decorator.make_decorator.
    """
    name = decorator_name or inspect.currentframe().f_back.f_code.co_name  # type: ignore[union-attr]
    decorator_func._tf_decorator = Decorator(name, target, decorator_doc, decorator_argspec)
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        if hasattr(target, attribute):
            setattr(decorator_func, attribute, getattr(target, attribute))
    with contextlib.suppress(TypeError, ValueError):
        signature = inspect.signature(target) if decorator_argspec is None else _signature(decorator_argspec, target)
        decorator_func.__signature__ = signature
    decorator_func.__wrapped__ = target
    return decorator_func


def _signature(said: inspect.FullArgSpec, target: Any) -> inspect.Signature:
    """The signature that a FullArgSpec says; of methods without the instance, which it may have."""
    decorators, inner = unwrap(target)
    if any(map(inspect.ismethod, (inner, target, *[each.decorated_target for each in decorators]))):
        said = said._replace(args=said.args[said.args[:1] == ["self"] :])
    kind, defaults = inspect.Parameter, {**(said.kwonlydefaults or {})}
    if said.defaults:
        defaults.update(zip(said.args[-len(said.defaults) :], said.defaults, strict=True))
    named: list[tuple[str, Any]] = [(name, kind.POSITIONAL_OR_KEYWORD) for name in said.args]
    named += [(said.varargs, kind.VAR_POSITIONAL)] if said.varargs else []
    named += [(name, kind.KEYWORD_ONLY) for name in said.kwonlyargs]
    named += [(said.varkw, kind.VAR_KEYWORD)] if said.varkw else []
    return inspect.Signature([kind(name, each, default=defaults.get(name, kind.empty)) for name, each in named])


def unwrap(maybe_tf_decorator: object) -> tuple[list[Decorator], Any]:
    """Return (the decorators round a function, outermost first; the function inside)."""
    decorators: list[Decorator] = []
    found: Any = maybe_tf_decorator
    while True:
        if isinstance(found, Function):
            decorators.append(Decorator("tf.function", found.python_function))
        elif isinstance(getattr(found, "_tf_decorator", None), Decorator):
            decorators.append(found._tf_decorator)
        else:
            return decorators, found
        found = decorators[-1].decorated_target


def rewrap(decorator_func: Any, previous_target: object, new_target: Callable[..., Any]) -> Any:
    """Put another function in the place of the one inside of decorators, and return what is outermost.

    Without decorators that is the new function. Raises ValueError for a Function's, which keeps its own.
    """
    innermost = None
    found: Any = decorator_func
    while found is not previous_target:
        if not isinstance(getattr(found, "_tf_decorator", None), Decorator):
            raise ValueError(f"{found!r} is no decorator's function with {previous_target!r} inside")
        innermost, found = found, found._tf_decorator.decorated_target
    if innermost is None:
        return new_target
    innermost._tf_decorator.decorated_target = innermost.__wrapped__ = new_target
    return decorator_func


def _warn(key: object, text: str) -> None:
    if not _silent and key not in _warned:
        _warned.add(key)
        get_logger().warning("%s", text)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Enter a context in which deprecated names do not warn."""
    global _silent
    before, _silent = _silent, True
    try:
        yield
    finally:
        _silent = before


def _warning(target: Callable[..., Any], key: object, when: Callable[..., bool], text: str) -> Any:
    """Return what calls `target` and warns once of a call for which `when` holds."""

    @functools.wraps(target)
    def warned(*args: Any, **kwargs: Any) -> Any:
        if when(*args, **kwargs):
            _warn(key, text)
        return target(*args, **kwargs)

    return make_decorator(target, warned, "deprecated")


def _shown(target: object) -> str:
    return f"{getattr(target, '__qualname__', target)} (from {getattr(target, '__module__', None)})"


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[[Any], Any]:
    """Decorate a function or a class that is to go: its first use warns."""
    del warn_once  # more often would be noise
    when = f"after {date}" if date else "in a future version"

    def decorate(target: Callable[..., Any]) -> Any:
        text = f"{_shown(target)} is deprecated and will be removed {when}.\nInstructions for updating:\n{instructions}"
        if isinstance(target, type):
            start = target.__init__  # type: ignore[misc]
            target.__init__ = _warning(start, target, lambda *args, **kwargs: True, text)  # type: ignore[misc]
            return target
        return _warning(target, target, lambda *args, **kwargs: True, text)

    return decorate


def deprecated_args(date: str | None, instructions: str, *names: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """Decorate a function with arguments that are to go: a call that gives one (a name, or (name, value that is
    fine)) warns."""
    del kwargs
    when = f"after {date}" if date else "in a future version"
    plain = [name if isinstance(name, str) else name[0] for name in names]
    fine = {name[0]: name[1:] for name in names if not isinstance(name, str)}

    def decorate(target: Callable[..., Any]) -> Any:
        order = [*inspect.signature(target).parameters]

        def gives(*args: Any, **given: Any) -> bool:
            all_of = {**dict(zip(order, args, strict=False)), **given}
            return any(name in all_of and not any(all_of[name] is ok for ok in fine.get(name, ())) for name in plain)

        text = f"calling {_shown(target)} with {', '.join(plain)} is deprecated and will be removed {when}.\n"
        return _warning(target, (target, *plain), gives, f"{text}Instructions for updating:\n{instructions}")

    return decorate


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **values: object
) -> Callable[[Any], Any]:
    """Decorate a function some of whose arguments' values are to go: a call that gives one warns."""
    del warn_once
    when = f"after {date}" if date else "in a future version"

    def decorate(target: Callable[..., Any]) -> Any:
        order = [*inspect.signature(target).parameters]

        def gives(*args: Any, **given: Any) -> bool:
            all_of = {**dict(zip(order, args, strict=False)), **given}
            return any(name in all_of and all_of[name] is value for name, value in values.items())

        shown = ", ".join(f"{name}={value}" for name, value in values.items())
        text = f"calling {_shown(target)} with {shown} is deprecated and will be removed {when}.\n"
        return _warning(target, (target, shown), gives, f"{text}Instructions for updating:\n{instructions}")

    return decorate


def deprecated_alias(deprecated_name: str, name: str, func_or_class: Callable[..., Any], warn_once: bool = True) -> Any:
    """Return a function or class under another name that is to go."""
    del warn_once
    text = f"The name {deprecated_name} is deprecated. Please use {name} instead."
    if isinstance(func_or_class, type):
        made = type(func_or_class.__name__, (func_or_class,), {"__module__": func_or_class.__module__})
        made.__init__ = _warning(made.__init__, deprecated_name, lambda *args, **kwargs: True, text)  # type: ignore[misc]
        return made
    return _warning(func_or_class, deprecated_name, lambda *args, **kwargs: True, text)


def deprecated_argument_lookup(new_name: str, new_value: object, old_name: str, old_value: object) -> Any:
    """Return the value of an argument that has another name now. Raises ValueError where both are given."""
    if old_value is not None:
        if new_value is not None:
            raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
        return old_value
    return new_value


def deprecated_endpoints(*names: str) -> Callable[[Any], Any]:
    """Decorate a function with the public names of it that are to go."""

    def decorate(target: Any) -> Any:
        target._tf_deprecated_api_names = names
        return target

    return decorate


def _note(name: str) -> Callable[[Any], Any]:
    def note(target: object) -> Any:
        noted = target.fget if isinstance(target, property) else getattr(target, "__func__", target)
        with contextlib.suppress(AttributeError, TypeError):
            setattr(noted, f"_tf_docs_{name}", True)
        return target

    note.__name__ = name
    note.__doc__ = f"Note for TensorFlow's documentation of a function or a class: {name}."
    return note


do_not_doc_inheritable = _note("do_not_doc_inheritable")
do_not_doc_in_subclasses = _note("do_not_doc_inheritable")
do_not_generate_docs = _note("do_not_document")
doc_in_current_and_subclasses = _note("doc_in_current_and_subclasses")
doc_private = _note("doc_private")
for_subclass_implementers = _note("for_subclass_implementers")


def disable_cudnn_autotune(func: object) -> Any:
    """Return a test as it is: no device of NVIDIA's takes its time to find its fastest convolution."""
    return func
