"""Write the lists of TensorFlow's public names (fastgraph/api/tensorflow_names.txt) and of the methods of its classes
(tests/api/tensorflow_methods.txt): names only.

    python tools/tensorflow_names.py

Needs an environment with TensorFlow 2.21 (and tf-keras, TF_USE_LEGACY_KERAS=1); fastgraph itself never does. Each line
is a public module followed by its names: "math: abs acos ...".
Left out: the names in compat.v1 and raw_ops, private names; of methods, those of another class in the list that a class
is derived from.
"""

from __future__ import annotations

import operator
import os
import sys
import types
from pathlib import Path

SKIPPED = ("compat.v1", "raw_ops", "dtensor", "keras.src", "keras.legacy", "compat.v2")
ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "fastgraph" / "api" / "tensorflow_names.txt"
METHODS = ROOT / "tests" / "api" / "tensorflow_methods.txt"


def public_modules(root: types.ModuleType) -> dict[str, list[str]]:
    """Return {module path below the root: its public names}, breadth first."""
    found: dict[str, list[str]] = {}
    waiting: list[tuple[str, types.ModuleType]] = [("", root)]
    while waiting:
        path, module = waiting.pop(0)
        if path in found or path.startswith(SKIPPED):
            continue
        names = []
        for name in sorted(set(dir(module)) | set(getattr(module, "__all__", ()))):
            if name.startswith("_"):
                continue
            try:
                value = getattr(module, name)
            except (AttributeError, ImportError):
                continue
            if isinstance(value, types.ModuleType):
                if not value.__name__.startswith(("tensorflow", "tf_keras", "keras")) or ".python." in value.__name__:
                    continue
                below = f"{path}.{name}" if path else name
                if below.startswith(SKIPPED) and below not in SKIPPED:
                    continue
                waiting.append((below, value))  # the names of one that is skipped are left out, its own is not
            names.append(name)
        found[path] = names
    return found


def public_methods(root: types.ModuleType, modules: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return {class by its shortest public name: its public methods and properties}."""
    names: dict[type, str] = {}
    for path, found in modules.items():
        module = operator.attrgetter(path)(root) if path else root
        for name in found:
            full = f"{path}.{name}".lstrip(".")
            value = getattr(module, name)
            if isinstance(value, type) and len(full) < len(names.get(value, full + " ")):
                names[value] = full
    methods = {}
    for cls, full in sorted(names.items(), key=lambda item: item[1]):
        bases = [base for base in cls.__mro__[1:] if base in names]
        inherited = {name for base in bases for name in dir(base)}
        methods[full] = sorted(name for name in set(dir(cls)) - inherited if not name.startswith("_"))
    return {full: own for full, own in methods.items() if own}


def main() -> None:
    """Write the lists."""
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    modules = public_modules(tf)
    lines = [f"# TensorFlow {tf.__version__}'s public names; written by tools/tensorflow_names.py"]
    lines += [f"{path}: {' '.join(names)}" for path, names in sorted(modules.items())]
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    methods = public_methods(tf, modules)
    head = [f"# Methods and properties of TensorFlow {tf.__version__}'s classes; written by tools/tensorflow_names.py"]
    METHODS.write_text("\n".join(head + [f"{full}: {' '.join(own)}" for full, own in methods.items()]) + "\n")
    print(f"{OUT}: {len(modules)} modules, {sum(map(len, modules.values()))} names", file=sys.stderr)


if __name__ == "__main__":
    main()
