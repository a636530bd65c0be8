"""Opening the door: the finder that answers for `tensorflow`, in this process and in those that it starts.

Rule: what a door changes in a process is one finder in sys.meta_path and two variables of the environment, by which
the processes that it starts open theirs (startup/sitecustomize.py).
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from typing import Any, TypeVar

from fastgraph.core.base import flags
from fastgraph.door import class_names, modules

#: The folder of the start-up file by which processes that this one starts open their doors.
STARTUP = os.path.join(os.path.dirname(__file__), "startup")
#: The variable that names the interpreter for which the door is open: another one has its own TensorFlow.
VARIABLE = flags.FLAGS["door"].variable


#: The folder whose frames a traceback is not to show, and the file of the function by which they import.
_OURS = (os.path.dirname(__file__) + os.sep, importlib.__file__)
_Finds = TypeVar("_Finds", bound=Callable[..., Any])


def _unseen(function: _Finds) -> _Finds:
    """Let a function be a part of Python's import system in the eyes of tracebacks.

    Python leaves the frames of its own finders out of an ImportError's traceback, by the name of their file.
    """
    function.__code__ = function.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    return function


def _without_frames(error: ImportError) -> ImportError:
    """Return an error of an import without the frames that are the door's; those of a library that fails stay."""
    first, last = None, None
    link = error.__traceback__.tb_next if error.__traceback__ is not None else None  # the caller's own comes again
    while link is not None:
        if not link.tb_frame.f_code.co_filename.startswith(_OURS):
            if last is None:
                first = link
            else:
                last.tb_next = link
            last = link
        link = link.tb_next
    if last is not None:
        last.tb_next = None
    return error.with_traceback(first)


#: The specs under which modules were loaded, by the names that the door has for them.
_specs: dict[str, ModuleSpec | None] = {}


class _HandOver:
    """The loader of a module that is there already, or that another name imports.

    Nothing is imported before the module is made: Python holds its one lock of all imports while it asks for a spec,
    and a thread that prepares kernels may import as well.
    """

    def __init__(self, full: str) -> None:
        self.full = full

    @_unseen
    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """Return the module. Raises ModuleNotFoundError, NotBuiltImportError where there is none."""
        try:
            module = modules.find(self.full)
        except ImportError as error:
            raise _without_frames(error)  # noqa: B904  (it is the same error)
        if module is None:
            raise ModuleNotFoundError(f"No module named {self.full!r}", name=self.full)
        spec.origin = getattr(module, "__file__", None)
        _specs.setdefault(self.full, module.__spec__)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Give the module back what import has replaced: it keeps the name under which it was loaded."""
        spec = module.__spec__ = _specs[self.full]
        if spec is not None:  # importlib.reload replaces these, too
            module.__name__, module.__package__, module.__loader__ = spec.name, spec.parent, spec.loader


class Door:
    """The first of Python's finders: `tensorflow` and what is below it are fastgraph's modules."""

    @staticmethod
    @_unseen
    def find_spec(full: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a module of TensorFlow's name, None for other modules and for such as nobody has.

        Raises NotBuiltImportError for a module that TensorFlow has and fastgraph has not.
        """
        if full != "tensorflow" and not full.startswith("tensorflow."):
            if full.startswith(("keras.src.", "tf_keras.src.")):
                from fastgraph.door import process_files  # programs without Keras need none of it

                return process_files.find_spec(full, path)
            return class_names.find_spec(full, path) if full.startswith("fastgraph.") else None
        try:
            return ModuleSpec(full, _HandOver(full)) if modules.may_be_there(full) else None  # type: ignore[arg-type]
        except ImportError as error:
            raise _without_frames(error)  # noqa: B904  (it is the same error)

    @staticmethod
    def find_distributions(context: object = None) -> Iterator[Any]:
        """Yield the distribution `tensorflow` where it, or any, is asked for."""
        name = getattr(context, "name", None)
        if name is None or name.lower() == "tensorflow":
            from fastgraph.door.package_metadata import TensorFlowDistribution  # importlib.metadata is slow to import

            yield TensorFlowDistribution()

    @staticmethod
    def invalidate_caches() -> None:
        """Do nothing: the finder keeps nothing."""


def is_open() -> bool:
    """Return whether `import tensorflow` gives fastgraph in this process."""
    return any(finder is Door for finder in sys.meta_path)


def open_here() -> None:
    """Open the door in this process alone. Raises ImportError where another tensorflow has been imported."""
    found = sys.modules.get("tensorflow")
    if found is not None and not isinstance(found, modules.Front):
        raise ImportError(
            f"TensorFlow itself has been imported already (from {getattr(found, '__file__', None)}), and two packages "
            "cannot share a name: nothing has been changed. Call fastgraph.install_as_tensorflow() before the first "
            "import of tensorflow and of libraries that import it, or start the program by "
            "`python -m fastgraph run SCRIPT.py`."
        )
    if not is_open():
        class_names.apply_to_imported()
        sys.meta_path.insert(0, Door)


def environment(variables: dict[str, str]) -> dict[str, str]:
    """Return the variables of the environment with which a process of this interpreter opens a door of its own."""
    given = variables.get("PYTHONPATH", "")
    paths = [path for path in given.split(os.pathsep) if path != STARTUP] if given else []
    return {**variables, "PYTHONPATH": os.pathsep.join([STARTUP, *paths]), VARIABLE: sys.prefix}


def install_as_tensorflow() -> None:
    """Make `import tensorflow` give fastgraph, in this process and in those that it starts.

    For notebooks and conftest files; a script is run by `python -m fastgraph run SCRIPT.py`. Call it before the first
    import of tensorflow and of libraries that import it; a second call does nothing. While the door is open,
    `importlib.metadata` answers for the distribution `tensorflow`, and `tf.keras` is the package keras where that is
    installed (tf_keras, if TF_USE_LEGACY_KERAS is 1).

    Raises:
        ImportError: TensorFlow itself has been imported already; nothing has been changed.

    Examples:
        >>> import fastgraph
        >>> fastgraph.install_as_tensorflow()  # doctest: +SKIP
        >>> import tensorflow as tf  # doctest: +SKIP
    """
    open_here()
    os.environ.update(environment(dict(os.environ)))
