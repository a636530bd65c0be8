"""tf.compat: bytes and text, and what old programs ask about versions.

Rule: TensorFlow 1's API is not here.
"""

from __future__ import annotations

import datetime
import numbers
import os
import sys
from typing import Any

import numpy as np

from fastgraph.api.namespaces import lookup

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "dimension_at_index",
    "dimension_value",
    "forward_compatibility_horizon",
    "forward_compatible",
    "integral_types",
    "path_to_str",
    "real_types",
    "v2",
]

__getattr__, __dir__ = lookup("compat")

v2 = sys.modules[__name__.rpartition(".")[0]]
bytes_or_text_types = (bytes, str)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)


def as_bytes(bytes_or_text: object, encoding: str = "utf-8") -> bytes:
    """Return text, bytes or a bytearray as bytes. Raises TypeError for anything else."""
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: object, encoding: str = "utf-8") -> str:
    """Return text or bytes as text. Raises TypeError for anything else."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: object, encoding: str = "utf-8") -> str:
    """Return bytes as text, anything else as str() has it."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: object) -> Any:
    """Return the text of a path object; anything else as it is."""
    return os.fspath(path) if hasattr(path, "__fspath__") else path


def dimension_value(dimension: Any) -> int | None:
    """Return an extent of a TensorShape: an int or None already."""
    return None if dimension is None else int(dimension)


def dimension_at_index(shape: Any, index: int) -> int | None:
    """Return an extent of a TensorShape, None where the rank is unknown."""
    return None if shape.rank is None else dimension_value(shape[index])


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Return whether programs of that day run here: always."""
    datetime.date(year, month, day)  # ValueError where there is no such day
    return True


def forward_compatibility_horizon(year: int, month: int, day: int) -> Any:
    """Return a context in which `forward_compatible` answers for that day: it changes nothing."""
    import contextlib

    datetime.date(year, month, day)
    return contextlib.nullcontext()
