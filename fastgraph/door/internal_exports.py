"""The public names of functions and classes, both ways: those of libraries, which they state, and those of ours.

Rule: nothing is looked for before it is asked for.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import fastgraph
from fastgraph.api import namespaces, public_names
from fastgraph.door import internal_names, v1_names
from fastgraph.door.internal_decorators import unwrap

_exported: dict[str, Any] = {}


class api_export:
    """A decorator that enters a library's function or class under its public names ("keras.layers.Dense").

    api_name: "tensorflow" or "keras". v1: its names in TensorFlow 1, where they are others. Raises ValueError where
    there is no name.
    """

    def __init__(self, *args: str, api_name: str = "tensorflow", **kwargs: Any) -> None:
        self.names, self.api_name = args, api_name
        self.v1 = tuple(kwargs.get("v1") or ()) if "v1" in kwargs else args
        self.allow_multiple_exports = kwargs.get("allow_multiple_exports", True)

    def __call__(self, target: object) -> Any:
        found = unwrap(target)[1]
        keys = {"tensorflow": "_tf_api_names", "keras": "_keras_api_names"}
        key = keys[self.api_name]
        if "__dict__" not in dir(found) or key not in vars(found):
            setattr(found, key, self.names)
            setattr(found, f"{key}_v1", self.v1)
        for name in self.names:
            _exported[name] = target
        for name in self.v1:
            _exported[f"compat.v1.{name}"] = target
        return target

    def export_constant(self, module_name: str, name: str) -> None:
        """Enter a constant of a module under the names."""
        import sys

        for each in self.names:
            _exported[each] = getattr(sys.modules[module_name], name)


tf_export = functools.partial(api_export, api_name="tensorflow")
keras_export = functools.partial(api_export, api_name="keras")


@functools.cache
def _own_names() -> dict[int, str]:
    """{identity of a public object of ours: the name by which TensorFlow writes it down}."""
    found: dict[int, str] = {}
    for name, value in (*namespaces.op_names().items(), *_classes()):
        key = id(value)
        if key not in found or _rank(name) < _rank(found[key]):
            found[key] = name
    return found


def _classes() -> list[tuple[str, Any]]:
    pairs = []
    for name in public_names.PUBLIC:
        top = name.partition(".")[0]
        if top not in ("keras", "compat", "raw_ops", *public_names.KERAS_3):
            try:
                pairs.append((name, operator.attrgetter(name)(fastgraph)))
            except (AttributeError, ImportError, NotImplementedError):
                continue
    return pairs


def _rank(name: str) -> tuple[int, int, str]:
    """The order in which names of one thing are taken: of mathematics first, else that with the fewest parts."""
    space = name.rpartition(".")[0]
    first = 0 if space == "math" or name == "linalg.matmul" else 3 if space in ("compat.v1", "dtypes") else 1
    return first, name.count("."), name


def get_canonical_name_for_symbol(
    symbol: object, api_name: str = "tensorflow", add_prefix_to_v1_names: bool = False
) -> str | None:
    """Return the public name by which a function or class is written down; None for what has none."""
    found = unwrap(symbol)[1]
    key = {"tensorflow": "_tf_api_names", "keras": "_keras_api_names"}[api_name]
    try:
        own = vars(found)
    except TypeError:
        return None
    if own.get(key):
        return str(own[key][0])
    if own.get(f"{key}_v1"):
        return ("compat.v1." if add_prefix_to_v1_names else "") + str(own[f"{key}_v1"][0])
    if api_name != "tensorflow":
        return None
    operators = internal_names.loaded("door.tensor_operators")
    if operators is not None and found in operators.PUBLIC:
        return str(operators.PUBLIC[found])
    old = getattr(found, "_fg_v1_name", None)
    if old is not None:
        return f"compat.v1.{old}" if add_prefix_to_v1_names else str(old)
    return _own_names().get(id(found))


def get_symbol_from_name(name: str) -> Any:
    """Return the function or class of a public name; None where there is none."""
    if name in _exported:
        return _exported[name]
    if name.startswith("__operators__."):
        return internal_names.value(name) if name in internal_names.NAMES else None
    try:
        if name.startswith("compat.v1."):
            path, _, last = name.removeprefix("compat.v1.").rpartition(".")
            return v1_names.value(path, last)
        return operator.attrgetter(name)(fastgraph) if "." in name or name in namespaces.op_names() else _root(name)
    except (AttributeError, ImportError, NotImplementedError):
        return None


def _root(name: str) -> Any:
    return getattr(fastgraph, name) if name in public_names.PUBLIC else None
