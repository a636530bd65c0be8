"""SavedModels both ways: TensorFlow's loaded here, ours loaded by TensorFlow, each compared call by call.

    PYTHONPATH=. TENSORFLOW_PYTHON -m tests.oracle.saved_models make FOLDER       # TensorFlow saves, and says what is right
    PYTHONPATH=. python -m tests.oracle.saved_models check FOLDER                 # they are loaded here and called
    PYTHONPATH=. python -m tests.oracle.saved_models write FOLDER OURS            # the same objects, saved here
    PYTHONPATH=. TENSORFLOW_PYTHON -m tests.oracle.saved_models check FOLDER OURS # TensorFlow loads them
    PYTHONPATH=. python -m tests.oracle.saved_models pack FOLDER FILE             # FOLDER as data of the tests

`write` also saves what was loaded from FOLDER again, under OURS/again. What a case is: see saved_model_cases.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tarfile
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np

import tests.oracle.saved_model_datasets  # fills DATASETS
import tests.oracle.saved_model_gradients  # fills it, too
from tests.oracle.saved_model_cases import CASES, DATASETS, KERAS, Case

with contextlib.suppress(ImportError):
    import tests.oracle.saved_model_keras  # noqa: F401  # fills KERAS where TensorFlow is


def library() -> Any:
    """Return TensorFlow where it is installed, else fastgraph."""
    try:
        import tensorflow as tf
    except ImportError:
        import fastgraph as tf  # type: ignore[no-redef]
    return tf


# ---- values in files ------------------------------------------------------------------------------------------------


def put(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return a value as JSON, its arrays as entries of `arrays`."""
    if isinstance(value, (np.ndarray, np.generic)):
        key = f"a{len(arrays)}"
        array = np.asarray(value)
        arrays[key] = array.astype("S") if array.dtype == object else array
        return {"array": key}
    if isinstance(value, tuple) and value and isinstance(value[0], str) and value[0] in ("ragged", "sparse"):
        return {value[0]: [put(each, arrays) for each in value[1:]]}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"named": [type(value).__name__, list(value._fields), [put(each, arrays) for each in value]]}
    if isinstance(value, tuple):
        return {"tuple": [put(each, arrays) for each in value]}
    if isinstance(value, list):
        return [put(each, arrays) for each in value]
    if isinstance(value, dict):
        return {"dict": {key: put(each, arrays) for key, each in value.items()}}
    return value


def get(value: Any, arrays: Any, tf: Any) -> Any:
    """Return the value of JSON, tensors for arrays."""
    if isinstance(value, list):
        return [get(each, arrays, tf) for each in value]
    if not isinstance(value, dict):
        return value
    (kind, held), *_ = value.items()
    if kind == "array":
        array = arrays[held]
        return tf.constant(array.astype(object) if array.dtype.kind == "S" else array)
    if kind == "dict":
        return {key: get(each, arrays, tf) for key, each in held.items()}
    if kind == "named":
        import collections

        return collections.namedtuple(held[0], held[1])(*get(held[2], arrays, tf))  # type: ignore[misc]
    items = get(held, arrays, tf)
    if kind == "ragged":
        return tf.RaggedTensor.from_nested_row_splits(items[0], items[1:])
    return tf.SparseTensor(*items) if kind == "sparse" else tuple(items)


def plain(tensor: Any) -> np.ndarray:
    """Return a result as an array that a file can hold without pickling."""
    array = np.asarray(tensor.numpy() if hasattr(tensor, "numpy") else tensor)
    if array.dtype == object:
        return array.astype("S") if array.size else array.astype("S1")
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def flat(tf: Any, value: Any) -> list[np.ndarray]:
    """Return the tensors of a result."""
    return [plain(each) for each in tf.nest.flatten(value, expand_composites=True) if each is not None]


# ---- objects --------------------------------------------------------------------------------------------------------


def reached(root: Any, path: str) -> Any:
    """Return what a path of attributes, items and keys leads to; "__call__" is the object itself."""
    found = root
    for part in path.split("/"):
        if part == "__call__":
            continue
        if isinstance(found, (list, tuple)):
            found = found[int(part)]
        elif hasattr(found, "keys") and part in found:
            found = found[part]
        else:
            found = getattr(found, part)
    return found


def results(tf: Any, root: Any, said: dict[str, Any], arrays: Any) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Yield what each call gives, and the gradients that are asked for."""
    for i, (path, args, kwargs) in enumerate(said["calls"]):
        args, kwargs = get(args, arrays, tf), get({"dict": kwargs}, arrays, tf)
        yield f"call {i} of {path}", flat(tf, reached(root, path)(*args, **kwargs))
    if said["gradients"]:
        path, args, kwargs = said["calls"][0]
        args, kwargs = get(args, arrays, tf), get({"dict": kwargs}, arrays, tf)
        variables = [reached(root, each) for each in said["gradients"]]
        with tf.GradientTape() as tape:
            made = tf.nest.flatten(reached(root, path)(*args, **kwargs), expand_composites=True)
            loss = tf.add_n([tf.reduce_sum(each * each) for each in made if each.dtype.is_floating])
        gradients = tape.gradient(loss, variables)
        yield "gradients", [plain(tf.convert_to_tensor(each)) for each in gradients]
        for variable, gradient in zip(variables, gradients):
            variable.assign_sub(0.01 * tf.convert_to_tensor(gradient))
        yield "a step later", flat(tf, reached(root, path)(*args, **kwargs))


def compare(tf: Any, root: Any, folder: str) -> str:
    """Return what is wrong with an object, "" if nothing is."""
    with open(os.path.join(folder, "calls.json")) as file:
        said = json.load(file)
    arrays = np.load(os.path.join(folder, "calls.npz"))
    right = np.load(os.path.join(folder, "results.npz"))
    for i, (what, found) in enumerate(results(tf, root, said, arrays)):
        n = len([key for key in right.files if key.startswith(f"{i}_")])
        if n != len(found):
            return f"{what}: {len(found)} tensors, not {n}"
        for j, array in enumerate(found):
            wanted = right[f"{i}_{j}"]
            if wanted.shape != array.shape or wanted.dtype.kind != array.dtype.kind:
                return f"{what}, tensor {j}: {array.dtype}{array.shape}, not {wanted.dtype}{wanted.shape}"
            if wanted.dtype.kind in "fc":
                if not np.allclose(wanted, array, rtol=2e-4, atol=2e-5, equal_nan=True):
                    return f"{what}, tensor {j}: off by {np.nanmax(np.abs(wanted - array))}"
            elif not (wanted == array).all():
                return f"{what}, tensor {j}: {array!r}, not {wanted!r}"[:300]
    return ""


# ---- commands -------------------------------------------------------------------------------------------------------


def make(folder: str, only: list[str]) -> None:
    """Save all cases, and note what their calls give."""
    tf = library()
    for name, function in {**CASES, **KERAS, **DATASETS}.items():
        if only and name not in only:
            continue
        here = os.path.join(folder, name)
        shutil.rmtree(here, ignore_errors=True)
        os.makedirs(here)
        try:
            made: Case = function(tf)
            path = os.path.join(here, "model")
            if callable(made.signatures) and getattr(made.signatures, "saves", False):
                made.signatures(path)
            else:
                tf.saved_model.save(made.root, path, signatures=made.signatures)
            arrays: dict[str, np.ndarray] = {}
            calls = [(call[0], put(list(call[1]), arrays), {k: put(v, arrays) for k, v in dict(*call[2:]).items()})
                     for call in made.calls]  # fmt: skip
            said = {"calls": calls, "gradients": list(made.gradients)}
            with open(os.path.join(here, "calls.json"), "w") as file:
                json.dump(said, file)
            np.savez(os.path.join(here, "calls.npz"), **arrays)
            right = {}
            for i, (_, found) in enumerate(results(tf, tf.saved_model.load(path), said, arrays)):
                right.update({f"{i}_{j}": array for j, array in enumerate(found)})
            np.savez(os.path.join(here, "results.npz"), **right)
        except Exception:
            traceback.print_exc(limit=3)
            print(f"NOT MADE {name}")
            shutil.rmtree(here)


def check(folder: str, ours: str | None, only: list[str]) -> int:
    """Load each model (those of `ours`, else those of the folder) and compare; return how many are wrong."""
    tf = library()
    wrong = n = 0
    for name in sorted(os.listdir(ours or folder)):
        if not os.path.isdir(os.path.join(folder, name)) or (only and name not in only):
            continue
        n += 1
        path = os.path.join(ours, name) if ours else os.path.join(folder, name, "model")
        try:
            said = compare(tf, tf.saved_model.load(path), os.path.join(folder, name))
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            if only:
                traceback.print_exc()
        if said:
            wrong += 1
            print(f"{name}: {said[:400]}")
    print(f"{n - wrong} of {n} are right")
    return wrong


def write(folder: str, ours: str, only: list[str]) -> None:
    """Save the cases here, and what is loaded from the folder again."""
    tf = library()
    for name in sorted(os.listdir(folder)):
        if only and name not in only:
            continue
        for kind in ("again", "made"):
            path = os.path.join(ours, kind, name)
            shutil.rmtree(path, ignore_errors=True)
            try:
                if kind == "again":
                    found = tf.saved_model.load(os.path.join(folder, name, "model"))
                    tf.saved_model.save(found, path, signatures=dict(found.signatures) or None)
                elif name in CASES:
                    made = CASES[name](tf)
                    tf.saved_model.save(made.root, path, signatures=made.signatures)
            except Exception as error:
                shutil.rmtree(path, ignore_errors=True)
                print(f"{kind} {name}: {type(error).__name__}: {str(error)[:300]}")
                if only:
                    traceback.print_exc()


def pack(folder: str, file: str) -> None:
    """Write a folder as one compressed file, the same from run to run."""

    def settled(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.mtime = info.uid = info.gid = 0
        info.uname = info.gname = ""
        return info

    with tarfile.open(file, "w:xz", preset=9) as archive:
        for name in sorted(os.listdir(folder)):
            archive.add(os.path.join(folder, name), name, filter=settled)
    print(f"{os.path.getsize(file)} bytes")


def main(command: str, folder: str, *rest: str) -> int:
    """Run a command; names after "--" are the only cases."""
    at = rest.index("--") if "--" in rest else len(rest)
    given, only = list(rest[:at]), list(rest[at + 1 :])
    if command == "make":
        make(folder, only)
    elif command == "write":
        write(folder, given[0], only)
    elif command == "pack":
        pack(folder, given[0])
    else:
        return check(folder, given[0] if given else None, only)
    return 0


if __name__ == "__main__":
    sys.exit(min(main(*sys.argv[1:]), 1))
