"""Write the list of TensorFlow's public names (names only) to fastgraph/api/tensorflow_names.txt.

    python tools/tensorflow_names.py

Needs an environment with TensorFlow 2.21 (and tf-keras, TF_USE_LEGACY_KERAS=1); fastgraph itself never does. Each line
is a public module followed by its names: "math: abs acos ...".
Left out: the names in compat.v1 and raw_ops, private names.
"""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path

SKIPPED = ("compat.v1", "raw_ops", "dtensor", "keras.src", "keras.legacy", "compat.v2")
OUT = Path(__file__).resolve().parent.parent / "fastgraph" / "api" / "tensorflow_names.txt"


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


def main() -> None:
    """Write the list."""
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    modules = public_modules(tf)
    lines = [f"# TensorFlow {tf.__version__}'s public names; written by tools/tensorflow_names.py"]
    lines += [f"{path}: {' '.join(names)}" for path, names in sorted(modules.items())]
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{OUT}: {len(modules)} modules, {sum(map(len, modules.values()))} names", file=sys.stderr)


if __name__ == "__main__":
    main()
