"""The table of TensorFlow's internal names that libraries import: the path of each, and what of ours means the same.

Rule: one row for each path, without conditions. What is not in the table is an error that names it.
"""

from __future__ import annotations

import importlib
import operator
import os
import re
import sys
from typing import Any

import fastgraph
from fastgraph.api import namespaces, public_names
from fastgraph.core.base.name_tables import lines_of
from fastgraph.door import class_names, v1_names

_PACKAGE = os.path.dirname(fastgraph.__file__) + os.sep
#: The folders of TensorFlow's sources that are no public modules.
FOLDERS = ("__internal__", "__operators__", "compiler", "core", "python", "tools")

#: Public modules of TensorFlow's that are not built, of which its inside has parts.
_ABSENT = frozenset({"lite", "tpu", "xla"}).intersection(public_names.SUBSTITUTES)


def _table() -> tuple[dict[str, str], frozenset[str]]:
    """Read internal_names.txt: the names, and the modules without any."""
    empty = set()
    found = {full.partition(".")[2]: path for path, full in class_names.CLASSES.items()}
    for line in lines_of("door/internal_names.txt"):
        place, _, words = line.partition(":")
        path, _, home = place.partition(" < ")
        if not words:
            empty.add(path)
        for word in words.split():
            name, _, ours = word.partition("=")
            found[f"{path}.{name}"] = f"{home}:{ours or name}"
    return found, frozenset(empty)


#: Path below `tensorflow` -> "module:attribute" within fastgraph; "tf" and "tf.x" are the public names, "malt.x" is
#: the package malt's.
NAMES, _EMPTY = _table()

#: The modules of those paths, and of those above them.
MODULES = _EMPTY | {
    ".".join(parts[:n])
    for parts in (path.split(".") for path in (*NAMES, *(f"{each}." for each in _EMPTY)))
    for n in range(1, len(parts))
}


def operation(path: str) -> Any:
    """Return the operation that a name of `python.ops.gen_X_ops` is ("mat_mul", "MatMul"); None: none is served."""
    module, _, name = path.rpartition(".")
    if module not in _EMPTY or not module.startswith("python.ops.gen_"):
        return None
    raw_ops = importlib.import_module("fastgraph.graphdef.raw_ops")
    return raw_ops.function(name) if name in raw_ops.names() else raw_ops.by_position(name)


def value(path: str) -> Any:
    """Return what the table's row `path` leads to."""
    home, _, attribute = NAMES[path].partition(":")
    if home.partition(".")[0] == "tf":
        return operator.attrgetter(f"{home}.{attribute}".removeprefix("tf."))(fastgraph)
    module = importlib.import_module(home if home.startswith("malt.") else f"fastgraph.{home}")
    return getattr(module, attribute)


def loaded(home: str) -> Any:
    """Return a module of ours if it has been imported, else None."""
    return sys.modules.get(f"fastgraph.{home}")


def advice(path: str) -> str:
    """Say that a path of TensorFlow's inside is not in the table, who asks for it, and what comes nearest to it."""
    name = _core_of(path)
    every = [*namespaces.built_names(), *public_names.NAMESPACES, *public_names.FILES]
    cores: dict[str, list[str]] = {}
    for full in every:
        if name and "numpy" not in full:
            cores.setdefault(_core_of(full), []).append(full)
    same = cores.get(name)
    instead = [public_names.SUBSTITUTES[word] for word in path.split(".") if word in _ABSENT]
    if instead and not same:
        near = f"Use {instead[-1]} instead."
    else:
        same = same or [full for core in namespaces.nearest(name, cores, 0.8) for full in cores[core]]
        near = f"The public name nearest to it is tf.{min(same, key=len)}." if same else _way_of_old(path)
    return (
        f"tensorflow.{path}, which {_asking()} asks for, is inside of TensorFlow, and not one of the inner names that "
        f"fastgraph answers for (fastgraph/door/internal_names.txt lists them). {near}"
    )


def _way_of_old(path: str) -> str:
    """Say what to use in place of a name of TensorFlow 1's, which modules of its inside have too (`client.session`)."""
    last = path.rpartition(".")[2]
    way = v1_names.spelling(last) or v1_names.spelling(last.capitalize())
    return f"Use {way} instead." if way else "No public name is near to it."


def _core_of(path: str) -> str:
    """Return a path's last name without what inner ones have more than public ones (`math_ops`, `_v2`)."""
    return re.sub(r"^(gen|tf)_|_(ops?|v[12])$|V[12]$|_", "", path.rpartition(".")[2]).lower()


def _asking() -> str:
    """Return the file and line that is asking for a name: the innermost one that is neither ours nor Python's."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_PACKAGE, "<frozen")) and not file.endswith(f"importlib{os.sep}__init__.py"):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return "the program"
