"""Objects by name or description: how "relu", {"class_name": "L2", ...} and L2(0.1) all become what they stand for.

Rule: each kind (activations, initializers, ...) has one table from lower-case names to classes or functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

#: What stands for a function or an object of Keras's: itself, its class, its name, a config of it; None for none.
Identifier = Callable[..., Any] | str | Mapping[str, Any] | None


def find(identifier: str | Mapping[str, Any], table: Mapping[str, Callable[..., Any]], kind: str) -> Any:
    """Return the object for a name or a config of a class, made without arguments for a name.

    Raises ValueError for a name that the table lacks.
    """
    if isinstance(identifier, Mapping):
        name, config = identifier.get("class_name"), identifier.get("config")
        if not isinstance(name, str):
            raise ValueError(f"Improper config format for {identifier}. Expecting python dict contains `class_name`")
        return made(name, table, kind)(**(config or {}))
    return made(identifier, table, kind)()


def made(name: str, table: Mapping[str, Callable[..., Any]], kind: str) -> Callable[..., Any]:
    """Return the table's entry for a name, in snake case or as the class is called. Raises ValueError."""
    found = table.get(name) or table.get(name.lower())
    if found is None:
        known = ", ".join(sorted(table))
        raise ValueError(f"Unknown {kind}: {name!r}. Known names: {known}.")
    return found


def described(thing: object, module: str) -> Any:
    """Return the config that `find` makes such an object of; None for None."""
    if thing is None:
        return None
    config = thing.get_config() if hasattr(thing, "get_config") else {}
    return {"module": module, "class_name": type(thing).__name__, "config": config, "registered_name": None}
