"""The modules that stand behind the door: `tensorflow` and those below it that are not simply a module of fastgraph.

Rule: a Front holds nothing of its own; each name is looked up in fastgraph when it is first asked for, and kept.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import types
from importlib.machinery import ModuleSpec
from typing import Any

import fastgraph
from fastgraph.api import namespaces, public_names
from fastgraph.door import internal_names, v1_names
from fastgraph.door.static_types import without_frames
from fastgraph.errors import NotBuiltError, NotBuiltImportError

#: The version of TensorFlow's API that fastgraph follows.
API_LEVEL = fastgraph.__version__.partition("+")[0]
#: Short names of modules of Keras's.
_OF_KERAS = ("initializers", "losses", "metrics", "optimizers")
#: Names of tf.version's that `tensorflow` has itself.
_OF_VERSION = {"__git_version__": "GIT_VERSION", "__compiler_version__": "COMPILER_VERSION"}
_fronts: dict[str, Front] = {}


class Front(types.ModuleType):
    """A module behind the door, by its path below `tensorflow` ("" for itself); its names are found when asked for."""

    def __init__(self, path: str) -> None:
        full = f"tensorflow.{path}" if path else "tensorflow"
        super().__init__(full, f"{full}, in the form of fastgraph.")
        self.__spec__ = ModuleSpec(full, None, is_package=True)
        self.__path__: list[str] = []
        self.__package__ = full
        self.__file__ = fastgraph.__file__
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return namespaces.starred(dir(self))
        value = lookup(self._path, name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted(names(self._path))

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, (self.__name__,)


class OldKeras(Front):
    """A module of the old copy of Keras inside TensorFlow: what is public now, then what Keras's own sources have."""

    def __init__(self, path: str, public: types.ModuleType | None, source: types.ModuleType | None) -> None:
        super().__init__(path)
        self._public, self._source = public, source

    def __getattr__(self, name: str) -> Any:
        for module in (self._public, self._source):
            if hasattr(module, name):
                return getattr(module, name)
        if name.startswith("__") or (found := _import(f"{getattr(self._source, '__name__', '')}.{name}")) is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return found

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._public), *dir(self._source)})


for _each in (Front, OldKeras, namespaces.Namespace):
    without_frames(_each)


def front(path: str) -> Front:
    """Return the one Front of a path."""
    if path not in _fronts:
        _fronts[path] = Front(path)
    return _fronts[path]


def keras_root() -> str:
    """Return the module that tf.keras is, by TensorFlow's rule: keras 3 or tf_keras, if installed, else the small one.

    Raises ImportError where the variable TF_USE_LEGACY_KERAS asks for a tf_keras that is not there.
    """
    if os.environ.get("TF_USE_LEGACY_KERAS", "").lower() in ("1", "true"):
        if importlib.util.find_spec("tf_keras") is None:
            raise ImportError(
                "TF_USE_LEGACY_KERAS asks for Keras 2 by its name tf_keras, which is not installed: "
                "python -m pip install tf_keras, or unset the variable."
            )
        return "tf_keras.api._v2.keras"
    if importlib.util.find_spec("keras") is not None and importlib.util.find_spec("keras._tf_keras") is not None:
        return "keras._tf_keras.keras"
    return "fastgraph.keras"


def find(full: str) -> types.ModuleType | None:
    """Return the module that stands for `full` ("tensorflow", "tensorflow.data"), None where TensorFlow has none.

    Raises NotBuiltImportError where TensorFlow has one and fastgraph has not.
    """
    path = _path_of(full)
    top, _, rest = path.partition(".")
    if path in ("", "compat") or path in v1_names.MODULES or path in internal_names.MODULES:
        return front(path)
    if top == "keras" or path in _OF_KERAS:
        return _import(keras_root() + (f".{rest}" if rest else "") if top == "keras" else f"{keras_root()}.{path}")
    if path == "compat.v1.keras" or path.startswith("compat.v1.keras."):
        return _import(keras_root().replace("_v2", "_v1") + path.removeprefix("compat.v1.keras"))
    if _is_inner_keras(path):
        root, inner = keras_root(), path.removeprefix("python.keras")
        public, source = _import(root + inner), _import(f"{root.partition('.')[0]}.src{inner}")
        both = inner and public is not None and source is not None
        return OldKeras(path, public, source) if both else public or source
    may_be_there(full)
    if path in public_names.NAMESPACES or path in public_names.FILES:
        return importlib.import_module(f"fastgraph.{path}")
    return None


def _is_inner_keras(path: str) -> bool:
    """Return whether a path is in the old copy of Keras inside TensorFlow: what tf.keras is stands for it.

    For modules and names that are not public there (`engine.base_layer`, `utils.np_utils`) those of Keras's own
    sources do, where they still are.
    """
    return f"{path}.".startswith("python.keras.")


def _path_of(full: str) -> str:
    """Return a module's path below `tensorflow`, which that of TensorFlow 2 by name is as well."""
    path = full.partition(".")[2]
    return path[len("compat.v2.") :] if f"{path}.".startswith("compat.v2.") else path


def may_be_there(full: str) -> bool:
    """Say whether there is such a module, as far as that can be told without importing anything.

    Raises NotBuiltImportError where TensorFlow has one and fastgraph has not.
    """
    path = _path_of(full)
    top = path.partition(".")[0]
    if path in ("", "compat") or path in v1_names.MODULES or path in internal_names.MODULES:
        return True
    if top == "keras" or path in _OF_KERAS or f"{path}.".startswith("compat.v1.keras.") or _is_inner_keras(path):
        return True
    if top in internal_names.FOLDERS or path.startswith("compat.v1."):
        raise NotBuiltImportError(internal_names.advice(path))
    if path in public_names.NAMESPACES or path in public_names.FILES:
        return True
    namespace, _, name = path.rpartition(".")
    error = namespaces.missing(namespace, name)
    if isinstance(error, NotBuiltError):
        raise NotBuiltImportError(str(error))
    hinted = namespaces.hint_at_import(f"tensorflow.{namespace}".rstrip("."), name, error)
    if hinted is not None:
        raise hinted
    return False


def _import(full: str) -> types.ModuleType | None:
    """Import a module of Keras's; None where it is not there, so that Python names what was asked for."""
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{full}.".startswith(f"{error.name}."):
            raise
        return None


def lookup(path: str, name: str) -> Any:
    """Return what `name` is in the module of a path. Raises AttributeError, NotBuiltError where TensorFlow has it."""
    dotted = f"{path}.{name}" if path else name
    if not path and name in _OF_VERSION:
        return getattr(fastgraph.version, _OF_VERSION[name])
    if name.startswith("__") and name.endswith("__") and name not in ("__internal__", "__operators__", "__version__"):
        raise AttributeError(f"module 'tensorflow{path and '.' + path}' has no attribute {name!r}")
    if not path and name == "__version__":
        return API_LEVEL
    if dotted == "compat.v2":
        return front("")
    if (
        dotted in internal_names.MODULES
        or dotted in v1_names.MODULES
        or dotted in ("keras", "compat", "compat.v1.keras", "python.keras", *_OF_KERAS)
    ):
        return (
            importlib.import_module(f"tensorflow.{dotted}")
            if "tensorflow" in sys.modules
            else find(f"tensorflow.{dotted}")
        )
    if dotted in internal_names.NAMES:
        return internal_names.value(dotted)
    if path.startswith("compat.v1"):
        return v1_names.value(path.removeprefix("compat.v1").lstrip("."), name)
    if path.partition(".")[0] in internal_names.FOLDERS:
        operation = internal_names.operation(dotted)
        if operation is not None:
            return operation
        raise NotBuiltError(internal_names.advice(dotted))
    if path == "compat":
        return getattr(fastgraph.compat, name)
    try:
        if not path:
            return getattr(fastgraph, name)
    except AttributeError as error:
        if error.name != name:
            raise
    raise namespaces.missing(path, name, "tensorflow")


def names(path: str) -> set[str]:
    """Return the names that are found in the module of a path."""
    prefix = f"{path}." if path else ""
    every = {*internal_names.MODULES, *internal_names.NAMES, *v1_names.MODULES}
    found = {full[len(prefix) :] for full in every if full.startswith(prefix)}
    own = {name for name in found if "." not in name}
    if path == "":
        return {*dir(fastgraph), *own, "keras", "compat", *_OF_KERAS}
    if path == "compat":
        return {*dir(fastgraph.compat), *own, "v1", "v2"}
    return own | (v1_names.names(path.removeprefix("compat.v1").lstrip(".")) if path.startswith("compat.v1") else set())
