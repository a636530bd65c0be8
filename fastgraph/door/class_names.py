"""The names by which libraries know TensorFlow's classes without importing it: `type(x).__module__` and `__name__`.

Rule: one row for each class. It gets its name when the door opens or, if its module is not imported by then, when it
is; nothing is imported for it.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Loader

#: "module:class" within fastgraph -> what the class is called in TensorFlow.
CLASSES: dict[str, str] = {
    "core.tensor:Tensor": "tensorflow.python.framework.tensor.Tensor",
    "core.tensor:EagerTensor": "tensorflow.python.framework.ops.EagerTensor",
    "graph.symbolic_tensor:SymbolicTensor": "tensorflow.python.framework.ops.SymbolicTensor",
    "state.variable:Variable": "tensorflow.python.ops.resource_variable_ops.ResourceVariable",
    "composites.ragged_tensor:RaggedTensor": "tensorflow.python.ops.ragged.ragged_tensor.RaggedTensor",
    "composites.sparse_tensor:SparseTensor": "tensorflow.python.framework.sparse_tensor.SparseTensor",
    "core.tape.indexed_slices:IndexedSlices": "tensorflow.python.framework.indexed_slices.IndexedSlices",
    "data.dataset:Dataset": "tensorflow.python.data.ops.dataset_ops.DatasetV2",
    "data.iterators:OwnedIterator": "tensorflow.python.data.ops.iterator_ops.OwnedIterator",
}

_rows: dict[str, list[tuple[str, str]]] = {}
for _path, _full in CLASSES.items():
    _module, _, _name = _path.partition(":")
    _rows.setdefault(f"fastgraph.{_module}", []).append((_name, _full))


def apply_to_imported() -> None:
    """Give the classes of modules that have been imported their names."""
    for full in _rows:
        if full in sys.modules:
            _apply(sys.modules[full])


def find_spec(full: str, path: Sequence[str] | None = None) -> ModuleSpec | None:
    """Return the spec of a module whose classes get their names once it has been executed; None for other modules."""
    return followed(full, path, _apply) if full in _rows else None


def followed(full: str, path: Sequence[str] | None, then: Callable[[types.ModuleType], None]) -> ModuleSpec | None:
    """Return the spec of a module to which something is done once it has been executed; None where there is none."""
    spec = PathFinder.find_spec(full, path)
    if spec is not None and spec.loader is not None:
        spec.loader = _Followed(spec.loader, then)  # type: ignore[assignment]
    return spec


class _Followed:
    """A loader that does something to the module that another one has loaded, and leaves that one in its place."""

    def __init__(self, loader: Loader, then: Callable[[types.ModuleType], None]) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: ModuleSpec) -> types.ModuleType | None:
        """Return what the loader makes."""
        return self._loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        """Execute the module, then do it."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then(module)


def _apply(module: types.ModuleType) -> None:
    for name, full in _rows[module.__name__]:
        cls = getattr(module, name)
        home, _, last = full.rpartition(".")
        try:
            cls.__module__ = home
            cls.__name__ = cls.__qualname__ = last
        except TypeError:  # a class of C
            from fastgraph.door.static_types import rename, write_attribute

            rename(cls, full)
            if name == "Tensor":
                write_attribute(cls, "OVERLOADABLE_OPERATORS", Overloadable())


class Overloadable:
    """Tensor's attribute OVERLOADABLE_OPERATORS: who asks for the names may take the operators as functions as well."""

    def __get__(self, instance: object, owner: type) -> frozenset[str]:
        from fastgraph.door.tensor_operators import names

        return names()
