"""Weights of models in files: save_weights and load_weights.

Rule: a file is written beside its place and then put there, so that it is whole or the one before. Layouts: a
checkpoint as TensorFlow's (a name without a suffix), NumPy's .npz, .safetensors where that is installed, and Keras 3's
.weights.h5 where h5py is.
"""

from __future__ import annotations

import io
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core import replicas
from fastgraph.core.base.paths import local_path
from fastgraph.errors import NotBuiltError
from fastgraph.keras import backend, legacy_h5
from fastgraph.keras.layers.base import Layer
from fastgraph.saving.checkpoint import Checkpoint, CheckpointOptions, with_callback
from fastgraph.saving.checkpoint_state import checkpoint_exists, update_checkpoint_state
from fastgraph.saving.object_graph import ObjectGraph

_H5, _NPZ, _SAFE = ".weights.h5", ".npz", ".safetensors"
_LEGACY = (".h5", ".hdf5")  # .weights.h5 among them, of which it is the content that says what it is


class LoadStatus:
    """The result of load_weights from a file: everything was there, and fitted, or it has raised."""

    def assert_consumed(self) -> LoadStatus:
        """Do nothing: all values of the file are in use."""
        return self

    def assert_existing_objects_matched(self) -> LoadStatus:
        """Do nothing: all weights of the model have their values."""
        return self

    def expect_partial(self) -> LoadStatus:
        """Do nothing: nothing is left over."""
        return self


def save_weights(
    model: Layer, filepath: str | os.PathLike[str], overwrite: bool, save_format: str | None = None, options:
    CheckpointOptions | None = None,
) -> None:  # fmt: skip
    """Write the weights of a model. Raises ValueError for a model without any, or a file there if not `overwrite`."""
    path = place(filepath, save_format)
    if not model.built and not model.weights:
        raise ValueError(
            f"Unable to save weights of model {model.name!r}: it has not created its variables yet. Call the model on "
            "a batch first, or `build` it."
        )
    if not overwrite and (os.path.exists(path) or checkpoint_exists(path)):
        raise FileExistsError(f"{path} is there already: save_weights(..., overwrite=True) writes over it.")
    if path.endswith(_H5):
        write_content(path, h5_content(model))
        return
    if path.endswith(_LEGACY):
        write_content(path, legacy_h5.content(model))
        return
    if not path.endswith((_NPZ, _SAFE)):
        Checkpoint(root=model).write(path, with_callback(options, _make_latest))
        return
    weights = model.weights
    names = [weight.name for weight in weights]
    if path.endswith(_SAFE):
        tensors = {name: np.ascontiguousarray(weight.numpy()) for name, weight in _ways(model).items()}
        write = _safetensors().save_file
        atomically(path, lambda name: write(tensors, name))
        return
    arrays = {str(i): weight.numpy() for i, weight in enumerate(weights)}
    atomically(path, lambda name: _write_npz(name, {"names": np.asarray(names), **arrays}))


def _make_latest(path: str) -> None:
    if replicas.writes(path):
        update_checkpoint_state(os.path.dirname(path), path, [path])


def load_weights(
    model: Layer, filepath: str | os.PathLike[str], options: CheckpointOptions | None = None, skip_mismatch: bool =
    False, by_name: bool = False,
) -> Any:  # fmt: skip
    """Set the weights of a model from a file. Raises FileNotFoundError, or ValueError for weights of another model.

    skip_mismatch: of HDF5 files leave layers that do not fit as they are, with a warning. by_name: of Keras 2's .h5 set
    the layers of the same names.
    """
    path = place(filepath)
    if (skip_mismatch or by_name) and not path.endswith(_LEGACY):
        raise NotBuiltError(f"skip_mismatch and by_name are for .weights.h5 and .h5 files, not for {path}.")
    if not path.endswith((*_LEGACY, _NPZ, _SAFE)):
        if checkpoint_exists(path) or not os.path.exists(path + _NPZ):
            status = Checkpoint(root=model).read(path, options)
            status.assert_nontrivial_match()
            return status
        path += _NPZ
    if not os.path.exists(path):
        raise FileNotFoundError(f"No weights at {filepath}: the file would be {path}.")
    if not model.built and not model.weights:
        raise ValueError(
            f"Unable to load weights into model {model.name!r}, which has not created its variables yet. Call the "
            "model on a batch first, or `build` it, then load the weights."
        )
    if path.endswith(_LEGACY):
        read_h5(path, model, skip=skip_mismatch, by_name=by_name)
        return LoadStatus()
    weights = model.weights
    if path.endswith(_SAFE):
        found, ways = _safetensors().load_file(path), _ways(model)
        if set(found) != set(ways):
            raise ValueError(f"{path} has the weights {sorted(found)}, the model has {sorted(ways)}.")
        _assign(path, [(name, found[name], weight) for name, weight in ways.items()])
        return LoadStatus()
    with np.load(path, allow_pickle=False) as file:
        names = [str(name) for name in file["names"]]
        values = [file[str(i)] for i in range(len(names))]
    if len(values) != len(weights):
        raise ValueError(
            f"{path} has {len(values)} weights, the model has {len(weights)}. In the file: {names}; in the model: "
            f"{[weight.name for weight in weights]}"
        )
    _assign(path, [(name, value, weight) for name, value, weight in zip(names, values, weights, strict=True)])
    return LoadStatus()


def _ways(model: Layer) -> dict[str, Any]:
    """The weights of a model by the ways to them, as checkpoints name them: "layer_with_weights-0/kernel"."""
    graph = ObjectGraph(model)
    return {graph.paths[graph.ids[id(weight)]]: weight for weight in model.weights}


def place(filepath: str | os.PathLike[str], save_format: str | None = None) -> str:
    """Return the file, or the prefix of files, for the path that a user gives.

    Raises NotBuiltError for layouts that are not written.
    """
    path: str = local_path(filepath)
    if path.endswith(".keras") or save_format == "keras":
        raise NotBuiltError(
            f"{path}: weights are written as a checkpoint (a name without suffix), as NumPy's .npz, as .safetensors "
            "or, with h5py, as .weights.h5 in Keras 3's layout and as .h5 in Keras 2's; .keras has whole models."
        )
    if save_format in ("h5", "hdf5") and not path.endswith(_LEGACY):
        raise NotBuiltError(f"{path}: weights are written as .h5 where the name ends so, whatever `save_format` says.")
    return path


def _safetensors() -> Any:
    try:
        from safetensors import numpy as safetensors  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise NotBuiltError(
            "Files named .safetensors need the package of that name: pip install safetensors. Without it give a name "
            "without a suffix (a checkpoint) or .npz."
        ) from error
    return safetensors


def atomically(path: str, write: Callable[[str], None]) -> None:
    """Let `write(name)` write a file beside `path`, then put it there: whoever reads finds the old one or the new.

    Raises OSError, of `path`, where the disk is full or refuses; then nothing of the new one stays.
    """
    if not replicas.writes(path):  # some values are read by all processes together, so this one makes the file as well
        with tempfile.TemporaryDirectory() as away:
            write(os.path.join(away, os.path.basename(path)))
        return
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=folder, prefix=f".{os.path.basename(path)}.", suffix=".part")
    os.close(handle)
    try:
        write(partial)
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(partial, 0o666 & ~mask)
        os.replace(partial, path)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, path) from error  # of the file that was asked for
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


def write_content(path: str, content: bytes | memoryview) -> None:
    """Write a file `atomically`."""
    atomically(path, lambda name: write_bytes(name, content))


def write_bytes(name: str, content: bytes | memoryview) -> None:
    """Write a file."""
    with open(name, "wb") as file:
        file.write(content)


def _write_npz(name: str, arrays: dict[str, Any]) -> None:
    with open(name, "wb") as file:
        np.savez(file, **arrays)


def _misfit(path: str, rows: list[tuple[str, Any, Any]]) -> str | None:
    for name, value, weight in rows:
        if not weight.shape.is_compatible_with(value.shape):
            dims = tuple(weight.shape.as_list())
            return f"{path}: {name} has shape {value.shape}, the model's {weight.name} has {dims}."
    return None


def _assign(path: str, rows: list[tuple[str, Any, Any]]) -> None:
    """Set weights, all or none. Raises ValueError for shapes that differ."""
    if wrong := _misfit(path, rows):
        raise ValueError(wrong)
    for _, value, weight in rows:
        weight.assign(value.astype(weight.dtype.as_numpy_dtype, copy=False))


# Keras's layout: a group for each layer where it is met first; its weights are vars/0, vars/1, ... Of a layer that is
# an attribute it has the attribute's name, of one in a list, as in a model's `layers`, that of its class and a count.


class _Layout(NamedTuple):
    """The rules by which the layers of a model have their places in a file."""

    order: Callable[[str], Any]
    backwards: bool = False
    keras_3: bool = False
    nested: bool = False  # layers of lists in lists have places: in groups of their own, or here before as in one list
    functional: str = "functional"


def _private_last(name: str) -> tuple[bool, str]:
    return name.startswith("_"), name


_NOW = _Layout(_private_last, keras_3=True, nested=True)
_KERAS_3 = (_NOW, _NOW._replace(nested=False))  # the second until lists in lists were written there
_BEFORE = _Layout(str, nested=True, functional="model")
_OTHERS = (
    _Layout(str, backwards=True),  # Keras 2
    _BEFORE,
    _BEFORE._replace(order=lambda name: (name != "layers", name)),  # when there were the layers of models alone
)

_Groups = list[tuple[str, list[Any], Layer]]


def groups_of(model: Any) -> _Groups:
    """Return (group, weights, layer) of all layers as Keras 3 has them; what nothing leads to comes last."""
    return _grouped(model, _NOW)


def _grouped(model: Any, layout: _Layout) -> _Groups:
    groups = list(_groups(model, "", set(), layout))
    there = {id(weight) for _, own, _ in groups for weight in own}
    if left := [weight for weight in model.weights if id(weight) not in there]:
        groups.append(("/others/vars", left, model))
    return groups


def _groups_in(path: str, file: Any, model: Any, skip: bool = False) -> _Groups:
    """Return the groups of a file for the layers of a model. Raises ValueError if it is not clear, or none fit.

    skip: warn of layers that have no group of as many weights, and leave them out.
    """
    named = "vars" in file and "name" in file["vars"].attrs  # by Keras 3, and here since layers have places as there
    found = [_grouped(model, layout) for layout in (_KERAS_3 if named else _KERAS_3 + _OTHERS)]
    if "_layer_checkpoint_dependencies" in file:
        found = [
            [(name.replace("/layers/", "/_layer_checkpoint_dependencies/"), own, layer) for name, own, layer in groups]
            for groups in found
        ]
    wrong = [_differences(file, groups) for groups in found]
    fewest = min(range(len(found)), key=lambda i: len(wrong[i]))
    if wrong[fewest] and skip:
        for message in wrong[fewest].values():
            _warn_skipped(message)
        return [group for group in found[fewest] if group[0] not in wrong[fewest]]
    if wrong[fewest]:
        raise ValueError(f"{path} does not have the weights of the model: " + "; ".join(wrong[fewest].values()))
    fits = [groups for groups, differences in zip(found, wrong, strict=True) if not differences]
    places = [{id(w): f"{name}/{i}" for name, own, _ in groups for i, w in enumerate(own)} for groups in fits]
    shapes = {id(w): w.shape for _, own, _ in fits[0] for w in own}

    def fitting(ways: dict[int, str]) -> bool:
        return all(shapes[w].is_compatible_with(file[way].shape) for w, way in ways.items() if way in file)

    shaped = [i for i, ways in enumerate(places) if fitting(ways)]
    if not named and any(places[i] != places[shaped[0]] for i in shaped):
        raise ValueError(
            f"{path} does not say which program wrote it, and the layers in dicts are in another order in Keras 3's "
            "files than in others: it is not clear which weights are whose."
        )
    return fits[shaped[0] if shaped else 0]


def _warn_skipped(message: str) -> None:
    warnings.warn(f"Skipped, and left as it was: {message}", stacklevel=5)


def _differences(file: Any, groups: _Groups) -> dict[str, str]:
    """Return what a file lacks, or has besides, of these groups, by their names."""
    found = {}
    for name, own, layer in groups:
        count = _count(file, name)
        late = layer._is_metric or getattr(layer, "stateful", False)  # Keras 3 has states among the weights
        if count != len(own) and (own or not late) and (count or not layer._IN_CONFIG):
            lacks = f", it lacks {name}/{count}" if count < len(own) else ""
            found[name] = f"Layer '{layer.name}' expected {len(own)} variables, but received {count}{lacks}"
    return found


def _count(file: Any, name: str) -> int:
    """The number of weights in a group of a file; what has a name there, as the weights of words, is not one."""
    return sum(each.isdigit() for each in file[name]) if name in file else 0


def _groups(layer: Any, path: str, seen: set[int], layout: _Layout) -> Iterator[tuple[str, list[Any], Layer]]:
    """Yield (group, weights, layer) of a layer and those inside of it that were not seen."""
    seen.add(id(layer))
    yield f"{path}/vars", sorted(layer._own_weights, key=lambda weight: not weight.trainable), layer
    inside = {name: value for name, value in vars(layer).items() if name not in layer._UNTRACKED}
    if layout.keras_3:
        inside = {layer._KERAS_3_NAMES.get(name, name): value for name, value in inside.items()}
    first: list[str] = []
    if hasattr(layer, "get_layer"):
        network: Any = layer._network is not None or "_layers" in layer._UNTRACKED  # functional, or Sequential
        inside["layers"] = _tracked(inside) if layout.keras_3 and not network else layer.layers
        first = ["layers"] if layout.keras_3 and network else []
    rest = sorted({*inside} - {*first}, key=layout.order, reverse=layout.backwards)
    for attribute in [*first, *rest]:
        if isinstance(inside[attribute], Layer):
            if id(inside[attribute]) not in seen:
                yield from _groups(inside[attribute], f"{path}/{attribute}", seen, layout)
        else:
            yield from _groups_of_container(inside[attribute], f"{path}/{attribute}", seen, layout)


def _groups_of_container(
    value: Any, path: str, seen: set[int], layout: _Layout
) -> Iterator[tuple[str, list[Any], Layer]]:
    """Yield (group, weights, layer) of the layers in a list or dict, and inside of them, that were not seen."""
    counts: dict[str, int] = {}
    parts = _layers_in(value) if layout.nested and not layout.keras_3 else _items(value)
    for part in parts:
        if id(part) in seen and not layout.keras_3:  # Keras 3 counts them
            continue
        if isinstance(part, Layer):
            name = _class_name(part, layout)
        elif layout.nested and isinstance(part, (list, tuple, Mapping)):
            name = "container"
        else:
            continue
        number = counts.get(name, 0)
        counts[name] = number + 1
        place = f"{path}/{name}" + f"_{number}" * bool(number)
        if not isinstance(part, Layer):
            yield from _groups_of_container(part, place, seen, layout)
        elif id(part) not in seen:
            yield from _groups(part, place, seen, layout)


def _tracked(inside: Mapping[str, Any]) -> list[Layer]:
    """Return the layers in attributes as Keras 3 has them in `layers`: those of dicts are not sorted, as in Keras 2."""
    found = {id(part): part for part in _layers_in(inside)}
    return [part for part in found.values() if not part._is_metric]


def _class_name(layer: Any, layout: _Layout) -> str:
    if hasattr(layer, "get_layer") and layer._network is not None and type(layer).__name__ == "Model":
        return layout.functional
    name = backend.snake_case(type(layer).__name__)
    return name.removeprefix("private") if layout.keras_3 and type(layer).__name__.startswith("_") else name


def _items(value: Any) -> Iterable[Any]:
    """Return what a list or dict holds; nothing of other values."""
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()


def _layers_in(value: Any) -> Iterator[Layer]:
    """Yield the layers that an attribute is or holds."""
    if isinstance(value, Layer):
        yield value
    for item in _items(value):
        yield from _layers_in(item)


def h5_content(model: Any, more: tuple[str, list[Any]] = ("", [])) -> memoryview:
    """Return the bytes of a file of weights: made in memory, since HDF5 itself ends the process on a full disk.

    more: a group beside those of the model's layers.
    """
    room = io.BytesIO()
    h5py = legacy_h5.h5py_module()
    with h5py.File(room, "w") as file:
        file.create_group("vars").attrs.create("name", model.name)  # Keras 2 wants the group, Keras 3 writes the name
        groups = groups_of(model)
        for group, weights in [*((name, own) for name, own, _ in groups), more]:
            for index, weight in enumerate(weights):
                file.create_dataset(f"{group}/{index}", data=weight.numpy())
        for group, _, layer in groups:
            for name, value in layer._named_values().items():
                file.create_dataset(f"{group}/{name}", data=value)
            for name, there in layer._KERAS_3_NAMES.items():
                if (place := group.removesuffix("vars") + there) in file:
                    file[group.removesuffix("vars") + name] = h5py.SoftLink(place)  # where Keras 2 looks
    return room.getbuffer()


def read_h5(
    path: str, model: Any, more: tuple[str, list[list[Any]]] = ("", [[]]), skip: bool = False, by_name: bool = False
) -> None:
    """Set the weights from a file, and the first of `more`, an optimizer's variables, of which the file has as many.

    skip: leave what does not fit as it is, with a warning. by_name: of a legacy file set layers of the same names.
    """
    with legacy_h5.h5py_module().File(path, "r") as file:
        found: list[Any] = []
        values: list[Any] = []
        if legacy_h5.is_legacy(file):
            found = legacy_h5.rows_of(path, file, model, by_name)
            values = legacy_h5.optimizer_values(file) if more[1][0] else []
        elif by_name:
            raise ValueError(f"{path} has layers by their places: by_name=True is for Keras 2's .h5.")
        else:
            for name, own, _ in _groups_in(path, file, model, skip):
                there = own[: _count(file, name)]
                found.append([(f"{name}/{i}", np.asarray(file[f"{name}/{i}"]), one) for i, one in enumerate(there)])
            if more[1][0] and more[0] in file:
                values = [np.asarray(file[f"{more[0]}/{i}"]) for i in range(len(file[more[0]]))]
    kept: list[tuple[str, Any, Any]] = []
    for part in found:
        if not (wrong := part if isinstance(part, str) else _misfit(path, part)):
            kept += part
        elif not skip:
            raise ValueError(wrong)
        else:
            _warn_skipped(wrong)
    slots: list[Any] = next((one for one in more[1] if len(one) == len(values)), [])
    rows = [(f"{more[0]}/{i}", *row) for i, row in enumerate(zip(values, slots, strict=False))]
    if values and (len(values) != len(slots) or _misfit(path, rows)):
        warnings.warn(f"{path}: the optimizer's variables are of another kind, so it begins anew.", stacklevel=4)
        rows = []
    _assign(path, kept + rows)
