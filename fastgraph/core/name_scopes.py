"""Name scopes: the prefix that names of Variables and graph nodes get on this thread.

Rule: a scope is a string, "" or "a/b/"; who makes a name puts `current_scope()` before it.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.tensor import current_state, current_trace

_KEY = "name_scope"


def current_scope() -> str:
    """Return this thread's scope: "" or a text that ends in "/"."""
    found: str = current_state().extra.get(_KEY, "")
    return found


_ROOT, _INNER = "^[A-Za-z0-9.][A-Za-z0-9_.\\\\/>-]*$", "^[A-Za-z0-9_.\\\\/>-]*$"
_is_node = re.compile(_ROOT[:-1]).fullmatch
_is_root, _is_inner = re.compile(_ROOT).match, re.compile(_INNER).match


def check_name(name: str, scope: str) -> None:
    """Raise ValueError unless `name` can be that of an op, or of a scope, in `scope` of a graph."""
    if scope and not _is_inner(name):
        raise ValueError(
            f"{name!r} is not a valid scope name. A scope name has to match the following pattern: {_INNER}"
        )
    if not scope and not _is_root(name):
        raise ValueError(
            f"{name!r} is not a valid root scope name. A root scope name has to match the following pattern: {_ROOT}"
        )


#: Names that have been found to be valid as the beginning of others.
_valid_scopes = {""}


def check_node(scope: str, name: str | None = None) -> None:
    """Raise ValueError unless a node of a graph can be called `scope` and `name`; None is the name of an op."""
    if name is None and scope in _valid_scopes:
        return
    shown = scope + ("..." if name is None else name)
    if not _is_node(scope + "Op" if name is None else shown):
        raise ValueError(f"`{shown}` is not a valid node name. Accepted names conform to Regex /re.compile({_ROOT!r})/")
    if len(_valid_scopes) > 10_000:
        _valid_scopes.clear()
    _valid_scopes.add(scope)


class name_scope:
    """A context in which names get the prefix `name` + "/". Source: tf.name_scope.

    Args:
        name: The scope's name. One that ends in "/" is taken as a whole scope, whatever scope it is entered in; "" is
            the outermost one.

    Raises:
        ValueError: `name` is not a string or, in a graph, cannot be a scope's there.

    Examples:
        `with` gives the scope's text.

        >>> with tf.name_scope("encoder"):
        ...     with tf.name_scope("first") as scope:
        ...         weight = tf.Variable(0.0, name="weight")
        >>> scope, weight.name
        ('encoder/first/', 'encoder/first/weight:0')
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        self._name = name
        self._before: list[str] = []

    name = ReadOnly[str]("_name", "The name given.")

    def __enter__(self) -> str:
        before = current_scope()
        trace: Any = current_trace()
        if not self._name:
            scope = ""
        else:
            if trace is not None:
                check_name(self._name, before)
            scope = self._name if self._name.endswith("/") else f"{before}{self._name}/"
            if trace is not None and scope is not self._name:  # in a graph, a scope entered again is another one
                scope = trace.graph.unique_name(scope[:-1]) + "/"
        self._before.append(before)
        current_state().extra[_KEY] = "" if scope == "/" and trace is not None else scope
        return scope

    def __exit__(self, *exception: object) -> None:
        current_state().extra[_KEY] = self._before.pop()


def op_scope(name: str | None, default: str) -> AbstractContextManager[str | None]:
    """The scope of what an op consists of, where several make one: in a graph `name`, else `default`; eagerly none."""
    return nullcontext() if current_trace() is None else name_scope(name or default)
