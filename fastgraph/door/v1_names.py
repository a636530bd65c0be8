"""tf.compat.v1 behind the door: what programs of TensorFlow 2 use of it."""

from __future__ import annotations

from typing import Any

import fastgraph

MODULES = frozenset(["compat.v1"])


def value(path: str, name: str) -> Any:
    """Return what `name` is in the module compat.v1.`path`."""
    if name == "reset_default_graph":
        return lambda: None
    return getattr(getattr(fastgraph.compat.v1, path) if path else fastgraph.compat.v1, name)


def names(path: str) -> set[str]:
    """Return the names of the module compat.v1.`path`."""
    return set()
