"""Runs the examples of docstrings with one library: `python docstring_runner.py LIBRARY CASES RESULTS`.

The one case "collect" gives the examples of TensorFlow's docstrings: (name, sources) of each. Other cases are such
pairs, of which each gives what every source printed, or the class of the error that it raised.
"""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import os
import pickle
import signal
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any

SKIPPED = (
    "compat.v1",
    "compat.v2",
    "raw_ops",
    "keras",
    "dtensor",
    "tpu",
    "lite",
    "mlir",
    "feature_column",
    "initializers",
)
SECONDS = 120  # an example: many times what it takes on a machine with other work


def _members(name: str, value: Any) -> list[tuple[str, Any]]:
    """A public value, and the methods and properties of a public class that TensorFlow defines."""
    found = [(name, value)]
    if inspect.isclass(value):
        for method in dir(value):
            if method.startswith("_") and method not in ("__init__", "__getitem__", "__call__"):
                continue
            held = inspect.getattr_static(value, method, None)
            module = getattr(getattr(held, "fget", held), "__module__", None) or ""
            if isinstance(held, (property, classmethod, staticmethod, types.FunctionType)) or "tensorflow" in module:
                found.append(
                    (f"{name}.{method}", held.__func__ if isinstance(held, (classmethod, staticmethod)) else held)
                )
    return found


def collect(root: Any) -> list[tuple[str, list[str]]]:
    """The examples of the docstrings of all public names, each docstring once, under the shortest of its names."""
    parser, texts, modules, waiting = doctest.DocTestParser(), {}, set(), [("", root)]
    while waiting:
        path, module = waiting.pop(0)
        if module in modules:
            continue
        modules.add(module)
        for name in sorted(dir(module)):
            value = getattr(module, name, None)
            below = f"{path}.{name}".lstrip(".")
            if name.startswith("_") or below.startswith(SKIPPED):
                continue
            if isinstance(value, types.ModuleType):
                if value.__name__.startswith("tensorflow") and ".python." not in value.__name__:
                    waiting.append((below, value))
                continue
            for known, held in _members(below, value):
                text = getattr(held, "__doc__", None)
                if isinstance(text, str) and ">>> " in text:
                    texts.setdefault(text, known)
    found = []
    for text, name in texts.items():
        with contextlib.suppress(ValueError):
            sources = [each.source for each in parser.get_examples(inspect.cleandoc(text))]
            if sources:
                found.append((name, sources))
    return sorted(found)


def _late(number: int, frame: Any) -> None:
    raise TimeoutError(f"no end within {SECONDS} s")


def run(tf: Any, sources: list[str]) -> list[tuple[str, str]]:
    """What each of the sources printed: ("out", text), or ("error", class), in one namespace."""
    import numpy as np

    space: dict[str, Any] = {"tf": tf, "np": np, "os": os, "__name__": "__main__"}
    found = []
    tf.random.set_seed(7)
    signal.signal(signal.SIGALRM, _late)
    for source in sources:
        out = io.StringIO()
        signal.alarm(SECONDS)
        try:
            with contextlib.redirect_stdout(out), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(source, "<example>", "single", dont_inherit=True), space)
            found.append(("out", out.getvalue()))
        except Exception as error:
            found.append(("error", f"{type(error).__name__}\n{str(error)[:300]}"))
        finally:
            signal.alarm(0)
    return found


def main() -> None:
    library, source, target = sys.argv[1:]
    cases = pickle.loads(Path(source).read_bytes())
    if library == "tensorflow":
        import tensorflow as tf
    else:
        import fastgraph as tf

        tf.install_as_tensorflow()
    import numpy as np

    with open(target, "wb") as file, tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pickle.dump((tf.__version__, np.__version__), file)
        file.flush()
        for case in cases:
            pickle.dump(collect(tf) if case == "collect" else run(tf, case[1]), file)
            file.flush()


if __name__ == "__main__":
    main()
