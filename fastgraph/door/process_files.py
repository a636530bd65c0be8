"""Files of Keras, 3 or 2, in the processes of MPI beside the first: written as the first writes them, and thrown away.

Rule: Keras lets each process write to the path that all of them give, where they cut, lock and remove each other's
files. The values are read by all together, so the others save too, in a folder that goes; `replicas.writes` says which
paths are the first's. In the first process, and where nothing says that there are others, nothing of Keras is touched.
"""

from __future__ import annotations

import functools
import operator
import os
import tempfile
import time
import types
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from typing import Any

from fastgraph.door import class_names

#: The variables in which MPICH, Open MPI, PMIx and Slurm say which process one is.
_RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID")
_IS_FIRST = not any(os.environ.get(name, "0").strip("0") for name in _RANKS)


_Call = Callable[..., Any]


def _changed(attribute: str, instead: _Call) -> Callable[[_Call], _Call]:
    """Return what makes `instead(function, self, ...)` of a function where the path is the first process's.

    attribute: where `self`, a callback, has the path; "": it is the argument after the model.
    """

    def change(function: _Call) -> _Call:
        @functools.wraps(function)
        def called(self: object, filepath: object = None, *args: object, **kwargs: object) -> object:
            from fastgraph.core import replicas  # the door opens before there is a core

            given = args if attribute and filepath is None else (filepath, *args)
            path = getattr(self, attribute) if attribute else filepath
            own = not isinstance(path, str | os.PathLike) or replicas.writes(os.fspath(path))
            return function(self, *given, **kwargs) if own else instead(function, self, *given, **kwargs)

        return called

    return change


def _save(save: _Call, model: object, filepath: str | os.PathLike[str], *args: object, **kwargs: object) -> object:
    with tempfile.TemporaryDirectory() as folder:
        return save(model, os.path.join(folder, os.path.basename(filepath)), *args, **kwargs)


def _see_it_removed(remove: _Call, callback: Any, *given: object, **named: object) -> None:
    for _ in range(1000):  # the next `fit` looks for it when it begins: not before it is gone
        if callback.delete_checkpoint and os.path.exists(callback.backup_dir):
            time.sleep(0.01)


def _log(attribute: str) -> Callable[[_Call], _Call]:
    def begin(function: _Call, callback: Any, *args: object, **kwargs: object) -> object:
        callback._elsewhere = tempfile.TemporaryDirectory()  # removed with the callback
        setattr(callback, attribute, os.path.join(callback._elsewhere.name, "log"))
        return function(callback, *args, **kwargs)

    return _changed(attribute, begin)


_SAVES = _changed("", _save)
#: Modules of Keras 3 and 2, with the functions of each that are changed.
_CHANGES: dict[str, dict[str, Callable[[_Call], _Call]]] = {
    "keras.src.saving.saving_lib": {"save_model": _SAVES, "save_weights_only": _SAVES},
    "keras.src.legacy.saving.legacy_h5_format": {"save_model_to_hdf5": _SAVES},
    "keras.src.callbacks.backup_and_restore": {
        "BackupAndRestore._save_model": _changed(
            "_weights_path", lambda _, self: self.model.save_weights(self._weights_path)
        ),
        "BackupAndRestore.on_train_end": _changed("_weights_path", _see_it_removed),
    },
    "keras.src.callbacks.csv_logger": {"CSVLogger.on_train_begin": _log("filename")},
    "keras.src.callbacks.tensorboard": {"TensorBoard.set_model": _log("log_dir")},
    "tf_keras.src.saving.saving_api": {"save_model": _SAVES, "save_weights": _SAVES},
    "tf_keras.src.callbacks": {"CSVLogger.on_train_begin": _log("filename")},
}


def find_spec(full: str, path: Sequence[str] | None = None) -> ModuleSpec | None:
    """Return the spec of a module of Keras that is changed once it has been executed; None for other modules."""
    return None if _IS_FIRST or full not in _CHANGES else class_names.followed(full, path, _change)


def _change(module: types.ModuleType) -> None:
    for path, change in _CHANGES[module.__name__].items():
        home, _, name = path.rpartition(".")
        owner = operator.attrgetter(home)(module) if home else module
        setattr(owner, name, change(getattr(owner, name)))
