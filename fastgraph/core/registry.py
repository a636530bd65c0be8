"""The registry of primitives: every op by its name, and every public name by its op.

Rule: a name is registered once; what is registered stays. The modules of ops, which lie above, are imported when one of
their names is asked for, and all of them when names are enumerated.
"""

from __future__ import annotations

import copyreg
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from fastgraph.core import op_index
from fastgraph.core.base.deferred_signals import imported
from fastgraph.core.primitive import Primitive as Primitive

_OPS = "fastgraph.ops"
_primitives: dict[str, Primitive] = {}
_public: dict[str, Any] = {}
_watchers: list[Callable[[Any], None]] = []
_shown: list[Any] = []  # to `watched`


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
    for watcher in _watchers:
        watcher(function)
    return function


def watch(watcher: Callable[[Any], None]) -> None:
    """Have `watcher` called with each public function that there is, and with those that come, or are `watched`."""
    for function in [*_public.values(), *_shown]:
        watcher(function)
    _watchers.append(watcher)


def watched(value: Any) -> Any:
    """Show a public object that is no op to the watchers; return it."""
    _shown.append(value)
    for watcher in _watchers:
        watcher(value)
    return value


@functools.cache
def _homes(table: str) -> dict[str, str]:
    """Return {name: module of ops} of one of the tables."""
    rows: dict[str, str] = getattr(op_index, table)
    return {name: module for module, names in rows.items() for name in names.split()}


@functools.cache
def load_all() -> None:
    """Import every module of ops."""
    import pkgutil  # for this alone, not at every start

    for module in pkgutil.iter_modules(_import(_OPS).__path__, f"{_OPS}."):
        _import(module.name)


def _find(name: str, registered: dict[str, Any], table: str) -> Any:
    """Import the module that registers `name`, or all of them where the table does not know it. Raises KeyError."""
    home = _homes(table).get(name)
    if home is not None:
        _import(f"{_OPS}.{home}")
    if name not in registered:
        load_all()
    return registered[name]


def _import(module: str) -> Any:
    """Import a module on behalf of a call."""
    if module in sys.modules and threading.active_count() == 1:
        return sys.modules[module]
    return imported(module)


def get(name: str) -> Primitive:
    """Return the primitive registered as `name`. Raises KeyError, naming it, if there is none."""
    found = _primitives.get(name)
    if found is None:
        try:
            found = _find(name, _primitives, "PRIMITIVES")
        except KeyError:
            raise KeyError(f"No primitive is named {name!r}; is the module that defines it imported?") from None
    return found


copyreg.pickle(Primitive, lambda primitive: (get, (primitive.name,)))  # a copy of a primitive is the primitive


def all_primitives() -> Iterator[Primitive]:
    """Iterate over the registered primitives, those of all ops among them; what a module imports comes before it."""
    load_all()
    return iter(tuple(_primitives.values()))


def public_names() -> dict[str, Any]:
    """Return a copy of the table from public name ("math.sin") to public object, with the names of all ops."""
    load_all()
    return dict(_public)


def public_function(name: str) -> Any:
    """Return the object registered under the public name `name`. Raises KeyError."""
    found = _public.get(name)
    return _find(name, _public, "PUBLIC") if found is None else found
