"""The names under which TensorFlow knows classes of specs, as libraries write them into files."""

from __future__ import annotations

from typing import Any

import fastgraph

#: The classes by the names that TensorFlow registers them under.
NAMES = (
    *("DatasetSpec", "IndexedSlicesSpec", "NoneTensorSpec", "OptionalSpec", "RaggedTensorSpec", "SparseTensorSpec"),
    *("TensorArraySpec", "TensorSpec"),
)


def get_name(cls: type) -> str:
    """Return the name of a class of specs. Raises TypeError for what is none, ValueError for one without a name."""
    if not (isinstance(cls, type) and issubclass(cls, fastgraph.TypeSpec)):
        raise TypeError(f"Expected `cls` to be a TypeSpec; got {cls!r}")
    if cls.__name__ not in NAMES or lookup(f"tf.{cls.__name__}") is not cls:
        raise ValueError(f"TypeSpec {cls.__module__}.{cls.__name__} has not been registered.")
    return f"tf.{cls.__name__}"


def lookup(name: str) -> Any:
    """Return the class of a name. Raises TypeError for what is no text, ValueError where there is none."""
    if not isinstance(name, str):
        raise TypeError(f"Expected `name` to be a string; got {name!r}")
    last = name.removeprefix("tf.")
    if last not in NAMES:
        raise ValueError(f"No TypeSpec has been registered with name {name!r}")
    return fastgraph.data.DatasetSpec if last == "DatasetSpec" else getattr(fastgraph, last)
