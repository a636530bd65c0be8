"""Runs drawn pipelines of tf.data with one library: `pipeline_runner.py LIBRARY SOURCE TARGET`.

SOURCE: a pickled list of programs, whose last line makes `dataset`. TARGET gets pickles: the versions, then of each
program (spec, cardinality, passes), what is shown of them, or of the error that came instead.
"""

from __future__ import annotations

import importlib
import pickle
import signal
import sys
import tempfile
from typing import Any

MOST, PASSES = 60, 2
SECONDS = 60  #: after which a program, and this process with it, is ended


def shown(value: Any) -> Any:
    """Return what may be compared of an element."""
    if isinstance(value, dict):
        return {key: shown(value[key]) for key in sorted(value)}
    if isinstance(value, tuple | list):
        return tuple([shown(each) for each in value])
    if hasattr(value, "element_spec"):
        return "dataset", str(value.element_spec), [shown(each) for each in value.take(MOST)]
    if hasattr(value, "row_splits"):
        return "ragged", value.dtype.name, str(value.shape), value.to_list()
    if hasattr(value, "dense_shape"):
        return "sparse", shown(value.indices), shown(value.values), shown(value.dense_shape)
    return value.dtype.name, tuple(value.shape), value.numpy().tolist()


def one_pass(dataset: Any) -> list[Any]:
    """Return the first elements of a pass, and what it ends with."""
    found: list[Any] = []
    iterator = iter(dataset)
    while len(found) < MOST:
        try:
            found.append(shown(next(iterator)))
        except StopIteration:
            return [*found, "the end"]
        except Exception as error:
            return [*found, type(error).__name__]
    return found


def run(tf: Any, text: str) -> Any:
    """Return (spec, cardinality, passes), or the error's class and text."""
    names: dict[str, Any] = {"tf": tf, "folder": tempfile.mkdtemp()}
    try:
        exec(text, names)
        dataset = names["dataset"]
        passes = [one_pass(dataset) for _ in range(PASSES)]
        return str(dataset.element_spec), int(dataset.cardinality()), passes
    except Exception as error:
        return "error", type(error).__name__, str(error)


def main() -> None:
    library, source, target = sys.argv[1:]
    tf = importlib.import_module(library)
    with open(source, "rb") as file:
        programs = pickle.load(file)
    with open(target, "wb") as file:
        pickle.dump(tf.__version__, file)
        for text in programs:
            signal.alarm(SECONDS)
            pickle.dump(run(tf, text), file)
            file.flush()


if __name__ == "__main__":
    main()
