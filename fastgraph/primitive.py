"""The registry of primitives: every op by its name, and every public name by its op.

Rule: a name is registered once; what is registered stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fastgraph._primitive import Primitive

__all__ = ["Primitive", "all_primitives", "get", "public_function", "public_names", "register", "register_public"]

_primitives: dict[str, Primitive] = {}
_public: dict[str, Any] = {}


def register(primitive: Primitive) -> Primitive:
    """Enter `primitive` under its name and return it. Raises ValueError if the name is taken."""
    if primitive.name in _primitives:
        raise ValueError(f"A primitive named {primitive.name!r} is registered already")
    _primitives[primitive.name] = primitive
    return primitive


def register_public(function: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """Enter `function` as what `fastgraph.<name>` is, for each of `names` ("sin", "math.sin"); return it."""
    for name in names:
        if _public.setdefault(name, function) is not function:
            raise ValueError(f"The public name {name!r} is registered already")
    return function


def get(name: str) -> Primitive:
    """Return the primitive registered as `name`. Raises KeyError, naming it, if there is none."""
    try:
        return _primitives[name]
    except KeyError:
        raise KeyError(f"No primitive is named {name!r}; is the module of ops that defines it imported?") from None


def all_primitives() -> Iterator[Primitive]:
    """Iterate over the registered primitives in the order of their registration."""
    return iter(tuple(_primitives.values()))


def public_names() -> dict[str, Any]:
    """Return a copy of the table from public name ("math.sin") to public object."""
    return dict(_public)


def public_function(name: str) -> Any:
    """Return the object registered under the public name `name`. Raises KeyError."""
    return _public[name]
