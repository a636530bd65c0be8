"""Name scopes: the prefix that names of Variables and graph nodes get on this thread.

Rule: a scope is a string, "" or "a/b/"; who makes a name puts `current_scope()` before it.
"""

from __future__ import annotations

from fastgraph._tensor import current_state

_KEY = "name_scope"


def current_scope() -> str:
    """Return this thread's scope: "" or a text that ends in "/"."""
    found: str = current_state().extra.get(_KEY, "")
    return found


class name_scope:
    """A context in which names get the prefix `name` + "/". Source: tf.name_scope.

    A name that ends in "/" is taken as a whole scope, whatever scope it is entered in; "" or None is the outermost one.
    `with` gives the scope's text. Raises TypeError if `name` is not a string.
    """

    def __init__(self, name: str | None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError("name for name_scope must be a string.")
        self._name = name
        self._before: list[str] = []

    @property
    def name(self) -> str | None:
        """The name given."""
        return self._name

    def __enter__(self) -> str:
        before = current_scope()
        if not self._name:
            scope = ""
        elif self._name.endswith("/"):
            scope = self._name
        else:
            scope = f"{before}{self._name}/"
        self._before.append(before)
        current_state().extra[_KEY] = scope
        return scope

    def __exit__(self, *exception: object) -> None:
        current_state().extra[_KEY] = self._before.pop()
